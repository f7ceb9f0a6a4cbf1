// SPDX-License-Identifier: Apache-2.0
// forked_program.cc - a program that can be forked: each forked process reports what it is, does what the text of its
// descriptor 3 says, and ends with status 7.
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "core/process/births.h"
#include "core/process/zygote.h"

namespace {

int visits = 0;  // of this process and its ancestors

extern "C" void on_signal(int) {}

// A main thread's number that the C library keeps from before a fork would be another process's.
const char* signals_its_main_thread() {
  ::signal(SIGUSR1, on_signal);
  const pthread_t main_thread = ::pthread_self();
  int answer = -1;
  std::thread([&] { answer = ::pthread_kill(main_thread, SIGUSR1); }).join();
  return answer == 0 ? "yes" : "no";
}

std::string descriptors() {
  std::string out;
  DIR* const all = ::opendir("/proc/self/fd");
  for (int fd = 0; fd < 64; ++fd)
    if (fd != ::dirfd(all) && ::fcntl(fd, F_GETFD) >= 0) out += std::to_string(fd);
  ::closedir(all);
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 64;
  const std::string how = argv[2];
  if (how == "threads") {
    std::thread([] { ::pause(); }).detach();
  }
  agentd::ZygoteSide side(argc, argv, std::atoi(argv[1]));
  if (how == "slow") ::pause();
  side.serve(agentd::Offspring::kAny);
  char wish[64] = "";
  const ssize_t got = ::read(3, wish, sizeof wish - 1);
  std::printf("session %s, parent %d, signals %s, descriptors %s, visits %d, names %s %s, wish %.*s\n",
              ::getsid(0) == ::getpid() ? "own" : "another", ::getppid(), signals_its_main_thread(),
              descriptors().c_str(), ++visits, argv[1], argv[1] + std::string(argv[1]).size() + 1,
              static_cast<int>(got), wish);
  std::fflush(stdout);
  if (std::string(wish) == "stay")
    for (;;) ::pause();
  return 7;
}
