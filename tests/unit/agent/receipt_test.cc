// SPDX-License-Identifier: Apache-2.0
#include "core/agent/receipts.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/base/bytes.h"
#include "core/hooks/payload_json.h"
#include "core/store/lmdb/lmdb_store.h"
#include "tests/support/agent_fixture.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

using testing::action;
using testing::AgentTest;
using testing::permission_action;
using testing::set_action;
using testing::TempDir;
using testing::TestCall;

class Receipts : public AgentTest {
 protected:
  Receipts() { trace_hooks_ = false; }
  std::string lines() const {
    std::string out;
    for (const HookReceipt& one : receipts())
      out += one.event + "/" + one.hook + "/" + std::string(name_of(one.effect)) + " ";
    return out;
  }
  // The bytes of everything that the receipts keep.
  std::string kept_text() const {
    std::string out;
    for (const HookReceipt& one : receipts()) {
      out += write_receipt(one) + "\n";
      if (one.payload_kept) out += store_.blob(one.payload_digest).value_or("missing") + "\n";
    }
    return out;
  }
};

TEST_F(Receipts, HooksWithoutAnOpinionLeaveNone) {
  for (const EventTraits& event : all_events()) on(event.id, "quiet", [](const TestCall&) { return AGENTD_OK; });
  open();
  model_.say("hello");
  ASSERT_TRUE(run("hi"));
  session_->end("exit");
  EXPECT_EQ(lines(), "");
  EXPECT_TRUE(events_.of(RunEvent::Type::kHookAnswer).empty());
}

TEST_F(Receipts, PayloadTextIsNotMadeForHooksWithoutAnOpinion) {
  bool made = false;
  // The text would be in the slot when the second hook looks.
  on(AGENTD_EVENT_TURN_START, "a", [](const TestCall&) { return AGENTD_OK; });
  on(AGENTD_EVENT_TURN_START, "b", [&](const TestCall& call) {
    made = call.slot.touched();
    return AGENTD_OK;
  });
  open();
  model_.say("hello");
  ASSERT_TRUE(run("hi"));
  EXPECT_FALSE(made);
}

// ---- what came of an answer

TEST_F(Receipts, AllowAgainstARuleWasRefused) {
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "eager",
     [](const TestCall& call) { return call.answer(permission_action(AGENTD_PERMISSION_ALLOW)); });
  permissions_.deny = {{"bash", {}, "bash"}};
  tools_.offer("bash");
  open();
  model_.ask_tools({{"bash", R"({"command":"ls"})"}}).say("done");
  ASSERT_TRUE(run("go"));
  ASSERT_EQ(lines(), "before_tool_call/eager/refused ");
  EXPECT_EQ(receipts()[0].note, "the permission rules do not allow bash");
}

TEST_F(Receipts, AllowAsTheRulesHaveItWasApplied) {
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "eager",
     [](const TestCall& call) { return call.answer(permission_action(AGENTD_PERMISSION_ALLOW)); });
  tools_.offer("bash");
  open();
  model_.ask_tools({{"bash", R"({"command":"ls"})"}}).say("done");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(lines(), "before_tool_call/eager/applied ");
}

TEST_F(Receipts, ContinueBeyondTheCapWasRefused) {
  on(AGENTD_EVENT_AGENT_STOP, "loop",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_CONTINUE, "more")); });
  open();
  for (int i = 0; i < 20; ++i) model_.say("x");
  ASSERT_TRUE(run("go"));
  ASSERT_EQ(receipts().size(), 9u);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(receipts()[i].effect, AnswerEffect::kApplied) << i;
  EXPECT_EQ(receipts()[8].effect, AnswerEffect::kRefused);
  EXPECT_EQ(receipts()[8].note, "the run does not continue");
}

TEST_F(Receipts, StaleReplacementWasRefused) {
  on(AGENTD_EVENT_BEFORE_MODEL_CALL, "stale", [](const TestCall& call) {
    auto answer = action(AGENTD_ACT_REPLACE_MESSAGES);
    answer.base_revision = 7'777;
    return call.answer(answer);
  });
  open();
  model_.say("one");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(lines(), "before_model_call/stale/refused ");
  EXPECT_NE(receipts()[0].note.find("it was made for revision 7777"), std::string::npos) << receipts()[0].note;
}

