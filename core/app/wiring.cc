// SPDX-License-Identifier: Apache-2.0
#include "core/app/wiring.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <set>

#include "core/app/exit_codes.h"
#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/bridge/token_table.h"
#include "core/config/permission_setup.h"
#include "core/dialects/known_names.h"
#include "core/host/inventory.h"
#include "core/net/curl_client.h"
#include "core/process/kept_paths.h"
#include "core/process/workspace.h"
#include "core/recipes/commands.h"
#include "core/recipes/handlers.h"
#include "core/recipes/recipes.h"
#include "core/runtime/credentials.h"
#include "core/runtime/model_setup.h"
#include "core/runtime/provider_setup.h"
#include "core/runtime/store_look.h"
#include "core/runtime/version.h"
#include "core/store/lmdb/lmdb_store.h"
#include "core/workplace/hook_names.h"
#include "core/workplace/instructions.h"
#include "core/workplace/recipe_setup.h"
#include "embedded_system_prompt.h"
#include "providers/scripted/scripted.h"

namespace agentd::app {
namespace {

constexpr std::size_t kPrefixMin = 4;
constexpr std::uint64_t kPromptBytesMax = 1u << 20;

Failure usage(const Error& error) { return {kExitUsage, error.message}; }

// Nobody uses the tools before the plugins that bring them are loaded, and those want the agent's
// services first.
class LateTools final : public ToolSource {
 public:
  void set(ToolSource* source) { source_ = source; }
  // What a recipe leaves of them, from the next run on.
  struct Limits {
    std::optional<std::vector<std::string>> names{};     // these tools alone
    std::optional<std::vector<std::string>> commands{};  // of the shell tool; see commands.h
  };
  void limit(Limits limits) { limits_ = std::move(limits); }
  bool has(std::string_view name) const {
    const auto& names = limits_.names;
    return !names || std::find(names->begin(), names->end(), name) != names->end();
  }
  std::vector<Tool> tools() const override {
    std::vector<Tool> out = source_ == nullptr ? std::vector<Tool>{} : source_->tools();
    std::erase_if(out, [&](const Tool& tool) { return !has(tool.name); });
    return out;
  }
  Result<ToolOutcome> call(const ToolCall& call, std::uint64_t conversation, const CancelToken& cancel,
                           Deadline deadline) override {
    if (source_ == nullptr || !has(call.name)) return Error{Code::kNotFound, "no tool named " + call.name};
    // The recipe's gate has said so before, but for a call that no hook sees.
    if (limits_.commands && call.name == kShellTool)
      if (std::string why = why_command_refused(*limits_.commands, call.input.text()); !why.empty())
        return Error{Code::kDenied, std::move(why)};
    return source_->call(call, conversation, cancel, deadline);
  }

 private:
  ToolSource* source_ = nullptr;
  Limits limits_;
};

std::vector<std::uint32_t> events_of_every_run() {
  return {AGENTD_EVENT_SESSION_START,     AGENTD_EVENT_USER_MESSAGE_SEND, AGENTD_EVENT_TURN_START,
          AGENTD_EVENT_BEFORE_MODEL_CALL, AGENTD_EVENT_AFTER_MODEL_CALL,  AGENTD_EVENT_TURN_END,
          AGENTD_EVENT_AGENT_STOP,        AGENTD_EVENT_SESSION_END};
}

LogLevel log_level(const Config& config) {
  const std::string level = config.text("log.level");
  return level == "debug"     ? LogLevel::kDebug
         : level == "info"    ? LogLevel::kInfo
         : level == "warning" ? LogLevel::kWarning
                              : LogLevel::kError;
}

std::string today(const Clock& clock) {
  const std::time_t now = clock.wall_ms() / 1000;
  std::tm parts{};
  ::localtime_r(&now, &parts);
  char text[16];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d", &parts));
}

Result<std::string> system_prompt(const Config& config, const std::string& home, const Project& project,
                                  const Clock& clock) {
  std::string text(kSystemPrompt);
  if (const std::string file = config.text("system_prompt_file"); !file.empty()) {
    auto own = HiddenFiles({Credentials::file(home)}).read(file, kPromptBytesMax, one_line(file, 200));
    if (!own) return Error{Code::kInvalid, "system_prompt_file: " + own.error().message};
    text = to_utf8(*own);
  }
  struct utsname system {};
  ::uname(&system);
  text += "\nWorking directory: " + project.cwd + "\n";
  if (project.root != project.cwd) text += "Root of the project: " + project.root + "\n";
  return text + "System: " + system.sysname + ", today is " + today(clock) + "\n";
}

class EngineImpl final : public Engine {
 public:
  EngineImpl(App& app, const Config& config, const EngineOptions& options, EventSink& events)
      : app_(app), config_(config), options_(options), events_(events) {}

