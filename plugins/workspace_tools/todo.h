// SPDX-License-Identifier: Apache-2.0
#pragma once
// todo.h - the list of tasks that the model keeps with todo_write: its input, its result, its text after a compaction.
//
// Threading: pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace workspace_tools {

struct Todo {
  std::string content, status, priority;  // status: pending, in_progress or completed; priority: high, medium or low
};

// The list in the tool's input, which replaces the last one. kInvalid has a sentence for the model.
agentd::Result<std::vector<Todo>> todos_of(std::string_view input_json);
// The structured result: {"plan":[...]}, which agentd shows to the user.
std::string plan_json(const std::vector<Todo>& todos);
// "5 tasks: 2 completed, 1 in progress, 2 pending"
std::string counts_of(const std::vector<Todo>& todos);
// One line for each task; empty when none is left to do.
std::string reminder_of(const std::vector<Todo>& todos);

}  // namespace workspace_tools
