// SPDX-License-Identifier: Apache-2.0
#pragma once
// terminal.h - a pseudo-terminal for one command.
//
// Threading: thread-safe.

#include <cstdint>
#include <string>

#include "core/base/file.h"
#include "core/base/result.h"

namespace agentd {

struct TerminalSize {
  std::uint16_t rows = 24, columns = 80;  // 1 and more
};

struct Terminal {
  UniqueFd host;       // what the command writes is read here, and the reverse
  std::string device;  // the path that the command opens
};

// kUnavailable: the system has no more of them.
Result<Terminal> make_terminal(TerminalSize size);
// `terminal` is a copy of Terminal::host; the programs in it get SIGWINCH. kUnavailable: it is gone.
Result<void> resize_terminal(int terminal, TerminalSize size);

}  // namespace agentd
