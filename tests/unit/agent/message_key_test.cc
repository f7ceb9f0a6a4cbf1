// SPDX-License-Identifier: Apache-2.0
// Messages that clients name: sent again with its key, a message is known and nothing runs twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/conversation/message_keys.h"
#include "tests/support/agent_fixture.h"

namespace agentd {
namespace {

using testing::action;
using testing::AgentTest;
using testing::RecordingEvents;
using testing::TestCall;

class MessageKey : public AgentTest {
 protected:
  static RunRequest request(std::string key, std::string text = "go") {
    RunRequest out{std::move(text)};
    out.key = std::move(key);
    return out;
  }
  Result<RunReport, RunError> send(std::string key, std::string text = "go") {
    return session_->run(request(std::move(key), std::move(text)), cancel_);
  }
  static PostedMessage posted(std::string key, std::string text,
                              PostedMessage::Kind kind = PostedMessage::Kind::kSteer) {
    return {kind, std::move(text), {}, std::move(key)};
  }
  // The sequences of the messages with that key, as the log has them.
  std::vector<std::uint64_t> stored(const std::string& key) const {
    std::vector<std::uint64_t> out;
    for (const StoredRecord& record : log())
      if (record.record.type == RecordType::kUserMessage && read_message(record.record)->key == key)
        out.push_back(record.seq);
    return out;
  }
  std::vector<RecordingEvents::Told> repetitions() const {
    std::vector<RecordingEvents::Told> out;
    for (const auto& told : events_.of(RunEvent::Type::kUserMessage))
      if (told.repeated) out.push_back(told);
    return out;
  }
  // Sends it again: the answer names the one record that the log has, and nothing else happens.
  void expect_repeated(const std::string& key, const std::string& how) {
    const auto requests = model_.requests.size();
    const std::uint64_t revision = store_.info(id())->revision;
    const std::size_t runs = events_.of(RunEvent::Type::kRunStarted).size(), told = repetitions().size();
    const auto again = send(key, "the same once more");
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().kind, RunError::Kind::kRepeated) << again.error().message;
    const std::string& message = again.error().message;
    ASSERT_EQ(stored(key).size(), 1u);
    const std::uint64_t seq = stored(key)[0];
    EXPECT_NE(message.find("'" + key + "' is record " + std::to_string(seq) + " of conversation " + id().text()),
              std::string::npos)
        << message;
    EXPECT_NE(message.find(how), std::string::npos) << message;
    EXPECT_EQ(model_.requests.size(), requests);
    EXPECT_EQ(store_.info(id())->revision, revision);
    EXPECT_EQ(events_.of(RunEvent::Type::kRunStarted).size(), runs);
    ASSERT_EQ(repetitions().size(), told + 1);
    EXPECT_EQ(repetitions().back().seq, seq);
    EXPECT_EQ(repetitions().back().key, key);
  }
};

TEST_F(MessageKey, IsInTheRecordAndInTheAcknowledgement) {
  open();
  model_.say("one").say("two");
  ASSERT_TRUE(send("k1"));
  ASSERT_TRUE(run("without"));
  const auto told = events_.of(RunEvent::Type::kUserMessage);
  ASSERT_EQ(told.size(), 2u);
  ASSERT_EQ(stored("k1").size(), 1u);
  EXPECT_EQ(told[0].key, "k1");
  EXPECT_EQ(told[0].seq, stored("k1")[0]);
  EXPECT_EQ(told[1].key, "");
  EXPECT_TRUE(repetitions().empty());
}

TEST_F(MessageKey, ASecondRunWithItRunsNothing) {
  open();
  model_.say("one").say("two").say("three");
  ASSERT_TRUE(send("k1"));
  expect_repeated("k1", "its run has ended (stop)");
  // The first text counts.
  EXPECT_EQ(repetitions()[0].text, "go");
  EXPECT_EQ(repetitions()[0].detail, "user");
  // A control: another key, and none, run.
  EXPECT_EQ(text_of(send("k2")), "two");
  EXPECT_EQ(text_of(run("go")), "three");
  expect_repeated("k2", "its run has ended (stop)");
}

TEST_F(MessageKey, HoldsInTheNextProcessAndAfterACompactionAndAnUndo) {
  options_.auto_compact = false;
  open();
  model_.say("one");
  ASSERT_TRUE(send("k1", "the very first"));
  fill(3);
  model_.say("a summary");
  CompactOptions whole;
  whole.strategy = AGENTD_STRATEGY_FULL;
  const auto compacted = session_->compact(whole, false, {});
  ASSERT_TRUE(compacted && compacted->changed());
  reopen();
  // A control: the message is not in what is loaded of the log.
  EXPECT_GT(store_.info(id())->view_first_seq, stored("k1").at(0));
  expect_repeated("k1", "its run has ended (stop)");
  ASSERT_TRUE(session_->undo(true, cancel_));
  expect_repeated("k1", "its run has ended (stop)");
  reopen();
  expect_repeated("k1", "its run has ended (stop)");
  model_.say("two");
  EXPECT_EQ(text_of(send("k2")), "two");
}

// The log is as after kill -9 between the commit of the message and the answer.
TEST_F(MessageKey, AnInterruptedRunIsNotRepeated) {
  open();
  model_.say("lost");
  store_.refuses = [](std::span<const Record> records) {
    return std::any_of(records.begin(), records.end(), [](const Record& record) {
      return record.type == RecordType::kAssistantMessage || record.type == RecordType::kRunEnd;
    });
  };
  const auto failed = send("k1");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, RunError::Kind::kStore);
  store_.refuses = nullptr;
  EXPECT_EQ(kinds(), "genesis run_begin settings user_message");
  expect_repeated("k1", "its run was interrupted");
  reopen();
  expect_repeated("k1", "its run was interrupted");
  // Another message continues, and does not change how the run of the first one ended.
  model_.say("two");
  EXPECT_EQ(text_of(send("k2")), "two");
  expect_repeated("k1", "its run was interrupted");
}

