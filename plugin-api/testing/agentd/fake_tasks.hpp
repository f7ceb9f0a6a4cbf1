// SPDX-License-Identifier: Apache-2.0
#pragma once
// fake_tasks.hpp - agentd.tasks/1 for tests: real threads, following the contract.
//
// A task that does not return after its cancel is a breach; its thread is then detached.
//
// Threading: the table may be called from any thread; stop_all() and reset() belong to the test's thread.

#include <agentd/ext/tasks.h>
#include <agentd/fake_services.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace agentd::testing {

class fake_tasks {
 public:
  explicit fake_tasks(token_book& book) : book_(&book) {
    table_.size = sizeof(agentd_tasks);
    table_.owner = this;
    table_.start = &on_start;
    table_.stop = &on_stop;
  }
  fake_tasks(const fake_tasks&) = delete;
  fake_tasks& operator=(const fake_tasks&) = delete;
  ~fake_tasks() { stop_all(); }

  // The time that a cancelled task has to return.
  std::chrono::milliseconds grace{5'000};

  [[nodiscard]] const agentd_tasks* table() const noexcept { return &table_; }
  // Names of the running tasks.
  [[nodiscard]] std::vector<std::string> running() const {
    const std::lock_guard lock(shared_->mutex);
    std::vector<std::string> names;
    for (const auto& each : shared_->all) {
      if (!each->ended) names.push_back(each->name);
    }
    return names;
  }
  // Ends all tasks, as the host does before destroy().
  void stop_all() {
    std::vector<std::shared_ptr<one>> all;
    {
      const std::lock_guard lock(shared_->mutex);
      refusing_ = true;
      all.swap(shared_->all);
      for (const auto& each : all) cancel(*each, AGENTD_CANCEL_SHUTDOWN);
    }
    for (const auto& each : all) {
      if (wait(*each)) continue;
      book_->breach("the task " + each->name + " did not end when it was cancelled");
    }
  }
  void reset() { refusing_ = false; }

 private:
  struct one {
    std::uint64_t id = 0;
    std::string name;
    agentd_live live{0, 0, UINT64_MAX};
    std::thread thread;
    std::thread::id thread_id{};
    bool ended = false;
  };
  // Outlives the fake if a thread does.
  struct state {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::shared_ptr<one>> all;
  };
  struct owned : agentd_tasks {
    fake_tasks* owner;
  };
  static fake_tasks& of(const agentd_tasks* table) { return *static_cast<const owned*>(table)->owner; }
  static void cancel(one& task, std::uint32_t reason) {
    std::atomic_ref<std::uint32_t>(task.live.cancel).store(reason, std::memory_order_release);
  }
  // Joins the thread, or detaches it.
  bool wait(one& task) {
    std::unique_lock lock(shared_->mutex);
    const bool ended = shared_->changed.wait_for(lock, grace, [&] { return task.ended; });
    std::thread thread = std::move(task.thread);
    lock.unlock();
    if (!thread.joinable()) return ended;
    if (ended) {
      thread.join();
    } else {
      thread.detach();
    }
    return ended;
  }

  static agentd_status AGENTD_CALL on_start(const agentd_tasks* table, agentd_str name, agentd_task_fn fn,
                                            void* context, std::uint64_t* out) noexcept {
    fake_tasks& self = of(table);
    if (fn == nullptr || out == nullptr) {
      self.book_->breach("tasks->start without a function or a pointer for its id");
      return AGENTD_E_ARG;
    }
    const auto shared = self.shared_;
    const std::lock_guard lock(shared->mutex);
    if (self.refusing_) return AGENTD_E_CANCELLED;
    const auto active =
        std::count_if(shared->all.begin(), shared->all.end(), [](const auto& each) { return !each->ended; });
    if (active >= AGENTD_TASKS_MAX) return AGENTD_E_BUSY;
    auto made = std::make_shared<one>();
    made->id = *out = ++self.last_;
    made->name = as_view(name);
    made->thread = std::thread([shared, made, fn, context] {
      {
        const std::lock_guard first(shared->mutex);
        made->thread_id = std::this_thread::get_id();
      }
      fn(context, &made->live);
      const std::lock_guard last(shared->mutex);
      made->ended = true;
      shared->changed.notify_all();
    });
    shared->all.push_back(std::move(made));
    return AGENTD_OK;
  }
  static agentd_status AGENTD_CALL on_stop(const agentd_tasks* table, std::uint64_t id) noexcept {
    fake_tasks& self = of(table);
    std::shared_ptr<one> task;
    {
      const std::lock_guard lock(self.shared_->mutex);
      if (id == 0 || id > self.last_) return AGENTD_E_NOT_FOUND;
      auto& all = self.shared_->all;
      const auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each->id == id; });
      if (found == all.end()) return AGENTD_OK;
      if ((*found)->thread_id == std::this_thread::get_id()) return AGENTD_E_THREAD;
      task = *found;
      all.erase(found);
      cancel(*task, AGENTD_CANCEL_USER);
    }
    if (!self.wait(*task)) {
      self.book_->breach("the task " + task->name + " did not end when it was cancelled");
    }
    return AGENTD_OK;
  }

  token_book* book_;
  owned table_{};
  std::shared_ptr<state> shared_ = std::make_shared<state>();
  std::atomic<bool> refusing_{false};
  std::uint64_t last_ = 0;
};

}  // namespace agentd::testing
