// SPDX-License-Identifier: Apache-2.0
#pragma once
// fake_records.hpp - a test's payloads for a plugin, and the plugin's recorded actions.
//
// One plain struct per payload, with defaults for most tests; one struct that holds any action, copied out of the
// plugin's memory.
//
// Threading: values.

#include <agentd/build.hpp>

#include <concepts>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentd::testing {

// Memory for the records and texts of one call; nothing moves until the call is over.
class keeper {
 public:
  agentd_str text(std::string_view from) { return as_str(std::string_view(texts_.emplace_back(from))); }
  template <typename T>
  T* keep(T value) {
    auto held = std::make_shared<T>(std::move(value));
    kept_.push_back(held);
    return held.get();
  }
  template <typename Record>
  agentd_list list(std::vector<Record> rows) {
    return as_list(*keep(std::move(rows)));
  }
  agentd_list blocks(const message_builder& from) { return keep(from)->block_list_of(); }
  // Bytes aligned to a power of two.
  void* bytes(std::size_t count, std::size_t align) {
    auto held = std::make_shared<std::vector<char>>(count + align);
    kept_.push_back(held);
    const auto at = reinterpret_cast<std::uintptr_t>(held->data());
    return held->data() + (align - at % align) % align;
  }

 private:
  std::deque<std::string> texts_;
  std::vector<std::shared_ptr<void>> kept_;
};

// Fields of a payload by their JSON path, for the fakes of agentd.json/1 and agentd.field/1.
struct named_value {
  std::string path{}, value{};
  bool is_text = true;
};
using named_values = std::vector<named_value>;

// The conversation of the events.
struct fake_conversation {
  std::string id = "01J00000000000000000000000";
  std::string session_id = "session-1", run_id = "run-1", turn_id = "turn-1";
  std::string cwd = "/work", project_id = "project", recipe, provider = "scripted";
  std::string model = "model-1", agent_id = "main", agent_type = "main";
  std::uint32_t agent_depth = 0, invoked_by = AGENTD_INVOKED_BY_MAIN;
  std::uint32_t turn_number = 1;
  std::uint64_t revision = 1;
  // The gauge; limit 0 = unknown.
  std::uint64_t used = 0, limit = 100000, compact_at = 80000, force_at = 95000, floor = 0;
  // Totals.
  std::uint64_t input_tokens = 0, output_tokens = 0;
  history_builder history;

  // Adds a message with the next log sequence; returns that sequence.
  std::uint64_t add(message_builder message) {
    ++revision;
    history.add(std::move(message.seq(revision)));
    return revision;
  }
  [[nodiscard]] const agentd_gauge* gauge(keeper& to) const {
    auto made = sized<agentd_gauge>();
    made.source = AGENTD_GAUGE_ESTIMATE;
    made.used = used;
    made.limit = limit;
    made.compact_at = compact_at;
    made.force_at = force_at;
    made.floor = floor;
    return to.keep(made);
  }
  [[nodiscard]] const agentd_usage* usage(keeper& to) const {
    auto made = sized<agentd_usage>();
    made.input = input_tokens;
    made.output = output_tokens;
    return to.keep(made);
  }
  [[nodiscard]] agentd_list messages(keeper& to) const { return to.keep(history)->records(); }
};

// ---- payloads: each makes its record and names its fields

struct memory {
  std::string id{}, title{}, text{};
  std::uint32_t confidence_permille = 1000;
  std::int64_t created_ms = 0;

  [[nodiscard]] agentd_recollection make(keeper& to) const {
    auto made = sized<agentd_recollection>();
    made.confidence_permille = confidence_permille;
    made.id = to.text(id);
    made.title = to.text(title);
    made.text = to.text(text);
    made.created_ms = created_ms;
    return made;
  }
};

struct session_start_event {
  std::uint32_t source = AGENTD_SOURCE_STARTUP;
  std::string task{};
  std::optional<memory> checkpoint{};
  std::vector<memory> memories{};

