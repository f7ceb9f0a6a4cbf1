// SPDX-License-Identifier: Apache-2.0
#include "core/serve/client_commands.h"

#include <utility>

#include "core/process/commands.h"

namespace agentd::serve {
namespace {

class ClientCommands final : public ProcessHost {
 public:
  ClientCommands(std::vector<std::string> environment, std::shared_ptr<CommandReader> reader)
      : environment_(std::move(environment)), table_(std::move(reader)) {}

  Result<ProcessResult> run(CommandRequest request, const CancelToken& cancel, Deadline deadline) override {
    return table_.run(with_environment(std::move(request)), cancel, deadline);
  }
  Result<std::uint64_t> start(CommandRequest request) override {
    return table_.start(with_environment(std::move(request)));
  }
  Result<CommandPiece> read(std::uint64_t handle, std::uint64_t position, std::size_t bytes_max,
                            const CancelToken& cancel, Deadline deadline) override {
    return table_.read(handle, position, bytes_max, cancel, deadline);
  }
  Result<void> write(std::uint64_t handle, std::string_view bytes, bool close, const CancelToken& cancel,
                     Deadline deadline) override {
    return table_.write(handle, bytes, close, cancel, deadline);
  }
  Result<void> signal(std::uint64_t handle, int number) override { return table_.signal(handle, number); }
  Result<CommandState> wait(std::uint64_t handle, const CancelToken& cancel, Deadline deadline) override {
    return table_.wait(handle, cancel, deadline);
  }
  Result<CommandState> end(std::uint64_t handle) override { return table_.end(handle); }
  Result<void> resize(std::uint64_t handle, TerminalSize size) override { return table_.resize(handle, size); }
  std::vector<CommandState> list() override { return table_.list(); }
  std::vector<CommandState> end_all() override { return table_.end_all(); }
  std::vector<std::string> take_refusals() override { return table_.take_refusals(); }

 private:
  CommandRequest with_environment(CommandRequest request) const {
    if (request.process.environment.empty()) request.process.environment = environment_;
    return request;
  }

  const std::vector<std::string> environment_;
  CommandTable table_;
};

}  // namespace

std::shared_ptr<ProcessHost> commands_of_client(std::vector<std::string> environment,
                                                std::shared_ptr<CommandReader> reader) {
  return std::make_shared<ClientCommands>(std::move(environment), std::move(reader));
}

}  // namespace agentd::serve
