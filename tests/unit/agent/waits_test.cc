// SPDX-License-Identifier: Apache-2.0
#include "core/agent/waits.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <thread>
#include <tuple>

#include "tests/support/agent_fixture.h"
#include "tests/support/log_records.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

using testing::AgentTest;
using testing::FakeApprover;
using testing::permission_action;
using testing::TestCall;
using testing::TestHook;

// The place of the call that waits.
enum class Place { kMain, kSubagent, kNested, kCallTool };
enum class Answer { kAllow, kDeny, kExpired, kTwice };
enum class Change {
  kNone,
  kGuardGone,
  kGuardChanged,
  kToolChanged,
  kToolGone,
  kRecipeChanged,
  kNewPrompt,
  kFork,
  kCompaction,
  kUndo,
  kKill,
};

constexpr std::string_view kInput = R"({"command":"make install"})";

class Waits : public AgentTest {
 protected:
  Waits() {
    options_.subagents = true;
    tools_.offer("bash");
    tools_.offer("grep", AGENTD_TOOL_READ_ONLY);
    guard();
  }

  TestHook& guard(std::string digest = "aa") {
    hooks_.clear();
    TestHook& hook = on(AGENTD_EVENT_BEFORE_TOOL_CALL, "guard", [](const TestCall& call) {
      const auto& tool = call.payload<agentd_tool_call>();
      if (view_of(tool.name) != "bash") return AGENTD_OK;
      return call.answer(permission_action(AGENTD_PERMISSION_DEFER, "ask the owner"));
    });
    hook.what.flags = AGENTD_HOOK_GATES;
    hook.what.bytes_digest = std::move(digest);
    return hook;
  }

  // Runs until the call of bash waits; the id of the wait. Nothing works in the conversation afterwards.
  std::string wait_in(Place place) {
    open();
    conversation_ = id();
    std::string wait;
    if (place == Place::kCallTool) {
      const auto report = session_->call_tool({"bash", std::string(kInput)}, cancel_);
      EXPECT_TRUE(report) << report.error().message;
      if (report) wait = report->waits_for;
    } else {
      const int agents = place == Place::kNested ? 2 : place == Place::kSubagent ? 1 : 0;
      for (int i = 0; i < agents; ++i) model_.ask_tools({{"task", R"({"prompt":"install it"})"}});
      model_.ask_tools({{"bash", std::string(kInput)}});
      const auto report = run("go");
      EXPECT_TRUE(report) << report.error().message;
      if (report) {
        EXPECT_EQ(report->outcome, RunOutcome::kWaiting);
        wait = report->waits_for;
      }
    }
    EXPECT_FALSE(wait.empty());
    EXPECT_EQ(effects(), 0u);
    session_.reset();
    return wait;
  }

  std::size_t effects() const {
    std::size_t out = 0;
    for (const ToolCall& call : tools_.calls) {
      if (call.name != "bash") continue;
      ++out;
      EXPECT_EQ(call.input.text(), kInput);
    }
    return out;
  }

  Result<void, RunError> answer(const std::string& wait, bool allow, std::string by = "user") {
    auto found = find_wait(store_, wait);
    const bool ended = !found && found.error().code == Code::kConflict;
    if (!found) return RunError{ended ? RunError::Kind::kBlocked : RunError::Kind::kNotFound, found.error().message};
    return answer_wait(store_, clock_, *found,
                       {allow ? WaitDecision::kAllow : WaitDecision::kDeny, std::move(by), "approve",
                        allow ? "" : "the user said no: use a branch"});
  }
  // The answer of two processes at once: one counts.
  void answer_twice(const std::string& wait) {
    std::vector<Result<void, RunError>> said(2, Result<void, RunError>());
    {
      std::vector<std::jthread> both;
      for (std::size_t i = 0; i < 2; ++i)
        both.emplace_back([&, i] { said[i] = answer(wait, true, "person " + std::to_string(i)); });
    }
    ASSERT_EQ(said[0].has_value() + said[1].has_value(), 1);
    const RunError& second = said[0] ? said[1].error() : said[0].error();
    // While the first one still holds the lease there is no answer to tell.
    const bool told = second.message.find(" was answered at ") != std::string::npos;
    EXPECT_TRUE(told || second.kind == RunError::Kind::kBusy) << second.message;
    const auto late = answer(wait, false);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().kind, RunError::Kind::kBlocked);
    EXPECT_NE(late.error().message.find(wait + " was answered at "), std::string::npos) << late.error().message;
    EXPECT_NE(late.error().message.find("by person "), std::string::npos) << late.error().message;
  }

  Result<RunReport, RunError> carry_on(const std::string& changed = {}) {
    open(conversation_);
    return session_->carry_on(changed, cancel_);
  }

  // The texts of all results of bash, in order, of both kinds.
  std::string results() const {
    std::string out;
    for (const Ulid& each : conversations())
      (void)store_.read(each, 1, 0, [&](const StoredRecord& stored) {
        const bool direct = stored.record.type == RecordType::kDirectResult;
        if (!direct && stored.record.type != RecordType::kToolResult) return true;
        const auto result = direct ? read_direct_result(stored.record) : read_tool_result(stored.record);
        if (result && result->name == "bash") out += result->status + ": " + result->text + "\n";
        return true;
      });
    return out;
  }
  std::vector<Ulid> conversations() const {
    std::vector<Ulid> out;
    const auto all = store_.list({});
    for (const ConversationInfo& info : *all) out.push_back(*Ulid::parse(info.id));
    return out;
  }
  std::string notices() const {
    std::string out;
    for (const auto& told : events_.of(RunEvent::Type::kNotice)) out += told.text + "\n";
    return out;
  }
  void expire() { clock_.advance(options_.wait_time + Milliseconds(1)); }

  Ulid conversation_;
};

