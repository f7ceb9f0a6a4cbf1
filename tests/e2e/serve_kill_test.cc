// SPDX-License-Identifier: Apache-2.0
// serve_kill_test.cc - kill -9 of the daemon under load: its clients come back with their keys, nothing acknowledged is
// lost, and no message is stored twice. AGENTD_KILL_ROUNDS: the number of kills.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/base/file.h"
#include "tests/e2e/http_client.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

constexpr int kClients = 8, kRoundsUsual = 4;

int rounds() {
  const char* const text = std::getenv("AGENTD_KILL_ROUNDS");
  return text == nullptr ? kRoundsUsual : std::atoi(text);
}

// One client with its conversation. A message is acknowledged by its event.
struct Talker {
  std::string id;
  int next = 0;          // the number of the message that is not acknowledged yet
  int acknowledged = 0;  // messages before this one are
  std::atomic<int> posts{0};

  static std::string text_of(int number) { return "message-" + std::to_string(number) + "-end"; }
  // Until the daemon is gone.
  void talk(const HttpClient& client) {
    EventReader events = client.events("/api/v1/conversations/" + id + "/events");
    for (;;) {
      const std::string text = text_of(next);
      const HttpAnswer queued = client.post("/api/v1/conversations/" + id + "/messages",
                                            R"({"text":")" + text + R"(","key":")" + text + "\"}");
      if (queued.status == 0) return;
      if (queued.status == 503) continue;
      EXPECT_EQ(queued.status, 202) << queued.body;
      ++posts;
      for (bool stored = false; !stored;) {
        const auto event = events.next();
        if (!event) return;
        stored = event->type == "user_message" && has(event->data, "\"" + text + "\"");
      }
      acknowledged = ++next;
    }
  }
};

class Killed : public ::testing::Test {
 protected:
  Killed() {
    program_.config("serve: {port: 0}\n");
    std::string turns;
    for (int i = 0; i < 20'000; ++i) turns += "- text: well\n";
    script_ = program_.script(turns);
  }
  void start() {
    running_ = std::make_unique<Running>(program_.start({"serve", "--no-hooks", "--script", script_}));
    ASSERT_TRUE(running_->wait_for_out("\n")) << running_->err();
    const std::string said = running_->out();
    std::string token = read_file(program_.home() + "/serve.token", 1'000).value_or("");
    while (!token.empty() && token.back() == '\n') token.pop_back();
    client_ = std::make_unique<HttpClient>(
        static_cast<std::uint16_t>(std::stoi(said.substr(said.find("127.0.0.1:") + 10))), token);
  }
  void kill() {
    running_->signal(SIGKILL);
    EXPECT_EQ(running_->wait().code, 128 + SIGKILL);
  }
  // How often each message of the user is in the log.
  std::map<std::string, int> stored(const std::string& id) {
    std::map<std::string, int> out;
    std::uint64_t after = 0;
    do {
      const JsonDocument page =
          client_->get("/api/v1/conversations/" + id + "/messages?after=" + std::to_string(after)).json();
      const JsonView messages = page.root()["messages"];
      for (std::size_t i = 0; i < messages.size(); ++i)
        if (messages.at(i)["role"].string_or("") == "user")
          ++out[std::string(messages.at(i)["blocks"].at(0)["text"].string_or(""))];
      after = page.root()["next"].uint_or(0);
    } while (after != 0);
    return out;
  }

  Program program_;
  std::string script_;
  std::unique_ptr<Running> running_;
  std::unique_ptr<HttpClient> client_;
};

TEST_F(Killed, LosesNothingThatWasAcknowledgedAndRunsNothingTwice) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  start();
  std::vector<Talker> talkers(kClients);
  for (Talker& each : talkers) {
    const HttpAnswer made = client_->post("/api/v1/conversations", R"({"cwd":")" + program_.project() + "\"}");
    ASSERT_EQ(made.status, 201) << made.body;
    each.id = std::string(made.json().root()["id"].string_or(""));
    // Stored, so that the next daemon knows it.
    EventReader events = client_->events("/api/v1/conversations/" + each.id + "/events");
    ASSERT_EQ(client_->post("/api/v1/conversations/" + each.id + "/messages", R"({"text":"first"})").status, 202);
    ASSERT_TRUE(events.until("run_ended"));
  }
  for (int round = 0; round < rounds(); ++round) {
    std::vector<std::thread> threads;
    for (Talker& each : talkers) threads.emplace_back([&] { each.talk(*client_); });
    std::this_thread::sleep_for(std::chrono::milliseconds(200 + random() % 400));
    kill();
    for (std::thread& thread : threads) thread.join();
    start();
    int acknowledged = 0;
    for (Talker& each : talkers) {
      const auto texts = stored(each.id);
      for (int i = 0; i < each.acknowledged; ++i) {
        const auto found = texts.find(Talker::text_of(i));
        EXPECT_TRUE(found != texts.end()) << "round " << round << ": " << i << " of " << each.id << " is lost";
      }
      for (const auto& [text, count] : texts) EXPECT_EQ(count, 1) << "round " << round << ": " << text;
      acknowledged += each.acknowledged;
    }
    EXPECT_GT(acknowledged, round) << "no message was acknowledged";
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace agentd::testing
