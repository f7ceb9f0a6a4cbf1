// SPDX-License-Identifier: Apache-2.0
// bench_sessions - many sessions in one process, on the store on disk: one turn each next to the same number of
// processes, what an idle and a parked one takes, and the turns of 1, 64 and 1,000 that stay active, with a model that
// streams at a pace.
//
// bench_sessions [--once] [--agentd FILE] [--processes N] [DIRECTORY]: the program of the processes, and the most of
// them at the same time: 64 unless it is given, as not every machine takes 1,000. DIRECTORY: where the stores are made
// and removed; the system's directory for temporary files unless it is given.
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/apart.h"
#include "bench/cpu_time.h"
#include "bench/sessions/compare.h"
#include "bench/sessions/one_process.h"
#include "bench/tally.h"
#include "core/agent/waits.h"
#include "core/base/thread.h"

namespace agentd::bench {
namespace {

struct Effort {
  std::array<std::size_t, 3> counts{1, 64, 1'000};
  std::size_t turns = 320, rounds = 40;  // of the turns next to processes: of all rounds, and rounds at most
  std::size_t idle = 10'000, parked = 1'000;
  std::uint64_t active_ns = 5'000'000'000;
  Milliseconds look{2'000};  // when active ones are looked at
};

double resident_kib() { return status_number("self", "VmRSS"); }
double threads_now() { return status_number("self", "Threads"); }

// In 64 threads, whose commits share syncs.
std::vector<std::unique_ptr<Session>> after_one_turn(OneProcess& process, std::size_t count) {
  std::vector<std::unique_ptr<Session>> sessions(count);
  call_together(count, 63, [&](std::size_t i) {
    sessions[i] = process.open();
    process.turn(*sessions[i]);
  });
  return sessions;
}

// Returns the resident KiB.
double print_idle(const std::string& parent, std::size_t count) {
  OneProcess process(parent);
  process.turn(*process.open());  // what is made once
  const double before = resident_kib();
  const auto sessions = after_one_turn(process, count);
  const double kib = resident_kib() - before;
  std::printf(
      "\n%zu idle sessions of one turn: %.1f KiB each, with the pages of the store that are mapped; %.0f threads, "
      "%zu descriptors\n",
      count, kib / static_cast<double>(count), threads_now(), descriptors("self"));
  return before + kib;
}

// A parked run needs no session: whoever has the answer opens the conversation. Returns how many wait.
double print_parked(const std::string& parent, std::size_t count) {
  OneProcess process(parent, OneProcess::Use::kPark);
  process.turn(*process.open());
  const double before = resident_kib(), threads = threads_now();
  const auto open = static_cast<double>(descriptors("self"));
  const auto print = [&](const char* when) {
    std::printf("%zu parked sessions, %s: %.1f KiB each, %.0f more threads, %.0f more descriptors\n", count, when,
                (resident_kib() - before) / static_cast<double>(count), threads_now() - threads,
                static_cast<double>(descriptors("self")) - open);
  };
  auto sessions = after_one_turn(process, count);
  print("still open");
  sessions.clear();
  ::malloc_trim(0);
  print("closed, so that only pages of the store are mapped");
  const auto waits = list_waits(process.store(), process.clock().wall_ms());
  if (!waits) stop(waits.error().message);
  if (waits->size() != count + 1) stop("of the parked sessions, only " + std::to_string(waits->size()) + " wait");
  return static_cast<double>(waits->size());
}

// Returns turns a second.
double print_active(const std::string& parent, std::size_t count, const Effort& effort) {
  OneProcess process(parent);
  const auto sessions = after_one_turn(process, count);
  process.model().set(PacedModel::Answer::kPaced);
  const double resident = resident_kib();
  std::vector<std::vector<double>> each(count);
  std::vector<Thread> threads;
  const double cpu = cpu_ms();
  const std::uint64_t begin = process.clock().monotonic_ns();
  for (std::size_t i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      for (std::uint64_t now = process.clock().monotonic_ns(); now < begin + effort.active_ns;) {
        process.turn(*sessions[i]);
        const std::uint64_t then = std::exchange(now, process.clock().monotonic_ns());
        each[i].push_back(static_cast<double>(now - then) / 1e6 - kAnswerMs);
      }
    });
  process.clock().pause(effort.look);
  const double more = resident_kib() - resident, running = threads_now();
  const std::size_t open = descriptors("self");
  for (Thread& thread : threads) thread.join();
  const double seconds = static_cast<double>(process.clock().monotonic_ns() - begin) / 1e9;
  std::vector<double> all;
  for (const auto& mine : each) all.insert(all.end(), mine.begin(), mine.end());
  std::sort(all.begin(), all.end());
  const auto turns = static_cast<double>(all.size());
  std::printf("%8zu %10.0f %12.1f %10.1f %12.0f %12.1f %10.0f %12zu\n", count, turns / seconds, all[all.size() / 2],
              all[all.size() * 99 / 100], (cpu_ms() - cpu) / turns * 1e3, more / static_cast<double>(count), running,
              open);
  return turns / seconds;
}

struct Options {
  std::string agentd = BENCH_AGENTD, parent = std::filesystem::temp_directory_path().string();
  std::size_t processes = 64;
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (!word.starts_with("--"))
      options.parent = word;
    else if (++i == argc)
      return false;
    else if (word == "--agentd")
      options.agentd = argv[i];
    else if (word == "--processes")
      options.processes = static_cast<std::size_t>(std::atoi(argv[i]));
    else
      return false;
  }
  return true;
}

int run(const Options& options, const Effort& effort) {
  Tally tally;
  tally.expect("idle and parked", 2);
  tally.expect("active", static_cast<int>(effort.counts.size()));
  print_compared_head();
  for (const std::size_t count : effort.counts) {
    if (count > options.processes) {
      std::printf("%8zu not compared: --processes %zu does it\n", count, count);
      continue;
    }
    const std::size_t rounds = std::clamp<std::size_t>(effort.turns / count, 1, effort.rounds);
    const Compared got = apart([&] { return print_compared(options.agentd, options.parent, count, rounds); });
    tally.expect("next to processes", 2);
    tally.measured("next to processes", {got.one_per_second, got.one_mib});
    tally.measured("next to processes", {got.many_per_second, got.many_mib});
  }
  tally.measured("idle and parked", {apart([&] { return print_idle(options.parent, effort.idle); })});
  tally.measured("idle and parked", {apart([&] { return print_parked(options.parent, effort.parked); })});
  std::printf("\nactive, an answer of %.0f ms\n%8s %10s %12s %10s %12s %12s %10s %12s\n", kAnswerMs, "sessions",
              "turns/s", "added ms p50", "p99", "CPU us/turn", "KiB each", "threads", "descriptors");
  for (const std::size_t count : effort.counts)
    tally.measured("active", {apart([&] { return print_active(options.parent, count, effort); })});
  return tally.finish();
}

}  // namespace
}  // namespace agentd::bench

int main(int argc, char** argv) {
  using namespace agentd::bench;
  Options options;
  Effort effort;
  if (take_word(argc, argv, kOnce)) effort = {{1, 4, 16}, 1, 1, 100, 16, 300'000'000, agentd::Milliseconds(100)};
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr, "usage: bench_sessions [--once] [--agentd FILE] [--processes N] [DIRECTORY]\n");
    return 2;
  }
  return run(options, effort);
}
