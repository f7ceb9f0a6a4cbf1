// SPDX-License-Identifier: Apache-2.0
#include "core/acp/editor_session.h"

#include <algorithm>
#include <utility>

#include "core/acp/faults.h"
#include "core/acp/replay.h"
#include "core/acp/session_commands.h"
#include "core/agent/waits.h"
#include "core/base/bytes.h"
#include "core/process/commands.h"

namespace agentd::acp {
namespace {

constexpr std::size_t kPromptsMax = 64, kJobsMax = kPromptsMax + 8;

const RpcFault kTwice{kRpcBadRequest, "a request with this id waits for its answer already"};
const RpcFault kRequestCancelled{kRpcCancelled, "the request was cancelled"};
const RpcFault kTooMany{kRpcInternal, "too many prompts wait in this session: try again when one was answered"};

// Null: the settings, or the editor, have none.
std::shared_ptr<EditorCommands> terminals_of(const Shared& shared) {
  if (!shared.abilities.terminals || !shared.runtime.config().flag("acp.client_terminals")) return nullptr;
  return std::make_shared<EditorCommands>(shared.wire, shared.runtime.clock());
}

std::shared_ptr<ProcessHost> commands_of(const Shared& shared, const std::shared_ptr<EditorCommands>& terminals) {
  if (terminals) return terminals;
  return std::make_shared<CommandTable>(shared.runtime.command_reader());
}

}  // namespace

EditorSession::EditorSession(const Shared& shared, Opening opening)
    : shared_(shared),
      opening_(std::move(opening)),
      mode_(std::make_shared<std::atomic<PermissionRules::Mode>>()),
      asker_(shared.wire, shared.abilities.forms),
      terminals_(terminals_of(shared)),
      commands_(commands_of(shared, terminals_)),
      unsaved_(std::make_shared<UnsavedFiles>(shared.wire, shared.abilities, shared.runtime.clock(), shared.commands)),
      conversation_(opening_.conversation),
      choices_(first_choices(shared.runtime)),
      jobs_(shared.threads, kJobsMax) {
  *mode_ = choices_.mode;
  shared.commands.add(commands_);
}

EditorSession::~EditorSession() {
  cancel();
  close({});
  jobs_.end();
  // Where no thread was left for that: its end is told to this object, while all of it is there.
  if (client_) client_->end("exit");
  client_.reset();
}

// ---- opening

// Another model or effort needs another agent: the session is opened again.
Result<void, RunError> EditorSession::ensure_open(const CancelToken& cancel, const std::string& first_text) {
  const Choices wanted = choices();
  const bool same = wanted.model == opened_with_.model && wanted.effort == opened_with_.effort;
  const bool open = client_ && client_->session() != nullptr;
  if (open && same && (!client_->is_stored() || shared_.workplaces.is_current(*workplace_))) return {};
  if (client_) client_->end("exit");
  client_.reset();
  AGENTD_TRY(std::shared_ptr<Workplace> workplace, shared_.workplaces.at(opening_.cwd));
  OpenRequest request{opening_.cwd, *this, &asker_};
  request.person = &asker_;
  request.mcp_servers = opening_.servers;
  if (!opening_.more.empty()) {
    request.roots = workplace->roots_of(opening_.cwd);
    request.roots.insert(request.roots.end(), opening_.more.begin(), opening_.more.end());
  }
  request.model = wanted.model;
  request.effort = wanted.effort;
  request.mode = wanted.mode;
  request.changing_mode = mode_;
  request.waits = true;
  request.commands = commands_;
  request.commands_are_caged = terminals_ == nullptr;
  if (shared_.runtime.config().flag("acp.client_files"))
    request.files = [unsaved = unsaved_](std::shared_ptr<Workspace> files) {
      return with_unsaved(std::move(files), unsaved);
    };
  std::optional<Ulid> conversation;
  {
    const MutexLock lock(mutex_);
    conversation = conversation_;
  }
  AGENTD_TRY(auto client, ClientSession::prepare(*workplace, std::move(request)));
  AGENTD_TRY_VOID(client->open(conversation, cancel, first_text));
  workplace_ = std::move(workplace);
  client_ = std::move(client);
  opened_with_ = wanted;
  const auto id = Ulid::parse(session().conversation_id());
  const MutexLock lock(mutex_);
  if (id) conversation_ = *id;
  return {};
}

void EditorSession::open(const RpcId& id, bool tells_id, const std::function<void(const std::string&)>& opened) {
  const auto asked = std::make_shared<Asked>();  // as asked_
  asked->id = id;
  {
    const MutexLock lock(mutex_);
    asked_.push_back(asked);
  }
  const auto added = jobs_.add([this, asked, tells_id, opened] {
    begin(asked->cancel);
    opening_.before.reset();
    const auto done = open_now(asked->cancel);
    forget(asked);
    opened(done ? session().conversation_id() : std::string());
    if (!done) return shared_.wire.refuse(asked->id, fault_of(done.error()));
    JsonWriter out;
    out.begin_object();
    if (tells_id) out.member("sessionId", session().conversation_id());
    const Choices now = choices();
    write_modes(out, now);
    write_options(out, shared_.runtime, now);
    out.end_object();
    shared_.wire.answer(asked->id, out.text());
    tell_opened();
  });
  if (added == serve::JobLine::Added::kYes) return;
  forget(asked);
  opened({});
  shared_.wire.refuse(id, {kRpcInternal, "the system allows agentd no more threads: try later"});
}

Result<void, RunError> EditorSession::open_now(const CancelToken& cancel) {
  const auto begin_updates = [this](const std::string& name) {
    asker_.set_session(name);
    unsaved_->set_session(name);
    if (terminals_) terminals_->set_session(name);
    updates_.emplace(shared_.wire, shared_.abilities, name, opening_.cwd, [this] {
      const MutexLock lock(mutex_);
      return conversation_ ? summary_in(shared_.runtime.store(), *conversation_) : std::string();
    });
    if (terminals_) updates_->set_terminals(*terminals_);
    asker_.set_updates(*updates_);
  };
  if (cancel.cancelled()) return RunError{RunError::Kind::kCancelled, "the request was cancelled"};
  if (opening_.conversation) begin_updates(opening_.conversation->text());
  if (opening_.replays)
    if (const auto told = replay(shared_.runtime.store(), *opening_.conversation, *updates_); !told)
      return run_error_of(told.error());
  AGENTD_TRY_VOID(ensure_open(cancel, {}));
  if (!updates_) begin_updates(session().conversation_id());
  return {};
}

// An editor may drop what it gets about a session that it does not know yet.
void EditorSession::tell_opened() {
  is_known_ = true;
  for (const std::string& text : std::exchange(early_, {})) updates_->notice(Updates::Severity::kWarning, text);
  updates_->send(commands_update(client_->workplace()));
  if (session().wait() != nullptr)
    updates_->notice(Updates::Severity::kWarning, "a tool call waits for an answer, which the next prompt asks for");
  updates_->context(session().gauge());
}

// ---- prompts

void EditorSession::begin(const CancelToken& cancel) {
  asker_.set_cancel(cancel);
  unsaved_->set_cancel(cancel);
  if (shared_.wire.is_gone()) cancel.cancel(AGENTD_CANCEL_SHUTDOWN);
}

bool EditorSession::waits_for(const RpcId& id) const {
  const auto is_it = [&](const std::shared_ptr<Asked>& each) { return each->id == id; };
  return std::any_of(asked_.begin(), asked_.end(), is_it) || std::any_of(steering_.begin(), steering_.end(), is_it);
}

void EditorSession::prompt(const RpcId& id, Prompt prompt) {
  const auto asked = std::make_shared<Asked>();  // as asked_
  asked->id = id;
  {
    MutexLock lock(mutex_);
    const bool twice = waits_for(id), too_many = asked_.size() >= kPromptsMax;
    if (!twice && !too_many) asked_.push_back(asked);
    lock.unlock();
    if (twice) return shared_.wire.refuse(id, kTwice);
    if (too_many) return shared_.wire.refuse(id, kTooMany);
  }
  const auto added = jobs_.add([this, asked, prompt = std::move(prompt)]() mutable { run(asked, std::move(prompt)); });
  if (added == serve::JobLine::Added::kYes) return;
  forget(asked);
  shared_.wire.refuse(id, kTooMany);
}

void EditorSession::steer(const RpcId& id, Prompt prompt) {
  MutexLock lock(mutex_);
  if (!runs_) {
    lock.unlock();
    return this->prompt(id, std::move(prompt));
  }
  if (waits_for(id)) {
    lock.unlock();
    return shared_.wire.refuse(id, kTwice);
  }
  // The run cannot end before the lock is free, and takes what is queued until then.
  const auto asked = std::make_shared<Asked>();  // as steering_
  asked->id = id;
  asked->text = prompt.text;
  for (const std::string& file : prompt.unsaved) unsaved_->add(file);
  PostedMessage message;
  message.text = std::move(prompt.text);
  message.media = std::move(prompt.media);
  const auto posted = session().post(std::move(message));
  if (posted) steering_.push_back(asked);
  lock.unlock();
  if (!posted) shared_.wire.refuse(id, fault_of(posted.error()));
}

void EditorSession::run(const std::shared_ptr<Asked>& asked, Prompt prompt) {
  const CancelToken& cancel = asked->cancel;
  begin(cancel);
  if (cancel.cancelled()) return answer(asked, kCancelled);
  if (auto opened = ensure_open(cancel, prompt.text); !opened) return answer(asked, opened.error());
  for (const std::string& file : prompt.unsaved) unsaved_->add(file);
  if (prompt.is_plain && prompt.text.starts_with('/'))
    if (auto done = command(prompt.text, cancel)) return answer(asked, *done);
  RunRequest request;
  request.text = std::move(prompt.text);
  request.media = std::move(prompt.media);
  answer(asked, run_request(request, cancel));
}

// Messages that came too late for a run are the next one, which answers with what it is asked itself.
Result<RunReport, RunError> EditorSession::run_request(RunRequest request, const CancelToken& cancel) {
  for (;;) {
    if (!settle_wait(cancel)) return kCancelled;
    {
      const MutexLock lock(mutex_);
      runs_ = true;
    }
    auto report = session().run(request, cancel);
    updates_->end_run();
    std::vector<PostedMessage> left;
    {
      const MutexLock lock(mutex_);
      left = session().take_posted();
      lost_ = !left.empty() && (!report || cancel.cancelled());
      runs_ = !left.empty() && !lost_;
      if (!runs_) return report;
    }
    request = {};
    request.text = std::move(left.front().text);
    request.media = std::move(left.front().media);
    for (auto each = left.begin() + 1; each != left.end(); ++each) (void)session().post(std::move(*each));
  }
}

// The run that follows carries on what was answered, and denies what was not.
bool EditorSession::settle_wait(const CancelToken& cancel) {
  if (session().wait() == nullptr) return true;
  Store& store = shared_.runtime.store();
  const auto waiting = find_wait(store, session().conversation_id());
  if (!waiting || waiting->open.answer) return true;
  const WaitRecord& wait = waiting->open.wait;
  const PermissionAnswer given = asker_.ask_again(wait, wait.roots.empty() ? wait.cwd : wait.roots.front());
  if (cancel.cancelled()) return false;
  if (!given.given) return asker_.is_present();
  const GivenAnswer answer{given.allowed ? WaitDecision::kAllow : WaitDecision::kDeny, "the person at the editor",
                           "acp", given.allowed ? "" : "the user said no"};
  if (const auto kept = answer_wait(store, shared_.runtime.clock(), *waiting, answer); !kept)
    updates_->notice(Updates::Severity::kWarning, kept.error().message);
  return true;
}

std::optional<Result<RunReport, RunError>> EditorSession::command(const std::string& text, const CancelToken& cancel) {
  SessionCommands commands{*client_, *updates_, asker_, shared_.runtime,
                           [this, &cancel](const RunRequest& request) { return run_request(request, cancel); }};
  auto done = commands.run(text, cancel);
  if (client_->session() == nullptr) return done;
  const auto id = Ulid::parse(session().conversation_id());
  const MutexLock lock(mutex_);
  if (id) conversation_ = *id;
  return done;
}

// ---- answers

void EditorSession::answer(const std::shared_ptr<Asked>& asked, const Result<RunReport, RunError>& report) {
  std::vector<std::shared_ptr<Asked>> steering;
  bool lost = false;
  {
    const MutexLock lock(mutex_);
    steering.swap(steering_);
    lost = std::exchange(lost_, false);
  }
  forget(asked);
  if (updates_ && client_ && client_->session() != nullptr) tell_title();
  const auto say = [&](const Asked& each, const Result<RunReport, RunError>& how) {
    if (each.by_request && !how && how.error().kind == RunError::Kind::kCancelled)
      return shared_.wire.refuse(each.id, kRequestCancelled);
    const auto stop = stop_of(how);
    if (!stop) return shared_.wire.refuse(each.id, stop.error());
    JsonWriter out;
    out.begin_object().member("stopReason", *stop).end_object();
    shared_.wire.answer(each.id, out.text());
  };
  if (updates_)
    if (const std::string why = notice_of(report); !why.empty()) updates_->notice(Updates::Severity::kWarning, why);
  say(*asked, report);
  for (const auto& each : steering) say(*each, lost ? Result<RunReport, RunError>(kCancelled) : report);
}

void EditorSession::forget(const std::shared_ptr<Asked>& asked) {
  const MutexLock lock(mutex_);
  std::erase(asked_, asked);
}

void EditorSession::tell_title() {
  const auto id = Ulid::parse(session().conversation_id());
  const auto info = id ? shared_.runtime.store().info(*id) : Result<ConversationInfo>(id.error());
  if (!info || info->title.empty() || info->title == title_) return;
  title_ = info->title;
  JsonWriter out;
  out.begin_object().member("sessionUpdate", "session_info_update").member("title", title_);
  out.member("updatedAt", iso_time(info->updated_ms)).end_object();
  updates_->send(out.text());
}

// ---- cancelling and closing

void EditorSession::cancel() {
  const MutexLock lock(mutex_);
  for (const auto& each : asked_) each->cancel.cancel(AGENTD_CANCEL_USER);
}

// A message that steers is taken back, unless the run has it already.
bool EditorSession::cancel(const RpcId& id) {
  MutexLock lock(mutex_);
  for (const auto& each : asked_) {
    if (each->id != id) continue;
    each->by_request = true;
    each->cancel.cancel(AGENTD_CANCEL_USER);
    return true;
  }
  const auto found = std::find_if(steering_.begin(), steering_.end(), [&](const auto& each) { return each->id == id; });
  if (found == steering_.end()) return false;
  std::vector<PostedMessage> posted = runs_ ? session().take_posted() : std::vector<PostedMessage>();
  const auto its = std::find_if(posted.begin(), posted.end(),
                                [&](const PostedMessage& each) { return each.text == (*found)->text; });
  const bool taken_back = its != posted.end();
  if (taken_back) posted.erase(its);
  for (PostedMessage& each : posted) (void)session().post(std::move(each));
  if (!taken_back) return true;  // it is answered with the run
  steering_.erase(found);
  lock.unlock();
  shared_.wire.refuse(id, kRequestCancelled);
  return true;
}

void EditorSession::close(const std::function<void()>& then) {
  cancel();
  const auto added = jobs_.add([this, then] {
    if (client_) client_->end("exit");
    client_.reset();
    workplace_.reset();
    if (then) then();
  });
  if (added != serve::JobLine::Added::kYes && then) then();  // the destructor ends it
}

// ---- choices

Choices EditorSession::choices() const {
  const MutexLock lock(mutex_);
  return choices_;
}

bool EditorSession::is_busy() const {
  const MutexLock lock(mutex_);
  return !asked_.empty() || !steering_.empty();
}

std::string EditorSession::conversation() const {
  const MutexLock lock(mutex_);
  return conversation_ ? conversation_->text() : std::string();
}

Result<void> EditorSession::choose(std::string_view option, std::string_view value) {
  const MutexLock lock(mutex_);
  AGENTD_TRY_VOID(acp::choose(choices_, shared_.runtime, option, value));
  *mode_ = choices_.mode;
  return {};
}

// ---- events

// Warnings of the opening wait until the editor knows the session.
void EditorSession::on_event(const RunEvent& event) {
  if (updates_ && is_known_) {
    updates_->tell(event);
    for (const std::string& text : unsaved_->take_notices()) updates_->notice(Updates::Severity::kWarning, text);
    return;
  }
  if (const auto* const warning = std::get_if<told::Warning>(&event.body))
    early_.push_back(from_hook(warning->hook, warning->text));
  else if (const auto* const notice = std::get_if<told::Notice>(&event.body))
    early_.push_back(from_hook(notice->hook, notice->text));
}

}  // namespace agentd::acp