// Each append may be the last of a process.
TEST_F(MessageKey, ATaskRunsOnceWhereverItsProcessDies) {
  tools_.offer("bash");
  open();
  model_.say("before");
  ASSERT_TRUE(run("first"));
  const Ulid same = id();
  int sent_again = 0, interrupted = 0;
  for (int most = 0;; ++most) {
    ASSERT_LT(most, 20);
    const std::string key = "k" + std::to_string(most);
    const std::size_t calls = tools_.calls.size();
    model_.answers.clear();
    model_.ask_tools({{"bash", "{}"}}).say("done");
    int left = most;
    store_.refuses = [&](std::span<const Record>) { return left-- <= 0; };
    const bool ended = send(key).has_value();
    store_.refuses = [](std::span<const Record>) { return true; };
    session_.reset();
    store_.refuses = nullptr;
    open(same);
    model_.answers.clear();
    model_.ask_tools({{"bash", "{}"}}).say("done");
    const bool was_stored = !stored(key).empty();
    const auto again = send(key);
    EXPECT_EQ(stored(key).size(), 1u) << most;
    EXPECT_LE(tools_.calls.size() - calls, 1u) << most;
    EXPECT_EQ(again.has_value(), !was_stored) << most;
    EXPECT_TRUE(again || again.error().kind == RunError::Kind::kRepeated) << most;
    if (ended) break;
    ++(was_stored ? interrupted : sent_again);
  }
  EXPECT_GT(sent_again, 0);
  EXPECT_GT(interrupted, 1);
}

TEST_F(MessageKey, AMessageThatWasNotStoredIsSentLikeANewOne) {
  open();
  store_.refuses = [](std::span<const Record>) { return true; };
  EXPECT_EQ(send("k1").error().kind, RunError::Kind::kStore);
  store_.refuses = nullptr;
  model_.say("one");
  EXPECT_EQ(text_of(send("k1")), "one");
  expect_repeated("k1", "its run has ended (stop)");
}

TEST_F(MessageKey, AMessageThatAHookBlockedIsSentLikeANewOne) {
  bool blocks = true;
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "guard",
     [&](const TestCall& call) { return blocks ? call.answer(action(AGENTD_ACT_BLOCK, "not yet")) : AGENTD_OK; });
  open();
  EXPECT_EQ(send("k1").error().kind, RunError::Kind::kBlocked);
  EXPECT_EQ(send("k1").error().kind, RunError::Kind::kBlocked);
  blocks = false;
  model_.say("one");
  EXPECT_EQ(text_of(send("k1")), "one");
  expect_repeated("k1", "its run has ended (stop)");
}

