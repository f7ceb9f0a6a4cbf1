// SPDX-License-Identifier: Apache-2.0
#pragma once
// agent_fixture.h - an agent whose model, tools, user and store are played: a window of 10,000 tokens, of
// which 8,000 are the limit, so that compaction is due at 6,400 and forced at 7,600.
//
// Threading: thread-compatible.

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/agent/agent.h"
#include "core/conversation/view.h"
#include "core/recipes/recipes.h"
#include "tests/support/hook_fakes.h"
#include "tests/support/model_fakes.h"

namespace agentd::testing {

// Plays answers from a list and remembers what it was asked.
class FakeModel final : public ModelProvider {
 public:
  struct Seen {
    std::string model, system, purpose, closing_text;
    std::vector<Message> messages;
    std::vector<std::uint64_t> seqs;
    std::vector<std::string> tools;
    std::uint64_t max_output_tokens = 0;
    bool may_call_tools = true;
    std::vector<std::string> answers_of{};  // the models that its answers came from; "?" = unknown
    std::string all_text() const {
      std::string out;
      for (const Message& message : messages)
        for (const Block& block : message.blocks) out += block.text + "\n";
      return out;
    }
  };
  std::string_view name() const override { return "fake"; }
  ModelResult complete(const ModelRequest& request, ModelSink& sink, const CancelToken& cancel, Deadline) override {
    Seen seen{request.model,
              request.system,
              request.purpose,
              std::string(request.closing_text),
              {},
              {},
              {},
              request.max_output_tokens,
              request.may_call_tools};
    for (const agentd_message& row : request.messages) {
      seen.messages.push_back(to_message(row));
      seen.seqs.push_back(row.seq);
      if (row.role != AGENTD_ROLE_ASSISTANT) continue;
      const Origin* const from = request.origins == nullptr ? nullptr : request.origins->of(row.seq);
      seen.answers_of.push_back(from == nullptr ? "?" : from->model);
    }
    for (const ToolSpec& tool : request.tools) seen.tools.push_back(tool.name);
    requests.push_back(std::move(seen));
    if (cancel.cancelled()) return failure(ModelErrorKind::kCancelled, "cancelled");
    if (during) during(request);
    if (answers.empty()) return failure(ModelErrorKind::kScript, "no answer is left");
    ModelResult answer = std::move(answers.front());
    answers.pop_front();
    if (answer) sink.on_text(answer->message.text());
    return answer;
  }

  FakeModel& say(std::string text, std::optional<Usage> usage = {}) {
    ModelResponse answer;
    answer.message = Message::of_text(Role::kAssistant, std::move(text));
    answer.usage = usage;
    answers.emplace_back(std::move(answer));
    return *this;
  }
  FakeModel& ask_tools(std::vector<std::pair<std::string, std::string>> calls, std::optional<Usage> usage = {}) {
    ModelResponse answer;
    answer.message = Message::of_text(Role::kAssistant, "working");
    answer.stop_reason = StopReason::kToolUse;
    answer.usage = usage;
    for (auto& [name, json] : calls)
      answer.message.blocks.push_back(Block::tool_use("c" + std::to_string(++last_call_), name, json));
    answers.emplace_back(std::move(answer));
    return *this;
  }
  // What an answer has that ran into its longest length.
  FakeModel& say_cut(std::string text) {
    say(std::move(text));
    answers.back()->stop_reason = StopReason::kMaxTokens;
    return *this;
  }
  FakeModel& fail(ModelErrorKind kind, std::string message) {
    answers.push_back(failure(kind, std::move(message)));
    return *this;
  }
  static ModelResult failure(ModelErrorKind kind, std::string message) {
    ModelError error;
    error.kind = kind;
    error.message = std::move(message);
    // As providers say it, who have made their own attempts by then.
    error.retryable = kind == ModelErrorKind::kRateLimit || kind == ModelErrorKind::kOverloaded ||
                      kind == ModelErrorKind::kServer || kind == ModelErrorKind::kNetwork ||
                      kind == ModelErrorKind::kInterrupted;
    return error;
  }

