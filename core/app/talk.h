// SPDX-License-Identifier: Apache-2.0
#pragma once
// talk.h - shared by run, chat and compact: renderer, approver, and one runtime, workplace and session.
//
// Threading: one thread.

#include <memory>
#include <optional>
#include <string>

#include "core/app/app.h"
#include "core/app/approver.h"
#include "core/app/failure.h"
#include "core/app/message_input.h"
#include "core/app/remote_session.h"
#include "core/app/render.h"
#include "core/runtime/memory_worker.h"
#include "core/session/chat_calls.h"
#include "core/session/client_session.h"

namespace agentd::app {

class Talk {
 public:
  enum class Style { kTerminal, kJson, kResultOnly };

  struct Wishes {
    bool needs_model = true;
    bool will_run = true;                 // a message is sure to be sent
    const WaitRecord* resumes = nullptr;  // a wait that is to be carried on, with its recipe; it outlives this
    // `agentd serve` may do the work where it would do the same: without recipe() and client().
    bool served = false;
    bool detached = false;  // it has to, and goes on with the run when this process has ended
  };
  // From --json, --result-only, --no-save, --no-hooks, --safe-mode, --no-tools and the configuration.
  static Result<std::unique_ptr<Talk>, Failure> begin(App& app, const Arguments& arguments, const Wishes& wishes);

  // Opens the conversation named by --resume, --follow or --conversation-id; otherwise a new one. REQUIRES: no
  // session. `first_text`: the user's, when it is known.
  Result<void, Failure> attach(const CancelToken& cancel, const std::string& first_text = {});
  // Opens that conversation. REQUIRES: no session.
  Result<void, Failure> attach(const Ulid& conversation, const CancelToken& cancel);
  // Goes on with what waits in the conversation.
  Result<RunReport, RunError> carry_on(const CancelToken& cancel);
  // Replaces the conversation with a new one. If a hook blocks (kExitBlocked) or `cancel` is set (kExitInterrupted),
  // the session continues; after any other failure there is none.
  Result<void, Failure> clear(const CancelToken& cancel);

  const Config& config() const { return config_; }
  // REQUIRES: not is_served().
  ClientSession& client() { return *client_; }
  Session& session() { return remote_ ? static_cast<Session&>(*remote_) : *client_->session(); }
  bool is_served() const { return remote_ != nullptr; }
  // The reason of a daemon that does not work for this command; empty = there is no daemon, or it has given none.
  const std::string& why_not_served() const { return why_not_served_; }
  // The recipe in use; null = none.
  const Recipe* recipe() const { return client_ ? client_->recipe() : nullptr; }
  std::optional<std::string> recipe_failure() const {
    return client_ ? client_->recipe_failure() : std::optional<std::string>();
  }
  // The store of this process, or one that `own` then holds.
  Result<Store*, Failure> store(std::unique_ptr<Store>& own) const;
  // The error, with the way to a conversation that the daemon uses.
  RunError explained(RunError error) const;
  Style style() const { return style_; }
  bool saves() const { return !arguments_.has("no-save"); }
  // True if the conversation has a message; of one that the daemon has: when it was opened.
  bool has_messages() const;
  // True if a call waits for an answer; likewise.
  bool waits();

  // For a chat: chat_calls.h.
  Result<ChatStatus, RunError> status();
  Result<std::vector<ListedRecipe>, RunError> recipes();
  std::optional<OfferedCheckpoint> offer();
  // An error: nothing has run.
  Result<RecipeRun, RunError> run_recipe(const RecipeCall& call, const CancelToken& cancel);
  // The daemon that worked has ended.
  bool is_lost() const { return remote_ && remote_->is_lost(); }
  // Ends lines and waiting of the renderer.
  void settle();
  // "conversation 01J... · context 34 % · 3 turns", on standard error.
  void footer(const RunReport& report);
  // Receives text typed before a question; dropped unless set.
  void keep_typed(std::function<void(std::string)> keep) { keep_typed_ = std::move(keep); }
  // Receives each message of the user's once it is stored, as hooks have left it; called within a run.
  void tell_stored(std::function<void(std::string_view)> tell) { tell_stored_ = std::move(tell); }
  // Lets a thread distil what an earlier session left, until the session's end.
  void refine_memories() {
    if (runtime_) memory_worker_ = MemoryWorker::start(*runtime_);
  }
  // Ends the session.
  void end(std::string_view reason);

 private:
  Talk(App& app, const Arguments& arguments, Config config, const Wishes& wishes);
  Result<void, Failure> start();
  // Lets the daemon do it, if it is there and would do the same.
  Result<void, Failure> ask_daemon();
  EventSink& make_renderer(bool trace);
  Result<void, RunError> open_levels(const RecipeValues& values);
  Result<void, RunError> open(std::optional<Ulid> conversation, const std::string& first_text,
                              const CancelToken& cancel);
  RunError with_way_out(RunError error) const;
  void warn(const std::string& text);
  Result<std::optional<Ulid>, Failure> wanted();

  App& app_;
  const Arguments& arguments_;
  const Config config_;
  const Wishes wishes_;
  std::string changed_;  // Session::carry_on()
  Style style_ = Style::kTerminal;
  std::unique_ptr<TerminalRenderer> terminal_;
  std::unique_ptr<JsonRenderer> json_;
  std::unique_ptr<QuietRenderer> quiet_;
  std::unique_ptr<EventSink> stored_watch_;
  std::unique_ptr<ReaderWatch> watch_;
  std::function<void(std::string)> keep_typed_;
  std::function<void(std::string_view)> tell_stored_;
  std::unique_ptr<Approver> approver_;
  bool daemon_is_there_ = false;
  std::string why_not_served_;             // in the daemon's words
  std::unique_ptr<RemoteSession> remote_;  // null: this process works, with those that follow
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Workplace> workplace_;
  std::unique_ptr<ClientSession> client_;
  std::unique_ptr<MemoryWorker> memory_worker_;  // null: nothing is distilled
};

// The text followed by the workspace files that it names (message_input.h); unknown names are a warning.
Result<WithFiles> attached(App& app, const Arguments& arguments, const std::string& text);

}  // namespace agentd::app