class WaitTable : public Waits, public ::testing::WithParamInterface<std::tuple<Answer, Change, Place>> {
 protected:
  Answer answer_of() const { return std::get<0>(GetParam()); }
  Change change() const { return std::get<1>(GetParam()); }
  Place place() const { return std::get<2>(GetParam()); }
  bool allows() const { return answer_of() == Answer::kAllow || answer_of() == Answer::kTwice; }

  void give(const std::string& wait) {
    switch (answer_of()) {
      case Answer::kAllow:
        EXPECT_TRUE(answer(wait, true));
        break;
      case Answer::kDeny:
        EXPECT_TRUE(answer(wait, false));
        break;
      case Answer::kExpired: {
        expire();
        const auto late = answer(wait, true);
        ASSERT_FALSE(late);
        EXPECT_EQ(late.error().kind, RunError::Kind::kBlocked);
        EXPECT_NE(late.error().message.find("there was no answer until"), std::string::npos);
        break;
      }
      case Answer::kTwice:
        answer_twice(wait);
        break;
    }
  }

  std::string sentence() const {
    if (allows()) return "ok: output of bash\n";
    return answer_of() == Answer::kDeny ? "denied: not permitted: the user said no: use a branch\n"
                                        : "denied: not permitted: there was no answer until ";
  }
  void expect_end() {
    EXPECT_EQ(effects(), allows() ? 1u : 0u);
    EXPECT_EQ(results().substr(0, sentence().size()), sentence());
    const auto again = session_->carry_on({}, cancel_);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().kind, RunError::Kind::kUsage);
    EXPECT_EQ(effects(), allows() ? 1u : 0u);
  }
  void expect_asked_anew(const std::string& why) {
    if (!allows()) return expect_end();
    EXPECT_EQ(effects(), 0u);
    EXPECT_NE(notices().find("does not count, since " + why), std::string::npos) << notices();
    const auto waiting = list_waits(store_, clock_.wall_ms());
    ASSERT_TRUE(waiting);
    ASSERT_EQ(waiting->size(), 1u);
    const std::string anew = waiting->front().open.wait.id;
    EXPECT_EQ(waiting->front().open.wait.input, kInput);
    session_.reset();
    EXPECT_TRUE(answer(anew, true));
    model_.say("done").say("done").say("done");
    const auto report = carry_on();
    ASSERT_TRUE(report) << report.error().message;
    expect_end();
  }
  void end_normally() {
    model_.say("done").say("done").say("done");
    const auto report = carry_on();
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->outcome, RunOutcome::kStop);
    expect_end();
  }

  void new_prompt(const std::string& wait) {
    open(conversation_);
    model_.say("something else");
    ASSERT_TRUE(run("never mind"));
    EXPECT_EQ(effects(), 0u);
    const auto late = answer(wait, true);
    ASSERT_FALSE(late);
    EXPECT_FALSE(session_->carry_on({}, cancel_));
    EXPECT_EQ(effects(), 0u);
    EXPECT_EQ(late.error().kind, RunError::Kind::kBlocked);
    EXPECT_NE(late.error().message.find("superseded"), std::string::npos) << late.error().message;
    // The call of a subagent has no result: its run is over, and so is the call that started it.
    const bool own = place() == Place::kMain || place() == Place::kCallTool;
    EXPECT_EQ(results().find("denied: not permitted: the user continued") != std::string::npos, own) << results();
  }

  void fork(const std::string& wait) {
    GenesisRecord genesis;
    genesis.conversation_id = ids_.next().text();
    ASSERT_TRUE(store_.fork(conversation_, 0, genesis, "fork"));
    open(Ulid::parse(genesis.conversation_id).value());
    EXPECT_EQ(session_->wait(), nullptr);
    model_.say("in the fork");
    ASSERT_TRUE(run("go on"));
    EXPECT_EQ(effects(), 0u);
    session_.reset();
    give(wait);
    end_normally();
  }

  // Each append that follows may be the last of a process.
  void kill(const std::string& wait) {
    give(wait);
    for (int most = 0;; ++most) {
      ASSERT_LT(most, 40);
      model_.answers.clear();
      model_.say("done").say("done").say("done");
      int left = most;
      store_.refuses = [&](std::span<const Record>) { return left-- <= 0; };
      open(conversation_);
      const auto report = session_->wait() != nullptr ? session_->carry_on({}, cancel_) : run("and now?");
      store_.refuses = [](std::span<const Record>) { return true; };
      session_.reset();
      store_.refuses = nullptr;
      EXPECT_LE(effects(), allows() ? 1u : 0u);
      if (report) break;
    }
    EXPECT_LE(effects(), allows() ? 1u : 0u);
    const std::string ends = results();
    EXPECT_LE(std::count(ends.begin(), ends.end(), '\n'), 1) << ends;
    EXPECT_TRUE(effects() != 0 || ends.find("ok:") == std::string::npos) << ends;
  }
};

