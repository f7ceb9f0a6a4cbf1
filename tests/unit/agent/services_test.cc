// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "core/base/bytes.h"
#include "tests/support/agent_fixture.h"

namespace agentd {
namespace {

using testing::action;
using testing::AgentTest;
using testing::TestCall;

class AgentServicesTest : public AgentTest {
 protected:
  static ServiceCaller caller(agentd_conv conversation = 0) {
    ServiceCaller out;
    out.plugin_id = "org.test.p";
    out.conversation = conversation;
    return out;
  }
  // A new agent, since the settings of one do not change.
  void reopen_with_settings() {
    session_.reset();
    agent_.reset();
    services_.reset();
    open();
  }
  // What `ask` says inside agent_stop of a run that answers "one".
  void at_stop(std::function<void(const TestCall&)> ask) {
    on(AGENTD_EVENT_AGENT_STOP, "asks", [ask](const TestCall& call) {
      ask(call);
      return AGENTD_OK;
    });
    open();
  }
};

TEST_F(AgentServicesTest, CompactIsPureAndItsModelCallIsCharged) {
  Result<CompactAnswer> answer = Error{};
  std::uint64_t seen = 0;
  at_stop([&](const TestCall& call) {
    ServiceCaller who = caller(call.raw.conversation);
    who.event = call.raw.event;
    CompactOptions options;
    options.instructions = "keep names";
    seen = call.raw.envelope->revision;
    answer = services().compact(who, {call.raw.conversation, 0, 0, {nullptr, 0, 0}}, options);
  });
  model_.say("one").say("a summary", Usage{40, 4, 0, 0, 0, 0});
  ASSERT_TRUE(run("go"));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->summary, "a summary");
  EXPECT_EQ(answer->base_revision, seen);
  EXPECT_NE(model_.requests[1].closing_text.find("keep names"), std::string::npos);
  EXPECT_EQ(stored_view().rows().size(), 2u);
  EXPECT_EQ(stored_view().compactions(), 0u);
  EXPECT_EQ(store_.info(id())->usage.input, 40u);
  EXPECT_EQ(events_.outcomes(), "");
}

TEST_F(AgentServicesTest, CompactTellsTheProviderWhichModelAnswered) {
  at_stop([&](const TestCall& call) {
    ASSERT_TRUE(services().compact(caller(call.raw.conversation), {call.raw.conversation, 0, 0, {nullptr, 0, 0}}, {}));
  });
  model_.say("one").say("a summary");
  ASSERT_TRUE(run("go"));
  ASSERT_EQ(model_.requests.size(), 2u);
  EXPECT_EQ(model_.requests[1].purpose, "summary");
  EXPECT_EQ(model_.requests[1].answers_of, std::vector<std::string>{options_.model});
}

TEST_F(AgentServicesTest, CompactInsideBeforeCompactionIsBusy) {
  Result<CompactAnswer> answer = Error{};
  on(AGENTD_EVENT_BEFORE_COMPACTION, "recursive", [&](const TestCall& call) {
    ServiceCaller who = caller(call.raw.conversation);
    who.event = call.raw.event;
    answer = services().compact(who, {call.raw.conversation, 0, 0, {nullptr, 0, 0}}, {});
    return AGENTD_OK;
  });
  open();
  model_.say("one").say("summary");
  ASSERT_TRUE(run("go"));
  ASSERT_TRUE(session_->compact({}, false, cancel_));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kBusy);
}

