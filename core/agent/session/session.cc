// SPDX-License-Identifier: Apache-2.0
// session.cc - a session and its runs: from the user's message to the stop.
#include "core/agent/session/session.h"

#include <algorithm>

#include "core/agent/compaction/compact.h"
#include "core/agent/loading.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace agentd {

RunError store_error(const Error& error) { return {RunError::Kind::kStore, error.message}; }
RunError interrupted() { return {RunError::Kind::kCancelled, "the run was interrupted"}; }

namespace {

AccountLimits account_limits(const AgentOptions& options, const Conversation& conversation) {
  const Usage& before = conversation.usage();
  return {options.run_limits, conversation.id(), {before.total(), before.cost_nano_usd}};
}

SharedSession shared_of(const AgentResources& resources, SessionSeed& seed) {
  const AgentOptions& options = resources.options_at(seed.agent.depth);
  auto account =
      seed.account ? std::move(seed.account) : resources.open_account(account_limits(options, *seed.conversation));
  return {resources.parts().store, seed.id, std::move(seed.conversation), std::move(account),
          std::make_shared<HookLedger>(options.hook_limits, seed.hook_ledger)};
}

}  // namespace

SessionImpl::SessionImpl(const AgentResources& resources, SessionRegistry& sessions, Services& services,
                         SessionSeed seed)
    : resources_(resources),
      sessions_(sessions),
      services_(services),
      parts_(resources.parts()),
      options_(resources.options_at(seed.agent.depth)),
      id_(seed.id),
      id_text_(seed.id.text()),
      session_id_(parts_.ids.next().text()),
      source_(seed.source),
      agent_(std::move(seed.agent)),
      parent_(std::move(seed.parent)),
      parent_seq_(seed.parent_seq),
      lease_(std::move(seed.lease)),
      shares_account_(seed.account != nullptr),
      ledger_above_(seed.hook_ledger),
      shared_(shared_of(resources, seed)),
      handle_(sessions.add(shared_)),
      slot_(parts_.slots),
      snapshot_(parts_.dispatcher.pin()),
      input_schemas_(parts_.log),
      recipe_(options_.recipe),
      asked_(parts_.provider.origin_of(options_.model)),
      above_checkpoint_(shared_.conversation().above_threshold()) {}

SessionImpl::~SessionImpl() {
  end("exit");
  sessions_.remove(handle_);
}

void SessionImpl::start(const CancelToken& cancel) {
  if (!wants(AGENTD_EVENT_SESSION_START)) return;
  const CancelBinding binding(*slot_, cancel);
  refresh_tools();  // a part of what the gauge counts
  agentd_session_start payload{};
  payload.size = sizeof payload;
  payload.source = source_;
  if (const auto outcome = fire(AGENTD_EVENT_SESSION_START, &payload)) take_session_start(*outcome);
}

// The context of a session stands outside its history: a new one takes the old one's place.
void SessionImpl::take_session_start(const Outcome& outcome) {
  if (!outcome.contexts.empty()) session_contexts_.clear();
  floor_.reset();
  for (const Outcome::Attributed& context : outcome.contexts)
    if (!context.action.text.empty()) session_contexts_.push_back(context.action.text);
  if (const Action* const title = outcome.set_of(AGENTD_KEY_TITLE)) add(write_meta({title->text}));
}

// What follows is outside of every run and turn.
void SessionImpl::leave_run() {
  snapshot_ = parts_.dispatcher.pin();
  texts_.run_id.clear();
  texts_.turn_id.clear();
  stopped_.reset();
  turn_ = 0;
  run_number_ = 0;
}

