// SPDX-License-Identifier: Apache-2.0
#include "core/app/question.h"

#include <gtest/gtest.h>

#include "core/app/keyboard.h"
#include "core/app/terminal.h"
#include "core/base/file.h"
#include "tests/support/temp_dir.h"

namespace agentd::testing {
namespace {

using namespace agentd::app;

std::string shown(const std::string& name, const std::string& input, const QuestionView& view = {},
                  const AskedBy& by = {}) {
  Tool tool;
  tool.name = name;
  return question_text(tool, {"c", name, ToolInput::make(input).value_or({})}, by, view);
}

TEST(Question, ShortValuesStandBehindTheirNames) {
  EXPECT_EQ(shown("bash", R"({"command":"ls -l","timeout_ms":5})"),
            "bash wants to run:\n  command: ls -l\n  timeout_ms: 5\n");
}

TEST(Question, EveryLineOfAValueIsMarked) {
  EXPECT_EQ(shown("bash", R"({"command":"a\n\nAllow? b\n"})"),
            "bash wants to run:\n  command:\n  │ a\n  │ \n  │ Allow? b\n  │\n");
}

TEST(Question, ALongLineGoesOnBehindAMarkAndIsWhole) {
  const std::string text = shown("bash", "{\"command\":\"" + std::string(100, 'x') + "END\"}");
  EXPECT_EQ(text,
            "bash wants to run:\n  command:\n  │ " + std::string(75, 'x') + "\n  ┆ " + std::string(25, 'x') + "END\n");
}

TEST(Question, NoLineIsWiderThanTheScreen) {
  QuestionView view;
  view.columns = 40;
  const std::string text =
      shown("bash", "{\"command\":\"ls" + std::string(200, ' ') + "Allow? 漢字漢字漢字漢字\"}", view);
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    std::size_t columns = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if ((byte & 0xC0) != 0x80) columns += byte >= 0xE3 ? 2 : 1;
    }
    EXPECT_LE(columns, view.columns) << text.substr(begin, end - begin);
  }
}

TEST(Question, WhatATerminalWouldActOnOrHideIsVisible) {
  const std::string text =
      shown("bash", "{\"command\":\"a\\u001b[2Jb\\u202Ec\\u2066d\\u009Be\\u200Bf\\u00A0g\\uFEFFh\\ri\"}");
  EXPECT_NE(text.find("a\\x1b[2Jb\\u{202e}c\\u{2066}d\\x9be\\u{200b}f\\xa0g\\u{feff}h\\x0di"), std::string::npos)
      << text;
}

TEST(Question, AnOddKeyIsAValueLikeAnyOther) {
  EXPECT_EQ(shown("bash", R"({"x\nAllow? [y]es":"1"})"), "bash wants to run:\n  │ \"x\n  │ Allow? [y]es\": 1\n");
}

TEST(Question, SeveralEditsShowEachOfTheirChanges) {
  EXPECT_EQ(shown("edit_file", R"({"path":"a.c","edits":[{"old_string":"x","new_string":"@ edit 3:"},)"
                               R"({"old_string":"y","new_string":"","replace_all":true}]})"),
            "edit_file wants to run:\n  path: a.c\n  changes:\n  @ edit 1:\n  - x\n  + @ edit 3:\n"
            "  @ edit 2, in every place:\n  - y\n");
  // A list with anything else in it is shown as it is.
  const std::string odd = shown("edit_file", R"({"path":"a.c","edits":[{"old_string":"x","new_string":"y","z":1}]})");
  EXPECT_NE(odd.find(R"("z":1)"), std::string::npos) << odd;
}

TEST(Question, AnEditShowsItsChange) {
  EXPECT_EQ(shown("edit_file", R"({"path":"a.c","old_string":"x\ny\nz","new_string":"x\nY\nz"})"),
            "edit_file wants to run:\n  path: a.c\n  change:\n    x\n  - y\n  + Y\n    z\n");
}

TEST(Question, AFileThatExistsIsComparedAndANewOneShown) {
  const TempDir directory;
  directory.write("old.txt", "1\n2\n3\n");
  QuestionView view;
  view.root = directory.path();
  EXPECT_EQ(shown("write_file", R"({"path":"old.txt","content":"1\nzwei\n3\n"})", view),
            "write_file wants to run:\n  path: old.txt\n  change to the existing file:\n"
            "    1\n  - 2\n  + zwei\n    3\n");
  EXPECT_EQ(shown("write_file", R"({"path":"new.txt","content":"a\nb"})", view),
            "write_file wants to run:\n  path: new.txt\n  content:\n  │ a\n  │ b\n");
}

TEST(Question, TheHookThatAsksIsNamedWithItsReason) {
  const std::string text = shown("bash", R"({"command":"ls"})", {}, {"guard", "it looks\nodd"});
  EXPECT_NE(text.find("The hook guard asks for this:\n  │ it looks\n  │ odd\n"), std::string::npos) << text;
}

TEST(Question, ChangesShowEverythingBetweenTheFirstAndTheLastDifference) {
  EXPECT_EQ(line_changes("a\nb\nc\nd\n", "a\nB\nc\nD\n"), "  a\n- b\n- c\n- d\n+ B\n+ c\n+ D\n");
  EXPECT_EQ(line_changes("", "x\n"), "+ x\n");
  EXPECT_EQ(line_changes("a\n", "a"), "  a\n- (a line break at the end)\n");
}

TEST(Question, AnswersAreReadWithoutRegardToCaseAndBlanks) {
  EXPECT_EQ(parse_answer("Y").kind, Answer::Kind::kYes);
  EXPECT_EQ(parse_answer(" yes ").kind, Answer::Kind::kYes);
  EXPECT_EQ(parse_answer("A").kind, Answer::Kind::kAlways);
  EXPECT_EQ(parse_answer("No").kind, Answer::Kind::kNo);
  EXPECT_EQ(parse_answer("n, use make").reason, "use make");
  for (const char* unclear : {"", "yes please", "not now", "ye", "always!", "\x1b[A"})
    EXPECT_EQ(parse_answer(unclear).kind, Answer::Kind::kUnclear) << unclear;
}

}  // namespace
}  // namespace agentd::testing
