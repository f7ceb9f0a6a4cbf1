// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "core/base/hash.h"
#include "tests/support/agent_fixture.h"
#include "tests/support/log_records.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

using testing::action;
using testing::AgentTest;
using testing::FakeApprover;
using testing::permission_action;
using testing::TestCall;

class ToolCalls : public AgentTest {
 protected:
  ToolCalls() {
    tools_.offer("bash");
    tools_.offer("grep");
  }
  // One turn with one call of bash, then the end; the tool's result as the model saw it.
  Block result_of_one_call(std::string json = R"({"command":"ls"})") {
    open();
    model_.ask_tools({{"bash", std::move(json)}}).say("done");
    EXPECT_EQ(text_of(run("go")), "done");
    return model_.requests.at(1).messages.back().blocks.at(0);
  }
  // The input of the first call as the log has it, and with it every later request.
  std::string stored_call() {
    for (const StoredRecord& record : log()) {
      if (record.record.type != RecordType::kAssistantMessage) continue;
      const auto read = read_message(record.record);
      if (!read) return "unreadable";
      for (const Block& block : read->message.blocks)
        if (block.kind == BlockKind::kToolUse) return block.json;
    }
    return "none";
  }
  std::string status_of_one_call() {
    for (const StoredRecord& record : log())
      if (record.record.type == RecordType::kToolResult) return read_tool_result(record.record)->status;
    return "none";
  }
};

TEST_F(ToolCalls, ToolTurnGoesFromCallToAnswer) {
  const Block result = result_of_one_call();
  EXPECT_EQ(result.kind, BlockKind::kToolResult);
  EXPECT_EQ(result.text, "output of bash");
  EXPECT_EQ(result.call_id, "c1");
  EXPECT_EQ(result.flags, 0);
  EXPECT_EQ(tools_.calls.at(0).input.text(), R"({"command":"ls"})");
  EXPECT_EQ(kinds(),
            "genesis run_begin settings user_message assistant_message tool_intent tool_result "
            "assistant_message run_end");
  EXPECT_TRUE(tools_.offered.size() == 2 && model_.requests[0].tools.size() == 2);
}

TEST_F(ToolCalls, IntentIsDurableBeforeTheToolRuns) {
  std::string seen;
  tools_.handler = [&](const ToolCall& call) {
    seen = kinds();
    const auto intent = read_tool_intent(log().back().record);
    EXPECT_TRUE(intent);
    EXPECT_EQ(intent->call_id, call.call_id);
    EXPECT_EQ(intent->input_digest, hex(sha256(call.input.text())));
    return Result<ToolOutcome>(ToolOutcome{});
  };
  result_of_one_call();
  EXPECT_EQ(seen, "genesis run_begin settings user_message assistant_message tool_intent");
}

TEST_F(ToolCalls, ToolDoesNotRunWhenItsIntentCannotBeWritten) {
  store_.refuses = [](std::span<const Record> records) { return records.back().type == RecordType::kToolIntent; };
  open();
  model_.ask_tools({{"bash", "{}"}});
  const auto report = run("go");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, RunError::Kind::kStore);
  EXPECT_TRUE(tools_.calls.empty());
}

