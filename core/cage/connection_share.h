// SPDX-License-Identifier: Apache-2.0
#pragma once
// connection_share.h - how many connections the proxies of this process may have together, so that those of commands
// leave descriptors for everything else.
//
// Threading: thread-safe.

#include <cstddef>

namespace agentd::cage {

// An eighth of the descriptors that this process may open, as each connection costs two; at least kConnectionsLeast and
// at most kConnectionsMost.
inline constexpr std::size_t kConnectionsLeast = 8, kConnectionsMost = 1'024;
std::size_t connections_max();

// Takes one connection of the share. The first of a proxy is never refused: no command waits for those of another.
bool take_connection(bool first);
void give_connection();

// True for an errno that says that descriptors or memory are short now: to try again at once would not help.
bool is_shortage(int error);

}  // namespace agentd::cage
