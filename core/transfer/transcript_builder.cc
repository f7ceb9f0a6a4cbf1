// SPDX-License-Identifier: Apache-2.0
#include "core/transfer/transcript_builder.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "core/base/bytes.h"
#include "core/conversation/media.h"
#include "core/conversation/tool_input.h"

namespace agentd {
namespace {

constexpr std::size_t kNameBytesMax = 64;  // what all vendors take
constexpr std::string_view kNoResult = "The transcript has no result of this call; its outcome is unknown.";

// A name that every vendor takes.
std::string tool_name(std::string_view name) {
  std::string out(name.substr(0, kNameBytesMax));
  for (char& c : out) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!plain) c = '_';
  }
  return out.empty() ? "tool" : out;
}

std::uint64_t media_in(const std::vector<Block>& blocks) {
  return static_cast<std::uint64_t>(std::count_if(blocks.begin(), blocks.end(), [](const Block& block) {
    return block.kind == BlockKind::kImage || block.kind == BlockKind::kDocument;
  }));
}

}  // namespace

std::optional<std::int64_t> read_utc(std::string_view text) {
  const auto part = [&](std::size_t at, std::size_t digits, int least, int most) -> std::optional<int> {
    int value = 0;
    if (text.size() < at + digits) return std::nullopt;
    const auto read = std::from_chars(text.data() + at, text.data() + at + digits, value);
    if (read.ec != std::errc() || read.ptr != text.data() + at + digits || value < least || value > most)
      return std::nullopt;
    return value;
  };
  const auto year = part(0, 4, 1970, 9999), month = part(5, 2, 1, 12), day = part(8, 2, 1, 31);
  const auto hour = part(11, 2, 0, 23), minute = part(14, 2, 0, 59), second = part(17, 2, 0, 60);
  if (!year || !month || !day || !hour || !minute || !second || !text.ends_with('Z')) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return std::nullopt;
  const int millis = text.size() > 20 && text[19] == '.' ? part(20, 3, 0, 999).value_or(0) : 0;
  const auto days = std::chrono::sys_days(date).time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(days).count() +
         ((*hour * 60LL + *minute) * 60 + *second) * 1000 + millis;
}

std::string text_of(JsonView content) {
  if (content.is_string()) return std::string(content.string_or(""));
  std::string out;
  for (std::size_t i = 0; content.is_array() && i < content.size(); ++i)
    if (const std::string_view text = content.at(i)["text"].string_or(""); !text.empty())
      out.append(out.empty() ? "" : "\n\n").append(text);
  return out;
}

Result<std::vector<JsonDocument>> read_json_lines(std::string_view bytes, std::uint64_t& cut_off) {
  std::vector<JsonDocument> out;
  for (std::uint64_t number = 1; !bytes.empty(); ++number) {
    const std::size_t end = bytes.find('\n');
    const std::string_view line = bytes.substr(0, end);
    const bool last = end == std::string_view::npos;
    bytes.remove_prefix(last ? bytes.size() : end + 1);
    if (is_blank(line)) continue;
    auto json = JsonDocument::parse(line);
    if (json && json->root().is_object()) {
      out.push_back(std::move(*json));
    } else if (last) {
      ++cut_off;  // its writer was killed, or still writes
    } else {
      return Error{Code::kInvalid,
                   "line " + std::to_string(number) + ": " +
                       (json ? "the line is not a JSON object" : "the line is not JSON: " + json.error().message)};
    }
  }
  return out;
}

void TranscriptBuilder::at(std::string_view time) { now_ms_ = read_utc(time).value_or(now_ms_); }

void TranscriptBuilder::write(std::vector<Record> records) {
  seq_ += records.size();
  out_.commits.push_back({now_ms_, std::move(records)});
}

void TranscriptBuilder::write_user(std::vector<Block> blocks) {
  MessageRecord message;
  message.message.role = Role::kUser;
  out_.media += media_in(blocks);
  message.message.blocks = std::move(blocks);
  message.source = "user";
  ++out_.messages;
  write({write_message(message)});
}

bool TranscriptBuilder::waits() const { return open_ && !unanswered_.empty(); }

