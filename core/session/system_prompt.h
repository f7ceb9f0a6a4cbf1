// SPDX-License-Identifier: Apache-2.0
#pragma once
// system_prompt.h - the system prompt: the built-in text or the user's, and the place of work.
//
// Threading: pure function on the file system.

#include <string>

#include "core/base/result.h"
#include "core/workplace/workplace.h"

namespace agentd {

// For a session that works in `cwd`. kInvalid: system_prompt_file cannot be read.
Result<std::string> system_prompt(const Workplace& workplace, const std::string& cwd);

}  // namespace agentd
