// SPDX-License-Identifier: Apache-2.0
#include <agentd/ext/draft/process.h>
#include <agentd/ext/draft/workspace.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/worker/test_worker.h"

namespace agentd::testing {
namespace {

WorkerStartOptions puppet(std::uint32_t lanes = 1) {
  WorkerStartOptions options;
  options.module = AGENTD_WORKER_PLUGINS "/puppet.so";
  options.call_lanes = lanes;
  options.interfaces = {"agentd.tools/1",     "agentd.json/1",    "agentd.field/1",       "agentd.tasks/1",
                        "agentd.workspace/1", "agentd.process/1", "org.example.unknown/1"};
  return options;
}

class Calls : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(worker_.booted()) << worker_.refusal();
    ASSERT_EQ(worker_.create(R"({"a":1})"), AGENTD_OK);
  }

  TestWorker worker_{puppet(4)};
};

using Texts = std::vector<std::string>;

TEST_F(Calls, GetTheirPayloadAndTheirOwnInstance) {
  EXPECT_EQ(worker_.ask("config"), R"({"a":1})");
  EXPECT_EQ(worker_.ask("conversation"), "77");
  const std::string large(3'000'000, 'z');
  EXPECT_EQ(worker_.ask("echo " + large), large);
}

TEST_F(Calls, ReachTheRowThatTheyName) {
  ASSERT_EQ(worker_.say("", 0, 1), AGENTD_OK);
  EXPECT_EQ(worker_.take_emitted(), (Texts{"8:second"}));
  EXPECT_EQ(worker_.say("", 0, 2), AGENTD_E_NOT_FOUND);
}

TEST_F(Calls, HandOnTheStatusOfTheHook) {
  for (const agentd_status status : {AGENTD_OK, AGENTD_E_ARG, AGENTD_E_IO, -99})
    EXPECT_EQ(worker_.say("status " + std::to_string(status)), status);
}

TEST_F(Calls, CarryActionsOfEveryKind) {
  ASSERT_EQ(worker_.say("emit_all"), AGENTD_OK);
  EXPECT_EQ(worker_.take_emitted(), (Texts{"1:text", "2:text", "4:text", "6:text", "7:text", "14:text", "3:how",
                                           "9:title", "12:why", "13:recipe", "5:2"}));
}

TEST_F(Calls, RefuseActionsThatCannotCross) {
  EXPECT_EQ(worker_.ask("wrong_emits"), "-1 -1 -9 -6");
  EXPECT_EQ(worker_.take_logs(), (Texts{"emit() without an action"}));
  ASSERT_EQ(worker_.take_failures().size(), 2u);
}

TEST_F(Calls, PassOnWhatTheHostAnswersToAnAction) {
  worker_.serve([](const Asked& asked, ServiceReply&) {
    return asked.op == ServiceOp::kEmit ? AGENTD_E_UNSUPPORTED : AGENTD_OK;
  });
  EXPECT_EQ(worker_.say("echo x"), AGENTD_E_UNSUPPORTED);
}

TEST_F(Calls, SpeakOverTheLaneOfTheCall) {
  worker_.ask("echo x");
  EXPECT_EQ(worker_.requests(ServiceOp::kEmit, false), 1u);
  EXPECT_EQ(worker_.requests(ServiceOp::kEmit, true), 0u);
}

TEST_F(Calls, HaveTheFactsOfCore) {
  EXPECT_EQ(worker_.ask("core"), "13 0 null null time 1 88");
  EXPECT_EQ(worker_.take_logs(), (Texts{"a line", ""}));
  EXPECT_EQ(worker_.take_failures(), (Texts{"a reason"}));
}

TEST_F(Calls, HaveMemoryUntilTheyEnd) { EXPECT_EQ(worker_.ask("arena"), "aligned refuses small"); }

TEST_F(Calls, FindTheirTokenStaleAfterwards) {
  worker_.ask("echo x");
  EXPECT_EQ(worker_.ask("old_token"), "-6 -6");
}

