// SPDX-License-Identifier: Apache-2.0
#include "core/store/log_rules.h"

#include <algorithm>

#include "core/base/bytes.h"

namespace agentd {
namespace {

Error invalid(std::string message) { return {Code::kInvalid, std::move(message)}; }

Result<void> check_genesis(const Ulid& conversation, const Record& record) {
  auto genesis = read_genesis(record);
  if (!genesis) return invalid(genesis.error().message);
  if (genesis->conversation_id != conversation.text())
    return invalid("the genesis names conversation " + genesis->conversation_id + ", not " + conversation.text());
  return {};
}

Result<void> check_records(const Ulid& conversation, std::uint64_t expected_revision, std::span<const Record> records) {
  if (records.empty()) return invalid("an append needs at least one record");
  if (records.size() > kBatchRecordsMax)
    return invalid("an append of " + std::to_string(records.size()) + " records; the limit is " +
                   std::to_string(kBatchRecordsMax));
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    const bool first = expected_revision == 0 && i == 0;
    if (first != (record.type == RecordType::kGenesis))
      return invalid(first ? "the first record of a conversation must be a genesis"
                           : "only the first record of a conversation is a genesis");
    if (first) AGENTD_TRY_VOID(check_genesis(conversation, record));
    if (record.payload.size() > kPayloadBytesMax)
      return invalid("a record of " + std::to_string(record.payload.size()) + " bytes is too long for a log");
    if (record.payload.size() <= kInlinePayloadMax) bytes += record.payload.size();
  }
  if (bytes > kBatchBytesMax) return invalid("an append is too long for a log: split it");
  return {};
}

BatchRecord header_of(const StoredRecord& stored) {
  BatchRecord out;
  out.type = stored.record.type;
  out.version = stored.record.version;
  out.flags = stored.record.flags;
  out.length = static_cast<std::uint32_t>(stored.record.payload.size());
  out.run = stored.record.run;
  out.turn = stored.record.turn;
  out.digest = stored.digest;
  if (out.length > kInlinePayloadMax)
    out.flags |= Record::kBlob;
  else
    out.payload = stored.record.payload;
  return out;
}

std::string batch_name(const Ulid& conversation, std::uint64_t seq) {
  return "conversation " + conversation.text() + ", batch at sequence " + std::to_string(seq);
}

Error broken(const Ulid& conversation, std::uint64_t seq, std::string why) {
  return {Code::kCorrupt, batch_name(conversation, seq) + ": " + std::move(why)};
}

// The payload, wherever it is stored, checked against its digest.
Result<std::string> payload_of(const BatchSource& source, const BatchRecord& record) {
  std::string payload(record.payload);
  if (record.in_blob()) {
    auto blob = source.blob(record.digest);
    if (!blob && blob.error().code == Code::kNotFound)
      return Error{Code::kCorrupt, "the blob " + hex(record.digest) + " is missing"};
    if (!blob) return blob.error();
    payload = std::move(*blob);
  }
  if (payload.size() != record.length || sha256(payload) != record.digest)
    return Error{Code::kCorrupt, "a payload does not match its digest"};
  return payload;
}

// Calls `visit` for each batch from the one with `seq` to the one with `last`; batches must follow each other without a
// gap.
Result<void> walk(const BatchSource& source, const Ulid& conversation, std::uint64_t seq, std::uint64_t last,
                  const std::function<Result<bool>(const Batch&)>& visit) {
  bool started = false;
  while (seq <= last) {
    AGENTD_TRY(const std::vector<std::string> chunk, source.batches(seq));
    if (chunk.empty()) return broken(conversation, seq, "it is missing; the log should end at " + std::to_string(last));
    for (const std::string& bytes : chunk) {
      if (seq > last) break;
      auto batch = decode_batch(bytes);
      if (!batch) return batch.error().with_context(batch_name(conversation, seq));
      const bool fits = started ? batch->first_seq == seq : batch->first_seq <= seq && batch->last_seq() >= seq;
      if (!fits)
        return broken(conversation, seq, "the log continues with sequence " + std::to_string(batch->first_seq));
      started = true;
      seq = batch->last_seq() + 1;
      AGENTD_TRY(const bool go_on, visit(*batch));
      if (!go_on) return {};
    }
  }
  return {};
}

Result<void> verify_blobs(const BatchSource& source, const Batch& batch) {
  for (const Digest& digest : batch.attached) {
    auto blob = source.blob(digest);
    if (!blob && blob.error().code != Code::kNotFound) return blob.error();
    if (!blob || sha256(*blob) != digest)
      return Error{Code::kCorrupt, "the blob " + hex(digest) + (blob ? " does not match its digest" : " is missing")};
  }
  return {};
}

Result<void> verify_batch(const BatchSource& source, const Batch& batch, const Digest& previous,
                          Replacements& replaced) {
  if (batch.previous != previous) return Error{Code::kCorrupt, "its link to the batch before is broken"};
  for (std::size_t i = 0; i < batch.records.size(); ++i) AGENTD_TRY_VOID(unpack_record(source, batch, i, replaced));
  return verify_blobs(source, batch);
}

bool contains_ignoring_case(std::string_view text, std::string_view part) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  const auto same = [&](char a, char b) { return lower(a) == lower(b); };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

Result<void> check_op(std::string_view space, const KeyOp& op, const VersionOf& version_of) {
  AGENTD_TRY_VOID(check_key(space, op.key));
  if (op.kind == KeyOp::Kind::kPut && op.value.size() > kKeyValueBytesMax)
    return invalid("the value of key " + one_line(op.key, 100) + " has " + std::to_string(op.value.size()) +
                   " bytes; the limit is " + std::to_string(kKeyValueBytesMax));
  if (op.expect == KeyOp::kAny) return {};
  AGENTD_TRY(const std::uint64_t version, version_of(op.key));
  if (version == op.expect) return {};
  const auto told = [](std::uint64_t v) {
    return v == KeyOp::kAbsent ? std::string("absent") : "at version " + std::to_string(v);
  };
  return Error{Code::kConflict, "key " + one_line(op.key, 100) + " of " + one_line(space, 100) + " is " +
                                    told(version) + ", not " + told(op.expect)};
}

}  // namespace

