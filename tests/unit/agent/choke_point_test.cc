// SPDX-License-Identifier: Apache-2.0
// choke_point_test.cc - every way to a tool and to the model passes the same hooks, under the name of its agent.
#include <gtest/gtest.h>

#include <string>

#include "core/agent/waits.h"
#include "tests/support/agent_fixture.h"
#include "tests/support/log_records.h"

namespace agentd {
namespace {

using testing::action;
using testing::AgentTest;
using testing::permission_action;
using testing::TestCall;
using testing::TestHook;

enum class Way {
  kMainLoop,
  kSecondTurn,
  kRecipe,
  kResumedConversation,
  kSubagent,
  kSubagentOfSubagent,
  kGroupOfReads,
  kCallTool,
  kCarriedOn,
  kBehindACarriedOnCall,
  kCarriedOnSubagent,
  kAnswerOfAHook,
  kSteeringMessage,
  kFollowUp,
};
constexpr const char* kWays[] = {
    "MainLoop",        "SecondTurn", "Recipe",    "ResumedConversation",  "Subagent",          "SubagentOfSubagent",
    "GroupOfReads",    "CallTool",   "CarriedOn", "BehindACarriedOnCall", "CarriedOnSubagent", "AnswerOfAHook",
    "SteeringMessage", "FollowUp"};

// On each way exactly one call of the tool "touch" is made, besides calls of "look".
class ChokePoint : public AgentTest, public ::testing::WithParamInterface<Way> {
 protected:
  ChokePoint() {
    options_.subagents = true;
    tools_.offer("touch");
    tools_.offer("look", AGENTD_TOOL_READ_ONLY);
    tools_.offer("wait_for_me");
    on(AGENTD_EVENT_BEFORE_TOOL_CALL, "watch", [&](const TestCall& call) {
      const auto& tool = call.payload<agentd_tool_call>();
      seen_.push_back(name_of(call) + " " + std::string(view_of(tool.name)));
      if (view_of(tool.name) == "wait_for_me") return call.answer(permission_action(AGENTD_PERMISSION_DEFER));
      return AGENTD_OK;
    }).what.flags = AGENTD_HOOK_GATES;
    on(AGENTD_EVENT_BEFORE_MODEL_CALL, "watch", [&](const TestCall& call) {
      asked_.push_back(name_of(call));
      return AGENTD_OK;
    });
  }
  bool carries_on() const {
    return GetParam() == Way::kCarriedOn || GetParam() == Way::kBehindACarriedOnCall ||
           GetParam() == Way::kCarriedOnSubagent;
  }
  bool of_child() const {
    return GetParam() == Way::kSubagent || GetParam() == Way::kSubagentOfSubagent ||
           GetParam() == Way::kCarriedOnSubagent;
  }
  // "main", or the type of the subagent: its id is that of its conversation.
  static std::string name_of(const TestCall& call) {
    const agentd_envelope& from = *call.raw.envelope;
    if (from.agent_depth == 0) return std::string(view_of(from.agent_id));
    EXPECT_EQ(view_of(from.agent_id), view_of(from.conversation_id));
    return std::string(view_of(from.agent_type));
  }
  void guard() {
    on(AGENTD_EVENT_BEFORE_TOOL_CALL, "guard", [&](const TestCall& call) {
      const auto& tool = call.payload<agentd_tool_call>();
      if (view_of(tool.name) != "touch") return AGENTD_OK;
      denied_.push_back(name_of(call));
      return call.answer(action(AGENTD_ACT_BLOCK, "hands off"));
    }).what.flags = AGENTD_HOOK_GATES;
  }
  void asks(std::vector<std::pair<std::string, std::string>> calls) { model_.ask_tools(std::move(calls)); }
  void task(std::string type) { asks({{"task", R"({"prompt":"do it","agent_type":")" + type + "\"}"}}); }
  void touch() { asks({{"touch", "{}"}}); }
  void done() { model_.say("done").say("done").say("done").say("done"); }

  // The call that waits, and a yes in the place of another process.
  void approve(std::string_view text) {
    const auto report = run(text);
    ASSERT_TRUE(report) << report.error().message;
    ASSERT_EQ(report->outcome, RunOutcome::kWaiting);
    const Ulid conversation = id();
    session_.reset();
    const auto found = find_wait(store_, report->waits_for);
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_TRUE(answer_wait(store_, clock_, *found, {WaitDecision::kAllow, "user", "approve", {}}));
    open(conversation);
    done();
    expect_end(session_->carry_on({}, cancel_));
  }

