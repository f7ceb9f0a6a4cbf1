// SPDX-License-Identifier: Apache-2.0
#include "core/agent/loading.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/agent/states.h"
#include "core/codec/json.h"
#include "core/compaction/compaction.h"
#include "core/conversation/digest_text.h"

namespace agentd {
namespace {

Result<std::vector<StoredRecord>> read_records(const Store& store, const Ulid& id, std::uint64_t first,
                                               std::uint64_t last) {
  std::vector<StoredRecord> records;
  AGENTD_TRY_VOID(store.read(id, first, last, [&](const StoredRecord& record) {
    records.push_back(record);
    return true;
  }));
  return records;
}

Result<std::optional<StoredRecord>> read_one(const Store& store, const Ulid& id, std::uint64_t seq) {
  AGENTD_TRY(auto records, read_records(store, id, seq, seq));
  if (records.empty()) return std::optional<StoredRecord>();
  return std::optional<StoredRecord>(std::move(records[0]));
}

// Reverts bring back rows that only a fold from the start has: ranges are folded first, rows made after.
Result<std::unique_ptr<Conversation>> build(const Ulid& id, const std::vector<StoredRecord>& records,
                                            const Rows::Count& count) {
  auto conversation = std::make_unique<Conversation>(id.text(), count);
  AGENTD_TRY_VOID(conversation->load(records));
  return conversation;
}

}  // namespace

Result<std::unique_ptr<Conversation>> load_conversation(const Store& store, const Ulid& id, const Rows::Count& count) {
  AGENTD_TRY(const ConversationInfo info, store.info(id));
  std::uint64_t first = std::max<std::uint64_t>(info.view_first_seq, 1);
  // A compaction leaves a wait of a call without a model behind.
  if (info.wait.seq != 0) first = std::min(first, info.wait.seq);
  // No further than the index goes: what somebody else appends meanwhile would be missing in its totals.
  AGENTD_TRY(const auto records, read_records(store, id, first, info.revision));
  AGENTD_TRY(auto conversation, build(id, records, count));
  Usage totals = info.inherited;
  totals += info.usage;
  conversation->restore_totals(totals, info.runs, static_cast<std::uint32_t>(info.compactions));
  return conversation;
}

Result<std::unique_ptr<Conversation>> load_conversation_at(const Store& store, const Ulid& id, std::uint64_t revision,
                                                           const Rows::Count& count) {
  AGENTD_TRY(const auto records, read_records(store, id, 1, revision));
  return build(id, records, count);
}

Result<std::vector<ToolSpec>> load_last_tools(const Store& store, const Ulid& id) {
  const std::string none = hex(sha256("[]"));
  std::string digest;
  Result<void> failed;
  AGENTD_TRY_VOID(store.read(id, 1, 0, [&](const StoredRecord& record) {
    if (record.record.type != RecordType::kSettings) return true;
    const auto settings = read_settings(record.record);
    if (!settings) failed = settings.error();
    if (settings && settings->tools_json != none) digest = settings->tools_json;
    return settings.has_value();
  }));
  if (!failed) return failed.error();
  std::vector<ToolSpec> tools;
  const auto named = read_digest(digest);
  const auto text = named ? store.blob(*named) : Error{Code::kNotFound, ""};
  const auto document = text ? JsonDocument::parse(*text) : text.error();
  if (!document) return tools;
  for (std::size_t i = 0; i < document->root().size(); ++i) {
    const JsonView tool = document->root().at(i);
    tools.push_back({std::string(tool["name"].string_or("")),
                     std::string(tool["description"].string_or("")),
                     tool["input_schema"].text(),
                     0,
                     {}});
  }
  return tools;
}

Result<MessageKeys> load_message_keys(const Store& store, const Ulid& id, std::uint64_t revision) {
  MessageKeys keys;
  if (revision == 0) return keys;
  AGENTD_TRY(const StoredRecord first, load_record(store, id, 1));
  AGENTD_TRY(const GenesisRecord genesis, read_genesis(first.record));
  // A subagent's genesis names where its parent was, but has no records of it.
  const bool forked = !genesis.parent.empty() && genesis.agent_type.empty();
  const std::uint64_t own = (forked ? genesis.parent_seq : 1) + 1;
  if (own > revision) return keys;
  Result<void> noted;
  AGENTD_TRY_VOID(store.read(id, own, revision, [&](const StoredRecord& record) {
    noted = keys.note(record);
    return noted.has_value();
  }));
  if (!noted) return noted.error();
  return keys;
}

Result<StoredRecord> load_record(const Store& store, const Ulid& id, std::uint64_t seq) {
  AGENTD_TRY(auto record, read_one(store, id, seq));
  if (!record)
    return Error{Code::kCorrupt, "conversation " + id.text() + " has no record " + std::to_string(seq) +
                                     ": 'agentd store check' examines it"};
  return std::move(*record);
}

Result<std::optional<RunEndRecord>> load_run_end(const Store& store, const Ulid& id, const StoredRecord& record) {
  const std::uint32_t run = record.record.run;
  std::optional<StoredRecord> end;
  AGENTD_TRY_VOID(store.read(id, record.seq, 0, [&](const StoredRecord& each) {
    if (each.record.type == RecordType::kRunEnd && each.record.run == run) end = each;
    return !end && each.record.run <= run;  // 0 = outside of runs
  }));
  if (!end) return std::optional<RunEndRecord>();
  AGENTD_TRY(RunEndRecord out, read_run_end(end->record));
  return std::optional<RunEndRecord>(std::move(out));
}

Result<Rows> load_log_messages(const Store& store, const Ulid& id, std::uint64_t revision, std::uint64_t from,
                               std::uint32_t limit, Others others) {
  Rows rows;
  Result<void> failed;
  const auto by_other = [](const MessageRecord& each) {
    return each.source == name_of(MessageSource::kHook) || each.source == name_of(MessageSource::kAgent) ||
           each.source == name_of(MessageSource::kSchema);
  };
  AGENTD_TRY_VOID(store.read(id, std::max<std::uint64_t>(from, 1), revision, [&](const StoredRecord& record) {
    if (!carries_message(record.record.type)) return true;
    auto message = read_message(record.record);
    if (!message) {
      failed = message.error();
      return false;
    }
    if (others == Others::kAsContext && record.record.type == RecordType::kUserMessage && by_other(*message))
      message->message.flags |= AGENTD_MESSAGE_CONTEXT;
    rows.append(message->message, record.seq, record.time_ms, id.text());
    return rows.size() < limit;
  }));
  if (!failed) return failed.error();
  return rows;
}

namespace {

bool is_pruned(const agentd_message& row) {
  for (std::uint32_t i = 0; i < row.blocks.count; ++i)
    if ((blocks_of(row)[i].flags & AGENTD_BLOCK_PRUNED) != 0) return true;
  return false;
}

}  // namespace

Result<Rows> load_originals(const Store& store, const Ulid& id, const Rows& rows, std::uint32_t count,
                            const Rows::Count& token_count) {
  if (std::none_of(rows.begin(), rows.begin() + count, is_pruned)) return rows;
  Rows out(token_count);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!is_pruned(rows[i])) {
      out.append_copy(rows[i]);
      continue;
    }
    AGENTD_TRY(const Rows whole, load_log_messages(store, id, rows[i].seq, rows[i].seq, 1));
    if (whole.empty()) return Error{Code::kCorrupt, "message " + std::to_string(rows[i].seq) + " is not in the log"};
    out.append_copy(whole[0]);
  }
  return out;
}

