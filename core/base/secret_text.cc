// SPDX-License-Identifier: Apache-2.0
#include "core/base/secret_text.h"

#include <string.h>
#include <sys/mman.h>

namespace agentd {

SecretText::SecretText(std::size_t bytes) {
  if (bytes == 0) return;
  void* const got = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got == MAP_FAILED) return;
  (void)::madvise(got, bytes, MADV_WIPEONFORK);
  (void)::madvise(got, bytes, MADV_DONTDUMP);
  data_ = static_cast<char*>(got);
  room_ = bytes;
}

SecretText::~SecretText() {
  if (data_ == nullptr) return;
  ::explicit_bzero(data_, room_);
  ::munmap(data_, room_);
}

}  // namespace agentd
