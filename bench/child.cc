// SPDX-License-Identifier: Apache-2.0
#include "bench/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/file.h"

namespace agentd::bench {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

// Files of /proc have no length; an empty text when the process is gone.
std::string read_proc(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The kB that stand behind a name in smaps_rollup; 0 when it is not there.
double kilobytes(std::string_view rollup, std::string_view name) {
  const std::size_t at = rollup.find(name);
  if (at == std::string_view::npos) return 0;
  rollup.remove_prefix(at + name.size());
  rollup.remove_prefix(std::min(rollup.find_first_of("0123456789"), rollup.size()));
  std::uint64_t value = 0;
  std::from_chars(rollup.data(), rollup.data() + rollup.size(), value);
  return static_cast<double>(value);
}

Result<void> add_memory(pid_t pid, Memory& sum) {
  const std::string proc = "/proc/" + std::to_string(pid);
  const std::string rollup = read_proc(proc + "/smaps_rollup");
  if (rollup.empty()) return Error{Code::kUnavailable, "process " + std::to_string(pid) + " has ended too early"};
  ++sum.processes;
  sum.private_dirty_kb += kilobytes(rollup, "Private_Dirty:");
  sum.pss_kb += kilobytes(rollup, "\nPss:");
  sum.rss_kb += kilobytes(rollup, "Rss:");
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator(proc + "/task", gone)) {
    const std::string children = read_proc(thread.path().string() + "/children");
    const char* at = children.data();
    const char* const end = at + children.size();
    pid_t child = 0;
    for (auto read = std::from_chars(at, end, child); read.ec == std::errc();
         read = std::from_chars(read.ptr == end ? end : read.ptr + 1, end, child))
      AGENTD_TRY_VOID(add_memory(child, sum));
  }
  return {};
}

}  // namespace

Result<Child> Child::start(const Program& program, const std::string& errors) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 2, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!program.directory.empty()) ::posix_spawn_file_actions_addchdir_np(&actions, program.directory.c_str());
  pid_t pid = -1;
  const int failed = ::posix_spawn(&pid, program.argv[0].c_str(), &actions, nullptr, pointers(program.argv).data(),
                                   pointers(program.environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return errno_error("starting " + program.argv[0], failed);
  return Child(pid, errors);
}

Child::~Child() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

Result<double> Child::wait() {
  int status = 0;
  rusage used{};
  while (::wait4(pid_, &status, 0, &used) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return ms(used.ru_utime) + ms(used.ru_stime);
  const auto said = read_file(errors_, 1u << 16);
  return Error{Code::kUnavailable,
               "a program that is measured failed: " + one_line(said ? *said : said.error().message, 400)};
}

Result<Times> time_program(const Program& program, const std::string& errors) {
  const auto from = std::chrono::steady_clock::now();
  AGENTD_TRY(Child child, Child::start(program, errors));
  AGENTD_TRY(const double cpu_ms, child.wait());
  const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - from;
  return Times{wall.count(), cpu_ms};
}

Result<Memory> memory_of(pid_t root) {
  Memory sum;
  AGENTD_TRY_VOID(add_memory(root, sum));
  return sum;
}

}  // namespace agentd::bench
