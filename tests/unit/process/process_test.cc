// SPDX-License-Identifier: Apache-2.0
#include "core/process/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

namespace agentd {
namespace {

class Process : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "process.XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<ProcessResult> run(ProcessRequest request, Milliseconds time = Milliseconds(60'000)) {
    return run_process(request, clock_, cancel_, Deadline::after(clock_, time));
  }
  Result<ProcessResult> shell(const std::string& line, Milliseconds time = Milliseconds(60'000)) {
    ProcessRequest request;
    request.argv = {"sh", "-c", line};
    request.grace = Milliseconds(200);
    return run(request, time);
  }
  // Runs a line whose deadline passes as soon as it has written to the file `ready`, however long that takes on a busy
  // machine; the clock continues while the command is being ended.
  Result<ProcessResult> shell_past_deadline(const std::string& line, const std::string& ready) {
    ManualClock clock;
    std::atomic<bool> done{false};
    std::thread turner([&] {
      wait_for_file(ready);
      clock.advance(Milliseconds(60'000));
      while (!done) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        clock.advance(Milliseconds(10));
      }
    });
    ProcessRequest request;
    request.argv = {"sh", "-c", line};
    request.environment = clean_environment();
    request.environment.push_back("F=" + folder_ + "/" + ready);
    request.grace = Milliseconds(300);
    auto got = run_process(request, clock, cancel_, Deadline::after(clock, Milliseconds(60'000)));
    done = true;
    turner.join();
    return got;
  }
  // The text that a command wrote to a file of the test's folder, as soon as it exists.
  std::string wait_for_file(const std::string& name) {
    for (int tries = 0; tries < 5'000; ++tries) {
      std::ifstream in(folder_ + "/" + name);
      std::stringstream text;
      text << in.rdbuf();
      if (text.str().ends_with('\n')) return text.str();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return "";
  }
  static bool alive(pid_t pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    if (!std::getline(stat, line)) return false;
    const std::size_t name_end = line.rfind(')');
    return line[name_end + 2] != 'Z' && line[name_end + 2] != 'X';
  }
  static bool ends_soon(pid_t pid) {
    for (int tries = 0; tries < 1'000 && alive(pid); ++tries) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return !alive(pid);
  }

  SystemClock clock_;
  CancelToken cancel_;
  std::string folder_;
};

class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Environment() { ::unsetenv(name_); }

 private:
  const char* name_;
};

TEST(CleanEnvironment, AnEntryWithoutAValueIsLeftOut) {
  char** const before = environ;
  char path[] = "PATH", home[] = "HOME", language[] = "LANG=C";
  char* odd[] = {path, home, language, nullptr};
  environ = odd;
  const auto clean = clean_environment();
  environ = before;
  EXPECT_EQ(clean, std::vector<std::string>{"LANG=C"});
}

TEST_F(Process, ReportsTheExitCodeAndBothOutputsInOrder) {
  const auto got = shell("echo one; echo two >&2; echo three; exit 7");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->exit_code, 7);
  EXPECT_EQ(got->signal, 0);
  EXPECT_EQ(got->output, "one\ntwo\nthree\n");
  EXPECT_EQ(got->output_bytes, 14u);
  EXPECT_FALSE(got->truncated || got->timed_out || got->cancelled);
}

TEST_F(Process, ReportsTheSignalThatEndedIt) {
  const auto got = shell("kill -SEGV $$");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->exit_code, -1);
  EXPECT_EQ(got->signal, SIGSEGV);
}

TEST_F(Process, SaysThatAProgramDoesNotExist) {
  ProcessRequest request;
  request.argv = {"no-such-program-here"};
  const auto got = run(request);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kNotFound);
  EXPECT_EQ(got.error().message, "no program no-such-program-here in PATH");
  request.argv = {"/no/such/program"};
  const auto path = run(request);
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().code, Code::kNotFound);
}

TEST_F(Process, SaysThatAFileMayNotBeExecuted) {
  std::ofstream(folder_ + "/plain") << "text\n";
  ProcessRequest request;
  request.argv = {folder_ + "/plain"};
  const auto got = run(request);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kDenied);
}

TEST_F(Process, RunsAScriptWithoutAFirstLineByTheShell) {
  std::ofstream(folder_ + "/script") << "echo script $1\n";
  ::chmod((folder_ + "/script").c_str(), 0755);
  ProcessRequest request;
  request.argv = {folder_ + "/script", "argument"};
  const auto got = run(request);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->output, "script argument\n");
}

