// SPDX-License-Identifier: Apache-2.0
#pragma once
// network.h - which hosts a command may reach, by name.
//
// Threading: a NetworkGate is called on any thread; the rest are values.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace agentd::cage {

// A connection that a command asks the proxy for. `host`: a name in lower case, or an address.
struct NetworkRequest {
  std::string host;
  std::uint16_t port = 0;
};

// Decides about one connection before its name is resolved. The seam for rules of other kinds, such as hooks.
using NetworkGate = std::function<bool(const NetworkRequest& request)>;

// "example.org", "*.example.org" (each name below it, not itself), "example.org:8080", "10.0.0.7:80", "*:443".
// Without a port the usual ones of the web: 80 and 443.
class NetworkRules {
 public:
  // kInvalid: a text that is none of these.
  static Result<NetworkRules> parse(const std::vector<std::string>& texts);
  bool allows(const NetworkRequest& request) const;
  // True if a rule names exactly this host: an address that is private is reached only so.
  bool names(const NetworkRequest& request) const;
  // True if a rule names an address of this machine: 127.0.0.1, ::1, or localhost.
  bool name_this_machine() const;
  bool empty() const { return rules_.empty(); }

 private:
  struct Rule {
    std::string host;  // what follows "*." in a glob; empty with `below` = every host
    bool below = false;
    std::uint16_t port = 0;  // 0 = 80 and 443
  };
  static bool fits(const Rule& rule, std::uint16_t port);
  std::vector<Rule> rules_;
};

// The line of the configuration that would allow it: "example.org", or "example.org:22".
std::string rule_for(const NetworkRequest& request);

}  // namespace agentd::cage