void SessionImpl::end(std::string_view reason) {
  if (ended_) return;
  ended_ = true;
  leave_run();
  // What hooks left after the last run, such as a title. A conversation in which nothing was said is none.
  if (shared_.conversation().revision() != 0)
    if (auto done = commit(); !done) parts_.log.write(LogLevel::kError, "agent", done.error().message);
  // A subagent ends with subagent_stop.
  if (agent_.depth == 0 && wants(AGENTD_EVENT_SESSION_END)) {
    agentd_session_end payload{};
    payload.size = sizeof payload;
    payload.outcome = outcome_;
    payload.reason = to_abi(reason);
    payload.task = to_abi(task_);
    fire(AGENTD_EVENT_SESSION_END, &payload);
  }
  flush_receipts();
  if (agent_.depth == 0) resources_.factors().save();
  lease_.reset();
}

Result<void, RunError> SessionImpl::before_clear(std::string_view reason, const CancelToken& cancel) {
  leave_run();
  if (!wants(AGENTD_EVENT_BEFORE_CLEAR)) return {};
  const CancelBinding binding(*slot_, cancel);
  agentd_clear payload{};
  payload.size = sizeof payload;
  payload.reason = to_abi(reason);
  const auto outcome = fire(AGENTD_EVENT_BEFORE_CLEAR, &payload);
  if (cancel.cancelled()) return RunError{RunError::Kind::kCancelled, "interrupted: the conversation was not cleared"};
  if (!outcome || !outcome->blocked) return {};
  return RunError{RunError::Kind::kBlocked, "clearing was blocked by " + outcome->blocked_by.hook +
                                                (outcome->reason.empty() ? "" : ": " + outcome->reason)};
}

void SessionImpl::after_clear(std::string_view reason, std::string_view new_conversation_id,
                              const CancelToken& cancel) {
  if (!wants(AGENTD_EVENT_AFTER_CLEAR)) return;
  const CancelBinding binding(*slot_, cancel);
  agentd_clear payload{};
  payload.size = sizeof payload;
  payload.reason = to_abi(reason);
  payload.new_conversation_id = to_abi(new_conversation_id);
  fire(AGENTD_EVENT_AFTER_CLEAR, &payload);
  flush_receipts();
}

// What came after the last commit. Receipts of a conversation in which nothing was said belong to none.
void SessionImpl::flush_receipts() {
  std::vector<HookReceipt> receipts;
  receipts.swap(receipts_);
  if (receipts.empty() || shared_.conversation().revision() == 0) return;
  if (auto done = parts_.store.append_receipts(id_, receipts); !done)
    parts_.log.write(LogLevel::kError, "agent", "the receipts of hooks could not be kept: " + done.error().message);
}

// ---- records

void SessionImpl::add(Record record) {
  record.run = run_number_;
  record.turn = turn_;
  pending_.push_back(std::move(record));
}

void SessionImpl::take_charges() {
  for (const UsageRecord& charge : shared_.take_charges())
    if (!(charge.usage == Usage{})) add(write_usage(charge));
}

Result<void> SessionImpl::try_commit() {
  take_charges();
  if (pending_.empty()) return {};
  const auto append = [this](std::span<const HookReceipt> receipts) {
    return parts_.store.append(id_, shared_.conversation().revision(), pending_, pending_blobs_, receipts);
  };
  auto stored = append(receipts_);
  if (!stored && stored.error().code != Code::kConflict && !receipts_.empty()) {
    // Receipts stand beside the log: when they cannot be stored, the records are stored without them.
    auto without = append({});
    if (without) {
      drop_receipts(stored.error());
      stored = std::move(without);
    } else if (receipts_.size() > kReceiptsMax) {
      receipts_.erase(receipts_.begin(), receipts_.end() - kReceiptsMax);
    }
  }
  if (!stored) return stored.error();
  pending_.clear();
  pending_blobs_.clear();
  receipts_.clear();
  fresh_answer_.reset();
  auto applied = shared_.apply(*stored, resources_.row_count());
  for (const auto& [text, source] : std::exchange(pending_messages_, {})) {
    RunEvent told{RunEvent::Type::kUserMessage};
    told.text = text;
    told.detail = source;
    tell(told);
  }
  return applied;
}

