// SPDX-License-Identifier: Apache-2.0
// bench_macro - whole processes against a server on loopback, interleaved round by round.
//
// bench_macro [--rounds N] [--agentd FILE] [--before FILE] [--curl FILE] [--only BENCH]
// bench_macro --serve|--hold [--agentd FILE] [--home NAME]
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "bench/macro/child.h"
#include "bench/macro/model_server.h"
#include "bench/macro/plugin_bench.h"
#include "bench/macro/setting.h"
#include "bench/macro/table.h"

namespace agentd::bench {
namespace {

constexpr double kTurnRatio = 2.0, kTurnExtraMs = 2.5;
constexpr double kPrivateDirtyMb = 4.0, kPssRatio = 2.0;
constexpr double kToolExtraMs = 3.0;
constexpr double kLearningTurnMs = 0.3;
constexpr double kNoRequestRatio = 3.0;

Result<void> bench_turn(Setting& setting, int rounds) {
  setting.server().set_mode(ModelServer::Mode::kText);
  std::vector<Timed> programs{{"curl", setting.curl()},
                              {"floor, two commits", setting.floor("2")},
                              {"agentd run, as installed", setting.turn("home")},
                              {"floor, three commits", setting.floor("3")},
                              {"agentd run, all bundled hooks on", setting.turn()}};
  if (setting.has_before()) {
    programs.push_back({"before, as installed", setting.turn("home", Build::kBefore)});
    programs.push_back({"before, all bundled hooks on", setting.turn("all", Build::kBefore)});
  }
  AGENTD_TRY_VOID(interleave(programs, rounds, setting.errors()));
  print_times("one text turn of a fresh process", programs);
  const Samples& curl = programs[0].ms;
  for (const std::size_t index : {2u, 4u}) {
    const Samples &floor = programs[index - 1].ms, &agentd = programs[index].ms;
    std::printf(" %s, medians of the pairs\n", programs[index].name.c_str());
    print_aim("agentd / curl", ratios(agentd, curl).median(), kTurnRatio, "x");
    print_aim("agentd - floor", differences(agentd, floor).median(), kTurnExtraMs, "ms");
  }
  print_samples("floor / curl", ratios(programs[1].ms, curl), "x");
  if (!setting.has_before()) return {};
  print_before(programs[2], programs[5]);
  print_before(programs[4], programs[6]);
  return {};
}

// What a turn and a session cost more where they are learned from: sessions of one turn and of many, whose difference
// is turns alone.
Result<void> bench_learning(Setting& setting, int rounds) {
  constexpr int kTurns = 100;
  setting.server().set_mode(ModelServer::Mode::kText);
  std::vector<Timed> programs{{"1 turn, memory off", setting.chat(1, "unlearned")},
                              {"1 turn, memory on", setting.chat(1, "home")},
                              {"101 turns, memory off", setting.chat(1 + kTurns, "unlearned")},
                              {"101 turns, memory on", setting.chat(1 + kTurns, "home")}};
  AGENTD_TRY_VOID(warm(programs, setting.errors()));
  AGENTD_TRY_VOID(interleave(programs, rounds, setting.errors()));
  print_times("sessions with and without memory", programs);
  const Samples off = differences(programs[2].ms, programs[0].ms), on = differences(programs[3].ms, programs[1].ms);
  print_aim("a turn more with memory on, medians", differences(on, off).median() / kTurns, kLearningTurnMs, "ms");
  print_samples("a session of one turn more", differences(programs[1].ms, programs[0].ms), "ms");
  return {};
}

// Runs until `count` requests are there, and a moment longer, for what was sent to be read.
Result<Memory> held_memory(Setting& setting, const Program& program) {
  setting.server().set_mode(ModelServer::Mode::kHold);
  AGENTD_TRY(const Child child, Child::start(program, setting.errors()));
  for (int waited = 0; setting.server().arrivals().empty(); ++waited) {
    if (waited == 1000) return Error{Code::kUnavailable, "no request came to the server"};
    ::poll(nullptr, 0, 10);
  }
  ::poll(nullptr, 0, 500);
  return memory_of(child.pid());
}

void print_memory(const char* name, const Memory& memory) {
  std::printf("  %-20s %2d process%s %10.2f %10.2f %10.2f\n", name, memory.processes,
              memory.processes == 1 ? "  " : "es", memory.private_dirty_kb / 1024, memory.pss_kb / 1024,
              memory.rss_kb / 1024);
}

Result<void> bench_memory(Setting& setting) {
  // Pages of a program that was just built are dirty until they are on the disk.
  ::sync();
  AGENTD_TRY(const Memory curl, held_memory(setting, setting.curl()));
  AGENTD_TRY(const Memory floor, held_memory(setting, setting.floor()));
  AGENTD_TRY(const Memory agentd, held_memory(setting, setting.turn()));
  std::printf("\nmemory while the server holds the response open, MB\n  %-33s %10s %10s %10s\n", "", "priv.dirty",
              "PSS", "RSS");
  print_memory("curl", curl);
  print_memory("floor", floor);
  print_memory("agentd, all hooks on", agentd);
  print_aim("agentd, private dirty", agentd.private_dirty_kb / 1024, kPrivateDirtyMb, "MB");
  print_aim("agentd / curl, PSS", agentd.pss_kb / curl.pss_kb, kPssRatio, "x");
  // A process that shares nothing has its whole resident set for itself.
  print_aim("the same when nothing else maps the libraries", agentd.rss_kb / curl.rss_kb, kPssRatio, "x");
  return {};
}

Result<void> bench_tool(Setting& setting, int rounds) {
  Samples gap, bare;
  for (int round = 0; round < rounds; ++round) {
    setting.server().set_mode(ModelServer::Mode::kTool);
    AGENTD_TRY_VOID(time_program(setting.turn(), setting.errors()));
    const auto arrivals = setting.server().arrivals();
    if (arrivals.size() != 2 || setting.server().last_body().find(kToolOutput) == std::string::npos)
      return Error{Code::kUnavailable, "the run did not send the tool's output with a second request: " +
                                           setting.server().last_body().substr(0, 2000)};
    gap.add(std::chrono::duration<double, std::milli>(arrivals[1] - arrivals[0]).count());
    AGENTD_TRY(const Times times, time_program(setting.tool(), setting.errors()));
    bare.add(times.wall_ms);
  }
  std::printf("\nfrom a tool call to the next request\n  %-44s %8s %8s %8s\n", "", "min", "median", "max");
  print_samples("request to request, with a bash command", gap, "ms");
  print_samples("the same command by posix_spawn", bare, "ms");
  print_aim("beyond the tool, median of the pairs", differences(gap, bare).median(), kToolExtraMs, "ms");
  return {};
}

Result<void> bench_no_request(Setting& setting, int rounds) {
  std::vector<Timed> programs{{"/bin/true", {{"/bin/true"}, {}}},
                              {"agentd --version", setting.agentd({"--version"})},
                              {"agentd --plugins", setting.agentd({"--plugins"})}};
  if (setting.has_before()) {
    programs.push_back({"before, --version", setting.agentd({"--version"}, "all", Build::kBefore)});
    programs.push_back({"before, --plugins", setting.agentd({"--plugins"}, "all", Build::kBefore)});
  }
  AGENTD_TRY_VOID(interleave(programs, rounds, setting.errors()));
  print_times("commands that talk to nobody", programs);
  for (const std::size_t index : {1u, 2u}) {
    const std::string label = programs[index].name + " / true, median of the pairs";
    print_aim(label.c_str(), ratios(programs[index].ms, programs[0].ms).median(), kNoRequestRatio, "x");
  }
  if (!setting.has_before()) return {};
  print_before(programs[1], programs[3]);
  print_before(programs[2], programs[4]);
  return {};
}

Result<void> bench_all(const Options& options) {
  Setting setting(options);
  // Makes the stores and the request's body, and warms the page cache.
  for (const char* const home : {"home", "all"}) {
    if (setting.has_before()) AGENTD_TRY_VOID(time_program(setting.turn(home, Build::kBefore), setting.errors()));
    AGENTD_TRY_VOID(time_program(setting.turn(home), setting.errors()));
  }
  setting.keep_body();
  AGENTD_TRY_VOID(time_program(setting.floor(), setting.errors()));
  AGENTD_TRY_VOID(time_program(setting.curl(), setting.errors()));
  std::printf("%d rounds, one of each program in turn\n", options.rounds);
  const auto wanted = [&](const char* name) { return options.only.empty() || options.only == name; };
  if (wanted("turn")) AGENTD_TRY_VOID(bench_turn(setting, options.rounds));
  if (wanted("learning")) AGENTD_TRY_VOID(bench_learning(setting, std::max(options.rounds / 4, 3)));
  if (wanted("plugins")) AGENTD_TRY_VOID(bench_plugins(setting, options.rounds));
  if (wanted("memory")) AGENTD_TRY_VOID(bench_memory(setting));
  if (wanted("tool")) AGENTD_TRY_VOID(bench_tool(setting, options.rounds));
  if (wanted("silent")) AGENTD_TRY_VOID(bench_no_request(setting, options.rounds));
  return {};
}

// For a profiler: the server alone, and what is to be run against it.
int serve(const Options& options, ModelServer::Mode mode) {
  Setting setting(options);
  setting.server().set_mode(mode);
  const auto show = [](const Program& program) {
    for (const auto* const part : {&program.environment, &program.argv})
      for (const std::string& word : *part) std::printf("'%s' ", word.c_str());
    std::printf("\n");
  };
  std::printf("env -i ");
  show(setting.turn(options.home));
  std::printf("until standard input ends\n");
  while (std::getchar() != EOF) {
  }
  return 0;
}

// From `argv[first]` on.
bool parse(int first, int argc, char** argv, Options& options) {
  for (int i = first; i < argc; i += 2) {
    if (i + 1 == argc) return false;
    const std::string_view name = argv[i];
    const char* const value = argv[i + 1];
    if (name == "--rounds")
      options.rounds = std::atoi(value);
    else if (name == "--agentd")
      options.agentd = value;
    else if (name == "--before")
      options.before = value;
    else if (name == "--curl")
      options.curl = value;
    else if (name == "--only")
      options.only = value;
    else if (name == "--home")
      options.home = value;
    else
      return false;
  }
  return options.rounds > 0;
}

}  // namespace
}  // namespace agentd::bench

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  using agentd::bench::ModelServer;
  const std::string_view first = argc > 1 ? argv[1] : "";
  const bool serves = first == "--serve" || first == "--hold";
  agentd::bench::Options options;
  if (!agentd::bench::parse(serves ? 2 : 1, argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: bench_macro [--rounds N] [--agentd FILE] [--before FILE] [--curl FILE]\n"
                 "                   [--only turn|plugins|memory|tool|silent]\n"
                 "       bench_macro --serve|--hold [--agentd FILE] [--home NAME]\n");
    return 2;
  }
  if (serves)
    return agentd::bench::serve(options, first == "--serve" ? ModelServer::Mode::kText : ModelServer::Mode::kHold);
  const auto done = agentd::bench::bench_all(options);
  if (done) return 0;
  std::fprintf(stderr, "bench_macro: %s\n", done.error().message.c_str());
  return 1;
}
