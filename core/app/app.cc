// SPDX-License-Identifier: Apache-2.0
#include "core/app/app.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "core/app/commands/commands.h"
#include "core/app/exit_codes.h"
#include "core/base/bytes.h"
#include "core/base/nearest.h"
#include "core/runtime/credentials.h"
#include "core/runtime/secrets_setup.h"
#include "core/runtime/version.h"

namespace agentd::app {
namespace {

bool is_help(const std::string& word) { return word == "--help" || word == "-h" || word == "help"; }

std::vector<std::string> after(const std::vector<std::string>& words, std::size_t count) {
  return {words.begin() + static_cast<std::ptrdiff_t>(std::min(count, words.size())), words.end()};
}

// Errors about the words must not repeat a key.
std::string without_key(std::string_view command, const std::vector<std::string>& words, std::string message) {
  const bool key = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return looks_like_key(word) || looks_like_key(word.substr(word.find('=') + 1));
  });
  return key && command.starts_with("auth") ? kKeyIsNoArgument : std::move(message);
}

}  // namespace

int App::fail(int code, std::string_view message) {
  out_.flush();
  err_.fresh_line();
  err_.line("agentd: " + neutral_line(message, 4096));
  err_.flush();
  return code;
}

int App::print(std::string_view text) {
  out_.print(text);
  return kExitOk;
}

Result<std::string> App::directory() const {
  if (!surroundings_.cwd.empty()) return surroundings_.cwd;
  return Error{Code::kNotFound, "the current directory no longer exists; change to another one"};
}

Result<std::string> App::home() const { return home_of(surroundings_); }

Result<Config> App::config(const Arguments& arguments) const {
  AGENTD_TRY(ConfigSources sources, config_sources(surroundings_));
  sources.flags = arguments.flags();
  AGENTD_TRY(Config config, Config::load(sources));
  if (!std::exchange(warned_, true))
    for (const std::string& text : config.warnings()) err_.line("warning: " + text);
  err_.flush();
  return config;
}

Result<std::string> App::pass_text(const Arguments& arguments, std::string text) const {
  if (text.empty()) return text;
  AGENTD_TRY(const Config settings, config(arguments));
  AGENTD_TRY(const std::string place, home());
  return pass_user_text(settings, place, std::move(text));
}

namespace {

// A hint for another agent's first word (-p, exec): the equivalent command here; empty for other words.
std::string meant_command(const std::string& first) {
  constexpr std::pair<std::string_view, std::string_view> kMeant[] = {
      {"-p", "agentd run \"...\""},
      {"--print", "agentd run --result-only \"...\""},
      {"-c", "agentd run --follow \"...\", or agentd chat --follow"},
      {"--continue", "agentd run --follow \"...\", or agentd chat --follow"},
      {"-r", "agentd run --resume ID \"...\""},
      {"--resume", "agentd run --resume ID \"...\""},
      {"exec", "agentd run \"...\""},
      {"version", "agentd --version"},
      {"login", "agentd auth set PROVIDER"}};
  for (const auto& [word, command] : kMeant)
    if (first == word) return "unknown command '" + first + "'; use " + std::string(command);
  if (first.find(' ') != std::string::npos)
    return "unknown command '" + one_line(first, 60) + "'; send a message with agentd run \"...\"";
  return {};
}

// The help of a command that is a group as well has both.
std::string help_of(const CommandSpec& command) {
  return command_help(command) + (next_words(command.name).empty() ? "" : "\n" + group_help(command.name));
}

}  // namespace

int App::main(const std::vector<std::string>& words) {
  const int code = dispatch(words);
  out_.flush();
  const int failure = out_.failure();
  if (failure == 0) return code;
  // The signal that ended the command interrupted a blocked write.
  if (failure == EINTR) return code == kExitOk ? static_cast<int>(kExitFailure) : code;
  // A reader that has exited ("| head") is not an error.
  const bool left = failure == EPIPE;
  // A closed terminal sends a signal, and the output is lost.
  if (code == signal_exit(SIGHUP)) return code;
  // The command has done its work: a caller that saw a failure would repeat it.
  if (out_.confirms_only())
    return left ? code : fail(code, errno_error("warning: the output could not be written", failure).message);
  if (!left) return fail(kExitFailure, errno_error("writing the output", failure).message);
  return code == kExitOk ? signal_exit(SIGPIPE) : code;
}