Result<PreparedAppend> prepare_append(const Ulid& conversation, std::uint64_t expected_revision,
                                      std::span<const Record> records, std::span<const std::string> blobs,
                                      std::int64_t time_ms) {
  AGENTD_TRY_VOID(check_records(conversation, expected_revision, records));
  PreparedAppend out;
  out.batch.first_seq = expected_revision + 1;
  out.batch.time_ms = time_ms;
  out.stored.reserve(records.size());
  out.batch.records.reserve(records.size());
  for (const Record& record : records) {
    StoredRecord& stored = out.stored.emplace_back();
    stored.seq = expected_revision + out.stored.size();
    stored.time_ms = time_ms;
    stored.digest = sha256(record.payload);
    stored.bytes = record.payload.size();
    stored.record = record;
    stored.record.flags = static_cast<std::uint8_t>(record.flags & ~kOfTheStore);
    const BatchRecord& header = out.batch.records.emplace_back(header_of(stored));
    if (header.in_blob()) out.blobs.emplace_back(stored.digest, stored.record.payload);
  }
  for (const std::string& blob : blobs) {
    if (blob.size() > kPayloadBytesMax) return invalid("a blob is too long for a log");
    out.batch.attached.push_back(sha256(blob));
    out.blobs.emplace_back(out.batch.attached.back(), blob);
  }
  return out;
}

Result<std::vector<PreparedReceipt>> prepare_receipts(std::span<const HookReceipt> receipts) {
  std::vector<PreparedReceipt> out;
  const std::string* checked = nullptr;  // the receipts of one dispatch share their bytes
  Digest digest{};
  for (const HookReceipt& receipt : receipts) {
    PreparedReceipt& prepared = out.emplace_back();
    prepared.json = write_receipt(receipt);
    if (!receipt.payload) continue;
    if (receipt.payload.get() != checked) {
      checked = receipt.payload.get();
      digest = sha256(*checked);
    }
    if (digest != receipt.payload_digest)
      return invalid("the payload of a receipt of " + one_line(receipt.hook, 100) + " does not match its digest");
    prepared.payload.emplace(digest, *receipt.payload);
  }
  return out;
}

std::size_t bytes_of(const std::vector<PreparedReceipt>& receipts) {
  std::size_t out = 0;
  for (const PreparedReceipt& receipt : receipts)
    out += receipt.json.size() + (receipt.payload ? receipt.payload->second.size() : 0);
  return out;
}

std::optional<Digest> payload_of_receipt(std::string_view json) {
  const auto receipt = read_receipt(json);
  if (!receipt || !receipt->payload_kept) return std::nullopt;
  return receipt->payload_digest;
}

