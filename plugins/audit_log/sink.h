// SPDX-License-Identifier: Apache-2.0
#pragma once
// sink.h - the file that audit lines are appended to.
//
// Several processes append to one file: O_APPEND and one write(2) for each line keep the lines
// whole. The file is opened at the first line and again when another file stands at its path, as
// after a rotation.
//
// Threading: thread-safe.

#include <sys/types.h>

#include <mutex>
#include <string>
#include <string_view>

#include "core/base/file.h"
#include "core/base/result.h"

namespace audit_log {

class Sink {
 public:
  explicit Sink(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }
  // Appends `line` and a newline. On an error nothing of it, or a torn line that the next one ends.
  agentd::Result<void> append(std::string line);

 private:
  agentd::Result<void> open_if_needed();

  const std::string path_;
  std::mutex mutex_;
  agentd::UniqueFd fd_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  bool torn_ = false;
};

}  // namespace audit_log
