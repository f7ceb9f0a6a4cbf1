// SPDX-License-Identifier: Apache-2.0
// secrets_test.cc - no secret that a tool puts out is seen behind the tool, and no call writes a placeholder over one.
#include "core/scrub/secrets.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "core/agent/receipts.h"
#include "core/agent/waits.h"
#include "tests/support/agent_fixture.h"
#include "tests/unit/scrub/canaries.h"

namespace agentd {
namespace {

using testing::action;
using testing::AgentTest;
using testing::Canaries;
using testing::FakeModel;
using testing::permission_action;
using testing::TestCall;

class SecretsInRuns : public AgentTest {
 protected:
  SecretsInRuns() {
    secrets_ = known_.get();
    tools_.offer("bash");
    tools_.offer("grep", AGENTD_TOOL_READ_ONLY);
    tools_.offer("edit_file");
    tools_.offered.back().takes_placeholders = true;
    tools_.handler = [this](const ToolCall&) {
      ToolOutcome out;
      out.success = succeeds_;
      out.content = output_;
      return Result<ToolOutcome>(out);
    };
  }
  static std::unique_ptr<Secrets> made() {
    auto out = Secrets::make({}, [] { return Result<std::string>(std::string(32, 'k')); });
    EXPECT_TRUE(out);
    return std::move(*out);
  }
  static bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

  // All that is stored and told, and all that hooks and the model were given.
  std::string everything() const {
    std::string out;
    for (const StoredRecord& record : log()) out += record.record.payload + "\n";
    for (const FakeModel::Seen& request : model_.requests) out += request.all_text();
    for (const auto& told : events_.told)
      out += told.text + "\n" + told.detail + "\n" + told.name + "\n" + told.effect + "\n" + told.reason + "\n";
    for (const HookReceipt& receipt : receipts()) {
      out += receipt.answer + "\n" + receipt.note + "\n";
      out += rebuild_payload(store_, id(), receipt).value_or("") + "\n";
    }
    for (const std::string& line : log_.lines) out += line + "\n";
    return out + heard_;
  }
  // Hooks that only listen, at every event of a tool's call.
  void listen() {
    for (const std::uint32_t event : {AGENTD_EVENT_AFTER_TOOL_CALL, AGENTD_EVENT_TOOL_CALL_FAILED})
      on(event, "z_listen", [this](const TestCall& call) {
        const auto& tool = call.payload<agentd_tool_call>();
        heard_ += std::string(view_of(tool.result->content)) + "\n" + std::string(view_of(tool.result->error)) + "\n";
        return AGENTD_OK;
      });
  }
  void one_call(std::string json = "{}", std::string tool = "bash") {
    if (!session_) open();
    model_.ask_tools({{std::move(tool), std::move(json)}}).say("done");
    EXPECT_EQ(text_of(run("go")), "done");
  }
  ToolResultRecord result() const {
    ToolResultRecord out;
    for (const StoredRecord& record : log())
      if (record.record.type == RecordType::kToolResult) out = *read_tool_result(record.record);
    return out;
  }
  std::string with_placeholder() const { return R"({"command":"echo )" + placeholder_ + R"( >f"})"; }

