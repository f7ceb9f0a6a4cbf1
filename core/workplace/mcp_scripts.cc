// SPDX-License-Identifier: Apache-2.0
#include "core/workplace/mcp_scripts.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "core/base/file.h"
#include "core/base/hash.h"

namespace agentd {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBytesMax = 64u << 20;
constexpr std::string_view kEndings[] = {".bash", ".bat", ".cjs", ".exe", ".jar", ".js",   ".jsx",
                                         ".lua",  ".mjs", ".mts", ".php", ".pl",  ".ps1",  ".py",
                                         ".pyz",  ".rb",  ".sh",  ".ts",  ".tsx", ".wasm", ".zsh"};

enum class WordRole { kCommand, kFirst, kOther };

bool is_script(const std::string& path, mode_t mode, std::string_view bytes, WordRole role) {
  const std::string ending = fs::path(path).extension().string();
  if (role == WordRole::kCommand || (role == WordRole::kFirst && ending.empty())) return true;
  return (mode & 0111) != 0 || bytes.starts_with("#!") ||
         std::find(std::begin(kEndings), std::end(kEndings), ending) != std::end(kEndings);
}

class Finder {
 public:
  Finder(const McpServerSettings& server, const std::string& root)
      : root_(fs::path(root).lexically_normal()), from_((root_ / server.cwd).lexically_normal()) {}

  void add(const std::string& word, WordRole role) {
    if (word.empty() || word.find("${") != std::string::npos) return;
    const fs::path path = (from_ / word).lexically_normal();
    const std::string inside = path.lexically_relative(root_).string();
    struct stat info {};
    if (inside.empty() || inside.starts_with("..") || ::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
      return;
    const auto bytes = read_file(path.string(), kBytesMax);
    if (is_script(inside, info.st_mode, bytes ? *bytes : "", role))
      found_.push_back({inside, hex(sha256(bytes ? *bytes : ""))});
  }

  std::vector<McpConsent::File> take() {
    const auto before = [](const McpConsent::File& a, const McpConsent::File& b) { return a.path < b.path; };
    std::sort(found_.begin(), found_.end(), before);
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    return std::move(found_);
  }

 private:
  const fs::path root_, from_;
  std::vector<McpConsent::File> found_;
};

}  // namespace

std::vector<McpConsent::File> mcp_scripts_of(const McpServerSettings& server, const std::string& root) {
  Finder finder(server, root);
  // A command without a slash is looked for in PATH.
  if (server.command.find('/') != std::string::npos) finder.add(server.command, WordRole::kCommand);
  bool first = true;
  for (const std::string& each : server.args) {
    const std::size_t equals = each.find('=');
    const bool option = each.starts_with('-');
    finder.add(each, first && !option ? WordRole::kFirst : WordRole::kOther);
    if (equals != std::string::npos) finder.add(each.substr(equals + 1), WordRole::kOther);
    first = first && option;
  }
  return finder.take();
}

}  // namespace agentd
