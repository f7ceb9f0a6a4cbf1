// SPDX-License-Identifier: Apache-2.0
#include "core/store/erase_rules.h"

#include <algorithm>
#include <set>
#include <span>

#include "core/base/bytes.h"

namespace agentd {
namespace {

Error invalid_erasure(const Ulid& conversation, std::uint64_t seq, std::string_view why) {
  return {Code::kInvalid,
          "record " + std::to_string(seq) + " of conversation " + conversation.text() + " " + std::string(why)};
}

// The replacement of a payload must be readable as a record of the same type.
Result<void> check_replacement(const Ulid& conversation, const StoredRecord& record) {
  const auto refused = [&](const Error& why) {
    return invalid_erasure(conversation, record.seq, "cannot be: " + why.message);
  };
  if (record.record.type == RecordType::kGenesis)
    return invalid_erasure(conversation, record.seq, "begins the log and cannot be erased");
  if (carries_message(record.record.type))
    if (const auto message = read_message(record.record); !message) return refused(message.error());
  if (record.record.type == RecordType::kErase)
    if (const auto erase = read_erase(record.record); !erase) return refused(erase.error());
  return {};
}

class Eraser {
 public:
  Eraser(const BatchSource& source, const Ulid& conversation, const LogHead& head, const EraseRequest& request)
      : source_(source), replaced_(source), conversation_(conversation), head_(head), request_(request) {
    for (const Erasure& each : request.records) wanted_[each.seq] = &each.payload;
  }

  Result<void> read() {
    if (wanted_.size() != request_.records.size())
      return Error{Code::kInvalid, "a record of conversation " + conversation_.text() + " is to be erased twice"};
    std::uint64_t seq = 1;
    while (seq <= head_.revision) {
      AGENTD_TRY(const std::vector<std::string> chunk, source_.batches(seq));
      if (chunk.empty())
        return Error{Code::kCorrupt,
                     "conversation " + conversation_.text() + " has no sequence " + std::to_string(seq)};
      for (const std::string& bytes : chunk) {
        if (seq > head_.revision) break;
        AGENTD_TRY(Batch batch, decode_batch(bytes));
        seq = batch.last_seq() + 1;
        AGENTD_TRY_VOID(take(std::move(batch)));
      }
    }
    if (erased_.size() == wanted_.size()) return {};
    for (const auto& [at, payload] : wanted_)
      if (at == 0 || at > head_.revision)
        return Error{Code::kInvalid, "conversation " + conversation_.text() + " has no sequence " + std::to_string(at) +
                                         ", it ends with " + std::to_string(head_.revision)};
    return {};
  }

  Result<PreparedErase> finish(std::int64_t time_ms) {
    std::vector<Record> records = std::move(erased_);
    records.insert(records.end(), request_.append.begin(), request_.append.end());
    out_.head = head_;
    out_.report.records = wanted_.size();
    if (!records.empty()) {
      AGENTD_TRY(out_.append, prepare_append(conversation_, head_.revision, records, {}, time_ms));
      out_.append.batch.previous = head_.chain;
      AGENTD_TRY_VOID(fold_all(out_.info, out_.append.stored));
      out_.head = {out_.append.batch.last_seq(), chain_of(out_.append.batch)};
      out_.appended = encode_batch(out_.append.batch);
    }
    out_.report.revision = out_.head.revision;
    return std::move(out_);
  }

 private:
  Result<void> take(Batch batch) {
    bool changed = false;
    for (std::size_t i = 0; i < batch.records.size(); ++i) {
      BatchRecord& each = batch.records[i];
      AGENTD_TRY(StoredRecord record, unpack_record(source_, batch, i, replaced_));
      if (const auto wanted = wanted_.find(record.seq); wanted != wanted_.end()) {
        if (each.in_blob()) ++out_.dropped[each.digest];
        each.flags = static_cast<std::uint8_t>(each.flags & ~Record::kBlob);
        each.payload = {};
        erased_.push_back(write_erase({record.seq, hex(record.digest), *wanted->second}));
        each.erased_by = head_.revision + erased_.size();
        record.record.payload = *wanted->second;
        AGENTD_TRY_VOID(check_replacement(conversation_, record));
        changed = true;
      }
      if (auto folded = fold(out_.info, record); !folded) return folded.error();
    }
    const std::size_t attached = batch.attached.size();
    for (const Digest& digest : batch.attached)
      if (goes(digest)) ++out_.dropped[digest];
    std::erase_if(batch.attached, [&](const Digest& digest) { return goes(digest); });
    out_.report.texts += attached - batch.attached.size();
    if (changed || attached != batch.attached.size()) out_.batches.emplace_back(batch.first_seq, encode_batch(batch));
    return {};
  }
  bool goes(const Digest& digest) const {
    return std::find(request_.attached.begin(), request_.attached.end(), digest) != request_.attached.end();
  }

  const BatchSource& source_;
  Replacements replaced_;
  const Ulid conversation_;
  const LogHead head_;
  const EraseRequest& request_;
  std::map<std::uint64_t, const std::string*> wanted_;
  std::vector<Record> erased_;  // the erase records, in the order of what they replace
  PreparedErase out_;
};

}  // namespace

Result<PreparedErase> prepare_erase(const BatchSource& source, const Ulid& conversation, const LogHead& head,
                                    const EraseRequest& request, std::int64_t time_ms) {
  Eraser eraser(source, conversation, head, request);
  AGENTD_TRY_VOID(eraser.read());
  return eraser.finish(time_ms);
}

std::optional<ErasedReceipt> erase_receipt(std::string_view json, const EraseRequest& request,
                                           const PayloadOf& payload_of) {
  if (!request.receipt) return std::nullopt;
  auto receipt = read_receipt(json);
  if (!receipt) return std::nullopt;
  const std::optional<std::string> payload =
      receipt->payload_kept ? payload_of(receipt->payload_digest) : std::optional<std::string>();
  const bool says_nothing = !receipt->payload_kept && receipt->answer == "[]" && receipt->note.empty();
  if (says_nothing || !request.receipt(*receipt, payload.value_or(""))) return std::nullopt;
  ErasedReceipt out;
  if (receipt->payload_kept) out.payload = receipt->payload_digest;
  receipt->payload_kept = false;
  receipt->answer = "[]";
  receipt->note.clear();
  out.json = write_receipt(*receipt);
  return out;
}

}  // namespace agentd
