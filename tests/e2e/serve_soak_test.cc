// SPDX-License-Identifier: Apache-2.0
// serve_soak_test.cc - the daemon under everything that clients do, well or badly, in rounds; after each of them it has
// nothing more than at first. AGENTD_SOAK_SECONDS: the time under load of all rounds; `make soak` runs it for long.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/base/file.h"
#include "tests/e2e/served_home.h"

namespace agentd::testing {
namespace {

constexpr int kClients = 6, kSecondsUsual = 10, kGlanceMs = 200;
// Memory of the second half of the rounds beyond that of the first: what allocators and caches may still take.
constexpr double kMemoryFactor = 1.10, kMemoryMoreKib = 6 * 1'024;

int seconds() {
  const char* const text = std::getenv("AGENTD_SOAK_SECONDS");
  return text == nullptr ? kSecondsUsual : std::max(4, std::atoi(text));
}

// What the daemon has while nobody asks for anything.
struct Sample {
  std::size_t descriptors = 0, threads = 0, sessions = 0;
  double memory_kib = 0;
};

double mean_memory(const std::vector<Sample>& of, std::size_t from, std::size_t to) {
  double sum = 0;
  for (std::size_t i = from; i < to; ++i) sum += of[i].memory_kib;
  return sum / static_cast<double>(to - from);
}

// What is left of the rounds, against `base`; empty = nothing.
std::string what_is_left(const Sample& base, const std::vector<Sample>& rounds) {
  std::string out;
  const auto compare = [&](std::size_t round, const char* what, std::size_t now, std::size_t before) {
    if (now != before)
      out += "round " + std::to_string(round) + ": " + std::to_string(now) + " " + what + ", at first " +
             std::to_string(before) + "\n";
  };
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    compare(i, "descriptors", rounds[i].descriptors, base.descriptors);
    compare(i, "threads", rounds[i].threads, base.threads);
    compare(i, "sessions", rounds[i].sessions, base.sessions);
  }
  const std::size_t half = rounds.size() / 2;
  if (half == 0) return out;
  const double first = mean_memory(rounds, 0, half), second = mean_memory(rounds, half, rounds.size());
  if (second > first * kMemoryFactor + kMemoryMoreKib)
    out += "memory: " + std::to_string(first) + " KiB in the first half of the rounds, " + std::to_string(second) +
           " KiB in the second\n";
  return out;
}

// ---- the daemon from outside

std::size_t descriptors_of(pid_t pid) {
  std::error_code gone;
  const std::filesystem::directory_iterator all("/proc/" + std::to_string(pid) + "/fd", gone);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

double status_number(pid_t pid, const std::string& key) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(key + ":")) return std::atof(line.c_str() + key.size() + 1);
  return -1;
}

std::size_t sessions_at_hand(const ServedHome& served) {
  return served.client().get("/api/v1/sessions").json().root()["sessions"].size();
}

// Until what ended before is tidied up, which happens every few seconds.
void wait_for_care(const ServedHome& served) {
  constexpr double kOneRound = 6;
  const double begin = served.metric("agentd_uptime_seconds");
  EXPECT_TRUE(comes_true([&] { return served.metric("agentd_uptime_seconds") > begin + kOneRound; }));
}

