// SPDX-License-Identifier: Apache-2.0
#include "core/bridge/context_state.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/for_ever.h"
#include "core/bridge/actions.h"
#include "core/bridge/limits.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

using State = PluginContext::State;

State& state_of_core(const agentd_core* core) { return *reinterpret_cast<const CoreTable*>(core)->state; }

void AGENTD_CALL core_fail(const agentd_core* core, agentd_token token, agentd_status status,
                           agentd_str what) noexcept {
  State& state = state_of_core(core);
  if (state.abandoned.load()) return;
  std::string text = one_line(view_of(what), 2'000);
  CallSlot* const slot = state.find(token);
  if (slot == nullptr || !slot->log_later(token, state.identity.name + ": " + text))
    state.log.write(LogLevel::kWarning, state.identity.name, text);
  if (slot != nullptr) slot->fail(token, status, std::move(text));
}

void AGENTD_CALL core_log(const agentd_core* core, agentd_token, int32_t level, agentd_str text) noexcept {
  State& state = state_of_core(core);
  if (state.abandoned.load()) return;
  const int clamped = std::clamp(level, AGENTD_LEVEL_DEBUG, AGENTD_LEVEL_ERROR);
  state.log.write(static_cast<LogLevel>(clamped), state.identity.name, one_line(view_of(text), 2'000));
}

const void* AGENTD_CALL core_query(const agentd_core* core, agentd_str id, uint32_t min_size) noexcept {
  State& state = state_of_core(core);
  const MutexLock lock(state.mutex);
  const auto found = state.interfaces.find(std::string(view_of(id)));
  if (found == state.interfaces.end()) return nullptr;
  std::uint32_t size = 0;
  std::memcpy(&size, found->second, sizeof size);
  return size >= min_size ? found->second : nullptr;
}

uint32_t AGENTD_CALL core_event_id(const agentd_core*, agentd_str name) noexcept {
  const EventTraits* const event = find_event(view_of(name));
  return event == nullptr ? 0 : event->id;
}

// The actions of control calls, which are not in the table of events.
bool legal_in_control(std::uint32_t event, std::uint32_t kind) {
  if (event == AGENTD_EVENT_SAVE_STATE) return kind == AGENTD_ACT_STATE;
  if (event == AGENTD_EVENT_SERVICE_CALL) return kind == AGENTD_ACT_SERVICE_RESULT;
  return event == AGENTD_EVENT_TOOL_INVOKE && (kind == AGENTD_ACT_TOOL_OUTPUT || kind == AGENTD_ACT_TOOL_RESULT);
}

agentd_status AGENTD_CALL core_emit(const agentd_core* core, agentd_token token, const agentd_action* action) noexcept {
  State& state = state_of_core(core);
  CallSlot* const slot = state.find(token);
  if (slot == nullptr) return AGENTD_E_NOT_FOUND;
  const std::uint32_t during = slot->event();
  if (during == 0) return AGENTD_E_UNSUPPORTED;  // a scope: no event waits for an answer
  auto copied = copy_action(action);
  if (!copied) {
    state.log.write(LogLevel::kWarning, state.identity.name, copied.error().message);
    return AGENTD_E_ARG;
  }
  if (!is_legal(during, copied->kind) && !legal_in_control(during, copied->kind)) {
    const EventTraits* const event = find_event(during);
    const std::string what = "the action " + std::string(action_name(copied->kind)) + " is not legal for " +
                             (event == nullptr ? "this call" : std::string(event->name)) + "; it was ignored";
    state.log.write(LogLevel::kWarning, state.identity.name, what);
    slot->fail(token, AGENTD_E_UNSUPPORTED, what);
    return AGENTD_E_UNSUPPORTED;
  }
  return slot->emit(token, std::move(*copied)) ? AGENTD_OK : AGENTD_E_NOT_FOUND;
}

// No hook needs more in one piece; beyond it a wrong length would use up the machine's memory.
constexpr std::size_t kArenaBytesMax = std::size_t{1} << 30;

void* AGENTD_CALL core_arena(const agentd_core* core, agentd_token token, size_t bytes, size_t align) noexcept {
  if (align == 0 || align > 64 || (align & (align - 1)) != 0 || bytes > kArenaBytesMax) return nullptr;
  CallSlot* const slot = state_of_core(core).find(token);
  return slot == nullptr ? nullptr : slot->allocate(token, bytes, align);
}

agentd_status AGENTD_CALL core_complete(const agentd_core* core, agentd_token token, agentd_status status) noexcept {
  CallSlot* const slot = state_of_core(core).find(token);
  if (slot == nullptr || status == AGENTD_PENDING) return AGENTD_E_NOT_FOUND;
  return slot->complete(token, status) ? AGENTD_OK : AGENTD_E_NOT_FOUND;
}

agentd_status AGENTD_CALL core_scope_open(const agentd_core* core, agentd_conv conversation, uint64_t deadline_ns,
                                          agentd_token* out, const agentd_live** live) noexcept {
  if (out == nullptr) return AGENTD_E_ARG;
  State& state = state_of_core(core);
  if (state.abandoned.load()) return AGENTD_E_CANCELLED;
  auto scope = std::make_unique<OpenScope>(state.tokens);
  CallSlot& slot = *scope->slot;
  slot.set_deadline(deadline_ns);
  slot.announce(0, conversation);
  *out = slot.open(nullptr);
  if (live != nullptr) *live = &slot.live();
  const MutexLock lock(state.mutex);
  state.scopes.emplace(*out, std::move(scope));
  return AGENTD_OK;
}

void AGENTD_CALL core_scope_close(const agentd_core* core, agentd_token token) noexcept {
  State& state = state_of_core(core);
  if (state.abandoned.load()) return;
  const MutexLock lock(state.mutex);
  state.scopes.erase(token);
}

uint64_t AGENTD_CALL core_now_ns(const agentd_core* core) noexcept {
  const State& state = state_of_core(core);
  return state.abandoned.load() ? UINT64_MAX : state.clock.monotonic_ns();
}

// ---- agentd.tools/1

bool is_path(JsonView property) { return property["format"].string_or("") == "path"; }

// Writes `schema` without the "format" members of properties that are paths.
void write_without_path_formats(JsonWriter& out, JsonView schema) {
  out.begin_object();
  for (std::size_t i = 0; i < schema.size(); ++i) {
    const JsonView value = schema.at(i);
    out.key(schema.key_at(i));
    if (schema.key_at(i) != "properties" || !value.is_object()) {
      out.value(value);
      continue;
    }
    out.begin_object();
    for (std::size_t p = 0; p < value.size(); ++p) {
      const JsonView property = value.at(p);
      out.key(value.key_at(p));
      if (!is_path(property)) {
        out.value(property);
        continue;
      }
      out.begin_object();
      for (std::size_t m = 0; m < property.size(); ++m)
        if (property.key_at(m) != "format") out.key(property.key_at(m)).value(property.at(m));
      out.end_object();
    }
    out.end_object();
  }
  out.end_object();
}

// The properties with "format": "path". That format is for agentd: providers know a fixed list of formats and some
// refuse others, so it is removed from the model's text.
std::vector<std::string> take_path_keys(JsonView schema, std::string& text) {
  std::vector<std::string> keys;
  const JsonView properties = schema["properties"];
  for (std::size_t i = 0; i < properties.size(); ++i)
    if (properties.is_object() && is_path(properties.at(i))) keys.emplace_back(properties.key_at(i));
  if (keys.empty()) return keys;
  JsonWriter out;
  write_without_path_formats(out, schema);
  text = std::string(out.text());
  return keys;
}

// The names that every provider accepts: one invalid name makes them refuse the complete request.
bool is_tool_name(std::string_view name) {
  constexpr std::size_t kMost = 64;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && name.size() <= kMost && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-'; });
}

Result<PluginTool> copy_tool(const agentd_tool* raw, const std::string& origin) {
  if (raw == nullptr || raw->size < sizeof(agentd_tool))
    return Error{Code::kInvalid, "a tool record has an impossible size"};
  const agentd_tool from = normalised(raw);
  PluginTool out;
  out.tool.name = to_utf8(view_of(from.name));
  out.tool.title = to_utf8(view_of(from.title));
  out.tool.description = to_utf8(view_of(from.description));
  out.tool.input_schema_json = std::string(view_of(from.input_schema_json));
  out.tool.origin = origin;
  out.tool.flags = from.flags;
  if (from.timeout_ms != 0) out.tool.timeout = Milliseconds(from.timeout_ms);
  out.fn = from.fn;
  out.tag = from.tag;
  if (out.tool.name.empty() || out.tool.name.size() > 64 || from.fn == nullptr)
    return Error{Code::kInvalid, "a tool needs a name of 1 to 64 bytes and a function"};
  if (!is_tool_name(out.tool.name))
    return Error{Code::kInvalid,
                 "the name of the tool " + one_line(out.tool.name, 80) +
                     " is not accepted by providers: use letters, digits, '_' and '-', beginning with a letter or '_'"};
  const std::size_t texts =
      view_of(from.title).size() + view_of(from.description).size() + view_of(from.input_schema_json).size();
  if (texts > kToolTextsMax)
    return Error{Code::kUnavailable, "the texts of the tool " + out.tool.name + " have more than " +
                                         std::to_string(kToolTextsMax) + " bytes"};
  auto schema = JsonDocument::parse(out.tool.input_schema_json);
  if (!schema || !schema->root().is_object())
    return Error{Code::kInvalid, "the input schema of the tool " + out.tool.name + " is not a JSON object"};
  out.tool.path_keys = take_path_keys(schema->root(), out.tool.input_schema_json);
  return out;
}

agentd_status AGENTD_CALL tools_add(const agentd_tools* table, agentd_token token, const agentd_tool* tool) noexcept {
  State& state = *reinterpret_cast<const ToolsTable*>(table)->state;
  const auto refuse = [&](agentd_status status, const std::string& why) {
    if (CallSlot* const slot = state.find(token)) slot->fail(token, status, why);
    return status;
  };
  auto copied = copy_tool(tool, state.identity.id);
  if (!copied)
    return refuse(copied.error().code == Code::kUnavailable ? AGENTD_E_TOO_BIG : AGENTD_E_ARG, copied.error().message);
  const MutexLock lock(state.mutex);
  for (const PluginTool& other : state.tools)
    if (other.tool.name == copied->tool.name) return AGENTD_E_CONFLICT;
  if (state.tools.size() == kPluginToolsMax)
    return refuse(AGENTD_E_TOO_BIG, "the tool " + copied->tool.name + " is one too many: a plugin has at most " +
                                        std::to_string(kPluginToolsMax));
  state.tools.push_back(std::move(*copied));
  return AGENTD_OK;
}

agentd_status AGENTD_CALL tools_remove(const agentd_tools* table, agentd_token, agentd_str name) noexcept {
  State& state = *reinterpret_cast<const ToolsTable*>(table)->state;
  const MutexLock lock(state.mutex);
  const auto gone = std::erase_if(state.tools, [&](const PluginTool& tool) { return tool.tool.name == view_of(name); });
  return gone == 0 ? AGENTD_E_NOT_FOUND : AGENTD_OK;
}

// ---- agentd.json/1 and agentd.field/1

// The payload's JSON, made once for all hooks of a dispatch and alive until the call returns; for a tool's or a
// service's call its input. Null if there is no event.
const std::string* json_of(State& state, agentd_token token) {
  CallSlot* const slot = state.find(token);
  if (slot == nullptr || slot->dispatch() == nullptr) return nullptr;
  const std::uint32_t event = slot->dispatch()->event;
  const bool has_input = event == AGENTD_EVENT_TOOL_INVOKE || event == AGENTD_EVENT_SERVICE_CALL;
  if (!has_input && find_event(event) == nullptr) return nullptr;
  return slot->payload_text(true).get();
}

agentd_status AGENTD_CALL json_payload(const agentd_json* table, agentd_token token, agentd_str* out) noexcept {
  if (out == nullptr) return AGENTD_E_ARG;
  const std::string* const json = json_of(*reinterpret_cast<const JsonTable*>(table)->state, token);
  if (json == nullptr) return AGENTD_E_UNSUPPORTED;
  *out = to_abi(*json);
  return AGENTD_OK;
}

uint32_t AGENTD_CALL field_key(const agentd_field* table, agentd_str path) noexcept {
  State& state = *reinterpret_cast<const FieldTable*>(table)->state;
  if (path.len > kFieldPathBytesMax) return 0;
  const std::string wanted(view_of(path));
  if (wanted.empty() || wanted.front() == '.' || wanted.back() == '.') return 0;
  bool tell = false;
  {
    const MutexLock lock(state.mutex);
    if (const auto found = state.field_keys.find(wanted); found != state.field_keys.end()) return found->second;
    if (state.fields.size() < kFieldKeysMax) {
      state.fields.push_back(wanted);
      return state.field_keys[wanted] = static_cast<std::uint32_t>(state.fields.size());
    }
    tell = !std::exchange(state.told_of_fields, true);
  }
  if (tell)
    state.log.write(
        LogLevel::kWarning, state.identity.name,
        "it requested keys for more than " + std::to_string(kFieldKeysMax) + " fields: further ones are refused");
  return 0;
}

JsonView element_at(JsonView array, std::string_view place) {
  std::size_t index = 0;
  const char* const end = place.data() + place.size();
  const auto read = std::from_chars(place.data(), end, index);
  const bool inside = read.ec == std::errc() && read.ptr == end && index < array.size();
  return inside ? array.at(index) : JsonView();
}

JsonView follow(JsonView view, std::string_view path) {
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string_view step = path.substr(0, dot);
    view = view.is_array() ? element_at(view, step) : view[step];
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return view;
}

agentd_status AGENTD_CALL field_get(const agentd_field* table, agentd_token token, uint32_t key,
                                    agentd_str* out) noexcept {
  State& state = *reinterpret_cast<const FieldTable*>(table)->state;
  if (out == nullptr) return AGENTD_E_ARG;
  std::string path;
  {
    const MutexLock lock(state.mutex);
    if (key == 0 || key > state.fields.size()) return AGENTD_E_ARG;
    path = state.fields[key - 1];
  }
  const std::string* const json = json_of(state, token);
  if (json == nullptr) return AGENTD_E_UNSUPPORTED;
  auto document = JsonDocument::parse(*json);
  if (!document) return AGENTD_E_INTERNAL;
  const JsonView found = follow(document->root(), path);
  if (!found.exists()) return AGENTD_E_NOT_FOUND;
  CallSlot* const slot = state.find(token);
  if (slot == nullptr) return AGENTD_E_NOT_FOUND;
  *out = slot->copy(token, found.is_string() ? std::string(found.string_or({})) : found.text());
  return AGENTD_OK;
}

constexpr agentd_core kCore{sizeof(agentd_core), AGENTD_ABI_MINOR, core_fail,        core_log,
                            core_query,          core_event_id,    core_emit,        core_arena,
                            core_complete,       core_scope_open,  core_scope_close, core_now_ns};

}  // namespace

PluginContext::State::State(PluginIdentity who, Grants granted, TokenTable& token_table, Services& backend_services,
                            const Clock& clock_source, Log& log_sink)
    : identity(std::move(who)),
      grants(std::move(granted)),
      tokens(token_table),
      backend(backend_services),
      clock(clock_source),
      log(log_sink),
      core{kCore, this},
      tools_table{{sizeof(agentd_tools), 0, tools_add, tools_remove}, this},
      json_table{{sizeof(agentd_json), 0, json_payload}, this},
      field_table{{sizeof(agentd_field), 0, field_key, field_get}, this},
      provide_table{agentd::provide_table(), this},
      registry_table{agentd::registry_table(), this},
      stopped(std::make_shared<std::atomic<std::uint32_t>>(0)) {
  fill_service_tables(*this);
}

PluginContext::PluginContext(PluginIdentity identity, Grants grants, TokenTable& tokens, Services& services,
                             const Clock& clock, Log& log)
    : state_(std::make_unique<State>(std::move(identity), std::move(grants), tokens, services, clock, log)) {
  offer(AGENTD_TOOLS_ID, &state_->tools_table);
  offer(AGENTD_JSON_ID, &state_->json_table);
  offer(AGENTD_FIELD_ID, &state_->field_table);
  offer(AGENTD_TASKS_ID, state_->tasks.table());
  offer(AGENTD_PROVIDE_ID, &state_->provide_table);
}

PluginContext::~PluginContext() = default;

void PluginContext::offer(std::string id, const void* table) {
  if (!state_->grants.interfaces.contains(id)) return;
  const MutexLock lock(state_->mutex);
  state_->interfaces[std::move(id)] = table;
}

const PluginIdentity& PluginContext::identity() const { return state_->identity; }
const agentd_core* PluginContext::core() const { return &state_->core.table; }
const Grants& PluginContext::grants() const { return state_->grants; }
const agentd_services* PluginContext::services() const { return &state_->services; }
const std::shared_ptr<std::atomic<std::uint32_t>>& PluginContext::stopped() const { return state_->stopped; }

std::vector<std::string> PluginContext::stop_tasks(Milliseconds grace) {
  {
    const MutexLock lock(state_->mutex);
    for (const auto& [token, scope] : state_->scopes) scope->cancel.cancel(AGENTD_CANCEL_SHUTDOWN);
  }
  return state_->tasks.stop_all(state_->clock, grace);
}

bool PluginContext::gave_up() const { return state_->gave_up.load() || state_->stopped->load() == kHookStuck; }

void PluginContext::abandon(std::unique_ptr<PluginContext> context) {
  State& state = *context->state_;
  state.stopped->store(kHookStuck);
  state.abandoned.store(true);
  state.tasks.let_go();
  keep_for_ever(std::shared_ptr<PluginContext>(std::move(context)));
}

std::vector<PluginTool> PluginContext::tools() const {
  const MutexLock lock(state_->mutex);
  return state_->tools;
}

agentd_status run_call(State& state, CallSlot& slot, const Dispatch& dispatch,
                       const std::function<agentd_status(const agentd_call*)>& fn) {
  slot.set_deadline(dispatch.deadline_ns);
  slot.announce(dispatch.event, dispatch.conversation);
  agentd_call call{sizeof(agentd_call),   dispatch.event, slot.open(&dispatch),
                   dispatch.conversation, &slot.live(),   &state.core.table,
                   &state.services,       nullptr,        dispatch.payload};
  agentd_status status = fn(&call);
  if (status == AGENTD_PENDING) {
    status = slot.wait_completed(state.clock);
    if (slot.gave_up()) state.gave_up.store(true);
  }
  slot.end_call(state.clock);
  return status;
}

namespace {

Error call_error(agentd_status status, std::string failure, const std::string& name) {
  if (status == AGENTD_E_DEADLINE && failure.empty()) failure = "it did not answer before its deadline";
  if (failure.empty()) failure = "it returned the status " + std::to_string(status);
  const Code code = status == AGENTD_E_CANCELLED   ? Code::kCancelled
                    : status == AGENTD_E_DEADLINE  ? Code::kUnavailable
                    : status == AGENTD_E_DENIED    ? Code::kDenied
                    : status == AGENTD_E_NOT_FOUND ? Code::kNotFound
                                                   : Code::kInvalid;
  return {code, name + ": " + failure};
}

}  // namespace

Result<std::vector<Action>> PluginContext::control(std::uint32_t event, const void* payload, Deadline deadline,
                                                   const std::function<agentd_status(const agentd_call*)>& fn) {
  SlotLease slot(state_->tokens);
  Dispatch dispatch;
  dispatch.event = event;
  dispatch.payload = payload;
  dispatch.deadline_ns = deadline.at_ns;
  const agentd_status status = run_call(*state_, *slot, dispatch, fn);
  CallSlot::Answer answer = slot->take_answer();
  if (status != AGENTD_OK) return call_error(status, answer.failure.text, state_->identity.name);
  return std::move(answer.actions);
}

Result<ToolOutcome> PluginContext::call_tool(const PluginTool& tool, void* self, const ToolCall& call,
                                             const SessionContext& session, const CancelToken& cancel,
                                             Deadline deadline) {
  SlotLease slot(state_->tokens);
  const CancelBinding binding(*slot, cancel);
  agentd_tool_call payload{};
  payload.size = sizeof payload;
  payload.name = to_abi(call.name);
  payload.call_id = to_abi(call.call_id);
  payload.input_json = to_abi(call.input.text());
  payload.origin = to_abi(tool.tool.origin);
  payload.tool = tool.tag;
  Dispatch dispatch;
  dispatch.event = AGENTD_EVENT_TOOL_INVOKE;
  dispatch.conversation = session.handle;
  dispatch.withheld = session.withheld;
  dispatch.payload = &payload;
  dispatch.deadline_ns = deadline.at_ns;
  const agentd_status status =
      run_call(*state_, *slot, dispatch, [&](const agentd_call* c) { return tool.fn(self, c); });
  CallSlot::Answer answer = slot->take_answer();
  if (status != AGENTD_OK) return call_error(status, answer.failure.text, call.name);
  ToolOutcome out;
  for (Action& action : answer.actions) {
    if (action.kind == AGENTD_ACT_TOOL_OUTPUT) {
      out.content += action.text;
    } else if (action.kind == AGENTD_ACT_TOOL_RESULT) {
      out.success = action.code == 0;
      out.structured_json = std::move(action.json);
      for (Block& block : action.blocks) {
        if (block.kind == BlockKind::kText)
          out.content += block.text;
        else
          out.parts.push_back(std::move(block));
      }
    }
  }
  out.full_bytes = out.content.size();
  return out;
}

}  // namespace agentd
