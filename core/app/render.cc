// SPDX-License-Identifier: Apache-2.0
#include "core/app/render.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/app/table.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/conversation/answer_effect.h"

namespace agentd::app {
namespace {

constexpr std::size_t kEventLineBytes = 240;
constexpr std::size_t kPieceBytes = 64 << 10;
constexpr std::size_t kWarningBytes = 2000;  // agentd's own sentences end with what to do
constexpr std::size_t kCallBytes = 100;
constexpr std::size_t kTimeColumns = 12;  // " · 12345 s"
constexpr std::string_view kDim = "2", kYellow = "33", kCyan = "36";

std::string percent_text(std::uint64_t tokens, std::uint64_t limit) {
  if (limit == 0) return with_commas(tokens) + " tokens";
  return with_commas(tokens) + " tokens, " + std::to_string((tokens * 100 + limit / 2) / limit) + " %";
}

// As in a permission question, which may follow the line.
std::string visible_line(std::string_view text) {
  const std::string_view prefix = utf8_prefix(text, kCallBytes);
  std::string out = visible(prefix);
  for (char& c : out)
    if (c == '\n' || c == '\t') c = ' ';
  return prefix.size() < text.size() ? out + "…" : out;
}

std::string line_of(std::string_view text) { return neutral_line(text, kEventLineBytes); }

std::string failure_text(const told::HookFailed& event) {
  return "hook " + line_of(event.hook) + " failed at " + line_of(event.event) + ": " + line_of(event.why);
}

std::string waiting_text(const told::Waiting& event) {
  return line_of(event.name) + " waits for your answer" +
         (event.hook.empty() ? "" : ", as the hook " + line_of(event.hook) + " demands") +
         (event.reason.empty() ? "" : ": " + line_of(event.reason)) + "; answer until " + iso_time(event.until_ms) +
         " with: agentd approve " + line_of(event.wait_id);
}

// A subagent's tools, warnings and compactions are shown; its text goes to the calling agent, since standard
// output has only the answer to the user.
bool is_shown_of_subagents(RunEvent::Type type) {
  switch (type) {
    case RunEvent::Type::kWaiting:
      return true;
    case RunEvent::Type::kRunStarted:
    case RunEvent::Type::kUserMessage:
    case RunEvent::Type::kTextDelta:
    case RunEvent::Type::kThinkingDelta:
    case RunEvent::Type::kAnswerAgain:
    case RunEvent::Type::kPlan:
    case RunEvent::Type::kTurnEnded:
    case RunEvent::Type::kError:
    case RunEvent::Type::kRunEnded:
      return false;
    case RunEvent::Type::kTurnStarted:
    case RunEvent::Type::kToolCall:
    case RunEvent::Type::kToolResult:
    case RunEvent::Type::kHookAnswer:
    case RunEvent::Type::kHookConflict:
    case RunEvent::Type::kHookFailure:
    case RunEvent::Type::kStatus:
    case RunEvent::Type::kCompactBoundary:
    case RunEvent::Type::kCompactionOutcome:
    case RunEvent::Type::kCompactionUndone:
    case RunEvent::Type::kNotice:
    case RunEvent::Type::kWarning:
      return true;
  }
  return true;
}

}  // namespace

std::string call_summary(std::string_view input_json) {
  const Result<JsonDocument> document = JsonDocument::parse(input_json);
  if (document && document->root().is_object()) {
    for (const char* key : {"command", "pattern", "query", "path", "file_path", "url", "description"}) {
      const JsonView value = document->root()[key];
      if (value.is_string()) return visible_line(value.string_or({}));
    }
  }
  return visible_line(input_json);
}

void WaitingText::add(std::string_view text) {
  if (text.empty()) return;
  if (pieces_.empty() || pieces_.back().size() + text.size() > kPieceBytes)
    pieces_.emplace_back().reserve(std::max(kPieceBytes, text.size()));
  pieces_.back() += text;
}

void WaitingText::print(Output& out) {
  for (; !pieces_.empty(); pieces_.pop_front()) out.print(pieces_.front());
}

TerminalRenderer::TerminalRenderer(Output& out, Output& err, bool trace_hooks)
    : out_(out), err_(err), trace_hooks_(trace_hooks), progress_(err) {}

void TerminalRenderer::end_lines() {
  progress_.stop();
  if (!open_call_.empty()) {
    open_call_.clear();
    err_.fresh_line();
  }
  if (out_.tty()) out_.print(answer_.finish());
  out_.fresh_line();
  out_.flush();
}

void TerminalRenderer::finish_answer() {
  if (out_.tty()) return;
  waiting_.add(answer_.finish());
  if (waiting_.empty()) return;
  waiting_.print(out_);
  half_.clear();
}

void TerminalRenderer::settle() {
  finish_answer();
  end_lines();
  err_.flush();
}

void TerminalRenderer::resume() {
  if (!running_) return;
  running_->since = std::chrono::steady_clock::now();
  progress_.wait_for(running_->name, running_->since);
}

void TerminalRenderer::note(std::string_view sgr, std::string_view line) {
  end_lines();
  err_.line(err_.styled(sgr, line));
  err_.flush();
  if (running_) progress_.wait_for(running_->name, running_->since);
}

// ---- what each event looks like

void TerminalRenderer::show(const told::RunStarted&, std::uint32_t) { in_run_ = true; }

void TerminalRenderer::show(const told::TurnStarted&, std::uint32_t) { progress_.wait_for("waiting for the model"); }

void TerminalRenderer::show(const told::TextDelta& event, std::uint32_t) {
  if (!out_.tty()) {
    waiting_.add(answer_.feed(event.text));
    return;
  }
  progress_.stop();
  if (!open_call_.empty()) end_lines();
  out_.print(answer_.feed(event.text));
  out_.flush();
}

void TerminalRenderer::show(const told::AnswerAgain& event, std::uint32_t) {
  if (!out_.tty()) {
    waiting_.add(answer_.finish());
    if (!waiting_.empty()) half_ = std::exchange(waiting_, {});
  }
  const std::string_view shown = out_.tty() ? ", and the part already shown is void" : "";
  note(kYellow, "note: " + line_of(event.why) + "; it is requested again" + std::string(shown));
}

void TerminalRenderer::show(const told::ToolCalled& event, std::uint32_t depth) {
  if (depth == 0) {
    finish_answer();
    half_.clear();
  }
  end_lines();
  const std::string indent(2 * depth, ' ');
  const std::string name = neutral_line(event.name, kCallBytes), call = call_summary(event.input);
  err_.print(indent + err_.styled(kCyan, "• " + name) + " " + call);
  // If the time does not fit after it, it is shown below.
  const std::size_t columns = err_.columns(), used = text_width(indent + "• " + name + " " + call) % columns;
  if (err_.tty() && columns - used < kTimeColumns) err_.print("\n" + indent + " ");
  err_.flush();
  open_call_ = std::string(event.call_id);
  calls_[open_call_] = call;
  running_ = {open_call_, name, std::chrono::steady_clock::now()};
  progress_.wait_for({}, running_->since);
}

void TerminalRenderer::show(const told::ToolEnded& event, std::uint32_t depth) {
  progress_.stop();
  if (running_ && running_->id == event.call_id) running_.reset();
  const bool same_line = !open_call_.empty() && open_call_ == event.call_id;
  const std::string call = std::move(calls_[std::string(event.call_id)]);
  calls_.erase(std::string(event.call_id));
  // The result of one of several simultaneous calls names its call again.
  if (!same_line) {
    end_lines();
    err_.print(std::string(2 * depth, ' ') + "• " + neutral_line(event.name, kCallBytes) + (call.empty() ? "" : " ") +
               call);
  }
  std::string line = " · " + std::string(name_of(event.status));
  if (event.duration_us != 0) line += " · " + duration_text(event.duration_us);  // it ran
  line += " · " + with_commas(event.content.size()) + " bytes";
  // A person needs the reason of the failure; the rest of the output is for the model.
  const std::string_view first = event.content.substr(0, event.content.find('\n'));
  if (!event.ok() && !first.empty()) line += " · " + neutral_line(first, kCallBytes);
  open_call_.clear();
  err_.line(err_.styled(event.ok() ? kDim : kYellow, line));
  err_.flush();
}

// The list whenever it is another one.
void TerminalRenderer::show(const told::PlanChanged& event, std::uint32_t) {
  using Status = PlanEntry::Status;
  std::string plan;
  for (const PlanEntry& entry : event.entries) {
    const char* const mark = entry.status == Status::kCompleted ? "  ✓ "
                             : entry.status == Status::kPending ? "  ○ "
                                                                : "  → ";
    const std::string line = mark + line_of(entry.content);
    plan += (plan.empty() ? "" : "\n") + (entry.status == Status::kInProgress ? err_.styled(kCyan, line) : line);
  }
  if (plan == plan_) return;
  plan_ = plan;
  note({}, plan.empty() ? "  (the plan is empty)" : plan);
}

void TerminalRenderer::show(const told::Waiting& event, std::uint32_t) {
  running_.reset();
  note(kYellow, waiting_text(event));
}

void TerminalRenderer::show(const told::TurnEnded&, std::uint32_t) {
  running_.reset();
  finish_answer();
  half_.clear();
  end_lines();
}

void TerminalRenderer::show(const told::HookAnswered& event, std::uint32_t) {
  if (!trace_hooks_) return;
  std::string line = "  hook " + neutral_line(event.hook, kCallBytes) + " · " + neutral_line(event.event, kCallBytes) +
                     " · " + (event.answer.empty() ? "no answer" : line_of(event.answer));
  if (!event.effect.empty() && event.effect != name_of(AnswerEffect::kNone))
    line += " (" + neutral_line(event.effect, kCallBytes) + ")";
  note(kDim, line + " · " + with_commas(event.duration_us) + " µs");
}

void TerminalRenderer::show(const told::HookConflict& event, std::uint32_t) {
  note(kYellow, "warning: hook " + line_of(event.loser) + " requested a conflicting action at " + line_of(event.event) +
                    "; " + line_of(event.winner) + " came first");
}

void TerminalRenderer::show(const told::HookFailed& event, std::uint32_t) {
  note(kYellow, "warning: " + failure_text(event));
}

void TerminalRenderer::show(const told::Status& event, std::uint32_t) {
  std::string text(event.status);
  if (!event.progress.empty()) text.append(", ").append(event.progress);
  progress_.wait_for(neutral_line(text, kCallBytes));
}

void TerminalRenderer::show(const told::Compacted& event, std::uint32_t) {
  const Result<JsonDocument> document = JsonDocument::parse(event.json);
  const JsonView metadata = document ? document->root()["compact_metadata"] : JsonView();
  const std::uint64_t limit = event.context.limit;
  const std::string_view trigger = metadata["trigger"].string_or("auto");
  note(kCyan, "── compacted (" + neutral_line(trigger, kCallBytes) +
                  "): " + percent_text(metadata["pre_tokens"].uint_or(0), limit) + " → " +
                  percent_text(metadata["post_tokens"].uint_or(0), limit) + " ──");
}

void TerminalRenderer::show(const told::CompactionEnded& event, std::uint32_t depth) {
  if (depth == 0 && !in_run_) return;
  const std::string why = event.reason.empty() ? "" : ": " + line_of(event.reason);
  if (event.result == AGENTD_RESULT_FAILED) note(kYellow, "warning: compaction failed" + why);
  if (event.result == AGENTD_RESULT_VETOED) note(kYellow, "warning: a hook blocked the compaction" + why);
}

void TerminalRenderer::show(const told::CompactionUndone& event, std::uint32_t) {
  const std::uint64_t limit = event.context.limit;
  note(kCyan, "── compaction undone: " + percent_text(event.pre_tokens, limit) + " → " +
                  percent_text(event.post_tokens, limit) + " ──");
}

void TerminalRenderer::show(const told::Notice& event, std::uint32_t) { note({}, "note: " + line_of(event.text)); }

void TerminalRenderer::show(const told::Warning& event, std::uint32_t) {
  note(kYellow, "warning: " + neutral_line(event.text, kWarningBytes));
}

// The command reports the error that ended the run, with its exit code.
void TerminalRenderer::show(const told::Failed&, std::uint32_t) {
  running_.reset();
  settle();
}

void TerminalRenderer::show(const told::RunEnded&, std::uint32_t) {
  in_run_ = false;
  running_.reset();
  // No answer was complete: the part that arrived is printed, as the log keeps it.
  if (waiting_.empty()) std::swap(waiting_, half_);
  settle();
}

// ---- the renderers

void TerminalRenderer::on_event(const RunEvent& event) {
  if (event.agent_depth != 0 && !is_shown_of_subagents(event.type())) return;
  std::visit([&](const auto& what) { show(what, event.agent_depth); }, event.body);
}

void JsonRenderer::on_event(const RunEvent& event) {
  out_.print(event_json(event) + "\n");
  // A reader of the stream sees an event when it happens.
  out_.flush();
}

void ReaderWatch::on_event(const RunEvent& event) {
  shown_.on_event(event);
  const bool effect = event.type() == RunEvent::Type::kTurnStarted || event.type() == RunEvent::Type::kToolCall;
  if (left_ || !(effect ? out_.reader_left() : out_.failure() == EPIPE)) return;
  left_ = true;
  leave_();
}

void QuietRenderer::on_event(const RunEvent& event) {
  std::string text;
  if (const auto* const waiting = std::get_if<told::Waiting>(&event.body)) {
    err_.line(waiting_text(*waiting));
    return err_.flush();
  }
  if (const auto* const failure = std::get_if<told::HookFailed>(&event.body))
    text = failure_text(*failure);
  else if (const auto* const warning = std::get_if<told::Warning>(&event.body))
    text = neutral_line(warning->text, kWarningBytes);
  else
    return;
  err_.line("warning: " + text);
  err_.flush();
}

}  // namespace agentd::app
