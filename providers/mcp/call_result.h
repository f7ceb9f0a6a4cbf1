// SPDX-License-Identifier: Apache-2.0
#pragma once
// call_result.h - the result of a server's tool as the model reads it.
//
// Texts stay as they are; images become parts of the message, as those of files; what a model cannot be given is told
// in brackets. Whoever runs the call cuts long texts.
// Source: modelcontextprotocol.io, "Tool result".
//
// Threading: pure functions.

#include "core/codec/json.h"
#include "core/tools/tool.h"

namespace agentd::mcp {

// `result` is an object.
ToolOutcome outcome_of(JsonView result);

}  // namespace agentd::mcp
