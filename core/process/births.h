// SPDX-License-Identifier: Apache-2.0
#pragma once
// births.h - one process is made at a time, and it is known which children are ours and which are
// orphans that this process adopted.
//
// Threading: thread-safe.

#include <sys/types.h>

#include <cstdint>
#include <mutex>
#include <vector>

namespace agentd {

// From now on what a child of ours leaves behind becomes a child of this process, so that nothing
// that it starts, directly or not, is ever lost sight of. False where the system does not offer it,
// or does not list children.
bool adopt_orphans();
// True when adopt_orphans() holds for this process.
bool adopts_orphans();

// While it lives no other process is made by this one.
class Birth {
 public:
  // `branded`: what is made meanwhile gets a number of its own that all that it starts inherits; see
  // family.h.
  explicit Birth(bool branded);
  ~Birth();
  Birth(const Birth&) = delete;
  Birth& operator=(const Birth&) = delete;

  // 0 = none: it was not asked for, or the limit that carries it is bound already.
  std::uint64_t brand() const { return brand_; }
  // The process was made: it is ours until forget_child().
  void made(pid_t child);

 private:
  const std::unique_lock<std::mutex> lock_;
  std::uint64_t brand_ = 0;
};

bool is_own_child(pid_t pid);
// It has been waited for.
void forget_child(pid_t pid);
// In a process that was forked: none of the parent's is ours.
void forget_all_children();

// All that descend from this process, in no order. Who is born or dies meanwhile may be missing.
std::vector<pid_t> descendants();
// True when there may be somebody alive that a child of ours left behind. REQUIRES:
// adopts_orphans().
bool has_orphans();
// Waits for those adopted ones that have ended: nobody else does.
void reap_orphans();

}  // namespace agentd
