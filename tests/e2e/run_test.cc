// SPDX-License-Identifier: Apache-2.0
// Runs with the scripted provider on a store on disk.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

class RunTest : public ::testing::Test {
 protected:
  std::vector<std::string> scripted(std::vector<std::string> words, const std::string& yaml) {
    words.push_back("--script");
    words.push_back(program_.script(yaml));
    return words;
  }
  Program program_;
};

TEST_F(RunTest, PrintsTheAnswerOnStandardOutputAndTheRestBeside) {
  const Finished ran = program_.run(scripted({"run", "hello"}, "- text: Good day.\n"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "Good day.\n");
  EXPECT_NE(ran.err.find("conversation " + program_.newest()), std::string::npos) << ran.err;
}

TEST_F(RunTest, ResultOnlyPrintsTheFinalAnswerAlone) {
  program_.file("a.txt", "alpha\n");
  const Finished ran = program_.run(scripted({"run", "--result-only", "hello"},
                                             "- text: I look.\n  calls: [{name: read_file, input: {path: a.txt}}]\n"
                                             "- text: It says alpha.\n"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "It says alpha.\n");
  EXPECT_EQ(ran.err, "");
}

TEST_F(RunTest, FollowPassesOverAConversationWhoseMessageWasBlocked) {
  ASSERT_EQ(program_.run(scripted({"run", "first"}, "- text: one\n")).code, 0);
  const std::string first = program_.newest();
  program_.drop_hook(AGENTD_REFUSE_HOOK);
  const int blocked = program_.run(scripted({"run", "a forbidden word"}, "- text: two\n")).code;
  EXPECT_EQ(blocked, 3);
  std::filesystem::remove_all(program_.home() + "/hooks");
  const Finished ran = program_.run(scripted({"run", "--follow", "third"}, "- text: three\n"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("conversation " + first), std::string::npos) << ran.err;
}

// The project is the user's own home directory.
TEST_F(RunTest, FileToolsReadAgentdsOwnHomeAndDoNotChangeIt) {
  const std::string config = "permissions: {deny: [bash], allow: [write_file, edit_file]}\n";
  program_.set_home(program_.project() + "/.agent");
  program_.set("HOME=" + program_.project());
  program_.set("AGENTD_HOME=");
  program_.config(config);
  ASSERT_TRUE(make_directories(program_.home() + "/hooks"));
  std::filesystem::create_directory_symlink(".agent", program_.project() + "/alias");
  const Finished ran = program_.run(
      scripted({"run", "change the rules"},
               "- calls:\n"
               "  - {name: read_file, input: {path: .agent/config.yaml}}\n"
               "  - {name: write_file, input: {path: .agent/config.yaml, content: 'permissions: {mode: allow}'}}\n"
               "  - {name: edit_file, input: {path: .agent/config.yaml, old_string: bash, new_string: grep}}\n"
               "  - {name: write_file, input: {path: .agent/hooks/evil.yaml, content: 'x'}}\n"
               "  - {name: write_file, input: {path: alias/hooks/evil.yaml, content: 'x'}}\n"
               "  - {name: write_file, input: {path: /proc/self/cwd/.agent/hooks/evil.yaml, content: 'x'}}\n"
               "  - {name: write_file, input: {path: notes.txt, content: 'mine'}}\n"
               "- text: done\n  expect: {contains: ['deny: [bash]', belongs to agentd itself]}\n"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(*read_file(program_.home() + "/config.yaml", 1000), config);
  EXPECT_TRUE(std::filesystem::is_empty(program_.home() + "/hooks"));
  EXPECT_EQ(*read_file(program_.project() + "/notes.txt", 100), "mine");
}

TEST_F(RunTest, FileToolsDoNotChangeTheProjectsOwnHooks) {
  const Finished ran =
      program_.run(scripted({"run", "--allow", "write_file", "plant a hook"},
                            "- calls: [{name: write_file, input: {path: .agent/hooks/evil.yaml, content: 'x'}}]\n"
                            "- text: done\n  expect: {contains: [belongs to agentd itself]}\n"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(std::filesystem::exists(program_.project() + "/.agent"));
}

TEST_F(RunTest, FileToolsDoNotChangeARepositoryOfAnotherName) {
  ASSERT_TRUE(make_directories(program_.project() + "/apart"));
  program_.file(".git", "gitdir: apart\n");
  program_.file("apart/config", "[core]\n");
  const Finished ran = program_.run(scripted({"run", "--allow", "write_file", "plant a hook"},
                                             "- calls:\n"
                                             "  - {name: write_file, input: {path: apart/hooks/x, content: 'x'}}\n"
                                             "  - {name: write_file, input: {path: apart/config, content: 'x'}}\n"
                                             "  - {name: write_file, input: {path: apart/fine, content: 'made'}}\n"
                                             "- text: done\n"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(std::filesystem::exists(program_.project() + "/apart/hooks"));
  EXPECT_EQ(*read_file(program_.project() + "/apart/config", 100), "[core]\n");
  EXPECT_EQ(*read_file(program_.project() + "/apart/fine", 100), "made");
}

TEST_F(RunTest, FileToolsDoNotChangeWhatGitRuns) {
  ASSERT_TRUE(make_directories(program_.project() + "/.git"));
  program_.file(".git/config", "[core]\n");
  const Finished ran =
      program_.run(scripted({"run", "--allow", "write_file", "plant a hook"},
                            "- calls:\n"
                            "  - {name: write_file, input: {path: .git/hooks/pre-commit, content: 'x'}}\n"
                            "  - {name: write_file, input: {path: .git/config, content: 'x'}}\n"
                            "  - {name: write_file, input: {path: .git/info/exclude, content: 'made'}}\n"
                            "- text: done\n  expect: {contains: [decides which programs Git runs]}\n"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(std::filesystem::exists(program_.project() + "/.git/hooks"));
  EXPECT_EQ(*read_file(program_.project() + "/.git/config", 100), "[core]\n");
  EXPECT_EQ(*read_file(program_.project() + "/.git/info/exclude", 100), "made");
}

TEST_F(RunTest, ToolsReallyRun) {
  program_.file("a.txt", "alpha beta\n");
  const std::string record = program_.directory().file("requests");
  const Finished ran =
      program_.run(scripted({"run", "--allow", "bash", "--set", "scripted.record=" + record, "look"},
                            "- calls:\n  - {name: read_file, input: {path: a.txt}}\n"
                            "  - {name: bash, input: {command: 'echo $((6*7)) > made.txt; cat made.txt'}}\n"
                            "- text: done\n  expect: {contains: [alpha beta, '42']}\n"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "done\n");
  EXPECT_NE(ran.err.find("• bash echo $((6*7))"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("• read_file a.txt"), std::string::npos) << ran.err;
}

TEST_F(RunTest, AToolThatNobodyAllowedIsDeniedAndTheModelIsTold) {
  const Finished ran = program_.run(scripted({"run", "look"},
                                             "- calls: [{name: bash, input: {command: 'touch made.txt'}}]\n"
                                             "- text: a pity\n  expect: {contains: --allow bash}\n"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("denied"), std::string::npos) << ran.err;
  EXPECT_EQ(program_.run({"conversation", "list"}).code, 0);
}

TEST_F(RunTest, ADenyRuleBeatsTheFlag) {
  program_.config("permissions: {deny: [bash]}\n");
  const Finished ran = program_.run(scripted({"run", "--allow", "*", "look"},
                                             "- calls: [{name: bash, input: {command: 'echo reached'}}]\n"
                                             "- text: ok\n  expect: {not_contains: reached\\n}\n"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("denied"), std::string::npos) << ran.err;
}

TEST_F(RunTest, FollowGoesOnWithTheNewestConversationOfTheProject) {
  ASSERT_EQ(program_.run(scripted({"run", "first question"}, "- text: first answer\n")).code, 0);
  const std::string id = program_.newest();
  const Finished ran = program_.run(scripted({"run", "--follow", "second"},
                                             "- text: second answer\n"
                                             "  expect: {contains: [first question, first answer]}\n"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(program_.newest(), id);
}

TEST_F(RunTest, FollowWithoutAConversationExitsFour) {
  const Finished ran = program_.run(scripted({"run", "-f", "x"}, "- text: no\n"));
  EXPECT_EQ(ran.code, 4);
  EXPECT_NE(ran.err.find("no conversation to follow"), std::string::npos) << ran.err;
  EXPECT_EQ(ran.out, "");
}

TEST_F(RunTest, ResumeTakesABeginningOfTheIdInEitherCase) {
  ASSERT_EQ(program_.run(scripted({"run", "one"}, "- text: a\n")).code, 0);
  std::string id = program_.newest();
  for (char& c : id) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto again = scripted({"run", "two"}, "- text: b\n  expect: {contains: one}\n");
  auto words = again;
  words.insert(words.end(), {"--resume", id});
  EXPECT_EQ(program_.run(words).code, 0);
  words = again;
  words.insert(words.end(), {"--resume", id.substr(0, 12)});
  EXPECT_EQ(program_.run(words).code, 0);
}

TEST_F(RunTest, AMessageSentAgainWithItsKeyRunsNothing) {
  ASSERT_EQ(program_.run(scripted({"run", "one"}, "- text: a\n")).code, 0);
  const std::string id = program_.newest();
  const auto send = [&](const std::string& key, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"run", "two", "--resume", id, "--key", key};
    words.insert(words.end(), more.begin(), more.end());
    return program_.run(scripted(std::move(words), "- text: b\n"));
  };
  ASSERT_EQ(send("job-7").out, "b\n");
  const std::string records = program_.record_types(id);
  const Finished again = send("job-7");
  EXPECT_EQ(again.code, 3);
  EXPECT_EQ(again.out, "");
  EXPECT_TRUE(has(again.err, "the message with the key 'job-7' is record ")) << again.err;
  EXPECT_TRUE(has(again.err, " of conversation " + id + " already, and nothing was run again")) << again.err;
  EXPECT_TRUE(has(again.err, "its run has ended (stop)")) << again.err;
  const Finished json = send("job-7", {"--json"});
  EXPECT_EQ(json.code, 3);
  auto lines = json_lines(json.out);
  std::erase_if(lines, [](const JsonDocument& line) { return line.root()["type"].string_or("") == "hook_answer"; });
  ASSERT_EQ(lines.size(), 1u) << json.out;
  EXPECT_EQ(lines[0].root()["type"].string_or(""), "user_message");
  EXPECT_EQ(lines[0].root()["key"].string_or(""), "job-7");
  EXPECT_TRUE(lines[0].root()["repeated"].bool_or(false));
  EXPECT_EQ(program_.record_types(id), records);
  // A control: another key.
  EXPECT_EQ(send("job-8").code, 0);
  EXPECT_NE(program_.record_types(id), records);
}

TEST_F(RunTest, AMessageWhoseRunWasKilledIsNotRunAgain) {
  ASSERT_EQ(program_.run(scripted({"run", "one"}, "- text: a\n")).code, 0);
  const std::string id = program_.newest();
  const std::vector<std::string> words{"run", "two", "--resume", id, "--key", "job-7", "--json"};
  Running running = program_.start(scripted(words, "- text: b\n  delay_ms: 60000\n"));
  // The message is stored.
  ASSERT_TRUE(running.wait_for_out("\"type\":\"turn_started\""));
  running.signal(SIGKILL);
  EXPECT_EQ(running.wait().code, 128 + SIGKILL);
  const Finished again = program_.run(scripted(words, "- text: b\n"));
  EXPECT_EQ(again.code, 3);
  EXPECT_TRUE(has(again.err, "its run was interrupted; send another message to continue")) << again.err;
  EXPECT_TRUE(has(again.out, "\"repeated\":true")) << again.out;
  EXPECT_EQ(program_.run(scripted({"run", "go on", "--resume", id, "--key", "job-8"}, "- text: c\n")).code, 0);
}

TEST_F(RunTest, AKeyNeedsAConversationAndIsShortText) {
  const auto refused = [&](std::vector<std::string> words) {
    const Finished ran = program_.run(scripted(std::move(words), "- text: no\n"));
    EXPECT_EQ(ran.code, 2) << ran.err;
    return ran.err;
  };
  EXPECT_TRUE(has(refused({"run", "x", "--key", "k"}), "name that with --resume ID"));
  EXPECT_TRUE(has(refused({"run", "x", "--key", "k", "--follow"}), "name that with --resume ID"));
  EXPECT_TRUE(has(refused({"run", "x", "--resume", "01ARZ", "--key", ""}), "--key is empty"));
  EXPECT_TRUE(has(refused({"run", "x", "--resume", "01ARZ", "--key", std::string(129, 'k')}), "use at most 128"));
  EXPECT_TRUE(has(refused({"run", "x", "--resume", "01ARZ", "--key", "a\nb"}), "without control characters"));
  EXPECT_TRUE(has(refused({"run", "--input-format", "stream-json", "--resume", "01ARZ", "--key", "k"}), "omit QUERY"));
}

TEST_F(RunTest, ResumeOfWhatIsNotThereExitsFour) {
  for (const char* id : {"01ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ", "x"}) {
    const Finished ran = program_.run(scripted({"run", "--resume", id, "x"}, "- text: no\n"));
    EXPECT_EQ(ran.code, 4) << id << ran.err;
    EXPECT_EQ(ran.err.substr(0, 8), "agentd: ") << ran.err;
  }
  EXPECT_EQ(program_.newest(), "");
}

TEST_F(RunTest, AnAmbiguousBeginningIsRefused) {
  ASSERT_EQ(program_.run(scripted({"run", "one"}, "- text: a\n")).code, 0);
  ASSERT_EQ(program_.run(scripted({"run", "two"}, "- text: a\n")).code, 0);
  const Finished ran = program_.run(scripted({"run", "--resume", program_.newest().substr(0, 4), "x"}, "- text: no\n"));
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("more than one"), std::string::npos) << ran.err;
}

TEST_F(RunTest, TheMessageMayComeFromStandardInput) {
  const std::string yaml = "- text: read\n  expect: {contains: from the pipe}\n";
  EXPECT_EQ(program_.run(scripted({"run", "-"}, yaml), "from the pipe\n").code, 0);
  EXPECT_EQ(program_.run(scripted({"run"}, yaml), "from the pipe\n").code, 0);
}

TEST_F(RunTest, AnEmptyMessageIsAUsageError) {
  const Finished ran = program_.run(scripted({"run"}, "- text: no\n"), " \n");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err,
            "agentd: the message is empty: write it after the command, as in agentd run \"...\", or pipe it in\n");
}

TEST_F(RunTest, JsonLinesParseAndTellTheRun) {
  const Finished ran =
      program_.run(scripted({"run", "--json", "--allow", "bash", "hello"},
                            "- text: |-\n    two\n    lines\n  calls: [{name: bash, input: {command: echo hi}}]\n"
                            "- text: done\n"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  std::vector<std::string> types;
  std::string text;
  for (const JsonDocument& line : json_lines(ran.out)) {
    const std::string type(line.root()["type"].string_or(""));
    if (type != "hook_answer") types.push_back(type);  // hooks are asked until the session ends
    if (type == "text_delta") text += line.root()["text"].string_or("");
  }
  ASSERT_FALSE(types.empty());
  EXPECT_NE(std::find(types.begin(), types.end(), "tool_call"), types.end());
  EXPECT_NE(std::find(types.begin(), types.end(), "tool_result"), types.end());
  EXPECT_EQ(types.back(), "run_ended");
  EXPECT_EQ(text, "two\nlinesdone");
}

TEST_F(RunTest, NoSaveLeavesNothing) {
  EXPECT_EQ(program_.run(scripted({"run", "--no-save", "x"}, "- text: a\n")).code, 0);
  EXPECT_EQ(program_.run({"conversation", "list", "--all"}).out, "no conversations\n");
}

TEST_F(RunTest, NoToolsOffersNone) {
  const std::string record = program_.directory().file("requests");
  ASSERT_EQ(
      program_.run(scripted({"run", "--no-tools", "--set", "scripted.record=" + record, "x"}, "- text: a\n")).code, 0);
  const auto lines = json_lines(program_.directory().read("requests"));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].root()["tools"].size(), 0u);
}

TEST_F(RunTest, NoHooksAsksNoHookButKeepsTheTools) {
  program_.drop_hook(AGENTD_REFUSE_HOOK);
  const std::string record = program_.directory().file("requests");
  EXPECT_EQ(program_.run(scripted({"run", "forbidden"}, "- text: a\n")).code, 3);
  const Finished ran =
      program_.run(scripted({"run", "--no-hooks", "--set", "scripted.record=" + record, "forbidden"}, "- text: a\n"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto lines = json_lines(program_.directory().read("requests"));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_GT(lines[0].root()["tools"].size(), 0u);
}

TEST_F(RunTest, AHooksBlockExitsThreeWithItsReason) {
  program_.drop_hook(AGENTD_REFUSE_HOOK);
  const Finished ran = program_.run(scripted({"run", "a forbidden word"}, "- text: a\n"));
  EXPECT_EQ(ran.code, 3);
  EXPECT_NE(ran.err.find("that word is forbidden"), std::string::npos) << ran.err;
}

TEST_F(RunTest, TraceHooksShowsAnswersWithTheirTime) {
  program_.drop_hook(AGENTD_REFUSE_HOOK);
  const Finished ran = program_.run(scripted({"run", "--trace-hooks", "a forbidden word"}, "- text: a\n"));
  EXPECT_NE(ran.err.find("hook refuse · user_message_send · block"), std::string::npos) << ran.err;
  EXPECT_TRUE(ran.err.find("µs") != std::string::npos || ran.err.find(" ms") != std::string::npos);
}

TEST_F(RunTest, MaxTurnsStopsTheRun) {
  const Finished ran = program_.run(
      scripted({"run", "--max-turns", "1", "x"}, "- calls: [{name: glob, input: {pattern: '*'}}]\n- text: never\n"));
  EXPECT_EQ(ran.out.find("never"), std::string::npos);
  EXPECT_NE(ran.err.find("turn limit"), std::string::npos) << ran.err;
  EXPECT_EQ(program_.run(scripted({"run", "--max-turns", "none", "x"}, "- text: a\n")).code, 2);
}

TEST_F(RunTest, InstructionsOfTheProjectAreSentAlong) {
  program_.file("AGENTS.md", "always say please");
  EXPECT_EQ(program_.run(scripted({"run", "x"}, "- text: a\n  expect: {contains: always say please}\n")).code, 0);
  EXPECT_EQ(program_
                .run(scripted({"run", "--set", "instructions=false", "x"},
                              "- text: a\n  expect: {not_contains: always say please}\n"))
                .code,
            0);
}

TEST_F(RunTest, AnInterruptKeepsWhatWasSaid) {
  Running running =
      program_.start(scripted({"run", "--allow", "bash", "wait"},
                              "- text: I wait now.\n  calls: [{name: bash, input: {command: sleep 600}}]\n"
                              "- text: never\n"));
  ASSERT_TRUE(running.wait_for_err("• bash"));
  running.signal(SIGINT);
  const Finished ran = running.wait();
  EXPECT_EQ(ran.code, 130) << ran.err;
  EXPECT_EQ(ran.out, "I wait now.\n");
  const std::string id = program_.newest();
  EXPECT_NE(program_.record_types(id).find("user_message"), std::string::npos);
  EXPECT_EQ(program_.run(scripted({"run", "--follow", "go on"}, "- text: b\n  expect: {contains: I wait now}\n")).code,
            0);
}

TEST_F(RunTest, ASecondRunOnTheSameConversationExits75AndNamesTheProcess) {
  ASSERT_EQ(program_.run(scripted({"run", "one"}, "- text: a\n")).code, 0);
  Running running = program_.start(scripted({"run", "--follow", "--allow", "bash", "wait"},
                                            "- calls: [{name: bash, input: {command: sleep 600}}]\n"));
  ASSERT_TRUE(running.wait_for_err("• bash"));
  const Finished second = program_.run(scripted({"run", "--follow", "x"}, "- text: no\n"));
  EXPECT_EQ(second.code, 75) << second.err;
  EXPECT_NE(second.err.find(std::to_string(running.pid())), std::string::npos) << second.err;
  running.signal(SIGINT);
  EXPECT_EQ(running.wait().code, 130);
}

TEST(Run, FollowSaysThatTheNewestConversationHasNoAnswer) {
  Program program;
  const std::string good = program.script("- text: a\n");
  ASSERT_EQ(program.run({"run", "the good one", "--script", good}).code, 0);
  const std::string answered = program.newest();
  ASSERT_EQ(
      program.run({"run", "the bad one", "--script", program.script("- error: {kind: auth, message: no key}\n")}).code,
      5);
  const std::string failed = program.newest();
  ASSERT_NE(failed, answered);
  const Finished again = program.run({"run", "--follow", "go on", "--script", program.script("- text: b\n")});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(program.newest(), failed);
  EXPECT_TRUE(has(again.err, "--follow continues " + failed +
                                 " \"the bad one\", which has no answer yet; the "
                                 "newest with one is \"the good one\": --resume " +
                                 answered))
      << again.err;
  // Now it has one.
  const Finished third = program.run({"run", "--follow", "go on", "--script", good});
  EXPECT_FALSE(has(third.err, "no answer")) << third.err;
}

TEST(Run, AForksUsageIsItsOwnAndWhatItInheritedIsApart) {
  Program program;
  const std::string script = program.script("- {text: a, usage: {input: 100, output: 10}}\n");
  ASSERT_EQ(program.run({"run", "one", "--script", script}).code, 0);
  ASSERT_EQ(program.run({"conversation", "fork", program.newest()}).code, 0);
  ASSERT_EQ(program.run({"run", "--follow", "two", "--script", script}).code, 0);
  std::uint64_t sum = 0;
  for (const JsonDocument& each : json_lines(program.run({"conversation", "list", "--json"}).out)) {
    EXPECT_EQ(each.root()["usage"]["input"].uint_or(0), 100u);
    EXPECT_EQ(each.root()["inherited_usage"]["input"].uint_or(0), each.root()["parent"].exists() ? 100u : 0u);
    sum += each.root()["usage"]["output"].uint_or(0);
  }
  EXPECT_EQ(sum, 20u);
  const Finished check = program.run({"store", "check"});
  EXPECT_EQ(check.code, 0) << check.out << check.err;
}

}  // namespace
}  // namespace agentd::testing
