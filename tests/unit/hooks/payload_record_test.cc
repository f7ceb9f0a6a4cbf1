// SPDX-License-Identifier: Apache-2.0
#include "core/hooks/payload_record.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/codec/json.h"
#include "core/hooks/event.h"
#include "core/hooks/json_slices.h"
#include "core/hooks/payload_json.h"
#include "tests/unit/hooks/random_payload.h"

namespace agentd {
namespace {

std::string written(const PayloadRecord& record) {
  return payload_json(record.event(), record.envelope(), record.payload());
}

PayloadRecord read(std::string_view json, std::uint32_t event = 0) {
  auto record = PayloadRecord::from_json(json, event);
  EXPECT_TRUE(record) << (record ? "" : record.error().message) << "\n" << json;
  return record ? std::move(*record) : std::move(*PayloadRecord::from_json(R"({"event":"turn_start"})"));
}

std::string refusal(std::string_view json, std::uint32_t event = 0) {
  const auto record = PayloadRecord::from_json(json, event);
  if (record) return "it was read";
  EXPECT_EQ(record.error().code, Code::kInvalid);
  return record.error().message;
}

template <typename Record>
const Record& payload(const PayloadRecord& record) {
  return *static_cast<const Record*>(record.payload());
}

// ---- there and back

TEST(PayloadRecord, WhatWasWrittenIsReadAndWrittenAgainByteForByte) {
  constexpr std::uint64_t kRounds = 150;
  for (std::uint64_t seed = 1; seed <= kRounds; ++seed) {
    for (const EventTraits& event : all_events()) {
      testing::RandomPayload random(seed * 64 + event.id);
      const agentd_envelope* const envelope = random.envelope();
      const std::string first = payload_json(event.id, envelope, random.payload(event.id));
      const auto record = PayloadRecord::from_json(first);
      ASSERT_TRUE(record) << event.name << ", seed " << seed << ": " << record.error().message << "\n" << first;
      EXPECT_EQ(record->event(), event.id);
      ASSERT_EQ(written(*record), first) << event.name << ", seed " << seed;
    }
  }
}

TEST(PayloadRecord, ToolInputKeepsItsBytes) {
  agentd_tool_call call{};
  call.size = sizeof call;
  call.input_json = to_abi("\t{\"n\": 1.50,  \"deep\": [ \"]}\\\"\" ]} ");
  const std::string first = payload_json(AGENTD_EVENT_BEFORE_TOOL_CALL, nullptr, &call);
  const PayloadRecord record = read(first);
  EXPECT_EQ(view_of(payload<agentd_tool_call>(record).input_json), view_of(call.input_json));
}

TEST(PayloadRecord, ToolInputThatWasNoJsonIsThatTextAgain) {
  agentd_tool_call call{};
  call.size = sizeof call;
  call.input_json = to_abi("{\"command\": ");
  const PayloadRecord record = read(payload_json(AGENTD_EVENT_BEFORE_TOOL_CALL, nullptr, &call));
  EXPECT_EQ(view_of(payload<agentd_tool_call>(record).input_json), "{\"command\": ");
}

TEST(PayloadRecord, MembersAreThoseThatTheKeysName) {
  const PayloadRecord record =
      read(R"({"event":"agent_stop","conv_id":"c","run_id":"r","revision":9,"turn_number":2,)"
           R"("invoked_by":"subagent","agent":{"id":"a","type":"t","depth":3},)"
           R"("context":{"used":7,"limit":10,"source":"provider","force_at":9,"floor":1},)"
           R"("usage":{"input_tokens":1,"output_tokens":2,"cost_usd":0.5,"max_context_window":12},)"
           R"("stop_reason":"max_tokens","continuation":4,"stop_hook_active":true,)"
           R"("messages":[{"role":"assistant","content":"hi","seq":5,"interrupted":true}]})");
  const agentd_envelope& envelope = *record.envelope();
  EXPECT_EQ(envelope.size, sizeof envelope);
  EXPECT_EQ(view_of(envelope.conversation_id), "c");
  EXPECT_EQ(view_of(envelope.run_id), "r");
  EXPECT_EQ(envelope.revision, 9u);
  EXPECT_EQ(envelope.turn_number, 2u);
  EXPECT_EQ(envelope.invoked_by, AGENTD_INVOKED_BY_SUBAGENT);
  EXPECT_EQ(envelope.agent_depth, 3u);
  EXPECT_EQ(envelope.context->force_at, 9u);
  EXPECT_EQ(envelope.context->source, AGENTD_GAUGE_PROVIDER);
  const auto& stop = payload<agentd_agent_stop>(record);
  EXPECT_EQ(stop.size, sizeof stop);
  EXPECT_EQ(stop.context, envelope.context);
  EXPECT_EQ(stop.usage->output, 2u);
  EXPECT_EQ(stop.usage->cost_nano_usd, 500'000'000u);
  EXPECT_EQ(stop.max_context_window, 12u);
  EXPECT_EQ(stop.stop_reason, AGENTD_STOP_MAX_TOKENS);
  EXPECT_EQ(stop.continuation, 4u);
  EXPECT_EQ(stop.flags, AGENTD_AGENT_STOP_HOOK_ACTIVE);
  ASSERT_EQ(stop.messages.count, 1u);
  const auto& message = *static_cast<const agentd_message*>(stop.messages.first);
  EXPECT_EQ(message.role, AGENTD_ROLE_ASSISTANT);
  EXPECT_EQ(message.seq, 5u);
  EXPECT_EQ(message.flags, AGENTD_MESSAGE_INTERRUPTED);
  EXPECT_EQ(to_message(message).text(), "hi");
}

TEST(PayloadRecord, LivesOnWhenItsSourceIsGoneAndItIsMoved) {
  auto source = std::make_unique<std::string>(
      R"({"event":"user_message_send","message":"a text that is longer than any small string"})");
  PayloadRecord first = read(*source);
  source.reset();
  const PayloadRecord second = std::move(first);
  EXPECT_EQ(view_of(payload<agentd_user_message>(second).text), "a text that is longer than any small string");
}

// ---- written by hand

TEST(PayloadRecord, PartialObjectIsCompletedWithWhatIsUsual) {
  const PayloadRecord record = read(R"({ "message": "hi" })", AGENTD_EVENT_USER_MESSAGE_SEND);
  const auto& message = payload<agentd_user_message>(record);
  EXPECT_EQ(message.source, AGENTD_MESSAGE_SOURCE_USER);
  EXPECT_EQ(record.envelope()->invoked_by, AGENTD_INVOKED_BY_MAIN);
  EXPECT_EQ(record.envelope()->context, nullptr);
  const auto json = JsonDocument::parse(written(record));
  EXPECT_EQ(json->root()["event"].string_or(""), "user_message_send");
  EXPECT_EQ(json->root()["source"].string_or(""), "user");
}

TEST(PayloadRecord, FlatKeysOfExecutablesStandForTheCall) {
  const PayloadRecord record =
      read(R"({"event":"before_tool_call","tool_name":"bash","tool_input": {"command":"ls"} })");
  const auto& call = payload<agentd_tool_call>(record);
  EXPECT_EQ(view_of(call.name), "bash");
  EXPECT_EQ(view_of(call.input_json), R"({"command":"ls"})");
  EXPECT_NE(written(record).find(R"("tool":{"name":"bash","call_id":"","input":{"command":"ls"})"), std::string::npos);
}

TEST(PayloadRecord, FlatOutputStandsForTheOutput) {
  const PayloadRecord record = read(R"({"event":"after_tool_call",)"
                                    R"("tool_output":{"toolName":"bash","content":"no","success":false}})");
  const auto& call = payload<agentd_tool_call>(record);
  EXPECT_EQ(view_of(call.name), "bash");
  ASSERT_NE(call.result, nullptr);
  EXPECT_EQ(view_of(call.result->content), "no");
  EXPECT_EQ(call.result->success, 0u);
}

TEST(PayloadRecord, ToolThatDidNotFailSucceeded) {
  const std::string_view output = R"({"output":{"content":"x"}})";
  const PayloadRecord after = read(output, AGENTD_EVENT_AFTER_TOOL_CALL);
  EXPECT_EQ(payload<agentd_tool_call>(after).result->success, 1u);
  const PayloadRecord failed = read(output, AGENTD_EVENT_TOOL_CALL_FAILED);
  EXPECT_EQ(payload<agentd_tool_call>(failed).result->success, 0u);
}

TEST(PayloadRecord, WindowThatIsUsedMakesAGauge) {
  const PayloadRecord record =
      read(R"({"event":"agent_stop","usage":{"current_context_window":150,"max_context_window":200}})");
  ASSERT_NE(record.envelope()->context, nullptr);
  EXPECT_EQ(record.envelope()->context->used, 150u);
  EXPECT_EQ(record.envelope()->context->limit, 200u);
  EXPECT_EQ(payload<agentd_agent_stop>(record).context->used, 150u);
}

TEST(PayloadRecord, PercentAloneMakesAGauge) {
  const PayloadRecord record = read(R"({"event":"turn_start","context":{"percent":85}})");
  const agentd_gauge& gauge = *record.envelope()->context;
  EXPECT_EQ(gauge.used * 100, gauge.limit * 85);
  const PayloadRecord limited = read(R"({"event":"turn_start","context":{"limit":200,"percent":85}})");
  EXPECT_EQ(limited.envelope()->context->used, 170u);
}

TEST(PayloadRecord, HookIsReadAndItsAttemptKept) {
  const PayloadRecord record =
      read(R"({"event":"turn_start","hook":{"name":"guard","attempt":2,"deadline_ms":30000}})");
  EXPECT_EQ(record.envelope()->attempt, 2u);
  EXPECT_EQ(written(record).find("\"hook\""), std::string::npos);
  EXPECT_EQ(refusal(R"({"event":"turn_start","hook":{"nam":"guard"}})"),
            "the payload's \"hook\" has no key \"nam\": did you mean 'name'?");
}

TEST(PayloadRecord, MessageOfTextIsOneBlockAndABlockListIsTheWholeMessage) {
  const PayloadRecord record =
      read(R"({"event":"agent_stop","messages":[{"content":"a"},{"summary":true,"content":"so far"},)"
           R"({"role":"assistant","blocks":[{"text":"b"},{"type":"tool_use","name":"bash","input":{}},)"
           R"({"type":"tool_result","text":"c","is_error":true,)"
           R"("parts":[{"type":"image","data":"eA=="}]}]}]})");
  const auto& messages = payload<agentd_agent_stop>(record).messages;
  ASSERT_EQ(messages.count, 3u);
  const auto* const rows = static_cast<const agentd_message*>(messages.first);
  EXPECT_EQ(to_message(rows[0]), Message::of_text(Role::kUser, "a"));
  EXPECT_EQ(to_message(rows[1]), Message::of_text(Role::kSummary, "so far"));
  const Message last = to_message(rows[2]);
  ASSERT_EQ(last.blocks.size(), 3u);
  EXPECT_EQ(last.blocks[0], Block::of_text("b"));
  EXPECT_EQ(last.blocks[1].json, "{}");
  EXPECT_EQ(last.blocks[2].flags, AGENTD_BLOCK_ERROR);
  ASSERT_EQ(last.blocks[2].parts.size(), 1u);
  EXPECT_EQ(last.blocks[2].parts[0].opaque, "eA==");
}

// ---- mistakes

TEST(PayloadRecord, UnknownKeysAreNamed) {
  EXPECT_EQ(refusal(R"({"event":"before_tool_call","tool_inptu":1})"),
            "before_tool_call has no key \"tool_inptu\": did you mean 'tool_input'?");
  EXPECT_EQ(refusal(R"({"event":"before_tool_call","tool":{"nme":"bash"}})"),
            "the payload's \"tool\" has no key \"nme\": did you mean 'name'?");
  EXPECT_EQ(refusal(R"({"event":"notification","qqqqqqq":1})").substr(0, 78),
            "notification has no key \"qqqqqqq\": its keys are v, id, event, conv_id, session");
}

TEST(PayloadRecord, KeysOfOtherEventsAreUnknown) {
  EXPECT_NE(refusal(R"({"event":"turn_start","response":"x"})").find("no key \"response\""), std::string::npos);
  EXPECT_NE(refusal(R"({"event":"before_tool_call","output":{}})").find("no key \"output\""), std::string::npos);
}

TEST(PayloadRecord, KeysOfOtherKindsOfBlocksAreUnknown) {
  EXPECT_EQ(refusal(R"({"event":"agent_stop","messages":[{"blocks":[{"text":"x","data":""}]}]})"),
            "the payload's \"messages[0].blocks[0]\" has no key \"data\": its keys are type, text, "
            "is_error, pruned, elided, parts");
}

TEST(PayloadRecord, WrongTypesAreNamedWithWhatTheyShouldBe) {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {R"("message":3)", "\"message\" must be a text, not 3"},
      {R"("message":null)", "\"message\" must be a text, not null"},
      {R"("source":"users")", "\"source\" must be one of user, hook, recipe, client, not \"users\""},
      {R"("turn_number":-1)", "\"turn_number\" must be a whole number from 0 to 4294967295, not -1"},
      {R"("turn_number":1.5)", "\"turn_number\" must be a whole number from 0 to 4294967295, not 1.5"},
      {R"("revision":"9")", "\"revision\" must be a whole number from 0 to 18446744073709551615, not \"9\""},
      {R"("agent":[])", "\"agent\" must be an object, not []"},
      {R"("context":3)", "\"context\" must be an object, not 3"},
      {R"("images":{})", "\"images\" must be a list, not {}"},
      {R"("images":["x"])", "\"images[0]\" must be an object, not \"x\""},
      {R"("v":2)", "\"v\" must be 1, not 2"}};
  for (const auto& [member, told] : wrong)
    EXPECT_EQ(refusal("{" + member + "}", AGENTD_EVENT_USER_MESSAGE_SEND), "the payload's " + told);
  EXPECT_EQ(refusal(R"({"final":1})", AGENTD_EVENT_TURN_END), "the payload's \"final\" must be true or false, not 1");
  EXPECT_EQ(refusal(R"({"text":["a",1]})", AGENTD_EVENT_MODEL_DELTA),
            "the payload's \"text\" must be a list of texts, not [\"a\",1]");
  EXPECT_EQ(refusal(R"({"duration_ms":18446744073710})", AGENTD_EVENT_AFTER_MODEL_CALL),
            "the payload's \"duration_ms\" must be a whole number from 0 to 18446744073709, not "
            "18446744073710");
}

TEST(PayloadRecord, KeysThatRepeatEachOtherMustAgree) {
  const auto contradict = [](std::string_view one, std::string_view other) {
    return "the payload's \"" + std::string(one) + "\" and \"" + std::string(other) +
           "\" contradict each other: leave one out, or make them agree";
  };
  EXPECT_EQ(refusal(R"({"event":"before_tool_call","tool":{"name":"a"},"tool_name":"b"})"),
            contradict("tool_name", "tool.name"));
  EXPECT_EQ(refusal(R"({"event":"before_tool_call","tool":{"input":{"a":1}},"tool_input":{"a":2}})"),
            contradict("tool_input", "tool.input"));
  EXPECT_EQ(refusal(R"({"event":"turn_start","context":{"used":1,"limit":2,"percent":90}})"),
            contradict("context.percent", "context.used"));
  EXPECT_EQ(refusal(R"({"event":"agent_stop","context":{"used":1},)"
                    R"("usage":{"current_context_window":2}})"),
            contradict("usage.current_context_window", "context.used"));
  EXPECT_EQ(refusal(R"({"event":"agent_stop","messages":[{"content":"a","blocks":[{"text":"b"}]}]})"),
            contradict("messages[0].content", "blocks"));
  EXPECT_EQ(read(R"({"event":"before_tool_call","tool":{"input":{"a": 1}},"tool_input":{"a":1}})").event(),
            AGENTD_EVENT_BEFORE_TOOL_CALL);
}

TEST(PayloadRecord, KeyThatIsThereTwiceIsAMistake) {
  EXPECT_EQ(refusal(R"({"event":"notification","text":"a","text":"b"})"), "notification repeats the key \"text\"");
}

TEST(PayloadRecord, EventMustBeKnownAndTheExpectedOne) {
  EXPECT_EQ(refusal(R"({})"), "the payload has no key \"event\", which names its event");
  EXPECT_EQ(refusal(R"({"event":"turn_strat"})"),
            "the payload's \"event\" is not an event: \"turn_strat\": did you mean 'turn_start'?");
  EXPECT_EQ(refusal(R"({"event":3})"), "the payload's \"event\" is not an event: 3");
  EXPECT_EQ(refusal(R"({"event":"turn_end"})", AGENTD_EVENT_TURN_START),
            "the payload is one of turn_end, not of turn_start");
}

TEST(PayloadRecord, TextThatIsNoObjectIsAMistake) {
  EXPECT_EQ(refusal("[]", AGENTD_EVENT_TURN_START), "a payload is one JSON object");
  EXPECT_NE(refusal("{", AGENTD_EVENT_TURN_START).find("reading a payload: bad JSON at byte"), std::string::npos);
}

// ---- rewrites

TEST(PayloadRecord, RewriteReplacesTheTextOfTheEvent) {
  PayloadRecord message = read(R"({"event":"user_message_send","message":"a"})");
  ASSERT_TRUE(message.rewrite(AGENTD_TEXT_DEFAULT, "b"));
  EXPECT_EQ(view_of(payload<agentd_user_message>(message).text), "b");

  PayloadRecord call = read(R"({"event":"before_tool_call","tool":{"input":{"a":1}}})");
  ASSERT_TRUE(call.rewrite(AGENTD_TEXT_TOOL_INPUT, R"({"a":2})"));
  EXPECT_NE(written(call).find(R"("tool_input":{"a":2})"), std::string::npos);

  PayloadRecord result = read(R"({"event":"after_tool_call","output":{"content":"a"}})");
  ASSERT_TRUE(result.rewrite(AGENTD_TEXT_TOOL_OUTPUT, "b"));
  EXPECT_EQ(view_of(payload<agentd_tool_call>(result).result->content), "b");

  PayloadRecord answer = read(R"({"event":"after_model_call","response":"a"})");
  ASSERT_TRUE(answer.rewrite(AGENTD_TEXT_RESPONSE, "b"));
  EXPECT_EQ(view_of(payload<agentd_model_response>(answer).text), "b");
}

TEST(PayloadRecord, RewriteOfATextThatTheEventHasNotIsRefused) {
  PayloadRecord call = read(R"({"event":"before_tool_call","tool":{"input":{"a":1}}})");
  const auto refused = call.rewrite(AGENTD_TEXT_TOOL_OUTPUT, "x");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "before_tool_call has no such text to rewrite");
  EXPECT_FALSE(read(R"({"event":"turn_end"})").rewrite(AGENTD_TEXT_DEFAULT, "x"));
}

// ---- slices

TEST(JsonSlices, AreTheTextsOfTheValues) {
  using Slices = std::vector<std::string_view>;
  EXPECT_EQ(json_slices(R"({"a":1, "b" : [1,{"c":"]}"}] ,"\"":"x\\"})"),
            (Slices{"1", R"( [1,{"c":"]}"}] )", R"("x\\")"}));
  EXPECT_EQ(json_slices(" [ 1 , \"a,b\" ] "), (Slices{" 1 ", " \"a,b\" "}));
  EXPECT_EQ(json_slices("{ }"), Slices());
  EXPECT_EQ(json_slices("[]"), Slices());
  EXPECT_EQ(json_slices("3"), Slices());
  EXPECT_EQ(json_slices("\xEF\xBB\xBF{\"a\":1}"), Slices{"1"});
  EXPECT_EQ(json_trimmed(" \n1\t"), "1");
}

}  // namespace
}  // namespace agentd
