// SPDX-License-Identifier: Apache-2.0
#include "core/trust/quarantine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "core/base/hash.h"
#include "tests/support/host_fixture.h"

namespace agentd {
namespace {

using testing::HostFixture;
using testing::TempDir;

const std::string kDigest(64, 'a'), kOther(64, 'b');

QuarantineEntry entry_of(const std::string& name, const std::string& digest) {
  return {name, "/hooks/" + name + ".so", digest, "crashed its worker 3 times in 60 s (signal 11)", 0};
}

class QuarantineTest : public ::testing::Test {
 protected:
  std::unique_ptr<Quarantine> open(bool record = true) {
    auto out = Quarantine::open(directory_, clock_, record);
    EXPECT_TRUE(out) << out.error().message;
    return out ? std::move(*out) : nullptr;
  }
  std::size_t files() const {
    std::error_code none;
    std::size_t out = 0;
    for (auto it = std::filesystem::directory_iterator(directory_, none);
         !none && it != std::filesystem::directory_iterator(); ++it)
      ++out;
    return out;
  }
  // Runs `body` in a process of its own; what wait() says of it.
  template <typename Body>
  static int in_child(Body body) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      const rlimit none{0, 0};
      ::setrlimit(RLIMIT_CORE, &none);
      body();
      ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    return status;
  }

