// SPDX-License-Identifier: Apache-2.0
#pragma once
// prompt.h - the content blocks of a prompt as one message of the user.
//
// Source: agentclientprotocol.com, "Content".
//
// Threading: pure functions.

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/codec/json.h"
#include "core/conversation/message.h"

namespace agentd::acp {

struct Prompt {
  std::string text;
  std::vector<Block> media{};
  std::vector<std::string> unsaved{};  // files whose text may differ from what is saved, absolute
  bool is_plain = false;               // nothing but text, which may be a command
};

// Links and embedded texts follow the text in the order of their blocks. kInvalid, with a sentence: a block of a kind
// that was not offered, an image or a document that is none, or nothing at all.
Result<Prompt> read_prompt(JsonView blocks);

}  // namespace agentd::acp
