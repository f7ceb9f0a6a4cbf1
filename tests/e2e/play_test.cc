// SPDX-License-Identifier: Apache-2.0
// play_test.cc - dispatcher, compaction and services with hooks that act, hang, are given up and are cancelled at
// random, in the process and in workers, while the user interrupts, compacts and undoes: the program ends as it
// says, the store stays whole, no answer is without its question, and a sanitizer's build has nothing to tell.
//
// AGENTD_PLAY_SEED=N plays one seed, AGENTD_PLAY_SEEDS=N so many (4).
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "core/base/file.h"
#include "core/codec/json.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

constexpr int kCommands = 10;

unsigned number_of(const char* variable, unsigned otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

bool reports(const std::string& text) {
  for (const char* const mark :
       {"AddressSanitizer", "ThreadSanitizer", "LeakSanitizer", "runtime error:", "terminate called"})
    if (text.find(mark) != std::string::npos) return true;
  return false;
}

// What is wrong with the calls and results of a request; empty = nothing. Each call has one result before anything
// else is said; no result has no tool call.
std::string wrong_pairs(JsonView messages) {
  std::set<std::string> open;
  for (std::size_t m = 0; m < messages.size(); ++m) {
    const JsonView blocks = messages.at(m)["blocks"];
    std::set<std::string> calls;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const std::string_view kind = blocks.at(b)["kind"].string_or("");
      const std::string id(blocks.at(b)["call_id"].string_or(""));
      if (kind == "tool_result") {
        if (open.erase(id) == 0) return "a result without its call " + id;
        continue;
      }
      if (!open.empty()) return "no result for " + *open.begin();
      if (kind == "tool_use" && !calls.insert(id).second) return "two calls " + id;
    }
    open.merge(calls);
  }
  return open.empty() ? "" : "no result for " + *open.begin();
}

class Play {
 public:
  explicit Play(unsigned seed) : seed_(seed), chance_(seed) {
    program_.drop_hook(AGENTD_PLAYER_HOOK);
    program_.drop_hook(AGENTD_WATCHER_HOOK);
    program_.drop_hook(AGENTD_CROWD_HOOK);
    const std::string number = std::to_string(seed);
    const auto where = [&] { return below(2) == 0 ? std::string("in-process") : std::string("process"); };
    program_.config(
        "context_window: 9000\ncompaction: {output_reserve: 1000}\nmax_turns: 10\nlog: {level: info}\n"
        "hooks:\n  deadline_ms: 150\n"
        "  player: {isolation: " +
        where() + ", on_failure: " + (below(2) == 0 ? "open" : "closed") + ", config: {seed: " + number +
        "1}}\n"
        "  watcher: {isolation: " +
        where() + ", config: {seed: " + number +
        "2}}\n"
        "  crowd: {isolation: " +
        where() + ", config: {seed: " + number + "3}}\n");
    program_.set("AGENTD_SCRIPTED_RECORD=" + record());
  }

  void commands() {
    for (int i = 0; i < kCommands; ++i) command(i);
  }

  // Nothing of all that has left a mark on what is stored, or in what the model was asked.
  void look_back() {
    const Finished checked = program_.run({"store", "check"});
    EXPECT_EQ(checked.code, 0) << where() << checked.out << checked.err;
    const std::string id = program_.newest();
    ASSERT_FALSE(id.empty()) << where();
    EXPECT_EQ(program_.run({"conversation", "show", id, "--log"}).code, 0) << where();
    EXPECT_EQ(program_.run({"conversation", "show", id}).code, 0) << where();
    const auto requests = read_file(record(), 1u << 28);
    ASSERT_TRUE(requests) << where();
    for (const JsonDocument& request : json_lines(*requests)) {
      ++requests_;
      EXPECT_EQ(wrong_pairs(request.root()["messages"]), "") << where() << request.root()["messages"].text();
    }
    const auto told = read_file(program_.home() + "/agentd.log", 1u << 28);
    EXPECT_FALSE(told && reports(*told)) << where() << *told;
  }

  int interrupted() const { return interrupted_; }
  int compacted() const { return compacted_; }
  int requests() const { return requests_; }

 private:
  unsigned below(unsigned limit) { return static_cast<unsigned>(chance_() % limit); }
  std::string where() const { return "seed " + std::to_string(seed_) + ": "; }
  std::string record() const { return program_.directory().file("requests.jsonl"); }

