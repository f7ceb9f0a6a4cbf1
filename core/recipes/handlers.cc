// SPDX-License-Identifier: Apache-2.0
#include "core/recipes/handlers.h"

#include <algorithm>
#include <map>

#include "core/base/bytes.h"
#include "core/base/mutex.h"
#include "core/codec/json.h"
#include "core/codec/schema.h"
#include "core/recipes/commands.h"

namespace agentd {
namespace {

constexpr std::string_view kPluginId = "agentd.recipes";
constexpr std::string_view kOncePrefix = "once/";
constexpr std::int16_t kFirst = 30'000;  // before every other hook
constexpr std::uint32_t kRowsAtOnce = 1'000;
constexpr std::uint32_t kRowsMax = 100'000;

// The event where the handler acts for the recipe's event.
std::uint32_t event_of(const RecipeHook& hook) {
  const bool at_stop = hook.handler == RecipeHandler::kSwapContext || hook.handler == RecipeHandler::kExportMarkdown ||
                       hook.handler == RecipeHandler::kValidateOutput;
  return at_stop ? std::uint32_t{AGENTD_EVENT_AGENT_STOP} : hook.event;
}

std::string stem_of(const Recipe& recipe) {
  if (!recipe.name.empty()) return recipe.name;
  std::string name = recipe.path.substr(recipe.path.rfind('/') + 1);
  if (name.ends_with(".md")) name.resize(name.size() - 3);
  return name;
}

// Why an answer with that end is not a summary; empty when it may be one.
std::string_view why_no_summary(std::uint32_t stop_reason, std::string_view answer) {
  if (stop_reason == AGENTD_STOP_REFUSAL) return "the model declined to answer";
  if (stop_reason == AGENTD_STOP_MAX_TOKENS || stop_reason == AGENTD_STOP_CONTEXT_LENGTH ||
      stop_reason == AGENTD_STOP_INTERRUPTED)
    return "the answer was cut short";
  return is_blank(answer) ? "the answer is empty" : "";
}

// The JSON of an answer: all of it, or the content of its only fence of backticks.
std::string_view json_of(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  text = text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
  const std::size_t line = text.find('\n');
  if (!text.starts_with("```") || !text.ends_with("```") || line == std::string_view::npos || text.size() < line + 4)
    return text;
  return text.substr(line + 1, text.size() - line - 4);
}

// How the text breaks the schema; empty when it matches.
std::string mistake_in(std::string_view text, const JsonSchema& schema, std::string_view what) {
  const auto parsed = JsonDocument::parse(json_of(text));
  if (!parsed) return std::string(what) + " is not JSON: " + parsed.error().message;
  const auto checked = schema.check(parsed->root());
  return checked ? std::string() : std::string(what) + " breaks the schema: " + checked.error().message;
}

}  // namespace

struct RecipeHandlers::State {
  // The state of one run.
  struct Run {
    std::string id;
    std::uint32_t corrections = 0;
    std::vector<const void*> done;     // handlers with once: run
    std::uint64_t wrong_revision = 0;  // of the stop at which the answer was sent back or given up
    std::string failure;
  };

  struct Handler {
    State* state = nullptr;
    RecipeHook hook;
    std::string name;
    std::optional<JsonSchema> schema;
    std::int16_t priority = 0;
  };

  // One call of one handler.
  struct Asked {
    const Handler& handler;
    const agentd_call& call;
    CallSlot& slot;

    const RecipeHook& hook() const { return handler.hook; }
    template <typename Payload>
    const Payload& payload() const {
      return *static_cast<const Payload*>(call.payload);
    }
    std::string conversation() const { return std::string(view_of(call.envelope->conversation_id)); }
    agentd_status emit(Action action) const {
      slot.emit(call.token, std::move(action));
      return AGENTD_OK;
    }
    agentd_status emit_text(std::uint32_t kind, std::string text) const {
      Action action;
      action.kind = kind;
      action.text = std::move(text);
      return emit(std::move(action));
    }
    agentd_status fail(agentd_status status, std::string what) const {
      slot.fail(call.token, status, std::move(what));
      return status;
    }
  };

