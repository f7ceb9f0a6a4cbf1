// SPDX-License-Identifier: Apache-2.0
// bench_macro - whole processes against a server on loopback, interleaved round by round.
//
// bench_macro [--rounds N] [--agentd FILE] [--curl FILE] | --serve | --hold
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "bench/macro/child.h"
#include "bench/macro/model_server.h"
#include "bench/macro/table.h"
#include "tests/support/temp_dir.h"

namespace agentd::bench {
namespace {

constexpr double kTurnRatio = 2.0, kTurnExtraMs = 2.5;
constexpr double kPrivateDirtyMb = 4.0, kPssRatio = 2.0;
constexpr double kToolExtraMs = 3.0;
constexpr double kNoRequestRatio = 3.0;

struct Options {
  std::string agentd = BENCH_AGENTD, floor = BENCH_FLOOR, curl = "/usr/bin/curl";
  int rounds = 40;
};

// The homes, the configuration and the command lines of everything that is measured.
class Setting {
 public:
  explicit Setting(const Options& options) : options_(options) {
    for (const char* const name : {"home", "all", "work", "floor"})
      std::filesystem::create_directory(dir_.file(name));
    for (const char* const home : {"home", "all"})
      std::filesystem::permissions(dir_.file(home), std::filesystem::perms::owner_all);
    const std::string common = "base_url: " + server_.url() +
                               "\n"
                               "model: claude-sonnet-4-5\n"
                               "permissions:\n  mode: allow\n"
                               "workspace:\n  roots: [" +
                               dir_.file("work") + "]\n";
    // The bundled hooks lie beside the binary; two of them run only when they are switched on.
    dir_.write("home/config.yaml", common);
    dir_.write(
        "all/config.yaml",
        common + "hooks:\n  auto_compact:\n    enabled: true\n  audit_log:\n    enabled: true\n");
  }

  ModelServer& server() { return server_; }
  std::string errors() const { return dir_.file("stderr"); }
  // `home`: "home" as it is installed, "all" with every bundled hook switched on.
  Program agentd(const std::vector<std::string>& words, const char* home = "all") const {
    Program program{{options_.agentd}, environment()};
    program.environment.push_back("AGENTD_HOME=" + dir_.file(home));
    program.argv.insert(program.argv.end(), words.begin(), words.end());
    return program;
  }
  Program turn(const char* home = "all") const { return agentd({"run", "hello"}, home); }
  // `commits`: as many as the agentd makes that it is held against.
  Program floor(const char* commits = "2") const {
    return {{options_.floor, server_.url(), dir_.file("floor/store"), dir_.file("body.json"), commits},
            environment()};
  }
  Program curl() const {
    return {{options_.curl,
             "--silent",
             "--show-error",
             "--fail",
             "--no-buffer",
             "--noproxy",
             "*",
             "-H",
             "content-type: application/json",
             "-H",
             "accept: text/event-stream",
             "-H",
             "anthropic-version: 2023-06-01",
             "-H",
             "x-api-key: bench",
             "-H",
             "Expect:",
             "--data-binary",
             "@" + dir_.file("body.json"),
             server_.url() + "/v1/messages"},
            environment()};
  }
  Program tool() const { return {{"/bin/bash", "-c", kToolCommand}, environment()}; }
  // What agentd sends is what the others send.
  void keep_body() const { dir_.write("body.json", server_.last_body()); }

 private:
  std::vector<std::string> environment() const {
    return {"HOME=" + dir_.path(), "PATH=/usr/local/bin:/usr/bin:/bin", "ANTHROPIC_API_KEY=bench",
            "LANG=C.UTF-8"};
  }