TEST_F(ToolCalls, ParallelCallsAllGetTheirResultsInOrder) {
  open();
  model_.ask_tools({{"bash", R"({"n":1})"}, {"grep", R"({"n":2})"}, {"bash", R"({"n":3})"}}).say("done");
  EXPECT_EQ(text_of(run("go")), "done");
  ASSERT_EQ(tools_.calls.size(), 3u);
  const auto& seen = model_.requests[1].messages;
  ASSERT_EQ(seen.size(), 5u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(seen[2 + i].blocks[0].call_id, "c" + std::to_string(i + 1));
  EXPECT_TRUE(stored_view().open_calls().empty());
}

TEST_F(ToolCalls, UnknownToolIsAnErrorForTheModel) {
  open();
  model_.ask_tools({{"bsh", "{}"}}).say("done");
  EXPECT_EQ(text_of(run("go")), "done");
  const Block& result = model_.requests[1].messages.back().blocks[0];
  EXPECT_EQ(result.text, "there is no tool named bsh");
  EXPECT_NE(result.flags & AGENTD_BLOCK_ERROR, 0);
  EXPECT_TRUE(tools_.calls.empty());
}

TEST_F(ToolCalls, InputThatIsNoObjectIsAnErrorForTheModel) {
  for (const char* const json : {"[1]", "{\"a\":", "7", "nonsense"}) {
    const Block result = result_of_one_call(json);
    EXPECT_NE(result.text.find("is not a JSON object"), std::string::npos) << json;
    EXPECT_TRUE(tools_.calls.empty());
    model_.requests.clear();
  }
}

// Each is read differently by our parser, jq, Python and Node: nobody is asked, nothing runs.
TEST_F(ToolCalls, InputThatIsReadInTwoWaysReachesNobody) {
  using namespace std::string_literals;
  int asked = 0;
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "guard", [&](const TestCall&) { return ++asked, AGENTD_OK; }).what.flags =
      AGENTD_HOOK_GATES;
  for (const std::string& json :
       {R"({"command":"ls","command":"rm -rf /"})"s, "\xEF\xBB\xBF{\"command\":\"ls\"}"s, "{\"command\":\"ls\"}\0"s,
        "{\"command\":\"ls\"}\0{\"command\":\"rm\"}"s, R"({"command":"\ud800"})"s, "{\"command\":\"\xff\"}"s,
        R"({"n":12345678901234567890})"s, R"({"n":1e999})"s,
        "{\"a\":" + std::string(64, '[') + std::string(64, ']') + "}"}) {
    const Block result = result_of_one_call(json);
    EXPECT_TRUE(result.text.starts_with("the input of bash ")) << result.text;
    EXPECT_NE(result.flags & AGENTD_BLOCK_ERROR, 0);
    EXPECT_TRUE(tools_.calls.empty()) << ::testing::PrintToString(json);
    EXPECT_EQ(status_of_one_call(), "invalid");
    EXPECT_EQ(kinds().find("tool_intent"), std::string::npos);
    // What the model is shown of its own call is an object again.
    EXPECT_TRUE(stored_call().starts_with("{\"raw\":\"")) << stored_call();
    model_.requests.clear();
  }
  EXPECT_EQ(asked, 0);
  const Block result = result_of_one_call(R"({"command":"ls","command":"rm -rf /"})");
  EXPECT_NE(result.text.find("has the key \"command\" twice"), std::string::npos) << result.text;
}

TEST_F(ToolCalls, APictureInAResultIsAPartOfIt) {
  tools_.handler = [](const ToolCall&) {
    Block picture;
    picture.kind = BlockKind::kImage;
    picture.name = "image/png";
    picture.opaque = "iVBORw0KGgo=";
    ToolOutcome outcome;
    outcome.content = "a.png is a picture";
    outcome.parts.push_back(picture);
    return Result<ToolOutcome>(outcome);
  };
  const Block result = result_of_one_call();
  EXPECT_EQ(result.text, "a.png is a picture");
  ASSERT_EQ(result.parts.size(), 1u);
  EXPECT_EQ(result.parts[0].name, "image/png");
  EXPECT_EQ(result.parts[0].opaque, "iVBORw0KGgo=");
}

TEST_F(ToolCalls, APlanInAResultIsToldToTheSurface) {
  tools_.handler = [](const ToolCall&) {
    ToolOutcome outcome;
    outcome.structured_json = R"({"plan":[{"content":"read","status":"completed"},)"
                              R"({"content":"write","status":"pending","priority":"high"}]})";
    return Result<ToolOutcome>(outcome);
  };
  result_of_one_call();
  const auto plans = events_.of(RunEvent::Type::kPlan);
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_EQ(plans.front().text, "read completed medium; write pending high");
}

// A plan repeats what the output says.
TEST_F(ToolCalls, AnEntryThatAHookTakesOutOfTheOutputIsNotToldInAPlan) {
  tools_.handler = [](const ToolCall&) {
    ToolOutcome outcome;
    outcome.content = "1. fetch the s3cret";
    outcome.structured_json = R"({"plan":[{"content":"fetch the s3cret","status":"pending"}]})";
    return Result<ToolOutcome>(outcome);
  };
  std::string output = "1. fetch the s3cret (noted)";
  on(AGENTD_EVENT_AFTER_TOOL_CALL, "cleaner",
     [&](const TestCall& call) { return call.answer(action(AGENTD_ACT_REPLACE_TEXT, output)); });
  result_of_one_call();
  EXPECT_EQ(events_.of(RunEvent::Type::kPlan).size(), 1u) << "the control: the output still tells it";
  output = "1. fetch the [removed]";
  result_of_one_call();
  EXPECT_EQ(events_.of(RunEvent::Type::kPlan).size(), 1u);
}

TEST_F(ToolCalls, WhatIsNoPlanIsNotToldAsOne) {
  for (const char* const structured :
       {"", "{}", "not \"plan\" json", R"({"plan":7})", R"({"plan":[7]})", R"({"plan":[{"content":"x"}]})",
        R"({"plan":[{"content":"","status":"pending"}]})", R"({"plan":[{"content":"x","status":"done"}]})",
        R"({"plan":[{"content":"x","status":"pending","priority":"urgent"}]})"})
    EXPECT_FALSE(plan_in(structured)) << structured;
  std::string many = R"({"plan":[)";
  for (std::size_t i = 0; i <= kPlanEntriesMax; ++i)
    many += std::string(i == 0 ? "" : ",") + R"({"content":"x","status":"pending"})";
  EXPECT_FALSE(plan_in(many + "]}"));
  EXPECT_TRUE(plan_in(R"({"plan":[]})"));
  // Of a tool that has failed it is none either.
  tools_.handler = [&](const ToolCall&) {
    ToolOutcome outcome;
    outcome.success = false;
    outcome.structured_json = R"({"plan":[{"content":"x","status":"pending"}]})";
    return Result<ToolOutcome>(outcome);
  };
  result_of_one_call();
  EXPECT_TRUE(events_.of(RunEvent::Type::kPlan).empty());
}

