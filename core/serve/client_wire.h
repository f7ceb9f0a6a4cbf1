// SPDX-License-Identifier: Apache-2.0
#pragma once
// client_wire.h - what a command and the daemon tell each other about a session, as JSON: requests, reports, questions.
//
// Both ends are of one version (client_terms.h), so a missing member is an empty one. The stream of a client has these
// server-sent events, in order of their happening:
//   client    {"client_id"}: the first one
//   told      an event of json-events.md
//   held      the same before a request or a tool call, which waits until the client says that somebody still reads
//   context   the gauge of the compact_boundary that follows
//   question  a call that a person is asked about; the run waits for the answer
//   form      values that an MCP server asks a person for during a call, which waits for them
//   withdrawn nobody needs the answer to the last question or form any more: the run was cancelled elsewhere
//   done      the report of the last call, or its error
//
// Threading: pure functions.

#include <string>
#include <string_view>

#include "core/agent/agent.h"
#include "core/codec/json.h"
#include "core/session/chat_calls.h"
#include "core/tools/elicitor.h"

namespace agentd::serve {

inline constexpr std::string_view kClientFrame = "client", kToldFrame = "told", kHeldFrame = "held",
                                  kContextFrame = "context", kQuestionFrame = "question", kFormFrame = "form",
                                  kWithdrawnFrame = "withdrawn", kDoneFrame = "done";

// A request may be that large: HttpLimits::body_bytes, with the text escaped, and sent twice where it opens a session.
inline constexpr std::size_t kClientTextMax = 512u << 10, kClientMediaMax = 4u << 20;
// A call may have as many bytes, which is what bounds a message of a chat.
inline constexpr std::size_t kClientCallMax = 64u << 20;

// Each writes an object as the next value.
void write_gauge(JsonWriter& out, const Gauge& gauge);
void write_run_request(JsonWriter& out, const RunRequest& request);  // the user's words, no recipe
void write_run_report(JsonWriter& out, const RunReport& report);
void write_compaction_report(JsonWriter& out, const CompactionReport& report);
void write_undo_report(JsonWriter& out, const UndoReport& report);
void write_error(JsonWriter& out, const RunError& error);
void write_chat_status(JsonWriter& out, const ChatStatus& status);
void write_recipes(JsonWriter& out, const std::vector<ListedRecipe>& recipes);  // an array
void write_offer(JsonWriter& out, const OfferedCheckpoint& offer);

Gauge read_gauge(JsonView from);
RunRequest read_run_request(JsonView from);
RunReport read_run_report(JsonView from);
CompactionReport read_compaction_report(JsonView from);
UndoReport read_undo_report(JsonView from);
RunError read_error(JsonView from);
ChatStatus read_chat_status(JsonView from);
std::vector<ListedRecipe> read_recipes(JsonView array);
OfferedCheckpoint read_offer(JsonView from);
// The arguments of a recipe, an object.
void write_values(JsonWriter& out, const RecipeValues& values);
RecipeValues read_values(JsonView from);

// A question about a call, without what the answer does not depend on.
struct WireQuestion {
  std::string tool, call_id, input;  // input: JSON
  std::string conversation_id, cwd;
  std::vector<std::string> roots;
  AskedBy by;
};
std::string question_json(const SessionContext& session, const Tool& tool, const ToolCall& call, const AskedBy& by);
WireQuestion read_question(JsonView from);
void write_answer(JsonWriter& out, const PermissionAnswer& answer);
PermissionAnswer read_answer(JsonView from);

std::string form_json(const Elicitation& form);
Elicitation read_form(JsonView from);
void write_filled(JsonWriter& out, const ElicitationAnswer& answer);
ElicitationAnswer read_filled(JsonView from);

std::vector<std::string> texts_of(JsonView array);

}  // namespace agentd::serve
