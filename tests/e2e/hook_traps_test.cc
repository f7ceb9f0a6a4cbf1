// SPDX-License-Identifier: Apache-2.0
// What hooks of other tools fall into: each trap once, through the built program.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

constexpr const char* kCall = "- calls: [{name: bash, input: {command: \"echo it-ran > ran.txt\"}}]\n- text: done\n";

class HookTraps : public ::testing::Test {
 protected:
  HookTraps() {
    program_.set("AGENTD_SANDBOX_LAYER=off");  // processes and marks outside of the project
    make_directories(program_.home() + "/hooks").has_value();
    ::chmod(program_.home().c_str(), 0700);
  }

  std::string write(const std::string& path, const std::string& text, unsigned mode) const {
    EXPECT_TRUE(write_file_atomically(path, text, mode));
    return path;
  }
  // An executable of the hooks directory, in Kodelet's protocol.
  void executable(const std::string& name, const std::string& event, const std::string& body,
                  const std::string& interpreter = "#!/bin/sh\n") const {
    write(program_.home() + "/hooks/" + name,
          interpreter + "if [ \"$1\" = hook ]; then echo " + event + "; exit 0; fi\n" + body, 0755);
  }
  void yaml(const std::string& name, const std::string& text) const {
    write(program_.home() + "/hooks/" + name + ".yaml", text, 0644);
  }
  // A claude hook at PreToolUse that runs this script; more of the handler in `extra`.
  void claude(const std::string& body, const std::string& extra = {}) {
    const std::string script = write(program_.directory().file("guard.sh"), "#!/bin/sh\n" + body, 0755);
    write(program_.directory().file("settings.json"),
          "{\"hooks\":{\"PreToolUse\":[{\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\","
          "\"command\":\"" +
              script + "\"" + extra + "}]}]}}",
          0600);
    program_.config("hooks:\n  adapt: [\"claude:" + program_.directory().file("settings.json") + "\"]\n");
  }
  Finished call_tool() {
    return program_.run({"run", "x", "--allow", "bash", "--trace-hooks", "--script", program_.script(kCall)});
  }
  bool ran() const { return ::access((program_.project() + "/ran.txt").c_str(), F_OK) == 0; }

  Program program_;
};

TEST_F(HookTraps, ExitTwoWithNothingOnStderrBlocks) {
  claude("cat > /dev/null\nexit 2\n");
  const Finished done = call_tool();
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_FALSE(ran()) << done.err;
}

TEST_F(HookTraps, ExitTwoBlocksWhateverStandsOnStdout) {
  claude(
      "echo "
      "'{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\"}"
      "}'\n"
      "exit 2\n");
  call_tool();
  EXPECT_FALSE(ran());
}

TEST_F(HookTraps, ALogLineBeforeTheJsonIsAFailureAndNeverAnAllow) {
  claude(
      "echo checking...\n"
      "echo "
      "'{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\"}}"
      "'\n",
      ",\"onFailure\":\"block\"");
  const Finished done = call_tool();
  EXPECT_FALSE(ran()) << done.err;
  EXPECT_NE(done.err.find("failed"), std::string::npos) << done.err;
}

TEST_F(HookTraps, DeathBySignalWithAnAllowOnStdoutIsNoAllow) {
  executable("guard", "before_tool_call", "echo '{\"permission\":\"allow\"}'\nkill -9 $$\n");
  program_.config("hooks:\n  guard: {on_failure: closed}\n");
  const Finished done = call_tool();
  EXPECT_FALSE(ran()) << done.err;
  EXPECT_NE(done.err.find("signal 9"), std::string::npos) << done.err;
}

