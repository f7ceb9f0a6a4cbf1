// SPDX-License-Identifier: Apache-2.0
#pragma once
// http_head.h - the head of a request as bytes, read so that no two readers can read it in two ways.
//
// It follows RFC 9112 (HTTP/1.1) and RFC 9110, and takes less than they allow. Refused with 400: a line that does not
// end in CR LF, a control character, an empty line first, a folded field, a name that is not a token, a second field of
// those that say one thing, a tab in one of them, no Host, a length that is not plain digits, a length and a transfer
// coding, a coding other than "chunked", a body of GET or HEAD, trailers, a protocol switch, and a target that is not
// "/..." of the characters of a URI. 414: a target that is too long; 415: a content coding; 417: an unknown
// expectation; 431: too much; 505: not HTTP/1.1.
//
// Threading: HeadEnd is thread-compatible; the rest is pure.

#include <cstdint>
#include <string_view>

#include "core/base/result.h"
#include "core/serve/http_exchange.h"

namespace agentd::serve {

inline constexpr std::size_t kTargetMax = 8u << 10;  // bytes

struct HttpHead {
  RequestHead request{};     // without peer and port
  std::uint64_t length = 0;  // of the body in bytes, when it is not chunked
  bool chunked = false;      // the body comes in chunks
  bool closes = false;       // the client wants the connection to end with the answer
  bool waits = false;        // "Expect: 100-continue": the client sends the body when it is asked to
};

// Finds the end of a head in bytes that come piece by piece.
class HeadEnd {
 public:
  explicit HeadEnd(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  // `bytes`: all that came since the head's begin. The size of the head with its empty line; 0: more bytes are needed.
  // Bytes that cannot be a head are refused as soon as they are seen.
  Result<std::size_t, HttpReply> find(std::string_view bytes);

 private:
  std::size_t bytes_max_;
  std::size_t seen_ = 0;
};

// `bytes`: a head with its empty line and nothing after it.
Result<HttpHead, HttpReply> read_head(std::string_view bytes, std::size_t fields_max);

// True for a name of a field or a method (RFC 9110, 5.6.2).
bool is_token(std::string_view text);

}  // namespace agentd::serve
