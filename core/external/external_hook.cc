// SPDX-License-Identifier: Apache-2.0
#include "core/external/external_hook.h"

#include <algorithm>
#include <tuple>

#include "core/base/bytes.h"
#include "core/base/thread.h"
#include "core/base/thrown.h"
#include "core/codec/json.h"
#include "core/process/process.h"

namespace agentd {
namespace {

constexpr Milliseconds kBackgroundTime{600'000};  // for a background run without a timeout
constexpr std::string_view kKeySpace = "agentd.hooks";
constexpr std::string_view kOncePrefix = "once/";

std::uint16_t flags_of(const HookDefinition& definition) {
  // Hooks of other tools receive what their own tool would have sent.
  const bool hears = definition.dialect == Dialect::kAgentd;
  if (definition.observes || definition.async) return AGENTD_HOOK_OBSERVES | (hears ? kHearsDenials : 0);
  return AGENTD_HOOK_GATES;
}

FailurePolicy policy_of(const HookDefinition& definition) {
  if (definition.on_failure) return *definition.on_failure;
  return definition.guard ? FailurePolicy::kClosed : FailurePolicy::kOpen;
}

// Some tools call all matching hooks of an event in parallel.
std::string group_of(const HookDefinition& definition) {
  if (!traits_of(definition.dialect).parallel || definition.sequential) return {};
  return std::string(name_of(definition.dialect)) + ' ' + definition.foreign_event + ' ' + definition.path;
}

ServiceCaller caller_of(agentd_conv conversation, std::uint32_t event, const CancelToken& cancel) {
  return {kKeySpace, conversation, event, cancel, {}};
}

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : "; ") + text;
  return out;
}

}  // namespace

bool is_repeated(const HookDefinition& a, const HookDefinition& b) {
  const auto what = [](const HookDefinition& hook) {
    return std::tie(hook.event, hook.runs, hook.command, hook.argv, hook.url, hook.headers, hook.environment,
                    hook.if_rule, hook.working_directory, hook.once, hook.async, hook.observes, hook.shadow,
                    hook.strict_output, hook.sandbox);
  };
  return !group_of(a).empty() && group_of(a) == group_of(b) && what(a) == what(b) && a.when.text() == b.when.text() &&
         policy_of(a) == policy_of(b);
}

std::string_view kind_name(const HookDefinition& hook) {
  if (hook.dialect != Dialect::kAgentd) return name_of(hook.dialect);
  switch (hook.runs) {
    case HookRuns::kFile:
      return "executable";
    case HookRuns::kWebhook:
      return "webhook";
    case HookRuns::kExtension:
      return "extension";
    case HookRuns::kShell:
    case HookRuns::kArgv:
    case HookRuns::kAction:
      break;
  }
  return "yaml";
}

std::uint64_t wants_of(const HookDefinition& definition) {
  switch (definition.event) {
    case AGENTD_EVENT_AGENT_STOP:
    case AGENTD_EVENT_SUBAGENT_STOP:
    case AGENTD_EVENT_BEFORE_MODEL_CALL:
    case AGENTD_EVENT_BEFORE_COMPACTION:
      break;
    default:
      return 0;
  }
  if (definition.runs != HookRuns::kAction) return AGENTD_WANTS_MESSAGES;
  const bool mentioned = definition.when.text().find("messages") != std::string::npos;
  return mentioned ? AGENTD_WANTS_MESSAGES : 0;
}

std::vector<std::string> hook_environment(const HookDefinition& definition, JsonView payload) {
  const JsonView context = payload["context"];
  const EventTraits* const event = find_event(definition.event);
  std::vector<std::string> out{"AGENTD_EVENT=" + std::string(event == nullptr ? std::string_view() : event->name),
                               "AGENTD_CONV_ID=" + std::string(payload["conv_id"].string_or({})),
                               "AGENTD_HOOK=" + definition.name, "AGENTD_HOOK_PATH=" + definition.path};
  if (!context.is_object()) return out;
  out.push_back("AGENTD_CONTEXT_USED=" + std::to_string(context["used"].uint_or(0)));
  out.push_back("AGENTD_CONTEXT_MAX=" + std::to_string(context["limit"].uint_or(0)));
  // Whole percent, which a shell can compare.
  if (context["percent"].is_number())
    out.push_back("AGENTD_CONTEXT_PERCENT=" +
                  std::to_string(static_cast<std::uint64_t>(context["percent"].number_or(0))));
  return out;
}

std::vector<std::string> environment_of_hooks(const ExternalEnvironment& environment) {
  std::vector<std::string> out = clean_environment();
  for (const std::string& name : environment.pass_environment)
    if (const auto value = environment.variable(name)) {
      std::erase_if(out, [&](const std::string& entry) { return entry.starts_with(name + "="); });
      out.push_back(name + "=" + *value);
    }
  return out;
}

// ---- background runs