  ~EngineImpl() override {
    agent_.reset();
    // The host outlives every snapshot that names its plugins.
    dispatcher_.publish({});
    tools_.set(nullptr);
    handlers_.clear();
    host_.reset();
  }

  Result<void, Failure> start(Approver& approver) {
    const Result<std::string> home = app_.home();
    if (!home) return usage(home.error());
    home_ = *home;
    if (app_.surroundings().cwd.empty())
      return Failure{kExitFailure, "the current directory no longer exists; change to another one"};
    if (auto known = load_models(); !known) return known.error();
    open_log();
    project_ = find_project(app_.surroundings().cwd);
    if (auto checked = check_roots(config_); !checked) return usage(checked.error());
    recipes_.emplace(recipe_directories(config_, home_, project_, app_.clock(), !options_.safe_mode), *log_);
    // A mistake in it costs nothing: no provider, no store.
    std::optional<Recipe> recipe;
    if (!options_.recipe.empty()) {
      auto found = find_recipe(options_.recipe, options_.recipe_arguments);
      if (!found) return found.error();
      recipe = std::move(*found);
    }
    if (auto made = make_providers(); !made) return made.error();
    // The first look at a store that was not closed well is a forked child's: there is no other thread yet.
    if (auto opened = open(); !opened) return opened.error();
    // The library loads on another thread while the rest is set up.
    if (route_.provider != kScripted && options_.needs_model) http_->warm_up();
    if (auto made = make_agent_services(approver); !made) return made.error();
    if (auto loaded = load_hooks(); !loaded) return loaded.error();
    if (auto checked = check_rules(); !checked) return checked.error();
    publish();
    if (recipe)
      if (auto put = put_on(std::move(*recipe), options_.recipe_arguments); !put) return put.error();
    agent_ = make_agent(*services_);
    return {};
  }

  void record_hooks() override {
    if (!host_) return;
    const std::size_t told = host_->problems().size();
    host_->record_new();
    for (const std::string& note : host_->notes()) warn(note);
    for (std::size_t i = told; i < host_->problems().size(); ++i) warn(host_->problems()[i].message);
  }

  Store& store() override { return *store_; }
  Agent& agent() override { return *agent_; }
  const Project& project() const override { return project_; }
  const RecipeBook& recipes() const override { return *recipes_; }
  const Recipe* recipe() const override { return recipe_ ? &*recipe_ : nullptr; }

  Result<void, Failure> use_recipe(const std::string& name, const RecipeValues& arguments) override {
    auto found = find_recipe(name, arguments);
    if (!found) return found.error();
    return put_on(std::move(*found), arguments);
  }

  void drop_recipe() override {
    recipe_.reset();
    active_ = nullptr;
    tools_.limit({});
    publish();
  }

  Result<RunRequest> recipe_run(const std::string& conversation_id, const std::string& words) const override {
    RunRequest out;
    AGENTD_TRY(out.text, render_recipe(*recipe_, recipe_arguments_, conversation_id));
    while (out.text.ends_with('\n')) out.text.pop_back();
    out.recipe = recipe_->name;
    out.compaction_run = recipe_->swaps_context();
    // About a summary they are a part of what is asked for, and no message of the user.
    (out.compaction_run ? out.compaction_instructions : out.words) = words;
    if (out.compaction_run && !words.empty()) out.text += "\n\nAdditional instructions: " + words;
    out.subagents = tools_.has("task");
    return out;
  }

  std::optional<std::string> recipe_failure() const override {
    return active_ != nullptr ? active_->failure() : std::nullopt;
  }
  ExternalEnvironment external_environment() override {
    return {tokens_,
            as_services(*services_),
            app_.clock(),
            *log_,
            [this]() -> HttpClient& { return *http_; },
            app_.surroundings().environment,
            {config_.list("hooks.allow_hosts")},
            project_.root,
            home_ + "/transcripts",
            "default",
            {},
            config_.list("hooks.pass_environment")};
  }

