// SPDX-License-Identifier: Apache-2.0
#pragma once
// editor_terminal.h - one command that the editor runs, in a terminal of its own.
//
// The editor keeps the output, so that it is asked for when somebody wants it. The command has the editor's rights and
// variables.
// Source: agentclientprotocol.com, "Terminals".
//
// Threading: thread-safe; wait(), end() and look() may wait for the editor.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/process/process_host.h"
#include "core/process/spill.h"
#include "core/rpc/wire.h"

namespace agentd::acp {

class EditorTerminal {
 public:
  // Starts it; one that is opened later than that is ended. kInvalid: it has input, or no argument; kDenied and
  // kInvalid of environment_with(); kUnavailable: the editor refuses, or has not opened it until then; kCancelled.
  // `wire` and `clock` outlive it.
  static Result<std::unique_ptr<EditorTerminal>> start(RpcWire& wire, const std::string& session,
                                                       CommandRequest request, const Clock& clock,
                                                       const CancelToken& cancel, Deadline deadline);
  // Ends it.
  ~EditorTerminal();
  EditorTerminal(const EditorTerminal&) = delete;
  EditorTerminal& operator=(const EditorTerminal&) = delete;

  const std::string& id() const { return id_; }
  const CommandRequest& request() const { return request_; }

  // Waits for its end; false: the deadline or the cancel came first. Without an editor it has ended.
  bool wait(const CancelToken& cancel, Deadline deadline);
  // Ends it, unless it has ended.
  void end(EndReason reason);
  // Takes the output so far.
  void look();
  // The editor may forget it, which ends it.
  void release();

  // Without `handle`.
  CommandState state() const;
  BoundedOutput::Part output(std::uint64_t position, std::size_t most) const;
  // REQUIRES: it has ended.
  ProcessResult result() const;

 private:
  EditorTerminal(RpcWire& wire, std::string session, std::string id, CommandRequest request, const Clock& clock);
  RpcWire::Answer ask(std::string_view method, const RpcWire::Patience& patience) const;
  void order(std::string_view method) const;
  Deadline soon() const;
  bool begin_wait(const CancelToken& cancel, Deadline deadline);
  void end_wait();
  void note(const std::string& line);
  void ended(EndReason reason, JsonView status);

  RpcWire& wire_;
  const Clock& clock_;
  const std::string session_, id_;
  const CommandRequest request_;
  const std::uint64_t started_ns_;
  mutable Mutex mutex_;
  Condition changed_;
  bool waits_ GUARDED_BY(mutex_) = false;  // one thread asks the editor for its end, for all
  EndReason reason_ GUARDED_BY(mutex_) = EndReason::kNone;
  std::optional<EndReason> wished_ GUARDED_BY(mutex_);  // why it is being ended; nullopt: it is not
  int exit_code_ GUARDED_BY(mutex_) = -1, signal_ GUARDED_BY(mutex_) = 0;
  std::uint64_t ended_ns_ GUARDED_BY(mutex_) = 0;
  bool released_ GUARDED_BY(mutex_) = false, noted_ GUARDED_BY(mutex_) = false;
  std::string shown_ GUARDED_BY(mutex_);  // by the editor at the last look
  const CancelToken over_;                // it has ended
  CommandOutput text_ GUARDED_BY(mutex_);
};

}  // namespace agentd::acp
