// SPDX-License-Identifier: Apache-2.0
// Every kind of hook x every action that it can ask for x fails open or closed x how it behaves:
// one real hook of that kind, through trust, loading and the one dispatcher.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/hooks/payload_record.h"
#include "core/host/hook_host.h"
#include "core/net/curl_client.h"
#include "core/recipes/handlers.h"
#include "tests/support/host_fixture.h"
#include "tests/support/loopback_server.h"

namespace agentd {
namespace {

using testing::LoopbackServer;
using testing::RecordingLog;
using testing::Reply;
using testing::TempDir;
using testing::UnavailableServices;

// ---- the axes

enum class Kind {
  kNative,
  kWorker,  // the same module in a process of its own
  kExecutable,
  kKodelet,
  kClaude,
  kDocker,
  kGemini,
  kYaml,
  kCommand,
  kWebhook,
  kRecipe  // what agentd does itself for a recipe: a gate, a check of outputs, a log
};
constexpr Kind kKinds[] = {Kind::kNative, Kind::kWorker, Kind::kExecutable, Kind::kKodelet, Kind::kClaude,
                           Kind::kDocker, Kind::kGemini, Kind::kYaml,       Kind::kCommand, Kind::kWebhook};
constexpr const char* kKindNames[] = {"native", "worker", "executable", "kodelet", "claude", "docker",
                                      "gemini", "yaml",   "command",    "webhook", "recipe"};
bool is_module(Kind kind) { return kind == Kind::kNative || kind == Kind::kWorker; }
constexpr const char* kBehaviours[] = {"ok", "crash", "timeout", "garbage", "status", "huge", "utf8", "nul"};

// What a hook is to its event: kDefault says nothing of itself, kOpen and kClosed are the user's
// configuration, kGuard and kObserver what a YAML file says.
enum class Role { kDefault, kOpen, kClosed, kGuard, kObserver };
constexpr Role kRoles[] = {Role::kDefault, Role::kOpen, Role::kClosed, Role::kGuard, Role::kObserver};
constexpr const char* kRoleNames[] = {"default", "open", "closed", "guard", "observer"};

// What a hook of a kind writes to ask for an action, and at which event of its own.
struct Wording {
  std::string event;   // the dialect's name
  std::string answer;  // standard output or body
  int code = 0;
};

struct ActionCase {
  const char* name;
  std::uint32_t event;
  std::map<Kind, Wording> wordings;  // of dialects; the others write `canonical`
  std::string canonical;
  std::function<bool(const Outcome&)> seen;
};

bool has(const std::vector<Outcome::Attributed>& list, std::string_view text) {
  for (const auto& each : list)
    if (each.action.text.find(text) != std::string::npos) return true;
  return false;
}
bool exclusive(const Outcome& outcome, std::uint32_t kind) {
  return outcome.exclusive_action() != nullptr && outcome.exclusive_action()->kind == kind;
}

std::vector<ActionCase> action_cases() {
  const auto specific = [](const std::string& event, const std::string& inner) {
    return "{\"hookSpecificOutput\":{\"hookEventName\":\"" + event + "\"," + inner + "}}";
  };
  const auto docker = [](const std::string& event, const std::string& inner) {
    return "{\"hook_specific_output\":{\"hook_event_name\":\"" + event + "\"," + inner + "}}";
  };
  return {
      {"block",
       AGENTD_EVENT_BEFORE_TOOL_CALL,
       {{Kind::kKodelet, {"before_tool_call", R"({"blocked":true,"reason":"no"})"}},
        {Kind::kClaude,
         {"PreToolUse", specific("PreToolUse", R"("permissionDecision":"deny","permissionDecisionReason":"no")")}},
        {Kind::kDocker, {"pre_tool_use", R"({"decision":"block","reason":"no"})"}},
        {Kind::kGemini, {"BeforeTool", R"({"decision":"deny","reason":"no"})"}}},
       R"({"action":"block","reason":"no"})",
       [](const Outcome& o) { return o.blocked && !o.blocked_by_failure && o.reason.find("no") != std::string::npos; }},
      {"stop_run",
       AGENTD_EVENT_BEFORE_TOOL_CALL,
       {{Kind::kClaude, {"PreToolUse", R"({"continue":false,"stopReason":"enough"})"}},
        {Kind::kGemini, {"BeforeTool", R"({"continue":false,"stopReason":"enough"})"}}},
       R"({"action":"stop_run","reason":"enough"})",
       [](const Outcome& o) { return o.blocked && o.stop && o.stop->action.text == "enough"; }},
      {"ask",
       AGENTD_EVENT_BEFORE_TOOL_CALL,
       {{Kind::kClaude, {"PreToolUse", specific("PreToolUse", R"("permissionDecision":"ask")")}},
        {Kind::kDocker, {"pre_tool_use", docker("pre_tool_use", R"("permission_decision":"ask")")}},
        {Kind::kGemini, {"BeforeTool", R"({"decision":"ask"})"}}},
       R"({"permission":"ask"})",
       [](const Outcome& o) { return o.permission == AGENTD_PERMISSION_ASK; }},
      {"allow",
       AGENTD_EVENT_PERMISSION_REQUEST,
       {{Kind::kClaude, {"PermissionRequest", specific("PermissionRequest", R"("decision":{"behavior":"allow"})")}},
        {Kind::kDocker, {"permission_request", docker("permission_request", R"("permission_decision":"allow")")}}},
       R"({"permission":"allow"})",
       [](const Outcome& o) { return o.permission == AGENTD_PERMISSION_ALLOW; }},
      {"rewrite_input",
       AGENTD_EVENT_BEFORE_TOOL_CALL,
       {{Kind::kKodelet, {"before_tool_call", R"({"input":{"command":"ls -l"}})"}},
        {Kind::kClaude, {"PreToolUse", specific("PreToolUse", R"("updatedInput":{"command":"ls -l"})")}},
        {Kind::kDocker, {"pre_tool_use", docker("pre_tool_use", R"("updated_input":{"cmd":"ls -l"})")}},
        {Kind::kGemini, {"BeforeTool", specific("BeforeTool", R"("tool_input":{"command":"ls -l"})")}}},
       R"({"input":{"command":"ls -l"}})",
       [](const Outcome& o) { return has(o.rewrites, R"("command":"ls -l")"); }},
      {"rewrite_output",
       AGENTD_EVENT_AFTER_TOOL_CALL,
       {{Kind::kClaude, {"PostToolUse", specific("PostToolUse", R"("updatedToolOutput":"new output")")}},
        {Kind::kDocker,
         {"tool_response_transform", docker("tool_response_transform", R"("updated_tool_response":"new output")")}}},
       R"({"output":"new output"})",
       [](const Outcome& o) { return has(o.rewrites, "new output"); }},
      {"rewrite_message",
       AGENTD_EVENT_USER_MESSAGE_SEND,
       {},
       R"({"message":"new message"})",
       [](const Outcome& o) { return has(o.rewrites, "new message"); }},
      {"context",
       AGENTD_EVENT_USER_MESSAGE_SEND,
       {{Kind::kClaude, {"UserPromptSubmit", specific("UserPromptSubmit", R"("additionalContext":"more context")")}},
        {Kind::kDocker, {"user_prompt_submit", docker("user_prompt_submit", R"("additional_context":"more context")")}},
        {Kind::kGemini, {"BeforeAgent", specific("BeforeAgent", R"("additionalContext":"more context")")}}},
       R"({"additional_context":"more context"})",
       [](const Outcome& o) { return has(o.contexts, "more context"); }},
      {"notice",
       AGENTD_EVENT_BEFORE_TOOL_CALL,
       {{Kind::kClaude, {"PreToolUse", R"({"systemMessage":"a notice"})"}},
        {Kind::kDocker, {"pre_tool_use", R"({"system_message":"a notice"})"}},
        {Kind::kGemini, {"BeforeTool", R"({"systemMessage":"a notice"})"}}},
       R"({"system_message":"a notice"})",
       [](const Outcome& o) { return has(o.notices, "a notice"); }},
      {"continue",
       AGENTD_EVENT_AGENT_STOP,
       {{Kind::kKodelet, {"agent_stop", R"({"follow_up_messages":["go on"]})"}},
        {Kind::kClaude, {"Stop", R"({"decision":"block","reason":"go on"})"}},
        {Kind::kGemini, {"AfterAgent", R"({"decision":"deny","reason":"go on"})"}}},
       R"({"action":"continue","messages":["go on"]})",
       [](const Outcome& o) { return has(o.continues, "go on"); }},
      {"compact",
       AGENTD_EVENT_AGENT_STOP,
       {{Kind::kKodelet, {"agent_stop", R"({"action":"compact"})"}}},
       R"({"action":"compact"})",
       [](const Outcome& o) { return exclusive(o, AGENTD_ACT_COMPACT); }},
      {"summary",
       AGENTD_EVENT_BEFORE_COMPACTION,
       {{Kind::kDocker, {"before_compaction", docker("before_compaction", R"("summary":"the summary")")}}},
       R"({"action":"summary","summary":"the summary"})",
       [](const Outcome& o) {
         return exclusive(o, AGENTD_ACT_SUMMARY) && o.exclusive_action()->text == "the summary";
       }},
      {"instructions",
       AGENTD_EVENT_BEFORE_COMPACTION,
       {{Kind::kClaude, {"PreCompact", "keep the paths"}}},
       R"({"custom_instructions":"keep the paths"})",
       [](const Outcome& o) {
         const Action* const set = o.set_of(AGENTD_KEY_CUSTOM_INSTRUCTIONS);
         return set != nullptr && set->text.find("keep the paths") != std::string::npos;
       }},
      {"replace",
       AGENTD_EVENT_AGENT_STOP,
       {{Kind::kKodelet,
         {"agent_stop", R"({"action":"replace","replace_messages":[{"role":"user","content":"all"}]})"}}},
       R"({"action":"replace","replace_messages":[{"role":"user","content":"all"}]})",
       [](const Outcome& o) { return exclusive(o, AGENTD_ACT_REPLACE_MESSAGES); }},
      {"callback",
       AGENTD_EVENT_AGENT_STOP,
       {},
       R"({"action":"callback","callback":{"recipe":"notes"}})",
       [](const Outcome& o) { return exclusive(o, AGENTD_ACT_CALLBACK) && o.exclusive_action()->text == "notes"; }},
      {"disable_tool",
       AGENTD_EVENT_BEFORE_MODEL_CALL,
       {},
       R"({"tools":{"disable":["bash"]}})",
       [](const Outcome& o) { return !o.others.empty(); }},
  };
}

bool is_dialect(Kind kind) {
  return kind == Kind::kKodelet || kind == Kind::kClaude || kind == Kind::kDocker || kind == Kind::kGemini;
}

std::optional<Wording> wording(Kind kind, const ActionCase& action) {
  if (is_dialect(kind)) {
    const auto found = action.wordings.find(kind);
    if (found == action.wordings.end()) return std::nullopt;
    return found->second;
  }
  if (is_module(kind) && std::string_view(action.name) == "replace") return std::nullopt;
  return Wording{std::string(find_event(action.event)->name), action.canonical, 0};
}

// ---- a hook of each kind

std::string shell_quoted(const std::string& text) { return "'" + text + "'"; }

std::string json_text(std::string_view text) {
  JsonWriter out;
  out.string(text);
  return std::string(out.text());
}

class Cell {
 public:
  Cell(Kind kind, Wording said, const ActionCase& action, Role role, std::string behaviour)
      : kind_(kind),
        said_(std::move(said)),
        action_(action),
        role_(role),
        behaviour_(std::move(behaviour)),
        server_([this](const testing::RecordedRequest&) { return reply(); }) {
    ::mkdir(hooks().c_str(), 0700);
    write_hook();
  }