TEST_F(Receipts, CompactionThatAnotherHookVetoedWasRefused) {
  on(AGENTD_EVENT_AGENT_STOP, "tidy", [](const TestCall& call) { return call.answer(action(AGENTD_ACT_COMPACT)); });
  on(AGENTD_EVENT_BEFORE_COMPACTION, "keeper",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_BLOCK, "not now")); });
  open();
  for (int i = 0; i < 6; ++i) model_.say("x");
  ASSERT_TRUE(run("go"));
  EXPECT_NE(lines().find("agent_stop/tidy/refused"), std::string::npos) << lines();
}

TEST_F(Receipts, AnswerLeavesOneWithAllItsFacts) {
  auto& hook = on(AGENTD_EVENT_USER_MESSAGE_SEND, "rag", [&](const TestCall& call) {
    clock_.advance(Milliseconds(3));
    return call.answer(action(AGENTD_ACT_INJECT_CONTEXT, "know this"));
  });
  hook.what.bytes_digest = "beef";
  open();
  model_.say("hello");
  ASSERT_TRUE(run("hi"));
  const auto all = receipts();
  ASSERT_EQ(all.size(), 1u);
  const HookReceipt& one = all[0];
  EXPECT_TRUE(Ulid::parse(one.event_id));
  EXPECT_EQ(one.event, "user_message_send");
  EXPECT_EQ(one.hook, "rag");
  EXPECT_EQ(one.plugin, "org.test.rag");
  EXPECT_EQ(one.kind, "native");
  EXPECT_EQ(one.bytes_digest, "beef");
  EXPECT_EQ(one.answer, R"([{"action":"inject_context","text":"know this"}])");
  EXPECT_EQ(one.effect, AnswerEffect::kApplied);
  EXPECT_EQ(one.run, 1u);
  EXPECT_EQ(one.duration_us, 3'000u);
  EXPECT_GT(one.time_ms, 0);
  EXPECT_TRUE(one.payload_kept);
  const std::string payload = store_.blob(one.payload_digest).value_or("");
  EXPECT_NE(payload.find(R"("message":"hi")"), std::string::npos) << payload;
  EXPECT_NE(payload.find(one.event_id), std::string::npos);
}

TEST_F(Receipts, GoWithTheNextCommitAndAddNone) {
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "rag",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_INJECT_CONTEXT, "know this")); });
  open();
  model_.say("hello");
  std::string seen;
  model_.during = [&](const ModelRequest&) { seen = lines(); };
  ASSERT_TRUE(run("hi"));
  EXPECT_EQ(seen, "user_message_send/rag/applied ");
  EXPECT_EQ(store_.appends, 2);
}

TEST_F(Receipts, WhatCameAfterTheLastCommitIsKeptAtTheEnd) {
  on(AGENTD_EVENT_SESSION_END, "broken", [](const TestCall&) { return AGENTD_E_INTERNAL; });
  open();
  model_.say("hello");
  ASSERT_TRUE(run("hi"));
  EXPECT_EQ(lines(), "");
  session_->end("exit");
  EXPECT_EQ(lines(), "session_end/broken/failed ");
  EXPECT_EQ(receipts()[0].run, 0u);
}

TEST_F(Receipts, ConversationInWhichNothingWasSaidHasNone) {
  on(AGENTD_EVENT_SESSION_START, "memory", [](const TestCall& call) {
    call.emit(set_action(AGENTD_KEY_TITLE, "t"));
    return call.answer(action(AGENTD_ACT_INJECT_CONTEXT, "x"));
  });
  open();
  session_->end("exit");
  EXPECT_FALSE(store_.info(id()));
  EXPECT_FALSE(log_.mentions("could not be saved"));
}

TEST_F(Receipts, FailuresRefusalsAndSkippedHooksLeaveOne) {
  on(AGENTD_EVENT_TURN_START, "a_fails", [](const TestCall& call) {
    call.slot.fail(call.raw.token, AGENTD_E_INTERNAL, "it broke");
    return AGENTD_E_INTERNAL;
  });
  on(AGENTD_EVENT_TURN_START, "b_skipped", [](const TestCall& call) {
    call.slot.skip(call.raw.token, "its matcher does not match");
    return AGENTD_OK;
  });
  on(AGENTD_EVENT_TURN_START, "c_quiet", [](const TestCall&) { return AGENTD_OK; });
  open();
  model_.say("hello");
  ASSERT_TRUE(run("hi"));
  EXPECT_EQ(lines(), "turn_start/a_fails/failed turn_start/b_skipped/skipped ");
  EXPECT_EQ(receipts()[0].note, "it broke");
  EXPECT_EQ(receipts()[1].note, "its matcher does not match");
  // A hook that does not match is no news.
  EXPECT_TRUE(events_.of(RunEvent::Type::kWarning).empty());
}