TEST_F(Process, NeverFindsAProgramByARelativePartOfPath) {
  std::ofstream(folder_ + "/planted") << "#!/bin/sh\necho planted\n";
  ::chmod((folder_ + "/planted").c_str(), 0755);
  ProcessRequest request;
  request.argv = {"planted"};
  request.cwd = folder_;
  for (const char* path : {"PATH=.", "PATH=:", "PATH=", "PATH=./:/usr/bin"}) {
    request.environment = {path};
    const auto got = run(request);
    ASSERT_FALSE(got) << path;
    EXPECT_EQ(got.error().code, Code::kNotFound) << path;
  }
  request.environment = {"PATH=/nowhere:" + folder_};
  const auto absolute = run(request);
  ASSERT_TRUE(absolute) << absolute.error().message;
  EXPECT_EQ(absolute->output, "planted\n");
}

TEST_F(Process, RefusesInvalidCommands) {
  ProcessRequest request;
  EXPECT_EQ(run(request).error().code, Code::kInvalid);
  request.argv = {""};
  EXPECT_EQ(run(request).error().code, Code::kInvalid);
  request.argv = {"echo", std::string("a\0b", 3)};
  EXPECT_EQ(run(request).error().code, Code::kInvalid);
  request.argv = {"echo"};
  request.environment = {std::string("A=\0", 3)};
  EXPECT_EQ(run(request).error().code, Code::kInvalid);
}

TEST_F(Process, RefusesACommandLineThatIsTooLong) {
  ProcessRequest request;
  request.argv = {"echo", std::string(std::size_t{8} << 20, 'x')};
  const auto got = run(request);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kInvalid);
  EXPECT_NE(got.error().message.find("too long"), std::string::npos);
}

TEST_F(Process, StartsInTheWorkingDirectory) {
  ProcessRequest request;
  request.argv = {"pwd", "-P"};
  request.cwd = folder_;
  const auto got = run(request);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->output, std::filesystem::canonical(folder_).string() + "\n");
}

TEST_F(Process, NamesAWorkingDirectoryThatIsNone) {
  ProcessRequest request;
  request.argv = {"pwd"};
  request.cwd = folder_ + "/missing";
  const auto got = run(request);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kInvalid);
  EXPECT_NE(got.error().message.find(request.cwd), std::string::npos);
}

TEST_F(Process, GivesTheChildACleanEnvironment) {
  const Environment key("ANTHROPIC_API_KEY", "canary-key");
  const Environment preload("LD_LIBRARY_PATH", "/nowhere");
  const Environment shell_hook("BASH_ENV", "/nowhere");
  const Environment locale("LC_MESSAGES", "C");
  ProcessRequest request;
  request.argv = {"/usr/bin/env"};
  const auto got = run(request);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->output.find("canary"), std::string::npos);
  EXPECT_EQ(got->output.find("LD_"), std::string::npos);
  EXPECT_EQ(got->output.find("BASH_ENV"), std::string::npos);
  EXPECT_NE(got->output.find("PATH="), std::string::npos);
  EXPECT_NE(got->output.find("LC_MESSAGES=C\n"), std::string::npos);
}

TEST_F(Process, GivesTheChildExactlyTheEnvironmentThatWasAskedFor) {
  ProcessRequest request;
  request.argv = {"/usr/bin/env"};
  request.environment = {"ONLY=this"};
  const auto got = run(request);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->output, "ONLY=this\n");
}

TEST_F(Process, GivesTheChildDescriptorsZeroToTwoAlone) {
  const int leak = ::open("/dev/null", O_RDONLY);  // not close-on-exec, on purpose
  const int high = ::fcntl(leak, F_DUPFD, 200);
  ProcessRequest request;
  request.argv = {"ls", "/proc/self/fd"};
  const auto got = run(request);
  ::close(leak);
  ::close(high);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->output, "0\n1\n2\n3\n");  // 3 is the listing's own
}

TEST_F(Process, WorksWhenTheCallersOwnStandardDescriptorsAreClosed) {
  const int saved[3] = {::dup(0), ::dup(1), ::dup(2)};
  for (int fd = 0; fd < 3; ++fd) ::close(fd);
  ProcessRequest request;
  request.argv = {"sh", "-c", "cat; echo error >&2"};
  request.input = "input\n";
  const auto got = run(request);
  for (int fd = 0; fd < 3; ++fd) {
    ::dup2(saved[fd], fd);
    ::close(saved[fd]);
  }
  ASSERT_TRUE(got);
  EXPECT_EQ(got->output, "input\nerror\n");
}

