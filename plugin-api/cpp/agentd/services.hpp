// SPDX-License-Identifier: Apache-2.0
#pragma once
// services.hpp - the host's compactor, thread factory and store as C++ objects.
//
// Each wrapper is a table and a token. A service without a grant is an ordinary object that returns AGENTD_E_DENIED, so
// a plugin may call it without checking first. Results are borrowed until the token ends.
//
// Threading: every function may be called from any thread while the token lives.

#if defined(__cplusplus) && __cplusplus < 202002L && (!defined(_MSVC_LANG) || _MSVC_LANG < 202002L)
#error "agentd's C++ SDK needs C++20: compile with -std=c++20 (cl: /std:c++20), or write the hook in C"
#else

#include <agentd/build.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace agentd {

// A value, or the status that explains why there is none. The value of a failed result is the empty one: a view over
// NULL, an empty text, zero.
template <typename T>
class [[nodiscard]] result {
 public:
  // Implicit, so that `return status;` reads well.
  result(agentd_status status) : status_(status) {}
  result(agentd_status status, T value) : status_(status), value_(std::move(value)) {}

  explicit operator bool() const noexcept { return status_ == AGENTD_OK; }
  [[nodiscard]] agentd_status status() const noexcept { return status_; }
  T& operator*() noexcept { return value_; }
  const T& operator*() const noexcept { return value_; }
  T* operator->() noexcept { return &value_; }
  const T* operator->() const noexcept { return &value_; }
  [[nodiscard]] T value_or(T other) const { return status_ == AGENTD_OK ? value_ : std::move(other); }

 private:
  agentd_status status_;
  T value_{};
};

// A status as text: "not found".
[[nodiscard]] constexpr std::string_view status_text(agentd_status status) noexcept {
  constexpr std::string_view texts[] = {"ok",
                                        "an argument breaks its contract",
                                        "out of memory",
                                        "unsupported",
                                        "cancelled",
                                        "the deadline passed",
                                        "not found",
                                        "busy",
                                        "conflict",
                                        "too big",
                                        "wrong thread",
                                        "internal error",
                                        "denied",
                                        "input or output failed"};
  if (status == AGENTD_PENDING) return "pending";
  if (status > 0 || status < AGENTD_E_IO) return "unknown status";
  return texts[-status];
}

// ---- a table of functions

// Common to all services: the table, NULL without a grant, and the token of its calls.
template <typename Table>
class service_table {
 public:
  constexpr service_table(const Table* table, agentd_token token) noexcept : table_(table), token_(token) {}
  explicit operator bool() const noexcept { return table_ != nullptr; }
  [[nodiscard]] const Table* raw() const noexcept { return table_; }

  // Calls a function by its slot in the C header: c.store().call(&agentd_store::get, as_str("k"), &kv). AGENTD_E_DENIED
  // without the table; AGENTD_E_UNSUPPORTED if the host is too old to have the function.
  template <typename... Parameters>
  agentd_status call(agentd_status (AGENTD_CALL* Table::*slot)(const Table*, agentd_token, Parameters...)
                         AGENTD_NOEXCEPT,
                     std::type_identity_t<Parameters>... parameters) const noexcept {
    if (table_ == nullptr) return AGENTD_E_DENIED;
    const auto* const end = reinterpret_cast<const char*>(&(table_->*slot) + 1);
    if (end - reinterpret_cast<const char*>(table_) > static_cast<std::ptrdiff_t>(table_->size))
      return AGENTD_E_UNSUPPORTED;
    return (table_->*slot)(table_, token_, parameters...);
  }

 protected:
  const Table* table_;
  agentd_token token_;
};

// ---- compactor

struct compact_options {
  std::uint32_t strategy = AGENTD_STRATEGY_DEFAULT;
  std::uint64_t keep_tokens = 0;
  std::uint32_t max_summary_tokens = 0;
  std::string_view model{};
  std::string_view instructions{};

  [[nodiscard]] agentd_compact_options record() const noexcept {
    auto made = sized<agentd_compact_options>();
    made.strategy = strategy;
    made.keep_tokens = keep_tokens;
    made.max_summary_tokens = max_summary_tokens;
    made.model = as_str(model);
    made.instructions = as_str(instructions);
    return made;
  }
};

class compactor_service : public service_table<agentd_compactor> {
 public:
  compactor_service(const agentd_compactor* table, agentd_token token, agentd_conv conversation) noexcept
      : service_table(table, token), conversation_(conversation) {}

