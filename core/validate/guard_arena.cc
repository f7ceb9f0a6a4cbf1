// SPDX-License-Identifier: Apache-2.0
#include "core/validate/guard_arena.h"

#include <sys/mman.h>
#include <unistd.h>

namespace agentd::validation {
namespace {

std::size_t page() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

GuardArena::GuardArena() {
  void* const got = ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got != MAP_FAILED) base_ = static_cast<char*>(got);
}

GuardArena::~GuardArena() {
  if (base_ != nullptr) ::munmap(base_, kBytes);
}

void* GuardArena::allocate(std::size_t bytes, std::size_t align) {
  const std::size_t whole = (bytes + page() - 1) / page() * page();
  if (base_ == nullptr || used_ + whole + page() > kBytes) return nullptr;
  char* const start = base_ + used_;
  if (::mprotect(start, whole, PROT_READ | PROT_WRITE) != 0) return nullptr;
  used_ += whole + page();  // the page in between stays inaccessible
  return start + (whole - bytes) / align * align;
}

// Page by page, only accessible ones: the inaccessible ones in between must stay so.
void GuardArena::protect(int how) {
  for (std::size_t at = 0; at < used_; at += page()) {
    unsigned char here = 0;
    if (::mincore(base_ + at, page(), &here) != 0 || here == 0) continue;
    (void)!::mprotect(base_ + at, page(), how);
  }
}

void GuardArena::freeze() { protect(PROT_READ); }

void GuardArena::vanish() {
  if (base_ != nullptr && used_ != 0) (void)!::mprotect(base_, used_, PROT_NONE);
}

}  // namespace agentd::validation
