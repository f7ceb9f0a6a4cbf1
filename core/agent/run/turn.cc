// SPDX-License-Identifier: Apache-2.0
// turn.cc - one model exchange: make room, ask, take the answer in, hand over to the tools.
#include <algorithm>
#include <utility>

#include "core/agent/compaction/compact.h"
#include "core/agent/loading.h"
#include "core/agent/summariser.h"
#include "core/base/bytes.h"
#include "core/conversation/marked_rows.h"
#include "core/conversation/visible_rows.h"

namespace agentd {
namespace {

constexpr std::uint32_t kPutOffDoublings = 3;
// So often hooks may name another model for one call.
constexpr int kModelChoicesMax = 3;
// So often an answer that broke off is asked for again.
constexpr std::uint32_t kBrokenAnswersMax = 2;
// Before an answer that a busy provider broke off is asked for again; the first and each further time.
constexpr Milliseconds kBusyWait{1'000}, kBusyWaitMax{60'000};

// The user message behind an answer that its provider has paused (pause_turn): current models refuse a
// conversation that ends with an assistant message.
constexpr std::string_view kGoOn = "Continue.";

bool may_pass_elsewhere(ModelErrorKind kind) {
  return kind == ModelErrorKind::kOverloaded || kind == ModelErrorKind::kRateLimit || kind == ModelErrorKind::kServer ||
         kind == ModelErrorKind::kNetwork || kind == ModelErrorKind::kInterrupted || kind == ModelErrorKind::kBilling;
}

// "0.4 s", "12 s"
std::string seconds_text(Milliseconds time) {
  if (time >= Milliseconds(10'000)) return std::to_string((time.count() + 500) / 1'000) + " s";
  const auto tenths = (time.count() + 50) / 100;
  return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) + " s";
}

// Streams the answer to the surface and to hooks that observe deltas.
class StreamSink final : public ModelSink {
 public:
  using Tell = std::function<void(RunEvent)>;
  using Delta = std::function<void(std::string_view)>;
  // `withhold`: a hook may rewrite the answer, so nothing is shown before it has spoken.
  StreamSink(Tell tell, Delta delta, bool withhold)
      : tell_(std::move(tell)), delta_(std::move(delta)), withhold_(withhold) {}

  void on_text(std::string_view delta) override {
    if (!withhold_) say(RunEvent::Type::kTextDelta, delta);
    if (delta_ && !withhold_) delta_(delta);
  }
  void on_thinking(std::string_view delta) override {
    if (!withhold_) say(RunEvent::Type::kThinkingDelta, delta);
  }
  void on_tool_call(std::string_view, std::string_view) override {}
  void on_wait(Milliseconds wait, const ModelError& why) override {
    say(RunEvent::Type::kNotice, "the model is asked again in " + seconds_text(wait) + ": " + why.message);
  }

 private:
  void say(RunEvent::Type type, std::string_view text) {
    RunEvent event{type};
    event.text = text;
    tell_(event);
  }

