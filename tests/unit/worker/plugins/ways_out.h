// SPDX-License-Identifier: Apache-2.0
#pragma once
// ways_out.h - ways out of a worker that lead over a socket, a privilege, or what its host shares.
// Each says "ok", or the name of the error.
//
// Threading: pure functions on the process.

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace ways_out {

inline std::string result(long value) { return value >= 0 ? "ok" : ::strerrorname_np(errno); }

inline std::string try_open(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags, 0600);
  const std::string out = result(fd);
  if (fd >= 0) ::close(fd);
  return out;
}

inline std::string send_datagram(const std::string& path) {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) != 0) return result(-1);
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  path.copy(to.sun_path, sizeof to.sun_path - 1);
  const std::string out = result(::sendto(ends[0], "a line", 6, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to));
  ::close(ends[0]);
  ::close(ends[1]);
  return out;
}

inline std::string use_stream_pair() {
  int ends[2] = {-1, -1};
  char got = 0;
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return result(-1);
  const bool well = ::send(ends[0], "x", 1, 0) == 1 && ::recv(ends[1], &got, 1, 0) == 1;
  ::close(ends[0]);
  ::close(ends[1]);
  return well ? "ok" : result(-1);
}

// The five sets of /proc/self/status, each as a number.
inline std::string privileges() {
  std::FILE* const status = std::fopen("/proc/self/status", "r");
  char line[512];
  std::string out;
  while (status != nullptr && std::fgets(line, sizeof line, status) != nullptr)
    if (std::strncmp(line, "Cap", 3) == 0)
      out += (out.empty() ? "" : " ") + std::to_string(std::strtoull(line + 7, nullptr, 16));
  if (status != nullptr) std::fclose(status);
  return out;
}

inline std::string become_real_time() {
  sched_param parameters{};
  parameters.sched_priority = 1;
  const std::string out = result(::sched_setscheduler(0, SCHED_FIFO, &parameters));
  parameters.sched_priority = 0;
  if (out == "ok") (void)::sched_setscheduler(0, SCHED_OTHER, &parameters);
  return out;
}

inline std::string mark_for_permission() {
  constexpr unsigned kContent = 4;
  const int fd = static_cast<int>(::syscall(SYS_fanotify_init, kContent, O_RDONLY));
  const std::string out = result(fd);
  if (fd >= 0) ::close(fd);
  return out;
}

// Where a mapping of the name begins and ends; 0 = there is none.
inline std::pair<unsigned long, unsigned long> mapping_of(const char* name) {
  std::FILE* const maps = std::fopen("/proc/self/maps", "r");
  char line[512];
  unsigned long from = 0, to = 0;
  bool found = false;
  while (maps != nullptr && !found && std::fgets(line, sizeof line, maps) != nullptr)
    found = std::strstr(line, name) != nullptr && std::sscanf(line, "%lx-%lx", &from, &to) == 2;
  if (maps != nullptr) std::fclose(maps);
  return found ? std::pair(from, to) : std::pair(0ul, 0ul);
}

inline std::string read_window(std::size_t mib) {
  ::signal(SIGBUS, SIG_DFL);  // a sanitizer has a handler of its own
  const auto [from, to] = mapping_of("agentd-payload");
  if (to - from < mib << 20) return "no window";
  for (std::size_t at = 0; at < mib << 20; at += 4096) (void)reinterpret_cast<const volatile char*>(from)[at];
  return "ok";
}

inline std::string open_window_again() {
  const auto [from, to] = mapping_of("agentd-payload");
  char path[128];
  std::snprintf(path, sizeof path, "/proc/self/map_files/%lx-%lx", from, to);
  return try_open(path, O_RDWR | O_CLOEXEC);
}

inline std::string take_larger_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return result(-1);
  const std::string out = result(::fcntl(ends[1], F_SETPIPE_SZ, 1 << 20));
  ::close(ends[0]);
  ::close(ends[1]);
  return out;
}

inline std::string take_larger_buffer() {
  int ends[2] = {-1, -1}, bytes = 1 << 30;
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return result(-1);
  const std::string out = result(::setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes));
  ::close(ends[0]);
  ::close(ends[1]);
  return out;
}

inline std::string splice_memory() {
  static char page[4096];
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return result(-1);
  iovec piece{page, sizeof page};
  const std::string out = result(::vmsplice(ends[1], &piece, 1, SPLICE_F_NONBLOCK));
  ::close(ends[0]);
  ::close(ends[1]);
  return out;
}

// As many MiB as pairs of sockets hold when they are as many as can be had.
inline std::string fill_pairs() {
  static char piece[65536];
  std::vector<int> fds;
  std::size_t held = 0;
  for (int ends[2]; ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0;)
    for (const int end : ends) {
      fds.push_back(end);
      for (ssize_t sent = 0; (sent = ::send(end, piece, sizeof piece, 0)) > 0;) held += static_cast<std::size_t>(sent);
    }
  for (const int fd : fds) ::close(fd);
  return std::to_string(held >> 20);
}

}  // namespace ways_out