  void go() {
    open();
    switch (GetParam()) {
      case Way::kMainLoop:
        touch();
        break;
      case Way::kSecondTurn:
        asks({{"look", "{}"}});
        touch();
        break;
      case Way::kRecipe: {
        touch();
        done();
        RunRequest request{"deploy it"};
        request.recipe = "deploy";
        return expect_end(session_->run(request, cancel_));
      }
      case Way::kResumedConversation:
        model_.say("hello");
        ASSERT_TRUE(run("hello"));
        reopen();
        touch();
        break;
      case Way::kSubagent:
        task("helper");
        touch();
        break;
      case Way::kSubagentOfSubagent:
        task("first");
        task("helper");
        touch();
        break;
      case Way::kGroupOfReads:
        asks({{"look", "{}"}, {"look", "{}"}, {"touch", "{}"}, {"look", "{}"}});
        break;
      case Way::kCallTool:
        ASSERT_TRUE(session_->call_tool({"touch", "{}"}, cancel_));
        return;
      case Way::kCarriedOn:
        asks({{"wait_for_me", "{}"}});
        touch();
        return approve("go");
      case Way::kBehindACarriedOnCall:
        asks({{"wait_for_me", "{}"}, {"touch", "{}"}});
        return approve("go");
      case Way::kCarriedOnSubagent:
        task("helper");
        asks({{"wait_for_me", "{}"}});
        touch();
        return approve("go");
      case Way::kAnswerOfAHook: {
        on(AGENTD_EVENT_AGENT_STOP, "more", [&](const TestCall& call) {
          return ++stops_ == 1 ? call.answer(action(AGENTD_ACT_CONTINUE, "touch it")) : AGENTD_OK;
        });
        publish();
        model_.say("is that all?");
        touch();
        break;
      }
      case Way::kSteeringMessage:
        asks({{"look", "{}"}});
        tools_.handler = [&](const ToolCall& call) {
          const bool posts = call.name == "look";
          EXPECT_TRUE(!posts || session_->post({PostedMessage::Kind::kSteer, "touch it", {}}));
          return Result<ToolOutcome>(ToolOutcome{true, "seen", {}, {}, 0});
        };
        touch();
        break;
      case Way::kFollowUp:
        ASSERT_TRUE(session_->post({PostedMessage::Kind::kFollowUp, "touch it", {}}));
        model_.say("first");
        touch();
        break;
    }
    done();
    expect_end(run("go"));
  }
  void expect_end(const Result<RunReport, RunError>& report) const {
    const bool blocked = !report && report.error().kind == RunError::Kind::kBlocked;
    EXPECT_TRUE(report || (blocked && may_be_blocked_)) << report.error().message;
  }

  std::size_t touched() const {
    return static_cast<std::size_t>(std::count_if(tools_.calls.begin(), tools_.calls.end(),
                                                  [](const ToolCall& call) { return call.name == "touch"; }));
  }
  std::size_t seen(const std::string& what) const {
    return static_cast<std::size_t>(std::count(seen_.begin(), seen_.end(), what));
  }

  std::vector<std::string> seen_;    // at before_tool_call: "main touch"
  std::vector<std::string> denied_;  // agents whose call of "touch" the guard has denied
  std::vector<std::string> asked_;   // at before_model_call
  int stops_ = 0;
  bool may_be_blocked_ = false;  // the run, by a hook of model calls
};

INSTANTIATE_TEST_SUITE_P(Ways, ChokePoint,
                         ::testing::Values(Way::kMainLoop, Way::kSecondTurn, Way::kRecipe, Way::kResumedConversation,
                                           Way::kSubagent, Way::kSubagentOfSubagent, Way::kGroupOfReads, Way::kCallTool,
                                           Way::kCarriedOn, Way::kBehindACarriedOnCall, Way::kCarriedOnSubagent,
                                           Way::kAnswerOfAHook, Way::kSteeringMessage, Way::kFollowUp),
                         [](const auto& way) { return std::string(kWays[static_cast<int>(way.param)]); });

TEST_P(ChokePoint, EveryToolAndModelCallIsSeenUnderItsAgent) {
  go();
  EXPECT_EQ(touched(), 1u);
  EXPECT_EQ(seen(of_child() ? "helper touch" : "main touch"), 1u) << seen_.size();
  // A call that has waited is seen a second time.
  EXPECT_EQ(seen_.size(), tools_.calls.size() + (carries_on() ? 1 : 0) + seen("main task") + seen("first task"));
  EXPECT_EQ(asked_.size(), model_.requests.size());
}

TEST_P(ChokePoint, AGuardThatDeniesIsObeyed) {
  guard();
  go();
  EXPECT_EQ(touched(), 0u);
  EXPECT_EQ(denied_, std::vector<std::string>{of_child() ? "helper" : "main"});
}

TEST_P(ChokePoint, ARuleThatDeniesIsObeyed) {
  permissions_.deny = {{"touch", {}, "touch"}};
  go();
  EXPECT_EQ(touched(), 0u);
}

// The model call that leads to the call of "touch", or on one way the call behind it, is refused: it is not made.
class ModelChokePoint : public ChokePoint {
 protected:
  // Its number among the model calls of its agent.
  int refused_call() const {
    switch (GetParam()) {
      case Way::kMainLoop:
      case Way::kRecipe:
      case Way::kSubagent:
      case Way::kSubagentOfSubagent:
      case Way::kGroupOfReads:
        return 1;
      default:
        return 2;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Ways, ModelChokePoint,
                         ::testing::Values(Way::kMainLoop, Way::kSecondTurn, Way::kRecipe, Way::kResumedConversation,
                                           Way::kSubagent, Way::kSubagentOfSubagent, Way::kGroupOfReads,
                                           Way::kCarriedOn, Way::kBehindACarriedOnCall, Way::kCarriedOnSubagent,
                                           Way::kAnswerOfAHook, Way::kSteeringMessage, Way::kFollowUp),
                         [](const auto& way) { return std::string(kWays[static_cast<int>(way.param)]); });

TEST_P(ModelChokePoint, AModelCallThatIsRefusedIsNotMade) {
  int calls = 0, refused = 0;
  on(AGENTD_EVENT_BEFORE_MODEL_CALL, "closed", [&](const TestCall& call) {
    if (name_of(call) != (of_child() ? "helper" : "main") || ++calls != refused_call()) return AGENTD_OK;
    ++refused;
    model_.answers.pop_front();  // the answer that the model would have given
    return call.answer(action(AGENTD_ACT_BLOCK, "closed"));
  });
  may_be_blocked_ = true;
  go();
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(touched(), GetParam() == Way::kBehindACarriedOnCall ? 1u : 0u);
  // The hook "watch" comes behind the one that refuses.
  EXPECT_EQ(asked_.size(), model_.requests.size());
}

}  // namespace
}  // namespace agentd
