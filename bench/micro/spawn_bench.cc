// SPDX-License-Identifier: Apache-2.0
// What a filter costs, next to the least that can be done for the same program: posix_spawn, two
// pipes, write, read to the end, waitpid. The two take turns, so that whatever else the machine
// does meets both. The aim is held against the fast tenth of each: a new session is a new group for
// the scheduler (sched_autogroup), which a machine that is busy in other sessions lets wait. What
// that makes is told by a third that starts the program in a session of its own and is bare
// otherwise.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "bench/micro/bare_spawn.h"
#include "bench/micro/summary.h"
#include "core/process/filter.h"
#include "core/process/process.h"

namespace agentd::bench {
namespace {

using Steady = std::chrono::steady_clock;

void measure(benchmark::State& state, const Command& command) {
  const SystemClock clock;
  const CancelToken cancel;
  FilterRequest request;
  request.argv = command.argv;
  request.input = command.input;
  request.environment = clean_environment();
  Bare bare(command, request.environment, false), session(command, request.environment, true);
  std::vector<double> filter_ns, bare_ns, session_ns;
  bool right = true;
  const auto time = [&right](std::vector<double>& into, const auto& work) {
    const auto from = Steady::now();
    right = work() && right;
    into.push_back(std::chrono::duration<double, std::nano>(Steady::now() - from).count());
  };
  const auto filter = [&] {
    const auto got = run_filter(request, clock, cancel, Deadline::after(clock, Milliseconds(60'000)));
    return got && got->exit_code == 0 && got->output == command.answer;
  };
  bool filter_first = false;
  for (auto _ : state) {
    filter_first = !filter_first;
    if (filter_first) time(filter_ns, filter);
    time(bare_ns, [&] { return bare.run(); });
    if (!filter_first) time(filter_ns, filter);
    time(session_ns, [&] { return session.run(); });
  }
  if (!right) state.SkipWithError("a program could not be run, or its answer is a wrong one");
  state.counters["filter_ns"] = quantile(filter_ns, 0.1);
  state.counters["ratio"] = quantile(filter_ns, 0.1) / quantile(bare_ns, 0.1);
  state.counters["median_ratio"] = quantile(filter_ns, 0.5) / quantile(bare_ns, 0.5);
  state.counters["session_ratio"] = quantile(filter_ns, 0.5) / quantile(session_ns, 0.5);
}

void FilterTrue(benchmark::State& state) { measure(state, {{"/bin/true"}, "", ""}); }

void FilterShell(benchmark::State& state) {
  const std::string payload(1024, 'x');
  measure(state, {{"/bin/sh", "-c", "cat; echo {}"}, payload, payload + "{}\n"});
}

}  // namespace

void add_spawn_benches(Effort effort) {
  for (auto* const bench : {benchmark::RegisterBenchmark("FilterTrue", FilterTrue),
                            benchmark::RegisterBenchmark("FilterShell", FilterShell)})
    bench->Iterations(effort.times(300))->Repetitions(effort.times(5));
}

}  // namespace agentd::bench
