// SPDX-License-Identifier: Apache-2.0
// fork_test.cc - functions in processes of their own, and their outcomes.
#include "core/process/fork.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "core/base/file.h"
#include "tests/unit/process/children.h"

namespace agentd {
namespace {

class Forked : public Children {
 protected:
  ForkEnd run(const std::function<int(int)>& body) {
    auto end = run_forked(body, limits_, clock_, cancel_);
    EXPECT_TRUE(end) << end.error().message;
    return end ? *std::move(end) : ForkEnd();
  }
  static bool say(int fd, const std::string& text) { return static_cast<bool>(write_all(fd, text)); }
  // The child's own answers about itself.
  std::string report(const std::function<std::string()>& question) {
    return run([&](int fd) { return say(fd, question()) ? 0 : 1; }).report;
  }

  ForkLimits limits_;
};

TEST_F(Forked, TellsTheExitCodeTheReportAndTheOutputApart) {
  const ForkEnd end = run([](int fd) {
    (void)say(STDOUT_FILENO, "to output\n");
    (void)say(STDERR_FILENO, "to error\n");
    return say(fd, "the report") ? 3 : 1;
  });
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_EQ(end.signal, 0);
  EXPECT_FALSE(end.timed_out || end.cancelled);
  EXPECT_EQ(end.report, "the report");
  EXPECT_EQ(end.output, "to output\nto error\n");
  EXPECT_GT(end.memory_kib, 0u);
  EXPECT_EQ(end.how(), "ended with exit code 3");
}

TEST_F(Forked, TellsTheSignalThatEndedIt) {
  const ForkEnd end = run([](int fd) {
    (void)say(fd, "before");
    ::signal(SIGSEGV, SIG_DFL);
    ::raise(SIGSEGV);
    return 0;
  });
  EXPECT_EQ(end.exit_code, -1);
  EXPECT_EQ(end.signal, SIGSEGV);
  EXPECT_EQ(end.report, "before");
  EXPECT_EQ(end.how(), "was ended by signal 11 (SIGSEGV)");
}

TEST_F(Forked, EndsWith250WhenItThrows) {
  const ForkEnd end = run([](int) -> int { throw std::runtime_error("no"); });
  EXPECT_EQ(end.exit_code, 250);
  EXPECT_EQ(end.how(), "threw an exception");
}

TEST_F(Forked, ChangesNothingOfItsParent) {
  int number = 1;
  EXPECT_EQ(run([&](int) {
              number = 2;
              ::setenv("AGENTD_FORK_TEST", "set", 1);
              return ::chdir("/") == 0 && number == 2 ? 7 : 1;
            }).exit_code,
            7);
  EXPECT_EQ(number, 1);
  EXPECT_EQ(std::getenv("AGENTD_FORK_TEST"), nullptr);
  EXPECT_NE(std::filesystem::current_path(), "/");
}

TEST_F(Forked, HasASessionOfItsOwnReadsNothingAndMakesNoCore) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_CORE, &before), 0);
  const rlimit most{before.rlim_max, before.rlim_max};
  ::setrlimit(RLIMIT_CORE, &most);
  EXPECT_EQ(report([] {
              char byte = 0;
              rlimit core{1, 1};
              ::getrlimit(RLIMIT_CORE, &core);
              return std::string(::getsid(0) == ::getpid() ? "session " : "") +
                     (::read(STDIN_FILENO, &byte, 1) == 0 ? "no input " : "") + (core.rlim_cur == 0 ? "no core" : "");
            }),
            "session no input no core");
  ::setrlimit(RLIMIT_CORE, &before);
}

// A process of one thread that closes the descriptors, so that pipes would get their numbers.
TEST_F(Forked, KeepsReportAndOutputApartWhateverDescriptorsAreClosed) {
  for (unsigned closed = 0; closed < 8; ++closed) {
    const ForkEnd outer = run([&](int report_fd) {
      for (int fd = 0; fd <= 2; ++fd)
        if ((closed & 1u << fd) != 0) ::close(fd);
      const auto inner = run_forked(
          [](int fd) {
            char byte = 0;
            const bool no_input = ::read(STDIN_FILENO, &byte, 1) == 0;
            (void)say(STDOUT_FILENO, "out ");
            (void)say(STDERR_FILENO, "err");
            return say(fd, no_input ? "report" : "input") ? 0 : 1;
          },
          limits_, clock_, cancel_);
      return inner && say(report_fd, inner->output + "/" + inner->report) ? 0 : 1;
    });
    EXPECT_EQ(outer.report, "out err/report") << "closed: " << closed;
  }
}

