// SPDX-License-Identifier: Apache-2.0
#pragma once
// tasks.hpp - threads of a plugin that the host knows: named, and ended before the object is destroyed.
//
//   struct Watcher {
//     explicit Watcher(agentd::init& from) {
//       agentd::tasks tasks(from);
//       task_ = *tasks.start("watcher", [this](agentd::task_view t) {
//         while (t.sleep_for(std::chrono::seconds(1))) look();
//       });
//     }
//     static constexpr std::string_view hook_wants[] = {agentd::id::tasks};
//     ...
//     agentd::task task_;  // last: it ends before what it uses is gone
//   };
//
// Without the grant start() returns AGENTD_E_DENIED. An exception that leaves the lambda ends the task and is logged.
//
// Threading: tasks is constructed on the thread that loads the plugin; every function may be called
// from any thread.

#if defined(__cplusplus) && __cplusplus < 202002L && (!defined(_MSVC_LANG) || _MSVC_LANG < 202002L)
#error "agentd's C++ SDK needs C++20: compile with -std=c++20 (cl: /std:c++20), or write the hook in C"
#else

#include <agentd/ext/tasks.h>
#include <agentd/hook.hpp>

#include <chrono>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>

namespace agentd {

// The argument of a task's lambda.
class task_view {
 public:
  task_view(const agentd_live* live, const agentd::host* host) noexcept : live_(live), host_(host) {}

  // True once the task should return: it was stopped, or the plugin is being destroyed.
  [[nodiscard]] bool cancelled() const noexcept { return detail::load_acquire(live_->cancel) != 0; }
  // Waits that long; returns false as soon as the task should return.
  [[nodiscard]] bool sleep_for(std::chrono::nanoseconds time) const {
    constexpr std::chrono::nanoseconds slice = std::chrono::milliseconds(10);
    const auto until = std::chrono::steady_clock::now() + time;
    while (!cancelled()) {
      const auto left = until - std::chrono::steady_clock::now();
      if (left <= left.zero()) return true;
      std::this_thread::sleep_for(left < slice ? left : slice);
    }
    return false;
  }
  // Provides a token through open_scope().
  [[nodiscard]] const agentd::host& host() const noexcept { return *host_; }

 private:
  const agentd_live* live_;
  const agentd::host* host_;
};

// A started task; the destructor stops it.
class task {
 public:
  task() noexcept = default;
  task(const agentd_tasks* table, std::uint64_t id) noexcept : table_(table), id_(id) {}
  task(task&& other) noexcept : table_(other.table_), id_(std::exchange(other.id_, 0)) {}
  task& operator=(task&& other) noexcept {
    if (this != &other) {
      stop();
      table_ = other.table_;
      id_ = std::exchange(other.id_, 0);
    }
    return *this;
  }
  task(const task&) = delete;
  task& operator=(const task&) = delete;
  ~task() { stop(); }

  explicit operator bool() const noexcept { return id_ != 0; }
  // Asks the task to return and waits for it. AGENTD_E_THREAD within the task itself.
  agentd_status stop() noexcept {
    const std::uint64_t id = std::exchange(id_, 0);
    return id == 0 ? AGENTD_OK : table_->stop(table_, id);
  }
  // Lets it continue; the host still ends it before the plugin is destroyed.
  void detach() noexcept { id_ = 0; }

 private:
  const agentd_tasks* table_ = nullptr;
  std::uint64_t id_ = 0;
};

class tasks {
 public:
  tasks() noexcept = default;
  explicit tasks(const init& from) noexcept : table_(from.query<agentd_tasks>(AGENTD_TASKS_ID)), host_(from.host()) {}
  explicit operator bool() const noexcept { return table_ != nullptr; }

  // Runs body(task_view) on a thread of its own. AGENTD_E_BUSY if AGENTD_TASKS_MAX are running, AGENTD_E_CANCELLED once
  // the plugin is being destroyed.
  template <typename Body>
  [[nodiscard]] result<task> start(std::string_view name, Body body) const {
    if (table_ == nullptr) return AGENTD_E_DENIED;
    auto* const made = new (std::nothrow) box<Body>{host_, std::string(name), std::move(body)};
    if (made == nullptr) return AGENTD_E_NOMEM;
    std::uint64_t id = 0;
    const agentd_status status = table_->start(table_, as_str(name), &box<Body>::run, made, &id);
    if (status == AGENTD_OK) return {status, task(table_, id)};
    delete made;
    return status;
  }

 private:
  template <typename Body>
  struct box {
    agentd::host host;
    std::string name;
    Body body;

    static void AGENTD_CALL run(void* context, const agentd_live* live) noexcept {
      auto* const mine = static_cast<box*>(context);
#if AGENTD_SDK_EXCEPTIONS
      try {
        mine->body(task_view(live, &mine->host));
      } catch (const std::exception& caught) {
        mine->tell(caught.what());
      } catch (...) {
        mine->tell("an exception that is not a std::exception");
      }
#else
      mine->body(task_view(live, &mine->host));
#endif
      delete mine;
    }
    void tell(std::string_view what) noexcept {
      const agentd_core* const core = host.core();
#if AGENTD_SDK_EXCEPTIONS
      try {
        const std::string text = "the task " + name + " ended with: " + std::string(what);
        core->log(core, 0, AGENTD_LEVEL_ERROR, as_str(text));
      } catch (...) {
        core->log(core, 0, AGENTD_LEVEL_ERROR, as_str(what));
      }
#else
      core->log(core, 0, AGENTD_LEVEL_ERROR, as_str(what));
#endif
    }
  };

  const agentd_tasks* table_ = nullptr;
  agentd::host host_{};
};

}  // namespace agentd

#endif  // C++20
