// SPDX-License-Identifier: Apache-2.0
// The whole table of events and actions (core/hooks/event.h): what is legal has an effect that can
// be seen, what is not is told and has none.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/agent_fixture.h"

namespace agentd {
namespace {

using testing::action;
using testing::AgentTest;
using testing::permission_action;
using testing::set_action;
using testing::TestCall;

struct Pair {
  std::uint32_t event = 0, kind = 0;
};

// What events take; the kinds between CALLBACK and STOP_RUN answer control calls.
constexpr std::uint32_t kKinds[] = {AGENTD_ACT_BLOCK,          AGENTD_ACT_CONTINUE,         AGENTD_ACT_COMPACT,
                                    AGENTD_ACT_SUMMARY,        AGENTD_ACT_REPLACE_MESSAGES, AGENTD_ACT_REPLACE_TEXT,
                                    AGENTD_ACT_INJECT_CONTEXT, AGENTD_ACT_SYSTEM_MESSAGE,   AGENTD_ACT_SET,
                                    AGENTD_ACT_TOOLS_ENABLE,   AGENTD_ACT_TOOLS_DISABLE,    AGENTD_ACT_PERMISSION,
                                    AGENTD_ACT_CALLBACK,       AGENTD_ACT_STOP_RUN};

std::vector<Pair> pairs(bool legal) {
  std::vector<Pair> out;
  for (const EventTraits& event : all_events())
    for (const std::uint32_t kind : kKinds)
      if (is_legal(event.id, kind) == legal) out.push_back({event.id, kind});
  return out;
}

std::string name_of_pair(const ::testing::TestParamInfo<Pair>& info) {
  return std::string(find_event(info.param.event)->name) + "_" + std::string(action_name(info.param.kind));
}

class Table : public AgentTest, public ::testing::WithParamInterface<Pair> {
 protected:
  // What the hook says the first time that its event happens.
  Action answer(const TestCall& call) const {
    const std::uint32_t event = GetParam().event;
    switch (GetParam().kind) {
      case AGENTD_ACT_REPLACE_MESSAGES: {
        Action replace = action(AGENTD_ACT_REPLACE_MESSAGES);
        replace.base_revision = call.raw.envelope->revision;
        ReplacePart part;
        part.literal = Message::of_text(Role::kUser, "REPLACED");
        replace.parts = {part};
        return replace;
      }
      case AGENTD_ACT_REPLACE_TEXT:
        return action(AGENTD_ACT_REPLACE_TEXT,
                      event == AGENTD_EVENT_BEFORE_TOOL_CALL ? R"({"text":"REWRITTEN"})" : "REWRITTEN");
      case AGENTD_ACT_SET:
        if (event == AGENTD_EVENT_BEFORE_MODEL_CALL) return set_action(AGENTD_KEY_MODEL, "m-SET");
        if (event == AGENTD_EVENT_BEFORE_COMPACTION)
          return set_action(AGENTD_KEY_CUSTOM_INSTRUCTIONS, "SET instructions");
        return set_action(AGENTD_KEY_TITLE, "SET title");
      case AGENTD_ACT_TOOLS_ENABLE:
        return action(AGENTD_ACT_TOOLS_ENABLE, "bash");
      case AGENTD_ACT_TOOLS_DISABLE:
        return action(AGENTD_ACT_TOOLS_DISABLE, "bash");
      case AGENTD_ACT_PERMISSION:
        return permission_action(
            event == AGENTD_EVENT_PERMISSION_REQUEST ? AGENTD_PERMISSION_ALLOW : AGENTD_PERMISSION_DENY, "DENIED");
      case AGENTD_ACT_CALLBACK:
        return action(AGENTD_ACT_CALLBACK, "compact");
      default:
        return action(GetParam().kind, std::string("SAID by ") + "the hook");
    }
  }

  void hook_up() {
    on(GetParam().event, "hook", [this](const TestCall& call) {
      if (++fired_ > 1) return AGENTD_OK;
      return call.answer(answer(call));
    });
  }

  bool is(std::uint32_t event) const { return GetParam().event == event; }
  bool of_subagent() const { return is(AGENTD_EVENT_SUBAGENT_START) || is(AGENTD_EVENT_SUBAGENT_STOP); }

