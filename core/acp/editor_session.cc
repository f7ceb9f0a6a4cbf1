// SPDX-License-Identifier: Apache-2.0
#include "core/acp/editor_session.h"

#include <algorithm>
#include <utility>

#include "core/acp/faults.h"
#include "core/acp/replay.h"
#include "core/acp/session_commands.h"
#include "core/agent/waits.h"
#include "core/base/bytes.h"

namespace agentd::acp {
namespace {

constexpr std::size_t kJobsMax = 64;

const RpcFault kTooMany{kRpcInternal, "too many prompts wait in this session: try again when one was answered"};

}  // namespace

EditorSession::EditorSession(const Shared& shared, Opening opening)
    : shared_(shared),
      opening_(std::move(opening)),
      mode_(std::make_shared<std::atomic<PermissionRules::Mode>>()),
      asker_(shared.wire),
      conversation_(opening_.conversation),
      choices_(first_choices(shared.runtime)),
      jobs_(shared.threads, kJobsMax) {
  *mode_ = choices_.mode;
}

EditorSession::~EditorSession() {
  cancel();
  (void)jobs_.add([this] {
    if (client_) client_->end("exit");
    client_.reset();
  });
  jobs_.end();
}

// ---- opening

// Another model or effort needs another agent: the session is opened again.
Result<void, RunError> EditorSession::ensure_open(const CancelToken& cancel, const std::string& first_text) {
  const Choices wanted = choices();
  const bool same = wanted.model == opened_with_.model && wanted.effort == opened_with_.effort;
  if (client_ && client_->session() != nullptr && same) return {};
  if (client_) client_->end("exit");
  client_.reset();
  AGENTD_TRY(std::shared_ptr<Workplace> workplace, shared_.workplaces.at(opening_.cwd));
  OpenRequest request{opening_.cwd, *this, &asker_};
  if (!opening_.more.empty()) {
    request.roots = workplace->roots_of(opening_.cwd);
    request.roots.insert(request.roots.end(), opening_.more.begin(), opening_.more.end());
  }
  request.model = wanted.model;
  request.effort = wanted.effort;
  request.mode = wanted.mode;
  request.changing_mode = mode_;
  request.waits = true;
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

void EditorSession::open(const RpcId& id, bool tells_id, std::function<void(const std::string&)> opened) {
  const auto added = jobs_.add([this, id, tells_id, opened = std::move(opened)] {
    const CancelToken cancel;
    begin_cancel(cancel);
    std::string name = opening_.conversation ? opening_.conversation->text() : std::string();
    const auto begin_updates = [&] {
      asker_.set_session(name);
      updates_.emplace(shared_.wire, shared_.abilities, name, opening_.cwd, [this] {
        const MutexLock lock(mutex_);
        return conversation_ ? summary_in(shared_.runtime.store(), *conversation_) : std::string();
      });
    };
    if (!name.empty()) begin_updates();
    Result<void> told;
    if (opening_.replays) told = replay(shared_.runtime.store(), *opening_.conversation, *updates_);
    const auto done = told ? ensure_open(cancel, {}) : Result<void, RunError>(run_error_of(told.error()));
    if (!done) {
      opened({});
      return shared_.wire.refuse(id, fault_of(done.error()));
    }
    name = session().conversation_id();
    if (!updates_) begin_updates();
    opened(name);
    JsonWriter out;
    out.begin_object();
    if (tells_id) out.member("sessionId", name);
    const Choices now = choices();
    write_modes(out, now);
    write_options(out, shared_.runtime, now);
    out.end_object();
    shared_.wire.answer(id, out.text());
    tell_opened();
  });
  if (added == serve::JobLine::Added::kYes) return;
  shared_.wire.refuse(id, {kRpcInternal, "the system allows agentd no more threads: try later"});
}

// An editor may drop what it gets about a session that it does not know yet.
void EditorSession::tell_opened() {
  is_known_ = true;
  for (const std::string& text : std::exchange(early_, {})) updates_->notice(Updates::Severity::kWarning, text);
  updates_->send(commands_update(client_->workplace()));
  if (opening_.servers != 0)
    updates_->notice(Updates::Severity::kWarning,
                     "agentd does not connect to MCP servers yet: " + counted(opening_.servers, "server") +
                         " of the editor's settings " + (opening_.servers == 1 ? "is" : "are") + " not used");
  if (session().wait() != nullptr)
    updates_->notice(Updates::Severity::kWarning, "a tool call waits for an answer, which the next prompt asks for");
  updates_->context(session().gauge());
}

// ---- prompts

void EditorSession::begin_cancel(const CancelToken& cancel) {
  asker_.set_cancel(cancel);
  const MutexLock lock(mutex_);
  works_ = cancel;
}

void EditorSession::prompt(const RpcId& id, Prompt prompt) {
  const auto asked = std::make_shared<Asked>();  // as asked_
  asked->id = id;
  {
    const MutexLock lock(mutex_);
    asked_.push_back(asked);
  }
  const auto added = jobs_.add([this, asked, prompt = std::move(prompt)]() mutable {
    if (asked->cancel.cancelled())
      answer(*asked, RunError{RunError::Kind::kCancelled, "cancelled"});
    else
      run(*asked, std::move(prompt));
  });
  if (added == serve::JobLine::Added::kYes) return;
  forget(id);
  shared_.wire.refuse(id, kTooMany);
}

void EditorSession::steer(const RpcId& id, Prompt prompt) {
  MutexLock lock(mutex_);
  if (!runs_) {
    lock.unlock();
    return this->prompt(id, std::move(prompt));
  }
  // The run cannot end before the lock is free, and takes what is queued until then.
  PostedMessage message;
  message.text = std::move(prompt.text);
  message.media = std::move(prompt.media);
  const auto posted = session().post(std::move(message));
  if (posted) {
    steering_.push_back(std::make_shared<Asked>());  // as steering_
    steering_.back()->id = id;
  }
  lock.unlock();
  if (!posted) shared_.wire.refuse(id, fault_of(posted.error()));
}

void EditorSession::run(Asked& asked, Prompt prompt) {
  begin_cancel(asked.cancel);
  if (auto opened = ensure_open(asked.cancel, prompt.text); !opened) return answer(asked, opened.error());
  if (prompt.is_plain && prompt.text.starts_with('/'))
    if (auto done = command(prompt.text, asked.cancel)) return answer(asked, *done);
  settle_wait(asked.cancel);
  if (asked.cancel.cancelled()) return answer(asked, RunError{RunError::Kind::kCancelled, "cancelled"});
  RunRequest request;
  request.text = std::move(prompt.text);
  request.media = std::move(prompt.media);
  answer(asked, run_request(request, asked.cancel));
}

Result<RunReport, RunError> EditorSession::run_request(const RunRequest& request, const CancelToken& cancel) {
  {
    const MutexLock lock(mutex_);
    runs_ = true;
  }
  auto report = session().run(request, cancel);
  for (;;) {
    std::vector<PostedMessage> left;
    {
      const MutexLock lock(mutex_);
      left = session().take_posted();
      if (left.empty() || !report || cancel.cancelled()) {
        runs_ = false;
        break;
      }
    }
    // They came too late for the run: the first begins another one, and the others join it.
    RunRequest next;
    next.text = std::move(left.front().text);
    next.media = std::move(left.front().media);
    for (auto each = left.begin() + 1; each != left.end(); ++each) (void)session().post(std::move(*each));
    report = session().run(next, cancel);
  }
  updates_->end_run();
  return report;
}

// The run that follows carries on what was answered, and denies what was not.
void EditorSession::settle_wait(const CancelToken& cancel) {
  if (session().wait() == nullptr) return;
  Store& store = shared_.runtime.store();
  const auto waiting = find_wait(store, session().conversation_id());
  if (!waiting || waiting->open.answer) return;
  const WaitRecord& wait = waiting->open.wait;
  const PermissionAnswer given = asker_.ask_again(wait, wait.roots.empty() ? wait.cwd : wait.roots.front());
  if (cancel.cancelled() || !given.given) return;
  const GivenAnswer answer{given.allowed ? WaitDecision::kAllow : WaitDecision::kDeny, "the person at the editor",
                           "acp", given.allowed ? "" : "the user said no"};
  if (const auto kept = answer_wait(store, shared_.runtime.clock(), *waiting, answer); !kept)
    updates_->notice(Updates::Severity::kWarning, kept.error().message);
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

void EditorSession::answer(const Asked& asked, const Result<RunReport, RunError>& report) {
  std::vector<std::shared_ptr<Asked>> all;
  bool by_request = false;
  {
    const MutexLock lock(mutex_);
    all.swap(steering_);
    by_request = asked.by_request;
    works_.reset();
  }
  forget(asked.id);
  if (updates_ && client_ && client_->session() != nullptr) tell_title();
  const auto say = [&](const RpcId& id, bool requested) {
    if (requested && !report && report.error().kind == RunError::Kind::kCancelled)
      return shared_.wire.refuse(id, {kRpcCancelled, "the request was cancelled"});
    const auto stop = stop_of(report);
    if (!stop) return shared_.wire.refuse(id, stop.error());
    JsonWriter out;
    out.begin_object().member("stopReason", *stop).end_object();
    shared_.wire.answer(id, out.text());
  };
  if (updates_)
    if (const std::string why = notice_of(report); !why.empty()) updates_->notice(Updates::Severity::kWarning, why);
  say(asked.id, by_request);
  for (const auto& each : all) say(each->id, false);
}

void EditorSession::forget(const RpcId& id) {
  const MutexLock lock(mutex_);
  std::erase_if(asked_, [&](const auto& each) { return each->id == id; });
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
  if (works_) works_->cancel(AGENTD_CANCEL_USER);
}

bool EditorSession::cancel(const RpcId& id) {
  const MutexLock lock(mutex_);
  for (const auto& each : asked_) {
    if (each->id != id) continue;
    each->by_request = true;
    each->cancel.cancel(AGENTD_CANCEL_USER);
    return true;
  }
  return false;
}

void EditorSession::close(const RpcId& id) {
  cancel();
  const auto added = jobs_.add([this, id] {
    if (client_) client_->end("exit");
    client_.reset();
    shared_.wire.answer(id, "{}");
  });
  if (added != serve::JobLine::Added::kYes) shared_.wire.refuse(id, kTooMany);
}

// ---- choices

Choices EditorSession::choices() const {
  const MutexLock lock(mutex_);
  return choices_;
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
  if (updates_ && is_known_) return updates_->tell(event);
  if (const auto* const warning = std::get_if<told::Warning>(&event.body))
    early_.push_back(from_hook(warning->hook, warning->text));
  else if (const auto* const notice = std::get_if<told::Notice>(&event.body))
    early_.push_back(from_hook(notice->hook, notice->text));
}

}  // namespace agentd::acp
