// SPDX-License-Identifier: Apache-2.0
// salvage.cc - makes a new store from the readable part of an old one, and copies of an intact one.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>

#include "core/base/bytes.h"
#include "core/store/lmdb/check.h"
#include "core/store/lmdb/home.h"
#include "core/store/lmdb/lmdb_store.h"
#include "core/store/lmdb/snapshot.h"
#include "core/store/lmdb/tables.h"

namespace agentd {
namespace {

Result<void> make_target(const std::string& to) {
  if (to.empty()) return Error{Code::kInvalid, "the new store needs a directory"};
  if (::mkdir(to.c_str(), 0700) != 0)
    return errno == EEXIST ? Error{Code::kConflict, to + " already exists: name a directory that does not"}
                           : errno_error("creating the directory " + to, errno);
  const std::filesystem::path parent = std::filesystem::path(to).parent_path();
  return sync_directory(parent.empty() ? "." : parent.string());
}

// Writes the contents of an inventory to an empty store.
class Rescue {
 public:
  Rescue(Pages& from, StoreInventory& inventory, Env& env, const Tables& tables, MDB_dbi receipts)
      : from_(from), inventory_(inventory), env_(env), tables_(tables), receipts_(receipts) {}

  Result<void> run() {
    auto& all = inventory_.conversations;
    // Lists are ordered by changes; where that order is lost, by time.
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return a.cursor != 0 && b.cursor != 0 ? a.cursor < b.cursor : a.info.updated_ms < b.info.updated_ms;
    });
    for (const StoreInventory::Conversation& conversation : all)
      if (!conversation.batches.empty())
        AGENTD_TRY_VOID(
            env_.write(Env::Room::kOrdinary, [&](Txn& txn) { return write_conversation(txn, conversation); }));
    return env_.write(Env::Room::kOrdinary, [&](Txn& txn) { return write_keys(txn); });
  }

 private:
  Result<void> write_blob(Txn& txn, const Digest& digest) {
    AGENTD_TRY(const std::string bytes, from_.value(inventory_.blobs.at(digest)));
    return add_blob(txn, tables_, digest, bytes);
  }

  Result<void> write_batch(Txn& txn, const Ulid& id, const Pages::Row& row) {
    AGENTD_TRY(const std::string bytes, from_.value(row));
    AGENTD_TRY(Batch batch, decode_batch(bytes));
    // The chain does not cover attached blobs, so a batch is valid without a lost one.
    std::erase_if(batch.attached, [&](const Digest& digest) { return inventory_.blobs.count(digest) == 0; });
    for (const BatchRecord& record : batch.records)
      if (record.in_blob()) AGENTD_TRY_VOID(write_blob(txn, record.digest));
    for (const Digest& digest : batch.attached) AGENTD_TRY_VOID(write_blob(txn, digest));
    return txn.put(tables_.log, log_key(id, batch.first_seq), encode_batch(batch));
  }

  Result<void> write_receipts(Txn& txn, const Ulid& id) {
    std::uint64_t number = 0;
    const auto& rows = inventory_.receipts;
    auto row = std::lower_bound(rows.begin(), rows.end(), key_of(id),
                                [](const Pages::Row& a, std::string_view key) { return a.key < key; });
    for (; row != rows.end() && row->key.starts_with(key_of(id)); ++row) {
      AGENTD_TRY(const std::string json, from_.value(*row));
      const auto payload = payload_of_receipt(json);
      if (payload && inventory_.blobs.count(*payload) == 0) continue;
      if (payload) AGENTD_TRY_VOID(write_blob(txn, *payload));
      AGENTD_TRY_VOID(txn.put(receipts_, log_key(id, ++number), json));
    }
    return {};
  }

  Result<void> write_conversation(Txn& txn, const StoreInventory::Conversation& from) {
    for (const Pages::Row& row : from.batches) AGENTD_TRY_VOID(write_batch(txn, from.id, row));
    AGENTD_TRY_VOID(write_receipts(txn, from.id));
    HeadRow head;
    head.head = from.head;
    AGENTD_TRY(head.cursor, push_change(txn, tables_, from.id, 0));
    AGENTD_TRY_VOID(txn.put(tables_.head, key_of(from.id), write_head(head)));
    return txn.put(tables_.info, key_of(from.id), sealed(write_info(from.info)));
  }

