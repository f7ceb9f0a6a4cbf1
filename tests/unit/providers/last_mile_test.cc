// SPDX-License-Identifier: Apache-2.0
// No request of a conversation breaks a rule of its wire format, whatever hooks, models, tools and the user do to it.
//
// Each history is a real session with the real providers behind it; the vendors are simulated. AGENTD_MILE_SEEDS is the
// number of histories, AGENTD_MILE_SEED selects a single one.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <deque>

#include "core/base/base64.h"
#include "core/model/router.h"
#include "providers/anthropic/anthropic.h"
#include "providers/google/google.h"
#include "providers/openai/openai.h"
#include "tests/support/agent_fixture.h"
#include "tests/support/model_fakes.h"
#include "tests/support/vendor_play.h"

namespace agentd {
namespace {

using testing::Chance;
using testing::PlayedVendors;

// Small windows: compaction is a part of most histories.
constexpr const char* kTable = R"({"thinking_back":["deepseek"],"models":[
  {"pattern":"claude-haiku","provider":"anthropic","window":12000,"max_output":3000,"thinking":"budget",
   "inputs":["image","pdf"]},
  {"pattern":"claude-sonnet","provider":"anthropic","window":12000,"max_output":3000,"thinking":"adaptive",
   "efforts":["low","high"],"default_effort":"high","thinking_off":"disabled","summary_model":"claude-haiku-1",
   "inputs":["image"]},
  {"pattern":"gpt-","provider":"openai","window":12000,"max_output":3000,"thinking":"adaptive","efforts":["low","high"],
   "default_effort":"low","thinking_off":"none","inputs":["image","pdf"]},
  {"pattern":"gemini-3","provider":"google","window":12000,"max_output":3000,"thinking":"always",
   "inputs":["image","pdf"]},
  {"pattern":"gemini-2","provider":"google","window":12000,"max_output":3000,"thinking":"budget","inputs":["image"]},
  {"pattern":"house","provider":"work","window":12000,"max_output":3000,"thinking":"none","inputs":["image","pdf"]},
  {"pattern":"blind","provider":"work","window":12000,"max_output":3000,"thinking":"budget","inputs":[]},
  {"pattern":"deepseek","provider":"work","window":12000,"max_output":3000,"thinking":"budget","inputs":[]}]})";

constexpr const char* kLastMileModels[] = {
    "anthropic/claude-haiku-1", "anthropic/claude-sonnet-1", "openai/gpt-1",
    "google/gemini-3",          "google/gemini-2",           "work/house-1",
    "mistral/blind-small",      "deepseek/blind-reasoner",   "work/deepseek-house"};

// For a history that ends the process: its seed is not lost.
volatile std::uint32_t seed_of_history = 0;
void tell_seed(int) {
  std::array<char, 40> line{};
  const int bytes = std::snprintf(line.data(), line.size(), "seed %u\n", static_cast<unsigned>(seed_of_history));
  (void)!::write(STDERR_FILENO, line.data(), static_cast<std::size_t>(bytes));
}

