// SPDX-License-Identifier: Apache-2.0
#pragma once
// report.h - the results of checks, and their transfer from the checking process.
//
// Results are written as lines, as soon as they are known: if the process dies, the last line names its step.
//
// Threading: Reporter is thread-compatible.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/process/fork.h"

namespace agentd::validation {

enum class Finding : std::uint8_t { kOk, kWarn, kFail, kSkipped };
std::string_view name_of(Finding finding);  // "ok", "warn", "FAIL", "skipped"

struct RuleResult {
  std::uint16_t rule = 0;
  Finding finding = Finding::kOk;
  std::string text;             // the finding in one sentence
  std::uint16_t since = 0;      // the rule whose failure prevents this one's check; 0 = none
  bool hung = false;            // a step of it did not end in time
  bool out_of_profile = false;  // skipped, since it is irrelevant where the hook runs

  // The advice to the author of a module that breaks the rule.
  std::string_view remedy() const;
};

// The result of a rule that was not checked because rule `since` failed.
RuleResult not_judged(std::uint16_t rule, std::uint16_t since);

class Reporter {
 public:
  explicit Reporter(int fd) : fd_(fd) {}
  // From here on a crash breaks that rule; `doing` begins the message: "before_tool_call".
  void begin(std::uint16_t rule, std::string_view doing);
  // No rule can be broken by what runs now.
  void rest() { line("E\t0\t"); }
  void ok(std::uint16_t rule, std::string_view text) { say(rule, Finding::kOk, text); }
  // kWarn for rules that only warn.
  void broken(std::uint16_t rule_number, std::string_view text);
  void warn(std::uint16_t rule, std::string_view text) { say(rule, Finding::kWarn, text); }
  void skip(std::uint16_t rule, std::string_view text) { say(rule, Finding::kSkipped, text); }

 private:
  void say(std::uint16_t rule, Finding finding, std::string_view text);
  void line(const std::string& text);
  int fd_;
};

// The results of one check from its process's end. Rules of `covers` without a result are skipped, but for the one
// whose step was running when the process died, which is broken.
std::vector<RuleResult> results_of(const ForkEnd& end, const std::vector<std::uint16_t>& covers);

}  // namespace agentd::validation
