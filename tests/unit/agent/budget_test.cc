// SPDX-License-Identifier: Apache-2.0
// The gauge: what the provider reported, what is estimated, and what estimates have learned.
#include "core/agent/token_factors.h"
#include "tests/support/agent_fixture.h"

namespace agentd::testing {
namespace {

constexpr std::string_view kSpace = "agentd.calibration";

class Budget : public AgentTest {
 protected:
  Budget() {
    options_.system_prompt = std::string(800, 's');  // 200 tokens
    options_.auto_compact = false;                   // reports go beyond the window here
  }
  // Another process on the same store.
  void restart() {
    session_.reset();
    agent_.reset();
    services_.reset();
    open();
  }
  // 1,000 tokens as estimated, and what the provider makes of the whole request (1,204 as
  // estimated).
  void say_reported(std::uint64_t reported) {
    model_.say("ok", Usage{reported, 1, 0, 0, 0, 0});
    EXPECT_TRUE(run(std::string(4'000, 'q')));
  }
  std::uint64_t estimate_of_one_message() {
    model_.say("ok");
    EXPECT_TRUE(run(std::string(4'000, 'q')));
    const Gauge gauge = session_->gauge();
    EXPECT_FALSE(gauge.reported);
    return gauge.used;
  }
};

TEST_F(Budget, WithoutAReportEverythingIsEstimated) {
  open();
  EXPECT_EQ(session_->gauge().floor, 200u);
  EXPECT_EQ(session_->gauge().used, 200u);
  EXPECT_EQ(session_->gauge().scale, 1);
  EXPECT_EQ(estimate_of_one_message(), 200u + 1'004u + 5u);
}

TEST_F(Budget, AReportCountsAsItIsWhateverWasEstimated) {
  open();
  say_reported(2'408);
  const Gauge gauge = session_->gauge();
  EXPECT_TRUE(gauge.reported);
  EXPECT_EQ(gauge.used, 2'408u + 1u);
  EXPECT_EQ(gauge.floor, 400u);
  EXPECT_NEAR(gauge.scale, 2, 1e-6);
}

TEST_F(Budget, WhatComesAfterTheReportIsCorrectedByWhatItTaught) {
  open();
  say_reported(2'408);
  model_.fail(ModelErrorKind::kNetwork, "gone");
  EXPECT_FALSE(run(std::string(4'000, 'q')));
  EXPECT_EQ(session_->gauge().used, 2'409u + 2 * 1'004u);
  EXPECT_TRUE(session_->gauge().reported);
}

TEST_F(Budget, HooksCountWithTheSameCorrection) {
  open();
  EXPECT_EQ(services().count_text("m-1", std::string(4'000, 'q')), 1'000u);
  say_reported(2'408);
  EXPECT_EQ(services().count_text("m-1", std::string(4'000, 'q')), 2'000u);
  EXPECT_EQ(services().count_text("", std::string(4'000, 'q')), 2'000u);
  EXPECT_EQ(services().count_text("another", std::string(4'000, 'q')), 1'000u);
}

TEST_F(Budget, TheNextConversationAndTheNextProcessKnowIt) {
  open();
  say_reported(2'408);
  EXPECT_EQ(store_.key_commits, 0) << "a run must not pay for it";
  open();
  EXPECT_EQ(store_.key_commits, 1);
  EXPECT_EQ(estimate_of_one_message(), 2 * (200u + 1'004u + 5u));
  restart();
  EXPECT_EQ(session_->gauge().used, 400u);
  EXPECT_EQ(store_.key_commits, 1) << "nothing moved since";
}

TEST_F(Budget, AFactorThatHardlyMovedIsNotStored) {
  open();
  say_reported(1'208);
  session_.reset();
  EXPECT_EQ(store_.key_commits, 0);
}

TEST_F(Budget, TurnsTeachWhatWasNewInThem) {
  options_.auto_compact = false;
  open();
  // 1,005 estimated tokens a turn: as many in truth at first, then three times as many.
  std::uint64_t reported = 1'204;
  say_reported(reported);
  for (int i = 0; i < 6; ++i) say_reported(reported += 1'005);
  EXPECT_NEAR(session_->gauge().scale, 1, 0.01);
  for (int i = 0; i < 3; ++i) say_reported(reported += 3'015);
  EXPECT_GT(session_->gauge().scale, 2.3) << "the whole prompt has only 1.6 times as many";
}

TEST_F(Budget, ALittleThatWasAddedIsLeftToAddUp) {
  open();
  say_reported(1'204);
  model_.say("ok", Usage{9'000, 1, 0, 0, 0, 0});
  EXPECT_TRUE(run("short"));
  EXPECT_NEAR(session_->gauge().scale, 1, 1e-6);
}

// ---- reports that cannot be true

TEST_F(Budget, AReportThatCannotBeTrueIsNone) {
  constexpr std::uint64_t kMost = ~std::uint64_t{0}, kHalf = kMost / 2 + 1;
  const Usage reports[] = {
      {0, 1, 0, 0, 0, 0},   {1'000'000, 1, 0, 0, 0, 0}, {kMost, 1, 0, 0, 0, 0},    {kHalf, 1, kHalf, 1'204, 0, 0},
      {300, 1, 0, 0, 0, 0}, {1'204, kMost, 0, 0, 0, 0}, {kMost, kMost, 1, 1, 0, 0}};
  for (const Usage& report : reports) {
    open();
    model_.say("ok", report);
    EXPECT_TRUE(run(std::string(4'000, 'q')));
    for (int process = 0; process < 2; ++process, reopen()) {
      EXPECT_FALSE(session_->gauge().reported) << report.input;
      EXPECT_EQ(session_->gauge().used, 200u + 1'004u + 5u) << report.input;
      EXPECT_EQ(session_->gauge().floor, 200u) << report.input;
      EXPECT_EQ(session_->gauge().scale, 1) << report.input;
    }
  }
}

TEST_F(Budget, AReportThatCannotBeTrueLeavesTheOneBefore) {
  open();
  say_reported(1'204);
  say_reported(0);
  EXPECT_TRUE(session_->gauge().reported);
  EXPECT_EQ(session_->gauge().used, 1'205u + 1'004u + 5u);
}

TEST_F(Budget, AReportWithAFigureThatNoAnswerCanHaveIsNotInTheTotals) {
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  open();
  model_.say("ok", Usage{1'204, 2, 0, 0, 0, 0});
  EXPECT_TRUE(run("q"));
  for (const std::uint64_t figure : {kMost, kMost / 2 + 1, std::uint64_t{1'000'000'001}}) {
    model_.say("ok", Usage{3, figure, 0, 7, 0, 0});
    EXPECT_TRUE(run("q"));
  }
  const Usage total = store_.info(id())->usage;
  EXPECT_EQ(total.input, 1'204u);
  EXPECT_EQ(total.output, 2u);
  EXPECT_EQ(total.cache_write, 0u);
}

// Older logs may hold any.
TEST(UsageTotals, EndAtTheLargestNumber) {
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  Usage total;
  for (int i = 0; i < 2; ++i) total += Usage{kMost - 1, kMost, kMost, 7, 0, 0};
  EXPECT_EQ(total.input, kMost);
  EXPECT_EQ(total.output, kMost);
  EXPECT_EQ(total.cache_write, 14u);
  EXPECT_EQ(total.prompt_tokens(), kMost);
}

TEST_F(Budget, AProviderThatReportsNothingReadDoesNotKeepCompactionFromIt) {
  options_.auto_compact = true;
  open();
  std::size_t most = 0;
  model_.during = [&](const ModelRequest& request) {
    std::size_t bytes = 0;
    for (const agentd_message& row : request.messages) bytes += to_message(row).text().size();
    if (request.purpose == "turn") most = std::max(most, bytes / 4);
    model_.say(request.purpose == "turn" ? std::string(2'000, 'a') : "a summary", Usage{0, 0, 0, 0, 0, 0});
  };
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(run(std::string(2'000, 'q')));
  EXPECT_LT(most, 8'000u) << "what the window takes";
  EXPECT_NE(events_.outcomes().find("applied"), std::string::npos);
}

// ---- tokens that a gateway adds

class Gateway : public Budget {
 protected:
  Gateway() { options_.auto_compact = true; }
  // Every report is what was sent, and `added`.
  void add(std::uint64_t added) {
    model_.during = [this, added](const ModelRequest& request) {
      std::uint64_t tokens =
          added + estimator_.count_text(request.system) + estimator_.count_text(request.closing_text);
      for (const agentd_message& row : request.messages) tokens += estimator_.count_row(row);
      const bool turn = request.purpose == "turn";
      if (turn) last_ = tokens;
      summaries_ += turn ? 0 : 1;
      model_.say(turn ? std::string(600, 'a') : "a summary", Usage{tokens, 150, 0, 0, 0, 0});
    };
  }
  void go(int runs) {
    for (int i = 0; i < runs; ++i) {
      ASSERT_TRUE(run(std::string(600, 'q')));
      reopen();  // another process each time
    }
  }
  std::uint64_t last_ = 0;
  int summaries_ = 0;
};

TEST_F(Gateway, WhatItAddsIsAPartOfTheFloor) {
  open();
  add(3'000);
  go(1);
  EXPECT_EQ(session_->gauge().floor, 3'200u);
  EXPECT_NEAR(session_->gauge().scale, 1, 1e-6) << "it is no matter of the tokenizer";
  go(5);
  EXPECT_EQ(session_->gauge().floor, 3'200u);
}

TEST_F(Gateway, WhatItAddsDoesNotCompactAgainAndAgain) {
  open();
  add(3'000);
  go(60);
  EXPECT_GE(summaries_, 2);
  EXPECT_LE(summaries_, 10) << "each makes room for some runs";
  EXPECT_LT(last_, 8'000u);
}

TEST_F(Gateway, WhatItAddsIsKnownAfterACompactionInAnotherProcess) {
  open();
  add(3'000);
  go(8);
  ASSERT_TRUE(session_->compact({}, false, cancel_));
  reopen();
  EXPECT_FALSE(session_->gauge().reported);
  EXPECT_EQ(session_->gauge().floor, 3'200u);
  EXPECT_GT(session_->gauge().used, 3'200u);
}

TEST_F(Gateway, ThatFillsTheWindowAloneIsToldAndNothingIsSummarised) {
  open();
  add(6'500);
  go(3);
  EXPECT_EQ(summaries_, 0);
  const auto told = events_.of(RunEvent::Type::kCompactionOutcome);
  ASSERT_GE(told.size(), 1u);
  EXPECT_NE(told[0].text.find("tokens added by the provider 6,5"), std::string::npos) << told[0].text;
}

TEST_F(Gateway, ThatAddsNothingAnyMoreIsBelieved) {
  open();
  add(3'000);
  go(2);
  add(0);
  go(1);
  EXPECT_EQ(session_->gauge().floor, 200u);
}

// ---- the next report is the judge of a compaction

class Judge : public ::testing::Test {
 protected:
  void take(const Record& record) {
    StoredRecord stored;
    stored.seq = ++seq_;
    stored.record = record;
    ASSERT_TRUE(conversation_.apply({stored}));
  }
  // From 7,000 tokens to `post`, where 6,000 were aimed at.
  void compact(std::uint64_t post, std::uint32_t before = 0) {
    BoundaryRecord boundary;
    boundary.base_seq = seq_;
    boundary.pre_tokens = 7'000;
    boundary.post_tokens = post;
    boundary.aimed = 6'000;
    boundary.useless_before = before;
    boundary.useless = boundary.is_useless(post) ? before + 1 : 0;
    take(write_boundary(boundary));
  }
  void report(std::uint64_t tokens, std::uint64_t estimated) {
    take(write_usage({{tokens, 1, 0, 0, 0, 0}, seq_, "turn", estimated, 0}));
  }
  std::uint32_t useless() const { return conversation_.compaction_history().useless; }
  Conversation conversation_{"c", {}};
  std::uint64_t seq_ = 0;
};

TEST_F(Judge, WhatTheEstimateFreedAndTheReportDidNotWasInVain) {
  take(write_message({Message::of_text(Role::kUser, "q"), StopReason::kEndTurn, "user", {}}));
  compact(2'000);
  EXPECT_EQ(useless(), 0u);
  report(7'100, 2'500);
  EXPECT_EQ(useless(), 1u);
  EXPECT_EQ(conversation_.compaction_history().tokens_at_last, 6'600u);
  compact(2'000, useless());
  report(7'100, 2'500);
  EXPECT_EQ(useless(), 2u);
  report(2'000, 7'000);
  EXPECT_EQ(useless(), 2u) << "one report is the judge, the first";
}

TEST_F(Judge, WhatTheEstimateDidNotFreeAndTheReportDidWasNot) {
  take(write_message({Message::of_text(Role::kUser, "q"), StopReason::kEndTurn, "user", {}}));
  compact(6'900, 1);
  EXPECT_EQ(useless(), 2u);
  report(3'000, 7'000);
  EXPECT_EQ(useless(), 0u);
}

TEST_F(Budget, TheFloorFollowsToolsAndContext) {
  tools_.offer("alpha");
  open();
  model_.say("ok");
  EXPECT_TRUE(run("hello"));
  const std::uint64_t one = session_->gauge().floor;
  EXPECT_GT(one, 200u);
  tools_.offer("beta_with_a_name_that_is_long_enough_to_count");
  model_.say("ok");
  EXPECT_TRUE(run("hello"));
  EXPECT_GT(session_->gauge().floor, one + 10);
  tools_.offered.clear();
  model_.say("ok");
  EXPECT_TRUE(run("hello"));
  EXPECT_EQ(session_->gauge().floor, 200u);
  on(AGENTD_EVENT_SESSION_START, "memory",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_INJECT_CONTEXT, std::string(398, 'm'))); });
  open();
  EXPECT_EQ(session_->gauge().floor, 300u);
}

TEST_F(Budget, AStoreThatCannotReadFactorsIsALineOfTheLog) {
  store_.keys_fail = [](bool) { return Error{Code::kUnavailable, "the disk is gone"}; };
  open();
  say_reported(2'408);
  EXPECT_NEAR(session_->gauge().scale, 2, 1e-6);
  session_.reset();
  ASSERT_EQ(log_.lines.size(), 2u);
  EXPECT_NE(log_.lines[0].find("cannot be read: the disk is gone"), std::string::npos) << log_.lines[0];
  EXPECT_NE(log_.lines[1].find("cannot be stored: the disk is gone"), std::string::npos) << log_.lines[1];
  EXPECT_EQ(events_.of(RunEvent::Type::kError).size(), 0u);
}

TEST_F(Budget, FactorsThatDoNotReadAreWrittenAnew) {
  const KeyOp put{KeyOp::Kind::kPut, "factors", "no json", KeyOp::kAny};
  ASSERT_TRUE(store_.commit_keys(kSpace, {&put, 1}));
  open();
  say_reported(2'408);
  restart();
  EXPECT_EQ(session_->gauge().used, 400u);
}

TEST_F(Budget, WhatAnotherProcessStoredMeanwhileIsKept) {
  TokenFactors here(store_, log_, "simple"), there(store_, log_, "simple");
  EXPECT_EQ(here.of("m-1"), 1);
  there.learn("m-2", 3'000, 4'500);
  there.save();
  here.learn("m-1", 3'000, 6'000);
  here.save();
  TokenFactors later(store_, log_, "simple");
  EXPECT_NEAR(later.of("m-1"), 2, 1e-6);
  EXPECT_NEAR(later.of("m-2"), 1.5, 1e-6);
}

TEST_F(Budget, AModelThatReportedNothingIsTakenForTheOneThatReadTheSame) {
  TokenFactors here(store_, log_, "simple");
  EXPECT_EQ(here.of("cheap", "m-1"), 1);
  here.learn("m-1", 3'000, 6'000);
  EXPECT_NEAR(here.of("cheap", "m-1"), 2, 1e-6);
  here.learn("cheap", 3'000, 3'300);
  EXPECT_NEAR(here.of("cheap", "m-1"), 1.1, 1e-6);
}

TEST_F(Budget, AConflictIsReadAgainAndMerged) {
  TokenFactors here(store_, log_, "simple");
  here.learn("m-1", 3'000, 6'000);
  int conflicts = 2;
  store_.keys_fail = [&](bool writes) -> std::optional<Error> {
    if (!writes || conflicts-- <= 0) return std::nullopt;
    return Error{Code::kConflict, "somebody was faster"};
  };
  here.save();
  EXPECT_EQ(store_.key_commits, 3);
  EXPECT_NEAR(TokenFactors(store_, log_, "simple").of("m-1"), 2, 1e-6);
  EXPECT_TRUE(log_.lines.empty());
}

TEST_F(Budget, AConflictWithoutEndGivesUp) {
  TokenFactors here(store_, log_, "simple");
  here.learn("m-1", 3'000, 6'000);
  store_.keys_fail = [](bool writes) -> std::optional<Error> {
    if (!writes) return std::nullopt;
    return Error{Code::kConflict, "somebody was faster"};
  };
  here.save();
  EXPECT_EQ(store_.key_commits, 5);
  ASSERT_EQ(log_.lines.size(), 1u);
}

}  // namespace
}  // namespace agentd::testing
