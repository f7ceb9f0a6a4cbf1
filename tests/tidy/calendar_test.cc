// SPDX-License-Identifier: Apache-2.0
// Each reader of the date has a test that runs on other days, and one without it is found.
#include "tests/tidy/calendar.h"

#include "tests/tidy/small_tree.h"

namespace tidy {
namespace {

constexpr const char* kRow = "# Comment\ncore/agent/a.cc | unit_base | Dates.AreRead:Dates.*\n";

class DatedTree : public Tree {
 protected:
  void SetUp() override {
    Tree::SetUp();
    code("core/agent/a.cc", "  if (clock_.wall_ms() > end) return;\n");
    code("tests/unit/base/a_test.cc", "\nTEST(Dates, AreRead) {}\n");
    put("tests/calendar/dates.txt", kRow);
  }
};

TEST_F(DatedTree, WithARowForEachReaderHasNoFindings) {
  code(
      "core/model/m.cc",
      "std::chrono::steady_clock::now();\nint wall_ms() const;  // system_clock\nwait_time(0);\nFUTEX_CLOCK_REALTIME;\n"
      "{\"gettimeofday\"};\n::clock_gettime(CLOCK_MONOTONIC, &now);\n");
  code("tests/unit/base/b_test.cc", "ManualClock clock; clock.wall_ms();\n");
  code("tests/e2e/b_test.cc", "#include \"tests/e2e/program.h\"\nrun(\"gpt-6-astra\");\n");
  EXPECT_EQ(joined(unlisted_dates(root_)), "");
}

TEST_F(DatedTree, WithAReaderWithoutARowIsFound) {
  for (const char* const line :
       {"std::chrono::system_clock::now();", "std::time(nullptr);", "::time(nullptr);", "time(&now);",
        "::clock_gettime(CLOCK_REALTIME, &now);", "gettimeofday(&now, nullptr);", "parts.clock->wall_ms();",
        "app.clock().wall_ms();", "X509_gmtime_adj(time, 1);", "std::chrono::utc_clock::now();"}) {
    code("plugins/x/x.cc", std::string(line) + "\n");
    const Findings found = unlisted_dates(root_);
    ASSERT_EQ(found.size(), 1u) << line;
    EXPECT_TRUE(found[0].starts_with("plugins/x/x.cc:2: reads the date (")) << found[0];
  }
}

TEST_F(DatedTree, WithATestThatReadsTheDateIsFound) {
  for (const char* const text : {"SystemClock clock;\nclock.wall_ms();\n", "std::time(nullptr);\n", "utc_day(1);\n"}) {
    code("tests/unit/base/b_test.cc", text);
    EXPECT_EQ(unlisted_dates(root_).size(), 1u) << text;
  }
}

// Its warning comes and changes with the day.
TEST_F(DatedTree, WithATestOfTheProgramThatNamesAModelWhichRetiresIsFound) {
  put("core/tokens/models.json",
      "    {\"pattern\": \"old-1\", \"retires\": \"2031-01-31\"},\n    {\"pattern\": \"new-1\"}\n");
  code("tests/e2e/b_test.cc", "#include \"tests/e2e/program.h\"\nrun(\"old-1.5\", \"my-old-1\", \"new-1\");\n");
  EXPECT_EQ(joined(unlisted_dates(root_)), "");
  code("tests/e2e/b_test.cc", "#include \"tests/e2e/program.h\"\nrun(\"x/old-1-20300101\");\n");
  EXPECT_EQ(unlisted_dates(root_),
            Findings{"tests/e2e/b_test.cc:3: names the model old-1, which retires: give it a row with its test in "
                     "tests/calendar/dates.txt"});
}

TEST_F(DatedTree, WithARowThatReadsNoDateIsFound) {
  put("tests/calendar/dates.txt", std::string(kRow) + "core/model/m.cc | unit_base | Dates.AreRead\n");
  EXPECT_EQ(unlisted_dates(root_),
            Findings{"tests/calendar/dates.txt:3: core/model/m.cc reads no date: remove the row, or a second one"});
  put("tests/calendar/dates.txt", std::string(kRow) + "core/agent/a.cc\n");
  EXPECT_EQ(unlisted_dates(root_), Findings{"tests/calendar/dates.txt:3: a row is SOURCE | PROGRAM | TESTS"});
}

TEST_F(DatedTree, WithARowWhoseTestItsProgramDoesNotHaveIsFound) {
  code("tests/e2e/b_test.cc", "\nTEST_F(Other, IsHere) {}\n");
  put("tests/e2e/CMakeLists.txt", "e2e_suite(e2e_b SOURCES b_test.cc)\ne2e_suite(e2e_b_more SOURCES c_test.cc)\n");
  const auto with = [&](const std::string& rest) {
    put("tests/calendar/dates.txt", "core/agent/a.cc | " + rest + "\n");
    return joined(unlisted_dates(root_));
  };
  EXPECT_EQ(with("e2e_b | Other.IsHere"), "");
  EXPECT_EQ(with("e2e_b | Other.*"), "");
  for (const char* const wrong : {"unit_base | Dates.AreNot", "unit_base | Date.*", "unit_base | Other.IsHere",
                                  "e2e_b | Dates.AreRead", "e2e_b_more | Other.IsHere", "unit_base | *"})
    EXPECT_NE(with(wrong), "") << wrong;
}

TEST(ThisTree, RunsWhatReadsTheDateOnOtherDays) { EXPECT_EQ(joined(unlisted_dates(kRoot)), ""); }

}  // namespace
}  // namespace tidy
