// SPDX-License-Identifier: Apache-2.0
// The table of ratios, with invented numbers: what is kept, and what is told as moved.
#include "bench/micro/ratios.h"

#include <gtest/gtest.h>

namespace agentd::bench {
namespace {

constexpr const char* kTable =
    "# Ratios\n"
    "\n"
    "On some machine.\n"
    "\n"
    "| figure | ratio | noise |\n"
    "|---|---|---|\n"
    "| 1 subscriber / bare calls | 4.40 | 0.02 |\n"
    "| a hook in sh / posix_spawn | 1.20 | 0.10 |\n";

TEST(Ratios, RowsAreReadAndOtherLinesAreNot) {
  const std::vector<Ratio> rows = read_ratios(kTable);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].figure, "1 subscriber / bare calls");
  EXPECT_DOUBLE_EQ(rows[0].value, 4.4);
  EXPECT_DOUBLE_EQ(rows[1].noise, 0.1);
  EXPECT_TRUE(read_ratios("| a | b |\n|||\n| x | 1.0x | 2 |\n| cut | 1 | 2").empty());
}

TEST(Ratios, AMoveWithinTheNoiseIsNotTold) {
  EXPECT_EQ(moved_ratios(kTable, {{"1 subscriber / bare calls", 4.8, 0.03}}), "");
  EXPECT_EQ(moved_ratios(kTable, {{"a hook in sh / posix_spawn", 1.41, 0.1}}), "");
}

TEST(Ratios, AMoveBeyondTheNoiseIsToldTheLargestFirst) {
  const std::string told = moved_ratios(
      kTable, {{"1 subscriber / bare calls", 5.0, 0.03}, {"a hook in sh / posix_spawn", 0.6, 0.1}, {"other", 2, 0}});
  const std::size_t sh = told.find("a hook in sh"), one = told.find("1 subscriber"), other = told.find("other");
  ASSERT_NE(other, std::string::npos) << told;
  EXPECT_LT(sh, one);
  EXPECT_LT(one, other);
  EXPECT_NE(told.find("0.60 x   after 1.20 x: -50 %, noise 20 %"), std::string::npos) << told;
  EXPECT_NE(told.find("5.00 x   after 4.40 x: +14 %, noise 10 %"), std::string::npos) << told;
  EXPECT_NE(told.find("2.00 x   is new"), std::string::npos) << told;
}

TEST(Ratios, AKeptRunReplacesItsOwnRowsOnly) {
  const std::string kept = with_ratios(kTable, {{"a hook in sh / posix_spawn", 1.1, 0.04}, {"other", 2, 0.5}});
  EXPECT_EQ(kept,
            "# Ratios\n\nOn some machine.\n\n| figure | ratio | noise |\n|---|---|---|\n"
            "| 1 subscriber / bare calls | 4.40 | 0.02 |\n"
            "| a hook in sh / posix_spawn | 1.10 | 0.04 |\n"
            "| other | 2.00 | 0.50 |\n");
  EXPECT_EQ(moved_ratios(kept, read_ratios(kept)), "");
  EXPECT_EQ(with_ratios("", {{"other", 2, 0.5}}),
            "| figure | ratio | noise |\n|---|---|---|\n| other | 2.00 | 0.50 |\n");
}

}  // namespace
}  // namespace agentd::bench
