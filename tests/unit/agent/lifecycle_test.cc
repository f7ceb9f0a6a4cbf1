// SPDX-License-Identifier: Apache-2.0
// How a session begins and ends: what it is primed with, what is said of it at its end, and one that was killed.
#include <gtest/gtest.h>

#include <string>

#include "core/agent/attendance.h"
#include "core/agent/recollections.h"
#include "tests/support/agent_fixture.h"
#include "tests/unit/agent/remembering.h"

namespace agentd {
namespace {

using testing::AgentTest;
using testing::Remembering;
using testing::TestCall;

class Lifecycle : public AgentTest {
 protected:
  Lifecycle() { options_.lifecycle = true; }

  // As open(), with memories and a first text.
  void begin(const std::string& first_text) {
    publish();
    if (!services_) services_ = make_services(runtime_parts(), runtime_settings());
    AgentParts all = parts();
    all.recollections = &memories_;
    agent_ = make_agent(*services_, std::move(all), options_);
    auto opened = agent_->open(std::nullopt, {}, first_text);
    ASSERT_TRUE(opened) << opened.error().message;
    session_ = std::move(*opened);
  }
  void watch_start() {
    on(AGENTD_EVENT_SESSION_START, "s", [&](const TestCall& call) {
      const auto& payload = call.payload<agentd_session_start>();
      started_ += std::string(view_of(payload.task)) + "/";
      const auto* const memories = static_cast<const agentd_recollection*>(payload.memories.first);
      for (std::uint32_t i = 0; i < payload.memories.count; ++i) started_ += std::string(view_of(memories[i].id)) + ",";
      offered_ = payload.checkpoint == nullptr ? "" : std::string(view_of(payload.checkpoint->id));
      return AGENTD_OK;
    });
  }
  void watch_end() {
    on(AGENTD_EVENT_SESSION_END, "e", [&](const TestCall& call) {
      const auto& payload = call.payload<agentd_session_end>();
      ended_ += std::string(view_of(payload.reason)) + "/" + std::to_string(payload.outcome) + "/" +
                std::string(view_of(payload.task)) + "/" + std::string(view_of(payload.approach)) + "/" +
                std::string(view_of(payload.notes)) + "/" + std::to_string(payload.tags.count) + "/" +
                std::string(view_of(call.raw.envelope->session_id)) + ";";
      return AGENTD_OK;
    });
  }
  std::vector<StoredKey> rows() const { return *store_.scan_keys("agentd.attached", {}, {}, 100); }

