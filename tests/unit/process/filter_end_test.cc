// SPDX-License-Identifier: Apache-2.0
// No process survives a filter's deadline, and many concurrent filters leave nothing behind.
#include <fcntl.h>
#include <unistd.h>

#include "core/process/commands.h"
#include "core/process/filter.h"
#include "tests/unit/process/children.h"

namespace agentd {
namespace {

class FilterEnd : public Children {
 protected:
  Result<FilterResult> shell_past_deadline(const std::string& line, Milliseconds grace = Milliseconds(200)) {
    FilterRequest request;
    request.argv = {"sh", "-c", line};
    request.environment = environment();
    request.grace = grace;
    return past_deadline(
        "ready", [&](const Clock& clock, Deadline deadline) { return run_filter(request, clock, cancel_, deadline); });
  }
};

TEST_F(FilterEnd, KeepsWhatWasWrittenBeforeTheDeadline) {
  const auto got = shell_past_deadline("echo answer; echo why >&2; echo >$F; exec sleep 600");
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->timed_out);
  EXPECT_FALSE(got->cancelled);
  EXPECT_EQ(got->signal, SIGTERM);
  EXPECT_EQ(got->output, "answer\n");
  EXPECT_EQ(got->error, "why\n");
  EXPECT_GE(got->duration_us, 60'000'000u);
}

TEST_F(FilterEnd, LetsAProgramTidyUp) {
  const auto got = shell_past_deadline(
      "trap 'head -c 300000 /dev/zero; echo tidy; exit 3' TERM; echo >$F; "
      "while :; do sleep 0.01; done",
      Milliseconds(60'000));
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->timed_out);
  EXPECT_EQ(got->exit_code, 3);
  EXPECT_EQ(got->output.size(), 300'005u);
}

TEST_F(FilterEnd, ComesToAProgramThatWritesWithoutEnd) {
  const auto got = shell_past_deadline("echo >$F; exec cat /dev/zero >&2");
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->timed_out);
  EXPECT_LT(got->error.size(), (64u << 10) + 100);
}

class Hiding : public FilterEnd, public ::testing::WithParamInterface<const char*> {};

TEST_P(Hiding, ProcessIsDeadWhenTheFilterReturns) {
  const auto got = shell_past_deadline(GetParam());
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->timed_out);
  const pid_t hidden = pid_in("ready");
  ASSERT_GT(hidden, 1);
  EXPECT_FALSE(alive(hidden));
  ::kill(hidden, SIGKILL);
  if (!std::filesystem::exists(folder_.file("ready.late"))) return;
  const pid_t late = pid_in("ready.late");
  EXPECT_FALSE(alive(late));
  ::kill(late, SIGKILL);
}

TEST_P(Hiding, ProcessIsDeadWhenTheFilterReturnsToOneThatAdoptsOrphans) {
  const Adopting adopting;
  const auto got = shell_past_deadline(GetParam());
  ASSERT_TRUE(got);
  const pid_t hidden = pid_in("ready");
  ASSERT_GT(hidden, 1);
  EXPECT_FALSE(alive(hidden));
  ::kill(hidden, SIGKILL);
}

INSTANTIATE_TEST_SUITE_P(Ways, Hiding, ::testing::ValuesIn(kHidingPlaces));

// Ways to continue after the program has answered. Each writes the id of the surviving process to $F.
const char* const kStaying[] = {
    // a child in the background
    "sh -c 'echo $$ >$F; exec sleep 600' >/dev/null 2>&1 & while ! test -s $F; do sleep 0.01; done",
    // it holds the output
    "sh -c 'echo $$ >$F; exec sleep 600' & while ! test -s $F; do sleep 0.01; done",
    // a daemon
    "(setsid sh -c 'echo $$ >$F; exec sleep 600' </dev/null >/dev/null 2>&1 &); "
    "while ! test -s $F; do sleep 0.01; done",
    // a daemon without anything of its starter
    "(setsid env -i F=$F sh -c 'echo $$ >$F; exec /bin/sleep 600' </dev/null >/dev/null 2>&1 &); "
    "while ! test -s $F; do sleep 0.01; done"};

class Staying : public FilterEnd, public ::testing::WithParamInterface<const char*> {
 protected:
  void expect_dead() {
    FilterRequest request;
    request.argv = {"sh", "-c", std::string(GetParam()) + "; echo answer"};
    request.environment = environment();
    const auto got = run_filter(request, clock_, cancel_, Deadline::after(clock_, Milliseconds(60'000)));
    ASSERT_TRUE(got);
    EXPECT_EQ(got->exit_code, 0);
    EXPECT_EQ(got->output, "answer\n");
    const pid_t child = pid_in("ready");
    ASSERT_GT(child, 1);
    EXPECT_FALSE(alive(child)) << "what a filter starts ends with its answer";
    ::kill(child, SIGKILL);
  }
};

TEST_P(Staying, ProcessIsDeadWhenTheFilterHasAnswered) { expect_dead(); }

TEST_P(Staying, ProcessIsDeadForOneThatAdoptsOrphansToo) {
  const Adopting adopting;
  expect_dead();
  reap_orphans();
  EXPECT_FALSE(has_children()) << "no zombie is left";
}

INSTANTIATE_TEST_SUITE_P(Ways, Staying, ::testing::ValuesIn(kStaying));

TEST_F(FilterEnd, SparesProcessesOfAnotherCommand) {
  const Adopting adopting;
  CommandTable table(std::make_shared<CommandReader>(clock_));
  CommandRequest other;
  other.process.argv = {"sh", "-c",
                        "(setsid sh -c 'echo $$ >$F; exec sleep 600' </dev/null >/dev/null 2>&1 &); sleep 600"};
  other.process.environment = environment("server");
  ASSERT_TRUE(table.start(std::move(other)));
  const pid_t server = pid_in("server");
  const auto got = shell_past_deadline("echo $$ >$F; (setsid sleep 601 &); sleep 600");
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->timed_out);
  EXPECT_TRUE(alive(server));
  (void)table.end_all();
  while (alive(server)) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

TEST_F(FilterEnd, ReturnsWhileTheProgramAndItsChildSleep) {
  const auto got = shell_past_deadline("sleep 600 & echo $! >$F; sleep 600");
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->timed_out);
  EXPECT_FALSE(alive(pid_in("ready")));
}

TEST_F(FilterEnd, SparesProcessesOfOthers) {
  // A child of this process in the moment before its program is executed holds all its descriptors.
  int gate[2];
  ASSERT_EQ(::pipe2(gate, O_CLOEXEC), 0);
  FilterRequest request;
  request.argv = {"sh", "-c", "echo $$ >$F; exec sleep 600"};
  request.environment = environment();
  pid_t unborn = -1;
  const auto got = past_deadline("ready", [&](const Clock& clock, Deadline deadline) {
    std::thread other([&] {
      wait_for_file("ready");
      // It gets the write end of the filter's pipe again, as if it was created before that was closed.
      const std::string end = "/proc/" + wait_for_file("ready") + "/fd/1";
      const int held = ::open(end.c_str(), O_WRONLY | O_CLOEXEC);
      // Processes are created as everywhere, so that none gets another one's brand.
      const Birth birth(Offspring::kAny);
      unborn = ::fork();
      if (unborn == 0) {
        char byte = 0;
        ::close(gate[1]);
        const ssize_t got_byte = ::read(gate[0], &byte, 1);
        ::_exit(got_byte == 1 ? 42 : 43);
      }
      ::close(held);
      std::ofstream(folder_.file("go")) << "\n";
    });
    auto result = run_filter(request, clock, cancel_, deadline);
    other.join();
    return result;
  });
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->timed_out);
  EXPECT_EQ(::write(gate[1], "x", 1), 1);
  ::close(gate[0]);
  ::close(gate[1]);
  int status = 0;
  ASSERT_EQ(::waitpid(unborn, &status, 0), unborn);
  EXPECT_TRUE(WIFEXITED(status)) << "it was ended by signal " << WTERMSIG(status);
}

TEST_F(FilterEnd, LeavesNothingOfManyAtOnce) {
  const int leaks[] = {::open("/dev/null", O_RDONLY), ::open("/dev/null", O_RDWR)};
  const int high = ::fcntl(leaks[0], F_DUPFD, 500);  // none of them close-on-exec, on purpose
  const int before = descriptors();
  std::atomic<int> right{0};
  const auto one = [&](int number) {
    FilterRequest request;
    request.environment = clean_environment();
    request.output_bytes_max = 64u << 10;
    request.input = std::to_string(number);
    request.argv = {"sh", "-c", "ls /proc/self/fd; cat; echo bad >&2; exit 2"};
    if (number % 10 == 3) request.argv = {"cat", "/dev/zero"};  // is killed while others are being created
    if (number % 10 == 7) request.argv = {"/no/such/program"};
    const auto got = run_filter(request, clock_, cancel_, Deadline{});
    if (number % 10 == 7) return !got;
    if (number % 10 == 3) return got && got->output_over_cap && got->signal == SIGKILL;
    return got && got->exit_code == 2 && got->error == "bad\n" &&
           got->output == "0\n1\n2\n3\n" + request.input;  // 3 is the listing's own
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 25; ++round)
        if (one(thread * 25 + round)) ++right;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 200);
  EXPECT_EQ(descriptors(), before);
  EXPECT_FALSE(has_children());
  for (const int fd : {leaks[0], leaks[1], high}) ::close(fd);
}

}  // namespace
}  // namespace agentd
