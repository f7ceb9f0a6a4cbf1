// SPDX-License-Identifier: Apache-2.0
#pragma once
// file_watch.h - detects changes of files and directories since they were last checked.
//
// Compares device, inode, size and the two times: one system call per path, on every file system, and nothing to open
// or drain. A directory changes when a name in it is added, removed or renamed.
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
  // Watches the path in its present state; a missing path is watched for its creation.
  void add(const std::string& path);
  // Watches the path from the state in `seen`.
  void add(const std::string& path, const struct stat& seen);
  // True if any watched path has changed.
  bool changed() const;

 private:
  struct Watched {
    std::string path;
    std::optional<struct stat> seen;
  };
  std::vector<Watched> watched_;
};

// True if both are the same file with, as far as is known without reading it, the same bytes.
bool same_file(const struct stat& a, const struct stat& b);

}  // namespace agentd