  Remembering memories_;
  std::string started_, offered_, ended_;
};

// ---- priming

TEST_F(Lifecycle, AKnownTaskPrimesTheStartAndTheModel) {
  memories_.known = {{"mem_1", "how tests run", "make test\n> not this", "conversation 01A", 800, 5}};
  watch_start();
  begin("fix the tests");
  EXPECT_EQ(started_, "fix the tests/mem_1,");
  model_.say("done").say("again");
  ASSERT_TRUE(run("fix the tests"));
  ASSERT_TRUE(run("more"));
  EXPECT_EQ(memories_.asked, std::vector<std::string>{"fix the tests"});
  const std::string seen = model_.requests[0].all_text();
  EXPECT_NE(seen.find("[memory mem_1] confidence 80 %\n> from conversation 01A\n> "), std::string::npos) << seen;
  EXPECT_NE(seen.find("> make test\n> > not this"), std::string::npos) << seen;
  EXPECT_NE(seen.find("not instructions"), std::string::npos) << seen;
  EXPECT_LT(seen.find("fix the tests"), seen.find("mem_1"));
  EXPECT_EQ(kinds().find("context"), kinds().rfind("context")) << "told once";
}

TEST_F(Lifecycle, WithoutATaskTheFirstMessagePrimesOnce) {
  memories_.known = {{"mem_1", "how tests run", "make test", {}, 800, 5}};
  watch_start();
  begin({});
  EXPECT_EQ(started_, "/");
  EXPECT_TRUE(memories_.asked.empty());
  model_.say("done").say("again");
  ASSERT_TRUE(run("fix the tests"));
  ASSERT_TRUE(run("more"));
  EXPECT_EQ(memories_.asked, std::vector<std::string>{"fix the tests"});
  EXPECT_NE(model_.requests[0].all_text().find("mem_1"), std::string::npos);
}

TEST_F(Lifecycle, NoMemoriesOrAFailureAddNothing) {
  begin("fix the tests");
  model_.say("done");
  ASSERT_TRUE(run("fix the tests"));
  EXPECT_EQ(kinds().find("context"), std::string::npos);
  session_.reset();
  memories_.fails = true;
  begin("fix them");
  model_.say("done");
  ASSERT_TRUE(run("fix them"));
  EXPECT_EQ(kinds().find("context"), std::string::npos);
}

TEST_F(Lifecycle, AtMostThreeMemoriesAreTaken) {
  for (const char* id : {"m1", "m2", "m3", "m4"}) memories_.known.push_back({id, "t", "x", {}, 800, 5});
  watch_start();
  begin("a task");
  EXPECT_EQ(started_, "a task/m1,m2,m3,");
}

TEST_F(Lifecycle, TheNewestCheckpointIsOfferedToOtherConversations) {
  watch_start();
  open();
  EXPECT_EQ(offered_, "");
  model_.say("one");
  ASSERT_TRUE(run("first"));
  const auto saved = session_->checkpoint("a");
  ASSERT_TRUE(saved);
  reopen();
  EXPECT_EQ(offered_, "") << "it is in it";
  session_.reset();
  open();
  EXPECT_EQ(offered_, *saved);
}

// ---- the end

TEST_F(Lifecycle, TheEndSaysWhatWasNoted) {
  watch_end();
  open();
  model_.say("one");
  ASSERT_TRUE(run("first"));
  session_->note({{}, "read the log", "flaky", {"tests", "parser"}, AGENTD_OUTCOME_PARTIAL});
  session_->note({"the real task", {}, {}, {}, {}});
  const std::string session = session_->session_id();
  session_->end("exit");
  session_.reset();
  EXPECT_EQ(ended_, "exit/3/the real task/read the log/flaky/2/" + session + ";");
}

TEST_F(Lifecycle, WithoutNotesTheOutcomeIsThatOfTheLastRun) {
  watch_end();
  open();
  model_.say("one");
  ASSERT_TRUE(run("first"));
  const std::string session = session_->session_id();
  session_.reset();
  EXPECT_EQ(ended_, "exit/1/first///0/" + session + ";");
}

TEST_F(Lifecycle, ANoteReachesTheSessionByItsHandle) {
  agentd_conv handle = 0;
  on(AGENTD_EVENT_TURN_START, "h", [&](const TestCall& call) {
    handle = call.raw.conversation;
    return AGENTD_OK;
  });
  watch_end();
  open();
  model_.say("one");
  ASSERT_TRUE(run("first"));
  EndNotes notes;
  notes.approach = "by handle";
  EXPECT_TRUE(note_session(*services_, handle, notes));
  EXPECT_EQ(note_session(*services_, handle + 1'000, notes).error().code, Code::kNotFound);
  session_.reset();
  EXPECT_NE(ended_.find("/by handle/"), std::string::npos) << ended_;
}

// ---- one that was killed

TEST_F(Lifecycle, ASessionIsAttachedFromItsFirstRecordToItsEndAtNoExtraCommit) {
  open();
  EXPECT_TRUE(rows().empty()) << "nothing was said";
  model_.say("one");
  ASSERT_TRUE(run("first"));
  EXPECT_EQ(store_.key_commits, 0);
  EXPECT_EQ(rows().size(), 1u);
  session_->end("exit");
  EXPECT_TRUE(rows().empty());
}

class Killed : public Lifecycle {
 protected:
  // A session whose process is gone: its row is there, and no lease of its process.
  std::string leave_behind() {
    open();
    model_.say("one");
    EXPECT_TRUE(run("the task"));
    const Attendance::Session session{"u/p", session_->session_id(), session_->conversation_id()};
    session_.reset();
    ended_.clear();
    Attendance process(store_, ids_, log_);
    const auto row = process.row_of(session);
    EXPECT_TRUE(row);
    const KeyOp put{KeyOp::Kind::kPut, row->key, row->value};
    EXPECT_TRUE(store_.commit_keys(row->space, {&put, 1}));
    return session.session;
  }
};

TEST_F(Killed, IsEndedOnceByTheNextStart) {
  watch_end();
  const std::string session = leave_behind();
  open();
  EXPECT_EQ(ended_, "crash/0/the task///0/" + session + ";");
  EXPECT_TRUE(rows().empty());
  session_.reset();
  ended_.clear();
  open();
  EXPECT_EQ(ended_, "");
}

TEST_F(Killed, IsLeftToItsOwnProject) {
  watch_end();
  leave_behind();
  agent_.reset();
  options_.project_id = "another";
  open();
  EXPECT_EQ(ended_, "");
  EXPECT_EQ(rows().size(), 1u);
}

// One that cannot be read is told once, and does not use up what a start ends.
TEST_F(Killed, WhoseConversationIsBrokenIsToldOnce) {
  watch_end();
  leave_behind();
  store_.reads_fail = Error{Code::kUnavailable, "the disk is away"};
  publish();
  auto services = make_services(runtime_parts(), runtime_settings());
  const auto agent = make_agent(*services, parts(), options_);
  EXPECT_TRUE(agent->open(std::nullopt, {}));
  EXPECT_EQ(rows().size(), 1u) << "it may be read later";
  store_.reads_fail = Error{Code::kCorrupt, "record 2 is damaged"};
  EXPECT_TRUE(agent->open(std::nullopt, {}));
  EXPECT_TRUE(rows().empty());
  EXPECT_EQ(ended_.find("crash"), std::string::npos) << ended_;
}

TEST_F(Lifecycle, ASessionOfALivingProcessIsLeftAlone) {
  watch_end();
  open();
  model_.say("one");
  ASSERT_TRUE(run("first"));
  auto other_services = make_services(runtime_parts(), runtime_settings());
  auto other = make_agent(*other_services, parts(), options_);
  auto opened = other->open(std::nullopt, {});
  ASSERT_TRUE(opened);
  EXPECT_EQ(ended_, "");
  EXPECT_EQ(rows().size(), 1u);
}

}  // namespace
}  // namespace agentd