TEST_F(Forked, IsKilledWithItsParent) {
  EXPECT_EQ(report([] {
              int number = 0;
              ::prctl(PR_GET_PDEATHSIG, &number);
              return signal_name(number);
            }),
            "SIGKILL");
}

TEST_F(Forked, HasDefaultSignalsAndNoneBlocked) {
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  sigset_t blocked, old;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &old);
  const std::string seen = report([] {
    struct sigaction action {};
    ::sigaction(SIGPIPE, nullptr, &action);
    sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    return std::string(action.sa_handler == SIG_DFL ? "default " : "ignored ") +
           (sigismember(&mask, SIGTERM) == 0 ? "open" : "blocked");
  });
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  ::signal(SIGPIPE, before);
  EXPECT_EQ(seen, "default open");
}

TEST_F(Forked, IsKilledAtItsDeadlineWithAllThatItStarted) {
  limits_.time = Milliseconds(200);
  const ForkEnd end = run([](int fd) {
    ::signal(SIGTERM, SIG_IGN);
    const pid_t child = ::fork();
    if (child == 0)
      for (;;) ::pause();
    (void)say(fd, std::to_string(child));
    for (;;) ::pause();
    return 0;
  });
  EXPECT_TRUE(end.timed_out);
  EXPECT_EQ(end.signal, SIGKILL);
  EXPECT_EQ(end.how(), "hung: it had not ended by its deadline");
  const pid_t child = std::atoi(end.report.c_str());
  ASSERT_GT(child, 1);
  EXPECT_FALSE(alive(child));
}

TEST_F(Forked, TakesAllThatItStartedWithItWhenItEndsWell) {
  const ForkEnd end = run([](int fd) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::close_range(0, ~0u, 0);
      for (;;) ::pause();
    }
    return say(fd, std::to_string(child)) ? 0 : 1;
  });
  EXPECT_EQ(end.exit_code, 0);
  const pid_t child = std::atoi(end.report.c_str());
  ASSERT_GT(child, 1);
  EXPECT_FALSE(alive(child));
}

TEST_F(Forked, IsInterruptedByItsCancelToken) {
  limits_.time = Milliseconds(600'000);
  std::thread canceller([&] {
    wait_for_file("ready");
    cancel_.cancel(1);
  });
  const std::string ready = folder_.file("ready");
  const ForkEnd end = run([&](int) {
    (void)write_file_atomically(ready, "now\n", 0600);
    for (;;) ::pause();
    return 0;
  });
  canceller.join();
  EXPECT_TRUE(end.cancelled);
  EXPECT_EQ(end.signal, SIGKILL);
  EXPECT_EQ(end.how(), "was interrupted");
}

TEST_F(Forked, KeepsNoMoreOfAReportAndOfOutputThanItIsTold) {
  limits_.report_bytes_max = 100;
  limits_.output_bytes_max = 1000;
  const ForkEnd end = run([](int fd) {
    const std::string much(1u << 20, 'x');
    return say(fd, much) && say(STDOUT_FILENO, "head" + much + "tail") ? 0 : 1;
  });
  EXPECT_EQ(end.exit_code, 0);  // the child is not blocked on a full pipe
  EXPECT_EQ(end.report, std::string(100, 'x'));
  EXPECT_TRUE(end.output.starts_with("head"));
  EXPECT_TRUE(end.output.ends_with("tail"));
  EXPECT_LE(end.output.size(), 1100u);
}

#if !defined(AGENTD_SANITIZED_BUILD)
TEST_F(Forked, GetsNoMoreMemoryThanItIsTold) {
  const auto allocate = [](int) {
    char* volatile memory = static_cast<char*>(std::malloc(256u << 20));  // the compiler must not remove it
    if (memory == nullptr) return 1;
    std::memset(memory, 1, 256u << 20);
    std::free(memory);
    return 0;
  };
  EXPECT_EQ(run(allocate).exit_code, 0);
  limits_.memory_bytes_max = 64u << 20;
  EXPECT_EQ(run(allocate).exit_code, 1);
}
#endif

TEST_F(Forked, LeavesNoDescriptorAndNoZombie) {
  (void)run([](int) { return 0; });
  const int before = descriptors();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(run([i](int) { return i; }).exit_code, i);
  EXPECT_EQ(descriptors(), before);
  EXPECT_FALSE(has_children());
}

TEST(SignalName, IsTheAbbreviationOrTheNumber) {
  EXPECT_EQ(signal_name(11), "SIGSEGV");
  EXPECT_EQ(signal_name(9), "SIGKILL");
  EXPECT_EQ(signal_name(99), "signal 99");
}

}  // namespace
}  // namespace agentd
