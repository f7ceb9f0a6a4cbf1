// SPDX-License-Identifier: Apache-2.0
#pragma once
// render.h - renders the request that a provider received, as plain text to search and as a JSON line to keep.
//
// Threading: pure functions.

#include <string>

#include "core/model/provider.h"

namespace agentd {

// The request for a reader: system, tools, then each message with its role in brackets. Nothing is escaped, so that a
// text is found as it was written.
std::string render_request(const ModelRequest& request);

// One JSON object without line breaks. `turn` counts from 1 within the purpose.
std::string record_request(const ModelRequest& request, std::uint64_t turn);

}  // namespace agentd
