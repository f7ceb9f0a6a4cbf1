// SPDX-License-Identifier: Apache-2.0
// compact.cc - the attempt: what is planned, what hooks say, which rung brings it about.
#include "core/agent/compaction/compact.h"

#include <algorithm>
#include <map>

#include "core/agent/loading.h"
#include "core/agent/summariser.h"
#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr std::uint32_t kVetoesMax = 3;
constexpr std::size_t kFillersNamed = 4;

std::string name_of_row(const agentd_message& row) {
  const std::string number = "message " + std::to_string(row.seq);
  for (std::uint32_t i = 0; i < row.blocks.count; ++i)
    if (blocks_of(row)[i].kind == AGENTD_BLOCK_TOOL_RESULT) {
      const std::string_view tool = view_of(blocks_of(row)[i].name);
      return number + (tool.empty() ? " (a tool's result)" : " (result of " + std::string(tool) + ")");
    }
  if (row.role == AGENTD_ROLE_SUMMARY) return number + " (the last summary)";
  return number + (row.role == AGENTD_ROLE_USER ? " (of the user)" : " (of the model)");
}

}  // namespace

Compaction::Compaction(SessionImpl& session, CompactionRequest request)
    : session_(session), parts_(session.parts_), request_(std::move(request)) {
  if (request_.max_summary_tokens == 0)
    request_.max_summary_tokens = static_cast<std::uint32_t>(session_.options_.summary_tokens);
}

// ---- planning

Result<void, RunError> Compaction::begin() {
  started_ns_ = parts_.clock.monotonic_ns();
  if (auto done = session_.commit_behind(); !done) {
    finish(AGENTD_RESULT_FAILED, done.error().message);
    return done.error();
  }
  const Gauge gauge = session_.gauge();
  pre_tokens_ = gauge.used;
  forced_ = gauge.force_at != 0 && gauge.used >= gauge.force_at;
  messages_before_ = session_.shared_.conversation().rows().size();
  before_ = session_.shared_.conversation().usage();
  plan();
  return {};
}

void Compaction::plan() {
  plan_ = plan_compaction(session_.shared_.conversation().rows(), session_.shared_.conversation().state().ranges(),
                          request_, session_.gauge(), session_.options_.budget);
  instructions_ = join(request_.instructions, "\n");
  model_ = session_.resources_.summary_model(request_.model, session_.options_);
}

CompactionTarget Compaction::target() const { return target_of(request_, session_.gauge(), session_.options_.budget); }

// What stays leaves too little to be won: a summary would be asked for at every turn. Past the force line
// little is worth having.
bool Compaction::wins_too_little() const {
  const CompactionTarget wanted = target();
  if (plan_.nothing_to_do()) return true;
  if (plan_.expected_tokens <= wanted.tokens) return false;
  const std::uint64_t won = wanted.used - std::min(wanted.used, plan_.expected_tokens);
  return won < (forced_ ? wanted.limit / 50 : wanted.used / 10);
}

std::string Compaction::nothing_text() const {
  if (messages_before_ == 0) return "the conversation is empty";
  return request_.must_succeed() ? "everything fits into what is kept"
                                 : "there is nothing to summarise but the last summary";
}