TEST_P(WaitTable, HasAtMostOneEffectAndSaysWhy) {
  const std::string wait = wait_in(place());
  if (HasFailure()) return;
  switch (change()) {
    case Change::kNone:
      give(wait);
      return end_normally();
    case Change::kGuardGone:
      give(wait);
      hooks_.clear();
      model_.say("done").say("done").say("done");
      (void)carry_on();
      return expect_asked_anew("the hook guard is gone");
    case Change::kGuardChanged:
      give(wait);
      guard("bb");
      model_.say("done").say("done").say("done");
      (void)carry_on();
      return expect_asked_anew("the hook guard has changed");
    case Change::kToolChanged:
      give(wait);
      tools_.offered.front().description = "another one";
      model_.say("done").say("done").say("done");
      (void)carry_on();
      return expect_asked_anew("the tool bash has changed");
    case Change::kToolGone:
      give(wait);
      tools_.offered.erase(tools_.offered.begin());
      model_.say("done").say("done").say("done");
      (void)carry_on();
      EXPECT_EQ(effects(), 0u);
      EXPECT_NE(results().find(allows() ? "error: there is no tool named bash any more; nothing was run" : "denied: "),
                std::string::npos)
          << results();
      return;
    case Change::kRecipeChanged:
      give(wait);
      model_.say("done").say("done").say("done");
      (void)carry_on("the recipe deploy has changed");
      return expect_asked_anew("the recipe deploy has changed");
    case Change::kNewPrompt:
      return new_prompt(wait);
    case Change::kFork:
      return fork(wait);
    case Change::kCompaction: {
      open(conversation_);
      model_.say("a summary");
      (void)session_->compact({}, false, cancel_);
      session_.reset();
      give(wait);
      return end_normally();
    }
    case Change::kUndo: {
      open(conversation_);
      const auto undone = session_->undo(false, cancel_);
      ASSERT_FALSE(undone);
      EXPECT_EQ(undone.error().kind, RunError::Kind::kBlocked);
      EXPECT_NE(undone.error().message.find("agentd approve " + wait), std::string::npos) << undone.error().message;
      session_.reset();
      give(wait);
      return end_normally();
    }
    case Change::kKill:
      return kill(wait);
  }
}

std::string name_of_cell(const ::testing::TestParamInfo<WaitTable::ParamType>& cell) {
  constexpr const char* kAnswers[] = {"Allowed", "Denied", "Expired", "AnsweredTwice"};
  constexpr const char* kChanges[] = {"Unchanged",  "GuardGone",     "GuardChanged", "ToolChanged",
                                      "ToolGone",   "RecipeChanged", "NewPrompt",    "Fork",
                                      "Compaction", "Undo",          "Kill"};
  constexpr const char* kPlaces[] = {"Main", "Subagent", "NestedSubagent", "CallTool"};
  return std::string(kAnswers[static_cast<int>(std::get<0>(cell.param))]) +
         kChanges[static_cast<int>(std::get<1>(cell.param))] + kPlaces[static_cast<int>(std::get<2>(cell.param))];
}

