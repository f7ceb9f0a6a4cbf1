// SPDX-License-Identifier: Apache-2.0
#pragma once
// drafts.hpp - the draft interfaces as C++ objects: workspace files, commands, services offered and called.
//
// A draft may still change, so it is not part of hook.hpp. The manifest must list its id:
//   static constexpr std::string_view hook_drafts[] = {agentd::id::workspace, agentd::id::process};
// and the constructor makes the object: `explicit X(agentd::init& from) : files_(from) {}`. Without the grant it
// returns AGENTD_E_DENIED.
//
// Threading: constructed on the thread that loads the plugin; every function may be called from any
// thread while the token lives.

#if defined(__cplusplus) && __cplusplus < 202002L && (!defined(_MSVC_LANG) || _MSVC_LANG < 202002L)
#error "agentd's C++ SDK needs C++20: compile with -std=c++20 (cl: /std:c++20), or write the hook in C"
#else

#include <agentd/ext/draft/process.h>
#include <agentd/ext/draft/provide.h>
#include <agentd/ext/draft/services.h>
#include <agentd/ext/draft/workspace.h>
#include <agentd/hook.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace agentd {

class file_entry_view : public record_view<agentd_file_entry> {
 public:
  using record_view<agentd_file_entry>::record_view;
  [[nodiscard]] std::uint32_t kind() const noexcept { return member(&agentd_file_entry::kind); }
  [[nodiscard]] std::string_view path() const noexcept { return text_of(&agentd_file_entry::path); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return member(&agentd_file_entry::bytes); }
  [[nodiscard]] std::int64_t modified_ns() const noexcept { return member(&agentd_file_entry::modified_ns); }
  [[nodiscard]] bool is_regular() const noexcept { return kind() == AGENTD_FILE_REGULAR; }
  [[nodiscard]] bool is_directory() const noexcept { return kind() == AGENTD_FILE_DIRECTORY; }
  [[nodiscard]] bool is_symlink() const noexcept { return kind() == AGENTD_FILE_SYMLINK; }
  [[nodiscard]] bool is_withheld() const noexcept { return kind() == AGENTD_FILE_WITHHELD; }
};
using file_entry_list = list_view<file_entry_view, agentd_file_entry>;

// A part of a file, and the size of the complete file.
struct file_part {
  std::string_view bytes;
  std::uint64_t total = 0;
};

// The text of a file, and the size of the file.
struct file_view {
  std::string_view text;
  std::uint64_t total = 0;
};

// Entries of a directory; `more` if the limit cut them off.
struct file_listing {
  file_entry_list entries;
  bool more = false;
};

class workspace {
 public:
  workspace() noexcept = default;
  explicit workspace(const agentd_workspace* table) noexcept : table_(table) {}
  explicit workspace(const init& from) noexcept : table_(from.query<agentd_workspace>(AGENTD_WORKSPACE_ID)) {}
  explicit operator bool() const noexcept { return table_ != nullptr; }

