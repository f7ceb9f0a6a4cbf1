// SPDX-License-Identifier: Apache-2.0
#include "core/search/catch_up.h"

#include <sys/stat.h>

#include <utility>

#include "core/search/searchable.h"
#include "core/search/terms.h"

namespace agentd {
namespace {

using Reason = std::optional<std::string>;

constexpr std::uint32_t kChangesAtOnce = 100;

constexpr const char* kTables =
    "CREATE TABLE followed(store TEXT, cursor INTEGER, conversation TEXT, revision INTEGER, chain TEXT);"
    "CREATE TABLE conversations(id INTEGER PRIMARY KEY, name TEXT UNIQUE, project TEXT, revision INTEGER, title TEXT,"
    "  title_record INTEGER);"
    "CREATE TABLE records(id INTEGER PRIMARY KEY, conversation INTEGER, seq INTEGER, time_ms INTEGER, role TEXT);"
    "CREATE VIRTUAL TABLE texts USING fts5(body, tokenize='unicode61 remove_diacritics 2');";

Error cancelled() { return {Code::kCancelled, "the search index is left as it was, because agentd ends"}; }

std::int64_t stored(std::uint64_t number) { return static_cast<std::int64_t>(number); }
std::uint64_t number_of(const Statement& row, int column) { return static_cast<std::uint64_t>(row.number(column)); }

// The file of the store; a copy, and a store in memory, is another one.
Result<std::string> identity_of(const Store& store) {
  const auto stats = store.stats();
  if (!stats) return error_of_store(stats.error());
  struct stat info {};
  if (stats->path.empty() || ::stat((stats->path + "/data.mdb").c_str(), &info) != 0) return std::string();
  return std::to_string(info.st_ino);  // the number of its device may change with a restart
}

// The change up to which the index is complete.
struct Followed {
  std::string store;
  std::uint64_t cursor = 0;
  std::string conversation;    // the one that changed
  std::uint64_t revision = 0;  // 0 = its removal
  std::string chain;           // at that revision, hex
};

Result<Followed> read_followed(const Database& index) {
  AGENTD_TRY(Statement row, index.prepare("SELECT store, cursor, conversation, revision, chain FROM followed"));
  AGENTD_TRY(const bool there, row.step());
  if (!there) return Error{Code::kCorrupt, "the search index does not say what it holds"};
  return Followed{std::string(row.text(0)), number_of(row, 1), std::string(row.text(2)), number_of(row, 3),
                  std::string(row.text(4))};
}

Result<void> write_followed(const Database& index, const Followed& at) {
  AGENTD_TRY_VOID(index.run("DELETE FROM followed"));
  AGENTD_TRY(Statement add, index.prepare("INSERT INTO followed VALUES(?1, ?2, ?3, ?4, ?5)"));
  return add.bind(1, at.store)
      .bind(2, stored(at.cursor))
      .bind(3, at.conversation)
      .bind(4, stored(at.revision))
      .bind(5, at.chain)
      .run();
}

Result<std::string> chain_of(const Store& store, const std::string& conversation, std::uint64_t revision) {
  const auto id = Ulid::parse(conversation);
  if (!id) return Error{Code::kCorrupt, "the search index names a conversation " + conversation};
  const auto chain = store.chain(*id, revision);
  return chain ? Result<std::string>(hex(*chain)) : Result<std::string>(std::string());
}

// The change at `cursor`, which was the newest of `page`. It may have a newer place by now.
Result<Followed> followed_at(const Store& store, std::uint64_t cursor, const Store::Changes& page) {
  const auto newest = store.changes(cursor - 1, 1);
  if (!newest) return error_of_store(newest.error());
  Followed out;
  out.cursor = cursor;
  if (newest->next == cursor && !newest->removed.empty()) {
    out.conversation = newest->removed[0].text();
    return out;
  }
  if (page.changed.empty()) return out;
  out.conversation = page.changed.back().id;
  out.revision = page.changed.back().revision;
  AGENTD_TRY(out.chain, chain_of(store, out.conversation, out.revision));
  return out;
}

// A reason when the store does not have the change up to which the index is complete.
Result<Reason> compare(const Followed& at, const Store& store) {
  AGENTD_TRY(const std::string identity, identity_of(store));
  if (at.store != identity) return Reason("it is of another store");
  if (at.cursor == 0) return Reason();
  const auto newest = store.changes(at.cursor - 1, 1);
  if (!newest) return error_of_store(newest.error());
  if (newest->removals_lost) return Reason("the store has forgotten removals");
  if (newest->changed.empty() && newest->removed.empty()) return Reason("it is newer than the store");
  const Reason differs("the store no longer has its newest change");
  const bool in_place = newest->next == at.cursor;
  if (at.revision == 0)
    return in_place && !newest->removed.empty() && newest->removed[0].text() == at.conversation ? Reason() : differs;
  if (in_place && (newest->changed.empty() || newest->changed[0].id != at.conversation ||
                   newest->changed[0].revision != at.revision))
    return differs;
  AGENTD_TRY(const std::string chain, chain_of(store, at.conversation, at.revision));
  return !chain.empty() && chain == at.chain ? Reason() : differs;
}

class Follower {
 public:
  static Result<Follower> make(const Database& index, const Store& store, std::vector<std::string>& notes,
                               const CancelToken& cancel) {
    AGENTD_TRY(Statement find, index.prepare("SELECT id, revision, title, title_record FROM conversations "
                                             "WHERE name = ?1"));
    AGENTD_TRY(Statement add, index.prepare("INSERT INTO conversations(name, project, revision, title, title_record) "
                                            "VALUES(?1, ?2, 0, '', 0)"));
    AGENTD_TRY(Statement update,
               index.prepare("UPDATE conversations SET revision = ?2, title = ?3, title_record = ?4 WHERE id = ?1"));
    AGENTD_TRY(Statement add_record,
               index.prepare("INSERT INTO records(conversation, seq, time_ms, role) VALUES(?1, ?2, ?3, ?4)"));
    AGENTD_TRY(Statement add_text, index.prepare("INSERT INTO texts(rowid, body) VALUES(?1, ?2)"));
    AGENTD_TRY(Statement move_record, index.prepare("UPDATE records SET time_ms = ?2 WHERE id = ?1"));
    AGENTD_TRY(Statement drop_record, index.prepare("DELETE FROM records WHERE id = ?1"));
    AGENTD_TRY(Statement drop_text, index.prepare("DELETE FROM texts WHERE rowid = ?1"));
    return Follower(index, store, notes, cancel,
                    {std::move(find), std::move(add), std::move(update), std::move(add_record), std::move(add_text),
                     std::move(move_record), std::move(drop_record), std::move(drop_text)});
  }

