// SPDX-License-Identifier: Apache-2.0
// The index is fed after commits, without a search.
#include "core/search/feeder.h"

#include <agentd/hook_types.h>

#include "tests/unit/search/search_fixture.h"

namespace agentd {
namespace {

using test::Found;
using test::user_message;

constexpr FeederPauses kAtOnce{Milliseconds(0), Milliseconds(0)};
constexpr FeederPauses kNever{Milliseconds(3'600'000), Milliseconds(3'600'000)};

class FeederTest : public test::SearchTest {
 protected:
  // True as soon as the index has the word; false if it does not get it in half a minute.
  bool gets(const std::string& word) {
    for (int i = 0; i < 3'000; ++i) {
      if (bytes_of(index()).find(word) != std::string::npos) return true;
      clock_.pause(Milliseconds(10));
    }
    return false;
  }
  bool has(const std::string& word) { return bytes_of(index()).find(word) != std::string::npos; }
};

TEST_F(FeederTest, AddsWhatWasCommittedWithoutASearch) {
  const Ulid id = add(1, {"one"});
  found("one");
  append(id, user_message("a needle"));
  EXPECT_FALSE(has("needle")) << "an append alone does not";
  IndexFeeder feeder(dir_.path(), *store_, clock_, log_, kAtOnce);
  feeder.committed();
  EXPECT_TRUE(gets("needle"));
  append(id, user_message("a thread"));
  feeder.committed();
  EXPECT_TRUE(gets("thread"));
  EXPECT_EQ(logged("is built again"), 1u) << "by the first search";
  EXPECT_EQ(found("thread"), Found{"1:4"});
}

TEST_F(FeederTest, BuildsNothingWhereNobodySearches) {
  add(1, {"needle"});
  {
    IndexFeeder feeder(dir_.path(), *store_, clock_, log_, kAtOnce);
    feeder.committed();
  }
  EXPECT_FALSE(in_files("needle"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "search.lock"));
}

TEST_F(FeederTest, BuildsAnIndexAgainThatWasRemovedWithAConversation) {
  const Ulid gone = add(1, {"a thread"});
  const Ulid id = add(2, {"one"});
  found("one");
  ASSERT_OK(store_->remove(gone));
  ASSERT_OK(forget_search_index(dir_.path(), clock_));
  append(id, user_message("a needle"));
  IndexFeeder feeder(dir_.path(), *store_, clock_, log_, kAtOnce);
  feeder.committed();
  EXPECT_TRUE(gets("needle"));
  EXPECT_FALSE(has("thread"));
}

TEST_F(FeederTest, WaitsForAPauseButNotForever) {
  const Ulid id = add(1, {"one"});
  found("one");
  {
    IndexFeeder feeder(dir_.path(), *store_, clock_, log_, kNever);
    append(id, user_message("a needle"));
    feeder.committed();
  }
  EXPECT_FALSE(has("needle")) << "the process ended first";
  IndexFeeder feeder(dir_.path(), *store_, clock_, log_, {kNever.quiet, Milliseconds(1)});
  feeder.committed();
  EXPECT_TRUE(gets("needle"));
}

TEST_F(FeederTest, ManyCommitsOfManyThreadsAreAllAdded) {
  for (std::uint8_t i = 1; i <= 4; ++i) add(i, {"one"});
  found("one");
  {
    IndexFeeder feeder(dir_.path(), *store_, clock_, log_, kAtOnce);
    call_together(4, 3, [&](std::size_t thread) {
      const Ulid id = test::id_of(static_cast<std::uint8_t>(thread + 1));
      for (int i = 0; i < 50; ++i) {
        const Record record = user_message("needle" + std::to_string(thread) + "x" + std::to_string(i));
        EXPECT_OK(store_->append(id, store_->info(id)->revision, {&record, 1}));
        feeder.committed();
      }
    });
    for (int thread = 0; thread < 4; ++thread) EXPECT_TRUE(gets("needle" + std::to_string(thread) + "x49"));
  }
  EXPECT_EQ(found("needle3x7").size(), 1u);
  EXPECT_EQ(logged("is built again"), 1u);
}

TEST_F(FeederTest, IsCancelledWithoutATrace) {
  const Ulid id = add(1, {"one"});
  const SearchIndex search(dir_.path(), *store_, clock_, log_);
  CancelToken cancel;
  cancel.cancel(AGENTD_CANCEL_SHUTDOWN);
  EXPECT_EQ(search.follow(cancel).error().code, Code::kCancelled);
  EXPECT_FALSE(std::filesystem::exists(index()));
  EXPECT_FALSE(std::filesystem::exists(index() + ".new"));
  ASSERT_OK(search.follow(CancelToken()));
  const std::string before = bytes_of(index());
  append(id, user_message("a needle"));
  EXPECT_EQ(search.follow(cancel).error().code, Code::kCancelled);
  EXPECT_TRUE(before == bytes_of(index()));
  ASSERT_OK(search.follow(CancelToken()));
  EXPECT_TRUE(has("needle"));
}

}  // namespace
}  // namespace agentd
