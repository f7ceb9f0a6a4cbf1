// SPDX-License-Identifier: Apache-2.0
#include "core/workplace/project.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "core/base/bytes.h"
#include "core/base/file.h"

namespace agentd {
namespace {

constexpr std::uint64_t kGitConfigBytesMax = 1u << 20;

std::string parent_of(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

std::string trimmed_copy(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1));
}

std::string absolute(const std::string& base, const std::string& path) {
  return path.empty() || path[0] == '/' ? path : base + "/" + path;
}

// The directory with the configuration of the repository whose work tree is `root`: .git itself, or
// for a worktree what its .git file and then "commondir" point at.
std::string git_directory(const std::string& root) {
  std::string git = root + "/.git";
  struct stat info {};
  if (::stat(git.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return git;
  const std::string text = read_file(git, 4096).value_or("");
  if (text.substr(0, 8) != "gitdir: ") return {};
  const std::string directory = absolute(root, trimmed_copy(std::string_view(text).substr(8)));
  const std::string common = trimmed_copy(read_file(directory + "/commondir", 4096).value_or(""));
  return common.empty() ? directory : absolute(directory, common);
}

// The value of "url = x", without a comment and quotes.
std::string value_of(std::string_view line) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = line.find('=') + 1; i < line.size(); ++i) {
    if (line[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && (line[i] == '#' || line[i] == ';')) {
      break;
    } else {
      if (line[i] == '\\' && i + 1 < line.size()) ++i;
      out += line[i];
    }
  }
  return trimmed_copy(out);
}

}  // namespace

std::string project_id_of(std::string_view url) {
  std::string out(url);
  // sed is greedy: the last host that still has ".git" behind it, and the last ".git".
  const std::size_t git = out.rfind(".git");
  for (std::size_t at = out.size(); git != std::string::npos && at-- > 0;) {
    const bool host = out.compare(at, 6, "github") == 0 && out.compare(at + 7, 3, "com") == 0 && at + 10 < out.size() &&
                      (out[at + 10] == ':' || out[at + 10] == '/');
    if (!host || git < at + 11) continue;
    out = out.substr(at + 11, git - at - 11) + out.substr(git + 4);
    break;
  }
  std::replace(out.begin(), out.end(), '/', '_');
  return out;
}

std::string origin_url(std::string_view config) {
  bool inside = false;
  while (!config.empty()) {
    const std::size_t end = std::min(config.find('\n'), config.size());
    const std::string line = trimmed_copy(config.substr(0, end));
    config.remove_prefix(std::min(end + 1, config.size()));
    if (!line.empty() && line[0] == '[')
      inside = ascii_lower(line.substr(0, 7)) == "[remote" && line.find("\"origin\"") != std::string::npos;
    else if (inside && ascii_lower(line.substr(0, 3)) == "url" && line.find_first_not_of(" \t", 3) == line.find('='))
      return value_of(line);
  }
  return {};
}

Project find_project(const std::string& cwd) {
  Project project{cwd, cwd, cwd};
  struct stat info {};
  for (std::string at = cwd;; at = parent_of(at)) {
    if (::stat((at + "/.git").c_str(), &info) == 0) {
      project.root = project.id = at;
      const std::string directory = git_directory(at);
      const std::string url =
          directory.empty() ? "" : origin_url(read_file(directory + "/config", kGitConfigBytesMax).value_or(""));
      if (!url.empty()) project.id = project_id_of(url);
      return project;
    }
    if (at.size() <= 1) return project;
  }
}

Result<void> check_roots(const Config& config) {
  for (const std::string& root : config.list("workspace.roots")) {
    const UniqueFd opened(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (opened.valid()) continue;
    const int why = errno;
    const std::string what = why == ENOENT ? " does not exist: create it"
                             : why == ENOTDIR
                                 ? " is not a directory: change it"
                                 : " cannot be opened (" + std::generic_category().message(why) + "): fix that";
    return Error{Code::kInvalid, config.origin("workspace.roots") + ": workspace.roots: " + one_line(root, 400) + what +
                                     ", or remove it from the list"};
  }
  return {};
}

}  // namespace agentd
