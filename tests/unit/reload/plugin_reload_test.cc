// SPDX-License-Identifier: Apache-2.0
// Native hooks whose files change while others call them.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/host/plugin_host.h"
#include "tests/support/host_fixture.h"

namespace agentd {
namespace {

using testing::HostFixture;

class Reload : public ::testing::Test {
 protected:
  Reload() {
    fixture.options.plugins["counter"].config_json = "{\"log\":\"" + log() + "\",\"gate\":\"" + gate() + "\"}";
    fixture.options.isolation = Isolation::kInProcess;
  }
  std::string log() const { return fixture.temp.file("log"); }
  std::string gate() const { return fixture.temp.file("gate"); }

  // Puts a revision in the place of the one before, as a build does that renames.
  void put(int revision, const std::string& as = "counter") {
    const std::string from = std::string(AGENTD_COUNTERS) + "/counter_" + std::to_string(revision) + ".so";
    const std::string fresh = fixture.path(".fresh");
    std::filesystem::copy_file(from, fresh, std::filesystem::copy_options::overwrite_existing);
    ::chmod(fresh.c_str(), 0644);
    std::filesystem::rename(fresh, fixture.path(as + ".so"));
  }
  PluginHost::Reloaded reload(bool all = false) {
    auto out = fixture.host->reload_changed(all);
    if (out.changed) fixture.dispatcher.publish(fixture.host->subscriptions());
    return out;
  }
  void call() { (void)fixture.before_tool_call("any"); }
  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    std::ifstream file(log());
    for (std::string line; std::getline(file, line);) out.push_back(line);
    return out;
  }
  long count(const std::string& what) const {
    const auto all = lines();
    return std::count_if(all.begin(), all.end(),
                         [&](const std::string& line) { return line.find(what) != std::string::npos; });
  }