// A client's own call passes the same door.
TEST_F(ToolCalls, InputOfADirectCallThatIsReadInTwoWaysReachesNobody) {
  int asked = 0;
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "guard", [&](const TestCall&) { return ++asked, AGENTD_OK; }).what.flags =
      AGENTD_HOOK_GATES;
  open();
  for (const char* const json : {R"({"command":"ls","command":"rm -rf /"})", "{\"command\":\"\xff\"}",
                                 R"({"a":{"b":1,"\u0062":2}})", R"({"command":"\udc00"})", R"(["ls"])"}) {
    const auto report = session_->call_tool({"bash", json}, cancel_);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->status, ToolStatus::kInvalid) << json;
    EXPECT_TRUE(report->text.starts_with("the input of bash ")) << report->text;
  }
  EXPECT_EQ(asked, 0);
  EXPECT_TRUE(tools_.calls.empty());
  EXPECT_EQ(kinds().find("tool_intent"), std::string::npos) << kinds();
  ASSERT_TRUE(session_->call_tool({"bash", R"({"command":"ls"})"}, cancel_));
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(tools_.calls.size(), 1u);
}

constexpr const char* kBashSchema =
    R"({"type":"object","additionalProperties":false,"required":["command"],"properties":{)"
    R"("command":{"type":"string"},"timeout_ms":{"type":"integer","maximum":600},)"
    R"("mode":{"type":["string","null"]}}})";

TEST_F(ToolCalls, InputThatDoesNotFitTheSchemaReachesNobody) {
  int asked = 0;
  tools_.offered[0].input_schema_json = kBashSchema;
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "guard", [&](const TestCall&) { return ++asked, AGENTD_OK; }).what.flags =
      AGENTD_HOOK_GATES;
  const std::vector<std::pair<std::string, std::string>> wrong{
      {R"({"command":7})", R"(/command breaks "type": "string")"},
      {R"({})", R"(breaks "required": ["command"])"},
      {R"({"command":null})", R"(breaks "required": ["command"])"},
      {R"({"command":"ls","timeout_ms":601})", R"(/timeout_ms breaks "maximum": 600)"},
      {R"({"command":"ls","shell":"sh"})", R"(/shell breaks "additionalProperties": false)"}};
  for (const auto& [json, rule] : wrong) {
    const Block result = result_of_one_call(json);
    EXPECT_TRUE(result.text.starts_with("the input of bash does not fit the tool's schema: ")) << result.text;
    EXPECT_NE(result.text.find(rule), std::string::npos) << result.text;
    EXPECT_NE(result.flags & AGENTD_BLOCK_ERROR, 0);
    EXPECT_EQ(status_of_one_call(), "invalid");
    EXPECT_EQ(kinds().find("tool_intent"), std::string::npos);
    // The log keeps what the model wrote.
    EXPECT_EQ(stored_call(), json);
    model_.requests.clear();
  }
  EXPECT_EQ(asked, 0);
  EXPECT_TRUE(tools_.calls.empty());
}

TEST_F(ToolCalls, ANullThatTheSchemaDoesNotKnowIsAnAbsentMember) {
  tools_.offered[0].input_schema_json = kBashSchema;
  for (const char* const json : {R"({"command":"ls","timeout_ms":null})", R"({"command":"ls","mode":null})",
                                 R"({"command":"ls","timeout_ms":2.0})"}) {
    EXPECT_EQ(result_of_one_call(json).text, "output of bash") << json;
    model_.requests.clear();
  }
  EXPECT_EQ(tools_.calls.at(0).input.text(), R"({"command":"ls","timeout_ms":null})");
}

TEST_F(ToolCalls, ASchemaThatCannotBeReadHoldsNothingAndIsToldOnce) {
  tools_.offered[0].input_schema_json = R"({"type":"object","x-of-another":1})";
  open();
  model_.ask_tools({{"bash", "{}"}, {"bash", "{}"}}).say("done");
  EXPECT_EQ(text_of(run("go")), "done");
  EXPECT_EQ(tools_.calls.size(), 2u);
  EXPECT_TRUE(log_.mentions("calls of bash are not checked against its input schema, which cannot be read: "));
}