Sample look(const ServedHome& served) {
  Sample out;
  wait_for_care(served);
  out.sessions = sessions_at_hand(served);
  const pid_t pid = served.running().pid();
  // The connection that has just asked ends within a second.
  std::size_t same = 0;
  for (int i = 0; i < 100 && same < 5; ++i) {
    const std::size_t descriptors = descriptors_of(pid),
                      threads = static_cast<std::size_t>(status_number(pid, "Threads"));
    same = descriptors == out.descriptors && threads == out.threads ? same + 1 : 0;
    out.descriptors = descriptors;
    out.threads = threads;
    ::usleep(300'000);
  }
  out.memory_kib = status_number(pid, "RssAnon");
  return out;
}

// As it is once it is like `base`; as it is in the end where it does not become so.
Sample settled(const ServedHome& served, const Sample& base) {
  const pid_t pid = served.running().pid();
  (void)comes_true([&] { return sessions_at_hand(served) == base.sessions; });
  (void)comes_true([&] {
    return descriptors_of(pid) == base.descriptors &&
           static_cast<std::size_t>(status_number(pid, "Threads")) == base.threads;
  });
  Sample out = base;
  out.sessions = sessions_at_hand(served);
  for (int i = 0; i < 100; ++i) {
    out.descriptors = descriptors_of(pid);
    out.threads = static_cast<std::size_t>(status_number(pid, "Threads"));
    if (out.descriptors == base.descriptors && out.threads == base.threads) break;
    ::usleep(50'000);
  }
  out.memory_kib = status_number(pid, "RssAnon");
  return out;
}

// ---- its clients

// The answers that a client may get whatever others do; counted for the report.
class Answers {
 public:
  void count(const std::string& what, const HttpAnswer& got) {
    const bool right = got.status >= 200 && got.status < 600 && got.status != 500;
    const std::lock_guard lock(mutex_);
    ++counts_[what + " " + std::to_string(got.status)];
    if (!right && wrong_.size() < 2'000) wrong_ += what + ": " + std::to_string(got.status) + " " + got.body + "\n";
  }
  std::string wrong() {
    const std::lock_guard lock(mutex_);
    return wrong_;
  }
  std::size_t kinds() {
    const std::lock_guard lock(mutex_);
    return counts_.size();
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    std::string out;
    for (const auto& [what, count] : counts_) out += what + ": " + std::to_string(count) + "\n";
    return out;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> counts_;
  std::string wrong_;
};

class Visitor {
 public:
  Visitor(const ServedHome& served, Answers& answers, std::string directory, unsigned seed)
      : client_(served.client()), answers_(answers), directory_(std::move(directory)), random_(seed) {}

  void act() {
    if (mine_.empty()) return create();
    switch (below(14)) {
      case 0:
        return create();
      case 1:
      case 2:
      case 3:
        return converse();
      case 4:
        return post();
      case 5:
        return count("cancel", client_.post(at("cancel"), "{}"));
      case 6:
        return count("compact", client_.post(at("compact"), below(2) == 0 ? "{}" : R"({"dry_run":true})"));
      case 7:
        return count("undo", client_.post(at("undo"), R"({"force":true})"));
      case 8:
        return fork();
      case 9:
        return remove(below(mine_.size()));
      case 10:
        return answer();
      case 11:
        return count("wrong token", client_.as("agentd_" + std::string(64, '0')).get("/api/v1/conversations"));
      case 12:
        return half_open();
      default:
        return look_around();
    }
  }
  // Deletes all that it has made.
  void leave() {
    half_open_.clear();
    while (!mine_.empty()) {
      count("cancel", client_.post(at("cancel"), "{}"));
      remove(mine_.size() - 1);
    }
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }
  std::string at(const std::string& what) { return ServedHome::path(mine_[below(mine_.size())], what); }
  void count(const std::string& what, const HttpAnswer& got) { answers_.count(what, got); }
  void keep(const std::string& what, const HttpAnswer& got, JsonView id) {
    count(what, got);
    if (got.status == 201) mine_.emplace_back(id.string_or(""));
  }

  void create() {
    if (mine_.size() >= 5) return remove(0);
    const HttpAnswer made = client_.post("/api/v1/conversations", R"({"cwd":")" + directory_ + "\"}");
    const JsonDocument json = made.json();
    keep("create", made, json.root()["id"]);
  }
  void fork() {
    if (mine_.size() >= 5) return remove(0);
    const HttpAnswer made = client_.post(at("fork"), "{}");
    const JsonDocument json = made.json();
    keep("fork", made, json.root()["conversation"]["id"]);
  }
  void post() {
    const std::string kind = below(3) == 0 ? R"(,"kind":"steer")" : "";
    count("post", client_.post(at("messages"), R"({"text":"message )" + std::to_string(random_()) + "\"" + kind + "}"));
  }
  // Reads some events, goes, comes back where it was or from the log on, and goes in the middle of it.
  void converse() {
    const std::string path = at("events");
    std::string last;
    for (std::size_t times = 1 + below(3); times > 0; --times) {
      EventReader events = client_.events(last.empty() && below(4) == 0 ? path + "?after=0" : path, last);
      post();
      for (std::size_t left = 1 + below(8); left > 0; --left) {
        const auto event = events.next(kGlanceMs);
        if (!event) break;
        last = event->id;
      }
    }
  }
  void answer() {
    const HttpAnswer all = client_.get("/api/v1/approvals");
    count("approvals", all);
    const JsonDocument json = all.json();
    const JsonView waits = json.root()["approvals"];
    if (waits.size() == 0) return;
    const std::string id(waits.at(below(waits.size()))["wait_id"].string_or(""));
    count("answer", client_.post("/api/v1/approvals/" + id,
                                 below(2) == 0 ? R"({"decision":"allow"})" : R"({"decision":"deny"})"));
  }
  void half_open() {
    if (half_open_.size() >= 4) half_open_.clear();
    UniqueFd fd = client_.connect();
    if (!fd.valid()) return;
    constexpr const char* kParts[] = {"", "GET",
                                      "GET /readyz HTTP/1.1\r\nHost: ", "POST /x HTTP/1.1\r\nHost: x\r\n\r\n"};
    (void)write_all(fd.get(), kParts[below(std::size(kParts))]);
    half_open_.push_back(std::move(fd));
  }
  void look_around() {
    constexpr const char* kPaths[] = {"/api/v1/conversations?limit=5",
                                      "/api/v1/search?q=message",
                                      "/metrics",
                                      "/readyz",
                                      "/api/v1/hooks",
                                      "/api/v1/usage",
                                      "/nothing"};
    count("look", client_.get(kPaths[below(std::size(kPaths))]));
    count("messages", client_.get(at("messages")));
  }
  void remove(std::size_t which) {
    const std::string path = "/api/v1/conversations/" + mine_[which];
    const HttpAnswer gone = client_.request("DELETE", path);
    count("delete", gone);
    if (gone.status == 200 || gone.status == 404) mine_.erase(mine_.begin() + static_cast<std::ptrdiff_t>(which));
  }

  const HttpClient client_;
  Answers& answers_;
  const std::string directory_;
  std::mt19937 random_;
  std::vector<std::string> mine_;
  std::vector<UniqueFd> half_open_;
};

// Questions, calls, summaries, pauses, and failures, again and again.
constexpr const char* kTurns =
    "repeat: true\nturns:\n"
    "- text: A first answer of several words, which come one after another.\n  pace_ms: 2\n"
    "- calls: [{name: bash, input: {command: 'echo asked'}}]\n"
    "- text: Done.\n"
    "- calls: [{name: read_file, input: {path: note}}]\n"
    "- text: The note was read.\n  delay_ms: 30\n"
    "- {text: broken off, error: {kind: invalid_request, message: no}}\n"
    "- text: The last one.\n"
    "- {for: summary, text: 'They asked for answers, and got some.'}\n";

class ServeSoak : public ::testing::Test {
 protected:
  void start() {
    (void)served_.program().file("note", "a note\n");
    served_.start(kTurns);
    do_all_once();
    wait_for_care(served_);
  }
  // The first search and the first command start threads that stay.
  void do_all_once() {
    const HttpClient& client = served_.client();
    const std::string id = served_.create();
    EventReader events = client.events(ServedHome::path(id, "events"));
    ASSERT_EQ(served_.say(id, "a message").status, 202);
    ASSERT_TRUE(events.until("run_ended"));
    ASSERT_EQ(served_.say(id, "a message with a command").status, 202);
    const auto question = [&] {
      return std::string(client.get("/api/v1/approvals").json().root()["approvals"].at(0)["wait_id"].string_or(""));
    };
    ASSERT_TRUE(comes_true([&] { return !question().empty(); }));
    ASSERT_EQ(client.post("/api/v1/approvals/" + question(), R"({"decision":"allow"})").status, 200);
    ASSERT_TRUE(comes_true([&] { return has(client.get(ServedHome::path(id, "messages")).body, "Done."); }));
    ASSERT_EQ(client.get("/api/v1/search?q=message").status, 200);
    ASSERT_TRUE(comes_true([&] { return client.request("DELETE", "/api/v1/conversations/" + id).status == 200; }));
  }
  void load(int milliseconds, unsigned seed) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    std::vector<std::thread> threads;
    for (int i = 0; i < kClients; ++i)
      threads.emplace_back([&, i] {
        Visitor visitor(served_, answers_, served_.program().project(), seed * 100 + static_cast<unsigned>(i));
        while (std::chrono::steady_clock::now() < end) visitor.act();
        visitor.leave();
      });
    for (std::thread& each : threads) each.join();
  }

  ServedHome served_;
  Answers answers_;
};

// Others take the conversation up while it is deleted.
TEST_F(ServeSoak, ADeletedConversationLeavesNoSession) {
  constexpr int kRounds = 60, kOthers = 3;
  start();
  for (int round = 0; round < kRounds; ++round) {
    const std::string id = served_.create();
    EventReader events = served_.client().events(ServedHome::path(id, "events"));
    ASSERT_EQ(served_.say(id, "a message").status, 202);
    ASSERT_TRUE(events.until("run_ended"));
    std::atomic<bool> ends{false};
    std::vector<std::thread> others;
    for (int i = 0; i < kOthers; ++i)
      others.emplace_back([&, client = served_.client()] {
        while (!ends) (void)client.post(ServedHome::path(id, "undo"), "{}");
      });
    // One that works, or was just taken up, is asked for again.
    EXPECT_TRUE(
        comes_true([&] { return served_.client().request("DELETE", "/api/v1/conversations/" + id).status == 200; }));
    ends = true;
    for (std::thread& each : others) each.join();
  }
  EXPECT_TRUE(comes_true([&] { return sessions_at_hand(served_) == 0; })) << sessions_at_hand(served_);
}

TEST_F(ServeSoak, NothingIsLeftOfALoad) {
  const unsigned seed = std::random_device()() % 1'000'000;
  SCOPED_TRACE("seed " + std::to_string(seed));
  start();
  const int rounds = std::clamp(seconds() / 60, 4, 60), each_ms = seconds() * 1'000 / (rounds + 1);
  load(each_ms, seed);  // what is made once
  const Sample base = look(served_);
  EXPECT_EQ(base.sessions, 0u);
  std::vector<Sample> samples;
  for (int i = 1; i <= rounds; ++i) {
    load(each_ms, seed + static_cast<unsigned>(i));
    samples.push_back(settled(served_, base));
    if (seconds() > kSecondsUsual)
      std::printf("round %d: %zu descriptors, %zu threads, %.0f KiB\n", i, samples.back().descriptors,
                  samples.back().threads, samples.back().memory_kib);
  }
  EXPECT_EQ(what_is_left(base, samples), "");
  EXPECT_EQ(answers_.wrong(), "");
  // Every kind of action was answered as it should, at least once.
  const std::string text = answers_.text();
  for (const char* const each : {"create 201", "post 202", "cancel 200", "compact 200", "fork 201", "delete 200",
                                 "approvals 200", "messages 200"})
    EXPECT_TRUE(has(text, each)) << each << "\n" << text;
  EXPECT_TRUE(has(text, "wrong token 401") || has(text, "wrong token 429")) << text;
  EXPECT_EQ(served_.end().code, 0);
}

// ---- the judgement itself

TEST_F(ServeSoak, ADescriptorASessionAndAThreadThatAreKeptAreFound) {
  start();
  const Sample base = look(served_);
  EXPECT_EQ(what_is_left(base, {look(served_), look(served_)}), "");
  {
    const UniqueFd kept = served_.client().connect();
    ASSERT_TRUE(kept.valid());
    ASSERT_TRUE(comes_true([&] { return descriptors_of(served_.running().pid()) > base.descriptors; }));
    Sample now = base;
    now.descriptors = descriptors_of(served_.running().pid());
    EXPECT_TRUE(has(what_is_left(base, {base, now}), "descriptors, at first"));
  }
  (void)served_.create();
  EXPECT_TRUE(has(what_is_left(base, {base, look(served_)}), "round 1: 1 sessions, at first 0\n"));
}

TEST(Soak, MemoryThatGrowsIsFoundAndNoiseIsNot) {
  const auto rounds = [](double first, double step) {
    std::vector<Sample> out;
    for (int i = 0; i < 12; ++i) out.push_back({10, 5, 0, first + step * i + (i % 3) * 1'000.0});
    return out;
  };
  const Sample base{10, 5, 0, 50'000};
  EXPECT_EQ(what_is_left(base, rounds(50'000, 0)), "");
  EXPECT_TRUE(has(what_is_left(base, rounds(50'000, 2'500)), "memory: "));
  EXPECT_TRUE(has(what_is_left(base, {{10, 6, 0, 1}}), "round 0: 6 threads, at first 5\n"));
}

}  // namespace
}  // namespace agentd::testing