 private:
  void open_log() {
    const std::string file = log_file(config_, home_);
    const auto checked = file.empty() ? Result<void>() : check_log_file(file);
    if (!checked) warn(checked.error().message);
    if (file.empty() || !checked)
      log_ = std::make_unique<NullLog>();
    else
      log_ = make_file_log(file, log_level(config_));
  }

  Result<void, Failure> load_models() {
    auto table = load_model_table(home_, config_);
    if (!table) return usage(table.error());
    models_ = std::move(*table);
    auto route = model_in_force(config_, models_);
    if (!route) return usage(route.error());
    route_ = std::move(*route);
    const ModelInfo model = models_.find(route_.model);
    auto budget = budget_of(config_, model);
    if (!budget) return usage(budget.error());
    budget_ = *budget;
    estimator_ = make_estimator(config_, model);
    if (options_.needs_model)
      for (const std::string& warning : model_warnings(models_, config_, route_.model, home_, app_.clock().wall_ms()))
        warn(warning);
    return {};
  }

  Result<void, Failure> make_providers() {
    if (route_.provider == kScripted && (options_.needs_model || !config_.text("scripted.file").empty()))
      return make_scripted();
    const bool scripted = route_.provider == kScripted;  // and nobody will be asked
    const std::string own = scripted ? std::string("anthropic") : route_.provider;
    keys_.emplace(app_.surroundings().environment, home_);
    if (options_.needs_model)
      if (auto found = check_key(own, own); !found)
        return Failure{found.error().code == Code::kNotFound ? kExitProvider : kExitUsage,
                       found.error().message +
                           (found.error().code == Code::kNotFound ? ", or replay a file with --script FILE" : "")};
    for (const auto& [setting, model] : models_beside(config_, own)) {
      const std::string name = route_of(model, provider_names(config_)).provider;
      if (name.empty() || !options_.needs_model) continue;
      if (auto found = check_key(name, own); !found)
        return Failure{kExitUsage, config_.origin(setting) + ": " + setting + " names " + one_line(model, 80) + ": " +
                                       found.error().message};
    }
    provider_ = std::make_unique<ModelRouter>(
        provider_names(config_), own, [this, own](const std::string& name) -> Result<std::unique_ptr<ModelProvider>> {
          AGENTD_TRY(const ProviderSetup found, provider_setup(config_, name, name == own));
          AGENTD_TRY(const KeySource source, keys_->find(found));
          return make_provider(found, config_, keys_->value(found, source), source, *http_, app_.clock());
        });
    return {};
  }

  std::string real_model_of(std::string_view name) const { return real_model(config_, name, route_.provider); }

  // kNotFound: the provider wants a key, and there is none.
  Result<void> check_key(const std::string& provider, const std::string& own) const {
    AGENTD_TRY(const ProviderSetup setup, provider_setup(config_, provider, provider == own));
    AGENTD_TRY(const KeySource source, keys_->find(setup));
    if (source || setup.key_variable.empty()) return {};
    return Error{Code::kNotFound, no_key_text(setup)};
  }

  Result<void, Failure> make_scripted() {
    ScriptedOptions options{config_.text("scripted.file"), config_.text("scripted.state"),
                            config_.text("scripted.record"), 0};
    if (options.script_path.empty())
      return Failure{kExitUsage,
                     "the scripted provider needs a file: --script FILE, or scripted.file in the "
                     "configuration"};
    auto provider = make_scripted_provider(options, app_.clock());
    // A broken or missing script is a mistake of the user, as a broken configuration is.
    if (!provider) return usage(provider.error());
    provider_ = std::move(*provider);
    return {};
  }

  Result<void, Failure> open() {
    const Limits day = limits_of("day");
    if (!options_.save) store_ = make_memory_store(app_.clock());
    if (store_ != nullptr) conversations_.emplace(*store_, limits_of("conversation"), kConversations);
    // A conversation that is not kept is paid for all the same: under a limit of the day it is booked.
    if (!options_.save && !day.any()) return {};
    auto store = open_store(home_, true, app_.clock());
    if (!store) return Failure{kExitStore, store.error().message};
    (options_.save ? store_ : spending_store_) = std::move(*store);
    ledger_.emplace(options_.save ? *store_ : *spending_store_, day);
    if (!conversations_) conversations_.emplace(*store_, limits_of("conversation"), kConversations);
    return {};
  }

