// SPDX-License-Identifier: Apache-2.0
#pragma once
// session.h - the working parts of a session: what is pending, the gauge, events, turns, compaction.
// Private to this room.
//
// Threading: one thread at a time.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/agent/agent.h"
#include "core/agent/answer_schema.h"
#include "core/agent/input_schemas.h"
#include "core/agent/resources.h"
#include "core/agent/services/registry.h"
#include "core/agent/session/firing.h"
#include "core/agent/session/shared.h"

namespace agentd {

class Compaction;

// Texts that an envelope borrows; filled once per session, touched at each turn.
struct EnvelopeTexts {
  std::string event_id, run_id, turn_id;
};

// Who works in a session: the user's agent, or one that another agent started.
struct AgentIdentity {
  std::string id = "main", type = "main";
  std::uint32_t depth = 0;
};

// What a session starts with.
struct SessionSeed {
  Ulid id;
  std::unique_ptr<Lease> lease;
  std::unique_ptr<Conversation> conversation;
  std::uint32_t source = AGENTD_SOURCE_STARTUP;
  AgentIdentity agent{};
  std::string parent{};  // the conversation whose agent started this one
  std::uint64_t parent_seq = 0;
  std::shared_ptr<Account> account{};         // of the run that started it; null = each run has one of its own
  std::shared_ptr<HookLedger> hook_ledger{};  // of the same; null = it stands alone
};

// So often a run asks for an answer that fits its schema, after the first one that does not.
inline constexpr std::uint32_t kCorrectionsMax = 2;
// That many pauses of a provider in a row end the run.
inline constexpr std::uint32_t kPausesMax = 8;

class SessionImpl final : public Session {
 public:
  // All outlive it; `services` are those of hooks.
  SessionImpl(const AgentResources& resources, SessionRegistry& sessions, Services& services, SessionSeed seed);
  ~SessionImpl() override;

  const std::string& conversation_id() const override { return id_text_; }
  const std::string& session_id() const override { return session_id_; }
  using Session::run;
  Result<RunReport, RunError> run(const RunRequest& request, const CancelToken& cancel) override;
  Result<CompactionReport, RunError> compact(const CompactOptions& options, bool dry_run,
                                             const CancelToken& cancel) override;
  Result<UndoReport, RunError> undo(bool force, const CancelToken& cancel) override;
  Gauge gauge() const override;
  void end(std::string_view reason) override;

  // Fires session_start; its context goes with every request from here on. `cancel` ends the hooks, not the
  // session.
  void start(const CancelToken& cancel);
  // The two sides of clearing; kBlocked when a hook refuses, kCancelled when the user ended the asking.
  Result<void, RunError> before_clear(std::string_view reason, const CancelToken& cancel);
  void after_clear(std::string_view reason, std::string_view new_conversation_id, const CancelToken& cancel);

 private:
  friend class Turn;
  friend class Compaction;

  // ---- records (session.cc)
  void add(Record record);
  // The sequence that the next added record will have.
  std::uint64_t next_seq() const { return shared_.conversation().revision() + pending_.size() + 1; }
  Result<void, RunError> commit();
  // kConflict: somebody else appended since, nothing was written, and what is pending stays so.
  Result<void> try_commit();
  // Behind whatever others append meanwhile: for records that name no sequence.
  static constexpr int kCommitTriesMax = 1'000;
  Result<void, RunError> commit_behind();
  // Takes up what others appended; their records. After a revert or a boundary of theirs the whole
  // conversation is loaded again.
  Result<std::vector<StoredRecord>, RunError> catch_up();
  void drop_receipts(const Error& why);
  void take_charges();
  void recover_open_calls();
  void begin_conversation();
  void add_settings();
  Result<void, RunError> send_user_message(std::string text, std::string_view source,
                                           const std::vector<Block>& media = {});
  void add_user_message(const std::string& text, std::string_view source, const std::vector<Block>& media = {});
  // The model can see what goes to it.
  Result<void, RunError> check_media(const std::vector<Block>& media) const;
  void flush_receipts();

