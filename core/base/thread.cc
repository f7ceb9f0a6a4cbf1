// SPDX-License-Identifier: Apache-2.0
#include "core/base/thread.h"

#include <atomic>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/scheduler.h"

namespace agentd {

Thread::Thread(std::function<void()> body) : thread_(Scheduler::current().start(std::move(body))) {}

void Thread::join() { Scheduler::current().join(thread_); }

void call_together(std::size_t count, std::size_t more, const std::function<void(std::size_t)>& work,
                   const std::function<void()>& first) {
  std::atomic<std::size_t> next{0};
  const auto share = [&] {
    for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) work(i);
  };
  std::vector<Thread> threads;
  try {
    while (threads.size() < more) threads.emplace_back(share);
  } catch (const std::system_error&) {
    // The existing ones and this one do the work.
  }
  if (first) first();
  share();
}

}  // namespace agentd
