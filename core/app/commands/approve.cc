// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "core/agent/waits.h"
#include "core/app/approver.h"
#include "core/app/commands/bundled_tools.h"
#include "core/app/commands/commands.h"
#include "core/app/commands/hooks_shared.h"
#include "core/app/conversations.h"
#include "core/app/exit_codes.h"
#include "core/app/keyboard.h"
#include "core/app/render.h"
#include "core/app/signals.h"
#include "core/app/table.h"
#include "core/app/talk.h"
#include "core/app/transcript.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/runtime/credentials.h"
#include "core/workplace/project_rules.h"

namespace agentd::app {
namespace {

constexpr std::size_t kShownWaitBytes = 200;

// ---- --list

std::string json_of(const WaitingCall& waiting) {
  const WaitRecord& wait = waiting.open.wait;
  JsonWriter out;
  out.begin_object().member("wait_id", wait.id).member("conv_id", waiting.root.text());
  if (waiting.root != waiting.conversation) out.member("agent_id", waiting.conversation.text());
  out.member("call_id", wait.call_id).member("name", wait.tool).key("input").raw(wait.input);
  out.optional("hook", wait.by).optional("reason", wait.reason);
  out.member("cwd", wait.cwd).member("until_ms", wait.until_ms);
  if (waiting.open.answer) out.member("answer", waiting.open.answer->decision);
  out.end_object();
  return std::string(out.text());
}

int list(App& app, const Arguments& arguments) {
  auto store = existing_store(app);
  if (!store) return app.fail(store.error().code, store.error().message);
  std::vector<WaitingCall> waits;
  if (*store) {
    auto found = list_waits(**store, app.clock().wall_ms());
    if (!found) return app.fail(store_exit(found.error()), found.error().message);
    waits = std::move(*found);
  }
  if (arguments.has("json")) {
    for (const WaitingCall& each : waits) app.out().line(json_of(each));
    return kExitOk;
  }
  if (waits.empty()) {
    app.out().line("nothing waits for an answer");
    return kExitOk;
  }
  std::vector<std::vector<std::string>> rows;
  for (const WaitingCall& each : waits) {
    const WaitRecord& wait = each.open.wait;
    rows.push_back({wait.id, time_text(wait.until_ms),
                    each.open.answer                         ? "answered: " + each.open.answer->decision
                    : app.clock().wall_ms() >= wait.until_ms ? "too late"
                                                             : "waits",
                    neutral_line(wait.tool + " " + call_summary(wait.input), kShownWaitBytes),
                    neutral_line(wait.cwd, kShownWaitBytes)});
  }
  app.out().print(table_text({{"ID"}, {"UNTIL"}, {"STATE"}, {"CALL"}, {"DIRECTORY"}}, rows, app.out().columns()));
  return kExitOk;
}

// ---- the answer

int found_exit(const Error& error) {
  if (error.code == Code::kInvalid) return kExitUsage;
  return error.code == Code::kConflict ? static_cast<int>(kExitBlocked) : store_exit(error);
}

// The directory, the conversation and the time of the call.
std::string place_text(const WaitRecord& wait, const WaitRecord& run, const ConversationInfo& info) {
  return "in " + neutral_line(wait.cwd, kShownWaitBytes) + ", for the conversation " + info.id + " (" +
         neutral_line(info.title, kShownWaitBytes) + ")" +
         (run.recipe.empty() ? "" : ", in the recipe " + neutral_line(run.recipe, kShownWaitBytes)) +
         (wait.id == run.id ? "" : ", by a subagent") + "; it waits until " + iso_time(wait.until_ms) + "\n";
}

Result<UniqueFd, Failure> open_terminal() {
  UniqueFd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (terminal.valid()) return terminal;
  return Failure{kExitUsage, "the call was not answered: a person answers on a terminal, and this process has none"};
}

SessionContext context_of(const WaitRecord& wait) { return {0, wait.conversation_id, wait.cwd, wait.roots}; }

// The rules that "always" would keep, as in the question of a terminal: of the project of the call, and only where the
// rules of the settings would ask once. None for a hook's question, which is asked each time.
std::vector<std::string> rules_of_always(const App& app, const HooksHere& here, const WaitRecord& wait) {
  if (!wait.by.empty()) return {};
  const std::vector<Tool> tools = bundled_tools(app, here, inventory_of(app, here));
  const auto tool = std::find_if(tools.begin(), tools.end(), [&](const Tool& each) { return each.name == wait.tool; });
  if (tool == tools.end()) return {};
  const std::string home = app.surroundings().environment("HOME").value_or("");
  const std::string start(context_of(wait).start());
  const auto input = ToolInput::make(wait.input, {tool->path_keys, start, wait.cwd, home, wait.roots});
  if (!input) return {};
  const PermissionRules rules = project_rules(app.surroundings(), here.config, here.home, here.project);
  const PathPlace place{start, home, wait.roots};
  const PermissionVerdict verdict = rules.decide(*tool, *input, place);
  if (verdict.permission != Permission::kAsk || verdict.binding) return {};
  return exact_rules(*tool, *input, place);
}

// The answer of a person, and whether it holds for later calls.
struct Said {
  GivenAnswer answer;
  bool always = false;
};

Result<Said, Failure> ask(App& app, const Arguments& arguments, const WaitRecord& wait, const std::string& place_line,
                          const std::vector<std::string>& keeps) {
  auto terminal = open_terminal();
  if (!terminal) return terminal.error();
  const std::string reason = arguments.value("reason");
  GivenAnswer out{WaitDecision::kDeny, "user", "approve",
                  "the user said no" + (reason.empty() ? "" : ": " + one_line(reason, 2000))};
  if (arguments.has("deny")) return Said{std::move(out)};
  auto input = ToolInput::make(wait.input);
  if (!input) return Failure{kExitStore, "the input of the call " + input.error().message};
  TerminalApprover::Place place;
  place.before = [&place_line, fd = terminal->get()] { (void)write_all(fd, place_line); };
  place.terminal = std::move(*terminal);
  place.pastes = marks_pastes(app.surroundings().environment("TERM").value_or(""));
  place.always = !keeps.empty();
  place.hidden = Credentials::file(app.home().value_or(""));
  TerminalApprover approver(std::move(place));
  Tool tool;
  tool.name = wait.tool;
  PermissionAnswer answer;
  int signal = 0;
  {
    const SignalScope signals;
    answer =
        approver.ask(context_of(wait), tool, {wait.call_id, wait.tool, *input}, {wait.by, wait.reason, false, keeps});
    signal = signals.caught();
  }
  if (signal != 0) return Failure{signal_exit(signal), "interrupted: " + wait.id + " still waits"};
  if (!answer.given) return Failure{kExitFailure, wait.id + " still waits: " + answer.reason};
  if (answer.allowed) out.decision = WaitDecision::kAllow;
  out.reason = answer.reason;
  return Said{std::move(out), answer.allowed && answer.remember};
}

// ---- the run

// The settings of the run, unless the options say otherwise.
Result<Arguments> arguments_of(const Arguments& given, const WaitRecord& wait) {
  std::vector<std::string> words = wait.options;
  for (const std::string& setting : {"provider=" + wait.provider, "model=" + wait.model}) {
    words.emplace_back("--set");
    words.push_back(setting);
  }
  for (const OptionSpec& option : given.command().options) {
    if (option.value.empty() && given.has(option.name)) words.push_back("--" + std::string(option.name));
    for (const std::string& value : given.values(option.name)) {
      if (option.value.empty()) continue;
      words.push_back("--" + std::string(option.name));
      words.push_back(value);
    }
  }
  return parse_arguments(given.command(), words);
}

void show_result(Talk& talk, App& app, const WaitRecord& wait, const RunReport& report) {
  const bool answered = report.outcome != RunOutcome::kWaiting;
  if (wait.direct && answered && talk.style() == Talk::Style::kJson) {
    JsonWriter out;
    out.begin_object().member("type", "tool_result").member("call_id", wait.call_id).member("name", wait.tool);
    out.member("content", report.final_text).end_object();
    app.out().line(out.text());
  } else if (answered && (wait.direct || talk.style() == Talk::Style::kResultOnly) && !report.final_text.empty()) {
    const bool as_json = !wait.output_schema.empty() && !app.out().tty();
    app.out().line(as_json ? json_line(report.final_text) : neutral(report.final_text));
  }
  talk.footer(report);
}

class Approval {
 public:
  // `run`: the wait of the conversation that goes on.
  Approval(App& app, const Arguments& arguments, const WaitingCall& waiting, WaitRecord run, std::string place_line)
      : app_(app), arguments_(arguments), waiting_(waiting), run_(std::move(run)), place_line_(std::move(place_line)) {}