TEST_F(ToolCalls, WhatAHookRewroteIsHeldToTheSchemaAgain) {
  tools_.offered[0].input_schema_json = kBashSchema;
  int gates = 0;
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "rewriter", [](const TestCall& call) {
    call.emit(action(AGENTD_ACT_REPLACE_TEXT, R"({"command":["rm"]})"));
    return AGENTD_OK;
  });
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "guard", [&](const TestCall&) { return ++gates, AGENTD_OK; }).what.flags =
      AGENTD_HOOK_GATES;
  const Block result = result_of_one_call();
  EXPECT_EQ(result.text,
            "the input of bash, which the hook rewriter rewrote, does not fit the tool's schema: "
            R"(/command breaks "type": "string"; nothing was run)");
  EXPECT_EQ(status_of_one_call(), "invalid");
  EXPECT_TRUE(tools_.calls.empty());
  EXPECT_EQ(gates, 1);  // about an input that runs nowhere no gate is asked again
}

TEST_F(ToolCalls, OneFormOfTheInputIsWhatEverybodySees) {
  constexpr const char* kForm = R"({"command":"ls é","n":[1,0.5]})";
  std::vector<std::string> seen;
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "guard", [&](const TestCall& call) {
    seen.emplace_back(view_of(call.payload<agentd_tool_call>().input_json));
    return AGENTD_OK;
  }).what.flags = AGENTD_HOOK_GATES;
  on(AGENTD_EVENT_AFTER_TOOL_CALL, "after", [&](const TestCall& call) {
    seen.emplace_back(view_of(call.payload<agentd_tool_call>().input_json));
    return AGENTD_OK;
  });
  result_of_one_call("{ \"command\" :\n\"ls \\u00e9\", \"n\":[1.0, 5e-1] }");
  EXPECT_EQ(seen, (std::vector<std::string>{kForm, kForm}));
  EXPECT_EQ(tools_.calls.at(0).input.text(), kForm);
  EXPECT_EQ(stored_call(), kForm);
  EXPECT_EQ(events_.of(RunEvent::Type::kToolCall).at(0).text, kForm);
  for (const StoredRecord& record : log()) {
    if (record.record.type != RecordType::kToolIntent) continue;
    EXPECT_EQ(read_tool_intent(record.record)->input_digest, hex(sha256(kForm)));
  }
}

// The tool marks its paths; whoever judges sees the place that the tool will open.
TEST_F(ToolCalls, PathsAreResolvedBeforeAnybodySeesThem) {
  options_.cwd = "/work/p";
  options_.home = "/home/u";
  tools_.offered.at(0).path_keys = {"path"};
  std::vector<std::string> seen;
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "guard", [&](const TestCall& call) {
    seen.emplace_back(view_of(call.payload<agentd_tool_call>().input_json));
    return AGENTD_OK;
  }).what.flags = AGENTD_HOOK_GATES;
  for (const char* const json : {R"({"path":"src/../migrations//1.sql"})", R"({"path":"/work/p/./migrations/1.sql"})",
                                 R"({"path":"~/.ssh/id"})"})
    result_of_one_call(json);
  const std::vector<std::string> expected{R"({"path":"migrations/1.sql"})", R"({"path":"migrations/1.sql"})",
                                          R"({"path":"/home/u/.ssh/id"})"};
  EXPECT_EQ(seen, expected);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(tools_.calls.at(i).input.text(), expected[i]);
}

TEST_F(ToolCalls, RewrittenInputIsReadAsTheModelsIs) {
  options_.cwd = "/work/p";
  tools_.offered.at(0).path_keys = {"path"};
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "rewrite", [](const TestCall& call) {
    return call.answer(action(AGENTD_ACT_REPLACE_TEXT, "{ \"path\": \"/work/p/a/../b\" }\n"));
  });
  result_of_one_call();
  EXPECT_EQ(tools_.calls.at(0).input.text(), R"({"path":"b"})");
}

TEST_F(ToolCalls, BadRewriteIsTheHooksFailureByItsPolicy) {
  using namespace std::string_literals;
  for (const std::string& bad : {"no object"s, R"({"command":"a","command":"b"})"s, "{}\0"s, ""s + "[]"})
    for (const FailurePolicy policy : {FailurePolicy::kOpen, FailurePolicy::kClosed}) {
      session_.reset();
      hooks_.clear();
      tools_.calls.clear();
      on(AGENTD_EVENT_BEFORE_TOOL_CALL, "a_bad", [&](const TestCall& call) {
        return call.answer(action(AGENTD_ACT_REPLACE_TEXT, bad));
      }).what.on_failure = policy;
      std::string next;
      on(AGENTD_EVENT_BEFORE_TOOL_CALL, "b_next", [&](const TestCall& call) {
        next = view_of(call.payload<agentd_tool_call>().input_json);
        return AGENTD_OK;
      });
      const Block result = result_of_one_call();
      if (policy == FailurePolicy::kOpen) {
        EXPECT_EQ(next, R"({"command":"ls"})");
        EXPECT_EQ(tools_.calls.at(0).input.text(), R"({"command":"ls"})");
      } else {
        EXPECT_TRUE(result.text.find("the guard 'a_bad' failed: the input that it wrote ") != std::string::npos)
            << result.text;
        EXPECT_TRUE(tools_.calls.empty());
      }
      model_.requests.clear();
    }
}