  const std::unique_ptr<Secrets> known_ = made();
  const std::string token_ = Canaries(41).make("ghp_{a36}").secret;
  const std::string placeholder_ = known_->pass(token_).text;
  std::string output_ = "the token is " + token_ + "\n", heard_;
  bool succeeds_ = true;
};

// ---- the border

TEST_F(SecretsInRuns, WhatAToolPutsOutIsCleanForAllBehindIt) {
  listen();
  one_call();
  EXPECT_EQ(result().text, "the token is " + placeholder_ + "\n");
  EXPECT_EQ(result().scrubbed, (std::map<std::string, std::size_t>{{"github-token", 1}}));
  EXPECT_EQ(result().full_bytes, result().text.size());
  EXPECT_FALSE(has(everything(), token_)) << everything();
  EXPECT_TRUE(has(heard_, placeholder_));
  ASSERT_EQ(events_.of(RunEvent::Type::kNotice).size(), 1u);
  EXPECT_EQ(events_.of(RunEvent::Type::kNotice)[0].text, "1 secret was replaced (github-token) in the output of bash");
}

TEST_F(SecretsInRuns, WithoutTheBorderTheyAreEverywhere) {
  secrets_ = nullptr;
  listen();
  one_call();
  EXPECT_TRUE(has(result().text, token_));
  EXPECT_TRUE(has(heard_, token_));
  EXPECT_TRUE(has(model_.requests.at(1).all_text(), token_));
  EXPECT_TRUE(result().scrubbed.empty());
  EXPECT_TRUE(events_.of(RunEvent::Type::kNotice).empty());
}

TEST_F(SecretsInRuns, AFailedToolIsCleanToo) {
  listen();
  succeeds_ = false;
  one_call();
  EXPECT_FALSE(has(everything(), token_));
  EXPECT_TRUE(has(heard_, placeholder_));
}

TEST_F(SecretsInRuns, AToolThatCouldNotRunIsCleanToo) {
  listen();
  tools_.handler = [this](const ToolCall&) {
    return Result<ToolOutcome>(Error{Code::kUnavailable, "no answer from https://u:" + token_ + "@host"});
  };
  one_call();
  EXPECT_FALSE(has(everything(), token_)) << everything();
  tools_.handler = [this](const ToolCall&) -> Result<ToolOutcome> { throw std::runtime_error("thrown " + token_); };
  one_call();
  EXPECT_FALSE(has(everything(), token_)) << everything();
}

TEST_F(SecretsInRuns, AToolWithoutSecretsIsAsItWas) {
  output_ = "nothing to see: [secret:github-token:1a2b3c4d-5e6f]\n";
  one_call();
  EXPECT_EQ(result().text, output_);
  EXPECT_TRUE(events_.of(RunEvent::Type::kNotice).empty());
}

// Half a secret is not known as one.
TEST_F(SecretsInRuns, ASecretWhereALongOutputIsCutIsGone) {
  output_ = std::string(128 * 1024 - 20, '.') + " " + token_ + " " + std::string(300 * 1024, '.');
  one_call();
  for (std::size_t at = 0; at + 12 <= token_.size(); ++at)
    ASSERT_FALSE(has(result().text, token_.substr(at, 12))) << token_.substr(at, 12);
}

TEST_F(SecretsInRuns, WhatAHookMakesOfAnOutputPassesOnceMore) {
  output_ = "nothing\n";
  on(AGENTD_EVENT_AFTER_TOOL_CALL, "a_reword", [this](const TestCall& call) {
    call.emit(action(AGENTD_ACT_INJECT_CONTEXT, "by the way: " + token_));
    return call.answer(action(AGENTD_ACT_REPLACE_TEXT, "reworded " + token_));
  });
  listen();
  one_call();
  EXPECT_EQ(result().text, "reworded " + placeholder_);
  EXPECT_EQ(result().scrubbed, (std::map<std::string, std::size_t>{{"github-token", 1}}));
  EXPECT_TRUE(has(heard_, placeholder_));
  EXPECT_TRUE(has(model_.requests.at(1).all_text(), "by the way: " + placeholder_));
  EXPECT_FALSE(has(everything(), token_)) << everything();
}

// At every event: a hook may have read a file, or run a command.
TEST_F(SecretsInRuns, WhatHooksAddForTheModelIsClean) {
  output_ = "nothing\n";
  const auto adds = [this](std::uint32_t event, const std::string& name) {
    on(event, name, [this, name](const TestCall& call) {
      call.emit(action(AGENTD_ACT_SYSTEM_MESSAGE, name + " noted " + token_));
      return call.answer(action(AGENTD_ACT_INJECT_CONTEXT, name + " adds " + token_));
    });
  };
  adds(AGENTD_EVENT_SESSION_START, "at_start");
  adds(AGENTD_EVENT_USER_MESSAGE_SEND, "at_message");
  adds(AGENTD_EVENT_BEFORE_MODEL_CALL, "at_request");
  adds(AGENTD_EVENT_BEFORE_TOOL_CALL, "at_call");
  int stops = 0;
  on(AGENTD_EVENT_AGENT_STOP, "at_stop", [this, &stops](const TestCall& call) {
    return ++stops == 1 ? call.answer(action(AGENTD_ACT_CONTINUE, "the check says " + token_)) : AGENTD_OK;
  });
  open();
  model_.ask_tools({{"bash", "{}"}}).say("first").say("second");
  EXPECT_EQ(text_of(run("go")), "second");
  const std::string last = model_.requests.back().all_text();
  for (const std::string& name : {std::string("at_message"), std::string("at_request"), std::string("at_call")})
    EXPECT_TRUE(has(last, name + " adds " + placeholder_)) << name << "\n" << last;
  EXPECT_TRUE(has(last, "the check says " + placeholder_)) << last;
  EXPECT_TRUE(has(model_.requests.back().system, "at_start adds " + placeholder_));
  EXPECT_FALSE(has(everything(), token_)) << everything();
}

TEST_F(SecretsInRuns, WhyAHookRefusesOrFailsIsClean) {
  bool fails = false;
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "strict", [this, &fails](const TestCall& call) -> agentd_status {
    if (fails) {
      call.slot.fail(call.raw.token, AGENTD_E_INTERNAL, "no idea what to do with " + token_);
      return AGENTD_E_INTERNAL;
    }
    return call.answer(action(AGENTD_ACT_BLOCK, "the file has " + token_));
  });
  one_call();
  EXPECT_EQ(result().text, "blocked by the hook strict: the file has " + placeholder_);
  fails = true;
  one_call();
  EXPECT_FALSE(has(everything(), token_)) << everything();
  EXPECT_TRUE(has(everything(), "no idea what to do with " + placeholder_));
}

TEST_F(SecretsInRuns, ACallWithoutAModelIsCleanToo) {
  open();
  const auto report = session_->call_tool({"bash", "{}"}, cancel_);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->text, "the token is " + placeholder_ + "\n");
  EXPECT_FALSE(has(everything(), token_));
}

