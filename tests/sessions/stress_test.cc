// SPDX-License-Identifier: Apache-2.0
// 200 sessions at once in one process, on the store on disk: runs, compactions, undos, posts, interrupts and subagents,
// while the hooks are republished. AGENTD_STRESS_SEED=N plays another seed.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/base/thread.h"
#include "tests/sessions/crowd.h"
#include "tests/support/temp_dir.h"

namespace agentd::sessions {
namespace {

constexpr std::size_t kSessions = 200, kRounds = 3, kThreads = 63;

std::uint64_t seed_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

void expect_none(const Findings& findings, const char* of) {
  for (const std::string& finding : findings) ADD_FAILURE() << of << ": " << finding;
}

class Sessions : public ::testing::Test {
 protected:
  Crowd& crowd(CrowdOptions options) {
    options.witness = [this](const Fact& fact) {
      const MutexLock lock(mutex_);
      facts_.push_back(fact);
    };
    return *(crowd_ = std::make_unique<Crowd>(*store_, std::move(options)));
  }
  std::vector<std::unique_ptr<Crowd::Client>> open(std::size_t count) {
    std::vector<std::unique_ptr<Crowd::Client>> out(count);
    call_together(count, kThreads, [&](std::size_t i) {
      auto client = crowd_->open(i, std::nullopt);
      EXPECT_TRUE(client) << client.error().message;
      if (client) out[i] = std::move(*client);
    });
    return out;
  }
  std::vector<Fact> facts() {
    const MutexLock lock(mutex_);
    return facts_;
  }
  void expect_sound_logs() {
    const Logs logs = read_logs(*store_);
    expect_none(logs.broken, "store");
    expect_none(check_facts(logs, facts()), "facts");
    expect_none(check_calls(logs, false), "calls");
  }

  const testing::TempDir directory_;
  const SystemClock clock_{};
  std::unique_ptr<Store> store_ = open_store(directory_.file("store"), clock_);
  Mutex mutex_;
  std::vector<Fact> facts_ GUARDED_BY(mutex_);
  std::unique_ptr<Crowd> crowd_;
};

// ---- 200 of them

// The posted messages of a test, and what became of each: it is stored once, or handed back.
class Posts {
 public:
  void post(Session& to, PostedMessage::Kind kind, const std::string& text) {
    const auto done = to.post({kind, text});
    EXPECT_TRUE(done) << done.error().message;
    const MutexLock lock(mutex_);
    times_[text] = 0;
  }
  void hand_back(Session& from) {
    for (const PostedMessage& message : from.take_posted()) {
      const MutexLock lock(mutex_);
      ++times_[message.text];
    }
  }
  void check(const std::vector<Fact>& facts) {
    const MutexLock lock(mutex_);
    for (const Fact& fact : facts)
      if (const auto posted = times_.find(fact.text); posted != times_.end() && fact.kind == Fact::Kind::kMessage)
        ++posted->second;
    for (const auto& [text, times] : times_) EXPECT_EQ(times, 1) << text;
    EXPECT_FALSE(times_.empty());
  }

