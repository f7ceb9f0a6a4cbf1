// SPDX-License-Identifier: Apache-2.0
#include "bench/sessions/compare.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <vector>

#include "bench/child.h"
#include "bench/cpu_time.h"
#include "bench/sessions/one_process.h"
#include "core/base/thread.h"

namespace agentd::bench {
namespace {

constexpr double kKibPerMib = 1024;
constexpr Milliseconds kLook{20}, kHoldAtMost{120'000};

// All rounds together.
struct Turns {
  std::vector<double> added_ms;
  double wall_ms = 0, cpu_ms = 0;
};

// While all wait for their answers.
struct Held {
  double mib = 0, threads = 0, descriptors = 0;
};

double ms_since(const Clock& clock, std::uint64_t begin) {
  return static_cast<double>(clock.monotonic_ns() - begin) / 1e6;
}

// Each on a thread of its own, started together; `turn` gives the processor time that this process does not see.
void round_of(const Clock& clock, std::size_t count, Turns& turns, const std::function<double(std::size_t)>& turn) {
  std::vector<double> added(count), cpu(count);
  const std::uint64_t begin = clock.monotonic_ns();
  std::vector<Thread> threads;
  for (std::size_t i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      const std::uint64_t from = clock.monotonic_ns();
      cpu[i] = turn(i);
      added[i] = ms_since(clock, from) - kAnswerMs;
    });
  for (Thread& thread : threads) thread.join();
  turns.wall_ms += ms_since(clock, begin);
  turns.added_ms.insert(turns.added_ms.end(), added.begin(), added.end());
  for (const double each : cpu) turns.cpu_ms += each;
}

void wait_until(const Clock& clock, const std::function<bool()>& ready) {
  for (const Deadline end = Deadline::after(clock, kHoldAtMost); !ready(); clock.pause(kLook))
    if (end.passed(clock)) stop("not all of them have sent a request");
}

// ---- one process

class Sessions {
 public:
  explicit Sessions(const std::string& parent) : process_(parent) {
    process_.turn(*process_.open());  // what is made once
    process_.model().set(PacedModel::Answer::kPaced);
  }

  void round(std::size_t count, Turns& turns) {
    const double before = cpu_ms();
    round_of(process_.clock(), count, turns, [&](std::size_t) {
      process_.turn(*process_.open());
      return 0.0;
    });
    turns.cpu_ms += cpu_ms() - before;
  }

  Held held(std::size_t count) {
    process_.model().set(PacedModel::Answer::kHeld);
    std::vector<Thread> threads;
    for (std::size_t i = 0; i < count; ++i) threads.emplace_back([&] { process_.turn(*process_.open()); });
    wait_until(process_.clock(), [&] { return process_.model().held() == count; });
    const Held out{status_number("self", "VmRSS") / kKibPerMib, status_number("self", "Threads"),
                   static_cast<double>(descriptors("self"))};
    process_.model().set(PacedModel::Answer::kAtOnce);
    for (Thread& thread : threads) thread.join();
    return out;
  }

 private:
  OneProcess process_;
};

// ---- as many processes

class Processes {
 public:
  Processes(std::string agentd, const std::string& parent) : agentd_(std::move(agentd)), directory_(parent) {
    std::filesystem::create_directory(directory_.file("work"));
    std::string text;
    for (int i = 0; i < kPieces; ++i) text += kPiece;
    directory_.write("paced.yaml",
                     "- pace_ms: " + std::to_string(kBetweenPieces.count()) + "\n  text: \"" + text + "\"\n");
    directory_.write("held.yaml", "- delay_ms: " + std::to_string(2 * kHoldAtMost.count()) + "\n  text: late\n");
    Turns unused;
    round(1, unused);  // makes the store
  }

  void round(std::size_t count, Turns& turns) {
    const Program program = run("paced.yaml", {});
    round_of(clock_, count, turns, [&](std::size_t i) {
      const auto times = time_program(program, errors(i));
      if (!times) stop(times.error().message);
      return times->cpu_ms;
    });
  }

