// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/waiting.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace tidy {
namespace {

namespace fs = std::filesystem;

struct Refused {
  std::string_view word, instead;
};
constexpr Refused kRefused[] = {
    {"std::mutex", "Mutex"},
    {"std::timed_mutex", "Mutex"},
    {"std::recursive_mutex", "Mutex"},
    {"std::shared_mutex", "Mutex"},
    {"std::lock_guard", "MutexLock"},
    {"std::unique_lock", "MutexLock"},
    {"std::scoped_lock", "MutexLock"},
    {"std::shared_lock", "MutexLock"},
    {"std::condition_variable", "Condition"},
    {"std::condition_variable_any", "Condition"},
    {"std::call_once", "Mutex"},
    {"std::once_flag", "Mutex"},
    {"std::thread", "Thread"},
    {"std::jthread", "Thread"},
    {"std::async", "Thread"},
    {"std::this_thread::sleep_for", "Clock::sleep or Clock::pause"},
    {"std::this_thread::sleep_until", "Clock::sleep or Clock::pause"},
    {"sleep(", "Clock::sleep or Clock::pause"},
    {"usleep(", "Clock::pause"},
    {"nanosleep(", "Clock::pause"},
    {"clock_nanosleep(", "Clock::pause"},
    {"poll(", "Clock::poll"},
    {"ppoll(", "Clock::poll"},
    {"select(", "Clock::poll"},
    {"pselect(", "Clock::poll"},
    {"epoll_wait(", "Clock::poll"},
    {"epoll_pwait(", "Clock::poll"},
    {"SYS_futex", "futex_wait or futex_wake"},
    {"SYS_futex_waitv", "futex_wait_any"},
    {"sem_wait(", "Condition"},
    {"pthread_mutex_lock(", "Mutex"},
    {"pthread_cond_wait(", "Condition"},
};

// What implements waiting, and the one who takes what epoll has found without waiting for it.
constexpr std::array<std::string_view, 6> kPlaces = {"core/base/futex.cc",     "core/base/scheduler.h",
                                                     "core/base/scheduler.cc", "core/base/thread.h",
                                                     "core/base/thread.cc",    "core/net/io_loop.cc"};

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// True for the word itself; a member or another namespace's function of that name is something else.
bool stands_alone(std::string_view line, std::size_t at, std::string_view word) {
  const std::string_view before = line.substr(0, at), after = line.substr(at + word.size());
  if (!after.empty() && word.back() != '(' && (is_name(after[0]) || after.starts_with("::"))) return false;
  if (before.empty()) return true;
  if (is_name(before.back()) || before.back() == '.' || before.ends_with("->") || before.back() == '\'') return false;
  // "int poll(" declares one; "return poll(" calls it.
  if (before.back() == ' ' && word.back() == '(' && before.size() > 1 && is_name(before[before.size() - 2]))
    return before.ends_with("return ");
  return !before.ends_with("::") || before.size() == 2 || !is_name(before[before.size() - 3]);
}

bool has_word(std::string_view line, std::string_view word) {
  for (std::size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1))
    if (stands_alone(line, at, word)) return true;
  return false;
}

std::string complaint(const std::string& line) {
  const std::string_view code = std::string_view(line).substr(0, line.find("//"));
  for (const Refused& each : kRefused)
    if (has_word(code, each.word))
      return std::string(each.word.substr(0, each.word.find('('))) + " waits past the clock: use " +
             std::string(each.instead) + " of core/base";
  return {};
}

bool is_engine(const std::string& finding) {
  return finding.starts_with("core/") || finding.starts_with("providers/") || finding.starts_with("plugins/");
}

}  // namespace

Findings other_waits(const fs::path& root) {
  Findings found = each_line(root, is_code, complaint);
  std::erase_if(found, [](const std::string& finding) {
    return !is_engine(finding) || std::any_of(kPlaces.begin(), kPlaces.end(), [&](std::string_view place) {
      return finding.starts_with(std::string(place) + ":");
    });
  });
  return found;
}

}  // namespace tidy