  Result<void> write_keys(Txn& txn) {
    // The counter of a space is as high as its newest key; a lost one is rebuilt. A damaged name may be among those of
    // another space.
    std::map<std::string, std::uint64_t> highest;
    for (const Pages::Row& row : inventory_.keys) {
      AGENTD_TRY(std::string value, from_.value(row));
      const std::string space = row.key.substr(0, row.key.find('\0'));
      // No key has version 0; the value after a broken version may be intact.
      if (space != row.key && get_be64(value.data()) == 0) value.replace(0, 8, number(1));
      std::uint64_t& counter = highest[space];
      counter = std::max(counter, get_be64(value.data()));
      AGENTD_TRY_VOID(txn.put(tables_.keys, space, number(counter)));
      if (space != row.key) AGENTD_TRY_VOID(txn.put(tables_.keys, row.key, value));
    }
    return {};
  }

  Pages& from_;
  StoreInventory& inventory_;
  Env& env_;
  const Tables& tables_;
  const MDB_dbi receipts_;
};

// The losses of a conversation: everything from its first damaged batch on.
std::vector<StoreFinding> losses(const StoreInventory& inventory, const StoreReport& report) {
  std::vector<StoreFinding> out;
  for (const StoreInventory::Conversation& conversation : inventory.conversations) {
    if (conversation.next == 0) continue;
    std::string what = "lost";
    for (const StoreFinding& finding : report.damage)
      if (finding.conversation == conversation.id.text() && finding.first >= conversation.next) {
        what += ", " + finding.what;
        break;
      }
    out.push_back({conversation.id.text(), conversation.next, 0, std::move(what)});
  }
  // Losses outside a conversation's records: keys, receipts, blobs, and logs of which nothing was found.
  for (const StoreFinding& finding : report.damage) {
    const bool told =
        !finding.conversation.empty() && std::any_of(out.begin(), out.end(), [&](const StoreFinding& other) {
          return other.conversation == finding.conversation;
        });
    if (!told) out.push_back(finding);
  }
  return out;
}

}  // namespace

Result<SalvageReport> salvage_store(const std::string& from, const std::string& to, const Clock& clock) {
  AGENTD_TRY([[maybe_unused]] const HomeState state, prepare_home({from, false, true}));
  AGENTD_TRY(StoreSnapshot snapshot, StoreSnapshot::take(from));
  AGENTD_TRY_VOID(make_target(to));
  StoreReport report;
  StoreInventory inventory = take_inventory(snapshot.pages(), true, report);
  SalvageReport out;
  out.lost = losses(inventory, report);
  out.more = report.more;
  const LmdbOptions options{to};
  AGENTD_TRY_VOID(open_lmdb_store(options, clock));  // empty
  {
    AGENTD_TRY(const std::unique_ptr<Env> env, Env::open(options, clock, false));
    Tables tables;
    MDB_dbi receipts = 0;
    AGENTD_TRY_VOID(env->write(Env::Room::kOrdinary, [&](Txn& txn) -> Result<void> {
      AGENTD_TRY(tables, Tables::open(txn, false));
      AGENTD_TRY(receipts, txn.open_table(LaterTables::text_of(LaterTables::Name::kReceipts), true));
      return {};
    }));
    Rescue rescue(snapshot.pages(), inventory, *env, tables, receipts);
    AGENTD_TRY_VOID(rescue.run());
  }
  AGENTD_TRY(out.kept, check_store(to));
  if (!out.kept.damage.empty())
    return Error{Code::kInternal, "the new store " + to + " is not complete: " + text_of(out.kept.damage.front())};
  return out;
}

Result<StoreReport> backup_store(const std::string& from, const std::string& to) {
  AGENTD_TRY([[maybe_unused]] const HomeState state, prepare_home({from, false, true}));
  AGENTD_TRY(StoreSnapshot snapshot, StoreSnapshot::take(from));
  StoreReport report;
  (void)take_inventory(snapshot.pages(), false, report);
  if (!report.damage.empty())
    return Error{Code::kCorrupt, "the store " + from + " is damaged and was not copied: " +
                                     text_of(report.damage.front()) + "; " + kDamageAdvice};
  AGENTD_TRY_VOID(make_target(to));
  const std::string file = to + "/data.mdb";
  const auto copy = [&]() -> Result<StoreReport> {
    const UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.valid()) return errno_error("making " + file, errno);
    AGENTD_TRY_VOID(snapshot.copy_to(fd.get(), file));
    if (::fsync(fd.get()) != 0) return errno_error("syncing " + file, errno);
    AGENTD_TRY_VOID(sync_directory(to));
    return check_store(to);
  };
  Result<StoreReport> copied = copy();
  if (copied && !copied->damage.empty())
    copied = Error{Code::kCorrupt, "the copy " + to + " is damaged: " + text_of(copied->damage.front())};
  std::error_code ignored;
  if (!copied) std::filesystem::remove_all(to, ignored);
  return copied;
}

}  // namespace agentd
