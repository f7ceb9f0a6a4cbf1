// SPDX-License-Identifier: Apache-2.0
#include "core/host/file_watch.h"

#include <algorithm>

namespace agentd {
namespace {

std::optional<struct stat> look(const std::string& path) {
  struct stat out {};
  if (::stat(path.c_str(), &out) != 0) return std::nullopt;
  return out;
}

bool same_time(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

}  // namespace

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size && same_time(a.st_mtim, b.st_mtim) &&
         same_time(a.st_ctim, b.st_ctim);
}

void FileWatch::add(const std::string& path) { watched_.push_back({path, look(path)}); }

void FileWatch::add(const std::string& path, const struct stat& seen) { watched_.push_back({path, seen}); }

bool FileWatch::changed() const {
  return std::any_of(watched_.begin(), watched_.end(), [](const Watched& each) {
    const auto now = look(each.path);
    if (!now || !each.seen) return now.has_value() != each.seen.has_value();
    return !same_file(*now, *each.seen);
  });
}

}  // namespace agentd
