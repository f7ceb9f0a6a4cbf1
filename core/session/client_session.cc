// SPDX-License-Identifier: Apache-2.0
#include "core/session/client_session.h"

#include "core/base/bytes.h"
#include "core/base/hash.h"
#include "core/codec/json.h"
#include "core/process/commands.h"
#include "core/process/spill.h"
#include "core/session/agent_options.h"
#include "core/workplace/cage_setup.h"

namespace agentd {
namespace {

constexpr std::size_t kToldCommands = 5, kToldBytes = 80;

}  // namespace

ClientSession::ClientSession(Workplace& workplace, OpenRequest request)
    : workplace_(workplace),
      runtime_(workplace.runtime()),
      request_(std::move(request)),
      tools_(workplace, request_.tools, request_.person),
      dispatcher_(runtime_.clock()),
      commands_(request_.commands ? request_.commands : std::make_shared<CommandTable>(runtime_.command_reader())) {}

ClientSession::~ClientSession() {
  end_commands();
  session_.reset();
  agent_.reset();
  dispatcher_.publish({});  // before the handlers that it names go
}

Result<std::unique_ptr<ClientSession>, RunError> ClientSession::prepare(Workplace& workplace, OpenRequest request) {
  std::unique_ptr<ClientSession> out(new ClientSession(workplace, std::move(request)));
  auto options = agent_options(workplace, out->request_);
  if (!options) return RunError{RunError::Kind::kUsage, options.error().message};
  out->roots_ = options->tools_roots;
  // The hooks are loaded with the workplace's own roots, which says what is wrong with them.
  const bool own_roots = out->roots_ != workplace.roots_of(out->request_.cwd);
  if (auto opened = out->open_files(); !opened && own_roots) return opened.error();
  AgentParts parts = out->parts();
  out->agent_ = make_agent(out->runtime_.services(), std::move(parts), std::move(*options));
  return out;
}

AgentParts ClientSession::parts() {
  PermissionRules rules = workplace_.permissions();
  rules.mode = request_.mode.value_or(rules.mode);
  rules.changing = request_.changing_mode;
  for (const std::string& name : request_.allowed) rules.allow.push_back({name, {}, name});
  WorkplaceParts project{workplace_.recipes(), std::move(rules),
                         [this](std::string_view hook) {
                           return hook.starts_with("recipe/") ? "recipe" : workplace_.hooks().kind_of(hook);
                         },
                         &runtime_.recollections()};
  ClientParts client{dispatcher_,
                     tools_,
                     request_.events,
                     request_.approver,
                     request_.trace_hooks,
                     [this] { refresh(); },
                     files_,
                     commands_,
                     [commands = commands_] { return commands->take_refusals(); }};
  return {runtime_.agent_parts(), std::move(project), std::move(client)};
}

Result<void, RunError> ClientSession::open_files() {
  auto opened = workplace_.files(roots_);
  if (!opened) return RunError{RunError::Kind::kFailure, opened.error().message};
  files_ = request_.files ? request_.files(std::move(*opened)) : std::move(*opened);
  return {};
}

// ---- the conversation

Checkpoints ClientSession::checkpoints() const {
  const RuntimeParts parts = runtime_.agent_parts();
  return Checkpoints(
      {parts.store, parts.clock, parts.ids, parts.estimator, parts.models, runtime_.model_settings().budget});
}

std::optional<Checkpoint> ClientSession::offer() const {
  auto found = checkpoints().offer(workplace_.project().id);
  return found ? std::move(*found) : std::nullopt;
}

// No model is asked: a start does not wait for one.
std::optional<Ulid> ClientSession::resume_newest(const CancelToken& cancel) const {
  const std::optional<Checkpoint> newest = offer();
  if (!newest) return std::nullopt;
  const auto tell = [this](const std::string& text) { request_.events.on_event(RunEvent(told::Warning{text})); };
  const auto level = parse_resume_level(runtime_.config().text("lifecycle.resume_level"));
  const auto whole = checkpoints().find(newest->record.id);
  auto resumed = whole && level ? checkpoints().resume(*whole, usual_level(*whole, *level), cancel)
                                : Result<Checkpoints::Resumed>(whole ? level.error() : whole.error());
  if (!resumed) {
    tell("the newest checkpoint was not resumed: " + resumed.error().message);
    return std::nullopt;
  }
  request_.events.on_event(RunEvent(told::Notice{"resumed checkpoint " + newest->record.id + " at the level " +
                                                     std::string(name_of(resumed->level)) +
                                                     (resumed->note.empty() ? "" : "; " + resumed->note),
                                                 {}}));
  const auto id = Ulid::parse(resumed->conversation.id);
  return id ? std::optional<Ulid>(*id) : std::nullopt;
}

Result<void, RunError> ClientSession::open(std::optional<Ulid> conversation, const CancelToken& cancel,
                                           const std::string& first_text) {
  if (request_.offer_tools && cage_is_off(runtime_.config()))
    request_.events.on_event(RunEvent(told::Warning{std::string(kCageOffText)}));
  workplace_.hooks().record_new();
  if (request_.offer_tools) start_servers();
  if (active_ == nullptr) publish();
  if (!conversation && runtime_.saves() && runtime_.config().flag("lifecycle.auto_resume_on_start"))
    conversation = resume_newest(cancel);
  auto session = agent_->open(conversation, cancel, first_text);
  if (!session) return session.error();
  session_ = std::move(*session);
  return {};
}

Result<void, RunError> ClientSession::clear(const CancelToken& cancel) {
  auto fresh = agent_->clear(*session_, cancel);
  if (!fresh && fresh.error().kind != RunError::Kind::kBlocked && fresh.error().kind != RunError::Kind::kCancelled)
    session_.reset();
  if (!fresh) return fresh.error();
  end_commands();
  session_ = std::move(*fresh);
  return {};
}

void ClientSession::start_servers() {
  McpServers& servers = workplace_.mcp_servers();
  servers.start();
  const std::uint64_t now = servers.refresh();
  if (!servers_until_ || servers_seen_ != now) {
    servers.update(tools_.own_servers(), request_.mcp_servers);
    servers_seen_ = now;
    servers_until_ = Deadline::after(runtime_.clock(), Milliseconds(runtime_.config().whole("mcp.start_wait_ms")));
  }
  tell_of_servers();
}

void ClientSession::tell_of_servers() {
  for (const std::string& text : workplace_.mcp_servers().take_warnings())
    request_.events.on_event(RunEvent(told::Warning{text}));
}

bool ClientSession::is_stored() const {
  const auto id = Ulid::parse(session_->conversation_id());
  return id && runtime_.store().info(*id);
}

void ClientSession::end(std::string_view reason) {
  if (!session_) return;
  end_commands();
  const std::string conversation = session_->conversation_id();
  session_->end(reason);
  session_.reset();
  runtime_.receipt_retention().run();
  if (!runtime_.saves()) remove_spilled(runtime_.home(), conversation);
  runtime_.remove_old_spills();
}

void ClientSession::end_commands() {
  const std::vector<CommandState> ended = commands_->end_all();
  if (ended.empty()) return;
  std::string text = ended.size() == 1
                         ? "ended a background command of the session: "
                         : "ended " + std::to_string(ended.size()) + " background commands of the session: ";
  for (std::size_t i = 0; i < ended.size() && i < kToldCommands; ++i)
    text += (i == 0 ? "" : "; ") + one_line(ended[i].command, kToldBytes);
  if (ended.size() > kToldCommands) text += "; ...";
  request_.events.on_event(RunEvent(told::Notice{text, {}}));
}

// ---- the recipe of its runs

Result<void, RunError> ClientSession::use_recipe(const std::string& name, const RecipeValues& values) {
  auto found = workplace_.find_recipe(name, values);
  if (!found) return found.error();
  return use_recipe(std::move(*found), values);
}

// The recipe's own hooks also run when hooks are disabled, since the user has named the recipe.
Result<void, RunError> ClientSession::use_recipe(Recipe recipe, const RecipeValues& values) {
  RecipeHandlers* active = nullptr;
  if (!recipe.hooks.empty() || recipe.restricts_commands) {
    auto handlers = make_handlers(recipe);
    if (!handlers) return handlers.error();
    active = handlers_.emplace_back(std::move(*handlers)).get();
  }
  active_ = active;
  RecipeTools::Limits limits;
  if (recipe.restricts_tools) limits.names = recipe.allowed_tools;
  if (recipe.restricts_commands) limits.commands = recipe.allowed_commands;
  tools_.limit(std::move(limits));
  recipe_ = std::move(recipe);
  recipe_values_ = values;
  publish();
  return {};
}

Result<std::unique_ptr<RecipeHandlers>, RunError> ClientSession::make_handlers(const Recipe& recipe) {
  if (!files_)
    if (auto opened = open_files(); !opened) return opened.error();
  auto handlers = RecipeHandlers::make(
      recipe, {as_services(runtime_.services()), runtime_.log(), runtime_.clock(),
               [this](const std::string& path, std::string_view text) { return files_->write(path, text); },
               [this](agentd_token token) { return runtime_.tokens().find(token); }});
  if (!handlers) return RunError{RunError::Kind::kUsage, handlers.error().message};
  return std::move(*handlers);
}

// A recipe as a wait keeps it: the digest of its file, and the values of the run.
std::string ClientSession::recipe_state() const {
  const auto entry = workplace_.recipes().look(recipe_->name);
  JsonWriter out;
  out.begin_object().member("digest", entry ? hex(sha256(entry->path + '\n' + entry->text)) : std::string());
  out.key("arguments").begin_object();
  for (const auto& [name, value] : recipe_values_) out.member(name, value);
  out.end_object().end_object();
  return std::string(out.text());
}

Result<std::string, RunError> ClientSession::use_recipe_of(const WaitRecord& wait) {
  if (wait.recipe.empty()) return std::string();
  RecipeValues values;
  if (const auto state = JsonDocument::parse(wait.recipe_state)) {
    const JsonView arguments = state->root()["arguments"];
    for (std::size_t i = 0; i < arguments.size(); ++i)
      values.emplace(arguments.key_at(i), arguments.at(i).string_or(""));
  }
  if (auto used = use_recipe(wait.recipe, values); !used) return used.error();
  return recipe_state() == wait.recipe_state ? std::string() : "the recipe " + wait.recipe + " has changed";
}

void ClientSession::drop_recipe() {
  recipe_.reset();
  active_ = nullptr;
  tools_.limit({});
  publish();
}

Result<RunRequest> ClientSession::recipe_run(const std::string& words) const {
  RunRequest out;
  AGENTD_TRY(out.text, render_recipe(*recipe_, recipe_values_, session_->conversation_id()));
  while (out.text.ends_with('\n')) out.text.pop_back();
  out.recipe = recipe_->name;
  out.compaction_run = recipe_->swaps_context();
  // About a summary they are a part of what is asked for, and no message of the user.
  (out.compaction_run ? out.compaction_instructions : out.words) = words;
  if (out.compaction_run && !words.empty()) out.text += "\n\nAdditional instructions: " + words;
  out.subagents = tools_.has("task");
  out.recipe_state = recipe_state();
  return out;
}

std::optional<std::string> ClientSession::recipe_failure() const {
  return active_ != nullptr ? active_->failure() : std::nullopt;
}

// ---- hooks

void ClientSession::publish() {
  seen_ = workplace_.hooks().snapshot();
  if (active_ == nullptr) {
    dispatcher_.share(seen_);
    return;
  }
  std::vector<Subscription> all = workplace_.hooks().subscriptions();
  for (Subscription& each : active_->subscriptions()) all.push_back(std::move(each));
  dispatcher_.publish(std::move(all), runtime_.config().list("hooks.order"));
}

void ClientSession::refresh() {
  workplace_.hooks().refresh();
  if (request_.offer_tools) {
    start_servers();
    workplace_.mcp_servers().wait();
  }
  if (servers_until_) tools_.wait(*servers_until_);
  tell_of_servers();
  if (request_.offer_tools)
    for (const std::string& name : tools_.starting())
      if (slow_servers_.insert(name).second)
        request_.events.on_event(
            RunEvent(told::Warning{"the MCP server " + name + " is still starting; its tools come with a later turn"}));
  if (workplace_.hooks().snapshot() != seen_) publish();
}

}  // namespace agentd
