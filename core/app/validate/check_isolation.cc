// SPDX-License-Identifier: Apache-2.0
#include "core/app/validate/cage.h"
#include "core/app/validate/checks.h"
#include "core/app/validate/host_run.h"

namespace agentd::app {
namespace {

using Answers = std::vector<std::string>;

constexpr Variant kVariants[] = {Variant::kPlain, Variant::kEmpty, Variant::kUnknown};

Result<Answers> answers_of(const Subject& subject, Isolation isolation, Reporter& out, std::uint16_t number) {
  out.begin(number, isolation == Isolation::kInProcess ? "a run in this process" : "a run in a worker");
  AGENTD_TRY(const auto run, HostRun::start(subject, isolation, true));
  Answers answers;
  for (const Variant variant : kVariants)
    for (const std::uint32_t event : run->events()) {
      auto sample = SampleEvent::make(event, variant);
      if (!sample) continue;
      answers.push_back(event_name(event) + ": " +
                        run->fire(event, (*sample)->envelope(), (*sample)->payload()).text());
    }
  return answers;
}

void check_same(const Subject& subject, Reporter& out) {
  if (subject.worker.empty()) {
    out.skip(701, "agentd-hook-worker is not installed beside agentd");
    return out.skip(702, "agentd-hook-worker is not installed beside agentd");
  }
  out.begin(702, "starting it in a worker");
  const auto there = answers_of(subject, Isolation::kProcess, out, 702);
  if (!there) return out.broken(702, "in a worker: " + there.error().message);
  out.ok(702, std::to_string(there->size()) + " events");
  // Nothing can be started from the cage: the worker was first.
  if (const auto caged = enter_cage(subject.manifest, subject.directory, {}); !caged)
    return out.skip(701, caged.error().message);
  const auto here = answers_of(subject, Isolation::kInProcess, out, 701);
  if (!here) return out.broken(701, "in this process: " + here.error().message);
  for (std::size_t i = 0; i < here->size() && i < there->size(); ++i)
    if ((*here)[i] != (*there)[i])
      return out.broken(701, "in this process " + (*here)[i] + "; in a worker " + (*there)[i]);
  out.ok(701, std::to_string(here->size()) + " events, the same answers");
}

}  // namespace

std::vector<Check> isolation_checks() { return {{{702, 701}, true, check_same}}; }

}  // namespace agentd::app
