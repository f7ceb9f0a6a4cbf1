// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <csignal>
#include <iterator>

#include "core/app/commands/commands.h"
#include "core/app/compaction_text.h"
#include "core/app/exit_codes.h"
#include "core/app/keyboard.h"
#include "core/app/line_editor.h"
#include "core/app/signals.h"
#include "core/app/talk.h"
#include "core/app/transcript.h"
#include "core/base/bytes.h"
#include "core/base/nearest.h"
#include "core/recipes/recipe_line.h"

namespace agentd::app {
namespace {

constexpr std::string_view kHelp =
    "/help             this help\n/compact [text]   replace the history with a summary; text: instructions\n/undo      "
    "       undo the last compaction\n/checkpoint [name] save a place to resume from\n/recipes          list the "
    "recipes\n/NAME [k=v] text  run the recipe, followed "
    "by the text\n/status           conversation, model, context, background commands\n/clear            start a new "
    "conversation\n/exit "
    "            end the chat (so does Ctrl-D)\nA line that ends with a backslash continues in the next one; pasted "
    "lines are one message.\nCtrl-C stops an answer, Ctrl-R searches your earlier messages.\n";

constexpr int kPasteBurstMs = 20;  // between two lines of a paste

constexpr std::string_view kCommands[] = {"/help",   "/compact", "/undo", "/checkpoint", "/recipes",
                                          "/status", "/clear",   "/exit", "/quit"};

// Commands that take no words.
constexpr std::string_view kAlone[] = {"/undo", "/recipes", "/status", "/clear", "/exit", "/quit"};

class Chat {
 public:
  Chat(App& app, const Arguments& arguments, Talk& talk, SignalScope& signals)
      : app_(app), arguments_(arguments), talk_(talk), signals_(signals), editor_(open_editor()) {
    talk_.keep_typed([this](std::string text) { keep(std::move(text)); });
    talk_.tell_stored([this](std::string_view text) { keep_lines(text); });
  }
  ~Chat() {
    talk_.keep_typed({});
    talk_.tell_stored({});
  }
  Chat(const Chat&) = delete;
  Chat& operator=(const Chat&) = delete;

  int loop() {
    while (!over_) {
      const std::optional<std::string> line = ask();
      if (!line) break;
      handle(*line);
    }
    return code_;
  }

 private:
  // nullopt at the end of input, or at the second Ctrl-C in a row.
  std::optional<std::string> ask() {
    bool interrupted = false;
    for (;;) {
      signals_.next();
      std::optional<std::string> line = read_message();
      if (line) return line;
      if (app_.surroundings().input_tty) app_.out().line("");
      if (signals_.caught() == 0) return std::nullopt;
      if (signals_.caught() != SIGINT || interrupted) {
        code_ = signal_exit(signals_.caught());
        return std::nullopt;
      }
      interrupted = true;
      app_.out().line("(press Ctrl-C again, or enter /exit, to end the chat)");
    }
  }

  std::unique_ptr<LineEditor> open_editor() const {
    const Surroundings& here = app_.surroundings();
    if (!here.input_tty || !app_.out().tty()) return nullptr;
    const auto home = app_.home();
    const bool save = home && talk_.saves();
    return LineEditor::open(
        {here.input, here.environment("TERM").value_or(""), save ? *home + "/chat_history" : std::string()});
  }

  // Keeps text that was typed before a permission question and did not answer it.
  void keep(std::string text) {
    if (editor_)
      editor_->prefill(text);
    else
      app_.err().line("(the text typed before the question was not sent)");
    app_.err().flush();
  }

  // The history file has the lines whose words were stored: not what a hook has blocked or rewritten.
  void keep_lines(std::string_view stored) {
    if (!editor_) return;
    stored_.append(stored).append("\n");
    editor_->keep([this](std::string_view line) { return is_stored(line); });
  }
  bool is_stored(std::string_view line) const {
    const auto stored = [this](std::string_view words) { return stored_.find(words) != std::string::npos; };
    while (line.ends_with('\\')) line.remove_suffix(1);
    const std::size_t end = std::min(line.find(' '), line.size());
    const bool path = line.substr(0, end).find('/', 1) != std::string_view::npos;
    if (!line.starts_with('/') || path) return stored(line);
    const RecipeLine recipe = parse_recipe_line(line.substr(end));
    return stored(recipe.words) && std::all_of(recipe.arguments.begin(), recipe.arguments.end(),
                                               [&](const auto& each) { return stored(each.second); });
  }

