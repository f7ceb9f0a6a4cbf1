// SPDX-License-Identifier: Apache-2.0
#pragma once
// bare_rows.h - the least that LMDB needs for appends: the same rows in as many tables, one transaction per group, by
// one thread. A store on LMDB cannot be faster at the same group size.
//
// Threading: thread-compatible.

#include <lmdb.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"

namespace agentd::bench {

// The bytes of the rows of an append that vary in length.
struct RowBytes {
  std::size_t batch = 0, info = 0;
};

class BareRows {
 public:
  // In an empty directory. Ends the process when LMDB refuses.
  BareRows(const std::string& directory, const std::vector<Ulid>& ids, RowBytes bytes);
  ~BareRows();
  BareRows(const BareRows&) = delete;
  BareRows& operator=(const BareRows&) = delete;

  // The rows of `count` appends in one durable transaction, each append to the next conversation in turn.
  void commit(std::size_t count);
  // Processor time of its puts so far, in this thread.
  std::uint64_t puts_ns() const { return puts_ns_; }

 private:
  struct Log {
    Ulid id;
    std::uint64_t seq = 1, cursor = 0;
  };
  enum Table { kLog, kHead, kInfo, kChanges, kByProject, kTables };
  void put(MDB_txn* txn, Table table, std::string_view key, std::string_view value) const;
  void erase(MDB_txn* txn, Table table, std::string_view key) const;
  void append(MDB_txn* txn, Log& log);

  MDB_env* env_ = nullptr;
  std::array<MDB_dbi, kTables> tables_{};
  const std::string batch_, info_;
  std::vector<Log> logs_;
  std::size_t next_ = 0;
  std::uint64_t cursor_ = 0, puts_ns_ = 0;
};

}  // namespace agentd::bench
