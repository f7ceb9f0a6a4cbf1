// SPDX-License-Identifier: Apache-2.0
#pragma once
// call.hpp - a handler's arguments: the call, its actions, and objects that may outlive it.
//
//   context   a token with its log, clock, cancel word, scratch memory and services
//   call      a context that also takes actions: what handlers get
//   pending   a call that answers later, from any thread; completes itself when it is dropped
//   scope     a token outside every call, for a plugin's own threads
//   host      what opens scopes; may be kept for the life of the plugin object
//
// Threading: a call belongs to the thread of its handler; pending, scope and host may move to
// another thread. The functions of all of them may be called from any thread.

#if defined(__cplusplus) && __cplusplus < 202002L && (!defined(_MSVC_LANG) || _MSVC_LANG < 202002L)
#error "agentd's C++ SDK needs C++20: compile with -std=c++20 (cl: /std:c++20), or write the hook in C"
#else

#include <agentd/ext/field.h>
#include <agentd/ext/json.h>
#include <agentd/ext/tools.h>
#include <agentd/services.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace agentd {

// The interfaces that the plugin asked for and was granted; NULL otherwise.
struct interfaces {
  const agentd_tools* tools = nullptr;
  const agentd_json* json = nullptr;
  const agentd_field* field = nullptr;
};

// A payload field's number; made in the constructor with init::field_key().
enum class field_key : std::uint32_t { none = 0 };

namespace detail {
template <typename T>
[[nodiscard]] inline T load_acquire(const T& word) noexcept {
  return std::atomic_ref<T>(const_cast<T&>(word)).load(std::memory_order_acquire);
}
inline constexpr agentd_live kNeverCancelled{0, 0, UINT64_MAX};
inline constexpr interfaces kNoInterfaces{};
}  // namespace detail

class context {
 public:
  context(const agentd_core* core, agentd_token token, agentd_conv conversation, const agentd_live* live,
          const agentd_services* services, const interfaces* extra) noexcept
      : core_(core),
        token_(token),
        conversation_(conversation),
        live_(live == nullptr ? &detail::kNeverCancelled : live),
        services_(services),
        extra_(extra == nullptr ? &detail::kNoInterfaces : extra) {}

  [[nodiscard]] const agentd_core* core() const noexcept { return core_; }
  [[nodiscard]] agentd_token token() const noexcept { return token_; }
  [[nodiscard]] agentd_conv conversation() const noexcept { return conversation_; }