  std::deque<ModelResult> answers;
  std::vector<Seen> requests;
  std::function<void(const ModelRequest&)> during;
  std::uint64_t last_call_ = 0;  // its id is "c" and this
};

class FakeTools final : public ToolSource {
 public:
  std::vector<Tool> tools() const override { return offered; }
  Result<ToolOutcome> call(const SessionContext&, const ToolCall& call, const CancelToken&, Deadline) override {
    calls.push_back(call);
    if (handler) return handler(call);
    ToolOutcome out;
    out.content = "output of " + call.name;
    return out;
  }
  void offer(std::string name) {
    Tool tool;
    tool.name = std::move(name);
    tool.input_schema_json = R"({"type":"object"})";
    offered.push_back(std::move(tool));
  }

  std::vector<Tool> offered;
  std::vector<ToolCall> calls;
  std::function<Result<ToolOutcome>(const ToolCall&)> handler;
};

// Another store, its appends counted and made to fail on demand.
class WatchedStore final : public Store {
 public:
  explicit WatchedStore(std::unique_ptr<Store> behind) : behind_(std::move(behind)) {}
  Result<std::vector<StoredRecord>> append(const Ulid& id, std::uint64_t revision, std::span<const Record> records,
                                           std::span<const std::string> blobs = {},
                                           std::span<const HookReceipt> receipts = {}) override {
    if (refuses && refuses(records)) return Error{Code::kUnavailable, "the disk is full"};
    ++appends;
    return behind_->append(id, revision, records, blobs, receipts);
  }
  Result<void> append_receipts(const Ulid& id, std::span<const HookReceipt> receipts) override {
    return behind_->append_receipts(id, receipts);
  }
  Result<void> receipts(const Ulid& id, const std::function<bool(const HookReceipt&)>& visit) const override {
    return behind_->receipts(id, visit);
  }
  Result<void> read(const Ulid& id, std::uint64_t first, std::uint64_t last,
                    const std::function<bool(const StoredRecord&)>& visit) const override {
    return behind_->read(id, first, last, visit);
  }
  Result<ConversationInfo> fork(const Ulid& from, std::uint64_t at, GenesisRecord genesis,
                                std::string_view title) override {
    return behind_->fork(from, at, std::move(genesis), title);
  }
  Result<Digest> chain(const Ulid& id, std::uint64_t at) const override { return behind_->chain(id, at); }
  Result<void> verify(const Ulid& id, const std::function<void(const VerifiedBatch&)>& visit = {}) const override {
    return behind_->verify(id, visit);
  }
  Result<ConversationInfo> info(const Ulid& id) const override { return behind_->info(id); }
  Result<std::vector<ConversationInfo>> list(const ConversationQuery& query) const override {
    return behind_->list(query);
  }
  Result<void> remove(const Ulid& id) override { return behind_->remove(id); }
  Result<std::string> blob(const Digest& digest) const override { return behind_->blob(digest); }
  Result<std::unique_ptr<Lease>> lease(const Ulid& id) override { return behind_->lease(id); }
  Result<StoredKey> get_key(std::string_view space, std::string_view key) const override {
    if (keys_fail)
      if (auto error = keys_fail(false)) return *error;
    return behind_->get_key(space, key);
  }
  Result<std::vector<StoredKey>> scan_keys(std::string_view space, std::string_view prefix, std::string_view after,
                                           std::uint32_t limit) const override {
    return behind_->scan_keys(space, prefix, after, limit);
  }
  Result<std::uint64_t> commit_keys(std::string_view space, std::span<const KeyOp> ops) override {
    ++key_commits;
    if (keys_fail)
      if (auto error = keys_fail(true)) return *error;
    return behind_->commit_keys(space, ops);
  }
  Result<Changes> changes(std::uint64_t cursor, std::uint32_t limit) const override {
    return behind_->changes(cursor, limit);
  }
  Result<StoreStats> stats() const override { return behind_->stats(); }

  // Another one behind it, before anything was done.
  void put_behind(std::unique_ptr<Store> store) { behind_ = std::move(store); }

  int appends = 0;
  int key_commits = 0;  // tried, of any key space
  std::function<std::optional<Error>(bool writes)> keys_fail;
  std::function<bool(std::span<const Record>)> refuses;

