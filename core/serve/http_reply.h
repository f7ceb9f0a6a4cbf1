// SPDX-License-Identifier: Apache-2.0
#pragma once
// http_reply.h - answers as bytes of HTTP/1.1 (RFC 9112).
//
// Threading: pure functions.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/serve/http_exchange.h"

namespace agentd::serve {

enum class ReplyBody : std::uint8_t {
  kWhole,   // follows the head
  kAbsent,  // its length is told, and no more: the answer to HEAD
  kChunks,  // is sent later, in chunks
};
// Head and body. Every answer has Date, "Cache-Control: no-store" and "X-Content-Type-Options: nosniff", and names no
// server. A further field that has one of these names, or says how the body is framed, or is not a field of HTTP, is
// left out; 1xx, 204 and 304 have no body. `closes`: the connection ends with the answer.
std::string reply_bytes(const HttpReply& reply, ReplyBody body, bool closes, std::int64_t wall_ms);

// A part of a body in chunks. REQUIRES: some bytes.
std::string chunk(std::string_view bytes);
// Ends it.
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// "Sat, 31 Jan 2026 09:05:07 GMT" of milliseconds since 1970 (RFC 9110, 5.6.7).
std::string http_date(std::int64_t wall_ms);

}  // namespace agentd::serve