TEST_F(Receipts, PayloadOfAnEventThatNobodyAnsweredIsNotKept) {
  on(AGENTD_EVENT_TURN_START, "skipped", [](const TestCall& call) {
    call.slot.skip(call.raw.token, "no match");
    return AGENTD_OK;
  });
  open();
  model_.say("hello");
  ASSERT_TRUE(run("hi"));
  ASSERT_EQ(receipts().size(), 1u);
  EXPECT_FALSE(receipts()[0].payload_kept);
  EXPECT_NE(receipts()[0].payload_digest, Digest{});
}

TEST_F(Receipts, WithTracingEveryHookLeavesOne) {
  trace_hooks_ = true;
  on(AGENTD_EVENT_TURN_START, "quiet", [](const TestCall&) { return AGENTD_OK; });
  open();
  model_.say("hello");
  ASSERT_TRUE(run("hi"));
  EXPECT_EQ(lines(), "turn_start/quiet/none ");
  EXPECT_TRUE(receipts()[0].payload_kept);
  EXPECT_EQ(events_.of(RunEvent::Type::kHookAnswer).size(), 1u);
}

TEST_F(Receipts, HooksOfOneDispatchShareTheEventAndThePayload) {
  for (const char* const name : {"a", "b"})
    on(AGENTD_EVENT_TURN_END, name,
       [](const TestCall& call) { return call.answer(action(AGENTD_ACT_SYSTEM_MESSAGE, "seen")); });
  open();
  model_.say("hello");
  ASSERT_TRUE(run("hi"));
  const auto all = receipts();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].event_id, all[1].event_id);
  EXPECT_EQ(all[0].payload_digest, all[1].payload_digest);
}

TEST_F(Receipts, ConflictAndShadowAreTold) {
  for (const char* const name : {"a", "b"})
    on(AGENTD_EVENT_AGENT_STOP, name,
       [](const TestCall& call) { return call.answer(action(AGENTD_ACT_SUMMARY, "s")); });
  on(AGENTD_EVENT_AGENT_STOP, "c", [](const TestCall& call) {
    return call.answer(action(AGENTD_ACT_CONTINUE, "more"));
  }).what.shadow = true;
  open();
  model_.say("hello");
  ASSERT_TRUE(run("hi"));
  EXPECT_EQ(lines(), "agent_stop/a/applied agent_stop/b/conflict agent_stop/c/shadow ");
  EXPECT_EQ(model_.requests.size(), 1u);
}

TEST_F(Receipts, KindComesFromWhoeverKnowsTheHooks) {
  on(AGENTD_EVENT_TURN_END, "mine",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_SYSTEM_MESSAGE, "x")); });
  publish();
  services_ = make_services(runtime_parts(), runtime_settings());
  AgentParts known = parts();
  known.trace_hooks = false;
  known.hook_kind = [](std::string_view hook) { return "kind of " + std::string(hook); };
  agent_ = make_agent(*services_, std::move(known), options_);
  open();
  model_.say("hello");
  ASSERT_TRUE(run("hi"));
  ASSERT_EQ(receipts().size(), 1u);
  EXPECT_EQ(receipts()[0].kind, "kind of mine");
}

TEST_F(Receipts, PiecesOfAStreamLeaveOneOnlyWhenAHookFails) {
  trace_hooks_ = true;
  on(AGENTD_EVENT_MODEL_DELTA, "fine", [](const TestCall&) { return AGENTD_OK; });
  on(AGENTD_EVENT_MODEL_DELTA, "late", [](const TestCall&) { return AGENTD_E_DEADLINE; });
  open();
  model_.say("the words");
  ASSERT_TRUE(run("hi"));
  EXPECT_EQ(lines(), "model_delta/late/failed ");
  EXPECT_FALSE(receipts()[0].payload_kept);
}

