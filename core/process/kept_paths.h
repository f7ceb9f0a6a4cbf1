// SPDX-License-Identifier: Apache-2.0
#pragma once
// kept_paths.h - files and directories that tools may read and not change, and files that they may not read.
//
// Device and inode decide, of the directory that is about to change and of all above it: no spelling, link or mount
// leads around them.
//
// Threading: thread-safe.

#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace agentd {

class KeptPaths {
 public:
  // Absolute paths, which need not exist.
  explicit KeptPaths(std::vector<std::string> paths);
  // kDenied when `name` in the directory `folder` is one of them or would become one, or lies in one of them. They are
  // looked up anew each time. `shown` is what messages call it.
  Result<void> check(int folder, const std::string& name, const std::string& shown) const;

 private:
  struct Path {
    std::string whole, folder, name;
  };
  std::vector<Path> paths_;
};

class HiddenFiles {
 public:
  // Absolute paths, which need not exist.
  explicit HiddenFiles(std::vector<std::string> paths) : paths_(std::move(paths)) {}
  // kDenied when the open file is one of them, by whatever name it was opened, or what write_file_atomically()
  // has left beside one. They are looked up anew each time.
  Result<void> check(int fd, const std::string& shown) const;
  // The bytes of the regular file `path`, at most `bytes_max` of them, after such a check.
  Result<std::string> read(const std::string& path, std::uint64_t bytes_max, const std::string& shown) const;

 private:
  std::vector<std::string> paths_;
};

}  // namespace agentd
