// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/validate/cage.h"
#include "core/validate/checks.h"
#include "core/validate/host_run.h"

namespace agentd::validation {
namespace {

using Answers = std::vector<std::string>;

constexpr Milliseconds kAnswerTime{10'000};
constexpr Variant kVariants[] = {Variant::kPlain, Variant::kEmpty, Variant::kUnknown};

// `fire` runs one sample and returns its answer.
template <typename Fire>
Answers answers_to(const std::vector<std::uint32_t>& events, Fire fire) {
  Answers out;
  for (const Variant variant : kVariants)
    for (const std::uint32_t event : events)
      if (const auto sample = SampleEvent::make(event, variant))
        out.push_back(one_line(event_name(event) + ": " + fire(**sample).text(), 2000));
  return out;
}

Result<Answers> in_worker(const Subject& subject) {
  AGENTD_TRY(const auto run, HostRun::start(subject));
  return answers_to(run->events(), [&](const SampleEvent& sample) {
    return run->fire(sample.event(), sample.envelope(), sample.payload(), kAnswerTime);
  });
}

// Runs in a caged process of its own, since this one has started a worker and must keep what that needs. Reports "="
// and then one line per answer, or the reason why there is none.
int answer_in_cage(const Subject& subject, int report) {
  if (!enter_cage(subject.manifest, subject.directory, subject.sealed, report)) return 1;
  Stage stage(subject);
  Instance::Options options;
  options.in_process = true;
  std::string said;
  if (const auto loaded = stage.load(); !loaded) said = one_line(loaded.error().message, 2000) + "\n";
  Instance instance(stage, options);
  if (said.empty())
    if (const auto made = instance.create(); !made) said = one_line(made.error().message, 2000) + "\n";
  if (said.empty()) {
    said = "=\n";
    for (const std::string& each : answers_to(stage.events(), [&](const SampleEvent& sample) {
           return instance.fire(sample, CancelToken(), kAnswerTime);
         }))
      said += each + "\n";
  }
  return write_all(report, said) ? 0 : 1;
}

Result<Answers> in_process(const Subject& subject) {
  ForkLimits limits;
  limits.time = subject.patience;
  AGENTD_TRY(const ForkEnd end, run_forked([&](int report) { return answer_in_cage(subject, report); }, limits,
                                           SystemClock(), CancelToken()));
  if (end.exit_code != 0) return Error{Code::kInvalid, "it " + end.how()};
  Answers out;
  std::istringstream lines(end.report);
  for (std::string line; std::getline(lines, line);) out.push_back(line);
  if (out.empty() || out[0] != "=") return Error{Code::kInvalid, out.empty() ? "it returned nothing" : out[0]};
  out.erase(out.begin());
  return out;
}

void check_same(const Subject& subject, Reporter& out) {
  if (subject.worker.empty()) {
    out.skip(701, "agentd-hook-worker is not installed next to agentd");
    return out.skip(702, "agentd-hook-worker is not installed next to agentd");
  }
  out.begin(702, "starting it in a worker");
  const auto there = in_worker(subject);
  if (!there) return out.broken(702, "in a worker: " + there.error().message);
  out.ok(702, std::to_string(there->size()) + " events");
  out.begin(701, "a run in this process");
  const auto here = in_process(subject);
  if (!here) return out.broken(701, "in this process: " + here.error().message);
  for (std::size_t i = 0; i < here->size() && i < there->size(); ++i)
    if ((*here)[i] != (*there)[i])
      return out.broken(701, "in this process " + (*here)[i] + "; in a worker " + (*there)[i]);
  out.ok(701, std::to_string(here->size()) + " events, the same answers");
}

}  // namespace

std::vector<Check> isolation_checks() { return {{{702, 701}, true, check_same}}; }

}  // namespace agentd::validation
