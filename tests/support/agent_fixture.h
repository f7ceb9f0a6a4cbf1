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
#include "core/agent/run_queue.h"
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
    std::string all_text() const;
  };
  std::string_view name() const override { return "fake"; }
  ModelResult complete(const ModelRequest& request, ModelSink& sink, const CancelToken& cancel, Deadline) override;

  FakeModel& say(std::string text, std::optional<Usage> usage = {});
  FakeModel& ask_tools(std::vector<std::pair<std::string, std::string>> calls, std::optional<Usage> usage = {});
  // What an answer has that ran into its longest length.
  FakeModel& say_cut(std::string text);
  FakeModel& fail(ModelErrorKind kind, std::string message);
  static ModelResult failure(ModelErrorKind kind, std::string message);

  std::deque<ModelResult> answers;
  std::vector<Seen> requests;
  std::function<void(const ModelRequest&)> during;
  std::uint64_t last_call_ = 0;  // its id is "c" and this
};

class FakeTools final : public ToolSource {
 public:
  std::vector<Tool> tools() const override { return offered; }
  Result<ToolOutcome> call(const SessionContext&, const ToolCall& call, const CancelToken&, Deadline) override;
  void offer(std::string name, std::uint32_t flags = 0);

  std::vector<Tool> offered;
  std::vector<ToolCall> calls;  // in the order of their begin
  std::function<Result<ToolOutcome>(const ToolCall&)> handler;

 private:
  Mutex mutex_;  // of `calls`: some tools run at the same time
};

// Another store, its appends counted and made to fail on demand.
class WatchedStore final : public Store {
 public:
  explicit WatchedStore(std::unique_ptr<Store> behind) : behind_(std::move(behind)) {}
  Result<std::vector<StoredRecord>> append(const Ulid& id, std::uint64_t revision, std::span<const Record> records,
                                           std::span<const std::string> blobs = {},
                                           std::span<const HookReceipt> receipts = {},
                                           std::span<const KeyPut> keys = {}) override;
  Result<void> append_receipts(const Ulid& id, std::span<const HookReceipt> receipts) override;
  Result<void> receipts(const Ulid& id, const std::function<bool(const HookReceipt&)>& visit) const override;
  Result<std::uint64_t> prune_receipts(std::int64_t before_ms, std::uint32_t limit) override {
    return behind_->prune_receipts(before_ms, limit);
  }
  Result<void> read(const Ulid& id, std::uint64_t first, std::uint64_t last,
                    const std::function<bool(const StoredRecord&)>& visit) const override;
  Result<ConversationInfo> fork(const Ulid& from, std::uint64_t at, GenesisRecord genesis,
                                std::string_view title) override;
  Result<Digest> chain(const Ulid& id, std::uint64_t at) const override { return behind_->chain(id, at); }
  Result<void> verify(const Ulid& id, const std::function<void(const VerifiedBatch&)>& visit = {}) const override;
  Result<ConversationInfo> info(const Ulid& id) const override { return behind_->info(id); }
  Result<std::vector<ConversationInfo>> list(const ConversationQuery& query) const override;
  Result<std::vector<Ulid>> find_ids(std::string_view prefix, std::uint32_t limit) const override {
    return behind_->find_ids(prefix, limit);
  }
  Result<void> remove(const Ulid& id) override { return behind_->remove(id); }
  Result<EraseReport> erase(const Ulid& id, std::uint64_t revision, const EraseRequest& request) override {
    return behind_->erase(id, revision, request);
  }
  Result<WipeReport> wipe() override { return behind_->wipe(); }
  Result<std::vector<std::string>> key_spaces() const override { return behind_->key_spaces(); }
  Result<std::string> blob(const Digest& digest) const override { return behind_->blob(digest); }
  Result<std::unique_ptr<Lease>> lease(const Ulid& id) override { return behind_->lease(id); }
  Result<StoredKey> get_key(std::string_view space, std::string_view key) const override;
  Result<std::vector<StoredKey>> scan_keys(std::string_view space, std::string_view prefix, std::string_view after,
                                           std::uint32_t limit) const override;
  Result<std::uint64_t> commit_keys(std::string_view space, std::span<const KeyOp> ops) override;
  Result<Changes> changes(std::uint64_t cursor, std::uint32_t limit) const override;
  Result<StoreStats> stats() const override { return behind_->stats(); }

  // Another one behind it, before anything was done.
  void put_behind(std::unique_ptr<Store> store) { behind_ = std::move(store); }

