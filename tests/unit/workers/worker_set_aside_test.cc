// SPDX-License-Identifier: Apache-2.0
// worker_set_aside_test.cc - a hook in a worker that keeps crashing or hanging is paused, then set aside.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/unit/workers/worker_fixture.h"

namespace agentd {
namespace {

using testing::eventually;
using testing::Said;
using testing::WorkerFixture;
using testing::workers;

// ---- it crashes again and again

TEST(WorkerThatKeepsCrashing, IsSetAsideAtTheThirdTime) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.options.worker.first_pause = Milliseconds(1);
  fixture.options.quarantine_directory = fixture.temp.file("quarantine");
  fixture.load();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(fixture.ask("crash").failure, "its worker was killed by signal 11 (SIGSEGV)") << i;
  const Said said = fixture.ask("bash");
  EXPECT_EQ(said.status, AGENTD_E_INTERNAL);
  EXPECT_EQ(said.failure,
            "is quarantined: it crashed its worker 3 times in 60 s (signal 11); fix it, or run "
            "'agentd hooks "
            "release moods'");
  EXPECT_TRUE(fixture.log.has("is quarantined"));
  EXPECT_TRUE(eventually([] { return workers().empty(); }));
  // And it is not loaded the next time.
  WorkerFixture next;
  next.options.directories = fixture.options.directories;
  next.options.quarantine_directory = fixture.options.quarantine_directory;
  next.load();
  ASSERT_EQ(next.host->problems().size(), 1u);
  EXPECT_NE(next.host->problems()[0].message.find("crashed its worker 3 times in 60 s (signal 11)"), std::string::npos)
      << next.host->problems()[0].message;
}

TEST(WorkerThatKeepsCrashing, WaitsLongerBeforeEachNewOne) {
  WorkerOptions options;
  options.crashes_max = 100;
  ManualClock clock;
  CrashBook book(options, clock);
  EXPECT_EQ(book.next_start_ns(), 0u);
  const std::uint64_t now = clock.monotonic_ns();
  const std::uint64_t ms = 1'000'000;
  for (const std::uint64_t pause : {std::uint64_t{0}, 100 * ms, 400 * ms, 1'600 * ms, 6'400 * ms, 10'000 * ms}) {
    EXPECT_FALSE(book.note(now, EndKind::kCrash, "signal 11"));
    EXPECT_EQ(book.next_start_ns(), pause == 0 ? 0 : now + pause);
  }
}

TEST(WorkerThatKeepsHanging, WaitsLikeOneThatCrashes) {
  WorkerOptions options;
  options.crashes_max = 100;
  ManualClock clock;
  CrashBook book(options, clock);
  const std::uint64_t now = clock.monotonic_ns();
  for (const EndKind kind : {EndKind::kHang, EndKind::kCutShort}) EXPECT_FALSE(book.note(now, kind, "no answer"));
  EXPECT_EQ(book.next_start_ns(), now + 100'000'000u);
}

TEST(WorkerThatKeepsBeingCutShort, IsNotSetAsideAndWhatItsHostEndedIsNoFault) {
  WorkerOptions options;
  options.crashes_max = 1;
  ManualClock clock;
  CrashBook book(options, clock);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(book.note(clock.monotonic_ns(), EndKind::kWanted, "it was not needed"));
  EXPECT_EQ(book.next_start_ns(), 0u);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(book.note(clock.monotonic_ns(), EndKind::kCutShort, "it was cancelled"));
  EXPECT_EQ(book.set_aside(), "");
  EXPECT_TRUE(book.note(clock.monotonic_ns(), EndKind::kHang, "no answer"));
  EXPECT_EQ(book.set_aside(), "hung its worker 1 time in 60 s (no answer)");
}

TEST(WorkerThatKeepsCrashing, IsForgivenWhatIsLongerAgoThanTheWindow) {
  WorkerOptions options;
  ManualClock clock;
  CrashBook book(options, clock);
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(book.note(clock.monotonic_ns(), EndKind::kCrash, "signal 11"));
    clock.advance(Milliseconds(31'000));
  }
  EXPECT_EQ(book.set_aside(), "");
  clock.advance(Milliseconds(61'000));
  EXPECT_EQ(book.next_start_ns(), 0u);
}

// ---- what is held against it

// Its program is a link that a test turns to something else.
class WorkerProgram : public ::testing::Test {
 protected:
  WorkerProgram() {
    turn_to(AGENTD_HOOK_WORKER);
    fixture_.install("moods");
    fixture_.options.worker.program = link_;
    fixture_.options.worker.zygote = false;  // which would be the program of before
    fixture_.options.worker.crashes_max = 1;
    fixture_.options.worker.first_pause = fixture_.options.worker.pause_max = Milliseconds(1);
    fixture_.options.quarantine_directory = fixture_.temp.file("quarantine");
  }
  void turn_to(const std::string& program) const {
    std::filesystem::remove(link_);
    std::filesystem::create_symlink(program, link_);
  }
  void turn_to_script(const std::string& line) {
    fixture_.temp.write("script", "#!/bin/sh\n" + line + "\n");
    std::filesystem::permissions(fixture_.temp.file("script"), std::filesystem::perms::owner_all);
    turn_to(fixture_.temp.file("script"));
  }
  // As who ends all processes of a service does, when the hook has taken away what the worker does about it.
  void terminate() {
    ASSERT_EQ(fixture_.ask("no handlers").status, AGENTD_OK);
    const pid_t pid = fixture_.pid();
    ASSERT_EQ(::kill(pid, SIGTERM), 0);
    ASSERT_TRUE(eventually([&] { return fixture_.pid() != pid; }));
  }

  WorkerFixture fixture_;
  const std::string link_ = fixture_.temp.file("worker");
};

TEST_F(WorkerProgram, ThatSomebodyElseEndedIsNotSetAside) {
  fixture_.load();
  for (int i = 0; i < 3; ++i) {
    terminate();
    EXPECT_EQ(fixture_.ask("bash").reason, "no shell here");
  }
  terminate();
  fixture_.host->shutdown();
  EXPECT_FALSE(std::filesystem::exists(fixture_.options.quarantine_directory));
}

TEST_F(WorkerProgram, ThatCannotBeStartedIsNotSetAside) {
  fixture_.load();
  terminate();
  std::filesystem::remove(link_);
  for (int i = 0; i < 4; ++i) {
    const Said said = fixture_.ask("bash");
    EXPECT_NE(said.failure.find("could not get a worker"), std::string::npos) << said.failure;
  }
  turn_to(AGENTD_HOOK_WORKER);
  EXPECT_EQ(fixture_.ask("bash").reason, "no shell here");
}

TEST_F(WorkerProgram, ThatHasNoTimeToStartIsNotSetAside) {
  fixture_.options.worker.start_time = Milliseconds(3'000);
  fixture_.load();
  terminate();
  turn_to_script("exec sleep 600");
  const Said said = fixture_.ask("bash");
  EXPECT_NE(said.failure.find("did not load the module within 3000 ms"), std::string::npos) << said.failure;
  turn_to(AGENTD_HOOK_WORKER);
  EXPECT_EQ(fixture_.ask("bash").reason, "no shell here");
}

TEST_F(WorkerProgram, ThatEndsAtItsStartIsSetAside) {
  fixture_.load();
  terminate();
  turn_to_script("exit 3");
  const Said said = fixture_.ask("bash");
  EXPECT_NE(said.failure.find("ended by itself with status 3"), std::string::npos) << said.failure;
  turn_to(AGENTD_HOOK_WORKER);
  EXPECT_EQ(fixture_.ask("bash").failure,
            "is quarantined: it crashed its worker 1 time in 60 s (it did not start); fix it, or "
            "run 'agentd hooks release moods'");
}

TEST_F(WorkerProgram, ThatHangsInItsOnlyCallIsNotLoadedAgain) {
  fixture_.options.worker.hang_time = Milliseconds(0);
  fixture_.load();
  (void)fixture_.ask("hang", {Milliseconds(50), 0, {}});
  fixture_.host->shutdown();
  fixture_.load();
  ASSERT_EQ(fixture_.host->problems().size(), 1u);
  EXPECT_NE(fixture_.host->problems()[0].message.find("hung its worker 1 time in 60 s"), std::string::npos)
      << fixture_.host->problems()[0].message;
}

TEST_F(WorkerProgram, ThatCrashesAtItsEndIsNotLoadedAgain) {
  fixture_.options.plugins["moods"].config_json = R"({"crash_at_end":1})";
  fixture_.load();
  fixture_.host->shutdown();
  fixture_.load();
  ASSERT_EQ(fixture_.host->problems().size(), 1u);
  EXPECT_NE(fixture_.host->problems()[0].message.find("crashed its worker 1 time in 60 s"), std::string::npos)
      << fixture_.host->problems()[0].message;
}

TEST(WorkerForEachConversation, ThatIsSlowToMakeRoomHasNotHung) {
  WorkerFixture fixture(Isolation::kProcessPerConversation);
  fixture.install("moods");
  fixture.options.plugins["moods"].config_json = R"({"hang_at_end":1})";
  fixture.options.quarantine_directory = fixture.temp.file("quarantine");
  fixture.options.worker.conversations_max = 2;
  fixture.options.worker.eviction_time = Milliseconds(100);
  fixture.options.worker.hang_time = Milliseconds(0);
  fixture.load();
  for (const agentd_conv conversation : {1u, 2u}) (void)fixture.ask("bash", {Milliseconds(10'000), conversation, {}});
  EXPECT_TRUE(eventually([&] { return fixture.log.has("evicted for another conversation: "); }));
  EXPECT_FALSE(std::filesystem::exists(fixture.options.quarantine_directory));
  for (const pid_t pid : fixture.worker().pids()) (void)::kill(pid, SIGKILL);
}

}  // namespace
}  // namespace agentd