// Told once; the log file has every time.
void SessionImpl::drop_receipts(const Error& why) {
  const std::string text = "what " + std::to_string(receipts_.size()) +
                           " hooks answered could not be kept, the conversation could: " + why.message;
  parts_.log.write(LogLevel::kWarning, "agent", text);
  receipts_.clear();
  if (!told_problems_.insert("receipts").second) return;
  RunEvent told{RunEvent::Type::kWarning};
  told.text = text;
  tell(told);
}

Result<void, RunError> SessionImpl::commit() {
  auto done = try_commit();
  if (!done) return store_error(done.error());
  return {};
}

Result<void, RunError> SessionImpl::commit_behind() {
  auto done = try_commit();
  for (int i = 1; !done && done.error().code == Code::kConflict && i < kCommitTriesMax; ++i) {
    if (auto fresh = catch_up(); !fresh) return fresh.error();
    done = try_commit();
  }
  if (!done) return store_error(done.error());
  return {};
}

Result<std::vector<StoredRecord>, RunError> SessionImpl::catch_up() {
  std::vector<StoredRecord> fresh;
  auto read = parts_.store.read(id_, shared_.conversation().revision() + 1, 0, [&](const StoredRecord& record) {
    fresh.push_back(record);
    return true;
  });
  if (!read) return store_error(read.error());
  if (auto applied = shared_.apply(fresh, resources_.row_count()); !applied) return store_error(applied.error());
  return fresh;
}

void SessionImpl::begin_conversation() {
  if (shared_.conversation().revision() != 0) return;
  if (!pending_.empty() && pending_.front().type == RecordType::kGenesis) return;
  GenesisRecord genesis;
  genesis.conversation_id = shared_.conversation().id();
  genesis.project_id = options_.project_id;
  genesis.cwd = options_.cwd;
  genesis.provider = options_.provider;
  genesis.model = options_.model;
  genesis.parent = parent_;
  genesis.parent_seq = parent_seq_;
  if (agent_.depth != 0) genesis.agent_type = agent_.type;
  // Before what session_start left: a log starts with its genesis.
  pending_.insert(pending_.begin(), write_genesis(genesis));
}

// A process that died between an intent and its result leaves a call without one: the model is told
// that nobody knows, and nothing is run again.
void SessionImpl::recover_open_calls() {
  for (const auto& [call_id, name] : shared_.conversation().open_calls()) {
    ToolResultRecord result;
    result.call_id = call_id;
    result.name = name;
    result.status = "unknown";
    result.text = "The call was interrupted and its outcome is unknown; it was not run again.";
    add(write_tool_result(result));
  }
}

// What the run is made with: digests in the log, the texts as blobs that many runs share.
void SessionImpl::add_settings() {
  SettingsRecord settings{system_text(), "[", options_.provider, options_.model};
  for (const ToolSpec& tool : tool_specs()) {
    if (settings.tools_json.size() > 1) settings.tools_json += ',';
    JsonWriter out;
    out.begin_object().member("name", tool.name).member("description", tool.description);
    out.key("input_schema").raw(tool.input_schema_json).end_object();
    settings.tools_json += out.text();
  }
  settings.tools_json += ']';
  add(write_settings(settings));
  pending_blobs_.push_back(std::move(settings.system));
  pending_blobs_.push_back(std::move(settings.tools_json));
}

// ---- a run

Result<void, RunError> SessionImpl::check_media(const std::vector<Block>& media) const {
  const ModelInfo info = resources_.model_info(options_.model);
  for (const Block& block : media) {
    const bool image = block.kind == BlockKind::kImage;
    if (image ? info.images : info.documents) continue;
    return RunError{RunError::Kind::kFailure,
                    options_.model + (image ? " sees no images" : " reads no PDF documents") +
                        ": choose another model, or name what it takes in `inputs` of its entry in models.yaml"};
  }
  return {};
}

