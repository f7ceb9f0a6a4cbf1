// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <agentd/build.hpp>
#include <agentd/views.hpp>

#include <iterator>
#include <string>
#include <vector>

namespace agentd {
namespace {

TEST(Views, OverNullAnswersNothing) {
  const stop_view stop;
  EXPECT_FALSE(stop);
  EXPECT_TRUE(stop.response().empty());
  EXPECT_TRUE(stop.messages().empty());
  EXPECT_EQ(stop.messages().begin(), stop.messages().end());
  EXPECT_EQ(stop.usage().input(), 0u);
  EXPECT_EQ(stop.context_fill(), 0.0);
  EXPECT_FALSE(stop.hook_active());
  EXPECT_TRUE(after_compaction_view().request().context().used() == 0);
  EXPECT_FALSE(tool_view().result().success());
}

TEST(Views, AbsentAndEmptyTextAreBothEmpty) {
  EXPECT_TRUE(as_view(agentd_str{nullptr, 0}).empty());
  EXPECT_TRUE(as_view(agentd_str{nullptr, 7}).empty());  // absent, whatever the length says
  EXPECT_EQ(as_view(agentd_str{"", 0}).data(), std::string_view("").data());
  EXPECT_EQ(as_str({}).ptr, nullptr);
  EXPECT_NE(as_str("").ptr, nullptr);
}

TEST(Views, TextNeedsNoTerminator) {
  const char bytes[] = {'a', '\0', 'b'};
  agentd_notification record = sized<agentd_notification>();
  record.text = {bytes, 3};
  EXPECT_EQ(notification_view(&record).text(), std::string_view(bytes, 3));
}

// A record of a later minor version: one more member behind those that this side knows.
struct LongerMessage {
  agentd_message known;
  std::uint64_t unknown[3];
};

TEST(Views, ListsAreWalkedByStride) {
  std::vector<LongerMessage> rows(3, LongerMessage{{}, {~0ull, ~0ull, ~0ull}});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].known = sized<agentd_message>();
    rows[i].known.seq = 10 + i;
  }
  const message_list list(agentd_list{rows.data(), 3, sizeof(LongerMessage)});
  std::vector<std::uint64_t> seen;
  for (message_view message : list) seen.push_back(message.seq());
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{10, 11, 12}));
  EXPECT_EQ(list[2].seq(), 12u);
  EXPECT_EQ(list.front().seq(), 10u);
  EXPECT_EQ(list.back().seq(), 12u);
}

TEST(Views, ListIteratorsMoveFreely) {
  std::vector<agentd_str> rows{as_str("a"), as_str("b"), as_str("c")};
  const text_list list(as_list(rows));
  auto it = list.begin();
  EXPECT_EQ(it[2], "c");
  EXPECT_EQ(*(it + 1), "b");
  EXPECT_EQ(*it++, "a");
  EXPECT_EQ(*--it, "a");
  EXPECT_EQ(list.end() - list.begin(), 3);
  EXPECT_LT(list.begin(), list.end());
  EXPECT_EQ(*std::next(list.begin(), 2), "c");
}

TEST(Views, ListWithCountButNoRecordsIsEmpty) {
  const message_list list(agentd_list{nullptr, 5, sizeof(agentd_message)});
  EXPECT_TRUE(list.empty());
  EXPECT_FALSE(list.front());
  EXPECT_FALSE(list.back());
  EXPECT_EQ(list.begin(), list.end());
}

TEST(Views, MessageTextJoinsTextBlocksOnly) {
  message_builder made(AGENTD_ROLE_ASSISTANT);
  made.thinking("hm", "sig").text("one ").tool_use("bash", "call_1", R"({"a":1})").text("two");
  const message_view message(&made.record());
  EXPECT_TRUE(message.is_assistant());
  EXPECT_EQ(message.text(), "one two");
  EXPECT_EQ(message.blocks().size(), 4u);
  EXPECT_TRUE(message.blocks()[0].is_thinking());
  EXPECT_EQ(message.blocks()[0].opaque(), "sig");
  EXPECT_EQ(message.blocks()[2].json(), R"({"a":1})");
}

TEST(Views, FillIsUsedByLimit) {
  agentd_gauge gauge = sized<agentd_gauge>();
  gauge.used = 50;
  EXPECT_EQ(gauge_view(&gauge).fill(), 0.0);  // limit unknown
  gauge.limit = 200;
  EXPECT_DOUBLE_EQ(gauge_view(&gauge).fill(), 0.25);
  gauge.used = 400;
  EXPECT_DOUBLE_EQ(gauge_view(&gauge).fill(), 2.0);
}

TEST(Views, EveryEventHasItsName) {
  EXPECT_EQ(name_of(event::session_start), "session_start");
  EXPECT_EQ(name_of(event::notification), "notification");
  EXPECT_TRUE(name_of(static_cast<event>(999)).empty());
}

TEST(Builders, CopyOfAMessageIsDeep) {
  message_builder copy;
  {
    message_builder made(AGENTD_ROLE_USER);
    made.tool_result("call_1", std::string(100, 'x'), true).seq(7);
    made.flags(AGENTD_MESSAGE_CONTEXT).tokens(5).time_ms(-1);
    copy = message_builder::copy_of(message_view(&made.record()));
  }
  const message_view message(&copy.record());
  EXPECT_EQ(message.seq(), 7u);
  EXPECT_EQ(message.tokens(), 5u);
  EXPECT_EQ(message.time_ms(), -1);
  EXPECT_TRUE(message.is_context());
  EXPECT_EQ(message.blocks()[0].text(), std::string(100, 'x'));
  EXPECT_TRUE(message.blocks()[0].is_error());
}

TEST(Builders, CopiesKeepPartsOfBlocks) {
  agentd_block image = sized<agentd_block>();
  image.kind = AGENTD_BLOCK_IMAGE;
  image.name = as_str("image/png");
  agentd_block result = sized<agentd_block>();
  result.kind = AGENTD_BLOCK_TOOL_RESULT;
  result.parts = {&image, 1, sizeof(image)};
  message_builder made;
  made.block_of(block_view(&result));
  message_builder moved = std::move(made);
  const message_view message(&moved.record());
  ASSERT_EQ(message.blocks()[0].parts().size(), 1u);
  EXPECT_EQ(message.blocks()[0].parts()[0].name(), "image/png");
}

TEST(Builders, ReplacementKeepsTheOrderOfItsParts) {
  replacement parts;
  parts.summary("so far").keep(5, 9).user("go on");
  const agentd_act_replace act = parts.action(42);
  EXPECT_EQ(act.h.kind, AGENTD_ACT_REPLACE_MESSAGES);
  EXPECT_EQ(act.base_revision, 42u);
  ASSERT_EQ(act.parts.count, 3u);
  const auto* rows = static_cast<const agentd_part*>(act.parts.first);
  EXPECT_EQ(message_view(rows[0].message).text(), "so far");
  EXPECT_TRUE(message_view(rows[0].message).is_summary());
  EXPECT_EQ(rows[1].kind, AGENTD_PART_KEEP);
  EXPECT_EQ(rows[1].first, 5u);
  EXPECT_EQ(rows[1].last, 9u);
  EXPECT_EQ(message_view(rows[2].message).text(), "go on");
}

TEST(Builders, ReplacementOfAnOlderRevisionKeepsIt) {
  EXPECT_EQ(replacement(7).user("x").action(42).base_revision, 7u);
}

}  // namespace
}  // namespace agentd
