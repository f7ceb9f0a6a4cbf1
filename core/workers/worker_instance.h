// SPDX-License-Identifier: Apache-2.0
#pragma once
// worker_instance.h - one instance of a worker plugin: the process in which it runs now, and its
// tools there. Private to worker_plugin.cc and worker_start.cc.
//
// Threading: thread-safe by its mutexes.

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "core/workers/worker_plugin.h"

namespace agentd {

// By the user or the end of the program, not by the deadline.
inline bool is_cancelled(const agentd_live& live) {
  const std::uint32_t reason = cancel_of(live);
  return reason != 0 && reason != AGENTD_CANCEL_DEADLINE;
}

// A new process on its way: made on a thread of its own, so that a call that gives up does not end
// it.
struct WorkerPlugin::Start {
  std::mutex mutex;  // of all below; taken when no instance's is held
  std::condition_variable changed;
  std::uint64_t begins_ns = 0;  // not before this
  bool done = false;
  ProcessPtr process;
  std::optional<Error> error;  // why there is none
};

class WorkerPlugin::Instance final : public WorkerToolBook {
 public:
  Instance(WorkerPlugin& plugin, bool primary) : plugin_(plugin), primary_(primary) {}

  agentd_status add(agentd_token token, agentd_tool tool) override { return plugin_.add_tool(*this, token, tool); }
  agentd_status remove(agentd_token token, std::string_view name) override {
    return plugin_.remove_tool(*this, token, name);
  }

  // The one whose tools are the plugin's.
  bool primary() const { return primary_; }

  std::mutex mutex;
  std::shared_ptr<Start> start;                // of the job and of who waits; null = none; guarded by mutex
  ProcessPtr process;                          // guarded by mutex; null = never made, or ended
  bool counted = false;                        // its end is in the book; guarded by mutex
  std::uint64_t last_use = 0;                  // guarded by the plugin's mutex
  std::map<std::string, std::uint64_t> tools;  // the worker's numbers; guarded by the plugin's tools_mutex_
  // Of a process that has ended, until its successor has said which of them it still has; as above.
  std::set<std::string> old_tools;

 private:
  WorkerPlugin& plugin_;
  const bool primary_;
};

}  // namespace agentd
