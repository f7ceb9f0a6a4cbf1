// SPDX-License-Identifier: Apache-2.0
#include "core/app/commands/commands.h"
#include "core/app/exit_codes.h"
#include "core/app/signals.h"
#include "core/app/talk.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace agentd::app {
namespace {

std::string messages_text(std::uint64_t count) {
  return with_commas(count) + (count == 1 ? " message" : " messages");
}

std::string applied_text(const std::string& id, const CompactionReport& report) {
  std::string out = "Compacted conversation " + id + "\nReduced from " +
                    messages_text(report.messages_before) + " to 1 summary message";
  if (report.messages_after > 1)
    out += " and " + messages_text(report.messages_after - 1) + " kept";
  return out + "\nContext: " + with_commas(report.pre_tokens) + " → " +
         with_commas(report.post_tokens) + " tokens\n";
}

std::string report_json(const std::string& id, const CompactionReport& report, bool dry_run) {
  JsonWriter out;
  out.begin_object().member("type", "compaction_result").member("conversation_id", id);
  out.member("outcome", result_name(report.outcome)).member("dry_run", dry_run);
  out.member("messages_before", report.messages_before)
      .member("messages_after", report.messages_after);
  out.member("pre_tokens", report.pre_tokens).member("post_tokens", report.post_tokens);
  out.optional("boundary_id", report.boundary_id)
      .optional("text", report.text)
      .optional("summary", report.summary);
  out.end_object();
  return std::string(out.text());
}

std::string or_else(const std::string& text, const std::string& otherwise) {
  return text.empty() ? otherwise : text;
}

int tell(App& app, const std::string& id, const CompactionReport& report, bool dry_run, bool json) {
  if (json) app.out().line(report_json(id, report, dry_run));
  if (dry_run) {
    if (!json)
      app.out().print(neutral(or_else(report.text, "Nothing to compact in conversation " + id)) +
                      "\n");
    return kExitOk;
  }
  switch (report.outcome) {
    case AGENTD_RESULT_APPLIED:
      if (!json) app.out().print(applied_text(id, report));
      return kExitOk;
    case AGENTD_RESULT_DEGRADED:
      if (!json)
        app.out().print(applied_text(id, report) +
                        "No summary could be made: history was cut instead.\n");
      return kExitOk;
    case AGENTD_RESULT_NOOP:
      if (!json)
        app.out().print("Nothing to compact in conversation " + id +
                        (report.text.empty() ? "" : ": " + neutral(report.text)) + "\n");
      return kExitOk;
    case AGENTD_RESULT_VETOED:
      return app.fail(kExitBlocked, "the compaction was refused: " +
                                        or_else(report.text, "a hook gave no reason"));
    default:
      return app.fail(kExitProvider, "the conversation was not compacted, it is as it was: " +
                                         or_else(report.text, "no summary could be made"));
  }
}

Result<CompactOptions> options_of(const Arguments& arguments) {
  CompactOptions options;
  options.instructions = arguments.value("instructions");
  if (arguments.has("strategy")) {
    AGENTD_TRY(options.strategy, parse_strategy(arguments.value("strategy")));
  }
  return options;
}

}  // namespace

int compact_command(App& app, const Arguments& arguments) {
  if (!arguments.has("conversation-id") && !arguments.has("follow"))
    return app.fail(
        kExitUsage,
        "which conversation? Give -c ID, or --follow for the newest one of this project");
  const Result<CompactOptions> options = options_of(arguments);
  if (!options) return app.fail(kExitUsage, options.error().message);
  const bool dry_run = arguments.has("dry-run");
  SignalScope signals;
  const CancelToken cancel = signals.next();
  auto talk = Talk::begin(app, arguments, !dry_run);
  if (!talk) return app.fail(talk.error().code, talk.error().message);
  if (auto attached = (*talk)->attach(); !attached)
    return app.fail(attached.error().code, attached.error().message);
  const std::string id = (*talk)->session().conversation_id();
  const auto report = (*talk)->session().compact(*options, dry_run, cancel);
  (*talk)->settle();
  int code = kExitOk;
  if (report) {
    code = tell(app, id, *report, dry_run, arguments.has("json"));
  } else {
    const Failure failure = failure_of(report.error());
    const bool cancelled =
        report.error().kind == RunError::Kind::kCancelled && signals.caught() != 0;
    code = app.fail(cancelled ? 128 + signals.caught() : failure.code,
                    or_else(failure.message, "interrupted"));
  }
  (*talk)->end(code == kExitOk ? "exit" : "error");
  return code;
}

}  // namespace agentd::app
