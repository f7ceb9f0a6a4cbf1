// SPDX-License-Identifier: Apache-2.0
// Runs the micro benches interleaved, so that the ratios are of one run. Flags are Google
// Benchmark's.
#include <benchmark/benchmark.h>

#include <vector>

#include "bench/micro/summary.h"
#include "core/process/births.h"

int main(int argc, char** argv) {
  char repetitions[] = "--benchmark_repetitions=7";
  char interleaving[] = "--benchmark_enable_random_interleaving=true";
  char least_time[] = "--benchmark_min_time=0.03";
  std::vector<char*> arguments(argv, argv + argc);
  // Before the caller's own flags, which win.
  arguments.insert(arguments.begin() + 1, {repetitions, interleaving, least_time});
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  (void)agentd::adopt_orphans();  // as agentd does: what a command leaves behind is not sought in all of /proc
  agentd::bench::add_token_benches();
  agentd::bench::Summary summary;
  benchmark::RunSpecifiedBenchmarks(&summary);
  summary.print();
  benchmark::Shutdown();
  return summary.failed() ? 1 : 0;
}
