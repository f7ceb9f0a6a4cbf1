// SPDX-License-Identifier: Apache-2.0
#pragma once
// births.h - creates one process at a time and knows which children this process started and which orphans it adopted.
//
// Threading: thread-safe.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/mutex.h"

namespace agentd {

// Makes orphans of this process's children its own children from now on, so that no descendant is ever lost. False
// where the system does not offer it or does not list children.
bool adopt_orphans();
// True when adopt_orphans() holds for this process.
bool adopts_orphans();

// A brand is a number in a kernel limit that a child and all its descendants carry. One half is shared by all brands of
// this process and its forks; the other half is a counter.
inline constexpr std::uint64_t kCommandBrand = std::uint64_t{1} << 60;
// Above the commands' brands, so that a worker may run agentd.
inline constexpr std::uint64_t kWorkerBrand = std::uint64_t{1} << 61;
// A new brand of that kind; 0 when the system provides no random number.
std::uint64_t make_brand(std::uint64_t kind);
bool is_own_brand(std::uint64_t number);
// Chooses the shared half, which the first brand does otherwise. REQUIRES: no child has a brand yet.
void choose_brands();

// The processes that a new process may start.
enum class Offspring {
  kNone,  // none; it ends with this process
  kAny,
  kBranded,  // any; it gets a brand that its descendants inherit; see family.h
};

// Sets the function that the first thread to create a process with offspring calls before it; null clears it.
void before_first_birth(std::function<void()> call);
// fork() of a process of many threads; the child recognises brands and counts as an own child. REQUIRES: called by
// before_first_birth()'s function.
pid_t fork_before_first_birth();

// While it exists this process creates no other process.
class Birth {
 public:
  // `offspring` of the process that is created during its life.
  explicit Birth(Offspring offspring);
  ~Birth();
  Birth(const Birth&) = delete;
  Birth& operator=(const Birth&) = delete;

  // 0 = none: none was requested, or the limit that carries it is set already.
  std::uint64_t brand() const { return brand_; }
  // Records the new process as an own child until forget_child().
  void made(pid_t child);

 private:
  const MutexLock lock_;
  std::uint64_t brand_ = 0;
  std::uint64_t before_ = 0;  // this process's own limit
};

bool is_own_child(pid_t pid);
// The child was reaped.
void forget_child(pid_t pid);
// In a forked process: forgets the parent's children.
void forget_all_children();

// All descendants of this process, in no order. Processes that start or end during the call may be missing.
std::vector<pid_t> descendants();
// True when a descendant of an own child may be alive after its parent. REQUIRES: adopts_orphans().
bool has_orphans();
// Reaps adopted children that have ended: nothing else waits for them.
void reap_orphans();

}  // namespace agentd
