// SPDX-License-Identifier: Apache-2.0
// Several processes on one store. Each child opens the store after its fork and reports acknowledged writes through a
// pipe, so that a kill loses no knowledge.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <random>
#include <set>

#include "tests/unit/store/store_support.h"

namespace agentd {
namespace {

using test::id_of;
using test::opening;
using test::read_all;
using test::text_of;
using test::user_message;

// A child process and its output; killed and reaped when this is destroyed.
class Child {
 public:
  using Say = std::function<void(std::string_view line)>;

  explicit Child(const std::function<int(const Say&)>& work) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      ::_exit(work([&](std::string_view line) {
        const std::string text = std::string(line) + "\n";
        if (::write(ends[1], text.data(), text.size()) < 0) ::_exit(99);
      }));
    }
    ::close(ends[1]);
    out_ = ends[0];
  }
  ~Child() {
    kill();
    wait();
    ::close(out_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void kill() const {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
  }
  int wait() {
    if (pid_ > 0) ::waitpid(pid_, &status_, 0);
    pid_ = -1;
    return status_;
  }
  // One line; empty at the end. A last line that is cut does not count.
  std::string line() {
    for (;;) {
      const std::size_t end = buffer_.find('\n');
      if (end != std::string::npos) {
        const std::string out = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return out;
      }
      char bytes[4096];
      const ssize_t got = ::read(out_, bytes, sizeof bytes);
      if (got <= 0) return {};
      buffer_.append(bytes, static_cast<std::size_t>(got));
    }
  }
  std::vector<std::string> lines() {
    std::vector<std::string> out;
    for (std::string next = line(); !next.empty(); next = line()) out.push_back(next);
    return out;
  }

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  int status_ = 0;
  std::string buffer_;
};

class StoreProcesses : public testing::Test {
 protected:
  Result<std::unique_ptr<Store>> open() const {
    LmdbOptions options;
    options.directory = dir_ / "store";
    options.map_bytes = 256 * 1024;  // so that the map grows during use
    return open_lmdb_store(options, clock_);
  }
  // Every line is the text of exactly one message of the log, and the log has no others.
  static void expect_exactly(const Store& store, const Ulid& id, const std::vector<std::string>& acked,
                             std::size_t unknown_max) {
    EXPECT_OK(store.verify(id));
    std::map<std::string, int> found;
    for (const StoredRecord& record : read_all(store, id, 3)) ++found[text_of(record)];
    std::size_t unknown = found.size();
    for (const std::string& text : acked) {
      EXPECT_EQ(found[text], 1) << text;
      --unknown;
    }
    EXPECT_LE(unknown, unknown_max);
    for (const auto& [text, times] : found) EXPECT_EQ(times, 1) << text;
  }

  test::TempDir dir_;
  SystemClock clock_;
  const Ulid a_ = id_of(1);
};

TEST_F(StoreProcesses, FourProcessesWithLeasesOnTheirOwnConversationsLoseNothing) {
  constexpr int kAppends = 100;
  std::vector<std::unique_ptr<Child>> children;
  for (std::uint8_t c = 1; c <= 4; ++c)
    children.push_back(std::make_unique<Child>([&, c](const Child::Say& say) {
      const Ulid id = id_of(c);
      auto store = open();  // all four may be the one that makes it
      if (!store) return 1;
      const auto lease = (*store)->lease(id);
      if (!lease || !(*store)->append(id, 0, opening(id))) return 2;
      for (std::uint64_t i = 0; i < kAppends; ++i) {
        const std::string text = std::to_string(c) + "/" + std::to_string(i);
        if (!(*store)->append(id, i + 2, {{user_message(text)}})) return 3;
        say(text);
      }
      return 0;
    }));
  std::vector<std::vector<std::string>> acked;
  for (const auto& child : children) {
    acked.push_back(child->lines());
    EXPECT_EQ(child->wait(), 0);
    EXPECT_EQ(acked.back().size(), std::size_t{kAppends});
  }
  const auto store = open();
  ASSERT_OK(store);
  for (std::uint8_t c = 1; c <= 4; ++c) expect_exactly(**store, id_of(c), acked[c - 1u], 0);
  EXPECT_EQ((*store)->list({})->size(), 4u);
  EXPECT_EQ((*store)->changes(0, 10)->changed.size(), 4u);
}

TEST_F(StoreProcesses, FourProcessesThatRaceForOneConversationLoseNothing) {
  constexpr int kAppends = 50;
  ASSERT_OK((*open())->append(a_, 0, opening(a_)));
  std::vector<std::unique_ptr<Child>> children;
  for (int c = 0; c < 4; ++c)
    children.push_back(std::make_unique<Child>([&, c](const Child::Say& say) {
      auto store = open();
      if (!store) return 1;
      std::uint64_t revision = 2;
      for (int i = 0; i < kAppends;) {
        const std::string text = std::to_string(c) + "/" + std::to_string(i);
        const auto done = (*store)->append(a_, revision, {{user_message(text)}});
        if (done) {
          say(text);
          ++i;
          ++revision;
        } else if (done.error().code == Code::kConflict) {
          revision = (*store)->info(a_)->revision;
        } else {
          return 2;
        }
      }
      return 0;
    }));
  std::vector<std::string> acked;
  for (const auto& child : children) {
    for (const std::string& text : child->lines()) acked.push_back(text);
    EXPECT_EQ(child->wait(), 0);
  }
  EXPECT_EQ(acked.size(), 4u * kAppends);
  const auto store = open();
  ASSERT_OK(store);
  expect_exactly(**store, a_, acked, 0);
  EXPECT_EQ((*store)->info(a_)->revision, 2u + 4 * kAppends);
}

TEST_F(StoreProcesses, ABusyLeaseNamesItsProcess) {
  Child child([&](const Child::Say& say) {
    auto store = open();
    if (!store) return 1;
    const auto lease = (*store)->lease(a_);
    if (!lease) return 2;
    say("held");
    ::pause();
    return 0;
  });
  ASSERT_EQ(child.line(), "held");
  const auto store = open();
  ASSERT_OK(store);
  const auto lease = (*store)->lease(a_);
  EXPECT_CODE(Code::kBusy, lease);
  EXPECT_EQ(lease.error().message, "conversation " + a_.text() + " is in use by process " +
                                       std::to_string(child.pid()) + ": try again when it has ended");
  EXPECT_CODE(Code::kBusy, (*store)->remove(a_));
  child.kill();
  child.wait();
  EXPECT_OK((*store)->lease(a_));
}

TEST_F(StoreProcesses, OneHolderAtATimeAmongProcessesThatRaceForALease) {
  ASSERT_OK(open());
  const std::string inside = dir_ / "inside";
  std::vector<std::unique_ptr<Child>> children;
  for (int c = 0; c < 4; ++c)
    children.push_back(std::make_unique<Child>([&](const Child::Say& say) {
      auto store = open();
      if (!store) return 1;
      for (int held = 0; held < 300;) {
        const auto lease = (*store)->lease(a_);
        if (!lease && lease.error().code == Code::kBusy) continue;
        if (!lease) return 2;
        // Only the holder of the lease can make this file.
        const int fd = ::open(inside.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
        if (fd < 0) return 3;
        ::close(fd);
        ::usleep(50);  // so that another process has time to enter
        ::unlink(inside.c_str());
        ++held;
      }
      say("done");
      return 0;
    }));
  for (const auto& child : children) {
    EXPECT_EQ(child->line(), "done");
    EXPECT_EQ(child->wait(), 0);
  }
}

TEST_F(StoreProcesses, KillingTheWriterLosesNothingThatWasAcknowledged) {
  ASSERT_OK((*open())->append(a_, 0, opening(a_)));
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::vector<std::string> acked;
  constexpr std::size_t kKills = 50;
  for (std::size_t kill = 0; kill < kKills; ++kill) {
    Child child([&](const Child::Say& say) {
      auto store = open();
      if (!store) return 1;
      const auto lease = (*store)->lease(a_);
      if (!lease) return 2;
      for (std::uint64_t revision = (*store)->info(a_)->revision;; ++revision) {
        const std::string text = std::to_string(kill) + "/" + std::to_string(revision);
        if (!(*store)->append(a_, revision, {{user_message(text)}})) return 3;
        say(text);
      }
    });
    for (unsigned seen = random() % 8; seen > 0; --seen) {
      const std::string text = child.line();
      if (!text.empty()) acked.push_back(text);
    }
    ::usleep(static_cast<useconds_t>(random() % 1500));
    child.kill();
    for (const std::string& text : child.lines()) acked.push_back(text);
    EXPECT_TRUE(WIFSIGNALED(child.wait()));
  }
  EXPECT_GT(acked.size(), kKills);
  const auto store = open();
  ASSERT_OK(store);
  // Each kill may have come between the commit and its report.
  expect_exactly(**store, a_, acked, kKills);
}

TEST_F(StoreProcesses, KillingTheOneWhoForksLeavesWholeForksOrNone) {
  {
    const auto store = open();
    ASSERT_OK(store);
    ASSERT_OK((*store)->append(a_, 0, opening(a_)));
    for (std::uint64_t at = 2; at < 120; at += 2)
      ASSERT_OK((*store)->append(a_, at, {{user_message(std::string(70'000, 'b')), user_message(std::to_string(at))}}));
  }
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  constexpr std::uint8_t kKills = 30;
  std::size_t acked = 0;
  for (std::uint8_t kill = 0; kill < kKills; ++kill) {
    Child child([&](const Child::Say& say) {
      auto store = open();
      if (!store) return 1;
      for (std::uint8_t i = 0; i < 4; ++i) {
        GenesisRecord genesis;
        genesis.conversation_id = id_of(static_cast<std::uint8_t>(100 + kill * 4 + i)).text();
        say("begin");
        if (!(*store)->fork(a_, 0, genesis, "fork")) return 2;
        say("done");
      }
      return 0;
    });
    (void)child.line();
    ::usleep(static_cast<useconds_t>(random() % 20'000));
    child.kill();
    for (const std::string& line : child.lines()) acked += std::size_t{line == "done"};
    (void)child.wait();
  }
  const auto store = open();
  ASSERT_OK(store);
  std::size_t forks = 0;
  ConversationQuery all;
  all.limit = 1'000;
  const auto list = (*store)->list(all);
  ASSERT_OK(list);
  for (const ConversationInfo& info : *list) {
    const Ulid id = *Ulid::parse(info.id);
    EXPECT_OK((*store)->verify(id));
    if (id == a_) continue;
    ++forks;
    EXPECT_EQ(info.revision, (*store)->info(a_)->revision + 1);
    EXPECT_EQ(text_of(read_all(**store, id).at(119)), text_of(read_all(**store, a_).at(119)));
    EXPECT_OK((*store)->remove(id));
  }
  // A kill may have come between the commit and its report.
  EXPECT_GE(forks, acked);
  EXPECT_LE(forks, acked + kKills);
  EXPECT_OK((*store)->verify(a_));
}

TEST_F(StoreProcesses, AReaderFollowsAStoreThatAnotherProcessMakesGrow) {
  auto store = open();
  ASSERT_OK(store);
  ASSERT_OK((*store)->append(a_, 0, opening(a_)));
  const std::uint64_t before = (*store)->stats()->map_bytes;
  Child child([&](const Child::Say&) {
    auto theirs = open();
    if (!theirs) return 1;
    for (std::uint64_t i = 2; i < 40; ++i)
      if (!(*theirs)->append(a_, i, {{user_message(std::string(60'000, 'x'))}})) return 2;
    return 0;
  });
  ASSERT_EQ(child.wait(), 0);
  EXPECT_EQ(read_all(**store, a_).size(), 40u);
  EXPECT_GT((*store)->stats()->map_bytes, before);
  EXPECT_OK((*store)->append(a_, 40, {{user_message("mine again")}}));
}

TEST_F(StoreProcesses, ManyProcessesMayMakeOneStoreAtTheSameMoment) {
  for (int round = 0; round < 5; ++round) {
    std::filesystem::remove_all(dir_ / "store");
    std::vector<std::unique_ptr<Child>> children;
    for (std::uint8_t c = 1; c <= 12; ++c)
      children.push_back(std::make_unique<Child>([&, c](const Child::Say&) {
        auto store = open();
        if (!store) return std::fprintf(stderr, "%s\n", store.error().message.c_str()), 1;
        return (*store)->append(id_of(c), 0, opening(id_of(c))) ? 0 : 2;
      }));
    for (const auto& child : children) EXPECT_EQ(child->wait(), 0);
    EXPECT_EQ((*open())->list({})->size(), 12u);
  }
}

// ---- the lock file is an ordinary file to everything else in the process

TEST_F(StoreProcesses, StayKnownToOthersWhenTheLockFileIsRead) {
  // As LMDB asks whether it is the first one.
  const auto takes_itself_for_the_first = [this] {
    Child other([this](const Child::Say&) {
      const int fd = ::open((dir_ / "store/lock.mdb").c_str(), O_RDWR | O_CLOEXEC);
      struct flock lock {};
      lock.l_type = F_WRLCK;
      lock.l_whence = SEEK_SET;
      lock.l_len = 1;
      return ::fcntl(fd, F_SETLK, &lock) == 0 ? 1 : 0;
    });
    return WEXITSTATUS(other.wait()) == 1;
  };
  auto store = open();
  ASSERT_TRUE(store);
  EXPECT_FALSE(takes_itself_for_the_first());
  ::close(::open((dir_ / "store/lock.mdb").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(takes_itself_for_the_first());
  store->reset();
  EXPECT_TRUE(takes_itself_for_the_first()) << "the control: nobody has it open";
}

TEST_F(StoreProcesses, LoseNothingWhenTheyReadTheLockFileBetweenTheirWrites) {
  constexpr int kAppends = 150, kOpenings = 40;
  ASSERT_TRUE(open());
  Child reader([&](const Child::Say& say) {
    auto store = open();
    if (!store || !(*store)->append(a_, 0, opening(a_))) return 1;
    for (std::uint64_t i = 0; i < kAppends; ++i) {
      ::close(::open((dir_ / "store/lock.mdb").c_str(), O_RDONLY | O_CLOEXEC));
      const std::string text = "reader/" + std::to_string(i);
      if (!(*store)->append(a_, i + 2, {{user_message(text)}})) return 2;
      say(text);
    }
    return 0;
  });
  const Ulid b = id_of(2);
  Child opener([&](const Child::Say& say) {
    for (std::uint64_t i = 0; i < kOpenings; ++i) {
      auto store = open();
      if (!store || (i == 0 && !(*store)->append(b, 0, opening(b)))) return 1;
      const std::string text = "opener/" + std::to_string(i);
      if (!(*store)->append(b, i + 2, {{user_message(text)}})) return 2;
      say(text);
    }
    return 0;
  });
  const std::vector<std::string> read = reader.lines(), opened = opener.lines();
  EXPECT_EQ(reader.wait(), 0);
  EXPECT_EQ(opener.wait(), 0);
  EXPECT_EQ(read.size(), std::size_t{kAppends});
  EXPECT_EQ(opened.size(), std::size_t{kOpenings});
  auto store = open();
  ASSERT_TRUE(store);
  expect_exactly(**store, a_, read, 0);
  expect_exactly(**store, b, opened, 0);
}

}  // namespace
}  // namespace agentd
