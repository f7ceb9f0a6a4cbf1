// SPDX-License-Identifier: Apache-2.0
// event_pages.cc - the events of a run as the reference page.
#include "core/agent/events.h"

namespace agentd {
namespace {

std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

template <class T>
std::string table_of(std::span<const MemberOf<T>> members) {
  if (members.empty()) return "No members of its own.\n";
  std::string out = "| member | type | meaning |\n|---|---|---|\n";
  for (const MemberOf<T>& member : members)
    out += "| `" + std::string(member.name) + "` | " + std::string(member.type) + (member.always ? "" : ", optional") +
           " | " + cell(member.about) + " |\n";
  return out;
}

}  // namespace

std::string run_events_reference() {
  std::string out =
      "<!-- Printed from the table of events (core/agent/events.cc): change it there. -->\n# The events of "
      "`--json`\n\nWith `--json`, `agentd run`, `compact` and `compact --undo` print their events as they happen: one "
      "JSON object per line, in UTF-8, without characters that any reader takes for a line end. Version " +
      std::string(kEventsVersion) +
      ", which is in every `run_started`: the minor number grows with each added type, member or value, so readers "
      "must ignore unknown ones; the major number grows when something is changed or removed.\n\nEvery event has "
      "`type` and, except for `system`, these members:\n\n" +
      table_of(shared_members()) +
      "\nA run begins with `run_started` and ends with `run_ended`, however it ends; only events of hooks at the "
      "session's end and the `notice` of background commands that ended with it may follow, so look for it by its "
      "type, not for the last line. With `--input-format stream-json` "
      "there is one run per message. A subagent's events "
      "come between `tool_call` and `tool_result` of its call, with `agent`.\n";
  for (const EventShape& shape : event_shapes())
    out += "\n## `" + std::string(shape.name) + "`\n\n" + std::string(shape.about) + "\n\n" + table_of(shape.members);
  out +=
      "\n## Objects\n\n`usage`: the tokens and cost of the answer (`turn_ended`), or of the complete run with its "
      "subagents, summaries and hooks' threads (`run_ended`).\n\n" +
      table_of(usage_members()) + "\n`context`:\n\n" + table_of(context_members()) + "\n`agent`:\n\n" +
      table_of(agent_members()) +
      "\n## `compaction_result`\n\nThe last line of `compact --json`, and of a recipe that replaces the conversation "
      "with a summary: `conversation_id`, `outcome` as in `compaction_outcome`, `dry_run`, `messages_before`, "
      "`messages_after`, `pre_tokens`, `post_tokens`, and if present `boundary_id`, `text` (the reason) and `summary`. "
      "It is not an event of a run and has no `session_id`. `compact --undo --json` ends with an `undo_result`, with "
      "`boundary_id`, `boundary_seq` and `compactions`.\n";
  return out;
}

}  // namespace agentd
