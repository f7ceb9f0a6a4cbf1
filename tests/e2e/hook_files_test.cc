// SPDX-License-Identifier: Apache-2.0
// hook_files_test.cc - files of a hooks directory that look like hooks and do not run: every
// command that speaks of hooks says so, as a run does.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

constexpr const char* kYaml = "on: agent_stop\ndo: {system_message: hello}\n";
constexpr const char* kScript = "#!/bin/sh\n[ \"$1\" = hook ] && echo agent_stop\nexit 0\n";

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t out = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    ++out;
  return out;
}

class HookFiles : public ::testing::Test {
 protected:
  HookFiles() {
    EXPECT_TRUE(make_directories(program_.home() + "/hooks"));
    ::chmod(program_.home().c_str(), 0700);
  }
  std::string put(const std::string& name, const std::string& text, mode_t mode = 0644) const {
    const std::string path = program_.home() + "/hooks/" + name;
    EXPECT_TRUE(write_file_atomically(path, text, 0600));
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  Finished run() {
    return program_.run({"run", "x", "--no-save", "--script", program_.script("- text: done\n")});
  }
  // What `hooks list --json` says of the file; empty = it is not listed.
  std::string listed(const std::string& path) {
    for (const JsonDocument& line : json_lines(program_.run({"hooks", "list", "--json"}).out))
      if (line.root()["path"].string_or("") == path)
        return std::string(line.root()["state"].string_or("")) + ": " +
               std::string(line.root()["why_not"].string_or(""));
    return {};
  }
  // A run, the list, doctor and `hooks validate` say of it that it does not run, why, and what to
  // do.
  void is_told(const std::string& path, const std::string& remedy) {
    const std::string sentence = path + " does not run: ";
    const Finished ran = run();
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(count(ran.err, sentence), 1u) << ran.err;
    EXPECT_TRUE(has(ran.err, remedy)) << ran.err;
    EXPECT_TRUE(has(listed(path), "broken: " + sentence)) << listed(path);
    EXPECT_TRUE(has(listed(path), remedy)) << listed(path);
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"doctor"}, {"hooks", "list"}, {"--plugins"}}) {
      const Finished said = program_.run(words);
      EXPECT_EQ(count(said.out, sentence), 1u) << words[0] << said.out << said.err;
      EXPECT_TRUE(has(said.out, remedy)) << words[0] << said.out;
    }
    const Finished judged = program_.run({"hooks", "validate", path});
    EXPECT_EQ(judged.code, 1) << judged.out << judged.err;
    EXPECT_TRUE(has(judged.out + judged.err, sentence)) << judged.out << judged.err;
    EXPECT_TRUE(has(judged.out + judged.err, remedy)) << judged.out << judged.err;
    ::unlink(path.c_str());
  }
  void is_not_told(const std::string& path) {
    const Finished ran = run();
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_FALSE(has(ran.err, path)) << ran.err;
    EXPECT_EQ(listed(path), "");
    EXPECT_FALSE(has(program_.run({"doctor"}).out, path));
  }

  Program program_;
};

TEST_F(HookFiles, AScriptOrProgramWithoutItsExecutableBitIsTold) {
  const std::string script = put("lint", kScript);
  is_told(script, "chmod +x " + script);
  const std::string own = put("it's mine.sh", kScript);
  is_told(own, "chmod +x '");
  const std::string program = put("guard", *read_file("/bin/true", 1u << 20));
  is_told(program, "chmod +x " + program);
}

TEST_F(HookFiles, ANameThatOnlyNearlySaysWhatItIsIsTold) {
  is_told(put("a.YAML", kYaml), "rename it to a.yaml");
  is_told(put("b.Yml", kYaml), "rename it to b.yml");
  is_told(put("c.yaml.txt", kYaml), "rename it to c.yaml");
  is_told(put("d.SO", "bytes"), "rename it to d.so");
  is_told(put("e.YAML", kYaml, 0755), "rename it to e.yaml");
}

