// SPDX-License-Identifier: Apache-2.0
#pragma once
// runs.h - runs of agents as tasks: begun here, and known by the log alone.
//
// The id of a task is a conversation and the key of the message that began its run. So every process of the home can
// tell how it stands: it works while somebody holds the conversation, it waits for a person, it has ended, or its
// process has. Only its cancellation needs the process that runs it.
// Source: modelcontextprotocol.io, extension io.modelcontextprotocol/tasks (SEP-2663).
//
// Threading: thread-safe.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/mcp/client.h"

namespace agentd::mcp {

struct RunWish {
  std::string prompt, recipe, model;
  RecipeValues arguments{};
  std::optional<Ulid> conversation{};  // absent: a new one
};
// kInvalid: a sentence about the input of run_agent.
Result<RunWish> read_run_wish(JsonView input);

// The input of run_agent as the hooks of the call get it: without its words, the prompt and the values of a recipe's
// arguments. They are a user's message, which the hooks of messages see first, in the conversation of the run.
std::string without_words(JsonView input);
// The input as the hooks of the call have left it, with the words of `given` wherever they have not set others.
std::string with_words(JsonView left, JsonView given);

// A run, as the log has it.
struct TaskState {
  enum class Kind : std::uint8_t { kWorking, kWaiting, kEnded, kCancelled, kInterrupted } kind = Kind::kWorking;
  std::string id, conversation;
  std::string outcome{}, text{};  // kEnded: RunEndRecord::outcome, and the answer or the error
  bool failed = false;            // kEnded: without an answer
  std::string waits_for{};        // kWaiting: the id of the wait
  std::int64_t created_ms = 0, updated_ms = 0;
};
// kNotFound: there is no such task.
Result<TaskState> task_in_log(Store& store, const std::string& id);
// The sentence that a status alone does not say; empty = there is none.
std::string message_of(const TaskState& state);
// The members of a task: taskId, status and their like.
void write_task(JsonWriter& out, const TaskState& state);
// The answer of run_agent: the result of tools/call, one object.
std::string run_result(const TaskState& state);

class Runs {
 public:
  // The means outlive it.
  explicit Runs(const Means& means) : means_(means) {}
  // Cancels all, and waits for their ends.
  ~Runs();
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;

  class Run;
  // Begins one for a client that works in `cwd`, and returns once its message is stored, so that the task can be asked
  // for. An error: nothing was run.
  Result<std::shared_ptr<Run>, RunError> begin(const std::string& cwd, RunWish wish, const CancelToken& cancel);
  void cancel_all();
  // Ends it; false: this process does not run it.
  bool cancel(const std::string& id);
  // As the log has it, and whether it goes on here.
  Result<TaskState> state(const std::string& id);

 private:
  void work(const std::shared_ptr<Run>& run, const std::string& cwd, const RunWish& wish);
  Result<void, RunError> work_now(Run& run, const std::string& cwd, const RunWish& wish);
  void forget(const Run& run);

  const Means& means_;
  Mutex mutex_;
  Condition ended_;
  std::vector<std::shared_ptr<Run>> runs_ GUARDED_BY(mutex_);  // that go on; shared with those who wait for them
};

class Runs::Run final : public EventSink {
 public:
  Run(const Clock& clock, std::string key) : clock_(clock), key_(std::move(key)) {}

  // Empty before its message is stored.
  std::string id() const;
  // Returns when it has ended or waits for a person; `cancel` ends it.
  Result<void, RunError> wait(const CancelToken& cancel, const Progress& progress);
  void stop() const { cancel_.cancel(AGENTD_CANCEL_USER); }

 private:
  friend class Runs;
  void on_event(const RunEvent& event) override;
  void ended(Result<void, RunError> how);
  bool wait_stored(const CancelToken& cancel);

  const Clock& clock_;
  const std::string key_;
  const CancelToken cancel_;
  mutable Mutex mutex_;
  Condition changed_;
  std::string conversation_ GUARDED_BY(mutex_), now_ GUARDED_BY(mutex_);
  bool stored_ GUARDED_BY(mutex_) = false;
  std::uint64_t steps_ GUARDED_BY(mutex_) = 0;
  std::optional<Result<void, RunError>> ended_ GUARDED_BY(mutex_);
};

// `compact`: in a session of its own.
Result<std::string, RunError> compact_conversation(const Means& means, JsonView input, const CancelToken& cancel);

}  // namespace agentd::mcp
