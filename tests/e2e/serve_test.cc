// SPDX-License-Identifier: Apache-2.0
// serve_test.cc - the daemon as its clients see it: who may enter, messages and their events, answers to questions, and
// what is left when it is killed.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/file.h"
#include "tests/e2e/http_client.h"
#include "tests/e2e/program.h"
#include "tests/support/dates.h"

namespace agentd::testing {
namespace {

class Serving : public ::testing::Test {
 protected:
  Serving() { program_.config("serve: {port: 0, drain_seconds: 5}\n"); }

  void start(const std::string& turns, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"serve", "--script", program_.script(turns)});
    running_ = std::make_unique<Running>(program_.start(more));
    ASSERT_TRUE(running_->wait_for_out("agentd serves ")) << running_->err();
    ASSERT_TRUE(running_->wait_for_out("\n"));
    const std::string said = running_->out();
    const std::size_t at = said.rfind(':');
    client_ = std::make_unique<HttpClient>(static_cast<std::uint16_t>(std::stoi(said.substr(at + 1))), own_token());
  }
  Finished end(int signal = SIGTERM) {
    running_->signal(signal);
    const Finished out = running_->wait();
    running_.reset();
    return out;
  }
  std::string own_token() const {
    std::string out = read_file(program_.home() + "/serve.token", 1'000).value_or("");
    while (!out.empty() && out.back() == '\n') out.pop_back();
    return out;
  }
  std::string token(const std::string& name, const std::string& scope) {
    const Finished made = program_.run({"auth", "token", "add", name, "--scope", scope});
    EXPECT_EQ(made.code, 0) << made.err;
    return made.out.substr(0, made.out.find('\n'));
  }
  // A new conversation in the project.
  std::string create(const std::string& more = {}) {
    const HttpAnswer made =
        client_->post("/api/v1/conversations", R"({"cwd":")" + program_.project() + "\"" + more + "}");
    EXPECT_EQ(made.status, 201) << made.body;
    return std::string(made.json().root()["id"].string_or(""));
  }
  static std::string path(const std::string& id, const std::string& what) {
    return "/api/v1/conversations/" + id + "/" + what;
  }
  HttpAnswer say(const std::string& id, const std::string& text, const std::string& more = {}) {
    return client_->post(path(id, "messages"), R"({"text":")" + text + "\"" + more + "}");
  }

  Program program_;
  std::unique_ptr<Running> running_;
  std::unique_ptr<HttpClient> client_;
};

// ---- who may enter

