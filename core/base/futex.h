// SPDX-License-Identifier: Apache-2.0
#pragma once
// futex.h - waits until a word of memory changes, through the kernel.
//
// The machine's Scheduler waits with it. agentd and its workers also wake each other with it, on words in shared
// memory; a scheduler only covers one process.
//
// Threading: thread-safe.

#include <atomic>
#include <cstdint>
#include <span>

namespace agentd {

using WaitWord = std::atomic<std::uint32_t>;

// The processes that use the word: this one, or others too.
enum class FutexScope { kProcess, kMachine };

// Returns when the word is no longer `seen` or was woken; may return early. False if the machine's monotonic time has
// reached `until_ns` (UINT64_MAX = no limit).
bool futex_wait(const WaitWord& word, std::uint32_t seen, std::uint64_t until_ns, FutexScope scope);
// Does not read the word, which may no longer exist.
void futex_wake(const WaitWord& word, int at_most, FutexScope scope);

struct FutexWait {
  const WaitWord* word = nullptr;
  std::uint32_t seen = 0;
};
constexpr std::size_t kFutexWaitsMax = 128;
// Waits until one of several kMachine words changes. False, without waiting, if the kernel does not support it (before
// Linux 5.16). REQUIRES: at most kFutexWaitsMax words.
bool futex_wait_any(std::span<const FutexWait> words, std::uint64_t until_ns);

}  // namespace agentd
