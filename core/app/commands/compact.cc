// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "core/app/commands/commands.h"
#include "core/app/commands/compact_diff.h"
#include "core/app/compaction_text.h"
#include "core/app/conversations.h"
#include "core/app/exit_codes.h"
#include "core/app/signals.h"
#include "core/app/talk.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace agentd::app {
namespace {

std::string or_else(const std::string& text, const std::string& otherwise) { return text.empty() ? otherwise : text; }

int tell(App& app, const std::string& id, const CompactionReport& report, bool dry_run, bool json) {
  if (json) app.out().line(compaction_json(id, report, dry_run));
  if (dry_run) {
    if (!json) app.out().print(neutral(or_else(report.text, "Nothing to compact in conversation " + id)) + "\n");
    return kExitOk;
  }
  switch (report.outcome) {
    case AGENTD_RESULT_APPLIED:
      if (!json) app.out().confirm(compacted_text(id, report));
      return kExitOk;
    case AGENTD_RESULT_DEGRADED:
      if (!json)
        app.out().confirm(compacted_text(id, report) + (report.text.empty() ? "" : neutral(report.text) + "\n"));
      return kExitOk;
    case AGENTD_RESULT_NOOP:
      if (!json)
        app.out().confirm("Nothing to compact in conversation " + id +
                          (report.text.empty() ? "" : ": " + neutral(report.text)) + "\n");
      return kExitOk;
    case AGENTD_RESULT_VETOED:
      return app.fail(kExitBlocked, "the compaction was refused: " + or_else(report.text, "a hook gave no reason"));
    default:
      return app.fail(kExitProvider, "the conversation was not compacted; it is unchanged: " +
                                         or_else(report.text, "no summary could be made"));
  }
}

Result<CompactOptions> compact_options_of(const Arguments& arguments) {
  CompactOptions options;
  options.instructions = arguments.value("instructions");
  if (arguments.has("strategy")) {
    AGENTD_TRY(options.strategy, parse_strategy(arguments.value("strategy")));
  }
  return options;
}

// The error for options that exclude each other.
std::optional<std::string> contradiction(const Arguments& arguments) {
  const int modes = int{arguments.has("undo")} + int{arguments.has("diff")} + int{arguments.has("dry-run")};
  if (modes > 1) return "--undo, --diff and --dry-run exclude each other";
  if (arguments.has("force") && !arguments.has("undo")) return "--force goes with --undo only";
  if (!arguments.words().empty() && !arguments.has("diff"))
    return "BOUNDARY needs --diff; use -c ID to name the conversation";
  if (arguments.has("undo") || arguments.has("diff"))
    for (const char* name : {"strategy", "instructions"})
      if (arguments.has(name)) return "--" + std::string(name) + " applies only to a compaction; omit it";
  if (!arguments.has("conversation-id") && !arguments.has("follow"))
    return "which conversation? Give -c ID, or --follow for the newest one of this project";
  return std::nullopt;
}

std::string undo_json(const std::string& id, const UndoReport& report) {
  JsonWriter out;
  out.begin_object().member("type", "undo_result").member("conversation_id", id);
  out.member("boundary_id", report.boundary_id).member("boundary_seq", report.boundary_seq);
  out.member("messages_before", report.messages_before);
  out.member("messages_after", report.messages_after);
  out.member("pre_tokens", report.pre_tokens).member("post_tokens", report.post_tokens);
  out.member("compactions", unsigned{report.compactions}).end_object();
  return std::string(out.text());
}

std::string undone_text(const std::string& id, const UndoReport& report, bool due) {
  std::string out = "Undid compaction " + report.boundary_id + " of conversation " + id + "\nBack from " +
                    counted(report.messages_before, "message") + " to " + counted(report.messages_after, "message") +
                    "\nContext: " + with_commas(report.pre_tokens) + " → " + with_commas(report.post_tokens) +
                    " tokens\n";
  if (due) out += "The next run would compact it again automatically; use --disable-auto-compact to prevent that.\n";
  return out;
}

int fail_with(App& app, const RunError& error, const SignalScope& signals) {
  const Failure failure = failure_of(error);
  const bool cancelled = error.kind == RunError::Kind::kCancelled;
  return app.fail(cancelled ? signal_exit(signals.caught()) : failure.code, or_else(failure.message, "interrupted"));
}

int undo(App& app, const Arguments& arguments, Talk& talk, const SignalScope& signals, const CancelToken& cancel) {
  const std::string id = talk.session().conversation_id();
  const auto report = talk.session().undo(arguments.has("force"), cancel);
  talk.settle();
  if (!report) return fail_with(app, report.error(), signals);
  const Gauge gauge = talk.session().gauge();
  talk.end("exit");  // hooks of session_end print events too, and the result is the last line
  const bool due = talk.config().flag("compaction.auto") && gauge.compact_at != 0 && gauge.used >= gauge.compact_at;
  if (arguments.has("json"))
    app.out().line(undo_json(id, *report));
  else
    app.out().confirm(undone_text(id, *report, due));
  return kExitOk;
}

int compact(App& app, const Arguments& arguments, const CompactOptions& options, Talk& talk, const SignalScope& signals,
            const CancelToken& cancel) {
  const bool dry_run = arguments.has("dry-run");
  const std::string id = talk.session().conversation_id();
  const auto report = talk.session().compact(options, dry_run, cancel);
  talk.settle();
  if (!report) return fail_with(app, report.error(), signals);
  // Before the result, which is the last line.
  talk.end(dry_run || compaction_exit(report->outcome) == kExitOk ? "exit" : "error");
  return tell(app, id, *report, dry_run, arguments.has("json"));
}

}  // namespace

int compact_command(App& app, const Arguments& arguments) {
  if (const auto why = contradiction(arguments)) return app.fail(kExitUsage, *why);
  const Result<CompactOptions> options = compact_options_of(arguments);
  if (!options) return app.fail(kExitUsage, options.error().message);
  {
    // Before anything is built: finding the conversation needs no key or plugin.
    const auto found = wanted_conversation(app, arguments);
    if (!found) return app.fail(found.error().code, found.error().message);
    if (arguments.has("diff")) return show_compaction_diff(app, arguments, *found->store, found->id);
  }
  SignalScope signals;
  const CancelToken cancel = signals.next();
  const bool asks_model = !arguments.has("dry-run") && !arguments.has("undo");
  Talk::Wishes wishes{asks_model, false};
  wishes.served = true;
  auto talk = Talk::begin(app, arguments, wishes);
  if (!talk) return app.fail(talk.error().code, talk.error().message);
  if (auto attached = (*talk)->attach(cancel); !attached)
    return app.fail(attached.error().code, attached.error().message);
  const int code = arguments.has("undo") ? undo(app, arguments, **talk, signals, cancel)
                                         : compact(app, arguments, *options, **talk, signals, cancel);
  (*talk)->end(end_reason(code, signals.caught()));
  return code;
}

}  // namespace agentd::app
