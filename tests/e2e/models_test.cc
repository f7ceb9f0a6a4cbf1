// SPDX-License-Identifier: Apache-2.0
// The model table at work: betas on the wire and in the gauge, the user's own entries, what was
// learned of a model's tokenizer.
#include <gtest/gtest.h>

#include <string>

#include "tests/e2e/program.h"
#include "tests/support/anthropic_wire.h"
#include "tests/support/loopback_server.h"

namespace agentd::testing {
namespace {

constexpr const char* kWide = "context-1m-2025-08-07";
constexpr std::uint64_t kReserve = 16'384;

Reply good_day(const std::string& usage = R"({"input_tokens":25,"output_tokens":1})") {
  return Reply::stream(AnthropicWire().start(usage).text({"Good day."}).finish("end_turn").bytes());
}

class Models : public ::testing::Test {
 protected:
  Models() {
    program_.set("ANTHROPIC_API_KEY=sk-test-123");
    program_.set("NO_PROXY=127.0.0.1");
  }
  Finished run(LoopbackServer& server, std::vector<std::string> words) {
    words.insert(words.end(), {"--set", "base_url=" + server.url(), "--set",
                               "providers.anthropic.max_retries=0"});
    return program_.run(words);
  }
  void models_yaml(const std::string& yaml) const {
    ASSERT_TRUE(make_directories(program_.home()));
    ASSERT_TRUE(write_file_atomically(program_.home() + "/models.yaml", yaml, 0600));
  }
  // The gauge's limit in the last line that has one.
  static std::uint64_t limit_of(const Finished& ran) {
    std::uint64_t limit = 0;
    for (const JsonDocument& line : json_lines(ran.out))
      if (line.root()["context"].exists()) limit = line.root()["context"]["limit"].uint_or(0);
    return limit;
  }
  static std::size_t warnings_in(const Finished& ran) {
    std::size_t count = 0;
    for (const JsonDocument& line : json_lines(ran.out))
      if (line.root()["type"].string_or({}) == "warning") ++count;
    return count;
  }
  Program program_;
};

TEST_F(Models, ABetaGoesOutAsAHeaderAndOpensTheWindow) {
  program_.config("providers:\n  anthropic:\n    betas: [" + std::string(kWide) +
                  ", other-2025-01-01]\n");
  LoopbackServer server(std::deque<Reply>{good_day()});
  const Finished ran = run(server, {"run", "--json", "--model", "claude-sonnet-4-5", "hello"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  ASSERT_EQ(server.requests().size(), 1u);
  EXPECT_EQ(server.requests()[0].header("anthropic-beta"),
            std::string(kWide) + ",other-2025-01-01");
  EXPECT_EQ(limit_of(ran), 1'000'000u - kReserve);
  EXPECT_EQ(warnings_in(ran), 0u) << ran.out;
}

TEST_F(Models, WithoutTheBetaThereIsNoHeaderAndTheUsualWindow) {
  LoopbackServer server(std::deque<Reply>{good_day()});
  const Finished ran = run(server, {"run", "--json", "--model", "claude-sonnet-4-5", "hello"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(server.requests()[0].header("anthropic-beta"), "");
  EXPECT_EQ(limit_of(ran), 200'000u - kReserve);
}

TEST_F(Models, ABetaThatTheModelDoesNotHaveIsSentAndToldAndOpensNothing) {
  LoopbackServer server(std::deque<Reply>{good_day()});
  const Finished ran = run(server, {"run", "--json", "--model", "claude-opus-4-5", "--set",
                                    "providers.anthropic.betas=" + std::string(kWide), "hello"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(server.requests()[0].header("anthropic-beta"), kWide);
  EXPECT_EQ(limit_of(ran), 200'000u - kReserve);
  EXPECT_EQ(warnings_in(ran), 1u) << ran.out;
  EXPECT_NE(ran.out.find("does not widen the window of claude-opus-4-5"), std::string::npos)
      << ran.out;
}

TEST_F(Models, AnUnknownModelIsToldOnceWithTheKeyThatHelps) {
  LoopbackServer server(std::deque<Reply>{good_day(), good_day(), good_day()});
  const Finished ran = run(server, {"run", "--json", "--model", "house-model-7", "hello"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(warnings_in(ran), 1u) << ran.out;
  EXPECT_NE(ran.out.find("context_window"), std::string::npos) << ran.out;
  EXPECT_EQ(limit_of(ran), 200'000u - kReserve);
  const Finished set = run(server, {"run", "--json", "--model", "house-model-7", "--set",
                                    "context_window=50000", "hello"});
  EXPECT_EQ(warnings_in(set), 0u) << set.out;
  EXPECT_EQ(limit_of(set), 50'000u - 50'000u / 4);
  models_yaml(
      "models: [{pattern: house-model, window: 60000, max_output: 1000, compact_at: 0.5}]\n");
  const Finished known = run(server, {"run", "--json", "--model", "house-model-7", "hello"});
  EXPECT_EQ(warnings_in(known), 0u) << known.out;
  EXPECT_EQ(limit_of(known), 59'000u);
}

TEST_F(Models, AMistakeInTheTableExitsTwoWithItsPlace) {
  models_yaml("models:\n  - pattern: m\n    windw: 5\n");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"models"}, std::vector<std::string>{"run", "hello"}}) {
    const Finished ran = program_.run(words);
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.err, "agentd: " + program_.home() +
                           "/models.yaml:3:5: unknown key 'windw': did you mean 'window'?\n");
  }
}

TEST_F(Models, ALadderUpsideDownIsRefused) {
  models_yaml("models: [{pattern: scripted, force_at: 0.5}]\n");
  const Finished ran = program_.run({"run", "--script", program_.script("- text: a\n"), "x"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("force_at comes to lie below compact_at"), std::string::npos) << ran.err;
  EXPECT_EQ(program_
                .run({"run", "--script", program_.script("- text: a\n"), "--set",
                      "compaction.force_at=0.9", "x"})
                .code,
            0);
}

TEST_F(Models, TheTableIsListed) {
  models_yaml("models: [{pattern: house-model, window: 60000, max_output: 1000}]\n");
  const Finished ran = program_.run({"models"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("claude-sonnet-4-5"), std::string::npos);
  EXPECT_NE(ran.out.find("house-model"), std::string::npos);
  EXPECT_NE(ran.out.find(program_.home() + "/models.yaml:1"), std::string::npos);
  EXPECT_NE(ran.out.find("(any other)"), std::string::npos);
  EXPECT_EQ(ran.out.find('*'), std::string::npos);
  const Finished json = program_.run({"models", "--json"});
  ASSERT_EQ(json.code, 0) << json.err;
  EXPECT_GT(json_lines(json.out).size(), 25u);
}

TEST_F(Models, ANameSaysWhatItComesToAndWhy) {
  const std::vector<std::string> beta{"--set", "providers.anthropic.betas=" + std::string(kWide)};
  Finished ran =
      program_.run({"models", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", beta[0], beta[1]});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(
      ran.out,
      "us.anthropic.claude-sonnet-4-5-20250929-v1:0\n"
      "  entry       'claude-sonnet-4-5' (built-in)\n"
      "  provider    anthropic\n"
      "  window      1,000,000 tokens, with the beta context-1m-2025-08-07 (200,000 without it)\n"
      "  limit       983,616 tokens for a conversation, 16,384 are kept for the answer\n"
      "  output      64,000 tokens at most\n"
      "  summariser  the model itself\n"
      "  encoding    not known\n"
      "  counted by  simple\n");
  ran = program_.run({"models", "nobody-knows", "--json"});
  ASSERT_EQ(ran.code, 0);
  const auto lines = json_lines(ran.out);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].root()["pattern"].is_null());
  EXPECT_EQ(lines[0].root()["window"].uint_or(0), 200'000u);
  EXPECT_EQ(lines[0].root()["from"].string_or({}), "built-in");
}

TEST_F(Models, TheCounterIsChosenByModelOrByForce) {
  const auto counter = [&](const std::string& model, const std::string& wanted) {
    const Finished ran =
        program_.run({"models", model, "--json", "--set", "tokens.counter=" + wanted});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return std::string(json_lines(ran.out)[0].root()["counter"].string_or({}));
  };
  EXPECT_EQ(counter("gpt-4o", "auto"), "o200k_base");
  EXPECT_EQ(counter("gpt-4", "auto"), "cl100k_base");
  EXPECT_EQ(counter("claude-sonnet-4-5", "auto"), "simple");
  EXPECT_EQ(counter("claude-sonnet-4-5", "bpe"), "cl100k_base");
  EXPECT_EQ(counter("gpt-4o", "simple"), "simple");
  const Finished bad = program_.run({"models", "--set", "tokens.counter=exact"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_NE(bad.err.find("tokens.counter must be one of auto, simple, bpe, not 'exact'"),
            std::string::npos)
      << bad.err;
}

// The provider counts half as many tokens again as bytes / 4 does; the next process knows.
TEST_F(Models, WhatAModelReportedIsKnownToTheNextRun) {
  const std::string question(40'000, 'x');
  const auto used = [&](const Finished& ran) {
    std::uint64_t first = 0;
    for (const JsonDocument& line : json_lines(ran.out))
      if (first == 0 && line.root()["context"].exists())
        first = line.root()["context"]["used"].uint_or(0);
    return first;
  };
  const Finished before =
      program_.run({"run", "--json", "--script", program_.script("- text: a\n"), question});
  ASSERT_EQ(before.code, 0) << before.err;
  const std::string reported = program_.script("- text: b\n  usage: {input: 18000, output: 5}\n");
  ASSERT_EQ(program_.run({"run", "--script", reported, question}).code, 0);
  const Finished after =
      program_.run({"run", "--json", "--script", program_.script("- text: a\n"), question});
  ASSERT_GT(used(before), 10'000u) << before.out;
  EXPECT_GT(used(after), used(before) * 13 / 10);
  EXPECT_LT(used(after), used(before) * 19 / 10);
}

}  // namespace
}  // namespace agentd::testing
