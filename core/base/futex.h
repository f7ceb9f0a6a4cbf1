// SPDX-License-Identifier: Apache-2.0
#pragma once
// futex.h - the kernel's way to stand before a word of memory until it changes.
//
// Below all waiting in one process it serves the Scheduler of the machine. Beside that it is the doorbell between
// agentd and its workers, whose words lie in memory that both have mapped: no scheduler plays another process.
//
// Threading: thread-safe.

#include <atomic>
#include <cstdint>
#include <span>

namespace agentd {

using WaitWord = std::atomic<std::uint32_t>;

// Who looks at the word: threads of this process, or of others as well.
enum class FutexScope { kProcess, kMachine };

// Returns when the word is no longer `seen`, was woken, or for no reason; false when the machine's monotonic time has
// come to `until_ns`. UINT64_MAX = there is no such time.
bool futex_wait(const WaitWord& word, std::uint32_t seen, std::uint64_t until_ns, FutexScope scope);
// Reads nothing: the word may be gone.
void futex_wake(const WaitWord& word, int at_most, FutexScope scope);

struct FutexWait {
  const WaitWord* word = nullptr;
  std::uint32_t seen = 0;
};
constexpr std::size_t kFutexWaitsMax = 128;
// Before several words of the machine, of which one has to change. False where the kernel cannot (before Linux 5.16):
// nothing was waited for. REQUIRES: at most kFutexWaitsMax of them.
bool futex_wait_any(std::span<const FutexWait> words, std::uint64_t until_ns);

}  // namespace agentd
