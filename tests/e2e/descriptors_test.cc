// SPDX-License-Identifier: Apache-2.0
// descriptors_test.cc - the program started with standard input, output or error closed, as supervisors and
// wrappers of cron do.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

constexpr unsigned kOutput = 1u << STDOUT_FILENO;

class ClosedDescriptors : public ::testing::TestWithParam<unsigned> {
 protected:
  std::vector<std::string> scripted(const std::string& message) {
    return {"run", "--no-hooks", "--script", script_, message};
  }
  Finished closed(const std::vector<std::string>& words) {
    program_.close_descriptors(GetParam());
    const Finished out = program_.run(words);
    program_.close_descriptors(0);
    return out;
  }
  // What is lost is an error at the end; what was asked for is done.
  int expected() const { return (GetParam() & kOutput) != 0 ? 1 : 0; }
  std::string data() const { return *read_file(program_.home() + "/store/data.mdb", 64u << 20); }
  std::vector<std::string> ids() {
    const Finished list = program_.run({"conversation", "list", "--all", "--json"});
    EXPECT_EQ(list.code, 0) << list.err;
    std::vector<std::string> out;
    for (const JsonDocument& line : json_lines(list.out))
      out.emplace_back(line.root()["id"].string_or({}));
    return out;
  }

  Program program_;
  const std::string script_ = program_.script("- text: well\n- text: again\n");
};

TEST_P(ClosedDescriptors, ReadingLeavesEveryByteOfTheStore) {
  ASSERT_EQ(program_.run(scripted("hello")).code, 0);
  const std::string before = data();
  EXPECT_EQ(closed({"conversation", "list", "--all"}).code, expected());
  EXPECT_EQ(closed({"conversation", "show", program_.newest()}).code, expected());
  // The refusal is printed while the store is open.
  EXPECT_NE(closed({"conversation", "delete", program_.newest()}).code, 0);
  EXPECT_TRUE(data() == before);
  EXPECT_EQ(ids().size(), 1u);
}

TEST_P(ClosedDescriptors, ADeletionRemovesThatConversationAlone) {
  ASSERT_EQ(program_.run(scripted("first")).code, 0);
  ASSERT_EQ(program_.run(scripted("second")).code, 0);
  const std::vector<std::string> before = ids();
  ASSERT_EQ(before.size(), 2u);
  EXPECT_EQ(closed({"conversation", "delete", "--yes", before[1]}).code, expected());
  EXPECT_EQ(ids(), std::vector<std::string>{before[0]});
  EXPECT_EQ(program_.run({"conversation", "show", before[0]}).code, 0);
}

TEST_P(ClosedDescriptors, ARunIsSavedWhole) {
  EXPECT_EQ(closed(scripted("hello")).code, expected());
  EXPECT_EQ(program_.record_types(program_.newest()),
            "genesis run_begin settings user_message assistant_message run_end");
  EXPECT_EQ(program_.run({"run", "--no-hooks", "--script", script_, "--follow", "more"}).code, 0);
}

INSTANTIATE_TEST_SUITE_P(AllCombinations, ClosedDescriptors, ::testing::Range(0u, 8u));

}  // namespace
}  // namespace agentd::testing
