// SPDX-License-Identifier: Apache-2.0
#pragma once
// hooks.h - the hooks that the benches call. They live in a translation unit of their own that is
// never optimised together with the caller, as a plugin's code would be.
//
// Threading: `read_history` keeps its random numbers in `self`; the others have no state.

#include <agentd/hook_abi.h>

#include <cstdint>

namespace agentd::bench {

// Does nothing and gives no answer.
agentd_status AGENTD_CALL do_nothing(void* self, const agentd_call* call) noexcept;

// Where read_history takes its next index from, and where it leaves what it read.
struct Reader {
  std::uint64_t random = 88172645463325252ull;
  std::uint64_t sum = 0;
};
inline constexpr int kRandomReads = 100;

// agent_stop: reads the first, the last and kRandomReads random messages down to their text.
agentd_status AGENTD_CALL read_history(void* reader, const agentd_call* call) noexcept;

// agent_stop: looks at how many messages there are.
agentd_status AGENTD_CALL count_history(void* reader, const agentd_call* call) noexcept;

// agent_stop: as read_history, then asks for a compaction with a text of 64 bytes.
agentd_status AGENTD_CALL read_and_emit(void* reader, const agentd_call* call) noexcept;

// agent_stop: asks for a compaction with a text of 64 bytes.
agentd_status AGENTD_CALL emit_only(void* self, const agentd_call* call) noexcept;

}  // namespace agentd::bench