  // Keeps the answer alone.
  int keep(Store& store) {
    Surroundings surroundings = app_.surroundings();
    surroundings.cwd = run_.cwd;
    const App there(std::move(surroundings), app_.out(), app_.err());
    // The answer itself needs neither the settings nor the directory of the run.
    const auto arguments = arguments_of(arguments_, run_);
    auto always = arguments ? always_in(there, *arguments) : Result<Always, Failure>(Always());
    auto answer = answer_in(store, always ? *always : Always());
    if (!answer) return app_.fail(answer.error().code, answer.error().message);
    const bool allowed = *answer == WaitDecision::kAllow;
    if (arguments_.has("json")) {
      JsonWriter out;
      out.begin_object().member("wait_id", waiting_.open.wait.id).member("conv_id", waiting_.root.text());
      out.member("answer", name_of(*answer));
      if (!kept_.empty()) {
        out.key("kept").begin_array();
        for (const std::string& rule : kept_) out.string(rule);
        out.end_array();
      }
      out.end_object();
      app_.out().line(out.text());
    } else {
      if (!kept_.empty()) app_.out().line("kept for this project: " + neutral_line(join(kept_, ", "), 2000));
      app_.out().line((allowed ? "allowed: " : "denied: ") + neutral_line(waiting_.open.wait.tool, kShownWaitBytes) +
                      "; 'agentd approve " + waiting_.open.wait.id + (allowed ? "" : " --deny") +
                      "' continues the run");
    }
    return kExitOk;
  }