TEST_F(ToolCalls, EmptyInputIsAnEmptyObject) {
  result_of_one_call("");
  EXPECT_EQ(tools_.calls.at(0).input.text(), "{}");
}

TEST_F(ToolCalls, FailedToolIsToldAsAnError) {
  tools_.handler = [](const ToolCall&) {
    ToolOutcome out;
    out.success = false;
    out.content = "exit 1";
    return Result<ToolOutcome>(out);
  };
  const Block result = result_of_one_call();
  EXPECT_EQ(result.text, "exit 1");
  EXPECT_NE(result.flags & AGENTD_BLOCK_ERROR, 0);
  EXPECT_EQ(status_of_one_call(), "error");
}

TEST_F(ToolCalls, ToolThatCannotRunIsToldAsAnError) {
  tools_.handler = [](const ToolCall&) {
    return Result<ToolOutcome>(Error{Code::kUnavailable, "bash did not answer in time"});
  };
  EXPECT_EQ(result_of_one_call().text, "bash did not answer in time");
}

TEST_F(ToolCalls, OutputIsMadeValidAndCappedWithAMark) {
  tools_.handler = [](const ToolCall&) {
    ToolOutcome out;
    out.content = "\xFF" + std::string(600'000, 'x') + "end";
    return Result<ToolOutcome>(out);
  };
  options_.auto_compact = false;
  options_.window_override = 1'000'000;
  const Block result = result_of_one_call();
  EXPECT_LT(result.text.size(), 300'000u);
  EXPECT_TRUE(result.text.starts_with("\xEF\xBF\xBD"));
  EXPECT_TRUE(result.text.ends_with("end"));
  EXPECT_NE(result.text.find("bytes left out"), std::string::npos);
}

TEST_F(ToolCalls, BlockedCallIsAnErrorForTheModelAndARecord) {
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "guard",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_BLOCK, "not today")); });
  const Block result = result_of_one_call();
  EXPECT_EQ(result.text, "blocked by the hook guard: not today");
  EXPECT_TRUE(tools_.calls.empty());
  EXPECT_EQ(status_of_one_call(), "denied");
  EXPECT_EQ(kinds().find("tool_intent"), std::string::npos);
  EXPECT_NE(kinds().find("hook_effect"), std::string::npos);
}

TEST_F(ToolCalls, GuardThatFailsBlocksTheCall) {
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "guard", [](const TestCall&) { return AGENTD_E_INTERNAL; }).what.on_failure =
      FailurePolicy::kClosed;
  EXPECT_NE(result_of_one_call().text.find("the guard 'guard' failed"), std::string::npos);
  EXPECT_TRUE(tools_.calls.empty());
}

TEST_F(ToolCalls, RewrittenInputReachesTheToolAndIsSeenByTheGatesAgain) {
  std::vector<std::string> seen;
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "rewrite", [&](const TestCall& call) {
    seen.emplace_back(view_of(call.payload<agentd_tool_call>().input_json));
    EXPECT_EQ(call.raw.envelope->attempt, seen.size());
    return call.answer(action(AGENTD_ACT_REPLACE_TEXT, R"({"command":"ls -l"})"));
  }).what.flags = AGENTD_HOOK_GATES;
  result_of_one_call();
  EXPECT_EQ(tools_.calls.at(0).input.text(), R"({"command":"ls -l"})");
  EXPECT_EQ(seen, (std::vector<std::string>{R"({"command":"ls"})", R"({"command":"ls -l"})"}));
}

TEST_F(ToolCalls, GateMayDenyTheRewrittenInput) {
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "a_gate", [](const TestCall& call) {
    const bool bad = view_of(call.payload<agentd_tool_call>().input_json).find("rm") != std::string_view::npos;
    return bad ? call.answer(action(AGENTD_ACT_BLOCK, "no rm")) : AGENTD_OK;
  }).what.flags = AGENTD_HOOK_GATES;
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "b_rewrite",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_REPLACE_TEXT, R"({"command":"rm"})")); });
  EXPECT_NE(result_of_one_call().text.find("a_gate: no rm"), std::string::npos);
  EXPECT_TRUE(tools_.calls.empty());
}

