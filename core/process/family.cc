// SPDX-License-Identifier: Apache-2.0
#include "core/process/family.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/scheduler.h"
#include "core/process/births.h"

namespace agentd {
namespace {

constexpr int kKillRounds = 500;
constexpr Milliseconds kFamilySlice{20};  // how often the clock is checked
constexpr int kReapSlices = 100;  // a process stuck in the kernel may outlive SIGKILL; the caller must not wait for it
constexpr int kBirthTries = 3;    // milliseconds
constexpr std::size_t kEnvironmentBytesMax = std::size_t{8} << 20;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

// The numeric entries of a directory of /proc.
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

// At most 4 kB of a small file of /proc; empty when it no longer exists.
std::string slurp(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char buffer[4096];
  const ssize_t got = fd.valid() ? ::read(fd.get(), buffer, sizeof buffer) : -1;
  return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : std::string();
}

// All of a possibly large file of /proc, within reason.
std::string slurp_all(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string out;
  char buffer[16 * 1024];
  while (fd.valid() && out.size() < kEnvironmentBytesMax) {
    const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
    if (got <= 0) break;
    out.append(buffer, static_cast<std::size_t>(got));
  }
  return out;
}

// The target of a link of /proc; empty on failure.
std::string link_of(const std::string& path) {
  char target[4096];
  const ssize_t bytes = ::readlink(path.c_str(), target, sizeof target);
  return bytes > 0 ? std::string(target, static_cast<std::size_t>(bytes)) : std::string();
}

std::string proc(pid_t pid, std::string_view leaf) { return "/proc/" + std::to_string(pid) + "/" + std::string(leaf); }

struct Brands {
  std::uint64_t soft = 0, hard = 0;  // 0 = none
};

// Any process may read it, whatever the process did to its environment and memory. A worker has the brand in both
// halves of the limit, which it cannot change; a command has it in the soft half.
Brands brands_of(pid_t pid) {
  const std::string limits = slurp(proc(pid, "limits"));
  const std::size_t at = limits.find("Max realtime timeout ");
  if (at == std::string::npos) return {};
  unsigned long long soft = 0, hard = 0;  // "unlimited" is not a number
  std::sscanf(limits.c_str() + at, "Max realtime timeout %llu %llu", &soft, &hard);
  return {soft, hard};
}

bool ended(const UniqueFd& pidfd) { return is_ready(pidfd.get(), POLLIN); }

int send(const UniqueFd& pidfd, int number) {
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, pidfd.get(), number, nullptr, 0));
}

// A child that has not executed its program yet holds copies of all of this process's descriptors, including the pipes
// of other commands.
bool is_unborn(pid_t pid, pid_t parent) {
  return parent == ::getpid() && link_of(proc(pid, "exe")) == link_of("/proc/self/exe");
}

}  // namespace

