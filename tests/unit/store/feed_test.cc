// SPDX-License-Identifier: Apache-2.0
// The indexes of changes on disk, also where an older agentd wrote: conversations by project, and removals.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "core/base/bytes.h"
#include "core/store/lmdb/lists.h"
#include "core/store/lmdb/removals.h"
#include "tests/unit/store/lmdb_fixture.h"

namespace agentd {
namespace {

// ---- the index of projects

// As an agentd that does not know the index makes the newest change of a conversation.
void change_again(MDB_txn* txn, MDB_dbi changes, const std::string& id) {
  MDB_dbi heads = 0;
  ASSERT_EQ(mdb_dbi_open(txn, "head", 0, &heads), 0);
  MDB_val name{id.size(), const_cast<char*>(id.data())}, value{};
  ASSERT_EQ(mdb_get(txn, heads, &name, &value), 0);
  std::string head(static_cast<char*>(value.mv_data), value.mv_size);
  std::string old = head.substr(40), now;
  MDB_cursor* cursor = nullptr;
  MDB_val last{};
  ASSERT_EQ(mdb_cursor_open(txn, changes, &cursor), 0);
  ASSERT_EQ(mdb_cursor_get(cursor, &last, &value, MDB_LAST), 0);
  put_be64(now, get_be64(static_cast<char*>(last.mv_data)) + 1);
  mdb_cursor_close(cursor);
  head.replace(40, 8, now);
  MDB_val was{old.size(), old.data()}, is{now.size(), now.data()}, row{head.size(), head.data()};
  ASSERT_EQ(mdb_del(txn, changes, &was, nullptr), 0);
  ASSERT_EQ(mdb_put(txn, changes, &is, &name, 0), 0);
  ASSERT_EQ(mdb_put(txn, heads, &name, &row, 0), 0);
}

class ProjectIndexTest : public LmdbStoreTest {
 protected:
  void SetUp() override {
    const auto store = open();
    for (const Ulid& id : {a_, b_, c_}) ASSERT_OK(store->append(id, 0, opening(id)));
    ASSERT_OK(store->append(other_, 0, opening(other_, "hello", "another")));
  }
  std::vector<std::string> listed(Store& store) const {
    std::vector<std::string> out;
    ConversationQuery query;
    query.project_id = "p";
    const auto found = store.list(query);
    EXPECT_OK(found);
    for (const ConversationInfo& info : *found) out.push_back(info.id);
    return out;
  }
  // The change up to which the index holds. The store must be closed.
  std::uint64_t upto() const {
    std::uint64_t out = 0;
    raw("by_project", [&](MDB_txn* txn, MDB_dbi dbi) {
      std::string name = "upto";
      MDB_val key{name.size(), name.data()}, value{};
      ASSERT_EQ(mdb_get(txn, dbi, &key, &value), 0);
      out = get_be64(static_cast<char*>(value.mv_data));
    });
    return out;
  }
  void drop_index() const {
    raw("by_project", [](MDB_txn* txn, MDB_dbi dbi) { ASSERT_EQ(mdb_drop(txn, dbi, 1), 0); });
  }

