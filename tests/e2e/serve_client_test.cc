// SPDX-License-Identifier: Apache-2.0
// serve_client_test.cc - a command and the daemon that works for it: two processes, of which one may die, be another
// version, or see other files; and who is attached to a conversation.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/file.h"
#include "tests/e2e/commands_home.h"

namespace agentd::testing {
namespace {

const std::string kHello = "- text: Hello there.\n";
const std::string kLate = "- {text: Late., delay_ms: 60000}\n";
const std::string kCommands =
    "- calls:\n    - {name: bash, input: {command: \"echo made > made.txt\"}}\n- text: So be it.\n";

class ServeClients : public ::testing::Test {
 protected:
  std::string log(const std::string& id) { return home_.log(id); }
  bool works() const { return home_.works(); }
  // The conversation of the run whose message is stored and that works.
  std::string begun() {
    EXPECT_TRUE(comes([&] { return works() && has(log(home_.program().newest()), R"("user_message")"); }))
        << home_.sessions();
    return home_.program().newest();
  }
  bool made() { return exists(home_.program().project() + "/made.txt"); }

  CommandsHome home_;
};

TEST_F(ServeClients, AnotherVersionIsToldAndTheCommandWorksByItself) {
  home_.script(kHello);
  const std::string copy = home_.program().directory().file("agentd");
  home_.program().start_by({"/bin/sh", "-c", "cp \"$0\" " + copy + " && exec " + copy + " \"$@\""});
  home_.serve({"--no-hooks"});
  home_.program().start_by({});
  const Finished ran = home_.program().run({"run", "hello"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "Hello there.\n");
  EXPECT_TRUE(has(ran.err, "warning: agentd serve runs another build of version ")) << ran.err;
  EXPECT_EQ(home_.served(), 0);
  EXPECT_EQ(home_.refused(), 1);
}

TEST_F(ServeClients, AnotherNamespaceIsToldAndTheCommandWorksByItself) {
  const std::vector<std::string> unshare{"/usr/bin/unshare", "--user", "--map-current-user", "--mount"};
  home_.script(kHello);
  home_.program().start_by(unshare);
  if (home_.program().run({"--version"}).code != 0) GTEST_SKIP() << "no user namespaces here";
  home_.program().start_by({});
  home_.serve();
  home_.program().start_by(unshare);
  const Finished ran = home_.program().run({"run", "hello"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "Hello there.\n");
  EXPECT_TRUE(has(ran.err, "warning: agentd serve sees other files (another mount namespace)")) << ran.err;
  EXPECT_EQ(home_.served(), 0);
  home_.program().start_by({});
  EXPECT_EQ(home_.program().run({"run", "hello"}).err.find("warning"), std::string::npos);
  EXPECT_EQ(home_.served(), 1);
}

// A command that was started with less has no part of the daemon's.
TEST_F(ServeClients, AConfinedCommandWorksByItself) {
  home_.script(
      "repeat: true\nturns:\n"
      "  - text: Hello there.\n");
  home_.serve();
  for (const std::vector<std::string>& launcher :
       std::vector<std::vector<std::string>>{{"/bin/sh", "-c", "umask 077; exec \"$0\" \"$@\""},
                                             {"/usr/bin/setpriv", "--no-new-privs"},
                                             {"/usr/bin/prlimit", "--fsize=100000000"}}) {
    home_.program().start_by(launcher);
    const Finished ran = home_.program().run({"run", "hello"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out, "Hello there.\n");
    EXPECT_EQ(home_.served(), 0) << launcher.front();
  }
  home_.program().start_by({});
  EXPECT_EQ(home_.program().run({"run", "hello"}).code, 0);
  EXPECT_EQ(home_.served(), 1);
}

// The daemon counts its runs: with a setting of its own a command runs by itself, and silently.
TEST_F(ServeClients, TheDaemonHasMadeTheRun) {
  constexpr const char* kRun = R"(agentd_runs_total{outcome="stop"} )";
  home_.script(kHello + kHello);
  home_.serve();
  EXPECT_EQ(home_.program().run({"run", "hello"}).code, 0);
  EXPECT_TRUE(has(home_.client().get("/metrics").body, std::string(kRun) + "1\n"))
      << home_.client().get("/metrics").body;
  const Finished alone = home_.program().run({"run", "hello", "--max-turns", "3"});
  EXPECT_EQ(alone.code, 0);
  EXPECT_FALSE(has(alone.err, "agentd serve")) << alone.err;
  home_.program().set("ANTHROPIC_API_KEY=another");
  EXPECT_EQ(home_.program().run({"run", "hello"}).code, 0);
  EXPECT_TRUE(has(home_.client().get("/metrics").body, std::string(kRun) + "1\n"));
  EXPECT_EQ(home_.refused(), 2);
}

// What a run would load by itself counts: hooks that came, went, or lost their trust since the daemon has started.
TEST_F(ServeClients, HooksAreThoseOfNow) {
  CommandsHome home("permissions: {allow: [bash]}\n");
  home.script(
      "repeat: true\nturns:\n  - calls:\n      - {name: bash, input: {command: \"echo made > made.txt\"}}\n"
      "  - text: So be it.\n");
  home.serve();
  const auto run = [&] {
    std::filesystem::remove(home.program().project() + "/made.txt");
    return home.program().run({"run", "go"});
  };
  EXPECT_EQ(run().code, 0);
  EXPECT_TRUE(exists(home.program().project() + "/made.txt"));
  home.hook("on: before_tool_call\ndo: {action: block, reason: not today}\n");
  EXPECT_EQ(home.program().run({"hooks", "trust", "here", "-y"}).code, 0);
  EXPECT_EQ(run().code, 0);
  EXPECT_FALSE(exists(home.program().project() + "/made.txt"));
  EXPECT_EQ(home.served(), 2);
  std::filesystem::remove(home.program().home() + "/hooks/here.yaml");
  EXPECT_EQ(run().code, 0);
  EXPECT_TRUE(exists(home.program().project() + "/made.txt"));
  EXPECT_EQ(home.served(), 3);
}

TEST_F(ServeClients, AMessageOfAnotherTokenDoesNotJoinTheRunOfACommand) {
  home_.script("- {text: First., delay_ms: 2000}\n- text: Second.\n");
  home_.serve();
  const std::string token = home_.program().run({"auth", "token", "add", "other", "--scope", "run"}).out;
  const Running running = home_.program().start({"run", "one"});
  const std::string id = begun();
  const HttpAnswer refused = home_.client()
                                 .as(token.substr(0, token.find('\n')))
                                 .post("/api/v1/conversations/" + id + "/messages", R"({"text":"two"})");
  EXPECT_EQ(refused.status, 409) << refused.body;
  EXPECT_TRUE(has(refused.body, "a command works in this conversation")) << refused.body;
}

TEST_F(ServeClients, AFalseSocketIsNoDaemon) {
  home_.script(kHello);
  AGENTD_ASSERT(write_file_atomically(home_.program().home() + "/agentd.sock", "", 0600));
  const Finished ran = home_.program().run({"run", "hello"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(has(ran.err, "agentd serve")) << ran.err;
  const Finished attached = home_.program().run({"attach", "--follow"});
  EXPECT_EQ(attached.code, 4) << attached.err;
  EXPECT_TRUE(has(attached.err, "no 'agentd serve' works in this home: start it")) << attached.err;
}

TEST_F(ServeClients, AQuestionIsAskedAtTheTerminalOfTheCommand) {
  home_.script(kCommands + kCommands);
  home_.serve();
  const Finished no = home_.program().on_terminal({"run", "make it"}, {{"Allow?", "n\n"}, {"So be it.", ""}});
  EXPECT_EQ(no.code, 0) << no.out;
  EXPECT_FALSE(made());
  const Finished yes = home_.program().on_terminal({"run", "make it"}, {{"Allow?", "y\n"}, {"So be it.", ""}});
  EXPECT_EQ(yes.code, 0) << yes.out;
  EXPECT_TRUE(has(yes.out, "echo made > made.txt")) << yes.out;
  EXPECT_TRUE(made());
  EXPECT_GE(home_.served(), 1);
}

TEST_F(ServeClients, AServerAsksThePersonAtTheTerminalOfTheCommand) {
  CommandsHome home;
  const std::string tools = home.program().directory().file("tools.json");
  AGENTD_ASSERT(write_file_atomically(
      tools,
      R"({"tools":[{"name":"meet","description":"","inputSchema":{"type":"object"},"does":{"ask":"Who are you?"}}]})",
      0600));
  const std::string places = "\"" AGENTD_MCP_SERVER "\",\"" + tools + "\"";
  home.begin_again("mcp: {servers: {played: {command: python3, args: [" + places + "], readable: [" + places +
                   "]}}}\npermissions: {allow: [mcp__played__meet]}\n");
  const std::string meets = "- calls: [{name: mcp__played__meet, input: {}}]\n- text: So be it.\n";
  home.script(meets + meets + meets);
  home.serve();
  const auto log = [&] { return home.log(home.program().newest()); };
  const std::string question = "Answer it? [y]es, [n]o, [d]ecline all of this server in this session: ";
  const Finished asked = home.program().on_terminal(
      {"run", "meet me"}, {{question, "y\n"}, {"name: ", "Ada\n"}, {"So be it.", ""}}, std::chrono::milliseconds(400));
  EXPECT_EQ(asked.code, 0) << asked.out;
  EXPECT_TRUE(has(asked.out, "The MCP server played asks you during a call of its tool meet")) << asked.out;
  EXPECT_TRUE(has(log(), "Ada")) << log();
  const Finished refused = home.program().on_terminal({"run", "meet me"}, {{question, "n\n"}, {"So be it.", ""}},
                                                      std::chrono::milliseconds(400));
  EXPECT_EQ(refused.code, 0) << refused.out;
  EXPECT_TRUE(has(log(), "decline")) << log();
  EXPECT_EQ(home.program().run({"run", "meet me"}).code, 0);
  EXPECT_TRUE(has(log(), "decline")) << "nobody is there: " << log();
  EXPECT_GE(home.served(), 3);
}

TEST_F(ServeClients, CommandsHaveTheVariablesOfTheClient) {
  CommandsHome home("permissions: {allow: [bash]}\n");
  home.script("- calls: [{name: bash, input: {command: \"echo zone=$TZ\"}}]\n- text: Done.\n");
  home.serve();
  home.program().set("TZ=Asia/Tokyo");
  const Finished ran = home.program().run({"run", "look", "--json"});
  EXPECT_TRUE(has(ran.out, "zone=Asia/Tokyo")) << ran.out << ran.err;
  EXPECT_GE(home.served(), 1);
}

TEST_F(ServeClients, TheAnswerOfApproveContinuesInTheDaemon) {
  CommandsHome home("permissions: {unanswered: wait}\n");
  home.script("- calls:\n    - {name: bash, input: {command: echo made > made.txt}}\n- text: So be it.\n");
  home.serve();
  EXPECT_EQ(home.program().run({"run", "make it"}).code, 12);
  const Finished answered =
      home.program().on_terminal({"approve", home.program().newest()}, {{"Allow?", "y\n"}, {"So be it.", ""}});
  EXPECT_EQ(answered.code, 0) << answered.out;
  EXPECT_TRUE(exists(home.program().project() + "/made.txt")) << answered.out;
  EXPECT_TRUE(has(home.client().get("/metrics").body, R"(route="call_client")"));
}

TEST_F(ServeClients, AnInterruptCancelsTheRun) {
  home_.script(kLate);
  home_.serve();
  Running run = home_.program().start({"run", "hello"});
  (void)begun();
  run.signal(SIGINT);
  const Finished ended = run.wait();
  EXPECT_EQ(ended.code, 130) << ended.err;
  EXPECT_TRUE(has(ended.err, "the request was cancelled")) << ended.err;
  EXPECT_FALSE(works());
  EXPECT_GE(home_.served(), 1);
}

TEST_F(ServeClients, AKilledCommandEndsItsRun) {
  home_.script(kLate);
  home_.serve();
  Running run = home_.program().start({"run", "hello"});
  const std::string id = begun();
  run.signal(SIGKILL);
  EXPECT_EQ(run.wait().code, 128 + SIGKILL);
  EXPECT_TRUE(comes([&] { return !works(); }));
  EXPECT_TRUE(comes([&] { return has(log(id), R"("outcome":"cancelled")"); })) << log(id);
  // The conversation is free, also for a command that works by itself.
  home_.script(kHello);
  EXPECT_EQ(home_.program().run({"run", "--resume", id, "go on", "--max-turns", "9"}).code, 0);
}

TEST_F(ServeClients, AKilledCommandEndsTheCommandOfItsTool) {
  CommandsHome home("permissions: {allow: [bash]}\n");
  home.script("- calls: [{name: bash, input: {command: \"touch began; sleep 600\"}}]\n- text: Done.\n");
  home.serve();
  Running run = home.program().start({"run", "wait"});
  ASSERT_TRUE(comes([&] { return exists(home.program().project() + "/began"); }));
  run.signal(SIGKILL);
  (void)run.wait();
  EXPECT_TRUE(comes([&] { return has(home.log(home.program().newest()), R"("outcome":"cancelled")"); }));
}

TEST_F(ServeClients, ADetachedRunGoesOnWithoutItsCommand) {
  home_.script("- {text: Late., delay_ms: 500}\n");
  home_.serve();
  const Finished detached = home_.program().run({"run", "--detach", "hello"});
  EXPECT_EQ(detached.code, 0) << detached.err;
  const std::string id = detached.out.substr(0, 26);
  EXPECT_EQ(detached.out, id + "\n");
  EXPECT_TRUE(comes([&] { return has(log(id), "Late."); })) << log(id);
  home_.program().set("SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt");
  const Finished other = home_.program().run({"run", "--detach", "hello"});
  EXPECT_EQ(other.code, 2);
  EXPECT_TRUE(has(other.err, "the daemon was started with another SSL_CERT_FILE; start it again")) << other.err;
  const Finished flag = home_.program().run({"run", "--detach", "--max-turns", "3", "hello"});
  EXPECT_TRUE(has(flag.err, "another SSL_CERT_FILE, max_turns;")) << flag.err;
  home_.end();
  const Finished alone = home_.program().run({"run", "--detach", "hello"});
  EXPECT_EQ(alone.code, 2);
  EXPECT_TRUE(has(alone.err, "start 'agentd serve'")) << alone.err;
}

// The id is the acknowledgement.
TEST_F(ServeClients, ADetachedMessageIsStoredWhenItsIdIsPrinted) {
  home_.script(kLate + kLate + kLate);
  home_.serve();
  std::vector<std::string> ids;
  for (const char* const text : {"the first", "the second", "the third"}) {
    const Finished detached = home_.program().run({"run", "--detach", text});
    EXPECT_EQ(detached.code, 0) << detached.err;
    ids.push_back(detached.out.substr(0, 26));
  }
  home_.end(SIGKILL);
  EXPECT_TRUE(has(log(ids[0]), "the first"));
  EXPECT_TRUE(has(log(ids[1]), "the second"));
  EXPECT_TRUE(has(log(ids[2]), "the third"));
}

TEST_F(ServeClients, AKilledDaemonIsToldAndNothingStoredIsLost) {
  home_.script(kLate);
  home_.serve();
  Running run = home_.program().start({"run", "do not forget this"});
  const std::string id = begun();
  home_.end(SIGKILL);
  const Finished ended = run.wait();
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_TRUE(has(ended.err, "agentd serve has ended in the middle of this")) << ended.err;
  EXPECT_TRUE(has(ended.err, "agentd run --resume " + id)) << ended.err;
  EXPECT_TRUE(has(log(id), "do not forget this"));
  home_.script(kHello);
  EXPECT_EQ(home_.program().run({"run", "--resume", id, "go on"}).code, 0);
}

// SIGTERM lets the run go on for drain_seconds, and then cancels it.
TEST_F(ServeClients, ADaemonThatIsStoppedEndsTheRunOfItsCommand) {
  home_.script(kLate);
  home_.serve();
  Running run = home_.program().start({"run", "hello"});
  const std::string id = begun();
  EXPECT_EQ(home_.end(SIGTERM).code, 0);
  const Finished ended = run.wait();
  EXPECT_EQ(ended.code, 130) << ended.err;
  EXPECT_TRUE(has(ended.err, "agentd serve was stopped")) << ended.err;
  EXPECT_TRUE(has(ended.err, "agentd run --resume " + id)) << ended.err;
  EXPECT_TRUE(has(log(id), R"("outcome":"cancelled")")) << log(id);
}

TEST_F(ServeClients, WhoIsAttachedSeesTheRunOfAnotherTerminal) {
  home_.script("- {text: Seen by both., delay_ms: 2000}\n");
  home_.serve();
  Running run = home_.program().start({"run", "hello"});
  const std::string id = begun();
  ASSERT_EQ(id.size(), 26u);
  Running text = home_.program().start({"attach", id.substr(0, 25)});
  Running json = home_.program().start({"attach", "--follow", "--json"});
  ASSERT_TRUE(comes([&] { return has(home_.sessions(), R"("readers":2)"); })) << home_.sessions();
  EXPECT_EQ(run.wait().code, 0);
  EXPECT_TRUE(text.wait_for_out("Seen by both.")) << text.out() << text.err();
  EXPECT_TRUE(has(text.out(), "hello")) << "the message of before";
  EXPECT_TRUE(json.wait_for_out("\"run_ended\"")) << json.out();
  for (Running* const each : {&text, &json}) {
    each->signal(SIGTERM);
    EXPECT_EQ(each->wait().code, 128 + SIGTERM);
  }
}

// As in "agentd attach ID | head -1": the next event, which would tell, may be far.
TEST_F(ServeClients, WhoIsAttachedEndsWithItsReader) {
  home_.script("- {text: Seen.}\n");
  home_.serve();
  EXPECT_EQ(home_.program().run({"run", "hello"}).code, 0);
  const std::string id = home_.program().newest();
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  home_.program().set_output(ends[1]);
  Running attached = home_.program().start({"attach", id});
  home_.program().set_output(-1);
  ::close(ends[1]);
  char shown[16];
  ASSERT_GT(::read(ends[0], shown, sizeof shown), 0) << attached.err();
  const auto has_ended = [&] {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(attached.pid()), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid != 0;
  };
  EXPECT_FALSE(has_ended());
  ::close(ends[0]);
  EXPECT_TRUE(comes(has_ended));
  attached.signal(SIGKILL);
  const Finished ended = attached.wait();
  EXPECT_EQ(ended.code, 128 + SIGPIPE) << ended.err;
}

TEST_F(ServeClients, ARunIsCancelledFromElsewhere) {
  home_.script(kLate);
  home_.serve();
  Running run = home_.program().start({"run", "hello"});
  const std::string id = begun();
  EXPECT_EQ(home_.client().post("/api/v1/conversations/" + id + "/cancel", "{}").status, 200);
  const Finished ended = run.wait();
  EXPECT_EQ(ended.code, 130) << ended.err;
  EXPECT_TRUE(has(ended.err, "cancelled in another terminal")) << ended.err;
  EXPECT_FALSE(works());
}

TEST_F(ServeClients, ALineOfTheAttachedTerminalIsAMessage) {
  home_.script("- text: The first.\n- text: The second.\n");
  home_.serve();
  ASSERT_EQ(home_.program().run({"run", "hello"}).code, 0);
  const std::string id = home_.program().newest();
  const Finished ended = home_.program().on_terminal(
      {"attach", id}, {{"attached to", "more of it\n"}, {"The second.", "\x04"}}, std::chrono::milliseconds(300));
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_TRUE(has(ended.out, "The first.")) << ended.out;
  EXPECT_TRUE(has(log(id), "more of it"));
}

TEST_F(ServeClients, AQuestionOfADetachedRunIsAnsweredWhereSomebodyIsAttached) {
  home_.script(kCommands + kCommands);
  home_.serve();
  const Finished detached = home_.program().run({"run", "--detach", "make it"});
  const std::string id = detached.out.substr(0, 26);
  ASSERT_TRUE(comes([&] { return has(log(id), "\"wait\""); })) << log(id);
  EXPECT_FALSE(made());
  const Finished answered = home_.program().on_terminal({"attach", id}, {{"Allow?", "y\n"}, {"So be it.", "\x04"}},
                                                        std::chrono::milliseconds(300));
  EXPECT_EQ(answered.code, 0) << answered.out;
  EXPECT_TRUE(made());
}

TEST_F(ServeClients, AQuestionThatComesWhileSomebodyIsAttachedIsAnsweredThere) {
  home_.script("- text: Ready.\n" + kCommands);
  home_.serve();
  ASSERT_EQ(home_.program().run({"run", "hello"}).code, 0);
  const Finished answered = home_.program().on_terminal(
      {"attach", "--follow"}, {{"attached to", "make it\n"}, {"Allow?", "y\n"}, {"So be it.", "\x04"}},
      std::chrono::milliseconds(300));
  EXPECT_EQ(answered.code, 0) << answered.out;
  EXPECT_TRUE(made());
}

TEST_F(ServeClients, AConversationThatWorksIsBusyForAnother) {
  home_.script(kLate);
  home_.serve();
  Running run = home_.program().start({"run", "hello"});
  const std::string id = begun();
  const std::vector<std::string> words{"run", "--resume", id, "more"};
  const Finished client = home_.program().run(words);
  EXPECT_EQ(client.code, 75) << client.err;
  EXPECT_TRUE(has(client.err, "'agentd attach " + id + "' joins it")) << client.err;
  // By itself, since it has another setting.
  const Finished alone = home_.program().run({"run", "--resume", id, "more", "--max-turns", "3"});
  EXPECT_EQ(alone.code, 75) << alone.err;
  EXPECT_TRUE(has(alone.err, "'agentd attach ID' joins it")) << alone.err;
  const Finished gone = home_.program().run({"conversation", "delete", id, "--yes"});
  EXPECT_NE(gone.code, 0) << gone.out;
}

// ---- chats, whose daemon is there between the messages, too

// A chat whose lines come one after the other.
class Chatting {
 public:
  explicit Chatting(CommandsHome& home, const std::vector<std::string>& words = {"chat"}) {
    EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0);
    home.program().set_input(ends_[0]);
    chat_ = std::make_unique<Running>(home.program().start(words));
    home.program().set_input(-1);
    ::close(ends_[0]);
  }
  ~Chatting() { hang_up(); }
  Chatting(const Chatting&) = delete;
  Chatting& operator=(const Chatting&) = delete;
  void say(const std::string& line) const {
    EXPECT_EQ(::write(ends_[1], (line + "\n").c_str(), line.size() + 1), static_cast<ssize_t>(line.size() + 1));
  }
  void hang_up() {
    if (ends_[1] >= 0) ::close(std::exchange(ends_[1], -1));
  }
  Running& chat() { return *chat_; }
  bool answers(const std::string& text) const { return chat_->wait_for_out(text); }
  // Says "one", to a script whose first answer is "The first.".
  bool begins() const {
    say("one");
    return answers("The first.");
  }
  Finished end() {
    hang_up();
    return chat_->wait();
  }

 private:
  int ends_[2] = {-1, -1};
  std::unique_ptr<Running> chat_;
};

const std::string kThree = "- text: The first.\n- text: The second.\n- text: The third.\n";

TEST_F(ServeClients, TheDaemonHasMadeTheRunsOfAChat) {
  home_.script(kThree);
  home_.serve();
  const Finished ended = home_.program().run({"chat"}, "one\n/compact-brief\nthree\n");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(has(ended.out, "The third.")) << ended.out;
  EXPECT_TRUE(has(home_.client().get("/metrics").body, R"(agentd_runs_total{outcome="stop"} 2)"))
      << home_.client().get("/metrics").body;
}

TEST_F(ServeClients, AChatWhoseDaemonIsKilledInAnAnswerEnds) {
  home_.script("- text: The first.\n" + kLate);
  home_.serve();
  Chatting chat(home_);
  chat.say("do not forget this");
  ASSERT_TRUE(chat.answers("The first."));
  chat.say("nor that");
  const std::string id = begun();
  ASSERT_TRUE(comes([&] { return has(log(id), "nor that"); }));
  home_.end(SIGKILL);
  const Finished ended = chat.chat().wait();
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_TRUE(has(ended.err, "agentd serve has ended")) << ended.err;
  EXPECT_TRUE(has(ended.err, "agentd chat --resume " + id)) << ended.err;
  EXPECT_TRUE(has(log(id), "do not forget this") && has(log(id), "nor that")) << log(id);
  home_.script(kHello);
  EXPECT_EQ(home_.program().run({"chat", "--resume", id}, "go on\n").code, 0);
}

TEST_F(ServeClients, AChatWhoseDaemonIsKilledAtThePromptEndsAtTheNextLine) {
  home_.script(kThree);
  home_.serve();
  Chatting chat(home_);
  chat.say("do not forget this");
  ASSERT_TRUE(chat.answers("The first."));
  const std::string id = home_.program().newest();
  home_.end(SIGKILL);
  chat.say("more\nand more");
  const Finished ended = chat.end();
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_EQ(ended.err.find("agentd serve has ended"), ended.err.rfind("agentd serve has ended")) << ended.err;
  EXPECT_TRUE(has(ended.err, "agentd chat --resume " + id)) << ended.err;
  EXPECT_FALSE(has(log(id), "more"));
}

TEST_F(ServeClients, AClearWhoseDaemonIsKilledNamesTheWayOn) {
  home_.script(kThree);
  home_.serve();
  Chatting chat(home_);
  ASSERT_TRUE(chat.begins());
  const std::string id = home_.program().newest();
  home_.end(SIGKILL);
  chat.say("/clear");
  const Finished ended = chat.end();
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_TRUE(has(ended.err, "continue with: agentd chat --resume " + id)) << ended.err;
}

TEST_F(ServeClients, ADaemonThatIsStoppedEndsTheSessionOfAChatAtItsPrompt) {
  home_.script(kThree);
  home_.serve();
  Chatting chat(home_);
  ASSERT_TRUE(chat.begins());
  EXPECT_EQ(home_.end(SIGTERM).code, 0);
  home_.serve();
  chat.say("two");
  const Finished ended = chat.end();
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_TRUE(has(ended.err, "agentd serve has ended")) << ended.err;
  EXPECT_FALSE(has(log(home_.program().newest()), "two"));
}

TEST_F(ServeClients, BetweenItsMessagesAChatLeavesItsConversationToOthers) {
  home_.script(kThree);
  home_.serve();
  Chatting chat(home_);
  ASSERT_TRUE(chat.begins());
  const std::string id = home_.program().newest();
  ASSERT_TRUE(comes([&] { return !works(); }));
  const Finished other = home_.program().run({"run", "--resume", id, "of another terminal"});
  EXPECT_EQ(other.code, 0) << other.err;
  chat.say("two");
  EXPECT_TRUE(chat.answers("The second."));
  const Finished ended = chat.end();
  EXPECT_EQ(ended.code, 0) << ended.err;
  const std::string all = log(id);
  EXPECT_LT(all.find("of another terminal"), all.find("two")) << all;
}

TEST_F(ServeClients, AMessageFromElsewhereIsPartOfTheChatAndAsksNobodyAtItsTerminal) {
  home_.script("- text: The first.\n" + kCommands + "- text: The last.\n" + kHello);
  home_.serve();
  Chatting chat(home_);
  ASSERT_TRUE(chat.begins());
  const std::string id = home_.program().newest();
  EXPECT_EQ(home_.client().post("/api/v1/conversations/" + id + "/messages", R"({"text":"make it"})").status, 202);
  ASSERT_TRUE(comes([&] { return has(log(id), "So be it."); })) << log(id);
  EXPECT_FALSE(made());
  chat.say("two");
  EXPECT_TRUE(chat.answers("The last.")) << chat.chat().err();
  EXPECT_FALSE(has(chat.chat().out(), "So be it."));
  // A message, the turn whose call nobody was asked about, and the answer.
  EXPECT_TRUE(chat.chat().wait_for_err("note: another client has added 3 messages to the conversation"))
      << chat.chat().err();
  chat.say("three");
  EXPECT_TRUE(chat.answers("Hello there."));
  EXPECT_EQ(chat.chat().err().find("another client has"), chat.chat().err().rfind("another client has"));
  EXPECT_EQ(chat.end().code, 0);
}

TEST_F(ServeClients, WhileAnotherRunGoesOnTheChatIsToldAndCanBeLeft) {
  home_.script("- text: The first.\n" + kLate);
  home_.serve();
  Chatting chat(home_);
  ASSERT_TRUE(chat.begins());
  const std::string id = home_.program().newest();
  EXPECT_EQ(home_.client().post("/api/v1/conversations/" + id + "/messages", R"({"text":"take long"})").status, 202);
  ASSERT_TRUE(comes([&] { return works() && has(log(id), "take long"); }));
  chat.say("/clear");
  ASSERT_TRUE(chat.chat().wait_for_err("is in use by 'agentd serve'")) << chat.chat().err();
  chat.say("two");
  ASSERT_TRUE(chat.chat().wait_for_err("'agentd attach " + id + "' joins it")) << chat.chat().err();
  EXPECT_EQ(chat.end().code, 75);
  EXPECT_TRUE(works());
  EXPECT_FALSE(has(log(id), "two"));
}

TEST_F(ServeClients, AfterClearWhoIsAttachedStaysInTheConversationOfBefore) {
  home_.script(kThree);
  home_.serve();
  Chatting chat(home_);
  ASSERT_TRUE(chat.begins());
  const std::string id = home_.program().newest();
  Running attached = home_.program().start({"attach", id});
  ASSERT_TRUE(comes([&] { return has(home_.sessions(), R"("readers":1)"); })) << home_.sessions();
  chat.say("/clear");
  ASSERT_TRUE(chat.answers("Started a new conversation"));
  chat.say("two");
  ASSERT_TRUE(chat.answers("The second."));
  const std::string next = home_.program().newest();
  EXPECT_NE(next, id);
  EXPECT_TRUE(has(home_.sessions(), id) && has(home_.sessions(), next)) << home_.sessions();
  EXPECT_EQ(home_.client().post("/api/v1/conversations/" + id + "/messages", R"({"text":"still here"})").status, 202);
  EXPECT_TRUE(attached.wait_for_out("The third.")) << attached.out();
  EXPECT_FALSE(has(attached.out(), "The second.")) << attached.out();
  EXPECT_TRUE(has(log(id), "still here"));
  EXPECT_FALSE(has(log(next), "still here"));
  attached.signal(SIGTERM);
  (void)attached.wait();
  // The end of the chat is that of its new session.
  chat.chat().signal(SIGKILL);
  (void)chat.chat().wait();
  home_.script(kHello);
  EXPECT_EQ(home_.program().run({"run", "--resume", next, "go on", "--max-turns", "9"}).code, 0);
}

TEST_F(ServeClients, AKilledChatEndsItsSessionWithItsCommands) {
  CommandsHome home("permissions: {allow: [bash]}\n");
  home.script(
      "- calls: [{name: bash, input: {command: \"while sleep 0.1; do date +%N > alive; done\", background: true}}]\n" +
      kThree);
  home.serve();
  Chatting chat(home);
  chat.say("start it");
  ASSERT_TRUE(chat.answers("The first."));
  const std::string file = home.program().project() + "/alive";
  const auto now = [&] { return read_file(file, 100).value_or(""); };
  ASSERT_TRUE(comes([&] { return !now().empty(); }));
  chat.chat().signal(SIGKILL);
  (void)chat.chat().wait();
  EXPECT_TRUE(comes([&] {
    const std::string before = now();
    ::usleep(400'000);
    return before == now();
  }));
}

TEST_F(ServeClients, AnInterruptAtATerminalStopsTheAnswerAndNotTheChat) {
  CommandsHome home("permissions: {allow: [bash]}\n");
  home.script("- text: I work.\n  calls: [{name: bash, input: {command: sleep 600}}]\n" + kHello);
  home.serve();
  const Finished ended = home.program().on_terminal(
      {"chat"},
      {{"> ", "hello\n"}, {"I work.", "\x03"}, {"interrupted", ""}, {"> ", "again\n"}, {"Hello there.", "/exit\n"}},
      std::chrono::milliseconds(100));
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_EQ(home.served(), 1);
}

TEST_F(ServeClients, AnAnswerOfAChatIsCancelledFromElsewhereAndTheChatGoesOn) {
  home_.script(kLate + kHello);
  home_.serve();
  Chatting chat(home_);
  chat.say("hello");
  const std::string id = begun();
  EXPECT_EQ(home_.client().post("/api/v1/conversations/" + id + "/cancel", "{}").status, 200);
  ASSERT_TRUE(chat.chat().wait_for_err("cancelled in another terminal"));
  chat.say("again");
  EXPECT_TRUE(chat.answers("Hello there."));
  EXPECT_EQ(chat.end().code, 0);
}

// What a person has answered in a chat, and the commands of its session, are of no use to a program with a token.
TEST_F(ServeClients, ATokenThatRunsDoesNotActInTheConversationOfACommand) {
  CommandsHome home("permissions: {allow: [bash]}\n");
  home.script(kThree);
  home.serve();
  const std::string made = home.program().run({"auth", "token", "add", "runner", "--scope", "run"}).out;
  const HttpClient runner = home.client().as(made.substr(0, made.find('\n')));
  Chatting chat(home);
  ASSERT_TRUE(chat.begins());
  const std::string id = home.program().newest(), path = "/api/v1/conversations/" + id;
  ASSERT_TRUE(comes([&] { return !home.works(); }));
  const std::string call = R"({"tool":"bash","input":{"command":"echo made >> made.txt"}})";
  const std::vector<std::pair<std::string, std::string>> acts{{"/tools", call},
                                                              {"/messages", R"({"text":"two"})"},
                                                              {"/messages", R"({"text":"two","kind":"steer"})"},
                                                              {"/compact", "{}"},
                                                              {"/undo", "{}"},
                                                              {"/cancel", "{}"},
                                                              {"/checkpoints", "{}"}};
  for (const auto& [what, body] : acts) {
    const HttpAnswer refused = runner.post(path + what, body);
    EXPECT_EQ(refused.status, 409) << what << refused.body;
    EXPECT_TRUE(has(refused.body, "a command works in this conversation")) << what << refused.body;
  }
  EXPECT_FALSE(exists(home.program().project() + "/made.txt"));
  // Its owner may, and so may the runner once the chat has ended.
  EXPECT_EQ(home.client().post(path + "/tools", call).status, 200);
  EXPECT_EQ(chat.end().code, 0);
  EXPECT_EQ(runner.post(path + "/tools", call).status, 200);
  EXPECT_EQ(read_file(home.program().project() + "/made.txt", 100).value_or(""), "made\nmade\n");
}

TEST_F(ServeClients, AfterClearATokenThatRunsDoesNotActInTheNewConversationEither) {
  CommandsHome home("permissions: {allow: [bash]}\n");
  home.script(kThree);
  home.serve();
  const std::string made = home.program().run({"auth", "token", "add", "runner", "--scope", "run"}).out;
  const HttpClient runner = home.client().as(made.substr(0, made.find('\n')));
  Chatting chat(home);
  ASSERT_TRUE(chat.begins());
  const std::string before = home.program().newest();
  chat.say("/clear");
  ASSERT_TRUE(chat.answers("Started a new conversation"));
  chat.say("two");
  ASSERT_TRUE(chat.answers("The second."));
  ASSERT_TRUE(comes([&] { return !home.works(); }));
  const auto status = [&](const std::string& id) {
    return runner
        .post("/api/v1/conversations/" + id + "/tools", R"({"tool":"bash","input":{"command":"echo made > made.txt"}})")
        .status;
  };
  EXPECT_EQ(status(home.program().newest()), 409);
  EXPECT_FALSE(exists(home.program().project() + "/made.txt"));
  EXPECT_EQ(status(before), 200) << "no command works there any more";
  EXPECT_EQ(chat.end().code, 0);
}

TEST_F(ServeClients, AChatWhoseConversationIsDeletedGoesOnInAnother) {
  home_.script("repeat: true\nturns:\n  - text: The answer.\n");
  home_.serve();
  for (const bool by_http : {false, true}) {
    Chatting chat(home_);
    chat.say("one");
    ASSERT_TRUE(chat.answers("The "));
    const std::string id = home_.program().newest();
    ASSERT_TRUE(comes([&] { return !works(); }));
    if (by_http)
      EXPECT_EQ(home_.client().request("DELETE", "/api/v1/conversations/" + id).status, 200);
    else
      EXPECT_EQ(home_.program().run({"conversation", "delete", id, "--yes"}).code, 0);
    EXPECT_EQ(home_.client().get("/api/v1/conversations/" + id).status, 404);
    chat.say("two");
    EXPECT_TRUE(chat.chat().wait_for_err("no conversation " + id)) << by_http << chat.chat().err();
    chat.say("/clear");
    EXPECT_TRUE(chat.answers("Started a new conversation")) << by_http << chat.chat().err();
    chat.say("three");
    EXPECT_TRUE(comes([&] { return home_.program().newest() != id && !home_.program().newest().empty(); }));
    const Finished ended = chat.end();
    EXPECT_EQ(ended.code, 0) << by_http << ended.err;
  }
}

// A chat at a terminal, on a thread of its own.
class AtTerminal {
 public:
  AtTerminal(CommandsHome& home, std::vector<std::pair<std::string, std::string>> dialogue)
      : thread_([this, &home, dialogue = std::move(dialogue)] {
          finished_ = home.program().on_terminal({"chat"}, dialogue, std::chrono::milliseconds(100));
        }) {}
  ~AtTerminal() {
    if (thread_.joinable()) thread_.join();
  }
  AtTerminal(const AtTerminal&) = delete;
  AtTerminal& operator=(const AtTerminal&) = delete;
  Finished end() {
    thread_.join();
    return finished_;
  }

 private:
  Finished finished_;
  std::thread thread_;
};

TEST_F(ServeClients, ACancelEndsAQuestionAtTheTerminalOfAChat) {
  home_.script(kCommands + kHello);
  home_.serve();
  AtTerminal chat(home_, {{"> ", "make it\n"},
                          {"Allow?", ""},
                          {"The question is withdrawn: it was cancelled in another terminal", ""},
                          {"cancelled in another terminal", ""},
                          {"> ", "again\n"},
                          {"So be it.", "/exit\n"}});
  const std::string id = begun();
  ASSERT_TRUE(comes([&] { return has(log(id), R"("tool_call")") || has(log(id), "echo made"); }));
  ::usleep(500'000);  // and the question is shown: an earlier cancel ends the run without one
  EXPECT_TRUE(has(home_.client().post("/api/v1/conversations/" + id + "/cancel", "{}").body, "true"));
  EXPECT_TRUE(comes([&] { return !works(); })) << home_.sessions();
  const Finished ended = chat.end();
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_FALSE(made());
}

TEST_F(ServeClients, AQuestionAtTheTerminalOfAChatIsAnsweredThere) {
  home_.script(kCommands);
  home_.serve();
  const std::string made_token = home_.program().run({"auth", "token", "add", "person", "--scope", "approve"}).out;
  const HttpClient person = home_.client().as(made_token.substr(0, made_token.find('\n')));
  AtTerminal chat(home_,
                  {{"> ", "make it\n"}, {"Allow?", ""}, {"cancelled in another terminal", ""}, {"> ", "/exit\n"}});
  const std::string id = begun();
  std::string wait;
  ASSERT_TRUE(comes([&] {
    const HttpAnswer list = home_.client().get("/api/v1/approvals");
    const JsonDocument document = list.json();
    wait = document.root()["approvals"].at(0)["wait_id"].string_or("");
    return !wait.empty();
  }));
  for (const HttpClient& each : {home_.client(), person}) {
    const HttpAnswer refused = each.post("/api/v1/approvals/" + wait, R"({"decision":"allow"})");
    EXPECT_EQ(refused.status, 409) << refused.body;
  }
  EXPECT_TRUE(has(home_.client().post("/api/v1/approvals/" + wait, R"({"decision":"allow"})").body,
                  "is answered at its terminal"));
  EXPECT_EQ(home_.client().post("/api/v1/conversations/" + id + "/cancel", "{}").status, 200);
  EXPECT_EQ(chat.end().code, 130);
  EXPECT_FALSE(made());
}

}  // namespace
}  // namespace agentd::testing
