// SPDX-License-Identifier: Apache-2.0
// sandbox_settings_test.cc - settings of the sandbox that can't be meant so are told before anything runs.
#include <gtest/gtest.h>

#include <cstdlib>

#include <fstream>

#include "core/base/file.h"
#include "core/cage/layers.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

class SandboxSettings : public ::testing::Test {
 protected:
  Finished run(const std::string& settings) {
    program_.config("sandbox: {" + settings + "}\n");
    return program_.run({"run", "x", "--script", program_.script("- text: done\n")});
  }

  Program program_;
  std::string said_;
};

TEST_F(SandboxSettings, AreRefusedBeforeTheRunIfTheyCannotBeMeantSo) {
  for (const auto& [settings, text] : std::vector<std::pair<std::string, std::string>>{
           {"network: [all, example.org]", "'all' means every host and stands alone"},
           {"network: [\"https://example.org/x\"]", "sandbox.network: 'https://example.org/x' is no host"},
           {"writable: [build]", "sandbox.writable: build is not an absolute path"},
           {"readable: [\"/\"]", "sandbox.readable: / is the whole file system"}}) {
    const Finished refused = run(settings);
    EXPECT_EQ(refused.code, 2) << settings;
    EXPECT_TRUE(has(refused.err, text)) << settings << ": " << refused.err;
    EXPECT_EQ(refused.out, "") << settings;
  }
}

