// SPDX-License-Identifier: Apache-2.0
// descriptors_test.cc - the program started with standard input, output or error closed, as
// supervisors and wrappers of cron do.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

constexpr unsigned kOutput = 1u << STDOUT_FILENO;

class ClosedDescriptors : public ::testing::TestWithParam<unsigned> {
 protected:
  std::vector<std::string> scripted(const std::string& message) {
    return {"run", "--no-hooks", "--script", script_, message};
  }
  Finished closed(const std::vector<std::string>& words) {
    program_.close_descriptors(GetParam());
    const Finished out = program_.run(words);
    program_.close_descriptors(0);
    return out;
  }
  // What is lost is an error at the end; what was asked for is done.
  int expected() const { return (GetParam() & kOutput) != 0 ? 1 : 0; }
  std::string data() const { return *read_file(program_.home() + "/store/data.mdb", 64u << 20); }
  std::vector<std::string> ids() {
    const Finished list = program_.run({"conversation", "list", "--all", "--json"});
    EXPECT_EQ(list.code, 0) << list.err;
    std::vector<std::string> out;
    for (const JsonDocument& line : json_lines(list.out)) out.emplace_back(line.root()["id"].string_or({}));
    return out;
  }

  Program program_;
  const std::string script_ = program_.script("- text: well\n- text: again\n");
};

TEST_P(ClosedDescriptors, ReadingLeavesEveryByteOfTheStore) {
  ASSERT_EQ(program_.run(scripted("hello")).code, 0);
  const std::string before = data();
  EXPECT_EQ(closed({"conversation", "list", "--all"}).code, expected());
  EXPECT_EQ(closed({"conversation", "show", program_.newest()}).code, expected());
  // The refusal is printed while the store is open.
  EXPECT_NE(closed({"conversation", "delete", program_.newest()}).code, 0);
  EXPECT_TRUE(data() == before);
  EXPECT_EQ(ids().size(), 1u);
}

TEST_P(ClosedDescriptors, ADeletionRemovesThatConversationAlone) {
  ASSERT_EQ(program_.run(scripted("first")).code, 0);
  ASSERT_EQ(program_.run(scripted("second")).code, 0);
  const std::vector<std::string> before = ids();
  ASSERT_EQ(before.size(), 2u);
  // The line that says so is no answer: a caller who reads a failure would delete it again.
  EXPECT_EQ(closed({"conversation", "delete", "--yes", before[1]}).code, 0);
  EXPECT_EQ(ids(), std::vector<std::string>{before[0]});
  EXPECT_EQ(closed({"conversation", "delete", "--yes", before[1]}).code, 4);
  EXPECT_EQ(program_.run({"conversation", "show", before[0]}).code, 0);
}

TEST_P(ClosedDescriptors, WhatOnlyConfirmsWhatWasDoneIsNoFailure) {
  ASSERT_EQ(program_.run(scripted("first")).code, 0);
  const std::string copy = program_.directory().file("copy");
  EXPECT_EQ(closed({"store", "backup", copy}).code, 0);
  EXPECT_EQ(program_.run({"store", "check", copy}).code, 0);
  // JSON is for a program, which has nothing to read now.
  EXPECT_EQ(closed({"store", "backup", copy + "2", "--json"}).code, expected());
  const std::string id = program_.newest();
  const std::string summary = program_.script("- for: summary\n  text: the talk in short\n");
  EXPECT_EQ(closed({"compact", "-c", id, "--script", summary}).code, 0);
  EXPECT_EQ(closed({"compact", "-c", id, "--undo"}).code, 0);
  EXPECT_NE(closed({"compact", "-c", id, "--undo"}).code, 0) << "there is nothing left to undo";
}

TEST_P(ClosedDescriptors, ARunIsSavedWhole) {
  EXPECT_EQ(closed(scripted("hello")).code, expected());
  EXPECT_EQ(program_.record_types(program_.newest()),
            "genesis run_begin settings user_message assistant_message run_end");
  EXPECT_EQ(program_.run({"run", "--no-hooks", "--script", script_, "--follow", "more"}).code, 0);
}

INSTANTIATE_TEST_SUITE_P(AllCombinations, ClosedDescriptors, ::testing::Range(0u, 8u));

// ---- a reader that leaves