  std::string prompt() const {
    const Gauge gauge = talk_.session().gauge();
    return (gauge.limit == 0 ? "" : std::to_string(gauge.percent()) + " % ") + "> ";
  }

  std::optional<std::string> read_part(const std::string& prompt) {
    if (editor_) return editor_->read(prompt, app_.out().coloured() ? "1" : "");
    const int input = app_.surroundings().input;
    if (!app_.surroundings().input_tty) return read_line(input);
    app_.out().print(app_.out().styled("1", prompt));
    app_.out().flush();
    std::optional<std::string> text = read_line(input);
    // Lines that arrive together were pasted: they are one message.
    for (std::size_t begin = 0; text && input_within(input, kPasteBurstMs);) {
      if (is_cut(std::string_view(*text).substr(begin))) break;
      const std::optional<std::string> line = read_line(input);
      if (!line) break;
      begin = text->size() + 1;
      *text += "\n" + *line;
    }
    return text;
  }

  // The kernel silently cuts longer lines.
  static bool is_cut(std::string_view line) { return line.size() >= 4095; }

  std::optional<std::string> read_message() {
    std::string text;
    if (editor_) editor_->drop_lines();
    stored_.clear();
    for (;;) {
      const std::optional<std::string> line = read_part(text.empty() ? prompt() : "… ");
      if (!line) return std::nullopt;
      if (!editor_ && app_.surroundings().input_tty && is_cut(line->substr(line->rfind('\n') + 1))) {
        app_.fail(kExitUsage,
                  "this terminal cuts lines at 4,095 bytes, so the message was not sent; put it into a "
                  "file and use: agentd run - < FILE");
        return "";
      }
      text += *line;
      if (text.empty() || text.back() != '\\') return text;
      text.back() = '\n';
    }
  }

  void handle(const std::string& line) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos) return;
    if (line[begin] != '/') return send(line);
    const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
    const std::size_t rest = line.find_first_not_of(" \t\r", end);
    command(line.substr(begin, end - begin), rest == std::string::npos ? "" : line.substr(rest));
  }

  // Refuses words that the command would ignore.
  bool refuses_words(const std::string& name, const std::string& rest) {
    if (rest.empty() || std::find(std::begin(kAlone), std::end(kAlone), name) == std::end(kAlone)) return false;
    code_ = app_.fail(kExitUsage, name + " takes no words, so nothing was done: enter " + name + " alone");
    return true;
  }

  void command(const std::string& name, const std::string& rest) {
    if (refuses_words(name, rest)) return;
    const bool own = std::find(std::begin(kCommands), std::end(kCommands), name) != std::end(kCommands);
    if (own && editor_) editor_->keep([](std::string_view) { return true; });
    if (name == "/exit" || name == "/quit") {
      over_ = true;
    } else if (name == "/help") {
      app_.out().print(kHelp);
    } else if (name == "/compact") {
      compact(rest);
    } else if (name == "/undo") {
      undo();
    } else if (name == "/checkpoint") {
      checkpoint(rest);
    } else if (name == "/recipes") {
      recipes();
    } else if (name == "/status") {
      status();
    } else if (name == "/clear") {
      clear();
    } else if (name.find('/', 1) != std::string::npos) {
      send(rest.empty() ? name : name + " " + rest);  // a path, not a command
    } else {
      run_recipe(name.substr(1), rest);
    }
    app_.out().flush();
  }

  void send(const std::string& text) {
    // A pasted text may name files of another machine: they are not attached.
    if (text.find('\n') != std::string::npos) return run({to_utf8(text)});
    const auto whole = attached(app_, arguments_, to_utf8(text));
    if (!whole)
      code_ = app_.fail(kExitUsage, whole.error().message);
    else
      run(message(*whole));
  }

  static RunRequest message(WithFiles whole) {
    RunRequest out{std::move(whole.text)};
    out.media = std::move(whole.media);
    return out;
  }

  void run(const RunRequest& request) { tell({talk_.session().run(request, signals_.next())}); }