 private:
  std::unique_ptr<Store> behind_;
};

// Remembers what was told, with the texts of each kind under common names.
class RecordingEvents final : public EventSink {
 public:
  struct Told {
    RunEvent::Type type;
    std::string text, detail, name, effect, reason;
  };
  void on_event(const RunEvent& event) override {
    Told one{event.type(), {}, {}, {}, {}, {}};
    std::visit([&](const auto& what) { fill(one, what); }, event.body);
    told.push_back(std::move(one));
  }
  std::vector<Told> of(RunEvent::Type type) const {
    std::vector<Told> out;
    for (const Told& one : told)
      if (one.type == type) out.push_back(one);
    return out;
  }
  // The details of all compaction outcomes, in order.
  std::string outcomes() const {
    std::string out;
    for (const Told& one : of(RunEvent::Type::kCompactionOutcome)) out += (out.empty() ? "" : ",") + one.detail;
    return out;
  }
  std::vector<Told> told;

 private:
  static void fill(Told&, const told::RunStarted&) {}
  static void fill(Told&, const told::TurnStarted&) {}
  static void fill(Told& to, const told::UserMessage& from) {
    to.text = from.text;
    to.detail = name_of(from.source);
  }
  static void fill(Told& to, const told::TextDelta& from) { to.text = from.text; }
  static void fill(Told& to, const told::ThinkingDelta& from) { to.text = from.text; }
  static void fill(Told& to, const told::AnswerAgain& from) { to.text = from.why; }
  static void fill(Told& to, const told::ToolCalled& from) {
    to.name = from.name;
    to.text = from.input;
  }
  static void fill(Told& to, const told::ToolEnded& from) {
    to.name = from.name;
    to.text = from.content;
    to.detail = name_of(from.status);
  }
  static void fill(Told& to, const told::TurnEnded& from) { to.detail = name_of(from.stop_reason); }
  static void fill(Told& to, const told::HookAnswered& from) {
    to.name = from.hook;
    to.detail = from.event;
    to.text = from.answer;
    to.effect = from.effect;
  }
  static void fill(Told& to, const told::HookConflict& from) {
    to.name = from.loser;
    to.detail = from.event;
    to.text = from.winner;
    to.effect = from.action;
  }
  static void fill(Told& to, const told::HookFailed& from) {
    to.name = from.hook;
    to.detail = from.event;
    to.text = from.why;
  }
  static void fill(Told& to, const told::Status& from) {
    to.text = from.status;
    to.detail = from.progress;
  }
  static void fill(Told& to, const told::Compacted& from) { to.text = from.boundary_id; }
  static void fill(Told& to, const told::CompactionEnded& from) {
    to.detail = result_name(from.result);
    to.text = from.reason;
  }
  static void fill(Told& to, const told::CompactionUndone& from) { to.text = from.boundary_id; }
  static void fill(Told& to, const told::Notice& from) {
    to.name = from.hook;
    to.text = from.text;
  }
  static void fill(Told& to, const told::Warning& from) {
    to.name = from.hook;
    to.text = from.text;
  }
  static void fill(Told& to, const told::Failed& from) {
    to.detail = from.code;
    to.text = from.message;
  }
  static void fill(Told& to, const told::RunEnded& from) {
    to.name = from.stopped_by;
    to.detail = name_of(from.outcome);
    to.text = from.answer;
    to.reason = from.reason;
  }
};

class FakeApprover final : public Approver {
 public:
  PermissionAnswer ask(const SessionContext&, const Tool& tool, const ToolCall& call, const AskedBy& by) override {
    asked.push_back(tool.name + " " + call.input.text());
    asked_by.push_back(by);
    return answer;
  }
  PermissionAnswer answer;
  std::vector<AskedBy> asked_by;
  std::vector<std::string> asked;
};

class AgentTest : public ::testing::Test {
 protected:
  AgentTest() {
    options_.provider = "fake";
    options_.model = "m-1";
    options_.system_prompt = "be good";
    options_.cwd = "/work";
    options_.project_id = "u/p";
    permissions_.mode = PermissionRules::Mode::kAllow;
  }
  // The end of a session fires an event: its hooks may still use what the test's class has.
  void TearDown() override { session_.reset(); }

