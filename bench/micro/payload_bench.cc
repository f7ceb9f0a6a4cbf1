// SPDX-License-Identifier: Apache-2.0
// What agent_stop costs over histories of 10, 1,000 and 100,000 messages: one message is appended
// before each call, and the hook reads nothing, or the first, the last and 100 random messages, and
// emits or not, through the tables that a plugin has. The same reads by a bare call are measured
// beside it.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <vector>

#include "bench/micro/hooks.h"
#include "bench/micro/summary.h"
#include "core/bridge/plugin_context.h"
#include "core/conversation/view.h"
#include "tests/support/host_fixture.h"

namespace agentd::bench {
namespace {

StoredRecord message_at(std::uint64_t seq) {
  MessageRecord message;
  message.message = Message::of_text(seq % 2 == 0 ? Role::kUser : Role::kAssistant,
                                     "message " + std::to_string(seq) + std::string(200, '.'));
  StoredRecord record;
  record.seq = seq;
  record.time_ms = 1'700'000'000'000 + static_cast<std::int64_t>(seq);
  record.record = write_message(message);
  return record;
}

// A conversation with one hook at agent_stop.
class Stop {
 public:
  explicit Stop(std::int64_t messages) {
    for (std::int64_t seq = 1; seq <= messages; ++seq) records_.push_back(message_at(static_cast<std::uint64_t>(seq)));
    for (const agentd_fn hook : {count_history, emit_only, read_history, read_and_emit})
      snapshots_[hook] =
          std::make_unique<Snapshot>(std::vector{subscription(hook)}, std::vector<std::string>{}, clock_);
    load();
  }

  void load() {
    conversation_ = std::make_unique<Conversation>("01ARZ3NDEKTSV4RRFFQ69G5FAV", Rows::Count());
    loaded_ = conversation_->load(records_).has_value();
  }
  // A history that has doubled is another history: starts again from the records.
  bool is_full() const { return conversation_->rows().size() >= 2 * records_.size(); }
  bool append() { return loaded_ && conversation_->apply({message_at(conversation_->rows().size() + 1)}).has_value(); }

  // As the agent builds it: the gauge, the envelope, the payload with and without messages.
  std::unique_ptr<Outcome> call(agentd_fn hook) {
    agentd_usage usage = to_abi(conversation_->usage());
    agentd_gauge gauge{};
    gauge.size = sizeof gauge;
    gauge.used = conversation_->rows().tokens();
    agentd_envelope envelope{};
    envelope.size = sizeof envelope;
    envelope.conversation_id = to_abi(conversation_->id());
    envelope.revision = conversation_->revision();
    envelope.context = &gauge;
    const Rows pinned = conversation_->pin();
    agentd_agent_stop payload = record(usage, gauge, pinned.list());
    const agentd_agent_stop without = record(usage, gauge, {nullptr, 0, sizeof(agentd_message)});
    Dispatch event;
    event.event = AGENTD_EVENT_AGENT_STOP;
    event.envelope = &envelope;
    event.payload = &payload;
    event.payload_bare = &without;
    return dispatch(*snapshots_.at(hook), *slot_, event);
  }

  // The hook's reads alone, by an indirect call with nothing around it.
  void call_bare(agentd_fn hook) {
    agentd_agent_stop payload{};
    payload.messages = conversation_->rows().list();
    agentd_call call{};
    call.payload = &payload;
    benchmark::DoNotOptimize(hook(&reader_, &call));
  }

 private:
  Subscription subscription(agentd_fn hook) {
    Subscription one;
    one.event = AGENTD_EVENT_AGENT_STOP;
    one.wants = AGENTD_WANTS_MESSAGES;
    one.concurrency = AGENTD_CONCURRENT;
    one.name = "reader";
    one.fn = hook;
    one.self = &reader_;
    one.core = context_.core();
    one.services = context_.services();
    one.stopped = context_.stopped();
    return one;
  }

