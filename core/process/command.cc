// SPDX-License-Identifier: Apache-2.0
#include "core/process/command.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/bytes.h"
#include "core/process/births.h"
#include "core/process/quiet_write.h"
#include "core/process/terminal.h"

namespace agentd {
namespace {

constexpr std::size_t kCommandReadBytes = 64 * 1024;
constexpr int kReadsAtOnce = 16;              // of one command, before the next one has its turn
constexpr std::size_t kPieceBytes = 1 << 20;  // of one read()
constexpr std::size_t kLineBytes = 400;       // of the command as it is listed
constexpr Milliseconds kCommandSlice{50};     // how often a cancel word is checked
constexpr int kKillRoundsAtOnce = 3;          // in one step
constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kGiveUpNs = 2'000 * kMs;  // a process stuck in the kernel may outlive SIGKILL
constexpr std::uint64_t kQuietNs = 100 * kMs;     // of the output, while somebody who could not be ended holds it
constexpr std::uint64_t kDrainNs = 1'000 * kMs;
constexpr int kSignalMax = 64;
constexpr std::string_view kEndOfInput = "\x04";  // of a terminal in its usual mode

std::string line_of(const std::vector<std::string>& argv) {
  std::string out;
  for (const std::string& word : argv) out += (out.empty() ? "" : " ") + word;
  return one_line(out, kLineBytes);
}

Deadline deadline_of(const CommandRequest& request, std::uint64_t started_ns) {
  if (request.time.count() == 0) return {};
  return {started_ns + static_cast<std::uint64_t>(std::chrono::nanoseconds(request.time).count())};
}

void set_non_blocking(const UniqueFd& fd) {
  if (fd.valid()) ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

// Read by one thread and written to by others, each with a descriptor of its own.
UniqueFd copy_of(const UniqueFd& fd) { return UniqueFd(fd.valid() ? ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3) : -1); }

}  // namespace

std::string_view name_of(EndReason reason) {
  switch (reason) {
    case EndReason::kNone:
      return "";
    case EndReason::kExited:
      return "exited";
    case EndReason::kSignalled:
      return "signalled";
    case EndReason::kTimedOut:
      return "timed out";
    case EndReason::kCancelled:
      return "cancelled";
    case EndReason::kEnded:
      return "ended";
    case EndReason::kSessionEnded:
      return "session ended";
    case EndReason::kOutputLimit:
      return "output limit";
  }
  return "";
}

Command::Command(std::uint64_t handle, CommandRequest request, Child child, UniqueFd terminal,
                 std::shared_ptr<CagedCommand> caged, const Clock& clock, std::uint64_t started_ns)
    : handle_(handle),
      request_(std::move(request)),
      line_(line_of(request_.process.argv)),
      clock_(clock),
      started_ns_(started_ns),
      deadline_(deadline_of(request_, started_ns)),
      child_(std::move(child)),
      output_(terminal.valid() ? std::move(terminal) : std::move(child_.output)),
      buffer_(kCommandReadBytes, '\0'),
      caged_(std::move(caged)),
      input_(request_.terminal ? copy_of(output_) : std::move(child_.input)),
      text_(request_.process.output_bytes_max, request_.process.spill) {
  set_non_blocking(output_);
  const MutexLock lock(input_mutex_);
  set_non_blocking(input_);
}

// Only a command that no reader has ended is still there.
Command::~Command() {
  if (ended()) return;
  Family family(child_.pid, {}, {}, child_.brand);
  family.end_now(child_.pidfd, [this](Milliseconds at_most) {
    real_.pause(at_most);
    return false;
  });
  (void)reap(child_, request_.process.argv[0], true);
  if (caged_) (void)caged_->finish({}, -1);
}

// ---- for others

CommandState Command::state_locked() const {
  CommandState out;
  out.handle = handle_;
  out.phase = ended_    ? CommandState::Phase::kEnded
              : ending_ ? CommandState::Phase::kEnding
                        : CommandState::Phase::kRunning;
  if (ended_) {
    out.reason = reason_;
    out.exit_code = exit_.code;
    out.signal = exit_.signal;
  }
  out.output_bytes = text_.total();
  out.spill_path = text_.spill_path();
  out.spill_bytes = text_.spill_bytes();
  out.spill_full = text_.spill_full();
  out.takes_input = request_.takes_input || request_.terminal.has_value();
  out.has_terminal = request_.terminal.has_value();
  const std::uint64_t until_ns = ended_ ? ended_ns_ : clock_.monotonic_ns();
  out.duration = std::chrono::duration_cast<Milliseconds>(std::chrono::nanoseconds(until_ns - started_ns_));
  out.command = line_;
  out.description = request_.description;
  return out;
}

CommandState Command::state() const {
  const MutexLock lock(mutex_);
  return state_locked();
}

bool Command::ended() const {
  const MutexLock lock(mutex_);
  return ended_;
}

Error Command::has_ended() const {
  return {Code::kUnavailable, "command " + std::to_string(handle_) + " has ended: " + line_};
}

CommandPiece Command::read(std::uint64_t position, std::size_t bytes_max, const CancelToken& cancel,
                           Deadline deadline) {
  const bool unread = position == ProcessHost::kUnread;
  const MutexLock lock(mutex_);
  while (!ended_ && text_.total() <= (unread ? unread_ : position) && !cancel.cancelled() && !deadline.passed(clock_))
    changed_.wait_for(mutex_, clock_, std::clamp(deadline.left(clock_), Milliseconds(1), kCommandSlice));
  CommandPiece out;
  auto part = text_.from(unread ? unread_ : position, std::clamp<std::size_t>(bytes_max, 1, kPieceBytes));
  // A word that is cut in two is not recognised as a secret in either piece.
  if (const std::size_t line_end = part.bytes.rfind('\n');
      unread && part.first + part.bytes.size() < text_.total() && line_end != std::string::npos)
    part.bytes.resize(line_end + 1);
  out.first = part.first;
  out.bytes = std::move(part.bytes);
  out.next = out.first + out.bytes.size();
  if (unread) unread_ = out.next;
  out.state = state_locked();
  return out;
}

CommandState Command::wait(const CancelToken& cancel, Deadline deadline) {
  const MutexLock lock(mutex_);
  while (!ended_ && !cancel.cancelled() && !deadline.passed(clock_))
    changed_.wait_for(mutex_, clock_, std::clamp(deadline.left(clock_), Milliseconds(1), kCommandSlice));
  return state_locked();
}

Result<void> Command::write(std::string_view bytes, bool close, const CancelToken& cancel, Deadline deadline) {
  const std::string name = "command " + std::to_string(handle_);
  const MutexLock lock(input_mutex_);
  if (!input_.valid()) return Error{Code::kInvalid, name + " takes no input, or its input was closed"};
  std::string rest(bytes);
  if (close && request_.terminal) rest += kEndOfInput;
  for (std::string_view left = rest; !left.empty();) {
    if (cancel.cancelled()) return Error{Code::kCancelled, "writing to " + name + " was cancelled"};
    if (ended()) return has_ended();
    const ssize_t wrote = write_quietly(input_.get(), left);
    if (wrote >= 0) {
      left.remove_prefix(static_cast<std::size_t>(wrote));
      continue;
    }
    if (errno == EPIPE || errno == EIO) return Error{Code::kUnavailable, name + " has closed its input"};
    if (errno != EAGAIN && errno != EINTR) return errno_error("writing to " + name, errno);
    if (deadline.passed(clock_)) return Error{Code::kBusy, name + " did not read its input before the deadline"};
    pollfd one{input_.get(), POLLOUT, 0};
    (void)clock_.poll_for({&one, 1}, std::clamp(deadline.left(clock_), Milliseconds(1), kCommandSlice));
  }
  if (close && !request_.terminal) input_.reset();
  return {};
}

// It is not reaped before it counts as ended, so that no other process has the number.
Result<void> Command::signal(int number) {
  if (number < 1 || number > kSignalMax)
    return Error{Code::kInvalid, "a signal is a number from 1 to " + std::to_string(kSignalMax)};
  const MutexLock lock(mutex_);
  if (ended_) return has_ended();
  if (::kill(-child_.pid, number) != 0 && errno != ESRCH)
    return errno_error("sending a signal to command " + std::to_string(handle_), errno);
  return {};
}

void Command::wish_end(EndReason reason, Milliseconds grace) {
  const MutexLock lock(mutex_);
  if (ended_) return;
  if (wish_.reason == EndReason::kNone) {
    wish_ = {reason, grace};
  } else {
    wish_.grace = std::min(wish_.grace, grace);
  }
}

Result<void> Command::resize(TerminalSize size) {
  const std::string name = "command " + std::to_string(handle_);
  if (!request_.terminal) return Error{Code::kInvalid, name + " has no terminal"};
  if (size.rows == 0 || size.columns == 0)
    return Error{Code::kInvalid, "a terminal has at least one row and one column"};
  if (ended()) return has_ended();
  const MutexLock lock(input_mutex_);
  return resize_terminal(input_.get(), size);
}

std::vector<std::string> Command::take_remarks() {
  const MutexLock lock(mutex_);
  return std::exchange(remarks_, {});
}

// ---- the reader's

void Command::append(std::string_view bytes) {
  if (!bytes.empty()) at_line_start_ = bytes.back() == '\n';
  const MutexLock lock(mutex_);
  text_.append(bytes);
  const std::uint64_t most = request_.output_bytes_limit;
  if (most != 0 && text_.total() > most && wish_.reason == EndReason::kNone)
    wish_ = {EndReason::kOutputLimit, request_.process.grace};
  changed_.notify_all();
}

std::string Command::output_end() const {
  const MutexLock lock(mutex_);
  const std::uint64_t bytes = std::min<std::uint64_t>(text_.total(), CagedCommand::kOutputTail);
  return text_.from(text_.total() - bytes, bytes).bytes;
}

// True if there was something. The end of a terminal is EIO.
bool Command::read_some() {
  bool any = false;
  for (int reads = 0; reads < kReadsAtOnce && output_.valid(); ++reads) {
    const ssize_t got = ::read(output_.get(), buffer_.data(), buffer_.size());
    if (got > 0) {
      append(std::string_view(buffer_).substr(0, static_cast<std::size_t>(got)));
      any = true;
    } else if (got < 0 && errno == EAGAIN) {
      break;
    } else if (got == 0 || errno != EINTR) {
      output_.reset();
    }
  }
  return any;
}

std::optional<Command::Wish> Command::wish() const {
  const MutexLock lock(mutex_);
  if (wish_.reason == EndReason::kNone) return std::nullopt;
  return wish_;
}

void Command::begin_end(Wish wish) {
  {
    const MutexLock lock(mutex_);
    wish_ = wish;
    reason_ = wish.reason;
    ending_ = true;
    changed_.notify_all();
  }
  family_.emplace(child_.pid, std::vector<int>{request_.terminal ? -1 : output_.get()}, std::string(), child_.brand);
  family_->gather();
  if (wish.grace.count() > 0) family_->signal(SIGTERM);
  kill_at_ns_ = real_.monotonic_ns() + static_cast<std::uint64_t>(wish.grace.count()) * kMs;
  give_up_at_ns_ = kill_at_ns_ + kGiveUpNs;
  phase_ = Phase::kEnding;
}

// It has ended by itself; what it left behind follows.
void Command::begin_rest() {
  if (adopts_orphans() && !has_orphans()) return begin_drain();
  family_.emplace(child_.pid, std::vector<int>{request_.terminal ? -1 : output_.get()}, std::string(), child_.brand);
  family_->gather();
  if (family_->found() == 0) return begin_drain();
  family_->signal(SIGTERM);
  kill_at_ns_ = real_.monotonic_ns() + static_cast<std::uint64_t>(grace().count()) * kMs;
  give_up_at_ns_ = kill_at_ns_ + kGiveUpNs;
  phase_ = Phase::kEnding;
}

void Command::begin_drain() {
  phase_ = Phase::kDraining;
  quiet_since_ns_ = real_.monotonic_ns();
  give_up_at_ns_ = quiet_since_ns_ + kDrainNs;
}

void Command::go_on_ending() {
  if (const auto wanted = wish())  // a shorter grace
    kill_at_ns_ = std::min(kill_at_ns_, real_.monotonic_ns() + static_cast<std::uint64_t>(wanted->grace.count()) * kMs);
  if (leader_ended_ && family_->gone() && !family_->gather()) return begin_drain();
  const std::uint64_t now = real_.monotonic_ns();
  if (now < kill_at_ns_) return;
  const bool all = family_->kill_all(kKillRoundsAtOnce);
  if ((all && leader_ended_) || now >= give_up_at_ns_) begin_drain();
}

bool Command::drained(bool read_something) {
  const std::uint64_t now = real_.monotonic_ns();
  if (read_something) quiet_since_ns_ = now;
  return !output_.valid() || now >= quiet_since_ns_ + kQuietNs || now >= give_up_at_ns_;
}

void Command::finish() {
  auto exit = reap(child_, request_.process.argv[0], leader_ended_);
  family_.reset();
  output_.reset();
  const CagedCommand::After after =
      caged_ ? caged_->finish(output_end(), exit ? exit->code : -1) : CagedCommand::After{};
  append(remarks_behind(after, at_line_start_));
  const MutexLock lock(mutex_);
  exit_ = exit ? *exit : Exit{};
  remarks_ = after.remarks;
  if (after.undone && exit_.code == 0) exit_.code = 1;
  if (reason_ == EndReason::kNone) reason_ = exit_.signal != 0 ? EndReason::kSignalled : EndReason::kExited;
  ended_ns_ = clock_.monotonic_ns();
  ended_ = true;
  changed_.notify_all();
}

bool Command::step(bool leader_ready, bool output_ready) {
  leader_ended_ = leader_ended_ || leader_ready;
  const bool read_something = output_ready && read_some();
  if (phase_ == Phase::kRunning) {
    if (leader_ended_)
      begin_rest();
    else if (const auto wanted = wish())
      begin_end(*wanted);
    else if (deadline_.passed(clock_))
      begin_end({EndReason::kTimedOut, grace()});
  }
  if (phase_ == Phase::kEnding) go_on_ending();
  if (phase_ != Phase::kDraining || !drained(read_something || read_some())) return false;
  finish();
  return true;
}

}  // namespace agentd
