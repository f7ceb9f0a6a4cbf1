// SPDX-License-Identifier: Apache-2.0
#pragma once
// sides.h - the same sessions in the daemon, whose clients are here, and in this process, without it.
//
// Threading: thread-compatible.

#include <cstddef>
#include <string>

#include "bench/serve/setting.h"

namespace agentd::bench {

// `sessions` are opened, with a turn each; `active` of them then have turn after turn, in the daemon each with its
// stream of events.
Figures with_daemon(const std::string& agentd, const std::string& parent, std::size_t sessions, std::size_t active);
Figures in_process(const std::string& parent, std::size_t sessions, std::size_t active);

// What the daemon has of memory before any session, with idle ones, and once they are parked.
void print_parked(const std::string& agentd, const std::string& parent, std::size_t sessions);

}  // namespace agentd::bench
