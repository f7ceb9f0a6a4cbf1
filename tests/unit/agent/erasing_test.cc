// SPDX-License-Identifier: Apache-2.0
#include "core/agent/erasing.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "core/agent/checkpoints.h"
#include "core/agent/loading.h"
#include "core/agent/waits.h"
#include "core/conversation/erasure.h"
#include "tests/support/agent_fixture.h"

namespace agentd {
namespace {

using testing::AgentTest;
using testing::permission_action;
using testing::TestCall;
using testing::TestHook;

constexpr const char* kSecret = "hunter2-is-the-word-of-the-day-and-long";

class Erasing : public AgentTest {
 protected:
  Erasing() { tools_.offer("bash"); }

  ErasePlan plan(EraseQuery query) {
    query.conversation = session_ ? id() : last_;
    auto planned = plan_erase(store_, query);
    EXPECT_TRUE(planned) << (planned ? "" : planned.error().message);
    return planned ? std::move(*planned) : ErasePlan{};
  }
  ErasePlan by_text(const std::string& text = kSecret) {
    EraseQuery query;
    query.texts = {{text, std::string(kErasedText)}};
    return plan(query);
  }
  ErasePlan by_sequence(std::uint64_t seq) {
    EraseQuery query;
    query.ranges = {{seq, seq}};
    return plan(query);
  }
  ErasedAll erase(const ErasePlan& plan, std::vector<EraseListener> listeners = {}) {
    const auto leases = lease_all(store_, plan);
    EXPECT_TRUE(leases) << (leases ? "" : leases.error().message);
    ErasedAll done;
    const auto erased = carry_out(store_, plan, listeners, done);
    EXPECT_TRUE(erased) << (erased ? "" : erased.error().message);
    return done;
  }
  // All payloads of the conversation, and its title.
  std::string everything(const Ulid& of) {
    std::string out = store_.info(of)->title + "\n";
    EXPECT_TRUE(store_.read(of, 1, 0, [&](const StoredRecord& record) {
      out += record.record.payload + "\n";
      return true;
    }));
    return out;
  }
  bool has_it(const Ulid& of) { return everything(of).find(kSecret) != std::string::npos; }
  Ulid fork(std::uint64_t at = 0) {
    GenesisRecord genesis;
    genesis.conversation_id = ids_.next().text();
    const auto made = store_.fork(id(), at, genesis, store_.info(id())->title + " (fork)");
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return *Ulid::parse(genesis.conversation_id);
  }
  // The sequence of the first record of that kind whose payload has the text.
  std::uint64_t seq_of(RecordType type, const std::string& text = kSecret) {
    for (const StoredRecord& record : log())
      if (record.record.type == type && record.record.payload.find(text) != std::string::npos) return record.seq;
    ADD_FAILURE() << name_of(type) << " with " << text;
    return 0;
  }
  // The conversation of a session that has ended.
  Ulid last_;

