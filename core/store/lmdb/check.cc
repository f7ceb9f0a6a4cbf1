// SPDX-License-Identifier: Apache-2.0
#include "core/store/lmdb/check.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>

#include "core/base/bytes.h"
#include "core/store/lmdb/home.h"
#include "core/store/lmdb/project_index.h"
#include "core/store/lmdb/removals.h"
#include "core/store/lmdb/snapshot.h"
#include "core/store/lmdb/tables.h"

namespace agentd {
namespace {

constexpr std::size_t kFindingsMax = 1'000;
constexpr std::size_t kLogKeyBytes = 24, kDigestBytes = 32;

void add(StoreReport& report, StoreFinding finding) {
  if (report.damage.size() < kFindingsMax)
    report.damage.push_back(std::move(finding));
  else
    ++report.more;
}
void add(StoreReport& report, std::string what) { add(report, StoreFinding{"", 0, 0, std::move(what)}); }

std::optional<Ulid> id_in(std::string_view key) {
  return key.size() < kIdBytes ? std::nullopt : read_ulid(key.substr(0, kIdBytes));
}
std::uint64_t number_in(std::string_view key) { return get_be64(key.data() + kIdBytes); }

std::optional<Digest> digest_in(std::string_view key) {
  if (key.size() != kDigestBytes) return std::nullopt;
  Digest out;
  std::copy(key.begin(), key.end(), reinterpret_cast<char*>(out.data()));
  return out;
}

// Describes a page's damage; rows of the log are named by conversation and sequence.
StoreFinding finding_of(const Pages::Damage& damage) {
  StoreFinding out;
  out.what = damage.page != 0 ? "page " + std::to_string(damage.page) + " " + damage.what : damage.what;
  if (!damage.table.empty()) out.what = "table " + damage.table + ": " + out.what;
  if (damage.table != "log" || damage.from.size() < kLogKeyBytes) return out;
  out.conversation = id_in(damage.from)->text();
  out.first = number_in(damage.from);
  if (damage.until.size() >= kLogKeyBytes && damage.until.substr(0, kIdBytes) == damage.from.substr(0, kIdBytes))
    out.last = std::max(out.first, number_in(damage.until) - 1);
  return out;
}

class Surveyor final : public BatchSource {
 public:
  Surveyor(Pages& pages, bool sweep, StoreReport& report) : pages_(pages), sweep_(sweep), report_(report) {}

  StoreInventory run() {
    std::map<std::string, std::vector<Pages::Row>, std::less<>> tables;
    for (const std::string& name : pages_.tables()) tables[name] = pages_.rows(name);
    pages_.check_free();
    std::vector<Pages::Row> log = std::move(tables["log"]), blobs = std::move(tables["blob"]);
    out_.receipts = std::move(tables["receipts"]);
    out_.keys = std::move(tables["kv"]);
    if (sweep_) take_lost(log, blobs);
    if (!pages_.damage().empty()) put_in_order(log);
    check_blobs(blobs);
    for (std::size_t i = 0; i < log.size();) {
      std::size_t end = i + 1;
      while (end < log.size() && log[end].key.substr(0, kIdBytes) == log[i].key.substr(0, kIdBytes)) ++end;
      read_conversation({log.begin() + static_cast<std::ptrdiff_t>(i), log.begin() + static_cast<std::ptrdiff_t>(end)});
      i = end;
    }
    check_receipts();
    check_indexes(tables["head"], tables["info"], tables["changes"], tables["mentions"], tables["by_project"]);
    check_removals(tables["removed"]);
    check_keys();
    check_meta(tables["meta"]);
    for (const Pages::Damage& damage : pages_.damage()) add(report_, finding_of(damage));
    report_.pages = pages_.pages();
    report_.conversations = out_.conversations.size();
    report_.blobs = out_.blobs.size();
    report_.receipts = out_.receipts.size();
    report_.keys = out_.keys.size();
    return std::move(out_);
  }

  // As a source the inventory has blobs, and of the conversation that is being read one batch at a time.
  Result<std::vector<std::string>> batches(std::uint64_t seq) const override {
    const auto behind =
        std::find_if(reading_.begin(), reading_.end(), [&](const Pages::Row& row) { return number_in(row.key) > seq; });
    if (behind == reading_.begin()) return std::vector<std::string>{};
    AGENTD_TRY(std::string value, pages_.value(*(behind - 1)));
    return std::vector<std::string>{std::move(value)};
  }
  Result<std::string> blob(const Digest& digest) const override {
    const auto found = out_.blobs.find(digest);
    if (found == out_.blobs.end()) return no_such_blob(digest);
    return pages_.value(found->second);
  }