  Result<Reason> take(const Store::Changes& page) {
    for (const Ulid& removed : page.removed) {
      AGENTD_TRY(const Row row, find(removed.text()));
      if (row.id != 0) return Reason("a conversation was removed");
    }
    for (const ConversationInfo& info : page.changed) {
      AGENTD_TRY(Reason reason, take(info));
      if (reason) return reason;
    }
    return Reason();
  }

 private:
  struct Statements {
    Statement find, add, update, add_record, add_text, move_record, drop_record, drop_text;
  };
  // A conversation as it is indexed; id 0 = not at all.
  struct Row {
    std::int64_t id = 0;
    std::uint64_t revision = 0;
    std::string title;
    std::int64_t title_record = 0;
  };

  Follower(const Database& index, const Store& store, std::vector<std::string>& notes, const CancelToken& cancel,
           Statements statements)
      : index_(index), store_(store), notes_(notes), cancel_(cancel), run_(std::move(statements)) {}

  Result<Row> find(const std::string& name) {
    AGENTD_TRY(const bool there, run_.find.bind(1, name).step());
    if (!there) return Row{};
    Row out{run_.find.number(0), number_of(run_.find, 1), std::string(run_.find.text(2)), run_.find.number(3)};
    run_.find.reset();
    return out;
  }

  Result<Reason> take(const ConversationInfo& info) {
    AGENTD_TRY(Row row, find(info.id));
    if (row.id == 0) {
      AGENTD_TRY_VOID(run_.add.bind(1, info.id).bind(2, info.project_id).run());
      row.id = index_.last_row();
    }
    if (info.revision < row.revision) return Reason("a conversation is shorter than it was");
    AGENTD_TRY(Reason reason, add_records(info, row));
    if (reason) return reason;
    AGENTD_TRY_VOID(set_title(info, row));
    AGENTD_TRY_VOID(
        run_.update.bind(1, row.id).bind(2, stored(row.revision)).bind(3, row.title).bind(4, row.title_record).run());
    return Reason();
  }

