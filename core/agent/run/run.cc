// SPDX-License-Identifier: Apache-2.0
#include "core/agent/run/run.h"

#include <utility>

#include "core/agent/loading.h"
#include "core/agent/run/run_end.h"
#include "core/agent/run/stop.h"
#include "core/agent/waits.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace agentd {

Result<void, RunError> check_media(const AgentResources& agent, const std::string& model,
                                   const std::vector<Block>& media) {
  const ModelInfo info = agent.model_info(model);
  for (const Block& block : media) {
    const bool image = block.kind == BlockKind::kImage;
    if (image ? info.images : info.documents) continue;
    return RunError{RunError::Kind::kFailure,
                    model + (image ? " sees no images" : " reads no PDF documents") +
                        ": choose another model, or set `inputs` in its entry in models.yaml"};
  }
  return {};
}

// ---- the beginning

void add_genesis(const SessionParts& session, const ParentRun& parent) {
  if (session.log.has_genesis()) return;
  const AgentOptions& options = session.options;
  GenesisRecord genesis;
  genesis.conversation_id = session.position.conversation_id;
  genesis.project_id = options.project_id;
  genesis.cwd = options.cwd;
  genesis.provider = options.provider;
  genesis.model = options.model;
  genesis.parent = parent.conversation;
  genesis.parent_seq = parent.seq;
  if (session.position.agent.depth != 0) genesis.agent_type = session.position.agent.type;
  session.log.add_genesis(write_genesis(genesis));
}

Run::Run(const SessionParts& session, RunMeans means, const CancelToken& cancel, std::optional<AnswerSchema> schema,
         bool compacts)
    : session_(session), means_(means) {
  const AgentParts& base = session_.base();
  const AgentOptions& options = session_.options;
  session_.context.set_usual_floor(std::nullopt);
  session_.shared.follow(cancel);
  session_.hooks.renew();
  session_.position.begin_run(session_.conversation().runs() + 1, base.ids.next().text());
  open_account(compacts);
  state_.began_ns = base.clock.monotonic_ns();
  state_.schema = std::move(schema);
  state_.max_turns = options.max_turns;
  state_.can_wait = means_.parent.can_wait && !compacts;
  session_.position.asked = base.provider.origin_of(options.model);
  session_.context.refresh_tools();
  add_genesis(session_, means_.parent);
  session_.log.recover_open_calls();
  session_.log.add(write_run_begin({session_.position.session_id, session_.position.run_id, options.cwd,
                                    options.provider, options.model, session_.position.recipe, options.sandbox}));
  add_settings();
  session_.surface.tell(told::RunStarted{session_.position.run_id, options.provider, options.model});
}

Run::~Run() {
  session_.messages.end_prompt();
  session_.shared.end_run();
  session_.hooks.end_run();
  session_.position.leave_run();
}

void Run::open_account(bool compacts) {
  const ParentRun& parent = means_.parent;
  session_.shared.begin_run(
      parent.account ? parent.account : session_.agent.open_account(session_.options, session_.conversation()),
      std::make_shared<HookLedger>(session_.options.hook_limits, parent.ledger), compacts);
}

// The settings of the run: digests in the log, the texts as blobs shared by runs.
void Run::add_settings() {
  SettingsRecord settings{session_.context.system_text(), "[", session_.options.provider, session_.options.model};
  for (const ToolSpec& tool : session_.context.tool_specs()) {
    if (settings.tools_json.size() > 1) settings.tools_json += ',';
    JsonWriter out;
    out.begin_object().member("name", tool.name).member("description", tool.description);
    out.key("input_schema").raw(tool.input_schema_json).end_object();
    settings.tools_json += out.text();
  }
  settings.tools_json += ']';
  session_.log.add(write_settings(settings));
  session_.log.add_blob(std::move(settings.system));
  session_.log.add_blob(std::move(settings.tools_json));
}

// ---- the three kinds