Result<void, RunError> SessionImpl::send_user_message(std::string text, std::string_view source,
                                                      const std::vector<Block>& media) {
  std::string original = text;
  std::unique_ptr<Outcome> outcome;
  if (wants(AGENTD_EVENT_USER_MESSAGE_SEND)) {
    struct Payload {
      agentd_user_message record{};
      std::string* text = nullptr;
    } payload;
    Rows shown;
    if (!media.empty()) {
      shown.append({Role::kUser, 0, media}, 0, 0);
      payload.record.images = shown[0].blocks;
    }
    payload.record.size = sizeof payload.record;
    payload.record.source = source == "user"     ? AGENTD_MESSAGE_SOURCE_USER
                            : source == "recipe" ? AGENTD_MESSAGE_SOURCE_RECIPE
                                                 : AGENTD_MESSAGE_SOURCE_HOOK;
    payload.text = &text;
    payload.record.text = to_abi(text);
    Fired fired;
    fired.event = AGENTD_EVENT_USER_MESSAGE_SEND;
    fired.payload = &payload.record;
    fired.context = &payload;
    fired.rewrite = [](void* context, std::uint32_t, std::string_view rewritten) {
      auto& mine = *static_cast<Payload*>(context);
      *mine.text = std::string(rewritten);
      mine.record.text = to_abi(*mine.text);
    };
    outcome = fire(fired);
  }
  if (stopped_) return check_stopped().error();
  if (outcome && outcome->blocked)
    return refused("the message was blocked by " + outcome->blocked_by.hook + ": " + outcome->reason);
  if (is_blank(text) && media.empty())
    return RunError{RunError::Kind::kBlocked,
                    "the message was not sent: " +
                        std::string(outcome && !outcome->rewrites.empty()
                                        ? outcome->rewrites.back().by.hook + " left nothing of it but white space"
                                        : "it has nothing but white space")};
  add_user_message(text, source, media);
  if (!outcome) return {};
  // The digests are of what was not kept as well: the original itself is stored nowhere.
  if (!outcome->rewrites.empty())
    record_effect(AGENTD_EVENT_USER_MESSAGE_SEND, outcome->rewrites.back().by, "rewrite", original, text, {});
  add_contexts(*outcome);
  return {};
}

void SessionImpl::add_user_message(const std::string& text, std::string_view source, const std::vector<Block>& media) {
  if (run_prompt_) {
    *run_prompt_ += (run_prompt_->empty() ? "" : "\n\n") + text;
    return;
  }
  if (task_.empty() && source != "hook" && source != "recipe") task_ = text;
  // What is looked at stands before what is said of it.
  Message message{Role::kUser, 0, media};
  if (!text.empty() || media.empty()) message.blocks.push_back(Block::of_text(text));
  add(write_message({std::move(message), StopReason::kEndTurn, std::string(source), {}}));
  pending_messages_.emplace_back(text, source);
}

void SessionImpl::begin_run(const CancelToken& cancel, bool compacts) {
  usual_floor_.reset();
  shared_.follow(cancel);
  renew_hooks();
  texts_.run_id = parts_.ids.next().text();
  turn_ = 0;
  run_number_ = shared_.conversation().runs() + 1;
  continuation_ = 0;
  stop_hook_active_ = false;
  shared_.begin_run(
      shares_account_ ? shared_.account() : resources_.open_account(account_limits(options_, shared_.conversation())),
      std::make_shared<HookLedger>(options_.hook_limits, ledger_above_), compacts);
  run_began_ns_ = parts_.clock.monotonic_ns();
  asked_ = parts_.provider.origin_of(options_.model);
  final_text_.clear();
  stopped_.reset();
  late_contexts_.clear();
  late_rules_.clear();
  compaction_report_.reset();
  told_full_ = false;
  stop_reason_ = StopReason::kEndTurn;
  pauses_ = 0;
  fallback_ = 0;
  refresh_tools();
  begin_conversation();
  recover_open_calls();
  RunBeginRecord begin{session_id_, texts_.run_id, options_.cwd, options_.provider, options_.model, recipe_};
  add(write_run_begin(begin));
  add_settings();
  RunEvent told{RunEvent::Type::kRunStarted};
  told.run_id = texts_.run_id;
  told.provider = options_.provider;
  told.model = options_.model;
  tell(told);
}

