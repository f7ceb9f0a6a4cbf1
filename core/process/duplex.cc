// SPDX-License-Identifier: Apache-2.0
#include "core/process/duplex.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "core/base/mutex.h"
#include "core/process/family.h"
#include "core/process/output.h"
#include "core/process/quiet_write.h"
#include "core/process/spawn.h"

namespace agentd {
namespace {

constexpr Milliseconds kDuplexSlice{20};  // how often the cancel word and the clock are checked
constexpr Milliseconds kGrace{200};       // between SIGTERM and SIGKILL
// The longest pause in the output after the program ended while a child of it holds the pipe.
constexpr Milliseconds kSettle{50};
constexpr std::size_t kDuplexReadBytes = 16 * 1024;
constexpr int kErrorReads = 64;  // at a time, so that endless standard error does not delay the answer

void make_non_blocking(const UniqueFd& fd) { ::fcntl(fd.get(), F_SETFL, O_NONBLOCK); }

class Duplex final : public DuplexProcess {
 public:
  Duplex(Child child, const DuplexRequest& request, std::shared_ptr<CagedCommand> caged, std::string mark,
         const Clock& clock)
      : child_(std::move(child)),
        name_(request.argv[0]),
        cage_(request.cage),
        caged_(std::move(caged)),
        told_(request.ended),
        mark_(std::move(mark)),
        clock_(clock),
        error_(request.error_bytes_max) {
    make_non_blocking(child_.input);
    make_non_blocking(child_.error);
  }

  // The grace is real time, so that a caller's stopped clock keeps no process alive.
  ~Duplex() override {
    child_.input.reset();
    const SystemClock clock;
    Family family(child_.pid, {child_.output.get(), child_.error.get()}, mark_, child_.brand);
    family.end(child_.pidfd, clock, kGrace, [this](Milliseconds at_most) { return discard(at_most); });
    (void)reap(child_, name_, !running());
    if (!caged_) return;
    const CagedCommand::After after = caged_->finish({}, -1);
    if (told_) told_(after);
  }

  Result<void> write(std::string_view bytes, const CancelToken& cancel, Deadline deadline) override {
    while (!bytes.empty()) {
      if (cancel.cancelled()) return Error{Code::kCancelled, "writing to " + name_ + " was cancelled"};
      if (!running()) return Error{Code::kUnavailable, ending()};
      const ssize_t wrote = write_quietly(child_.input.get(), bytes);
      if (wrote >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(wrote));
        continue;
      }
      AGENTD_TRY_VOID(judge(errno));
      if (deadline.passed(clock_)) return Error{Code::kBusy, name_ + " did not read its input before the deadline"};
      wait(child_.input, POLLOUT, slice(deadline));
    }
    return {};
  }

  Result<std::string> read(std::size_t bytes_max, const CancelToken& cancel, Deadline deadline) override {
    while (!output_ended_) {
      if (cancel.cancelled()) return Error{Code::kCancelled, "reading from " + name_ + " was cancelled"};
      if (!running()) {
        if (wait_ready(child_.output, kSettle)) return take(bytes_max);
        output_ended_ = true;
      } else if (wait(child_.output, POLLIN, slice(deadline))) {
        return take(bytes_max);
      } else if (deadline.passed(clock_)) {
        return Error{Code::kBusy, name_ + " wrote nothing before the deadline"};
      }
    }
    return std::string();
  }

  bool running() override { return !wait_ready(child_.pidfd, Milliseconds(0)); }

  std::string error_text() const override {
    const MutexLock lock(mutex_);
    drain_error();
    return error_.text();
  }

 private:
  bool wait_ready(const UniqueFd& fd, Milliseconds at_most) const {
    pollfd one{fd.get(), POLLIN, 0};
    int ready = 0;
    do {
      ready = clock_.poll_for({&one, 1}, at_most);
    } while (ready < 0 && errno == EINTR);
    return ready == 1;
  }

  Milliseconds slice(Deadline deadline) const { return std::min(deadline.left(clock_), kDuplexSlice); }

