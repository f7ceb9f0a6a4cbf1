// SPDX-License-Identifier: Apache-2.0
// fault_matrix_test.cc - every way in which a hook can end or block its process, in every phase, as often as
// AGENTD_FAULT_REPEATS says (3): the host lives, the hook beside it acts, the failed call counts as its
// on_failure says, and nothing is left behind.
//
// It prints how long the host took to see a fault and to have a new worker; what it checks is never a time.
#include <gtest/gtest.h>

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/support/host_fixture.h"

namespace agentd {
namespace {

using testing::HostFixture;
using Clock_ = std::chrono::steady_clock;

constexpr Milliseconds kDeadline{60};
constexpr Milliseconds kStartTime{400};
constexpr Milliseconds kAmple{5'000};

// What becomes of the process in which the fault happens.
enum class Fate { kEnds, kHangs, kLives };

struct Fault {
  const char* name;
  Fate in_call;
  const char* says;  // part of the failure of a call
  Fate at_load;      // there is no call yet, and no answer to spoil
};

// A sanitizer reports what its own heap finds, and ends the process its way; beside its shadow no address space can be
// limited, so that a leak goes on until the deadline.
#if defined(AGENTD_SANITIZED_BUILD)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr Fault kFaults[] = {
    {"sigsegv", Fate::kEnds, "SIGSEGV", Fate::kEnds},
    {"abort", Fate::kEnds, "SIGABRT", Fate::kEnds},
    {"exit", Fate::kEnds, "status 0", Fate::kEnds},
    {"throw", Fate::kEnds, "SIGABRT", Fate::kEnds},
    {"stack", Fate::kEnds, "SIGSEGV", Fate::kEnds},
#if !defined(AGENTD_THREAD_SANITIZED_BUILD)  // whose allocator lets it pass
    {"double_free", Fate::kEnds, kSanitized ? "its worker" : "SIGABRT", Fate::kEnds},
#endif
    {"spin", Fate::kHangs, "deadline", Fate::kHangs},
    {"deadlock", Fate::kHangs, "deadline", Fate::kHangs},
    {"sleep", Fate::kHangs, "deadline", Fate::kHangs},
    {"leak", kSanitized ? Fate::kHangs : Fate::kEnds, kSanitized ? "deadline" : "SIGSEGV",
     kSanitized ? Fate::kHangs : Fate::kEnds},
#if !defined(AGENTD_SANITIZED_BUILD)  // nothing limits addresses there
    {"leak_shared", Fate::kEnds, "SIGSEGV", Fate::kEnds},
#endif
    {"huge_answer", Fate::kLives, "", Fate::kLives},
    {"garbage_frames", Fate::kEnds, "", Fate::kEnds},
    {"closed_descriptors", Fate::kLives, "", Fate::kLives},
    {"blocked_signals", Fate::kHangs, "deadline", Fate::kHangs},
    {"writes_payload", Fate::kEnds, "SIGSEGV", Fate::kLives},
    {"scribbles", Fate::kEnds, "", Fate::kEnds},
    {"forged_tokens", Fate::kLives, "", Fate::kLives},
};

// Whether what it does to its answers is seen in this call or in a later one is a matter of luck.
bool is_luck(const Fault& fault) {
  return std::string_view(fault.name) == "garbage_frames" || std::string_view(fault.name) == "scribbles";
}

int repeats() {
  const char* const told = std::getenv("AGENTD_FAULT_REPEATS");
  return told == nullptr ? 3 : std::max(1, std::atoi(told));
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  DIR* const directory = ::opendir("/proc/self/fd");
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count - 3;  // ".", ".." and the directory's own
}

long resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::atol(line.c_str() + 6);
  return 0;
}

bool has_child() { return ::waitpid(-1, nullptr, WNOHANG | __WALL) != -1; }

struct Times {
  std::vector<double> ms;
  void add(Clock_::time_point start) {
    ms.push_back(std::chrono::duration<double, std::milli>(Clock_::now() - start).count());
  }
  double at(double part) {
    if (ms.empty()) return 0;
    std::sort(ms.begin(), ms.end());
    return ms[std::min(ms.size() - 1, static_cast<std::size_t>(static_cast<double>(ms.size()) * part))];
  }
};

class FaultMatrix : public ::testing::TestWithParam<Fault> {
 protected:
  static void SetUpTestSuite() {
    std::printf("%-20s %-8s %4s  %22s  %22s\n", "fault", "phase", "n", "seen ms p50 / p99", "again ms p50 / p99");
  }

