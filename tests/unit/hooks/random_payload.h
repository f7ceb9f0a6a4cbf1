// SPDX-License-Identifier: Apache-2.0
#pragma once
// random_payload.h - records of every event with anything in them, from a seed.
//
// Every member is filled by name, so that a record that grows shows up here; an event with a record
// that fill() does not know does not compile.
//
// Threading: thread-compatible.

#include <agentd/hook_abi.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

#include "core/conversation/rows.h"

namespace agentd::testing {

class RandomPayload {
 public:
  explicit RandomPayload(std::uint64_t seed) : random_(seed) {}

  const agentd_envelope* envelope() {
    if (rarely()) return nullptr;
    auto* const to = make<agentd_envelope>();
    to->turn_number = number32();
    for (agentd_str* each : {&to->event_id, &to->conversation_id, &to->session_id, &to->run_id, &to->turn_id, &to->cwd,
                             &to->project_id, &to->recipe, &to->provider, &to->model, &to->agent_id, &to->agent_type})
      *each = text();
    to->agent_depth = number32();
    to->invoked_by = below(4);
    to->revision = number();
    to->context = gauge();
    return to;
  }

  // The record of the event.
  const void* payload(std::uint32_t event) {
    switch (event) {
#define AGENTD_MAKE(NAME, name, id, record) \
  case id: {                                \
    auto* const to = make<record>();        \
    fill(*to, id);                          \
    return to;                              \
  }
      AGENTD_EVENT_LIST(AGENTD_MAKE)
#undef AGENTD_MAKE
    }
    return nullptr;
  }

 private:
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
  bool coin() { return below(2) == 0; }
  bool rarely() { return below(8) == 0; }

  template <typename Record>
  Record* make(std::uint32_t count = 1) {
    auto* const at = static_cast<Record*>(arena_.allocate(sizeof(Record) * (count + 1), 8));
    std::memset(static_cast<void*>(at), 0, sizeof(Record) * (count + 1));
    if constexpr (requires { at->size; })
      for (std::uint32_t i = 0; i < count; ++i) at[i].size = sizeof(Record);
    return at;
  }
  template <typename Record, typename Fill>
  agentd_list list(Fill each) {
    const std::uint32_t count = below(4);
    auto* const first = make<Record>(count);
    for (std::uint32_t i = 0; i < count; ++i) each(first[i]);
    return {first, count, sizeof(Record)};
  }

  std::uint64_t number() {
    static constexpr std::array<std::uint64_t, 4> kEdges{0, 1, UINT64_MAX, std::uint64_t{1} << 63};
    return coin() ? kEdges[below(4)] : random_() >> below(64);
  }
  std::uint32_t number32() { return static_cast<std::uint32_t>(number()); }
  std::uint16_t name16(std::uint32_t names) { return static_cast<std::uint16_t>(rarely() ? 0xFFFF : below(names + 2)); }
  std::uint32_t name32(std::uint32_t names) { return rarely() ? UINT32_MAX : below(names + 2); }

  agentd_str text() {
    static constexpr std::array<std::string_view, 14> kPieces{"a",
                                                              "word ",
                                                              "\"",
                                                              "\\",
                                                              "\n",
                                                              "\x01",
                                                              "\xC3\xA9",
                                                              "\xF0\x9F\x98\x80",
                                                              "\xff",
                                                              "\xE2\x82",
                                                              "{}",
                                                              "null",
                                                              std::string_view("\0", 1),
                                                              "\xED\xA0\x80"};
    if (rarely()) return {nullptr, 0};
    std::string made;
    for (std::uint32_t i = below(6); i > 0; --i) made += kPieces[below(kPieces.size())];
    return arena_.copy(made);
  }
  agentd_str json() {
    static constexpr std::array<std::string_view, 18> kTexts{"",
                                                             "{}",
                                                             "null",
                                                             "\"123\"",
                                                             "\"word\"",
                                                             "123",
                                                             "\"\\u0061\"",
                                                             " {} ",
                                                             "{\"n\": 1.50,\r\n \"deep\": [1, {\"a\": \"}]\\\"\"}]}",
                                                             "{\"broken\": ",
                                                             "\"\xff\"",
                                                             "\xff",
                                                             "[\"\\ud83d\\ude00\", \"\\ud800\"]",
                                                             "12345678901234567890",
                                                             "{\"a\":1,\"a\":2}",
                                                             "\t[ ]\n",
                                                             "\"a\\/b\"",
                                                             "not json"};
    return arena_.copy(kTexts[below(kTexts.size())]);
  }

