// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/erasure.h"

#include <gtest/gtest.h>

#include "core/conversation/view.h"
#include "tests/support/histories.h"

namespace agentd {
namespace {

constexpr std::string_view kSecret = "hunter2-is-the-word";

// The payload without the secret; empty where it had none.
std::string without_secret(const Record& record) {
  const auto replaced =
      replace_texts(record, [](std::string_view text) { return replaced_in(text, kSecret, "[erased]"); });
  EXPECT_TRUE(replaced) << (replaced ? "" : replaced.error().message);
  return replaced ? replaced->value_or("") : "";
}
std::string said(std::string_view before = "a ", std::string_view after = " b") {
  return std::string(before) + std::string(kSecret) + std::string(after);
}
MessageRecord read(const Record& record, std::string payload) {
  Record now = record;
  now.payload = std::move(payload);
  const auto message = read_message(now);
  EXPECT_TRUE(message) << (message ? "" : message.error().message);
  return message.value_or(MessageRecord{});
}

// Thinking with a signature, text, and two calls with signed bytes of their own.
MessageRecord answer() {
  MessageRecord out;
  out.message.role = Role::kAssistant;
  out.stop_reason = StopReason::kToolUse;
  out.origin = {"p", "api", "m"};
  Block thinking = Block::of_text("I think");
  thinking.kind = BlockKind::kThinking;
  thinking.opaque = "c2lnbmVk";
  out.message.blocks = {thinking, Block::of_text("first"),
                        Block::tool_use("c1", "bash", R"({"command":"ls","deep":[{"n":12345678,"ok":true}]})"),
                        Block::tool_use("c2", "bash", "{}")};
  out.message.blocks[2].opaque = "c2VhbA";
  return out;
}

TEST(Erasure, OnlyTheTextGoes) {
  MessageRecord from;
  from.message = Message::of_text(Role::kUser, said());
  from.source = "user";
  const Record record = write_message(from);
  const MessageRecord now = read(record, without_secret(record));
  EXPECT_EQ(now.message.text(), "a [erased] b");
  EXPECT_EQ(now.message.role, Role::kUser);
  EXPECT_EQ(now.source, "user");
  // The control.
  EXPECT_NE(record.payload.find(kSecret), std::string::npos);
}

TEST(Erasure, RolesCallsAndNamesStayAndWhatWasSignedGoes) {
  MessageRecord from = answer();
  from.message.blocks[1].text = said();
  const Record record = write_message(from);
  const MessageRecord now = read(record, without_secret(record));
  EXPECT_EQ(now.message.role, Role::kAssistant);
  EXPECT_EQ(now.stop_reason, StopReason::kToolUse);
  EXPECT_EQ(now.origin.model, "m");
  ASSERT_EQ(now.message.blocks.size(), 3u);
  EXPECT_EQ(now.message.blocks[0].text, "a [erased] b");
  EXPECT_EQ(now.message.blocks[1].call_id, "c1");
  EXPECT_EQ(now.message.blocks[1].name, "bash");
  EXPECT_EQ(now.message.blocks[1].json, from.message.blocks[2].json);
  EXPECT_EQ(now.message.blocks[1].opaque, "");
  EXPECT_EQ(now.message.blocks[2].call_id, "c2");
}

TEST(Erasure, AMessageWithoutItStaysByteForByte) { EXPECT_EQ(without_secret(write_message(answer())), ""); }

TEST(Erasure, ATextInThinkingTakesTheSignedBlockAlong) {
  MessageRecord from = answer();
  from.message.blocks = {from.message.blocks[0]};
  from.message.blocks[0].text = said();
  const Record record = write_message(from);
  const MessageRecord now = read(record, without_secret(record));
  ASSERT_EQ(now.message.blocks.size(), 1u);
  EXPECT_EQ(now.message.blocks[0].kind, BlockKind::kText);
  EXPECT_EQ(now.message.blocks[0].text, kErasedText);
}

TEST(Erasure, AnInputStaysAnObject) {
  MessageRecord from = answer();
  from.message.blocks[2].json = R"({"command":"echo \")" + std::string(kSecret) + R"(\"","list":[1,")" +
                                std::string(kSecret) + R"("],"n":12345678})";
  const Record record = write_message(from);
  EXPECT_EQ(read(record, without_secret(record)).message.blocks[1].json,
            R"({"command":"echo \"[erased]\"","list":[1,"[erased]"],"n":12345678})");
}

