// SPDX-License-Identifier: Apache-2.0
// guards_test.cc - what the configuration or a file calls a guard blocks, or the run says what is
// wrong and stops.
#include "tests/e2e/hook_files.h"

namespace agentd::testing {
namespace {

// ---- guards by the configuration

class NamedGuards : public HookFiles {
 protected:
  // Commands leave their mark outside of the project.
  NamedGuards() { program_.set("AGENTD_SANDBOX_LAYER=off"); }

  static constexpr const char* kGate = "#!/bin/sh\ncase $1 in hook) echo before_tool_call;; run) echo '{}';; esac\n";

  // Whether a tool call of the model runs, and what is said.
  bool call_runs() {
    const std::string mark = program_.directory().file("ran");
    ::unlink(mark.c_str());
    ran_ = program_.run(
        {"run", "x", "--no-save", "--allow", "bash", "--script",
         program_.script("- calls:\n  - {name: bash, input: {command: \"touch " + mark + "\"}}\n- text: done\n")});
    return ::access(mark.c_str(), F_OK) == 0;
  }

  Finished ran_;
};

TEST_F(NamedGuards, WhoseFileDoesNotRunBlock) {
  for (const char* const config : {"hooks: {gate: {on_failure: closed}}\n", "hooks: {guards: [gate]}\n"}) {
    program_.config(config);
    const std::string good = put("gate", kGate, 0755);
    EXPECT_TRUE(call_runs()) << ran_.err;  // it is asked, and agrees
    ::chmod(good.c_str(), 0600);
    EXPECT_FALSE(call_runs()) << config << ran_.err;
    EXPECT_TRUE(has(ran_.err, "the guard 'gate' is unavailable, so its events are blocked")) << ran_.err;
    EXPECT_TRUE(has(ran_.err, "chmod +x " + good)) << ran_.err;
    ::unlink(good.c_str());
    const std::string near_one = put("gate.YAML", kYaml);
    EXPECT_FALSE(call_runs()) << config << ran_.err;
    ::unlink(near_one.c_str());
    const std::string elsewhere = program_.directory().file("elsewhere");
    EXPECT_TRUE(write_file_atomically(elsewhere, kGate, 0700));
    EXPECT_EQ(::symlink(elsewhere.c_str(), good.c_str()), 0);
    EXPECT_FALSE(call_runs()) << config << ran_.err;
    ::unlink(good.c_str());
    program_.run({"hooks", "untrust", "gate"});
  }
}

TEST_F(NamedGuards, AreNotSwitchedOffWithoutAWord) {
  put("gate", kGate, 0755);
  for (const char* const off :
       {"disable: [gate]", "disable: ['g*']", "allow: [other]", "gate: {enabled: false}", "gate: {shadow: true}"}) {
    program_.config("hooks: {guards: [gate], " + std::string(off) + "}\n");
    EXPECT_FALSE(call_runs()) << off << ran_.err;
    EXPECT_TRUE(
        has(ran_.err, "the guard 'gate' is unavailable, so its events are blocked: hooks.guards names it, and "))
        << off << ran_.err;
  }
  // The user's own word about a hook that he has switched off demands nothing.
  for (const char* const off : {"disable: [gate]", "gate: {enabled: false, on_failure: closed}"}) {
    program_.config("hooks: {" + std::string(off) + "}\n");
    EXPECT_TRUE(call_runs()) << off << ran_.err;
  }
  program_.config("hooks: {guards: [gate]}\n");
  EXPECT_TRUE(call_runs()) << ran_.err;
}

TEST_F(NamedGuards, HoldForEveryHookOfTheirFile) {
  for (const char* const config : {"hooks: {gate: {on_failure: closed}}\n", "hooks: {guards: [gate]}\n"})
    for (const char* const yaml : {"on: [before_tool_call, agent_stop]\ncommand: exit 1\n",
                                   "hooks:\n- {name: one, on: before_tool_call, command: exit 1}\n"
                                   "- {name: two, on: agent_stop, command: 'true'}\n",
                                   "on: before_tool_call\non_failure: open\ncommand: exit 1\n"}) {
      program_.config(config);
      const std::string path = put("gate.yaml", yaml);
      EXPECT_FALSE(call_runs()) << config << yaml << ran_.err;
      ::unlink(path.c_str());
      program_.run({"hooks", "untrust", "gate"});
    }
  program_.config("");
  put("gate.yaml", "on: [before_tool_call, agent_stop]\ncommand: exit 1\n");
  EXPECT_TRUE(call_runs()) << ran_.err;  // nobody called it a guard
}

TEST_F(NamedGuards, ThatCannotBlockAreAMistake) {
  for (const char* const yaml :
       {"on: before_tool_call\nshadow: true\ndo: block\n", "on: before_tool_call\nasync: true\ncommand: exit 1\n",
        "on: before_tool_call\nobserve: true\ncommand: exit 1\n", "on: notification\ncommand: exit 1\n"})
    for (const char* const config : {"hooks: {gate: {on_failure: closed}}\n", "hooks: {guards: [gate]}\n"}) {
      program_.config(config);
      const std::string path = put("gate.yaml", yaml);
      EXPECT_FALSE(call_runs()) << config << yaml << ran_.err;
      EXPECT_EQ(ran_.code, 2) << config << yaml << ran_.err;
      EXPECT_TRUE(has(ran_.err, "gate guards nothing: ")) << config << yaml << ran_.err;
      ::unlink(path.c_str());
      program_.run({"hooks", "untrust", "gate"});
    }
}

TEST_F(NamedGuards, OfTheNativeKindBlockWhenTheyFail) {
  program_.drop_hook(AGENTD_TROUBLE_HOOK);
  program_.config("hooks: {trouble: {config: {crash: true}}}\n");
  EXPECT_TRUE(call_runs()) << ran_.err;
  program_.config("hooks: {guards: [trouble], trouble: {config: {crash: true}}}\n");
  EXPECT_FALSE(call_runs()) << ran_.err;
  EXPECT_EQ(ran_.code, 3) << ran_.err;
}

TEST_F(NamedGuards, AreNamedAndNotDescribed) {
  put("gate.yaml", "on: before_tool_call\ncommand: exit 1\n");
  for (const char* const name : {"*", "g*", "gat?", "claude/*"}) {
    program_.config("hooks: {\"" + std::string(name) + "\": {on_failure: closed}}\n");
    EXPECT_FALSE(call_runs()) << name << ran_.err;
    EXPECT_EQ(ran_.code, 2) << name << ran_.err;
    EXPECT_TRUE(has(ran_.err, "no hook named '" + std::string(name) + "'")) << ran_.err;
  }
}

// ---- an answer that nobody understands

TEST_F(NamedGuards, OfEveryDialectHaveNotAgreedWhenNobodyUnderstandsThem) {
  for (const char* const dialect : {"claude", "gemini"})
    for (const char* const said :
         {R"({"permissionDecision":"deny"})", R"({"decison":"block"})", R"({"blocked":true})",
          R"({"hookSpecificOutput":{"permisionDecision":"deny"}})", R"({"action":"block"})", "garbage", "DENY", "[]"}) {
      const bool claude = std::string_view(dialect) == "claude";
      if (!claude && said[0] != '{') continue;  // for Gemini CLI a text is a message to the user
      const std::string path =
          put("gate.yaml", std::string("on: ") + (claude ? "PreToolUse" : "BeforeTool") + "\ndialect: " + dialect +
                               "\nguard: true\ncommand: |\n  cat > /dev/null\n  echo '" + said + "'\n");
      EXPECT_FALSE(call_runs()) << dialect << said << ran_.err;
      EXPECT_TRUE(has(ran_.err, "its output was not understood")) << dialect << said << ran_.err;
      ::unlink(path.c_str());
      program_.run({"hooks", "untrust", "gate"});
    }
  put("gate.yaml", "on: PreToolUse\ndialect: claude\nguard: true\ncommand: \"cat > /dev/null; echo '{}'\"\n");
  EXPECT_TRUE(call_runs()) << ran_.err;  // it has nothing against it
}

// ---- a home that cannot be written

TEST_F(NamedGuards, RunAlsoWhereNobodyCanKeepThatTheyWereSeen) {
  ASSERT_TRUE(make_directories(program_.home() + "/trust.json.lock"));  // no file can be opened there
  put("gate.yaml", "on: before_tool_call\ndo: block\nguard: true\n");
  for (int run = 0; run < 2; ++run) {
    EXPECT_FALSE(call_runs()) << ran_.err;
    EXPECT_TRUE(has(ran_.err, "the hook gate runs, but changes of its file go unnoticed: ")) << ran_.err;
    EXPECT_FALSE(has(ran_.err, "runs from now on")) << ran_.err;
  }
}

TEST_F(NamedGuards, ThatNobodyHasAreToldWithTheNearestName) {
  put("gate.yaml", "on: before_tool_call\ndo: block\nguard: true\n");
  program_.config("hooks: {guards: [gaet]}\n");
  EXPECT_FALSE(call_runs()) << ran_.err;
  EXPECT_TRUE(has(ran_.err, "no hook has that name: did you mean 'gate'?")) << ran_.err;
  EXPECT_FALSE(has(ran_.err, "untrust")) << ran_.err;
}

// ---- a run that did not begin

TEST_F(NamedGuards, OfARunThatDidNotBeginAreNotAgreedTo) {
  put("gate.yaml", "on: before_tool_call\nmatcher: bahs\ndo: block\n");
  EXPECT_FALSE(call_runs()) << ran_.err;
  EXPECT_EQ(ran_.code, 2) << ran_.err;
  EXPECT_FALSE(has(ran_.err, "runs from now on")) << ran_.err;
  put("gate.yaml", "on: before_tool_call\nmatcher: bash\ndo: block\n");
  EXPECT_FALSE(call_runs()) << ran_.err;
  EXPECT_TRUE(has(ran_.err, "runs from now on")) << ran_.err;
  EXPECT_FALSE(has(ran_.err, "does not run")) << ran_.err;
}

TEST_F(NamedGuards, ThatWaitForAWordThatNeverComesStopTheRun) {
  for (const char* const yaml : {"on: before_compaction\nmatcher: manul\ndo: block\n",
                                 "on: session_start\nmatcher: strtup|resume\ndo: {system_message: x}\n",
                                 "on: notification\nmatcher: warn\ncommand: 'true'\n"}) {
    put("gate.yaml", yaml);
    EXPECT_FALSE(call_runs()) << yaml << ran_.err;
    EXPECT_EQ(ran_.code, 2) << yaml << ran_.err;
    EXPECT_TRUE(has(ran_.err, " never occurs there; possible are ")) << yaml << ran_.err;
  }
  for (const char* const yaml : {"on: before_compaction\nmatcher: manual\ndo: block\n",
                                 "on: session_start\nmatcher: startup|resume\ndo: {system_message: x}\n"}) {
    put("gate.yaml", yaml);
    EXPECT_TRUE(call_runs()) << yaml << ran_.err;
    program_.run({"hooks", "untrust", "gate"});
  }
}

TEST_F(NamedGuards, OfAnEventThatIsMisspeltStopTheRun) {
  for (const char* const event : {"before_tool_cal", "PreToolUse"}) {
    put("gate", ("#!/bin/sh\ncase $1 in hook) echo " + std::string(event) + ";; run) exit 1;; esac\n").c_str(), 0755);
    EXPECT_FALSE(call_runs()) << event << ran_.err;
    EXPECT_EQ(ran_.code, 2) << event << ran_.err;
    EXPECT_TRUE(has(ran_.err, "which is not an event: did you mean 'before_tool_call'?")) << event << ran_.err;
  }
}

TEST_F(NamedGuards, OfAFileHoldForItsHooksByTheirOwnNames) {
  put("x.yaml",
      "hooks:\n- {name: a, on: before_tool_call, do: block}\n- {name: b, on: user_message_send, "
      "command: 'true'}\n");
  for (const char* const off : {"disable: [x.a]", "disable: ['*.a']", "x.a: {enabled: false}", "x.a: {shadow: true}",
                                "x.a: {on_failure: open}"}) {
    program_.config("hooks: {guards: [x], " + std::string(off) + "}\n");
    EXPECT_FALSE(call_runs()) << off << ran_.err;
  }
  program_.config("hooks: {x.a: {enabled: false}}\n");
  EXPECT_TRUE(call_runs()) << ran_.err;
}

// ---- what a file tool does not write, and agentd does not change

TEST_F(NamedGuards, LieWhereNoFileToolWrites) {
  program_.set_home(program_.project() + "/.agent");
  const std::string hooks = program_.project() + "/hk";
  ASSERT_TRUE(make_directories(hooks));
  ::chmod(hooks.c_str(), 0700);
  program_.config("hooks: {dirs: [" + hooks + "]}\n");
  const Finished ran =
      program_.run({"run", "x", "--no-save", "--allow", "write_file", "--script",
                    program_.script("- calls:\n  - {name: write_file, input: {path: hk/evil.yaml, content: x}}\n"
                                    "  - {name: write_file, input: {path: fine.txt, content: x}}\n- text: done\n")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(::access((hooks + "/evil.yaml").c_str(), F_OK), 0) << ran.err;
  EXPECT_EQ(::access((program_.project() + "/fine.txt").c_str(), F_OK), 0) << ran.err;
}

TEST_F(NamedGuards, LeaveTheModeOfWhatALinkLeadsToAlone) {
  const std::string other = program_.directory().file("other");
  ASSERT_TRUE(make_directories(other));
  ASSERT_EQ(::chmod(other.c_str(), 0755), 0);
  put("n", "#!/usr/bin/env node\nif (process.argv[2] == 'hook') console.log('before_tool_call');\n", 0755);
  ASSERT_EQ(::symlink(other.c_str(), (program_.home() + "/private").c_str()), 0);
  call_runs();
  EXPECT_TRUE(has(ran_.err, "/private must be a directory, not a link")) << ran_.err;
  struct stat info {};
  ASSERT_EQ(::stat(other.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0755u);
}

// A repository's mistake does not stop the user's run; its guard fails closed.
TEST_F(NamedGuards, OfAProjectThatAreAskedAboutNothingBlock) {
  const std::string hooks = program_.project() + "/.agent/hooks";
  ASSERT_TRUE(make_directories(hooks));
  ASSERT_TRUE(make_directories(program_.project() + "/.git"));
  for (const char* const mistake : {"matcher: bsh\n", "when: tool.name == \"bsh\"\n"})
    for (const bool guards : {true, false}) {
      ASSERT_TRUE(write_file_atomically(
          hooks + "/p.yaml",
          "on: before_tool_call\n" + std::string(mistake) + (guards ? "guard: true\n" : "") + "do: block\n", 0644));
      EXPECT_EQ(program_.run({"hooks", "trust", "project/p", "-y"}).code, 0);
      EXPECT_EQ(call_runs(), !guards) << mistake << ran_.err;
      EXPECT_EQ(ran_.code, 0) << mistake << ran_.err;
      EXPECT_TRUE(has(ran_.err, "no tool is named 'bsh': did you mean 'bash'?")) << mistake << ran_.err;
    }
}

// ---- rules of a bundled hook

TEST_F(NamedGuards, ThatAreConfiguredAndNotSwitchedOnStopTheRun) {
  const std::string rules = "config: {rules: [{tool: bash, action: deny}]}";
  program_.config("hooks: {guardrail: {" + rules + "}}\n");
  EXPECT_FALSE(call_runs()) << ran_.err;
  EXPECT_EQ(ran_.code, 2) << ran_.err;
  EXPECT_TRUE(has(ran_.err, "hooks.guardrail is configured but not enabled")) << ran_.err;
  program_.config("hooks: {guardrail: {on_failure: closed}}\n");
  EXPECT_FALSE(call_runs()) << ran_.err;
  EXPECT_EQ(ran_.code, 2) << ran_.err;
  program_.config("hooks: {guardrail: {enabled: true, " + rules + "}}\n");
  EXPECT_FALSE(call_runs()) << ran_.err;
  EXPECT_EQ(ran_.code, 0) << ran_.err;
  program_.config("hooks: {guardrail: {enabled: false, " + rules + "}}\n");
  EXPECT_TRUE(call_runs()) << ran_.err;
}

// ---- settings of another tool

class AdaptedGuards : public NamedGuards {
 protected:
  // Whether the call of bash runs beside these hooks of the dialect's event before a tool.
  bool call_runs_beside(const std::string& dialect, const std::string& hooks, const std::string& config = {}) {
    const std::string path = program_.directory().file(dialect + ".json");
    EXPECT_TRUE(write_file_atomically(path, "{\"hooks\": " + hooks + "}", 0600));
    program_.run({"hooks", "untrust", path});
    program_.config("hooks:\n  adapt: [\"" + dialect + ":" + path + "\"]\n" + config);
    return call_runs();
  }
};

TEST_F(AdaptedGuards, WithManyUnknownKeysAreToldInOneLine) {
  std::string handler = R"({"type":"command","command":"exit 0")";
  for (int i = 0; i < 60; ++i) handler += ",\"label" + std::to_string(i) + "\":\"x\"";
  EXPECT_TRUE(
      call_runs_beside("claude", R"({"PreToolUse":[{"matcher":"Bash","hooks":[)" + handler + R"(,"timout":5}]}]})"))
      << ran_.err;
  const std::string path = program_.directory().file("claude.json");
  EXPECT_EQ(count(ran_.err, path + ": 60 unknown keys are ignored ('label0', 'label1', 'label2' and others): "
                                   "'agentd hooks list' names each"),
            1u)
      << ran_.err;
  EXPECT_EQ(count(ran_.err, "unknown key 'label"), 0u) << ran_.err;
  EXPECT_EQ(count(ran_.err, "unknown key 'timout' is ignored: did you mean 'timeout'?"), 1u) << ran_.err;
  for (const char* const command : {"list", "doctor"}) {
    const std::string said = program_
                                 .run(command == std::string("list") ? std::vector<std::string>{"hooks", "list"}
                                                                     : std::vector<std::string>{"doctor"})
                                 .out;
    EXPECT_EQ(count(said, "unknown key 'label"), 60u) << said;
  }
}

TEST_F(AdaptedGuards, WithAMistakeStopTheRun) {
  constexpr const char* kDeny = R"({"type":"command","command":"echo no >&2; exit 2"})";
  const auto group = [&](const std::string& event, const std::string& matcher, const std::string& handler) {
    return "{\"" + event + "\": [{" + (matcher.empty() ? "" : "\"matcher\": " + matcher + ", ") + "\"hooks\": [" +
           handler + "]}]}";
  };
  EXPECT_FALSE(call_runs_beside("claude", group("PreToolUse", "\"Bash\"", kDeny))) << ran_.err;
  EXPECT_EQ(ran_.code, 0) << ran_.err;  // the call is refused, and the run goes on
  const struct {
    const char* dialect;
    std::string hooks;
    const char* said;
  } table[] = {
      {"gemini", group("BeforeTool", "\"^(?!read_).*$\"", kDeny), "RE2 syntax: no look-around"},
      {"gemini", group("BeforeTol", "", kDeny), "did you mean 'BeforeTool'?"},
      {"claude", group("PreToolUse", "\"Bash(\"", kDeny), "the matcher cannot be read"},
      {"claude", group("PreToolUse", "[\"Bash\"]", kDeny), "'matcher' must be a text, not a list"},
      {"claude", group("PreTolUse", "", kDeny), "did you mean 'PreToolUse'?"},
      {"claude", group("PreToolUse", "", R"({"type":"command","comand":"exit 2"})"), "needs a command"},
      {"claude", group("PreToolUse", "", R"({"type":"comand","command":"exit 2"})"), "unknown type 'comand'"},
      {"claude", group("PreToolUse", "", R"({"type":"command","command":"exit 1","onFailure":"blok"})"),
       "'onFailure' must be continue or block"},
      {"claude", group("PreToolUse", "", R"({"type":"command","command":"exit 1","onfailure":"block"})"),
       "did you mean 'onFailure'?"},
      {"claude", "{\"PreToolUse\": [" + std::string(kDeny) + "]}", "a handler must be in the list 'hooks'"},
  };
  for (const auto& row : table) {
    EXPECT_FALSE(call_runs_beside(row.dialect, row.hooks)) << row.hooks << ran_.err;
    EXPECT_EQ(ran_.code, 2) << row.hooks << ran_.err;
    EXPECT_TRUE(has(ran_.err, row.said)) << row.hooks << ran_.err;
    EXPECT_TRUE(has(ran_.err, "or disable it with hooks.disable: [")) << row.hooks << ran_.err;
    const Finished doctor = program_.run({"doctor"});
    EXPECT_TRUE(has(doctor.out, row.said) && has(doctor.out, "no run begins until")) << doctor.out;
    // Left out knowingly.
    EXPECT_TRUE(call_runs_beside(row.dialect, row.hooks, "  disable: ['" + std::string(row.dialect) + "/*']\n"))
        << row.hooks << ran_.err;
  }
  // What agentd does not have is no mistake, and where nothing can be blocked nothing is lost.
  EXPECT_TRUE(call_runs_beside("claude", group("PreToolUse", "", R"({"type":"prompt","prompt":"x"})"))) << ran_.err;
  EXPECT_TRUE(has(ran_.err, "of the type 'prompt' is not supported")) << ran_.err;
  EXPECT_TRUE(call_runs_beside("claude", group("Notification", "\"(\"", kDeny))) << ran_.err;
}

TEST_F(AdaptedGuards, AskForOneRuleAtATime) {
  EXPECT_FALSE(call_runs_beside(
      "claude", R"j({"PreToolUse": [{"hooks": [{"type":"command","command":"exit 2","if":"Bash(x)|Write(*)"}]}]})j"));
  EXPECT_TRUE(has(ran_.err, "not a list; the hook is called for every use of its tools")) << ran_.err;
}

TEST_F(NamedGuards, ThatCompareWithAWordThatNeverComesStopTheRun) {
  for (const char* const yaml : {"on: before_compaction\nwhen: trigger == \"manul\"\ndo: block\n",
                                 "on: session_start\nwhen: '\"strtup\" != source'\ndo: {system_message: x}\n",
                                 "on: before_tool_call\nwhen: invoked_by == \"sub\"\ndo: block\n"}) {
    put("gate.yaml", yaml);
    EXPECT_FALSE(call_runs()) << yaml << ran_.err;
    EXPECT_EQ(ran_.code, 2) << yaml << ran_.err;
    EXPECT_TRUE(has(ran_.err, " never occurs there; possible are ")) << yaml << ran_.err;
  }
  put("gate.yaml", "on: before_compaction\nwhen: trigger == \"manual\"\ndo: block\n");
  EXPECT_TRUE(call_runs()) << ran_.err;
}

TEST_F(NamedGuards, ThatGiveAReasonAndNoDecisionHaveNotAgreed) {
  const struct {
    const char *dialect, *event, *said;
  } table[] = {{"agentd", "before_tool_call", R"({"reason":"no"})"},
               {"claude", "PreToolUse", R"({"reason":"no"})"},
               {"claude", "PreToolUse",
                R"({"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecisionReason":"no"}})"},
               {"gemini", "BeforeTool", R"({"reason":"no"})"},
               {"docker", "pre_tool_use", R"({"reason":"no"})"}};
  for (const auto& row : table) {
    const auto write = [&](const char* said) {
      program_.run({"hooks", "untrust", "gate"});
      put("gate.yaml", "on: " + std::string(row.event) + "\ndialect: " + row.dialect +
                           "\nguard: true\ncommand: |\n  cat > /dev/null\n  echo '" + said + "'\n");
    };
    write(row.said);
    EXPECT_FALSE(call_runs()) << row.dialect << ran_.err;
    EXPECT_TRUE(has(ran_.err, "it gives a reason but no decision")) << row.dialect << ran_.err;
    write("{}");
    EXPECT_TRUE(call_runs()) << row.dialect << ran_.err;
  }
}

// ---- what is there twice, under another name, or nowhere

TEST_F(NamedGuards, OfOneNameInOneDirectoryStopTheRun) {
  put("gate", kGate, 0755);
  const std::string twin = put("gate.yaml", "on: before_tool_call\ndo: block\n");
  EXPECT_FALSE(call_runs()) << ran_.err;
  EXPECT_EQ(ran_.code, 2) << ran_.err;
  EXPECT_TRUE(has(ran_.err, "has the same name 'gate': rename one of the two")) << ran_.err;
  EXPECT_TRUE(has(program_.run({"doctor"}).out, "no run begins until"));
  ::unlink(twin.c_str());
  EXPECT_TRUE(call_runs()) << ran_.err;
}

TEST_F(NamedGuards, BehindALinkToNothingStopTheRun) {
  const std::string hooks = program_.home() + "/hooks";
  ASSERT_EQ(::rmdir(hooks.c_str()), 0);
  EXPECT_TRUE(call_runs()) << ran_.err;  // nobody needs hooks
  ASSERT_EQ(::symlink("/nowhere/hooks", hooks.c_str()), 0);
  EXPECT_FALSE(call_runs()) << ran_.err;
  EXPECT_EQ(ran_.code, 2) << ran_.err;
  EXPECT_TRUE(has(ran_.err, hooks + " is a broken symbolic link")) << ran_.err;
}

TEST_F(NamedGuards, OfAConfigurationUnderAnotherNameStopTheRun) {
  EXPECT_TRUE(call_runs()) << ran_.err;
  const std::string path = program_.home() + "/config.yml";
  ::unlink((program_.home() + "/config.yaml").c_str());
  ASSERT_TRUE(write_file_atomically(path, "permissions: {deny: [bash]}\n", 0600));
  EXPECT_FALSE(call_runs()) << ran_.err;
  EXPECT_EQ(ran_.code, 2) << ran_.err;
  EXPECT_TRUE(has(ran_.err, path + " is not read: its name must be config.yaml: mv ")) << ran_.err;
}

// ---- a guard that may fail for now

TEST_F(NamedGuards, AreNotForgottenByARunThatLetsThemFail) {
  const std::string path = put("gate.yaml", "on: before_tool_call\nguard: true\ncommand: exit 1\n");
  EXPECT_FALSE(call_runs()) << ran_.err;
  program_.config("hooks: {gate: {on_failure: open}}\n");
  EXPECT_TRUE(call_runs()) << ran_.err;
  ::unlink(path.c_str());
  EXPECT_TRUE(call_runs()) << ran_.err;
  program_.config("");
  EXPECT_FALSE(call_runs()) << ran_.err;  // it was a guard, and is gone
  EXPECT_TRUE(has(ran_.err, "the guard 'gate' is unavailable, so its events are blocked")) << ran_.err;
}

// ---- a session that did not begin

TEST_F(NamedGuards, OfASessionThatDidNotBeginAreNotAgreedTo) {
  EXPECT_TRUE(call_runs()) << ran_.err;
  put("gate.yaml", "on: before_tool_call\ndo: block\n");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"run", "x", "--resume", "nowhere"},
                                                {"run", "x", "--follow", "--no-save"},
                                                {"compact", "--conversation-id", "nowhere"}}) {
    std::vector<std::string> all = words;
    for (const char* const more : {"--script", ""})
      all.push_back(*more == 0 ? program_.script("- text: done\n") : std::string(more));
    const Finished ran = program_.run(all);
    EXPECT_NE(ran.code, 0) << ran.err;
    EXPECT_FALSE(has(ran.err, "runs from now on")) << words[2] << ran.err;
  }
  EXPECT_FALSE(call_runs()) << ran_.err;
  EXPECT_TRUE(has(ran_.err, "runs from now on")) << ran_.err;
}

TEST_F(NamedGuards, ThatGuardNothingAreToldByDoctorToo) {
  put("gate.yaml", "on: before_tool_call\nshadow: true\ndo: block\n");
  program_.config("hooks: {guards: [gate]}\n");
  const Finished said = program_.run({"doctor"});
  EXPECT_TRUE(has(said.out, "  BROKEN  gate: ") && has(said.out, "gate guards nothing: it runs in shadow mode"))
      << said.out;
  EXPECT_EQ(said.code, 1) << said.out;
}

TEST_F(NamedGuards, ThatRunInShadowAreTold) {
  put("gate.yaml", "on: before_tool_call\nshadow: true\nguard: true\ndo: block\n");
  EXPECT_TRUE(call_runs()) << ran_.err;
  EXPECT_TRUE(has(ran_.err, "the guard gate runs in shadow mode and blocks nothing")) << ran_.err;
  program_.config("hooks: {gate: {shadow: true}}\n");  // his own word
  EXPECT_TRUE(call_runs()) << ran_.err;
  EXPECT_FALSE(has(ran_.err, "runs in shadow")) << ran_.err;
}

TEST_F(NamedGuards, AreNoRulesWithAnOpenBracket) {
  program_.config("permissions: {deny: ['[bash']}\n");
  EXPECT_FALSE(call_runs()) << ran_.err;
  EXPECT_EQ(ran_.code, 2) << ran_.err;
  EXPECT_TRUE(has(ran_.err, "'[bash' is not a glob: its '[' is not closed")) << ran_.err;
}

// ---- what is matched, and what is not

TEST_F(NamedGuards, OfAnEventWithoutASubjectAreAskedWhateverTheirMatcher) {
  for (const char* const yaml : {"on: before_model_call\nmatcher: '.+'\nguard: true\ndo: block\n",
                                 "on: after_model_call\nmatcher: bash\nguard: true\ncommand: exit 1\n",
                                 "on: UserPromptSubmit\ndialect: claude\nmatcher: Bash\nguard: true\ncommand: exit 2\n",
                                 "on: BeforeModel\ndialect: gemini\nmatcher: '.*'\nguard: true\ncommand: exit 2\n"}) {
    program_.run({"hooks", "untrust", "gate"});
    put("gate.yaml", yaml);
    EXPECT_FALSE(call_runs()) << yaml << ran_.err;
  }
}

TEST_F(NamedGuards, MatchEveryNameThatTheirToolHasForATool) {
  for (const char* const name : {"Task", "Agent"}) {
    program_.run({"hooks", "untrust", "gate"});
    put("gate.yaml",
        std::string("on: PreToolUse\ndialect: claude\nguard: true\nmatcher: ") + name + "\ncommand: exit 2\n");
    const Finished ran =
        program_.run({"run", "x", "--no-save", "--set", "agents.enabled=true", "--allow", "task", "--script",
                      program_.script("- calls:\n  - {name: task, input: {description: d, prompt: p}}\n- text: "
                                      "done\n- text: more\n")});
    EXPECT_TRUE(has(ran.err, "blocked")) << name << ran.err;
  }
}

TEST_F(NamedGuards, WithALineEndInWhatTheyMatchStopTheRun) {
  for (const char* const yaml : {"on: before_tool_call\nguard: true\nmatcher: |\n  bash\ndo: block\n",
                                 "on: before_tool_call\nguard: true\nmatcher: \"\\bbash\\b\"\ndo: block\n",
                                 "on: before_tool_call\nguard: true\nwhen: \"tool.input.command matches "
                                 "'\\btouch\\b'\"\ndo: block\n"}) {
    put("gate.yaml", yaml);
    EXPECT_FALSE(call_runs()) << yaml << ran_.err;
    EXPECT_EQ(ran_.code, 2) << yaml << ran_.err;
    EXPECT_TRUE(has(ran_.err, "control character")) << yaml << ran_.err;
  }
  ::unlink((program_.home() + "/hooks/gate.yaml").c_str());
  for (const char* const rule :
       {"input: {command: \"\\btouch\\b\"}", "input: {command: \"touch\\n\"}", "path: [\"ran\\n\"]", "path: ['^ran$']",
        "path: ['!x']", "path: [' ran']", "path: ['{ran,x}']", "tool: '.*'", "tool: 'bash.*'"}) {
    program_.config("hooks: {guardrail: {enabled: true, config: {rules: [{action: deny, " + std::string(rule) +
                    "}]}}}\n");
    EXPECT_FALSE(call_runs()) << rule << ran_.err;
    EXPECT_EQ(ran_.code, 2) << rule << ran_.err;
  }
}

TEST_F(NamedGuards, ThatNameToolsWronglyInWhatTheyDoStopTheRun) {
  for (const char* const list : {"[Bash]", "[bsh]", "['*']"}) {
    put("gate.yaml", "on: before_model_call\nguard: true\ndo: {tools: {disable: " + std::string(list) + "}}\n");
    EXPECT_FALSE(call_runs()) << list << ran_.err;
    EXPECT_EQ(ran_.code, 2) << list << ran_.err;
  }
  put("gate.yaml", "on: before_model_call\nguard: true\ndo: {tools: {disable: [bash]}}\n");
  EXPECT_FALSE(call_runs()) << ran_.err;
  EXPECT_EQ(ran_.code, 0) << ran_.err;
}

TEST_F(NamedGuards, WhoseExpressionMatchesNoToolAreTold) {
  put("gate.yaml", "on: before_tool_call\nmatcher: (Bash|Write)\ndo: block\n");
  EXPECT_FALSE(call_runs()) << ran_.err;
  EXPECT_EQ(ran_.code, 2) << ran_.err;
  EXPECT_TRUE(has(ran_.err, "did you mean 'bash'?")) << ran_.err;
  put("gate.yaml", "on: before_tool_call\nmatcher: bash write_file\ndo: block\n");
  call_runs();
  EXPECT_TRUE(has(ran_.err, "matches no available tool")) << ran_.err;
}

TEST_F(NamedGuards, ThatCannotGuardASecondTimeAreAMistake) {
  for (const char* const yaml : {"on: before_tool_call\nguard: true\nonce: true\ndo: block\n",
                                 "on: before_tool_call\nguard: true\ndo: none\n"}) {
    put("gate.yaml", yaml);
    EXPECT_FALSE(call_runs()) << yaml << ran_.err;
    EXPECT_EQ(ran_.code, 2) << yaml << ran_.err;
  }
}

TEST_F(NamedGuards, WhoseProgramOrHostCannotBeHadStopTheRun) {
  for (const char* const yaml :
       {"url: https://policy.example.com/x\n", "command: [/nonexistent/guard]\n", "extension: [/nonexistent/guard]\n",
        "command: 'true'\nworking_directory: /nonexistent\n"}) {
    put("gate.yaml", "on: before_tool_call\n" + std::string(yaml));
    EXPECT_FALSE(call_runs()) << yaml << ran_.err;
    EXPECT_EQ(ran_.code, 2) << yaml << ran_.err;
  }
}

TEST_F(NamedGuards, ThatOnlyTellSomethingBesideAKeyThatNobodyKnowsHaveNotAgreed) {
  put("gate.yaml",
      "on: before_tool_call\nguard: true\ncommand: |\n  cat > /dev/null\n"
      "  echo '{\"system_message\":\"x\",\"decision\":\"block\"}'\n");
  EXPECT_FALSE(call_runs()) << ran_.err;
}

TEST_F(NamedGuards, OfAProgramThatPrintsANameWithinSomethingElseStopTheRun) {
  for (const char* const said :
       {"BEFORE_TOOL_CALL", "event: before_tool_call", "{\"events\":[\"before_tool_call\"]}"}) {
    put("gate", "#!/bin/sh\ncase $1 in hook) echo '" + std::string(said) + "';; run) exit 1;; esac\n", 0755);
    EXPECT_FALSE(call_runs()) << said << ran_.err;
    EXPECT_EQ(ran_.code, 2) << said << ran_.err;
  }
}

// ---- guards that the configuration keeps out

TEST_F(NamedGuards, ThatAreKeptOutAreNamed) {
  put("gate.yaml", "on: before_tool_call\nmatcher: bash\ndo: block\n");
  for (const char* const off : {"disable: [gate]", "allow: [other]"}) {
    program_.config("hooks: {gate: {on_failure: closed}, " + std::string(off) + "}\n");
    EXPECT_TRUE(call_runs()) << off << ran_.err;
    EXPECT_TRUE(has(ran_.err, "the guard gate is off, since hooks.disable, hooks.allow or hooks.gate.enabled keeps "))
        << off << ran_.err;
    EXPECT_TRUE(has(ran_.err, "; enable it, or remove hooks.gate.on_failure")) << off << ran_.err;
    program_.config("hooks: {guardrail: {enabled: true}, " + std::string(off) + ", disable: ['guard*']}\n");
    EXPECT_FALSE(call_runs()) << off << ran_.err;
  }
  for (const char* const off : {"disable: ['guard*']", "allow: [workspace_tools]"}) {
    program_.config("hooks: {guardrail: {enabled: true}, " + std::string(off) + "}\n");
    EXPECT_FALSE(call_runs()) << off << ran_.err;
    EXPECT_EQ(ran_.code, 2) << off << ran_.err;
    EXPECT_TRUE(has(ran_.err, "excludes the hook: change one of the two")) << off << ran_.err;
  }
  put("gate.yaml", "on: before_tool_call\nmatcher: bash\nguard: true\ndo: block\n");
  program_.config("");
  const Finished first =
      program_.run({"run", "x", "--no-save", "--no-hooks", "--script", program_.script("- text: a\n")});
  EXPECT_TRUE(has(first.err, "--no-hooks: these guards are off, and nothing replaces them: gate")) << first.err;
}

TEST_F(NamedGuards, FailuresOfHooksAreShownAlsoBesideTheResultAlone) {
  put("gate.yaml", "on: before_tool_call\ncommand: exit 1\n");
  const Finished ran =
      program_.run({"run", "x", "--result-only", "--no-save", "--allow", "bash", "--script",
                    program_.script("- calls:\n  - {name: bash, input: {command: 'true'}}\n- text: done\n")});
  EXPECT_TRUE(has(ran.err, "warning: hook gate failed at before_tool_call")) << ran.err;
}

// ---- whose a file is

TEST_F(NamedGuards, BehindALinkIntoTheProjectAreTheProjects) {
  ASSERT_TRUE(make_directories(program_.project() + "/.git"));
  const std::string link = program_.directory().file("link");
  ASSERT_EQ(::symlink(program_.project().c_str(), link.c_str()), 0);
  ASSERT_TRUE(make_directories(program_.project() + "/h"));
  program_.file("h/x.yaml", "on: session_start\ncommand: touch " + program_.project() + "/marked\n");
  program_.file("y.yaml", "on: session_start\ncommand: touch " + program_.project() + "/marked\n");
  for (const std::string& directory : {link + "/h", program_.project() + "/h", program_.project(), link + "/h/../h"}) {
    program_.config("hooks: {dirs: ['" + directory + "']}\n");
    call_runs();
    EXPECT_FALSE(exists(program_.project() + "/marked")) << directory << ran_.err;
    EXPECT_TRUE(has(ran_.err, "you have not trusted it yet")) << directory << ran_.err;
  }
}

TEST_F(NamedGuards, AreNotWrittenByFileToolsWhereverTheConfigurationNamesThem) {
  const std::string settings = program_.project() + "/settings.json";
  program_.file("settings.json", "{\"hooks\": {}}");
  program_.config("hooks: {adapt: ['claude:" + settings + "']}\n");
  program_.run({"run", "x", "--no-save", "--allow", "write_file", "--script",
                program_.script("- calls:\n  - {name: write_file, input: {path: settings.json, "
                                "content: '{}'}}\n- text: done\n")});
  EXPECT_EQ(*read_file(settings, 100), "{\"hooks\": {}}");
}

TEST_F(NamedGuards, OfAHomeThatIsNotMeantAreMissed) {
  for (const char* const home : {"~/.agent", "x/.agent", "/tmp/agentd-x "}) {
    Program other;
    other.set("AGENTD_HOME=" + std::string(home));
    const Finished ran = other.run({"run", "x", "--script", other.script("- text: a\n")});
    EXPECT_EQ(ran.code, 2) << home << ran.err;
    EXPECT_TRUE(has(ran.err, "AGENTD_HOME must be an absolute path")) << home << ran.err;
  }
}

TEST_F(AdaptedGuards, WithAKeyTwiceOrOfAnotherToolStopTheRun) {
  constexpr const char* kDeny = R"([{"type":"command","command":"exit 2"}])";
  EXPECT_FALSE(call_runs_beside(
      "claude", R"({"PreToolUse": [{"matcher":"Write","matcher":"Bash","hooks":)" + std::string(kDeny) + "}]}"));
  EXPECT_EQ(ran_.code, 2) << ran_.err;
  EXPECT_TRUE(has(ran_.err, "'matcher' is repeated in one object")) << ran_.err;
  EXPECT_FALSE(call_runs_beside("gemini", R"({"PreToolUse": [{"hooks":)" + std::string(kDeny) + "}]}"));
  EXPECT_EQ(ran_.code, 2) << ran_.err;
  EXPECT_FALSE(call_runs_beside("claude", R"([{"event":"PreToolUse","command":"exit 2"}])"));
  EXPECT_EQ(ran_.code, 2) << ran_.err;
}

TEST_F(AdaptedGuards, WithRulesAboutToolsAreToldThatTheseDoNotHold) {
  const std::string path = program_.directory().file("claude.json");
  ASSERT_TRUE(write_file_atomically(path,
                                    R"({"permissions": {"deny": ["Bash"]}, "hooks": {"Stop": [{"hooks":)"
                                    R"([{"type":"command","command":"exit 0"}]}]}})",
                                    0600));
  program_.config("hooks: {adapt: ['claude:" + path + "']}\n");
  call_runs();
  EXPECT_TRUE(has(ran_.err, "its rules about tools (permissions, tools.exclude) are not imported")) << ran_.err;
}

}  // namespace
}  // namespace agentd::testing