TEST_F(MessageKey, CountsInItsConversationAndNotInAForkOfIt) {
  open();
  model_.say("one").say("two");
  ASSERT_TRUE(send("k1"));
  const Ulid first = id();
  const std::uint64_t copied = store_.info(first)->revision;
  GenesisRecord genesis;
  const Ulid fork = ids_.next();
  genesis.conversation_id = fork.text();
  ASSERT_TRUE(store_.fork(first, 0, genesis, "copy"));
  open(fork);
  ASSERT_EQ(stored("k1").size(), 1u);  // the copy
  EXPECT_EQ(text_of(send("k1")), "two");
  ASSERT_EQ(stored("k1").size(), 2u);
  EXPECT_GT(stored("k1")[1], copied);
  const auto again = send("k1");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, RunError::Kind::kRepeated);
  EXPECT_EQ(repetitions().back().seq, stored("k1")[1]);
  // Its own messages, too, once it is loaded again.
  reopen();
  EXPECT_EQ(send("k1").error().kind, RunError::Kind::kRepeated);
  EXPECT_EQ(repetitions().back().seq, stored("k1")[1]);
  open(first);
  expect_repeated("k1", "its run has ended (stop)");
}

TEST_F(MessageKey, OfAnotherSessionsMessageIsKnown) {
  open();
  model_.say("one").say("two").say("three");
  ASSERT_TRUE(send("k1"));
  const auto other = agent_->open(id(), {});
  ASSERT_TRUE(other) << other.error().message;
  ASSERT_TRUE((*other)->run(request("k2"), {}));
  expect_repeated("k2", "its run has ended (stop)");
  ASSERT_TRUE(send("k3"));
  EXPECT_EQ((*other)->run(request("k3"), {}).error().kind, RunError::Kind::kRepeated);
  EXPECT_EQ((*other)->run(request("k1"), {}).error().kind, RunError::Kind::kRepeated);
  EXPECT_EQ(model_.requests.size(), 3u);
}

TEST_F(MessageKey, IsOfTheTextOfARecipeThatWordsFollow) {
  open();
  RunRequest recipe = request("k1", "do it as the recipe says");
  recipe.recipe = "steps";
  recipe.words = "mine";
  model_.say("one");
  ASSERT_TRUE(session_->run(recipe, cancel_));
  EXPECT_EQ(model_.requests.at(0).all_text(), "do it as the recipe says\nmine\n");
  expect_repeated("k1", "its run has ended (stop)");
  EXPECT_EQ(repetitions().back().detail, "recipe");
}

TEST_F(MessageKey, ThatCannotBeOneIsRefusedBeforeAnythingIsDone) {
  open();
  for (const std::string& key : {std::string(kMessageKeyBytesMax + 1, 'k'), std::string("a\nb"), std::string("\xFF")}) {
    const auto ran = send(key);
    ASSERT_FALSE(ran);
    EXPECT_EQ(ran.error().kind, RunError::Kind::kUsage);
    const auto queued = session_->post(posted(key, "x"));
    ASSERT_FALSE(queued);
    EXPECT_EQ(queued.error().kind, RunError::Kind::kUsage);
    EXPECT_EQ(queued.error().message, ran.error().message);
  }
  EXPECT_TRUE(session_->take_posted().empty());
  EXPECT_EQ(store_.appends, 0);
  RunRequest compacts = request("k1");
  compacts.compaction_run = true;
  EXPECT_EQ(session_->run(compacts, cancel_).error().kind, RunError::Kind::kUsage);
  // A control: the longest one.
  model_.say("one");
  EXPECT_EQ(text_of(send(std::string(kMessageKeyBytesMax, 'k'))), "one");
}

// ---- messages that are posted

TEST_F(MessageKey, APostWhoseKeyWaitsIsNotQueuedTwice) {
  settings_.posted_messages = 2;
  open();
  EXPECT_TRUE(session_->post(posted("k1", "first")));
  EXPECT_TRUE(session_->post(posted("k1", "second", PostedMessage::Kind::kFollowUp)));
  EXPECT_TRUE(session_->post(posted("k2", "third")));
  // Nor is it refused where the queue is full.
  EXPECT_TRUE(session_->post(posted("k2", "fourth")));
  EXPECT_FALSE(session_->post(posted("", "fifth")));
  const auto back = session_->take_posted();
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].text + " " + back[1].text, "first third");
  EXPECT_EQ(back[0].key, "k1");
  // A control: messages without a key are all queued, and one that was taken back is queued again.
  EXPECT_TRUE(session_->post(posted("", "same")));
  EXPECT_TRUE(session_->post(posted("", "same")));
  EXPECT_EQ(session_->take_posted().size(), 2u);
  EXPECT_TRUE(session_->post(posted("k1", "first")));
  EXPECT_EQ(session_->take_posted().size(), 1u);
}