  std::string turns() {
    std::string out;
    for (int i = 0; i < 40; ++i) {
      const std::string wait = below(3) == 0 ? ", delay_ms: " + std::to_string(below(60)) : std::string();
      const std::string text = std::string(50 + below(600), static_cast<char>('a' + i % 26));
      switch (below(8)) {
        case 0:
          out += "- {text: ends here" + wait + "}\n";
          break;
        case 1:
          out += "- {error: {kind: overloaded, message: busy}" + wait + "}\n";
          break;
        case 2:
          out += "- {calls: [{name: toy}, {name: toy}, {name: nosuch}]" + wait + "}\n";
          break;
        case 3:
          out += "- {calls: [{name: bash, input: {command: 'sleep 0.05; echo said'}}]" + wait + "}\n";
          break;
        default:
          out += "- {text: " + text + ", calls: [{name: toy}]" + wait + "}\n";
      }
    }
    for (int i = 0; i < 40; ++i) {
      const std::string wait = ", delay_ms: " + std::to_string(below(120));
      out += below(6) == 0 ? "- {for: summary, error: {kind: server, message: not now}" + wait + "}\n"
                           : "- {for: summary, text: A summary of what was played." + wait + "}\n";
      out += "- {for: thread, text: I am a thread" + wait + "}\n";
    }
    return out;
  }

  void command(int i) {
    const std::string script = program_.script(turns());
    std::vector<std::string> words = {"run", "play " + std::to_string(i), "--allow", "*", "--script", script};
    const unsigned which = below(10);
    if (i > 0 && !program_.newest().empty()) {
      if (which < 7)
        words.insert(words.begin() + 1, "--follow");
      else if (which < 9)
        words = {"compact", "--follow", "--script", script};
      else
        words = {"compact", "--follow", "--undo"};
    }
    Running running = program_.start(words);
    if (below(3) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(below(600)));
      running.signal(below(4) == 0 ? SIGTERM : SIGINT);
      ++interrupted_;
    }
    const Finished done = running.wait();
    const std::string line = where() + words[0] + " " + words[1] + " ended with " + std::to_string(done.code) + "\n";
    EXPECT_TRUE(std::set<int>({0, 1, 3, 4, 5, 7, 8, 130, 143}).contains(done.code)) << line << done.err;
    EXPECT_FALSE(reports(done.err)) << line << done.err;
    if (done.err.find("compact") != std::string::npos) ++compacted_;
  }

  const unsigned seed_;
  std::mt19937 chance_;
  Program program_;
  int interrupted_ = 0, compacted_ = 0, requests_ = 0;
};

TEST(Play, HooksThatActHangAndAreCancelledAtRandomBreakNothing) {
  const unsigned one = number_of("AGENTD_PLAY_SEED", 0), seeds = number_of("AGENTD_PLAY_SEEDS", 4);
  int interrupted = 0, compacted = 0, requests = 0;
  for (unsigned seed = one == 0 ? 1 : one; seed <= (one == 0 ? seeds : one); ++seed) {
    Play play(seed);
    play.commands();
    play.look_back();
    interrupted += play.interrupted();
    compacted += play.compacted();
    requests += play.requests();
  }
  if (one != 0) return;
  // The play reached what it is about.
  EXPECT_GT(interrupted, 0);
  EXPECT_GT(compacted, 0);
  EXPECT_GT(requests, 10);
  RecordProperty("requests", requests);
}

TEST(Play, ARequestWithAPartedPairIsSeen) {
  const auto wrong = [](const char* text) {
    const auto lines = json_lines(text);
    return wrong_pairs(lines.at(0).root()["messages"]);
  };
  EXPECT_EQ(wrong(R"({"messages":[{"blocks":[{"kind":"tool_use","call_id":"a"}]},)"
                  R"({"blocks":[{"kind":"tool_result","call_id":"a"}]}]})"),
            "");
  EXPECT_NE(wrong(R"({"messages":[{"blocks":[{"kind":"tool_use","call_id":"a"}]},{"blocks":[]}]})"), "");
  EXPECT_NE(wrong(R"({"messages":[{"blocks":[{"kind":"tool_use","call_id":"a"}]},)"
                  R"({"blocks":[{"kind":"text"},{"kind":"tool_result","call_id":"a"}]}]})"),
            "");
  EXPECT_NE(wrong(R"({"messages":[{"blocks":[{"kind":"tool_result","call_id":"a"}]}]})"), "");
}

}  // namespace
}  // namespace agentd::testing
