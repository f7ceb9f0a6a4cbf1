// SPDX-License-Identifier: Apache-2.0
#pragma once
// log.h - the diagnostic log: for people who look for a fault, not for the user's terminal.
//
// Goes to a file (spdlog) or nowhere. Never carries keys, prompts or tool output. An error is logged
// once, where it stops travelling.
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
  // `area` is the room or plugin that speaks.
  virtual void write(LogLevel level, std::string_view area, std::string_view text) = 0;
};

// Drops everything.
class NullLog final : public Log {
 public:
  void write(LogLevel, std::string_view, std::string_view) override {}
};

// Appends to `path`, an entry a line: lines of a text after its first are indented, and characters that a terminal does
// not show as themselves are made visible. The file and the directories above it are made at the first entry, so that
// a quiet run pays nothing. A file that cannot be opened turns the log off, and is reported once on standard error.
std::unique_ptr<Log> make_file_log(std::string path, LogLevel at_least);
// Looks, and changes nothing: an error, with the reason and the remedy, when an entry could not be written there.
Result<void> check_log_file(const std::string& path);

}  // namespace agentd
