// SPDX-License-Identifier: Apache-2.0
#pragma once
// replacement.h - reads a history that a hook wrote as JSON into the parts of REPLACE_MESSAGES.
//
// A message may have the payload's form ({role, content, blocks}) or a provider API's ({role, content: [{type, ...}]}),
// or be a range of the log to keep: {"keep": {"first": 3, "last": 9}}.
//
// Threading: pure functions.

#include <vector>

#include "core/base/result.h"
#include "core/codec/json.h"
#include "core/hooks/action.h"

namespace agentd {

// kInvalid names the message: "replace_messages[3]: the role 'tool' is not user, assistant or
// summary".
Result<std::vector<ReplacePart>> replacement_parts(JsonView messages);

}  // namespace agentd
