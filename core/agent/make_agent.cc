// SPDX-License-Identifier: Apache-2.0
// make_agent.cc - the agent itself: opens sessions, and puts new conversations in the place of old ones.
#include <utility>

#include "core/agent/agent.h"
#include "core/agent/checkpoints.h"
#include "core/agent/loading.h"
#include "core/agent/services/services.h"
#include "core/agent/session.h"
#include "core/base/bytes.h"

namespace agentd {
namespace {

class AgentImpl final : public Agent {
 public:
  AgentImpl(AgentServices& services, AgentParts parts, AgentOptions options)
      : services_(services), agent_(services.runtime(), std::move(parts), std::move(options)) {}

  using Agent::open;
  Result<std::unique_ptr<Session>, RunError> open(std::optional<Ulid> wanted, const CancelToken& cancel,
                                                  const std::string& first_text) override {
    if (agent_.options().lifecycle && agent_.options().saves) end_gone();
    return open_as(wanted, AGENTD_SOURCE_STARTUP, cancel, first_text);
  }

  Result<std::unique_ptr<Session>, RunError> clear(Session& session, const CancelToken& cancel) override {
    auto& old = static_cast<SessionImpl&>(session);  // an agent makes no other kind
    if (auto asked = old.before_clear(kClearReason, cancel); !asked) return asked.error();
    old.end("clear");
    auto opened = open_as(std::nullopt, AGENTD_SOURCE_CLEAR, cancel, {});
    if (opened) old.after_clear(kClearReason, (*opened)->conversation_id(), cancel);
    return opened;
  }

 private:
  static constexpr std::string_view kClearReason = "user";

  Result<std::unique_ptr<Session>, RunError> open_as(std::optional<Ulid> wanted, std::uint32_t source,
                                                     const CancelToken& cancel, const std::string& first_text) {
    const AgentParts& parts = agent_.parts();
    RunQueue::SessionPlace place;
    if (parts.runs != nullptr) {
      auto taken = parts.runs->open();
      if (!taken) return open_error(taken.error());
      place = std::move(*taken);
    }
    const Ulid id = wanted ? *wanted : parts.ids.next();
    if (wanted) {
      const auto info = parts.store.info(id);
      if (!info) return open_error(info.error());
      source = is_fresh_fork(*info) ? AGENTD_SOURCE_FORK : AGENTD_SOURCE_RESUME;
    }
    auto lease = parts.store.lease(id);
    if (!lease) return open_error(lease.error());
    auto conversation = std::make_unique<Conversation>(id.text(), agent_.row_count());
    if (wanted) {
      auto loaded = load_conversation(parts.store, id, agent_.row_count());
      if (!loaded) return open_error(loaded.error());
      conversation = std::move(*loaded);
    }
    SessionSeed seed{id, std::move(*lease), std::move(conversation)};
    seed.source = source;
    seed.place = std::move(place);
    auto session = make_session(std::move(seed));
    session->start(first_text, cancel);
    return std::unique_ptr<Session>(std::move(session));
  }

  std::unique_ptr<SessionImpl> make_session(SessionSeed seed) {
    return std::make_unique<SessionImpl>(agent_, services_.sessions(), services_, services_.attendance(),
                                         std::move(seed));
  }

  // Sessions of the project whose process was killed. Their rows go last: one that is killed on the way leaves them.
  void end_gone() {
    const AgentParts& parts = agent_.parts();
    for (const Attendance::Gone& gone : services_.attendance().find_gone(agent_.options().project_id)) {
      const auto id = Ulid::parse(gone.session.conversation);
      auto conversation = id ? load_conversation(parts.store, *id, agent_.row_count()) : id.error();
      if (!conversation) {
        parts.log.write(LogLevel::kWarning, "agent",
                        "a session that was killed could not be ended: " + conversation.error().message);
        // It will never be read: told once, it must not keep others from being ended.
        if (!id || conversation.error().code == Code::kCorrupt) services_.attendance().leave(gone.session);
        continue;
      }
      SessionSeed seed{*id, nullptr, std::move(*conversation)};
      seed.session_id = gone.session.session;
      const auto session = make_session(std::move(seed));
      EndNotes notes;
      notes.task = task_of_session(parts.store, *id, gone.session.session);
      session->note(std::move(notes));
      session->end("crash");
      services_.attendance().leave(gone.session);
    }
  }

  AgentServices& services_;
  const AgentResources agent_;
};

}  // namespace

RunOutcome outcome_of(const RunError& error) {
  switch (error.kind) {
    case RunError::Kind::kBlocked:
    case RunError::Kind::kRepeated:
      return RunOutcome::kBlocked;
    case RunError::Kind::kStopped:
      return RunOutcome::kStopped;
    case RunError::Kind::kLimit:
      return RunOutcome::kLimit;
    case RunError::Kind::kCancelled:
      return RunOutcome::kCancelled;
    case RunError::Kind::kFailure:
    case RunError::Kind::kUsage:
    case RunError::Kind::kNotFound:
    case RunError::Kind::kProvider:
    case RunError::Kind::kStore:
    case RunError::Kind::kBusy:
      return RunOutcome::kError;
  }
  return RunOutcome::kError;
}

void DeleteServices::operator()(AgentServices* services) const { delete services; }

AgentServicesPtr make_services(RuntimeParts parts, RuntimeSettings settings) {
  return AgentServicesPtr(new AgentServices(parts, std::move(settings)));
}

Services& as_services(AgentServices& services) { return services; }

std::optional<PermissionRules::Mode> permission_mode_of(const AgentServices& services,
                                                        std::string_view conversation_id) {
  return services.sessions().permission_mode_of(conversation_id);
}

std::string project_of(const AgentServices& services, agentd_conv conversation) {
  return services.sessions().project_of(conversation);
}

std::shared_ptr<Workspace> files_of(const AgentServices& services, agentd_conv conversation) {
  return services.sessions().files_of(conversation);
}

std::shared_ptr<ProcessHost> commands_of(const AgentServices& services, agentd_conv conversation) {
  return services.sessions().commands_of(conversation);
}

Result<void> note_session(const AgentServices& services, agentd_conv conversation, EndNotes notes) {
  return services.sessions().note(conversation, std::move(notes));
}

Result<std::string> checkpoint_session(const AgentServices& services, agentd_conv conversation, CheckpointWish wish) {
  const RuntimeParts& parts = services.runtime().parts();
  wish.name = one_line(wish.name, kNameBytesMax);
  wish.id = parts.ids.next().text();
  AGENTD_TRY(const bool queued, services.sessions().want_checkpoint(conversation, wish));
  if (queued) return wish.id;
  AGENTD_TRY(const Ulid id, Ulid::parse(services.sessions().conversation_of(conversation)));
  Checkpoints::SaveRequest request{id, wish.name, kManualCheckpoint, wish.percent, wish.text};
  AGENTD_TRY(const Checkpoint saved,
             Checkpoints({parts.store, parts.clock, parts.ids, parts.estimator, parts.models}).save(request));
  return saved.record.id;
}

std::string conversation_of(const AgentServices& services, agentd_conv conversation) {
  return services.sessions().conversation_of(conversation);
}

std::unique_ptr<Agent> make_agent(AgentServices& services, AgentParts parts, AgentOptions options) {
  return std::make_unique<AgentImpl>(services, std::move(parts), std::move(options));
}

}  // namespace agentd