TEST_F(Calls, RunAtOnceInSeveralLanes) {
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (std::uint32_t lane = 0; lane < 4; ++lane)
    threads.emplace_back([&, lane] {
      for (int i = 0; i < 50; ++i)
        if (worker_.say("echo " + std::to_string(i), lane) == AGENTD_OK) ++good;
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(good.load(), 200);
  EXPECT_EQ(worker_.take_emitted().size(), 200u);
}

TEST_F(Calls, DoNotInheritTheArithmeticOfTheOneBefore) {
  EXPECT_EQ(worker_.ask("arithmetic"), "ordinary");
  EXPECT_EQ(worker_.ask("arithmetic"), "ordinary");
}

TEST_F(Calls, ThatPendAreCompletedByAnotherThread) {
  ASSERT_EQ(worker_.say("pend"), AGENTD_PENDING);
  while (worker_.requests(ServiceOp::kLog, true) == 0) std::this_thread::yield();
  EXPECT_EQ(worker_.take_emitted(), (Texts{"8:later"}));
  EXPECT_EQ(worker_.take_logs(), (Texts{"0 -6 none"}));
  EXPECT_EQ(worker_.requests(ServiceOp::kComplete, true), 1u);
  EXPECT_EQ(worker_.ask("echo free"), "free");
}

// Before the function has returned, the token is still the call's.
TEST_F(Calls, MayBeCompletedBeforeTheirFunctionReturns) {
  worker_.serve([done = false](const Asked& asked, ServiceReply&) mutable {
    if (asked.op != ServiceOp::kComplete) return AGENTD_OK;
    return std::exchange(done, true) ? AGENTD_E_NOT_FOUND : AGENTD_OK;
  });
  ASSERT_EQ(worker_.say("pend_early"), AGENTD_PENDING);
  EXPECT_EQ(worker_.take_logs(), (Texts{"0 -6 memory"}));
  EXPECT_EQ(worker_.ask("old_token").substr(0, 2), "-6");
}

TEST_F(Calls, SeeAStateAndTheEndOfTheInstance) {
  ASSERT_EQ(worker_.control(AGENTD_EVENT_SAVE_STATE), AGENTD_OK);
  EXPECT_EQ(worker_.take_emitted(), (Texts{R"(14:state of {"a":1})"}));
  EXPECT_EQ(worker_.control(AGENTD_EVENT_LOAD_STATE), AGENTD_E_UNSUPPORTED);
  ASSERT_EQ(worker_.control(AGENTD_EVENT_DESTROY), AGENTD_OK);
  EXPECT_EQ(worker_.take_logs(), (Texts{"destroyed"}));
}

TEST_F(Calls, StopTheTasksBeforeTheInstanceEnds) {
  ASSERT_EQ(worker_.ask("task"), "0");
  ASSERT_EQ(worker_.control(AGENTD_EVENT_DESTROY), AGENTD_OK);
  EXPECT_EQ(worker_.take_logs(), (Texts{"after the task"}));
}

TEST(CallsOfCreate, HandOnARefusal) {
  TestWorker worker(puppet());
  EXPECT_EQ(worker.create("refuse"), AGENTD_E_ARG);
}

// ---- tools

TEST_F(Calls, AddToolsUnderNumbers) {
  Texts seen;
  worker_.serve([&](const Asked& asked, ServiceReply&) {
    if (asked.op != ServiceOp::kToolsAdd) return AGENTD_OK;
    const auto* const schemas = static_cast<const agentd_str*>(asked.args->list.first);
    seen.push_back(asked.text(0) + " " + asked.text(1) + " " + asked.text(2) + " " +
                   std::string(schemas[0].ptr, schemas[0].len) + " " + std::to_string(asked.args->number[0]) + " " +
                   std::to_string(asked.args->number[1]) + " " + std::to_string(asked.args->number[2]));
    return asked.text(0) == "taken" ? AGENTD_E_CONFLICT : AGENTD_OK;
  });
  EXPECT_EQ(worker_.ask("tools"), "0 -8 -1 -1 0");
  EXPECT_EQ(seen, (Texts{R"(echo Echo says it again {"type":"object"} 1 1500 1)",
                         R"(taken Echo says it again {"type":"object"} 1 1500 2)"}));
  EXPECT_EQ(worker_.take_failures(),
            (Texts{"a tool needs a name of 1 to 64 bytes and a function", "a tool record has an impossible size"}));
}

TEST_F(Calls, RunToolsWithTheirOwnTag) {
  worker_.serve([](const Asked& asked, ServiceReply&) {
    return asked.op == ServiceOp::kToolsAdd && asked.text(0) == "taken" ? AGENTD_E_CONFLICT : AGENTD_OK;
  });
  worker_.ask("tools");
  ASSERT_EQ(worker_.invoke_tool(1, R"({"b":2})"), AGENTD_OK);
  EXPECT_EQ(worker_.take_emitted(), (Texts{"15:one", "15:two", "15:three", R"(16:4711{"b":2})"}));
  EXPECT_EQ(worker_.invoke_tool(2, "{}"), AGENTD_E_NOT_FOUND);  // it was refused
  EXPECT_EQ(worker_.invoke_tool(99, "{}"), AGENTD_E_NOT_FOUND);
}

// ---- services

// Answers every op with something that its caller can tell from the others.
agentd_status serve_all(const Asked& asked, ServiceReply& reply) {
  static const agentd_usage usage{sizeof usage, 0, 5, 6, 0, 0, 0, 0};
  static const agentd_compact_result compacted{
      sizeof compacted, AGENTD_RESULT_APPLIED, AGENTD_METHOD_SUMMARY, {"short", 5}, 1, 2, 3, 4, 5, &usage};
  static const agentd_reply answer{sizeof answer, AGENTD_STOP_END_TURN, {"answer", 6}, {nullptr, 0, 0}, &usage};
  static const agentd_kv kv{sizeof kv, 0, {"key", 3}, {"value", 5}, 8};
  static const agentd_conv_info info{};
  static agentd_block block{};
  static agentd_message message{};
  static const agentd_file_entry entry{sizeof entry, AGENTD_FILE_REGULAR, {"file", 4}, 1, 2};
  static agentd_process_result ran{};
  ran.size = sizeof ran;
  ran.exit_code = 7;
  ran.output = {"output", 6};
  static agentd_process_state state{};
  state.size = sizeof state;
  state.handle = 3;
  state.exit_code = 4;
  state.command = {"ls -l", 5};
  state.spill_path = {"/s", 2};
  static agentd_process_piece piece{};
  piece.size = sizeof piece;
  piece.next = 12;
  piece.bytes = {"piece", 5};
  piece.state = &state;
  const ServiceArgs& args = *asked.args;
  const auto text = [&](std::string_view value) { reply.text = {value.data(), value.size()}; };
  switch (asked.op) {
    case ServiceOp::kCountText:
      reply.number[0] = asked.text(1).size();
      break;
    case ServiceOp::kCountMessages:
      reply.number[0] = args.list.count;
      break;
    case ServiceOp::kPrompt:
      reply.text = static_cast<const agentd_compact_options*>(args.record[0])->instructions;
      break;
    case ServiceOp::kCompact:
      reply.record = &compacted;
      break;
    case ServiceOp::kThreadOpen:
      reply.number[0] = 9;
      break;
    case ServiceOp::kThreadSend:
      reply.record = &answer;
      break;
    case ServiceOp::kThreadUsage:
      reply.record = &usage;
      break;
    case ServiceOp::kThreadClose:
      return args.number[0] == 9 ? AGENTD_OK : AGENTD_E_NOT_FOUND;
    case ServiceOp::kStoreGet:
      reply.record = &kv;
      break;
    case ServiceOp::kStoreScan:
      reply.list = {&kv, 1, sizeof kv};
      break;
    case ServiceOp::kStoreCommit:
      reply.number[0] = 10 + args.list.count;
      break;
    case ServiceOp::kStoreConversations:
      reply.list = {&info, 1, sizeof info};
      break;
    case ServiceOp::kStoreMessages:
      block = {};
      block.size = sizeof block;
      block.text = {args.number[0] == AGENTD_SCOPE_LOG && args.number[3] == 7 ? "row" : "bad", 3};
      message = {};
      message.size = sizeof message;
      message.blocks = {&block, 1, sizeof block};
      reply.list = {&message, 1, sizeof message};
      break;
    case ServiceOp::kStoreReadBlob:
      text("bl");
      break;
    case ServiceOp::kStoreChanges:
      reply.number[0] = args.number[0] + args.number[1];
      break;
    case ServiceOp::kJsonPayload:
      text("{}");
      break;
    case ServiceOp::kFieldGet:
      reply.text = args.text[0];
      break;
    case ServiceOp::kWorkspaceRead:
      text("yt");
      reply.number[0] = 5;
      break;
    case ServiceOp::kWorkspaceReplace:
      return AGENTD_E_CONFLICT;
    case ServiceOp::kWorkspaceList:
      reply.list = {&entry, 1, sizeof entry};
      reply.number[0] = 1;
      break;
    case ServiceOp::kWorkspaceView:
      text("vw");
      reply.number[0] = 7;
      break;
    case ServiceOp::kWorkspaceEdit:
      return AGENTD_E_ARG;
    case ServiceOp::kProcessRun:
      reply.record = &ran;
      break;
    case ServiceOp::kProcessStart: {
      const auto& options = *static_cast<const agentd_process_options*>(args.record[0]);
      const auto* const variables = static_cast<const agentd_str*>(options.environment.first);
      const bool whole = options.environment.count == 1 && std::string_view(variables->ptr, variables->len) == "A=b" &&
                         std::string_view(options.description.ptr, options.description.len) == "lists";
      reply.number[0] = whole ? 3 : 0;
      break;
    }
    case ServiceOp::kProcessRead:
      if (args.number[0] != 3 || args.number[1] != AGENTD_PROCESS_UNREAD || args.number[2] != 100 ||
          args.number[3] != 7)
        return AGENTD_E_ARG;
      reply.record = &piece;
      break;
    case ServiceOp::kProcessWrite:
      return args.number[1] == 1 && asked.text(0) == "in" ? AGENTD_OK : AGENTD_E_ARG;
    case ServiceOp::kProcessSignal:
      return args.number[1] == 15 ? AGENTD_E_IO : AGENTD_E_ARG;
    case ServiceOp::kProcessList:
      reply.list = {&state, 1, sizeof state};
      break;
    case ServiceOp::kProcessResize:
      return args.number[1] == 30 && args.number[2] == 100 ? AGENTD_OK : AGENTD_E_IO;
    case ServiceOp::kProcessWait:
    case ServiceOp::kProcessEnd:
      reply.record = &state;
      break;
    case ServiceOp::kScopeOpen:
      reply.number[0] = 4096;
      break;
    default:
      break;
  }
  return AGENTD_OK;
}

TEST_F(Calls, ReachEveryService) {
  worker_.serve(serve_all);
  EXPECT_EQ(worker_.ask("services"),
            "0=3;0=1;0=please;0=short5;0=;"                             // compactor
            "0=9;0=answer;0=6;0=;"                                      // threads
            "0=value;0=1;0=11;0=;0=1;0=row;0=bl;0=9;"                   // store
            "0={};0={};0=a.b0;-1=0;"                                    // json, field
            "0=yt5;0=;-8=;0=11;0=vw7;-1=;"                              // workspace
            "0=output7;0=3;0=piece12ls -l;0=;-13=;0=4/s;0=1;0=;0=3;");  // process
  EXPECT_EQ(worker_.requests(ServiceOp::kJsonPayload, false), 1u);      // made once
}

TEST_F(Calls, GetTheErrorsOfServices) {
  worker_.serve(
      [](const Asked& asked, ServiceReply&) { return asked.op == ServiceOp::kEmit ? AGENTD_OK : AGENTD_E_DENIED; });
  const std::string got = worker_.ask("services");
  EXPECT_EQ(std::count(got.begin(), got.end(), ';'), 36);
  EXPECT_EQ(got.find("0="), std::string::npos) << got;
}

TEST_F(Calls, GetNoAnswerWithoutAPlaceForIt) {
  EXPECT_EQ(worker_.ask("wrong_services"), "-1 -6 -1 -1 -1 -1 -1 -1 -1 -1 ");
  EXPECT_EQ(worker_.take_failures().size(), 3u);
}

TEST(ServiceTables, AreNullWhenTheyWereNotGranted) {
  WorkerStartOptions options = puppet();
  options.services = kBootStore;
  options.interfaces = {};
  TestWorker worker(options);
  ASSERT_EQ(worker.create(), AGENTD_OK);
  EXPECT_EQ(worker.ask("tables"), "--s");
  EXPECT_EQ(worker.ask("tools"), "no tools");
  EXPECT_EQ(worker.ask("task"), "no tasks");
}

// ---- threads of the plugin

TEST_F(Calls, OpenScopesForThreadsOfTheirOwn) {
  agentd_live& live = *worker_.window().acquire_live();
  worker_.serve([&](const Asked& asked, ServiceReply& reply) {
    if (asked.op == ServiceOp::kScopeOpen) {
      EXPECT_EQ(asked.args->number[0], 77u);
      live.deadline_ns = asked.args->number[1];
      reply.number[0] = 4096;
      reply.number[1] = reinterpret_cast<std::uintptr_t>(&live);
    }
    if (asked.op == ServiceOp::kCountText) {
      EXPECT_EQ(asked.token, 4096u);
      reply.number[0] = asked.text(1).size();
    }
    return AGENTD_OK;
  });
  EXPECT_EQ(worker_.ask("scope"), "0 12345 0 700000 -3 memory none -1");
  EXPECT_EQ(worker_.requests(ServiceOp::kScopeOpen, true), 1u);
  EXPECT_EQ(worker_.requests(ServiceOp::kScopeClose, true), 1u);
}

TEST_F(Calls, UseAForeignTokenOverAServiceLane) {
  worker_.serve(serve_all);
  EXPECT_EQ(worker_.ask("scope_inside"), "0 0");
  EXPECT_EQ(worker_.requests(ServiceOp::kScopeOpen, false), 1u);
  EXPECT_EQ(worker_.requests(ServiceOp::kCountText, true), 1u);
  EXPECT_EQ(worker_.requests(ServiceOp::kScopeClose, true), 1u);
}

TEST_F(Calls, ShareTheServiceLanes) {
  worker_.serve(serve_all);
  EXPECT_EQ(worker_.ask("crowd"), "240");
  EXPECT_EQ(worker_.requests(ServiceOp::kCountText, true), 240u);
}

}  // namespace
}  // namespace agentd::testing
