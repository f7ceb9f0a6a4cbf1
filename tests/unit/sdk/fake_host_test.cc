// SPDX-License-Identifier: Apache-2.0
// The fake host notices what a plugin does against the contract. The plugins here are plain C.
#include <gtest/gtest.h>
#include <agentd/fake_host.hpp>

#include <string>

#ifdef AGENTD_TEST_CORE_TABLE
#include "core/hooks/event.h"
#endif

namespace agentd {
namespace {

using testing::fake_host;
using testing::outcome;

// What the C plugin below does when its event comes.
agentd_status (*on_stop)(const agentd_call*) = nullptr;

agentd_status AGENTD_CALL create(const agentd_call*, void** self) noexcept {
  *self = nullptr;
  return AGENTD_OK;
}
agentd_status AGENTD_CALL stop(void*, const agentd_call* call) noexcept { return on_stop(call); }

agentd_hook rows[] = {{AGENTD_EVENT_AGENT_STOP, 0, 0, &stop, 0},
                      {AGENTD_EVENT_AGENT_STOP, 0, 9, &stop, AGENTD_WANTS_MESSAGES},
                      {AGENTD_EVENT_AGENT_STOP, AGENTD_HOOK_OBSERVES, 99, &stop, 0}};
std::uint32_t row_count = 1;

agentd_status AGENTD_CALL entry(agentd_negotiate* io) noexcept {
  static agentd_plugin plugin;
  plugin = {};
  plugin.size = sizeof(plugin);
  plugin.id = as_str("org.example.c");
  plugin.version = as_str("1.0.0");
  plugin.create = &create;
  plugin.hooks = {rows, row_count, sizeof(agentd_hook)};
  io->magic = AGENTD_MAGIC;
  io->abi = AGENTD_ABI;
  io->plugin = &plugin;
  return AGENTD_OK;
}

class FakeHostTest : public ::testing::Test {
 protected:
  void SetUp() override {
    row_count = 1;
    ASSERT_EQ(host_.create().status, AGENTD_OK);
  }
  outcome run(agentd_status (*body)(const agentd_call*)) {
    on_stop = body;
    return host_.agent_stop();
  }
  // The one breach, or all of them when there is not exactly one.
  std::string breach() {
    std::string all;
    for (const std::string& each : host_.breaches()) all += (all.empty() ? "" : " | ") + each;
    return all;
  }
  static agentd_status emit(const agentd_call* call, std::uint16_t kind, std::string_view text) {
    agentd_act_text act{};
    act.h = {sizeof(act), kind, 0};
    act.text = as_str(text);
    return call->core->emit(call->core, call->token, &act.h);
  }