// The largest things of the view, with their tokens.
std::string Compaction::fillers() const {
  const Gauge gauge = session_.gauge();
  std::vector<std::pair<std::uint64_t, std::string>> items;
  std::uint64_t tools = 0;
  for (const ToolSpec& tool : session_.tool_specs())
    tools += parts_.estimator.count_text(tool.name + tool.description + tool.input_schema_json);
  const std::uint64_t floor = session_.floor_tokens();
  items.emplace_back(gauge.scaled(floor - std::min(floor, tools)), "the system prompt");
  if (const std::uint64_t hidden = session_.shared_.conversation().hidden_tokens(); hidden != 0)
    items.emplace_back(hidden, "what the provider counts beyond that");
  if (tools != 0) items.emplace_back(gauge.scaled(tools), std::to_string(session_.tool_specs().size()) + " tools");
  for (const agentd_message& row : session_.shared_.conversation().rows())
    items.emplace_back(gauge.scaled(row.tokens), name_of_row(row));
  const std::size_t named = std::min(kFillersNamed, items.size());
  std::partial_sort(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(named), items.end(),
                    [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out;
  for (std::size_t i = 0; i < named; ++i)
    out += (i == 0 ? "" : ", ") + items[i].second + " " + with_commas(items[i].first);
  return out;
}

CompactionReport Compaction::plan_only() {
  const Rows& rows = session_.shared_.conversation().rows();
  plan();
  CompactionReport report;
  messages_before_ = rows.size();
  report.outcome = plan_.nothing_to_do() ? AGENTD_RESULT_NOOP : AGENTD_RESULT_APPLIED;
  report.messages_before = rows.size();
  report.messages_after = rows.size() - plan_.split + (plan_.nothing_to_do() ? 0 : 1);
  report.pre_tokens = report.post_tokens = session_.gauge().used;
  report.text = "nothing to do: " + nothing_text();
  if (plan_.nothing_to_do()) return report;
  report.post_tokens = plan_.expected_tokens;
  report.text = "would summarise " + std::to_string(plan_.split) + " of " + std::to_string(rows.size()) +
                " messages (" + with_commas(plan_.summarized_tokens) + " tokens, strategy " +
                std::string(strategy_name(plan_.strategy)) + ") and keep " + std::to_string(rows.size() - plan_.split) +
                " (" + with_commas(plan_.kept_tokens) + " tokens)";
  return report;
}

// ---- hooks

agentd_before_compaction Compaction::payload_of(const CompactionPlan& plan) {
  const Gauge gauge = session_.gauge();
  gauge_ = to_abi(gauge);
  agentd_before_compaction out{};
  out.size = sizeof out;
  out.trigger = static_cast<std::uint16_t>(request_.trigger);
  out.reason = static_cast<std::uint16_t>(request_.reason);
  out.phase = static_cast<std::uint16_t>(request_.phase);
  out.strategy = static_cast<std::uint16_t>(plan.strategy);
  out.vetoes = session_.shared_.conversation().compaction_history().vetoes;
  out.tokens = gauge.used;
  out.limit = gauge.limit;
  out.keep_tokens = plan.kept_tokens;
  out.floor_tokens = gauge.floor;
  out.summarized_first = plan.summarized_first;
  out.summarized_last = plan.summarized_last;
  out.kept_first = plan.kept_first;
  out.kept_last = plan.kept_last;
  return out;
}

// The texts are lent anew to each event: what they are may change on the way.
const agentd_before_compaction& Compaction::lend_payload() {
  payload_.model = to_abi(model_);
  payload_.custom_instructions = to_abi(instructions_);
  payload_.context = &gauge_;
  return payload_;
}

bool Compaction::is_final(const Outcome& outcome) const {
  const auto& names = session_.options_.final_hooks;
  return names.count(outcome.blocked_by.hook) != 0 || names.count(outcome.blocked_by.plugin) != 0;
}

// Asks the hooks; true when they refuse. What they set goes into the request.
bool Compaction::vetoed() {
  payload_ = payload_of(plan_);
  if (!session_.wants(AGENTD_EVENT_BEFORE_COMPACTION)) return false;
  agentd_before_compaction bare = lend_payload();
  const Rows pinned = session_.shared_.conversation().pin();
  payload_.messages = pinned.list();
  const auto outcome = session_.fire(AGENTD_EVENT_BEFORE_COMPACTION, &payload_, &bare);
  payload_.messages = {nullptr, 0, sizeof(agentd_message)};
  if (!outcome) return false;
  // Past the force line the third veto in a row is one too many.
  const bool overruled = forced_ && request_.automatic() && request_.phase != AGENTD_PHASE_OVERFLOW &&
                         payload_.vetoes + 1 >= kVetoesMax && !is_final(*outcome);
  if (outcome->blocked && !overruled) {
    author_ = outcome->blocked_by.hook;
    reason_ = outcome->reason;
    return true;
  }
  if (outcome->blocked)
    session_.warn("the window is nearly full: the veto of " + outcome->blocked_by.hook + " no longer counts (hooks." +
                  outcome->blocked_by.hook + ".authority: final would make it)");
  take_settings(*outcome);
  return false;
}

void Compaction::take_settings(const Outcome& outcome) {
  for (const Outcome::Attributed& set : outcome.sets) {
    if (set.action.target == AGENTD_KEY_CUSTOM_INSTRUCTIONS) request_.instructions.push_back(set.action.text);
    if (set.action.target == AGENTD_KEY_STRATEGY) request_.strategy = static_cast<std::uint32_t>(set.action.number);
    if (set.action.target == AGENTD_KEY_KEEP_TOKENS) request_.keep_tokens = set.action.number;
    if (set.action.target == AGENTD_KEY_MODEL) request_.model = set.action.text;
  }
  const Action* const action = outcome.exclusive_action();
  if (action == nullptr) return;
  author_ = outcome.exclusive[0].by.hook;
  if (action->kind == AGENTD_ACT_SUMMARY) hook_summary_ = action->text;
  if (action->kind == AGENTD_ACT_REPLACE_MESSAGES) replacement_ = outcome.exclusive;
}

// ---- the attempt

void Compaction::tell_start(std::string_view detail) {
  RunEvent told{RunEvent::Type::kStatus};
  told.text = "compacting";
  told.detail = detail;
  session_.tell(told);
}

Result<CompactionReport, RunError> Compaction::attempt() {
  if (auto begun = begin(); !begun) return begun.error();
  const Gauge gauge = session_.gauge();
  const bool must_shrink = request_.must_succeed() && target().used > target().limit;
  const bool floor = request_.must_succeed() && !must_shrink && wins_too_little() &&
                     (!plan_.nothing_to_do() || gauge.floor >= target().tokens);
  if (floor)
    return finish(AGENTD_RESULT_FAILED,
                  "a compaction would win too little: what it cannot remove fills " +
                      with_commas(gauge.floor + gauge.scaled(plan_.kept_tokens)) + " of " + with_commas(gauge.limit) +
                      " tokens (" + fillers() + ")",
                  CompactionAttemptRecord::kFloor);
  if (plan_.nothing_to_do() && !must_shrink) return finish(AGENTD_RESULT_NOOP, nothing_text());
  if (auto usable = check_prompt(); !usable) {
    finish(AGENTD_RESULT_FAILED, usable.error().message);
    return RunError{RunError::Kind::kFailure,
                    "the conversation was not compacted, it is as it was: " + usable.error().message};
  }
  auto over = prepare();
  if (!over) return over.error();
  if (*over) return std::move(**over);
  return carry_out();
}

// Asks the hooks and tells that it begins. A report when it is over already: refused, or replaced.
Result<std::optional<CompactionReport>, RunError> Compaction::prepare() {
  using Over = std::optional<CompactionReport>;
  const bool vetoed = this->vetoed();
  if (session_.shared_.cancel().cancelled()) {
    finish(AGENTD_RESULT_FAILED, "it was interrupted");
    return interrupted();
  }
  if (vetoed) return Over(finish(AGENTD_RESULT_VETOED, author_ + (reason_.empty() ? std::string() : ": " + reason_)));
  // Hooks may have changed model, strategy and instructions.
  plan();
  payload_ = payload_of(plan_);
  tell_start();
  if (replacement_.empty()) return Over();
  auto placed = put_in_place(replacement_[0], session_.shared_.conversation().revision());
  if (!placed) return placed.error();
  if (*placed) return Over(std::move(**placed));
  session_.report_refusal(author_, AGENTD_EVENT_BEFORE_COMPACTION, placed->error().message);
  author_.clear();
  return Over();
}

Result<CompactionReport, RunError> Compaction::carry_out() {
  const bool must = request_.must_succeed();
  if (!is_blank(hook_summary_) && !plan_.nothing_to_do()) return apply_summary(hook_summary_, AGENTD_METHOD_HOOK);
  if (must)
    if (auto pruned = prune()) return commit(std::move(*pruned));
  // What is to be summarised is next to nothing: the messages that fill the window are those that stay.
  if (must && wins_too_little()) {
    if (auto squeezed = squeeze_view()) return commit(std::move(*squeezed));
    return finish(AGENTD_RESULT_FAILED, "there is nothing left to shorten (" + fillers() + ")",
                  CompactionAttemptRecord::kFloor);
  }
  auto summary = summarise();
  if (summary) return apply_summary(*summary, method_);
  const bool cancelled = summary.error().code == Code::kCancelled || session_.shared_.cancel().cancelled();
  const bool over_limit = summary.error().code == Code::kDenied;
  if (!must || cancelled || over_limit) {
    CompactionReport failed = finish(AGENTD_RESULT_FAILED, summary.error().message);
    if (cancelled) return RunError{RunError::Kind::kCancelled, summary.error().message};
    // What is not paid for is no reason to cut the conversation: the run ends, and loses nothing.
    if (over_limit) return RunError{RunError::Kind::kLimit, summary.error().message};
    return failed;
  }
  if (can_wait())
    return finish(AGENTD_RESULT_FAILED,
                  "no summary could be made now (" + summary.error().message +
                      "): the conversation stays as it is, and a later turn tries again",
                  CompactionAttemptRecord::kPutOff);
  return cut_or_fail(summary.error().message);
}

// Trouble that passes is waited for as long as there is room: a cut is for what will not pass, or
// when the next request could not be sent otherwise.
bool Compaction::can_wait() const {
  const CompactionTarget now = target();
  return passes_ && !forced_ && request_.refused_tokens == 0 && now.used <= now.limit;
}

// A summary that is longer than what it stands for helps nobody who must have room.
Result<CompactionReport, RunError> Compaction::apply_summary(const std::string& text, std::uint32_t method) {
  const bool must = request_.must_succeed();
  const bool cut = cut_ && method != AGENTD_METHOD_HOOK;
  if (cut && !must) return finish(AGENTD_RESULT_FAILED, cut_summary_text(target().summary_max));
  Draft draft = summary_draft(text, method, must);
  if (cut) {
    draft.boundary.result = result_name(AGENTD_RESULT_DEGRADED);
    draft.degraded = cut_summary_text(target().summary_max) +
                     ". What it no longer says is missing in the view, the log keeps it" +
                     (draft.degraded.empty() ? "" : "; " + draft.degraded);
  }
  const std::uint64_t tokens = tokens_of(draft);
  const std::uint64_t limit = target().limit;
  if (limit == 0 || tokens <= limit || tokens < pre_tokens_) return commit(std::move(draft));
  const std::string why = "the summary is longer than what it stands for: " + with_commas(pre_tokens_) +
                          " tokens would become " + with_commas(tokens);
  return must ? cut_or_fail(why) : finish(AGENTD_RESULT_FAILED, why);
}

Result<CompactionReport, RunError> Compaction::cut_or_fail(const std::string& why) {
  auto draft = cut(why);
  if (draft) return commit(std::move(*draft));
  return finish(AGENTD_RESULT_FAILED,
                "no summary could be made (" + why + "), and there is nothing to leave out (" + fillers() + ")",
                CompactionAttemptRecord::kStuck);
}

// Somebody who asks for a compaction wants it in the words of their own recipe; a context that is
// full cannot wait for them.
Result<void> Compaction::check_prompt() {
  auto usable = parts_.prompts.check_compaction_prompt();
  if (usable || request_.trigger == AGENTD_TRIGGER_MANUAL) return usable;
  if (session_.told_problems_.insert("compact recipe").second)
    session_.warn("your compact recipe cannot be used (" + usable.error().message +
                  "): the built-in one takes its place");
  return {};
}

Result<std::string> Compaction::summarise() {
  AGENTD_TRY(const std::string prompt,
             parts_.prompts.compaction_prompt(session_.conversation_id(), request_.instructions));
  auto summary = ask_summary(model_, prompt, plan_.split);
  const std::string& own = session_.options_.model;
  if (summary || model_ == own || session_.shared_.cancel().cancelled()) return summary;
  const bool other = summary.error().code == Code::kInvalid || summary.error().code == Code::kDenied;
  if (!other && !passes_) return summary;
  // The cheap model cannot be had, has no time or cannot hold it: the conversation's own may.
  session_.warn(model_ + " cannot summarise (" + summary.error().message + "); " + own + " does");
  model_ = own;
  return ask_summary(model_, prompt, plan_.split);
}

Result<std::string> Compaction::ask_summary(const std::string& model, const std::string& prompt, std::uint32_t rows) {
  AGENTD_TRY(const SummarySource source,
             load_summary_source(parts_.store, session_.id_, session_.shared_.conversation().rows(),
                                 session_.shared_.conversation().origins(), rows, session_.resources_.row_count()));
  SummaryRequest ask;
  ask.conversation_id = session_.conversation_id();
  ask.model = model;
  ask.prompt = prompt;
  ask.messages = source.messages();
  ask.origins = &source.origins;
  const std::vector<ToolSpec> tools = session_.tools_beside(source.messages());
  ask.tools = tools;
  const ModelInfo info = session_.resources_.model_info(model);
  ask.max_summary_tokens = std::min(target().summary_max, info.max_output);
  if (model == session_.options_.model) {
    ask.system = session_.system_text();
    ask.thinking = session_.resources_.thinking_for(model, ask.max_summary_tokens, true);
  }
  ask.window = info.window;
  ask.scale = session_.resources_.factors().of(model, session_.options_.model);
  Summariser summariser(parts_, *session_.shared_.account(), session_.shared_.cancel(),
                        [this](std::string_view part) { tell_start(part); });
  auto summary = summariser.summarise(ask);
  method_ = summariser.method();
  passes_ = summariser.passes();
  cut_ = summariser.cut();
  spent_ += summariser.spent();
  session_.shared_.charge(summariser.spent(), "summary");
  return summary;
}

// ---- the rungs

// Old tool results shortened, when that is enough.
std::optional<Compaction::Draft> Compaction::prune() const {
  const Rows& rows = session_.shared_.conversation().rows();
  const Gauge gauge = session_.gauge();
  const CompactionTarget wanted = target();
  PrunePlan pruned = plan_prunes(rows, session_.shared_.conversation().state().prunes(), parts_.estimator);
  const std::uint64_t freed = gauge.scaled(pruned.freed);
  if (freed == 0 || wanted.used - std::min(wanted.used, freed) >= wanted.tokens) return std::nullopt;
  Draft draft = draft_of(AGENTD_METHOD_PRUNE);
  draft.kept = session_.shared_.conversation().state().ranges();
  draft.boundary.prunes = std::move(pruned.prunes);
  draft.kept_tokens = rows.tokens() - std::min(rows.tokens(), pruned.freed);
  return draft;
}

// Shortens what is kept until the view has no more than the wanted tokens; true when anything was.
bool Compaction::squeeze(Draft& draft, std::uint64_t tokens) const {
  const Gauge gauge = session_.gauge();
  const std::uint64_t wanted = target().tokens;
  if (tokens <= wanted) return false;
  PrunePlan squeezed = plan_squeeze(session_.shared_.conversation().rows(), draft.kept, draft.boundary.prunes,
                                    gauge.unscaled(tokens - wanted), parts_.estimator);
  if (squeezed.freed == 0) return false;
  draft.boundary.prunes = std::move(squeezed.prunes);
  draft.kept_tokens -= std::min(draft.kept_tokens, squeezed.freed);
  draft.boundary.result = result_name(AGENTD_RESULT_DEGRADED);
  return true;
}

Compaction::Draft Compaction::summary_draft(const std::string& text, std::uint32_t method, bool may_squeeze) {
  Draft draft = draft_of(method);
  if (method != AGENTD_METHOD_HOOK) draft.boundary.model = model_;
  draft.kept = plan_.kept;
  draft.kept_tokens = plan_.kept_tokens;
  draft.summary = render_summary(text);
  draft.told = text;
  const Gauge gauge = session_.gauge();
  const std::uint64_t tokens =
      gauge.floor + gauge.scaled(plan_.kept_tokens + parts_.estimator.count_text(draft.summary));
  // What is kept is more than fits by itself, and the next request must fit.
  if (may_squeeze && tokens > target().limit && squeeze(draft, tokens))
    draft.degraded =
        "what stays does not fit the window beside the summary: its longest texts are "
        "shortened in the view, the log keeps them whole";
  return draft;
}

std::uint64_t Compaction::tokens_of(const Draft& draft) const {
  const Gauge gauge = session_.gauge();
  return gauge.floor + gauge.scaled(draft.kept_tokens + parts_.estimator.count_text(draft.summary));
}

// No summary could be had, and the next request must fit: what is cut is marked, and the log keeps it.
std::optional<Compaction::Draft> Compaction::cut(const std::string& why) {
  const Truncation cut =
      plan_truncation(session_.shared_.conversation().rows(), session_.shared_.conversation().state().ranges(), plan_);
  Draft draft = draft_of(AGENTD_METHOD_TRUNCATE);
  author_ = kCutAuthor;
  draft.boundary.author.clear();
  draft.boundary.result = result_name(AGENTD_RESULT_DEGRADED);
  draft.kept = cut.kept;
  draft.kept_tokens = cut.kept_tokens;
  draft.summary = cut.marker;
  draft.told = cut.marker;
  draft.degraded =
      "no summary could be made (" + why + "): older messages are left out of the view, the log keeps them";
  const std::uint64_t tokens = tokens_of(draft);
  if (tokens > target().limit) squeeze(draft, tokens);
  if (tokens_of(draft) >= pre_tokens_) return std::nullopt;
  return draft;
}

// Nothing can be summarised, and the view does not fit: its longest texts are shortened.
std::optional<Compaction::Draft> Compaction::squeeze_view() const {
  const Rows& rows = session_.shared_.conversation().rows();
  Draft draft = draft_of(AGENTD_METHOD_TRUNCATE);
  draft.kept = session_.shared_.conversation().state().ranges();
  draft.kept_tokens = rows.tokens();
  if (!squeeze(draft, target().used)) return std::nullopt;
  draft.degraded = "the longest texts of the view are shortened, the log keeps them whole";
  return draft;
}

// ---- a run that writes the summary itself

Result<std::optional<CompactionReport>, RunError> Compaction::open_run() {
  using Over = std::optional<CompactionReport>;
  if (auto begun = begin(); !begun) return begun.error();
  if (plan_.nothing_to_do()) return Over(finish(AGENTD_RESULT_NOOP, nothing_text()));
  auto over = prepare();
  if (!over || *over) return over;
  // The run sends the whole view, and its answer takes the place of all of it.
  if (request_.strategy != AGENTD_STRATEGY_FULL || request_.keep_tokens != 0)
    session_.warn(
        "a recipe that writes the summary replaces the whole history: what hooks set of "
        "strategy and keep_tokens does not count");
  request_.strategy = AGENTD_STRATEGY_FULL;
  request_.keep_tokens = 0;
  plan();
  payload_ = payload_of(plan_);
  if (is_blank(hook_summary_)) return Over();
  auto done = apply_summary(hook_summary_, AGENTD_METHOD_HOOK);
  if (!done) return done.error();
  return Over(std::move(*done));
}

Result<std::string> Compaction::summarise_instead(std::string_view prompt) {
  auto summary = ask_summary(model_, std::string(prompt), session_.shared_.conversation().rows().size());
  if (summary && cut_) return Error{Code::kUnavailable, cut_summary_text(target().summary_max)};
  return summary;
}

Result<CompactionReport, RunError> Compaction::close_run(std::string_view summary, std::string_view author) {
  if (auto done = session_.commit_behind(); !done) {
    finish(AGENTD_RESULT_FAILED, done.error().message);
    return done.error();
  }
  plan();
  payload_ = payload_of(plan_);
  author_ = std::string(author);
  Draft draft = draft_of(method_);
  draft.boundary.model = model_;
  draft.summary = render_summary(summary);
  draft.told = std::string(summary);
  return commit(std::move(draft));
}

}  // namespace agentd
