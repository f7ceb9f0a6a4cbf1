// SPDX-License-Identifier: Apache-2.0
#pragma once
// orders.h - what agentd tells the program agentd-cage to close before it starts a command.
//
// They travel as text in a sealed memory file, so that a command line shows no rules and no limit cuts them. Both
// programs are of one build.
//
// Threading: a value.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/cage/identity.h"
#include "core/process/sandbox_programs.h"

namespace agentd::cage {

// The descriptor at which agentd-cage finds them: the first that is passed.
inline constexpr int kOrdersFd = 3;

struct Orders {
  bool apart = false;    // namespaces are around it: bubblewrap has made them
  bool confines = true;  // Landlock and seccomp; false: only the keeper's services, where nothing is guarded
  CagedCalls::Sockets sockets = CagedCalls::Sockets::kNone;
  bool local_sockets = false;         // AF_UNIX, where it is apart
  std::vector<std::string> readable;  // files and directories, to read and to execute
  std::vector<std::string> writable;  // and to write
  std::vector<std::string> devices;   // to read and to write
  std::vector<Noted> noted;           // what has to be there, or the command does not start
  std::string proxy;                  // the unix socket of agentd's proxy; empty = none
  bool reaches_machine = false;       // addresses of this machine are reached by the proxy, too
  int owner = -1;                     // a descriptor of agentd's process: the command ends with it; -1 = none
  int lock = -1;                      // a descriptor that is kept open until all has ended; -1 = none
  std::uint64_t processes_max = 0;    // RLIMIT_NPROC; 0 = as it is
  std::uint64_t file_bytes_max = 0;   // RLIMIT_FSIZE; 0 = as it is
};

std::string text_of(const Orders& orders);
// kInvalid: not such a text.
Result<Orders> parse_orders(std::string_view text);

}  // namespace agentd::cage
