// SPDX-License-Identifier: Apache-2.0
#include "core/process/filter.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <sstream>

#include "core/base/file.h"
#include "tests/unit/process/children.h"

namespace agentd {
namespace {

class Filter : public Children {
 protected:
  Result<FilterResult> run(FilterRequest request) {
    if (request.environment.empty()) request.environment = environment();
    return run_filter(request, clock_, cancel_, Deadline::after(clock_, Milliseconds(60'000)));
  }
  static FilterRequest shell_request(const std::string& line, const std::string& input = "") {
    FilterRequest request;
    request.argv = {"sh", "-c", line};
    request.input = input;
    return request;
  }
  Result<FilterResult> shell(const std::string& line, const std::string& input = "") {
    return run(shell_request(line, input));
  }
  Error failure(std::vector<std::string> argv) {
    FilterRequest request;
    request.argv = std::move(argv);
    const auto got = run(request);
    return got ? Error{Code::kInternal, "it ran"} : got.error();
  }
};

TEST_F(Filter, KeepsOutputAndErrorApart) {
  const auto got = shell("cat; echo complaint >&2; echo end; exit 2", "input\n");
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->exit_code, 2);
  EXPECT_EQ(got->signal, 0);
  EXPECT_EQ(got->output, "input\nend\n");
  EXPECT_EQ(got->error, "complaint\n");
  EXPECT_FALSE(got->timed_out || got->cancelled || got->output_over_cap);
}

TEST_F(Filter, KeepsTheTextOfAProgramThatASignalEnded) {
  const auto got = shell("echo text; kill -SEGV $$");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->exit_code, -1);
  EXPECT_EQ(got->signal, SIGSEGV);
  EXPECT_EQ(got->output, "text\n");
}

TEST_F(Filter, SaysWhatIsMissing) {
  EXPECT_EQ(failure({"no-such-program-here"}).message, "no program no-such-program-here in PATH");
  EXPECT_EQ(failure({"/no/such/program"}).message, "/no/such/program does not exist");
  EXPECT_EQ(failure({"/no/such/program"}).code, Code::kNotFound);
  const std::string orphan = script("orphan", "#!/no/such/interpreter\n");
  const Error interpreter = failure({orphan});
  EXPECT_EQ(interpreter.code, Code::kNotFound);
  EXPECT_EQ(interpreter.message, "the interpreter that " + orphan + " names does not exist");
}

TEST_F(Filter, SaysWhatMayNotBeExecuted) {
  const std::string plain = folder_.write("plain", "#!/bin/sh\n");
  const Error file = failure({plain});
  EXPECT_EQ(file.code, Code::kDenied);
  EXPECT_EQ(file.message, plain + " may not be executed");
  const std::string by_plain = script("by_plain", "#!" + plain + "\n");
  const Error interpreter = failure({by_plain});
  EXPECT_EQ(interpreter.code, Code::kDenied);
  EXPECT_EQ(interpreter.message, "the interpreter that " + by_plain + " names may not be executed");
  EXPECT_EQ(failure({folder_.path()}).message, folder_.path() + " may not be executed");
}

TEST_F(Filter, RefusesInvalidCommands) {
  EXPECT_EQ(failure({}).code, Code::kInvalid);
  EXPECT_EQ(failure({""}).code, Code::kInvalid);
  EXPECT_EQ(failure({"echo", std::string("a\0b", 3)}).code, Code::kInvalid);
  EXPECT_EQ(failure({"echo", std::string(std::size_t{8} << 20, 'x')}).code, Code::kInvalid);
  FilterRequest request = shell_request("true");
  request.cwd = folder_.file("missing");
  const auto got = run(request);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kInvalid);
  EXPECT_EQ(got.error().message, "the working directory " + request.cwd + " is not a directory");
}

TEST_F(Filter, RunsAScriptWithoutAFirstLineByTheShell) {
  FilterRequest request;
  request.argv = {script("script", "echo script $1; cat\n"), "argument"};
  request.input = "input";
  const auto got = run(request);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->output, "script argument\ninput");
}

TEST_F(Filter, StartsInTheWorkingDirectory) {
  FilterRequest request = shell_request("pwd -P");
  request.cwd = folder_.path();
  const auto got = run(request);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->output, std::filesystem::canonical(folder_.path()).string() + "\n");
}

