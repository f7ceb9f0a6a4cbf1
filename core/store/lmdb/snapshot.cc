// SPDX-License-Identifier: Apache-2.0
#include "core/store/lmdb/snapshot.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "core/store/lmdb/env.h"
#include "core/store/lmdb/home.h"
#include "core/store/lmdb/lock_file.h"

namespace agentd {
namespace {

constexpr MDB_dbi kSnapshotTablesMax = 64;
// Two more transactions may have ended by the time the file is read.
constexpr int kAttempts = 64;
constexpr int kLooksMax = 3;
constexpr Milliseconds kBetweenLooks{10};

Result<void> checked(const std::string& directory, int status) {
  if (status == MDB_SUCCESS) return {};
  return lmdb_error("opening the store " + directory, status);
}

}  // namespace

Result<StoreSnapshot> StoreSnapshot::take(const std::string& directory) {
  const std::string file = directory + "/data.mdb";
  auto claim = claim_process(directory);
  if (!claim && claim.error().code != Code::kDenied) return claim.error();
  AGENTD_TRY(Pages first, Pages::open(file));
  // A meta page may be half-written at this moment.
  for (int again = 0; again < kLooksMax && !first.damage().empty(); ++again) {
    SystemClock().pause(kBetweenLooks);
    AGENTD_TRY(first, Pages::open(file));
  }
  StoreSnapshot out(std::move(first), directory);
  if (claim) out.claim_ = std::move(*claim);
  if (!out.pages_.damage().empty()) return out;
  const FaultScope faults(directory);
  MDB_env* env = nullptr;
  AGENTD_TRY_VOID(checked(directory, mdb_env_create(&env)));
  out.env_.reset(env);
  mdb_env_set_userctx(env, const_cast<std::string*>(&directory));  // LMDB passes it back, end_by_assertion() reads it
  mdb_env_set_assert(env, end_by_assertion);
  mdb_env_set_maxdbs(env, kSnapshotTablesMax);
  AGENTD_TRY_VOID(open_environment(env, directory, true));
  for (int attempt = 0;; ++attempt) {
    MDB_txn* txn = nullptr;
    AGENTD_TRY_VOID(checked(directory, mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn)));
    out.txn_.reset(txn);
    auto pages = Pages::open(file, mdb_txn_id(txn));
    if (!pages && pages.error().code == Code::kConflict && attempt < kAttempts) {
      out.txn_.reset();
      continue;
    }
    if (!pages && pages.error().code == Code::kConflict)
      return Error{Code::kBusy, file + " is being written to all the time: try again"};
    AGENTD_TRY(out.pages_, std::move(pages));
    return out;
  }
}

Result<void> StoreSnapshot::copy_to(int fd, const std::string& name) {
  const FaultScope faults(directory_);
  int status = mdb_env_copyfd2(env_.get(), fd, MDB_CP_COMPACT);
  // Pages that are neither free nor in use make it fail; a copy page by page includes them.
  if (status == MDB_INCOMPATIBLE && ::lseek(fd, 0, SEEK_SET) == 0 && ::ftruncate(fd, 0) == 0)
    status = mdb_env_copyfd2(env_.get(), fd, 0);
  if (status == MDB_SUCCESS) return {};
  if (status == ENOSPC || status == EDQUOT) return no_space("writing " + name);
  return lmdb_error("writing " + name, status);
}

Result<void> StoreSnapshot::read_all_with_lmdb() {
  const FaultScope faults(directory_);
  MDB_dbi names = 0;
  std::size_t bytes = 0;
  const auto read_table = [&](MDB_dbi table) -> int {
    MDB_cursor* cursor = nullptr;
    if (const int status = mdb_cursor_open(txn_.get(), table, &cursor); status != MDB_SUCCESS) return status;
    MDB_val key{}, value{};
    int status = MDB_SUCCESS;
    while ((status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == MDB_SUCCESS)
      // Touches one byte of each page of the value.
      for (std::size_t at = 0; at < value.mv_size; at += 4096)
        bytes += *(static_cast<const volatile unsigned char*>(value.mv_data) + at);
    mdb_cursor_close(cursor);
    return status == MDB_NOTFOUND ? MDB_SUCCESS : status;
  };
  const auto failed = [](int status) { return lmdb_error("reading the store", status); };
  if (const int status = mdb_dbi_open(txn_.get(), nullptr, 0, &names); status != MDB_SUCCESS) return failed(status);
  if (const int status = read_table(names); status != MDB_SUCCESS) return failed(status);
  for (const std::string& name : pages_.tables()) {
    MDB_dbi table = 0;
    if (const int status = mdb_dbi_open(txn_.get(), name.c_str(), 0, &table); status != MDB_SUCCESS)
      return failed(status);
    if (const int status = read_table(table); status != MDB_SUCCESS) return failed(status);
  }
  return {};
}

}  // namespace agentd
