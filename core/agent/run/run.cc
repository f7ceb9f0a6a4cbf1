// SPDX-License-Identifier: Apache-2.0
#include "core/agent/run/run.h"

#include <utility>

#include "core/agent/loading.h"
#include "core/agent/run/run_end.h"
#include "core/agent/run/stop.h"
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
  session_.position.asked = base.provider.origin_of(options.model);
  session_.context.refresh_tools();
  add_genesis();
  session_.log.recover_open_calls();
  session_.log.add(write_run_begin({session_.position.session_id, session_.position.run_id, options.cwd,
                                    options.provider, options.model, session_.position.recipe}));
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

void Run::add_genesis() {
  if (session_.log.has_genesis()) return;
  const AgentOptions& options = session_.options;
  GenesisRecord genesis;
  genesis.conversation_id = session_.position.conversation_id;
  genesis.project_id = options.project_id;
  genesis.cwd = options.cwd;
  genesis.provider = options.provider;
  genesis.model = options.model;
  genesis.parent = means_.parent.conversation;
  genesis.parent_seq = means_.parent.seq;
  if (session_.position.agent.depth != 0) genesis.agent_type = session_.position.agent.type;
  session_.log.add_genesis(write_genesis(genesis));
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
  const bool words = !request.words.empty();
  const std::vector<Block> none;
  auto sent = session_.messages.send(to_utf8(request.text),
                                     request.recipe.empty() ? MessageSource::kUser : MessageSource::kRecipe,
                                     words ? none : request.media);
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

Result<RunReport, RunError> Run::compaction(const RunRequest& request) {
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
  const std::uint32_t most = session_.options.max_turns;
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
  auto more = Turn(session_, state_, means_.memory, means_.children).take();
  if (!more || *more) return more;
  auto again = asks_for_fitting_answer();
  if (!again || *again) return again;
  auto decided = Stop(session_, state_, means_.services).ask();
  if (!decided) return decided.error();
  outcome = decided->outcome;
  if (decided->go_on) return true;
  // Without a further turn they would stay unanswered.
  const std::uint32_t most = session_.options.max_turns;
  if (most != 0 && session_.position.turn >= most) return false;
  auto continued = send_posted(std::nullopt);
  if (continued && *continued) state_.begin_again();
  return continued;
}

Result<bool, RunError> Run::send_posted(std::optional<PostedMessage::Kind> kind) {
  bool sent = false;
  if (state_.compaction) return sent;  // it is about the summary alone
  while (auto posted = session_.shared.next_posted(kind)) {
    const PostedMessage& message = posted->message;
    auto done = check_media(session_.agent, session_.options.model, message.media);
    if (done) done = session_.messages.send(to_utf8(message.text), MessageSource::kUser, message.media);
    if (done) {
      sent = true;
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
  if (!state_.compaction)
    if (auto queued = CompactionDoors(session_, state_).queued(AGENTD_PHASE_POST_TURN); !queued) return queued.error();
  // Context of the compaction's hooks must not wait for a run that may never come.
  if (auto done = session_.log.commit(); !done) return done.error();
  if (!means_.parent.account) session_.shared.account()->flush();
  RunReport report{state_.final_text,        outcome,
                   session_.position.turn,   session_.shared.run_usage(),
                   session_.context.gauge(), state_.compaction_report};
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
