// SPDX-License-Identifier: Apache-2.0
#pragma once
// agent.h - sessions, runs, turns, tools, compaction, and the services that hooks get.
//
// Each part of an agent belongs to the process, to a project or to a client, and is set by its owner.
//
// A subagent is a session of its own that the tool `task` starts: the same hooks, rules and tools, another
// conversation, whose usage is charged to the one that started it.
//
// Life of a run: session_start - user_message_send - (turn_start - automatic compaction? - before_model_call -
// model - after_model_call - tools - turn_end) until no tool is asked for - agent_stop - continue or stop. A
// record is durable before its effect is shown; user message and settings are one commit before the request,
// answer and usage one commit after it.
//
// Threading: one Session is used by one thread at a time; Agent and its services are thread-safe.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/account/account.h"
#include "core/agent/events.h"
#include "core/agent/outcome.h"
#include "core/agent/thinking.h"
#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/base/log.h"
#include "core/base/result.h"
#include "core/compaction/compaction.h"
#include "core/conversation/view.h"
#include "core/hooks/dispatcher.h"
#include "core/hooks/services.h"
#include "core/hooks/slot.h"
#include "core/model/provider.h"
#include "core/store/store.h"
#include "core/tokens/tokens.h"
#include "core/tools/permission.h"
#include "core/tools/tool.h"