TEST_F(MessageKey, APostedMessageThatIsStoredIsToldAgainAndNotSent) {
  open();
  EXPECT_TRUE(session_->post(posted("k1", "this")));
  model_.say("one");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(model_.requests.at(0).all_text(), "go\nthis\n");
  ASSERT_EQ(stored("k1").size(), 1u);
  for (const bool in_next_process : {false, true}) {
    if (in_next_process) reopen();
    events_.told.clear();
    model_.requests.clear();
    model_.say("two");
    EXPECT_TRUE(session_->post(posted("k1", "this")));
    // A run would continue with a follow-up.
    model_.during = [&](const ModelRequest&) {
      EXPECT_TRUE(session_->post(posted("k1", "this", PostedMessage::Kind::kFollowUp)));
    };
    EXPECT_EQ(text_of(run("more")), "two");
    EXPECT_EQ(model_.requests.size(), 1u);
    ASSERT_EQ(repetitions().size(), 2u);
    for (const auto& told : repetitions()) {
      EXPECT_EQ(told.seq, stored("k1")[0]);
      EXPECT_EQ(told.text, "this");
    }
    EXPECT_EQ(stored("k1").size(), 1u);
    EXPECT_TRUE(session_->take_posted().empty());
    model_.during = nullptr;
  }
  // A control: a follow-up with another key continues the run.
  model_.requests.clear();
  model_.say("three").say("four");
  EXPECT_TRUE(session_->post(posted("k2", "that", PostedMessage::Kind::kFollowUp)));
  EXPECT_EQ(text_of(run("more")), "four");
  expect_repeated("k2", "its run has ended (stop)");
}

TEST_F(MessageKey, APostWithTheKeyOfTheRunsOwnMessageIsNotSent) {
  open();
  EXPECT_TRUE(session_->post(posted("k1", "go")));
  model_.say("one");
  EXPECT_EQ(text_of(send("k1")), "one");
  EXPECT_EQ(model_.requests.at(0).all_text(), "go\n");
  EXPECT_EQ(model_.requests.size(), 1u);
  EXPECT_EQ(stored("k1").size(), 1u);
  EXPECT_TRUE(session_->take_posted().empty());
}

TEST_F(MessageKey, APostThatCouldNotBeStoredIsHandedBackOnce) {
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "client", [&](const TestCall& call) {
    // While the first one is on its way to the log, its client sends it again.
    if (view_of(call.payload<agentd_user_message>().text) != "first") return AGENTD_OK;
    EXPECT_TRUE(session_->post(posted("k1", "second")));
    return AGENTD_OK;
  });
  open();
  EXPECT_TRUE(session_->post(posted("k1", "first")));
  store_.refuses = [](std::span<const Record>) { return true; };
  EXPECT_EQ(run("go").error().kind, RunError::Kind::kStore);
  auto back = session_->take_posted();
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(back[0].text, "first");
  // Nor is one lost whose key the run's own message has.
  EXPECT_TRUE(session_->post(posted("k2", "mine")));
  EXPECT_EQ(send("k2").error().kind, RunError::Kind::kStore);
  back = session_->take_posted();
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(back[0].key, "k2");
}

TEST_F(MessageKey, APostedMessageThatAHookBlockedIsSentLikeANewOne) {
  bool blocks = true;
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "guard", [&](const TestCall& call) {
    if (!blocks || view_of(call.payload<agentd_user_message>().text) != "this") return AGENTD_OK;
    return call.answer(action(AGENTD_ACT_BLOCK, "not yet"));
  });
  open();
  model_.say("one").say("two");
  EXPECT_TRUE(session_->post(posted("k1", "this")));
  ASSERT_TRUE(run("go"));
  EXPECT_TRUE(stored("k1").empty());
  blocks = false;
  EXPECT_TRUE(session_->post(posted("k1", "this")));
  ASSERT_TRUE(run("more"));
  EXPECT_EQ(stored("k1").size(), 1u);
  EXPECT_TRUE(repetitions().empty());
}

}  // namespace
}  // namespace agentd
