// SPDX-License-Identifier: Apache-2.0
// verdicts_test.cc - what a hook says holds, and one that did not agree has not agreed: runs that
// hooks end, slow denials, redactors that fail, namesakes.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "core/base/file.h"
#include "tests/e2e/program.h"
#include "tests/support/loopback_server.h"

namespace agentd::testing {
namespace {

class Verdicts : public ::testing::Test {
 protected:
  // A hook of the user's own; `mode` 0755 makes it a program.
  void hook(const std::string& name, const std::string& text, unsigned mode = 0644) {
    put(program_.home() + "/hooks/" + name, text, mode);
  }
  void put(const std::string& path, const std::string& text, unsigned mode = 0644) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::filesystem::permissions(std::filesystem::path(path).parent_path(), std::filesystem::perms::owner_all);
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
  }
  Finished run(const std::string& script, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"run", "go", "--allow", "bash", "--script", program_.script(script)});
    return program_.run(more);
  }
  bool made(const std::string& name) const { return std::filesystem::exists(program_.project() + "/" + name); }

  // A line for each time that a hook was asked.
  std::string asked() const { return read_file(program_.project() + "/asked", 1u << 20).value_or(std::string()); }

  Program program_;
};

constexpr const char* kTwoCalls =
    "- calls:\n"
    "  - {name: bash, input: {command: 'touch first'}}\n"
    "  - {name: bash, input: {command: 'touch second'}}\n"
    "- text: never asked for\n";

TEST_F(Verdicts, StopRunEndsTheRunWithAnExitCodeOfItsOwn) {
  hook("budget.yaml", "on: before_tool_call\ndo: {action: stop_run, reason: the budget is spent}\n");
  const Finished ran = run(kTwoCalls);
  EXPECT_EQ(ran.code, 7) << ran.err;
  EXPECT_TRUE(has(ran.err, "the run was stopped by budget: the budget is spent")) << ran.err;
  EXPECT_FALSE(has(ran.out, "never asked for"));
  EXPECT_FALSE(made("first") || made("second"));
  const std::string id = program_.newest();
  const Finished shown = program_.run({"conversation", "show", id, "--log"});
  EXPECT_TRUE(has(shown.out, "not run: the run was stopped by budget")) << shown.out;
  const Finished why = program_.run({"hooks", "trace"});
  EXPECT_TRUE(has(why.out, "stop_run")) << why.out << why.err;
  // The conversation goes on with the next message.
  std::filesystem::remove(program_.home() + "/hooks/budget.yaml");
  const Finished next = run("- text: here I am\n", {"--resume", id});
  EXPECT_EQ(next.code, 0) << next.err;
  EXPECT_TRUE(has(next.out, "here I am"));
}

// As in Claude Code, whose sessions begin whatever SessionStart says; UserPromptSubmit is asked next.
TEST_F(Verdicts, ContinueFalseOfClaudeIsToldAtTheStartAndEndsTheRunAtTheMessage) {
  const auto settings = [&](const std::string& event) {
    return program_.directory().write(
        event + ".json",
        "{\"hooks\":{\"" + event +
            "\":[{\"hooks\":[{\"type\":\"command\",\"command\":"
            "\"echo '{\\\"continue\\\":false,\\\"stopReason\\\":\\\"the budget is spent\\\"}'\"}]}]}}");
  };
  program_.config("hooks: {adapt: [\"claude:" + settings("SessionStart") + "\"]}\n");
  const Finished started = run("- text: here I am\n");
  EXPECT_EQ(started.code, 0) << started.err;
  EXPECT_TRUE(has(started.out, "here I am"));
  EXPECT_TRUE(has(started.err, "continue: false cannot stop anything at SessionStart: the budget is spent"))
      << started.err;
  program_.config("hooks: {adapt: [\"claude:" + settings("UserPromptSubmit") + "\"]}\n");
  const Finished stopped = run("- text: here I am\n");
  EXPECT_EQ(stopped.code, 7) << stopped.err;
  EXPECT_TRUE(has(stopped.err, "the budget is spent")) << stopped.err;
  EXPECT_FALSE(has(stopped.out, "here I am"));
}