int App::dispatch(const std::vector<std::string>& words) {
  if (words.empty()) {
    err_.print(program_help());
    return kExitUsage;
  }
  const std::string& first = words[0];
  // These two must start fast; nothing is read before them.
  if (first == "--version" || first == "-V") return print("agentd " AGENTD_VERSION "\n");
  if (first == "--plugins") return plugins_command(*this, PluginsMode::kText);
  if (first == "--plugins=json") return plugins_command(*this, PluginsMode::kJson);
  if (first == "--plugins=verify") return plugins_command(*this, PluginsMode::kVerify);
  if (is_help(first)) return help(after(words, 1));
  if (first.substr(0, 10) == "--plugins=")
    return fail(kExitUsage, "--plugins takes no value, json or verify, not '" + first + "'");
  if (const std::string meant = meant_command(first); !meant.empty()) return fail(kExitUsage, meant);
  if (first[0] == '-' && first.size() > 1)
    return fail(kExitUsage, "unknown option '" + first + "'" +
                                did_you_mean(first, {"--help", "--version", "--plugins"}) +
                                "; put a command's options after its name");
  // A command without arguments may be a group as well: a word behind it is of the group.
  const bool of_group = !next_words(first).empty() && words.size() > 1 && !words[1].starts_with('-');
  if (const CommandSpec* command = of_group ? nullptr : find_command(first)) return run(*command, after(words, 1));
  if (!next_words(first).empty()) return group(first, after(words, 1));
  const std::string mean = did_you_mean(first, first_words());
  return fail(kExitUsage, "unknown command '" + first + "'" + (mean.empty() ? "; see 'agentd --help'" : mean));
}

int App::group(const std::string& name, const std::vector<std::string>& words) {
  if (words.empty()) {
    err_.print(group_help(name));
    return kExitUsage;
  }
  if (is_help(words[0])) {
    std::vector<std::string> asked = split(name, ' ');
    asked.insert(asked.end(), words.begin() + 1, words.end());
    return help(asked);
  }
  const std::string longer = name + " " + words[0];
  if (const CommandSpec* command = find_command(longer)) return run(*command, after(words, 1));
  if (!next_words(longer).empty()) return group(longer, after(words, 1));
  const std::string mean = did_you_mean(words[0], next_words(name));
  return fail(kExitUsage, without_key(name, words,
                                      "unknown command '" + longer + "'" +
                                          (mean.empty() ? "; see 'agentd " + name + " --help'" : mean)));
}

int App::help(const std::vector<std::string>& words) {
  if (words.empty()) return print(program_help());
  // The longest beginning of the words that is a command or a group; what comes after it is ignored.
  std::string name = words[0];
  for (const std::string& word : after(words, 1)) {
    const std::string longer = name + " " + word;
    if (find_command(longer) == nullptr && next_words(longer).empty()) break;
    name = longer;
  }
  if (const CommandSpec* command = find_command(name)) return print(help_of(*command));
  if (!next_words(name).empty()) return print(group_help(name));
  return fail(kExitUsage, "unknown command '" + words[0] + "'" + did_you_mean(words[0], first_words()));
}

int App::run(const CommandSpec& command, const std::vector<std::string>& words) {
  const Result<Arguments> arguments = parse_arguments(command, words);
  if (!arguments) return fail(kExitUsage, without_key(command.name, words, arguments.error().message));
  if (arguments->has("help")) return print(help_of(command));
  return command.run(*this, *arguments);
}

Result<std::string> read_all(int fd, std::size_t bytes_max) {
  std::string out;
  for (;;) {
    char buffer[16384];
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("reading standard input", errno);
    if (got == 0) return out;
    out.append(buffer, static_cast<std::size_t>(got));
    if (out.size() > bytes_max)
      return Error{Code::kInvalid,
                   "standard input has more than " + std::to_string(bytes_max) + " bytes, the limit of a message"};
  }
}

}  // namespace agentd::app
