// SPDX-License-Identifier: Apache-2.0
// validate_test.cc - the parts of `hooks validate` and `hooks fuzz` that need no module.
#include <agentd/ext/draft/provide.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/codec/json.h"
#include "core/hooks/event.h"
#include "core/validate/fuzz_plan.h"
#include "core/validate/guard_arena.h"
#include "core/validate/lint.h"
#include "core/validate/report.h"
#include "core/validate/rules.h"
#include "core/validate/samples.h"
#include "core/validate/sequence.h"

namespace agentd::validation {
namespace {

// True when the body ends its process by SIGSEGV.
template <typename Body>
bool faults(Body body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::signal(SIGSEGV, SIG_DFL);
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

TEST(Rules, NumbersGrowAndEachSaysWhatToDo) {
  std::uint16_t last = 0;
  for (const RuleSpec& each : all_rules()) {
    EXPECT_GT(each.number, last);
    last = each.number;
    EXPECT_FALSE(each.title.empty() || each.why.empty() || each.remedy.empty()) << each.number;
    EXPECT_NE(each.title.back(), '.') << each.number;
    EXPECT_EQ(each.why.back(), '.') << each.number;
    EXPECT_NE(each.remedy.back(), '.') << each.number;
  }
}

TEST(Rules, AreNamedAloneAndByGroup) {
  EXPECT_EQ(rules_named("A401"), std::vector<std::uint16_t>{401});
  EXPECT_EQ(rules_named("a5xx"), (std::vector<std::uint16_t>{501, 502}));
  EXPECT_EQ(rules_named("A5"), (std::vector<std::uint16_t>{501, 502}));
  for (const char* none : {"", "A", "Axx", "401", "B1", "A999", "A4011"})
    EXPECT_TRUE(rules_named(none).empty()) << none;
}

ForkEnd end_of(std::string report, int code, int signal = 0) {
  ForkEnd out;
  out.report = std::move(report);
  out.exit_code = code;
  out.signal = signal;
  return out;
}

TEST(Report, WhatItWasAtWhenItDiedIsBroken) {
  const auto results =
      results_of(end_of("B\t401\tturn_start\nR\t401\tok\tfine\nB\t402\tagent_stop\n", -1, 11), {401, 402, 403});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].finding, Finding::kOk);
  EXPECT_EQ(results[1].rule, 402);
  EXPECT_EQ(results[1].finding, Finding::kFail);
  EXPECT_EQ(results[1].text, "agent_stop: it was ended by signal 11 (SIGSEGV)");
  EXPECT_EQ(results[2].finding, Finding::kSkipped);
}

TEST(Report, OneThatExitsEarlyHasNotPassed) {
  const auto results = results_of(end_of("B\t401\tturn_start\n", 0), {401});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].finding, Finding::kSkipped);
  EXPECT_EQ(results_of(end_of("B\t401\tturn_start\n", 3), {401})[0].finding, Finding::kFail);
}

TEST(Report, AnyBytesAreRead) {
  for (const char* bytes : {"", "\n", "R", "R\t", "R\tx\ty\n", "R\t401\n", "R\t401\tok", "Z\t1\t2\n", "\t\t\t\n"})
    EXPECT_EQ(results_of(end_of(bytes, 0), {401}).size(), 1u) << bytes;
}

TEST(GuardArena, NothingCanBeReadBehindAPiece) {
  GuardArena arena;
  auto* const piece = static_cast<volatile char*>(arena.allocate(100, 1));
  ASSERT_NE(piece, nullptr);
  piece[99] = 'x';
  EXPECT_TRUE(faults([&] { (void)piece[100]; }));
}

