// SPDX-License-Identifier: Apache-2.0
// Jobs one after the other, and the bound of all their threads.
#include "core/serve/job_line.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/serve/client.h"

namespace agentd::serve {
namespace {

using testing::becomes;
using testing::Event;

TEST(JobLine, DoesItsJobsInTheirOrderAndKeepsNoThread) {
  JobThreads threads(4);
  JobLine line(threads, 100);
  std::string done;
  Event last;
  for (int i = 0; i < 50; ++i)
    ASSERT_EQ(line.add([&, i] {
      done += std::to_string(i) + " ";
      if (i == 49) last.set();
    }),
              JobLine::Added::kYes);
  ASSERT_TRUE(last.wait());
  std::string want;
  for (int i = 0; i < 50; ++i) want += std::to_string(i) + " ";
  EXPECT_EQ(done, want);
  EXPECT_TRUE(becomes([&] { return threads.working() == 0; }));
  EXPECT_TRUE(line.is_idle());
}

TEST(JobLine, IsBounded) {
  JobThreads threads(4);
  Event begun, go;
  JobLine line(threads, 2);
  ASSERT_EQ(line.add([&] {
    begun.set();
    (void)go.wait();
  }),
            JobLine::Added::kYes);
  ASSERT_TRUE(begun.wait());
  EXPECT_EQ(line.add([] {}), JobLine::Added::kYes);
  EXPECT_EQ(line.add([] {}), JobLine::Added::kYes);
  EXPECT_EQ(line.add([] {}), JobLine::Added::kTooMany);
  EXPECT_FALSE(line.end_if_idle());
  go.set();
  line.end();
  EXPECT_EQ(line.add([] {}), JobLine::Added::kEnds);
}

// More lines than threads: one is refused, and takes its job once another has ended.
TEST(JobThreads, AreAsManyAsMayWork) {
  JobThreads threads(2);
  Event begun, go;
  std::vector<std::unique_ptr<JobLine>> lines;
  for (int i = 0; i < 3; ++i) lines.push_back(std::make_unique<JobLine>(threads, 8));
  const auto wait = [&] {
    begun.set();
    (void)go.wait();
  };
  EXPECT_EQ(lines[0]->add(wait), JobLine::Added::kYes);
  EXPECT_EQ(lines[1]->add(wait), JobLine::Added::kYes);
  ASSERT_TRUE(begun.wait(2));
  EXPECT_EQ(lines[2]->add([] {}), JobLine::Added::kFull);
  EXPECT_TRUE(lines[2]->is_idle());
  EXPECT_EQ(lines[0]->add([] {}), JobLine::Added::kYes) << "a line that works has its thread";
  EXPECT_EQ(threads.working(), 2u);
  go.set();
  EXPECT_TRUE(becomes([&] { return threads.working() == 0; }));
  Event done;
  EXPECT_EQ(lines[2]->add([&] { done.set(); }), JobLine::Added::kYes);
  EXPECT_TRUE(done.wait());
}

}  // namespace
}  // namespace agentd::serve
