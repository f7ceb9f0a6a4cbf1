// SPDX-License-Identifier: Apache-2.0
#include "core/external/hook_sandbox.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

namespace agentd {
namespace {

bool is_program(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

// The first word of a shell's text where it is a plain path from the root or the home directory, else empty.
std::string program_of(const std::string& command, const std::string& user_home) {
  constexpr std::string_view kBlanks = " \t\n", kPlain = "._-/+@";
  const std::size_t begin = command.find_first_not_of(kBlanks);
  if (begin == std::string::npos) return {};
  std::string word = command.substr(begin, command.find_first_of(kBlanks, begin) - begin);
  for (const std::string_view home : {"~/", "$HOME/", "${HOME}/"})
    if (word.starts_with(home)) {
      if (user_home.empty()) return {};
      word = user_home + "/" + word.substr(home.size());
      break;
    }
  for (const char c : word) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && kPlain.find(c) == std::string_view::npos) return {};
  }
  return word.starts_with('/') ? word : std::string();
}

class NoHookCage final : public CommandCage {
 public:
  Result<CagedCommand> wrap(const std::vector<std::string>&, const std::string&,
                            const std::vector<std::string>&) override {
    return Error{Code::kUnavailable, "it asks for the sandbox, and there is none here"};
  }
};

}  // namespace

std::vector<std::string> hook_readable(const HookDefinition& definition, const HookBytes& bytes,
                                       const std::string& user_home) {
  std::vector<std::string> out;
  if (bytes.script) out.push_back(bytes.script->directory());
  if (bytes.program && bytes.program->private_copy) out.push_back(bytes.program->path);
  if (definition.precedence == Precedence::kProject) return out;
  if (!definition.directory.empty()) out.push_back(definition.directory);
  if (definition.working_directory.starts_with('/')) out.push_back(definition.working_directory);
  const std::string program = definition.runs == HookRuns::kShell ? program_of(definition.command, user_home)
                              : definition.argv.empty()           ? std::string()
                                                                  : definition.argv[0];
  if (program.starts_with('/') && is_program(program)) out.push_back(program);
  return out;
}

std::shared_ptr<CommandCage> hook_cage(const ExternalEnvironment& environment,
                                       const std::vector<std::string>& readable) {
  std::shared_ptr<CommandCage> out = environment.cage ? environment.cage(readable) : nullptr;
  return out ? out : std::make_shared<NoHookCage>();
}

}  // namespace agentd
