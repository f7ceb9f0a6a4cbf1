// SPDX-License-Identifier: Apache-2.0
#include "core/cage/physical.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "core/cage/names.h"

namespace agentd::cage {
namespace {

constexpr int kDepthMax = 200;  // of directories whose rights are opened

UniqueFd open_without_links(const std::string& path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
}

// "/a/b/c": calls with "/a", then "/a/b", while it returns true.
template <typename Visit>
void each_above(const std::string& path, Visit visit) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1))
    if (!visit(path.substr(0, end))) return;
}

void open_rights(int fd, const struct stat& info) {
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 0700) == 0700) return;
  (void)::chmod(("/proc/self/fd/" + std::to_string(fd)).c_str(), (info.st_mode & 07777) | 0700);
}

void open_up(int folder, const std::string& name, int depth) {
  const UniqueFd own(::openat(folder, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!own.valid() || depth == kDepthMax || ::fstat(own.get(), &info) != 0) return;
  open_rights(own.get(), info);
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

std::vector<std::string> names_in(const std::string& directory) {
  const UniqueFd open = open_directory_at(directory, O_RDONLY);
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

bool make_way(const std::string& path) {
  bool done = true;
  each_above(path, [&](const std::string& above) {
    if (is_there(above)) return true;
    const Physical place = physical(above);
    done = place.valid() && ::mkdirat(place.folder.get(), place.name.c_str(), 0777) == 0;
    return done;
  });
  return done;
}

void open_way(const std::string& path) {
  each_above(path, [&](const std::string& above) {
    const UniqueFd own = open_without_links(above, O_PATH | O_DIRECTORY);
    struct stat info {};
    if (!own.valid() || ::fstat(own.get(), &info) != 0) return false;
    open_rights(own.get(), info);
    return true;
  });
}

void open_up(int folder, const std::string& name) { open_up(folder, name, 0); }

}  // namespace agentd::cage
