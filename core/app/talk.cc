// SPDX-License-Identifier: Apache-2.0
#include "core/app/talk.h"

#include "core/app/conversations.h"
#include "core/app/exit_codes.h"
#include "core/app/keyboard.h"
#include "core/app/message_input.h"
#include "core/app/signals.h"
#include "core/base/bytes.h"
#include "core/runtime/credentials.h"
#include "core/runtime/lookup.h"
#include "core/runtime/secret_files.h"
#include "core/workplace/recipe_setup.h"

namespace agentd::app {

namespace {

class StoredWatch final : public EventSink {
 public:
  StoredWatch(EventSink& shown, const std::function<void(std::string_view)>& tell) : shown_(shown), tell_(tell) {}
  void on_event(const RunEvent& event) override {
    const auto* const message = std::get_if<told::UserMessage>(&event.body);
    if (message != nullptr && event.agent_depth == 0 && tell_) tell_(message->text);
    shown_.on_event(event);
  }

 private:
  EventSink& shown_;
  const std::function<void(std::string_view)>& tell_;
};

}  // namespace

Talk::Talk(App& app, const Arguments& arguments, Config config, const Wishes& wishes)
    : app_(app), arguments_(arguments), config_(std::move(config)), wishes_(wishes) {
  if (arguments.has("json")) style_ = Style::kJson;
  // An answer with a schema is for a program: answers that do not fit are not shown.
  else if (arguments.has("result-only") || arguments.has("output-schema") ||
           (wishes.resumes != nullptr && !wishes.resumes->output_schema.empty()))
    style_ = Style::kResultOnly;
}

Result<std::unique_ptr<Talk>, Failure> Talk::begin(App& app, const Arguments& arguments, const Wishes& wishes) {
  if (arguments.has("json") && arguments.has("result-only"))
    return Failure{kExitUsage, "--json and --result-only exclude each other"};
  Result<Config> config = app.config(arguments);
  if (!config) return Failure{kExitUsage, config.error().message};
  auto talk = std::unique_ptr<Talk>(new Talk(app, arguments, std::move(*config), wishes));
  if (auto started = talk->start(); !started) return started.error();
  return talk;
}

EventSink& Talk::make_renderer(bool trace) {
  switch (style_) {
    case Style::kTerminal:
      terminal_ = std::make_unique<TerminalRenderer>(app_.out(), app_.err(), trace);
      return *terminal_;
    case Style::kJson:
      json_ = std::make_unique<JsonRenderer>(app_.out());
      return *json_;
    case Style::kResultOnly:
      break;
  }
  quiet_ = std::make_unique<QuietRenderer>(app_.err());
  return *quiet_;
}

Result<void, Failure> Talk::start() {
  stored_watch_ = std::make_unique<StoredWatch>(make_renderer(config_.flag("hooks.trace")), tell_stored_);
  watch_ = std::make_unique<ReaderWatch>(*stored_watch_, app_.out(), [] { end_for_reader(); });
  approver_ = make_approver(app_.err().tty(), {{},
                                               marks_pastes(app_.surroundings().environment("TERM").value_or("")),
                                               true,
                                               Credentials::file(app_.home().value_or("")),
                                               [this] { settle(); },
                                               [this] {
                                                 if (terminal_) terminal_->resume();
                                               },
                                               [this](std::string text) {
                                                 if (keep_typed_) keep_typed_(std::move(text));
                                               },
                                               [this] { return remote_ && remote_->is_withdrawn(); }});
  auto values = recipe_arguments(arguments_.values("arg"));
  if (!values) return Failure{kExitUsage, values.error().message};
  if (const auto cwd = app_.directory(); !cwd) return Failure{kExitFailure, cwd.error().message};
  if (auto asked = ask_daemon(); !asked) return asked.error();
  if (remote_) return {};
  if (auto opened = open_levels(*values); !opened) return failure_of(opened.error());
  return {};
}

namespace {

// The options that hold for the rest of a run, in any process. The model is kept by itself; a script begins
// anew, and the network is that of the process.
std::vector<std::string> options_of_run(const Arguments& arguments) {
  std::vector<std::string> out;
  for (const ConfigSources::Flag& flag : arguments.flags()) {
    const bool own = flag.key == "provider" || flag.key == "model" || flag.key.starts_with("scripted.") ||
                     flag.key.starts_with("network.");
    // An address may have a password, which is stored nowhere.
    const std::size_t address = flag.value.find("://");
    const bool secret = address != std::string::npos && flag.value.find('@', address) != std::string::npos;
    if (own || secret) continue;
    out.emplace_back("--set");
    out.push_back(flag.key + "=" + flag.value);
  }
  if (arguments.has("no-hooks")) out.emplace_back("--no-hooks");
  return out;
}

}  // namespace

// A mistake in the recipe costs nothing: no provider and no store. The model's first texts are read before the hooks
// are loaded, as what is wrong with them is told first.
Result<void, RunError> Talk::open_levels(const RecipeValues& values) {
  const Warn tell = [this](const std::string& text) { warn(text); };
  const std::string& cwd = app_.surroundings().cwd;
  HookWishes wishes;
  wishes.safe_mode = arguments_.has("safe-mode");
  wishes.hooks = !arguments_.has("no-hooks") && !wishes.safe_mode;
  wishes.tools = !arguments_.has("no-tools");
  wishes.will_run = wishes_.will_run;
  AGENTD_TRY(runtime_,
             Runtime::begin(app_.surroundings(), config_, app_.clock(), {saves(), wishes_.needs_model}, tell));
  AGENTD_TRY(workplace_, Workplace::find(*runtime_, cwd, wishes, tell));
  std::optional<Recipe> recipe;
  if (const std::string name = arguments_.value("recipe"); wishes_.resumes == nullptr && !name.empty()) {
    AGENTD_TRY(recipe, workplace_->find_recipe(name, values));
  }
  if (auto opened = runtime_->open(); !opened) return with_way_out(opened.error());
  OpenRequest request{cwd, *watch_, approver_.get()};
  request.person = dynamic_cast<Elicitor*>(approver_.get());
  request.offer_tools = wishes.tools;
  request.trace_hooks = config_.flag("hooks.trace") || style_ == Style::kJson;
  request.options = options_of_run(arguments_);
  if (wishes_.resumes != nullptr) request.roots = wishes_.resumes->roots;
  AGENTD_TRY(client_, ClientSession::prepare(*workplace_, std::move(request)));
  AGENTD_TRY_VOID(workplace_->load(cwd));
  if (wishes_.resumes != nullptr) {
    AGENTD_TRY(changed_, client_->use_recipe_of(*wishes_.resumes));
    return {};
  }
  return recipe ? client_->use_recipe(std::move(*recipe), values) : Result<void, RunError>();
}

// The error with the ways around the store; a conversation that continues has none.
RunError Talk::with_way_out(RunError error) const {
  const bool continues = arguments_.has("resume") || arguments_.has("follow") || arguments_.has("conversation-id") ||
                         wishes_.resumes != nullptr;
  if (error.kind != RunError::Kind::kStore || continues) return error;
  error.message += std::string("; until that is fixed, ") + (saves() ? "use --no-save, or " : "") +
                   "set AGENTD_HOME to another directory";
  return error;
}

void Talk::warn(const std::string& text) { watch_->on_event(RunEvent(told::Warning{text})); }

Result<void, Failure> Talk::ask_daemon() {
  const bool own = arguments_.has("no-save") || arguments_.has("safe-mode") || arguments_.has("no-tools") ||
                   !arguments_.value("recipe").empty() ||
                   (wishes_.resumes != nullptr && !wishes_.resumes->recipe.empty());
  if (!wishes_.served || own) return {};
  const RemoteSession::Wishes asked{app_.surroundings().cwd, options_of_run(arguments_), !arguments_.has("no-hooks"),
                                    wishes_.detached};
  RemoteSession::Offer offer = RemoteSession::ask(app_, config_, asked, *watch_, *approver_);
  daemon_is_there_ = offer.kind != RemoteSession::Offer::Kind::kNone;
  remote_ = std::move(offer.session);
  why_not_served_ = offer.reason;
  if (!offer.warning.empty()) warn(offer.warning);
  return {};
}

Result<Store*, Failure> Talk::store(std::unique_ptr<Store>& own) const {
  if (runtime_) return &runtime_->store();
  auto opened = existing_store(app_);
  if (!opened) return opened.error();
  if (!*opened) return Failure{kExitNotFound, "no conversation is stored yet"};
  own = std::move(*opened);
  return own.get();
}

RunError Talk::explained(RunError error) const {
  if (error.kind == RunError::Kind::kBusy && daemon_is_there_ && !remote_)
    error.message += "; if 'agentd serve' works in it, 'agentd attach ID' joins it";
  return error;
}

Result<std::optional<Ulid>, Failure> Talk::wanted() {
  const bool by_id = arguments_.has("resume") || arguments_.has("conversation-id");
  if (by_id && arguments_.has("follow")) return Failure{kExitUsage, "--follow and an id exclude each other"};
  if ((by_id || arguments_.has("follow")) && arguments_.has("no-save"))
    return Failure{kExitUsage, "--no-save cannot continue a conversation; omit it"};
  if (!by_id && !arguments_.has("follow")) return std::optional<Ulid>();
  std::unique_ptr<Store> own;
  const auto store = this->store(own);
  if (!store) return store.error();
  if (by_id) {
    const std::string text = arguments_.value(arguments_.has("resume") ? "resume" : "conversation-id");
    auto found = find_conversation(**store, text);
    if (!found) return failure_of(found.error());
    return std::optional<Ulid>(*found);
  }
  const Project project = find_project(app_.surroundings().cwd);
  auto found = newest_conversation(**store, project.id);
  if (!found) return failure_of(found.error());
  if (const std::string note = unanswered_note(**store, project, *found); !note.empty()) warn(note);
  return std::optional<Ulid>(*found);
}

Result<void, RunError> Talk::open(std::optional<Ulid> conversation, const std::string& first_text,
                                  const CancelToken& cancel) {
  if (remote_) {
    auto opened = remote_->open(conversation, first_text, cancel);
    if (opened || !remote_->is_lent() || wishes_.detached) return opened;
    remote_.reset();
    AGENTD_TRY_VOID(open_levels({}));
  }
  return client_->open(conversation, cancel, first_text);
}

Result<void, Failure> Talk::attach(const CancelToken& cancel, const std::string& first_text) {
  auto id = wanted();
  if (!id) return id.error();
  const auto opened = open(*id, first_text, cancel);
  if (!opened) return failure_of(explained(opened.error()));
  return {};
}

Result<void, Failure> Talk::attach(const Ulid& conversation, const CancelToken& cancel) {
  const auto opened = open(conversation, {}, cancel);
  if (!opened) return failure_of(explained(opened.error()));
  return {};
}

Result<RunReport, RunError> Talk::carry_on(const CancelToken& cancel) { return session().carry_on(changed_, cancel); }

Result<void, Failure> Talk::clear(const CancelToken& cancel) {
  const auto cleared = remote_ ? remote_->clear(cancel) : client_->clear(cancel);
  settle();
  if (!cleared) return failure_of(cleared.error());
  return {};
}

bool Talk::has_messages() const { return remote_ ? remote_->has_messages() : agentd::has_messages(*client_); }

bool Talk::waits() { return remote_ ? remote_->waits() : client_->session()->wait() != nullptr; }

Result<ChatStatus, RunError> Talk::status() {
  if (remote_) return remote_->status();
  return chat_status(*client_);
}

Result<std::vector<ListedRecipe>, RunError> Talk::recipes() {
  if (remote_) return remote_->recipes();
  return listed_recipes(*client_);
}

std::optional<OfferedCheckpoint> Talk::offer() {
  if (!remote_) return offered_checkpoint(*client_);
  auto offer = remote_->offer();
  return offer ? std::move(*offer) : std::nullopt;
}

Result<RecipeRun, RunError> Talk::run_recipe(const RecipeCall& call, const CancelToken& cancel) {
  if (remote_) return remote_->run_recipe(call, cancel);
  AGENTD_TRY(const RunRequest request, begin_recipe(*client_, call));
  return agentd::run_recipe(*client_, request, cancel);
}

void Talk::settle() {
  if (terminal_) terminal_->settle();
}

void Talk::footer(const RunReport& report) {
  settle();
  if (style_ != Style::kTerminal) return;
  std::string line = "conversation " + session().conversation_id();
  if (report.gauge.limit != 0) line += " · context " + std::to_string(report.gauge.percent()) + " %";
  line += " · " + counted(report.turns, "turn");
  if (const std::string cost = cost_text(report.usage); !cost.empty()) line += " · " + cost;
  if (report.outcome == RunOutcome::kMaxTurns) line += " · stopped at the turn limit";
  app_.err().line(app_.err().styled("2", line));
  if (!report.waits_for.empty()) app_.err().line("answer with: agentd approve " + report.waits_for);
  app_.err().flush();
}

void Talk::end(std::string_view reason) {
  memory_worker_.reset();
  if (remote_) remote_->end(reason);
  if (client_ && client_->session() != nullptr) client_->end(reason);
  settle();
}

Result<WithFiles> attached(App& app, const Arguments& arguments, const std::string& text) {
  if (text.find('@') == std::string::npos) return WithFiles{text, {}, {}};
  const std::string& cwd = app.surroundings().cwd;
  const auto config = app.config(arguments);
  std::vector<std::string> roots = config ? config->list("workspace.roots") : std::vector<std::string>{};
  if (roots.empty()) roots = {cwd, find_project(cwd).root};
  AGENTD_TRY(WithFiles whole, with_files(text, cwd, roots, HiddenFiles(secret_files(app.home().value_or("")))));
  if (!whole.missing.empty()) {
    app.err().line("warning: " + neutral_line(missing_sentence(whole.missing), 2000));
    app.err().flush();
  }
  return whole;
}

}  // namespace agentd::app
