// SPDX-License-Identifier: Apache-2.0
#pragma once
// rpc_frames.h - cuts a stream of bytes into the texts of JSON-RPC messages.
//
// Two forms are in use: a message on each line (ACP, MCP over standard input), and a header with its length as in the
// base protocol of the Language Server Protocol. The body of an HTTP request is one text and needs neither.
//
// Threading: RpcFrames is thread-compatible; rpc_frame() is pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace agentd {

enum class RpcFraming : std::uint8_t {
  kLines,   // text, LF; a CR before it and empty lines are dropped
  kLength,  // "Content-Length: BYTES", CR LF, CR LF, text; CR is optional, other header fields are skipped
};

class RpcFrames {
 public:
  static constexpr std::size_t kHeaderMax = 4096;
  // A text has at most `text_max` bytes.
  RpcFrames(RpcFraming framing, std::size_t text_max) : framing_(framing), text_max_(text_max) {}

  void feed(std::string_view bytes);
  // The next complete text; nullopt: it is not there yet. kInvalid, with a sentence that lacks its subject: a text that
  // is too long, or bytes that are no frame. After a long line the next one is read; else nothing further is
  // (broken()).
  Result<std::optional<std::string>> next();
  bool broken() const { return broken_; }

 private:
  Result<std::optional<std::string>> next_line();
  Result<std::optional<std::string>> next_body();
  Result<std::optional<std::size_t>> read_header();

  const RpcFraming framing_;
  const std::size_t text_max_;
  std::string buffer_;
  std::size_t begin_ = 0;            // of what is not read yet
  std::size_t seen_ = 0;             // kLines: no line ends before it
  bool skips_ = false;               // kLines: the rest of a long line
  bool broken_ = false;              // kLength
  std::optional<std::size_t> body_;  // kLength: of the frame whose header was read
};

// A message as it is sent. REQUIRES: `text` is JSON.
std::string rpc_frame(RpcFraming framing, std::string_view text);

}  // namespace agentd
