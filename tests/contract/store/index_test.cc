// SPDX-License-Identifier: Apache-2.0
// Removal, leases, lists and the feed of changes.
#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <set>
#include <thread>

#include "core/base/bytes.h"
#include "tests/contract/store/store_contract.h"

namespace agentd {
namespace {

// ---- remove

TEST_P(StoreContract, RemoveTakesLogIndexAndChanges) {
  start(a_);
  start(b_);
  ASSERT_OK(store_->remove(a_));
  Store& again = reopened();
  EXPECT_CODE(Code::kNotFound, again.info(a_));
  EXPECT_CODE(Code::kNotFound, again.verify(a_));
  EXPECT_CODE(Code::kNotFound, again.read(a_, 1, 0, [](const StoredRecord&) { return true; }));
  EXPECT_CODE(Code::kNotFound, again.remove(a_));
  EXPECT_EQ(listed({}), std::vector<std::string>{b_.text()});
  EXPECT_EQ(again.changes(0, 10)->changed.size(), 1u);
  EXPECT_OK(again.verify(b_));
}

TEST_P(StoreContract, RemoveKeepsBlobsThatAnotherConversationNames) {
  const std::string shared(100'000, 's');
  Record long_message = user_message(shared);
  const std::vector<std::string> blobs{"prompt", "only a"};
  const std::vector<std::string> prompt{"prompt"};
  ASSERT_OK(store_->append(a_, 0, {{genesis(a_), long_message}}, blobs));
  ASSERT_OK(store_->append(b_, 0, {{genesis(b_), long_message}}, prompt));
  ASSERT_OK(store_->remove(a_));
  EXPECT_CODE(Code::kNotFound, store_->blob(sha256("only a")));
  EXPECT_OK(store_->blob(sha256("prompt")));
  EXPECT_EQ(text_of(read_all(*store_, b_).at(1)), shared);
  ASSERT_OK(store_->remove(b_));
  EXPECT_CODE(Code::kNotFound, store_->blob(sha256("prompt")));
  EXPECT_CODE(Code::kNotFound, store_->blob(sha256(long_message.payload)));
}

TEST_P(StoreContract, RemoveIsBusyWhileTheLeaseIsHeld) {
  start(a_);
  {
    const auto lease = store_->lease(a_);
    ASSERT_OK(lease);
    EXPECT_CODE(Code::kBusy, store_->remove(a_));
    EXPECT_OK(store_->info(a_));
  }
  EXPECT_OK(store_->remove(a_));
}

TEST_P(StoreContract, RemovedConversationCanBeMadeAgain) {
  start(a_, "first life");
  ASSERT_OK(store_->remove(a_));
  start(a_, "second life");
  EXPECT_EQ(read_all(*store_, a_).size(), 2u);
  EXPECT_EQ(store_->info(a_)->title, "second life");
}

// ---- ids

TEST_P(StoreContract, IdsAreFoundByTheirBeginning) {
  start(a_);
  start(b_);
  std::array<std::uint8_t, 16> other = a_.bytes();
  other[0] = 0x7F;
  const Ulid far(other);
  start(far);
  const auto found = [&](std::string_view prefix, std::uint32_t limit = 10) {
    const auto ids = store_->find_ids(prefix, limit);
    EXPECT_OK(ids);
    return ids ? *ids : std::vector<Ulid>{};
  };
  const std::string text = a_.text();
  EXPECT_EQ(found(text), std::vector<Ulid>{a_});
  EXPECT_EQ(found(text.substr(0, 25)), (std::vector<Ulid>{a_, b_}));
  EXPECT_EQ(found(text.substr(0, 25), 1), std::vector<Ulid>{a_});
  EXPECT_EQ(found(far.text().substr(0, 1)), std::vector<Ulid>{far});
  std::string lower = far.text();
  for (char& c : lower) c = static_cast<char>(std::tolower(c));
  EXPECT_EQ(found(lower), std::vector<Ulid>{far});
  for (const std::string& none : {std::string(), std::string("8"), std::string("4"), std::string("0u"), text + "0"})
    EXPECT_TRUE(found(none).empty()) << none;
  ASSERT_OK(store_->remove(a_));
  EXPECT_EQ(found(text.substr(0, 25)), std::vector<Ulid>{b_});
}

// ---- leases

TEST_P(StoreContract, LeaseIsExclusivePerConversation) {
  auto first = store_->lease(a_);
  ASSERT_OK(first);
  const auto second = store_->lease(a_);
  EXPECT_CODE(Code::kBusy, second);
  EXPECT_NE(second.error().message.find("conversation " + a_.text() + " is in use"), std::string::npos);
  EXPECT_OK(store_->lease(b_));
  first->reset();
  EXPECT_OK(store_->lease(a_));
}

TEST_P(StoreContract, LeaseMayOutliveItsStore) {
  auto lease = store_->lease(a_);
  ASSERT_OK(lease);
  store_.reset();
  lease->reset();
  store_ = make();
  EXPECT_OK(store_->lease(a_));
}

// ---- the index

TEST_P(StoreContract, InfoFollowsTheLog) {
  start(a_, "a title", "project");
  clock_.advance(Milliseconds(1000));
  UsageRecord usage;
  usage.usage.input = 10;
  usage.usage.output = 5;
  ASSERT_OK(store_->append(a_, 2, {{user_message("more"), write_usage(usage)}}));
  ASSERT_OK(store_->append(a_, 4, {{write_usage(usage)}}));
  const auto info = reopened().info(a_);
  ASSERT_OK(info);
  EXPECT_EQ(info->id, a_.text());
  EXPECT_EQ(info->title, "a title");
  EXPECT_EQ(info->project_id, "project");
  EXPECT_EQ(info->cwd, "/w");
  EXPECT_EQ(info->revision, 5u);
  EXPECT_EQ(info->messages, 2u);
  EXPECT_EQ(info->usage.input, 20u);
  EXPECT_EQ(info->created_ms + 1000, info->updated_ms);
}

TEST_P(StoreContract, InfoOfAMissingConversationIsNotFound) {
  const auto info = store_->info(a_);
  EXPECT_CODE(Code::kNotFound, info);
  EXPECT_EQ(info.error().message, "no conversation " + a_.text());
}

TEST_P(StoreContract, ListsTheNewestUpdateFirst) {
  for (const Ulid& id : {a_, b_, c_}) {
    clock_.advance(Milliseconds(1));
    start(id);
  }
  clock_.advance(Milliseconds(1));
  ASSERT_OK(store_->append(a_, 2, {{user_message("again")}}));
  EXPECT_EQ(listed({}), (std::vector<std::string>{a_.text(), c_.text(), b_.text()}));
}

TEST_P(StoreContract, ListFiltersByProjectTextAndTime) {
  start(a_, "Fix the Parser", "one");
  clock_.advance(Milliseconds(100));
  const std::int64_t middle = clock_.wall_ms();
  start(b_, "write docs", "two");
  clock_.advance(Milliseconds(100));
  start(c_, "parse tables", "two");
  ConversationQuery query;
  query.project_id = "two";
  EXPECT_EQ(listed(query), (std::vector<std::string>{c_.text(), b_.text()}));
  query.text = "PARSE";
  EXPECT_EQ(listed(query), std::vector<std::string>{c_.text()});
  query.project_id.clear();
  EXPECT_EQ(listed(query), (std::vector<std::string>{c_.text(), a_.text()}));
  query.text = a_.text().substr(20);
  EXPECT_EQ(listed(query), std::vector<std::string>{a_.text()});
  query.text.clear();
  query.since_ms = middle;
  EXPECT_EQ(listed(query), (std::vector<std::string>{c_.text(), b_.text()}));
  query.until_ms = middle;
  EXPECT_EQ(listed(query), std::vector<std::string>{b_.text()});
  query.project_id = "nobody's";
  EXPECT_TRUE(listed(query).empty());
}

TEST_P(StoreContract, ListPagesWithoutGapsOrRepeats) {
  for (std::uint8_t i = 1; i <= 25; ++i) start(id_of(i), "t", i % 2 == 0 ? "even" : "odd");
  ConversationQuery query;
  query.limit = 3;
  query.project_id = "odd";
  std::vector<std::string> all;
  for (std::vector<std::string> page = listed(query); !page.empty(); page = listed(query)) {
    EXPECT_LE(page.size(), 3u);
    all.insert(all.end(), page.begin(), page.end());
    query.after = page.back();
  }
  ASSERT_EQ(all.size(), 13u);
  for (std::uint8_t i = 0; i < 13; ++i) EXPECT_EQ(all[i], id_of(static_cast<std::uint8_t>(25 - 2 * i)).text());
}

TEST_P(StoreContract, ListAfterSomethingThatIsNoneIsAnError) {
  ConversationQuery query;
  query.after = "not an id";
  EXPECT_CODE(Code::kInvalid, store_->list(query));
  query.after = a_.text();
  EXPECT_CODE(Code::kNotFound, store_->list(query));
}

// More rows than one read transaction visits, and writers in between: whatever changes is listed all the same.
TEST_P(StoreContract, ALongListMissesNothingThatChangesMeanwhile) {
  constexpr std::size_t kConversations = 600;
  std::vector<Ulid> ids;
  for (std::size_t i = 0; i < kConversations; ++i) {
    std::array<std::uint8_t, 16> bytes = a_.bytes();
    bytes[14] = static_cast<std::uint8_t>(i >> 8);
    bytes[15] = static_cast<std::uint8_t>(i);
    ids.emplace_back(bytes);
    start(ids.back(), "hello", i % 2 == 0 ? "half" : "p");
  }
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (std::size_t i = 0; !done; i = (i + 1) % kConversations) {
      const auto info = store_->info(ids[i]);
      EXPECT_OK(store_->append(ids[i], info->revision, {{user_message("again")}}));
    }
  });
  ConversationQuery all;
  all.text = "hello";
  all.limit = kConversations;
  ConversationQuery half = all;
  half.project_id = "half";
  for (int i = 0; i < 20; ++i) {
    std::vector<std::string> found = listed(all);
    std::sort(found.begin(), found.end());
    EXPECT_EQ(std::unique(found.begin(), found.end()), found.end());
    EXPECT_EQ(found.size(), kConversations);
    found = listed(half);
    std::sort(found.begin(), found.end());
    EXPECT_EQ(std::unique(found.begin(), found.end()), found.end());
    EXPECT_EQ(found.size(), kConversations / 2);
  }
  done = true;
  writer.join();
}

TEST_P(StoreContract, ListOfAProjectFollowsItsChanges) {
  ConversationQuery query;
  query.project_id = "q";
  start(a_, "one", "q");
  start(b_, "two", "other");
  start(c_, "three", "q");
  EXPECT_EQ(listed(query), (std::vector<std::string>{c_.text(), a_.text()}));
  ASSERT_OK(store_->append(a_, 2, {{user_message("again")}}));
  EXPECT_EQ(listed(query), (std::vector<std::string>{a_.text(), c_.text()}));
  const Ulid d = id_of(4);
  GenesisRecord fork;
  fork.conversation_id = d.text();
  fork.project_id = "q";
  ASSERT_OK(store_->fork(a_, 0, fork, "fork"));
  EXPECT_EQ(listed(query), (std::vector<std::string>{d.text(), a_.text(), c_.text()}));
  query.after = d.text();
  query.limit = 1;
  EXPECT_EQ(listed(query), std::vector<std::string>{a_.text()});
  ASSERT_OK(store_->remove(a_));
  query = {};
  query.project_id = "q";
  EXPECT_EQ(listed(query), (std::vector<std::string>{d.text(), c_.text()}));
  reopened();
  EXPECT_EQ(listed(query), (std::vector<std::string>{d.text(), c_.text()}));
}

TEST_P(StoreContract, ListOfAnEmptyStoreIsEmpty) { EXPECT_TRUE(listed({}).empty()); }

// ---- changes

TEST_P(StoreContract, ChangesTellEachConversationOnceOldestFirst) {
  start(a_);
  start(b_);
  ASSERT_OK(store_->append(a_, 2, {{user_message("x")}}));
  const auto changes = store_->changes(0, 10);
  ASSERT_OK(changes);
  ASSERT_EQ(changes->changed.size(), 2u);
  EXPECT_EQ(changes->changed[0].id, b_.text());
  EXPECT_EQ(changes->changed[1].id, a_.text());
  EXPECT_EQ(changes->changed[1].revision, 3u);
  const auto none = store_->changes(changes->next, 10);
  ASSERT_OK(none);
  EXPECT_TRUE(none->changed.empty());
  EXPECT_EQ(none->next, changes->next);
}

TEST_P(StoreContract, ChangesGoOnWhereTheCursorStands) {
  for (std::uint8_t i = 1; i <= 7; ++i) start(id_of(i));
  std::vector<std::string> seen;
  std::uint64_t cursor = 0;
  for (;;) {
    const auto page = store_->changes(cursor, 3);
    ASSERT_OK(page);
    if (page->changed.empty()) break;
    EXPECT_LE(page->changed.size(), 3u);
    for (const ConversationInfo& info : page->changed) seen.push_back(info.id);
    cursor = page->next;
  }
  ASSERT_EQ(seen.size(), 7u);
  ASSERT_OK(store_->append(id_of(4), 2, {{user_message("x")}}));
  const auto more = store_->changes(cursor, 3);
  ASSERT_EQ(more->changed.size(), 1u);
  EXPECT_EQ(more->changed[0].id, id_of(4).text());
}

TEST_P(StoreContract, ACursorNeverComesBackAfterARemoval) {
  start(a_);
  start(b_);
  const std::uint64_t cursor = store_->changes(0, 10)->next;
  ASSERT_OK(store_->remove(b_));
  Store& again = reopened();
  ASSERT_OK(again.append(c_, 0, opening(c_)));
  const auto more = again.changes(cursor, 10);
  ASSERT_OK(more);
  ASSERT_EQ(more->changed.size(), 1u);
  EXPECT_EQ(more->changed[0].id, c_.text());
}

TEST_P(StoreContract, ARemovalIsToldAtItsPlaceInTheFeed) {
  start(a_);
  start(b_);
  const std::uint64_t cursor = store_->changes(0, 10)->next;
  EXPECT_TRUE(store_->changes(0, 10)->removed.empty());
  ASSERT_OK(store_->remove(a_));
  Store& again = reopened();
  const auto removal = again.changes(cursor, 10);
  ASSERT_OK(removal);
  EXPECT_TRUE(removal->changed.empty());
  EXPECT_EQ(removal->removed, std::vector<Ulid>{a_});
  EXPECT_GT(removal->next, cursor);
  EXPECT_FALSE(removal->removals_lost);
  const auto end = again.changes(removal->next, 10);
  ASSERT_OK(end);
  EXPECT_TRUE(end->changed.empty() && end->removed.empty());
  EXPECT_EQ(end->next, removal->next);
  const auto all = again.changes(0, 10);
  ASSERT_EQ(all->changed.size(), 1u);
  EXPECT_EQ(all->changed[0].id, b_.text());
  EXPECT_EQ(all->removed, std::vector<Ulid>{a_});
}

TEST_P(StoreContract, ARemovalThatIsRefusedIsNotTold) {
  start(a_);
  const std::uint64_t cursor = store_->changes(0, 10)->next;
  const auto lease = store_->lease(a_);
  EXPECT_CODE(Code::kBusy, store_->remove(a_));
  EXPECT_CODE(Code::kNotFound, store_->remove(b_));
  const auto none = store_->changes(cursor, 10);
  ASSERT_OK(none);
  EXPECT_TRUE(none->removed.empty());
  EXPECT_EQ(none->next, cursor);
}

TEST_P(StoreContract, AConversationThatIsMadeAgainIsToldAsRemovedFirst) {
  start(a_, "first life");
  const std::uint64_t cursor = store_->changes(0, 10)->next;
  ASSERT_OK(store_->remove(a_));
  start(a_, "second life");
  const auto both = store_->changes(cursor, 10);
  ASSERT_OK(both);
  EXPECT_EQ(both->removed, std::vector<Ulid>{a_});
  ASSERT_EQ(both->changed.size(), 1u);
  EXPECT_EQ(both->changed[0].title, "second life");
  const auto first = store_->changes(cursor, 1);
  EXPECT_EQ(first->removed, std::vector<Ulid>{a_});
  EXPECT_TRUE(first->changed.empty());
  const auto second = store_->changes(first->next, 1);
  EXPECT_TRUE(second->removed.empty());
  ASSERT_EQ(second->changed.size(), 1u);
  EXPECT_EQ(second->next, both->next);
}

// A follower that reads the feed page by page has, at its end, the state of the store.
TEST_P(StoreContract, AFollowerOfTheFeedKnowsWhatIsThere) {
  std::set<std::string> known;
  std::uint64_t cursor = 0;
  const auto follow = [&] {
    for (;;) {
      const auto page = store_->changes(cursor, 2);
      ASSERT_OK(page);
      EXPECT_LE(page->changed.size() + page->removed.size(), 2u);
      EXPECT_FALSE(page->removals_lost);
      if (page->changed.empty() && page->removed.empty()) return;
      for (const Ulid& id : page->removed) known.erase(id.text());
      for (const ConversationInfo& info : page->changed) known.insert(info.id);
      cursor = page->next;
    }
  };
  const auto there = [&] {
    const std::vector<std::string> list = listed({});
    return std::set<std::string>(list.begin(), list.end());
  };
  for (std::uint8_t i = 1; i <= 9; ++i) start(id_of(i));
  follow();
  EXPECT_EQ(known, there());
  for (const Ulid& id : {id_of(1), id_of(4), id_of(5), id_of(9)}) ASSERT_OK(store_->remove(id));
  start(id_of(4));
  start(id_of(10));
  ASSERT_OK(store_->remove(id_of(10)));
  EXPECT_NE(known, there());
  follow();
  EXPECT_EQ(known, there());
  EXPECT_EQ(known.size(), 6u);
}

TEST_P(StoreContract, ChangesAfterTheLastCursorOfAllAreNone) {
  start(a_);
  EXPECT_TRUE(store_->changes(UINT64_MAX, 10)->changed.empty());
}

}  // namespace
}  // namespace agentd
