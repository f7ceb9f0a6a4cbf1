// SPDX-License-Identifier: Apache-2.0
// money_test.cc - what a run costs, who draws from one account, and where budgets end it: with servers
// that count tokens as vendors do.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <thread>

#include "core/account/ledger.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/store/lmdb/lmdb_store.h"
#include "tests/e2e/program.h"
#include "tests/support/anthropic_wire.h"
#include "tests/support/loopback_server.h"

namespace agentd::testing {
namespace {

constexpr const char* kRead = R"({"pattern":"*.none"})";
constexpr const char* kTask = R"({"prompt":"count the files"})";

std::string input_usage(std::uint64_t tokens) {
  return R"({"input_tokens":)" + std::to_string(tokens) + R"(,"output_tokens":1})";
}
std::string output_usage(std::uint64_t tokens) { return R"({"output_tokens":)" + std::to_string(tokens) + "}"; }

// 1,000 tokens in and 100 out: $0.003 with Claude Sonnet 5.5 ($2 and $10 for a million).
std::string answer(const std::string& text) {
  return AnthropicWire().start(input_usage(1'000)).text({text}).finish("end_turn", output_usage(100)).bytes();
}
std::string call(const std::string& id, const char* name = "glob", const char* input = kRead) {
  return AnthropicWire()
      .start(input_usage(1'000))
      .tool_use(id, name, {input})
      .finish("tool_use", output_usage(100))
      .bytes();
}

// Its tools are a part of each request, and the budgets below are small.
const std::string kNoMemory = "{session_memory: {enabled: false}}";

class Money : public ::testing::Test {
 protected:
  void use(const LoopbackServer& server) {
    program_.set("ANTHROPIC_API_KEY=sk-a");
    program_.set("ANTHROPIC_BASE_URL=" + server.url());
    program_.set("NO_PROXY=127.0.0.1");
  }
  // The last event of a run, and the sum of a `usage --json` line.
  static double cost_of(const JsonDocument& line) { return line.root()["usage"]["cost_usd"].number_or(-1); }
  double booked() {
    double sum = 0;
    for (const JsonDocument& line : json_lines(program_.run({"usage", "--json"}).out))
      sum += line.root()["cost_usd"].number_or(0);
    return sum;
  }

  Program program_;
};

TEST_F(Money, EachAnswerEachRunAndEachDayHasItsCost) {
  std::atomic<int> requests = 0;
  LoopbackServer server(
      [&](const RecordedRequest&) { return Reply::chunked({requests++ == 0 ? call("c1") : answer("Done.")}); });
  use(server);
  const Finished ran = program_.run({"run", "--json", "--allow", "glob", "look"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  double turns = 0, run = 0;
  for (const JsonDocument& line : json_lines(ran.out)) {
    if (line.root()["type"].string_or("") == "turn_ended") turns += cost_of(line);
    if (line.root()["type"].string_or("") == "run_ended") run = cost_of(line);
  }
  EXPECT_DOUBLE_EQ(turns, 0.006);
  EXPECT_DOUBLE_EQ(run, 0.006);
  EXPECT_DOUBLE_EQ(booked(), 0.006);
  const Finished terminal = program_.run({"run", "again"});
  EXPECT_TRUE(has(terminal.err, " · $0.003")) << terminal.err;
  const Finished table = program_.run({"usage"});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_TRUE(has(table.out, "anthropic/claude-sonnet-5-5         3  3,000           0     300  $0.009")) << table.out;
  EXPECT_TRUE(has(table.out, "total: $0.009\n")) << table.out;
  const std::string info = program_.run({"conversation", "list", "--json"}).out;
  EXPECT_TRUE(has(info, R"("cost_nano_usd":6000000)")) << info;
}

TEST_F(Money, ARunEndsBeforeItCostsMoreThanItMay) {
  std::atomic<int> number = 0;
  LoopbackServer server([&](const RecordedRequest&) { return Reply::chunked({call("c" + std::to_string(number++))}); });
  use(server);
  const Finished ran = program_.run({"run", "--allow", "glob", "--max-cost", "0.05", "look for ever"});
  EXPECT_EQ(ran.code, 8) << ran.err;
  EXPECT_TRUE(has(ran.err, "the run's budget of $0.05 does not cover the next request: $0.0")) << ran.err;
  EXPECT_TRUE(has(ran.err, "raise budget.run_usd (--max-cost)")) << ran.err;
  const double spent = booked();
  EXPECT_LE(spent, 0.05);
  EXPECT_GT(spent, 0.02);
  EXPECT_EQ(server.requests().size(), static_cast<std::size_t>(spent / 0.003 + 0.5));
  // What was said is kept, and goes on.
  EXPECT_TRUE(has(program_.record_types(program_.newest()), "tool_result run_end"))
      << program_.record_types(program_.newest());
}

TEST_F(Money, AConversationThatGoesOnHasWhatIsLeftOfItsBudget) {
  LoopbackServer server([](const RecordedRequest&) { return Reply::chunked({answer("Hi.")}); });
  use(server);
  program_.config("budget: {conversation_usd: 0.03}\nmax_output_tokens: 1100\nhooks: " + kNoMemory + "\n");
  ASSERT_EQ(program_.run({"run", "hello"}).code, 0);
  int more = 0;
  Finished last;
  while (more < 20 && (last = program_.run({"run", "--follow", "hello"})).code == 0) ++more;
  EXPECT_EQ(last.code, 8) << last.err;
  EXPECT_TRUE(has(last.err, "the conversation's budget of $0.03 does not cover the next request")) << last.err;
  EXPECT_GT(more, 0);
  EXPECT_LE(booked(), 0.03);
  EXPECT_EQ(program_.run({"run", "another one"}).code, 0) << "each has its own";
}

TEST_F(Money, ALimitOfTurnsHasItsExitCode) {
  LoopbackServer server([](const RecordedRequest&) { return Reply::chunked({call("c")}); });
  use(server);
  const Finished ran = program_.run({"run", "--allow", "glob", "--max-turns", "2", "look for ever"});
  EXPECT_EQ(ran.code, 8) << ran.err;
  EXPECT_TRUE(has(ran.err, "the run was stopped after 2 turns")) << ran.err;
}

TEST_F(Money, ALimitOfTokensNeedsNoPrice) {
  LoopbackServer server([](const RecordedRequest&) { return Reply::chunked({call("c")}); });
  use(server);
  const Finished ran = program_.run(
      {"run", "--allow", "glob", "--model", "claude-new-thing-9", "--max-run-tokens", "60000", "look for ever"});
  EXPECT_EQ(ran.code, 8) << ran.err;
  EXPECT_TRUE(has(ran.err, "the run's budget of 60,000 tokens does not cover the next request")) << ran.err;
  const Finished table = program_.run({"usage", "--by", "model"});
  EXPECT_TRUE(has(table.out, "total: cost not known")) << table.out;
}

TEST_F(Money, ALimitIsOneHoweverSmall) {
  LoopbackServer server([](const RecordedRequest&) { return Reply::chunked({answer("Hi.")}); });
  use(server);
  EXPECT_EQ(program_.run({"run", "--max-cost", "1e-10", "hello"}).code, 8);
  EXPECT_EQ(program_.run({"run", "--set", "budget.day_usd=1e-12", "hello"}).code, 8);
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(Money, AModelWithoutAPriceIsNotAskedUnderALimitOfMoney) {
  LoopbackServer server([](const RecordedRequest&) { return Reply::chunked({answer("Hi.")}); });
  use(server);
  const Finished ran = program_.run({"run", "--model", "claude-new-thing-9", "--max-cost", "1", "hello"});
  EXPECT_EQ(ran.code, 8) << ran.err;
  EXPECT_TRUE(has(ran.err, "no price is known for anthropic/claude-new-thing-9")) << ran.err;
  EXPECT_TRUE(server.requests().empty());
  // The user's own price is one.
  ASSERT_TRUE(write_file_atomically(program_.home() + "/models.yaml",
                                    "models:\n  - pattern: claude-new-thing\n    prices: {input: 1, output: 5}\n",
                                    0600));
  const Finished priced = program_.run({"run", "--model", "claude-new-thing-9", "--max-cost", "1", "hello"});
  EXPECT_EQ(priced.code, 0) << priced.err;
  EXPECT_DOUBLE_EQ(booked(), 0.0015);
}

TEST_F(Money, ASubagentDrawsFromTheRunAndCountsOnce) {
  std::atomic<int> requests = 0;
  LoopbackServer server([&](const RecordedRequest& got) {
    const bool child = !has(got.body, "ask somebody");
    if (child) return Reply::chunked({answer("Seven.")});
    return Reply::chunked({requests++ == 0 ? call("t1", "task", kTask) : answer("Seven, I hear.")});
  });
  use(server);
  program_.config("agents: {enabled: true}\nhooks: " + kNoMemory + "\n");
  const Finished ran = program_.run({"run", "--json", "--allow", "task", "ask somebody"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(server.requests().size(), 3u);
  const auto lines = json_lines(ran.out);
  std::vector<double> ends;
  for (const JsonDocument& line : lines)
    if (line.root()["type"].string_or("") == "run_ended") ends.push_back(cost_of(line));
  EXPECT_EQ(ends, (std::vector{0.003, 0.009})) << "the subagent's own, and the whole";
  EXPECT_DOUBLE_EQ(booked(), 0.009);
  // A subagent cannot spend what its run does not have.
  requests = 0;
  const Finished poor = program_.run({"run", "--json", "--allow", "task", "--max-run-tokens", "3200", "ask somebody"});
  EXPECT_EQ(poor.code, 8) << poor.out;
  EXPECT_EQ(server.requests().size(), 4u) << "the task was asked for, and not begun";
}

TEST_F(Money, AnAnswerThatBrokeOffIsPaidFor) {
  std::atomic<int> requests = 0;
  LoopbackServer server([&](const RecordedRequest&) {
    if (requests++ == 0) {
      std::string half = answer("Hello there.");
      half.resize(half.find("event: message_delta"));
      return Reply::chunked({half}, false);
    }
    return Reply::chunked({answer("Hello.")});
  });
  use(server);
  const Finished ran = program_.run({"run", "hello"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(server.requests().size(), 2u);
  // 1,000 tokens were read and 3 came, as it is counted here.
  EXPECT_DOUBLE_EQ(booked(), 0.003 + 0.002 + 0.00003);
  EXPECT_TRUE(has(program_.run({"conversation", "show", program_.newest(), "--log"}).out, "interrupted"));
}

TEST_F(Money, RunsOfADayCannotOvershootTogether) {
  // 16 processes at once, 60 answers each if nobody stopped them: $2.88.
  std::atomic<int> number = 0;
  LoopbackServer server([&](const RecordedRequest&) { return Reply::chunked({call("c" + std::to_string(number++))}); });
  use(server);
  program_.config("budget: {day_usd: 0.5}\nmax_turns: 60\npermissions: {allow: [glob]}\nmax_output_tokens: 2000\n");
  ASSERT_EQ(program_.run({"run", "--max-turns", "1", "first"}).code, 8);
  std::vector<Running> runs;
  for (int i = 0; i < 16; ++i) runs.push_back(program_.start({"run", "look for ever"}));
  int refused = 0;
  for (Running& run : runs) {
    const Finished ran = run.wait();
    EXPECT_EQ(ran.code, 8) << ran.err;
    if (has(ran.err, "today's budget of $0.50 does not cover the next request")) ++refused;
  }
  EXPECT_GT(refused, 0);
  const double spent = booked();
  EXPECT_LE(spent, 0.5);
  EXPECT_GT(spent, 0.4);
  EXPECT_NEAR(spent, 0.003 * static_cast<double>(server.requests().size()), 1e-9) << "every answer is booked";
  const Finished told = program_.run({"usage", "--by", "day"});
  EXPECT_TRUE(has(told.out, " of $0.50, budget.day_usd\n")) << told.out << "and nothing is reserved any more";
}

TEST_F(Money, ARunThatIsNotKeptIsPaidForAllTheSame) {
  LoopbackServer server([](const RecordedRequest&) { return Reply::chunked({answer("Hi.")}); });
  use(server);
  const std::vector<std::string> words{
      "run", "--no-save", "--set", "budget.day_usd=0.05", "--set", "max_output_tokens=1500", "hello"};
  int ran = 0;
  while (ran < 50 && program_.run(words).code == 0) ++ran;
  EXPECT_GT(ran, 2);
  EXPECT_LT(ran, 17) << "$0.05 / $0.003";
  EXPECT_EQ(program_.run(words).code, 8);
  EXPECT_EQ(program_.run({"conversation", "list", "--all"}).out, "no conversations\n");
}

TEST_F(Money, WhatAKilledProcessHadSetAsideStaysSetAside) {
  LoopbackServer server([](const RecordedRequest&) { return Reply().stall(); });
  use(server);
  program_.config("budget: {day_usd: 1}\n");
  Running run = program_.start({"run", "hello"});
  for (int i = 0; i < 500 && server.requests().empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  run.signal(SIGKILL);
  run.wait();
  const Finished told = program_.run({"usage"});
  EXPECT_TRUE(has(told.out, "is reserved for unfinished requests")) << told.out;
}

TEST_F(Money, ADamagedDayDoesNotHideTheOthers) {
  LoopbackServer server([](const RecordedRequest&) { return Reply::chunked({answer("Hi.")}); });
  use(server);
  ASSERT_EQ(program_.run({"run", "hello"}).code, 0);
  SystemClock clock;
  const std::string yesterday = date_of(clock.wall_ms() - 86'400'000);
  {
    LmdbOptions options;
    options.directory = program_.home() + "/store";
    const auto store = open_lmdb_store(options, clock);
    ASSERT_TRUE(store);
    KeyOp put;
    put.key = yesterday;
    put.value = R"({"spent":[{"model":7}]})";
    ASSERT_TRUE((*store)->commit_keys("agentd spending", {&put, 1}));
  }
  const Finished told = program_.run({"usage"});
  EXPECT_EQ(told.code, 6);
  EXPECT_TRUE(has(told.out, "total: $0.003")) << told.out;
  EXPECT_TRUE(has(told.err, "the spending of " + yesterday + " is damaged in the store and not included")) << told.err;
  const Finished lines = program_.run({"usage", "--json"});
  EXPECT_EQ(lines.code, 6);
  EXPECT_EQ(json_lines(lines.out).size(), 1u);
}

TEST_F(Money, PlayedAnswersAreNotCounted) {
  const std::string script = program_.script("turns:\n  - text: hello\n    usage: {input: 10, output: 5}\n");
  ASSERT_EQ(program_.run({"run", "--script", script, "hi"}).code, 0);
  EXPECT_EQ(program_.run({"usage"}).out, "no requests in the last 30 days\n");
  const Finished wrong = program_.run({"usage", "--days", "x"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(has(wrong.err, "--days takes a whole number from 1 to 4,000, not 'x'")) << wrong.err;
}

}  // namespace
}  // namespace agentd::testing
