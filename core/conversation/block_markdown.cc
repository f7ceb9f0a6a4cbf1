// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/block_markdown.h"

#include "core/base/markdown.h"

namespace agentd {

std::string block_markdown(const Block& block) {
  switch (block.kind) {
    case BlockKind::kText:
      return block.text;
    case BlockKind::kThinking:
      return fenced(block.text, "thinking");
    case BlockKind::kToolUse:
      return "Calls `" + block.name + "`:\n\n" + fenced(block.json, "json");
    case BlockKind::kToolResult:
      return fenced(block.text, "");
    case BlockKind::kImage:
      return "*(an image, " + block.name + ")*";
    case BlockKind::kDocument:
      return "*(a document, " + (block.text.empty() ? block.name : block.text) + ")*";
  }
  return {};
}

}  // namespace agentd
