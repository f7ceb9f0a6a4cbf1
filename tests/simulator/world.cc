// SPDX-License-Identifier: Apache-2.0
#include "tests/simulator/world.h"

#include <algorithm>
#include <utility>

#include "core/agent/agent.h"
#include "core/agent/run_queue.h"
#include "core/base/thread.h"
#include "core/conversation/view.h"
#include "core/recipes/recipes.h"
#include "tests/support/hook_fakes.h"
#include "tests/support/log_records.h"
#include "tests/support/played_tools.h"

namespace agentd::simulator {
namespace {

using agentd::testing::action;
using agentd::testing::RecordingLog;
using agentd::testing::TestCall;
using agentd::testing::TestHook;
using agentd::testing::TestSlots;

constexpr std::size_t kClientsMax = 6, kOperationsMax = 4;
constexpr const char* kMark = " [seen]";

// One in `of`.
bool chance(Baton& baton, std::uint64_t of) { return baton.draw(of) == 0; }

void pass_time(Baton& baton, const Clock& clock, std::uint64_t at_most_ms) {
  if (chance(baton, 2))
    baton.step();
  else
    clock.pause(Milliseconds(baton.draw(at_most_ms + 1)));
}

// What all parts of one process share. A process dies at one moment: from then on it reads, writes and does nothing.
struct Process {
  Baton& baton;
  const Clock& clock;
  Facts& facts;
  Store& disk;
  bool faults = true;
  bool dead = false;
};

// ---- the store of a process

// Counts the owners of a conversation.
class WatchedLease final : public Lease {
 public:
  WatchedLease(Facts& facts, std::string conversation, std::unique_ptr<Lease> lease)
      : facts_(facts), conversation_(std::move(conversation)), lease_(std::move(lease)) {
    if (++facts_.owners[conversation_] > 1) facts_.violated("conversation " + conversation_ + " has two owners");
  }
  ~WatchedLease() override { --facts_.owners[conversation_]; }

 private:
  Facts& facts_;
  const std::string conversation_;
  const std::unique_ptr<Lease> lease_;
};

class ProcessStore final : public Store {
 public:
  explicit ProcessStore(Process& process) : process_(process) {}