 private:
  // Sorts the rows of unreferenced pages; their own checksums identify them.
  void take_lost(std::vector<Pages::Row>& log, std::vector<Pages::Row>& blobs) {
    if (pages_.damage().empty()) return;
    std::set<std::string> known;
    for (const auto* rows : {&log, &blobs})
      for (const Pages::Row& row : *rows) known.insert(row.key);
    bool found = false;
    for (Pages::Row& row : pages_.lost_rows()) {
      if (known.count(row.key) != 0) continue;
      const auto value = pages_.value(row);
      if (!value) continue;
      if (row.key.size() == kLogKeyBytes) {
        const auto batch = decode_batch(*value);
        found = found || batch;
        if (batch && batch->first_seq == number_in(row.key)) log.push_back(std::move(row));
      } else if (const auto digest = digest_in(row.key); digest && sha256(*value) == *digest) {
        blobs.push_back(std::move(row));
      }
    }
    if (found && !pages_.free_known())
      add(report_, "the list of free pages cannot be read: deleted conversations may be among those that are kept");
  }

  // Keeps one row per key; of several, one whose batch is intact.
  void put_in_order(std::vector<Pages::Row>& log) {
    std::stable_sort(log.begin(), log.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    std::vector<Pages::Row> out;
    const auto is_whole = [&](const Pages::Row& row) {
      const auto value = pages_.value(row);
      return value && decode_batch(*value);
    };
    for (Pages::Row& row : log) {
      const bool again = !out.empty() && out.back().key == row.key;
      if (!again)
        out.push_back(std::move(row));
      else if (!is_whole(out.back()))
        out.back() = std::move(row);
    }
    log = std::move(out);
  }

  void check_blobs(std::vector<Pages::Row>& rows) {
    for (Pages::Row& row : rows) {
      const auto digest = digest_in(row.key);
      const auto value = pages_.value(row);
      if (!digest)
        add(report_, "table blob has a key of " + std::to_string(row.key.size()) + " bytes");
      else if (!value || sha256(*value) != *digest)
        add(report_, "the blob " + hex(*digest) + " does not match its digest");
      else
        out_.blobs.emplace(*digest, std::move(row));
    }
  }

  // The mistake of a batch that follows `head`; empty = none. `info` takes in its records.
  std::string fault_of(const Pages::Row& row, const LogHead& head, ConversationInfo& info, Batch& batch) {
    auto value = pages_.value(row);
    if (!value) return "the batch's page " + value.error().message;
    kept_value_ = std::move(*value);  // the payloads borrow from it
    auto decoded = decode_batch(kept_value_);
    if (!decoded) return decoded.error().message;
    batch = std::move(*decoded);
    if (batch.first_seq != number_in(row.key)) return "the batch belongs to another place";
    if (batch.first_seq != head.revision + 1) return "the batches before it are missing";
    if (batch.previous != head.chain) return "its link to the batch before is broken";
    ConversationInfo with = info;
    Replacements replaced(*this);
    for (std::size_t i = 0; i < batch.records.size(); ++i) {
      const auto record = unpack_record(*this, batch, i, replaced);
      if (!record) return record.error().message;
      if (auto folded = fold(with, *record); !folded) return folded.error().message;
    }
    info = std::move(with);
    return {};
  }

  void count_mentions(const Batch& batch) {
    for (const BatchRecord& record : batch.records)
      if (record.in_blob()) ++out_.mentions[record.digest];
    for (const Digest& digest : batch.attached) ++out_.mentions[digest];
  }

  void read_conversation(const std::vector<Pages::Row>& rows) {
    const auto id = id_in(rows.front().key);
    if (!id || std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.key.size() != kLogKeyBytes; })) {
      add(report_, "table log has a key that is not a conversation's");
      return;
    }
    reading_ = rows;
    StoreInventory::Conversation out;
    out.id = *id;
    bool whole = true;
    LogHead at;
    ConversationInfo info;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Batch batch;
      std::string fault = fault_of(rows[i], at, info, batch);
      const std::uint64_t first = number_in(rows[i].key);
      if (!fault.empty()) {
        const std::uint64_t last = i + 1 < rows.size() ? number_in(rows[i + 1].key) - 1 : 0;
        add(report_,
            {id->text(), std::min(first, at.revision + 1), std::max(last, last == 0 ? 0 : first), std::move(fault)});
        if (whole) out.next = at.revision + 1;
        whole = false;
        // The following batches are checked on their own.
        if (i + 1 < rows.size()) resume(rows[i + 1], at);
        if (!batch.records.empty()) count_mentions(batch);
        continue;
      }
      for (const Digest& digest : batch.attached)
        if (out_.blobs.count(digest) == 0)
          add(report_, {id->text(), batch.first_seq, batch.last_seq(), "the blob " + hex(digest) + " is missing"});
      count_mentions(batch);
      report_.records += batch.records.size();
      at = {batch.last_seq(), chain_of(batch)};
      if (!whole) continue;
      out.batches.push_back(rows[i]);
      out.head = at;
      out.info = info;
    }
    reading_ = {};
    out_.conversations.push_back(std::move(out));
  }

