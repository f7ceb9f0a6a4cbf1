// SPDX-License-Identifier: Apache-2.0
#include "core/validate/validate.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "core/base/bytes.h"
#include "core/validate/cage.h"
#include "core/validate/checks.h"
#include "core/validate/rules.h"

namespace agentd::validation {
namespace {

constexpr std::uint64_t kCheckMemoryMax = 1u << 30;
constexpr std::uint16_t kIsolationGroup = 7;  // its checks enter their cage themselves
constexpr int kStepTimesMax = 10;             // a check may take this many times the time of a step
// If one of these fails, no later rule can be checked.
constexpr std::uint16_t kFirst[] = {101, 104, 201, 202, 209};

int worth(Finding finding) {
  switch (finding) {
    case Finding::kSkipped:
      return 0;
    case Finding::kOk:
      return 1;
    case Finding::kWarn:
      return 2;
    case Finding::kFail:
      return 3;
  }
  return 0;
}

class Validation {
 public:
  Validation(const Workbench& bench, const ValidateOptions& options, const Clock& clock, const CancelToken& cancel,
             const std::function<void(const RuleResult&)>& heard)
      : bench_(bench), options_(options), clock_(clock), cancel_(cancel), heard_(heard) {}

  bool run() {
    for (RuleResult& each : lint(bench_.subject()))
      if (in_profile(each.rule)) note(std::move(each));
    for (const RuleSpec& each : all_rules())
      if (!in_profile(each.number)) note(failed(101) ? not_judged(each.number, 101) : out_of_profile(each.number));
    note_manifest();
    tell(105);
    checks(load_checks());
    tell(210);
    for (auto group : {hygiene_checks, contract_checks, endurance_checks, isolation_checks}) {
      const std::vector<Check> members = group();
      checks(members);
      tell(static_cast<std::uint16_t>(members.back().covers.front() / 100 * 100 + 99));
    }
    tell(999);
    return !cancel_.cancelled();
  }

 private:
  bool wanted(std::uint16_t number) const {
    const auto& rules = options_.rules;
    return rules.empty() || std::find(rules.begin(), rules.end(), number) != rules.end();
  }

  bool in_profile(std::uint16_t number) const {
    return bench_.subject().profile == Isolation::kInProcess || !rule(number).in_process;
  }

  static RuleResult out_of_profile(std::uint16_t number) {
    RuleResult out{number, Finding::kSkipped, "not relevant in a worker process"};
    out.out_of_profile = true;
    return out;
  }

  bool failed(std::uint16_t number) const {
    const auto found = results_.find(number);
    return found != results_.end() && found->second.finding == Finding::kFail;
  }

  // True for a failed rule that was not requested but prevents checking a requested one.
  bool hinders(std::uint16_t number) const {
    if (std::find(std::begin(kFirst), std::end(kFirst), number) == std::end(kFirst) || !failed(number)) return false;
    const std::uint16_t after = number == 104 ? 200 : number;  // the other rules of the file need no manifest
    return std::any_of(options_.rules.begin(), options_.rules.end(), [&](std::uint16_t each) { return each > after; });
  }

  // The worst of a rule's results is kept.
  void note(RuleResult result) {
    const auto [place, is_new] = results_.emplace(result.rule, result);
    if (!is_new && worth(result.finding) > worth(place->second.finding)) place->second = std::move(result);
  }

  void note_manifest() {
    const HookDescription& host = bench_.description();
    if (failed(101)) {
      for (const RuleSpec& each : all_rules())
        if (each.number > 101 && each.number < 200) note(not_judged(each.number, 101));
      return;
    }
    if (!host.manifest) {
      note({104, Finding::kFail, host.obstacle});
      note(not_judged(105, 104));
      note(not_judged(114, 104));
      return;
    }
    note({104, Finding::kOk, host.manifest->id + " " + host.manifest->version});
    const bool fine = host.ok();
    note({105, fine ? Finding::kOk : Finding::kFail, fine ? "it does" : host.obstacle});
    const std::string warning = capability_warning(*host.manifest);
    const std::string known = host.manifest->capabilities.empty() ? "none" : join(host.manifest->capabilities, ", ");
    note({114, warning.empty() ? Finding::kOk : Finding::kWarn, warning.empty() ? known : "it " + warning});
  }