INSTANTIATE_TEST_SUITE_P(
    Cells, WaitTable,
    ::testing::Combine(::testing::Values(Answer::kAllow, Answer::kDeny, Answer::kExpired, Answer::kTwice),
                       ::testing::Values(Change::kNone, Change::kGuardGone, Change::kGuardChanged, Change::kToolChanged,
                                         Change::kToolGone, Change::kRecipeChanged, Change::kNewPrompt, Change::kFork,
                                         Change::kCompaction, Change::kUndo, Change::kKill),
                       ::testing::Values(Place::kMain, Place::kSubagent, Place::kNested, Place::kCallTool)),
    name_of_cell);

// ---- single promises

TEST_F(Waits, TheCallAndTheQuestionAreDurableBeforeAnybodyIsAsked) {
  permissions_.mode = PermissionRules::Mode::kAsk;
  hooks_.clear();
  struct Looks final : Approver {
    std::function<std::string()> look;
    std::string seen;
    PermissionAnswer ask(const SessionContext&, const Tool&, const ToolCall&, const AskedBy&) override {
      seen = look();
      return {true, false, {}};
    }
  } approver;
  approver.look = [&] { return kinds(); };
  approver_ = &approver;
  open();
  model_.ask_tools({{"bash", std::string(kInput)}}).say("done");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(approver.seen, "genesis run_begin settings user_message assistant_message wait");
  EXPECT_NE(kinds().find("wait answer permission tool_intent tool_result"), std::string::npos) << kinds();
}

TEST_F(Waits, WithoutAnybodyTheRulesQuestionIsDeniedUnlessTheSettingsSayWait) {
  permissions_.mode = PermissionRules::Mode::kAsk;
  hooks_.clear();
  open();
  model_.ask_tools({{"bash", std::string(kInput)}}).say("done");
  EXPECT_EQ(text_of(run("go")), "done");
  EXPECT_EQ(effects(), 0u);
  session_.reset();
  agent_.reset();
  options_.waits = true;
  const std::string wait = wait_in(Place::kMain);
  ASSERT_TRUE(answer(wait, true));
  model_.say("done");
  EXPECT_TRUE(carry_on());
  EXPECT_EQ(effects(), 1u);
}

TEST_F(Waits, DenyBeatsDeferBeatsAskBeatsAllow) {
  const auto says = [&](std::string name, std::uint32_t decision) {
    on(AGENTD_EVENT_BEFORE_TOOL_CALL, std::move(name),
       [decision](const TestCall& call) { return call.answer(permission_action(decision, "why")); });
  };
  hooks_.clear();
  says("a", AGENTD_PERMISSION_ALLOW);
  says("b", AGENTD_PERMISSION_ASK);
  says("c", AGENTD_PERMISSION_DEFER);
  says("d", AGENTD_PERMISSION_ASK);
  FakeApprover approver;
  approver.answer = {true, false, {}};
  approver_ = &approver;
  wait_in(Place::kMain);
  EXPECT_TRUE(approver.asked.empty());
  says("e", AGENTD_PERMISSION_DENY);
  open();
  model_.ask_tools({{"bash", std::string(kInput)}}).say("done");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(effects(), 0u);
  EXPECT_NE(results().find("denied: blocked by the hook e: why"), std::string::npos) << results();
}

TEST_F(Waits, AGateOfNowMayStillRefuse) {
  const std::string wait = wait_in(Place::kMain);
  ASSERT_TRUE(answer(wait, true));
  int attempts = 0;
  TestHook& late = on(AGENTD_EVENT_BEFORE_TOOL_CALL, "late", [&](const TestCall& call) {
    ++attempts;
    return call.answer(testing::action(AGENTD_ACT_BLOCK, "not on a Friday"));
  });
  late.what.flags = AGENTD_HOOK_GATES;
  model_.say("done");
  ASSERT_TRUE(carry_on());
  EXPECT_EQ(effects(), 0u);
  EXPECT_EQ(attempts, 1);
  EXPECT_NE(results().find("denied: blocked by the hook late: not on a Friday"), std::string::npos) << results();
}

TEST_F(Waits, ARuleOfNowMayStillRefuse) {
  const std::string wait = wait_in(Place::kMain);
  ASSERT_TRUE(answer(wait, true));
  agent_.reset();
  permissions_.deny = {{"bash", {}, "bash"}};
  model_.say("done");
  ASSERT_TRUE(carry_on());
  EXPECT_EQ(effects(), 0u);
  EXPECT_NE(results().find("denied: the permission rules do not allow bash"), std::string::npos) << results();
}

