// SPDX-License-Identifier: Apache-2.0
#pragma once
// sides.h - the same sessions in the daemon, whose clients are here, and in this process, without it.
//
// Threading: thread-compatible.

#include <cstddef>
#include <string>

#include "bench/serve/setting.h"

namespace agentd::bench {

// The sessions are opened, with a turn each; the active ones then have turn after turn, in the daemon each with its
// stream of events.
Figures with_daemon(const std::string& agentd, const std::string& parent, Load load);
Figures in_process(const std::string& parent, Load load);

// What the daemon has of memory before any session, with idle ones, and once they are parked, in KiB. Prints it.
struct Parked {
  double first, idle, left;
};
Parked print_parked(const std::string& agentd, const std::string& parent, std::size_t sessions, Milliseconds rest);

}  // namespace agentd::bench