TEST_F(AgentServicesTest, CompactRefusesPartedPairs) {
  open();
  Rows rows;
  Message orphan;
  orphan.blocks = {Block::tool_result("x", "out", false)};
  rows.append(orphan, 0, 0);
  const auto answer = services().compact(caller(), {0, 0, 0, rows.list()}, {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kInvalid);
  EXPECT_TRUE(model_.requests.empty());
}

TEST_F(AgentServicesTest, CompactOfOwnMessagesAndOfNothing) {
  open();
  Rows rows;
  rows.append(Message::of_text(Role::kUser, "hello"), 0, 0);
  model_.say("short");
  EXPECT_EQ(services().compact(caller(), {0, 0, 0, rows.list()}, {})->summary, "short");
  EXPECT_EQ(services().compact(caller(), {0, 0, 0, {nullptr, 0, 0}}, {}).error().code, Code::kInvalid);
  EXPECT_EQ(services().compact(caller(), {99, 0, 0, {nullptr, 0, 0}}, {}).error().code, Code::kNotFound);
}

TEST_F(AgentServicesTest, EmptySummaryOfTheModelIsUnavailable) {
  open();
  Rows rows;
  rows.append(Message::of_text(Role::kUser, "hello"), 0, 0);
  model_.say(" \n");
  EXPECT_EQ(services().compact(caller(), {0, 0, 0, rows.list()}, {}).error().code, Code::kUnavailable);
}

TEST_F(AgentServicesTest, QueuedCompactionIsDoneAfterTheRun) {
  at_stop([&](const TestCall& call) {
    EXPECT_TRUE(services().request_compaction(caller(call.raw.conversation), {}, {}));
    EXPECT_TRUE(services().request_compaction(caller(), session_->conversation_id(), {}));
  });
  model_.say("one").say("a summary");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(events_.outcomes(), "applied");
  EXPECT_EQ(stored_view().rows().size(), 1u);
}

TEST_F(AgentServicesTest, CompactionAskedForBetweenRunsIsToldAndBeginsTheNextOne) {
  open();
  model_.say("one").say("a summary").say("two");
  ASSERT_TRUE(run("first"));
  ASSERT_TRUE(services().request_compaction(caller(), session_->conversation_id(), {}));
  EXPECT_TRUE(log_.mentions("requested between two runs"));
  EXPECT_EQ(events_.outcomes(), "");
  ASSERT_TRUE(run("second"));
  EXPECT_EQ(events_.outcomes(), "applied");
  EXPECT_EQ(model_.requests[1].purpose, "summary");
}

TEST_F(AgentServicesTest, RequestForAConversationThatIsNotOpenSaysWhatToDo) {
  open();
  const auto asked = services().request_compaction(caller(), "01ARYZ6S41TSV4RRFFQ69G5FAV", {});
  ASSERT_FALSE(asked);
  EXPECT_NE(asked.error().message.find("agentd compact -c"), std::string::npos);
}

// ---- threads

TEST_F(AgentServicesTest, ThreadKeepsItsHistoryAndCountsItsUsage) {
  open();
  ThreadOptions options;
  options.system = "you judge";
  options.model = "m-judge";
  const auto thread = services().open_thread(caller(), options);
  ASSERT_TRUE(thread);
  EXPECT_TRUE(model_.requests.empty());
  model_.say("A", Usage{10, 1, 0, 0, 0, 0}).say("B", Usage{20, 2, 0, 0, 0, 0});
  EXPECT_EQ(services().send(caller(), *thread, "first")->message.text(), "A");
  EXPECT_EQ(services().send(caller(), *thread, "second")->message.text(), "B");
  EXPECT_EQ(model_.requests[1].all_text(), "first\nA\nsecond\n");
  EXPECT_EQ(model_.requests[1].system, "you judge");
  EXPECT_EQ(model_.requests[1].model, "m-judge");
  EXPECT_EQ(model_.requests[1].purpose, "thread");
  EXPECT_EQ(services().thread_usage(caller(), *thread)->input, 30u);
}

TEST_F(AgentServicesTest, ThreadStopsWhenItsBudgetIsSpent) {
  open();
  ThreadOptions options;
  options.budget_tokens = 15;
  const auto thread = services().open_thread(caller(), options);
  model_.say("A", Usage{10, 10, 0, 0, 0, 0}).say("never");
  ASSERT_TRUE(services().send(caller(), *thread, "first"));
  const auto over = services().send(caller(), *thread, "second");
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, Code::kDenied);
  EXPECT_EQ(model_.requests.size(), 1u);
}

TEST_F(AgentServicesTest, BudgetHoldsWithoutAReportOfTheProvider) {
  open();
  ThreadOptions options;
  options.budget_tokens = 50;
  const auto thread = services().open_thread(caller(), options);
  model_.say(std::string(400, 'x')).say("never");
  ASSERT_TRUE(services().send(caller(), *thread, "first"));
  EXPECT_FALSE(services().send(caller(), *thread, "second"));
}