  // Bytes offset..offset+limit of a regular file; limit 0 = 16 MiB.
  [[nodiscard]] result<file_part> read(const context& c, std::string_view path, std::uint64_t offset = 0,
                                       std::uint64_t limit = 0) const {
    if (table_ == nullptr) return AGENTD_E_DENIED;
    agentd_str bytes{};
    std::uint64_t total = 0;
    const agentd_status status = table_->read(table_, c.token(), as_str(path), offset, limit, &bytes, &total);
    return {status, file_part{as_view(bytes), total}};
  }
  // Replaces or makes a file, completely or not at all.
  [[nodiscard]] agentd_status write(const context& c, std::string_view path, std::string_view bytes) const {
    if (table_ == nullptr) return AGENTD_E_DENIED;
    return table_->write(table_, c.token(), as_str(path), as_str(bytes));
  }
  // Like write(), if the file still is `expected`; AGENTD_E_CONFLICT otherwise.
  [[nodiscard]] agentd_status replace(const context& c, std::string_view path, std::string_view expected,
                                      std::string_view bytes) const {
    if (table_ == nullptr) return AGENTD_E_DENIED;
    return table_->replace(table_, c.token(), as_str(path), as_str(expected), as_str(bytes));
  }
  // The text of a file that a model may see, with placeholders in place of secrets; limit 0 = 16 MiB, a larger file has
  // no text.
  [[nodiscard]] result<file_view> view(const context& c, std::string_view path, std::uint64_t limit = 0) const {
    if (table_ == nullptr) return AGENTD_E_DENIED;
    agentd_str text{};
    std::uint64_t total = 0;
    const agentd_status status = table_->view(table_, c.token(), as_str(path), limit, &text, &total);
    return {status, file_view{as_view(text), total}};
  }
  // Makes `text` of a file whose view is `expected`; the file's own bytes stay under the placeholders of `text`.
  [[nodiscard]] agentd_status edit(const context& c, std::string_view path, std::string_view expected,
                                   std::string_view text) const {
    if (table_ == nullptr) return AGENTD_E_DENIED;
    return table_->edit(table_, c.token(), as_str(path), as_str(expected), as_str(text));
  }
  // Entries below `path`, depth first, names in byte order; depth 0 = all, limit 0 = 10000.
  [[nodiscard]] result<file_listing> list(const context& c, std::string_view path, std::uint32_t depth = 0,
                                          std::uint32_t limit = 0) const {
    if (table_ == nullptr) return AGENTD_E_DENIED;
    agentd_list found{};
    std::uint32_t more = 0;
    const agentd_status status = table_->list(table_, c.token(), as_str(path), depth, limit, &found, &more);
    return {status, file_listing{file_entry_list(found), more != 0}};
  }

 private:
  const agentd_workspace* table_ = nullptr;
};

class process_result_view : public record_view<agentd_process_result> {
  using self = agentd_process_result;

 public:
  using record_view<agentd_process_result>::record_view;
  [[nodiscard]] std::int32_t exit_code() const noexcept { return member(&self::exit_code); }
  [[nodiscard]] std::int32_t signal() const noexcept { return member(&self::signal); }
  [[nodiscard]] std::string_view output() const noexcept { return text_of(&self::output); }
  [[nodiscard]] std::uint64_t output_bytes() const noexcept { return member(&self::output_bytes); }
  [[nodiscard]] std::uint64_t duration_ns() const noexcept { return member(&self::duration_ns); }
  [[nodiscard]] bool timed_out() const noexcept { return has_bit(&self::flags, AGENTD_PROCESS_TIMED_OUT); }
  [[nodiscard]] bool cancelled() const noexcept { return has_bit(&self::flags, AGENTD_PROCESS_CANCELLED); }
  [[nodiscard]] bool truncated() const noexcept { return has_bit(&self::flags, AGENTD_PROCESS_TRUNCATED); }
  [[nodiscard]] std::uint32_t reason() const noexcept { return member(&self::reason); }
  // The file with the complete output; empty = there is none.
  [[nodiscard]] std::string_view spill_path() const noexcept { return text_of(&self::spill_path); }
  [[nodiscard]] std::uint64_t spill_bytes() const noexcept { return member(&self::spill_bytes); }
};

// A command that was started, at one moment.
class process_state_view : public record_view<agentd_process_state> {
  using self = agentd_process_state;

 public:
  using record_view<agentd_process_state>::record_view;
  [[nodiscard]] std::uint64_t handle() const noexcept { return member(&self::handle); }
  [[nodiscard]] std::uint32_t state() const noexcept { return member(&self::state); }
  [[nodiscard]] bool ended() const noexcept { return state() == AGENTD_PROCESS_STATE_ENDED; }
  [[nodiscard]] std::uint32_t reason() const noexcept { return member(&self::reason); }
  [[nodiscard]] std::int32_t exit_code() const noexcept { return member(&self::exit_code); }
  [[nodiscard]] std::int32_t signal() const noexcept { return member(&self::signal); }
  [[nodiscard]] std::uint64_t output_bytes() const noexcept { return member(&self::output_bytes); }
  [[nodiscard]] std::uint64_t spill_bytes() const noexcept { return member(&self::spill_bytes); }
  [[nodiscard]] std::uint64_t duration_ns() const noexcept { return member(&self::duration_ns); }
  [[nodiscard]] std::string_view command() const noexcept { return text_of(&self::command); }
  [[nodiscard]] std::string_view description() const noexcept { return text_of(&self::description); }
  [[nodiscard]] std::string_view spill_path() const noexcept { return text_of(&self::spill_path); }
  [[nodiscard]] bool takes_input() const noexcept {
    return has_bit(&self::flags, AGENTD_PROCESS_TAKES_INPUT) || has_terminal();
  }
  [[nodiscard]] bool has_terminal() const noexcept { return has_bit(&self::flags, AGENTD_PROCESS_TERMINAL); }
  [[nodiscard]] bool spill_full() const noexcept { return has_bit(&self::flags, AGENTD_PROCESS_SPILL_FULL); }
};
using process_state_list = list_view<process_state_view, agentd_process_state>;