  explicit State(HandlerHost from) : host(std::move(from)) {}

  static agentd_status AGENTD_CALL enter(void* self, const agentd_call* call) noexcept {
    const auto& handler = *static_cast<const Handler*>(self);
    CallSlot* const slot = handler.state->host.slot(call->token);
    if (slot == nullptr) return AGENTD_E_NOT_FOUND;
    if (call->envelope == nullptr || call->payload == nullptr) return AGENTD_E_ARG;
    return handler.state->ask({handler, *call, *slot});
  }

  // The gate of allowed_commands.
  static agentd_status AGENTD_CALL gate(void* self, const agentd_call* call) noexcept {
    auto& state = *static_cast<State*>(self);
    CallSlot* const slot = state.host.slot(call->token);
    if (slot == nullptr) return AGENTD_E_NOT_FOUND;
    if (call->envelope == nullptr || call->payload == nullptr) return AGENTD_E_ARG;
    return state.judge_command(*call, *slot);
  }
  agentd_status judge_command(const agentd_call& call, CallSlot& slot) const;

  agentd_status ask(const Asked& asked);
  agentd_status act(const Asked& asked);
  bool is_due(const Asked& asked);
  bool is_refused(const Asked& asked);  // the answer at this stop
  void mark_done(const Asked& asked);
  Run& run_of(const Asked& asked) REQUIRES(mutex);  // REQUIRES: mutex held
  ServiceCaller caller(const Asked& asked) const;
  std::string once_key(const Asked& asked) const;

  agentd_status swap_context(const Asked& asked);
  agentd_status append_context(const Asked& asked);
  agentd_status export_markdown(const Asked& asked);
  agentd_status validate_output(const Asked& asked);
  agentd_status log_tool_usage(const Asked& asked);
  agentd_status validate_tool_output(const Asked& asked);
  Result<Rows> history(const Asked& asked);