TEST_F(Filter, PassesEveryByteRaw) {
  std::string bytes;
  for (int round = 0; round < 300; ++round)
    for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  bytes += "\xC3";  // torn
  const auto got = shell("tee /dev/stderr", bytes);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->output, bytes);
  FilterRequest request = shell_request("cat >&2", bytes);
  request.error_bytes_max = bytes.size();
  const auto complaint = run(request);
  ASSERT_TRUE(complaint);
  EXPECT_EQ(complaint->error, bytes);
  EXPECT_EQ(complaint->output, "");
}

TEST_F(Filter, IsNotHurtByAProgramThatNeverReadsItsInput) {
  const std::string input(std::size_t{10} << 20, 'x');
  for (const char* line : {"echo answer", "exec <&-; echo answer", "head -c 1 >/dev/null; echo answer"}) {
    const auto got = shell(line, input);
    ASSERT_TRUE(got) << line;
    EXPECT_EQ(got->exit_code, 0) << line;
    EXPECT_EQ(got->output, "answer\n") << line;
  }
}

TEST_F(Filter, FeedsAProgramThatReadsSlowly) {
  const auto got = shell("for i in 1 2 3 4 5 6 7 8; do head -c 1310720 | wc -c; sleep 0.01; done; cat | wc -c",
                         std::string(std::size_t{10} << 20, 'x'));
  ASSERT_TRUE(got);
  std::istringstream counts(got->output);
  std::uint64_t sum = 0;
  for (std::uint64_t count = 0; counts >> count;) sum += count;
  EXPECT_EQ(sum, std::uint64_t{10} << 20);
}

TEST_F(Filter, LetsAProgramReadItsInputByName) {
  const auto got = shell("cat /dev/stdin; cat /dev/stdin", "twice\n");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->output, "twice\ntwice\n");
}

TEST_F(Filter, DoesNotBlockWhenEverythingIsLargeAtOnce) {
  FilterRequest request = shell_request("tee /dev/stderr", std::string(std::size_t{4} << 20, 'y'));
  request.output_bytes_max = std::size_t{4} << 20;
  const auto got = run(request);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->output, request.input) << "the cap itself is not too much";
  EXPECT_FALSE(got->output_over_cap);
  EXPECT_NE(got->error.find("bytes left out"), std::string::npos);
  EXPECT_LT(got->error.size(), (64u << 10) + 100);
}

TEST_F(Filter, EndsAProgramThatWritesTooMuchInBoundedMemory) {
  struct rusage before {};
  ::getrusage(RUSAGE_SELF, &before);
  FilterRequest request = shell_request(
      "trap '' TERM; echo HEAD; echo $$ >$F; dd if=/dev/zero bs=1M count=1024 2>/dev/null; "
      "echo >$F.end");
  const auto got = run(request);
  struct rusage after {};
  ::getrusage(RUSAGE_SELF, &after);
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->output_over_cap);
  EXPECT_FALSE(got->timed_out || got->cancelled);
  EXPECT_EQ(got->signal, SIGKILL);
  EXPECT_EQ(got->output, "HEAD\n" + std::string((1u << 20) - 5, '\0'));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("ready.end")));
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 8 * 1024) << "kilobytes more than before";
}

TEST_F(Filter, EndsWithATooLongAnswerAllThatTheProgramStarted) {
  FilterRequest request = shell_request(
      "(setsid sh -c 'echo $$ >$F; exec sleep 600' </dev/null >/dev/null 2>&1 &); "
      "while ! test -s $F; do sleep 0.01; done; head -c 100 /dev/zero; sleep 600");
  request.output_bytes_max = 99;
  const auto got = run(request);
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->output_over_cap);
  EXPECT_EQ(got->output.size(), 99u);
  const pid_t daemon = pid_in("ready");
  EXPECT_FALSE(alive(daemon));
  ::kill(daemon, SIGKILL);
}

TEST_F(Filter, EndsAChildThatMakesTheAnswerTooLongAfterTheEnd) {
  FilterRequest request = shell_request("sh -c 'echo $$ >$F; exec cat /dev/zero' & exit 3");
  request.settle = Milliseconds(10'000);
  const auto got = run(request);
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->output_over_cap);
  EXPECT_EQ(got->exit_code, 3) << "that was how the program itself ended";
  EXPECT_FALSE(alive(pid_in("ready")));
}

