// SPDX-License-Identifier: Apache-2.0
#include "bench/cage/reads.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include "bench/macro/child.h"

namespace agentd::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kCalls = 8;  // as many as run at the same time
constexpr int kRounds = 15;
constexpr int kFiles = 160, kLines = 2'000;  // of each of the eight directories

// The calls of a turn, or of a turn each.
enum class Order { kOneAnswer, kAnswerEach };

std::string script(const std::string& tool, const std::string& key, const std::string& rest, const char* names,
                   Order order) {
  std::string out;
  for (int i = 0; i < kCalls; ++i) {
    const std::string call =
        "{\"name\":\"" + tool + "\",\"input\":{" + rest + "\"" + key + "\":\"" + names + std::to_string(i) + "\"}}";
    const bool first = i == 0 || order == Order::kAnswerEach;
    out += (first ? (i == 0 ? "" : "]}\n") + std::string("{\"calls\":[") : ",") + call;
  }
  return out + "]}\n{\"text\":\"done\"}\n";
}

void write_tree(const std::string& project) {
  for (int i = 0; i < kCalls; ++i) {
    const std::string directory = project + "/d" + std::to_string(i);
    fs::create_directories(directory);
    for (int file = 0; file < kFiles; ++file) {
      std::ofstream out(directory + "/" + std::to_string(file));
      for (int line = 0; line < kLines; ++line) out << "line " << line << " of a file that has no needle in it\n";
    }
    std::ofstream(project + "/f" + std::to_string(i)) << std::string(20'000, 'x') << "\n";
  }
}

struct Shape {
  std::string script;
  std::vector<double> times = {};
  double median() {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }
};

bool time_once(Shape& shape, const std::string& directory) {
  const std::string file = directory + "/script.jsonl", home = directory + "/home";
  std::ofstream(file) << shape.script;
  const Program program{{BENCH_AGENTD, "run", "go", "--no-save", "--script", file},
                        {"PATH=/usr/bin:/bin", "HOME=" + directory, "AGENTD_HOME=" + home},
                        directory + "/project"};
  const auto times = time_program(program, directory + "/errors");
  if (!times) std::printf("parallel reads: %s\n", times.error().message.c_str());
  if (times) shape.times.push_back(times->wall_ms);
  return times.has_value();
}

}  // namespace

bool bench_reads(const std::string& directory) {
  write_tree(directory + "/project");
  struct Tool {
    const char *name, *key, *rest, *names;
  };
  for (const Tool& tool :
       {Tool{"grep", "path", "\"pattern\":\"n[a-e]+dle [0-9]{9}\",", "d"}, Tool{"read_file", "path", "", "f"}}) {
    Shape serial{script(tool.name, tool.key, tool.rest, tool.names, Order::kAnswerEach)};
    Shape parallel{script(tool.name, tool.key, tool.rest, tool.names, Order::kOneAnswer)};
    for (int i = 0; i < kRounds; ++i)
      if (!time_once(serial, directory) || !time_once(parallel, directory)) return false;
    std::printf("%-12s %7.2f ms for %d in one answer, %7.2f ms for an answer each: %.2f times\n", tool.name,
                parallel.median(), kCalls, serial.median(), parallel.median() / serial.median());
  }
  return true;
}

}  // namespace agentd::bench
