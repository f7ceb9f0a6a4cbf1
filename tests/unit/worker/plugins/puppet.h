// SPDX-License-Identifier: Apache-2.0
#pragma once
// puppet.h - what the files of the test module `puppet` have in common. It does what the user's
// message says, and answers with a SYSTEM_MESSAGE.
//
// Threading: as the functions of a hook.

#include <agentd/hook_abi.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <thread>

namespace puppet {

struct Puppet {
  std::string config;
  agentd_token old_token = 0;
  std::thread thread;
  std::atomic<bool> task_ran{false}, task_ended{false};
  bool left_a_task = false;
};

inline agentd_str abi(std::string_view text) { return {text.data(), text.size()}; }
inline std::string str(const agentd_str& text) {
  return text.ptr == nullptr ? std::string("NULL") : std::string(text.ptr, text.len);
}

inline agentd_status say(const agentd_core* core, agentd_token token, const std::string& text) {
  const agentd_act_text act{{sizeof act, AGENTD_ACT_SYSTEM_MESSAGE, 0}, 0, 0, abi(text)};
  return core->emit(core, token, &act.h);
}

template <typename T>
const T* find(const agentd_call* call, const char* id) {
  return static_cast<const T*>(call->core->query(call->core, abi(id), sizeof(T)));
}

// puppet_sandbox.cc: what a sandbox is about. The name of an error, "ok" or what was found.
std::string do_system_call(const std::string& what, const std::string& argument);
void end_process(const std::string& how);

// puppet_memory.cc: ways to take memory, in MiB.
std::string take_shared(std::size_t mib);
std::string take_sealed(std::size_t mib);
std::string allocate_in_threads(int count);
std::string take_queue();
std::string take_segment();
std::string take_semaphores();

// puppet_services.cc: what the host offers.
std::string try_arena(const agentd_call* call);
std::string emit_all(const agentd_call* call);
std::string wrong_emits(const agentd_call* call);
std::string all_services(const agentd_call* call);
std::string wrong_services(const agentd_call* call);
std::string add_tools(const agentd_call* call);

// puppet_threads.cc: threads of its own.
std::string use_scope(const agentd_call* call);
std::string use_scope_inside(const agentd_call* call);
// Answers later, from another thread; `early` before the function of the hook has returned.
agentd_status pend(Puppet& self, const agentd_call* call, bool early);
std::string crowd(const agentd_call* call);
std::string start_task(Puppet& self, const agentd_call* call);

}  // namespace puppet
