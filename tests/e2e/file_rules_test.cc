// SPDX-License-Identifier: Apache-2.0
// file_rules_test.cc - rules about the files that may be read, and searches that would show them.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

// The isolation of the tools.
class FileRules : public ::testing::TestWithParam<const char*> {
 protected:
  FileRules() {
    for (const char* const folder : {"src", "secret/deep"})
      EXPECT_TRUE(make_directories(program_.project() + "/" + folder));
    program_.file("src/main.c", "int needle;\n");
    program_.file("src/.env", "needle=7\n");
    program_.file("secret/deep/key", "needle of the key\n");
    std::filesystem::create_directory_symlink(program_.project() + "/secret", program_.project() + "/link");
  }
  void configure(const std::string& permissions) const {
    program_.config(std::string("hooks: {workspace_tools: {isolation: ") + GetParam() +
                    "}}\npermissions: " + permissions + "\n");
  }
  // What the model gets.
  std::string result_of(const std::string& tool, const std::string& input) {
    const Finished ran =
        program_.run({"run", "x", "--script",
                      program_.script("- calls: [{name: " + tool + ", input: " + input + "}]\n- text: done\n")});
    EXPECT_EQ(ran.code, 0) << ran.err;
    for (const JsonDocument& line : json_lines(program_.run({"conversation", "dump", program_.newest()}).out))
      for (std::size_t i = 0; i < line.root()["records"].size(); ++i) {
        const JsonView record = line.root()["records"].at(i);
        if (record["name"].string_or("") != "tool_result") continue;
        const auto payload = JsonDocument::parse(std::string(record["payload"].string_or("{}")));
        return payload ? std::string(payload->root()["text"].string_or("")) : std::string();
      }
    return "(no result)";
  }

  Program program_;
};

TEST_P(FileRules, BindWhatSearchesShow) {
  for (const char* const list : {"deny", "ask"}) {
    configure(std::string("{") + list + ": [\"read_file(*.env)\", \"read_file(secret/**)\"]}");
    const std::string lines = result_of("grep", "{pattern: needle, output_mode: content, include_ignored: true}");
    EXPECT_TRUE(has(lines, "src/main.c:1:int needle;")) << lines;
    EXPECT_FALSE(has(lines, "needle=7")) << lines;
    EXPECT_FALSE(has(lines, "of the key")) << lines;
    EXPECT_TRUE(has(lines, "[2 paths left out by permission rules]")) << lines;
    const std::string names = result_of("glob", "{pattern: '**/*', include_ignored: true}");
    EXPECT_TRUE(has(names, "src/main.c")) << names;
    EXPECT_FALSE(has(names, ".env")) << names;
    EXPECT_FALSE(has(names, "key")) << names;
    EXPECT_TRUE(has(names, "[2 paths left out by permission rules]")) << names;
  }
}

TEST_P(FileRules, ShowEverythingWithoutThem) {
  configure("{deny: [\"read_file(*.pem)\"]}");
  const std::string lines = result_of("grep", "{pattern: needle, output_mode: content}");
  EXPECT_TRUE(has(lines, "needle=7") && has(lines, "of the key")) << lines;
  EXPECT_FALSE(has(lines, "left out")) << lines;
}

TEST_P(FileRules, NoOtherWayLeadsThere) {
  configure("{deny: [\"read_file(*.env)\", \"read_file(secret/**)\"]}");
  const std::string one = result_of("grep", "{pattern: needle, path: src/.env, output_mode: content}");
  EXPECT_EQ(one, "(no match)\n[1 path left out by permission rules]\n");
  for (const char* const path : {"secret", "secret/deep", "link", "link/deep", "secret/deep/key", "src/../secret"}) {
    const std::string got =
        result_of("grep", std::string("{pattern: needle, output_mode: content, path: ") + path + "}");
    EXPECT_FALSE(has(got, "of the key")) << path << ": " << got;
  }
}

TEST_P(FileRules, ARuleOfTheToolItselfHoldsFromAbove) {
  configure("{deny: [\"grep(secret/**)\"]}");
  const std::string lines = result_of("grep", "{pattern: needle, output_mode: content}");
  EXPECT_FALSE(has(lines, "of the key")) << lines;
  EXPECT_TRUE(has(lines, "needle=7")) << lines;
  EXPECT_TRUE(has(lines, "[1 path left out by permission rules]")) << lines;
  EXPECT_TRUE(has(result_of("glob", "{pattern: '**/*'}"), "secret/deep/key")) << "the rule is about grep";
}

TEST_P(FileRules, LeaveOtherToolsAlone) {
  configure("{deny: [\"read_file(*.env)\"], allow: [edit_file]}");
  EXPECT_TRUE(has(result_of("read_file", "{path: src/main.c}"), "int needle;"));
  const std::string read = result_of("read_file", "{path: src/.env}");
  EXPECT_TRUE(has(read, "the permission rules do not allow read_file")) << read;
}

INSTANTIATE_TEST_SUITE_P(Isolation, FileRules, ::testing::Values("in-process", "process"), [](const auto& each) {
  return std::string(each.param) == "process" ? "process" : "in_process";
});

}  // namespace
}  // namespace agentd::testing
