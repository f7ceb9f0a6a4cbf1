// SPDX-License-Identifier: Apache-2.0
#include "tests/sessions/crowd.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <utility>

#include "core/agent/waits.h"
#include "core/store/lmdb/lmdb_store.h"
#include "tests/support/played_tools.h"

namespace agentd::sessions {
namespace {

using testing::action;
using testing::TestCall;
using testing::TestHook;

// A generator for one step: neighbouring numbers give unlike ones.
std::mt19937_64 random_of(std::uint64_t seed, std::uint64_t step) {
  std::uint64_t mixed = seed + (step + 1) * 0x9e37'79b9'7f4a'7c15u;
  mixed = (mixed ^ mixed >> 30) * 0xbf58'476d'1ce4'e5b9u;
  return std::mt19937_64(mixed ^ mixed >> 31);
}

ModelResult cancelled() {
  ModelError error;
  error.kind = ModelErrorKind::kCancelled;
  error.message = "cancelled";
  return error;
}

}  // namespace

std::unique_ptr<Store> open_store(const std::string& directory, const Clock& clock) {
  LmdbOptions options;
  options.directory = directory;
  auto store = open_lmdb_store(options, clock);
  if (store) return std::move(*store);
  std::fprintf(stderr, "the store cannot be opened: %s\n", store.error().message.c_str());
  std::abort();
}

// ---- the model and the tools

class Crowd::Model final : public ModelProvider {
 public:
  explicit Model(const Crowd& crowd) : crowd_(crowd) {}
  std::string_view name() const override { return "played"; }

  ModelResult complete(const ModelRequest& request, ModelSink& sink, const CancelToken& cancel, Deadline) override {
    const std::uint64_t number = ++requests_;
    std::mt19937_64 random = random_of(crowd_.options_.seed, number);
    for (std::uint64_t left = random() % 3; left > 0; --left) {
      if (!crowd_.clock_.sleep(Milliseconds(random() % 3), cancel)) return cancelled();
      sink.on_text("answer-");
    }
    const std::string name = crowd_.options_.name + "-" + std::to_string(number);
    ModelResponse out;
    out.message = Message::of_text(Role::kAssistant, "answer-" + name + std::string(random() % 600, '.'));
    out.usage = Usage{};
    out.usage->input = request.prompt_tokens;
    out.usage->output = 10 + out.message.text().size() / 4;
    const bool calls = !crowd_.options_.calm && request.purpose == "turn" && request.may_call_tools;
    if (calls && !request.tools.empty() && random() % 5 < 2) ask_tools(name, random, out);
    return out;
  }

 private:
  static void ask_tools(const std::string& name, std::mt19937_64& random, ModelResponse& out) {
    static constexpr const char* kTools[] = {"read", "read", "read", "write", "write", "write", "task"};
    out.stop_reason = StopReason::kToolUse;
    for (std::uint64_t i = 0, count = 1 + random() % 3; i < count; ++i) {
      const std::string tool = kTools[random() % std::size(kTools)];
      out.message.blocks.push_back(Block::tool_use("c-" + name + "-" + std::to_string(i), tool,
                                                   tool == "task" ? R"({"prompt":"find it"})" : "{}"));
    }
  }

  const Crowd& crowd_;
  std::atomic<std::uint64_t> requests_{0};
};

class Crowd::Tools final : public ToolSource {
 public:
  explicit Tools(const Crowd& crowd) : crowd_(crowd) {}
  std::vector<Tool> tools() const override { return tools_; }

  Result<ToolOutcome> call(const SessionContext& session, const ToolCall& call, const CancelToken& cancel,
                           Deadline) override {
    if (crowd_.options_.witness)
      crowd_.options_.witness({Fact::Kind::kTool, std::string(session.conversation_id), 0, call.call_id});
    if (!crowd_.clock_.sleep(Milliseconds(++calls_ % 3), cancel)) return Error{Code::kCancelled, "interrupted"};
    ToolOutcome out;
    out.content = "output of " + call.call_id;
    return out;
  }

 private:
  const Crowd& crowd_;
  const std::vector<Tool> tools_ = testing::read_and_write();
  std::atomic<std::uint64_t> calls_{0};
};

// ---- the hooks

// The hooks of one publication. It is kept to the end, so that a call after the last pin is seen.
struct Crowd::Generation {
  std::vector<std::unique_ptr<TestHook>> hooks;
  std::weak_ptr<const Snapshot> snapshot;
  std::atomic<std::uint64_t> calls{0};
  std::atomic<bool> ended{false};

