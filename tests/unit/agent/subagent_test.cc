// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/agent_fixture.h"
#include "tests/support/log_records.h"

namespace agentd {
namespace {

using testing::action;
using testing::AgentTest;
using testing::FakeApprover;
using testing::FakeModel;
using testing::read_child;
using testing::TestCall;

class Subagents : public AgentTest {
 protected:
  Subagents() {
    options_.subagents = true;
    tools_.offer("bash");
  }
  FakeModel& ask_task(std::string json = R"({"description":"look around","prompt":"find it"})") {
    return model_.ask_tools({{"task", std::move(json)}});
  }
  // The result of the parent's first tool call.
  Block result() const {
    for (const FakeModel::Seen& request : model_.requests)
      for (const Message& message : request.messages)
        for (const Block& block : message.blocks)
          if (block.kind == BlockKind::kToolResult && block.name == "task") return block;
    return {};
  }
  Ulid child() const {
    for (const StoredRecord& record : log())
      if (record.record.type == RecordType::kChild) return *Ulid::parse(read_child(record.record)->conversation_id);
    return {};
  }
  std::string kinds_of_child() const {
    std::string out;
    (void)store_.read(child(), 1, 0, [&](const StoredRecord& record) {
      out += (out.empty() ? "" : " ") + std::string(name_of(record.record.type));
      return true;
    });
    return out;
  }
};

TEST_F(Subagents, ToolIsOfferedOnlyWhenItIsSwitchedOn) {
  options_.subagents = false;
  open();
  model_.say("one");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(model_.requests[0].tools, std::vector<std::string>{"bash"});
}

TEST_F(Subagents, LastTextOfTheChildIsTheResult) {
  open();
  ask_task().say("it is in the attic").say("done");
  EXPECT_EQ(text_of(run("go")), "done");
  EXPECT_EQ(result().text, "it is in the attic");
  EXPECT_EQ(result().flags, 0);
  ASSERT_EQ(model_.requests.size(), 3u);
  EXPECT_EQ(model_.requests[1].all_text(), "find it\n");
  EXPECT_TRUE(model_.requests[1].system.starts_with("be good\n\n"));
  EXPECT_NE(model_.requests[1].system.find("another agent"), std::string::npos);
}

TEST_F(Subagents, ChildHasAConversationOfItsOwnThatNamesItsParent) {
  open();
  ask_task(R"({"description":"look around","prompt":"find it","agent_type":"scout"})").say("x").say("done");
  ASSERT_TRUE(run("go"));
  const auto info = store_.info(child());
  ASSERT_TRUE(info);
  EXPECT_EQ(info->parent, session_->conversation_id());
  EXPECT_EQ(info->agent_type, "scout");
  EXPECT_EQ(info->title, "look around");
  EXPECT_EQ(kinds_of_child(), "genesis meta run_begin settings user_message assistant_message run_end");
  EXPECT_TRUE(store_.lease(child()));
  EXPECT_TRUE(store_.verify(child()));
  EXPECT_TRUE(store_.info(id())->agent_type.empty());
  for (const StoredRecord& record : log())
    if (record.record.type == RecordType::kChild) {
      const auto record_of = read_child(record.record);
      EXPECT_EQ(record_of->relation, "subagent");
      EXPECT_EQ(record_of->agent_type, "scout");
      EXPECT_EQ(record_of->call_id, "c1");
    }
}

TEST_F(Subagents, RecordOfTheChildIsDurableBeforeItRuns) {
  open();
  ask_task().say("x").say("done");
  std::string seen;
  model_.during = [&](const ModelRequest& request) {
    if (request.conversation_id != session_->conversation_id()) seen = kinds();
  };
  ASSERT_TRUE(run("go"));
  EXPECT_TRUE(seen.ends_with("tool_intent child")) << seen;
}

TEST_F(Subagents, StartAndStopFireWithTheChildsIdentity) {
  std::string order;
  std::string agent_id;
  on(AGENTD_EVENT_SUBAGENT_START, "s", [&](const TestCall& call) {
    const auto& payload = call.payload<agentd_subagent>();
    EXPECT_EQ(view_of(payload.prompt), "find it");
    EXPECT_EQ(view_of(payload.agent_type), "general");
    EXPECT_EQ(payload.depth, 1u);
    EXPECT_EQ(view_of(call.raw.envelope->conversation_id), session_->conversation_id());
    agent_id = std::string(view_of(payload.agent_id));
    return order += "start ", AGENTD_OK;
  });
  on(AGENTD_EVENT_SUBAGENT_STOP, "e", [&](const TestCall& call) {
    const agentd_envelope& from = *call.raw.envelope;
    EXPECT_EQ(view_of(from.agent_id), agent_id);
    EXPECT_EQ(view_of(from.agent_type), "general");
    EXPECT_EQ(from.agent_depth, 1u);
    EXPECT_EQ(from.invoked_by, AGENTD_INVOKED_BY_SUBAGENT);
    EXPECT_NE(view_of(from.conversation_id), session_->conversation_id());
    EXPECT_EQ(view_of(call.payload<agentd_agent_stop>().response), "x");
    return order += "stop ", AGENTD_OK;
  });
  for (const std::uint32_t event :
       {AGENTD_EVENT_AGENT_STOP, AGENTD_EVENT_SESSION_START, AGENTD_EVENT_SESSION_END, AGENTD_EVENT_USER_MESSAGE_SEND})
    on(event, "m", [&, event](const TestCall& call) {
      EXPECT_EQ(call.raw.envelope->agent_depth, 0u);
      return order += std::string(find_event(event)->name) + " ", AGENTD_OK;
    });
  open();
  ask_task().say("x").say("done");
  ASSERT_TRUE(run("go"));
  session_->end("exit");
  EXPECT_EQ(order, "session_start user_message_send start stop agent_stop session_end ");
}

TEST_F(Subagents, GuardDeniesTheSubagentsCommandToo) {
  std::vector<std::uint32_t> depths;
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "guard", [&](const TestCall& call) {
    if (view_of(call.payload<agentd_tool_call>().name) != "bash") return AGENTD_OK;
    depths.push_back(call.raw.envelope->agent_depth);
    return call.answer(action(AGENTD_ACT_BLOCK, "no shell"));
  }).what.flags = AGENTD_HOOK_GATES;
  open();
  ask_task().ask_tools({{"bash", R"({"command":"rm -rf /"})"}}).say("could not").say("done");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(depths, std::vector<std::uint32_t>{1});
  EXPECT_TRUE(tools_.calls.empty());
  EXPECT_NE(kinds_of_child().find("hook_effect"), std::string::npos);
  EXPECT_NE(model_.requests[2].all_text().find("blocked by the hook guard: no shell"), std::string::npos);
}

TEST_F(Subagents, InputOfTheSubagentThatIsReadInTwoWaysReachesNobody) {
  int asked = 0;
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "guard", [&](const TestCall& call) {
    asked += view_of(call.payload<agentd_tool_call>().name) == "bash" ? 1 : 0;
    return AGENTD_OK;
  }).what.flags = AGENTD_HOOK_GATES;
  open();
  ask_task()
      .ask_tools({{"bash", R"({"command":"ls","command":"rm -rf /"})"}, {"bash", "{\"command\":\"\xff\"}"}})
      .say("x")
      .say("done");
  EXPECT_EQ(text_of(run("go")), "done");
  EXPECT_EQ(asked, 0);
  EXPECT_TRUE(tools_.calls.empty());
}

