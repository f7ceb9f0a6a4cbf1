// SPDX-License-Identifier: Apache-2.0
#pragma once
// live_session.h - one conversation that the daemon has open: its messages one after the other, its events in a ring,
// and what it is doing.
//
// It has a thread as long as there is something to do. Whatever takes time is done there, in the order in which it was
// asked for; `done` functions are called there as well, and do not block.
//
// Threading: thread-safe. The events of a run come on the session's thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/mutex.h"
#include "core/serve/event_ring.h"
#include "core/serve/job_line.h"
#include "core/session/client_session.h"

namespace agentd::serve {

class ClientLink;
class Metrics;
class Workplaces;

// How a client wants a session opened.
struct SessionWishes {
  std::string cwd;  // absolute
  // These hold where no command works.
  std::string model{};                          // empty = the model in force
  std::optional<PermissionRules::Mode> mode{};  // kept with the conversation (conversation_mode.h)
  std::shared_ptr<ClientLink> client{};  // a command whose session it is, while that is there; shared with its stream
};

class LiveSession final {
 public:
  template <class T>
  using Done = std::function<void(Result<T, RunError>)>;

  // Nothing is opened yet. `conversation`: an existing one. All outlive it.
  LiveSession(Runtime& runtime, Workplaces& workplaces, Metrics& metrics, JobThreads& threads, SessionWishes wishes,
              std::optional<Ulid> conversation);
  // Ends it: a run is cancelled, and its end is waited for. REQUIRES: not on the session's own thread.
  ~LiveSession();
  LiveSession(const LiveSession&) = delete;
  LiveSession& operator=(const LiveSession&) = delete;

  // The client behind a call. Where a command works with its own terminal, others than the owner are refused with
  // kBlocked: the run, what was remembered of a person's answers, and the commands are that command's.
  enum class By : std::uint8_t { kOwner, kOther };

  // Opens it, which the first job does otherwise. `first_text`: the user's, when it is known.
  void open(const std::string& first_text, Done<void> done);
  // Empty before a new conversation is open.
  std::string id() const;

  // The conversation before anything was said in it: the store does not have it. nullopt: it has, or had it.
  std::optional<ConversationInfo> unsaid() const;

  // kParked: nothing is held but this object; the next job opens it again.
  enum class State : std::uint8_t { kParked, kIdle, kActive, kWaiting, kEnded };
  State state() const;

  // Messages. Once it is queued, `queued` is told whether it begins a run of its own or joins the one that goes on;
  // whatever becomes of it is an event. kBusy: too many wait; kUsage: the key cannot be one.
  enum class Queued : std::uint8_t { kRun, kSteer, kFollowUp };
  void post(PostedMessage message, bool steers, By by, Done<Queued> queued);
  // Carries on what waits, after an answer.
  void carry_on(By by, Done<void> queued);
  // Ends what goes on now. False: nothing does.
  bool cancel();
  void compact(CompactOptions options, bool dry_run, By by, Done<CompactionReport> done);
  void undo(bool force, By by, Done<UndoReport> done);
  void checkpoint(const std::string& name, By by, Done<std::string> done);
  void call_tool(DirectCall call, By by, Done<DirectReport> done);

  // ---- for a command on this machine (client_link.h)

  using ClientWork = std::function<void(ClientSession&, const CancelToken&)>;  // on the session's thread
  // Opens it for `wishes.client`: with what that brings, and whoever had it before no longer has. `refused` is called
  // in place of `work` where that cannot be; kBusy: somebody works.
  void lend(SessionWishes wishes, const std::string& first_text, ClientWork work,
            std::function<void(RunError)> refused);
  // kBusy while a run goes on that is not that client's.
  std::optional<RunError> busy_for(const ClientLink& client) const;
  // Works for that client alone. `refused` is called in place of `work` where it cannot: kBusy, it has it no more.
  void work_for(std::shared_ptr<ClientLink> client, ClientWork work, std::function<void(RunError)> refused,
                const std::string& first_text = {});
  // Messages join the run that this makes; `done` gets its report before those that came too late are looked after.
  // REQUIRES: in `work` of work_for().
  void run_now(const std::function<Result<RunReport, RunError>()>& run,
               const std::function<void(const Result<RunReport, RunError>&)>& done);
  // ClientSession::clear(). REQUIRES: likewise.
  Result<void, RunError> clear_now(const CancelToken& cancel);
  // Takes over the session of `from` with its client, once clear_now() has given it another conversation; `from` is
  // parked. REQUIRES: nobody else knows this one; on the thread of `from`.
  void take_over(LiveSession& from);
  // Ends the session with that reason and takes it back; `done`, which may be empty, is called in any case.
  void release(std::shared_ptr<ClientLink> client, std::string_view reason, std::function<void()> done);
  // cancel(), if what goes on is that client's.
  bool cancel_of(const ClientLink& client);

