// SPDX-License-Identifier: Apache-2.0
#include "core/dialects/matcher.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr std::size_t kTextBytesMax = 4096;

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == ':' || c == '.';
  });
}

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// The names of "a|b, c"; empty if a part is not a name.
std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  while (true) {
    const std::size_t end = text.find_first_of("|,");
    const std::string_view name = without_spaces(text.substr(0, end));
    if (!name.empty() && !is_name(name)) return {};
    if (!name.empty()) names.emplace_back(name);
    if (end == std::string_view::npos) return names;
    text.remove_prefix(end + 1);
  }
}

Error bad_matcher(std::string_view text, const std::string& why) {
  return {Code::kInvalid, "the matcher '" + one_line(text, 60) + "' " + why};
}

}  // namespace

Result<Matcher> Matcher::parse(std::string_view text, MatcherRules rules) {
  Matcher out;
  out.text_ = std::string(text);
  if (text.empty() || text == "*") return out;
  if (text.size() > kTextBytesMax) return bad_matcher(text, "has more than " + with_commas(kTextBytesMax) + " bytes");
  // No name has a line end (from YAML's "|") or a control character ("\b" between double quotes), so nothing would
  // match.
  if (has_control_character(text))
    return bad_matcher(text, "has a line end or a control character: write it on one line, in single quotes");
  if (rules == MatcherRules::kExact) {
    out.names_ = {std::string(text)};
    return out;
  }
  if (rules == MatcherRules::kAgentd) {
    out.names_ = names_in(text);
    if (!out.names_.empty()) return out;
    // As an expression it would match everything, which its author cannot mean.
    if (text.find_first_not_of("|, ") == std::string_view::npos) return bad_matcher(text, "names nothing");
  }
  auto regex = Regex::compile(text);
  if (!regex && regex.error().code == Code::kInvalid)
    return bad_matcher(text, "is not a valid regular expression: " + regex.error().message +
                                 " (RE2 syntax: no look-around, no back-references)");
  if (!regex) return regex.error();
  out.regex_ = std::make_shared<const Regex>(std::move(*regex));
  out.whole_ = rules == MatcherRules::kDocker;
  return out;
}

bool Matcher::matches(std::string_view subject) const {
  if (matches_all()) return true;
  if (regex_) return whole_ ? regex_->matches_whole(subject) : regex_->find(subject, 0, {});
  return std::find(names_.begin(), names_.end(), subject) != names_.end();
}

}  // namespace agentd
