// SPDX-License-Identifier: Apache-2.0
#pragma once
// guard_arena.h - memory in which every piece ends where nothing can be read, and that can be taken away.
//
// Threading: thread-compatible.

#include <cstddef>
#include <cstdint>

namespace agentd::validation {

class GuardArena {
 public:
  static constexpr std::size_t kBytes = std::size_t{1} << 30;  // of addresses; memory comes with use

  GuardArena();
  ~GuardArena();
  GuardArena(const GuardArena&) = delete;
  GuardArena& operator=(const GuardArena&) = delete;

  // Zeroed, aligned to `align`, ending as near to the next page as that allows. Null when the arena is full.
  void* allocate(std::size_t bytes, std::size_t align);
  // Nobody can write to it any more.
  void freeze();
  // Nobody can read it any more: who kept a pointer is found out.
  void vanish();

 private:
  void protect(int how);
  char* base_ = nullptr;
  std::size_t used_ = 0;
};

}  // namespace agentd::validation
