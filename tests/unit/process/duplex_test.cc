// SPDX-License-Identifier: Apache-2.0
#include "core/process/duplex.h"

#include <fcntl.h>
#include <unistd.h>

#include "tests/unit/process/children.h"

namespace agentd {
namespace {

class Duplex : public Children {
 protected:
  std::unique_ptr<DuplexProcess> start(const std::string& line) {
    DuplexRequest request;
    request.argv = {"sh", "-c", line};
    request.environment = environment();
    auto got = DuplexProcess::start(request, clock_);
    EXPECT_TRUE(got) << got.error().message;
    return got ? std::move(*got) : nullptr;
  }
  Deadline later() const { return Deadline::after(clock_, Milliseconds(60'000)); }
  Deadline now() const { return Deadline::after(clock_, Milliseconds(0)); }
  std::string read_all(DuplexProcess& process, std::size_t bytes_max = 1u << 20) {
    std::string out;
    while (out.size() < bytes_max) {
      const auto got = process.read(bytes_max - out.size(), cancel_, later());
      if (!got || got->empty()) break;
      out += *got;
    }
    return out;
  }
};

TEST_F(Duplex, AnswersAsOftenAsItIsAsked) {
  const auto process = start("while read -r line; do echo \"got $line\"; done");
  for (const std::string text : {"one", "two", "three"}) {
    ASSERT_TRUE(process->write(text + "\n", cancel_, later()));
    const auto got = process->read(1'000, cancel_, later());
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(*got, "got " + text + "\n");
  }
  EXPECT_TRUE(process->running());
}

TEST_F(Duplex, GivesNoMoreThanWasAskedFor) {
  const auto process = start("printf 123456; cat");
  EXPECT_EQ(*process->read(4, cancel_, later()), "1234");
  EXPECT_EQ(*process->read(4, cancel_, later()), "56");
}

TEST_F(Duplex, SaysThatThereIsNoSuchProgram) {
  DuplexRequest request;
  request.argv = {"/no/such/program"};
  const auto got = DuplexProcess::start(request, clock_);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kNotFound);
  request.argv = {};
  EXPECT_EQ(DuplexProcess::start(request, clock_).error().code, Code::kInvalid);
}

TEST_F(Duplex, ContinuesAfterADeadlineOfTheReader) {
  const auto process = start("cat");
  const auto nothing = process->read(10, cancel_, now());
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, Code::kBusy);
  EXPECT_EQ(nothing.error().message, "sh wrote nothing before the deadline");
  ASSERT_TRUE(process->write("x", cancel_, now())) << "there is room: no waiting, no deadline";
  EXPECT_EQ(*process->read(10, cancel_, later()), "x");
}

TEST_F(Duplex, GivesUpAtTheDeadlineWhenNobodyReads) {
  const auto process = start("exec sleep 600");
  const auto got = process->write(std::string(1u << 20, 'x'), cancel_, now());
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kBusy);
  EXPECT_EQ(got.error().message, "sh did not read its input before the deadline");
}

TEST_F(Duplex, IsCancelledFromAnotherThread) {
  const auto process = start("echo >$F; exec sleep 600");
  std::thread canceller([&] {
    wait_for_file("ready");
    cancel_.cancel(1);
  });
  const auto read = process->read(10, cancel_, later());
  const auto wrote = process->write(std::string(1u << 20, 'x'), cancel_, later());
  canceller.join();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kCancelled);
  ASSERT_FALSE(wrote);
  EXPECT_EQ(wrote.error().code, Code::kCancelled);
}

TEST_F(Duplex, ReportsHowTheProgramEndedToItsWriter) {
  const auto process = start("exit 7");
  while (process->running()) std::this_thread::yield();
  const auto got = process->write("x", cancel_, later());
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kUnavailable);
  EXPECT_EQ(got.error().message, "sh has ended with exit code 7");
  const auto killed = start("kill -KILL $$");
  while (killed->running()) std::this_thread::yield();
  EXPECT_EQ(killed->write("x", cancel_, later()).error().message, "sh was ended by signal 9");
}

TEST_F(Duplex, RaisesNoSignalWhenTheInputIsClosed) {
  struct sigaction before {};
  const struct sigaction deadly {};  // SIG_DFL
  ::sigaction(SIGPIPE, &deadly, &before);
  const auto process = start("exec <&-; echo >$F; exec sleep 600");
  wait_for_file("ready");
  const auto got = process->write("x", cancel_, later());
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kUnavailable);
  EXPECT_EQ(got.error().message, "sh has closed its input");
  sigset_t left;
  ::sigpending(&left);
  EXPECT_EQ(::sigismember(&left, SIGPIPE), 0);
  ::pthread_sigmask(SIG_SETMASK, nullptr, &left);
  EXPECT_EQ(::sigismember(&left, SIGPIPE), 0) << "it is not blocked either";
  ::sigaction(SIGPIPE, &before, nullptr);
}

