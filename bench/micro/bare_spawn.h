// SPDX-License-Identifier: Apache-2.0
#pragma once
// bare_spawn.h - the least that can be done to ask a program something: posix_spawn, two pipes,
// write, read to the end, waitpid.
//
// Threading: thread-compatible.

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

namespace agentd::bench {

struct Command {
  std::vector<std::string> argv;
  std::string input, answer;
};

class Bare {
 public:
  Bare(const Command& command, const std::vector<std::string>& environment, bool session)
      : argv_(pointers(command.argv)), environment_(pointers(environment)), command_(command) {
    ::posix_spawnattr_init(&attributes_);
    if (session) ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSID);
  }
  ~Bare() { ::posix_spawnattr_destroy(&attributes_); }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;

  // True when the answer is the right one.
  bool run() {
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) return false;
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    pid_t pid = -1;
    const int failed = ::posix_spawn(&pid, argv_[0], &actions, &attributes_, argv_.data(), environment_.data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(out[1]);
    // Our own read end is still open: a program that has gone already raises no signal.
    const ssize_t wrote = ::write(in[1], command_.input.data(), command_.input.size());
    ::close(in[0]);
    ::close(in[1]);
    const std::string answer = read_all(out[0]);
    ::close(out[0]);
    int status = 0;
    return failed == 0 && wrote >= 0 && ::waitpid(pid, &status, 0) == pid && status == 0 && answer == command_.answer;
  }

 private:
  static std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
    out.push_back(nullptr);
    return out;
  }

  static std::string read_all(int fd) {
    std::string out;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof buffer)) > 0;)
      out.append(buffer, static_cast<std::size_t>(got));
    return out;
  }

  const std::vector<char*> argv_, environment_;
  const Command& command_;
  posix_spawnattr_t attributes_;
};

// What `share` of the values stay under.
inline double quantile(std::vector<double>& values, double share) {
  const double at = share * static_cast<double>(values.size());
  const auto there = values.begin() + static_cast<std::ptrdiff_t>(at);
  std::nth_element(values.begin(), there, values.end());
  return *there;
}

}  // namespace agentd::bench