std::optional<std::int64_t> time_of_receipt(std::string_view json) {
  const auto receipt = read_receipt(json);
  return receipt ? std::optional(receipt->time_ms) : std::nullopt;
}

bool began_before(const Ulid& conversation, std::int64_t time_ms) {
  return time_ms > 0 && conversation.time_ms() < static_cast<std::uint64_t>(time_ms);
}

Result<void> fold_all(ConversationInfo& info, std::span<const StoredRecord> records) {
  for (const StoredRecord& record : records)
    if (auto folded = fold(info, record); !folded) return invalid(folded.error().message);
  return {};
}

Error stale_revision(const Ulid& conversation, std::uint64_t is, std::uint64_t expected) {
  const std::string name = "conversation " + conversation.text();
  if (is == 0) return {Code::kConflict, name + " does not exist, or was deleted"};
  if (expected == 0) return {Code::kConflict, name + " already exists"};
  return {Code::kConflict,
          name + " is at revision " + std::to_string(is) + ", not " + std::to_string(expected) + ": read it again"};
}

Error no_such_conversation(const Ulid& conversation) {
  return {Code::kNotFound, "no conversation " + conversation.text()};
}

Error no_such_blob(const Digest& digest) { return {Code::kNotFound, "no blob " + hex(digest)}; }

Error no_such_key(std::string_view space, std::string_view key) {
  return {Code::kNotFound, "no key " + one_line(key, 100) + " of " + one_line(space, 100)};
}

Result<BatchRecord> Replacements::record_at(std::uint64_t seq) {
  if (batch_.records.empty() || seq < batch_.first_seq || seq > batch_.last_seq()) {
    AGENTD_TRY(std::vector<std::string> chunk, source_.batches(seq));
    if (chunk.empty()) return Error{Code::kCorrupt, "the log has no sequence " + std::to_string(seq)};
    batch_ = {};
    bytes_ = std::move(chunk.front());
    AGENTD_TRY(batch_, decode_batch(bytes_));
    if (seq < batch_.first_seq || seq > batch_.last_seq())
      return Error{Code::kCorrupt, "the log has no sequence " + std::to_string(seq)};
  }
  return batch_.records[static_cast<std::size_t>(seq - batch_.first_seq)];
}

// An eraser stands behind what it erases, so that the search ends.
Result<std::string> Replacements::find(std::uint64_t seq, const Digest& digest, std::uint64_t erased_by) {
  struct Wanted {
    std::uint64_t seq = 0;
    Digest digest{};
    std::uint64_t erased_by = 0;
  };
  std::vector<Wanted> wanted{{seq, digest, erased_by}};
  for (;;) {
    const std::uint64_t eraser = wanted.back().erased_by;
    AGENTD_TRY(const BatchRecord record, record_at(eraser));
    Record erase;
    erase.type = record.type;
    if (record.is_erased()) {
      wanted.push_back({eraser, record.digest, record.erased_by});
      continue;
    }
    AGENTD_TRY(erase.payload, payload_of(source_, record));
    // The payload that was erased last is known: it holds the payload of the one before it.
    for (; !wanted.empty(); wanted.pop_back()) {
      auto said = read_erase(erase);
      if (!said) return said.error();
      if (said->seq != wanted.back().seq || said->digest != hex(wanted.back().digest))
        return Error{Code::kCorrupt, "record " + std::to_string(wanted.back().erased_by) + " does not replace record " +
                                         std::to_string(wanted.back().seq)};
      erase.payload = std::move(said->payload);
    }
    return std::move(erase.payload);
  }
}

Result<std::uint64_t> Replacements::eraser_of(std::uint64_t seq) {
  batch_ = {};
  AGENTD_TRY(const BatchRecord record, record_at(seq));
  return record.erased_by;
}