// A hook without a gate's flag that guards by its policy.
TEST_F(Waits, AHookThatFailsClosedSeesTheAllowedCallOnceMore) {
  std::vector<std::uint32_t> attempts;
  const auto counts = [&](const TestCall& call) {
    attempts.push_back(call.raw.envelope->attempt);
    return attempts.size() == 1 ? AGENTD_OK : call.answer(testing::action(AGENTD_ACT_BLOCK, "not now"));
  };
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "closed", counts).what.on_failure = FailurePolicy::kClosed;
  const std::string wait = wait_in(Place::kMain);
  ASSERT_TRUE(answer(wait, true));
  model_.say("done");
  ASSERT_TRUE(carry_on());
  EXPECT_EQ(attempts, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(effects(), 0u);
}

TEST_F(Waits, TokensThatWereSpentCountAfterTheWait) {
  options_.run_limits.tokens = 5'000;
  open();
  conversation_ = id();
  Usage most;
  most.input = 4'990;
  model_.ask_tools({{"bash", std::string(kInput)}}, most);
  const auto report = run("go");
  ASSERT_TRUE(report) << report.error().message;
  session_.reset();
  ASSERT_TRUE(answer(report->waits_for, true));
  model_.say("done");
  const auto rest = carry_on();
  ASSERT_FALSE(rest);
  EXPECT_EQ(rest.error().kind, RunError::Kind::kLimit) << rest.error().message;
  EXPECT_EQ(effects(), 1u);
}

TEST_F(Waits, AHookThatOnlyRewritesIsNotAskedAgain) {
  int asked = 0;
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "rewriter", [&](const TestCall& call) {
    ++asked;
    return call.answer(testing::action(AGENTD_ACT_REPLACE_TEXT, R"({"command":"rm -rf /"})"));
  });
  std::string stored;
  open();
  conversation_ = id();
  model_.ask_tools({{"bash", std::string(kInput)}});
  const auto report = run("go");
  ASSERT_TRUE(report);
  session_.reset();
  const auto found = find_wait(store_, report->waits_for);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->open.wait.input, R"({"command":"rm -rf /"})");
  EXPECT_EQ(asked, 1);
  ASSERT_TRUE(answer(report->waits_for, true));
  model_.say("done");
  ASSERT_TRUE(carry_on());
  EXPECT_EQ(asked, 1);
  ASSERT_EQ(tools_.calls.size(), 1u);
  EXPECT_EQ(tools_.calls[0].input.text(), R"({"command":"rm -rf /"})");
}

TEST_F(Waits, CallsBeforeHaveEndedAndCallsBehindBeginAfterTheAnswer) {
  open();
  conversation_ = id();
  model_.ask_tools({{"grep", "{}"}, {"bash", std::string(kInput)}, {"grep", R"({"b":1})"}, {"grep", "not json"}});
  const auto report = run("go");
  ASSERT_TRUE(report);
  ASSERT_EQ(report->outcome, RunOutcome::kWaiting);
  EXPECT_EQ(tools_.calls.size(), 1u);
  session_.reset();
  ASSERT_TRUE(answer(report->waits_for, true));
  model_.say("done");
  const auto rest = carry_on();
  ASSERT_TRUE(rest) << rest.error().message;
  EXPECT_EQ(rest->final_text, "done");
  ASSERT_EQ(tools_.calls.size(), 3u);
  EXPECT_EQ(tools_.calls[1].name, "bash");
  EXPECT_EQ(tools_.calls[2].input.text(), R"({"b":1})");
  // An unreadable input stays unreadable.
  const Message& sent = model_.requests.back().messages.back();
  EXPECT_NE(sent.blocks.back().text.find("nothing was run"), std::string::npos) << sent.blocks.back().text;
}

TEST_F(Waits, ContextsOfTheBatchAreGivenOnceBehindTheResults) {
  on(AGENTD_EVENT_AFTER_TOOL_CALL, "notes",
     [](const TestCall& call) { return call.answer(testing::action(AGENTD_ACT_INJECT_CONTEXT, "a note")); });
  open();
  conversation_ = id();
  model_.ask_tools({{"grep", "{}"}, {"bash", std::string(kInput)}});
  const auto report = run("go");
  ASSERT_TRUE(report);
  session_.reset();
  ASSERT_TRUE(answer(report->waits_for, true));
  model_.say("done");
  ASSERT_TRUE(carry_on());
  std::string texts = model_.requests.back().all_text();
  int notes = 0;
  for (std::size_t at = texts.find("a note"); at != std::string::npos; at = texts.find("a note", at + 1)) ++notes;
  EXPECT_EQ(notes, 2);
}

