// SPDX-License-Identifier: Apache-2.0
#pragma once
// hook.hpp - makes a RuntimeHook module from an ordinary C++20 class: include this one.
//
//   struct Hello {
//     void on_before_tool_call(agentd::call& c, agentd::tool_view tool) {
//       if (tool.name() == "bash") c.block("no shell here");
//     }
//   };
//   AGENTD_HOOK(Hello, "org.example.hello", "1.0.0")
//
// A member function on_EVENT(agentd::call&, VIEW), or on_EVENT(agentd::call&), is a subscription to
// EVENT; it returns void or agentd_status. The rows, the plugin record and the manifest are made by
// the compiler. What the class may say besides, all of it optional:
//
//   explicit X(agentd::init&)                          the constructor gets config, tools, fields
//   static constexpr int hook_priority = 10;           of all rows; higher runs earlier
//   static constexpr unsigned hook_flags = AGENTD_HOOK_GATES;
//   static constexpr bool wants_messages = true;       fill the message lists of all rows
//   static constexpr agentd::hook_options agent_stop_options{.priority = 5, .messages = true};
//                                                      the three above for one event, EVENT_options
//   static constexpr unsigned concurrency = AGENTD_CONCURRENT;
//   static constexpr std::string_view hook_requires[] = {agentd::id::compactor};
//   static constexpr std::string_view hook_wants[] = {agentd::id::json};
//   static constexpr std::string_view hook_drafts[] = {agentd::id::workspace};
//   std::string save_state();  void load_state(std::string_view state, std::string_view version);
//
// An exception that leaves a handler becomes the text and status of a failed call: std::bad_alloc is AGENTD_E_NOMEM,
// any other AGENTD_E_INTERNAL. Works with -fno-exceptions -fno-rtti too.
//
// Threading: one object per instance. Depending on `concurrency` its handlers are called one at a time (serial, the
// default), one at a time per conversation, or freely. Constructor and destructor run on the thread that loads the
// plugin.

#if defined(__cplusplus) && __cplusplus < 202002L && (!defined(_MSVC_LANG) || _MSVC_LANG < 202002L)
#error "agentd's C++ SDK needs C++20: compile with -std=c++20 (cl: /std:c++20), or write the hook in C"
#else

#include <agentd/call.hpp>

#include <array>
#include <concepts>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#if defined(__cpp_exceptions)
#define AGENTD_SDK_EXCEPTIONS 1
#else
#define AGENTD_SDK_EXCEPTIONS 0
#endif

namespace agentd {

// Ids for a manifest's requires, wants and drafts.
namespace id {
inline constexpr std::string_view compactor = "compactor";
inline constexpr std::string_view thread_factory = "thread_factory";
inline constexpr std::string_view store = "store";
inline constexpr std::string_view tools = AGENTD_TOOLS_ID;
inline constexpr std::string_view json = AGENTD_JSON_ID;
inline constexpr std::string_view field = AGENTD_FIELD_ID;
inline constexpr std::string_view tasks = "agentd.tasks/1";  // tasks.hpp
inline constexpr std::string_view workspace = "agentd.workspace/1";
inline constexpr std::string_view process = "agentd.process/1";
inline constexpr std::string_view provide = "agentd.provide/1";    // drafts.hpp
inline constexpr std::string_view services = "agentd.services/1";  // drafts.hpp
}  // namespace id

// The options of a subscription.
struct hook_options {
  int priority = 0;
  unsigned flags = 0;  // AGENTD_HOOK_
  bool messages = false;
};

// A tool that the plugin contributes; the texts are borrowed until add_tool() returns.
struct tool_spec {
  std::string_view name{};
  std::string_view title{};
  std::string_view description{};
  std::string_view input_schema{};   // JSON Schema of an object
  std::string_view output_schema{};  // empty = text
  std::uint32_t flags = 0;           // AGENTD_TOOL_
  std::uint32_t timeout_ms = 0;
  std::uint64_t tag = 0;
};

namespace detail {

// Precedes the plugin object in memory; `type` distinguishes the classes of one module.
struct instance_base {
  const void* type = nullptr;
  interfaces extra{};
  agentd_status refused = AGENTD_OK;
};
template <typename T>
struct instance;
template <typename T>
inline constexpr char kTypeTag = 0;

// Runs `body` and turns its exceptions into the call's failure.
template <typename Body>
agentd_status guarded([[maybe_unused]] call& c, Body&& body) noexcept {
#if AGENTD_SDK_EXCEPTIONS
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return c.fail(AGENTD_E_NOMEM, "out of memory");
  } catch (const std::exception& caught) {
    return c.fail(AGENTD_E_INTERNAL, caught.what());
  } catch (...) {
    return c.fail(AGENTD_E_INTERNAL, "an exception that is not a std::exception");
  }
#else
  return body();
#endif
}

// Calls a handler that returns void or a status.
template <typename Handler>
agentd_status status_of(Handler&& handler) {
  if constexpr (std::is_void_v<decltype(handler())>) {
    handler();
    return AGENTD_OK;
  } else {
    return handler();
  }
}

template <typename T>
struct member_class;
template <typename R, typename C, typename... A>
struct member_class<R (C::*)(A...)> {
  using type = C;
};
template <typename R, typename C, typename... A>
struct member_class<R (C::*)(A...) const> {
  using type = C;
};
template <typename R, typename C, typename... A>
struct member_class<R (C::*)(A...) noexcept> {
  using type = C;
};
template <typename R, typename C, typename... A>
struct member_class<R (C::*)(A...) const noexcept> {
  using type = C;
};

template <auto Method, typename T>
agentd_status AGENTD_CALL run_tool(void* self, const agentd_call* raw) noexcept {
  auto* made = static_cast<instance<T>*>(self);
  call c(*raw, &made->extra);
  const tool_view tool(static_cast<const agentd_tool_call*>(raw->payload));
  const agentd_status status = guarded(c, [&] { return status_of([&] { return (made->object.*Method)(c, tool); }); });
  return c.answer(status);
}

}  // namespace detail

