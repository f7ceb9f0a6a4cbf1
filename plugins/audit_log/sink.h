// SPDX-License-Identifier: Apache-2.0
#pragma once
// sink.h - the file to which audit lines are appended.
//
// Several processes may append to one file: O_APPEND and one write(2) per line keep lines intact. The file is opened at
// the first line, and again when another file is at its path, as after a rotation.
//
// Threading: thread-safe.

#include <sys/types.h>

#include <string>

#include "core/base/file.h"
#include "core/base/mutex.h"
#include "core/base/result.h"

namespace audit_log {

class Sink {
 public:
  explicit Sink(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }
  // Appends `line` and a newline. On error nothing was written, or a torn line, which the next line ends.
  agentd::Result<void> append(std::string line);

 private:
  agentd::Result<void> open_if_needed() REQUIRES(mutex_);

  const std::string path_;
  agentd::Mutex mutex_;
  agentd::UniqueFd fd_ GUARDED_BY(mutex_);
  dev_t device_ GUARDED_BY(mutex_) = 0;
  ino_t inode_ GUARDED_BY(mutex_) = 0;
  bool torn_ GUARDED_BY(mutex_) = false;
};

}  // namespace audit_log