bool BackgroundRuns::start(std::function<void(const CancelToken&)> run) {
  {
    const MutexLock lock(mutex_);
    if (running_ >= kRunsMax) return false;
    ++running_;
  }
  const auto work = [this, cancel = cancel_, run = std::move(run)] {
    // Its answer is ignored, but an exception must not keep finish() waiting forever.
    (void)thrown_by([&] { run(cancel); });
    const MutexLock lock(mutex_);
    --running_;
    ended_.notify_all();
  };
  try {
    Thread(work).detach();  // finish() waits for it
  } catch (const std::system_error&) {
    const MutexLock lock(mutex_);
    --running_;
    return false;
  }
  return true;
}

void BackgroundRuns::finish(const Clock& clock, Milliseconds patience) {
  const MutexLock lock(mutex_);
  const Deadline end = Deadline::after(clock, patience);
  while (running_ != 0 && ended_.wait_until(mutex_, clock, end)) continue;
  cancel_.cancel(AGENTD_CANCEL_SHUTDOWN);
  while (running_ != 0) ended_.wait(mutex_);
}

// ---- one hook

ExternalHook::ExternalHook(HookDefinition definition, HookBytes bytes, const ExternalEnvironment& environment,
                           BackgroundRuns& background, std::shared_ptr<KodeletExtension> extension)
    : definition_(std::move(definition)),
      bytes_(std::move(bytes)),
      environment_(environment),
      background_(background),
      extension_(std::move(extension)) {}

Subscription ExternalHook::subscription() {
  Subscription out;
  out.event = definition_.event;
  out.flags = flags_of(definition_);
  out.priority = static_cast<std::int16_t>(definition_.priority);
  out.wants = wants_of(definition_);
  out.precedence = definition_.precedence;
  out.on_failure = policy_of(definition_);
  out.concurrency = AGENTD_CONCURRENT;
  out.name = definition_.name;
  out.plugin = definition_.name;
  out.file = definition_.file;
  out.bytes_digest = bytes_.digest;
  out.waits = definition_.runs != HookRuns::kAction;
  out.shadow = definition_.shadow;
  out.keeps_text = !may_rewrite(definition_);
  out.never_refuses = !may_refuse(definition_);
  out.together = group_of(definition_);
  if (!definition_.async)
    out.timeout = definition_.timeout ? definition_.timeout : default_time(definition_.dialect, definition_.event);
  out.fn = enter;
  out.self = this;
  return out;
}

agentd_status AGENTD_CALL ExternalHook::enter(void* self, const agentd_call* call) noexcept {
  auto& hook = *static_cast<ExternalHook*>(self);
  CallSlot* const slot = hook.environment_.tokens.find(call->token);
  if (slot == nullptr) return AGENTD_E_NOT_FOUND;
  return hook.ask({call->token, slot, call});
}

agentd_status ExternalHook::ask(const Asked& asked) {
  const auto text = asked.slot->payload_text(wants_of(definition_) != 0);
  if (text == nullptr) return AGENTD_E_UNSUPPORTED;
  const auto payload = JsonDocument::parse(*text);
  if (!payload) return cannot_be_asked(asked, payload.error().message);
  const auto reason = why_not(asked, payload->root());
  if (!reason) {
    asked.slot->fail(asked.token, AGENTD_E_ARG, reason.error().message);
    return AGENTD_E_ARG;
  }
  if (!reason->empty()) {
    asked.slot->skip(asked.token, *reason);
    return AGENTD_OK;
  }
  if (definition_.async) return run_aside(asked, *text);
  // The extension's own timeout applies unless the user sets one.
  const bool own_time = !definition_.timeout && definition_.event != AGENTD_EVENT_SESSION_END;
  const auto allow = [&asked](Deadline longer) { asked.slot->set_deadline(longer.at_ns); };
  Verdict verdict = run(payload->root(), *text, asked.slot->cancel_token(), Deadline{asked.slot->deadline_ns()},
                        own_time ? std::function<void(Deadline)>(allow) : nullptr);
  if (!verdict.failed) mark_spent(asked);
  if (verdict.children != 0) asked.slot->count_children(asked.token, verdict.children);
  return answer_with(asked, std::move(verdict));
}

// The fault is agentd's, not the hook's: at an event that can be blocked, its failure policy must not turn it into a
// yes.
agentd_status ExternalHook::cannot_be_asked(const Asked& asked, const std::string& why) {
  const std::string text = "agentd could not make its payload: " + why;
  const EventTraits* const traits = find_event(definition_.event);
  const bool gates = traits != nullptr && traits->blocking && (flags_of(definition_) & AGENTD_HOOK_OBSERVES) == 0 &&
                     is_legal(definition_.event, AGENTD_ACT_BLOCK);
  if (!gates) {
    asked.slot->fail(asked.token, AGENTD_E_INTERNAL, text);
    return AGENTD_E_INTERNAL;
  }
  Action block;
  block.kind = AGENTD_ACT_BLOCK;
  block.text = text;
  asked.slot->emit(asked.token, std::move(block));
  return AGENTD_OK;
}

