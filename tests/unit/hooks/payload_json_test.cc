// SPDX-License-Identifier: Apache-2.0
#include "core/hooks/payload_json.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "core/codec/json.h"
#include "core/conversation/rows.h"
#include "core/hooks/event.h"

namespace agentd {
namespace {

template <typename Record>
Record sized() {
  Record record{};
  record.size = sizeof(Record);
  return record;
}

agentd_gauge gauge() {
  auto made = sized<agentd_gauge>();
  made.source = AGENTD_GAUGE_PROVIDER;
  made.used = 7000;
  made.limit = 10000;
  made.compact_at = 8000;
  made.force_at = 9500;
  made.floor = 1200;
  made.compactions = 2;
  return made;
}

struct Envelope {
  agentd_gauge context = gauge();
  agentd_envelope record = sized<agentd_envelope>();
  Envelope() {
    record.turn_number = 3;
    record.event_id = to_abi("evt_1");
    record.conversation_id = to_abi("01ARZ3NDEKTSV4RRFFQ69G5FAV");
    record.session_id = to_abi("s1");
    record.run_id = to_abi("r1");
    record.turn_id = to_abi("t1");
    record.revision = 41;
    record.cwd = to_abi("/home/u");
    record.project_id = to_abi("u/p");
    record.recipe = to_abi("init");
    record.provider = to_abi("anthropic");
    record.model = to_abi("big");
    record.agent_id = to_abi("main");
    record.agent_type = to_abi("coder");
    record.invoked_by = AGENTD_INVOKED_BY_MAIN;
    record.context = &context;
  }
};

JsonDocument parsed(const std::string& json) {
  auto document = JsonDocument::parse(json);
  EXPECT_TRUE(document) << (document ? "" : document.error().message) << "\n" << json;
  return document ? std::move(*document) : std::move(*JsonDocument::parse("{}"));
}

JsonDocument payload_of(std::uint32_t event, const void* payload) {
  const Envelope envelope;
  return parsed(payload_json(event, &envelope.record, payload));
}

std::vector<std::string> keys_of(JsonView object) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < object.size(); ++i) keys.emplace_back(object.key_at(i));
  return keys;
}

TEST(PayloadJson, EnvelopeKeysComeFirstInTheDocumentedOrder) {
  const auto turn = sized<agentd_turn>();
  const JsonDocument json = payload_of(AGENTD_EVENT_TURN_START, &turn);
  const std::vector<std::string> expected{"v",       "id",          "event",    "conv_id", "session_id", "run_id",
                                          "turn_id", "turn_number", "revision", "cwd",     "project_id", "invoked_by",
                                          "agent",   "recipe_name", "provider", "model",   "context"};
  EXPECT_EQ(keys_of(json.root()), expected);
}

TEST(PayloadJson, EnvelopeValuesAreThoseOfTheRecord) {
  const auto turn = sized<agentd_turn>();
  const JsonDocument json = payload_of(AGENTD_EVENT_TURN_START, &turn);
  const JsonView root = json.root();
  EXPECT_EQ(root["v"].int_or(0), 1);
  EXPECT_EQ(root["id"].string_or(""), "evt_1");
  EXPECT_EQ(root["event"].string_or(""), "turn_start");
  EXPECT_EQ(root["run_id"].string_or(""), "r1");
  EXPECT_EQ(root["turn_number"].int_or(0), 3);
  EXPECT_EQ(root["revision"].int_or(0), 41);
  EXPECT_EQ(root["invoked_by"].string_or(""), "main");
  EXPECT_EQ(root["agent"]["type"].string_or(""), "coder");
  EXPECT_EQ(root["recipe_name"].string_or(""), "init");
  EXPECT_DOUBLE_EQ(root["context"]["percent"].number_or(0), 70.0);
  EXPECT_EQ(root["context"]["source"].string_or(""), "provider");
  EXPECT_EQ(root["context"]["force_at"].int_or(0), 9500);
  EXPECT_EQ(root["context"]["floor"].int_or(0), 1200);
  EXPECT_EQ(root["context"]["compactions"].int_or(0), 2);
}