TEST_F(Subagents, DenyRulesHoldForTheSubagent) {
  permissions_.deny = {{"bash", {}, "bash"}};
  open();
  ask_task().ask_tools({{"bash", "{}"}}).say("could not").say("done");
  ASSERT_TRUE(run("go"));
  EXPECT_TRUE(tools_.calls.empty());
}

TEST_F(Subagents, TaskIsNotAskedAboutButTheToolsOfItAre) {
  permissions_.mode = PermissionRules::Mode::kAsk;
  FakeApprover approver;
  approver.answer = {true, true, {}};
  approver_ = &approver;
  open();
  ask_task().ask_tools({{"bash", "{}"}}).say("x").ask_tools({{"bash", "{}"}}).say("done");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(approver.asked, std::vector<std::string>{"bash {}"});
  EXPECT_EQ(tools_.calls.size(), 2u);
}

TEST_F(Subagents, DenyRuleAgainstTaskHolds) {
  permissions_.deny = {{"task", {}, "task"}};
  open();
  ask_task().say("done");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(result().text, "the permission rules do not allow task");
  EXPECT_EQ(child(), Ulid());
}

TEST_F(Subagents, BlockedStartIsADeniedCallWithoutAConversation) {
  on(AGENTD_EVENT_SUBAGENT_START, "guard",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_BLOCK, "no helpers")); });
  open();
  ask_task().say("done");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(result().text, "blocked by the hook guard: no helpers");
  EXPECT_NE(result().flags & AGENTD_BLOCK_ERROR, 0);
  EXPECT_EQ(child(), Ulid());
  EXPECT_EQ(store_.list({})->size(), 1u);
}