TEST_F(Serving, OnlyHealthNeedsNoToken) {
  start("- text: Hello.\n");
  const HttpClient stranger = client_->as(""), guesser = client_->as(std::string(43, 'A'));
  EXPECT_EQ(stranger.get("/healthz").status, 200);
  for (const char* const each : {"/readyz", "/metrics", "/openapi.json", "/api/v1/conversations", "/nothing"}) {
    EXPECT_EQ(stranger.get(each).status, 401) << each;
    EXPECT_EQ(guesser.get(each).status, 401) << each;
  }
  EXPECT_EQ(client_->get("/readyz").status, 200);
  EXPECT_EQ(client_->get("/nothing").status, 404);
  EXPECT_EQ(client_->request("PUT", "/readyz", "{}").status, 405);
  struct stat info {};
  ASSERT_EQ(::stat((program_.home() + "/serve.token").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(client_->request("GET", "/readyz", {}, "Origin: http://127.0.0.1\r\n").status, 403);
  EXPECT_EQ(end().code, 0);
}

TEST_F(Serving, ATokenDoesWhatItsScopeSays) {
  start("- text: Hello.\n");
  const HttpClient reader = client_->as(token("reader", "read")), runner = client_->as(token("runner", "run"));
  const std::string wish = R"({"cwd":")" + program_.project() + "\"}";
  EXPECT_EQ(reader.get("/api/v1/conversations").status, 200);
  EXPECT_EQ(reader.post("/api/v1/conversations", wish).status, 403);
  EXPECT_EQ(runner.post("/api/v1/conversations", wish).status, 201);
  const std::string gone = create();
  EXPECT_EQ(runner.request("DELETE", "/api/v1/conversations/" + gone).status, 403);
  EXPECT_EQ(client_->request("DELETE", "/api/v1/conversations/" + gone).status, 200);
  EXPECT_EQ(program_.run({"auth", "token", "remove", "runner"}).code, 0);
  bool refused = false;
  for (int i = 0; i < 1'000 && !refused; ++i) {
    refused = runner.get("/api/v1/conversations").status == 401;
    if (!refused) ::usleep(20'000);
  }
  EXPECT_TRUE(refused) << "a removed token is noticed";
}

// Neither by working where the keys are, nor by a mode in which nothing is asked.
TEST_F(Serving, ARunnerDoesNotWidenItsRights) {
  AGENTD_ASSERT(make_directories(program_.directory().path() + "/.ssh"));
  start("- text: Hello.\n");
  const HttpClient runner = client_->as(token("runner", "run"));
  const auto create = [&](const HttpClient& client, const std::string& cwd, const std::string& more) {
    return client.post("/api/v1/conversations", R"({"cwd":")" + cwd + "\"" + more + "}");
  };
  const std::string home = program_.home();
  for (const std::string& cwd :
       {home, home + "/store", home + "/../home", "/proc/self/root" + home, program_.directory().path() + "/.ssh"})
    EXPECT_EQ(create(*client_, cwd, "").status, 403) << cwd;
  for (const char* const mode : {"allow", "accept_edits"}) {
    const std::string more = std::string(R"(,"mode":")") + mode + "\"";
    EXPECT_EQ(create(runner, program_.project(), more).status, 403) << mode;
    EXPECT_EQ(create(*client_, program_.project(), more).status, 201) << mode;
  }
  EXPECT_EQ(create(runner, program_.project(), R"(,"mode":"plan")").status, 201);
}

// A conversation whose mode asks less was opened by another client, which may not be lent to this one.
TEST_F(Serving, ARunnerDoesNotWorkInAConversationThatAsksLess) {
  start("repeat: true\nturns:\n- text: Hello.\n");
  const HttpClient runner = client_->as(token("runner", "run"));
  const auto said = [&](const HttpClient& client, const std::string& id) {
    return client.post(path(id, "messages"), R"({"text":"hello"})").status;
  };
  const std::string wide = create(R"(,"mode":"allow")"), usual = create();
  EventReader events = client_->events(path(wide, "events"));
  EXPECT_EQ(said(*client_, wide), 202);
  ASSERT_TRUE(events.until("run_ended"));
  EXPECT_EQ(client_->get("/api/v1/conversations/" + wide).json().root()["mode"].string_or(""), "allow");
  EXPECT_FALSE(client_->get("/api/v1/conversations/" + usual).json().root()["mode"].exists());
  EXPECT_EQ(said(runner, wide), 403);
  EXPECT_EQ(runner.post(path(wide, "tools"), R"({"tool":"glob","input":{"pattern":"*"}})").status, 403);
  EXPECT_EQ(said(runner, usual), 202) << "the negative control";
  const HttpAnswer fork = runner.post(path(wide, "fork"), "{}");
  ASSERT_EQ(fork.status, 201) << fork.body;
  EXPECT_EQ(said(runner, std::string(fork.json().root()["conversation"]["id"].string_or(""))), 403);
}

TEST_F(Serving, NoNumberOfAQueryHarmsIt) {
  start("- text: Hello.\n");
  for (const char* const query :
       {"limit=0", "limit=0&text=nosuch", "limit=-1", "limit=99999999999999999999", "limit=x"})
    EXPECT_EQ(client_->get(std::string("/api/v1/conversations?") + query).status, 400) << query;
  EXPECT_EQ(client_->get("/api/v1/conversations?limit=18446744073709551615").status, 200);
  EXPECT_EQ(client_->get("/healthz").status, 200);
}

// Calls that wait behind one another are no reason to outlive the time that runs get to end.
TEST_F(Serving, EndsInItsTimeWhateverWaits) {
  start("- text: Hello.\n");
  const std::string id = create(R"(,"mode":"allow")");
  std::vector<std::thread> calls;
  for (int i = 0; i < 4; ++i)
    calls.emplace_back(
        [&] { (void)client_->post(path(id, "tools"), R"({"tool":"bash","input":{"command":"sleep 600"}})"); });
  bool busy = false;
  for (int i = 0; i < 500 && !busy; ++i) {
    busy = has(client_->get("/metrics").body, "agentd_http_connections 5");
    ::usleep(10'000);
  }
  // One that works is not deleted below its client.
  EXPECT_EQ(client_->request("DELETE", "/api/v1/conversations/" + id).status, 409);
  EXPECT_EQ(end().code, 0);
  for (std::thread& each : calls) each.join();
}

TEST_F(Serving, TheModelCannotReadTheToken) {
  start("- text: Hello.\n");
  const std::string token = own_token(), home = program_.home();
  ASSERT_GE(token.size(), 43u);
  program_.file("bait", "a file that can be read\n");
  const std::string turns = "- calls:\n    - {name: read_file, input: {path: " + home +
                            "/serve.token}}\n    - {name: grep, input: {pattern: agentd_, path: " + home +
                            "}}\n    - {name: bash, input: {command: cat " + home +
                            "/serve.token}}\n    - {name: read_file, input: {path: bait}}\n- text: Done.\n";
  const Finished ran = program_.run({"run", "look", "--allow", "*", "--json", "--script", program_.script(turns)});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.out, "a file that can be read")) << ran.out;
  EXPECT_FALSE(has(ran.out, token)) << ran.out;
  EXPECT_FALSE(has(client_->get("/api/v1/search?q=" + token.substr(0, 20)).body, "\"snippet\""));
}