// The argument of a constructor X(agentd::init&). It belongs to the thread that loads the plugin.
class init : public context {
 public:
  init(const agentd_call& raw, detail::instance_base& instance) noexcept
      : context(raw.core, raw.token, raw.conversation, raw.live, raw.services, &instance.extra),
        instance_(&instance),
        info_(static_cast<const agentd_create_info*>(raw.payload)) {}

  // The user's hooks.NAME.config as one JSON object.
  [[nodiscard]] std::string_view config_json() const noexcept { return info_.config_json(); }
  [[nodiscard]] std::uint32_t isolation() const noexcept { return info_.isolation(); }
  [[nodiscard]] create_info_view info() const noexcept { return info_; }
  [[nodiscard]] agentd::host host() const noexcept { return {core(), service_tables(), extra()}; }

  // An interface by id, or NULL, which is an ordinary answer.
  template <typename Table>
  [[nodiscard]] const Table* query(std::string_view id) const noexcept {
    return static_cast<const Table*>(core()->query(core(), as_str(id), sizeof(Table)));
  }
  // The id of an event by name; 0 = unknown.
  [[nodiscard]] std::uint32_t event_id(std::string_view name) const noexcept {
    return core()->event_id(core(), as_str(name));
  }
  // The number of a dotted path for context::field(); none = not a path, or no "agentd.field/1".
  [[nodiscard]] agentd::field_key field_key(std::string_view path) const noexcept {
    const agentd_field* table = extra()->field;
    return static_cast<agentd::field_key>(table == nullptr ? 0 : table->key(table, as_str(path)));
  }

  // Contributes a tool: `Method` is void or agentd_status X::name(agentd::call&, agentd::tool_view). If the method is
  // inherited, pass the plugin's class as the second argument. A failure refuses the plugin, so most callers ignore the
  // result.
  template <auto Method, typename T = typename detail::member_class<decltype(Method)>::type>
  agentd_status add_tool(const tool_spec& spec) noexcept {
    if (instance_->type != &detail::kTypeTag<T>) {
      return refuse(AGENTD_E_ARG, "add_tool: name the plugin's class as second template argument");
    }
    const agentd_tools* table = extra()->tools;
    if (table == nullptr) {
      return refuse(AGENTD_E_DENIED, "this plugin needs agentd.tools/1: list it in hook_requires and grant it");
    }
    auto row = sized<agentd_tool>();
    row.flags = spec.flags;
    row.name = as_str(spec.name);
    row.title = as_str(spec.title);
    row.description = as_str(spec.description);
    row.input_schema_json = as_str(spec.input_schema);
    row.output_schema_json = as_str(spec.output_schema);
    row.timeout_ms = spec.timeout_ms;
    row.fn = &detail::run_tool<Method, T>;
    row.tag = spec.tag;
    const agentd_status status = table->add(table, token(), &row);
    return status == AGENTD_OK ? status : refuse(status, status_text(status));
  }