// Bytes [first, next) of a command's output.
class process_piece_view : public record_view<agentd_process_piece> {
  using self = agentd_process_piece;

 public:
  using record_view<agentd_process_piece>::record_view;
  [[nodiscard]] std::uint64_t first() const noexcept { return member(&self::first); }
  [[nodiscard]] std::uint64_t next() const noexcept { return member(&self::next); }
  [[nodiscard]] std::string_view bytes() const noexcept { return text_of(&self::bytes); }
  [[nodiscard]] process_state_view state() const noexcept { return process_state_view(member(&self::state)); }
  // No more output will come.
  [[nodiscard]] bool last() const noexcept { return state().ended() && next() >= state().output_bytes(); }
};

struct process_options {
  std::string_view cwd{};
  std::string_view input{};
  std::uint32_t timeout_ms = 0;
  std::uint64_t output_bytes_max = 0;
  std::span<const std::string_view> environment{};  // "NAME=value", in addition
  std::string_view description{};
  // For start():
  std::uint32_t flags = 0;  // AGENTD_PROCESS_TAKES_INPUT, AGENTD_PROCESS_TERMINAL
  std::uint32_t rows = 0, columns = 0;
  std::uint64_t output_bytes_limit = 0;
};

class process {
 public:
  process() noexcept = default;
  explicit process(const agentd_process* table) noexcept : table_(table) {}
  explicit process(const init& from) noexcept : table_(from.query<agentd_process>(AGENTD_PROCESS_ID)) {}
  explicit operator bool() const noexcept { return table_ != nullptr; }

