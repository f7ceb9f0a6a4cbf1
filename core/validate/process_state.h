// SPDX-License-Identifier: Apache-2.0
#pragma once
// process_state.h - process-wide state that a module might change, compared before and after.
//
// Threading: one thread.

#include <cstdint>
#include <string>
#include <vector>

namespace agentd::validation {

struct ProcessState {
  std::vector<std::string> descriptors;  // "5 -> /tmp/x"
  std::vector<std::string> threads;      // ids
  std::string signals, mask, directory, locale, environment, floating_point, limits;
  unsigned umask = 0;

  static ProcessState take();
};

// Bytes of the heap in use; 0 where that is unknown.
std::uint64_t heap_bytes();
// The elements of `after` that are not in `before`.
std::vector<std::string> added(const std::vector<std::string>& before, const std::vector<std::string>& after);

}  // namespace agentd::validation
