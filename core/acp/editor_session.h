// SPDX-License-Identifier: Apache-2.0
#pragma once
// editor_session.h - one session of an editor: its prompts one after the other, each answered when its own run has
// ended, its choices, and its end.
//
// Everything that takes time is done on the session's thread, in the order in which it was asked for. A prompt that
// comes while a run goes on waits for its turn; one that steers joins the run and is answered with that run's stop.
//
// Threading: thread-safe. Events and answers come on the session's thread.

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/acp/asker.h"
#include "core/acp/choices.h"
#include "core/acp/editor_commands.h"
#include "core/acp/editor_files.h"
#include "core/acp/prompt.h"
#include "core/acp/updates.h"
#include "core/base/mutex.h"
#include "core/rpc/wire.h"
#include "core/serve/job_line.h"
#include "core/serve/workplaces.h"
#include "core/session/client_session.h"

namespace agentd::acp {

// Shared by the sessions of a door; all outlive them.
struct Shared {
  Runtime& runtime;
  serve::Workplaces& workplaces;
  serve::JobThreads& threads;
  RpcWire& wire;
  const ClientAbilities& abilities;
  CommandHosts& commands;
};

class EditorSession;

// How the editor wants a session opened.
struct Opening {
  std::string cwd;                           // absolute
  std::vector<std::string> more{};           // further roots of its files, absolute
  std::optional<Ulid> conversation{};        // an existing one
  bool replays = false;                      // what was said is told again
  std::shared_ptr<EditorSession> before{};   // of the same conversation: ends first
  std::vector<McpServerSettings> servers{};  // that the editor has named
};

class EditorSession final : private EventSink {
 public:
  EditorSession(const Shared& shared, Opening opening);
  // Ends it: a run is cancelled, and its end is waited for. REQUIRES: not on the session's own thread.
  ~EditorSession() override;
  EditorSession(const EditorSession&) = delete;
  EditorSession& operator=(const EditorSession&) = delete;

  // Opens the conversation and answers the request `id`, with the session's id as far as `tells_id`. `opened` is called
  // before with that id, or with an empty one where it could not be opened.
  void open(const RpcId& id, bool tells_id, const std::function<void(const std::string&)>& opened);

  // Answers the request when its run has ended. An id that waits for an answer already is refused.
  void prompt(const RpcId& id, Prompt prompt);
  // The same of a message for the run that goes on; without one it is a prompt.
  void steer(const RpcId& id, Prompt prompt);
  // Ends the run that goes on, and every prompt that waits: each is answered as cancelled.
  void cancel();
  // Ends one request; false: it is none of this session's.
  bool cancel(const RpcId& id);
  // Ends the session at its client's end, behind what is done; then `then` is called, on the session's thread unless
  // there is none for it.
  void close(const std::function<void()>& then);

  // Changes a choice, which holds from the next call of a tool (mode) or the next prompt on. Errors as choose().
  Result<void> choose(std::string_view option, std::string_view value);
  Choices choices() const;
  // The conversation that it has open; empty before that.
  std::string conversation() const;

  // True while a request of its editor waits for an answer.
  bool is_busy() const;
  // False: something is done, if only what follows an answer.
  bool is_idle() const { return jobs_.is_idle(); }

 private:
  struct Asked {
    RpcId id;
    CancelToken cancel{};
    bool by_request = false;  // $/cancel_request has ended it
    std::string text{};       // of a message that steers
  };

  void on_event(const RunEvent& event) override;
  Session& session() const { return *client_->session(); }
  void begin(const CancelToken& cancel);
  Result<void, RunError> open_now(const CancelToken& cancel);
  Result<void, RunError> ensure_open(const CancelToken& cancel, const std::string& first_text);
  void tell_opened();
  void run(const std::shared_ptr<Asked>& asked, Prompt prompt);
  // Asks about what waits since another time. False: nobody is there to answer, so that it goes on waiting.
  bool settle_wait(const CancelToken& cancel);
  Result<RunReport, RunError> run_request(RunRequest request, const CancelToken& cancel);
  // A command of the person: "/compact". nullopt: the text is none.
  std::optional<Result<RunReport, RunError>> command(const std::string& text, const CancelToken& cancel);
  void answer(const std::shared_ptr<Asked>& asked, const Result<RunReport, RunError>& report);
  void forget(const std::shared_ptr<Asked>& asked);
  bool waits_for(const RpcId& id) const REQUIRES(mutex_);
  void tell_title();

  const Shared shared_;
  Opening opening_;
  const std::shared_ptr<std::atomic<PermissionRules::Mode>> mode_;  // shared with the rules of a run
  Asker asker_;
  const std::shared_ptr<EditorCommands> terminals_;  // null: commands run in agentd's own; shared with their callers
  const std::shared_ptr<ProcessHost> commands_;      // likewise
  const std::shared_ptr<UnsavedFiles> unsaved_;      // shared with the files of the session
  std::shared_ptr<Workplace> workplace_;             // of the session's thread: shared with the sessions in it
  std::unique_ptr<ClientSession> client_;            // of the session's thread; null: nothing is open
  std::optional<Updates> updates_;                   // likewise; from open() on
  std::string title_;                                // likewise: as it was told
  Choices opened_with_;                              // likewise
  bool is_known_ = false;                            // likewise: the editor knows the session
  std::vector<std::string> early_;                   // likewise: what was told before

  mutable Mutex mutex_;
  std::optional<Ulid> conversation_ GUARDED_BY(mutex_);
  Choices choices_ GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<Asked>> asked_ GUARDED_BY(mutex_);      // prompts; shared with their jobs
  std::vector<std::shared_ptr<Asked>> steering_ GUARDED_BY(mutex_);  // that have joined the run
  bool runs_ GUARDED_BY(mutex_) = false;                             // messages join the run that goes on
  bool lost_ GUARDED_BY(mutex_) = false;                             // some of them were cancelled before it took them
  serve::JobLine jobs_;                                              // last: ends before what its jobs use
};

}  // namespace agentd::acp
