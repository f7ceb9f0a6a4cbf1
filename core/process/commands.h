// SPDX-License-Identifier: Apache-2.0
#pragma once
// commands.h - agentd's own implementation of the commands of a session.
//
// Threading: thread-safe.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/process/command_reader.h"
#include "core/process/process_host.h"

namespace agentd {

// What is executed in the end. A cage changes it: arguments in front, other variables, descriptors that it needs.
struct CommandPlan {
  std::vector<std::string> argv;
  std::string cwd;
  std::vector<std::string> environment;  // complete
  std::vector<int> pass{};               // the child's descriptors 3, 4, ...; open until the start is over
  std::shared_ptr<const void> holds{};   // kept until then
};
using CommandWrap = std::function<Result<CommandPlan>(CommandPlan plan)>;

class CommandTable final : public ProcessHost {
 public:
  static constexpr std::size_t kRunningMax = 256;  // commands of one session at a time
  static constexpr std::size_t kEndedMax = 64;     // that have ended and can still be read

  // `wrap`: applied to each command before it starts; empty = it starts as it is.
  explicit CommandTable(std::shared_ptr<CommandReader> reader, CommandWrap wrap = {});
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

 private:
  struct Planned {
    ProcessRequest process;
    std::shared_ptr<const void> holds;
  };
  Result<Planned> plan(ProcessRequest request) const;
  Result<std::shared_ptr<Command>> find(std::uint64_t handle) const;
  // Makes place for one more command.
  Result<void> admit() REQUIRES(mutex_);

  const std::shared_ptr<CommandReader> reader_;
  const CommandWrap wrap_;
  mutable Mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Command>> commands_ GUARDED_BY(mutex_);
  std::uint64_t last_handle_ GUARDED_BY(mutex_) = 0;
  std::size_t starting_ GUARDED_BY(mutex_) = 0;
};

}  // namespace agentd