// ---- log and receipts rebuild what hooks were asked

TEST_F(Receipts, EveryPayloadIsRebuiltByteForByte) {
  options_.window_override = 3'000;
  tools_.offer("bash");
  std::map<std::string, std::string> asked;  // by event id
  for (const EventTraits& event : all_events()) {
    if (event.id == AGENTD_EVENT_MODEL_DELTA) continue;
    on(event.id, "watch", [&, id = event.id](const TestCall& call) {
      asked[std::string(view_of(call.raw.envelope->event_id))] = payload_json(id, call.raw.envelope, call.raw.payload);
      if (is_legal(id, AGENTD_ACT_SYSTEM_MESSAGE)) call.emit(action(AGENTD_ACT_SYSTEM_MESSAGE, "seen"));
      return AGENTD_OK;
    });
  }
  trace_hooks_ = true;
  open();
  tools_.handler = [](const ToolCall& call) {
    ToolOutcome out;
    out.content = "{\"messages\":[]}" + std::string(70'000, 'o') + call.name;
    return Result<ToolOutcome>(out);
  };
  options_.auto_compact = false;
  model_.ask_tools({{"bash", R"({"messages":[1]})"}}).say("one").say("a summary").say("two");
  (void)run("first");
  CompactOptions options;
  (void)session_->compact(options, false, cancel_);
  (void)run("second");
  session_->end("exit");
  std::size_t compared = 0;
  for (const HookReceipt& one : receipts()) {
    const auto rebuilt = rebuild_payload(store_, id(), one);
    ASSERT_TRUE(rebuilt) << one.event << ": " << rebuilt.error().message;
    ASSERT_EQ(*rebuilt, asked.at(one.event_id)) << one.event;
    ++compared;
  }
  EXPECT_EQ(compared, asked.size());
  std::map<std::string, int> events;
  for (const HookReceipt& one : receipts()) ++events[one.event];
  for (const char* const event :
       {"agent_stop", "before_model_call", "before_compaction", "after_tool_call", "session_end", "after_compaction"})
    EXPECT_GT(events[event], 0) << event;
}

TEST_F(Receipts, EachRewriterIsRebuiltAsItSawTheText) {
  tools_.offer("bash");
  std::map<std::string, std::string> asked;
  for (const char* const name : {"a", "b", "c"})
    on(AGENTD_EVENT_BEFORE_TOOL_CALL, name, [&, name](const TestCall& call) {
      const auto& payload = call.payload<agentd_tool_call>();
      asked[name] = payload_json(AGENTD_EVENT_BEFORE_TOOL_CALL, call.raw.envelope, &payload);
      return call.answer(action(AGENTD_ACT_REPLACE_TEXT, "{\"by\":\"" + std::string(name) + "\"}"));
    });
  open();
  model_.ask_tools({{"bash", "{}"}}).say("done");
  ASSERT_TRUE(run("go"));
  const auto all = receipts();
  ASSERT_EQ(all.size(), 3u);
  for (const HookReceipt& one : all) EXPECT_EQ(rebuild_payload(store_, id(), one).value_or(""), asked[one.hook]);
  EXPECT_NE(asked["a"], asked["b"]);
}

// ---- what hooks took out is stored nowhere

TEST_F(Receipts, RewrittenTextsAreKnownByTheirDigestAlone) {
  tools_.offer("bash");
  tools_.handler = [](const ToolCall&) {
    ToolOutcome out;
    out.content = "the output s3cret";
    return Result<ToolOutcome>(out);
  };
  for (const auto& [event, clean] :
       std::map<std::uint32_t, std::string>{{AGENTD_EVENT_USER_MESSAGE_SEND, "clean message"},
                                            {AGENTD_EVENT_AFTER_MODEL_CALL, "clean answer"},
                                            {AGENTD_EVENT_AFTER_TOOL_CALL, "clean output"}}) {
    // The first one only rewords: what it wrote still holds what the second takes out.
    on(event, "a_reword",
       [](const TestCall& call) { return call.answer(action(AGENTD_ACT_REPLACE_TEXT, "reworded s3cret")); });
    on(event, "b_redact",
       [text = clean](const TestCall& call) { return call.answer(action(AGENTD_ACT_REPLACE_TEXT, text)); });
    on(event, "c_after", [](const TestCall& call) { return call.answer(action(AGENTD_ACT_SYSTEM_MESSAGE, "noted")); });
  }
  open();
  model_.ask_tools({{"bash", "{}"}}).say("the answer s3cret");
  ASSERT_TRUE(run("the message s3cret"));
  session_->end("exit");
  EXPECT_EQ(kept_text().find("s3cret"), std::string::npos) << kept_text();
  int kept = 0;
  for (const HookReceipt& one : receipts()) {
    EXPECT_EQ(one.payload_kept, one.hook == "c_after") << one.event << " " << one.hook;
    kept += one.payload_kept ? 1 : 0;
    const auto rebuilt = rebuild_payload(store_, id(), one);
    EXPECT_EQ(rebuilt.has_value(), one.payload_kept);
    EXPECT_TRUE(rebuilt || rebuilt.error().code == Code::kNotFound);
  }
  EXPECT_GE(kept, 3);
}

TEST_F(Receipts, ContinuationThatARedactorChangedIsKeptInNoAnswer) {
  on(AGENTD_EVENT_AGENT_STOP, "tests", [](const TestCall& call) {
    const bool first = call.payload<agentd_agent_stop>().continuation == 0;
    return first ? call.answer(action(AGENTD_ACT_CONTINUE, "it says s3cret")) : AGENTD_OK;
  });
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "redact", [](const TestCall& call) {
    const bool bad = view_of(call.payload<agentd_user_message>().text).find("s3cret") != std::string_view::npos;
    return bad ? call.answer(action(AGENTD_ACT_REPLACE_TEXT, "it says ***")) : AGENTD_OK;
  }).what.flags = AGENTD_HOOK_REDACTS;
  open();
  model_.say("one").say("two");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(model_.requests[1].all_text(), "go\none\nit says ***\n");
  EXPECT_EQ(lines(), "agent_stop/tests/applied user_message_send/redact/applied ");
  EXPECT_EQ(kept_text().find("s3cret"), std::string::npos) << kept_text();
}

