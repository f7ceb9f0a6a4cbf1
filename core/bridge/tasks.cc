// SPDX-License-Identifier: Apache-2.0
#include "core/bridge/tasks.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <exception>
#include <new>
#include <thread>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/mutex.h"
#include "core/base/signals_blocked.h"
#include "core/base/thread.h"
#include "core/conversation/rows.h"

namespace agentd {
namespace {

struct TasksTable {
  agentd_tasks table;
  TaskPool::State* state;
};

// The system shows 15 bytes; a character is not split.
std::string shown_name(std::string_view name) {
  std::string text = one_line(to_utf8(name), 64);
  std::size_t end = std::min<std::size_t>(text.size(), 15);
  while (end != 0 && end < text.size() && (text[end] & 0xc0) == 0x80) --end;
  text.resize(end);
  return text.empty() ? "task" : text;
}

}  // namespace

struct TaskPool::State {
  struct Task {
    std::uint64_t id = 0;
    std::string name;
    agentd_live live{0, 0, UINT64_MAX};
    Thread thread;              // guarded by State::mutex
    bool ended = false;         // guarded by State::mutex
    std::thread::id thread_id;  // guarded by State::mutex
  };

  State();
  agentd_status start(std::string name, agentd_task_fn fn, void* context, std::uint64_t* out);
  agentd_status stop(std::uint64_t id);
  std::vector<std::string> stop_all(const Clock& clock, Milliseconds grace);
  // Detaches the remaining threads.
  void let_go();

  TasksTable table;
  std::weak_ptr<State> self;

  Mutex mutex;
  Condition changed;
  std::vector<std::shared_ptr<Task>> tasks GUARDED_BY(mutex);  // not joined yet
  std::uint64_t last_id GUARDED_BY(mutex) = 0;
  std::size_t running GUARDED_BY(mutex) = 0;
  bool refusing GUARDED_BY(mutex) = false;

 private:
  static void run(std::shared_ptr<State> state, std::shared_ptr<Task> task, agentd_task_fn fn, void* context) noexcept;
  void join_ended() REQUIRES(mutex);
};

namespace {

agentd_status AGENTD_CALL tasks_start(const agentd_tasks* table, agentd_str name, agentd_task_fn fn, void* context,
                                      uint64_t* out) noexcept {
  if (fn == nullptr || out == nullptr) return AGENTD_E_ARG;
  try {
    return reinterpret_cast<const TasksTable*>(table)->state->start(shown_name(view_of(name)), fn, context, out);
  } catch (const std::bad_alloc&) {
    return AGENTD_E_NOMEM;
  }
}

agentd_status AGENTD_CALL tasks_stop(const agentd_tasks* table, uint64_t task) noexcept {
  return reinterpret_cast<const TasksTable*>(table)->state->stop(task);
}

void cancel(agentd_live& live, std::uint32_t reason) {
  std::uint32_t none = 0;  // the first reason is kept
  std::atomic_ref(live.cancel).compare_exchange_strong(none, reason);
}

}  // namespace

TaskPool::State::State() : table{{sizeof(agentd_tasks), 0, tasks_start, tasks_stop}, this} {}

void TaskPool::State::run(std::shared_ptr<State> state, std::shared_ptr<Task> task, agentd_task_fn fn,
                          void* context) noexcept {
  ::pthread_setname_np(::pthread_self(), task->name.c_str());
  {
    const MutexLock lock(state->mutex);
    task->thread_id = std::this_thread::get_id();
  }
  fn(context, &task->live);
  const MutexLock lock(state->mutex);
  task->ended = true;
  --state->running;
  state->changed.notify_all();
}

agentd_status TaskPool::State::start(std::string name, agentd_task_fn fn, void* context, std::uint64_t* out) {
  const MutexLock lock(mutex);
  join_ended();
  if (refusing) return AGENTD_E_CANCELLED;
  if (running >= AGENTD_TASKS_MAX) return AGENTD_E_BUSY;
  const auto task = std::make_shared<Task>();
  task->id = last_id + 1;
  task->name = std::move(name);
  tasks.push_back(task);
  // Set before the thread runs, which may use it immediately.
  *out = task->id;
  try {
    const SignalsBlocked blocked;
    task->thread = Thread([state = self.lock(), task, fn, context] { run(state, task, fn, context); });
  } catch (const std::exception&) {  // no thread could be made, or no memory for one
    tasks.pop_back();
    *out = 0;
    return AGENTD_E_NOMEM;
  }
  ++last_id;
  ++running;
  return AGENTD_OK;
}

agentd_status TaskPool::State::stop(std::uint64_t id) {
  const MutexLock lock(mutex);
  if (id == 0 || id > last_id) return AGENTD_E_NOT_FOUND;
  const auto is_it = [id](const std::shared_ptr<Task>& each) { return each->id == id; };
  const auto found = std::find_if(tasks.begin(), tasks.end(), is_it);
  if (found == tasks.end()) return AGENTD_OK;
  const std::shared_ptr<Task> task = *found;
  if (task->thread_id == std::this_thread::get_id()) return AGENTD_E_THREAD;
  cancel(task->live, AGENTD_CANCEL_USER);
  // Another caller that stops it may be the one that joins it.
  while (!task->ended && std::any_of(tasks.begin(), tasks.end(), is_it)) changed.wait(mutex);
  join_ended();
  while (std::any_of(tasks.begin(), tasks.end(), is_it)) changed.wait(mutex);
  return AGENTD_OK;
}

// When it returns, the plugin's thread-locals are gone too.
void TaskPool::State::join_ended() {
  std::vector<std::pair<std::uint64_t, Thread>> over;
  for (const auto& task : tasks)
    if (task->ended && task->thread.joinable() && task->thread_id != std::this_thread::get_id())
      over.emplace_back(task->id, std::move(task->thread));
  if (over.empty()) return;
  mutex.unlock();
  for (auto& [id, thread] : over) thread.join();
  mutex.lock();
  for (const auto& joined : over) std::erase_if(tasks, [&](const auto& task) { return task->id == joined.first; });
  changed.notify_all();
}

std::vector<std::string> TaskPool::State::stop_all(const Clock& clock, Milliseconds grace) {
  const MutexLock lock(mutex);
  refusing = true;
  for (const auto& task : tasks) cancel(task->live, AGENTD_CANCEL_SHUTDOWN);
  const Deadline end = Deadline::after(clock, grace);
  while (running != 0 && changed.wait_until(mutex, clock, end)) continue;
  join_ended();
  std::vector<std::string> left;
  for (const auto& task : tasks)
    if (!task->ended) left.push_back(task->name);
  // Threads that another caller is joining end in a moment.
  while (left.empty() && !tasks.empty()) changed.wait(mutex);
  return left;
}

void TaskPool::State::let_go() {
  const MutexLock lock(mutex);
  refusing = true;
  for (const auto& task : tasks) cancel(task->live, AGENTD_CANCEL_SHUTDOWN);
  join_ended();
  for (const auto& task : tasks)
    if (task->thread.joinable()) task->thread.detach();
}

TaskPool::TaskPool() : state_(std::make_shared<State>()) { state_->self = state_; }

TaskPool::~TaskPool() { let_go(); }

void TaskPool::let_go() { state_->let_go(); }

const agentd_tasks* TaskPool::table() const { return &state_->table.table; }

std::vector<std::string> TaskPool::stop_all(const Clock& clock, Milliseconds grace) {
  return state_->stop_all(clock, grace);
}

}  // namespace agentd