// As the tool that it was written for asks it: all of one file at once, each command once, and none is kept from
// hearing of what another one denies. A fifo would keep hooks that run one after another waiting for ever.
TEST_F(HookTraps, HooksOfOneAdaptedFileAreAskedTogetherAndEachCommandOnce) {
  const std::string settings = program_.directory().file("settings.json");
  const auto script = [&](const std::string& name, const std::string& body) {
    return write(program_.directory().file(name), "#!/bin/sh\ncat > /dev/null\n" + body, 0755);
  };
  const std::string pipe = program_.directory().file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string guard = script("guard.sh", "echo go > " + pipe + "; echo no >&2; exit 2\n");
  const std::string logger = script("logger.sh", "cat " + pipe + "; echo asked >> \"$HOME/log.txt\"\n");
  const auto command = [](const std::string& path) {
    return R"({"type":"command","timeout":20,"command":")" + path + "\"}";
  };
  write(settings,
        R"({"hooks":{"PreToolUse":[{"matcher":"Edit","hooks":[)" + command(logger) +
            R"(]},{"matcher":"Bash","hooks":[)" + command(guard) + "," + command(logger) + "," + command(logger) +
            R"(]},{"hooks":[)" + command(logger) + "]}]}}",
        0600);
  program_.config("hooks:\n  adapt: [\"claude:" + settings + "\"]\n");
  const Finished done = call_tool();
  EXPECT_FALSE(ran()) << done.err;
  const auto log = read_file(program_.directory().file("log.txt"), 100);
  EXPECT_EQ(log ? *log : "", "asked\n") << done.err;
  EXPECT_NE(done.err.find("PreToolUse.3"), std::string::npos) << done.err;
}

// The tool that it was written for asks it once, and so does agentd: what it wrote is its own opinion.
TEST_F(HookTraps, AnAdaptedHookThatRewritesTheInputIsAskedOnce) {
  claude(
      "cat > /dev/null\necho asked >> \"$HOME/log.txt\"\n"
      R"(echo '{"hookSpecificOutput":{"updatedInput":{"command":"echo changed > changed.txt"}}}')"
      "\n");
  const Finished done = call_tool();
  EXPECT_FALSE(ran()) << done.err;
  EXPECT_EQ(::access((program_.project() + "/changed.txt").c_str(), F_OK), 0) << done.err;
  const auto log = read_file(program_.directory().file("log.txt"), 100);
  EXPECT_EQ(log ? *log : "", "asked\n") << done.err;
}

TEST_F(HookTraps, TheAnswerOfAHookWhoseChildHoldsThePipeIsUsed) {
  executable("guard", "before_tool_call",
             "echo '{\"action\":\"block\",\"reason\":\"answered\"}'\nsleep 20 &\nexit 0\n");
  const auto from = std::chrono::steady_clock::now();
  const Finished done = call_tool();
  EXPECT_FALSE(ran()) << done.err;
  EXPECT_NE(done.err.find("answered"), std::string::npos) << done.err;
  // Not a figure, only that nobody waited for the child.
  EXPECT_LT(std::chrono::steady_clock::now() - from, std::chrono::seconds(15));
}

TEST_F(HookTraps, AChildThatHoldsThePipePastTheLimitIsEndedWithTheHook) {
  const std::string mark = program_.directory().file("survivor");
  yaml("guard",
       "on: before_tool_call\ntimeout: 300ms\non_failure: closed\ncommand: \"(trap '' TERM; sleep "
       "3; touch " +
           mark + ") & sleep 30\"\n");
  const auto from = std::chrono::steady_clock::now();
  const Finished done = call_tool();
  EXPECT_FALSE(ran()) << done.err;
  EXPECT_LT(std::chrono::steady_clock::now() - from, std::chrono::seconds(15));
  EXPECT_NE(done.err.find("deadline"), std::string::npos) << done.err;
  EXPECT_NE(::access(mark.c_str(), F_OK), 0);
}

// A process that has nothing of the hook that started it: no descriptor, no session, no parent, no
// environment. It would be done two seconds later.
std::string survivor(const std::string& mark) {
  return "(setsid env -i sh -c '(setsid sh -c \"sleep 2; echo x >" + mark + "\" &)' </dev/null >/dev/null 2>&1 &)\n";
}

TEST_F(HookTraps, AChildThatHasNothingOfItsHookEndsWithItsDeadline) {
  const std::string mark = program_.directory().file("survivor");
  executable("guard", "before_tool_call", survivor(mark) + "exec sleep 30\n");
  program_.config("hooks: {guard: {timeout_ms: 300}}\n");
  const auto from = std::chrono::steady_clock::now();
  call_tool();
  EXPECT_LT(std::chrono::steady_clock::now() - from, std::chrono::seconds(15));
  ::sleep(3);
  EXPECT_NE(::access(mark.c_str(), F_OK), 0);
}

