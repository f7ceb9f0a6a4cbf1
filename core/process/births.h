// SPDX-License-Identifier: Apache-2.0
#pragma once
// births.h - one process is made at a time, and it is known which children are ours and which are
// orphans that this process adopted.
//
// Threading: thread-safe.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace agentd {

// From now on what a child of ours leaves behind becomes a child of this process, so that nothing
// that it starts, directly or not, is ever lost sight of. False where the system does not offer it,
// or does not list children.
bool adopt_orphans();
// True when adopt_orphans() holds for this process.
bool adopts_orphans();

// A brand is a number that a child and all that it starts carry in a limit of the kernel. Half of
// it is the same in all brands of this process and of its forks, the other half is counted.
inline constexpr std::uint64_t kCommandBrand = std::uint64_t{1} << 60;
// Above those of commands, so that a worker may run agentd.
inline constexpr std::uint64_t kWorkerBrand = std::uint64_t{1} << 61;
// `kind` with a number of its own; 0 when the system has no random number for us.
std::uint64_t make_brand(std::uint64_t kind);
bool is_own_brand(std::uint64_t number);
// Chooses the shared half, which otherwise the first brand does. REQUIRES: no child has a brand
// yet.
void choose_brands();

// What a process that is made may start itself.
enum class Offspring {
  kNone,  // nothing, and it ends with this process
  kAny,
  kBranded,  // it gets a number of its own that all that it starts inherits; see family.h
};

// `call` is called once, by the thread that makes the first process with offspring, before it is made;
// null: nothing is called any more.
void before_first_birth(std::function<void()> call);
// fork() of a process of many threads, whose child can tell brands. The child is known as ours.
// REQUIRES: called by before_first_birth()'s call.
pid_t fork_before_first_birth();

// While it lives no other process is made by this one.
class Birth {
 public:
  // Of what is made meanwhile.
  explicit Birth(Offspring offspring);
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
  std::uint64_t before_ = 0;  // this process's own
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