TEST(GuardArena, FrozenIsReadableAndNotWritable) {
  GuardArena arena;
  auto* const piece = static_cast<volatile char*>(arena.allocate(10'000, 8));
  for (int i = 0; i < 10'000; ++i) piece[i] = 'x';
  arena.freeze();
  EXPECT_EQ(piece[9'999], 'x');
  EXPECT_TRUE(faults([&] { piece[0] = 'y'; }));
  EXPECT_TRUE(faults([&] { (void)piece[10'000]; })) << "freezing has opened the page between";
  arena.vanish();
  EXPECT_TRUE(faults([&] { (void)piece[0]; }));
}

TEST(SampleEvents, AreMadeOfEveryEventInEveryVariant) {
  for (const EventTraits& event : all_events())
    for (const Variant variant :
         {Variant::kPlain, Variant::kLonger, Variant::kEmpty, Variant::kUnknown, Variant::kHuge, Variant::kBytes}) {
      const auto made = SampleEvent::make(event.id, variant);
      ASSERT_TRUE(made) << event.name << ": " << made.error().message;
      EXPECT_NE((*made)->payload(), nullptr);
      EXPECT_NE((*made)->envelope(), nullptr);
    }
  EXPECT_FALSE(SampleEvent::make(9999, Variant::kPlain));
}

TEST(SampleEvents, VariantsAreWhatTheyAreCalled) {
  const auto call_of = [](const SampleEvent& sample) { return static_cast<const agentd_tool_call*>(sample.payload()); };
  const auto make = [](Variant variant) {
    return std::move(*SampleEvent::make(AGENTD_EVENT_BEFORE_TOOL_CALL, variant));
  };
  EXPECT_EQ(call_of(*make(Variant::kPlain))->size, sizeof(agentd_tool_call));
  EXPECT_GT(call_of(*make(Variant::kLonger))->size, sizeof(agentd_tool_call));
  EXPECT_EQ(call_of(*make(Variant::kEmpty))->name.ptr, nullptr);
  EXPECT_EQ(call_of(*make(Variant::kHuge))->name.len, std::size_t{1} << 20);
  EXPECT_NE(call_of(*make(Variant::kPlain))->name.len, 0u);
}

TEST(ServiceInputs, AreJsonThatAServiceMayGet) {
  std::size_t longest = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<std::string> inputs = service_inputs(seed);
    EXPECT_EQ(inputs, service_inputs(seed));
    for (const std::string& input : inputs) {
      const auto json = JsonDocument::parse(input);
      EXPECT_TRUE(json) << input.substr(0, 80) << ": " << json.error().message;
      longest = std::max(longest, input.size());
    }
  }
  EXPECT_EQ(longest, AGENTD_SERVICE_JSON_MAX);
}

TEST(FuzzPlan, OneSeedIsOnePlanAndOthersAreOthers) {
  const std::vector<std::uint32_t> events{AGENTD_EVENT_TURN_START, AGENTD_EVENT_BEFORE_TOOL_CALL};
  const auto text = [&](std::uint64_t seed) {
    std::string out;
    for (const FuzzStep& step : plan_of(seed, events).steps)
      out += text_of(step) + " " + std::to_string(step.seed) + "\n";
    return out;
  };
  std::set<std::string> plans;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    EXPECT_EQ(text(seed), text(seed));
    plans.insert(text(seed));
  }
  EXPECT_EQ(plans.size(), 200u);
}

TEST(FuzzPlan, EveryKindOfStepComesUp) {
  std::set<FuzzStep::Kind> kinds;
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    for (const FuzzStep& step : plan_of(seed, {AGENTD_EVENT_TURN_START}).steps) kinds.insert(step.kind);
  EXPECT_EQ(kinds.size(), 7u);
}

TEST(Lint, AnyBytesGiveAnAnswer) {
  auto bytes = read_file("/proc/self/exe", 1u << 30);
  ASSERT_TRUE(bytes);
  for (std::size_t length = 0; length < 20'000 && length < bytes->size(); length += 37)
    (void)!read_elf(std::string_view(*bytes).substr(0, length));
  std::uint64_t state = 1;
  for (int round = 0; round < 300; ++round) {
    std::string bent = bytes->substr(0, 100'000);
    for (int i = 0; i < 20; ++i) bent[next_of(state) % 4096] = static_cast<char>(next_of(state));
    (void)!read_elf(bent);
  }
}

}  // namespace
}  // namespace agentd::validation
