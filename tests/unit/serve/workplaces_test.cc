// SPDX-License-Identifier: Apache-2.0
// Projects are opened once, closed when nobody uses them, and never closed below a session.
#include "core/serve/workplaces.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <string>

#include "core/base/thread.h"
#include "tests/support/runtime_test.h"

namespace agentd::serve {
namespace {

std::size_t descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

class Projects : public testing::RuntimeTest<ManualClock> {
 protected:
  void SetUp() override { begin_runtime("- text: x\n"); }
  std::unique_ptr<Workplaces> make(WorkplaceLimits limits = {}) {
    return std::make_unique<Workplaces>(
        *runtime_, HookWishes{}, [](const std::string&) {}, limits);
  }
  Workplaces::Shared at(Workplaces& of, const std::string& name) {
    auto got = of.at(temp_.file(name));
    EXPECT_TRUE(got) << (got ? "" : got.error().message);
    return got ? *got : nullptr;
  }
};

TEST_F(Projects, AreOpenedOnce) {
  const auto all = make();
  const auto first = at(*all, "a"), again = at(*all, "a"), other = at(*all, "b");
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
  EXPECT_EQ(all->all().size(), 2u);
  EXPECT_EQ(all->at(temp_.file("nowhere")).error().kind, RunError::Kind::kNotFound);
}

TEST_F(Projects, AreClosedWhenNobodyHasUsedThemForAWhile) {
  const auto all = make();
  (void)at(*all, "c");
  clock_.advance(Milliseconds(3'600'000));
  all->close_idle();
  clock_.advance(Milliseconds(3'600'000));
  all->close_idle();
  ASSERT_TRUE(all->all().empty());
  const std::size_t before = descriptors();
  Workplaces::Shared used = at(*all, "a");
  (void)at(*all, "b");
  EXPECT_GT(descriptors(), before) << "a project has descriptors";
  all->close_idle();
  EXPECT_EQ(all->all().size(), 2u) << "just used";
  clock_.advance(WorkplaceLimits{}.idle);
  all->close_idle();
  ASSERT_EQ(all->all().size(), 1u);
  EXPECT_EQ(all->all()[0], used) << "it is in use";
  used.reset();
  all->close_idle();
  EXPECT_EQ(all->all().size(), 1u) << "just used";
  // One that is used again begins anew.
  clock_.advance(WorkplaceLimits{}.idle - Milliseconds(1));
  (void)at(*all, "a");
  all->close_idle();
  clock_.advance(Milliseconds(2));
  all->close_idle();
  EXPECT_EQ(all->all().size(), 1u);
  clock_.advance(WorkplaceLimits{}.idle);
  all->close_idle();
  EXPECT_TRUE(all->all().empty());
  EXPECT_EQ(descriptors(), before);
  EXPECT_NE(at(*all, "a"), nullptr) << "opened anew";
}

TEST_F(Projects, AreBounded) {
  const auto all = make({Milliseconds(60'000), 1, 2});
  Workplaces::Shared a = at(*all, "a"), b = at(*all, "b");
  EXPECT_EQ(all->at(temp_.file("c")).error().kind, RunError::Kind::kBusy);
  b.reset();
  EXPECT_NE(at(*all, "c"), nullptr) << "an idle one makes room";
  EXPECT_EQ(all->all().size(), 2u);
  a.reset();
  all->close_idle();
  EXPECT_EQ(all->all().size(), 1u) << "so many idle ones are kept";
}

// While one is closed others open the same: each has its hooks alone.
TEST_F(Projects, AreOpenedAndClosedByManyAtTheSameTime) {
  const auto all = make({Milliseconds(0), 0, 4});
  constexpr int kTimes = 200;
  call_together(4, 3, [&](std::size_t i) {
    for (int n = 0; n < kTimes; ++n) {
      const auto got = all->at(temp_.file(i % 2 == 0 ? "a" : "b"));
      ASSERT_TRUE(got) << got.error().message;
      EXPECT_FALSE((*got)->project().root.empty());
      all->close_idle();
    }
  });
  all->close_idle();
  EXPECT_TRUE(all->all().empty());
}

TEST_F(Projects, ProjectWhoseHooksHaveChangedIsOpenedAnew) {
  const auto all = make();
  auto used = at(*all, "a");
  EXPECT_TRUE(all->is_current(*used));
  EXPECT_EQ(at(*all, "a"), used);
  // A file next to them that is no hook changes nothing.
  ::mkdir(temp_.file("home/hooks").c_str(), 0700);
  temp_.write("home/hooks/notes.txt", "x");
  EXPECT_TRUE(all->is_current(*used));
  temp_.write("home/hooks/guard.yaml", "on: before_tool_call\ndo: {action: block, reason: no}\n");
  EXPECT_FALSE(all->is_current(*used));
  const auto next = at(*all, "a");
  EXPECT_NE(next, used);  // which its session keeps
  EXPECT_TRUE(all->is_current(*next));
  EXPECT_FALSE(all->is_current(*used));
  std::filesystem::remove(temp_.file("home/hooks/guard.yaml"));
  EXPECT_FALSE(all->is_current(*next));
}

TEST_F(Projects, ClosedDirectoriesAreKnownThroughLinks) {
  WorkplaceLimits limits;
  limits.closed = {temp_.file("home")};
  const auto all = make(limits);
  std::filesystem::create_directory_symlink(temp_.file("home"), temp_.file("link"));
  ::mkdir(temp_.file("home/deep").c_str(), 0700);
  EXPECT_TRUE(all->is_closed(temp_.file("home")));
  EXPECT_TRUE(all->is_closed(temp_.file("link")));
  EXPECT_TRUE(all->is_closed(temp_.file("link/deep")));
  EXPECT_FALSE(all->is_closed(temp_.file("a")));
  EXPECT_FALSE(all->is_closed(temp_.file("home2")));
}

}  // namespace
}  // namespace agentd::serve
