// SPDX-License-Identifier: Apache-2.0
#pragma once
// fake_services.hpp - compactor, thread factory and store for tests: scripted, in memory, following the contract.
//
// A test scripts their results and reads the recorded requests. The fakes return the errors of the contract: a stale
// token, a spent budget, a lost version race, a call inside before_compaction.
//
// Threading: the tables may be called from any thread; a test accesses the scripts only while no call runs.

#include <agentd/fake_records.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace agentd::testing {

// The host's side of a call, a pending call or a scope.
struct live_token {
  agentd_token id = 0;
  std::uint32_t event = 0;  // 0 = a scope
  agentd_live live{0, 0, UINT64_MAX};
  keeper memory;
  named_values values;
  std::string tool_input;  // for a tool's call, or a service's
  std::vector<recorded_action> actions;
  std::string error;  // the last fail()
  bool observer = false;
  bool ended_by_tool_result = false;  // or by SERVICE_RESULT
  bool completed = false;
  agentd_status completion = AGENTD_OK;
};

// All tokens of a fake host, and the plugin's violations of the contract.
class token_book {
 public:
  std::shared_ptr<live_token> open(std::uint32_t event, std::uint64_t deadline_ns = UINT64_MAX) {
    const std::lock_guard lock(mutex_);
    auto made = std::make_shared<live_token>();
    made->id = (++generation_ << 24) | 1u;
    made->event = event;
    made->live.deadline_ns = deadline_ns;
    tokens_[made->id] = made;
    return made;
  }
  // Returns NULL and records a breach if the token has ended.
  std::shared_ptr<live_token> find(agentd_token token, std::string_view who) {
    const std::lock_guard lock(mutex_);
    const auto found = tokens_.find(token);
    if (found != tokens_.end()) return found->second;
    breaches_.push_back(std::string(who) + " with a token that has ended");
    return nullptr;
  }
  bool close(agentd_token token) {
    const std::lock_guard lock(mutex_);
    return tokens_.erase(token) != 0;
  }
  // All live tokens, for cancel() and to find scopes left open.
  std::vector<std::shared_ptr<live_token>> all() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<live_token>> found;
    for (const auto& [id, token] : tokens_) found.push_back(token);
    return found;
  }
  void breach(std::string what) {
    const std::lock_guard lock(mutex_);
    breaches_.push_back(std::move(what));
  }
  std::vector<std::string> breaches() {
    const std::lock_guard lock(mutex_);
    return breaches_;
  }
  // Guards the records of a token; `completed` announces completions.
  std::mutex& mutex() { return mutex_; }
  std::condition_variable completed;

 private:
  std::mutex mutex_;
  std::uint64_t generation_ = 0;
  std::map<agentd_token, std::shared_ptr<live_token>> tokens_;
  std::vector<std::string> breaches_;
};

// Four bytes per token, rounded up.
[[nodiscard]] inline std::uint64_t fake_tokens(std::string_view text) { return (text.size() + 3) / 4; }

// The answer of a function for which the fake has none.
template <typename Table, typename... Parameters>
agentd_status AGENTD_CALL unsupported(const Table*, Parameters...) noexcept {
  return AGENTD_E_UNSUPPORTED;
}
template <typename Table, typename... Parameters>
void set_unsupported(agentd_status(AGENTD_CALL*& slot)(const Table*, Parameters...) noexcept) {
  slot = &unsupported<Table, Parameters...>;
}
// For the list of a table's functions: no slot is ever NULL.
#define AGENTD_FAKE_UNSUPPORTED(table, function, ...) set_unsupported(table_.function);

// ---- compactor

struct compact_seen {
  agentd_conv conversation = 0;
  std::uint64_t first = 0, last = 0;
  std::uint32_t message_count = 0;
  std::uint32_t strategy = 0;
  std::uint64_t keep_tokens = 0;
  std::string model, instructions;
  std::string conversation_id;  // request() only
};

