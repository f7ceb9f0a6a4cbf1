// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/info.h"

#include <gtest/gtest.h>

namespace agentd {
namespace {

class Folded {
 public:
  Folded& add(Record record) {
    StoredRecord stored;
    stored.seq = ++seq_;
    stored.time_ms = 1000 + static_cast<std::int64_t>(seq_);
    stored.record = std::move(record);
    last_ = fold(info, stored);
    return *this;
  }
  Folded& user(std::string text) {
    return add(write_message({Message::of_text(Role::kUser, std::move(text)), StopReason::kEndTurn, {}, {}}));
  }
  const Result<void>& last() const { return last_; }
  ConversationInfo info;

 private:
  std::uint64_t seq_ = 0;
  Result<void> last_;
};

Record boundary(std::uint64_t base, std::uint64_t summary, std::vector<SeqRange> kept) {
  BoundaryRecord made;
  made.base_seq = base;
  made.summary_seq = summary;
  made.kept = std::move(kept);
  return write_boundary(made);
}

TEST(ConversationInfo, TakesItsNamesFromTheGenesis) {
  Folded log;
  log.add(write_genesis({"id", "proj", "/cwd", "prov", "model", "parent", 3, "c"}));
  EXPECT_EQ(log.info.id, "id");
  EXPECT_EQ(log.info.project_id, "proj");
  EXPECT_EQ(log.info.cwd, "/cwd");
  EXPECT_EQ(log.info.parent, "parent");
  EXPECT_EQ(log.info.created_ms, 1001);
}

TEST(ConversationInfo, TellsASubagentsConversation) {
  Folded log;
  GenesisRecord genesis;
  genesis.conversation_id = "id";
  genesis.agent_type = "scout";
  log.add(write_genesis(genesis));
  EXPECT_EQ(log.info.agent_type, "scout");
  EXPECT_EQ(read_info(write_info(log.info))->agent_type, "scout");
}

TEST(ConversationInfo, TitleIsTheFirstUserMessageOnOneLine) {
  Folded log;
  log.user("fix the\nbuild  " + std::string(200, 'x')).user("another");
  EXPECT_TRUE(log.info.title.starts_with("fix the build"));
  EXPECT_LE(log.info.title.size(), 80u);
  EXPECT_EQ(log.info.messages, 2u);
}

TEST(ConversationInfo, SummaryAndContextAreNoTitle) {
  Folded log;
  log.add(write_message({Message::of_text(Role::kSummary, "s"), StopReason::kEndTurn, {}, {}}));
  Message context = Message::of_text(Role::kUser, "c");
  context.flags = AGENTD_MESSAGE_CONTEXT;
  log.add(write_message({context, StopReason::kEndTurn, {}, {}}));
  EXPECT_EQ(log.info.title, "");
}

TEST(ConversationInfo, MetaGivesTheTitle) {
  Folded log;
  log.user("first").add(write_meta({"given"})).user("second").add(write_meta({}));
  EXPECT_EQ(log.info.title, "given");
}

TEST(ConversationInfo, CountsUsageRunsAndRevision) {
  Folded log;
  Record begin = write_run_begin({"s", "r", "/", "other", "newer", {}});
  begin.run = 4;
  log.add(begin).add(write_usage({{10, 2, 0, 0, 0, 0}, 1, "turn"})).add(write_usage({{1, 1, 0, 0, 0, 0}, 0, "x"}));
  EXPECT_EQ(log.info.runs, 4u);
  EXPECT_EQ(log.info.usage.input, 11u);
  EXPECT_EQ(log.info.provider, "other");
  EXPECT_EQ(log.info.model, "newer");
  EXPECT_EQ(log.info.revision, 3u);
}

TEST(ConversationInfo, ViewStartsAtTheLowestKeptSequence) {
  Folded log;
  for (int i = 0; i < 5; ++i) log.user("m");
  log.add(write_message({Message::of_text(Role::kSummary, "s"), StopReason::kEndTurn, {}, {}}));
  log.add(boundary(5, 6, {{4, 5}}));
  EXPECT_EQ(log.info.view_first_seq, 4u);
  EXPECT_EQ(log.info.boundary_seq, 7u);
  EXPECT_EQ(log.info.compactions, 1u);
}

TEST(ConversationInfo, RevertMeansReadingFromTheStart) {
  Folded log;
  log.user("m").add(boundary(1, 0, {})).add(write_revert({2}));
  EXPECT_EQ(log.info.view_first_seq, 1u);
  EXPECT_EQ(log.info.compactions, 0u);
}

TEST(ConversationInfo, RevertThatSaysWhatItRestoresGivesTheBoundaryThatCounts) {
  Folded log;
  log.user("m").user("m").add(boundary(2, 0, {{2, 2}})).user("m").add(boundary(4, 0, {}));
  log.add(write_revert({5, 3, 2}));
  EXPECT_EQ(log.info.boundary_seq, 3u);
  EXPECT_EQ(log.info.view_first_seq, 2u);
  EXPECT_EQ(log.info.compactions, 1u);
}

TEST(ConversationInfo, ForkIsFreshUntilSomethingIsAdded) {
  Folded log;
  log.add(write_genesis({"c", {}, {}, {}, {}, "parent", 2, "00", {}})).user("m");
  log.add(write_meta({"title (fork)"}));
  EXPECT_TRUE(is_fresh_fork(log.info));
  EXPECT_TRUE(is_fresh_fork(*read_info(write_info(log.info))));
  log.user("more");
  EXPECT_FALSE(is_fresh_fork(log.info));
}

TEST(ConversationInfo, SubagentsConversationIsNoFork) {
  Folded log;
  log.add(write_genesis({"c", {}, {}, {}, {}, "parent", 2, {}, "reviewer"})).user("m").user("n");
  EXPECT_FALSE(is_fresh_fork(log.info));
}

TEST(ConversationInfo, BrokenRecordIsCorrupt) {
  Folded log;
  Record record = write_usage({});
  record.payload = "{";
  log.add(record);
  ASSERT_FALSE(log.last());
  EXPECT_EQ(log.last().error().code, Code::kCorrupt);
}

TEST(ConversationInfo, UnknownCriticalRecordIsCorruptAndAnOptionalOneIsNot) {
  Folded log;
  Record record;
  record.type = static_cast<RecordType>(99);
  record.payload = "{}";
  EXPECT_TRUE(log.add(record).last());
  record.flags = Record::kCritical;
  EXPECT_FALSE(log.add(record).last());
}

TEST(ConversationInfo, ReadsAsItWasWritten) {
  ConversationInfo from;
  from.id = "id";
  from.title = "t \"q\"";
  from.project_id = "p";
  from.cwd = "/c";
  from.provider = "a";
  from.model = "m";
  from.parent = "x";
  from.created_ms = -5;
  from.updated_ms = 6;
  from.revision = 7;
  from.messages = 8;
  from.compactions = 9;
  from.usage = {1, 2, 3, 4, 5, 6};
  from.boundary_seq = 10;
  from.view_first_seq = 11;
  from.runs = 12;
  const auto back = read_info(write_info(from));
  ASSERT_TRUE(back);
  EXPECT_EQ(write_info(*back), write_info(from));
  EXPECT_EQ(back->created_ms, -5);
  EXPECT_EQ(back->runs, 12u);
  EXPECT_EQ(back->usage, from.usage);
}

TEST(ConversationInfo, GarbageIsCorrupt) {
  for (const char* const json : {"", "[]", "{"}) EXPECT_EQ(read_info(json).error().code, Code::kCorrupt);
}

}  // namespace
}  // namespace agentd
