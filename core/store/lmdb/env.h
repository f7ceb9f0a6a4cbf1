// SPDX-License-Identifier: Apache-2.0
#pragma once
// env.h - LMDB as two classes: an environment that grows, and transactions that cannot be left open.
//
// Env keeps the rules that LMDB leaves to its callers: the map is resized only while no transaction of this process
// runs; a write that does not fit is repeated on a larger map; a truncated file is refused before it is mapped; its
// descriptor is not inherited; dead readers are cleared.
//
// Threading: Env is thread-safe; a Txn belongs to the thread that began it, and a thread has at most one.

#include <lmdb.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/result.h"
#include "core/store/lmdb/fault.h"
#include "core/store/lmdb/map_gate.h"
#include "core/store/lmdb/options.h"

namespace agentd {

// 0.9.26 to 0.9.31 have a patch of the lock table that 0.9.32 reverts as racy (ITS#10095).
constexpr bool usable_lmdb(int major, int minor, int patch) {
  return major == 0 && minor == 9 && (patch == 24 || patch >= 32);
}

// For mdb_env_set_assert: ends the process, as LMDB would when this returned. The environment's context is its
// directory's name, a std::string.
[[noreturn]] void end_by_assertion(MDB_env* env, const char* what);

// mdb_env_open on a possibly full disk: kUnavailable then. A reader does without a lock file that cannot be written.
Result<void> open_environment(MDB_env* env, const std::string& directory, bool read_only);

// The error for LMDB's return value; `doing` such as "writing the store /x".
Error lmdb_error(std::string_view doing, int status);

struct Row {
  std::string_view key, value;  // valid until the next write of the transaction, or its end
};

class Env;

class Txn {
 public:
  Txn(Txn&&) = default;
  Txn& operator=(Txn&&) = delete;

  Result<MDB_dbi> open_table(const char* name, bool create);
  Result<std::optional<std::string_view>> get(MDB_dbi table, std::string_view key) const;
  Result<void> put(MDB_dbi table, std::string_view key, std::string_view value);
  // Succeeds when the key is missing.
  Result<void> erase(MDB_dbi table, std::string_view key);
  Result<std::uint64_t> count(MDB_dbi table) const;
  // Ends a read transaction so that the tables it opened stay open for the environment.
  Result<void> keep_tables();
  const std::string& directory() const;
  // The number of puts and erasures so far.
  std::uint64_t writes() const { return writes_; }
  // Parts of the tables' state in this write transaction, so that its later changes need not read them again: kept up
  // by who changes them.
  struct Known {
    std::optional<std::uint64_t> newest_change, index_upto;
  };
  Known& known() { return known_; }
  // True once LMDB has refused a call: a write transaction is not committed then.
  bool failed() const { return status_ != MDB_SUCCESS; }

 private:
  friend class Env;
  friend class Cursor;
  struct Abort {
    void operator()(MDB_txn* txn) const { mdb_txn_abort(txn); }
  };
  Txn(const Env& env, MapUse map, MDB_txn* txn);
  Error error_of(int status) const;

  const Env* env_;
  FaultScope faults_;  // until the transaction has ended
  MapUse map_;
  std::unique_ptr<MDB_txn, Abort> txn_;
  mutable int status_ = MDB_SUCCESS;  // of the failed call
  std::uint64_t writes_ = 0;
  Known known_;
};

// A position in one table. Must end before its transaction.
class Cursor {
 public:
  static Result<Cursor> open(const Txn& txn, MDB_dbi table);
  // nullopt: no such row.
  Result<std::optional<Row>> at_or_after(std::string_view key);
  // The last row before `key`.
  Result<std::optional<Row>> before(std::string_view key);
  Result<std::optional<Row>> next() { return move(MDB_NEXT); }
  Result<std::optional<Row>> previous() { return move(MDB_PREV); }
  Result<std::optional<Row>> last() { return move(MDB_LAST); }

 private:
  struct Close {
    void operator()(MDB_cursor* cursor) const { mdb_cursor_close(cursor); }
  };
  Cursor(const Txn& txn, MDB_cursor* cursor) : txn_(&txn), cursor_(cursor) {}
  Result<std::optional<Row>> move(MDB_cursor_op op, std::string_view key = {});

  const Txn* txn_;
  std::unique_ptr<MDB_cursor, Close> cursor_;
};

class Env {
 public:
  // kReserve allows a write to use the space above map_bytes_max, so that deleting works in a full store.
  enum class Room { kOrdinary, kReserve };

  // REQUIRES: the directory is prepared (home.h). `fresh`: it contains no store yet.
  static Result<std::unique_ptr<Env>> open(const LmdbOptions& options, const Clock& clock, bool fresh);
  ~Env();
  Env(const Env&) = delete;
  Env& operator=(const Env&) = delete;

  Result<Txn> begin_read() const;
  // Runs `change` in a write transaction and commits it, durable when this returns. `change` may run several times,
  // each in a new transaction. When it fails, nothing is written.
  Result<void> write(Room room, const std::function<Result<void>(Txn&)>& change);

  // The file while nobody writes to it.
  struct Quiet {
    int fd = -1;
    std::uint64_t newest = 0;  // the number of the newest commit
    std::uint64_t oldest = 0;  // the oldest state that a reader uses, or that the older meta page leads to
  };
  // Runs `work`, which overwrites what was deleted, while no process can write; readers continue. From its success on
  // each process cleans the buffers that it uses again before it commits.
  Result<void> alone(const std::function<Result<void>(const Quiet&)>& work);

  const std::string& directory() const { return options_.directory; }
  std::uint64_t map_bytes() const;
  std::uint64_t used_bytes() const;
  std::uint64_t file_bytes() const;

 private:
  friend class Txn;
  Env(const LmdbOptions& options, const Clock& clock) : options_(options), clock_(clock) {}
  Result<void> start(bool fresh);
  Result<void> check_length();
  MDB_envinfo usage() const;  // by who is inside of the gate, or has shut it
  std::uint64_t used_bytes(const MDB_envinfo& usage) const;
  Result<Txn> begin(unsigned flags) const;
  Error write_failed(int status) const;
  bool disk_is_full() const;
  bool is_as_large_as_allowed() const;
  void keep_reserve() const;
  Result<void> write_within(Room room, const std::function<Result<void>(Txn&)>& change);
  Result<bool> try_write(const std::function<Result<void>(Txn&)>& change);
  std::uint64_t wipes() const;
  Result<void> count_wipe();
  Result<void> clean_buffers(std::uint64_t buffers);
  Result<void> make_room(Room room);
  Result<bool> grow(Room room, std::uint64_t seen);
  Result<void> resize(std::uint64_t bytes) const;
  std::uint64_t map_limit(Room room) const;
  void clear_dead_readers() const;
  std::string doing(bool writing) const;

  const LmdbOptions options_;
  const Clock& clock_;
  UniqueFd claim_, shared_lock_;  // closed after env_
  UniqueFd wipes_;                // the file with the number of wipes
  std::atomic<std::uint64_t> wipes_seen_ = 0;
  std::atomic<std::uint64_t> buffers_most_ = 0;  // that a transaction may have used
  MDB_env* env_ = nullptr;
  mutable MapGate map_gate_;
  mutable std::atomic<bool> unmapped_ = false;
  std::atomic<bool> wrote_ = false, disk_full_ = false;
  mutable std::atomic<std::uint64_t> readers_checked_ns_ = 0;
};

}  // namespace agentd
