// SPDX-License-Identifier: Apache-2.0
#include "bench/serve/setting.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "bench/child.h"
#include "core/base/clock.h"
#include "core/base/thread.h"

namespace agentd::bench {

Setting::Setting(const std::string& parent, bool paced, int park_minutes) : place_(parent) {
  for (const std::string& each : {home(), project()})
    if (::mkdir(each.c_str(), 0700) != 0) stop("no directory " + each);
  std::string text;
  for (int i = 0; i < kPieces; ++i) text += "24 bytes of a long text ";
  std::ofstream(home() + "/script.yaml") << "repeat: true\nturns:\n- text: '" << text << "'\n"
                                         << (paced ? "  pace_ms: " + std::to_string(kBetweenPiecesMs) + "\n" : "");
  std::ofstream(home() + "/config.yaml") << "provider: scripted\nscripted: {file: '" << home()
                                         << "/script.yaml'}\nmemory: {refine: false}\n"
                                         << "serve: {address: '', socket: true, park_minutes: " << park_minutes
                                         << "}\n";
  ::chmod((home() + "/config.yaml").c_str(), 0600);
}

double pss_kib(int pid) { return expect(memory_of(pid)).pss_kb; }

double status_number(int pid, const std::string& name) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(name + ":")) return std::atof(line.c_str() + name.size() + 1);
  return 0;
}

double descriptors(int pid) {
  std::error_code gone;
  const std::filesystem::directory_iterator all("/proc/" + std::to_string(pid) + "/fd", gone);
  return static_cast<double>(std::distance(begin(all), end(all)));
}

double cpu_ms(int pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string text{std::istreambuf_iterator<char>(in), {}};
  text.erase(0, text.rfind(')') + 2);
  constexpr int kBefore = 11;  // fields between the name and utime
  std::size_t at = 0;
  for (int i = 0; i < kBefore; ++i) at = text.find(' ', at) + 1;
  char* rest = nullptr;
  const double user = std::strtod(text.c_str() + at, &rest), system = std::strtod(rest, nullptr);
  return (user + system) * 1e3 / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

void measure_active(Figures& into, int pid, Load load, const std::function<void(std::size_t)>& turn) {
  const SystemClock clock;
  std::vector<std::vector<double>> each(load.active);
  std::vector<Thread> threads;
  const double cpu = cpu_ms(pid);
  const std::uint64_t begin = clock.monotonic_ns();
  for (std::size_t i = 0; i < load.active; ++i)
    threads.emplace_back([&, i] {
      for (std::uint64_t now = clock.monotonic_ns(); now < begin + load.active_ns;) {
        turn(i);
        const std::uint64_t then = std::exchange(now, clock.monotonic_ns());
        each[i].push_back(static_cast<double>(now - then) / 1e6 - kAnswerMs);
      }
    });
  clock.pause(load.look);
  into.threads = status_number(pid, "Threads");
  into.descriptors = descriptors(pid);
  for (Thread& thread : threads) thread.join();
  const double seconds = static_cast<double>(clock.monotonic_ns() - begin) / 1e9;
  std::vector<double> all;
  for (const auto& mine : each) all.insert(all.end(), mine.begin(), mine.end());
  std::sort(all.begin(), all.end());
  const auto turns = static_cast<double>(all.size());
  into.turns = turns / seconds;
  into.p50_ms = all[all.size() / 2];
  into.p99_ms = all[all.size() * 99 / 100];
  into.cpu_us = (cpu_ms(pid) - cpu) / turns * 1e3;
}

}  // namespace agentd::bench
