// SPDX-License-Identifier: Apache-2.0
// editor_test.cc - the line editor of chat on a terminal of its own, and what a message takes from
// outside.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

using std::chrono::milliseconds;

// ---- the line editor of chat

class Editor : public ::testing::Test {
 protected:
  Editor() { program_.set("TERM=xterm"); }
  Finished chat(const std::string& script, const std::vector<std::pair<std::string, std::string>>& dialogue) {
    return program_.on_terminal({"chat", "--script", program_.script(script)}, dialogue);
  }
  // What the person said, as it was sent.
  std::vector<std::string> said() {
    std::vector<std::string> out;
    const Finished shown = program_.run({"conversation", "show", program_.newest(), "--format", "json"});
    const auto json = JsonDocument::parse(shown.out);
    EXPECT_TRUE(json) << shown.out << shown.err;
    if (!json) return out;
    const JsonView messages = json->root()["messages"];
    for (std::size_t i = 0; i < messages.size(); ++i)
      if (messages.at(i)["role"].string_or("") == "user")
        out.emplace_back(messages.at(i)["blocks"].at(0)["text"].string_or("?"));
    return out;
  }
  // Types the keys, ended by Enter; the message that was sent.
  std::string typed(std::vector<std::pair<std::string, std::string>> keys) {
    keys.back().second += "\n";
    keys.insert(keys.end(), {{"understood", ""}, {" % > ", "\x04"}});
    const Finished ran = chat("- text: understood\n", keys);
    EXPECT_EQ(ran.code, 0) << ran.out;
    const auto all = said();
    return all.empty() ? "nothing" : all[0];
  }

  Program program_;
};

// What a terminal made of the bytes that it got: the characters, and whether each has an attribute.
struct Shown {
  explicit Shown(std::string_view bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
      if (bytes[at] != '\x1b') {
        text += bytes[at++];
        styled.push_back(on);
      } else if (bytes.substr(at, 2) == "\x1b[") {
        const std::size_t end = std::min(bytes.find_first_not_of("0123456789;?", at + 2), bytes.size());
        if (end < bytes.size() && bytes[end] == 'm')
          on = bytes.substr(at + 2, end - at - 2).find_first_not_of("0;") != std::string_view::npos;
        at = end + 1;
      } else {
        at += 2;
      }
    }
  }
  // How often a text is shown with an attribute, and without one.
  std::size_t times(const std::string& part, bool with) const {
    std::size_t out = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
      if (styled[at] == with) ++out;
    return out;
  }
  std::string text;
  std::vector<bool> styled;
  bool on = false;  // at the end
};

// A style ends with the prompt that has it, however the chat ends.
TEST_F(Editor, NothingIsStyledBehindThePrompt) {
  const std::vector<std::pair<std::string, std::string>> ends[] = {
      {{" % > ", "\x04"}},
      {{" % > ", "/exit\n"}},
      {{" % > ", "half\x03"}, {"Ctrl-C again", ""}, {" % > ", "\x03"}},
      {{" % > ", Program::kTerminate}}};
  for (const auto& end : ends) {
    std::vector<std::pair<std::string, std::string>> dialogue{
        {" % > ", "Wwords\\\n"}, {"… ", "Xmore\n"}, {"Yunderstood", ""}};
    dialogue.insert(dialogue.end(), end.begin(), end.end());
    const Finished ran = program_.on_terminal({"chat", "--script", program_.script("- text: Yunderstood\n")}, dialogue,
                                              milliseconds(150));
    const Shown shown(ran.out);
    EXPECT_GE(shown.times("% >", true), 2u) << ran.out;
    for (const char* const plain : {"Wwords", "Xmore", "Yunderstood"}) {
      EXPECT_GE(shown.times(plain, false), 1u) << plain << ran.out;
      EXPECT_EQ(shown.times(plain, true), 0u) << plain << ran.out;
    }
    EXPECT_FALSE(shown.on) << "the shell's prompt is styled behind: " << ran.out;
  }
}