class fake_compactor {
 public:
  fake_compactor(token_book& book, const fake_conversation& in) : book_(&book), in_(&in) {
    table_.size = sizeof(agentd_compactor);
    AGENTD_COMPACTOR_FUNCTIONS(AGENTD_FAKE_UNSUPPORTED)
    table_.owner = this;
    table_.count_text = &count_text;
    table_.count_messages = &count_messages;
    table_.prompt = &prompt;
    table_.compact = &compact;
    table_.request = &request;
  }
  fake_compactor(const fake_compactor&) = delete;
  fake_compactor& operator=(const fake_compactor&) = delete;
  [[nodiscard]] const agentd_compactor* table() const { return &table_; }

  // The script.
  std::string summary = "a summary";
  agentd_status status = AGENTD_OK;
  std::uint64_t pre_tokens = 1000, post_tokens = 100;
  std::uint64_t kept_first = 0, kept_last = 0;
  // The requests, in order.
  std::vector<compact_seen> compacted, requested;

 private:
  struct owned : agentd_compactor {
    fake_compactor* owner;
  };
  static fake_compactor& of(const agentd_compactor* table) { return *static_cast<const owned*>(table)->owner; }

  static compact_seen seen(const agentd_compact_options* options) {
    compact_seen made;
    if (options == nullptr) return made;
    made.strategy = options->strategy;
    made.keep_tokens = options->keep_tokens;
    made.model = as_view(options->model);
    made.instructions = as_view(options->instructions);
    return made;
  }
  static agentd_status AGENTD_CALL count_text(const agentd_compactor* table, agentd_token token, agentd_str,
                                              agentd_str text, std::uint64_t* out) noexcept {
    if (of(table).book_->find(token, "compactor->count_text") == nullptr) return AGENTD_E_NOT_FOUND;
    *out = fake_tokens(as_view(text));
    return AGENTD_OK;
  }
  static agentd_status AGENTD_CALL count_messages(const agentd_compactor* table, agentd_token token, agentd_str,
                                                  agentd_list messages, std::uint64_t* out) noexcept {
    if (of(table).book_->find(token, "compactor->count_messages") == nullptr) return AGENTD_E_NOT_FOUND;
    *out = 0;
    for (message_view message : message_list(messages)) *out += fake_tokens(message.text()) + 4;
    return AGENTD_OK;
  }
  static agentd_status AGENTD_CALL prompt(const agentd_compactor* table, agentd_token token,
                                          const agentd_compact_options* options, agentd_str* out) noexcept {
    const auto call = of(table).book_->find(token, "compactor->prompt");
    if (call == nullptr) return AGENTD_E_NOT_FOUND;
    *out = call->memory.text("Summarise the conversation.\n" + seen(options).instructions);
    return AGENTD_OK;
  }
  static agentd_status AGENTD_CALL compact(const agentd_compactor* table, agentd_token token,
                                           const agentd_compact_source* from, const agentd_compact_options* options,
                                           const agentd_compact_result** out) noexcept {
    fake_compactor& self = of(table);
    const auto call = self.book_->find(token, "compactor->compact");
    if (call == nullptr) return AGENTD_E_NOT_FOUND;
    if (call->event == AGENTD_EVENT_BEFORE_COMPACTION) return AGENTD_E_BUSY;
    if (from == nullptr) return AGENTD_E_ARG;
    compact_seen asked = seen(options);
    asked.conversation = from->conversation;
    asked.first = from->first;
    asked.last = from->last;
    asked.message_count = from->messages.count;
    self.compacted.push_back(std::move(asked));
    if (self.status != AGENTD_OK) return self.status;
    *out = self.result_of(*call);
    return AGENTD_OK;
  }
  const agentd_compact_result* result_of(live_token& call) {
    auto made = sized<agentd_compact_result>();
    made.outcome = AGENTD_RESULT_APPLIED;
    made.method = AGENTD_METHOD_SUMMARY;
    made.summary = call.memory.text(summary);
    made.pre_tokens = pre_tokens;
    made.post_tokens = post_tokens;
    made.kept_first = kept_first;
    made.kept_last = kept_last;
    made.base_revision = in_->revision;
    auto spent = sized<agentd_usage>();
    spent.input = pre_tokens;
    spent.output = fake_tokens(summary);
    made.usage = call.memory.keep(spent);
    return call.memory.keep(made);
  }
  static agentd_status AGENTD_CALL request(const agentd_compactor* table, agentd_token token,
                                           agentd_str conversation_id, const agentd_compact_options* options) noexcept {
    fake_compactor& self = of(table);
    if (self.book_->find(token, "compactor->request") == nullptr) return AGENTD_E_NOT_FOUND;
    compact_seen asked = seen(options);
    asked.conversation_id = as_view(conversation_id);
    if (asked.conversation_id != self.in_->id) return AGENTD_E_NOT_FOUND;
    self.requested.push_back(std::move(asked));
    return AGENTD_OK;
  }

