// SPDX-License-Identifier: Apache-2.0
#include "core/transfer/log_reader.h"

#include <charconv>
#include <optional>

#include "core/base/base64.h"
#include "core/base/bytes.h"
#include "core/transfer/record_check.h"

namespace agentd {
namespace {

constexpr std::int64_t kTimeMax = 253'402'300'799'999;  // the end of the year 9999

std::optional<Digest> read_digest(JsonView view) {
  const std::string_view text = view.string_or("");
  Digest out{};
  if (text.size() != 2 * out.size()) return std::nullopt;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto read = std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, out[i], 16);
    if (read.ec != std::errc() || read.ptr != text.data() + 2 * i + 2) return std::nullopt;
  }
  // Capital digits would be another text of the same digest.
  return hex(out) == text ? std::optional(out) : std::nullopt;
}

// Members of a line; the first one that is missing or out of its range is remembered.
class Members {
 public:
  explicit Members(JsonView json) : json_(json) {}
  std::uint64_t number(std::string_view key, std::uint64_t most) {
    const JsonView view = json_[key];
    const std::uint64_t value = view.uint_or(UINT64_MAX);
    if (!view.is_number() || value > most || std::to_string(value) != view.text()) note(key);
    return value;
  }
  Digest digest(std::string_view key) {
    const auto value = read_digest(json_[key]);
    if (!value) note(key);
    return value.value_or(Digest{});
  }
  std::string text(std::string_view key) {
    if (!json_[key].is_string()) note(key);
    return std::string(json_[key].string_or(""));
  }
  const std::string& wrong() const { return wrong_; }

 private:
  void note(std::string_view key) {
    if (wrong_.empty()) wrong_ = "'" + std::string(key) + "' is missing or cannot be";
  }
  JsonView json_;
  std::string wrong_;
};

}  // namespace

Error LogReader::wrong(std::string_view why) const {
  return {Code::kInvalid, "line " + std::to_string(line_) + ": " + std::string(why)};
}

Result<void> LogReader::head(std::string_view line) {
  const auto json = JsonDocument::parse(line);
  if (!json || json->root()["format"].string_or("") != kLogFileFormat)
    return wrong("the file does not begin with the header of a conversation of agentd");
  Members members(json->root());
  const std::uint64_t version = members.number("version", UINT32_MAX);
  if (members.wrong().empty() && version > kLogFileVersion)
    return wrong("the file has version " + std::to_string(version) +
                 " of its format, which a newer agentd wrote: update this one");
  LogFileHead& head = file_.head;
  head.conversation_id = members.text("conversation_id");
  head.agentd = members.text("agentd");
  head.exported_ms = static_cast<std::int64_t>(members.number("exported_ms", static_cast<std::uint64_t>(kTimeMax)));
  head.revision = members.number("revision", INT64_MAX);
  head.chain = members.digest("chain");
  if (!members.wrong().empty()) return wrong("in the header " + members.wrong());
  const auto id = Ulid::parse(head.conversation_id);
  if (!id || id->text() != head.conversation_id) return wrong("the header's conversation_id is not an id");
  if (line != write_log_head(head)) return wrong("the header was changed: it does not match its checksum");
  file_.conversation = *id;
  has_head_ = true;
  return {};
}

Result<void> LogReader::add(std::string_view line) {
  ++line_;
  if (line.size() > kLogFileLineMax) return wrong("the line is too long");
  if (!is_utf8(line)) return wrong("the line is not UTF-8");
  if (!has_head_) return head(line);
  if (has_end_) return wrong("something follows the end of the file");
  const auto json = JsonDocument::parse(line);
  if (!json || !json->root().is_object())
    return wrong(json ? "the line is not a JSON object" : "the line is not JSON: " + json.error().message);
  const std::string_view type = json->root()["type"].string_or("");
  if (type == "end") return end(line, json->root());
  lines_.add(line).add("\n");
  if (type == "record") return record(line, json->root());
  if (type == "text") return text(json->root());
  return wrong("the line must be one of record, text and end");
}

Result<void> LogReader::record(std::string_view line, JsonView json) {
  Members members(json);
  StoredRecord stored;
  stored.seq = members.number("seq", INT64_MAX);
  stored.record.type = static_cast<RecordType>(members.number("kind", UINT16_MAX));
  stored.record.version = static_cast<std::uint8_t>(members.number("version", UINT8_MAX));
  stored.record.flags = static_cast<std::uint8_t>(members.number("flags", UINT8_MAX));
  stored.record.run = static_cast<std::uint32_t>(members.number("run", UINT32_MAX));
  stored.record.turn = static_cast<std::uint32_t>(members.number("turn", UINT32_MAX));
  stored.time_ms = static_cast<std::int64_t>(members.number("time_ms", static_cast<std::uint64_t>(kTimeMax)));
  stored.digest = members.digest("sha256");
  stored.record.payload = members.text("payload");
  stored.bytes = stored.record.payload.size();
  if (json["erased_by"].exists()) {
    stored.erased_by = members.number("erased_by", file_.head.revision);
    stored.bytes = members.number("bytes", kPayloadBytesMax);
  }
  if (!members.wrong().empty()) return wrong("in the record " + members.wrong());
  if (stored.seq != seq_ + 1)
    return wrong("record " + std::to_string(stored.seq) + " stands where " + std::to_string(seq_ + 1) +
                 " must follow: lines are missing, repeated or exchanged");
  if (stored.seq > file_.head.revision)
    return wrong("the log continues behind revision " + std::to_string(file_.head.revision) + " of its header");
  if (stored.erased_by != 0 ? stored.erased_by <= stored.seq : stored.digest != sha256(stored.record.payload))
    return wrong("the payload of record " + std::to_string(stored.seq) + " does not match its digest");
  if (auto checked = check_stranger(stored); !checked) return wrong(checked.error().message);
  if ((stored.seq == 1) != (stored.record.type == RecordType::kGenesis))
    return wrong(stored.seq == 1 ? "the first record of a conversation must be a genesis"
                                 : "only the first record of a conversation is a genesis");
  if (auto viewed = view_.apply(stored); !viewed) return wrong(viewed.error().message);
  if (auto folded = fold(file_.info, stored); !folded) return wrong(folded.error().message);
  if (!open_.records.empty() && open_.records.back().time_ms != stored.time_ms)
    return wrong("record " + std::to_string(stored.seq) + " has another time than its batch");
  ++seq_;
  open_.time_ms = stored.time_ms;
  open_.records.push_back(std::move(stored));
  if (open_.records.size() > kBatchRecordsMax) return wrong("a batch has too many records");
  if (json["chain"].exists()) AGENTD_TRY_VOID(end_batch(json));
  // A member that has no place in the form would be lost without a word.
  const bool ended = open_.records.empty();
  const VerifiedBatch* const ends = ended ? &file_.log.batches.back() : nullptr;
  const StoredRecord& last = ended ? file_.log.batches.back().records.back() : open_.records.back();
  if (line != write_log_record(last, ends)) return wrong("the record has members that do not belong there");
  return {};
}

