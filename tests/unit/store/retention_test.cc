// SPDX-License-Identifier: Apache-2.0
// Receipts of hooks that are removed for their age, on disk.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "tests/unit/store/lmdb_fixture.h"

namespace agentd {
namespace {

class RetentionTest : public LmdbStoreTest {
 protected:
  static constexpr std::int64_t kNow = 1'700'000'000'000;

  static HookReceipt receipt_at(std::int64_t time_ms) {
    HookReceipt out;
    out.hook = "guard";
    out.payload = std::make_shared<const std::string>("{\"event\":\"agent_stop\"}");
    out.payload_digest = sha256(*out.payload);
    out.time_ms = time_ms;
    return out;
  }
  // Two conversations with `old` and then two newer receipts each.
  void fill(int old) const {
    const auto store = open();
    for (const Ulid& id : {a_, b_}) {
      std::vector<HookReceipt> receipts(static_cast<std::size_t>(old), receipt_at(kNow - 1));
      receipts.resize(receipts.size() + 2, receipt_at(kNow));
      ASSERT_OK(store->append(id, 0, opening(id), {}, receipts));
    }
  }
  // The numbers of the receipts of a conversation.
  std::vector<std::uint64_t> numbers_of(const Ulid& id) const {
    std::vector<std::uint64_t> out;
    raw("receipts", [&](MDB_txn* txn, MDB_dbi dbi) {
      MDB_cursor* cursor = nullptr;
      MDB_val key{}, value{};
      ASSERT_EQ(mdb_cursor_open(txn, dbi, &cursor), 0);
      while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
        const std::string bytes(static_cast<char*>(key.mv_data), key.mv_size);
        if (bytes.substr(0, 16) == bytes_of(id)) out.push_back(get_be64(bytes.data() + 16));
      }
      mdb_cursor_close(cursor);
    });
    return out;
  }
  void erase_receipt(const Ulid& id, std::uint64_t number) const {
    raw("receipts", [&](MDB_txn* txn, MDB_dbi dbi) {
      std::string bytes = bytes_of(id);
      put_be64(bytes, number);
      MDB_val key{bytes.size(), bytes.data()};
      ASSERT_EQ(mdb_del(txn, dbi, &key, nullptr), 0);
    });
  }
};

TEST_F(RetentionTest, AStoreWhoseReceiptsBeginLaterIsWhole) {
  fill(3);
  ASSERT_EQ(open()->prune_receipts(kNow, 4).value_or(0), 4u);
  EXPECT_EQ(numbers_of(a_), (std::vector<std::uint64_t>{4, 5}));
  EXPECT_EQ(numbers_of(b_), (std::vector<std::uint64_t>{2, 3, 4, 5}));
  EXPECT_EQ(damage_found(), std::vector<std::string>{});
  ASSERT_OK(open()->append_receipts(a_, {{receipt_at(kNow + 1)}}));
  EXPECT_EQ(numbers_of(a_), (std::vector<std::uint64_t>{4, 5, 6}));
  EXPECT_EQ(damage_found(), std::vector<std::string>{});
}

// The control: a gap at another place is damage.
TEST_F(RetentionTest, AReceiptThatIsMissingBetweenOthersIsDamage) {
  fill(3);
  ASSERT_EQ(open()->prune_receipts(kNow, 1).value_or(0), 1u);
  erase_receipt(a_, 3);
  const std::vector<std::string> found = damage_found();
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0], "conversation " + a_.text() + ": receipt 3 is missing");
}

TEST_F(RetentionTest, ReceiptsThatBeginLaterAreCopiedAndSalvaged) {
  fill(3);
  ASSERT_EQ(open()->prune_receipts(kNow, 1'000).value_or(0), 6u);
  const auto copied = backup_store(options().directory, dir_ / "copy");
  ASSERT_OK(copied);
  EXPECT_EQ(copied->receipts, 4u);
  const auto salvaged = salvage_store(options().directory, dir_ / "saved", clock_);
  ASSERT_OK(salvaged);
  EXPECT_EQ(salvaged->kept.receipts, 4u);
  EXPECT_TRUE(salvaged->lost.empty());
}

TEST_F(RetentionTest, ADamagedReceiptIsKeptForTheCheckToFind) {
  fill(3);
  raw("receipts", [&](MDB_txn* txn, MDB_dbi dbi) {
    std::string bytes = bytes_of(a_);
    put_be64(bytes, 2);
    MDB_val key{bytes.size(), bytes.data()}, value{};
    ASSERT_EQ(mdb_get(txn, dbi, &key, &value), 0);
    std::string text(static_cast<char*>(value.mv_data), value.mv_size);
    text[text.find("guard")] = 'G';
    MDB_val put{text.size(), text.data()};
    ASSERT_EQ(mdb_put(txn, dbi, &key, &put, 0), 0);
  });
  EXPECT_EQ(open()->prune_receipts(kNow, 1'000).value_or(0), 1u + 3u);
  EXPECT_EQ(numbers_of(a_), (std::vector<std::uint64_t>{2, 3, 4, 5}));
  const std::vector<std::string> found = damage_found();
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0], "conversation " + a_.text() + ": receipt 2 is unreadable");
}

TEST_F(RetentionTest, AConversationThatBeganLaterIsPassedOver) {
  std::array<std::uint8_t, 16> bytes{};
  bytes.fill(0x7F);
  const Ulid future(bytes);
  const auto store = open();
  ASSERT_OK(store->append(future, 0, opening(future), {}, {{receipt_at(kNow - 1)}}));
  EXPECT_EQ(store->prune_receipts(kNow, 9).value_or(9), 0u);
  EXPECT_EQ(store->stats()->receipts, 1u);
}

// A process is killed while it removes receipts: the first ones of a conversation are gone, and nothing else.
TEST_F(RetentionTest, AProcessThatIsKilledLeavesAWholeStore) {
  fill(200);
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    const auto store = open();
    for (;;) {
      if (!store || !store->prune_receipts(kNow, 7)) ::_exit(1);
      if (::write(ends[1], "", 1) != 1) ::_exit(2);
    }
  }
  ::close(ends[1]);
  char byte = 0;
  for (int i = 0; i < 20; ++i) ASSERT_EQ(::read(ends[0], &byte, 1), 1);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ::close(ends[0]);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(damage_found(), std::vector<std::string>{});
  const auto store = open();
  const std::uint64_t left = store->stats()->receipts;
  EXPECT_GE(left, 4u);
  EXPECT_LE(left, 404u - 20u * 7u);
  EXPECT_EQ(store->prune_receipts(kNow, 1'000).value_or(0), left - 4);
  int seen = 0;
  for (const Ulid& id : {a_, b_})
    ASSERT_OK(store->receipts(id, [&](const HookReceipt& one) { return one.time_ms == kNow && ++seen > 0; }));
  EXPECT_EQ(seen, 4);
}

TEST_F(RetentionTest, AStoreWithoutReceiptsStaysWithoutTheirTable) {
  ASSERT_OK(open()->append(a_, 0, opening(a_)));
  const std::string before = *read_file(options().directory + "/data.mdb", 1 << 30);
  EXPECT_EQ(open()->prune_receipts(kNow, 9).value_or(9), 0u);
  EXPECT_EQ(*read_file(options().directory + "/data.mdb", 1 << 30), before);
  LmdbOptions read_only = options();
  read_only.read_only = true;
  EXPECT_CODE(Code::kDenied, (*try_open(read_only))->prune_receipts(kNow, 9));
}

}  // namespace
}  // namespace agentd
