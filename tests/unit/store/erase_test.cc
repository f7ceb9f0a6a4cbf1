// SPDX-License-Identifier: Apache-2.0
// Erasing on disk: what is left in the files, what a check and an older agentd say, and what a killed process leaves.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/store/batch.h"
#include "core/store/lmdb/pages.h"
#include "tests/unit/store/lmdb_fixture.h"

namespace agentd {
namespace {

constexpr std::string_view kSecret = "hunter2-is-the-word";

class EraseTest : public LmdbStoreTest {
 protected:
  static Erasure erasure(std::uint64_t seq, const std::string& text = "[erased]") {
    return {seq, user_message(text).payload};
  }
  static std::string with_secret(std::size_t bytes) {
    std::string out(bytes / 2, 'a');
    out += kSecret;
    out.resize(std::max(bytes, out.size()), 'z');
    return out;
  }
  static Result<EraseReport> erase(Store& store, const Ulid& id, const std::vector<Erasure>& what) {
    EraseRequest request;
    request.records = what;
    const std::unique_ptr<Lease> lease = *store.lease(id);
    return store.erase(id, store.info(id)->revision, request);
  }
  // How often the files of the store have the text.
  int found(std::string_view text = kSecret) const {
    int out = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(options().directory)) {
      if (!entry.is_regular_file()) continue;
      const auto bytes = read_file(entry.path().string(), 1u << 30);
      EXPECT_OK(bytes);
      for (std::size_t at = 0; bytes && (at = bytes->find(text, at)) != std::string::npos; ++at) ++out;
    }
    return out;
  }
};

// Payloads of every place: in a page with others, in a page of their own, in many, and in a blob.
TEST_F(EraseTest, NothingOfItIsLeftInTheFiles) {
  const auto store = open();
  ASSERT_OK(store->append(a_, 0, opening(a_, with_secret(40))));
  std::uint64_t revision = 2;
  std::vector<Erasure> all{erasure(2)};
  for (const std::size_t bytes : {30u, 300u, 1'500u, 2'500u, 3'900u, 5'000u, 60'000u, 200'000u}) {
    ASSERT_OK(store->append(a_, revision++, {{user_message(with_secret(bytes))}}));
    all.push_back(erasure(revision));
    // Neighbours, so that pages are copied and split with the text in them.
    ASSERT_OK(store->append(b_, store->info(b_) ? store->info(b_)->revision : 0,
                            store->info(b_) ? std::vector<Record>{user_message(std::string(200, 'n'))} : opening(b_)));
  }
  EXPECT_GT(found(), 8);
  ASSERT_OK(erase(*store, a_, all));
  // The control: what is erased is still between and behind the pages in use.
  EXPECT_GT(found(), 0);
  const auto wiped = store->wipe();
  ASSERT_OK(wiped);
  EXPECT_GT(wiped->bytes, 0u);
  EXPECT_EQ(wiped->pages_left, 0u);
  EXPECT_EQ(found(), 0);
  EXPECT_OK(store->verify(a_));
  EXPECT_OK(store->verify(b_));
  EXPECT_EQ(read_all(*store, b_).size(), 9u);
}

// LMDB uses the buffers of written pages again: what they had must not get behind the rows of later ones.
TEST_F(EraseTest, NothingOfItComesBackWithLaterWrites) {
  const auto store = open();
  ASSERT_OK(store->append(a_, 0, opening(a_, with_secret(40))));
  std::uint64_t revision = 2;
  for (int i = 0; i < 40; ++i) {
    std::vector<Record> batch;
    for (int each = 0; each < 1 + i % 7; ++each) batch.push_back(user_message(with_secret(150)));
    ASSERT_OK(
        store->append(a_, revision, batch, std::vector<std::string>{with_secret(2'500 + static_cast<std::size_t>(i))}));
    revision += batch.size();
  }
  ASSERT_OK(store->append(b_, 0, opening(b_)));
  ASSERT_OK(store->remove(a_));
  ASSERT_OK(store->wipe());
  EXPECT_EQ(found(), 0);
  for (std::uint64_t at = 2; at < 60; ++at) {
    ASSERT_OK(store->append(b_, at, {{user_message(std::string(at % 9 == 0 ? 3'000 : 20, 'n'))}},
                            std::vector<std::string>{std::string(2'100 + at, 'b')}));
    ASSERT_EQ(found(), 0) << "after the commit of " << at;
  }
}

TEST_F(EraseTest, AStoreStaysWholeThroughWipes) {
  {
    const auto store = open();
    for (std::uint8_t i = 1; i <= 60; ++i) {
      const Ulid id = id_of(i);
      ASSERT_OK(store->append(id, 0, opening(id, "title " + std::to_string(i))));
      for (std::uint64_t at = 2; at < 8; ++at)
        ASSERT_OK(store->append(id, at, {{user_message(std::string(at * 700, static_cast<char>('a' + i % 20)))}}));
      if (i % 3 == 0) {
        ASSERT_OK(store->remove(id));
      }
      if (i % 20 == 0) {
        ASSERT_OK(store->wipe());
      }
    }
    ASSERT_OK(store->wipe());
    for (std::uint8_t i = 1; i <= 60; ++i) {
      if (i % 3 == 0) continue;
      EXPECT_OK(store->verify(id_of(i)));
    }
  }
  EXPECT_EQ(damage_found(), std::vector<std::string>{});
}

TEST_F(EraseTest, ACheckUnderstandsIt) {
  {
    const auto store = open();
    ASSERT_OK(store->append(a_, 0, opening(a_, "hello")));
    ASSERT_OK(store->append(a_, 2, {{user_message(with_secret(100'000)), user_message("x")}}));
    ASSERT_OK(erase(*store, a_, {erasure(3, std::string(80'000, 'y')), erasure(2)}));
    ASSERT_OK(store->wipe());
  }
  EXPECT_EQ(damage_found(), std::vector<std::string>{});
  // The control: without the record that says what takes its place, it is damage.
  damage("log", [](std::string& value) {
    auto batch = decode_batch(value);
    if (!batch || batch->first_seq != 3) return false;
    batch->records[0].erased_by = 4;
    value = encode_batch(*batch);
    return true;
  });
  ASSERT_FALSE(damage_found().empty());
  EXPECT_NE(damage_found()[0].find("sequence"), std::string::npos) << damage_found()[0];
}

TEST_F(EraseTest, SalvageAndBackupKeepIt) {
  {
    const auto store = open();
    ASSERT_OK(store->append(a_, 0, opening(a_, "hello")));
    ASSERT_OK(store->append(a_, 2, {{user_message(std::string(kSecret))}}));
    ASSERT_OK(erase(*store, a_, {erasure(3)}));
  }
  ASSERT_OK(salvage_store(options().directory, dir_ / "salvaged", clock_));
  ASSERT_OK(backup_store(options().directory, dir_ / "copy"));
  for (const char* name : {"salvaged", "copy"}) {
    LmdbOptions there;
    there.directory = dir_ / name;
    const auto store = try_open(there);
    ASSERT_OK(store);
    EXPECT_OK((*store)->verify(a_));
    EXPECT_EQ(test::text_of(read_all(**store, a_).at(2)), "[erased]");
  }
}

// Its codec is the only thing that an older agentd does not know.
TEST_F(EraseTest, AnOlderAgentdSaysNewerAndNotCorrupt) {
  {
    const auto store = open();
    ASSERT_OK(store->append(a_, 0, opening(a_, "hello")));
    ASSERT_OK(store->append(a_, 2, {{user_message(std::string(kSecret))}}));
    ASSERT_OK(erase(*store, a_, {erasure(3)}));
  }
  int plain = 0, with_erased = 0;
  damage("log", [&](std::string& value) {
    ++(value[2] == 0 ? plain : with_erased);
    return with_erased == 1 && plain == 2;  // all three have been seen; the last one is put as it is
  });
  EXPECT_EQ(plain, 2);
  EXPECT_EQ(with_erased, 1);
  // As this one says of the codec after it.
  damage("log", [](std::string& value) {
    if (value[2] == 0) return false;
    value[2] = 2;
    std::string head = value.substr(0, 64), sum;
    put_be32(head, crc32c(std::string_view(value).substr(kBatchHeaderBytes)));
    put_be32(sum, crc32c(head));
    value.replace(64, 4, sum);
    return true;
  });
  const auto store = open();
  const auto read = store->read(a_, 1, 0, [](const StoredRecord&) { return true; });
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("newer agentd"), std::string::npos) << read.error().message;
  EXPECT_EQ(read.error().message.find("store check"), std::string::npos) << read.error().message;
}

// A reader of the state before keeps its pages: they are counted, and overwritten when it has gone.
TEST_F(EraseTest, PagesThatAReaderUsesAreLeftForLater) {
  {
    const auto before = open();
    ASSERT_OK(before->append(a_, 0, opening(a_, "hello")));
    ASSERT_OK(before->append(a_, 2, {{user_message(with_secret(20'000))}}));
  }
  int ready[2] = {-1, -1}, over[2] = {-1, -1};
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(over), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char byte = 0;
    MDB_env* env = nullptr;
    MDB_txn* txn = nullptr;
    bool good = mdb_env_create(&env) == 0 && mdb_env_open(env, options().directory.c_str(), MDB_RDONLY, 0600) == 0;
    good = good && mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn) == 0;
    ::close(over[1]);
    good = ::write(ready[1], good ? "y" : "n", 1) == 1 && good;
    ::_exit(::read(over[0], &byte, 1) == 0 && good ? 0 : 1);
  }
  ::close(over[0]);
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  const auto store = open();
  ASSERT_OK(erase(*store, a_, {erasure(3)}));
  const auto first = store->wipe();
  ASSERT_OK(first);
  EXPECT_GT(first->pages_left, 0u);
  EXPECT_GT(found(), 0);
  ::close(over[1]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const auto second = store->wipe();
  ASSERT_OK(second);
  EXPECT_EQ(second->pages_left, 0u);
  EXPECT_EQ(found(), 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

// Killed at any moment of it, the log has all of an erasure or nothing, and the next process finishes the work.
TEST_F(EraseTest, AKilledProcessLeavesAllOrNothing) {
  int none = 0, all = 0;
  for (int round = 0; round < 24; ++round) {
    SCOPED_TRACE(round);
    std::filesystem::remove_all(options().directory);
    {
      const auto store = open();
      ASSERT_OK(store->append(a_, 0, opening(a_, "hello")));
      for (std::uint64_t at = 2; at < 10; ++at) ASSERT_OK(store->append(a_, at, {{user_message(with_secret(3'000))}}));
    }
    int begun[2] = {-1, -1};
    ASSERT_EQ(::pipe(begun), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const auto store = open();
      std::vector<Erasure> what;
      for (std::uint64_t seq = 3; seq <= 10; ++seq) what.push_back(erasure(seq));
      // In every other round it is killed while it overwrites what is left.
      const auto begin = [&] {
        if (::write(begun[1], "b", 1) != 1) ::_exit(1);
      };
      if (round % 2 == 0) begin();
      (void)erase(*store, a_, what);
      if (round % 2 != 0) begin();
      (void)store->wipe();
      ::_exit(0);
    }
    char byte = 0;
    ASSERT_EQ(::read(begun[0], &byte, 1), 1);
    volatile int spun = 0;
    for (int spin = 0; spin < round * 400'000; ++spin) spun = spin;
    EXPECT_GE(spun, 0);
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ::close(begun[0]);
    ::close(begun[1]);
    EXPECT_EQ(damage_found(), std::vector<std::string>{});
    const auto store = open();
    EXPECT_OK(store->verify(a_));
    int erased = 0;
    for (const StoredRecord& record : read_all(*store, a_)) erased += record.erased_by != 0 ? 1 : 0;
    EXPECT_TRUE(erased == 0 || erased == 8) << erased;
    ++(erased == 0 ? none : all);
    if (erased == 0) continue;
    ASSERT_OK(store->wipe());
    EXPECT_EQ(found(), 0);
  }
  RecordProperty("killed_before", none);
  EXPECT_GE(all, 12);
}

}  // namespace
}  // namespace agentd
