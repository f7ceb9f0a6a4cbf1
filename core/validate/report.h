// SPDX-License-Identifier: Apache-2.0
#pragma once
// report.h - what checks have found, and how it comes from the process that found it.
//
// Lines, written as soon as they are known: when the process dies, the last line says what it was at.
//
// Threading: Reporter is thread-compatible.

#include <cstdint>
#include <set>
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
  std::string text;             // what was seen; one sentence
  std::uint16_t since = 0;      // the rule whose failure keeps this one from being judged; 0 = none does
  bool hung = false;            // a step of it did not end in time, whatever the rule is about
  bool out_of_profile = false;  // skipped, since it does not matter where the hook runs

  // The advice to the author when the rule is broken.
  std::string_view remedy() const;
};

// Not judged, since that rule failed.
RuleResult not_judged(std::uint16_t rule, std::uint16_t since);

class Reporter {
 public:
  explicit Reporter(int fd) : fd_(fd) {}
  // From here on a death is that rule's; `doing` begins its sentence: "before_tool_call".
  void begin(std::uint16_t rule, std::string_view doing);
  // Nothing that is running now can break a rule.
  void rest() { line("E\t0\t"); }
  void ok(std::uint16_t rule, std::string_view text) { say(rule, Finding::kOk, text); }
  // kWarn for rules that only warn.
  void broken(std::uint16_t rule, std::string_view text);
  void warn(std::uint16_t rule, std::string_view text) { say(rule, Finding::kWarn, text); }
  void skip(std::uint16_t rule, std::string_view text) { say(rule, Finding::kSkipped, text); }

 private:
  void say(std::uint16_t rule, Finding finding, std::string_view text);
  void line(const std::string& text);
  int fd_;
};

// The results of one check, whose process ended so. Rules of `covers` that were not judged are skipped, but for
// the one at which it died, which is broken.
std::vector<RuleResult> results_of(const ForkEnd& end, const std::vector<std::uint16_t>& covers);

}  // namespace agentd::validation