  // Answers, unless that is done, and goes on. Whatever keeps the run from going on is found before the question.
  int go_on() {
    if (::chdir(run_.cwd.c_str()) != 0)
      return app_.fail(kExitNotFound, neutral_line(run_.cwd, kShownWaitBytes) +
                                          ", the directory of the run, is not there: nothing was answered");
    Surroundings surroundings = app_.surroundings();
    surroundings.cwd = run_.cwd;
    App there(std::move(surroundings), app_.out(), app_.err());
    const auto arguments = arguments_of(arguments_, run_);
    if (!arguments) return app_.fail(kExitUsage, arguments.error().message);
    // Before the run loads its own plugins.
    const auto always = always_in(there, *arguments);
    if (!always) return app_.fail(always.error().code, always.error().message);
    Talk::Wishes wishes{true, true, &run_};
    wishes.served = true;
    auto talk = Talk::begin(there, *arguments, wishes);
    if (!talk)
      return app_.fail(talk.error().code, talk.error().message + "; to deny the call without its run: agentd approve " +
                                              waiting_.open.wait.id + " --deny --no-run");
    if (!waiting_.open.answer) {
      std::unique_ptr<Store> own;
      const auto store = (*talk)->store(own);
      if (!store) return app_.fail(store.error().code, store.error().message);
      auto answer = answer_in(**store, *always);
      if (!answer) return app_.fail(answer.error().code, answer.error().message);
    }
    SignalScope signals;
    const CancelToken cancel = signals.next();
    if (auto attached = (*talk)->attach(waiting_.root, cancel); !attached)
      return app_.fail(attached.error().code, attached.error().message + again());
    const auto report = (*talk)->carry_on(cancel);
    (*talk)->settle();
    int code = kExitOk;
    if (report) {
      show_result(**talk, app_, run_, *report);
      code = run_exit(report->outcome);
      if (const auto failed = (*talk)->recipe_failure()) code = app_.fail(kExitFailure, *failed);
    } else {
      code = failed(report.error(), signals.caught());
    }
    (*talk)->end(end_reason(code, signals.caught()));
    return code;
  }

 private:
  // The rules that "always" would keep, and their project.
  struct Always {
    std::string home, root;
    std::vector<std::string> rules;
  };
  // `there`, `arguments`: the program in the directory of the run, with its settings.
  Result<Always, Failure> always_in(const App& there, const Arguments& arguments) const {
    if (waiting_.open.answer || arguments_.has("deny")) return Always();
    const auto here = hooks_here(there, arguments);
    if (!here) return here.error();
    return Always{here->home, here->project.root, rules_of_always(there, *here, waiting_.open.wait)};
  }
  Result<WaitDecision, Failure> answer_in(Store& store, const Always& always) {
    const WaitRecord& wait = waiting_.open.wait;
    auto said = ask(app_, arguments_, wait, place_line_, always.rules);
    if (!said) return said.error();
    GivenAnswer* const answer = &said->answer;
    auto reason = app_.pass_text(arguments_, std::move(answer->reason));
    if (!reason) return Failure{kExitUsage, reason.error().message};
    answer->reason = std::move(*reason);
    if (auto kept = answer_wait(store, app_.clock(), waiting_, *answer); !kept) return failure_of(kept.error());
    if (said->always) keep_for_good(always);
    return answer->decision;
  }
  // For later calls: this one is answered, whatever becomes of it.
  void keep_for_good(const Always& always) {
    const WaitRecord& wait = waiting_.open.wait;
    auto kept = KeptAnswers::open(always.home, always.root);
    const auto done = kept ? (*kept)->keep(always.rules, app_.clock().wall_ms(), waiting_.root.text(),
                                           std::string(context_of(wait).start()))
                           : Result<void>(kept.error());
    if (done)
      kept_ = always.rules;
    else
      app_.err().line("agentd: warning: the call is allowed this once, since the answer was not kept: " +
                      neutral_line(done.error().message, kShownWaitBytes));
  }
  std::string again() const { return "; continue with: agentd run --resume " + waiting_.root.text() + " \"...\""; }
  int failed(const RunError& error, int signal) {
    const bool cancelled = error.kind == RunError::Kind::kCancelled;
    const Failure failure = failure_of(error);
    if (cancelled && signal == SIGPIPE) return app_.fail(signal_exit(signal), kReaderLeft);
    return app_.fail(cancelled ? signal_exit(signal) : failure.code,
                     (failure.message.empty() ? "the run was interrupted" : failure.message) + again());
  }