  fake_host host_{&entry};
};

TEST_F(FakeHostTest, ActionsAreCopied) {
  const outcome got = run([](const agentd_call* call) -> agentd_status {
    std::string text = "go on";
    const agentd_status status = emit(call, AGENTD_ACT_CONTINUE, text);
    text = "XXXXX";
    return status;
  });
  EXPECT_EQ(got.text(AGENTD_ACT_CONTINUE), "go on");
  EXPECT_EQ(breach(), "");
}

TEST_F(FakeHostTest, AnIllegalActionIsRefusedAndTold) {
  const outcome got = run([](const agentd_call* call) -> agentd_status {
    EXPECT_EQ(emit(call, AGENTD_ACT_BLOCK, "no"), AGENTD_E_UNSUPPORTED);
    EXPECT_EQ(emit(call, 31, "?"), AGENTD_E_UNSUPPORTED);
    return AGENTD_OK;
  });
  EXPECT_TRUE(got.actions.empty());
  EXPECT_EQ(breach(), "action 1 is not legal for agent_stop | action 31 is not legal for agent_stop");
}

TEST_F(FakeHostTest, AKeyThatTheEventDoesNotKnowIsRefused) {
  run([](const agentd_call* call) -> agentd_status {
    agentd_act_set act{};
    act.h = {sizeof(act), AGENTD_ACT_SET, 0};
    act.key = AGENTD_KEY_KEEP_TOKENS;
    EXPECT_EQ(call->core->emit(call->core, call->token, &act.h), AGENTD_E_UNSUPPORTED);
    return AGENTD_OK;
  });
  EXPECT_EQ(breach(), "key 4 cannot be set in agent_stop");
}

TEST_F(FakeHostTest, AStaleTokenIsHarmlessAndTold) {
  static agentd_token kept;
  run([](const agentd_call* call) -> agentd_status {
    kept = call->token;
    return AGENTD_OK;
  });
  run([](const agentd_call* call) -> agentd_status {
    agentd_act_compact act{};
    act.h = {sizeof(act), AGENTD_ACT_COMPACT, 0};
    EXPECT_EQ(call->core->emit(call->core, kept, &act.h), AGENTD_E_NOT_FOUND);
    EXPECT_EQ(call->core->complete(call->core, kept, AGENTD_OK), AGENTD_E_NOT_FOUND);
    return AGENTD_OK;
  });
  EXPECT_EQ(breach(), "core->emit with a token that has ended | core->complete with a token that has ended");
}

TEST_F(FakeHostTest, AnActionTooSmallForItsKindIsRefused) {
  run([](const agentd_call* call) -> agentd_status {
    const agentd_action bare{sizeof(agentd_action), AGENTD_ACT_COMPACT, 0};
    EXPECT_EQ(call->core->emit(call->core, call->token, &bare), AGENTD_E_ARG);
    EXPECT_EQ(call->core->emit(call->core, call->token, nullptr), AGENTD_E_ARG);
    return AGENTD_OK;
  });
  EXPECT_EQ(host_.breaches().size(), 2u);
}

TEST_F(FakeHostTest, PartsMustMakeSense) {
  run([](const agentd_call* call) -> agentd_status {
    agentd_part part = sized<agentd_part>();
    part.kind = AGENTD_PART_KEEP;
    part.first = 5;
    part.last = 4;
    agentd_act_replace act{};
    act.h = {sizeof(act), AGENTD_ACT_REPLACE_MESSAGES, 0};
    act.parts = {&part, 1, sizeof(part)};
    EXPECT_EQ(call->core->emit(call->core, call->token, &act.h), AGENTD_E_ARG);
    part.kind = AGENTD_PART_LITERAL;
    EXPECT_EQ(call->core->emit(call->core, call->token, &act.h), AGENTD_E_ARG);
    return AGENTD_OK;
  });
  EXPECT_EQ(host_.breaches().size(), 2u);
}

TEST_F(FakeHostTest, QueryBelongsToCreate) {
  run([](const agentd_call* call) -> agentd_status {
    call->core->query(call->core, as_str(AGENTD_TOOLS_ID), sizeof(agentd_tools));
    return AGENTD_OK;
  });
  EXPECT_EQ(breach(), "core->query outside the thread and the time of create()");
}

TEST_F(FakeHostTest, AnUnknownStatusIsTold) {
  run([](const agentd_call*) -> agentd_status { return 17; });
  EXPECT_EQ(breach(), "a call returned the unknown status 17");
}

TEST_F(FakeHostTest, CompleteWithoutPendingIsTold) {
  run([](const agentd_call* call) -> agentd_status {
    EXPECT_EQ(call->core->complete(call->core, call->token, AGENTD_OK), AGENTD_OK);
    return AGENTD_OK;
  });
  EXPECT_EQ(breach(), "complete() was called for a call that did not return PENDING");
}

TEST_F(FakeHostTest, WhatStaysOpenIsToldByDestroy) {
  outcome got = run([](const agentd_call* call) -> agentd_status {
    agentd_token scope = 0;
    const agentd_live* live = nullptr;
    agentd_thread thread = 0;
    call->core->scope_open(call->core, 0, UINT64_MAX, &scope, &live);
    call->services->threads->open(call->services->threads, scope, nullptr, &thread);
    return AGENTD_PENDING;
  });
  EXPECT_TRUE(got.pending());
  EXPECT_FALSE(host_.wait(got, std::chrono::milliseconds(1)));
  host_.destroy();
  EXPECT_EQ(host_.breaches().size(), 3u) << breach();
}

TEST_F(FakeHostTest, RowsRunByPriorityAndObserversLast) {
  row_count = 3;
  ASSERT_EQ(host_.create().status, AGENTD_OK);
  host_.conversation.add(user_message("x"));
  static std::string order;
  order.clear();
  const outcome got = run([](const agentd_call* call) -> agentd_status {
    const stop_view stop(static_cast<const agentd_agent_stop*>(call->payload));
    order += stop.messages().empty() ? "-" : "m";
    return emit(call, AGENTD_ACT_CONTINUE, "once more");
  });
  EXPECT_EQ(order, "m--");            // priority 9 wants messages, the others do not
  EXPECT_EQ(got.actions.size(), 2u);  // the observer's is ignored
  EXPECT_EQ(breach(), "");
}

TEST_F(FakeHostTest, EventsWithoutASubscriberDoNothing) {
  EXPECT_EQ(host_.turn_start().status, AGENTD_OK);
  EXPECT_TRUE(host_.notification({.text = "x"}).actions.empty());
}

TEST_F(FakeHostTest, WithoutCreateNothingIsFired) {
  fake_host other(&entry);
  EXPECT_EQ(other.agent_stop().status, AGENTD_E_ARG);
}

TEST(FakeHost, TellsOfARowForAnUnknownEvent) {
  row_count = 1;
  rows[0].event = 60;
  fake_host host(&entry);
  host.create();
  rows[0].event = AGENTD_EVENT_AGENT_STOP;
  ASSERT_EQ(host.breaches().size(), 1u);
  EXPECT_NE(host.breaches()[0].find("not OPTIONAL"), std::string::npos);
}

#ifdef AGENTD_TEST_CORE_TABLE
TEST(FakeHost, KnowsTheSameLegalActionsAsTheRuntime) {
  for (const EventTraits& each : all_events()) {
    EXPECT_EQ(testing::legal_actions(each.id), each.actions) << each.name;
  }
}
#endif

}  // namespace
}  // namespace agentd
