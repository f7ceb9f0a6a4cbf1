// SPDX-License-Identifier: Apache-2.0
#pragma once
// edit_lists.h - a call of edit_file with a list of edits, for hooks of tools that know one edit a call.
//
// Such a hook reads old_string and new_string, and a list alone would pass it unread. So it gets both: the list, and
// members with the texts of all edits, joined by line ends. They are a view: the call has only the list. A rewrite that
// leaves the view as it was, or leaves it out, is one of the list; one that changes the view alone says nothing of the
// list and is refused. translator.h has has_edit_list().
//
// Threading: pure functions.

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/codec/json.h"
#include "core/dialects/dialect.h"

namespace agentd {

// The input of the payload's call, in the dialect's keys, as its hook gets it. Paths as in foreign_input().
std::string shown_input(Dialect dialect, JsonView payload, std::string_view cwd = {});

// A rewritten input, in agentd's keys, without that view. kInvalid: it changes the view, and nobody knows which edit is
// meant.
Result<std::string> without_view(JsonView payload, std::string rewritten);

// The texts of all edits in the view: "old_string" or "new_string".
std::string joined_edits(JsonView payload, std::string_view key);

}  // namespace agentd