// The hooks of a turn stay the same to its end.
void SessionImpl::renew_hooks() {
  if (parts_.refresh) parts_.refresh();
  snapshot_ = parts_.dispatcher.pin();
}

Result<RunReport, RunError> SessionImpl::run(const RunRequest& request, const CancelToken& cancel) {
  const CancelBinding binding(*slot_, cancel);
  recipe_ = request.recipe.empty() ? options_.recipe : request.recipe;
  // Refused before anything of it is stored: the model's API takes no such text.
  if (!request.compaction_run && is_blank(request.text) && request.media.empty())
    return RunError{RunError::Kind::kFailure, "the message has nothing but white space: write something"};
  if (auto seen = check_media(request.media); !seen) return seen.error();
  schema_.reset();
  if (!request.output_schema.empty()) {
    auto schema = AnswerSchema::read(request.output_schema);
    if (!schema) return RunError{RunError::Kind::kFailure, "the schema of the answer: " + schema.error().message};
    schema_.emplace(std::move(*schema));
  }
  schema_in_words_ = false;
  corrections_ = 0;
  offers_subagents_ = request.subagents;
  begin_run(cancel, request.compaction_run);
  auto report = request.compaction_run ? run_compaction(request) : run_message(request);
  run_compaction_.reset();
  run_prompt_.reset();
  shared_.end_run();
  return report;
}

Result<RunReport, RunError> SessionImpl::run_message(const RunRequest& request) {
  const bool words = !request.words.empty();
  const std::vector<Block> none;
  auto sent = send_user_message(to_utf8(request.text), request.recipe.empty() ? "user" : "recipe",
                                words ? none : request.media);
  if (sent && words) sent = send_user_message(to_utf8(request.words), "user", request.media);
  if (sent) return run_turns();
  // A blocked message leaves nothing behind but the fact.
  std::erase_if(pending_, [](const Record& record) { return carries_message(record.type); });
  return fail_run(sent.error());
}

// A recipe whose answer takes the history's place. Without tools it is one request, and the log gets the
// summary alone: a run that fails leaves the view as it was.
Result<RunReport, RunError> SessionImpl::run_compaction(const RunRequest& request) {
  CompactionRequest asked;
  asked.trigger = AGENTD_TRIGGER_MANUAL;
  asked.reason = AGENTD_REASON_MANUAL;
  asked.phase = AGENTD_PHASE_STANDALONE;
  asked.strategy = AGENTD_STRATEGY_FULL;
  asked.model = options_.model;
  asked.instructions = {request.compaction_instructions};
  if (tool_specs().empty())
    if (const auto tools = load_last_tools(parts_.store, id_)) usual_floor_ = count_frame(system_text(), *tools);
  run_compaction_ = std::make_unique<Compaction>(*this, asked);
  auto over = run_compaction_->open_run();
  if (!over) return fail_run(over.error());
  if (*over) return end_compaction(**over);
  std::string text = to_utf8(request.text);
  for (std::size_t i = 1; i < run_compaction_->instructions().size(); ++i)
    text += "\n\nAdditional instructions: " + run_compaction_->instructions()[i];
  if (tool_specs().empty()) run_prompt_.emplace();
  auto sent = send_user_message(std::move(text), "recipe");
  if (sent && !request.words.empty()) sent = send_user_message(to_utf8(request.words), "user");
  if (!sent) std::erase_if(pending_, [](const Record& record) { return carries_message(record.type); });
  auto report = sent ? run_turns() : Result<RunReport, RunError>(fail_run(sent.error()));
  if (report && compaction_report_) return report;
  const std::string why = report ? "the run ended without a summary" : report.error().message;
  if (!run_compaction_->closed()) run_compaction_->fail_run(why);
  if (!report) return report;
  return RunError{RunError::Kind::kProvider, "the conversation was not compacted: " + why};
}

