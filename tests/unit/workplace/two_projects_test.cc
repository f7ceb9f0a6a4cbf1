// SPDX-License-Identifier: Apache-2.0
// Several projects in one process: one runtime, a workplace for each, and sessions that work at the same time.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "core/base/hash.h"
#include "core/base/mutex.h"
#include "core/session/client_session.h"
#include "core/trust/trust_store.h"
#include "tests/support/fake_process_host.h"
#include "tests/support/runtime_test.h"

namespace agentd {
namespace {

class Results final : public EventSink {
 public:
  void on_event(const RunEvent& event) override {
    if (const auto* const notice = std::get_if<told::Notice>(&event.body)) notices.emplace_back(notice->text);
    const auto* const ended = std::get_if<told::ToolEnded>(&event.body);
    if (ended == nullptr) return;
    texts.emplace_back(ended->content);
    while (texts.back().ends_with('\n')) texts.back().pop_back();
  }
  std::vector<std::string> texts;  // of the tool calls
  std::vector<std::string> notices;
};

class Projects : public testing::RuntimeTest<SystemClock> {
 protected:
  // A project that is open, with one session.
  struct Open {
    Mutex mutex;
    std::vector<std::string> warnings GUARDED_BY(mutex);
    Results results;
    std::unique_ptr<Workplace> workplace;
    std::unique_ptr<ClientSession> client;
  };

  Projects() {
    make_directory("home/hooks");
    surroundings_.executable = std::string(AGENTD_BUILD) + "/agentd";  // the bundled hooks are next to it
  }
  ~Projects() override {
    for (auto& each : open_) close(*each);
  }

  std::string log() const { return temp_.file("log"); }
  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    std::ifstream file(log());
    for (std::string line; std::getline(file, line);) out.push_back(line);
    return out;
  }
  long count(const std::string& what) const {
    const auto all = lines();
    return std::count_if(all.begin(), all.end(),
                         [&](const std::string& line) { return line.find(what) != std::string::npos; });
  }

