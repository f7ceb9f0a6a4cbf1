// SPDX-License-Identifier: Apache-2.0
#pragma once
// rpc_frames.h - JSON-RPC 2.0 in frames with a Content-Length header, as in the Language Server Protocol.
//
// Threading: values; FrameReader is thread-compatible.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace agentd {

// Cuts the received bytes into frames.
class FrameReader {
 public:
  static constexpr std::size_t kHeaderMax = 4096;
  explicit FrameReader(std::size_t body_max) : body_max_(body_max) {}

  void feed(std::string_view bytes) { buffer_ += bytes; }
  // The body of the next complete frame; nullopt = not there yet. kInvalid: the bytes are not a frame, and nothing
  // after them can be read.
  Result<std::optional<std::string>> next();

 private:
  Result<std::optional<std::size_t>> read_header();

  const std::size_t body_max_;
  std::string buffer_;
  std::optional<std::size_t> body_;  // length of the frame whose header was read
};

std::string rpc_frame(std::string_view body);
// `params` is JSON.
std::string rpc_request(std::int64_t id, std::string_view method, std::string_view params);
std::string rpc_cancel(std::int64_t id);
// A "method not found" response to the program's request; `id` is JSON.
std::string rpc_refusal(std::string_view id, std::string_view method);

}  // namespace agentd
