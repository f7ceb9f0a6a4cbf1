// SPDX-License-Identifier: Apache-2.0
#pragma once
// log.h - the diagnostic log, for people who look for a fault; the user's terminal shows none of it.
//
// It goes to a file (spdlog) or nowhere. It never carries keys, prompts or tool output. An error is logged once, where
// it stops travelling.
//
// Threading: thread-safe.

#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace agentd {

enum class LogLevel : int { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3 };

class Log {
 public:
  virtual ~Log() = default;
  // `area` is the room or plugin that writes.
  virtual void write(LogLevel level, std::string_view area, std::string_view text) = 0;
};

// Drops everything.
class NullLog final : public Log {
 public:
  void write(LogLevel, std::string_view, std::string_view) override {}
};

// Appends to `path`, one entry a line: later lines of a text are indented, and characters that a terminal does not show
// as themselves are escaped. The file and the directories above it are made at the first entry, so that a quiet run
// costs nothing. A file that cannot be opened turns the log off and is reported once on standard error.
std::unique_ptr<Log> make_file_log(std::string path, LogLevel at_least);
// Checks without changing anything that an entry could be written there; the error names the reason and the remedy.
Result<void> check_log_file(const std::string& path);

}  // namespace agentd
