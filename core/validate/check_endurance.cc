// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>

#include "core/base/thread.h"
#include "core/validate/checks.h"
#include "core/validate/process_state.h"

namespace agentd::validation {
namespace {

constexpr int kWarmUpCalls = 300, kCalls = 1000, kInstances = 50, kWarmUpInstances = 10;
constexpr std::uint64_t kGrowthPerWindow = 8 * 1024;  // tolerance for an allocator's own caches
constexpr int kThreads = 8, kCallsOfAThread = 100, kStates = 300;

using Samples = std::vector<std::unique_ptr<SampleEvent>>;

Samples samples_of(const Stage& stage) {
  Samples out;
  for (const std::uint32_t event : stage.events())
    if (auto made = SampleEvent::make(event, Variant::kPlain)) out.push_back(std::move(*made));
  return out;
}

// Limits the time for repeating one part of a check, as a share of a step's time: a slow hook is called less often, and
// has not hung.
class Patience {
 public:
  Patience(const Stage& stage, int tenths)
      : end_(std::chrono::steady_clock::now() + stage.subject().patience * tenths / 10) {}
  bool over() const { return std::chrono::steady_clock::now() >= end_; }

 private:
  const std::chrono::steady_clock::time_point end_;
};

// Fires up to `calls` events as time permits, at least one; returns the number.
int fire(const Stage& stage, Instance& instance, const Samples& samples, int calls) {
  const Patience patience(stage, 1);
  int done = 0;
  for (; done < calls && !samples.empty() && (done == 0 || !patience.over()); ++done)
    (void)instance.fire(*samples[static_cast<std::size_t>(done) % samples.size()]);
  return done;
}

std::uint64_t growth(std::uint64_t before, std::uint64_t after) { return after > before ? after - before : 0; }

// Three windows, which must all grow: a cache that fills once is not a leak.
void check_calls(const Subject& subject, Reporter& out) {
  Stage stage(subject);
  out.begin(501, "loading it");
  if (!stage.load()) return out.skip(501, "the module cannot be loaded");
  const auto instance = instance_for(stage, out, 501);
  if (instance == nullptr) return;
  const Samples samples = samples_of(stage);
  if (samples.empty()) return out.ok(501, "it has no subscriptions");
  out.begin(501, "many calls");
  fire(stage, *instance, samples, kWarmUpCalls);
  std::uint64_t least = UINT64_MAX;
  int calls = kCalls;
  for (int window = 0; window < 3; ++window) {
    out.begin(501, "many calls");
    const std::uint64_t before = heap_bytes();
    calls = std::min(calls, fire(stage, *instance, samples, calls));
    least = std::min(least, growth(before, heap_bytes()));
  }
  const std::string counted = std::to_string(calls) + " calls ";
  least < kGrowthPerWindow ? out.ok(501, counted + "kept no memory")
                           : out.broken(501, counted + "kept " + std::to_string(least) + " bytes, every time");
}

// Makes and ends up to `count` instances as time permits; returns the number.
int lives(Stage& stage, const Samples& samples, int count) {
  const Patience patience(stage, 2);
  int done = 0;
  for (; done < count && (done == 0 || !patience.over()); ++done) {
    Instance instance(stage);
    if (!instance.create()) break;
    fire(stage, instance, samples, static_cast<int>(samples.size()));
    (void)!instance.destroy();
  }
  return done;
}

void check_instances(const Subject& subject, Reporter& out) {
  Stage stage(subject);
  out.begin(502, "loading it");
  if (!stage.load()) return out.skip(502, "the module cannot be loaded");
  warm_up(stage);
  const Samples samples = samples_of(stage);
  out.begin(502, "making and ending instances");
  lives(stage, samples, kWarmUpInstances);
  const ProcessState before = ProcessState::take();
  std::uint64_t least = UINT64_MAX;
  int made = kInstances / 2;
  for (int window = 0; window < 2; ++window) {
    out.begin(502, "making and ending instances");
    const std::uint64_t heap = heap_bytes();
    made = std::min(made, lives(stage, samples, made));
    least = std::min(least, growth(heap, heap_bytes()));
  }
  const std::size_t open = added(before.descriptors, ProcessState::take().descriptors).size();
  if (open != 0)
    out.broken(502, std::to_string(2 * made) + " instances left " + std::to_string(open) + " descriptors open");
  else if (least >= kGrowthPerWindow)
    out.broken(502, std::to_string(made) + " instances kept " + std::to_string(least) + " bytes, every time");
  else
    out.ok(502, std::to_string(2 * made) + " instances");
}

void check_round_trip(const Subject& subject, Reporter& out) {
  Stage stage(subject);
  out.begin(601, "loading it");
  if (!stage.load()) return out.skip(601, "the module cannot be loaded");
  const bool saves = stage.record().plugin.save_state != nullptr;
  const bool loads = stage.record().plugin.load_state != nullptr;
  if (!saves && !loads) return out.ok(601, "it has no state");
  if (saves != loads) return out.broken(601, "it has only one of save_state() and load_state()");
  const auto first = instance_for(stage, out, 601);
  if (first == nullptr) return;
  fire(stage, *first, samples_of(stage), 20);
  out.begin(601, "save_state()");
  const auto saved = first->save();
  if (!saved) return out.broken(601, "save_state() failed: " + saved.error().message);
  const auto second = instance_for(stage, out, 601);
  if (second == nullptr) return;
  out.begin(601, "load_state()");
  if (const auto loaded = second->load(**saved); !loaded)
    return out.broken(601, "load_state() refuses what save_state() wrote: " + loaded.error().message);
  out.begin(601, "save_state() again");
  const auto again = second->save();
  if (!again) return out.broken(601, "the second save_state() failed: " + again.error().message);
  **saved == **again
      ? out.ok(601, std::to_string((**saved).size()) + " bytes")
      : out.broken(601, "saving the loaded state gives another one (" + std::to_string((**saved).size()) +
                            " bytes, then " + std::to_string((**again).size()) + ")");
}

std::string random_state(std::uint64_t& seed, const std::string& real, int round) {
  const auto next = [&] { return (seed = seed * 6364136223846793005u + 1442695040888963407u) >> 33; };
  std::string out = round % 2 == 0 ? std::string(next() % 400, '\0') : real;
  if (round % 2 != 0) {  // a real state with changed bytes
    if (!out.empty()) out.resize(1 + next() % out.size());
    for (int i = 0; i < 3 && !out.empty(); ++i) out[next() % out.size()] = static_cast<char>(next());
  } else {
    for (char& byte : out) byte = static_cast<char>(next());
  }
  return out;
}

void check_any_state(const Subject& subject, Reporter& out) {
  Stage stage(subject);
  out.begin(602, "loading it");
  if (!stage.load()) return out.skip(602, "the module cannot be loaded");
  if (stage.record().plugin.load_state == nullptr) return out.ok(602, "it has no state");
  std::string real;
  {
    const auto instance = instance_for(stage, out, 602);
    if (instance == nullptr) return;
    if (auto saved = instance->save(); saved && *saved) real = **saved;
  }
  std::uint64_t seed = 1;
  const Samples samples = samples_of(stage);
  const Patience patience(stage, 4);
  int round = 0;
  for (; round < kStates && (round == 0 || !patience.over()); ++round) {
    const std::string state = random_state(seed, real, round);
    const auto instance = instance_for(stage, out, 602);
    if (instance == nullptr) return;
    out.begin(602, "load_state() of " + std::to_string(state.size()) + " bytes that it did not write");
    (void)!instance->load(state);
    fire(stage, *instance, samples, static_cast<int>(samples.size()));
  }
  out.ok(602, std::to_string(round) + " states");
}

void check_threads(const Subject& subject, Reporter& out) {
  Stage stage(subject);
  out.begin(603, "loading it");
  if (!stage.load()) return out.skip(603, "the module cannot be loaded");
  if (stage.record().plugin.concurrency != AGENTD_CONCURRENT)
    return out.ok(603, "it is not AGENTD_CONCURRENT: its calls are queued");
  const auto instance = instance_for(stage, out, 603);
  if (instance == nullptr) return;
  const Samples samples = samples_of(stage);
  out.begin(603, "calls from 8 threads");
  std::atomic<int> least{kCallsOfAThread};
  std::vector<Thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      const int calls = fire(stage, *instance, samples, kCallsOfAThread);
      int known = least.load();
      while (calls < known && !least.compare_exchange_weak(known, calls)) continue;
    });
  for (Thread& each : threads) each.join();
  out.ok(603, std::to_string(kThreads) + " threads, " + std::to_string(least.load()) + " calls each");
}

