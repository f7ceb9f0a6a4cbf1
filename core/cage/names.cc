// SPDX-License-Identifier: Apache-2.0
#include "core/cage/names.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <memory>

#include "core/base/file.h"

namespace agentd::cage {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

}  // namespace

std::vector<std::string> names_in(int directory) {
  std::vector<std::string> out;
  UniqueFd own(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
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
