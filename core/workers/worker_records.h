// SPDX-License-Identifier: Apache-2.0
#pragma once
// worker_records.h - the workers' answers after loading their modules, kept from run to run.
//
// With a record a module's rows are known without running a byte of it, so its worker can start at the first call. A
// record applies only to the very bytes, configuration, grants and programs that it was made with.
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
  // The first keep() makes the directory. It has one file per module path.
  explicit WorkerRecords(std::string directory) : directory_(std::move(directory)) {}

  // `key`: a digest of all that the answer depends on. Absent for another key, or if the file is missing or unreadable.
  std::optional<Booted> find(std::string_view path, std::string_view key) const;
  Result<void> keep(std::string_view path, std::string_view key, const Booted& booted) const;
  void forget(std::string_view path) const;

 private:
  std::string file_of(std::string_view path) const;

  const std::string directory_;
};

}  // namespace agentd