std::uint32_t number_of(const char* variable, std::uint32_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

Result<std::unique_ptr<ModelProvider>> make_vendor(const std::string& name, HttpClient& http, const Clock& clock) {
  TransferLimits limits;
  limits.retry.retries = 0;
  if (name == "anthropic") return make_anthropic_provider({.api_key = "k", .limits = limits}, http, clock);
  if (name == "google") return make_google_provider({.api_key = "k", .limits = limits}, http, clock);
  OpenAiOptions options;
  options.name = name;
  options.api_key = "k";
  options.limits = limits;
  if (name == "work") options.base_url = "https://work.example/v1";
  if (name == "mistral") options.base_url = "https://api.mistral.ai/v1";
  if (name == "deepseek") options.base_url = "https://api.deepseek.com/v1";
  return make_openai_provider(options, http, clock);
}

// A session whose every part acts at random.
class History {
 public:
  History(std::uint32_t seed, const ModelTable& models)
      : chance_(seed),
        models_(models),
        vendors_(chance_),
        router_({"anthropic", "openai", "google", "work", "mistral", "deepseek"}, "anthropic",
                [this](const std::string& name) { return make_vendor(name, vendors_, clock_); }) {
    permissions_.mode = chance_.once_in(5) ? PermissionRules::Mode::kDeny : PermissionRules::Mode::kAllow;
    hooks_speak_ = chance_.once_in(4) ? 0 : 2 + chance_.below(12);
    replaces_ = chance_.once_in(3);
    for (const char* const name : {"bash", "look"}) tools_.offer(name);
    tools_.offered[1].input_schema_json = R"({"type":"object","properties":{"path":{"type":"string"}}})";
    tools_.handler = [this](const ToolCall&) { return output(); };
    vendors_.meanwhile = [this] {
      if (chance_.once_in(40)) cancel_.cancel(AGENTD_CANCEL_USER);
    };
    add_hooks();
  }

  // Up to a dozen steps of a user.
  void play() {
    open({});
    for (int i = 2 + chance_.below(10); i > 0 && session_; --i) step();
    session_.reset();
  }

  const PlayedVendors& vendors() const { return vendors_; }
  int compactions = 0, undone = 0, forks = 0;

 private:
  // The options are the agent's: another model is another agent.
  void open(std::optional<Ulid> id) {
    session_.reset();
    AgentOptions options;
    options.provider = "anthropic";
    options.model = chance_.of(kLastMileModels);
    options.system_prompt = chance_.text().substr(0, 100);
    options.instructions = chance_.text().substr(0, 100);
    options.cwd = "/work";
    options.max_turns = 6;
    options.max_output_tokens = 400 + static_cast<std::uint64_t>(chance_.below(1'500));
    options.summary_tokens = 600;
    options.budget.output_reserve = 1'000;
    options.subagents = chance_.once_in(6);
    options.offer_tools = !chance_.once_in(8);
    constexpr const char* kEfforts[] = {"", "", "low", "high", "max", "none"};
    options.thinking.effort = chance_.of(kEfforts);
    if (chance_.once_in(2)) options.thinking.budget_tokens = static_cast<std::uint64_t>(chance_.below(6'000));
    if (chance_.once_in(3)) options.fallbacks = {chance_.of(kLastMileModels), chance_.of(kLastMileModels)};
    const RuntimeParts process{store_, router_, models_, estimator_, prompts_, slots_, clock_, ids_, log_};
    agents_.push_back({make_services(process, {options}), nullptr});
    agents_.back().agent =
        make_agent(*agents_.back().services,
                   {process, {prompts_, permissions_}, {dispatcher_, tools_, events_, nullptr, false}}, options);
    auto opened = agents_.back().agent->open(id, {});
    if (opened) session_ = std::move(*opened);
  }
  Ulid id() const { return *Ulid::parse(session_->conversation_id()); }

  void step() {
    cancel_ = CancelToken();
    if (chance_.once_in(25)) cancel_.cancel(AGENTD_CANCEL_USER);
    switch (chance_.below(12)) {
      case 0:
      case 4: {
        CompactOptions options;
        options.strategy = static_cast<std::uint32_t>(chance_.below(4));
        options.keep_tokens = static_cast<std::uint64_t>(chance_.below(800));
        const auto done = session_->compact(options, false, cancel_);
        compactions += done && done->changed() ? 1 : 0;
        return;
      }
      case 1:
      case 5:
        undone += session_->undo(true, cancel_) ? 1 : 0;
        return;
      case 2:
        return fork();
      case 3:
        return open(id());
      default:
        return say();
    }
  }

  void fork() {
    const auto info = store_.info(id());
    if (!info || info->revision == 0) return;
    GenesisRecord genesis;
    const Ulid fresh = ids_.next();
    genesis.conversation_id = fresh.text();
    const auto at = 1 + static_cast<std::uint64_t>(chance_.below(static_cast<int>(info->revision)));
    if (!store_.fork(id(), at, genesis, "copy")) return;
    ++forks;
    open(fresh);
  }

  void say() {
    RunRequest request;
    request.text = chance_.text();
    if (chance_.once_in(8)) request.words = chance_.text();
    if (chance_.once_in(8)) request.media = {picture()};
    if (chance_.once_in(15)) request.output_schema = R"({"type":"object","properties":{"n":{"type":"integer"}}})";
    if (chance_.once_in(12)) request.compaction_run = true;
    (void)session_->run(request, cancel_);
  }

  Block picture() {
    Block out;
    out.kind = chance_.once_in(3) ? BlockKind::kDocument : BlockKind::kImage;
    out.name = out.kind == BlockKind::kDocument ? "application/pdf" : "image/png";
    out.text = out.kind == BlockKind::kDocument ? chance_.text() : "";
    out.opaque = base64("not much of a picture");
    return out;
  }

  Result<ToolOutcome> output() {
    if (chance_.once_in(30)) cancel_.cancel(AGENTD_CANCEL_USER);
    if (chance_.once_in(12)) return Error{Code::kUnavailable, chance_.text()};
    ToolOutcome out;
    out.success = !chance_.once_in(4);
    out.content = chance_.text();
    if (chance_.once_in(6)) out.parts = {chance_.once_in(3) ? odd_block() : picture()};
    return out;
  }

  // What a plugin can put into a list of blocks, whether it makes sense or not.
  Block odd_block() {
    Block out;
    constexpr BlockKind kKinds[] = {BlockKind::kText,       BlockKind::kThinking, BlockKind::kToolUse,
                                    BlockKind::kToolResult, BlockKind::kImage,    BlockKind::kDocument};
    out.kind = chance_.of(kKinds);
    out.text = chance_.text();
    constexpr const char* kNames[] = {"", "bash", "image/png", "image/bmp", "text/plain", "odd name"};
    out.name = chance_.of(kNames);
    if (chance_.once_in(2)) out.call_id = "own_1";
    if (chance_.once_in(2)) out.json = chance_.once_in(2) ? "{}" : "[1";
    if (chance_.once_in(2)) out.opaque = chance_.text();
    // The plugin interface accepts no other bytes.
    const bool media = out.kind == BlockKind::kImage || out.kind == BlockKind::kDocument;
    if (media && !is_base64(out.opaque)) out.opaque = "AAAA";
    return out;
  }

  Message literal() {
    Message out = Message::of_text(chance_.once_in(3) ? Role::kAssistant : Role::kUser, chance_.text());
    if (chance_.once_in(6)) out.role = Role::kSummary;
    for (int i = chance_.below(3); i > 0; --i)
      out.blocks.push_back(chance_.once_in(3) ? odd_block() : Block::of_text(chance_.text()));
    if (chance_.once_in(8)) out.blocks = {odd_block()};
    return out;
  }

  Action replacement(const testing::TestCall& call) {
    Action out = testing::action(AGENTD_ACT_REPLACE_MESSAGES);
    out.base_revision = call.raw.envelope->revision;
    for (int i = 1 + chance_.below(3); i > 0; --i) {
      ReplacePart part;
      part.literal = literal();
      out.parts.push_back(part);
    }
    if (chance_.once_in(2)) {
      ReplacePart tail;
      tail.first = 1 + static_cast<std::uint64_t>(chance_.below(40));
      tail.last = out.base_revision;
      if (tail.last >= tail.first) out.parts.push_back(tail);
    }
    return out;
  }

  Action any_action(const testing::TestCall& call, std::uint32_t event, std::uint32_t kind) {
    Action out = testing::action(kind, chance_.text());
    if (kind == AGENTD_ACT_REPLACE_MESSAGES) return replacement(call);
    if (kind == AGENTD_ACT_SET && event == AGENTD_EVENT_BEFORE_MODEL_CALL)
      return testing::set_action(AGENTD_KEY_MODEL, chance_.of(kLastMileModels));
    if (kind == AGENTD_ACT_SET && event == AGENTD_EVENT_BEFORE_COMPACTION)
      return testing::set_action(AGENTD_KEY_CUSTOM_INSTRUCTIONS, chance_.text());
    if (kind == AGENTD_ACT_SET) return testing::set_action(AGENTD_KEY_TITLE, chance_.text());
    if (kind == AGENTD_ACT_TOOLS_ENABLE || kind == AGENTD_ACT_TOOLS_DISABLE)
      out.text = chance_.once_in(2) ? "bash" : "bash,look";
    if (kind == AGENTD_ACT_PERMISSION) out.code = static_cast<std::uint32_t>(1 + chance_.below(3));
    if (kind == AGENTD_ACT_CALLBACK) out.text = "compact";
    if (kind == AGENTD_ACT_REPLACE_TEXT && event == AGENTD_EVENT_BEFORE_TOOL_CALL && chance_.once_in(2))
      out.text = R"({"path":"rewritten"})";
    return out;
  }

  void add_hooks() {
    std::vector<Subscription> all;
    constexpr std::uint32_t kKinds[] = {AGENTD_ACT_BLOCK,          AGENTD_ACT_CONTINUE,     AGENTD_ACT_COMPACT,
                                        AGENTD_ACT_SUMMARY,        AGENTD_ACT_REPLACE_TEXT, AGENTD_ACT_INJECT_CONTEXT,
                                        AGENTD_ACT_INJECT_CONTEXT, AGENTD_ACT_SET,          AGENTD_ACT_TOOLS_DISABLE,
                                        AGENTD_ACT_PERMISSION,     AGENTD_ACT_CALLBACK,     AGENTD_ACT_REPLACE_MESSAGES,
                                        AGENTD_ACT_STOP_RUN};
    for (const EventTraits& event : all_events())
      for (const std::uint32_t kind : kKinds) {
        if (!is_legal(event.id, kind)) continue;
        if (kind == AGENTD_ACT_REPLACE_MESSAGES && !replaces_) continue;
        hooks_.emplace_back(slots_, event.id, "hook" + std::to_string(hooks_.size()),
                            [this, id = event.id, kind](const testing::TestCall& call) {
                              // Rarely, because what ends a run ends a history.
                              const bool ends = kind == AGENTD_ACT_STOP_RUN || kind == AGENTD_ACT_BLOCK;
                              if (hooks_speak_ == 0 || !chance_.once_in(hooks_speak_ * (ends ? 12 : 3)))
                                return AGENTD_OK;
                              return call.answer(any_action(call, id, kind));
                            });
        all.push_back(hooks_.back().what);
      }
    dispatcher_.publish(std::move(all));
  }

  struct Made {
    AgentServicesPtr services;
    std::unique_ptr<Agent> agent;
  };

  Chance chance_;
  const ModelTable& models_;
  testing::Sleepless<ManualClock> clock_{waits_};
  IdSource ids_{clock_};
  std::unique_ptr<Store> stored_ = make_memory_store(clock_);
  Store& store_ = *stored_;
  std::vector<Milliseconds> waits_;
  PlayedVendors vendors_;
  ModelRouter router_;
  const SimpleEstimator estimator_;
  Dispatcher dispatcher_{clock_};
  testing::FakeTools tools_;
  PermissionRules permissions_;
  testing::RecordingLog log_;
  RecipeBook prompts_{{}, log_};
  testing::TestSlots slots_;
  testing::RecordingEvents events_;
  CancelToken cancel_;
  int hooks_speak_ = 0;
  bool replaces_ = false;
  std::deque<testing::TestHook> hooks_;
  std::deque<Made> agents_;
  std::unique_ptr<Session> session_;
};

TEST(LastMile, NoHistoryBreaksARuleOfAnyWire) {
  const auto models = ModelTable::parse(kTable);
  ASSERT_TRUE(models) << models.error().message;
  const std::uint32_t only = number_of("AGENTD_MILE_SEED", 0), first = only == 0 ? 1 : only;
  const std::uint32_t count = only == 0 ? number_of("AGENTD_MILE_SEEDS", 3'000) : 1;
  std::map<std::string, int> asked, happened;
  int compactions = 0, undone = 0, forks = 0;
  const auto before = ::signal(SIGABRT, tell_seed);
  for (std::uint32_t seed = first; seed < first + count; ++seed) {
    seed_of_history = seed;
    History history(seed, *models);
    history.play();
    for (const auto& [wire, times] : history.vendors().asked) asked[wire] += times;
    for (const auto* const each : {&history.vendors().seen, &history.vendors().given})
      for (const auto& [what, times] : *each) happened[what] += times;
    compactions += history.compactions;
    undone += history.undone;
    forks += history.forks;
    const auto& broken = history.vendors().broken;
    ASSERT_TRUE(broken.empty()) << "seed " << seed << ": " << broken.front();
  }
  ::signal(SIGABRT, before);
  std::string told = "seeds " + std::to_string(first) + " to " + std::to_string(first + count - 1);
  for (const auto& [wire, times] : asked) told += ", " + std::to_string(times) + " requests of " + wire;
  std::printf("%s, %d compactions, %d undone, %d forks\n", told.c_str(), compactions, undone, forks);
  if (count < 2'000) return;
  // Without these events the property would hold for nothing.
  for (const char* const wire : {"anthropic", "chat", "google", "responses"}) EXPECT_GT(asked[wire], 1'000) << wire;
  for (const auto& [what, times] : happened) EXPECT_GT(times, 10) << what;
  EXPECT_GT(compactions, 100);
  EXPECT_GT(undone, 50);
  EXPECT_GT(forks, 100);
}

}  // namespace
}  // namespace agentd