  agentd_session_start make(keeper& to, const fake_conversation&) const {
    auto made = sized<agentd_session_start>();
    made.source = source;
    made.task = to.text(task);
    if (checkpoint) made.checkpoint = to.keep(checkpoint->make(to));
    std::vector<agentd_recollection> rows;
    for (const memory& each : memories) rows.push_back(each.make(to));
    made.memories = to.list(std::move(rows));
    return made;
  }
  [[nodiscard]] named_values values(const fake_conversation&) const { return {{"task", task}}; }
};

struct session_end_event {
  std::uint32_t outcome = AGENTD_OUTCOME_UNKNOWN;
  std::string reason = "exit";
  std::string task{}, approach{}, notes{};
  std::vector<std::string> tags{};

  agentd_session_end make(keeper& to, const fake_conversation&) const {
    auto made = sized<agentd_session_end>();
    made.outcome = outcome;
    made.reason = to.text(reason);
    made.task = to.text(task);
    made.approach = to.text(approach);
    made.notes = to.text(notes);
    std::vector<agentd_str> rows;
    for (const std::string& each : tags) rows.push_back(to.text(each));
    made.tags = to.list(std::move(rows));
    return made;
  }
  [[nodiscard]] named_values values(const fake_conversation&) const { return {{"reason", reason}}; }
};

struct user_message_event {
  std::string text{};
  std::uint32_t source = AGENTD_MESSAGE_SOURCE_USER;

  agentd_user_message make(keeper& to, const fake_conversation&) const {
    auto made = sized<agentd_user_message>();
    made.source = source;
    made.text = to.text(text);
    return made;
  }
  [[nodiscard]] named_values values(const fake_conversation&) const { return {{"message", text}}; }
};

struct turn_event {
  bool final = false;
  std::uint32_t stop_reason = AGENTD_STOP_END_TURN;
  std::string response{};
  message_builder tool_calls{AGENTD_ROLE_ASSISTANT};

  agentd_turn make(keeper& to, const fake_conversation& in) const {
    auto made = sized<agentd_turn>();
    made.flags = final ? AGENTD_TURN_FINAL : 0;
    made.turn_number = in.turn_number;
    made.stop_reason = stop_reason;
    made.response = to.text(response);
    made.tool_calls = to.blocks(tool_calls);
    made.usage = in.usage(to);
    return made;
  }
  [[nodiscard]] named_values values(const fake_conversation& in) const {
    return {{"response", response}, {"turn_number", std::to_string(in.turn_number), false}};
  }
};

struct offered_tool {
  std::string name{}, description{}, origin = "core";
  std::uint32_t flags = 0;
};

struct model_call_event {
  std::uint64_t max_output_tokens = 4096;
  std::string system{};
  std::vector<offered_tool> tools{};

  agentd_model_call make(keeper& to, const fake_conversation& in) const {
    auto made = sized<agentd_model_call>();
    made.model = to.text(in.model);
    made.message_count = in.history.size();
    made.max_output_tokens = max_output_tokens;
    made.context = in.gauge(to);
    std::vector<agentd_tool_info> rows;
    for (const offered_tool& each : tools) {
      rows.push_back({static_cast<std::uint32_t>(sizeof(agentd_tool_info)), each.flags, to.text(each.name),
                      to.text(each.description), to.text(each.origin)});
    }
    made.tools = to.list(std::move(rows));
    made.messages = in.messages(to);
    made.system = to.text(system);
    return made;
  }
  [[nodiscard]] named_values values(const fake_conversation&) const { return {{"system", system}}; }
};

struct model_delta_event {
  std::vector<std::string> text{};

  agentd_model_delta make(keeper& to, const fake_conversation&) const {
    auto made = sized<agentd_model_delta>();
    std::vector<agentd_str> rows;
    for (const std::string& each : text) rows.push_back(to.text(each));
    made.text = to.list(std::move(rows));
    return made;
  }
  [[nodiscard]] named_values values(const fake_conversation&) const { return {}; }
};

struct model_response_event {
  std::string text{};
  std::uint32_t stop_reason = AGENTD_STOP_END_TURN;
  std::uint64_t duration_ns = 0;

