// SPDX-License-Identifier: Apache-2.0
#pragma once
// port_owner.h - the program that listens on a port, as far as /proc tells.
//
// Threading: pure functions over /proc.

#include <cstdint>
#include <string>

namespace agentd::serve {

// "python3 (process 4711)"; empty when it cannot be seen, such as a process of another user.
std::string port_owner(std::uint16_t port);

}  // namespace agentd::serve
