// SPDX-License-Identifier: Apache-2.0
// tables_services.cc - compactor, thread factory and store as the plugin of a worker sees them.
#include "core/worker/table_state.h"

namespace agentd::worker {
namespace {

// A request that must not be stale and needs a place for its answer; false = `status` says why not.
bool refused(const Request& request, const void* out, agentd_status& status) {
  status = request.stale() ? AGENTD_E_NOT_FOUND : out == nullptr ? AGENTD_E_ARG : AGENTD_OK;
  return status != AGENTD_OK;
}

// The host's answer in the shape that the function promises.
agentd_status number_of(Request& request, const ServiceArgs& args, std::uint64_t* out) {
  const agentd_status status = request.run(args);
  if (status == AGENTD_OK) *out = request.reply().number[0];
  return status;
}

agentd_status text_of(Request& request, const ServiceArgs& args, agentd_str* out) {
  const agentd_status status = request.run(args);
  if (status == AGENTD_OK) *out = request.reply().text;
  return status;
}

agentd_status list_of(Request& request, const ServiceArgs& args, agentd_list* out) {
  const agentd_status status = request.run(args);
  if (status == AGENTD_OK) *out = request.reply().list;
  return status;
}

template <typename T>
agentd_status record_of(Request& request, const ServiceArgs& args, const T** out) {
  const agentd_status status = request.run(args);
  if (status == AGENTD_OK) *out = static_cast<const T*>(request.reply().record);
  return status;
}

// ---- compactor

agentd_status AGENTD_CALL count_text(const agentd_compactor* me, agentd_token token, agentd_str model, agentd_str text,
                                     uint64_t* out) noexcept {
  Request request(state_of(me), token);
  if (agentd_status status; refused(request, out, status)) return status;
  ServiceArgs args = args_for(ServiceOp::kCountText);
  args.text[0] = model;
  args.text[1] = text;
  return number_of(request, args, out);
}

agentd_status AGENTD_CALL count_messages(const agentd_compactor* me, agentd_token token, agentd_str model,
                                         agentd_list messages, uint64_t* out) noexcept {
  Request request(state_of(me), token);
  if (agentd_status status; refused(request, out, status)) return status;
  ServiceArgs args = args_for(ServiceOp::kCountMessages);
  args.text[0] = model;
  args.list = messages;
  return number_of(request, args, out);
}

agentd_status AGENTD_CALL prompt(const agentd_compactor* me, agentd_token token, const agentd_compact_options* options,
                                 agentd_str* out) noexcept {
  Request request(state_of(me), token);
  if (agentd_status status; refused(request, out, status)) return status;
  ServiceArgs args = args_for(ServiceOp::kPrompt);
  args.record[0] = options;
  return text_of(request, args, out);
}

agentd_status AGENTD_CALL compact(const agentd_compactor* me, agentd_token token, const agentd_compact_source* source,
                                  const agentd_compact_options* options, const agentd_compact_result** out) noexcept {
  Request request(state_of(me), token);
  if (agentd_status status; refused(request, out, status)) return status;
  if (source == nullptr) return AGENTD_E_ARG;
  ServiceArgs args = args_for(ServiceOp::kCompact);
  args.record[0] = source;
  args.record[1] = options;
  return record_of(request, args, out);
}

agentd_status AGENTD_CALL request_compaction(const agentd_compactor* me, agentd_token token, agentd_str conversation_id,
                                             const agentd_compact_options* options) noexcept {
  Request request(state_of(me), token);
  if (request.stale()) return AGENTD_E_NOT_FOUND;
  ServiceArgs args = args_for(ServiceOp::kRequest);
  args.text[0] = conversation_id;
  args.record[0] = options;
  return request.run(args);
}

// ---- thread factory

agentd_status AGENTD_CALL thread_open(const agentd_thread_factory* me, agentd_token token,
                                      const agentd_thread_options* options, agentd_thread* out) noexcept {
  Request request(state_of(me), token);
  if (agentd_status status; refused(request, out, status)) return status;
  ServiceArgs args = args_for(ServiceOp::kThreadOpen);
  args.record[0] = options;
  return number_of(request, args, out);
}

agentd_status AGENTD_CALL thread_send(const agentd_thread_factory* me, agentd_token token, agentd_thread thread,
                                      agentd_str text, const agentd_reply** out) noexcept {
  Request request(state_of(me), token);
  if (agentd_status status; refused(request, out, status)) return status;
  ServiceArgs args = args_for(ServiceOp::kThreadSend);
  args.number[0] = thread;
  args.text[0] = text;
  return record_of(request, args, out);
}

agentd_status AGENTD_CALL thread_usage(const agentd_thread_factory* me, agentd_token token, agentd_thread thread,
                                       const agentd_usage** out) noexcept {
  Request request(state_of(me), token);
  if (agentd_status status; refused(request, out, status)) return status;
  ServiceArgs args = args_for(ServiceOp::kThreadUsage);
  args.number[0] = thread;
  return record_of(request, args, out);
}

// Needs no token; inside of a call it goes the way of that call.
agentd_status AGENTD_CALL thread_close(const agentd_thread_factory* me, agentd_thread thread) noexcept {
  Request request(state_of(me), HostLine::own_token());
  ServiceArgs args = args_for(ServiceOp::kThreadClose);
  args.number[0] = thread;
  return request.run(args);
}

// ---- store

agentd_status AGENTD_CALL store_get(const agentd_store* me, agentd_token token, agentd_str key,
                                    const agentd_kv** out) noexcept {
  Request request(state_of(me), token);
  if (agentd_status status; refused(request, out, status)) return status;
  ServiceArgs args = args_for(ServiceOp::kStoreGet);
  args.text[0] = key;
  return record_of(request, args, out);
}

agentd_status AGENTD_CALL store_scan(const agentd_store* me, agentd_token token, agentd_str prefix, agentd_str after,
                                     uint32_t limit, agentd_list* out) noexcept {
  Request request(state_of(me), token);
  if (agentd_status status; refused(request, out, status)) return status;
  ServiceArgs args = args_for(ServiceOp::kStoreScan);
  args.text[0] = prefix;
  args.text[1] = after;
  args.number[0] = limit;
  return list_of(request, args, out);
}

agentd_status AGENTD_CALL store_commit(const agentd_store* me, agentd_token token, agentd_list ops,
                                       uint64_t* version) noexcept {
  Request request(state_of(me), token);
  if (request.stale()) return AGENTD_E_NOT_FOUND;
  ServiceArgs args = args_for(ServiceOp::kStoreCommit);
  args.list = ops;
  std::uint64_t ignored = 0;
  return number_of(request, args, version == nullptr ? &ignored : version);
}

agentd_status AGENTD_CALL store_conversations(const agentd_store* me, agentd_token token,
                                              const agentd_conv_query* query, agentd_list* out) noexcept {
  Request request(state_of(me), token);
  if (agentd_status status; refused(request, out, status)) return status;
  ServiceArgs args = args_for(ServiceOp::kStoreConversations);
  args.record[0] = query;
  return list_of(request, args, out);
}

agentd_status AGENTD_CALL store_messages(const agentd_store* me, agentd_token token, agentd_str conversation_id,
                                         uint32_t scope, uint64_t at, uint64_t from, uint32_t limit,
                                         agentd_list* out) noexcept {
  Request request(state_of(me), token);
  if (agentd_status status; refused(request, out, status)) return status;
  ServiceArgs args = args_for(ServiceOp::kStoreMessages);
  args.text[0] = conversation_id;
  args.number[0] = scope;
  args.number[1] = at;
  args.number[2] = from;
  args.number[3] = limit;
  return list_of(request, args, out);
}

agentd_status AGENTD_CALL store_read_blob(const agentd_store* me, agentd_token token, agentd_str blob, uint64_t offset,
                                          uint64_t limit, agentd_str* out) noexcept {
  Request request(state_of(me), token);
  if (agentd_status status; refused(request, out, status)) return status;
  ServiceArgs args = args_for(ServiceOp::kStoreReadBlob);
  args.text[0] = blob;
  args.number[0] = offset;
  args.number[1] = limit;
  return text_of(request, args, out);
}

agentd_status AGENTD_CALL store_changes(const agentd_store* me, agentd_token token, uint64_t cursor, uint32_t limit,
                                        agentd_list* out, uint64_t* next) noexcept {
  Request request(state_of(me), token);
  if (agentd_status status; refused(request, out, status)) return status;
  if (next == nullptr) return AGENTD_E_ARG;
  ServiceArgs args = args_for(ServiceOp::kStoreChanges);
  args.number[0] = cursor;
  args.number[1] = limit;
  const agentd_status status = list_of(request, args, out);
  if (status == AGENTD_OK) *next = request.reply().number[0];
  return status;
}

}  // namespace

agentd_compactor compactor_table() {
  return {sizeof(agentd_compactor), 0, count_text, count_messages, prompt, compact, request_compaction};
}

agentd_thread_factory threads_table() {
  return {sizeof(agentd_thread_factory), 0, thread_open, thread_send, thread_usage, thread_close};
}

agentd_store store_table() {
  return {sizeof(agentd_store),
          0,
          store_get,
          store_scan,
          store_commit,
          store_conversations,
          store_messages,
          store_read_blob,
          store_changes};
}

}  // namespace agentd::worker
