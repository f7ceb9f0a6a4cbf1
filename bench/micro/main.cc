// SPDX-License-Identifier: Apache-2.0
// Runs the micro benches interleaved, so that the ratios are of one run, and prints what moved against the tree's
// table.
//
// bench_micro [--once | --ratios=FILE [--keep]] [flags of Google Benchmark]       --keep: the file gets the run's
// ratios
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "bench/micro/summary.h"
#include "bench/tally.h"
#include "core/process/births.h"

namespace agentd::bench {
namespace {

void add_all(Effort effort) {
  add_compaction_boundary(effort);
  add_hook_benches(effort);
  add_payload_benches(effort);
  add_scrub_benches();
  add_spawn_benches(effort);
  add_token_benches();
  add_worker_benches(effort);
}

// `whole`: no bench was left out by a filter.
int judge(const Summary& summary, std::size_t benches, bool whole, const RatioFile& file) {
  Tally tally;
  tally.expect("benches", static_cast<int>(benches));
  for (const double ns : summary.measured()) tally.measured("benches", {ns});
  std::vector<Ratio> ratios = summary.ratios();
  if (whole) {
    tally.expect("ratios", static_cast<int>(ratios.size()));
    for (const Ratio& each : ratios) tally.measured("ratios", {each.value});
  }
  std::erase_if(ratios, [](const Ratio& each) { return each.value <= 0; });
  const bool compared = compare_ratios(file, "bench_micro", ratios);
  return std::max(tally.finish(), compared ? 0 : 1);
}

}  // namespace
}  // namespace agentd::bench

int main(int argc, char** argv) {
  using namespace agentd::bench;
  const RatioFile file = take_ratio_file(argc, argv);
  const Effort effort{take_word(argc, argv, kOnce)};
  if (effort.once && !file.path.empty()) return refuse_ratios_of_once();
  char repetitions[] = "--benchmark_repetitions=7", one_repetition[] = "--benchmark_repetitions=1";
  char interleaving[] = "--benchmark_enable_random_interleaving=true";
  char least_time[] = "--benchmark_min_time=0.03", little_time[] = "--benchmark_min_time=0.001";
  std::vector<char*> arguments(argv, argv + argc);
  const bool whole = std::none_of(arguments.begin(), arguments.end(), [](const char* each) {
    return std::string_view(each).starts_with("--benchmark_filter");
  });
  // Before the caller's own flags, which win.
  arguments.insert(arguments.begin() + 1,
                   {effort.once ? one_repetition : repetitions, interleaving, effort.once ? little_time : least_time});
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  (void)agentd::adopt_orphans();  // as agentd does: what a command leaves behind is not sought in all of /proc
  add_all(effort);
  Summary summary;
  const std::size_t benches = benchmark::RunSpecifiedBenchmarks(&summary);
  summary.print();
  benchmark::Shutdown();
  return judge(summary, benches, whole, file);
}
