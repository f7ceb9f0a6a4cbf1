// SPDX-License-Identifier: Apache-2.0
#include "core/validate/fuzz.h"

#include <unistd.h>

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/process/fork.h"
#include "core/validate/cage.h"
#include "core/validate/checks.h"
#include "core/validate/host_run.h"
#include "core/validate/process_state.h"
#include "core/validate/sequence.h"

namespace agentd::validation {
namespace {

constexpr Milliseconds kTime{15'000};
constexpr std::uint64_t kFuzzMemoryMax = 1u << 30, kReportMax = 16u << 20;
constexpr std::uint64_t kGrowth = 16 * 1024;
constexpr int kAgain = 3;  // repetitions that measure memory
constexpr Milliseconds kLateTime{30}, kFireTime{3'000};
constexpr std::size_t kStateBytesMax = 300;

using Kind = FuzzStep::Kind;

// Writes lines "P\tstep", "A\tanswer", "F\tkind\ttext".
class Tape {
 public:
  explicit Tape(int fd) : fd_(fd) {}
  void step(const FuzzStep& step) { line("P\t" + text_of(step)); }
  void doing(std::string_view text) { line("P\t" + std::string(text)); }
  void answer(std::string_view text) { line("A\t" + one_line(text, 1000)); }
  void finding(std::string_view kind, std::string_view text) {
    line("F\t" + std::string(kind) + "\t" + one_line(text, 1500));
  }

 private:
  void line(const std::string& text) { (void)!write_all(fd_, text + "\n"); }
  int fd_;
};

// Discards everything.
class NoTape {
 public:
  void step(const FuzzStep&) {}
  void doing(std::string_view) {}
  void answer(std::string_view) {}
};

std::string bytes_of(std::uint64_t seed) {
  std::string out(next_of(seed) % kStateBytesMax, '\0');
  for (char& byte : out) byte = static_cast<char>(next_of(seed));
  return out;
}

std::string state_text(const Result<std::optional<std::string>>& saved) {
  if (!saved) return "refused: " + saved.error().message;
  return *saved ? std::to_string((*saved)->size()) + " bytes" : std::string("no state");
}

std::string text_of(const Result<void>& done) { return done ? "ok" : "refused: " + done.error().message; }

std::string text_of(const ServiceAnswer& answer) {
  return answer ? "result " + *answer
                : "status " + std::to_string(answer.error().status) + ": " + answer.error().message;
}

// Calls every service of the module with inputs by the seed: the end of each plan.
template <typename Place, typename T>
void serve_all(std::uint64_t seed, Place& place, T& tape) {
  for (const OfferedService& service : place.provided())
    for (const std::string& input : service_inputs(seed | 1)) {
      tape.doing("serve " + service.interface_id + " " + service.operation);
      tape.answer(text_of(place.serve(service, input, kFireTime)));
    }
}

// Plays one plan on a stage. Returns false if it cannot continue, after reporting why.
template <typename T>
bool play_plan(const FuzzPlan& plan, Stage& stage, T& tape, std::string& illegal) {
  auto instance = std::make_unique<Instance>(stage);
  tape.doing("create");
  if (const auto made = instance->create(); !made) return tape.answer(text_of(made)), false;
  std::string state;
  const auto renew = [&] {
    (void)!instance->destroy();
    instance = std::make_unique<Instance>(stage);
    return instance->create();
  };
  for (const FuzzStep& step : plan.steps) {
    tape.step(step);
    if (step.kind == Kind::kSave) {
      const auto saved = instance->save();
      if (saved && *saved) state = **saved;
      tape.answer(state_text(saved));
    } else if (step.kind == Kind::kLoad || step.kind == Kind::kBend || step.kind == Kind::kRenew) {
      Result<void> done = renew();
      if (!done) return tape.answer(text_of(done)), true;
      if (step.kind != Kind::kRenew) done = instance->load(step.kind == Kind::kLoad ? state : bytes_of(step.seed));
      tape.answer(text_of(done));
    } else {
      const auto sample = SampleEvent::make(step.event, Variant::kPlain, step.seed);
      if (!sample) return tape.answer(sample.error().message), true;
      const CancelToken cancel;
      if (step.kind == Kind::kCancel) cancel.cancel(AGENTD_CANCEL_USER);
      const Answer answer = instance->fire(**sample, cancel, step.kind == Kind::kLate ? kLateTime : kFireTime);
      (*sample)->vanish();
      tape.answer(step.kind == Kind::kFire ? answer.text() : std::string("-"));
      const Seen& seen = instance->seen();
      if (illegal.empty() && (seen.illegal != 0 || seen.malformed != 0))
        illegal = text_of(step) + ": it emitted an action that the event does not allow";
      if (illegal.empty() && seen.odd_status != 0)
        illegal = text_of(step) + ": it returned " + std::to_string(seen.odd_status.load()) +
                  ", which is not an agentd_status";
    }
  }
  serve_all(plan.seed, *instance, tape);
  tape.doing("destroy");
  tape.answer(text_of(instance->destroy()));
  return true;
}

int play_child(const Subject& subject, const FuzzPlan& plan, int report) {
  Tape tape(report);
  Stage stage(subject);
  tape.doing("load");
  if (const auto loaded = stage.load(); !loaded) return tape.answer(loaded.error().message), 0;
  warm_up(stage);
  std::string illegal;
  if (!play_plan(plan, stage, tape, illegal)) return 0;
  if (!illegal.empty()) return tape.finding("illegal", illegal), 0;
  NoTape silent;
  std::uint64_t least = UINT64_MAX;
  tape.doing("the same steps again");
  for (int again = 0; again < kAgain; ++again) {
    const std::uint64_t before = heap_bytes();
    (void)play_plan(plan, stage, silent, illegal);
    const std::uint64_t after = heap_bytes();
    least = std::min(least, after > before ? after - before : 0);
  }
  if (least >= kGrowth) tape.finding("memory", "the steps keep " + std::to_string(least) + " bytes each time");
  tape.doing("the end");
  return 0;
}

// The module in this caged process, for play_both().
class InCage {
 public:
  explicit InCage(Stage& stage) : stage_(stage) {}
  Result<void> start() {
    instance_ = nullptr;
    instance_ = std::make_unique<Instance>(stage_);
    return instance_->create();
  }
  Answer fire(const SampleEvent& sample) { return instance_->fire(sample, CancelToken(), kFireTime); }
  std::vector<OfferedService> provided() const { return instance_->provided(); }
  ServiceAnswer serve(const OfferedService& service, std::string_view input, Milliseconds deadline) {
    return instance_->serve(service, input, deadline);
  }
  Result<std::optional<std::string>> save() { return instance_->save(); }
  Result<void> load(std::string_view state) { return instance_->load(state); }

 private:
  Stage& stage_;
  std::unique_ptr<Instance> instance_;
};

// The module in a worker, for play_both().
class InWorker {
 public:
  explicit InWorker(const Subject& subject) : subject_(subject) {}
  Result<void> start() {
    run_ = nullptr;
    AGENTD_TRY(run_, HostRun::start(subject_));
    return {};
  }
  Answer fire(const SampleEvent& sample) {
    return run_->fire(sample.event(), sample.envelope(), sample.payload(), kFireTime);
  }
  std::vector<OfferedService> provided() const { return run_->provided(); }
  ServiceAnswer serve(const OfferedService& service, std::string_view input, Milliseconds deadline) {
    return run_->serve(service, input, deadline);
  }
  Result<std::optional<std::string>> save() { return run_->save(); }
  Result<void> load(std::string_view state) { return run_->load(state); }

 private:
  const Subject& subject_;
  std::unique_ptr<HostRun> run_;
};

// Plays the steps that must agree in both places: no deadlines, no cancels.
template <typename Place>
Result<void> play_both(const FuzzPlan& plan, Place& place, Tape& tape) {
  tape.doing("create");
  AGENTD_TRY_VOID(place.start());
  std::string state;
  for (const FuzzStep& step : plan.steps) {
    if (step.kind == Kind::kCancel || step.kind == Kind::kLate) continue;
    tape.step(step);
    std::string said;
    if (step.kind == Kind::kFire) {
      AGENTD_TRY(const auto sample, SampleEvent::make(step.event, Variant::kPlain, step.seed));
      said = place.fire(*sample).text();
    } else if (step.kind == Kind::kSave) {
      const auto saved = place.save();
      if (saved && *saved) state = **saved;
      said = state_text(saved);
    } else {
      AGENTD_TRY_VOID(place.start());
      if (step.kind != Kind::kRenew)
        said = place.load(step.kind == Kind::kLoad ? state : bytes_of(step.seed)) ? "ok" : "refused";
    }
    tape.answer(said);
  }
  serve_all(plan.seed, place, tape);
  return {};
}

template <typename Place>
int play_both_child(const FuzzPlan& plan, Place& place, Tape& tape) {
  if (const auto played = play_both(plan, place, tape); !played) tape.answer(text_of(played));
  tape.doing("the end");
  return 0;
}

bool is_refusal(const std::string& step) { return step.find(": refused: ") != std::string::npos; }

FuzzPlay read_tape(const ForkEnd& end, std::uint64_t seed) {
  FuzzPlay out;
  std::string at = "the start";
  std::string_view left = end.report;
  for (std::size_t stop = left.find('\n'); stop != std::string_view::npos; stop = left.find('\n')) {
    const std::string_view line = left.substr(0, stop);
    left.remove_prefix(stop + 1);
    if (line.starts_with("P\t")) at = line.substr(2);
    if (line.starts_with("A\t")) out.steps.push_back(at + ": " + std::string(line.substr(2)));
    if (!line.starts_with("F\t")) continue;
    const std::size_t tab = line.find('\t', 2);
    if (tab != std::string_view::npos)
      out.finding = FuzzFinding{seed, std::string(line.substr(2, tab - 2)), std::string(line.substr(tab + 1))};
  }
  if (end.exit_code == 0) return out;
  out.steps.push_back(at + ": it " + end.how());
  out.finding = FuzzFinding{seed, end.timed_out ? "hang" : "crash", at + ": it " + end.how()};
  return out;
}

}  // namespace

Result<void> Fuzzer::prepare() {
  if (!bench_.description().ok()) return Error{Code::kInvalid, bench_.description().obstacle};
  const auto end = run_forked(
      [&](int report) {
        const Subject& subject = bench_.subject();
        if (!enter_cage(subject.manifest, subject.directory, subject.sealed, report)) return 1;
        Stage stage(subject);
        const auto loaded = stage.load();
        std::string said = loaded ? "" : loaded.error().message;
        if (loaded) {
          Instance instance(stage);
          if (const auto made = instance.create(); !made) said = "could not start: " + made.error().message;
        }
        std::string events;
        for (const std::uint32_t event : stage.events()) events += std::to_string(event) + " ";
        (void)!write_all(report, events + "\n" + said);
        return 0;
      },
      ForkLimits(), clock_, cancel_);
  if (!end) return end.error();
  const std::string& path = bench_.subject().path;
  if (end->exit_code != 0) return Error{Code::kInvalid, path + " " + end->how() + " while it was loaded"};
  const std::size_t stop = end->report.find('\n');
  if (const std::string said = end->report.substr(std::min(stop + 1, end->report.size())); !said.empty())
    return Error{Code::kInvalid, path + " " + said};
  std::string number;
  for (const char c : end->report.substr(0, stop)) {
    if (c != ' ') number += c;
    if (c == ' ' && !number.empty())
      events_.push_back(static_cast<std::uint32_t>(std::stoul(std::exchange(number, ""))));
  }
  if (events_.empty()) return Error{Code::kInvalid, path + " has no subscriptions, so there is nothing to play"};
  return {};
}

Result<FuzzPlay> Fuzzer::play(std::uint64_t seed) const {
  const FuzzPlan plan = plan_of(seed, events_);
  AGENTD_TRY(FuzzPlay here, play_here(plan));
  if (here.finding || bench_.subject().worker.empty()) return here;
  AGENTD_TRY(const FuzzPlay both, compare(plan));
  here.finding = both.finding;
  return here;
}

Result<FuzzPlay> Fuzzer::play_here(const FuzzPlan& plan) const {
  bench_.tidy();
  const ForkLimits limits{kTime, kReportMax, 64 * 1024, kFuzzMemoryMax};
  AGENTD_TRY(const ForkEnd end, run_forked(
                                    [&](int report) {
                                      if (::chdir(bench_.subject().directory.c_str()) != 0) return 1;
                                      const Subject& subject = bench_.subject();
                                      if (!enter_cage(subject.manifest, subject.directory, subject.sealed, report))
                                        return 1;
                                      return play_child(subject, plan, report);
                                    },
                                    limits, clock_, cancel_));
  if (end.cancelled) return Error{Code::kCancelled, "interrupted"};
  return read_tape(end, plan.seed);
}

Result<FuzzPlay> Fuzzer::compare(const FuzzPlan& plan) const {
  const Subject& subject = bench_.subject();
  const auto play = [&](const std::function<int(Tape&, int)>& body) -> Result<FuzzPlay> {
    bench_.tidy();
    const ForkLimits limits{kTime, kReportMax, 64 * 1024, 0};
    AGENTD_TRY(const ForkEnd end, run_forked(
                                      [&](int report) {
                                        Tape tape(report);
                                        if (::chdir(subject.directory.c_str()) != 0) return 1;
                                        return body(tape, report);
                                      },
                                      limits, clock_, cancel_));
    if (end.cancelled) return Error{Code::kCancelled, "interrupted"};
    return read_tape(end, plan.seed);
  };
  AGENTD_TRY(FuzzPlay there, play([&](Tape& tape, int) {
               shed_environment();
               InWorker place(subject);
               return play_both_child(plan, place, tape);
             }));
  if (there.finding) return there;
  AGENTD_TRY(FuzzPlay here, play([&](Tape& tape, int report) {
               if (!enter_cage(subject.manifest, subject.directory, subject.sealed, report)) return 1;
               Stage stage(subject);
               if (const auto loaded = stage.load(); !loaded) return tape.answer(text_of(loaded)), 0;
               warm_up(stage);
               InCage place(stage);
               return play_both_child(plan, place, tape);
             }));
  for (std::size_t i = 0; i < std::max(here.steps.size(), there.steps.size()) && !here.finding; ++i) {
    const std::string one = i < here.steps.size() ? here.steps[i] : "nothing";
    const std::string other = i < there.steps.size() ? there.steps[i] : "nothing";
    // The two word refusals differently.
    if (one != other && !(is_refusal(one) && is_refusal(other)))
      here.finding = FuzzFinding{plan.seed, "difference", "in this process " + one + "; in a worker " + other};
  }
  return here;
}

}  // namespace agentd::validation
