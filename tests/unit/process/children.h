// SPDX-License-Identifier: Apache-2.0
#pragma once
// children.h - the common part of tests with real processes: a folder, a clock that passes a deadline as soon as a
// child is ready, and checks of which processes are alive.
//
// Threading: one test each.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "core/base/clock.h"
#include "core/process/births.h"
#include "core/process/process.h"
#include "tests/support/temp_dir.h"

namespace agentd {

class Children : public ::testing::Test {
 protected:
  // A file with its execute bit.
  std::string script(const std::string& name, const std::string& text) {
    const std::string path = folder_.write(name, text);
    ::chmod(path.c_str(), 0755);
    return path;
  }
  // The clean environment, and F, the file that a child writes when it is ready.
  std::vector<std::string> environment(const std::string& ready = "ready") const {
    std::vector<std::string> out = clean_environment();
    out.push_back("F=" + folder_.file(ready));
    return out;
  }
  // The text that a child wrote to a file of the test's folder, as soon as it has a complete line.
  std::string wait_for_file(const std::string& name) const {
    for (int tries = 0; tries < 10'000; ++tries) {
      std::ifstream in(folder_.file(name));
      std::string line;
      if (std::getline(in, line) && !in.eof()) return line;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return "";
  }
  pid_t pid_in(const std::string& name) const { return static_cast<pid_t>(std::atoi(wait_for_file(name).c_str())); }
  // Calls `work` with a clock and a deadline that passes as soon as the file `ready` exists, however long that takes on
  // a busy machine; the clock continues until `work` is done.
  template <typename Work>
  auto past_deadline(const std::string& ready, const Work& work) {
    ManualClock clock;
    std::atomic<bool> done{false};
    std::thread turner([&] {
      wait_for_file(ready);
      clock.advance(Milliseconds(60'000));
      while (!done) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        clock.advance(Milliseconds(10));
      }
    });
    auto got = work(clock, Deadline::after(clock, Milliseconds(60'000)));
    done = true;
    turner.join();
    return got;
  }
  static bool alive(pid_t pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    if (!std::getline(stat, line)) return false;
    const std::size_t name_end = line.rfind(')');
    return line[name_end + 2] != 'Z' && line[name_end + 2] != 'X';
  }
  static int descriptors() {
    int count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
    return count;
  }
  // Orphans come to this process until the test ends.
  class Adopting {
   public:
    Adopting() { EXPECT_TRUE(adopt_orphans()); }
    ~Adopting() {
      ::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
      while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
    }
    Adopting(const Adopting&) = delete;
    Adopting& operator=(const Adopting&) = delete;
  };
  static bool has_children() { return ::waitpid(-1, nullptr, WNOHANG) != -1; }

  SystemClock clock_;
  CancelToken cancel_;
  testing::TempDir folder_;
};

// Ways to hide from a kill of the process group. Each writes the hidden process's id to $F and
// stays until it is ended.
inline const char* const kHidingPlaces[] = {
    // a child in the background
    "sh -c 'echo $$ >$F; exec sleep 600' & wait",
    // the program has answered and waits; its child ignores SIGTERM
    "sh -c 'trap \"\" TERM; echo $$ >$F; while :; do sleep 0.01; done' & sleep 600",
    // it ignores SIGTERM itself
    "trap '' TERM; echo $$ >$F; while :; do sleep 0.01; done",
    // it is stopped
    "echo $$ >$F; kill -STOP $$; sleep 600",
    // a session of its own, parent alive
    "setsid sh -c 'echo $$ >$F; exec sleep 600' & sleep 600",
    // the same, ignoring SIGTERM, and the parent goes at SIGTERM
    "setsid sh -c 'trap \"\" TERM; echo $$ >$F; while :; do sleep 0.01; done' & sleep 600",
    // double fork and a session of its own, standard output held open
    "(setsid sh -c 'echo $$ >$F; exec sleep 600' 2>/dev/null &) ; sleep 600",
    // the same with standard error, and an environment without anything
    "(setsid env -i F=$F PATH=$PATH sh -c 'echo $$ >$F; exec sleep 600' >/dev/null &) ; sleep 600",
    // double fork within the session, nothing of the output held
    "(sh -c 'echo $$ >$F; exec sleep 600 >/dev/null 2>&1' &) ; sleep 600",
    // a group of its own within the session, parent gone, nothing held
    "bash -c 'set -m; sh -c \"echo \\$\\$ >$F; exec sleep 600\" >/dev/null 2>&1 &'; sleep 600",
    // a daemon: double fork, a session of its own, nothing held
    "(setsid sh -c 'echo $$ >$F; exec sleep 600' </dev/null >/dev/null 2>&1 &) ; sleep 600",
    // a daemon that ignores SIGTERM
    "(setsid sh -c 'trap \"\" TERM; echo $$ >$F; while :; do sleep 0.01; done' "
    "</dev/null >/dev/null 2>&1 &) ; sleep 600",
    // a daemon without anything of its starter: another environment, no descriptor, and its parents ended twice
    "(setsid sh -c '(setsid env -i F=$F sh -c \"echo \\$\\$ >$F; exec /bin/sleep 600\" &)' "
    "</dev/null >/dev/null 2>&1 &) ; sleep 600",
    // a daemon that starts while all processes are being ended
    "trap '(setsid sh -c \"echo \\$\\$ >$F.late; exec sleep 600\" </dev/null >/dev/null 2>&1 &); "
    "while :; do sleep 0.01; done' TERM; echo $$ >$F; while :; do sleep 0.01; done"};

}  // namespace agentd