TEST_F(ToolCalls, OnlyGatesSeeARewrittenInputAgainAndTheyRewriteNothing) {
  int gate = 0, rewriter = 0, observer = 0;
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "gate", [&](const TestCall& call) {
    ++gate;
    if (call.raw.envelope->attempt == 2) call.emit(action(AGENTD_ACT_REPLACE_TEXT, R"({"command":"no"})"));
    return AGENTD_OK;
  }).what.flags = AGENTD_HOOK_GATES;
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "rewriter", [&](const TestCall& call) {
    ++rewriter;
    return call.answer(action(AGENTD_ACT_REPLACE_TEXT, R"({"command":"yes"})"));
  });
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "watch", [&](const TestCall&) { return ++observer, AGENTD_OK; }).what.flags =
      AGENTD_HOOK_OBSERVES;
  result_of_one_call();
  EXPECT_EQ(tools_.calls.at(0).input.text(), R"({"command":"yes"})");
  EXPECT_EQ(gate, 2);
  EXPECT_EQ(rewriter, 1);
  EXPECT_EQ(observer, 1);
}

TEST_F(ToolCalls, GateThatAsksAboutTheFinalInputIsHeard) {
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "a_gate", [](const TestCall& call) {
    const bool again = call.raw.envelope->attempt == 2;
    return again ? call.answer(permission_action(AGENTD_PERMISSION_ASK)) : AGENTD_OK;
  }).what.flags = AGENTD_HOOK_GATES;
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "b_rewrite",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_REPLACE_TEXT, R"({"command":"rm"})")); });
  EXPECT_NE(result_of_one_call().text.find("not permitted"), std::string::npos);
}

TEST_F(ToolCalls, AllowOfAnInputThatWasRewrittenAfterwardsDoesNotCount) {
  permissions_.mode = PermissionRules::Mode::kAsk;
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "a_allow",
     [](const TestCall& call) { return call.answer(permission_action(AGENTD_PERMISSION_ALLOW)); });
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "b_rewrite",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_REPLACE_TEXT, R"({"command":"rm"})")); });
  EXPECT_NE(result_of_one_call().text.find("not permitted"), std::string::npos);
  EXPECT_TRUE(log_.mentions("a_allow allowed an input that b_rewrite rewrote afterwards"));
}

TEST_F(ToolCalls, HookMayAllowWhatItRewroteItself) {
  permissions_.mode = PermissionRules::Mode::kAsk;
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "safe", [](const TestCall& call) {
    call.emit(permission_action(AGENTD_PERMISSION_ALLOW));
    return call.answer(action(AGENTD_ACT_REPLACE_TEXT, R"({"command":"ls -l"})"));
  });
  EXPECT_EQ(result_of_one_call().text, "output of bash");
}

TEST_F(ToolCalls, RewritersOfTheInputChain) {
  for (const char* const add : {"a", "b"})
    on(AGENTD_EVENT_BEFORE_TOOL_CALL, add, [add](const TestCall& call) {
      std::string json(view_of(call.payload<agentd_tool_call>().input_json));
      json.insert(json.size() - 1, std::string(",\"") + add + "\":1");
      return call.answer(action(AGENTD_ACT_REPLACE_TEXT, json));
    });
  result_of_one_call();
  EXPECT_EQ(tools_.calls.at(0).input.text(), R"({"command":"ls","a":1,"b":1})");
}

TEST_F(ToolCalls, ErrorOfAFailedCallIsRewrittenForTheNextHookToo) {
  tools_.handler = [](const ToolCall&) {
    return Result<ToolOutcome>(Error{Code::kUnavailable, "the token 1234 is wrong"});
  };
  on(AGENTD_EVENT_TOOL_CALL_FAILED, "a_redact",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_REPLACE_TEXT, "***")); });
  std::string seen;
  on(AGENTD_EVENT_TOOL_CALL_FAILED, "b_look", [&](const TestCall& call) {
    const auto& result = *call.payload<agentd_tool_call>().result;
    seen = std::string(view_of(result.content)) + "," + std::string(view_of(result.error));
    return AGENTD_OK;
  });
  EXPECT_EQ(result_of_one_call().text, "***");
  EXPECT_EQ(seen, "***,***");
}

TEST_F(ToolCalls, RewrittenOutputReachesModelLogAndSurface) {
  on(AGENTD_EVENT_AFTER_TOOL_CALL, "redact",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_REPLACE_TEXT, "***")); });
  EXPECT_EQ(result_of_one_call().text, "***");
  EXPECT_EQ(events_.of(RunEvent::Type::kToolResult).at(0).text, "***");
  for (const StoredRecord& record : log()) EXPECT_EQ(record.record.payload.find("output of bash"), std::string::npos);
}