  token_book* book_;
  const fake_conversation* in_;
  owned table_{};
};

// ---- thread factory

struct thread_seen {
  std::string model, system;
  std::uint32_t history_count = 0;
  std::vector<std::string> sent;
  bool open = true;
};

class fake_threads {
 public:
  explicit fake_threads(token_book& book) : book_(&book) {
    table_.size = sizeof(agentd_thread_factory);
    AGENTD_THREAD_FACTORY_FUNCTIONS(AGENTD_FAKE_UNSUPPORTED)
    table_.owner = this;
    table_.open = &open;
    table_.send = &send;
    table_.usage = &usage;
    table_.close = &close;
  }
  fake_threads(const fake_threads&) = delete;
  fake_threads& operator=(const fake_threads&) = delete;
  [[nodiscard]] const agentd_thread_factory* table() const { return &table_; }

  // The script: answers in order; after the last one, `status_when_empty`.
  std::deque<std::string> replies;
  agentd_status status_when_empty = AGENTD_E_IO;
  // The opened threads and sent messages, in order.
  std::vector<thread_seen> threads;

  [[nodiscard]] std::size_t open_count() const {
    return static_cast<std::size_t>(
        std::count_if(threads.begin(), threads.end(), [](const thread_seen& t) { return t.open; }));
  }

 private:
  struct owned : agentd_thread_factory {
    fake_threads* owner;
  };
  struct account {
    std::uint64_t budget = 0, input = 0, output = 0;
  };
  static fake_threads& of(const agentd_thread_factory* table) { return *static_cast<const owned*>(table)->owner; }
  // The index of an open thread; the number of threads if there is none.
  std::size_t index_of(agentd_thread id) const {
    const std::size_t index = static_cast<std::size_t>(id & 0xffffffffu) - 1;
    return index < threads.size() && threads[index].open ? index : threads.size();
  }