  const Options& options_;
  testing::TempDir dir_;
  ModelServer server_;
};

struct Timed {
  const char* name;
  Program program;
  Samples ms{};
};

// A round runs each program once, so that what disturbs the machine disturbs all of them.
Result<void> interleave(std::vector<Timed>& programs, int rounds, const std::string& errors) {
  for (int round = 0; round < rounds; ++round) {
    for (Timed& timed : programs) {
      AGENTD_TRY(const double ms, time_program(timed.program, errors));
      timed.ms.add(ms);
    }
  }
  return {};
}

void print_times(const char* title, const std::vector<Timed>& programs) {
  std::printf("\n%s\n  %-44s %8s %8s %8s\n", title, "", "min", "median", "max");
  for (const Timed& timed : programs) print_samples(timed.name, timed.ms, "ms");
}

Result<void> bench_turn(Setting& setting, int rounds) {
  setting.server().set_mode(ModelServer::Mode::kText);
  std::vector<Timed> programs{{"curl", setting.curl()},
                              {"floor, two commits", setting.floor("2")},
                              {"agentd run, as installed", setting.turn("home")},
                              {"floor, three commits", setting.floor("3")},
                              {"agentd run, all bundled hooks on", setting.turn()}};
  AGENTD_TRY_VOID(interleave(programs, rounds, setting.errors()));
  print_times("one text turn of a fresh process", programs);
  const Samples& curl = programs[0].ms;
  for (const std::size_t index : {2u, 4u}) {
    const Samples &floor = programs[index - 1].ms, &agentd = programs[index].ms;
    std::printf(" %s, medians of the pairs\n", programs[index].name);
    print_aim("agentd / curl", ratios(agentd, curl).median(), kTurnRatio, "x");
    print_aim("agentd - floor", differences(agentd, floor).median(), kTurnExtraMs, "ms");
  }
  print_samples("floor / curl", ratios(programs[1].ms, curl), "x");
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
              memory.processes == 1 ? "  " : "es", memory.private_dirty_kb / 1024,
              memory.pss_kb / 1024, memory.rss_kb / 1024);
}

Result<void> bench_memory(Setting& setting) {
  // Pages of a program that was just built are dirty until they are on the disk.
  ::sync();
  AGENTD_TRY(const Memory curl, held_memory(setting, setting.curl()));
  AGENTD_TRY(const Memory floor, held_memory(setting, setting.floor()));
  AGENTD_TRY(const Memory agentd, held_memory(setting, setting.turn()));
  std::printf("\nmemory while the server holds the response open, MB\n  %-33s %10s %10s %10s\n", "",
              "priv.dirty", "PSS", "RSS");
  print_memory("curl", curl);
  print_memory("floor", floor);
  print_memory("agentd, all hooks on", agentd);
  print_aim("agentd, private dirty", agentd.private_dirty_kb / 1024, kPrivateDirtyMb, "MB");
  print_aim("agentd / curl, PSS", agentd.pss_kb / curl.pss_kb, kPssRatio, "x");
  // A process that shares nothing has its whole resident set for itself.
  print_aim("the same when nothing else maps the libraries", agentd.rss_kb / curl.rss_kb, kPssRatio,
            "x");
  return {};
}

Result<void> bench_tool(Setting& setting, int rounds) {
  Samples gap, bare;
  for (int round = 0; round < rounds; ++round) {
    setting.server().set_mode(ModelServer::Mode::kTool);
    AGENTD_TRY_VOID(time_program(setting.turn(), setting.errors()));
    const auto arrivals = setting.server().arrivals();
    if (arrivals.size() != 2 || setting.server().last_body().find(kToolOutput) == std::string::npos)
      return Error{Code::kUnavailable,
                   "the run did not send the tool's output with a second request: " +
                       setting.server().last_body().substr(0, 2000)};
    gap.add(std::chrono::duration<double, std::milli>(arrivals[1] - arrivals[0]).count());
    AGENTD_TRY(const double ms, time_program(setting.tool(), setting.errors()));
    bare.add(ms);
  }
  std::printf("\nfrom a tool call to the next request\n  %-44s %8s %8s %8s\n", "", "min", "median",
              "max");
  print_samples("request to request, with a bash command", gap, "ms");
  print_samples("the same command by posix_spawn", bare, "ms");
  print_aim("beyond the tool, median of the pairs", differences(gap, bare).median(), kToolExtraMs,
            "ms");
  return {};
}

Result<void> bench_no_request(Setting& setting, int rounds) {
  std::vector<Timed> programs{{"/bin/true", {{"/bin/true"}, {}}},
                              {"agentd --version", setting.agentd({"--version"})},
                              {"agentd --plugins", setting.agentd({"--plugins"})}};
  AGENTD_TRY_VOID(interleave(programs, rounds, setting.errors()));
  print_times("commands that talk to nobody", programs);
  for (const std::size_t index : {1u, 2u}) {
    const std::string label = std::string(programs[index].name) + " / true, median of the pairs";
    print_aim(label.c_str(), ratios(programs[index].ms, programs[0].ms).median(), kNoRequestRatio,
              "x");
  }
  return {};
}

Result<void> bench_all(const Options& options) {
  Setting setting(options);
  // Makes the stores and the request's body, and warms the page cache.
  AGENTD_TRY_VOID(time_program(setting.turn("home"), setting.errors()));
  AGENTD_TRY_VOID(time_program(setting.turn(), setting.errors()));
  setting.keep_body();
  AGENTD_TRY_VOID(time_program(setting.floor(), setting.errors()));
  AGENTD_TRY_VOID(time_program(setting.curl(), setting.errors()));
  std::printf("%d rounds, one of each program in turn\n", options.rounds);
  AGENTD_TRY_VOID(bench_turn(setting, options.rounds));
  AGENTD_TRY_VOID(bench_memory(setting));
  AGENTD_TRY_VOID(bench_tool(setting, options.rounds));
  return bench_no_request(setting, options.rounds);
}

// For a profiler: the server alone, and what is to be run against it.
int serve(ModelServer::Mode mode) {
  const Options options;
  Setting setting(options);
  setting.server().set_mode(mode);
  const auto show = [](const Program& program) {
    for (const auto* const part : {&program.environment, &program.argv})
      for (const std::string& word : *part) std::printf("'%s' ", word.c_str());
    std::printf("\n");
  };
  std::printf("env -i ");
  show(setting.turn());
  std::printf("until standard input ends\n");
  while (std::getchar() != EOF) {
  }
  return 0;
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) return false;
    if (std::strcmp(argv[i], "--rounds") == 0)
      options.rounds = std::atoi(argv[i + 1]);
    else if (std::strcmp(argv[i], "--agentd") == 0)
      options.agentd = argv[i + 1];
    else if (std::strcmp(argv[i], "--curl") == 0)
      options.curl = argv[i + 1];
    else
      return false;
  }
  return options.rounds > 0;
}

}  // namespace
}  // namespace agentd::bench

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (argc == 2 && std::strcmp(argv[1], "--serve") == 0)
    return agentd::bench::serve(agentd::bench::ModelServer::Mode::kText);
  if (argc == 2 && std::strcmp(argv[1], "--hold") == 0)
    return agentd::bench::serve(agentd::bench::ModelServer::Mode::kHold);
  agentd::bench::Options options;
  if (!agentd::bench::parse(argc, argv, options)) {
    std::fprintf(
        stderr,
        "usage: bench_macro [--rounds N] [--agentd FILE] [--curl FILE] | --serve | --hold\n");
    return 2;
  }
  const auto done = agentd::bench::bench_all(options);
  if (done) return 0;
  std::fprintf(stderr, "bench_macro: %s\n", done.error().message.c_str());
  return 1;
}