namespace agentd {

class Recollections;  // recollections.h
class RunQueue;       // run_queue.h
class Secrets;
class ProcessHost;
class Workspace;

// The most of each that one hook may use in one run; 0 = no limit.
struct HookLimits {
  std::uint64_t calls = 0;
  std::uint64_t seconds = 0;
  std::uint64_t children = 0;
};

// By hook name; "" is for hooks without their own limits.
using HookLimitTable = std::map<std::string, HookLimits, std::less<>>;

// Instructions that hold for what lies below a directory.
struct PathRules {
  std::string file;  // absolute
  std::string text;  // begins with a line that names the file
};

// ---- what belongs to the process

// The settings of a conversation's model, and of the requests in addition to its turns.
struct ModelSettings {
  std::string provider, model;
  std::vector<std::string> fallbacks{};  // models that are asked, in order, when the one before cannot answer now
  BudgetPolicy budget;
  std::optional<std::uint64_t> window_override;  // tokens; for models that the table does not know
  std::uint64_t max_output_tokens = 16'384;
  ThinkingWish thinking{};
  std::string summary_model;            // empty = the model table's cheap one
  std::uint64_t summary_tokens = 4096;  // a summary may have; below 2^32
  std::uint32_t compaction_strategy = AGENTD_STRATEGY_DEFAULT;
};

// The model settings are for what is asked on behalf of no conversation.
struct RuntimeSettings : ModelSettings {
  // Resolves a model name from a hook or plugin; empty = names are used unchanged.
  std::function<std::string(std::string_view name)> real_model{};
  // Tokens that one plugin may spend by its model calls, in one call of it and in one run; 0 = no limit.
  std::uint64_t hook_call_tokens = 1'000'000, hook_run_tokens = 5'000'000;
  std::uint32_t retries_per_run = RetryBudget::kUsual;
  std::uint64_t posted_messages = 1'000;  // that one session may hold until a run takes them
  bool scrub_input = false;               // of messages too, where RuntimeParts::secrets are looked for
};

struct RuntimeParts {
  Store& store;
  ModelProvider& provider;
  const ModelTable& models;
  const TokenEstimator& estimator;
  const PromptSource& own_prompts;  // the user's, for what is asked on behalf of no conversation
  SlotSource& slots;                // the table of tokens that plugins share
  const Clock& clock;
  IdSource& ids;
  Log& log;
  Ledger* ledger = nullptr;          // of the days; null: spending is not recorded
  Ledger* conversations = nullptr;   // with the limits of each; null: they have none
  RunQueue* runs = nullptr;          // null: any number of runs and sessions
  const Secrets* secrets = nullptr;  // that tools put out and no hook, model or log gets; null: none are looked for
};

// ---- what belongs to the project

struct WorkplaceSettings {
  std::string project_id;
  std::set<std::string> final_hooks{};  // hooks whose veto of a compaction is never ignored
  Milliseconds hook_deadline{30'000};
  HookLimitTable hook_limits{};  // for each hook in each run, with its subagents
};

struct WorkplaceParts {
  const PromptSource& prompts;
  PermissionRules permissions;
  // "native", "claude", ...: what kind the hook with that name is, for receipts. Empty = a guess.
  std::function<std::string(std::string_view hook)> hook_kind{};
  Recollections* recollections = nullptr;  // null: there are no memories
};

// ---- what belongs to the client

struct ClientSettings {
  std::string system_prompt;  // the base; instructions are appended
  std::string instructions;   // AGENTS.md and the like, outside summarised history
  // The instructions for a file or directory that a tool was called with, by its absolute path, from the outermost
  // down; empty = there are none. Called on the session's thread after the call. Each file's are given to the model
  // once in a view.
  std::function<std::vector<PathRules>(const std::string& path)> rules_near{};
  std::string cwd;
  // Roots of the workspace, absolute. Relative paths of tools begin at the first one, or at cwd without any.
  std::vector<std::string> tools_roots;
  std::string home;             // of the user, for "~" in paths of tools; empty = it is a name
  std::uint32_t max_turns = 0;  // of each agent of a run; 0 = no limit
  Limits run_limits{};          // for a run and all who work for it
  bool auto_compact = true;
  bool offer_tools = true;
  std::string sandbox{};   // RunBeginRecord::sandbox
  bool subagents = false;  // offers the tool `task`
  // Checkpoints at the threshold and by hand; a session that is killed is ended by the next start in its project.
  bool lifecycle = false;
  bool checkpoint_on_clear = true;  // with lifecycle
  std::string recipe;
  // A question that nobody is there to answer waits for `agentd approve`; false: it is denied.
  bool waits = false;
  bool saves = true;                          // false: the conversation ends with the process, so that nothing can wait
  std::vector<std::string> client_options{};  // WaitRecord::options
  Milliseconds wait_time{24 * 3'600'000};     // a question waits; then it counts as denied
};

struct ClientParts {
  Dispatcher& dispatcher;  // the workplace's hooks, and those of the session's recipe
  ToolSource& tools;
  EventSink& events;             // one that blocks costs its own session alone: events.h
  Approver* approver = nullptr;  // null: what must be asked is denied
  bool trace_hooks = true;       // kHookAnswer events, and a receipt for every hook that is asked
  // Called on the session's thread when a run and each of its turns begin, before the hooks of that turn are
  // chosen: it may publish others. Empty = they stay what they are.
  std::function<void()> refresh{};
  // The files that agentd.workspace shows to plugins called by this session; null = those of their loading, which a
  // process with several projects does not have.
  std::shared_ptr<Workspace> files{};
  // The commands that agentd.process starts for plugins called by this session, its subagents included; null = it has
  // none of its own.
  std::shared_ptr<ProcessHost> commands{};
  // Returns the refusals and undone changes of the sandbox of the session's commands since the last call; sentences.
  // Empty = nothing is known.
  std::function<std::vector<std::string>()> take_sandbox_refusals{};
};

// ---- all that a session works with

struct AgentOptions : ModelSettings, WorkplaceSettings, ClientSettings {
  std::shared_ptr<const AgentOptions> of_subagents{};  // null = these
};

// Everything outlives the agent.
struct AgentParts : RuntimeParts, WorkplaceParts, ClientParts {};

// Why a run, a compaction or a session ended without success, with the exit code's class.
struct RunError {
  // kUsage: what was asked for, or a setting, is wrong. kRepeated: a message with the key of the request is in the log
  // already, and nothing was run.
  enum class Kind {
    kFailure,
    kUsage,
    kBlocked,
    kRepeated,
    kStopped,
    kNotFound,
    kProvider,
    kLimit,
    kStore,
    kBusy,
    kCancelled
  };
  Kind kind = Kind::kFailure;
  std::string message;
};

// The outcome of a run that ended with this error.
RunOutcome outcome_of(const RunError& error);

// Remarks on a session that ends, for session_end; empty or absent ones say nothing.
struct EndNotes {
  std::string task{}, approach{}, notes{};
  std::vector<std::string> tags{};
  std::optional<std::uint32_t> outcome{};  // AGENTD_OUTCOME_; absent: that of the last run
  bool whole = false;                      // nothing that was said before stays
};

// A checkpoint that somebody else than the session's client wants.
struct CheckpointWish {
  std::string name{};         // for people; may be empty
  std::string text{};         // of the level summary; empty = it is made when it is needed
  std::uint32_t percent = 0;  // 0 = what the gauge says
  std::string id{};           // set by checkpoint_session()
};

// The request that starts a run.
struct RunRequest {
  std::string text;
  std::string recipe{};  // the recipe of the text; empty = the user's own words
  // The recipe's swap_context replaces the history with the answer: before_compaction is fired before the first request
  // (a block ends the run as kBlocked, without a call), and no other compaction runs.
  bool compaction_run = false;
  std::string compaction_instructions{};  // of the user, for before_compaction
  // The user's own words behind a recipe's text, a message of their own; empty = none.
  std::string words{};
  bool subagents = true;       // false: the recipe leaves out the tool `task`
  std::vector<Block> media{};  // images and documents of the user's message
  // A JSON Schema that the last answer is held to; empty = none. An answer that does not fit is asked for again,
  // twice; RunReport::final_text is the JSON value then.
  std::string output_schema{};
  // JSON of the client's own that a wait of the run keeps (WaitRecord::recipe_state).
  std::string recipe_state{};
  // The client's name for the message, at most kMessageKeyBytesMax of UTF-8 without control characters
  // (message_keys.h); empty = none. The message's record keeps it: a client that does not know what has become of a
  // request sends it again with the same key, and nothing runs twice. A key counts in its conversation and not in forks
  // of it; of the older ones, the newest 1,000 are known. Not for a compaction_run.
  std::string key{};
};

// A tool call without a model.
struct DirectCall {
  std::string tool;
  std::string input_json;  // one object; empty = {}
};
struct DirectReport {
  std::string call_id;
  ToolStatus status = ToolStatus::kOk;
  std::string text;  // the result, or why there is none
  std::vector<Block> parts{};
  std::string waits_for{};  // the id of the wait that a person has to answer first; empty = none
};

// A message that a client sends while a run may be going on.
struct PostedMessage {
  enum class Kind {
    kSteer,     // for the next request of the run
    kFollowUp,  // once the run would stop: it goes on with it
  };
  Kind kind = Kind::kSteer;
  std::string text;
  std::vector<Block> media{};
  std::string key{};  // as in RunRequest
};

struct CompactionReport {
  std::uint32_t outcome = AGENTD_RESULT_FAILED;  // AGENTD_RESULT_
  std::uint64_t messages_before = 0, messages_after = 0;
  std::uint64_t pre_tokens = 0, post_tokens = 0;
  std::string summary, boundary_id, text;  // text: the reason of a veto or a failure, or what was planned
  std::string method{};                    // of the boundary, by AGENTD_METHOD_LIST
  // True when the view is another one now.
  bool changed() const { return outcome == AGENTD_RESULT_APPLIED || outcome == AGENTD_RESULT_DEGRADED; }
};

struct RunReport {
  std::string final_text;
  RunOutcome outcome = RunOutcome::kStop;
  std::uint32_t turns = 0;
  Usage usage;                                   // of this run, with its subagents, summaries and hooks' threads
  Gauge gauge;                                   // after it
  std::optional<CompactionReport> compaction{};  // of a RunRequest::compaction_run
  std::string waits_for{};                       // kWaiting: the id of the wait
};

struct UndoReport {
  std::string boundary_id;  // of the undone boundary
  std::uint64_t boundary_seq = 0;
  std::uint64_t messages_before = 0, messages_after = 0;
  std::uint64_t pre_tokens = 0, post_tokens = 0;
  std::uint32_t compactions = 0;  // boundaries that still count
};

// One client attached to one conversation: from session_start to session_end. It holds the conversation's lease while
// it works, and is idle in between: its next run, compaction or undo begins with what others have added. Each of them
// fails with kBusy while another session or process works there, and with kNotFound once the conversation was deleted.
// Each of them waits for its turn first where RuntimeParts::runs has as many active as may be: kBusy when too many wait
// already, kCancelled when `cancel` was set first; in both cases nothing was done.
class Session {
 public:
  virtual ~Session() = default;
  virtual const std::string& conversation_id() const = 0;
  virtual const std::string& session_id() const = 0;

