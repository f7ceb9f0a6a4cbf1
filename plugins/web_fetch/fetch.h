// SPDX-License-Identifier: Apache-2.0
#pragma once
// fetch.h - one GET, with its redirects within the host.
//
// A redirect to another host is not followed: the user was asked about the first one.
//
// Threading: as HttpClient.

#include <cstdint>
#include <functional>
#include <string>

#include "core/net/http.h"
#include "plugins/web_fetch/hosts.h"

namespace web_fetch {

struct Fetched {
  std::string url;  // of the last request
  std::string to;   // the other host's URL that it redirects to; then there is no body
  int status = 0;
  std::string type;     // media type in lower case, without parameters
  std::string charset;  // as named by the server; may be empty
  std::string body;
  bool cut = false;  // the body is longer than was kept
};

// How many bytes of a body with that media type are kept.
std::uint64_t bytes_max_of(std::string_view type);

// `by_proxy`: the client has a proxy, which every host but those of "private" is reached through; its settings apply.
// kInvalid for a URL that cannot be used, kDenied by the rules, others as HttpClient::send(). `stop`: polled; true ends
// it with kCancelled.
agentd::Result<Fetched> fetch(agentd::HttpClient& client, const HostRules& rules, std::string url,
                              agentd::Deadline deadline, const std::function<bool()>& stop, bool by_proxy);

}  // namespace web_fetch