  Result<std::vector<StoredRecord>> append(const Ulid& id, std::uint64_t revision, std::span<const Record> records,
                                           std::span<const std::string> blobs, std::span<const HookReceipt> receipts,
                                           std::span<const KeyPut> keys) override {
    const bool of_a_run = std::any_of(records.begin(), records.end(), [](const Record& each) { return each.run != 0; });
    if (of_a_run && process_.facts.owners[id.text()] == 0)
      process_.facts.violated("a run appends to " + id.text() + " without its lease");
    return writing([&] { return process_.disk.append(id, revision, records, blobs, receipts, keys); });
  }
  Result<void> append_receipts(const Ulid& id, std::span<const HookReceipt> receipts) override {
    return writing([&] { return process_.disk.append_receipts(id, receipts); });
  }
  Result<void> receipts(const Ulid& id, const std::function<bool(const HookReceipt&)>& visit) const override {
    return process_.disk.receipts(id, visit);
  }
  Result<std::uint64_t> prune_receipts(std::int64_t before_ms, std::uint32_t limit) override {
    return writing([&] { return process_.disk.prune_receipts(before_ms, limit); });
  }
  Result<void> read(const Ulid& id, std::uint64_t first, std::uint64_t last,
                    const std::function<bool(const StoredRecord&)>& visit) const override {
    return reading([&] { return process_.disk.read(id, first, last, visit); });
  }
  Result<ConversationInfo> fork(const Ulid& from, std::uint64_t at, GenesisRecord genesis,
                                std::string_view title) override {
    return writing([&] { return process_.disk.fork(from, at, std::move(genesis), title); });
  }
  Result<Digest> chain(const Ulid& id, std::uint64_t at) const override { return process_.disk.chain(id, at); }
  Result<void> verify(const Ulid& id, const std::function<void(const VerifiedBatch&)>& visit) const override {
    return process_.disk.verify(id, visit);
  }
  Result<ConversationInfo> info(const Ulid& id) const override {
    return reading([&] { return process_.disk.info(id); });
  }
  Result<std::vector<ConversationInfo>> list(const ConversationQuery& query) const override {
    return reading([&] { return process_.disk.list(query); });
  }
  Result<std::vector<Ulid>> find_ids(std::string_view prefix, std::uint32_t limit) const override {
    return process_.disk.find_ids(prefix, limit);
  }
  Result<void> remove(const Ulid& id) override {
    return writing([&] { return process_.disk.remove(id); });
  }
  Result<EraseReport> erase(const Ulid& id, std::uint64_t revision, const EraseRequest& request) override {
    return writing([&] { return process_.disk.erase(id, revision, request); });
  }
  Result<WipeReport> wipe() override {
    return writing([&] { return process_.disk.wipe(); });
  }
  Result<std::vector<std::string>> key_spaces() const override { return process_.disk.key_spaces(); }
  Result<std::string> blob(const Digest& digest) const override { return process_.disk.blob(digest); }
  Result<std::unique_ptr<Lease>> lease(const Ulid& id) override {
    pass_time(process_.baton, process_.clock, 2);
    auto lease = process_.disk.lease(id);
    if (!lease) return lease.error();
    return std::unique_ptr<Lease>(std::make_unique<WatchedLease>(process_.facts, id.text(), std::move(*lease)));
  }
  Result<StoredKey> get_key(std::string_view space, std::string_view key) const override {
    return process_.disk.get_key(space, key);
  }
  Result<std::vector<StoredKey>> scan_keys(std::string_view space, std::string_view prefix, std::string_view after,
                                           std::uint32_t limit) const override {
    return process_.disk.scan_keys(space, prefix, after, limit);
  }
  Result<std::uint64_t> commit_keys(std::string_view space, std::span<const KeyOp> ops) override {
    return writing([&] { return process_.disk.commit_keys(space, ops); });
  }
  Result<Changes> changes(std::uint64_t cursor, std::uint32_t limit) const override {
    return process_.disk.changes(cursor, limit);
  }
  Result<StoreStats> stats() const override { return process_.disk.stats(); }

 private:
  static Error ended() { return {Code::kUnavailable, "the process has ended"}; }
  template <typename Work>
  auto reading(const Work& work) const -> decltype(work()) {
    pass_time(process_.baton, process_.clock, 1);
    if (process_.dead) return ended();
    return work();
  }
  // It may die before and behind the write; what it does not hear of is not acknowledged.
  template <typename Work>
  auto writing(const Work& work) const -> decltype(work()) {
    pass_time(process_.baton, process_.clock, 3);
    if (process_.dead) return ended();
    if (process_.faults && chance(process_.baton, 150)) return Error{Code::kUnavailable, "no space is left"};
    auto out = work();
    pass_time(process_.baton, process_.clock, 3);
    if (process_.dead) return ended();
    return out;
  }

  Process& process_;
};

// ---- the model and the tools

class PlayedModel final : public ModelProvider {
 public:
  explicit PlayedModel(Process& process) : process_(process) {}
  std::string_view name() const override { return "fake"; }

