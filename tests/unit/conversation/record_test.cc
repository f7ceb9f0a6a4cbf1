// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/record.h"
#include "core/conversation/receipt.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/log_records.h"

namespace agentd {
namespace {

using testing::read_child;
using testing::read_hook_effect;

Message rich_message() {
  Message message = Message::of_text(Role::kAssistant, "line\n\"quoted\" \xE2\x82\xAC");
  Block thinking;
  thinking.kind = BlockKind::kThinking;
  thinking.text = "hm";
  thinking.opaque = "c2lnbmF0dXJl";
  message.blocks.push_back(thinking);
  message.blocks.push_back(Block::tool_use("c1", "bash", R"({"command":"ls \"x\""})"));
  return message;
}

constexpr RecordType kTypes[] = {
#define AGENTD_TYPE(number, Name, ...) RecordType::k##Name,
    AGENTD_RECORD_TYPES(AGENTD_TYPE)
#undef AGENTD_TYPE
};

TEST(Record, EveryTypeHasANameOfItsOwn) {
  std::vector<std::string_view> names;
  for (const RecordType type : kTypes) {
    const std::string_view name = name_of(type);
    EXPECT_FALSE(name.empty()) << static_cast<int>(type);
    for (const std::string_view other : names) EXPECT_NE(other, name);
    names.push_back(name);
  }
  EXPECT_TRUE(name_of(static_cast<RecordType>(std::size(kTypes) + 1)).empty());
  EXPECT_TRUE(name_of(static_cast<RecordType>(0)).empty());
}

// The page of the log has the table of kinds as the list of kinds says it.
TEST(Record, TheReferenceHasTheTableOfKinds) {
  const char* const path = AGENTD_SOURCE_DIR "/docs/internals/log.md";
  std::stringstream page;
  page << std::ifstream(path).rdbuf();
  const std::string text = page.str();
  const std::size_t begin = text.find("| No. | Kind |");
  const std::size_t end = text.find("\n\n", begin) + 1;
  ASSERT_LT(begin, end);
  EXPECT_EQ(text.substr(begin, end - begin), record_types_table()) << "print it again: agentd_pages record-types";
}

TEST(Record, GenesisReadsAsItWasWritten) {
  const GenesisRecord from{"id", "p", "/c", "anthropic", "m", "parent", 7, "beef"};
  const Record record = write_genesis(from);
  EXPECT_EQ(record.flags, Record::kCritical);
  const auto back = read_genesis(record);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->conversation_id, "id");
  EXPECT_EQ(back->project_id, "p");
  EXPECT_EQ(back->cwd, "/c");
  EXPECT_EQ(back->provider, "anthropic");
  EXPECT_EQ(back->model, "m");
  EXPECT_EQ(back->parent, "parent");
  EXPECT_EQ(back->parent_seq, 7u);
  EXPECT_EQ(back->parent_chain, "beef");
}

TEST(Record, SettingsKeepDigestsInPlaceOfTheTexts) {
  const Record record = write_settings({"the system prompt", "[]", "p", "m"});
  EXPECT_EQ(record.payload.find("the system prompt"), std::string::npos);
  const auto back = read_settings(record);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->system, hex(sha256("the system prompt")));
  EXPECT_EQ(back->tools_json, hex(sha256("[]")));
  EXPECT_EQ(back->model, "m");
}

TEST(Record, AssistantMessageKeepsBlocksAndStopReason) {
  MessageRecord from{rich_message(), StopReason::kMaxTokens, {}, {}};
  from.message.flags = AGENTD_MESSAGE_INTERRUPTED;
  const Record record = write_message(from);
  EXPECT_EQ(record.type, RecordType::kAssistantMessage);
  const auto back = read_message(record);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->message, from.message);
  EXPECT_EQ(back->stop_reason, StopReason::kMaxTokens);
}

TEST(Record, AnAnswerKeepsTheModelThatItCameFrom) {
  const Message answer = Message::of_text(Role::kAssistant, "a");
  const Origin origin{"anthropic", "messages", "m-1"};
  const auto back = read_message(write_message({answer, StopReason::kEndTurn, {}, {}, origin}));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->origin, origin);
  // An older record has none, and is written unchanged.
  const Record old = write_message({answer, StopReason::kEndTurn, {}, {}});
  EXPECT_EQ(old.payload.find("origin"), std::string::npos);
  EXPECT_FALSE(read_message(old)->origin.known());
}

