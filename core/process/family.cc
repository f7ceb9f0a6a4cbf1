// SPDX-License-Identifier: Apache-2.0
#include "core/process/family.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agentd {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

// The numbers that name the entries of a directory of /proc.
std::vector<int> numbers_in(const std::string& path) {
  std::vector<int> out;
  Directory directory(::opendir(path.c_str()));
  if (!directory) return out;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name(entry->d_name);
    int number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size()) out.push_back(number);
  }
  return out;
}

// At most 4 kB of a small file of /proc; empty when it is gone.
std::string slurp(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char buffer[4096];
  const ssize_t got = fd.valid() ? ::read(fd.get(), buffer, sizeof buffer) : -1;
  return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : std::string();
}

std::string proc(pid_t pid, std::string_view leaf) {
  return "/proc/" + std::to_string(pid) + "/" + std::string(leaf);
}

bool ended(const UniqueFd& pidfd) {
  pollfd wait{pidfd.get(), POLLIN, 0};
  return ::poll(&wait, 1, 0) == 1;
}

int send(const UniqueFd& pidfd, int number) {
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, pidfd.get(), number, nullptr, 0));
}

}  // namespace

Family::Family(pid_t leader, int output) : leader_(leader) {
  struct stat info {};
  if (::fstat(output, &info) == 0) pipe_ = info.st_ino;
}

// proc(5), /proc/pid/stat: the name stands in parentheses and may itself hold any of them.
bool Family::read_row(pid_t pid, Row* out) {
  const std::string text = slurp(proc(pid, "stat"));
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return false;
  char state = 0;
  const int got = std::sscanf(text.c_str() + name_end + 1, " %c %d %d %d", &state, &out->parent,
                              &out->group, &out->session);
  out->zombie = state == 'Z' || state == 'X';
  return got == 4;
}

bool Family::writes_to_pipe(pid_t pid) const {
  const std::string wanted = "pipe:[" + std::to_string(pipe_) + "]";
  for (const int fd : numbers_in(proc(pid, "fd"))) {
    char target[64];
    const ssize_t bytes =
        ::readlink(proc(pid, "fd/" + std::to_string(fd)).c_str(), target, sizeof target);
    if (bytes < 0 || std::string_view(target, static_cast<std::size_t>(bytes)) != wanted) continue;
    unsigned flags = 0;
    const std::string info = slurp(proc(pid, "fdinfo/" + std::to_string(fd)));
    const std::size_t at = info.find("flags:");
    if (at != std::string::npos && std::sscanf(info.c_str() + at, "flags: %o", &flags) == 1 &&
        (flags & O_ACCMODE) != O_RDONLY)
      return true;
  }
  return false;
}

bool Family::belongs(pid_t pid, const Row& row) const {
  if (row.session == leader_ || row.group == leader_) return true;
  const auto parent = members_.find(row.parent);
  if (row.parent == leader_ || (parent != members_.end() && !ended(parent->second))) return true;
  return pipe_ != 0 && writes_to_pipe(pid);
}

bool Family::remember(pid_t pid) {
  if (pid == ::getpid() || pid == 1 || members_.contains(pid)) return false;
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  Row row;
  if (!pidfd.valid() || !read_row(pid, &row) || row.zombie || !belongs(pid, row)) return false;
  members_.emplace(pid, std::move(pidfd));
  return true;
}

// Numbers grow mostly from parent to child, but not when they wrap: repeat until a pass finds
// nobody.
bool Family::gather() {
  bool any = false;
  for (bool more = true; more;) {
    more = false;
    for (const pid_t pid : numbers_in("/proc")) more = remember(pid) || more;
    any = any || more;
  }
  return any;
}

void Family::signal(int number) const {
  ::kill(-leader_, number);
  for (const auto& [pid, pidfd] : members_) send(pidfd, number);
  if (number == SIGKILL) return;
  ::kill(-leader_, SIGCONT);
  for (const auto& [pid, pidfd] : members_) send(pidfd, SIGCONT);
}

bool Family::gone() const {
  for (const auto& [pid, pidfd] : members_)
    if (!ended(pidfd)) return false;
  return true;
}

void Family::kill_all(int rounds) {
  gather();
  for (int round = 0; round < rounds; ++round) {
    signal(SIGKILL);
    std::erase_if(members_, [](const auto& member) { return ended(member.second); });
    if (!gather() && members_.empty()) return;
    if (!members_.empty()) ::poll(nullptr, 0, 2);  // the kernel is still taking them down
  }
}

}  // namespace agentd