  const agentd_gauge* gauge() {
    if (rarely()) return nullptr;
    auto* const to = make<agentd_gauge>();
    to->source = name32(3);
    to->used = coin() ? below(2'000'000) : number();
    to->limit = coin() ? below(1'000'000) : number();
    to->compact_at = number();
    to->force_at = number();
    to->floor = number();
    to->compactions = number32();
    return to;
  }
  const agentd_usage* usage() {
    if (rarely()) return nullptr;
    auto* const to = make<agentd_usage>();
    to->input = number();
    to->output = number();
    to->cache_read = number();
    to->cache_write = number();
    to->reasoning = number();
    to->cost_nano_usd = coin() ? 0 : random_() >> 14;  // a million dollars
    return to;
  }

  void fill(agentd_block& to, int depth = 0) {
    to.kind = static_cast<std::uint16_t>(below(7));
    to.flags = static_cast<std::uint16_t>(coin() ? 0 : below(8));
    for (agentd_str* each : {&to.text, &to.name, &to.call_id, &to.opaque}) *each = text();
    to.json = json();
    to.full_len = number();
    if (depth < 2 && rarely()) to.parts = list<agentd_block>([&](agentd_block& part) { fill(part, depth + 1); });
  }
  agentd_list blocks() {
    return list<agentd_block>([&](agentd_block& block) { fill(block); });
  }
  void fill(agentd_message& to) {
    to.role = static_cast<std::uint16_t>(below(5));
    to.flags = static_cast<std::uint16_t>(below(4));
    to.seq = number();
    to.blocks = blocks();
  }
  agentd_list messages() {
    return list<agentd_message>([&](agentd_message& message) { fill(message); });
  }
  void fill(agentd_recollection& to) {
    to.confidence_permille = coin() ? below(1001) : number32();
    to.id = text();
    to.title = text();
    to.text = text();
    to.created_ms = static_cast<std::int64_t>(number());
  }