Result<RunReport, RunError> Run::message(const RunRequest& request) {
  if (waiting() != nullptr)
    if (auto ended = end_wait(); !ended) return fail(ended.error());
  state_.recipe_state = request.recipe_state;
  const bool words = !request.words.empty();
  const std::vector<Block> none;
  auto sent = session_.messages.send(to_utf8(request.text),
                                     request.recipe.empty() ? MessageSource::kUser : MessageSource::kRecipe,
                                     words ? none : request.media, request.key);
  if (sent && words) sent = session_.messages.send(to_utf8(request.words), MessageSource::kUser, request.media);
  if (sent) return turns();
  // A blocked message leaves nothing behind but the fact.
  session_.log.take_back_messages();
  return fail(sent.error());
}

Result<RunReport, RunError> Run::task(const std::string& prompt, const Outcome* started) {
  session_.messages.add(prompt, MessageSource::kAgent);
  if (started != nullptr) session_.messages.add_contexts(*started);
  return turns();
}

namespace {

// The newest text of the model, for the one that reads the result in its place.
std::string last_words(const Rows& rows) {
  for (std::uint32_t i = rows.size(); i > 0; --i)
    if (rows[i - 1].role == AGENTD_ROLE_ASSISTANT)
      if (const std::string text = to_message(rows[i - 1]).text(); !is_blank(text))
        return "; its last message: " + text;
  return {};
}

}  // namespace

const OpenWait* Run::waiting() const {
  const OpenWait* const open = session_.conversation().wait();
  return open == nullptr || open->begun ? nullptr : open;
}

Result<RunReport, RunError> Run::carry_on(const std::string& changed) {
  if (session_.conversation().wait() == nullptr)
    return fail({RunError::Kind::kFailure, "the outcome is unknown, as agentd ended while the agent continued" +
                                               last_words(session_.conversation().rows())});
  const OpenWait open = *session_.conversation().wait();
  take_over(open.wait);
  if (!means_.parent.account) session_.shared.account()->begin_with(open.wait.spent);
  // A call that has begun was interrupted, and the model is told so.
  if (open.begun) {
    for (const WaitRecord::Context& context : open.wait.contexts) session_.messages.add_context(context);
    return turns();
  }
  const bool of_child = !open.wait.child_wait.empty();
  if (!of_child && !open.answer && session_.base().clock.wall_ms() < open.wait.until_ms) {
    state_.waits_for = open.wait.id;
    return end(RunOutcome::kWaiting);
  }
  auto ended = resume(open, changed);
  if (!ended) return fail(ended.error());
  if (*ended != TurnEnd::kWaiting) return turns();
  if (state_.schema) state_.final_text.clear();
  return end(RunOutcome::kWaiting);
}

void Run::take_over(const WaitRecord& wait) {
  state_.max_turns = wait.max_turns;
  state_.recipe_state = wait.recipe_state;
  state_.continuation = wait.continuation;
  session_.position.turn = wait.turn;
}

Result<TurnEnd, RunError> Run::resume(const OpenWait& open, const std::string& changed) {
  session_.position.turn = open.wait.turn == 0 ? 0 : open.wait.turn - 1;
  session_.position.begin_turn(session_.base().ids.next().text());
  return Turn(session_, state_, means_.memory, means_.children).resume(open, changed);
}

Result<void, RunError> Run::end_wait() {
  const OpenWait open = *waiting();
  const auto asked = asked_of(session_.base().store, open);
  if (!asked) return store_error(asked.error());
  if (*asked && !(*asked)->answer && session_.base().clock.wall_ms() < (*asked)->wait.until_ms)
    return supersede(open, **asked);
  // Without the tools and handlers of its recipe it cannot be carried on.
  if (open.wait.recipe != session_.position.recipe) {
    session_.hooks.warn("the call of " + open.wait.tool + " that was answered in the recipe " + open.wait.recipe +
                        " was not run, since a message without that recipe came first");
    return close_wait(open);
  }
  std::string waits;
  if (open.wait.direct) {
    auto report = ToolCalls(session_, nullptr, means_.memory, means_.children).resume_direct(open, {});
    if (!report) return report.error();
    waits = report->waits_for;
  } else {
    RunState own = std::exchange(state_, RunState{});
    state_.can_wait = own.can_wait;
    take_over(open.wait);
    auto ended = resume(open, {});
    waits = state_.waits_for;
    state_ = std::move(own);
    session_.position.turn = 0;
    if (!ended) return ended.error();
  }
  if (!waits.empty())
    return RunError{
        RunError::Kind::kBlocked,
        "the message was not sent: a tool call of the conversation waits for an answer: agentd approve " + waits};
  // A message that is blocked takes back what is pending.
  return session_.log.commit();
}

