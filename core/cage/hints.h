// SPDX-License-Identifier: Apache-2.0
#pragma once
// hints.h - what to do when a command has failed because of what the sandbox keeps closed.
//
// A text in its output starts a remark, whatever its exit code: in "a | tail -1" and "a || true" that of the failed
// program is lost. The remark is true whatever that text has meant, since it speaks of the cage.
//
// Threading: pure functions.

#include <string>
#include <string_view>
#include <vector>

namespace agentd::cage {

// How a cage is, as far as remarks speak of it.
struct CageFacts {
  enum class LocalSockets : unsigned char { kOpen, kClosed, kNever };

  bool network_off = false;                          // no host may be reached
  bool by_proxy = false;                             // hosts are reached through the proxy alone
  bool has_mounts = false;                           // guarded paths are mounts of their own
  bool modules_closed = false;                       // the repositories of submodules are read-only as a whole
  LocalSockets local_sockets = LocalSockets::kOpen;  // kNever: no setting opens them in this layer
};

// For the last CagedCommand::kOutputTail bytes of the output: each remark once, without a full stop.
std::vector<std::string> hints_for(const CageFacts& facts, std::string_view output);

}  // namespace agentd::cage
