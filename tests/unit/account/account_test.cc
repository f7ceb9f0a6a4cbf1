// SPDX-License-Identifier: Apache-2.0
// The account of a run: what is reserved before a request, what is settled after it, and what is refused.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "core/account/account.h"
#include "core/base/base64.h"
#include "core/base/bytes.h"
#include "tests/support/model_fakes.h"

namespace agentd::testing {
namespace {

constexpr std::uint64_t kCent = 10'000'000;

// Answers as configured.
class PlayedProvider final : public ModelProvider {
 public:
  std::string_view name() const override { return "anthropic"; }
  ModelResult complete(const ModelRequest& request, ModelSink&, const CancelToken&, Deadline) override {
    outputs.push_back(request.max_output_tokens + request.thinking.room);
    thinking = request.thinking;
    if (const auto once = std::exchange(during, nullptr)) once();
    return answer;
  }
  void says(std::string text, std::optional<Usage> usage) {
    ModelResponse response;
    response.message = Message::of_text(Role::kAssistant, std::move(text));
    response.usage = usage;
    answer = std::move(response);
  }
  void breaks_off(ModelErrorKind kind, std::optional<Usage> usage, std::string partial) {
    ModelError error;
    error.kind = kind;
    error.usage = usage;
    error.partial = Message::of_text(Role::kAssistant, std::move(partial));
    answer = std::move(error);
  }
  std::vector<std::uint64_t> outputs;
  Thinking thinking;
  std::function<void()> during;  // called once
  ModelResult answer = ModelError{};
};

class AccountTest : public ::testing::Test {
 protected:
  Account account(Limits run, Ledger* ledger = nullptr) {
    return Account({provider_, models_, estimator_, clock_, log_, ledger}, {.run = run});
  }
  // The prompt counts 800 tokens, so 1,000 with the margin: $0.004 at the highest rate of a prompt ($4 for a million);
  // an answer of 1,000 tokens is $0.01.
  ModelResult ask(Account& account, std::uint64_t output = 1'000) {
    TestRequest request;
    request.user("hello");
    request.value().model = "claude-sonnet-5-5";
    request.value().prompt_tokens = 800;
    request.value().max_output_tokens = output;
    RecordingSink sink;
    return account.complete(request.value(), sink, {}, {});
  }
  std::string refusal(Account& account, std::uint64_t output = 1'000) {
    const std::size_t sent = provider_.outputs.size();
    const auto answer = ask(account, output);
    if (answer) return "answered";
    EXPECT_EQ(provider_.outputs.size(), sent) << "something was sent";
    EXPECT_EQ(answer.error().kind, ModelErrorKind::kLimit);
    return answer.error().message;
  }