TEST_F(Receipts, BlockedMessageIsNotKept) {
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "guard",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_BLOCK, "no")); });
  open();
  EXPECT_FALSE(run("the s3cret"));
  EXPECT_EQ(lines(), "user_message_send/guard/blocked ");
  EXPECT_EQ(kept_text().find("s3cret"), std::string::npos);
}

TEST_F(Receipts, WithheldOutputOfAFailedRedactorIsNotKept) {
  tools_.offer("bash");
  tools_.handler = [](const ToolCall&) {
    ToolOutcome out;
    out.content = "s3cret";
    return Result<ToolOutcome>(out);
  };
  auto& hook = on(AGENTD_EVENT_AFTER_TOOL_CALL, "redact", [](const TestCall&) { return AGENTD_E_INTERNAL; });
  hook.what.flags = AGENTD_HOOK_REDACTS;
  hook.what.on_failure = FailurePolicy::kClosed;
  open();
  model_.ask_tools({{"bash", "{}"}}).say("done");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(receipts().size(), 1u);
  EXPECT_EQ(kept_text().find("s3cret"), std::string::npos) << kept_text();
}

TEST_F(Receipts, AreNotLostWhenACommitFails) {
  bool full = false;
  store_.refuses = [&](std::span<const Record>) { return full; };
  on(AGENTD_EVENT_TURN_END, "note", [&](const TestCall& call) {
    full = model_.requests.size() == 2;
    return call.answer(action(AGENTD_ACT_SYSTEM_MESSAGE, "x"));
  });
  open();
  model_.say("one").say("two");
  ASSERT_TRUE(run("first"));
  EXPECT_FALSE(run("second"));
  full = false;
  session_->end("error");
  EXPECT_EQ(lines(), "turn_end/note/applied turn_end/note/applied ");
}

