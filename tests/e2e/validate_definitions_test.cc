// SPDX-License-Identifier: Apache-2.0
// validate_definitions_test.cc - `agentd hooks validate` of hooks that are no modules: it says what
// the file is, and finds what the loader would.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

class ValidateDefinitions : public ::testing::Test {
 protected:
  Finished validate(const std::string& path, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"hooks", "validate", path};
    words.insert(words.end(), more.begin(), more.end());
    return program_.run(words);
  }
  std::string file(const std::string& name, const std::string& text, mode_t mode = 0644) const {
    const std::string path = program_.file(name, text);
    ::chmod(path.c_str(), mode);
    return path;
  }
  // One sentence, and the exit code of a failure.
  void fails(const std::string& path, const std::string& sentence, const std::string& kind) {
    const Finished ran = validate(path);
    EXPECT_EQ(ran.code, 1) << ran.out << ran.err;
    EXPECT_NE(ran.out.find("  FAIL    "), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find(sentence), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find(path + ": " + kind + ", "), std::string::npos) << ran.out;
    EXPECT_EQ(ran.out.find("library"), std::string::npos) << ran.out;
    bool told = false;
    for (const JsonDocument& line : json_lines(validate(path, {"--json"}).out))
      told = told || (line.root()["result"].string_or("") == "fail" &&
                      line.root()["text"].string_or("").find(sentence) != std::string::npos);
    EXPECT_TRUE(told) << sentence;
  }

  Program program_;
};

TEST_F(ValidateDefinitions, AYamlHookIsCheckedAsItIsLoaded) {
  const std::string good =
      file("careful.yaml", "on: [before_tool_call, agent_stop]\nmatcher: bash\ncommand: ./check.sh\nguard: true\n");
  const Finished ran = validate(good);
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("  ok      careful.before_tool_call, before_tool_call: /bin/sh -c ./check.sh\n"),
            std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("  ok      careful.agent_stop, agent_stop: "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find(good + ": YAML hook, 2 ok, 0 warnings, 0 failures\n"), std::string::npos) << ran.out;
  const auto lines = json_lines(validate(good, {"--json"}).out);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].root()["kind"].string_or(""), "YAML hook");
  EXPECT_EQ(lines[0].root()["hook"].string_or(""), "careful.before_tool_call");
  EXPECT_EQ(lines[0].root()["event"].string_or(""), "before_tool_call");
  EXPECT_EQ(lines[0].root()["result"].string_or(""), "ok");
}

TEST_F(ValidateDefinitions, WhatWouldStopARunFails) {
  const std::string block = "do: {action: block, reason: no}\n";
  fails(file("x.yaml", "on: before_tol_call\n" + block),
        "x.yaml:1:5: unknown event 'before_tol_call': did you mean 'before_tool_call'?", "YAML hook");
  fails(file("x.yml", "on: before_tool_call\nwhen: tol.name == 1\n" + block),
        "x.yml:2:7: before_tool_call has no 'tol': did you mean 'tool'?", "YAML hook");
  fails(file("x.yaml", "on: before_tool_call\nmatcher: bsah\n" + block),
        "no tool is named 'bsah': did you mean 'bash'?", "YAML hook");
  fails(file("x.yaml", "on: before_tool_call\nmatcher: bash\nwhen: tool.input.comand contains \"t\"\n" + block),
        "bash has no 'comand' in its input: did you mean 'command'?", "YAML hook");
  fails(file("x.yaml", "a: [b\n"), "x.yaml:", "YAML hook");
  fails(file("x.yaml", ""), "x.yaml", "YAML hook");
}

TEST_F(ValidateDefinitions, AGuardOfWhatCannotBeGuardedFails) {
  const std::string sentence = ", so a guard has no effect there; events that can be guarded: user_message_send, ";
  for (const std::string event : {"session_start", "session_end", "agent_stop", "turn_end", "[turn_end, turn_start]"})
    for (const std::string how : {"guard: true", "on_failure: closed"}) {
      const std::string at = event.substr(event[0] == '[' ? 1 : 0, event.find(',') - (event[0] == '[' ? 1 : 0));
      fails(file("g.yaml", "on: " + event + "\ncommand: exit 1\n" + how + "\n"),
            "g.yaml:3:1: nothing can be blocked or withheld at " + at + sentence, "YAML hook");
    }
  // The same sentence stops a run.
  const std::string hook = program_.home() + "/hooks/g.yaml";
  ASSERT_TRUE(make_directories(program_.home() + "/hooks"));
  ASSERT_TRUE(write_file_atomically(hook, "on: session_end\ncommand: exit 1\nguard: true\n", 0600));
  const Finished ran = program_.run({"run", "x", "--no-save", "--script", program_.script("- text: done\n")});
  EXPECT_EQ(ran.code, 2) << ran.out << ran.err;
  EXPECT_NE(ran.err.find("g.yaml:3:1: nothing can be blocked or withheld at session_end"), std::string::npos)
      << ran.err;
  // Every event that the sentence names takes one.
  const std::string names = ran.err.substr(ran.err.find("guarded: ") + 9);
  std::size_t begin = 0, count = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + 2, ++count) {
    end = names.find(", ", begin);
    const std::string name = names.substr(begin, std::min(end, names.find_first_of(" \n", begin)) - begin);
    EXPECT_EQ(validate(file("g.yaml", "on: " + name + "\ncommand: exit 1\nguard: true\n")).code, 0) << name;
    EXPECT_EQ(validate(file("g.yaml", "on: [session_end, " + name + "]\ncommand: exit 1\nguard: true\n")).code, 0)
        << name;
  }
  EXPECT_GE(count, 8u) << names;
}

