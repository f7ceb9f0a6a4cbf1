// SPDX-License-Identifier: Apache-2.0
// dump_test.cc - the dump of a log, checked by the program that stands on the page about it.
#include <gtest/gtest.h>

#include <string>

#include "core/base/file.h"
#include "core/codec/json.h"
#include "core/process/filter.h"
#include "core/process/process.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

class Dump : public ::testing::Test {
 protected:
  // The first block of the page in that language.
  static std::string block(const std::string& language) {
    const auto page = read_file(AGENTD_DUMP_PAGE, 1u << 20);
    if (!page) return {};
    const std::string fence = "```" + language + "\n";
    const std::size_t begin = page->find(fence);
    if (begin == std::string::npos) return {};
    const std::size_t end = page->find("```", begin + fence.size());
    return page->substr(begin + fence.size(), end - begin - fence.size());
  }
  FilterResult check(const std::string& dump) {
    FilterRequest request;
    request.argv = {"python3", program_.file("check.py", block("python"))};
    request.environment = clean_environment();
    request.environment.emplace_back("PYTHONUTF8=1");
    request.input = dump;
    const SystemClock clock;
    auto checked = run_filter(request, clock, CancelToken(), {});
    EXPECT_TRUE(checked) << (checked ? "" : checked.error().message);
    return checked ? std::move(*checked) : FilterResult();
  }
  // A conversation with a tool, a compaction and its undo, and a text that does not lie in its batch.
  std::string dump() {
    const std::string script = program_.script(
        "- calls: [{name: bash, input: {command: \"printf 'Grüße %080000d' 7\"}}]\n"
        "- text: \"an answer \\u2603\"\n"
        "- {for: summary, text: \"## Goal\\nThe user asked for a long text and got it.\"}\n");
    EXPECT_EQ(program_.run({"run", "go", "--allow", "bash", "--script", script}).code, 0);
    const std::string id = program_.newest();
    EXPECT_EQ(program_.run({"compact", "-c", id, "--script", script}).code, 0);
    EXPECT_EQ(program_.run({"compact", "--undo", "-c", id}).code, 0);
    const Finished dumped = program_.run({"conversation", "dump", id});
    EXPECT_EQ(dumped.code, 0) << dumped.err;
    return dumped.out;
  }
  static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
  }

  Program program_;
};

TEST_F(Dump, IsRightForAProgramThatIsNotAgentd) {
  const std::string dumped = dump();
  const auto lines = json_lines(dumped);
  ASSERT_GT(lines.size(), 4u);
  const JsonView head = lines.back().root();
  EXPECT_EQ(head["type"].string_or({}), "head");
  const FilterResult checked = check(dumped);
  EXPECT_EQ(checked.exit_code, 0) << checked.error;
  EXPECT_EQ(checked.output, std::to_string(head["revision"].uint_or(0)) + " records, chain " +
                                std::string(head["chain"].string_or({})) + "\n");
}

TEST_F(Dump, OneThatWasChangedIsWrong) {
  const std::string dumped = dump();
  const auto says = [&](const std::string& changed) { return check(changed).error; };
  EXPECT_TRUE(has(says(replaced(dumped, "an answer ☃", "an Answer ☃")), "wrong: record "));
  EXPECT_TRUE(has(says(replaced(dumped, "\"turn\":1", "\"turn\":2")), "wrong: the chain at "));
  EXPECT_TRUE(has(says(replaced(dumped, "\"time_ms\":1", "\"time_ms\":2")), "wrong: the chain at "));
  const std::size_t head = dumped.rfind("{\"type\":\"head\"");
  EXPECT_TRUE(has(says(dumped.substr(0, head)), "wrong: the log does not end where its head says"));
  const std::size_t second = dumped.find("{\"type\":\"batch\"", dumped.find("{\"type\":\"batch\"") + 1);
  const std::size_t third = dumped.find("{\"type\":\"batch\"", second + 1);
  ASSERT_NE(third, std::string::npos);
  EXPECT_TRUE(has(says(dumped.substr(0, second) + dumped.substr(third)), "does not follow the one before"));
  const std::size_t blob = dumped.find("{\"type\":\"blob\"");
  ASSERT_NE(blob, std::string::npos);
  EXPECT_TRUE(
      has(says(dumped.substr(0, blob) + dumped.substr(dumped.find('\n', blob) + 1)), "wrong: a blob is missing"));
}

TEST_F(Dump, ExampleOfThePageIsWhatThePageSays) {
  const auto page = read_file(AGENTD_DUMP_PAGE, 1u << 20);
  ASSERT_TRUE(page);
  const FilterResult checked = check(block("jsonl"));
  EXPECT_EQ(checked.exit_code, 0) << checked.error;
  ASSERT_GT(checked.output.size(), 64u);
  EXPECT_TRUE(has(*page, "`" + checked.output.substr(0, checked.output.size() - 1) + "`")) << checked.output;
}

TEST_F(Dump, ConversationThatIsNotThereIsNamed) {
  const Finished dumped = program_.run({"conversation", "dump", "01JZ8Q4T6YV5X0K2M3N4P5R6S7"});
  EXPECT_EQ(dumped.code, 4) << dumped.err;
  EXPECT_EQ(dumped.out, "");
}

}  // namespace
}  // namespace agentd::testing
