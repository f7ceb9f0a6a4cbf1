// SPDX-License-Identifier: Apache-2.0
#include "plugins/session_memory/repairs.h"

#include <algorithm>
#include <iterator>

namespace session_memory {
namespace {

// With these the next word says what is done.
constexpr std::string_view kHaveSubcommands[] = {
    "apt", "aws",  "bazel",  "bundle",    "cargo",     "composer", "conda", "docker", "dotnet",
    "gh",  "git",  "go",     "gradle",    "helm",      "kubectl",  "make",  "mvn",    "npm",
    "pip", "pnpm", "poetry", "systemctl", "terraform", "uv",       "yarn"};

std::string squeezed(std::string_view text) {
  std::string out;
  for (const char each : text) {
    const bool blank = each == ' ' || each == '\t' || each == '\n';
    if (!blank)
      out += each;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

std::string_view next_word(std::string_view& rest) {
  const std::size_t begin = rest.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return rest = {};
  const std::size_t end = std::min(rest.find_first_of(" \t\n", begin), rest.size());
  const std::string_view out = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return out;
}

bool is_repeated(const std::vector<Repair>& all, const std::string& command) {
  return std::any_of(all.begin(), all.end(),
                     [&](const Repair& each) { return squeezed(each.failed->command()) == command; });
}

Repair repair_of(const SessionLog& log, std::size_t at, const std::string& command) {
  Repair out;
  out.failed = &log.calls[at];
  const std::string program = program_of(command);
  for (std::size_t i = at; i < log.calls.size(); ++i) {
    const LoggedCall& call = log.calls[i];
    if (const std::string file = call.changed_file(); !file.empty() && !call.failed) {
      if (std::find(out.files.begin(), out.files.end(), file) == out.files.end()) out.files.push_back(file);
      continue;
    }
    if (call.result_seq == 0) continue;
    const std::string line = squeezed(call.command());
    if (line.empty() || (line != command && program_of(line) != program)) continue;
    if (call.failed) {
      ++out.failures;
    } else {
      out.passed = &call;
      break;
    }
  }
  return out;
}

}  // namespace

bool Repair::is_same_command() const {
  return passed != nullptr && squeezed(failed->command()) == squeezed(passed->command());
}

std::string program_of(std::string_view command) {
  std::string_view rest = command, word;
  do {
    word = next_word(rest);
  } while (word.find('=') != std::string_view::npos || word == "sudo" || word == "env" || word == "time");
  // cd somewhere && the command
  if (word == "cd")
    if (const std::size_t both = rest.find("&&"); both != std::string_view::npos)
      return program_of(rest.substr(both + 2));
  std::string out(word.substr(word.find_last_of('/') + 1));
  if (std::find(std::begin(kHaveSubcommands), std::end(kHaveSubcommands), out) == std::end(kHaveSubcommands))
    return out;
  for (word = next_word(rest); word.starts_with('-'); word = next_word(rest)) {
  }
  return word.empty() ? out : out + " " + std::string(word);
}

std::vector<Repair> repairs_of(const SessionLog& log) {
  std::vector<Repair> out;
  for (std::size_t at = 0; at < log.calls.size(); ++at) {
    const LoggedCall& call = log.calls[at];
    const std::string command = squeezed(call.command());
    if (!call.failed || call.result_seq == 0 || command.empty() || is_repeated(out, command)) continue;
    out.push_back(repair_of(log, at, command));
  }
  return out;
}

}  // namespace session_memory