TEST_F(ValidateDefinitions, WhatARunWarnsOfIsAWarning) {
  const Finished ran = validate(file("x.yaml", "on: before_tool_call\nmatcher: jira_close\ndo: {permission: deny}\n"));
  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_NE(ran.out.find("  warn    "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("no available tool is named 'jira_close'"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("1 ok, 1 warning, 0 failures"), std::string::npos) << ran.out;
}

TEST_F(ValidateDefinitions, ARecipeIsReadWithItsHandlers) {
  const std::string good =
      file("tidy.md", "---\nname: tidy\ndescription: d\nhooks:\n  turn_end: {handler: swap_context}\n---\nGo.\n");
  const Finished ran = validate(good);
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("  ok      tidy, turn_end: swap_context\n"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find(good + ": recipe, "), std::string::npos) << ran.out;
  const Finished plain = validate(file("plain.md", "---\nname: plain\ndescription: d\n---\nGo.\n"));
  EXPECT_EQ(plain.code, 0) << plain.out;
  EXPECT_NE(plain.out.find("  ok      plain: no handlers\n"), std::string::npos) << plain.out;
  const Finished other = validate(file("weekly.md", "---\nname: weekly-report\ndescription: d\n---\nGo.\n"));
  EXPECT_TRUE(has(other.out, "  ok      weekly: no handlers\n")) << other.out;
  EXPECT_TRUE(has(validate(file("bare.md", "Go.\n")).out, "  ok      bare: no handlers\n"));
  fails(file("bad.md", "---\nname: bad\ndescription: d\nhooks:\n  turn_end: {handler: swap}\n---\nGo.\n"),
        "bad.md:5:14: ", "recipe");
}

TEST_F(ValidateDefinitions, AnExecutableIsAskedWhichEventsItWants) {
  const std::string good = file("audit", "#!/bin/sh\n[ \"$1\" = hook ] && echo before_tool_call || touch ran\n", 0755);
  const Finished ran = validate(good);
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("  ok      audit, before_tool_call: " + good + " run\n"), std::string::npos) << ran.out;
  EXPECT_FALSE(read_file(program_.project() + "/ran", 10)) << "it was asked about an event";
  fails(file("silent", "#!/bin/sh\nexit 3\n", 0755), "exited with code 3", "executable hook");
  fails(file("other", "#!/bin/sh\necho before_tol_call\n", 0755), "before_tol_call", "executable hook");
}

TEST_F(ValidateDefinitions, AFileThatNoDirectoryTakesForAHookIsToldWhatItLacks) {
  const std::string script = file("check.sh", "#!/bin/sh\necho agent_stop\n");
  fails(script, script + " does not run: it begins with #! and is not executable: chmod +x " + script, "no hook");
  fails(file("notes.txt", "text\n"), "or end in .so, .dll, .yaml or .yml", "no hook");
}

TEST_F(ValidateDefinitions, WhatARunWouldNotTakeFailsWithTheSentenceOfTheRun) {
  const std::string yaml = "on: agent_stop\ndo: {system_message: hello}\n";
  const std::string script = "#!/bin/sh\necho agent_stop\n";
  for (const std::string& place : {program_.project(), program_.home() + "/hooks"}) {
    ASSERT_TRUE(make_directories(place));
    ::chmod(program_.home().c_str(), 0700);
    const auto put = [&](const std::string& name, const std::string& text, mode_t mode) {
      EXPECT_TRUE(write_file_atomically(place + "/" + name, text, 0600));
      ::chmod((place + "/" + name).c_str(), mode);
      return place + "/" + name;
    };
    fails(put(".hidden.yaml", yaml, 0644), "names that begin with '.' are skipped", "YAML hook");
    fails(put(".hidden", script, 0755), "names that begin with '.' are skipped", "no hook");
    fails(put("x.yaml.disable", yaml, 0644), ".disable at the end of its name switches it off", "no hook");
    fails(put("w.yaml", yaml, 0666), "w.yaml is world-writable, ignored: chmod go-w ", "YAML hook");
    fails(put("g.yaml", yaml, 0664), "g.yaml is group-writable, ignored: chmod go-w ", "YAML hook");
    fails(put("w", script, 0777), "w is world-writable, ignored: chmod go-w ", "no hook");
    const std::string real = file("real", script, 0755);
    EXPECT_EQ(::symlink(real.c_str(), (place + "/link").c_str()), 0);
    fails(place + "/link", "is a symbolic link, ignored", "no hook");
    for (const char* const name : {"w.yaml", "g.yaml", "w", "link", ".hidden.yaml", ".hidden"})
      ::unlink((place + "/" + name).c_str());
  }
  // In a hooks directory what lies beside it counts as well, and the directory.
  const std::string hooks = program_.home() + "/hooks";
  EXPECT_TRUE(write_file_atomically(hooks + "/a.yaml", yaml, 0644));
  EXPECT_TRUE(write_file_atomically(hooks + "/a.yml", yaml, 0644));
  EXPECT_EQ(validate(hooks + "/a.yaml").code, 0);
  fails(hooks + "/a.yml", "has the same name 'a': rename one of the two", "YAML hook");
  ::unlink((hooks + "/a.yml").c_str());
  ::chmod(hooks.c_str(), 0777);
  fails(hooks + "/a.yaml", "/hooks is world-writable, ignored", "YAML hook");
}

TEST_F(ValidateDefinitions, SettingsOfAnotherToolAreReadAsTheyWouldBeAdapted) {
  const std::string good = file("settings.json",
                                "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{\"type\": "
                                "\"command\", \"command\": \"exit 0\"}]}]}}");
  const Finished ran = validate(good);
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("before_tool_call: "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("settings of claude, 1 ok"), std::string::npos) << ran.out;
  // The shell that a run takes.
  const std::string shown = program_.directory().file("shown");
  const std::string tells = file("settings.json",
                                 "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": "
                                 "\"tr '\\\\0' ' ' < /proc/$$/cmdline > " +
                                     shown + "; true\"}]}]}}");
  program_.config("hooks:\n  adapt: [\"claude:" + tells + "\"]\n");
  program_.run({"hooks", "trust", tells, "--yes"});
  EXPECT_EQ(program_.run({"run", "x", "--no-save", "--script", program_.script("- text: done\n")}).code, 0);
  const auto used = read_file(shown, 1000);
  ASSERT_TRUE(used) << used.error().message;
  const std::string shell = used->substr(0, used->find(' '));
  EXPECT_TRUE(shell.ends_with("/bash")) << *used;
  const std::string judged = validate(tells).out;
  EXPECT_NE(judged.find(": " + shell + " -c tr "), std::string::npos) << judged << *used;
  fails(file("settings.json", "{\"hooks\": "), "settings.json", "settings of another tool");
}

TEST_F(ValidateDefinitions, AnExecutableOfAProjectThatWaitsForTrustIsNotRun) {
  ASSERT_TRUE(make_directories(program_.project() + "/.agent/hooks"));
  const std::string path = file(".agent/hooks/evil", "#!/bin/sh\ntouch \"$0.ran\"; touch ran; echo agent_stop\n", 0755);
  const Finished ran = validate(path);
  EXPECT_EQ(ran.code, 3) << ran.out << ran.err;
  EXPECT_NE(ran.err.find(path + " does not run, since you have not trusted it yet"), std::string::npos) << ran.err;
  EXPECT_FALSE(read_file(program_.project() + "/ran", 10));
}

TEST_F(ValidateDefinitions, OptionsOfModulesAreRefused) {
  const std::string good = file("x.yaml", "on: agent_stop\ndo: none\n");
  for (const std::vector<std::string>& option : {std::vector<std::string>{"--rule", "A101"},
                                                 {"--isolation", "process"},
                                                 {"--config", "{}"},
                                                 {"--timeout", "5"}}) {
    const Finished ran = validate(good, option);
    EXPECT_EQ(ran.code, 2) << option[0];
    EXPECT_NE(ran.err.find(option[0] + " is only for native hooks; " + good + " is not one: YAML hook"),
              std::string::npos)
        << ran.err;
  }
}

}  // namespace
}  // namespace agentd::testing
