// SPDX-License-Identifier: Apache-2.0
// What hooks refuse or rewrite of a message reaches no event before and behind it; what is kept of it all the same is
// found and taken out.
#include "core/agent/removed_texts.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/agent/erasing.h"
#include "core/agent/recollections.h"
#include "core/conversation/receipt.h"
#include "tests/support/agent_fixture.h"
#include "tests/unit/agent/remembering.h"

namespace agentd {
namespace {

using testing::action;
using testing::AgentTest;
using testing::Remembering;
using testing::TestCall;
using testing::TestHook;

constexpr const char* kRaw = "my word is hunter2-is-the-word-of-the-day";
constexpr const char* kSecret = "hunter2";

class RemovedTexts : public AgentTest {
 protected:
  RemovedTexts() {
    options_.lifecycle = true;
    memories_.known = {{"mem_1", "how tests run", "make test", {}, 800, 5}};
    on(AGENTD_EVENT_SESSION_START, "start", [this](const TestCall& call) {
      started_.emplace_back(view_of(call.payload<agentd_session_start>().task));
      return call.answer(action(AGENTD_ACT_INJECT_CONTEXT, "noted"));
    });
  }

  void begin(const std::string& first_text = kRaw) {
    publish();
    if (!services_) services_ = make_services(runtime_parts(), runtime_settings());
    AgentParts all = parts();
    all.recollections = &memories_;
    agent_ = make_agent(*services_, std::move(all), options_);
    auto opened = agent_->open(std::nullopt, {}, first_text);
    ASSERT_TRUE(opened) << opened.error().message;
    session_ = std::move(*opened);
  }
  TestHook& gate(const Action& what) {
    return on(AGENTD_EVENT_USER_MESSAGE_SEND, "gate", [what](const TestCall& call) {
      const std::string text(view_of(call.payload<agentd_user_message>().text));
      return text.find(kSecret) == std::string::npos ? AGENTD_OK : call.answer(what);
    });
  }
  TestHook& rewriter() { return gate(action(AGENTD_ACT_REPLACE_TEXT, "my word is [cleaned]")); }
  TestHook& blocker() { return gate(action(AGENTD_ACT_BLOCK, "a forbidden word")); }

  // Everything that the store has of the conversation.
  std::string kept() const {
    std::string out;
    for (const StoredRecord& record : log()) out += record.record.payload + "\n";
    for (const HookReceipt& one : receipts())
      out += write_receipt(one) + "\n" + (one.payload_kept ? store_.blob(one.payload_digest).value_or("") : "") + "\n";
    return out;
  }
  bool is_kept() const { return kept().find(kSecret) != std::string::npos; }

  // The first message goes out before there is a hook that judges it.
  void begin_too_early() {
    begin();
    model_.say("done");
  }
  ErasedAll erase(const ErasePlan& plan) {
    const auto leases = lease_all(store_, plan);
    EXPECT_TRUE(leases) << (leases ? "" : leases.error().message);
    ErasedAll done;
    const auto erased = carry_out(store_, plan, {}, done);
    EXPECT_TRUE(erased) << (erased ? "" : erased.error().message);
    return done;
  }

  Remembering memories_;
  std::vector<std::string> started_;
};

// ---- before the hooks of the message

TEST_F(RemovedTexts, AMessageThatAHookRewritesIsNoTaskBeforeThat) {
  rewriter();
  begin();
  EXPECT_EQ(started_, std::vector<std::string>{""});
  EXPECT_TRUE(memories_.asked.empty());
  model_.say("done");
  ASSERT_TRUE(run(kRaw));
  EXPECT_EQ(memories_.asked, std::vector<std::string>{"my word is [cleaned]"});
  EXPECT_NE(model_.requests[0].all_text().find("mem_1"), std::string::npos) << "the memories come behind the message";
  session_->end("exit");
  EXPECT_FALSE(is_kept()) << kept();
}

TEST_F(RemovedTexts, AMessageThatAHookBlocksIsNoTaskEither) {
  blocker();
  begin();
  EXPECT_EQ(started_, std::vector<std::string>{""});
  const auto refused = run(kRaw);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, RunError::Kind::kBlocked);
  session_->end("exit");
  EXPECT_TRUE(memories_.asked.empty());
  EXPECT_FALSE(is_kept()) << kept();
}

TEST_F(RemovedTexts, HooksThatOnlyWatchLeaveTheTaskKnown) {
  rewriter().what.flags = AGENTD_HOOK_OBSERVES;
  TestHook& shadow = on(AGENTD_EVENT_USER_MESSAGE_SEND, "shadow", [](const TestCall&) { return AGENTD_OK; });
  shadow.what.shadow = true;
  begin();
  EXPECT_EQ(started_, std::vector<std::string>{kRaw});
  EXPECT_EQ(memories_.asked, std::vector<std::string>{kRaw});
}

// ---- what was erased while the session is open

class ErasedTask : public RemovedTexts, public ::testing::WithParamInterface<const char*> {};

TEST_P(ErasedTask, IsNotToldAtTheEnd) {
  const std::string when = GetParam();
  std::string told;
  on(AGENTD_EVENT_SESSION_END, "end", [&](const TestCall& call) {
    told = std::string(view_of(call.payload<agentd_session_end>().task));
    return call.answer(action(AGENTD_ACT_SYSTEM_MESSAGE, "noted"));
  });
  begin();
  model_.say("done").say("done again");
  ASSERT_TRUE(run(kRaw));
  if (when != "the control: never") {
    EraseQuery query;
    query.conversation = id();
    query.texts.push_back({kSecret, "[erased]"});
    const auto plan = plan_erase(store_, query);
    ASSERT_TRUE(plan) << plan.error().message;
    erase(*plan);
    ASSERT_FALSE(is_kept()) << kept();
  }
  if (when == "before another run") {
    ASSERT_TRUE(run("go on"));
  }
  session_->end("exit");
  EXPECT_EQ(told.find(kSecret) != std::string::npos, when == "the control: never") << told;
  EXPECT_EQ(is_kept(), when == "the control: never") << kept();
  EXPECT_NE(told.find("my word is"), std::string::npos) << told;
}

INSTANTIATE_TEST_SUITE_P(When, ErasedTask,
                         ::testing::Values("the control: never", "before the end", "before another run"));

// ---- behind them

TEST_F(RemovedTexts, ObserversOfABlockedMessageDoNotGetItsText) {
  blocker();
  std::vector<std::string> seen;
  std::vector<std::uint32_t> images;
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "watch", [&](const TestCall& call) {
    seen.emplace_back(view_of(call.payload<agentd_user_message>().text));
    images.push_back(call.payload<agentd_user_message>().images.count);
    return AGENTD_OK;
  }).what.flags = AGENTD_HOOK_OBSERVES;
  begin({});
  RunRequest request;
  request.text = kRaw;
  Block image;
  image.kind = BlockKind::kImage;
  image.name = "image/png";
  image.opaque = "iVBORw0KGgo=";
  request.media = {image};
  ASSERT_FALSE(session_->run(request, cancel_));
  EXPECT_EQ(seen, std::vector<std::string>{"[withheld: a hook blocked this message]"});
  EXPECT_EQ(images, std::vector<std::uint32_t>{0});
  model_.say("done");
  ASSERT_TRUE(run("plain words"));
  EXPECT_EQ(seen.back(), "plain words");
}