TEST_F(Editor, ArrowKeysMoveInTheLine) {
  const Finished ran = chat(
      "- text: understood\n  expect: {contains: \"gr\xC3\xBC\xC3\x9F"
      "e alle\"}\n",
      {{" % > ",
        "gr\xC3\xBC\xC3\x9F"
        "e ale\x1b[D\x1b[Dl\n"},
       {"understood", ""},
       {" % > ", "\x04"}});
  EXPECT_EQ(ran.code, 0) << ran.out;
}

TEST_F(Editor, APasteOfFiveHundredLinesIsOneMessage) {
  std::string text;
  for (int i = 0; i < 500; ++i) text += "line " + std::to_string(i) + "\r";
  const Finished ran = chat("- text: understood\n  expect: {contains: \"line 0\\nline 1\\n\"}\n",
                            {{" % > ", "look: \x1b[200~" + text + "\x1b[201~"},
                             {"[pasted text 1, 501 lines]", "\n"},
                             {"understood", ""},
                             {" % > ", "\x04"}});
  EXPECT_EQ(ran.code, 0) << ran.out;
}

TEST_F(Editor, UnmarkedLinesThatComeAtOnceAreOneMessage) {
  std::string text;
  for (int i = 0; i < 500; ++i) text += "line " + std::to_string(i) + "\n";
  const Finished ran = chat("- text: understood\n  expect: {contains: \"line 498\\nline 499\"}\n",
                            {{" % > ", text}, {"understood", ""}, {" % > ", "\x04"}});
  EXPECT_EQ(ran.code, 0) << ran.out;
}

constexpr char kPaste[] = "\x1b[200~one\rtwo\rthree\x1b[201~";
constexpr char kWord[] = "[pasted text 1, 3 lines]";

TEST_F(Editor, APasteIsTakenOutWholeByEveryKeyThatDeletes) {
  for (const char* const key : {"\x7f", "\x08", "\x1b\x7f", "\x1b[D\x1b[3~", "\x1b[D\x04"})
    EXPECT_EQ(typed({{" % > ", std::string("look: ") + kPaste}, {kWord, key + std::string("here")}}), "look: here")
        << ::testing::PrintToString(key);
  for (const char* const key : {"\x1b[3~", "\x04", "\033d"})
    EXPECT_EQ(typed({{" % > ", kPaste + std::string(" is it")}, {kWord, std::string("\x01") + key}}), " is it")
        << ::testing::PrintToString(key);
}

TEST_F(Editor, APasteThatIsTakenOutLeavesTheOthersAndTheLineIsKept) {
  EXPECT_EQ(typed({{" % > ", std::string(kPaste) + kPaste}, {"[pasted text 2, 3 lines]", "\x7f!"}}),
            "one\ntwo\nthree!");
  EXPECT_EQ(typed({{" % > ", kPaste}, {kWord, "\x7fplain words"}}), "plain words");
  EXPECT_EQ(read_file(program_.home() + "/chat_history", 1u << 20).value_or("?"), "plain words\n");
}

TEST_F(Editor, TheCursorGoesOverAPasteAsOverOneCharacter) {
  EXPECT_EQ(typed({{" % > ", std::string("a") + kPaste + "b"}, {kWord, "\x1b[D\x1b[Dx"}}), "axone\ntwo\nthreeb");
  EXPECT_EQ(typed({{" % > ", std::string("a") + kPaste + "b"}, {kWord, "\x01\x1b[C\x1b[Cx"}}), "aone\ntwo\nthreexb");
  // Deleted with the rest of the line, and put back: it is whole.
  EXPECT_EQ(typed({{" % > ", std::string("a") + kPaste}, {kWord, "\x01\x0b\x19"}}), "aone\ntwo\nthree");
}

