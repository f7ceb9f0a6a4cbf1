// SPDX-License-Identifier: Apache-2.0
#include "core/tools/permission_rule.h"

#include <fnmatch.h>
#include <strings.h>

#include <algorithm>
#include <cctype>

#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr std::size_t kShownRuleBytes = 120;
constexpr std::string_view kDomain = "domain:";

Result<DomainPattern> parse_domain(std::string_view text) {
  DomainPattern out;
  for (const char c : without_blanks(text)) out.host += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::string_view name = std::string_view(out.host).substr(out.host.starts_with("*.") ? 2 : 0);
  if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-_:") != std::string_view::npos)
    return Error{Code::kInvalid, "'" + one_line(text, kShownRuleBytes) +
                                     "' is not a host: write domain:example.org, or domain:*.example.org with all "
                                     "below it"};
  return out;
}

}  // namespace

Result<RuleParts> rule_parts(std::string_view text) {
  const std::string shown = "'" + one_line(text, kShownRuleBytes) + "'";
  const std::string_view rule = without_blanks(text);
  if (is_blank(rule)) return Error{Code::kInvalid, "a rule must be a tool's name or a glob; one here is blank"};
  const std::size_t open = rule.find('(');
  if (open == std::string_view::npos) {
    if (rule.find(')') != std::string_view::npos)
      return Error{Code::kInvalid, shown + " has a ')' without its '(': write TOOL or TOOL(ARGUMENT)"};
    return RuleParts{std::string(rule), std::nullopt};
  }
  if (!rule.ends_with(')'))
    return Error{Code::kInvalid, shown + " does not end with ')': write TOOL or TOOL(ARGUMENT)"};
  const std::string_view tool = without_blanks(rule.substr(0, open));
  if (tool.empty()) return Error{Code::kInvalid, shown + " has no tool in front of its '(': write TOOL(ARGUMENT)"};
  const std::string_view argument = without_blanks(rule.substr(open + 1, rule.size() - open - 2));
  if (argument.empty())
    return Error{Code::kInvalid, shown + " has an empty argument: write '" + one_line(tool, kShownRuleBytes) +
                                     "' for every call of that tool"};
  if (argument == "*") return RuleParts{std::string(tool), std::nullopt};
  return RuleParts{std::string(tool), std::string(argument)};
}

bool DomainPattern::matches(std::string_view other) const {
  if (!host.starts_with("*.")) return other == host;
  const std::string_view end = std::string_view(host).substr(1);  // ".example.org"
  return other == end.substr(1) || (other.size() > end.size() && other.ends_with(end));
}

bool PermissionRule::names(const std::string& tool_name) const {
  return ::fnmatch(tool.c_str(), tool_name.c_str(), FNM_CASEFOLD) == 0;
}

Result<PermissionRule> make_rule(const RuleParts& parts, std::string text, std::string place) {
  PermissionRule out{std::move(text), std::move(place), parts.tool};
  if (!parts.argument) return out;
  if (::strcasecmp(parts.tool.c_str(), std::string(kCommandTool).c_str()) == 0) {
    AGENTD_TRY(out.argument, CommandPattern::parse(*parts.argument));
  } else if (out.names(std::string(kCommandTool))) {
    return Error{Code::kInvalid, "'" + one_line(out.text, kShownRuleBytes) +
                                     "' is about the arguments of tools of several kinds: write a rule for each tool, "
                                     "such as bash(" +
                                     one_line(*parts.argument, kShownRuleBytes) + ")"};
  } else if (parts.argument->starts_with(kDomain)) {
    AGENTD_TRY(out.argument, parse_domain(std::string_view(*parts.argument).substr(kDomain.size())));
  } else {
    AGENTD_TRY(out.argument, PathPattern::parse(*parts.argument));
  }
  return out;
}

}  // namespace agentd
