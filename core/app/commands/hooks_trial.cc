// SPDX-License-Identifier: Apache-2.0
#include "core/app/commands/hooks_trial.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "core/app/exit_codes.h"
#include "core/base/bytes.h"
#include "core/hooks/dry_services.h"
#include "core/net/curl_client.h"
#include "core/runtime/provider_setup.h"

namespace agentd::app {

namespace {

namespace fs = std::filesystem;

bool lies_in(const std::string& path, const std::string& directory) {
  const std::string prefix = directory + "/";
  return path.rfind(prefix, 0) == 0 && path.find('/', prefix.size()) == std::string::npos;
}

bool is_file(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

}  // namespace

Trial::Trial(App& app, const HooksHere& here) : app_(app), options_(here.setup.options) {}
Trial::~Trial() {
  subscriptions_.clear();
  host_.reset();
}

Result<std::unique_ptr<Trial>, Failure> Trial::load(App& app, const HooksHere& here, const std::string& name,
                                                    const ExternalEnvironment* environment) {
  auto trial = std::unique_ptr<Trial>(new Trial(app, here));
  if (auto found = trial->find(here, name); !found) return found.error();
  if (auto started = trial->start(here, environment); !started) return started.error();
  return trial;
}

Result<void, Failure> Trial::find(const HooksHere& here, const std::string& name) {
  const Inventory inventory = inventory_of(app_, here);
  if (const auto one = source_of(inventory, name); !one && one.error().code == kExitUsage) return one.error();
  const HookSource* const source = find_source(inventory, name);
  const std::string path = (fs::path(app_.surroundings().cwd) / name).lexically_normal().string();
  options_.guards.clear();
  if (source == nullptr && is_file(path)) {
    loose_ = true;
    path_ = path;
    const std::string directory = fs::path(path).parent_path().string();
    options_.adapted.clear();
    options_.native.directories = {{directory, Precedence::kUser, true}};
    options_.consent.dev = true;
    // A hook under development may be tried any number of times: no quarantine.
    options_.native.quarantine_directory.clear();
    options_.native.allow.clear();
    leave_alone(directory);
    return {};
  }
  if (source == nullptr) {
    const auto none = source_of(inventory, name);
    return none.error();
  }
  // A disabled hook may be tried, an untrusted one may not.
  const bool stands = source->state == HookState::kOn || (source->state == HookState::kOff && !source->path.empty());
  if (!stands)
    return Failure{source->state == HookState::kMissing ? kExitNotFound : kExitFailure,
                   source->name + " cannot be called: " + source->why_not};
  name_ = source->name;
  path_ = source->path;
  if (name != source->name && name != source->path)
    for (const HookDefinition& hook : source->hooks)
      if (hook.name == name) only_ = name;
  std::erase_if(options_.adapted, [&](const AdaptedSource& each) { return each.path != source->path; });
  std::erase_if(options_.native.directories, [&](const HookDirectory& each) { return !lies_in(path_, each.path); });
  options_.guards = here.setup.options.guards;
  std::erase_if(options_.guards, [&](const std::string& guard) {
    const HookSource* const named = find_source(inventory, guard);
    return named != source;
  });
  if (!options_.native.directories.empty()) leave_alone(options_.native.directories[0].path);
  return {};
}

// Disables everything else in the directory and enables our own hook.
void Trial::leave_alone(const std::string& directory) {
  const HookScan scan = scan_hook_directories(options_.native.directories, options_.native.disable,
                                              options_.native.user, options_.native.allow);
  for (const HookFile& file : scan.files) {
    const bool mine = file.path == path_ || name_ == file.name;
    if (file.path == path_) name_ = file.name;
    options_.settings[file.name].enabled = mine;
    options_.native.plugins[file.name].enabled = mine;
  }
  if (name_.empty()) name_ = path_.substr(directory.size() + 1);
}

Result<void, Failure> Trial::start(const HooksHere& here, const ExternalEnvironment* environment) {
  options_.consent.record = environment != nullptr && !loose_;
  // Other guards in the trust store are not missed here.
  if (loose_) options_.project_root = fs::path(path_).parent_path().string();
  services_ = std::make_unique<DryServices>();
  http_ = make_http_client(app_.clock(), http_settings(here.config));
  ExternalEnvironment own{tokens_,
                          *services_,
                          app_.clock(),
                          log_,
                          [this]() -> HttpClient& { return *http_; },
                          app_.surroundings().environment,
                          {here.config.list("hooks.allow_hosts")},
                          here.project.root,
                          here.home + "/transcripts",
                          [mode = here.config.text("permissions.mode")](std::string_view) { return mode; },
                          {},
                          here.config.list("hooks.pass_environment")};
  ExternalEnvironment used = environment == nullptr ? own : *environment;
  table_ = &used.tokens;
  used.tap = [this](const HookDefinition& hook, std::string_view input, const RawAnswer& answer) {
    heard(hook, input, answer);
  };
  options_.native.roots = {here.project.cwd};
  host_ = std::make_unique<HookHost>(options_, std::move(used));
  host_->load_all();
  for (const HookProblem& problem : host_->problems())
    if (problem.path == path_ || (problem.path.empty() && !problem.name.empty() && problem.name == name_))
      return Failure{kExitFailure, problem.message};
  for (Subscription& each : host_->subscriptions())
    if (is_mine(each.name)) subscriptions_.push_back(std::move(each));
  if (!subscriptions_.empty()) return {};
  return Failure{kExitFailure,
                 one_line(path_, 1000) + " is not a hook: it must be executable, or end in .so, .yaml or .yml"};
}

bool Trial::is_mine(const std::string& subscription) const {
  if (!only_.empty()) return subscription == only_;
  if (subscription == name_) return true;
  for (const HookDefinition* const hook : host_->externals().definitions())
    if (hook->name == subscription) return hook->path == path_;
  return false;
}

std::vector<std::string> Trial::events() const {
  std::vector<std::string> out;
  for (const Subscription& each : subscriptions_) {
    const EventTraits* const event = find_event(each.event);
    if (event != nullptr && std::find(out.begin(), out.end(), event->name) == out.end()) out.emplace_back(event->name);
  }
  return out;
}

bool Trial::listens_to(std::uint32_t event) const {
  return std::any_of(subscriptions_.begin(), subscriptions_.end(),
                     [&](const Subscription& each) { return each.event == event; });
}

TrialReport Trial::ask(PayloadRecord& record, const CancelToken& cancel, Milliseconds deadline) {
  const Snapshot snapshot(subscriptions_, {}, app_.clock());
  const SlotLease slot(*table_);
  const CancelBinding binding(*slot, cancel);
  Dispatch event;
  event.event = record.event();
  event.envelope = record.envelope();
  event.payload = record.payload();
  event.deadline_ns = Deadline::after(app_.clock(), deadline).at_ns;
  event.budget_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(deadline).count());
  event.rewrite = [](void* context, std::uint32_t target, std::string_view text) {
    (void)!static_cast<PayloadRecord*>(context)->rewrite(target, text);
  };
  event.context = &record;
  event.slots = table_;
  tried_.clear();
  TrialReport out;
  out.outcome = dispatch(snapshot, *slot, event, this);
  out.hooks = std::move(tried_);
  return out;
}

void Trial::on_hook(const HookTrace& trace) {
  Tried out;
  {
    const MutexLock lock(mutex_);
    if (const auto run = runs_.find(std::string(trace.hook)); run != runs_.end()) out = std::move(run->second);
  }
  out.hook = trace.hook;
  out.effect = trace.effect;
  out.failure = trace.failure;
  out.note = trace.note;
  out.status = trace.status;
  out.duration_us = trace.duration_ns / 1000;
  out.actions.assign(trace.actions.begin(), trace.actions.end());
  tried_.push_back(std::move(out));
}

void Trial::heard(const HookDefinition& hook, std::string_view input, const RawAnswer& answer) {
  const MutexLock lock(mutex_);
  Tried& run = runs_[hook.name];
  run.was_run = true;
  run.input = input;
  run.answer = answer;
}

}  // namespace agentd::app