namespace {

// The view before a cut whose mark is the summary at `seq`; nothing when it is no such mark.
Result<std::unique_ptr<Conversation>> view_before_cut(const Store& store, const Ulid& id, std::uint64_t seq,
                                                      const Rows::Count& token_count) {
  AGENTD_TRY(const auto mark, read_one(store, id, seq));
  if (!mark || mark->record.type != RecordType::kSummary) return std::unique_ptr<Conversation>();
  AGENTD_TRY(const MessageRecord message, read_message(mark->record));
  if (message.author != kCutAuthor) return std::unique_ptr<Conversation>();
  // A boundary directly follows its summary.
  AGENTD_TRY(const auto next, read_one(store, id, seq + 1));
  if (!next || next->record.type != RecordType::kBoundary) return std::unique_ptr<Conversation>();
  AGENTD_TRY(const BoundaryRecord boundary, read_boundary(next->record));
  const bool cut = boundary.summary_seq == seq && boundary.method == method_name(AGENTD_METHOD_TRUNCATE);
  if (!cut) return std::unique_ptr<Conversation>();
  return load_conversation_at(store, id, boundary.base_seq, token_count);
}

}  // namespace

Result<SummarySource> load_summary_source(const Store& store, const Ulid& id, const Rows& rows, const Origins& origins,
                                          std::uint32_t count, const Rows::Count& token_count) {
  std::set<std::uint64_t> kept;
  for (std::uint32_t i = count; i < rows.size(); ++i) kept.insert(rows[i].seq);
  Rows source = rows;
  Origins known = origins;
  std::uint32_t used = count;
  for (std::uint32_t i = 0; i < used;) {
    const std::uint64_t seq = source[i].seq;
    if (source[i].role != AGENTD_ROLE_SUMMARY) {
      ++i;
      continue;
    }
    AGENTD_TRY(const auto before, view_before_cut(store, id, seq, token_count));
    if (!before) {
      ++i;
      continue;
    }
    known.add(before->origins());
    Rows whole(token_count);
    std::set<std::uint64_t> there;
    for (const agentd_message& row : before->rows()) {
      there.insert(row.seq);
      if (kept.count(row.seq) == 0) whole.append_copy(row);
    }
    for (std::uint32_t k = 0; k < used; ++k)
      if (k != i && there.count(source[k].seq) == 0) whole.append_copy(source[k]);
    source = std::move(whole);
    used = source.size();
    i = 0;  // the rows before may begin with an older mark
  }
  AGENTD_TRY(Rows originals, load_originals(store, id, source, used, token_count));
  return SummarySource{std::move(originals), used, std::move(known)};
}

}  // namespace agentd
