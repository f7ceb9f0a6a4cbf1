// SPDX-License-Identifier: Apache-2.0
#pragma once
// memory_file.h - memory that two processes share: made, backed, sealed, mapped.
//
// Threading: pure functions.

#include <cstddef>
#include <cstdint>

#include "core/base/file.h"
#include "core/base/result.h"

namespace agentd {

// A sparse memory file; kUnavailable.
Result<UniqueFd> make_memory_file(const char* name, std::uint64_t bytes);
// Backs a part of it with memory, so that a write to it cannot fail; kUnavailable: the machine is
// full.
Result<void> back_memory(int fd, std::uint64_t offset, std::uint64_t bytes);
Result<void> seal_memory(int fd, int seals);
// All of the file, for reading and writing, at any address.
Result<void*> map_answers(int fd, std::size_t bytes);

}  // namespace agentd