  App& app_;
  const Arguments& arguments_;
  const WaitingCall& waiting_;
  const WaitRecord run_;
  const std::string place_line_;
  std::vector<std::string> kept_;  // the rules of an "always"
};

Result<void> check_approve_words(const Arguments& arguments) {
  const auto wrong = [](std::string why) { return Error{Code::kInvalid, std::move(why)}; };
  if (!arguments.has("list") && arguments.words().empty())
    return wrong("name the call to answer: 'agentd approve --list' shows what waits");
  if (arguments.has("list") && (!arguments.words().empty() || arguments.has("deny") || arguments.has("no-run")))
    return wrong("--list only shows what waits: omit the id, --deny and --no-run");
  if (arguments.has("reason") && !arguments.has("deny"))
    return wrong("--reason goes with --deny: a call that is allowed needs none");
  return {};
}

}  // namespace

int approve_command(App& app, const Arguments& arguments) {
  if (auto checked = check_approve_words(arguments); !checked) return app.fail(kExitUsage, checked.error().message);
  if (arguments.has("list")) return list(app, arguments);
  const std::string& id = arguments.words().front();
  auto store = existing_store(app);
  if (!store) return app.fail(store.error().code, store.error().message);
  if (!*store)
    return app.fail(kExitNotFound, "no wait has the id " + neutral_line(id, kShownWaitBytes) + ": nothing waits");
  auto found = find_wait(**store, id);
  if (!found) return app.fail(found_exit(found.error()), found.error().message);
  const WaitingCall waiting = std::move(*found);
  // Before anybody is asked: an answer that is there, a time that is over, and somebody who works there.
  const bool answered = waiting.open.answer.has_value();
  const bool agrees = answered && waiting.open.answer->allows() != arguments.has("deny") && !arguments.has("no-run");
  if (!agrees && (answered || app.clock().wall_ms() >= waiting.open.wait.until_ms)) {
    const auto kept = answer_wait(**store, app.clock(), waiting, {WaitDecision::kExpired, "clock", "approve", {}});
    const Failure failure = kept ? Failure{kExitBlocked, "its time is over"} : failure_of(kept.error());
    const bool denied = !answered || !waiting.open.answer->allows();
    return app.fail(failure.code, failure.message + "; 'agentd approve " + waiting.open.wait.id +
                                      (denied ? " --deny" : "") + "' continues the run");
  }
  if (!answered)
    if (auto terminal = open_terminal(); !terminal) return app.fail(terminal.error().code, terminal.error().message);
  for (const Ulid& conversation : {waiting.conversation, waiting.root})
    if (const auto lease = (*store)->lease(conversation); !lease) {
      // It may have been answered a moment ago.
      const auto now = find_wait(**store, waiting.open.wait.id);
      if (!now && now.error().code == Code::kConflict) return app.fail(found_exit(now.error()), now.error().message);
      return app.fail(store_exit(lease.error()), lease.error().message);
    }
  const auto run = wait_of(**store, waiting.root);
  const auto info = (*store)->info(waiting.root);
  if (!run || !info) return app.fail(kExitStore, run ? info.error().message : run.error().message);
  if (!*run) return app.fail(kExitNotFound, "the conversation " + waiting.root.text() + " waits no longer");
  Approval approval(app, arguments, waiting, (*run)->wait, place_text(waiting.open.wait, (*run)->wait, *info));
  if (arguments.has("no-run")) return approval.keep(**store);
  store->reset();  // a process opens it once
  return approval.go_on();
}

}  // namespace agentd::app