TEST(PayloadJson, GaugeWithoutALimitHasNoPercent) {
  Envelope envelope;
  envelope.context.limit = 0;
  const JsonDocument json = parsed(payload_json(AGENTD_EVENT_TURN_START, &envelope.record, nullptr));
  EXPECT_TRUE(json.root()["context"]["percent"].exists());
  EXPECT_TRUE(json.root()["context"]["percent"].is_null());
}

TEST(PayloadJson, EveryEventIsOneLineOfValidJsonWithUniqueKeys) {
  // Larger than every record and zero behind the size: a payload with nothing in it.
  std::array<char, 4096> zeros{};
  const std::uint32_t size = 512;
  std::memcpy(zeros.data(), &size, sizeof(size));
  for (const EventTraits& event : all_events()) {
    const Envelope envelope;
    const std::string text = payload_json(event.id, &envelope.record, zeros.data());
    EXPECT_EQ(text.find('\n'), std::string::npos) << event.name;
    const JsonDocument json = parsed(text);
    EXPECT_EQ(json.root()["event"].string_or(""), event.name);
    const auto keys = keys_of(json.root());
    EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), keys.size()) << text;
  }
}

TEST(PayloadJson, FieldsBeyondTheRecordsSizeAreNotRead) {
  auto stop = sized<agentd_agent_stop>();
  stop.response = to_abi("kept");
  stop.size = offsetof(agentd_agent_stop, usage);
  // Pointers that would fault when followed.
  stop.usage = reinterpret_cast<const agentd_usage*>(8);
  stop.context = reinterpret_cast<const agentd_gauge*>(8);
  stop.messages = {reinterpret_cast<const void*>(8), 1000, 48};
  const JsonDocument json = payload_of(AGENTD_EVENT_AGENT_STOP, &stop);
  EXPECT_EQ(json.root()["response"].string_or(""), "kept");
  EXPECT_EQ(json.root()["messages"].size(), 0u);
  EXPECT_EQ(json.root()["usage"]["input_tokens"].int_or(-1), 0);
}

TEST(PayloadJson, RecordsOfAListAreReadByTheirStride) {
  struct Wide {
    agentd_message message = sized<agentd_message>();
    char newer[40] = {};
  };
  auto block = sized<agentd_block>();
  block.kind = AGENTD_BLOCK_TEXT;
  block.text = to_abi("hello");
  std::array<Wide, 2> rows;
  for (Wide& row : rows) {
    row.message.role = AGENTD_ROLE_USER;
    row.message.blocks = {&block, 1, sizeof(block)};
  }
  rows[1].message.role = AGENTD_ROLE_ASSISTANT;
  auto stop = sized<agentd_agent_stop>();
  stop.messages = {rows.data(), 2, sizeof(Wide)};
  const JsonDocument json = payload_of(AGENTD_EVENT_AGENT_STOP, &stop);
  const JsonView messages = json.root()["messages"];
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages.at(1)["role"].string_or(""), "assistant");
  EXPECT_EQ(messages.at(1)["content"].string_or(""), "hello");
}

TEST(PayloadJson, AgentStopCarriesTheUsageKeysOfTheProtocol) {
  auto usage = sized<agentd_usage>();
  usage.input = 11;
  usage.output = 22;
  auto stop = sized<agentd_agent_stop>();
  stop.usage = &usage;
  stop.max_context_window = 200000;
  stop.continuation = 2;
  stop.flags = AGENTD_AGENT_STOP_HOOK_ACTIVE;
  stop.stop_reason = AGENTD_STOP_END_TURN;
  const JsonDocument json = payload_of(AGENTD_EVENT_AGENT_STOP, &stop);
  const JsonView root = json.root();
  EXPECT_EQ(root["usage"]["input_tokens"].int_or(0), 11);
  EXPECT_EQ(root["usage"]["output_tokens"].int_or(0), 22);
  EXPECT_EQ(root["usage"]["current_context_window"].int_or(0), 7000);
  EXPECT_EQ(root["usage"]["max_context_window"].int_or(0), 200000);
  EXPECT_EQ(root["continuation"].int_or(0), 2);
  EXPECT_TRUE(root["stop_hook_active"].bool_or(false));
  EXPECT_EQ(root["stop_reason"].string_or(""), "end_turn");
}