TEST_F(HookFiles, SettingsOfAnotherToolAreTold) {
  const std::string path =
      put("settings.json",
          "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": "
          "\"exit 0\"}]}]}}",
          0600);
  is_told(path, "agentd hooks import " + path);
  put("settings.json",
      "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"exit 0\"}]}]}}",
      0600);
  program_.config("hooks:\n  adapt: [\"claude:" + path + "\"]\n");
  EXPECT_TRUE(listed(path).starts_with("on: ")) << listed(path);
  const Finished ran = run();
  EXPECT_FALSE(has(ran.err, path + " does not run")) << ran.err;
  EXPECT_EQ(program_.run({"hooks", "validate", path}).code, 0);
}

TEST_F(HookFiles, NotesBackupsAndWhatHooksReadAreNoNoise) {
  for (const char* const name :
       {"README.md", "notes.txt", "words.json", "table.csv", "lib.py", "x.yaml.bak", "x.yaml~",
        "x.yaml.orig", ".x.yaml.swp", ".x.yaml", "x.yaml.disable", "x.so.1"})
    is_not_told(put(name, "words, and nothing more\n"));
  for (const char* const name :
       {"lint.bak", "lint~", "lint.orig", "lint.disable", ".lint", "#lint#"})
    is_not_told(put(name, kScript));
  EXPECT_TRUE(make_directories(program_.home() + "/hooks/lib.YAML"));
  is_not_told(program_.home() + "/hooks/lib.YAML");
  EXPECT_TRUE(make_directories(program_.home() + "/hooks/helpers"));
  is_not_told(put("helpers/check", kScript));
}

TEST_F(HookFiles, WhatIsSwitchedOffIsNotToldInARun) {
  const std::string path = put("lint", kScript);
  program_.config("hooks:\n  disable: [lint]\n");
  EXPECT_FALSE(has(run().err, path)) << run().err;
  program_.config("hooks:\n  allow: [other]\n");
  EXPECT_FALSE(has(run().err, path)) << run().err;
  EXPECT_FALSE(has(program_
                       .run({"run", "x", "--no-hooks", "--no-save", "--script",
                             program_.script("- text: done\n")})
                       .err,
                   path));
}

// ---- programs that are executable, and cannot be asked

TEST_F(HookFiles, DoctorAsksProgramsAsARunDoes) {
  const std::string good = put("good", kScript, 0755);
  const auto told = [&](const std::string& path, const std::string& why) {
    const Finished ran = run();
    EXPECT_TRUE(has(ran.err, path) && has(ran.err, why)) << ran.err;
    const Finished said = program_.run({"doctor"});
    EXPECT_TRUE(has(said.out, "  warn    " + path.substr(path.rfind('/') + 1) + ": " + path))
        << said.out;
    EXPECT_TRUE(has(said.out, why)) << said.out;
    EXPECT_TRUE(has(said.out, "  ok      good: executable")) << said.out;
    const Finished judged = program_.run({"hooks", "validate", path});
    EXPECT_EQ(judged.code, 1) << judged.out;
    EXPECT_TRUE(has(judged.out, why)) << judged.out;
    ::unlink(path.c_str());
  };
  told(put("orphan", "#!/no/such/interpreter\n", 0755),
       "names the interpreter /no/such/interpreter, which does not exist");
  told(put("denied", "#!/etc/passwd\n", 0755), "/etc/passwd, which may not be executed");
  told(put("windows", "#!/bin/sh\r\necho agent_stop\r\n", 0755), "ends in a carriage return");
  told(put("env", "#!/usr/bin/env no-such-program\n", 0755), "exited with code 127");
  told(put("foreign", read_file("/bin/true", 1u << 20)->substr(0, 4096), 0755), "foreign");
  told(put("noise", "#!/bin/sh\necho hello\n", 0755), "'hello', which is no event");
  told(put("silent", "#!/bin/sh\nexit 3\n", 0755), "exited with code 3");
}

