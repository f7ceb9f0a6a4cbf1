// SPDX-License-Identifier: Apache-2.0
#pragma once
// question.h - the effect of a tool call, as text for the person who decides.
//
// The complete call is shown, and a model's text cannot imitate other output: each line of a value follows a bar,
// a line that is too long continues after another mark, and characters that a terminal would interpret or hide
// appear as escapes.
//
// Threading: pure functions, but for one read of the file that a call would write.

#include <string>
#include <string_view>

#include "core/tools/tool.h"

namespace agentd::app {

struct QuestionView {
  std::size_t columns = 80, rows = 24;  // of the terminal
  std::string root{};                   // for relative paths; empty = no file is read
  std::string hidden{};                 // a file that is never shown; empty = none
};

// Ends with a line break. The changes of edit_file, and of write_file to an existing file, are lines with - and +.
std::string question_text(const Tool& tool, const ToolCall& call, const AskedBy& by, const QuestionView& view);

// The changes from `before` to `after`: of the common lines at both ends only three are shown, everything between
// them is shown. Each line begins with "- ", "+ " or " ".
std::string line_changes(std::string_view before, std::string_view after);

}  // namespace agentd::app
