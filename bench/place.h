// SPDX-License-Identifier: Apache-2.0
#pragma once
// place.h - a directory that ends with its benchmark, and the end of a benchmark that cannot be run.
//
// Threading: a Place belongs to one thread; the functions are thread-safe.

#include <errno.h>
#include <stdlib.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "core/base/result.h"

namespace agentd::bench {

// Prints why, behind the program's name, and exits with 1.
[[noreturn]] inline void stop(const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, why.c_str());
  std::exit(1);
}

template <typename T>
T expect(Result<T> result) {
  if (!result) stop(result.error().message);
  return std::move(*result);
}
inline void expect(const Result<void>& result) {
  if (!result) stop(result.error().message);
}

// A new directory below `parent`, removed with all that is in it.
class Place {
 public:
  explicit Place(const std::string& parent) : path_(parent + "/agentd-bench-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) stop("no directory can be made in " + parent);
  }
  ~Place() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace agentd::bench