TEST(Record, AUserMessageKeepsTheKeyOfItsClient) {
  const std::string key = "k-\"1\"\xC3\xA4";
  const auto written = [&](Role role, std::uint16_t flags, const std::string& named) {
    Message message = Message::of_text(role, "x");
    message.flags = flags;
    return write_message({message, StopReason::kEndTurn, "user", {}, {}, named});
  };
  const auto back = read_message(written(Role::kUser, 0, key));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->key, key);
  EXPECT_EQ(back->source, "user");
  // No other kind has one, and a message without one is written as before there were any.
  for (const Role role : {Role::kAssistant, Role::kSummary})
    EXPECT_EQ(written(role, 0, key).payload, written(role, 0, {}).payload);
  EXPECT_EQ(written(Role::kUser, AGENTD_MESSAGE_CONTEXT, key).payload,
            written(Role::kUser, AGENTD_MESSAGE_CONTEXT, {}).payload);
  const Record bare = written(Role::kUser, 0, {});
  EXPECT_EQ(bare.payload.find("\"key\""), std::string::npos);
  EXPECT_EQ(read_message(bare)->key, "");
}

TEST(Record, RoleAndFlagsGiveTheTypeOfAMessage) {
  const auto type = [](Role role, std::uint16_t flags) {
    Message message = Message::of_text(role, "x");
    message.flags = flags;
    return write_message({message, StopReason::kEndTurn, "hook", "h"}).type;
  };
  EXPECT_EQ(type(Role::kUser, 0), RecordType::kUserMessage);
  EXPECT_EQ(type(Role::kUser, AGENTD_MESSAGE_CONTEXT), RecordType::kContext);
  EXPECT_EQ(type(Role::kSummary, 0), RecordType::kSummary);
  EXPECT_EQ(type(Role::kAssistant, 0), RecordType::kAssistantMessage);
}

TEST(Record, EveryMessageTypeReadsBackItsRoleSourceAndAuthor) {
  for (const Role role : {Role::kUser, Role::kAssistant, Role::kSummary}) {
    for (const std::uint16_t flags : {std::uint16_t{0}, std::uint16_t{AGENTD_MESSAGE_CONTEXT}}) {
      Message message = Message::of_text(role, "x");
      message.flags = flags;
      const auto back = read_message(write_message({message, StopReason::kEndTurn, "hook", "h"}));
      ASSERT_TRUE(back);
      EXPECT_EQ(back->message, message);
      EXPECT_EQ(back->source, "hook");
      EXPECT_EQ(back->author, "h");
    }
  }
}

TEST(Record, ToolResultReadsAsAUserMessageWithOneResult) {
  ToolResultRecord from{"c1", "bash", "output", "denied", {}, 10'000, 12};
  Block image;
  image.kind = BlockKind::kImage;
  image.name = "image/png";
  image.opaque = "AAAA";
  from.parts = {image};
  from.scrubbed = {{"aws-access-key", 2}};
  const Record record = write_tool_result(from);
  EXPECT_EQ(record.flags, Record::kCritical);
  const auto back = read_tool_result(record);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->status, "denied");
  EXPECT_EQ(back->full_bytes, 10'000u);
  EXPECT_EQ(back->duration_ms, 12);
  EXPECT_EQ(back->scrubbed, from.scrubbed);
  const auto message = read_message(record);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->message.role, Role::kUser);
  ASSERT_EQ(message->message.blocks.size(), 1u);
  const Block& block = message->message.blocks[0];
  EXPECT_EQ(block.kind, BlockKind::kToolResult);
  EXPECT_EQ(block.call_id, "c1");
  EXPECT_EQ(block.text, "output");
  EXPECT_EQ(block.flags, AGENTD_BLOCK_ERROR);
  EXPECT_EQ(block.parts, from.parts);
}

TEST(Record, ResultOfAToolThatWorkedIsNoError) {
  const auto message = read_message(write_tool_result({"c1", "bash", "out", "ok", {}, 0, 0}));
  ASSERT_TRUE(message);
  EXPECT_EQ(message->message.blocks[0].flags, 0);
}

