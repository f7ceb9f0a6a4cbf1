// SPDX-License-Identifier: Apache-2.0
// Runs the micro benches interleaved, so that the ratios are of one run, and prints what moved against the tree's
// table.
//
// bench_micro [--ratios=FILE [--keep]] [flags of Google Benchmark]       --keep: the file gets the run's ratios
#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "bench/micro/summary.h"
#include "core/base/file.h"
#include "core/process/births.h"

namespace agentd::bench {
namespace {

constexpr std::uint64_t kTableBytesMax = 1u << 20;

struct Table {
  std::string file;  // empty = none
  bool keep = false;
};

// Takes its own flags out of `arguments`.
Table take_flags(std::vector<char*>& arguments) {
  Table out;
  std::erase_if(arguments, [&](const char* argument) {
    const std::string_view text = argument, ratios = "--ratios=";
    if (text.starts_with(ratios)) out.file = text.substr(ratios.size());
    if (text == "--keep") out.keep = true;
    return text.starts_with(ratios) || text == "--keep";
  });
  return out;
}

// False if the table can be neither read nor written.
bool compare(const Table& table, const std::vector<Ratio>& now) {
  if (table.file.empty()) return true;
  const auto before = read_file(table.file, kTableBytesMax);
  if (!before && before.error().code != Code::kNotFound) {
    std::fprintf(stderr, "bench_micro: %s\n", before.error().message.c_str());
    return false;
  }
  const std::string text = before ? *before : std::string();
  const std::string moved = moved_ratios(text, now);
  std::printf("\nwhat moved against %s%s\n%s", table.file.c_str(), moved.empty() ? ": nothing" : "", moved.c_str());
  if (!table.keep) return true;
  const auto written = write_file_atomically(table.file, with_ratios(text, now), 0644);
  if (!written) std::fprintf(stderr, "bench_micro: %s\n", written.error().message.c_str());
  return written.has_value();
}

}  // namespace
}  // namespace agentd::bench

int main(int argc, char** argv) {
  char repetitions[] = "--benchmark_repetitions=7";
  char interleaving[] = "--benchmark_enable_random_interleaving=true";
  char least_time[] = "--benchmark_min_time=0.03";
  std::vector<char*> arguments(argv, argv + argc);
  const agentd::bench::Table table = agentd::bench::take_flags(arguments);
  // Before the caller's own flags, which win.
  arguments.insert(arguments.begin() + 1, {repetitions, interleaving, least_time});
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  (void)agentd::adopt_orphans();  // as agentd does: what a command leaves behind is not sought in all of /proc
  agentd::bench::add_token_benches();
  agentd::bench::add_scrub_benches();
  agentd::bench::Summary summary;
  benchmark::RunSpecifiedBenchmarks(&summary);
  summary.print();
  const bool compared = agentd::bench::compare(table, summary.ratios());
  benchmark::Shutdown();
  return summary.failed() || !compared ? 1 : 0;
}