  // A session in which the event happens at least once.
  void play() {
    tools_.offer("bash");
    tools_.offer("grep");
    options_.subagents = of_subagent();
    if (is(AGENTD_EVENT_PERMISSION_REQUEST)) permissions_.mode = PermissionRules::Mode::kAsk;
    if (is(AGENTD_EVENT_NOTIFICATION)) options_.max_turns = 1;
    if (is(AGENTD_EVENT_TOOL_CALL_FAILED))
      tools_.handler = [](const ToolCall&) { return Result<ToolOutcome>(Error{Code::kUnavailable, "it failed"}); };
    open();
    first_ = id();
    const bool near_full = is(AGENTD_EVENT_CONTEXT_THRESHOLD);
    if (near_full) fill(5);
    if (is(AGENTD_EVENT_AGENT_ERROR))
      model_.fail(ModelErrorKind::kServer, "broken");
    else if (of_subagent())
      model_.ask_tools({{"task", R"({"prompt":"of the child"})"}}).say(std::string(4'000, 'a'));
    else
      model_.ask_tools({{"bash", "{}"}}).say(std::string(4'000, 'a'));
    for (int i = 0; i < 4; ++i) model_.say("later " + std::to_string(i));
    report_.emplace(run(near_full ? std::string(2'800, 'q') : "the question"));
    if (is(AGENTD_EVENT_BEFORE_COMPACTION) || is(AGENTD_EVENT_AFTER_COMPACTION))
      compacted_.emplace(session_->compact({}, false, cancel_));
    if (is(AGENTD_EVENT_BEFORE_CLEAR) || is(AGENTD_EVENT_AFTER_CLEAR))
      if (auto fresh = agent_->clear(*session_, {})) session_ = std::move(*fresh);
    if (is(AGENTD_EVENT_SESSION_END)) session_->end("exit");
    EXPECT_GE(fired_, 1) << "the event did not happen";
  }

  std::vector<ConversationInfo> conversations() const {
    auto list = store_.list({});
    return list ? std::move(*list) : std::vector<ConversationInfo>();
  }
  // Everything that any conversation of the store holds.
  std::string stored() const {
    std::string out;
    for (const ConversationInfo& info : conversations())
      (void)store_.read(*Ulid::parse(info.id), 1, 0, [&](const StoredRecord& record) {
        out += std::string(name_of(record.record.type)) + " " + record.record.payload + "\n";
        return true;
      });
    return out;
  }
  bool stored_has(std::string_view text) const { return stored().find(text) != std::string::npos; }
  std::string requested() const {
    std::string out;
    for (const auto& request : model_.requests)
      out += request.purpose + ": " + request.all_text() + request.closing_text + "\n";
    return out;
  }
  // Without the prompts of compactions, which name the conversation.
  std::string requested_texts() const {
    std::string out;
    for (const auto& request : model_.requests) out += request.purpose + ": " + request.all_text() + "\n";
    return out;
  }
  bool requested_has(std::string_view text) const { return requested().find(text) != std::string::npos; }
  Conversation view_of_worker() const {
    for (const ConversationInfo& info : conversations()) {
      if (info.agent_type.empty() == of_subagent()) continue;
      Conversation out(info.id, {});
      std::vector<StoredRecord> records;
      (void)store_.read(*Ulid::parse(info.id), 1, 0, [&](const StoredRecord& record) {
        records.push_back(record);
        return true;
      });
      EXPECT_TRUE(out.load(records));
      return out;
    }
    return Conversation("none", {});
  }
  std::string title_of_worker() const {
    for (const ConversationInfo& info : conversations())
      if (info.agent_type.empty() != of_subagent()) return info.title;
    return {};
  }

  int fired_ = 0;
  Ulid first_;
  std::optional<Result<RunReport, RunError>> report_;
  std::optional<Result<CompactionReport, RunError>> compacted_;
};

// ---- what is legal

class LegalAction : public Table {
 protected:
  void check_block() {
    switch (GetParam().event) {
      case AGENTD_EVENT_USER_MESSAGE_SEND:
      case AGENTD_EVENT_BEFORE_MODEL_CALL:
        ASSERT_FALSE(*report_);
        EXPECT_EQ(report_->error().kind, RunError::Kind::kBlocked);
        EXPECT_TRUE(model_.requests.empty());
        break;
      case AGENTD_EVENT_BEFORE_TOOL_CALL:
      case AGENTD_EVENT_PERMISSION_REQUEST:
        EXPECT_TRUE(tools_.calls.empty());
        EXPECT_TRUE(requested_has("blocked by the hook hook: SAID"));
        break;
      case AGENTD_EVENT_BEFORE_COMPACTION:
        EXPECT_EQ(events_.outcomes(), "vetoed");
        break;
      case AGENTD_EVENT_BEFORE_CLEAR:
        EXPECT_EQ(id(), first_);
        break;
      case AGENTD_EVENT_SUBAGENT_START:
        EXPECT_TRUE(requested_has("blocked by the hook hook: SAID"));
        EXPECT_EQ(store_.list({})->size(), 1u);
        break;
      default:
        ADD_FAILURE() << "no check for this event";
    }
  }
  // The run ends where the hook said so, is on record with who and why, and the conversation can go
  // on.
  void check_stop_run() {
    if (is(AGENTD_EVENT_BEFORE_CLEAR)) {
      EXPECT_EQ(id(), first_);
      return;
    }
    if (is(AGENTD_EVENT_BEFORE_COMPACTION)) {  // asked for outside of a run
      EXPECT_EQ(events_.outcomes(), "vetoed");
      return;
    }
    const std::string text = "the run was stopped by hook: SAID by the hook";
    EXPECT_TRUE(stored_has(R"("outcome":"stopped")"));
    EXPECT_TRUE(stored_has(R"("error":"the run was stopped by hook: SAID by the hook")"));
    EXPECT_TRUE(stored_has(R"("effect":"stop_run")"));
    if (is(AGENTD_EVENT_SUBAGENT_STOP)) {  // its own run, which is told to the agent that started
                                           // it
      ASSERT_TRUE(*report_) << report_->error().message;
      EXPECT_TRUE(requested_has("the agent did not finish: " + text));
      return;
    }
    ASSERT_FALSE(*report_);
    EXPECT_EQ(report_->error().kind, RunError::Kind::kStopped);
    EXPECT_EQ(report_->error().message, text);
    const auto ended = events_.of(RunEvent::Type::kRunEnded);
    // What filled the context were runs of their own, with one request each.
    const std::size_t earlier = is(AGENTD_EVENT_CONTEXT_THRESHOLD) ? 5 : 0;
    ASSERT_EQ(ended.size(), earlier + 1);
    EXPECT_EQ(ended.back().detail, "stopped");
    EXPECT_EQ(ended.back().name, "hook");
    EXPECT_EQ(ended.back().reason, "SAID by the hook");
    const bool before_the_model =
        is(AGENTD_EVENT_USER_MESSAGE_SEND) || is(AGENTD_EVENT_BEFORE_MODEL_CALL) || is(AGENTD_EVENT_CONTEXT_THRESHOLD);
    const bool at_the_end = is(AGENTD_EVENT_AGENT_STOP);
    EXPECT_EQ(model_.requests.size() - earlier, before_the_model ? 0u : at_the_end ? 2u : 1u);
    const bool tool_ran = at_the_end || is(AGENTD_EVENT_AFTER_TOOL_CALL) || is(AGENTD_EVENT_TOOL_CALL_FAILED) ||
                          is(AGENTD_EVENT_TURN_END);
    EXPECT_EQ(tools_.calls.size(), tool_ran ? 1u : 0u);
    EXPECT_EQ(stored_has("not run: " + text), !tool_ran && !before_the_model);
    const auto next = run("and now?");
    EXPECT_TRUE(next) << next.error().message;
    EXPECT_EQ(events_.of(RunEvent::Type::kRunEnded).back().detail, "stop");
  }
  void check_rewrite() {
    if (is(AGENTD_EVENT_BEFORE_TOOL_CALL)) {
      EXPECT_EQ(tools_.calls.at(0).input.text(), R"({"text":"REWRITTEN"})");
    } else {
      EXPECT_TRUE(requested_has("REWRITTEN"));
      EXPECT_TRUE(stored_has("REWRITTEN"));
    }
  }
  void check_context() {
    if (is(AGENTD_EVENT_SESSION_START)) {
      EXPECT_NE(model_.requests.at(0).system.find("SAID"), std::string::npos);
      EXPECT_FALSE(stored_has("SAID"));
    } else if (is(AGENTD_EVENT_BEFORE_MODEL_CALL)) {
      EXPECT_NE(model_.requests.at(0).all_text().find("SAID"), std::string::npos);
      EXPECT_FALSE(stored_has("SAID"));
    } else {
      bool in_view = false;
      const Conversation view = view_of_worker();
      for (const agentd_message& row : view.rows())
        in_view =
            in_view || ((row.flags & AGENTD_MESSAGE_CONTEXT) != 0 && to_message(row).text() == "SAID by the hook");
      EXPECT_TRUE(in_view);
    }
  }
  void check_set() {
    if (is(AGENTD_EVENT_BEFORE_MODEL_CALL))
      EXPECT_EQ(model_.requests.at(0).model, "m-SET");
    else if (is(AGENTD_EVENT_BEFORE_COMPACTION))
      EXPECT_TRUE(requested_has("SET instructions"));
    else
      EXPECT_EQ(title_of_worker(), "SET title");
  }
  void check_summary() {
    EXPECT_TRUE(stored_has("summary {"));
    const bool compacts = is(AGENTD_EVENT_BEFORE_COMPACTION);
    const Conversation view = view_of_worker();
    EXPECT_EQ(view.rows()[0].role, compacts ? AGENTD_ROLE_SUMMARY : AGENTD_ROLE_USER);
    EXPECT_TRUE(stored_has("SAID by the hook"));
    EXPECT_FALSE(requested_has("summary: "));
  }
  void check_replace() {
    if (is(AGENTD_EVENT_BEFORE_MODEL_CALL)) {
      EXPECT_EQ(model_.requests.at(0).all_text(), "REPLACED\n");
      EXPECT_FALSE(stored_has("REPLACED"));
      return;
    }
    EXPECT_EQ(events_.outcomes(), "applied");
    const Conversation view = view_of_worker();
    EXPECT_EQ(to_message(view.rows()[0]).text(), "REPLACED");
  }
  void check_tools() {
    const std::string only = GetParam().kind == AGENTD_ACT_TOOLS_ENABLE ? "bash" : "grep";
    EXPECT_EQ(model_.requests.at(0).tools, std::vector<std::string>{only});
  }
  void check_permission() {
    const bool allowed = is(AGENTD_EVENT_PERMISSION_REQUEST);
    EXPECT_EQ(tools_.calls.size(), allowed ? 1u : 0u);
    EXPECT_EQ(requested_has("DENIED"), !allowed);
  }
};

TEST_P(LegalAction, HasAnEffectThatCanBeSeen) {
  hook_up();
  play();
  switch (GetParam().kind) {
    case AGENTD_ACT_BLOCK:
      check_block();
      break;
    case AGENTD_ACT_CONTINUE:
      EXPECT_TRUE(requested_has("SAID by the hook"));
      break;
    case AGENTD_ACT_COMPACT:
      EXPECT_EQ(events_.outcomes(), "applied");
      break;
    case AGENTD_ACT_SUMMARY:
      check_summary();
      break;
    case AGENTD_ACT_REPLACE_MESSAGES:
      check_replace();
      break;
    case AGENTD_ACT_REPLACE_TEXT:
      check_rewrite();
      break;
    case AGENTD_ACT_INJECT_CONTEXT:
      check_context();
      break;
    case AGENTD_ACT_SYSTEM_MESSAGE: {
      const auto notices = events_.of(RunEvent::Type::kNotice);
      ASSERT_EQ(notices.size(), 1u);
      EXPECT_EQ(notices[0].text, "SAID by the hook");
      EXPECT_FALSE(requested_has("SAID"));
      break;
    }
    case AGENTD_ACT_SET:
      check_set();
      break;
    case AGENTD_ACT_TOOLS_ENABLE:
    case AGENTD_ACT_TOOLS_DISABLE:
      check_tools();
      break;
    case AGENTD_ACT_PERMISSION:
      check_permission();
      break;
    case AGENTD_ACT_CALLBACK:
      EXPECT_TRUE(requested_has("thread: "));
      EXPECT_TRUE(stored_has(R"("source":"recipe")"));
      break;
    case AGENTD_ACT_STOP_RUN:
      check_stop_run();
      break;
    default:
      ADD_FAILURE() << "no check for this action";
  }
  for (const auto& warning : events_.of(RunEvent::Type::kWarning))
    EXPECT_EQ(warning.text.find("not legal"), std::string::npos) << warning.text;
}

INSTANTIATE_TEST_SUITE_P(All, LegalAction, ::testing::ValuesIn(pairs(true)), name_of_pair);

// ---- what is not

class IllegalAction : public Table {};

TEST_P(IllegalAction, IsToldAndHasNoEffect) {
  // Without the hook first.
  on(GetParam().event, "hook", [this](const TestCall&) { return ++fired_, AGENTD_OK; });
  play();
  const std::string asked = requested_texts();
  const std::size_t calls = tools_.calls.size();
  const std::string outcomes = events_.outcomes();
  // The same again with it.
  session_.reset();
  hooks_.clear();
  model_.requests.clear();
  model_.answers.clear();
  tools_.calls.clear();
  tools_.offered.clear();
  events_.told.clear();
  log_.lines.clear();
  fired_ = 0;
  hook_up();
  model_.last_call_ = 0;
  play();
  EXPECT_EQ(requested_texts(), asked);
  EXPECT_EQ(tools_.calls.size(), calls);
  EXPECT_EQ(events_.outcomes(), outcomes);
  const std::string text = "the hook hook at " + std::string(find_event(GetParam().event)->name) + ": the action " +
                           std::string(action_name(GetParam().kind)) + " is not legal for " +
                           std::string(find_event(GetParam().event)->name) + "; it was ignored";
  int told = 0;
  for (const auto& warning : events_.of(RunEvent::Type::kWarning)) told += warning.text == text ? 1 : 0;
  EXPECT_EQ(told, 1) << text;
  EXPECT_TRUE(log_.mentions(text));
  EXPECT_TRUE(events_.of(RunEvent::Type::kNotice).empty());
  EXPECT_FALSE(stored_has("SAID by the hook"));
}

INSTANTIATE_TEST_SUITE_P(All, IllegalAction, ::testing::ValuesIn(pairs(false)), name_of_pair);

// ---- keys of SET

class SetKeys : public AgentTest {};

TEST_F(SetKeys, KeyThatMeansNothingAtTheEventIsTold) {
  on(AGENTD_EVENT_AGENT_STOP, "wrong",
     [](const TestCall& call) { return call.answer(set_action(AGENTD_KEY_MODEL, "m-2")); });
  open();
  model_.say("one");
  ASSERT_TRUE(run("go"));
  ASSERT_EQ(events_.of(RunEvent::Type::kWarning).size(), 1u);
  EXPECT_NE(events_.of(RunEvent::Type::kWarning)[0].text.find("is not legal for agent_stop"), std::string::npos);
}

TEST_F(SetKeys, WhatTheHostRefusedToTakeIsTold) {
  on(AGENTD_EVENT_TURN_START, "loud", [](const TestCall& call) {
    call.slot.fail(call.raw.token, AGENTD_E_UNSUPPORTED, "the action block is not legal for turn_start");
    return AGENTD_OK;
  });
  tools_.offer("bash");
  open();
  model_.ask_tools({{"bash", "{}"}}).say("done");
  ASSERT_TRUE(run("go"));
  // Once, though it happened in both turns.
  ASSERT_EQ(events_.of(RunEvent::Type::kWarning).size(), 1u);
  EXPECT_EQ(events_.of(RunEvent::Type::kWarning)[0].text,
            "the hook loud at turn_start: the action block is not legal for turn_start");
}

TEST_F(SetKeys, WhatAHookWasWarnedOfIsToldButNotWhatAnObserverNotes) {
  for (const char* const name : {"gate", "observer"})
    on(AGENTD_EVENT_TURN_START, name, [](const TestCall& call) {
      call.slot.note(call.raw.token, "a line before the answer was ignored");
      return AGENTD_OK;
    });
  hooks_.back()->what.flags = AGENTD_HOOK_OBSERVES;
  open();
  model_.say("one");
  ASSERT_TRUE(run("go"));
  ASSERT_EQ(events_.of(RunEvent::Type::kWarning).size(), 1u);
  EXPECT_EQ(events_.of(RunEvent::Type::kWarning)[0].text,
            "the hook gate at turn_start: a line before the answer was ignored");
}

TEST_F(SetKeys, IllegalAnswerOfAnObserverIsToldToo) {
  on(AGENTD_EVENT_TURN_START, "watch", [](const TestCall& call) {
    return call.answer(action(AGENTD_ACT_BLOCK, "no"));
  }).what.flags = AGENTD_HOOK_OBSERVES;
  open();
  model_.say("one");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(events_.of(RunEvent::Type::kWarning).size(), 1u);
}

}  // namespace
}  // namespace agentd
