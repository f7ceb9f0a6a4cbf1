// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <map>

#include "core/app/commands/commands.h"
#include "core/app/commands/hooks_shared.h"
#include "core/app/commands/hooks_workbench.h"
#include "core/app/commands/validate_definition.h"
#include "core/app/exit_codes.h"
#include "core/app/signals.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/validate/rules.h"
#include "core/validate/validate.h"

namespace agentd::app {

using namespace validation;
namespace {

constexpr std::size_t kShownResultBytes = 1500;

std::string mark(const Output& out, Finding finding) {
  switch (finding) {
    case Finding::kOk:
      return out.styled("32", "ok      ");
    case Finding::kWarn:
      return out.styled("33", "warn    ");
    case Finding::kFail:
      return out.styled("31", "FAIL    ");
    case Finding::kSkipped:
      return "skipped ";
  }
  return {};
}

void print(Output& out, const RuleResult& result) {
  const RuleSpec& spec = rule(result.rule);
  out.print("  " + mark(out, result.finding) + rule_name(result.rule) + "  " + std::string(spec.title) + ": " +
            neutral_line(result.text, kShownResultBytes) + "\n");
  if (result.finding == Finding::kWarn || result.finding == Finding::kFail)
    out.print("            → " + std::string(result.remedy()) + "\n");
  out.flush();
}

std::string json_of(const RuleResult& result, Isolation profile) {
  const RuleSpec& spec = rule(result.rule);
  const std::string_view finding =
      result.finding == Finding::kFail ? std::string_view("fail") : name_of(result.finding);
  JsonWriter json;
  json.begin_object().member("rule", rule_name(result.rule)).member("result", finding);
  json.member("title", spec.title).member("text", result.text).member("profile", name_of(profile));
  if (result.finding == Finding::kWarn || result.finding == Finding::kFail) json.member("remedy", result.remedy());
  json.end_object();
  return std::string(json.text());
}

// Prints one line for all rules not checked for the same reason; --json lists each.
void print_not_judged(Output& out, const std::map<std::uint16_t, std::size_t>& not_judged) {
  for (const auto& [since, count] : not_judged)
    out.print("  " + mark(out, Finding::kSkipped) + counted(count, "rule") + " not checked, because " +
              rule_name(since) + " failed\n");
}

// The isolation that the rules were checked for, and the option for the other one.
std::string profile_text(Isolation profile) {
  return profile == Isolation::kInProcess
             ? "checked as a hook in agentd's own process; --isolation process checks it as one in a worker process"
             : "checked as a hook in a worker process; --isolation in-process checks it as one in agentd's own process";
}

struct RuleCount {
  std::size_t ok = 0, warn = 0, fail = 0, skipped = 0;
  void add(Finding finding) {
    ok += finding == Finding::kOk;
    warn += finding == Finding::kWarn;
    fail += finding == Finding::kFail;
    skipped += finding == Finding::kSkipped;
  }
  std::string text() const {
    return std::to_string(ok) + " ok, " + counted(warn, "warning") + ", " + counted(fail, "failure") + ", " +
           std::to_string(skipped) + " skipped";
  }
};

Result<ValidateOptions> validate_options_of(const Arguments& arguments) {
  ValidateOptions out;
  for (const std::string& name : arguments.values("rule")) {
    const std::vector<std::uint16_t> numbers = rules_named(name);
    if (numbers.empty())
      return Error{Code::kInvalid,
                   "unknown rule '" + one_line(name, 60) +
                       "'; a rule is named like A101, a group like A4; see docs/reference/abi-rules.md"};
    out.rules.insert(out.rules.end(), numbers.begin(), numbers.end());
  }
  if (arguments.has("timeout")) {
    AGENTD_TRY(const std::uint64_t time, parse_count("timeout", arguments.value("timeout")));
    out.time = Milliseconds(time);
  }
  return out;
}

// The isolation to check for: the option's, else that of `run`.
Isolation profile_of(const Arguments& arguments, const PluginHostOptions& options, const HookDescription& hook) {
  if (const auto wished = isolation_of(arguments.value("isolation"))) return *wished;
  if (!hook.manifest) return options.isolation;
  HookFile file;
  file.name = hook.name;
  const std::string directory = std::filesystem::path(hook.path).parent_path().string();
  for (const HookDirectory& each : options.directories) file.bundled |= each.bundled && each.path == directory;
  const Isolation there = isolation_of(options, file, *hook.manifest);
  return there == Isolation::kInProcess ? there : Isolation::kProcess;
}

std::string path_of(const App& app, const Arguments& arguments) {
  const std::filesystem::path given = arguments.words()[0];
  return (std::filesystem::path(app.surroundings().cwd) / given).lexically_normal().string();
}

// An untrusted file of the hooks directories is not run here, as by `run`.
std::string why_not_run(const App& app, const Arguments& arguments, const std::string& path) {
  const auto here = hooks_here(app, arguments);
  if (!here) return {};
  for (const HookSource& source : inventory_of(app, *here).sources)
    if (source.state == HookState::kWaits && source.path == path)
      return path + " does not run, since " + source.why_not;
  return {};
}

}  // namespace

Result<std::unique_ptr<Workbench>, Failure> open_workbench(const App& app, const Arguments& arguments,
                                                           const std::string& worker) {
  const std::string path = path_of(app, arguments);
  if (const std::string why = why_not_run(app, arguments, path); !why.empty()) return Failure{kExitBlocked, why};
  auto bench = Workbench::open(path, arguments.has("config") ? arguments.value("config") : "{}", worker);
  if (bench) return std::move(*bench);
  const Code code = bench.error().code;
  const bool usage = bench.error().message.starts_with("--config");
  return Failure{code == Code::kNotFound ? kExitNotFound : usage ? kExitUsage : kExitFailure, bench.error().message};
}

int hooks_validate_command(App& app, const Arguments& arguments) {
  const auto here = hooks_here(app, arguments);
  if (!here) return app.fail(here.error().code, here.error().message);
  const std::string path = path_of(app, arguments);
  if (const std::string why = why_not_run(app, arguments, path); !why.empty()) return app.fail(kExitBlocked, why);
  if (const auto code = validate_definition(app, arguments, *here, path)) return *code;
  const auto options = validate_options_of(arguments);
  if (!options) return app.fail(kExitUsage, options.error().message);
  // Before the workbench creates a directory.
  SignalScope signals;
  const CancelToken cancel = signals.next();
  const auto bench = open_workbench(app, arguments, here->setup.options.native.worker.program);
  if (!bench) return app.fail(bench.error().code, bench.error().message);
  const Isolation profile = profile_of(arguments, here->setup.options.native, (*bench)->description());
  (*bench)->judge_for(profile, options->time);
  RuleCount count;
  std::size_t out_of_profile = 0;
  std::map<std::uint16_t, std::size_t> not_judged;  // count by failed rule
  const bool json = arguments.has("json");
  app.out().flush();
  const bool whole = validate(**bench, *options, app.clock(), cancel, [&](const RuleResult& result) {
    count.add(result.finding);
    if (!json && result.since != 0) {
      ++not_judged[result.since];
      return;
    }
    if (!json && result.out_of_profile && options->rules.empty()) {
      ++out_of_profile;
      return;
    }
    if (json)
      app.out().print(json_of(result, profile) + "\n");
    else
      print(app.out(), result);
    app.out().flush();
  });
  if (!whole) return app.fail(signals.caught() != 0 ? 128 + signals.caught() : kExitInterrupted, "interrupted");
  if (!json) {
    print_not_judged(app.out(), not_judged);
    if (out_of_profile != 0)
      app.out().print("  " + mark(app.out(), Finding::kSkipped) + counted(out_of_profile, "rule") +
                      " for agentd's own process, which do not apply to a worker process\n");
    app.out().print(neutral_line((*bench)->subject().path, 1000) + ": " + count.text() + "\n");
    if (!not_judged.contains(101)) app.out().print("  " + profile_text(profile) + "\n");
    if (const NotGranted& lacks = (*bench)->description().lacks; lacks.any())
      app.out().print("  its users have to grant " + join(lacks.names, ", ") + ": " + lacks.how + "\n");
  }
  return count.fail == 0 ? kExitOk : kExitFailure;
}

}  // namespace agentd::app
