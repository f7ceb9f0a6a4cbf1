// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <csignal>

#include "core/agent/answer_schema.h"
#include "core/app/commands/commands.h"
#include "core/app/compaction_text.h"
#include "core/app/exit_codes.h"
#include "core/app/message_input.h"
#include "core/app/signals.h"
#include "core/app/stream_input.h"
#include "core/app/talk.h"
#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/codec/json.h"
#include "core/conversation/message_keys.h"
#include "core/serve/client_wire.h"

namespace agentd::app {
namespace {

constexpr std::size_t kSchemaBytesMax = 1u << 20;
constexpr std::string_view kStreamJson = "stream-json";

// The message of one run, before a recipe's text is prepended.
struct WantedRun {
  std::string text;
  std::vector<Block> media;
  std::string schema, key;
};

// The user's message: the words, the files that they name, and piped text.
Result<WithFiles> message_of(App& app, const Arguments& arguments) {
  std::vector<std::string> words = arguments.words();
  const int input = app.surroundings().input;
  const bool dash = !words.empty() && words.back() == "-";
  if (dash) words.pop_back();
  const bool needs_input = dash || (words.empty() && !arguments.has("recipe") && !arguments.has("image"));
  if (needs_input && !dash && app.surroundings().input_tty)
    return Error{Code::kInvalid, "no message: use agentd run \"...\", or see 'agentd run --help'"};
  AGENTD_TRY(WithFiles out, attached(app, arguments, to_utf8(join(words, " "))));
  for (const std::string& path : arguments.values("image")) {
    const bool whole = path.starts_with('/');
    AGENTD_TRY(out.media.emplace_back(), image_in(whole ? path : app.surroundings().cwd + "/" + path));
  }
  if (needs_input || is_piped(input)) {
    const auto waiting = [&] {
      if (dash) return;
      app.err().line(
          "agentd: waiting for the end of standard input, which is added to the message; to add nothing, start agentd "
          "with < /dev/null");
      app.err().flush();
    };
    AGENTD_TRY(const std::string piped, piped_text(input, waiting));
    if (!is_blank(piped)) out.text += (out.text.empty() ? "" : "\n\n") + piped;
  }
  if (is_blank(out.text) && out.media.empty() && !arguments.has("recipe"))
    return Error{Code::kInvalid,
                 "the message is empty: write it after the command, as in agentd run \"...\", or pipe it in"};
  return out;
}

// The schema that --output-schema names; empty = none.
Result<std::string> schema_of(App& app, const Arguments& arguments) {
  if (!arguments.has("output-schema")) return std::string();
  const std::string path = arguments.value("output-schema");
  const std::string shown = "--output-schema " + one_line(path, 200) + ": ";
  const auto text = read_file(path.starts_with('/') ? path : app.surroundings().cwd + "/" + path, kSchemaBytesMax);
  if (!text) return Error{Code::kInvalid, shown + text.error().message};
  const auto schema = AnswerSchema::read(*text);
  if (!schema) return Error{Code::kInvalid, shown + schema.error().message};
  return schema->json();
}

// The request: the message, or the recipe's text followed by the message.
Result<RunRequest> request_of(Talk& talk, const WantedRun& wanted) {
  RunRequest out{wanted.text};
  if (talk.recipe() != nullptr) {
    AGENTD_TRY(out, talk.client().recipe_run(wanted.text));
  }
  if (out.compaction_run && (!wanted.media.empty() || !wanted.schema.empty() || !wanted.key.empty()))
    return Error{Code::kInvalid,
                 "a recipe that replaces the conversation with a summary takes no images, documents, schema or key"};
  out.media = wanted.media;
  out.output_schema = wanted.schema;
  out.key = wanted.key;
  return out;
}

// A recipe that replaces the conversation needs one with messages.
Result<void, Failure> check_replaceable(Talk& talk, const Arguments& arguments) {
  const Recipe* const recipe = talk.recipe();
  if (recipe == nullptr || !recipe->swaps_context()) return {};
  if (arguments.has("follow") || arguments.has("resume")) return {};
  return Failure{kExitUsage, "the recipe '" + recipe->name +
                                 "' replaces a conversation with its summary: name one with --follow or --resume ID"};
}

// Prints the compaction's result after the answer. The session ends before, as its hooks print events too and the
// result is the last line; `failed`: the recipe says that the run has failed.
int tell_compaction(App& app, Talk& talk, const RunReport& report, bool failed) {
  const Recipe* const recipe = talk.recipe();
  if (recipe == nullptr || !recipe->swaps_context()) return kExitOk;
  const std::string id = talk.session().conversation_id();
  const CompactionReport done = report.compaction.value_or(CompactionReport{});
  const bool nothing = report.compaction && done.outcome == AGENTD_RESULT_NOOP;
  if (!done.changed() && !nothing && report.outcome != RunOutcome::kCompacted)
    return app.fail(kExitProvider, "the conversation was not compacted; it is unchanged");
  talk.end(!failed && run_exit(report.outcome) == kExitOk ? "exit" : "error");
  if (talk.style() == Talk::Style::kJson) app.out().line(compaction_json(id, done, false));
  if (talk.style() == Talk::Style::kTerminal && (done.changed() || nothing)) {
    app.err().print(nothing ? "Nothing to compact in conversation " + id + ": " + done.text + "\n"
                            : compacted_text(id, done));
    app.err().flush();
  }
  return kExitOk;
}

int ended(App& app, Talk& talk, const RunError& error, int signal) {
  talk.settle();
  const Failure failure = failure_of(talk.explained(error));
  const bool cancelled = error.kind == RunError::Kind::kCancelled;
  const int code = cancelled ? signal_exit(signal) : failure.code;
  const std::string id = talk.session().conversation_id();
  if (cancelled && signal == SIGPIPE)
    app.fail(code, kReaderLeft);
  else
    app.fail(code, failure.message.empty() ? "the run was interrupted" : failure.message);
  // The conversation is in the log: show how to continue it.
  if (talk.style() == Talk::Style::kTerminal && !id.empty() && error.kind != RunError::Kind::kStore) {
    app.err().line("conversation " + id + "; continue with: agentd run --resume " + id + " \"...\"");
    app.err().flush();
  }
  return code;
}

// Makes one run and reports it.
int run_once(App& app, Talk& talk, const WantedRun& wanted, SignalScope& signals, const CancelToken& cancel) {
  const auto request = request_of(talk, wanted);
  if (!request) return app.fail(kExitUsage, request.error().message);
  const auto report = talk.session().run(*request, cancel);
  if (!report) return ended(app, talk, report.error(), signals.caught());
  // An answer without a schema check has no text.
  const bool held = report->outcome != RunOutcome::kWaiting && (wanted.schema.empty() || !report->final_text.empty());
  const bool as_json = !wanted.schema.empty() && !app.out().tty();
  if (talk.style() == Talk::Style::kResultOnly && held)
    app.out().line(as_json ? json_line(report->final_text) : neutral(report->final_text));
  talk.footer(*report);
  const auto failed = talk.recipe_failure();
  int code = tell_compaction(app, talk, *report, failed.has_value());
  if (code == kExitOk) code = run_exit(report->outcome);
  if (failed) code = app.fail(kExitFailure, *failed);
  // The answer is saved, but a signal ended its way to a reader that does not read.
  if (code == kExitOk && app.out().failure() == EINTR && signals.caught() != 0) code = signal_exit(signals.caught());
  return code;
}

// Leaves the run to the daemon as soon as its message is stored.
int run_detached(App& app, Talk& talk, const WantedRun& wanted, SignalScope& signals, const CancelToken& cancel) {
  const auto request = request_of(talk, wanted);
  if (!request) return app.fail(kExitUsage, request.error().message);
  const auto stored = talk.session().run(*request, cancel);
  if (!stored) return ended(app, talk, stored.error(), signals.caught());
  app.out().line(talk.session().conversation_id());
  return kExitOk;
}

// Makes one run for each line of standard input. An invalid line is reported and skipped.
int run_stream(App& app, Talk& talk, const std::string& schema, SignalScope& signals, const CancelToken& cancel) {
  LineReader lines(app.surroundings().input);
  int code = kExitOk;
  for (;;) {
    auto line = lines.next(cancel);
    if (line && !*line) return cancel.cancelled() ? signal_exit(signals.caught()) : code;
    if (!line && line.error().code != Code::kInvalid) return app.fail(kExitFailure, line.error().message);
    if (line && is_blank(**line)) continue;
    auto message = line ? read_stream_message(**line) : Result<StreamMessage>(line.error());
    if (!message) {
      code = app.fail(kExitUsage, "line " + std::to_string(lines.number()) +
                                      " of standard input was skipped: " + message.error().message);
      continue;
    }
    const int ran =
        run_once(app, talk, {to_utf8(message->text), std::move(message->media), schema, {}}, signals, cancel);
    if (ran != kExitOk) code = ran;
    app.out().flush();
    // The next message would deny the call that waits.
    if (cancel.cancelled() || ran == kExitWaiting) return code;
  }
}

// True if the daemon takes it in one request.
bool fits_in_request(const WithFiles& message, const std::string& schema) {
  std::size_t media = 0;
  for (const Block& block : message.media) media += block.opaque.size() + block.text.size();
  return message.text.size() + schema.size() <= serve::kClientTextMax && media <= serve::kClientMediaMax;
}

// Checks combinations of options.
Result<void> check_options(const Arguments& arguments) {
  if (arguments.has("arg") && !arguments.has("recipe"))
    return Error{Code::kInvalid, "--arg needs a recipe: name one with --recipe NAME"};
  if (arguments.has("key")) {
    if (arguments.value("key").empty()) return Error{Code::kInvalid, "--key is empty: give the message a name"};
    AGENTD_TRY_VOID(check_message_key(arguments.value("key")));
    if (!arguments.has("resume"))
      return Error{Code::kInvalid, "--key names a message within one conversation: name that with --resume ID"};
  }
  if (arguments.has("detach"))
    for (const char* const name :
         {"json", "result-only", "output-schema", "input-format", "image", "recipe", "no-save"})
      if (arguments.has(name))
        return Error{Code::kInvalid, "--detach prints the conversation's id alone: omit --" + std::string(name)};
  if (!arguments.has("input-format")) return {};
  const std::string format = arguments.value("input-format");
  if (format != "text" && format != kStreamJson)
    return Error{Code::kInvalid, "--input-format takes text or stream-json, not '" + one_line(format, 60) + "'"};
  const bool other =
      !arguments.words().empty() || arguments.has("image") || arguments.has("recipe") || arguments.has("key");
  if (format == kStreamJson && other)
    return Error{Code::kInvalid,
                 "with --input-format stream-json all messages come from standard input; omit QUERY, --image, --recipe "
                 "and --key"};
  return {};
}

std::string way_to_daemon(const Talk& talk) {
  if (talk.why_not_served().empty()) return "start 'agentd serve', or omit --detach";
  return talk.why_not_served() + "; start it again with this command's, or omit --detach";
}

}  // namespace

int run_command(App& app, const Arguments& arguments) {
  // Checked before anything is built, so that an error costs nothing.
  if (const auto cwd = app.directory(); !cwd) return app.fail(kExitFailure, cwd.error().message);
  if (auto checked = check_options(arguments); !checked) return app.fail(kExitUsage, checked.error().message);
  const Result<std::string> schema = schema_of(app, arguments);
  if (!schema) return app.fail(kExitUsage, schema.error().message);
  const bool streams = arguments.has("input-format") && arguments.value("input-format") == kStreamJson;
  Result<WithFiles> message = streams ? Result<WithFiles>(WithFiles{}) : message_of(app, arguments);
  if (!message) return app.fail(kExitUsage, message.error().message);
  SignalScope signals;
  const CancelToken cancel = signals.next();
  Talk::Wishes wishes;
  wishes.served = !streams && fits_in_request(*message, *schema);
  wishes.detached = arguments.has("detach");
  auto talk = Talk::begin(app, arguments, wishes);
  if (!talk) return app.fail(talk.error().code, talk.error().message);
  if (arguments.has("detach") && !(*talk)->is_served())
    return app.fail(kExitUsage, "--detach needs a daemon with the settings of this command: " + way_to_daemon(**talk));
  if (auto checked = check_replaceable(**talk, arguments); !checked)
    return app.fail(checked.error().code, checked.error().message);
  if (auto attached = (*talk)->attach(cancel, message->text); !attached)
    return app.fail(attached.error().code, attached.error().message);
  (*talk)->refine_memories();
  if ((*talk)->recipe() != nullptr && (*talk)->recipe()->swaps_context() && !(*talk)->has_messages())
    return app.fail(kExitUsage, "the conversation is empty: there is nothing to compact");
  WantedRun wanted{std::move(message->text), std::move(message->media), *schema, arguments.value("key")};
  const int code = arguments.has("detach") ? run_detached(app, **talk, wanted, signals, cancel)
                   : streams               ? run_stream(app, **talk, *schema, signals, cancel)
                                           : run_once(app, **talk, wanted, signals, cancel);
  (*talk)->end(end_reason(code, signals.caught()));
  return code;
}

}  // namespace agentd::app
