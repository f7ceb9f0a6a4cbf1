// SPDX-License-Identifier: Apache-2.0
#include "core/process/births.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/file.h"
#include "core/base/mutex.h"

namespace agentd {
namespace {

constexpr int kOrphansAtOnce = 1'000;  // the most that one call reaps
constexpr unsigned kCountedBits = 28, kSharedBits = 32;
constexpr std::uint64_t kCounted = (std::uint64_t{1} << kCountedBits) - 1;
constexpr std::uint64_t kShared = ((std::uint64_t{1} << kSharedBits) - 1) << kCountedBits;

struct Known {
  Mutex births;
  std::function<void()> before_first GUARDED_BY(births);
  Mutex mutex;
  std::set<pid_t> children GUARDED_BY(mutex);
  std::uint64_t shared GUARDED_BY(mutex) = 0;  // of all brands; 0 = not chosen
  std::uint64_t count GUARDED_BY(mutex) = 0;
};

// Never destroyed: processes are created and reaped until the very end.
Known& known() {
  static Known& all = *new Known;
  return all;
}

struct CloseTasks {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> out;
  const std::string path = "/proc/" + std::to_string(pid) + "/task";
  const std::unique_ptr<DIR, CloseTasks> directory(::opendir(path.c_str()));
  if (!directory) return out;
  while (const dirent* const entry = ::readdir(directory.get()))
    if (const pid_t number = static_cast<pid_t>(std::atoi(entry->d_name)); number > 0) out.push_back(number);
  return out;
}

// proc(5), /proc/pid/task/tid/children.
void add_children(pid_t pid, pid_t thread, std::vector<pid_t>& out) {
  const std::string path = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(thread) + "/children";
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[4096];
  for (ssize_t got = 1; file.valid() && got > 0;) {
    got = ::read(file.get(), buffer, sizeof buffer);
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
  }
  for (const char *at = text.data(), *const end = at + text.size(); at < end; ++at) {
    pid_t number = 0;
    at = std::from_chars(at, end, number).ptr;
    if (number > 0) out.push_back(number);
  }
}

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> out;
  for (const pid_t thread : threads_of(pid)) add_children(pid, thread, out);
  return out;
}

bool lists_children() {
  static const bool lists = ::access("/proc/thread-self/children", R_OK) == 0;
  return lists;
}

// The counter starts at a random value, so that a fork does not repeat its parent's.
void choose(Known& all) REQUIRES(all.mutex) {
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) return;
  if (all.shared == 0) all.shared = random & kShared;
  all.count = random & kCounted;
}

}  // namespace

void choose_brands() {
  const MutexLock lock(known().mutex);
  known().shared = 0;
  choose(known());
}

std::uint64_t make_brand(std::uint64_t kind) {
  Known& all = known();
  const MutexLock lock(all.mutex);
  if (all.shared == 0) choose(all);
  all.count = (all.count + 1) & kCounted;
  return all.shared == 0 ? 0 : kind | all.shared | all.count;
}

bool is_own_brand(std::uint64_t number) {
  const std::uint64_t kind = number & ~(kShared | kCounted);
  if (kind != kCommandBrand && kind != kWorkerBrand) return false;
  const MutexLock lock(known().mutex);
  return known().shared != 0 && (number & kShared) == known().shared;
}

bool adopt_orphans() { return lists_children() && ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0; }

bool adopts_orphans() {
  int does = 0;
  return ::prctl(PR_GET_CHILD_SUBREAPER, &does, 0, 0, 0) == 0 && does != 0 && lists_children();
}

void before_first_birth(std::function<void()> call) {
  const MutexLock lock(known().births);
  known().before_first = std::move(call);
}

// No other thread holds the mutex at that moment; the child could never unlock it.
pid_t fork_before_first_birth() {
  const MutexLock lock(known().mutex);
  const pid_t child = ::fork();
  if (child > 0) known().children.insert(child);
  return child;
}

// A child inherits this process's own limit, whose soft half can be raised again. The limit never takes effect: it is
// the time that a process may compute in real time without a pause.
Birth::Birth(Offspring offspring) : lock_(known().births) {
  if (offspring != Offspring::kNone)
    if (const auto call = std::exchange(known().before_first, nullptr)) call();
  rlimit limit{};
  if (offspring != Offspring::kBranded || ::getrlimit(RLIMIT_RTTIME, &limit) != 0) return;
  before_ = limit.rlim_cur;
  limit.rlim_cur = make_brand(kCommandBrand);
  if (limit.rlim_cur == 0 || limit.rlim_cur >= limit.rlim_max) return;
  if (::setrlimit(RLIMIT_RTTIME, &limit) == 0) brand_ = limit.rlim_cur;
}

Birth::~Birth() {
  rlimit limit{};
  if (brand_ == 0 || ::getrlimit(RLIMIT_RTTIME, &limit) != 0) return;
  limit.rlim_cur = before_;
  ::setrlimit(RLIMIT_RTTIME, &limit);
}

void Birth::made(pid_t child) {
  const MutexLock lock(known().mutex);
  known().children.insert(child);
}

bool is_own_child(pid_t pid) {
  const MutexLock lock(known().mutex);
  return known().children.contains(pid);
}

void forget_child(pid_t pid) {
  const MutexLock lock(known().mutex);
  known().children.erase(pid);
}

void forget_all_children() {
  const MutexLock lock(known().mutex);
  known().children.clear();
  choose(known());
}

// A process that loses its parent during the walk becomes a child of this one, so the own children are read again until
// no new one appears.
std::vector<pid_t> descendants() {
  std::vector<pid_t> out;
  std::set<pid_t> seen;
  for (bool more = true; more;) {
    more = false;
    std::vector<pid_t> next = children_of(::getpid());
    while (!next.empty()) {
      const pid_t pid = next.back();
      next.pop_back();
      if (!seen.insert(pid).second) continue;
      more = true;
      out.push_back(pid);
      const std::vector<pid_t> below = children_of(pid);
      next.insert(next.end(), below.begin(), below.end());
    }
  }
  return out;
}

// The kernel gives orphans to the first thread.
bool has_orphans() {
  std::vector<pid_t> first;
  add_children(::getpid(), ::getpid(), first);
  return std::any_of(first.begin(), first.end(), [](pid_t pid) { return !is_own_child(pid); });
}

// An own child that ended and was not reaped yet may hide others, which are reaped by a later call. A new child is
// recorded before the lock is free.
void reap_orphans() {
  if (!adopts_orphans()) return;
  const MutexLock lock(known().births);
  for (int i = 0; i < kOrphansAtOnce; ++i) {
    siginfo_t info{};
    const int options = WEXITED | WNOHANG | WNOWAIT;
    if (::waitid(P_ALL, 0, &info, options) != 0 || info.si_pid == 0 || is_own_child(info.si_pid)) return;
    ::waitid(P_PID, static_cast<id_t>(info.si_pid), &info, WEXITED | WNOHANG);
  }
}

}  // namespace agentd
