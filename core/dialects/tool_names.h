// SPDX-License-Identifier: Apache-2.0
#pragma once
// tool_names.h - the one table of tools and argument keys, for all dialects and both ways.
//
// A guard that looks for `file_path` and finds `path` reads nothing and lets everything pass; so
// the input is renamed to what the hook's own tool would have sent, and a rewrite is renamed back.
// A rename swaps the two keys, which makes the way there and back the same input whatever keys it
// has; keys without a counterpart are kept. A path that the other tool resolves for its hooks is absolute
// for them; the way back leaves it so, and whoever takes the rewrite resolves it as the model's own.
//
// Threading: immutable data.

#include <cstdint>
#include <span>
#include <string_view>

#include "core/dialects/definition.h"

namespace agentd {

enum class ToolValue : std::uint8_t {
  kSame,
  kSeconds,    // milliseconds here, seconds there
  kFilesMode,  // "files" here, "files_with_matches" there
  kPath,       // relative to the session's directory here, absolute there
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

// The first row of a canonical name is its name going out; later rows of it are further names that
// are understood coming back.
std::span<const ToolRow> tools_of(Dialect dialect);

}  // namespace agentd
