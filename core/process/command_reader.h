// SPDX-License-Identifier: Apache-2.0
#pragma once
// command_reader.h - one thread that reads the output of all commands of a process and ends them.
//
// The thread starts with the first command.
//
// Threading: thread-safe.

#include <poll.h>

#include <memory>
#include <vector>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/base/thread.h"

namespace agentd {

class Command;

class CommandReader {
 public:
  // `clock` outlives it: the one of the commands' deadlines.
  explicit CommandReader(const Clock& clock) : clock_(clock) {}
  // Ends all commands.
  ~CommandReader();
  CommandReader(const CommandReader&) = delete;
  CommandReader& operator=(const CommandReader&) = delete;

  const Clock& clock() const { return clock_; }
  // To be called before a command is started. kUnavailable: the system allows no thread for it.
  Result<void> prepare();
  // REQUIRES: prepare().
  void add(std::shared_ptr<Command> command);
  // A command's wish has changed.
  void wake() const;

 private:
  using Commands = std::vector<std::shared_ptr<Command>>;
  void work();
  Commands current() const;
  void wait_for(const Commands& commands, std::vector<pollfd>& descriptors) const;

  const Clock& clock_;
  UniqueFd wake_;  // an eventfd; constant once there is a thread
  mutable Mutex mutex_;
  Commands commands_ GUARDED_BY(mutex_);
  bool leaves_ GUARDED_BY(mutex_) = false;
  Thread thread_ GUARDED_BY(mutex_);
};

}  // namespace agentd
