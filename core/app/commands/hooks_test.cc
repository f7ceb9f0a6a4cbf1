// SPDX-License-Identifier: Apache-2.0
#include "core/agent/receipts.h"
#include "core/app/approver.h"
#include "core/app/commands/commands.h"
#include "core/app/commands/hooks_trial.h"
#include "core/app/exit_codes.h"
#include "core/app/signals.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/hooks/contract.h"
#include "core/hooks/payload_json.h"
#include "core/workplace/workplace.h"

namespace agentd::app {
namespace {

constexpr std::uint64_t kPayloadBytesMax = 64u << 20;
constexpr std::size_t kShownTrialBytes = 4000;

// A sample event happens in the current directory, so that programs can be started in it.
std::string made_up(std::uint32_t event, const Project& project) {
  std::string text = sample_payload(event);
  const auto json = JsonDocument::parse(text);
  if (!json) return text;
  JsonWriter out;
  out.begin_object();
  for (std::size_t i = 0; i < json->root().size(); ++i) {
    const std::string_view key = json->root().key_at(i);
    out.key(key);
    if (key == "cwd")
      out.string(project.cwd);
    else if (key == "project_id")
      out.string(project.id);
    else
      out.value(json->root().at(i));
  }
  out.end_object();
  return std::string(out.text());
}

Result<std::string> given_payload(App& app, const std::string& file) {
  if (file == "-") return read_all(app.surroundings().input, kPayloadBytesMax);
  auto text = read_file(file[0] == '/' ? file : app.surroundings().cwd + "/" + file, kPayloadBytesMax);
  if (!text) return Error{text.error().code, "--payload " + one_line(file, 200) + ": " + text.error().message};
  return text;
}

// The event of --event, of the payload, or the only one that the hook subscribes to; 0 = the payload's.
Result<std::uint32_t> wanted_event(const Trial& trial, const Arguments& arguments) {
  const std::string name = arguments.value("event");
  if (!name.empty()) {
    const EventTraits* const event = find_event(name);
    if (event != nullptr) return event->id;
    return Error{Code::kInvalid,
                 "unknown event '" + one_line(name, 80) + "'; the hook subscribes to " + joined(trial.events())};
  }
  if (arguments.has("payload")) return 0u;
  if (trial.events().size() == 1) return find_event(trial.events()[0])->id;
  return Error{Code::kInvalid, "name an event: --event " + joined(trial.events(), ", or ")};
}

Result<PayloadRecord> record_of(App& app, const HooksHere& here, const Trial& trial, const Arguments& arguments) {
  AGENTD_TRY(const std::uint32_t event, wanted_event(trial, arguments));
  std::string text;
  if (arguments.has("payload")) {
    AGENTD_TRY(text, given_payload(app, arguments.value("payload")));
  } else {
    text = made_up(event, here.project);
  }
  AGENTD_TRY(PayloadRecord record, PayloadRecord::from_json(text, event));
  if (trial.listens_to(record.event())) return record;
  return Error{Code::kInvalid, arguments.words()[0] + " is not called at " +
                                   std::string(find_event(record.event())->name) + "; it subscribes to " +
                                   joined(trial.events())};
}

std::string end_text(const RawAnswer& answer) {
  switch (answer.end) {
    case RawAnswer::End::kExited:
      return answer.http_status != 0 ? "status " + std::to_string(answer.http_status)
                                     : "exit code " + std::to_string(answer.code);
    case RawAnswer::End::kSignalled:
      return "ended by signal " + std::to_string(answer.code);
    case RawAnswer::End::kTimedOut:
      return "timed out";
    case RawAnswer::End::kCancelled:
      return "cancelled";
    case RawAnswer::End::kNotStarted:
      return "not started: " + answer.problem;
  }
  return {};
}

void print_hook(Output& out, const Tried& tried, const std::string& event) {
  const auto line = [&](std::string_view what, const std::string& text) {
    if (!text.empty()) out.print("  " + std::string(what) + neutral_line(text, kShownTrialBytes) + "\n");
  };
  out.print(neutral_line(tried.hook, 200) + " · " + event + " · " + with_commas(tried.duration_us) + " µs · " +
            std::string(name_of(tried.effect)) + "\n");
  if (tried.was_run) {
    line("input:   ", tried.input);
    line("ended:   ", end_text(tried.answer));
    line("answer:  ", tried.answer.out);
    line("stderr:  ", tried.answer.err);
  }
  for (const Action& action : tried.actions) line("verdict: ", action_text(action));
  if (tried.actions.empty() && tried.status == AGENTD_OK && tried.effect != AnswerEffect::kSkipped)
    line("verdict: ", "no answer");
  line("failed:  ", tried.failure);
  line("note:    ", tried.note);
}

std::string json_of(const Tried& tried, const std::string& event) {
  JsonWriter json;
  json.begin_object().member("hook", tried.hook).member("event", event);
  json.member("effect", name_of(tried.effect)).member("duration_us", tried.duration_us);
  if (tried.was_run) {
    json.member("input", tried.input).member("ended", end_text(tried.answer));
    json.member("answer", tried.answer.out).member("stderr", tried.answer.err);
  }
  json.key("verdict").raw(answer_json(tried.actions, find_event(event)->id));
  json.optional("failure", tried.failure).optional("note", tried.note).end_object();
  return std::string(json.text());
}

std::string summary(const TrialReport& report, bool dry) {
  const Outcome* const outcome = report.outcome.get();
  if (outcome == nullptr) return "nothing would change";
  if (outcome->stop)
    return std::string(dry ? "the run would be stopped: " : "the run is stopped: ") + outcome->stop->action.text;
  if (outcome->blocked)
    return std::string(dry ? "would be blocked" : "blocked") +
           (outcome->blocked_by_failure ? ", because the guard failed: " : ": ") + outcome->reason;
  if (!outcome->failures.empty()) return "the hook failed; it fails open, so the run would continue";
  return dry ? "dry run: the answer was ignored" : "the answer was ignored: there is no run";
}

std::string summary_json(const TrialReport& report, const PayloadRecord& record) {
  const Outcome* const outcome = report.outcome.get();
  JsonWriter json;
  json.begin_object().key("outcome").begin_object();
  json.member("blocked", outcome != nullptr && outcome->blocked);
  if (outcome != nullptr && outcome->blocked) json.member("reason", outcome->reason);
  if (outcome != nullptr && outcome->stop) json.member("stop_run", outcome->stop->action.text);
  json.member("failures", std::uint64_t{outcome == nullptr ? 0 : outcome->failures.size()});
  if (outcome != nullptr && !outcome->rewrites.empty())
    json.key("rewritten").raw(payload_json(record.event(), record.envelope(), record.payload()));
  json.end_object().end_object();
  return std::string(json.text());
}

int exit_of(const TrialReport& report, bool dry) {
  if (report.outcome == nullptr) return kExitOk;
  if (report.outcome->stop && !dry) return kExitStopped;
  if (report.outcome->blocked && !dry) return kExitBlocked;
  return report.outcome->failures.empty() ? kExitOk : kExitFailure;
}

int ask(App& app, const Arguments& arguments, const HooksHere& here, const ExternalEnvironment* environment) {
  const bool dry = environment == nullptr;
  auto trial = Trial::load(app, here, arguments.words()[0], environment);
  if (!trial) return app.fail(trial.error().code, trial.error().message);
  auto record = record_of(app, here, **trial, arguments);
  if (!record)
    return app.fail(record.error().code == Code::kNotFound ? kExitNotFound : kExitUsage, record.error().message);
  SignalScope signals;
  const std::string event(find_event(record->event())->name);
  const TrialReport report =
      (*trial)->ask(*record, signals.next(), Milliseconds(here.config.whole("hooks.deadline_ms")));
  if (arguments.has("json")) {
    for (const Tried& tried : report.hooks) app.out().print(json_of(tried, event) + "\n");
    app.out().print(summary_json(report, *record) + "\n");
  } else {
    for (const Tried& tried : report.hooks) print_hook(app.out(), tried, event);
    app.out().print(neutral_line(summary(report, dry), kShownTrialBytes) + "\n");
  }
  return signals.caught() != 0 ? 128 + signals.caught() : exit_of(report, dry);
}

int fail(App& app, const RunError& error) {
  const Failure failure = failure_of(error);
  return app.fail(failure.code, failure.message);
}

}  // namespace

int hooks_test_command(App& app, const Arguments& arguments) {
  const auto here = hooks_here(app, arguments);
  if (!here) return app.fail(here.error().code, here.error().message);
  return ask(app, arguments, *here, nullptr);
}

int hooks_run_command(App& app, const Arguments& arguments) {
  const auto here = hooks_here(app, arguments);
  if (!here) return app.fail(here.error().code, here.error().message);
  const Warn nobody = [](const std::string&) {};  // the trial tells what happened
  auto runtime = Runtime::begin(app.surroundings(), here->config, app.clock(), {true, false}, nobody);
  if (!runtime) return fail(app, runtime.error());
  auto workplace = Workplace::find(**runtime, app.surroundings().cwd, {false, false}, nobody);
  if (!workplace) return fail(app, workplace.error());
  if (auto opened = (*runtime)->open(); !opened) return fail(app, opened.error());
  const ExternalEnvironment environment = (*workplace)->hooks().environment();
  return ask(app, arguments, *here, &environment);
}

}  // namespace agentd::app
