// SPDX-License-Identifier: Apache-2.0
#pragma once
// quiet_write.h - writing to a program that may have ended.
//
// Threading: thread-safe.

#include <sys/types.h>

#include <string_view>

namespace agentd {

// write(2) without the SIGPIPE of a closed pipe: the signal is blocked in this thread and consumed. A SIGPIPE that was
// pending before stays.
ssize_t write_quietly(int fd, std::string_view bytes);

}  // namespace agentd
