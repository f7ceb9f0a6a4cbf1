// SPDX-License-Identifier: Apache-2.0
#pragma once
// hosts.h - which hosts may be fetched from, by name and by address.
//
// config: {"allow": [...], "deny": [...], "private": [...], "network": {...}}, the first three each a list of host
// names ("example.org"), of all names below one ("*.example.org"), "*", and networks ("10.1.0.0/16", "::1"). Without
// "allow" every host may be. An address that is not one of the public internet is used only for a host, or in a
// network, that "private" names: a page must not lead agentd to the services of the user's own machine and network.
//
// Threading: immutable once made.

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/codec/json.h"

namespace web_fetch {

// An address of 16 bytes; those of IPv4 as ::ffff:a.b.c.d (RFC 4291, 2.5.5.2).
using Address = std::array<std::uint8_t, 16>;
// False for another family.
bool address_of(const sockaddr& from, Address& out);
// False for a text that is not an address.
bool address_of(std::string_view text, Address& out);
// True for an address of the public internet: none of IANA's special-purpose registries (RFC 6890), no multicast.
bool is_public(const Address& address);

class HostRules {
 public:
  // kInvalid names the key and the element. A null or absent config allows every public host.
  static agentd::Result<HostRules> make(agentd::JsonView config);
  // kDenied with a sentence. `host` as in HttpUrl.
  agentd::Result<void> check(const std::string& host) const;
  // Whether a connection to that address may be made for the host.
  bool may_connect(const std::string& host, const sockaddr& address) const;
  // True for a host that "private" names: a request to it goes through no proxy.
  bool is_private(const std::string& host) const;
  // Checks a host whose address a proxy looks up: kDenied for an address that is not public, in any
  // spelling that programs take for one, and for names that only private networks have ("wiki", "x.internal"). Which
  // address a public name has there, the proxy alone knows.
  agentd::Result<void> check_for_proxy(const std::string& host) const;

 private:
  struct Pattern {
    std::string name;  // lower case; "*" = every host; empty = a network
    bool below = false;
    Address network{};
    unsigned bits = 0;
    bool has(const Address& address) const;
    bool matches(const std::string& host) const;
  };
  using Patterns = std::vector<Pattern>;
  static agentd::Result<Pattern> pattern_of(std::string_view text);
  static agentd::Result<Patterns> patterns_of(agentd::JsonView list, std::string_view key);
  static bool any(const Patterns& patterns, const std::string& host);

  Patterns allow_, deny_, private_;
};

}  // namespace web_fetch