  // Runs a command and waits for it; argv[0] is looked up in PATH.
  [[nodiscard]] result<process_result_view> run(const context& c, std::span<const std::string_view> argv,
                                                const process_options& options = {}) const {
    if (table_ == nullptr) return AGENTD_E_DENIED;
    const options_record record(argv, options);
    const agentd_process_result* made = nullptr;
    const agentd_status status = table_->run(table_, c.token(), &record.record, &made);
    return {status, process_result_view(made)};
  }
  // Runs one shell line: sh -c LINE.
  [[nodiscard]] result<process_result_view> shell(const context& c, std::string_view line,
                                                  const process_options& options = {}) const {
    const std::string_view argv[] = {"sh", "-c", line};
    return run(c, argv, options);
  }
  // Starts a command of the session and returns its handle.
  [[nodiscard]] result<std::uint64_t> start(const context& c, std::span<const std::string_view> argv,
                                            const process_options& options = {}) const {
    if (table_ == nullptr) return AGENTD_E_DENIED;
    const options_record record(argv, options);
    std::uint64_t handle = 0;
    const agentd_status status = table_->start(table_, c.token(), &record.record, &handle);
    return {status, handle};
  }
  // Output from `position` on, AGENTD_PROCESS_UNREAD = what was not read this way before; limit 0 = 64 KiB. Waits up to
  // `wait_ms` for the first byte.
  [[nodiscard]] result<process_piece_view> read(const context& c, std::uint64_t handle,
                                                std::uint64_t position = AGENTD_PROCESS_UNREAD,
                                                std::uint32_t wait_ms = 0, std::uint64_t limit = 0) const {
    if (table_ == nullptr) return AGENTD_E_DENIED;
    const agentd_process_piece* made = nullptr;
    const agentd_status status = table_->read(table_, c.token(), handle, position, limit, wait_ms, &made);
    return {status, process_piece_view(made)};
  }
  // Writes to its input; `close` ends the input.
  [[nodiscard]] agentd_status write(const context& c, std::uint64_t handle, std::string_view bytes,
                                    bool close = false) const {
    if (table_ == nullptr) return AGENTD_E_DENIED;
    return table_->write(table_, c.token(), handle, as_str(bytes), close ? 1 : 0);
  }
  [[nodiscard]] agentd_status signal(const context& c, std::uint64_t handle, std::uint32_t number) const {
    if (table_ == nullptr) return AGENTD_E_DENIED;
    return table_->signal(table_, c.token(), handle, number);
  }
  // Its state after at most `wait_ms`, or at its end if that is earlier.
  [[nodiscard]] result<process_state_view> wait(const context& c, std::uint64_t handle,
                                                std::uint32_t wait_ms = 0) const {
    if (table_ == nullptr) return AGENTD_E_DENIED;
    const agentd_process_state* made = nullptr;
    const agentd_status status = table_->wait(table_, c.token(), handle, wait_ms, &made);
    return {status, process_state_view(made)};
  }
  // The session's commands.
  [[nodiscard]] result<process_state_list> list(const context& c) const {
    if (table_ == nullptr) return AGENTD_E_DENIED;
    agentd_list made{};
    const agentd_status status = table_->list(table_, c.token(), &made);
    return {status, process_state_list(made)};
  }
  [[nodiscard]] agentd_status resize(const context& c, std::uint64_t handle, std::uint32_t rows,
                                     std::uint32_t columns) const {
    if (table_ == nullptr) return AGENTD_E_DENIED;
    return table_->resize(table_, c.token(), handle, rows, columns);
  }
  // Ends it and all that it started.
  [[nodiscard]] result<process_state_view> end(const context& c, std::uint64_t handle) const {
    if (table_ == nullptr) return AGENTD_E_DENIED;
    const agentd_process_state* made = nullptr;
    const agentd_status status = table_->end(table_, c.token(), handle, &made);
    return {status, process_state_view(made)};
  }

 private:
  struct options_record {
    options_record(std::span<const std::string_view> argv, const process_options& options) {
      for (std::string_view each : argv) words.push_back(as_str(each));
      for (std::string_view each : options.environment) variables.push_back(as_str(each));
      record.timeout_ms = options.timeout_ms;
      record.argv = as_list(words);
      record.cwd = as_str(options.cwd);
      record.input = as_str(options.input);
      record.output_bytes_max = options.output_bytes_max;
      record.environment = as_list(variables);
      record.flags = options.flags;
      record.rows = options.rows;
      record.columns = options.columns;
      record.output_bytes_limit = options.output_bytes_limit;
      record.description = as_str(options.description);
    }
    std::vector<agentd_str> words, variables;
    agentd_process_options record = sized<agentd_process_options>();
  };

  const agentd_process* table_ = nullptr;
};

// ---- services that the plugin offers

// One call of an operation. The texts are the call's.
class service_view : public record_view<agentd_service_call> {
  using self = agentd_service_call;

 public:
  using record_view<agentd_service_call>::record_view;
  [[nodiscard]] std::string_view interface_id() const noexcept { return text_of(&self::interface_id); }
  [[nodiscard]] std::string_view operation() const noexcept { return text_of(&self::operation); }
  // One JSON value, and the same as an object that reads it.
  [[nodiscard]] std::string_view input_json() const noexcept { return text_of(&self::input_json); }
  [[nodiscard]] json_view input() const noexcept { return json_view(input_json()); }
  // The caller's project; empty = none.
  [[nodiscard]] std::string_view project_id() const noexcept { return text_of(&self::project_id); }
  // The calling plugin's id, or "core".
  [[nodiscard]] std::string_view caller() const noexcept { return text_of(&self::caller); }
  [[nodiscard]] std::uint64_t tag() const noexcept { return member(&self::tag); }
};