TEST_F(ToolCalls, FailedCallFiresItsOwnEvent) {
  tools_.handler = [](const ToolCall&) { return Result<ToolOutcome>(Error{Code::kDenied, "no"}); };
  int failed = 0, after = 0;
  on(AGENTD_EVENT_TOOL_CALL_FAILED, "f", [&](const TestCall&) { return ++failed, AGENTD_OK; });
  on(AGENTD_EVENT_AFTER_TOOL_CALL, "a", [&](const TestCall&) { return ++after, AGENTD_OK; });
  result_of_one_call();
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(after, 0);
}

TEST_F(ToolCalls, ContextOfAHookStandsBehindTheResultsOfTheBatch) {
  on(AGENTD_EVENT_AFTER_TOOL_CALL, "advise",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_INJECT_CONTEXT, "advice")); });
  open();
  model_.ask_tools({{"bash", "{}"}, {"grep", "{}"}}).say("done");
  ASSERT_TRUE(run("go"));
  const auto& seen = model_.requests[1].messages;
  ASSERT_EQ(seen.size(), 6u);
  EXPECT_EQ(seen[2].blocks[0].kind, BlockKind::kToolResult);
  EXPECT_EQ(seen[3].blocks[0].kind, BlockKind::kToolResult);
  EXPECT_EQ(seen[4].text(), "advice");
  EXPECT_EQ(seen[5].text(), "advice");
}

// ---- permission

TEST_F(ToolCalls, WhatMustBeAskedIsDeniedWhenNobodyIsThere) {
  permissions_.mode = PermissionRules::Mode::kAsk;
  EXPECT_EQ(result_of_one_call().text, "not permitted: there is no way to ask the user");
  EXPECT_TRUE(tools_.calls.empty());
  EXPECT_EQ(status_of_one_call(), "denied");
  EXPECT_NE(kinds().find("permission"), std::string::npos);
}

TEST_F(ToolCalls, UserIsAskedOnceWhenTheAnswerIsToBeRemembered) {
  permissions_.mode = PermissionRules::Mode::kAsk;
  FakeApprover approver;
  approver.answer = {true, true, {}};
  approver_ = &approver;
  open();
  model_.ask_tools({{"bash", "{}"}}).ask_tools({{"bash", "{}"}}).say("done");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(approver.asked.size(), 1u);
  EXPECT_EQ(tools_.calls.size(), 2u);
}

TEST_F(ToolCalls, HookMayAllowWhatWouldBeAsked) {
  permissions_.mode = PermissionRules::Mode::kAsk;
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "allow",
     [](const TestCall& call) { return call.answer(permission_action(AGENTD_PERMISSION_ALLOW)); });
  EXPECT_EQ(result_of_one_call().text, "output of bash");
}

TEST_F(ToolCalls, AllowOfAProjectHookIsIgnored) {
  permissions_.mode = PermissionRules::Mode::kAsk;
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "allow", [](const TestCall& call) {
    return call.answer(permission_action(AGENTD_PERMISSION_ALLOW));
  }).what.precedence = Precedence::kProject;
  EXPECT_NE(result_of_one_call().text.find("not permitted"), std::string::npos);
}

TEST_F(ToolCalls, DenyRuleBeatsAHooksAllow) {
  permissions_.deny = {{"bash", {}, "bash"}};
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "allow",
     [](const TestCall& call) { return call.answer(permission_action(AGENTD_PERMISSION_ALLOW)); });
  EXPECT_EQ(result_of_one_call().text, "the permission rules do not allow bash");
  EXPECT_TRUE(tools_.calls.empty());
}

PermissionRule command_rule(const std::string& text) { return *make_rule(*rule_parts(text), text, {}); }

TEST_F(ToolCalls, ADenyRuleAboutTheCommandNamesItself) {
  permissions_.deny.push_back(command_rule("bash(ls:*)"));
  EXPECT_EQ(result_of_one_call(R"({"command":"true && ls -l"})").text,
            "the permission rules do not allow bash: permissions.deny 'bash(ls:*)'");
  EXPECT_TRUE(tools_.calls.empty());
}

TEST_F(ToolCalls, AnAskRuleIsAnsweredByAPersonAlone) {
  permissions_.ask.push_back(command_rule("bash(ls:*)"));
  FakeApprover approver;
  approver.answer = {false, false, "no"};
  approver_ = &approver;
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "allow",
     [](const TestCall& call) { return call.answer(permission_action(AGENTD_PERMISSION_ALLOW)); });
  on(AGENTD_EVENT_PERMISSION_REQUEST, "bot",
     [](const TestCall& call) { return call.answer(permission_action(AGENTD_PERMISSION_ALLOW)); });
  EXPECT_EQ(result_of_one_call().text, "not permitted: no");
  ASSERT_EQ(approver.asked_by.size(), 1u);
  EXPECT_EQ(approver.asked_by[0].reason, "permissions.ask 'bash(ls:*)'");
  EXPECT_TRUE(approver.asked_by[0].each_time);
  EXPECT_TRUE(approver.asked_by[0].keeps.empty());
}

