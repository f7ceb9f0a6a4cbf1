// SPDX-License-Identifier: Apache-2.0
#pragma once
// url.h - the parts of an http URL that the client decides by.
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
  // For sentences: "host" or "host:port"; never user, path or query.
  std::string place() const;
};

// kInvalid for another scheme, no host, or a character that no URL holds.
Result<HttpUrl> parse_http_url(std::string_view url);

}  // namespace agentd