  static agentd_agent_stop record(const agentd_usage& usage, const agentd_gauge& gauge, agentd_list messages) {
    agentd_agent_stop payload{};
    payload.size = sizeof payload;
    payload.stop_reason = AGENTD_STOP_END_TURN;
    payload.response = to_abi("done");
    payload.usage = &usage;
    payload.context = &gauge;
    payload.messages = messages;
    return payload;
  }

  Reader reader_;
  SystemClock clock_;
  NullLog log_;
  testing::UnavailableServices services_;
  TokenTable tokens_;
  SlotLease slot_{tokens_};
  PluginContext context_{{"org.example.reader", "1.0.0", "reader", ""}, {}, tokens_, services_, clock_, log_};
  std::map<agentd_fn, std::unique_ptr<Snapshot>> snapshots_;  // with that one hook
  std::vector<StoredRecord> records_;
  std::unique_ptr<Conversation> conversation_;
  bool loaded_ = false;
};

using Steady = std::chrono::steady_clock;

// Times of single calls. Their median says what a call costs however often the machine takes the
// processor away meanwhile.
class Samples {
 public:
  template <typename Work>
  void time(const Work& work) {
    const auto from = Steady::now();
    work();
    ns_.push_back(std::chrono::duration<double, std::nano>(Steady::now() - from).count());
  }
  double median() {
    std::nth_element(ns_.begin(), ns_.begin() + static_cast<std::ptrdiff_t>(ns_.size() / 2), ns_.end());
    return ns_[ns_.size() / 2];
  }

 private:
  std::vector<double> ns_;
};

enum Kind : std::size_t { kClock, kNothing, kEmit, kBareRead, kRead, kReadEmit, kKinds };
constexpr std::array<const char*, kKinds> kNames{"clock_ns", "nothing_ns", "emit_ns",
                                                 "bare_ns",  "read_ns",    "read_emit_ns"};

// One round: each kind of call in turn, each after an append of its own.
bool round(Stop& stop, std::array<Samples, kKinds>& samples) {
  bool right = true;
  const auto call = [&](Kind kind, agentd_fn hook, bool opinion) {
    right = stop.append() && right;
    samples[kind].time([&] { right = (stop.call(hook) != nullptr) == opinion && right; });
  };
  samples[kClock].time([] {});
  call(kNothing, count_history, false);
  call(kEmit, emit_only, true);
  call(kRead, read_history, false);
  call(kReadEmit, read_and_emit, true);
  right = stop.append() && right;
  samples[kBareRead].time([&] { stop.call_bare(read_history); });
  return right;
}

void AgentStop(benchmark::State& state) {
  Stop stop(state.range(0));
  std::array<Samples, kKinds> samples;
  for (auto _ : state) {
    if (stop.is_full()) stop.load();
    if (!round(stop, samples)) state.SkipWithError("a history could not be read, or a hook was not heard");
  }
  for (std::size_t kind = 0; kind < kKinds; ++kind) state.counters[kNames[kind]] = samples[kind].median();
}

void FirstCallAfterLoad(benchmark::State& state) {
  Stop stop(state.range(0));
  Samples load, first;
  for (auto _ : state) {
    load.time([&] { stop.load(); });
    first.time([&] { benchmark::DoNotOptimize(stop.call(read_history)); });
  }
  state.counters["load_ns"] = load.median();
  state.counters["first_ns"] = first.median();
}

}  // namespace

// A fixed number of rounds: the history grows with each, and loading it again takes its time.
void add_payload_benches(Effort effort) {
  for (auto* const bench :
       {benchmark::RegisterBenchmark("AgentStop", AgentStop)->Iterations(effort.times(2'000)),
        benchmark::RegisterBenchmark("FirstCallAfterLoad", FirstCallAfterLoad)->Iterations(effort.times(3))})
    bench->Arg(10)->Arg(1'000)->Arg(100'000)->Repetitions(effort.times(3));
}

}  // namespace agentd::bench
