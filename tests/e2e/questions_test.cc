// SPDX-License-Identifier: Apache-2.0
// questions_test.cc - who answers a permission question, and what it shows.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

using std::chrono::milliseconds;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t out = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++out;
  return out;
}

std::string question_call(const std::string& command) {
  return "- calls: [{name: bash, input: {command: '" + command + "'}}]\n";
}

class Questions : public ::testing::TestWithParam<const char*> {
 protected:
  Questions() { program_.set(std::string("TERM=") + GetParam()); }
  bool made(const std::string& name) const { return exists(program_.project() + "/" + name); }

  Program program_;
};
INSTANTIATE_TEST_SUITE_P(Terminals, Questions, ::testing::Values("dumb", "xterm"));

TEST_P(Questions, APasteBeforeTheQuestionAnswersNothing) {
  const Finished ran = program_.on_terminal(
      {"chat", "--script", program_.script(question_call("touch made.txt") + "- text: refused\n- text: second\n")},
      {{" % > ", "please fix it\na\ny\n"}, {"Allow?", "n\n"}, {"refused", ""}, {" % > ", "/exit\n"}});
  EXPECT_FALSE(made("made.txt")) << ran.out;
}

// What the user allows for good answers agentd's own question. A hook that requires a person's decision gets one.
TEST_P(Questions, AlwaysAnswersNoQuestionOfAHook) {
  for (const char* const hook :
       {"on: before_tool_call\nwhen: tool.input.command matches 'made'\ndo: {permission: ask}\n",
        "on: PreToolUse\ndialect: claude\ncommand: |\n  grep -q made && echo "
        "'{\"hookSpecificOutput\":{\"permissionDecision\":\"ask\"}}'; exit 0\n"}) {
    ASSERT_TRUE(make_directories(program_.home() + "/hooks"));
    ASSERT_EQ(::chmod(program_.home().c_str(), 0700), 0);
    ASSERT_TRUE(write_file_atomically(program_.home() + "/hooks/g.yaml", hook, 0600));
    program_.run({"hooks", "trust", "g", "-y"});
    const std::string script =
        program_.script(question_call("true") + question_call("touch made.txt") + "- text: done\n");
    const Finished ran = program_.on_terminal({"run", "x", "--no-save", "--script", script},
                                              {{"Allow?", "a\n"}, {"without a hook's question", "n\n"}, {"done", ""}});
    EXPECT_FALSE(made("made.txt")) << hook << ran.out;
    // Its own yes is one, and holds for that call.
    EXPECT_EQ(program_.run({"permissions", "forget", "--all"}).code, 0);
    const Finished yes = program_.on_terminal({"run", "x", "--no-save", "--script", script},
                                              {{"Allow?", "a\n"}, {"without a hook's question", "y\n"}, {"done", ""}});
    EXPECT_TRUE(made("made.txt")) << hook << yes.out;
    EXPECT_EQ(program_.run({"permissions", "forget", "--all"}).code, 0);
    ::unlink((program_.project() + "/made.txt").c_str());
  }
}

// The answer is shown before it is given, holds for these words in later runs, and can be taken back.
TEST_P(Questions, AlwaysKeepsExactlyTheCallForTheProject) {
  const std::string script = program_.script(question_call("touch made.txt") + "- text: done\n");
  const Finished first =
      program_.on_terminal({"run", "x", "--script", script}, {{"[a]lways in this project", "a\n"}, {"done", ""}});
  EXPECT_LT(first.out.find("bash(touch made.txt)"), first.out.find("Allow?")) << first.out;
  EXPECT_TRUE(made("made.txt")) << first.out;
  ::unlink((program_.project() + "/made.txt").c_str());
  const Finished later = program_.run({"run", "x", "--script", script});
  EXPECT_TRUE(made("made.txt")) << later.err;
  const Finished other =
      program_.run({"run", "x", "--script", program_.script(question_call("touch other.txt") + "- text: done\n")});
  EXPECT_FALSE(made("other.txt")) << other.err;
  const Finished listed = program_.run({"permissions", "list"});
  EXPECT_NE(listed.out.find("bash(touch made.txt)"), std::string::npos) << listed.out;
  EXPECT_EQ(program_.run({"permissions", "forget", "bash(touch other.txt)"}).code, 4);
  EXPECT_EQ(program_.run({"permissions", "forget", "bash(touch made.txt)"}).code, 0);
  ::unlink((program_.project() + "/made.txt").c_str());
  program_.run({"run", "x", "--script", script});
  EXPECT_FALSE(made("made.txt"));
}