TEST_F(Duplex, EndsWithAnEmptyTextAsOftenAsItIsAsked) {
  const auto process = start("echo last");
  EXPECT_EQ(*process->read(100, cancel_, later()), "last\n");
  EXPECT_EQ(*process->read(100, cancel_, later()), "");
  EXPECT_EQ(*process->read(100, cancel_, now()), "");
  while (process->running()) std::this_thread::yield();
  EXPECT_FALSE(process->running());
}

TEST_F(Duplex, EndsForItsReaderWhenAChildOfItHoldsThePipe) {
  const auto process = start("sleep 600 & echo last");
  EXPECT_EQ(*process->read(100, cancel_, later()), "last\n");
  EXPECT_EQ(*process->read(100, cancel_, later()), "");
}

TEST_F(Duplex, MayWriteLongErrorsBeforeItAnswers) {
  const auto process = start("read -r line; echo FIRST >&2; head -c 1000000 /dev/zero >&2; echo LAST >&2; echo done");
  ASSERT_TRUE(process->write("go\n", cancel_, later()));
  EXPECT_EQ(*process->read(100, cancel_, later()), "done\n");
  const std::string error = process->error_text();
  EXPECT_TRUE(error.starts_with("FIRST\n"));
  EXPECT_TRUE(error.ends_with("LAST\n"));
  EXPECT_LT(error.size(), (64u << 10) + 100);
}

TEST_F(Duplex, MayWriteLongErrorsBeforeItReads) {
  const auto process = start("head -c 1000000 /dev/zero >&2; wc -c");
  ASSERT_TRUE(process->write(std::string(300'000, 'x'), cancel_, later()));
}

TEST_F(Duplex, CarriesMuchBothWaysAtOnce) {
  const auto process = start("cat");
  std::string text;
  for (int number = 0; text.size() < (4u << 20); ++number) text += std::to_string(number) + "\n";
  bool wrote = false;
  std::thread writer([&] { wrote = process->write(text, cancel_, later()).has_value(); });
  const std::string got = read_all(*process, text.size());
  writer.join();
  EXPECT_TRUE(wrote);
  EXPECT_TRUE(got == text);
}

TEST_F(Duplex, GivesDescriptorsZeroToTwoThatCanBeOpenedByName) {
  const int leak = ::open("/dev/null", O_RDWR);  // not close-on-exec, on purpose
  const auto process = start(
      "ls /proc/self/fd; read -r line </dev/stdin; echo \"$line\" >/dev/stdout; echo why "
      ">/dev/stderr");
  ::close(leak);
  ASSERT_TRUE(process->write("hello\n", cancel_, later()));
  EXPECT_EQ(read_all(*process), "0\n1\n2\n3\nhello\n");  // 3 is the listing's own
  EXPECT_EQ(process->error_text(), "why\n");
}

TEST_F(Duplex, LeavesNothingBehind) {
  const int before = descriptors();
  for (int round = 0; round < 10; ++round) {
    const auto process = start(round % 2 == 0 ? "cat" : "exit 1");
    if (round % 3 == 0) (void)process->read(10, cancel_, now());
  }
  EXPECT_EQ(descriptors(), before);
  EXPECT_FALSE(has_children());
}

TEST_F(Duplex, EndsAProgramThatWritesWithoutEnd) {
  const auto process = start("cat /dev/zero & cat /dev/zero >&2");
  EXPECT_FALSE(process->read(10, cancel_, later())->empty());
}

class DuplexHiding : public Duplex, public ::testing::WithParamInterface<const char*> {};

TEST_P(DuplexHiding, ProcessIsDeadWhenTheOwnerLetsGo) {
  auto process = start(GetParam());
  const pid_t hidden = pid_in("ready");
  ASSERT_GT(hidden, 1);
  process.reset();
  EXPECT_FALSE(alive(hidden));
  ::kill(hidden, SIGKILL);
  EXPECT_FALSE(has_children());
}

INSTANTIATE_TEST_SUITE_P(Ways, DuplexHiding, ::testing::ValuesIn(kHidingPlaces));

}  // namespace
}  // namespace agentd