  agentd_model_response make(keeper& to, const fake_conversation& in) const {
    auto made = sized<agentd_model_response>();
    made.stop_reason = stop_reason;
    made.text = to.text(text);
    made.message = &to.keep(assistant_message(text))->record();
    made.usage = in.usage(to);
    made.duration_ns = duration_ns;
    return made;
  }
  [[nodiscard]] named_values values(const fake_conversation&) const { return {{"response", text}}; }
};

struct ran {
  bool success = true;
  std::string content{}, error{}, structured_json{}, spill_path{};
  std::uint64_t duration_ns = 0;
};

struct tool_event {
  std::string name = "bash";
  std::string input_json = "{}";
  std::optional<ran> result{};  // absent until the tool has run
  std::string call_id = "call_1";
  std::string origin = "core";
  std::string suggestions_json{};

  agentd_tool_call make(keeper& to, const fake_conversation&) const {
    auto made = sized<agentd_tool_call>();
    made.name = to.text(name);
    made.call_id = to.text(call_id);
    made.input_json = to.text(input_json);
    made.origin = to.text(origin);
    made.suggestions_json = to.text(suggestions_json);
    if (result) made.result = to.keep(result_of(to));
    return made;
  }
  [[nodiscard]] named_values values(const fake_conversation&) const {
    return {{"tool.name", name}, {"tool.call_id", call_id}, {"tool.input", input_json, false}};
  }

 private:
  [[nodiscard]] agentd_tool_result result_of(keeper& to) const {
    auto made = sized<agentd_tool_result>();
    made.success = result->success ? 1 : 0;
    made.content = to.text(result->content);
    made.error = to.text(result->error);
    made.structured_json = to.text(result->structured_json);
    made.spill_path = to.text(result->spill_path);
    made.full_len = result->content.size();
    made.duration_ns = result->duration_ns;
    return made;
  }
};

struct stop_event {
  std::string response{};
  std::uint32_t continuation = 0;
  bool hook_active = false;
  std::uint32_t stop_reason = AGENTD_STOP_END_TURN;
  std::uint64_t max_context_window = 128000;

  agentd_agent_stop make(keeper& to, const fake_conversation& in) const {
    auto made = sized<agentd_agent_stop>();
    made.flags = hook_active ? AGENTD_AGENT_STOP_HOOK_ACTIVE : 0;
    made.continuation = continuation;
    made.stop_reason = stop_reason;
    made.response = to.text(response);
    made.usage = in.usage(to);
    made.context = in.gauge(to);
    made.max_context_window = max_context_window;
    made.messages = in.messages(to);
    return made;
  }
  [[nodiscard]] named_values values(const fake_conversation& in) const {
    return {{"response", response},
            {"usage.input_tokens", std::to_string(in.input_tokens), false},
            {"usage.output_tokens", std::to_string(in.output_tokens), false},
            {"usage.current_context_window", std::to_string(in.used), false},
            {"usage.max_context_window", std::to_string(max_context_window), false}};
  }
};

struct threshold_event {
  std::uint32_t percent = 70, threshold = 70;
  std::string checkpoint_id{};

  agentd_context_threshold make(keeper& to, const fake_conversation&) const {
    auto made = sized<agentd_context_threshold>();
    made.percent = percent;
    made.threshold = threshold;
    made.checkpoint_id = to.text(checkpoint_id);
    return made;
  }
  [[nodiscard]] named_values values(const fake_conversation&) const {
    return {{"percent", std::to_string(percent), false}, {"threshold", std::to_string(threshold), false}};
  }
};

struct before_compaction_event {
  std::uint16_t trigger = AGENTD_TRIGGER_AUTO, reason = AGENTD_REASON_THRESHOLD;
  std::uint16_t phase = AGENTD_PHASE_PRE_REQUEST, strategy = AGENTD_STRATEGY_TAIL;
  std::uint32_t vetoes = 0;
  std::uint64_t keep_tokens = 0, floor_tokens = 0;
  std::uint64_t summarized_first = 0, summarized_last = 0, kept_first = 0, kept_last = 0;
  std::string custom_instructions{};

