// SPDX-License-Identifier: Apache-2.0
#pragma once
// tool_names.h - one table of tools and argument keys, for all dialects and both directions.
//
// A guard that looks for `file_path` where the key is `path` sees nothing and lets everything pass. So the input is
// renamed to the keys of the hook's own tool, and a rewrite is renamed back. A rename swaps the two keys, so that
// renaming there and back yields the same input, whatever keys it has. Keys without a counterpart are kept. A path that
// the other tool makes absolute for its hooks stays absolute on the way back; the tool call resolves it like a path
// from the model.
//
// Threading: immutable data.

#include <cstdint>
#include <span>
#include <string_view>

#include "core/dialects/definition.h"

namespace agentd {

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

// The first row of a canonical name gives the outgoing name; later rows are further names accepted on the way back.
std::span<const ToolRow> tools_of(Dialect dialect);

}  // namespace agentd