  // Roles, and ids and names of calls, of the view at each revision.
  std::vector<std::string> shapes(const Ulid& of, std::uint64_t until) {
    std::vector<std::string> out;
    for (std::uint64_t revision = 1; revision <= until; ++revision) {
      const auto view =
          load_conversation_at(store_, of, revision, [](const agentd_message&) { return std::uint64_t{0}; });
      EXPECT_TRUE(view) << revision << ": " << (view ? "" : view.error().message);
      std::string& shape = out.emplace_back();
      for (const agentd_message& row : (*view)->rows()) {
        const Message message = to_message(row);
        shape += "|" + std::to_string(static_cast<int>(message.role));
        EXPECT_FALSE(message.blocks.empty());
        for (const Block& block : message.blocks)
          if (!block.call_id.empty()) shape += " " + block.name + ":" + block.call_id;
      }
    }
    return out;
  }
};

TEST_F(Erasing, ATextGoesEverywhereAndEveryViewStaysOneThatAProviderAccepts) {
  open();
  model_.ask_tools({{"bash", std::string(R"({"command":"echo )") + kSecret + "\"}"}})
      .say(std::string("it is ") + kSecret);
  tools_.handler = [](const ToolCall&) {
    return Result<ToolOutcome>(ToolOutcome{true, std::string("out: ") + kSecret, {}, {}});
  };
  ASSERT_TRUE(run(std::string("my word is ") + kSecret));
  model_.say("a second answer");
  ASSERT_TRUE(run("go on"));
  const Ulid copy = fork();
  const std::uint64_t revision = store_.info(id())->revision;
  const std::vector<std::string> before = shapes(id(), revision);
  ASSERT_TRUE(has_it(id()));
  ASSERT_TRUE(has_it(copy));

  const ErasePlan planned = by_text();
  ASSERT_EQ(planned.parts.size(), 2u);
  EXPECT_EQ(planned.parts[0].relation, "");
  EXPECT_EQ(planned.parts[1].relation, "fork");
  erase(planned);
  EXPECT_FALSE(has_it(id())) << everything(id());
  EXPECT_FALSE(has_it(copy)) << everything(copy);
  EXPECT_EQ(store_.info(id())->title, "my word is [erased]");
  EXPECT_EQ(shapes(id(), revision), before);
  EXPECT_TRUE(store_.verify(id()));
  EXPECT_TRUE(store_.verify(copy));
  EXPECT_TRUE(by_text().empty());
}

TEST_F(Erasing, ASessionThatIsOpenSendsItNoMore) {
  open();
  model_.say("yes");
  ASSERT_TRUE(run(std::string("my word is ") + kSecret));
  model_.say("again");
  ASSERT_TRUE(run("and?"));
  ASSERT_NE(model_.requests.back().all_text().find(kSecret), std::string::npos);
  erase(by_text());
  model_.say("done");
  ASSERT_TRUE(run("and now?"));
  const std::string sent = model_.requests.back().all_text();
  EXPECT_EQ(sent.find(kSecret), std::string::npos) << sent;
  EXPECT_NE(sent.find("my word is [erased]"), std::string::npos) << sent;
}

TEST_F(Erasing, BySequenceTheCopiesInForksAndParentsGo) {
  open();
  model_.say("yes");
  ASSERT_TRUE(run("first"));
  const std::uint64_t before = store_.info(id())->revision;
  model_.say("yes");
  ASSERT_TRUE(run("pw: x1"));  // too short to be looked for
  const std::uint64_t seq = seq_of(RecordType::kUserMessage, "pw: x1");
  const Ulid with = fork(), without = fork(before);
  const ErasePlan planned = by_sequence(seq);
  ASSERT_EQ(planned.parts.size(), 2u);
  erase(planned);
  EXPECT_EQ(everything(id()).find("pw: x1"), std::string::npos);
  EXPECT_EQ(everything(with).find("pw: x1"), std::string::npos);
  EXPECT_EQ(store_.info(without)->revision, before + 1);
  // From the fork, the parent is reached.
  const std::uint64_t first = seq_of(RecordType::kUserMessage, "first");
  last_ = with;
  session_.reset();
  const ErasePlan up = by_sequence(first);
  EXPECT_EQ(up.parts.size(), 3u);
  erase(up);
  for (const auto& part : up.parts)
    EXPECT_EQ(everything(part.conversation).find("\"first\""), std::string::npos) << everything(part.conversation);
  EXPECT_EQ(store_.info(without)->title, "[erased]");
}

TEST_F(Erasing, BySequenceTheSummariesMadeOfItGo) {
  open();
  fill(4);
  const std::uint64_t first = seq_of(RecordType::kUserMessage, "\"");
  model_.say("## Goal\nA paraphrase of the first message.");
  const auto compacted = session_->compact({}, false, cancel_);
  ASSERT_TRUE(compacted) << compacted.error().message;
  const std::uint64_t summary = seq_of(RecordType::kSummary, "paraphrase");
  // The control: a message behind the boundary is in no summary.
  model_.say("yes");
  ASSERT_TRUE(run("something later"));
  const auto summaries = [](const ErasePlan& planned) {
    std::set<std::uint64_t> out;
    for (const PlannedRecord& record : planned.parts.at(0).records)
      if (record.why == "summary") out.insert(record.seq);
    return out;
  };
  EXPECT_EQ(summaries(by_sequence(seq_of(RecordType::kUserMessage, "something later"))), std::set<std::uint64_t>{});
  const ErasePlan planned = by_sequence(first);
  EXPECT_EQ(summaries(planned), std::set<std::uint64_t>{summary});
  erase(planned);
  EXPECT_EQ(everything(id()).find("paraphrase"), std::string::npos);
  EXPECT_TRUE(store_.verify(id()));
}

// Writes the same text each time.
class Paraphrase final : public CheckpointTexts {
 public:
  Result<Written> write(const Wanted&, const CancelToken&) override {
    ++asked;
    if (during) during();
    return Written{"A paraphrase of the first message.", "m"};
  }
  int asked = 0;
  std::function<void()> during;
};

TEST_F(Erasing, BySequenceTheTextsOfCheckpointsMadeOfItGoAndAreMadeAgain) {
  open();
  fill(5);
  const std::uint64_t first = seq_of(RecordType::kUserMessage, "\"");
  session_.reset();
  Paraphrase texts;
  Checkpoints checkpoints({store_, clock_, ids_, estimator_, models_, {}, &texts});
  last_ = *Ulid::parse(store_.list({})->front().id);
  const auto saved = checkpoints.save({last_, "a place"});
  ASSERT_TRUE(saved) << saved.error().message;
  const auto resumed = checkpoints.resume(*checkpoints.find(saved->record.id), ResumeLevel::kSummary, cancel_);
  ASSERT_TRUE(resumed) << resumed.error().message;
  const Ulid copy = *Ulid::parse(resumed->conversation.id);
  const auto has_paraphrase = [&](const Ulid& of) { return everything(of).find("paraphrase") != std::string::npos; };
  ASSERT_TRUE(has_paraphrase(last_));
  ASSERT_TRUE(has_paraphrase(copy));
  const auto of_checkpoints = [](const ErasePlan& planned) {
    int out = 0;
    for (const PlannedPart& part : planned.parts)
      for (const PlannedRecord& record : part.records) out += record.why == "checkpoint" ? 1 : 0;
    return out;
  };
  // The control: a message behind the checkpoint is in no text of it.
  open(last_);
  model_.say("yes");
  ASSERT_TRUE(run("something later"));
  EXPECT_EQ(of_checkpoints(by_sequence(seq_of(RecordType::kUserMessage, "something later"))), 0);
  session_.reset();

  const ErasePlan planned = by_sequence(first);
  EXPECT_GT(of_checkpoints(planned), 0);
  erase(planned);
  EXPECT_FALSE(has_paraphrase(last_)) << everything(last_);
  EXPECT_FALSE(has_paraphrase(copy)) << everything(copy);
  const auto found = checkpoints.find(saved->record.id);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->record.texts.empty());
  EXPECT_EQ(found->record.name, "a place");
  const int asked = texts.asked;
  ASSERT_TRUE(checkpoints.resume(*found, ResumeLevel::kSummary, cancel_));
  EXPECT_GT(texts.asked, asked);
  EXPECT_TRUE(store_.verify(last_));
  EXPECT_TRUE(store_.verify(copy));
}

TEST_F(Erasing, ATextThatWasBeingMadeOfItIsNeitherKeptNorResumed) {
  open();
  fill(5);
  model_.say("yes");
  ASSERT_TRUE(run(std::string("my word is ") + kSecret));
  last_ = id();
  session_.reset();
  Paraphrase texts;
  Checkpoints checkpoints({store_, clock_, ids_, estimator_, models_, {}, &texts});
  const auto saved = checkpoints.save({last_, "a place"});
  ASSERT_TRUE(saved) << saved.error().message;
  bool erased = false;
  texts.during = [&] {
    if (!std::exchange(erased, true)) erase(by_text());
  };
  const std::size_t before = store_.list({})->size();
  const auto resumed = checkpoints.resume(*checkpoints.find(saved->record.id), ResumeLevel::kSummary, cancel_);
  ASSERT_FALSE(resumed);
  EXPECT_EQ(resumed.error().code, Code::kConflict) << resumed.error().message;
  EXPECT_EQ(store_.list({})->size(), before);
  EXPECT_EQ(everything(last_).find("paraphrase"), std::string::npos);
  // The control: the next one is.
  EXPECT_TRUE(checkpoints.resume(*checkpoints.find(saved->record.id), ResumeLevel::kSummary, cancel_));
  EXPECT_NE(everything(last_).find("paraphrase"), std::string::npos);
}

TEST_F(Erasing, TheNameOfACheckpointLosesItInItsRowsToo) {
  open();
  model_.say("yes");
  ASSERT_TRUE(run("hello"));
  last_ = id();
  session_.reset();
  Checkpoints checkpoints({store_, clock_, ids_, estimator_, models_});
  const auto saved = checkpoints.save({last_, std::string("with ") + kSecret});
  ASSERT_TRUE(saved) << saved.error().message;
  const auto rows_with_it = [&] {
    int out = 0;
    const auto found = store_.scan_keys("agentd.checkpoints", {}, {}, 100);
    for (const StoredKey& row : *found) out += row.value.find(kSecret) != std::string::npos ? 1 : 0;
    return out;
  };
  EXPECT_EQ(rows_with_it(), 2) << "the control: by its id, and as the newest one";
  const std::vector<ErasedText> texts{{kSecret, ""}};
  EXPECT_TRUE(keys_with(store_, texts)->empty()) << "they are no plugin's";
  erase(by_text());
  EXPECT_FALSE(has_it(last_)) << everything(last_);
  EXPECT_EQ(rows_with_it(), 0);
  EXPECT_EQ(checkpoints.find(saved->record.id)->record.name, "with [erased]");
  EXPECT_EQ((*checkpoints.newest(saved->project_id))->record.name, "with [erased]");
  EXPECT_EQ((*checkpoints.newest(saved->project_id))->seq, saved->seq);
}

TEST_F(Erasing, TitlesThatWereCutGoInForksAndInResumedConversations) {
  const std::string words =
      "the pass phrase of the old vault has a great many words: correct horse battery staple, and";
  open();
  model_.say("yes");
  ASSERT_TRUE(run(words));
  const std::string title = store_.info(id())->title;
  ASSERT_TRUE(title.ends_with("...")) << title;
  const Ulid copy = fork();
  GenesisRecord genesis;
  genesis.conversation_id = ids_.next().text();
  ASSERT_TRUE(store_.fork(copy, 0, genesis, title + " (fork) (resumed)"));
  const Ulid resumed = *Ulid::parse(genesis.conversation_id);
  erase(by_sequence(seq_of(RecordType::kUserMessage, words)));
  for (const Ulid& each : {id(), copy, resumed})
    EXPECT_EQ(everything(each).find("pass phrase"), std::string::npos) << everything(each);
}

TEST_F(Erasing, ForksOfADeletedConversationFindEachOther) {
  open();
  model_.say("yes");
  ASSERT_TRUE(run("pw: x1"));
  const std::uint64_t seq = seq_of(RecordType::kUserMessage, "pw: x1");
  const Ulid one = fork(), other = fork();
  const Ulid parent = id();
  session_.reset();
  ASSERT_TRUE(store_.remove(parent));
  last_ = one;
  const ErasePlan planned = by_sequence(seq);
  ASSERT_EQ(planned.parts.size(), 2u);
  erase(planned);
  EXPECT_EQ(everything(one).find("pw: x1"), std::string::npos);
  EXPECT_EQ(everything(other).find("pw: x1"), std::string::npos) << everything(other);
}

// As a command that is killed leaves it.
TEST_F(Erasing, SequencesThatAreErasedAlreadyLeadToTheirCopies) {
  open();
  model_.say("yes");
  ASSERT_TRUE(run("pw: x1"));
  const std::uint64_t seq = seq_of(RecordType::kUserMessage, "pw: x1");
  const Ulid copy = fork();
  ErasePlan half = by_sequence(seq);
  ASSERT_EQ(half.parts.size(), 2u);
  half.parts.pop_back();
  erase(half);
  ASSERT_NE(everything(copy).find("pw: x1"), std::string::npos);
  const ErasePlan rest = by_sequence(seq);
  ASSERT_EQ(rest.parts.size(), 1u);
  EXPECT_EQ(rest.parts[0].conversation, copy);
  erase(rest);
  EXPECT_EQ(everything(copy).find("pw: x1"), std::string::npos);
  const ErasePlan none = by_sequence(seq);
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.looked_at.size(), 2u);
}

