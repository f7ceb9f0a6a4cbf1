// SPDX-License-Identifier: Apache-2.0
#pragma once
// run.h - one run: from a user message to the stop. Private to this room.
//
// Life: the constructor begins the run (its number, its account, the records that open it), one of message(),
// compaction() and task() does all of it, the destructor leaves it. What was said until a failure stays: the log gets
// the end of the run, whatever ended it.
//
// Threading: the session's thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/agent/run/turn.h"

namespace agentd {

// The parent run's share in a session; empty for the user's.
struct ParentRun {
  std::string conversation{};
  std::uint64_t seq = 0;
  std::shared_ptr<Account> account{};    // null = each run has one of its own
  std::shared_ptr<HookLedger> ledger{};  // null = each run has its own
  bool can_wait = true;                  // false: it writes a summary, of which nothing else is recorded
};

// The parts of a run besides those of its session; all outlive it.
struct RunMeans {
  const ParentRun& parent;
  ToolMemory& memory;
  ChildSessions& children;
  Services& services;  // of hooks
};

// kFailure: the model cannot see one of them.
Result<void, RunError> check_media(const AgentResources& agent, const std::string& model,
                                   const std::vector<Block>& media);

// The first record of a log, unless it has one.
void add_genesis(const SessionParts& session, const ParentRun& parent);

class Run {
 public:
  // `schema`: that the last answer is held to. `compacts`: it writes a summary.
  Run(const SessionParts& session, RunMeans means, const CancelToken& cancel, std::optional<AnswerSchema> schema,
      bool compacts);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Result<RunReport, RunError> message(const RunRequest& request);
  // A recipe whose answer takes the history's place. Without tools it is one request, and the log gets the
  // summary alone: a run that fails leaves the view as it was.
  Result<RunReport, RunError> compaction(const RunRequest& request);
  // A subagent's run. subagent_start has seen the prompt already; null: no hook was called.
  Result<RunReport, RunError> task(const std::string& prompt, const Outcome* started);
  // Goes on where a call has waited; Session::carry_on(). kFailure: nothing waits.
  Result<RunReport, RunError> carry_on(const std::string& changed);

  // AGENTD_OUTCOME_, once it has ended.
  std::uint32_t outcome() const { return outcome_; }

 private:
  void open_account(bool compacts);
  void add_settings();
  // The wait of an earlier run; null = none, or the call has begun.
  const OpenWait* waiting() const;
  Result<TurnEnd, RunError> resume(const OpenWait& open, const std::string& changed);
  // The state of the run before it waited.
  void take_over(const WaitRecord& wait);
  // Before a new message: what waits is carried on or ended.
  Result<void, RunError> end_wait();
  Result<void, RunError> supersede(const OpenWait& open, const OpenWait& asked);
  // Denied, with the calls behind it; committed, since a message that is blocked takes back what is pending.
  Result<void, RunError> close_wait(const OpenWait& open);
  Result<void, RunError> send_compaction_prompt(const RunRequest& request);
  Result<RunReport, RunError> end_compaction(const CompactionReport& report);
  Result<RunReport, RunError> turns();
  // True when there is another one.
  Result<bool, RunError> turn(RunOutcome& outcome);
  // True when the answer does not fit the schema, and another one was asked for.
  Result<bool, RunError> asks_for_fitting_answer();
  // The message with that key: there is none, the next commit stores it, or it is stored and the surface was notified
  // again.
  enum class Known { kNot, kPending, kStored };
  Result<Known, RunError> knows(const std::string& key);
  Result<void, RunError> send(const PostedMessage& message);
  // Sends what the client has posted, of one kind or of any; true if there was something.
  Result<bool, RunError> send_posted(std::optional<PostedMessage::Kind> kind);

  Result<RunReport, RunError> end(RunOutcome outcome);
  RunError fail(RunError error);
  // After a failed commit: posted messages go back, other records are dropped, so that none is stored later.
  void drop_unstored();
  Result<void, RunError> add_end(RunOutcome outcome, std::string_view error);
  std::uint64_t duration_us() const;

  const SessionParts& session_;
  const RunMeans means_;
  RunState state_;
  // Posted messages that were sent, with the batch of the log that they belong to.
  std::vector<std::pair<std::uint64_t, SharedSession::Posted>> sent_;
  std::uint32_t outcome_ = AGENTD_OUTCOME_UNKNOWN;
};

}  // namespace agentd