  const HandlerHost host;
  std::string recipe;
  bool restricts_commands = false, grants_commands = false;
  std::vector<std::string> allowed_commands;
  std::vector<std::unique_ptr<Handler>> handlers;
  mutable Mutex mutex;
  std::map<std::string, Run> runs GUARDED_BY(mutex);  // by conversation
  std::string newest GUARDED_BY(mutex);               // the conversation that ran last
};

ServiceCaller RecipeHandlers::State::caller(const Asked& asked) const {
  return {kPluginId, asked.call.conversation, asked.call.event, asked.slot.cancel_token(),
          Deadline{asked.call.live->deadline_ns}};
}

std::string RecipeHandlers::State::once_key(const Asked& asked) const {
  return std::string(kOncePrefix) + asked.conversation() + "/" + asked.handler.name;
}

RecipeHandlers::State::Run& RecipeHandlers::State::run_of(const Asked& asked) {
  newest = asked.conversation();
  Run& run = runs[newest];
  if (run.id != view_of(asked.call.envelope->run_id)) {
    run = Run{};
    run.id = view_of(asked.call.envelope->run_id);
  }
  return run;
}

bool RecipeHandlers::State::is_due(const Asked& asked) {
  // turn_end without FINAL is inside a run.
  if (asked.call.event == AGENTD_EVENT_TURN_END && (asked.payload<agentd_turn>().flags & AGENTD_TURN_FINAL) == 0)
    return false;
  const std::string_view said = view_of(asked.call.envelope->recipe);
  if (!said.empty() && said != recipe) return false;  // the run of another recipe
  if (is_refused(asked)) return false;
  {
    const MutexLock lock(mutex);
    const Run& run = run_of(asked);
    if (asked.hook().once == RecipeOnce::kRun &&
        std::find(run.done.begin(), run.done.end(), &asked.handler) != run.done.end())
      return false;
  }
  if (asked.hook().once != RecipeOnce::kConversation) return true;
  const auto kept = host.services.get(caller(asked), once_key(asked));
  if (!kept && kept.error().code != Code::kNotFound)
    host.log.write(
        LogLevel::kWarning, "recipes",
        asked.handler.name + " runs, because the store cannot say whether it already did: " + kept.error().message);
  return !kept;
}

bool RecipeHandlers::State::is_refused(const Asked& asked) {
  const MutexLock lock(mutex);
  const std::uint64_t revision = run_of(asked).wrong_revision;
  return asked.call.event == AGENTD_EVENT_AGENT_STOP && revision != 0 && revision == asked.call.envelope->revision;
}

void RecipeHandlers::State::mark_done(const Asked& asked) {
  if (asked.hook().once == RecipeOnce::kAlways) return;
  if (asked.hook().once == RecipeOnce::kRun) {
    const MutexLock lock(mutex);
    run_of(asked).done.push_back(&asked.handler);
    return;
  }
  PluginKeyOp op;
  op.key = once_key(asked);
  op.value = "1";
  const auto kept = host.services.commit(caller(asked), std::span(&op, 1));
  if (!kept)
    host.log.write(LogLevel::kWarning, "recipes",
                   "the run of " + asked.handler.name + " could not be recorded: " + kept.error().message);
}

agentd_status RecipeHandlers::State::ask(const Asked& asked) {
  if (!is_due(asked)) return AGENTD_OK;
  const agentd_status status = act(asked);
  // An answer that was sent back does not count yet.
  if (status == AGENTD_OK && !is_refused(asked)) mark_done(asked);
  return status;
}

agentd_status RecipeHandlers::State::act(const Asked& asked) {
  switch (asked.hook().handler) {
    case RecipeHandler::kSwapContext:
      return swap_context(asked);
    case RecipeHandler::kAppendContext:
      return append_context(asked);
    case RecipeHandler::kExportMarkdown:
      return export_markdown(asked);
    case RecipeHandler::kValidateOutput:
      return validate_output(asked);
    case RecipeHandler::kLogToolUsage:
      return log_tool_usage(asked);
    case RecipeHandler::kValidateToolOutput:
      return validate_tool_output(asked);
  }
  return AGENTD_OK;
}

// Allowed commands run without a question, unless the recipe is a repository's; all others are denied.
agentd_status RecipeHandlers::State::judge_command(const agentd_call& call, CallSlot& slot) const {
  const auto& tool = *static_cast<const agentd_tool_call*>(call.payload);
  const std::string_view said = view_of(call.envelope->recipe);
  if (view_of(tool.name) != kShellTool || (!said.empty() && said != recipe)) return AGENTD_OK;
  const std::string why = why_command_refused(allowed_commands, view_of(tool.input_json));
  Action action;
  if (!why.empty()) {
    action.kind = AGENTD_ACT_BLOCK;
    action.text = "the recipe " + recipe + ": " + why;
  } else if (grants_commands) {
    action.kind = AGENTD_ACT_PERMISSION;
    action.code = AGENTD_PERMISSION_ALLOW;
  } else {
    return AGENTD_OK;
  }
  slot.emit(call.token, std::move(action));
  return AGENTD_OK;
}

// ---- the handlers

agentd_status RecipeHandlers::State::swap_context(const Asked& asked) {
  const auto& stop = asked.payload<agentd_agent_stop>();
  const std::string_view answer = view_of(stop.response);
  if (const std::string_view why = why_no_summary(stop.stop_reason, answer); !why.empty())
    return asked.fail(AGENTD_E_ARG, "swap_context: " + std::string(why) + "; the conversation is unchanged");
  Action action;
  action.kind = AGENTD_ACT_REPLACE_MESSAGES;
  action.base_revision = asked.call.envelope->revision;
  ReplacePart part;
  part.literal = Message::of_text(Role::kSummary, std::string(answer));
  action.parts.push_back(std::move(part));
  return asked.emit(std::move(action));
}

agentd_status RecipeHandlers::State::append_context(const Asked& asked) {
  auto text = render_template(asked.hook().text, {{"conversation_id", asked.conversation()}}, "text");
  if (!text) return asked.fail(AGENTD_E_ARG, "append_context: " + text.error().message);
  return is_blank(*text) ? AGENTD_OK : asked.emit_text(AGENTD_ACT_INJECT_CONTEXT, std::move(*text));
}

// The complete history, including messages that a compaction removed from the view.
Result<Rows> RecipeHandlers::State::history(const Asked& asked) {
  Rows all;
  std::uint64_t from = 0;
  while (all.size() < kRowsMax) {
    AGENTD_TRY(const Rows some, host.services.messages(asked.conversation(), AGENTD_SCOPE_LOG,
                                                       asked.call.envelope->revision, from, kRowsAtOnce));
    for (const agentd_message& row : some) all.append_copy(row);
    if (some.size() < kRowsAtOnce) return all;
    from = some[some.size() - 1].seq + 1;
  }
  return all;
}

agentd_status RecipeHandlers::State::export_markdown(const Asked& asked) {
  const auto path = render_template(asked.hook().path, {{"conversation_id", asked.conversation()}}, "path");
  if (!path) return asked.fail(AGENTD_E_ARG, "export_markdown: " + path.error().message);
  const auto rows = history(asked);
  if (!rows) return asked.fail(status_of(rows.error().code), "export_markdown: " + rows.error().message);
  const auto wrote = host.write_file(*path, to_markdown(*rows, "Conversation " + asked.conversation()));
  if (!wrote)
    return asked.fail(status_of(wrote.error().code), "export_markdown: " + *path + ": " + wrote.error().message);
  return AGENTD_OK;
}

agentd_status RecipeHandlers::State::validate_output(const Asked& asked) {
  std::string wrong =
      mistake_in(view_of(asked.payload<agentd_agent_stop>().response), *asked.handler.schema, "the answer");
  std::uint32_t corrections = 0;
  {
    const MutexLock lock(mutex);
    Run& run = run_of(asked);
    run.failure.clear();
    if (wrong.empty()) return AGENTD_OK;
    run.wrong_revision = asked.call.envelope->revision;
    corrections = run.corrections++;
    // Set during corrections too, because the run may end before the next answer.
    run.failure = wrong + (corrections == 0 ? std::string() : ", after " + counted(corrections, "correction"));
  }
  if (corrections >= asked.hook().retries) return asked.fail(AGENTD_E_ARG, "validate_output: " + wrong);
  return asked.emit_text(AGENTD_ACT_CONTINUE, "Your last answer was refused: " + wrong +
                                                  ". Answer again, with nothing but JSON that follows this schema:\n" +
                                                  asked.hook().schema_json);
}

agentd_status RecipeHandlers::State::log_tool_usage(const Asked& asked) {
  const auto& call = asked.payload<agentd_tool_call>();
  if (!asked.hook().tools.empty() &&
      std::find(asked.hook().tools.begin(), asked.hook().tools.end(), view_of(call.name)) == asked.hook().tools.end())
    return AGENTD_OK;
  const EventTraits* const event = find_event(asked.call.event);
  JsonWriter line;
  line.begin_object()
      .member("time_ms", host.clock.wall_ms())
      .member("recipe", recipe)
      .member("event", event->name)
      .member("conversation_id", asked.conversation())
      .member("run_id", view_of(asked.call.envelope->run_id))
      .member("tool", view_of(call.name))
      .member("call_id", view_of(call.call_id))
      .member("origin", view_of(call.origin))
      .member("input_bytes", static_cast<std::uint64_t>(call.input_json.len));
  if (call.result != nullptr)
    line.member("success", call.result->success != 0)
        .member("output_bytes", call.result->full_len)
        .member("duration_ms", call.result->duration_ns / 1'000'000);
  line.end_object();
  host.log.write(LogLevel::kInfo, "recipes", line.text());
  return AGENTD_OK;
}

agentd_status RecipeHandlers::State::validate_tool_output(const Asked& asked) {
  const auto& call = asked.payload<agentd_tool_call>();
  const std::vector<std::string>& tools = asked.hook().tools;
  if (call.result == nullptr ||
      (!tools.empty() && std::find(tools.begin(), tools.end(), view_of(call.name)) == tools.end()))
    return AGENTD_OK;
  const std::string_view output = view_of(call.result->content);
  const std::string wrong =
      mistake_in(output, *asked.handler.schema, "the output of " + std::string(view_of(call.name)));
  if (wrong.empty()) return AGENTD_OK;
  return asked.emit_text(AGENTD_ACT_REPLACE_TEXT,
                         std::string(output) + "\n\n[the recipe " + recipe + " checks this output: " + wrong + "]");
}

// ----

RecipeHandlers::RecipeHandlers(std::unique_ptr<State> state) : state_(std::move(state)) {}
RecipeHandlers::~RecipeHandlers() = default;

Result<std::unique_ptr<RecipeHandlers>> RecipeHandlers::make(const Recipe& recipe, HandlerHost host) {
  auto state = std::make_unique<State>(std::move(host));
  state->recipe = stem_of(recipe);
  state->restricts_commands = recipe.restricts_commands;
  state->grants_commands = recipe.source != RecipeSource::kProject;
  state->allowed_commands = recipe.allowed_commands;
  std::int16_t step = 0;
  for (const RecipeHook& hook : recipe.hooks) {
    auto handler = std::make_unique<State::Handler>();
    handler->state = state.get();
    handler->hook = hook;
    handler->name = "recipe/" + state->recipe + "/" + std::string(name_of(hook.handler));
    const std::int16_t from = hook.before_external ? kFirst : static_cast<std::int16_t>(-kFirst);
    handler->priority = static_cast<std::int16_t>(from - step++);
    if (!hook.schema_json.empty()) {
      AGENTD_TRY(const JsonDocument parsed, JsonDocument::parse(hook.schema_json));
      AGENTD_TRY(JsonSchema schema, JsonSchema::read(parsed.root()));
      handler->schema.emplace(std::move(schema));
    }
    state->handlers.push_back(std::move(handler));
  }
  return std::unique_ptr<RecipeHandlers>(new RecipeHandlers(std::move(state)));
}

std::vector<Subscription> RecipeHandlers::subscriptions() const {
  std::vector<Subscription> out;
  for (const auto& handler : state_->handlers) {
    Subscription one;
    one.event = event_of(handler->hook);
    // It records what the other hooks made of the call.
    if (handler->hook.handler == RecipeHandler::kLogToolUsage) one.flags = AGENTD_HOOK_OBSERVES;
    one.priority = handler->priority;
    one.precedence = Precedence::kRecipe;
    one.concurrency = AGENTD_CONCURRENT;
    one.name = handler->name;
    one.plugin = std::string(kPluginId);
    one.fn = &State::enter;
    one.self = handler.get();
    out.push_back(std::move(one));
  }
  if (state_->restricts_commands) out.push_back(command_gate());
  return out;
}

// After the other hooks, so that it checks the command that will run.
Subscription RecipeHandlers::command_gate() const {
  Subscription out;
  out.event = AGENTD_EVENT_BEFORE_TOOL_CALL;
  out.flags = AGENTD_HOOK_GATES;
  out.priority = -kFirst;
  out.precedence = Precedence::kRecipe;
  out.on_failure = FailurePolicy::kClosed;
  out.concurrency = AGENTD_CONCURRENT;
  out.name = "recipe/" + state_->recipe + "/allowed_commands";
  out.plugin = std::string(kPluginId);
  out.fn = &State::gate;
  out.self = state_.get();
  return out;
}

std::optional<std::string> RecipeHandlers::failure() const {
  const MutexLock lock(state_->mutex);
  const auto run = state_->runs.find(state_->newest);
  if (run == state_->runs.end() || run->second.failure.empty()) return std::nullopt;
  return run->second.failure;
}

}  // namespace agentd
