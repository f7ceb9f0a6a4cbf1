// SPDX-License-Identifier: Apache-2.0
#include "tests/support/agent_fixture.h"

namespace agentd::testing {

std::string FakeModel::Seen::all_text() const {
  std::string out;
  for (const Message& message : messages)
    for (const Block& block : message.blocks) out += block.text + "\n";
  return out;
}

ModelResult FakeModel::complete(const ModelRequest& request, ModelSink& sink, const CancelToken& cancel, Deadline) {
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

FakeModel& FakeModel::say(std::string text, std::optional<Usage> usage) {
  ModelResponse answer;
  answer.message = Message::of_text(Role::kAssistant, std::move(text));
  answer.usage = usage;
  answers.emplace_back(std::move(answer));
  return *this;
}

FakeModel& FakeModel::ask_tools(std::vector<std::pair<std::string, std::string>> calls, std::optional<Usage> usage) {
  ModelResponse answer;
  answer.message = Message::of_text(Role::kAssistant, "working");
  answer.stop_reason = StopReason::kToolUse;
  answer.usage = usage;
  for (auto& [name, json] : calls)
    answer.message.blocks.push_back(Block::tool_use("c" + std::to_string(++last_call_), name, json));
  answers.emplace_back(std::move(answer));
  return *this;
}

FakeModel& FakeModel::say_cut(std::string text) {
  say(std::move(text));
  answers.back()->stop_reason = StopReason::kMaxTokens;
  return *this;
}

FakeModel& FakeModel::fail(ModelErrorKind kind, std::string message) {
  answers.push_back(failure(kind, std::move(message)));
  return *this;
}

ModelResult FakeModel::failure(ModelErrorKind kind, std::string message) {
  ModelError error;
  error.kind = kind;
  error.message = std::move(message);
  // As providers say it, who have made their own attempts by then.
  error.retryable = kind == ModelErrorKind::kRateLimit || kind == ModelErrorKind::kOverloaded ||
                    kind == ModelErrorKind::kServer || kind == ModelErrorKind::kNetwork ||
                    kind == ModelErrorKind::kInterrupted;
  return error;
}

Result<ToolOutcome> FakeTools::call(const SessionContext&, const ToolCall& call, const CancelToken&, Deadline) {
  {
    const MutexLock lock(mutex_);
    calls.push_back(call);
  }
  if (handler) return handler(call);
  ToolOutcome out;
  out.content = "output of " + call.name;
  return out;
}

void FakeTools::offer(std::string name, std::uint32_t flags) {
  Tool tool;
  tool.name = std::move(name);
  tool.flags = flags;
  tool.input_schema_json = R"({"type":"object"})";
  offered.push_back(std::move(tool));
}

Result<std::vector<StoredRecord>> WatchedStore::append(const Ulid& id, std::uint64_t revision,
                                                       std::span<const Record> records,
                                                       std::span<const std::string> blobs,
                                                       std::span<const HookReceipt> receipts,
                                                       std::span<const KeyPut> keys) {
  if (refuses && refuses(records)) return Error{Code::kUnavailable, "the disk is full"};
  ++appends;
  return behind_->append(id, revision, records, blobs, receipts, keys);
}

Result<void> WatchedStore::append_receipts(const Ulid& id, std::span<const HookReceipt> receipts) {
  return behind_->append_receipts(id, receipts);
}

Result<void> WatchedStore::receipts(const Ulid& id, const std::function<bool(const HookReceipt&)>& visit) const {
  return behind_->receipts(id, visit);
}

Result<void> WatchedStore::read(const Ulid& id, std::uint64_t first, std::uint64_t last,
                                const std::function<bool(const StoredRecord&)>& visit) const {
  if (reads_fail) return *reads_fail;
  return behind_->read(id, first, last, visit);
}

Result<ConversationInfo> WatchedStore::fork(const Ulid& from, std::uint64_t at, GenesisRecord genesis,
                                            std::string_view title) {
  return behind_->fork(from, at, std::move(genesis), title);
}

Result<void> WatchedStore::verify(const Ulid& id, const std::function<void(const VerifiedBatch&)>& visit) const {
  return behind_->verify(id, visit);
}

Result<std::vector<ConversationInfo>> WatchedStore::list(const ConversationQuery& query) const {
  return behind_->list(query);
}

Result<StoredKey> WatchedStore::get_key(std::string_view space, std::string_view key) const {
  if (keys_fail)
    if (auto error = keys_fail(false)) return *error;
  return behind_->get_key(space, key);
}

Result<std::vector<StoredKey>> WatchedStore::scan_keys(std::string_view space, std::string_view prefix,
                                                       std::string_view after, std::uint32_t limit) const {
  return behind_->scan_keys(space, prefix, after, limit);
}

Result<std::uint64_t> WatchedStore::commit_keys(std::string_view space, std::span<const KeyOp> ops) {
  ++key_commits;
  if (keys_fail)
    if (auto error = keys_fail(true)) return *error;
  return behind_->commit_keys(space, ops);
}

Result<Store::Changes> WatchedStore::changes(std::uint64_t cursor, std::uint32_t limit) const {
  return behind_->changes(cursor, limit);
}

void RecordingEvents::on_event(const RunEvent& event) {
  Told one{event.type(), {}, {}, {}, {}, {}};
  std::visit([&](const auto& what) { fill(one, what); }, event.body);
  told.push_back(std::move(one));
}

std::vector<RecordingEvents::Told> RecordingEvents::of(RunEvent::Type type) const {
  std::vector<Told> out;
  for (const Told& one : told)
    if (one.type == type) out.push_back(one);
  return out;
}

std::string RecordingEvents::outcomes() const {
  std::string out;
  for (const Told& one : of(RunEvent::Type::kCompactionOutcome)) out += (out.empty() ? "" : ",") + one.detail;
  return out;
}

void RecordingEvents::fill(Told& to, const told::UserMessage& from) {
  to.text = from.text;
  to.detail = name_of(from.source);
  to.key = from.key;
  to.seq = from.seq;
  to.repeated = from.repeated;
}

void RecordingEvents::fill(Told& to, const told::ToolCalled& from) {
  to.name = from.name;
  to.text = from.input;
}

void RecordingEvents::fill(Told& to, const told::ToolEnded& from) {
  to.name = from.name;
  to.text = from.content;
  to.detail = name_of(from.status);
}

void RecordingEvents::fill(Told& to, const told::PlanChanged& from) {
  for (const PlanEntry& entry : from.entries)
    to.text += (to.text.empty() ? "" : "; ") + entry.content + " " + std::string(name_of(entry.status)) + " " +
               std::string(name_of(entry.priority));
}

void RecordingEvents::fill(Told& to, const told::HookAnswered& from) {
  to.name = from.hook;
  to.detail = from.event;
  to.text = from.answer;
  to.effect = from.effect;
}

void RecordingEvents::fill(Told& to, const told::HookConflict& from) {
  to.name = from.loser;
  to.detail = from.event;
  to.text = from.winner;
  to.effect = from.action;
}

void RecordingEvents::fill(Told& to, const told::HookFailed& from) {
  to.name = from.hook;
  to.detail = from.event;
  to.text = from.why;
}

void RecordingEvents::fill(Told& to, const told::Status& from) {
  to.text = from.status;
  to.detail = from.progress;
}

void RecordingEvents::fill(Told& to, const told::CompactionEnded& from) {
  to.detail = result_name(from.result);
  to.text = from.reason;
}

void RecordingEvents::fill(Told& to, const told::Notice& from) {
  to.name = from.hook;
  to.text = from.text;
}

void RecordingEvents::fill(Told& to, const told::Warning& from) {
  to.name = from.hook;
  to.text = from.text;
}

void RecordingEvents::fill(Told& to, const told::Failed& from) {
  to.detail = from.code;
  to.text = from.message;
}

void RecordingEvents::fill(Told& to, const told::RunEnded& from) {
  to.name = from.stopped_by;
  to.detail = name_of(from.outcome);
  to.text = from.answer;
  to.reason = from.reason;
}

PermissionAnswer FakeApprover::ask(const SessionContext&, const Tool& tool, const ToolCall& call, const AskedBy& by) {
  asked.push_back(tool.name + " " + call.input.text());
  asked_by.push_back(by);
  return answer;
}

AgentTest::AgentTest() {
  options_.provider = "fake";
  options_.model = "m-1";
  options_.system_prompt = "be good";
  options_.cwd = "/work";
  options_.project_id = "u/p";
  permissions_.mode = PermissionRules::Mode::kAllow;
}

AgentTest::~AgentTest() = default;

TestHook& AgentTest::on(std::uint32_t event, std::string name, TestHook::Fn fn) {
  hooks_.push_back(std::make_unique<TestHook>(slots_, event, std::move(name), std::move(fn)));
  return *hooks_.back();
}

void AgentTest::publish() {
  std::vector<Subscription> all;
  for (const auto& hook : hooks_) all.push_back(hook->what);
  dispatcher_.publish(std::move(all));
}

Session& AgentTest::open(std::optional<Ulid> id) {
  publish();
  if (!services_) services_ = make_services(runtime_parts(), runtime_settings());
  if (!agent_) agent_ = make_agent(*services_, parts(), options_);
  session_.reset();
  auto opened = agent_->open(id, {});
  EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
  session_ = std::move(*opened);
  return *session_;
}

RuntimeParts AgentTest::runtime_parts() {
  return {store_, model_, models_, estimator_, prompts_, slots_, clock_, ids_, log_, nullptr, nullptr, runs_, secrets_};
}

RuntimeSettings AgentTest::runtime_settings() const {
  RuntimeSettings out = settings_;
  static_cast<ModelSettings&>(out) = options_;
  return out;
}

AgentParts AgentTest::parts() {
  return {runtime_parts(), {prompts_, permissions_}, {dispatcher_, tools_, events_, approver_, trace_hooks_}};
}

Session& AgentTest::reopen() {
  const Ulid same = id();
  return open(same);
}

std::vector<StoredRecord> AgentTest::log() const {
  std::vector<StoredRecord> out;
  (void)store_.read(id(), 1, 0, [&](const StoredRecord& record) {
    out.push_back(record);
    return true;
  });
  return out;
}

std::vector<HookReceipt> AgentTest::receipts(std::optional<Ulid> of) const {
  std::vector<HookReceipt> out;
  (void)store_.receipts(of ? *of : id(), [&](const HookReceipt& receipt) {
    out.push_back(receipt);
    return true;
  });
  return out;
}

std::string AgentTest::kinds() const {
  std::string out;
  for (const StoredRecord& record : log()) out += (out.empty() ? "" : " ") + std::string(name_of(record.record.type));
  return out;
}

Conversation AgentTest::stored_view() const {
  Conversation out(session_->conversation_id(), {});
  EXPECT_TRUE(out.load(log()));
  return out;
}

std::string AgentTest::text_of(const Result<RunReport, RunError>& run) const {
  EXPECT_TRUE(run) << (run ? "" : run.error().message);
  return run ? run->final_text : std::string();
}

void AgentTest::fill(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    model_.say(std::string(2'000, static_cast<char>('a' + i)));
    EXPECT_TRUE(run("question " + std::to_string(i) + std::string(1'960, '.')));
  }
}

}  // namespace agentd::testing
