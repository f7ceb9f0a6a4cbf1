// SPDX-License-Identifier: Apache-2.0
#include "core/app/options.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>

#include "core/base/bytes.h"
#include "core/base/nearest.h"

namespace agentd::app {
namespace {

namespace po = boost::program_options;
constexpr std::size_t kShownWordBytes = 60;

// No guessing: --res must not mean --resume today and something else tomorrow.
constexpr int kStyle = po::command_line_style::allow_short | po::command_line_style::allow_dash_for_short |
                       po::command_line_style::short_allow_adjacent | po::command_line_style::short_allow_next |
                       po::command_line_style::allow_long | po::command_line_style::long_allow_adjacent |
                       po::command_line_style::long_allow_next | po::command_line_style::allow_sticky;

std::string shown_word(std::string_view text) { return "'" + one_line(text, kShownWordBytes) + "'"; }

po::options_description describe(const CommandSpec& command) {
  po::options_description out;
  for (const OptionSpec& option : command.options) {
    std::string name(option.name);
    if (option.letter != 0) name += std::string(",") + option.letter;
    if (option.value.empty())
      out.add_options()(name.c_str(), "");
    else
      out.add_options()(name.c_str(), po::value<std::vector<std::string>>()->composing(), "");
  }
  out.add_options()("help,h", "");
  return out;
}

std::vector<std::string> option_names(const CommandSpec& command) {
  std::vector<std::string> names{"--help"};
  for (const OptionSpec& option : command.options) names.push_back("--" + std::string(option.name));
  return names;
}

const OptionSpec* find_option(const CommandSpec& command, std::string_view name) {
  for (const OptionSpec& option : command.options)
    if (option.name == name) return &option;
  return nullptr;
}

Error unknown_option(const CommandSpec& command, const std::string& given) {
  const std::string mean = did_you_mean(given, option_names(command));
  const std::string rest = mean.empty() ? "; see 'agentd " + std::string(command.name) + " --help'" : mean;
  return {Code::kInvalid, "'agentd " + std::string(command.name) + "' has no option " + shown_word(given) + rest};
}

Error syntax_error(const std::string& given, po::invalid_command_line_syntax::kind_t kind) {
  const bool extra = kind == po::invalid_command_line_syntax::extra_parameter;
  return {Code::kInvalid, shown_word(given) + (extra ? " takes no value" : " needs a value")};
}

Result<void> check_choice(const OptionSpec& option, const std::string& value) {
  if (option.choices.empty()) return {};
  const std::vector<std::string> names = split(option.choices, '|');
  for (const std::string& name : names)
    if (name == value) return {};
  return Error{Code::kInvalid, "--" + std::string(option.name) + " must be " + choices_sentence(option.choices) +
                                   ", not " + shown_word(value) + did_you_mean(value, names)};
}

Result<void> check_words(const CommandSpec& command, const std::vector<std::string>& words) {
  const std::string name = "'agentd " + std::string(command.name) + "'";
  if (words.size() > command.arguments_max)
    return Error{Code::kInvalid, name + " takes no argument " + shown_word(words[command.arguments_max]) + "; see " +
                                     "'agentd " + std::string(command.name) + " --help'"};
  if (words.size() < command.arguments_min)
    return Error{Code::kInvalid, name + " needs " + std::string(command.arguments)};
  if (command.argument_choices.empty()) return {};
  for (const std::string& word : words) {
    const std::vector<std::string> names = split(command.argument_choices, '|');
    if (std::find(names.begin(), names.end(), word) == names.end())
      return Error{Code::kInvalid, name + " takes " + choices_sentence(command.argument_choices) + ", not " +
                                       shown_word(word) + did_you_mean(word, names)};
  }
  return {};
}

// The given options, in order; positional words have an empty key.
Result<std::vector<po::option>> read(const CommandSpec& command, const std::vector<std::string>& words) {
  try {
    const po::options_description described = describe(command);
    return po::command_line_parser(words).options(described).style(kStyle).run().options;
  } catch (const po::unknown_option& error) {
    return unknown_option(command, error.get_option_name());
  } catch (const po::invalid_command_line_syntax& error) {
    return syntax_error(error.get_option_name(), error.kind());
  } catch (const po::error& error) {
    return Error{Code::kInvalid, error.what()};
  }
}

}  // namespace

std::string Arguments::value(std::string_view option) const {
  const auto found = values_.find(option);
  return found == values_.end() || found->second.empty() ? "" : found->second.back();
}

std::vector<std::string> Arguments::values(std::string_view option) const {
  const auto found = values_.find(option);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

std::vector<ConfigSources::Flag> Arguments::flags() const {
  std::vector<ConfigSources::Flag> out;
  for (const OptionSpec& option : command_->options) {
    if (option.key.empty() || !has(option.name)) continue;
    const std::string flag = "--" + std::string(option.name);
    const std::string standard(option.key_value.empty() ? "true" : option.key_value);
    if (option.value.empty()) out.push_back({std::string(option.key), standard, flag});
    for (const std::string& value : values(option.name)) {
      out.push_back({std::string(option.key), value, flag});
      // Without the scripted provider, the script would be silently ignored.
      if (option.name == "script") out.push_back({"provider", "scripted", flag});
    }
  }
  for (const std::string& setting : values("set")) {
    const std::size_t equals = setting.find('=');
    out.push_back({setting.substr(0, equals), equals == std::string::npos ? "" : setting.substr(equals + 1), "--set"});
  }
  return out;
}

Result<Arguments> parse_arguments(const CommandSpec& command, const std::vector<std::string>& words) {
  AGENTD_TRY(const auto given, read(command, words));
  Arguments out;
  out.command_ = &command;
  for (const po::option& option : given) {
    if (option.string_key.empty()) {
      out.words_.insert(out.words_.end(), option.value.begin(), option.value.end());
      continue;
    }
    const OptionSpec* spec = find_option(command, option.string_key);
    std::vector<std::string>& values = out.values_[option.string_key];
    if (spec == nullptr || spec->value.empty()) continue;
    for (const std::string& value : option.value) AGENTD_TRY_VOID(check_choice(*spec, value));
    if (!values.empty() && !spec->repeats)
      return Error{Code::kInvalid, "--" + std::string(spec->name) + " is repeated"};
    values.insert(values.end(), option.value.begin(), option.value.end());
  }
  if (out.has("help")) return out;
  for (const std::string& setting : out.values("set"))
    if (setting.find('=') == std::string::npos)
      return Error{Code::kInvalid, "--set needs KEY=VALUE, not " + shown_word(setting)};
  AGENTD_TRY_VOID(check_words(command, out.words_));
  return out;
}

Result<std::uint64_t> parse_count(std::string_view option, const std::string& text) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && stop == text.data() + text.size() && value >= 1 && value <= 1'000'000'000) return value;
  return Error{Code::kInvalid, "--" + std::string(option) + " must be a whole number from 1, not " + shown_word(text)};
}

}  // namespace agentd::app
