// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "core/app/cli.h"
#include "core/app/commands/commands.h"
#include "core/config/config_keys.h"

namespace agentd::app {
namespace {

constexpr std::size_t kManyWords = 100'000;

constexpr OptionSpec kProvider{
    "provider", 'p', "NAME", "who answers: anthropic, openai, groq, ollama ... or scripted", {}, "provider"};
constexpr OptionSpec kModel{
    "model", 'm', "MODEL", "the model's name, alone or with its provider: openai/gpt-6.1-sol", {}, "model"};
constexpr OptionSpec kScript{"script",       0, "FILE", "replay the answers of FILE (provider scripted)", {},
                             "scripted.file"};
constexpr OptionSpec kResume{"resume", 0, "ID", "go on with that conversation (a unique beginning is enough)"};
constexpr OptionSpec kFollow{"follow", 'f', {}, "go on with the newest conversation of this project"};
constexpr OptionSpec kNoSave{"no-save", 0, {}, "keep nothing: the conversation lives in memory only"};
constexpr OptionSpec kNoHooks{"no-hooks", 0, {}, "no hook is asked; tools of bundled plugins stay"};
constexpr OptionSpec kSafeMode{
    "safe-mode", 0, {}, "no hook, plugin or tool is loaded, and no recipe of the project: the agent talks"};
constexpr OptionSpec kNoTools{"no-tools", 0, {}, "offer no tools to the model"};
constexpr OptionSpec kMaxTurns{"max-turns", 0, "N", "stop after N turns", {}, "max_turns"};
constexpr OptionSpec kMaxCost{"max-cost",      0, "USD", "stop before the run costs more than that many US dollars", {},
                              "budget.run_usd"};
constexpr OptionSpec kMaxTokens{
    "max-run-tokens",   0, "N", "stop before the run takes more than N tokens, sent and received", {},
    "budget.run_tokens"};
constexpr OptionSpec kNoAuto{"disable-auto-compact", 0,      {}, "do not compact a full context by itself", {},
                             "compaction.auto",      "false"};
constexpr OptionSpec kAllow{
    "allow", 0, "TOOL", "run TOOL without a question (a name or glob; repeats)", {}, "permissions.allow", {}, true};
constexpr OptionSpec kTrace{"trace-hooks", 0, {}, "show every answer of a hook with its time", {}, "hooks.trace"};
constexpr OptionSpec kSet{"set", 0, "KEY=VALUE", "set a configuration key for this call (repeats)", {}, {}, {}, true};
constexpr OptionSpec kJson{"json", 0, {}, "print JSON, one object a line"};

CommandSpec run_spec() {
  return {"run",
          "[QUERY...|-]",
          "ask the agent to do something, and wait until it is done",
          "The words of QUERY are one message, and what comes by a pipe or from a file stands behind "
          "them; "
          "\"-\" alone\nor no QUERY makes it the message. agentd reads such input to its end: start it "
          "with "
          "< /dev/null where a\npipe stays open. @PATH adds the text of a file in the workspace. The "
          "answer goes to standard output, everything else to "
          "standard error.\nCommands that the model runs have your rights and no sandbox; each is asked for "
          "unless a rule allows it.\nThe first Ctrl-C ends the run and keeps what was said; the second ends the "
          "program.",
          {kResume,
           kFollow,
           {"recipe", 'r', "NAME", "send that recipe's text; QUERY, if any, stands behind it ('agentd recipe list')"},
           {"arg", 0, "NAME=VALUE", "fill in a variable of the recipe (repeats)", {}, {}, {}, true},
           kProvider,
           kModel,
           kScript,
           kJson,
           {"result-only", 0, {}, "print the final answer and nothing else"},
           {"image", 0, "FILE", "send that picture along: PNG, JPEG, GIF or WebP (repeats)", {}, {}, {}, true},
           {"output-schema", 0, "FILE", "hold the last answer to the JSON Schema in FILE, and print it alone"},
           {"input-format", 0, "FORMAT", "text, or stream-json: a message on each line of standard input"},
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
           "git diff | agentd run \"review this\"         # the pipe's text stands behind the words",
           "agentd run \"what does @src/main.c do?\"     # the file is sent along",
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
          "talk with the agent, line by line",
          "The prompt shows how full the context is. Lines that begin with a slash are commands: "
          "/help, "
          "/compact,\n/undo, /clear, /status, /recipes, /exit, and /NAME for every recipe. Ctrl-C ends "
          "the answer, Ctrl-D the chat.",
          {kResume, kFollow, kProvider, kModel, kScript, kNoSave, kNoHooks, kSafeMode, kNoTools, kMaxTurns, kMaxCost,
           kMaxTokens, kNoAuto, kAllow, kTrace, kSet},
          {"agentd chat", "agentd chat --follow"},
          0,
          0,
          {},
          chat_command};
}

CommandSpec compact_spec() {
  return {"compact",
          "[BOUNDARY]",
          "replace the history of a conversation by a summary, or take that back",
          "The log keeps every message; only what the model reads gets shorter. A hook may say no: "
          "exit "
          "code 3.\n--undo gives the model back what the last compaction took from it, and what came "
          "since; again, and\nthe one before is undone. --diff shows what a compaction changed: the "
          "last one, or the one that BOUNDARY\nnames ('agentd conversation boundaries ID'). Neither "
          "needs a model.",
          {{"conversation-id", 'c', "ID", "the conversation (a unique beginning is enough)"},
           kFollow,
           {"strategy", 's', "NAME", "what is kept beside the summary", "full|tail|users"},
           {"instructions", 'i', "TEXT", "what the summary should heed"},
           {"dry-run", 'n', {}, "say what would happen, and change nothing"},
           {"undo", 'u', {}, "undo the last compaction that counts"},
           {"force", 0, {}, "with --undo: also when the history is more than the window takes"},
           {"diff", 0, {}, "show what a compaction dropped (-), shortened (~) and kept (=)"},
           kProvider,
           kModel,
           kScript,
           kNoHooks,
           kSafeMode,
           kTrace,
           kJson,
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
          {{"search", 's', "TEXT", "those whose title or id has TEXT in it"},
           {"limit", 'n', "N", "at most N (default 20)"},
           {"all", 'a', {}, "those of all projects"},
           kJson},
          {"agentd conversation list --all", "agentd conversation list --search deploy --limit 5"},
          0,
          0,
          {},
          list_command};
}

CommandSpec conversation_show_spec() {
  return {"conversation show",
          "ID",
          "print a conversation",
          "The whole history is shown, also what a compaction took out of the model's sight.",
          {{"format", 'F', "FORMAT", "how it is printed (default text)", "text|markdown|json"},
           {"view", 0, {}, "only what the next request to the model would hold"},
           {"at", 0, "BOUNDARY|SEQ", "as it was just before a compaction, or at a sequence of the log"},
           {"log", 'l', {}, "the log's records, one a line"}},
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
          "print the log of a conversation in a form that another program can check",
          "One JSON object on a line: each commit batch with its records, payloads and place in the chain, the texts "
          "that\nbelong to it, and the head. docs/reference/log-dump.md says how to check it, with an example.",
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
          "list the compactions of a conversation: when, why, how, and what they won",
          "A boundary's id, or a beginning of it, is what 'compact --diff', 'conversation show --at' and "
          "'conversation\nfork --at' take.",
          {kJson},
          {"agentd conversation boundaries 01JZ8"},
          1,
          1,
          {},
          boundaries_command};
}

CommandSpec conversation_fork_spec() {
  return {"conversation fork",
          "ID",
          "begin a new conversation with the history of another",
          "Without --at: all of it. The two go on apart, and either may be deleted; a conversation that is "
          "in use may\nbe forked as well. At a boundary the fork has what the model saw before that "
          "compaction.",
          {{"at", 0, "BOUNDARY|SEQ", "as it was just before a compaction, or at a sequence of the log"}, kJson},
          {"agentd conversation fork 01JZ8",
           "agentd run --resume \"$(agentd conversation fork 01JZ8 --json | jq -r .id)\" \"another way\""},
          1,
          1,
          {},
          fork_command};
}

CommandSpec conversation_delete_spec() {
  return {"conversation delete",
          "ID",
          "delete a conversation for good",
          "Its pages are used again by what is written later; until then its text may be found in the store's file.\n"
          "'agentd store backup DIR' makes a copy without it.",
          {{"yes", 'y', {}, "do not ask"}},
          {"agentd conversation delete 01JZ8 --yes"},
          1,
          1,
          {},
          delete_command};
}

CommandSpec store_check_spec() {
  return {"store check",
          "[DIR]",
          "verify everything that is stored, and name what is damaged",
          "Every page, checksum, digest and link of the logs' chains is verified, and every index against the logs. "
          "Other\nprocesses may work meanwhile. Without DIR the store of this home is checked. Exit code 6 when "
          "something is damaged.",
          {kJson},
          {"agentd store check", "agentd store check /backup/agentd"},
          0,
          1,
          {},
          store_check_command};
}

CommandSpec store_stats_spec() {
  return {
      "store stats",      "", "print where the store is, and how large", "", {kJson}, {"agentd store stats"}, 0, 0, {},
      store_stats_command};
}

CommandSpec store_backup_spec() {
  return {"store backup",
          "DIR",
          "copy the store to a new directory while it is in use",
          "The copy is of one moment, holds no free pages, is synced and then checked. DIR must not exist. To restore "
          "it, put\nDIR in the place of the store.",
          {kJson},
          {"agentd store backup /backup/agentd-monday"},
          1,
          1,
          {},
          store_backup_command};
}

CommandSpec store_salvage_spec() {
  return {"store salvage",
          "DIR",
          "make a new store of what can be read in a damaged one",
          "Everything that can be verified is kept: whole conversations, and of a damaged one all that stands before "
          "the\ndamage. Indexes are made anew from the logs. What is lost is named. The old store is left as it is; "
          "DIR must not\nexist.",
          {kJson},
          {"agentd store salvage ~/.agent/store.new"},
          1,
          1,
          {},
          store_salvage_command};
}

CommandSpec config_show_spec() {
  return {"config show",
          "",
          "print the configuration in force, and where each value comes from",
          "",
          {{"set-only", 0, {}, "leave out what nobody has set"}, kSet},
          {"agentd config show", "agentd config show --set-only"},
          0,
          0,
          {},
          config_show_command};
}

CommandSpec config_explain_spec() {
  return {"config explain",
          "KEY",
          "say what a key means, who sets it, and who wins",
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

constexpr OptionSpec kConversation{"conversation", 'c', "ID",
                                   "the conversation (a unique beginning is enough; default: the "
                                   "newest of this project)"};
constexpr OptionSpec kEvent{"event", 'e', "EVENT", "the event, as 'agentd hooks contract' names it"};
constexpr OptionSpec kPayload{"payload", 0, "FILE",
                              "the event's JSON, \"-\" from standard input; without it a made-up one"};

CommandSpec hooks_list_spec() {
  return {"hooks list",
          "",
          "list all hooks: what they listen to, whether they may run, and why not",
          "Nothing is run and nothing is recorded. A hook waits when a project brings it, or when its "
          "bytes changed.",
          {kJson, kSet},
          {"agentd hooks list", "agentd hooks list --json | jq 'select(.state != \"on\")'"},
          0,
          0,
          {},
          hooks_list_command};
}

CommandSpec hooks_trust_spec() {
  return {"hooks trust",
          "[NAME|PATH...]",
          "let hooks run as they are now",
          "Shows the file, its bytes' hash, what it listens to and what it runs, and asks. What is "
          "recorded are the\nbytes: a changed file waits again. What a project brings is trusted for "
          "that project at that place only.",
          {{"all", 'a', {}, "every hook that waits"}, {"yes", 'y', {}, "do not ask"}, kJson, kSet},
          {"agentd hooks trust project/lint", "agentd hooks trust --all"},
          0,
          kManyWords,
          {},
          hooks_trust_command};
}

CommandSpec hooks_untrust_spec() {
  return {"hooks untrust",
          "NAME|PATH",
          "forget that a hook is trusted",
          "A guard that is gone for good is taken out of the guards so, and stops blocking.",
          {kJson, kSet},
          {"agentd hooks untrust project/lint"},
          1,
          1,
          {},
          hooks_untrust_command};
}

CommandSpec hooks_release_spec() {
  return {"hooks release",
          "NAME|PATH",
          "let a hook that was set aside be loaded again",
          "A module that ended agentd while it was loaded, or crashed or hung its worker three times "
          "within a minute, is\nset aside until its bytes change or it is released.",
          {kJson},
          {"agentd hooks release lint"},
          1,
          1,
          {},
          hooks_release_command};
}

constexpr OptionSpec kModuleConfig{"config", 0, "JSON", "what the module gets as its configuration (default {})"};

CommandSpec hooks_validate_spec() {
  return {"hooks validate",
          "FILE",
          "check a hook: a native one by the rules of the ABI, any other as it is loaded",
          "A YAML hook, a recipe (.md), another tool's settings (.json) and an executable are read as "
          "a "
          "run reads them, names of\nevents, tools and keys included; an executable is started as FILE "
          "hook, to ask for its events.\n\nA native hook is judged rule by rule, each check in a "
          "process "
          "of its own: a module that crashes, hangs or leaks breaks a\nrule, and nothing else. One "
          "line "
          "for each rule, and one for those that cannot be judged since another is broken;\n"
          "docs/reference/abi-rules.md explains the numbers. A hook that runs in a worker process is "
          "judged by what matters\nthere; --isolation in-process judges it for agentd's own process. "
          "All "
          "options but --json and --set are for native hooks.\nExit code 1 when a rule is broken, or a "
          "run would refuse the file.",
          {{"rule", 0, "ID", "that rule (A401) or group (A4) only (repeats)", {}, {}, {}, true},
           {"timeout", 0, "MS", "how long one step of a check may take, such as a call (default 20000)"},
           {"isolation", 0, "WHERE", "judge it as a hook that runs there (default: where agentd would run it)",
            "process|in-process"},
           kModuleConfig,
           kJson,
           kSet},
          {"agentd hooks validate ./hello.so", "agentd hooks validate ~/.agent/hooks/careful.yaml",
           "agentd hooks validate ./guard.so --rule A4 --rule A701",
           "agentd hooks validate ./audit.so --config '{\"path\":\"audit.jsonl\"}' --json"},
          1,
          1,
          {},
          hooks_validate_command};
}

CommandSpec hooks_fuzz_spec() {
  return {"hooks fuzz",
          "FILE.so",
          "play a native hook at random, and find what makes it fail",
          "Events with payloads made up by chance, instances made, saved, loaded and ended in any order, in a "
          "process of\nits own and in a worker. A finding is a crash, a hang, an illegal answer, memory that is "
          "kept, or a difference\nbetween the two; it is told with its seed, and --replay SEED plays it again. "
          "Exit code 1 when there is one.",
          {{"seed", 0, "N", "where to begin (default: by the clock)"},
           {"runs", 0, "N", "how many seeds to play (default 200)"},
           {"time", 0, "SECONDS", "stop after so long, whatever --runs says"},
           {"replay", 0, "SEED", "play that one alone, and tell its steps"},
           kModuleConfig,
           kJson,
           kSet},
          {"agentd hooks fuzz ./hello.so --time 60", "agentd hooks fuzz ./hello.so --seed 1 --runs 1000",
           "agentd hooks fuzz ./hello.so --replay 4711"},
          1,
          1,
          {},
          hooks_fuzz_command};
}

CommandSpec hooks_contract_spec() {
  return {"hooks contract",
          "[EVENT]",
          "say what an event carries and what it may be answered",
          "Without an event: all of them in short.",
          {{"json", 0, {}, "print JSON"}},
          {"agentd hooks contract", "agentd hooks contract before_tool_call"},
          0,
          1,
          {},
          hooks_contract_command};
}

CommandSpec hooks_test_spec() {
  return {"hooks test",
          "NAME|PATH",
          "ask one hook about an event, and do nothing that it says",
          "Shows whether it is asked and why not, what it gets, what it prints, and how that is read. "
          "The hook itself\nruns; it gets no services, and nothing is recorded. A file outside of the "
          "hooks directories may be named\nby its path.",
          {kEvent, kPayload, kJson, kSet},
          {"agentd hooks test ./guard --event before_tool_call", "agentd hooks test guard --payload call.json --json"},
          1,
          1,
          {},
          hooks_test_command};
}

CommandSpec hooks_run_spec() {
  return {"hooks run",
          "NAME|PATH",
          "ask one hook about an event for real: with services and its own state",
          "As 'hooks test', but the hook may use the model and the store, and what it keeps is kept. "
          "Exit code 3 when it\nblocks, for use in scripts.",
          {kEvent, kPayload, kProvider, kModel, kScript, kJson, kSet},
          {"agentd hooks run guard --event before_tool_call --payload call.json || echo refused"},
          1,
          1,
          {},
          hooks_run_command};
}

CommandSpec hooks_trace_spec() {
  return {
      "hooks trace",
      "",
      "show what hooks were asked and answered in a conversation",
      "One line for each hook that answered, failed or was not asked, in order: time, event, hook, "
      "microseconds,\nanswer, effect. Runs with --trace-hooks keep those without an opinion too.\n"
      "Behind them, for each run that has ended, the calls, seconds, tokens and child processes of each hook.",
      {kConversation, {"event", 'e', "EVENT", "at that event only"}, {"hook", 0, "NAME", "of that hook only"}, kJson},
      {"agentd hooks trace", "agentd hooks trace -c 01JZ8 --event before_tool_call --json"},
      0,
      0,
      {},
      hooks_trace_command};
}

CommandSpec hooks_why_spec() {
  return {"hooks why",
          "ID",
          "say who decided: which hooks were asked, which not and why, what each said",
          "ID is that of an event or of a tool call; the newest conversation of the project is looked at "
          "first, then others.",
          {kConversation, kJson},
          {"agentd hooks why call_1_1", "agentd hooks why 01JZ8Q4T6Y -c 01JZ8"},
          1,
          1,
          {},
          hooks_why_command};
}

CommandSpec hooks_replay_spec() {
  return {"hooks replay",
          "[ID]",
          "ask today's hooks about a recorded conversation, and do nothing that they say",
          "Goes over the messages, tool calls and stops of the log and tells what would have been blocked "
          "or changed.\nHooks that decide run for real, without services; observers are not asked. "
          "Without an ID: the newest\nconversation of the project.",
          {{"hook", 0, "NAME", "that hook only (repeats)", {}, {}, {}, true},
           {"event", 'e', "EVENT", "at that event only"},
           kJson,
           kSet},
          {"agentd hooks replay", "agentd hooks replay 01JZ8 --hook guard --json"},
          0,
          1,
          {},
          hooks_replay_command};
}

CommandSpec hooks_import_spec() {
  return {
      "hooks import",
      "FILE",
      "carry hooks over from another tool's settings",
      "Writes them as agentd's own YAML, says what could not be carried over, and records their "
      "trust. Settings of a\nproject become hooks of that project. To use such a file in place instead, name it in "
      "hooks.adapt.",
      {{"dialect", 'd', "NAME", "whose settings they are; without it the file tells", "claude|gemini|docker"},
       {"output", 'o', "FILE", "where to write (default: hooks/DIALECT.yaml in ~/.agent, or in the project's .agent)"},
       {"force", 0, {}, "replace the file that is there"},
       {"dry-run", 'n', {}, "print the YAML, and write nothing"},
       kJson,
       kSet},
      {"agentd hooks import ~/.claude/settings.json --dry-run",
       "agentd hooks import agent.yaml --dialect docker --output hooks.yaml"},
      1,
      1,
      {},
      hooks_import_command};
}

CommandSpec hooks_new_spec() {
  return {
      "hooks new",
      "NAME",
      "begin a hook of your own that works",
      "Writes the files and says what to do next. A native one carries the headers that it is "
      "built with.",
      {{"lang", 'l', "LANGUAGE", "what it is written in", "c++|c|bash|python|yaml"},
       kEvent,
       {"dir", 0, "DIR", "where to write (default: here)"},
       kJson},
      {"agentd hooks new no-root --lang bash", "agentd hooks new trimmer --lang c++ --event agent_stop --dir ~/src"},
      1,
      1,
      {},
      hooks_new_command};
}

CommandSpec models_spec() {
  return {"models",
          "[NAME]",
          "list the models that are known: window, limit, answer, summariser",
          "With a NAME: what is known of that model, and which entry says so. The limit is what a "
          "conversation may fill:\nthe window, with the configured betas, less what is kept for the "
          "answer. models.yaml in the home directory adds\nentries and changes them.",
          {kJson, kSet},
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
          "show what was spent: requests, tokens and money, by day and model",
          "Days are those of UTC. A price that is not known is said, and counts as nothing in the sum: 'prices' in\n"
          "models.yaml name it. Played answers (provider scripted) are not counted.",
          {{"days", 0, "N", "of the last N days (30)"},
           {"by", 0, "WHAT", "one line for each day, or for each model: day, model"},
           kJson,
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
          "store the key of a provider, for the host that its requests go to now",
          "The key is asked for on the terminal, which does not show it, or read from standard input when that is no\n"
          "terminal. It is never given as an argument. It is kept in the home directory, in a file that nobody "
          "else may\n"
          "open, and is sent to that host alone. A variable of the environment beats it.",
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
          "list the providers that have a key: where it comes from, and its last four characters",
          "",
          {kJson, kSet},
          {"agentd auth list", "agentd auth list --json | jq -r .provider"},
          0,
          0,
          {},
          auth_list_command};
}

CommandSpec auth_remove_spec() {
  return {"auth remove",
          "PROVIDER",
          "remove the stored key of a provider",
          "Exit code 4 when there is none. A variable of the environment stays what it is.",
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
          "list all recipes: where each comes from, what it takes and what it does",
          "A star marks an argument that must be given. A recipe of a project waits until 'agentd hooks "
          "trust' has\nrecorded its bytes.",
          {kJson, kSet},
          {"agentd recipe list", "agentd recipe list --json | jq -r .name"},
          0,
          0,
          {},
          recipe_list_command};
}

CommandSpec recipe_show_spec() {
  return {"recipe show",
          "NAME",
          "print a recipe: what it may do, and its text as it would be sent",
          "Arguments that must be given and are not stay as they are written. Of a recipe that cannot be "
          "used, such as\none that waits for trust, the file is printed; exit code 2.",
          {{"arg", 0, "NAME=VALUE", "fill in a variable of the recipe (repeats)", {}, {}, {}, true}, kJson, kSet},
          {"agentd recipe show compact", "agentd recipe show init --arg focus=tests"},
          1,
          1,
          {},
          recipe_show_command};
}

CommandSpec doctor_spec() {
  return {"doctor",
          "",
          "check what works here, what does not, and what to do",
          "Nothing is changed, and no provider is asked. Executable hooks that a run would use are "
          "started as FILE hook,\nto ask for their events. Exit code 1 when something needed is broken.",
          {kSet},
          {"agentd doctor"},
          0,
          0,
          {},
          doctor_command};
}

CommandSpec completion_spec() {
  return {
      "completion",
      "bash|zsh|fish|conversations|recipes|models|hooks",
      "print a completion script for a shell, or the names that such a script offers",
      "The scripts ask for the names of conversations, recipes, models and hooks when they are offered: one a "
      "line,\na conversation's with its title. A name that a shell would not read as one word is left out.",
      {},
      {"source <(agentd completion bash)             # in ~/.bashrc", "agentd completion zsh > \"${fpath[1]}/_agentd\"",
       "agentd completion fish > ~/.config/fish/completions/agentd.fish"},
      1,
      1,
      "bash|zsh|fish|conversations|recipes|models|hooks",
      completion_command};
}

}  // namespace

const std::vector<CommandSpec>& all_commands() {
  static const std::vector<CommandSpec> commands{run_spec(),
                                                 chat_spec(),
                                                 compact_spec(),
                                                 conversation_list_spec(),
                                                 conversation_show_spec(),
                                                 conversation_dump_spec(),
                                                 conversation_boundaries_spec(),
                                                 conversation_fork_spec(),
                                                 conversation_delete_spec(),
                                                 config_show_spec(),
                                                 config_explain_spec(),
                                                 config_path_spec(),
                                                 config_reference_spec(),
                                                 hooks_list_spec(),
                                                 hooks_trust_spec(),
                                                 hooks_untrust_spec(),
                                                 hooks_release_spec(),
                                                 hooks_validate_spec(),
                                                 hooks_fuzz_spec(),
                                                 hooks_contract_spec(),
                                                 hooks_test_spec(),
                                                 hooks_run_spec(),
                                                 hooks_trace_spec(),
                                                 hooks_why_spec(),
                                                 hooks_replay_spec(),
                                                 hooks_import_spec(),
                                                 hooks_new_spec(),
                                                 models_spec(),
                                                 usage_spec(),
                                                 auth_set_spec(),
                                                 auth_list_spec(),
                                                 auth_remove_spec(),
                                                 recipe_list_spec(),
                                                 recipe_show_spec(),
                                                 store_check_spec(),
                                                 store_stats_spec(),
                                                 store_backup_spec(),
                                                 store_salvage_spec(),
                                                 doctor_spec(),
                                                 completion_spec()};
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

std::vector<std::string> second_words(std::string_view first) {
  std::vector<std::string> out;
  for (const CommandSpec& command : all_commands()) {
    const std::vector<std::string> words = split(command.name, ' ');
    if (words.size() == 2 && words[0] == first) out.push_back(words[1]);
  }
  return out;
}

}  // namespace agentd::app
