// SPDX-License-Identifier: Apache-2.0
#include "core/serve/idle_memory.h"

#include <malloc.h>

namespace agentd::serve {

void IdleMemory::look(std::uint64_t done, bool works) {
  if (done == done_ || !(works ? latest_ : next_).passed(clock_)) return;
  done_ = done;
  next_ = Deadline::after(clock_, kBetween);
  latest_ = Deadline::after(clock_, kBetweenUnderLoad);
  give_back_();
}

// Every free page, also between those in use: by itself the C library returns only what is free at a heap's end.
void IdleMemory::give_back_all() { ::malloc_trim(0); }

}  // namespace agentd::serve