void TranscriptBuilder::user(std::vector<Block> blocks) {
  if (blocks.empty()) return;
  if (waits()) return held_.push_back(std::move(blocks));
  flush();
  write_user(std::move(blocks));
}

Block TranscriptBuilder::call(std::string_view call_id, std::string_view name, std::string_view input) {
  const auto made = ToolInput::make(input);
  return Block::tool_use(std::string(call_id), tool_name(name), made ? made->text() : ToolInput::stand_in(input));
}

void TranscriptBuilder::assistant(const std::string& group, std::vector<Block> blocks) {
  const bool parted = unanswered_.size() < calls_.size();
  const bool same = open_ && group == group_ && (!group.empty() || !parted || waits());
  if (!same) flush();
  if (blocks.empty()) return;
  if (!open_) {
    answer_.role = Role::kAssistant;
    answer_ms_ = now_ms_;
  }
  open_ = true;
  group_ = group;
  for (Block& block : blocks) {
    if (block.kind == BlockKind::kToolUse) {
      Call made{block.call_id, block.call_id.empty() ? "call" : block.call_id, block.name};
      if (!ids_.insert(made.id).second) {
        int& n = suffixes_.emplace(block.call_id, 1).first->second;
        do made.id = block.call_id + "_" + std::to_string(++n);
        while (!ids_.insert(made.id).second);
      }
      unanswered_.emplace(made.from, calls_.size());
      block.call_id = made.id;
      calls_.push_back(std::move(made));
      ++out_.calls;
    }
    answer_.blocks.push_back(std::move(block));
  }
}

void TranscriptBuilder::result(std::string_view call_id, std::string text, std::vector<Block> parts, bool error) {
  const auto found = unanswered_.lower_bound(call_id);  // the first call of that id
  if (found == unanswered_.end() || found->first != call_id) return leave_out("result without its call");
  Call& call = calls_[found->second];
  unanswered_.erase(found);
  call.answered = true;
  out_.media += media_in(parts);
  call.result.text = std::move(text);
  call.result.parts = std::move(parts);
  call.result.status = error ? "error" : "ok";
}

void TranscriptBuilder::flush() {
  if (!open_) return;
  std::vector<Record> records;
  MessageRecord answer;
  answer.message = std::move(answer_);
  answer.stop_reason = calls_.empty() ? StopReason::kEndTurn : StopReason::kToolUse;
  records.push_back(write_message(answer));
  ++out_.messages;
  for (Call& call : calls_) {
    call.result.call_id = call.id;
    call.result.name = call.name;
    if (!call.answered) {
      call.result.status = "unknown";
      call.result.text = std::string(kNoResult);
      leave_out("call without a result");
    }
    records.push_back(write_tool_result(call.result));
  }
  const std::int64_t now = std::exchange(now_ms_, answer_ms_);
  write(std::move(records));
  now_ms_ = now;
  open_ = false;
  group_.clear();
  answer_ = {};
  calls_.clear();
  unanswered_.clear();
  for (std::vector<Block>& blocks : std::exchange(held_, {})) write_user(std::move(blocks));
}

void TranscriptBuilder::summary(std::string text) {
  flush();
  if (is_blank(text)) return leave_out("summary without text");
  BoundaryRecord boundary;
  boundary.trigger = "manual";
  boundary.reason = "manual";
  boundary.phase = "standalone";
  boundary.strategy = "full";
  boundary.method = "summary";
  boundary.result = "applied";
  boundary.author = name_of(out_.form);
  boundary.base_seq = seq_;
  boundary.summary_seq = seq_ + 1;
  MessageRecord summary;
  summary.message = Message::of_text(Role::kSummary, std::move(text));
  summary.author = name_of(out_.form);
  ++out_.compactions;
  write({write_message(summary), write_boundary(boundary)});
}

void TranscriptBuilder::media(std::vector<Block>& to, bool image, std::string_view media_type, std::string_view data) {
  auto block = media_from({image, media_type, data});
  if (block)
    to.push_back(std::move(*block));
  else
    leave_out(image ? "image that cannot be sent" : "document that cannot be sent");
}

ForeignTranscript TranscriptBuilder::finish() {
  flush();
  return std::move(out_);
}

}  // namespace agentd
