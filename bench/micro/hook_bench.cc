// SPDX-License-Identifier: Apache-2.0
// What an executable hook costs through the dispatcher - payload as JSON, the run, its answer read
// - next to a bare posix_spawn of the same script with the same bytes; and ten observers that wait,
// next to one.
#include <benchmark/benchmark.h>
#include <sys/stat.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "bench/micro/bare_spawn.h"
#include "bench/micro/summary.h"
#include "core/hooks/contract.h"
#include "core/hooks/payload_record.h"
#include "core/host/hook_host.h"
#include "core/process/process.h"
#include "tests/support/host_fixture.h"

namespace agentd::bench {
namespace {

using Steady = std::chrono::steady_clock;
constexpr std::uint32_t kEvent = AGENTD_EVENT_BEFORE_TOOL_CALL;

// The sample of the event, in a directory that is there.
std::string payload_in(const std::string& directory) {
  std::string text = sample_payload(kEvent);
  const std::string key = "\"cwd\":\"";
  const std::size_t from = text.find(key) + key.size();
  return text.replace(from, text.find('"', from) - from, directory);
}

double elapsed_ns(Steady::time_point from) {
  return std::chrono::duration<double, std::nano>(Steady::now() - from).count();
}

using Files = std::vector<std::pair<std::string, std::string>>;  // name and text

// Hooks of a directory, and one event to fire at them.
class Hooks {
 public:
  explicit Hooks(const Files& files) : record_(*PayloadRecord::from_json(payload_in(temp_.path()))) {
    ::mkdir(temp_.file("hooks").c_str(), 0700);
    for (const auto& [name, text] : files) {
      temp_.write("hooks/" + name, text);
      ::chmod(path(name).c_str(), 0755);
    }
    HookHostOptions options;
    options.native.directories = {{temp_.file("hooks"), Precedence::kUser}};
    options.trust_file = temp_.file("trust.json");
    options.project_root = temp_.path();
    host_ = std::make_unique<HookHost>(
        options, ExternalEnvironment{tokens_,
                                     services_,
                                     clock_,
                                     log_,
                                     {},
                                     [](const std::string&) { return std::optional<std::string>(); },
                                     {},
                                     temp_.path(),
                                     ""});
    host_->load_all();
    snapshot_ = std::make_unique<Snapshot>(host_->subscriptions(), std::vector<std::string>{}, clock_);
  }
  ~Hooks() { snapshot_.reset(); }

  std::string path(const std::string& name) const { return temp_.file("hooks/" + name); }
  std::size_t count() const { return snapshot_->entries(kEvent).size(); }
  // True when no hook failed.
  bool fire() {
    const SlotLease slot(tokens_);
    Dispatch event;
    event.event = kEvent;
    event.envelope = record_.envelope();
    event.payload = record_.payload();
    event.slots = &tokens_;
    const auto outcome = dispatch(*snapshot_, *slot, event);
    return !outcome || outcome->failures.empty();
  }

 private:
  agentd::testing::TempDir temp_;
  SystemClock clock_;
  NullLog log_;
  agentd::testing::UnavailableServices services_;
  TokenTable tokens_;
  PayloadRecord record_;
  std::unique_ptr<HookHost> host_;
  std::unique_ptr<Snapshot> snapshot_;
};

void HookExecutable(benchmark::State& state) {
  Hooks hooks(Files{{"quiet", "#!/bin/sh\n[ \"$1\" = hook ] && echo before_tool_call\nexit 0\n"}});
  const Command command{{hooks.path("quiet"), "run"}, sample_payload(kEvent), ""};
  const std::vector<std::string> environment = clean_environment();
  Bare bare(command, environment, false), session(command, environment, true);
  std::vector<double> hook_ns, bare_ns, session_ns;
  bool right = hooks.count() == 1;
  for (auto _ : state) {
    auto from = Steady::now();
    right = hooks.fire() && right;
    hook_ns.push_back(elapsed_ns(from));
    from = Steady::now();
    right = bare.run() && right;
    bare_ns.push_back(elapsed_ns(from));
    from = Steady::now();
    right = session.run() && right;
    session_ns.push_back(elapsed_ns(from));
  }
  if (!right) state.SkipWithError("the hook could not be run");
  state.counters["filter_ns"] = quantile(hook_ns, 0.1);
  state.counters["ratio"] = quantile(hook_ns, 0.1) / quantile(bare_ns, 0.1);
  state.counters["median_ratio"] = quantile(hook_ns, 0.5) / quantile(bare_ns, 0.5);
  state.counters["session_ratio"] = quantile(hook_ns, 0.5) / quantile(session_ns, 0.5);
}

// Ten that each take 50 ms, next to one.
void TenObservers(benchmark::State& state) {
  const std::string text = "on: before_tool_call\nobserve: true\ncommand: sleep 0.05\n";
  Files ten;
  for (int i = 0; i < 10; ++i) ten.emplace_back("o" + std::to_string(i) + ".yaml", text);
  Hooks many(ten), one(Files{{"o.yaml", text}});
  std::vector<double> many_ns, one_ns;
  bool right = many.count() == 10 && one.count() == 1;
  for (auto _ : state) {
    auto from = Steady::now();
    right = many.fire() && right;
    many_ns.push_back(elapsed_ns(from));
    from = Steady::now();
    right = one.fire() && right;
    one_ns.push_back(elapsed_ns(from));
  }
  if (!right) state.SkipWithError("an observer could not be run");
  state.counters["many_ns"] = quantile(many_ns, 0.5);
  state.counters["ratio"] = quantile(many_ns, 0.5) / quantile(one_ns, 0.5);
}

}  // namespace

void add_hook_benches(Effort effort) {
  benchmark::RegisterBenchmark("HookExecutable", HookExecutable)
      ->Iterations(effort.times(200))
      ->Repetitions(effort.times(5));
  benchmark::RegisterBenchmark("TenObservers", TenObservers)
      ->Iterations(effort.times(10))
      ->Repetitions(effort.times(3));
}

}  // namespace agentd::bench