Result<StoredRecord> unpack_record(const BatchSource& source, const Batch& batch, std::size_t index,
                                   Replacements& replaced) {
  const BatchRecord& from = batch.records[index];
  StoredRecord out;
  out.seq = batch.first_seq + index;
  out.time_ms = batch.time_ms;
  out.digest = from.digest;
  out.record.type = from.type;
  out.record.version = from.version;
  out.record.flags = static_cast<std::uint8_t>(from.flags & ~kOfTheStore);
  out.record.run = from.run;
  out.record.turn = from.turn;
  out.erased_by = from.erased_by;
  out.bytes = from.length;
  if (!from.is_erased()) {
    auto payload = payload_of(source, from);
    // The blob may have been erased since the batch was read.
    const auto eraser = !payload && from.in_blob() ? replaced.eraser_of(out.seq) : Result<std::uint64_t>(0);
    out.erased_by = eraser.value_or(0);
    if (out.erased_by == 0) {
      AGENTD_TRY(out.record.payload, std::move(payload));
      return out;
    }
  }
  AGENTD_TRY(out.record.payload, replaced.find(out.seq, out.digest, out.erased_by));
  return out;
}

Result<void> read_log(const BatchSource& source, const Ulid& conversation, const LogHead& head, std::uint64_t first,
                      std::uint64_t last, const std::function<bool(const StoredRecord&)>& visit) {
  first = std::max<std::uint64_t>(first, 1);
  last = last == 0 ? head.revision : std::min(last, head.revision);
  Replacements replaced(source);
  const auto visit_batch = [&](const Batch& batch) -> Result<bool> {
    for (std::size_t i = 0; i < batch.records.size(); ++i) {
      auto record = unpack_record(source, batch, i, replaced);
      if (!record) return record.error().with_context(batch_name(conversation, batch.first_seq));
      if (record->seq >= first && record->seq <= last && !visit(*record)) return false;
    }
    return true;
  };
  return walk(source, conversation, first, last, visit_batch);
}

namespace {

Result<VerifiedBatch> unpack_batch(const BatchSource& source, const Batch& batch, Replacements& replaced) {
  VerifiedBatch out{batch.time_ms, batch.previous, {}, batch.attached, chain_of(batch)};
  for (std::size_t i = 0; i < batch.records.size(); ++i) {
    AGENTD_TRY(StoredRecord record, unpack_record(source, batch, i, replaced));
    out.records.push_back(std::move(record));
  }
  return out;
}

}  // namespace

Result<VerifiedBatch> batch_at(const BatchSource& source, const Ulid& conversation, const LogHead& head,
                               std::uint64_t seq) {
  if (seq == 0 || seq > head.revision)
    return Error{Code::kNotFound, "conversation " + conversation.text() + " has no sequence " + std::to_string(seq)};
  VerifiedBatch out;
  Replacements replaced(source);
  AGENTD_TRY_VOID(walk(source, conversation, seq, seq, [&](const Batch& batch) -> Result<bool> {
    AGENTD_TRY(out, unpack_batch(source, batch, replaced));
    return false;
  }));
  return out;
}

Result<void> verify_log(const BatchSource& source, const Ulid& conversation, const LogHead& head,
                        const std::function<void(const VerifiedBatch&)>& visit) {
  Digest chain{};
  std::uint64_t revision = 0;
  Replacements replaced(source);
  const auto visit_batch = [&](const Batch& batch) -> Result<bool> {
    auto verified = verify_batch(source, batch, chain, replaced);
    if (!verified) return verified.error().with_context(batch_name(conversation, batch.first_seq));
    chain = chain_of(batch);
    revision = batch.last_seq();
    if (!visit) return true;
    AGENTD_TRY(const VerifiedBatch whole, unpack_batch(source, batch, replaced));
    visit(whole);
    return true;
  };
  AGENTD_TRY_VOID(walk(source, conversation, 1, head.revision, visit_batch));
  if (revision != head.revision || chain != head.chain)
    return broken(conversation, revision, "the log does not end where its head says");
  return {};
}

namespace {

Error no_such_sequence(const Ulid& conversation, const LogHead& head, std::uint64_t at) {
  return invalid("conversation " + conversation.text() + " has no sequence " + std::to_string(at) + ", it ends with " +
                 std::to_string(head.revision));
}

// The batch as it would be if the log ended with `last`.
Batch cut_batch(const Batch& batch, std::uint64_t last) {
  Batch out = batch;
  if (out.last_seq() > last) out.records.resize(static_cast<std::size_t>(last - out.first_seq + 1));
  return out;
}

// The records that a compaction writes before its boundary belong to the view after it: a log that ends between them
// has a view that never existed.
Result<void> outside_a_compaction(const Batch& batch, std::uint64_t at) {
  std::uint64_t first = 0;  // of its messages
  for (std::size_t i = 0; i < batch.records.size(); ++i) {
    const std::uint64_t seq = batch.first_seq + i;
    const RecordType type = batch.records[i].type;
    if (first == 0 && carries_message(type)) first = seq;
    if (type != RecordType::kBoundary) continue;
    if (first != 0 && first <= at && at < seq)
      return Error{Code::kInvalid, "sequence " + std::to_string(at) + " is inside a compaction: use " +
                                       std::to_string(first - 1) + ", before it, or " + std::to_string(seq) +
                                       ", after it"};
    first = 0;
  }
  return {};
}

// Chains batches one after the other. An erase record that stands behind `at` is not among the copies: what it says
// follows them, and the copies name its new place.
class ForkWriter {
 public:
  ForkWriter(const BatchSource& source, const LogHead& parent, std::uint64_t at)
      : source_(source), replaced_(source), at_(at) {
    out_.parent = parent;
  }