  // ---- time
  [[nodiscard]] bool cancelled() const noexcept { return cancel_reason() != 0; }
  [[nodiscard]] std::uint32_t cancel_reason() const noexcept { return detail::load_acquire(live_->cancel); }
  // On the clock of now_ns(); UINT64_MAX = none.
  [[nodiscard]] std::uint64_t deadline_ns() const noexcept { return detail::load_acquire(live_->deadline_ns); }
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return core_->now_ns(core_); }
  // 0 once the deadline has passed; UINT64_MAX if there is none.
  [[nodiscard]] std::uint64_t time_left_ns() const noexcept {
    const std::uint64_t deadline = deadline_ns();
    if (deadline == UINT64_MAX) return UINT64_MAX;
    const std::uint64_t now = now_ns();
    return deadline > now ? deadline - now : 0;
  }

  // ---- log
  void log(std::int32_t level, std::string_view line) const noexcept { core_->log(core_, token_, level, as_str(line)); }
  void log_debug(std::string_view line) const noexcept { log(AGENTD_LEVEL_DEBUG, line); }
  void log_info(std::string_view line) const noexcept { log(AGENTD_LEVEL_INFO, line); }
  void log_warning(std::string_view line) const noexcept { log(AGENTD_LEVEL_WARNING, line); }
  void log_error(std::string_view line) const noexcept { log(AGENTD_LEVEL_ERROR, line); }

  // ---- scratch memory that lives as long as the token; NULL = out of memory
  [[nodiscard]] void* arena(std::size_t bytes, std::size_t align) const noexcept {
    return core_->arena(core_, token_, bytes, align);
  }
  template <typename T>
  [[nodiscard]] T* arena_array(std::size_t count) const noexcept {
    if (count > SIZE_MAX / sizeof(T)) return nullptr;
    return static_cast<T*>(arena(count * sizeof(T), alignof(T)));
  }
  // A copy of the text; absent text if memory is short.
  [[nodiscard]] std::string_view arena_text(std::string_view text) const noexcept {
    auto* copy = arena_array<char>(text.size() + 1);
    if (copy == nullptr) return {};
    if (!text.empty()) std::memcpy(copy, text.data(), text.size());
    copy[text.size()] = '\0';
    return {copy, text.size()};
  }

  // ---- services
  [[nodiscard]] compactor_service compactor() const noexcept {
    return {services_ == nullptr ? nullptr : services_->compactor, token_, conversation_};
  }
  [[nodiscard]] thread_service threads() const noexcept {
    return {services_ == nullptr ? nullptr : services_->threads, token_};
  }
  [[nodiscard]] store_service store() const noexcept {
    return {services_ == nullptr ? nullptr : services_->store, token_};
  }
  [[nodiscard]] agentd::services services() const noexcept { return {compactor(), threads(), store()}; }

  // The payload as JSON text; needs "agentd.json/1" among hook_requires or hook_wants.
  [[nodiscard]] result<std::string_view> json() const noexcept {
    if (extra_->json == nullptr) return AGENTD_E_DENIED;
    agentd_str text{};
    const agentd_status status = extra_->json->payload(extra_->json, token_, &text);
    return {status, as_view(text)};
  }
  // One field of the payload; needs "agentd.field/1" in the same way.
  [[nodiscard]] result<std::string_view> field(field_key key) const noexcept {
    if (extra_->field == nullptr) return AGENTD_E_DENIED;
    agentd_str text{};
    const agentd_status status = extra_->field->get(extra_->field, token_, static_cast<std::uint32_t>(key), &text);
    return {status, as_view(text)};
  }

 protected:
  [[nodiscard]] const agentd_live* live() const noexcept { return live_; }
  [[nodiscard]] const agentd_services* service_tables() const noexcept { return services_; }
  [[nodiscard]] const interfaces* extra() const noexcept { return extra_; }

 private:
  const agentd_core* core_;
  agentd_token token_;
  agentd_conv conversation_;
  const agentd_live* live_;
  const agentd_services* services_;
  const interfaces* extra_;
};

// The options of COMPACT; zero and empty = as configured.
struct compact_request {
  std::uint32_t strategy = AGENTD_STRATEGY_DEFAULT;
  std::uint64_t keep_tokens = 0;
  std::string_view model{};
  std::string_view instructions{};
};

// A context that takes actions. Each returns the host's status: AGENTD_OK, or AGENTD_E_UNSUPPORTED if the event does
// not allow the action. The host copies before it returns.
class actions : public context {
 public:
  using context::context;

  agentd_status emit(const agentd_action& action) const noexcept { return core()->emit(core(), token(), &action); }
  agentd_status emit_text(std::uint16_t kind, std::string_view text,
                          std::uint32_t target = AGENTD_TEXT_DEFAULT) const noexcept {
    agentd_act_text act{};
    act.h = header(sizeof(act), kind);
    act.target = target;
    act.text = as_str(text);
    return emit(act.h);
  }

