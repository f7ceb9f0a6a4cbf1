// SPDX-License-Identifier: Apache-2.0
#pragma once
// remote_session.h - a session that `agentd serve` holds for this command, as if it were in this process.
//
// It is taken only if the daemon would do exactly what the command would do (core/serve/client_terms.h). Events come in
// the order in which they happened and are shown on the thread that works; a question is asked there, too.
//
// Threading: as Session.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/agent/agent.h"
#include "core/app/daemon_door.h"
#include "core/session/chat_calls.h"

namespace agentd::app {

class RemoteSession final : public Session {
 public:
  struct Wishes {
    std::string cwd;
    std::vector<std::string> options{};  // OpenRequest::options
    bool hooks = true;
    bool detached = false;  // run() returns when the message is stored
  };
  // The daemon's answer to a command. kNone: there is no daemon; kOwn: the command works by itself, as `warning` may
  // say.
  struct Offer {
    enum class Kind : std::uint8_t { kNone, kOwn, kServed } kind = Kind::kNone;
    std::string warning{};
    std::unique_ptr<RemoteSession> session{};
    std::string reason{};  // of kOwn, in the daemon's words; may be empty
  };
  // `events` and `approver` outlive the session.
  static Offer ask(const App& app, const Config& config, const Wishes& wishes, EventSink& events, Approver& approver);
  ~RemoteSession() override;

  // As ClientSession::open(). kBusy with is_lent(): another command has the session, and does not work: the store is
  // free.
  Result<void, RunError> open(std::optional<Ulid> conversation, const std::string& first_text,
                              const CancelToken& cancel);

  bool is_lent() const { return refused_; }

  const std::string& conversation_id() const override { return conversation_id_; }
  const std::string& session_id() const override { return session_id_; }
  Result<RunReport, RunError> run(const RunRequest& request, const CancelToken& cancel) override;
  Result<RunReport, RunError> carry_on(const std::string& changed, const CancelToken& cancel) override;
  Result<CompactionReport, RunError> compact(const CompactOptions& options, bool dry_run,
                                             const CancelToken& cancel) override;
  Result<UndoReport, RunError> undo(bool force, const CancelToken& cancel) override;
  Gauge gauge() const override { return gauge_; }
  Result<std::string, RunError> checkpoint(const std::string& name) override;
  void end(std::string_view reason) override;

  // For a chat: as chat_calls.h and ClientSession::clear() have it.
  bool has_messages() const { return has_messages_; }
  bool waits() const { return waits_; }  // as the session was opened
  Result<ChatStatus, RunError> status();
  Result<std::vector<ListedRecipe>, RunError> recipes();
  Result<std::optional<OfferedCheckpoint>, RunError> offer();
  // An error: nothing has run.
  Result<RecipeRun, RunError> run_recipe(const RecipeCall& call, const CancelToken& cancel);
  Result<void, RunError> clear(const CancelToken& cancel);
  // The answer to the question that is asked is not needed any more: the run has ended, or the daemon has.
  bool is_withdrawn() const;
  // The daemon has ended: every further call fails.
  bool is_lost() const { return lost_; }

  // No command of a daemon needs these: kUsage, or nothing.
  Result<DirectReport, RunError> call_tool(const DirectCall& call, const CancelToken& cancel) override;
  const OpenWait* wait() const override { return nullptr; }
  Result<void, RunError> post(PostedMessage message) override;
  std::vector<PostedMessage> take_posted() override { return {}; }
  void note(EndNotes) override {}

 private:
  RemoteSession(const App& app, std::unique_ptr<DaemonDoor> door, bool detached, EventSink& events, Approver& approver);
  // Makes a call, and returns what it has given.
  Result<JsonDocument, RunError> perform(std::string_view json, const CancelToken& cancel);
  Result<JsonDocument, RunError> wait_for_end(const CancelToken& cancel);
  Result<RunReport, RunError> run_call(std::string_view json, const CancelToken& cancel);
  std::string path(std::string_view what) const;
  void answer(JsonView question) const;
  void fill(JsonView form, const CancelToken& cancel) const;
  void opened(JsonView done);
  // A call that nobody cancels.
  Result<JsonDocument, RunError> ask(std::string_view call);
  RunError lost();

  const Clock& clock_;
  const std::unique_ptr<DaemonDoor> door_;
  const bool detached_;
  EventSink& events_;
  Approver& approver_;
  std::unique_ptr<DaemonStream> stream_;
  std::string client_, conversation_id_, session_id_;
  Gauge gauge_, compacted_;  // after the last call; of the boundary that is about to be told
  bool has_messages_ = false, waits_ = false;
  bool refused_ = false;  // the last call was, before a run
  bool lost_ = false, ended_ = false;
};

}  // namespace agentd::app