TEST_F(Subagents, ContextOfTheStartIsInTheChildsConversation) {
  on(AGENTD_EVENT_SUBAGENT_START, "rules",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_INJECT_CONTEXT, "mind the rules")); });
  open();
  ask_task().say("x").say("done");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(model_.requests[1].all_text(), "find it\nmind the rules\n");
  EXPECT_EQ(model_.requests[2].all_text().find("mind the rules"), std::string::npos);
}

TEST_F(Subagents, StopMayContinueTheChild) {
  on(AGENTD_EVENT_SUBAGENT_STOP, "tests", [](const TestCall& call) {
    const bool first = call.payload<agentd_agent_stop>().continuation == 0;
    return first ? call.answer(action(AGENTD_ACT_CONTINUE, "look again")) : AGENTD_OK;
  });
  open();
  ask_task().say("nothing").say("found it").say("done");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(result().text, "found it");
  EXPECT_EQ(model_.requests[2].all_text(), "find it\nnothing\nlook again\n");
}

TEST_F(Subagents, UsageIsChargedToTheParentAndTheRunButNotToTheGauge) {
  open();
  ask_task();
  model_.answers.back()->usage = Usage{1, 1};
  model_.say("x", Usage{100, 10, 0, 0, 0, 0}).say("done", Usage{207, 1, 0, 0, 0, 0});
  const auto report = run("go");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->usage.input, 308u);
  EXPECT_EQ(store_.info(id())->usage.input, 308u);
  EXPECT_EQ(store_.info(child())->usage.input, 100u);
  EXPECT_EQ(session_->gauge().used, 208u);
}

TEST_F(Subagents, UsageOfAChildThatFailedIsChargedToo) {
  open();
  ask_task();
  model_.ask_tools({{"bash", "{}"}}, Usage{50, 5, 0, 0, 0, 0});
  model_.fail(ModelErrorKind::kServer, "broken").say("done");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(result().text, "the agent failed: broken");
  EXPECT_NE(result().flags & AGENTD_BLOCK_ERROR, 0);
  EXPECT_EQ(store_.info(id())->usage.input, 50u);
}

TEST_F(Subagents, InterruptReachesTheChildAndEndsTheRun) {
  tools_.handler = [&](const ToolCall&) {
    cancel_.cancel(AGENTD_CANCEL_USER);
    return Result<ToolOutcome>(Error{Code::kCancelled, "interrupted"});
  };
  open();
  ask_task().ask_tools({{"bash", "{}"}}).say("never");
  const auto report = run("go");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, RunError::Kind::kCancelled);
  EXPECT_EQ(model_.requests.size(), 2u);
  EXPECT_TRUE(kinds_of_child().ends_with("run_end"));
  EXPECT_TRUE(stored_view().open_calls().empty());
}

