// SPDX-License-Identifier: Apache-2.0
#include "tests/simulator/baton.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace agentd::simulator {
namespace {

constexpr std::uint64_t kNever = UINT64_MAX;
constexpr std::uint64_t kStepNsMax = 20'000;  // what runs between two switches takes some time

}  // namespace

struct Baton::Runner {
  std::size_t number = 0;
  std::condition_variable turn{};
  // What it waits for; nothing of it = it can go on.
  const WaitWord* word = nullptr;
  bool joins_all = false;
  const Runner* joins = nullptr;
  std::span<pollfd> polls{};
  std::uint64_t until_ns = kNever;
  bool ended = false;
  std::thread::id thread{};

  bool waits() const { return word != nullptr || joins_all || joins != nullptr || !polls.empty(); }
  void go_on() {
    word = nullptr;
    joins_all = false;
    joins = nullptr;
    polls = {};
    until_ns = kNever;
  }
};

namespace {

// Of the thread that asks.
thread_local void* own_runner = nullptr;

}  // namespace

Baton::Baton(std::uint64_t seed, std::function<void(const std::string&)> stuck)
    : stuck_(std::move(stuck)), random_(seed) {}

Baton::~Baton() = default;

Baton::Runner& Baton::add() {
  runners_.push_back(std::make_unique<Runner>());
  runners_.back()->number = runners_.size() - 1;
  return *runners_.back();
}

bool Baton::can_go_on(const Runner& runner) const {
  if (runner.ended) return false;
  if (!runner.waits() || runner.until_ns <= now_ns_) return true;
  if (runner.joins != nullptr) return runner.joins->ended;
  if (runner.joins_all)
    return std::all_of(runners_.begin(), runners_.end(),
                       [&](const auto& other) { return other.get() == &runner || other->ended; });
  return std::any_of(runner.polls.begin(), runner.polls.end(),
                     [](const pollfd& each) { return is_ready(each.fd, each.events); });
}

// Drawn from those that can go on; null = all have ended.
Baton::Runner* Baton::next() {
  for (;;) {
    std::vector<Runner*> ready;
    std::uint64_t soonest = kNever;
    bool any = false;
    for (const auto& runner : runners_) {
      any = any || !runner->ended;
      if (can_go_on(*runner)) ready.push_back(runner.get());
      if (!runner->ended && runner->waits()) soonest = std::min(soonest, runner->until_ns);
    }
    if (!ready.empty()) return ready[draw_locked(ready.size())];
    if (!any) return nullptr;
    if (soonest == kNever) stuck_("no thread can go on: each waits for another, and none has a deadline");
    now_ns_ = soonest;
  }
}

// Returns when `from` has the baton again; at once if it has ended.
void Baton::hand_on(Lock& lock, Runner& from) {
  now_ns_ += 1 + draw_locked(kStepNsMax);
  holder_ = next();
  ++switches_;
  if (holder_ != nullptr) digest_ = digest_ * 1'099'511'628'211u + holder_->number + 1;
  if (holder_ == &from) return from.go_on();
  if (holder_ != nullptr) holder_->turn.notify_one();
  if (from.ended) return;
  while (holder_ != &from) from.turn.wait(lock);
  from.go_on();
}

void Baton::run(const std::function<void()>& body) {
  Runner* me = nullptr;
  {
    const Lock lock(mutex_);
    me = &add();
    holder_ = me;
    own_runner = me;
  }
  const Bound bound(*this);
  body();
  Lock lock(mutex_);
  me->joins_all = true;
  hand_on(lock, *me);
  me->ended = true;
  own_runner = nullptr;
}

void Baton::step() {
  Lock lock(mutex_);
  hand_on(lock, *static_cast<Runner*>(own_runner));
}

void Baton::step_sometimes() {
  if (own_runner == nullptr) return;
  Lock lock(mutex_);
  if (draw_locked(4) == 0) hand_on(lock, *static_cast<Runner*>(own_runner));
}

std::uint64_t Baton::draw(std::uint64_t limit) {
  const Lock lock(mutex_);
  return draw_locked(limit);
}

void Baton::wait(const WaitWord& word, std::uint32_t seen, std::uint64_t until_ns) {
  Lock lock(mutex_);
  if (word.load(std::memory_order_relaxed) != seen) return;
  auto& me = *static_cast<Runner*>(own_runner);
  me.word = &word;
  me.until_ns = until_ns;
  hand_on(lock, me);
}

void Baton::wake(const WaitWord& word, bool all) {
  Lock lock(mutex_);
  std::vector<Runner*> waiting;
  for (const auto& runner : runners_)
    if (runner->word == &word) waiting.push_back(runner.get());
  if (!all && waiting.size() > 1) waiting = {waiting[draw_locked(waiting.size())]};
  for (Runner* const runner : waiting) runner->go_on();
  // A thread that is not of this scheduler may wake others, and has no baton to hand on.
  if (own_runner != nullptr) hand_on(lock, *static_cast<Runner*>(own_runner));
}

int Baton::poll(std::span<pollfd> descriptors, std::uint64_t until_ns) {
  Lock lock(mutex_);
  auto& me = *static_cast<Runner*>(own_runner);
  me.polls = descriptors;
  me.until_ns = until_ns;
  if (descriptors.empty()) me.joins = &me;  // for the time alone
  hand_on(lock, me);
  return ::poll(descriptors.data(), descriptors.size(), 0);
}

std::thread Baton::start(std::function<void()> body) {
  Lock lock(mutex_);
  Runner& one = add();
  std::thread thread([this, &one, body = std::move(body)] {
    {
      Lock begin(mutex_);
      while (holder_ != &one) one.turn.wait(begin);
      own_runner = &one;
    }
    {
      const Bound bound(*this);
      body();
    }
    end(one);
  });
  one.thread = thread.get_id();
  hand_on(lock, *static_cast<Runner*>(own_runner));
  return thread;
}

void Baton::end(Runner& runner) {
  Lock lock(mutex_);
  runner.ended = true;
  own_runner = nullptr;
  hand_on(lock, runner);
}

void Baton::join(std::thread& thread) {
  {
    Lock lock(mutex_);
    for (const auto& runner : runners_)
      if (runner->thread == thread.get_id() && !runner->ended) {
        auto& me = *static_cast<Runner*>(own_runner);
        me.joins = runner.get();
        hand_on(lock, me);
        break;
      }
  }
  thread.join();
}

}  // namespace agentd::simulator
