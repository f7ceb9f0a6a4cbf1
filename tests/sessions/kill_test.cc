// SPDX-License-Identifier: Apache-2.0
// kill -9 of a process with 200 active sessions, again and again on one store: what it had acknowledged is there, every
// chain holds, and each call that it left open becomes "unknown" as soon as its conversation is continued.
//
// AGENTD_KILL_ROUNDS=N kills N times (4), AGENTD_KILL_SEED=S draws the moments from another seed. The process that is
// killed is this program with the words --crowd DIRECTORY SEED; it writes a line for every acknowledgement.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/agent/waits.h"
#include "core/base/thread.h"
#include "core/store/store_care.h"
#include "tests/sessions/crowd.h"
#include "tests/support/temp_dir.h"

namespace agentd::sessions {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSessions = 200, kThreads = 63;
constexpr std::size_t kFactsMax = 1'500;  // until the kill

std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// The users' conversations of a store, as many as there are sessions.
std::vector<Ulid> conversations(const Store& store) {
  std::vector<Ulid> out;
  const auto all = store.list({{}, {}, {}, 0, 0, UINT32_MAX});
  AGENTD_ASSERT(all);
  for (const ConversationInfo& info : *all)
    if (info.agent_type.empty() && out.size() < kSessions) out.push_back(*Ulid::parse(info.id));
  return out;
}

// ---- the process that is killed

// Shorter than PIPE_BUF, so that lines are whole, whoever writes and whenever it dies.
void say(const std::string& line) {
  AGENTD_ASSERT(line.size() < 4096);
  if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(3);
}

[[noreturn]] void be_crowd(const std::string& directory, std::uint64_t seed) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const SystemClock clock;
  const auto store = open_store(directory, clock);
  CrowdOptions options{seed, std::to_string(seed), {64, 2 * kSessions, 2 * kSessions}};
  options.witness = [](const Fact& fact) { say(line_of(fact)); };
  Crowd crowd(*store, std::move(options));
  const std::vector<Ulid> known = conversations(*store);
  std::vector<std::unique_ptr<Crowd::Client>> clients(kSessions);
  call_together(kSessions, kThreads, [&](std::size_t i) {
    auto client = crowd.open(i, i < known.size() ? std::optional(known[i]) : std::nullopt);
    if (!client) std::fprintf(stderr, "%s\n", client.error().message.c_str());
    if (!client) ::_exit(4);
    clients[i] = std::move(*client);
  });
  std::vector<Thread> threads;
  for (std::size_t i = 0; i < kSessions; ++i)
    threads.emplace_back([&, i] {
      std::mt19937_64 random(seed + i);
      for (std::uint64_t round = 0;; ++round) {
        clients[i]->act(random);
        Crowd::Client& other = *clients[random() % kSessions];
        const std::string text =
            "posted-" + std::to_string(seed) + "-" + std::to_string(i) + "-" + std::to_string(round);
        if (random() % 4 == 0) (void)other.session().post({PostedMessage::Kind::kFollowUp, text});
        if (random() % 16 == 0) other.interrupt();
      }
    });
  for (;;) {
    clock.pause(Milliseconds(20));
    crowd.republish();
    for (const std::string& finding : crowd.violations()) std::fprintf(stderr, "%s\n", finding.c_str());
    if (!crowd.violations().empty()) ::_exit(5);
  }
}