  // Adds the records after the row's revision, which it moves.
  Result<Reason> add_records(const ConversationInfo& info, Row& row) {
    if (info.revision == row.revision) return Reason();
    const auto id = Ulid::parse(info.id);
    if (!id) return error_of_store(id.error());
    const bool indexed = row.revision != 0;
    Result<void> added;
    bool erased = false;
    const auto read = store_.read(*id, row.revision + 1, info.revision, [&](const StoredRecord& record) {
      // An index that begins after the erasure never has the text.
      erased = indexed && record.record.type == RecordType::kErase;
      if (erased) return false;
      if (cancel_.cancelled()) added = cancelled();
      if (added) added = add_record(row.id, record);
      if (added) row.revision = record.seq;
      return added.has_value();
    });
    if (!added) return added.error();
    if (erased) return Reason("a text was erased");
    // A conversation that was removed in the meantime is in a later page.
    if (!read && read.error().code != Code::kNotFound) {
      if (read.error().code != Code::kCorrupt) return error_of_store(read.error());
      notes_.push_back("conversation " + info.id + " is searched up to sequence " + std::to_string(row.revision) +
                       " only: " + read.error().message);
    }
    return Reason();
  }

  Result<void> add_record(std::int64_t conversation, const StoredRecord& record) {
    const auto text = searchable_text(record.record);
    if (!text || text->text.empty()) return {};  // unreadable, so it cannot be found
    AGENTD_TRY(const std::int64_t row, add_text(conversation, record.seq, record.time_ms, *text));
    (void)row;
    return {};
  }

  Result<std::int64_t> add_text(std::int64_t conversation, std::uint64_t seq, std::int64_t time_ms,
                                const SearchableText& text) {
    AGENTD_TRY_VOID(
        run_.add_record.bind(1, conversation).bind(2, stored(seq)).bind(3, time_ms).bind(4, text.role).run());
    const std::int64_t row = index_.last_row();
    AGENTD_TRY_VOID(run_.add_text.bind(1, row).bind(2, index_text(text.text)).run());
    return row;
  }

  // The title is as old as its conversation's newest record.
  Result<void> set_title(const ConversationInfo& info, Row& row) {
    if (info.title == row.title && row.title_record == 0) return {};
    if (info.title == row.title) return run_.move_record.bind(1, row.title_record).bind(2, info.updated_ms).run();
    if (row.title_record != 0) {
      AGENTD_TRY_VOID(run_.drop_text.bind(1, row.title_record).run());
      AGENTD_TRY_VOID(run_.drop_record.bind(1, row.title_record).run());
    }
    row.title = info.title;
    row.title_record = 0;
    if (info.title.empty()) return {};
    AGENTD_TRY(row.title_record, add_text(row.id, 0, info.updated_ms, {kTitleRole, info.title}));
    return {};
  }

  const Database& index_;
  const Store& store_;
  std::vector<std::string>& notes_;
  const CancelToken& cancel_;
  Statements run_;
};

}  // namespace

Error error_of_store(const Error& error) {
  return {error.code == Code::kCorrupt ? Code::kUnavailable : error.code, error.message};
}

Result<void> create_index(const Database& index, const Store& store) {
  // Nothing needs to be undone or synced before the file is complete and renamed.
  AGENTD_TRY_VOID(index.run("PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF"));
  AGENTD_TRY_VOID(index.run(kTables));
  AGENTD_TRY_VOID(index.run(("PRAGMA user_version=" + std::to_string(kIndexFormat)).c_str()));
  Followed none;
  AGENTD_TRY(none.store, identity_of(store));
  return write_followed(index, none);
}

Result<std::optional<std::string>> catch_up(const Database& index, const Store& store, std::vector<std::string>& notes,
                                            const CancelToken& cancel) {
  {
    AGENTD_TRY(Statement version, index.prepare("PRAGMA user_version"));
    AGENTD_TRY(const bool there, version.step());
    if (!there || version.number(0) != kIndexFormat) return Reason("it has another format");
  }
  AGENTD_TRY(Followed at, read_followed(index));
  AGENTD_TRY(Reason reason, compare(at, store));
  if (reason) return reason;
  AGENTD_TRY(Follower follower, Follower::make(index, store, notes, cancel));
  bool began = false;
  for (;;) {
    if (cancel.cancelled()) return cancelled();
    const auto page = store.changes(at.cursor, kChangesAtOnce);
    if (!page) return error_of_store(page.error());
    if (page->removals_lost) return Reason("the store has forgotten removals");
    if (page->changed.empty() && page->removed.empty()) break;
    if (!std::exchange(began, true)) AGENTD_TRY_VOID(index.run("BEGIN IMMEDIATE"));
    AGENTD_TRY(reason, follower.take(*page));
    if (reason) return reason;
    AGENTD_TRY(Followed next, followed_at(store, page->next, *page));
    next.store = std::move(at.store);
    at = std::move(next);
  }
  if (!began) return Reason();
  AGENTD_TRY_VOID(write_followed(index, at));
  AGENTD_TRY_VOID(index.run("COMMIT"));
  return Reason();
}

}  // namespace agentd
