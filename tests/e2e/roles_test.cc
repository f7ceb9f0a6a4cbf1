// SPDX-License-Identifier: Apache-2.0
// roles_test.cc - models by other names and in other roles: who is asked, who is told, and what is kept of it.
#include <gtest/gtest.h>

#include "core/base/file.h"
#include "tests/e2e/program.h"
#include "tests/support/anthropic_wire.h"
#include "tests/support/loopback_server.h"
#include "tests/support/openai_wire.h"

namespace agentd::testing {
namespace {

constexpr const char* kTask = R"({"prompt":"count the files"})";

// Anthropic is the conversation's vendor, `work` another one.
class Roles : public ::testing::Test {
 protected:
  Roles() {
    for (const char* const variable : {"ANTHROPIC_API_KEY=sk-a", "NO_PROXY=127.0.0.1"}) program_.set(variable);
    program_.set("ANTHROPIC_BASE_URL=" + own_.url());
  }
  void configure(const std::string& more) {
    program_.config("providers: {work: {base_url: " + other_.url() + "/v1}, anthropic: {max_retries: 0}}\n" + more);
  }
  void hook(const std::string& yaml) {
    ASSERT_TRUE(make_directories(program_.home() + "/hooks"));
    ASSERT_TRUE(write_file_atomically(program_.home() + "/hooks/judge.yaml", yaml, 0600));
  }
  std::string log() { return program_.run({"conversation", "show", program_.newest(), "--log"}).out; }
  std::string logs() {
    std::string out;
    for (const JsonDocument& line : json_lines(program_.run({"conversation", "list", "--all", "--json"}).out))
      out += program_.run({"conversation", "show", std::string(line.root()["id"].string_or("")), "--log"}).out;
    return out;
  }
  std::size_t asked_own() const { return own_.requests().size(); }
  std::size_t asked_other() const { return other_.requests().size(); }

