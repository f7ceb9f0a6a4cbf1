// SPDX-License-Identifier: Apache-2.0
#include "core/process/command_reader.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "core/base/signals_blocked.h"
#include "core/process/command.h"

namespace agentd {
namespace {

constexpr Milliseconds kBusySlice{10};  // while a command is being ended

}  // namespace

CommandReader::~CommandReader() {
  Thread thread;
  {
    const MutexLock lock(mutex_);
    leaves_ = true;
    for (const auto& command : commands_) command->wish_end(EndReason::kSessionEnded, Milliseconds(0));
    thread = std::move(thread_);
  }
  if (!thread.joinable()) return;
  wake();
  thread.join();
}

Result<void> CommandReader::prepare() {
  const MutexLock lock(mutex_);
  if (thread_.joinable()) return {};
  if (!wake_.valid()) {
    AGENTD_TRY(wake_, above_standard(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "preparing to read from commands"));
  }
  const SignalsBlocked blocked;
  try {
    thread_ = Thread([this] { work(); });
  } catch (const std::system_error&) {
    return Error{Code::kUnavailable, "no command can be started: the system allows agentd no more threads"};
  }
  return {};
}

void CommandReader::add(std::shared_ptr<Command> command) {
  {
    const MutexLock lock(mutex_);
    commands_.push_back(std::move(command));
  }
  wake();
}

void CommandReader::wake() const {
  const std::uint64_t one = 1;
  if (wake_.valid()) (void)!::write(wake_.get(), &one, sizeof one);
}

CommandReader::Commands CommandReader::current() const {
  const MutexLock lock(mutex_);
  return commands_;
}

// descriptors: the eventfd, then two for each command.
void CommandReader::wait_for(const Commands& commands, std::vector<pollfd>& descriptors) const {
  descriptors.assign(1, {wake_.get(), POLLIN, 0});
  Deadline next;
  bool busy = false;
  for (const auto& command : commands) {
    descriptors.push_back(command->end_to_poll());
    descriptors.push_back(command->output_to_poll());
    busy = busy || command->is_busy();
    next.at_ns = std::min(next.at_ns, command->deadline().at_ns);
  }
  if (busy)
    (void)SystemClock().poll_for(descriptors, kBusySlice);
  else
    (void)clock_.poll(descriptors, next);
  std::uint64_t count = 0;
  if (descriptors.front().revents != 0) (void)!::read(wake_.get(), &count, sizeof count);
}

void CommandReader::work() {
  std::vector<pollfd> descriptors;
  for (;;) {
    const Commands commands = current();
    {
      const MutexLock lock(mutex_);
      if (leaves_ && commands_.empty()) return;
    }
    wait_for(commands, descriptors);
    for (std::size_t i = 0; i < commands.size(); ++i) {
      const bool leader = descriptors[1 + 2 * i].revents != 0, output = descriptors[2 + 2 * i].revents != 0;
      if (!commands[i]->step(leader, output)) continue;
      const MutexLock lock(mutex_);
      std::erase(commands_, commands[i]);
    }
  }
}

}  // namespace agentd
