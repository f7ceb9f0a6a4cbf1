// SPDX-License-Identifier: Apache-2.0
#include "core/base/thread.h"

#include <utility>

#include "core/base/scheduler.h"

namespace agentd {

Thread::Thread(std::function<void()> body) : thread_(Scheduler::current().start(std::move(body))) {}

void Thread::join() { Scheduler::current().join(thread_); }

}  // namespace agentd
