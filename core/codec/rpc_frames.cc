// SPDX-License-Identifier: Apache-2.0
#include "core/codec/rpc_frames.h"

#include <charconv>

#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

constexpr std::size_t kShownFrameBytes = 80;

std::string shown_frame(std::string_view line) { return "'" + one_line(without_blanks(line), kShownFrameBytes) + "'"; }

Error no_frame(std::string_view line) {
  return {Code::kInvalid, "has a malformed frame: " + shown_frame(line.substr(0, line.find('\n'))) +
                              " (standard output is for the protocol, logs go to standard error)"};
}

Result<std::size_t> length_of(std::string_view text, std::size_t most) {
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc() || end != text.data() + text.size())
    return Error{Code::kInvalid,
                 "has a frame whose Content-Length is " + shown_frame(text) + ", which is not a number"};
  if (length > most)
    return Error{Code::kInvalid, "has a message of " + std::to_string(length) + " bytes; at most " +
                                     std::to_string(most) + " are read"};
  return length;
}

}  // namespace

void RpcFrames::feed(std::string_view bytes) {
  if (broken_) return;
  // Read bytes are dropped in one go: each is moved once on average.
  if (begin_ > buffer_.size() / 2) {
    buffer_.erase(0, begin_);
    seen_ -= begin_;
    begin_ = 0;
  }
  buffer_ += bytes;
}

Result<std::optional<std::string>> RpcFrames::next() {
  if (broken_) return std::optional<std::string>();
  if (framing_ == RpcFraming::kLines) return next_line();
  auto body = next_body();
  if (!body) broken_ = true;
  return body;
}

Result<std::optional<std::string>> RpcFrames::next_line() {
  for (;;) {
    const std::size_t end = buffer_.find('\n', seen_);
    const bool whole = end != std::string::npos;
    std::string_view line(buffer_.data() + begin_, (whole ? end : buffer_.size()) - begin_);
    if (whole && line.ends_with('\r')) line.remove_suffix(1);
    const bool skipped = skips_;
    const bool too_long = !skipped && line.size() > text_max_ + (whole ? 0 : 1);
    std::string text = whole && !skipped && !too_long ? std::string(line) : std::string();
    skips_ = !whole && (skipped || too_long);
    if (whole || skips_) begin_ = whole ? end + 1 : buffer_.size();
    seen_ = whole ? begin_ : buffer_.size();
    if (too_long)
      return Error{Code::kInvalid, "has a message of more than " + std::to_string(text_max_) + " bytes on a line"};
    if (!whole) return std::optional<std::string>();
    if (!skipped && !is_blank(text)) return std::optional<std::string>(std::move(text));
  }
}

// The header ends with an empty line.
Result<std::optional<std::size_t>> RpcFrames::read_header() {
  std::optional<std::size_t> length;
  for (std::size_t at = begin_;;) {
    const std::size_t end = buffer_.find('\n', at);
    const std::size_t header = (end == std::string::npos ? buffer_.size() : end) - begin_;
    if (header >= kHeaderMax) return no_frame(std::string_view(buffer_).substr(begin_));
    if (end == std::string::npos) return std::optional<std::size_t>();
    std::string_view line(buffer_.data() + at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    at = end + 1;
    if (line.empty()) {
      if (!length) return Error{Code::kInvalid, "has a frame without a Content-Length"};
      begin_ = at;
      return length;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return no_frame(line);
    if (ascii_lower(without_blanks(line.substr(0, colon))) != "content-length") continue;
    if (length) return Error{Code::kInvalid, "has a frame with two Content-Lengths"};
    AGENTD_TRY(length, length_of(without_blanks(line.substr(colon + 1)), text_max_));
  }
}

Result<std::optional<std::string>> RpcFrames::next_body() {
  if (!body_) {
    AGENTD_TRY(body_, read_header());
  }
  if (!body_ || buffer_.size() - begin_ < *body_) return std::optional<std::string>();
  std::string body = buffer_.substr(begin_, *body_);
  begin_ += *body_;
  seen_ = begin_;
  body_.reset();
  return std::optional<std::string>(std::move(body));
}

std::string rpc_frame(RpcFraming framing, std::string_view text) {
  if (framing == RpcFraming::kLength)
    return "Content-Length: " + std::to_string(text.size()) + "\r\n\r\n" + std::string(text);
  // Line ends can stand between tokens of a part that somebody else has written.
  const bool one = text.find_first_of("\r\n") == std::string_view::npos;
  return (one ? std::string(text) : json_line(text)) + "\n";
}

}  // namespace agentd
