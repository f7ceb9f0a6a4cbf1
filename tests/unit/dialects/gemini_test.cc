// SPDX-License-Identifier: Apache-2.0
// Gemini CLI as documented: objects going out, exit codes and outputs coming back.
#include <array>

#include "dialect_support.h"

namespace agentd {
namespace {

constexpr Dialect kGemini = Dialect::kGemini;

Verdict gemini_answered(std::uint32_t event, int code, std::string out, std::string err = {}) {
  return verdict_of(kGemini, event, exited(code, std::move(out), std::move(err)));
}

JsonDocument gemini_input(const JsonDocument& payload, std::uint32_t event) {
  return parsed(
      dialect_input(hook_for(kGemini, event), payload.root(), {"/t.jsonl", "2026-08-21T10:00:00Z", "", "/repo"}));
}

// A model call with two messages and two tools.
JsonDocument model_payload() {
  return parsed(R"({"model":"big","system":"be kind","tools":[{"name":"bash"},{"name":"grep"}],)"
                R"("messages":[{"role":"user","content":"hi"},)"
                R"({"role":"assistant","content":"hello"}],"revision":17})");
}

Verdict model_answer(const std::string& out, const char* event = "BeforeModel") {
  HookDefinition hook = hook_for(kGemini, AGENTD_EVENT_BEFORE_MODEL_CALL);
  hook.foreign_event = event;
  return interpret(hook, model_payload().root(), exited(0, out));
}

// ---- out

TEST(GeminiInput, BeforeToolIsGeminisOwnObject) {
  const JsonDocument json = gemini_input(bash_payload("ls"), AGENTD_EVENT_BEFORE_TOOL_CALL);
  EXPECT_EQ(json.root().text(), R"({"session_id":"ses_1","transcript_path":"/t.jsonl","cwd":"/work/app",)"
                                R"("hook_event_name":"BeforeTool","timestamp":"2026-08-21T10:00:00Z",)"
                                R"("tool_name":"run_shell_command","tool_input":{"command":"ls"}})");
}

TEST(GeminiInput, AfterToolHasTheResponseAndTheError) {
  const JsonDocument good = gemini_input(any_payload(AGENTD_EVENT_AFTER_TOOL_CALL), AGENTD_EVENT_AFTER_TOOL_CALL);
  EXPECT_EQ(good.root()["tool_response"].text(), R"({"llmContent":"done","returnDisplay":"done"})");
  const JsonDocument bad =
      gemini_input(tool_payload(AGENTD_EVENT_TOOL_CALL_FAILED, "edit_file", R"({"path":"a"})", "", false, "gone"),
                   AGENTD_EVENT_TOOL_CALL_FAILED);
  EXPECT_EQ(bad.root()["hook_event_name"].string_or(""), "AfterTool");
  EXPECT_EQ(bad.root()["tool_name"].string_or(""), "replace");
  EXPECT_EQ(bad.root()["tool_input"]["file_path"].string_or(""), "a");
  EXPECT_EQ(bad.root()["tool_response"]["error"]["message"].string_or(""), "gone");
}

TEST(GeminiInput, AModelCallIsARequest) {
  const JsonDocument json = gemini_input(model_payload(), AGENTD_EVENT_BEFORE_MODEL_CALL);
  EXPECT_EQ(json.root()["llm_request"].text(),
            R"({"model":"big","messages":[{"role":"system","content":"be kind"},)"
            R"({"role":"user","content":"hi"},{"role":"model","content":"hello"}]})");
  const JsonDocument after =
      gemini_input(parsed(R"({"model":"big","response":"yes","stop_reason":"end_turn",)"
                          R"("usage":{"input_tokens":3,"cache_read_tokens":4,"output_tokens":2}})"),
                   AGENTD_EVENT_AFTER_MODEL_CALL);
  const JsonView response = after.root()["llm_response"];
  EXPECT_EQ(response["candidates"].at(0)["content"]["parts"].text(), R"(["yes"])");
  EXPECT_EQ(response["usageMetadata"]["totalTokenCount"].int_or(0), 9);
}

TEST(GeminiInput, AgentEventsHavePromptAndResponse) {
  EXPECT_EQ(gemini_input(message_payload("fix"), AGENTD_EVENT_USER_MESSAGE_SEND).root()["prompt"].string_or(""), "fix");
  const JsonDocument stop = gemini_input(stop_payload("Done.", true), AGENTD_EVENT_AGENT_STOP);
  EXPECT_EQ(stop.root()["hook_event_name"].string_or(""), "AfterAgent");
  EXPECT_EQ(stop.root()["prompt_response"].string_or(""), "Done.");
  EXPECT_TRUE(stop.root()["stop_hook_active"].bool_or(false));
}

TEST(GeminiInput, TheMatcherSeesGeminisNames) {
  EXPECT_EQ(first_subject(hook_for(kGemini, AGENTD_EVENT_BEFORE_TOOL_CALL), bash_payload().root()),
            "run_shell_command");
  EXPECT_EQ(first_subject(hook_for(kGemini, AGENTD_EVENT_BEFORE_COMPACTION),
                          compaction_payload(AGENTD_TRIGGER_MANUAL).root()),
            "manual");
  EXPECT_EQ(first_subject(hook_for(kGemini, AGENTD_EVENT_AGENT_STOP), stop_payload().root()), "");
}

TEST(GeminiInput, TheEnvironmentHasItsFoldersAndClaudesAlias) {
  const std::vector<std::string> expected{"GEMINI_PROJECT_DIR=/repo", "CLAUDE_PROJECT_DIR=/repo",
                                          "GEMINI_CWD=/work/app", "GEMINI_SESSION_ID=ses_1"};
  EXPECT_EQ(dialect_environment(hook_for(kGemini, AGENTD_EVENT_BEFORE_TOOL_CALL), bash_payload().root(),
                                {"", "", "", "/repo"}),
            expected);
}

// ---- exit codes

TEST(GeminiExit, TwoBlocksWhateverTheOutput) {
  for (const char* const out : {"", "{}", R"({"decision":"allow"})", "text"}) {
    const Action action = only_action(gemini_answered(AGENTD_EVENT_BEFORE_TOOL_CALL, 2, out, "no\n"));
    EXPECT_EQ(action.kind, AGENTD_ACT_BLOCK) << out;
    EXPECT_EQ(action.text, "no");
  }
}

TEST(GeminiExit, TwoWithNothingOnStandardErrorBlocks) {
  EXPECT_EQ(only_action(gemini_answered(AGENTD_EVENT_BEFORE_TOOL_CALL, 2, "")).kind, AGENTD_ACT_BLOCK);
  EXPECT_EQ(only_action(gemini_answered(AGENTD_EVENT_USER_MESSAGE_SEND, 2, "")).kind, AGENTD_ACT_BLOCK);
  EXPECT_EQ(only_action(gemini_answered(AGENTD_EVENT_AGENT_STOP, 2, "")).kind, AGENTD_ACT_CONTINUE);
}

TEST(GeminiExit, AnotherCodeIsAFailureUnlessItRefuses) {
  for (const int code : {1, 3, 127}) {
    const Verdict verdict =
        gemini_answered(AGENTD_EVENT_BEFORE_TOOL_CALL, code, R"({"systemMessage":"hm"})", "not found");
    EXPECT_TRUE(verdict.failed && verdict.actions.empty()) << code;
    // Seen of Gemini CLI itself: a hook that says no and then fails has said no.
    const Verdict denied =
        gemini_answered(AGENTD_EVENT_BEFORE_TOOL_CALL, code, R"({"decision":"deny","reason":"no"})", "not found");
    EXPECT_EQ(only_action(denied).kind, AGENTD_ACT_BLOCK) << code;
  }
}

TEST(GeminiExit, ASignalAllowsNothing) {
  RawAnswer answer = exited(9, R"({"decision":"allow"})");
  answer.end = RawAnswer::End::kSignalled;
  const Verdict verdict = verdict_of(kGemini, AGENTD_EVENT_BEFORE_TOOL_CALL, answer);
  EXPECT_EQ(verdict.failure.text, "it was killed by signal 9");
}

// ---- output

struct GeminiAnswerCase {
  std::uint32_t event;
  const char* json;
  std::uint32_t kind;
  const char* text;
};

TEST(GeminiOutput, EachFieldIsItsAction) {
  const std::array<GeminiAnswerCase, 15> table{{
      {AGENTD_EVENT_BEFORE_TOOL_CALL, R"({"decision":"deny","reason":"r"})", AGENTD_ACT_BLOCK, "r"},
      {AGENTD_EVENT_BEFORE_TOOL_CALL, R"({"decision":"block","reason":"r"})", AGENTD_ACT_BLOCK, "r"},
      {AGENTD_EVENT_BEFORE_TOOL_CALL, R"({"decision":"ask","reason":"r"})", AGENTD_ACT_PERMISSION, "r"},
      {AGENTD_EVENT_BEFORE_TOOL_CALL, R"({"continue":false,"stopReason":"s"})", AGENTD_ACT_STOP_RUN, "s"},
      {AGENTD_EVENT_BEFORE_TOOL_CALL, R"({"systemMessage":"m"})", AGENTD_ACT_SYSTEM_MESSAGE, "m"},
      {AGENTD_EVENT_BEFORE_TOOL_CALL, "checked 3 rules", AGENTD_ACT_SYSTEM_MESSAGE, "checked 3 rules"},
      {AGENTD_EVENT_AFTER_TOOL_CALL, R"({"decision":"deny","reason":"r"})", AGENTD_ACT_REPLACE_TEXT, "r"},
      {AGENTD_EVENT_TOOL_CALL_FAILED, R"({"decision":"deny","reason":"r"})", AGENTD_ACT_REPLACE_TEXT, "r"},
      {AGENTD_EVENT_AFTER_TOOL_CALL,
       R"({"hookSpecificOutput":{"hookEventName":"AfterTool","additionalContext":"a <b>"}})", AGENTD_ACT_INJECT_CONTEXT,
       "a &lt;b&gt;"},
      {AGENTD_EVENT_AFTER_TOOL_CALL, R"({"hook_specific_output":{"additional_context":"c"}})",
       AGENTD_ACT_INJECT_CONTEXT, "c"},
      {AGENTD_EVENT_USER_MESSAGE_SEND, R"({"decision":"deny","reason":"r"})", AGENTD_ACT_BLOCK, "r"},
      {AGENTD_EVENT_AGENT_STOP, R"({"decision":"deny","reason":"retry"})", AGENTD_ACT_CONTINUE, "retry"},
      {AGENTD_EVENT_SESSION_START, R"({"hookSpecificOutput":{"additionalContext":"c"}})", AGENTD_ACT_INJECT_CONTEXT,
       "c"},
      {AGENTD_EVENT_AFTER_MODEL_CALL, R"({"hookSpecificOutput":{"llm_response":{"text":"t"}}})",
       AGENTD_ACT_REPLACE_TEXT, "t"},
      {AGENTD_EVENT_AFTER_MODEL_CALL,
       R"({"hookSpecificOutput":{"llm_response":{"candidates":)"
       R"([{"content":{"parts":["a",{"text":"b"}]}}]}}})",
       AGENTD_ACT_REPLACE_TEXT, "ab"},
  }};
  for (const GeminiAnswerCase& row : table) {
    SCOPED_TRACE(row.json);
    const Verdict verdict = gemini_answered(row.event, 0, row.json);
    const Action action = only_action(verdict);
    EXPECT_EQ(action.kind, row.kind);
    EXPECT_EQ(action.text, row.text);
    EXPECT_TRUE(verdict.warnings.empty()) << verdict.warnings[0];
  }
}

TEST(GeminiOutput, AllowIsNoOpinion) {
  for (const char* const json : {R"({"decision":"allow"})", R"({"decision":"approve"})", "{}"}) {
    const Verdict verdict = gemini_answered(AGENTD_EVENT_BEFORE_TOOL_CALL, 0, json);
    EXPECT_TRUE(verdict.actions.empty() && !verdict.failed && verdict.warnings.empty()) << json;
  }
}

TEST(GeminiOutput, ARewriteIsAPatchOfTheInput) {
  const JsonDocument payload =
      tool_payload(AGENTD_EVENT_BEFORE_TOOL_CALL, "write_file", R"({"path":"a","content":"x"})");
  const Verdict verdict = interpret(hook_for(kGemini, AGENTD_EVENT_BEFORE_TOOL_CALL), payload.root(),
                                    exited(0, R"({"hookSpecificOutput":{"tool_input":{"file_path":"b"}}})"));
  const JsonDocument input = parsed(only_action(verdict).text);
  EXPECT_EQ(input.root()["path"].string_or(""), "b");
  EXPECT_EQ(input.root()["content"].string_or(""), "x");
  EXPECT_EQ(input.root().size(), 2u);
}

TEST(GeminiOutput, StandardErrorStandsInForAnEmptyOutput) {
  EXPECT_EQ(
      only_action(gemini_answered(AGENTD_EVENT_BEFORE_TOOL_CALL, 0, " \n", R"({"decision":"deny","reason":"r"})")).text,
      "r");
  const Verdict logs = gemini_answered(AGENTD_EVENT_BEFORE_TOOL_CALL, 0, "", "debug: all is well\n");
  EXPECT_TRUE(logs.actions.empty() && !logs.failed);
  // Only then: an output that is there is the answer.
  EXPECT_TRUE(gemini_answered(AGENTD_EVENT_BEFORE_TOOL_CALL, 0, "{}", R"({"decision":"deny"})").actions.empty());
}

TEST(GeminiOutput, AJsonStringIsUnwrappedOnce) {
  EXPECT_EQ(
      only_action(gemini_answered(AGENTD_EVENT_BEFORE_TOOL_CALL, 0, R"("{\"decision\":\"deny\",\"reason\":\"r\"}")"))
          .text,
      "r");
  EXPECT_EQ(only_action(gemini_answered(AGENTD_EVENT_BEFORE_TOOL_CALL, 0, R"("\"{}\"")")).kind,
            AGENTD_ACT_SYSTEM_MESSAGE);
}

TEST(GeminiOutput, ALogLineBeforeADenyIsNoAllow) {
  const Verdict verdict = gemini_answered(AGENTD_EVENT_BEFORE_TOOL_CALL, 0, "loading\n{\"decision\":\"deny\"}");
  EXPECT_TRUE(verdict.failed);
  EXPECT_TRUE(contains(verdict.failure.text, "text precedes the JSON object"));
}

TEST(GeminiOutput, BrokenOutputOrWordsAreFailures) {
  for (const char* const out :
       {"{\"decision\":", "{}{}", R"({"decision":"maybe"})", R"({"decision":1})", R"({"hookSpecificOutput":[]})"})
    EXPECT_TRUE(gemini_answered(AGENTD_EVENT_BEFORE_TOOL_CALL, 0, out).failed) << out;
  RawAnswer huge = exited(0, std::string(1000, 'x'));
  huge.out_over_cap = true;
  EXPECT_TRUE(verdict_of(kGemini, AGENTD_EVENT_BEFORE_TOOL_CALL, huge).failed);
}

TEST(GeminiOutput, ContinueFalseEndsTheRunWhereItDoesSoInGemini) {
  for (const std::uint32_t event :
       {AGENTD_EVENT_BEFORE_TOOL_CALL, AGENTD_EVENT_AFTER_TOOL_CALL, AGENTD_EVENT_TOOL_CALL_FAILED,
        AGENTD_EVENT_USER_MESSAGE_SEND, AGENTD_EVENT_AGENT_STOP, AGENTD_EVENT_BEFORE_MODEL_CALL,
        AGENTD_EVENT_AFTER_MODEL_CALL}) {
    const Action action = only_action(gemini_answered(event, 0, R"({"continue":false,"stopReason":"s"})"));
    EXPECT_EQ(action.kind, AGENTD_ACT_STOP_RUN) << event;
    EXPECT_EQ(action.text, "s");
  }
}

TEST(GeminiOutput, WhatCannotBeHonouredIsAWarning) {
  const std::array<std::pair<std::uint32_t, const char*>, 7> table{{
      {AGENTD_EVENT_AFTER_TOOL_CALL, R"({"hookSpecificOutput":{"tailToolCallRequest":{"name":"x","args":{}}}})"},
      {AGENTD_EVENT_AGENT_STOP, R"({"hookSpecificOutput":{"clearContext":true}})"},
      {AGENTD_EVENT_BEFORE_TOOL_CALL, R"({"hookSpecificOutput":{"permissionDecision":"deny"}})"},
      {AGENTD_EVENT_BEFORE_COMPACTION, R"({"decision":"deny","reason":"r"})"},
      {AGENTD_EVENT_SESSION_START, R"({"decision":"deny"})"},
      {AGENTD_EVENT_AFTER_TOOL_CALL, R"({"hookSpecificOutput":{"tool_input":{}}})"},
      {AGENTD_EVENT_BEFORE_COMPACTION, R"({"continue":false})"},
  }};
  for (const auto& [event, json] : table) {
    const Verdict verdict = gemini_answered(event, 0, json);
    EXPECT_TRUE(verdict.actions.empty() && !verdict.failed) << json;
    EXPECT_EQ(verdict.warnings.size(), 1u) << json;
  }
}

// ---- the model

TEST(GeminiModel, ARequestChangesTheModelAndTheMessages) {
  const Verdict verdict = model_answer(R"({"hookSpecificOutput":{"llm_request":{"model":"small","messages":[)"
                                       R"({"role":"system","content":"s"},{"role":"user","content":"short"},)"
                                       R"({"role":"model","content":"ok"}]}}})");
  ASSERT_EQ(kinds_of(verdict), (std::vector<std::uint32_t>{AGENTD_ACT_SET, AGENTD_ACT_REPLACE_MESSAGES}));
  EXPECT_EQ(verdict.actions[0].target, AGENTD_KEY_MODEL);
  EXPECT_EQ(verdict.actions[0].text, "small");
  ASSERT_EQ(verdict.actions[1].parts.size(), 2u);
  EXPECT_EQ(verdict.actions[1].parts[0].literal, Message::of_text(Role::kUser, "short"));
  EXPECT_EQ(verdict.actions[1].parts[1].literal.role, Role::kAssistant);
  EXPECT_EQ(verdict.actions[1].base_revision, 17u);
}

TEST(GeminiModel, ARequestThatComesBackAsItWasChangesNothing) {
  const Verdict verdict = model_answer(R"({"hookSpecificOutput":{"llm_request":{"model":"big","messages":[)"
                                       R"({"role":"system","content":"be kind"},{"role":"user","content":"hi"},)"
                                       R"({"role":"model","content":"hello"}]}}})");
  EXPECT_TRUE(verdict.actions.empty());
  EXPECT_TRUE(verdict.warnings.empty());
}

TEST(GeminiModel, AllowedFunctionsAreTheToolsThatStay) {
  const Action some =
      only_action(model_answer(R"({"hookSpecificOutput":{"toolConfig":{"mode":"AUTO","allowedFunctionNames":)"
                               R"(["run_shell_command","grep_search"]}}})",
                               "BeforeToolSelection"));
  EXPECT_EQ(some.kind, AGENTD_ACT_TOOLS_ENABLE);
  EXPECT_EQ(some.text, "bash,grep");
  const Action none =
      only_action(model_answer(R"({"hookSpecificOutput":{"toolConfig":{"mode":"NONE"}}})", "BeforeToolSelection"));
  EXPECT_EQ(none.kind, AGENTD_ACT_TOOLS_ENABLE);
  EXPECT_EQ(none.text, "");
  EXPECT_TRUE(model_answer(R"({"hookSpecificOutput":{"toolConfig":{"mode":"SOME"}}})", "BeforeToolSelection").failed);
}

TEST(GeminiModel, DenyAbortsTheCallAndNotTheSelection) {
  EXPECT_EQ(only_action(model_answer(R"({"decision":"deny","reason":"r"})")).kind, AGENTD_ACT_BLOCK);
  const Verdict selection = model_answer(R"({"decision":"deny"})", "BeforeToolSelection");
  EXPECT_TRUE(selection.actions.empty());
  EXPECT_EQ(selection.warnings.size(), 1u);
}

TEST(GeminiModel, AMockedResponseIsAWarning) {
  const Verdict verdict = model_answer(R"({"hookSpecificOutput":{"llm_response":{"text":"t"}}})");
  EXPECT_TRUE(verdict.actions.empty());
  EXPECT_TRUE(any_contains(verdict.warnings, "llm_response"));
}

TEST(GeminiModel, ADeniedAnswerIsNotShown) {
  const Verdict verdict =
      gemini_answered(AGENTD_EVENT_AFTER_MODEL_CALL, 0, R"({"decision":"deny","reason":"withheld"})");
  EXPECT_EQ(only_action(verdict).text, "withheld");
  EXPECT_EQ(verdict.warnings.size(), 1u);
}

}  // namespace
}  // namespace agentd