TEST_F(Process, GivesTheChildDefaultSignalsAndItsOwnSession) {
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  sigset_t block;
  sigset_t old_mask;
  ::sigemptyset(&block);
  ::sigaddset(&block, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &block, &old_mask);
  const auto got = shell("grep -E 'SigBlk|SigIgn' /proc/self/status; cut -d ' ' -f 6 /proc/$$/stat; echo $$");
  ::pthread_sigmask(SIG_SETMASK, &old_mask, nullptr);
  ::sigaction(SIGPIPE, &before, nullptr);
  ASSERT_TRUE(got);
  std::istringstream lines(got->output);
  std::string blocked_label, blocked, ignored_label, ignored, session, pid;
  lines >> blocked_label >> blocked >> ignored_label >> ignored >> session >> pid;
  EXPECT_EQ(blocked, "0000000000000000");
  // 32 and 33 belong to the C library's threads; its posix_spawn ignores them in every child.
  const std::uint64_t library_own = std::uint64_t{3} << 31;
  EXPECT_EQ(std::stoull(ignored, nullptr, 16) & ~library_own, 0u);
  EXPECT_FALSE(pid.empty());
  EXPECT_EQ(session, pid);
}

TEST_F(Process, FeedsStandardInput) {
  ProcessRequest request;
  request.argv = {"wc", "-c"};
  request.input.assign(std::size_t{3} << 20, 'x');
  const auto got = run(request);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->output, "3145728\n");
}

TEST_F(Process, GivesAnEmptyInputWhenThereIsNone) {
  const auto got = shell("cat; echo end");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->output, "end\n");
}

TEST_F(Process, IsNotHurtByAProgramThatNeverReadsItsInput) {
  ProcessRequest request;
  request.argv = {"true"};
  request.input.assign(std::size_t{1} << 20, 'x');
  const auto got = run(request);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->exit_code, 0);
}

TEST_F(Process, DoesNotBlockWhenInputAndOutputAreLargeAtOnce) {
  ProcessRequest request;
  request.argv = {"cat"};
  request.input.assign(std::size_t{4} << 20, 'y');
  request.output_bytes_max = std::size_t{8} << 20;
  const auto got = run(request);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->output, request.input);
}

TEST_F(Process, KeepsHeadAndTailOfAGibibyteInLittleMemory) {
  struct rusage before {};
  ::getrusage(RUSAGE_SELF, &before);
  ProcessRequest request;
  request.argv = {"sh", "-c", "echo HEAD; dd if=/dev/zero bs=1M count=1024 2>/dev/null; echo TAIL"};
  request.output_bytes_max = 64 * 1024;
  const auto got = run(request);
  struct rusage after {};
  ::getrusage(RUSAGE_SELF, &after);
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->truncated);
  EXPECT_EQ(got->output_bytes, (1u << 30) + 10u);
  EXPECT_TRUE(got->output.starts_with("HEAD\n"));
  EXPECT_TRUE(got->output.ends_with("TAIL\n"));
  EXPECT_NE(got->output.find("\n[... 1073676298 bytes left out ...]\n"), std::string::npos);
  EXPECT_LT(got->output.size(), 64u * 1024 + 100);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 8 * 1024) << "kilobytes more than before";
}

TEST_F(Process, EndsACommandAtItsDeadline) {
  const auto got = shell_past_deadline("echo before; echo >$F; exec sleep 600", "ready");
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->timed_out);
  EXPECT_FALSE(got->cancelled);
  EXPECT_EQ(got->signal, SIGTERM);
  EXPECT_EQ(got->output, "before\n");
}

TEST_F(Process, LetsACommandTidyUpWhenItIsTerminated) {
  const auto got =
      shell_past_deadline("trap 'echo tidy; exit 3' TERM; echo >$F; while :; do sleep 0.01; done", "ready");
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->timed_out);
  EXPECT_EQ(got->exit_code, 3);
  EXPECT_TRUE(got->output.ends_with("tidy\n")) << got->output;
}

TEST_F(Process, KillsACommandThatIgnoresTermination) {
  const auto got = shell_past_deadline("trap '' TERM; echo >$F; while :; do sleep 0.01; done", "ready");
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->timed_out);
  EXPECT_EQ(got->signal, SIGKILL);
}

TEST_F(Process, EndsAStoppedCommand) {
  const auto got = shell_past_deadline("echo >$F; kill -STOP $$", "ready");
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->timed_out);
  EXPECT_EQ(got->signal, SIGTERM) << "it is woken so that it can notice";
}

// One way to hide from a kill of the process group; `line` writes the hidden process's id to $F.
class Hidden : public Process, public ::testing::WithParamInterface<const char*> {};

TEST_P(Hidden, ProcessDiesAtTheDeadline) {
  const auto got = shell_past_deadline(GetParam(), "pid");
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->timed_out);
  const pid_t hidden = static_cast<pid_t>(std::atoi(wait_for_file("pid").c_str()));
  ASSERT_GT(hidden, 1);
  EXPECT_TRUE(ends_soon(hidden));
  ::kill(hidden, SIGKILL);
}

