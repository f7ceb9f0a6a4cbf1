// SPDX-License-Identifier: Apache-2.0
#include "core/external/external_hooks.h"

#include <utility>

#include "core/base/bytes.h"
#include "core/external/external_hook.h"
#include "core/external/hook_sandbox.h"

namespace agentd {
namespace {

constexpr Milliseconds kBackgroundPatience{2'000};

}  // namespace

struct ExternalHooks::MissingGuard {
  std::string name, identity, why;
  Precedence precedence = Precedence::kUser;
  std::vector<std::uint32_t> events;
  TokenTable& tokens;
  bool dropped = false;  // kept for snapshots that still call it

  static agentd_status AGENTD_CALL refuse(void* self, const agentd_call* call) noexcept {
    const auto& guard = *static_cast<MissingGuard*>(self);
    if (CallSlot* const slot = guard.tokens.find(call->token))
      slot->fail(call->token, AGENTD_E_DENIED, {guard.why, FailureText::kAll});
    return AGENTD_E_DENIED;
  }
};

ExternalHooks::ExternalHooks(ExternalEnvironment environment)
    : environment_(std::move(environment)), background_(std::make_unique<BackgroundRuns>()) {}

ExternalHooks::~ExternalHooks() { shutdown(); }

std::shared_ptr<KodeletExtension> ExternalHooks::extension_of(const HookDefinition& definition) {
  if (definition.runs != HookRuns::kExtension) return nullptr;
  std::string key = definition.path + (definition.sandbox ? "\nsandbox" : "");
  for (const std::string& argument : definition.argv) key += '\0' + argument;
  auto& extension = extensions_[key];
  if (extension) return extension;
  KodeletExtensionRequest request;
  request.name = definition.name;
  request.process.argv = definition.argv;
  request.process.cwd = definition.working_directory.empty() ? environment_.project_dir : definition.working_directory;
  request.process.environment = environment_of_hooks(environment_);
  for (const auto& [name, value] : definition.environment) request.process.environment.push_back(name + "=" + value);
  if (definition.sandbox) {
    const std::string home = environment_.variable ? environment_.variable("HOME").value_or("") : std::string();
    request.process.cage = hook_cage(environment_, hook_readable(definition, {}, home));
    request.process.ended = [name = definition.name, &log = environment_.log](const CagedCommand::After& after) {
      if (!after.remarks.empty())
        log.write(LogLevel::kWarning, "hooks", name + ": in the sandbox: " + join(after.remarks, "; "));
    };
  }
  extension = std::make_shared<KodeletExtension>(std::move(request), environment_.clock);
  return extension;
}

void ExternalHooks::add(HookDefinition definition, HookBytes bytes) {
  auto extension = extension_of(definition);
  hooks_.push_back(std::make_unique<ExternalHook>(std::move(definition), std::move(bytes), environment_, *background_,
                                                  std::move(extension)));
  ExternalHook& added = *hooks_.back();
  for (const auto& each : hooks_)
    if (each.get() != &added && is_repeated(each->definition(), added.definition())) added.repeats(*each);
}

void ExternalHooks::add_missing_guard(const std::string& name, std::string identity, Precedence precedence,
                                      const std::vector<std::uint32_t>& events, std::string why) {
  missing_.push_back(std::make_unique<MissingGuard>(
      MissingGuard{name, std::move(identity), std::move(why), precedence, events, environment_.tokens}));
}

bool ExternalHooks::drop_missing_guard(const std::string& identity) {
  bool found = false;
  for (const auto& guard : missing_) {
    found |= guard->identity == identity && !guard->dropped;
    guard->dropped |= guard->identity == identity;
  }
  return found;
}

std::vector<Subscription> ExternalHooks::subscriptions() const {
  std::vector<Subscription> out;
  for (const auto& hook : hooks_) out.push_back(hook->subscription());
  for (const auto& guard : missing_) {
    if (guard->dropped) continue;
    for (const std::uint32_t event : guard->events) {
      Subscription each;
      each.event = event;
      each.flags = AGENTD_HOOK_GATES;
      each.precedence = guard->precedence;
      each.on_failure = FailurePolicy::kClosed;
      each.concurrency = AGENTD_CONCURRENT;
      each.name = each.plugin = guard->name;
      each.fn = MissingGuard::refuse;
      each.self = guard.get();
      out.push_back(std::move(each));
    }
  }
  return out;
}

std::vector<const HookDefinition*> ExternalHooks::definitions() const {
  std::vector<const HookDefinition*> out;
  for (const auto& hook : hooks_) out.push_back(&hook->definition());
  return out;
}

void ExternalHooks::shutdown() {
  background_->finish(environment_.clock, kBackgroundPatience);
  hooks_.clear();
  extensions_.clear();
}

}  // namespace agentd