  // They are killed: nothing can use the store after it.
  Held held(std::size_t count) {
    const Program program = run("held.yaml", {"--set", "scripted.record=" + directory_.file("requests")});
    std::vector<Child> children;
    for (std::size_t i = 0; i < count; ++i) {
      auto child = Child::start(program, errors(i));
      if (!child) stop(child.error().message);
      children.push_back(std::move(*child));
    }
    wait_until(clock_, [&] {
      const std::string requests = directory_.read("requests");  // a line each
      return static_cast<std::size_t>(std::count(requests.begin(), requests.end(), '\n')) == count;
    });
    Held out;
    for (const Child& child : children) add(child.pid(), out);
    return out;
  }

 private:
  std::string errors(std::size_t i) const { return directory_.file("stderr-" + std::to_string(i)); }

  Program run(const char* script, const std::vector<std::string>& more) const {
    Program program{{agentd_, "run", "--script", directory_.file(script), "--no-hooks", "--no-tools", "--result-only"},
                    {"HOME=" + directory_.path(), "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8",
                     "AGENTD_HOME=" + directory_.file("home")},
                    directory_.file("work")};
    program.argv.insert(program.argv.end(), more.begin(), more.end());
    program.argv.emplace_back("a question of the user");
    return program;
  }

  static void add(pid_t pid, Held& sum) {
    const auto memory = memory_of(pid);
    if (!memory) stop(memory.error().message);
    const std::string text = std::to_string(pid);
    sum.mib += memory->pss_kb / kKibPerMib;
    sum.threads += status_number(text, "Threads");
    sum.descriptors += static_cast<double>(descriptors(text));
  }

  const std::string agentd_;
  const testing::TempDir directory_;
  const SystemClock clock_;
};

// ---- the table

struct Row {
  double wall_ms, per_second, p50, p99, cpu_us, mib, threads, descriptors;
};

Row row_of(Turns turns, std::size_t rounds, const Held& held) {
  std::vector<double>& all = turns.added_ms;
  std::sort(all.begin(), all.end());
  const auto count = static_cast<double>(all.size());
  return {turns.wall_ms / static_cast<double>(rounds),
          count / turns.wall_ms * 1e3,
          all[all.size() / 2],
          all[all.size() * 99 / 100],
          turns.cpu_ms / count * 1e3,
          held.mib,
          held.threads,
          held.descriptors};
}

void print(std::size_t count, const char* in, const Row& row) {
  std::printf("%8zu %-12s %8.0f %8.1f %12.1f %8.1f %12.0f %8.1f %8.0f %11.0f\n", count, in, row.wall_ms, row.per_second,
              row.p50, row.p99, row.cpu_us, row.mib, row.threads, row.descriptors);
}

}  // namespace

void print_compared_head() {
  std::printf(
      "one turn each, started together, an answer of %.0f ms; p50 and p99 of what is added to it. Memory, threads and\n"
      "descriptors while all wait for their answers: the resident set of one process, the sum of the proportional sets "
      "of many\n%8s %-12s %8s %8s %12s %8s %12s %8s %8s %11s\n",
      kAnswerMs, "sessions", "in", "wall ms", "turns/s", "added ms p50", "p99", "CPU us/turn", "MiB", "threads",
      "descriptors");
}

Compared print_compared(const std::string& agentd, const std::string& parent, std::size_t count, std::size_t rounds) {
  Turns of_sessions, of_processes;
  Held held_sessions, held_processes;
  {
    Sessions sessions(parent);
    Processes processes(agentd, parent);
    for (std::size_t i = 0; i < rounds; ++i) {
      sessions.round(count, of_sessions);
      processes.round(count, of_processes);
    }
    held_sessions = sessions.held(count);
    held_processes = processes.held(count);
  }
  const Row one = row_of(std::move(of_sessions), rounds, held_sessions);
  const Row many = row_of(std::move(of_processes), rounds, held_processes);
  print(count, "one process", one);
  print(count, "as many", many);
  std::printf("%8s %-12s %8.2f %8.2f %12.1f %8.1f %12.1f %8.1f %8.1f %11.1f\n", "", "many / one",
              many.wall_ms / one.wall_ms, many.per_second / one.per_second, many.p50 / one.p50, many.p99 / one.p99,
              many.cpu_us / one.cpu_us, many.mib / one.mib, many.threads / one.threads,
              many.descriptors / one.descriptors);
  return {one.per_second, one.mib, many.per_second, many.mib};
}

}  // namespace agentd::bench