// ---- conversations

TEST_F(Serving, AMessageIsAnsweredInTheStreamAndInTheLog) {
  start("- text: Hello back.\n");
  const std::string id = create();
  EventReader events = client_->events(path(id, "events"));
  const HttpAnswer queued = say(id, "hello");
  EXPECT_EQ(queued.status, 202) << queued.body;
  const auto ended = events.until("run_ended");
  ASSERT_TRUE(ended);
  EXPECT_TRUE(has(ended->data, "Hello back.")) << ended->data;
  const HttpAnswer log = client_->get(path(id, "messages"));
  EXPECT_TRUE(has(log.body, "\"hello\"") && has(log.body, "Hello back.")) << log.body;
  EXPECT_TRUE(has(client_->get("/api/v1/conversations").body, id));
  EXPECT_TRUE(has(client_->get("/api/v1/search?q=hello").body, id));
  EXPECT_TRUE(has(client_->get("/metrics").body, "agentd_runs_total{outcome=\"stop\"} 1\n"));
  EXPECT_EQ(end().code, 0);
  // The command line has the same.
  EXPECT_TRUE(has(program_.run({"conversation", "show", id}).out, "Hello back."));
}

// A client that leaves behind any event, and comes back with its id, has seen each once.
TEST_F(Serving, WhoComesBackMissesNothing) {
  start("- text: A first answer with several words in it.\n- text: And the second one.\n");
  const std::string id = create();
  EventReader whole = client_->events(path(id, "events"));
  EXPECT_EQ(say(id, "one").status, 202);
  ASSERT_TRUE(whole.until("run_ended"));
  EXPECT_EQ(say(id, "two").status, 202);
  ASSERT_TRUE(whole.until("run_ended"));
  for (std::size_t left = 0; left + 1 < whole.seen.size(); ++left) {
    EventReader back = client_->events(path(id, "events"), whole.seen[left].id);
    for (std::size_t i = left + 1; i < whole.seen.size(); ++i) {
      const auto event = back.next();
      ASSERT_TRUE(event) << "left behind " << left;
      EXPECT_EQ(event->id, whole.seen[i].id);
      EXPECT_EQ(event->data, whole.seen[i].data);
    }
  }
  EXPECT_EQ(client_->request("GET", path(id, "events"), {}, "Last-Event-ID: yesterday\r\n").status, 400);
}