  static agentd_status AGENTD_CALL open(const agentd_thread_factory* table, agentd_token token,
                                        const agentd_thread_options* options, agentd_thread* out) noexcept {
    fake_threads& self = of(table);
    if (self.book_->find(token, "threads->open") == nullptr) return AGENTD_E_NOT_FOUND;
    thread_seen made;
    account spent;
    if (options != nullptr) {
      made.model = as_view(options->model);
      made.system = as_view(options->system);
      made.history_count = options->history.count;
      spent.budget = options->budget_tokens;
    }
    self.threads.push_back(std::move(made));
    self.accounts_.push_back(spent);
    *out = (std::uint64_t{1} << 32) | self.threads.size();
    return AGENTD_OK;
  }
  static agentd_status AGENTD_CALL send(const agentd_thread_factory* table, agentd_token token, agentd_thread id,
                                        agentd_str text, const agentd_reply** out) noexcept {
    fake_threads& self = of(table);
    const auto call = self.book_->find(token, "threads->send");
    const std::size_t index = self.index_of(id);
    if (call == nullptr || index == self.threads.size()) return AGENTD_E_NOT_FOUND;
    if (call->live.cancel != 0) return AGENTD_E_CANCELLED;
    account& spent = self.accounts_[index];
    if (spent.budget != 0 && spent.input + spent.output >= spent.budget) return AGENTD_E_TOO_BIG;
    self.threads[index].sent.emplace_back(as_view(text));
    if (self.replies.empty()) return self.status_when_empty;
    const std::string answer = self.replies.front();
    self.replies.pop_front();
    spent.input += fake_tokens(as_view(text));
    spent.output += fake_tokens(answer);
    auto made = sized<agentd_reply>();
    made.stop_reason = AGENTD_STOP_END_TURN;
    made.text = call->memory.text(answer);
    made.blocks = call->memory.blocks(assistant_message(answer));
    made.usage = usage_of(spent, *call);
    *out = call->memory.keep(made);
    return AGENTD_OK;
  }
  static const agentd_usage* usage_of(const account& spent, live_token& call) {
    auto made = sized<agentd_usage>();
    made.input = spent.input;
    made.output = spent.output;
    return call.memory.keep(made);
  }
  static agentd_status AGENTD_CALL usage(const agentd_thread_factory* table, agentd_token token, agentd_thread id,
                                         const agentd_usage** out) noexcept {
    fake_threads& self = of(table);
    const auto call = self.book_->find(token, "threads->usage");
    const std::size_t index = self.index_of(id);
    if (call == nullptr || index == self.threads.size()) return AGENTD_E_NOT_FOUND;
    *out = usage_of(self.accounts_[index], *call);
    return AGENTD_OK;
  }
  static agentd_status AGENTD_CALL close(const agentd_thread_factory* table, agentd_thread id) noexcept {
    fake_threads& self = of(table);
    const std::size_t index = self.index_of(id);
    if (index == self.threads.size()) return AGENTD_E_NOT_FOUND;
    self.threads[index].open = false;
    return AGENTD_OK;
  }

  token_book* book_;
  std::vector<account> accounts_;
  owned table_{};
};

// ---- store

struct stored_conversation {
  std::string id{}, title{}, project_id{}, provider{}, model{};
  std::int64_t created_ms = 0, updated_ms = 0;
  std::uint64_t revision = 1;
  history_builder history{};
};

class fake_store {
 public:
  struct value {
    std::string bytes;
    std::uint64_t version = 0;
  };

  explicit fake_store(token_book& book) : book_(&book) {
    table_.size = sizeof(agentd_store);
    AGENTD_STORE_FUNCTIONS(AGENTD_FAKE_UNSUPPORTED)
    table_.owner = this;
    table_.get = &get;
    table_.scan = &scan;
    table_.commit = &commit;
    table_.conversations = &conversations_of;
    table_.messages = &messages_of;
    table_.read_blob = &read_blob;
    table_.changes = &changes;
  }
  fake_store(const fake_store&) = delete;
  fake_store& operator=(const fake_store&) = delete;
  [[nodiscard]] const agentd_store* table() const { return &table_; }

  // The contents; a test may set and read them.
  std::map<std::string, value, std::less<>> values;
  std::vector<stored_conversation> conversations;  // newest first
  std::map<std::string, std::string, std::less<>> blobs;
  // Statuses that the next commits return instead of committing.
  std::deque<agentd_status> failures;

  void put(std::string_view key, std::string_view bytes) {
    values[std::string(key)] = {std::string(bytes), ++version_};
  }
  [[nodiscard]] std::string text(std::string_view key) const {
    const auto found = values.find(key);
    return found == values.end() ? std::string() : found->second.bytes;
  }

 private:
  struct owned : agentd_store {
    fake_store* owner;
  };
  using entry = std::map<std::string, value, std::less<>>::value_type;
  static fake_store& of(const agentd_store* table) { return *static_cast<const owned*>(table)->owner; }
  static std::uint32_t page(std::uint32_t limit) { return limit == 0 ? 100 : limit; }

