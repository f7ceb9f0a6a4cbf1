// SPDX-License-Identifier: Apache-2.0
// The file of ratios, with invented numbers: what is kept, and what is told as moved.
#include "bench/ratios.h"

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace agentd::bench {
namespace {

constexpr const char* kFile =
    "# Ratios\n"
    "\n"
    "On some machine.\n"
    "\n"
    "## bench_a\n"
    "\n"
    "| figure | ratio | noise |\n"
    "|---|---|---|\n"
    "| 1 subscriber / bare calls | 4.40 | 0.02 |\n"
    "| a hook in sh / posix_spawn | 1.20 | 0.10 |\n"
    "\n"
    "## bench_b\n"
    "\n"
    "Whole processes.\n"
    "\n"
    "| figure | ratio | noise |\n"
    "|---|---|---|\n"
    "| a tool call / bash | 9.00 | 0.05 |\n";

TEST(Ratios, RowsOfTheProgramAreReadAndOtherLinesAreNot) {
  const std::vector<Ratio> rows = read_ratios(kFile, "bench_a");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].figure, "1 subscriber / bare calls");
  EXPECT_DOUBLE_EQ(rows[0].value, 4.4);
  EXPECT_DOUBLE_EQ(rows[1].noise, 0.1);
  EXPECT_EQ(read_ratios(kFile, "bench_b").size(), 1u);
  EXPECT_TRUE(read_ratios(kFile, "bench").empty());
  EXPECT_TRUE(read_ratios("## p\n| a | b |\n|||\n| x | 1.0x | 2 |\n| cut | 1 | 2", "p").empty());
}

TEST(Ratios, AMoveWithinTheNoiseIsNotTold) {
  EXPECT_EQ(moved_ratios(kFile, "bench_a", {{"1 subscriber / bare calls", 4.8, 0.03}}), "");
  EXPECT_EQ(moved_ratios(kFile, "bench_a", {{"a hook in sh / posix_spawn", 1.41, 0.1}}), "");
}

TEST(Ratios, AMoveBeyondTheNoiseIsToldTheLargestFirst) {
  const std::string told = moved_ratios(kFile, "bench_a",
                                        {{"1 subscriber / bare calls", 5.0, 0.03},
                                         {"a hook in sh / posix_spawn", 0.6, 0.1},
                                         {"a tool call / bash", 9, 0}});
  const std::size_t sh = told.find("a hook in sh"), one = told.find("1 subscriber"), other = told.find("a tool call");
  ASSERT_NE(other, std::string::npos) << told;
  EXPECT_LT(sh, one);
  EXPECT_LT(one, other);
  EXPECT_NE(told.find("0.60 x   after 1.20 x: -50 %, noise 20 %"), std::string::npos) << told;
  EXPECT_NE(told.find("5.00 x   after 4.40 x: +14 %, noise 10 %"), std::string::npos) << told;
  EXPECT_NE(told.find("9.00 x   is new"), std::string::npos) << told;
}

TEST(Ratios, AKeptRunReplacesRowsOfItsOwnPartOnly) {
  const std::string kept =
      with_ratios(kFile, "bench_a", {{"a hook in sh / posix_spawn", 1.1, 0.04}, {"a tool call / bash", 2, 0.5}});
  EXPECT_EQ(kept,
            "# Ratios\n\nOn some machine.\n\n## bench_a\n\n| figure | ratio | noise |\n|---|---|---|\n"
            "| 1 subscriber / bare calls | 4.40 | 0.02 |\n"
            "| a hook in sh / posix_spawn | 1.10 | 0.04 |\n"
            "| a tool call / bash | 2.00 | 0.50 |\n"
            "\n## bench_b\n\nWhole processes.\n\n| figure | ratio | noise |\n|---|---|---|\n"
            "| a tool call / bash | 9.00 | 0.05 |\n");
  EXPECT_EQ(moved_ratios(kept, "bench_a", read_ratios(kept, "bench_a")), "");
  EXPECT_EQ(with_ratios(kept, "bench_b", read_ratios(kept, "bench_b")), kept);
}

TEST(Ratios, APartThatIsMissingIsAddedAtTheEnd) {
  const std::string table = "| figure | ratio | noise |\n|---|---|---|\n| other | 2.00 | 0.50 |\n";
  EXPECT_EQ(with_ratios("", "bench_c", {{"other", 2, 0.5}}), "## bench_c\n\n" + table);
  EXPECT_EQ(with_ratios(kFile, "bench_c", {{"other", 2, 0.5}}), std::string(kFile) + "\n## bench_c\n\n" + table);
  EXPECT_EQ(with_ratios("## bench_c\n\nWords.\n", "bench_c", {{"other", 2, 0.5}}), "## bench_c\n\nWords.\n\n" + table);
}

struct Words {
  explicit Words(std::vector<std::string> given) : texts(std::move(given)) {
    for (std::string& each : texts) argv.push_back(each.data());
    argv.push_back(nullptr);
    argc = static_cast<int>(texts.size());
  }
  std::vector<std::string> texts;
  std::vector<char*> argv;
  int argc = 0;
};

TEST(Ratios, OnlyARunThatKeepsThemWritesTheFile) {
  const testing::TempDir dir;
  const std::string path = dir.write("ratios.md", kFile);
  Words words({"bench_a", "--keep", "--rounds", "3", "--ratios=" + path});
  RatioFile file = take_ratio_file(words.argc, words.argv.data());
  EXPECT_EQ(file.path, path);
  EXPECT_TRUE(file.keep);
  ASSERT_EQ(words.argc, 3);
  EXPECT_STREQ(words.argv[2], "3");
  EXPECT_EQ(words.argv[3], nullptr);
  file.keep = false;
  EXPECT_TRUE(compare_ratios(file, "bench_b", {{"a tool call / bash", 3, 0.1}}));
  EXPECT_EQ(dir.read("ratios.md"), kFile);
  file.keep = true;
  EXPECT_TRUE(compare_ratios(file, "bench_b", {{"a tool call / bash", 3, 0.1}}));
  EXPECT_EQ(read_ratios(dir.read("ratios.md"), "bench_b").at(0).value, 3);
  EXPECT_FALSE(compare_ratios({dir.path(), true}, "bench_b", {}));
}

}  // namespace
}  // namespace agentd::bench
