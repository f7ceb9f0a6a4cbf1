// SPDX-License-Identifier: Apache-2.0
#pragma once
// crowd.h - a process with many clients on a real store: a dispatcher, an agent and an event sink for each, as a server
// has them; the model, the tools and the hooks are played.
//
// The hooks are those of a workplace and are republished while runs begin. What is played is drawn from a seed; the
// order of the threads is the machine's.
//
// Threading: thread-safe, but open() and the end of a client belong to one thread each.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/agent/agent.h"
#include "core/agent/run_queue.h"
#include "core/recipes/recipes.h"
#include "tests/sessions/log_check.h"
#include "tests/support/hook_fakes.h"

namespace agentd::sessions {

struct CrowdOptions {
  std::uint64_t seed = 1;
  std::string name;  // in every text of the crowd, so that no other has the same
  RunQueue::Limits limits{};
  bool calm = false;  // no tool is called, and hooks only watch
  // Called on the threads of the runs, before `on_event`, with what is acknowledged.
  std::function<void(const Fact&)> witness{};
  std::function<void(std::size_t client, const RunEvent&)> on_event{};
};

// Aborts if it cannot be opened.
std::unique_ptr<Store> open_store(const std::string& directory, const Clock& clock);

class Crowd {
 public:
  class Client;
  static constexpr std::size_t kProjects = 4;

  // `store` outlives the crowd, and the crowd its clients.
  Crowd(Store& store, CrowdOptions options);
  ~Crowd();
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  // The client with that number; nullopt = of a new conversation.
  Result<std::unique_ptr<Client>, RunError> open(std::size_t number, std::optional<Ulid> conversation);

  // Other hooks in the place of those before; runs that have begun a turn keep theirs until its end.
  void republish();
  // How often hooks were published, and how many of those that were replaced can still be called.
  std::size_t generations();
  std::size_t pinned();
  // True once a hook of the newest publication was called.
  bool newest_was_called();
  // Takes the hooks away. REQUIRES: all clients are gone.
  void retire();

  Store& store() { return store_; }
  RunQueue& runs() { return runs_; }
  std::size_t slots_in_use() { return slots_.in_use(); }
  const Clock& clock() const { return clock_; }
  // Violations: a run that failed without a cause, a hook that was called after its end.
  Findings violations();

 private:
  class Model;
  class Tools;
  struct Generation;

  RuntimeParts runtime_parts();
  AgentOptions options_of(std::size_t number) const;
  void violated(std::string what);
  void end_unpinned() REQUIRES(mutex_);

  Store& store_;
  const CrowdOptions options_;
  const SystemClock clock_{};
  IdSource ids_{clock_};
  testing::RecordingLog log_;
  RecipeBook prompts_{{}, log_};
  const ModelTable models_;
  const SimpleEstimator estimator_;
  testing::TestSlots slots_;
  RunQueue runs_;
  const std::unique_ptr<Model> model_;
  const std::unique_ptr<Tools> tools_;
  Dispatcher workplace_{clock_};
  Mutex mutex_;
  std::vector<std::unique_ptr<Generation>> generations_ GUARDED_BY(mutex_);
  Findings violations_ GUARDED_BY(mutex_);
  AgentServicesPtr services_;
};

class Crowd::Client final : private EventSink {
 public:
  Client(Crowd& crowd, std::size_t number);
  ~Client() override;
  // Once.
  Result<void, RunError> open(std::optional<Ulid> conversation);

  Session& session() { return *session_; }
  Ulid conversation() const { return *Ulid::parse(session_->conversation_id()); }
  std::size_t number() const { return number_; }

  // A question, a compaction or an undo, or an answer to what waits; interrupt() of any thread may end it.
  void act(std::mt19937_64& random);
  // Fails only when it is interrupted, or when a call behind an answered one waits.
  Result<RunReport, RunError> ask();
  void interrupt();
  // Asks until nothing waits.
  void settle();

 private:
  void answer_wait(std::mt19937_64& random);
  void on_event(const RunEvent& event) override;
  CancelToken begin();
  std::string next_text(const char* what);

  Crowd& crowd_;
  const std::size_t number_;
  std::uint64_t texts_ = 0;
  Dispatcher dispatcher_;
  std::unique_ptr<Agent> agent_;
  std::unique_ptr<Session> session_;
  Mutex mutex_;
  CancelToken cancel_ GUARDED_BY(mutex_);  // of what it does now
};

}  // namespace agentd::sessions