  // One run: from a user message to the stop, or until it waits for an answer (RunOutcome::kWaiting). A wait of an
  // earlier run ends first: an answered one is carried on, any other is denied, since the user has gone on.
  // kRepeated: the log has a message with the request's key, and nothing else was done. told::UserMessage, outside of a
  // run, has the message's sequence, and the error says how its run has ended, or that it was interrupted, which is not
  // repeated. A message without a record, such as one that a hook has blocked, is sent like any other.
  // kUsage: the key cannot be one.
  virtual Result<RunReport, RunError> run(const RunRequest& request, const CancelToken& cancel) = 0;
  Result<RunReport, RunError> run(std::string_view user_text, const CancelToken& cancel) {
    return run(RunRequest{std::string(user_text)}, cancel);
  }

  // A tool call without a model: the same hooks, rules and questions as for a call of the model. Its result is in the
  // log, and in no request. kBlocked: the conversation waits for an answer. A tool that was denied or has failed is a
  // report.
  virtual Result<DirectReport, RunError> call_tool(const DirectCall& call, const CancelToken& cancel) = 0;

  // The open wait of the conversation; null = none. For a subagent's question: the wait on it. Valid until the next
  // call.
  virtual const OpenWait* wait() const = 0;
  // Continues the call that waits: after an answer, or once its time is over. `changed`: why the answer does not count,
  // such as "the recipe x has changed", so that it is asked anew; empty = nothing that the client knows of. The report
  // of a call without a model has its result as final_text. kUsage: nothing waits; kBlocked: there is no answer yet.
  virtual Result<RunReport, RunError> carry_on(const std::string& changed, const CancelToken& cancel) = 0;

