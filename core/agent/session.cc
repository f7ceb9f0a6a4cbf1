// SPDX-License-Identifier: Apache-2.0
#include "core/agent/session.h"

#include <algorithm>
#include <utility>

#include "core/agent/checkpoints.h"
#include "core/agent/loading.h"
#include "core/agent/session/undo.h"
#include "core/agent/subagent_tool.h"
#include "core/agent/waits.h"
#include "core/base/bytes.h"
#include "core/conversation/message_keys.h"

namespace agentd {
namespace {

SharedSession shared_of(const AgentResources& agent, SessionSeed& seed, const ParentRun& parent) {
  const AgentOptions& options = agent.options_at(seed.agent.depth);
  auto account = parent.account ? parent.account : agent.open_account(options, *seed.conversation);
  return {agent.parts().store,
          seed.id,
          std::move(seed.conversation),
          std::move(account),
          std::make_shared<HookLedger>(options.hook_limits, parent.ledger),
          agent.runtime_settings().posted_messages};
}

// kUsage: it cannot be a key, or the run records no message.
Result<void, RunError> check_key(const RunRequest& request) {
  if (auto named = check_message_key(request.key); !named)
    return RunError{RunError::Kind::kUsage, named.error().message};
  if (request.key.empty() || !request.compaction_run) return {};
  return RunError{RunError::Kind::kUsage, "a run whose answer replaces the history records no message: omit its key"};
}

}  // namespace

SessionImpl::SessionImpl(const AgentResources& agent, SessionRegistry& sessions, Services& services,
                         Attendance& attendance, SessionSeed seed)
    : agent_(agent),
      sessions_(sessions),
      services_(services),
      attendance_(attendance),
      options_(agent.options_at(seed.agent.depth)),
      source_(seed.source),
      parent_(std::move(seed.parent)),
      place_(std::move(seed.place)),
      lease_(std::move(seed.lease)),
      shared_(shared_of(agent, seed, parent_)),
      position_{seed.id,
                seed.id.text(),
                seed.session_id.empty() ? agent.parts().ids.next().text() : seed.session_id,
                std::move(seed.agent),
                sessions.add(shared_, agent),
                options_.recipe,
                agent.parts().provider.origin_of(options_.model)},
      surface_(position_, agent.parts().events),
      log_(agent, position_, shared_, surface_),
      context_(agent, options_, position_, shared_, log_),
      hooks_(agent, options_, position_, shared_, surface_, log_, context_),
      priming_(agent, options_, position_, shared_),
      messages_(log_, context_, hooks_, priming_, shared_,
                agent.runtime_settings().scrub_input ? agent.parts().secrets : nullptr),
      saving_(agent, options_, position_, shared_, log_, context_),
      threshold_(options_, shared_, log_, context_, hooks_, messages_, saving_),
      memory_(agent.parts().log),
      parts_{agent, options_, position_, shared_, surface_, log_, context_, hooks_, messages_, threshold_, notes_} {
  if (seed.session_id.empty()) attend();
}

void SessionImpl::attend() {
  if (!options_.lifecycle || !options_.saves || position_.agent.depth != 0) return;
  auto row = attendance_.row_of(attended());
  if (row) return log_.add_first_key(std::move(*row));
  agent_.parts().log.write(LogLevel::kWarning, "agent",
                           "the session would not be ended if it were killed: " + row.error().message);
}

SessionImpl::~SessionImpl() {
  end("exit");
  sessions_.remove(position_.handle);
}

// ---- at work, and idle

// For the length of one call from outside.
class SessionImpl::AtWork {
 public:
  // `place` is the run's, or why there is none: without one nothing is taken.
  AtWork(SessionImpl& session, Result<RunQueue::RunPlace, RunError> place)
      : session_(session),
        place_(std::move(place)),
        began_(place_ ? session.take_lease() : Result<void, RunError>(place_.error())),
        slot_(session.hooks_) {
    if (began_) session_.shared_.begin_work();
  }
  ~AtWork() {
    if (began_) session_.end_work();
    session_.lease_.reset();
  }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;
  const Result<void, RunError>& began() const { return began_; }
  CallSlot& slot() const { return *slot_; }

