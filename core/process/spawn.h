// SPDX-License-Identifier: Apache-2.0
#pragma once
// spawn.h - starting one child with a clean slate.
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

// Our ends of its pipes block: whoever reads polls first.
struct Child {
  pid_t pid = -1;   // also its session and its process group
  UniqueFd pidfd;   // readable once it has ended
  UniqueFd output;  // its standard output; its standard error too, unless that has its own
  UniqueFd error;
  UniqueFd input;           // what it reads, when it is fed by a pipe
  std::uint64_t brand = 0;  // of it and of all that it starts; 0 = none
};

enum class Pipes : std::uint8_t {
  kTogether,  // one for standard output and standard error
  kApart,     // one each
  kDuplex,    // one each, and one for standard input
};

struct SpawnRequest {
  const std::vector<std::string>& argv;
  const std::vector<std::string>& environment;
  const std::string& cwd;
  std::string_view input = {};  // not with kDuplex
  Pipes pipes = Pipes::kTogether;
  std::string program = {};               // what is executed; empty = argv[0], looked up
  std::string mark = {};                  // one more variable of its environment; empty = none
  std::span<const int> pass = {};         // descriptors that it gets as 3, 4, ...; the caller keeps its own
  Offspring offspring = Offspring::kAny;  // kBranded: before it runs
};

struct Exit {
  int code = -1;  // -1 when a signal ended it, and when nobody can tell how it ended
  int signal = 0;
};

// kInvalid: no argv[0], a NUL byte in argv or environment, a cwd that is no directory.
Result<void> check_command(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                           const std::string& cwd);

// The absolute path of `name` by the PATH in `environment`; relative parts of PATH are skipped,
// since they would mean whatever the working directory holds. A name with a '/' is taken as it is.
// kNotFound, or kDenied when what is there may not be executed.
Result<std::string> find_program(const std::string& name, const std::vector<std::string>& environment);

// Starts it with the costs of vfork: own session, descriptors 0 to 2 and those of `pass`, no signal blocked or
// ignored.
// The input is a sealed file in memory, so that nobody has to feed it and no SIGPIPE can happen.
// kNotFound, kDenied: there is no such program, interpreter or permission; kUnavailable: no
// processes.
Result<Child> spawn(const SpawnRequest& request);

// How a child ended; absent while it runs. One that somebody else has waited for, or the system
// itself since SIGCHLD is ignored, has ended and nobody can tell how.
std::optional<Exit> exit_of(const Child& child);

// SIGKILL to the child itself. It must not have been reaped.
void kill_child(const Child& child);

// Waits for a child that has `ended` and tells how. One that a kill could not end yet is not waited
// for: it counts as killed. One that is gone has ended as exit_of() says.
Result<Exit> reap(const Child& child, const std::string& name, bool ended);

}  // namespace agentd
