// SPDX-License-Identifier: Apache-2.0
// Sessions end once, however they end, one that was killed by the next start; and checkpoints from the command line.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

class LifecycleOfSessions : public ::testing::Test {
 protected:
  LifecycleOfSessions() {
    program_.config("hooks: {dev: true}\n");
    AGENTD_ASSERT(make_directories(program_.home() + "/hooks"));
    // Writes one line "event reason task" for each of its events.
    AGENTD_ASSERT(write_file_atomically(
        program_.home() + "/hooks/ends.yaml",
        "on: session_end\ncommand: cat >> " + program_.project() + "/ends; echo >> " + program_.project() + "/ends\n",
        0600));
    program_.file("ends", "");
  }
  std::vector<std::string> scripted(std::vector<std::string> words, const std::string& turns) {
    words.insert(words.end(), {"--script", program_.script(turns)});
    return words;
  }
  // The reasons of all session_end events so far.
  std::string reasons() const {
    std::string out;
    const std::string text = read_file(program_.project() + "/ends", 1 << 20).value_or("");
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      if (end > at)
        if (const auto line = JsonDocument::parse(text.substr(at, end - at)))
          out += std::string(line->root()["reason"].string_or("?")) + " ";
      at = end + 1;
    }
    return out;
  }

  Program program_;
};

constexpr char kSleeps[] = "- calls: [{name: bash, input: {command: sleep 600}}]\n- text: Done.\n";

TEST_F(LifecycleOfSessions, ARunEndsOnce) {
  ASSERT_EQ(program_.run(scripted({"run", "look"}, "- text: Done.\n")).code, 0);
  EXPECT_EQ(reasons(), "exit ");
}

TEST_F(LifecycleOfSessions, ASignalEndsItOnce) {
  std::string expected;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Running running = program_.start(scripted({"run", "look", "--allow", "bash"}, kSleeps));
    ASSERT_TRUE(running.wait_for_err("• bash")) << running.err();
    running.signal(signal);
    EXPECT_EQ(running.wait().code, 128 + signal);
    EXPECT_EQ(reasons(), expected += "interrupted ");
  }
}

TEST_F(LifecycleOfSessions, AChatEndsOnceByItsCommandAndByTheEndOfItsInput) {
  ASSERT_EQ(program_.run(scripted({"chat"}, "- text: Hello.\n"), "hi\n/exit\n").code, 0);
  EXPECT_EQ(reasons(), "exit ");
  ASSERT_EQ(program_.run(scripted({"chat"}, "- text: Hello.\n"), "hi\n").code, 0);
  EXPECT_EQ(reasons(), "exit exit ");
}

TEST_F(LifecycleOfSessions, AKilledOneIsEndedOnceByTheNextStart) {
  Running running = program_.start(scripted({"run", "look", "--allow", "bash"}, kSleeps));
  ASSERT_TRUE(running.wait_for_err("• bash")) << running.err();
  running.signal(SIGKILL);
  EXPECT_EQ(running.wait().code, 128 + SIGKILL);
  EXPECT_EQ(reasons(), "");
  ASSERT_EQ(program_.run(scripted({"run", "again"}, "- text: Done.\n")).code, 0);
  EXPECT_EQ(reasons(), "crash exit ");
  EXPECT_TRUE(has(read_file(program_.project() + "/ends", 1 << 20).value_or(""), "\"task\":\"look\""));
  ASSERT_EQ(program_.run(scripted({"run", "again"}, "- text: Done.\n")).code, 0);
  EXPECT_EQ(reasons(), "crash exit exit ");
}

TEST_F(LifecycleOfSessions, OneThatStillRunsIsLeftAlone) {
  Running running = program_.start(scripted({"run", "look", "--allow", "bash"}, kSleeps));
  ASSERT_TRUE(running.wait_for_err("• bash")) << running.err();
  ASSERT_EQ(program_.run(scripted({"run", "again"}, "- text: Done.\n")).code, 0);
  EXPECT_EQ(reasons(), "exit ");
}

// ---- checkpoints

