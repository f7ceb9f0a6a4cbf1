// SPDX-License-Identifier: Apache-2.0
#include "core/app/talk.h"

#include "core/app/conversations.h"
#include "core/app/exit_codes.h"
#include "core/app/keyboard.h"
#include "core/app/message_input.h"
#include "core/app/signals.h"
#include "core/runtime/credentials.h"
#include "core/workplace/project.h"
#include "core/workplace/recipe_setup.h"

namespace agentd::app {

Talk::Talk(App& app, const Arguments& arguments, Config config)
    : app_(app), arguments_(arguments), config_(std::move(config)) {
  if (arguments.has("json")) style_ = Style::kJson;
  // An answer with a schema is for a program: answers that do not fit are not shown.
  else if (arguments.has("result-only") || arguments.has("output-schema"))
    style_ = Style::kResultOnly;
}

Result<std::unique_ptr<Talk>, Failure> Talk::begin(App& app, const Arguments& arguments, bool needs_model,
                                                   bool will_run) {
  if (arguments.has("json") && arguments.has("result-only"))
    return Failure{kExitUsage, "--json and --result-only exclude each other"};
  Result<Config> config = app.config(arguments);
  if (!config) return Failure{kExitUsage, config.error().message};
  auto talk = std::unique_ptr<Talk>(new Talk(app, arguments, std::move(*config)));
  if (auto started = talk->start(needs_model, will_run); !started) return started.error();
  return talk;
}

Result<void, Failure> Talk::start(bool needs_model, bool will_run) {
  const bool trace = config_.flag("hooks.trace");
  EventSink* sink = nullptr;
  switch (style_) {
    case Style::kTerminal:
      terminal_ = std::make_unique<TerminalRenderer>(app_.out(), app_.err(), trace);
      sink = terminal_.get();
      break;
    case Style::kJson:
      json_ = std::make_unique<JsonRenderer>(app_.out());
      sink = json_.get();
      break;
    case Style::kResultOnly:
      quiet_ = std::make_unique<QuietRenderer>(app_.err());
      sink = quiet_.get();
      break;
  }
  watch_ = std::make_unique<ReaderWatch>(*sink, app_.out(), [] { end_for_reader(); });
  const std::vector<std::string> roots = config_.list("workspace.roots");
  approver_ = make_approver(app_.err().tty(), {{},
                                               marks_pastes(app_.surroundings().environment("TERM").value_or("")),
                                               roots.empty() ? app_.surroundings().cwd : roots.front(),
                                               Credentials::file(app_.home().value_or("")),
                                               [this] { settle(); },
                                               [this] {
                                                 if (terminal_) terminal_->resume();
                                               },
                                               [this](std::string text) {
                                                 if (keep_typed_) keep_typed_(std::move(text));
                                               }});
  EngineOptions options;
  options.save = !arguments_.has("no-save");
  options.safe_mode = arguments_.has("safe-mode");
  options.hooks = !arguments_.has("no-hooks") && !options.safe_mode;
  options.tools = !arguments_.has("no-tools");
  options.trace_hooks = trace || style_ == Style::kJson;
  options.needs_model = needs_model;
  options.will_run = will_run;
  options.recipe = arguments_.value("recipe");
  auto values = recipe_arguments(arguments_.values("arg"));
  if (!values) return Failure{kExitUsage, values.error().message};
  options.recipe_arguments = std::move(*values);
  auto engine = Engine::build(app_, config_, options, *watch_, *approver_);
  if (!engine) return engine.error();
  engine_ = std::move(*engine);
  return {};
}

Result<std::optional<Ulid>, Failure> Talk::wanted() const {
  const bool by_id = arguments_.has("resume") || arguments_.has("conversation-id");
  if (by_id && arguments_.has("follow")) return Failure{kExitUsage, "--follow and an id exclude each other"};
  if ((by_id || arguments_.has("follow")) && arguments_.has("no-save"))
    return Failure{kExitUsage, "--no-save cannot continue a conversation; omit it"};
  if (by_id) {
    const std::string text = arguments_.value(arguments_.has("resume") ? "resume" : "conversation-id");
    auto found = find_conversation(engine_->store(), text);
    if (!found) return found.error();
    return std::optional<Ulid>(*found);
  }
  if (!arguments_.has("follow")) return std::optional<Ulid>();
  auto found = newest_conversation(engine_->store(), engine_->project());
  if (!found) return found.error();
  if (const std::string note = unanswered_note(engine_->store(), engine_->project(), *found); !note.empty())
    watch_->on_event(RunEvent(told::Warning{note}));
  return std::optional<Ulid>(*found);
}

Result<void, Failure> Talk::attach(const CancelToken& cancel) {
  auto id = wanted();
  if (!id) return id.error();
  engine_->record_hooks();
  auto session = engine_->agent().open(*id, cancel);
  if (!session) return failure_of(session.error());
  session_ = std::move(*session);
  return {};
}

Result<void, Failure> Talk::clear(const CancelToken& cancel) {
  auto fresh = engine_->agent().clear(*session_, cancel);
  settle();
  if (!fresh && fresh.error().kind != RunError::Kind::kBlocked && fresh.error().kind != RunError::Kind::kCancelled)
    session_.reset();
  if (!fresh) return failure_of(fresh.error());
  session_ = std::move(*fresh);
  return {};
}

bool Talk::has_messages() const {
  const auto id = Ulid::parse(session_->conversation_id());
  if (!id) return false;
  const auto info = engine_->store().info(*id);
  return info && info->messages != 0;
}

void Talk::settle() {
  if (terminal_) terminal_->settle();
}

void Talk::footer(const RunReport& report) {
  settle();
  if (style_ != Style::kTerminal) return;
  std::string line = "conversation " + session_->conversation_id();
  if (report.gauge.limit != 0) line += " · context " + std::to_string(report.gauge.percent()) + " %";
  line += " · " + std::to_string(report.turns) + (report.turns == 1 ? " turn" : " turns");
  if (const std::string cost = cost_text(report.usage); !cost.empty()) line += " · " + cost;
  if (report.outcome == RunOutcome::kMaxTurns) line += " · stopped at the turn limit";
  app_.err().line(app_.err().styled("2", line));
  app_.err().flush();
}

void Talk::end(std::string_view reason) {
  if (!session_) return;
  session_->end(reason);
  settle();
  session_.reset();
}

Result<WithFiles> attached(App& app, const Arguments& arguments, const std::string& text) {
  if (text.find('@') == std::string::npos) return WithFiles{text, {}, {}};
  const std::string& cwd = app.surroundings().cwd;
  const auto config = app.config(arguments);
  std::vector<std::string> roots = config ? config->list("workspace.roots") : std::vector<std::string>{};
  if (roots.empty()) roots = {cwd, find_project(cwd).root};
  AGENTD_TRY(WithFiles whole, with_files(text, cwd, roots, HiddenFiles({Credentials::file(app.home().value_or(""))})));
  if (!whole.missing.empty()) {
    app.err().line("warning: " + neutral_line(missing_sentence(whole.missing), 2000));
    app.err().flush();
  }
  return whole;
}

}  // namespace agentd::app
