// SPDX-License-Identifier: Apache-2.0
#pragma once
// fake_process_host.h - the commands of a session as a client such as an editor would run them: nothing is executed.
//
// Threading: one thread.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/process/process_host.h"

namespace agentd::testing {

class FakeProcessHost final : public ProcessHost {
 public:
  struct Started {
    CommandRequest request;
    std::string written;
    std::vector<int> signals;
    TerminalSize size{};
    bool ended = false;
    std::uint64_t unread = 0;
  };
  std::string output = "from the editor\n";  // of every command
  std::vector<CommandRequest> ran;
  std::vector<Started> started;

  Result<ProcessResult> run(CommandRequest request, const CancelToken&, Deadline) override {
    ran.push_back(std::move(request));
    ProcessResult out;
    out.exit_code = 0;
    out.reason = EndReason::kExited;
    out.output = output;
    out.output_bytes = output.size();
    return out;
  }
  Result<std::uint64_t> start(CommandRequest request) override {
    started.push_back({std::move(request), {}, {}});
    return started.size();
  }
  Result<CommandPiece> read(std::uint64_t handle, std::uint64_t position, std::size_t bytes_max, const CancelToken&,
                            Deadline) override {
    AGENTD_TRY(Started* const found, find(handle));
    CommandPiece out;
    out.first = std::min<std::uint64_t>(position == kUnread ? found->unread : position, output.size());
    out.bytes = output.substr(out.first, bytes_max);
    out.next = out.first + out.bytes.size();
    if (position == kUnread) found->unread = out.next;
    out.state = state_of(handle);
    return out;
  }
  Result<void> write(std::uint64_t handle, std::string_view bytes, bool close, const CancelToken&, Deadline) override {
    AGENTD_TRY(Started* const found, find(handle));
    found->written += std::string(bytes) + (close ? "<end>" : "");
    return {};
  }
  Result<void> signal(std::uint64_t handle, int number) override {
    AGENTD_TRY(Started* const found, find(handle));
    found->signals.push_back(number);
    return {};
  }
  Result<CommandState> wait(std::uint64_t handle, const CancelToken&, Deadline) override {
    AGENTD_TRY_VOID(find(handle));
    return state_of(handle);
  }
  Result<CommandState> end(std::uint64_t handle) override {
    AGENTD_TRY(Started* const found, find(handle));
    found->ended = true;
    return state_of(handle);
  }
  Result<void> resize(std::uint64_t handle, TerminalSize size) override {
    AGENTD_TRY(Started* const found, find(handle));
    found->size = size;
    return {};
  }
  std::vector<CommandState> list() override {
    std::vector<CommandState> out;
    for (std::size_t i = 1; i <= started.size(); ++i) out.push_back(state_of(i));
    return out;
  }
  std::vector<CommandState> end_all() override {
    std::vector<CommandState> out;
    for (std::size_t i = 1; i <= started.size(); ++i) {
      if (std::exchange(started[i - 1].ended, true)) continue;
      out.push_back(state_of(i));
    }
    return out;
  }

 private:
  Result<Started*> find(std::uint64_t handle) {
    if (handle == 0 || handle > started.size()) return Error{Code::kNotFound, "no such command"};
    return &started[handle - 1];
  }
  CommandState state_of(std::uint64_t handle) const {
    const Started& from = started[handle - 1];
    CommandState out;
    out.handle = handle;
    out.phase = from.ended ? CommandState::Phase::kEnded : CommandState::Phase::kRunning;
    out.reason = from.ended ? EndReason::kEnded : EndReason::kNone;
    out.output_bytes = output.size();
    out.has_terminal = from.request.terminal.has_value();
    out.command = from.request.process.argv.back();
    out.description = from.request.description;
    return out;
  }
};

}  // namespace agentd::testing
