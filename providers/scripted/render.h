// SPDX-License-Identifier: Apache-2.0
#pragma once
// render.h - what a provider received, as plain text to search and as a JSON line to keep.
//
// Threading: pure functions.

#include <string>

#include "core/model/provider.h"

namespace agentd {

// The request as a person reads it: system, tools, then each message with its role in brackets; nothing
// is escaped, so that a text is found as it was written.
std::string render_request(const ModelRequest& request);

// One JSON object without line breaks. `turn` counts from 1 within the purpose.
std::string record_request(const ModelRequest& request, std::uint64_t turn);

}  // namespace agentd