 private:
  SessionImpl& session_;
  const Result<RunQueue::RunPlace, RunError> place_;
  const Result<void, RunError> began_;
  const HookPoint::SlotUse slot_;
};

Result<RunQueue::RunPlace, RunError> SessionImpl::take_place(const CancelToken& cancel) {
  RunQueue* const runs = agent_.parts().runs;
  if (runs == nullptr) return RunQueue::RunPlace();
  auto place = runs->enter(options_.project_id, cancel);
  if (place) return std::move(*place);
  if (place.error().code == Code::kCancelled) return RunError{RunError::Kind::kCancelled, place.error().message};
  return open_error(place.error());
}

Result<void, RunError> SessionImpl::take_lease() {
  if (lease_) return {};
  auto lease = agent_.parts().store.lease(position_.conversation);
  if (!lease) return open_error(lease.error());
  lease_ = std::move(*lease);
  return catch_up();
}

// Checkpoints that came too late for a commit have one of their own.
void SessionImpl::end_work() {
  while (!shared_.end_work()) {
    const std::size_t wishes = shared_.wishes().size();
    const auto done = log_.commit();
    if (done) continue;
    log_.drop();
    shared_.drop_wishes(wishes);
    agent_.parts().log.write(LogLevel::kError, "agent", "a checkpoint could not be saved: " + done.error().message);
  }
}

Result<void, RunError> SessionImpl::catch_up() {
  if (shared_.conversation().revision() == 0) return {};  // nothing of it is stored, so nobody knows it
  auto added = log_.catch_up();
  if (!added) return added.error();
  if (added->empty()) return {};
  threshold_.follow_log();
  erased_ = erased_ || std::any_of(added->begin(), added->end(),
                                   [](const StoredRecord& record) { return record.record.type == RecordType::kErase; });
  const auto messages = std::count_if(added->begin(), added->end(), [](const StoredRecord& record) {
    return record.record.type == RecordType::kUserMessage || record.record.type == RecordType::kAssistantMessage;
  });
  if (messages != 0)
    surface_.tell(told::Notice{"another session has added " + counted(static_cast<std::uint64_t>(messages), "message") +
                                   " to the conversation",
                               {}});
  return {};
}

// ---- its beginning and its end

void SessionImpl::start(const std::string& first_text, const CancelToken& cancel) {
  const AtWork work(*this, RunQueue::RunPlace());
  context_.refresh_tools();  // a part of what the gauge counts, also before the first run
  const bool wanted = hooks_.wants(AGENTD_EVENT_SESSION_START);
  // A text that hooks may refuse or rewrite is no task yet: it is known once they have passed it.
  const bool judged = hooks_.snapshot().decides(AGENTD_EVENT_USER_MESSAGE_SEND);
  const Priming::Start& start = priming_.begin(judged ? std::string() : messages_.passed(first_text), wanted, cancel);
  if (!wanted) return;
  const CancelBinding binding(work.slot(), cancel);
  messages_.start_session(source_, &start);
}

void SessionImpl::end(std::string_view reason) {
  if (ended_) return;
  ended_ = true;
  hooks_.leave_run();
  // Records that hooks left after the last run, such as a title. A conversation without messages is not stored.
  if (shared_.conversation().revision() != 0)
    if (auto done = commit_rest(); !done) agent_.parts().log.write(LogLevel::kError, "agent", done.error().message);
  // A subagent ends with subagent_stop. Who is told of the end may work in the conversation.
  if (position_.agent.depth == 0) lease_.reset();
  if (position_.agent.depth == 0 && hooks_.wants(AGENTD_EVENT_SESSION_END)) fire_end(reason);
  log_.flush_receipts();
  // Last, so that one that is killed on the way is ended again.
  if (log_.has_first_key_written()) attendance_.leave(attended());
  if (position_.agent.depth == 0) agent_.factors().save();
  lease_.reset();
  place_.reset();
}

// Not the text that was said, if it was erased meanwhile: the log has what takes its place.
std::string SessionImpl::task() const {
  const Store& store = agent_.parts().store;
  const auto info = store.info(position_.conversation);
  const bool grown = info && info->revision != shared_.conversation().revision();
  if (messages_.task().empty() || (!erased_ && !grown)) return messages_.task();
  return task_of_session(store, position_.conversation, position_.session_id);
}

void SessionImpl::fire_end(std::string_view reason) {
  const EndNotes notes = shared_.notes();
  std::vector<agentd_str> tags;
  for (const std::string& tag : notes.tags) tags.push_back(to_abi(tag));
  agentd_session_end payload{};
  payload.size = sizeof payload;
  payload.outcome = notes.outcome.value_or(outcome_);
  payload.reason = to_abi(reason);
  const std::string task = notes.task.empty() ? this->task() : notes.task;
  payload.task = to_abi(task);
  payload.approach = to_abi(notes.approach);
  payload.notes = to_abi(notes.notes);
  payload.tags = {tags.data(), static_cast<std::uint32_t>(tags.size()), sizeof(agentd_str)};
  hooks_.fire(AGENTD_EVENT_SESSION_END, &payload);
}

// An idle session appends nothing while another one works in the conversation.
Result<void, RunError> SessionImpl::commit_rest() {
  if (!log_.has_something()) return {};
  if (auto taken = take_lease(); !taken) return taken.error();
  return log_.commit();
}

Result<std::string, RunError> SessionImpl::save(std::string_view why, std::string name) {
  if (auto taken = take_lease(); !taken) return taken.error();
  std::string id = saving_.add(why, std::move(name));
  if (auto done = log_.commit(); !done) {
    log_.drop();
    return done.error();
  }
  return id;
}

Result<std::string, RunError> SessionImpl::checkpoint(const std::string& name) {
  const AtWork work(*this, RunQueue::RunPlace());
  if (!work.began()) return work.began().error();
  hooks_.leave_run();
  context_.refresh_tools();
  auto saved = save(kManualCheckpoint, one_line(name, 80));
  if (saved && saved->empty())
    return RunError{RunError::Kind::kUsage, "the conversation is empty: there is nothing to save"};
  return saved;
}

Result<void, RunError> SessionImpl::before_clear(std::string_view reason, const CancelToken& cancel) {
  hooks_.leave_run();
  std::string checkpoint;
  if (saving_.saves() && options_.checkpoint_on_clear) {
    const AtWork work(*this, RunQueue::RunPlace());
    auto saved = work.began() ? save(kClearCheckpoint, {}) : Result<std::string, RunError>(work.began().error());
    // The log keeps all of the conversation in any case.
    if (!saved) hooks_.warn("no checkpoint was made before the clear: " + saved.error().message);
    if (saved) checkpoint = std::move(*saved);
  }
  if (!hooks_.wants(AGENTD_EVENT_BEFORE_CLEAR)) return {};
  const HookPoint::SlotUse slot(hooks_);
  const CancelBinding binding(*slot, cancel);
  agentd_clear payload{};
  payload.size = sizeof payload;
  payload.reason = to_abi(reason);
  payload.checkpoint_id = to_abi(checkpoint);
  const auto outcome = hooks_.fire(AGENTD_EVENT_BEFORE_CLEAR, &payload);
  if (cancel.cancelled()) return RunError{RunError::Kind::kCancelled, "interrupted: the conversation was not cleared"};
  if (!outcome || !outcome->blocked) return {};
  return RunError{RunError::Kind::kBlocked, "clearing was blocked by " + outcome->blocked_by.hook +
                                                (outcome->reason.empty() ? "" : ": " + outcome->reason)};
}

void SessionImpl::after_clear(std::string_view reason, std::string_view new_conversation_id,
                              const CancelToken& cancel) {
  if (!hooks_.wants(AGENTD_EVENT_AFTER_CLEAR)) return;
  const HookPoint::SlotUse slot(hooks_);
  const CancelBinding binding(*slot, cancel);
  agentd_clear payload{};
  payload.size = sizeof payload;
  payload.reason = to_abi(reason);
  payload.new_conversation_id = to_abi(new_conversation_id);
  hooks_.fire(AGENTD_EVENT_AFTER_CLEAR, &payload);
  log_.flush_receipts();
}

void SessionImpl::begin_standalone(const CancelToken& cancel) {
  shared_.follow(cancel);
  hooks_.leave_run();
  context_.refresh_tools();
}

// ---- runs

Result<void, RunError> SessionImpl::check_new(const std::string& key) {
  if (key.empty()) return {};
  const auto seq = log_.seq_of(key);
  if (!seq) return seq.error();
  if (*seq == 0) return {};
  const auto record = log_.tell_again(*seq);
  if (!record) return record.error();
  const auto end = load_run_end(agent_.parts().store, position_.conversation, *record);
  if (!end) return store_error(end.error());
  const std::string& id = position_.conversation_id;
  const bool newest = record->record.run == shared_.conversation().runs();
  std::string text = "the message with the key '" + key + "' is record " + std::to_string(*seq) + " of conversation " +
                     id + " already, and nothing was run again: its run ";
  if (newest && wait() != nullptr && !wait()->begun)
    text += "waits for an answer; 'agentd approve " + id + "' gives it";
  else if (!*end)
    text += "was interrupted; send another message to continue";
  else
    text += "has ended (" + (*end)->outcome + "); 'agentd conversation show " + id + "' shows it";
  return RunError{RunError::Kind::kRepeated, std::move(text)};
}

Result<RunReport, RunError> SessionImpl::run(const RunRequest& request, const CancelToken& cancel) {
  if (auto named = check_key(request); !named) return named.error();
  const AtWork work(*this, take_place(cancel));
  if (!work.began()) return work.began().error();
  const CancelBinding binding(work.slot(), cancel);
  if (auto fresh = check_new(request.key); !fresh) return fresh.error();
  position_.recipe = request.recipe.empty() ? options_.recipe : request.recipe;
  // Refused before anything of it is stored: the model's API takes no such text.
  if (!request.compaction_run && is_blank(request.text) && request.media.empty())
    return RunError{RunError::Kind::kFailure, "the message is only white space: write some text"};
  if (auto seen = check_media(agent_, options_.model, request.media); !seen) return seen.error();
  std::optional<AnswerSchema> schema;
  if (!request.output_schema.empty()) {
    auto read = AnswerSchema::read(request.output_schema);
    if (!read) return RunError{RunError::Kind::kFailure, "the schema of the answer: " + read.error().message};
    schema.emplace(std::move(*read));
  }
  context_.offer_subagents(request.subagents);
  Run run(parts_, means(), cancel, std::move(schema), request.compaction_run);
  auto report = request.compaction_run ? run.compaction(request) : run.message(request);
  outcome_ = run.outcome();
  return report;
}

ChildSessions::Done SessionImpl::run_child(ChildTask task) {
  const bool resumes = task.prompt.empty();
  auto conversation = std::make_unique<Conversation>(task.id.text(), agent_.row_count());
  if (resumes) {
    auto loaded = load_conversation(agent_.parts().store, task.id, agent_.row_count());
    if (!loaded) return {open_error(loaded.error()), {}};
    conversation = std::move(*loaded);
  }
  SessionSeed seed{task.id, std::move(task.lease), std::move(conversation)};
  seed.agent = std::move(task.agent);
  seed.parent = {position_.conversation_id, shared_.conversation().revision(), shared_.account(), shared_.hook_ledger(),
                 parent_.can_wait && !shared_.compacts()};
  SessionImpl child(agent_, sessions_, services_, attendance_, std::move(seed));
  // Permissions granted for this session apply to its subagents too.
  child.memory_.allowed = memory_.allowed;
  if (!is_blank(task.description)) child.log_.add(write_meta({one_line(task.description, 80)}));
  const CancelToken cancel = shared_.cancel();
  auto report = [&] {
    const HookPoint::SlotUse slot(child.hooks_);
    const CancelBinding binding(*slot, cancel);
    Run run(child.parts_, child.means(), cancel, std::nullopt, false);
    return resumes ? run.carry_on(task.changed) : run.task(task.prompt, task.started);
  }();
  const Usage usage = resumes ? child.shared_.run_usage() : child.shared_.conversation().usage();
  child.end("exit");
  memory_.allowed = child.memory_.allowed;
  return {std::move(report), usage};
}

// ---- calls that wait, and calls without a model

Result<void, RunError> SessionImpl::check_waiting() const {
  const OpenWait* const open = wait();
  if (open == nullptr || open->begun) return {};
  const auto asked = asked_of(agent_.parts().store, *open);
  if (!asked) return store_error(asked.error());
  if (!*asked || (*asked)->answer || agent_.parts().clock.wall_ms() >= (*asked)->wait.until_ms) return {};
  return RunError{RunError::Kind::kBlocked,
                  "the tool call " + (*asked)->wait.tool + " waits for an answer: agentd approve " + (*asked)->wait.id};
}

Result<RunReport, RunError> SessionImpl::carry_on(const std::string& changed, const CancelToken& cancel) {
  const AtWork work(*this, take_place(cancel));
  if (!work.began()) return work.began().error();
  if (wait() == nullptr) return RunError{RunError::Kind::kUsage, "nothing in this conversation waits for an answer"};
  if (auto answered = check_waiting(); !answered) return answered.error();
  const CancelBinding binding(work.slot(), cancel);
  const WaitRecord& waits = wait()->wait;
  position_.recipe = waits.recipe;
  context_.offer_subagents(!waits.no_task);
  if (waits.direct) {
    begin_standalone(cancel);
    return carry_on_direct(changed);
  }
  std::optional<AnswerSchema> schema;
  if (!waits.output_schema.empty()) {
    auto read = AnswerSchema::read(waits.output_schema);
    if (!read) return RunError{RunError::Kind::kFailure, "the schema of the answer: " + read.error().message};
    schema.emplace(std::move(*read));
  }
  Run run(parts_, means(), cancel, std::move(schema), false);
  auto report = run.carry_on(changed);
  outcome_ = run.outcome();
  return report;
}

Result<RunReport, RunError> SessionImpl::carry_on_direct(const std::string& changed) {
  const OpenWait open = *wait();
  log_.recover_open_calls();
  Result<DirectReport, RunError> called = DirectReport{};
  if (!open.begun) called = ToolCalls(parts_, nullptr, memory_, *this).resume_direct(open, changed);
  if (auto done = log_.commit(); !done) {
    log_.drop();
    return done.error();
  }
  if (!called) return called.error();
  RunReport report;
  report.final_text = called->text;
  report.waits_for = called->waits_for;
  if (!report.waits_for.empty()) report.outcome = RunOutcome::kWaiting;
  return report;
}

Result<DirectReport, RunError> SessionImpl::call_tool(const DirectCall& call, const CancelToken& cancel) {
  const AtWork work(*this, take_place(cancel));
  if (!work.began()) return work.began().error();
  const CancelBinding binding(work.slot(), cancel);
  begin_standalone(cancel);
  if (wait() != nullptr && !wait()->begun) {
    if (auto answered = check_waiting(); !answered) return answered.error();
    return RunError{RunError::Kind::kBlocked, "a tool call of the conversation was answered, and comes first"};
  }
  if (const Tool* const tool = context_.find_tool(call.tool); tool != nullptr && is_subagent_tool(*tool))
    return RunError{RunError::Kind::kUsage, call.tool + " starts an agent for a model: start a run instead"};
  add_genesis(parts_, parent_);
  log_.recover_open_calls();
  ToolCalls calls(parts_, nullptr, memory_, *this);
  calls.offer(context_.tool_specs());
  auto report = calls.run_direct(call);
  if (auto done = log_.commit(); !done) {
    log_.drop();
    return done.error();
  }
  return report;
}

// ---- the standalone doors

Result<CompactionReport, RunError> SessionImpl::compact(const CompactOptions& options, bool dry_run,
                                                        const CancelToken& cancel) {
  const AtWork work(*this, take_place(cancel));
  if (!work.began()) return work.began().error();
  const CancelBinding binding(work.slot(), cancel);
  begin_standalone(cancel);
  CompactionRequest request;
  request.trigger = AGENTD_TRIGGER_MANUAL;
  request.reason = AGENTD_REASON_MANUAL;
  request.phase = AGENTD_PHASE_STANDALONE;
  request.strategy = options.strategy == AGENTD_STRATEGY_DEFAULT ? options_.compaction_strategy : options.strategy;
  request.keep_tokens = options.keep_tokens;
  request.max_summary_tokens = options.max_summary_tokens;
  request.model = options.model;
  request.instructions = {options.instructions};
  if (dry_run) return Compaction(parts_, request).plan_only();
  // Records of hooks in a conversation without messages wait for its first message.
  if (shared_.conversation().revision() == 0) return Compaction(parts_, request).nothing();
  log_.recover_open_calls();
  if (auto done = log_.commit(); !done) {
    log_.drop();
    return done.error();
  }
  auto report = Compaction(parts_, request).attempt();
  // Context of after_compaction is part of the conversation now, not only after it is continued.
  if (auto done = log_.commit(); !done) {
    log_.drop();
    if (report) return done.error();
  }
  return report;
}

Result<UndoReport, RunError> SessionImpl::undo(bool force, const CancelToken& cancel) {
  const AtWork work(*this, take_place(cancel));
  if (!work.began()) return work.began().error();
  begin_standalone(cancel);
  return undo_compaction(parts_, force, cancel);
}

}  // namespace agentd
