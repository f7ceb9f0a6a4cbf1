// SPDX-License-Identifier: Apache-2.0
#include "core/process/filter.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "core/process/family.h"
#include "core/process/output.h"
#include "core/process/spawn.h"

namespace agentd {
namespace {

constexpr Milliseconds kFilterSlice{20};  // how often the cancel word and the clock are checked
// How long a child that never pauses may add to the answer of a program that ended.
constexpr Milliseconds kSettleMax{1'000};
constexpr int kLateReads = 128;  // what a pipe may still hold after the deadline
constexpr std::size_t kFilterReadBytes = 16 * 1024;

// One program from its start to its answer.
class FilterRun {
 public:
  FilterRun(Child child, const FilterRequest& request, std::string mark, const Clock& clock, std::uint64_t started_ns)
      : child_(std::move(child)),
        request_(request),
        mark_(std::move(mark)),
        clock_(clock),
        started_ns_(started_ns),
        error_(request.error_bytes_max) {}

  Result<FilterResult> finish(const CancelToken& cancel, Deadline deadline) {
    while (!ended_ && !must_stop(cancel, deadline)) wait(slice(deadline));
    if (ended_) settle(deadline);
    Family family(child_.pid, {child_.output.get(), child_.error.get()}, mark_, child_.brand);
    if (ended_) {
      family.end_rest();
    } else if (result_.output_over_cap) {
      family.end_now(child_.pidfd, pump());
    } else {
      family.end(child_.pidfd, clock_, request_.grace, pump());
    }
    result_.children = family.found();
    if (!ended_ || result_.timed_out || result_.cancelled) take_rest();
    return answer();
  }

 private:
  Family::Pump pump() {
    return [this](Milliseconds at_most) { return wait(at_most); };
  }

  bool must_stop(const CancelToken& cancel, Deadline deadline) {
    if (result_.output_over_cap) return true;
    result_.cancelled = cancel.cancelled();
    if (result_.cancelled || !deadline.passed(clock_)) return result_.cancelled;
    wait(Milliseconds(0));  // after a delay of this process, a program that ended in time is not reported as late
    result_.timed_out = !ended_;
    return true;
  }

  Milliseconds slice(Deadline deadline) const {
    return std::clamp(deadline.left(clock_), Milliseconds(1), kFilterSlice);
  }

  bool open() const { return child_.output.valid() || child_.error.valid(); }

  // Reads what arrived within `at_most`; false when nothing did.
  bool wait(Milliseconds at_most) {
    // A descriptor of -1 is ignored.
    pollfd wait_for[3] = {{ended_ ? -1 : child_.pidfd.get(), POLLIN, 0},
                          {child_.output.get(), POLLIN, 0},
                          {child_.error.get(), POLLIN, 0}};
    const int ready = clock_.poll_for(wait_for, at_most);
    if (ready <= 0) return ready < 0;  // a signal to this process is not silence of the program
    if (wait_for[0].revents != 0) ended_ = true;
    if (wait_for[1].revents != 0)
      read_some(&child_.output, wait_for[1].revents, [this](std::string_view got) { keep(got); });
    if (wait_for[2].revents != 0)
      read_some(&child_.error, wait_for[2].revents, [this](std::string_view got) { error_.append(got); });
    return true;
  }

  // Closes the pipe at its end: a short read means that no process holds the other side.
  template <typename Sink>
  void read_some(UniqueFd* pipe, int events, const Sink& sink) {
    char buffer[kFilterReadBytes];
    ssize_t got = 0;
    if ((events & POLLIN) != 0) got = ::read(pipe->get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) return;
    if (got > 0) sink(std::string_view(buffer, static_cast<std::size_t>(got)));
    const bool more = got == static_cast<ssize_t>(sizeof buffer) || (events & POLLHUP) == 0;
    if (got <= 0 || !more) pipe->reset();
  }

  // Bytes over the limit are dropped.
  void keep(std::string_view got) {
    const std::uint64_t room = request_.output_bytes_max - result_.output.size();
    if (got.size() > room) result_.output_over_cap = true;
    result_.output.append(got.substr(0, room));
  }

  // The program has ended, so its answer is complete at the end of the pipes. A child that holds them open may add to
  // it as long as it does not pause.
  void settle(Deadline deadline) {
    const Deadline latest = Deadline::after(clock_, std::max(request_.settle, kSettleMax));
    const Deadline last{std::min(latest.at_ns, deadline.at_ns)};
    for (int late_reads = 0; open() && !result_.output_over_cap;) {
      const Milliseconds left = last.left(clock_);
      if (left.count() == 0 && ++late_reads > kLateReads) return;
      if (!wait(std::clamp(request_.settle, Milliseconds(0), left))) return;
    }
  }

  // After a kill.
  void take_rest() {
    for (int reads = 0; reads < kLateReads && open() && wait(Milliseconds(0));) ++reads;
  }

  Result<FilterResult> answer() {
    AGENTD_TRY(const Exit exit, reap(child_, request_.argv[0], ended_));
    result_.exit_code = exit.code;
    result_.signal = exit.signal;
    result_.error = error_.text();
    result_.duration_us = (clock_.monotonic_ns() - started_ns_) / 1'000;
    return std::move(result_);
  }

  Child child_;
  const FilterRequest& request_;
  const std::string mark_;
  const Clock& clock_;
  const std::uint64_t started_ns_;
  BoundedOutput error_;
  bool ended_ = false;
  FilterResult result_;
};

}  // namespace

Result<FilterResult> run_filter(const FilterRequest& request, const Clock& clock, const CancelToken& cancel,
                                Deadline deadline) {
  AGENTD_TRY_VOID(check_command(request.argv, request.environment, request.cwd));
  if (cancel.cancelled()) return Error{Code::kCancelled, "the command was cancelled before it began"};
  FilterResult too_late;
  too_late.timed_out = deadline.passed(clock);
  if (too_late.timed_out) return too_late;
  const std::uint64_t started_ns = clock.monotonic_ns();
  const std::string mark = make_mark();
  AGENTD_TRY(ProgramStart start, start_of(request.cage.get(), request.argv, request.cwd, request.environment,
                                          request.program, request.program_fd));
  auto child = spawn({start.argv, start.environment, request.cwd, request.input, Pipes::kApart, start.program, mark,
                      start.pass, Offspring::kBranded});
  auto out = child ? FilterRun(std::move(*child), request, mark, clock, started_ns).finish(cancel, deadline)
                   : Result<FilterResult>(child.error());
  if (!start.caged) return out;
  CagedCommand::After after = out ? start.caged->finish(out->error, out->exit_code) : start.caged->finish({}, -1);
  if (out) out->after = std::move(after);
  return out;
}

}  // namespace agentd
