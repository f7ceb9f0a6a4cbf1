// SPDX-License-Identifier: Apache-2.0
// bench_serve - the daemon with 1,000 and 10,000 sessions, 200 of which are active, each with a reader of its events;
// next to the same sessions, with the same played model, in one process without a daemon.
//
// bench_serve [--once] [--agentd FILE] [--sessions N] [--active N] [--parked N] [DIRECTORY]: the program; the number of
// sessions instead of 1,000 and 10,000; of active ones instead of 200; of those that are parked in the last part
// instead of 2,000 (0 = without it, which takes two minutes). DIRECTORY: where homes are made and removed; the system's
// directory for temporary files unless it is given.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bench/apart.h"
#include "bench/serve/sides.h"
#include "bench/tally.h"

namespace agentd::bench {
namespace {

struct Options {
  std::string agentd = BENCH_AGENTD, parent = std::filesystem::temp_directory_path().string();
  std::vector<std::size_t> sessions{1'000, 10'000};
  std::size_t parked = 2'000;
  Load load{0, 200};
  Milliseconds rest{12'000};  // two rounds of the daemon's care
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (!word.starts_with("--")) {
      options.parent = word;
      continue;
    }
    if (++i == argc) return false;
    const auto number = static_cast<std::size_t>(std::atoi(argv[i]));
    if (word == "--agentd")
      options.agentd = argv[i];
    else if (word == "--sessions")
      options.sessions = {number};
    else if (word == "--active")
      options.load.active = number;
    else if (word == "--parked")
      options.parked = number;
    else
      return false;
  }
  return true;
}

void print_row(std::size_t sessions, const char* where, const Figures& of) {
  std::printf("%8zu %-11s %10.0f %9.0f %8.1f %8.1f %9.0f %9.1f %8.0f %11.0f\n", sessions, where, of.opened_each,
              of.turns, of.p50_ms, of.p99_ms, of.cpu_us, of.kib_each, of.threads, of.descriptors);
}

int run(const Options& options) {
  Tally tally;
  tally.expect("sessions", static_cast<int>(2 * options.sessions.size()));
  std::printf("%zu active ones, an answer of %.0f ms\n%8s %-11s %10s %9s %8s %8s %9s %9s %8s %11s\n",
              options.load.active, kAnswerMs, "sessions", "in", "opened/s", "turns/s", "added ms", "p99 ms", "CPU us",
              "KiB each", "threads", "descriptors");
  for (const std::size_t sessions : options.sessions) {
    Load load = options.load;
    load.sessions = sessions;
    load.active = std::min(load.active, sessions);
    const Figures own = apart([&] { return in_process(options.parent, load); });
    print_row(sessions, "one process", own);
    const Figures daemon = apart([&] { return with_daemon(options.agentd, options.parent, load); });
    print_row(sessions, "the daemon", daemon);
    std::printf("%8s %-11s %10.2f %9.2f %+8.1f %+8.1f %9.2f %9.2f\n", "", "ratio, more",
                daemon.opened_each / own.opened_each, daemon.turns / own.turns, daemon.p50_ms - own.p50_ms,
                daemon.p99_ms - own.p99_ms, daemon.cpu_us / own.cpu_us, daemon.kib_each / own.kib_each);
    for (const Figures& each : {own, daemon})
      tally.measured("sessions", {each.opened_each, each.turns, each.threads, each.descriptors});
    std::fflush(stdout);
  }
  if (options.parked != 0) {
    tally.expect("parked", 1);
    const Parked parked = print_parked(options.agentd, options.parent, options.parked, options.rest);
    tally.measured("parked", {parked.first, parked.idle, parked.left});
  }
  return tally.finish();
}

}  // namespace
}  // namespace agentd::bench

int main(int argc, char** argv) {
  using namespace agentd::bench;
  Options options;
  if (take_word(argc, argv, kOnce)) {
    options.sessions = {8, 16};
    options.parked = 8;
    options.load = {0, 4, 300'000'000, agentd::Milliseconds(100)};
    options.rest = {};
  }
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: bench_serve [--once] [--agentd FILE] [--sessions N] [--active N] [--parked N] [DIRECTORY]\n");
    return 2;
  }
  return run(options);
}