TEST(Record, UsageReadsAsItWasWritten) {
  const UsageRecord from{{1, 2, 3, 4, 5, 6}, 77, "turn"};
  const auto back = read_usage(write_usage(from));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->usage, from.usage);
  EXPECT_EQ(back->for_seq, 77u);
  EXPECT_EQ(back->purpose, "turn");
}

TEST(Record, BoundaryReadsAsItWasWritten) {
  BoundaryRecord from;
  from.id = "id";
  from.session_id = "s";
  from.trigger = "auto";
  from.reason = "threshold";
  from.phase = "mid_turn";
  from.strategy = "tail";
  from.method = "summary";
  from.result = "applied";
  from.instructions = "be short";
  from.model = "m";
  from.author = "h";
  from.base_seq = 9;
  from.summary_seq = 10;
  from.kept = {{3, 5}, {7, 9}};
  from.prunes = {{3, 1, 200}};
  from.pre_tokens = 100;
  from.post_tokens = 20;
  from.duration_ms = 1234;
  const auto back = read_boundary(write_boundary(from));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->id, "id");
  EXPECT_EQ(back->session_id, "s");
  EXPECT_EQ(back->trigger + back->reason + back->phase, "autothresholdmid_turn");
  EXPECT_EQ(back->strategy + back->method + back->result, "tailsummaryapplied");
  EXPECT_EQ(back->instructions + back->model + back->author, "be shortmh");
  EXPECT_EQ(back->base_seq, 9u);
  EXPECT_EQ(back->summary_seq, 10u);
  EXPECT_EQ(back->kept, from.kept);
  EXPECT_EQ(back->prunes, from.prunes);
  EXPECT_EQ(back->pre_tokens, 100u);
  EXPECT_EQ(back->post_tokens, 20u);
  EXPECT_EQ(back->duration_ms, 1234);
}

TEST(Record, BoundaryThatKeepsNoRangeIsCorrupt) {
  for (const char* const kept : {"[[0,4]]", "[[5,4]]", "[7]", "[[]]"}) {
    Record record = write_boundary({});
    record.payload = std::string(R"({"base_seq":9,"kept":)") + kept + "}";
    const auto back = read_boundary(record);
    ASSERT_FALSE(back) << kept;
    EXPECT_EQ(back.error().code, Code::kCorrupt);
  }
}

TEST(Record, SmallRecordsReadAsTheyWereWritten) {
  const auto intent = read_tool_intent(write_tool_intent({"c", "bash", "dd", "effects", 2}));
  ASSERT_TRUE(intent);
  EXPECT_EQ(intent->call_id + intent->name + intent->input_digest + intent->effects, "cbashddeffects");
  EXPECT_EQ(intent->attempt, 2u);
  const auto attempt =
      read_compaction_attempt(write_compaction_attempt({"auto", "hook", "post_turn", "failed", "m", "e"}));
  ASSERT_TRUE(attempt);
  EXPECT_EQ(attempt->trigger + attempt->reason + attempt->phase, "autohookpost_turn");
  EXPECT_EQ(attempt->outcome + attempt->method + attempt->error, "failedme");
  const auto revert = read_revert(write_revert({12}));
  ASSERT_TRUE(revert);
  EXPECT_EQ(revert->to_seq, 12u);
  EXPECT_EQ(revert->first_seq, 0u);
  const auto full_revert = read_revert(write_revert({12, 7, 3}));
  ASSERT_TRUE(full_revert);
  EXPECT_EQ(full_revert->boundary_seq, 7u);
  EXPECT_EQ(full_revert->first_seq, 3u);
  const auto effect = read_hook_effect(write_hook_effect({"e", "p", "d", "rewrite", "b", "a", "r"}));
  ASSERT_TRUE(effect);
  EXPECT_EQ(effect->event + effect->plugin + effect->plugin_digest + effect->effect, "epdrewrite");
  EXPECT_EQ(effect->before_digest + effect->after_digest + effect->reason, "bar");
  const auto permission = read_permission(write_permission({"c", "bash", "allow", "user", "r"}));
  ASSERT_TRUE(permission);
  EXPECT_EQ(permission->call_id + permission->tool + permission->decision, "cbashallow");
  EXPECT_EQ(permission->by + permission->reason, "userr");
  const auto begin = read_run_begin(write_run_begin({"s", "r", "/c", "p", "m", "init"}));
  ASSERT_TRUE(begin);
  EXPECT_EQ(begin->session_id + begin->run_id + begin->cwd, "sr/c");
  EXPECT_EQ(begin->provider + begin->model + begin->recipe + begin->sandbox, "pminit");
  EXPECT_EQ(read_run_begin(write_run_begin({"s", "r", "/c", "p", "m", "", "off"}))->sandbox, "off");
  const auto end = read_run_end(write_run_end({"r", "error", "why", 3}));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->run_id + end->outcome + end->error, "rerrorwhy");
  EXPECT_EQ(end->turns, 3u);
}

