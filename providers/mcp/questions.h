// SPDX-License-Identifier: Apache-2.0
#pragma once
// questions.h - what a server asks the person, and the answer to it.
//
// A question is a stranger's: its text is bounded, its form is flat, an address is one of the web. An answer that the
// form does not hold for is not sent.
// Source: modelcontextprotocol.io, "Elicitation" 2025-11-25 and "Multi round-trip requests" 2026-07-28.
//
// Threading: pure functions, but for the elicitor.

#include <string>

#include "core/base/cancel.h"
#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/codec/json.h"
#include "core/codec/json_rpc.h"
#include "core/tools/elicitor.h"

namespace agentd::mcp {

// kInvalid, a sentence: it cannot be asked.
Result<Elicitation> read_question(const std::string& server, JsonView params);
// Whether the values are what the form asks for. kInvalid: which one is not, and why.
Result<void> check_values(JsonView schema, JsonView values);

// A server that asks, during a call of one of its tools.
struct Asker {
  std::string server, tool;
};
// Asks `person` (null = declines) and gives the result of elicitation/create as JSON; a fault: it cannot be asked.
Result<std::string, RpcFault> ask_person(const Asker& asker, JsonView params, Elicitor* person,
                                         const CancelToken& cancel, Deadline deadline);

}  // namespace agentd::mcp
