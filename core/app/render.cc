// SPDX-License-Identifier: Apache-2.0
#include "core/app/render.h"

#include <cerrno>

#include "core/app/table.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace agentd::app {
namespace {

constexpr std::size_t kLineBytes = 240;
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

TerminalRenderer::TerminalRenderer(Output& out, Output& err, bool trace_hooks)
    : out_(out), err_(err), trace_hooks_(trace_hooks), progress_(err) {}

void TerminalRenderer::end_lines() {
  progress_.stop();
  if (!open_call_.empty()) {
    open_call_.clear();
    err_.fresh_line();
  }
  out_.print(answer_.finish());
  out_.fresh_line();
  out_.flush();
}

void TerminalRenderer::settle() {
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

void TerminalRenderer::text(const RunEvent& event) {
  progress_.stop();
  if (!open_call_.empty()) end_lines();
  out_.print(answer_.feed(event.text));
  out_.flush();
}

void TerminalRenderer::tool_call(const RunEvent& event) {
  end_lines();
  const std::string indent(2 * event.agent_depth, ' ');
  const std::string name = neutral_line(event.name, kCallBytes), call = call_summary(event.text);
  err_.print(indent + err_.styled(kCyan, "• " + name) + " " + call);
  // If the time does not fit after it, it is shown below.
  const std::size_t columns = err_.columns(), used = text_width(indent + "• " + name + " " + call) % columns;
  if (err_.tty() && columns - used < kTimeColumns) err_.print("\n" + indent + " ");
  err_.flush();
  open_call_ = std::string(event.call_id);
  running_ = {open_call_, name, std::chrono::steady_clock::now()};
  progress_.wait_for({}, running_->since);
}

void TerminalRenderer::tool_result(const RunEvent& event) {
  progress_.stop();
  if (running_ && running_->id == event.call_id) running_.reset();
  const bool same_line = !open_call_.empty() && open_call_ == event.call_id;
  if (!same_line) {
    end_lines();
    err_.print(std::string(2 * event.agent_depth, ' ') + "• " + neutral_line(event.name, kCallBytes));
  }
  const std::string_view status = !event.detail.empty() ? event.detail : event.ok ? "ok" : "error";
  std::string line = " · " + neutral_line(status, kCallBytes);
  if (event.duration_us != 0) line += " · " + duration_text(event.duration_us);  // it ran
  line += " · " + with_commas(event.text.size()) + " bytes";
  // A person needs the reason of the failure; the rest of the output is for the model.
  const std::string_view first = event.text.substr(0, event.text.find('\n'));
  if (!event.ok && !first.empty()) line += " · " + neutral_line(first, kCallBytes);
  open_call_.clear();
  err_.line(err_.styled(event.ok ? kDim : kYellow, line));
  err_.flush();
}

void TerminalRenderer::hook_answer(const RunEvent& event) {
  if (!trace_hooks_) return;
  std::string line = "  hook " + neutral_line(event.name, kCallBytes) + " · " + neutral_line(event.detail, kCallBytes) +
                     " · " + (event.text.empty() ? "no answer" : neutral_line(event.text, kLineBytes));
  if (!event.effect.empty() && event.effect != "none") line += " (" + neutral_line(event.effect, kCallBytes) + ")";
  note(kDim, line + " · " + with_commas(event.duration_us) + " µs");
}

void TerminalRenderer::boundary(const RunEvent& event) {
  const Result<JsonDocument> document = JsonDocument::parse(event.boundary_json);
  const JsonView metadata = document ? document->root()["compact_metadata"] : JsonView();
  const std::uint64_t limit = event.gauge == nullptr ? 0 : event.gauge->limit;
  const std::string_view trigger = metadata["trigger"].string_or("auto");
  note(kCyan, "── compacted (" + neutral_line(trigger, kCallBytes) +
                  "): " + percent_text(metadata["pre_tokens"].uint_or(0), limit) + " → " +
                  percent_text(metadata["post_tokens"].uint_or(0), limit) + " ──");
}

void TerminalRenderer::undone(const RunEvent& event) {
  const std::uint64_t limit = event.gauge == nullptr ? 0 : event.gauge->limit;
  note(kCyan, "── compaction undone: " + percent_text(event.pre_tokens, limit) + " → " +
                  percent_text(event.post_tokens, limit) + " ──");
}

void TerminalRenderer::outcome(const RunEvent& event) {
  const std::string why = event.text.empty() ? "" : ": " + neutral_line(event.text, kLineBytes);
  if (event.detail == "failed") note(kYellow, "warning: compaction failed" + why);
  if (event.detail == "vetoed") note(kYellow, "warning: a hook blocked the compaction" + why);
}

void TerminalRenderer::status(const RunEvent& event) {
  std::string text(event.text);
  if (!event.detail.empty()) text.append(", ").append(event.detail);
  progress_.wait_for(neutral_line(text, kCallBytes));
}

// A subagent's tools, warnings and compactions are shown; its text goes to the calling agent, since standard
// output has only the answer to the user.
bool TerminalRenderer::is_shown(const RunEvent& event) {
  if (event.agent_depth == 0) return true;
  switch (event.type) {
    case RunEvent::Type::kRunStarted:
    case RunEvent::Type::kUserMessage:
    case RunEvent::Type::kTextDelta:
    case RunEvent::Type::kThinkingDelta:
    case RunEvent::Type::kAnswerAgain:
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

void TerminalRenderer::on_event(const RunEvent& event) {
  if (!is_shown(event)) return;
  const auto line = [](std::string_view text) { return neutral_line(text, kLineBytes); };
  switch (event.type) {
    case RunEvent::Type::kRunStarted:
    case RunEvent::Type::kUserMessage:
    case RunEvent::Type::kThinkingDelta:
      break;
    case RunEvent::Type::kTurnStarted:
      progress_.wait_for("waiting for the model");
      break;
    case RunEvent::Type::kTextDelta:
      text(event);
      break;
    case RunEvent::Type::kAnswerAgain:
      note(kYellow, "note: " + line(event.text) + "; it is requested again, and the part already shown is void");
      break;
    case RunEvent::Type::kToolCall:
      tool_call(event);
      break;
    case RunEvent::Type::kToolResult:
      tool_result(event);
      break;
    case RunEvent::Type::kTurnEnded:
      running_.reset();
      end_lines();
      break;
    case RunEvent::Type::kHookAnswer:
      hook_answer(event);
      break;
    case RunEvent::Type::kHookConflict:
      note(kYellow, "warning: hook " + line(event.name) + " requested a conflicting action at " + line(event.detail) +
                        "; " + line(event.text) + " came first");
      break;
    case RunEvent::Type::kHookFailure:
      note(kYellow, "warning: hook " + line(event.name) + " failed at " + line(event.detail) + ": " + line(event.text));
      break;
    case RunEvent::Type::kStatus:
      status(event);
      break;
    case RunEvent::Type::kCompactBoundary:
      boundary(event);
      break;
    case RunEvent::Type::kCompactionOutcome:
      outcome(event);
      break;
    case RunEvent::Type::kCompactionUndone:
      undone(event);
      break;
    case RunEvent::Type::kNotice:
      note({}, "note: " + line(event.text));
      break;
    case RunEvent::Type::kWarning:
      note(kYellow, "warning: " + neutral_line(event.text, kWarningBytes));
      break;
    // The command reports the error that ended the run, with its exit code.
    case RunEvent::Type::kError:
    case RunEvent::Type::kRunEnded:
      running_.reset();
      settle();
      break;
  }
}

void JsonRenderer::on_event(const RunEvent& event) {
  out_.print(event_json(event) + "\n");
  // A reader of the stream sees an event when it happens.
  out_.flush();
}

void ReaderWatch::on_event(const RunEvent& event) {
  shown_.on_event(event);
  const bool effect = event.type == RunEvent::Type::kTurnStarted || event.type == RunEvent::Type::kToolCall;
  if (left_ || !(effect ? out_.reader_left() : out_.failure() == EPIPE)) return;
  left_ = true;
  leave_();
}

void QuietRenderer::on_event(const RunEvent& event) {
  const bool failure = event.type == RunEvent::Type::kHookFailure;
  if (event.type != RunEvent::Type::kWarning && !failure) return;
  const std::string hook = failure ? "hook " + neutral_line(event.name, kLineBytes) + " failed at " +
                                         neutral_line(event.detail, kLineBytes) + ": "
                                   : std::string();
  err_.line("warning: " + hook + neutral_line(event.text, failure ? kLineBytes : kWarningBytes));
  err_.flush();
}

}  // namespace agentd::app