TEST_F(SandboxSettings, HoldForNothingWhereTheSandboxIsOff) {
  const Finished ran = run("layer: 'off', network: [all, example.org], writable: [build]");
  EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST_F(SandboxSettings, ThatNameNoDirectoryAreAWarning) {
  const std::string missing = program_.project() + "/not-yet";
  const std::string warning = "sandbox.writable: " + missing + " does not exist: create it, or omit it";
  const Finished warned = run("writable: [\"" + missing + "\"]");
  EXPECT_EQ(warned.code, 0) << warned.err;
  EXPECT_TRUE(has(warned.err, warning)) << warned.err;
  EXPECT_EQ(warned.err.find(warning), warned.err.rfind(warning)) << "told once: " << warned.err;
  EXPECT_TRUE(has(program_.run({"doctor"}).out, "commands are not run: " + warning));
  EXPECT_TRUE(make_directories(missing));
  EXPECT_FALSE(has(run("writable: [\"" + missing + "\"]").err, "warning")) << "it is there";
}

TEST_F(SandboxSettings, DoctorTriesWhatACommandWouldGet) {
  if (!cage::probe(AGENTD_CAGE).landlock.holds) GTEST_SKIP() << cage::probe(AGENTD_CAGE).landlock.why;
  program_.config("sandbox: {layer: landlock}\n");
  EXPECT_TRUE(make_directories(program_.directory().path() + "/.gem"));
  std::ofstream(program_.directory().path() + "/.gem/credentials") << "key\n";
  EXPECT_FALSE(has(program_.run({"doctor"}).out, "commands are not run"));
  EXPECT_EQ(program_.run({"sandbox", "run", "--", "true"}).code, 0);
  program_.config("sandbox: {layer: landlock, readable: [\"~\"]}\n");
  EXPECT_TRUE(has(program_.run({"doctor"}).out, "BROKEN  commands are not run: sandbox.readable contains "));
  EXPECT_EQ(program_.run({"sandbox", "run", "--", "true"}).code, 125);
}

TEST_F(SandboxSettings, DoctorWarnsOfAHomeAsTheWorkspace) {
  const std::string warning = "contains your home, where commands can read and change all but the known places of keys";
  EXPECT_FALSE(has(program_.run({"doctor"}).out, warning));
  program_.config("workspace: {roots: [\"" + program_.directory().path() + "\"]}\n");
  EXPECT_TRUE(has(program_.run({"doctor"}).out, warning));
}

TEST_F(SandboxSettings, LocalSocketsAreThereIfTheyAreAllowed) {
  const auto talks = [&](const std::string& settings) {
    program_.config("sandbox: {layer: bubblewrap, " + settings + "}\n");
    return program_.run({"sandbox", "run", "--", "python3", "-c",
                         "import socket; socket.socket(socket.AF_UNIX).bind('s'); print('bound')"});
  };
  if (!cage::probe(AGENTD_CAGE).bubblewrap.holds) GTEST_SKIP() << cage::probe(AGENTD_CAGE).bubblewrap.why;
  const Finished allowed = talks("local_sockets: true");
  EXPECT_EQ(allowed.out, "bound\n") << allowed.err;
  EXPECT_TRUE(has(program_.run({"doctor"}).out, "commands may use local sockets"));
  const Finished refused = talks("network: []");
  EXPECT_TRUE(has(refused.out, "PermissionError")) << refused.out;
  EXPECT_TRUE(has(refused.err, "'sandbox.local_sockets: true' in your settings would allow them")) << refused.err;
}

// A command cannot change them either.
TEST_F(SandboxSettings, FileToolsKeepTheHooksThatGitIsSetTo) {
  const std::string script =
      "- calls:\n  - {name: write_file, input: {path: .husky/pre-commit, content: x}}\n- text: done\n";
  const auto written = [&] {
    EXPECT_EQ(program_.run({"run", "x", "--allow", "write_file", "--script", program_.script(script)}).code, 0);
    return exists(program_.project() + "/.husky/pre-commit");
  };
  EXPECT_TRUE(make_directories(program_.project() + "/.git/objects"));
  EXPECT_TRUE(make_directories(program_.project() + "/.git/refs"));
  program_.file(".git/HEAD", "ref: refs/heads/main\n");
  for (const char* const named : {".husky", ".husky/_"}) {
    program_.file(".git/config", std::string("[core]\n\thooksPath = ") + named + "\n");
    EXPECT_FALSE(written()) << named;
  }
  program_.file(".git/config", "[core]\n\tbare = false\n");
  EXPECT_TRUE(written()) << "they are files like any other";
}

// Also in a worktree that a command of the same run has made.
TEST_F(SandboxSettings, FileToolsKeepTheHooksOfANewWorktree) {
  const std::string git = "git -c user.name=A -c user.email=a@example.org ";
  ASSERT_EQ(std::system(("cd " + program_.project() +
                         " && git init -q && mkdir .githooks && echo true > "
                         ".githooks/pre-commit && " +
                         git + "add . && " + git + "commit -qm a && git config core.hooksPath .githooks")
                            .c_str()),
            0);
  const std::string script =
      "- calls: [{name: bash, input: {command: git worktree add -q nw}}]\n- calls:\n  - {name: write_file, input: "
      "{path: nw/.githooks/pre-commit, content: evil}}\n  - {name: write_file, input: {path: nw/other, content: "
      "fine}}\n- text: done\n";
  const std::vector<std::string> allowed{"--allow", "write_file", "--allow", "bash"};
  std::vector<std::string> words{"run", "x", "--script", program_.script(script)};
  words.insert(words.end(), allowed.begin(), allowed.end());
  EXPECT_EQ(program_.run(words).code, 0);
  EXPECT_TRUE(exists(program_.project() + "/nw/other"));
  EXPECT_EQ(read_file(program_.project() + "/nw/.githooks/pre-commit", 100).value_or(""), "true\n");
}

TEST_F(SandboxSettings, TheModeForEditsAsksAboutGuardedPaths) {
  program_.config("permissions: {mode: accept_edits}\n");
  const auto written = [&](const std::string& path) {
    EXPECT_EQ(program_
                  .run({"run", "x", "--script",
                        program_.script("- calls:\n  - {name: write_file, input: {path: " + path +
                                        ", content: x}}\n- text: done\n")})
                  .code,
              0);
    return exists(program_.project() + "/" + path);
  };
  for (const char* const path : {".mcp.json", ".vscode/tasks.json", ".claude/settings.json", ".envrc"})
    EXPECT_FALSE(written(path)) << path;
  EXPECT_TRUE(written("src/mcp.json"));
}

// Nor does a mode or a rule that allows everything mean them.
TEST_F(SandboxSettings, GuardedPathsAreWrittenOnlyByARuleThatNamesThem) {
  const auto written = [&](const std::string& path, const std::string& rule) {
    std::vector<std::string> words{
        "run", "x", "--json", "--script",
        program_.script("- calls:\n  - {name: write_file, input: {path: " + path + ", content: x}}\n- text: done\n")};
    if (!rule.empty()) words.insert(words.end(), {"--allow", rule});
    const Finished ran = program_.run(words);
    said_ = ran.out + ran.err;
    return exists(program_.project() + "/" + path);
  };
  for (const char* const path : {".mcp.json", ".vscode/tasks.json", ".claude/settings.json", ".envrc"}) {
    EXPECT_FALSE(written(path, "write_file")) << path;
    EXPECT_TRUE(has(said_, "--allow 'write_file(" + program_.project() + "/" + path + ")'")) << said_;
    program_.config("permissions: {mode: allow}\n");
    EXPECT_FALSE(written(path, "")) << path;
    program_.config("");
  }
  EXPECT_TRUE(written("src/mcp.json", "write_file")) << "the control";
  EXPECT_TRUE(written(".mcp.json", "write_file(.mcp.json)"));
  EXPECT_TRUE(written(".vscode/tasks.json", "write_file(.vscode/**)"));
}

}  // namespace
}  // namespace agentd::testing