Result<void, RunError> Run::supersede(const OpenWait& open, const OpenWait& asked) {
  if (asked.wait.conversation_id != open.wait.conversation_id) {
    const auto child = Ulid::parse(asked.wait.conversation_id);
    if (!child) return store_error(child.error());
    auto ended =
        answer_wait(session_.base().store, session_.base().clock, {*child, session_.position.conversation, asked},
                    {WaitDecision::kSuperseded, "user", "run", "the user continued without an answer"});
    if (!ended) return ended.error();
  }
  session_.surface.tell(
      told::Notice{"the call of " + asked.wait.tool + " that waited for an answer counts as denied", {}});
  return close_wait(open);
}

Result<void, RunError> Run::close_wait(const OpenWait& open) {
  session_.log.supersede_wait();
  for (const WaitRecord::Context& context : open.wait.contexts) session_.messages.add_context(context);
  return session_.log.commit();
}

Result<RunReport, RunError> Run::compaction(const RunRequest& request) {
  if (waiting() != nullptr)
    return fail({RunError::Kind::kBlocked,
                 "a tool call of the conversation waits: answer it first, or send a message, "
                 "which denies it; 'agentd approve --list' shows it"});
  CompactionRequest asked;
  asked.trigger = AGENTD_TRIGGER_MANUAL;
  asked.reason = AGENTD_REASON_MANUAL;
  asked.phase = AGENTD_PHASE_STANDALONE;
  asked.strategy = AGENTD_STRATEGY_FULL;
  asked.model = session_.options.model;
  asked.instructions = {request.compaction_instructions};
  if (session_.context.tool_specs().empty())
    if (const auto tools = load_last_tools(session_.base().store, session_.position.conversation))
      session_.context.set_usual_floor(session_.context.count_frame(session_.context.system_text(), *tools));
  state_.compaction = std::make_unique<Compaction>(session_, asked);
  auto over = state_.compaction->open_run();
  if (!over) return fail(over.error());
  if (*over) return end_compaction(**over);
  auto sent = send_compaction_prompt(request);
  if (!sent) session_.log.take_back_messages();
  auto report = sent ? turns() : Result<RunReport, RunError>(fail(sent.error()));
  if (report && state_.compaction_report) return report;
  const std::string why = report ? "the run ended without a summary" : report.error().message;
  if (!state_.compaction->closed()) state_.compaction->fail_run(why);
  if (!report) return report;
  return RunError{RunError::Kind::kProvider, "the conversation was not compacted: " + why};
}

Result<void, RunError> Run::send_compaction_prompt(const RunRequest& request) {
  std::string text = to_utf8(request.text);
  const std::vector<std::string>& instructions = state_.compaction->instructions();
  for (std::size_t i = 1; i < instructions.size(); ++i) text += "\n\nAdditional instructions: " + instructions[i];
  if (session_.context.tool_specs().empty()) session_.messages.begin_prompt();
  auto sent = session_.messages.send(std::move(text), MessageSource::kRecipe);
  if (sent && !request.words.empty()) sent = session_.messages.send(to_utf8(request.words), MessageSource::kUser);
  return sent;
}