TEST_F(SecretsInRuns, ASubagentsToolsAndItsResultAreClean) {
  options_.subagents = true;
  open();
  model_.ask_tools({{"task", R"({"prompt":"look"})"}}).ask_tools({{"bash", "{}"}}).say("found " + token_).say("done");
  EXPECT_EQ(text_of(run("go")), "done");
  for (const FakeModel::Seen& request : model_.requests) EXPECT_FALSE(has(request.all_text(), token_));
  EXPECT_EQ(result().text, "found " + placeholder_);
}

// ---- what the user writes

TEST_F(SecretsInRuns, MessagesStayAsTheyAreUnlessTheSettingSaysOtherwise) {
  open();
  model_.say("done");
  ASSERT_TRUE(run("my token is " + token_));
  EXPECT_TRUE(has(model_.requests.at(0).all_text(), token_));
}

TEST_F(SecretsInRuns, MessagesAreCleanWhereTheSettingSaysSo) {
  settings_.scrub_input = true;
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "z_listen", [this](const TestCall& call) {
    heard_ += view_of(call.payload<agentd_user_message>().text);
    return AGENTD_OK;
  });
  open();
  ASSERT_TRUE(session_->post({PostedMessage::Kind::kFollowUp, "and again " + token_}));
  model_.say("done").say("done");
  ASSERT_TRUE(run("my token is " + token_));
  EXPECT_EQ(model_.requests.at(0).all_text(), "my token is " + placeholder_ + "\n");
  EXPECT_FALSE(has(everything(), token_)) << everything();
  EXPECT_TRUE(has(heard_, placeholder_));
}

TEST_F(SecretsInRuns, TheReasonOfARefusalIsAMessageToo) {
  testing::FakeApprover approver;
  approver.answer.reason = "use " + token_;
  approver_ = &approver;
  permissions_.mode = PermissionRules::Mode::kAsk;
  settings_.scrub_input = true;
  one_call();
  EXPECT_EQ(result().text, "not permitted: use " + placeholder_);
  EXPECT_FALSE(has(everything(), token_)) << everything();
}

TEST_F(SecretsInRuns, TheReasonOfARefusalGoesThroughElsewhere) {
  testing::FakeApprover approver;
  approver.answer.reason = "use " + token_;
  approver_ = &approver;
  permissions_.mode = PermissionRules::Mode::kAsk;
  one_call();
  EXPECT_EQ(result().text, "not permitted: use " + token_);
}

