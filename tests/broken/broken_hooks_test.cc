// SPDX-License-Identifier: Apache-2.0
// broken_hooks_test.cc - whatever a hook does wrong, the user reads one sentence and the run goes on.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "tests/support/host_fixture.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace agentd {
namespace {

// Each rule is broken in this process and in a worker: what the user reads is the same.
class HostFixture : public testing::HostFixture {
 public:
  explicit HostFixture(const std::string& modules, Isolation isolation = Isolation::kInProcess)
      : testing::HostFixture(modules) {
    options.isolation = isolation;
    options.worker.program = AGENTD_HOOK_WORKER;
  }
};

std::string place_name(Isolation isolation) { return isolation == Isolation::kInProcess ? "in_process" : "in_worker"; }

const auto kPlaces = ::testing::Values(Isolation::kInProcess, Isolation::kProcess);

struct Broken {
  const char* module;
  const char* says;  // part of the sentence
};

void PrintTo(const Broken& broken, std::ostream* out) { *out << broken.module; }

// The good hook is loaded, acts, and offers its tool.
void expect_good_goes_on(HostFixture& fixture) {
  ASSERT_NE(fixture.host, nullptr);
  const auto outcome = fixture.before_tool_call("bash");
  ASSERT_NE(outcome, nullptr);
  EXPECT_TRUE(outcome->blocked);
  EXPECT_EQ(outcome->reason, "no shell here");
  const auto answer =
      fixture.host->tools().call({}, {"c1", "echo", *ToolInput::make("{\"a\":1}")}, CancelToken(), Deadline());
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->content, "{\"a\":1}");
}

void expect_one_sentence(const HostFixture& fixture, const std::string& path, const std::string& says) {
  ASSERT_EQ(fixture.host->problems().size(), 1u);
  const HookProblem& problem = fixture.host->problems()[0];
  EXPECT_EQ(problem.path, path);
  EXPECT_TRUE(problem.message.starts_with(path)) << problem.message;
  EXPECT_NE(problem.message.find(says), std::string::npos) << problem.message;
  EXPECT_EQ(problem.message.find('\n'), std::string::npos);
  EXPECT_EQ(problem.message.find("/proc/self/fd"), std::string::npos) << problem.message;
  EXPECT_EQ(problem.message.find("Bad file descriptor"), std::string::npos) << problem.message;
  EXPECT_TRUE(fixture.log.has(problem.message));
}

class RefusedHook : public ::testing::TestWithParam<std::tuple<Isolation, Broken>> {};

TEST_P(RefusedHook, IsToldInOneSentenceAndTheGoodOneGoesOn) {
  const auto& [isolation, broken] = GetParam();
  HostFixture fixture(AGENTD_BROKEN_HOOKS, isolation);
  const std::string path = fixture.install(broken.module, "a_broken");
  fixture.install("good");
  fixture.load();
  ASSERT_EQ(fixture.host->plugins().size(), 1u);
  expect_one_sentence(fixture, path, broken.says);
  expect_good_goes_on(fixture);
}

INSTANTIATE_TEST_SUITE_P(
    Modules, RefusedHook,
    ::testing::Combine(
        kPlaces,
        ::testing::Values(
            Broken{"wrong_magic", "is not an agentd hook: its entry returned the magic number 305419896"},
            Broken{"wrong_major", "is built for hook ABI 2.0, this agentd has 1.1"},
            Broken{"missing_symbol", "is not a hook: it does not export agentd_hook_entry_v1"},
            Broken{"size_zero", "has the impossible size 0"}, Broken{"size_three", "has the impossible size 3"},
            Broken{"size_garbage", "has the impossible size 4294967295"},
            Broken{"size_odd", "has the impossible size 91"},
            Broken{"newer_tail", "needs a newer agentd: its plugin record uses fields"},
            Broken{"unknown_row", "needs a newer agentd: this one does not know the event 40"},
            Broken{"unknown_flag", "needs a newer agentd: this one does not know the row flags 16384"},
            Broken{"null_fn", "has no function for the event turn_start"},
            Broken{"bad_stride", "impossible list of subscriptions (1 rows of 8 bytes)"},
            Broken{"bad_concurrency", "asks for the unknown concurrency 9"},
            Broken{"id_differs", "has the id org.agentd.test.raw, but its manifest has org.agentd.test.other"},
            Broken{"declines", "refuses to load: this hook only runs on Sundays"},
            Broken{"newer_abi", "needs a newer agentd (abi 1.7, this one has 1.1)"},
            Broken{"unknown_service", "asks for the unknown service agentd.time_travel/1"},
            Broken{"bad_manifest", "has a bad manifest"},
            Broken{"create_fails", "could not start: a_broken: the key api_url is missing"},
            Broken{"create_fails_silently", "could not start: a_broken: it returned the status -2"},
            Broken{"create_throws", "could not start: a_broken: no licence file"},
            Broken{"undefined_symbol", "cannot be loaded: undefined symbol: agentd_test_nobody_has_this"},
            Broken{"no_manifest", "has no manifest: rebuild it with AGENTD_HOOK or ship a_broken.hook.json"})),
    [](const auto& each) {
      return std::string(std::get<1>(each.param).module) + "_" + place_name(std::get<0>(each.param));
    });