  // budget.run_* and its like.
  Limits limits_of(const std::string& what) const {
    constexpr double kNanoPerDollar = 1e9;
    const double usd = config_.fraction("budget." + what + "_usd");
    const auto nano = static_cast<std::uint64_t>(usd * kNanoPerDollar + 0.5);
    // However small it is, it is a limit.
    return {config_.whole("budget." + what + "_tokens"), usd > 0 ? std::max<std::uint64_t>(nano, 1) : 0};
  }

  AgentOptions agent_options(std::string system, std::string instructions) {
    AgentOptions out;
    out.provider = std::string(provider_->name());
    out.model = route_.provider == kScripted ? route_.model : real_model_of(route_.provider + "/" + route_.model);
    out.real_model = [this](std::string_view name) { return real_model_of(name); };
    for (const std::string& fallback : config_.list("fallback")) out.fallbacks.push_back(real_model_of(fallback));
    out.system_prompt = std::move(system);
    out.instructions = std::move(instructions);
    if (config_.flag("instructions")) out.rules_near = [this](const std::string& path) { return rules_for(path); };
    out.cwd = project_.cwd;
    out.tools_roots = workspace_roots();
    out.home = app_.surroundings().environment("HOME").value_or("");
    out.project_id = project_.id;
    out.budget = budget_;
    if (const std::uint64_t own = config_.whole("context_window"); own != 0) out.window_override = own;
    out.max_output_tokens = longest_answer(out.model);
    out.thinking = thinking_wish(config_);
    out.max_turns = static_cast<std::uint32_t>(config_.whole("max_turns"));
    out.run_limits = limits_of("run");
    out.hook_call_tokens = config_.whole("budget.hook_call_tokens");
    out.hook_run_tokens = config_.whole("budget.hook_run_tokens");
    out.retries_per_run = static_cast<std::uint32_t>(config_.whole("network.retries_per_run"));
    out.summary_model = real_model_of(config_.text("compaction.model"));
    out.summary_tokens = config_.whole("compaction.summary_tokens");
    out.compaction_strategy = parse_strategy(config_.text("compaction.strategy")).value_or(AGENTD_STRATEGY_DEFAULT);
    out.auto_compact = config_.flag("compaction.auto");
    out.offer_tools = options_.tools;
    out.subagents = config_.flag("agents.enabled");
    for (const std::string& name : config_.hook_names())
      if (config_.text("hooks." + name + ".authority") == "final") out.final_hooks.insert(name);
    out.hook_deadline = Milliseconds(config_.whole("hooks.deadline_ms"));
    out.hook_limits = hook_limits(config_);
    return out;
  }

  // A warning of a file that is looked at with each call is told once.
  std::vector<PathRules> rules_for(const std::string& path) {
    std::vector<std::string> warnings;
    std::vector<PathRules> out = rules_near(places_, path, warnings);
    for (const std::string& warning : warnings)
      if (told_.insert(warning).second) warn(warning);
    return out;
  }

  std::uint64_t longest_answer(const std::string& model) const {
    const std::uint64_t wanted = config_.whole("max_output_tokens");
    return models_.knows(model) ? std::min(wanted, models_.find(model).max_output) : wanted;
  }

  // Those of subagents, where a model is named for them.
  Result<std::shared_ptr<const AgentOptions>> subagent_options(const AgentOptions& main) const {
    const std::string model = real_model_of(config_.text("agents.model"));
    if (!main.subagents || model.empty() || model == main.model) return std::shared_ptr<const AgentOptions>();
    auto out = std::make_shared<AgentOptions>(main);
    const std::string vendor = route_of(model, provider_names(config_)).provider;
    if (!vendor.empty()) out->provider = vendor;
    out->model = model;
    AGENTD_TRY(out->budget, budget_of(config_, models_.find(model)));
    out->window_override.reset();  // the user's is that of the conversation's own model
    out->max_output_tokens = longest_answer(model);
    return std::shared_ptr<const AgentOptions>(std::move(out));
  }

