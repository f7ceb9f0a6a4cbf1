// SPDX-License-Identifier: Apache-2.0
#include "core/base/bytes.h"
#include "core/base/thread.h"
#include "core/codec/json.h"
#include "core/validate/checks.h"

namespace agentd::validation {
namespace {

constexpr std::uint64_t kGiveUpMs = 2'000;
constexpr Milliseconds kLate{150}, kCancelAfter{50};

struct Made {
  std::unique_ptr<Stage> stage;
  std::unique_ptr<Instance> instance;
};

Made make(const Subject& subject, Reporter& out, std::uint16_t number, Instance::Options options = {}) {
  Made made{std::make_unique<Stage>(subject), nullptr};
  out.begin(number, "loading it");
  if (const auto loaded = made.stage->load(); !loaded)
    out.skip(number, "the module cannot be loaded");
  else
    made.instance = instance_for(*made.stage, out, number, options);
  return made;
}

// Fires every event in that variant; `look` checks each answer and reports mistakes.
template <typename Look>
void fire_all(const Made& made, Reporter& out, std::uint16_t number, Variant variant, Look look) {
  for (const std::uint32_t event : made.stage->events()) {
    out.begin(number, event_name(event));
    const auto sample = SampleEvent::make(event, variant);
    if (!sample) return out.skip(number, sample.error().message);
    const Answer answer = made.instance->fire(**sample);
    if (const std::string wrong = look(answer); !wrong.empty())
      return out.broken(number, event_name(event) + ": " + wrong);
  }
  out.ok(number, counted(made.stage->events().size(), "event"));
}

std::string nothing(const Answer&) { return {}; }

void check_samples(const Subject& subject, Reporter& out) {
  const Made made = make(subject, out, 401);
  if (made.instance == nullptr) return;
  std::string failed;
  const Seen& seen = made.instance->seen();
  std::string illegal;
  fire_all(made, out, 401, Variant::kPlain, [&](const Answer& answer) -> std::string {
    if (failed.empty()) failed = answer.failure;
    if (illegal.empty() && seen.illegal != 0)
      illegal = "it emitted an action that the event does not allow: " + answer.failure;
    if (illegal.empty() && seen.malformed != 0) illegal = "it emitted a malformed action";
    if (illegal.empty() && seen.odd_status != 0)
      illegal = "it returned " + std::to_string(seen.odd_status.load()) + ", which is not an agentd_status";
    return {};
  });
  if (!illegal.empty()) return out.broken(402, illegal);
  if (!failed.empty()) return out.warn(402, "it failed with a sample payload: " + failed);
  out.ok(402, "all answers are legal");
}

void check_variant(const Subject& subject, Reporter& out, std::uint16_t number, Variant variant) {
  const Made made = make(subject, out, number);
  if (made.instance != nullptr) fire_all(made, out, number, variant, nothing);
}

void check_kept_pointers(const Subject& subject, Reporter& out) {
  const Made made = make(subject, out, 407);
  if (made.instance == nullptr) return;
  std::vector<std::unique_ptr<SampleEvent>> gone;
  for (int round = 0; round < 3; ++round)
    for (const std::uint32_t event : made.stage->events()) {
      out.begin(407, event_name(event) + ", after earlier payloads went away");
      auto sample = SampleEvent::make(event, Variant::kPlain);
      if (!sample) return out.skip(407, sample.error().message);
      (void)made.instance->fire(**sample);
      (*sample)->vanish();
      gone.push_back(std::move(*sample));
    }
  out.begin(407, "save_state() and destroy(), after the payloads went away");
  (void)!made.instance->save();
  (void)!made.instance->destroy();
  out.ok(407, "none");
}

void check_late(const Subject& subject, Reporter& out) {
  const Made made = make(subject, out, 408);
  if (made.instance == nullptr) return;
  bool stuck = false;
  fire_all(made, out, 408, Variant::kPlain, [&](const Answer& answer) -> std::string {
    stuck = stuck || (made.instance->seen().pending != 0 && answer.status == AGENTD_E_DEADLINE);
    return {};
  });
  made.stage->clock.pause(kLate);
  if (made.instance->seen().late != 0)
    out.broken(408, "it emitted " + std::to_string(made.instance->seen().late) + " times with a token that had ended");
  const std::uint32_t pending = made.instance->seen().pending;
  if (stuck)
    out.broken(409, "a call that it left pending was never completed");
  else
    out.ok(409, pending == 0 ? "no call was left pending" : std::to_string(pending) + " calls completed");
}

// Measures how long it takes to return from an event that is cancelled or out of time.
void check_giving_up(const Subject& subject, Reporter& out, std::uint16_t number) {
  const Made made = make(subject, out, number);
  if (made.instance == nullptr) return;
  std::uint64_t longest = 0;
  for (const std::uint32_t event : made.stage->events()) {
    out.begin(number, event_name(event));
    const auto sample = SampleEvent::make(event, Variant::kPlain);
    if (!sample) return out.skip(number, sample.error().message);
    const std::uint64_t started = made.stage->clock.monotonic_ns();
    const CancelToken cancel;
    Thread canceller;
    if (number == 410)
      canceller = Thread([&] {
        made.stage->clock.pause(kCancelAfter);
        cancel.cancel(AGENTD_CANCEL_USER);
      });
    (void)made.instance->fire(**sample, cancel, Milliseconds(number == 410 ? 20'000 : 20));
    longest = std::max(longest, (made.stage->clock.monotonic_ns() - started) / 1'000'000);
    if (canceller.joinable()) canceller.join();
    if (longest > kGiveUpMs)
      return out.broken(number, event_name(event) + ": it continued for " + std::to_string(longest) + " ms");
  }
  out.ok(number, "at most " + std::to_string(longest) + " ms");
}

void check_bare(const Subject& subject, Reporter& out) {
  Instance::Options options;
  options.bare = true;
  Stage stage(subject);
  out.begin(412, "loading it");
  if (!stage.load()) return out.skip(412, "the module cannot be loaded");
  out.begin(412, "create() without its optional services");
  Instance instance(stage, options);
  if (const auto made = instance.create(); !made)
    return out.warn(412, "it cannot start without its optional services: " + made.error().message);
  for (const std::uint32_t event : stage.events()) {
    out.begin(412, event_name(event) + ", without its optional services");
    if (const auto sample = SampleEvent::make(event, Variant::kPlain)) (void)instance.fire(**sample);
  }
  out.begin(412, "destroy()");
  (void)!instance.destroy();
  out.ok(412, "it works without them");
}

void check_deaf(const Subject& subject, Reporter& out) {
  Instance::Options options;
  options.deaf = true;
  const Made made = make(subject, out, 413, options);
  if (made.instance != nullptr) fire_all(made, out, 413, Variant::kPlain, nothing);
}

// The mistake in the answer of a service; empty = none.
std::string wrong_answer(const ServiceAnswer& answer) {
  if (!answer) {
    const agentd_status status = answer.error().status;
    if (status == AGENTD_E_DEADLINE) return "it did not answer before its deadline";
    return status >= AGENTD_E_IO ? "" : "it returned " + std::to_string(status) + ", which is not an agentd_status";
  }
  if (answer->size() > kServiceJsonMax) return "its result has " + std::to_string(answer->size()) + " bytes";
  const auto json = JsonDocument::parse(*answer);
  return json ? "" : "its result is not JSON: " + json.error().message;
}

void check_services(const Subject& subject, Reporter& out) {
  const Made made = make(subject, out, 414);
  if (made.instance == nullptr) return;
  const std::vector<OfferedService> services = made.instance->provided();
  const std::vector<std::string> inputs = service_inputs();
  for (const OfferedService& service : services)
    for (const std::string& input : inputs) {
      const std::string what = service.interface_id + " " + service.operation + " with " + one_line(input, 40);
      out.begin(414, what);
      if (const std::string wrong = wrong_answer(made.instance->serve(service, input)); !wrong.empty())
        return out.broken(414, what + ": " + wrong);
    }
  out.ok(414, services.empty() ? "it offers none" : counted(services.size(), "operation"));
}

Check variant(std::uint16_t number, Variant variant) {
  return {{number}, true, [=](const Subject& subject, Reporter& out) { check_variant(subject, out, number, variant); }};
}

Check giving_up(std::uint16_t number) {
  return {{number}, true, [=](const Subject& subject, Reporter& out) { check_giving_up(subject, out, number); }};
}

}  // namespace

std::vector<Check> contract_checks() {
  return {{{401, 402}, true, check_samples},
          variant(403, Variant::kLonger),
          variant(404, Variant::kEmpty),
          variant(405, Variant::kUnknown),
          variant(406, Variant::kHuge),
          variant(406, Variant::kBytes),
          {{407}, true, check_kept_pointers},
          {{408, 409}, true, check_late},
          giving_up(410),
          giving_up(411),
          {{412}, true, check_bare},
          {{413}, true, check_deaf},
          {{414}, true, check_services}};
}

}  // namespace agentd::validation
