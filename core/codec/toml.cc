// SPDX-License-Identifier: Apache-2.0
#include "core/codec/toml.h"

#include <toml++/toml.h>
#include <sstream>

namespace agentd {

Result<std::string> toml_to_json(std::string_view text, std::string_view name) try {
  const toml::table table = toml::parse(text);
  std::ostringstream out;
  out << toml::json_formatter(
      table, toml::format_flags::quote_dates_and_times | toml::format_flags::quote_infinities_and_nans);
  return out.str();
} catch (const toml::parse_error& error) {
  const toml::source_position at = error.source().begin;
  return Error{Code::kInvalid, std::string(name) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) +
                                   ": " + std::string(error.description())};
}

}  // namespace agentd
