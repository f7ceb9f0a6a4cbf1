// SPDX-License-Identifier: Apache-2.0
#include "core/agent/run_queue.h"

#include <algorithm>

#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr Milliseconds kLook{50};     // how late a cancel may be seen
constexpr std::uint64_t kSmooth = 8;  // an ended run's share in the average is one in that many

std::string time_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::max(seconds, 0.0)) + 1;
  return whole <= 120 ? with_commas(whole) + " s" : with_commas((whole + 59) / 60) + " min";
}

}  // namespace

// Guarded by the queue's mutex, as long as its thread waits.
struct RunQueue::Waiter {
  enum class State { kWaits, kAdmitted, kDropped };
  const CancelToken& cancel;
  State state = State::kWaits;
  std::uint64_t began_ns = 0;
  Condition changed{};
};

RunQueue::RunQueue(const Clock& clock, Limits limits) : clock_(clock), limits_(limits) {
  AGENTD_ASSERT(limits_.active_runs != 0);
}

RunQueue::Counts RunQueue::counts() const {
  const MutexLock lock(mutex_);
  return counts_;
}

// ---- sessions

Result<RunQueue::SessionPlace> RunQueue::open() {
  const MutexLock lock(mutex_);
  if (counts_.open >= limits_.open)
    return Error{Code::kBusy, counted(counts_.open, "session") + (counts_.open == 1 ? " is" : " are") +
                                  " open, the limit of sessions.open: close one first, or raise the limit"};
  ++counts_.open;
  return SessionPlace(this);
}

void RunQueue::close() {
  const MutexLock lock(mutex_);
  --counts_.open;
}

// ---- runs

Result<RunQueue::RunPlace> RunQueue::enter(const std::string& project_id, const CancelToken& cancel) {
  const MutexLock lock(mutex_);
  // While some wait no place is free, so nobody is overtaken.
  if (counts_.active < limits_.active_runs) return RunPlace(this, {begin()});
  if (counts_.waiting >= limits_.queued_runs) return busy();
  Waiter me{cancel};
  wait(me, project_id);
  if (me.state == Waiter::State::kAdmitted) return RunPlace(this, {me.began_ns});
  return Error{Code::kCancelled, "the run was cancelled while it waited for its turn"};
}

std::uint64_t RunQueue::begin() {
  const std::uint64_t now = clock_.monotonic_ns();
  ++counts_.active;
  began_ns_ += now;
  return now;
}

void RunQueue::leave(std::uint64_t began_ns) {
  const MutexLock lock(mutex_);
  const std::uint64_t took = clock_.monotonic_ns() - began_ns;
  usual_ns_ = usual_ns_ == 0 ? took : usual_ns_ - usual_ns_ / kSmooth + took / kSmooth;
  --counts_.active;
  began_ns_ -= began_ns;
  if (counts_.waiting != 0) admit_next();
}

// The place passes to the next one here and not when its thread wakes, so that no newcomer takes it in between.
void RunQueue::admit_next() {
  std::string project = std::move(turns_.front());
  turns_.pop_front();
  const auto line = lines_.find(project);
  Waiter& next = *line->second.front();
  line->second.pop_front();
  if (line->second.empty())
    lines_.erase(line);
  else
    turns_.push_back(std::move(project));
  --counts_.waiting;
  next.began_ns = begin();
  next.state = Waiter::State::kAdmitted;
  next.changed.notify_one();
}

// A token wakes no waiter, so somebody has to look. One thread does it for all: thousands that look by themselves would
// be kept busy by it.
void RunQueue::wait(Waiter& me, const std::string& project_id) {
  if (lines_[project_id].empty()) turns_.push_back(project_id);
  lines_[project_id].push_back(&me);
  ++counts_.waiting;
  if (watcher_ == nullptr) watcher_ = &me;
  while (me.state == Waiter::State::kWaits) {
    if (watcher_ != &me) {
      me.changed.wait(mutex_);
      continue;
    }
    drop_cancelled();
    if (me.state == Waiter::State::kWaits) me.changed.wait_for(mutex_, clock_, kLook);
  }
  if (watcher_ == &me) watch(turns_.empty() ? nullptr : lines_.find(turns_.front())->second.front());
}

void RunQueue::watch(Waiter* next) {
  watcher_ = next;
  if (next != nullptr) next->changed.notify_one();
}

void RunQueue::drop_cancelled() {
  for (auto& [project, line] : lines_)
    counts_.waiting -= std::erase_if(line, [](Waiter* each) {
      if (!each->cancel.cancelled()) return false;
      each->state = Waiter::State::kDropped;
      each->changed.notify_one();
      return true;
    });
  std::erase_if(lines_, [](const auto& each) { return each.second.empty(); });
  std::erase_if(turns_, [this](const std::string& project) REQUIRES(mutex_) { return !lines_.contains(project); });
}

// A run that began now would be behind all that wait. The active ones tell how long runs take, too: they may be
// slower than those that have ended.
Error RunQueue::busy() const {
  const std::uint64_t active = counts_.active, age_ns = (active * clock_.monotonic_ns() - began_ns_) / active;
  const double usual_s = static_cast<double>(std::max(usual_ns_, age_ns)) / 1e9;
  const double seconds = usual_s * static_cast<double>(counts_.waiting + 1) / static_cast<double>(limits_.active_runs);
  std::string text = counted(active, "run") + (active == 1 ? " is active" : " are active");
  if (limits_.queued_runs == 0)
    text += ", the limit of sessions.active_runs";
  else
    text += " and " + with_commas(counts_.waiting) + (counts_.waiting == 1 ? " waits" : " wait") +
            ", the limit of sessions.queued_runs";
  return {Code::kBusy, text + ": try again in about " + time_text(seconds)};
}

}  // namespace agentd