TEST_F(Waits, AnAnsweredCallIsCarriedOnBeforeANewMessage) {
  const std::string wait = wait_in(Place::kMain);
  ASSERT_TRUE(answer(wait, true));
  open(conversation_);
  model_.say("both");
  ASSERT_EQ(text_of(run("and then?")), "both");
  EXPECT_EQ(effects(), 1u);
  const std::string all = model_.requests.back().all_text();
  EXPECT_LT(all.find("output of bash"), all.find("and then?"));
}

TEST_F(Waits, AMessageSentAgainWithItsKeyDeniesNothing) {
  RunRequest request{"go"};
  request.key = "k1";
  open();
  conversation_ = id();
  model_.ask_tools({{"bash", std::string(kInput)}});
  const auto waiting = session_->run(request, cancel_);
  ASSERT_TRUE(waiting) << waiting.error().message;
  ASSERT_EQ(waiting->outcome, RunOutcome::kWaiting);
  for (int i = 0; i < 2; ++i) {
    const auto again = session_->run(request, cancel_);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().kind, RunError::Kind::kRepeated);
    EXPECT_NE(again.error().message.find("its run waits for an answer; 'agentd approve " + conversation_.text()),
              std::string::npos)
        << again.error().message;
    ASSERT_NE(session_->wait(), nullptr);
    EXPECT_EQ(session_->wait()->wait.id, waiting->waits_for);
    open(conversation_);
  }
  ASSERT_TRUE(answer(waiting->waits_for, true));
  model_.say("done");
  EXPECT_EQ(text_of(carry_on()), "done");
  EXPECT_EQ(effects(), 1u);
  const auto later = session_->run(request, cancel_);
  ASSERT_FALSE(later);
  EXPECT_NE(later.error().message.find("its run has ended (waiting)"), std::string::npos) << later.error().message;
  // A control: a message with another key denies the next call that waits.
  model_.ask_tools({{"bash", std::string(kInput)}}).say("never mind, then");
  ASSERT_EQ(run("once more")->outcome, RunOutcome::kWaiting);
  request.key = "k2";
  EXPECT_EQ(text_of(session_->run(request, cancel_)), "never mind, then");
  EXPECT_EQ(session_->wait(), nullptr);
  EXPECT_EQ(effects(), 1u);
}

TEST_F(Waits, ACallToolResultIsInTheLogAndInNoRequest) {
  hooks_.clear();
  open();
  const auto report = session_->call_tool({"bash", std::string(kInput)}, cancel_);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->status, ToolStatus::kOk);
  EXPECT_EQ(report->text, "output of bash");
  EXPECT_EQ(kinds(), "genesis tool_intent direct_result");
  model_.say("hi");
  ASSERT_TRUE(run("hello"));
  EXPECT_EQ(model_.requests.back().all_text().find("output of bash"), std::string::npos);
}

TEST_F(Waits, ACallToolThatIsKilledIsUnknownAndNotRunAgain) {
  hooks_.clear();
  open();
  conversation_ = id();
  store_.refuses = [](std::span<const Record> records) {
    return std::any_of(records.begin(), records.end(),
                       [](const Record& record) { return record.type == RecordType::kDirectResult; });
  };
  EXPECT_FALSE(session_->call_tool({"bash", std::string(kInput)}, cancel_));
  session_.reset();
  store_.refuses = nullptr;
  EXPECT_EQ(effects(), 1u);
  open(conversation_);
  ASSERT_TRUE(session_->call_tool({"grep", "{}"}, cancel_));
  EXPECT_EQ(effects(), 1u);
  EXPECT_NE(results().find("unknown: "), std::string::npos) << results();
}

TEST_F(Waits, AreListedAcrossConversationsAndFoundByAPrefix) {
  const std::string first = wait_in(Place::kMain), second = wait_in(Place::kSubagent);
  const auto all = list_waits(store_, clock_.wall_ms());
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[0].open.wait.id, first);
  EXPECT_EQ((*all)[1].open.wait.id, second);
  EXPECT_EQ((*all)[1].root, conversation_);
  EXPECT_NE((*all)[1].conversation, conversation_);
  EXPECT_EQ(find_wait(store_, first.substr(0, 4)).error().code, Code::kInvalid);
  EXPECT_EQ(find_wait(store_, "01ZZZZ").error().code, Code::kNotFound);
  ASSERT_TRUE(store_.remove((*all)[0].root));
  EXPECT_EQ(list_waits(store_, clock_.wall_ms())->size(), 1u);
}