TEST_F(Editor, KeysThatMeanNothingHereLeaveNothingInTheLine) {
  for (const char* const key : {"\x1b[1;5P",
                                "\x1b[11~",
                                "\x1b[24;2~",
                                "\x1b[[A",
                                "\x1bOP",
                                "\x1bO5Q",
                                "\x1b[<0;10;20M",
                                "\x1b[<0;10;20m",
                                "\x1b[M !!",
                                "\x1b[I",
                                "\x1b[O",
                                "\x1b[2~",
                                "\x1b[5~",
                                "\x1b[6;5~",
                                "\x1b[97;5u",
                                "\x1b[?1;2c",
                                "\x1b[27;5;9~",
                                "\x1b]11;rgb:0000/0000/0000\x1b\\",
                                "\x1b]11;rgb:0000/0000/0000\x07",
                                "\x1bP1+r544e=78\x1b\\",
                                "\x1b[1;2A",
                                "\x1b[Z"})
    EXPECT_EQ(typed({{" % > ", std::string("hel") + key + "lo"}}), "hello") << ::testing::PrintToString(key);
}

TEST_F(Editor, AKeyThatArrivesInPiecesIsOneKey) {
  EXPECT_EQ(typed({{" % > ", "hel\x1b["}, {"hel", "1;5"}, {"", "Plo"}}), "hello");
  EXPECT_EQ(typed({{" % > ", "hel\x1b[<0;1"}, {"hel", "0;20Mlo"}}), "hello");
  EXPECT_EQ(typed({{" % > ", "ello\x1b["}, {"ello", "Hh"}}), "hello");
  // A wheel that is turned sends more than anybody types.
  std::string wheel;
  for (int i = 0; i < 300; ++i) wheel += "\x1b[<64;10;20M";
  EXPECT_EQ(typed({{" % > ", "hel" + wheel + "lo"}}), "hello");
}

TEST_F(Editor, KeysThatEditStillDo) {
  for (const char* const home : {"\x1b[H", "\x1bOH", "\x1b[1~", "\x01"})
    EXPECT_EQ(typed({{" % > ", std::string("ello") + home + "h"}}), "hello") << ::testing::PrintToString(home);
  for (const char* const end : {"\x1b[F", "\x1bOF", "\x1b[4~", "\x05"})
    EXPECT_EQ(typed({{" % > ", std::string("ell\x01h") + end + "o"}}), "hello") << ::testing::PrintToString(end);
  EXPECT_EQ(typed({{" % > ", "one three\x1b[1;5Dtwo "}}), "one two three");
  EXPECT_EQ(typed({{" % > ", "one three\033btwo "}}), "one two three");
  EXPECT_EQ(typed({{" % > ", "helo\x1bODl"}}), "hello");
}

TEST_F(Editor, ALongLineIsNotCut) {
  const Finished ran = chat("- text: understood\n  expect: {contains: xxxTHE END}\n",
                            {{" % > ", std::string(9000, 'x') + "THE END\n"}, {"understood", ""}, {" % > ", "\x04"}});
  EXPECT_EQ(ran.code, 0) << ran.out;
}

TEST_F(Editor, HistoryIsKeptForTheOwnerAndWithoutSecrets) {
  const std::string secret = "sk-ant-api03-" + std::string(93, 'a') + "AA";
  ASSERT_EQ(chat("- text: yes\n- text: no\n", {{" % > ", "a first question\n"},
                                               {"yes", ""},
                                               {" % > ", "the key is " + secret + "\n"},
                                               {"no", ""},
                                               {" % > ", "\x04"}})
                .code,
            0);
  const std::string file = program_.home() + "/chat_history";
  EXPECT_EQ(read_file(file, 1u << 20).value_or("?"), "a first question\n");
  struct stat info {};
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const Finished ran = chat("- text: again\n  expect: {contains: a first question}\n",
                            {{" % > ", "\x1b[A\n"}, {"again", ""}, {" % > ", "\x04"}});
  EXPECT_EQ(ran.code, 0) << ran.out;
}