  // True while a command on this machine works in it with its own terminal.
  bool is_lent() const;
  // kBlocked where that one may not act.
  std::optional<RunError> refusal_of(By by) const;

  // Sends the events from now on, or from `last` on. False: there are too many readers, or it has ended.
  bool subscribe(std::shared_ptr<HttpStream> stream, const std::optional<EventId>& last);
  EventRing& ring() { return ring_; }

  // Since when nobody has used it; nullopt: it works.
  std::optional<std::uint64_t> idle_since_ns() const;
  // Ends the session at its client's end, with session_end, unless something is to be done, or it is lent. Its ring
  // stays.
  void park();
  // Takes nothing further, if nothing is to be done; true if so.
  bool retire();
  // Ends it with that reason of session_end, behind what waits. Further calls are kBusy. False: no thread is free for
  // it.
  bool end(std::string_view reason);
  // Cancels what it does, and refuses what waits.
  void stop();

 private:
  // The sink of the session's events, which a session keeps when it gets another conversation.
  struct Feed final : EventSink {
    explicit Feed(LiveSession& owner) : to(&owner) {}
    void on_event(const RunEvent& event) override { to->on_event(event); }
    LiveSession* to;
  };
  void on_event(const RunEvent& event);
  void count(const RunEvent& event);
  std::uint64_t revision() const;
  Session& session() const { return *client_->session(); }
  Result<void, RunError> ensure_open(const std::string& first_text, const CancelToken& cancel);
  void close(std::string_view reason, State after);
  // Adds a job with a token that cancel() sets, for an open session. `refused` is called in its place if there is none.
  using Refused = std::function<void(RunError)>;
  void add(std::function<void(const CancelToken&)> job, const Refused& refused, By by = By::kOwner,
           const std::string& first_text = {});
  template <class T>
  void add_for(By by, Done<T> done, std::function<Result<T, RunError>(Session&, const CancelToken&)> job);
  void begin_run();
  void ran(const Result<RunReport, RunError>& report);
  void tell(std::string_view type, std::string_view json);
  void give_back(std::vector<PostedMessage> messages);

  Runtime& runtime_;
  Workplaces& workplaces_;
  Metrics& metrics_;
  SessionWishes wishes_;  // of the session's thread
  EventRing ring_;
  std::unique_ptr<Feed> feed_;             // of the session's thread; null: parked
  std::shared_ptr<Workplace> workplace_;   // of the session's thread: shared with the sessions in it; null: parked
  std::unique_ptr<ClientSession> client_;  // of the session's thread, and of post() during a run; null: parked
  bool user_told_ = false;                 // likewise: and that the user's message is stored
  std::uint64_t unseen_ = 0;               // of the session's thread: messages that the client has not been shown
  bool ended_told_ = false;                // of the session's thread: a run has told its end
  std::uint64_t told_ = 0;                 // of the session's thread: how far the log is told
  mutable Mutex mutex_;
  std::string id_ GUARDED_BY(mutex_);
  std::string new_cwd_ GUARDED_BY(mutex_);  // of a conversation that was begun here; empty: it was there before
  State state_ GUARDED_BY(mutex_) = State::kParked;
  bool stops_ GUARDED_BY(mutex_) = false;
  bool lent_ GUARDED_BY(mutex_) = false;
  // Messages that joined the run and that it has not taken, and their bytes.
  std::size_t posted_ GUARDED_BY(mutex_) = 0, posted_bytes_ GUARDED_BY(mutex_) = 0;
  bool runs_ GUARDED_BY(mutex_) = false;  // messages join the run that goes on
  std::optional<CancelToken> cancel_ GUARDED_BY(mutex_);
  std::shared_ptr<ClientLink> working_ GUARDED_BY(mutex_);  // the client whose call is done now; null: none's
  std::uint64_t used_ns_ GUARDED_BY(mutex_);
  mutable std::uint64_t revision_ GUARDED_BY(mutex_) = 0;
  JobLine jobs_;  // last: ends before what its jobs use
};

std::string_view name_of(LiveSession::State state);  // "parked", "idle", "active", "waiting", "ended"

// A RunError as an answer: its status, its code and its message.
HttpReply error_reply(const RunError& error);
std::string_view code_of(RunError::Kind kind);  // "busy", "not_found", ...

}  // namespace agentd::serve