INSTANTIATE_TEST_SUITE_P(Ways, Hidden,
                         ::testing::Values(
                             // a child in the background
                             "sh -c 'echo $$ >$F; exec sleep 600' & wait",
                             // ignoring SIGTERM, in the same group
                             "sh -c 'trap \"\" TERM; echo $$ >$F; while :; do sleep 0.01; done' & wait",
                             // a session of its own, parent alive
                             "setsid sh -c 'echo $$ >$F; exec sleep 600' & sleep 600",
                             // the same, ignoring SIGTERM, and the parent goes at SIGTERM
                             "setsid sh -c 'trap \"\" TERM; echo $$ >$F; while :; do sleep 0.01; done' & sleep 600",
                             // double fork and a session of its own, but the output held open
                             "(setsid sh -c 'echo $$ >$F; exec sleep 600' &) ; sleep 600",
                             // double fork within the session
                             "(sh -c 'echo $$ >$F; exec sleep 600 >/dev/null 2>&1' &) ; sleep 600",
                             // a group of its own within the session, parent gone, nothing of the output held
                             "bash -c 'set -m; sh -c \"echo \\$\\$ >$F; exec sleep 600\" >/dev/null 2>&1 &'; sleep 600",
                             // a session of its own, parents gone, nothing held, another environment
                             "(setsid env -i sh -c 'echo $$ >'$F'; exec /bin/sleep 600' </dev/null >/dev/null 2>&1 &); "
                             "sleep 600",
                             // a group of its own within the session
                             "bash -c 'set -m; sh -c \"echo \\$\\$ >$F; exec sleep 600\" & wait'",
                             // a session of its own, nothing of the output held, parent alive
                             "setsid sh -c 'echo $$ >$F; exec sleep 600' >/dev/null 2>&1 & sleep 600"));

TEST_F(Process, ReturnsTheAnswerAndEndsTheGrandchildThatHoldsThePipe) {
  const auto got = shell("sleep 600 & echo $! >" + folder_ + "/pid; echo answer");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->exit_code, 0);
  EXPECT_EQ(got->output, "answer\n");
  EXPECT_FALSE(got->timed_out);
  const pid_t grandchild = static_cast<pid_t>(std::atoi(wait_for_file("pid").c_str()));
  ASSERT_GT(grandchild, 1);
  EXPECT_TRUE(ends_soon(grandchild)) << "what shall go on is a command of the session";
}

TEST_F(Process, ReturnsTheAnswerWhileAGrandchildKeepsWriting) {
  const auto got = shell("(while sleep 0.02; do echo drip; done) & echo $! >" + folder_ + "/pid; echo answer");
  const pid_t grandchild = static_cast<pid_t>(std::atoi(wait_for_file("pid").c_str()));
  ::kill(grandchild, SIGKILL);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->exit_code, 0);
  EXPECT_TRUE(got->output.starts_with("answer\n"));
}

TEST_F(Process, IsCancelledFromAnotherThread) {
  std::thread canceller([&] {
    wait_for_file("ready");
    cancel_.cancel(1);
  });
  const auto got = shell("echo >" + folder_ + "/ready; exec sleep 600");
  canceller.join();
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->cancelled);
  EXPECT_FALSE(got->timed_out);
  EXPECT_EQ(got->signal, SIGTERM);
}

TEST_F(Process, StartsNothingWhenItIsCancelledAlready) {
  cancel_.cancel(1);
  const auto got = shell("echo >" + folder_ + "/started");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kCancelled);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/started"));
}

TEST_F(Process, MeasuresItsDeadlineOnTheGivenClock) {
  ManualClock clock;
  std::thread turner([&] {
    wait_for_file("ready");
    clock.advance(Milliseconds(60'000));
  });
  ProcessRequest request;
  request.argv = {"sh", "-c", "echo >" + folder_ + "/ready; exec sleep 600"};
  const auto got = run_process(request, clock, cancel_, Deadline::after(clock, Milliseconds(30'000)));
  turner.join();
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->timed_out);
  EXPECT_EQ(got->duration, Milliseconds(60'000));
}

TEST_F(Process, LeavesNoDescriptorsAndNoZombies) {
  const auto descriptors = [] {
    int count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
    return count;
  };
  ASSERT_TRUE(shell("true"));
  const int before = descriptors();
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(shell("echo x"));
    ProcessRequest missing;
    missing.argv = {"/no/such/program"};
    ASSERT_FALSE(run(missing));
  }
  EXPECT_EQ(descriptors(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child was left";
}

TEST_F(Process, RunsManyAtOnceWithoutMixingThem) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int number = 0; number < 8; ++number) {
    threads.emplace_back([&, number] {
      for (int round = 0; round < 10; ++round) {
        ProcessRequest request;
        request.argv = {"sh", "-c", "ls /proc/self/fd | wc -l; cat"};
        request.input = std::to_string(number);
        const auto got = run_process(request, clock_, cancel_, Deadline{});
        if (got && got->output == "4\n" + std::to_string(number)) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 80);
}

}  // namespace
}  // namespace agentd
