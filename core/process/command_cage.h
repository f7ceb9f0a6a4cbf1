// SPDX-License-Identifier: Apache-2.0
#pragma once
// command_cage.h - what stands between the commands of tools and the rest of the machine, as seen by those who start
// them. core/cage has the one that holds.
//
// Threading: thread-safe.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/file.h"
#include "core/base/result.h"

namespace agentd {

// A command as it is to be started (SpawnRequest): in place of its own words and environment.
struct CagedCommand {
  std::vector<std::string> argv, environment;
  static constexpr std::size_t kDescriptorsMax = 4;
  std::vector<UniqueFd> descriptors;  // the child's 3, 4, ...; open until it has started

  struct After {
    std::vector<std::string> remarks;  // for whoever reads the output: sentences without a full stop
    bool undone = false;               // the command changed what it may not, which was put back: it has failed
  };
  // To be called once, when the command and all of its processes have ended. `output`: the end of what it wrote, at
  // best kOutputTail bytes; `code`: its exit code, -1 when a signal ended it or it never started. Both only choose
  // among remarks.
  std::function<After(std::string_view output, int code)> finish;
  static constexpr std::size_t kOutputTail = 8 * 1024;
};

// The remarks as the last lines of an output.
std::string remarks_behind(const CagedCommand::After& after, bool at_line_start);

class CommandCage {
 public:
  virtual ~CommandCage() = default;
  // kUnavailable: no sandbox can be made, and nothing may be started; kNotFound, kDenied: find_program().
  virtual Result<CagedCommand> wrap(const std::vector<std::string>& argv, const std::string& cwd,
                                    const std::vector<std::string>& environment) = 0;
};

// A program of a hook or a server as it is to be started: the one way of such a program into a cage.
struct ProgramStart {
  std::vector<std::string> argv, environment;
  std::string program;                  // SpawnRequest
  std::vector<int> pass;                // likewise; open until it has started
  std::shared_ptr<CagedCommand> caged;  // null = it starts outside
};

// `cage`: null = outside, with all words as they are. `program` as in SpawnRequest; where it is a descriptor of this
// process, which a cage cannot name by its path, `program_fd` is its number, else -1. Errors: CommandCage::wrap().
Result<ProgramStart> start_of(CommandCage* cage, std::vector<std::string> argv, const std::string& cwd,
                              std::vector<std::string> environment, std::string program, int program_fd);

}  // namespace agentd