TEST(PayloadJson, MessagesKeepTheirBlocksAndASummaryReadsAsAUserMessage) {
  Rows rows;
  rows.append(Message::of_text(Role::kSummary, "so far"), 4, 0);
  Message asks;
  asks.role = Role::kAssistant;
  asks.blocks = {Block::of_text("let me look"), Block::tool_use("c1", "bash", R"({"command":"ls"})")};
  rows.append(asks, 5, 0);
  Message answers;
  answers.blocks = {Block::tool_result("c1", "a.txt", true)};
  rows.append(answers, 6, 0);
  auto stop = sized<agentd_agent_stop>();
  stop.messages = rows.list();
  const JsonDocument json = payload_of(AGENTD_EVENT_AGENT_STOP, &stop);
  const JsonView messages = json.root()["messages"];
  EXPECT_EQ(messages.at(0)["role"].string_or(""), "user");
  EXPECT_TRUE(messages.at(0)["summary"].bool_or(false));
  EXPECT_FALSE(messages.at(0)["blocks"].exists());
  EXPECT_EQ(messages.at(1)["blocks"].at(1)["input"]["command"].string_or(""), "ls");
  EXPECT_EQ(messages.at(1)["content"].string_or(""), "let me look");
  EXPECT_EQ(messages.at(2)["content"].string_or(""), "a.txt");
  EXPECT_TRUE(messages.at(2)["blocks"].at(0)["is_error"].bool_or(false));
  EXPECT_EQ(messages.at(2)["seq"].int_or(0), 6);
}

TEST(PayloadJson, ToolInputStaysRawAndTheFlatKeysRepeatIt) {
  auto call = sized<agentd_tool_call>();
  call.name = to_abi("bash");
  call.call_id = to_abi("c1");
  call.input_json = to_abi("{\"n\": 1.50,\n \"command\": \"ls\"}");
  call.origin = to_abi("core");
  const Envelope envelope;
  const std::string text = payload_json(AGENTD_EVENT_BEFORE_TOOL_CALL, &envelope.record, &call);
  EXPECT_NE(text.find(R"("tool_input":{"n": 1.50,  "command": "ls"})"), std::string::npos) << text;
  const JsonDocument json = parsed(text);
  EXPECT_EQ(json.root()["tool"]["input"]["command"].string_or(""), "ls");
  EXPECT_EQ(json.root()["tool"]["origin"].string_or(""), "core");
  EXPECT_EQ(json.root()["tool_name"].string_or(""), "bash");
  EXPECT_EQ(json.root()["tool_user_id"].string_or(""), "c1");
  EXPECT_FALSE(json.root()["output"].exists());
}

TEST(PayloadJson, ToolInputThatIsNoJsonIsAString) {
  auto call = sized<agentd_tool_call>();
  call.input_json = to_abi("{\"command\": ");
  const JsonDocument json = payload_of(AGENTD_EVENT_BEFORE_TOOL_CALL, &call);
  EXPECT_EQ(json.root()["tool"]["input"].string_or(""), "{\"command\": ");
}

TEST(PayloadJson, AfterToolCallCarriesTheOutputTwice) {
  auto result = sized<agentd_tool_result>();
  result.content = to_abi("no such file");
  result.error = to_abi("exit 1");
  result.duration_ns = 12'000'000;
  auto call = sized<agentd_tool_call>();
  call.name = to_abi("bash");
  call.result = &result;
  const JsonDocument json = payload_of(AGENTD_EVENT_TOOL_CALL_FAILED, &call);
  const JsonView root = json.root();
  EXPECT_EQ(root["output"]["content"].string_or(""), "no such file");
  EXPECT_FALSE(root["output"]["success"].bool_or(true));
  EXPECT_EQ(root["duration_ms"].int_or(0), 12);
  EXPECT_EQ(root["tool_output"]["toolName"].string_or(""), "bash");
  EXPECT_EQ(root["tool_output"]["error"].string_or(""), "exit 1");
}

