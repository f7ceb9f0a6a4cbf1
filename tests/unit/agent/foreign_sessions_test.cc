// SPDX-License-Identifier: Apache-2.0
// Sessions elsewhere: each has one conversation, whoever opens it and whatever happens meanwhile.
#include "core/agent/foreign_sessions.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/store/lmdb/lmdb_store.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

class ForeignSessionsTest : public ::testing::Test {
 protected:
  ForeignSessionsTest() {
    LmdbOptions options;
    options.directory = dir_.file("store");
    auto opened = open_lmdb_store(options, clock_);
    EXPECT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
  }
  Result<Ulid> open(const std::string& name) {
    ForeignSession session;
    session.surface = "editor";
    session.session_id = name;
    session.project_id = "u/p";
    return ForeignSessions(*store_, ids_, clock_).open(session);
  }
  std::size_t conversations() const { return store_->list({})->size(); }

  testing::TempDir dir_;
  const SystemClock clock_;
  IdSource ids_{clock_};
  std::unique_ptr<Store> store_;
};

TEST_F(ForeignSessionsTest, AreFoundAgain) {
  const auto first = open("one");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(*open("one"), *first);
  EXPECT_NE(*open("two"), *first);
  EXPECT_EQ(conversations(), 2u);
}

TEST_F(ForeignSessionsTest, AreMadeAgainOnceTheyAreDeleted) {
  const auto first = open("one");
  ASSERT_TRUE(first);
  ASSERT_TRUE(store_->remove(*first));
  EXPECT_NE(*open("one"), *first);
  EXPECT_EQ(conversations(), 1u);
}

TEST_F(ForeignSessionsTest, HaveOneConversationHoweverManyOpenThemAtOnce) {
  for (int round = 0; round < 10; ++round) {
    const std::string name = "session " + std::to_string(round);
    std::vector<std::string> ids(4);
    {
      std::vector<std::jthread> threads;
      for (std::string& id : ids)
        threads.emplace_back([&] {
          const auto opened = open(name);
          id = opened ? opened->text() : opened.error().message;
        });
    }
    EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 1u);
  }
  EXPECT_EQ(conversations(), 10u);
}

// A process that claimed the name and was killed has left no lease; one that is alive holds it.
TEST_F(ForeignSessionsTest, AreTakenOverFromTheDeadAlone) {
  ASSERT_TRUE(open("one"));
  const auto rows = store_->scan_keys("agentd.foreign", {}, {}, 10);
  ASSERT_EQ(rows->size(), 1u);
  const Ulid claimed = ids_.next();
  const KeyOp claim{KeyOp::Kind::kPut, rows->front().key, claimed.text(), rows->front().version};
  ASSERT_TRUE(store_->commit_keys("agentd.foreign", {&claim, 1}));
  {
    const auto alive = store_->lease(claimed);
    ASSERT_TRUE(alive);
    EXPECT_EQ(open("one").error().code, Code::kBusy);
  }
  const auto taken = open("one");
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_NE(*taken, claimed);
}

}  // namespace
}  // namespace agentd