// Before the first request: refused, done by a hook, or nothing to do.
Result<RunReport, RunError> SessionImpl::end_compaction(const CompactionReport& report) {
  compaction_report_ = report;
  if (auto runs = check_stopped(); !runs) return fail_run(runs.error());
  if (report.outcome == AGENTD_RESULT_VETOED) return fail_run(refused("the compaction was refused by " + report.text));
  if (report.outcome == AGENTD_RESULT_FAILED) return fail_run({RunError::Kind::kFailure, report.text});
  return end_run(report.changed() ? RunOutcome::kCompacted : RunOutcome::kStop);
}

// A subagent's run. subagent_start has seen the prompt already.
Result<RunReport, RunError> SessionImpl::run_task(std::string_view prompt, const Outcome* started,
                                                  const CancelToken& cancel) {
  const CancelBinding binding(*slot_, cancel);
  begin_run(cancel, false);
  add_user_message(std::string(prompt), "agent");
  if (started != nullptr) add_contexts(*started);
  auto report = run_turns();
  shared_.end_run();
  return report;
}

Result<RunReport, RunError> SessionImpl::run_turns() {
  RunOutcome outcome = RunOutcome::kStop;
  bool go_on = true;
  while (go_on) {
    if (options_.max_turns != 0 && turn_ >= options_.max_turns) {
      outcome = RunOutcome::kMaxTurns;
      break;
    }
    ++turn_;
    texts_.turn_id = parts_.ids.next().text();
    if (auto runs = check_stopped(); !runs) return fail_run(runs.error());
    renew_hooks();
    refresh_tools();
    auto more = Turn(*this).take();
    if (!more) return fail_run(more.error());
    if (*more) continue;
    auto again = asks_for_fitting_answer();
    if (!again) return fail_run(again.error());
    if (*again) continue;
    auto decided = agent_stop();
    if (!decided) return fail_run(decided.error());
    go_on = decided->go_on;
    outcome = decided->outcome;
  }
  const bool answered = outcome == RunOutcome::kStop || (outcome == RunOutcome::kCompacted && !run_compaction_);
  if (answered && outcome_of_answer() != RunOutcome::kStop) outcome = outcome_of_answer();
  // An answer that was not held to the schema is none.
  if (schema_ && (!answered || outcome == RunOutcome::kRefused)) final_text_.clear();
  return end_run(outcome);
}

Result<bool, RunError> SessionImpl::asks_for_fitting_answer() {
  if (!schema_) return false;
  if (stop_reason_ == StopReason::kRefusal) return false;
  auto value = schema_->value_of(final_text_);
  if (value) {
    final_text_ = std::move(*value);
    return false;
  }
  if (corrections_ >= kCorrectionsMax)
    return RunError{RunError::Kind::kProvider, "the answer does not fit its schema, also when it was asked for again " +
                                                   std::to_string(corrections_) + " times: " + value.error().message};
  ++corrections_;
  warn("the answer does not fit its schema (" + value.error().message + "): another one is asked for");
  if (auto sent = send_user_message(AnswerSchema::correction(value.error()), "schema"); !sent) return sent.error();
  return true;
}

namespace {

std::uint32_t abi_outcome_of(RunOutcome outcome) {
  switch (outcome) {
    case RunOutcome::kStop:
    case RunOutcome::kCompacted:
    case RunOutcome::kEmpty:
      return AGENTD_OUTCOME_SUCCESS;
    case RunOutcome::kMaxTurns:
    case RunOutcome::kCut:
    case RunOutcome::kStopped:
    case RunOutcome::kLimit:
    case RunOutcome::kCancelled:
      return AGENTD_OUTCOME_PARTIAL;
    case RunOutcome::kRefused:
    case RunOutcome::kBlocked:
    case RunOutcome::kError:
      return AGENTD_OUTCOME_FAILURE;
  }
  return AGENTD_OUTCOME_UNKNOWN;
}

}  // namespace

std::uint64_t SessionImpl::run_duration_us() const { return (parts_.clock.monotonic_ns() - run_began_ns_) / 1000; }

