// SPDX-License-Identifier: Apache-2.0
#include "core/validate/process_state.h"

#include <dirent.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <climits>
#include <clocale>
#include <csignal>
#include <cstdlib>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace agentd::validation {
namespace {

std::vector<std::string> names_in(const char* path) {
  std::vector<std::string> out;
  DIR* const directory = ::opendir(path);
  if (directory == nullptr) return out;
  const std::string own = std::to_string(::dirfd(directory));
  while (const dirent* const entry = ::readdir(directory))
    if (entry->d_name[0] != '.' && own != entry->d_name) out.emplace_back(entry->d_name);
  ::closedir(directory);
  std::sort(out.begin(), out.end());
  return out;
}

std::string target_of(const std::string& link) {
  char text[PATH_MAX];
  const ssize_t got = ::readlink(link.c_str(), text, sizeof text);
  return got < 0 ? std::string() : std::string(text, static_cast<std::size_t>(got));
}

std::string signals_text() {
  std::string out;
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) != 0) continue;
    if (action.sa_handler == SIG_DFL) continue;
    out += std::to_string(number) + (action.sa_handler == SIG_IGN ? " ignored, " : " handled, ");
  }
  return out;
}

std::string mask_text() {
  sigset_t set;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &set);
  std::string out;
  for (int number = 1; number < NSIG; ++number)
    if (sigismember(&set, number) == 1) out += std::to_string(number) + " ";
  return out;
}

std::string limits_text() {
  std::string out;
  for (int which = 0; which < RLIMIT_NLIMITS; ++which) {
    rlimit limit{};
    if (::getrlimit(static_cast<__rlimit_resource_t>(which), &limit) == 0)
      out += std::to_string(limit.rlim_cur) + "/" + std::to_string(limit.rlim_max) + " ";
  }
  return out;
}

std::string floating_text() {
  std::string out = "rounding " + std::to_string(std::fegetround()) + ", exceptions " + std::to_string(::fegetexcept());
#if defined(__SSE__)
  constexpr unsigned kFlags = 0x3f;  // sticky flags of past events, not settings
  out += ", mxcsr " + std::to_string(_mm_getcsr() & ~kFlags);
#endif
  return out;
}

}  // namespace

ProcessState ProcessState::take() {
  ProcessState out;
  for (const std::string& name : names_in("/proc/self/fd"))
    out.descriptors.push_back(name + " -> " + target_of("/proc/self/fd/" + name));
  out.threads = names_in("/proc/self/task");
  out.signals = signals_text();
  out.mask = mask_text();
  char path[PATH_MAX];
  out.directory = ::getcwd(path, sizeof path) == nullptr ? "" : path;
  out.umask = ::umask(0);
  ::umask(static_cast<mode_t>(out.umask));
  out.locale = std::setlocale(LC_ALL, nullptr);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    out.environment += std::string(*entry) + "\n";
  out.floating_point = floating_text();
  out.limits = limits_text();
  return out;
}

std::uint64_t heap_bytes() {
  const struct mallinfo2 now = ::mallinfo2();
  return now.uordblks + now.hblkhd;
}

std::vector<std::string> added(const std::vector<std::string>& before, const std::vector<std::string>& after) {
  std::vector<std::string> out;
  for (const std::string& each : after)
    if (std::find(before.begin(), before.end(), each) == before.end()) out.push_back(each);
  return out;
}

}  // namespace agentd::validation
