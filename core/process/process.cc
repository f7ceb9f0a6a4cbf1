// SPDX-License-Identifier: Apache-2.0
#include "core/process/process.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "core/process/births.h"
#include "core/process/family.h"
#include "core/process/spawn.h"

namespace agentd {
namespace {

constexpr Milliseconds kProcessSlice{20};  // how often the cancel word and the clock are checked
constexpr Milliseconds kDrainQuiet{100};   // after the command's end, while a descendant holds its pipe
constexpr int kDrainWakeups = 50;          // when the descendant keeps writing: at most a second
constexpr std::size_t kProcessReadBytes = 64 * 1024;

// One command from its start to its answer.
class ProcessRun {
 public:
  ProcessRun(Child child, const ProcessRequest& request, const Clock& clock, std::uint64_t started_ns)
      : child_(std::move(child)),
        request_(request),
        clock_(clock),
        started_ns_(started_ns),
        output_(request.output_bytes_max, request.spill),
        buffer_(kProcessReadBytes, '\0') {}

  Result<ProcessResult> finish(const CancelToken& cancel, Deadline deadline) {
    while (!ended_) {
      if (deadline.passed(clock_)) result_.timed_out = true;
      if (cancel.cancelled()) result_.cancelled = true;
      if (result_.timed_out || result_.cancelled) break;
      wait(slice(deadline));
    }
    if (ended_)
      end_rest();
    else
      stop();
    drain();
    return answer();
  }

 private:
  // Reads what arrived within `at_most`; false when nothing did.
  bool wait(Milliseconds at_most) {
    pollfd wait_for[2] = {{ended_ ? -1 : child_.pidfd.get(), POLLIN, 0},
                          {child_.output.get(), POLLIN, 0}};  // -1 is ignored
    if (clock_.poll_for(wait_for, at_most) <= 0) return false;
    if (wait_for[0].revents != 0) ended_ = true;
    if (wait_for[1].revents != 0) read_some();
    return true;
  }

  void read_some() {
    const ssize_t got = ::read(child_.output.get(), buffer_.data(), buffer_.size());
    if (got > 0) {
      output_.append(std::string_view(buffer_).substr(0, static_cast<std::size_t>(got)));
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      child_.output.reset();
    }
  }

  Milliseconds slice(Deadline deadline) const {
    return std::clamp(deadline.left(clock_), Milliseconds(1), kProcessSlice);
  }

  void stop() {
    Family family(child_.pid, {child_.output.get()}, {}, child_.brand);
    family.end(child_.pidfd, clock_, request_.grace, [this](Milliseconds at_most) { return wait(at_most); });
  }

  // The command ended by itself.
  void end_rest() {
    if (adopts_orphans() && !has_orphans()) return;
    stop();
  }

  // Reads to the end of the pipe. A descendant that holds it open and could not be ended gets only a moment.
  void drain() {
    Milliseconds quiet{0};
    for (int wakeups = 0; wakeups < kDrainWakeups && child_.output.valid(); ++wakeups) {
      quiet = wait(kProcessSlice) ? Milliseconds(0) : quiet + kProcessSlice;
      if (quiet >= kDrainQuiet) return;
    }
  }

  Result<ProcessResult> answer() {
    AGENTD_TRY(const Exit exit, reap(child_, request_.argv[0], ended_));
    result_.exit_code = exit.code;
    result_.signal = exit.signal;
    result_.reason = result_.timed_out     ? EndReason::kTimedOut
                     : result_.cancelled   ? EndReason::kCancelled
                     : result_.signal != 0 ? EndReason::kSignalled
                                           : EndReason::kExited;
    result_.truncated = output_.truncated();
    result_.output = output_.text();
    result_.output_bytes = output_.total();
    result_.spill_path = output_.spill_path();
    result_.spill_bytes = output_.spill_bytes();
    result_.duration =
        std::chrono::duration_cast<Milliseconds>(std::chrono::nanoseconds(clock_.monotonic_ns() - started_ns_));
    return std::move(result_);
  }

  Child child_;
  const ProcessRequest& request_;
  const Clock& clock_;
  const std::uint64_t started_ns_;
  CommandOutput output_;
  std::string buffer_;
  bool ended_ = false;
  ProcessResult result_;
};

bool is_clean(std::string_view name) {
  static constexpr std::string_view kNames[] = {"PATH", "HOME", "USER", "LOGNAME", "SHELL",
                                                "LANG", "TERM", "TZ",   "TMPDIR"};
  return name.starts_with("LC_") || std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// An empty or relative part of PATH would name programs of the working directory.
std::string absolute_parts(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find(':'), path.size());
    const std::string_view part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (part.starts_with('/')) out += (out.empty() ? "" : ":") + std::string(part);
  }
  return out.empty() ? "/usr/local/bin:/usr/bin:/bin" : out;
}

bool is_variable_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && (name.front() < '0' || name.front() > '9') && std::all_of(name.begin(), name.end(), fits);
}

bool is_refused(std::string_view name) {
  return name.starts_with("LD_") || name.starts_with("AGENTD_") || name.ends_with("_API_KEY") || name == "BASH_ENV" ||
         name == "ENV";
}

}  // namespace

Result<std::vector<std::string>> environment_with(std::vector<std::string> environment,
                                                  const std::vector<std::string>& additions) {
  for (const std::string& entry : additions) {
    const std::size_t end = entry.find('=');
    const std::string name = entry.substr(0, end);
    if (end == std::string::npos || !is_variable_name(name))
      return Error{Code::kInvalid, "an addition to a command's environment must be NAME=value"};
    if (is_refused(name))
      return Error{Code::kDenied, "a command's environment must not set " + name +
                                      ": LD_*, BASH_ENV, ENV, AGENTD_* and *_API_KEY are not for commands"};
    std::erase_if(environment, [&](const std::string& each) { return each.starts_with(name + "="); });
    environment.push_back(entry);
  }
  return environment;
}

std::vector<std::string> clean_environment() {
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (name.size() == text.size()) continue;  // it has no "="
    if (name == "PATH")
      out.push_back("PATH=" + absolute_parts(text.substr(name.size() + 1)));
    else if (is_clean(name))
      out.emplace_back(text);
  }
  return out;
}

Result<std::vector<std::string>> environment_of(const ProcessRequest& request) {
  return environment_with(request.environment.empty() ? clean_environment() : request.environment, request.additions);
}

Result<ProcessResult> run_process(const ProcessRequest& request, const Clock& clock, const CancelToken& cancel,
                                  Deadline deadline) {
  AGENTD_TRY(const std::vector<std::string> environment, environment_of(request));
  AGENTD_TRY_VOID(check_command(request.argv, environment, request.cwd));
  if (cancel.cancelled()) return Error{Code::kCancelled, "the command was cancelled before it began"};
  const std::uint64_t started_ns = clock.monotonic_ns();
  SpawnRequest start{request.argv, environment, request.cwd, request.input};
  start.pass = request.pass;
  start.offspring = Offspring::kBranded;
  AGENTD_TRY(Child child, spawn(start));
  return ProcessRun(std::move(child), request, clock, started_ns).finish(cancel, deadline);
}

}  // namespace agentd