TEST(Erasure, ANumberIsATextToo) {
  const Record record = write_message(answer());
  const auto replaced =
      replace_texts(record, [](std::string_view text) { return replaced_in(text, "12345678", "[erased]"); });
  ASSERT_TRUE(replaced && *replaced);
  EXPECT_NE(read(record, **replaced).message.blocks[1].json.find(R"("n":"[erased]")"), std::string::npos);
}

TEST(Erasure, ResultsKeepTheirCallAndStatus) {
  ToolResultRecord from;
  from.call_id = "c1";
  from.name = "bash";
  from.status = "error";
  from.text = said();
  Block document;
  document.kind = BlockKind::kDocument;
  document.text = said("title ", "");
  document.opaque = "cGRm";
  from.parts = {document};
  for (const Record& record : {write_tool_result(from), write_direct_result(from)}) {
    Record now = record;
    now.payload = without_secret(record);
    const auto result = record.type == RecordType::kToolResult ? read_tool_result(now) : read_direct_result(now);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->call_id, "c1");
    EXPECT_EQ(result->status, "error");
    EXPECT_EQ(result->text, "a [erased] b");
    ASSERT_EQ(result->parts.size(), 1u);
    EXPECT_EQ(result->parts[0].text, "title [erased]");
    EXPECT_EQ(result->parts[0].opaque, "cGRm");
  }
}

TEST(Erasure, TheOtherKindsHaveTextsToo) {
  WaitRecord wait;
  wait.id = "w";
  wait.call_id = std::string(kSecret);  // no text: an id stays
  wait.input = R"({"command":")" + said() + R"("})";
  wait.reason = said();
  wait.cwd = "/" + std::string(kSecret);
  wait.contexts = {{"hook", "h", said()}};
  Record record = write_wait(wait);
  record.payload = without_secret(record);
  const auto now = read_wait(record);
  ASSERT_TRUE(now);
  EXPECT_EQ(now->input, R"({"command":"a [erased] b"})");
  EXPECT_EQ(now->reason, "a [erased] b");
  EXPECT_EQ(now->contexts[0].text, "a [erased] b");
  EXPECT_EQ(now->call_id, kSecret);
  EXPECT_EQ(now->cwd, wait.cwd);

  EXPECT_NE(without_secret(write_meta({said()})), "");
  EXPECT_NE(without_secret(write_answer({"w", "deny", "user", "approve", said()})), "");
  EXPECT_NE(without_secret(write_permission({"c", "bash", "deny", "user", said()})), "");
  EXPECT_NE(without_secret(write_run_end({"r", "error", said(), 1})), "");
  BoundaryRecord boundary;
  boundary.instructions = said();
  boundary.kept = {{3, 4}};
  record = write_boundary(boundary);
  record.payload = without_secret(record);
  ASSERT_TRUE(read_boundary(record));
  EXPECT_EQ(read_boundary(record)->kept, boundary.kept);
  // The directory of a conversation is not changed, and neither is what an erase record says.
  GenesisRecord genesis;
  genesis.cwd = said();
  EXPECT_EQ(without_secret(write_genesis(genesis)), "");
  EXPECT_EQ(without_secret(write_erase({1, "", said()})), "");
}

TEST(Erasure, WhyACompactionWasBegunIsNoText) {
  BoundaryRecord boundary;
  boundary.reason = "manual";
  boundary.instructions = said();
  CompactionAttemptRecord attempt;
  attempt.reason = "manual";
  attempt.error = said();
  for (Record record : {write_boundary(boundary), write_compaction_attempt(attempt)}) {
    const auto none = replace_texts(record, [](std::string_view text) { return replaced_in(text, "manual", "x"); });
    ASSERT_TRUE(none);
    EXPECT_FALSE(*none);
    const auto whole = without_texts(record);
    ASSERT_TRUE(whole && *whole);
    EXPECT_NE((*whole)->find("\"manual\""), std::string::npos) << **whole;
    EXPECT_EQ((*whole)->find(kSecret), std::string::npos) << **whole;
  }
}