  agentd_before_compaction make(keeper& to, const fake_conversation& in) const {
    auto made = sized<agentd_before_compaction>();
    made.trigger = trigger;
    made.reason = reason;
    made.phase = phase;
    made.strategy = strategy;
    made.vetoes = vetoes;
    made.tokens = in.used;
    made.limit = in.limit;
    made.keep_tokens = keep_tokens;
    made.floor_tokens = floor_tokens;
    made.summarized_first = summarized_first;
    made.summarized_last = summarized_last;
    made.kept_first = kept_first;
    made.kept_last = kept_last;
    made.model = to.text(in.model);
    made.custom_instructions = to.text(custom_instructions);
    made.context = in.gauge(to);
    made.messages = in.messages(to);
    return made;
  }
  [[nodiscard]] named_values values(const fake_conversation& in) const {
    return {{"tokens", std::to_string(in.used), false}, {"custom_instructions", custom_instructions}};
  }
};

struct after_compaction_event {
  std::uint16_t result = AGENTD_RESULT_APPLIED, method = AGENTD_METHOD_SUMMARY;
  std::uint64_t pre_tokens = 0, post_tokens = 0, duration_ns = 0, boundary_seq = 0;
  std::string boundary_id{}, summary{}, error{};
  before_compaction_event request{};

  agentd_after_compaction make(keeper& to, const fake_conversation& in) const {
    auto made = sized<agentd_after_compaction>();
    made.result = result;
    made.method = method;
    agentd_before_compaction asked = request.make(to, in);
    asked.messages = {};
    made.request = to.keep(asked);
    made.pre_tokens = pre_tokens;
    made.post_tokens = post_tokens;
    made.duration_ns = duration_ns;
    made.boundary_seq = boundary_seq;
    made.revision = in.revision;
    made.usage_before = in.usage(to);
    made.usage_spent = in.usage(to);
    made.boundary_id = to.text(boundary_id);
    made.summary = to.text(summary);
    made.error = to.text(error);
    return made;
  }
  [[nodiscard]] named_values values(const fake_conversation&) const {
    return {{"summary", summary}, {"boundary_id", boundary_id}};
  }
};

struct clear_event {
  std::string reason = "user";
  std::string new_conversation_id{};
  std::string checkpoint_id{};

  agentd_clear make(keeper& to, const fake_conversation&) const {
    auto made = sized<agentd_clear>();
    made.reason = to.text(reason);
    made.new_conversation_id = to.text(new_conversation_id);
    made.checkpoint_id = to.text(checkpoint_id);
    return made;
  }
  [[nodiscard]] named_values values(const fake_conversation&) const { return {{"reason", reason}}; }
};

struct subagent_event {
  std::uint32_t depth = 1;
  std::string agent_id = "agent-1", agent_type = "general", prompt{};

  agentd_subagent make(keeper& to, const fake_conversation&) const {
    auto made = sized<agentd_subagent>();
    made.depth = depth;
    made.agent_id = to.text(agent_id);
    made.agent_type = to.text(agent_type);
    made.prompt = to.text(prompt);
    return made;
  }
  [[nodiscard]] named_values values(const fake_conversation&) const { return {{"prompt", prompt}}; }
};

struct agent_error_event {
  std::string code = "provider", message{}, phase = "model";
  bool retryable = false;

  agentd_agent_error make(keeper& to, const fake_conversation&) const {
    auto made = sized<agentd_agent_error>();
    made.retryable = retryable ? 1 : 0;
    made.code = to.text(code);
    made.message = to.text(message);
    made.phase = to.text(phase);
    return made;
  }
  [[nodiscard]] named_values values(const fake_conversation&) const {
    return {{"code", code}, {"message", message}, {"phase", phase}};
  }
};

struct notification_event {
  std::string text{};
  std::uint32_t level = AGENTD_LEVEL_INFO;

  agentd_notification make(keeper& to, const fake_conversation&) const {
    auto made = sized<agentd_notification>();
    made.level = level;
    made.text = to.text(text);
    return made;
  }
  [[nodiscard]] named_values values(const fake_conversation&) const { return {{"text", text}}; }
};

