// SPDX-License-Identifier: Apache-2.0
#pragma once
// tool_names.h - the names of tools and of their arguments in all dialects, in both directions.
//
// A guard that looks for `file_path` where the key is `path` sees nothing and lets everything pass. So the input is
// renamed to the keys of the hook's own tool, and a rewrite is renamed back. A rename swaps the two keys, so that
// renaming there and back yields the same input, whatever keys it has. Keys without a counterpart are kept. A path that
// the other tool makes absolute for its hooks stays absolute on the way back; the tool call resolves it like a path
// from the model.
//
// Threading: immutable data.

#include <span>

#include "core/dialects/definition.h"
#include "core/dialects/dialect_traits.h"

namespace agentd {

// The first row of a canonical name gives the outgoing name; later rows are further names accepted on the way back.
std::span<const ToolRow> tools_of(Dialect dialect);

}  // namespace agentd
