// SPDX-License-Identifier: Apache-2.0
// puppet.cc - a plugin that does what the user's message says, and answers with a SYSTEM_MESSAGE.
#include "tests/unit/worker/plugins/puppet.h"

#include <functional>
#include <map>
#include <string>
#include <thread>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

AGENTD_MANIFEST("{\"id\":\"org.agentd.test.puppet\",\"version\":\"1.2.3\",\"abi\":\"1.0\"}");

namespace puppet {
namespace {

std::string core_facts(const agentd_call* call) {
  const agentd_core* const core = call->core;
  core->log(core, call->token, 99, abi("a line"));
  core->log(core, 0, AGENTD_LEVEL_INFO, {nullptr, 7});
  core->fail(core, call->token, AGENTD_E_IO, abi("a reason"));
  const std::uint64_t before = core->now_ns(core);
  std::string out = std::to_string(core->event_id(core, abi("agent_stop"))) + " " +
                    std::to_string(core->event_id(core, abi("nothing"))) + " ";
  out += core->query(core, abi("agentd.json/1"), 4096) == nullptr ? "null " : "table ";
  out += core->query(core, abi("org.example/1"), 0) == nullptr ? "null " : "table ";
  out += before != 0 && core->now_ns(core) >= before ? "time " : "no time ";
  out += std::to_string(core->host_minor) + " " + std::to_string(core->size);
  return out;
}

#if defined(__SSE__)
std::string arithmetic() {
  const unsigned now = _mm_getcsr();
  _mm_setcsr(now | 0x8040);
  return (now & 0x8040) == 0 ? "ordinary" : "fast";
}
#else
std::string arithmetic() { return "ordinary"; }
#endif

agentd_status run(Puppet& self, const agentd_call* call) {
  const auto* const message = static_cast<const agentd_user_message*>(call->payload);
  const std::string text = str(message->text);
  const std::size_t space = text.find(' ');
  const std::string command = text.substr(0, space);
  const std::string argument = space == std::string::npos ? "" : text.substr(space + 1);
  const std::map<std::string, std::function<std::string()>> commands{
      {"emit_all", [&] { return emit_all(call); }},
      {"wrong_emits", [&] { return wrong_emits(call); }},
      {"services", [&] { return all_services(call); }},
      {"wrong_services", [&] { return wrong_services(call); }},
      {"tools", [&] { return add_tools(call); }},
      {"arena", [&] { return try_arena(call); }},
      {"scope", [&] { return use_scope(call); }},
      {"scope_inside", [&] { return use_scope_inside(call); }},
      {"crowd", [&] { return crowd(call); }},
      {"task", [&] { return start_task(self, call); }},
      {"core", [&] { return core_facts(call); }},
      {"arithmetic", [&] { return arithmetic(); }},
      {"config", [&] { return self.config; }},
      {"echo", [&] { return argument; }},
      {"conversation", [&] { return std::to_string(call->conversation); }},
      {"tables",
       [&] {
         const agentd_services& have = *call->services;
         return std::string(have.compactor ? "c" : "-") + (have.threads ? "t" : "-") + (have.store ? "s" : "-");
       }},
      {"old_token",
       [&] {
         const std::string out = std::to_string(say(call->core, self.old_token, "too late"));
         return out + " " + std::to_string(call->core->complete(call->core, self.old_token, AGENTD_OK));
       }},
      {"allocate",
       [&] {
         void* const memory = call->core->arena(call->core, call->token, std::stoul(argument) << 20, 8);
         return std::string(memory == nullptr ? "NULL" : "memory");
       }},
      {"write_payload",
       [&] {
         const_cast<char*>(message->text.ptr)[0] = 'X';
         return std::string("written");
       }},
  };
  if (command == "pend" || command == "pend_early") return pend(self, call, command == "pend_early");
  if (command == "status") return std::stoi(argument);
  if (command == "end") end_process(argument);
  const auto found = commands.find(command);
  const std::string answer = found == commands.end() ? do_system_call(command, argument) : found->second();
  self.old_token = call->token;
  return answer.empty() ? AGENTD_OK : say(call->core, call->token, answer);
}

// The types promise that nothing is thrown; this one lies when it is told to.
agentd_status AGENTD_CALL hook(void* self, const agentd_call* call) { return run(*static_cast<Puppet*>(self), call); }

agentd_status AGENTD_CALL second_hook(void*, const agentd_call* call) AGENTD_NOEXCEPT {
  return say(call->core, call->token, "second");
}

agentd_status AGENTD_CALL create(const agentd_call* call, void** self) AGENTD_NOEXCEPT {
  const auto* const info = static_cast<const agentd_create_info*>(call->payload);
  auto* const puppet = new Puppet;
  puppet->config = str(info->config_json);
  *self = puppet;
  return puppet->config == "refuse" ? AGENTD_E_ARG : AGENTD_OK;
}

agentd_status AGENTD_CALL destroy(void* self, const agentd_call* call) AGENTD_NOEXCEPT {
  auto* const puppet = static_cast<Puppet*>(self);
  if (puppet->thread.joinable()) puppet->thread.join();
  const std::string text = !puppet->left_a_task ? "destroyed" : puppet->task_ended ? "after the task" : "too early";
  call->core->log(call->core, call->token, AGENTD_LEVEL_INFO, abi(text));
  delete puppet;
  return AGENTD_OK;
}

agentd_status AGENTD_CALL save_state(void* self, const agentd_call* call) AGENTD_NOEXCEPT {
  const std::string state = "state of " + static_cast<Puppet*>(self)->config;
  const agentd_act_text act{{sizeof act, AGENTD_ACT_STATE, 0}, 0, 0, abi(state)};
  return call->core->emit(call->core, call->token, &act.h);
}

using Lies = agentd_status(AGENTD_CALL*)(void*, const agentd_call*);
const agentd_fn throwing_hook = reinterpret_cast<agentd_fn>(static_cast<Lies>(hook));

const agentd_hook hooks[] = {
    {AGENTD_EVENT_USER_MESSAGE_SEND, AGENTD_HOOK_GATES, 5, throwing_hook, 0},
    {AGENTD_EVENT_USER_MESSAGE_SEND, 0, -3, second_hook, AGENTD_WANTS_MESSAGES},
};

const agentd_plugin plugin = {sizeof(agentd_plugin),
                              AGENTD_CONCURRENT,
                              {"org.agentd.test.puppet", 22},
                              {"1.2.3", 5},
                              create,
                              destroy,
                              save_state,
                              nullptr,
                              {hooks, 2, sizeof hooks[0]}};

}  // namespace
}  // namespace puppet

extern "C" agentd_status AGENTD_CALL agentd_hook_entry_v1(agentd_negotiate* io) AGENTD_NOEXCEPT {
  io->magic = AGENTD_MAGIC;
  io->abi = AGENTD_ABI;
  io->plugin = &puppet::plugin;
  if ((io->flags & AGENTD_NEGOTIATE_WORKER) == 0) {
    io->error = {"this hook runs in workers only", 30};
    return AGENTD_E_UNSUPPORTED;
  }
  return AGENTD_OK;
}
