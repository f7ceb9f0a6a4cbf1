// SPDX-License-Identifier: Apache-2.0
#include "core/cage/physical.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "core/cage/names.h"

namespace agentd::cage {
namespace {

constexpr int kOpenedDepthMax = 200;  // of directories whose rights are opened

// Step by step, for kernels without openat2 (before Linux 5.6) and filters that refuse it.
UniqueFd walk_without_links(const std::string& path, int flags) {
  UniqueFd at(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (std::size_t from = 1; at.valid() && from < path.size();) {
    const std::size_t end = std::min(path.find('/', from), path.size());
    const int own = end == path.size() ? flags : O_PATH | O_DIRECTORY;
    at = UniqueFd(::openat(at.get(), path.substr(from, end - from).c_str(), own | O_NOFOLLOW | O_CLOEXEC));
    from = end + 1;
  }
  return at;
}

UniqueFd open_without_links(const std::string& path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  UniqueFd out(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
  const bool unknown = !out.valid() && (errno == ENOSYS || errno == EPERM);
  return unknown && path.starts_with('/') ? walk_without_links(path, static_cast<int>(flags)) : std::move(out);
}

// "/a/b/c": calls with "/a", then "/a/b", while it returns true.
template <typename Visit>
void each_above(const std::string& path, Visit visit) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1))
    if (!visit(path.substr(0, end))) return;
}

void set_rights(int fd, mode_t rights) { (void)::chmod(("/proc/self/fd/" + std::to_string(fd)).c_str(), rights); }

// False: they are open.
bool open_rights(int fd, const struct stat& info) {
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 0700) == 0700) return false;
  set_rights(fd, (info.st_mode & 07777) | 0700);
  return true;
}

// The owner can neither list it nor reach what is in it.
bool is_closed(const struct stat& info) {
  return S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() && (info.st_mode & 0500) != 0500;
}

void open_below(const std::string& directory, const std::string& until, int depth) {
  const UniqueFd own = open_directory_at(directory, O_PATH);
  struct stat info {};
  if (!own.valid() || depth == kOpenedDepthMax || ::fstat(own.get(), &info) != 0) return;
  if (is_closed(info)) set_rights(own.get(), (info.st_mode & 07777) | 0500);
  if (::fstatat(own.get(), until.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) return;
  for (const std::string& each : names_in(own.get())) open_below(directory + "/" + each, until, depth + 1);
}

void open_up(int folder, const std::string& name, int depth) {
  const UniqueFd own(::openat(folder, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!own.valid() || depth == kOpenedDepthMax || ::fstat(own.get(), &info) != 0) return;
  (void)open_rights(own.get(), info);
  for (const std::string& each : names_in(own.get())) open_up(own.get(), each, depth + 1);
}

}  // namespace

Physical physical(const std::string& path) {
  Physical out;
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash + 1 == path.size()) return out;
  out.folder = open_without_links(slash == 0 ? "/" : path.substr(0, slash), O_PATH | O_DIRECTORY);
  out.name = path.substr(slash + 1);
  return out;
}

bool look_at(const std::string& path, struct stat& info) {
  const Physical place = physical(path);
  return place.valid() && ::fstatat(place.folder.get(), place.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

bool is_there(const std::string& path) {
  struct stat info {};
  return look_at(path, info);
}

UniqueFd open_directory_at(const std::string& path, int flags) {
  return open_without_links(path, static_cast<std::uint64_t>(flags) | O_DIRECTORY);
}

UniqueFd open_place_at(const std::string& path) { return open_without_links(path, O_PATH | O_NOFOLLOW); }

std::vector<std::string> names_in(const std::string& directory) {
  const UniqueFd open = open_directory_at(directory, O_PATH);
  return open.valid() ? names_in(open.get()) : std::vector<std::string>();
}

std::string link_in_the_way(const std::string& path) {
  std::string out;
  each_above(path, [&](const std::string& above) {
    struct stat info {};
    if (!look_at(above, info)) return false;
    if (S_ISLNK(info.st_mode)) out = above;
    return out.empty();
  });
  return out;
}

std::vector<std::string> links_of(const std::string& path) {
  constexpr std::size_t kLinksMax = 40;
  std::vector<std::string> out;
  std::string at, rest = path;  // `at` has no link
  while (!rest.empty() && out.size() < kLinksMax) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const std::string name = rest.substr(0, end);
    rest.erase(0, end + 1);
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      at.erase(std::min(at.rfind('/'), at.size()));
      continue;
    }
    struct stat info {};
    at += "/" + name;
    if (!look_at(at, info) || !S_ISLNK(info.st_mode)) continue;
    out.push_back(at);
    const Physical place = physical(at);
    std::string target(PATH_MAX, '\0');
    const ssize_t length = ::readlinkat(place.folder.get(), place.name.c_str(), target.data(), target.size());
    if (length <= 0) return out;
    target.resize(static_cast<std::size_t>(length));
    at.erase(target.starts_with('/') ? 0 : at.rfind('/'));
    rest = target + "/" + rest;
  }
  return out;
}

bool is_hidden(const std::string& path) {
  struct stat info {};
  return !look_at(path, info) && errno == EACCES;
}

std::vector<std::string> open_above(const std::string& path,
                                    const std::function<std::uint32_t(const std::string&)>& wanted) {
  std::vector<std::string> out;
  each_above(path, [&](const std::string& above) {
    const UniqueFd own = open_directory_at(above, O_PATH);
    struct stat info {};
    if (!own.valid() || ::fstat(own.get(), &info) != 0) return false;
    if (!is_closed(info)) return true;
    const mode_t rights = wanted(above);
    set_rights(own.get(), (rights & 0500) == 0500 ? rights : (info.st_mode & 07777) | 0500);
    out.push_back(above);
    return true;
  });
  return out;
}

void open_below(const std::string& directory, const std::string& until) { open_below(directory, until, 0); }

std::vector<std::uint32_t> rights_above(const std::string& path) {
  std::vector<std::uint32_t> out;
  each_above(path, [&](const std::string& above) {
    struct stat info {};
    if (!look_at(above, info)) return false;
    out.insert(out.begin(), info.st_mode & 07777);
    return true;
  });
  return out;
}

Way Way::opened(const std::string& path) {
  Way out;
  each_above(path, [&](const std::string& above) {
    UniqueFd own = open_without_links(above, O_PATH | O_DIRECTORY);
    struct stat info {};
    if (!own.valid() || ::fstat(own.get(), &info) != 0) return false;
    if (open_rights(own.get(), info)) out.parts_.push_back({std::move(own), info.st_mode & 07777});
    return true;
  });
  return out;
}

Way Way::made(const std::string& path, const std::vector<std::uint32_t>& rights) {
  Way out;
  auto left = static_cast<std::size_t>(std::count(path.begin(), path.end(), '/')) - 1;  // of the directories above
  each_above(path, [&](const std::string& above) {
    --left;
    if (is_there(above)) return true;
    const Physical place = physical(above);
    out.complete_ = place.valid() && ::mkdirat(place.folder.get(), place.name.c_str(), 0777) == 0;
    if (out.complete_ && left < rights.size()) out.parts_.push_back({open_place_at(above), rights[left]});
    return out.complete_;
  });
  return out;
}

Way::~Way() {
  for (auto each = parts_.rbegin(); each != parts_.rend(); ++each)
    if (each->directory.valid()) set_rights(each->directory.get(), each->rights);
}

void open_up(int folder, const std::string& name) { open_up(folder, name, 0); }

}  // namespace agentd::cage
