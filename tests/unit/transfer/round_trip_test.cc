// SPDX-License-Identifier: Apache-2.0
// A conversation that was exported and brought in is the same one.
#include <algorithm>

#include "core/base/file.h"
#include "core/codec/json.h"
#include "core/conversation/view.h"
#include "tests/unit/transfer/conversations.h"

namespace agentd::testing {
namespace {

class RoundTrip : public ::testing::Test, protected Conversations {
 protected:
  static std::vector<StoredRecord> records(const Store& store, const Ulid& id) {
    std::vector<StoredRecord> out;
    EXPECT_TRUE(store.read(id, 1, 0, [&](const StoredRecord& record) {
      out.push_back(record);
      return true;
    }));
    return out;
  }
  static std::string log_text(const Store& store, const Ulid& id) {
    std::string out;
    for (const StoredRecord& record : records(store, id))
      out += std::to_string(record.seq) + " " + std::to_string(record.time_ms) + " " +
             std::string(name_of(record.record.type)) + " " + std::to_string(record.erased_by) + " " +
             record.record.payload + "\n";
    return out;
  }
  static std::string body(const std::string& file) { return file.substr(file.find('\n') + 1); }
};

TEST_F(RoundTrip, GeneratedConversationsAreTheSameAfterIt) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto from = store(), to = store();
    const Ulid id = random(*from, seed);
    const std::string file = exported(*from, id);
    const auto done = brought(*to, file);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->what, Brought::What::kNew);
    EXPECT_EQ(done->info.id, id.text());
    EXPECT_EQ(log_text(*to, id), log_text(*from, id));
    EXPECT_EQ(write_info(*to->info(id)), write_info(*from->info(id)));
    EXPECT_EQ(*to->chain(id, 0), *from->chain(id, 0));
    EXPECT_TRUE(to->verify(id));
    EXPECT_EQ(exported(*to, id), file);
    // Only what changes between two programs and days differs, and it is in the first line.
    EXPECT_EQ(body(exported(*to, id, "2.0")), body(file));
    EXPECT_NE(exported(*to, id, "2.0"), file);
  }
}

TEST_F(RoundTrip, ErasedTextIsNotInTheFile) {
  const auto from = store();
  const Ulid id = begin(*from);
  append(*from, id, {user("the word is hunter2")});
  EXPECT_NE(exported(*from, id).find("hunter2"), std::string::npos);
  erase(*from, id, 2, user("[erased]"));
  const std::string file = exported(*from, id);
  EXPECT_EQ(file.find("hunter2"), std::string::npos);
  const auto to = store();
  ASSERT_TRUE(brought(*to, file));
  EXPECT_EQ(records(*to, id)[1].erased_by, 3u);
  EXPECT_NE(records(*to, id)[1].record.payload.find("[erased]"), std::string::npos);
}

TEST_F(RoundTrip, ForkIsWholeByItself) {
  const auto from = store();
  const Ulid id = begin(*from), fork = ids().next();
  append(*from, id, {user("one"), answer("two")}, {"a prompt"});
  GenesisRecord genesis;
  genesis.conversation_id = fork.text();
  ASSERT_TRUE(from->fork(id, 0, genesis, "a fork"));
  const auto to = store();
  const auto done = brought(*to, exported(*from, fork));
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->info.parent, id.text());
  EXPECT_EQ(log_text(*to, fork), log_text(*from, fork));
  EXPECT_EQ(to->info(id).error().code, Code::kNotFound);
  EXPECT_TRUE(to->blob(sha256("a prompt")));
}

TEST_F(RoundTrip, ExportHasOneMomentOfAConversationThatGoesOn) {
  const auto from = store();
  const Ulid id = begin(*from);
  append(*from, id, {user("before")});
  auto file = LogExport::begin(*from, id, "1.0", 1);
  ASSERT_TRUE(file);
  std::string bytes = *(*file)->next();
  append(*from, id, {answer("after")});
  for (std::string piece = *(*file)->next(); !piece.empty(); piece = *(*file)->next()) bytes += piece;
  EXPECT_EQ(bytes.find("after"), std::string::npos);
  const auto read = read_log_file(bytes);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->head.revision, 2u);
}

TEST_F(RoundTrip, ExportEndsWhenSomethingIsErasedMeanwhile) {
  const auto from = store();
  const Ulid id = begin(*from);
  append(*from, id, {user("one")});
  append(*from, id, {user("two")});
  auto file = LogExport::begin(*from, id, "1.0", 1);
  ASSERT_TRUE(file);
  EXPECT_TRUE((*file)->next());
  erase(*from, id, 3, user("[erased]"));
  Result<std::string> piece = (*file)->next();
  while (piece && !piece->empty()) piece = (*file)->next();
  ASSERT_FALSE(piece);
  EXPECT_EQ(piece.error().code, Code::kConflict);
}

TEST_F(RoundTrip, SameFileIsNotBroughtTwice) {
  const auto from = store(), to = store();
  const Ulid id = begin(*from);
  append(*from, id, {user("one")});
  const std::string file = exported(*from, id);
  ASSERT_TRUE(brought(*to, file));
  append(*to, id, {user("further")});
  const auto again = brought(*to, file);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->what, Brought::What::kHere);
  EXPECT_EQ(again->newer, 1u);
  EXPECT_EQ(to->list({})->size(), 1u);
}