  Result<void, Failure> make_agent_services(Approver& approver) {
    auto system = system_prompt(config_, home_, project_, app_.clock());
    if (!system) return usage(system.error());
    std::string instructions;
    if (config_.flag("instructions")) {
      places_ = {project_, home_, app_.surroundings().environment("HOME").value_or("")};
      Instructions read = read_instructions(places_);
      for (const std::string& warning : read.warnings) warn(warning);
      instructions = std::move(read.text);
    }
    AgentParts parts{*store_,
                     *provider_,
                     models_,
                     *estimator_,
                     dispatcher_,
                     tools_,
                     permission_rules(config_),
                     &approver,
                     *recipes_,
                     tokens_,
                     app_.clock(),
                     ids_,
                     events_,
                     *log_,
                     options_.trace_hooks,
                     [this](std::string_view hook) { return hook_kind(hook); },
                     [this] { refresh_hooks(); },
                     ledger_ ? &*ledger_ : nullptr,
                     conversations_ ? &*conversations_ : nullptr};
    AgentOptions all = agent_options(std::move(*system), std::move(instructions));
    auto subagents = subagent_options(all);
    if (!subagents) return usage(subagents.error());
    all.of_subagents = std::move(*subagents);
    services_ = make_services(std::move(parts), std::move(all));
    return {};
  }

  Result<Recipe, Failure> find_recipe(const std::string& name, const RecipeValues& arguments) const {
    auto recipe = recipes_->find(name);
    if (!recipe)
      return Failure{recipe.error().code == Code::kNotFound ? kExitNotFound : kExitUsage, recipe.error().message};
    if (const auto values = recipe_values(*recipe, arguments); !values) return usage(values.error());
    // The project's own of that name may restrict more than what is used in its place.
    if (const auto entry = recipes_->look(name); entry && name != "compact")
      for (const std::string& path : entry->ignored)
        warn(path + " is not trusted and is not used: the recipe '" + one_line(name, 80) + "' is " +
             (entry->path.empty() ? "the built-in one" : entry->path));
    return std::move(*recipe);
  }

  // What the recipe does itself acts also where hooks are switched off: the user has named it.
  Result<void, Failure> put_on(Recipe recipe, const RecipeValues& arguments) {
    RecipeHandlers* active = nullptr;
    if (!recipe.hooks.empty() || recipe.restricts_commands) {
      auto handlers = make_handlers(recipe);
      if (!handlers) return handlers.error();
      active = handlers_.emplace_back(std::move(*handlers)).get();
    }
    active_ = active;
    LateTools::Limits limits;
    if (recipe.restricts_tools) limits.names = recipe.allowed_tools;
    if (recipe.restricts_commands) limits.commands = recipe.allowed_commands;
    tools_.limit(std::move(limits));
    recipe_ = std::move(recipe);
    recipe_arguments_ = arguments;
    publish();
    return {};
  }

  Result<std::unique_ptr<RecipeHandlers>, Failure> make_handlers(const Recipe& recipe) {
    if (!workspace_) {
      auto workspace = open_workspace(workspace_roots(), kept_paths(app_.surroundings(), config_, home_, project_),
                                      {Credentials::file(home_)});
      if (!workspace) return Failure{kExitFailure, workspace.error().message};
      workspace_ = std::move(*workspace);
    }
    auto handlers = RecipeHandlers::make(
        recipe, {as_services(*services_), *log_, app_.clock(),
                 [this](const std::string& path, std::string_view text) { return workspace_->write(path, text); },
                 [this](agentd_token token) { return tokens_.find(token); }});
    if (!handlers) return usage(handlers.error());
    return std::move(*handlers);
  }

  std::vector<std::string> workspace_roots() const {
    std::vector<std::string> roots = config_.list("workspace.roots");
    if (!roots.empty()) return roots;
    roots.push_back(project_.cwd);
    if (project_.root != project_.cwd) roots.push_back(project_.root);
    return roots;
  }

  Result<void, Failure> load_hooks() {
    if (options_.safe_mode) {
      for (const std::string& note : safe_mode_notes(config_, home_, project_, app_.clock())) warn(note);
      return {};
    }
    if (!options_.hooks) tell_guards_off();
    if (!options_.hooks && !options_.tools) return {};
    HookSetup setup = hook_setup(app_.surroundings(), config_, home_, project_, options_.hooks);
    setup.options.native.roots = workspace_roots();
    setup.options.native.record_directory = home_ + "/records";
    if (options_.will_run) setup.options.native.expected = events_of_every_run();
    setup.options.records_later = true;
    const auto refused = watch_configs(setup.options.native.plugins);
    host_ = std::make_unique<HookHost>(setup.options, external_environment());
    host_->load_all();
    if (!refused->empty() && options_.hooks) return Failure{kExitUsage, *refused};
    for (const HookProblem& problem : host_->problems()) {
      if (problem.unreadable && options_.hooks) return Failure{kExitUsage, problem.message};
      if (!is_replaced(setup, problem.path, problem.name)) warn(problem.message);
    }
    tools_.set(&host_->tools());
    if (!options_.hooks) return {};
    if (const std::string why = switched_both_ways(setup); !why.empty()) return Failure{kExitUsage, why};
    if (const std::vector<std::string> off = host_->guards_kept_out(); !off.empty())
      warn("GUARDS ARE OFF by hooks.disable, hooks.allow or hooks.NAME.enabled; nothing replaces them: " +
           join(off, ", "));
    return check_names(setup);
  }

