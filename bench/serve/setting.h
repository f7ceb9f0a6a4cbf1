// SPDX-License-Identifier: Apache-2.0
#pragma once
// setting.h - what both sides of the benchmark have: a home with a played model, and the figures that they give.
//
// Threading: thread-compatible.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/place.h"
#include "core/base/clock.h"

namespace agentd::bench {

inline constexpr int kPieces = 20, kBetweenPiecesMs = 10;
inline constexpr double kAnswerMs = kPieces * kBetweenPiecesMs;  // of a paced answer
inline constexpr std::size_t kAtOnce = 64;                       // sessions that are opened at the same time

// How many sessions there are, how many of them are active for how long, and when these are looked at.
struct Load {
  std::size_t sessions = 0, active = 0;
  std::uint64_t active_ns = 8'000'000'000;
  Milliseconds look{3'000};
};

// A home and a project in a directory of their own, without hooks: the provider `scripted` answers each request with
// one text, again and again.
class Setting {
 public:
  // `paced`: whether the answers stream for kAnswerMs, or come at once; `park_minutes`: of the daemon.
  Setting(const std::string& parent, bool paced, int park_minutes = 60);
  std::string home() const { return place_.path() + "/home"; }
  std::string project() const { return place_.path() + "/project"; }

 private:
  const Place place_;
};

struct Figures {
  double kib_each = 0;     // of a session that is idle after one turn: the difference of PSS
  double opened_each = 0;  // sessions a second, each with its first turn
  double threads = 0, descriptors = 0;
  double turns = 0, p50_ms = 0, p99_ms = 0;  // of the active ones; beyond the answer's own time
  double cpu_us = 0;                         // of a turn, of the process that has the sessions
};

// PSS of a process with its descendants, in KiB.
double pss_kib(int pid);
double status_number(int pid, const std::string& name);
double descriptors(int pid);
double cpu_ms(int pid);

// Turns of the active sessions, one after the other in each; `turn` returns when the turn has ended.
void measure_active(Figures& into, int pid, Load load, const std::function<void(std::size_t)>& turn);

}  // namespace agentd::bench
