// SPDX-License-Identifier: Apache-2.0
#pragma once
// memory_file.h - memory shared by two processes: making, backing, sealing and mapping it.
//
// Threading: pure functions.

#include <cstddef>
#include <cstdint>

#include "core/base/file.h"
#include "core/base/result.h"

namespace agentd {

// A sparse memory file; kUnavailable.
Result<UniqueFd> make_memory_file(const char* name, std::uint64_t bytes);
// A second descriptor of the file that can neither write nor resize it; from then on the file cannot be opened for
// writing without a privilege. kUnavailable.
Result<UniqueFd> reopen_for_reading(int fd);
// Backs a part with memory, so that a write to it cannot fail, and extends the file if the part is beyond its end;
// kUnavailable: the machine is full.
Result<void> back_memory(int fd, std::uint64_t offset, std::uint64_t bytes);
// Truncates the file: memory after `bytes` is returned to the machine. kUnavailable.
Result<void> cut_memory(int fd, std::uint64_t bytes);
Result<void> seal_memory(int fd, int seals);
// Maps the complete file for reading and writing, at any address.
Result<void*> map_answers(int fd, std::size_t bytes);

}  // namespace agentd
