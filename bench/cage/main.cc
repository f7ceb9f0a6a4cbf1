// SPDX-License-Identifier: Apache-2.0
// bench_cage - a command that does nothing in each layer of the sandbox, next to the same one without and to a bare
// posix_spawn; and calls of tools that only read, at the same time and one after the other.
//
// bench_cage [--once] [--agentd FILE]
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "bench/cage/reads.h"
#include "bench/place.h"
#include "bench/tally.h"
#include "core/cage/cage.h"
#include "core/process/process.h"

namespace agentd::bench {
namespace {

// Milliseconds of one command, from its request to its answer.
double once(CommandCage* cage, const std::string& cwd, const Clock& clock) {
  const std::uint64_t begin = clock.monotonic_ns();
  ProcessRequest request;
  request.argv = {"/bin/true"};
  request.cwd = cwd;
  CagedCommand caged;
  if (cage != nullptr) {
    caged = expect(cage->wrap(request.argv, cwd, clean_environment()));
    request.argv = caged.argv;
    request.environment = caged.environment;
    for (const UniqueFd& each : caged.descriptors) request.pass.push_back(each.get());
  }
  const auto ran = run_process(request, clock, CancelToken(), Deadline::after(clock, Milliseconds(60'000)));
  if (caged.finish) (void)caged.finish({}, 0);
  if (!ran || ran->exit_code != 0) stop(ran ? ran->output : ran.error().message);
  return static_cast<double>(clock.monotonic_ns() - begin) / 1e6;
}

// The same by posix_spawn and waitpid alone.
double once_bare(const Clock& clock) {
  const std::uint64_t begin = clock.monotonic_ns();
  char program[] = "/bin/true";
  char* const argv[] = {program, nullptr};
  pid_t pid = -1;
  int status = 0;
  if (::posix_spawn(&pid, program, nullptr, nullptr, argv, environ) != 0) stop("/bin/true does not start");
  if (::waitpid(pid, &status, 0) != pid || status != 0) stop("/bin/true fails");
  return static_cast<double>(clock.monotonic_ns() - begin) / 1e6;
}

template <typename Work>
double median(int repeats, const Work& work) {
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) times.push_back(work());
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void bench_layers(Tally& tally, const std::string& cwd, int repeats) {
  const SystemClock clock;
  const char* const home = std::getenv("HOME");
  tally.expect("layers", 4);
  const double bare = median(repeats, [&] { return once_bare(clock); });
  std::printf("posix_spawn  %7.2f ms\n", bare);
  tally.measured("layers", {bare});
  const double open = median(repeats, [&] { return once(nullptr, cwd, clock); });
  std::printf("no cage      %7.2f ms, %.1f times\n", open, open / bare);
  tally.measured("layers", {open});
  for (const cage::Layer layer : {cage::Layer::kLandlock, cage::Layer::kBubblewrap}) {
    const std::string name(cage::name_of(layer));
    const cage::LayerState& state = cage::probe(AGENTD_CAGE).of(layer);
    if (!state.holds) {
      tally.left_out("layers", 1, name + " does not hold here: " + state.why);
      continue;
    }
    cage::CageSettings settings;
    settings.helper = AGENTD_CAGE;
    settings.user_home = home == nullptr ? "" : home;
    settings.agentd_home = cwd + "-home";  // Landlock alone hides nothing in a workspace
    settings.path = "/usr/bin:/bin";
    settings.roots = {cwd};
    const auto cage = expect(cage::Cage::make(settings, layer));
    const double caged = median(repeats, [&] { return once(cage.get(), cwd, clock); });
    std::printf("%-12s %7.2f ms, %.1f times\n", name.c_str(), caged, caged / bare);
    tally.measured("layers", {caged});
  }
}

}  // namespace
}  // namespace agentd::bench

int main(int argc, char** argv) {
  using namespace agentd::bench;
  const bool brief = take_word(argc, argv, kOnce);
  std::string agentd = BENCH_AGENTD;
  if (argc == 3 && std::string_view(argv[1]) == "--agentd")
    agentd = argv[2];
  else if (argc != 1) {
    std::fprintf(stderr, "usage: bench_cage [--once] [--agentd FILE]\n");
    return 2;
  }
  Tally tally;
  {
    const Place place("/var/tmp");
    bench_layers(tally, place.path(), brief ? 1 : 101);
    bench_reads(tally, agentd, place.path(), brief);
  }
  return tally.finish();
}