  // Also those that no run has seen yet: reading their files is no more than looking.
  void tell_guards_off() {
    const HookSetup setup = hook_setup(app_.surroundings(), config_, home_, project_, true);
    std::vector<std::string> names;
    for (const HookSource& source : describe_all(setup.options, app_.clock()).sources)
      if (source.guard && source.state != HookState::kOff) names.push_back(source.name);
    if (!names.empty()) warn("--no-hooks: GUARDS ARE OFF; nothing replaces them: " + join(names, ", "));
  }

  // A hook that is switched on by its name and kept out by a glob.
  std::string switched_both_ways(const HookSetup& setup) const {
    for (const auto& [name, settings] : setup.options.settings) {
      const std::string key = "hooks." + name + ".enabled";
      if (!settings.enabled.value_or(false) || !config_.is_set(key)) continue;
      const bool off = is_off(setup.options, name);
      if (!off && is_allowed(setup.options, name)) continue;
      return config_.origin(key) + ": " + key + " is true, and " + (off ? "hooks.disable" : "hooks.allow") +
             " excludes the hook: change one of the two";
    }
    return {};
  }

  // Rules for a bundled hook that nobody has switched on would decide nothing.
  std::string configured_and_off(const HookSetup& setup, const std::string& name) const {
    const std::string key = "hooks." + name + ".";
    const std::string said = config_.is_set(key + "config") ? key + "config" : key + "on_failure";
    const bool is_off = config_.is_set(said) && !config_.is_set(key + "enabled") && host_->kind_of(name).empty() &&
                        ::access((setup.bundled + "/" + name + ".so").c_str(), F_OK) == 0;
    return is_off ? config_.origin(said) + ": hooks." + name + " is configured but not enabled: set hooks." + name +
                        ".enabled to true, or to false"
                  : std::string();
  }

  // The refusal of the first hook that does not take its configuration: the place of the setting, and what is wrong
  // with it. Empty before the hooks are loaded, and where none refuses.
  std::shared_ptr<const std::string> watch_configs(std::map<std::string, PluginConfig>& plugins) const {
    auto out = std::make_shared<std::string>();
    for (auto& [name, plugin] : plugins) {
      const std::string key = "hooks." + name + ".", config = key + "config";
      const std::string said = config_.is_set(config) ? config : key + "enabled";
      if (!config_.is_set(said)) continue;
      plugin.refused = [out, where = config_.origin(said) + ": " + config + ": "](const std::string& why) {
        if (out->empty()) *out = where + one_line(why, 1000);
      };
    }
    return out;
  }

  // Settings for hooks that are not there. What lies where is only looked up when a name is not
  // obviously right.
  Result<void, Failure> check_names(const HookSetup& setup) {
    if (!options_.hooks) return {};
    std::vector<std::string> names = config_.hook_names();
    for (const std::string& name : names)
      if (std::string why = configured_and_off(setup, name); !why.empty()) return Failure{kExitUsage, std::move(why)};
    for (const char* list : {"hooks.order", "hooks.disable", "hooks.allow"})
      for (std::string& name : config_.list(list))
        if (name != "*") names.push_back(std::move(name));
    const bool right = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      return !host_->kind_of(name).empty() || ::access((setup.bundled + "/" + name + ".so").c_str(), F_OK) == 0;
    });
    if (right) return {};
    for (const NameProblem& problem : hook_name_problems(config_, describe_all(setup.options, app_.clock()))) {
      if (problem.weight == NameProblem::Weight::kBroken) return Failure{kExitUsage, problem.text};
      if (problem.weight == NameProblem::Weight::kWarning) warn(problem.text);
    }
    return {};
  }

