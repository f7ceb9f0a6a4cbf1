// SPDX-License-Identifier: Apache-2.0
// The last answer of a run is held to a schema: by the provider, in words, and here.
#include "core/agent/answer_schema.h"

#include "tests/support/agent_fixture.h"

namespace agentd::testing {
namespace {

constexpr const char* kSchema =
    R"({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false})";

class Schemas : public AgentTest {
 protected:
  Result<RunReport, RunError> ask() {
    RunRequest request{"count"};
    request.output_schema = kSchema;
    return session_->run(request, {});
  }
};

TEST(AnswerSchemaTest, TakesTheValueOutOfWhatModelsPutAroundIt) {
  const auto schema = AnswerSchema::read(kSchema);
  ASSERT_TRUE(schema);
  for (const char* const answer : {R"({"n":7})", " {\"n\": 7}\n", "```json\n{\"n\":7}\n```", "```\n{\"n\":7}```\n"}) {
    const auto value = schema->value_of(answer);
    ASSERT_TRUE(value) << answer << value.error().message;
    EXPECT_EQ(*value, R"({"n":7})");
  }
  for (const char* const answer : {"", "seven", R"({"n":"7"})", R"({"n":7} and more)", R"({"n":7,"m":1})", "```\n```"})
    EXPECT_FALSE(schema->value_of(answer)) << answer;
  // What readers would read differently.
  const auto any = AnswerSchema::read("{}");
  EXPECT_FALSE(any->value_of(R"({"a":1,"a":2})"));
  EXPECT_FALSE(any->value_of("123456789012345678901234567890"));
  EXPECT_EQ(*any->value_of("[1.50, \"\u00e9\"]"), "[1.5,\"é\"]");
  EXPECT_FALSE(AnswerSchema::read("[]"));
  EXPECT_FALSE(AnswerSchema::read(R"({"type":"strange"})"));
}

TEST_F(Schemas, AnAnswerThatFitsIsTheValue) {
  open();
  model_.say("```json\n{ \"n\": 7 }\n```");
  const auto report = ask();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->final_text, R"({"n":7})");
  EXPECT_EQ(model_.requests.size(), 1u);
}

TEST_F(Schemas, AnAnswerThatDoesNotFitIsAskedForAgainTwice) {
  open();
  model_.say("seven").say(R"({"n":"7"})").say(R"({"n":7})");
  const auto report = ask();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->final_text, R"({"n":7})");
  ASSERT_EQ(model_.requests.size(), 3u);
  EXPECT_NE(model_.requests[1].all_text().find("does not fit the JSON Schema that it is held to: it is not one JSON"),
            std::string::npos)
      << model_.requests[1].all_text();
  open();
  model_.say("a").say("b").say("c").say("d");
  const auto failed = ask();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, RunError::Kind::kProvider);
  EXPECT_EQ(model_.answers.size(), 1u) << "not a fourth time";
}

TEST_F(Schemas, WhatTheProviderRefusesIsSaidInWords) {
  ModelError refused;
  refused.kind = ModelErrorKind::kInvalid;
  refused.http_status = 400;
  refused.message = "output_config.format.schema: not supported";
  open();
  model_.answers.push_back(refused);
  model_.say(R"({"n":1})");
  std::vector<bool> held;
  model_.during = [&](const ModelRequest& request) { held.push_back(!request.output_schema.empty()); };
  const auto report = ask();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(held, (std::vector{true, false}));
  EXPECT_NE(model_.requests[1].system.find("one JSON value that fits this JSON Schema"), std::string::npos);
  EXPECT_EQ(model_.requests[0].system.find("JSON Schema"), std::string::npos);
}

TEST_F(Schemas, ARefusalIsNoValue) {
  open();
  model_.say("I would rather not.");
  model_.answers.back()->stop_reason = StopReason::kRefusal;
  const auto refused = ask();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->outcome, RunOutcome::kRefused);
  EXPECT_EQ(refused->final_text, "");
  EXPECT_EQ(model_.requests.size(), 1u) << "a refusal is not asked again";
}

TEST_F(Schemas, TheNextRunIsHeldToNone) {
  open();
  model_.say(R"({"n":1})").say("free text");
  ASSERT_TRUE(ask());
  const auto report = run("and now?");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->final_text, "free text");
}

TEST_F(Schemas, ImagesGoWithTheMessageAndToTheHooks) {
  std::uint32_t seen = 0;
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "tests", [&](const TestCall& call) {
    seen = call.payload<agentd_user_message>().images.count;
    return AGENTD_OK;
  });
  open();
  model_.say("a cat");
  RunRequest request{"what is it?"};
  Block image;
  image.kind = BlockKind::kImage;
  image.name = "image/png";
  image.opaque = "AAAA";
  request.media = {image};
  ASSERT_TRUE(session_->run(request, {}));
  EXPECT_EQ(seen, 1u);
  ASSERT_EQ(model_.requests[0].messages[0].blocks.size(), 2u);
  EXPECT_EQ(model_.requests[0].messages[0].blocks[0].kind, BlockKind::kImage);
}

}  // namespace
}  // namespace agentd::testing
