// SPDX-License-Identifier: Apache-2.0
#include "core/agent/loading.h"

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

// Reverts bring back rows that only a fold from the start has: ranges are folded first, rows made after.
Result<std::unique_ptr<Conversation>> build(const Ulid& id, const std::vector<StoredRecord>& records,
                                            const Rows::Count& count) {
  auto conversation = std::make_unique<Conversation>(id.text(), count);
  AGENTD_TRY_VOID(conversation->load(records));
  return conversation;
}

}  // namespace

Result<std::unique_ptr<Conversation>> load_conversation(const Store& store, const Ulid& id,
                                                        const Rows::Count& count) {
  AGENTD_TRY(const ConversationInfo info, store.info(id));
  // No further than the index goes: what somebody else appends meanwhile would be missing in its totals.
  AGENTD_TRY(const auto records, read_records(store, id, std::max<std::uint64_t>(info.view_first_seq, 1),
                                              info.revision));
  AGENTD_TRY(auto conversation, build(id, records, count));
  conversation->restore_totals(info.usage, info.runs, static_cast<std::uint32_t>(info.compactions));
  return conversation;
}

Result<std::unique_ptr<Conversation>> load_conversation_at(const Store& store, const Ulid& id,
                                                           std::uint64_t revision,
                                                           const Rows::Count& count) {
  AGENTD_TRY(const auto records, read_records(store, id, 1, revision));
  return build(id, records, count);
}

Result<Rows> load_log_messages(const Store& store, const Ulid& id, std::uint64_t revision,
                               std::uint64_t from, std::uint32_t limit) {
  Rows rows;
  Result<void> failed;
  AGENTD_TRY_VOID(store.read(id, std::max<std::uint64_t>(from, 1), revision,
                             [&](const StoredRecord& record) {
                               if (!carries_message(record.record.type)) return true;
                               auto message = read_message(record.record);
                               if (!message) {
                                 failed = message.error();
                                 return false;
                               }
                               rows.append(message->message, record.seq, record.time_ms, id.text());
                               return rows.size() < limit;
                             }));
  if (!failed) return failed.error();
  return rows;
}

}  // namespace agentd
