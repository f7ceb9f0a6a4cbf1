// SPDX-License-Identifier: Apache-2.0
#pragma once
// client_link.h - a command on this machine whose session the daemon holds: the stream that it reads, and the person at
// its terminal.
//
// The stream is the client's life: when it ends before the client has said so, the client has died.
//
// Threading: thread-safe; on_event() and ask() are called on the session's thread, elicit() on that of a call.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/agent/events.h"
#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/serve/http_exchange.h"
#include "core/tools/elicitor.h"
#include "core/tools/tool.h"

namespace agentd::serve {

// The directory and the variables of a client, and how its session is opened.
struct ClientWishes {
  std::string cwd;                       // absolute
  std::vector<std::string> environment;  // of the session's commands
  std::vector<std::string> options;      // OpenRequest::options
  bool answers = false;                  // a person is there
  bool detached = false;                 // its run goes on without it, and questions wait
};

class ClientLink final : public EventSink, public Approver, public Elicitor {
 public:
  // `clock` outlives it.
  ClientLink(const Clock& clock, std::string id, ClientWishes wishes)
      : clock_(clock), id_(std::move(id)), wishes_(std::move(wishes)) {}

  const std::string& id() const { return id_; }
  const ClientWishes& wishes() const { return wishes_; }

  // Sends what follows there. Called once.
  void connect(std::shared_ptr<HttpStream> stream);
  // A frame of client_wire.h.
  void send(std::string_view frame, std::string_view json);
  // A warning of the daemon or the project.
  void warn(const std::string& text);
  // The client has died, or has left.
  void leave();
  bool has_left() const;
  // Ends the stream.
  void close();
  // A comment, so that both ends notice a connection that has gone.
  void keep_alive();

  // A call of the client begins; the call that goes on, or is about to begin, is cancelled.
  void begin_call();
  void cancel_call();
  // Its client has cancelled the call, or has left.
  bool is_cancelled() const;

  // It hears the events of its own calls alone: while one of these lives.
  class Listening {
   public:
    explicit Listening(ClientLink* link)
        : link_(link), before_(std::exchange(current_, link != nullptr ? link : current_)) {
      if (link_ != nullptr) link_->listens(true);
    }
    ~Listening() {
      if (link_ != nullptr) link_->listens(false);
      current_ = before_;
    }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;

   private:
    ClientLink* const link_;
    ClientLink* const before_;
  };
  // The one that listens to this thread; null: none does.
  static ClientLink* of_this_thread() { return current_; }
  bool is_listening() const;

  void on_event(const RunEvent& event) override;
  // A question of another client's run would be seen too late.
  bool is_present() const override { return wishes_.answers && is_listening(); }
  // Also without a person: the client has the words for that, if the run is its own. Ends without an answer when its
  // client leaves, or the call is cancelled, which the client is told.
  PermissionAnswer ask(const SessionContext& session, const Tool& tool, const ToolCall& call,
                       const AskedBy& by) override;
  // Declines without a person, or in a run that is not the client's.
  ElicitationAnswer elicit(const Elicitation& question, const CancelToken& cancel, Deadline deadline) override;
  // The answer to what is asked now, as client_wire.h has it. False: nothing is asked.
  bool answer(std::string json);
  // The event that is held was shown.
  void go_on();

 private:
  static thread_local ClientLink* current_;

  void listens(bool now);
  // Sends a question when no other one is asked, and waits. nullopt: nobody answers it any more.
  std::optional<std::string> asked(std::string_view frame, std::string_view json, const CancelToken& cancel,
                                   Deadline deadline);
  bool is_over(const CancelToken& cancel, Deadline deadline) const REQUIRES(mutex_);

  const Clock& clock_;
  const std::string id_;
  const ClientWishes wishes_;
  mutable Mutex mutex_;
  Condition changed_;
  std::shared_ptr<HttpStream> stream_ GUARDED_BY(mutex_);  // shared with the server
  std::uint32_t listens_ GUARDED_BY(mutex_) = 0;
  bool left_ GUARDED_BY(mutex_) = false, asks_ GUARDED_BY(mutex_) = false,
             cancelled_ GUARDED_BY(mutex_) = false, held_ GUARDED_BY(mutex_) = false;
  std::optional<std::string> answer_ GUARDED_BY(mutex_);
};

}  // namespace agentd::serve