  std::unique_ptr<Outcome> fire() {
    load();
    Dispatcher dispatcher(clock_);
    dispatcher.publish(subscriptions());
    std::unique_ptr<Outcome> outcome;
    std::thread other;
    if (behaviour_ == "busy") {
      other = std::thread([&] { (void)ask(dispatcher, Milliseconds(20'000)); });
      std::this_thread::sleep_for(Milliseconds(50));
    }
    std::thread([&] { outcome = ask(dispatcher, deadline()); }).join();
    if (other.joinable()) other.join();
    dispatcher.publish({});
    return outcome ? std::move(outcome) : std::make_unique<Outcome>();
  }

  std::string problems() const {
    std::string out;
    for (const HookProblem& each : host_->problems()) out += each.message + "\n";
    return out;
  }
  std::size_t subscribed() const {
    std::size_t out = 0;
    for (const Subscription& each : host_->subscriptions()) out += each.event == action_.event;
    return out;
  }
  // Whether anything of the hook ran: its program, or a request to its server.
  bool was_begun() const { return std::filesystem::exists(temp_.file("begun")) || !server_.requests().empty(); }

 private:
  std::string hooks() const { return temp_.file("hooks"); }
  Milliseconds deadline() const {
    if (behaviour_ == "no_time") return Milliseconds(0);
    return Milliseconds(behaviour_ == "timeout" || behaviour_ == "busy" ? 150 : 20'000);
  }
  // A hook with a time of its own always has that: without time is who shares the event's.
  std::vector<Subscription> subscriptions() const {
    std::vector<Subscription> out = host_->subscriptions();
    if (recipe_)
      for (Subscription& each : recipe_->subscriptions()) out.push_back(std::move(each));
    for (Subscription& each : out)
      if (behaviour_ == "no_time") each.timeout.reset();
    return out;
  }
  std::unique_ptr<Outcome> ask(const Dispatcher& dispatcher, Milliseconds time) {
    auto record = PayloadRecord::from_json(payload());
    EXPECT_TRUE(record) << record.error().message;
    const SlotLease slot(tokens_);
    Dispatch event;
    event.event = action_.event;
    event.envelope = record->envelope();
    event.payload = record->payload();
    event.deadline_ns = Deadline::after(clock_, time).at_ns;
    event.context = &*record;
    event.rewrite = [](void* me, std::uint32_t target, std::string_view text) {
      EXPECT_TRUE(static_cast<PayloadRecord*>(me)->rewrite(target, text));
    };
    event.slots = &tokens_;
    return dispatch(*dispatcher.pin(), *slot, event);
  }

  std::string payload() const {
    const std::string head = "{\"event\":\"" + std::string(find_event(action_.event)->name) +
                             "\",\"conv_id\":\"01JZ0000000000000000000000\",\"cwd\":" + json_text(temp_.path());
    switch (action_.event) {
      case AGENTD_EVENT_BEFORE_TOOL_CALL:
      case AGENTD_EVENT_PERMISSION_REQUEST:
        return head + R"(,"tool":{"name":"bash","call_id":"c1","input":{"command":"ls"},"origin":"t"}})";
      case AGENTD_EVENT_AFTER_TOOL_CALL:
        return head + R"(,"tool":{"name":"bash","call_id":"c1","input":{"command":"ls"},"origin":"t"},)"
                      R"("output":{"content":"old","success":true,"error":""}})";
      case AGENTD_EVENT_USER_MESSAGE_SEND:
        return head + R"(,"message":"hello"})";
      default:
        return head + "}";
    }
  }

  // What the hook writes in this cell.
  std::string bytes() const {
    if (behaviour_ == "garbage") return "{{{ not json";
    if (behaviour_ == "huge") return said_.answer + std::string(2'000'000, ' ') + "x";
    if (behaviour_ == "utf8") return "{\"system_message\":\"\xff\xfe\"}";
    if (behaviour_ == "nul") return said_.answer + std::string(1, '\0') + "x";
    return said_.answer;
  }

  Reply reply() const {
    if (behaviour_ == "timeout") return Reply().stall();
    return Reply::http(behaviour_ == "crash" ? 500 : behaviour_ == "status" ? 404 : 200, {}, bytes());
  }

  std::string role_keys() const {
    if (role_ == Role::kGuard) return "guard: true\n";
    return role_ == Role::kObserver ? "observe: true\n" : "";
  }
  // Of a hook that cannot start there is no such program.
  std::string or_none(const std::string& command) const {
    return behaviour_ == "cannot_start" ? temp_.file("no_such_program") : command;
  }

  std::string program() {
    temp_.write("answer", bytes());
    std::string text = "echo > " + shell_quoted(temp_.file("begun")) + "\ncat > /dev/null\n";
    text += "cat " + shell_quoted(temp_.file("answer")) + "\n";
    if (behaviour_ == "crash") text += "kill -SEGV $$\n";
    if (behaviour_ == "timeout") text += "sleep 30\n";
    return text + "exit " + std::to_string(behaviour_ == "status" ? 77 : said_.code) + "\n";
  }

  void put(const std::string& file, const std::string& text, unsigned mode) {
    temp_.write(file, text);
    ::chmod(temp_.file(file).c_str(), mode);
  }

  void write_hook() {
    const std::string event(said_.event);
    const std::string script = or_none(temp_.file("script.sh"));
    // Another file that has the same name and comes first.
    if (behaviour_ == "namesake")
      put("hooks/hook", "#!/bin/sh\nif [ \"$1\" = hook ]; then echo turn_start; fi\n", 0755);
    switch (kind_) {
      case Kind::kNative:
      case Kind::kWorker:
        std::filesystem::copy_file(AGENTD_ANSWERS_HOOK, hooks() + "/hook.so");
        ::chmod((hooks() + "/hook.so").c_str(), 0644);
        break;
      case Kind::kExecutable:
        put("hooks/hook",
            std::string(behaviour_ == "cannot_start" ? "#!/no/such/sh" : "#!/bin/sh") +
                "\nif [ \"$1\" = hook ]; then echo " + event + "; exit; fi\n" + program(),
            0755);
        break;
      case Kind::kKodelet:
        put("script.sh", "#!/bin/sh\n" + program(), 0755);
        put("hooks/hook.yaml", "on: " + event + "\ndialect: kodelet\ncommand: [" + script + ", run]\n" + role_keys(),
            0644);
        break;
      case Kind::kClaude:
      case Kind::kGemini:
        put("script.sh", "#!/bin/sh\n" + program(), 0755);
        put("settings.json",
            "{\"hooks\":{\"" + event + "\":[{\"hooks\":[{\"type\":\"command\",\"command\":" + json_text(script) +
                "}]}]}}",
            0644);
        break;
      case Kind::kDocker: {
        put("script.sh", "#!/bin/sh\n" + program(), 0755);
        const bool grouped = event.find("tool") != std::string::npos || event == "permission_request";
        const std::string handler = "{type: command, command: " + json_text(script) + "}";
        put("agent.yaml",
            "hooks:\n  " + event + ":\n    - " + (grouped ? "{matcher: \"*\", hooks: [" + handler + "]}" : handler) +
                "\n",
            0644);
        break;
      }
      case Kind::kYaml:
        put("hooks/hook.yaml", "on: " + event + "\ndo: " + said_.answer + "\n" + role_keys(), 0644);
        break;
      case Kind::kCommand:
        put("hooks/hook.yaml", "on: " + event + "\ncommand: " + json_text(or_none(program())) + "\n" + role_keys(),
            0644);
        break;
      case Kind::kWebhook:
        put("hooks/hook.yaml",
            "on: " + event + "\nurl: " + (behaviour_ == "cannot_start" ? "http://127.0.0.1:1" : server_.url()) +
                "/hook\n" + role_keys(),
            0644);
        break;
      case Kind::kRecipe:
        break;
    }
  }

  HookHostOptions options() const {
    HookHostOptions out;
    out.native.directories = {{hooks(), Precedence::kUser}};
    out.native.private_copy_directory = temp_.file("copies");
    out.native.isolation = kind_ == Kind::kWorker ? Isolation::kProcess : Isolation::kInProcess;
    out.native.worker.program = AGENTD_HOOK_WORKER;
    out.trust_file = temp_.file("trust.json");
    out.project_root = temp_.path();
    if (kind_ == Kind::kClaude) out.adapted = {{temp_.file("settings.json"), Dialect::kClaude}};
    if (kind_ == Kind::kGemini) out.adapted = {{temp_.file("settings.json"), Dialect::kGemini}};
    if (kind_ == Kind::kDocker) out.adapted = {{temp_.file("agent.yaml"), Dialect::kDocker}};
    PluginConfig native;
    native.config_json = "{\"action\":\"" + std::string(action_.name) + "\",\"behaviour\":\"" + behaviour_ + "\"}";
    if (sets_policy()) native.on_failure = policy();
    out.native.plugins["hook"] = native;
    return out;
  }
  bool sets_policy() const { return role_ == Role::kOpen || role_ == Role::kClosed; }
  FailurePolicy policy() const { return role_ == Role::kClosed ? FailurePolicy::kClosed : FailurePolicy::kOpen; }

  ExternalEnvironment environment() {
    return {tokens_,
            services_,
            clock_,
            log_,
            [this]() -> HttpClient& {
              if (!http_) http_ = make_http_client(clock_);
              return *http_;
            },
            [](const std::string&) { return std::optional<std::string>(); },
            {},
            temp_.path(),
            temp_.file("transcripts")};
  }

  // Loaded once to learn the names, and again with the failure policy that the user's config would
  // give.
  void load() {
    HookHostOptions with = options();
    host_ = std::make_unique<HookHost>(options(), environment());
    host_->load_all();
    for (const HookDefinition* hook : host_->externals().definitions()) {
      if (sets_policy()) with.settings[hook->name].on_failure = policy();
      with.settings[hook->name].timeout = deadline();  // some dialects have a default of their own
    }
    // A file that does not load has no names but its own.
    if (sets_policy()) with.settings["hook"].on_failure = policy();
    host_ = std::make_unique<HookHost>(with, environment());
    host_->load_all();
    if (kind_ == Kind::kRecipe) load_recipe();
  }

  void load_recipe() {
    const std::string says = role_ == Role::kObserver ? "hooks:\n  after_tool_call: {handler: log_tool_usage}\n"
                             : role_ == Role::kOpen   ? "hooks:\n  after_tool_call: {handler: validate_tool_output, "
                                                        "params: {schema: {type: object}}}\n"
                                                      : "allowed_commands: [git *]\n";
    const auto recipe = parse_recipe("---\nname: r\n" + says + "---\nDo it.\n", "r.md");
    ASSERT_TRUE(recipe) << recipe.error().message;
    // A handler that crashes has lost its call.
    const auto slot = [this](agentd_token token) { return behaviour_ == "crash" ? nullptr : tokens_.find(token); };
    auto made = RecipeHandlers::make(
        *recipe, {services_, log_, clock_, [](const std::string&, std::string_view) { return Result<void>(); }, slot});
    ASSERT_TRUE(made) << made.error().message;
    recipe_ = std::move(*made);
  }

  const Kind kind_;
  const Wording said_;
  const ActionCase& action_;
  const Role role_;
  const std::string behaviour_;
  TempDir temp_;
  LoopbackServer server_;
  SystemClock clock_;
  RecordingLog log_;
  UnavailableServices services_;
  TokenTable tokens_;
  std::unique_ptr<HttpClient> http_;
  std::unique_ptr<HookHost> host_;
  std::unique_ptr<RecipeHandlers> recipe_;
};

// A declarative action runs nothing: it can only be right. A module in this process that sends text
// of 2 MB, with odd bytes, has said something legal.
bool can_fail(Kind kind, std::string_view behaviour) {
  if (kind == Kind::kYaml) return false;
  if (!is_module(kind)) return true;
  return behaviour == "crash" || behaviour == "timeout" || behaviour == "garbage" || behaviour == "status";
}

std::string describe(const Outcome& outcome) {
  std::string out = outcome.blocked ? "blocked: " + outcome.reason : "not blocked";
  for (const auto& each : outcome.failures) out += "; failure of " + each.by.hook + ": " + each.text;
  for (const auto& each : outcome.notices) out += "; notice " + each.action.text;
  for (const auto& each : outcome.contexts) out += "; context " + each.action.text;
  return out;
}

// Claude Code and Gemini CLI heed what a hook refuses whatever its exit code is, and so does agentd; a guard has failed
// all the same.
bool refusal_stands(Kind kind, std::string_view behaviour, const ActionCase& action) {
  constexpr std::string_view kRefusals[] = {"block", "stop_run", "ask", "continue", "rewrite_output"};
  return (kind == Kind::kClaude || kind == Kind::kGemini) && behaviour == "status" &&
         std::find(std::begin(kRefusals), std::end(kRefusals), action.name) != std::end(kRefusals);
}

// Prints, when all tests are over, how many cells of each kind and behaviour are right.
class Table final : public ::testing::Environment {
  struct Count {
    int right = 0, all = 0;
  };

 public:
  // A cell is right when nothing fails while this lives.
  class Cell {
   public:
    Cell(Table& table, Kind kind, const std::string& behaviour)
        : count_(table.rows_[kKindNames[static_cast<int>(kind)]][behaviour]), failures_(failures()) {
      ++count_.all;
    }
    ~Cell() {
      if (failures() == failures_) ++count_.right;
    }
    Cell(const Cell&) = delete;
    Cell& operator=(const Cell&) = delete;

   private:
    static int failures() {
      const ::testing::TestResult& result = *::testing::UnitTest::GetInstance()->current_test_info()->result();
      int out = 0;
      for (int i = 0; i < result.total_part_count(); ++i) out += result.GetTestPartResult(i).failed();
      return out;
    }
    Count& count_;
    const int failures_;
  };

  void TearDown() override {
    for (const auto& [kind, behaviours] : rows_) {
      std::printf("matrix: %-10s", kind.c_str());
      for (const auto& [behaviour, count] : behaviours)
        std::printf("  %s %d/%d", behaviour.c_str(), count.right, count.all);
      std::printf("\n");
    }
  }

 private:
  std::map<std::string, std::map<std::string, Count>> rows_;
};
Table& table() {
  static auto* const made = static_cast<Table*>(::testing::AddGlobalTestEnvironment(new Table));
  return *made;
}
[[maybe_unused]] const Table& kTable = table();  // before the tests begin

class HookMatrix : public ::testing::TestWithParam<Kind> {};

TEST_P(HookMatrix, EveryActionInEveryBehaviourFailsAsItsPolicySays) {
  const Kind kind = GetParam();
  const std::vector<ActionCase> actions = action_cases();
  int cells = 0;
  for (const ActionCase& action : actions) {
    const auto said = wording(kind, action);
    if (!said) continue;
    for (const bool closed : {false, true}) {
      for (const char* const behaviour : kBehaviours) {
        const bool broken = std::string_view(behaviour) != "ok";
        if (broken && !can_fail(kind, behaviour)) continue;
        SCOPED_TRACE(std::string(kKindNames[static_cast<int>(kind)]) + " " + action.name + " " +
                     (closed ? "closed " : "open ") + behaviour);
        const Table::Cell counted(table(), kind, behaviour);
        Cell cell(kind, *said, action, closed ? Role::kClosed : Role::kOpen, behaviour);
        const auto outcome = cell.fire();
        ++cells;
        ASSERT_EQ(cell.subscribed(), 1u) << cell.problems();
        if (!broken) {
          EXPECT_TRUE(action.seen(*outcome)) << describe(*outcome);
          EXPECT_TRUE(outcome->failures.empty()) << describe(*outcome);
          continue;
        }
        if (!closed && refusal_stands(kind, behaviour, action)) {
          EXPECT_TRUE(action.seen(*outcome)) << describe(*outcome);
          EXPECT_TRUE(outcome->failures.empty()) << describe(*outcome);
          continue;
        }
        // Whatever else it wrote before it broke is not an answer.
        const bool guards = closed && find_event(action.event)->blocking;
        EXPECT_EQ(outcome->blocked, guards) << describe(*outcome);
        EXPECT_EQ(outcome->blocked_by_failure, guards);
        ASSERT_EQ(outcome->failures.size(), 1u) << describe(*outcome);
        EXPECT_TRUE(is_module(kind) || !outcome->failures[0].text.empty());
        if (std::string_view(behaviour) == "timeout") {
          EXPECT_EQ(outcome->failures[0].status, AGENTD_E_DEADLINE);
        }
        // What a guard could not look at is seen by nobody, whatever kind of hook it is.
        if (action.event == AGENTD_EVENT_AFTER_TOOL_CALL) {
          EXPECT_EQ(outcome->withheld, closed) << describe(*outcome);
          EXPECT_EQ(has(outcome->rewrites, "[withheld: the hook "), closed);
        }
        if (!guards) {
          EXPECT_FALSE(action.seen(*outcome)) << describe(*outcome);
        }
      }
    }
  }
  RecordProperty("cells", cells);
  EXPECT_GE(cells, 20);
}

// ---- who did not agree has not agreed

// "no_time": its turn comes when the deadline has passed; "busy": it passes while its module is
// busy.
constexpr const char* kReasons[] = {"timeout", "crash", "status",   "garbage",
                                    "no_time", "busy",  "namesake", "cannot_start"};

bool is_yaml_file(Kind kind) {
  return kind == Kind::kKodelet || kind == Kind::kYaml || kind == Kind::kCommand || kind == Kind::kWebhook;
}

// Whether a hook of the kind can be kept from answering in this way.
bool can_be(Kind kind, std::string_view reason) {
  if (reason == "no_time") return true;
  if (reason == "busy") return is_module(kind);         // the others have no queue
  if (reason == "namesake") return is_yaml_file(kind);  // what is adapted has names of its own
  // A recipe's handlers are functions of agentd that wait for nobody.
  if (kind == Kind::kRecipe) return reason == "crash";
  return kind != Kind::kYaml;  // an answer that is written down cannot fail
}

bool can_play(Kind kind, Role role) {
  // Its gate fails closed and the others open, whatever the user says.
  if (kind == Kind::kRecipe) return role != Role::kGuard && role != Role::kClosed;
  if (role == Role::kGuard) return is_yaml_file(kind);
  return role != Role::kObserver || (is_yaml_file(kind) && kind != Kind::kYaml);
}

// What a hook that is asked would do: block, where it stands before something.
const ActionCase& action_of(Kind kind, Role role, const std::vector<ActionCase>& actions) {
  const bool after = kind == Kind::kRecipe && role != Role::kDefault;
  const auto found = std::find_if(actions.begin(), actions.end(), [&](const ActionCase& each) {
    return std::string_view(each.name) == (after ? "rewrite_output" : "block");
  });
  return *found;
}

class HookAgreement : public ::testing::TestWithParam<Kind> {};

TEST_P(HookAgreement, WhoDidNotAgreeHasNotAgreed) {
  const Kind kind = GetParam();
  const std::vector<ActionCase> actions = action_cases();
  for (const char* const reason : kReasons) {
    if (!can_be(kind, reason)) continue;
    for (const Role role : kRoles) {
      if (!can_play(kind, role)) continue;
      SCOPED_TRACE(std::string(kKindNames[static_cast<int>(kind)]) + " " + reason + " " +
                   kRoleNames[static_cast<int>(role)]);
      const ActionCase& action = action_of(kind, role, actions);
      const auto said = wording(kind, action);
      ASSERT_TRUE(said);
      const Table::Cell counted(table(), kind, reason);
      Cell cell(kind, *said, action, role, reason);
      const auto outcome = cell.fire();
      const bool effect = !outcome->blocked;
      // docker-agent itself takes a pre_tool_use hook that says nothing of it for a guard, and the
      // gate of a recipe is one.
      const bool guards = role == Role::kClosed || role == Role::kGuard ||
                          (role == Role::kDefault && (kind == Kind::kDocker || kind == Kind::kRecipe));
      if (!guards && refusal_stands(kind, reason, action)) {
        EXPECT_TRUE(outcome->blocked && !outcome->blocked_by_failure) << describe(*outcome);
        continue;
      }
      EXPECT_EQ(effect, !guards) << describe(*outcome) << "\n" << cell.problems();
      // It is never taken for the hook's own word, and never silent.
      EXPECT_EQ(outcome->blocked, outcome->blocked_by_failure) << describe(*outcome);
      EXPECT_TRUE(outcome->rewrites.empty()) << describe(*outcome);
      EXPECT_TRUE(!outcome->failures.empty() || !cell.problems().empty());
      if (std::string_view(reason) != "no_time") continue;
      // It is decided in one place, before anything of the hook runs.
      ASSERT_EQ(outcome->failures.size(), 1u) << describe(*outcome);
      EXPECT_EQ(outcome->failures[0].status, AGENTD_E_DEADLINE);
      EXPECT_EQ(outcome->failures[0].text, "no time was left to call it");
      EXPECT_FALSE(cell.was_begun());
    }
  }
}

constexpr auto kind_name = [](const auto& each) { return std::string(kKindNames[static_cast<int>(each.param)]); };
INSTANTIATE_TEST_SUITE_P(Kinds, HookMatrix, ::testing::ValuesIn(kKinds), kind_name);
INSTANTIATE_TEST_SUITE_P(Kinds, HookAgreement, ::testing::ValuesIn(kKinds), kind_name);
INSTANTIATE_TEST_SUITE_P(Recipes, HookAgreement, ::testing::Values(Kind::kRecipe), kind_name);

}  // namespace
}  // namespace agentd