TEST_F(HookTraps, AChildThatAHookLeavesBehindEndsWithItsAnswer) {
  const std::string mark = program_.directory().file("survivor");
  executable("guard", "before_tool_call", survivor(mark) + "sleep 0.2\n");
  const Finished done = call_tool();
  EXPECT_TRUE(ran()) << done.err;
  ::sleep(3);
  EXPECT_NE(::access(mark.c_str(), F_OK), 0);
}

TEST_F(HookTraps, AServerThatACommandOfTheModelLeavesBehindEndsWithIt) {
  const std::string mark = program_.directory().file("server");
  const Finished done =
      program_.run({"run", "x", "--allow", "bash", "--script",
                    program_.script("- calls: [{name: bash, input: {command: \"setsid sh -c 'sleep 5; echo x >" + mark +
                                    "' >/dev/null 2>&1 &\"}}]\n- text: done\n")});
  EXPECT_EQ(done.code, 0) << done.err;
  ::sleep(6);
  EXPECT_NE(::access(mark.c_str(), F_OK), 0);
}

TEST_F(HookTraps, IgnoringTermDoesNotHelpAtTheDeadline) {
  yaml("guard",
       "on: before_tool_call\ntimeout: 300ms\non_failure: closed\n"
       "command: \"trap '' TERM; while :; do sleep 0.2; done\"\n");
  const auto from = std::chrono::steady_clock::now();
  call_tool();
  EXPECT_FALSE(ran());
  EXPECT_LT(std::chrono::steady_clock::now() - from, std::chrono::seconds(15));
}

