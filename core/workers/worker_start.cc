// SPDX-License-Identifier: Apache-2.0
// worker_start.cc - starts an instance's process on a thread of its own, with limits of its own, while calls wait for
// it as long as they may.
#include <algorithm>
#include <utility>

#include "core/workers/worker_plugin.h"

namespace agentd {
namespace {

constexpr Milliseconds kStartSlice{20};  // how often a cancel word is checked

// An error without text: the dispatcher words deadlines and cancels.
Error out_of_time(const agentd_live& live) {
  return is_cancelled(live) ? Error{Code::kCancelled, ""} : Error{Code::kUnavailable, ""};
}

// A failed start counts against the plugin unless the host is the reason.
EndKind kind_of(const Error& error) {
  const bool of_host = error.code == Code::kUnavailable || error.code == Code::kConflict;
  return of_host ? EndKind::kCutShort : EndKind::kCrash;
}

bool is_same(const Booted& a, const Booted& b) {
  const auto same_row = [](const RowInfo& one, const RowInfo& other) {
    return one.event == other.event && one.flags == other.flags && one.priority == other.priority &&
           one.wants == other.wants;
  };
  return a.id == b.id && a.functions == b.functions && a.concurrency == b.concurrency &&
         std::equal(a.rows.begin(), a.rows.end(), b.rows.begin(), b.rows.end(), same_row);
}

}  // namespace

Result<WorkerPlugin::ProcessPtr> WorkerPlugin::process_of(const InstancePtr& instance, const agentd_live& live) {
  std::shared_ptr<Start> start;
  {
    const MutexLock lock(instance->mutex);
    if (instance->process && instance->process->usable()) return instance->process;
    start = instance->start;
    if (!start) {
      AGENTD_TRY(start, begin_start(instance));
    }
  }
  const MutexLock lock(start->mutex);
  while (!start->done) {
    const Deadline deadline{deadline_of(live)};
    if (cancel_of(live) != 0 || deadline.passed(clock_)) return out_of_time(live);
    if (start->begins_ns > deadline.at_ns) return Error{Code::kUnavailable, "its worker is being started again"};
    start->changed.wait_for(start->mutex, clock_, std::clamp(deadline.left(clock_), Milliseconds(1), kStartSlice));
  }
  if (start->error) return *start->error;
  return start->process;
}

// REQUIRES: no start is under way.
Result<std::shared_ptr<WorkerPlugin::Start>> WorkerPlugin::begin_start(const InstancePtr& instance) {
  if (ending_) return Error{Code::kInternal, "the hook " + name_ + " has ended"};
  if (!crashes_.set_aside().empty()) return set_aside_error();
  auto start = std::make_shared<Start>();
  ++starting_;
  if (!starts_.run([this, mine = instance, start]() mutable { finish_start(mine, *start); })) {
    --starting_;
    return Error{Code::kInternal, "its worker could not be started: no thread can be made now"};
  }
  instance->start = start;
  return start;
}

// Runs on a thread of its own.
void WorkerPlugin::finish_start(InstancePtr& instance, Start& start) {
  auto made = replace(*instance, start);
  if (!made && !ending_) log_.write(LogLevel::kInfo, name_, made.error().message);
  {
    const MutexLock lock(instance->mutex);
    if (made) instance->process = *made;
    instance->start = nullptr;
  }
  instance.reset();  // before any call that waits for it can end: the instance is then idle
  const MutexLock lock(start.mutex);
  if (made)
    start.process = std::move(*made);
  else
    start.error = made.error();
  start.done = true;
  start.changed.notify_all();
  --starting_;
}

Result<WorkerPlugin::ProcessPtr> WorkerPlugin::replace(Instance& instance, Start& start) {
  ProcessPtr old;
  {
    const MutexLock lock(instance.mutex);
    old = instance.process;
  }
  const bool again = old != nullptr;
  if (again) old->wait_ended();
  note_end(instance);
  {
    const MutexLock lock(instance.mutex);
    instance.process = nullptr;
    instance.counted = false;
  }
  old.reset();
  if (std::string why = crashes_.set_aside(); !why.empty()) return set_aside_error();
  AGENTD_TRY_VOID(pause(start));
  NoStart why;
  auto process = make(instance, why);
  if (!process) {
    count_end(clock_.monotonic_ns(), why.kind, why.cause);
    return Error{Code::kInternal, "its worker could not be started" + std::string(again ? " again" : "") + ": " +
                                      process.error().message};
  }
  if (again) log_.write(LogLevel::kInfo, name_, "its worker was started again");
  return process;
}

// Waits until a new worker may start. Callers see how long that is.
Result<void> WorkerPlugin::pause(Start& start) const {
  const Deadline begin{crashes_.next_start_ns()};
  const MutexLock lock(start.mutex);
  start.begins_ns = begin.at_ns;
  start.changed.notify_all();
  while (!begin.passed(clock_)) {
    if (ending_) return Error{Code::kInternal, "the hook " + name_ + " has ended"};
    start.changed.wait_for(start.mutex, clock_, std::clamp(begin.left(clock_), Milliseconds(1), kStartSlice));
  }
  return {};
}

Result<WorkerPlugin::ProcessPtr> WorkerPlugin::make(Instance& instance, NoStart& why) {
  auto started = WorkerProcess::start(setup());
  if (!started) {
    why.kind = kind_of(started.error());
    return started.error();
  }
  ProcessPtr process = std::move(*started);
  const Booted& booted = process->booted();
  if (!is_same(booted, booted_)) {
    if (placing_.records != nullptr) placing_.records->forget(path_);
    return Error{Code::kInvalid, "the restarted module reports other rows than at its first start"};
  }
  {
    const MutexLock lock(tools_mutex_);
    for (const auto& [name, number] : instance.tools) instance.old_tools.insert(name);
    instance.tools.clear();
    for (const auto& [name, number] : instance.services) instance.old_services.insert(name);
    instance.services.clear();
  }
  process->attach(*context_, instance);
  if (auto created = create(*process, placing_.options.control_time); !created) {
    why.kind = kind_of(created.error());
    if (const auto end = process->ended()) why = {end->kind, end->cause};
    return created.error();
  }
  forget_old_tools(instance);
  return process;
}

}  // namespace agentd
