// SPDX-License-Identifier: Apache-2.0
// approve_test.cc - a tool call that waits: asked in one process, answered in another.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "tests/e2e/program.h"
#include "tests/unit/scrub/canaries.h"

namespace agentd::testing {
namespace {

constexpr const char* kDefers =
    "on: before_tool_call\nwhen: tool.input.command matches 'made'\ndo: {permission: defer, reason: ask the owner}\n";

std::string bash_call(const std::string& command) {
  return "- calls: [{name: bash, input: {command: '" + command + "'}}]\n";
}

class Approve : public ::testing::Test {
 protected:
  Approve() { program_.set("TERM=dumb"); }
  bool made() const { return exists(program_.project() + "/made.txt"); }

  void hook(const std::string& yaml) {
    ASSERT_TRUE(make_directories(program_.home() + "/hooks"));
    ASSERT_EQ(::chmod(program_.home().c_str(), 0700), 0);
    ASSERT_TRUE(write_file_atomically(program_.home() + "/hooks/g.yaml", yaml, 0600));
    program_.run({"hooks", "trust", "g", "-y"});
  }
  // The id of the only wait, after a run without a terminal.
  std::string waiting_call() {
    const Finished ran = program_.run({"run", "build it", "--script", program_.script(bash_call("touch made.txt"))});
    EXPECT_EQ(ran.code, 12) << ran.err;
    EXPECT_TRUE(has(ran.err, "bash waits for your answer")) << ran.err;
    EXPECT_FALSE(made());
    const std::string id = only_wait();
    EXPECT_TRUE(has(ran.err, "agentd approve " + id)) << ran.err;
    const Finished shown = program_.run({"conversation", "show", program_.newest()});
    EXPECT_TRUE(has(shown.out, "a tool call waits for an answer")) << shown.out;
    return id;
  }
  std::string only_wait() {
    const Finished list = program_.run({"approve", "--list", "--json"});
    EXPECT_EQ(list.code, 0) << list.err;
    const auto lines = json_lines(list.out);
    if (lines.size() != 1) return "(" + std::to_string(lines.size()) + " waits)";
    EXPECT_EQ(lines[0].root()["input"]["command"].string_or(""), "touch made.txt");
    return std::string(lines[0].root()["wait_id"].string_or(""));
  }
  std::string done() { return program_.directory().write("done.yaml", "- text: it is done\n"); }