TEST_P(Questions, LinesThatAreTypedWhileTheModelWorksAnswerNothing) {
  const Finished ran = program_.on_terminal(
      {"run", "fix it", "--script",
       program_.script("- delay_ms: 600\n  calls: [{name: bash, input: {command: touch made.txt}}]\n"
                       "- text: refused\n")},
      {{"", ""}, {"Allow?", "n\n"}, {"refused", ""}}, milliseconds(0), "y\na\nyes\n");
  EXPECT_FALSE(made("made.txt")) << ran.out;
  EXPECT_NE(ran.out.find("does not answer"), std::string::npos) << ran.out;
}

TEST_P(Questions, AYesThatIsTypedAfterTheQuestionRunsTheCall) {
  const Finished ran = program_.on_terminal(
      {"run", "fix it", "--script", program_.script(question_call("touch made.txt") + "- text: done\n")},
      {{"Allow?", " Yes \n"}, {"done", ""}});
  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_TRUE(made("made.txt")) << ran.out;
}

TEST_P(Questions, SeveralLinesAtOnceAreNoAnswer) {
  const Finished ran = program_.on_terminal(
      {"run", "fix it", "--script", program_.script(question_call("touch made.txt") + "- text: refused\n")},
      {{"Allow?", "y\ny\n"}, {"Allow?", "n\n"}, {"refused", ""}});
  EXPECT_FALSE(made("made.txt")) << ran.out;
}

TEST_P(Questions, ALineAndTheBeginningOfAnotherAreNoAnswer) {
  const Finished ran = program_.on_terminal(
      {"run", "fix it", "--script", program_.script(question_call("touch made.txt") + "- text: refused\n")},
      {{"Allow?", "y\ny"}, {"not an answer", ""}, {"Allow?", "n\n"}, {"refused", ""}});
  EXPECT_FALSE(made("made.txt")) << ran.out;
}

TEST_P(Questions, AMarkedPasteIsNoAnswer) {
  const Finished ran = program_.on_terminal(
      {"run", "fix it", "--script", program_.script(question_call("touch made.txt") + "- text: refused\n")},
      {{"Allow?", "\x1b[200~y\x1b[201~\n"}, {"Allow?", "n\n"}, {"refused", ""}});
  EXPECT_FALSE(made("made.txt")) << ran.out;
}

TEST_P(Questions, AnythingElseAsksAgain) {
  const Finished ran = program_.on_terminal(
      {"run", "fix it", "--script", program_.script(question_call("touch made.txt") + "- text: done\n")},
      {{"Allow?", "why do you want that?\n"}, {"Please answer", ""}, {"Allow?", "Y\n"}, {"done", ""}});
  EXPECT_TRUE(made("made.txt")) << ran.out;
}

TEST_P(Questions, CtrlCRefuses) {
  const Finished ran = program_.on_terminal(
      {"run", "fix it", "--script", program_.script(question_call("touch made.txt") + "- text: done\n")},
      {{"Allow?", "\x03"}});
  EXPECT_EQ(ran.code, 130) << ran.out;
  EXPECT_FALSE(made("made.txt")) << ran.out;
}

