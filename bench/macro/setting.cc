// SPDX-License-Identifier: Apache-2.0
#include "bench/macro/setting.h"

#include <filesystem>

namespace agentd::bench {
namespace {

constexpr int kPlugins = 10;
constexpr const char* kShellHook = "#!/bin/sh\nif [ \"$1\" = hook ]; then echo agent_stop; fi\n";

std::string module(const char* kind, int number) {
  return std::string(BENCH_HOOKS) + "/" + kind + std::to_string(number) + ".so";
}

}  // namespace

Setting::Setting(const Options& options) : options_(options) {
  for (const char* const name : {"work", "floor"}) std::filesystem::create_directory(dir_.file(name));
  make_homes("");
  if (has_before()) make_homes("before-");
}

void Setting::make_home(const std::string& name, const std::string& hooks) const {
  std::filesystem::create_directories(dir_.file(name) + "/hooks");
  for (const std::string& each : {dir_.file(name), dir_.file(name) + "/hooks"})
    std::filesystem::permissions(each, std::filesystem::perms::owner_all);
  // A run that refines what an earlier one left sends a request more, at a moment of its own.
  dir_.write(name + "/config.yaml", "base_url: " + server_.url() +
                                        "\n"
                                        "model: claude-sonnet-4-5\n"
                                        "permissions:\n  mode: allow\n"
                                        "memory:\n  refine: false\n"
                                        "workspace:\n  roots: [" +
                                        dir_.file("work") + "]\n" + hooks);
}

void Setting::make_homes(const std::string& prefix) const {
  make_home(prefix + "home", "");
  // The bundled hooks lie beside the binary; two of them run only when they are switched on.
  make_home(prefix + "all", "hooks:\n  auto_compact:\n    enabled: true\n  audit_log:\n    enabled: true\n");
  make_home(prefix + "unlearned", "hooks:\n  session_memory:\n    enabled: false\n");
  const auto with_modules = [&](const std::string& name, const char* kind, int count) {
    make_home(prefix + name, "");
    for (int i = 0; i < count; ++i)
      std::filesystem::copy_file(module(kind, i),
                                 dir_.file(prefix + name + "/hooks/" + kind) + std::to_string(i) + ".so");
  };
  with_modules("plugins0", "asked", 0);
  with_modules("plugins1", "asked", 1);
  with_modules("plugins10", "asked", kPlugins);
  with_modules("waiting10", "waiting", kPlugins);
  for (const char* const layer : {"off", "landlock", "bubblewrap"})
    make_home(prefix + "layer-" + layer, std::string("sandbox:\n  layer: ") + layer + "\n");
  make_home(prefix + "shell10", "");
  for (int i = 0; i < kPlugins; ++i) {
    const std::string file = dir_.write(prefix + "shell10/hooks/shell" + std::to_string(i), kShellHook);
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }
}

std::vector<std::string> Setting::environment() const {
  return {"HOME=" + dir_.path(), "PATH=/usr/local/bin:/usr/bin:/bin", "ANTHROPIC_API_KEY=bench", "LANG=C.UTF-8"};
}

Program Setting::agentd(const std::vector<std::string>& words, const std::string& home, Build build) const {
  const bool now = build == Build::kNow;
  Program program{{now ? options_.agentd : options_.before}, environment(), dir_.file("work")};
  program.environment.push_back("AGENTD_HOME=" + dir_.file(now ? home : "before-" + home));
  program.argv.insert(program.argv.end(), words.begin(), words.end());
  return program;
}

Program Setting::bare_tool(bool bwrap) const {
  Program out{{"/bin/bash", "-c", kToolCommand}, environment(), dir_.file("work")};
  if (bwrap)
    out.argv.insert(out.argv.begin(), {"/usr/bin/bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/",
                                       "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"});
  return out;
}

Result<void> Setting::expect_requests(std::size_t count) const {
  const std::size_t came = server_.arrivals().size();
  if (came == count) return {};
  return Error{Code::kUnavailable,
               "the programs sent " + std::to_string(came) + " requests instead of " + std::to_string(count)};
}

Program Setting::chat(int turns, const std::string& home) const {
  std::string lines;
  for (int i = 0; i < turns; ++i) lines += "hello " + std::to_string(i) + "\n";
  const std::string file = dir_.write("chat" + std::to_string(turns), lines);
  Program program = agentd({"chat"}, home);
  program.argv = {"/bin/sh", "-c", "exec \"$1\" chat < \"$2\"", "sh", program.argv.front(), file};
  return program;
}

Program Setting::floor(const char* commits) const {
  return {{options_.floor, server_.url(), dir_.file("floor/store"), dir_.file("body.json"), commits}, environment()};
}

Program Setting::curl() const {
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

Result<void> warm(const std::vector<Timed>& programs, const std::string& errors) {
  for (const Timed& timed : programs) AGENTD_TRY_VOID(time_program(timed.program, errors));
  return {};
}

Result<void> interleave(std::vector<Timed>& programs, int rounds, const std::string& errors) {
  for (int round = 0; round < rounds; ++round) {
    for (Timed& timed : programs) {
      AGENTD_TRY(const Times times, time_program(timed.program, errors));
      timed.ms.add(times.wall_ms);
      timed.cpu_ms.add(times.cpu_ms);
    }
  }
  return {};
}

void print_times(const char* title, const std::vector<Timed>& programs) {
  std::printf("\n%s\n  %-44s %8s %8s %8s    %8s %8s\n", title, "", "min", "median", "max", "CPU min", "median");
  for (const Timed& timed : programs)
    std::printf("  %-44s %8.2f %8.2f %8.2f ms %8.2f %8.2f ms\n", timed.name.c_str(), timed.ms.min(), timed.ms.median(),
                timed.ms.max(), timed.cpu_ms.min(), timed.cpu_ms.median());
}

void print_before(const Timed& now, const Timed& before) {
  std::printf("  %-44s %8.2f x of the pairs' wall, %.2f x of their CPU; minima %.2f x and %.2f x\n",
              (now.name + " / before").c_str(), ratios(now.ms, before.ms).median(),
              ratios(now.cpu_ms, before.cpu_ms).median(), now.ms.min() / before.ms.min(),
              now.cpu_ms.min() / before.cpu_ms.min());
}

}  // namespace agentd::bench
