// SPDX-License-Identifier: Apache-2.0
#include "core/process/terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <cerrno>
#include <utility>

namespace agentd {
namespace {

Error no_terminal(int why) { return errno_error("making a terminal", why); }

}  // namespace

Result<Terminal> make_terminal(TerminalSize size) {
  const int raw = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (raw < 0 && (errno == ENOSPC || errno == EAGAIN))
    return Error{Code::kUnavailable, "the system has no more terminals: wait until other commands have ended"};
  AGENTD_TRY(UniqueFd host, above_standard(raw, "making a terminal"));
  char device[128];
  if (::grantpt(host.get()) != 0 || ::unlockpt(host.get()) != 0) return no_terminal(errno);
  if (const int why = ::ptsname_r(host.get(), device, sizeof device); why != 0) return no_terminal(why);
  AGENTD_TRY_VOID(resize_terminal(host.get(), size));
  return Terminal{std::move(host), device};
}

Result<void> resize_terminal(int terminal, TerminalSize size) {
  winsize wanted{};
  wanted.ws_row = size.rows;
  wanted.ws_col = size.columns;
  if (::ioctl(terminal, TIOCSWINSZ, &wanted) != 0) return errno_error("resizing the terminal", errno);
  return {};
}

}  // namespace agentd
