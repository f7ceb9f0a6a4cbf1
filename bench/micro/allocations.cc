// SPDX-License-Identifier: Apache-2.0
// In a file of its own, so that the compiler sees only the standard operators elsewhere.
#include "bench/micro/allocations.h"

#include <cstdlib>
#include <new>

namespace {
thread_local std::uint64_t count = 0;
}

void* operator new(std::size_t size) {
  ++count;
  if (void* const memory = std::malloc(size == 0 ? 1 : size); memory != nullptr) return memory;
  std::abort();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace agentd::bench {

std::uint64_t allocations() { return count; }

}  // namespace agentd::bench