  // Queues a message for the run that goes on, or the next one; returns at once, on any thread. Each passes
  // user_message_send like the first; one that a hook blocks is reported, and the run goes on without it. Queued is not
  // stored: told::UserMessage is the acknowledgement. A steering message that comes too late for a request is a
  // follow-up. One whose key waits here already, or is about to be stored, is acknowledged with that message; the first
  // text counts. One whose key is in the log is not sent: told::UserMessage has the first one's sequence, once a run
  // takes it. kUsage: the key cannot be one; kBusy: RuntimeSettings::posted_messages of them wait already; neither was
  // queued.
  virtual Result<void, RunError> post(PostedMessage message) = 0;
  // Takes back what no run has stored, in order: after one that was interrupted or has failed. Thread-safe.
  virtual std::vector<PostedMessage> take_posted() = 0;

  // The standalone door: compacts the whole view, or the strategy's part of it.
  virtual Result<CompactionReport, RunError> compact(const CompactOptions& options, bool dry_run,
                                                     const CancelToken& cancel) = 0;

  // Cancels the last boundary that counts: the view becomes what that boundary hid, then everything
  // since. One record is added, no model and no hook is asked; a second call undoes the boundary before.
  // kFailure, and nothing changes: no boundary counts; or the view would have more tokens than the window
  // takes and `force` is not set.
  virtual Result<UndoReport, RunError> undo(bool force, const CancelToken& cancel) = 0;

  // A checkpoint of the conversation as it is now: its id (checkpoints.h). `name`: for people; may be empty. kUsage:
  // nothing was said yet; kBusy, kNotFound, kStore.
  virtual Result<std::string, RunError> checkpoint(const std::string& name) = 0;