TEST_F(Erasing, WhatLeadsToTheRestGoesLast) {
  open();
  model_.say("yes");
  ASSERT_TRUE(run(std::string("my word is ") + kSecret));
  const Ulid copy = fork();
  bool named = false;
  const EraseListener listener{"memories", [&](const Ulid& of, std::span<const std::uint64_t>) {
                                 EXPECT_TRUE(has_it(of)) << "what was made of it goes before it";
                                 named = named || of == id();
                                 EXPECT_EQ(has_it(copy), of == copy);
                                 return Result<std::uint64_t>(1);
                               }};
  const ErasedAll done = erase(by_text(), {listener});
  EXPECT_TRUE(named);
  ASSERT_EQ(done.parts.size(), 2u);
  EXPECT_EQ(done.parts[0].conversation, id());
  EXPECT_EQ(done.forgotten.at(0).second, 2u);
}

TEST_F(Erasing, ACallThatWaitsDoesNotRun) {
  TestHook& hook = on(AGENTD_EVENT_BEFORE_TOOL_CALL, "guard", [](const TestCall& call) {
    return call.answer(permission_action(AGENTD_PERMISSION_DEFER, "ask the owner"));
  });
  hook.what.flags = AGENTD_HOOK_GATES;
  open();
  model_.ask_tools({{"bash", std::string(R"({"command":"echo )") + kSecret + "\"}"}});
  const auto waits = run("do it");
  ASSERT_TRUE(waits);
  ASSERT_EQ(waits->outcome, RunOutcome::kWaiting);
  last_ = id();
  session_.reset();
  const auto open_wait = wait_of(store_, last_);
  ASSERT_TRUE(open_wait && *open_wait);
  const WaitingCall waiting{last_, last_, **open_wait};
  // Allowed already, but not begun.
  ASSERT_TRUE(answer_wait(store_, clock_, waiting, {WaitDecision::kAllow, "user", "approve", {}}));
  const ErasePlan planned = by_text();
  ASSERT_EQ(planned.parts.size(), 1u);
  EXPECT_FALSE(planned.parts[0].append.empty());
  erase(planned);
  EXPECT_FALSE(has_it(last_));
  const auto now = wait_of(store_, last_);
  ASSERT_TRUE(now);
  EXPECT_FALSE(*now);
  hooks_.clear();
  open(last_);
  model_.say("never mind");
  ASSERT_TRUE(run("what happened?"));
  EXPECT_TRUE(tools_.calls.empty());
  EXPECT_NE(model_.requests.back().all_text().find("the input of the call was erased"), std::string::npos)
      << model_.requests.back().all_text();
}

