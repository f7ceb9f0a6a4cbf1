// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "core/app/command_table.h"
#include "core/app/commands/commands.h"
#include "core/base/bytes.h"
#include "core/dialects/dialect.h"

namespace agentd::app {
namespace {

constexpr OptionSpec kConversation{"conversation", 'c', "ID",
                                   "the conversation (a unique prefix is enough; default: the newest of this project)"};
constexpr OptionSpec kEvent{"event", 'e', "EVENT", "an event name ('agentd hooks contract' lists them)"};
constexpr OptionSpec kPayload{"payload", 0, "FILE", "the event's JSON, \"-\" for standard input (default: a sample)"};

CommandSpec hooks_list_spec() {
  return {
      "hooks list",
      "",
      "list all hooks: their events, whether they may run, and if not, why",
      "Nothing is run or recorded. A hook needs to be trusted if it comes with a project or its bytes have changed.",
      {kAsJson, kSet},
      {"agentd hooks list", "agentd hooks list --json | jq 'select(.state != \"on\")'"},
      0,
      0,
      {},
      hooks_list_command};
}

CommandSpec hooks_trust_spec() {
  return {"hooks trust",
          "[NAME|PATH...]",
          "allow hooks to run with their present bytes",
          "Shows the file, its hash, its events and what it runs, and asks for confirmation. The bytes are recorded: "
          "a\nchanged file needs to be trusted again. A project's hook is trusted for that project at that path only.",
          {{"all", 'a', {}, "every hook that is not trusted yet"},
           {"yes", 'y', {}, "do not ask for confirmation"},
           kAsJson,
           kSet},
          {"agentd hooks trust project/lint", "agentd hooks trust --all"},
          0,
          kManyWords,
          {},
          hooks_trust_command};
}

CommandSpec hooks_untrust_spec() {
  return {"hooks untrust",
          "NAME|PATH",
          "revoke the trust in a hook",
          "This also removes a deleted guard from the list of guards, so that it stops blocking.",
          {kAsJson, kSet},
          {"agentd hooks untrust project/lint"},
          1,
          1,
          {},
          hooks_untrust_command};
}

CommandSpec hooks_release_spec() {
  return {"hooks release",
          "NAME|PATH",
          "re-enable a quarantined hook",
          "A module that crashed agentd while being loaded, or crashed or hung its worker three times within a minute, "
          "is\nquarantined until its bytes change or it is released.",
          {kAsJson},
          {"agentd hooks release lint"},
          1,
          1,
          {},
          hooks_release_command};
}

constexpr OptionSpec kModuleConfig{"config", 0, "JSON", "the module's configuration (default {})"};

CommandSpec hooks_validate_spec() {
  return {
      "hooks validate",
      "FILE",
      "check a hook: a native one by the rules of the ABI, any other by loading it",
      "A YAML hook, a recipe (.md), another tool's settings (.json) and an executable are read as a run reads "
      "them,\nincluding names of events, tools and keys; an executable is started as FILE hook to report its "
      "events.\n\nA native hook is checked rule by rule, each check in its own process: a module that crashes, hangs "
      "or leaks\nbreaks only that rule. The output has one line per rule, and one for rules that cannot be checked "
      "because\nanother is broken; docs/reference/abi-rules.md explains the numbers. A hook that runs in a worker "
      "process is\nchecked for that; --isolation in-process checks it for agentd's own process. All options except "
      "--json and --set\nare for native hooks.\nExit code 1 if a rule is broken or a run would refuse the file.",
      {{"rule", 0, "ID", "only rule (A401) or group (A4) ID (repeats)", {}, {}, {}, true},
       {"timeout", 0, "MS", "time limit of one step of a check, such as a call (default 20000)"},
       {"isolation", 0, "WHERE", "check it as a hook that runs there (default: where agentd would run it)",
        "process|in-process"},
       kModuleConfig,
       kAsJson,
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
          "call a native hook with random events to find failures",
          "Sends events with random payloads, and creates, saves, restores and destroys instances in any order, both "
          "in a\nprocess of its own and in a worker. A finding is a crash, a hang, an illegal answer, leaked memory, "
          "or a\ndifference between the two. It is reported with its seed; --replay SEED repeats it. Exit code 1 if "
          "there is one.",
          {{"seed", 0, "N", "the first seed (default: from the clock)"},
           {"runs", 0, "N", "how many seeds to try (default 200)"},
           {"time", 0, "SECONDS", "stop after SECONDS, even before --runs are done"},
           {"replay", 0, "SEED", "run only this seed and print its steps"},
           kModuleConfig,
           kAsJson,
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
          "show what an event carries and which answers it allows",
          "Without EVENT, lists all events.",
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
          "call one hook with an event and ignore its answer",
          "Shows whether the hook is called and if not, why; its input, its output, and how the output is interpreted. "
          "The\nhook really runs, but gets no services, and nothing is recorded. A file outside the hooks directories "
          "may be\nnamed by its path.",
          {kEvent, kPayload, kAsJson, kSet},
          {"agentd hooks test ./guard --event before_tool_call", "agentd hooks test guard --payload call.json --json"},
          1,
          1,
          {},
          hooks_test_command};
}

CommandSpec hooks_run_spec() {
  return {"hooks run",
          "NAME|PATH",
          "call one hook with an event, with services and its own state",
          "Like 'hooks test', but the hook may use the model and the store, and its state is saved. Exit code 3 if "
          "it\nblocks, for use in scripts.",
          {kEvent, kPayload, kProvider, kModel, kScript, kAsJson, kSet},
          {"agentd hooks run guard --event before_tool_call --payload call.json || echo refused"},
          1,
          1,
          {},
          hooks_run_command};
}

CommandSpec hooks_trace_spec() {
  return {"hooks trace",
          "",
          "show which hooks were called in a conversation, and their answers",
          "One line per hook that answered, failed or was skipped, in order: time, event, hook, microseconds, "
          "answer,\neffect. Runs with --trace-hooks also record calls without an answer. For each finished run, the "
          "calls, seconds,\ntokens and child processes of each hook follow.",
          {kConversation, {"event", 'e', "EVENT", "only this event"}, {"hook", 0, "NAME", "only this hook"}, kAsJson},
          {"agentd hooks trace", "agentd hooks trace -c 01JZ8 --event before_tool_call --json"},
          0,
          0,
          {},
          hooks_trace_command};
}

CommandSpec hooks_why_spec() {
  return {"hooks why",
          "ID",
          "explain a decision: which hooks were called or skipped, and their answers",
          "ID is the id of an event or of a tool call. The newest conversation of the project is searched first, then "
          "the\nothers.",
          {kConversation, kAsJson},
          {"agentd hooks why call_1_1", "agentd hooks why 01JZ8Q4T6Y -c 01JZ8"},
          1,
          1,
          {},
          hooks_why_command};
}

CommandSpec hooks_replay_spec() {
  return {"hooks replay",
          "[ID]",
          "call today's hooks with a recorded conversation and ignore their answers",
          "Replays the messages, tool calls and stops of the log and reports what would have been blocked or "
          "changed.\nDeciding hooks really run, without services; observers are not called. Without ID: the newest "
          "conversation of\nthe project.",
          {{"hook", 0, "NAME", "only this hook (repeats)", {}, {}, {}, true},
           {"event", 'e', "EVENT", "only this event"},
           kAsJson,
           kSet},
          {"agentd hooks replay", "agentd hooks replay 01JZ8 --hook guard --json"},
          0,
          1,
          {},
          hooks_replay_command};
}

CommandSpec hooks_import_spec() {
  static const std::string dialects = join(settings_dialects(), "|");
  return {"hooks import",
          "FILE",
          "import hooks from another tool's settings",
          "Writes them as agentd's own YAML, lists what could not be converted, and records their trust. Settings of "
          "a\nproject become hooks of that project. To use such a file in place instead, name it in hooks.adapt.",
          {{"dialect", 'd', "NAME", "the tool the settings are for (default: detected from the file)", dialects},
           {"output", 'o', "FILE",
            "the file to write (default: hooks/DIALECT.yaml in ~/.agent, or in the project's .agent)"},
           {"force", 0, {}, "replace an existing file"},
           {"dry-run", 'n', {}, "print the YAML; write nothing"},
           kAsJson,
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
      "create a working hook to start from",
      "Writes the files and prints the next steps. A native hook gets a copy of the headers.",
      {{"lang", 'l', "LANGUAGE", "the language", "c++|c|bash|python|yaml"},
       kEvent,
       {"dir", 0, "DIR", "the directory to write to (default: the current one)"},
       kAsJson},
      {"agentd hooks new no-root --lang bash", "agentd hooks new trimmer --lang c++ --event agent_stop --dir ~/src"},
      1,
      1,
      {},
      hooks_new_command};
}

}  // namespace

std::vector<CommandSpec> hooks_commands() {
  return {hooks_list_spec(), hooks_trust_spec(),    hooks_untrust_spec(), hooks_release_spec(), hooks_validate_spec(),
          hooks_fuzz_spec(), hooks_contract_spec(), hooks_test_spec(),    hooks_run_spec(),     hooks_trace_spec(),
          hooks_why_spec(),  hooks_replay_spec(),   hooks_import_spec(),  hooks_new_spec()};
}

}  // namespace agentd::app
