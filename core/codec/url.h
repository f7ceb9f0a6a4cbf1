// SPDX-License-Identifier: Apache-2.0
#pragma once
// url.h - the parts of an http URL that the client needs for its decisions.
//
// Threading: pure functions.

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace agentd {

struct HttpUrl {
  bool secure = false;  // https
  std::string host;     // lower case, without brackets
  std::string port;     // empty when the URL names none
  bool loopback() const;
  // "host" or "host:port" for messages; never user, path or query.
  std::string place() const;
};

// kInvalid for another scheme, a missing host, or a character that URLs cannot contain.
Result<HttpUrl> parse_http_url(std::string_view url);

}  // namespace agentd