  TestHook& on(std::uint32_t event, std::string name, TestHook::Fn fn) {
    hooks_.push_back(std::make_unique<TestHook>(slots_, event, std::move(name), std::move(fn)));
    return *hooks_.back();
  }
  void publish() {
    std::vector<Subscription> all;
    for (const auto& hook : hooks_) all.push_back(hook->what);
    dispatcher_.publish(std::move(all));
  }
  // Publishes the hooks and opens a session; nullopt = a new conversation.
  Session& open(std::optional<Ulid> id = {}) {
    publish();
    if (!services_) services_ = make_services(runtime_parts(), runtime_settings());
    if (!agent_) agent_ = make_agent(*services_, parts(), options_);
    session_.reset();
    auto opened = agent_->open(id, {});
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
    session_ = std::move(*opened);
    return *session_;
  }
  RuntimeParts runtime_parts() {
    return {store_, model_, models_, estimator_, prompts_, slots_, clock_, ids_, log_, nullptr, nullptr};
  }
  RuntimeSettings runtime_settings() const {
    RuntimeSettings out = settings_;
    static_cast<ModelSettings&>(out) = options_;
    return out;
  }
  AgentParts parts() {
    return {runtime_parts(), {prompts_, permissions_}, {dispatcher_, tools_, events_, approver_, trace_hooks_}};
  }
  Ulid id() const { return *Ulid::parse(session_->conversation_id()); }
  // Ends the session and opens the conversation again, as another process would.
  Session& reopen() {
    const Ulid same = id();
    return open(same);
  }
  Services& services() { return as_services(*services_); }

  std::vector<StoredRecord> log() const {
    std::vector<StoredRecord> out;
    (void)store_.read(id(), 1, 0, [&](const StoredRecord& record) {
      out.push_back(record);
      return true;
    });
    return out;
  }
  // All receipts of a conversation; nullopt = the session's.
  std::vector<HookReceipt> receipts(std::optional<Ulid> of = {}) const {
    std::vector<HookReceipt> out;
    (void)store_.receipts(of ? *of : id(), [&](const HookReceipt& receipt) {
      out.push_back(receipt);
      return true;
    });
    return out;
  }
  // "genesis run_begin user_message ...": the kinds of the whole log.
  std::string kinds() const {
    std::string out;
    for (const StoredRecord& record : log()) out += (out.empty() ? "" : " ") + std::string(name_of(record.record.type));
    return out;
  }
  // What a process that opens the store would see.
  Conversation stored_view() const {
    Conversation out(session_->conversation_id(), {});
    EXPECT_TRUE(out.load(log()));
    return out;
  }
  std::string text_of(const Result<RunReport, RunError>& run) const {
    EXPECT_TRUE(run) << (run ? "" : run.error().message);
    return run ? run->final_text : std::string();
  }
  Result<RunReport, RunError> run(std::string_view text) { return session_->run(text, cancel_); }
  // A conversation of `rounds` turns of about 1,000 tokens each.
  void fill(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      model_.say(std::string(2'000, static_cast<char>('a' + i)));
      EXPECT_TRUE(run("question " + std::to_string(i) + std::string(1'960, '.')));
    }
  }

  Sleepless<ManualClock> clock_{waits_};
  IdSource ids_{clock_};
  WatchedStore store_{make_memory_store(clock_)};
  FakeModel model_;
  const ModelTable models_ = *ModelTable::parse(
      R"({"models":[{"pattern":"m-","provider":"fake","window":10000,"max_output":2000,"summary_model":"cheap"}]})");
  const SimpleEstimator estimator_;
  Dispatcher dispatcher_{clock_};
  FakeTools tools_;
  PermissionRules permissions_;
  std::vector<Milliseconds> waits_;
  bool trace_hooks_ = true;
  Approver* approver_ = nullptr;
  RecordingLog log_;
  RecipeBook prompts_{{}, log_};
  TestSlots slots_;
  RecordingEvents events_;
  AgentOptions options_;
  RuntimeSettings settings_;  // but for the models, which are those of the options
  CancelToken cancel_;
  std::vector<std::unique_ptr<TestHook>> hooks_;
  AgentServicesPtr services_;
  std::unique_ptr<Agent> agent_;
  std::unique_ptr<Session> session_;
};

}  // namespace agentd::testing
