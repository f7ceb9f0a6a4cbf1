// SPDX-License-Identifier: Apache-2.0
#include "bench/cage/reads.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include "bench/child.h"
#include "bench/place.h"
#include "core/base/file.h"

namespace agentd::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kCalls = 8;  // as many as run at the same time
constexpr int kRounds = 15;
constexpr int kFiles = 160, kFilesOnce = 4, kLines = 2'000;  // of each of the eight directories

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

void write_tree(const std::string& project, int files) {
  for (int i = 0; i < kCalls; ++i) {
    const std::string directory = project + "/d" + std::to_string(i);
    fs::create_directories(directory);
    for (int file = 0; file < files; ++file) {
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

void time_once(Shape& shape, const std::string& agentd, const std::string& directory) {
  const std::string file = directory + "/script.jsonl", home = directory + "/home";
  std::ofstream(file) << shape.script;
  const Program program{{agentd, "run", "go", "--no-save", "--script", file},
                        {"PATH=/usr/bin:/bin", "HOME=" + directory, "AGENTD_HOME=" + home},
                        directory + "/project"};
  shape.times.push_back(expect(time_program(program, directory + "/errors")).wall_ms);
  const std::string said = expect(read_file(directory + "/errors", 1u << 20));
  int right = 0;
  for (std::size_t at = 0; (at = said.find(" · ok · ", at)) != std::string::npos; ++at) ++right;
  if (right != kCalls) stop(std::to_string(kCalls - right) + " calls did not succeed: " + said);
}

}  // namespace

void bench_reads(Tally& tally, const std::string& agentd, const std::string& directory, bool once) {
  write_tree(directory + "/project", once ? kFilesOnce : kFiles);
  tally.expect("reads", 2);
  struct Tool {
    const char *name, *key, *rest, *names;
  };
  for (const Tool& tool :
       {Tool{"grep", "path", "\"pattern\":\"n[a-e]+dle [0-9]{9}\",", "d"}, Tool{"read_file", "path", "", "f"}}) {
    Shape serial{script(tool.name, tool.key, tool.rest, tool.names, Order::kAnswerEach)};
    Shape parallel{script(tool.name, tool.key, tool.rest, tool.names, Order::kOneAnswer)};
    for (int i = 0; i < (once ? 1 : kRounds); ++i) {
      time_once(serial, agentd, directory);
      time_once(parallel, agentd, directory);
    }
    std::printf("%-12s %7.2f ms for %d in one answer, %7.2f ms for an answer each: %.2f times\n", tool.name,
                parallel.median(), kCalls, serial.median(), parallel.median() / serial.median());
    tally.measured("reads", {parallel.median(), serial.median()});
  }
}

}  // namespace agentd::bench