  agentd_status block(std::string_view reason) const noexcept { return emit_text(AGENTD_ACT_BLOCK, reason); }
  // Ends the run, or the subagent's run: nothing of the rest happens, and the user sees the reason. agentd 1.0 does not
  // know this action: there it is a block.
  agentd_status stop_run(std::string_view reason) const noexcept {
    return emit_text(core()->host_minor == 0 ? AGENTD_ACT_BLOCK : AGENTD_ACT_STOP_RUN, reason);
  }
  // The next user message; the run continues with it.
  agentd_status continue_with(std::string_view message) const noexcept {
    return emit_text(AGENTD_ACT_CONTINUE, message);
  }
  agentd_status compact(const compact_request& request = {}) const noexcept {
    agentd_act_compact act{};
    act.h = header(sizeof(act), AGENTD_ACT_COMPACT);
    act.strategy = request.strategy;
    act.keep_tokens = request.keep_tokens;
    act.model = as_str(request.model);
    act.instructions = as_str(request.instructions);
    return emit(act.h);
  }
  // before_compaction: the text is the summary. agent_stop: store it; empty = the host makes one.
  agentd_status summary(std::string_view text = {}) const noexcept { return emit_text(AGENTD_ACT_SUMMARY, text); }
  // Replaces the text of the event's payload: the user's message, a tool's input or output, the answer.
  agentd_status rewrite(std::string_view text, std::uint32_t target = AGENTD_TEXT_DEFAULT) const noexcept {
    return emit_text(AGENTD_ACT_REPLACE_TEXT, text, target);
  }
  agentd_status inject_context(std::string_view text) const noexcept {
    return emit_text(AGENTD_ACT_INJECT_CONTEXT, text);
  }
  // A line for the user; the model does not see it.
  agentd_status system_message(std::string_view text) const noexcept {
    return emit_text(AGENTD_ACT_SYSTEM_MESSAGE, text);
  }
  // Names, separated by commas.
  agentd_status enable_tools(std::string_view names) const noexcept {
    return emit_text(AGENTD_ACT_TOOLS_ENABLE, names);
  }
  agentd_status disable_tools(std::string_view names) const noexcept {
    return emit_text(AGENTD_ACT_TOOLS_DISABLE, names);
  }

  agentd_status set_model(std::string_view model) const noexcept { return set(AGENTD_KEY_MODEL, 0, model); }
  agentd_status set_instructions(std::string_view text) const noexcept {
    return set(AGENTD_KEY_CUSTOM_INSTRUCTIONS, 0, text);
  }
  agentd_status set_strategy(std::uint32_t strategy) const noexcept { return set(AGENTD_KEY_STRATEGY, strategy, {}); }
  agentd_status set_keep_tokens(std::uint64_t tokens) const noexcept { return set(AGENTD_KEY_KEEP_TOKENS, tokens, {}); }
  // agent_stop: whether the run continues after this hook's action.
  agentd_status set_then_continue(bool go_on) const noexcept { return set(AGENTD_KEY_THEN, go_on ? 1 : 0, {}); }
  agentd_status set_title(std::string_view title) const noexcept { return set(AGENTD_KEY_TITLE, 0, title); }
  agentd_status set(std::uint32_t key, std::uint64_t number, std::string_view text) const noexcept {
    agentd_act_set act{};
    act.h = header(sizeof(act), AGENTD_ACT_SET);
    act.key = key;
    act.number = number;
    act.text = as_str(text);
    return emit(act.h);
  }

  agentd_status allow(std::string_view reason = {}, bool for_session = false) const noexcept {
    return permission(AGENTD_PERMISSION_ALLOW, reason, for_session);
  }
  agentd_status deny(std::string_view reason, bool for_session = false) const noexcept {
    return permission(AGENTD_PERMISSION_DENY, reason, for_session);
  }
  agentd_status ask(std::string_view reason = {}) const noexcept {
    return permission(AGENTD_PERMISSION_ASK, reason, false);
  }
  // The run waits until somebody has decided with `agentd approve`. Since minor 1.
  agentd_status wait_for_approval(std::string_view reason = {}) const noexcept {
    return permission(AGENTD_PERMISSION_DEFER, reason, false);
  }
  agentd_status permission(std::uint32_t decision, std::string_view reason, bool for_session) const noexcept {
    agentd_act_permission act{};
    act.h = header(sizeof(act), AGENTD_ACT_PERMISSION);
    act.decision = decision;
    act.remember = for_session ? 1 : 0;
    act.reason = as_str(reason);
    return emit(act.h);
  }
  // Runs a recipe; its text becomes the next user message.
  agentd_status callback(std::string_view recipe, std::string_view arguments_json = {}) const noexcept {
    agentd_act_recipe act{};
    act.h = header(sizeof(act), AGENTD_ACT_CALLBACK);
    act.name = as_str(recipe);
    act.arguments_json = as_str(arguments_json);
    return emit(act.h);
  }