  // ---- run (session.cc)
  void begin_run(const CancelToken& cancel, bool compacts);
  void renew_hooks();
  Result<RunReport, RunError> run_task(std::string_view prompt, const Outcome* started, const CancelToken& cancel);
  Result<RunReport, RunError> run_turns();
  // True when the answer does not fit the schema, and another one was asked for.
  Result<bool, RunError> asks_for_fitting_answer();
  Result<RunReport, RunError> run_message(const RunRequest& request);
  Result<RunReport, RunError> run_compaction(const RunRequest& request);
  Result<RunReport, RunError> end_compaction(const CompactionReport& report);
  Result<RunReport, RunError> end_run(RunOutcome outcome);
  void leave_run();
  void take_session_start(const Outcome& outcome);
  Result<void, RunError> finish_run(RunOutcome outcome, std::string_view error);
  RunError fail_run(RunError error);
  std::uint64_t run_duration_us() const;
  // "the run was stopped by HOOK: reason"; REQUIRES: stopped_.
  std::string stop_text() const;
  // kStopped once a hook has ended the run, kCancelled once the user has: asked after every event of a run.
  Result<void, RunError> check_stopped() const;
  // The error of a run that a hook has blocked. A guard that an interrupt cut short fails closed as well, but
  // then the user has ended the run: kCancelled.
  RunError refused(std::string text) const;
  // The outcome of a run that its last answer has ended.
  RunOutcome outcome_of_answer() const;
  // The sentence about a run that ended without the answer that was asked for; empty = it has one.
  std::string short_stop_text(RunOutcome outcome) const;

  // ---- stop (stop.cc)
  struct StopDecision {
    bool go_on = false;
    RunOutcome outcome = RunOutcome::kStop;
  };
  std::uint32_t stop_event() const { return agent_.depth == 0 ? AGENTD_EVENT_AGENT_STOP : AGENTD_EVENT_SUBAGENT_STOP; }
  Result<StopDecision, RunError> agent_stop();
  Result<StopDecision, RunError> apply_stop_answer(const Outcome& outcome);
  using NextMessages = std::vector<std::pair<std::string, std::string>>;  // text, source
  Result<void, RunError> apply_exclusive(const Outcome::Attributed& asked, StopDecision& decision, NextMessages& next);
  Result<void, RunError> go_on(NextMessages next, StopDecision& decision);
  Result<void, RunError> store_summary(const Action& action);
  Result<std::string, RunError> run_callback(const Action& action);
  Result<StopDecision, RunError> close_compaction(const Outcome* outcome);
  Result<void, RunError> run_queued_compactions(std::uint32_t phase);

  // ---- undo (undo.cc)
  struct Undo;
  Result<Undo, RunError> plan_undo() const;
  Result<UndoReport, RunError> commit_undo(const Undo& undo);

  // ---- context (context.cc)
  std::string system_text() const;
  std::vector<ToolSpec> tool_specs() const;
  // The tools to send with a request about these rows in which no tool may be called: those of this
  // session, or those that the calls in the rows name; none where the rows hold no call.
  std::vector<ToolSpec> tools_beside(std::span<const agentd_message> rows) const;
  void refresh_tools();
  // System prompt and tools as the estimator counts them, before the correction of the gauge.
  std::uint64_t floor_tokens() const;
  std::uint64_t usual_floor_tokens() const { return usual_floor_ ? *usual_floor_ : floor_tokens(); }
  std::uint64_t count_frame(const std::string& system, std::span<const ToolSpec> tools) const;
  // The provider has counted `reported` tokens in a request that the estimator took for `estimated`.
  void learn_tokens(const std::string& model, std::uint64_t estimated, std::uint64_t reported);
  // The record of what the provider reported for a request of `estimated` tokens and the answer at
  // `seq`, after it was learned from; a report that cannot be true is none for the gauge.
  void tell_cut(std::uint64_t reported, std::uint64_t estimated);
  UsageRecord usage_of_turn(const Usage& usage, std::uint64_t seq, const std::string& model, std::uint64_t estimated);
  // From here to the next commit the gauge counts this answer, of a request of `estimated` tokens.
  void gauge_answer(const ModelResponse& answer, const std::string& model, std::uint64_t estimated);
  void check_threshold();  // session.cc, as the next
  // Kept in the log, so that the next process does not tell hooks again.
  void note_threshold(bool above);

  // ---- events (firing.cc)
  std::unique_ptr<Outcome> fire(const Fired& fired);
  std::unique_ptr<Outcome> fire(std::uint32_t event, const void* payload, const void* bare = nullptr);
  agentd_envelope envelope_of(const Fired& fired, const agentd_gauge& gauge);
  Firing::Frame frame_of(std::uint32_t event);
  void report(const Outcome& outcome, std::uint32_t event);
  void report_problem(std::uint32_t event, const Firing::Problem& problem);
  void tell_hook(const HookTrace& trace);
  void add_contexts(const Outcome& outcome);
  void record_effect(std::uint32_t event, const Outcome::By& by, std::string_view effect, std::string_view before,
                     std::string_view after, std::string_view reason);
  void tell(RunEvent event) const;
  // What a hook asked for at the event was not done.
  // The receipt of a hook's answer says that it was not carried out, and why.
  void refute(std::string_view hook, std::uint32_t event, std::string_view why);
  void report_refusal(std::string_view hook, std::uint32_t event, std::string_view why);
  // A warning of the runtime: to the surface, and as a notification to the hooks. Never inside a dispatch.
  void warn(std::string_view text);
  void notify(std::uint32_t level, std::string_view text);
  void fire_error(std::string_view code, std::string_view message, std::string_view phase, bool retryable);
  void notify_error(std::string_view code, std::string_view message, std::string_view phase, bool retryable);
#ifdef AGENTD_NO_HOOKS  // a test's build without hooks: what it does not do must not be missed
  bool wants(std::uint32_t) const { return false; }
#else
  bool wants(std::uint32_t event) const { return snapshot_->wants(event); }
#endif

