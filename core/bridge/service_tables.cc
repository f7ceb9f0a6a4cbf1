// SPDX-License-Identifier: Apache-2.0
// service_tables.cc - compactor, thread factory and store as C tables in front of hooks::Services.
#include "core/bridge/actions.h"
#include "core/bridge/context_state.h"

namespace agentd {
namespace {

using State = PluginContext::State;

// One service call: who asks, and where its results live.
class Ask {
 public:
  Ask(State& state, agentd_token token) : state_(state), token_(token), slot_(state.find(token)) {}

  bool stale() const { return slot_ == nullptr; }
  State& state() const { return state_; }
  CallSlot& slot() const { return *slot_; }
  agentd_token token() const { return token_; }

  // Who cancels the run cancels the service that it waits for.
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

  agentd_list blocks(const std::vector<Block>& from) const {
    auto* const out = make<agentd_block>(from.size());
    if (out == nullptr) return {nullptr, 0, 0};
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
    return {out, static_cast<std::uint32_t>(from.size()), sizeof(agentd_block)};
  }

 private:
  State& state_;
  agentd_token token_;
  CallSlot* slot_;
};

// Moves the call's deadline on by the time that its services took: it is the host's, not the
// hook's.
class HostTime {
 public:
  explicit HostTime(const Ask& ask) : ask_(ask) {
    ask_.slot().begin_host_time(ask_.token(), ask_.state().clock.monotonic_ns());
  }
  ~HostTime() { ask_.slot().end_host_time(ask_.token(), ask_.state().clock.monotonic_ns()); }
  HostTime(const HostTime&) = delete;
  HostTime& operator=(const HostTime&) = delete;

