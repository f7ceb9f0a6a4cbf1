// SPDX-License-Identifier: Apache-2.0
#pragma once
// proxy_protocol.h - what a client says to a proxy before its bytes are passed on: HTTP CONNECT and requests with a
// whole address (RFC 9110 and 9112), and SOCKS5 without a password (RFC 1928).
//
// Threading: pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/cage/network.h"

namespace agentd::cage {

inline constexpr std::size_t kHeadMax = 16 * 1024;

// The beginning of a connection, understood.
struct Opening {
  enum class Kind : std::uint8_t { kConnect, kRequest, kSocks };
  Kind kind = Kind::kConnect;
  NetworkRequest to;
  std::string forward;  // what the host gets first: a request without the address, and what came after the opening
};

// nullopt: more bytes are needed. kInvalid: it is none of these, or too long. A SOCKS5 client's greeting is answered by
// kSocksWelcome first and is no part of `text`.
Result<std::optional<Opening>> parse_http(std::string_view text);
Result<std::optional<Opening>> parse_socks(std::string_view text);

// The bytes of a greeting at the beginning of the text; 0 = more are needed. REQUIRES: it begins with 5.
std::size_t socks_greeting_bytes(std::string_view text);
inline constexpr std::string_view kSocksWelcome{"\x05\x00", 2};

// The answer to the client. `reason` is one line.
enum class Outcome : std::uint8_t { kConnected, kRefused, kUnreachable };
std::string answer_to(Opening::Kind kind, Outcome outcome, const std::string& reason);

}  // namespace agentd::cage
