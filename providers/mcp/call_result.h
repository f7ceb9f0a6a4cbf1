// SPDX-License-Identifier: Apache-2.0
#pragma once
// call_result.h - the result of a server's tool as the model reads it.
//
// Texts stay as they are; images become parts of the message, as those of files; what a model cannot be given is told
// in brackets. Whoever runs the call cuts long texts.
// Source: modelcontextprotocol.io, "Tool result".
//
// Threading: pure functions.

#include "core/base/result.h"
#include "core/codec/json.h"
#include "core/tools/tool.h"

namespace agentd::mcp {

// `result` is an object; `modern`: of 2026-07-28, where structured content may be any JSON. kInvalid, the rest of a
// sentence that begins with the server: it is no result of a tool.
Result<ToolOutcome> outcome_of(JsonView result, bool modern);

}  // namespace agentd::mcp
