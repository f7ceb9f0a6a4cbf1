// SPDX-License-Identifier: Apache-2.0
#pragma once
// worker_records.h - what workers answered when they had loaded their modules, kept from run to run.
//
// With it a module's rows are known without running a byte of it, so that its worker is started when
// it is first asked. A record counts for the very bytes, configuration, grants and programs that it
// was made with; anything else is a module that nobody has seen start.
//
// Threading: thread-safe; several processes may use one directory.

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/workers/worker_process.h"

namespace agentd {

class WorkerRecords {
 public:
  // Made by the first keep(). One file for each path of a module.
  explicit WorkerRecords(std::string directory) : directory_(std::move(directory)) {}

  // `key`: a digest of all that the answer depends on. Absent for another key, and when the file is
  // missing or cannot be read.
  std::optional<Booted> find(std::string_view path, std::string_view key) const;
  Result<void> keep(std::string_view path, std::string_view key, const Booted& booted) const;
  void forget(std::string_view path) const;

 private:
  std::string file_of(std::string_view path) const;

  const std::string directory_;
};

}  // namespace agentd