  ModelResult complete(const ModelRequest& request, ModelSink& sink, const CancelToken& cancel, Deadline) override {
    ModelResponse out;
    const std::string text =
        "answer-" + std::to_string(++process_.facts.answers) + std::string(process_.baton.draw(1'500), '.');
    for (std::uint64_t left = process_.baton.draw(4); left > 0; --left) {
      if (!process_.clock.sleep(Milliseconds(process_.baton.draw(400)), cancel))
        return failure(ModelErrorKind::kCancelled, "cancelled", false);
      sink.on_text("answer-");
    }
    if (process_.dead) return failure(ModelErrorKind::kNetwork, "the process has ended", false);
    if (process_.faults && chance(process_.baton, 15)) return trouble();
    out.message = Message::of_text(Role::kAssistant, text);
    out.usage = Usage{};
    out.usage->input = request.prompt_tokens;
    out.usage->output = 10 + text.size() / 4;
    if (request.purpose == "turn" && request.may_call_tools && !request.tools.empty() && process_.baton.draw(5) < 2)
      ask_tools(request, out);
    return out;
  }

 private:
  static ModelResult failure(ModelErrorKind kind, std::string message, bool retryable) {
    ModelError error;
    error.kind = kind;
    error.message = std::move(message);
    error.retryable = retryable;
    return error;
  }
  ModelResult trouble() {
    switch (process_.baton.draw(4)) {
      case 0:
        return failure(ModelErrorKind::kOverloaded, "overloaded", true);
      case 1:
        return failure(ModelErrorKind::kContextLength, "the prompt is too long", false);
      case 2: {
        ModelError error;
        error.kind = ModelErrorKind::kInterrupted;
        error.message = "the stream ended";
        error.partial = Message::of_text(Role::kAssistant, "half an ans");
        return error;
      }
      default:
        return failure(ModelErrorKind::kServer, "server error", process_.baton.draw(2) == 0);
    }
  }
  void ask_tools(const ModelRequest& request, ModelResponse& out) {
    out.stop_reason = StopReason::kToolUse;
    for (std::uint64_t left = 1 + process_.baton.draw(4); left > 0; --left) {
      const std::string& tool = request.tools[process_.baton.draw(request.tools.size())].name;
      Block block;
      block.kind = BlockKind::kToolUse;
      block.call_id = "c" + std::to_string(++process_.facts.calls);
      block.name = tool;
      block.json = tool == "task" ? R"({"description":"look","prompt":"find it"})" : "{}";
      out.message.blocks.push_back(std::move(block));
    }
  }

  Process& process_;
};

class PlayedTools final : public ToolSource {
 public:
  explicit PlayedTools(Process& process) : process_(process) {}
  std::vector<Tool> tools() const override { return tools_; }

  Result<ToolOutcome> call(const SessionContext& session, const ToolCall& call, const CancelToken& cancel,
                           Deadline) override {
    if (process_.dead) return Error{Code::kCancelled, "the process has ended"};
    Facts& facts = process_.facts;
    const std::string key = std::string(session.conversation_id) + "/" + call.call_id;
    if (!has_intent(session, call)) facts.violated("the tool of " + key + " ran without an intent in the log");
    if (facts.blocked.contains(key)) facts.violated("the tool of " + key + " ran although a guard refused it");
    if (++facts.effects[key] > 1) facts.violated("the tool of " + key + " ran twice");
    ++facts.counted().effects;
    int& inside = facts.inside[std::string(session.conversation_id)];
    if (++inside > 1) ++facts.counted().together;
    const auto out = work(call, cancel);
    --inside;
    return out;
  }

 private:
  Result<ToolOutcome> work(const ToolCall& call, const CancelToken& cancel) {
    if (!process_.clock.sleep(Milliseconds(process_.baton.draw(300)), cancel))
      return Error{Code::kCancelled, "interrupted"};
    if (process_.faults && chance(process_.baton, 12)) return Error{Code::kUnavailable, "the tool has failed"};
    ToolOutcome out;
    out.content = "output of " + call.call_id + std::string(process_.baton.draw(600), '-');
    return out;
  }
  bool has_intent(const SessionContext& session, const ToolCall& call) const {
    bool found = false;
    const auto id = Ulid::parse(session.conversation_id);
    (void)process_.disk.read(*id, 1, 0, [&](const StoredRecord& record) {
      const auto intent = read_tool_intent(record.record);
      found = found || (intent && intent->call_id == call.call_id);
      return !found;
    });
    return found;
  }

  Process& process_;
  const std::vector<Tool> tools_ = testing::read_and_write();
};

// ---- the hooks

class PlayedHooks {
 public:
  PlayedHooks(Process& process, TestSlots& slots) : process_(process), slots_(slots) {
    for (std::uint32_t event = 0; event < 64; ++event)
      if (const EventTraits* const traits = find_event(event); traits != nullptr) observe(event);
    add(AGENTD_EVENT_BEFORE_TOOL_CALL, "c_guard", [this](const TestCall& call) { return guard(call); }).what.flags |=
        AGENTD_HOOK_GATES;
    add(AGENTD_EVENT_AFTER_TOOL_CALL, "d_marks", [](const TestCall& call) {
      const auto& payload = call.payload<agentd_tool_call>();
      if ((payload.flags & AGENTD_TOOL_CALL_DENIED) != 0) return AGENTD_OK;
      return call.answer(action(AGENTD_ACT_REPLACE_TEXT, std::string(view_of(payload.result->content)) + kMark));
    });
    add(AGENTD_EVENT_USER_MESSAGE_SEND, "f_censor", [this](const TestCall& call) {
      if (!process_.faults || !chance(process_.baton, 25)) return AGENTD_OK;
      const std::string text(view_of(call.payload<agentd_user_message>().text));
      if (const auto posted = process_.facts.posted.find(text); posted != process_.facts.posted.end())
        posted->second.may_be_gone = true;
      return call.answer(action(AGENTD_ACT_BLOCK, "not that"));
    });
    add(AGENTD_EVENT_TURN_END, "e_compacts", [this](const TestCall& call) {
      if (!process_.faults || !chance(process_.baton, 25)) return AGENTD_OK;
      return call.answer(action(AGENTD_ACT_COMPACT));
    });
  }

  void publish(Dispatcher& dispatcher) const {
    std::vector<Subscription> all;
    for (const auto& hook : hooks_) all.push_back(hook->what);
    dispatcher.publish(std::move(all));
  }

 private:
  TestHook& add(std::uint32_t event, std::string name, TestHook::Fn fn) {
    hooks_.push_back(std::make_unique<TestHook>(slots_, event, std::move(name), std::move(fn)));
    return *hooks_.back();
  }

  // Two observers of one event: the second hears of what the first has just heard of.
  void observe(std::uint32_t event) {
    add(event, "a_first", [this](const TestCall& call) {
      const agentd_envelope& envelope = *call.raw.envelope;
      process_.facts.first_at[std::string(view_of(envelope.session_id))] = view_of(envelope.event_id);
      if (process_.faults && chance(process_.baton, 20)) process_.clock.pause(Milliseconds(process_.baton.draw(40)));
      return AGENTD_OK;
    });
    add(event, "b_second", [this](const TestCall& call) {
      const agentd_envelope& envelope = *call.raw.envelope;
      if (process_.facts.first_at[std::string(view_of(envelope.session_id))] != view_of(envelope.event_id))
        process_.facts.violated("a hook was asked out of order at " + std::string(event_name_of(call)));
      return AGENTD_OK;
    });
  }

  static std::string_view event_name_of(const TestCall& call) {
    const EventTraits* const event = find_event(call.raw.event);
    return event == nullptr ? "?" : event->name;
  }

  agentd_status guard(const TestCall& call) {
    if (!chance(process_.baton, 6)) return AGENTD_OK;
    const std::string key = std::string(view_of(call.raw.envelope->conversation_id)) + "/" +
                            std::string(view_of(call.payload<agentd_tool_call>().call_id));
    process_.facts.blocked.insert(key);
    ++process_.facts.counted().refused;
    return call.answer(action(AGENTD_ACT_BLOCK, "not this one"));
  }

  Process& process_;
  TestSlots& slots_;
  std::vector<std::unique_ptr<TestHook>> hooks_;
};

// Takes the acknowledgements of posted messages.
class Acknowledgements final : public EventSink {
 public:
  explicit Acknowledgements(Process& process) : process_(process) {}
  void on_event(const RunEvent& event) override {
    const auto* const message = std::get_if<told::UserMessage>(&event.body);
    if (message == nullptr || process_.dead) return;
    if (const auto posted = process_.facts.posted.find(std::string(message->text));
        posted != process_.facts.posted.end())
      posted->second.acknowledged = message->seq != 0;
  }

 private:
  Process& process_;
};

// ---- a process with its clients

class Agentd {
 public:
  Agentd(Process& process, IdSource& ids)
      : process_(process), ids_(ids), store_(process), model_(process), tools_(process), hooks_(process, slots_) {
    options_.provider = "fake";
    options_.model = "m-1";
    options_.system_prompt = "be good";
    options_.cwd = "/work";
    options_.project_id = "u/p";
    options_.subagents = true;
    options_.max_turns = 12;
    hooks_.publish(dispatcher_);
    RuntimeSettings settings;
    static_cast<ModelSettings&>(settings) = options_;
    services_ = make_services(runtime_parts(), std::move(settings));
    PermissionRules rules;
    rules.mode = PermissionRules::Mode::kAllow;
    agent_ = make_agent(*services_, {runtime_parts(), {prompts_, rules}, {dispatcher_, tools_, events_, nullptr, true}},
                        options_);
  }
  ~Agentd() {
    agent_.reset();
    dispatcher_.publish({});
  }
  Agentd(const Agentd&) = delete;
  Agentd& operator=(const Agentd&) = delete;

  Agent& agent() { return *agent_; }
  Store& store() { return store_; }

 private:
  RuntimeParts runtime_parts() {
    return {store_,         model_, models_, estimator_, prompts_, slots_,
            process_.clock, ids_,   log_,    nullptr,    nullptr,  &runs_};
  }

  // Some processes have few places, so that runs wait and are refused.
  static RunQueue::Limits limits_of(Process& process) {
    if (!process.faults || !chance(process.baton, 3)) return {};
    return {1 + process.baton.draw(2), process.baton.draw(4), 1 + process.baton.draw(6)};
  }

  Process& process_;
  IdSource& ids_;
  RunQueue runs_{process_.clock, limits_of(process_)};
  ProcessStore store_;
  PlayedModel model_;
  const ModelTable models_ = *ModelTable::parse(
      R"({"models":[{"pattern":"m-","provider":"fake","window":6000,"max_output":1000,"summary_model":"cheap"}]})");
  const SimpleEstimator estimator_;
  RecordingLog log_;
  RecipeBook prompts_{{}, log_};
  Dispatcher dispatcher_{process_.clock};
  PlayedTools tools_;
  TestSlots slots_;
  PlayedHooks hooks_;
  Acknowledgements events_{process_};
  AgentOptions options_;
  AgentServicesPtr services_;
  std::unique_ptr<Agent> agent_;
};

// One seed, from its first process to the checks.
class Play {
 public:
  Play(Baton& baton, const std::function<std::unique_ptr<Store>(const Clock&)>& make_store, Report& report)
      : baton_(baton), make_store_(make_store), facts_(report) {}

  void run() {
    disk_ = make_store_(clock_);
    for (std::uint64_t left = 1 + baton_.draw(3); left > 0; --left) {
      run_process();
      disk_ = reopened(std::move(disk_));
    }
    run_calm_process();
    check_logs();
  }

 private:
  std::unique_ptr<Store> reopened(std::unique_ptr<Store> before) const {
    if (before->stats()->path.empty()) return before;  // in memory
    before.reset();
    return make_store_(clock_);
  }

  void run_process() {
    Process process{baton_, clock_, facts_, *disk_};
    Agentd agentd(process, ids_);
    std::vector<Thread> threads;
    for (std::uint64_t left = 1 + baton_.draw(kClientsMax); left > 0; --left)
      threads.emplace_back([&] { be_client(process, agentd); });
    threads.emplace_back([&] { rename(process, agentd.store()); });
    if (chance(baton_, 2)) {
      clock_.pause(Milliseconds(baton_.draw(6'000)));
      process.dead = true;
      ++facts_.counted().kills;
    }
    for (Thread& thread : threads) thread.join();
  }

  std::optional<Ulid> some_conversation() {
    if (conversations_.empty() || chance(baton_, 4)) return std::nullopt;
    return conversations_[baton_.draw(conversations_.size())];
  }

  std::unique_ptr<Session> open(Agentd& agentd, std::optional<Ulid> id) {
    auto session = agentd.agent().open(id, {});
    if (!session) return nullptr;  // in use by another client, or the disk has failed
    const Ulid opened = *Ulid::parse((*session)->conversation_id());
    if (std::find(conversations_.begin(), conversations_.end(), opened) == conversations_.end())
      conversations_.push_back(opened);
    return std::move(*session);
  }

  void be_client(Process& process, Agentd& agentd) {
    std::unique_ptr<Session> session;
    for (std::uint64_t left = 1 + baton_.draw(kOperationsMax); left > 0 && !process.dead; --left) {
      pass_time(baton_, clock_, 200);
      if (!session) session = open(agentd, some_conversation());
      if (!session) continue;
      act(process, *session);
      if (chance(baton_, 3)) session.reset();
    }
  }

  void act(Process& process, Session& session) {
    const CancelToken cancel;
    Thread interrupter, poster;
    const std::string text = "posted-" + std::to_string(++facts_.questions);
    if (chance(baton_, 3))
      poster = Thread([&] {
        clock_.pause(Milliseconds(baton_.draw(900)));
        facts_.posted[text].conversation = session.conversation_id();
        ++facts_.counted().posts;
        post(session, text);
        if (!chance(baton_, 3)) return;
        facts_.posted[text].again = true;
        clock_.pause(Milliseconds(baton_.draw(300)));
        post(session, text);
      });
    else if (const auto lost = lost_post(session)) {
      facts_.posted[*lost].again = true;
      post(session, *lost);
    }
    if (chance(baton_, 6))
      interrupter = Thread([&] {
        clock_.pause(Milliseconds(baton_.draw(800)));
        cancel.cancel(AGENTD_CANCEL_USER);
      });
    switch (baton_.draw(8)) {
      case 0:
        if (const auto report = session.compact({}, false, cancel); report && report->changed())
          ++facts_.counted().compactions;
        break;
      case 1:
        if (session.undo(baton_.draw(2) == 0, cancel)) ++facts_.counted().undos;
        break;
      default:
        if (const auto before = asked_before(session))
          send(process, session, *before, cancel);
        else
          ask(process, session, cancel);
    }
    if (poster.joinable()) poster.join();
    if (process.dead) {  // nobody hears of what it hands back
      if (const auto posted = facts_.posted.find(text); posted != facts_.posted.end())
        posted->second.may_be_gone = true;
      return;
    }
    for (const PostedMessage& back : session.take_posted()) {
      Facts::Posted& posted = facts_.posted[back.text];
      if (posted.handed_back && !posted.again) facts_.violated(back.text + " was handed back twice");
      posted.handed_back = true;
    }
  }

  void post(Session& session, const std::string& text) {
    const auto kind = baton_.draw(2) == 0 ? PostedMessage::Kind::kSteer : PostedMessage::Kind::kFollowUp;
    if (!session.post({kind, text, {}, text})) facts_.violated(text + " was refused");
  }

  // A message of this conversation that its client has to post again, since it may be gone.
  std::optional<std::string> lost_post(const Session& session) {
    for (const auto& [text, posted] : facts_.posted)
      if (posted.may_be_gone && posted.conversation == session.conversation_id() && chance(baton_, 4)) return text;
    return std::nullopt;
  }

  bool ask(Process& process, Session& session, const CancelToken& cancel) {
    const std::string number = std::to_string(++facts_.questions);
    const std::string question = "question-" + number + std::string(baton_.draw(800), '?');
    RunRequest request{question};
    if (chance(baton_, 2)) {
      request.key = "key-" + number;
      facts_.keyed[request.key] = {session.conversation_id(), question};
    }
    return send(process, session, request, cancel);
  }

  // A question of this conversation that has a key, whatever became of it.
  std::optional<RunRequest> asked_before(const Session& session) {
    if (!chance(baton_, 4)) return std::nullopt;
    const std::vector<RunRequest> all = keyed_in(session);
    if (all.empty()) return std::nullopt;
    return all[baton_.draw(all.size())];
  }
  std::vector<RunRequest> keyed_in(const Session& session) const {
    std::vector<RunRequest> out;
    for (const auto& [key, keyed] : facts_.keyed)
      if (keyed.conversation == session.conversation_id()) {
        out.push_back(RunRequest{keyed.question});
        out.back().key = key;
      }
    return out;
  }

  // True when it was answered, or is known by its key.
  bool send(Process& process, Session& session, const RunRequest& request, const CancelToken& cancel) {
    Facts::Keyed* const keyed = request.key.empty() ? nullptr : &facts_.keyed[request.key];
    const bool answered = keyed != nullptr && keyed->answered;
    const auto report = session.run(request, cancel);
    ++facts_.counted().runs;
    if (process.dead) return false;
    const bool repeated = !report && report.error().kind == RunError::Kind::kRepeated;
    if (repeated) ++facts_.counted().repeated;
    if (!report && !repeated) return false;
    if (keyed != nullptr) keyed->known = true;
    if (repeated) return true;
    if (answered) facts_.violated("the message with the key " + request.key + " ran twice");
    if (keyed != nullptr) keyed->answered = true;
    facts_.said.push_back({*Ulid::parse(session.conversation_id()), request.text, report->final_text});
    return true;
  }

  // Appends to conversations that others hold.
  void rename(Process& process, Store& store) {
    for (std::uint64_t left = baton_.draw(6); left > 0 && !process.dead; --left) {
      pass_time(baton_, clock_, 500);
      if (conversations_.empty()) continue;
      const Ulid id = conversations_[baton_.draw(conversations_.size())];
      const auto info = store.info(id);
      MetaRecord meta;
      meta.title = "title-" + std::to_string(left);
      if (info) (void)store.append(id, info->revision, {{write_meta(meta)}}, {}, {});
    }
  }

  // Faults stop: everybody must get an answer, and sees what the next process will see.
  void run_calm_process() {
    Process process{baton_, clock_, facts_, *disk_, false};
    Agentd agentd(process, ids_);
    for (const Ulid& id : std::vector<Ulid>(conversations_)) {
      if (!disk_->info(id)) continue;  // nothing was said in it
      auto session = open(agentd, id);
      if (!session) {
        facts_.violated("conversation " + id.text() + " cannot be opened");
        continue;
      }
      for (const RunRequest& before : keyed_in(*session))
        if (!send(process, *session, before, {}))
          facts_.violated("the message with the key " + before.key + " is refused although nothing is wrong");
      if (!ask(process, *session, {})) facts_.violated("a run in " + id.text() + " fails although nothing is wrong");
      const Gauge here = session->gauge();
      session = nullptr;
      if (session = open(agentd, id); session && session->gauge().used != here.used)
        facts_.violated("conversation " + id.text() + ": the gauge has " + std::to_string(here.used) +
                        " tokens, and counted anew " + std::to_string(session->gauge().used));
    }
  }

  // ---- what must have come of it

  struct Call {
    int asked = 0, intents = 0, results = 0;
    std::string status, text;
  };

  void check_logs() {
    const auto all = disk_->list({{}, {}, {}, 0, 0, UINT32_MAX});
    for (const ConversationInfo& info : *all) check_log(info);
    for (const auto& [key, keyed] : facts_.keyed)
      if (keyed.known && keyed.stored != 1)
        facts_.violated("the message with the key " + key + " is " + std::to_string(keyed.stored) +
                        " times in the logs");
    for (const Facts::Said& said : facts_.said) check_said(said);
    for (const auto& [text, posted] : facts_.posted) check_posted(text, posted);
    for (const auto& [key, times] : facts_.effects)
      if (!seen_.contains(key)) facts_.violated("the tool of " + key + " ran, and no log has its call");
  }

  void check_log(const ConversationInfo& info) {
    const Ulid id = *Ulid::parse(info.id);
    // Nobody opens a subagent's conversation again: a call that a kill has left open in it stays open.
    const bool is_child = !info.agent_type.empty();
    if (is_child) ++facts_.counted().children;
    if (auto verified = disk_->verify(id); !verified)
      facts_.violated("the chain of " + id.text() + " is broken: " + verified.error().message);
    std::map<std::string, Call> calls;
    std::map<std::string, int> keys;
    std::vector<StoredRecord> log;
    (void)disk_->read(id, 1, 0, [&](const StoredRecord& record) {
      log.push_back(record);
      if (const auto intent = read_tool_intent(record.record); intent) ++calls[intent->call_id].intents;
      if (record.record.type == RecordType::kAssistantMessage)
        if (const auto message = read_message(record.record); message)
          for (const Block& block : message->message.blocks)
            if (block.kind == BlockKind::kToolUse) ++calls[block.call_id].asked;
      if (record.record.type == RecordType::kUserMessage)
        if (const auto message = read_message(record.record); message) {
          if (const auto posted = facts_.posted.find(message->message.text()); posted != facts_.posted.end())
            ++posted->second.stored;
          if (!message->key.empty()) ++keys[message->key];
        }
      if (record.record.type != RecordType::kToolResult) return true;
      const auto result = read_tool_result(record.record);
      Call& call = calls[result->call_id];
      ++call.results;
      call.status = result->status;
      call.text = result->text;
      return true;
    });
    for (const auto& [key, times] : keys) {
      if (times > 1) facts_.violated("the key " + key + " is " + std::to_string(times) + " times in one log");
      if (const auto keyed = facts_.keyed.find(key); keyed != facts_.keyed.end()) keyed->second.stored += times;
    }
    Conversation view(id.text(), {});
    if (auto loaded = view.load(log); !loaded) facts_.violated(id.text() + ": " + loaded.error().message);
    for (const auto& [call_id, call] : calls) check_call(id.text() + "/" + call_id, call, is_child);
  }

  void check_call(const std::string& key, const Call& call, bool may_be_open) {
    seen_.insert(key);
    const auto ran = facts_.effects.find(key);
    const bool effect = ran != facts_.effects.end();
    if (call.asked != 1) facts_.violated(key + " is asked for " + std::to_string(call.asked) + " times");
    if (call.results > 1 || (call.results == 0 && !may_be_open))
      facts_.violated(key + " has " + std::to_string(call.results) + " results");
    if (call.intents > 1) facts_.violated(key + " has " + std::to_string(call.intents) + " intents");
    if (effect && call.intents == 0) facts_.violated(key + " ran without an intent");
    if (call.status == "ok" && call.intents == 0) facts_.violated(key + " succeeded without an intent");
    if (call.status == "denied" && call.intents != 0) facts_.violated(key + " was denied after its intent");
    if (call.status == "ok" && effect && !call.text.ends_with(kMark))
      facts_.violated(key + ": what a hook wrote over its output is not in the log");
  }

  void check_posted(const std::string& text, const Facts::Posted& posted) {
    const int times = posted.stored + (posted.handed_back ? 1 : 0);
    if (posted.stored > 1 || (times > 1 && !posted.again)) facts_.violated(text + " was taken twice");
    if (posted.acknowledged && posted.stored != 1) facts_.violated(text + " was acknowledged, and no log has it");
    if (times == 0 && !posted.may_be_gone) facts_.violated(text + " is lost");
  }

  // In the log, each once, the question before its answer.
  void check_said(const Facts::Said& said) {
    int questions = 0, answers = 0;
    std::uint64_t question_at = 0, answer_at = 0;
    (void)disk_->read(said.conversation, 1, 0, [&](const StoredRecord& record) {
      if (!carries_message(record.record.type)) return true;
      const auto message = read_message(record.record);
      if (!message) return true;
      const std::string text = message->message.text();
      if (record.record.type == RecordType::kUserMessage && text == said.question) {
        ++questions;
        question_at = record.seq;
      }
      if (record.record.type == RecordType::kAssistantMessage && text == said.answer) {
        ++answers;
        answer_at = record.seq;
      }
      return true;
    });
    const std::string where = "in " + said.conversation.text();
    if (questions != 1) facts_.violated("an acknowledged question is " + std::to_string(questions) + " times " + where);
    if (answers != 1) facts_.violated("an acknowledged answer is " + std::to_string(answers) + " times " + where);
    if (questions == 1 && answers == 1 && question_at > answer_at)
      facts_.violated("an answer stands before its question " + where);
  }

  Baton& baton_;
  const std::function<std::unique_ptr<Store>(const Clock&)>& make_store_;
  const SimulatedClock clock_{baton_};
  IdSource ids_{clock_, [this](std::uint8_t* out, std::size_t bytes) {
                  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::uint8_t>(baton_.draw(256));
                }};
  Facts facts_;
  std::unique_ptr<Store> disk_;
  std::vector<Ulid> conversations_;
  std::set<std::string> seen_;  // calls of the logs
};

}  // namespace

void Facts::violated(const std::string& what) {
  if (report_.violations.size() < 20) report_.violations.push_back(what);
}

Report play(std::uint64_t seed, const std::function<std::unique_ptr<Store>(const Clock&)>& make_store,
            const std::function<void(const std::string& why)>& stuck) {
  Report report;
  Baton baton(seed, stuck);
  baton.run([&] { Play(baton, make_store, report).run(); });
  report.switches = baton.switches();
  report.digest = baton.digest();
  return report;
}

}  // namespace agentd::simulator
