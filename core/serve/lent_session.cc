// SPDX-License-Identifier: Apache-2.0
// lent_session.cc - a live session that is a command's on this machine, for as long as that is there.
#include <agentd/hook_types.h>

#include <utility>

#include "core/base/bytes.h"
#include "core/serve/client_link.h"
#include "core/serve/live_session.h"

namespace agentd::serve {
namespace {

RunError busy_conversation(const std::string& id) {
  return {RunError::Kind::kBusy,
          "conversation " + id + " is in use by 'agentd serve': 'agentd attach " + id + "' joins it"};
}

}  // namespace

void LiveSession::lend(SessionWishes wishes, const std::string& first_text, ClientWork work,
                       std::function<void(RunError)> refused) {
  const auto client = wishes.client;
  if (!jobs_.is_idle()) return refused(busy_conversation(id()));
  const auto added = jobs_.add([this, wishes = std::move(wishes)] {
    if (wishes_.client && wishes_.client != wishes.client && !wishes_.client->has_left()) return;
    if (client_) close("exit", State::kParked);
    SessionWishes now = wishes;
    now.model = wishes_.model;
    now.mode = wishes_.mode;
    wishes_ = std::move(now);
    unseen_ = 0;
  });
  if (added != JobLine::Added::kYes) return refused(busy_conversation(id()));
  work_for(client, std::move(work), std::move(refused), first_text);
}

void LiveSession::work_for(std::shared_ptr<ClientLink> client, ClientWork work, std::function<void(RunError)> refused,
                           const std::string& first_text) {
  const auto checked = [this, client, refused, work = std::move(work)](const CancelToken& cancel) {
    if (wishes_.client != client) return refused(busy_conversation(id()));
    const ClientLink::Listening listening(client.get());
    if (client->is_cancelled()) cancel.cancel(AGENTD_CANCEL_USER);
    const auto works = [this](std::shared_ptr<ClientLink> now) {
      const MutexLock lock(mutex_);
      working_ = std::move(now);
    };
    works(client);
    work(*client_, cancel);
    works(nullptr);
  };
  add(checked, refused, By::kOwner, first_text);
}

// The client listens for as long as a run of its own goes on.
std::optional<RunError> LiveSession::busy_for(const ClientLink& client) const {
  const MutexLock lock(mutex_);
  return runs_ && !client.is_listening() ? std::optional<RunError>(busy_conversation(id_)) : std::nullopt;
}

void LiveSession::run_now(const std::function<Result<RunReport, RunError>()>& run,
                          const std::function<void(const Result<RunReport, RunError>&)>& done) {
  begin_run();
  if (const std::uint64_t unseen = std::exchange(unseen_, 0); unseen != 0 && wishes_.client)
    wishes_.client->on_event(
        RunEvent(told::Notice{"another client has added " + counted(unseen, "message") + " to the conversation", {}}));
  const auto report = run();
  done(report);
  ran(report);
}

Result<void, RunError> LiveSession::clear_now(const CancelToken& cancel) {
  auto cleared = client_->clear(cancel);
  if (!cleared && client_->session() == nullptr) close("clear", State::kParked);
  return cleared;
}

void LiveSession::take_over(LiveSession& from) {
  feed_ = std::move(from.feed_);
  feed_->to = this;
  workplace_ = std::move(from.workplace_);
  client_ = std::move(from.client_);
  wishes_ = from.wishes_;
  from.wishes_.client.reset();
  bool lent = false;
  {
    const MutexLock lock(from.mutex_);
    from.state_ = State::kParked;
    lent = std::exchange(from.lent_, false);
  }
  const MutexLock lock(mutex_);
  lent_ = lent;
  new_cwd_ = wishes_.cwd;
  state_ = State::kIdle;
}

void LiveSession::release(std::shared_ptr<ClientLink> client, std::string_view reason, std::function<void()> done) {
  const auto shared = std::make_shared<std::function<void()>>(std::move(done));  // called once: by the job or here
  const auto added = jobs_.add([this, client, shared, reason = std::string(reason)] {
    if (wishes_.client == client) {
      const ClientLink::Listening listening(client.get());
      if (client_) close(reason, State::kParked);
      wishes_.client.reset();
    }
    if (*shared) (*shared)();
  });
  if (added != JobLine::Added::kYes && *shared) (*shared)();
}

bool LiveSession::cancel_of(const ClientLink& client) { return client.is_listening() && cancel(); }

}  // namespace agentd::serve
