// SPDX-License-Identifier: Apache-2.0
#include "core/cage/names.h"

#include <dirent.h>

#include <algorithm>
#include <memory>

namespace agentd::cage {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

}  // namespace

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> out;
  const std::unique_ptr<DIR, CloseDirectory> open(::opendir(directory.c_str()));
  if (!open) return out;
  while (const dirent* const entry = ::readdir(open.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") out.push_back(name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace agentd::cage