  PlayedProvider provider_;
  ModelTable models_ = ModelTable::embedded();
  SimpleEstimator estimator_;
  Sleepless<ManualClock> clock_{waits_};
  NullLog log_;
  std::vector<Milliseconds> waits_;
  std::unique_ptr<Store> store_ = make_memory_store(clock_);
};

TEST_F(AccountTest, AnAnswerHasItsCost) {
  provider_.says("hi", Usage{.input = 1'000, .output = 100});
  Account mine = account({});
  const auto answer = ask(mine);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->usage->cost_nano_usd, 1'000 * 2'000u + 100 * 10'000u);
  EXPECT_EQ(mine.spent().cost_nano_usd, answer->usage->cost_nano_usd);
  EXPECT_EQ(mine.spent().unpriced, 0u);
}

TEST_F(AccountTest, AModelWithoutAPriceIsSaidToHaveNone) {
  provider_.says("hi", Usage{.input = 1'000, .output = 100});
  models_ = *ModelTable::parse(R"({"default":{"window":1000}})");
  Account mine = account({});
  const auto answer = ask(mine);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->usage->cost_nano_usd, 0u);
  EXPECT_EQ(answer->usage->unpriced, 1u);
  EXPECT_EQ(cost_text(mine.spent()), "cost not known");
}

TEST_F(AccountTest, UnderALimitOfMoneyAModelWithoutAPriceIsNotAsked) {
  models_ = *ModelTable::parse(R"({"default":{"window":1000}})");
  Account mine = account({.nano_usd = 100 * kCent});
  EXPECT_NE(refusal(mine).find("no price is known for anthropic/claude-sonnet-5-5"), std::string::npos);
  Ledger day(*store_, {.nano_usd = 100 * kCent});
  Account other = account({}, &day);
  EXPECT_NE(refusal(other).find("no price is known"), std::string::npos);
  // A limit of tokens needs no price.
  provider_.says("hi", Usage{.input = 10});
  Account by_tokens = account({.tokens = 100'000});
  EXPECT_TRUE(ask(by_tokens));
}

TEST_F(AccountTest, AnAnswerIsBoundedByWhatIsLeft) {
  provider_.says("hi", Usage{.input = 800, .output = 10});
  Account mine = account({.nano_usd = 3 * kCent});
  ASSERT_TRUE(ask(mine, 100'000));
  EXPECT_EQ(provider_.outputs.back(), 2'600u) << "$0.03 less $0.004 for the prompt";
  Account tokens = account({.tokens = 5'000});
  ASSERT_TRUE(ask(tokens, 100'000));
  EXPECT_EQ(provider_.outputs.back(), 4'000u);
}

TEST_F(AccountTest, AnAnswerThatTheBudgetCutSaysSo) {
  provider_.says("hi", Usage{.input = 800, .output = 2'600});
  provider_.answer->stop_reason = StopReason::kMaxTokens;
  Account mine = account({.nano_usd = 3 * kCent});
  const auto answer = ask(mine, 100'000);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->bounded_to, 2'600u);
  Account rich = account({.nano_usd = 1'000 * kCent});
  EXPECT_EQ(ask(rich, 2'600)->bounded_to, 0u);
}

TEST_F(AccountTest, NothingIsSentThatIsNotCovered) {
  Account mine = account({.nano_usd = kCent});
  EXPECT_EQ(refusal(mine, 100'000),
            "the run's budget of $0.01 does not cover the next request: $0.00 is spent or reserved, and it may take "
            "$0.0143; raise budget.run_usd (--max-cost)");
  Account tokens = account({.tokens = 1'500});
  EXPECT_EQ(refusal(tokens),
            "the run's budget of 1,500 tokens does not cover the next request: 0 is spent or reserved, and it may "
            "take 2,000; raise budget.run_tokens (--max-run-tokens)");
}

TEST_F(AccountTest, TheRunEndsBeforeItsBudgetDoes) {
  provider_.says("hi", Usage{.input = 900, .output = 900});
  Account mine = account({.nano_usd = 5 * kCent});
  int answers = 0;
  while (ask(mine)) ++answers;
  EXPECT_EQ(answers, 4) << "of $0.0108 each";
  EXPECT_LE(mine.spent().cost_nano_usd, 5 * kCent);
}

TEST_F(AccountTest, WhatIsUnderWayCountsAsSpent) {
  provider_.says("hi", Usage{.input = 10, .output = 10});
  Account mine = account({.nano_usd = 2 * kCent});
  std::string second;
  provider_.during = [&] {
    const auto answer = ask(mine);
    second = answer ? "answered" : answer.error().message;
  };
  ASSERT_TRUE(ask(mine));
  EXPECT_NE(second.find("does not cover"), std::string::npos) << second;
  EXPECT_TRUE(ask(mine)) << "settled, it is there again";
}

TEST_F(AccountTest, AConversationThatGoesOnHasWhatIsLeft) {
  provider_.says("hi", Usage{.input = 900, .output = 100});
  Ledger conversations(*store_, {.tokens = 10'000}, kConversations);
  const AccountParts parts{provider_, models_, estimator_, clock_, log_, nullptr, &conversations};
  Account fresh(parts, {.conversation = "c1"});
  ASSERT_TRUE(ask(fresh, 100'000));
  EXPECT_EQ(provider_.outputs.back(), 9'000u);
  Account resumed(parts, {.conversation = "c1"});
  ASSERT_TRUE(ask(resumed, 100'000));
  EXPECT_EQ(provider_.outputs.back(), 8'000u);
  Account known(parts, {.conversation = "c2", .before = {.tokens = 5'000}});
  ASSERT_TRUE(ask(known, 100'000));
  EXPECT_EQ(provider_.outputs.back(), 4'000u) << "what its log knows of, from before there was a limit";
  Account spent(parts, {.conversation = "c3", .before = {.tokens = 9'000}});
  EXPECT_EQ(refusal(spent),
            "the conversation's budget of 10,000 tokens does not cover the next request: 9,000 is spent or reserved, "
            "and it may take 2,000; raise budget.conversation_tokens");
}

TEST_F(AccountTest, AConversationPaysForWhatNobodyReports) {
  provider_.says(std::string(4'000, 'x'), std::nullopt);
  Ledger conversations(*store_, {.tokens = 10'000}, kConversations);
  const AccountParts parts{provider_, models_, estimator_, clock_, log_, nullptr, &conversations};
  int runs = 0;
  for (; runs < 50; ++runs)
    if (Account run(parts, {.conversation = "c1"}); !ask(run)) break;
  EXPECT_GT(runs, 1);
  EXPECT_LE(runs, 6) << "of 1,800 tokens each";
}

TEST_F(AccountTest, WhatAKilledRunHadReservedOfItsConversationStaysReserved) {
  provider_.says("hi", Usage{.input = 900, .output = 100});
  Ledger conversations(*store_, {.tokens = 10'000}, kConversations);
  ASSERT_TRUE(conversations.reserve("c1", {5'000, 0}, {5'000, 0}));  // by a process that no longer exists
  const AccountParts parts{provider_, models_, estimator_, clock_, log_, nullptr, &conversations};
  Account next(parts, {.conversation = "c1"});
  ASSERT_TRUE(ask(next, 100'000));
  EXPECT_EQ(provider_.outputs.back(), 4'000u);
  EXPECT_TRUE(waits_.empty()) << "nothing is won by waiting";
  ASSERT_TRUE(conversations.forget("c1"));
  Account fresh(parts, {.conversation = "c1"});
  ASSERT_TRUE(ask(fresh, 100'000));
  EXPECT_EQ(provider_.outputs.back(), 9'000u);
}

TEST_F(AccountTest, TheMostThatADocumentCanCostGoesByItsPages) {
  provider_.says("hi", Usage{.input = 900, .output = 100});
  const auto may_cost = [&](const std::string& pdf) {
    TestRequest request;
    Message message = Message::of_text(Role::kUser, "read it");
    Block document;
    document.kind = BlockKind::kDocument;
    document.name = "application/pdf";
    document.opaque = base64(pdf);
    message.blocks.push_back(std::move(document));
    request.add(message);
    request.value().model = "claude-sonnet-5-5";
    request.value().prompt_tokens = 800;
    request.value().max_output_tokens = 1'000;
    Account mine = account({.tokens = 2});
    RecordingSink sink;
    const auto answer = mine.complete(request.value(), sink, {}, {});
    return answer ? std::string() : answer.error().message;
  };
  EXPECT_NE(may_cost("%PDF-1.4 /Type /Pages /Count 40").find("it may take 186,000;"), std::string::npos)
      << may_cost("%PDF-1.4 /Type /Pages /Count 40");
  EXPECT_NE(may_cost("%PDF-1.4 /Type/Page /Type /Page").find("it may take 11,200;"), std::string::npos);
  const std::string window = with_commas(models_.find("claude-sonnet-5-5").window + 1'000);
  EXPECT_NE(may_cost("%PDF-1.7 all is compressed").find("it may take " + window + ";"), std::string::npos)
      << may_cost("%PDF-1.7 all is compressed");
}

TEST_F(AccountTest, AReportOfThePromptAloneIsHalfOfOne) {
  provider_.says(std::string(4'000, 'x'), Usage{.input = 900});
  Account mine = account({});
  ASSERT_TRUE(ask(mine));
  EXPECT_EQ(mine.spent().input, 900u);
  EXPECT_GE(mine.spent().output, 1'000u);
}

TEST_F(AccountTest, ThinkingIsBoundedWithTheAnswer) {
  provider_.says("hi", Usage{.input = 10, .output = 10});
  TestRequest request;
  request.user("hello");
  request.value().model = "claude-haiku-4-5";
  request.value().prompt_tokens = 800;
  request.value().max_output_tokens = 8'000;
  request.value().thinking = {Thinking::Mode::kBudget, 8'000, {}, {}, 8'000};
  RecordingSink sink;
  Account mine = account({.tokens = 9'000});
  ASSERT_TRUE(mine.complete(request.value(), sink, {}, {}));
  EXPECT_EQ(provider_.outputs.back(), 8'000u);
  EXPECT_EQ(provider_.thinking.budget_tokens, 4'000u);
  // A budget below a provider's minimum is dropped.
  Account poor = account({.tokens = 2'500});
  ASSERT_TRUE(poor.complete(request.value(), sink, {}, {}));
  EXPECT_EQ(provider_.outputs.back(), 1'500u);
  EXPECT_EQ(provider_.thinking.mode, Thinking::Mode::kUnsaid);
}

TEST_F(AccountTest, WhatBrokeOffIsPaidFor) {
  Account mine = account({});
  provider_.breaks_off(ModelErrorKind::kInterrupted, Usage{.input = 700, .output = 1}, std::string(400, 'x'));
  const auto first = ask(mine);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().usage->input, 700u) << "as it was reported";
  EXPECT_EQ(first.error().usage->output, 100u) << "what came is more than what was reported by then";
  EXPECT_EQ(mine.spent().cost_nano_usd, 700 * 2'000u + 100 * 10'000u);
  provider_.breaks_off(ModelErrorKind::kInterrupted, Usage{}, "");
  ASSERT_FALSE(ask(mine));
  EXPECT_EQ(mine.spent().input, 1'500u) << "the prompt was read, whatever came of it";
  // A refused or unsent request costs nothing.
  provider_.breaks_off(ModelErrorKind::kOverloaded, std::nullopt, "");
  ASSERT_FALSE(ask(mine));
  EXPECT_EQ(mine.spent().input, 1'500u);
}

TEST_F(AccountTest, AnAnswerWithoutAReportIsCountedHere) {
  provider_.says(std::string(4'000, 'y'), std::nullopt);
  Account mine = account({});
  const auto answer = ask(mine);
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->usage) << "it is not made into a report";
  EXPECT_EQ(mine.spent().input, 800u);
  EXPECT_EQ(mine.spent().output, 1'000u);
}

TEST_F(AccountTest, AReportWithoutThePromptIsCompletedAndPriced) {
  provider_.says("hi", Usage{.output = 100});
  Account mine = account({});
  const auto answer = ask(mine);
  ASSERT_TRUE(answer);
  EXPECT_EQ(mine.spent().input, 800u);
  EXPECT_EQ(mine.spent().cost_nano_usd, 800 * 2'000u + 100 * 10'000u) << "money as tokens";
  EXPECT_EQ(answer->usage->input, 0u) << "the report stays what it is";
}

TEST_F(AccountTest, ADamagedDayIsNoLimit) {
  KeyOp put;
  put.key = date_of(clock_.wall_ms());
  put.value = R"({"reserved_tokens":0,"reserved_nano_usd":0,"spent":[{"provider":"p","model":"m","input":-9}]})";
  ASSERT_TRUE(store_->commit_keys("agentd spending", {&put, 1}));
  Ledger day(*store_, {.tokens = 100'000});
  Account mine = account({}, &day);
  const auto answer = ask(mine);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ModelErrorKind::kLedger);
  EXPECT_NE(answer.error().message.find("is damaged"), std::string::npos);
}

TEST_F(AccountTest, AReportThatCannotBeTrueIsNotBooked) {
  provider_.says("hi", Usage{.input = UINT64_MAX, .output = 3});
  Account mine = account({});
  const auto answer = ask(mine);
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->usage);
  EXPECT_NE(answer->note.find("which is impossible"), std::string::npos);
  EXPECT_EQ(mine.spent().input, 800u);
}

TEST_F(AccountTest, AReportOfABrokenAnswerThatCannotBeTrueIsNotBooked) {
  Account mine = account({});
  provider_.breaks_off(ModelErrorKind::kInterrupted, Usage{.input = UINT64_MAX, .output = 1}, "half");
  const auto broken = ask(mine);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().usage->input, 800u) << "as it is counted here";
  EXPECT_EQ(mine.spent().input, 800u);
}

TEST_F(AccountTest, EachRequestIsBookedAtOnceUnderALimitOfTheDay) {
  provider_.says("hi", Usage{.input = 900, .output = 100});
  Ledger day(*store_, {.nano_usd = 100 * kCent});
  Account mine = account({}, &day);
  ASSERT_TRUE(ask(mine));
  const auto booked = day.rows("");
  ASSERT_TRUE(booked && booked->readable.size() == 1u);
  EXPECT_EQ(booked->readable.front().total().nano_usd, 900 * 2'000u + 100 * 10'000u);
  EXPECT_EQ(booked->readable.front().reserved.nano_usd, 0u);
  EXPECT_EQ(booked->readable.front().spent[0].model, "claude-sonnet-5-5");
}

TEST_F(AccountTest, WithoutALimitOfTheDayBookingWaits) {
  provider_.says("hi", Usage{.input = 900});
  Ledger day(*store_, {});
  Account mine = account({}, &day);
  ASSERT_TRUE(ask(mine));
  EXPECT_TRUE(day.rows("")->readable.empty());
  clock_.advance(std::chrono::seconds(61));
  ASSERT_TRUE(ask(mine));
  ASSERT_EQ(day.rows("")->readable.size(), 1u);
  EXPECT_EQ(day.rows("")->readable.front().spent[0].requests, 2u);
  ASSERT_TRUE(ask(mine));
  mine.flush();
  EXPECT_EQ(day.rows("")->readable.front().spent[0].requests, 3u);
}

TEST_F(AccountTest, WhatOthersHaveReservedIsWaitedFor) {
  provider_.says("hi", Usage{.input = 900, .output = 100});
  Ledger day(*store_, {.nano_usd = 3 * kCent});
  const std::string today = date_of(clock_.wall_ms());
  const auto others = day.reserve(today, {0, 2 * kCent}, {0, 2 * kCent});
  ASSERT_TRUE(others);
  Account mine = account({}, &day);
  EXPECT_NE(refusal(mine).find("today's budget of $0.03 does not cover the next request"), std::string::npos);
  EXPECT_EQ(waits_.size(), 6u);
  clock_.then = [&] { ASSERT_TRUE(day.settle(today, *others, {})); };
  EXPECT_TRUE(ask(mine)) << "the others were done meanwhile";
  // Spending does not come back, so no request waits for it.
  waits_.clear();
  EXPECT_TRUE(ask(mine));
  while (ask(mine)) {
  }
  EXPECT_TRUE(waits_.empty());
}

// 64 sessions with accounts of their own, one ledger each as if in processes of their own.
TEST_F(AccountTest, ManySessionsCannotOvershootTheDayTogether) {
  constexpr std::uint64_t kDay = 300 * kCent;
  provider_.says("hi", Usage{.input = 900, .output = 900});
  std::atomic<std::uint64_t> spent = 0;
  std::vector<std::thread> sessions;
  struct Quiet final : ModelProvider {
    std::string_view name() const override { return "anthropic"; }
    ModelResult complete(const ModelRequest&, ModelSink&, const CancelToken&, Deadline) override {
      ModelResponse response;
      response.message = Message::of_text(Role::kAssistant, "hi");
      response.usage = Usage{.input = 900, .output = 900};
      return response;
    }
  } quiet;
  for (int i = 0; i < 64; ++i)
    sessions.emplace_back([&] {
      Ledger day(*store_, {.nano_usd = kDay});
      std::vector<Milliseconds> waits;
      const Sleepless<ManualClock> clock(waits);
      Account mine({quiet, models_, estimator_, clock, log_, &day}, {});
      while (ask(mine)) {
      }
      spent += mine.spent().cost_nano_usd;
    });
  for (std::thread& session : sessions) session.join();
  EXPECT_LE(spent.load(), kDay);
  EXPECT_GT(spent.load(), kDay - 2 * kCent) << "and the day is used up";
  EXPECT_EQ(Ledger(*store_, {}).rows("")->readable.front().total().nano_usd, spent.load());
}

}  // namespace
}  // namespace agentd::testing