TEST_F(RemovedTexts, WhatAHookSaysNextIsJudgedBeforeAReceiptHasIt) {
  rewriter();
  bool said = false;
  on(AGENTD_EVENT_AGENT_STOP, "goes on", [&](const TestCall& call) {
    return std::exchange(said, true) ? AGENTD_OK : call.answer(action(AGENTD_ACT_CONTINUE, kRaw));
  });
  begin("hello");
  model_.say("one").say("two");
  ASSERT_TRUE(run("hello"));
  EXPECT_NE(model_.requests[1].all_text().find("[cleaned]"), std::string::npos);
  session_->end("exit");
  EXPECT_FALSE(is_kept()) << kept();
}

// ---- what is kept all the same: the order of earlier versions

TEST_F(RemovedTexts, AHookThatComesBetweenTheEventsIsTooLateAndThatIsFound) {
  begin_too_early();
  rewriter();
  publish();
  ASSERT_TRUE(run(kRaw));
  session_->end("exit");
  ASSERT_TRUE(is_kept()) << "the control: this order keeps it";
  const auto found = removed_texts(store_);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->found.size(), 1u);
  EXPECT_EQ(found->found[0].text, kRaw);
  EXPECT_EQ(found->found[0].conversation, id());

  const auto plan = plan_erase_removed(store_, std::nullopt);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->parts.size(), 1u);
  EXPECT_TRUE(plan->parts[0].records.empty());
  EXPECT_EQ(erase(*plan).parts[0].report.receipts, plan->parts[0].receipts);
  EXPECT_FALSE(is_kept()) << kept();
  EXPECT_TRUE(removed_texts(store_)->found.empty());
  EXPECT_TRUE(plan_erase_removed(store_, id())->empty());
}

TEST_F(RemovedTexts, ABlockedFirstMessageThatIsKeptIsFound) {
  begin_too_early();
  blocker();
  publish();
  ASSERT_FALSE(run(kRaw));
  session_->end("exit");
  ASSERT_TRUE(is_kept());
  ASSERT_EQ(removed_texts(store_, id())->found.size(), 1u);
  erase(*plan_erase_removed(store_, id()));
  EXPECT_FALSE(is_kept()) << kept();
}

// A text that the log has is no removed one, whatever hooks have done to others.
TEST_F(RemovedTexts, ATaskThatTheLogHasStays) {
  begin("hello");
  model_.say("one").say("two");
  ASSERT_TRUE(run("hello"));
  rewriter();
  publish();
  ASSERT_TRUE(run(kRaw));
  session_->end("exit");
  EXPECT_TRUE(removed_texts(store_)->found.empty());
}

// ---- receipts are looked through by themselves

TEST_F(RemovedTexts, ATextThatOnlyReceiptsHaveIsErasedByItsText) {
  begin_too_early();
  blocker();
  publish();
  ASSERT_FALSE(run(kRaw));
  session_->end("exit");
  EraseQuery query;
  query.conversation = id();
  query.texts = {{kSecret, "[erased]"}};
  const auto plan = plan_erase(store_, query);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->parts.size(), 1u);
  EXPECT_GE(plan->parts[0].receipts, 1u);
  erase(*plan);
  EXPECT_FALSE(is_kept()) << kept();
  EXPECT_TRUE(plan_erase(store_, query)->empty());
}

TEST_F(RemovedTexts, TheRulesForSecretsLookIntoReceiptsToo) {
  begin_too_early();
  blocker();
  publish();
  ASSERT_FALSE(run(kRaw));
  session_->end("exit");
  EraseQuery query;
  query.conversation = id();
  query.find = [](std::string_view text) -> Result<std::vector<ErasedText>> {
    if (text.find(kSecret) == std::string_view::npos) return std::vector<ErasedText>{};
    return std::vector<ErasedText>{{kSecret, "[secret]"}};
  };
  erase(*plan_erase(store_, query));
  EXPECT_FALSE(is_kept()) << kept();
}

}  // namespace
}  // namespace agentd
