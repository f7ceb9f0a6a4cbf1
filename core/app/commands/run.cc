// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "core/app/commands/commands.h"
#include "core/app/exit_codes.h"
#include "core/app/signals.h"
#include "core/app/talk.h"
#include "core/base/bytes.h"

namespace agentd::app {
namespace {

constexpr std::size_t kMessageBytesMax = 8u << 20;

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

// The user's message: the words, or standard input.
Result<std::string> message_of(App& app, const Arguments& arguments) {
  const std::vector<std::string>& words = arguments.words();
  if (words.empty() && arguments.has("recipe")) return std::string();
  const bool from_input = words == std::vector<std::string>{"-"};
  if (words.empty() && app.surroundings().input_tty)
    return Error{Code::kInvalid, "what should be done? agentd run \"...\", or 'agentd run --help'"};
  std::string text = joined(words);
  if (words.empty() || from_input) {
    AGENTD_TRY(text, read_all(app.surroundings().input, kMessageBytesMax));
  }
  if (is_blank(text)) return Error{Code::kInvalid, "the message is empty"};
  return to_utf8(text);
}

// The values of --arg, and what every recipe has.
Result<std::map<std::string, std::string>> values_of(const Arguments& arguments,
                                                     const std::string& conversation_id) {
  std::map<std::string, std::string> out{{"conversation_id", conversation_id}};
  for (const std::string& each : arguments.values("arg")) {
    const std::size_t equals = each.find('=');
    if (equals == 0 || equals == std::string::npos)
      return Error{Code::kInvalid, "--arg " + one_line(each, 80) + ": write NAME=VALUE"};
    out[each.substr(0, equals)] = each.substr(equals + 1);
  }
  return out;
}

// What is sent: the message, or the recipe's text with the message behind it.
Result<std::string> text_of(Talk& talk, const Arguments& arguments, const std::string& message) {
  if (!arguments.has("recipe")) return message;
  AGENTD_TRY(const auto values, values_of(arguments, talk.session().conversation_id()));
  AGENTD_TRY(std::string text, talk.engine().recipe_text(values));
  while (text.ends_with('\n')) text.pop_back();
  return message.empty() ? text : text + "\n\n" + message;
}

int ended(App& app, Talk& talk, const RunError& error, int signal) {
  talk.settle();
  const Failure failure = failure_of(error);
  const bool cancelled = error.kind == RunError::Kind::kCancelled;
  const int code = cancelled && signal != 0 ? 128 + signal : failure.code;
  const std::string id = talk.session().conversation_id();
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
  if (const auto values = values_of(arguments, ""); !values)
    return app.fail(kExitUsage, values.error().message);
  SignalScope signals;
  const CancelToken cancel = signals.next();
  auto talk = Talk::begin(app, arguments, true);
  if (!talk) return app.fail(talk.error().code, talk.error().message);
  if (auto attached = (*talk)->attach(); !attached)
    return app.fail(attached.error().code, attached.error().message);
  const auto text = text_of(**talk, arguments, *message);
  if (!text) return app.fail(kExitUsage, text.error().message);
  const auto report = (*talk)->session().run(*text, cancel);
  int code = kExitOk;
  if (!report) {
    code = ended(app, **talk, report.error(), signals.caught());
  } else {
    if ((*talk)->style() == Talk::Style::kResultOnly) app.out().line(neutral(report->final_text));
    (*talk)->footer(*report);
    if (const auto failed = (*talk)->engine().recipe_failure())
      code = app.fail(kExitFailure, *failed);
  }
  (*talk)->end(code == kExitOk ? "exit" : "error");
  return code;
}

}  // namespace agentd::app