// A store that is nearly full: it has room for the log, and none for the receipts beside it.
TEST_F(Receipts, ThatCannotBeKeptDoNotStandInTheWayOfTheLog) {
  options_.auto_compact = false;
  TempDir directory;
  LmdbOptions lmdb;
  lmdb.directory = directory.file("store");
  lmdb.map_bytes = lmdb.map_bytes_max = 8u << 20;
  auto store = open_lmdb_store(lmdb, clock_);
  ASSERT_TRUE(store) << store.error().message;
  store_.put_behind(std::move(*store));
  tools_.offer("bash");
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "note",
     [&](const TestCall& call) { return call.answer(action(AGENTD_ACT_SYSTEM_MESSAGE, "seen")); });
  open();
  const std::string input = R"({"command":")" + std::string(3'000'000, 'x') + "\"}";
  model_.ask_tools({{"bash", input}}).say("one").say("two");
  const auto first = run("first");
  ASSERT_TRUE(first) << first.error().message;
  const auto second = run("second");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(tools_.calls.size(), 1u);
  EXPECT_TRUE(receipts().empty());
  int told = 0;
  for (const auto& event : events_.told)
    told += event.text.find("could not be saved; the conversation was saved") != std::string::npos;
  EXPECT_EQ(told, 1);
}

// ---- the text of an answer

TEST(AnswerJson, TellsWhatEachActionAsksFor) {
  Action compact = action(AGENTD_ACT_COMPACT, "keep the paths");
  compact.code = AGENTD_STRATEGY_TAIL;
  compact.number = 100;
  Action replace = action(AGENTD_ACT_REPLACE_MESSAGES);
  replace.base_revision = 7;
  replace.parts.resize(2);
  Action callback = action(AGENTD_ACT_CALLBACK, "review");
  callback.json = "{}";
  const std::vector<Action> all{
      action(AGENTD_ACT_BLOCK, "no"),    compact, replace, callback, permission_action(AGENTD_PERMISSION_DENY, "never"),
      set_action(AGENTD_KEY_THEN, {}, 1)};
  EXPECT_EQ(answer_json(all, AGENTD_EVENT_AGENT_STOP),
            R"([{"action":"block","text":"no"},)"
            R"({"action":"compact","strategy":2,"keep_tokens":100,"text":"keep the paths"},)"
            R"({"action":"replace","base_revision":7,"parts":2},)"
            R"({"action":"callback","text":"review","arguments":"{}"},)"
            R"({"action":"permission","decision":"deny","text":"never"},)"
            R"({"action":"set","key":5,"number":1}])");
  EXPECT_EQ(answer_json({}, AGENTD_EVENT_AGENT_STOP), "[]");
}

TEST(AnswerJson, CutsLongTextsAndHidesRewrittenOnes) {
  const std::vector<Action> all{action(AGENTD_ACT_CONTINUE, std::string(5'000, 'x')),
                                action(AGENTD_ACT_REPLACE_TEXT, "s3cret")};
  const std::string json = answer_json(all, AGENTD_EVENT_AFTER_TOOL_CALL);
  EXPECT_LT(json.size(), 2'400u);
  EXPECT_NE(json.find(R"("bytes":5000)"), std::string::npos);
  EXPECT_EQ(json.find("s3cret"), std::string::npos);
  EXPECT_NE(json.find(hex(sha256("s3cret"))), std::string::npos);
  // What is to be said next is for the hooks of messages first; of a blocked message only the reason is told.
  Action callback = action(AGENTD_ACT_CALLBACK, "review");
  callback.json = "s3cret";
  const std::vector<Action> said{action(AGENTD_ACT_BLOCK, "a word"), action(AGENTD_ACT_INJECT_CONTEXT, "a quote"),
                                 action(AGENTD_ACT_CONTINUE, "s3cret"), callback};
  const std::string next = answer_json(said, AGENTD_EVENT_AGENT_STOP, AnswerTexts::kSaid);
  EXPECT_EQ(next.find("s3cret"), std::string::npos);
  for (const char* const kept : {"a word", "a quote", "review"}) EXPECT_NE(next.find(kept), std::string::npos) << kept;
  const std::string refused = answer_json(said, AGENTD_EVENT_USER_MESSAGE_SEND, AnswerTexts::kReasons);
  for (const char* const gone : {"s3cret", "a quote"}) EXPECT_EQ(refused.find(gone), std::string::npos) << gone;
  EXPECT_NE(refused.find("a word"), std::string::npos);
  // What a tool is called with is in the log; what it was called with in the end is told.
  EXPECT_EQ(answer_json({{action(AGENTD_ACT_REPLACE_TEXT, "{}")}}, AGENTD_EVENT_BEFORE_TOOL_CALL),
            R"([{"action":"rewrite","text":"{}"}])");
}

}  // namespace
}  // namespace agentd