  static agentd_kv kv_of(const entry& from, live_token& call) {
    auto made = sized<agentd_kv>();
    made.key = call.memory.text(from.first);
    made.value = call.memory.text(from.second.bytes);
    made.version = from.second.version;
    return made;
  }
  static agentd_status AGENTD_CALL get(const agentd_store* table, agentd_token token, agentd_str key,
                                       const agentd_kv** out) noexcept {
    fake_store& self = of(table);
    const auto call = self.book_->find(token, "store->get");
    if (call == nullptr) return AGENTD_E_NOT_FOUND;
    const auto found = self.values.find(as_view(key));
    if (found == self.values.end()) return AGENTD_E_NOT_FOUND;
    *out = call->memory.keep(kv_of(*found, *call));
    return AGENTD_OK;
  }
  static agentd_status AGENTD_CALL scan(const agentd_store* table, agentd_token token, agentd_str prefix,
                                        agentd_str after, std::uint32_t limit, agentd_list* out) noexcept {
    fake_store& self = of(table);
    const auto call = self.book_->find(token, "store->scan");
    if (call == nullptr) return AGENTD_E_NOT_FOUND;
    std::vector<agentd_kv> rows;
    for (const entry& each : self.values) {
      if (rows.size() == page(limit)) break;
      const bool mine = std::string_view(each.first).substr(0, prefix.len) == as_view(prefix);
      if (mine && (after.len == 0 || each.first > as_view(after))) rows.push_back(kv_of(each, *call));
    }
    *out = call->memory.list(std::move(rows));
    return AGENTD_OK;
  }
  [[nodiscard]] bool expected(const agentd_kv_op& op) const {
    if (op.expect == AGENTD_KV_ANY) return true;
    const auto found = values.find(as_view(op.key));
    return op.expect == (found == values.end() ? AGENTD_KV_ABSENT : found->second.version);
  }
  static agentd_status AGENTD_CALL commit(const agentd_store* table, agentd_token token, agentd_list ops,
                                          std::uint64_t* version) noexcept {
    fake_store& self = of(table);
    if (self.book_->find(token, "store->commit") == nullptr) return AGENTD_E_NOT_FOUND;
    if (!self.failures.empty()) {
      const agentd_status scripted = self.failures.front();
      self.failures.pop_front();
      if (scripted != AGENTD_OK) return scripted;
    }
    for (std::uint32_t i = 0; i < ops.count; ++i) {
      const agentd_kv_op& op = op_at(ops, i);
      if (op.key.len == 0 || op.kind < AGENTD_KV_PUT || op.kind > AGENTD_KV_CHECK) return AGENTD_E_ARG;
      if (!self.expected(op)) return AGENTD_E_CONFLICT;
    }
    const std::uint64_t next = ++self.version_;
    for (std::uint32_t i = 0; i < ops.count; ++i) self.apply(op_at(ops, i), next);
    if (version != nullptr) *version = next;
    return AGENTD_OK;
  }
  static const agentd_kv_op& op_at(agentd_list ops, std::uint32_t index) {
    return *reinterpret_cast<const agentd_kv_op*>(static_cast<const char*>(ops.first) +
                                                  std::size_t{index} * ops.stride);
  }
  void apply(const agentd_kv_op& op, std::uint64_t next) {
    const std::string key(as_view(op.key));
    if (op.kind == AGENTD_KV_PUT) values[key] = {std::string(as_view(op.value)), next};
    if (op.kind == AGENTD_KV_ERASE) values.erase(key);
  }

