// SPDX-License-Identifier: Apache-2.0
#include "core/process/kept_paths.h"

#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>

#include "core/base/file.h"

namespace agentd {
namespace {

struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const Identity&) const = default;
};

Identity identity_of(const struct stat& info) { return {info.st_dev, info.st_ino}; }

bool is_at(const std::string& path, const Identity& identity) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && identity_of(info) == identity;
}

// The kernel's path of an open file; " (deleted)" follows when it was removed.
std::filesystem::path path_of_descriptor(int fd) {
  std::error_code failed;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), failed);
}

// Files of any repository, but for those in its "info": they decide which programs Git runs, or lead it to others that
// do.
bool is_of_git(const std::filesystem::path& folder, const std::string& name) {
  const std::filesystem::path whole = folder / name;
  for (auto part = whole.begin(); part != whole.end(); ++part) {
    if (::strcasecmp(part->c_str(), ".git") != 0) continue;
    const auto next = std::next(part);
    return next == whole.end() || *next != "info";
  }
  return false;
}

bool has(int folder, const char* name) {
  struct stat info {};
  return ::fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0;
}

// A directory with HEAD, objects and refs, or with HEAD and the file that leads to the others, is a repository without
// a `.git`: what makes it one, and the files in it that name programs.
bool is_of_bare(int folder, const std::string& name) {
  const auto is = [&](const char* other) { return ::strcasecmp(name.c_str(), other) == 0; };
  if (is("objects")) return has(folder, "HEAD") && has(folder, "refs");
  if (is("refs")) return has(folder, "HEAD") && has(folder, "objects");
  if (is("commondir")) return has(folder, "HEAD");
  const auto whole = [](int place) { return has(place, "commondir") || (has(place, "objects") && has(place, "refs")); };
  if (is("HEAD")) return whole(folder);
  if (is("config") || is("config.worktree") || is("hooks")) return has(folder, "HEAD") && whole(folder);
  if (path_of_descriptor(folder).filename() != "hooks") return false;
  const UniqueFd above(::openat(folder, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  return above.valid() && has(above.get(), "HEAD") && whole(above.get());
}

Error kept(int folder, const std::string& name, const std::string& shown) {
  const bool of_git = is_of_git(path_of_descriptor(folder), name) || is_of_bare(folder, name);
  return {Code::kDenied, shown + (of_git ? " decides which programs Git runs" : " belongs to agentd itself") +
                             ": tools may read it but not change it"};
}

}  // namespace

KeptPaths::KeptPaths(std::vector<std::string> paths) {
  for (const std::string& each : paths) {
    std::filesystem::path path = std::filesystem::path(each).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();
    if (path.is_absolute()) paths_.push_back({path.string(), path.parent_path().string(), path.filename().string()});
  }
}

Result<void> KeptPaths::check(int folder, const std::string& name, const std::string& shown) const {
  if (paths_.empty()) return {};
  struct stat info {};
  if (::fstat(folder, &info) != 0) return errno_error("checking the folder of " + shown, errno);
  if (is_of_git(path_of_descriptor(folder), name) || is_of_bare(folder, name)) return kept(folder, name, shown);
  Identity at = identity_of(info);
  // A file that does not exist yet is known by its place. Some file systems ignore case.
  for (const Path& path : paths_)
    if (::strcasecmp(path.name.c_str(), name.c_str()) == 0 && is_at(path.folder, at)) return kept(folder, name, shown);
  std::vector<Identity> own;
  for (const Path& path : paths_)
    if (::stat(path.whole.c_str(), &info) == 0) own.push_back(identity_of(info));
  const auto is_own = [&](const Identity& each) { return std::find(own.begin(), own.end(), each) != own.end(); };
  if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && is_own(identity_of(info)))
    return kept(folder, name, shown);
  UniqueFd here(::openat(folder, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (;;) {
    if (is_own(at)) return kept(folder, name, shown);
    UniqueFd above(::openat(here.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
    // A directory that cannot be searched: nothing above it can be reached through it either.
    if (!above.valid() && errno == EACCES) return {};
    if (!above.valid() || ::fstat(above.get(), &info) != 0)
      return errno_error("checking the folders above " + shown, errno);
    if (identity_of(info) == at) return {};
    at = identity_of(info);
    here = std::move(above);
  }
}

Result<void> KeptPaths::check_new(int folder, const std::string& below, const std::string& shown) const {
  if (paths_.empty()) return {};
  struct stat info {};
  if (::fstat(folder, &info) != 0) return errno_error("checking the folder of " + shown, errno);
  if (const std::string first = below.substr(0, below.find('/')); is_of_bare(folder, first))
    return kept(folder, first, shown);
  const std::filesystem::path place = path_of_descriptor(folder);
  for (std::size_t end = below.find('/');; end = below.find('/', end + 1)) {
    if (is_of_git(place, below.substr(0, end))) return kept(folder, below.substr(0, end), shown);
    if (end == std::string::npos) break;
  }
  const Identity at = identity_of(info);
  for (const Path& each : paths_) {
    std::string tail;
    for (std::filesystem::path whole = each.whole; whole.has_relative_path(); whole = whole.parent_path()) {
      tail = whole.filename().string() + "/" + tail;
      const bool begins = ::strncasecmp(tail.c_str(), (below + "/").c_str(), tail.size()) == 0;
      if (begins && is_at(whole.parent_path().string(), at)) return kept(folder, below, shown);
    }
  }
  return {};
}

Result<void> HiddenFiles::check(int fd, const std::string& shown) const {
  if (paths_.empty()) return {};
  struct stat info {};
  if (::fstat(fd, &info) != 0) return errno_error("checking " + shown, errno);
  const Identity file = identity_of(info);
  const std::filesystem::path real = path_of_descriptor(fd);
  const bool placed = ::stat(real.parent_path().c_str(), &info) == 0;
  const Identity folder = identity_of(info);
  for (const std::string& each : paths_) {
    const std::filesystem::path path(each);
    const std::string name = path.filename().string(), own = real.filename().string();
    // A file that is being replaced was removed, or still has its temporary name.
    const bool beside = own == name + " (deleted)" || own.starts_with(name + ".tmp.");
    if (is_at(each, file) || (placed && beside && is_at(path.parent_path().string(), folder)))
      return Error{Code::kDenied, shown + " belongs to agentd itself: tools may not read it"};
  }
  return {};
}

Result<std::string> HiddenFiles::read(const std::string& path, std::uint64_t bytes_max,
                                      const std::string& shown) const {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return errno_error("opening " + shown, errno);
  AGENTD_TRY_VOID(check(file.get(), shown));
  return read_fd(file.get(), bytes_max, shown);
}

}  // namespace agentd