TEST(Record, ChildAndTheGenesisOfASubagentReadAsTheyWereWritten) {
  const auto child = read_child(write_child({"id", "subagent", "scout", "c1"}));
  ASSERT_TRUE(child);
  EXPECT_EQ(child->conversation_id + child->relation + child->agent_type + child->call_id, "idsubagentscoutc1");
  GenesisRecord from;
  from.conversation_id = "id";
  from.parent = "parent";
  from.parent_seq = 7;
  from.agent_type = "scout";
  const auto back = read_genesis(write_genesis(from));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->parent, "parent");
  EXPECT_EQ(back->parent_seq, 7u);
  EXPECT_EQ(back->agent_type, "scout");
}

TEST(Receipt, GarbageIsCorrupt) {
  const std::string good = write_receipt(HookReceipt{});
  ASSERT_TRUE(read_receipt(good));
  for (const char* const bad : {"", "{", "[]", "null", "{}", R"({"payload_digest":"12"})", R"({"payload_digest":7})"})
    EXPECT_EQ(read_receipt(bad).error().code, Code::kCorrupt) << bad;
  std::string upper = good;
  upper.replace(upper.find("payload_digest") + 17, 2, "zz");
  EXPECT_FALSE(read_receipt(upper));
}

TEST(Record, MetaTellsAnAbsentTitleFromAnEmptyOne) {
  EXPECT_FALSE(read_meta(write_meta({}))->title.has_value());
  EXPECT_EQ(read_meta(write_meta({""}))->title, "");
  EXPECT_EQ(read_meta(write_meta({"t"}))->title, "t");
}

// Kinds whose reader has another name.
constexpr auto* read_user_message = read_message;
constexpr auto* read_context = read_message;
constexpr auto* read_assistant_message = read_message;
constexpr auto* read_summary = read_message;

// Reads any record by the function of its own type.
Result<void> read_any(const Record& record) {
#define AGENTD_READ(number, Name, name, ...)                   \
  if (record.type == RecordType::k##Name) {                    \
    const auto read = read_##name(record);                     \
    return read ? Result<void>() : Result<void>(read.error()); \
  }
  AGENTD_RECORD_TYPES(AGENTD_READ)
#undef AGENTD_READ
  return {};
}

TEST(Record, GarbageIsCorruptForEveryType) {
  for (const RecordType type : kTypes) {
    for (const char* const payload : {"", "{", "[]", "7", "null", "\xFF\xFE", "{\"a\":}"}) {
      Record record;
      record.type = type;
      record.payload = payload;
      const auto read = read_any(record);
      ASSERT_FALSE(read) << name_of(record.type) << " " << payload;
      EXPECT_EQ(read.error().code, Code::kCorrupt);
    }
  }
}

TEST(Record, RecordOfAnotherTypeIsCorrupt) {
  const Record usage = write_usage({});
  EXPECT_EQ(read_genesis(usage).error().code, Code::kCorrupt);
  EXPECT_EQ(read_message(usage).error().code, Code::kCorrupt);
  EXPECT_EQ(read_meta(usage).error().code, Code::kCorrupt);
}

TEST(Record, TextThatIsNoUtf8IsMadeValidBeforeItIsDigested) {
  const auto back =
      read_message(write_message({Message::of_text(Role::kUser, "a\xFFz"), StopReason::kEndTurn, {}, {}}));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->message.text(), "a\xEF\xBF\xBDz");
}

}  // namespace
}  // namespace agentd