  TempDir temp_;
  std::string directory_ = temp_.file("quarantine");
  ManualClock clock_;
};

TEST_F(QuarantineTest, NothingIsWrittenBeforeThereIsSomethingToKeep) {
  const auto quarantine = open();
  EXPECT_EQ(quarantine->why_not(kDigest), "");
  EXPECT_TRUE(quarantine->entries().empty());
  EXPECT_FALSE(std::filesystem::exists(directory_));
}

TEST_F(QuarantineTest, WhatIsSetAsideSaysSinceWhenWhyAndWhatToDo) {
  ASSERT_TRUE(open()->set_aside(entry_of("lint", kDigest)));
  EXPECT_EQ(open()->why_not(kDigest),
            "/hooks/lint.so is quarantined since 2023-11-14 22:13 UTC: it crashed its worker 3 times in 60 s "
            "(signal 11); fix it, or run 'agentd hooks release lint'");
}

TEST_F(QuarantineTest, OtherBytesStartAfresh) {
  ASSERT_TRUE(open()->set_aside(entry_of("lint", kDigest)));
  EXPECT_EQ(open()->why_not(kOther), "");
}

TEST_F(QuarantineTest, TheDirectoryIsTheOwnersAlone) {
  ASSERT_TRUE(open()->set_aside(entry_of("lint", kDigest)));
  struct stat info {};
  ASSERT_EQ(::stat(directory_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0700u);
}

TEST_F(QuarantineTest, ReleaseByNamePathAndDigestFreesAllVersions) {
  for (const std::string& which : {std::string("lint"), std::string("/hooks/lint.so"), kDigest}) {
    const auto quarantine = open();
    ASSERT_TRUE(quarantine->set_aside(entry_of("lint", kDigest)));
    const auto released = quarantine->release(which);
    ASSERT_TRUE(released) << released.error().message;
    EXPECT_EQ(released->name, "lint");
    EXPECT_EQ(quarantine->why_not(kDigest), "");
    EXPECT_EQ(files(), 0u);
  }
  const auto quarantine = open();
  ASSERT_TRUE(quarantine->set_aside(entry_of("lint", kDigest)));
  ASSERT_TRUE(quarantine->set_aside(entry_of("lint", kOther)));
  ASSERT_TRUE(quarantine->release("lint"));
  EXPECT_TRUE(quarantine->entries().empty());
}

TEST_F(QuarantineTest, ReleaseOfAnUnknownNameTellsWhatThereIs) {
  ASSERT_TRUE(open()->set_aside(entry_of("lint", kDigest)));
  const auto released = open()->release("lind");
  ASSERT_FALSE(released);
  EXPECT_EQ(released.error().code, Code::kNotFound);
  EXPECT_EQ(released.error().message, "no hook 'lind' is quarantined: only 'lint' is");
}

TEST_F(QuarantineTest, ReleaseOfAnUnknownNameTellsEachNameOnce) {
  ASSERT_TRUE(open()->set_aside(entry_of("stamp", kDigest)));
  ASSERT_TRUE(open()->set_aside(entry_of("lint", kOther)));
  ASSERT_TRUE(open()->set_aside(entry_of("lint", std::string(64, 'c'))));
  EXPECT_EQ(open()->release("lind").error().message, "no hook 'lind' is quarantined: only 'lint', 'stamp' are");
}

TEST_F(QuarantineTest, OneNameOfTwoPathsIsNotReleasedByGuessing) {
  QuarantineEntry other = entry_of("lint", kOther);
  other.path = "/elsewhere/lint.so";
  ASSERT_TRUE(open()->set_aside(entry_of("lint", kDigest)));
  ASSERT_TRUE(open()->set_aside(other));
  EXPECT_EQ(open()->release("lint").error().code, Code::kConflict);
  EXPECT_EQ(open()->entries().size(), 2u);
  EXPECT_TRUE(open()->release("/elsewhere/lint.so"));
}

// ---- crashes that are counted

constexpr Milliseconds kMinute{60'000};

TEST_F(QuarantineTest, CrashesOfProcessesThatFollowEachOtherAreCountedTogether) {
  for (std::size_t nth = 1; nth <= 3; ++nth) {
    const auto noted = open()->note_crash(kDigest, kMinute);
    ASSERT_TRUE(noted) << noted.error().message;
    EXPECT_EQ(*noted, nth);
    clock_.advance(Milliseconds(10'000));
  }
  EXPECT_EQ(*open()->note_crash(kOther, kMinute), 1u) << "other bytes";
}

TEST_F(QuarantineTest, CrashesOfLongAgoAreForgotten) {
  EXPECT_EQ(*open()->note_crash(kDigest, kMinute), 1u);
  clock_.advance(Milliseconds(40'000));
  EXPECT_EQ(*open()->note_crash(kDigest, kMinute), 2u);
  clock_.advance(Milliseconds(40'000));
  EXPECT_EQ(*open()->note_crash(kDigest, kMinute), 2u) << "the first lies 80 s back";
}

TEST_F(QuarantineTest, CrashesAreForgottenWhenTheModuleIsSetAsideAndReleased) {
  const auto quarantine = open();
  EXPECT_EQ(*quarantine->note_crash(kDigest, kMinute), 1u);
  ASSERT_TRUE(quarantine->set_aside(entry_of("lint", kDigest)));
  EXPECT_EQ(*quarantine->note_crash(kDigest, kMinute), 1u);
  ASSERT_TRUE(quarantine->release("lint"));
  EXPECT_EQ(files(), 0u);
  EXPECT_EQ(*quarantine->note_crash(kDigest, kMinute), 1u);
}

TEST_F(QuarantineTest, CrashesOfProcessesAtTheSameTimeAreAllCounted) {
  constexpr int kProcesses = 4, kCrashes = 10;
  for (int i = 0; i < kProcesses; ++i)
    if (::fork() == 0) {
      const auto quarantine = open();
      for (int n = 0; n < kCrashes; ++n)
        if (!quarantine->note_crash(kDigest, kMinute)) ::_exit(1);
      ::_exit(0);
    }
  for (int i = 0; i < kProcesses; ++i) {
    int status = 0;
    EXPECT_GT(::wait(&status), 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(*open()->note_crash(kDigest, kMinute), std::size_t{kProcesses * kCrashes + 1});
}

// How many descriptors of this process are of that file.
std::size_t held(const std::string& path) {
  std::size_t out = 0;
  std::error_code gone;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd"))
    if (std::filesystem::read_symlink(each.path(), gone) == path) ++out;
  return out;
}

class LockedCrashes : public QuarantineTest {
 protected:
  LockedCrashes() {
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(open()->note_crash(kDigest, kMinute));
    lock_ = UniqueFd(::open(file_.c_str(), O_RDWR | O_CLOEXEC));
    EXPECT_EQ(::flock(lock_.get(), LOCK_EX), 0);
  }
  // Somebody else has opened it and waits for the lock.
  bool is_waited_for() const {
    for (int i = 0; i < 10'000 && held(file_) < 2; ++i) ::usleep(1'000);
    return held(file_) == 2;
  }
  bool is_there() const { return std::filesystem::exists(file_); }

  const std::string file_ = directory_ + "/" + kDigest + ".crashes";
  UniqueFd lock_;
};

TEST_F(LockedCrashes, ThatAreRemovedMeanwhileDoNotCount) {
  const auto quarantine = open();
  std::thread other([&] {
    const auto noted = quarantine->note_crash(kDigest, kMinute);
    ASSERT_TRUE(noted) << noted.error().message;
    EXPECT_EQ(*noted, 1u) << "those of the removed file count";
  });
  EXPECT_TRUE(is_waited_for());
  EXPECT_EQ(::unlink(file_.c_str()), 0);
  lock_.reset();
  other.join();
  EXPECT_EQ(*quarantine->note_crash(kDigest, kMinute), 2u);
}

TEST_F(LockedCrashes, AreRemovedUnderTheirLock) {
  const auto quarantine = open();
  std::thread other([&] { EXPECT_TRUE(quarantine->set_aside(entry_of("lint", kDigest))); });
  EXPECT_TRUE(is_waited_for());
  EXPECT_TRUE(is_there()) << "it is removed without its lock";
  lock_.reset();
  other.join();
  EXPECT_FALSE(is_there());
}

TEST_F(LockedCrashes, OfAProcessThatStandsStillDoNotKeepARelease) {
  const auto quarantine = open();
  ASSERT_TRUE(quarantine->set_aside(entry_of("lint", kDigest)));
  ASSERT_TRUE(quarantine->release("lint"));
  EXPECT_FALSE(is_there());
}

TEST_F(LockedCrashes, OfLongAgoAreLeftToWhoHasThem) {
  const timespec times[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::futimens(lock_.get(), times), 0);
  open();
  EXPECT_TRUE(is_there());
  lock_.reset();
  open();
  EXPECT_FALSE(is_there());
}

TEST_F(QuarantineTest, CrashThatCannotBeWrittenLosesNoneBefore) {
  EXPECT_EQ(*open()->note_crash(kDigest, kMinute), 1u);
  const int status = in_child([&] {
    const rlimit none{0, 0};
    ::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &none);
    if (open()->note_crash(kDigest, kMinute)) ::_exit(1);
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(*open()->note_crash(kDigest, kMinute), 2u);
}

TEST_F(QuarantineTest, CrashFileThatSaysNothingBeginsAnew) {
  ASSERT_TRUE(open()->note_crash(kDigest, kMinute));
  const std::string file = directory_ + "/" + kDigest + ".crashes";
  ASSERT_TRUE(write_file_atomically(file, "x\n-\n99999999999999999999\n4102444800000\n\n", 0600));
  EXPECT_EQ(*open()->note_crash(kDigest, kMinute), 1u);
  EXPECT_TRUE(open()->problems().empty());
  EXPECT_TRUE(open()->entries().empty());
}

TEST_F(QuarantineTest, CrashThatCannotBeWrittenIsAnErrorAndNoMore) {
  const auto quarantine = open();
  EXPECT_FALSE(quarantine->note_crash("no digest", kMinute));
  ASSERT_TRUE(write_file_atomically(directory_, "in the way", 0600));
  EXPECT_FALSE(quarantine->note_crash(kDigest, kMinute));
  ASSERT_TRUE(std::filesystem::remove(directory_));
  EXPECT_EQ(*quarantine->note_crash(kDigest, kMinute), 1u);
}

TEST_F(QuarantineTest, CrashFileThatIsALinkIsNotFollowed) {
  ASSERT_TRUE(open()->note_crash(kOther, kMinute));
  const std::string elsewhere = temp_.write("elsewhere", "text");
  ASSERT_EQ(::symlink(elsewhere.c_str(), (directory_ + "/" + kDigest + ".crashes").c_str()), 0);
  EXPECT_FALSE(open()->note_crash(kDigest, kMinute));
  EXPECT_EQ(read_file(elsewhere, 100).value_or(""), "text");
}

TEST_F(QuarantineTest, WhatAnotherProcessReleasesIsFreeHereToo) {
  const auto here = open();
  ASSERT_TRUE(here->set_aside(entry_of("lint", kDigest)));
  ASSERT_TRUE(open()->release("lint"));
  EXPECT_EQ(here->why_not(kDigest), "");
}

TEST_F(QuarantineTest, MarkerThatWentItsWayLeavesNothing) {
  {
    const auto marker = open()->mark("lint", "/hooks/lint.so", kDigest);
    ASSERT_TRUE(marker);
    EXPECT_EQ(files(), 1u);
  }
  EXPECT_EQ(files(), 0u);
  EXPECT_TRUE(open()->crashed_before().empty());
}

TEST_F(QuarantineTest, MarkerOfADeadProcessSetsItsModuleAsideOnce) {
  in_child([&] {
    auto marker = open()->mark("lint", "/hooks/lint.so", kDigest);
    ::abort();
  });
  const auto found = open();
  ASSERT_EQ(found->crashed_before().size(), 1u);
  EXPECT_EQ(found->crashed_before()[0].name, "lint");
  EXPECT_NE(found->why_not(kDigest).find("it was being loaded when agentd ended"), std::string::npos);
  const auto next = open();
  EXPECT_TRUE(next->crashed_before().empty());
  EXPECT_NE(next->why_not(kDigest), "");
}

TEST_F(QuarantineTest, MarkerOfAProcessThatStillLivesIsNoCrash) {
  int ready[2], go[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(go), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(go[1]);
    const auto marker = open()->mark("lint", "/hooks/lint.so", kDigest);
    char byte = marker ? '1' : '0';
    (void)!::write(ready[1], &byte, 1);
    (void)!::read(go[0], &byte, 1);
    ::_exit(0);  // without taking the marker away
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, '1');
  EXPECT_TRUE(open()->crashed_before().empty());
  EXPECT_EQ(open()->why_not(kDigest), "");
  ::close(go[1]);
  ::waitpid(pid, nullptr, 0);
  EXPECT_EQ(open()->crashed_before().size(), 1u);
  for (const int fd : {ready[0], ready[1], go[0]}) ::close(fd);
}

TEST_F(QuarantineTest, WhoOnlyLooksSeesACrashAndWritesNothing) {
  in_child([&] {
    auto marker = open()->mark("lint", "/hooks/lint.so", kDigest);
    ::abort();
  });
  EXPECT_NE(open(false)->why_not(kDigest), "");
  EXPECT_EQ(open(false)->crashed_before().size(), 1u);
  EXPECT_EQ(open()->crashed_before().size(), 1u) << "the look took the marker away";
}

TEST_F(QuarantineTest, ManyProcessesAtOnceLoseNothing) {
  constexpr int kProcesses = 8;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      std::string digest(64, '0');
      digest[0] = static_cast<char>('1' + i);
      auto quarantine = open();
      for (int round = 0; round < 20; ++round) {
        auto marker = quarantine->mark("m" + std::to_string(i), "/m.so", std::string(64, 'f'));
        if (!marker || !open()->crashed_before().empty()) ::_exit(1);
      }
      ::_exit(quarantine->set_aside(entry_of("h" + std::to_string(i), digest)) ? 0 : 2);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(open()->entries().size(), static_cast<std::size_t>(kProcesses));
  EXPECT_EQ(files(), static_cast<std::size_t>(kProcesses));
}

TEST_F(QuarantineTest, CorruptFilesAreOneSentenceEachAndTheRestHolds) {
  ASSERT_TRUE(open()->set_aside(entry_of("lint", kDigest)));
  temp_.write("quarantine/" + kOther + ".json", "{\"quarantine\":1,");
  temp_.write("quarantine/loading-x.json", "");
  const auto quarantine = open();
  ASSERT_EQ(quarantine->problems().size(), 2u);
  for (const std::string& problem : quarantine->problems()) {
    EXPECT_NE(problem.find("does not name a quarantined hook, and is ignored: remove it"), std::string::npos)
        << problem;
    EXPECT_EQ(problem.find('\n'), std::string::npos);
  }
  EXPECT_NE(quarantine->why_not(kDigest), "");
  EXPECT_EQ(quarantine->why_not(kOther), "");
  EXPECT_EQ(quarantine->entries().size(), 1u);
}

TEST_F(QuarantineTest, AnEntryUnderAnothersNameIsIgnored) {
  ASSERT_TRUE(open()->set_aside(entry_of("lint", kDigest)));
  std::filesystem::rename(directory_ + "/" + kDigest + ".json", directory_ + "/" + kOther + ".json");
  const auto quarantine = open();
  EXPECT_EQ(quarantine->why_not(kOther), "");
  ASSERT_EQ(quarantine->problems().size(), 1u);
  EXPECT_NE(quarantine->problems()[0].find("names another module"), std::string::npos);
}

TEST_F(QuarantineTest, DirectoryThatOthersMayWriteIsRefused) {
  ASSERT_EQ(::mkdir(directory_.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(directory_.c_str(), 0777), 0);
  const auto opened = Quarantine::open(directory_, clock_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kDenied);
}

TEST_F(QuarantineTest, WhereNothingCanBeWrittenItHoldsForThisProcess) {
  temp_.write("file", "");
  auto opened = Quarantine::open(temp_.file("file") + "/quarantine", clock_);
  if (!opened) return;  // a way through a file is refused at once, which is as good
  EXPECT_FALSE((*opened)->mark("lint", "/hooks/lint.so", kDigest));
  EXPECT_FALSE((*opened)->set_aside(entry_of("lint", kDigest)));
  EXPECT_NE((*opened)->why_not(kDigest), "");
}

TEST_F(QuarantineTest, ReadOnlyDirectoryKeepsItsEntriesAndTakesNoMarker) {
  if (::geteuid() == 0) GTEST_SKIP() << "root writes everywhere";
  ASSERT_TRUE(open()->set_aside(entry_of("lint", kDigest)));
  ASSERT_EQ(::chmod(directory_.c_str(), 0500), 0);
  const auto quarantine = open();
  EXPECT_NE(quarantine->why_not(kDigest), "");
  EXPECT_FALSE(quarantine->mark("x", "/x.so", kOther));
  EXPECT_FALSE(quarantine->set_aside(entry_of("x", kOther)));
  EXPECT_NE(quarantine->why_not(kOther), "") << "it holds for this process at least";
  ::chmod(directory_.c_str(), 0700);
}

TEST_F(QuarantineTest, EntryWithoutADigestIsRefused) {
  EXPECT_EQ(open()->set_aside(entry_of("lint", "abc")).error().code, Code::kInvalid);
}

// ---- with the host

struct Deadly {
  const char* module;
  int signal;
};
void PrintTo(const Deadly& deadly, std::ostream* out) { *out << deadly.module; }

class DeadlyHook : public ::testing::TestWithParam<Deadly> {};

TEST_P(DeadlyHook, KillsOneProcessAndIsSetAsideInTheNext) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.options.quarantine_directory = fixture.temp.file("quarantine");
  const std::string path = fixture.install(GetParam().module, "deadly");
  fixture.install("good");
  const pid_t pid = ::fork();
  if (pid == 0) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::signal(GetParam().signal, SIG_DFL);
    fixture.load();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), GetParam().signal);

  fixture.load();
  ASSERT_EQ(fixture.host->plugins().size(), 1u);
  EXPECT_EQ(fixture.host->plugins()[0]->identity().name, "good");
  ASSERT_EQ(fixture.host->problems().size(), 1u);
  const std::string& says = fixture.host->problems()[0].message;
  EXPECT_TRUE(says.starts_with(path + " is quarantined since ")) << says;
  EXPECT_TRUE(
      says.ends_with(": it was being loaded when agentd ended; fix it, or run 'agentd hooks "
                     "release deadly'"))
      << says;
}

TEST_P(DeadlyHook, IsToldOfWhenOtherBytesAreThereNow) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.options.quarantine_directory = fixture.temp.file("quarantine");
  const std::string path = fixture.install(GetParam().module, "deadly");
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::signal(GetParam().signal, SIG_DFL);
    fixture.load();
    ::_exit(0);
  }
  ::waitpid(pid, nullptr, 0);
  std::filesystem::remove(path);
  fixture.install("good", "deadly");
  fixture.load();
  EXPECT_EQ(fixture.host->plugins().size(), 1u);
  ASSERT_EQ(fixture.host->problems().size(), 1u);
  EXPECT_EQ(fixture.host->problems()[0].message,
            path + " was being loaded when agentd ended: those bytes are quarantined");
}

// A kill of agentd during its start would otherwise take away its own tools in every later run.
TEST_P(DeadlyHook, LeavesNoMarkerIfItComesWithTheProgram) {
  for (const bool bundled : {false, true}) {
    HostFixture fixture(AGENTD_BROKEN_HOOKS);
    fixture.options.quarantine_directory = fixture.temp.file("quarantine");
    fixture.install(GetParam().module, "deadly");
    fixture.options.plugins["deadly"].isolation = Isolation::kInProcess;
    fixture.options.directories.front().bundled = bundled;
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::signal(GetParam().signal, SIG_DFL);
      fixture.load();
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    const auto after = Quarantine::open(fixture.options.quarantine_directory, fixture.clock);
    ASSERT_TRUE(after);
    EXPECT_EQ((*after)->crashed_before().size(), bundled ? 0u : 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(Modules, DeadlyHook,
                         ::testing::Values(Deadly{"dies_in_constructor", SIGABRT}, Deadly{"dies_in_create", SIGSEGV}),
                         [](const auto& each) { return std::string(each.param.module); });

TEST(QuarantinedGuard, BlocksAsABrokenOneDoes) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.options.quarantine_directory = fixture.temp.file("quarantine");
  const std::string path = fixture.install("guard_throws");
  auto quarantine = Quarantine::open(fixture.options.quarantine_directory, fixture.clock);
  ASSERT_TRUE(quarantine);
  ASSERT_TRUE((*quarantine)
                  ->set_aside({"guard_throws", path, hex(sha256(fixture.temp.read("hooks/guard_throws.so"))),
                               "crashed its worker", 0}));
  fixture.options.plugins["guard_throws"].on_failure = FailurePolicy::kClosed;
  fixture.load();
  EXPECT_TRUE(fixture.host->plugins().empty());
  ASSERT_EQ(fixture.host->broken_guards().size(), 1u);
  EXPECT_EQ(fixture.host->broken_guards()[0].name, "guard_throws");
}

TEST(QuarantineOfAHost, LoadsThatGoWellLeaveNoMarker) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.options.quarantine_directory = fixture.temp.file("quarantine");
  fixture.install("good");
  fixture.install("create_throws");
  fixture.load();
  EXPECT_EQ(fixture.host->plugins().size(), 1u);
  EXPECT_TRUE(std::filesystem::is_empty(fixture.options.quarantine_directory));
}

TEST(QuarantineOfAHost, OneThatCannotBeOpenedIsTheOnlyProblem) {
  HostFixture fixture(AGENTD_BROKEN_HOOKS);
  fixture.options.quarantine_directory = fixture.temp.file("quarantine");
  ::mkdir(fixture.options.quarantine_directory.c_str(), 0700);
  ::chmod(fixture.options.quarantine_directory.c_str(), 0777);
  fixture.install("good");
  fixture.load();
  EXPECT_EQ(fixture.host->plugins().size(), 1u);
  ASSERT_EQ(fixture.host->problems().size(), 1u);
  EXPECT_EQ(fixture.host->problems()[0].path, fixture.options.quarantine_directory);
}

}  // namespace
}  // namespace agentd
