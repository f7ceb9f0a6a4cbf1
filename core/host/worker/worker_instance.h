// SPDX-License-Identifier: Apache-2.0
#pragma once
// worker_instance.h - one instance of a worker plugin: the process in which it runs now, and its
// tools there. Private to worker_plugin.cc.
//
// Threading: thread-safe by its mutexes.

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "core/base/timed_mutex.h"
#include "core/host/worker/worker_plugin.h"

namespace agentd {

class WorkerPlugin::Instance final : public WorkerToolBook {
 public:
  Instance(WorkerPlugin& plugin, bool primary) : plugin_(plugin), primary_(primary) {}

  agentd_status add(agentd_token token, agentd_tool tool) override {
    return plugin_.add_tool(*this, token, tool);
  }
  agentd_status remove(agentd_token token, std::string_view name) override {
    return plugin_.remove_tool(*this, token, name);
  }

  // The one whose tools are the plugin's.
  bool primary() const { return primary_; }

  TimedMutex starting;  // by who makes a new process
  std::mutex mutex;
  ProcessPtr process;          // guarded by mutex; null = never made, or ended
  bool counted = false;        // its end is in the book; guarded by mutex
  std::uint64_t last_use = 0;  // guarded by the plugin's mutex
  std::map<std::string, std::uint64_t>
      tools;  // the worker's numbers; guarded by the plugin's tools_mutex_
  // Of a process that has ended, until its successor has said which of them it still has; as above.
  std::set<std::string> old_tools;

 private:
  WorkerPlugin& plugin_;
  const bool primary_;
};

}  // namespace agentd