// A thread has a budget of its own; so many threads that a plugin opens, so many budgets it would have.
TEST_F(AgentServicesTest, ThreadsOfOneCallShareTheBudgetOfTheCall) {
  settings_.hook_call_tokens = 1'000;
  settings_.hook_run_tokens = 2'500;
  open();
  for (int i = 0; i < 20; ++i) model_.say("A", Usage{300, 100, 0, 0, 0, 0});
  const auto sends = [&](agentd_token call) {
    ServiceCaller from = caller();
    from.call = call;
    for (int sent = 0;; ++sent) {
      const auto thread = services().open_thread(from, {});
      const auto got = services().send(from, *thread, "how much?");
      EXPECT_TRUE(services().close_thread(from.plugin_id, *thread));
      if (got) continue;
      EXPECT_EQ(got.error().code, Code::kDenied);
      return std::to_string(sent) + " " + got.error().message;
    }
  };
  const std::string first = sends(1 << 24 | 1);
  EXPECT_TRUE(first.starts_with("3 " + std::string(caller().plugin_id) +
                                " has spent 1,200 of the 1,000 tokens that a plugin may spend in one call, and the "
                                "next request takes about "))
      << first;
  EXPECT_NE(first.find("budget.hook_call_tokens"), std::string::npos) << first;
  EXPECT_TRUE(sends(1 << 24 | 1).starts_with("0 "));
  // The next call in the same slot has a budget of its own, and the run one of all.
  EXPECT_TRUE(sends(2 << 24 | 1).starts_with("3 "));
  const std::string third = sends(3 << 24 | 1);
  EXPECT_TRUE(third.starts_with("1 ")) << third;
  EXPECT_NE(third.find("in one run"), std::string::npos) << third;
  EXPECT_NE(third.find("budget.hook_run_tokens"), std::string::npos) << third;
  // Another plugin's is untouched.
  ServiceCaller other = caller();
  other.plugin_id = "org.test.other";
  other.call = 4 << 24 | 1;
  const auto thread = services().open_thread(other, {});
  EXPECT_TRUE(services().send(other, *thread, "how much?"));
}

TEST_F(AgentServicesTest, WhatIsUnderWayCountsForTheBudget) {
  settings_.hook_call_tokens = 100;
  open();
  ServiceCaller from = caller();
  from.call = 1 << 24 | 1;
  model_.say("A", Usage{30, 1, 0, 0, 0, 0}).say("B", Usage{30, 1, 0, 0, 0, 0});
  const auto outer = services().open_thread(from, {});
  const auto inner = services().open_thread(from, {});
  Code code = Code::kInternal;
  const std::string long_text = [] {
    std::string text;
    for (int i = 0; i < 60; ++i) text += "word ";
    return text;
  }();
  bool first = true;
  model_.during = [&](const ModelRequest&) {
    if (!std::exchange(first, false)) return;
    if (const auto got = services().send(from, *inner, long_text); !got) code = got.error().code;
  };
  EXPECT_TRUE(services().send(from, *outer, long_text));
  EXPECT_EQ(code, Code::kDenied);
}

