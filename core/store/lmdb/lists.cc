// SPDX-License-Identifier: Apache-2.0
#include "core/store/lmdb/lists.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace agentd {
namespace {

constexpr int kListRowsAtOnce = 250;      // of about 1 KiB each
constexpr std::size_t kStaleMax = 1'000;  // rows that one list reports

class Walk {
 public:
  Walk(const Env& env, const Tables& tables, const std::optional<ProjectIndex>& index, const ConversationQuery& query,
       std::vector<std::string>& stale)
      : env_(env),
        tables_(tables),
        query_(query),
        limit_(limit_or_default(query.limit)),
        index_(index),
        table_(index ? index->table : tables.changes),
        keys_(index ? ProjectIndex::keys_of(query.project_id) : ""),
        stale_(stale) {}

  Result<std::vector<ConversationInfo>> run() {
    AGENTD_TRY_VOID(start());
    while (!at_end_ && out_.size() < limit_) AGENTD_TRY_VOID(read_some());
    // A later page has only what is older than the page before.
    if (query_.after.empty()) AGENTD_TRY_VOID(add_changed());
    return std::move(out_);
  }

 private:
  Result<void> start() {
    AGENTD_TRY(const Txn txn, env_.begin_read());
    AGENTD_TRY(holds_, index_ ? index_->upto(txn) : newest_change(txn, tables_));
    if (query_.after.empty()) return {};
    AGENTD_TRY(const Ulid after, Ulid::parse(query_.after));
    AGENTD_TRY(const std::optional<HeadRow> at, head_of(txn, tables_, after));
    if (!at) return no_such_conversation(after);
    before_ = at->cursor;
    return {};
  }

  Result<void> read_some() {
    AGENTD_TRY(const Txn txn, env_.begin_read());
    AGENTD_TRY(Cursor cursor, Cursor::open(txn, table_));
    AGENTD_TRY(std::optional<Row> row, cursor.before(keys_ + number(before_)));
    for (int rows = 0; rows < kListRowsAtOnce && out_.size() < limit_; ++rows) {
      at_end_ = !row || !row->key.starts_with(keys_);
      if (at_end_) return {};
      AGENTD_TRY(before_, read_number(row->key.substr(keys_.size())));
      AGENTD_TRY(const bool listed, is_newest(txn, *row));
      if (listed) {
        AGENTD_TRY(ConversationInfo info, info_of(txn, tables_, row->value));
        if (matches(info, query_)) out_.push_back(std::move(info));
      }
      AGENTD_TRY(row, cursor.previous());
    }
    return {};
  }

  // False for a stale row of the index.
  Result<bool> is_newest(const Txn& txn, const Row& row) {
    if (!index_) return true;
    const std::optional<Ulid> id = read_ulid(row.value);
    AGENTD_TRY(const std::optional<HeadRow> head,
               id ? head_of(txn, tables_, *id) : Result<std::optional<HeadRow>>(std::optional<HeadRow>{}));
    if (head && head->cursor == before_) return true;
    if (stale_.size() < kStaleMax) stale_.emplace_back(row.key);
    return false;
  }

  // Adds conversations that have changed since the start, and may have left their place before it was read.
  Result<void> add_changed() {
    AGENTD_TRY(const Txn txn, env_.begin_read());
    AGENTD_TRY(Cursor cursor, Cursor::open(txn, tables_.changes));
    AGENTD_TRY(std::optional<Row> row, cursor.last());
    std::set<std::string, std::less<>> there;
    std::vector<ConversationInfo> changed;
    while (row && changed.size() < limit_) {
      AGENTD_TRY(const std::uint64_t cursor_of_row, read_number(row->key));
      if (cursor_of_row <= holds_) break;
      if (there.empty())
        for (const ConversationInfo& info : out_) there.insert(info.id);
      AGENTD_TRY(ConversationInfo info, info_of(txn, tables_, row->value));
      if (matches(info, query_) && !there.contains(info.id)) changed.push_back(std::move(info));
      AGENTD_TRY(row, cursor.previous());
    }
    out_.insert(out_.begin(), std::make_move_iterator(changed.begin()), std::make_move_iterator(changed.end()));
    if (out_.size() > limit_) out_.resize(limit_);
    return {};
  }

  const Env& env_;
  const Tables& tables_;
  const ConversationQuery& query_;
  const std::uint32_t limit_;
  const std::optional<ProjectIndex>& index_;
  const MDB_dbi table_;
  const std::string keys_;  // the beginning of the keys to read
  std::vector<std::string>& stale_;
  std::uint64_t holds_ = 0;  // the newest change that the table is known to have
  std::uint64_t before_ = UINT64_MAX;
  bool at_end_ = false;
  std::vector<ConversationInfo> out_;
};

}  // namespace

Result<std::vector<ConversationInfo>> list_conversations(const Env& env, const Tables& tables,
                                                         const std::optional<ProjectIndex>& index,
                                                         const ConversationQuery& query,
                                                         std::vector<std::string>& stale) {
  return Walk(env, tables, index, query, stale).run();
}

Result<Store::Changes> changes_after(const Txn& txn, const Tables& tables, const std::optional<Removals>& removals,
                                     std::uint64_t cursor, std::uint32_t limit) {
  Store::Changes out;
  out.next = cursor;
  if (cursor == UINT64_MAX) return out;
  AGENTD_TRY(Cursor changes, Cursor::open(txn, tables.changes));
  // Without a table of removals it is the same one, and never read from.
  AGENTD_TRY(Cursor removed, Cursor::open(txn, removals ? removals->table : tables.changes));
  AGENTD_TRY(std::optional<Row> change, changes.at_or_after(number(cursor + 1)));
  std::optional<Row> removal;
  if (removals) {
    AGENTD_TRY(const std::uint64_t lost, removals->lost(txn));
    out.removals_lost = cursor != 0 && cursor < lost;
    // The first removal follows the mark, which is not one.
    AGENTD_TRY(removal, removed.at_or_after(number(std::max(cursor, lost) + 1)));
  }
  while ((change || removal) && out.changed.size() + out.removed.size() < limit_or_default(limit)) {
    const bool is_removal = removal && (!change || removal->key < change->key);
    AGENTD_TRY(out.next, read_number(is_removal ? removal->key : change->key));
    if (is_removal) {
      const std::optional<Ulid> id = read_ulid(removal->value);
      if (!id)
        return Error{Code::kCorrupt, std::string("a row of table removed names no conversation; ") + kDamageAdvice};
      out.removed.push_back(*id);
      AGENTD_TRY(removal, removed.next());
    } else {
      AGENTD_TRY(ConversationInfo info, info_of(txn, tables, change->value));
      out.changed.push_back(std::move(info));
      AGENTD_TRY(change, changes.next());
    }
  }
  return out;
}

}  // namespace agentd
