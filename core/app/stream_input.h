// SPDX-License-Identifier: Apache-2.0
#pragma once
// stream_input.h - messages that a program sends on standard input, one JSON object per line.
//
// A line has the shape that the Claude Agent SDK documents for its streaming input:
//   {"type":"user","message":{"role":"user","content":"text"}}
// where content may also be a list of blocks: {"type":"text","text":...}, and images and PDF documents as
// {"type":"image"|"document","source":{"type":"base64","media_type":...,"data":...}}, a document with a
// "title".
//
// Threading: one thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/cancel.h"
#include "core/base/result.h"
#include "core/conversation/message.h"

namespace agentd::app {

struct StreamMessage {
  std::string text{};
  std::vector<Block> media{};
};

// kInvalid: the error in the line and the expected form.
Result<StreamMessage> read_stream_message(std::string_view line);

// Lines of a descriptor.
class LineReader {
 public:
  static constexpr std::size_t kLineBytesMax = 64u << 20;
  explicit LineReader(int fd) : fd_(fd) {}
  // The next line without its end; absent at the end of the input, and when `cancel` is set. kInvalid: the line is
  // longer than kLineBytesMax and is skipped. kUnavailable: the input cannot be read.
  Result<std::optional<std::string>> next(const CancelToken& cancel);
  // The number of the last line; the first is 1.
  std::uint64_t number() const { return number_; }

 private:
  // False at the end of the input, or when the reading was cancelled.
  Result<bool> read_more(const CancelToken& cancel);

  const int fd_;
  std::string buffer_;
  std::size_t seen_ = 0;  // the prefix of the buffer without a line end
  std::uint64_t number_ = 0;
  bool at_end_ = false, too_long_ = false;
};

}  // namespace agentd::app
