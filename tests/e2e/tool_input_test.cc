// SPDX-License-Identifier: Apache-2.0
// What is judged is what runs: hooks of every kind, the tool, the log and --json see one input.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

namespace fs = std::filesystem;

// What a machine may lack. With CI set it must be there.
bool installed(const char* program) {
  const std::string command = "command -v " + std::string(program) + " >/dev/null 2>&1";
  if (std::system(command.c_str()) == 0) return true;
  if (std::getenv("CI") != nullptr) ADD_FAILURE() << program << " must be installed with CI set";
  std::cout << "not tried, since it is not installed: " << program << "\n";
  return false;
}

class ToolInputs : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(make_directories(program_.home() + "/hooks")); }
  void hook(const std::string& name, const std::string& text) const {
    const unsigned mode = text.starts_with("#!") ? 0755 : 0644;
    ASSERT_TRUE(write_file_atomically(program_.home() + "/hooks/" + name, text, mode));
  }
  // Claude Code's settings with one hook; `more` stands beside its "hooks".
  void claude(const std::string& event, const std::string& command, const std::string& more = "") {
    const std::string settings = program_.directory().write(
        "settings.json", "{" + more + "\"hooks\":{\"" + event +
                             "\":[{\"matcher\":\"*\",\"hooks\":[{\"type\":\"command\",\"command\":\"" + command +
                             "\"}]}]}}");
    program_.config("hooks: {adapt: [\"claude:" + settings + "\"]}\n");
  }
  Finished run(const std::string& script, std::vector<std::string> words = {}) {
    words.insert(words.begin(), {"run", "x", "--allow", "*", "--script", program_.script(script)});
    return program_.run(words);
  }
  std::string out_file(const std::string& name) const { return program_.directory().file(name); }
  std::string read_out(const std::string& name) const { return read_file(out_file(name), 1u << 20).value_or(""); }

  Program program_;
};

// A guard for each of the parsers that hooks are written with, each failing open.
TEST_F(ToolInputs, AnInputThatParsersReadDifferentlyRunsNothingAndAsksNobody) {
  const std::string asked = out_file("asked");
  hook("sh_guard", "#!/bin/sh\n[ \"$1\" = hook ] && echo before_tool_call && exit\ncat >> " + asked + "\n");
  hook("yaml_guard.yaml",
       "on: before_tool_call\nwhen: tool.input.command contains \"rm\"\ndo:\n"
       "  action: block\n  reason: no rm\n");
  const std::string record = out_file("requests");
  const Finished ran =
      run("- calls:\n"
          "  - {name: bash, raw_input: '{\"command\":\"touch 1\",\"command\":\"ls\"}'}\n"
          "  - {name: bash, raw_input: \"\\uFEFF{\\\"command\\\":\\\"touch 2\\\"}\"}\n"
          "  - {name: bash, raw_input: \"{\\\"command\\\":\\\"touch 3\\\"}\\0\"}\n"
          "  - {name: bash, raw_input: '{\"command\":\"touch 4 \\ud800\"}'}\n"
          "  - {name: bash, raw_input: '{\"command\":\"touch 5\",\"timeout_ms\":1e999}'}\n"
          "  - {name: bash, raw_input: '{\"command\": \"touch 6\"'}\n"
          "  - {name: bash, raw_input: 'touch 7'}\n"
          "- text: I see.\n"
          "  expect: {contains: [has the key, twice, byte order mark, surrogate, is not a JSON object]}\n",
          {"--set", "scripted.record=" + record, "--json"});
  EXPECT_EQ(ran.code, 0) << ran.err << ran.out;
  for (const char* const name : {"1", "2", "3", "4", "5", "6", "7"})
    EXPECT_FALSE(fs::exists(program_.project() + "/" + name)) << name;
  EXPECT_FALSE(fs::exists(asked)) << read_out("asked");
  // What agentd's tools say of their paths is not for the provider.
  EXPECT_FALSE(has(read_out("requests"), "\"format\""));
  EXPECT_TRUE(has(read_out("requests"), "read_file"));
  std::size_t invalid = 0;
  for (const JsonDocument& event : json_lines(ran.out)) invalid += event.root()["status"].string_or("") == "invalid";
  EXPECT_EQ(invalid, 7u) << ran.out;
  EXPECT_EQ(program_.run({"run", "--follow", "again", "--script", program_.script("- text: fine\n")}).code, 0);
}

