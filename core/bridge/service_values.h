// SPDX-License-Identifier: Apache-2.0
#pragma once
// service_values.h - arguments and results of service functions on the host's side: C arguments as C++ values, and
// results in the memory of the call. One Argument and one give() per pair of types; no function of a table has its own.
// Private to this room.
//
// Threading: values.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/bridge/actions.h"
#include "core/bridge/context_state.h"

namespace agentd {

// One service call: its caller, and the memory of its results.
class Ask {
 public:
  Ask(PluginContext::State& state, agentd_token token) : state_(state), token_(token), slot_(state.find(token)) {}

  bool stale() const { return slot_ == nullptr; }
  PluginContext::State& state() const { return state_; }
  CallSlot& slot() const { return *slot_; }
  agentd_token token() const { return token_; }

  // Cancelling the run cancels the service that it waits for.
  ServiceCaller caller() const {
    ServiceCaller out;
    out.plugin_id = state_.identity.id;
    out.conversation = slot_->conversation();
    out.event = slot_->event();
    out.cancel = slot_->service_cancel();
    out.call = token_;
    return out;
  }

  agentd_status fail(const Error& error) const {
    slot_->fail(token_, status_of(error.code), error.message);
    return status_of(error.code);
  }

  agentd_str text(std::string_view from) const { return slot_->copy(token_, from); }

  template <typename T>
  T* make(std::size_t count = 1) const {
    return static_cast<T*>(slot_->allocate(token_, sizeof(T) * (count == 0 ? 1 : count), alignof(T)));
  }

  const agentd_usage* usage(const Usage& from) const {
    auto* const out = make<agentd_usage>();
    if (out != nullptr) *out = to_abi(from);
    return out;
  }

  // Null when there is no memory.
  agentd_block* make_blocks(const std::vector<Block>& from) const {
    auto* const out = make<agentd_block>(from.size());
    if (out == nullptr) return nullptr;
    for (std::size_t i = 0; i < from.size(); ++i) {
      out[i] = agentd_block{};
      out[i].size = sizeof(agentd_block);
      out[i].kind = static_cast<std::uint16_t>(from[i].kind);
      out[i].flags = from[i].flags;
      out[i].text = text(from[i].text);
      out[i].full_len = from[i].text.size();
      out[i].name = text(from[i].name);
      out[i].call_id = text(from[i].call_id);
      out[i].json = text(from[i].json);
      out[i].opaque = text(from[i].opaque);
    }
    return out;
  }

  agentd_list blocks(const std::vector<Block>& from) const { return list_of(make_blocks(from), from.size()); }

  static agentd_list list_of(const agentd_block* blocks, std::size_t count) {
    if (blocks == nullptr) return {nullptr, 0, 0};
    return {blocks, static_cast<std::uint32_t>(count), sizeof(agentd_block)};
  }

