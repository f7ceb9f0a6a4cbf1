// SPDX-License-Identifier: Apache-2.0
#pragma once
// command.h - one command that was started and not waited for. Private to this room.
//
// The thread of CommandReader reads its output and ends it; others ask for its state and wish for its end.
//
//   running -> [ending: SIGTERM was sent, SIGKILL follows] -> draining: the rest of its output -> ended
//
// Threading: state(), read(), write(), signal(), wait(), wish_end() and resize() on any thread; step() and the rest on
// the reader's.

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/process/family.h"
#include "core/process/process_host.h"
#include "core/process/spawn.h"
#include "core/process/spill.h"

namespace agentd {

class Command {
 public:
  // `child` was started at that time of `clock`, which outlives it; `terminal` is the host's side of its terminal, if
  // it has one; `caged`: its cage, null = none.
  Command(std::uint64_t handle, CommandRequest request, Child child, UniqueFd terminal,
          std::shared_ptr<CagedCommand> caged, const Clock& clock, std::uint64_t started_ns);
  // REQUIRES: it has ended, or no reader was told of it.
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  std::uint64_t handle() const { return handle_; }
  CommandState state() const;
  bool ended() const;
  CommandPiece read(std::uint64_t position, std::size_t bytes_max, const CancelToken& cancel, Deadline deadline);
  Result<void> write(std::string_view bytes, bool close, const CancelToken& cancel, Deadline deadline);
  // To its process group.
  Result<void> signal(int number);
  CommandState wait(const CancelToken& cancel, Deadline deadline);
  // The reader ends it at its next step, unless it is being ended; a shorter grace replaces the one before.
  void wish_end(EndReason reason, Milliseconds grace);
  Milliseconds grace() const { return request_.process.grace; }
  Result<void> resize(TerminalSize size);
  // Returns the remarks of its cage, once; empty before it has ended.
  std::vector<std::string> take_remarks();

  // ---- the reader's

  // The events that it waits for: its end and its output; -1 = nothing.
  pollfd end_to_poll() const { return {leader_ended_ ? -1 : child_.pidfd.get(), POLLIN, 0}; }
  pollfd output_to_poll() const { return {output_.get(), POLLIN, 0}; }
  Deadline deadline() const { return deadline_; }
  // It is being ended, or somebody wishes that since the last step: it wants a step every few milliseconds.
  bool is_busy() const { return phase_ != Phase::kRunning || wish().has_value(); }
  // Goes on as far as it can without waiting. True: it has ended, and there will be no more steps.
  bool step(bool leader_ready, bool output_ready);

 private:
  enum class Phase { kRunning, kEnding, kDraining };
  struct Wish {
    EndReason reason = EndReason::kNone;
    Milliseconds grace{0};
  };

  bool read_some();
  void append(std::string_view bytes);
  std::string output_end() const;
  std::optional<Wish> wish() const;
  void begin_end(Wish wish);
  void begin_rest();
  void begin_drain();
  void go_on_ending();
  bool drained(bool read_something);
  void finish();
  CommandState state_locked() const REQUIRES(mutex_);
  Error has_ended() const;

  const std::uint64_t handle_;
  const CommandRequest request_;
  const std::string line_;
  const Clock& clock_;
  const SystemClock real_;  // of the end: a caller's stopped clock keeps no process alive
  const std::uint64_t started_ns_;
  const Deadline deadline_;
  Child child_;

  // The reader's.
  UniqueFd output_;
  std::string buffer_;
  bool at_line_start_ = true;  // of the output
  const std::shared_ptr<CagedCommand> caged_;
  Phase phase_ = Phase::kRunning;
  bool leader_ended_ = false;
  std::optional<Family> family_;
  std::uint64_t kill_at_ns_ = 0, give_up_at_ns_ = 0, quiet_since_ns_ = 0;  // of real_

  Mutex input_mutex_;  // held during a write
  UniqueFd input_ GUARDED_BY(input_mutex_);

  mutable Mutex mutex_;
  Condition changed_;
  CommandOutput text_ GUARDED_BY(mutex_);
  std::uint64_t unread_ GUARDED_BY(mutex_) = 0;  // ProcessHost::kUnread
  Wish wish_ GUARDED_BY(mutex_);
  bool ending_ GUARDED_BY(mutex_) = false, ended_ GUARDED_BY(mutex_) = false;
  EndReason reason_ GUARDED_BY(mutex_) = EndReason::kNone;
  Exit exit_ GUARDED_BY(mutex_);
  std::vector<std::string> remarks_ GUARDED_BY(mutex_);
  std::uint64_t ended_ns_ GUARDED_BY(mutex_) = 0;
};

}  // namespace agentd
