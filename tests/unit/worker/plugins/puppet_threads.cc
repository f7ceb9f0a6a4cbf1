// SPDX-License-Identifier: Apache-2.0
// puppet_threads.cc - threads of its own: scopes, answers that come later, tasks.
#include <agentd/ext/tasks.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/unit/worker/plugins/puppet.h"

namespace puppet {

std::string use_scope(const agentd_call* call) {
  const agentd_core* const core = call->core;
  const agentd_compactor* const compactor = call->services->compactor;
  std::string out;
  std::thread([&] {
    agentd_token token = 0;
    const agentd_live* live = nullptr;
    out = std::to_string(core->scope_open(core, 77, 12345, &token, &live));
    out += " " + std::to_string(live->deadline_ns);
    std::uint64_t number = 0;
    const std::string text(700'000, 'x');  // several pieces
    out += " " + std::to_string(compactor->count_text(compactor, token, abi("m"), abi(text), &number));
    out += " " + std::to_string(number);
    out += " " + std::to_string(say(core, token, "nobody listens"));
    out += core->arena(core, token, 16, 8) != nullptr ? " memory" : " none";
    core->scope_close(core, token);
    out += core->arena(core, token, 16, 8) != nullptr ? " memory" : " none";
    core->scope_close(core, token);
    out += " " + std::to_string(core->scope_open(core, 0, 0, nullptr, nullptr));
  }).join();
  return out;
}

// Inside of the call, with a token that is not its own.
std::string use_scope_inside(const agentd_call* call) {
  const agentd_core* const core = call->core;
  const agentd_compactor* const compactor = call->services->compactor;
  agentd_token token = 0;
  std::uint64_t number = 0;
  std::string out = std::to_string(core->scope_open(core, 77, 1, &token, nullptr));
  out += " " + std::to_string(compactor->count_text(compactor, token, abi(""), abi("ab"), &number));
  core->scope_close(core, token);
  return out;
}

// Answers later, from another thread; `early` before the function of the hook has returned.
agentd_status pend(Puppet& self, const agentd_call* call, bool early) {
  const agentd_core* const core = call->core;
  const agentd_token token = call->token;
  if (self.thread.joinable()) self.thread.join();
  self.thread = std::thread([core, token, early] {
    auto* const memory = static_cast<char*>(core->arena(core, token, 6, 1));
    std::memcpy(memory, "later", 6);
    say(core, token, memory);
    const agentd_status status = core->complete(core, token, AGENTD_OK);
    // The token ends when it is completed and its function has returned.
    while (!early && core->arena(core, token, 8, 8) != nullptr) ::usleep(1000);
    const std::string text = std::to_string(status) + " " + std::to_string(core->complete(core, token, AGENTD_OK));
    core->log(core, 0, AGENTD_LEVEL_INFO,
              abi(text + (core->arena(core, token, 8, 8) == nullptr ? " none" : " memory")));
  });
  if (early) self.thread.join();
  return AGENTD_PENDING;
}

// Services from more threads than there are lanes.
std::string crowd(const agentd_call* call) {
  const agentd_core* const core = call->core;
  const agentd_compactor* const compactor = call->services->compactor;
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        std::uint64_t number = 0;
        if (compactor->count_text(compactor, call->token, abi(""), abi("abc"), &number) == AGENTD_OK && number == 3)
          ++good;
      }
    });
  for (std::thread& each : threads) each.join();
  (void)core;
  return std::to_string(good.load());
}

namespace {

void AGENTD_CALL task(void* context, const agentd_live* live) AGENTD_NOEXCEPT {
  auto* const self = static_cast<Puppet*>(context);
  self->task_ran = true;
  while (__atomic_load_n(&live->cancel, __ATOMIC_ACQUIRE) == 0) ::usleep(1000);
  self->task_ended = true;
}

}  // namespace

std::string start_task(Puppet& self, const agentd_call* call) {
  const auto* const tasks = find<agentd_tasks>(call, AGENTD_TASKS_ID);
  if (tasks == nullptr) return "no tasks";
  std::uint64_t number = 0;
  const agentd_status status = tasks->start(tasks, abi("waits"), task, &self, &number);
  while (status == AGENTD_OK && !self.task_ran) ::usleep(1000);
  self.left_a_task = true;
  return std::to_string(status);
}

}  // namespace puppet