// The longest answer is what the budgets leave after the prompt, and with less than a token left nothing is sent.
TEST_F(AgentServicesTest, AnswerIsNoLongerThanTheBudgetsLeave) {
  const std::uint64_t prompt = [&] {
    open();
    const auto thread = services().open_thread(caller(), {});
    model_.say("A");
    EXPECT_TRUE(services().send(caller(), *thread, "how much?"));
    EXPECT_EQ(model_.requests[0].max_output_tokens, 4'096u);
    return services().thread_usage(caller(), *thread)->input;
  }();
  ASSERT_GT(prompt, 0u);
  model_.requests.clear();
  for (const bool run : {false, true}) {
    (run ? settings_.hook_run_tokens : settings_.hook_call_tokens) = prompt + 5;
    (run ? settings_.hook_call_tokens : settings_.hook_run_tokens) = 0;
    reopen_with_settings();
    ServiceCaller from = caller();
    from.call = 1 << 24 | 1;
    const auto thread = services().open_thread(from, {});
    model_.say("A", Usage{prompt, 5, 0, 0, 0, 0});
    ASSERT_TRUE(services().send(from, *thread, "how much?"));
    EXPECT_EQ(model_.requests.back().max_output_tokens, 5u);
    const std::size_t sent = model_.requests.size();
    const auto other = services().open_thread(from, {});
    const auto over = services().send(from, *other, "how much?");
    ASSERT_FALSE(over);
    EXPECT_EQ(over.error().code, Code::kDenied);
    EXPECT_NE(over.error().message.find(run ? "budget.hook_run_tokens" : "budget.hook_call_tokens"), std::string::npos)
        << over.error().message;
    EXPECT_EQ(model_.requests.size(), sent);
  }
  // A budget of the prompt alone leaves nothing for an answer.
  settings_.hook_run_tokens = prompt;
  reopen_with_settings();
  const auto thread = services().open_thread(caller(), {});
  EXPECT_EQ(services().send(caller(), *thread, "how much?").error().code, Code::kDenied);
  // The thread's own budget is kept likewise.
  settings_.hook_run_tokens = 0;
  reopen_with_settings();
  ThreadOptions own;
  own.budget_tokens = prompt + 7;
  const auto poor = services().open_thread(caller(), own);
  model_.say("A");
  ASSERT_TRUE(services().send(caller(), *poor, "how much?"));
  EXPECT_EQ(model_.requests.back().max_output_tokens, 7u);
}

// Each request of a summary draws from the budget, and what a failed one has cost counts.
TEST_F(AgentServicesTest, SummaryIsNoLongerThanTheBudgetLeaves) {
  Rows rows;
  rows.append(Message::of_text(Role::kUser, "hello"), 0, 0);
  const auto compact = [&] { return services().compact(caller(), {0, 0, 0, rows.list()}, {}); };
  open();
  model_.say("short", Usage{280, 20, 0, 0, 0, 0});
  ASSERT_TRUE(compact());
  const std::uint64_t longest = model_.requests[0].max_output_tokens;
  model_.requests.clear();
  settings_.hook_run_tokens = longest;  // does not cover the prompt as well
  reopen_with_settings();
  ModelError failed = testing::FakeModel::failure(ModelErrorKind::kInvalid, "no").error();
  failed.usage = Usage{20, 0, 0, 0, 0, 0};
  model_.answers.push_back(std::move(failed));
  model_.say("short", Usage{longest - 40, 10, 0, 0, 0, 0});
  ASSERT_FALSE(compact());
  ASSERT_TRUE(compact());
  ASSERT_EQ(model_.requests.size(), 2u);
  EXPECT_LT(model_.requests[0].max_output_tokens, longest);
  EXPECT_LT(model_.requests[1].max_output_tokens, model_.requests[0].max_output_tokens);
  EXPECT_GT(model_.requests[1].max_output_tokens, 0u);
  const auto over = compact();
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, Code::kDenied);
  EXPECT_NE(over.error().message.find("has spent " + with_commas(longest - 10) + " of the "), std::string::npos)
      << over.error().message;
  EXPECT_EQ(model_.requests.size(), 2u);
}

TEST_F(AgentServicesTest, FailedSendLeavesTheHistoryAsItWas) {
  open();
  const auto thread = services().open_thread(caller(), {});
  model_.fail(ModelErrorKind::kServer, "500").say("fine");
  EXPECT_EQ(services().send(caller(), *thread, "lost").error().code, Code::kUnavailable);
  ASSERT_TRUE(services().send(caller(), *thread, "kept"));
  EXPECT_EQ(model_.requests[1].all_text(), "kept\n");
}

// As when one of the plugin's threads waits for the model and a call of it asks meanwhile.
TEST_F(AgentServicesTest, ThreadThatTalksHoldsNobodyLongerThanHisOwnCancel) {
  open();
  const auto thread = services().open_thread(caller(), {});
  std::optional<Usage> usage;
  Result<ThreadReply> second = Error{};
  model_.during = [&](const ModelRequest&) {
    std::thread([&] {
      if (auto spent = services().thread_usage(caller(), *thread)) usage = *spent;
      ServiceCaller impatient = caller();
      impatient.cancel.cancel(AGENTD_CANCEL_USER);
      second = services().send(impatient, *thread, "me too");
    }).join();
  };
  model_.say("A");
  EXPECT_TRUE(services().send(caller(), *thread, "first"));
  EXPECT_TRUE(usage);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kCancelled);
}