  // Now that the tools are known: a rule that no tool can match is a mistake, and nothing runs with
  // it.
  Result<void, Failure> check_rules() {
    if (!options_.tools || !host_) return {};
    std::vector<std::string> names;
    const std::vector<Tool> tools = tools_.tools();
    names.reserve(tools.size());
    for (const Tool& tool : tools) names.push_back(tool.name);
    for (const RuleProblem& problem : rule_problems(config_, names, true)) {
      if (problem.broken) return Failure{kExitUsage, problem.text};
      warn(problem.text);
    }
    if (!options_.hooks) return {};
    for (const HookDefinition* const hook : host_->externals().definitions())
      if (const std::string why = unrunnable(*hook, config_.list("hooks.allow_hosts")); !why.empty()) {
        const std::string text = hook->path + (hook->line == 0 ? "" : ":" + std::to_string(hook->line)) + ": hook " +
                                 hook->name + ": " + why;
        if (hook->precedence != Precedence::kProject) return Failure{kExitUsage, text};
        warn(text);
      }
    std::set<std::string> told;  // a hook of several events has the same matcher for all of them
    std::vector<std::pair<HookDefinition, std::string>> idle;  // guards of a project that are asked about nothing
    for (const HookDefinition* const hook : host_->externals().definitions())
      for (const NameMistake& mistake : unknown_names(*hook, tools)) {
        if (mistake.broken) return Failure{kExitUsage, mistake.text};
        if (told.insert(mistake.text).second) warn(mistake.text);
        if (mistake.slip && is_guard(*hook) && hook->precedence == Precedence::kProject)
          idle.emplace_back(*hook, mistake.text);
      }
    for (const auto& [hook, why] : idle) host_->block(hook, why);
    for (const auto& plugin : host_->natives().plugins())
      for (const NameMistake& mistake :
           config_name_mistakes(config_, plugin->identity().name, plugin->manifest(), tools)) {
        if (mistake.broken) return Failure{kExitUsage, mistake.text};
        warn(mistake.text);
      }
    return {};
  }

  // The hooks, and the handlers of the recipe in use.
  void publish() {
    std::vector<Subscription> all;
    if (options_.hooks && host_) all = host_->subscriptions();
    if (active_ != nullptr)
      for (Subscription& each : active_->subscriptions()) all.push_back(std::move(each));
    dispatcher_.publish(std::move(all), config_.list("hooks.order"));
  }

  // Hooks whose files changed since the last turn.
  void refresh_hooks() {
    if (!host_) return;
    const HookHost::Reloaded found = host_->reload_changed();
    for (const std::string& warning : found.warnings) warn(warning);
    for (const std::string& note : found.notes) warn(note);
    if (found.changed) publish();
  }

  // For receipts; asked while the hooks are loaded.
  std::string hook_kind(std::string_view hook) const {
    if (hook.starts_with("recipe/")) return "recipe";
    return host_ ? std::string(host_->kind_of(hook)) : std::string();
  }

  void warn(const std::string& text) const { events_.on_event(RunEvent(told::Warning{text})); }

  // In the order in which they need each other; taken down the other way round.
  App& app_;
  const Config& config_;
  const EngineOptions options_;
  EventSink& events_;
  std::string home_;
  std::optional<KeyRing> keys_;
  // Of providers and webhooks: one thread for all of their requests, from the first one on.
  const std::unique_ptr<HttpClient> http_{make_http_client(app_.clock(), http_settings(config_))};
  std::unique_ptr<ModelProvider> provider_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Store> spending_store_;  // null: what is spent is booked in store_, if anywhere
  std::optional<Ledger> ledger_, conversations_;
  std::unique_ptr<Log> log_;
  Project project_;
  InstructionPlaces places_;
  std::set<std::string> told_;  // warnings about instructions
  std::optional<RecipeBook> recipes_;
  std::optional<Recipe> recipe_;  // in use
  RecipeValues recipe_arguments_;
  ModelTable models_;
  ModelRoute route_;  // who answers in this run, and as what
  BudgetPolicy budget_;
  std::unique_ptr<TokenEstimator> estimator_;
  TokenTable tokens_;
  Dispatcher dispatcher_{app_.clock()};
  LateTools tools_;
  IdSource ids_{app_.clock()};
  AgentServicesPtr services_;
  std::unique_ptr<HookHost> host_;
  std::unique_ptr<Workspace> workspace_;
  // Of every recipe that was used: a session may still hold the snapshot that names them.
  std::vector<std::unique_ptr<RecipeHandlers>> handlers_;
  RecipeHandlers* active_ = nullptr;
  std::unique_ptr<Agent> agent_;
};

