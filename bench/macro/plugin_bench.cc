// SPDX-License-Identifier: Apache-2.0
#include "bench/macro/plugin_bench.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

namespace agentd::bench {
namespace {

constexpr int kOthers = 1000;
constexpr int kBare = 10;
constexpr double kTenExtraMs = 5.0;
constexpr double kWaitingExtraMs = 1.0;

// Processes that do nothing and end with this one.
class Others {
 public:
  Result<void> start(int count) {
    const pid_t self = ::getpid();
    for (int i = 0; i < count; ++i) {
      const pid_t pid = ::fork();
      if (pid < 0) return errno_error("starting a process that sleeps", errno);
      if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (::getppid() == self) ::pause();
        ::_exit(0);
      }
      pids_.push_back(pid);
    }
    return {};
  }
  ~Others() {
    for (const pid_t pid : pids_) ::kill(pid, SIGKILL);
    for (const pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
  }

 private:
  std::vector<pid_t> pids_;
};

// What ten processes cost that do nothing, one after the other: the least that ten hooks in processes of
// their own could cost by exec.
Result<Times> time_bare(const std::string& errors) {
  const Program nothing{{"/bin/true"}, {}};
  Times sum;
  for (int i = 0; i < kBare; ++i) {
    AGENTD_TRY(const Times one, time_program(nothing, errors));
    sum.wall_ms += one.wall_ms;
    sum.cpu_ms += one.cpu_ms;
  }
  return sum;
}

struct Row {
  const char* name;
  const char* home;
  double limit_ms;  // beyond a run without plugins; 0 = none
};

constexpr Row kRows[] = {{"no plugin", "plugins0", 0},
                         {"1 isolated plugin, asked once", "plugins1", 0},
                         {"10 isolated plugins, asked once", "plugins10", kTenExtraMs},
                         {"10 isolated plugins, never asked", "waiting10", kWaitingExtraMs},
                         {"10 hooks in sh, asked once", "shell10", 0}};

void print_extra(const Timed& row, const Timed& none, double limit_ms) {
  const double extra = differences(row.ms, none.ms).median();
  std::printf("  %-44s %8.2f x wall %8.2f x CPU  %+8.2f ms wall %+8.2f ms CPU", row.name.c_str(),
              ratios(row.ms, none.ms).median(), ratios(row.cpu_ms, none.cpu_ms).median(), extra,
              differences(row.cpu_ms, none.cpu_ms).median());
  if (limit_ms > 0) std::printf("  aim <= %.0f ms wall %s", limit_ms, extra <= limit_ms ? "met" : "MISSED");
  std::printf("\n");
}

void count(Tally& tally, const std::vector<Timed>& rows) {
  for (const Timed& each : rows) tally.measured("plugins", {each.ms.median()});
}

Result<void> bench_rows(Setting& setting, const char* title, int rounds, Tally& tally) {
  std::vector<Timed> now, before;
  for (const Row& row : kRows) {
    now.push_back({row.name, setting.turn(row.home)});
    if (setting.has_before()) before.push_back({row.name, setting.turn(row.home, Build::kBefore)});
  }
  // The first run of a home notes what it finds there.
  AGENTD_TRY_VOID(warm(now, setting.errors()));
  AGENTD_TRY_VOID(warm(before, setting.errors()));
  Timed bare{"10 x /bin/true", {}};
  // Who comes first after another kind of program would pay for what that left in the caches.
  const auto run_once = [&](const std::vector<Timed>& rows) -> Result<void> {
    if (!rows.empty()) AGENTD_TRY_VOID(time_program(rows.front().program, setting.errors()));
    return {};
  };
  for (int round = 0; round < rounds; ++round) {
    AGENTD_TRY_VOID(run_once(now));
    AGENTD_TRY_VOID(interleave(now, 1, setting.errors()));
    AGENTD_TRY_VOID(run_once(before));
    AGENTD_TRY_VOID(interleave(before, 1, setting.errors()));
    AGENTD_TRY(const Times times, time_bare(setting.errors()));
    bare.ms.add(times.wall_ms);
    bare.cpu_ms.add(times.cpu_ms);
  }
  // Each to warm up and in each round, and one more in each.
  const std::size_t each_round = now.size() + 1 + (before.empty() ? 0 : before.size() + 1);
  AGENTD_TRY_VOID(setting.expect_requests(now.size() + before.size() + each_round * static_cast<std::size_t>(rounds)));
  for (const auto& rows : {now, before, std::vector{bare}}) count(tally, rows);
  print_times(title, now);
  print_times("", {bare});
  std::printf(" beyond the run without plugins, medians of the pairs\n");
  for (std::size_t i = 1; i < now.size(); ++i) print_extra(now[i], now[0], kRows[i].limit_ms);
  if (before.empty()) return {};
  std::printf(" the other build\n");
  for (std::size_t i = 1; i < before.size(); ++i) print_extra(before[i], before[0], 0);
  for (std::size_t i = 0; i < now.size(); ++i) print_before(now[i], before[i]);
  return {};
}

}  // namespace

Result<void> bench_plugins(Setting& setting, int rounds, Tally& tally) {
  setting.server().set_mode(ModelServer::Mode::kText);
  AGENTD_TRY_VOID(bench_rows(setting, "isolated plugins, one text turn", rounds, tally));
  setting.server().set_mode(ModelServer::Mode::kText);
  Others others;
  AGENTD_TRY_VOID(others.start(kOthers));
  return bench_rows(setting, "the same beside 1,000 other processes", rounds, tally);
}

}  // namespace agentd::bench
