// SPDX-License-Identifier: Apache-2.0
#include "core/app/commands/protocol_output.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace agentd::app {

Result<UniqueFd> take_protocol_output() {
  UniqueFd out(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  if (!out.valid() || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    return Error{Code::kUnavailable, std::string("standard output cannot be used: ") + ::strerror(errno)};
  return out;
}

}  // namespace agentd::app
