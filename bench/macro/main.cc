// SPDX-License-Identifier: Apache-2.0
// bench_macro - whole processes against a server on loopback, interleaved round by round.
//
// bench_macro [--once | --rounds N] [--agentd FILE] [--before FILE] [--curl FILE] [--only BENCH]
//             [--ratios=FILE [--keep]]            what moved against the tree's table; --keep: writes it there
// bench_macro --serve|--hold [--agentd FILE] [--home NAME]
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "bench/child.h"
#include "bench/macro/model_server.h"
#include "bench/macro/plugin_bench.h"
#include "bench/macro/setting.h"
#include "bench/macro/table.h"
#include "bench/macro/tool_bench.h"
#include "bench/ratios.h"
#include "bench/tally.h"

namespace agentd::bench {
namespace {

constexpr double kTurnRatio = 2.0, kTurnExtraMs = 2.5;
constexpr double kPrivateDirtyMb = 4.0, kPssRatio = 2.0;
constexpr double kLearningTurnMs = 0.3;
constexpr double kNoRequestRatio = 3.0;

void count(Tally& tally, const char* part, const std::vector<Timed>& programs) {
  for (const Timed& each : programs) tally.measured(part, {each.ms.median()});
}

Result<void> bench_turn(Setting& setting, int rounds, Tally& tally) {
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
  AGENTD_TRY_VOID(setting.expect_requests(programs.size() * static_cast<std::size_t>(rounds)));
  print_times("one text turn of a fresh process", programs);
  count(tally, "turn", programs);
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
Result<void> bench_learning(Setting& setting, const Options& options, Tally& tally) {
  const int rounds = options.once ? 1 : std::max(options.rounds / 4, 3), more = options.once ? 2 : 100;
  const std::string many = std::to_string(1 + more);
  setting.server().set_mode(ModelServer::Mode::kText);
  std::vector<Timed> programs{{"1 turn, memory off", setting.chat(1, "unlearned")},
                              {"1 turn, memory on", setting.chat(1, "home")},
                              {many + " turns, memory off", setting.chat(1 + more, "unlearned")},
                              {many + " turns, memory on", setting.chat(1 + more, "home")}};
  AGENTD_TRY_VOID(warm(programs, setting.errors()));
  AGENTD_TRY_VOID(interleave(programs, rounds, setting.errors()));
  // A round to warm up, in each of which a program of few and one of many turns have memory and have none.
  AGENTD_TRY_VOID(setting.expect_requests(static_cast<std::size_t>((rounds + 1) * 2 * (2 + more))));
  print_times("sessions with and without memory", programs);
  count(tally, "learning", programs);
  const Samples off = differences(programs[2].ms, programs[0].ms), on = differences(programs[3].ms, programs[1].ms);
  print_aim("a turn more with memory on, medians", differences(on, off).median() / more, kLearningTurnMs, "ms");
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

Result<void> bench_memory(Setting& setting, Tally& tally) {
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
  for (const Memory& each : {curl, floor, agentd})
    tally.measured("memory", {each.private_dirty_kb, each.pss_kb, each.rss_kb});
  print_aim("agentd, private dirty", agentd.private_dirty_kb / 1024, kPrivateDirtyMb, "MB");
  print_aim("agentd / curl, PSS", agentd.pss_kb / curl.pss_kb, kPssRatio, "x");
  // A process that shares nothing has its whole resident set for itself.
  print_aim("the same when nothing else maps the libraries", agentd.rss_kb / curl.rss_kb, kPssRatio, "x");
  return {};
}

Result<void> bench_no_request(Setting& setting, int rounds, Tally& tally) {
  std::vector<Timed> programs{{"/bin/true", {{"/bin/true"}, {}}},
                              {"agentd --version", setting.agentd({"--version"})},
                              {"agentd --plugins", setting.agentd({"--plugins"})}};
  if (setting.has_before()) {
    programs.push_back({"before, --version", setting.agentd({"--version"}, "all", Build::kBefore)});
    programs.push_back({"before, --plugins", setting.agentd({"--plugins"}, "all", Build::kBefore)});
  }
  AGENTD_TRY_VOID(interleave(programs, rounds, setting.errors()));
  print_times("commands that talk to nobody", programs);
  count(tally, "silent", programs);
  for (const std::size_t index : {1u, 2u}) {
    const std::string label = programs[index].name + " / true, median of the pairs";
    print_aim(label.c_str(), ratios(programs[index].ms, programs[0].ms).median(), kNoRequestRatio, "x");
  }
  if (!setting.has_before()) return {};
  print_before(programs[1], programs[3]);
  print_before(programs[2], programs[4]);
  return {};
}

// The benches, and how many rows each has; so many more with another build.
struct Part {
  const char* name;
  int rows, before;
};
constexpr Part kParts[] = {
    {"turn", 5, 2},   {"learning", 4, 0},     {"plugins", 2 * kPluginRows, 2 * (kPluginRows - 1)},
    {"memory", 3, 0}, {"tool", kToolRows, 0}, {"silent", 3, 2}};

Result<void> run_parts(Setting& setting, const Options& options, Tally& tally, std::vector<Ratio>& ratios) {
  const auto wanted = [&](std::string_view name) { return options.only.empty() || options.only == name; };
  for (const Part& part : kParts)
    if (wanted(part.name)) tally.expect(part.name, part.rows + (setting.has_before() ? part.before : 0));
  if (wanted("turn")) AGENTD_TRY_VOID(bench_turn(setting, options.rounds, tally));
  if (wanted("learning")) AGENTD_TRY_VOID(bench_learning(setting, options, tally));
  if (wanted("plugins")) AGENTD_TRY_VOID(bench_plugins(setting, options.rounds, tally));
  if (wanted("memory")) AGENTD_TRY_VOID(bench_memory(setting, tally));
  if (wanted("tool")) AGENTD_TRY_VOID(bench_tool(setting, options.rounds, tally, ratios));
  if (wanted("silent")) AGENTD_TRY_VOID(bench_no_request(setting, options.rounds, tally));
  return {};
}

int bench_all(const Options& options, const RatioFile& file) {
  Setting setting(options);
  Tally tally;
  std::vector<Ratio> ratios;
  const auto all = [&]() -> Result<void> {
    // Makes the stores and the request's body, and warms the page cache.
    for (const char* const home : {"home", "all"}) {
      if (setting.has_before()) AGENTD_TRY_VOID(time_program(setting.turn(home, Build::kBefore), setting.errors()));
      AGENTD_TRY_VOID(time_program(setting.turn(home), setting.errors()));
    }
    setting.keep_body();
    AGENTD_TRY_VOID(time_program(setting.floor(), setting.errors()));
    AGENTD_TRY_VOID(time_program(setting.curl(), setting.errors()));
    std::printf("%d rounds, one of each program in turn\n", options.rounds);
    return run_parts(setting, options, tally, ratios);
  };
  const auto done = all();
  if (!done) std::fprintf(stderr, "bench_macro: %s\n", done.error().message.c_str());
  const bool compared = done.has_value() && compare_ratios(file, "bench_macro", ratios);
  return std::max(tally.finish(), compared ? 0 : 1);
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
  const agentd::bench::RatioFile file = agentd::bench::take_ratio_file(argc, argv);
  options.once = agentd::bench::take_word(argc, argv, agentd::bench::kOnce);
  if (options.once && !file.path.empty()) return agentd::bench::refuse_ratios_of_once();
  if (options.once) options.rounds = 1;
  if (!agentd::bench::parse(serves ? 2 : 1, argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: bench_macro [--once | --rounds N] [--agentd FILE] [--before FILE] [--curl FILE]\n"
                 "                   [--only turn|learning|plugins|memory|tool|silent] [--ratios=FILE [--keep]]\n"
                 "       bench_macro --serve|--hold [--agentd FILE] [--home NAME]\n");
    return 2;
  }
  if (serves)
    return agentd::bench::serve(options, first == "--serve" ? ModelServer::Mode::kText : ModelServer::Mode::kHold);
  return agentd::bench::bench_all(options, file);
}