TEST_F(Editor, CtrlCTwiceEndsTheChat) {
  const Finished ran =
      program_.on_terminal({"chat", "--script", program_.script("- text: one\n")},
                           {{" % > ", "half\x03"}, {"Ctrl-C again", ""}, {" % > ", "\x03"}}, milliseconds(150));
  EXPECT_EQ(ran.code, 130) << ran.out;
}

TEST_F(Editor, WhatWasTypedBeforeAQuestionStandsInTheNextLine) {
  const Finished ran = program_.on_terminal(
      {"chat", "--script",
       program_.script("- delay_ms: 500\n  calls: [{name: bash, input: {command: touch made.txt}}]\n"
                       "- text: refused\n- text: heard\n  expect: {contains: and then test it}\n")},
      {{" % > ", "fix it\n"},
       {"fix it", "and then test it"},
       {"Allow?", "n\n"},
       {"refused", ""},
       {"and then test it", "\n"},
       {"heard", ""},
       {" % > ", "\x04"}},
      milliseconds(100));
  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_FALSE(exists(program_.project() + "/made.txt"));
}

// ---- what a message takes from outside

TEST(Message, PipedTextStandsBehindTheWords) {
  Program program;
  const Finished ran =
      program.run({"run", "explain", "this", "--script",
                   program.script("- text: done\n  expect: {contains: \"explain this\\n\\nerror: 42\"}\n")},
                  "error: 42\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST(Message, PipedTextReachesARecipe) {
  Program program;
  ASSERT_TRUE(make_directories(program.home() + "/recipes"));
  ASSERT_TRUE(write_file_atomically(program.home() + "/recipes/review.md",
                                    "---\nname: review\ndescription: d\n---\nReview it.\n", 0600));
  const Finished ran = program.run(
      {"run", "-r", "review", "--script", program.script("- text: done\n  expect: {contains: \"a diff of mine\"}\n")},
      "a diff of mine\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST(Message, APictureIsRefused) {
  Program program;
  const Finished ran =
      program.run({"run", "-", "--script", program.script("- text: done\n")}, std::string("\x89PNG\r\n\x1a\n\0\0", 10));
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("standard input is a PNG picture"), std::string::npos) << ran.err;
}

TEST(Message, AFileThatIsNamedIsSentAlong) {
  Program program;
  program.file("notes.txt", "the answer is 42\n");
  const Finished ran =
      program.run({"run", "see @notes.txt, @nobody and a@b.c", "--script",
                   program.script("- text: done\n  expect: {contains: \"--- notes.txt ---\\nthe answer is 42\"}\n")});
  EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST(Message, AFileThatIsNamedAndNotThereIsToldInOneSentence) {
  Program program;
  program.file("notes.txt", "the answer is 42\n");
  ASSERT_TRUE(make_directories(program.project() + "/src"));
  const auto sent = [&](const std::string& message) {
    return program.run({"run", "--result-only", message, "--script",
                        program.script("- text: done\n  expect: {contains: \"see @\"}\n")});
  };
  const Finished one = sent("see @notes.txt and @nofile.txt, please");
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(one.err, "warning: @nofile.txt names no file here and was sent unchanged\n");
  const Finished several = sent("see @src, (@\"a b\") and @nofile, @nofile.");
  EXPECT_EQ(several.code, 0) << several.err;
  EXPECT_EQ(several.err, "warning: @src, @\"a b\" and @nofile name no files here and were sent unchanged\n");
  EXPECT_EQ(sent("see @ 5 pm, a@b.c and @notes.txt").err, "");
}

TEST_F(Editor, AFileThatIsNamedAndNotThereIsTold) {
  const Finished ran =
      chat("- text: understood\n",
           {{" % > ", "see @nofile\n"}, {"@nofile names no file here", ""}, {"understood", ""}, {" % > ", "\x04"}});
  EXPECT_EQ(ran.code, 0) << ran.out;
}

TEST(Message, AFileOutsideOfTheWorkspaceIsNotSent) {
  Program program;
  const Finished ran = program.run({"run", "see @/etc/passwd", "--script", program.script("- text: done\n")});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("outside the workspace"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace agentd::testing
