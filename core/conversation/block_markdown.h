// SPDX-License-Identifier: Apache-2.0
#pragma once
// block_markdown.h - a part of a message as Markdown, for everybody who shows a conversation in it.
//
// Threading: pure function.

#include <string>

#include "core/conversation/message.h"

namespace agentd {

std::string block_markdown(const Block& block);

}  // namespace agentd
