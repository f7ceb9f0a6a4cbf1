// SPDX-License-Identifier: Apache-2.0
#pragma once
// lmdb_fixture.h - the fixture of tests of the store on disk, with LMDB below it as an editor or another version of
// agentd would use it.
//
// Threading: for tests, thread-compatible.

#include <gtest/gtest.h>
#include <lmdb.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "core/store/lmdb/lmdb_store.h"
#include "core/store/store_care.h"
#include "tests/unit/store/store_support.h"

namespace agentd {

using test::genesis;
using test::id_of;
using test::opening;
using test::read_all;
using test::user_message;

inline std::string bytes_of(const Ulid& id) { return {reinterpret_cast<const char*>(id.bytes().data()), 16}; }

class LmdbStoreTest : public testing::Test {
 protected:
  LmdbOptions options() const {
    LmdbOptions out;
    out.directory = dir_ / "store";
    return out;
  }
  std::unique_ptr<Store> open() const { return test::open_store(options(), clock_); }
  Result<std::unique_ptr<Store>> try_open(const LmdbOptions& with) const { return open_lmdb_store(with, clock_); }
  std::string message_of(const LmdbOptions& with, Code code) const {
    auto store = open_lmdb_store(with, clock_);
    EXPECT_CODE(code, store);
    return store ? "" : store.error().message;
  }
  // The raw LMDB, as an editor would see it. The store must be closed.
  void raw(const char* table, const std::function<void(MDB_txn*, MDB_dbi)>& change) const {
    MDB_env* env = nullptr;
    MDB_txn* txn = nullptr;
    MDB_dbi dbi = 0;
    ASSERT_EQ(mdb_env_create(&env), 0);
    ASSERT_EQ(mdb_env_set_maxdbs(env, 16), 0);
    ASSERT_EQ(mdb_env_open(env, options().directory.c_str(), 0, 0600), 0);
    ASSERT_EQ(mdb_txn_begin(env, nullptr, 0, &txn), 0);
    ASSERT_EQ(mdb_dbi_open(txn, table, 0, &dbi), 0);
    change(txn, dbi);
    ASSERT_EQ(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
  }
  // Changes the first value of the table that `change` accepts.
  void damage(const char* table, const std::function<bool(std::string& value)>& change) const {
    raw(table, [&](MDB_txn* txn, MDB_dbi dbi) {
      MDB_cursor* cursor = nullptr;
      MDB_val key{}, value{};
      ASSERT_EQ(mdb_cursor_open(txn, dbi, &cursor), 0);
      while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
        std::string bytes(static_cast<char*>(value.mv_data), value.mv_size);
        if (!change(bytes)) continue;
        MDB_val put{bytes.size(), bytes.data()};
        ASSERT_EQ(mdb_cursor_put(cursor, &key, &put, MDB_CURRENT), 0);
        mdb_cursor_close(cursor);
        return;
      }
      FAIL() << "nothing to damage";
    });
  }
  // The findings of a check. The store must be closed.
  std::vector<std::string> damage_found() const {
    std::vector<std::string> out;
    const auto report = check_store(options().directory);
    EXPECT_OK(report);
    for (const StoreFinding& finding : report->damage) out.push_back(text_of(finding));
    return out;
  }
  static mode_t mode_of(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }
  static void write_file(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  test::TempDir dir_;
  ManualClock clock_;
  const Ulid a_ = id_of(1), b_ = id_of(2);
};

}  // namespace agentd