TEST_F(ToolInputs, APictureThatAToolReadsReachesTheModelAsOne) {
  using namespace std::string_literals;
  program_.file("a.png", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x8\6\0\0\0crc4\0\0\0\4IDATdatacrc4"s);
  const Finished ran = run("- calls: [{name: read_file, input: {path: a.png}}]\n- text: seen\n",
                           {"--set", "scripted.record=" + out_file("requests")});
  EXPECT_EQ(ran.code, 0) << ran.err << ran.out;
  EXPECT_TRUE(has(read_out("requests"), R"("kind":"image","name":"image/png")")) << read_out("requests");
}

TEST_F(ToolInputs, NoTextOfAModelAToolOrAHookBecomesAnEventOfItsOwn) {
  hook("notes.yaml", "on: before_tool_call\ndo:\n  system_message: \"x\\n{\\\"type\\\":\\\"run_ended\\\"}\"\n");
  const Finished ran =
      run("- text: "
          "\"a\\n{\\\"type\\\":\\\"run_ended\\\"}\\n\\u2028{\\\"type\\\":\\\"run_ended\\\"}\\u0085\"\n"
          "  calls:\n"
          "  - name: bash\n"
          "    raw_input: \"{\\n\\\"command\\\":\\n{\\\"type\\\":\\\"run_ended\\\"}\\n,\\\"x\\\":1}\"\n"
          "  - name: bash\n"
          "    raw_input: \"{\\n\\\"command\\\":\\r\\n\\\"printf '\\\\\\\\n{\\\\\\\"type\\\\\\\":"
          "\\\\\\\"run_ended\\\\\\\"}\\\\\\\\n\\\\\\\\033[2J'\\\"\\n}\"\n"
          "- text: \"done\\r\\n{\\\"type\\\":\\\"run_ended\\\"}\"\n",
          {"--json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  std::size_t ends = 0, calls = 0;
  for (const JsonDocument& event : json_lines(ran.out)) {
    EXPECT_TRUE(event.root()["session_id"].exists()) << event.root().text();
    ends += event.root()["type"].string_or("") == "run_ended";
    calls += event.root()["type"].string_or("") == "tool_call";
  }
  EXPECT_EQ(ends, 1u) << ran.out;
  EXPECT_EQ(calls, 2u);
  for (const char* const end : {"\r", "\xE2\x80\xA8", "\xC2\x85", "\x1B"}) EXPECT_FALSE(has(ran.out, end)) << ran.out;
}

// The guard of the finding, word for word as Claude's users write it.
TEST_F(ToolInputs, AClaudeGuardOfAFolderCannotBePassedByAnotherSpelling) {
  const std::string guard = program_.directory().write("guard.sh",
                                                       "#!/bin/bash\np=$(jq -r .tool_input.file_path)\ncase \"$p\" in\n"
                                                       "  \"$CLAUDE_PROJECT_DIR\"/migrations/*) echo \"migrations are "
                                                       "done by hand\" >&2; exit 2;;\nesac\n");
  ASSERT_EQ(::chmod(guard.c_str(), 0755), 0);
  claude("PreToolUse", guard);
  ASSERT_TRUE(make_directories(program_.project() + "/src"));
  std::string calls;
  for (const std::string& path :
       {std::string("migrations/1.sql"), std::string("./migrations/2.sql"), std::string("src/../migrations/3.sql"),
        std::string("migrations//4.sql"), program_.project() + "/./migrations/5.sql",
        program_.project() + "/src/../migrations/6.sql"})
    calls += "  - {name: write_file, input: {path: '" + path + "', content: x}}\n";
  const Finished ran =
      run("- calls:\n" + calls + "  - {name: write_file, input: {path: src/ok.txt, content: x}}\n- text: done\n",
          {"--json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(fs::exists(program_.project() + "/migrations")) << ran.out;
  EXPECT_TRUE(fs::exists(program_.project() + "/src/ok.txt")) << ran.out;
  std::size_t denied = 0;
  for (const JsonDocument& event : json_lines(ran.out)) denied += event.root()["status"].string_or("") == "denied";
  EXPECT_EQ(denied, 6u) << ran.out;
}

TEST_F(ToolInputs, GatesOfAgentdsOwnKindsSeeThePlaceThatTheToolOpens) {
  hook("guard.yaml",
       "on: before_tool_call\nwhen: tool.input.path matches \"^migrations/\"\ndo:\n"
       "  action: block\n  reason: by hand\n");
  std::string calls;
  for (const std::string& path : {std::string("./migrations/1.sql"), std::string("a/../migrations/2.sql"),
                                  program_.project() + "/migrations/3.sql"})
    calls += "  - {name: write_file, input: {path: '" + path + "', content: x}}\n";
  const Finished ran = run("- calls:\n" + calls + "- text: done\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(fs::exists(program_.project() + "/migrations")) << ran.err;
}

TEST_F(ToolInputs, AGuardedFolderIsReachedByNoOtherNameOfTheWorkspace) {
  hook("guard.yaml",
       "on: before_tool_call\nwhen: tool.input.path matches \"^migrations(/|$)\"\ndo:\n"
       "  action: block\n  reason: by hand\n");
  ASSERT_TRUE(make_directories(program_.project() + "/migrations"));
  program_.file("migrations/old.sql", "the-secret\n");
  const std::string alias = program_.directory().file("alias");
  fs::create_directory_symlink(program_.project(), alias);
  const std::vector<std::string> names{
      "/proc/self/cwd",         "/proc/thread-self/cwd",       "/proc/self/root" + program_.project(),
      "/proc/self/task/../cwd", "/dev/fd/../../proc/self/cwd", alias,
      "/proc/self/root" + alias};
  std::string calls;
  for (const std::string& name : names)
    calls += "  - {name: read_file, input: {path: '" + name + "/migrations/old.sql'}}\n" +
             "  - {name: write_file, input: {path: '" + name + "/migrations/new.sql', content: x}}\n" +
             "  - {name: edit_file, input: {path: '" + name +
             "/migrations/old.sql', old_string: the, new_string: no}}\n" + "  - {name: grep, input: {path: '" + name +
             "/migrations', pattern: secret}}\n" + "  - {name: glob, input: {path: '" + name +
             "/migrations', pattern: '*'}}\n";
  const Finished ran = run("- calls:\n" + calls + "  - {name: write_file, input: {path: '" + alias +
                               "/src/ok.txt', content: x}}\n- text: done\n",
                           {"--json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(fs::exists(program_.project() + "/migrations/new.sql"));
  EXPECT_EQ(read_file(program_.project() + "/migrations/old.sql", 100).value(), "the-secret\n");
  EXPECT_EQ(ran.out.find("the-secret"), std::string::npos) << ran.out;
  EXPECT_TRUE(fs::exists(program_.project() + "/src/ok.txt")) << "another name is no crime: " << ran.out;
  std::size_t denied = 0;
  for (const JsonDocument& event : json_lines(ran.out)) {
    denied += event.root()["status"].string_or("") == "denied";
    const std::string_view path = event.root()["input"]["path"].string_or("");
    EXPECT_TRUE(path.empty() || path.starts_with("migrations") || path == "src/ok.txt") << path;
  }
  EXPECT_EQ(denied, names.size() * 5) << ran.out;
}

TEST_F(ToolInputs, AClaudeHookSeesAbsolutePathsAndItsUpdatedInputIsWhatRuns) {
  const std::string rewrite = program_.directory().write(
      "rewrite.sh", "#!/bin/bash\ntee -a " + out_file("seen") +
                        " | jq -c '{hookSpecificOutput:{hookEventName:\"PreToolUse\",updatedInput:"
                        "(.tool_input | if .file_path then .file_path |= sub(\"a.txt$\";\"b.txt\") "
                        "else . end)}}'\n");
  ASSERT_EQ(::chmod(rewrite.c_str(), 0755), 0);
  claude("PreToolUse", rewrite);
  const Finished ran =
      run("- calls:\n"
          "  - {name: write_file, input: {path: './d//../a.txt', content: x}}\n"
          "  - {name: glob, input: {pattern: '*.txt', path: './'}}\n"
          "  - {name: grep, input: {pattern: x, path: 'b.txt'}}\n"
          "- text: done\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(fs::exists(program_.project() + "/b.txt")) << ran.err;
  EXPECT_FALSE(fs::exists(program_.project() + "/a.txt"));
  const std::string seen = read_out("seen");
  EXPECT_TRUE(has(seen, "\"file_path\":\"" + program_.project() + "/a.txt\"")) << seen;
  EXPECT_TRUE(has(seen, "\"path\":\"" + program_.project() + "\"")) << seen;
  EXPECT_TRUE(has(seen, "\"path\":\"" + program_.project() + "/b.txt\"")) << seen;
}

TEST_F(ToolInputs, AClaudeHookFindsTheEnvironmentThatItsScriptsLookFor) {
  const std::string dump = program_.directory().write("dump.sh", "#!/bin/sh\nenv > " + out_file("env") + "\n");
  ASSERT_EQ(::chmod(dump.c_str(), 0755), 0);
  claude("PreToolUse", dump,
         "\"env\":{\"TEAM\":\"blue\",\"LD_PRELOAD\":\"/"
         "x.so\",\"LEVEL\":3,\"CLAUDE_PROJECT_DIR\":\"/x\"},");
  program_.set("PASSED_ON=yes");
  program_.set("NOT_PASSED=1");
  const Finished ran = run("- calls: [{name: bash, input: {command: 'true'}}]\n- text: done\n",
                           {"--set", "hooks.pass_environment=PASSED_ON"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const std::string got = "\n" + read_out("env");
  for (const std::string& line :
       {std::string("CLAUDECODE=1"), std::string("CLAUDE_CODE_ENTRYPOINT=cli"), std::string("TEAM=blue"),
        std::string("LEVEL=3"), std::string("PASSED_ON=yes"), "CLAUDE_PROJECT_DIR=" + program_.project()})
    EXPECT_TRUE(has(got, "\n" + line + "\n")) << line << got;
  EXPECT_TRUE(has(got, "\nCLAUDE_CODE_SESSION_ID=")) << got;
  EXPECT_FALSE(has(got, "LD_PRELOAD")) << got;
  EXPECT_FALSE(has(got, "NOT_PASSED")) << got;
  EXPECT_TRUE(has(ran.err, "'LD_PRELOAD' of 'env' is not given to the hooks")) << ran.err;
}

TEST_F(ToolInputs, HooksInNodeLoadAndBlockWhateverTheirEnding) {
  if (!installed("node")) return;
  const std::string cjs =
      "#!/usr/bin/env node\nconst fs = require('fs');\n"
      "if (process.argv[2] === 'hook') { console.log('before_tool_call'); process.exit(0); }\n"
      "const p = JSON.parse(fs.readFileSync(0, 'utf8'));\n"
      "if (p.tool.input.command.includes('NAME'))\n"
      "  console.log(JSON.stringify({action: 'block', reason: 'no NAME'}));\n";
  const std::string esm = "#!/usr/bin/env node\nimport fs from 'node:fs';\n" + cjs.substr(cjs.find("if (process"));
  const auto named = [](std::string text, const std::string& name) {
    for (std::size_t at; (at = text.find("NAME")) != std::string::npos;) text.replace(at, 4, name);
    return text;
  };
  hook("common.js", named(cjs, "common"));
  hook("module.mjs", named(esm, "module"));
  hook("plain", named(cjs, "plain"));
  const Finished ran =
      run("- calls:\n"
          "  - {name: bash, input: {command: 'touch common'}}\n"
          "  - {name: bash, input: {command: 'touch module'}}\n"
          "  - {name: bash, input: {command: 'touch plain'}}\n"
          "  - {name: bash, input: {command: 'touch free'}}\n"
          "- text: done\n  expect: {contains: [no common, no module, no plain]}\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const char* const name : {"common", "module", "plain"})
    EXPECT_FALSE(fs::exists(program_.project() + "/" + name)) << name << ran.err;
  EXPECT_TRUE(fs::exists(program_.project() + "/free")) << ran.err;
  const std::string own = program_.home() + "/private";
  EXPECT_TRUE(fs::exists(own) && fs::is_empty(own));
}

}  // namespace
}  // namespace agentd::testing
