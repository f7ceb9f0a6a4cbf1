// SPDX-License-Identifier: Apache-2.0
#include "core/base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace agentd {
namespace {

static_assert(kFutexWaitsMax == FUTEX_WAITV_MAX && sizeof(WaitWord) == sizeof(std::uint32_t));

timespec time_of(std::uint64_t ns) {
  timespec out{};
  out.tv_sec = static_cast<time_t>(ns / 1'000'000'000u);
  out.tv_nsec = static_cast<long>(ns % 1'000'000'000u);
  return out;
}

int operation(int of_the_kernel, FutexScope scope) {
  return scope == FutexScope::kProcess ? of_the_kernel | FUTEX_PRIVATE_FLAG : of_the_kernel;
}

}  // namespace

bool futex_wait(const WaitWord& word, std::uint32_t seen, std::uint64_t until_ns, FutexScope scope) {
  const timespec until = time_of(until_ns);
  if (::syscall(SYS_futex, &word, operation(FUTEX_WAIT_BITSET, scope), seen, until_ns == UINT64_MAX ? nullptr : &until,
                nullptr, FUTEX_BITSET_MATCH_ANY) == 0)
    return true;
  // The thread sanitizer puts a signal's handler off until a call that it knows.
  constexpr timespec kNone{};
  if (errno == EINTR) ::nanosleep(&kNone, nullptr);
  return errno != ETIMEDOUT;
}

void futex_wake(const WaitWord& word, int at_most, FutexScope scope) {
  ::syscall(SYS_futex, &word, operation(FUTEX_WAKE, scope), at_most, nullptr, nullptr, 0);
}

bool futex_wait_any(std::span<const FutexWait> words, std::uint64_t until_ns) {
  std::array<futex_waitv, kFutexWaitsMax> all{};
  std::transform(words.begin(), words.end(), all.begin(), [](const FutexWait& each) {
    return futex_waitv{each.seen, reinterpret_cast<std::uintptr_t>(each.word), FUTEX_32, 0};
  });
  const timespec until = time_of(until_ns);
  return ::syscall(SYS_futex_waitv, all.data(), words.size(), 0, &until, CLOCK_MONOTONIC) >= 0 ||
         (errno != ENOSYS && errno != EPERM);
}

}  // namespace agentd