  Result<void> add(Batch batch) {
    batch.previous = out_.head.chain;
    for (std::size_t i = 0; i < batch.records.size(); ++i) {
      BatchRecord& each = batch.records[i];
      AGENTD_TRY(const StoredRecord record, unpack_record(source_, batch, i, replaced_));
      AGENTD_TRY_VOID(fold(out_.info, record));
      if (record.erased_by > at_) {
        brought_.push_back(write_erase({record.seq, hex(record.digest), record.record.payload}));
        each.erased_by = at_ + brought_.size();
      }
      // It may have been erased since the batch was read.
      if (record.erased_by != 0) each.flags = static_cast<std::uint8_t>(each.flags & ~Record::kBlob);
      if (each.in_blob()) ++out_.mentions[each.digest];
    }
    for (const Digest& digest : batch.attached) ++out_.mentions[digest];
    finish(batch);
    return {};
  }
  // Records of the fork's own: the first one, or those behind the copies.
  Result<void> add_own(const Ulid& id, std::vector<Record> records, std::int64_t time_ms) {
    AGENTD_TRY(PreparedAppend append, prepare_append(id, out_.head.revision, records, {}, time_ms));
    append.batch.previous = out_.head.chain;
    for (const StoredRecord& record : append.stored) AGENTD_TRY_VOID(fold(out_.info, record));
    for (const auto& [digest, bytes] : append.blobs) out_.blobs.emplace_back(digest, bytes);
    finish(append.batch);
    return {};
  }
  std::vector<Record> take_brought() { return std::exchange(brought_, {}); }
  PreparedFork take() { return std::move(out_); }

 private:
  void finish(const Batch& batch) {
    out_.head = {batch.last_seq(), chain_of(batch)};
    out_.batches.emplace_back(batch.first_seq, encode_batch(batch));
  }

  const BatchSource& source_;
  Replacements replaced_;
  const std::uint64_t at_;
  std::vector<Record> brought_;
  PreparedFork out_;
};

}  // namespace

Result<Digest> chain_at(const BatchSource& source, const Ulid& conversation, const LogHead& head, std::uint64_t at) {
  if (at == 0) return head.chain;
  if (at > head.revision) return no_such_sequence(conversation, head, at);
  Digest chain{};
  const auto visit = [&](const Batch& batch) -> Result<bool> {
    chain = chain_of(cut_batch(batch, at));
    return false;
  };
  AGENTD_TRY_VOID(walk(source, conversation, at, at, visit));
  return chain;
}

Result<PreparedFork> prepare_fork(const BatchSource& source, const Ulid& from, const LogHead& head, std::uint64_t at,
                                  GenesisRecord genesis, std::string_view title, std::int64_t time_ms) {
  AGENTD_TRY(const Ulid id, Ulid::parse(genesis.conversation_id));
  if (at == 0) at = head.revision;
  AGENTD_TRY(const Digest parent_chain, chain_at(source, from, head, at));
  genesis.parent = from.text();
  genesis.parent_seq = at;
  genesis.parent_chain = hex(parent_chain);
  ForkWriter writer(source, head, at);
  AGENTD_TRY_VOID(writer.add_own(id, {write_genesis(genesis)}, time_ms));
  Digest chain{};
  const auto visit = [&](const Batch& whole) -> Result<bool> {
    if (whole.previous != chain) return broken(from, whole.first_seq, "its link to the batch before is broken");
    chain = chain_of(whole);
    AGENTD_TRY_VOID(outside_a_compaction(whole, at));
    Batch batch = cut_batch(whole, at);
    if (batch.first_seq == 1) {
      // The genesis is not copied; the records committed with it are.
      batch.records.erase(batch.records.begin());
      batch.first_seq = 2;
      if (batch.records.empty()) return true;
    }
    auto added = writer.add(std::move(batch));
    if (!added) return added.error().with_context(batch_name(from, whole.first_seq));
    return true;
  };
  AGENTD_TRY_VOID(walk(source, from, 1, at, visit));
  std::vector<Record> own = writer.take_brought();
  own.push_back(write_meta({std::string(title)}));
  AGENTD_TRY_VOID(writer.add_own(id, std::move(own), time_ms));
  return writer.take();
}

