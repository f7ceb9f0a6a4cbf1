// SPDX-License-Identifier: Apache-2.0
#pragma once
// session.h - a session: owns its parts and wires them. Private to this room.
//
// Between its runs a session is idle: it holds neither the lease nor a slot, and others may work in its conversation.
// Whatever it does next begins with what they have added.
//
// Threading: one thread at a time; what hooks' threads may touch is SharedSession.

#include <memory>
#include <string>
#include <string_view>

#include "core/agent/attendance.h"
#include "core/agent/run/run.h"
#include "core/agent/run_queue.h"
#include "core/agent/services/registry.h"

namespace agentd {

// The start parameters of a session.
struct SessionSeed {
  Ulid id;
  std::unique_ptr<Lease> lease;  // until the session is idle; a subagent's never is
  std::unique_ptr<Conversation> conversation;
  std::uint32_t source = AGENTD_SOURCE_STARTUP;
  AgentIdentity agent{};
  ParentRun parent{};
  RunQueue::SessionPlace place{};  // until the session ends; a subagent has none
  std::string session_id{};        // of one that was killed, to be ended; empty = a new one
};

class SessionImpl final : public Session, private ChildSessions {
 public:
  // All outlive it; `services` are those of hooks.
  SessionImpl(const AgentResources& agent, SessionRegistry& sessions, Services& services, Attendance& attendance,
              SessionSeed seed);
  ~SessionImpl() override;

  const std::string& conversation_id() const override { return position_.conversation_id; }
  const std::string& session_id() const override { return position_.session_id; }
  using Session::run;
  Result<RunReport, RunError> run(const RunRequest& request, const CancelToken& cancel) override;
  Result<DirectReport, RunError> call_tool(const DirectCall& call, const CancelToken& cancel) override;
  const OpenWait* wait() const override { return shared_.conversation().wait(); }
  Result<RunReport, RunError> carry_on(const std::string& changed, const CancelToken& cancel) override;
  Result<void, RunError> post(PostedMessage message) override { return shared_.post(std::move(message)); }
  std::vector<PostedMessage> take_posted() override { return shared_.take_posted(); }
  Result<CompactionReport, RunError> compact(const CompactOptions& options, bool dry_run,
                                             const CancelToken& cancel) override;
  Result<UndoReport, RunError> undo(bool force, const CancelToken& cancel) override;
  Result<std::string, RunError> checkpoint(const std::string& name) override;
  Gauge gauge() const override { return context_.gauge(); }
  void note(EndNotes notes) override { shared_.note(std::move(notes)); }
  void end(std::string_view reason) override;

  // Fires session_start; its context goes with every request from here on. `cancel` ends the hooks, not the
  // session.
  void start(const std::string& first_text, const CancelToken& cancel);
  // The two sides of clearing; kBlocked when a hook refuses, kCancelled when the user ended the asking.
  Result<void, RunError> before_clear(std::string_view reason, const CancelToken& cancel);
  void after_clear(std::string_view reason, std::string_view new_conversation_id, const CancelToken& cancel);

 private:
  class AtWork;
  // Waits for its turn, without the lease. kBusy, kCancelled.
  Result<RunQueue::RunPlace, RunError> take_place(const CancelToken& cancel);
  // Unless it has the lease: takes it and catches up. kBusy: another session or process works in the conversation;
  // kNotFound: it was deleted; kStore.
  Result<void, RunError> take_lease();
  Result<void, RunError> catch_up();
  void end_work();
  Result<void, RunError> commit_rest();
  // kRepeated: a message with that key is in the log.
  Result<void, RunError> check_new(const std::string& key);
  // A checkpoint of the conversation as it is: its id; empty where nothing was said.
  Result<std::string, RunError> save(std::string_view why, std::string name);
  // The work that follows is outside of runs.
  void begin_standalone(const CancelToken& cancel);
  // kBlocked: a tool call waits for an answer.
  Result<void, RunError> check_waiting() const;
  Result<RunReport, RunError> carry_on_direct(const std::string& changed);
  std::string task() const;
  void fire_end(std::string_view reason);
  // As the rows of attached sessions name it.
  Attendance::Session attended() const {
    return {options_.project_id, position_.session_id, position_.conversation_id};
  }
  // The first records come with its row.
  void attend();
  Done run_child(ChildTask task) override;
  RunMeans means() { return {parent_, memory_, *this, services_}; }

  const AgentResources& agent_;
  SessionRegistry& sessions_;
  Services& services_;
  Attendance& attendance_;
  const AgentOptions& options_;
  const std::uint32_t source_;  // AGENTD_SOURCE_
  const ParentRun parent_;
  RunQueue::SessionPlace place_;  // null: it has ended, or nobody counts
  std::unique_ptr<Lease> lease_;  // null while it is idle

  SharedSession shared_;
  Position position_;
  const Surface surface_;
  LogWriter log_;
  Context context_;
  HookPoint hooks_;
  Priming priming_;
  Messages messages_;
  Saving saving_;
  Threshold threshold_;
  CompactionNotes notes_;
  ToolMemory memory_;
  const SessionParts parts_;

  std::uint32_t outcome_ = AGENTD_OUTCOME_UNKNOWN;  // of the last run
  bool ended_ = false;
  bool erased_ = false;  // something of the conversation, since the session began
};

}  // namespace agentd
