// SPDX-License-Identifier: Apache-2.0
#pragma once
// boundary_message.h - the compact_boundary message, in the shape that the Claude Agent SDK documents.
// Private to this room.
//
// Threading: pure functions.

#include <cstdint>
#include <string>

#include "core/conversation/view.h"

namespace agentd {

// `conversation`: with the view behind the boundary, which is the record `seq`. A message has the UUID of its sequence
// in the conversation.
std::string boundary_message(const BoundaryRecord& boundary, std::uint64_t seq, const Conversation& conversation);

}  // namespace agentd