 private:
  PluginContext::State& state_;
  agentd_token token_;
  CallSlot* slot_;
};

// ---- arguments: from the C function's parameters to the method's

template <typename From, typename To>
struct Argument;

template <typename Number>
struct Argument<Number, Number> {
  Result<void> load(Number from, std::uint32_t page) {
    value = from;
    if (sizeof(Number) == sizeof(page) && value == 0) value = static_cast<Number>(page);
    return {};
  }
  Number value{};
};

template <>
struct Argument<agentd_str, std::string_view> {
  Result<void> load(agentd_str from, std::uint32_t) {
    value = view_of(from);
    return {};
  }
  std::string_view value;
};

template <>
struct Argument<agentd_list, const agentd_list&> {
  Result<void> load(agentd_list from, std::uint32_t) {
    AGENTD_TRY(const std::vector<Message> copied, copy_messages(from));
    for (const Message& message : copied) rows.append(message, 0, 0);
    value = rows.list();
    return {};
  }
  Rows rows;
  agentd_list value{};
};

template <>
struct Argument<agentd_list, std::span<const PluginKeyOp>> {
  Result<void> load(agentd_list from, std::uint32_t) {
    const Error none{Code::kInvalid, "the list of operations is malformed"};
    if (from.count != 0 &&
        (from.first == nullptr || from.stride < sizeof(agentd_kv_op) || from.stride > 4096 || from.count > 10'000))
      return none;
    for (std::uint32_t i = 0; i < from.count; ++i) {
      const auto op = normalised(reinterpret_cast<const agentd_kv_op*>(static_cast<const char*>(from.first) +
                                                                       static_cast<std::size_t>(i) * from.stride));
      if (op.kind < AGENTD_KV_PUT || op.kind > AGENTD_KV_CHECK) return none;
      ops.push_back({op.kind, std::string(view_of(op.key)), std::string(view_of(op.value)), op.expect});
    }
    value = ops;
    return {};
  }
  std::vector<PluginKeyOp> ops;
  std::span<const PluginKeyOp> value;
};

template <>
struct Argument<const agentd_compact_options*, const CompactOptions&> {
  Result<void> load(const agentd_compact_options* raw, std::uint32_t) {
    const agentd_compact_options from = normalised(raw);
    value.strategy = from.strategy;
    value.keep_tokens = from.keep_tokens;
    if (from.max_summary_tokens != 0) value.max_summary_tokens = from.max_summary_tokens;
    value.model = std::string(view_of(from.model));
    value.instructions = std::string(view_of(from.instructions));
    return {};
  }
  CompactOptions value;
};

template <>
struct Argument<const agentd_compact_source*, const CompactSource&> {
  Result<void> load(const agentd_compact_source* raw, std::uint32_t page) {
    const agentd_compact_source from = normalised(raw);
    AGENTD_TRY_VOID(messages.load(from.messages, page));
    value = {from.conversation, from.first, from.last, messages.value};
    return {};
  }
  Argument<agentd_list, const agentd_list&> messages;
  CompactSource value;
};

template <>
struct Argument<const agentd_thread_options*, ThreadOptions> {
  Result<void> load(const agentd_thread_options* raw, std::uint32_t) {
    const agentd_thread_options from = normalised(raw);
    if (from.max_tokens != 0) value.max_tokens = from.max_tokens;
    value.model = std::string(view_of(from.model));
    value.system = std::string(view_of(from.system));
    value.charge_to = from.charge_to;
    value.budget_tokens = from.budget_tokens;
    AGENTD_TRY(value.history, copy_messages(from.history));
    return {};
  }
  ThreadOptions value;
};

template <>
struct Argument<const agentd_conv_query*, const agentd_conv_query&> {
  Result<void> load(const agentd_conv_query* from, std::uint32_t) {
    value = normalised(from);
    return {};
  }
  agentd_conv_query value{};
};

// ---- results: from the method's result to the C function's pointers

inline agentd_status give(const Ask&, std::uint64_t from, std::uint64_t* out) {
  if (out != nullptr) *out = from;
  return AGENTD_OK;
}

inline agentd_status give(const Ask& ask, const std::string& from, agentd_str* out) {
  *out = ask.text(from);
  return AGENTD_OK;
}

template <typename Record>
agentd_status give_record(const Ask& ask, const Record& from, const Record** out) {
  auto* const made = ask.make<Record>();
  if (made == nullptr) return AGENTD_E_NOMEM;
  *made = from;
  *out = made;
  return AGENTD_OK;
}

inline agentd_status give(const Ask& ask, const CompactAnswer& from, const agentd_compact_result** out) {
  return give_record(ask,
                     {sizeof(agentd_compact_result), static_cast<std::uint16_t>(from.outcome),
                      static_cast<std::uint16_t>(from.method), ask.text(from.summary), from.pre_tokens,
                      from.post_tokens, from.kept_first, from.kept_last, from.base_revision, ask.usage(from.usage)},
                     out);
}

inline agentd_status give(const Ask& ask, const ThreadReply& from, const agentd_reply** out) {
  return give_record(ask,
                     {sizeof(agentd_reply), static_cast<std::uint32_t>(from.stop_reason), ask.text(from.message.text()),
                      ask.blocks(from.message.blocks), ask.usage(from.usage)},
                     out);
}

inline agentd_status give(const Ask& ask, const Usage& from, const agentd_usage** out) {
  *out = ask.usage(from);
  return AGENTD_OK;
}

inline agentd_kv key_of(const Ask& ask, const PluginKey& from) {
  return {sizeof(agentd_kv), 0, ask.text(from.key), ask.text(from.value), from.version};
}

inline agentd_status give(const Ask& ask, const PluginKey& from, const agentd_kv** out) {
  return give_record(ask, key_of(ask, from), out);
}

inline agentd_status give(const Ask& ask, const std::vector<PluginKey>& from, agentd_list* out) {
  auto* const keys = ask.make<agentd_kv>(from.size());
  if (keys == nullptr) return AGENTD_E_NOMEM;
  for (std::size_t i = 0; i < from.size(); ++i) keys[i] = key_of(ask, from[i]);
  *out = {keys, static_cast<std::uint32_t>(from.size()), sizeof(agentd_kv)};
  return AGENTD_OK;
}

inline agentd_conv_info info_of(const Ask& ask, const ConversationInfo& from) {
  return {sizeof(agentd_conv_info),  0,
          ask.text(from.id),         ask.text(from.title),
          ask.text(from.project_id), ask.text(from.provider),
          ask.text(from.model),      from.created_ms,
          from.updated_ms,           from.revision};
}

inline agentd_status give(const Ask& ask, const std::vector<ConversationInfo>& from, agentd_list* out) {
  auto* const made = ask.make<agentd_conv_info>(from.size());
  *out = {nullptr, 0, 0};
  if (made == nullptr) return AGENTD_OK;
  for (std::size_t i = 0; i < from.size(); ++i) made[i] = info_of(ask, from[i]);
  *out = {made, static_cast<std::uint32_t>(from.size()), sizeof(agentd_conv_info)};
  return AGENTD_OK;
}

inline agentd_status give(const Ask& ask, const ConversationChanges& from, agentd_list* out, std::uint64_t* next) {
  *next = from.next;
  return give(ask, from.changed, out);
}

// Rows made for one call: their texts are copied into the call's memory.
inline agentd_status give(const Ask& ask, const Rows& rows, agentd_list* out) {
  auto* const messages = ask.make<agentd_message>(rows.size());
  if (messages == nullptr) return AGENTD_E_NOMEM;
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    messages[i] = rows[i];
    const Message value = to_message(rows[i]);
    auto* const blocks = ask.make_blocks(value.blocks);
    messages[i].blocks = Ask::list_of(blocks, value.blocks.size());
    for (std::uint32_t b = 0; b < messages[i].blocks.count; ++b) {
      const agentd_block& from = blocks_of(rows[i])[b];
      blocks[b].flags = from.flags;
      blocks[b].text.len = from.text.len;
      blocks[b].full_len = from.full_len;
      blocks[b].blob = ask.text(view_of(from.blob));
      blocks[b].parts = ask.blocks(value.blocks[b].parts);
    }
  }
  *out = {messages, rows.size(), sizeof(agentd_message)};
  return AGENTD_OK;
}

}  // namespace agentd
