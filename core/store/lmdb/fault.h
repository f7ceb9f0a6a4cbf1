// SPDX-License-Identifier: Apache-2.0
#pragma once
// fault.h - the last line of defence: when LMDB hits a damaged page, the program ends with a sentence and the exit code
// of a damaged store, not with a signal.
//
// Threading: thread-safe.

#include <string>
#include <utility>

namespace agentd {

// The program's exit code, as in exit_codes.h.
inline constexpr int kDamagedStoreExit = 6;

// While one exists, its thread reads or writes the store in `directory`, which outlives it.
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

// From now on SIGSEGV and SIGBUS inside such a scope are reported as a damaged store: a missing page, a number that
// leads out of the map, an unreadable sector. Elsewhere they act as before. SIGBUS in the lock file is reported as a
// full disk.
void catch_store_faults();

// Writes one sentence to standard error and ends the program. `what` such as "LMDB met an impossible page".
[[noreturn]] void end_by_damage(const char* directory, const char* what) noexcept;

// The advice for a damaged store; ends a sentence.
inline constexpr char kDamageAdvice[] =
    "run 'agentd store check' to see what is damaged, and 'agentd store salvage DIR' to save the "
    "rest";

}  // namespace agentd
