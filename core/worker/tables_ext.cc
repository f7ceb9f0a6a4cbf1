// SPDX-License-Identifier: Apache-2.0
// tables_ext.cc - tools, provide, json and field for the plugin of a worker: interfaces with state on this side.
#include "core/bridge/actions.h"
#include "core/bridge/limits.h"
#include "core/worker/table_state.h"

namespace agentd::worker {
namespace {

using State = Tables::State;

// Registered under its number before the request: the host may call the function before it has answered.
std::uint64_t remember(State& state, agentd_fn fn, std::uint64_t tag) {
  const MutexLock lock(state.mutex);
  state.functions[++state.last_function] = {fn, tag};
  return state.last_function;
}

void forget(State& state, std::uint64_t number) {
  const MutexLock lock(state.mutex);
  state.functions.erase(number);
}

// ---- agentd.tools/1

agentd_status AGENTD_CALL tools_add(const agentd_tools* table, agentd_token token, const agentd_tool* tool) noexcept {
  Request request(state_of(table), token);
  if (tool == nullptr || tool->size < sizeof(agentd_tool))
    return request.fail(AGENTD_E_ARG, "a tool record has an impossible size");
  const agentd_tool from = normalised(tool);
  if (from.fn == nullptr) return request.fail(AGENTD_E_ARG, "a tool needs a name of 1 to 64 bytes and a function");
  const agentd_str schemas[] = {from.input_schema_json, from.output_schema_json};
  ServiceArgs args = args_for(ServiceOp::kToolsAdd);
  args.number[0] = from.flags;
  args.number[1] = from.timeout_ms;
  args.number[2] = remember(request.state(), from.fn, from.tag);
  args.text[0] = from.name;
  args.text[1] = from.title;
  args.text[2] = from.description;
  args.list = {schemas, 2, sizeof(agentd_str)};
  const agentd_status status = request.run(args);
  if (status != AGENTD_OK) forget(request.state(), args.number[2]);
  return status;
}

// Calls that run, or are about to, still find their function.
agentd_status AGENTD_CALL tools_remove(const agentd_tools* table, agentd_token token, agentd_str name) noexcept {
  Request request(state_of(table), token);
  ServiceArgs args = args_for(ServiceOp::kToolsRemove);
  args.text[0] = name;
  return request.run(args);
}

// ---- agentd.provide/1

agentd_status AGENTD_CALL provide_add(const agentd_provide* table, agentd_token token,
                                      const agentd_service_row* row) noexcept {
  Request request(state_of(table), token);
  if (row == nullptr || row->size < sizeof(agentd_service_row))
    return request.fail(AGENTD_E_ARG, "a service's row has an impossible size");
  const agentd_service_row from = normalised(row);
  if (from.fn == nullptr)
    return request.fail(AGENTD_E_ARG, "a service's row needs an interface, an operation and a function");
  ServiceArgs args = args_for(ServiceOp::kProvideAdd);
  args.number[0] = from.flags;
  args.number[1] = from.timeout_ms;
  args.number[2] = remember(request.state(), from.fn, from.tag);
  args.text[0] = from.interface_id;
  args.text[1] = from.operation;
  const agentd_status status = request.run(args);
  if (status != AGENTD_OK) forget(request.state(), args.number[2]);
  return status;
}

// Calls that run, or are about to, still find their function.
agentd_status AGENTD_CALL provide_remove(const agentd_provide* table, agentd_token token, agentd_str interface_id,
                                         agentd_str operation) noexcept {
  Request request(state_of(table), token);
  ServiceArgs args = args_for(ServiceOp::kProvideRemove);
  args.text[0] = interface_id;
  args.text[1] = operation;
  return request.run(args);
}

// ---- agentd.json/1 and agentd.field/1

agentd_status AGENTD_CALL json_payload(const agentd_json* table, agentd_token token, agentd_str* out) noexcept {
  if (out == nullptr) return AGENTD_E_ARG;
  Request request(state_of(table), token);
  if (request.stale()) return AGENTD_E_UNSUPPORTED;
  if (const auto made = request.call().json()) {
    *out = *made;
    return AGENTD_OK;
  }
  const agentd_status status = request.run(args_for(ServiceOp::kJsonPayload));
  if (status != AGENTD_OK) return status;
  *out = request.reply().text;
  request.call().set_json(*out);
  return AGENTD_OK;
}

uint32_t AGENTD_CALL field_key(const agentd_field* table, agentd_str path) noexcept {
  State& state = state_of(table);
  const std::string_view wanted = text_of(path);
  if (wanted.empty() || wanted.front() == '.' || wanted.back() == '.') return 0;
  if (wanted.size() > kFieldPathBytesMax) return 0;
  const MutexLock lock(state.mutex);
  const auto next = static_cast<std::uint32_t>(state.fields.size() + 1);
  if (next > kFieldKeysMax && !state.field_keys.contains(std::string(wanted))) return 0;
  const auto [place, is_new] = state.field_keys.emplace(wanted, next);
  if (is_new) state.fields.emplace_back(wanted);
  return place->second;
}

agentd_status AGENTD_CALL field_get(const agentd_field* table, agentd_token token, uint32_t key,
                                    agentd_str* out) noexcept {
  if (out == nullptr) return AGENTD_E_ARG;
  Request request(state_of(table), token);
  std::string path;
  {
    auto& state = request.state();
    const MutexLock lock(state.mutex);
    if (key == 0 || key > state.fields.size()) return AGENTD_E_ARG;
    path = state.fields[key - 1];
  }
  if (request.stale()) return AGENTD_E_UNSUPPORTED;
  ServiceArgs args = args_for(ServiceOp::kFieldGet);
  args.text[0] = to_abi_text(path);
  const agentd_status status = request.run(args);
  if (status == AGENTD_OK) *out = request.reply().text;
  return status;
}

}  // namespace

agentd_provide provide_table() { return {sizeof(agentd_provide), 0, provide_add, provide_remove}; }
agentd_tools tools_table() { return {sizeof(agentd_tools), 0, tools_add, tools_remove}; }
agentd_json json_table() { return {sizeof(agentd_json), 0, json_payload}; }
agentd_field field_table() { return {sizeof(agentd_field), 0, field_key, field_get}; }

}  // namespace agentd::worker