  const AgentResources& resources_;
  SessionRegistry& sessions_;
  Services& services_;
  const AgentParts& parts_;
  const AgentOptions& options_;
  const Ulid id_;
  const std::string id_text_;
  const std::string session_id_;
  const std::uint32_t source_;  // AGENTD_SOURCE_
  const AgentIdentity agent_;
  const std::string parent_;  // conversation that started this one; empty = the user did
  const std::uint64_t parent_seq_;
  std::unique_ptr<Lease> lease_;
  const bool shares_account_;                       // with the run that started it
  const std::shared_ptr<HookLedger> ledger_above_;  // of the run that started it; null = none did
  SharedSession shared_;
  const agentd_conv handle_;
  SlotLease slot_;
  std::shared_ptr<const Snapshot> snapshot_;  // pinned for a turn
  std::vector<Record> pending_;
  std::vector<std::string> pending_blobs_;
  std::vector<std::pair<std::string, std::string>> pending_messages_;  // text, source: told when they are stored
  static constexpr std::size_t kReceiptsMax = 1'000;
  std::vector<HookReceipt> receipts_;          // since the last commit; the newest, while none succeeds
  std::set<std::string> told_problems_;        // of hooks, told once each
  std::vector<std::string> session_contexts_;  // from session_start; outside summarised history
  std::vector<Tool> tools_;                    // of this turn
  // The answer that is not in the log yet, for the gauge of those who are asked about it and its calls.
  struct FreshAnswer {
    std::optional<Usage> report;
    std::uint64_t tokens = 0;  // of one without a report that can be believed
  };
  std::optional<FreshAnswer> fresh_answer_;
  InputSchemas input_schemas_;
  mutable std::optional<std::uint64_t> floor_;  // counted once for what it is made of
  // Of a compaction run without tools: the floor that the requests before and after it have.
  std::optional<std::uint64_t> usual_floor_;
  struct Measured {
    std::string model;
    std::uint64_t estimated = 0, reported = 0;
  };
  Measured measured_;              // the request that the correction was last learned from
  std::set<std::string> allowed_;  // tools that the user allowed for this session
  // Context from after_tool_call: recorded behind the batch's results, which follow their calls directly.
  std::vector<Outcome> late_contexts_;
  std::vector<PathRules> late_rules_;  // of directories that tools have touched; the same
  EnvelopeTexts texts_;
  std::string recipe_;                                 // of this run; empty = none
  std::unique_ptr<Compaction> run_compaction_;         // whose summary this run writes; null in any other run
  std::optional<std::string> run_prompt_;              // asked for in that run and not recorded
  std::optional<CompactionReport> compaction_report_;  // of what agent_stop made of the view in this run
  bool offers_subagents_ = true;                       // in this run
  std::uint32_t run_number_ = 0;                       // 0 = outside a run
  std::uint64_t run_began_ns_ = 0;
  Origin asked_{};  // the model that is or was asked last: envelopes name it
  std::uint32_t turn_ = 0;
  std::uint32_t continuation_ = 0;
  bool stop_hook_active_ = false;
  bool ended_ = false;
  bool above_checkpoint_;
  bool told_full_ = false;    // in this run
  std::size_t fallback_ = 0;  // of this run: 0 = the model itself, else the nth of the fallbacks
  bool told_cut_ = false;     // that the server has cut a prompt
  bool told_paused_ = false;
  // The hook that ended this run, with its reason: reported once; nothing of the run happens afterwards.
  std::optional<Outcome::Attributed> stopped_;
  std::string final_text_;
  std::optional<AnswerSchema> schema_;  // of this run
  bool schema_in_words_ = false;        // the provider does not hold to it
  std::uint32_t corrections_ = 0;       // of answers that do not fit
  StopReason stop_reason_ = StopReason::kEndTurn;
  std::uint32_t pauses_ = 0;                        // of the provider, in a row
  std::uint64_t bounded_to_ = 0;                    // tokens that a budget left of that; 0 = it left all
  std::uint64_t sent_output_max_ = 0;               // tokens that the last answer could have, thinking included
  std::string task_;                                // the first user text, as hooks left it
  std::uint32_t outcome_ = AGENTD_OUTCOME_UNKNOWN;  // of the last run
};

// One model exchange and the tools that it asks for.
class Turn {
 public:
  explicit Turn(SessionImpl& session) : session_(session), parts_(session.parts_) {}
  // True when the run goes on with another turn.
  Result<bool, RunError> take();