bool same_beginning(const std::string& id, const std::string& prefix) {
  return id.compare(0, prefix.size(), prefix) == 0;
}

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

}  // namespace

std::string log_file(const Config& config, const std::string& home) {
  if (config.text("log.level") == "off") return {};
  const std::string file = config.text("log.file");
  return file.empty() ? home + "/agentd.log" : file;
}

Failure failure_of(const RunError& error) {
  switch (error.kind) {
    case RunError::Kind::kFailure:
      return {kExitFailure, error.message};
    case RunError::Kind::kBlocked:
      return {kExitBlocked, error.message};
    case RunError::Kind::kStopped:
      return {kExitStopped, error.message};
    case RunError::Kind::kNotFound:
      return {kExitNotFound, error.message};
    case RunError::Kind::kProvider:
      return {kExitProvider, error.message};
    case RunError::Kind::kLimit:
      return {kExitLimit, error.message};
    case RunError::Kind::kStore:
      return {kExitStore, error.message};
    case RunError::Kind::kBusy:
      return {kExitBusy, error.message};
    case RunError::Kind::kCancelled:
      return {kExitInterrupted, error.message};
  }
  return {kExitFailure, error.message};
}

Result<std::unique_ptr<Store>> open_store(const std::string& home, bool create, const Clock& clock) {
  LmdbOptions options;
  options.directory = home + "/store";
  options.create = create;
  options.apart = [&clock](const std::function<Result<void>()>& look) { return look_apart(look, clock); };
  auto store = open_lmdb_store(options, clock);
  if (store || create || store.error().code != Code::kDenied) return store;
  options.read_only = true;  // what may not be written can still be shown
  return open_lmdb_store(options, clock);
}

Result<Ulid, Failure> find_conversation(const Store& store, const std::string& text) {
  if (auto whole = Ulid::parse(text)) {
    const auto info = store.info(*whole);
    if (info) return *whole;
    if (info.error().code != Code::kNotFound) return Failure{kExitStore, info.error().message};
    return Failure{kExitNotFound, "no conversation " + upper(text) + "; 'agentd conversation list --all' lists them"};
  }
  const std::string prefix = upper(text);
  const std::string shown = "'" + one_line(text, 40) + "'";
  if (prefix.size() < kPrefixMin || prefix.size() >= Ulid::kTextBytes)
    return Failure{kExitNotFound, shown + " is not a conversation: give an id, or at least " +
                                      std::to_string(kPrefixMin) + " characters of its beginning"};
  ConversationQuery query;
  query.text = prefix;
  query.limit = UINT32_MAX;
  const auto found = store.list(query);
  if (!found) return Failure{kExitStore, found.error().message};
  const ConversationInfo* only = nullptr;
  for (const ConversationInfo& info : *found) {
    if (!same_beginning(info.id, prefix)) continue;
    if (only != nullptr)
      return Failure{kExitUsage, shown + " matches more than one conversation, such as " + only->id + " and " +
                                     info.id + "; give more characters"};
    only = &info;
  }
  if (only == nullptr)
    return Failure{kExitNotFound,
                   "no conversation begins with " + shown + "; 'agentd conversation list --all' lists them"};
  const auto id = Ulid::parse(only->id);
  if (!id) return Failure{kExitStore, id.error().message};
  return *id;
}

Result<Ulid, Failure> newest_conversation(const Store& store, const Project& project) {
  ConversationQuery query;
  query.project_id = project.id;
  const auto found = store.list(query);
  if (!found) return Failure{kExitStore, found.error().message};
  // A message that a hook blocked leaves a conversation without one: there is nothing to follow in it. A
  // subagent's is its parent's business.
  const auto newest = std::find_if(found->begin(), found->end(), [](const ConversationInfo& info) {
    return info.messages != 0 && info.agent_type.empty();
  });
  if (newest == found->end())
    return Failure{kExitNotFound, "this project has no conversation to follow yet (project " +
                                      one_line(project.id, 200) + "); omit --follow to start one"};
  const auto id = Ulid::parse(newest->id);
  if (!id) return Failure{kExitStore, id.error().message};
  return *id;
}

Result<std::unique_ptr<Engine>, Failure> Engine::build(App& app, const Config& config, const EngineOptions& options,
                                                       EventSink& events, Approver& approver) {
  auto engine = std::make_unique<EngineImpl>(app, config, options, events);
  if (auto started = engine->start(approver); !started) return started.error();
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace agentd::app