TEST_F(HookTraps, AHookThatNeverReadsItsInputHarmsNobody) {
  executable("silent", "before_tool_call", "exit 0\n");
  program_.file("big.txt", std::string(200'000, 'x'));
  const Finished done = call_tool();
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(ran()) << done.err;
}

TEST_F(HookTraps, AGigabyteOnStdoutIsCutAtTheCapAndIsAFailure) {
  executable("guard", "before_tool_call", "head -c 1073741824 /dev/zero\n");
  program_.config("hooks:\n  guard: {on_failure: closed}\n");
  const Finished done = call_tool();
  EXPECT_FALSE(ran()) << done.err;
  EXPECT_NE(done.err.find("guard"), std::string::npos) << done.err;
}

TEST_F(HookTraps, TwoRewritersOfDifferentKeysBothCount) {
  // Each adds a word to what it sees; the second sees the first one's.
  yaml("a",
       "on: before_tool_call\npriority: 2\ncommand: |\n"
       "  sed 's/.*\"input\":{\"command\":\"\\([^\"]*\\)\".*/{\"input\":{\"command\":\"\\1 \\&\\& "
       "echo a >> both.txt\"}}/'\n");
  yaml("b",
       "on: before_tool_call\npriority: 1\ncommand: |\n"
       "  sed 's/.*\"input\":{\"command\":\"\\([^\"]*\\)\".*/{\"input\":{\"command\":\"\\1 \\&\\& "
       "echo b >> both.txt\"}}/'\n");
  const Finished done = call_tool();
  EXPECT_EQ(done.code, 0) << done.err;
  const auto both = read_file(program_.project() + "/both.txt", 100);
  ASSERT_TRUE(both) << done.err;
  EXPECT_EQ(*both, "a\nb\n");
}

TEST_F(HookTraps, ARedactorThenASilentLoggerLeavesTheModelTheRedactedText) {
  yaml("a_redact", "on: after_tool_call\npriority: 5\ndo: {output: \"[redacted]\"}\n");
  executable("b_logger", "after_tool_call", "cat >> \"$HOME/log.txt\"\n");
  const Finished done = program_.run(
      {"run", "x", "--allow", "bash", "--script",
       program_.script("- calls: [{name: bash, input: {command: \"echo secret-word\"}}]\n"
                       "- text: done\n  expect: {contains: \"[redacted]\", not_contains: [secret-word-]}\n")});
  EXPECT_EQ(done.code, 0) << done.err;
  const std::string log = program_.run({"conversation", "show", program_.newest(), "--log"}).out;
  EXPECT_NE(log.find("[redacted]"), std::string::npos);
  EXPECT_EQ(log.find("secret-word\\n"), std::string::npos) << log;
}

TEST_F(HookTraps, AGuardThatLostItsExecutableBitBlocks) {
  executable("guard", "before_tool_call", "exit 0\n");
  program_.config("hooks:\n  guard: {on_failure: closed}\n");
  ASSERT_EQ(call_tool().code, 0);
  ASSERT_TRUE(ran());
  ASSERT_EQ(::unlink((program_.project() + "/ran.txt").c_str()), 0);
  ::chmod((program_.home() + "/hooks/guard").c_str(), 0644);
  const Finished done = call_tool();
  EXPECT_FALSE(ran()) << done.err;
  EXPECT_NE(done.err.find("chmod +x"), std::string::npos) << done.err;
}

TEST_F(HookTraps, AGuardWhoseInterpreterIsMissingBlocks) {
  yaml("guard", "on: before_tool_call\non_failure: closed\ncommand: [" +
                    write(program_.directory().file("check"), "#!/no/such/interpreter\n", 0755) + "]\n");
  const Finished done = call_tool();
  EXPECT_FALSE(ran()) << done.err;
  EXPECT_NE(done.err.find("interpreter"), std::string::npos) << done.err;
}

TEST_F(HookTraps, AGuardWhoseBytesChangedBlocksUntilItIsTrusted) {
  executable("guard", "before_tool_call", "exit 0\n");
  program_.config("hooks:\n  guard: {on_failure: closed}\n");
  ASSERT_EQ(call_tool().code, 0);
  ASSERT_EQ(::unlink((program_.project() + "/ran.txt").c_str()), 0);
  executable("guard", "before_tool_call", "exit 0 # changed\n");
  const Finished changed = call_tool();
  EXPECT_FALSE(ran()) << changed.err;
  EXPECT_NE(changed.err.find("hooks trust guard"), std::string::npos) << changed.err;
  ASSERT_EQ(program_.run({"hooks", "trust", "guard", "--yes"}).code, 0);
  call_tool();
  EXPECT_TRUE(ran());
}

TEST_F(HookTraps, ADeletedGuardIsMissedUntilItIsUntrusted) {
  executable("guard", "before_tool_call", "exit 0\n");
  program_.config("hooks:\n  guard: {on_failure: closed}\n");
  ASSERT_EQ(call_tool().code, 0);
  ASSERT_EQ(::unlink((program_.project() + "/ran.txt").c_str()), 0);
  ASSERT_EQ(::unlink((program_.home() + "/hooks/guard").c_str()), 0);
  const Finished missing = call_tool();
  EXPECT_FALSE(ran()) << missing.err;
  ASSERT_EQ(program_.run({"hooks", "untrust", "guard"}).code, 0);
  // What the configuration still says of it is now a name that nothing bears.
  EXPECT_EQ(call_tool().code, 2);
  EXPECT_FALSE(ran());
  program_.config("");
  EXPECT_EQ(call_tool().code, 0);
  EXPECT_TRUE(ran());
}

TEST_F(HookTraps, AGuardThatIsBrokenAtFirstSightBlocksAndIsNotAgreedTo) {
  yaml("guard", "on: before_tool_call\nguard: true\nmacher: bash\ndo: {action: block, reason: no}\n");
  const Finished broken = call_tool();
  EXPECT_FALSE(ran()) << broken.err;
  EXPECT_NE(broken.err.find("macher"), std::string::npos) << broken.err;
  // Mended, it is new: nothing of the broken file was recorded.
  yaml("guard", "on: before_tool_call\nguard: true\nmatcher: nothing\ndo: {action: block, reason: no}\n");
  const Finished mended = call_tool();
  EXPECT_TRUE(ran()) << mended.err;
}

TEST_F(HookTraps, AnExecutableGuardWithoutItsInterpreterBlocksFromTheBeginning) {
  write(program_.home() + "/hooks/guard", "#!/no/such/interpreter\n", 0755);
  program_.config("hooks:\n  guard: {on_failure: closed}\n");
  const Finished done = call_tool();
  EXPECT_FALSE(ran()) << done.err;
}

// As every other mistake of the configuration: told once, before anything begins.
TEST_F(HookTraps, AConfigurationThatABundledHookDoesNotTakeStopsTheRun) {
  const std::pair<const char*, const char*> cases[] = {
      {"guardrail: {enabled: true, config: {ruels: []}}",
       "hooks.guardrail.config: unknown key ruels: the keys are rules, defaults"},
      {"guardrail: {enabled: true, config: {rules: [{tool: bash, action: dny}]}}",
       "hooks.guardrail.config: rules[0].action must be deny, defer, ask or allow, not \"dny\""},
      {"guardrail: {enabled: true, config: {rules: [{input: {command: '('}, action: deny}]}}",
       "hooks.guardrail.config: rules[0].input.command: missing )"},
      {"guardrail: {enabled: true, isolation: process, config: {ruels: []}}",
       "hooks.guardrail.config: unknown key ruels: the keys are rules, defaults"},
      {"redact: {enabled: true, config: {targets: [tool_outptu]}}",
       "hooks.redact.config: targets[0]: \"tool_outptu\" must be one of"},
      {"auto_compact: {enabled: true, config: {treshold: 1}}", "hooks.auto_compact.config: unknown key treshold"}};
  for (const auto& [hooks, sentence] : cases) {
    program_.config("hooks: {" + std::string(hooks) + "}\n");
    const Finished done = call_tool();
    EXPECT_EQ(done.code, 2) << hooks << done.err;
    EXPECT_FALSE(ran()) << hooks;
    const std::size_t at = done.err.find(sentence);
    EXPECT_TRUE(done.err.starts_with("agentd: ")) << done.err;
    EXPECT_NE(at, std::string::npos) << done.err;
    EXPECT_NE(done.err.find("config.yaml:1: "), std::string::npos) << done.err;
    EXPECT_EQ(done.err.find('\n'), done.err.size() - 1) << "one sentence: " << done.err;
  }
  program_.config("hooks: {guardrail: {enabled: false, config: {ruels: []}}}\n");
  EXPECT_EQ(call_tool().code, 0) << "what is off is not asked";
}

TEST_F(HookTraps, ATrustStoreThatCannotBeReadBlocksSinceNobodyKnowsTheGuards) {
  yaml("guard", "on: before_tool_call\nguard: true\ndo: {action: block, reason: no}\n");
  call_tool();
  ASSERT_FALSE(ran());
  write(program_.home() + "/trust.json", "garbage", 0600);
  const Finished done = call_tool();
  EXPECT_FALSE(ran()) << done.err;
  EXPECT_NE(done.err.find("trust.json"), std::string::npos) << done.err;
}

TEST_F(HookTraps, SettingsInsideTheProjectAndRelativeOnesDoNotRunByThemselves) {
  program_.file("hook.sh", "#!/bin/sh\ntouch ran.txt\n");
  const std::string settings = program_.file("settings.json",
                                             "{\"hooks\":{\"SessionStart\":[{\"hooks\":[{\"type\":"
                                             "\"command\",\"command\":\"sh hook.sh\"}]}]}}");
  for (const std::string& entry : {std::string("claude:settings.json"), "claude:" + settings}) {
    program_.config("hooks:\n  adapt: [\"" + entry + "\"]\n");
    const Finished done = program_.run({"run", "x", "--script", program_.script("- text: a\n")});
    EXPECT_EQ(done.code, entry == "claude:settings.json" ? 2 : 0) << done.err;
    EXPECT_FALSE(ran()) << entry << done.err;
    EXPECT_NE(done.err.find("settings.json"), std::string::npos) << done.err;
  }
}

// What is named there is relied on: a misspelt guard would decide nothing.
TEST_F(HookTraps, SettingsThatAreNamedAndCannotBeReadStopTheRun) {
  const std::string directory = program_.directory().file("settings");
  ASSERT_TRUE(make_directories(directory));
  write(directory + "/broken.json", "{\"hooks\": ", 0600);
  write(directory + "/none.json", "{\"hook\": {}}", 0600);
  write(directory + "/right.json", R"({"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}})", 0600);
  const auto run = [&](const std::string& entry) {
    program_.config("hooks:\n  adapt: [\"" + entry + "\"]\n");
    return program_.run({"run", "x", "--script", program_.script("- text: a\n")});
  };
  for (const std::string& entry : {"cladue:" + directory + "/right.json", "claude:" + directory + "/nobody.json",
                                   "claude:" + directory + "/broken.json"}) {
    const Finished done = run(entry);
    EXPECT_EQ(done.code, 2) << entry << done.err;
    EXPECT_NE(done.err.find(entry.substr(entry.rfind('/') + 1)), std::string::npos) << done.err;
    EXPECT_EQ(program_.run({"doctor"}).code, 1) << entry;
  }
  // The whole path is told, and what to do, wherever on the way there it fails.
  for (const std::string& path : {std::string("/no/such.json"), directory + "/right.json/settings.json"})
    for (const std::string dialect : {"", "claude:"}) {
      const Finished done = run(dialect + path);
      EXPECT_EQ(done.code, 2) << path << done.err;
      EXPECT_NE(done.err.find("hooks.adapt names " + path), std::string::npos) << done.err;
      EXPECT_NE(done.err.find("correct or remove the path there"), std::string::npos) << done.err;
    }
  const Finished placed = run("/no/such.json");
  EXPECT_NE(placed.err.find("config.yaml:2: hooks.adapt names"), std::string::npos) << placed.err;
  const Finished empty = run("claude:" + directory + "/none.json");
  EXPECT_EQ(empty.code, 0) << empty.err;
  EXPECT_NE(empty.err.find("has no hooks"), std::string::npos) << empty.err;
  EXPECT_EQ(run("claude:" + directory + "/right.json").code, 0);
}

