// SPDX-License-Identifier: Apache-2.0
#pragma once
// reach.h - where an address leads, so that a name which is allowed opens no way to this machine or its network.
//
// By the registries of special addresses (RFC 6890 and its updates) and the addresses at which clouds tell a machine
// its own keys. An address of version 6 that carries one of version 4 leads where that one does: mapped and compatible
// (RFC 4291), translated (RFC 2765, RFC 6052, RFC 8215), 6to4 (RFC 3056), Teredo (RFC 4380), ISATAP (RFC 5214).
//
// Threading: pure functions.

#include <sys/socket.h>

#include <cstdint>

namespace agentd::cage {

enum class Reach : std::uint8_t {
  kPublic,
  kPrivate,  // a network that is not everybody's, or no network at all
  kOwn,      // this machine, its link, or what its cloud tells it
};

// kOwn for a family other than AF_INET and AF_INET6. REQUIRES: `address` has the size of its family.
Reach reach_of(const sockaddr* address);
// True if an interface of this machine has the address now, whatever network it is of.
bool is_of_this_machine(const sockaddr* address);

}  // namespace agentd::cage
