// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/shell/tracer.h"

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>

namespace {

constexpr unsigned kSecondsMax = 20;  // of one shell, which none of them needs
constexpr int kEventsMax = 2000;      // of one command, which only an endless loop has

[[noreturn]] void become_shell(const char* shell, const char* command, const char* directory, const char* path) {
  const int null = ::open("/dev/null", O_RDWR);
  if (null < 0 || ::dup2(null, 0) < 0 || ::dup2(null, 1) < 0 || ::dup2(null, 2) < 0) ::_exit(126);
  if (::chdir(directory) != 0 || ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(126);
  ::raise(SIGSTOP);
  ::alarm(kSecondsMax);
  const char* const arguments[] = {shell, "-c", command, nullptr};
  const char* const environment[] = {path, "V=delta", "W=beta -x", "E=", nullptr};
  ::execve(shell, const_cast<char**>(arguments), const_cast<char**>(environment));
  ::_exit(127);
}

std::string program_of(pid_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/comm");
  std::string name;
  std::getline(in, name);
  return name;
}

}  // namespace

Traced run_traced(const std::string& shell, const std::string& command, const std::string& directory,
                  const std::string& path) {
  Traced out;
  const std::string variable = "PATH=" + path;
  const pid_t child = ::fork();
  if (child < 0) return out;
  if (child == 0) become_shell(shell.c_str(), command.c_str(), directory.c_str(), variable.c_str());
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return out;
  const long options =
      PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
  out.worked = ::ptrace(PTRACE_SETOPTIONS, child, nullptr, options) == 0;
  if (!out.worked) ::kill(child, SIGKILL);
  ::ptrace(PTRACE_CONT, child, nullptr, nullptr);
  bool is_shell = true;
  for (int events = 0;; ++events) {
    const pid_t process = ::waitpid(-1, &status, __WALL);
    if (process < 0 && errno == EINTR) continue;
    if (process < 0) return out;  // all have ended
    if (!WIFSTOPPED(status)) continue;
    if (events > kEventsMax) {
      ::kill(process, SIGKILL);
      continue;
    }
    const int signal = WSTOPSIG(status);
    const int event = status >> 16;
    if (event == PTRACE_EVENT_EXEC) {
      if (!is_shell || process != child) out.programs.push_back(program_of(process));
      if (process == child) is_shell = false;
    }
    // The stops of tracing itself are no signals of the program.
    const bool own = event != 0 || signal == SIGTRAP || signal == SIGSTOP;
    ::ptrace(PTRACE_CONT, process, nullptr, own ? 0L : static_cast<long>(signal));
  }
}
