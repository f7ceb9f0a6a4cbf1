// SPDX-License-Identifier: Apache-2.0
// external_run.cc - runs an external hook: as a program, a webhook or an extension, or takes its fixed answer.
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "core/base/bytes.h"
#include "core/dialects/transcript.h"
#include "core/dialects/translator.h"
#include "core/external/external_hook.h"
#include "core/external/hook_sandbox.h"
#include "core/process/filter.h"
#include "core/process/process.h"

namespace agentd {
namespace {

constexpr std::uint64_t kAnswerBytesMax = 1u << 20;
constexpr std::size_t kErrorBytesLogged = 4096;

// Fills in ${NAME} and ${env.NAME}; unknown names become empty.
template <typename Look>
std::string expanded(const std::string& text, const Look& look) {
  std::string out;
  std::size_t at = 0;
  for (;;) {
    const std::size_t begin = text.find("${", at);
    const std::size_t end = begin == std::string::npos ? begin : text.find('}', begin);
    if (end == std::string::npos) return out + text.substr(at);
    std::string name = text.substr(begin + 2, end - begin - 2);
    if (name.starts_with("env.")) name.erase(0, 4);
    out += text.substr(at, begin - at) + look(name).value_or("");
    at = end + 1;
  }
}

// Later entries replace earlier ones, as in a shell.
void put(std::vector<std::string>& environment, const std::string& entry) {
  const std::string name = entry.substr(0, entry.find('=') + 1);
  std::erase_if(environment, [&](const std::string& each) { return each.starts_with(name); });
  environment.push_back(entry);
}

// The value of a variable that the program has anyway.
std::optional<std::string> value_in(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& each : environment)
    if (each.starts_with(name + "=")) return each.substr(name.size() + 1);
  return std::nullopt;
}

RawAnswer not_started(const Error& error) {
  RawAnswer out;
  out.end = RawAnswer::End::kNotStarted;
  out.problem = error.message;
  return out;
}

RawAnswer answer_of(FilterResult result) {
  RawAnswer out;
  out.end = result.timed_out     ? RawAnswer::End::kTimedOut
            : result.cancelled   ? RawAnswer::End::kCancelled
            : result.signal != 0 ? RawAnswer::End::kSignalled
                                 : RawAnswer::End::kExited;
  // agentd kills a program that writes more than the cap; that signal is not the program's own end.
  if (result.output_over_cap && out.end == RawAnswer::End::kSignalled) out.end = RawAnswer::End::kExited;
  out.code = out.end == RawAnswer::End::kSignalled ? result.signal : std::max(result.exit_code, 0);
  out.out = std::move(result.output);
  out.err = std::move(result.error);
  out.out_over_cap = result.output_over_cap;
  out.children = result.children;
  out.remarks = std::move(result.after.remarks);
  out.undone = result.after.undone;
  return out;
}

// The exit code of the program that makes a sandbox, if it cannot: no part of the hook has run.
constexpr int kNoSandboxCode = 125;

// The canonical object with `hook` appended: its name and the time that it has.
std::string with_hook(std::string_view payload_text, const HookDefinition& definition, Milliseconds left) {
  JsonWriter hook;
  hook.begin_object().member("name", definition.name).member("attempt", 1);
  hook.member("deadline_ms", static_cast<std::int64_t>(left.count())).end_object();
  std::string out(payload_text.substr(0, payload_text.rfind('}')));
  return out + ",\"hook\":" + std::string(hook.text()) + "}";
}

}  // namespace

DialectContext ExternalHook::context_of(JsonView payload) const {
  DialectContext out;
  out.timestamp = iso_time(environment_.clock.wall_ms());
  if (environment_.permission_mode)
    out.permission_mode = environment_.permission_mode(payload["conv_id"].string_or({}));
  out.project_dir = environment_.project_dir;
  if (!traits_of(definition_.dialect).transcript) return out;
  out.transcript_path = transcript_path(environment_.transcript_directory, payload);
  if (!payload["messages"].is_array()) return out;
  if (auto written = write_transcript(out.transcript_path, payload, environment_.clock); !written)
    environment_.log.write(LogLevel::kWarning, "hooks", written.error().message);
  return out;
}

std::string ExternalHook::input_of(JsonView payload, const DialectContext& context, Deadline deadline) const {
  std::string input = dialect_input(definition_, payload, context);
  if (definition_.dialect != Dialect::kAgentd) return input;
  return with_hook(input, definition_, deadline.left(environment_.clock));
}