Result<void> LogReader::end_batch(JsonView json) {
  const JsonView attached = json["attached"];
  const auto chain = read_digest(json["chain"]);
  if (!attached.is_array() || !chain) return wrong("in the record 'attached' or 'chain' cannot be");
  for (std::size_t i = 0; i < attached.size(); ++i) {
    const auto digest = read_digest(attached.at(i));
    if (!digest) return wrong("in the record 'attached' has something that is not a digest");
    open_.attached.push_back(*digest);
    if (named_.insert(*digest).second) wanted_.insert(*digest);
  }
  open_.previous = chain_;
  open_.chain = chain_of(batch_of(open_, open_.records.front().seq, chain_));
  if (open_.chain != *chain) return wrong("the chain does not hold at record " + std::to_string(seq_));
  chain_ = open_.chain;
  file_.log.batches.push_back(std::exchange(open_, {}));
  return {};
}

Result<void> LogReader::text(JsonView json) {
  const auto digest = read_digest(json["sha256"]);
  const JsonView encoded = json["base64"];
  if (!digest || (!encoded.is_string() && !json["text"].is_string()))
    return wrong("in the text 'sha256' or 'text' is missing or cannot be");
  if (encoded.is_string() && !is_base64(encoded.string_or(""))) return wrong("the text is not base64");
  std::string bytes =
      encoded.is_string() ? from_base64(encoded.string_or("")) : std::string(json["text"].string_or(""));
  if (sha256(bytes) != *digest) return wrong("the text does not match its digest");
  if (wanted_.erase(*digest) == 0) return wrong("no record before it refers to this text, or it was there already");
  file_.log.texts.emplace(*digest, std::move(bytes));
  return {};
}

Result<void> LogReader::end(std::string_view line, JsonView json) {
  Members members(json);
  LogFileEnd said;
  said.records = members.number("records", INT64_MAX);
  said.texts = members.number("texts", INT64_MAX);
  said.chain = members.digest("chain");
  said.lines = members.digest("lines");
  if (!members.wrong().empty()) return wrong("in the end " + members.wrong());
  if (line != write_log_end(said)) return wrong("the end was changed");
  if (!open_.records.empty()) return wrong("the file ends inside a batch");
  if (said.records != seq_ || seq_ != file_.head.revision)
    return wrong("the file has " + counted(seq_, "record") + ", and should have " +
                 std::to_string(file_.head.revision));
  if (!wanted_.empty() || said.texts != file_.log.texts.size())
    return wrong("a text that the log refers to is missing, such as " +
                 (wanted_.empty() ? "the last one" : hex(*wanted_.begin())));
  if (chain_ != file_.head.chain || chain_ != said.chain) return wrong("the chain does not end where the header says");
  if (lines_.finish() != said.lines) return wrong("lines of the file were changed");
  has_end_ = true;
  return {};
}

Result<void> LogReader::check_whole() {
  if (auto erased = check_erasures(file_.log); !erased) return wrong(erased.error().message);
  if (file_.info.id != file_.head.conversation_id)
    return wrong("the genesis names another conversation than the header");
  std::vector<StoredRecord> records;
  for (const VerifiedBatch& batch : file_.log.batches)
    records.insert(records.end(), batch.records.begin(), batch.records.end());
  Conversation conversation(file_.head.conversation_id, [](const agentd_message&) { return std::uint64_t{0}; });
  if (auto loaded = conversation.load(records); !loaded) return wrong(loaded.error().message);
  file_.waits = conversation.wait() != nullptr || !file_.info.wait.id.empty();
  return {};
}

Result<LogFile> LogReader::finish() {
  if (!has_head_) return Error{Code::kInvalid, "line 1: the file is empty"};
  if (!has_end_) return wrong("the file is cut off here: its last line is missing; export the conversation again");
  AGENTD_TRY_VOID(check_whole());
  return std::move(file_);
}

Result<LogFile> read_log_file(std::string_view bytes) {
  LogReader reader;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      // Its line may be whole but for its end: it is still another file than the one that was written.
      AGENTD_TRY_VOID(reader.add(bytes));
      return Error{Code::kInvalid, "the last line of the file has no end: the file is cut off"};
    }
    AGENTD_TRY_VOID(reader.add(bytes.substr(0, end)));
    bytes.remove_prefix(end + 1);
  }
  return reader.finish();
}

}  // namespace agentd
