// SPDX-License-Identifier: Apache-2.0
// What a follower of the feed knows of the store: it tells new conversations from longer ones.
#include "core/mcp/known_conversations.h"

#include <gtest/gtest.h>

namespace agentd::mcp {
namespace {

class Known : public ::testing::Test {
 protected:
  Ulid converse(const std::string& project) {
    const Ulid id = ids_.next();
    const Record genesis = write_genesis({id.text(), project, "/", "p", "m", {}, 0, {}});
    EXPECT_TRUE(store_->append(id, 0, {&genesis, 1}));
    return id;
  }
  void say(const Ulid& to, const std::string& text) {
    MessageRecord message;
    message.message = Message::of_text(Role::kUser, text);
    const Record record = write_message(message);
    EXPECT_TRUE(store_->append(to, store_->info(to)->revision, {&record, 1}));
  }

  ManualClock clock_;
  IdSource ids_{clock_};
  const std::unique_ptr<Store> store_ = make_memory_store(clock_);
  KnownConversations known_{*store_};
};

TEST_F(Known, RevisionsAreThoseOfTheStore) {
  const Ulid one = converse("p");
  EXPECT_EQ(known_.revision_of(one), 0u) << "nothing was read yet";
  ASSERT_TRUE(known_.catch_up());
  EXPECT_EQ(known_.revision_of(one), 1u);
  say(one, "hello");
  ASSERT_TRUE(known_.catch_up());
  EXPECT_EQ(known_.revision_of(one), 2u);
  ASSERT_TRUE(store_->remove(one));
  ASSERT_TRUE(known_.catch_up());
  EXPECT_EQ(known_.revision_of(one), 0u);
}

TEST_F(Known, AListChangesWithItsConversationsAndTheirTitles) {
  const std::uint64_t empty = known_.list_of("p");
  const Ulid one = converse("p");
  ASSERT_TRUE(known_.catch_up());
  const std::uint64_t first = known_.list_of("p"), others = known_.list_of("q"), all = known_.list_of("");
  EXPECT_NE(first, empty);
  EXPECT_EQ(others, empty);
  EXPECT_EQ(all, first);
  say(one, "its title");
  ASSERT_TRUE(known_.catch_up());
  const std::uint64_t titled = known_.list_of("p");
  EXPECT_NE(titled, first);
  say(one, "and no more");
  ASSERT_TRUE(known_.catch_up());
  EXPECT_EQ(known_.list_of("p"), titled);
  const Ulid two = converse("q");
  ASSERT_TRUE(known_.catch_up());
  EXPECT_EQ(known_.list_of("p"), titled);
  EXPECT_NE(known_.list_of("q"), others);
  EXPECT_NE(known_.list_of(""), titled);
  ASSERT_TRUE(store_->remove(two));
  ASSERT_TRUE(known_.catch_up());
  EXPECT_EQ(known_.list_of("q"), others);
  EXPECT_EQ(known_.list_of(""), titled);
}

}  // namespace
}  // namespace agentd::mcp