  // Tokens of a text; empty model = the call's.
  [[nodiscard]] result<std::uint64_t> count(std::string_view text, std::string_view model = {}) const {
    std::uint64_t tokens = 0;
    return {call(&agentd_compactor::count_text, as_str(model), as_str(text), &tokens), tokens};
  }
  [[nodiscard]] result<std::uint64_t> count(message_list messages, std::string_view model = {}) const {
    std::uint64_t tokens = 0;
    return {call(&agentd_compactor::count_messages, as_str(model), messages.raw(), &tokens), tokens};
  }
  // The prompt that compact() would send.
  [[nodiscard]] result<std::string_view> prompt(const compact_options& options = {}) const {
    const agentd_compact_options record = options.record();
    agentd_str text{};
    const agentd_status status = call(&agentd_compactor::prompt, &record, &text);
    return {status, as_view(text)};
  }
  // Summarises the complete view of the call's conversation; applies nothing.
  [[nodiscard]] result<compact_result_view> compact(const compact_options& options = {}) const {
    return compact(source(conversation_), options);
  }
  // Summarises the messages first..last of the call's conversation, by log sequence.
  [[nodiscard]] result<compact_result_view> compact(std::uint64_t first, std::uint64_t last,
                                                    const compact_options& options = {}) const {
    agentd_compact_source range = source(conversation_);
    range.first = first;
    range.last = last;
    return compact(range, options);
  }
  // Summarises the caller's own messages.
  [[nodiscard]] result<compact_result_view> compact(message_list messages, const compact_options& options = {}) const {
    agentd_compact_source own = source(0);
    own.messages = messages.raw();
    return compact(own, options);
  }
  [[nodiscard]] result<compact_result_view> compact(const agentd_compact_source& from,
                                                    const compact_options& options) const {
    const agentd_compact_options record = options.record();
    const agentd_compact_result* made = nullptr;
    const agentd_status status = call(&agentd_compactor::compact, &from, &record, &made);
    return {status, compact_result_view(made)};
  }
  // Queues a compaction of any conversation.
  agentd_status request(std::string_view conversation_id, const compact_options& options = {}) const {
    const agentd_compact_options record = options.record();
    return call(&agentd_compactor::request, as_str(conversation_id), &record);
  }

 private:
  static agentd_compact_source source(agentd_conv conversation) noexcept {
    auto made = sized<agentd_compact_source>();
    made.conversation = conversation;
    return made;
  }

  agentd_conv conversation_;
};

// ---- thread factory

struct thread_options {
  std::string_view model{};
  std::string_view system{};
  std::uint32_t max_tokens = 0;
  std::uint64_t budget_tokens = 0;
  agentd_conv charge_to = 0;
  message_list history{};

  [[nodiscard]] agentd_thread_options record() const noexcept {
    auto made = sized<agentd_thread_options>();
    made.model = as_str(model);
    made.system = as_str(system);
    made.max_tokens = max_tokens;
    made.budget_tokens = budget_tokens;
    made.charge_to = charge_to;
    made.history = history.raw();
    return made;
  }
};

// A conversation with a model; its destructor closes it. It may outlive the call that opened it: then send() needs the
// token of a later call.
class model_thread {
 public:
  model_thread() noexcept = default;
  model_thread(const agentd_thread_factory* table, agentd_token token, agentd_thread id) noexcept
      : table_(table), token_(token), id_(id) {}
  model_thread(model_thread&& other) noexcept
      : table_(other.table_), token_(other.token_), id_(std::exchange(other.id_, 0)) {}
  model_thread& operator=(model_thread&& other) noexcept {
    if (this != &other) {
      close();
      table_ = other.table_;
      token_ = other.token_;
      id_ = std::exchange(other.id_, 0);
    }
    return *this;
  }
  model_thread(const model_thread&) = delete;
  model_thread& operator=(const model_thread&) = delete;
  ~model_thread() { close(); }

  explicit operator bool() const noexcept { return id_ != 0; }
  [[nodiscard]] agentd_thread id() const noexcept { return id_; }
  // Sends one user message and waits for the complete answer.
  [[nodiscard]] result<reply_view> send(std::string_view text) const { return send(token_, text); }
  [[nodiscard]] result<reply_view> send(agentd_token token, std::string_view text) const {
    if (id_ == 0) return AGENTD_E_NOT_FOUND;
    const agentd_reply* reply = nullptr;
    const agentd_status status = table_->send(table_, token, id_, as_str(text), &reply);
    return {status, reply_view(reply)};
  }
  [[nodiscard]] result<usage_view> usage() const { return usage(token_); }
  [[nodiscard]] result<usage_view> usage(agentd_token token) const {
    if (id_ == 0) return AGENTD_E_NOT_FOUND;
    const agentd_usage* spent = nullptr;
    const agentd_status status = table_->usage(table_, token, id_, &spent);
    return {status, usage_view(spent)};
  }
  void close() noexcept {
    if (id_ != 0) table_->close(table_, std::exchange(id_, 0));
  }

 private:
  const agentd_thread_factory* table_ = nullptr;
  agentd_token token_ = 0;
  agentd_thread id_ = 0;
};

class thread_service : public service_table<agentd_thread_factory> {
 public:
  using service_table::service_table;

