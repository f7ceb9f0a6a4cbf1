// SPDX-License-Identifier: Apache-2.0
// one_of_each_test.cc - what a new event, field, action, record, service function, log record kind, setting, dialect
// and rung of compaction are, each added in at most three files.
//
// one_of_each.cmake has added them to a copy of the files that somebody would edit; the sources that go by the tables
// are built again with that copy before the tree itself. Nothing else knows of them.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "core/bridge/actions.h"
#include "core/codec/json.h"
#include "core/compaction/compaction.h"
#include "core/config/config_keys.h"
#include "core/conversation/record.h"
#include "core/dialects/dialect.h"
#include "core/hooks/contract.h"
#include "core/hooks/payload_json.h"
#include "core/hooks/payload_record.h"
#include "core/isolation/flat.h"
#include "core/isolation/message_shapes.h"
#include "core/isolation/shape_tables.h"

extern "C" {
unsigned test_event_id(void);
unsigned test_event_actions(void);
}
// plugin.cc
std::string test_event_name();
unsigned test_event_subscriptions();
std::string test_event_played();

namespace agentd {
namespace {

constexpr std::uint32_t kEvent = AGENTD_EVENT_TEST_EVENT;

agentd_notification note() {
  agentd_notification made{};
  made.size = sizeof made;
  made.level = AGENTD_LEVEL_ERROR;
  made.text = to_abi("seen");
  made.origin = to_abi("here");
  return made;
}

// A record as it comes out on the other side of a lane.
template <typename Record>
const Record* cross(const Shape& shape, const Record& record, FlatBytes& memory) {
  std::string flat;
  EXPECT_TRUE(flatten(shape, &record, flat));
  memory = FlatBytes(flat);
  const auto back = relocate(shape, {memory.data(), memory.size()});
  return back ? static_cast<const Record*>(*back) : nullptr;
}

// ---- an event

TEST(NewEvent, IsInTheCHeader) {
  EXPECT_EQ(kEvent, 63u);
  EXPECT_EQ(test_event_id(), kEvent);
  EXPECT_EQ(test_event_actions(), action_bit(AGENTD_ACT_BLOCK) | action_bit(AGENTD_ACT_TEST));
}

TEST(NewEvent, IsOneThatCxxPluginsCanSubscribeTo) {
  EXPECT_EQ(test_event_name(), "test_event");
  EXPECT_EQ(test_event_subscriptions(), 1u);
}

TEST(NewEvent, IsInTheTableOfTheCore) {
  const EventTraits* const traits = find_event("test_event");
  ASSERT_NE(traits, nullptr);
  EXPECT_EQ(traits, find_event(kEvent));
  EXPECT_EQ(traits, &all_events().back());
  EXPECT_TRUE(traits->blocking);
  EXPECT_TRUE(is_legal(kEvent, AGENTD_ACT_BLOCK));
  EXPECT_FALSE(is_legal(kEvent, AGENTD_ACT_COMPACT));
}

TEST(NewEvent, IsInContractAndReference) {
  const std::string text = contract_text(kEvent);
  EXPECT_NE(text.find("fires     a test adds an event"), std::string::npos) << text;
  EXPECT_NE(text.find("blocking  yes"), std::string::npos) << text;
  const auto json = JsonDocument::parse(contract_json(kEvent));
  EXPECT_EQ(json->root()["example"]["event"].string_or(""), "test_event");
  const std::string page = events_reference();
  const std::size_t section = page.find("\n## test_event\n\nA test adds an event.\n");
  ASSERT_NE(section, std::string::npos);
  EXPECT_NE(page.find("\"event\": \"test_event\"", section), std::string::npos);
}

// ---- a field of an event

TEST(NewField, IsWrittenAsJsonAndReadAgain) {
  const agentd_notification from = note();
  const std::string json = payload_json(kEvent, nullptr, &from);
  EXPECT_NE(json.find(R"("event":"test_event")"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("level":"error","text":"seen","origin":"here"})"), std::string::npos) << json;
  const auto record = PayloadRecord::from_json(json);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->event(), kEvent);
  EXPECT_EQ(payload_json(kEvent, record->envelope(), record->payload()), json);
}

TEST(NewField, CrossesToAWorker) {
  FlatBytes memory;
  const auto* const back = cross(*payload_shape(kEvent), note(), memory);
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(view_of(back->origin), "here");
}

TEST(NewField, IsInTheContract) {
  EXPECT_NE(contract_text(kEvent).find("who says it"), std::string::npos);
  EXPECT_NE(events_reference().find("| `origin` |"), std::string::npos);
}

// ---- an action

TEST(NewAction, HasItsNameAndMergesByItsRow) {
  EXPECT_EQ(action_name(AGENTD_ACT_TEST), "test");
  EXPECT_EQ(find_action(AGENTD_ACT_TEST)->merge, ActionMerge::kAddsUp);
  EXPECT_EQ(find_action(AGENTD_ACT_TEST + 1), nullptr);
}

TEST(NewAction, IsCopiedOutOfThePlugin) {
  const agentd_act_text act{{sizeof act, AGENTD_ACT_TEST, 0}, 0, 0, to_abi("said")};
  const auto copied = copy_action(&act.h);
  ASSERT_TRUE(copied);
  EXPECT_EQ(copied->kind, AGENTD_ACT_TEST + 0u);
  EXPECT_EQ(copied->text, "said");
}

TEST(NewAction, CrossesToAWorker) {
  EXPECT_EQ(args_shape(static_cast<std::uint32_t>(ServiceOp::kEmit), AGENTD_ACT_TEST)->members[4].of,
            &shapes::act_text);
  EXPECT_NE(args_shape(static_cast<std::uint32_t>(ServiceOp::kEmit), AGENTD_ACT_TEST),
            args_shape(static_cast<std::uint32_t>(ServiceOp::kEmit), AGENTD_ACT_TEST + 1));
}

TEST(NewAction, IsInTheContractOfItsEvents) {
  EXPECT_NE(contract_text(kEvent).find("a test adds an action"), std::string::npos) << contract_text(kEvent);
}

// The event with its new field, the action and the function of the store that the fake has nothing for.
TEST(NewAction, IsRecordedByTheFakeHost) { EXPECT_EQ(test_event_played(), "a test"); }

// ---- a record

TEST(NewRecord, CrossesWithAllThatItPointsTo) {
  const agentd_kv part{sizeof part, 0, to_abi("k"), to_abi("v"), 3};
  const agentd_sample from{sizeof from, 0, to_abi("words"), {&part, 1, sizeof part}};
  FlatBytes memory;
  const auto* const back = cross(*shapes::kShapeOf<agentd_sample>, from, memory);
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(view_of(back->text), "words");
  EXPECT_EQ(view_of(static_cast<const agentd_kv*>(back->parts.first)->value), "v");
}

// ---- a function of a service

TEST(NewFunction, HasAnOpBehindTheOthersOfItsTable) {
  EXPECT_EQ(static_cast<std::uint32_t>(ServiceOp::kStoreFirst),
            static_cast<std::uint32_t>(ServiceOp::kStoreChanges) + 1);
  EXPECT_EQ(service_facts_of<&agentd_store::first>.function, "first");
}

TEST(NewFunction, CrossesWithItsArgumentsAndItsResult) {
  ServiceArgs args;
  args.op = static_cast<std::uint32_t>(ServiceOp::kStoreFirst);
  args.text[0] = to_abi("k");
  FlatBytes memory;
  const auto* const asked = cross(*args_shape(args.op, 0), args, memory);
  ASSERT_NE(asked, nullptr);
  EXPECT_EQ(view_of(asked->text[0]), "k");
  const agentd_kv found{sizeof found, 0, to_abi("k1"), to_abi("v"), 3};
  ServiceReply reply;
  reply.record = &found;
  const auto* const answer = cross(*reply_shape(args.op), reply, memory);
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(view_of(static_cast<const agentd_kv*>(answer->record)->key), "k1");
}

// ---- a kind of log record

TEST(NewKind, HasANameAndIsReadAsItWasWritten) {
  EXPECT_EQ(name_of(RecordType::kTest), "test");
  const Record record = write_test("noted");
  EXPECT_EQ(record.flags, 0);
  EXPECT_EQ(*read_test(record), "noted");
  EXPECT_NE(record_types_table().find("| 24 | test | | note |\n"), std::string::npos);
}

// ---- a setting

TEST(NewSetting, IsReadCheckedAndNamed) {
  const KeySpec* const key = find_key("test.setting");
  ASSERT_NE(key, nullptr);
  EXPECT_EQ(environment_name(*key), "AGENTD_TEST_SETTING");
  EXPECT_EQ(type_text(*key), "a whole number from 1 to 9");
}

// ---- a dialect

TEST(NewDialect, IsNamedReadAndGuessed) {
  EXPECT_EQ(find_dialect("test"), Dialect::kTest);
  EXPECT_EQ(name_of(Dialect::kTest), "test");
  EXPECT_EQ(all_dialects().back(), Dialect::kTest);
  EXPECT_EQ(settings_dialects().back(), "test");
  EXPECT_EQ(canonical_event(Dialect::kTest, "ToolComes"), AGENTD_EVENT_BEFORE_TOOL_CALL);
  EXPECT_EQ(canonical_tool(Dialect::kTest, "Run"), "bash");
  EXPECT_EQ(foreign_tool(Dialect::kTest, "bash"), "Run");
  EXPECT_EQ(guess_dialect("/home/u/.test/settings.json", "{}"), Dialect::kTest);
  EXPECT_EQ(guess_dialect("hooks.json", R"({"hooks":{"ToolComes":[]}})"), Dialect::kTest);
}

// ---- a rung of compaction

TEST(NewRung, HasANameInLogAndPayload) {
  EXPECT_EQ(method_name(AGENTD_METHOD_TEST), "test");
  agentd_after_compaction from{};
  from.size = sizeof from;
  from.result = AGENTD_RESULT_APPLIED;
  from.method = AGENTD_METHOD_TEST;
  const std::string json = payload_json(AGENTD_EVENT_AFTER_COMPACTION, nullptr, &from);
  EXPECT_NE(json.find(R"("method":"test")"), std::string::npos) << json;
  EXPECT_NE(contract_text(AGENTD_EVENT_AFTER_COMPACTION).find("truncate or test"), std::string::npos);
}

// ---- how many files it took

TEST(OneOfEach, TakesThreeFilesAtMost) {
  std::ifstream counts(AGENTD_COUNTS);
  std::string line;
  unsigned kinds = 0;
  for (; std::getline(counts, line); ++kinds) {
    const std::size_t colon = line.find(": ");
    ASSERT_NE(colon, std::string::npos) << line;
    EXPECT_LE(std::stoi(line.substr(colon + 2)), 3) << line;
  }
  EXPECT_EQ(kinds, 10u);
}

}  // namespace
}  // namespace agentd