TEST_F(AgentServicesTest, PluginHasSoManyThreadsOpenAndNoMore) {
  open();
  std::vector<agentd_thread> threads;
  for (int i = 0; i < 64; ++i) {
    const auto thread = services().open_thread(caller(), {});
    ASSERT_TRUE(thread) << i;
    threads.push_back(*thread);
  }
  const auto over = services().open_thread(caller(), {});
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, Code::kUnavailable);
  EXPECT_NE(over.error().message.find("close one first"), std::string::npos);
  ServiceCaller other = caller();
  other.plugin_id = "org.example.other";
  EXPECT_TRUE(services().open_thread(other, {})) << "another plugin has threads of its own";
  ASSERT_TRUE(services().close_thread(caller().plugin_id, threads.back()));
  EXPECT_TRUE(services().open_thread(caller(), {}));
}

TEST_F(AgentServicesTest, ThreadBelongsToThePluginThatOpenedIt) {
  open();
  const auto thread = services().open_thread(caller(), {});
  ServiceCaller other;
  other.plugin_id = "org.test.other";
  EXPECT_EQ(services().send(other, *thread, "x").error().code, Code::kNotFound);
  EXPECT_EQ(services().close_thread("org.test.other", *thread).error().code, Code::kNotFound);
  EXPECT_TRUE(services().close_thread("org.test.p", *thread));
  EXPECT_EQ(services().close_thread("org.test.p", *thread).error().code, Code::kNotFound);
  EXPECT_EQ(services().send(caller(), *thread, "x").error().code, Code::kNotFound);
}

TEST_F(AgentServicesTest, ModelCallsOfAHookAreChargedToTheConversation) {
  at_stop([&](const TestCall& call) {
    const auto thread = services().open_thread(caller(call.raw.conversation), {});
    EXPECT_TRUE(services().send(caller(call.raw.conversation), *thread, "judge"));
  });
  model_.say("one").say("fine", Usage{30, 3, 0, 0, 0, 0});
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(store_.info(id())->usage.input, 30u);
  EXPECT_FALSE(session_->gauge().reported);
}

TEST_F(AgentServicesTest, SessionMayEndWhileAThreadWaitsForItsModel) {
  agentd_conv conversation = 0;
  at_stop([&](const TestCall& call) { conversation = call.raw.conversation; });
  model_.say("one");
  ASSERT_TRUE(run("go"));
  ThreadOptions options;
  options.charge_to = conversation;
  const auto thread = services().open_thread(caller(), options);
  model_.say("late", Usage{1, 1, 0, 0, 0, 0});
  model_.during = [&](const ModelRequest&) { session_.reset(); };
  EXPECT_EQ(services().send(caller(), *thread, "x")->message.text(), "late");
}

// ---- store

TEST_F(AgentServicesTest, KeysArePrivateToThePlugin) {
  open();
  const PluginKeyOp put{AGENTD_KV_PUT, "k", "v", AGENTD_KV_ABSENT};
  ASSERT_TRUE(services().commit(caller(), {&put, 1}));
  EXPECT_EQ(services().get(caller(), "k")->value, "v");
  ServiceCaller other;
  other.plugin_id = "org.test.other";
  EXPECT_EQ(services().get(other, "k").error().code, Code::kNotFound);
  EXPECT_EQ(services().commit(caller(), {&put, 1}).error().code, Code::kConflict);
  EXPECT_EQ(services().scan(caller(), "", "", 10)->size(), 1u);
}

// A hook may quote what a tool put out.
TEST_F(AgentServicesTest, AMessageOfAHookIsNotTheUsersInTheLog) {
  on(AGENTD_EVENT_AGENT_STOP, "checker", [](const TestCall& call) {
    const bool first = call.payload<agentd_agent_stop>().continuation == 0;
    return first ? call.answer(action(AGENTD_ACT_CONTINUE, "never push to main")) : AGENTD_OK;
  });
  open();
  model_.say("one").say("two");
  ASSERT_TRUE(run("go"));
  const Rows rows = *services().messages(session_->conversation_id(), AGENTD_SCOPE_LOG, 0, 0, 100);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].flags & AGENTD_MESSAGE_CONTEXT, 0) << "the user's";
  EXPECT_EQ(rows[2].role, AGENTD_ROLE_USER);
  EXPECT_NE(rows[2].flags & AGENTD_MESSAGE_CONTEXT, 0) << "the hook's";
}