TEST_F(Filter, UsesTheAnswerWhileAChildHoldsThePipe) {
  const auto got = shell("sleep 600 & echo $! >$F; echo answer; echo why >&2; exit 2");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->exit_code, 2);
  EXPECT_EQ(got->output, "answer\n");
  EXPECT_EQ(got->error, "why\n");
  EXPECT_FALSE(got->timed_out);
  const pid_t child = pid_in("ready");
  EXPECT_FALSE(alive(child)) << "what it started ends with its answer";
  ::kill(child, SIGKILL);
}

TEST_F(Filter, UsesTheAnswerWhileAChildKeepsWriting) {
  const auto got = shell("(while sleep 0.01; do echo drip; echo drop >&2; done) & echo $! >$F; echo answer");
  ::kill(pid_in("ready"), SIGKILL);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->exit_code, 0);
  EXPECT_FALSE(got->timed_out);
  EXPECT_TRUE(got->output.starts_with("answer\n"));
}

TEST_F(Filter, WaitsAMomentForTheAnswerOfAChild) {
  FilterRequest request = shell_request("(sleep 0.05; echo late) & echo early");
  request.settle = Milliseconds(30'000);
  const auto got = run(request);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->output, "early\nlate\n");
}

TEST_F(Filter, WaitsForAProgramThatHasClosedItsOutput) {
  const auto got = shell("exec >&- 2>&-; sleep 0.05; exit 5");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->exit_code, 5);
}

TEST_F(Filter, GivesTheEnvironmentOfTheRequestAndAMarkOfTheRun) {
  FilterRequest request;
  request.argv = {"/usr/bin/env"};
  request.environment = {"ONLY=this"};
  const auto one = run(request);
  const auto two = run(request);
  ASSERT_TRUE(one && two);
  const std::string start = "ONLY=this\nAGENTD_RUN=";
  ASSERT_TRUE(one->output.starts_with(start)) << one->output;
  EXPECT_EQ(one->output.size(), start.size() + 32 + 1);
  EXPECT_NE(one->output, two->output);
}

TEST_F(Filter, GivesDefaultSignalsAndASessionOfItsOwn) {
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  sigset_t block;
  sigset_t old_mask;
  ::sigfillset(&block);
  ::pthread_sigmask(SIG_BLOCK, &block, &old_mask);
  const auto got = shell("grep -E 'SigBlk|SigIgn' /proc/self/status; cut -d ' ' -f 5,6 /proc/$$/stat; echo $$");
  ::pthread_sigmask(SIG_SETMASK, &old_mask, nullptr);
  ::sigaction(SIGPIPE, &before, nullptr);
  ASSERT_TRUE(got);
  std::istringstream lines(got->output);
  std::string blocked_label, blocked, ignored_label, ignored, group, session, pid;
  lines >> blocked_label >> blocked >> ignored_label >> ignored >> group >> session >> pid;
  EXPECT_EQ(blocked, "0000000000000000");
  // 32 and 33 belong to the C library's threads; its posix_spawn ignores them in every child.
  const std::uint64_t library_own = std::uint64_t{3} << 31;
  EXPECT_EQ(std::stoull(ignored, nullptr, 16) & ~library_own, 0u);
  EXPECT_FALSE(pid.empty());
  EXPECT_EQ(session, pid);
  EXPECT_EQ(group, pid);
}

TEST_F(Filter, WorksWhenTheCallersOwnStandardDescriptorsAreClosed) {
  const int saved[3] = {::dup(0), ::dup(1), ::dup(2)};
  for (int fd = 0; fd < 3; ++fd) ::close(fd);
  const auto got = shell("cat; echo error >&2", "input\n");
  for (int fd = 0; fd < 3; ++fd) {
    ::dup2(saved[fd], fd);
    ::close(saved[fd]);
  }
  ASSERT_TRUE(got);
  EXPECT_EQ(got->output, "input\n");
  EXPECT_EQ(got->error, "error\n");
}

TEST_F(Filter, StartsNothingWhenItIsCancelledAlready) {
  cancel_.cancel(1);
  const auto got = shell("echo >$F");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kCancelled);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("ready")));
}