  void tell(const RecipeRun& ran) {
    const auto& report = ran.report;
    talk_.settle();
    if (!report) return failed(report.error());
    code_ = run_exit(report->outcome);
    if (!app_.surroundings().input_tty)
      talk_.footer(*report);
    else if (!report->waits_for.empty())
      app_.err().line("(your next message denies the call; to allow it, answer in another terminal, then go on here)");
    if (ran.compacts) tell_compaction(*report);
    if (ran.failure) code_ = app_.fail(kExitFailure, *ran.failure);
  }

  void tell_compaction(const RunReport& report) {
    if (report.compaction && report.compaction->changed())
      app_.out().print(compacted_text(talk_.session().conversation_id(), *report.compaction));
    else if (report.compaction && report.compaction->outcome == AGENTD_RESULT_NOOP)
      app_.out().line("Nothing to compact: " + report.compaction->text);
    else if (report.outcome != RunOutcome::kCompacted)
      code_ = app_.fail(kExitProvider, "the conversation was not compacted; it is unchanged");
  }

  // The recipe applies to this run only.
  void run_recipe(const std::string& name, const std::string& rest) {
    RecipeLine line = parse_recipe_line(rest);
    const auto ran = talk_.run_recipe({name, std::move(line.arguments), std::move(line.words)}, signals_.next());
    if (!ran)
      refuse(name, failure_of(ran.error()));
    else
      tell(*ran);
  }

  void refuse(const std::string& name, const Failure& failure) {
    if (failure.code != kExitNotFound) {
      code_ = app_.fail(failure.code, failure.message);
      return;
    }
    std::vector<std::string> known(std::begin(kCommands), std::end(kCommands));
    if (const auto recipes = talk_.recipes())
      for (const ListedRecipe& each : *recipes) known.push_back("/" + each.name);
    const std::string mean = did_you_mean("/" + name, known);
    code_ = app_.fail(kExitUsage, "unknown command '/" + one_line(name, 80) + "'" +
                                      (mean.empty() ? "; /help and /recipes list them" : mean));
  }

  void recipes() {
    const auto recipes = talk_.recipes();
    if (!recipes) return failed(recipes.error());
    for (const ListedRecipe& each : *recipes)
      app_.out().line("/" + neutral_line(each.name, 80) + "  " + neutral_line(each.about, 200));
  }

  void undo() {
    const auto report = talk_.session().undo(false, signals_.next());
    talk_.settle();
    if (!report) return failed(report.error());
    code_ = kExitOk;
    app_.out().line("Undid the last compaction: " + counted(report->messages_before, "message") + " became " +
                    counted(report->messages_after, "message"));
  }

  void checkpoint(const std::string& name) {
    const auto saved = talk_.session().checkpoint(to_utf8(name));
    talk_.settle();
    if (!saved) return failed(saved.error());
    code_ = kExitOk;
    app_.out().line("Saved checkpoint " + *saved + "; resume it with: agentd checkpoint resume " + *saved);
  }

  // A person says so where the settings want one to.
  bool may_clear() {
    if (!talk_.config().flag("lifecycle.verify_before_clear")) return true;
    if (!app_.surroundings().input_tty) {
      code_ = app_.fail(kExitBlocked,
                        "not cleared: lifecycle.verify_before_clear asks a person first, and there is no terminal");
      return false;
    }
    const std::optional<std::string> answer = read_part("Start a new conversation? [y/N] ");
    if (answer && (answer->starts_with('y') || answer->starts_with('Y'))) return true;
    app_.out().line("Nothing was cleared");
    return false;
  }

  void compact(const std::string& instructions) {
    CompactOptions options;
    options.instructions = instructions;
    const auto report = talk_.session().compact(options, false, signals_.next());
    talk_.settle();
    if (!report) return failed(report.error());
    code_ = compaction_exit(report->outcome);
    if (report->outcome == AGENTD_RESULT_APPLIED || report->outcome == AGENTD_RESULT_DEGRADED)
      app_.out().line("Reduced from " + counted(report->messages_before, "message") + " to " +
                      with_commas(report->messages_after));
    else
      app_.out().line("Not compacted (" + std::string(result_name(report->outcome)) + ")" +
                      (report->text.empty() ? "" : ": " + neutral(report->text)));
  }

