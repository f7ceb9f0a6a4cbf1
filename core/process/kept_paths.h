// SPDX-License-Identifier: Apache-2.0
#pragma once
// kept_paths.h - paths that tools may read but not change, and files that tools may not read.
//
// Device and inode of the changing directory and of all directories above it decide, so no spelling, link or mount
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
  // kDenied when `name` in the directory `folder` is one of them, would become one, or is below one, or if it decides
  // which programs Git runs: in a `.git`, and where it makes a directory a repository by itself or is a setting or a
  // hook of such a one. The paths are looked up again each time. Messages call it `shown`.
  Result<void> check(int folder, const std::string& name, const std::string& shown) const;
  // The same of "a/b/name" in `folder`, where "a" does not exist: so that no directory is made for a refused file.
  Result<void> check_new(int folder, const std::string& below, const std::string& shown) const;

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
  // kDenied when the open file is one of them, whatever name it was opened by, or a temporary file that
  // write_file_atomically() left next to one. The paths are looked up again each time.
  Result<void> check(int fd, const std::string& shown) const;
  // Reads at most `bytes_max` bytes of the regular file `path` after such a check.
  Result<std::string> read(const std::string& path, std::uint64_t bytes_max, const std::string& shown) const;

 private:
  std::vector<std::string> paths_;
};

}  // namespace agentd
