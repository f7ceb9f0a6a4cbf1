// SPDX-License-Identifier: Apache-2.0
// before_llm_call: the history in docker-agent's form, and a rewritten one in ours.
#include "dialect_support.h"

namespace agentd {
namespace {

constexpr std::string_view kPayload = R"({
  "event":"before_model_call","turn_number":2,"system":"be good","revision":7,
  "messages":[
    {"role":"user","content":"list my secrets","seq":3},
    {"role":"assistant","content":"sure","seq":4,"blocks":[
      {"type":"text","text":"sure"},
      {"type":"tool_use","call_id":"c1","name":"bash","input":{"command":"env"}},
      {"type":"tool_use","call_id":"c2","name":"bash","input":{"command":"ls"}}]},
    {"role":"user","content":"KEY=1","seq":5,"blocks":[
      {"type":"tool_result","call_id":"c1","text":"KEY=1"},
      {"type":"tool_result","call_id":"c2","text":"a b","is_error":true}]},
    {"role":"user","content":"and now?","seq":6}]})";

HookDefinition hook() {
  HookDefinition out = hook_for(Dialect::kDocker, AGENTD_EVENT_BEFORE_MODEL_CALL);
  out.foreign_event = "before_llm_call";
  return out;
}

std::string sent() {
  const auto payload = parsed(std::string(kPayload));
  const auto input = parsed(dialect_input(hook(), payload.root(), {}));
  return input.root()["messages"].text();
}

Verdict answer_with(const std::string& messages) {
  const auto payload = parsed(std::string(kPayload));
  return interpret(hook(), payload.root(),
                   exited(0, R"({"hook_specific_output":{"updated_messages":)" + messages + "}}"));
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

TEST(DockerMessages, AreTheOnesOfAChat) {
  const auto list = parsed(sent());
  ASSERT_EQ(list.root().size(), 6u);
  EXPECT_EQ(list.root().at(0)["role"].string_or(""), "system");
  EXPECT_EQ(list.root().at(0)["content"].string_or(""), "be good");
  const JsonView calls = list.root().at(2)["tool_calls"];
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls.at(0)["function"]["name"].string_or(""), "shell");
  EXPECT_EQ(calls.at(0)["function"]["arguments"].string_or(""), R"({"cmd":"env"})");
  EXPECT_EQ(list.root().at(3)["role"].string_or(""), "tool");
  EXPECT_EQ(list.root().at(3)["tool_call_id"].string_or(""), "c1");
  EXPECT_TRUE(list.root().at(4)["is_error"].bool_or(false));
  EXPECT_EQ(list.root().at(5)["content"].string_or(""), "and now?");
}

TEST(DockerMessages, TheSameHistoryBackIsNoOpinion) {
  const Verdict verdict = answer_with(sent());
  EXPECT_FALSE(verdict.failed) << verdict.failure.text;
  EXPECT_TRUE(verdict.actions.empty());
  EXPECT_TRUE(verdict.warnings.empty());
}

TEST(DockerMessages, NoMessagesAreNoOpinion) {
  EXPECT_TRUE(answer_with("[]").actions.empty());
  EXPECT_FALSE(answer_with("[]").failed);
}

TEST(DockerMessages, ARedactedResultIsALiteralAndTheRestIsKept) {
  const Action action = only_action(answer_with(replaced(sent(), "KEY=1", "KEY=[redacted]")));
  EXPECT_EQ(action.kind, static_cast<std::uint32_t>(AGENTD_ACT_REPLACE_MESSAGES));
  EXPECT_EQ(action.base_revision, 7u);
  ASSERT_EQ(action.parts.size(), 4u);
  EXPECT_EQ(action.parts[0].first, 3u);
  EXPECT_EQ(action.parts[1].first, 4u);
  ASSERT_TRUE(action.parts[2].is_literal());
  ASSERT_EQ(action.parts[2].literal.blocks.size(), 2u) << "both results stay in one message";
  EXPECT_EQ(action.parts[2].literal.blocks[0].text, "KEY=[redacted]");
  EXPECT_EQ(action.parts[2].literal.blocks[1].call_id, "c2");
  EXPECT_NE(action.parts[2].literal.blocks[1].flags & AGENTD_BLOCK_ERROR, 0);
  EXPECT_EQ(action.parts[3].first, 6u);
}

TEST(DockerMessages, AChangedCallHasOurNamesAgain) {
  const Action action = only_action(answer_with(replaced(sent(), R"({\"cmd\":\"env\"})", R"({\"cmd\":\"id\"})")));
  ASSERT_EQ(action.parts.size(), 4u);
  ASSERT_TRUE(action.parts[1].is_literal());
  const Message& message = action.parts[1].literal;
  EXPECT_EQ(message.role, Role::kAssistant);
  ASSERT_EQ(message.blocks.size(), 3u);
  EXPECT_EQ(message.blocks[1].name, "bash");
  EXPECT_EQ(message.blocks[1].json, R"({"command":"id"})");
}

TEST(DockerMessages, ADroppedMessageIsAChange) {
  const Action action = only_action(answer_with(R"([{"role":"user","content":"and now?"}])"));
  ASSERT_EQ(action.parts.size(), 1u);
  EXPECT_EQ(action.parts[0].first, 6u);
}

TEST(DockerMessages, AKeyMayBeWrittenInAnyOrder) {
  const Action action =
      only_action(answer_with(R"([{"content":"list my secrets","role":"user"},{"role":"user","content":"new"}])"));
  ASSERT_EQ(action.parts.size(), 2u);
  EXPECT_EQ(action.parts[0].first, 3u);
  EXPECT_EQ(action.parts[1].literal.text(), "new");
}

TEST(DockerMessages, TheSystemPromptIsNotRewrittenAndThatIsSaid) {
  const Verdict verdict = answer_with(replaced(sent(), "be good", "be bad"));
  EXPECT_TRUE(verdict.actions.empty());
  EXPECT_TRUE(any_contains(verdict.warnings, "system prompt"));
}

TEST(DockerMessages, AnAddedSystemMessageIsContext) {
  std::string list = sent();
  list.insert(list.size() - 1, R"(,{"role":"system","content":"it is noon"})");
  const Action action = only_action(answer_with(list));
  EXPECT_EQ(action.kind, static_cast<std::uint32_t>(AGENTD_ACT_INJECT_CONTEXT));
  EXPECT_EQ(action.text, "it is noon");
}

TEST(DockerMessages, AnUnknownRoleIsAFailure) {
  const Verdict verdict = answer_with(R"([{"role":"robot","content":"x"}])");
  EXPECT_TRUE(verdict.failed);
  EXPECT_TRUE(contains(verdict.failure.text, "robot"));
}

TEST(DockerMessages, ElsewhereTheyAreIgnoredWithAWarning) {
  HookDefinition other = hook();
  other.foreign_event = "turn_start";
  const auto payload = parsed(std::string(kPayload));
  const Verdict verdict =
      interpret(other, payload.root(),
                exited(0, R"({"hook_specific_output":{"updated_messages":[{"role":"user","content":"x"}]}})"));
  EXPECT_TRUE(verdict.actions.empty());
  EXPECT_EQ(verdict.warnings.size(), 1u);
}

TEST(DockerMessages, TheLastUserMessageIsTheUsersOwn) {
  const auto payload = parsed(std::string(kPayload));
  const auto input = parsed(dialect_input(hook(), payload.root(), {}));
  EXPECT_EQ(input.root()["last_user_message"].string_or(""), "and now?");
  EXPECT_EQ(input.root()["iteration"].uint_or(0), 2u);
}

}  // namespace
}  // namespace agentd
