// SPDX-License-Identifier: Apache-2.0
#pragma once
// commands.h - agentd's own implementation of the commands of a session.
//
// Threading: thread-safe.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/process/command_reader.h"
#include "core/process/process_host.h"

namespace agentd {

class CommandTable final : public ProcessHost {
 public:
  static constexpr std::size_t kRunningMax = 256;  // commands of one session at a time
  static constexpr std::size_t kEndedMax = 64;     // that have ended and can still be read

  explicit CommandTable(std::shared_ptr<CommandReader> reader) : reader_(std::move(reader)) {}
  // Ends all commands.
  ~CommandTable() override;

  Result<ProcessResult> run(CommandRequest request, const CancelToken& cancel, Deadline deadline) override;
  Result<std::uint64_t> start(CommandRequest request) override;
  Result<CommandPiece> read(std::uint64_t handle, std::uint64_t position, std::size_t bytes_max,
                            const CancelToken& cancel, Deadline deadline) override;
  Result<void> write(std::uint64_t handle, std::string_view bytes, bool close, const CancelToken& cancel,
                     Deadline deadline) override;
  Result<void> signal(std::uint64_t handle, int number) override;
  Result<CommandState> wait(std::uint64_t handle, const CancelToken& cancel, Deadline deadline) override;
  Result<CommandState> end(std::uint64_t handle) override;
  Result<void> resize(std::uint64_t handle, TerminalSize size) override;
  std::vector<CommandState> list() override;
  std::vector<CommandState> end_all() override;
  std::vector<std::string> take_refusals() override;

 private:
  struct Planned {
    ProcessRequest process;               // as it is executed
    std::shared_ptr<CagedCommand> caged;  // null: it has no cage
  };
  Result<Planned> plan(ProcessRequest request, CommandCage* cage);
  void keep_refusals(std::vector<std::string> refusals) REQUIRES(mutex_);
  Result<std::shared_ptr<Command>> find(std::uint64_t handle) const;
  // Makes place for one more command.
  Result<void> admit() REQUIRES(mutex_);

  const std::shared_ptr<CommandReader> reader_;
  mutable Mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Command>> commands_ GUARDED_BY(mutex_);
  std::vector<std::string> refusals_ GUARDED_BY(mutex_);
  std::uint64_t last_handle_ GUARDED_BY(mutex_) = 0;
  std::size_t starting_ GUARDED_BY(mutex_) = 0;
};

}  // namespace agentd