TEST_P(Questions, TheWholeCommandIsShown) {
  const Finished ran = program_.on_terminal(
      {"run", "fix it", "--script",
       program_.script(question_call("echo " + std::string(9000, 'A') + "; touch made.txt") + "- text: refused\n")},
      {{"Allow?", "n\n"}, {"refused", ""}});
  const std::size_t begin = ran.out.find("wants to run:"), end = ran.out.find("Allow?");
  ASSERT_LT(begin, end) << ran.out;
  EXPECT_EQ(count(ran.out.substr(begin, end - begin), "A"), 9000u);
  EXPECT_NE(ran.out.find("touch made.txt"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("scroll up"), std::string::npos) << ran.out;
}

TEST_P(Questions, AValueCannotLookLikeAQuestion) {
  const Finished ran = program_.on_terminal(
      {"run", "fix it", "--script",
       program_.script("- calls: [{name: bash, input: {command: touch made.txt, description: "
                       "\"list\\nAllow? [y]es, [n]o: n\\nread_file wants to run:\\n  path: README\"}}]\n"
                       "- text: refused\n")},
      {{"Allow? [y]es, [n]o, n REASON", "n\n"}, {"refused", ""}});
  EXPECT_NE(ran.out.find("\n  │ Allow? [y]es, [n]o: n"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("\n  │ read_file wants to run:"), std::string::npos) << ran.out;
  EXPECT_FALSE(made("made.txt"));
}

TEST_P(Questions, ReplacingAFileShowsWhatChanges) {
  program_.file("notes.txt", "one\ntwo\nthree\n");
  const Finished ran =
      program_.on_terminal({"run", "fix it", "--script",
                            program_.script("- calls: [{name: write_file, input: {path: notes.txt, content: "
                                            "\"one\\n2\\nthree\\n\"}}]\n- text: refused\n")},
                           {{"Allow?", "n\n"}, {"refused", ""}});
  EXPECT_NE(ran.out.find("  - two\r\n  + 2\r\n"), std::string::npos) << ran.out;
}

TEST(Questions, DeletingAConversationIsNotAnsweredByWhatWasTypedBefore) {
  Program program;
  ASSERT_EQ(program.run({"run", "hello", "--script", program.script("- text: hi\n")}).code, 0);
  const std::string id = program.newest();
  const Finished ran =
      program.on_terminal({"conversation", "delete", id}, {{"Delete it permanently?", "n\n"}}, milliseconds(0), "y\n");
  EXPECT_EQ(program.newest(), id) << ran.out;
}

// ---- rules and names that protect nothing

class Rules : public ::testing::Test {
 protected:
  Finished run(const std::string& config, std::vector<std::string> more = {}) {
    program_.config(config);
    std::vector<std::string> words{"run", "fix it", "--script",
                                   program_.script(question_call("touch made.txt") + "- text: done\n")};
    words.insert(words.end(), more.begin(), more.end());
    return program_.run(words);
  }
  bool made() const { return exists(program_.project() + "/made.txt"); }
  Finished doctor() { return program_.run({"doctor", "--set", "provider=scripted"}); }

  Program program_;
};

TEST_F(Rules, ADenyRuleHoldsInAnyCaseAndUnderOtherToolsNames) {
  for (const char* rule : {"bash", "BASH", "Bash", "run_shell_command", "Ba*"}) {
    const Finished ran = run("permissions: {mode: allow, deny: [\"" + std::string(rule) + "\"]}\n");
    EXPECT_EQ(ran.code, 0) << rule << ran.err;
    EXPECT_FALSE(made()) << rule;
  }
}

TEST_F(Rules, ARuleThatCanMatchNothingIsRefusedWhereItIsRead) {
  const Finished ran = run("permissions:\n  mode: allow\n  deny: [\"Bash(rm x && rm y)\"]\n");
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_NE(ran.err.find("config.yaml:3: permissions.deny: 'rm x && rm y' is more than one simple command"),
            std::string::npos)
      << ran.err;
  EXPECT_FALSE(made());
  EXPECT_EQ(doctor().code, 1);
}

TEST_F(Rules, ARuleOverArgumentsDecidesAboutTheCommand) {
  const Finished allowed = run("permissions: {allow: [\"Bash(touch:*)\"]}\n");
  EXPECT_EQ(allowed.code, 0) << allowed.err;
  EXPECT_TRUE(made()) << allowed.err;
  ::unlink((program_.project() + "/made.txt").c_str());
  const Finished denied = run("permissions: {mode: allow, deny: [\"bash(touch:*)\"]}\n");
  EXPECT_EQ(denied.code, 0) << denied.err;
  EXPECT_FALSE(made());
  // There is no terminal to ask on.
  const Finished asked = run("permissions: {allow: [bash], ask: [\"bash(touch *)\"]}\n");
  EXPECT_FALSE(made()) << asked.err;
  const Finished planned = run("permissions: {mode: plan, allow: [bash]}\n");
  EXPECT_FALSE(made()) << planned.err;
}

TEST_F(Rules, AMisspeltToolIsAnErrorWithTheNearest) {
  const Finished ran = run("permissions:\n  mode: allow\n  deny: [Bsh]\n");
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_NE(ran.err.find("config.yaml:3: permissions.deny: no tool is named 'Bsh': did you mean 'bash'?"),
            std::string::npos)
      << ran.err;
  EXPECT_FALSE(made());
  const Finished checked = doctor();
  EXPECT_EQ(checked.code, 1);
  EXPECT_NE(checked.out.find("did you mean 'bash'?"), std::string::npos) << checked.out;
}

TEST_F(Rules, AnUnknownToolIsAnErrorFromAFlagAndTheEnvironmentToo) {
  const Finished flag = run("permissions: {mode: allow}\n", {"--allow", "teleport"});
  EXPECT_EQ(flag.code, 2);
  EXPECT_NE(flag.err.find("--allow: permissions.allow: no tool is named 'teleport'"), std::string::npos) << flag.err;
  program_.set("AGENTD_PERMISSIONS_DENY=wrte_file");
  const Finished environment = run("permissions: {mode: allow}\n");
  EXPECT_EQ(environment.code, 2);
  EXPECT_NE(environment.err.find("AGENTD_PERMISSIONS_DENY"), std::string::npos) << environment.err;
  EXPECT_FALSE(made());
}

TEST_F(Rules, AGlobForToolsToComeIsAWarning) {
  const Finished ran = run("permissions: {allow: [bash, \"jira_*\"]}\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("'jira_*' matches no tool present here"), std::string::npos) << ran.err;
}

TEST_F(Rules, AMisspeltHookThatIsSwitchedOnStopsTheRun) {
  const Finished ran = run("permissions: {mode: allow}\nhooks:\n  guardrial: {enabled: true}\n");
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_NE(ran.err.find("config.yaml:3: hooks.guardrial: no hook named 'guardrial': did you mean "
                         "'guardrail'?"),
            std::string::npos)
      << ran.err;
  EXPECT_FALSE(made());
  const Finished checked = doctor();
  EXPECT_EQ(checked.code, 1);
  EXPECT_NE(checked.out.find("did you mean 'guardrail'?"), std::string::npos) << checked.out;
}

TEST_F(Rules, AMisspeltHookElsewhereIsAWarning) {
  const Finished ran = run("permissions: {mode: allow}\nhooks: {order: [gardrail, \"*\"], disable: [guardrial]}\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("hooks.order: no hook named 'gardrail'"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("hooks.disable: no hook named 'guardrial'"), std::string::npos) << ran.err;
}

TEST_F(Rules, HooksThatAreThereAndThoseOfProjectsAreNoMistake) {
  const Finished ran =
      run("permissions: {mode: allow}\n"
          "hooks: {guardrail: {enabled: false}, project/lint: {enabled: true}, order: "
          "[workspace_tools, \"*\"]}\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err.find("no hook named"), std::string::npos) << ran.err;
}

TEST_F(Rules, AWorkspaceRootThatDoesNotExistStopsTheRun) {
  const std::string nowhere = program_.directory().file("nowhere");
  const Finished ran = run("permissions: {mode: allow}\nworkspace:\n  roots: [" + nowhere + "]\n");
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_NE(ran.err.find("config.yaml:3: workspace.roots: " + nowhere + " does not exist"), std::string::npos)
      << ran.err;
  EXPECT_EQ(doctor().code, 1);
}

// ---- names in hooks

class NamesInHooks : public Rules {
 protected:
  void hook(const std::string& text) const {
    ASSERT_TRUE(make_directories(program_.home() + "/hooks"));
    ASSERT_TRUE(write_file_atomically(program_.home() + "/hooks/no.yaml", text, 0600));
  }
  Finished run_with(const std::string& text) {
    hook(text);
    return run("permissions: {mode: allow}\nhooks: {dev: true}\n");
  }
  void stops_the_run(const std::string& text, const std::string& sentence) {
    const Finished ran = run_with(text);
    EXPECT_EQ(ran.code, 2) << text << ran.err;
    EXPECT_NE(ran.err.find(sentence), std::string::npos) << text << ran.err;
    EXPECT_FALSE(made()) << text;
  }
};
constexpr char kBlocks[] = "do: {action: block, reason: no}\n";

TEST_F(NamesInHooks, AnUnknownEventStopsTheRun) {
  stops_the_run(std::string("on: before_tol_call\n") + kBlocks,
                "no.yaml:1:5: unknown event 'before_tol_call': did you mean 'before_tool_call'?");
  stops_the_run("on: before_tol_call\ncommand: exit 1\nguard: true\n", "unknown event 'before_tol_call'");
  const Finished checked = doctor();
  EXPECT_EQ(checked.code, 1) << checked.out;
  EXPECT_NE(checked.out.find("did you mean 'before_tool_call'?"), std::string::npos) << checked.out;
}

TEST_F(NamesInHooks, AnUnknownKeyOfAHookStopsTheRun) {
  stops_the_run(std::string("on: before_tool_call\nmather: bash\n") + kBlocks,
                "no.yaml:2:1: unknown key 'mather': did you mean 'matcher'?");
}

TEST_F(NamesInHooks, AMistakeInAHookThatIsOffIsNone) {
  hook(std::string("on: before_tol_call\n") + kBlocks);
  const Finished ran = run("permissions: {mode: allow}\nhooks: {dev: true, no: {enabled: false}}\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(made());
}

TEST_F(NamesInHooks, APathThatNoPayloadHasStopsTheRun) {
  stops_the_run(std::string("on: before_tool_call\nwhen: tol.input.command contains \"t\"\n") + kBlocks,
                "no.yaml:2:7: before_tool_call has no 'tol': did you mean 'tool'?");
  stops_the_run(std::string("on: before_tool_call\nwhen: tool.inputs.command contains \"t\"\n") + kBlocks,
                "before_tool_call has no 'tool.inputs': did you mean 'tool.input'?");
  stops_the_run(std::string("on: before_tool_call\nwhen: stop_hook_active\n") + kBlocks,
                "before_tool_call has no 'stop_hook_active'");
}

TEST_F(NamesInHooks, AMatcherThatNoToolHasStopsTheRun) {
  for (const char* const slip : {"bsah", "Bash", "bsah|write_file", "run_shell_command"})
    stops_the_run(std::string("on: before_tool_call\nmatcher: ") + slip + "\n" + kBlocks, "did you mean 'bash'?");
  const Finished checked = doctor();
  EXPECT_EQ(checked.code, 1) << checked.out;
  EXPECT_NE(checked.out.find("did you mean 'bash'?"), std::string::npos) << checked.out;
}

TEST_F(NamesInHooks, AToolThatAConditionNamesAndNobodyHasStopsTheRun) {
  for (const char* const slip :
       {"tool.name == \"bsh\"", "\"bsh\" == tool_name", "tool.name != \"Bash\"", "tool.name matches \"^(glob|bsh)$\"",
        "not (context.percent > 200 or tool.name == \"bsh\")"})
    stops_the_run("on: before_tool_call\nwhen: '" + std::string(slip) + "'\n" + kBlocks, "did you mean 'bash'?");
  stops_the_run(std::string("on: before_tool_call\nwhen: tool.name == \"bsh\"\n") + kBlocks,
                "'when': no tool is named 'bsh': did you mean 'bash'?");
  const Finished checked = doctor();
  EXPECT_EQ(checked.code, 1) << checked.out;
  EXPECT_NE(checked.out.find("no tool is named 'bsh': did you mean 'bash'?"), std::string::npos) << checked.out;
  const Finished judged = program_.run({"hooks", "validate", program_.home() + "/hooks/no.yaml"});
  EXPECT_EQ(judged.code, 1) << judged.out;
  EXPECT_NE(judged.out.find("no tool is named 'bsh': did you mean 'bash'?"), std::string::npos) << judged.out;
  // One that may come later, and one of a hook that is asked in another tool's names.
  const Finished later = run_with(std::string("on: before_tool_call\nwhen: tool.name == \"jira_close\"\n") + kBlocks);
  EXPECT_EQ(later.code, 0) << later.err;
  EXPECT_NE(later.err.find("'when': no available tool is named 'jira_close', so the comparison has no effect"),
            std::string::npos)
      << later.err;
  const Finished foreign = run_with("dialect: claude\non: PreToolUse\nwhen: tool.name == \"Bash\"\ncommand: exit 2\n");
  EXPECT_EQ(foreign.code, 0) << foreign.err;
  EXPECT_NE(foreign.err.find("did you mean 'bash'?"), std::string::npos) << foreign.err;
}

TEST_F(NamesInHooks, AKeyThatTheToolDoesNotTakeStopsTheRun) {
  const std::string sentence = "'when': bash has no 'comand' in its input: did you mean 'command'?";
  stops_the_run(std::string("on: before_tool_call\nmatcher: bash\n"
                            "when: tool.input.comand contains \"t\"\n") +
                    kBlocks,
                sentence);
  stops_the_run(std::string("on: before_tool_call\n"
                            "when: tool.name == \"bash\" and tool.input.comand contains \"t\"\n") +
                    kBlocks,
                sentence);
  const Finished checked = doctor();
  EXPECT_EQ(checked.code, 1) << checked.out;
  EXPECT_NE(checked.out.find("BROKEN  "), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find(sentence), std::string::npos) << checked.out;
}

TEST_F(NamesInHooks, AToolThatARuleOfGuardrailNamesAndNobodyHasStopsTheRun) {
  const auto config = [](const std::string& tool) {
    return "permissions: {mode: allow}\nhooks:\n  guardrail:\n    enabled: true\n    config:\n     "
           " rules:\n"
           "        - {path: /etc/x, action: deny}\n        - {tool: '" +
           tool + "', input: {command: zzz}, action: deny}\n";
  };
  for (const char* const slip : {"bsh", "write_file|bsh", "run_shell_command"}) {
    const Finished ran = run(config(slip));
    EXPECT_EQ(ran.code, 2) << slip << ran.err;
    EXPECT_NE(ran.err.find("hooks.guardrail.config: rules[1].tool: no tool is named '"), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("did you mean 'bash'?"), std::string::npos) << ran.err;
    EXPECT_FALSE(made()) << slip;
    const Finished checked = doctor();
    EXPECT_EQ(checked.code, 1) << checked.out;
    EXPECT_NE(checked.out.find("BROKEN"), std::string::npos) << checked.out;
    EXPECT_NE(checked.out.find("did you mean 'bash'?"), std::string::npos) << checked.out;
  }
  const Finished later = run(config("jira_close"));
  EXPECT_EQ(later.code, 0) << later.err;
  EXPECT_NE(later.err.find("rules[1].tool: no available tool is named 'jira_close'"), std::string::npos) << later.err;
  const Finished key =
      run("permissions: {mode: allow}\nhooks:\n  guardrail:\n    enabled: true\n    config:\n      "
          "rules:\n        - {tool: "
          "bash, input: {comand: zzz, cmd: zzz, a.b: zzz, '*': zzz, file_path: zzz}, action: deny}\n");
  EXPECT_EQ(key.code, 0) << key.err;
  EXPECT_NE(key.err.find("rules[0].input: no available tool has 'comand' in its input: did you "
                         "mean 'command'?"),
            std::string::npos)
      << key.err;
  EXPECT_EQ(key.err.find("no available tool"), key.err.rfind("no available tool")) << key.err;
  for (const char* const right : {"bash", "Bash", "*sh", "bash | glob", "mcp__jira__close", "b?h"}) {
    const Finished ran = run(config(right));
    EXPECT_EQ(ran.code, 0) << right << ran.err;
    EXPECT_EQ(ran.err.find("no tool"), std::string::npos) << right << ran.err;
  }
}

// Any tool may be meant, also one of a server that comes later.
TEST_F(NamesInHooks, AKeyThatNoToolTakesIsAWarning) {
  const Finished ran =
      run_with(std::string("on: before_tool_call\nwhen: tool.input.comand contains \"t\"\n") + kBlocks);
  EXPECT_EQ(ran.code, 0) << ran.err;
  const std::string sentence = "no available tool has 'comand' in its input: did you mean 'command'?";
  EXPECT_NE(ran.err.find(sentence), std::string::npos) << ran.err;
  const Finished checked = doctor();
  EXPECT_EQ(checked.code, 0) << checked.out;
  EXPECT_NE(checked.out.find(sentence), std::string::npos) << checked.out;
}

// A doctor who looks at keys starts nothing that a run would: no file of the audit, no worker.
TEST_F(NamesInHooks, DoctorLooksAtKeysAndChangesNothing) {
  const std::string log = program_.directory().file("audit.jsonl");
  hook(std::string("on: before_tool_call\nmatcher: bash\nwhen: tool.input.comand == 1\n") + kBlocks);
  program_.config("hooks: {dev: true, audit_log: {enabled: true, config: {path: " + log +
                  "}}, workspace_tools: {isolation: process}}\n");
  const Finished checked = doctor();
  EXPECT_EQ(checked.code, 1) << checked.out;
  EXPECT_NE(checked.out.find("did you mean 'command'?"), std::string::npos) << checked.out;
  EXPECT_FALSE(exists(log));
  // Without tools nothing is known of their keys.
  program_.config("hooks: {dev: true, workspace_tools: {enabled: false}}\n");
  const Finished none = doctor();
  EXPECT_EQ(none.out.find("comand"), std::string::npos) << none.out;
}

TEST_F(NamesInHooks, ANameOfAToolToComeAndAnObserverAreWarnings) {
  const Finished later = run_with(std::string("on: before_tool_call\nmatcher: jira_close\n") + kBlocks);
  EXPECT_EQ(later.code, 0) << later.err;
  EXPECT_NE(later.err.find("no available tool is named 'jira_close'"), std::string::npos) << later.err;
  const Finished observer = run_with("on: before_tool_call\nmatcher: bsah\nobserve: true\ncommand: 'true'\n");
  EXPECT_EQ(observer.code, 0) << observer.err;
  EXPECT_NE(observer.err.find("did you mean 'bash'?"), std::string::npos) << observer.err;
}

TEST_F(NamesInHooks, RightNamesSayNothing) {
  for (const char* const right :
       {"matcher: bash\nwhen: tool.input.command contains \"zzz\"", "matcher: 'bash|edit_file'",
        "matcher: 'ba.*'\nwhen: 'false'", "matcher: mcp__jira__close",
        "matcher: '*'\nwhen: tool.name == \"write_file\" and tool.input.content contains \"zzz\"",
        "when: context.percent > 200 or agent.depth > 9 or tool_input.command == \"zzz\"",
        "when: tool.name == \"mcp__jira__close\" and tool.input.issue == 1",
        "when: tool.name matches \"^(bash|edit_file)$\" and tool.input.command == \"zzz\"",
        "when: tool.name matches \"bsh\" or tool.name matches \"^b.*h$\" and false"}) {
    const Finished ran =
        run_with("on: before_tool_call\n" + std::string(right) + "\ndo: {permission: allow, reason: it is right}\n");
    EXPECT_EQ(ran.code, 0) << right << ran.err;
    EXPECT_EQ(ran.err.find("did you mean"), std::string::npos) << right << ran.err;
    EXPECT_EQ(ran.err.find("no tool"), std::string::npos) << right << ran.err;
    const Finished checked = doctor();
    EXPECT_EQ(checked.code, 0) << right << checked.out;
    EXPECT_EQ(checked.out.find("no tool"), std::string::npos) << right << checked.out;
  }
  // A path that one of several events has.
  const Finished shared = run_with(
      "on: [before_tool_call, agent_stop]\nwhen: stop_hook_active and tool.name == \"bash\"\n"
      "do: none\n");
  EXPECT_EQ(shared.code, 0) << shared.err;
  EXPECT_EQ(shared.err.find("has no"), std::string::npos) << shared.err;
}

// The tool that a hook was written for takes any matcher, so such a hook goes on.
TEST_F(NamesInHooks, AHookOfAnotherToolIsToldOfInItsOwnNames) {
  const auto settings = [&](const std::string& matcher) {
    return program_.directory().write("settings.json",
                                      "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"" + matcher +
                                          "\", \"hooks\": [{\"type\": \"command\", \"command\": \"exit 0\"}]}]}}");
  };
  const auto adapted = [&](const std::string& matcher) {
    return run("permissions: {mode: allow}\nhooks: {dev: true, adapt: [\"claude:" + settings(matcher) + "\"]}\n");
  };
  for (const char* const slip : {"Bsah", "bash", "Edit|Wirte", "read_file"}) {
    const Finished ran = adapted(slip);
    EXPECT_EQ(ran.code, 0) << slip << ran.err;
    EXPECT_NE(ran.err.find("did you mean '"), std::string::npos) << slip << ran.err;
  }
  for (const char* const right : {"Bash", "Write|Edit|MultiEdit", "KillShell", "WebFetch", "Task", "mcp__memory__.*",
                                  "Notebook.*", "SomethingOfAPlugin", "*", ""}) {
    const Finished ran = adapted(right);
    EXPECT_EQ(ran.code, 0) << right << ran.err;
    EXPECT_EQ(ran.err.find("did you mean '"), std::string::npos) << right << ran.err;
  }
}

TEST_F(Rules, WithoutATerminalTheHookThatAsksIsNamedAndNotARule) {
  ASSERT_EQ(run("permissions: {mode: allow}\n").code, 0);
  ASSERT_TRUE(made());
  ASSERT_TRUE(make_directories(program_.home() + "/hooks"));
  ASSERT_TRUE(write_file_atomically(program_.home() + "/hooks/careful.yaml",
                                    "on: before_tool_call\ndo: {permission: ask, reason: this machine is shared}\n",
                                    0600));
  program_.config("permissions: {mode: allow}\n");
  const Finished ran = program_.run(
      {"run", "fix it", "--json", "--script", program_.script(question_call("touch again.txt") + "- text: done\n")});
  EXPECT_FALSE(exists(program_.project() + "/again.txt"));
  EXPECT_NE(ran.out.find("the hook careful requires a person's decision (this machine is shared)"), std::string::npos)
      << ran.out;
  EXPECT_EQ(ran.out.find("--allow bash"), std::string::npos) << ran.out;
}

TEST_F(Rules, ExplainSaysWhichRuleDecidesAndHowACommandIsRead) {
  program_.config("permissions:\n  allow: [\"bash(git push:*)\"]\n  deny: [\"bash(rm:*)\"]\n");
  const auto explain = [&](const std::string& call) { return program_.run({"permissions", "explain", call}); };
  const Finished allowed = explain("bash(git push origin main)");
  EXPECT_EQ(allowed.code, 0) << allowed.err;
  EXPECT_EQ(allowed.out.find("allow: permissions.allow 'bash(git push:*)'"), 0u) << allowed.out;
  EXPECT_NE(allowed.out.find("config.yaml:2"), std::string::npos) << allowed.out;
  const Finished denied = explain("bash(git push; sudo rm x)");
  EXPECT_EQ(denied.out.find("deny: permissions.deny 'bash(rm:*)'"), 0u) << denied.out;
  EXPECT_NE(denied.out.find("\n  sudo rm x\n  rm x\n"), std::string::npos) << denied.out;
  const Finished asked = explain("Bash($x push)");
  EXPECT_EQ(asked.out.find("ask: not sure: "), 0u) << asked.out;
  const Finished file = program_.run({"permissions", "explain", "edit_file", "{\"path\":\"a\"}"});
  EXPECT_EQ(file.out.find("ask: no rule is about it"), 0u) << file.out << file.err;
  EXPECT_EQ(program_.run({"permissions", "explain", "bash("}).code, 2);
  EXPECT_EQ(program_.run({"permissions", "forget"}).code, 2);
  const auto rules = json_lines(program_.run({"permissions", "list", "--json"}).out);
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[0].root()["list"].string_or({}), "deny");
  EXPECT_EQ(rules[1].root()["rule"].string_or({}), "bash(git push:*)");
}

// As a run would, which does not begin.
TEST_F(Rules, ListAndExplainTellOfARuleThatNoToolMatches) {
  program_.config("permissions:\n  deny: [Bsh]\n");
  const std::string told = "permissions.deny: no tool is named 'Bsh': did you mean 'bash'?";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", "x", "--script", program_.script("- text: x\n")},
        {"permissions", "list"},
        {"permissions", "list", "--json"},
        {"permissions", "explain", "bash(ls)"},
        {"permissions", "explain", "bash(ls)", "--json"}}) {
    const Finished ran = program_.run(words);
    EXPECT_EQ(ran.code, 2) << words[1];
    EXPECT_NE(ran.err.find(told), std::string::npos) << words[1] << ": " << ran.err;
  }
  program_.config("permissions:\n  deny: [Bash]\n");
  EXPECT_EQ(program_.run({"permissions", "list"}).code, 0);
}

TEST_F(Rules, WithoutATerminalTheExactRuleIsAdvised) {
  const std::string script = program_.script(question_call("echo x > new.txt") + "- text: done\n");
  program_.config("permissions:\n  allow: [\"bash(echo:*)\"]\n");
  const Finished ran = program_.run({"run", "fix it", "--json", "--script", script});
  const std::string rule = "write_file(" + program_.project() + "/new.txt)";
  EXPECT_NE(ran.out.find("--allow '" + rule + "'"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("--allow bash"), std::string::npos) << ran.out;
  EXPECT_FALSE(exists(program_.project() + "/new.txt"));
  EXPECT_EQ(program_.run({"run", "fix it", "--allow", rule, "--script", script}).code, 0);
  EXPECT_TRUE(exists(program_.project() + "/new.txt"));
}

TEST_F(Rules, AListInAPipeIsNotCut) {
  program_.config("permissions:\n  deny: [\"bash(" + std::string(300, 'x') + ":*)\"]\n");
  const Finished list = program_.run({"permissions", "list"});
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_NE(list.out.find("config.yaml:2\n"), std::string::npos) << list.out;
  EXPECT_EQ(list.out.find("…"), std::string::npos) << list.out;
}

TEST_F(Rules, ExplainTakesACallAsARuleSaysIt) {
  program_.config(
      "permissions:\n  allow: [\"edit_file(src/**)\"]\n  deny: [\"web_fetch(domain:evil.org)\", "
      "\"edit_file(src/secret.c)\"]\n");
  const auto explain = [&](const std::string& call) { return program_.run({"permissions", "explain", call}); };
  for (const char* call : {"web_fetch(domain:evil.org)", "WebFetch(domain:evil.org)", "web_fetch(https://evil.org/x)"})
    EXPECT_EQ(explain(call).out.find("deny: permissions.deny 'web_fetch(domain:evil.org)'"), 0u) << call;
  EXPECT_EQ(explain("web_fetch(domain:good.org)").out.find("ask: "), 0u);
  EXPECT_EQ(explain("web_fetch(domain:*.org)").code, 2);
  EXPECT_EQ(explain("MultiEdit(src/a.c)").out.find("allow: permissions.allow 'edit_file(src/**)'"), 0u);
  EXPECT_EQ(explain("MultiEdit(src/secret.c)").out.find("deny: permissions.deny"), 0u);
  const Finished misspelt = explain("Bsh(ls)");
  EXPECT_EQ(misspelt.code, 2) << misspelt.out;
  EXPECT_NE(misspelt.err.find("no tool is named 'Bsh': did you mean 'bash'?"), std::string::npos) << misspelt.err;
}

TEST_F(Rules, AnImportSaysWhichPermissionsItLeavesOut) {
  const std::string settings =
      program_.file("settings.json",
                    R"json({"permissions": {"deny": ["Bash(rm *)", "Write"], "defaultMode": "plan"},
          "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true"}]}]}})json");
  const Finished ran = program_.run({"hooks", "import", settings});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("permissions.deny 'Bash(rm *)': write permissions.deny: ['bash(rm *)'] in config.yaml"),
            std::string::npos)
      << ran.err;
  EXPECT_NE(ran.err.find("permissions.deny: [write_file]"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("permissions.defaultMode"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace agentd::testing
