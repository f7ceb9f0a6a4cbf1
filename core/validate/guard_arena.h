// SPDX-License-Identifier: Apache-2.0
#pragma once
// guard_arena.h - memory in which every piece ends at an inaccessible page, and which can be made inaccessible.
//
// Threading: thread-compatible.

#include <cstddef>

namespace agentd::validation {

class GuardArena {
 public:
  static constexpr std::size_t kBytes = std::size_t{1} << 30;  // address space; memory is allocated on use

  GuardArena();
  ~GuardArena();
  GuardArena(const GuardArena&) = delete;
  GuardArena& operator=(const GuardArena&) = delete;

  // Zeroed, aligned to `align`, ending as close to the next page as the alignment allows. Null if the arena is full.
  void* allocate(std::size_t bytes, std::size_t align);
  // Makes it read-only.
  void freeze();
  // Makes it inaccessible: a use of a kept pointer crashes.
  void vanish();

 private:
  void protect(int how);
  char* base_ = nullptr;
  std::size_t used_ = 0;
};

}  // namespace agentd::validation
