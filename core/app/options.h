// SPDX-License-Identifier: Apache-2.0
#pragma once
// options.h - parses a command line by the table of its command; the only user of Boost.Program_options.
//
// Threading: Arguments is immutable.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/app/cli.h"
#include "core/base/result.h"
#include "core/config/config.h"

namespace agentd::app {

class Arguments {
 public:
  const CommandSpec& command() const { return *command_; }
  bool has(std::string_view option) const { return values_.find(option) != values_.end(); }
  // The last value given; empty if there is none.
  std::string value(std::string_view option) const;
  std::vector<std::string> values(std::string_view option) const;
  const std::vector<std::string>& words() const { return words_; }
  // The configuration keys that the options set.
  std::vector<ConfigSources::Flag> flags() const;

 private:
  friend Result<Arguments> parse_arguments(const CommandSpec& command, const std::vector<std::string>& words);
  const CommandSpec* command_ = nullptr;
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::vector<std::string> words_;
};

// `words` are those after the command's name. kInvalid: one sentence with the nearest name.
Result<Arguments> parse_arguments(const CommandSpec& command, const std::vector<std::string>& words);

// A whole number of an option, 1 or more.
Result<std::uint64_t> parse_count(std::string_view option, const std::string& text);

}  // namespace agentd::app