TEST_F(Erasing, ReceiptsOfHooksLoseIt) {
  on(AGENTD_EVENT_AFTER_TOOL_CALL, "watch", [](const TestCall&) { return AGENTD_OK; });
  open();
  model_.ask_tools({{"bash", "{}"}}).say("done");
  tools_.handler = [](const ToolCall&) {
    return Result<ToolOutcome>(ToolOutcome{true, std::string("out: ") + kSecret, {}, {}});
  };
  ASSERT_TRUE(run("do it"));
  const auto kept = [&] {
    int out = 0;
    for (const HookReceipt& receipt : receipts()) {
      if (!receipt.payload_kept) continue;
      const auto payload = store_.blob(receipt.payload_digest);
      if (payload && payload->find(kSecret) != std::string::npos) ++out;
    }
    return out;
  };
  ASSERT_GT(kept(), 0);
  const std::size_t count = receipts().size();
  const ErasedAll done = erase(by_text());
  ASSERT_EQ(done.parts.size(), 1u);
  EXPECT_GT(done.parts[0].report.receipts, 0u);
  EXPECT_EQ(kept(), 0);
  EXPECT_EQ(receipts().size(), count);
}

TEST_F(Erasing, ListenersForgetWhatTheyHaveMadeOfIt) {
  open();
  model_.say("yes");
  ASSERT_TRUE(run(std::string("my word is ") + kSecret));
  std::vector<std::uint64_t> told;
  const EraseListener memories{"memories", [&](const Ulid& of, std::span<const std::uint64_t> seqs) {
                                 EXPECT_EQ(of, id());
                                 told.assign(seqs.begin(), seqs.end());
                                 return Result<std::uint64_t>(3);
                               }};
  const EraseListener broken{"jobs", [](const Ulid&, std::span<const std::uint64_t>) {
                               return Result<std::uint64_t>(Error{Code::kUnavailable, "the plugin does not answer"});
                             }};
  const ErasedAll done = erase(by_text(), {memories, broken});
  EXPECT_EQ(told, (std::vector<std::uint64_t>{seq_of(RecordType::kUserMessage, "[erased]")}));
  ASSERT_EQ(done.forgotten.size(), 2u);
  EXPECT_EQ(done.forgotten[0].second, 3u);
  EXPECT_EQ(done.failed, std::vector<std::string>{"jobs: the plugin does not answer"});
}

