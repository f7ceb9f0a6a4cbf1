// SPDX-License-Identifier: Apache-2.0
// one_edit_test.cc - one line in AGENTD_EVENT_ROWS is a whole event.
//
// The sources of core/hooks are built again with headers to which one_edit.cmake has added the line
// of test_event. Nothing else knows of it.
#include <gtest/gtest.h>

#include <string>

#include "core/codec/json.h"
#include "core/hooks/contract.h"
#include "core/hooks/payload_json.h"
#include "core/hooks/payload_record.h"

extern "C" {
unsigned test_event_id(void);
unsigned test_event_actions(void);
}
// one_edit_plugin.cc
std::string test_event_name();
unsigned test_event_subscriptions();

namespace agentd {
namespace {

constexpr std::uint32_t kEvent = AGENTD_EVENT_TEST_EVENT;

TEST(OneEdit, CHeaderHasTheEvent) {
  EXPECT_EQ(kEvent, 63u);
  EXPECT_EQ(test_event_id(), kEvent);
  EXPECT_EQ(test_event_actions(), action_bit(AGENTD_ACT_BLOCK));
}

TEST(OneEdit, CxxPluginsCanSubscribeToIt) {
  EXPECT_EQ(test_event_name(), "test_event");
  EXPECT_EQ(test_event_subscriptions(), 1u);
}

TEST(OneEdit, TableOfTheCoreHasIt) {
  const EventTraits* const traits = find_event("test_event");
  ASSERT_NE(traits, nullptr);
  EXPECT_EQ(traits, find_event(kEvent));
  EXPECT_EQ(traits, &all_events().back());
  EXPECT_TRUE(traits->blocking);
  EXPECT_TRUE(is_legal(kEvent, AGENTD_ACT_BLOCK));
  EXPECT_FALSE(is_legal(kEvent, AGENTD_ACT_COMPACT));
}

TEST(OneEdit, JsonIsWrittenAndReadAgain) {
  agentd_notification note{};
  note.size = sizeof note;
  note.level = AGENTD_LEVEL_ERROR;
  note.text = to_abi("seen");
  const std::string json = payload_json(kEvent, nullptr, &note);
  EXPECT_NE(json.find(R"("event":"test_event")"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("level":"error","text":"seen"})"), std::string::npos) << json;
  const auto record = PayloadRecord::from_json(json);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->event(), kEvent);
  EXPECT_EQ(payload_json(kEvent, record->envelope(), record->payload()), json);
}

TEST(OneEdit, ContractAndReferenceDescribeIt) {
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

}  // namespace
}  // namespace agentd