 private:
  // What an answer "too long" has led to so far.
  struct Overflow {
    std::uint32_t vetoes = 0;
    bool over = false;  // the next one is the error
  };
  Result<void, RunError> make_room();
  bool compaction_is_due(const CompactionRequest& request);
  Result<void, RunError> make_room_after(Overflow& overflow, const ModelError& error);
  Result<ModelResponse, RunError> summarise_instead(const ModelError& error);
  void warn_when_full();
  Result<ModelResponse, RunError> ask_model();
  ModelResult send(const ModelRequest& request, bool withhold);
  Result<ModelResponse, RunError> after_model(ModelResponse response, std::uint64_t started_ns);
  bool falls_back(const ModelError& error);
  RunError provider_failed(const ModelError& error);
  void wait_for_busy(const ModelError& error, std::uint32_t broken);
  Result<bool, RunError> settle(ModelResponse response);
  void end_turn(const ModelResponse& response, bool final_turn);
  Result<void, RunError> before_model(ModelRequest& request, std::vector<ToolSpec>& tools, Rows& rows,
                                      std::uint32_t attempt);
  std::string model_named_by(const Outcome& outcome, const std::string& current) const;
  Result<std::unique_ptr<Outcome>, RunError> judge_model_call(const ModelRequest& request,
                                                              const std::vector<ToolSpec>& tools, const Rows& rows,
                                                              std::uint32_t attempt);
  void apply_before_model(const Outcome& outcome, std::vector<std::string> contexts, std::vector<ToolSpec>& tools,
                          Rows& rows);
  void replace_for_request(const Outcome::Attributed& asked, Rows& rows);

  // ---- tools (tools.cc)
  struct Prepared {
    ToolCall call;
    Tool tool;
    std::string denied;  // the reason; empty = may run
    std::string status;  // of a call that does not run: denied, error, invalid
  };
  // The canonical inputs of the answer's tool calls, in the order of the calls, each of which has an id
  // of its own afterwards.
  void take_calls(Message& answer);
  // Some servers give two calls one id, or count anew in each answer; a request in which an id names two
  // calls is refused. The first keeps it, for the others it is made longer: "call_0_2".
  void part_calls(Message& answer) const;
  InputPaths paths_of(const Tool& tool) const;
  const Tool* find_tool(std::string_view name) const;
  Result<void, RunError> run_call(const Block& use, const Result<ToolInput>& input);
  Prepared prepare(const Block& use, const Result<ToolInput>& input);
  // False when the input does not fit the tool's schema; the call is then denied. `by`: who wrote the input.
  bool fits_schema(Prepared& prepared, const std::string& by = {});
  bool gate(Prepared& prepared);
  void take_rewritten_input(Prepared& prepared, const ToolInput& rewritten, Outcome& outcome);
  bool allowed_final_input(const Outcome& outcome) const;
  void deny(Prepared& prepared, const Outcome& outcome);
  void decide_permission(Prepared& prepared, const Outcome* outcome);
  void ask_permission(Prepared& prepared, const AskedBy& by_hook);
  void add_intent(const Prepared& prepared);
  ToolResultRecord run_tool(const Prepared& prepared);
  // ---- subagent.cc
  Result<ToolOutcome> run_subagent(const ToolCall& call);
  void after_tool(const Prepared& prepared, ToolResultRecord& result, std::uint64_t duration_ns, bool denied);
  void note_rules(const Prepared& prepared);
  bool knows_rules(const PathRules& rules) const;

  // Of the answer to the request that was sent last.
  Origin sent_origin() const;
  // What the request holds, as the estimator counts it.
  std::uint64_t estimate_of(const ModelRequest& request, const Rows& rows) const;

  SessionImpl& session_;
  const AgentParts& parts_;
  std::uint64_t assistant_seq_ = 0;
  std::string sent_model_;  // of the request that was answered
  std::uint64_t sent_estimate_ = 0;
  std::set<std::string> offered_;          // names of the tools that the request had
  std::vector<Result<ToolInput>> inputs_;  // of the answer's calls, in order
};

RunError store_error(const Error& error);
// The user has ended the run.
RunError interrupted();
bool has_tool_calls(const Message& message);

// ---- subagents (subagent.cc)

inline constexpr std::uint32_t kSubagentDepthMax = 2;
// What a subagent is told beside the system prompt.
std::string_view subagent_system_text();
Tool subagent_tool();
bool is_subagent_tool(const Tool& tool);

}  // namespace agentd
