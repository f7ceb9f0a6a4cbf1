// SPDX-License-Identifier: Apache-2.0
#include "core/process/command_cage.h"

namespace agentd {

std::string remarks_behind(const CagedCommand::After& after, bool at_line_start) {
  std::string out(after.remarks.empty() || at_line_start ? "" : "\n");
  for (const std::string& each : after.remarks) out += "agentd: " + each + "\n";
  return out;
}

Result<ProgramStart> start_of(CommandCage* cage, std::vector<std::string> argv, const std::string& cwd,
                              std::vector<std::string> environment, std::string program, int program_fd) {
  if (cage == nullptr) return ProgramStart{std::move(argv), std::move(environment), std::move(program), {}, nullptr};
  constexpr int kFirst = 3;  // of the child's descriptors that are passed
  constexpr std::size_t kOwn = CagedCommand::kDescriptorsMax;
  // Behind the cage's own.
  if (program_fd >= 0) program = "/proc/self/fd/" + std::to_string(kFirst + static_cast<int>(kOwn));
  if (!program.empty()) argv.at(0) = program;
  AGENTD_TRY(CagedCommand caged, cage->wrap(argv, cwd, environment));
  ProgramStart out;
  for (const UniqueFd& each : caged.descriptors) out.pass.push_back(each.get());
  if (program_fd >= 0) {
    if (out.pass.size() > kOwn) return Error{Code::kInternal, "the sandbox takes the descriptor of the program"};
    out.pass.resize(kOwn, program_fd);
    out.pass.push_back(program_fd);
  }
  out.argv = std::move(caged.argv);
  out.environment = std::move(caged.environment);
  out.caged = std::make_shared<CagedCommand>(std::move(caged));
  return out;
}

}  // namespace agentd