  const Tell tell_;
  const Delta delta_;
  const bool withhold_;
};

RunError::Kind kind_of(ModelErrorKind kind) {
  if (kind == ModelErrorKind::kCancelled) return RunError::Kind::kCancelled;
  if (kind == ModelErrorKind::kLedger) return RunError::Kind::kStore;
  return kind == ModelErrorKind::kLimit ? RunError::Kind::kLimit : RunError::Kind::kProvider;
}

std::uint64_t tokens_of(const Rows& rows, const TokenEstimator& estimator) {
  std::uint64_t tokens = 0;
  for (const agentd_message& row : rows) tokens += estimator.count_row(row);
  return tokens;
}

bool redacts_answers(const Snapshot& snapshot) { return snapshot.redacts(AGENTD_EVENT_AFTER_MODEL_CALL); }

// Puts a rewritten answer in place of the text blocks; tool calls and thinking stay.
void replace_text(Message& message, const std::string& text) {
  std::vector<Block> blocks;
  bool placed = false;
  for (Block& block : message.blocks) {
    if (block.kind != BlockKind::kText) {
      blocks.push_back(std::move(block));
    } else if (!placed && !text.empty()) {
      blocks.push_back(Block::of_text(text));
      placed = true;
    }
  }
  if (!placed && !text.empty()) blocks.insert(blocks.begin(), Block::of_text(text));
  message.blocks = std::move(blocks);
}

}  // namespace

bool has_tool_calls(const Message& message) {
  return std::any_of(message.blocks.begin(), message.blocks.end(),
                     [](const Block& block) { return block.kind == BlockKind::kToolUse; });
}

Result<bool, RunError> Turn::take() {
  if (auto done = session_.commit(); !done) return done.error();
  RunEvent told{RunEvent::Type::kTurnStarted};
  session_.tell(told);
  if (session_.wants(AGENTD_EVENT_TURN_START)) {
    agentd_turn payload{};
    payload.size = sizeof payload;
    payload.turn_number = session_.turn_;
    session_.fire(AGENTD_EVENT_TURN_START, &payload);
  }
  if (auto room = make_room(); !room) return room.error();
  if (auto runs = session_.check_stopped(); !runs) return runs.error();
  warn_when_full();
  auto answer = ask_model();
  if (!answer) return answer.error();
  return settle(std::move(*answer));
}

// The automatic doors: before the first request of a run, or between two turns of it.
Result<void, RunError> Turn::make_room() {
  if (session_.run_compaction_) return {};
  session_.check_threshold();
  const std::uint32_t phase = session_.turn_ == 1 ? AGENTD_PHASE_PRE_REQUEST : AGENTD_PHASE_MID_TURN;
  if (auto queued = session_.run_queued_compactions(phase); !queued) return queued.error();
  CompactionRequest request;
  request.phase = phase;
  request.strategy = session_.options_.compaction_strategy;
  if (!compaction_is_due(request)) return {};
  auto done = Compaction(session_, request).attempt();
  if (!done) return done.error();
  return {};
}

bool Turn::compaction_is_due(const CompactionRequest& request) {
  const Gauge gauge = session_.gauge();
  if (!session_.options_.auto_compact || gauge.compact_at == 0 || gauge.used < gauge.compact_at) return false;
  const bool forced = gauge.force_at != 0 && gauge.used >= gauge.force_at;
  const CompactionHistory& past = session_.shared_.conversation().compaction_history();
  // Trouble that passes is given 1, 2, 4 and then 8 answers to do so, but not the last of the room.
  if (past.put_off != 0 && !forced)
    return past.answers >= std::uint32_t{1} << std::min(past.put_off - 1, kPutOffDoublings);
  if (!forced && past.useless >= kUselessMax) {
    if (!session_.told_paused_) Compaction(session_, request).tell_paused();
    return false;
  }
  // Asked again only after some growth, whether hooks refused or there was nothing to win.
  const bool grown = past.tokens_at_last == 0 || gauge.used >= past.tokens_at_last + gauge.limit / 50;
  if (grown || past.stuck) return grown;
  // That the floor is too high is not changed by a window that is nearly full, but by another
  // window, fewer tools or a message that is no longer the newest.
  if (past.too_high_floor) return !Compaction(session_, request).wins_nothing();
  return forced && past.useless < 2 * kUselessMax;
}

// What no compaction could bring below the limit goes out as it is, but not unremarked.
void Turn::warn_when_full() {
  const Gauge gauge = session_.gauge();
  if (gauge.limit == 0 || gauge.used <= gauge.limit || session_.told_full_) return;
  session_.told_full_ = true;
  const std::string text = "the next request has about " + with_commas(gauge.used) + " tokens and only " +
                           with_commas(gauge.limit) + " fit the window (" + with_commas(gauge.floor) +
                           " of them are the system prompt and the tools)";
  session_.warn(text);
}

ModelResult Turn::send(const ModelRequest& request, bool withhold) {
  StreamSink::Delta delta;
  if (session_.wants(AGENTD_EVENT_MODEL_DELTA))
    delta = [this](std::string_view text) {
      const agentd_str one = to_abi(text);
      agentd_model_delta payload{sizeof(agentd_model_delta), 0, {&one, 1, sizeof one}};
      session_.fire(AGENTD_EVENT_MODEL_DELTA, &payload);
    };
  StreamSink sink([this](RunEvent event) { session_.tell(event); }, delta, withhold);
  // How long it may take is the provider's setting.
  ModelResult answer = session_.shared_.account()->complete(request, sink, session_.shared_.cancel(), {});
  if (answer && !answer->note.empty() && !answer->malformed_call) session_.warn(answer->note);
  // What nobody reported, and what broke off, is paid for all the same.
  if (answer && !answer->usage) session_.shared_.count_usage(answer->spent);
  if (!answer && answer.error().usage) session_.shared_.charge(*answer.error().usage, "interrupted");
  return answer;
}

Result<ModelResponse, RunError> Turn::ask_model() {
  const bool withhold = redacts_answers(*session_.snapshot_);
  Overflow overflow;
  std::uint32_t broken = 0;  // answers
  bool malformed = false;    // there was one with a call that cannot be read
  Message half;              // of the last one of them that said something
  for (std::uint32_t attempt = 1;; ++attempt) {
    // What hooks added while room was made is part of the request.
    if (auto done = session_.commit(); !done) return done.error();
    ModelRequest request;
    request.model =
        session_.fallback_ == 0 ? session_.options_.model : session_.options_.fallbacks[session_.fallback_ - 1];
    request.system = session_.system_text();
    std::vector<ToolSpec> tools = session_.tool_specs();
    if (session_.run_compaction_) request.model = session_.run_compaction_->model();
    request.max_output_tokens = session_.options_.max_output_tokens;
    if (session_.fallback_ != 0 && parts_.models.knows(request.model))
      request.max_output_tokens = std::min(request.max_output_tokens, parts_.models.find(request.model).max_output);
    request.conversation_id = session_.conversation_id();
    Rows rows = session_.shared_.conversation().pin();
    Origins origins;
    request.origins = &session_.shared_.conversation().origins();
    if (session_.run_prompt_) {
      auto whole = load_summary_source(parts_.store, session_.id_, rows, *request.origins, rows.size(), {});
      if (!whole) return store_error(whole.error());
      rows = std::move(whole->rows);
      origins = std::move(whole->origins);
      request.origins = &origins;
      tools = session_.tools_beside({rows.begin(), rows.size()});
      request.may_call_tools = false;
    }
    if (auto asked = before_model(request, tools, rows, attempt); !asked) return asked.error();
    offered_.clear();
    for (const ToolSpec& tool : tools) offered_.insert(tool.name);
    const MarkedRows marked({rows.begin(), rows.size()}, request.origins);
    const ModelInfo info = parts_.models.find(request.model);
    const VisibleRows visible(marked.rows(), info.images, info.documents);
    request.messages = visible.rows();
    if (session_.schema_ && session_.schema_in_words_)
      request.system += (request.system.empty() ? "" : "\n\n") + session_.schema_->words();
    else if (session_.schema_ && !session_.run_prompt_)
      request.output_schema = session_.schema_->json();
    request.tools = tools;
    if (session_.pauses_ != 0) request.closing_text = kGoOn;
    if (session_.run_prompt_) request.closing_text = *session_.run_prompt_;
    if (session_.run_compaction_) session_.run_compaction_->set_model(request.model);
    request.thinking =
        session_.resources_.thinking_for(request.model, request.max_output_tokens, session_.run_compaction_ != nullptr);
    session_.sent_output_max_ = request.max_output_tokens + request.thinking.room;
    sent_model_ = request.model;
    sent_estimate_ = estimate_of(request, rows) + tokens_of(marked.marks(), parts_.estimator);
    request.prompt_tokens = session_.resources_.corrected(sent_model_, sent_estimate_);
    const std::uint64_t started = parts_.clock.monotonic_ns();
    ModelResult answer = send(request, withhold);
    // A call that the model could not spell: asked once more, it often can.
    if (answer && answer->malformed_call && !malformed) {
      malformed = true;
      session_.shared_.charge(answer->spent, "interrupted");
      RunEvent again(RunEvent::Type::kAnswerAgain);
      again.text = answer->note;
      session_.tell(again);
      if (auto runs = session_.check_stopped(); !runs) return runs.error();
      continue;
    }
    if (answer) {
      if (answer->malformed_call) session_.warn(answer->note);
      session_.bounded_to_ = answer->bounded_to;
      take_calls(answer->message);
      session_.gauge_answer(*answer, sent_model_, sent_estimate_);
      return after_model(std::move(*answer), started);
    }
    ModelError error = answer.error();
    if (!error.partial.text().empty()) half = error.partial;
    // It may be the schema: no vendor holds to every one.
    if (error.kind == ModelErrorKind::kInvalid && error.http_status == 400 && !request.output_schema.empty()) {
      session_.schema_in_words_ = true;
      session_.warn(error.message + "; the model is told the schema of its answer in words instead");
      if (auto runs = session_.check_stopped(); !runs) return runs.error();
      continue;
    }
    // What was paid for is asked for again as a whole, wherever it broke.
    const bool broke_off = error.kind == ModelErrorKind::kInterrupted || error.usage;
    const bool asks_again = broke_off && error.retryable && broken < kBrokenAnswersMax;
    if (asks_again && !session_.shared_.account()->retries().take()) {
      error.message += "; " + session_.shared_.account()->retries().used_up();
    } else if (asks_again) {
      ++broken;
      RunEvent again(RunEvent::Type::kAnswerAgain);
      again.text = error.message;
      session_.tell(again);
      wait_for_busy(error, broken);
      if (auto runs = session_.check_stopped(); !runs) return runs.error();
      continue;
    }
    if (falls_back(error)) {
      broken = 0;
      if (!error.partial.text().empty()) {
        RunEvent again(RunEvent::Type::kAnswerAgain);
        again.text = error.message;
        session_.tell(again);
      }
      if (auto runs = session_.check_stopped(); !runs) return runs.error();
      continue;
    }
    if (error.partial.text().empty()) error.partial = half;
    if (session_.run_prompt_ && wants_other_form(error)) return summarise_instead(error);
    if (error.kind != ModelErrorKind::kContextLength || overflow.over) return provider_failed(error);
    if (session_.run_compaction_) return provider_failed(error);
    if (auto room = make_room_after(overflow, error); !room) return room.error();
    if (auto runs = session_.check_stopped(); !runs) return runs.error();
  }
}

// A provider that is busy in the middle of an answer is given time, as it is before the first word.
void Turn::wait_for_busy(const ModelError& error, std::uint32_t broken) {
  if (error.kind != ModelErrorKind::kOverloaded && error.kind != ModelErrorKind::kRateLimit) return;
  const Milliseconds wait = std::min(error.retry_after.value_or(kBusyWait * broken), kBusyWaitMax);
  RunEvent told{RunEvent::Type::kNotice};
  const std::string text = "the model is asked again in " + seconds_text(wait);
  told.text = text;
  session_.tell(told);
  session_.resources_.sleeper().sleep(wait, session_.shared_.cancel());
}

// Trouble of the provider's that another one need not have: it is busy, broken or not to be reached, or the account's
// limit is spent. Every attempt at another model is judged by the hooks anew, as each request is.
bool Turn::falls_back(const ModelError& error) {
  // A fallback that the budget does not cover, or whose price is not known, is no reason not to ask the next one.
  const bool trouble =
      may_pass_elsewhere(error.kind) || (error.kind == ModelErrorKind::kLimit && session_.fallback_ != 0);
  if (!trouble || session_.run_compaction_ != nullptr || session_.fallback_ >= session_.options_.fallbacks.size())
    return false;
  const std::string& next = session_.options_.fallbacks[session_.fallback_++];
  session_.warn(error.message + "; for the rest of this run " + one_line(next, 80) + " is asked instead");
  return true;
}

// The provider says that the prompt is too long. One compaction and one more request; a hook that refuses
// is asked a second time, after a request that shows that nothing has changed.
Result<void, RunError> Turn::make_room_after(Overflow& overflow, const ModelError& error) {
  CompactionRequest compaction;
  compaction.reason = AGENTD_REASON_OVERFLOW;
  compaction.phase = AGENTD_PHASE_OVERFLOW;
  compaction.strategy = session_.options_.compaction_strategy;
  compaction.refused_tokens = std::max<std::uint64_t>(session_.gauge().used, 1);
  auto done = Compaction(session_, compaction).attempt();
  if (!done) return done.error();
  if (done->outcome == AGENTD_RESULT_VETOED && ++overflow.vetoes < 2) return {};
  overflow.over = done->changed();
  if (done->changed()) return {};
  ModelError told = error;
  told.message += "; it was not compacted: " + done->text;
  return provider_failed(told);
}

// A run that writes the summary of a conversation that does not fit: in parts.
Result<ModelResponse, RunError> Turn::summarise_instead(const ModelError& error) {
  auto summary = session_.run_compaction_->summarise_instead(*session_.run_prompt_);
  if (!summary) {
    ModelError failed = error;
    failed.message = summary.error().message;
    if (summary.error().code == Code::kCancelled) failed.kind = ModelErrorKind::kCancelled;
    return provider_failed(failed);
  }
  ModelResponse response;
  response.message = Message::of_text(Role::kAssistant, *summary);
  if (!redacts_answers(*session_.snapshot_)) {
    RunEvent told{RunEvent::Type::kTextDelta};
    told.text = *summary;
    session_.tell(told);
  }
  return after_model(std::move(response), parts_.clock.monotonic_ns());
}

// Hooks may have taken tools away and put other messages in place of the view's.
std::uint64_t Turn::estimate_of(const ModelRequest& request, const Rows& rows) const {
  const std::size_t offered = session_.options_.offer_tools ? session_.tools_.size() : 0;
  const bool as_it_was = request.tools.size() == offered;
  const std::uint64_t frame = as_it_was ? session_.floor_tokens() : session_.count_frame(request.system, request.tools);
  const bool of_view = rows.begin() == session_.shared_.conversation().rows().begin();
  return frame + parts_.estimator.count_text(request.closing_text) +
         (of_view ? rows.tokens() : tokens_of(rows, parts_.estimator));
}

// What is judged is what is called: where a hook names another model, all hooks are asked again about that one, and
// what they say of it counts.
Result<void, RunError> Turn::before_model(ModelRequest& request, std::vector<ToolSpec>& tools, Rows& rows,
                                          std::uint32_t attempt) {
  session_.asked_ = parts_.provider.origin_of(request.model);
  if (!session_.wants(AGENTD_EVENT_BEFORE_MODEL_CALL)) return {};
  std::vector<std::string> contexts;  // of hooks that were asked about another model
  for (int choices = 0;; ++choices) {
    auto judged = judge_model_call(request, tools, rows, attempt);
    if (!judged) return judged.error();
    if (*judged == nullptr) return {};
    const Outcome& outcome = **judged;
    const std::string model = model_named_by(outcome, request.model);
    if (model != request.model && choices < kModelChoicesMax) {
      for (const Outcome::Attributed& context : outcome.contexts) contexts.push_back(context.action.text);
      request.model = model;
      session_.asked_ = parts_.provider.origin_of(model);
      continue;
    }
    if (model != request.model)
      return RunError{RunError::Kind::kBlocked,
                      "hooks do not agree on a model for this call: " + one_line(request.model, 80) + ", then " +
                          one_line(model, 80) + ", and so on"};
    apply_before_model(outcome, std::move(contexts), tools, rows);
    return {};
  }
}

// The model that the last hook which names one wants to be asked; `current` where none does.
std::string Turn::model_named_by(const Outcome& outcome, const std::string& current) const {
  const auto named = std::find_if(outcome.sets.rbegin(), outcome.sets.rend(),
                                  [](const Outcome::Attributed& set) { return set.action.target == AGENTD_KEY_MODEL; });
  // The name that hooks are shown leaves out its vendor.
  if (named == outcome.sets.rend() || named->action.text == session_.asked_.model) return current;
  if (is_blank(named->action.text)) {
    session_.report_refusal(named->by.hook, AGENTD_EVENT_BEFORE_MODEL_CALL, "it names no model");
    return current;
  }
  return session_.resources_.real_model(named->action.text);
}

// Null: nobody was asked.
Result<std::unique_ptr<Outcome>, RunError> Turn::judge_model_call(const ModelRequest& request,
                                                                  const std::vector<ToolSpec>& tools, const Rows& rows,
                                                                  std::uint32_t attempt) {
  const agentd_gauge gauge = to_abi(session_.gauge());
  std::vector<agentd_tool_info> infos;
  for (const ToolSpec& tool : tools)
    infos.push_back(
        {sizeof(agentd_tool_info), tool.flags, to_abi(tool.name), to_abi(tool.description), to_abi(tool.origin)});
  agentd_model_call payload{};
  payload.size = sizeof payload;
  payload.model = to_abi(session_.asked_.model);
  payload.message_count = rows.size();
  payload.max_output_tokens = request.max_output_tokens;
  payload.context = &gauge;
  payload.tools = {infos.data(), static_cast<std::uint32_t>(infos.size()), sizeof(agentd_tool_info)};
  payload.messages = rows.list();
  payload.system = to_abi(request.system);
  agentd_model_call bare = payload;
  bare.messages = {nullptr, 0, sizeof(agentd_message)};
  Fired fired;
  fired.event = AGENTD_EVENT_BEFORE_MODEL_CALL;
  fired.payload = &payload;
  fired.bare = &bare;
  fired.attempt = attempt;
  auto outcome = session_.fire(fired);
  if (!outcome) return outcome;
  if (auto runs = session_.check_stopped(); !runs) return runs.error();
  if (outcome->blocked)
    return RunError{RunError::Kind::kBlocked,
                    "the model call was blocked by " + outcome->blocked_by.hook + ": " + outcome->reason};
  return outcome;
}

// `contexts` were given before and are not said again.
void Turn::apply_before_model(const Outcome& outcome, std::vector<std::string> contexts, std::vector<ToolSpec>& tools,
                              Rows& rows) {
  for (const Outcome::Attributed& change : outcome.tools) {
    std::string names = "," + change.action.text + ",";
    std::erase(names, ' ');
    const auto named = [&](const ToolSpec& tool) { return names.find("," + tool.name + ",") != std::string::npos; };
    const bool disable = change.action.kind == AGENTD_ACT_TOOLS_DISABLE;
    std::erase_if(tools, [&](const ToolSpec& tool) { return named(tool) == disable; });
  }
  if (!outcome.exclusive.empty() && outcome.exclusive[0].action.kind == AGENTD_ACT_REPLACE_MESSAGES)
    replace_for_request(outcome.exclusive[0], rows);
  for (const Outcome::Attributed& context : outcome.contexts) {
    std::erase(contexts, context.action.text);
    contexts.push_back(context.action.text);
  }
  for (const std::string& context : contexts) {
    if (is_blank(context)) continue;
    Message message = Message::of_text(Role::kUser, context);
    message.flags = AGENTD_MESSAGE_CONTEXT;
    rows.append(message, 0, parts_.clock.wall_ms());
  }
}

// A replacement before a model call changes that one request; log and view stay.
void Turn::replace_for_request(const Outcome::Attributed& asked, Rows& rows) {
  const auto refuse = [&](const std::string& reason) {
    session_.report_refusal(asked.by.hook, AGENTD_EVENT_BEFORE_MODEL_CALL, "its replacement was refused: " + reason);
  };
  const std::uint64_t revision = session_.shared_.conversation().revision();
  if (asked.action.base_revision != revision)
    return refuse("it was made from revision " + std::to_string(asked.action.base_revision) +
                  ", the conversation is at " + std::to_string(revision));
  auto planned = plan_replacement(rows, session_.shared_.conversation().state().ranges(), asked.action, asked.by.hook);
  if (!planned) return refuse(planned.error().message);
  const Gauge gauge = session_.gauge();
  const std::uint64_t tokens = tokens_of(planned->rows, parts_.estimator);
  if (gauge.limit != 0 && gauge.scaled(tokens) + gauge.floor > gauge.limit && tokens > rows.tokens())
    return refuse("its " + with_commas(gauge.scaled(tokens)) + " tokens do not fit the window");
  rows = std::move(planned->rows);
}

Result<ModelResponse, RunError> Turn::after_model(ModelResponse response, std::uint64_t started_ns) {
  if (!session_.wants(AGENTD_EVENT_AFTER_MODEL_CALL)) return response;
  struct Payload {
    agentd_model_response record{};
    std::string text;
    Message message;
    Rows rows;
    // The whole answer as hooks have left it so far.
    void show_message() {
      rows = Rows();
      rows.append(message, 0, 0);
      record.message = &rows[0];
    }
  } payload;
  payload.text = response.message.text();
  payload.message = response.message;
  payload.show_message();
  const std::string original = payload.text;
  const agentd_usage usage = to_abi(response.usage.value_or(Usage{}));
  payload.record.size = sizeof payload.record;
  payload.record.stop_reason = static_cast<std::uint32_t>(response.stop_reason);
  payload.record.text = to_abi(payload.text);
  payload.record.usage = &usage;
  payload.record.duration_ns = parts_.clock.monotonic_ns() - started_ns;
  Fired fired;
  fired.event = AGENTD_EVENT_AFTER_MODEL_CALL;
  fired.payload = &payload.record;
  fired.context = &payload;
  fired.rewrite = [](void* context, std::uint32_t, std::string_view rewritten) {
    auto& mine = *static_cast<Payload*>(context);
    mine.text = std::string(rewritten);
    mine.record.text = to_abi(mine.text);
    replace_text(mine.message, mine.text);
    mine.show_message();
  };
  const auto outcome = session_.fire(fired);
  const bool withheld = redacts_answers(*session_.snapshot_);
  const bool rewritten = outcome && !outcome->rewrites.empty();
  if (rewritten) {
    // An answer that a guard could not look at is withheld whole: no block of it is kept, and no tool
    // call of it runs.
    if (outcome->withheld) {
      response.message.blocks.clear();
      inputs_.clear();
      if (response.stop_reason == StopReason::kToolUse) response.stop_reason = StopReason::kEndTurn;
    }
    replace_text(response.message, payload.text);
    session_.record_effect(AGENTD_EVENT_AFTER_MODEL_CALL, outcome->rewrites.back().by, "rewrite", original,
                           payload.text, {});
  }
  if (withheld && !payload.text.empty()) {
    RunEvent told{RunEvent::Type::kTextDelta};
    told.text = payload.text;
    session_.tell(told);
  }
  return response;
}

Origin Turn::sent_origin() const { return parts_.provider.origin_of(sent_model_); }

RunError Turn::provider_failed(const ModelError& error) {
  // What arrived stays, marked; a half-received tool call is not part of it.
  if (!error.partial.blocks.empty() && !error.partial.text().empty() && !session_.run_prompt_) {
    Message partial = error.partial;
    partial.role = Role::kAssistant;
    partial.flags |= AGENTD_MESSAGE_INTERRUPTED;
    std::erase_if(partial.blocks, [](const Block& block) { return block.kind != BlockKind::kText; });
    if (redacts_answers(*session_.snapshot_))
      partial.blocks = {Block::of_text("[withheld: the answer broke off before its hooks saw it]")};
    session_.add(write_message({partial, StopReason::kInterrupted, {}, {}, sent_origin()}));
  }
  session_.notify_error(name_of(error.kind), error.message, "model", error.retryable);
  return {kind_of(error.kind), error.message};
}

Result<bool, RunError> Turn::settle(ModelResponse response) {
  // No tool may be called in it, and its message is not recorded.
  if (session_.run_prompt_)
    std::erase_if(response.message.blocks, [](const Block& block) { return block.kind == BlockKind::kToolUse; });
  const bool tools = has_tool_calls(response.message);
  std::string text = response.message.text();
  session_.stop_reason_ = response.stop_reason;
  // The text behind a pause belongs to the same answer.
  if (session_.pauses_ == 0 || session_.final_text_.empty())
    session_.final_text_ = std::move(text);
  else if (!text.empty())
    session_.final_text_.append("\n\n").append(text);
  // A summary is asked for with what is not recorded: there is nothing to go on from.
  const bool paused = !tools && response.stop_reason == StopReason::kPause && !session_.run_prompt_;
  session_.pauses_ = paused ? session_.pauses_ + 1 : 0;
  const bool more = tools || (paused && session_.pauses_ < kPausesMax);
  if (response.message.blocks.empty()) response.message.blocks.push_back(Block::of_text({}));
  if (!session_.run_prompt_) {
    assistant_seq_ = session_.next_seq();
    // Moved there and back: an answer may have the memory of a file.
    MessageRecord record{std::move(response.message), response.stop_reason, {}, {}, sent_origin()};
    session_.add(write_message(record));
    response.message = std::move(record.message);
  }
  if (response.usage) {
    session_.shared_.count_usage(*response.usage);
    // What a summary cost says nothing about the view.
    session_.add(write_usage(
        session_.run_prompt_ ? UsageRecord{*response.usage, 0, "summary"}
                             : session_.usage_of_turn(*response.usage, assistant_seq_, sent_model_, sent_estimate_)));
  }
  if (tools) {
    auto input = inputs_.begin();
    for (const Block& block : response.message.blocks) {
      if (block.kind != BlockKind::kToolUse) continue;
      AGENTD_ASSERT(input != inputs_.end());
      if (auto done = run_call(block, *input++); !done) return done.error();
    }
    for (const PathRules& rules : std::exchange(session_.late_rules_, {})) {
      Message message = Message::of_text(Role::kUser, rules.text);
      message.flags = AGENTD_MESSAGE_CONTEXT;
      session_.add(write_message({message, StopReason::kEndTurn, {}, rules.file}));
    }
    for (const Outcome& late : session_.late_contexts_) session_.add_contexts(late);
    session_.late_contexts_.clear();
  }
  end_turn(response, !more);
  if (more)
    if (auto done = session_.commit(); !done) return done.error();
  if (auto runs = session_.check_stopped(); !runs) return runs.error();
  return more;
}

void Turn::end_turn(const ModelResponse& response, bool final_turn) {
  const Usage usage = response.usage.value_or(Usage{});
  if (session_.wants(AGENTD_EVENT_TURN_END)) {
    Rows rows;
    rows.append(response.message, assistant_seq_, parts_.clock.wall_ms());
    std::vector<agentd_block> calls;
    for (std::uint32_t i = 0; i < rows[0].blocks.count; ++i)
      if (blocks_of(rows[0])[i].kind == AGENTD_BLOCK_TOOL_USE) calls.push_back(blocks_of(rows[0])[i]);
    const agentd_usage abi_usage = to_abi(usage);
    agentd_turn payload{};
    payload.size = sizeof payload;
    payload.flags = final_turn ? AGENTD_TURN_FINAL : 0;
    payload.turn_number = session_.turn_;
    payload.stop_reason = static_cast<std::uint32_t>(response.stop_reason);
    const std::string text = response.message.text();
    payload.response = to_abi(text);
    payload.tool_calls = {calls.data(), static_cast<std::uint32_t>(calls.size()), sizeof(agentd_block)};
    payload.usage = &abi_usage;
    if (const auto outcome = session_.fire(AGENTD_EVENT_TURN_END, &payload)) session_.add_contexts(*outcome);
  }
  const Gauge gauge = session_.gauge();
  RunEvent told{RunEvent::Type::kTurnEnded};
  told.detail = name_of(response.stop_reason);
  told.usage = &usage;
  told.gauge = &gauge;
  session_.tell(told);
}

}  // namespace agentd
