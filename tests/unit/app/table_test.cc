// SPDX-License-Identifier: Apache-2.0
#include "core/app/table.h"

#include <gtest/gtest.h>

namespace agentd::app {
namespace {

using Lines = std::vector<std::string>;

TEST(Table, ColumnsAreAsWideAsTheirWidestCell) {
  EXPECT_EQ(table_lines({{"NAME"}, {"N", true}, {"LAST"}}, {{"a", "1", "x y"}, {"grün", "12", ""}}, 120),
            (Lines{"NAME   N  LAST", "a      1  x y", "grün  12  "}));
}

TEST(Table, TheLastColumnGivesWayBetweenWords) {
  EXPECT_EQ(table_lines({{"A"}, {"EVENTS"}}, {{"1", "agent_stop,turn_start,turn_end"}, {"2", "one"}}, 24),
            (Lines{"A  EVENTS", "1  agent_stop,…", "2  one"}));
  EXPECT_EQ(table_lines({{"A"}, {"T"}}, {{"1", "世界世界世界世界世界世界"}}, 23)[1], "1  世界世界世界世界世…");
}

TEST(Table, ALastColumnOfNumbersIsNeverCut) {
  EXPECT_EQ(table_lines({{"A"}, {"N", true}}, {{std::string(30, 'a'), "1,234,567"}}, 10)[1],
            std::string(30, 'a') + "  1,234,567");
}

TEST(Table, SpareColumnsAreLeftOutTheLastFirst) {
  const std::vector<Column> columns{{"NAME"}, {"SPARE", false, true}, {"MORE", false, true}, {"END"}};
  const std::vector<Lines> rows{{"a", "b", "c", "a text that is as wide as that"}};
  EXPECT_EQ(table_lines(columns, rows, 39)[0], "NAME  SPARE  MORE  END");
  EXPECT_EQ(table_lines(columns, rows, 33)[0], "NAME  SPARE  END");
  EXPECT_EQ(table_lines(columns, rows, 32), (Lines{"NAME  END", "a     a text that is as wide as…"}));
}

TEST(Table, AnOverlongNameIsWholeAndWidensNoOtherRow) {
  const std::string name(45, 'n');
  EXPECT_EQ(table_lines({{"NAME"}, {"KIND"}, {"END"}}, {{"a", "b", "c"}, {name, "kind", "agent_stop,turn_start"}}, 70),
            (Lines{"NAME  KIND  END", "a     b     c", name + "  kind  agent_stop,…"}));
}

}  // namespace
}  // namespace agentd::app