  // Trusts the batch about the one before it.
  void resume(const Pages::Row& row, LogHead& at) {
    const auto value = pages_.value(row);
    if (!value) return;
    if (const auto batch = decode_batch(*value); batch) at = {batch->first_seq - 1, batch->previous};
  }

  // The first ones of a conversation may have been removed for their age.
  void check_receipts() {
    std::vector<Pages::Row> whole;
    std::string last;
    for (Pages::Row& row : out_.receipts) {
      const auto id = row.key.size() == kLogKeyBytes ? id_in(row.key) : std::nullopt;
      const auto value = pages_.value(row);
      const std::string name = id ? id->text() : "";
      const bool is_first = last.empty() || last.substr(0, kIdBytes) != row.key.substr(0, kIdBytes);
      if (!id) {
        add(report_, "table receipts has a key that is not a conversation's");
      } else if (!value || !is_sealed_well(*value) || !read_receipt(*value)) {
        add(report_, {name, 0, 0, "receipt " + std::to_string(number_in(row.key)) + " is unreadable"});
      } else if (find(*id) == nullptr) {
        add(report_, {name, 0, 0, "a receipt belongs to a conversation without a log"});
      } else {
        const std::uint64_t expected = is_first ? std::max<std::uint64_t>(number_in(row.key), 1) : number_in(last) + 1;
        if (number_in(row.key) != expected)
          add(report_, {name, 0, 0, "receipt " + std::to_string(expected) + " is missing"});
        if (const auto payload = payload_of_receipt(*value)) {
          ++out_.mentions[*payload];
          if (out_.blobs.count(*payload) == 0)
            add(report_, {name, 0, 0, "the blob " + hex(*payload) + " of a receipt is missing"});
        }
        last = row.key;
        whole.push_back(std::move(row));
        continue;
      }
      last = row.key.size() == kLogKeyBytes ? row.key : "";
    }
    out_.receipts = std::move(whole);
  }

  StoreInventory::Conversation* find(const Ulid& id) {
    // In the order of their ids, as in the log.
    const auto found = std::lower_bound(
        out_.conversations.begin(), out_.conversations.end(), key_of(id),
        [](const StoreInventory::Conversation& a, std::string_view key) { return key_of(a.id) < key; });
    return found != out_.conversations.end() && found->id == id ? &*found : nullptr;
  }

  void check_head(const Pages::Row& row, std::map<std::string, std::uint64_t>& cursors) {
    const auto id = read_ulid(row.key);
    const auto value = pages_.value(row);
    const auto head = value ? read_head(*value) : Result<HeadRow>(value.error());
    if (!id) return add(report_, "table head has a key that is not a conversation's");
    if (!head) return add(report_, {id->text(), 0, 0, "its row in table head is unreadable"});
    cursors[row.key] = head->cursor;
    StoreInventory::Conversation* const conversation = find(*id);
    if (conversation == nullptr) return add(report_, {id->text(), 1, 0, "its log is missing"});
    conversation->cursor = head->cursor;
    if (conversation->next != 0) return;  // already reported
    if (head->head.revision > conversation->head.revision) {
      conversation->next = conversation->head.revision + 1;
      add(report_, {id->text(), conversation->next, head->head.revision, "the end of the log is missing"});
    } else if (head->head.revision != conversation->head.revision || head->head.chain != conversation->head.chain) {
      add(report_, {id->text(), 0, 0, "the log does not end where its row in table head says"});
    }
  }