TEST_F(Waits, AnAnswerIsAboutTheDirectoryOfTheRun) {
  const std::string wait = wait_in(Place::kMain);
  ASSERT_TRUE(answer(wait, true));
  agent_.reset();
  options_.cwd = "/elsewhere";
  model_.say("done");
  const auto report = carry_on();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, RunOutcome::kWaiting);
  EXPECT_EQ(effects(), 0u);
  EXPECT_NE(notices().find("this session works elsewhere"), std::string::npos) << notices();
}

TEST_F(Waits, AStoppedRunAsksNobody) {
  permissions_.mode = PermissionRules::Mode::kAsk;
  hooks_.clear();
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "asks", [](const TestCall& call) {
    return view_of(call.payload<agentd_tool_call>().input_json) == "{}"
               ? AGENTD_OK
               : call.answer(permission_action(AGENTD_PERMISSION_ASK));
  });
  on(AGENTD_EVENT_AFTER_TOOL_CALL, "stops",
     [](const TestCall& call) { return call.answer(testing::action(AGENTD_ACT_STOP_RUN, "enough")); });
  FakeApprover approver;
  approver.answer = {true, false, {}};
  approver_ = &approver;
  open();
  model_.ask_tools({{"grep", "{}"}, {"grep", R"({"a":1})"}});
  const auto report = run("go");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, RunError::Kind::kStopped);
  EXPECT_TRUE(approver.asked.empty());
  EXPECT_EQ(tools_.calls.size(), 1u);
}

TEST_F(Waits, AMessageThatIsBlockedHasDeniedTheCallForGood) {
  open();
  conversation_ = id();
  model_.ask_tools({{"bash", std::string(kInput)}, {"grep", "{}"}});
  ASSERT_TRUE(run("go"));
  session_.reset();
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "closed",
     [](const TestCall& call) { return call.answer(testing::action(AGENTD_ACT_BLOCK, "not now")); });
  open(conversation_);
  EXPECT_FALSE(run("never mind"));
  session_.reset();
  hooks_.pop_back();
  open(conversation_);
  model_.say("done");
  ASSERT_TRUE(run("and now?"));
  EXPECT_TRUE(tools_.calls.empty());
  EXPECT_NE(results().find("denied: not permitted: the user continued"), std::string::npos) << results();
}

// The subagent waits a second time, and the process ends before its parent has a wait on that one.
TEST_F(Waits, ASubagentThatWaitsAgainWhileItsParentIsKilledStillWaits) {
  const std::string wait = wait_in(Place::kSubagent);
  ASSERT_TRUE(answer(wait, true));
  model_.ask_tools({{"bash", std::string(kInput)}});
  int waits = 0;
  store_.refuses = [&](std::span<const Record> records) {
    for (const Record& record : records) waits += record.type == RecordType::kWait;
    return waits > 1;
  };
  EXPECT_FALSE(carry_on());
  store_.refuses = [](std::span<const Record>) { return true; };
  session_.reset();
  store_.refuses = nullptr;
  EXPECT_EQ(effects(), 1u);
  const auto again = carry_on();
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->outcome, RunOutcome::kWaiting);
  EXPECT_NE(again->waits_for, wait);
  EXPECT_EQ(effects(), 1u);
  session_.reset();
  ASSERT_TRUE(answer(again->waits_for, true));
  model_.say("done").say("done");
  ASSERT_TRUE(carry_on());
  EXPECT_EQ(effects(), 2u);
}

TEST_F(Waits, NothingStandsBetweenACallThatWaitsAndItsResult) {
  on(AGENTD_EVENT_AFTER_COMPACTION, "notes",
     [](const TestCall& call) { return call.answer(testing::action(AGENTD_ACT_INJECT_CONTEXT, "a note")); });
  open();
  fill(3);
  conversation_ = id();
  model_.ask_tools({{"bash", std::string(kInput)}});
  const auto report = run("go");
  ASSERT_TRUE(report);
  model_.say("a summary");
  const auto compacted = session_->compact({}, false, cancel_);
  ASSERT_TRUE(compacted);
  EXPECT_TRUE(compacted->changed()) << compacted->text;
  session_.reset();
  ASSERT_TRUE(answer(report->waits_for, true));
  model_.say("done");
  ASSERT_TRUE(carry_on());
  EXPECT_EQ(effects(), 1u);
  EXPECT_TRUE(check_pairs(stored_view().rows().list(), true));
}

