// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <map>

#include "core/app/commands/commands.h"
#include "core/app/commands/hooks_shared.h"
#include "core/app/commands/hooks_workbench.h"
#include "core/app/exit_codes.h"
#include "core/app/signals.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/validate/fuzz.h"

namespace agentd::app {

using namespace validation;
namespace {

constexpr std::uint64_t kRuns = 200;
constexpr std::size_t kShownStepBytes = 1500;

Result<std::uint64_t> parse_seed(std::string_view option, const std::string& text) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && stop == text.data() + text.size() && !text.empty()) return value;
  return Error{Code::kInvalid,
               "--" + std::string(option) + " must be a whole number, not '" + one_line(text, 60) + "'"};
}

struct WantedFuzz {
  std::uint64_t first = 0, runs = kRuns;
  Deadline until;
  bool replay = false;
};

Result<WantedFuzz> wanted(const App& app, const Arguments& arguments) {
  WantedFuzz out;
  out.replay = arguments.has("replay");
  if (out.replay && (arguments.has("seed") || arguments.has("runs") || arguments.has("time")))
    return Error{Code::kInvalid, "--replay repeats one seed; omit --seed, --runs and --time"};
  const std::string_view option = out.replay ? "replay" : "seed";
  out.first = static_cast<std::uint64_t>(app.clock().wall_ms());
  if (arguments.has(option)) {
    AGENTD_TRY(out.first, parse_seed(option, arguments.value(option)));
  }
  if (arguments.has("runs")) {
    AGENTD_TRY(out.runs, parse_count("runs", arguments.value("runs")));
  }
  if (arguments.has("time")) {
    AGENTD_TRY(const std::uint64_t seconds, parse_count("time", arguments.value("time")));
    out.until = Deadline::after(app.clock(), Milliseconds(seconds * 1000));
    if (!arguments.has("runs")) out.runs = UINT64_MAX;
  }
  if (out.replay) out.runs = 1;
  return out;
}

std::string json_of(const FuzzFinding& finding) {
  JsonWriter json;
  json.begin_object().member("seed", finding.seed).member("kind", finding.kind);
  json.member("text", finding.text).end_object();
  return std::string(json.text());
}

class Session {
 public:
  Session(App& app, bool json, bool replay) : app_(app), json_(json), replay_(replay) {}

  void hear(const FuzzPlay& play) {
    ++plays_;
    if (replay_ && !json_)
      for (const std::string& step : play.steps) app_.out().print("  " + neutral_line(step, kShownStepBytes) + "\n");
    if (!play.finding) return;
    ++findings_;
    // A repeated finding is only counted.
    if (++told_[play.finding->kind + play.finding->text] > 1) return;
    if (json_)
      app_.out().print(json_of(*play.finding) + "\n");
    else
      app_.out().print("seed " + std::to_string(play.finding->seed) + ": " + play.finding->kind + ": " +
                       neutral_line(play.finding->text, kShownStepBytes) + "\n");
    app_.out().flush();
  }

  int finish(std::uint64_t first, const std::string& path) {
    if (json_) {
      JsonWriter json;
      json.begin_object().member("first_seed", first).member("plays", plays_).member("findings", findings_);
      json.member("different", std::uint64_t{told_.size()}).end_object();
      app_.out().print(std::string(json.text()) + "\n");
    } else {
      app_.out().print(neutral_line(path, 1000) + ": " + with_commas(plays_) + " plays from seed " +
                       std::to_string(first) + ", " +
                       (findings_ == 0 ? std::string("nothing found")
                                       : with_commas(findings_) + " findings, " + std::to_string(told_.size()) +
                                             " different; repeat one with --replay SEED") +
                       "\n");
    }
    return findings_ == 0 ? kExitOk : kExitFailure;
  }

 private:
  App& app_;
  const bool json_, replay_;
  std::uint64_t plays_ = 0, findings_ = 0;
  std::map<std::string, std::uint64_t> told_;
};

}  // namespace

int hooks_fuzz_command(App& app, const Arguments& arguments) {
  const auto here = hooks_here(app, arguments);
  if (!here) return app.fail(here.error().code, here.error().message);
  const auto what = wanted(app, arguments);
  if (!what) return app.fail(kExitUsage, what.error().message);
  // Before the workbench creates a directory.
  SignalScope signals;
  const CancelToken cancel = signals.next();
  const auto bench = open_workbench(app, arguments, here->setup.options.native.worker.program);
  if (!bench) return app.fail(bench.error().code, bench.error().message);
  app.out().flush();
  Fuzzer fuzzer(**bench, app.clock(), cancel);
  if (const auto ready = fuzzer.prepare(); !ready)
    return signals.caught() != 0 ? app.fail(128 + signals.caught(), "interrupted")
                                 : app.fail(kExitFailure, ready.error().message);
  if (here->setup.options.native.worker.program.empty())
    app.err().line(
        "agentd: agentd-hook-worker is not installed next to agentd, so results are not compared with a worker's");
  Session session(app, arguments.has("json"), what->replay);
  for (std::uint64_t i = 0; i < what->runs && !what->until.passed(app.clock()) && !cancel.cancelled(); ++i) {
    const auto play = fuzzer.play(what->first + i);
    if (!play && play.error().code == Code::kCancelled) break;
    if (!play) return app.fail(kExitFailure, play.error().message);
    session.hear(*play);
  }
  const int code = session.finish(what->first, (*bench)->subject().path);
  return signals.caught() != 0 ? 128 + signals.caught() : code;
}

}  // namespace agentd::app