  const Ulid c_ = id_of(3), other_ = id_of(4);
};

TEST_F(ProjectIndexTest, AStoreOfAnOlderAgentdGetsItWithItsFirstList) {
  drop_index();
  LmdbOptions read_only = options();
  read_only.read_only = true;
  const std::vector<std::string> expected{c_.text(), b_.text(), a_.text()};
  EXPECT_EQ(listed(**try_open(read_only)), expected);
  const auto store = open();
  EXPECT_EQ(listed(*store), expected);
  ASSERT_OK(store->append(a_, 2, {{user_message("again")}}));
  EXPECT_EQ(listed(*store), (std::vector<std::string>{a_.text(), c_.text(), b_.text()}));
}

TEST_F(ProjectIndexTest, CatchesUpWithWhatAnOlderAgentdWrote) {
  raw("changes", [&](MDB_txn* txn, MDB_dbi dbi) { change_again(txn, dbi, bytes_of(a_)); });
  EXPECT_EQ(damage_found(), std::vector<std::string>{});
  {
    const auto store = open();
    // Nothing is added to an index that is not current.
    ASSERT_OK(store->append(b_, 2, {{user_message("again")}}));
    EXPECT_EQ(listed(*store), (std::vector<std::string>{b_.text(), a_.text(), c_.text()}));
    ASSERT_OK(store->append(c_, 2, {{user_message("again")}}));
    ASSERT_OK(store->remove(b_));
    EXPECT_EQ(listed(*store), (std::vector<std::string>{c_.text(), a_.text()}));
  }
  EXPECT_EQ(damage_found(), std::vector<std::string>{});
}

TEST_F(ProjectIndexTest, AStoreThatCannotBeWrittenListsWhatItsIndexLacks) {
  raw("changes", [&](MDB_txn* txn, MDB_dbi dbi) { change_again(txn, dbi, bytes_of(a_)); });
  LmdbOptions read_only = options();
  read_only.read_only = true;
  EXPECT_EQ(listed(**try_open(read_only)), (std::vector<std::string>{a_.text(), c_.text(), b_.text()}));
}

TEST_F(ProjectIndexTest, StaleRowsAreErasedByTheNextList) {
  const auto rows = [&] {
    std::size_t count = 0;
    raw("by_project", [&](MDB_txn* txn, MDB_dbi dbi) {
      MDB_stat stat{};
      ASSERT_EQ(mdb_stat(txn, dbi, &stat), 0);
      count = stat.ms_entries;
    });
    return count;
  };
  const std::size_t before = rows();
  for (int i = 0; i < 3; ++i) {
    raw("changes", [&](MDB_txn* txn, MDB_dbi dbi) { change_again(txn, dbi, bytes_of(a_)); });
    listed(*open());
  }
  EXPECT_EQ(rows(), before);
}

TEST_F(ProjectIndexTest, ADamagedRowIsReportedByTheListThatMeetsIt) {
  drop_index();
  damage("info", [&](std::string& value) {
    if (value.find(b_.text()) == std::string::npos) return false;
    value[value.find("title")] = '?';
    return true;
  });
  ConversationQuery query;
  query.project_id = "p";
  EXPECT_CODE(Code::kCorrupt, open()->list(query));
}

TEST_F(ProjectIndexTest, CheckFindsARowThatIsMissing) {
  EXPECT_EQ(damage_found(), std::vector<std::string>{});
  raw("by_project", [&](MDB_txn* txn, MDB_dbi dbi) {
    MDB_cursor* cursor = nullptr;
    MDB_val key{}, value{};
    ASSERT_EQ(mdb_cursor_open(txn, dbi, &cursor), 0);
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0)
      if (std::string(static_cast<char*>(value.mv_data), value.mv_size) == bytes_of(b_)) mdb_cursor_del(cursor, 0);
    mdb_cursor_close(cursor);
  });
  EXPECT_EQ(damage_found(),
            std::vector<std::string>{"conversation " + b_.text() + ": its row in table by_project is missing"});
}

TEST_F(ProjectIndexTest, ARemovalLeavesItCurrent) {
  const std::uint64_t before = upto();
  ASSERT_OK(open()->remove(b_));
  EXPECT_EQ(upto(), before + 1);
  ASSERT_OK(open()->append(a_, 2, {{user_message("again")}}));
  EXPECT_EQ(upto(), before + 2);
  EXPECT_EQ(listed(*open()), (std::vector<std::string>{a_.text(), c_.text()}));
}

// Many changes share a transaction, which reads the newest cursor and the index's place once.
TEST_F(ProjectIndexTest, ChangesOfOneTransactionHaveEachTheirOwnPlace) {
  constexpr std::uint8_t kThreads = 12, kEach = 20;
  {
    const auto store = open();
    std::vector<std::thread> threads;
    for (std::uint8_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        const Ulid id = id_of(static_cast<std::uint8_t>(100 + t));
        EXPECT_OK(store->append(id, 0, opening(id)));
        for (unsigned i = 0; i < kEach; ++i) {
          EXPECT_OK(store->append(id, 2 + i, {{user_message("again")}}));
          // Refused, and in the same groups.
          EXPECT_CODE(Code::kConflict, store->append(id, 1, {{user_message("stale")}}));
        }
        GenesisRecord copy;
        copy.conversation_id = id_of(static_cast<std::uint8_t>(200 + t)).text();
        copy.project_id = "p";
        EXPECT_OK(store->fork(id, 0, copy, "copy"));
      });
    for (std::thread& thread : threads) thread.join();
    const auto feed = store->changes(0, 1'000);
    ASSERT_OK(feed);
    EXPECT_EQ(feed->changed.size(), 4u + 2u * kThreads);
    // Each of the four and of the others' appends, and each fork, has moved the end by one.
    EXPECT_EQ(feed->next, 4u + kThreads * (1u + kEach + 1u));
  }
  // The index has followed them all, before a list would make it catch up.
  EXPECT_EQ(upto(), 4u + kThreads * (1u + kEach + 1u));
  EXPECT_EQ(damage_found(), std::vector<std::string>{});
  EXPECT_EQ(listed(*open()).size(), 3u + 2u * kThreads);
}

// ---- removals

class RemovalsTest : public ProjectIndexTest {
 protected:
  // As in the store of an agentd that keeps no removals.
  void drop_removals() const {
    raw("removed", [](MDB_txn* txn, MDB_dbi dbi) { ASSERT_EQ(mdb_drop(txn, dbi, 1), 0); });
  }
};

TEST_F(RemovalsTest, AStoreOfAnOlderAgentdKeepsThemFromTheFirstOn) {
  const std::uint64_t old = 1, cursor = open()->changes(0, 10)->next;
  drop_removals();
  {
    const auto store = open();
    EXPECT_TRUE(store->changes(old, 10)->removed.empty());
    ASSERT_OK(store->remove(b_));
    ASSERT_OK(store->remove(c_));
  }
  EXPECT_EQ(damage_found(), std::vector<std::string>{});
  const auto store = open();
  const auto known = store->changes(cursor, 10);
  ASSERT_OK(known);
  EXPECT_EQ(known->removed, (std::vector<Ulid>{b_, c_}));
  EXPECT_FALSE(known->removals_lost);
  // Between `old` and the first of them the older one may have removed conversations.
  EXPECT_TRUE(store->changes(old, 10)->removals_lost);
  EXPECT_FALSE(store->changes(0, 10)->removals_lost);
}

// An older agentd takes its cursors from the newest row and the floor: none is a removal's.
TEST_F(RemovalsTest, TheFloorOfCursorsIsThatOfTheNewestRemoval) {
  ASSERT_OK(open()->remove(a_));
  const std::uint64_t newest = open()->changes(0, 10)->next;
  raw("meta", [&](MDB_txn* txn, MDB_dbi dbi) {
    std::string name = "change_floor";
    MDB_val key{name.size(), name.data()}, value{};
    ASSERT_EQ(mdb_get(txn, dbi, &key, &value), 0);
    EXPECT_EQ(get_be64(static_cast<char*>(value.mv_data)), newest);
    MDB_stat rows{};
    ASSERT_EQ(mdb_stat(txn, dbi, &rows), 0);
    EXPECT_EQ(rows.ms_entries, 2u);  // with the format; an older check refuses other rows
  });
}

TEST_F(RemovalsTest, TheOldestBeyondTheLimitAreForgotten) {
  const auto env = Env::open(options(), clock_, false);
  ASSERT_OK(env);
  Tables tables;
  Removals removals;
  std::vector<std::uint64_t> cursors;
  ASSERT_OK((*env)->write(Env::Room::kOrdinary, [&](Txn& txn) -> Result<void> {
    AGENTD_TRY(tables, Tables::open(txn, false));
    AGENTD_TRY(removals.table, txn.open_table("removed", false));
    for (std::uint8_t i = 1; i <= 5; ++i) {
      AGENTD_TRY(const std::uint64_t cursor, removals.add(txn, tables, id_of(i), 3));
      cursors.push_back(cursor);
    }
    return {};
  }));
  const auto txn = (*env)->begin_read();
  ASSERT_OK(txn);
  EXPECT_EQ(txn->count(removals.table).value_or(0), 4u);  // with the mark
  EXPECT_EQ(removals.lost(*txn).value_or(0), cursors[1]);
  const auto changes = [&](std::uint64_t cursor) { return *changes_after(*txn, tables, removals, cursor, 100); };
  EXPECT_EQ(changes(cursors[1]).removed, (std::vector<Ulid>{id_of(3), id_of(4), id_of(5)}));
  EXPECT_FALSE(changes(cursors[1]).removals_lost);
  EXPECT_TRUE(changes(cursors[0]).removals_lost);
  EXPECT_EQ(changes(cursors[0]).removed.size(), 3u);
}

TEST_F(RemovalsTest, CheckFindsARowThatNamesNoConversation) {
  ASSERT_OK(open()->remove(a_));
  EXPECT_EQ(damage_found(), std::vector<std::string>{});
  damage("removed", [&](std::string& value) {
    if (value != bytes_of(a_)) return false;
    value.assign(16, '\0');
    return true;
  });
  EXPECT_EQ(damage_found(), std::vector<std::string>{"table removed has a row that names no conversation"});
}

TEST_F(RemovalsTest, ARemovalOfAProcessThatIsKilledIsToldOrHasNotHappened) {
  const std::uint64_t cursor = open()->changes(0, 10)->next;
  drop_removals();
  const pid_t child = ::fork();
  if (child == 0) {
    const auto store = open();
    if (!store || !store->remove(b_)) ::_exit(1);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto store = open();
  EXPECT_CODE(Code::kNotFound, store->info(b_));
  EXPECT_EQ(store->changes(cursor, 10)->removed, std::vector<Ulid>{b_});
}

}  // namespace
}  // namespace agentd