TEST_F(RoundTrip, AnotherContentOfTheIdGetsAnIdOfItsOwnAndOnlyOnce) {
  const auto from = store(), to = store();
  const Ulid id = begin(*from);
  const std::string early = exported(*from, id);
  append(*from, id, {user("one")});
  const std::string file = exported(*from, id);
  ASSERT_TRUE(brought(*to, early));
  append(*to, id, {user("another")});
  const auto second = brought(*to, file);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->what, Brought::What::kOther);
  EXPECT_NE(second->info.id, id.text());
  EXPECT_NE(second->note.find("with other content"), std::string::npos);
  const auto third = brought(*to, file);
  ASSERT_TRUE(third);
  EXPECT_EQ(third->what, Brought::What::kHere);
  EXPECT_EQ(third->info.id, second->info.id);
  EXPECT_EQ(to->list({})->size(), 2u);
  // Deleted, it may come again.
  ASSERT_TRUE(to->remove(*Ulid::parse(second->info.id)));
  EXPECT_EQ(brought(*to, file)->what, Brought::What::kOther);
}

// A file cannot carry a person's consent: with its own id the answered call would run on the next resume.
TEST_F(RoundTrip, CallThatWaitsIsNotBroughtAsAQuestion) {
  const auto from = store(), to = store();
  const Ulid id = begin(*from);
  WaitRecord wait;
  wait.id = ids().next().text();
  wait.conversation_id = id.text();
  wait.call_id = "call_1";
  wait.tool = "bash";
  wait.input = R"({"command":"rm -r x"})";
  append(*from, id,
         {user("go"), message_of(Role::kAssistant, {Block::tool_use("call_1", "bash", wait.input)}), write_wait(wait),
          write_answer({wait.id, "allow", "somebody", "approve", ""})});
  const auto done = brought(*to, exported(*from, id));
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->what, Brought::What::kOther);
  EXPECT_TRUE(done->info.wait.id.empty());
  Conversation conversation(done->info.id, [](const agentd_message&) { return std::uint64_t{1}; });
  ASSERT_TRUE(conversation.load(records(*to, *Ulid::parse(done->info.id))));
  EXPECT_EQ(conversation.wait(), nullptr);
  EXPECT_TRUE(conversation.waits_elsewhere());
}

TEST_F(RoundTrip, SubagentsConversationStaysOne) {
  const auto from = store(), to = store();
  const Ulid parent = begin(*from), child = ids().next();
  Record said;
  said.type = RecordType::kChild;
  said.payload = R"({"conversation_id":")" + child.text() + "\"}";
  append(*from, parent, {user("one"), said});
  GenesisRecord genesis;
  genesis.conversation_id = child.text();
  genesis.parent = parent.text();
  genesis.agent_type = "explore";
  append(*from, child, {write_genesis(genesis), user("look around")});
  for (const Ulid& id : {parent, child}) {
    const auto done = brought(*to, exported(*from, id));
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(log_text(*to, id), log_text(*from, id));
  }
  EXPECT_EQ(to->info(child)->parent, parent.text());
  EXPECT_EQ(to->info(child)->agent_type, "explore");
  // As there, lists of the user's own conversations do not show it.
  EXPECT_EQ(to->list({})->size(), from->list({})->size());
}

TEST_F(RoundTrip, CheckpointsAreFoundAndTakeNobodysRow) {
  const auto from = store(), to = store();
  const Ulid id = begin(*from);
  append(*from, id, {user("one")});
  CheckpointRecord checkpoint;
  checkpoint.id = ids().next().text();
  checkpoint.conversation_id = id.text();
  checkpoint.why = "manual";
  checkpoint.revision = 2;
  append(*from, id, {write_checkpoint(checkpoint)});
  const std::string file = exported(*from, id);
  ASSERT_TRUE(brought(*to, file));
  EXPECT_TRUE(to->get_key("agentd.checkpoints", "id/" + checkpoint.id));
  const auto other = store();
  const KeyOp put{KeyOp::Kind::kPut, "id/" + checkpoint.id, "somebody's"};
  ASSERT_TRUE(other->commit_keys("agentd.checkpoints", {&put, 1}));
  ASSERT_TRUE(brought(*other, file));
  EXPECT_EQ(other->get_key("agentd.checkpoints", "id/" + checkpoint.id)->value, "somebody's");
}

// docs/reference/export-format.md has a file that is one.
TEST_F(RoundTrip, ExampleOfThePageIsAFile) {
  const auto page = read_file(AGENTD_EXPORT_PAGE, 1u << 20);
  ASSERT_TRUE(page);
  const std::string fence = "```jsonl\n";
  const std::size_t begin = page->find(fence), end = page->find("```", begin + fence.size());
  ASSERT_NE(end, std::string::npos);
  const std::string file = page->substr(begin + fence.size(), end - begin - fence.size());
  const auto read = read_log_file(file);
  ASSERT_TRUE(read) << read.error().message;
  const auto to = store();
  ASSERT_TRUE(brought(*to, file));
  EXPECT_EQ(body(exported(*to, read->conversation)), body(file));
}

}  // namespace
}  // namespace agentd::testing
