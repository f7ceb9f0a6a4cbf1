// SPDX-License-Identifier: Apache-2.0
#include "core/workplace/hooks.h"

#include "core/base/bytes.h"
#include "core/host/inventory.h"
#include "core/workplace/hook_cages.h"
#include "core/workplace/hook_names.h"

namespace agentd {
namespace {

RunError usage_failure(std::string why) { return {RunError::Kind::kUsage, std::move(why)}; }

std::vector<std::uint32_t> events_of_every_run() {
  return {AGENTD_EVENT_SESSION_START,     AGENTD_EVENT_USER_MESSAGE_SEND, AGENTD_EVENT_TURN_START,
          AGENTD_EVENT_BEFORE_MODEL_CALL, AGENTD_EVENT_AFTER_MODEL_CALL,  AGENTD_EVENT_TURN_END,
          AGENTD_EVENT_AGENT_STOP,        AGENTD_EVENT_SESSION_END};
}

// The refusal of the first hook that does not take its configuration: the place of the setting, and what is wrong
// with it. Empty before the hooks are loaded, and where none refuses.
std::shared_ptr<const std::string> watch_configs(const Config& settings, std::map<std::string, PluginConfig>& plugins) {
  auto out = std::make_shared<std::string>();
  for (auto& [name, plugin] : plugins) {
    const std::string key = "hooks." + name + ".", config = key + "config";
    const std::string said = settings.is_set(config) ? config : key + "enabled";
    if (!settings.is_set(said)) continue;
    plugin.refused = [out, where = settings.origin(said) + ": " + config + ": "](const std::string& why) {
      if (out->empty()) *out = where + one_line(why, 1000);
    };
  }
  return out;
}

}  // namespace

Hooks::Hooks(Runtime& runtime, const Project& project, HookWishes wishes, const Warn& warn)
    : runtime_(runtime),
      config_(runtime.config()),
      project_(project),
      wishes_(wishes),
      warn_(warn),
      dispatcher_(runtime.clock()) {}

Hooks::~Hooks() {
  // The host outlives every snapshot that names its plugins.
  dispatcher_.publish({});
}

Result<void, RunError> Hooks::load(const std::vector<std::string>& roots) {
  {
    const MutexLock lock(mutex_);
    trust_seen_ = trust_state(runtime_.home());
  }
  if (auto started = start(roots); !started) return started.error();
  if (auto checked = check_tools(); !checked) return checked.error();
  const MutexLock lock(mutex_);
  publish();
  return {};
}

Result<void, RunError> Hooks::start(const std::vector<std::string>& roots) {
  if (wishes_.safe_mode) {
    for (const std::string& note : safe_mode_notes(config_, runtime_.home(), project_, runtime_.clock())) warn_(note);
    return {};
  }
  if (!wishes_.hooks) tell_guards_off();
  if (!wishes_.hooks && !wishes_.tools) return {};
  if (const auto wrong = grant_problems(config_); !wrong.empty()) return usage_failure(wrong.front());
  HookSetup setup = hook_setup(runtime_.surroundings(), config_, runtime_.home(), project_, wishes_.hooks);
  setup.options.native.roots = roots;
  cages_ = hook_cages(runtime_.surroundings(), config_, runtime_.home(), project_, roots);
  setup.options.cages = cages_;
  setup.options.native.files = [this](agentd_conv conversation) { return files_of(runtime_.services(), conversation); };
  setup.options.native.commands = [this](agentd_conv conversation) { return runtime_.commands_of(conversation); };
  setup.options.native.shared = &runtime_.plugins();
  setup.options.native.registry = &runtime_.registry();
  setup.options.native.project_id = project_.id;
  setup.options.native.secrets = runtime_.secrets();
  own_services_ = services_of_project(runtime_.services(), project_.id);
  setup.options.native.of_project = own_services_.get();
  setup.options.native.record_directory = runtime_.home() + "/records";
  if (wishes_.will_run) setup.options.native.expected = events_of_every_run();
  setup.options.records_later = true;
  const auto refused = watch_configs(config_, setup.options.native.plugins);
  host_ = std::make_unique<HookHost>(setup.options, environment());
  host_->load_all();
  if (!refused->empty() && wishes_.hooks) return usage_failure(*refused);
  for (const std::string& conflict : runtime_.registry().take_conflicts()) warn_(conflict);
  // A directory that others may write is found by everyone who opens a file in it, and told once.
  std::vector<HookProblem> told;
  for (const HookProblem& problem : host_->problems()) {
    if (problem.unreadable && wishes_.hooks) return usage_failure(problem.message);
    if (is_replaced(setup, problem.path, problem.name)) continue;
    if (problem.name.empty() && is_among(problem, told)) continue;
    warn_(problem.message);
    told.push_back(problem);
  }
  return wishes_.hooks ? check(setup) : Result<void, RunError>();
}

// Also those that no run has seen yet: reading their files is no more than looking.
void Hooks::tell_guards_off() const {
  const HookSetup setup = hook_setup(runtime_.surroundings(), config_, runtime_.home(), project_, true);
  std::vector<std::string> names;
  for (const HookSource& source : describe_all(setup.options, runtime_.clock()).sources)
    if (source.guard && source.state != HookState::kOff) names.push_back(source.name);
  if (!names.empty()) warn_("--no-hooks: these guards are off, and nothing replaces them: " + join(names, ", "));
}

void Hooks::record_new() {
  if (!host_) return;
  std::vector<std::string> told;
  {
    const MutexLock lock(mutex_);
    const std::size_t problems = host_->problems().size();
    host_->record_new();
    for (; notes_told_ < host_->notes().size(); ++notes_told_) told.push_back(host_->notes()[notes_told_]);
    for (std::size_t i = problems; i < host_->problems().size(); ++i) told.push_back(host_->problems()[i].message);
    if (!told.empty()) trust_seen_ = trust_state(runtime_.home());
  }
  for (const std::string& each : told) warn_(each);
}

std::string Hooks::trust_seen() const {
  const MutexLock lock(mutex_);
  return trust_seen_;
}

void Hooks::refresh() {
  if (!host_) return;
  const auto before = dispatcher_.pin();  // its last plugins end outside of the mutex
  HookHost::Reloaded found;
  {
    const MutexLock lock(mutex_);
    found = host_->reload_changed();
    notes_told_ = host_->notes().size();
    if (found.changed) publish();
  }
  for (const std::string& warning : found.warnings) warn_(warning);
  for (const std::string& note : found.notes) warn_(note);
  if (found.changed)
    for (const std::string& conflict : runtime_.registry().take_conflicts()) warn_(conflict);
}

std::vector<Subscription> Hooks::subscriptions() const {
  const MutexLock lock(mutex_);
  return wishes_.hooks && host_ ? host_->subscriptions() : std::vector<Subscription>();
}

void Hooks::publish() {
  const bool any = wishes_.hooks && host_;
  dispatcher_.publish(any ? host_->subscriptions() : std::vector<Subscription>(), config_.list("hooks.order"));
}

std::string Hooks::kind_of(std::string_view hook) const {
  return host_ ? std::string(host_->kind_of(hook)) : std::string();
}

ExternalEnvironment Hooks::environment() const {
  return {runtime_.tokens(),
          as_services(runtime_.services()),
          runtime_.clock(),
          runtime_.log(),
          [this]() -> HttpClient& { return runtime_.http(); },
          runtime_.surroundings().environment,
          {config_.list("hooks.allow_hosts")},
          project_.root,
          runtime_.home() + "/transcripts",
          [this](std::string_view conversation_id) {
            const auto mode = permission_mode_of(runtime_.services(), conversation_id);
            return mode ? std::string(name_of(*mode)) : config_.text("permissions.mode");
          },
          {},
          config_.list("hooks.pass_environment"),
          cages_};
}

}  // namespace agentd
