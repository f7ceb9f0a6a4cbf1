// SPDX-License-Identifier: Apache-2.0
#pragma once
// fault.h - the last line of defence: a damaged page that LMDB runs into ends the program with a
// sentence and the exit code of a damaged store, and not with a signal.
//
// Threading: thread-safe.

#include <string>
#include <utility>

namespace agentd {

// What the program ends with, as exit_codes.h says.
inline constexpr int kDamagedStoreExit = 6;

// While one lives, its thread reads or writes the store in `directory`, which outlives it.
class FaultScope {
 public:
  explicit FaultScope(const std::string& directory);
  FaultScope(FaultScope&& other) noexcept : before_(other.before_), live_(std::exchange(other.live_, false)) {}
  FaultScope& operator=(FaultScope&&) = delete;
  ~FaultScope();

 private:
  const char* before_;
  bool live_ = true;
};

// From now on SIGSEGV and SIGBUS inside of such a scope are reported as a damaged store: a page
// that is not there, a number that leads out of the map, a sector that cannot be read. Elsewhere
// they do what they did before. SIGBUS in the lock file is a full disk, and reported as one.
void catch_store_faults();

// One sentence on standard error, and the end of the program. `what` such as "LMDB met a page that
// cannot be".
[[noreturn]] void end_by_damage(const char* directory, const char* what) noexcept;

// What to do about a damaged store; ends a sentence.
inline constexpr char kDamageAdvice[] =
    "run 'agentd store check' to see what is damaged, and 'agentd store salvage DIR' to save the "
    "rest";

}  // namespace agentd
