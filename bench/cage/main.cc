// SPDX-License-Identifier: Apache-2.0
// bench_cage - a command that does nothing in each layer of the sandbox, next to the same one without and to a bare
// posix_spawn; and calls of tools that only read, at the same time and one after the other.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "bench/cage/reads.h"
#include "core/cage/cage.h"
#include "core/process/process.h"

namespace agentd::bench {
namespace {

constexpr int kRepeats = 101;

// Milliseconds of one command, from its request to its answer; negative: it failed.
double once(CommandCage* cage, const std::string& cwd, const Clock& clock) {
  const std::uint64_t begin = clock.monotonic_ns();
  ProcessRequest request;
  request.argv = {"/bin/true"};
  request.cwd = cwd;
  CagedCommand caged;
  if (cage != nullptr) {
    auto wrapped = cage->wrap(request.argv, cwd, clean_environment());
    if (!wrapped) {
      std::fprintf(stderr, "%s\n", wrapped.error().message.c_str());
      return -1;
    }
    caged = std::move(*wrapped);
    request.argv = caged.argv;
    request.environment = caged.environment;
    for (const UniqueFd& each : caged.descriptors) request.pass.push_back(each.get());
  }
  const auto ran = run_process(request, clock, CancelToken(), Deadline::after(clock, Milliseconds(60'000)));
  if (caged.finish) (void)caged.finish({}, 0);
  if (!ran || ran->exit_code != 0) {
    std::fprintf(stderr, "%s\n", ran ? ran->output.c_str() : ran.error().message.c_str());
    return -1;
  }
  return static_cast<double>(clock.monotonic_ns() - begin) / 1e6;
}

// The same by posix_spawn and waitpid alone.
double once_bare(const Clock& clock) {
  const std::uint64_t begin = clock.monotonic_ns();
  char program[] = "/bin/true";
  char* const argv[] = {program, nullptr};
  pid_t pid = -1;
  int status = 0;
  if (::posix_spawn(&pid, program, nullptr, nullptr, argv, environ) != 0) return -1;
  if (::waitpid(pid, &status, 0) != pid || status != 0) return -1;
  return static_cast<double>(clock.monotonic_ns() - begin) / 1e6;
}

double middle(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times.front() < 0 ? -1 : times[times.size() / 2];
}

double median(CommandCage* cage, const std::string& cwd, const Clock& clock) {
  std::vector<double> times;
  while (times.size() < kRepeats && (times.empty() || times.back() >= 0)) times.push_back(once(cage, cwd, clock));
  return middle(std::move(times));
}

int run() {
  const SystemClock clock;
  std::string cwd = "/var/tmp/agentd-bench-XXXXXX";
  if (::mkdtemp(cwd.data()) == nullptr) return 1;
  const char* const home = std::getenv("HOME");
  std::vector<double> spawned;
  for (int i = 0; i < kRepeats; ++i) spawned.push_back(once_bare(clock));
  const double bare = middle(std::move(spawned));
  std::printf("posix_spawn  %7.2f ms\n", bare);
  const double open = median(nullptr, cwd, clock);
  std::printf("no cage      %7.2f ms, %.1f times\n", open, open / bare);
  for (const cage::Layer layer : {cage::Layer::kLandlock, cage::Layer::kBubblewrap}) {
    const std::string name(cage::name_of(layer));
    const cage::LayerState& state = cage::probe(AGENTD_CAGE).of(layer);
    if (!state.holds) {
      std::printf("%-12s does not hold here: %s\n", name.c_str(), state.why.c_str());
      continue;
    }
    cage::CageSettings settings;
    settings.helper = AGENTD_CAGE;
    settings.user_home = home == nullptr ? "" : home;
    settings.agentd_home = cwd + "-home";  // Landlock alone hides nothing in a workspace
    settings.path = "/usr/bin:/bin";
    settings.roots = {cwd};
    const auto cage = cage::Cage::make(settings, layer);
    if (!cage) {
      std::printf("%-12s cannot be made: %s\n", name.c_str(), cage.error().message.c_str());
      continue;
    }
    const double caged = median(cage->get(), cwd, clock);
    std::printf("%-12s %7.2f ms, %.1f times\n", name.c_str(), caged, caged / bare);
  }
  const bool reads = bench_reads(cwd);
  std::error_code ignored;
  std::filesystem::remove_all(cwd, ignored);
  return reads ? 0 : 1;
}

}  // namespace
}  // namespace agentd::bench

int main() { return agentd::bench::run(); }