TEST_F(ToolCalls, AlwaysKeepsTheRulesThatTheQuestionShowed) {
  const testing::TempDir home;
  permissions_.mode = PermissionRules::Mode::kAsk;
  permissions_.kept = *KeptAnswers::open(home.path(), "/project");
  FakeApprover approver;
  approver.answer = {true, true, {}};
  approver_ = &approver;
  EXPECT_EQ(result_of_one_call(R"({"command":"ls -l; true"})").text, "output of bash");
  ASSERT_EQ(approver.asked_by.size(), 1u);
  EXPECT_EQ(approver.asked_by[0].keeps, (std::vector<std::string>{"bash(ls -l)", "bash(true)"}));
  const auto kept = *KeptAnswers::open(home.path(), "/project");
  ASSERT_EQ(kept->answers().size(), 2u);
  EXPECT_EQ(kept->answers()[0].rule, "bash(ls -l)");
  EXPECT_EQ(permissions_.kept->rules().size(), 2u);
}

TEST_F(ToolCalls, HookMayAskAboutWhatTheRulesAllow) {
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "ask",
     [](const TestCall& call) { return call.answer(permission_action(AGENTD_PERMISSION_ASK)); });
  FakeApprover approver;
  approver.answer = {false, false, "too risky"};
  approver_ = &approver;
  EXPECT_EQ(result_of_one_call().text, "not permitted: too risky");
  EXPECT_EQ(approver.asked.size(), 1u);
}

TEST_F(ToolCalls, PermissionRequestMayBeAnsweredByAHook) {
  permissions_.mode = PermissionRules::Mode::kAsk;
  FakeApprover approver;
  approver_ = &approver;
  on(AGENTD_EVENT_PERMISSION_REQUEST, "bot",
     [](const TestCall& call) { return call.answer(permission_action(AGENTD_PERMISSION_ALLOW)); });
  EXPECT_EQ(result_of_one_call().text, "output of bash");
  EXPECT_TRUE(approver.asked.empty());
}

TEST_F(ToolCalls, PermissionThatAHookDeniesIsRecorded) {
  permissions_.mode = PermissionRules::Mode::kAsk;
  on(AGENTD_EVENT_PERMISSION_REQUEST, "bot",
     [](const TestCall& call) { return call.answer(permission_action(AGENTD_PERMISSION_DENY, "no")); });
  EXPECT_EQ(result_of_one_call().text, "blocked by the hook bot: no");
  EXPECT_NE(kinds().find("permission"), std::string::npos);
}

TEST_F(ToolCalls, ToolThatAHookTookAwayDoesNotRun) {
  on(AGENTD_EVENT_BEFORE_MODEL_CALL, "no_bash",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_TOOLS_DISABLE, "bash")); });
  EXPECT_EQ(result_of_one_call().text, "there is no tool named bash");
  EXPECT_TRUE(tools_.calls.empty());
}

// ---- interruption

TEST_F(ToolCalls, InterruptedRunGivesTheOtherCallsTheirResults) {
  tools_.handler = [&](const ToolCall&) {
    cancel_.cancel(AGENTD_CANCEL_USER);
    return Result<ToolOutcome>(Error{Code::kCancelled, "interrupted"});
  };
  open();
  model_.ask_tools({{"bash", "{}"}, {"bash", "{}"}}).say("never");
  const auto report = run("go");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, RunError::Kind::kCancelled);
  EXPECT_EQ(tools_.calls.size(), 1u);
  EXPECT_TRUE(stored_view().open_calls().empty());
}

TEST_F(ToolCalls, CallThatDiedWithItsProcessIsUnknownAndNotRunAgain) {
  bool died = false;
  store_.refuses = [&](std::span<const Record>) { return died; };
  tools_.handler = [&](const ToolCall&) {
    died = true;
    return Result<ToolOutcome>(ToolOutcome{});
  };
  open();
  model_.ask_tools({{"bash", "{}"}});
  EXPECT_FALSE(run("go"));
  died = false;
  EXPECT_EQ(stored_view().open_calls().size(), 1u);
  reopen();
  model_.say("done");
  EXPECT_EQ(text_of(run("go on")), "done");
  EXPECT_EQ(tools_.calls.size(), 1u);
  const auto& seen = model_.requests.back().messages;
  ASSERT_EQ(seen.size(), 5u);
  EXPECT_NE(seen[2].blocks[0].text.find("outcome is unknown"), std::string::npos);
  EXPECT_EQ(seen[3].blocks[0].text, "[interrupted]");
  EXPECT_EQ(status_of_one_call(), "unknown");
}

}  // namespace
}  // namespace agentd
