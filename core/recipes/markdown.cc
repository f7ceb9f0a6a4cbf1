// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/recipes/handlers.h"

namespace agentd {
namespace {

// A fence longer than any run of backticks in the text.
std::string fence_for(std::string_view text) {
  std::size_t longest = 0, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(std::max<std::size_t>(longest + 1, 3), '`');
}

void add_fenced(std::string_view text, std::string_view language, std::string& out) {
  const std::string fence = fence_for(text);
  out.append(fence).append(language).append("\n").append(text);
  if (!text.ends_with('\n')) out += '\n';
  out.append(fence).append("\n\n");
}

std::string_view heading(const agentd_message& row) {
  if ((row.flags & AGENTD_MESSAGE_CONTEXT) != 0) return "Context";
  switch (row.role) {
    case AGENTD_ROLE_ASSISTANT:
      return "Assistant";
    case AGENTD_ROLE_SUMMARY:
      return "Summary";
  }
  return "User";
}

void add_block(const agentd_block& block, std::string& out) {
  switch (block.kind) {
    case AGENTD_BLOCK_TEXT:
      if (const std::string_view text = full_text(block); !text.empty())
        out.append(text).append(text.ends_with('\n') ? "\n" : "\n\n");
      break;
    case AGENTD_BLOCK_TOOL_USE:
      out.append("**Tool call** `").append(view_of(block.name)).append("`\n\n");
      add_fenced(view_of(block.json), "json", out);
      break;
    case AGENTD_BLOCK_TOOL_RESULT:
      out.append((block.flags & AGENTD_BLOCK_ERROR) != 0 ? "**Tool error**\n\n" : "**Tool result**\n\n");
      add_fenced(full_text(block), "", out);
      break;
    case AGENTD_BLOCK_IMAGE:
      out.append("*(an image, ").append(view_of(block.name)).append(")*\n\n");
      break;
    case AGENTD_BLOCK_DOCUMENT:
      out.append("*(a document, ").append(view_of(block.name)).append(")*\n\n");
      break;
  }  // thinking is not exported
}

bool only_results(const agentd_message& row) {
  for (std::uint32_t i = 0; i < row.blocks.count; ++i)
    if (blocks_of(row)[i].kind != AGENTD_BLOCK_TOOL_RESULT) return false;
  return row.blocks.count != 0;
}

}  // namespace

std::string to_markdown(const Rows& rows, std::string_view title) {
  std::string out = "# " + std::string(title) + "\n\n";
  std::string_view last;
  for (const agentd_message& row : rows) {
    // A tool's results are below its call, without a heading.
    const std::string_view now = only_results(row) ? last : heading(row);
    if (now != last || last == "User") {
      if (!now.empty()) out.append("## ").append(now).append("\n\n");
      last = now;
    }
    for (std::uint32_t i = 0; i < row.blocks.count; ++i) add_block(blocks_of(row)[i], out);
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace agentd
