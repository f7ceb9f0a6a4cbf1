// SPDX-License-Identifier: Apache-2.0
#include "core/transfer/log_file.h"

#include <cstdio>

#include "core/base/base64.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

// The same seal as rows of the store have, so that no byte of the line changes unnoticed.
std::string sealed_line(std::string json) {
  json.pop_back();
  char sum[16];
  std::snprintf(sum, sizeof sum, "%08x", crc32c(json));
  return json + ",\"crc32c\":\"" + sum + "\"}";
}

Error changed(const LogFileHead& head) {
  return {Code::kConflict, "conversation " + head.conversation_id +
                               " was deleted, or something was erased from it, while it was exported: export it again"};
}

}  // namespace

std::string write_log_head(const LogFileHead& head) {
  JsonWriter out;
  out.begin_object().member("type", "header").member("format", kLogFileFormat).member("version", kLogFileVersion);
  out.member("conversation_id", head.conversation_id).member("agentd", head.agentd);
  out.member("exported_ms", head.exported_ms).member("revision", head.revision).member("chain", hex(head.chain));
  out.end_object();
  return sealed_line(std::string(out.text()));
}

std::string write_log_end(const LogFileEnd& end) {
  JsonWriter out;
  out.begin_object().member("type", "end").member("records", end.records).member("texts", end.texts);
  out.member("chain", hex(end.chain)).member("lines", hex(end.lines)).end_object();
  return std::string(out.text());
}

std::string write_log_record(const StoredRecord& stored, const VerifiedBatch* ends) {
  const Record& record = stored.record;
  JsonWriter out;
  out.begin_object().member("type", "record").member("seq", stored.seq);
  out.member("kind", static_cast<unsigned>(record.type)).optional("name", name_of(record.type));
  out.member("version", static_cast<unsigned>(record.version)).member("flags", static_cast<unsigned>(record.flags));
  out.member("run", record.run).member("turn", record.turn).member("time_ms", stored.time_ms);
  out.member("sha256", hex(stored.digest));
  if (stored.erased_by != 0) out.member("erased_by", stored.erased_by).member("bytes", stored.bytes);
  out.member("payload", record.payload);
  if (ends != nullptr) {
    out.key("attached").begin_array();
    for (const Digest& digest : ends->attached) out.string(hex(digest));
    out.end_array().member("chain", hex(ends->chain));
  }
  out.end_object();
  return std::string(out.text());
}

std::string write_log_text(const Digest& digest, const std::string& text) {
  JsonWriter out;
  out.begin_object().member("type", "text").member("sha256", hex(digest));
  if (is_utf8(text))
    out.member("text", text);
  else
    out.member("base64", base64(text));
  out.end_object();
  return std::string(out.text());
}

LogExport::LogExport(const Store& store, const WholeLogs& logs, const Ulid& conversation, LogFileHead head)
    : store_(&store), logs_(&logs), conversation_(conversation), head_(std::move(head)) {
  end_.chain = head_.chain;
}

// The chain up to a sequence does not change, so that the two need not be read at once.
Result<std::unique_ptr<LogExport>> LogExport::begin(const Store& store, const Ulid& conversation, std::string agentd,
                                                    std::int64_t now_ms) {
  const WholeLogs* const logs = whole_logs(store);
  if (logs == nullptr) return Error{Code::kInvalid, "this store keeps no logs that can be exported"};
  AGENTD_TRY(const ConversationInfo info, store.info(conversation));
  LogFileHead head{conversation.text(), std::move(agentd), now_ms, info.revision, {}};
  AGENTD_TRY(head.chain, store.chain(conversation, info.revision));
  return std::unique_ptr<LogExport>(new LogExport(store, *logs, conversation, std::move(head)));
}

Result<std::string> LogExport::batch() {
  auto found = logs_->batch(conversation_, seq_ + 1);
  if (!found && found.error().code == Code::kNotFound) return changed(head_);
  if (!found) return found.error();
  std::string out;
  for (const StoredRecord& record : found->records) {
    if (record.erased_by > head_.revision) return changed(head_);
    if (!is_utf8(record.record.payload))
      return Error{Code::kCorrupt, "record " + std::to_string(record.seq) + " of conversation " + conversation_.text() +
                                       " is not UTF-8 and cannot be exported"};
    out += write_log_record(record, &record == &found->records.back() ? &*found : nullptr) + "\n";
  }
  for (const Digest& digest : found->attached) {
    if (!told_.insert(digest).second) continue;
    const auto text = store_->blob(digest);
    if (!text && text.error().code == Code::kNotFound) return changed(head_);
    if (!text) return text.error();
    out += write_log_text(digest, *text) + "\n";
    ++end_.texts;
  }
  seq_ = found->records.back().seq;
  end_.records += found->records.size();
  if (seq_ == head_.revision && found->chain != head_.chain) return changed(head_);
  lines_.add(out);
  return out;
}

Result<std::string> LogExport::next() {
  if (at_ == At::kComplete) return std::string();
  if (at_ == At::kHead) {
    at_ = At::kLog;
    return write_log_head(head_) + "\n";
  }
  if (seq_ < head_.revision) return batch();
  at_ = At::kComplete;
  end_.lines = lines_.finish();
  return write_log_end(end_) + "\n";
}

}  // namespace agentd