TEST_F(Waits, ADeletedParentHidesNoOtherWait) {
  wait_in(Place::kSubagent);
  ASSERT_TRUE(store_.remove(conversation_));
  const std::string other = wait_in(Place::kMain);
  const auto all = list_waits(store_, clock_.wall_ms());
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->size(), 1u);
  EXPECT_EQ(all->front().open.wait.id, other);
}

// The subagent's conversation was continued or deleted by itself, or the tool that starts them is gone.
TEST_F(Waits, AParentIsNotStuckWhenItsSubagentWaitsNoLonger) {
  for (const int what : {0, 1, 2}) {
    SCOPED_TRACE(what);
    const std::string wait = wait_in(Place::kSubagent);
    const auto found = find_wait(store_, wait);
    ASSERT_TRUE(found);
    const std::size_t before = effects();
    if (what == 0) {
      open(found->conversation);
      model_.say("by itself");
      ASSERT_TRUE(run("never mind"));
      session_.reset();
    } else if (what == 1) {
      ASSERT_TRUE(store_.remove(found->conversation));
    } else {
      ASSERT_TRUE(answer(wait, true));
      agent_.reset();
      options_.subagents = false;
    }
    open(found->root);
    model_.say("on we go");
    ASSERT_EQ(text_of(run("and now?")), "on we go");
    EXPECT_EQ(session_->wait(), nullptr);
    EXPECT_EQ(effects(), before);
    session_.reset();
  }
}

TEST_F(Waits, AForkIsToldThatTheCallWasNotRun) {
  wait_in(Place::kMain);
  GenesisRecord genesis;
  genesis.conversation_id = ids_.next().text();
  ASSERT_TRUE(store_.fork(conversation_, 0, genesis, "fork"));
  open(Ulid::parse(genesis.conversation_id).value());
  model_.say("fine");
  ASSERT_TRUE(run("go on"));
  EXPECT_NE(model_.requests.back().all_text().find("not run: a call waited"), std::string::npos);
}

TEST_F(Waits, AnAnsweredCallOfARecipeIsNotRunByAMessageWithoutIt) {
  open();
  conversation_ = id();
  model_.ask_tools({{"bash", std::string(kInput)}});
  RunRequest request{"deploy it"};
  request.recipe = "deploy";
  const auto report = session_->run(request, cancel_);
  ASSERT_TRUE(report);
  session_.reset();
  ASSERT_TRUE(answer(report->waits_for, true));
  open(conversation_);
  model_.say("fine");
  ASSERT_TRUE(run("something else"));
  EXPECT_EQ(effects(), 0u);
  EXPECT_EQ(session_->wait(), nullptr);
}

TEST_F(Waits, AnotherDirectoryUnderTheSameNameIsAnother) {
  const testing::TempDir temp;
  options_.cwd = temp.file("work");
  std::filesystem::create_directory(options_.cwd);
  const std::string wait = wait_in(Place::kMain);
  ASSERT_TRUE(answer(wait, true));
  std::filesystem::rename(options_.cwd, temp.file("old"));
  std::filesystem::create_directory(options_.cwd);
  const auto report = carry_on();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, RunOutcome::kWaiting);
  EXPECT_EQ(effects(), 0u);
  EXPECT_NE(notices().find("another directory is at"), std::string::npos) << notices();
}

TEST_F(Waits, AnotherConfigurationOfAHookIsAChange) {
  hooks_.front()->what.config_digest = "c1";
  const std::string wait = wait_in(Place::kMain);
  ASSERT_TRUE(answer(wait, true));
  hooks_.front()->what.config_digest = "c2";
  const auto report = carry_on();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, RunOutcome::kWaiting);
  EXPECT_EQ(effects(), 0u);
}

TEST_F(Waits, AConversationThatIsNotSavedDoesNotWait) {
  options_.saves = false;
  open();
  model_.ask_tools({{"bash", std::string(kInput)}}).say("done");
  EXPECT_EQ(text_of(run("go")), "done");
  EXPECT_EQ(effects(), 0u);
  EXPECT_NE(results().find("is not saved cannot wait"), std::string::npos) << results();
}

TEST_F(Waits, TurnsThatWereTakenCountAfterTheWait) {
  options_.max_turns = 2;
  const std::string wait = wait_in(Place::kMain);
  ASSERT_TRUE(answer(wait, true));
  model_.ask_tools({{"grep", "{}"}}).say("too late");
  const auto report = carry_on();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->outcome, RunOutcome::kMaxTurns);
}

}  // namespace
}  // namespace agentd
