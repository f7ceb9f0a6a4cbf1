// SPDX-License-Identifier: Apache-2.0
#include "core/app/render.h"

#include <gtest/gtest.h>

#include "core/codec/json.h"
#include "tests/unit/app/app_support.h"

namespace agentd::app {
namespace {

using testing::Sink;

class RenderTest : public ::testing::Test {
 protected:
  static RunEvent event(RunEvent::Body what, std::uint32_t depth = 0) {
    RunEvent out(std::move(what));
    out.agent_depth = depth;
    return out;
  }
  std::string out() {
    out_.flush();
    return out_sink_.text();
  }
  std::string err() {
    err_.flush();
    return err_sink_.text();
  }
  Sink out_sink_, err_sink_;
  Output out_{out_sink_.fd(), false, false}, err_{err_sink_.fd(), false, false};
};

TEST_F(RenderTest, ACallIsShownWithWhatATerminalHides) {
  TerminalRenderer renderer(out_, err_, false);
  renderer.on_event(event(told::ToolCalled{"c1", "bash", "{\"command\":\"rm\u200B a\u2028b\u202Ec\u00A0d\"}"}));
  EXPECT_NE(err().find("rm\\u{200b} a\\u{2028}b\\u{202e}c\\xa0d"), std::string::npos) << err();
}

TEST_F(RenderTest, APlanIsShownWhenItIsAnotherOne) {
  using Status = PlanEntry::Status;
  TerminalRenderer renderer(out_, err_, false);
  const std::vector<PlanEntry> first{{"read", Status::kInProgress}, {"wri\x1b[2Jte\nx", Status::kPending}};
  const std::vector<PlanEntry> second{{"read", Status::kCompleted}, {"write", Status::kInProgress}};
  renderer.on_event(event(told::PlanChanged{first}));
  renderer.on_event(event(told::PlanChanged{first}));
  renderer.on_event(event(told::PlanChanged{second}, 1));  // a subagent's own
  const std::string shown = err();
  EXPECT_EQ(shown.find("  → read\n  ○ wri"), 0u) << shown;
  EXPECT_EQ(std::count(shown.begin(), shown.end(), '\n'), 2) << shown;
  EXPECT_EQ(shown.find('\x1b'), std::string::npos) << shown;
  renderer.on_event(event(told::PlanChanged{second}));
  EXPECT_TRUE(err().ends_with("  ✓ read\n  → write\n")) << err();
  renderer.on_event(event(told::PlanChanged{}));
  EXPECT_TRUE(err().ends_with("  (the plan is empty)\n")) << err();
  EXPECT_EQ(out(), "");
}

TEST_F(RenderTest, TextGoesToStandardOutputAndEndsItsLine) {
  TerminalRenderer renderer(out_, err_, false);
  renderer.on_event(event(told::TextDelta{"Hel"}));
  renderer.on_event(event(told::TextDelta{"lo"}));
  renderer.on_event(event(told::TurnEnded{}));
  EXPECT_EQ(out(), "Hello\n");
  EXPECT_EQ(err(), "");
}

// What a file or a pipe got cannot be taken back.
TEST_F(RenderTest, WithoutATerminalAnAnswerIsPrintedWhenItIsComplete) {
  TerminalRenderer renderer(out_, err_, false);
  renderer.on_event(event(told::RunStarted{}));
  renderer.on_event(event(told::TextDelta{"Half \xC3"}));
  renderer.on_event(event(told::Notice{"by the way"}));
  EXPECT_EQ(out(), "");
  renderer.on_event(event(told::AnswerAgain{"it broke off"}));
  renderer.on_event(event(told::TextDelta{"Whole."}));
  EXPECT_EQ(out(), "");
  renderer.on_event(event(told::TurnEnded{}));
  EXPECT_EQ(out(), "Whole.\n");
  renderer.on_event(event(told::TextDelta{"And a call."}));
  renderer.on_event(event(told::ToolCalled{"c1", "bash", "{}"}));
  EXPECT_EQ(out(), "Whole.\nAnd a call.\n");
  renderer.on_event(event(told::RunEnded{}));
  EXPECT_EQ(out(), "Whole.\nAnd a call.\n");
  EXPECT_TRUE(err().starts_with("note: by the way\nnote: it broke off; it is requested again\n")) << err();
}

TEST_F(RenderTest, WhatArrivedOfAnAnswerThatWasNeverCompleteIsPrintedAtTheEnd) {
  TerminalRenderer renderer(out_, err_, false);
  renderer.on_event(event(told::RunStarted{}));
  for (int i = 0; i < 2; ++i) {
    renderer.on_event(event(told::TextDelta{"Half"}));
    renderer.on_event(event(told::AnswerAgain{"it broke off"}));
  }
  renderer.on_event(event(told::Failed{"network", "no answer"}));
  renderer.on_event(event(told::RunEnded{}));
  EXPECT_EQ(out(), "Half\n");
}

TEST_F(RenderTest, ATerminalShowsTextAsItArrivesAndSaysWhatOfItIsVoid) {
  Output terminal{out_sink_.fd(), true, false};
  TerminalRenderer renderer(terminal, err_, false);
  renderer.on_event(event(told::TextDelta{"Half"}));
  EXPECT_EQ(out(), "Half");
  renderer.on_event(event(told::AnswerAgain{"it broke off"}));
  EXPECT_EQ(err(), "note: it broke off; it is requested again, and the part already shown is void\n");
}

// The command that compacts tells it itself.
TEST_F(RenderTest, AFailedCompactionIsAWarningInARunAlone) {
  TerminalRenderer renderer(out_, err_, false);
  renderer.on_event(event(told::CompactionEnded{AGENTD_RESULT_FAILED, "busy"}));
  renderer.on_event(event(told::CompactionEnded{AGENTD_RESULT_VETOED, "not now"}));
  EXPECT_EQ(err(), "");
  renderer.on_event(event(told::RunStarted{}));
  renderer.on_event(event(told::CompactionEnded{AGENTD_RESULT_FAILED, "busy"}));
  renderer.on_event(event(told::CompactionEnded{AGENTD_RESULT_VETOED, "not now"}));
  EXPECT_EQ(err(), "warning: compaction failed: busy\nwarning: a hook blocked the compaction: not now\n");
}

TEST_F(RenderTest, ControlCharactersAreMadeHarmlessAlsoAcrossDeltas) {
  TerminalRenderer renderer(out_, err_, false);
  renderer.on_event(event(told::TextDelta{"a\x1b]0;owned\x07 caf\xC3"}));
  renderer.on_event(event(told::TextDelta{"\xA9 \xC2"}));
  renderer.on_event(
      event(told::TextDelta{"\x9B"
                            "2J \xE2\x80\xAE!"}));
  renderer.settle();
  EXPECT_EQ(out(), "a\\x1b]0;owned\\x07 café \\x9b2J \\u{202e}!\n");
}

TEST_F(RenderTest, AToolCallIsOneLine) {
  TerminalRenderer renderer(out_, err_, false);
  renderer.on_event(event(told::ToolCalled{"c1", "bash", R"({"command":"ls -la\n\u001b[31m"})"}));
  renderer.on_event(event(told::ToolEnded{"c1", "bash", ToolStatus::kOk, "total 0\n", 12'345}));
  EXPECT_EQ(err(), "• bash ls -la \\x1b[31m · ok · 12 ms · 8 bytes\n");
}

TEST_F(RenderTest, ResultsOfCallsAtTheSameTimeNameTheirCalls) {
  TerminalRenderer renderer(out_, err_, false);
  renderer.on_event(event(told::ToolCalled{"c1", "read_file", R"({"path":"a.cc"})"}));
  renderer.on_event(event(told::ToolCalled{"c2", "read_file", R"({"path":"b.cc"})"}));
  renderer.on_event(event(told::ToolEnded{"c1", "read_file", ToolStatus::kOk, "a", 2'000}));
  renderer.on_event(event(told::ToolEnded{"c2", "read_file", ToolStatus::kOk, "bb", 2'000}));
  EXPECT_EQ(err(),
            "• read_file a.cc\n• read_file b.cc\n"
            "• read_file a.cc · ok · 2.0 ms · 1 bytes\n• read_file b.cc · ok · 2.0 ms · 2 bytes\n");
}

TEST_F(RenderTest, OfASubagentOnlyWhatItDoesIsShownAndNothingOnStandardOutput) {
  TerminalRenderer renderer(out_, err_, false);
  const auto of_child = [&](RunEvent::Body what) { renderer.on_event(event(std::move(what), 1)); };
  renderer.on_event(event(told::ToolCalled{"c1", "task", R"({"description":"look around","prompt":"p"})"}));
  of_child(told::TextDelta{"of the child"});
  of_child(told::ToolCalled{"c2", "bash", R"({"command":"ls"})"});
  of_child(told::ToolEnded{"c2", "bash", ToolStatus::kOk, "total 0\n"});
  of_child(told::Warning{"mind this"});
  of_child(told::TurnEnded{});
  of_child(told::RunEnded{});
  renderer.settle();
  EXPECT_EQ(out(), "");
  EXPECT_TRUE(err().starts_with("• task look around\n  • bash ls · ok")) << err();
  EXPECT_NE(err().find("warning: mind this"), std::string::npos);
}

TEST_F(RenderTest, ASearchIsSummarisedByItsPattern) {
  EXPECT_EQ(call_summary(R"({"path":".","pattern":"needle"})"), "needle");
  EXPECT_EQ(call_summary(R"({"path":"src/a.cc"})"), "src/a.cc");
}

TEST_F(RenderTest, AFailedToolCallShowsItsFirstLine) {
  TerminalRenderer renderer(out_, err_, false);
  renderer.on_event(event(told::ToolEnded{"c9", "read_file", ToolStatus::kError, "no such file\nmore"}));
  EXPECT_EQ(err(), "• read_file · error · 17 bytes · no such file\n") << "without a time: it did not run";
}

TEST_F(RenderTest, HookAnswersAreShownOnlyWhenTraced) {
  const RunEvent answer = event(told::HookAnswered{"auto_compact", "agent_stop", "replace", "applied", 42});
  TerminalRenderer(out_, err_, false).on_event(answer);
  EXPECT_EQ(err(), "");
  TerminalRenderer(out_, err_, true).on_event(answer);
  EXPECT_EQ(err(), "  hook auto_compact · agent_stop · replace (applied) · 42 µs\n");
}

TEST_F(RenderTest, ABoundaryShowsTheGaugeBeforeAndAfter) {
  TerminalRenderer renderer(out_, err_, false);
  Gauge gauge;
  gauge.limit = 10'000;
  renderer.on_event(event(told::Compacted{
      "01J", R"({"compact_metadata":{"trigger":"manual","pre_tokens":7100,"post_tokens":900}})", gauge}));
  EXPECT_EQ(err(), "── compacted (manual): 7,100 tokens, 71 % → 900 tokens, 9 % ──\n");
}

TEST_F(RenderTest, FailuresOfHooksAreAlwaysShown) {
  TerminalRenderer(out_, err_, false).on_event(event(told::HookFailed{"bad", "agent_stop", "it threw\x07"}));
  EXPECT_EQ(err(), "warning: hook bad failed at agent_stop: it threw\\x07\n");
}

TEST_F(RenderTest, JsonIsOneObjectALine) {
  JsonRenderer renderer(out_);
  RunEvent delta = event(told::TextDelta{"two\nlines"});
  delta.session_id = "s1";
  renderer.on_event(delta);
  renderer.on_event(event(told::Notice{"\x1b"}));
  const std::string text = out();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  const auto first = JsonDocument::parse(text.substr(0, text.find('\n')));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->root()["text"].string_or(""), "two\nlines");
  EXPECT_EQ(first->root()["session_id"].string_or(""), "s1");
}

TEST_F(RenderTest, ResultOnlyIsQuietButForWarnings) {
  QuietRenderer renderer(err_);
  renderer.on_event(event(told::TextDelta{"x"}));
  renderer.on_event(event(told::Notice{"x"}));
  renderer.on_event(event(told::Warning{"hooks are off"}));
  EXPECT_EQ(err(), "warning: hooks are off\n");
}

TEST(Output, AClosedReaderIsRememberedAndNotFatal) {
  Output out(-1, false, false);
  out.print("x");
  out.flush();
  EXPECT_EQ(out.failure(), EBADF);
}

TEST(Output, WritesNoEscapesWithoutColour) {
  EXPECT_EQ(Output(-1, true, false).styled("31", "x"), "x");
  EXPECT_EQ(Output(-1, true, true).styled("31", "x"), "\x1b[31mx\x1b[0m");
}

TEST(Durations, HaveTheirUnit) {
  EXPECT_EQ(duration_text(850), "850 µs");
  EXPECT_EQ(duration_text(3'400), "3.4 ms");
  EXPECT_EQ(duration_text(34'000), "34 ms");
  EXPECT_EQ(duration_text(3'400'000), "3.4 s");
}

TEST(NeutralLine, CutsLongTextsWithAMark) {
  EXPECT_EQ(neutral_line("a\nb\tc", 100), "a b c");
  EXPECT_EQ(neutral_line(std::string(50, 'x'), 10), std::string(10, 'x') + "…");
}

}  // namespace
}  // namespace agentd::app
