// SPDX-License-Identifier: Apache-2.0
#pragma once
// proxy.h - the way out of a cage: connections of one command to hosts that the rules allow.
//
// It listens on a unix socket in a directory that only this user may enter. The host's name decides, before it is
// resolved; the address decides again (reach.h): private ones are reached only for a host that is named exactly, this
// machine, link-local ones and those of its cloud only where the settings name the address itself. What is inside of
// TLS is not seen: a host that forwards to others by their name does so for commands, too.
//
// Threading: thread-safe. A thread for each connection, at most kConnectionsMax, and at most connections_max() of all
// proxies; further ones wait.

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/cage/network.h"
#include "core/cage/scratch.h"

namespace agentd::cage {

class Proxy {
 public:
  static constexpr std::size_t kConnectionsMax = 64;
  // Where the directories of sockets are, and how their names begin (scratch.h).
  static constexpr const char *kPlace = "/tmp", *kPrefix = "agentd-net-";

  // `gate`: decides instead of the rules; empty = the rules do.
  static Result<std::unique_ptr<Proxy>> start(NetworkRules rules, NetworkGate gate = {});
  // Ends the connections.
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  const std::string& socket() const { return socket_; }
  // A sentence for each host that was refused, each once, without a full stop.
  std::vector<std::string> refusals() const;

 private:
  struct Shared;
  explicit Proxy(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  std::shared_ptr<Shared> shared_;  // with the threads, one of which may still resolve a name at the end
  ScratchDirectory directory_;
  std::string socket_;
};

}  // namespace agentd::cage