// Before the first request: refused, done by a hook, or nothing to do.
Result<RunReport, RunError> Run::end_compaction(const CompactionReport& report) {
  state_.compaction_report = report;
  if (auto runs = session_.hooks.check_stopped(); !runs) return fail(runs.error());
  if (report.outcome == AGENTD_RESULT_VETOED)
    return fail(session_.hooks.refused("the compaction was refused by " + report.text));
  if (report.outcome == AGENTD_RESULT_FAILED) return fail({RunError::Kind::kFailure, report.text});
  return end(report.changed() ? RunOutcome::kCompacted : RunOutcome::kStop);
}

// ---- the turns

Result<RunReport, RunError> Run::turns() {
  const std::uint32_t most = state_.max_turns;
  RunOutcome outcome = RunOutcome::kStop;
  for (bool go_on = true; go_on;) {
    if (most != 0 && session_.position.turn >= most) {
      outcome = RunOutcome::kMaxTurns;
      break;
    }
    auto more = turn(outcome);
    if (!more) return fail(more.error());
    go_on = *more;
  }
  const bool answered = outcome == RunOutcome::kStop || (outcome == RunOutcome::kCompacted && !state_.compaction);
  const RunOutcome of_answer = outcome_of_answer(state_);
  if (answered && of_answer != RunOutcome::kStop) outcome = of_answer;
  // An answer that was not held to the schema is none.
  if (state_.schema && (!answered || outcome == RunOutcome::kRefused)) state_.final_text.clear();
  return end(outcome);
}

Result<bool, RunError> Run::turn(RunOutcome& outcome) {
  session_.position.begin_turn(session_.base().ids.next().text());
  if (auto runs = session_.hooks.check_stopped(); !runs) return runs.error();
  session_.hooks.renew();
  session_.context.refresh_tools();
  if (auto steered = send_posted(PostedMessage::Kind::kSteer); !steered) return steered.error();
  auto ended = Turn(session_, state_, means_.memory, means_.children).take();
  if (!ended) return ended.error();
  if (*ended == TurnEnd::kWaiting) outcome = RunOutcome::kWaiting;
  if (*ended != TurnEnd::kLast) return *ended == TurnEnd::kMore;
  auto again = asks_for_fitting_answer();
  if (!again || *again) return again;
  auto decided = Stop(session_, state_, means_.services).ask();
  if (!decided) return decided.error();
  outcome = decided->outcome;
  if (decided->go_on) return true;
  // Without a further turn they would stay unanswered.
  const std::uint32_t most = state_.max_turns;
  if (most != 0 && session_.position.turn >= most) return false;
  auto continued = send_posted(std::nullopt);
  if (continued && *continued) state_.begin_again();
  return continued;
}

Result<Run::Known, RunError> Run::knows(const std::string& key) {
  if (key.empty()) return Known::kNot;
  if (session_.log.has_pending(key)) return Known::kPending;
  const auto seq = session_.log.seq_of(key);
  if (!seq) return seq.error();
  if (*seq == 0) return Known::kNot;
  const auto told = session_.log.tell_again(*seq);
  if (!told) return told.error();
  return Known::kStored;
}

Result<void, RunError> Run::send(const PostedMessage& message) {
  if (auto seen = check_media(session_.agent, session_.options.model, message.media); !seen) return seen;
  return session_.messages.send(to_utf8(message.text), MessageSource::kUser, message.media, message.key);
}

Result<bool, RunError> Run::send_posted(std::optional<PostedMessage::Kind> kind) {
  bool sent = false;
  if (state_.compaction) return sent;  // it is about the summary alone
  while (auto posted = session_.shared.next_posted(kind)) {
    const PostedMessage& message = posted->message;
    auto known = knows(message.key);
    if (!known) {
      session_.shared.put_back(std::move(*posted));
      return known.error();
    }
    if (*known == Known::kStored) continue;
    const bool pending = *known == Known::kPending;
    auto done = pending ? Result<void, RunError>() : send(message);
    if (done) {
      sent = sent || !pending;
      const std::uint64_t batch = session_.log.batch();
      std::erase_if(sent_, [batch](const auto& each) { return each.first != batch; });  // those are stored
      sent_.emplace_back(batch, std::move(*posted));
    } else if (done.error().kind == RunError::Kind::kBlocked || done.error().kind == RunError::Kind::kFailure) {
      session_.hooks.warn(done.error().message);
    } else {
      session_.shared.put_back(std::move(*posted));
      return done.error();
    }
  }
  return sent;
}

