// SPDX-License-Identifier: Apache-2.0
#pragma once
// protocol_output.h - standard output for a protocol alone: what hooks, plugins and their children print goes to
// standard error.
//
// Threading: call it before any other thread is there.

#include "core/base/file.h"
#include "core/base/result.h"

namespace agentd::app {

// The descriptor that leads to the client. kUnavailable.
Result<UniqueFd> take_protocol_output();

}  // namespace agentd::app
