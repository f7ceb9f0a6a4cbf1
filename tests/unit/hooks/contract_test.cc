// SPDX-License-Identifier: Apache-2.0
#include "core/hooks/contract.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "core/codec/json.h"
#include "core/conversation/message.h"
#include "core/hooks/payload_json.h"
#include "core/hooks/payload_record.h"

namespace agentd {
namespace {

std::set<std::string> paths_of(JsonView value, const std::string& prefix, int depth) {
  std::set<std::string> paths;
  for (std::size_t i = 0; value.is_object() && i < value.size(); ++i) {
    const std::string path = prefix + std::string(value.key_at(i));
    paths.insert(path);
    if (depth > 1) paths.merge(paths_of(value.at(i), path + ".", depth - 1));
  }
  return paths;
}

bool has_key(std::uint32_t event, std::string_view path) {
  const auto keys = contract_keys(event);
  return std::any_of(keys.begin(), keys.end(), [&](const ContractKey& key) { return key.path == path; });
}

TEST(Contract, ExampleOfEveryEventIsReadAndWrittenAgain) {
  for (const EventTraits& event : all_events()) {
    const std::string sample = sample_payload(event.id);
    const auto record = PayloadRecord::from_json(sample);
    ASSERT_TRUE(record) << record.error().message;
    EXPECT_EQ(record->event(), event.id);
    EXPECT_EQ(payload_json(event.id, record->envelope(), record->payload()), sample);
  }
}

TEST(Contract, ExampleHasOnlyNamesThatAreKnown) {
  for (const EventTraits& event : all_events())
    EXPECT_EQ(sample_payload(event.id).find("\"unknown\""), std::string::npos) << event.name;
}

TEST(Contract, EveryTopLevelKeyOfAnExampleIsDescribed) {
  std::set<std::string> envelope;
  for (const ContractKey& key : contract_keys(envelope_table(), 0)) envelope.insert(key.path);
  for (const EventTraits& event : all_events()) {
    const auto sample = JsonDocument::parse(sample_payload(event.id));
    for (const std::string& path : paths_of(sample->root(), "", 1))
      EXPECT_TRUE(envelope.contains(path) || has_key(event.id, path)) << event.name << ": " << path;
  }
}

TEST(Contract, EveryKeyThatIsAlwaysThereIsInTheExample) {
  for (const EventTraits& event : all_events()) {
    const auto sample = JsonDocument::parse(sample_payload(event.id));
    const std::set<std::string> paths = paths_of(sample->root(), "", 8);
    for (const ContractKey& key : contract_keys(event.id)) {
      const bool inside = key.path.find("[]") != std::string::npos;
      if (inside || key.type.ends_with("optional")) continue;
      // What stands inside of something that may be absent.
      const std::string outer = key.path.substr(0, key.path.rfind('.'));
      if (outer != key.path && !paths.contains(outer)) continue;
      EXPECT_TRUE(paths.contains(key.path)) << event.name << ": " << key.path;
    }
  }
}

TEST(Contract, EveryKeyHasATypeAndAMeaning) {
  const auto described = [](const std::vector<ContractKey>& keys) {
    for (const ContractKey& key : keys) {
      EXPECT_FALSE(key.type.empty()) << key.path;
      EXPECT_FALSE(key.meaning.empty()) << key.path;
    }
  };
  described(contract_keys(envelope_table(), 0));
  described(contract_keys(hook_table(), 0));
  for (const PayloadTable* const table : shared_objects()) described(contract_keys(*table, 0));
  for (const EventTraits& event : all_events()) described(contract_keys(event.id));
}

TEST(Contract, RewritableTextIsAKeyExactlyWhereAnEventHasOne) {
  for (const EventTraits& event : all_events())
    EXPECT_EQ(contract_rewrites(event).empty(), event.text_target == 0) << event.name;
  EXPECT_EQ(contract_rewrites(*find_event("before_tool_call")), "tool.input");
  EXPECT_EQ(contract_rewrites(*find_event("after_tool_call")), "output.content");
  EXPECT_EQ(contract_rewrites(*find_event("user_message_send")), "message");
  EXPECT_EQ(contract_rewrites(*find_event("after_model_call")), "response");
}

TEST(Contract, AnswersAreTheLegalActionsAndEachSaysHowItMerges) {
  for (const EventTraits& event : all_events()) {
    std::uint32_t bits = 0;
    for (const ContractAnswer& answer : contract_answers(event)) {
      bits |= action_bit(answer.kind);
      EXPECT_FALSE(answer.answer.empty()) << event.name << ": " << answer.name;
      EXPECT_FALSE(answer.merge.empty()) << event.name << ": " << answer.name;
    }
    EXPECT_EQ(bits, event.actions) << event.name;
  }
}

TEST(Contract, TextTellsWhatAnEventPromises) {
  const std::string text = contract_text(AGENTD_EVENT_BEFORE_TOOL_CALL);
  for (const char* const part :
       {"before_tool_call\n", "  blocking  yes", "a guard (on_failure: closed)", "  rewrites  tool.input",
        "in JSON: action: block, reason", "rewrites chain", "tool.call_id", "deny over defer over ask over allow"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(text.find("tool_output"), std::string::npos);
  EXPECT_NE(contract_text(AGENTD_EVENT_TURN_START).find("none: hooks only observe"), std::string::npos);
  EXPECT_EQ(contract_text(4711), "");
}

TEST(Contract, TextFitsATerminal) {
  std::string text = contract_text(0);
  for (const EventTraits& event : all_events()) text += contract_text(event.id);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(Contract, OverviewNamesEveryEvent) {
  const std::string text = contract_text(0);
  for (const EventTraits& event : all_events())
    EXPECT_NE(text.find("\n  " + std::string(event.name) + " "), std::string::npos) << event.name;
}

TEST(Contract, JsonHasTheSame) {
  const auto one = JsonDocument::parse(contract_json(AGENTD_EVENT_AGENT_STOP));
  ASSERT_TRUE(one);
  EXPECT_EQ(one->root()["event"].string_or(""), "agent_stop");
  EXPECT_TRUE(one->root()["continues"].bool_or(false));
  EXPECT_TRUE(one->root()["rewrites"].is_null());
  EXPECT_EQ(one->root()["answers"].size(), contract_answers(*find_event("agent_stop")).size());
  EXPECT_EQ(one->root()["example"]["event"].string_or(""), "agent_stop");

  const auto all = JsonDocument::parse(contract_json(0));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->root()["events"].size(), all_events().size());
  EXPECT_TRUE(all->root()["objects"]["gauge"].is_array());
  EXPECT_EQ(all->root()["hook"].at(2)["key"].string_or(""), "deadline_ms");
  EXPECT_EQ(contract_json(4711), "");
}

TEST(Contract, StopReasonsHaveTheNamesOfTheLog) {
  for (std::uint32_t reason = AGENTD_STOP_END_TURN; reason <= AGENTD_STOP_INTERRUPTED; ++reason) {
    agentd_turn turn{};
    turn.size = sizeof turn;
    turn.stop_reason = reason;
    const auto json = JsonDocument::parse(payload_json(AGENTD_EVENT_TURN_END, nullptr, &turn));
    EXPECT_EQ(json->root()["stop_reason"].string_or(""), name_of(static_cast<StopReason>(reason)));
  }
}

TEST(Documents, TheEventsPageIsTheTable) {
  std::ifstream in(std::string(AGENTD_SOURCE_DIR) + "/docs/reference/events.md");
  std::ostringstream page;
  page << in.rdbuf();
  EXPECT_EQ(page.str(), events_reference()) << "print it again: agentd_pages events > docs/reference/events.md";
}

}  // namespace
}  // namespace agentd