TEST_F(Erasing, WhatSomebodyFindsGoes) {
  open();
  model_.say("yes");
  ASSERT_TRUE(run(std::string("key=") + kSecret + " and pin=12"));
  EraseQuery query;
  query.find = [](std::string_view text) -> Result<std::vector<ErasedText>> {
    std::vector<ErasedText> out;
    if (text.find("key=") != std::string_view::npos) out = {{kSecret, "[redacted:key]"}, {"12", "[redacted:pin]"}};
    return out;
  };
  const ErasePlan planned = plan(query);
  EXPECT_GT(planned.too_short, 0u);
  erase(planned);
  EXPECT_NE(everything(id()).find("key=[redacted:key] and pin=12"), std::string::npos) << everything(id());
}

TEST_F(Erasing, AConversationInUseIsNamedAndNothingChanges) {
  open();
  model_.say("yes");
  ASSERT_TRUE(run(std::string("my word is ") + kSecret));
  const ErasePlan planned = by_text();
  const auto held = store_.lease(id());
  ASSERT_TRUE(held);
  const auto leases = lease_all(store_, planned);
  ASSERT_FALSE(leases);
  EXPECT_EQ(leases.error().code, Code::kBusy);
  EXPECT_NE(leases.error().message.find(id().text()), std::string::npos);
  EXPECT_TRUE(has_it(id()));
}