TEST_F(HookTraps, ARelativeInterpreterIsRefusedAndPathNamesNothingRelative) {
  program_.file("sh", "#!/bin/sh\ntouch ran.txt\n");
  ::chmod((program_.project() + "/sh").c_str(), 0755);
  program_.set("PATH=.:/usr/bin:/bin");
  write(program_.home() + "/hooks/relative", "#!./sh\n", 0755);
  executable("by_env", "user_message_send", "exit 0\n", "#!/usr/bin/env sh\n");
  const Finished done = program_.run({"run", "x", "--script", program_.script("- text: a\n")});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_FALSE(ran()) << done.err;
  EXPECT_NE(done.err.find("absolute path"), std::string::npos) << done.err;
}

TEST_F(HookTraps, AHookGetsNoKeysNoLoaderVariablesAndThreeDescriptors) {
  program_.set("ANTHROPIC_API_KEY=not-for-hooks");
  program_.set("LD_AUDIT=");
  const std::string seen = program_.directory().file("seen");
  executable("look", "before_tool_call", "env > " + seen + "\nls /proc/self/fd >> " + seen + ".fd\n");
  ASSERT_EQ(call_tool().code, 0);
  const auto environment = read_file(seen, 100'000);
  ASSERT_TRUE(environment);
  EXPECT_EQ(environment->find("not-for-hooks"), std::string::npos);
  EXPECT_EQ(environment->find("LD_"), std::string::npos) << *environment;
  EXPECT_NE(environment->find("AGENTD_EVENT=before_tool_call"), std::string::npos) << *environment;
  EXPECT_NE(environment->find("AGENTD_CONTEXT_PERCENT="), std::string::npos);
  const auto descriptors = read_file(seen + ".fd", 1000);
  ASSERT_TRUE(descriptors);
  EXPECT_EQ(*descriptors, "0\n1\n2\n3\n");  // 3 is the directory that ls itself reads
}

TEST_F(HookTraps, TheSmartCompactScriptOfTheProposalRunsUnchanged) {
  executable("smart_compact", "agent_stop",
             "payload=$(cat)\n"
             "current=$(echo \"$payload\" | jq '.usage.current_context_window')\n"
             "max=$(echo \"$payload\" | jq '.usage.max_context_window')\n"
             "ratio=$(echo \"scale=2; $current / $max\" | bc)\n"
             "if (( $(echo \"$ratio > 0.05\" | bc -l) )); then echo '{\"action\": \"compact\"}'; fi\n",
             "#!/bin/bash\n");
  const Finished done =
      program_.run({"run", "x", "--set", "context_window=20000", "--trace-hooks", "--script",
                    program_.script("- text: " + std::string(8'000, 'y') + "\n- for: summary\n  text: in short\n")});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_NE(program_.record_types(program_.newest()).find("boundary"), std::string::npos) << done.err;
}

}  // namespace
}  // namespace agentd::testing