  HostFixture fixture{AGENTD_COUNTERS};
};

TEST_F(Reload, ChangedFileTakesOverWithTheStateOfTheOneBefore) {
  put(1);
  fixture.load();
  call();
  call();
  put(2);
  const auto found = reload();
  EXPECT_TRUE(found.changed);
  EXPECT_TRUE(found.problems.empty());
  ASSERT_EQ(found.notes.size(), 1u);
  EXPECT_NE(found.notes[0].find("the hook counter was reloaded (1.0.1 to 1.0.2, sha256 "), std::string::npos);
  call();
  EXPECT_EQ(lines(), (std::vector<std::string>{"1 created 0", "1 call 1", "1 call 2", "2 created 0", "1 destroyed 2",
                                               "2 call 3"}));
}

TEST_F(Reload, PinnedSnapshotKeepsTheOldInstanceAndItEndsOnceWithTheLastPin) {
  put(1);
  fixture.load();
  auto pinned = fixture.dispatcher.pin();
  auto second = pinned;
  put(2);
  reload();
  EXPECT_EQ(count("destroyed"), 0);
  const SlotLease slot(fixture.tokens);
  Dispatch event;
  event.event = AGENTD_EVENT_BEFORE_TOOL_CALL;
  agentd_tool_call payload{};
  payload.size = sizeof payload;
  event.payload = &payload;
  dispatch(*pinned, *slot, event);
  EXPECT_EQ(count("1 call 1"), 1);
  pinned.reset();
  EXPECT_EQ(count("destroyed"), 0);
  second.reset();
  EXPECT_EQ(count("1 destroyed"), 1);
  fixture.host.reset();
  EXPECT_EQ(count("1 destroyed"), 1);
  EXPECT_EQ(count("2 destroyed"), 1);
}

TEST_F(Reload, NothingHappensWhileNothingChanges) {
  put(1);
  fixture.load();
  EXPECT_FALSE(reload().changed);
  std::filesystem::last_write_time(fixture.path("counter.so"), std::filesystem::file_time_type::clock::now());
  EXPECT_FALSE(reload().changed);  // other times, the same bytes
  EXPECT_EQ(count("created"), 1);
}

TEST_F(Reload, ChangedBytesWithoutConsentKeepTheOldOneAndAreToldOnce) {
  bool agrees = true;
  fixture.options.consent = [&](const HookFile& file, const std::string&) -> Result<void> {
    if (agrees) return {};
    return Error{Code::kDenied, file.path + " does not run: its bytes changed: agentd hooks trust counter"};
  };
  put(1);
  fixture.load();
  agrees = false;
  put(2);
  auto found = reload();
  EXPECT_FALSE(found.changed);
  ASSERT_EQ(found.problems.size(), 1u);
  EXPECT_EQ(found.problems[0].message, fixture.path("counter.so") +
                                           " does not run: its bytes changed: agentd hooks trust counter; "
                                           "the version loaded before continues");
  call();
  EXPECT_EQ(count("1 call 1"), 1);
  EXPECT_TRUE(reload().problems.empty());
  EXPECT_TRUE(reload(true).problems.empty());
  agrees = true;
  EXPECT_FALSE(reload().changed);  // the file is the same: nobody looks again
  EXPECT_TRUE(reload(true).changed);
  call();
  EXPECT_EQ(count("2 call 2"), 1);
}

TEST_F(Reload, BrokenFileKeepsTheOldOneUntilItIsMended) {
  put(1);
  fixture.load();
  fixture.put("counter.so",
              "\x7f"
              "ELF and no more");
  const auto found = reload();
  EXPECT_FALSE(found.changed);
  ASSERT_EQ(found.problems.size(), 1u);
  EXPECT_NE(found.problems[0].message.find("; the version loaded before continues"), std::string::npos);
  EXPECT_TRUE(fixture.host->broken_guards().empty());
  call();
  EXPECT_EQ(count("1 call 1"), 1);
  put(2);
  EXPECT_TRUE(reload().changed);
  call();
  EXPECT_EQ(count("2 call 2"), 1);
}

TEST_F(Reload, SuccessorThatDoesNotStartKeepsTheOldOne) {
  put(1);
  fixture.load();
  put(3);
  const auto found = reload();
  EXPECT_FALSE(found.changed);
  ASSERT_EQ(found.problems.size(), 1u);
  EXPECT_NE(found.problems[0].message.find("not today"), std::string::npos);
  call();
  EXPECT_EQ(count("1 call 1"), 1);
  EXPECT_EQ(count("1 destroyed"), 0);
}

TEST_F(Reload, SuccessorThatRefusesTheStateStartsCleanAndThatIsTold) {
  put(1);
  fixture.load();
  call();
  put(4);
  const auto found = reload();
  EXPECT_TRUE(found.changed);
  ASSERT_EQ(found.problems.size(), 1u);
  EXPECT_NE(found.problems[0].message.find("starts without the state of its earlier version"), std::string::npos);
  EXPECT_NE(found.problems[0].message.find("an unknown form"), std::string::npos);
  call();
  EXPECT_EQ(count("4 call 1"), 1);
}

TEST_F(Reload, NewFileIsLoadedAndOneThatIsGoneIsNotAskedAnyMore) {
  fixture.load();
  put(1);
  EXPECT_TRUE(reload().changed);
  call();
  EXPECT_EQ(count("1 call 1"), 1);
  std::filesystem::remove(fixture.path("counter.so"));
  const auto found = reload();
  EXPECT_TRUE(found.changed);
  EXPECT_EQ(found.gone, std::vector<std::string>{"counter"});
  call();
  EXPECT_EQ(count("call"), 1);
  EXPECT_EQ(count("destroyed"), 1);
}

TEST_F(Reload, FileThatIsRenamedIsNotInItsOwnWay) {
  put(1);
  fixture.load();
  std::filesystem::rename(fixture.path("counter.so"), fixture.path("other.so"));
  const auto found = reload();
  EXPECT_TRUE(found.problems.empty());
  ASSERT_EQ(fixture.host->plugins().size(), 1u);
  EXPECT_EQ(fixture.host->plugins()[0]->identity().name, "other");
}

TEST_F(Reload, SecondFileOfAnIdIsRefusedWhileTheFirstIsThere) {
  put(1);
  fixture.load();
  put(2, "twin");
  const auto found = reload();
  EXPECT_FALSE(found.changed);
  ASSERT_EQ(found.problems.size(), 1u);
  EXPECT_NE(found.problems[0].message.find("has the same id"), std::string::npos);
}

TEST_F(Reload, FileThatBecomesUnsafeKeepsTheOneThatRuns) {
  put(1);
  fixture.load();
  ::chmod(fixture.path("counter.so").c_str(), 0666);
  const auto found = reload();
  EXPECT_FALSE(found.changed);
  ASSERT_EQ(found.problems.size(), 1u);
  EXPECT_TRUE(reload().problems.empty());
  ::chmod(fixture.hooks().c_str(), 0777);
  EXPECT_FALSE(reload().changed);
  ::chmod(fixture.hooks().c_str(), 0700);
  call();
  EXPECT_EQ(count("1 call 1"), 1);
}

TEST_F(Reload, ModulesAreInTheOrderInWhichTheyWouldHaveBeenLoaded) {
  put(1, "zz");
  fixture.load();
  std::filesystem::copy_file(std::string(AGENTD_COUNTERS) + "/other.so", fixture.path("aa.so"));
  reload();
  ASSERT_EQ(fixture.host->plugins().size(), 2u);
  EXPECT_EQ(fixture.host->plugins()[0]->identity().name, "aa");
}

TEST_F(Reload, EightReloadsRecommendAProcessOfItsOwn) {
  put(1);
  fixture.load();
  std::string said;
  for (int i = 0; i < 9; ++i) {
    put(i % 2 == 0 ? 2 : 1);
    for (const std::string& note : reload().notes) said += note + "\n";
  }
  const auto at = said.find("set hooks.counter.isolation to process");
  EXPECT_NE(at, std::string::npos);
  EXPECT_EQ(said.find("set hooks.counter.isolation to process", at + 1), std::string::npos);
}

TEST_F(Reload, ToolCallKeepsItsInstanceToItsEnd) {
  put(1);
  fixture.load();
  std::string output;
  std::thread caller([&] {
    auto got = fixture.host->tools().call({}, {"1", "wait", {}}, CancelToken(), Deadline{});
    if (got) output = got->content;
  });
  for (int i = 0; i < 10'000 && count("waiting") == 0; ++i) std::this_thread::sleep_for(Milliseconds(1));
  EXPECT_EQ(count("waiting"), 1);
  // save_state() has to wait for the call, so the gate opens meanwhile.
  std::thread opener([&] {
    std::this_thread::sleep_for(Milliseconds(50));
    fixture.temp.write("gate", "");
  });
  put(2);
  EXPECT_TRUE(reload().changed);
  opener.join();
  caller.join();
  EXPECT_EQ(output, "1.0.1");
  EXPECT_EQ(count("1 destroyed"), 1);
}

TEST_F(Reload, InstanceWhoseTaskDoesNotEndIsLeakedAndTheLogNamesTheTask) {
  put(5);
  fixture.load();
  put(1);
  EXPECT_TRUE(reload().changed);
  EXPECT_TRUE(fixture.log.has("the task deaf of the hook counter did not end within 5 s"));
  EXPECT_TRUE(fixture.log.has("destroy() is not called"));
  EXPECT_EQ(count("destroyed"), 0);
  fixture.temp.write("gate", "");
  for (int i = 0; i < 5'000 && count("told") == 0; ++i) std::this_thread::sleep_for(Milliseconds(1));
  EXPECT_EQ(count("5 told"), 1);  // its object and its context are still there
}

TEST_F(Reload, FiftyReloadsUnderCallsFromFourThreadsLoseAndDoubleNothing) {
  put(1);
  fixture.load();
  std::atomic<bool> ends{false};
  std::atomic<long> called{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      while (!ends) {
        call();
        ++called;
        (void)fixture.host->tools().tools();
        // A queue that is never empty gives the hand-over no turn.
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
  for (int i = 0; i < 50; ++i) {
    put(i % 2 == 0 ? 2 : 1);
    const auto found = reload();
    EXPECT_TRUE(found.changed);
    EXPECT_TRUE(found.problems.empty()) << found.problems[0].message;
  }
  ends = true;
  for (std::thread& each : callers) each.join();
  EXPECT_EQ(count("call"), called);
  EXPECT_EQ(count("created"), 51);
  EXPECT_EQ(count("destroyed"), 50);
  fixture.dispatcher.publish({});
  fixture.host.reset();
  EXPECT_EQ(count("destroyed"), 51);
}

}  // namespace
}  // namespace agentd