  static agentd_conv_info info_of(const stored_conversation& from, live_token& call) {
    auto made = sized<agentd_conv_info>();
    made.conversation_id = call.memory.text(from.id);
    made.title = call.memory.text(from.title);
    made.project_id = call.memory.text(from.project_id);
    made.provider = call.memory.text(from.provider);
    made.model = call.memory.text(from.model);
    made.created_ms = from.created_ms;
    made.updated_ms = from.updated_ms;
    made.revision = from.revision;
    return made;
  }
  static bool matches(const stored_conversation& each, const agentd_conv_query& query) {
    const std::string_view project = as_view(query.project_id);
    if (!project.empty() && project != each.project_id) return false;
    const std::string_view text = as_view(query.text);
    if (each.title.find(text) == std::string::npos && each.id.find(text) == std::string::npos) return false;
    if (query.since_ms != 0 && each.updated_ms < query.since_ms) return false;
    return query.until_ms == 0 || each.updated_ms < query.until_ms;
  }
  static agentd_status AGENTD_CALL conversations_of(const agentd_store* table, agentd_token token,
                                                    const agentd_conv_query* query, agentd_list* out) noexcept {
    fake_store& self = of(table);
    const auto call = self.book_->find(token, "store->conversations");
    if (call == nullptr) return AGENTD_E_NOT_FOUND;
    const agentd_conv_query asked = query == nullptr ? agentd_conv_query{} : *query;
    std::vector<agentd_conv_info> rows;
    bool started = asked.after.len == 0;
    for (const stored_conversation& each : self.conversations) {
      if (rows.size() == page(asked.limit)) break;
      if (started && matches(each, asked)) rows.push_back(info_of(each, *call));
      started = started || each.id == as_view(asked.after);
    }
    *out = call->memory.list(std::move(rows));
    return AGENTD_OK;
  }
  static agentd_status AGENTD_CALL messages_of(const agentd_store* table, agentd_token token,
                                               agentd_str conversation_id, std::uint32_t scope, std::uint64_t at,
                                               std::uint64_t from, std::uint32_t limit, agentd_list* out) noexcept {
    fake_store& self = of(table);
    const auto call = self.book_->find(token, "store->messages");
    if (call == nullptr) return AGENTD_E_NOT_FOUND;
    if (scope != AGENTD_SCOPE_VIEW && scope != AGENTD_SCOPE_LOG) return AGENTD_E_ARG;
    for (const stored_conversation& each : self.conversations) {
      if (each.id != as_view(conversation_id)) continue;
      std::vector<agentd_message> rows;
      for (message_view message : message_list(call->memory.keep(each.history)->records())) {
        if (limit != 0 && rows.size() == limit) break;
        const bool old_enough = at == 0 || message.seq() <= at;
        if (old_enough && message.seq() >= from) rows.push_back(*message.raw());
      }
      *out = call->memory.list(std::move(rows));
      return AGENTD_OK;
    }
    return AGENTD_E_NOT_FOUND;
  }
  static agentd_status AGENTD_CALL read_blob(const agentd_store* table, agentd_token token, agentd_str blob,
                                             std::uint64_t offset, std::uint64_t limit, agentd_str* out) noexcept {
    fake_store& self = of(table);
    const auto call = self.book_->find(token, "store->read_blob");
    if (call == nullptr) return AGENTD_E_NOT_FOUND;
    const auto found = self.blobs.find(as_view(blob));
    if (found == self.blobs.end()) return AGENTD_E_NOT_FOUND;
    const std::string& bytes = found->second;
    *out = call->memory.text(offset >= bytes.size() ? std::string_view()
                                                    : std::string_view(bytes).substr(static_cast<std::size_t>(offset),
                                                                                     static_cast<std::size_t>(limit)));
    return AGENTD_OK;
  }
  // The cursor counts conversations from the oldest.
  static agentd_status AGENTD_CALL changes(const agentd_store* table, agentd_token token, std::uint64_t cursor,
                                           std::uint32_t limit, agentd_list* out, std::uint64_t* next) noexcept {
    fake_store& self = of(table);
    const auto call = self.book_->find(token, "store->changes");
    if (call == nullptr) return AGENTD_E_NOT_FOUND;
    std::vector<agentd_conv_info> rows;
    *next = cursor;
    while (*next < self.conversations.size() && rows.size() < page(limit)) {
      const auto from_oldest = self.conversations.size() - 1 - static_cast<std::size_t>(*next);
      rows.push_back(info_of(self.conversations[from_oldest], *call));
      ++*next;
    }
    *out = call->memory.list(std::move(rows));
    return AGENTD_OK;
  }

  token_book* book_;
  std::uint64_t version_ = 0;
  owned table_{};
};

}  // namespace agentd::testing