  const Fault& fault() const { return GetParam(); }

  // The hook with the fault and one that behaves, in workers.
  void prepare(HostFixture& fixture, const std::string& phase) const {
    const std::string module = std::string(fault().name) + (phase == "load" ? "_load" : "_call");
    fixture.install_from(AGENTD_FAULT_HOOKS, module, "a_fault");
    fixture.install("good");
    fixture.options.worker.program = AGENTD_WORKER;
    fixture.options.worker.crashes_max = 1'000'000;
    fixture.options.worker.first_pause = Milliseconds(0);
    fixture.options.worker.pause_max = Milliseconds(0);
    // Where the fault is waited for, not for long; elsewhere a busy machine has its time.
    fixture.options.worker.start_time = phase == "load" ? kStartTime : kAmple;
    fixture.options.worker.control_time = phase == "create" || phase == "destroy" ? kStartTime : kAmple;
    PluginConfig config;
    config.isolation = Isolation::kProcess;
    fixture.options.plugins["good"] = config;
    config.on_failure = FailurePolicy::kClosed;
    config.config_json = "{\"phase\":\"" + phase + "\"}";
    fixture.options.plugins["a_fault"] = config;
  }

  void tell(const char* phase, Times& seen, Times& again) const {
    std::printf("%-20s %-8s %4zu  %9.2f / %9.2f   %9.2f / %9.2f\n", fault().name, phase, seen.ms.size(), seen.at(0.5),
                seen.at(0.99), again.at(0.5), again.at(0.99));
  }
};

void expect_good_acts(HostFixture& fixture) {
  const auto outcome = fixture.before_tool_call("bash");
  ASSERT_NE(outcome, nullptr);
  EXPECT_TRUE(outcome->blocked);
  const auto answer =
      fixture.host->tools().call({}, {"c1", "echo", *ToolInput::make("{\"a\":1}")}, CancelToken(), Deadline());
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->content, "{\"a\":1}");
}

class NothingLeft {
 public:
  NothingLeft() : descriptors_(open_descriptors()), kib_(resident_kib()) {}
  void expect() const {
    EXPECT_FALSE(has_child()) << "a worker was left behind";
    EXPECT_EQ(open_descriptors(), descriptors_);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LE(resident_kib(), kib_ + 4096);
#endif
  }

 private:
  const std::size_t descriptors_;
  const long kib_;
};

// Before create() has returned there is no hook: it is a problem with a sentence.
void start_with_a_fault(const Fault& fault, const std::string& phase, HostFixture& fixture, Fate fate, Times& seen) {
  const auto start = Clock_::now();
  fixture.load();
  seen.add(start);
  const bool loaded = fixture.host->plugins().size() == 2;
  if (fate == Fate::kLives) {
    EXPECT_TRUE(loaded) << fault.name << " " << phase;
  } else if (!is_luck(fault)) {
    EXPECT_FALSE(loaded) << fault.name << " " << phase;
    ASSERT_EQ(fixture.host->problems().size(), 1u);
    EXPECT_NE(fixture.host->problems()[0].message.find("a_fault.so"), std::string::npos)
        << fixture.host->problems()[0].message;
  }
  expect_good_acts(fixture);
}

TEST_P(FaultMatrix, AtLoadAndInCreateItIsASentence) {
  for (const char* const phase : {"load", "create"}) {
    Times seen, again;
    const Fate fate = phase == std::string_view("load") ? fault().at_load : fault().in_call;
    for (int i = 0; i < repeats() && !HasFatalFailure(); ++i) {
      const NothingLeft left;
      {
        HostFixture fixture(AGENTD_BROKEN_HOOKS);
        prepare(fixture, phase);
        start_with_a_fault(fault(), phase, fixture, fate, seen);
      }
      if (i > 0) left.expect();
    }
    tell(phase, seen, again);
  }
}