TEST(PayloadJson, TextThatIsNotUtf8IsMended) {
  auto message = sized<agentd_user_message>();
  message.text = to_abi(
      "a\xff"
      "b");
  message.source = AGENTD_MESSAGE_SOURCE_USER;
  const JsonDocument json = payload_of(AGENTD_EVENT_USER_MESSAGE_SEND, &message);
  EXPECT_EQ(json.root()["message"].string_or(""),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(json.root()["source"].string_or(""), "user");
}

TEST(PayloadJson, TurnEndCarriesItsToolCallsAndTurnNumber) {
  auto use = sized<agentd_block>();
  use.kind = AGENTD_BLOCK_TOOL_USE;
  use.name = to_abi("grep");
  use.json = to_abi("{}");
  auto turn = sized<agentd_turn>();
  turn.turn_number = 9;
  turn.flags = AGENTD_TURN_FINAL;
  turn.response = to_abi("done");
  turn.tool_calls = {&use, 1, sizeof(use)};
  const JsonDocument json = payload_of(AGENTD_EVENT_TURN_END, &turn);
  EXPECT_EQ(json.root()["turn_number"].int_or(0), 9);
  EXPECT_TRUE(json.root()["final"].bool_or(false));
  EXPECT_EQ(json.root()["response"].string_or(""), "done");
  EXPECT_EQ(json.root()["tool_calls"].at(0)["name"].string_or(""), "grep");
}

TEST(PayloadJson, CompactionNamesItsDoorInWords) {
  auto request = sized<agentd_before_compaction>();
  request.trigger = AGENTD_TRIGGER_AUTO;
  request.reason = AGENTD_REASON_HOOK;
  request.phase = AGENTD_PHASE_POST_TURN;
  request.strategy = AGENTD_STRATEGY_TAIL;
  request.tokens = 95000;
  request.summarized_first = 2;
  request.summarized_last = 7;
  request.model = to_abi("small");
  const JsonDocument json = payload_of(AGENTD_EVENT_BEFORE_COMPACTION, &request);
  const JsonView root = json.root();
  EXPECT_EQ(root["trigger"].string_or(""), "auto");
  EXPECT_EQ(root["reason"].string_or(""), "hook");
  EXPECT_EQ(root["phase"].string_or(""), "post_turn");
  EXPECT_EQ(root["strategy"].string_or(""), "tail");
  EXPECT_EQ(root["model"].string_or(""), "small");
  EXPECT_EQ(root["range"]["summarized"]["last"].int_or(0), 7);
  EXPECT_TRUE(root["range"]["kept"].is_null());
}

TEST(PayloadJson, AfterCompactionCarriesTheRequestAndTheTokensBefore) {
  auto request = sized<agentd_before_compaction>();
  request.trigger = AGENTD_TRIGGER_MANUAL;
  auto before = sized<agentd_usage>();
  before.input = 5;
  before.output = 6;
  auto spent = sized<agentd_usage>();
  spent.input = 50;
  auto after = sized<agentd_after_compaction>();
  after.result = AGENTD_RESULT_APPLIED;
  after.method = AGENTD_METHOD_HOOK;
  after.request = &request;
  after.usage_before = &before;
  after.usage_spent = &spent;
  after.pre_tokens = 900;
  after.post_tokens = 90;
  after.summary = to_abi("short");
  const JsonDocument json = payload_of(AGENTD_EVENT_AFTER_COMPACTION, &after);
  const JsonView root = json.root();
  EXPECT_EQ(root["trigger"].string_or(""), "manual");
  EXPECT_EQ(root["result"].string_or(""), "applied");
  EXPECT_EQ(root["method"].string_or(""), "hook");
  EXPECT_EQ(root["input_tokens"].int_or(0), 5);
  EXPECT_EQ(root["output_tokens"].int_or(0), 6);
  EXPECT_EQ(root["usage"]["input_tokens"].int_or(0), 50);
  EXPECT_EQ(root["post_tokens"].int_or(0), 90);
  EXPECT_EQ(root["summary"].string_or(""), "short");
}

TEST(PayloadJson, SubagentStartNamesTheAgentThatStarts) {
  auto agent = sized<agentd_subagent>();
  agent.depth = 1;
  agent.agent_id = to_abi("a7");
  agent.agent_type = to_abi("search");
  agent.prompt = to_abi("find it");
  const JsonDocument json = payload_of(AGENTD_EVENT_SUBAGENT_START, &agent);
  EXPECT_EQ(json.root()["agent"]["id"].string_or(""), "a7");
  EXPECT_EQ(json.root()["agent"]["depth"].int_or(0), 1);
  EXPECT_EQ(json.root()["prompt"].string_or(""), "find it");
}

TEST(PayloadJson, SessionEventsCarryMemoriesAndTags) {
  auto memory = sized<agentd_recollection>();
  memory.confidence_permille = 850;
  memory.title = to_abi("cache keys");
  auto start = sized<agentd_session_start>();
  start.source = AGENTD_SOURCE_RESUME;
  start.memories = {&memory, 1, sizeof(memory)};
  const JsonDocument first = payload_of(AGENTD_EVENT_SESSION_START, &start);
  EXPECT_EQ(first.root()["source"].string_or(""), "resume");
  EXPECT_TRUE(first.root()["checkpoint"].is_null());
  EXPECT_DOUBLE_EQ(first.root()["memories"].at(0)["confidence"].number_or(0), 0.85);

  const std::array<agentd_str, 2> tags{to_abi("a"), to_abi("b")};
  auto end = sized<agentd_session_end>();
  end.outcome = AGENTD_OUTCOME_PARTIAL;
  end.tags = {tags.data(), 2, sizeof(agentd_str)};
  const JsonDocument last = payload_of(AGENTD_EVENT_SESSION_END, &end);
  EXPECT_EQ(last.root()["outcome"].string_or(""), "partial");
  EXPECT_EQ(last.root()["tags"].at(1).string_or(""), "b");
}

TEST(PayloadJson, ADocumentHasItsTypeItsBytesAndItsTitle) {
  auto block = sized<agentd_block>();
  block.kind = AGENTD_BLOCK_DOCUMENT;
  block.name = to_abi("application/pdf");
  block.opaque = to_abi("JVBERi0=");
  block.text = to_abi("d.pdf");
  auto sent = sized<agentd_user_message>();
  sent.images = {&block, 1, sizeof block};
  const JsonDocument json = payload_of(AGENTD_EVENT_USER_MESSAGE_SEND, &sent);
  const JsonView document = json.root()["images"].at(0);
  EXPECT_EQ(document["type"].string_or(""), "document");
  EXPECT_EQ(document["media_type"].string_or(""), "application/pdf");
  EXPECT_EQ(document["data"].string_or(""), "JVBERi0=");
  EXPECT_EQ(document["title"].string_or(""), "d.pdf");
  EXPECT_FALSE(document["text"].exists());
}

TEST(PayloadJson, UnknownNumbersAreSaidToBeUnknown) {
  auto note = sized<agentd_notification>();
  note.level = 77;
  const JsonDocument json = payload_of(AGENTD_EVENT_NOTIFICATION, &note);
  EXPECT_EQ(json.root()["level"].string_or(""), "unknown");
}

TEST(PayloadJson, MissingEnvelopeGivesEmptyIds) {
  const JsonDocument json = parsed(payload_json(AGENTD_EVENT_TURN_START, nullptr, nullptr));
  EXPECT_EQ(json.root()["conv_id"].string_or("?"), "");
  EXPECT_TRUE(json.root()["context"].is_null());
}

}  // namespace
}  // namespace agentd