// An operation that the plugin offers; the texts are borrowed until provide() returns.
struct service_spec {
  std::string_view interface_id{};  // "agentd.memory/1"
  std::string_view operation{};     // "search"
  std::uint32_t flags = 0;          // AGENTD_SERVICE_
  std::uint32_t timeout_ms = 0;
  std::uint64_t tag = 0;
};

// Ends a service's call with one JSON value.
inline agentd_status service_result(const actions& c, std::string_view json) noexcept {
  return c.emit_text(AGENTD_ACT_SERVICE_RESULT, json);
}

namespace detail {

template <auto Method, typename T>
agentd_status AGENTD_CALL run_service(void* self, const agentd_call* raw) noexcept {
  auto* made = static_cast<instance<T>*>(self);
  call c(*raw, &made->extra);
  const service_view asked(static_cast<const agentd_service_call*>(raw->payload));
  const agentd_status status = guarded(c, [&]() -> agentd_status {
    using answer_type = decltype((made->object.*Method)(c, asked));
    if constexpr (std::is_convertible_v<answer_type, std::string_view>) {
      const auto json = (made->object.*Method)(c, asked);
      // After fail() the text is not an answer.
      return c.answer(AGENTD_OK) == AGENTD_OK ? service_result(c, json) : AGENTD_OK;
    } else {
      return status_of([&] { return (made->object.*Method)(c, asked); });
    }
  });
  return c.answer(status);
}

}  // namespace detail

// Offers an operation, in the constructor X(agentd::init& from):
//   agentd::provide<&X::search>(from, {.interface_id = "agentd.memory/1", .operation = "search"});
// `Method` is X::name(agentd::call&, agentd::service_view) and returns the result's JSON as a text, or void or
// agentd_status after service_result() or call::fail(). If it is inherited, pass the plugin's class as the second
// argument. A failure refuses the plugin, so most callers ignore the result.
template <auto Method, typename T = typename detail::member_class<decltype(Method)>::type>
agentd_status provide(init& from, const service_spec& spec) noexcept {
  if (!from.makes<T>()) {
    return from.refuse(AGENTD_E_ARG, "provide: name the plugin's class as second template argument");
  }
  const auto* const table = from.query<agentd_provide>(AGENTD_PROVIDE_ID);
  if (table == nullptr) {
    return from.refuse(
        AGENTD_E_DENIED,
        "this plugin needs agentd.provide/1: list it in the class, hook_drafts[] = {agentd::id::provide}, "
        "and grant it in config.yaml, hooks: {NAME: {grant: [agentd.provide/1]}}");
  }
  auto row = sized<agentd_service_row>();
  row.flags = spec.flags;
  row.interface_id = as_str(spec.interface_id);
  row.operation = as_str(spec.operation);
  row.timeout_ms = spec.timeout_ms;
  row.fn = &detail::run_service<Method, T>;
  row.tag = spec.tag;
  const agentd_status status = table->add(table, from.token(), &row);
  return status == AGENTD_OK ? status : from.refuse(status, status_text(status));
}

// ---- services that the plugin calls

class registry {
 public:
  registry() noexcept = default;
  explicit registry(const agentd_registry* table) noexcept : table_(table) {}
  explicit registry(const init& from) noexcept : table_(from.query<agentd_registry>(AGENTD_SERVICES_ID)) {}
  explicit operator bool() const noexcept { return table_ != nullptr; }

  // Calls an operation and waits for its result, one JSON value that lives as long as the token.
  // AGENTD_E_UNSUPPORTED: no plugin offers it; AGENTD_E_BUSY: the call would wait for itself.
  [[nodiscard]] result<std::string_view> call(const context& c, std::string_view interface_id,
                                              std::string_view operation,
                                              std::string_view input_json = "{}") const noexcept {
    if (table_ == nullptr) return AGENTD_E_DENIED;
    agentd_str made{};
    const agentd_status status =
        table_->call(table_, c.token(), as_str(interface_id), as_str(operation), as_str(input_json), &made);
    return {status, as_view(made)};
  }

 private:
  const agentd_registry* table_ = nullptr;
};

}  // namespace agentd

#endif  // C++20