TEST_F(HookFiles, AnInterpreterThatIsGoneIsSeenBeforeTheEvent) {
  const std::string shell = program_.directory().file("sh");
  ASSERT_EQ(::symlink("/bin/sh", shell.c_str()), 0);
  const std::string path =
      put("late", "#!" + shell + "\n[ \"$1\" = hook ] && echo agent_stop\nexit 0\n", 0755);
  EXPECT_FALSE(has(run().err, "does not run"));
  EXPECT_TRUE(listed(path).starts_with("on: ")) << listed(path);
  // The bytes and their events are known; only what runs them is gone.
  ::unlink(shell.c_str());
  EXPECT_TRUE(has(run().err, path + " does not run: ")) << run().err;
  EXPECT_TRUE(has(listed(path), "broken: " + path + " does not run: ")) << listed(path);
  EXPECT_TRUE(has(program_.run({"doctor"}).out, "  warn    late: " + path + " does not run: "));
}

TEST_F(HookFiles, AGuardThatCannotBeAskedIsBrokenAndBlocks) {
  put("gate", "#!/bin/sh\nexit 3\n", 0755);
  program_.config("hooks:\n  gate: {on_failure: closed}\n");
  const Finished said = program_.run({"doctor"});
  EXPECT_EQ(said.code, 1);
  EXPECT_TRUE(has(said.out, "  BROKEN  guard gate: ")) << said.out;
  EXPECT_TRUE(has(said.out, "until it runs, it blocks every tool call")) << said.out;
}

TEST_F(HookFiles, DoctorRunsNothingThatARunWouldNot) {
  const std::string mark = program_.directory().file("ran");
  const std::string script = "#!/bin/sh\ntouch " + mark + "\necho agent_stop\n";
  ASSERT_TRUE(make_directories(program_.project() + "/.agent/hooks"));
  program_.file(".agent/hooks/theirs", script);
  ::chmod((program_.project() + "/.agent/hooks/theirs").c_str(), 0755);
  put("off", script, 0755);
  program_.config("hooks:\n  off: {enabled: false}\n");
  program_.run({"doctor"});
  EXPECT_NE(::access(mark.c_str(), F_OK), 0);
  program_.config("");
  program_.run({"doctor"});
  EXPECT_EQ(::access(mark.c_str(), F_OK), 0) << "and the test sees it when one is run";
}

// The user has named the file, and trusts in what it forbids.
TEST_F(HookFiles, AdaptedSettingsThatMayNotBeReadStopTheRun) {
  const std::string path = program_.directory().file("settings.json");
  program_.config("hooks: {adapt: ['claude:" + path + "']}\n");
  const auto write = [&](mode_t mode) {
    ::unlink(path.c_str());
    EXPECT_TRUE(write_file_atomically(
        path,
        "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"exit 0\"}]}]}}",
        0600));
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
  };
  write(0600);
  EXPECT_EQ(run().code, 0) << run().err;
  write(0666);
  EXPECT_EQ(run().code, 2) << run().err;
  EXPECT_TRUE(has(run().err, path)) << run().err;
  write(0600);
  EXPECT_EQ(::rename(path.c_str(), (path + ".real").c_str()), 0);
  EXPECT_EQ(::symlink((path + ".real").c_str(), path.c_str()), 0);
  EXPECT_EQ(run().code, 2) << run().err;
  EXPECT_TRUE(has(run().err, path)) << run().err;
}

TEST_F(HookFiles, AConfigurationThatIsALinkToNothingStopsTheRun) {
  EXPECT_EQ(run().code, 0);
  const std::string path = program_.home() + "/config.yaml";
  ::unlink(path.c_str());
  EXPECT_EQ(::symlink("/nowhere/config.yaml", path.c_str()), 0);
  const Finished ran = run();
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_TRUE(has(ran.err, path + " is a link to something that is not there")) << ran.err;
}

// ---- guards by the configuration

class NamedGuards : public HookFiles {
 protected:
  static constexpr const char* kGate =
      "#!/bin/sh\ncase $1 in hook) echo before_tool_call;; run) echo '{}';; esac\n";

