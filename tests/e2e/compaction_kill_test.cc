// SPDX-License-Identifier: Apache-2.0
// kill -9 between any two steps of a compaction: afterwards the view is the old one or the new one,
// never a mix of the two; the log's chain holds, and the next run works.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>

#include "core/base/file.h"
#include "tests/e2e/compaction_stage.h"

namespace agentd::testing {
namespace {

// ---- what may be there afterwards

// The view as one line per message: role and text, without times and sequences.
std::vector<std::string> lines_of_view(const std::string& messages_json) {
  std::vector<std::string> out;
  const auto parsed = JsonDocument::parse("{" + messages_json);
  if (!parsed) return {"the view is no JSON: " + parsed.error().message};
  const JsonView messages = parsed->root()["messages"];
  for (std::size_t i = 0; i < messages.size(); ++i) {
    std::string line(messages.at(i)["role"].string_or("?"));
    for (std::size_t b = 0; b < messages.at(i)["blocks"].size(); ++b)
      line += "|" + std::string(messages.at(i)["blocks"].at(b)["text"].string_or(""));
    out.push_back(std::move(line));
  }
  return out;
}

std::string start_of(const std::string& line) { return line.substr(0, 40); }

// Why this view is neither of the two; empty when it is one. What stood before the compaction comes
// whole or is summarised whole: `old_lines` in full, or the summary followed by a tail of them;
// then what the killed run had added.
std::string why_mixed(const std::vector<std::string>& now, const std::vector<std::string>& old_lines,
                      std::size_t kept) {
  if (now.empty()) return "the view is empty";
  const bool compacted = now[0].starts_with("summary|");
  std::vector<std::string> expected;
  if (compacted) {
    if (now[0].find(kSummaryText) == std::string::npos) return "the summary is not the whole one: " + now[0];
    expected.push_back(now[0]);
    expected.insert(expected.end(), old_lines.end() - static_cast<std::ptrdiff_t>(kept), old_lines.end());
  } else {
    expected = old_lines;
  }
  if (now.size() < expected.size()) return "messages are missing: " + std::to_string(now.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (now[i] != expected[i])
      return "message " + std::to_string(i) + " is " + start_of(now[i]) + " and not " + start_of(expected[i]);
  for (std::size_t i = expected.size(); i < now.size(); ++i)
    if (now[i].starts_with("summary|")) return "a second summary stands in the middle";
  return {};
}

class Kill : public CompactionStage {
 protected:
  static constexpr std::size_t kKept = 2;  // the second question and its answer: 40 % of the window

  void prepare() {
    fill();
    old_ = lines_of_view(view());
    ASSERT_EQ(old_.size(), 4u);
  }
  std::vector<std::string> door_words() const {
    return {"run", "--json", "--follow", "--no-tools", question("the killed question")};
  }
  // Runs until something kills it; what it had written by then.
  Finished run_to_death() {
    model_.say("the answer");
    return program_.start(door_words()).wait();
  }
  void hook_that_kills(const std::string& name, const std::string& event, const std::string& condition = "true") const {
    executable_hook(name, event, "    input=$(cat); if " + condition + "; then kill -9 $PPID; fi");
  }
  // The hooks' runner forks: the program itself is who has the session of this process.
  enum class View { kOld, kNew, kEither };
  void expect_whole(View which) {
    const std::vector<std::string> now = lines_of_view(view());
    EXPECT_EQ(why_mixed(now, old_, kKept), "");
    if (which != View::kEither) {
      EXPECT_EQ(now[0].starts_with("summary|"), which == View::kNew) << start_of(now[0]);
    }
    const std::size_t known = boundaries().size();
    EXPECT_EQ(known, now[0].starts_with("summary|") ? 1u : 0u);
    expect_sound_log();
  }
  void expect_next_run_works() {
    ::unlink((program_.home() + "/hooks/killer").c_str());
    program_.set("AGENTD_HOOKS_DISABLE=killer");
    model_.summaries(Fault::kNone);
    const std::string same = id();
    const std::size_t first = model_.calls().size();
    const Finished next = run({"--follow", "--no-tools", "are you there?"});
    EXPECT_EQ(next.code, 0) << next.err;
    EXPECT_EQ(id(), same);
    for (const auto& call : model_.calls_since(first, false)) EXPECT_EQ(broken_pairs(call.body), "");
    expect_sound_log();
  }

  std::vector<std::string> old_;
};

// ---- the steps, one by one

TEST_F(Kill, InBeforeCompactionLeavesTheOldView) {
  prepare();
  hook_that_kills("killer", "before_compaction");
  EXPECT_EQ(run_to_death().code, 128 + SIGKILL);
  EXPECT_TRUE(model_.calls_since(0, true).empty());
  expect_whole(View::kOld);
  expect_next_run_works();
}

TEST_F(Kill, WhenTheSummaryWasAskedForLeavesTheOldView) {
  prepare();
  model_.summaries(Fault::kNeverAnswers);
  Running running = program_.start(door_words());
  ASSERT_TRUE(model_.wait_for_summaries(1));
  running.signal(SIGKILL);
  EXPECT_EQ(running.wait().code, 128 + SIGKILL);
  expect_whole(View::kOld);
  expect_next_run_works();
}

TEST_F(Kill, InTheMiddleOfTheSummaryLeavesTheOldView) {
  prepare();
  const std::string begun = AnthropicWire().start().text({"HALF-A-SUMMARY", " of it"}).bytes();
  model_.summaries_by(
      [&](const RecordedRequest&) { return Reply::chunked({begun.substr(0, begun.size() / 2)}, false).stall(); });
  Running running = program_.start(door_words());
  ASSERT_TRUE(model_.wait_for_summaries(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // some of it has been read
  running.signal(SIGKILL);
  EXPECT_EQ(running.wait().code, 128 + SIGKILL);
  EXPECT_EQ(whole_log().find("HALF-A-SUMMARY"), std::string::npos);
  expect_whole(View::kOld);
  expect_next_run_works();
}

TEST_F(Kill, RightAfterTheSummaryLeavesOneOfTheTwo) {
  prepare();
  Running running = program_.start(door_words());
  ASSERT_TRUE(model_.wait_for_summaries(1));
  running.signal(SIGKILL);
  running.wait();
  expect_whole(View::kEither);
  expect_next_run_works();
}

TEST_F(Kill, InAfterCompactionLeavesTheNewView) {
  prepare();
  hook_that_kills("killer", "after_compaction");
  EXPECT_EQ(run_to_death().code, 128 + SIGKILL);
  expect_whole(View::kNew);
  expect_next_run_works();
}

TEST_F(Kill, InSessionStartAfterCompactionLeavesTheNewView) {
  prepare();
  hook_that_kills("killer", "session_start", "printf %s \"$input\" | grep -q '\"source\":\"compact\"'");
  EXPECT_EQ(run_to_death().code, 128 + SIGKILL);
  expect_whole(View::kNew);
  expect_next_run_works();
}

TEST_F(Kill, OfACompactionOnRequestLeavesTheOldView) {
  prepare();
  model_.summaries(Fault::kNeverAnswers);
  const std::string before = view();
  Running running = program_.start({"compact", "--follow"});
  ASSERT_TRUE(model_.wait_for_summaries(1));
  running.signal(SIGKILL);
  running.wait();
  EXPECT_EQ(view(), before);
  model_.summaries(Fault::kNone);
  EXPECT_EQ(outcomes(compact()), "applied");  // the lease died with its holder
  expect_sound_log();
}

// ---- at any time

// 1/20 of 800; AGENTD_TORTURE=1 runs all.
TEST_F(Kill, AtRandomTimesLeavesOneOfTheTwo) {
  const bool torture = std::getenv("AGENTD_TORTURE") != nullptr;
  const int kills = torture ? 800 : 40;
  const auto seed = static_cast<unsigned>(std::chrono::steady_clock::now().time_since_epoch().count() & 0xffff'ffff);
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  prepare();
  // How long the whole thing takes, so that the kills fall into all of it.
  const std::string store = program_.home() + "/store", kept = program_.directory().file("kept");
  std::filesystem::copy(store, kept, std::filesystem::copy_options::recursive);
  const auto from = std::chrono::steady_clock::now();
  ASSERT_EQ(run_to_death().code, 0);
  const auto whole =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - from).count();
  int killed = 0, compacted = 0;
  for (int i = 0; i < kills && !HasFailure(); ++i) {
    std::filesystem::remove_all(store);
    std::filesystem::copy(kept, store, std::filesystem::copy_options::recursive);
    const std::size_t summaries = model_.calls_since(0, true).size();
    Running running = program_.start(door_words());
    // Every other one from the moment on that the summary is on its way: there it is written down.
    const bool late = i % 2 == 1;
    if (late) {
      ASSERT_TRUE(model_.wait_for_summaries(summaries + 1));
    }
    const auto wait = std::uniform_int_distribution<long long>(0, late ? whole / 12 : whole)(random);
    std::this_thread::sleep_for(std::chrono::microseconds(wait));
    running.signal(SIGKILL);
    if (running.wait().code == 128 + SIGKILL) ++killed;
    SCOPED_TRACE("kill " + std::to_string(i) + " after " + std::to_string(wait) + " us");
    const std::vector<std::string> now = lines_of_view(view());
    EXPECT_EQ(why_mixed(now, old_, kKept), "");
    if (now[0].starts_with("summary|")) ++compacted;
    expect_sound_log();
    // Every fourth time the next run too: it takes as long as all the rest.
    if (i % 4 == 0) {
      const Finished next = run({"--follow", "--no-tools", "are you there?"});
      EXPECT_EQ(next.code, 0) << next.err;
    }
  }
  std::printf("%d of %d were killed in time, %d of the views were the new one\n", killed, kills, compacted);
  EXPECT_GT(killed, kills / 20);
}

// ---- the checker itself

TEST(KillChecker, SeesEveryKindOfMix) {
  const std::string summary = "summary|[...]\n\n" + std::string(kSummaryText);
  const std::vector<std::string> old{"user|one", "assistant|two", "user|three", "assistant|four"};
  const auto mixed = [&](const std::vector<std::string>& now) { return !why_mixed(now, old, 2).empty(); };
  EXPECT_FALSE(mixed(old));
  EXPECT_FALSE(mixed({"user|one", "assistant|two", "user|three", "assistant|four", "user|five"}));
  EXPECT_FALSE(mixed({summary, "user|three", "assistant|four"}));
  EXPECT_FALSE(mixed({summary, "user|three", "assistant|four", "user|five", "assistant|six"}));
  // The summary beside what it stands for, behind it, without its tail, cut, or none at all.
  EXPECT_TRUE(mixed({summary, "user|one", "assistant|two", "user|three", "assistant|four"}));
  EXPECT_TRUE(mixed({"user|one", "assistant|two", "user|three", "assistant|four", summary}));
  EXPECT_TRUE(mixed({summary, "assistant|four"}));
  EXPECT_TRUE(mixed({summary}));
  EXPECT_TRUE(mixed({summary.substr(0, 25), "user|three", "assistant|four"}));
  EXPECT_TRUE(mixed({"user|three", "assistant|four"}));
  EXPECT_TRUE(mixed({"user|one", "assistant|two"}));
  EXPECT_TRUE(mixed({"user|one", "assistant|tw", "user|three", "assistant|four"}));
  EXPECT_TRUE(mixed({}));
}

// A store that says it: the records of a compaction torn apart are a mix that the checker sees.
TEST_F(Kill, AForgedMixIsSeen) {
  prepare();
  ASSERT_EQ(outcomes(compact({"--follow", "--strategy", "tail"})), "applied");
  const std::vector<std::string> now = lines_of_view(view());
  ASSERT_EQ(why_mixed(now, old_, kKept), "");
  std::vector<std::string> forged = now;
  forged.insert(forged.begin() + 1, old_[1]);
  EXPECT_NE(why_mixed(forged, old_, kKept), "");
  forged = old_;
  forged[0] = now[0];
  EXPECT_NE(why_mixed(forged, old_, kKept), "");
}

}  // namespace
}  // namespace agentd::testing
