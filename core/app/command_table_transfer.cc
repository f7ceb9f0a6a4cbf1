// SPDX-License-Identifier: Apache-2.0
#include "core/app/command_table.h"
#include "core/app/commands/commands.h"

namespace agentd::app {
namespace {

CommandSpec conversation_export_spec() {
  return {"conversation export",
          "ID",
          "write a conversation to a file that another agentd imports",
          "One JSON object per line: a header, each record of the log, its texts, and an end by which a cut file is "
          "noticed.\nImages are in it; what was erased is not, nor are receipts of hooks, the keys of "
          "plugins,\nspill files and the conversations of subagents. A conversation in use can be exported: the file "
          "has one moment\nof it. It holds the texts as they are: treat it like the conversation itself.\n"
          "docs/reference/export-format.md describes the form.",
          {{"output", 'o', "FILE", "write to FILE, readable by you alone, instead of standard output"}},
          {"agentd conversation export 01JZ8 > talk.jsonl", "agentd conversation export 01JZ8 -o talk.jsonl",
           "agentd conversation export 01JZ8 | ssh host agentd conversation import -"},
          1,
          1,
          {},
          export_command};
}

CommandSpec conversation_import_spec() {
  return {
      "conversation import",
      "FILE|-",
      "bring a conversation in from a file: of agentd, Claude Code or Codex",
      "The whole file is checked before anything is written, and it is written at once or not at all. Of agentd: "
      "the\nconversation keeps its id; if that is here with other content, or a tool call waits for an answer in it, "
      "it gets\nanother one. A file that was imported already is not imported again: its conversation is named.\nOf "
      "Claude Code (~/.claude/projects/*/*.jsonl) and Codex (~/.codex/sessions/*/*/*/rollout-*.jsonl): messages, tool "
      "calls\nand their results, images and summaries are taken; thinking, subagents, abandoned branches and what the "
      "client added\nare left out, and counted. The project is that of the transcript's directory, or the current one "
      "if that is gone.",
      {{"from", 0, "FORM", "the form of the file (default auto)", "auto|agentd|claude|codex"}, kAsJson},
      {"agentd conversation import talk.jsonl",
       "agentd conversation import ~/.codex/sessions/2026/01/31/rollout-2026-01-31T09-05-07-0199.jsonl"},
      1,
      1,
      {},
      import_command};
}

}  // namespace

std::vector<CommandSpec> transfer_commands() { return {conversation_export_spec(), conversation_import_spec()}; }

}  // namespace agentd::app