  // Whether a tool call of the model runs, and what is said.
  bool call_runs() {
    const std::string mark = program_.directory().file("ran");
    ::unlink(mark.c_str());
    ran_ = program_.run({"run", "x", "--no-save", "--allow", "bash", "--script",
                         program_.script("- calls:\n  - {name: bash, input: {command: \"touch " +
                                         mark + "\"}}\n- text: done\n")});
    return ::access(mark.c_str(), F_OK) == 0;
  }

  Finished ran_;
};

TEST_F(NamedGuards, WhoseFileDoesNotRunBlock) {
  for (const char* const config : {"hooks: {gate: {on_failure: closed}}\n",
                                   "hooks: {guards: [gate]}\n"}) {
    program_.config(config);
    const std::string good = put("gate", kGate, 0755);
    EXPECT_TRUE(call_runs()) << ran_.err;  // it is asked, and agrees
    ::chmod(good.c_str(), 0600);
    EXPECT_FALSE(call_runs()) << config << ran_.err;
    EXPECT_TRUE(has(ran_.err, "the guard 'gate' blocks what it guards")) << ran_.err;
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
       {"disable: [gate]", "disable: ['g*']", "allow: [other]", "gate: {enabled: false}",
        "gate: {shadow: true}"}) {
    program_.config("hooks: {guards: [gate], " + std::string(off) + "}\n");
    EXPECT_FALSE(call_runs()) << off << ran_.err;
    EXPECT_TRUE(has(ran_.err, "the guard 'gate' blocks what it guards: hooks.guards names it, and "))
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
    for (const char* const yaml :
         {"on: [before_tool_call, agent_stop]\ncommand: exit 1\n",
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
  for (const char* const yaml : {"on: before_tool_call\nshadow: true\ndo: block\n",
                                 "on: before_tool_call\nasync: true\ncommand: exit 1\n",
                                 "on: before_tool_call\nobserve: true\ncommand: exit 1\n",
                                 "on: notification\ncommand: exit 1\n"})
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
    EXPECT_TRUE(has(ran_.err, "no hook is named '" + std::string(name) + "'")) << ran_.err;
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
    EXPECT_TRUE(has(ran_.err, "the hook gate runs, and whether its file changes is not watched: ")) << ran_.err;
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
    EXPECT_TRUE(has(ran_.err, " never comes there; what comes is ")) << yaml << ran_.err;
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
    EXPECT_TRUE(has(ran_.err, "which is no event: did you mean 'before_tool_call'?")) << event << ran_.err;
  }
}

TEST_F(NamedGuards, OfAFileHoldForItsHooksByTheirOwnNames) {
  put("x.yaml",
      "hooks:\n- {name: a, on: before_tool_call, do: block}\n- {name: b, on: user_message_send, command: 'true'}\n");
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
  const Finished ran = program_.run(
      {"run", "x", "--no-save", "--allow", "write_file", "--script",
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
  EXPECT_TRUE(has(ran_.err, "/private must be a directory and no link")) << ran_.err;
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
      ASSERT_TRUE(write_file_atomically(hooks + "/p.yaml",
                                        "on: before_tool_call\n" + std::string(mistake) +
                                            (guards ? "guard: true\n" : "") + "do: block\n", 0644));
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
  EXPECT_TRUE(has(ran_.err, "hooks.guardrail is configured and not switched on")) << ran_.err;
  program_.config("hooks: {guardrail: {on_failure: closed}}\n");
  EXPECT_FALSE(call_runs()) << ran_.err;
  EXPECT_EQ(ran_.code, 2) << ran_.err;
  program_.config("hooks: {guardrail: {enabled: true, " + rules + "}}\n");
  EXPECT_FALSE(call_runs()) << ran_.err;
  EXPECT_EQ(ran_.code, 0) << ran_.err;
  program_.config("hooks: {guardrail: {enabled: false, " + rules + "}}\n");
  EXPECT_TRUE(call_runs()) << ran_.err;
}

}  // namespace
}  // namespace agentd::testing