  // A file of the project's .agent/hooks, trusted unless `trusted` is false.
  void put_in_project(const std::string& project, const std::string& file, const std::string& bytes,
                      bool trusted = true) const {
    make_directory(project + "/.agent");
    make_directory(project + "/.agent/hooks");
    const std::string path = put(project + "/.agent/hooks/" + file, bytes);
    if (!trusted) return;
    auto store = TrustStore::open(temp_.file("home/trust.json"), ::geteuid(), clock_);
    ASSERT_TRUE(store) << store.error().message;
    TrustEntry entry;
    entry.name = "project/" + file.substr(0, file.find('.'));
    entry.path = std::filesystem::canonical(path).string();
    entry.digest = hex(sha256(bytes));
    entry.repository = TrustStore::repository_key(temp_.file(project)).value_or("");
    const auto recorded = store->record(entry);
    ASSERT_TRUE(recorded) << recorded.error().message;
  }
  // Replaces a file as a build does, which renames.
  std::string put(const std::string& name, const std::string& bytes) const {
    const std::string fresh = temp_.write("fresh", bytes);
    ::chmod(fresh.c_str(), 0644);
    std::filesystem::rename(fresh, temp_.file(name));
    return temp_.file(name);
  }
  static std::string counter(int revision) {
    std::ifstream in(std::string(AGENTD_COUNTERS) + "/counter_" + std::to_string(revision) + ".so", std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static std::string keeper() {
    std::ifstream in(std::string(AGENTD_KEEPER), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // `hooks`: more lines of the section.
  void begin(const std::string& script, const std::string& hooks = {}) {
    std::string settings = "permissions: {mode: allow}\nhooks:\n  isolation: in-process\n  dev: true\n" + hooks;
    for (const char* const name : {"counter", "project/counter"})
      settings += "  " + std::string(name) + ": {config: {log: '" + log() + "'}}\n";
    begin_runtime(script, settings);
  }
  Open& open(const std::string& project) {
    Open& out = *open_.emplace_back(std::make_unique<Open>());
    const std::string root = temp_.file(project);
    auto found = Workplace::find(*runtime_, root, {}, [&out](const std::string& text) {
      const MutexLock lock(out.mutex);
      out.warnings.push_back(text);
    });
    EXPECT_TRUE(found) << (found ? "" : found.error().message);
    out.workplace = std::move(*found);
    const auto loaded = out.workplace->hooks().load(out.workplace->roots_of(root));
    EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
    out.client = session_in(out, project, out.results);
    return out;
  }
  std::unique_ptr<ClientSession> session_in(const Open& project, const std::string& name, EventSink& events) const {
    return session_of(project, OpenRequest{temp_.file(name), events});
  }
  static std::unique_ptr<ClientSession> session_of(const Open& project, OpenRequest request) {
    auto prepared = ClientSession::prepare(*project.workplace, std::move(request));
    EXPECT_TRUE(prepared) << (prepared ? "" : prepared.error().message);
    const auto opened = (*prepared)->open({}, {});
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
    return std::move(*prepared);
  }
  static void close(Open& project) {
    if (project.client) project.client->end("exit");
    project.client.reset();
    project.workplace.reset();
  }
  // The answer of a run.
  static std::string run(ClientSession& client) {
    const auto done = client.session()->run("go", {});
    return done ? done->final_text : "error: " + done.error().message;
  }
  static std::string run(Open& project) { return run(*project.client); }
  static bool has_tool(Open& project, const std::string& name) {
    const auto tools = project.workplace->hooks().tools()->tools();
    return std::any_of(tools.begin(), tools.end(), [&](const Tool& tool) { return tool.name == name; });
  }
  static bool warns(Open& project, const std::string& what) {
    const MutexLock lock(project.mutex);
    return std::any_of(project.warnings.begin(), project.warnings.end(),
                       [&](const std::string& text) { return text.find(what) != std::string::npos; });
  }

  std::vector<std::unique_ptr<Open>> open_;
};

std::string guard_of(const std::string& tool, const std::string& reason) {
  return "on: before_tool_call\nmatcher: " + tool + "\nguard: true\ndo: {action: block, reason: " + reason + "}\n";
}
std::string call_of_bash(const std::string& command) {
  return "- calls: [{name: bash, input: {command: '" + command + "', timeout_ms: 30000}}]\n";
}
std::string turns(int runs, const std::string& call) {
  std::string out;
  for (int i = 0; i < runs; ++i) out += call + "- text: done\n";
  return out;
}

TEST_F(Projects, GuardOfEachActsThereAloneAndTheUsersPluginIsOneInstanceForBoth) {
  put_in_project("a", "guard.yaml", guard_of("bash", "no commands in a"));
  put_in_project("b", "guard.yaml", guard_of("read_file", "no reading in b"));
  put("home/hooks/counter.so", counter(1));
  temp_.write("a/note", "note of a\n");
  temp_.write("b/note", "note of b\n");
  begin(turns(2, "- calls: [{name: bash, input: {command: 'cat note'}}, {name: read_file, input: {path: note}}]\n"));
  Open &a = open("a"), &b = open("b");
  EXPECT_EQ(run(a), "done");
  ASSERT_EQ(a.results.texts.size(), 2u);
  EXPECT_NE(a.results.texts[0].find("no commands in a"), std::string::npos) << a.results.texts[0];
  EXPECT_NE(a.results.texts[1].find("note of a"), std::string::npos) << a.results.texts[1];
  const long calls_of_a = count("call");
  EXPECT_EQ(run(b), "done");
  ASSERT_EQ(b.results.texts.size(), 2u);
  EXPECT_EQ(b.results.texts[0], "note of b");
  EXPECT_NE(b.results.texts[1].find("no reading in b"), std::string::npos) << b.results.texts[1];
  EXPECT_EQ(count("created"), 1);
  EXPECT_GT(calls_of_a, 0);
  EXPECT_GT(count("call"), calls_of_a);
}

TEST_F(Projects, TurnsOfTwoAtTheSameTimeHaveTheirOwnFilesAndOnePlugin) {
  put("home/hooks/counter.so", counter(1));
  temp_.write("a/note", "note of a\n");
  temp_.write("b/note", "note of b\n");
  std::string script;
  constexpr int kRounds = 3;
  for (int i = 0; i < kRounds; ++i) {
    // Each waits in its tool call until the other one is there.
    const std::string here = "arrived" + std::to_string(i);
    const std::string meet = call_of_bash("touch " + here + "; until test -e " + temp_.file("a/") + here +
                                          " && test -e " + temp_.file("b/") + here + "; do sleep 0.01; done; cat note");
    script += meet + meet + "- text: done\n- text: done\n";
  }
  begin(script);
  Open &a = open("a"), &b = open("b");
  for (int i = 0; i < kRounds; ++i) {
    std::string of_a, of_b;
    {
      const std::jthread first([&] { of_a = run(a); });
      const std::jthread second([&] { of_b = run(b); });
    }
    EXPECT_EQ(of_a, "done");
    EXPECT_EQ(of_b, "done");
  }
  EXPECT_EQ(a.results.texts, std::vector<std::string>(kRounds, "note of a"));
  EXPECT_EQ(b.results.texts, std::vector<std::string>(kRounds, "note of b"));
  EXPECT_EQ(count("created"), 1);
  EXPECT_EQ(count("1 call " + std::to_string(2 * kRounds)), 1);
}

TEST_F(Projects, SessionsOfOneDifferInModeRootsAndBudget) {
  make_directory("a/inner");
  temp_.write("a/note", "note of a\n");
  temp_.write("a/inner/note", "note of the inner\n");
  begin(turns(3, call_of_bash("cat note")) + "- text: too much\n");
  Open& a = open("a");
  EXPECT_EQ(run(a), "done");
  Results of_denied, of_inner, of_poor;
  OpenRequest denied{temp_.file("a"), of_denied};
  denied.mode = PermissionRules::Mode::kDeny;
  const auto strict = session_of(a, denied);
  EXPECT_EQ(run(*strict), "done");
  OpenRequest inner{temp_.file("a/inner"), of_inner};
  inner.roots = {temp_.file("a/inner")};
  const auto narrow = session_of(a, inner);
  EXPECT_EQ(run(*narrow), "done");
  OpenRequest poor{temp_.file("a"), of_poor};
  poor.budget = Limits{.tokens = 1};
  const auto broke = session_of(a, poor);
  EXPECT_TRUE(run(*broke).starts_with("error: ")) << run(*broke);
  EXPECT_EQ(a.results.texts, std::vector<std::string>{"note of a"});
  ASSERT_EQ(of_denied.texts.size(), 1u);
  EXPECT_NE(of_denied.texts[0].find("do not allow bash"), std::string::npos) << of_denied.texts[0];
  EXPECT_EQ(of_inner.texts, std::vector<std::string>{"note of the inner"});
}

TEST_F(Projects, ReloadedPluginOfTheUserActsInBothFromTheirNextTurn) {
  put("home/hooks/counter.so", counter(1));
  begin(turns(4, call_of_bash("true")));
  Open &a = open("a"), &b = open("b");
  run(a);
  run(b);
  put("home/hooks/counter.so", counter(2));
  EXPECT_EQ(run(a), "done");
  EXPECT_EQ(run(b), "done");
  EXPECT_EQ(lines(), (std::vector<std::string>{"1 created 0", "1 call 1", "1 call 2", "2 created 0", "2 call 3",
                                               "1 destroyed 2", "2 call 4"}));
  EXPECT_TRUE(warns(a, "the hook counter was reloaded"));
  EXPECT_TRUE(warns(b, "the hook counter was reloaded"));
}

TEST_F(Projects, ReloadedPluginOfOneProjectIsNotTheOthers) {
  put_in_project("a", "counter.so", counter(1));
  put_in_project("b", "counter.so", counter(1));
  begin(turns(4, call_of_bash("true")));
  Open &a = open("a"), &b = open("b");
  run(a);
  run(b);
  EXPECT_EQ(count("1 created"), 2);
  EXPECT_EQ(count("1 call 1"), 2);
  put_in_project("a", "counter.so", counter(2));
  EXPECT_EQ(run(a), "done");
  EXPECT_EQ(run(b), "done");
  EXPECT_EQ(count("2 created"), 1);
  EXPECT_EQ(count("2 call 2"), 1);
  EXPECT_EQ(count("1 call 2"), 1);
  EXPECT_TRUE(warns(a, "the hook project/counter was reloaded"));
  EXPECT_FALSE(warns(b, "was reloaded"));
}

TEST_F(Projects, SessionsThatBeginTurnsWhileAPluginIsReplacedMakeEachVersionOnce) {
  constexpr int kRuns = 20, kVersions = 10;
  put("home/hooks/counter.so", counter(1));
  std::string script;
  for (int i = 0; i < 4 * kRuns; ++i) script += "- text: done\n";
  begin(script);
  Open &a = open("a"), &b = open("b");
  Results others;
  const auto second_of_a = session_in(a, "a", others), second_of_b = session_in(b, "b", others);
  {
    std::vector<std::jthread> threads;
    for (ClientSession* const client : {a.client.get(), b.client.get(), second_of_a.get(), second_of_b.get()})
      threads.emplace_back([client] {
        for (int i = 0; i < kRuns; ++i) EXPECT_EQ(run(*client), "done");
      });
    for (int i = 0; i < kVersions; ++i) {
      put("home/hooks/counter.so", counter(2 - i % 2));
      std::this_thread::sleep_for(Milliseconds(2));
    }
  }
  EXPECT_GE(count("created"), 1);
  EXPECT_LE(count("created"), 1 + kVersions);
  second_of_a->end("exit");
  second_of_b->end("exit");
}

TEST_F(Projects, OneIsClosedWhileTheOtherWorks) {
  put_in_project("a", "guard.yaml", guard_of("bash", "no commands in a"));
  put("home/hooks/counter.so", counter(1));
  temp_.write("b/note", "note of b\n");
  begin(call_of_bash("touch arrived; until test -e go; do sleep 0.01; done; cat note") + "- text: done\n" +
        turns(1, call_of_bash("cat note")));
  Open &a = open("a"), &b = open("b");
  {
    const std::jthread working([&] { EXPECT_EQ(run(b), "done"); });
    while (!std::filesystem::exists(temp_.file("b/arrived"))) std::this_thread::sleep_for(Milliseconds(2));
    close(a);
    temp_.write("b/go", "");
  }
  EXPECT_EQ(run(b), "done");
  EXPECT_EQ(b.results.texts, std::vector<std::string>(2, "note of b"));
  EXPECT_EQ(count("destroyed"), 0);
  close(b);
  EXPECT_EQ(count("destroyed"), 0);
  runtime_.reset();
  EXPECT_EQ(count("destroyed"), 1);
}

TEST_F(Projects, NoNameToolOrWarningOfOneIsKnownInTheOther) {
  put_in_project("a", "guard.yaml", guard_of("bash", "no commands in a"));
  put_in_project("a", "counter.so", counter(1));
  put_in_project("b", "guard.yaml", guard_of("bash", "no commands in b"), false);
  begin(turns(2, call_of_bash("echo done")));
  Open &a = open("a"), &b = open("b");
  EXPECT_EQ(a.workplace->hooks().kind_of("project/guard"), "yaml");
  EXPECT_EQ(a.workplace->hooks().kind_of("project/counter"), "native");
  EXPECT_TRUE(has_tool(a, "wait"));
  EXPECT_TRUE(has_tool(b, "bash"));
  EXPECT_EQ(b.workplace->hooks().kind_of("project/guard"), "");
  EXPECT_EQ(b.workplace->hooks().kind_of("project/counter"), "");
  EXPECT_FALSE(has_tool(b, "wait"));
  run(a);
  run(b);
  ASSERT_EQ(a.results.texts.size(), 1u);
  EXPECT_NE(a.results.texts[0].find("no commands in a"), std::string::npos) << a.results.texts[0];
  EXPECT_EQ(b.results.texts, std::vector<std::string>{"done"});
  EXPECT_FALSE(warns(a, temp_.file("b/")));
  EXPECT_TRUE(warns(b, temp_.file("b/.agent/hooks/guard.yaml")));
  EXPECT_FALSE(warns(b, temp_.file("a/")));
}

// The user's plugin has the same id: the project's precedes it, in that project.
TEST_F(Projects, PluginOfEachKeepsItsKeysApartAndSeesItsProjectsConversations) {
  for (const char* const project : {"a", "b"}) put_in_project(project, "keeper.so", keeper());
  put("home/hooks/keeper.so", keeper());
  begin("- text: one\n- text: two\n- text: three\n- text: four\n- text: five\n- text: six\n",
        "  project/keeper: {config: {log: '" + log() + "'}, grant: [store]}\n  keeper: {config: {log: '" + log() +
            "'}}\n");
  Open &a = open("a"), &b = open("b"), &c = open("c");
  for (Open* const each : {&a, &b, &c}) run(*each);
  for (Open* const each : {&a, &b, &c}) run(*each);
  const auto all = lines();
  ASSERT_EQ(all.size(), 6u);
  for (const std::size_t first : {0u, 1u, 2u}) EXPECT_EQ(all[first].substr(0, 2), "1 ");
  EXPECT_EQ(all[3], "2 1");
  EXPECT_EQ(all[4], "2 1");
  EXPECT_EQ(all[5], "2 3");
  EXPECT_TRUE(warns(a, "has the same id"));
  EXPECT_FALSE(warns(c, "has the same id"));
}

// ---- the commands of a session

std::string background_call(const std::string& command) {
  return "- calls: [{name: bash, input: {command: '" + command + "', background: true}}]\n- text: done\n";
}
constexpr std::string_view kListCall = "- calls: [{name: bash_output, input: {}}]\n- text: done\n";

bool is_alive(const std::string& pid) {
  std::ifstream stat("/proc/" + pid + "/stat");
  std::string line;
  if (pid.empty() || !std::getline(stat, line)) return false;
  const char state = line[line.rfind(')') + 2];
  return state != 'Z' && state != 'X';
}

TEST_F(Projects, BackgroundCommandOfASessionEndsWithItAndNoOtherSessionSeesIt) {
  begin(background_call("echo $$ >pid; exec sleep 600") + std::string(kListCall) + std::string(kListCall));
  Open& a = open("a");
  Results of_other;
  const auto other = session_in(a, "a", of_other);
  EXPECT_EQ(run(a), "done");
  std::string pid;
  std::ifstream(temp_.file("a/pid")) >> pid;
  EXPECT_EQ(run(a), "done");
  EXPECT_EQ(run(*other), "done");
  ASSERT_EQ(a.results.texts.size(), 2u);
  EXPECT_NE(a.results.texts[1].find("command 1 runs"), std::string::npos) << a.results.texts[1];
  EXPECT_EQ(of_other.texts, std::vector<std::string>{"the session has no background commands"});
  EXPECT_TRUE(is_alive(pid)) << "between runs it goes on";
  other->end("exit");
  EXPECT_TRUE(is_alive(pid)) << "another session's end is not its own";
  EXPECT_TRUE(of_other.notices.empty());
  a.client->end("exit");
  EXPECT_FALSE(is_alive(pid));
  ASSERT_EQ(a.results.notices.size(), 1u);
  EXPECT_TRUE(a.results.notices[0].starts_with("ended a background command of the session: bash -c echo $$ >pid"))
      << a.results.notices[0];
}

TEST_F(Projects, BackgroundCommandEndsWhenItsConversationIsCleared) {
  begin(background_call("echo $$ >pid; exec sleep 600") + std::string(kListCall));
  Open& a = open("a");
  EXPECT_EQ(run(a), "done");
  std::string pid;
  std::ifstream(temp_.file("a/pid")) >> pid;
  EXPECT_TRUE(is_alive(pid));
  const auto cleared = a.client->clear({});
  ASSERT_TRUE(cleared) << cleared.error().message;
  EXPECT_FALSE(is_alive(pid));
  EXPECT_EQ(a.results.notices.size(), 1u);
}

TEST_F(Projects, ClientMayRunTheCommandsOfItsSessionItself) {
  begin(call_of_bash("never here") + "- text: done\n" + background_call("nor here") + call_of_bash("echo here") +
        "- text: done\n");
  Open& a = open("a");
  const auto editor = std::make_shared<testing::FakeProcessHost>();
  Results of_editor;
  OpenRequest request{temp_.file("a"), of_editor};
  request.commands = editor;
  const auto session = session_of(a, request);
  EXPECT_EQ(run(*session), "done");
  EXPECT_EQ(run(*session), "done");
  ASSERT_EQ(of_editor.texts.size(), 2u);
  EXPECT_EQ(of_editor.texts[0], "from the editor");
  EXPECT_TRUE(of_editor.texts[1].starts_with("from the editor")) << of_editor.texts[1];
  ASSERT_EQ(editor->ran.size(), 1u);
  EXPECT_EQ(editor->ran[0].process.argv.back(), "never here");
  ASSERT_EQ(editor->started.size(), 1u);
  EXPECT_FALSE(editor->started[0].ended);
  EXPECT_EQ(run(a), "done");
  EXPECT_EQ(a.results.texts, std::vector<std::string>{"here"}) << "other sessions run theirs as before";
  session->end("exit");
  EXPECT_TRUE(editor->started[0].ended);
  EXPECT_EQ(of_editor.notices.size(), 1u);
}

}  // namespace
}  // namespace agentd