  // ---- in a tool: output in order, in pieces of 64 KiB; a failure of any piece ends it
  agentd_status output(std::string_view text) const noexcept {
    constexpr std::size_t kPieceBytes = 64 * 1024;
    while (!text.empty()) {
      const std::string_view piece = text.substr(0, kPieceBytes);
      if (const agentd_status status = emit_text(AGENTD_ACT_TOOL_OUTPUT, piece); status != AGENTD_OK) {
        return status;
      }
      text.remove_prefix(piece.size());
    }
    return AGENTD_OK;
  }
  // Ends the tool call. A handler that returns without it has succeeded with the output so far.
  agentd_status tool_result(bool is_error = false, std::string_view structured_json = {},
                            block_list blocks = {}) const noexcept {
    agentd_act_tool_result act{};
    act.h = header(sizeof(act), AGENTD_ACT_TOOL_RESULT);
    act.is_error = is_error ? 1 : 0;
    act.structured_json = as_str(structured_json);
    act.blocks = blocks.raw();
    return emit(act.h);
  }
  // The tool failed; the model reads the text.
  agentd_status tool_error(std::string_view text) const noexcept {
    if (const agentd_status status = output(text); status != AGENTD_OK) return status;
    return tool_result(true);
  }

 protected:
  static agentd_action header(std::size_t size, std::uint16_t kind) noexcept {
    return {static_cast<std::uint32_t>(size), kind, 0};
  }
};

// A call that is completed later. Its payload stays valid until complete(). Destroyed without completion it completes
// as failed, so that no run waits for a plugin that forgot it.
class pending : public actions {
 public:
  explicit pending(const actions& from, std::uint64_t revision) noexcept
      : actions(from), revision_(revision), open_(true) {}
  pending(pending&& other) noexcept
      : actions(other), revision_(other.revision_), open_(std::exchange(other.open_, false)) {}
  pending& operator=(pending&& other) noexcept {
    if (this != &other) {
      drop();
      actions::operator=(other);
      revision_ = other.revision_;
      open_ = std::exchange(other.open_, false);
    }
    return *this;
  }
  pending(const pending&) = delete;
  pending& operator=(const pending&) = delete;
  ~pending() { drop(); }

  agentd_status replace(replacement& parts) const {
    const agentd_act_replace act = parts.action(revision_);
    return emit(act.h);
  }
  agentd_status replace(replacement&& parts) const { return replace(parts); }
  // Ends the call, once; AGENTD_E_NOT_FOUND if the host has already given it up.
  agentd_status complete(agentd_status status = AGENTD_OK) noexcept {
    if (!std::exchange(open_, false)) return AGENTD_E_NOT_FOUND;
    return core()->complete(core(), token(), status);
  }
  agentd_status fail(agentd_status status, std::string_view what) noexcept {
    core()->fail(core(), token(), status, as_str(what));
    return complete(status);
  }

 private:
  void drop() noexcept {
    if (open_) fail(AGENTD_E_INTERNAL, "the hook dropped a pending call without an answer");
  }

  std::uint64_t revision_;
  bool open_;
};