 private:
  const Ask& ask_;
};

CompactOptions options_of(const agentd_compact_options* raw) {
  const agentd_compact_options from = normalised(raw);
  CompactOptions out;
  out.strategy = from.strategy;
  out.keep_tokens = from.keep_tokens;
  if (from.max_summary_tokens != 0) out.max_summary_tokens = from.max_summary_tokens;
  out.model = std::string(view_of(from.model));
  out.instructions = std::string(view_of(from.instructions));
  return out;
}

// ---- compactor

State& of(const agentd_compactor* table) { return *reinterpret_cast<const CompactorTable*>(table)->state; }

agentd_status AGENTD_CALL count_text(const agentd_compactor* me, agentd_token token, agentd_str model, agentd_str text,
                                     uint64_t* out) noexcept {
  const Ask ask(of(me), token);
  if (ask.stale()) return AGENTD_E_NOT_FOUND;
  if (out == nullptr) return AGENTD_E_ARG;
  *out = ask.state().backend.count_text(view_of(model), view_of(text));
  return AGENTD_OK;
}

agentd_status AGENTD_CALL count_messages(const agentd_compactor* me, agentd_token token, agentd_str model,
                                         agentd_list messages, uint64_t* out) noexcept {
  const Ask ask(of(me), token);
  if (ask.stale()) return AGENTD_E_NOT_FOUND;
  if (out == nullptr) return AGENTD_E_ARG;
  auto copied = copy_messages(messages);
  if (!copied) return ask.fail(copied.error());
  Rows rows;
  for (const Message& message : *copied) rows.append(message, 0, 0);
  *out = ask.state().backend.count_messages(view_of(model), rows.list());
  return AGENTD_OK;
}

agentd_status AGENTD_CALL prompt(const agentd_compactor* me, agentd_token token, const agentd_compact_options* options,
                                 agentd_str* out) noexcept {
  const Ask ask(of(me), token);
  if (ask.stale()) return AGENTD_E_NOT_FOUND;
  if (out == nullptr) return AGENTD_E_ARG;
  auto text = ask.state().backend.compaction_prompt(options_of(options));
  if (!text) return ask.fail(text.error());
  *out = ask.text(*text);
  return AGENTD_OK;
}

agentd_status AGENTD_CALL compact(const agentd_compactor* me, agentd_token token, const agentd_compact_source* source,
                                  const agentd_compact_options* options, const agentd_compact_result** out) noexcept {
  const Ask ask(of(me), token);
  if (ask.stale()) return AGENTD_E_NOT_FOUND;
  if (out == nullptr || source == nullptr) return AGENTD_E_ARG;
  const HostTime host_time(ask);
  const agentd_compact_source from = normalised(source);
  auto copied = copy_messages(from.messages);
  if (!copied) return ask.fail(copied.error());
  Rows rows;
  for (const Message& message : *copied) rows.append(message, 0, 0);
  CompactSource what{from.conversation, from.first, from.last, rows.list()};
  auto answer = ask.state().backend.compact(ask.caller(), what, options_of(options));
  if (!answer) return ask.fail(answer.error());
  auto* const result = ask.make<agentd_compact_result>();
  if (result == nullptr) return AGENTD_E_NOMEM;
  *result = {sizeof(agentd_compact_result),
             static_cast<std::uint16_t>(answer->outcome),
             static_cast<std::uint16_t>(answer->method),
             ask.text(answer->summary),
             answer->pre_tokens,
             answer->post_tokens,
             answer->kept_first,
             answer->kept_last,
             answer->base_revision,
             ask.usage(answer->usage)};
  *out = result;
  return AGENTD_OK;
}

agentd_status AGENTD_CALL request(const agentd_compactor* me, agentd_token token, agentd_str conversation_id,
                                  const agentd_compact_options* options) noexcept {
  const Ask ask(of(me), token);
  if (ask.stale()) return AGENTD_E_NOT_FOUND;
  auto done = ask.state().backend.request_compaction(ask.caller(), view_of(conversation_id), options_of(options));
  return done ? AGENTD_OK : ask.fail(done.error());
}

// ---- thread factory

State& of(const agentd_thread_factory* table) { return *reinterpret_cast<const ThreadsTable*>(table)->state; }

agentd_status AGENTD_CALL thread_open(const agentd_thread_factory* me, agentd_token token,
                                      const agentd_thread_options* options, agentd_thread* out) noexcept {
  const Ask ask(of(me), token);
  if (ask.stale()) return AGENTD_E_NOT_FOUND;
  if (out == nullptr) return AGENTD_E_ARG;
  const agentd_thread_options from = normalised(options);
  ThreadOptions wanted;
  if (from.max_tokens != 0) wanted.max_tokens = from.max_tokens;
  wanted.model = std::string(view_of(from.model));
  wanted.system = std::string(view_of(from.system));
  wanted.charge_to = from.charge_to;
  wanted.budget_tokens = from.budget_tokens;
  auto history = copy_messages(from.history);
  if (!history) return ask.fail(history.error());
  wanted.history = std::move(*history);
  auto opened = ask.state().backend.open_thread(ask.caller(), std::move(wanted));
  if (!opened) return ask.fail(opened.error());
  *out = *opened;
  return AGENTD_OK;
}

agentd_status AGENTD_CALL thread_send(const agentd_thread_factory* me, agentd_token token, agentd_thread thread,
                                      agentd_str text, const agentd_reply** out) noexcept {
  const Ask ask(of(me), token);
  if (ask.stale()) return AGENTD_E_NOT_FOUND;
  if (out == nullptr) return AGENTD_E_ARG;
  const HostTime host_time(ask);
  auto reply = ask.state().backend.send(ask.caller(), thread, view_of(text));
  if (!reply) {
    const agentd_status status = ask.fail(reply.error());
    return status == AGENTD_E_DENIED ? AGENTD_E_TOO_BIG : status;  // the budget is spent
  }
  auto* const result = ask.make<agentd_reply>();
  if (result == nullptr) return AGENTD_E_NOMEM;
  *result = {sizeof(agentd_reply), static_cast<std::uint32_t>(reply->stop_reason), ask.text(reply->message.text()),
             ask.blocks(reply->message.blocks), ask.usage(reply->usage)};
  *out = result;
  return AGENTD_OK;
}

agentd_status AGENTD_CALL thread_usage(const agentd_thread_factory* me, agentd_token token, agentd_thread thread,
                                       const agentd_usage** out) noexcept {
  const Ask ask(of(me), token);
  if (ask.stale()) return AGENTD_E_NOT_FOUND;
  if (out == nullptr) return AGENTD_E_ARG;
  auto usage = ask.state().backend.thread_usage(ask.caller(), thread);
  if (!usage) return ask.fail(usage.error());
  *out = ask.usage(*usage);
  return AGENTD_OK;
}

agentd_status AGENTD_CALL thread_close(const agentd_thread_factory* me, agentd_thread thread) noexcept {
  State& state = of(me);
  if (state.abandoned.load()) return AGENTD_E_CANCELLED;
  auto closed = state.backend.close_thread(state.identity.id, thread);
  return closed ? AGENTD_OK : status_of(closed.error().code);
}

// ---- store

State& of(const agentd_store* table) { return *reinterpret_cast<const StoreTable*>(table)->state; }

agentd_kv key_of(const Ask& ask, const PluginKey& from) {
  return {sizeof(agentd_kv), 0, ask.text(from.key), ask.text(from.value), from.version};
}

agentd_status AGENTD_CALL store_get(const agentd_store* me, agentd_token token, agentd_str key,
                                    const agentd_kv** out) noexcept {
  const Ask ask(of(me), token);
  if (ask.stale()) return AGENTD_E_NOT_FOUND;
  if (out == nullptr) return AGENTD_E_ARG;
  auto found = ask.state().backend.get(ask.caller(), view_of(key));
  if (!found) return status_of(found.error().code);
  auto* const result = ask.make<agentd_kv>();
  if (result == nullptr) return AGENTD_E_NOMEM;
  *result = key_of(ask, *found);
  *out = result;
  return AGENTD_OK;
}

agentd_status AGENTD_CALL store_scan(const agentd_store* me, agentd_token token, agentd_str prefix, agentd_str after,
                                     uint32_t limit, agentd_list* out) noexcept {
  const Ask ask(of(me), token);
  if (ask.stale()) return AGENTD_E_NOT_FOUND;
  if (out == nullptr) return AGENTD_E_ARG;
  auto found = ask.state().backend.scan(ask.caller(), view_of(prefix), view_of(after), limit == 0 ? 100 : limit);
  if (!found) return ask.fail(found.error());
  auto* const keys = ask.make<agentd_kv>(found->size());
  if (keys == nullptr) return AGENTD_E_NOMEM;
  for (std::size_t i = 0; i < found->size(); ++i) keys[i] = key_of(ask, (*found)[i]);
  *out = {keys, static_cast<std::uint32_t>(found->size()), sizeof(agentd_kv)};
  return AGENTD_OK;
}

agentd_status AGENTD_CALL store_commit(const agentd_store* me, agentd_token token, agentd_list ops,
                                       uint64_t* version) noexcept {
  const Ask ask(of(me), token);
  if (ask.stale()) return AGENTD_E_NOT_FOUND;
  if (ops.count != 0 &&
      (ops.first == nullptr || ops.stride < sizeof(agentd_kv_op) || ops.stride > 4096 || ops.count > 10'000))
    return AGENTD_E_ARG;
  std::vector<PluginKeyOp> wanted;
  for (std::uint32_t i = 0; i < ops.count; ++i) {
    const auto from = normalised(reinterpret_cast<const agentd_kv_op*>(static_cast<const char*>(ops.first) +
                                                                       static_cast<std::size_t>(i) * ops.stride));
    if (from.kind < AGENTD_KV_PUT || from.kind > AGENTD_KV_CHECK) return AGENTD_E_ARG;
    wanted.push_back({from.kind, std::string(view_of(from.key)), std::string(view_of(from.value)), from.expect});
  }
  auto done = ask.state().backend.commit(ask.caller(), wanted);
  if (!done && done.error().code == Code::kDenied) {
    ask.fail(done.error());
    return AGENTD_E_TOO_BIG;  // the budget of its keys is spent
  }
  if (!done) return status_of(done.error().code);
  if (version != nullptr) *version = *done;
  return AGENTD_OK;
}

agentd_list info_list(const Ask& ask, const std::vector<ConversationInfo>& from) {
  auto* const out = ask.make<agentd_conv_info>(from.size());
  if (out == nullptr) return {nullptr, 0, 0};
  for (std::size_t i = 0; i < from.size(); ++i) {
    const ConversationInfo& info = from[i];
    out[i] = {sizeof(agentd_conv_info),  0,
              ask.text(info.id),         ask.text(info.title),
              ask.text(info.project_id), ask.text(info.provider),
              ask.text(info.model),      info.created_ms,
              info.updated_ms,           info.revision};
  }
  return {out, static_cast<std::uint32_t>(from.size()), sizeof(agentd_conv_info)};
}

agentd_status AGENTD_CALL store_conversations(const agentd_store* me, agentd_token token,
                                              const agentd_conv_query* query, agentd_list* out) noexcept {
  const Ask ask(of(me), token);
  if (ask.stale()) return AGENTD_E_NOT_FOUND;
  if (out == nullptr) return AGENTD_E_ARG;
  auto found = ask.state().backend.conversations(normalised(query));
  if (!found) return ask.fail(found.error());
  *out = info_list(ask, *found);
  return AGENTD_OK;
}

// Rows made for one call: their texts are copied into the call's memory.
agentd_status give_rows(const Ask& ask, const Rows& rows, agentd_list* out) {
  auto* const messages = ask.make<agentd_message>(rows.size());
  if (messages == nullptr) return AGENTD_E_NOMEM;
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    messages[i] = rows[i];
    const Message value = to_message(rows[i]);
    messages[i].blocks = ask.blocks(value.blocks);
    auto* const blocks = static_cast<agentd_block*>(const_cast<void*>(messages[i].blocks.first));
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

agentd_status AGENTD_CALL store_messages(const agentd_store* me, agentd_token token, agentd_str conversation_id,
                                         uint32_t scope, uint64_t at, uint64_t from, uint32_t limit,
                                         agentd_list* out) noexcept {
  const Ask ask(of(me), token);
  if (ask.stale()) return AGENTD_E_NOT_FOUND;
  if (out == nullptr || (scope != AGENTD_SCOPE_VIEW && scope != AGENTD_SCOPE_LOG)) return AGENTD_E_ARG;
  auto rows = ask.state().backend.messages(view_of(conversation_id), scope, at, from, limit == 0 ? 1'000 : limit);
  if (!rows) return ask.fail(rows.error());
  return give_rows(ask, *rows, out);
}

agentd_status AGENTD_CALL store_read_blob(const agentd_store* me, agentd_token token, agentd_str blob, uint64_t offset,
                                          uint64_t limit, agentd_str* out) noexcept {
  const Ask ask(of(me), token);
  if (ask.stale()) return AGENTD_E_NOT_FOUND;
  if (out == nullptr) return AGENTD_E_ARG;
  auto bytes = ask.state().backend.read_blob(view_of(blob), offset, limit);
  if (!bytes) return ask.fail(bytes.error());
  *out = ask.text(*bytes);
  return AGENTD_OK;
}

agentd_status AGENTD_CALL store_changes(const agentd_store* me, agentd_token token, uint64_t cursor, uint32_t limit,
                                        agentd_list* out, uint64_t* next) noexcept {
  const Ask ask(of(me), token);
  if (ask.stale()) return AGENTD_E_NOT_FOUND;
  if (out == nullptr || next == nullptr) return AGENTD_E_ARG;
  auto changed = ask.state().backend.changes(cursor, limit == 0 ? 100 : limit, next);
  if (!changed) return ask.fail(changed.error());
  *out = info_list(ask, *changed);
  return AGENTD_OK;
}

}  // namespace

void fill_service_tables(PluginContext::State& state) {
  state.compactor = {{sizeof(agentd_compactor), 0, count_text, count_messages, prompt, compact, request}, &state};
  state.threads = {{sizeof(agentd_thread_factory), 0, thread_open, thread_send, thread_usage, thread_close}, &state};
  state.store = {{sizeof(agentd_store), 0, store_get, store_scan, store_commit, store_conversations, store_messages,
                  store_read_blob, store_changes},
                 &state};
  if (state.grants.compactor) state.services.compactor = &state.compactor.table;
  if (state.grants.threads) state.services.threads = &state.threads.table;
  if (state.grants.store) state.services.store = &state.store.table;
}

}  // namespace agentd
