// SPDX-License-Identifier: Apache-2.0
#pragma once
// http_asio.h - names for Asio, which the sources of the server alone include.
//
// The room is built without Asio's fences: one thread runs all handlers and takes their tasks under a lock, so that
// fences order nothing, and ThreadSanitizer does not know them.
//
// Threading: none of its own.

#include <boost/asio/generic/stream_protocol.hpp>

namespace agentd::serve {

namespace asio = boost::asio;
using AsioFailed = boost::system::error_code;
using AsioSocket = asio::generic::stream_protocol::socket;

}  // namespace agentd::serve
