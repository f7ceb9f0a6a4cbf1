// SPDX-License-Identifier: Apache-2.0
#include "core/hooks/payload_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "core/codec/json.h"
#include "core/conversation/message.h"
#include "core/conversation/rows.h"
#include "core/hooks/event.h"

namespace agentd {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;

// A growable record as this host knows it: what lies beyond its `size` reads as zero.
template <typename Record>
Record whole(const void* from) {
  Record record{};
  if (from == nullptr) return record;
  std::uint32_t size = 0;
  std::memcpy(&size, from, sizeof(size));
  if (size >= sizeof(size)) std::memcpy(&record, from, std::min<std::size_t>(size, sizeof(Record)));
  return record;
}

// Calls `each` with every record of a list, stepping by its stride.
template <typename Record, typename Each>
void for_each(const agentd_list& list, Each each) {
  if (list.first == nullptr || list.stride < sizeof(std::uint32_t)) return;
  const auto* at = static_cast<const char*>(list.first);
  for (std::uint32_t i = 0; i < list.count; ++i, at += list.stride) each(whole<Record>(at));
}

// agentd_str is frozen and carries no size.
template <typename Each>
void for_each_text(const agentd_list& list, Each each) {
  if (list.first == nullptr || list.stride < sizeof(agentd_str)) return;
  const auto* at = static_cast<const char*>(list.first);
  for (std::uint32_t i = 0; i < list.count; ++i, at += list.stride) {
    agentd_str text{};
    std::memcpy(&text, at, sizeof(text));
    each(view_of(text));
  }
}

// Names by number; an unknown number is "unknown", as a newer host may send it.
template <std::size_t N>
std::string_view name_at(const std::array<std::string_view, N>& names, std::uint64_t number) {
  return number < N && !names[number].empty() ? names[number] : "unknown";
}

constexpr std::array<std::string_view, 6> kSessionSources{"",      "startup", "resume",
                                                          "clear", "compact", "fork"};
constexpr std::array<std::string_view, 4> kOutcomes{"unknown", "success", "failure", "partial"};
constexpr std::array<std::string_view, 5> kMessageSources{"", "user", "hook", "recipe", "client"};
constexpr std::array<std::string_view, 3> kTriggers{"", "manual", "auto"};
constexpr std::array<std::string_view, 5> kReasons{"", "threshold", "overflow", "manual", "hook"};
constexpr std::array<std::string_view, 6> kPhases{"",          "pre_request", "mid_turn",
                                                  "post_turn", "standalone",  "overflow"};
constexpr std::array<std::string_view, 4> kStrategies{"default", "full", "tail", "users"};
constexpr std::array<std::string_view, 6> kResults{"",     "applied", "degraded",
                                                   "noop", "failed",  "vetoed"};
constexpr std::array<std::string_view, 7> kMethods{"",        "summary", "chunked", "hook",
                                                   "replace", "prune",   "truncate"};
constexpr std::array<std::string_view, 4> kLevels{"debug", "info", "warning", "error"};
constexpr std::array<std::string_view, 3> kGaugeSources{"", "estimate", "provider"};
constexpr std::array<std::string_view, 6> kBlockKinds{"",         "text",        "thinking",
                                                      "tool_use", "tool_result", "image"};

std::string_view stop_reason_name(std::uint32_t reason) {
  if (reason < AGENTD_STOP_END_TURN || reason > AGENTD_STOP_INTERRUPTED) return "unknown";
  return name_of(static_cast<StopReason>(reason));
}

void text(JsonWriter& out, std::string_view name, const agentd_str& value) {
  out.member(name, view_of(value));
}
void optional_text(JsonWriter& out, std::string_view name, const agentd_str& value) {
  out.optional(name, view_of(value));
}

// JSON text of somebody else's: as it is when it parses, else as a string. Line breaks between its
// tokens become spaces, so that a payload stays one line.
void json_text(JsonWriter& out, std::string_view name, const agentd_str& value) {
  const std::string_view json = view_of(value);
  out.key(name);
  if (json.empty()) {
    out.null();
    return;
  }
  if (!JsonDocument::parse(json)) {
    out.string(json);
    return;
  }
  std::string line(json);
  std::replace_if(line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  out.raw(line);
}

// ---- pieces that several events share

void write_usage_members(JsonWriter& out, const agentd_usage& usage) {
  out.member("input_tokens", usage.input).member("output_tokens", usage.output);
  out.member("cache_read_tokens", usage.cache_read).member("cache_write_tokens", usage.cache_write);
  out.member("reasoning_tokens", usage.reasoning);
  if (usage.cost_nano_usd != 0)
    out.key("cost_usd").real(static_cast<double>(usage.cost_nano_usd) * 1e-9);
}

void write_usage(JsonWriter& out, std::string_view name, const agentd_usage* usage) {
  if (usage == nullptr) return;
  out.key(name).begin_object();
  write_usage_members(out, whole<agentd_usage>(usage));
  out.end_object();
}

void write_gauge(JsonWriter& out, const agentd_gauge* from) {
  out.key("context");
  if (from == nullptr) {
    out.null();
    return;
  }
  const auto gauge = whole<agentd_gauge>(from);
  out.begin_object().member("used", gauge.used).member("limit", gauge.limit).key("percent");
  if (gauge.limit == 0)
    out.null();
  else
    out.real(std::round(static_cast<double>(gauge.used) * 10000.0 / static_cast<double>(gauge.limit)) / 100.0);
  out.member("source", name_at(kGaugeSources, gauge.source)).member("compact_at", gauge.compact_at);
  out.member("compactions", gauge.compactions).end_object();
}

void write_blocks(JsonWriter& out, std::string_view name, const agentd_list& blocks);

void write_block(JsonWriter& out, const agentd_block& block) {
  out.begin_object().member("type", name_at(kBlockKinds, block.kind));
  if (block.kind == AGENTD_BLOCK_TOOL_USE || block.kind == AGENTD_BLOCK_TOOL_RESULT)
    text(out, "call_id", block.call_id);
  if (block.kind == AGENTD_BLOCK_TOOL_USE) {
    text(out, "name", block.name);
    json_text(out, "input", block.json);
  } else if (block.kind == AGENTD_BLOCK_IMAGE) {
    text(out, "media_type", block.name);
    text(out, "data", block.opaque);
  } else {
    text(out, "text", block.text);
    if (block.kind == AGENTD_BLOCK_THINKING) optional_text(out, "signature", block.opaque);
  }
  if ((block.flags & AGENTD_BLOCK_ERROR) != 0) out.member("is_error", true);
  if ((block.flags & AGENTD_BLOCK_PRUNED) != 0) out.member("pruned", true);
  if ((block.flags & AGENTD_BLOCK_ELIDED) != 0)
    out.member("elided", true).member("full_bytes", block.full_len);
  if (block.parts.count != 0) write_blocks(out, "parts", block.parts);
  out.end_object();
}

void write_blocks(JsonWriter& out, std::string_view name, const agentd_list& blocks) {
  out.key(name).begin_array();
  for_each<agentd_block>(blocks, [&](const agentd_block& block) { write_block(out, block); });
  out.end_array();
}

// `content` is the text that a reader would see; `blocks` is there when that is not everything.
void write_message_members(JsonWriter& out, const agentd_message& message) {
  const bool assistant = message.role == AGENTD_ROLE_ASSISTANT;
  out.member("role", assistant ? "assistant" : "user");
  if (message.role == AGENTD_ROLE_SUMMARY) out.member("summary", true);
  std::string content;
  bool only_text = true;
  for_each<agentd_block>(message.blocks, [&](const agentd_block& block) {
    only_text = only_text && block.kind == AGENTD_BLOCK_TEXT && block.flags == 0;
    if (block.kind != AGENTD_BLOCK_TEXT && block.kind != AGENTD_BLOCK_TOOL_RESULT) return;
    if (!content.empty()) content += "\n\n";
    content += view_of(block.text);
  });
  out.member("content", content);
  if (!only_text) write_blocks(out, "blocks", message.blocks);
  if (message.seq != 0) out.member("seq", message.seq);
  if ((message.flags & AGENTD_MESSAGE_INTERRUPTED) != 0) out.member("interrupted", true);
  if ((message.flags & AGENTD_MESSAGE_CONTEXT) != 0) out.member("context", true);
}

void write_messages(JsonWriter& out, const agentd_list& messages) {
  out.key("messages").begin_array();
  for_each<agentd_message>(messages, [&](const agentd_message& message) {
    out.begin_object();
    write_message_members(out, message);
    out.end_object();
  });
  out.end_array();
}

void write_range(JsonWriter& out, std::string_view name, std::uint64_t first, std::uint64_t last) {
  out.key(name);
  if (first == 0)
    out.null();
  else
    out.begin_object().member("first", first).member("last", last).end_object();
}

void write_recollection(JsonWriter& out, const agentd_recollection& from) {
  out.begin_object();
  text(out, "id", from.id);
  text(out, "title", from.title);
  text(out, "text", from.text);
  out.key("confidence").real(static_cast<double>(from.confidence_permille) / 1000.0);
  out.member("created_ms", from.created_ms).end_object();
}

// ---- the envelope

// The envelope, and what the payload knows better: the model that is about to be asked, the gauge at
// this moment, the agent that starts. Such a key appears once, with the payload's value.
struct Head {
  agentd_envelope envelope{};
  agentd_str model{nullptr, 0};
  agentd_str agent_id{nullptr, 0}, agent_type{nullptr, 0};
  std::uint32_t agent_depth = 0, turn_number = 0;
  const agentd_gauge* context = nullptr;
};

void write_head(JsonWriter& out, std::uint32_t event, const Head& head) {
  const EventTraits* const traits = find_event(event);
  const agentd_envelope& from = head.envelope;
  out.member("v", 1);
  text(out, "id", from.event_id);
  out.member("event", traits == nullptr ? std::string_view("unknown") : traits->name);
  text(out, "conv_id", from.conversation_id);
  text(out, "session_id", from.session_id);
  text(out, "turn_id", from.turn_id);
  out.member("turn_number", head.turn_number);
  text(out, "cwd", from.cwd);
  text(out, "project_id", from.project_id);
  out.member("invoked_by", from.invoked_by == AGENTD_INVOKED_BY_SUBAGENT ? "subagent" : "main");
  out.key("agent").begin_object();
  text(out, "id", head.agent_id);
  text(out, "type", head.agent_type);
  out.member("depth", head.agent_depth).end_object();
  text(out, "recipe_name", from.recipe);
  text(out, "provider", from.provider);
  text(out, "model", head.model);
  write_gauge(out, head.context);
}

// ---- the events. Each has a function for what its payload changes in the head (or none), and one for
// its own keys.

void write_session_start(JsonWriter& out, const Head&, const void* payload) {
  const auto from = whole<agentd_session_start>(payload);
  out.member("source", name_at(kSessionSources, from.source));
  optional_text(out, "task", from.task);
  out.key("checkpoint");
  if (from.checkpoint == nullptr)
    out.null();
  else
    write_recollection(out, whole<agentd_recollection>(from.checkpoint));
  out.key("memories").begin_array();
  for_each<agentd_recollection>(from.memories,
                                [&](const agentd_recollection& each) { write_recollection(out, each); });
  out.end_array();
}

void write_session_end(JsonWriter& out, const Head&, const void* payload) {
  const auto from = whole<agentd_session_end>(payload);
  text(out, "reason", from.reason);
  out.member("outcome", name_at(kOutcomes, from.outcome));
  text(out, "task", from.task);
  text(out, "approach", from.approach);
  out.key("tags").begin_array();
  for_each_text(from.tags, [&](std::string_view tag) { out.string(tag); });
  out.end_array();
  text(out, "notes", from.notes);
}

void write_user_message(JsonWriter& out, const Head&, const void* payload) {
  const auto from = whole<agentd_user_message>(payload);
  text(out, "message", from.text);
  out.member("source", name_at(kMessageSources, from.source));
  if (from.images.count != 0) write_blocks(out, "images", from.images);
}

void take_turn(Head& head, const void* payload) {
  const auto from = whole<agentd_turn>(payload);
  if (from.turn_number != 0) head.turn_number = from.turn_number;
}

void write_turn_start(JsonWriter&, const Head&, const void*) {}

void write_turn_end(JsonWriter& out, const Head&, const void* payload) {
  const auto from = whole<agentd_turn>(payload);
  text(out, "response", from.response);
  out.member("final", (from.flags & AGENTD_TURN_FINAL) != 0);
  out.member("stop_reason", stop_reason_name(from.stop_reason));
  out.key("tool_calls").begin_array();
  for_each<agentd_block>(from.tool_calls, [&](const agentd_block& call) {
    out.begin_object();
    text(out, "name", call.name);
    text(out, "call_id", call.call_id);
    json_text(out, "input", call.json);
    out.end_object();
  });
  out.end_array();
  write_usage(out, "usage", from.usage);
}

void take_model_call(Head& head, const void* payload) {
  const auto from = whole<agentd_model_call>(payload);
  if (from.model.len != 0) head.model = from.model;
  if (from.context != nullptr) head.context = from.context;
}

void write_model_call(JsonWriter& out, const Head&, const void* payload) {
  const auto from = whole<agentd_model_call>(payload);
  out.member("message_count", from.message_count).member("max_output_tokens", from.max_output_tokens);
  text(out, "system", from.system);
  out.key("tools").begin_array();
  for_each<agentd_tool_info>(from.tools, [&](const agentd_tool_info& tool) {
    out.begin_object();
    text(out, "name", tool.name);
    text(out, "description", tool.description);
    text(out, "origin", tool.origin);
    out.end_object();
  });
  out.end_array();
  write_messages(out, from.messages);
}

void write_model_delta(JsonWriter& out, const Head&, const void* payload) {
  const auto from = whole<agentd_model_delta>(payload);
  out.key("text").begin_array();
  for_each_text(from.text, [&](std::string_view piece) { out.string(piece); });
  out.end_array();
}

void write_model_response(JsonWriter& out, const Head&, const void* payload) {
  const auto from = whole<agentd_model_response>(payload);
  text(out, "response", from.text);
  out.member("stop_reason", stop_reason_name(from.stop_reason));
  if (from.message != nullptr) {
    // The whole answer; the key `message` is the user's text elsewhere.
    out.key("answer").begin_object();
    write_message_members(out, whole<agentd_message>(from.message));
    out.end_object();
  }
  write_usage(out, "usage", from.usage);
  out.member("duration_ms", from.duration_ns / kNsPerMs);
}

void write_tool_result(JsonWriter& out, const agentd_tool_call& call) {
  const auto result = whole<agentd_tool_result>(call.result);
  const bool success = result.success != 0;
  out.key("output").begin_object();
  text(out, "content", result.content);
  out.member("success", success);
  text(out, "error", result.error);
  if (result.structured_json.len != 0) json_text(out, "structured", result.structured_json);
  optional_text(out, "spill_path", result.spill_path);
  if (result.blocks.count != 0) write_blocks(out, "blocks", result.blocks);
  out.member("full_bytes", result.full_len).end_object();
  out.member("duration_ms", result.duration_ns / kNsPerMs);
  out.key("tool_output").begin_object();
  text(out, "toolName", call.name);
  out.member("success", success);
  optional_text(out, "error", result.error);
  text(out, "content", result.content);
  out.end_object();
}

void write_tool_call(JsonWriter& out, const Head&, const void* payload) {
  const auto from = whole<agentd_tool_call>(payload);
  out.key("tool").begin_object();
  text(out, "name", from.name);
  text(out, "call_id", from.call_id);
  json_text(out, "input", from.input_json);
  text(out, "origin", from.origin);
  out.end_object();
  text(out, "tool_name", from.name);
  json_text(out, "tool_input", from.input_json);
  text(out, "tool_user_id", from.call_id);
  if (from.suggestions_json.len != 0) json_text(out, "suggestions", from.suggestions_json);
  if (from.result != nullptr) write_tool_result(out, from);
}

void take_agent_stop(Head& head, const void* payload) {
  const auto from = whole<agentd_agent_stop>(payload);
  if (from.context != nullptr) head.context = from.context;
}

void write_agent_stop(JsonWriter& out, const Head& head, const void* payload) {
  const auto from = whole<agentd_agent_stop>(payload);
  out.key("usage").begin_object();
  write_usage_members(out, whole<agentd_usage>(from.usage));
  out.member("current_context_window", whole<agentd_gauge>(head.context).used);
  out.member("max_context_window", from.max_context_window).end_object();
  text(out, "response", from.response);
  out.member("stop_reason", stop_reason_name(from.stop_reason));
  out.member("continuation", from.continuation);
  out.member("stop_hook_active", (from.flags & AGENTD_AGENT_STOP_HOOK_ACTIVE) != 0);
  write_messages(out, from.messages);
}

void write_context_threshold(JsonWriter& out, const Head&, const void* payload) {
  const auto from = whole<agentd_context_threshold>(payload);
  out.member("percent", from.percent).member("threshold", from.threshold);
  text(out, "checkpoint_id", from.checkpoint_id);
}

void take_compaction(Head& head, const void* payload) {
  const auto from = whole<agentd_before_compaction>(payload);
  if (from.model.len != 0) head.model = from.model;
  if (from.context != nullptr) head.context = from.context;
}

void write_compaction_request(JsonWriter& out, const agentd_before_compaction& from) {
  out.member("trigger", name_at(kTriggers, from.trigger));
  out.member("reason", name_at(kReasons, from.reason)).member("phase", name_at(kPhases, from.phase));
  out.member("strategy", name_at(kStrategies, from.strategy));
  out.member("tokens", from.tokens).member("limit", from.limit);
  out.member("keep_tokens", from.keep_tokens).member("floor_tokens", from.floor_tokens);
  out.key("range").begin_object();
  write_range(out, "summarized", from.summarized_first, from.summarized_last);
  write_range(out, "kept", from.kept_first, from.kept_last);
  out.end_object();
  text(out, "custom_instructions", from.custom_instructions);
  out.member("vetoes", from.vetoes);
}

void write_before_compaction(JsonWriter& out, const Head&, const void* payload) {
  const auto from = whole<agentd_before_compaction>(payload);
  write_compaction_request(out, from);
  write_messages(out, from.messages);
}

void take_after_compaction(Head& head, const void* payload) {
  take_compaction(head, whole<agentd_after_compaction>(payload).request);
}

void write_after_compaction(JsonWriter& out, const Head&, const void* payload) {
  const auto from = whole<agentd_after_compaction>(payload);
  write_compaction_request(out, whole<agentd_before_compaction>(from.request));
  const auto before = whole<agentd_usage>(from.usage_before);
  out.member("result", name_at(kResults, from.result)).member("method", name_at(kMethods, from.method));
  out.member("pre_tokens", from.pre_tokens).member("post_tokens", from.post_tokens);
  out.member("input_tokens", before.input).member("output_tokens", before.output);
  write_usage(out, "usage", from.usage_spent);
  out.member("duration_ms", from.duration_ns / kNsPerMs);
  text(out, "summary", from.summary);
  text(out, "boundary_id", from.boundary_id);
  out.member("boundary_seq", from.boundary_seq).member("revision", from.revision);
  optional_text(out, "error", from.error);
}

void write_clear(JsonWriter& out, const Head&, const void* payload) {
  const auto from = whole<agentd_clear>(payload);
  text(out, "reason", from.reason);
  optional_text(out, "new_conv_id", from.new_conversation_id);
}

void take_subagent(Head& head, const void* payload) {
  const auto from = whole<agentd_subagent>(payload);
  head.agent_id = from.agent_id;
  head.agent_type = from.agent_type;
  head.agent_depth = from.depth;
}

void write_subagent(JsonWriter& out, const Head&, const void* payload) {
  text(out, "prompt", whole<agentd_subagent>(payload).prompt);
}

void write_agent_error(JsonWriter& out, const Head&, const void* payload) {
  const auto from = whole<agentd_agent_error>(payload);
  text(out, "code", from.code);
  text(out, "message", from.message);
  text(out, "phase", from.phase);
  out.member("retryable", from.retryable != 0);
}

void write_notification(JsonWriter& out, const Head&, const void* payload) {
  const auto from = whole<agentd_notification>(payload);
  out.member("level", name_at(kLevels, from.level));
  text(out, "text", from.text);
}

struct PayloadWriter {
  std::uint32_t event;
  void (*take)(Head&, const void*);  // null = the payload changes nothing in the head
  void (*write)(JsonWriter&, const Head&, const void*);
};

constexpr std::array<PayloadWriter, 22> kWriters{{
    {AGENTD_EVENT_SESSION_START, nullptr, write_session_start},
    {AGENTD_EVENT_SESSION_END, nullptr, write_session_end},
    {AGENTD_EVENT_USER_MESSAGE_SEND, nullptr, write_user_message},
    {AGENTD_EVENT_TURN_START, take_turn, write_turn_start},
    {AGENTD_EVENT_BEFORE_MODEL_CALL, take_model_call, write_model_call},
    {AGENTD_EVENT_MODEL_DELTA, nullptr, write_model_delta},
    {AGENTD_EVENT_AFTER_MODEL_CALL, nullptr, write_model_response},
    {AGENTD_EVENT_TURN_END, take_turn, write_turn_end},
    {AGENTD_EVENT_BEFORE_TOOL_CALL, nullptr, write_tool_call},
    {AGENTD_EVENT_PERMISSION_REQUEST, nullptr, write_tool_call},
    {AGENTD_EVENT_AFTER_TOOL_CALL, nullptr, write_tool_call},
    {AGENTD_EVENT_TOOL_CALL_FAILED, nullptr, write_tool_call},
    {AGENTD_EVENT_AGENT_STOP, take_agent_stop, write_agent_stop},
    {AGENTD_EVENT_CONTEXT_THRESHOLD, nullptr, write_context_threshold},
    {AGENTD_EVENT_BEFORE_COMPACTION, take_compaction, write_before_compaction},
    {AGENTD_EVENT_AFTER_COMPACTION, take_after_compaction, write_after_compaction},
    {AGENTD_EVENT_BEFORE_CLEAR, nullptr, write_clear},
    {AGENTD_EVENT_AFTER_CLEAR, nullptr, write_clear},
    {AGENTD_EVENT_SUBAGENT_START, take_subagent, write_subagent},
    {AGENTD_EVENT_SUBAGENT_STOP, take_agent_stop, write_agent_stop},
    {AGENTD_EVENT_AGENT_ERROR, nullptr, write_agent_error},
    {AGENTD_EVENT_NOTIFICATION, nullptr, write_notification},
}};

const PayloadWriter* find_writer(std::uint32_t event) {
  const auto found = std::find_if(kWriters.begin(), kWriters.end(),
                                  [&](const PayloadWriter& each) { return each.event == event; });
  return found == kWriters.end() ? nullptr : &*found;
}

Head head_of(const agentd_envelope* envelope) {
  Head head;
  head.envelope = whole<agentd_envelope>(envelope);
  head.model = head.envelope.model;
  head.agent_id = head.envelope.agent_id;
  head.agent_type = head.envelope.agent_type;
  head.agent_depth = head.envelope.agent_depth;
  head.turn_number = head.envelope.turn_number;
  head.context = head.envelope.context;
  return head;
}

}  // namespace

std::string payload_json(std::uint32_t event, const agentd_envelope* envelope, const void* payload) {
  const PayloadWriter* const writer = payload == nullptr ? nullptr : find_writer(event);
  Head head = head_of(envelope);
  if (writer != nullptr && writer->take != nullptr) writer->take(head, payload);
  JsonWriter out;
  out.begin_object();
  write_head(out, event, head);
  if (writer != nullptr) writer->write(out, head, payload);
  out.end_object();
  return std::string(out.text());
}

}  // namespace agentd
