// SPDX-License-Identifier: Apache-2.0
#include "core/search/feeder.h"

#include <agentd/hook_types.h>
#include <sys/resource.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/base/signals_blocked.h"

namespace agentd {
namespace {

constexpr Milliseconds kFeederLookAgain{5'000};
constexpr Milliseconds kTurnWait{200};  // another process that has its turn does the same work
constexpr int kLowPriority = 10;

}  // namespace

IndexFeeder::IndexFeeder(const std::string& directory, const Store& store, const Clock& clock, Log& log,
                         FeederPauses pauses)
    : files_(directory), clock_(clock), log_(log), pauses_(pauses), index_(directory, store, clock, log, kTurnWait) {}

IndexFeeder::~IndexFeeder() {
  cancel_.cancel(AGENTD_CANCEL_SHUTDOWN);
  Thread thread;
  {
    const MutexLock lock(mutex_);
    leaves_ = true;
    changed_.notify_all();
    thread = std::move(thread_);
  }
}

void IndexFeeder::committed() {
  const MutexLock lock(mutex_);
  if (leaves_ || !is_wanted()) return;
  quiet_ = Deadline::after(clock_, pauses_.quiet);
  if (std::exchange(waits_, true)) return;
  longest_ = Deadline::after(clock_, pauses_.longest);
  changed_.notify_one();
}

// The file of the lock is made by the first search, and stays when the index is removed.
bool IndexFeeder::is_wanted() {
  if (thread_.joinable()) return true;
  if (failed_ || !next_look_.passed(clock_)) return false;
  next_look_ = Deadline::after(clock_, kFeederLookAgain);
  if (files_.are_in_use()) start();
  return thread_.joinable();
}

void IndexFeeder::start() {
  const SignalsBlocked blocked;
  try {
    thread_ = Thread([this] { work(); });
  } catch (const std::system_error& none) {
    failed_ = true;
    log_.write(LogLevel::kWarning, "search", std::string("no thread to feed the search index: ") + none.what());
  }
}

void IndexFeeder::work() {
  (void)::setpriority(PRIO_PROCESS, 0, kLowPriority);  // of this thread alone
  while (wait_for_quiet()) feed();
}

// False: there is no more to do.
bool IndexFeeder::wait_for_quiet() {
  const MutexLock lock(mutex_);
  while (!leaves_ && !waits_) changed_.wait(mutex_);
  while (!leaves_) {
    const Deadline until{std::min(quiet_.at_ns, longest_.at_ns)};
    if (until.passed(clock_)) break;
    (void)changed_.wait_until(mutex_, clock_, until);
  }
  waits_ = false;
  return !leaves_;
}

void IndexFeeder::feed() {
  const auto fed = index_.follow(cancel_);
  if (fed || fed.error().code == Code::kCancelled || fed.error().code == Code::kBusy) return;
  log_.write(LogLevel::kWarning, "search", "the search index is not brought up to date: " + fed.error().message);
}

}  // namespace agentd