TEST(Erasure, AClientsNameForAMessageGoesOnlyIfItHasTheText) {
  MessageRecord from;
  from.message = Message::of_text(Role::kUser, "hello");
  from.source = "user";
  from.key = said("", "-1");
  const Record record = write_message(from);
  EXPECT_EQ(read(record, without_secret(record)).key, "[erased]-1");
  const auto whole = without_texts(record);
  ASSERT_TRUE(whole && *whole);
  EXPECT_EQ(read(record, **whole).key, from.key);
  EXPECT_EQ(read(record, **whole).message.text(), "[erased]");
}

TEST(Erasure, CheckpointsLoseItInTheirNamesAndTexts) {
  CheckpointRecord from;
  from.id = from.conversation_id = std::string(kSecret);  // ids stay
  from.name = said();
  from.why = "manual";
  from.revision = 7;
  from.texts = {{"summary", said(), "m"}};
  Record record = write_checkpoint(from);
  record.payload = without_secret(record);
  auto now = read_checkpoint(record);
  ASSERT_TRUE(now);
  EXPECT_EQ(now->id, kSecret);
  EXPECT_EQ(now->name, "a [erased] b");
  EXPECT_EQ(now->why, "manual");
  EXPECT_EQ(now->revision, 7u);
  ASSERT_EQ(now->texts.size(), 1u);
  EXPECT_EQ(now->texts[0].text, "a [erased] b");
  EXPECT_EQ(now->texts[0].level, "summary");
  // As a whole: a text that was made of messages is made again, one that was given is not.
  record.payload = *without_texts(record).value_or(std::nullopt);
  now = read_checkpoint(record);
  ASSERT_TRUE(now && now->texts.size() == 1);
  EXPECT_EQ(now->texts[0].text, kErasedText);
  EXPECT_EQ(now->name, kErasedText);
  from.name.clear();
  from.why.clear();
  record = write_checkpoint(from);
  record.payload = *without_texts(record).value_or(std::nullopt);
  now = read_checkpoint(record);
  ASSERT_TRUE(now);
  EXPECT_TRUE(now->texts.empty());
}

TEST(Erasure, AsAWholeNothingIsLeftButItsPlace) {
  MessageRecord from = answer();
  Block image;
  image.kind = BlockKind::kImage;
  image.name = "image/png";
  image.opaque = "cGl4ZWxz";
  from.message.blocks.push_back(image);
  const Record record = write_message(from);
  const auto replaced = without_texts(record);
  ASSERT_TRUE(replaced && *replaced);
  for (const char* gone : {"I think", "first", "ls", "cGl4ZWxz", "c2lnbmVk", "c2VhbA"})
    EXPECT_EQ((*replaced)->find(gone), std::string::npos) << gone;
  const MessageRecord now = read(record, **replaced);
  ASSERT_EQ(now.message.blocks.size(), 4u);
  EXPECT_EQ(now.message.blocks[1].call_id, "c1");
  EXPECT_EQ(now.message.blocks[1].json, R"({"raw":"[erased]"})");
  EXPECT_EQ(now.message.blocks[2].json, "{}");
  // Twice is once.
  Record again = record;
  again.payload = **replaced;
  const auto twice = without_texts(again);
  ASSERT_TRUE(twice);
  EXPECT_FALSE(*twice);
}

TEST(Erasure, ARecordWithoutTextHasNothingToErase) {
  for (const Record& record : {write_usage({}), write_child({}), write_run_begin({}), write_revert({})}) {
    const auto replaced = without_texts(record);
    ASSERT_TRUE(replaced);
    EXPECT_FALSE(*replaced) << name_of(record.type);
  }
}

TEST(Erasure, WrittenFormsAreThoseOfFiles) {
  EXPECT_EQ(written_forms("plain"), std::vector<std::string>{"plain"});
  EXPECT_EQ(written_forms("a\n\"b"), (std::vector<std::string>{"a\n\"b", "a\\n\\\"b", "a\\\\n\\\\\\\"b"}));
}

TEST(Erasure, AConversationInMemoryIsLoadedAgain) {
  Conversation conversation("01J9ZQ2V8M4T0C7X5R3N6K1B2D", testing::simple_count());
  StoredRecord message, erase;
  message.seq = 1;
  message.record = write_message({Message::of_text(Role::kUser, said()), StopReason::kEndTurn, {}, {}});
  ASSERT_TRUE(conversation.apply({message}));
  erase.seq = 2;
  erase.record = write_erase({1, "", "{}"});
  const auto applied = conversation.apply({erase});
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code, Code::kConflict);
}

}  // namespace
}  // namespace agentd
