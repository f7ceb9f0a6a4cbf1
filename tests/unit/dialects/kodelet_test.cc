// SPDX-License-Identifier: Apache-2.0
// Kodelet's executables, and the shapes of its extensions.
#include "dialect_support.h"

#include "core/external/kodelet_extension.h"

namespace agentd {
namespace {

Verdict kodelet(std::uint32_t event, const RawAnswer& answer) { return verdict_of(Dialect::kKodelet, event, answer); }

JsonDocument seen_by(std::uint32_t event, JsonView payload) {
  DialectContext context;
  context.timestamp = "2026-01-02T03:04:05Z";
  return parsed(dialect_input(hook_for(Dialect::kKodelet, event), payload, context));
}

// ---- standard input

TEST(KodeletInput, IsItsOwnFlatObject) {
  const auto seen = seen_by(AGENTD_EVENT_BEFORE_TOOL_CALL, bash_payload("ls").root());
  EXPECT_EQ(seen.root().text(),
            R"({"event":"before_tool_call","conv_id":"conv_1","cwd":"/work/app","invoked_by":"main",)"
            R"("tool_name":"bash","tool_input":{"command":"ls"},"tool_user_id":"call_1"})");
}

TEST(KodeletInput, AFailedToolIsAToolCallThatWasMadeAsWell) {
  const auto payload =
      tool_payload(AGENTD_EVENT_TOOL_CALL_FAILED, "bash", R"({"command":"ls"})", "no such file", false, "exit 2");
  const auto seen = seen_by(AGENTD_EVENT_TOOL_CALL_FAILED, payload.root());
  EXPECT_EQ(seen.root()["event"].string_or(""), "after_tool_call");
  const JsonView output = seen.root()["tool_output"];
  EXPECT_EQ(output["toolName"].string_or(""), "bash");
  EXPECT_FALSE(output["success"].bool_or(true));
  EXPECT_EQ(output["error"].string_or(""), "exit 2");
  EXPECT_EQ(output["metadata"]["output"].string_or(""), "no such file");
  EXPECT_EQ(output["metadata"]["command"].string_or(""), "ls");
  EXPECT_EQ(output["timestamp"].string_or(""), "2026-01-02T03:04:05Z");
}

TEST(KodeletInput, AStopHasTheGaugeThatSmartCompactReads) {
  const auto seen = seen_by(AGENTD_EVENT_AGENT_STOP, stop_payload().root());
  EXPECT_EQ(seen.root()["event"].string_or(""), "agent_stop");
  EXPECT_EQ(seen.root()["usage"]["max_context_window"].uint_or(0), 200000u);
  EXPECT_EQ(seen.root()["usage"]["current_context_window"].uint_or(0), 7000u);
  EXPECT_TRUE(seen.root()["messages"].is_array());
}

TEST(KodeletInput, AMessageIsThere) {
  const auto seen = seen_by(AGENTD_EVENT_USER_MESSAGE_SEND, message_payload("hi").root());
  EXPECT_EQ(seen.root()["message"].string_or(""), "hi");
}

// ---- answers

TEST(KodeletAnswer, NothingIsNoAction) {
  for (const char* out : {"", "\n", "{}"}) {
    const Verdict verdict = kodelet(AGENTD_EVENT_BEFORE_TOOL_CALL, exited(0, out));
    EXPECT_FALSE(verdict.failed) << out;
    EXPECT_TRUE(verdict.actions.empty()) << out;
  }
}

TEST(KodeletAnswer, AnyOtherExitIsAFailureAndTwoIsNoBlock) {
  for (const int code : {1, 2, 127}) {
    const Verdict verdict = kodelet(AGENTD_EVENT_BEFORE_TOOL_CALL, exited(code, R"({"blocked":true})", "why"));
    EXPECT_TRUE(verdict.failed) << code;
    EXPECT_TRUE(verdict.actions.empty()) << code;
    EXPECT_TRUE(contains(verdict.failure.text, "why")) << code;
  }
}

TEST(KodeletAnswer, WhatIsNoObjectIsAFailure) {
  for (const char* out : {"ok", "[]", R"({"blocked":)", R"({"blocked":"yes"})", "log line\n{\"blocked\":true}"})
    EXPECT_TRUE(kodelet(AGENTD_EVENT_BEFORE_TOOL_CALL, exited(0, out)).failed) << out;
}

TEST(KodeletAnswer, ATimeoutIsAFailureByDeadline) {
  RawAnswer late;
  late.end = RawAnswer::End::kTimedOut;
  const Verdict verdict = kodelet(AGENTD_EVENT_AGENT_STOP, late);
  EXPECT_TRUE(verdict.failed);
  EXPECT_TRUE(verdict.timed_out);
}

TEST(KodeletAnswer, BlockedAndInput) {
  EXPECT_EQ(only_action(kodelet(AGENTD_EVENT_BEFORE_TOOL_CALL, exited(0, R"({"blocked":true,"reason":"no"})"))).text,
            "no");
  const Action action =
      only_action(kodelet(AGENTD_EVENT_BEFORE_TOOL_CALL, exited(0, R"({"blocked":false,"input":{"command":"pwd"}})")));
  EXPECT_EQ(action.kind, static_cast<std::uint32_t>(AGENTD_ACT_REPLACE_TEXT));
  EXPECT_EQ(action.text, R"({"command":"pwd"})");
}

// What the structure of a result changes is the text of the result.
TEST(KodeletAnswer, OutputIsTheTextOfTheStructure) {
  const auto text = [](const char* output) {
    const Verdict verdict =
        kodelet(AGENTD_EVENT_AFTER_TOOL_CALL, exited(0, std::string(R"({"output":)") + output + "}"));
    EXPECT_FALSE(verdict.failed) << verdict.failure.text;
    return verdict.actions.empty() ? std::string("(none)") : verdict.actions[0].text;
  };
  EXPECT_EQ(text(R"({"toolName":"bash","success":true,"metadata":{"output":"clean"}})"), "clean");
  EXPECT_EQ(text(R"({"content":"clean","metadata":{"output":"done"}})"), "clean");
  EXPECT_EQ(text(R"({"content":"done","metadata":{"output":"clean"}})"), "clean");
  EXPECT_EQ(text(R"({"content":"done","metadata":{"output":"done"}})"), "(none)") << "as it was";
  // A structure of its own takes the place of the text, which it may want gone.
  EXPECT_EQ(text(R"({"toolName":"x","metadata":{"lines":["clean"]}})"),
            R"({"toolName":"x","metadata":{"lines":["clean"]}})");
  EXPECT_EQ(text(R"("clean")"), "clean");
  EXPECT_EQ(text(R"("")"), "");
}

TEST(KodeletAnswer, AnOutputThatIsNoResultIsAFailure) {
  EXPECT_TRUE(kodelet(AGENTD_EVENT_AFTER_TOOL_CALL, exited(0, R"({"output":[1]})")).failed);
}

TEST(KodeletAnswer, FollowUpsAndTheActionsOfTheAdr) {
  const Verdict follow = kodelet(AGENTD_EVENT_AGENT_STOP, exited(0, R"({"follow_up_messages":["a","b"]})"));
  ASSERT_EQ(follow.actions.size(), 2u);
  EXPECT_EQ(follow.actions[1].text, "b");
  EXPECT_EQ(only_action(kodelet(AGENTD_EVENT_AGENT_STOP, exited(0, R"({"action":"compact"})"))).kind,
            static_cast<std::uint32_t>(AGENTD_ACT_COMPACT));
  const Action replace =
      only_action(kodelet(AGENTD_EVENT_AGENT_STOP,
                          exited(0, R"({"action":"replace","replace_messages":[{"role":"user","content":"s"}]})")));
  EXPECT_EQ(replace.kind, static_cast<std::uint32_t>(AGENTD_ACT_REPLACE_MESSAGES));
  ASSERT_EQ(replace.parts.size(), 1u);
}

TEST(KodeletAnswer, AnEmptyTurnEndAnswersNothing) {
  EXPECT_TRUE(kodelet(AGENTD_EVENT_TURN_END, exited(0, "{}")).actions.empty());
}

// ---- the extension's shapes

TEST(ExtensionShape, EventsHaveTheirDottedNames) {
  EXPECT_EQ(extension_event(AGENTD_EVENT_BEFORE_TOOL_CALL), "tool.call");
  EXPECT_EQ(extension_event(AGENTD_EVENT_TOOL_CALL_FAILED), "tool.result");
  EXPECT_EQ(extension_event(AGENTD_EVENT_AGENT_STOP), "agent.end");
  EXPECT_EQ(extension_event(AGENTD_EVENT_BEFORE_CLEAR), "");
  EXPECT_EQ(event_of_extension("user.message"), static_cast<std::uint32_t>(AGENTD_EVENT_USER_MESSAGE_SEND));
  EXPECT_EQ(event_of_extension("tool.update"), 0u);
  EXPECT_EQ(event_of_extension("agent_stop"), 0u);
  EXPECT_EQ(canonical_event(Dialect::kKodelet, "tool.call"), static_cast<std::uint32_t>(AGENTD_EVENT_BEFORE_TOOL_CALL));
}

TEST(ExtensionShape, ParamsAreAnEnvelopeAndThePayload) {
  const auto params = parsed(extension_params(AGENTD_EVENT_BEFORE_TOOL_CALL, bash_payload("ls").root()));
  EXPECT_EQ(params.root()["id"].string_or(""), "evt_1");
  EXPECT_EQ(params.root()["event"].string_or(""), "tool.call");
  EXPECT_EQ(params.root()["context"]["conversationId"].string_or(""), "conv_1");
  EXPECT_EQ(params.root()["context"]["invokedBy"].string_or(""), "main");
  EXPECT_EQ(params.root()["payload"]["tool"].text(), R"({"name":"bash","callId":"call_1","input":{"command":"ls"}})");
}

Verdict result_at(std::uint32_t event, const char* json) {
  const auto result = parsed(json);
  return interpret_extension(event, any_payload(event).root(), result.root());
}

TEST(ExtensionShape, ResultsAreActions) {
  EXPECT_EQ(only_action(result_at(AGENTD_EVENT_BEFORE_TOOL_CALL, R"({"block":{"reason":"no"}})")).text, "no");
  EXPECT_EQ(only_action(result_at(AGENTD_EVENT_BEFORE_TOOL_CALL, R"({"input":{"command":"w"}})")).text,
            R"({"command":"w"})");
  EXPECT_EQ(only_action(result_at(AGENTD_EVENT_USER_MESSAGE_SEND, R"({"message":""})")).text, "");
  EXPECT_EQ(only_action(result_at(AGENTD_EVENT_AFTER_TOOL_CALL, R"({"output":{"metadata":{"output":"x"}}})")).text,
            "x");
  EXPECT_EQ(kinds_of(result_at(AGENTD_EVENT_AGENT_STOP, R"({"followUpMessages":["a","b"]})")),
            (std::vector<std::uint32_t>{AGENTD_ACT_CONTINUE, AGENTD_ACT_CONTINUE}));
}

TEST(ExtensionShape, AgentInitIsContextAndTools) {
  const Verdict verdict =
      result_at(AGENTD_EVENT_BEFORE_MODEL_CALL,
                R"({"systemPrompt":{"append":"be brief"},"tools":{"disable":["bash"],"enable":["x"]}})");
  ASSERT_EQ(verdict.actions.size(), 2u);
  EXPECT_EQ(verdict.actions[0].kind, static_cast<std::uint32_t>(AGENTD_ACT_INJECT_CONTEXT));
  EXPECT_EQ(verdict.actions[1].kind, static_cast<std::uint32_t>(AGENTD_ACT_TOOLS_DISABLE));
  EXPECT_EQ(verdict.actions[1].text, "bash");
  EXPECT_TRUE(any_contains(result_at(AGENTD_EVENT_BEFORE_MODEL_CALL, R"({"systemPrompt":{"replace":"x"}})").warnings,
                           "systemPrompt.replace"));
}

TEST(ExtensionShape, WhatTheEventCannotUseIsAWarning) {
  const Verdict verdict = result_at(AGENTD_EVENT_AGENT_STOP, R"({"block":{"reason":"r"},"inptu":1})");
  EXPECT_TRUE(verdict.actions.empty());
  EXPECT_EQ(verdict.warnings.size(), 2u);
}

TEST(ExtensionShape, AWrongTypeIsAFailure) {
  for (const char* json : {R"([])", R"("x")", R"({"block":true})", R"({"followUpMessages":"x"})"})
    EXPECT_TRUE(result_at(AGENTD_EVENT_AGENT_STOP, json).failed) << json;
  EXPECT_FALSE(result_at(AGENTD_EVENT_AGENT_STOP, "null").failed);
}

}  // namespace
}  // namespace agentd