  Program program_;
  int calls_ = 0;
  bool overloaded_ = false;
  LoopbackServer own_{[this](const RecordedRequest& got) {
    if (overloaded_)
      return Reply::http(529, {{"content-type", "application/json"}},
                         anthropic_error_body("overloaded_error", "Overloaded"));
    if (has(got.body, "ask somebody") && calls_++ == 0)
      return Reply::chunked({AnthropicWire().start().tool_use("t1", "task", {kTask}).finish("tool_use").bytes()});
    return Reply::chunked({AnthropicWire().start().text({"Own."}).finish("end_turn").bytes()});
  }};
  LoopbackServer other_{[](const RecordedRequest&) {
    return Reply::chunked(
        {ChatWire().text({"Other."}).finish("stop", R"({"prompt_tokens":50000,"completion_tokens":10})").bytes()});
  }};
};

TEST_F(Roles, AnAliasIsItsModelWhereverAModelIsNamed) {
  configure("models: {aliases: {small: work/qwen, claude-opus-5-5: claude-haiku-5-5}}\n");
  const Finished ran = program_.run({"run", "hello", "--model", "small"});
  ASSERT_EQ(ran.out, "Other.\n") << ran.err;
  EXPECT_TRUE(has(other_.requests()[0].body, R"("model":"qwen")")) << other_.requests()[0].body;
  EXPECT_TRUE(has(log(), R"("provider":"work","api":"chat","model":"qwen")")) << log();
  EXPECT_FALSE(has(log(), "small")) << log();
  // One that hides a model's name.
  EXPECT_EQ(program_.run({"run", "hello", "--model", "claude-opus-5-5"}).out, "Own.\n");
  EXPECT_TRUE(has(own_.requests()[0].body, R"("model":"claude-haiku-5-5")")) << own_.requests()[0].body;
  EXPECT_TRUE(has(program_.run({"doctor"}).out, "alias claude-opus-5-5 hides the model of the same name"));
  const std::string models = program_.run({"models"}).out;
  EXPECT_TRUE(has(models, "small = work/qwen\n")) << models;
  EXPECT_TRUE(has(models, "claude-opus-5-5 = claude-haiku-5-5  (hides the model of the same name)")) << models;
  EXPECT_TRUE(has(program_.run({"models", "small"}).out, "small = work/qwen\n"));
  const std::string usage = program_.run({"usage", "--json"}).out;
  EXPECT_TRUE(has(usage, R"("provider":"work","model":"qwen")")) << usage;
  EXPECT_FALSE(has(usage, "small")) << usage;
  // As a fallback, where hooks judge the model that is asked.
  overloaded_ = true;
  EXPECT_EQ(program_.run({"run", "hello", "--set", "fallback=small"}).out, "Other.\n");
  hook("on: before_model_call\nguard: true\nwhen: model matches 'small'\ndo: block\n");
  EXPECT_EQ(program_.run({"run", "hello", "--set", "fallback=small"}).code, 0);
  hook("on: before_model_call\nguard: true\nwhen: model matches '^work/qwen$'\ndo: block\n");
  const std::size_t before = asked_other();
  EXPECT_EQ(program_.run({"run", "hello", "--set", "fallback=small"}).code, 3);
  EXPECT_EQ(asked_other(), before);
}

TEST_F(Roles, AHookMayNameAnAlias) {
  configure("models: {aliases: {small: work/qwen}}\n");
  hook("on: before_model_call\ndo: {model: small}\n");
  const Finished ran = program_.run({"run", "hello"});
  EXPECT_EQ(ran.out, "Other.\n") << ran.err;
  EXPECT_TRUE(has(log(), R"("provider":"work","api":"chat","model":"qwen")")) << log();
}

TEST_F(Roles, AMisspeltProviderThatAHookNamesIsToldOnceAtItsUse) {
  configure("");
  hook("on: before_model_call\ndo: {model: anthropc/claude-haiku-5-5}\n");
  const Finished ran = program_.run({"run", "hello"});
  const std::string told =
      "no provider named 'anthropc': did you mean 'anthropic'? anthropic is used for the model "
      "'anthropc/claude-haiku-5-5'";
  const std::size_t at = ran.err.find(told);
  ASSERT_NE(at, std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find(told, at + 1), std::string::npos) << ran.err;
}

TEST_F(Roles, AProviderOfTheCommandLineThatTheModelContradictsStopsTheRun) {
  configure("");
  const Finished ran = program_.run({"run", "hello", "-p", "work", "-m", "anthropic/claude-opus-5-5"});
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_TRUE(has(ran.err, "--provider work and --model anthropic/claude-opus-5-5 name two providers")) << ran.err;
  EXPECT_EQ(asked_own() + asked_other(), 0u);
}

TEST_F(Roles, AnAliasOfAnAliasIsAMistakeWithAPlace) {
  configure("models:\n  aliases:\n    fast: small\n    small: work/qwen\n");
  const Finished ran = program_.run({"run", "hello"});
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_TRUE(has(ran.err, "config.yaml:4: models.aliases.fast: 'small' is an alias itself (")) << ran.err;
  for (const char* const aliases : {"fast: fast", "a/b: work/qwen", "fast: ''"}) {
    configure(std::string("models: {aliases: {") + aliases + "}}\n");
    const Finished wrong = program_.run({"run", "hello"});
    EXPECT_EQ(wrong.code, 2) << aliases << wrong.err;
    EXPECT_TRUE(has(wrong.err, "config.yaml:2: models.aliases.")) << wrong.err;
  }
  EXPECT_EQ(asked_own() + asked_other(), 0u);
}

TEST_F(Roles, SubagentsHaveAModelOfTheirOwn) {
  configure("agents: {enabled: true, model: small}\nmodels: {aliases: {small: work/qwen}}\n");
  const Finished ran = program_.run({"run", "--allow", "task", "ask somebody"});
  EXPECT_EQ(ran.out, "Own.\n") << ran.err;
  EXPECT_EQ(asked_own(), 2u);
  ASSERT_EQ(asked_other(), 1u);
  EXPECT_TRUE(has(other_.requests()[0].body, "count the files")) << other_.requests()[0].body;
  EXPECT_FALSE(has(other_.requests()[0].body, "ask somebody")) << other_.requests()[0].body;
  EXPECT_TRUE(has(logs(), R"("provider":"work","api":"chat","model":"qwen")")) << logs();
  const std::string usage = program_.run({"usage", "--json"}).out;
  EXPECT_TRUE(has(usage, R"("provider":"work","model":"qwen","requests":1)")) << usage;
}

TEST_F(Roles, HooksJudgeASubagentsModel) {
  configure("agents: {enabled: true, model: work/qwen}\n");
  hook("on: before_model_call\nguard: true\nwhen: provider == \"work\"\ndo: block\n");
  const Finished ran = program_.run({"run", "--allow", "task", "ask somebody"});
  EXPECT_EQ(ran.out, "Own.\n") << ran.err;
  EXPECT_EQ(asked_own(), 2u);
  EXPECT_EQ(asked_other(), 0u);
  const std::string told = own_.requests()[1].body;
  EXPECT_TRUE(has(told, "the agent failed: the model call was blocked by")) << told;
}

TEST_F(Roles, ASubagentsAnswersCountInTheRunsBudget) {
  configure("agents: {enabled: true, model: work/qwen}\n");
  const std::vector<std::string> words{"run", "--allow", "task", "--max-run-tokens", "45000", "ask somebody"};
  const Finished ran = program_.run(words);
  EXPECT_EQ(ran.code, 8) << ran.err;
  EXPECT_EQ(asked_own(), 1u);
  EXPECT_EQ(asked_other(), 1u);
}

TEST_F(Roles, AMissingKeyOfAnyRoleIsToldBeforeAnythingIsAsked) {
  for (const char* const role : {"fallback", "compaction.model", "agents.model"}) {
    configure("agents: {enabled: true}\n");
    const Finished ran = program_.run({"run", "hello", "--set", std::string(role) + "=groq/m"});
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_TRUE(has(ran.err, std::string(role) + " names groq/m: no key for groq: set GROQ_API_KEY, or store "
                                                 "one with 'agentd auth set groq'"))
        << ran.err;
    const Finished doctor = program_.run({"doctor", "--set", std::string(role) + "=groq/m"});
    EXPECT_TRUE(has(doctor.out, "BROKEN  groq: GROQ_API_KEY is not set, and no key is stored")) << doctor.out;
  }
  EXPECT_FALSE(has(program_.run({"doctor"}).out, "groq: "));
  EXPECT_EQ(asked_own() + asked_other(), 0u);
  configure("");  // no subagent will ask
  EXPECT_EQ(program_.run({"run", "hello", "--set", "agents.model=groq/m"}).code, 0);
}

// A gateway's model whose name begins with another vendor's.
TEST_F(Roles, AGatewaysModelIsAskedForAtTheGateway) {
  configure("");
  program_.set("OPENROUTER_API_KEY=sk-r");
  const Finished ran = program_.run({"run", "hello", "--model", "openrouter/anthropic/claude-opus-5-5", "--set",
                                     "providers.openrouter.base_url=" + other_.url() + "/v1"});
  EXPECT_EQ(ran.out, "Other.\n") << ran.err;
  EXPECT_EQ(asked_own(), 0u);
  ASSERT_EQ(asked_other(), 1u);
  EXPECT_TRUE(has(other_.requests()[0].body, R"("model":"anthropic/claude-opus-5-5")")) << other_.requests()[0].body;
  EXPECT_EQ(other_.requests()[0].header("authorization"), "Bearer sk-r");
}

}  // namespace
}  // namespace agentd::testing