TEST_F(Verdicts, StopRunBehindTheFirstToolLeavesTheOthersOut) {
  hook("once",
       "#!/bin/sh\nif [ \"$1\" = hook ]; then echo after_tool_call; exit; fi\n"
       "echo '{\"action\":\"stop_run\",\"reason\":\"one is enough\"}'\n",
       0755);
  const Finished ran = run(kTwoCalls, {"--json"});
  EXPECT_EQ(ran.code, 7) << ran.err;
  EXPECT_TRUE(made("first"));
  EXPECT_FALSE(made("second"));
  bool ended = false;
  for (const JsonDocument& line : json_lines(ran.out)) {
    if (line.root()["type"].string_or("") != "run_ended") continue;
    ended = true;
    EXPECT_EQ(line.root()["outcome"].string_or(""), "stopped");
    EXPECT_EQ(line.root()["name"].string_or(""), "once");
    EXPECT_EQ(line.root()["reason"].string_or(""), "one is enough");
  }
  EXPECT_TRUE(ended) << ran.out;
}

// hooks.deadline_ms is for hooks that say nothing of their time.
TEST_F(Verdicts, SlowDenialsOfHooksWithATimeOfTheirOwnCount) {
  const std::string settings = program_.directory().file("claude/settings.json");
  put(program_.directory().file("claude/slow.sh"),
      "#!/bin/sh\ncat >/dev/null\nsleep 1.5\necho 'not today' >&2\nexit 2\n", 0755);
  put(settings,
      "{\"hooks\":{\"PreToolUse\":[{\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\","
      "\"timeout\":20,"
      "\"command\":\"" +
          program_.directory().file("claude/slow.sh") + "\"}]}]}}");
  program_.config("hooks: {deadline_ms: 300, adapt: [\"claude:" + settings + "\"]}\n");
  const Finished ran = run("- calls: [{name: bash, input: {command: 'touch first'}}]\n- text: done\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(made("first")) << ran.err;
  EXPECT_TRUE(has(ran.err, "not today")) << ran.err;
}

// A hook of another tool that names no time has that tool's, and not ours.
TEST_F(Verdicts, SlowDenialsOfAdaptedHooksHaveTheTimeOfTheirTool) {
  const std::string slow = program_.directory().file("slow.sh");
  put(slow, "#!/bin/sh\ncat >/dev/null\nsleep 1\necho 'not today' >&2\nexit 2\n", 0755);
  const std::string handler = "\"hooks\":[{\"type\":\"command\",\"command\":\"" + slow + "\"}]";
  const std::string claude = program_.directory().file("claude/settings.json");
  put(claude, "{\"hooks\":{\"PreToolUse\":[{\"matcher\":\"Bash\"," + handler + "}]}}");
  const std::string gemini = program_.directory().file("gemini/settings.json");
  put(gemini, "{\"hooks\":{\"BeforeTool\":[{\"matcher\":\"run_shell_command\"," + handler + "}]}}");
  const std::string docker = program_.directory().file("docker/agent.yaml");
  put(docker,
      "agents:\n  root:\n    hooks:\n      pre_tool_use:\n        - matcher: shell\n"
      "          hooks: [{type: command, command: " +
          slow + "}]\n");
  const std::string own = program_.home() + "/hooks/own.yaml";
  for (const std::string& adapted :
       {"claude:" + claude, "gemini:" + gemini, std::string("a YAML hook in a dialect"), "docker:" + docker}) {
    const bool yaml = adapted.ends_with("dialect");
    if (yaml) hook("own.yaml", "on: PreToolUse\ndialect: claude\nmatcher: Bash\ncommand: " + slow + "\n");
    program_.config("hooks: {deadline_ms: 300" + (yaml ? "" : ", adapt: [\"" + adapted + "\"]") + "}\n");
    const Finished ran = run("- calls: [{name: bash, input: {command: 'touch first'}}]\n- text: done\n");
    EXPECT_EQ(ran.code, 0) << adapted << ran.err;
    EXPECT_FALSE(made("first")) << adapted << ran.err;
    EXPECT_TRUE(has(ran.err, "not today")) << adapted << ran.err;
    std::filesystem::remove(own);
  }
}

TEST_F(Verdicts, AnExtensionHasTheTimeThatItAsksForAndItsToolsAreToldOnce) {
  const std::string extension = program_.directory().file("extension.py");
  put(extension, R"PY(import json, sys, time
def send(value):
    body = json.dumps(value).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()
while True:
    length = 0
    while True:
        line = sys.stdin.buffer.readline().strip()
        if not line: break
        name, value = line.split(b":")
        if name.lower() == b"content-length": length = int(value)
    if length == 0: sys.exit(0)
    message = json.loads(sys.stdin.buffer.read(length))
    if message.get("method") == "extension.initialize":
        result = {"name": "t", "version": "1", "tools": [{"name": "get_weather"}],
                  "subscriptions": [{"event": "tool.call", "timeoutInSec": 30}]}
    else:
        time.sleep(3)
        result = {"block": {"reason": "not today"}}
    send({"jsonrpc": "2.0", "id": message.get("id"), "result": result})
)PY");
  hook("late.yaml", "on: tool.call\nextension: [python3, " + extension + "]\n");
  program_.config("hooks: {deadline_ms: 1500}\n");
  const char* const call = "- calls: [{name: bash, input: {command: 'touch first'}}]\n- text: done\n";
  const Finished ran = run(kTwoCalls);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(made("first")) << ran.err;
  EXPECT_TRUE(has(ran.err, "not today")) << ran.err;
  const std::size_t told = ran.err.find("its tools (get_weather) are ignored: agentd supports only events");
  EXPECT_NE(told, std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find("get_weather", told + 20), std::string::npos) << ran.err;
  // The user's word beats the hook's.
  program_.config("hooks: {deadline_ms: 1500, late: {timeout_ms: 1500}}\n");
  const Finished shorter = run(call);
  EXPECT_TRUE(made("first")) << shorter.err;
}

TEST_F(Verdicts, DenialBehindSlowHooksCounts) {
  const std::string slow = "#!/bin/sh\nif [ \"$1\" = hook ]; then echo before_tool_call; exit; fi\nsleep 0.7\n";
  hook("a", slow, 0755);
  hook("b", slow, 0755);
  hook("c", slow + "echo '{\"action\":\"block\",\"reason\":\"not today\"}'\n", 0755);
  program_.config("hooks: {deadline_ms: 1900}\n");
  const Finished ran = run("- calls: [{name: bash, input: {command: 'touch first'}}]\n- text: done\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(made("first")) << ran.err;
}

TEST_F(Verdicts, WhatABrokenRedactorCouldNotSeeIsSeenByNobody) {
  hook("redact.yaml", "on: after_tool_call\nguard: true\ncommand: 'cat >/dev/null; exit 1'\n");
  const std::string record = program_.directory().file("requests");
  const Finished ran = run("- calls: [{name: bash, input: {command: 'printf %s%s hunt er2'}}]\n- text: done\n",
                           {"--json", "--set", "scripted.record=" + record});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto requests = read_file(record, 1 << 20);
  ASSERT_TRUE(requests);
  EXPECT_TRUE(has(*requests, "[withheld: the hook redact")) << *requests;
  const Finished shown = program_.run({"conversation", "show", program_.newest(), "--log"});
  for (const std::string* const text : {&*requests, &ran.out, &shown.out}) EXPECT_FALSE(has(*text, "hunter2")) << *text;
}

TEST_F(Verdicts, AnswerIsShownOnlyBehindTheHooksThatGuardIt) {
  hook("redact.yaml", "on: after_model_call\nguard: true\ncommand: 'cat >/dev/null; exit 1'\n");
  const Finished ran = run("- text: the secret\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(has(ran.out, "secret")) << ran.out;
  EXPECT_TRUE(has(ran.out, "[withheld: the hook redact")) << ran.out;
  EXPECT_FALSE(has(program_.run({"conversation", "show", program_.newest(), "--log"}).out, "the secret"));
}

// A hook of whatever kind that may rewrite the answer is heard before anybody sees it.
TEST_F(Verdicts, AnswerIsShownOnlyBehindTheHooksThatMayRewriteIt) {
  LoopbackServer server([](const RecordedRequest&) { return Reply::http(200, {}, R"({"output":"a clean one"})"); });
  const std::string gemini = "echo '{\"hookSpecificOutput\":{\"llm_response\":{\"text\":\"a clean one\"}}}'";
  const std::string settings = program_.directory().file("gemini/settings.json");
  JsonWriter adapted;
  adapted.begin_object().key("hooks").begin_object().key("AfterModel").begin_array().begin_object();
  adapted.key("hooks").begin_array().begin_object().member("type", "command").member("command", gemini);
  adapted.end_object().end_array().end_object().end_array().end_object().end_object();
  put(settings, std::string(adapted.text()));
  const std::string answer = "'{\"output\":\"a clean one\"}'";
  struct Kind {
    std::string name, text, config;
    unsigned mode = 0644;
  };
  const std::vector<Kind> kinds{
      {"program", "#!/bin/sh\nif [ $1 = hook ]; then echo after_model_call; else echo " + answer + "; fi\n", "", 0755},
      {"command.yaml", "on: after_model_call\ncommand: |\n  cat > /dev/null; echo " + answer + "\n", ""},
      {"action.yaml", "on: after_model_call\ndo: {output: a clean one}\n", ""},
      {"web.yaml", "on: after_model_call\nurl: " + server.url() + "/hook\n", ""},
      {"gemini.yaml", "on: AfterModel\ndialect: gemini\ncommand: |\n  " + gemini + "\n", ""},
      {"notes.txt", "", "hooks: {adapt: [\"gemini:" + settings + "\"]}\n"},
  };
  for (const Kind& kind : kinds) {
    hook(kind.name, kind.text, kind.mode);
    program_.config(kind.config);
    for (const char* const form : {"--json", "--allow=bash"}) {
      const Finished ran = run("- {text: the password is hunter2, thinking: hunter2}\n", {form});
      EXPECT_EQ(ran.code, 0) << kind.name << ran.err;
      EXPECT_FALSE(has(ran.out, "hunter2")) << kind.name << ran.out;
      EXPECT_TRUE(has(ran.out, "a clean one")) << kind.name << ran.out << ran.err;
    }
    std::filesystem::remove(program_.home() + "/hooks/" + kind.name);
  }
}

// An answer streams where no hook may rewrite it: one piece for every 24 bytes of the scripted provider.
TEST_F(Verdicts, AnswerStreamsBesideHooksThatCannotRewriteIt) {
  const std::string command = "command: |\n  cat > /dev/null\n";
  int number = 0;
  for (const std::string& text :
       {std::string("on: agent_stop\n" + command), "on: after_model_call\nobserve: true\n" + command,
        "on: after_model_call\nasync: true\n" + command, "on: after_model_call\nshadow: true\n" + command,
        std::string("on: after_model_call\ndo: {system_message: seen}\n"),
        "on: after_llm_call\ndialect: docker\n" + command, "on: after_model_call\n" + command}) {
    const std::string file = "look" + std::to_string(++number) + ".yaml";
    hook(file, text);
    const bool may_rewrite = text == "on: after_model_call\n" + command;
    const Finished ran = run("- text: an answer that is longer than one piece of it is\n", {"--json"});
    EXPECT_EQ(ran.code, 0) << text << ran.err;
    std::size_t pieces = 0;
    for (const JsonDocument& line : json_lines(ran.out)) pieces += line.root()["type"].string_or("") == "text_delta";
    EXPECT_EQ(pieces, may_rewrite ? 1u : 2u) << text << ran.out;
    std::filesystem::remove(program_.home() + "/hooks/" + file);
  }
}

// Observers of agentd's own kinds hear of calls that were refused, by whomever, with the outcome; hooks that may
// answer, other tools' hooks and modules of ABI 1.0 do not.
TEST_F(Verdicts, ObserversHearOfRefusedCalls) {
  const std::string heard = program_.directory().file("heard");
  const std::string keep = "command: |\n  cat >> " + heard + "\n";
  hook("seen.yaml", "on: tool_call_failed\nobserve: true\n" + keep);
  hook("aside.yaml", "on: tool_call_failed\nasync: true\n" + keep);
  hook("gate.yaml", "on: tool_call_failed\n" + keep);
  hook("foreign.yaml", "on: PostToolUseFailure\ndialect: claude\nasync: true\n" + keep);
  for (const char* const minor : {"0", "1"})
    program_.drop_hook(std::string(AGENTD_WATCH_HOOKS) + "/e2e_watch_" + minor + ".so");
  const std::string audit = program_.directory().file("audit.jsonl");
  const std::string audited = "hooks: {audit_log: {enabled: true, config: {path: " + audit +
                              ", bodies: true}}, "
                              "session_memory: {enabled: false}}\n";
  const std::set<std::string> observers{"seen", "aside", "e2e_watch_1", "audit_log"};
  std::set<std::string> all = observers;
  all.insert({"gate", "foreign", "e2e_watch_0"});
  struct Case {
    std::string permissions, why;  // no reason: the tool runs and fails
  };
  for (const auto& [permissions, why] :
       {Case{"deny: [bash]", "the permission rules do not allow bash"}, Case{"mode: ask", "not permitted: "},
        Case{"mode: allow", "blocked by the hook say_no: not today"}, Case{"mode: allow", ""}}) {
    std::filesystem::remove(heard);
    std::filesystem::remove(audit);
    program_.config(audited + "permissions: {" + permissions + "}\n");
    if (has(why, "say_no")) hook("say_no.yaml", "on: before_tool_call\ndo: {action: block, reason: not today}\n");
    const Finished ran =
        program_.run({"run", "go", "--json", "--script",
                      program_.script("- calls: [{name: bash, input: {command: exit 3}}]\n- text: done\n")});
    std::filesystem::remove(program_.home() + "/hooks/say_no.yaml");
    EXPECT_EQ(ran.code, 0) << ran.err;
    std::set<std::string> asked;
    for (const JsonDocument& line : json_lines(ran.out))
      if (line.root()["type"].string_or("") == "hook_answer" &&
          line.root()["event"].string_or("") == "tool_call_failed")
        asked.emplace(line.root()["name"].string_or(""));
    EXPECT_EQ(asked, why.empty() ? all : observers) << why << ran.out << ran.err;
    for (const std::string& path : {heard, audit}) {
      const auto told = read_file(path, 1 << 20);
      ASSERT_TRUE(told) << path << why << ran.err;
      EXPECT_EQ(has(*told, "\"denied\":true"), !why.empty()) << *told;
      EXPECT_TRUE(has(*told, why)) << *told;
    }
  }
}

TEST_F(Verdicts, NamesakesAreToldApartOrRefused) {
  hook("x", "#!/bin/sh\nif [ \"$1\" = hook ]; then echo turn_start; fi\n", 0755);
  hook("x.yaml", "on: before_tool_call\nguard: true\ndo: {action: block, reason: no}\n");
  const Finished ran = run("- calls: [{name: bash, input: {command: 'touch first'}}]\n- text: done\n");
  EXPECT_FALSE(made("first")) << ran.err;
  EXPECT_TRUE(has(ran.err, "has the same name 'x': rename one of the two")) << ran.err;
  const Finished test = program_.run({"hooks", "test", "x", "--event", "before_tool_call"});
  EXPECT_EQ(test.code, 2) << test.out;
  EXPECT_TRUE(has(test.err, "/x,") && has(test.err, "/x.yaml")) << test.err;
}

TEST_F(Verdicts, GuardThatIsGoneIsMissedThoughAnotherHookHasItsName) {
  hook("x.yaml", "on: before_tool_call\nguard: true\nwhen: 'false'\ndo: {action: block, reason: no}\n");
  const char* const script = "- calls: [{name: bash, input: {command: 'touch first'}}]\n- text: done\n";
  run(script);
  EXPECT_TRUE(made("first"));
  std::filesystem::remove(program_.project() + "/first");
  std::filesystem::remove(program_.home() + "/hooks/x.yaml");
  hook("x", "#!/bin/sh\nif [ \"$1\" = hook ]; then echo turn_start; fi\n", 0755);
  const Finished ran = run(script);
  EXPECT_FALSE(made("first")) << ran.err;
  EXPECT_TRUE(has(ran.err, "the guard 'x' is unavailable, so its events are blocked")) << ran.err;
}

TEST_F(Verdicts, HooksOfTwoAdaptedFilesHaveNamesOfTheirOwn) {
  std::string adapt;
  for (const char* const place : {"one", "two"}) {
    const std::string file = program_.directory().file(std::string(place) + "/settings.json");
    put(file,
        "{\"hooks\":{\"PreToolUse\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"exit "
        "2\"}]}]}}");
    adapt += (adapt.empty() ? "\"claude:" : ", \"claude:") + file + "\"";
  }
  program_.config("hooks: {adapt: [" + adapt + "]}\n");
  std::vector<std::string> names;
  const Finished list = program_.run({"hooks", "list", "--json"});
  for (const JsonDocument& line : json_lines(list.out))
    if (line.root()["name"].string_or("").starts_with("claude/")) names.emplace_back(line.root()["name"].string_or(""));
  ASSERT_EQ(names.size(), 2u) << list.out << list.err;
  EXPECT_NE(names[0], names[1]);
  EXPECT_TRUE(names[0].starts_with("claude/one-") && names[0].ends_with("/PreToolUse.1")) << names[0];
  // What is said of one of them is said of that one alone: the other still blocks.
  program_.config("hooks: {adapt: [" + adapt + "], \"" + names[0] + "\": {shadow: true}}\n");
  const Finished ran = run("- calls: [{name: bash, input: {command: 'touch first'}}]\n- text: done\n");
  EXPECT_FALSE(made("first")) << ran.err;
  EXPECT_TRUE(has(ran.err, names[1])) << ran.err;
}

// What a guard could not look at is withheld whole.
TEST_F(Verdicts, NoCallRunsOfAnAnswerThatAClosedHookCouldNotLookAt) {
  hook("look", "#!/bin/sh\nif [ \"$1\" = hook ]; then echo after_model_call; exit; fi\nexit 3\n", 0755);
  const std::string script =
      "- text: s3cret words\n"
      "  thinking: s3cret thoughts\n"
      "  calls: [{name: bash, input: {command: 'touch first # s3cret'}}]\n"
      "- text: the second answer\n";
  program_.config("hooks: {look: {on_failure: closed}}\n");
  const Finished ran = run(script, {"--json"});
  EXPECT_FALSE(made("first")) << ran.out;
  EXPECT_TRUE(has(ran.out, "[withheld: the hook look")) << ran.out;
  EXPECT_FALSE(has(ran.out, "s3cret")) << ran.out;
  const Finished shown = program_.run({"conversation", "show", program_.newest(), "--log"});
  EXPECT_FALSE(has(shown.out, "s3cret")) << shown.out;
  EXPECT_FALSE(has(shown.out, "tool_intent")) << shown.out;
  // A control: with an open hook the call runs.
  program_.config("hooks: {look: {on_failure: open}}\n");
  const Finished open = run(script);
  EXPECT_EQ(open.code, 0) << open.err;
  EXPECT_TRUE(made("first"));
  EXPECT_TRUE(has(open.out, "the second answer")) << open.out;
}

// ---- the ledger of a run, and its limits

TEST_F(Verdicts, HookThatIsOverALimitIsNotAskedAnyMoreAndOneSentenceSaysSo) {
  hook("count.yaml", "on: before_tool_call\ncommand: echo asked >> asked\n");
  program_.config("hooks: {max_calls: 1}\n");
  const Finished ran = run(kTwoCalls);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(made("first") && made("second"));
  EXPECT_EQ(asked(), "asked\n");
  EXPECT_TRUE(has(ran.err, "it is not called any more: it has used its 1 call of this run (hooks.max_calls)"))
      << ran.err;
  const Finished traced = program_.run({"hooks", "trace"});
  EXPECT_TRUE(has(traced.out, "hooks of run 1\n")) << traced.out;
  EXPECT_TRUE(has(traced.out, "\n  count: 1 call, 1 call refused, 0.")) << traced.out;
}

TEST_F(Verdicts, WhySaysWhoseRewriteWasRefused) {
  hook("rewrites.yaml", "on: before_tool_call\ndo: {input: {command: 7}}\n");
  const Finished ran = run(kTwoCalls);
  EXPECT_FALSE(made("first") || made("second")) << ran.err;
  const Finished why = program_.run({"hooks", "why", "call_1_1"});
  EXPECT_TRUE(has(why.out, "decision: the answer of rewrites was refused: ")) << why.out << why.err;
  EXPECT_FALSE(has(why.out, "no hook answered")) << why.out;
}

TEST_F(Verdicts, LimitOfAFileIsThatOfEachOfItsHooks) {
  hook("count.yaml", "on: [before_tool_call, after_tool_call]\ncommand: echo asked >> asked\n");
  program_.config("hooks: {count: {max_calls: 1}}\n");
  const Finished ran = run(kTwoCalls);
  EXPECT_TRUE(made("first") && made("second")) << ran.err;
  EXPECT_EQ(asked(), "asked\nasked\n") << "one call of each of the two";
}

TEST_F(Verdicts, GuardThatIsOverALimitBlocksWhatItGuards) {
  hook("count.yaml", "on: before_tool_call\non_failure: closed\ncommand: echo asked >> asked\n");
  program_.config("hooks: {count: {max_calls: 1}}\n");
  const Finished ran = run(kTwoCalls);
  EXPECT_TRUE(made("first"));
  EXPECT_FALSE(made("second")) << ran.err;
  EXPECT_EQ(asked(), "asked\n");
  const Finished shown = program_.run({"conversation", "show", program_.newest(), "--log"});
  EXPECT_TRUE(has(shown.out, "the guard 'count' failed: it has used its 1 call of this run (hooks.max_calls)"))
      << shown.out;
}

TEST_F(Verdicts, LedgerTellsTheCallsTheSecondsAndTheProcessesThatAHookLeft) {
  hook("leaves.yaml", "on: before_tool_call\ncommand: sleep 600 >/dev/null 2>&1 &\n");
  const Finished ran = run(kTwoCalls, {"--trace-hooks"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Finished traced = program_.run({"hooks", "trace"});
  EXPECT_TRUE(has(traced.out, "  leaves: 2 calls, ") && has(traced.out, " s, 2 child processes ended\n")) << traced.out;
  const Finished of_another = program_.run({"hooks", "trace", "--hook", "another"});
  EXPECT_FALSE(has(of_another.out, "leaves")) << of_another.out;
  const Finished json = program_.run({"hooks", "trace", "--json", "--hook", "leaves"});
  EXPECT_TRUE(has(json.out, "\"run\":1,\"hooks\":[{\"hook\":\"leaves\",\"plugin\":\"leaves\",\"calls\":2,"))
      << json.out;
  const std::size_t at = json.out.find("\"event_id\":\"");
  ASSERT_NE(at, std::string::npos) << json.out;
  const std::string event = json.out.substr(at + 12, 26);
  const Finished why = program_.run({"hooks", "why", event});
  EXPECT_TRUE(has(why.out, "  in this run: leaves: 2 calls, ")) << why.out << why.err;
}

}  // namespace
}  // namespace agentd::testing