  Program program_;
};

TEST_F(Approve, AYesInALaterProcessRunsTheCallAndGoesOn) {
  hook(kDefers);
  const std::string id = waiting_call();
  const Finished yes =
      program_.on_terminal({"approve", id, "--script", done()}, {{"Allow?", "y\n"}, {"it is done", ""}});
  EXPECT_EQ(yes.code, 0) << yes.out;
  EXPECT_TRUE(has(yes.out, "touch made.txt")) << yes.out;
  EXPECT_FALSE(has(yes.out, "[a]lways")) << yes.out;
  EXPECT_TRUE(made());
  const std::string kinds = program_.record_types(program_.newest());
  EXPECT_TRUE(has(kinds, "assistant_message wait run_end answer run_begin")) << kinds;
  EXPECT_TRUE(has(kinds, "tool_intent tool_result assistant_message run_end")) << kinds;
  const Finished again = program_.on_terminal({"approve", id}, {});
  EXPECT_EQ(again.code, 3) << again.out;
  EXPECT_TRUE(has(again.out, id + " was answered at ")) << again.out;
  EXPECT_TRUE(has(program_.run({"approve", "--list"}).out, "nothing waits"));
}

TEST_F(Approve, ANoGivesItsReasonToTheModel) {
  hook(kDefers);
  const std::string id = waiting_call();
  const Finished no = program_.on_terminal({"approve", id, "--deny", "--reason", "use a branch", "--script", done()},
                                           {{"it is done", ""}});
  EXPECT_EQ(no.code, 0) << no.out;
  EXPECT_FALSE(made());
  const Finished shown = program_.run({"conversation", "show", program_.newest(), "--format", "json"});
  EXPECT_TRUE(has(shown.out, "not permitted: the user said no: use a branch")) << shown.out;
}

TEST_F(Approve, AReasonIsATextOfTheUser) {
  program_.config("secrets: {scrub_input: true}\n");
  hook(kDefers);
  const std::string id = waiting_call(), token = Canaries(17).make("ghp_{a36}").secret;
  const Finished no = program_.on_terminal({"approve", id, "--deny", "--no-run", "--reason", "use " + token}, {});
  EXPECT_EQ(no.code, 0) << no.out;
  const Finished dump = program_.run({"conversation", "show", program_.newest(), "--log"});
  EXPECT_TRUE(has(dump.out, "use [secret:github-token:")) << dump.out;
  EXPECT_FALSE(has(dump.out, token)) << dump.out;
}

TEST_F(Approve, TheFirstAnswerCountsAndTheSecondIsTold) {
  hook(kDefers);
  const std::string id = waiting_call();
  const Finished first = program_.on_terminal({"approve", id, "--no-run"}, {{"Allow?", "n not today\n"}});
  EXPECT_EQ(first.code, 0) << first.out;
  const Finished second = program_.on_terminal({"approve", id}, {});
  EXPECT_EQ(second.code, 3) << second.out;
  EXPECT_TRUE(has(second.out, id + " was answered at ")) << second.out;
  EXPECT_TRUE(has(second.out, "not today")) << second.out;
  // The same answer continues the run.
  const Finished third = program_.on_terminal({"approve", id, "--deny", "--script", done()}, {{"it is done", ""}});
  EXPECT_EQ(third.code, 0) << third.out;
  EXPECT_FALSE(made());
}

TEST_F(Approve, AnAnswerOutlivesTheProcessThatGaveIt) {
  hook(kDefers);
  const std::string id = waiting_call();
  ASSERT_EQ(program_.on_terminal({"approve", id, "--no-run"}, {{"Allow?", "y\n"}}).code, 0);
  EXPECT_FALSE(made());
  // The next message goes on with it.
  const Finished next = program_.run({"run", "--follow", "and now?", "--script", done()});
  EXPECT_EQ(next.code, 0) << next.err;
  EXPECT_TRUE(made());
}

TEST_F(Approve, WhatKeepsTheRunFromGoingOnIsFoundBeforeTheQuestion) {
  hook(kDefers);
  const std::string id = waiting_call();
  const Finished none = program_.on_terminal({"approve", id, "--script", "/nowhere.yaml"}, {});
  EXPECT_NE(none.code, 0) << none.out;
  EXPECT_FALSE(has(none.out, "Allow?")) << none.out;
  EXPECT_EQ(only_wait(), id);
  const Finished gone = program_.on_terminal({"approve", id, "--script", done()}, {{"Allow?", "\x04"}});
  EXPECT_TRUE(has(gone.out, id + " still waits")) << gone.out;
  EXPECT_EQ(only_wait(), id);
}

TEST_F(Approve, AProgramCannotAnswer) {
  hook(kDefers);
  const std::string id = waiting_call();
  const Finished alone = program_.run({"approve", id});
  EXPECT_EQ(alone.code, 2) << alone.err;
  EXPECT_TRUE(has(alone.err, "this process has none")) << alone.err;
  // Not even a command of a tool, in a run that has a terminal; and without a sandbox, in which there is no agentd.
  program_.set("AGENTD_SANDBOX_LAYER=off");
  const std::string approve = "AGENTD_HOME=" + program_.home() + " " + AGENTD_BINARY + " approve " + id;
  const std::string inside = approve + " --deny > said.txt 2>&1; " + approve + " >> said.txt 2>&1 < /dev/null; true";
  const Finished ran = program_.on_terminal(
      {"run", "x", "--allow", "bash", "--script", program_.script(bash_call(inside) + "- text: tried\n")},
      {{"tried", ""}});
  EXPECT_EQ(ran.code, 0) << ran.out;
  const auto said = read_file(program_.project() + "/said.txt", 10'000);
  ASSERT_TRUE(said);
  EXPECT_TRUE(has(*said, "this process has none")) << *said;
  EXPECT_EQ(only_wait(), id);
  EXPECT_FALSE(made());
}

TEST_F(Approve, AHookThatHasChangedSinceIsAskedAnew) {
  hook(kDefers);
  const std::string id = waiting_call();
  ASSERT_EQ(program_.on_terminal({"approve", id, "--no-run"}, {{"Allow?", "y\n"}}).code, 0);
  hook(std::string(kDefers) + "# another version\n");
  const Finished next = program_.run({"run", "--follow", "and now?", "--script", done()});
  EXPECT_EQ(next.code, 3) << next.err;
  EXPECT_TRUE(has(next.err, "does not count, since the hook g has changed")) << next.err;
  EXPECT_FALSE(made());
  const std::string anew = only_wait();
  EXPECT_NE(anew, id);
  const Finished yes =
      program_.on_terminal({"approve", anew, "--script", done()}, {{"Allow?", "y\n"}, {"it is done", ""}});
  EXPECT_EQ(yes.code, 0) << yes.out;
  EXPECT_TRUE(made());
}

TEST_F(Approve, ANewMessageDeniesTheCall) {
  hook(kDefers);
  const std::string id = waiting_call();
  const Finished next = program_.run({"run", "--follow", "never mind", "--script", done()});
  EXPECT_EQ(next.code, 0) << next.err;
  const Finished late = program_.on_terminal({"approve", id}, {});
  EXPECT_EQ(late.code, 3) << late.out;
  EXPECT_TRUE(has(late.out, "superseded")) << late.out;
  EXPECT_FALSE(made());
}

TEST_F(Approve, WithoutAHookTheSettingsDecideWhetherAQuestionWaits) {
  const std::string script = program_.script(bash_call("touch made.txt") + "- text: refused\n");
  EXPECT_EQ(program_.run({"run", "x", "--script", script}).code, 0);
  EXPECT_FALSE(made());
  const Finished ran = program_.run({"run", "x", "--set", "permissions.unanswered=wait", "--script", script, "--json"});
  EXPECT_EQ(ran.code, 12) << ran.err;
  bool told = false;
  for (const JsonDocument& line : json_lines(ran.out))
    if (line.root()["type"].string_or("") == "waiting") {
      told = true;
      EXPECT_EQ(line.root()["name"].string_or(""), "bash");
      EXPECT_FALSE(line.root()["hook"].exists());
    }
  EXPECT_TRUE(told) << ran.out;
  // The answer goes on in the directory of the run, from wherever it is given.
  const std::string id = only_wait(), project = program_.project();
  ASSERT_TRUE(make_directories(program_.directory().file("elsewhere")));
  program_.set_project(program_.directory().file("elsewhere"));
  const Finished yes =
      program_.on_terminal({"approve", id, "--script", done()}, {{"Allow?", "y\n"}, {"it is done", ""}});
  EXPECT_EQ(yes.code, 0) << yes.out;
  EXPECT_FALSE(made());
  EXPECT_TRUE(exists(project + "/made.txt"));
}

// The settings of the run's command line hold for the rest of it; the control is the same run without them.
TEST_F(Approve, TheOptionsOfTheRunHoldForTheRestOfIt) {
  const std::string first = program_.script(bash_call("touch made.txt"));
  const std::string rest =
      program_.directory().write("rest.yaml",
                                 "- calls: [{name: write_file, input: {path: b.txt, content: b}}]\n"
                                 "- text: it is done\n");
  for (const bool denied : {true, false}) {
    std::vector<std::string> words{"run", "x", "--script", first, "--set", "permissions.unanswered=wait"};
    if (denied)
      words.insert(words.end(), {"--set", "permissions.deny=write_file"});
    else
      words.insert(words.end(), {"--allow", "write_file"});
    words.insert(words.end(), {"--set", "providers.openai.base_url=https://u:hush@host.example/v1"});
    ASSERT_EQ(program_.run(words).code, 12);
    const Finished log = program_.run({"conversation", "show", program_.newest(), "--log"});
    EXPECT_TRUE(has(log.out, "permissions.unanswered=wait")) << log.out;
    EXPECT_FALSE(has(log.out, "hush")) << log.out;
    const Finished yes =
        program_.on_terminal({"approve", only_wait(), "--script", rest}, {{"Allow?", "y\n"}, {"it is done", ""}});
    EXPECT_EQ(yes.code, 0) << yes.out;
    EXPECT_EQ(exists(program_.project() + "/b.txt"), !denied) << yes.out;
  }
}

TEST_F(Approve, ARecipeHoldsForTheRestOfItsRunAndAChangedOneIsAskedAbout) {
  ASSERT_TRUE(make_directories(program_.home() + "/recipes"));
  ASSERT_EQ(::chmod(program_.home().c_str(), 0700), 0);
  const auto recipe = [&](const std::string& text) {
    ASSERT_TRUE(write_file_atomically(program_.home() + "/recipes/build.md",
                                      "---\nallowed_tools: [bash]\n---\n" + text + "\n", 0600));
  };
  recipe("Build it.");
  const std::string first = program_.script(bash_call("touch made.txt"));
  const std::string rest =
      program_.directory().write("rest.yaml",
                                 "- calls: [{name: write_file, input: {path: b.txt, content: b}}]\n"
                                 "- text: it is done\n");
  const std::vector<std::string> run{
      "run", "-r", "build", "--allow", "write_file", "--script", first, "--set", "permissions.unanswered=wait"};
  ASSERT_EQ(program_.run(run).code, 12);
  const Finished same =
      program_.on_terminal({"approve", only_wait(), "--script", rest}, {{"Allow?", "y\n"}, {"it is done", ""}});
  EXPECT_EQ(same.code, 0) << same.out;
  EXPECT_TRUE(made());
  EXPECT_FALSE(exists(program_.project() + "/b.txt")) << same.out;
  ASSERT_EQ(::unlink((program_.project() + "/made.txt").c_str()), 0);
  ASSERT_EQ(program_.run(run).code, 12);
  const std::string id = only_wait();
  ASSERT_EQ(program_.on_terminal({"approve", id, "--no-run"}, {{"Allow?", "y\n"}}).code, 0);
  recipe("Build it well.");
  const Finished changed =
      program_.on_terminal({"approve", id, "--script", done()}, {{"Allow?", "n\n"}, {"it is done", ""}});
  EXPECT_TRUE(has(changed.out, "the recipe build has changed")) << changed.out;
  EXPECT_FALSE(made());
}

TEST_F(Approve, AnAnswerWithASchemaIsTheValueAlone) {
  const std::string schema = program_.file("s.json", R"({"type":"object","required":["n"]})");
  ASSERT_EQ(program_
                .run({"run", "x", "--output-schema", schema, "--set", "permissions.unanswered=wait", "--script",
                      program_.script(bash_call("touch made.txt"))})
                .code,
            12);
  const Finished yes = program_.on_terminal(
      {"approve", only_wait(), "--script", program_.script("- text: '{\"m\":1}'\n- text: '{\"n\":2}'\n")},
      {{"Allow?", "y\n"}, {"{\"n\":2}", ""}});
  EXPECT_EQ(yes.code, 0) << yes.out;
  EXPECT_FALSE(has(yes.out, "{\"m\":1}")) << yes.out;
}

TEST_F(Approve, AChatSaysThatTheNextMessageDeniesTheCall) {
  hook(kDefers);
  waiting_call();
  const Finished chat = program_.on_terminal({"chat", "--follow", "--script", done()}, {{"> ", "/exit\n"}});
  EXPECT_TRUE(has(chat.out, "your next message denies it: agentd approve")) << chat.out;
  const Finished kept = program_.on_terminal({"conversation", "delete", program_.newest()}, {{"[y/N]", "n\n"}});
  EXPECT_TRUE(has(kept.out, "a tool call waits for an answer in it")) << kept.out;
}

TEST_F(Approve, WordsThatGoTogetherAreChecked) {
  EXPECT_EQ(program_.run({"approve"}).code, 2);
  EXPECT_EQ(program_.run({"approve", "--list", "01K"}).code, 2);
  EXPECT_EQ(program_.run({"approve", "01K", "--reason", "x"}).code, 2);
  EXPECT_EQ(program_.run({"approve", "01K"}).code, 4);
  EXPECT_EQ(program_.run({"approve", "--list"}).out, "nothing waits for an answer\n");
}

// ---- always

// The wait of a question of agentd's own.
std::string waiting_for(Program& program, const std::string& command) {
  const Finished ran =
      program.run({"run", "x", "--set", "permissions.unanswered=wait", "--script", program.script(bash_call(command))});
  EXPECT_EQ(ran.code, 12) << ran.err;
  const auto lines = json_lines(program.run({"approve", "--list", "--json"}).out);
  return lines.empty() ? "(nothing waits)" : std::string(lines.back().root()["wait_id"].string_or(""));
}

TEST_F(Approve, AlwaysKeepsTheRulesOfTheCallForItsProject) {
  const std::string id = waiting_for(program_, "touch made.txt");
  const std::string elsewhere = program_.directory().path(), project = program_.project();
  program_.set_project(elsewhere);  // the answer belongs to the project of the call, wherever it is given
  const Finished yes = program_.on_terminal({"approve", id, "--script", done()},
                                            {{"[a]lways in this project", "a\n"}, {"it is done", ""}});
  program_.set_project(project);
  EXPECT_EQ(yes.code, 0) << yes.out;
  EXPECT_LT(yes.out.find("bash(touch made.txt)"), yes.out.find("Allow?")) << yes.out;
  EXPECT_TRUE(made());
  std::string kept, directory;
  for (const JsonDocument& line : json_lines(program_.run({"permissions", "list", "--json"}).out))
    if (line.root()["list"].string_or("") == "kept") {
      kept += line.root()["rule"].string_or("");
      directory = std::string(line.root()["directory"].string_or(""));
    }
  EXPECT_EQ(kept, "bash(touch made.txt)");
  EXPECT_EQ(directory, project);
  EXPECT_FALSE(exists(project + "/.agent")) << "outside of the workspace";
  // It holds later, for these words alone.
  ::unlink((project + "/made.txt").c_str());
  program_.run({"run", "x", "--script", program_.script(bash_call("touch made.txt") + "- text: done\n")});
  EXPECT_TRUE(made());
  program_.run({"run", "x", "--script", program_.script(bash_call("touch other.txt") + "- text: done\n")});
  EXPECT_FALSE(exists(project + "/other.txt"));
}

TEST_F(Approve, AYesOnceKeepsNothing) {
  const std::string id = waiting_for(program_, "touch made.txt");
  const Finished yes = program_.on_terminal({"approve", id, "--no-run", "--json"}, {{"Allow?", "y\n"}});
  EXPECT_EQ(yes.code, 0) << yes.out;
  EXPECT_FALSE(has(yes.out, "\"kept\"")) << yes.out;
  EXPECT_FALSE(has(program_.run({"permissions", "list"}).out, "touch made.txt"));
}

TEST_F(Approve, AlwaysIsKeptWithoutItsRun) {
  const std::string id = waiting_for(program_, "touch made.txt");
  const Finished yes = program_.on_terminal({"approve", id, "--no-run"}, {{"[a]lways in this project", "a\n"}});
  EXPECT_EQ(yes.code, 0) << yes.out;
  EXPECT_TRUE(has(yes.out, "kept for this project: bash(touch made.txt)")) << yes.out;
  EXPECT_FALSE(made());
  EXPECT_TRUE(has(program_.run({"permissions", "list"}).out, "bash(touch made.txt)"));
}

TEST_F(Approve, AlwaysIsNotOfferedWhereItWouldNotHold) {
  program_.config("permissions: {ask: [\"bash(touch made:*)\"]}\n");
  std::string id = waiting_for(program_, "touch made");
  const Finished bound = program_.on_terminal({"approve", id, "--no-run"}, {{"Allow?", "y\n"}});
  EXPECT_FALSE(has(bound.out, "[a]lways")) << bound.out;
  program_.config("");
  id = waiting_for(program_, "touch $NAME");  // no exact rule can be made
  const Finished unsure = program_.on_terminal({"approve", id, "--no-run"}, {{"Allow?", "y\n"}});
  EXPECT_FALSE(has(unsure.out, "[a]lways")) << unsure.out;
}

// As every answer: no program can give it.
TEST_F(Approve, AlwaysNeedsATerminal) {
  const std::string id = waiting_for(program_, "touch made.txt");
  const Finished piped = program_.run({"approve", id}, "a\n");
  EXPECT_EQ(piped.code, 2) << piped.err;
  EXPECT_TRUE(has(piped.err, "a person answers on a terminal")) << piped.err;
  EXPECT_FALSE(has(program_.run({"permissions", "list"}).out, "touch made.txt"));
}

}  // namespace
}  // namespace agentd::testing