TEST_F(Subagents, FullDiskOfTheChildIsAnErrorOfTheCall) {
  store_.refuses = [](std::span<const Record> records) {
    const auto genesis = read_genesis(records.front());
    return genesis && !genesis->agent_type.empty();
  };
  open();
  ask_task().say("done");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(result().text, "the agent failed: the disk is full");
}

TEST_F(Subagents, BadInputIsToldInOneSentence) {
  open();
  ask_task(R"({"description":"x","prompt":" "})").say("done");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(result().text, "task needs a prompt: what is to be done?");
  model_.requests.clear();
  open();
  ask_task(R"({"prompt":"x","agent_type":"a b"})").say("done");
  ASSERT_TRUE(run("go"));
  EXPECT_NE(result().text.find("'a b' is not a valid agent_type"), std::string::npos);
  EXPECT_EQ(child(), Ulid());
}

TEST_F(Subagents, ChildrenHaveChildrenButNoGrandchildren) {
  open();
  model_.ask_tools({{"task", R"({"prompt":"one"})"}});    // depth 0
  model_.ask_tools({{"task", R"({"prompt":"two"})"}});    // depth 1
  model_.ask_tools({{"task", R"({"prompt":"three"})"}});  // depth 2: not offered
  model_.say("2").say("1").say("0");
  EXPECT_EQ(text_of(run("go")), "0");
  const auto offered = [&](std::size_t request) {
    const auto& tools = model_.requests[request].tools;
    return std::find(tools.begin(), tools.end(), "task") != tools.end();
  };
  EXPECT_TRUE(offered(0));
  EXPECT_TRUE(offered(1));
  EXPECT_FALSE(offered(2));
  EXPECT_NE(model_.requests[3].all_text().find("there is no tool named task"), std::string::npos);
  EXPECT_EQ(store_.list({})->size(), 3u);
}

TEST_F(Subagents, LimitOfTurnsIsToldToTheParent) {
  options_.max_turns = 2;
  open();
  ask_task().ask_tools({{"bash", "{}"}}).ask_tools({{"bash", "{}"}}).say("done");
  ASSERT_TRUE(run("go"));
  EXPECT_NE(result().text.find("stopped after 2 turns"), std::string::npos);
}

TEST_F(Subagents, EventsOfTheChildSayWhoseTheyAre) {
  struct Sink final : EventSink {
    void on_event(const RunEvent& event) override { lines += event_json(event) + "\n"; }
    std::string lines;
  } sink;
  publish();
  services_ = make_services(runtime_parts(), runtime_settings());
  AgentParts heard{runtime_parts(), {prompts_, permissions_}, {dispatcher_, tools_, sink, approver_, false}};
  agent_ = make_agent(*services_, std::move(heard), options_);
  open();
  ask_task(R"({"prompt":"p","agent_type":"scout"})").say("of the child").say("done");
  ASSERT_TRUE(run("go"));
  std::size_t of_child = 0;
  for (std::size_t at = 0, end; (end = sink.lines.find('\n', at)) != std::string::npos; at = end + 1) {
    const std::string line = sink.lines.substr(at, end - at);
    const bool names_child = line.find("\"conv_id\":\"" + child().text()) != std::string::npos;
    EXPECT_EQ(line.find(R"("type":"scout","depth":1)") != std::string::npos, names_child) << line;
    of_child += names_child ? 1 : 0;
  }
  EXPECT_GT(of_child, 4u);
}

TEST_F(Subagents, ReceiptsOfTheChildLieWithItsConversation) {
  on(AGENTD_EVENT_SUBAGENT_STOP, "n",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_SYSTEM_MESSAGE, "x")); });
  trace_hooks_ = false;
  open();
  ask_task().say("x").say("done");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(receipts().size(), 0u);
  ASSERT_EQ(receipts(child()).size(), 1u);
  EXPECT_EQ(receipts(child())[0].event, "subagent_stop");
}

TEST_F(Subagents, ToolOfThatNameThatSomebodyBringsStaysTheirs) {
  tools_.offer("task");
  open();
  ask_task().say("done");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(tools_.calls.size(), 1u);
  EXPECT_EQ(child(), Ulid());
}

}  // namespace
}  // namespace agentd
