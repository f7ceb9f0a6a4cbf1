// SPDX-License-Identifier: Apache-2.0
#pragma once
// process_state.h - what a module may leave changed in its process, taken before and after.
//
// Threading: one thread.

#include <cstdint>
#include <string>
#include <vector>

namespace agentd::validation {

struct ProcessState {
  std::vector<std::string> descriptors;  // "5 -> /tmp/x"
  std::vector<std::string> threads;      // numbers
  std::string signals, mask, directory, locale, environment, floating_point, limits;
  unsigned umask = 0;

  static ProcessState take();
};

// Bytes of the heap that are in use; 0 where nobody counts them.
std::uint64_t heap_bytes();
// What `after` has and `before` had not.
std::vector<std::string> added(const std::vector<std::string>& before, const std::vector<std::string>& after);

}  // namespace agentd::validation