std::string make_mark() {
  unsigned char random[16];
  std::string out = "AGENTD_RUN=";
  if (::getrandom(random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) return {};
  for (const unsigned byte : random) {
    out += "0123456789abcdef"[byte >> 4u];
    out += "0123456789abcdef"[byte & 15u];
  }
  return out;
}

std::uint64_t brand(pid_t child) {
  const rlim_t number = make_brand(kWorkerBrand);
  rlimit limit{};
  // A limit that was set before may be lower and take effect.
  if (number == 0 || ::prlimit(child, RLIMIT_RTTIME, nullptr, &limit) != 0 || limit.rlim_max != RLIM_INFINITY) return 0;
  limit = {number, number};
  return ::prlimit(child, RLIMIT_RTTIME, &limit, nullptr) == 0 ? number : 0;
}

bool carries_own_brand(pid_t pid) {
  const Brands brands = brands_of(pid);
  return is_own_brand(brands.soft) || is_own_brand(brands.hard);
}

std::vector<pid_t> all_processes() { return numbers_in("/proc"); }

Family::Family(pid_t leader, const std::vector<int>& pipes, std::string mark, std::uint64_t brand)
    : leader_(leader), mark_(std::move(mark)), brand_(brand) {
  struct stat info {};
  for (const int fd : pipes)
    if (::fstat(fd, &info) == 0) pipes_.push_back("pipe:[" + std::to_string(info.st_ino) + "]");
}

// proc(5), /proc/pid/stat: the name is in parentheses and may contain parentheses.
bool Family::read_row(pid_t pid, Row* out) {
  const std::string text = slurp(proc(pid, "stat"));
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return false;
  char state = 0;
  const int got =
      std::sscanf(text.c_str() + name_end + 1, " %c %d %d %d", &state, &out->parent, &out->group, &out->session);
  out->zombie = state == 'Z' || state == 'X';
  return got == 4;
}

bool Family::writes_to_pipe(pid_t pid) const {
  for (const int fd : numbers_in(proc(pid, "fd"))) {
    const std::string target = link_of(proc(pid, "fd/" + std::to_string(fd)));
    if (std::find(pipes_.begin(), pipes_.end(), target) == pipes_.end()) continue;
    unsigned flags = 0;
    const std::string info = slurp(proc(pid, "fdinfo/" + std::to_string(fd)));
    const std::size_t at = info.find("flags:");
    if (at != std::string::npos && std::sscanf(info.c_str() + at, "flags: %o", &flags) == 1 &&
        (flags & O_ACCMODE) != O_RDONLY)
      return true;
  }
  return false;
}

// A program that is just being executed has no environment for a moment. A process that really has none, such as a
// kernel thread, has no program or stays without.
bool Family::carries_mark(pid_t pid) const {
  std::string environment = slurp_all(proc(pid, "environ"));
  for (int tries = 0; tries < kBirthTries && environment.empty(); ++tries) {
    if (link_of(proc(pid, "exe")).empty()) return false;
    SystemClock().pause(Milliseconds(1));
    environment = slurp_all(proc(pid, "environ"));
  }
  return environment.find(mark_) != std::string::npos;
}

bool Family::carries_brand(pid_t pid) const {
  const Brands brands = brands_of(pid);
  return brands.soft == brand_ || brands.hard == brand_;
}

bool Family::belongs(pid_t pid, const Row& row) const {
  if (row.session == leader_ || row.group == leader_) return true;
  const auto parent = members_.find(row.parent);
  if (row.parent == leader_ || (parent != members_.end() && !ended(parent->second.pidfd))) return true;
  if (brand_ != 0 && carries_brand(pid)) return true;
  if (!mark_.empty() && carries_mark(pid)) return true;
  return !pipes_.empty() && writes_to_pipe(pid) && !is_unborn(pid, row.parent);
}

bool Family::remember(pid_t pid) {
  if (pid == ::getpid() || pid == 1 || members_.contains(pid)) return false;
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  Row row;
  if (!pidfd.valid() || !read_row(pid, &row) || row.zombie || !belongs(pid, row)) return false;
  members_.emplace(pid, Member{std::move(pidfd), row.group == leader_});
  if (pid != leader_) ++found_;
  return true;
}

// Where orphans come to this process, every member is among its descendants, so the rest of the machine is not
// searched. A child's number is mostly larger than its parent's, but not after a wrap: repeat until a pass finds no new
// member.
bool Family::gather() {
  bool any = false;
  for (bool more = true; more;) {
    more = false;
    for (const pid_t pid : adopts_orphans() ? descendants() : all_processes()) more = remember(pid) || more;
    any = any || more;
  }
  return any;
}

void Family::send_to_all(int number) const {
  ::kill(-leader_, number);
  for (const auto& [pid, member] : members_)
    if (!member.in_group || number == SIGKILL) send(member.pidfd, number);
}

void Family::signal(int number) const {
  send_to_all(number);
  if (number != SIGKILL) send_to_all(SIGCONT);
}

bool Family::gone() const {
  for (const auto& [pid, member] : members_)
    if (!ended(member.pidfd)) return false;
  return true;
}

bool Family::kill_all(int rounds) {
  gather();
  for (int round = 0; round < rounds; ++round) {
    signal(SIGKILL);
    std::erase_if(members_, [](const auto& member) { return ended(member.second.pidfd); });
    reap_orphans();
    if (!gather() && members_.empty()) return true;
    if (!members_.empty()) SystemClock().pause(Milliseconds(2));  // the kernel is still ending them
  }
  return false;
}

void Family::end(const UniqueFd& leader, const Clock& clock, Milliseconds grace, const Pump& pump) {
  gather();
  signal(SIGTERM);
  const Deadline last = Deadline::after(clock, grace);
  while (!last.passed(clock)) {
    const bool leader_ended = ended(leader);
    if (leader_ended && gone()) break;
    const Milliseconds slice = std::clamp(last.left(clock), Milliseconds(1), kFamilySlice);
    const bool idle = !pump(leader_ended ? Milliseconds(0) : slice);
    if (leader_ended && idle) clock.pause(Milliseconds(1));
  }
  end_now(leader, pump);
}

void Family::end_rest() {
  if (adopts_orphans() && !has_orphans()) return;
  (void)kill_all(kKillRounds);
}

void Family::end_now(const UniqueFd& leader, const Pump& pump) {
  (void)kill_all(kKillRounds);
  for (int round = 0; round < kReapSlices && !ended(leader); ++round) pump(kFamilySlice);
}

}  // namespace agentd