class ReaderOfOutput : public ::testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    read_ = UniqueFd(ends[0]);
    write_ = UniqueFd(ends[1]);
  }
  // Three turns, each with a command that leaves a line behind.
  std::vector<std::string> words(std::vector<std::string> more) {
    const std::string call = "    - name: bash\n      input: {command: \"echo ran >> " + effects() + "\"}\n";
    const std::string turn = "- delay_ms: 400\n  text: and\n  calls:\n" + call;
    std::vector<std::string> out{"run",      "--no-hooks",
                                 "--allow",  "bash",
                                 "--script", program_.script(turn + turn + turn + "- text: done\n"),
                                 "--set",    "scripted.record=" + record()};
    out.insert(out.end(), more.begin(), more.end());
    out.emplace_back("go");
    return out;
  }
  std::string effects() const { return program_.project() + "/effects"; }
  std::string record() const { return program_.directory().file("record"); }
  static std::size_t lines_of(const std::string& path) {
    const std::string text = read_file(path, 16u << 20).value_or("");
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  Finished start_and(const std::vector<std::string>& words, const std::function<void()>& meanwhile) {
    program_.set_output(write_.get());
    Running running = program_.start(words);
    write_.reset();
    meanwhile();
    return running.wait();
  }
  void expect_left(const Finished& ended) {
    EXPECT_EQ(ended.code, 128 + SIGPIPE);
    EXPECT_NE(ended.err.find("the reader of standard output has exited"), std::string::npos) << ended.err;
  }

  Program program_;
  UniqueFd read_, write_;
};

TEST_F(ReaderOfOutput, WhoStaysGetsEverything) {
  std::string text;
  const Finished ended = start_and(words({"--json"}), [&] {
    char buffer[4096];
    for (ssize_t got = 1; (got = ::read(read_.get(), buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<std::size_t>(got));
  });
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(lines_of(effects()), 3u);
  EXPECT_NE(text.find("\"run_ended\""), std::string::npos);
}

TEST_F(ReaderOfOutput, WhoLeavesAfterTheFirstLineOfJsonEndsTheRun) {
  const Finished ended = start_and(words({"--json"}), [&] {
    char byte = 0;
    while (::read(read_.get(), &byte, 1) == 1 && byte != '\n') continue;
    read_.reset();
  });
  expect_left(ended);
  EXPECT_EQ(lines_of(effects()), 0u);
  EXPECT_LE(lines_of(record()), 1u);
}

TEST_F(ReaderOfOutput, WhoLeavesBeforeTheAnswerIsPrintedEndsTheRun) {
  // Nothing is written before the first answer: that the reader is gone is seen before the command.
  for (const char* style : {"--no-save", "--result-only"}) {
    SetUp();
    const Finished ended = start_and(words({style}), [&] { read_.reset(); });
    expect_left(ended);
    EXPECT_EQ(lines_of(effects()), 0u) << style;
  }
}

TEST_F(ReaderOfOutput, WhoDoesNotReadThatADeletionIsDoneMakesItNoFailure) {
  const std::string script = program_.script("- text: one\n");
  ASSERT_EQ(program_.run({"run", "--no-hooks", "--script", script, "first"}).code, 0);
  const Finished ended = start_and({"conversation", "delete", "--yes", program_.newest()}, [&] { read_.reset(); });
  EXPECT_EQ(ended.code, 0) << ended.err;
  program_.set_output(-1);
  EXPECT_EQ(program_.newest(), "");
}

TEST_F(ReaderOfOutput, AFullDiskLosesAnAnswerAndNoDeletion) {
  const std::string script = program_.script("- text: one\n");
  ASSERT_EQ(program_.run({"run", "--no-hooks", "--script", script, "first"}).code, 0);
  const std::string id = program_.newest();
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  program_.set_output(full.get());
  EXPECT_EQ(program_.run({"conversation", "show", id}).code, 1);
  const Finished ended = program_.run({"conversation", "delete", "--yes", id});
  EXPECT_EQ(ended.code, 0);
  EXPECT_NE(ended.err.find("warning: the output could not be written: No space left on device"), std::string::npos)
      << ended.err;
}

TEST_F(ReaderOfOutput, WhoLeavesAChatEndsIt) {
  program_.set_output(write_.get());
  const std::string script = program_.script("- text: one\n- text: two\n- text: three\n");
  Running running = program_.start({"chat", "--no-hooks", "--script", script, "--set", "scripted.record=" + record()},
                                   "first\nsecond\nthird\n");
  write_.reset();
  read_.reset();
  expect_left(running.wait());
  EXPECT_LE(lines_of(record()), 1u);
}

}  // namespace
}  // namespace agentd::testing
