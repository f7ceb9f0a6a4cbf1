// SPDX-License-Identifier: Apache-2.0
// hook_files_test.cc - files of a hooks directory that look like hooks and do not run: every
// command that speaks of hooks says so, as a run does.
#include "tests/e2e/hook_files.h"

namespace agentd::testing {
namespace {

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
  const std::string path = put("settings.json",
                               "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": "
                               "\"exit 0\"}]}]}}",
                               0600);
  is_told(path, "agentd hooks import " + path);
  put("settings.json", "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"exit 0\"}]}]}}",
      0600);
  program_.config("hooks:\n  adapt: [\"claude:" + path + "\"]\n");
  EXPECT_TRUE(listed(path).starts_with("on: ")) << listed(path);
  const Finished ran = run();
  EXPECT_FALSE(has(ran.err, path + " does not run")) << ran.err;
  EXPECT_EQ(program_.run({"hooks", "validate", path}).code, 0);
}

TEST_F(HookFiles, NotesBackupsAndWhatHooksReadAreNoNoise) {
  for (const char* const name : {"README.md", "notes.txt", "words.json", "table.csv", "lib.py", "x.yaml.bak", "x.yaml~",
                                 "x.yaml.orig", ".x.yaml.swp", ".x.yaml", "x.yaml.disable", "x.so.1"})
    is_not_told(put(name, "words, and nothing more\n"));
  for (const char* const name : {"lint.bak", "lint~", "lint.orig", "lint.disable", ".lint", "#lint#"})
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
  EXPECT_FALSE(has(
      program_.run({"run", "x", "--no-hooks", "--no-save", "--script", program_.script("- text: done\n")}).err, path));
}

// ---- programs that are executable, and cannot be asked

TEST_F(HookFiles, DoctorAsksProgramsAsARunDoes) {
  const std::string good = put("good", kScript, 0755);
  const auto told = [&](const std::string& path, const std::string& why) {
    const Finished ran = run();
    EXPECT_TRUE(has(ran.err, path) && has(ran.err, why)) << ran.err;
    const Finished said = program_.run({"doctor"});
    EXPECT_TRUE(has(said.out, "  warn    " + path.substr(path.rfind('/') + 1) + ": " + path)) << said.out;
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
  told(put("noise", "#!/bin/sh\necho hello\n", 0755), "'hello', which is not an event");
  told(put("silent", "#!/bin/sh\nexit 3\n", 0755), "exited with code 3");
}

TEST_F(HookFiles, AnInterpreterThatIsGoneIsSeenBeforeTheEvent) {
  const std::string shell = program_.directory().file("sh");
  ASSERT_EQ(::symlink("/bin/sh", shell.c_str()), 0);
  const std::string path = put("late", "#!" + shell + "\n[ \"$1\" = hook ] && echo agent_stop\nexit 0\n", 0755);
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
        path, "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"exit 0\"}]}]}}", 0600));
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

// Each answers only when the other one has been asked.
TEST_F(HookFiles, ProgramsAreAskedForTheirEventsAtTheSameTime) {
  const std::string marks = program_.directory().file("mark.");
  for (const char* const name : {"one", "two"}) {
    const std::string other = name == std::string("one") ? "two" : "one";
    put(name,
        "#!/bin/sh\n[ $1 = hook ] || exit 0\n: > " + marks + name + "\nwhile [ ! -e " + marks + other +
            " ]; do sleep 0.02; done\necho agent_stop\n",
        0755);
  }
  const Finished ran = run();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(has(ran.err, "does not run") || has(ran.err, "is not a hook")) << ran.err;
}

TEST_F(HookFiles, AProgramThatHangsWhenItIsAskedForItsEventsIsSetAside) {
  const std::string asked = program_.directory().file("asked");
  const auto times = [&] { return read_file(asked, 1000).value_or("").size(); };
  const std::string script = "#!/bin/sh\nprintf x >> " + asked + "\n[ $1 = hook ] && sleep 600\nexit 0\n";
  const std::string path = put("hang", script, 0755);
  const Finished first = run();
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_TRUE(has(first.err, "it is quarantined: fix it, or run 'agentd hooks release hang'")) << first.err;
  EXPECT_EQ(times(), 1u);
  const Finished second = run();
  EXPECT_TRUE(has(second.err, path + " is quarantined since ")) << second.err;
  EXPECT_TRUE(has(second.err, "did not answer within 5 s when asked for its events")) << second.err;
  EXPECT_EQ(times(), 1u);
  EXPECT_TRUE(has(listed(path), "set aside: " + path + " is quarantined since ")) << listed(path);
  // A guard that is set aside blocks what the configuration says that it guards.
  program_.config("hooks: {guards: [hang]}\n");
  EXPECT_TRUE(has(run().err, "the guard 'hang' is unavailable, so its events are blocked: ")) << run().err;
  program_.config("");
  // Other bytes start afresh, and so do released ones.
  put("hang", "#!/bin/sh\nprintf x >> " + asked + "\n[ $1 = hook ] && echo agent_stop\nexit 0\n", 0755);
  EXPECT_FALSE(has(run().err, "quarantined"));
  EXPECT_EQ(times(), 3u);  // asked for its events, and at the stop
  program_.run({"hooks", "untrust", "hang"});
  put("hang", script, 0755);
  EXPECT_EQ(program_.run({"hooks", "release", "hang"}).code, 0);
  EXPECT_TRUE(has(run().err, "it is quarantined")) << "asked again";
  EXPECT_EQ(times(), 4u);
}

TEST_F(HookFiles, AConfigurationThatIsALinkToNothingStopsTheRun) {
  EXPECT_EQ(run().code, 0);
  const std::string path = program_.home() + "/config.yaml";
  ::unlink(path.c_str());
  EXPECT_EQ(::symlink("/nowhere/config.yaml", path.c_str()), 0);
  const Finished ran = run();
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_TRUE(has(ran.err, path + " is a dangling link")) << ran.err;
}

}  // namespace
}  // namespace agentd::testing