// A token outside of calls; its destructor closes it.
class scope : public context {
 public:
  scope() noexcept : context(nullptr, 0, 0, nullptr, nullptr, nullptr) {}
  scope(const context& from, agentd_token token, agentd_conv conversation, const agentd_live* live,
        const agentd_services* services, const interfaces* extra) noexcept
      : context(from.core(), token, conversation, live, services, extra), open_(true) {}
  scope(scope&& other) noexcept : context(other), open_(std::exchange(other.open_, false)) {}
  scope& operator=(scope&& other) noexcept {
    if (this != &other) {
      close();
      context::operator=(other);
      open_ = std::exchange(other.open_, false);
    }
    return *this;
  }
  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;
  ~scope() { close(); }

  explicit operator bool() const noexcept { return open_; }
  void close() noexcept {
    if (std::exchange(open_, false)) core()->scope_close(core(), token());
  }

 private:
  bool open_ = false;
};

// The host, as a plugin object may keep it from its constructor to its destructor. The interfaces are copied; the
// service tables stay valid for the life of the instance.
class host {
 public:
  host() noexcept = default;
  host(const agentd_core* core, const agentd_services* services, const interfaces* extra) noexcept
      : core_(core), extra_(extra) {
    if (services != nullptr) tables_ = *services;
  }

  [[nodiscard]] const agentd_core* core() const noexcept { return core_; }
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return core_->now_ns(core_); }
  // A token for work outside every call. The scope must not outlive this object.
  [[nodiscard]] result<scope> open_scope(agentd_conv conversation = 0,
                                         std::uint64_t deadline_ns = UINT64_MAX) const noexcept {
    if (core_ == nullptr) return AGENTD_E_ARG;
    agentd_token token = 0;
    const agentd_live* live = nullptr;
    const agentd_status status = core_->scope_open(core_, conversation, deadline_ns, &token, &live);
    if (status != AGENTD_OK) return status;
    const context outside(core_, token, conversation, live, &tables_, extra_);
    return {status, scope(outside, token, conversation, live, &tables_, extra_)};
  }

 private:
  const agentd_core* core_ = nullptr;
  const interfaces* extra_ = nullptr;
  agentd_services tables_{};
};

// A handler's argument.
class call : public actions {
 public:
  call(const agentd_call& raw, const interfaces* extra) noexcept
      : actions(raw.core, raw.token, raw.conversation, raw.live, raw.services, extra), raw_(&raw) {}
  call(const call&) = delete;
  call& operator=(const call&) = delete;

  [[nodiscard]] const agentd_call& raw() const noexcept { return *raw_; }
  [[nodiscard]] agentd::event event() const noexcept { return static_cast<agentd::event>(raw_->event); }
  // Over NULL in control calls.
  [[nodiscard]] envelope_view envelope() const noexcept { return envelope_view(raw_->envelope); }
  // A host object that may be kept beyond the call.
  [[nodiscard]] agentd::host host() const noexcept { return {core(), service_tables(), extra()}; }

  // Replaces messages; based on this call's revision unless the parts name another.
  agentd_status replace(replacement& parts) const {
    const agentd_act_replace act = parts.action(envelope().revision());
    return emit(act.h);
  }
  agentd_status replace(replacement&& parts) const { return replace(parts); }

  // Fails the call: records `what`, and the call returns `status`. Returns `status`.
  agentd_status fail(agentd_status status, std::string_view what) noexcept {
    core()->fail(core(), token(), status, as_str(what));
    failed_ = status;
    return status;
  }
  agentd_status fail(std::string_view what) noexcept { return fail(AGENTD_E_INTERNAL, what); }

  // Makes the call pending; the returned object completes it.
  [[nodiscard]] pending defer() noexcept {
    deferred_ = true;
    return pending(*this, envelope().revision());
  }

  // The call's status when the handler returned `status`.
  [[nodiscard]] agentd_status answer(agentd_status status) const noexcept {
    if (deferred_) return AGENTD_PENDING;
    return status == AGENTD_OK ? failed_ : status;
  }

 private:
  const agentd_call* raw_;
  agentd_status failed_ = AGENTD_OK;
  bool deferred_ = false;
};

}  // namespace agentd

#endif  // C++20
