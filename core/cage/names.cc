// SPDX-License-Identifier: Apache-2.0
#include "core/cage/names.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "core/base/file.h"

namespace agentd::cage {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// Git reaches a file in a directory that nobody can list. So such a one, if it is this user's, is opened for the
// moment.
UniqueFd open_to_list(int directory) {
  const auto open = [&] { return UniqueFd(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)); };
  UniqueFd out = open();
  struct stat info {};
  if (out.valid() || errno != EACCES || ::fstat(directory, &info) != 0 || info.st_uid != ::geteuid()) return out;
  const std::string place = "/proc/self/fd/" + std::to_string(directory);
  if (::chmod(place.c_str(), (info.st_mode & 07777) | 0500) != 0) return out;
  out = open();
  (void)::chmod(place.c_str(), info.st_mode & 07777);
  return out;
}

}  // namespace

std::vector<std::string> names_in(int directory) {
  std::vector<std::string> out;
  UniqueFd own = open_to_list(directory);
  const std::unique_ptr<DIR, CloseDirectory> open(own.valid() ? ::fdopendir(own.get()) : nullptr);
  if (!open) return out;
  (void)own.release();
  while (const dirent* const entry = ::readdir(open.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") out.push_back(name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace agentd::cage