void check_twins(const Subject& subject, Reporter& out) {
  Stage stage(subject);
  out.begin(604, "loading it");
  if (!stage.load()) return out.skip(604, "the module cannot be loaded");
  const Samples samples = samples_of(stage);
  std::vector<std::string> alone, beside;
  {
    const auto only = instance_for(stage, out, 604);
    if (only == nullptr) return;
    for (const auto& each : samples) {
      out.begin(604, event_name(each->event()));
      alone.push_back(only->fire(*each).text());
    }
  }
  out.begin(604, "a second instance");
  Instance first(stage), second(stage);
  if (!first.create()) return out.skip(604, "no instance could be made");
  if (const auto made = second.create(); !made)
    return out.broken(604, "a second instance could not be made: " + made.error().message);
  fire(stage, first, samples, static_cast<int>(samples.size()));
  out.begin(604, "the second instance, after the first has ended");
  (void)!first.destroy();
  for (const auto& each : samples) {
    out.begin(604, event_name(each->event()) + ", after the first instance has ended");
    beside.push_back(second.fire(*each).text());
  }
  alone == beside ? out.ok(604, "both give the answers of a single instance")
                  : out.broken(604, "next to another instance it answers differently");
}

}  // namespace

std::vector<Check> endurance_checks() {
  return {{{501}, true, check_calls},     {{502}, true, check_instances}, {{601}, true, check_round_trip},
          {{602}, true, check_any_state}, {{603}, true, check_threads},   {{604}, true, check_twins}};
}

}  // namespace agentd::validation
