// SPDX-License-Identifier: Apache-2.0
#include "bench/store/bare_rows.h"

#include <cstdio>
#include <cstdlib>

#include "bench/cpu_time.h"
#include "core/store/lmdb/tables.h"

namespace agentd::bench {
namespace {

constexpr std::size_t kMapBytes = std::size_t{64} << 30;
constexpr std::string_view kProject = "sixteen bytes of", kUpTo = "upto";

void need(int status) {
  if (status == MDB_SUCCESS) return;
  std::fprintf(stderr, "bench_store: LMDB alone: %s\n", mdb_strerror(status));
  std::exit(1);
}

MDB_val value_of(std::string_view text) { return {text.size(), const_cast<char*>(text.data())}; }

}  // namespace

BareRows::BareRows(const std::string& directory, const std::vector<Ulid>& ids, RowBytes bytes)
    : batch_(bytes.batch, 'x'), info_(bytes.info, 'y') {
  for (const Ulid& id : ids) logs_.push_back({id});
  need(mdb_env_create(&env_));
  need(mdb_env_set_mapsize(env_, kMapBytes));
  need(mdb_env_set_maxdbs(env_, kTables));
  need(mdb_env_open(env_, directory.c_str(), MDB_NOTLS, 0600));
  MDB_txn* txn = nullptr;
  need(mdb_txn_begin(env_, nullptr, 0, &txn));
  for (std::size_t i = 0; i < tables_.size(); ++i)
    need(mdb_dbi_open(txn, std::string(1, static_cast<char>('a' + i)).c_str(), MDB_CREATE, &tables_[i]));
  need(mdb_txn_commit(txn));
}

BareRows::~BareRows() { mdb_env_close(env_); }

void BareRows::put(MDB_txn* txn, Table table, std::string_view key, std::string_view value) const {
  MDB_val k = value_of(key), v = value_of(value);
  need(mdb_put(txn, tables_[table], &k, &v, 0));
}

void BareRows::erase(MDB_txn* txn, Table table, std::string_view key) const {
  MDB_val k = value_of(key);
  need(mdb_del(txn, tables_[table], &k, nullptr));
}

void BareRows::append(MDB_txn* txn, Log& log) {
  const auto listed = [](std::uint64_t cursor) { return std::string(kProject).append(number(cursor)); };
  const std::string_view id = key_of(log.id);
  put(txn, kLog, log_key(log.id, log.seq++), batch_);
  if (log.cursor != 0) {
    erase(txn, kChanges, number(log.cursor));
    erase(txn, kByProject, listed(log.cursor));
  }
  log.cursor = ++cursor_;
  put(txn, kChanges, number(log.cursor), id);
  put(txn, kByProject, listed(log.cursor), id);
  put(txn, kByProject, kUpTo, number(log.cursor));
  put(txn, kHead, id, write_head(HeadRow{{log.seq, {}}, log.cursor}));
  put(txn, kInfo, id, info_);
}

void BareRows::commit(std::size_t count) {
  MDB_txn* txn = nullptr;
  need(mdb_txn_begin(env_, nullptr, 0, &txn));
  const std::uint64_t begin = thread_cpu_ns();
  for (; count > 0; --count) append(txn, logs_[next_++ % logs_.size()]);
  puts_ns_ += thread_cpu_ns() - begin;
  need(mdb_txn_commit(txn));
}

}  // namespace agentd::bench
