// SPDX-License-Identifier: Apache-2.0
#pragma once
// spawn.h - starts one child with a clean slate.
//
// Threading: thread-safe.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/file.h"
#include "core/base/result.h"
#include "core/process/births.h"

namespace agentd {

// This process's ends of the pipes block, so poll before reading.
struct Child {
  pid_t pid = -1;   // also its session and its process group
  UniqueFd pidfd;   // readable once it has ended
  UniqueFd output;  // standard output, and standard error unless that has its own pipe
  UniqueFd error;
  UniqueFd input;           // standard input, when it is a pipe
  std::uint64_t brand = 0;  // of it and its descendants; 0 = none
};

enum class Pipes : std::uint8_t {
  kTogether,  // one for standard output and standard error
  kApart,     // one each
  kDuplex,    // one each, and one for standard input
  kTalk,      // one for standard output and standard error, and one for standard input
  kTerminal,  // none: all three are `terminal`, which becomes the child's controlling terminal
};

struct SpawnRequest {
  const std::vector<std::string>& argv;
  const std::vector<std::string>& environment;
  const std::string& cwd;
  std::string_view input = {};  // not with kDuplex, kTalk and kTerminal
  Pipes pipes = Pipes::kTogether;
  std::string program = {};               // the file to execute; empty = argv[0], looked up
  std::string mark = {};                  // an additional environment variable; empty = none
  std::span<const int> pass = {};         // the child's descriptors 3, 4, ...; the caller keeps its own
  Offspring offspring = Offspring::kAny;  // kBranded: set before it runs
  std::string terminal = {};              // with kTerminal: the path of its device (terminal.h)
};

struct Exit {
  int code = -1;  // -1 when a signal ended it, and when the cause is unknown
  int signal = 0;
};

// kInvalid: no argv[0], a NUL byte in argv or environment, a cwd that is not a directory.
Result<void> check_command(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                           const std::string& cwd);

// The absolute path of `name` by the PATH in `environment`. Relative parts of PATH are skipped, since their meaning
// depends on the working directory. A name with a '/' is returned unchanged. kNotFound, or kDenied when the file may
// not be executed.
Result<std::string> find_program(const std::string& name, const std::vector<std::string>& environment);

// Starts the child at the cost of vfork: own session, descriptors 0 to 2 and those of `pass`, no signal blocked or
// ignored. The input is a sealed file in memory, so that it needs no writer and causes no SIGPIPE. kNotFound, kDenied:
// the program, its interpreter or the permission is missing; kUnavailable: no process can be created.
Result<Child> spawn(const SpawnRequest& request);

// How a child ended; absent while it runs. The cause is unknown for a child that other code reaped, or that the system
// reaped because SIGCHLD is ignored.
std::optional<Exit> exit_of(const Child& child);

// SIGKILL to the child itself. It must not have been reaped.
void kill_child(const Child& child);

// Reaps a child that has `ended` and returns how. A child that a kill could not end yet is not waited for and counts as
// killed. For a child that was reaped already, see exit_of().
Result<Exit> reap(const Child& child, const std::string& name, bool ended);

}  // namespace agentd
