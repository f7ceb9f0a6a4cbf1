// SPDX-License-Identifier: Apache-2.0
#include "core/codec/sse.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace agentd {
namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF";
constexpr std::size_t kMarkDone = 99;

Error over_limit(std::string_view what, std::size_t limit) {
  return {Code::kCorrupt,
          "the event stream has " + std::string(what) + " of more than " + std::to_string(limit) + " bytes"};
}

// The line ends in one piece of the stream. Each byte is searched once for each of the two characters, however many of
// the other there are.
class LineEnds {
 public:
  explicit LineEnds(std::string_view bytes)
      : end_(bytes.data() + bytes.size()), cr_(find(bytes.data(), '\r')), lf_(find(bytes.data(), '\n')) {}
  // The first \r or \n in the rest of the piece, or npos. The rest only gets shorter.
  std::size_t first(std::string_view rest) {
    const char* const at = rest.data();
    if (cr_ < at) cr_ = find(at, '\r');
    if (lf_ < at) lf_ = find(at, '\n');
    const char* const found = std::min(cr_, lf_);
    return found == end_ ? std::string_view::npos : static_cast<std::size_t>(found - at);
  }

 private:
  const char* find(const char* from, char c) const {
    const void* const found = from == end_ ? nullptr : std::memchr(from, c, static_cast<std::size_t>(end_ - from));
    return found == nullptr ? end_ : static_cast<const char*>(found);
  }

  const char* const end_;
  const char *cr_, *lf_;
};

}  // namespace

// The mark may come in pieces; bytes that only began like one belong to the first line. True when the stream continues
// after it.
bool SseParser::skip_byte_order_mark(std::string_view& bytes) {
  while (mark_seen_ < kMark.size() && !bytes.empty() && bytes.front() == kMark[mark_seen_]) {
    bytes.remove_prefix(1);
    ++mark_seen_;
  }
  if (mark_seen_ < kMark.size() && bytes.empty()) return false;
  if (mark_seen_ < kMark.size()) line_.assign(kMark.substr(0, mark_seen_));
  mark_seen_ = kMarkDone;
  return true;
}

Result<void> SseParser::feed(std::string_view bytes, const OnEvent& on_event) {
  if (mark_seen_ != kMarkDone && !skip_byte_order_mark(bytes)) return {};
  LineEnds ends(bytes);
  while (!bytes.empty()) {
    if (after_cr_) {
      after_cr_ = false;
      if (bytes.front() == '\n') {
        bytes.remove_prefix(1);
        continue;
      }
    }
    const std::size_t end = ends.first(bytes);
    const std::string_view piece = bytes.substr(0, end);
    if (line_.size() + piece.size() > limits_.line_bytes_max) return over_limit("a line", limits_.line_bytes_max);
    if (end == std::string_view::npos) {
      line_.append(piece);
      return {};
    }
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (line_.empty()) {
      AGENTD_TRY_VOID(take_line(piece, on_event));
    } else {
      line_.append(piece);
      AGENTD_TRY_VOID(take_line(line_, on_event));
      line_.clear();
    }
  }
  return {};
}

Result<void> SseParser::take_line(std::string_view line, const OnEvent& on_event) {
  if (line.empty()) return deliver(on_event);
  if (line.front() == ':') return {};  // a comment
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return take_field(line, {});
  std::string_view value = line.substr(colon + 1);
  if (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  return take_field(line.substr(0, colon), value);
}

Result<void> SseParser::take_field(std::string_view name, std::string_view value) {
  if (name == "data") {
    if (data_.size() + value.size() + 1 > limits_.event_bytes_max)
      return over_limit("an event", limits_.event_bytes_max);
    if (has_data_) data_ += '\n';
    data_.append(value);
    has_data_ = true;
  } else if (name == "event") {
    type_.assign(value);
  } else if (name == "id" && value.find('\0') == std::string_view::npos) {
    id_.assign(value);
  } else if (name == "retry") {
    std::int64_t time = 0;  // digits alone; what does not fit is not said
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), time);
    if (error == std::errc() && end == value.data() + value.size() && time >= 0) retry_ = Milliseconds(time);
  }
  return {};
}

Result<void> SseParser::deliver(const OnEvent& on_event) {
  Result<void> taken;
  if (has_data_) taken = on_event(SseEvent{type_, data_, id_});
  type_.clear();
  data_.clear();
  has_data_ = false;
  return taken;
}

}  // namespace agentd
