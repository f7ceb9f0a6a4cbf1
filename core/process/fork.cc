// SPDX-License-Identifier: Apache-2.0
#include "core/process/fork.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

#include "core/base/file.h"
#include "core/process/births.h"
#include "core/process/family.h"
#include "core/process/output.h"

namespace agentd {
namespace {

constexpr Milliseconds kForkSlice{20};
constexpr int kDrainRounds = 25;  // for the rest in a pipe after the child has ended
constexpr int kThrew = 250, kNoStart = 251;
constexpr std::size_t kForkReadBytes = 64 * 1024;

struct ForkPipe {
  UniqueFd read, write;
};

Result<ForkPipe> make_fork_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error("creating a pipe", errno);
  UniqueFd write(ends[1]);
  // Above 2, so that the child's standard descriptors replace neither.
  ForkPipe out;
  AGENTD_TRY(out.read, above_standard(ends[0], "creating a pipe"));
  AGENTD_TRY(out.write, above_standard(write.release(), "creating a pipe"));
  return out;
}

void cap(int what, rlim_t most) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(what), &limit) != 0) return;
  limit.rlim_cur = std::min(limit.rlim_cur, most);
  ::setrlimit(static_cast<__rlimit_resource_t>(what), &limit);
}

rlim_t data_bytes() {
  char text[4096];
  const UniqueFd file(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  const ssize_t got = file.valid() ? ::read(file.get(), text, sizeof text - 1) : 0;
  if (got <= 0) return 0;
  text[got] = '\0';
  unsigned long pages = 0;  // the sixth number: data and stack
  char* at = text;
  for (int i = 0; i < 6; ++i) pages = std::strtoul(at, &at, 10);
  return static_cast<rlim_t>(pages) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

void become_child(pid_t parent, const ForkPipe& output, const ForkLimits& limits) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kNoStart);  // the parent ended before PR_SET_PDEATHSIG
  const auto nothing = above_standard(::open("/dev/null", O_RDONLY | O_CLOEXEC), "opening /dev/null");
  if (!nothing || ::dup2(nothing->get(), STDIN_FILENO) < 0 || ::dup2(output.write.get(), STDOUT_FILENO) < 0 ||
      ::dup2(output.write.get(), STDERR_FILENO) < 0)
    ::_exit(kNoStart);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT}) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  cap(RLIMIT_CORE, 0);
  if (limits.memory_bytes_max != 0) cap(RLIMIT_DATA, data_bytes() + limits.memory_bytes_max);
}

[[noreturn]] void run_child(const std::function<int(int)>& body, int report) {
  int code = kThrew;
  try {
    code = body(report);
  } catch (...) {
    code = kThrew;
  }
  ::_exit(code);
}

class Watch {
 public:
  Watch(pid_t pid, UniqueFd report, UniqueFd output, std::uint64_t brand, const ForkLimits& limits, const Clock& clock)
      : pid_(pid),
        brand_(brand),
        pidfd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))),
        report_(std::move(report)),
        output_(std::move(output)),
        limits_(limits),
        clock_(clock),
        kept_(limits.output_bytes_max),
        buffer_(kForkReadBytes, '\0') {}

  ForkEnd finish(const CancelToken& cancel) {
    const Deadline deadline = Deadline::after(clock_, limits_.time);
    const bool by_step = limits_.time_of_step.count() != 0;
    Deadline step = by_step ? Deadline::after(clock_, limits_.time_of_step) : deadline;
    std::size_t reported = 0;
    while (!ended_ && !end_.timed_out && !end_.cancelled) {
      if (by_step && end_.report.size() != reported) step = Deadline::after(clock_, limits_.time_of_step);
      reported = end_.report.size();
      end_.timed_out = deadline.passed(clock_) || step.passed(clock_);
      end_.cancelled = cancel.cancelled();
      wait(kForkSlice);
    }
    // Its descendants end with it, also when it ended normally.
    Family family(pid_, {output_.get(), report_.get()}, {}, brand_);
    if (ended_)
      family.kill_all(kDrainRounds);
    else
      family.end_now(pidfd_, [this](Milliseconds at_most) { return wait(at_most); });
    for (int round = 0; round < kDrainRounds && (output_.valid() || report_.valid()); ++round) wait(kForkSlice);
    reap();
    end_.output = kept_.text();
    return std::move(end_);
  }

 private:
  bool wait(Milliseconds at_most) {
    pollfd fds[3] = {{ended_ ? -1 : pidfd_.get(), POLLIN, 0}, {report_.get(), POLLIN, 0}, {output_.get(), POLLIN, 0}};
    if (clock_.poll_for(fds, at_most) <= 0) return false;
    if (fds[0].revents != 0) ended_ = true;
    if (fds[1].revents != 0) end_.report += take(report_).substr(0, limits_.report_bytes_max - end_.report.size());
    if (fds[2].revents != 0) kept_.append(take(output_));
    return true;
  }

  std::string_view take(UniqueFd& from) {
    const ssize_t got = ::read(from.get(), buffer_.data(), buffer_.size());
    if (got > 0) return std::string_view(buffer_).substr(0, static_cast<std::size_t>(got));
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) from.reset();
    return {};
  }

  void reap() {
    int status = 0;
    rusage usage{};
    while (::wait4(pid_, &status, 0, &usage) < 0) {
      if (errno == EINTR) continue;
      forget_child(pid_);
      return;
    }
    forget_child(pid_);
    end_.memory_kib = static_cast<std::uint64_t>(usage.ru_maxrss);
    if (WIFEXITED(status)) end_.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) end_.signal = WTERMSIG(status);
  }

  const pid_t pid_;
  const std::uint64_t brand_;
  UniqueFd pidfd_, report_, output_;
  const ForkLimits& limits_;
  const Clock& clock_;
  BoundedOutput kept_;
  std::string buffer_;
  bool ended_ = false;
  ForkEnd end_;
};

}  // namespace

std::string signal_name(int number) {
  const char* const name = ::sigabbrev_np(number);
  return name == nullptr ? "signal " + std::to_string(number) : "SIG" + std::string(name);
}

std::string ForkEnd::how() const {
  if (cancelled) return "was interrupted";
  if (timed_out) return "hung: it had not ended by its deadline";
  if (signal != 0) return "was ended by signal " + std::to_string(signal) + " (" + signal_name(signal) + ")";
  if (exit_code == kThrew) return "threw an exception";
  return "ended with exit code " + std::to_string(exit_code);
}

Result<ForkEnd> run_forked(const std::function<int(int report_fd)>& body, const ForkLimits& limits, const Clock& clock,
                           const CancelToken& cancel) {
  AGENTD_TRY(ForkPipe report, make_fork_pipe());
  AGENTD_TRY(ForkPipe output, make_fork_pipe());
  const pid_t parent = ::getpid();
  std::optional<Birth> birth(std::in_place, Offspring::kBranded);
  const std::uint64_t number = birth->brand();
  const pid_t pid = ::fork();
  if (pid > 0) birth->made(pid);
  birth.reset();
  if (pid < 0) return errno_error("starting a process", errno);
  if (pid == 0) {
    forget_all_children();
    become_child(parent, output, limits);
    report.read.reset();
    output.read.reset();
    output.write.reset();
    run_child(body, report.write.get());
  }
  report.write.reset();
  output.write.reset();
  return Watch(pid, std::move(report.read), std::move(output.read), number, limits, clock).finish(cancel);
}

}  // namespace agentd