 private:
  Mutex mutex_;
  std::map<std::string, int> times_ GUARDED_BY(mutex_);
};

// A client's thread: what it does itself, and what it does to others.
void be_client(std::vector<std::unique_ptr<Crowd::Client>>& clients, std::size_t number, std::uint64_t seed,
               Posts& posts) {
  std::mt19937_64 random(seed * 1'000 + number);
  for (std::size_t round = 0; round < kRounds; ++round) {
    clients[number]->act(random);
    Crowd::Client& other = *clients[random() % clients.size()];
    const std::string text = "posted-" + std::to_string(number) + "-" + std::to_string(round);
    switch (random() % 4) {
      case 0:
        posts.post(other.session(), PostedMessage::Kind::kSteer, text);
        break;
      case 1:
        posts.post(other.session(), PostedMessage::Kind::kFollowUp, text);
        break;
      case 2:
        other.interrupt();
        break;
      default:
        break;
    }
  }
}

void expect_idle(Crowd& crowd, Store& store) {
  EXPECT_EQ(crowd.runs().counts().active, 0u);
  EXPECT_EQ(crowd.runs().counts().waiting, 0u);
  EXPECT_EQ(crowd.slots_in_use(), 0u);
  const Logs logs = read_logs(store);
  for (const auto& [id, log] : logs.by_id) EXPECT_TRUE(store.lease(*Ulid::parse(id))) << "a lease of " << id;
}

TEST_F(Sessions, TwoHundredKeepTheirInvariants) {
  const std::uint64_t seed = seed_in("AGENTD_STRESS_SEED");
  SCOPED_TRACE("AGENTD_STRESS_SEED=" + std::to_string(seed));
  // Fewer places than sessions: most runs wait for their turn.
  crowd({seed, "stress", {48, kSessions, kSessions + 1}});
  auto clients = open(kSessions);
  ASSERT_FALSE(HasFailure());
  EXPECT_EQ(crowd_->runs().counts().open, kSessions);
  Posts posts;
  std::atomic<std::size_t> at_work{kSessions};
  {
    std::vector<Thread> threads;
    for (std::size_t i = 0; i < kSessions; ++i)
      threads.emplace_back([&, i] {
        be_client(clients, i, seed, posts);
        --at_work;
      });
    while (at_work != 0) {
      crowd_->republish();
      clock_.pause(Milliseconds(5));
    }
  }
  // All is calm: each gets an answer, and hands back what it has not taken.
  call_together(kSessions, kThreads, [&](std::size_t i) {
    clients[i]->settle();
    EXPECT_TRUE(clients[i]->ask());
    clients[i]->settle();
    posts.hand_back(clients[i]->session());
  });
  expect_none(crowd_->violations(), "crowd");
  expect_idle(*crowd_, *store_);
  posts.check(facts());
  // Counted by another session on the same log.
  for (const auto& client : clients) {
    const auto other = crowd_->open(client->number(), client->conversation());
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_EQ((*other)->session().gauge().used, client->session().gauge().used) << client->conversation().text();
  }
  clients.clear();
  EXPECT_EQ(crowd_->runs().counts().open, 0u);
  crowd_->retire();
  EXPECT_EQ(crowd_->pinned(), 0u);
  expect_none(crowd_->violations(), "crowd");
  expect_sound_logs();
  std::printf("%zu facts, %zu publications of hooks\n", facts().size(), crowd_->generations());
}

// ---- a slow client

TEST_F(Sessions, AClientThatDoesNotTakeItsEventsCostsItsOwnSession) {
  std::promise<void> blocked, release;
  std::shared_future<void> released = release.get_future().share();
  std::atomic<bool> slow{true};
  CrowdOptions options{seed_in("AGENTD_STRESS_SEED"), "slow"};
  options.on_event = [&](std::size_t client, const RunEvent& event) {
    // Inside of the run, behind the message's commit.
    if (client != 0 || event.type() != RunEvent::Type::kTurnStarted || !slow.exchange(false)) return;
    blocked.set_value();
    released.wait();
  };
  crowd(std::move(options));
  auto clients = open(20);
  ASSERT_FALSE(HasFailure());
  Thread first([&] { EXPECT_TRUE(clients[0]->ask()); });
  blocked.get_future().wait();
  // The others run, with commits, tools and compactions; the hooks that they run with are the new ones.
  crowd_->republish();
  call_together(clients.size() - 1, kThreads, [&](std::size_t i) {
    EXPECT_TRUE(clients[i + 1]->ask());
    EXPECT_TRUE(clients[i + 1]->session().compact({}, false, {}));
  });
  EXPECT_TRUE(crowd_->newest_was_called());
  EXPECT_TRUE(store_->commit_keys("space", std::vector<KeyOp>{{KeyOp::Kind::kPut, "key", "value"}}));
  // It holds only its own: a place and the lease of its conversation.
  EXPECT_EQ(crowd_->runs().counts().active, 1u);
  EXPECT_FALSE(store_->lease(clients[0]->conversation()));
  EXPECT_TRUE(store_->lease(clients[1]->conversation()));
  // A post to it does not wait either.
  Posts posts;
  posts.post(clients[0]->session(), PostedMessage::Kind::kFollowUp, "and then that");
  release.set_value();
  first.join();
  posts.hand_back(clients[0]->session());
  posts.check(facts());
  for (const auto& client : clients) client->settle();
  clients.clear();
  expect_none(crowd_->violations(), "crowd");
  expect_sound_logs();
}

}  // namespace
}  // namespace agentd::sessions
