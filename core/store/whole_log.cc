// SPDX-License-Identifier: Apache-2.0
#include "core/store/whole_log.h"

#include "core/store/log_rules.h"

namespace agentd {
namespace {

Error invalid_log(std::string message) { return {Code::kInvalid, std::move(message)}; }

std::string record_name(std::uint64_t seq) { return "record " + std::to_string(seq); }

Result<void> check_first_record(const Ulid& conversation, const Record& record) {
  if (record.type != RecordType::kGenesis) return invalid_log("the first record of a conversation must be a genesis");
  const auto genesis = read_genesis(record);
  if (!genesis) return invalid_log(genesis.error().message);
  if (genesis->conversation_id != conversation.text())
    return invalid_log("the genesis names another conversation than " + conversation.text());
  return {};
}

Result<void> check_record(const StoredRecord& stored, std::uint64_t seq) {
  if (stored.seq != seq)
    return invalid_log("the log has sequence " + std::to_string(stored.seq) + " where " + std::to_string(seq) +
                       " must follow");
  if (seq != 1 && stored.record.type == RecordType::kGenesis)
    return invalid_log("only the first record of a conversation is a genesis");
  if (stored.record.payload.size() > kPayloadBytesMax) return invalid_log(record_name(seq) + " is too long for a log");
  const bool as_it_was = stored.erased_by == 0;
  if (as_it_was && (stored.bytes != stored.record.payload.size() || stored.digest != sha256(stored.record.payload)))
    return invalid_log("the payload of " + record_name(seq) + " does not match its digest");
  return {};
}

}  // namespace

WholeLogs* whole_logs(Store& store) { return dynamic_cast<WholeLogs*>(&store); }
const WholeLogs* whole_logs(const Store& store) { return dynamic_cast<const WholeLogs*>(&store); }

Batch batch_of(const VerifiedBatch& from, std::uint64_t seq, const Digest& previous) {
  Batch out;
  out.first_seq = seq;
  out.time_ms = from.time_ms;
  out.previous = previous;
  out.attached = from.attached;
  out.records.reserve(from.records.size());
  for (const StoredRecord& stored : from.records) {
    BatchRecord& each = out.records.emplace_back();
    each.type = stored.record.type;
    each.version = stored.record.version;
    each.flags = static_cast<std::uint8_t>(stored.record.flags & ~kOfTheStore);
    each.length = static_cast<std::uint32_t>(stored.bytes);
    each.run = stored.record.run;
    each.turn = stored.record.turn;
    each.digest = stored.digest;
    each.erased_by = stored.erased_by;
    if (each.is_erased()) continue;
    if (each.length > kInlinePayloadMax)
      each.flags |= Record::kBlob;
    else
      each.payload = stored.record.payload;
  }
  return out;
}

Result<void> check_erasures(const WholeLog& log) {
  std::vector<const StoredRecord*> records;
  for (const VerifiedBatch& batch : log.batches)
    for (const StoredRecord& record : batch.records) records.push_back(&record);
  for (const StoredRecord* const record : records) {
    if (record->erased_by == 0) continue;
    const Error unexplained = invalid_log(record_name(record->seq) + " was erased, and no later record says so");
    if (record->erased_by <= record->seq || record->erased_by > records.size()) return unexplained;
    const Record& eraser = records[static_cast<std::size_t>(record->erased_by - 1)]->record;
    if (eraser.type != RecordType::kErase) return unexplained;
    const auto said = read_erase(eraser);
    if (!said || said->seq != record->seq || said->digest != hex(record->digest) ||
        said->payload != record->record.payload)
      return unexplained;
  }
  return {};
}

Result<PreparedLog> prepare_log(const Ulid& conversation, const WholeLog& log) {
  if (log.batches.empty() || log.batches[0].records.empty()) return invalid_log("the log has no records");
  AGENTD_TRY_VOID(check_first_record(conversation, log.batches[0].records[0].record));
  AGENTD_TRY_VOID(check_erasures(log));
  PreparedLog out;
  for (const VerifiedBatch& from : log.batches) {
    if (from.records.empty() || from.records.size() > kBatchRecordsMax)
      return invalid_log("a batch of " + std::to_string(from.records.size()) + " records is not one of a log");
    std::size_t bytes = 0;
    const std::uint64_t first = out.revision + 1;
    for (const StoredRecord& stored : from.records) {
      AGENTD_TRY_VOID(check_record(stored, ++out.revision));
      if (auto folded = fold(out.info, stored); !folded) return invalid_log(folded.error().message);
      if (stored.erased_by != 0) continue;
      if (stored.bytes > kInlinePayloadMax)
        out.blobs.emplace_back(stored.digest, stored.record.payload);
      else
        bytes += stored.record.payload.size();
    }
    if (bytes > kBatchBytesMax) return invalid_log("a batch is too long for a log");
    for (const Digest& digest : from.attached) {
      const auto text = log.texts.find(digest);
      if (text == log.texts.end()) return invalid_log("the text " + hex(digest) + " is missing");
      out.blobs.emplace_back(digest, text->second);
    }
    const Batch batch = batch_of(from, first, out.chain);
    out.chain = chain_of(batch);
    out.batches.emplace_back(first, encode_batch(batch));
  }
  return out;
}

}  // namespace agentd