bool erases(const Batch& batch) {
  return std::any_of(batch.records.begin(), batch.records.end(),
                     [](const BatchRecord& each) { return each.type == RecordType::kErase; });
}

Error lost_blob(const Ulid& from) {
  return {Code::kConflict, "conversation " + from.text() + " was removed while it was being forked"};
}

bool matches(const ConversationInfo& info, const ConversationQuery& query) {
  if (!query.project_id.empty() && info.project_id != query.project_id) return false;
  if (query.since_ms != 0 && info.updated_ms < query.since_ms) return false;
  if (query.until_ms != 0 && info.updated_ms > query.until_ms) return false;
  return query.text.empty() || contains_ignoring_case(info.title, query.text) ||
         contains_ignoring_case(info.id, query.text);
}

std::optional<IdRange> ids_that_begin(std::string_view prefix) {
  if (prefix.empty() || prefix.size() > Ulid::kTextBytes) return std::nullopt;
  const std::size_t rest = Ulid::kTextBytes - prefix.size();
  const auto first = Ulid::parse(std::string(prefix).append(rest, '0'));
  const auto last = Ulid::parse(std::string(prefix).append(rest, 'Z'));
  if (!first || !last) return std::nullopt;
  return IdRange{*first, *last};
}

std::uint32_t limit_or_default(std::uint32_t limit) { return limit == 0 ? ConversationQuery{}.limit : limit; }

Result<void> check_key(std::string_view space, std::string_view key) {
  if (space.empty() || space.find('\0') != std::string_view::npos)
    return invalid("a key space needs a name without zero bytes");
  if (key.empty()) return invalid("a key of " + one_line(space, 100) + " is empty");
  if (space.size() + key.size() > kSpaceAndKeyBytesMax)
    return invalid("the key " + one_line(key, 40) + "... of " + one_line(space, 100) + " has " +
                   std::to_string(key.size()) + " bytes; with its space it may have " +
                   std::to_string(kSpaceAndKeyBytesMax));
  return {};
}

Result<KeyChanges> plan_keys(std::string_view space, std::span<const KeyOp> ops, const VersionOf& version_of) {
  for (const KeyOp& op : ops) AGENTD_TRY_VOID(check_op(space, op, version_of));
  KeyChanges out;
  for (const KeyOp& op : ops) {
    if (op.kind == KeyOp::Kind::kPut) out[op.key] = op.value;
    if (op.kind == KeyOp::Kind::kErase) out[op.key] = std::nullopt;
  }
  for (auto at = out.begin(); at != out.end();) {
    AGENTD_TRY(const std::uint64_t version, version_of(at->first));
    at = !at->second && version == KeyOp::kAbsent ? out.erase(at) : std::next(at);
  }
  return out;
}

Result<std::uint64_t> plan_bytes(std::string_view space, const KeyChanges& changes, std::uint64_t held,
                                 const BytesOf& bytes_of) {
  std::uint64_t gone = 0, added = 0;
  for (const auto& [key, value] : changes) {
    AGENTD_TRY(const std::uint64_t now, bytes_of(key));
    gone += now;
    if (value) added += key.size() + value->size();
  }
  const auto mib = [](std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
  if (added > kCommitBytesMax)
    return Error{Code::kDenied, "a commit of " + std::string(space) + " has " + mib(added) +
                                    " of keys and values; the limit is " + mib(kCommitBytesMax) + ": split it"};
  const std::uint64_t after = held - std::min(held, gone) + added;
  if (added > gone && after > kSpaceBytesMax)
    return Error{Code::kDenied, "the keys of " + std::string(space) + " would take " + mib(after) + "; the limit is " +
                                    mib(kSpaceBytesMax) + ": erase some of them first"};
  return after;
}

}  // namespace agentd