  void checks(const std::vector<Check>& members) {
    for (const Check& check : members) {
      const bool any = std::any_of(check.covers.begin(), check.covers.end(),
                                   [&](std::uint16_t number) { return wanted(number) && in_profile(number); });
      // Loading and making an instance are always checked: other checks depend on them.
      const bool decides = check.covers.front() == 209 || check.covers.front() == 201;
      if (cancel_.cancelled() || (!any && !decides)) continue;
      if (const std::uint16_t since = obstacle(check); since != 0) {
        for (const std::uint16_t number : check.covers) note(not_judged(number, since));
        continue;
      }
      for (RuleResult& each : run(check)) note(std::move(each));
    }
  }

  // The rule whose failure prevents the check; 0 = none.
  std::uint16_t obstacle(const Check& check) const {
    const bool is_load = check.covers.front() == 201 || check.covers.front() == 106;
    for (const std::uint16_t number : kFirst) {
      const bool matters = number == 101 || (number == 209 ? check.needs_instance : !is_load);
      if (matters && failed(number)) return number;
    }
    return 0;
  }

  std::vector<RuleResult> run(const Check& check) {
    bench_.tidy();
    ForkLimits limits;
    limits.time = options_.time * kStepTimesMax;
    limits.time_of_step = options_.time;
    limits.memory_bytes_max = kCheckMemoryMax;
    const auto end = run_forked(
        [&](int report) {
          const Subject& subject = bench_.subject();
          if (::chdir(subject.directory.c_str()) != 0) return 1;
          // These checks start a worker, which a cage would prevent.
          const bool by_host = check.covers.front() / 100 == kIsolationGroup;
          if (by_host) shed_environment();
          if (!by_host && !enter_cage(subject.manifest, subject.directory, subject.sealed, report)) return 1;
          Reporter out(report);
          check.run(bench_.subject(), out);
          // The module's threads and exit handlers must not interfere here.
          return 0;
        },
        limits, clock_, cancel_);
    if (!end) return {{check.covers.front(), Finding::kSkipped, end.error().message}};
    if (end->cancelled) return {};
    std::vector<RuleResult> out = results_of(*end, check.covers);
    if (check.covers.front() == 309) judge_end(*end, out);
    return out;
  }

  static void judge_end(const ForkEnd& end, std::vector<RuleResult>& out) {
    std::erase_if(out, [](const RuleResult& each) {
      return each.rule == 309 || (each.rule == 310 && each.finding == Finding::kSkipped) || each.rule == 301;
    });
    if (end.output.empty())
      out.push_back({309, Finding::kOk, "nothing"});
    else
      out.push_back({309, Finding::kFail, "it printed: " + one_line(end.output, 200)});
    if (end.exit_code == 0) out.push_back({310, Finding::kOk, "it ends"});
  }

  // Results up to that number are final.
  void tell(std::uint16_t last) {
    for (auto& [number, result] : results_)
      if (number <= last && number > told_ && (wanted(number) || hinders(number))) heard_(result);
    told_ = std::max(told_, last);
  }

  const Workbench& bench_;
  const ValidateOptions& options_;
  const Clock& clock_;
  const CancelToken& cancel_;
  const std::function<void(const RuleResult&)>& heard_;
  std::map<std::uint16_t, RuleResult> results_;
  std::uint16_t told_ = 0;
};

}  // namespace

bool validate(const Workbench& bench, const ValidateOptions& options, const Clock& clock, const CancelToken& cancel,
              const std::function<void(const RuleResult&)>& heard) {
  return Validation(bench, options, clock, cancel, heard).run();
}

}  // namespace agentd::validation
