// SPDX-License-Identifier: Apache-2.0
#include "core/app/command_table.h"

#include <utility>

#include "core/app/commands/commands.h"
#include "core/base/bytes.h"
#include "core/config/config_keys.h"

namespace agentd::app {
namespace {

constexpr OptionSpec kResume{"resume", 0, "ID", "continue conversation ID (a unique prefix is enough)"};
constexpr OptionSpec kFollow{"follow", 'f', {}, "continue the newest conversation of this project"};
constexpr OptionSpec kNoSave{"no-save", 0, {}, "save nothing: the conversation is kept in memory only"};
constexpr OptionSpec kNoHooks{"no-hooks", 0, {}, "run no hooks; tools of bundled plugins stay"};
constexpr OptionSpec kSafeMode{
    "safe-mode", 0, {}, "load no hooks, plugins, tools or project recipes: the agent can only talk"};
constexpr OptionSpec kNoTools{"no-tools", 0, {}, "offer no tools to the model"};
constexpr OptionSpec kMaxTurns{"max-turns", 0, "N", "stop after N turns", {}, "max_turns"};
constexpr OptionSpec kMaxCost{"max-cost",      0, "USD", "stop before the run costs more than USD dollars", {},
                              "budget.run_usd"};
constexpr OptionSpec kMaxTokens{
    "max-run-tokens",   0, "N", "stop before the run uses more than N tokens, sent and received", {},
    "budget.run_tokens"};
constexpr OptionSpec kNoAuto{"disable-auto-compact", 0,      {}, "do not compact a full context automatically", {},
                             "compaction.auto",      "false"};
constexpr OptionSpec kAllow{
    "allow", 0, "TOOL", "run TOOL without asking (a name, glob or rule; repeats)", {}, "permissions.allow", {}, true};
constexpr OptionSpec kTrace{"trace-hooks", 0, {}, "show every hook's answer and how long it took", {}, "hooks.trace"};

CommandSpec run_spec() {
  return {
      "run",
      "[QUERY...|-]",
      "give the agent a task and wait until it is done",
      "The words of QUERY form one message; text from a pipe or a redirected file is appended. Without QUERY, or "
      "with\n\"-\" alone, that text is the message. agentd reads standard input to its end: add < /dev/null where "
      "a pipe stays\nopen. @PATH adds the text of a file in the workspace. The answer goes to standard output, "
      "everything else to\nstandard error.\nCommands that the model runs are in a sandbox "
      "(docs/guide/sandbox.md); agentd asks before each unless a rule\nallows it.\nThe first Ctrl-C ends the run "
      "and saves what has arrived; the "
      "second ends the program.",
      {kResume,
       kFollow,
       {"recipe", 'r', "NAME", "send the text of recipe NAME, followed by QUERY ('agentd recipe list' lists them)"},
       {"arg", 0, "NAME=VALUE", "set a variable of the recipe (repeats)", {}, {}, {}, true},
       kProvider,
       kModel,
       kScript,
       kAsJson,
       {"result-only", 0, {}, "print the final answer and nothing else"},
       {"image", 0, "FILE", "attach an image: PNG, JPEG, GIF or WebP (repeats)", {}, {}, {}, true},
       {"output-schema", 0, "FILE", "require a final answer that fits the JSON Schema in FILE; print only that"},
       {"key", 0, "KEY", "name the message: sent again with the same KEY, it runs nothing twice (needs --resume)"},
       {"input-format", 0, "FORMAT", "text, or stream-json: one message per line of standard input"},
       {"detach", 'd', {}, "return when the message is stored: 'agentd serve' continues; print the conversation's id"},
       kNoSave,
       kNoHooks,
       kSafeMode,
       kNoTools,
       kMaxTurns,
       kMaxCost,
       kMaxTokens,
       kNoAuto,
       kAllow,
       kTrace,
       kSet},
      {"agentd run \"why does the build fail?\"",
       "agentd run --follow \"now fix it\"            # the same conversation",
       "git diff | agentd run \"review this\"         # the diff is appended to the words",
       "agentd run \"what does @src/main.c do?\"     # the file is attached",
       "agentd run --allow bash --max-turns 20 \"make the tests pass\"",
       "agentd run -r compact --follow \"Focus on the deployment\"",
       "git commit -m \"$(agentd run -r commit --result-only)\""},
      0,
      kManyWords,
      {},
      run_command};
}

CommandSpec chat_spec() {
  return {"chat",
          "",
          "talk with the agent interactively",
          "The prompt shows how full the context is. Lines that begin with a slash are commands: /help, /compact, "
          "/undo,\n/clear, /status, /recipes, /exit, and /NAME for every recipe. Ctrl-C stops the answer, Ctrl-D ends "
          "the chat.",
          {kResume, kFollow, kProvider, kModel, kScript, kNoSave, kNoHooks, kSafeMode, kNoTools, kMaxTurns, kMaxCost,
           kMaxTokens, kNoAuto, kAllow, kTrace, kSet},
          {"agentd chat", "agentd chat --follow"},
          0,
          0,
          {},
          chat_command};
}

CommandSpec approve_spec() {
  return {
      "approve",
      "[ID]",
      "answer a tool call that waits, and continue its run",
      "A run waits when a hook defers a tool call, or when there is no terminal to ask on and permissions.unanswered "
      "is\nwait. Shows the call, asks on this terminal, and continues the run in its directory. The first answer "
      "counts, for\nthese bytes, this tool and these hooks: when one of them has changed, the question is asked again. "
      "A "
      "program cannot\nanswer: the process needs a terminal. 'always' also keeps the rules that the question shows, "
      "for "
      "the project.",
      {{"list", 'l', {}, "show what waits"},
       {"deny", 0, {}, "say no, without being asked"},
       {"reason", 0, "TEXT", "with --deny: the reason, for the model"},
       {"no-run", 0, {}, "keep the answer; the same command continues the run later"},
       kScript,
       kNoHooks,
       kAsJson,
       kTrace,
       kSet},
      {"agentd approve --list", "agentd approve 01JZ8", "agentd approve 01JZ8 --deny --reason \"use a branch\""},
      0,
      1,
      {},
      approve_command};
}

CommandSpec compact_spec() {
  return {"compact",
          "[BOUNDARY]",
          "replace a conversation's history with a summary, or undo that",
          "The log keeps every message; only what is sent to the model gets shorter. A hook may block the compaction: "
          "exit\ncode 3.\n--undo restores the view from before the last compaction, plus everything since; repeat it "
          "to undo the one\nbefore. --diff shows what a compaction changed: the last one, or BOUNDARY ('agentd "
          "conversation boundaries ID'\nlists them). Neither needs a model.",
          {{"conversation-id", 'c', "ID", "the conversation (a unique prefix is enough)"},
           kFollow,
           {"strategy", 's', "NAME", "the messages that are kept in addition to the summary", "full|tail|users"},
           {"instructions", 'i', "TEXT", "instructions for the summary"},
           {"dry-run", 'n', {}, "show what would happen; change nothing"},
           {"undo", 'u', {}, "undo the last compaction still in effect"},
           {"force", 0, {}, "with --undo: even if the history exceeds the context window"},
           {"diff", 0, {}, "show what a compaction dropped (-), shortened (~) and kept (=)"},
           kProvider,
           kModel,
           kScript,
           kNoHooks,
           kSafeMode,
           kTrace,
           kAsJson,
           kSet},
          {"agentd compact --follow", "agentd compact -c 01JZ8 --instructions \"keep the list of open bugs\"",
           "agentd compact --follow --strategy tail --dry-run", "agentd compact --follow --undo",
           "agentd compact -c 01JZ8 --diff"},
          0,
          1,
          {},
          compact_command};
}

CommandSpec conversation_list_spec() {
  return {"conversation list",
          "",
          "list the conversations of this project, newest first",
          "",
          {{"search", 's', "TEXT", "only conversations with TEXT in their title or id"},
           {"limit", 'n', "N", "show at most N (default 20)"},
           {"all", 'a', {}, "conversations of all projects"},
           kAsJson},
          {"agentd conversation list --all", "agentd conversation list --search deploy --limit 5"},
          0,
          0,
          {},
          list_command};
}

CommandSpec conversation_search_spec() {
  return {
      "conversation search",
      "TEXT...",
      "find messages of this project's conversations, the best first",
      "Every word of TEXT must occur in one message: of yours, an answer, a summary, the result of a tool (its first "
      "64\nKiB), or in a title. Words in double quotes, which the shell must keep, are a phrase; nothing else has a "
      "meaning.\nCase and accents are ignored; Chinese, Japanese and Korean are found in any part of a text. The "
      "complete history is\nsearched, including messages that a compaction removed from the model's view. "
      "'conversation show ID' prints the\nconversation of a hit.\nThe index search.db in the home directory is "
      "brought up to date by each search, and rebuilt when it is missing or\ndamaged.",
      {{"project", 0, "DIR", "search the project of DIR instead of this one"},
       {"all", 'a', {}, "search all projects"},
       {"since", 0, "DATE", "only messages of DATE (YYYY-MM-DD) and later"},
       {"until", 0, "DATE", "only messages of DATE and earlier"},
       {"limit", 'n', "N", "show at most N conversations (default 10)"},
       kAsJson},
      {"agentd conversation search deploy timeout", "agentd conversation search --all '\"connection refused\" nginx'",
       "agentd conversation search --since 2026-01-01 --json 全文检索 | jq -r .snippet"},
      1,
      kManyWords,
      {},
      search_command};
}

CommandSpec conversation_show_spec() {
  return {"conversation show",
          "ID",
          "print a conversation",
          "The full history is shown, including messages that a compaction removed from the model's view.",
          {{"format", 'F', "FORMAT", "output format (default text)", "text|markdown|json"},
           {"view", 0, {}, "only what the next request to the model would contain"},
           {"at", 0, "BOUNDARY|SEQ", "the state just before a compaction, or at a log sequence number"},
           {"log", 'l', {}, "the log's records, one per line"}},
          {"agentd conversation show 01JZ8", "agentd conversation show 01JZ8 --format markdown > talk.md",
           "agentd conversation show 01JZ8 --view --at 120"},
          1,
          1,
          {},
          show_command};
}

CommandSpec conversation_dump_spec() {
  return {"conversation dump",
          "ID",
          "print a conversation's log in a form that other programs can verify",
          "One JSON object per line: each commit batch with its records, payloads and place in the chain, the texts "
          "it\nrefers to, and the head. docs/reference/log-dump.md explains how to verify it, with an example.",
          {},
          {"agentd conversation dump 01JZ8 > talk.jsonl"},
          1,
          1,
          {},
          dump_command};
}

CommandSpec conversation_boundaries_spec() {
  return {"conversation boundaries",
          "ID",
          "list the compactions of a conversation: when, why, how, and tokens saved",
          "'compact --diff', 'conversation show --at' and 'conversation fork --at' take a boundary's id or a unique "
          "prefix\nof it.",
          {kAsJson},
          {"agentd conversation boundaries 01JZ8"},
          1,
          1,
          {},
          boundaries_command};
}

CommandSpec conversation_fork_spec() {
  return {"conversation fork",
          "ID",
          "start a new conversation with the history of another",
          "Without --at the full history is copied. The two are independent: either may be deleted. A conversation in "
          "use\ncan be forked. At a boundary, the fork has what the model saw before that compaction.",
          {{"at", 0, "BOUNDARY|SEQ", "the state just before a compaction, or at a log sequence number"}, kAsJson},
          {"agentd conversation fork 01JZ8",
           "agentd run --resume \"$(agentd conversation fork 01JZ8 --json | jq -r .id)\" \"another way\""},
          1,
          1,
          {},
          fork_command};
}

CommandSpec conversation_erase_spec() {
  return {
      "conversation erase",
      "[ID] [SEQ|SEQ-SEQ...]",
      "take a text out of a conversation and of what was made of it",
      "For a secret that got in. By SEQ the messages lose all of their text; --match takes one text out wherever it "
      "stands;\n--scrub does so with everything that looks like a secret. --removed takes out the messages that a hook "
      "blocked or\nrewrote and that earlier versions of agentd kept in receipts; without ID in all conversations. The "
      "messages keep\ntheir place, role and calls, so that the conversation continues. It goes through forks, parents "
      "and subagents, summaries, titles, "
      "open questions\n(their calls do not run), receipts of hooks, prompts, transcripts, the history of lines "
      "and the diagnostic log, and\noverwrites what the store has freed. Everything is listed first, and a person "
      "confirms it on a terminal: a program\ncannot. Other agentd processes should have ended.\nIt does not reach "
      "exports, backups, and the providers that the text was sent to. The digests of erased records\nstay: they "
      "confirm a guess. So change a secret that was sent.",
      {{"match", 'm', "TEXT", "the text that goes; \"-\" reads it from standard input, out of the shell's history"},
       {"scrub", 0, {}, "whatever the rules for secrets find"},
       {"removed", 0, {}, "messages that hooks had removed and that receipts keep ('agentd doctor' finds them)"},
       {"keys", 0, {}, "erase the keys of plugins that hold the text, too"},
       {"dry-run", 'n', {}, "show what would go; change nothing"},
       kAsJson},
      {"agentd conversation erase 01JZ8 12", "agentd conversation erase 01JZ8 3-7 --dry-run",
       "agentd conversation erase 01JZ8 --match - < secret.txt", "agentd conversation erase 01JZ8 --scrub",
       "agentd conversation erase --removed"},
      0,
      kManyWords,
      {},
      erase_command};
}

CommandSpec conversation_delete_spec() {
  return {"conversation delete",
          "ID",
          "delete a conversation permanently",
          "With its receipts, transcript and outputs of commands; the pages that the store has freed are overwritten. "
          "Memories of\nthe conversation stay ('agentd memory delete').",
          {{"yes", 'y', {}, "do not ask for confirmation"}},
          {"agentd conversation delete 01JZ8 --yes"},
          1,
          1,
          {},
          delete_command};
}

CommandSpec checkpoint_list_spec() {
  return {
      "checkpoint list",
      "",
      "list the checkpoints of this project, newest first",
      "A checkpoint is a place in a conversation to which it can be resumed. One is made when the context passes the"
      "\nthreshold, before a clear, and by 'checkpoint save'.",
      {{"limit", 'n', "N", "show at most N (default 20)"}, {"all", 'a', {}, "checkpoints of all projects"}, kAsJson},
      {"agentd checkpoint list", "agentd checkpoint list --json | jq -r .id"},
      0,
      0,
      {},
      checkpoint_list_command};
}

CommandSpec checkpoint_save_spec() {
  return {
      "checkpoint save",
      "[NAME]",
      "make a checkpoint of a conversation as it is now",
      "No model is asked. Without -c the newest conversation of this project is saved. A conversation in use is busy:"
      "\nexit code 75. --session is for another agent's session, whose messages are not here: the checkpoint has the"
      "\ngiven text alone, which is the level summary. The same ID is the same session.",
      {{"conversation", 'c', "ID", "the conversation (a unique prefix is enough)"},
       {"session", 0, "ID", "another agent's session, by that agent's own id"},
       {"surface", 0, "NAME", "that agent, such as claude-code"},
       {"percent", 0, "N", "how full its context is"},
       {"text", 0, "TEXT", "the state of its work; - reads standard input"},
       kAsJson,
       kSet},
      {"agentd checkpoint save \"before the refactoring\"", "agentd checkpoint save -c 01JZ8",
       "agentd checkpoint save --session 5f3c --surface claude-code --percent 90"},
      0,
      1,
      {},
      checkpoint_save_command};
}

CommandSpec checkpoint_show_spec() {
  return {"checkpoint show",
          "ID",
          "show a checkpoint: its conversation, its place, and the texts that were made for it",
          "A unique prefix of the id is enough. 'conversation show --at' shows the messages.",
          {kAsJson},
          {"agentd checkpoint show 01JZ8"},
          1,
          1,
          {},
          checkpoint_show_command};
}

CommandSpec checkpoint_resume_spec() {
  return {"checkpoint resume",
          "ID",
          "start a new conversation from a checkpoint",
          "full: with all messages of the model's view at that place; context: a summary and the newest messages; "
          "summary:\na summary alone. The summary is written when it is first needed, by the model of compactions, and "
          "kept; if no model\ncan be asked, an extract of the messages takes its place. A level that would not be "
          "smaller than the next larger\none is that one. The old conversation is not changed.",
          {{"level", 'l', "LEVEL", "how much of it (default: lifecycle.resume_level)", "full|context|summary"},
           kProvider,
           kModel,
           kScript,
           kAsJson,
           kSet},
          {"agentd checkpoint resume 01JZ8 --level summary",
           "agentd run --resume \"$(agentd checkpoint resume 01JZ8 --json | jq -r .conversation_id)\" \"go on\""},
          1,
          1,
          {},
          checkpoint_resume_command};
}

CommandSpec store_check_spec() {
  return {"store check",
          "[DIR]",
          "verify the whole store and name what is damaged",
          "Every page, checksum, digest and chain link is verified, and every index is compared with the logs. "
          "Other\nprocesses may keep working. Without DIR, the store of this home is checked. Exit code 6 if something "
          "is damaged.",
          {kAsJson},
          {"agentd store check", "agentd store check /backup/agentd"},
          0,
          1,
          {},
          store_check_command};
}

CommandSpec store_stats_spec() {
  return {
      "store stats",      "", "print the store's location and size", "", {kAsJson}, {"agentd store stats"}, 0, 0, {},
      store_stats_command};
}

CommandSpec store_backup_spec() {
  return {"store backup",
          "DIR",
          "copy the store to a new directory while it is in use",
          "The copy is a consistent snapshot without free pages; it is synced and then verified. DIR must not exist. "
          "To\nrestore it, replace the store with DIR.",
          {kAsJson},
          {"agentd store backup /backup/agentd-monday"},
          1,
          1,
          {},
          store_backup_command};
}

CommandSpec store_salvage_spec() {
  return {"store salvage",
          "DIR",
          "recover what is readable in a damaged store into a new one",
          "Everything that can be verified is kept: intact conversations, and of a damaged one everything before "
          "the\ndamage. Indexes are rebuilt from the logs. Losses are listed. The old store is not changed; DIR must "
          "not exist.",
          {kAsJson},
          {"agentd store salvage ~/.agent/store.new"},
          1,
          1,
          {},
          store_salvage_command};
}

constexpr OptionSpec kGlobal{"global", 0, {}, "the memories of all projects instead of this project's"};

CommandSpec memory_search_spec() {
  return {"memory search",
          "QUERY...",
          "search the memories of earlier sessions",
          "Finds what earlier sessions of this project learned, and sections of documents that were added. Memories of "
          "all\nprojects are found too. Nothing is shown if nothing fits: exit code 4.",
          {{"limit", 'n', "N", "show at most N (default 10)"}, kGlobal, kAsJson, kSet},
          {"agentd memory search precompiled headers", "agentd memory search --json \"429 retry\""},
          1,
          kManyWords,
          {},
          memory_command};
}

CommandSpec memory_add_spec() {
  return {"memory add",
          "FILE|-",
          "add a document, cut into sections by its headings",
          "Adding a file of the same name again replaces its sections. 'agentd memory import' reads single memories.",
          {kGlobal, kAsJson, kSet},
          {"agentd memory add docs/design.md", "git log -20 | agentd memory add -"},
          1,
          1,
          {},
          memory_command};
}

CommandSpec memory_list_spec() {
  return {"memory list",
          "",
          "list the memories of this project, newest first",
          "",
          {kGlobal, kAsJson, kSet},
          {"agentd memory list", "agentd memory list --global --json"},
          0,
          0,
          {},
          memory_command};
}

CommandSpec memory_show_spec() {
  return {"memory show",
          "ID",
          "print a memory, and the conversation that it comes from",
          "A unique prefix of the id is enough.",
          {kGlobal, kAsJson, kSet},
          {"agentd memory show 01JZ8QF3"},
          1,
          1,
          {},
          memory_command};
}

CommandSpec memory_edit_spec() {
  return {"memory edit",
          "ID",
          "change a memory",
          "Fields that are not named stay. To edit many in an editor, export them, change the files and import them.",
          {{"title", 0, "TEXT", "the lesson in one line"},
           {"content", 0, "TEXT", "the lesson with its reason"},
           {"subject", 0, "TEXT", "the topic"},
           {"polarity", 0, "KIND", "whether to do it or to avoid it", "do|avoid"},
           {"outcome", 0, "OUTCOME", "how it ended", "success|failure|partial"},
           {"tag", 0, "TAG", "its tags, instead of the present ones (repeats)", {}, {}, {}, true},
           {"confidence", 0, "NUMBER", "from 0 to 1"},
           {"superseded-by", 0, "ID", "hide it from search: that memory replaces it; empty undoes this"},
           kGlobal,
           kAsJson,
           kSet},
          {"agentd memory edit 01JZ8QF3 --title \"Build with ninja\" --confidence 0.9"},
          1,
          1,
          {},
          memory_command};
}

CommandSpec memory_delete_spec() {
  return {"memory delete",
          "ID",
          "delete a memory permanently",
          "",
          {{"yes", 'y', {}, "do not ask for confirmation"}, kGlobal, kAsJson, kSet},
          {"agentd memory delete 01JZ8QF3 --yes"},
          1,
          1,
          {},
          memory_command};
}

CommandSpec memory_jobs_spec() {
  return {"memory jobs",
          "",
          "show the sessions whose memories wait to be refined by a model",
          "A session's memories are there as soon as it ends; a cheap model of the conversation's own vendor improves "
          "them\nlater. A job that failed three times rests, with its error. If one fails now, the exit code is 5. "
          "Sessions that a\nscript answered are not tried without --script.",
          {{"run", 0, {}, "refine up to five of them now"},
           {"retry", 0, {}, "the same, including those that rest"},
           {"all", 'a', {}, "include those that are done"},
           kScript,
           kAsJson,
           kSet},
          {"agentd memory jobs", "agentd memory jobs --run"},
          0,
          0,
          {},
          memory_command};
}

CommandSpec memory_export_spec() {
  return {"memory export",
          "DIR",
          "write the memories of this project to Markdown files",
          "One file for each memory, with its fields as front matter. Edited files are read by 'agentd memory import'.",
          {kGlobal, kAsJson, kSet},
          {"agentd memory export ./memories", "agentd memory export --global ./memories"},
          1,
          1,
          {},
          memory_command};
}

CommandSpec memory_import_spec() {
  return {"memory import",
          "DIR",
          "read memories from the Markdown files of a directory",
          "A file with the id of a memory changes it; one without an id is a new memory. Files that cannot be read are "
          "named:\nexit code 2; the others are imported.",
          {kGlobal, kAsJson, kSet},
          {"agentd memory import ./memories"},
          1,
          1,
          {},
          memory_command};
}

CommandSpec config_show_spec() {
  return {"config show",
          "",
          "print the active configuration and where each value comes from",
          "",
          {{"set-only", 0, {}, "omit keys that are not set"}, kSet},
          {"agentd config show", "agentd config show --set-only"},
          0,
          0,
          {},
          config_show_command};
}

CommandSpec permissions_list_spec() {
  return {"permissions list",
          "",
          "list the rules about tool calls, and the answers that were kept for this project",
          "Answers with 'always' are kept for the project in the home directory; a repository within it has its own.",
          {kAsJson, kSet},
          {"agentd permissions list", "agentd permissions list --json | jq -r .rule"},
          0,
          0,
          {},
          permissions_list_command};
}

CommandSpec permissions_explain_spec() {
  return {"permissions explain",
          "CALL | TOOL JSON",
          "explain what the rules say about a tool call, and how a command is read",
          "Nothing runs, and no hook is called: one may still refuse the call.",
          {kAsJson, kSet},
          {"agentd permissions explain 'bash(git push origin main)'",
           "agentd permissions explain edit_file '{\"path\":\"src/a.c\"}'"},
          1,
          2,
          {},
          permissions_explain_command};
}

CommandSpec permissions_forget_spec() {
  return {"permissions forget",
          "[RULE]",
          "forget answers that were kept for this project",
          "Rules of config.yaml are not changed.",
          {{"all", 'a', {}, "all answers of this project"}, kSet},
          {"agentd permissions forget 'bash(make clean)'", "agentd permissions forget --all"},
          0,
          1,
          {},
          permissions_forget_command};
}

CommandSpec config_explain_spec() {
  return {"config explain",
          "KEY",
          "explain a key: its meaning, which layers set it, and which value is used",
          "",
          {kSet},
          {"agentd config explain compaction.compact_at"},
          1,
          1,
          {},
          config_explain_command};
}

CommandSpec config_path_spec() {
  return {"config path",      "", "print the files that are read", "", {}, {"agentd config path"}, 0, 0, {},
          config_path_command};
}

CommandSpec config_reference_spec() {
  return {
      "config reference",      "", "print all keys as a Markdown table", "", {}, {"agentd config reference"}, 0, 0, {},
      config_reference_command};
}

CommandSpec models_spec() {
  return {"models",
          "[NAME]",
          "list the known models: window, limit, longest answer, summariser",
          "With NAME: what is known about that model, and which table entry it comes from. The limit is the part of "
          "the\nwindow that a conversation may fill: the window, with the configured betas, less the room reserved for "
          "the\nanswer. models.yaml in the home directory adds and changes entries.",
          {kAsJson, kSet},
          {"agentd models", "agentd models us.anthropic.claude-sonnet-4-5-20250929-v1:0",
           "agentd models claude-sonnet-4-5 --set providers.anthropic.betas=context-1m-2025-08-07"},
          0,
          1,
          {},
          models_command};
}

CommandSpec usage_spec() {
  return {"usage",
          "",
          "show requests, tokens and cost by day and model",
          "Days are UTC days. Unknown prices are marked and not in the sum: set 'prices' in models.yaml. Requests to "
          "the\nscripted provider are not counted.",
          {{"days", 0, "N", "the last N days (default 30)"},
           {"by", 0, "WHAT", "one line per day or per model: day, model"},
           kAsJson,
           kSet},
          {"agentd usage", "agentd usage --by day --days 7", "agentd usage --json | jq -s 'map(.cost_usd) | add'"},
          0,
          0,
          {},
          usage_command};
}

CommandSpec auth_set_spec() {
  return {"auth set",
          "PROVIDER",
          "store a provider's key for the host that its requests go to",
          "The key is read from the terminal without echo, or from standard input if that is not a terminal; never "
          "from an\nargument. It is stored in the home directory in a file readable only by you, and is sent to that "
          "host only. An\nenvironment variable takes precedence.",
          {kSet},
          {"agentd auth set anthropic", "pass show openai | agentd auth set openai"},
          1,
          kManyWords,
          {},
          auth_set_command};
}

CommandSpec auth_list_spec() {
  return {"auth list",
          "",
          "list the providers that have a key: its source and last four characters",
          "",
          {kAsJson, kSet},
          {"agentd auth list", "agentd auth list --json | jq -r .provider"},
          0,
          0,
          {},
          auth_list_command};
}

CommandSpec auth_remove_spec() {
  return {"auth remove",
          "PROVIDER",
          "remove a provider's stored key",
          "Exit code 4 if no key is stored. Environment variables are not changed.",
          {},
          {"agentd auth remove openai"},
          1,
          1,
          {},
          auth_remove_command};
}

CommandSpec recipe_list_spec() {
  return {"recipe list",
          "",
          "list all recipes: source, arguments and purpose",
          "A star marks a required argument. A project's recipe can be used after 'agentd hooks trust' has recorded "
          "its\nbytes.",
          {kAsJson, kSet},
          {"agentd recipe list", "agentd recipe list --json | jq -r .name"},
          0,
          0,
          {},
          recipe_list_command};
}

CommandSpec recipe_show_spec() {
  return {"recipe show",
          "NAME",
          "print a recipe: its permissions, and its text as it would be sent",
          "Placeholders of missing required arguments are left as written. If the recipe cannot be used, for "
          "example\nbecause it is not trusted, the file is printed and the exit code is 2.",
          {{"arg", 0, "NAME=VALUE", "set a variable of the recipe (repeats)", {}, {}, {}, true}, kAsJson, kSet},
          {"agentd recipe show compact", "agentd recipe show init --arg focus=tests"},
          1,
          1,
          {},
          recipe_show_command};
}

CommandSpec sandbox_run_spec() {
  return {
      "sandbox run",
      "COMMAND...",
      "run a command as the model's commands run",
      "In the current directory, with the workspace's roots, in the sandbox that the settings choose. Options of "
      "COMMAND\nfollow \"--\". Standard input is empty; the output is shown when the command has ended. The exit "
      "code is the\ncommand's; 125 if there is no sandbox.",
      {{"layer", 0, "LAYER", "the sandbox instead of sandbox.layer", "auto|bubblewrap|landlock|off", "sandbox.layer"},
       {"timeout", 0, "SECONDS", "end the command after that time (default 600)"},
       kSet},
      {"agentd sandbox run -- make -j4", "agentd sandbox run --layer landlock -- bash -c 'ls ~'"},
      1,
      kManyWords,
      {},
      sandbox_run_command};
}

CommandSpec sandbox_explain_spec() {
  return {
      "sandbox explain",
      "PATH",
      "show what commands may do with a file, and why",
      "",
      {{"layer", 0, "LAYER", "the sandbox instead of sandbox.layer", "auto|bubblewrap|landlock|off", "sandbox.layer"},
       kSet},
      {"agentd sandbox explain ~/.ssh", "agentd sandbox explain .git/hooks"},
      1,
      1,
      {},
      sandbox_explain_command};
}

CommandSpec doctor_spec() {
  return {"doctor",
          "",
          "check the installation and show how to fix what does not work",
          "Nothing is changed and no request is sent. Executable hooks that a run would use are started as FILE hook "
          "to\nreport their events. Exit code 1 if something required is broken.",
          {kAsJson, kSet},
          {"agentd doctor", "agentd doctor --json | jq -r 'select(.verdict == \"broken\").text'"},
          0,
          0,
          {},
          doctor_command};
}

CommandSpec completion_spec() {
  return {
      "completion",
      "bash|zsh|fish|conversations|recipes|models|hooks",
      "print a shell completion script, or the names that it offers",
      "The scripts query the names of conversations, recipes, models and hooks when needed: one per line, "
      "a\nconversation's with its title. Names that a shell would split are omitted.",
      {},
      {"source <(agentd completion bash)             # in ~/.bashrc", "agentd completion zsh > \"${fpath[1]}/_agentd\"",
       "agentd completion fish > ~/.config/fish/completions/agentd.fish"},
      1,
      1,
      "bash|zsh|fish|conversations|recipes|models|hooks",
      completion_command};
}

std::vector<CommandSpec> joined_parts(const std::vector<std::vector<CommandSpec>>& parts) {
  std::vector<CommandSpec> out;
  for (const std::vector<CommandSpec>& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

}  // namespace

const std::vector<CommandSpec>& all_commands() {
  static const std::vector<CommandSpec> commands = joined_parts(
      {{run_spec(), chat_spec(), approve_spec(), compact_spec(), conversation_list_spec(), conversation_search_spec(),
        conversation_show_spec(), conversation_dump_spec()},
       transfer_commands(),
       {conversation_boundaries_spec(), conversation_fork_spec(), conversation_erase_spec(), conversation_delete_spec(),
        checkpoint_list_spec(), checkpoint_save_spec(), checkpoint_show_spec(), checkpoint_resume_spec(),
        permissions_list_spec(), permissions_explain_spec(), permissions_forget_spec(), config_show_spec(),
        config_explain_spec(), config_path_spec(), config_reference_spec()},
       hooks_commands(),
       {memory_search_spec(), memory_add_spec(), memory_list_spec(), memory_show_spec(), memory_edit_spec(),
        memory_delete_spec(), memory_jobs_spec(), memory_export_spec(), memory_import_spec(), models_spec(),
        usage_spec(), auth_set_spec(), auth_list_spec(), auth_remove_spec()},
       token_commands(),
       mcp_commands(),
       {recipe_list_spec(), recipe_show_spec(), store_check_spec(), store_stats_spec(), store_backup_spec(),
        store_salvage_spec(), sandbox_run_spec(), sandbox_explain_spec(), serve_command_spec(), acp_command_spec(),
        mcp_serve_spec(), attach_command_spec(), doctor_spec(), completion_spec()}});
  return commands;
}

const CommandSpec* find_command(std::string_view name) {
  for (const CommandSpec& command : all_commands())
    if (command.name == name) return &command;
  return nullptr;
}

std::vector<std::string> first_words() {
  std::vector<std::string> out;
  for (const CommandSpec& command : all_commands()) {
    std::string word = split(command.name, ' ')[0];
    if (out.empty() || out.back() != word) out.push_back(std::move(word));
  }
  return out;
}

std::vector<std::string> next_words(std::string_view group) {
  const std::string begin = std::string(group) + " ";
  std::vector<std::string> out;
  for (const CommandSpec& command : all_commands()) {
    if (!command.name.starts_with(begin)) continue;
    std::string word = split(command.name.substr(begin.size()), ' ')[0];
    if (out.empty() || out.back() != word) out.push_back(std::move(word));
  }
  return out;
}

std::vector<std::string> groups(std::size_t words) {
  std::vector<std::string> out = first_words();
  for (std::size_t depth = 1;; ++depth) {
    std::erase_if(out, [](const std::string& each) { return next_words(each).empty(); });
    if (depth == words) return out;
    std::vector<std::string> longer;
    for (const std::string& each : out)
      for (const std::string& word : next_words(each)) longer.push_back(each + " " + word);
    out = std::move(longer);
  }
}

}  // namespace agentd::app