Result<RunReport, RunError> SessionImpl::end_run(RunOutcome outcome) {
  const std::string short_stop = short_stop_text(outcome);
  if (!short_stop.empty()) warn(short_stop);
  outcome_ = abi_outcome_of(outcome);
  if (auto done = finish_run(outcome, {}); !done) return fail_run(done.error());
  if (!run_compaction_)
    if (auto queued = run_queued_compactions(AGENTD_PHASE_POST_TURN); !queued) return queued.error();
  // What the compaction's hooks added must not wait for a run that may never come.
  if (auto done = commit(); !done) return done.error();
  if (!shares_account_) shared_.account()->flush();
  RunReport report{final_text_, outcome, turn_, shared_.run_usage(), gauge(), compaction_report_};
  RunEvent told{RunEvent::Type::kRunEnded};
  told.run_id = texts_.run_id;
  told.detail = name_of(outcome);
  told.text = final_text_;
  told.reason = short_stop;
  told.duration_us = run_duration_us();
  told.usage = &report.usage;
  told.gauge = &report.gauge;
  tell(told);
  return report;
}

RunOutcome SessionImpl::outcome_of_answer() const {
  switch (stop_reason_) {
    case StopReason::kRefusal:
      return RunOutcome::kRefused;
    case StopReason::kMaxTokens:
    case StopReason::kContextLength:
    case StopReason::kPause:
    case StopReason::kInterrupted:
      return RunOutcome::kCut;
    case StopReason::kEndTurn:
    case StopReason::kToolUse:
    case StopReason::kSequence:
      break;
  }
  return is_blank(final_text_) ? RunOutcome::kEmpty : RunOutcome::kStop;
}

std::string SessionImpl::short_stop_text(RunOutcome outcome) const {
  if (outcome == RunOutcome::kMaxTurns)
    return "the run was stopped after " + std::to_string(turn_) + (turn_ == 1 ? " turn" : " turns") +
           ": --follow goes on from here";
  if (outcome == RunOutcome::kRefused) return "the model declined to answer";
  if (outcome == RunOutcome::kEmpty) return "the model ended its turn without a word: ask again with --follow";
  if (outcome != RunOutcome::kCut) return {};
  if (stop_reason_ == StopReason::kMaxTokens && bounded_to_ != 0)
    return "the answer was cut after " + with_commas(bounded_to_) + " tokens: the budget leaves no more";
  if (stop_reason_ == StopReason::kMaxTokens)
    return "the answer was cut at the limit of " + with_commas(sent_output_max_) + " output tokens" +
           (sent_output_max_ != options_.max_output_tokens ? ", thinking included" : "") +
           ": raise max_output_tokens, or ask it to go on";
  if (stop_reason_ == StopReason::kContextLength)
    return "the answer was cut because the model's window is full: compact the conversation, then ask it to go on";
  if (stop_reason_ == StopReason::kPause)
    return "the provider has paused the answer " + std::to_string(pauses_) +
           " times in a row, and the run stops here: --follow goes on from here";
  return "the answer was cut: ask it to go on";
}

Result<void, RunError> SessionImpl::finish_run(RunOutcome outcome, std::string_view error) {
  RunEndRecord end;
  end.run_id = texts_.run_id;
  end.outcome = std::string(name_of(outcome));
  end.error = one_line(error, 500);
  end.turns = turn_;
  end.hooks = shared_.hook_ledger()->uses();
  add(write_run_end(end));
  return commit();
}

// What was said so far stays: the log gets the end of the run, whatever ended it.
RunError SessionImpl::fail_run(RunError error) {
  const RunOutcome outcome = outcome_of(error);
  outcome_ = abi_outcome_of(outcome);
  if (error.kind == RunError::Kind::kStore) {
    // What could not be written did not happen: a later commit must not bring half of it.
    fresh_answer_.reset();
    pending_.clear();
    pending_blobs_.clear();
    pending_messages_.clear();
    fire_error("store", error.message, "store", false);
  } else if (auto done = finish_run(outcome, error.message); !done) {
    parts_.log.write(LogLevel::kError, "agent", done.error().message);
  }
  if (!shares_account_) shared_.account()->flush();
  const Usage spent = shared_.run_usage();
  RunEvent told{RunEvent::Type::kRunEnded};
  told.run_id = texts_.run_id;
  told.detail = name_of(outcome);
  told.reason = stopped_ ? stopped_->action.text : error.message;
  if (stopped_) told.name = stopped_->by.hook;
  told.duration_us = run_duration_us();
  told.usage = &spent;
  tell(told);
  return error;
}