TEST_F(Serving, AfterAKillNothingIsLostAndNothingRunsTwice) {
  start("- text: Only once.\n");
  const std::string id = create();
  EventReader events = client_->events(path(id, "events"));
  EXPECT_EQ(say(id, "hello", R"(,"key":"a")").status, 202);
  const auto ended = events.until("run_ended");
  ASSERT_TRUE(ended);
  EXPECT_EQ(end(SIGKILL).code, 128 + SIGKILL);
  start("- text: Never.\n");
  // Of an epoch that is gone: the log from there.
  EventReader back = client_->events(path(id, "events"), ended->id);
  const auto resync = back.next();
  ASSERT_TRUE(resync);
  EXPECT_EQ(resync->type, "resync");
  EXPECT_EQ(say(id, "hello", R"(,"key":"a")").status, 202);
  const auto again = back.until("user_message");
  ASSERT_TRUE(again);
  EXPECT_TRUE(has(again->data, "\"repeated\":true")) << again->data;
  const std::string log = client_->get(path(id, "messages")).body;
  EXPECT_TRUE(has(log, "Only once.")) << log;
  EXPECT_FALSE(has(log, "Never.")) << log;
}

TEST_F(Serving, AConversationIsShownBeforeItsFirstMessage) {
  start("- text: Hello.\n");
  const std::string id = create();
  const HttpAnswer shown = client_->get("/api/v1/conversations/" + id);
  EXPECT_EQ(shown.status, 200) << shown.body;
  const JsonDocument document = shown.json();
  EXPECT_EQ(document.root()["conversation"]["id"].string_or(""), id);
  EXPECT_EQ(document.root()["conversation"]["cwd"].string_or(""), program_.project());
  EXPECT_EQ(document.root()["state"].string_or(""), "idle");
  EXPECT_TRUE(has(client_->get(path(id, "messages")).body, R"("messages":[])"));
  EXPECT_TRUE(has(client_->get(path(id, "traces")).body, R"("traces":[])"));
  for (const HttpAnswer& none : {client_->get(path(id, "export")), client_->post(path(id, "fork"), "{}")}) {
    EXPECT_EQ(none.status, 404) << none.body;
    EXPECT_TRUE(has(none.body, "nothing was said in conversation " + id + " yet")) << none.body;
  }
  // One that was deleted, or never was, is not shown.
  EventReader events = client_->events(path(id, "events"));
  EXPECT_EQ(say(id, "hello").status, 202);
  ASSERT_TRUE(events.until("run_ended"));
  EXPECT_TRUE(has(client_->get(path(id, "messages")).body, "Hello."));
  unsigned deleted = 0;
  for (int i = 0; i < 1'000 && deleted != 200; ++i) {  // the run is over a moment after it has said so
    if (i != 0) ::usleep(10'000);
    deleted = static_cast<unsigned>(client_->request("DELETE", "/api/v1/conversations/" + id).status);
  }
  EXPECT_EQ(deleted, 200u);
  for (const std::string& gone : {id, std::string("01ARZ3NDEKTSV4RRFFQ69G5FAV")})
    for (const char* const what : {"", "/messages", "/traces"})
      EXPECT_EQ(client_->get("/api/v1/conversations/" + gone + what).status, 404) << gone << what;
}

// Stricter or less strict than the settings', a mode is the conversation's own, and that of its forks.
TEST_F(Serving, TheModeOfAConversationHoldsAfterARestart) {
  const std::string writes =
      "repeat: true\nturns:\n  - calls: [{name: write_file, input: {path: made.txt, content: x}}]\n  - text: Done.\n";
  const std::vector<std::string> settings{"--set", "permissions.mode=accept_edits"};
  const std::string file = program_.project() + "/made.txt";
  const auto makes = [&](const std::string& id) {
    std::filesystem::remove(file);
    EventReader events = client_->events(path(id, "events"));
    EXPECT_EQ(say(id, "make it").status, 202);
    EXPECT_TRUE(events.until("run_ended"));
    return std::filesystem::exists(file);
  };
  start(writes, settings);
  const std::string plain = create(), plan = create(R"(,"mode":"plan")"), ask = create(R"(,"mode":"ask")");
  EXPECT_TRUE(makes(plain));
  EXPECT_FALSE(makes(plan));
  EXPECT_FALSE(makes(ask));
  EXPECT_EQ(end(SIGKILL).code, 128 + SIGKILL);
  start(writes, settings);
  const HttpAnswer forked = client_->post(path(plan, "fork"), "{}");
  ASSERT_EQ(forked.status, 201) << forked.body;
  const std::string fork(forked.json().root()["conversation"]["id"].string_or(""));
  const Finished by_command = program_.run({"conversation", "fork", plan, "--json"});
  const auto other = JsonDocument::parse(by_command.out);
  ASSERT_TRUE(other) << by_command.err;
  EXPECT_TRUE(makes(plain));
  EXPECT_FALSE(makes(plan));
  EXPECT_FALSE(makes(fork));
  EXPECT_FALSE(makes(std::string(other->root()["id"].string_or(""))));
  // A question of before the restart still waits.
  EXPECT_TRUE(has(client_->get("/api/v1/approvals").body, ask));
  EXPECT_EQ(end().code, 0);
  // An export does not have it.
  const Finished exported = program_.run({"conversation", "export", plan});
  EXPECT_FALSE(has(exported.out, "\"plan\"")) << exported.out;
}

TEST_F(Serving, ACheckpointOfAConversationHasItsMode) {
  start("repeat: true\nturns:\n  - calls: [{name: bash, input: {command: touch made.txt}}]\n  - text: Done.\n");
  const auto makes = [&](const std::string& id) {
    std::filesystem::remove(program_.project() + "/made.txt");
    EventReader events = client_->events(path(id, "events"));
    EXPECT_EQ(say(id, "make it").status, 202);
    EXPECT_TRUE(events.until("run_ended"));
    return std::filesystem::exists(program_.project() + "/made.txt");
  };
  const std::string allowed = create(R"(,"mode":"allow")");
  EXPECT_TRUE(makes(allowed));
  const HttpAnswer saved = client_->post(path(allowed, "checkpoints"), "{}");
  ASSERT_EQ(saved.status, 201) << saved.body;
  const HttpAnswer resumed = client_->post(
      "/api/v1/checkpoints/" + std::string(saved.json().root()["id"].string_or("")) + "/resume", R"({"level":"full"})");
  ASSERT_EQ(resumed.status, 201) << resumed.body;
  EXPECT_TRUE(makes(std::string(resumed.json().root()["conversation_id"].string_or(""))));
}

// A directory that leads into agentd's own since its conversation was begun.
TEST_F(Serving, NoWorkBeginsInADirectoryThatBecameClosed) {
  const std::string where = program_.directory().file("where");
  std::filesystem::create_directories(where);
  std::filesystem::create_directories(program_.home() + "/inside");
  program_.set_project(where);
  start("- text: Hello back.\n");
  const std::string id = create();
  EventReader events = client_->events(path(id, "events"));
  EXPECT_EQ(say(id, "hello").status, 202);
  ASSERT_TRUE(events.until("run_ended"));
  EXPECT_EQ(end().code, 0);

  std::filesystem::remove_all(where);
  std::filesystem::create_directory_symlink(program_.home() + "/inside", where);
  start("- text: Never.\n");
  const HttpAnswer refused = say(id, "hello");
  EXPECT_EQ(refused.status, 409) << refused.body;
  EXPECT_TRUE(has(refused.body, "no client works in")) << refused.body;
  EXPECT_FALSE(has(client_->get(path(id, "messages")).body, "Never."));

  // Its control: the directory is one of its own again.
  std::filesystem::remove(where);
  std::filesystem::create_directories(where);
  EXPECT_EQ(say(id, "hello").status, 202);
}

TEST_F(Serving, ARunIsCancelledAndWhatWaitsComesBack) {
  start("- text: late\n  delay_ms: 600000\n");
  const std::string id = create();
  EventReader events = client_->events(path(id, "events"));
  EXPECT_EQ(say(id, "one").status, 202);
  ASSERT_TRUE(events.until("turn_started"));
  const HttpAnswer second = say(id, "two", R"(,"key":"b")");
  EXPECT_TRUE(has(second.body, "follow_up")) << second.body;
  EXPECT_TRUE(has(client_->get("/api/v1/sessions").body, "\"active\""));
  EXPECT_TRUE(has(client_->post(path(id, "cancel"), "{}").body, "true"));
  const auto returned = events.until("returned");
  ASSERT_TRUE(returned);
  EXPECT_TRUE(has(returned->data, "two") && has(returned->data, "\"b\"")) << returned->data;
  EXPECT_EQ(end().code, 0);
}

TEST_F(Serving, NoMoreMessagesWaitThanTheGuideSays) {
  start("- text: late\n  delay_ms: 600000\n");
  const std::string id = create();
  EventReader events = client_->events(path(id, "events"));
  EXPECT_EQ(say(id, "one").status, 202);
  ASSERT_TRUE(events.until("turn_started"));
  int taken = 0;
  HttpAnswer last;
  for (int i = 0; i < 100; ++i) {
    last = say(id, "more");
    if (last.status == 202) ++taken;
  }
  EXPECT_EQ(taken, 64);
  EXPECT_EQ(last.status, 503) << last.body;
  EXPECT_TRUE(has(last.body, "too many messages wait in this conversation")) << last.body;
  EXPECT_TRUE(has(client_->post(path(id, "cancel"), "{}").body, "true"));
  ASSERT_TRUE(events.until("returned"));
  EXPECT_EQ(end().code, 0);
}

// ---- questions

TEST_F(Serving, ACallWithoutAModelThatWaitsSaysSo) {
  start("- text: Hello.\n");
  const std::string id = create();
  const HttpAnswer waits = client_->post(path(id, "tools"), R"({"tool":"bash","input":{"command":"echo done"}})");
  EXPECT_EQ(waits.status, 200) << waits.body;
  EXPECT_EQ(waits.json().root()["status"].string_or(""), "waiting") << waits.body;
  EXPECT_FALSE(waits.json().root()["waits_for"].string_or("").empty()) << waits.body;
}

TEST_F(Serving, SpendingIsShownSinceADay) {
  start("- text: Hello.\n");
  for (const char* const wrong : {"garbage", "2026-1-31", "2026-13-01", "2026-01-32", "20260131aa", ""})
    EXPECT_EQ(client_->get(std::string("/api/v1/usage?since=") + wrong).status, 400) << wrong;
  EXPECT_EQ(client_->get("/api/v1/usage?since=2026-01-31").status, 200);
  EXPECT_EQ(client_->get("/api/v1/usage").status, 200);
}

TEST_F(Serving, TheListOfModelsSaysWhichAreRetired) {
  ASSERT_TRUE(write_file_atomically(program_.home() + "/models.yaml",
                                    "models: [{pattern: played-old, retires: " + utc_day(-1) +
                                        "}, {pattern: played-new, retires: " + utc_day(2) + "}]\n",
                                    0600));
  start("- text: Hello.\n");
  const HttpAnswer got = client_->get("/api/v1/models");
  ASSERT_EQ(got.status, 200) << got.body;
  const JsonDocument body = got.json();
  std::string found;
  for (std::size_t i = 0; i < body.root()["models"].size(); ++i) {
    const JsonView model = body.root()["models"].at(i);
    if (const std::string pattern(model["pattern"].string_or("")); pattern.starts_with("played"))
      found += pattern + (model["retired"].bool_or(false) ? " retired " : " served ");
  }
  EXPECT_EQ(found, "played-old retired played-new served ");
}

TEST_F(Serving, APluginThatDoesNotWorkIsShownWithTheReason) {
  program_.config("serve: {port: 0, drain_seconds: 5}\n");
  AGENTD_ASSERT(make_directories(program_.home() + "/hooks"));
  ::chmod(program_.home().c_str(), 0700);
  ::chmod((program_.home() + "/hooks").c_str(), 0700);
  AGENTD_ASSERT(write_file_atomically(program_.home() + "/hooks/broken.so", "this is no module", 0700));
  start("- text: Hello.\n");
  (void)create();
  const HttpAnswer list = client_->get("/api/v1/plugins");
  const JsonDocument document = list.json();
  std::map<std::string, std::pair<std::string, std::string>> states;
  const JsonView plugins = document.root()["plugins"];
  for (std::size_t i = 0; i < plugins.size(); ++i)
    states[std::string(plugins.at(i)["name"].string_or(""))] = {std::string(plugins.at(i)["state"].string_or("")),
                                                                std::string(plugins.at(i)["why"].string_or(""))};
  EXPECT_EQ(states["broken"].first, "failed") << list.body;
  EXPECT_FALSE(states["broken"].second.empty()) << list.body;
  EXPECT_EQ(states["audit_log"].first, "off") << list.body;
  EXPECT_EQ(states["workspace_tools"].first, "loaded") << list.body;
  EXPECT_EQ(states["workspace_tools"].second, "") << list.body;
}

TEST_F(Serving, AnErrorOfAServiceHasTheCodeOfItsStatus) {
  start("- text: Hello.\n");
  const HttpAnswer none = client_->get("/api/v1/checkpoints/01ARZ3NDEKTSV4RRFFQ69G5FAV");
  EXPECT_EQ(none.status, 404) << none.body;
  EXPECT_EQ(none.json().root()["error"]["code"].string_or(""), "not_found") << none.body;
}

TEST_F(Serving, AQuestionWaitsForATokenThatMayAnswerIt) {
  start("- calls: [{name: bash, input: {command: echo done}}]\n- text: It is done.\n");
  const std::string id = create();
  EventReader events = client_->events(path(id, "events"));
  EXPECT_EQ(say(id, "do it").status, 202);
  ASSERT_TRUE(events.until("run_ended"));
  const HttpAnswer waits = client_->get("/api/v1/approvals");
  const JsonDocument list = waits.json();
  ASSERT_EQ(list.root()["approvals"].size(), 1u) << waits.body;
  const std::string wait(list.root()["approvals"].at(0)["wait_id"].string_or(""));
  EXPECT_TRUE(has(waits.body, "echo done"));
  const HttpClient runner = client_->as(token("runner", "run")), person = client_->as(token("person", "approve"));
  EXPECT_EQ(runner.post("/api/v1/approvals/" + wait, R"({"decision":"allow"})").status, 403);
  EXPECT_EQ(person.post("/api/v1/approvals/" + wait, R"({"decision":"perhaps"})").status, 400);
  EXPECT_EQ(person.post(path(id, "messages"), R"({"text":"x"})").status, 403) << "who answers does not ask";
  const HttpAnswer answered = person.post("/api/v1/approvals/" + wait, R"({"decision":"allow"})");
  EXPECT_EQ(answered.status, 200) << answered.body;
  const auto ended = events.until("run_ended");
  ASSERT_TRUE(ended);
  EXPECT_TRUE(has(ended->data, "It is done.")) << ended->data;
  EXPECT_NE(person.post("/api/v1/approvals/" + wait, R"({"decision":"deny"})").status, 200) << "once";
}

// ---- checkpoints and memories

TEST_F(Serving, TheThresholdOfAnotherAgentSavesACheckpoint) {
  start("- text: Hello.\n");
  const HttpAnswer saved =
      client_->post("/api/v1/threshold", R"({"project_id":"ann_tool","session_id":"s1","percent":85})");
  EXPECT_EQ(saved.status, 200) << saved.body;
  EXPECT_FALSE(saved.json().root()["id"].string_or("").empty()) << saved.body;
  EXPECT_TRUE(has(client_->get("/api/v1/checkpoints?project_id=ann_tool").body, "\"percent\":85"));
  EXPECT_TRUE(has(client_->get("/api/v1/checkpoints").body, "\"percent\":85")) << "of all projects";
  EXPECT_FALSE(has(client_->get("/api/v1/checkpoints?project_id=another").body, "\"percent\":85"));
  const HttpAnswer of_directory = client_->post(
      "/api/v1/threshold", R"({"project":")" + program_.project() + R"(","session_id":"s2","percent":86})");
  EXPECT_EQ(of_directory.status, 200) << of_directory.body;
  EXPECT_TRUE(has(client_->get("/api/v1/checkpoints?project=" + program_.project()).body, "\"percent\":86"));
  EXPECT_EQ(client_->post("/api/v1/threshold", R"({"session_id":"s1"})").status, 400);
  EXPECT_EQ(client_->post("/api/v1/threshold", R"({"session_id":"s1","percent":"85"})").status, 400);
  EXPECT_EQ(client_->post("/api/v1/threshold", R"({"session_id":"s1","percent":5,"colour":"red"})").status, 400);
}

// ---- the process

TEST_F(Serving, AHomeHasOneDaemon) {
  start("- text: Hello.\n");
  const Finished second = program_.run({"serve", "--script", program_.script("- text: x\n")});
  EXPECT_EQ(second.code, 75) << second.err;
  EXPECT_TRUE(has(second.err, "another 'agentd serve'")) << second.err;
  EXPECT_EQ(client_->get("/healthz").status, 200);
}

// A socket to which a daemon reports as to a service manager.
class ServiceManagerSocket {
 public:
  explicit ServiceManagerSocket(std::string path)
      : path_(std::move(path)), own_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un place{};
    place.sun_family = AF_UNIX;
    path_.copy(place.sun_path, sizeof place.sun_path - 1);
    EXPECT_EQ(::bind(own_.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
  }
  const std::string& path() const { return path_; }
  // Empty: nothing came within a second.
  std::string next() const {
    pollfd ready{own_.get(), POLLIN, 0};
    if (::poll(&ready, 1, 1'000) <= 0) return {};
    char text[64];
    const ssize_t got = ::recv(own_.get(), text, sizeof text, 0);
    return {text, static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
  }
  // False after a minute.
  bool hears(const std::string& text, int times) const {
    for (const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
         times > 0 && std::chrono::steady_clock::now() < until;)
      if (next() == text) --times;
    return times == 0;
  }

 private:
  const std::string path_;
  const UniqueFd own_;
};

// As many as come in a minute where each has five seconds are too few.
TEST_F(Serving, AWatchdogIsToldAtHalfOfItsTime) {
  const ServiceManagerSocket manager(program_.directory().file("notify"));
  program_.set("NOTIFY_SOCKET=" + manager.path());
  program_.set("WATCHDOG_USEC=200000");
  start("- text: Hello.\n");
  EXPECT_TRUE(manager.hears("WATCHDOG=1", 20));
  EXPECT_EQ(end().code, 0);
}

// A manager that hears of the end behind it ends what still works when its watchdog is told nothing.
TEST_F(Serving, AManagerHearsOfTheEndBeforeTheLastRunHasEnded) {
  const ServiceManagerSocket manager(program_.directory().file("notify"));
  program_.set("NOTIFY_SOCKET=" + manager.path());
  start("- {text: Late., delay_ms: 2000}\n");
  const std::string id = create();
  EventReader events = client_->events(path(id, "events"));
  EXPECT_EQ(say(id, "hello").status, 202);
  ASSERT_TRUE(events.until("run_started"));
  running_->signal(SIGTERM);
  EXPECT_TRUE(manager.hears("STOPPING=1", 1));
  const Finished before = program_.run({"conversation", "show", id});
  EXPECT_FALSE(has(before.out, "Late.")) << before.out;
  EXPECT_EQ(running_->wait().code, 0);
  running_.reset();
  EXPECT_TRUE(has(program_.run({"conversation", "show", id}).out, "Late."));
}

TEST_F(Serving, ListensOnThisMachineAlone) {
  for (const char* const address : {"0.0.0.0", "192.0.2.1", "::", "localhost"}) {
    const Finished ran = program_.run(
        {"serve", "--set", std::string("serve.address=") + address, "--script", program_.script("- text: x\n")});
    EXPECT_EQ(ran.code, 2) << address << ": " << ran.err;
    EXPECT_TRUE(has(ran.err, "127.0.0.1")) << ran.err;
  }
}

}  // namespace
}  // namespace agentd::testing
