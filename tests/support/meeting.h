// SPDX-License-Identifier: Apache-2.0
#pragma once
// meeting.h - what lies between a test, the server that it plays, and the program that asks it.
//
// Threading: thread-safe.

#include <atomic>

namespace agentd::testing {

// The program that a test starts and waits for is asked nothing before it is started, and asks nothing after its end:
// so what the test did before, the server sees, and the other way round. ThreadSanitizer cannot look into other
// processes: both say it here, the test where it starts a program and has waited for one, the server around its answer.
inline void meet_others() {
  static std::atomic<unsigned> meetings{0};
  meetings.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace agentd::testing