  int appends = 0;
  int key_commits = 0;  // tried, of any key space
  std::function<std::optional<Error>(bool writes)> keys_fail;
  std::optional<Error> reads_fail;  // of any log
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
    // Of a user_message.
    std::string key{};
    std::uint64_t seq = 0;
    bool repeated = false;
  };
  void on_event(const RunEvent& event) override;
  std::vector<Told> of(RunEvent::Type type) const;
  // The details of all compaction outcomes, in order.
  std::string outcomes() const;
  std::vector<Told> told;

 private:
  static void fill(Told&, const told::RunStarted&) {}
  static void fill(Told&, const told::TurnStarted&) {}
  static void fill(Told& to, const told::UserMessage& from);
  static void fill(Told& to, const told::TextDelta& from) { to.text = from.text; }
  static void fill(Told& to, const told::ThinkingDelta& from) { to.text = from.text; }
  static void fill(Told& to, const told::AnswerAgain& from) { to.text = from.why; }
  static void fill(Told& to, const told::ToolCalled& from);
  static void fill(Told& to, const told::ToolEnded& from);
  static void fill(Told& to, const told::PlanChanged& from);
  static void fill(Told& to, const told::Waiting& from) { to.text = from.wait_id; }
  static void fill(Told& to, const told::TurnEnded& from) { to.detail = name_of(from.stop_reason); }
  static void fill(Told& to, const told::HookAnswered& from);
  static void fill(Told& to, const told::HookConflict& from);
  static void fill(Told& to, const told::HookFailed& from);
  static void fill(Told& to, const told::Status& from);
  static void fill(Told& to, const told::Compacted& from) { to.text = from.boundary_id; }
  static void fill(Told& to, const told::CompactionEnded& from);
  static void fill(Told& to, const told::CompactionUndone& from) { to.text = from.boundary_id; }
  static void fill(Told& to, const told::Notice& from);
  static void fill(Told& to, const told::Warning& from);
  static void fill(Told& to, const told::Failed& from);
  static void fill(Told& to, const told::RunEnded& from);
};

class FakeApprover final : public Approver {
 public:
  PermissionAnswer ask(const SessionContext&, const Tool& tool, const ToolCall& call, const AskedBy& by) override;
  PermissionAnswer answer;
  std::vector<AskedBy> asked_by;
  std::vector<std::string> asked;
};

class AgentTest : public ::testing::Test {
 protected:
  AgentTest();
  ~AgentTest() override;
  // The end of a session fires an event: its hooks may still use what the test's class has.
  void TearDown() override { session_.reset(); }

  TestHook& on(std::uint32_t event, std::string name, TestHook::Fn fn);
  void publish();
  // Publishes the hooks and opens a session; nullopt = a new conversation.
  Session& open(std::optional<Ulid> id = {});
  RuntimeParts runtime_parts();
  RuntimeSettings runtime_settings() const;
  AgentParts parts();
  Ulid id() const { return *Ulid::parse(session_->conversation_id()); }
  // Ends the session and opens the conversation again, as another process would.
  Session& reopen();
  Services& services() { return as_services(*services_); }

  std::vector<StoredRecord> log() const;
  // All receipts of a conversation; nullopt = the session's.
  std::vector<HookReceipt> receipts(std::optional<Ulid> of = {}) const;
  // "genesis run_begin user_message ...": the kinds of the whole log.
  std::string kinds() const;
  // What a process that opens the store would see.
  Conversation stored_view() const;
  std::string text_of(const Result<RunReport, RunError>& run) const;
  Result<RunReport, RunError> run(std::string_view text) { return session_->run(text, cancel_); }
  // A conversation of `rounds` turns of about 1,000 tokens each.
  void fill(int rounds);

  Sleepless<ManualClock> clock_{waits_};
  IdSource ids_{clock_};
  WatchedStore store_{make_memory_store(clock_)};
  FakeModel model_;
  const ModelTable models_ = *ModelTable::parse(
      R"({"models":[{"pattern":"m-","provider":"fake","window":10000,"max_output":2000,"summary_model":"cheap"},
                    {"pattern":"gone","provider":"fake","window":10000,"max_output":2000,"retires":"2023-11-14"},
                    {"pattern":"going","provider":"fake","window":10000,"max_output":2000,"retires":"2023-11-15"}]})");
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
  RunQueue* runs_ = nullptr;
  const Secrets* secrets_ = nullptr;
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