class BothPlaces : public ::testing::TestWithParam<Isolation> {};
class UnknownOptionalRow : public BothPlaces {};
class NewerPluginRecord : public BothPlaces {};
class HandlerThatThrows : public BothPlaces {};
class GuardThatThrows : public BothPlaces {};
class IllegalAction : public BothPlaces {};
class AllBrokenHooksAtOnce : public BothPlaces {};

TEST(TruncatedHook, IsCutOffAtEveryLengthAndNeverCrashesTheHost) {
  HostFixture source(AGENTD_BROKEN_HOOKS);
  source.install("null_fn");
  const std::string whole = source.temp.read("hooks/null_fn.so");
  // Cuts everywhere in the headers, and some in the rest.
  for (std::size_t length = 1; length < whole.size(); length += length < 1024 ? 61 : 977) {
    HostFixture fixture(AGENTD_BROKEN_HOOKS);
    const std::string path = fixture.put("a_broken.so", whole.substr(0, length));
    fixture.load();
    ASSERT_EQ(fixture.host->problems().size(), 1u) << length;
    EXPECT_TRUE(fixture.host->problems()[0].message.starts_with(path)) << length;
    EXPECT_TRUE(fixture.host->plugins().empty());
  }
}

TEST(TruncatedHook, SaysThatItIsCutOff) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.install("good");
  const std::string whole = fixture.temp.read("hooks/good.so");
  const std::string path = fixture.put("a_broken.so", whole.substr(0, 8192));
  fixture.load();
  expect_one_sentence(fixture, path, "is truncated: copy the file again");
  expect_good_goes_on(fixture);
}

TEST(TextFileNamedSo, IsSaidToBeNoLibrary) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.install("good");
  const std::string path = fixture.put("a_broken.so", "#!/bin/sh\necho hello\n");
  fixture.load();
  expect_one_sentence(fixture, path, "is not a shared library despite its name");
  expect_good_goes_on(fixture);
}

TEST(EmptyFileNamedSo, IsSaidToBeEmpty) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.install("good");
  expect_good_goes_on((fixture.load(), fixture));
  const std::string path = fixture.put("a_broken.so", "");
  fixture.load();
  expect_one_sentence(fixture, path, "is empty");
}

TEST(HookOfAnotherMachine, IsToldItsMachineAndOurs) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.install("good");
  std::string bytes = fixture.temp.read("hooks/good.so");
  const bool own_is_arm = bytes[18] == static_cast<char>(183);
  bytes[18] = own_is_arm ? 62 : static_cast<char>(183);
  const std::string path = fixture.put("a_broken.so", bytes);
  fixture.load();
  expect_one_sentence(fixture, path, own_is_arm ? "is built for x86-64" : "is built for AArch64");
  expect_good_goes_on(fixture);
}

TEST_P(UnknownOptionalRow, IsSkippedAndTheRestOfThePluginLoads) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS, GetParam());
  fixture.install("unknown_optional_row");
  fixture.load();
  EXPECT_TRUE(fixture.host->problems().empty());
  ASSERT_EQ(fixture.host->plugins().size(), 1u);
  ASSERT_EQ(fixture.host->plugins()[0]->notes().size(), 1u);
  EXPECT_NE(fixture.host->plugins()[0]->notes()[0].find("the event 40"), std::string::npos);
  ASSERT_EQ(fixture.host->subscriptions().size(), 1u);
  EXPECT_EQ(fixture.host->subscriptions()[0].event, static_cast<unsigned>(AGENTD_EVENT_TURN_START));
}

