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
      "<!-- Printed from the table of events (core/agent/events.cc): change it there. -->\n"
      "# The events of `--json`\n\n"
      "With `--json`, `agentd run`, `compact`, `undo` and recipes print what happens as it happens: one JSON object "
      "on a "
      "line, in UTF-8, with nothing in it that ends a line for any reader. Version " +
      std::string(kEventsVersion) +
      ", which stands in every `run_started`: the minor number grows with each type, member or value that is added, "
      "so a "
      "reader passes over what it does not know; the major one when something changes or goes.\n\n"
      "Every event has `type` and, but for `system`, these members:\n\n" +
      table_of(shared_members()) +
      "\nA run begins with `run_started` and ends with `run_ended`, whatever has ended it; behind it only hooks of the "
      "session's end are heard. With `--input-format stream-json` there is one such run for each message. What a "
      "subagent does stands between `tool_call` and "
      "`tool_result` of the call that began it, with `agent`.\n";
  for (const EventShape& shape : event_shapes())
    out += "\n## `" + std::string(shape.name) + "`\n\n" + std::string(shape.about) + "\n\n" + table_of(shape.members);
  out +=
      "\n## Objects\n\n`usage`: of the answer (`turn_ended`), or of the whole run with its subagents, summaries and "
      "hooks' threads (`run_ended`).\n\n" +
      table_of(usage_members()) + "\n`context`:\n\n" + table_of(context_members()) + "\n`agent`:\n\n" +
      table_of(agent_members()) +
      "\n## `compaction_result`\n\n"
      "The last line of `compact --json`, and of a recipe that replaces the conversation by a summary: "
      "`conversation_id`, `outcome` as in `compaction_outcome`, `dry_run`, `messages_before`, `messages_after`, "
      "`pre_tokens`, `post_tokens`, and where there is one `boundary_id`, `text` (the reason) and `summary`. It "
      "is no "
      "event of a run: it has no `session_id`. `compact --undo --json` ends with an `undo_result` likewise, with "
      "`boundary_id`, `boundary_seq` and `compactions`.\n";
  return out;
}

}  // namespace agentd
