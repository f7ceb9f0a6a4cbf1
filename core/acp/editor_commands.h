// SPDX-License-Identifier: Apache-2.0
#pragma once
// editor_commands.h - the commands of a session in terminals of the editor, each shown in the tool call that runs it.
//
// They have the editor's rights: no sandbox is around them.
//
// Threading: as ProcessHost.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/acp/editor_terminal.h"
#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "core/process/process_host.h"
#include "core/rpc/wire.h"

namespace agentd::acp {

class EditorCommands final : public ProcessHost {
 public:
  static constexpr std::size_t kRunningMax = 16, kEndedMax = 64;  // commands that start() has started

  // Both outlive it.
  EditorCommands(RpcWire& wire, const Clock& clock) : wire_(wire), clock_(clock) {}
  ~EditorCommands() override;

  void set_session(std::string id);
  // A call that may be about to run a command; the editor knows it. `input`: canonical JSON.
  void calling(std::string_view call_id, std::string_view tool, std::string_view input);
  // The terminal of a call that has ended, which is forgotten; empty: it has none.
  std::string called(std::string_view call_id);
  // The run has ended, with all its calls.
  void forget_calls();

  Result<ProcessResult> run(CommandRequest request, const CancelToken& cancel, Deadline deadline) override;
  Result<std::uint64_t> start(CommandRequest request) override;
  Result<CommandPiece> read(std::uint64_t handle, std::uint64_t position, std::size_t bytes_max,
                            const CancelToken& cancel, Deadline deadline) override;
  // kInvalid: it takes none.
  Result<void> write(std::uint64_t handle, std::string_view bytes, bool close, const CancelToken& cancel,
                     Deadline deadline) override;
  // An editor can only end a command: kInvalid for signals that do not.
  Result<void> signal(std::uint64_t handle, int number) override;
  Result<CommandState> wait(std::uint64_t handle, const CancelToken& cancel, Deadline deadline) override;
  Result<CommandState> end(std::uint64_t handle) override;
  // kInvalid: the editor decides.
  Result<void> resize(std::uint64_t handle, TerminalSize size) override;
  std::vector<CommandState> list() override;
  std::vector<CommandState> end_all() override;

 private:
  struct Call {
    std::string id, command, terminal;  // `terminal` is empty until the command has begun
  };
  struct Started;

  Result<std::unique_ptr<EditorTerminal>> open(CommandRequest request, const CancelToken& cancel, Deadline deadline);
  Result<std::shared_ptr<Started>> find(std::uint64_t handle) const;
  Result<void> admit() REQUIRES(mutex_);

  RpcWire& wire_;
  const Clock& clock_;
  mutable Mutex mutex_;
  std::string session_ GUARDED_BY(mutex_);
  std::vector<Call> calls_ GUARDED_BY(mutex_);
  std::map<std::uint64_t, std::shared_ptr<Started>> started_ GUARDED_BY(mutex_);  // shared with its callers
  std::uint64_t last_handle_ GUARDED_BY(mutex_) = 0;
};

}  // namespace agentd::acp
