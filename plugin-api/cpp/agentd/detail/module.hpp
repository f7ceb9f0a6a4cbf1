// SPDX-License-Identifier: Apache-2.0
#pragma once
// module.hpp - compile-time parts of a plugin class: rows, trampolines, manifest, entry.
//
// Everything here is constant data and plain functions: no static constructor runs at load, and the entry touches only
// the record that it is given.
//
// Threading: trampolines are called as `concurrency` says; see hook.hpp.

#ifndef AGENTD_ENTRY_SYMBOL
#error "include <agentd/hook.hpp>"
#endif

namespace agentd::detail {

// ---- handlers: handler<T, event> says whether T subscribes, how, and calls it

template <typename T, event Event>
struct handler;

template <typename T>
inline constexpr bool is_runtime_hook = std::is_base_of_v<RuntimeHook, T>;

template <typename T, event Event>
consteval bool executes_for() {
  if constexpr (is_runtime_hook<T>) {
    return T::type() == Event;
  } else {
    return false;
  }
}

template <typename T>
agentd_status execute(T& object, call& c) {
  services available = c.services();
  answer given = object.execute(payload(c), available);
  return given.give(c);
}

template <typename T>
consteval hook_options plugin_options() {
  hook_options made;
  if constexpr (requires { T::hook_priority; }) made.priority = T::hook_priority;
  if constexpr (requires { T::hook_flags; }) made.flags = T::hook_flags;
  if constexpr (requires { T::wants_messages; }) made.messages = T::wants_messages;
  return made;
}

template <typename Record>
concept carries_messages = requires(Record r) {
  r.messages;
};

#define AGENTD_SDK_HANDLER(NAME, name, id, record)                                                           \
  template <typename T>                                                                                      \
  struct handler<T, event::name> {                                                                           \
    using view = view_of<record>;                                                                            \
    static constexpr bool with_view = requires(T & t, call& c, view v) { t.on_##name(c, v); };               \
    static constexpr bool bare = requires(T & t, call& c) { t.on_##name(c); };                               \
    static constexpr bool named = requires { &T::on_##name; };                                               \
    static_assert(with_view || bare || !named,                                                               \
                  "on_" #name " must take (agentd::call&) or (agentd::call&, view of " #record ")");         \
    static constexpr bool executes = executes_for<T, event::name>();                                         \
    static constexpr bool present = with_view || bare || executes;                                           \
    static consteval hook_options options() {                                                                \
      if constexpr (requires { T::name##_options; }) {                                                       \
        return T::name##_options;                                                                            \
      } else {                                                                                               \
        return plugin_options<T>();                                                                          \
      }                                                                                                      \
    }                                                                                                        \
    static constexpr bool has_messages = carries_messages<record>;                                           \
    static agentd_status call_it(T& t, call& c) {                                                            \
      if constexpr (with_view) {                                                                             \
        return status_of([&] { return t.on_##name(c, view(static_cast<const record*>(c.raw().payload))); }); \
      } else if constexpr (bare) {                                                                           \
        return status_of([&] { return t.on_##name(c); });                                                    \
      } else {                                                                                               \
        return execute(t, c);                                                                                \
      }                                                                                                      \
    }                                                                                                        \
  };
AGENTD_EVENT_LIST(AGENTD_SDK_HANDLER)
#undef AGENTD_SDK_HANDLER

// A misspelt handler is an ordinary method that is never called. The compiler can only be asked about known names:
// these are observed slips and other tools' names.
template <typename T>
consteval void check_handler_names() {
#define AGENTD_SDK_NO_EVENT(wrong, name) \
  static_assert(                         \
      !requires { &T::on_##wrong; }, "on_" #wrong " is no event: did you mean on_" #name "?");
#define AGENTD_SDK_SLIPS(NAME, name, id, record) \
  AGENTD_SDK_NO_EVENT(name##s, name)             \
  AGENTD_SDK_NO_EVENT(name##ed, name)            \
  AGENTD_SDK_NO_EVENT(on_##name, name)
  AGENTD_EVENT_LIST(AGENTD_SDK_SLIPS)
#undef AGENTD_SDK_SLIPS
  AGENTD_SDK_NO_EVENT(before_tool_cal, before_tool_call)
  AGENTD_SDK_NO_EVENT(before_tool, before_tool_call)
  AGENTD_SDK_NO_EVENT(before_tool_use, before_tool_call)
  AGENTD_SDK_NO_EVENT(before_toolcall, before_tool_call)
  AGENTD_SDK_NO_EVENT(pre_tool_call, before_tool_call)
  AGENTD_SDK_NO_EVENT(pre_tool_use, before_tool_call)
  AGENTD_SDK_NO_EVENT(tool_call, before_tool_call)
  AGENTD_SDK_NO_EVENT(after_tool, after_tool_call)
  AGENTD_SDK_NO_EVENT(after_tool_use, after_tool_call)
  AGENTD_SDK_NO_EVENT(post_tool_use, after_tool_call)
  AGENTD_SDK_NO_EVENT(tool_failed, tool_call_failed)
  AGENTD_SDK_NO_EVENT(tool_error, tool_call_failed)
  AGENTD_SDK_NO_EVENT(before_model, before_model_call)
  AGENTD_SDK_NO_EVENT(after_model, after_model_call)
  AGENTD_SDK_NO_EVENT(stop, agent_stop)
  AGENTD_SDK_NO_EVENT(user_message, user_message_send)
  AGENTD_SDK_NO_EVENT(user_prompt_submit, user_message_send)
  AGENTD_SDK_NO_EVENT(before_compact, before_compaction)
  AGENTD_SDK_NO_EVENT(pre_compact, before_compaction)
  AGENTD_SDK_NO_EVENT(after_compact, after_compaction)
  AGENTD_SDK_NO_EVENT(permission, permission_request)
  AGENTD_SDK_NO_EVENT(error, agent_error)
#undef AGENTD_SDK_NO_EVENT
}

// ---- the instance and its life

template <typename T>
consteval bool asks_for(std::string_view wanted) {
  bool found = false;
  if constexpr (requires { std::begin(T::hook_requires); }) {
    for (std::string_view each : T::hook_requires) found = found || each == wanted;
  }
  if constexpr (requires { std::begin(T::hook_wants); }) {
    for (std::string_view each : T::hook_wants) found = found || each == wanted;
  }
  return found;
}

// The first of hook_requires that the host did not provide. agentd refuses the plugin before this; a test's host does
// not.
template <typename T>
std::string_view missing_of([[maybe_unused]] const agentd_call& raw) noexcept {
  if constexpr (requires { std::begin(T::hook_requires); }) {
    const agentd_services* const have = raw.services;
    for (std::string_view each : T::hook_requires) {
      const void* table = nullptr;
      if (each == id::compactor) {
        table = have == nullptr ? nullptr : have->compactor;
      } else if (each == id::thread_factory) {
        table = have == nullptr ? nullptr : have->threads;
      } else if (each == id::store) {
        table = have == nullptr ? nullptr : have->store;
      } else {
        table = raw.core->query(raw.core, as_str(each), 0);
      }
      if (table == nullptr) return each;
    }
  }
  return {};
}

template <typename Table, bool Asked>
const Table* interface_of(const agentd_core* core, std::string_view wanted) noexcept {
  if constexpr (Asked) {
    return static_cast<const Table*>(core->query(core, as_str(wanted), sizeof(Table)));
  } else {
    return nullptr;
  }
}

// The plugin's object, with the base that trampolines and init use.
template <typename T>
struct instance : instance_base {
  explicit instance(const agentd_call& raw) : instance_base(base_of(raw)), object(make(raw, *this)) {}

  static instance_base base_of(const agentd_call& raw) noexcept {
    instance_base made;
    made.type = &kTypeTag<T>;
    made.extra.tools = interface_of<agentd_tools, asks_for<T>(id::tools)>(raw.core, id::tools);
    made.extra.json = interface_of<agentd_json, asks_for<T>(id::json)>(raw.core, id::json);
    made.extra.field = interface_of<agentd_field, asks_for<T>(id::field)>(raw.core, id::field);
    return made;
  }
  static T make(const agentd_call& raw, instance_base& base) {
    if constexpr (std::is_constructible_v<T, init&>) {
      init from(raw, base);
      return T(from);
    } else {
      return T();
    }
  }

  T object;
};

template <typename T>
agentd_status AGENTD_CALL create(const agentd_call* raw, void** self) noexcept {
  call c(*raw, nullptr);
  return guarded(c, [&]() -> agentd_status {
    if (const std::string_view missing = missing_of<T>(*raw); !missing.empty()) {
      return c.fail(AGENTD_E_DENIED, "this plugin requires " + std::string(missing) + ", which was not granted");
    }
    std::unique_ptr<instance<T>> made(new (std::nothrow) instance<T>(*raw));
    if (made == nullptr) return c.fail(AGENTD_E_NOMEM, "no memory for the plugin's object");
    if (made->refused != AGENTD_OK) return made->refused;
    *self = made.release();
    return AGENTD_OK;
  });
}

template <typename T>
agentd_status AGENTD_CALL destroy(void* self, const agentd_call* raw) noexcept {
  call c(*raw, nullptr);
  return guarded(c, [&]() -> agentd_status {
    delete static_cast<instance<T>*>(self);
    return AGENTD_OK;
  });
}

template <typename T>
concept saves_state = requires(T& t, call& c) {
  t.save_state(c);
}
|| requires(T& t) {
  { t.save_state() } -> std::convertible_to<std::string_view>;
};
template <typename T>
concept loads_state = requires(T& t, call& c, create_info_view info) {
  t.load_state(c, info);
}
|| requires(T& t, std::string_view s) { t.load_state(s, s); }
|| requires(T& t, std::string_view s) { t.load_state(s); };

template <typename T>
agentd_status AGENTD_CALL save_state(void* self, const agentd_call* raw) noexcept {
  auto* made = static_cast<instance<T>*>(self);
  call c(*raw, &made->extra);
  const agentd_status status = guarded(c, [&] {
    if constexpr (requires { made->object.save_state(c); }) {
      return status_of([&] { return made->object.save_state(c); });
    } else {
      const auto state = made->object.save_state();
      return c.emit_text(AGENTD_ACT_STATE, state);
    }
  });
  return c.answer(status);
}

template <typename T>
agentd_status AGENTD_CALL load_state(void* self, const agentd_call* raw) noexcept {
  auto* made = static_cast<instance<T>*>(self);
  call c(*raw, &made->extra);
  const create_info_view info(static_cast<const agentd_create_info*>(raw->payload));
  const agentd_status status = guarded(c, [&] {
    return status_of([&] {
      if constexpr (requires { made->object.load_state(c, info); }) {
        return made->object.load_state(c, info);
      } else if constexpr (requires { made->object.load_state(info.state(), info.state()); }) {
        return made->object.load_state(info.state(), info.previous_version());
      } else {
        return made->object.load_state(info.state());
      }
    });
  });
  return c.answer(status);
}

// ---- rows

template <typename T, event Event>
agentd_status AGENTD_CALL run_hook(void* self, const agentd_call* raw) noexcept {
  auto* made = static_cast<instance<T>*>(self);
  call c(*raw, &made->extra);
  const agentd_status status = guarded(c, [&] { return handler<T, Event>::call_it(made->object, c); });
  return c.answer(status);
}

template <typename T>
inline constexpr std::size_t row_count =
#define AGENTD_SDK_COUNT(NAME, name, id, record) +(handler<T, event::name>::present ? 1u : 0u)
    0u AGENTD_EVENT_LIST(AGENTD_SDK_COUNT);
#undef AGENTD_SDK_COUNT

template <typename T, event Event>
consteval agentd_hook row() {
  constexpr hook_options options = handler<T, Event>::options();
  static_assert(options.priority >= INT16_MIN && options.priority <= INT16_MAX, "hook_priority must fit in 16 bits");
  static_assert(options.flags <= UINT16_MAX, "hook_flags must be AGENTD_HOOK_ bits");
  constexpr bool messages = options.messages && handler<T, Event>::has_messages;
  return {static_cast<std::uint32_t>(Event), static_cast<std::uint16_t>(options.flags),
          static_cast<std::int16_t>(options.priority), &run_hook<T, Event>, messages ? AGENTD_WANTS_MESSAGES : 0u};
}

template <typename T>
consteval std::array<agentd_hook, row_count<T>> make_rows() {
  std::array<agentd_hook, row_count<T>> made{};
  std::size_t next = 0;
#define AGENTD_SDK_ROW(NAME, name, id, record) \
  if constexpr (handler<T, event::name>::present) made[next++] = row<T, event::name>();
  AGENTD_EVENT_LIST(AGENTD_SDK_ROW)
#undef AGENTD_SDK_ROW
  (void)next;
  return made;
}
template <typename T>
inline constexpr auto rows = make_rows<T>();

// ---- the plugin record

template <typename T>
consteval std::uint32_t concurrency_of() {
  if constexpr (requires { T::concurrency; }) {
    static_assert(T::concurrency <= AGENTD_CONCURRENT,
                  "concurrency is AGENTD_SERIAL, AGENTD_PER_CONVERSATION or AGENTD_CONCURRENT");
    return T::concurrency;
  } else {
    return AGENTD_SERIAL;
  }
}

template <typename T>
consteval agentd_plugin make_plugin(std::string_view id, std::string_view version) {
  check_handler_names<T>();
  static_assert(row_count<T> > 0 || std::is_constructible_v<T, init&>,
                "the plugin has no on_EVENT handler and no constructor from agentd::init");
  // Used only by the manifest; a class that is tested without one has them used here.
  if constexpr (requires { std::begin(T::hook_drafts); }) (void)std::size(T::hook_drafts);
  agentd_plugin made{};
  made.size = sizeof(agentd_plugin);
  made.concurrency = concurrency_of<T>();
  made.id = as_str(id);
  made.version = as_str(version);
  made.create = &create<T>;
  made.destroy = &destroy<T>;
  if constexpr (saves_state<T>) made.save_state = &save_state<T>;
  if constexpr (loads_state<T>) made.load_state = &load_state<T>;
  if constexpr (row_count < T >> 0) {
    made.hooks = {rows<T>.data(), static_cast<std::uint32_t>(row_count<T>), sizeof(agentd_hook)};
  }
  return made;
}

// The entry: pure. Declines a host that is too old or has another major version.
inline agentd_status enter(agentd_negotiate* io, const agentd_plugin& plugin) noexcept {
  io->magic = AGENTD_MAGIC;
  io->abi = AGENTD_ABI;
  if ((io->host_abi_max >> 16) > AGENTD_ABI_MAJOR) {
    io->error = as_str("this hook is built for hook ABI 1, which this agentd no longer supports: rebuild the hook");
    return AGENTD_E_UNSUPPORTED;
  }
  if (io->host_abi_max < AGENTD_ABI) {
    io->error = as_str("this hook is built for a newer hook ABI than this agentd has: update agentd");
    return AGENTD_E_UNSUPPORTED;
  }
  io->plugin = &plugin;
  return AGENTD_OK;
}

// ---- the manifest

// Writes into `out`, or only counts if `out` is NULL.
struct manifest_writer {
  char* out = nullptr;
  std::size_t bytes = 0;

  constexpr void raw(std::string_view text) {
    for (char c : text) {
      if (out != nullptr) out[bytes] = c;
      ++bytes;
    }
  }
  constexpr void quoted(std::string_view text) {
    raw("\"");
    raw(text);
    raw("\"");
  }
  constexpr void member(std::string_view name, std::string_view text) {
    quoted(name);
    raw(":");
    quoted(text);
    raw(",");
  }
};

// Ids and versions need no JSON escaping; others are refused.
consteval bool plain(std::string_view text) {
  for (char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && c != '.' && c != '_' && c != '-' && c != '+' && c != '/' && c != ':') return false;
  }
  return !text.empty();
}

template <typename List>
constexpr void write_ids(manifest_writer& to, std::string_view name, const List& list) {
  to.quoted(name);
  to.raw(":[");
  bool first = true;
  for (std::string_view each : list) {
    if (!first) to.raw(",");
    first = false;
    to.quoted(each);
  }
  to.raw("],");
}

template <typename T>
constexpr void write_events(manifest_writer& to) {
  to.quoted("events");
  to.raw(":[");
  bool first = true;
  for (const agentd_hook& each : rows<T>) {
    if (!first) to.raw(",");
    first = false;
    to.quoted(name_of(static_cast<event>(each.event)));
  }
  to.raw("],");
}

template <typename T>
constexpr std::size_t write_manifest(char* out, std::string_view id, std::string_view version, std::string_view extra) {
  constexpr std::string_view kNames[] = {"serial", "per-conversation", "concurrent"};
  manifest_writer to{out};
  to.raw("{");
  to.member("id", id);
  to.member("version", version);
  static_assert(AGENTD_ABI_MAJOR == 1 && AGENTD_TARGET_MINOR <= AGENTD_ABI_MINOR, "the manifest names the ABI");
  static_assert(AGENTD_TARGET_MINOR <= 1, "add the text of the minor version below");
  to.member("abi", AGENTD_TARGET_MINOR == 0 ? "1.0" : "1.1");
  write_events<T>(to);
  if constexpr (requires { std::begin(T::hook_requires); }) write_ids(to, "requires", T::hook_requires);
  if constexpr (requires { std::begin(T::hook_wants); }) write_ids(to, "wants", T::hook_wants);
  if constexpr (requires { std::begin(T::hook_drafts); }) write_ids(to, "drafts", T::hook_drafts);
  to.quoted("concurrency");
  to.raw(":");
  to.quoted(kNames[concurrency_of<T>()]);
  if (!extra.empty()) to.raw(",");
  to.raw(extra);
  to.raw("}");
  return to.bytes;
}

// The ELF note for the loader: owner "agentd", type 1, the text with its NUL, padded to 4.
template <std::size_t TextBytes>
struct manifest_note {
  std::uint32_t name_bytes = sizeof(AGENTD_NOTE_OWNER);
  std::uint32_t text_bytes = static_cast<std::uint32_t>(TextBytes);
  std::uint32_t type = AGENTD_NOTE_TYPE;
  char name[8] = AGENTD_NOTE_OWNER;
  char text[(TextBytes + 3u) & ~std::size_t{3}] = {};
};

template <typename T, std::size_t TextBytes>
consteval manifest_note<TextBytes> make_note(std::string_view id, std::string_view version, std::string_view extra) {
  manifest_note<TextBytes> made;
  write_manifest<T>(made.text, id, version, extra);
  return made;
}

// The same as a PE section: the text with its NUL.
template <std::size_t TextBytes>
struct manifest_section {
  char text[TextBytes] = {};
};

template <typename T, std::size_t TextBytes>
consteval manifest_section<TextBytes> make_section(std::string_view id, std::string_view version,
                                                   std::string_view extra) {
  manifest_section<TextBytes> made;
  write_manifest<T>(made.text, id, version, extra);
  return made;
}

}  // namespace agentd::detail

namespace agentd {

// An entry for class T without a module. A unit test that links several hooks passes it to the fake host, since only
// one of them can be agentd_hook_entry_v1.
template <typename T>
agentd_status AGENTD_CALL entry_for(agentd_negotiate* io) noexcept {
  static constexpr agentd_plugin plugin = detail::make_plugin<T>("org.example.test", "0.0.0");
  return detail::enter(io, plugin);
}

}  // namespace agentd

#if defined(_WIN32)
#define AGENTD_SDK_NOTE(type, id, version, extra)                                                                    \
  __attribute__((section(".agentd"), used)) static constexpr auto agentd_manifest_text =                             \
      ::agentd::detail::make_section<type, ::agentd::detail::write_manifest<type>(nullptr, id, version, extra) + 1>( \
          id, version, extra);
#else
#define AGENTD_SDK_NOTE(type, id, version, extra)                                                                 \
  __attribute__((section(".note.agentd"), used, aligned(4))) static constexpr auto agentd_manifest_note =         \
      ::agentd::detail::make_note<type, ::agentd::detail::write_manifest<type>(nullptr, id, version, extra) + 1>( \
          id, version, extra);
#endif

// AGENTD_HOOK_MANIFEST(X, "org.example.x", "1.0.0", "\"license\":\"MIT\"") makes a module of class
// X; the last argument is further members of the manifest's JSON object: capabilities,
// config_schema, license, isolation. Once per module, at namespace scope, in one source.
#define AGENTD_HOOK_MANIFEST(type, id, version, extra)                                                     \
  static_assert(::agentd::detail::plain(id), "the id has letters, digits, '.', '-' and '_'");              \
  static_assert(::agentd::detail::plain(version), "the version is like 1.0.0");                            \
  AGENTD_SDK_NOTE(type, id, version, extra)                                                                \
  static constexpr agentd_plugin agentd_plugin_record = ::agentd::detail::make_plugin<type>(id, version);  \
  extern "C" AGENTD_EXPORT agentd_status AGENTD_CALL agentd_hook_entry_v1(agentd_negotiate* io) noexcept { \
    return ::agentd::detail::enter(io, agentd_plugin_record);                                              \
  }

// AGENTD_HOOK(X, "org.example.x", "1.0.0") makes a module of class X.
#define AGENTD_HOOK(type, id, version) AGENTD_HOOK_MANIFEST(type, id, version, "")