void call_with_a_fault(const Fault& fault, HostFixture& fixture, Times& seen) {
  const auto start = Clock_::now();
  // Who answers or ends has the time that a busy machine needs.
  const bool may_hang = fault.in_call == Fate::kHangs || is_luck(fault);
  const auto outcome = fixture.before_tool_call("fault", nullptr, may_hang ? kDeadline : kAmple);
  seen.add(start);
  if (fault.in_call == Fate::kLives) {
    EXPECT_TRUE(outcome == nullptr || !outcome->blocked) << outcome->reason;
    return;
  }
  if (is_luck(fault) && (outcome == nullptr || !outcome->blocked)) return;
  ASSERT_NE(outcome, nullptr) << fault.name;
  EXPECT_TRUE(outcome->blocked_by_failure);
  ASSERT_EQ(outcome->failures.size(), 1u);
  EXPECT_NE(outcome->failures[0].text.find(fault.says), std::string::npos) << outcome->failures[0].text;
  EXPECT_EQ(outcome->failures[0].status, fault.in_call == Fate::kHangs ? AGENTD_E_DEADLINE : AGENTD_E_INTERNAL)
      << outcome->failures[0].text;
}

TEST_P(FaultMatrix, InACallTheVerdictIsOnFailureAndTheNextCallIsServed) {
  Times seen, again;
  const NothingLeft left;
  {
    HostFixture fixture(AGENTD_BROKEN_HOOKS);
    prepare(fixture, "hook");
    fixture.load();
    ASSERT_EQ(fixture.host->plugins().size(), 2u) << fixture.host->problems()[0].message;
    for (int i = 0; i < repeats() && !HasFatalFailure(); ++i) {
      call_with_a_fault(fault(), fixture, seen);
      // A worker that scribbles may fail once more before it is seen.
      for (int more = 0; is_luck(fault()) && more < 200; ++more) (void)fixture.before_tool_call("ls", nullptr, kAmple);
      const auto start = Clock_::now();
      const auto next = fixture.before_tool_call("ls", nullptr, kAmple);
      again.add(start);
      if (!is_luck(fault())) {
        EXPECT_EQ(next, nullptr) << next->reason;
        expect_good_acts(fixture);
      }
    }
  }
  left.expect();
  tell("hook", seen, again);
}

TEST_P(FaultMatrix, InDestroyItEndsWithTheHost) {
  Times seen, again;
  for (int i = 0; i < repeats() && !HasFatalFailure(); ++i) {
    const NothingLeft left;
    {
      HostFixture fixture(AGENTD_BROKEN_HOOKS);
      prepare(fixture, "destroy");
      fixture.load();
      ASSERT_EQ(fixture.host->plugins().size(), 2u);
      expect_good_acts(fixture);
      const auto start = Clock_::now();
      fixture.host->shutdown();
      seen.add(start);
    }
    if (i > 0) left.expect();
  }
  tell("destroy", seen, again);
}

INSTANTIATE_TEST_SUITE_P(Faults, FaultMatrix, ::testing::ValuesIn(kFaults),
                         [](const auto& each) { return std::string(each.param.name); });

// The matrix would notice: the same fault without a worker takes the host with it.
TEST(FaultMatrixDeathTest, WithoutAWorkerTheHostDies) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        HostFixture fixture(AGENTD_BROKEN_HOOKS);
        fixture.install_from(AGENTD_FAULT_HOOKS, "abort_call", "a_fault");
        PluginConfig config;
        config.isolation = Isolation::kInProcess;
        config.config_json = R"({"phase":"hook"})";
        fixture.options.plugins["a_fault"] = config;
        fixture.load();
        (void)fixture.before_tool_call("fault");
      },
      "");
}

}  // namespace
}  // namespace agentd
