// SPDX-License-Identifier: Apache-2.0
#pragma once
// rpc_frames.h - JSON-RPC 2.0 in frames with a Content-Length header, as language servers speak it.
//
// Threading: values; FrameReader is thread-compatible.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace agentd {

// Cuts what arrives into frames.
class FrameReader {
 public:
  static constexpr std::size_t kHeaderMax = 4096;
  explicit FrameReader(std::size_t body_max) : body_max_(body_max) {}

  void feed(std::string_view bytes) { buffer_ += bytes; }
  // The body of the next whole frame; nothing yet = nullopt. kInvalid: what came is no frame, and
  // nothing behind it can be trusted to be one.
  Result<std::optional<std::string>> next();

 private:
  Result<std::optional<std::size_t>> read_header();

  const std::size_t body_max_;
  std::string buffer_;
  std::optional<std::size_t> body_;  // the length of the frame whose header was read
};

std::string rpc_frame(std::string_view body);
// `params` is JSON.
std::string rpc_request(std::int64_t id, std::string_view method, std::string_view params);
std::string rpc_cancel(std::int64_t id);
// "method not found" to a request of the other side; `id` is JSON.
std::string rpc_refusal(std::string_view id, std::string_view method);

}  // namespace agentd