  // True if the instance that is being made is of this class.
  template <typename T>
  [[nodiscard]] bool makes() const noexcept {
    return instance_->type == &detail::kTypeTag<T>;
  }

  // Refuses to start; the text is for the user. Returns `status`. The first refusal is kept.
  agentd_status refuse(agentd_status status, std::string_view why) noexcept {
    if (instance_->refused != AGENTD_OK) return instance_->refused;
    core()->fail(core(), token(), status, as_str(why));
    return instance_->refused = status;
  }
  agentd_status refuse(std::string_view why) noexcept { return refuse(AGENTD_E_ARG, why); }
  [[nodiscard]] agentd_status refused() const noexcept { return instance_->refused; }

 private:
  detail::instance_base* instance_;
  create_info_view info_;
};

// ---- RuntimeHook: one type, one name, one execute(payload, services)

// The payload of RuntimeHook::execute(), not yet typed.
class payload {
 public:
  explicit payload(call& c) noexcept : call_(&c) {}
  [[nodiscard]] agentd::event event() const noexcept { return call_->event(); }
  [[nodiscard]] envelope_view envelope() const noexcept { return call_->envelope(); }
  // The call itself, for further actions and services.
  [[nodiscard]] call& of() const noexcept { return *call_; }
  // The payload as `View`; over NULL if the event has another record.
  template <typename View>
  [[nodiscard]] View as() const noexcept {
    switch (event()) {
#define AGENTD_SDK_AS(NAME, name, id, record)                        \
  case agentd::event::name:                                          \
    if constexpr (std::is_same_v<View, view_of<record>>) {           \
      return View(static_cast<const record*>(call_->raw().payload)); \
    }                                                                \
    break;
      AGENTD_EVENT_LIST(AGENTD_SDK_AS)
#undef AGENTD_SDK_AS
    }
    return View();
  }

 private:
  call* call_;
};

// The result of execute(), made by the functions below. A default-made one is no answer.
class answer {
 public:
  answer() = default;
  answer(std::uint16_t kind, std::string_view text) : kind_(kind), text_(text) {}
  explicit answer(replacement parts) : kind_(AGENTD_ACT_REPLACE_MESSAGES), parts_(std::move(parts)) {}
  answer(agentd_status status, std::string_view why) : status_(status), text_(why) {}

  agentd_status give(call& c) {
    if (status_ != AGENTD_OK) return text_.empty() ? status_ : c.fail(status_, text_);
    if (kind_ == 0) return AGENTD_OK;
    if (kind_ == AGENTD_ACT_COMPACT) return c.compact();
    if (kind_ == AGENTD_ACT_REPLACE_MESSAGES) return c.replace(parts_);
    if (kind_ == AGENTD_ACT_STOP_RUN) return c.stop_run(text_);
    return c.emit_text(kind_, text_);
  }

 private:
  std::uint16_t kind_ = 0;
  agentd_status status_ = AGENTD_OK;
  std::string text_;
  replacement parts_{};
};

[[nodiscard]] inline answer no_opinion() { return {}; }
[[nodiscard]] inline answer block(std::string_view reason) { return {AGENTD_ACT_BLOCK, reason}; }
[[nodiscard]] inline answer stop_run(std::string_view reason) { return {AGENTD_ACT_STOP_RUN, reason}; }
[[nodiscard]] inline answer continue_with(std::string_view message) { return {AGENTD_ACT_CONTINUE, message}; }
[[nodiscard]] inline answer compact() { return {std::uint16_t{AGENTD_ACT_COMPACT}, {}}; }
[[nodiscard]] inline answer summary(std::string_view text = {}) { return {AGENTD_ACT_SUMMARY, text}; }
[[nodiscard]] inline answer replace(replacement parts) { return answer(std::move(parts)); }
// For a hook that could not do its work: returns `status` and reports `why`.
[[nodiscard]] inline answer failure(agentd_status status, std::string_view why) { return {status, why}; }

// Base class of a hook with a single execute(). A class that derives from it has
//   static constexpr agentd::event type();
//   static constexpr std::string_view name();
//   agentd::answer execute(agentd::payload, agentd::services&);
// type() and name() are static, since the manifest is read without running a byte of the plugin.
class RuntimeHook {
 protected:
  RuntimeHook() = default;
  ~RuntimeHook() = default;
};

}  // namespace agentd

#include <agentd/detail/module.hpp>  // the rows, the trampolines, the manifest, AGENTD_HOOK

#endif  // C++20
