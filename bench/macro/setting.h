// SPDX-License-Identifier: Apache-2.0
#pragma once
// setting.h - the homes, the configurations and the command lines of everything that is measured, and how
// programs take turns.
//
// Threading: thread-compatible.

#include <cstdio>
#include <string>
#include <vector>

#include "bench/child.h"
#include "bench/macro/model_server.h"
#include "bench/macro/table.h"
#include "tests/support/temp_dir.h"

namespace agentd::bench {

struct Options {
  std::string agentd = BENCH_AGENTD, floor = BENCH_FLOOR, curl = "/usr/bin/curl";
  std::string before;        // another agentd, which takes turns with the first; empty = none
  std::string only;          // one of the benches: turn, learning, plugins, memory, tool, silent; empty = all of them
  std::string home = "all";  // of the command that --serve shows
  int rounds = 40;
  bool once = false;  // one round, with shorter sessions
};

// Which of the two programs.
enum class Build { kNow, kBefore };

class Setting {
 public:
  // `options` outlive it.
  explicit Setting(const Options& options);

  ModelServer& server() { return server_; }
  std::string errors() const { return dir_.file("stderr"); }
  // `home`: "home" as it is installed, "unlearned" without session_memory, "all" with every bundled hook switched on,
  // "plugins0", "plugins1" and "plugins10" with so many isolated plugins that are asked once in a run, "waiting10" with
  // ten that are never asked, "shell10" with ten hooks in sh, "layer-off" and so on with that layer of the sandbox.
  // Each build has homes of its own.
  Program agentd(const std::vector<std::string>& words, const std::string& home = "all",
                 Build build = Build::kNow) const;
  Program turn(const std::string& home = "all", Build build = Build::kNow) const {
    return agentd({"run", "hello"}, home, build);
  }
  // One session of so many messages, from a file.
  Program chat(int turns, const std::string& home) const;
  // `commits`: as many as the agentd makes that it is held against.
  Program floor(const char* commits = "2") const;
  Program curl() const;
  // A run as it is installed, with that sandbox.layer.
  Program tool_run(const std::string& layer) const { return agentd({"run", "go"}, "layer-" + layer); }
  // The tool's command by itself, or in namespaces of its own.
  Program bare_tool(bool bwrap) const;
  // What agentd sends is what the others send.
  void keep_body() const { dir_.write("body.json", server_.last_body()); }
  // Fails unless the server was asked so often since the last set_mode(): a program that fails to ask is fast.
  Result<void> expect_requests(std::size_t count) const;
  bool has_before() const { return !options_.before.empty(); }

 private:
  void make_home(const std::string& name, const std::string& hooks) const;
  void make_homes(const std::string& prefix) const;
  std::vector<std::string> environment() const;

  const Options& options_;
  testing::TempDir dir_;
  ModelServer server_;
};

struct Timed {
  std::string name;
  Program program;
  Samples ms{}, cpu_ms{};
};

// Each once, not counted.
Result<void> warm(const std::vector<Timed>& programs, const std::string& errors);
// A round runs each program once, so that what disturbs the machine disturbs all of them.
Result<void> interleave(std::vector<Timed>& programs, int rounds, const std::string& errors);

void print_times(const char* title, const std::vector<Timed>& programs);
// Of two builds: wall and processors' time of the one to that of the other.
void print_before(const Timed& now, const Timed& before);

}  // namespace agentd::bench
