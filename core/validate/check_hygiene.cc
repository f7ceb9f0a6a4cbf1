// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <poll.h>

#include <cstdlib>

#include "core/base/bytes.h"
#include "core/validate/checks.h"
#include "core/validate/process_state.h"

namespace agentd::validation {
namespace {

constexpr int kThreadRounds = 50;
constexpr Milliseconds kThreadRound{10};

// A complete life cycle, with every event once.
void live(const Subject& subject, Stage& stage, Reporter& out) {
  out.begin(301, "loading it");
  if (!stage.load()) return;
  const auto instance = instance_for(stage, out, 301);
  if (instance == nullptr) return;
  for (const std::uint32_t event : stage.events()) {
    out.begin(301, event_name(event));
    const auto sample = SampleEvent::make(event, Variant::kPlain);
    if (sample) (void)instance->fire(**sample);
  }
  out.begin(301, "destroy()");
  (void)!instance->destroy();
  (void)subject;
}

std::vector<std::string> threads_left(const ProcessState& before) {
  std::vector<std::string> left;
  for (int round = 0; round < kThreadRounds; ++round) {
    left = added(before.threads, ProcessState::take().threads);
    if (left.empty()) break;
    SystemClock().pause(kThreadRound);  // a joined thread leaves /proc a moment later
  }
  return left;
}

void compare(Reporter& out, std::uint16_t number, const std::string& before, const std::string& after,
             const std::string& what) {
  before == after ? out.ok(number, "unchanged") : out.broken(number, what);
}

std::string shown(const std::string& text) { return text.empty() ? "none" : one_line(text, 200); }

void check_traces(const Subject& subject, Reporter& out) {
  Stage stage(subject);
  warm_up(stage);
  const ProcessState before = ProcessState::take();
  live(subject, stage, out);
  const std::vector<std::string> threads = threads_left(before);
  const ProcessState after = ProcessState::take();
  const auto open = added(before.descriptors, after.descriptors);
  open.empty() ? out.ok(301, "none") : out.broken(301, "still open: " + join(open, ", "));
  threads.empty() ? out.ok(302, "none") : out.broken(302, std::to_string(threads.size()) + " of its threads still run");
  compare(out, 303, before.signals + before.mask, after.signals + after.mask,
          before.signals != after.signals
              ? "signal handlers before: " + shown(before.signals) + "; after: " + shown(after.signals)
              : "blocked signals before: " + shown(before.mask) + "; after: " + shown(after.mask));
  compare(
      out, 304, before.directory + std::to_string(before.umask), after.directory + std::to_string(after.umask),
      before.directory != after.directory ? "the working directory became " + after.directory : "the umask changed");
  compare(out, 305, before.locale, after.locale, "the locale became " + after.locale);
  compare(out, 306, before.environment, after.environment, "a variable was set, changed or removed");
  compare(out, 308, before.limits, after.limits, "a limit changed");
  out.rest();
}

// Without the host's protection: the effect of its load on a thread, and then of its calls.
void check_arithmetic(const Subject& subject, Reporter& out) {
  out.begin(307, "loading it");
  const std::string before = ProcessState::take().floating_point;
  if (::dlopen(subject.sealed.path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr)
    return out.skip(307, "the module cannot be loaded");
  const std::string loaded = ProcessState::take().floating_point;
  if (loaded != before)
    return out.warn(307,
                    "loading it changed floating point, which agentd restores: before " + before + "; after " + loaded);
  Stage stage(subject);
  live(subject, stage, out);
  const std::string after = ProcessState::take().floating_point;
  compare(out, 307, before, after, "before: " + before + "; after: " + after);
  out.rest();
}

// The parent checks the output and the exit of the process.
void check_end(const Subject& subject, Reporter& out) {
  {
    Stage stage(subject);
    live(subject, stage, out);
  }
  out.begin(310, "ending the process");
  std::exit(0);
}

}  // namespace

std::vector<Check> hygiene_checks() {
  return {{{301, 302, 303, 304, 305, 306, 308}, true, check_traces},
          {{307}, true, check_arithmetic},
          {{309, 310}, true, check_end}};
}

}  // namespace agentd::validation
