// SPDX-License-Identifier: Apache-2.0
#pragma once
// hook_threads.h - the conversations that plugins hold with a model on their own: nothing of them is stored, and
// their cost is charged to the conversation that they were opened for. Private to this room.
//
// Threading: thread-safe; the requests of one thread are made one after another.

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/agent/hook_budget.h"
#include "core/agent/resources.h"
#include "core/agent/services/registry.h"
#include "core/base/mutex.h"
#include "core/base/thread.h"

namespace agentd {

class HookThreads {
 public:
  // All outlive it.
  HookThreads(const RuntimeResources& runtime, const SessionRegistry& sessions, HookBudget& budget)
      : runtime_(runtime), sessions_(sessions), budget_(budget) {}

  // kUnavailable: the plugin has as many open as it may have.
  Result<agentd_thread> open(const ServiceCaller& caller, ThreadOptions options);
  // kNotFound: it is not open, or another plugin's. kDenied: a budget does not cover it; an answer is
  // no longer than the budgets allow. kCancelled, kUnavailable.
  Result<ThreadReply> send(const ServiceCaller& caller, agentd_thread handle, std::string_view text);
  Result<Usage> usage(const ServiceCaller& caller, agentd_thread handle) const;
  Result<void> close(std::string_view plugin_id, agentd_thread handle);

 private:
  struct Thread {
    explicit Thread(Rows begun) : history(std::move(begun)) {}

    std::string plugin_id;
    ThreadOptions options;
    Rows history GUARDED_BY(talking);
    Mutex talking;  // one request after another

    Usage spent() const {
      const MutexLock lock(mutex);
      return usage;
    }
    void spend(const Usage& more) {
      const MutexLock lock(mutex);
      usage += more;
    }
    Usage usage GUARDED_BY(mutex);
    mutable Mutex mutex;
  };
  Result<std::shared_ptr<Thread>> find(std::string_view plugin_id, agentd_thread handle) const;

  const RuntimeResources& runtime_;
  const SessionRegistry& sessions_;
  HookBudget& budget_;
  mutable Mutex mutex_;
  // Shared with a send() that runs while the thread is closed.
  std::map<agentd_thread, std::shared_ptr<Thread>> threads_ GUARDED_BY(mutex_);
  std::uint64_t last_handle_ GUARDED_BY(mutex_) = 0;
};

}  // namespace agentd