TEST_F(LifecycleOfSessions, ACheckpointIsSavedListedShownAndResumed) {
  ASSERT_EQ(program_.run({"checkpoint", "list"}).out, "no checkpoints in this project; --all lists all projects\n");
  EXPECT_EQ(program_.run({"checkpoint", "save"}).code, 4);
  ASSERT_EQ(program_.run(scripted({"run", "look"}, "- text: Done.\n")).code, 0);
  const Finished saved = program_.run({"checkpoint", "save", "a place", "--json"});
  ASSERT_EQ(saved.code, 0) << saved.err;
  const auto json = json_lines(saved.out);
  ASSERT_EQ(json.size(), 1u);
  const std::string id(json[0].root()["id"].string_or(""));
  EXPECT_EQ(json[0].root()["name"].string_or(""), "a place");
  EXPECT_EQ(json[0].root()["conversation_id"].string_or(""), program_.newest());
  EXPECT_TRUE(has(program_.run({"checkpoint", "list"}).out, id));
  EXPECT_TRUE(has(program_.run({"checkpoint", "show", id.substr(0, 20)}).out, "name a place"));
  EXPECT_EQ(program_.run({"checkpoint", "show", "7ZZZZZZZ"}).code, 4);
  EXPECT_EQ(program_.run({"checkpoint", "resume", id, "--level", "half"}).code, 2);
  const Finished resumed = program_.run({"checkpoint", "resume", id, "--level", "full", "--json"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  const auto fork = json_lines(resumed.out);
  ASSERT_EQ(fork.size(), 1u);
  EXPECT_EQ(fork[0].root()["level"].string_or(""), "full");
  const std::string conversation(fork[0].root()["conversation_id"].string_or(""));
  const Finished next = program_.run(scripted({"run", "--resume", conversation, "go on"},
                                              "- text: well\n  expect: {contains: [look, Done., go on]}\n"));
  EXPECT_EQ(next.code, 0) << next.err;
}

TEST_F(LifecycleOfSessions, ALevelHasItsTextFromTheScriptedModelOrFromTheMessages) {
  const std::string words(4'000, 'w');
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(program_
                  .run(scripted(i == 0 ? std::vector<std::string>{"run", words}
                                       : std::vector<std::string>{"run", "--follow", words},
                                "- text: " + std::string(4'000, 'a') + "\n"))
                  .code,
              0)
        << i;
  const Finished saved = program_.run({"checkpoint", "save", "--json"});
  ASSERT_EQ(saved.code, 0) << saved.err;
  const std::string id(json_lines(saved.out)[0].root()["id"].string_or(""));
  const auto level_of = [&](const std::string& level, std::vector<std::string> more) {
    std::vector<std::string> all{"checkpoint", "resume", id, "--level", level, "--json"};
    all.insert(all.end(), more.begin(), more.end());
    const Finished done = program_.run(all);
    EXPECT_EQ(done.code, 0) << done.err;
    return json_lines(done.out);
  };
  // No script: no model can be asked.
  const auto extract = level_of("summary", {});
  EXPECT_EQ(extract[0].root()["level"].string_or(""), "summary");
  EXPECT_TRUE(has(std::string(extract[0].root()["note"].string_or("")), "an extract"));
  const auto written = level_of("summary", {"--script", program_.script("- for: summary\n  text: THE SUMMARY\n")});
  EXPECT_EQ(written[0].root()["note"].string_or(""), "");
  EXPECT_TRUE(has(program_.run({"checkpoint", "show", id}).out, "THE SUMMARY"));
  // It is there now.
  const auto kept = level_of("summary", {});
  EXPECT_EQ(kept[0].root()["note"].string_or(""), "");
  EXPECT_LT(kept[0].root()["tokens"].uint_or(0), level_of("context", {})[0].root()["tokens"].uint_or(0));
}

TEST_F(LifecycleOfSessions, TheThresholdMakesOneWhoseIdHooksGet) {
  AGENTD_ASSERT(write_file_atomically(program_.home() + "/hooks/threshold.yaml",
                                      "on: context_threshold\ncommand: cat > " + program_.project() + "/told\n", 0600));
  const Finished done =
      program_.run(scripted({"run", std::string(40'000, 'w'), "--set", "context_window=10000", "--set",
                             "lifecycle.checkpoint_threshold_percent=50", "--disable-auto-compact"},
                            "- text: Done.\n"));
  ASSERT_EQ(done.code, 0) << done.err;
  const auto list = json_lines(program_.run({"checkpoint", "list", "--json"}).out);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].root()["why"].string_or(""), "threshold");
  const auto told = JsonDocument::parse(read_file(program_.project() + "/told", 1 << 20).value_or(""));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->root()["checkpoint_id"].string_or(""), list[0].root()["id"].string_or("-"));
  EXPECT_EQ(told->root()["threshold"].uint_or(0), 50u);
}

TEST_F(LifecycleOfSessions, AClearMakesOneAndMayBeRefused) {
  ASSERT_EQ(program_.run(scripted({"chat"}, "- text: Hello.\n"), "hi\n/clear\n/exit\n").code, 0);
  const auto list = json_lines(program_.run({"checkpoint", "list", "--json"}).out);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].root()["why"].string_or(""), "clear");
  EXPECT_EQ(reasons(), "clear exit ");
  const Finished refused = program_.run(
      scripted({"chat", "--set", "lifecycle.verify_before_clear=true"}, "- text: Hello.\n"), "hi\n/clear\n");
  EXPECT_EQ(refused.code, 3) << refused.err;
  EXPECT_TRUE(has(refused.err, "not cleared")) << refused.err;
  EXPECT_EQ(json_lines(program_.run({"checkpoint", "list", "--json"}).out).size(), 1u);
}

TEST_F(LifecycleOfSessions, AChatSavesByHandAndANewOneMayBeginThere) {
  const Finished chat = program_.run(scripted({"chat"}, "- text: Hello.\n"), "hi\n/checkpoint here\n/exit\n");
  ASSERT_EQ(chat.code, 0) << chat.err;
  EXPECT_TRUE(has(chat.out, "Saved checkpoint ")) << chat.out;
  const Finished plain = program_.run(scripted({"run", "and now"}, "- text: well\n  expect: {not_contains: Hello.}\n"));
  EXPECT_EQ(plain.code, 0) << plain.err;
  const Finished resumed = program_.run(scripted({"run", "and now", "--set", "lifecycle.auto_resume_on_start=true"},
                                                 "- text: well\n  expect: {contains: [hi, Hello., and now]}\n"));
  EXPECT_EQ(resumed.code, 0) << resumed.err;
}

}  // namespace
}  // namespace agentd::testing
