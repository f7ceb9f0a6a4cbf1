// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/tool_input.h"

#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/paths.h"
#include "core/codec/canonical_json.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

constexpr std::size_t kRefusedBytes = 16 * 1024;

bool lies_in(const std::string& path, const std::string& folder) {
  return path == folder || folder == "/" || path.starts_with(folder + "/");
}

// The path below the root that one of its folders is, under whatever name; unchanged without one.
std::string below_a_root(std::string path, std::span<const std::string> roots) {
  struct Root {
    std::string path;
    struct stat info {};
  };
  std::vector<Root> known;
  for (const std::string& each : roots) {
    Root root{lexical_path("", each)};
    if (lies_in(path, root.path)) return path;
    if (::stat(root.path.c_str(), &root.info) == 0) known.push_back(std::move(root));
  }
  for (std::size_t end = path.find('/', 1); !known.empty(); end = path.find('/', end + 1)) {
    struct stat info {};
    if (::stat(path.substr(0, end).c_str(), &info) != 0) break;
    for (const Root& root : known)
      if (info.st_dev == root.info.st_dev && info.st_ino == root.info.st_ino)
        return end == std::string::npos ? root.path : root.path + path.substr(end);
    if (end == std::string::npos) break;
  }
  return path;
}

std::string resolved(std::string_view path, const InputPaths& paths) {
  if (path.empty()) return {};
  std::string full = below_a_root(lexical_path(with_home(path, paths.home), paths.start), paths.roots);
  const std::string folder = lexical_path("", paths.cwd);
  if (folder != lexical_path("", paths.start)) return full;
  if (full == folder) return ".";
  const std::string inside = folder == "/" ? folder : folder + "/";
  if (!full.starts_with(inside)) return full;
  std::string below = full.substr(inside.size());
  // A name that would mean the home when it is read again.
  return below.starts_with('~') ? "./" + below : below;
}

}  // namespace

Result<ToolInput> ToolInput::make(std::string_view bytes, const InputPaths& paths) {
  if (bytes.empty()) return ToolInput();
  MemberText path_of;
  if (!paths.keys.empty() && !paths.start.empty())
    path_of = [&paths](std::string_view key, std::string_view text) {
      const bool is_path = std::find(paths.keys.begin(), paths.keys.end(), key) != paths.keys.end();
      return is_path ? resolved(text, paths) : std::string(text);
    };
  AGENTD_TRY(std::string text, canonical_object(bytes, {kBytesMax, kLevelsMax}, path_of));
  return ToolInput(std::move(text));
}

std::string ToolInput::stand_in(std::string_view refused) {
  JsonWriter out;
  out.begin_object().member("raw", to_utf8(utf8_prefix(refused, kRefusedBytes))).end_object();
  return std::string(out.text());
}

std::string readable_input(std::string json) {
  if (json.empty()) return json;
  // A lone surrogate is the only input that parses here and not there.
  const bool escapes = json.find("\\ud") != std::string::npos || json.find("\\uD") != std::string::npos;
  if (escapes) {
    if (ToolInput::make(json)) return json;
  } else if (const auto parsed = JsonDocument::parse(json); parsed && parsed->root().is_object()) {
    return json;
  }
  return ToolInput::stand_in(json);
}

}  // namespace agentd
