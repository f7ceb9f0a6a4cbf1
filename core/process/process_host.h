// SPDX-License-Identifier: Apache-2.0
#pragma once
// process_host.h - the commands of one session: run and waited for, or started and reached by a handle.
//
// A command belongs to its session: it is listed, read and written to there, and ends with it. The session's own
// implementation is CommandTable (commands.h); a client such as an editor may bring another one, whose terminals show
// the commands.
//
// Threading: thread-safe; run(), read(), write(), wait() and end() block their caller.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/process/command_cage.h"
#include "core/process/process.h"
#include "core/process/terminal.h"

namespace agentd {

struct CommandRequest {
  ProcessRequest process;
  std::shared_ptr<CommandCage> cage{};   // agentd's own host starts it inside; null = it has the user's rights
  std::string description;               // one line for people; empty = none
  Milliseconds time{0};                  // start(): after that it is ended; 0 = it has all time
  std::uint64_t output_bytes_limit = 0;  // start(): it is ended when it has written more; 0 = no limit
  bool takes_input = false;              // start(): standard input is a pipe for write(), and `input` is its beginning
  std::optional<TerminalSize> terminal{};  // start(): all three are one terminal, which also takes input
};

struct CommandState {
  enum class Phase : std::uint8_t { kRunning, kEnding, kEnded };
  std::uint64_t handle = 0;
  Phase phase = Phase::kRunning;
  EndReason reason = EndReason::kNone;  // kNone while it runs
  int exit_code = -1, signal = 0;       // as in ProcessResult
  std::uint64_t output_bytes = 0;       // written so far
  std::string spill_path;               // of the complete output; empty = it is short, or there is no file
  std::uint64_t spill_bytes = 0;
  bool spill_full = false;  // the file's limit was reached
  bool takes_input = false, has_terminal = false;
  Milliseconds duration{0};  // so far
  std::string command;       // its arguments, one line, shortened
  std::string description;

  bool ended() const { return phase == Phase::kEnded; }
};

// A piece of output: bytes [first, next) of all that the command wrote.
struct CommandPiece {
  std::uint64_t first = 0;  // later than asked for: what is between is no longer kept
  std::uint64_t next = 0;
  std::string bytes;
  CommandState state;  // at that moment
  // There will be no more.
  bool last() const { return state.ended() && next >= state.output_bytes; }
};

class ProcessHost {
 public:
  // A position of read(): after the last piece that was read this way. Such a piece ends with a line where it can.
  static constexpr std::uint64_t kUnread = UINT64_MAX;

  virtual ~ProcessHost() = default;

  // Runs a command and waits for it; what it leaves behind is ended. Errors as of run_process().
  virtual Result<ProcessResult> run(CommandRequest request, const CancelToken& cancel, Deadline deadline) = 0;

  // Starts a command and returns its handle, a number from 1 on. kNotFound, kInvalid, kDenied, kUnavailable as of
  // run_process(); kBusy: too many commands of the session run.
  virtual Result<std::uint64_t> start(CommandRequest request) = 0;

  // kNotFound of the following functions: the session has no such command, or it ended long ago.

  // At most `bytes_max` bytes from `position` on; waits for the first one until the deadline, the command's end or the
  // cancel.
  virtual Result<CommandPiece> read(std::uint64_t handle, std::uint64_t position, std::size_t bytes_max,
                                    const CancelToken& cancel, Deadline deadline) = 0;
  // Writes all of `bytes`, then ends its input if `close`. kInvalid: it takes no input; kUnavailable: it has ended or
  // closed its input; kBusy: it did not read before the deadline; kCancelled. After an error a part may be written.
  virtual Result<void> write(std::uint64_t handle, std::string_view bytes, bool close, const CancelToken& cancel,
                             Deadline deadline) = 0;
  // Sends a signal to its process group; SIGKILL ends all that it started. kInvalid: no such signal; kUnavailable: it
  // has ended.
  virtual Result<void> signal(std::uint64_t handle, int number) = 0;
  // Waits until the deadline for its end; a command that still runs is no error.
  virtual Result<CommandState> wait(std::uint64_t handle, const CancelToken& cancel, Deadline deadline) = 0;
  // Ends it and all that it started: SIGTERM, the grace of its request, SIGKILL; waits for that. Fine when it has
  // ended.
  virtual Result<CommandState> end(std::uint64_t handle) = 0;
  // kInvalid: it has no terminal, or a side is 0.
  virtual Result<void> resize(std::uint64_t handle, TerminalSize size) = 0;
  // Running ones and the newest of those that have ended, oldest first.
  virtual std::vector<CommandState> list() = 0;
  // The session ends: ends all that run and returns them.
  virtual std::vector<CommandState> end_all() = 0;
  // Returns the refusals and undone changes of the sandbox since the last call, and commands that were not started for
  // lack of one; sentences, the newest kRefusalsMax. A host without a sandbox has none.
  static constexpr std::size_t kRefusalsMax = 256;
  virtual std::vector<std::string> take_refusals() { return {}; }
};

// "exited", "signalled", "timed out", "cancelled", "ended", "session ended", "output limit"; empty for kNone.
std::string_view name_of(EndReason reason);

}  // namespace agentd
