// SPDX-License-Identifier: Apache-2.0
// rungs.cc - what a compaction can make of a view, from the first rung to the last: a hook's summary, old results
// shortened, the longest texts shortened, a summary, a marked cut.
#include <algorithm>
#include <utility>

#include "core/agent/compaction/compact.h"
#include "core/agent/loading.h"
#include "core/agent/summariser.h"
#include "core/base/bytes.h"

namespace agentd {
namespace {

using Over = std::optional<CompactionReport>;

Result<Over, RunError> over(Result<CompactionReport, RunError> done) {
  if (!done) return done.error();
  return Over(std::move(*done));
}

}  // namespace

// Each rung ends the attempt, or leaves it to the next one.
Result<CompactionReport, RunError> Compaction::carry_out() {
  static constexpr Result<Over, RunError> (Compaction::*kRungs[])() = {
      &Compaction::take_hook_summary, &Compaction::shorten_results, &Compaction::shorten_view};
  for (const auto rung : kRungs) {
    auto ended = (this->*rung)();
    if (!ended) return ended.error();
    if (*ended) return std::move(**ended);
  }
  return replace_by_summary();
}

Result<Over, RunError> Compaction::take_hook_summary() {
  if (is_blank(hook_summary_) || plan_.nothing_to_do()) return Over();
  return over(apply_summary(hook_summary_, AGENTD_METHOD_HOOK));
}

Result<Over, RunError> Compaction::shorten_results() {
  if (request_.must_succeed())
    if (auto pruned = prune()) return over(commit(std::move(*pruned)));
  return Over();
}

// There is almost nothing to summarise: the window is filled by kept messages.
Result<Over, RunError> Compaction::shorten_view() {
  if (!request_.must_succeed() || !wins_too_little()) return Over();
  if (auto squeezed = squeeze_view()) return over(commit(std::move(*squeezed)));
  return Over(
      finish(AGENTD_RESULT_FAILED, "nothing can be shortened (" + fillers() + ")", CompactionAttemptRecord::kFloor));
}

Result<CompactionReport, RunError> Compaction::replace_by_summary() {
  auto summary = summarise();
  if (summary) return apply_summary(*summary, method_);
  const bool cancelled = summary.error().code == Code::kCancelled || session_.shared.cancel().cancelled();
  const bool over_limit = summary.error().code == Code::kDenied;
  if (!request_.must_succeed() || cancelled || over_limit) {
    CompactionReport failed = finish(AGENTD_RESULT_FAILED, summary.error().message);
    if (cancelled) return RunError{RunError::Kind::kCancelled, summary.error().message};
    // An exhausted budget is no reason to cut the conversation: the run ends, and nothing is lost.
    if (over_limit) return RunError{RunError::Kind::kLimit, summary.error().message};
    return failed;
  }
  if (can_wait())
    return finish(AGENTD_RESULT_FAILED,
                  "no summary could be made now (" + summary.error().message +
                      "); the conversation is unchanged, and a later turn tries again",
                  CompactionAttemptRecord::kPutOff);
  return cut_or_fail(summary.error().message);
}

Result<std::string> Compaction::summarise() {
  AGENTD_TRY(const std::string prompt,
             parts_.prompts.compaction_prompt(session_.position.conversation_id, request_.instructions));
  auto summary = ask_summary(model_, prompt, plan_.split);
  const std::string& own = session_.options.model;
  if (summary || model_ == own || session_.shared.cancel().cancelled()) return summary;
  const bool other = summary.error().code == Code::kInvalid || summary.error().code == Code::kDenied;
  if (!other && !passes_) return summary;
  // The cheap model cannot be had, has no time or cannot hold it: the conversation's own may.
  session_.hooks.warn(model_ + " cannot summarise (" + summary.error().message + "); " + own + " does");
  model_ = own;
  return ask_summary(model_, prompt, plan_.split);
}

Result<std::string> Compaction::ask_summary(const std::string& model, const std::string& prompt, std::uint32_t rows) {
  AGENTD_TRY(const SummarySource source,
             load_summary_source(parts_.store, session_.position.conversation, session_.conversation().rows(),
                                 session_.conversation().origins(), rows, session_.agent.row_count()));
  SummaryRequest ask;
  ask.conversation_id = session_.position.conversation_id;
  ask.model = model;
  ask.prompt = prompt;
  ask.messages = source.messages();
  ask.origins = &source.origins;
  const std::vector<ToolSpec> tools = session_.context.tools_beside(source.messages());
  ask.tools = tools;
  const ModelInfo info = session_.agent.model_info(model);
  ask.max_summary_tokens = std::min(target().summary_max, info.max_output);
  if (model == session_.options.model) {
    ask.system = session_.context.system_text();
    ask.thinking = session_.agent.thinking_for(model, ask.max_summary_tokens, true);
  }
  ask.window = info.window;
  ask.scale = session_.agent.factors().of(model, session_.options.model);
  Summariser summariser(parts_, *session_.shared.account(), session_.shared.cancel(),
                        [this](std::string_view part) { tell_start(part); });
  auto summary = summariser.summarise(ask);
  method_ = summariser.method();
  passes_ = summariser.passes();
  cut_ = summariser.cut();
  spent_ += summariser.spent();
  session_.shared.charge(summariser.spent(), std::string(name_of(UsagePurpose::kSummary)));
  return summary;
}

// ---- what the rungs commit

// Old tool results shortened, when that is enough.
std::optional<Compaction::Draft> Compaction::prune() const {
  const Rows& rows = session_.conversation().rows();
  const Gauge gauge = session_.context.gauge();
  const CompactionTarget wanted = target();
  PrunePlan pruned = plan_prunes(rows, session_.conversation().state().prunes(), parts_.estimator);
  const std::uint64_t freed = gauge.scaled(pruned.freed);
  if (freed == 0 || wanted.used - std::min(wanted.used, freed) >= wanted.tokens) return std::nullopt;
  Draft draft = draft_of(AGENTD_METHOD_PRUNE);
  draft.kept = session_.conversation().state().ranges();
  draft.boundary.prunes = std::move(pruned.prunes);
  draft.kept_tokens = rows.tokens() - std::min(rows.tokens(), pruned.freed);
  return draft;
}

// Shortens what is kept until the view has no more than the wanted tokens; true when anything was.
bool Compaction::squeeze(Draft& draft, std::uint64_t tokens) const {
  const Gauge gauge = session_.context.gauge();
  const std::uint64_t wanted = target().tokens;
  if (tokens <= wanted) return false;
  PrunePlan squeezed = plan_squeeze(session_.conversation().rows(), draft.kept, draft.boundary.prunes,
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
  const Gauge gauge = session_.context.gauge();
  const std::uint64_t tokens =
      gauge.floor + gauge.scaled(plan_.kept_tokens + parts_.estimator.count_text(draft.summary));
  // The kept messages alone do not fit, and the next request must fit.
  if (may_squeeze && tokens > target().limit && squeeze(draft, tokens))
    draft.degraded =
        "the kept messages and the summary do not fit the window: the longest texts are shortened in the view, the log "
        "keeps them complete";
  return draft;
}

std::uint64_t Compaction::tokens_of(const Draft& draft) const {
  const Gauge gauge = session_.context.gauge();
  return gauge.floor + gauge.scaled(draft.kept_tokens + parts_.estimator.count_text(draft.summary));
}

// No summary could be had, and the next request must fit: what is cut is marked, and the log keeps it.
std::optional<Compaction::Draft> Compaction::cut(const std::string& why) {
  const Truncation cut =
      plan_truncation(session_.conversation().rows(), session_.conversation().state().ranges(), plan_);
  Draft draft = draft_of(AGENTD_METHOD_TRUNCATE);
  author_ = kCutAuthor;
  draft.boundary.author.clear();
  draft.boundary.result = result_name(AGENTD_RESULT_DEGRADED);
  draft.kept = cut.kept;
  draft.kept_tokens = cut.kept_tokens;
  draft.summary = cut.marker;
  draft.told = cut.marker;
  draft.degraded =
      "no summary could be made (" + why + "): older messages are dropped from the view, the log keeps them";
  const std::uint64_t tokens = tokens_of(draft);
  if (tokens > target().limit) squeeze(draft, tokens);
  if (tokens_of(draft) >= pre_tokens_) return std::nullopt;
  return draft;
}

// Nothing can be summarised, and the view does not fit: its longest texts are shortened.
std::optional<Compaction::Draft> Compaction::squeeze_view() const {
  const Rows& rows = session_.conversation().rows();
  Draft draft = draft_of(AGENTD_METHOD_TRUNCATE);
  draft.kept = session_.conversation().state().ranges();
  draft.kept_tokens = rows.tokens();
  if (!squeeze(draft, target().used)) return std::nullopt;
  draft.degraded = "the longest texts of the view are shortened, the log keeps them complete";
  return draft;
}

}  // namespace agentd
