// SPDX-License-Identifier: Apache-2.0
// What an event costs: nobody listens, or 1, 10 and 100 hooks that do nothing, next to bare calls.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "bench/micro/hooks.h"
#include "core/bridge/token_table.h"
#include "core/hooks/dispatcher.h"

namespace agentd::bench {
namespace {

struct Bare {
  agentd_fn fn;
  void* self;
};

class CountingTrace final : public TraceSink {
 public:
  void on_hook(const HookTrace& trace) override { spent_ns_ += trace.duration_ns; }

 private:
  std::uint64_t spent_ns_ = 0;
};

// Subscribers of turn_end; each instance has a state that may stop it, as every loaded plugin has.
class Subscribed {
 public:
  Subscribed(std::int64_t count, std::uint32_t concurrency)
      : selves_(static_cast<std::size_t>(count)), snapshot_(make(concurrency), {}, clock_) {
    payload_.size = sizeof payload_;
    envelope_.size = sizeof envelope_;
    event_.event = AGENTD_EVENT_TURN_END;
    event_.envelope = &envelope_;
    event_.payload = &payload_;
  }

  const Snapshot& snapshot() const { return snapshot_; }
  CallSlot& slot() { return *slot_; }
  const Dispatch& event() const { return event_; }
  // As the agent fires it: with a time for each hook.
  void give_time() {
    event_.budget_ns = 30'000'000'000;
    event_.deadline_ns = clock_.monotonic_ns() + event_.budget_ns;
  }

 private:
  std::vector<Subscription> make(std::uint32_t concurrency) {
    std::vector<Subscription> out;
    for (int& self : selves_) {
      Subscription one;
      one.event = AGENTD_EVENT_TURN_END;
      one.concurrency = concurrency;
      one.name = "hook" + std::to_string(out.size());
      one.fn = do_nothing;
      one.self = &self;
      // Shared with the plugin in a real host; here nobody else looks at it.
      one.stopped = std::make_shared<std::atomic<std::uint32_t>>(0u);
      out.push_back(std::move(one));
    }
    return out;
  }

  std::vector<int> selves_;
  SystemClock clock_;
  TokenTable tokens_;
  SlotLease slot_{tokens_};
  Snapshot snapshot_;
  agentd_turn payload_{};
  agentd_envelope envelope_{};
  Dispatch event_;
};

void BareCall(benchmark::State& state) {
  std::vector<int> selves(static_cast<std::size_t>(state.range(0)));
  std::vector<Bare> hooks;
  for (int& self : selves) hooks.push_back({do_nothing, &self});
  agentd_call call{};
  for (auto _ : state) {
    benchmark::DoNotOptimize(hooks.data());
    agentd_status status = AGENTD_OK;
    for (const Bare& hook : hooks) status |= hook.fn(hook.self, &call);
    benchmark::DoNotOptimize(status);
  }
}
BENCHMARK(BareCall)->Arg(1)->Arg(10)->Arg(100);

void EmptyEvent(benchmark::State& state) {
  Subscribed hooks(1, AGENTD_CONCURRENT);
  const Snapshot* snapshot = &hooks.snapshot();
  std::uint32_t event = AGENTD_EVENT_TURN_START;
  benchmark::DoNotOptimize(event);
  for (auto _ : state) {
    benchmark::DoNotOptimize(snapshot);
    if (snapshot->wants(event)) benchmark::DoNotOptimize(dispatch(*snapshot, hooks.slot(), hooks.event()));
  }
}
BENCHMARK(EmptyEvent);

// The loop of EmptyEvent without the test: what the bench itself costs.
void EmptyLoop(benchmark::State& state) {
  Subscribed hooks(1, AGENTD_CONCURRENT);
  const Snapshot* snapshot = &hooks.snapshot();
  for (auto _ : state) benchmark::DoNotOptimize(snapshot);
}
BENCHMARK(EmptyLoop);

void run(benchmark::State& state, std::uint32_t concurrency, TraceSink* trace) {
  Subscribed hooks(state.range(0), concurrency);
  if (trace != nullptr) hooks.give_time();
  for (auto _ : state) {
    const auto outcome = dispatch(hooks.snapshot(), hooks.slot(), hooks.event(), trace);
    if (outcome) state.SkipWithError("a hook that does nothing had an opinion");
  }
}

void Subscribers(benchmark::State& state) { run(state, AGENTD_CONCURRENT, nullptr); }
BENCHMARK(Subscribers)->Arg(1)->Arg(10)->Arg(100);

void SerialSubscribers(benchmark::State& state) { run(state, AGENTD_SERIAL, nullptr); }
BENCHMARK(SerialSubscribers)->Arg(1)->Arg(10)->Arg(100);

void TracedSubscribers(benchmark::State& state) {
  CountingTrace trace;
  run(state, AGENTD_CONCURRENT, &trace);
}
BENCHMARK(TracedSubscribers)->Arg(1)->Arg(10)->Arg(100);

}  // namespace
}  // namespace agentd::bench
