// SPDX-License-Identifier: Apache-2.0
#include "core/validate/report.h"

#include <algorithm>
#include <charconv>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/validate/rules.h"

namespace agentd::validation {
namespace {

constexpr std::size_t kTextBytesMax = 1500;

struct Line {
  char kind = 0;
  std::uint16_t rule = 0;
  std::string_view rest;
};

// Parses "R\t401\tok\ttext" without its line end.
Line parse(std::string_view text) {
  Line out;
  if (text.size() < 4 || text[1] != '\t') return out;
  const std::size_t tab = text.find('\t', 2);
  if (tab == std::string_view::npos) return out;
  std::from_chars(text.data() + 2, text.data() + tab, out.rule);
  out.kind = text[0];
  out.rest = text.substr(tab + 1);
  return out;
}

Finding finding_of(std::string_view name) {
  for (const Finding each : {Finding::kOk, Finding::kWarn, Finding::kFail})
    if (name_of(each) == name) return each;
  return Finding::kSkipped;
}

}  // namespace

std::string_view name_of(Finding finding) {
  switch (finding) {
    case Finding::kOk:
      return "ok";
    case Finding::kWarn:
      return "warn";
    case Finding::kFail:
      return "FAIL";
    case Finding::kSkipped:
      return "skipped";
  }
  return "skipped";
}

std::string_view RuleResult::remedy() const {
  return hung ? "let each call end sooner, or give each step more time with --timeout MS"
              : validation::rule(rule).remedy;
}

RuleResult not_judged(std::uint16_t rule, std::uint16_t since) {
  return {rule, Finding::kSkipped, "not checked, since " + rule_name(since) + " failed", since};
}

void Reporter::line(const std::string& text) { (void)!write_all(fd_, text + "\n"); }

void Reporter::begin(std::uint16_t rule_number, std::string_view doing) {
  line("B\t" + std::to_string(rule_number) + "\t" + one_line(doing, kTextBytesMax));
}

void Reporter::broken(std::uint16_t rule_number, std::string_view text) {
  say(rule_number, rule(rule_number).warns ? Finding::kWarn : Finding::kFail, text);
}

void Reporter::say(std::uint16_t rule_number, Finding finding, std::string_view text) {
  line("R\t" + std::to_string(rule_number) + "\t" + std::string(name_of(finding)) + "\t" +
       one_line(text, kTextBytesMax));
}

std::vector<RuleResult> results_of(const ForkEnd& end, const std::vector<std::uint16_t>& covers) {
  std::vector<RuleResult> out;
  Line at;  // the current step
  std::string_view left = end.report;
  while (!left.empty()) {
    const std::size_t stop = left.find('\n');
    if (stop == std::string_view::npos) break;  // an incomplete line of a dead process
    const Line line = parse(left.substr(0, stop));
    left.remove_prefix(stop + 1);
    if (line.kind == 'B') at = line;
    if (line.kind == 'E') at = {};
    if (line.kind != 'R') continue;
    const std::size_t tab = line.rest.find('\t');
    if (tab == std::string_view::npos) continue;
    out.push_back({line.rule, finding_of(line.rest.substr(0, tab)), std::string(line.rest.substr(tab + 1))});
    if (at.rule == line.rule) at = {};
  }
  const auto judged = [&](std::uint16_t number) {
    return std::any_of(out.begin(), out.end(), [&](const RuleResult& each) { return each.rule == number; });
  };
  const bool ended_well = end.exit_code == 0;
  std::uint16_t guilty = 0;
  if (!ended_well) {
    // No step was running: the process crashed after its last rule, or before the first.
    guilty = at.rule != 0 ? at.rule : covers.back();
    const std::string doing = at.rest.empty() ? "the check" : std::string(at.rest);
    std::erase_if(out, [&](const RuleResult& each) { return each.rule == guilty; });
    out.push_back({guilty, rule(guilty).warns ? Finding::kWarn : Finding::kFail, doing + ": it " + end.how()});
    out.back().hung = end.timed_out;
  }
  for (const std::uint16_t number : covers)
    if (!judged(number))
      out.push_back(guilty == 0 ? RuleResult{number, Finding::kSkipped, "it was not reached"}
                                : not_judged(number, guilty));
  return out;
}

}  // namespace agentd::validation