Result<std::string> ExternalHook::why_not(const Asked& asked, JsonView payload) {
  // In such tools text from a Stop hook goes directly to the model and is not a user prompt.
  if (traits_of(definition_.dialect).users_prompts && definition_.event == AGENTD_EVENT_USER_MESSAGE_SEND &&
      payload["source"].string_or({}) == "hook")
    return std::string("the message is a hook's, not the user's");
  if (!definition_.matcher.matches_all()) {
    const std::vector<std::string> subjects = matcher_subjects(definition_, payload);
    const bool matches = std::any_of(subjects.begin(), subjects.end(),
                                     [&](const std::string& subject) { return definition_.matcher.matches(subject); });
    if (!subjects.empty() && !matches)
      return "its matcher '" + definition_.matcher.text() + "' does not match '" + subjects.front() + "'";
  }
  AGENTD_TRY(const bool rule, if_rule_holds(definition_, payload));
  if (!rule) return "its rule '" + definition_.if_rule + "' does not hold";
  AGENTD_TRY(const bool when, definition_.when.holds(payload));
  if (!when) return "its condition '" + definition_.when.text() + "' does not hold";
  AGENTD_TRY(const std::string repeated, asked_by_another(asked, payload));
  return repeated.empty() ? spent(asked) : repeated;
}

Result<std::string> ExternalHook::asked_by_another(const Asked& asked, JsonView payload) {
  for (ExternalHook* const each : earlier_) {
    AGENTD_TRY(const std::string why_not, each->why_not(asked, payload));
    if (why_not.empty()) return "it has the same command as " + each->definition_.name + ", which is called";
  }
  return std::string();
}

std::string ExternalHook::once_key(const Asked& asked) const {
  const agentd_envelope* const envelope = asked.call->envelope;
  return envelope == nullptr ? std::string() : std::string(view_of(envelope->conversation_id));
}

Result<std::string> ExternalHook::spent(const Asked& asked) {
  if (definition_.once == HookOnce::kAlways) return std::string();
  const std::string conversation = once_key(asked);
  if (definition_.once == HookOnce::kRun) {
    const MutexLock lock(mutex_);
    const std::string* const run = spent_.find(conversation);
    const bool this_run = run != nullptr && *run == view_of(asked.call->envelope->run_id);
    return this_run ? std::string("it has run once in this run") : std::string();
  }
  const auto kept =
      environment_.services.get(caller_of(asked.call->conversation, definition_.event, asked.slot->cancel_token()),
                                std::string(kOncePrefix) + conversation + "/" + definition_.name);
  if (kept) return std::string("it has run once in this conversation");
  if (kept.error().code == Code::kNotFound) return std::string();
  return kept.error();
}

void ExternalHook::mark_spent(const Asked& asked) {
  if (definition_.once == HookOnce::kAlways) return;
  const std::string conversation = once_key(asked);
  if (definition_.once == HookOnce::kRun) {
    const MutexLock lock(mutex_);
    spent_.put(conversation, std::string(view_of(asked.call->envelope->run_id)));
    return;
  }
  PluginKeyOp op;
  op.key = std::string(kOncePrefix) + conversation + "/" + definition_.name;
  op.value = "1";
  const auto kept = environment_.services.commit(
      caller_of(asked.call->conversation, definition_.event, asked.slot->cancel_token()), std::span(&op, 1));
  if (!kept)
    asked.slot->note(asked.token, "its run could not be recorded, so it may run again: " + kept.error().message);
}

agentd_status ExternalHook::run_aside(const Asked& asked, const std::string& payload_text) {
  const Deadline deadline = Deadline::after(environment_.clock, definition_.timeout.value_or(kBackgroundTime));
  const bool started = background_.start([this, text = payload_text, deadline](const CancelToken& cancel) {
    const auto payload = JsonDocument::parse(text);
    if (!payload) return;
    Verdict verdict = run(payload->root(), text, cancel, deadline);
    if (verdict.failed) verdict.log.push_back(definition_.name + " failed in the background: " + verdict.failure.text);
    for (const std::string& line : verdict.log) environment_.log.write(LogLevel::kWarning, "hooks", line);
  });
  if (!started) {
    asked.slot->fail(asked.token, AGENTD_E_BUSY,
                     {"it was not started: too many hooks run in the background", FailureText::kAll});
    return AGENTD_E_BUSY;
  }
  mark_spent(asked);
  asked.slot->note(asked.token, "started in the background");
  return AGENTD_OK;
}

agentd_status ExternalHook::answer_with(const Asked& asked, Verdict verdict) {
  if (!verdict.warnings.empty()) {
    const std::string warnings = joined(verdict.warnings);
    asked.slot->note(asked.token, warnings);
    verdict.log.push_back(definition_.name + ": " + warnings);
  }
  for (const std::string& line : verdict.log)
    if (!asked.slot->log_later(asked.token, line)) environment_.log.write(LogLevel::kWarning, "hooks", line);
  if (verdict.failed) {
    const agentd_status status = verdict.timed_out ? AGENTD_E_DEADLINE : AGENTD_E_IO;
    asked.slot->fail(asked.token, status, std::move(verdict.failure));
    return status;
  }
  for (Action& action : verdict.actions) asked.slot->emit(asked.token, std::move(action));
  return AGENTD_OK;
}

}  // namespace agentd
