// SPDX-License-Identifier: Apache-2.0
// The tests of dates.txt really run on another day: the process of a test, the program that it starts, and what each of
// them is told of the age of a file. Their monotonic clock is the machine's.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "tests/e2e/program.h"
#include "tests/support/dates.h"

namespace agentd::testing {
namespace {

constexpr std::int64_t kDay = 86'400, kHour = 3'600;

// Of the kernel itself, past every library.
std::int64_t kernel_seconds(clockid_t clock) {
  timespec now{};
  EXPECT_EQ(::syscall(SYS_clock_gettime, clock, &now), 0);
  return now.tv_sec;
}

int days_ahead() {
  const char* const days = std::getenv("AGENTD_DAYS_AHEAD");
  EXPECT_NE(days, nullptr) << "run it by 'ctest -L calendar'";
  return days == nullptr ? 0 : std::atoi(days);
}

TEST(Calendar, IsAheadOfTheKernels) {
  const std::int64_t ahead = SystemClock().wall_ms() / 1'000 - kernel_seconds(CLOCK_REALTIME);
  EXPECT_NEAR(static_cast<double>(ahead), static_cast<double>(days_ahead() * kDay), kHour);
}

TEST(Calendar, LeavesTheMonotonicClockAlone) {
  const auto now = static_cast<double>(SystemClock().monotonic_ns() / 1'000'000'000u);
  EXPECT_NEAR(now, static_cast<double>(kernel_seconds(CLOCK_MONOTONIC)), kHour);
}

TEST(Calendar, IsThatOfFiles) {
  TempDir directory;
  const std::string path = directory.write("file", "text");
  const auto now = static_cast<double>(SystemClock().wall_ms() / 1'000);
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_NEAR(static_cast<double>(info.st_mtim.tv_sec), now, kHour);
  ASSERT_EQ(::fstatat(AT_FDCWD, path.c_str(), &info, 0), 0);
  EXPECT_NEAR(static_cast<double>(info.st_ctim.tv_sec), now, kHour);
  struct statx more {};
  ASSERT_EQ(::statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS, &more), 0);
  EXPECT_NEAR(static_cast<double>(more.stx_mtime.tv_sec), now, kHour);
  // A time that is set is read again.
  const timespec times[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mtime, 1'000'000'000);
}

// What the program says of a model tells which day it has.
TEST(Calendar, IsThatOfTheProgram) {
  Program program;
  ASSERT_TRUE(make_directories(program.home()));
  const std::string yesterday = utc_day(-1), later = utc_day(2);
  const std::string yaml =
      "models: [{pattern: gone, retires: " + yesterday + "}, {pattern: there, retires: " + later + "}]\n";
  ASSERT_TRUE(write_file_atomically(program.home() + "/models.yaml", yaml, 0600));
  EXPECT_TRUE(has(program.run({"models", "gone"}).out, "  retired     " + yesterday));
  EXPECT_TRUE(has(program.run({"models", "there"}).out, "  retires     " + later));
}

}  // namespace
}  // namespace agentd::testing