TEST_F(Erasing, APlanThatIsOutdatedChangesNothing) {
  open();
  model_.say("yes");
  ASSERT_TRUE(run(std::string("my word is ") + kSecret));
  const ErasePlan planned = by_text();
  model_.say("yes");
  ASSERT_TRUE(run("more"));
  ErasedAll done;
  const auto erased = carry_out(store_, planned, {}, done);
  ASSERT_FALSE(erased);
  EXPECT_EQ(erased.error().code, Code::kConflict);
  EXPECT_TRUE(done.parts.empty());
  EXPECT_TRUE(has_it(id()));
}

TEST_F(Erasing, SequencesWithoutTextAreRefused) {
  open();
  model_.say("yes");
  ASSERT_TRUE(run("hello"));
  const std::uint64_t end = store_.info(id())->revision;
  for (const SeqRange range : {SeqRange{1, 1}, SeqRange{end + 1, end + 1}, SeqRange{0, 2}}) {
    EraseQuery query;
    query.conversation = id();
    query.ranges = {range};
    const auto refused = plan_erase(store_, query);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalid) << refused.error().message;
  }
}

TEST_F(Erasing, KeysOfPluginsAreFound) {
  const std::vector<KeyOp> ops{{KeyOp::Kind::kPut, "k", std::string("{\"v\":\"") + kSecret + "\"}", KeyOp::kAny},
                               {KeyOp::Kind::kPut, "other", "nothing", KeyOp::kAny}};
  ASSERT_TRUE(store_.commit_keys("some.plugin", ops));
  const std::vector<ErasedText> texts{{kSecret, ""}};
  const auto keys = keys_with(store_, texts);
  ASSERT_TRUE(keys);
  ASSERT_EQ(keys->size(), 1u);
  EXPECT_EQ((*keys)[0].space, "some.plugin");
  EXPECT_EQ((*keys)[0].key, "k");
}

}  // namespace
}  // namespace agentd
