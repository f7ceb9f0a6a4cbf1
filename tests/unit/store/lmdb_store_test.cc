// SPDX-License-Identifier: Apache-2.0
// The guarantees of the store on disk alone: files, modes, formats, sizes, damage.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <lmdb.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/store/batch.h"
#include "core/store/lmdb/check.h"
#include "core/store/lmdb/env.h"
#include "core/store/lmdb/home.h"
#include "tests/unit/store/lmdb_fixture.h"

namespace agentd {
namespace {

// Whoever makes a table waits for LMDB's writer, and must not keep it waiting.
TEST_F(LmdbStoreTest, TheFirstReceiptIsStoredWhileOthersAppend) {
  for (int i = 0; i < 50; ++i) {
    LmdbOptions own = options();
    own.directory += std::to_string(i);
    const auto store = test::open_store(own, clock_);
    ASSERT_OK(store->append(a_, 0, opening(a_)));
    ASSERT_OK(store->append(b_, 0, opening(b_)));
    std::atomic<bool> done = false;
    std::thread appender([&] {
      for (std::uint64_t revision = 2; !done; ++revision)
        EXPECT_OK(store->append(a_, revision, {{user_message("more")}}));
    });
    HookReceipt receipt;
    receipt.hook = "guard";
    EXPECT_OK(store->append_receipts(b_, {{receipt}}));
    done = true;
    appender.join();
  }
}

// What this process knows of a log is compared in the transaction.
TEST_F(LmdbStoreTest, AnAppendFollowsTheLogThatIsThere) {
  const auto store = open();
  const auto lease = store->lease(a_);
  ASSERT_OK(store->append(a_, 0, opening(a_)));
  const std::string other(32, 'c');
  const pid_t child = ::fork();
  if (child == 0) {
    raw("head", [&](MDB_txn* txn, MDB_dbi dbi) {
      const std::string id = bytes_of(a_);
      MDB_val key{id.size(), const_cast<char*>(id.data())}, value{};
      ASSERT_EQ(mdb_get(txn, dbi, &key, &value), 0);
      std::string head(static_cast<char*>(value.mv_data), value.mv_size);
      head.replace(8, 32, other);
      MDB_val put{head.size(), head.data()};
      ASSERT_EQ(mdb_put(txn, dbi, &key, &put, 0), 0);
    });
    ::_exit(HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_OK(store->append(a_, 2, {{user_message("next")}}));
  const Result<void> verified = store->verify(a_);
  EXPECT_CODE(Code::kCorrupt, verified);
  EXPECT_NE(verified.error().message.find("its link to the batch before is broken"), std::string::npos)
      << verified.error().message;
}

// ---- opening

TEST_F(LmdbStoreTest, MakesItsDirectoriesPrivate) {
  LmdbOptions deep = options();
  deep.directory = dir_ / "one/two/store";
  const mode_t before = ::umask(0);
  const auto store = open_lmdb_store(deep, clock_);
  ASSERT_OK(store);
  ASSERT_OK((*store)->append(a_, 0, opening(a_)));
  const auto lease = (*store)->lease(a_);
  ::umask(before);
  for (const char* name : {"one", "one/two", "one/two/store", "one/two/store/leases"})
    EXPECT_EQ(mode_of(dir_ / name), 0700u) << name;
  for (const char* name : {"data.mdb", "lock.mdb", "process.lock"})
    EXPECT_EQ(mode_of(deep.directory + "/" + name), 0600u) << name;
  EXPECT_EQ(mode_of(deep.directory + "/leases/" + a_.text() + ".lock"), 0600u);
}

TEST_F(LmdbStoreTest, OpensAnEmptyDirectoryThatIsThereAlready) {
  ::mkdir(options().directory.c_str(), 0755);
  EXPECT_OK(try_open(options()));
}

TEST_F(LmdbStoreTest, WithoutCreateAMissingStoreIsNotFoundAndNothingIsMade) {
  LmdbOptions there_only = options();
  there_only.create = false;
  EXPECT_EQ(message_of(there_only, Code::kNotFound), "no store in " + options().directory);
  EXPECT_FALSE(std::filesystem::exists(options().directory));
  ::mkdir(options().directory.c_str(), 0700);
  message_of(there_only, Code::kNotFound);
  EXPECT_TRUE(std::filesystem::is_empty(options().directory));
}

TEST_F(LmdbStoreTest, TableOfReceiptsIsMadeWithTheFirstOfThem) {
  const auto tables = [&] {
    std::string names;
    raw(nullptr, [&](MDB_txn* txn, MDB_dbi dbi) {
      MDB_cursor* cursor = nullptr;
      MDB_val key{}, value{};
      ASSERT_EQ(mdb_cursor_open(txn, dbi, &cursor), 0);
      while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0)
        names += std::string(static_cast<char*>(key.mv_data), key.mv_size) + " ";
      mdb_cursor_close(cursor);
    });
    return names;
  };
  int seen = 0;
  const auto count = [&](const HookReceipt&) { return ++seen > 0; };
  ASSERT_OK(open()->append(a_, 0, opening(a_)));
  ASSERT_OK(open()->receipts(a_, count));
  LmdbOptions read_only = options();
  read_only.read_only = true;
  ASSERT_OK((*try_open(read_only))->receipts(a_, count));
  EXPECT_EQ(seen, 0);
  EXPECT_EQ(tables().find("receipts"), std::string::npos);
  HookReceipt receipt;
  receipt.hook = "guard";
  ASSERT_OK(open()->append_receipts(a_, {{receipt}}));
  EXPECT_NE(tables().find("receipts"), std::string::npos);
  ASSERT_OK((*try_open(read_only))->receipts(a_, count));
  EXPECT_EQ(seen, 1);
  EXPECT_CODE(Code::kDenied, (*try_open(read_only))->append_receipts(a_, {{receipt}}));
}

TEST_F(LmdbStoreTest, DamagedReceiptIsToldAndCanBeRemoved) {
  HookReceipt receipt;
  receipt.hook = "guard";
  ASSERT_OK(open()->append(a_, 0, opening(a_), {}, {{receipt}}));
  damage("receipts", [](std::string& value) {
    value[0] = '?';
    return true;
  });
  const auto store = open();
  EXPECT_CODE(Code::kCorrupt, store->receipts(a_, [](const HookReceipt&) { return true; }));
  EXPECT_OK(store->verify(a_));
  EXPECT_OK(store->remove(a_));
}

TEST_F(LmdbStoreTest, OpeningAStoreThatExistsWritesNothing) {
  ASSERT_OK(open()->append(a_, 0, opening(a_)));
  const std::string before = *read_file(options().directory + "/data.mdb", 1 << 30);
  open();
  EXPECT_EQ(*read_file(options().directory + "/data.mdb", 1 << 30), before);
}

TEST_F(LmdbStoreTest, IsOpenOnceInAProcess) {
  auto first = open();
  EXPECT_EQ(message_of(options(), Code::kBusy),
            "the store " + options().directory + " is already open in this process: use that one");
  ASSERT_OK(first->append(a_, 0, opening(a_)));
  first.reset();
  EXPECT_EQ(open()->info(a_)->revision, 2u);
}

TEST_F(LmdbStoreTest, DescriptorsAreNotInherited) {
  const auto store = open();
  const auto lease = store->lease(a_);
  int checked = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry.path(), gone);
    if (gone || !target.string().starts_with(dir_.path())) continue;
    ++checked;
    EXPECT_NE(::fcntl(std::stoi(entry.path().filename()), F_GETFD) & FD_CLOEXEC, 0) << target;
  }
  EXPECT_GE(checked, 4);
}

TEST_F(LmdbStoreTest, ReadOnlyReadsAndRefusesWrites) {
  ASSERT_OK(open()->append(a_, 0, opening(a_)));
  LmdbOptions read_only = options();
  read_only.read_only = true;
  const auto store = test::open_store(read_only, clock_);
  EXPECT_EQ(read_all(*store, a_).size(), 2u);
  EXPECT_OK(store->verify(a_));
  EXPECT_CODE(Code::kDenied, store->append(a_, 2, {{user_message("x")}}));
  EXPECT_CODE(Code::kDenied, store->remove(a_));
  EXPECT_CODE(Code::kDenied, store->lease(a_));
  const std::vector<KeyOp> ops{{KeyOp::Kind::kPut, "k", "v", KeyOp::kAny}};
  EXPECT_CODE(Code::kDenied, store->commit_keys("s", ops));
}

// ---- bad homes

TEST_F(LmdbStoreTest, RefusesANewerFormat) {
  open();
  raw("meta", [](MDB_txn* txn, MDB_dbi meta) {
    std::string name = "format", seven("\0\0\0\0\0\0\0\7", 8);
    MDB_val key{name.size(), name.data()}, value{seven.size(), seven.data()};
    ASSERT_EQ(mdb_put(txn, meta, &key, &value, 0), 0);
  });
  EXPECT_EQ(message_of(options(), Code::kInvalid),
            "store " + options().directory +
                " was written by a newer agentd (format 7, this one reads up to 1): update agentd");
}

TEST_F(LmdbStoreTest, RefusesADatabaseOfAnotherProgram) {
  ::mkdir(options().directory.c_str(), 0700);
  MDB_env* env = nullptr;
  MDB_txn* txn = nullptr;
  MDB_dbi dbi = 0;
  ASSERT_EQ(mdb_env_create(&env), 0);
  ASSERT_EQ(mdb_env_set_maxdbs(env, 4), 0);
  ASSERT_EQ(mdb_env_open(env, options().directory.c_str(), 0, 0600), 0);
  ASSERT_EQ(mdb_txn_begin(env, nullptr, 0, &txn), 0);
  ASSERT_EQ(mdb_dbi_open(txn, "theirs", MDB_CREATE, &dbi), 0);
  ASSERT_EQ(mdb_txn_commit(txn), 0);
  mdb_env_close(env);
  const std::string before = *read_file(options().directory + "/data.mdb", 1 << 30);
  EXPECT_NE(message_of(options(), Code::kCorrupt).find("agentd did not write"), std::string::npos);
  EXPECT_EQ(*read_file(options().directory + "/data.mdb", 1 << 30), before);
}

TEST_F(LmdbStoreTest, RefusesAGarbageFileWithoutTouchingIt) {
  for (const std::size_t size : {1u, 100u, 8191u, 8192u, 100'000u}) {
    std::filesystem::remove_all(options().directory);
    ::mkdir(options().directory.c_str(), 0700);
    const std::string file = options().directory + "/data.mdb";
    write_file(file, std::string(size, 'g'));
    message_of(options(), Code::kCorrupt);
    EXPECT_EQ(*read_file(file, 1 << 30), std::string(size, 'g'));
    int files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(options().directory)) ++files;
    EXPECT_EQ(files, 1);
  }
}

TEST_F(LmdbStoreTest, RefusesADataFileThatIsNone) {
  std::filesystem::create_directories(options().directory + "/data.mdb");
  message_of(options(), Code::kCorrupt);
  std::filesystem::remove(options().directory + "/data.mdb");
  ASSERT_EQ(::mkfifo((options().directory + "/data.mdb").c_str(), 0600), 0);
  message_of(options(), Code::kCorrupt);
}

TEST_F(LmdbStoreTest, RefusesAFileInPlaceOfItsDirectory) {
  write_file(options().directory, "x");
  EXPECT_EQ(message_of(options(), Code::kInvalid), "the store " + options().directory + " is not a directory");
  LmdbOptions below = options();
  below.directory += "/deeper";
  EXPECT_FALSE(try_open(below));
}

TEST_F(LmdbStoreTest, RefusesADirectoryThatEverybodyMayWrite) {
  open();
  ::chmod(options().directory.c_str(), 0777);
  EXPECT_EQ(message_of(options(), Code::kDenied),
            "the store " + options().directory + " is writable by every user: run chmod 700 " + options().directory);
}

TEST_F(LmdbStoreTest, RefusesAFileThatWasCut) {
  {
    const auto store = open();
    ASSERT_OK(store->append(a_, 0, opening(a_)));
    for (std::uint64_t i = 2; i < 60; ++i) ASSERT_OK(store->append(a_, i, {{user_message(std::string(60'000, 'x'))}}));
  }
  const std::string file = options().directory + "/data.mdb";
  const auto size = std::filesystem::file_size(file);
  std::filesystem::resize_file(file, size / 2);
  EXPECT_NE(message_of(options(), Code::kCorrupt).find("was truncated"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(file), size / 2);
}

TEST_F(LmdbStoreTest, NamesRemoteFileSystems) {
  EXPECT_EQ(remote_file_system(0x6969), "NFS");
  EXPECT_EQ(remote_file_system(static_cast<int>(0xff534d42)), "CIFS");
  EXPECT_EQ(remote_file_system(0x65735546), "FUSE");
  EXPECT_EQ(remote_file_system(0x01021997), "9p");
  EXPECT_EQ(remote_file_system(0xef53), "");      // ext4
  EXPECT_EQ(remote_file_system(0x01021994), "");  // tmpfs
  EXPECT_EQ(remote_file_system(0x794c7630), "");  // overlayfs
}

// Rights do not bind root, so the child becomes another user.
TEST_F(LmdbStoreTest, AnUnwritableDirectoryIsDenied) {
  ::chmod(dir_.path().c_str(), 0755);
  const std::string directory = options().directory;
  ::mkdir(directory.c_str(), 0755);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0) {
      if (::chown(directory.c_str(), 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
    }
    ::chmod(directory.c_str(), 0500);
    const auto store = try_open(options());
    const bool denied =
        !store && store.error().code == Code::kDenied && store.error().message.find(directory) != std::string::npos;
    ::_exit(denied ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::is_empty(directory));
}

TEST_F(LmdbStoreTest, OnlyLmdbVersionsWithASoundLockTableAreUsed) {
  EXPECT_TRUE(usable_lmdb(0, 9, 24));
  EXPECT_TRUE(usable_lmdb(0, 9, 32));
  for (const int patch : {23, 25, 26, 31}) EXPECT_FALSE(usable_lmdb(0, 9, patch));
  EXPECT_FALSE(usable_lmdb(1, 0, 0));
}

TEST_F(LmdbStoreTest, ErrorsOfLmdbSayWhatToDo) {
  EXPECT_EQ(lmdb_error("writing the store /x", MDB_PANIC).code, Code::kUnavailable);
  EXPECT_EQ(lmdb_error("writing the store /x", MDB_PANIC).message,
            "writing the store /x: an earlier write to its file failed: close and reopen the store");
  EXPECT_EQ(lmdb_error("writing the store /x", ENOSPC).code, Code::kUnavailable);
  EXPECT_EQ(lmdb_error("writing the store /x", EIO).code, Code::kUnavailable);
  EXPECT_EQ(lmdb_error("writing the store /x", EROFS).code, Code::kDenied);
  EXPECT_EQ(lmdb_error("reading the store /x", MDB_CORRUPTED).code, Code::kCorrupt);
}

// ---- damage

TEST_F(LmdbStoreTest, VerifyAndReadFindAFlippedByteOfABatch) {
  ASSERT_OK(open()->append(a_, 0, opening(a_)));
  for (const std::size_t at : {0u, 9u, 40u, 65u, 80u, 100u, 130u, 200u}) {
    damage("log", [&](std::string& value) { return value[at] ^= 1, true; });
    {
      const auto store = open();
      EXPECT_CODE(Code::kCorrupt, store->verify(a_));
      EXPECT_CODE(Code::kCorrupt, store->read(a_, 1, 0, [](const StoredRecord&) { return true; }));
    }
    damage("log", [&](std::string& value) { return value[at] ^= 1, true; });
    EXPECT_OK(open()->verify(a_));
  }
}

TEST_F(LmdbStoreTest, VerifyNamesTheBatch) {
  {
    const auto store = open();
    ASSERT_OK(store->append(a_, 0, opening(a_)));
    ASSERT_OK(store->append(a_, 2, {{user_message("needle")}}));
  }
  damage("log", [](std::string& value) {
    const std::size_t at = value.find("needle");
    if (at != std::string::npos) value[at] = 'N';
    return at != std::string::npos;
  });
  const auto verified = open()->verify(a_);
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().message, "conversation " + a_.text() +
                                          ", batch at sequence 3: the batch does not match its "
                                          "checksum; " +
                                          kDamageAdvice);
}

// A forger knows the format and corrects every checksum of the batch.
TEST_F(LmdbStoreTest, VerifyFindsABatchThatWasForged) {
  {
    const auto store = open();
    ASSERT_OK(store->append(a_, 0, opening(a_)));
    ASSERT_OK(store->append(a_, 2, {{user_message("pay 10")}}));
    ASSERT_OK(store->append(a_, 3, {{user_message("thanks")}}));
  }
  damage("log", [](std::string& value) {
    auto batch = decode_batch(value);
    if (!batch || batch->first_seq != 3) return false;
    const std::string forged = user_message("pay 99").payload;
    batch->records[0].payload = forged;
    batch->records[0].digest = sha256(forged);
    value = encode_batch(*batch);
    return true;
  });
  const auto verified = open()->verify(a_);
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().message, "conversation " + a_.text() +
                                          ", batch at sequence 4: its link to the batch before is "
                                          "broken; " +
                                          kDamageAdvice);
}

TEST_F(LmdbStoreTest, VerifyFindsALastBatchThatWasForged) {
  ASSERT_OK(open()->append(a_, 0, opening(a_)));
  damage("log", [](std::string& value) {
    auto batch = decode_batch(value);
    if (!batch) return false;
    batch->time_ms += 1;
    value = encode_batch(*batch);
    return true;
  });
  const auto verified = open()->verify(a_);
  ASSERT_FALSE(verified);
  EXPECT_NE(verified.error().message.find("does not end where its head says"), std::string::npos);
}

TEST_F(LmdbStoreTest, VerifyFindsABlobThatChangedOrIsMissing) {
  const std::vector<std::string> blobs{"attached"};
  const std::string text(70'000, 'x');
  ASSERT_OK(open()->append(a_, 0, {{genesis(a_), user_message(text)}}, blobs));
  const auto flip = [](std::string& value) { return value[5] ^= 1, true; };
  damage("blob", [&](std::string& value) { return value.size() > 70'000 && flip(value); });
  EXPECT_CODE(Code::kCorrupt, open()->verify(a_));
  EXPECT_CODE(Code::kCorrupt, open()->read(a_, 1, 0, [](const StoredRecord&) { return true; }));
  damage("blob", [&](std::string& value) { return value.size() > 70'000 && flip(value); });
  EXPECT_OK(open()->verify(a_));
  damage("blob", [&](std::string& value) { return value.size() == 8 && flip(value); });
  EXPECT_CODE(Code::kCorrupt, open()->verify(a_));
  raw("blob", [](MDB_txn* txn, MDB_dbi blob) { ASSERT_EQ(mdb_drop(txn, blob, 0), 0); });
  EXPECT_CODE(Code::kCorrupt, open()->verify(a_));
}

TEST_F(LmdbStoreTest, VerifyFindsABatchThatIsMissingOrAHeadThatLies) {
  {
    const auto store = open();
    ASSERT_OK(store->append(a_, 0, opening(a_)));
    ASSERT_OK(store->append(a_, 2, {{user_message("x")}}));
    ASSERT_OK(store->append(a_, 3, {{user_message("y")}}));
  }
  damage("head", [](std::string& value) { return value[20] ^= 1, true; });
  EXPECT_CODE(Code::kCorrupt, open()->verify(a_));
  damage("head", [](std::string& value) { return value[20] ^= 1, true; });
  damage("head", [](std::string& value) { return value[7] = 5, true; });
  EXPECT_CODE(Code::kCorrupt, open()->verify(a_));
  damage("head", [](std::string& value) { return value[7] = 4, true; });
  EXPECT_OK(open()->verify(a_));
  raw("log", [&](MDB_txn* txn, MDB_dbi log) {
    MDB_cursor* cursor = nullptr;
    MDB_val key{}, value{};
    ASSERT_EQ(mdb_cursor_open(txn, log, &cursor), 0);
    ASSERT_EQ(mdb_cursor_get(cursor, &key, &value, MDB_NEXT), 0);
    ASSERT_EQ(mdb_cursor_get(cursor, &key, &value, MDB_NEXT), 0);
    ASSERT_EQ(mdb_cursor_del(cursor, 0), 0);
    mdb_cursor_close(cursor);
  });
  EXPECT_CODE(Code::kCorrupt, open()->verify(a_));
  EXPECT_CODE(Code::kCorrupt, open()->read(a_, 1, 0, [](const StoredRecord&) { return true; }));
}

TEST_F(LmdbStoreTest, ABrokenConversationCanBeRemovedAndHarmsNoOther) {
  {
    const auto store = open();
    ASSERT_OK(store->append(a_, 0, opening(a_)));
    ASSERT_OK(store->append(b_, 0, opening(b_)));
  }
  damage("log", [](std::string& value) { return value[90] ^= 1, true; });
  const auto store = open();
  EXPECT_CODE(Code::kCorrupt, store->verify(a_));
  EXPECT_OK(store->verify(b_));
  EXPECT_OK(store->remove(a_));
  EXPECT_CODE(Code::kNotFound, store->info(a_));
  EXPECT_EQ(read_all(*store, b_).size(), 2u);
}

// ---- size

TEST_F(LmdbStoreTest, TheMapGrowsAutomatically) {
  LmdbOptions small = options();
  small.map_bytes = 256 * 1024;
  const auto store = test::open_store(small, clock_);
  const std::uint64_t before = store->stats()->map_bytes;
  EXPECT_EQ(before, 256u * 1024);
  ASSERT_OK(store->append(a_, 0, opening(a_)));
  ASSERT_OK(store->append(a_, 2, {{user_message(std::string(3'000'000, 'x'))}}));
  for (std::uint64_t i = 3; i < 60; ++i) ASSERT_OK(store->append(a_, i, {{user_message(std::string(50'000, 'x'))}}));
  EXPECT_GT(store->stats()->map_bytes, before * 8);
  EXPECT_EQ(read_all(*store, a_).size(), 60u);
  EXPECT_OK(store->verify(a_));
}

TEST_F(LmdbStoreTest, AFullStoreSaysSoStillReadsDeletesAndGoesOn) {
  LmdbOptions small = options();
  small.map_bytes = 256 * 1024;
  small.map_bytes_max = 1 << 20;
  const auto store = test::open_store(small, clock_);
  for (int round = 0; round < 5; ++round) {
    ASSERT_OK(store->append(a_, 0, opening(a_)));
    std::uint64_t revision = 2;
    // Ever smaller records, until not even an empty one fits.
    for (const std::size_t size : {50'000u, 9'000u, 1'000u, 0u}) {
      Result<std::vector<StoredRecord>> appended = std::vector<StoredRecord>{};
      while (appended && revision < 5000) {
        appended = store->append(a_, revision, {{user_message(std::string(size, 'x'))}});
        if (appended) ++revision;
      }
      EXPECT_CODE(Code::kUnavailable, appended);
      EXPECT_NE(appended.error().message.find("delete conversations"), std::string::npos);
    }
    EXPECT_GT(revision, 20u) << round;
    EXPECT_EQ(read_all(*store, a_).size(), revision);
    EXPECT_OK(store->verify(a_));
    ASSERT_OK(store->remove(a_));
    EXPECT_LE(store->stats()->bytes, 1'250'000u) << round;
  }
}

TEST_F(LmdbStoreTest, AFullStoreOfAnOlderAgentdCanBeEmptied) {
  open();
  raw("removed", [](MDB_txn* txn, MDB_dbi dbi) { ASSERT_EQ(mdb_drop(txn, dbi, 1), 0); });
  LmdbOptions small = options();
  small.map_bytes_max = 1 << 20;
  const auto store = test::open_store(small, clock_);
  ASSERT_OK(store->append(a_, 0, opening(a_)));
  std::uint64_t revision = 2;
  for (const std::size_t size : {50'000u, 9'000u, 1'000u, 0u})
    while (revision < 5000 && store->append(a_, revision, {{user_message(std::string(size, 'x'))}})) ++revision;
  EXPECT_CODE(Code::kUnavailable, store->append(a_, revision, {{user_message("x")}}));
  ASSERT_OK(store->remove(a_));
  EXPECT_EQ(store->changes(0, 10)->removed, std::vector<Ulid>{a_});
}

TEST_F(LmdbStoreTest, AFullDiskIsUnavailableAndLosesNothing) {
  // A limit on the size of files fails like a full disk, without root.
  const pid_t child = ::fork();
  if (child == 0) {
    const auto store = open();
    if (!store || !store->append(a_, 0, opening(a_))) ::_exit(2);
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{200'000, 200'000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(3);
    std::uint64_t revision = 2;
    for (; revision < 100; ++revision) {
      const auto appended = store->append(a_, revision, {{user_message(std::string(9'000, 'x'))}});
      if (appended) continue;
      if (appended.error().code != Code::kUnavailable) ::_exit(4);
      break;
    }
    if (revision == 100 || !store->verify(a_) || store->info(a_)->revision != revision) ::_exit(5);
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_OK(open()->verify(a_));
}

// ---- leases

TEST_F(LmdbStoreTest, AStaleLockFileIsTakenOver) {
  const auto store = open();
  std::filesystem::create_directories(options().directory + "/leases");
  const std::string file = options().directory + "/leases/" + a_.text() + ".lock";
  write_file(file, "4194000\nleft over");
  {
    const auto lease = store->lease(a_);
    ASSERT_OK(lease);
    EXPECT_EQ(*read_file(file, 100), std::to_string(::getpid()) + "\n");
    const auto second = store->lease(a_);
    EXPECT_CODE(Code::kBusy, second);
    EXPECT_EQ(second.error().message,
              "conversation " + a_.text() + " is in use: another client works in it; try again when that has ended");
  }
  EXPECT_FALSE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace agentd