std::string SessionImpl::stop_text() const {
  const std::string& reason = stopped_->action.text;
  return "the run was stopped by " + stopped_->by.hook + (reason.empty() ? "" : ": " + reason);
}

Result<void, RunError> SessionImpl::check_stopped() const {
  if (stopped_) return RunError{RunError::Kind::kStopped, stop_text()};
  if (shared_.cancel().cancelled()) return interrupted();
  return {};
}

RunError SessionImpl::refused(std::string text) const {
  return shared_.cancel().cancelled() ? interrupted() : RunError{RunError::Kind::kBlocked, std::move(text)};
}

// ---- the threshold and the standalone door

void SessionImpl::check_threshold() {
  const Gauge now = gauge();
  const bool above = now.checkpoint_at != 0 && now.used >= now.checkpoint_at;
  const bool crossed = above && !above_checkpoint_;
  above_checkpoint_ = above;
  if (!above) note_threshold(false);
  if (!crossed || !wants(AGENTD_EVENT_CONTEXT_THRESHOLD)) return;
  note_threshold(true);
  agentd_context_threshold payload{};
  payload.size = sizeof payload;
  payload.percent = now.percent();
  payload.threshold = static_cast<std::uint32_t>(options_.budget.checkpoint_at * 100 + 0.5);
  const auto outcome = fire(AGENTD_EVENT_CONTEXT_THRESHOLD, &payload);
  if (!outcome) return;
  add_contexts(*outcome);
  const Action* const asked = outcome->exclusive_action();
  if (asked == nullptr || asked->kind != AGENTD_ACT_COMPACT) return;
  CompactOptions options;
  options.strategy = asked->code;
  options.keep_tokens = asked->number;
  options.model = asked->model;
  options.instructions = asked->text;
  (void)shared_.queue_compaction(options);
}

void SessionImpl::note_threshold(bool above) {
  above_checkpoint_ = above;
  if (above == shared_.conversation().above_threshold()) return;
  if (above && !wants(AGENTD_EVENT_CONTEXT_THRESHOLD)) return;
  MetaRecord meta;
  meta.above_threshold = above;
  add(write_meta(meta));
}

Result<CompactionReport, RunError> SessionImpl::compact(const CompactOptions& options, bool dry_run,
                                                        const CancelToken& cancel) {
  shared_.follow(cancel);
  const CancelBinding binding(*slot_, cancel);
  leave_run();
  refresh_tools();
  CompactionRequest request;
  request.trigger = AGENTD_TRIGGER_MANUAL;
  request.reason = AGENTD_REASON_MANUAL;
  request.phase = AGENTD_PHASE_STANDALONE;
  request.strategy = options.strategy == AGENTD_STRATEGY_DEFAULT ? options_.compaction_strategy : options.strategy;
  request.keep_tokens = options.keep_tokens;
  request.max_summary_tokens = options.max_summary_tokens;
  request.model = options.model;
  request.instructions = {options.instructions};
  if (dry_run) return Compaction(*this, request).plan_only();
  // What hooks left of a conversation in which nothing was said waits for its first message.
  if (shared_.conversation().revision() == 0) return Compaction(*this, request).nothing();
  recover_open_calls();
  if (auto done = commit(); !done) return done.error();
  auto report = Compaction(*this, request).attempt();
  // What after_compaction added is part of the conversation now, not only when somebody goes on with it.
  if (auto done = commit(); report && !done) return done.error();
  return report;
}

}  // namespace agentd