  [[nodiscard]] result<model_thread> open(const thread_options& options = {}) const {
    const agentd_thread_options record = options.record();
    agentd_thread id = 0;
    const agentd_status status = call(&agentd_thread_factory::open, &record, &id);
    if (status != AGENTD_OK) return status;
    return {status, model_thread(table_, token_, id)};
  }
};

// ---- store

// One step of an all-or-nothing commit; its texts are borrowed.
[[nodiscard]] inline agentd_kv_op kv_put(std::string_view key, std::string_view value,
                                         std::uint64_t expect = AGENTD_KV_ANY) noexcept {
  return {static_cast<std::uint32_t>(sizeof(agentd_kv_op)), AGENTD_KV_PUT, as_str(key), as_str(value), expect};
}
[[nodiscard]] inline agentd_kv_op kv_erase(std::string_view key, std::uint64_t expect = AGENTD_KV_ANY) noexcept {
  return {static_cast<std::uint32_t>(sizeof(agentd_kv_op)), AGENTD_KV_ERASE, as_str(key), {}, expect};
}
[[nodiscard]] inline agentd_kv_op kv_check(std::string_view key, std::uint64_t expect) noexcept {
  return {static_cast<std::uint32_t>(sizeof(agentd_kv_op)), AGENTD_KV_CHECK, as_str(key), {}, expect};
}

struct conv_query {
  std::string_view project_id{};
  std::string_view text{};
  std::string_view after{};
  std::int64_t since_ms = 0;
  std::int64_t until_ms = 0;
  std::uint32_t limit = 0;
};

// A page of changes, and the cursor that continues it.
struct change_page {
  conv_info_list changed;
  std::uint64_t next = 0;
};

class store_service : public service_table<agentd_store> {
 public:
  using service_table::service_table;

  [[nodiscard]] result<kv_view> get(std::string_view key) const {
    const agentd_kv* found = nullptr;
    const agentd_status status = call(&agentd_store::get, as_str(key), &found);
    return {status, kv_view(found)};
  }
  [[nodiscard]] result<kv_list> scan(std::string_view prefix, std::string_view after = {},
                                     std::uint32_t limit = 0) const {
    agentd_list found{};
    const agentd_status status = call(&agentd_store::scan, as_str(prefix), as_str(after), limit, &found);
    return {status, kv_list(found)};
  }
  // Puts one key; returns its new version.
  result<std::uint64_t> put(std::string_view key, std::string_view value, std::uint64_t expect = AGENTD_KV_ANY) const {
    return commit({kv_put(key, value, expect)});
  }
  result<std::uint64_t> erase(std::string_view key, std::uint64_t expect = AGENTD_KV_ANY) const {
    return commit({kv_erase(key, expect)});
  }
  result<std::uint64_t> commit(const std::vector<agentd_kv_op>& ops) const {
    std::uint64_t version = 0;
    const agentd_status status = call(&agentd_store::commit, as_list(ops), &version);
    return {status, version};
  }
  [[nodiscard]] result<conv_info_list> conversations(const conv_query& query = {}) const {
    auto record = sized<agentd_conv_query>();
    record.limit = query.limit;
    record.project_id = as_str(query.project_id);
    record.text = as_str(query.text);
    record.after = as_str(query.after);
    record.since_ms = query.since_ms;
    record.until_ms = query.until_ms;
    agentd_list found{};
    const agentd_status status = call(&agentd_store::conversations, &record, &found);
    return {status, conv_info_list(found)};
  }
  // Messages of the view (or, with AGENTD_SCOPE_LOG, of the log) at revision `at` (0 = head).
  [[nodiscard]] result<message_list> messages(std::string_view conversation_id, std::uint32_t scope = AGENTD_SCOPE_VIEW,
                                              std::uint64_t at = 0, std::uint64_t from = 0,
                                              std::uint32_t limit = 0) const {
    agentd_list found{};
    const agentd_status status = call(&agentd_store::messages, as_str(conversation_id), scope, at, from, limit, &found);
    return {status, message_list(found)};
  }
  [[nodiscard]] result<std::string_view> read_blob(std::string_view blob, std::uint64_t offset,
                                                   std::uint64_t limit) const {
    agentd_str bytes{};
    const agentd_status status = call(&agentd_store::read_blob, as_str(blob), offset, limit, &bytes);
    return {status, as_view(bytes)};
  }
  [[nodiscard]] result<change_page> changes(std::uint64_t cursor, std::uint32_t limit = 0) const {
    agentd_list found{};
    std::uint64_t next = cursor;
    const agentd_status status = call(&agentd_store::changes, cursor, limit, &found, &next);
    return {status, change_page{conv_info_list(found), next}};
  }
};

// The three services, as in agentd_services.
struct services {
  compactor_service compactor;
  thread_service threads;
  store_service store;
};

}  // namespace agentd

#endif  // C++20