// A payload record without a struct above: a test fills it itself.
template <typename Record>
struct record_event {
  Record record = sized<Record>();

  Record make(keeper&, const fake_conversation&) const { return record; }
  [[nodiscard]] named_values values(const fake_conversation&) const { return {}; }
};

// The struct that makes a payload's record.
template <typename Record>
struct event_of_record {
  using type = record_event<Record>;
};
#define AGENTD_FAKE_EVENT(record, from) \
  template <>                           \
  struct event_of_record<record> {      \
    using type = from;                  \
  };
AGENTD_FAKE_EVENT(agentd_session_start, session_start_event)
AGENTD_FAKE_EVENT(agentd_session_end, session_end_event)
AGENTD_FAKE_EVENT(agentd_user_message, user_message_event)
AGENTD_FAKE_EVENT(agentd_turn, turn_event)
AGENTD_FAKE_EVENT(agentd_model_call, model_call_event)
AGENTD_FAKE_EVENT(agentd_model_delta, model_delta_event)
AGENTD_FAKE_EVENT(agentd_model_response, model_response_event)
AGENTD_FAKE_EVENT(agentd_tool_call, tool_event)
AGENTD_FAKE_EVENT(agentd_agent_stop, stop_event)
AGENTD_FAKE_EVENT(agentd_context_threshold, threshold_event)
AGENTD_FAKE_EVENT(agentd_before_compaction, before_compaction_event)
AGENTD_FAKE_EVENT(agentd_after_compaction, after_compaction_event)
AGENTD_FAKE_EVENT(agentd_clear, clear_event)
AGENTD_FAKE_EVENT(agentd_subagent, subagent_event)
AGENTD_FAKE_EVENT(agentd_agent_error, agent_error_event)
AGENTD_FAKE_EVENT(agentd_notification, notification_event)
#undef AGENTD_FAKE_EVENT
template <typename Record>
using event_of = typename event_of_record<Record>::type;

// ---- actions, copied

struct recorded_part {
  std::uint32_t kind = 0;
  std::uint64_t first = 0, last = 0;
  std::uint16_t role = 0;  // of a literal
  std::string text;        // its text blocks, joined
};

// A block of a tool's result.
struct recorded_block {
  std::uint16_t kind = 0;
  std::string text, name, opaque;
};

// Any action; only the members of its kind are set.
struct recorded_action {
  std::uint16_t kind = 0;
  std::string text;                      // block, continue, summary, ...; a permission's reason; a recipe's name
  std::uint32_t target = 0;              // rewrite
  std::uint32_t strategy = 0;            // compact
  std::uint64_t keep_tokens = 0;         // compact
  std::string model, instructions;       // compact
  std::uint64_t base_revision = 0;       // replace
  std::vector<recorded_part> parts;      // replace
  std::uint32_t key = 0;                 // set
  std::uint64_t number = 0;              // set
  std::uint32_t decision = 0;            // permission
  bool for_session = false;              // permission
  std::string arguments_json;            // callback
  bool is_error = false;                 // tool result
  std::string structured_json;           // tool result
  std::uint32_t block_count = 0;         // tool result
  std::vector<recorded_block> blocks{};  // the same, in their order
};

// Copies an action, or reports its violation in `*wrong`.
class action_copier {
 public:
  static std::optional<recorded_action> copy(const agentd_action& from, std::string* wrong) {
    recorded_action made;
    made.kind = from.kind;
    switch (from.kind) {
#define AGENTD_FAKE_COPY(NAME, name, record, ...) \
  case AGENTD_ACT_##NAME:                         \
    return copy_as<agentd_##record>(from, std::move(made), wrong);
      AGENTD_ACTION_LIST(AGENTD_FAKE_COPY)
#undef AGENTD_FAKE_COPY
      default:
        return copy_as<agentd_act_text>(from, std::move(made), wrong);
    }
  }

