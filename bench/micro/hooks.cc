// SPDX-License-Identifier: Apache-2.0
#include "bench/micro/hooks.h"

namespace agentd::bench {
namespace {

// Marsaglia's xorshift64.
std::uint64_t next(Reader& reader) {
  reader.random ^= reader.random << 13;
  reader.random ^= reader.random >> 7;
  reader.random ^= reader.random << 17;
  return reader.random;
}

std::uint64_t read_message(const agentd_list& list, std::uint64_t index) {
  const char* const at = static_cast<const char*>(list.first) + index * list.stride;
  const auto* const message = reinterpret_cast<const agentd_message*>(at);
  const auto* const block = static_cast<const agentd_block*>(message->blocks.first);
  return message->seq + static_cast<unsigned char>(block->text.ptr[0]) + block->text.len;
}

agentd_str words(const char* text) {
  std::size_t length = 0;
  while (text[length] != '\0') ++length;
  return {text, length};
}

}  // namespace

agentd_status AGENTD_CALL do_nothing(void*, const agentd_call*) noexcept { return AGENTD_OK; }

agentd_status AGENTD_CALL count_history(void* self, const agentd_call* call) noexcept {
  static_cast<Reader*>(self)->sum += static_cast<const agentd_agent_stop*>(call->payload)->messages.count;
  return AGENTD_OK;
}

agentd_status AGENTD_CALL read_history(void* self, const agentd_call* call) noexcept {
  auto& reader = *static_cast<Reader*>(self);
  const agentd_list& list = static_cast<const agentd_agent_stop*>(call->payload)->messages;
  std::uint64_t sum = read_message(list, 0) + read_message(list, list.count - 1);
  for (int i = 0; i < kRandomReads; ++i) sum += read_message(list, next(reader) % list.count);
  reader.sum += sum;
  return AGENTD_OK;
}

agentd_status AGENTD_CALL emit_only(void*, const agentd_call* call) noexcept {
  agentd_act_compact action{};
  action.h.size = sizeof action;
  action.h.kind = AGENTD_ACT_COMPACT;
  action.instructions = words("keep the names of the files and what is left to be done in each.");
  return call->core->emit(call->core, call->token, &action.h);
}

agentd_status AGENTD_CALL read_and_emit(void* self, const agentd_call* call) noexcept {
  read_history(self, call);
  return emit_only(nullptr, call);
}

}  // namespace agentd::bench
