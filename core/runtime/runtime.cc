// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/runtime.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/net/curl_client.h"
#include "core/process/spill.h"
#include "core/runtime/model_setup.h"
#include "core/runtime/own_services.h"
#include "core/runtime/secrets_setup.h"
#include "core/runtime/store_setup.h"
#include "core/runtime/user_recipes.h"
#include "core/scrub/scrubbed_log.h"
#include "providers/scripted/scripted.h"

namespace agentd {
namespace {

RunError usage(const Error& error) { return {RunError::Kind::kUsage, error.message}; }

// services.NAME: the plugin that provides agentd.NAME/1, by the key of the registry.
ServiceRegistryOptions registry_options(const Config& config) {
  constexpr std::string_view kSection = "services.";
  ServiceRegistryOptions out;
  for (const std::string& key : config.free_keys())
    if (key.starts_with(kSection)) out.chosen[key.substr(kSection.size())] = config.text(key);
  return out;
}

LogLevel log_level(const Config& config) {
  const std::string level = config.text("log.level");
  return level == "debug"     ? LogLevel::kDebug
         : level == "info"    ? LogLevel::kInfo
         : level == "warning" ? LogLevel::kWarning
                              : LogLevel::kError;
}

}  // namespace

std::string log_file(const Config& config, const std::string& home) {
  if (config.text("log.level") == "off") return {};
  const std::string file = config.text("log.file");
  return file.empty() ? home + "/agentd.log" : file;
}

std::unique_ptr<Log> open_log(const Config& config, const std::string& home, const Warn& warn) {
  const std::string file = log_file(config, home);
  const auto checked = file.empty() ? Result<void>() : check_log_file(file);
  if (!checked) warn(checked.error().message);
  if (file.empty() || !checked) return std::make_unique<NullLog>();
  return make_file_log(file, log_level(config));
}

Runtime::Runtime(const ProcessSurroundings& surroundings, const Config& config, const Clock& clock,
                 RuntimeOptions options, std::string home, Warn warn)
    : surroundings_(surroundings),
      config_(config),
      clock_(clock),
      options_(options),
      home_(std::move(home)),
      warn_(std::move(warn)),
      http_(make_http_client(clock, http_settings(config))),
      ids_(clock),
      runs_(clock, {config.whole("sessions.active_runs"), config.whole("sessions.queued_runs"),
                    config.whole("sessions.open")}) {}

Runtime::~Runtime() {
  if (secrets_ != nullptr) secrets_->set_extra({});
  if (plugins_) plugins_->shutdown();
  http_->end_soon();
}

Result<std::unique_ptr<Runtime>, RunError> Runtime::begin(const ProcessSurroundings& surroundings, const Config& config,
                                                          const Clock& clock, RuntimeOptions options, Warn warn) {
  auto home = home_of(surroundings);
  if (!home) return usage(home.error());
  std::unique_ptr<Runtime> out(new Runtime(surroundings, config, clock, options, std::move(*home), std::move(warn)));
  if (auto known = out->load_models(); !known) return known.error();
  if (auto known = out->load_secrets(); !known) return known.error();
  if (opens_at_once(out->home_)) out->warm_up();
  out->log_ = open_log(out->config_, out->home_, out->warn_);
  if (out->secrets_ != nullptr && !log_file(out->config_, out->home_).empty())
    out->log_ = std::make_unique<ScrubbedLog>(std::move(out->log_), *out->secrets_);
  return out;
}

Result<void, RunError> Runtime::load_models() {
  auto table = load_model_table(home_, config_);
  if (!table) return usage(table.error());
  models_ = std::move(*table);
  auto route = model_in_force(config_, models_, clock_.wall_ms());
  if (!route) return usage(route.error());
  route_ = std::move(*route);
  const ModelInfo model = models_.find(route_.model);
  auto budget = budget_of(config_, model);
  if (!budget) return usage(budget.error());
  budget_ = *budget;
  estimator_ = make_estimator(config_, model);
  {
    const MutexLock lock(told_mutex_);
    told_ = models_of_settings(config_, route_);
  }
  if (!options_.needs_model) return {};
  if (auto readable = check_network_files(config_); !readable) return usage(readable.error());
  for (const std::string& warning : model_warnings(models_, config_, route_, home_, clock_.wall_ms())) warn_(warning);
  return {};
}

// The key is the store's: conversations that end with the process have one that does, too.
Result<void, RunError> Runtime::load_secrets() {
  if (!config_.flag("secrets.scrub")) return {};
  auto made = make_secrets(config_, options_.save ? secrets_key_file(home_) : std::string());
  if (!made) return usage(made.error());
  secrets_ = std::move(*made);
  return {};
}

Result<void, RunError> Runtime::open() {
  if (auto made = make_providers(); !made) return made.error();
  if (auto opened = open_stores(); !opened) return opened.error();
  retention_.emplace(*store_, clock_, *log_, config_.whole("receipts.keep_days"));
  warm_up();
  settle_models();
  make_agent_services();
  return {};
}

// The library loads on another thread while the rest is set up: from begin() on, unless the store needs a look, which
// is a forked child's, so that there must be no other thread.
void Runtime::warm_up() {
  if (route_.provider != kScripted && options_.needs_model) http_->warm_up();
}

// ---- providers

Result<void, RunError> Runtime::make_providers() {
  const bool scripted = route_.provider == kScripted;  // and perhaps no model will be called
  if (scripted && (options_.needs_model || !config_.text("scripted.file").empty())) return make_scripted();
  const std::string own = scripted ? std::string(find_key("provider")->standard) : route_.provider;
  keys_.emplace(surroundings_.environment, home_);
  if (options_.needs_model)
    if (auto found = check_keys(own); !found) return found.error();
  provider_ = std::make_unique<ModelRouter>(
      provider_names(config_), own, [this](const std::string& name) -> Result<std::unique_ptr<ModelProvider>> {
        AGENTD_TRY(const ProviderSetup found, provider_setup(config_, models_, name));
        AGENTD_TRY(const KeySource source, keys_->find(found));
        return make_provider(found, config_, keys_->value(found, source), source, *http_, clock_);
      });
  return {};
}

// The keys of the model in use, and of the other models that the settings name.
Result<void, RunError> Runtime::check_keys(const std::string& own) const {
  if (auto found = check_key(own); !found) {
    if (found.error().code != Code::kNotFound) return usage(found.error());
    return RunError{RunError::Kind::kProvider, found.error().message + ", or replay a file with --script FILE"};
  }
  for (const auto& [setting, model] : models_beside(config_, own)) {
    const std::string name = route_of(model, provider_names(config_)).provider;
    if (name.empty()) continue;
    if (auto found = check_key(name); !found)
      return RunError{RunError::Kind::kUsage, config_.origin(setting) + ": " + setting + " names " +
                                                  one_line(model, 80) + ": " + found.error().message};
  }
  return {};
}

// kNotFound: the provider wants a key, and there is none.
Result<void> Runtime::check_key(const std::string& provider) const {
  AGENTD_TRY(const ProviderSetup setup, provider_setup(config_, models_, provider));
  AGENTD_TRY(const KeySource source, keys_->find(setup));
  if (source || setup.key_variable.empty()) return {};
  return Error{Code::kNotFound, no_key_text(setup)};
}

Result<void, RunError> Runtime::make_scripted() {
  ScriptedOptions options{config_.text("scripted.file"), config_.text("scripted.state"),
                          config_.text("scripted.record"), 0};
  if (options.script_path.empty())
    return RunError{RunError::Kind::kUsage,
                    "the scripted provider needs a file: --script FILE, or scripted.file in the configuration"};
  auto provider = make_scripted_provider(options, clock_);
  // A broken or missing script is a mistake of the user, as a broken configuration is.
  if (!provider) return usage(provider.error());
  provider_ = std::move(*provider);
  return {};
}

// ---- store

Result<void, RunError> Runtime::open_stores() {
  const Limits day = limits_of("day");
  if (!options_.save) store_ = make_memory_store(clock_);
  if (store_ != nullptr) conversations_.emplace(*store_, limits_of("conversation"), kConversations);
  // A conversation that is not kept is paid for all the same: under a limit of the day it is booked.
  if (!options_.save && !day.any()) return {};
  // Needed only where another process left the store open since begin().
  const auto alone = [this] { http_ = make_http_client(clock_, http_settings(config_)); };
  const auto appended = [this] {
    if (feeder_) feeder_->committed();
  };
  auto store = open_store(home_, true, clock_, alone, appended);
  if (!store) return RunError{RunError::Kind::kStore, store.error().message};
  (options_.save ? store_ : spending_store_) = std::move(*store);
  if (options_.save) feeder_ = std::make_unique<IndexFeeder>(home_, *store_, clock_, *log_);
  ledger_.emplace(options_.save ? *store_ : *spending_store_, day);
  if (!conversations_) conversations_.emplace(*store_, limits_of("conversation"), kConversations);
  return {};
}

Limits Runtime::limits_of(const std::string& what) const {
  constexpr double kNanoPerDollar = 1e9;
  const double usd = config_.fraction("budget." + what + "_usd");
  const auto nano = static_cast<std::uint64_t>(usd * kNanoPerDollar + 0.5);
  // However small it is, it is a limit.
  return {config_.whole("budget." + what + "_tokens"), usd > 0 ? std::max<std::uint64_t>(nano, 1) : 0};
}

// ---- models

std::uint64_t Runtime::longest_answer(const std::string& model) const {
  const std::uint64_t wanted = config_.whole("max_output_tokens");
  return models_.knows(model) ? std::min(wanted, models_.find(model).max_output) : wanted;
}

void Runtime::settle_models() {
  settings_.provider = std::string(provider_->name());
  settings_.model = route_.provider == kScripted ? route_.model : real_model(route_.provider + "/" + route_.model);
  for (const std::string& fallback : config_.list("fallback")) settings_.fallbacks.push_back(real_model(fallback));
  settings_.budget = budget_;
  if (const std::uint64_t own = config_.whole("context_window"); own != 0) settings_.window_override = own;
  settings_.max_output_tokens = longest_answer(settings_.model);
  settings_.thinking = thinking_wish(config_);
  settings_.summary_model = real_model(config_.text("compaction.model"));
  settings_.summary_tokens = config_.whole("compaction.summary_tokens");
  settings_.compaction_strategy = parse_strategy(config_.text("compaction.strategy")).value_or(AGENTD_STRATEGY_DEFAULT);
}

std::string Runtime::real_model(std::string_view name) const {
  std::string out = agentd::real_model(config_, name, route_.provider);
  if (out.find('/') == std::string::npos) return out;
  {
    const MutexLock lock(told_mutex_);
    if (!told_.insert(out).second) return out;
  }
  const std::string wrong = misspelt_provider(models_, config_, route_.provider, out);
  if (wrong.empty()) return out;
  if (std::this_thread::get_id() == own_thread_)
    warn_(wrong);
  else
    log_->write(LogLevel::kWarning, "runtime", wrong);
  return out;
}

Result<ModelSettings> Runtime::settings_for(const ModelSettings& like, const std::string& model) const {
  ModelSettings out = like;
  if (model == like.model) return out;
  if (const std::string vendor = route_of(model, provider_names(config_)).provider; !vendor.empty())
    out.provider = vendor;
  out.model = model;
  AGENTD_TRY(out.budget, budget_of(config_, models_.find(model)));
  out.window_override.reset();  // the user's is that of the model in force
  out.max_output_tokens = longest_answer(model);
  return out;
}

RuntimeParts Runtime::agent_parts() {
  return {*store_,
          *provider_,
          models_,
          *estimator_,
          *recipes_,
          tokens_,
          clock_,
          ids_,
          *log_,
          ledger_ ? &*ledger_ : nullptr,
          conversations_ ? &*conversations_ : nullptr,
          &runs_,
          secrets_.get()};
}

void Runtime::make_agent_services() {
  RuntimeSettings settings{settings_};
  settings.real_model = [this](std::string_view name) { return real_model(name); };
  settings.hook_call_tokens = config_.whole("budget.hook_call_tokens");
  settings.hook_run_tokens = config_.whole("budget.hook_run_tokens");
  settings.posted_messages = config_.whole("sessions.posted_messages");
  settings.scrub_input = config_.flag("secrets.scrub_input");
  settings.retries_per_run = static_cast<std::uint32_t>(config_.whole("network.retries_per_run"));
  recipes_.emplace(std::vector<RecipeDirectory>{user_recipes(home_)}, *log_);
  services_ = make_services(agent_parts(), std::move(settings));
  ServiceRegistryOptions chosen = registry_options(config_);
  chosen.project_of = [this](agentd_conv conversation) { return project_of(*services_, conversation); };
  registry_.emplace(clock_, *log_, std::move(chosen));
  offer_own_services(*registry_,
                     {*services_, agent_parts(), settings_, config_.text("lifecycle.resume_level"),
                      [this](std::string_view model) { return route_of(model, provider_names(config_)).provider; }});
  recollections_.emplace(*registry_);
  if (secrets_ != nullptr) secrets_->set_extra({service_scrubber(*registry_, clock_)});
  plugins_.emplace(
      tokens_, clock_, *log_, [this](agentd_conv conversation) { return files_of(*services_, conversation); },
      secrets_.get(), &*registry_, [this](agentd_conv conversation) { return commands_of(conversation); });
}

void Runtime::remove_old_spills() {
  constexpr Milliseconds kPause{60 * 60 * 1000};
  constexpr std::chrono::hours kAge{7 * 24};
  if (clock_.monotonic_ns() < spills_due_ns_) return;
  spills_due_ns_ = Deadline::after(clock_, kPause).at_ns;
  remove_spilled_before(home_, clock_.wall_ms(), kAge);
}

SessionCommands Runtime::commands_of(agentd_conv conversation) const {
  SessionCommands out{agentd::commands_of(*services_, conversation), {}};
  if (out.host) out.spill_directory = spill_directory(home_, conversation_of(*services_, conversation));
  return out;
}

}  // namespace agentd