 private:
  template <typename Act>
  static std::optional<recorded_action> copy_as(const agentd_action& from, recorded_action made, std::string* wrong) {
    if (from.size < sizeof(Act)) {
      *wrong = "an action whose size is smaller than its record";
      return std::nullopt;
    }
    if (!read(reinterpret_cast<const Act&>(from), made, wrong)) return std::nullopt;
    return made;
  }
  static bool read(const agentd_act_text& act, recorded_action& to, std::string*) {
    to.text = as_view(act.text);
    to.target = act.target;
    return true;
  }
  static bool read(const agentd_act_compact& act, recorded_action& to, std::string*) {
    to.strategy = act.strategy;
    to.keep_tokens = act.keep_tokens;
    to.model = as_view(act.model);
    to.instructions = as_view(act.instructions);
    return true;
  }
  static bool read(const agentd_act_replace& act, recorded_action& to, std::string* wrong) {
    to.base_revision = act.base_revision;
    if (act.parts.count != 0 && act.parts.stride < sizeof(agentd_part)) {
      *wrong = "parts whose stride is smaller than their record";
      return false;
    }
    for (std::uint32_t i = 0; i < act.parts.count; ++i) {
      const auto* part = reinterpret_cast<const agentd_part*>(static_cast<const char*>(act.parts.first) +
                                                              std::size_t{i} * act.parts.stride);
      if (!add_part(*part, to, wrong)) return false;
    }
    return true;
  }
  static bool add_part(const agentd_part& part, recorded_action& to, std::string* wrong) {
    recorded_part made;
    made.kind = part.kind;
    made.first = part.first;
    made.last = part.last;
    if (part.kind == AGENTD_PART_KEEP) {
      if (part.first == 0 || part.first > part.last) *wrong = "a KEEP part with an empty range";
    } else if (part.kind != AGENTD_PART_LITERAL) {
      *wrong = "a part of an unknown kind";
    } else if (part.message == nullptr || part.message->size < sizeof(agentd_message)) {
      *wrong = "a LITERAL part without a message";
    } else {
      made.role = part.message->role;
      made.text = message_view(part.message).text();
    }
    to.parts.push_back(std::move(made));
    return wrong->empty();
  }
  static bool read(const agentd_act_set& act, recorded_action& to, std::string*) {
    to.key = act.key;
    to.number = act.number;
    to.text = as_view(act.text);
    return true;
  }
  static bool read(const agentd_act_permission& act, recorded_action& to, std::string*) {
    to.decision = act.decision;
    to.for_session = act.remember != 0;
    to.text = as_view(act.reason);
    return true;
  }
  static bool read(const agentd_act_recipe& act, recorded_action& to, std::string*) {
    to.text = as_view(act.name);
    to.arguments_json = as_view(act.arguments_json);
    return true;
  }
  static bool read(const agentd_act_tool_result& act, recorded_action& to, std::string*) {
    to.is_error = act.is_error != 0;
    to.structured_json = as_view(act.structured_json);
    to.block_count = act.blocks.count;
    for (block_view each : block_list(act.blocks)) {
      to.blocks.push_back(
          {each.kind(), std::string(each.text()), std::string(each.name()), std::string(each.opaque())});
    }
    return true;
  }
};

// The actions that an event allows, as bits 1 << AGENTD_ACT_; from the contract's table.
[[nodiscard]] constexpr std::uint32_t legal_actions(std::uint32_t event) {
  switch (event) {
#define AGENTD_FAKE_LEGAL(NAME, name, id, record, blocking, continues, actions, ...) \
  case id:                                                                           \
    return actions;
    AGENTD_EVENT_TABLE(AGENTD_FAKE_LEGAL)
#undef AGENTD_FAKE_LEGAL
    case AGENTD_EVENT_SAVE_STATE:
      return AGENTD_MAY(STATE);
    case AGENTD_EVENT_TOOL_INVOKE:
      return AGENTD_MAY(TOOL_OUTPUT) | AGENTD_MAY(TOOL_RESULT);
    case AGENTD_EVENT_SERVICE_CALL:
      return AGENTD_MAY(SERVICE_RESULT);
    default:
      return 0;
  }
}

}  // namespace agentd::testing