  // Waits for `fd` or the program's end and drains standard error: a program blocked on a full pipe answers nothing.
  // True when `fd` is ready.
  bool wait(const UniqueFd& fd, short events, Milliseconds at_most) const {
    pollfd wait_for[3] = {
        {fd.get(), events, 0}, {error_ended_ ? -1 : child_.error.get(), POLLIN, 0}, {child_.pidfd.get(), POLLIN, 0}};
    if (clock_.poll_for(wait_for, at_most) <= 0) return false;
    if (wait_for[1].revents != 0) {
      const MutexLock lock(mutex_);
      drain_error();
    }
    return wait_for[0].revents != 0;
  }

  void drain_error() const REQUIRES(mutex_) {
    char buffer[kDuplexReadBytes];
    for (int reads = 0; reads < kErrorReads && !error_ended_; ++reads) {
      const ssize_t got = ::read(child_.error.get(), buffer, sizeof buffer);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
      error_ended_ = got <= 0;
      if (got > 0) error_.append(std::string_view(buffer, static_cast<std::size_t>(got)));
    }
  }

  Result<std::string> take(std::size_t bytes_max) {
    std::string out(std::clamp<std::size_t>(bytes_max, 1, kDuplexReadBytes), '\0');
    ssize_t got = 0;
    do {
      got = ::read(child_.output.get(), out.data(), out.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0) return errno_error("reading from " + name_, errno);
    output_ended_ = got == 0;
    out.resize(static_cast<std::size_t>(got));
    return out;
  }

  // The error of a failed write; none when it should be retried.
  Result<void> judge(int error_number) {
    if (error_number == EAGAIN || error_number == EINTR) return {};
    if (error_number != EPIPE) return errno_error("writing to " + name_, error_number);
    // Its descriptors are closed a moment before its end is visible.
    const bool ended = wait_ready(child_.pidfd, kSettle);
    return Error{Code::kUnavailable, ended ? ending() : name_ + " has closed its input"};
  }

  // Says how it ended, without reaping it.
  std::string ending() const {
    siginfo_t info{};
    const int options = WEXITED | WNOHANG | WNOWAIT;
    if (::waitid(P_PID, static_cast<id_t>(child_.pid), &info, options) != 0 || info.si_pid == 0)
      return name_ + " has ended";
    return name_ + (info.si_code == CLD_EXITED ? " has ended with exit code " : " was ended by signal ") +
           std::to_string(info.si_status);
  }

  // Drops output while the program is being ended.
  bool discard(Milliseconds at_most) {
    if (!wait(child_.output, POLLIN, at_most)) return false;
    char buffer[kDuplexReadBytes];
    const ssize_t got = ::read(child_.output.get(), buffer, sizeof buffer);
    if (got == 0) child_.output.reset();
    return got > 0;
  }

  Child child_;
  const std::string name_;
  const std::shared_ptr<CommandCage> cage_;  // has its files as long as it runs
  const std::shared_ptr<CagedCommand> caged_;
  const std::function<void(const CagedCommand::After&)> told_;
  const std::string mark_;
  const Clock& clock_;
  bool output_ended_ = false;  // the reader's
  mutable Mutex mutex_;
  mutable std::atomic<bool> error_ended_{false};
  mutable BoundedOutput error_ GUARDED_BY(mutex_);
};

}  // namespace

Result<std::unique_ptr<DuplexProcess>> DuplexProcess::start(const DuplexRequest& request, const Clock& clock) {
  AGENTD_TRY_VOID(check_command(request.argv, request.environment, request.cwd));
  std::string mark = make_mark();
  AGENTD_TRY(ProgramStart start,
             start_of(request.cage.get(), request.argv, request.cwd, request.environment, request.program, -1));
  auto child = spawn({start.argv, start.environment, request.cwd, std::string_view(), Pipes::kDuplex, start.program,
                      mark, start.pass, Offspring::kBranded});
  if (!child) {
    if (start.caged) (void)start.caged->finish({}, -1);
    return child.error();
  }
  if (start.caged) start.caged->descriptors.clear();
  return std::unique_ptr<DuplexProcess>(
      std::make_unique<Duplex>(std::move(*child), request, std::move(start.caged), std::move(mark), clock));
}

}  // namespace agentd