TEST_F(AgentServicesTest, MessagesOfTheViewAndOfTheLogAndAtARevision) {
  open();
  model_.say("one").say("summary");
  ASSERT_TRUE(run("go"));
  const std::uint64_t answered = stored_view().rows()[1].seq;
  ASSERT_TRUE(session_->compact({}, false, cancel_));
  const std::string name = session_->conversation_id();
  EXPECT_EQ(services().messages(name, AGENTD_SCOPE_VIEW, 0, 0, 100)->size(), 1u);
  EXPECT_EQ(services().messages(name, AGENTD_SCOPE_LOG, 0, 0, 100)->size(), 3u);
  EXPECT_EQ(services().messages(name, AGENTD_SCOPE_VIEW, answered, 0, 100)->size(), 2u);
  EXPECT_EQ(services().messages(name, AGENTD_SCOPE_VIEW, answered, answered, 100)->size(), 1u);
  EXPECT_EQ(services().messages(name, AGENTD_SCOPE_LOG, 0, 0, 2)->size(), 2u);
  EXPECT_EQ(services().messages("nonsense", AGENTD_SCOPE_LOG, 0, 0, 2).error().code, Code::kInvalid);
  EXPECT_EQ(services().messages("01ARYZ6S41TSV4RRFFQ69G5FAV", AGENTD_SCOPE_VIEW, 0, 0, 2).error().code,
            Code::kNotFound);
}

TEST_F(AgentServicesTest, ElidedTextIsReadOnWithItsBlob) {
  const std::string whole = std::string(70'000, 'x') + "the end";
  std::string blob;
  at_stop([&](const TestCall& call) {
    const auto* const rows = messages_of(call.payload<agentd_agent_stop>().messages);
    const agentd_block& block = blocks_of(rows[0])[0];
    EXPECT_NE(block.flags & AGENTD_BLOCK_ELIDED, 0);
    blob = std::string(view_of(block.blob));
  });
  model_.say("one");
  ASSERT_TRUE(run(whole));
  EXPECT_EQ(*services().read_blob(blob, 70'000, 0), "the end");
  EXPECT_EQ(*services().read_blob(blob, 0, 3), "xxx");
  EXPECT_EQ(*services().read_blob(blob, 1'000'000, 3), "");
  for (const char* const bad : {"", "x", "a:b:c", "01ARYZ6S41TSV4RRFFQ69G5FAV:x:0"})
    EXPECT_FALSE(services().read_blob(bad, 0, 0)) << bad;
  EXPECT_FALSE(services().read_blob(session_->conversation_id() + ":3:9", 0, 0));
  EXPECT_FALSE(services().read_blob(session_->conversation_id() + ":1:0", 0, 0));
}

TEST_F(AgentServicesTest, ConversationsAndChangesAreListed) {
  open();
  model_.say("one");
  ASSERT_TRUE(run("go"));
  agentd_conv_query query{};
  query.size = sizeof query;
  EXPECT_EQ(services().conversations(query)->size(), 1u);
  const auto changes = services().changes(0, 10);
  EXPECT_EQ(changes->changed.size(), 1u);
  EXPECT_EQ(services().changes(changes->next, 10)->changed.size(), 0u);
}

TEST_F(AgentServicesTest, RemovalsAreNoEndOfTheChanges) {
  open();
  model_.say("one");
  ASSERT_TRUE(run("go"));
  const std::uint64_t before = services().changes(0, 10)->next;
  for (std::uint8_t number = 1; number <= 3; ++number) {
    std::array<std::uint8_t, 16> bytes{};
    bytes[15] = number;
    GenesisRecord genesis;
    genesis.conversation_id = Ulid(bytes).text();
    ASSERT_TRUE(store_.append(Ulid(bytes), 0, {{write_genesis(genesis)}}));
    ASSERT_TRUE(store_.remove(Ulid(bytes)));
  }
  const auto none = services().changes(before, 2);
  EXPECT_TRUE(none->changed.empty());
  EXPECT_GT(none->next, before);
  model_.say("two");
  ASSERT_TRUE(run("again"));
  EXPECT_EQ(services().changes(before, 2)->changed.size(), 1u);
}

TEST_F(AgentServicesTest, CountsFollowTheEstimator) {
  open();
  EXPECT_EQ(services().count_text("", "12345678"), 2u);
  Rows rows;
  rows.append(Message::of_text(Role::kUser, "12345678"), 0, 0);
  EXPECT_EQ(services().count_messages("", rows.list()), 6u);
  EXPECT_NE(services().compaction_prompt({}, {})->find("summar"), std::string::npos);
}

}  // namespace
}  // namespace agentd