Result<bool, RunError> Run::asks_for_fitting_answer() {
  if (!state_.schema || state_.stop_reason == StopReason::kRefusal) return false;
  auto value = state_.schema->value_of(state_.final_text);
  if (value) {
    state_.final_text = std::move(*value);
    return false;
  }
  if (state_.corrections >= kCorrectionsMax)
    return RunError{RunError::Kind::kProvider,
                    "the answer does not fit its schema, even after it was requested again " +
                        std::to_string(state_.corrections) + " times: " + value.error().message};
  ++state_.corrections;
  session_.hooks.warn("the answer does not fit its schema (" + value.error().message + "); it is requested again");
  if (auto sent = session_.messages.send(AnswerSchema::correction(value.error()), MessageSource::kSchema); !sent)
    return sent.error();
  return true;
}

// ---- the end

std::uint64_t Run::duration_us() const { return (session_.base().clock.monotonic_ns() - state_.began_ns) / 1000; }

Result<RunReport, RunError> Run::end(RunOutcome outcome) {
  const std::string short_stop =
      short_stop_text(state_, outcome, session_.position.turn, session_.options.max_output_tokens);
  if (!short_stop.empty()) session_.hooks.warn(short_stop);
  outcome_ = abi_outcome_of(outcome);
  if (auto done = add_end(outcome, {}); !done) return fail(done.error());
  if (!state_.compaction && outcome != RunOutcome::kWaiting)
    if (auto queued = CompactionDoors(session_, state_).queued(AGENTD_PHASE_POST_TURN); !queued) return queued.error();
  // Context of the compaction's hooks must not wait for a run that may never come.
  if (auto done = session_.log.commit(); !done) return done.error();
  if (!means_.parent.account) session_.shared.account()->flush();
  RunReport report{state_.final_text,        outcome,
                   session_.position.turn,   session_.shared.run_usage(),
                   session_.context.gauge(), state_.compaction_report,
                   state_.waits_for};
  session_.surface.tell(told::RunEnded{
      session_.position.run_id, {}, outcome, state_.final_text, short_stop, duration_us(), report.usage, report.gauge});
  return report;
}

Result<void, RunError> Run::add_end(RunOutcome outcome, std::string_view error) {
  RunEndRecord end;
  end.run_id = session_.position.run_id;
  end.outcome = std::string(name_of(outcome));
  end.error = one_line(error, 500);
  end.turns = session_.position.turn;
  end.hooks = session_.shared.hook_ledger()->uses();
  session_.log.add(write_run_end(end));
  return session_.log.commit();
}

void Run::drop_unstored() {
  for (auto& [batch, posted] : sent_)
    if (batch == session_.log.batch()) session_.shared.put_back(std::move(posted));
  sent_.clear();
  session_.log.drop();
}

RunError Run::fail(RunError error) {
  const RunOutcome outcome = outcome_of(error);
  outcome_ = abi_outcome_of(outcome);
  if (error.kind == RunError::Kind::kStore) {
    drop_unstored();
    session_.hooks.fire_error("store", error.message, "store", false);
  } else if (auto done = add_end(outcome, error.message); !done) {
    session_.base().log.write(LogLevel::kError, "agent", done.error().message);
    drop_unstored();
  }
  if (!means_.parent.account) session_.shared.account()->flush();
  const auto& stopped = session_.hooks.stopped();
  session_.surface.tell(told::RunEnded{session_.position.run_id,
                                       stopped ? std::string_view(stopped->by.hook) : std::string_view(),
                                       outcome,
                                       {},
                                       stopped ? stopped->action.text : error.message,
                                       duration_us(),
                                       session_.shared.run_usage(),
                                       std::nullopt});
  return error;
}

}  // namespace agentd