Verdict ExternalHook::run(JsonView payload, std::string_view, const CancelToken& cancel, Deadline deadline,
                          const std::function<void(Deadline)>& allow) {
  if (definition_.runs == HookRuns::kAction) {
    const auto answer = JsonDocument::parse(definition_.action_json);
    if (answer) return interpret_canonical(definition_.event, payload, answer->root());
    Verdict broken;
    broken.failed = true;
    broken.failure = "its action is not valid JSON: " + answer.error().message;
    return broken;
  }
  if (definition_.runs == HookRuns::kExtension)
    return extension_->call(definition_.event, payload, cancel, deadline, allow);
  const DialectContext context = context_of(payload);
  std::string input = input_of(payload, context, deadline);
  const std::string heard = environment_.tap ? input : std::string();
  const RawAnswer answer = definition_.runs == HookRuns::kWebhook
                               ? run_webhook(input, cancel, deadline)
                               : run_program(payload, context, std::move(input), cancel, deadline);
  if (environment_.tap) environment_.tap(definition_, heard, answer);
  Verdict verdict = interpret(definition_, payload, answer);
  verdict.children = answer.children;
  judge_sandbox(answer, verdict);
  // The failure quotes one line of it; the log has all of it.
  if (verdict.failed && !trimmed(answer.err).empty())
    verdict.log.push_back(definition_.name + " wrote on standard error: " + one_line(answer.err, kErrorBytesLogged));
  return verdict;
}

// A hook that changed what its sandbox guards has failed, whatever it answered.
void ExternalHook::judge_sandbox(const RawAnswer& answer, Verdict& verdict) const {
  if (answer.remarks.empty()) return;
  const std::string remarks = "in the sandbox: " + join(answer.remarks, "; ");
  if (!answer.undone) return verdict.warnings.push_back(remarks);
  verdict.log.push_back(definition_.name + ": " + remarks);
  verdict.actions.clear();
  verdict.failed = true;
  verdict.failure = {remarks, FailureText::kAll};
}

RawAnswer ExternalHook::run_webhook(std::string_view input, const CancelToken& cancel, Deadline deadline) const {
  return post_webhook(definition_, input, environment_.http(), environment_.webhooks, environment_.variable, cancel,
                      deadline, environment_.clock);
}

RawAnswer ExternalHook::run_program(JsonView payload, const DialectContext& context, std::string input,
                                    const CancelToken& cancel, Deadline deadline) const {
  FilterRequest request;
  request.environment = environment_of_hooks(environment_);
  for (const std::string& entry : dialect_environment(definition_, payload, context)) put(request.environment, entry);
  for (const std::string& entry : hook_environment(definition_, payload)) put(request.environment, entry);
  // In the sandbox no variable that it would not have without asking.
  const std::vector<std::string> before = definition_.sandbox ? request.environment : std::vector<std::string>();
  const auto look = [&](const std::string& name) {
    return definition_.sandbox ? value_in(before, name) : environment_.variable(name);
  };
  for (const auto& [name, value] : definition_.environment)
    put(request.environment, name + "=" + expanded(value, look));
  request.input = std::move(input);
  request.output_bytes_max = kAnswerBytesMax;
  request.cwd =
      definition_.working_directory.empty() ? std::string(payload["cwd"].string_or({})) : definition_.working_directory;
  std::optional<ScriptCopy> copy;  // exists during the run
  switch (definition_.runs) {
    case HookRuns::kFile:
      request.argv = {definition_.path, "run"};
      if (bytes_.script) {
        auto placed = bytes_.script->place();
        if (!placed) return not_started(placed.error());
        copy.emplace(std::move(*placed));
        request.program = copy->path;
      } else if (bytes_.program) {
        request.program_fd = bytes_.program->fd.get();
        request.program = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(request.program_fd);
      }
      break;
    case HookRuns::kShell:
      request.argv = {shell_of(definition_.dialect), "-c", definition_.command};
      break;
    case HookRuns::kArgv:
      request.argv = definition_.argv;
      break;
    case HookRuns::kWebhook:
    case HookRuns::kAction:
    case HookRuns::kExtension:
      break;
  }
  if (!definition_.sandbox) {
    auto result = run_filter(request, environment_.clock, cancel, deadline);
    return result ? answer_of(std::move(*result)) : not_started(result.error());
  }
  std::vector<std::string> readable = hook_readable(definition_, bytes_, value_in(before, "HOME").value_or(""));
  if (!context.transcript_path.empty()) readable.push_back(context.transcript_path);
  request.cage = hook_cage(environment_, readable);
  auto result = run_filter(request, environment_.clock, cancel, deadline);
  if (!result) return not_started(result.error());
  if (result->exit_code == kNoSandboxCode && result->signal == 0)
    return not_started({Code::kUnavailable, "its sandbox cannot be made: " + one_line(result->error, 500)});
  return answer_of(std::move(*result));
}

}  // namespace agentd
