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

TEST_F(Budget, AReportThatCannotBeIsNotLearnedFrom) {
  open();
  say_reported(1'000'000);
  EXPECT_EQ(session_->gauge().scale, 1);
  EXPECT_EQ(session_->gauge().used, 1'000'001u) << "but it counts as what it is";
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
  on(AGENTD_EVENT_SESSION_START, "memory", [](const TestCall& call) {
    return call.answer(action(AGENTD_ACT_INJECT_CONTEXT, std::string(398, 'm')));
  });
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
  EXPECT_NE(log_.lines[0].find("cannot be read: the disk is gone"), std::string::npos)
      << log_.lines[0];
  EXPECT_NE(log_.lines[1].find("cannot be stored: the disk is gone"), std::string::npos)
      << log_.lines[1];
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
