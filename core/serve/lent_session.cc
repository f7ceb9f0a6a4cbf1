// SPDX-License-Identifier: Apache-2.0
// lent_session.cc - a live session that is a command's on this machine, for as long as that is there.
#include <agentd/hook_types.h>

#include <utility>

#include "core/serve/client_link.h"
#include "core/serve/live_session.h"

namespace agentd::serve {
namespace {

RunError busy(const std::string& id) {
  return {RunError::Kind::kBusy,
          "conversation " + id + " is in use by 'agentd serve': 'agentd attach " + id + "' joins it"};
}

}  // namespace

void LiveSession::lend(SessionWishes wishes, const std::string& first_text, Done<void> done) {
  const auto client = wishes.client;
  if (!jobs_.is_idle()) return done(busy(id()));
  const auto added = jobs_.add([this, wishes = std::move(wishes)] {
    if (wishes_.client && wishes_.client != wishes.client && !wishes_.client->has_left()) return;
    if (client_) close("exit", State::kParked);
    wishes_ = wishes;
  });
  if (added != JobLine::Added::kYes) return done(busy(id()));
  const auto shared = std::make_shared<Done<void>>(std::move(done));  // called once, as in open()
  work_for(
      client, [shared](Session&, const CancelToken&) { (*shared)({}); },
      [shared](RunError error) { (*shared)(std::move(error)); }, first_text);
}

void LiveSession::work_for(std::shared_ptr<ClientLink> client, std::function<void(Session&, const CancelToken&)> work,
                           std::function<void(RunError)> refused, const std::string& first_text) {
  const auto checked = [this, client, refused, work = std::move(work)](const CancelToken& cancel) {
    if (wishes_.client != client) return refused(busy(id()));
    const ClientLink::Listening listening(client.get());
    if (client->is_cancelled()) cancel.cancel(AGENTD_CANCEL_USER);
    work(session(), cancel);
  };
  add(checked, refused, first_text);
}

void LiveSession::run_for(std::shared_ptr<ClientLink> client, std::optional<RunRequest> request,
                          const std::string& changed, Done<RunReport> done) {
  const auto shared = std::make_shared<Done<RunReport>>(std::move(done));  // called once, as in open()
  const auto work = [this, client, shared, request = std::move(request), changed](Session& open,
                                                                                  const CancelToken& cancel) {
    begin_run();
    const auto report = request ? open.run(*request, cancel) : open.carry_on(changed, cancel);
    (*shared)(report);
    ran(report);
  };
  work_for(client, work, [shared](RunError error) { (*shared)(std::move(error)); }, {});
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
