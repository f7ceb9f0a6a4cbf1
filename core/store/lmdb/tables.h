// SPDX-License-Identifier: Apache-2.0
#pragma once
// tables.h - the tables of the store on disk, and the form of their keys and values.
//
// All numbers are big-endian, so that rows are in numeric order.
//
// Threading: values and pure functions.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/hash.h"
#include "core/base/ids.h"
#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/store/lmdb/env.h"
#include "core/store/log_rules.h"

namespace agentd {

struct Tables {
  MDB_dbi meta = 0;      // "format" -> u64; "change_floor" -> u64, see take_cursor
  MDB_dbi log = 0;       // ULID, u64 first sequence -> batch
  MDB_dbi head = 0;      // ULID -> Head
  MDB_dbi info = 0;      // ULID -> JSON of ConversationInfo; can be rebuilt from the log
  MDB_dbi changes = 0;   // u64 cursor -> ULID; one row per conversation
  MDB_dbi keys = 0;      // space -> u64 version; space, 0, key -> u64 version, value
  MDB_dbi blob = 0;      // SHA-256 -> bytes
  MDB_dbi mentions = 0;  // SHA-256 -> u64, how often batches and receipts name the blob

  // kNotFound when the first one is missing and `create` is not set.
  static Result<Tables> open(Txn& txn, bool create);
};

// The tables that a store gets when they are first needed.
class LaterTables {
 public:
  enum class Name {
    kReceipts,   // ULID, u64 number -> JSON of HookReceipt
    kByProject,  // project, u64 cursor -> ULID; see project_index.h
    kRemoved,    // u64 cursor -> ULID; see removals.h
  };

  static const char* text_of(Name name);
  // nullopt: the store does not have it, and `create` is not set. It is made within `room`.
  Result<std::optional<MDB_dbi>> find(Env& env, Name name, bool create, Env::Room room = Env::Room::kOrdinary);
  // The table if this process has opened it.
  std::optional<MDB_dbi> opened(Name name) const;

 private:
  // LMDB requires that one thread at a time opens tables, and that no older transaction uses the new handle.
  mutable Mutex mutex_;
  std::map<Name, MDB_dbi> opened_ GUARDED_BY(mutex_);
};

// One row of the head table.
struct HeadRow {
  LogHead head;
  std::uint64_t cursor = 0;  // of the conversation's row in the change table
};
std::string write_head(const HeadRow& row);
Result<HeadRow> read_head(std::string_view value);

// A JSON object with the CRC-32C of its text as its last member, which readers of the object ignore. Rows of indexes
// and receipts, which no chain covers, are sealed in this way.
std::string sealed(std::string json);
bool is_sealed(std::string_view json);
// True for an object without a seal: older versions wrote none.
bool is_sealed_well(std::string_view json);

inline constexpr std::size_t kIdBytes = 16;  // of a conversation, at the beginning of many keys

std::string_view key_of(const Ulid& conversation);
std::string_view key_of(const Digest& digest);
std::string log_key(const Ulid& conversation, std::uint64_t first_seq);
std::string number(std::uint64_t value);
// kCorrupt for anything but the eight bytes of number().
Result<std::uint64_t> read_number(std::string_view value);
std::string space_key(std::string_view space, std::string_view key);
// nullopt for a key of another length.
std::optional<Ulid> read_ulid(std::string_view key);

// nullopt: the conversation does not exist.
Result<std::optional<HeadRow>> head_of(const Txn& txn, const Tables& tables, const Ulid& conversation);
// kCorrupt: its row is missing or damaged.
Result<ConversationInfo> info_of(const Txn& txn, const Tables& tables, std::string_view conversation);

// Reads a number; 0 when its row is missing.
Result<std::uint64_t> number_at(const Txn& txn, MDB_dbi table, std::string_view key);

// The highest cursor that any change has had; 0 = none.
Result<std::uint64_t> newest_change(const Txn& txn, const Tables& tables);
// Gives the conversation the newest place in the change table instead of `old_cursor`.
Result<std::uint64_t> push_change(Txn& txn, const Tables& tables, const Ulid& conversation, std::uint64_t old_cursor);
// A place in the feed of changes that has no row in the change table. No cursor is ever reused, so that a reader that
// continues from one misses no change.
Result<std::uint64_t> take_cursor(Txn& txn, const Tables& tables);

// Stores the bytes unless they exist, and adds one mention.
Result<void> add_blob(Txn& txn, const Tables& tables, const Digest& digest, std::string_view bytes);
// Adds `more` mentions of an existing blob; false when it is missing.
Result<bool> share_blob(Txn& txn, const Tables& tables, const Digest& digest, std::uint64_t more);
// Removes one mention; the last one removes the bytes.
Result<void> drop_blob(Txn& txn, const Tables& tables, const Digest& digest);

}  // namespace agentd
