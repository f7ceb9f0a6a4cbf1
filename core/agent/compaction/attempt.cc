// SPDX-License-Identifier: Apache-2.0
// attempt.cc - what surrounds the rungs of a compaction: hooks before, and what its summary is held to.
#include <utility>

#include "core/agent/compaction/compact.h"
#include "core/agent/summariser.h"
#include "core/base/bytes.h"

namespace agentd {

void Compaction::tell_start(std::string_view detail) { session_.surface.tell(told::Status{"compacting", detail}); }

Result<CompactionReport, RunError> Compaction::attempt() {
  if (auto begun = begin(); !begun) return begun.error();
  const Gauge gauge = session_.context.gauge();
  const bool must_shrink = request_.must_succeed() && target().used > target().limit;
  const bool floor = request_.must_succeed() && !must_shrink && wins_too_little() &&
                     (!plan_.nothing_to_do() || gauge.floor >= target().tokens);
  if (floor)
    return finish(AGENTD_RESULT_FAILED,
                  "compacting would not help: the part that cannot be removed takes " +
                      with_commas(gauge.floor + gauge.scaled(plan_.kept_tokens)) + " of " + with_commas(gauge.limit) +
                      " tokens (" + fillers() + ")",
                  CompactionAttemptRecord::kFloor);
  if (plan_.nothing_to_do() && !must_shrink) return finish(AGENTD_RESULT_NOOP, nothing_text());
  if (auto usable = check_prompt(); !usable) {
    finish(AGENTD_RESULT_FAILED, usable.error().message);
    return RunError{RunError::Kind::kFailure,
                    "the conversation was not compacted; it is unchanged: " + usable.error().message};
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
  if (session_.shared.cancel().cancelled()) {
    finish(AGENTD_RESULT_FAILED, "interrupted");
    return interrupted();
  }
  if (vetoed) return Over(finish(AGENTD_RESULT_VETOED, author_ + (reason_.empty() ? std::string() : ": " + reason_)));
  // Hooks may have changed model, strategy and instructions.
  plan();
  payload_ = payload_of(plan_);
  tell_start();
  if (replacement_.empty()) return Over();
  auto placed = put_in_place(replacement_[0], session_.conversation().revision());
  if (!placed) return placed.error();
  if (placed->report) return Over(std::move(placed->report));
  session_.hooks.report_refusal(author_, AGENTD_EVENT_BEFORE_COMPACTION, placed->refusal);
  author_.clear();
  return Over();
}

// Trouble that passes is waited for as long as there is room: a cut is for what will not pass, or
// when the next request could not be sent otherwise.
bool Compaction::can_wait() const {
  const CompactionTarget now = target();
  return passes_ && !forced_ && request_.refused_tokens == 0 && now.used <= now.limit;
}

// A summary that is longer than the messages that it replaces frees no room.
Result<CompactionReport, RunError> Compaction::apply_summary(const std::string& text, std::uint32_t method) {
  const bool must = request_.must_succeed();
  const bool cut = cut_ && method != AGENTD_METHOD_HOOK;
  if (cut && !must) return finish(AGENTD_RESULT_FAILED, cut_summary_text(target().summary_max));
  Draft draft = summary_draft(text, method, must);
  if (cut) {
    draft.boundary.result = result_name(AGENTD_RESULT_DEGRADED);
    draft.degraded = cut_summary_text(target().summary_max) + ". The missing part is not in the view, but in the log" +
                     (draft.degraded.empty() ? "" : "; " + draft.degraded);
  }
  const std::uint64_t tokens = tokens_of(draft);
  const std::uint64_t limit = target().limit;
  if (limit == 0 || tokens <= limit || tokens < pre_tokens_) return commit(std::move(draft));
  const std::string why = "the summary is longer than the text it replaces: " + with_commas(pre_tokens_) +
                          " tokens would become " + with_commas(tokens);
  return must ? cut_or_fail(why) : finish(AGENTD_RESULT_FAILED, why);
}

Result<CompactionReport, RunError> Compaction::cut_or_fail(const std::string& why) {
  auto draft = cut(why);
  if (draft) return commit(std::move(*draft));
  return finish(AGENTD_RESULT_FAILED,
                "no summary could be made (" + why + "), and nothing can be dropped (" + fillers() + ")",
                CompactionAttemptRecord::kStuck);
}

// Somebody who asks for a compaction wants it in the words of their own recipe; a context that is
// full cannot wait for them.
Result<void> Compaction::check_prompt() {
  auto usable = parts_.prompts.check_compaction_prompt();
  if (usable || request_.trigger == AGENTD_TRIGGER_MANUAL) return usable;
  if (!std::exchange(session_.notes.told_prompt, true))
    session_.hooks.warn("your compact recipe cannot be used (" + usable.error().message +
                        "); the built-in one is used instead");
  return {};
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
    session_.hooks.warn(
        "a recipe that writes the summary replaces the complete history: strategy and keep_tokens set by hooks are "
        "ignored");
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
  auto summary = ask_summary(model_, std::string(prompt), session_.conversation().rows().size());
  if (summary && cut_) return Error{Code::kUnavailable, cut_summary_text(target().summary_max)};
  return summary;
}

Result<CompactionReport, RunError> Compaction::close_run(std::string_view summary, std::string_view author) {
  if (auto done = session_.log.commit_behind(); !done) {
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