  TestHook& on(Crowd& crowd, std::uint32_t event, std::string name, TestHook::Fn fn) {
    hooks.push_back(
        std::make_unique<TestHook>(crowd.slots_, event, std::move(name), [this, &crowd, fn](const TestCall& call) {
          ++calls;
          if (ended) crowd.violated("a hook was called after its end");
          return fn(call);
        }));
    return *hooks.back();
  }
};

void Crowd::republish() {
  auto next = std::make_unique<Generation>();
  const bool calm = options_.calm;
  const auto watches = [](const TestCall&) { return AGENTD_OK; };
  for (const std::uint32_t event : {AGENTD_EVENT_USER_MESSAGE_SEND, AGENTD_EVENT_BEFORE_MODEL_CALL,
                                    AGENTD_EVENT_AGENT_STOP, AGENTD_EVENT_SESSION_END})
    next->on(*this, event, "watches", watches);
  next->on(*this, AGENTD_EVENT_BEFORE_TOOL_CALL, "guard",
           [](const TestCall& call) {
             const std::string_view id = view_of(call.payload<agentd_tool_call>().call_id);
             const std::size_t drawn = std::hash<std::string_view>()(id) % 16;
             if (drawn < 2) return call.answer(action(AGENTD_ACT_BLOCK, "not this one"));
             if (drawn == 2)
               return call.answer(testing::permission_action(AGENTD_PERMISSION_DEFER, "somebody decides"));
             return AGENTD_OK;
           })
      .what.flags |= AGENTD_HOOK_GATES;
  next->on(*this, AGENTD_EVENT_AFTER_TOOL_CALL, "marks", [](const TestCall& call) {
    const auto& payload = call.payload<agentd_tool_call>();
    if ((payload.flags & AGENTD_TOOL_CALL_DENIED) != 0) return AGENTD_OK;
    return call.answer(action(AGENTD_ACT_REPLACE_TEXT, std::string(view_of(payload.result->content)) + " [seen]"));
  });
  Generation& of = *next;
  next->on(*this, AGENTD_EVENT_TURN_END, "compacts", [calm, &of](const TestCall& call) {
    return calm || of.calls % 40 != 0 ? AGENTD_OK : call.answer(action(AGENTD_ACT_COMPACT));
  });
  std::vector<Subscription> all;
  for (const auto& hook : next->hooks) all.push_back(hook->what);
  const MutexLock lock(mutex_);
  workplace_.publish(std::move(all));
  next->snapshot = workplace_.pin();
  generations_.push_back(std::move(next));
  end_unpinned();
}

void Crowd::end_unpinned() {
  for (const auto& generation : generations_)
    if (generation->snapshot.expired()) generation->ended = true;
}

void Crowd::retire() {
  const MutexLock lock(mutex_);
  workplace_.publish({});
  end_unpinned();
}

std::size_t Crowd::generations() {
  const MutexLock lock(mutex_);
  return generations_.size();
}

std::size_t Crowd::pinned() {
  const MutexLock lock(mutex_);
  end_unpinned();
  std::size_t out = 0;
  for (const auto& generation : generations_)
    if (!generation->ended) ++out;
  return out;
}

bool Crowd::newest_was_called() {
  const MutexLock lock(mutex_);
  return generations_.back()->calls != 0;
}

// ---- the process

Crowd::Crowd(Store& store, CrowdOptions options)
    : store_(store),
      options_(std::move(options)),
      models_(*ModelTable::parse(R"({"models":[{"pattern":"m-","provider":"played","window":6000,"max_output":1000,)"
                                 R"("summary_model":"cheap"}]})")),
      runs_(clock_, options_.limits),
      model_(std::make_unique<Model>(*this)),
      tools_(std::make_unique<Tools>(*this)) {
  RuntimeSettings settings;
  static_cast<ModelSettings&>(settings) = options_of(0);
  services_ = make_services(runtime_parts(), std::move(settings));
  republish();
}

Crowd::~Crowd() { retire(); }

RuntimeParts Crowd::runtime_parts() {
  return {store_, *model_, models_, estimator_, prompts_, slots_, clock_, ids_, log_, nullptr, nullptr, &runs_};
}

AgentOptions Crowd::options_of(std::size_t number) const {
  AgentOptions out;
  out.provider = "played";
  out.model = "m-1";
  out.system_prompt = "be good";
  out.cwd = "/work";
  out.project_id = "u/p" + std::to_string(number % kProjects);
  out.subagents = true;
  out.max_turns = 8;
  return out;
}

Result<std::unique_ptr<Crowd::Client>, RunError> Crowd::open(std::size_t number, std::optional<Ulid> conversation) {
  auto client = std::make_unique<Client>(*this, number);
  if (auto opened = client->open(conversation); !opened) return opened.error();
  return client;
}

void Crowd::violated(std::string what) {
  const MutexLock lock(mutex_);
  if (violations_.size() < kFindingsMax) violations_.push_back(std::move(what));
}

Findings Crowd::violations() {
  const MutexLock lock(mutex_);
  return violations_;
}

// ---- a client

Crowd::Client::Client(Crowd& crowd, std::size_t number) : crowd_(crowd), number_(number), dispatcher_(crowd.clock_) {
  PermissionRules rules;
  rules.mode = PermissionRules::Mode::kAllow;
  const auto refresh = [this] { dispatcher_.share(crowd_.workplace_.pin()); };
  refresh();
  agent_ = make_agent(
      *crowd.services_,
      {crowd.runtime_parts(), {crowd.prompts_, rules}, {dispatcher_, *crowd.tools_, *this, nullptr, false, refresh}},
      crowd.options_of(number));
}

Crowd::Client::~Client() {
  session_.reset();
  agent_.reset();
  dispatcher_.publish({});
}

Result<void, RunError> Crowd::Client::open(std::optional<Ulid> conversation) {
  auto session = agent_->open(conversation, {});
  if (!session) return session.error();
  session_ = std::move(*session);
  return {};
}

void Crowd::Client::on_event(const RunEvent& event) {
  if (crowd_.options_.witness) {
    const std::string conversation(event.conversation_id);
    if (const auto* const message = std::get_if<told::UserMessage>(&event.body))
      crowd_.options_.witness({Fact::Kind::kMessage, conversation, message->seq, std::string(message->text)});
    // A run that waits has no answer yet.
    if (const auto* const ended = std::get_if<told::RunEnded>(&event.body);
        ended != nullptr && ended->context && ended->outcome != RunOutcome::kWaiting)
      crowd_.options_.witness({Fact::Kind::kAnswer, conversation, 0, std::string(ended->answer)});
    if (const auto* const waiting = std::get_if<told::Waiting>(&event.body))
      crowd_.options_.witness({Fact::Kind::kWait, conversation, 0, std::string(waiting->wait_id)});
  }
  if (crowd_.options_.on_event) crowd_.options_.on_event(number_, event);
}

std::string Crowd::Client::next_text(const char* what) {
  return std::string(what) + "-" + crowd_.options_.name + "-" + std::to_string(number_) + "-" +
         std::to_string(++texts_);
}

CancelToken Crowd::Client::begin() {
  const MutexLock lock(mutex_);
  return cancel_ = CancelToken();
}

void Crowd::Client::interrupt() {
  const MutexLock lock(mutex_);
  cancel_.cancel(AGENTD_CANCEL_USER);
}

Result<RunReport, RunError> Crowd::Client::ask() {
  const CancelToken cancel = begin();
  auto report = session_->run(next_text("question"), cancel);
  // An answered call is carried on first, and a call behind it may wait in its turn.
  const bool waits = !report && report.error().kind == RunError::Kind::kBlocked && session_->wait() != nullptr;
  if (!report && !cancel.cancelled() && !waits)
    crowd_.violated("a run of client " + std::to_string(number_) + " failed: " + report.error().message);
  return report;
}

void Crowd::Client::settle() {
  for (int i = 0; i < 50 && session_->wait() != nullptr; ++i) (void)ask();
}

// As another process would, and goes on at once, or leaves that to the next question.
void Crowd::Client::answer_wait(std::mt19937_64& random) {
  const auto asked = asked_of(crowd_.store_, *session_->wait());
  if (!asked || !*asked) return crowd_.violated("a wait has no question");
  if (!(*asked)->answer) {
    const auto found = find_wait(crowd_.store_, (*asked)->wait.id);
    if (!found) return crowd_.violated("a wait is not found: " + found.error().message);
    const GivenAnswer answer{random() % 3 == 0 ? WaitDecision::kDeny : WaitDecision::kAllow, "user", "approve", {}};
    const auto done = agentd::answer_wait(crowd_.store_, crowd_.clock_, *found, answer);
    // The session learns of its own answer when it works next.
    const bool again = !done && done.error().kind == RunError::Kind::kBlocked;
    if (!done && !again) return crowd_.violated("a wait was not answered: " + done.error().message);
    if (!again && random() % 4 == 0) return;
  }
  const CancelToken cancel = begin();
  if (auto report = session_->carry_on({}, cancel); !report && !cancel.cancelled())
    crowd_.violated("a wait was not carried on: " + report.error().message);
}

void Crowd::Client::act(std::mt19937_64& random) {
  if (session_->wait() != nullptr && random() % 3 != 0) return answer_wait(random);
  switch (random() % 10) {
    case 0:
      (void)session_->compact({}, false, begin());
      break;
    case 1:
      (void)session_->undo(random() % 2 == 0, begin());
      break;
    default:
      (void)ask();
  }
}

}  // namespace agentd::sessions