  // An index that agentd sealed was correct when it was written, by any version; others are compared.
  static bool tells_the_same(const std::string& value, const ConversationInfo& from_log) {
    auto info = read_info(value);
    if (!info || !is_sealed_well(value)) return false;
    if (is_sealed(value)) return info->id == from_log.id && info->revision == from_log.revision;
    info->usage = from_log.usage;
    info->inherited = from_log.inherited;
    return write_info(*info) == write_info(from_log);
  }

  void check_info(const Pages::Row& row) {
    const auto id = read_ulid(row.key);
    if (!id) return add(report_, "table info has a key that is not a conversation's");
    const StoreInventory::Conversation* const conversation = find(*id);
    const auto value = pages_.value(row);
    if (conversation == nullptr)
      add(report_, {id->text(), 0, 0, "table info names a conversation without a log"});
    else if (conversation->next == 0 && (!value || !tells_the_same(*value, conversation->info)))
      add(report_, {id->text(), 0, 0, "its row in table info differs from the log"});
  }

  void check_indexes(const std::vector<Pages::Row>& heads, const std::vector<Pages::Row>& infos,
                     const std::vector<Pages::Row>& changes, const std::vector<Pages::Row>& mentions,
                     const std::vector<Pages::Row>& projects) {
    std::map<std::string, std::uint64_t> cursors;
    std::set<std::string> with_info;
    for (const Pages::Row& row : heads) check_head(row, cursors);
    for (const Pages::Row& row : infos) {
      check_info(row);
      with_info.insert(row.key);
    }
    std::set<std::string> changed;
    for (const Pages::Row& row : changes) {
      const auto cursor = read_number(row.key);
      const auto id = pages_.value(row);
      const auto known = id ? cursors.find(*id) : cursors.end();
      if (!cursor || known == cursors.end() || known->second != *cursor)
        add(report_, "table changes has a row without a conversation");
      else
        changed.insert(*id);
    }
    for (const StoreInventory::Conversation& conversation : out_.conversations) {
      const std::string key(key_of(conversation.id));
      for (const auto& [there, table] :
           {std::pair(cursors.count(key) != 0, "head"), std::pair(with_info.count(key) != 0, "info"),
            std::pair(changed.count(key) != 0, "changes")})
        if (!there)
          add(report_, {conversation.id.text(), 0, 0, std::string("its row in table ") + table + " is missing"});
    }
    check_projects(projects);
    check_mentions(mentions);
  }

  // A row whose change is no longer its conversation's was left by an agentd that does not know the index.
  void check_projects(const std::vector<Pages::Row>& rows) {
    std::uint64_t upto = 0;
    std::set<std::string> listed;
    for (const Pages::Row& row : rows) {
      const auto value = pages_.value(row);
      if (row.key == ProjectIndex::kUpTo) {
        const auto change = value ? read_number(*value) : Result<std::uint64_t>(value.error());
        if (!change) add(report_, "the newest change in table by_project is unreadable");
        upto = change.value_or(0);
        continue;
      }
      const auto id = value ? read_ulid(*value) : std::nullopt;
      if (!id || row.key.size() != ProjectIndex::kProjectBytes + sizeof(upto)) {
        add(report_, "table by_project has a row that names no conversation");
        continue;
      }
      const StoreInventory::Conversation* const conversation = find(*id);
      if (conversation == nullptr || number_in(row.key) != conversation->cursor) continue;
      if (conversation->next == 0 && !row.key.starts_with(ProjectIndex::keys_of(conversation->info.project_id)))
        add(report_, {id->text(), 0, 0, "its row in table by_project is another project's"});
      listed.insert(*value);
    }
    for (const StoreInventory::Conversation& conversation : out_.conversations)
      if (conversation.cursor != 0 && conversation.cursor <= upto &&
          listed.count(std::string(key_of(conversation.id))) == 0)
        add(report_, {conversation.id.text(), 0, 0, "its row in table by_project is missing"});
  }

  // A conversation may have been made again, so that a log is no contradiction. The mark stands first.
  void check_removals(const std::vector<Pages::Row>& rows) {
    for (const Pages::Row& row : rows) {
      const auto value = pages_.value(row);
      const auto id = value ? removal_in(row.key, *value) : std::nullopt;
      if (!id || (*id == Ulid()) != (&row == &rows.front()))
        add(report_, "table removed has a row that names no conversation");
    }
  }

