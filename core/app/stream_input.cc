// SPDX-License-Identifier: Apache-2.0
#include "core/app/stream_input.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/bytes.h"
#include "core/base/clock.h"
#include "core/codec/json.h"
#include "core/conversation/media.h"

namespace agentd::app {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr Milliseconds kSlice{100};
constexpr std::size_t kShownTypeBytes = 60;
constexpr std::string_view kShape = R"({"type":"user","message":{"role":"user","content":"..."}})";

Error bad(std::string what) { return {Code::kInvalid, std::move(what)}; }

Result<Block> streamed_media(JsonView from, bool image) {
  const JsonView source = from["source"];
  if (source["type"].string_or("") != "base64")
    return bad((image ? std::string("an image") : std::string("a document")) +
               " needs a source of type base64 with media_type and data");
  return media_from(
      {image, source["media_type"].string_or(""), source["data"].string_or(""), from["title"].string_or("")});
}

Result<void> take_block(StreamMessage& out, JsonView from) {
  const std::string_view type = from["type"].string_or("");
  if (type == "text" && from["text"].is_string()) {
    out.text += (out.text.empty() ? "" : "\n\n") + std::string(from["text"].string_or({}));
    return {};
  }
  if (type != "image" && type != "document")
    return bad("a content block must be text, image or document, not '" + one_line(type, kShownTypeBytes) + "'");
  AGENTD_TRY(out.media.emplace_back(), streamed_media(from, type == "image"));
  return {};
}

}  // namespace

Result<StreamMessage> read_stream_message(std::string_view line) {
  const auto document = JsonDocument::parse(line);
  if (!document) return bad("not valid JSON: " + document.error().message);
  const JsonView root = document->root();
  if (root["type"].string_or("") != "user" || !root["message"].is_object())
    return bad("a message must be " + std::string(kShape));
  const JsonView message = root["message"], content = message["content"];
  if (const std::string_view role = message["role"].string_or("user"); role != "user")
    return bad("the role of a message must be user, not '" + one_line(role, kShownTypeBytes) + "'");
  StreamMessage out;
  if (content.is_string()) {
    out.text = std::string(content.string_or({}));
  } else if (content.is_array()) {
    for (std::size_t i = 0; i < content.size(); ++i) AGENTD_TRY_VOID(take_block(out, content.at(i)));
  } else {
    return bad("the content of a message must be a text or a list of blocks");
  }
  if (is_blank(out.text) && out.media.empty()) return bad("the message is empty");
  return out;
}

Result<bool> LineReader::read_more(const CancelToken& cancel) {
  for (;;) {
    if (cancel.cancelled()) return false;
    pollfd ready{fd_, POLLIN, 0};
    const int polled = SystemClock().poll_for({&ready, 1}, kSlice);
    if (polled == 0 || (polled < 0 && errno == EINTR)) continue;
    const std::size_t before = buffer_.size();
    buffer_.resize(before + kReadBytes);
    const ssize_t got = ::read(fd_, buffer_.data() + before, kReadBytes);
    buffer_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got > 0) return true;
    if (got == 0) return false;
    if (errno != EINTR && errno != EAGAIN)
      return Error{Code::kUnavailable, std::string("standard input cannot be read: ") + ::strerror(errno)};
  }
}

Result<std::optional<std::string>> LineReader::next(const CancelToken& cancel) {
  for (;;) {
    const std::size_t end = buffer_.find('\n', seen_);
    if (end != std::string::npos || (at_end_ && !buffer_.empty())) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end == std::string::npos ? end : end + 1);
      seen_ = 0;
      ++number_;
      if (std::exchange(too_long_, false)) return bad("it is longer than " + with_commas(kLineBytesMax) + " bytes");
      if (line.ends_with('\r')) line.pop_back();
      return std::optional(std::move(line));
    }
    if (at_end_) return std::optional<std::string>();
    seen_ = buffer_.size();
    if (seen_ > kLineBytesMax) {
      too_long_ = true;
      buffer_.clear();
      seen_ = 0;
    }
    AGENTD_TRY(const bool more, read_more(cancel));
    if (!more && cancel.cancelled()) return std::optional<std::string>();
    at_end_ = !more;
    if (at_end_ && buffer_.empty()) return std::optional<std::string>();
  }
}

}  // namespace agentd::app
