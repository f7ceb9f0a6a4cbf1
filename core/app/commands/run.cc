// SPDX-License-Identifier: Apache-2.0
#include <csignal>

#include "core/app/commands/commands.h"
#include "core/app/compaction_text.h"
#include "core/app/exit_codes.h"
#include "core/app/message_input.h"
#include "core/app/signals.h"
#include "core/app/talk.h"
#include "core/base/bytes.h"

namespace agentd::app {
namespace {

// The user's message: the words, the files that they name, and what was piped in.
Result<std::string> message_of(App& app, const Arguments& arguments) {
  std::vector<std::string> words = arguments.words();
  const int input = app.surroundings().input;
  const bool dash = !words.empty() && words.back() == "-";
  if (dash) words.pop_back();
  const bool needs_input = dash || (words.empty() && !arguments.has("recipe"));
  if (needs_input && !dash && app.surroundings().input_tty)
    return Error{Code::kInvalid, "what should be done? agentd run \"...\", or 'agentd run --help'"};
  AGENTD_TRY(std::string text, attached(app, arguments, to_utf8(join(words, " "))));
  if (needs_input || is_piped(input)) {
    const auto waiting = [&] {
      if (dash) return;
      app.err().line(
          "agentd: waiting for the end of standard input, which is added to the message; "
          "if nothing is to be added, start agentd with < /dev/null");
      app.err().flush();
    };
    AGENTD_TRY(const std::string piped, piped_text(input, waiting));
    if (!is_blank(piped)) text += (text.empty() ? "" : "\n\n") + piped;
  }
  if (is_blank(text) && !arguments.has("recipe"))
    return Error{Code::kInvalid, "the message is empty"};
  return text;
}

// What is sent: the message, or the recipe's text and the message behind it.
Result<RunRequest> request_of(Talk& talk, const std::string& message) {
  if (talk.engine().recipe() == nullptr) return RunRequest{message};
  return talk.engine().recipe_run(talk.session().conversation_id(), message);
}

// A recipe that puts its answer in the conversation's place needs one that has something in it.
Result<void, Failure> check_replaceable(Talk& talk, const Arguments& arguments) {
  const Recipe* const recipe = talk.engine().recipe();
  if (recipe == nullptr || !recipe->swaps_context()) return {};
  if (arguments.has("follow") || arguments.has("resume")) return {};
  return Failure{kExitUsage,
                 "the recipe '" + recipe->name +
                     "' replaces a conversation by its summary, and there is none yet: give "
                     "--follow or --resume ID"};
}

// What became of the conversation, behind the answer.
int tell_compaction(App& app, Talk& talk, const RunReport& report) {
  const Recipe* const recipe = talk.engine().recipe();
  if (recipe == nullptr || !recipe->swaps_context()) return kExitOk;
  const std::string& id = talk.session().conversation_id();
  const CompactionReport done = report.compaction.value_or(CompactionReport{});
  const bool nothing = report.compaction && done.outcome == AGENTD_RESULT_NOOP;
  if (!done.changed() && !nothing && report.outcome != "compacted")
    return app.fail(kExitProvider, "the conversation was not compacted, it is as it was");
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
  const Failure failure = failure_of(error);
  const bool cancelled = error.kind == RunError::Kind::kCancelled;
  const int code = cancelled ? signal_exit(signal) : failure.code;
  const std::string id = talk.session().conversation_id();
  if (cancelled && signal == SIGPIPE)
    app.fail(code, kReaderLeft);
  else
    app.fail(code, failure.message.empty() ? "the run was interrupted" : failure.message);
  // What was said is in the log: say how to go on.
  if (talk.style() == Talk::Style::kTerminal && !id.empty() &&
      error.kind != RunError::Kind::kStore) {
    app.err().line("conversation " + id + "; go on with: agentd run --resume " + id + " \"...\"");
    app.err().flush();
  }
  return code;
}

}  // namespace

int run_command(App& app, const Arguments& arguments) {
  // Before anything is built: a mistake here must cost nothing.
  const Result<std::string> message = message_of(app, arguments);
  if (!message) return app.fail(kExitUsage, message.error().message);
  if (arguments.has("arg") && !arguments.has("recipe"))
    return app.fail(kExitUsage, "--arg fills in a recipe: name one with --recipe NAME");
  SignalScope signals;
  const CancelToken cancel = signals.next();
  auto talk = Talk::begin(app, arguments, true, true);
  if (!talk) return app.fail(talk.error().code, talk.error().message);
  if (auto checked = check_replaceable(**talk, arguments); !checked)
    return app.fail(checked.error().code, checked.error().message);
  if (auto attached = (*talk)->attach(cancel); !attached)
    return app.fail(attached.error().code, attached.error().message);
  if ((*talk)->engine().recipe() != nullptr && (*talk)->engine().recipe()->swaps_context() &&
      !(*talk)->has_messages())
    return app.fail(kExitUsage,
                    "nothing was said in that conversation: there is nothing to compact");
  const auto request = request_of(**talk, *message);
  if (!request) return app.fail(kExitUsage, request.error().message);
  const auto report = (*talk)->session().run(*request, cancel);
  int code = kExitOk;
  if (!report) {
    code = ended(app, **talk, report.error(), signals.caught());
  } else {
    if ((*talk)->style() == Talk::Style::kResultOnly) app.out().line(neutral(report->final_text));
    (*talk)->footer(*report);
    code = tell_compaction(app, **talk, *report);
    if (code == kExitOk && report->outcome == "max_turns") code = kExitLimit;
    if (const auto failed = (*talk)->engine().recipe_failure())
      code = app.fail(kExitFailure, *failed);
  }
  (*talk)->end(code == kExitOk ? "exit" : "error");
  return code;
}

}  // namespace agentd::app