  void check_mentions(const std::vector<Pages::Row>& rows) {
    std::set<Digest> counted;
    for (const Pages::Row& row : rows) {
      const auto digest = digest_in(row.key);
      const auto value = pages_.value(row);
      const auto count = value ? read_number(*value) : Result<std::uint64_t>(value.error());
      if (!digest) {
        add(report_, "table mentions has a key that is not a digest");
        continue;
      }
      counted.insert(*digest);
      const auto named = out_.mentions.find(*digest);
      const std::uint64_t is = named == out_.mentions.end() ? 0 : named->second;
      if (is == 0)
        add(report_, "the blob " + hex(*digest) + " is stored but never mentioned");
      else if (!count || *count != is)
        add(report_, "the count of mentions of blob " + hex(*digest) + " is wrong");
      else if (out_.blobs.count(*digest) == 0)
        add(report_, "the blob " + hex(*digest) + " is missing");
    }
    for (const auto& [digest, row] : out_.blobs)
      if (counted.count(digest) == 0) add(report_, "the blob " + hex(digest) + " has no count of its mentions");
  }

  void check_keys() {
    std::vector<Pages::Row> whole;
    std::map<std::string, std::uint64_t, std::less<>> spaces;
    for (Pages::Row& row : out_.keys) {
      const auto value = pages_.value(row);
      const std::size_t end = row.key.find('\0');
      const std::string space = row.key.substr(0, end);
      const bool counter = end == std::string::npos;
      if (!value || value->size() < 8 || (counter && value->size() != 8)) {
        add(report_, "a key of " + one_line(space, 100) + " is unreadable");
        continue;
      }
      const std::uint64_t version = get_be64(value->data());
      const auto newest = spaces.find(space);
      if (counter)
        spaces.emplace(space, version);
      else if (newest == spaces.end() || version == 0 || version > newest->second)
        add(report_, "a key of " + one_line(space, 100) + " has an impossible version");
      whole.push_back(std::move(row));
    }
    out_.keys = std::move(whole);
  }

  void check_meta(const std::vector<Pages::Row>& rows) {
    bool format = false;
    for (const Pages::Row& row : rows) {
      const auto value = pages_.value(row);
      const auto number = value ? read_number(*value) : Result<std::uint64_t>(value.error());
      const bool is_format = row.key == "format";
      format = format || is_format;
      if (!number || (is_format ? *number != kStoreFormat : row.key != "change_floor"))
        add(report_, "table meta has a row that agentd does not write: " + one_line(row.key, 40));
    }
    if (!format) add(report_, "the store does not name its format");
  }

  Pages& pages_;
  const bool sweep_;
  std::span<const Pages::Row> reading_;
  StoreReport& report_;
  std::string kept_value_;
  StoreInventory out_;
};

}  // namespace

std::string text_of(const StoreFinding& finding) {
  if (finding.conversation.empty()) return finding.what;
  std::string out = "conversation " + finding.conversation;
  if (finding.first != 0) {
    const bool one = finding.first == finding.last;
    out += (one ? ", sequence " : ", sequences ") + std::to_string(finding.first);
    if (!one) out += finding.last == 0 ? " to the end" : " to " + std::to_string(finding.last);
  }
  return out + ": " + finding.what;
}

StoreInventory take_inventory(Pages& pages, bool sweep, StoreReport& report) {
  return Surveyor(pages, sweep, report).run();
}

Result<void> look_at_pages(const std::string& directory) {
  AGENTD_TRY(StoreSnapshot snapshot, StoreSnapshot::take(directory));
  Pages& pages = snapshot.pages();
  for (const std::string& name : pages.tables()) (void)pages.rows(name);
  pages.check_free();
  if (!pages.damage().empty()) return Error{Code::kCorrupt, text_of(finding_of(pages.damage().front()))};
  return snapshot.read_all_with_lmdb();
}

Result<StoreReport> check_store(const std::string& directory) {
  AGENTD_TRY([[maybe_unused]] const HomeState state, prepare_home({directory, false, true}));
  StoreReport report;
  auto snapshot = StoreSnapshot::take(directory);
  if (!snapshot && snapshot.error().code != Code::kCorrupt) return snapshot.error();
  if (!snapshot)
    add(report, snapshot.error().message);
  else
    (void)take_inventory(snapshot->pages(), false, report);
  return report;
}

}  // namespace agentd