  void fill(agentd_session_start& to, std::uint32_t) {
    to.source = name32(6);
    to.task = text();
    if (coin()) {
      auto* const checkpoint = make<agentd_recollection>();
      fill(*checkpoint);
      to.checkpoint = checkpoint;
    }
    to.memories = list<agentd_recollection>([&](agentd_recollection& each) { fill(each); });
  }
  void fill(agentd_session_end& to, std::uint32_t) {
    to.outcome = name32(4);
    for (agentd_str* each : {&to.reason, &to.task, &to.approach, &to.notes}) *each = text();
    to.tags = list<agentd_str>([&](agentd_str& tag) { tag = text(); });
  }
  void fill(agentd_user_message& to, std::uint32_t) {
    to.source = name32(5);
    to.text = text();
    to.images = blocks();
  }
  void fill(agentd_turn& to, std::uint32_t event) {
    to.turn_number = number32();
    if (event == AGENTD_EVENT_TURN_START) return;
    to.flags = below(2);
    to.stop_reason = name32(9);
    to.response = text();
    to.tool_calls = blocks();
    to.usage = usage();
  }
  void fill(agentd_model_call& to, std::uint32_t) {
    to.model = text();
    to.message_count = number();
    to.max_output_tokens = number();
    to.context = gauge();
    to.tools = list<agentd_tool_info>([&](agentd_tool_info& tool) {
      tool.name = text();
      tool.description = text();
      tool.origin = text();
    });
    to.messages = messages();
    to.system = text();
  }
  void fill(agentd_model_delta& to, std::uint32_t) {
    to.text = list<agentd_str>([&](agentd_str& piece) { piece = text(); });
  }
  void fill(agentd_model_response& to, std::uint32_t) {
    to.stop_reason = name32(9);
    to.text = text();
    if (coin()) {
      auto* const message = make<agentd_message>();
      fill(*message);
      to.message = message;
    }
    to.usage = usage();
    to.duration_ns = number();
  }
  void fill(agentd_tool_result& to) {
    to.success = below(2);
    to.content = text();
    to.structured_json = json();
    to.error = text();
    to.spill_path = text();
    to.blocks = blocks();
    to.full_len = number();
    to.duration_ns = number();
  }
  void fill(agentd_tool_call& to, std::uint32_t event) {
    to.name = text();
    to.call_id = text();
    to.input_json = json();
    to.origin = text();
    if (event == AGENTD_EVENT_PERMISSION_REQUEST) to.suggestions_json = json();
    if (event == AGENTD_EVENT_BEFORE_TOOL_CALL || event == AGENTD_EVENT_PERMISSION_REQUEST) return;
    if (rarely()) return;
    auto* const result = make<agentd_tool_result>();
    fill(*result);
    to.result = result;
  }
  void fill(agentd_agent_stop& to, std::uint32_t) {
    to.flags = below(2);
    to.continuation = number32();
    to.stop_reason = name32(9);
    to.response = text();
    to.usage = usage();
    to.context = gauge();
    to.max_context_window = number();
    to.messages = messages();
  }
  void fill(agentd_context_threshold& to, std::uint32_t) {
    to.percent = number32();
    to.threshold = number32();
    to.checkpoint_id = text();
  }
  void fill(agentd_before_compaction& to, std::uint32_t) {
    to.trigger = name16(3);
    to.reason = name16(5);
    to.phase = name16(6);
    to.strategy = name16(4);
    to.vetoes = number32();
    for (std::uint64_t* each : {&to.tokens, &to.limit, &to.keep_tokens, &to.floor_tokens, &to.summarized_first,
                                &to.summarized_last, &to.kept_first, &to.kept_last})
      *each = number();
    to.model = text();
    to.custom_instructions = text();
    to.context = gauge();
    to.messages = messages();
  }
  void fill(agentd_after_compaction& to, std::uint32_t event) {
    to.result = name16(6);
    to.method = name16(7);
    if (!rarely()) {
      auto* const request = make<agentd_before_compaction>();
      fill(*request, event);
      to.request = request;
    }
    for (std::uint64_t* each : {&to.pre_tokens, &to.post_tokens, &to.duration_ns, &to.boundary_seq, &to.revision})
      *each = number();
    to.usage_before = usage();
    to.usage_spent = usage();
    to.boundary_id = text();
    to.summary = text();
    to.error = text();
  }
  void fill(agentd_clear& to, std::uint32_t event) {
    to.reason = text();
    if (event != AGENTD_EVENT_BEFORE_CLEAR) to.new_conversation_id = text();
    if (event != AGENTD_EVENT_AFTER_CLEAR) to.checkpoint_id = text();
  }
  void fill(agentd_subagent& to, std::uint32_t) {
    to.depth = number32();
    to.agent_id = text();
    to.agent_type = text();
    to.prompt = text();
  }
  void fill(agentd_agent_error& to, std::uint32_t) {
    to.retryable = below(2);
    to.code = text();
    to.message = text();
    to.phase = text();
  }
  void fill(agentd_notification& to, std::uint32_t) {
    to.level = name32(4);
    to.text = text();
  }

  std::mt19937_64 random_;
  Arena arena_;
};

}  // namespace agentd::testing