  void status() {
    const auto now = talk_.status();
    if (!now) return failed(now.error());
    const Gauge gauge = talk_.session().gauge();
    app_.out().line("conversation " + talk_.session().conversation_id());
    app_.out().line("model " + neutral_line(now->model, 200) + " of " + neutral_line(now->provider, 200));
    app_.out().line("context " + with_commas(gauge.used) + " of " + with_commas(gauge.limit) + " tokens (" +
                    std::to_string(gauge.percent()) + " %), " + counted(gauge.compactions, "compaction"));
    for (const ChatStatus::Command& each : now->commands)
      app_.out().line("command " + std::to_string(each.handle) +
                      (each.ended.empty() ? " runs: " : " has ended (" + each.ended + "): ") +
                      neutral_line(each.command, 200));
  }

  void clear() {
    if (!may_clear()) return;
    if (const auto cleared = talk_.clear(signals_.next()); !cleared) {
      if (cleared.error().code == kExitInterrupted) return cancelled(cleared.error().message);
      code_ = app_.fail(cleared.error().code, cleared.error().message);
      over_ = cleared.error().code != kExitBlocked;
      if (talk_.is_lost()) tell_way_on();
      return;
    }
    code_ = kExitOk;
    app_.out().line("Started a new conversation. 'agentd conversation list' shows the old one");
  }

  void failed(const RunError& error) {
    if (error.kind == RunError::Kind::kCancelled)
      return cancelled(signals_.caught() == 0 ? error.message : "interrupted");
    const Failure failure = failure_of(talk_.explained(error));
    code_ = app_.fail(failure.code, failure.message);
    if (!talk_.is_lost()) return;
    over_ = true;
    tell_way_on();
  }

  void tell_way_on() {
    app_.err().line("continue with: agentd chat --resume " + talk_.session().conversation_id());
    app_.err().flush();
  }

  // By a signal here; without one, from another terminal, and the chat goes on.
  void cancelled(std::string_view message) {
    if (signals_.caught() != 0) return interrupted(message);
    code_ = app_.fail(kExitInterrupted, message);
  }

  // Ctrl-C returns to the prompt; without a terminal, and at every other signal, the chat ends.
  void interrupted(std::string_view message) {
    const int signal = signals_.caught();
    over_ = signal != SIGINT || !app_.surroundings().input_tty;
    code_ = over_ ? signal_exit(signal) : static_cast<int>(kExitOk);
    app_.fail(code_, signal == SIGPIPE ? std::string_view(kReaderLeft) : message);
  }

  App& app_;
  const Arguments& arguments_;
  Talk& talk_;
  SignalScope& signals_;
  std::unique_ptr<LineEditor> editor_;  // null: the terminal edits lines
  std::string stored_;                  // the messages of the last line that were stored, as hooks left them
  int code_ = kExitOk;                  // of the last message, for scripts that pipe messages in
  bool over_ = false;
};

}  // namespace

int chat_command(App& app, const Arguments& arguments) {
  SignalScope signals;
  const CancelToken start = signals.next();
  Talk::Wishes wishes;
  wishes.served = true;
  auto talk = Talk::begin(app, arguments, wishes);
  if (!talk) return app.fail(talk.error().code, talk.error().message);
  if (auto attached = (*talk)->attach(start); !attached)
    return app.fail(attached.error().code, attached.error().message);
  (*talk)->refine_memories();
  if (signals.caught() != 0) {
    (*talk)->end("interrupted");
    return app.fail(signal_exit(signals.caught()), "interrupted before the first message");
  }
  if (app.surroundings().input_tty) app.out().line("agentd chat; /help lists commands, Ctrl-D ends it");
  if (app.surroundings().input_tty && !(*talk)->has_messages())
    if (const auto offer = (*talk)->offer())
      app.out().line("a checkpoint of " + time_text(offer->created_ms) + " can be resumed (" +
                     neutral_line(offer->title, 80) + "): agentd checkpoint resume " + offer->id);
  if ((*talk)->waits())
    app.err().line("a tool call waits for an answer, and your next message denies it: agentd approve " +
                   (*talk)->session().conversation_id());
  app.err().flush();
  const int code = Chat(app, arguments, **talk, signals).loop();
  (*talk)->end(signals.caught() != 0 ? end_reason(code, signals.caught()) : "exit");
  return code;
}

}  // namespace agentd::app
