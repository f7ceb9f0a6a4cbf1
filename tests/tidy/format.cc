// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/format.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

namespace tidy {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVersion = "version 14.";

std::string output_of(const std::string& command) {
  std::string out;
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return out;
  std::array<char, 4096> part{};
  for (std::size_t got = 0; (got = std::fread(part.data(), 1, part.size(), pipe)) > 0;) out.append(part.data(), got);
  ::pclose(pipe);
  return out;
}

}  // namespace

std::string clang_format() {
  for (const char* const name : {"clang-format-14", "clang-format"})
    if (output_of(std::string(name) + " --version 2> /dev/null").find(kVersion) != std::string::npos) return name;
  return "";
}

Findings unformatted(const fs::path& root) {
  // "path:line:column: warning: code should be clang-formatted"; the file's first one is enough.
  std::string command = clang_format() + " --dry-run";
  for (const fs::path& path : files_of(root, is_code)) command += " '" + path.string() + "'";
  const std::string said = output_of("cd '" + root.string() + "' && " + command + " 2>&1");
  std::set<std::string> files;
  for (std::size_t at = 0; at < said.size();) {
    const std::size_t end = std::min(said.find('\n', at), said.size());
    const std::string line = said.substr(at, end - at);
    if (line.find(": warning: ") != std::string::npos) files.insert(line.substr(0, line.find(':')));
    at = end + 1;
  }
  Findings found;
  for (const std::string& file : files)
    found.push_back(shown(root, file) + ": differs from clang-format's: run clang-format -i on it");
  return found;
}

}  // namespace tidy
