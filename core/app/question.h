// SPDX-License-Identifier: Apache-2.0
#pragma once
// question.h - what a tool call would do, as text for the person who decides.
//
// Everything that runs is shown, and nothing that a model wrote can look like anything else: a
// value of several lines stands behind a bar, a line that is too long goes on behind another mark,
// and characters that a terminal would act on or not show appear as escapes.
//
// Threading: pure functions, but for one read of the file that a call would write.

#include <string>
#include <string_view>

#include "core/tools/tool.h"

namespace agentd::app {

struct QuestionView {
  std::size_t columns = 80, rows = 24;  // of the terminal
  std::string root{};                   // where relative paths begin; empty = no file is looked at
  std::string hidden{};                 // a file that is not shown either; empty = none
};

// Ends with a line break. The changes of edit_file, and of write_file to a file that exists, are
// lines with - and +.
std::string question_text(const Tool& tool, const ToolCall& call, const AskedBy& by, const QuestionView& view);

// How the lines of `after` come from those of `before`: the first and the last lines that both
// share are left out but for three, what lies between is all shown. Each line begins with "- ",
// "+ " or "  ".
std::string line_changes(std::string_view before, std::string_view after);

}  // namespace agentd::app
