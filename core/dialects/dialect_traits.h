// SPDX-License-Identifier: Apache-2.0
#pragma once
// dialect_traits.h - what differs between the tools that hooks were written for, as data.
//
// Threading: values.

#include <cstdint>
#include <span>
#include <string_view>

namespace agentd {

struct DialectTraits {
  std::string_view program{};          // the tool's name for people: "Claude Code"; empty = agentd itself
  std::string_view settings_folder{};  // the folder with its settings.json: ".claude"; empty = it has no such file
  bool bash = false;                   // its command lines are written for bash
  bool parallel = false;               // it calls all hooks of a file that match an event at the same time
  bool users_prompts = false;          // its hooks of user_message_send get what the user wrote, not what hooks add
  bool transcript = false;             // its hooks read the conversation from a file
  bool bare_variables = false;         // $NAME in a webhook's header is a variable, as ${NAME} is
  double time_unit_ms = 1000;          // of a time without a unit
};
// ---- the names of tools

enum class ToolValue : std::uint8_t {
  kSame,
  kSeconds,    // milliseconds in agentd, seconds in the dialect
  kFilesMode,  // "files" in agentd, "files_with_matches" in the dialect
  kPath,       // relative to the session's directory in agentd, absolute in the dialect
};

struct ToolKey {
  std::string_view canonical, foreign;
  ToolValue value = ToolValue::kSame;
};

struct ToolRow {
  std::string_view canonical, foreign;
  std::span<const ToolKey> keys;
  bool edit_list = false;  // docker: old_string, new_string <-> edits[{oldText, newText}]
};

// How a tool of an MCP server is named: `head`, the server, `between`, the tool.
struct McpForm {
  std::string_view head = "mcp__", between = "__";
};

}  // namespace agentd