class Child {
 public:
  Child(const std::string& directory, std::uint64_t seed) {
    std::vector<std::string> words{"/proc/self/exe", "--crowd", directory, std::to_string(seed)};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    out_ = ends[0];
  }
  ~Child() {
    (void)kill();
    ::close(out_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The next line, with its end; empty once there is none. One that was cut does not count.
  std::string line() {
    for (;;) {
      if (const std::size_t end = unread_.find('\n', at_); end != std::string::npos) {
        std::string out = unread_.substr(at_, end + 1 - at_);
        at_ = end + 1;
        return out;
      }
      unread_.erase(0, std::exchange(at_, 0));
      char bytes[65'536];
      const ssize_t got = ::read(out_, bytes, sizeof bytes);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return {};
      unread_.append(bytes, static_cast<std::size_t>(got));
    }
  }
  // The number of the signal that ended it, or 0 when it ended by itself.
  int kill() {
    if (pid_ <= 0) return ended_by_;
    int status = 0;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return ended_by_ = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  int ended_by_ = 0;
  std::string unread_;
  std::size_t at_ = 0;
};

// ---- what is left of it

class Kill : public ::testing::Test {
 protected:
  // Kills a crowd when it has told `facts` facts, or a little later.
  void kill_after(std::size_t facts) {
    const std::uint64_t seed = random_() >> 1;
    const Milliseconds later(random_() % 5);
    SCOPED_TRACE("crowd " + std::to_string(seed) + ", killed after " + std::to_string(facts) + " facts");
    Child child(directory_.file("store"), seed);
    const std::size_t before = facts_.size();
    while (facts_.size() < before + facts && take(child)) continue;
    clock_.pause(later);
    ASSERT_EQ(child.kill(), SIGKILL) << "it has ended by itself";
    while (take(child)) continue;
  }
  bool take(Child& child) {
    const std::string line = child.line();
    if (line.empty()) return false;
    const auto fact = read_fact(line);
    EXPECT_TRUE(fact) << line;
    if (fact) facts_.push_back(*fact);
    return true;
  }

  // The store as the kill has left it, and after all its conversations were continued.
  void check() {
    const auto report = check_store(directory_.file("store"));
    ASSERT_TRUE(report) << report.error().message;
    for (const StoreFinding& damage : report->damage) ADD_FAILURE() << text_of(damage);
    const auto store = open_store(directory_.file("store"), clock_);
    const Logs left = read_logs(*store);
    expect_none(left.broken, "left");
    expect_none(check_facts(left, facts_), "left");
    expect_none(check_calls(left, true), "left");
    const std::set<std::string> open = open_calls(left);
    open_calls_ += open.size();
    const auto waits = list_waits(*store, clock_.wall_ms());
    ASSERT_TRUE(waits) << waits.error().message;
    std::set<std::string> listed;
    for (const WaitingCall& each : *waits) listed.insert(each.open.wait.id);
    expect_none(check_waits(left, facts_, listed), "left");
    waits_ += listed.size();
    resume(*store);
    const Logs resumed = read_logs(*store);
    expect_none(resumed.broken, "resumed");
    expect_none(check_facts(resumed, facts_), "resumed");
    expect_none(check_calls(resumed, false), "resumed");
    expect_none(check_unknown(resumed, open), "resumed");
  }
  void resume(Store& store) {
    Mutex mutex;
    CrowdOptions options{random_(), "resumed-" + std::to_string(random_())};
    options.calm = true;
    options.witness = [&](const Fact& fact) {
      const MutexLock lock(mutex);
      facts_.push_back(fact);
    };
    Crowd crowd(store, std::move(options));
    const std::vector<Ulid> all = conversations(store);
    call_together(all.size(), kThreads, [&](std::size_t i) {
      auto client = crowd.open(i, all[i]);
      EXPECT_TRUE(client) << client.error().message;
      if (client) {
        (void)(*client)->ask();
        (*client)->settle();
        EXPECT_TRUE((*client)->ask());
        EXPECT_EQ((*client)->session().wait(), nullptr);
      }
    });
    expect_none(crowd.violations(), "resumed");
  }
  static void expect_none(const Findings& findings, const char* of) {
    for (const std::string& finding : findings) ADD_FAILURE() << of << ": " << finding;
  }

  const std::uint64_t seed_ = number_in("AGENTD_KILL_SEED", std::random_device()());
  std::mt19937_64 random_{seed_};
  const testing::TempDir directory_;
  const SystemClock clock_{};
  std::vector<Fact> facts_;  // of all rounds
  std::size_t open_calls_ = 0, waits_ = 0;
};

TEST_F(Kill, OfTwoHundredActiveSessionsLosesNothingThatWasAcknowledged) {
  SCOPED_TRACE("AGENTD_KILL_SEED=" + std::to_string(seed_));
  const std::uint64_t rounds = number_in("AGENTD_KILL_ROUNDS", 4);
  for (std::uint64_t round = 0; round < rounds && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    kill_after(1 + random_() % kFactsMax);
    if (HasFatalFailure()) return;
    check();
  }
  EXPECT_GT(open_calls_, 0u) << "no kill has left a call open";
  EXPECT_GT(waits_, 0u) << "no kill has left a call that waits";
  std::printf("seed %llu: %llu kills, %zu facts kept, %zu calls were left open, %zu waited\n",
              static_cast<unsigned long long>(seed_), static_cast<unsigned long long>(rounds), facts_.size(),
              open_calls_, waits_);
}

// The control: a store that has lost what the last process acknowledged is found.
TEST_F(Kill, AStoreWithoutTheNewestAcknowledgementsIsFound) {
  SCOPED_TRACE("AGENTD_KILL_SEED=" + std::to_string(seed_));
  kill_after(200);
  check();
  fs::copy(directory_.file("store"), directory_.file("older"), fs::copy_options::recursive);
  facts_.clear();
  kill_after(200);
  ASSERT_FALSE(HasFailure());
  const auto older = open_store(directory_.file("older"), clock_);
  const Logs logs = read_logs(*older);
  EXPECT_TRUE(logs.broken.empty());
  EXPECT_FALSE(check_facts(logs, facts_).empty());
}

}  // namespace
}  // namespace agentd::sessions

int main(int count, char** arguments) {
  if (count == 4 && std::string(arguments[1]) == "--crowd")
    agentd::sessions::be_crowd(arguments[2], std::strtoull(arguments[3], nullptr, 10));
  ::testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