TEST_P(NewerPluginRecord, LoadsWhenWhatItAddedIsZero) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS, GetParam());
  fixture.install("newer_zero_tail");
  fixture.load();
  EXPECT_TRUE(fixture.host->problems().empty());
  EXPECT_EQ(fixture.host->plugins().size(), 1u);
}

TEST_P(HandlerThatThrows, IsAFailureOfThatHookAlone) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS, GetParam());
  fixture.install("handler_throws");
  fixture.install("good");
  fixture.load();
  const auto outcome = fixture.before_tool_call("bash");
  ASSERT_NE(outcome, nullptr);
  ASSERT_EQ(outcome->failures.size(), 1u);
  EXPECT_EQ(outcome->failures[0].by.hook, "handler_throws");
  EXPECT_EQ(outcome->failures[0].text, "lost my way");
  EXPECT_EQ(outcome->reason, "no shell here");
  EXPECT_FALSE(outcome->blocked_by_failure);
}

TEST_P(GuardThatThrows, BlocksWhatItGuards) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS, GetParam());
  fixture.install("guard_throws");
  fixture.load();
  const auto outcome = fixture.before_tool_call("read_file");
  ASSERT_NE(outcome, nullptr);
  EXPECT_TRUE(outcome->blocked);
  EXPECT_TRUE(outcome->blocked_by_failure);
  EXPECT_EQ(outcome->reason, "the guard 'guard_throws' failed: lost my way");
}

TEST_P(GuardThatThrows, FailsOpenWhenTheConfigSaysSo) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS, GetParam());
  fixture.install("guard_throws");
  fixture.options.plugins["guard_throws"].on_failure = FailurePolicy::kOpen;
  fixture.load();
  const auto outcome = fixture.before_tool_call("read_file");
  ASSERT_NE(outcome, nullptr);
  EXPECT_FALSE(outcome->blocked);
  EXPECT_EQ(outcome->failures.size(), 1u);
}

TEST_P(IllegalAction, IsIgnoredToldAndTheNextHookIsHeard) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS, GetParam());
  fixture.install("illegal_action");
  fixture.install("good");
  fixture.load();
  const auto outcome = fixture.before_tool_call("bash");
  ASSERT_NE(outcome, nullptr);
  EXPECT_TRUE(outcome->exclusive.empty());
  EXPECT_EQ(outcome->reason, "no shell here");
  EXPECT_TRUE(fixture.log.has("the action compact is not legal for before_tool_call"));
}

#if defined(__SSE__)
TEST(LibraryThatTurnsDenormalsOff, LeavesTheHostsArithmeticAlone) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.install("floating_point");
  const unsigned before = _mm_getcsr();
  fixture.load();
  EXPECT_EQ(fixture.host->plugins().size(), 1u);
  EXPECT_EQ(_mm_getcsr(), before);
}
#endif

TEST_P(AllBrokenHooksAtOnce, GiveOneSentenceEachAndTheGoodOneGoesOn) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS, GetParam());
  const std::vector<std::string> modules{"bad_manifest", "create_throws",    "missing_symbol", "null_fn",
                                         "size_garbage", "undefined_symbol", "wrong_magic",    "wrong_major"};
  for (const std::string& each : modules) fixture.install(each);
  fixture.install("good");
  fixture.load();
  EXPECT_EQ(fixture.host->problems().size(), modules.size());
  expect_good_goes_on(fixture);
}

std::string name_of_place(const ::testing::TestParamInfo<Isolation>& each) { return place_name(each.param); }

INSTANTIATE_TEST_SUITE_P(Places, UnknownOptionalRow, kPlaces, name_of_place);
INSTANTIATE_TEST_SUITE_P(Places, NewerPluginRecord, kPlaces, name_of_place);
INSTANTIATE_TEST_SUITE_P(Places, HandlerThatThrows, kPlaces, name_of_place);
INSTANTIATE_TEST_SUITE_P(Places, GuardThatThrows, kPlaces, name_of_place);
INSTANTIATE_TEST_SUITE_P(Places, IllegalAction, kPlaces, name_of_place);
INSTANTIATE_TEST_SUITE_P(Places, AllBrokenHooksAtOnce, kPlaces, name_of_place);

}  // namespace
}  // namespace agentd