  virtual Gauge gauge() const = 0;

  // For session_end; what says something replaces what was said before. Thread-safe.
  virtual void note(EndNotes notes) = 0;
  // Fires session_end, once; also done by the destructor, with reason "exit". `reason`: exit, clear, interrupted,
  // error, crash.
  virtual void end(std::string_view reason) = 0;
};

class Agent {
 public:
  virtual ~Agent() = default;
  // A new conversation, or an existing one: its source is AGENTD_SOURCE_FORK in a fork to which nothing was
  // added yet, else AGENTD_SOURCE_RESUME. kBusy: it is in use, or too many sessions are open; kNotFound. `cancel` ends
  // the hooks of session_start that still run; the session is opened all the same. `first_text`: the user's, when the
  // surface knows it; its memories are primed then, else with the first message. With ClientSettings::lifecycle the
  // project's sessions that were killed are ended before.
  virtual Result<std::unique_ptr<Session>, RunError> open(std::optional<Ulid> conversation, const CancelToken& cancel,
                                                          const std::string& first_text) = 0;
  Result<std::unique_ptr<Session>, RunError> open(std::optional<Ulid> conversation, const CancelToken& cancel) {
    return open(conversation, cancel, {});
  }
  // A new conversation in place of `session`'s: asks before_clear, ends `session` with reason "clear",
  // opens the new one (source AGENTD_SOURCE_CLEAR), tells after_clear. kBlocked, kCancelled: a hook
  // refused, or `cancel` ended its asking, and `session` goes on; after any other error it has ended.
  // REQUIRES: `session` comes from this agent and has not ended.
  virtual Result<std::unique_ptr<Session>, RunError> clear(Session& session, const CancelToken& cancel) = 0;
};

// The services of hooks, one for all sessions of a process; made first, since loading a plugin needs them.
class AgentServices;
struct DeleteServices {
  void operator()(AgentServices* services) const;
};
using AgentServicesPtr = std::unique_ptr<AgentServices, DeleteServices>;
AgentServicesPtr make_services(RuntimeParts parts, RuntimeSettings settings);
// The interface that the host hands to plugins.
Services& as_services(AgentServices& services);
// The services for a project's own plugins: each has a key space of its own in the project, and all see the project's
// conversations alone. `services` outlives the result.
std::unique_ptr<Services> services_of_project(AgentServices& services, std::string project_id);
// The project of the open session with that handle; empty when there is none. Thread-safe.
std::string project_of(const AgentServices& services, agentd_conv conversation);
// ClientParts::files of the open session with that handle; null when there is none. Thread-safe.
std::shared_ptr<Workspace> files_of(const AgentServices& services, agentd_conv conversation);
// ClientParts::commands of it; null when there is none. Thread-safe.
std::shared_ptr<ProcessHost> commands_of(const AgentServices& services, agentd_conv conversation);
// Session::note() of the open session with that handle. kNotFound: there is none. Thread-safe.
Result<void> note_session(const AgentServices& services, agentd_conv conversation, EndNotes notes);

// A checkpoint of the open session with that handle: its id, which the store has at once, or, while the session works,
// with its next commit, so before a model gets the result of the tool that asked for it. kNotFound: there is no such
// session; kInvalid: it makes no checkpoints, or nothing was said in it yet; kBusy, kUnavailable. Thread-safe.
Result<std::string> checkpoint_session(const AgentServices& services, agentd_conv conversation, CheckpointWish wish);
// The permission mode of an open conversation, which its client may change at any time; nullopt: it is not open.
// Thread-safe.
std::optional<PermissionRules::Mode> permission_mode_of(const AgentServices& services,
                                                        std::string_view conversation_id);
// The id of that open conversation; empty when there is none. Thread-safe.
std::string conversation_of(const AgentServices& services, agentd_conv conversation);

// The agent of one client. The services were made with the same runtime's parts, and outlive it.
std::unique_ptr<Agent> make_agent(AgentServices& services, AgentParts parts, AgentOptions options);

}  // namespace agentd