TEST_F(Filter, StartsNothingWhenTheDeadlineHasPassed) {
  FilterRequest request = shell_request("echo >$F");
  request.environment = environment();
  const auto got = run_filter(request, clock_, cancel_, Deadline::after(clock_, Milliseconds(0)));
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->timed_out);
  EXPECT_EQ(got->exit_code, -1);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("ready")));
}

TEST_F(Filter, IsCancelledFromAnotherThread) {
  std::thread canceller([&] {
    wait_for_file("ready");
    cancel_.cancel(1);
  });
  const auto got = shell("echo before; echo >$F; exec sleep 600");
  canceller.join();
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->cancelled);
  EXPECT_FALSE(got->timed_out);
  EXPECT_EQ(got->signal, SIGTERM);
  EXPECT_EQ(got->output, "before\n");
}

TEST_F(Filter, DoesNotCallLateWhatEndedInTime) {
  // The clock jumps over the deadline while the caller is not looking, after the program's end.
  class JumpingClock final : public Clock {
   public:
    explicit JumpingClock(std::string file) : file_(std::move(file)) {}
    std::uint64_t monotonic_ns() const override {
      if (asked_++ == 0 || !std::filesystem::exists(file_)) return 1;
      if (asked_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      asked_ = -1'000'000;
      return 1'000'000'000'000;
    }
    std::int64_t wall_ms() const override { return 0; }

   private:
    const std::string file_;
    mutable int asked_ = 0;
  };
  const JumpingClock clock(folder_.file("ready"));
  FilterRequest request = shell_request("echo answer; echo >$F");
  request.environment = environment();
  const auto got = run_filter(request, clock, cancel_, Deadline{1'000'000'000});
  ASSERT_TRUE(got);
  EXPECT_FALSE(got->timed_out);
  EXPECT_EQ(got->exit_code, 0);
  EXPECT_EQ(got->output, "answer\n");
}

// A program that is a sealed file in memory, as the trusted bytes of a hook are.
class Sealed : public Filter {
 protected:
  FilterRequest request(const std::string& bytes) {
    memory_ = UniqueFd(::memfd_create("hook", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_TRUE(write_all(memory_.get(), bytes));
    EXPECT_EQ(::fcntl(memory_.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    FilterRequest out;
    out.program = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(memory_.get());
    out.argv = {"the-hook", "argument"};
    return out;
  }
  static std::string bytes_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  UniqueFd memory_;
};

TEST_F(Sealed, ProgramRunsUnderTheNameThatWasAskedFor) {
  FilterRequest program = request(bytes_of("/bin/cat"));
  program.argv = {"the-hook", "/proc/self/cmdline"};
  const auto got = run(program);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->output, std::string("the-hook\0/proc/self/cmdline\0", 28));
}

TEST_F(Sealed, ProgramSeesNoDescriptorMore) {
  const int leak = ::open("/dev/null", O_RDWR);  // not close-on-exec, on purpose
  const int high = ::fcntl(leak, F_DUPFD, 300);
  FilterRequest program = request(bytes_of("/bin/ls"));
  program.argv = {"the-hook", "/proc/self/fd"};
  const auto got = run(program);
  ::close(leak);
  ::close(high);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->output, "0\n1\n2\n3\n");  // 3 is the listing's own
}

TEST_F(Sealed, ScriptRunsByItsInterpreter) {
  FilterRequest program = request("#!/bin/sh -e\ncat; echo \"$#$1\"; ls /proc/self/fd; false; echo no\n");
  program.input = "input\n";
  const auto got = run(program);
  ASSERT_TRUE(got) << got.error().message;
  // The shell keeps its script open, but not in what it starts.
  EXPECT_EQ(got->output, "input\n1argument\n0\n1\n2\n3\n");
  EXPECT_EQ(got->exit_code, 1);
}

TEST_F(Sealed, ScriptWithoutAFirstLineRunsByTheShell) {
  const auto got = run(request("echo plain $1\n"));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->output, "plain argument\n");
}

TEST_F(Sealed, ScriptThatCannotRunIsCalledByItsName) {
  const auto got = run(request("#!/no/such/interpreter\n"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kNotFound);
  EXPECT_EQ(got.error().message, "the interpreter that the-hook names does not exist");
}

}  // namespace
}  // namespace agentd