// ---- the guard

TEST_F(SecretsInRuns, ACallThatWouldWriteAPlaceholderIsRefusedBeforeAnybodyIsAsked) {
  testing::FakeApprover approver;
  approver.answer.allowed = true;
  approver_ = &approver;
  permissions_.mode = PermissionRules::Mode::kAsk;
  one_call(with_placeholder());
  EXPECT_TRUE(tools_.calls.empty());
  EXPECT_TRUE(approver.asked.empty());
  EXPECT_EQ(result().status, "denied");
  EXPECT_TRUE(result().text.starts_with("the member command of bash has " + placeholder_ +
                                        ", which stands for a secret that was removed from what you read; nothing"))
      << result().text;
  // Control: without one it is asked about, and runs.
  one_call(R"({"command":"echo [secret:github-token:1a2b3c4d-5e6f] >f"})");
  EXPECT_EQ(approver.asked.size(), 1u);
  EXPECT_EQ(tools_.calls.size(), 1u);
}

TEST_F(SecretsInRuns, NoPermissionOfAHookOrARulePassesTheGuard) {
  permissions_.allow = {{"*", {}, "*"}};
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "eager",
     [](const TestCall& call) { return call.answer(permission_action(AGENTD_PERMISSION_ALLOW)); });
  one_call(with_placeholder());
  EXPECT_TRUE(tools_.calls.empty());
  EXPECT_EQ(result().status, "denied");
}

TEST_F(SecretsInRuns, TheInputThatAHookWroteIsTheOneThatCounts) {
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "rewrite",
     [this](const TestCall& call) { return call.answer(action(AGENTD_ACT_REPLACE_TEXT, with_placeholder())); });
  one_call();
  EXPECT_TRUE(tools_.calls.empty());
  EXPECT_EQ(result().status, "denied");
}

TEST_F(SecretsInRuns, ToolsThatReadAndTheOneThatLeadsBackTakePlaceholders) {
  one_call(R"({"pattern":")" + placeholder_ + R"("})", "grep");
  one_call(R"({"old_string":")" + placeholder_ + R"("})", "edit_file");
  EXPECT_EQ(tools_.calls.size(), 2u);
}

TEST_F(SecretsInRuns, ACallWithoutAModelAndASubagentsCallAreHeldToIt) {
  options_.subagents = true;
  open();
  const auto report = session_->call_tool({"bash", with_placeholder()}, cancel_);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->status, ToolStatus::kDenied);
  // The prompt of a subagent is text for a model; its calls are judged one by one.
  model_.ask_tools({{"task", R"({"prompt":"write )" + placeholder_ + R"("})"}});
  model_.ask_tools({{"bash", with_placeholder()}}).say("refused").say("done");
  EXPECT_EQ(text_of(run("go")), "done");
  EXPECT_EQ(result().text, "refused");
  EXPECT_TRUE(tools_.calls.empty());
}

// A call that waited may come from an agentd which looked for no secrets.
TEST_F(SecretsInRuns, ACallThatWasAllowedEarlierIsHeldToItWhenItIsCarriedOn) {
  secrets_ = nullptr;
  permissions_.mode = PermissionRules::Mode::kAsk;
  options_.waits = true;
  open();
  model_.ask_tools({{"bash", with_placeholder()}});
  const auto waiting = run("go");
  ASSERT_TRUE(waiting);
  ASSERT_EQ(waiting->outcome, RunOutcome::kWaiting);
  const Ulid conversation = id();
  session_.reset();
  auto found = find_wait(store_, waiting->waits_for);
  ASSERT_TRUE(found);
  ASSERT_TRUE(answer_wait(store_, clock_, *found, {WaitDecision::kAllow, "user", "approve", ""}));
  agent_.reset();
  services_.reset();
  secrets_ = known_.get();
  open(conversation);
  model_.say("done");
  ASSERT_TRUE(session_->carry_on({}, cancel_));
  EXPECT_TRUE(tools_.calls.empty());
  EXPECT_EQ(result().status, "denied");
}

}  // namespace
}  // namespace agentd
