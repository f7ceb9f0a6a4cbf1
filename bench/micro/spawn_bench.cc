// SPDX-License-Identifier: Apache-2.0
// What a filter costs, next to the least that can be done for the same program: posix_spawn, two
// pipes, write, read to the end, waitpid. The two take turns, so that whatever else the machine
// does meets both. The aim is held against the fast tenth of each: a new session is a new group for
// the scheduler (sched_autogroup), which a machine that is busy in other sessions lets wait. What
// that makes is told by a third that starts the program in a session of its own and is bare
// otherwise.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "core/process/filter.h"
#include "core/process/process.h"

namespace agentd::bench {
namespace {

using Steady = std::chrono::steady_clock;

struct Command {
  std::vector<std::string> argv;
  std::string input, answer;
};

class Bare {
 public:
  Bare(const Command& command, const std::vector<std::string>& environment, bool session)
      : argv_(pointers(command.argv)), environment_(pointers(environment)), command_(command) {
    ::posix_spawnattr_init(&attributes_);
    if (session) ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSID);
  }
  ~Bare() { ::posix_spawnattr_destroy(&attributes_); }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;

  // True when the answer is the right one.
  bool run() {
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) return false;
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    pid_t pid = -1;
    const int failed =
        ::posix_spawn(&pid, argv_[0], &actions, &attributes_, argv_.data(), environment_.data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(out[1]);
    // Our own read end is still open: a program that has gone already raises no signal.
    const ssize_t wrote = ::write(in[1], command_.input.data(), command_.input.size());
    ::close(in[0]);
    ::close(in[1]);
    const std::string answer = read_all(out[0]);
    ::close(out[0]);
    int status = 0;
    return failed == 0 && wrote >= 0 && ::waitpid(pid, &status, 0) == pid && status == 0 &&
           answer == command_.answer;
  }

 private:
  static std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
    out.push_back(nullptr);
    return out;
  }

  static std::string read_all(int fd) {
    std::string out;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof buffer)) > 0;)
      out.append(buffer, static_cast<std::size_t>(got));
    return out;
  }

  const std::vector<char*> argv_, environment_;
  const Command& command_;
  posix_spawnattr_t attributes_;
};

// What `share` of the values stay under.
double quantile(std::vector<double>& values, double share) {
  const double at = share * static_cast<double>(values.size());
  const auto there = values.begin() + static_cast<std::ptrdiff_t>(at);
  std::nth_element(values.begin(), there, values.end());
  return *there;
}

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
    const auto got =
        run_filter(request, clock, cancel, Deadline::after(clock, Milliseconds(60'000)));
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

BENCHMARK(FilterTrue)->Iterations(300)->Repetitions(5);
BENCHMARK(FilterShell)->Iterations(300)->Repetitions(5);

}  // namespace
}  // namespace agentd::bench
