// SPDX-License-Identifier: Apache-2.0
#pragma once
// file_watch.h - whether files and directories are still what they were when somebody looked.
//
// By device, inode, size and the two times: one system call for each path, on every file system,
// and nothing to be opened or drained. A directory changes when a name in it comes, goes or is
// renamed.
//
// Threading: thread-compatible.

#include <sys/stat.h>

#include <optional>
#include <string>
#include <vector>

namespace agentd {

class FileWatch {
 public:
  void clear() { watched_.clear(); }
  // As it is now; what is not there is watched for coming.
  void add(const std::string& path);
  // As it was when `seen` was taken.
  void add(const std::string& path, const struct stat& seen);
  // True when one of them is not what it was.
  bool changed() const;

 private:
  struct Watched {
    std::string path;
    std::optional<struct stat> seen;
  };
  std::vector<Watched> watched_;
};

// True when both are the same file with, as far as one can tell without reading it, the same bytes.
bool same_file(const struct stat& a, const struct stat& b);

}  // namespace agentd
