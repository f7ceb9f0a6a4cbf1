// SPDX-License-Identifier: Apache-2.0
// memory_test.cc - sessions that learn, across processes: a lesson of one is given to the next one with such a task,
// and to no other; checkpoints are offered; what was killed is distilled by a later start.
#include <gtest/gtest.h>
#include <lmdb.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/store/lmdb/lmdb_store.h"
#include "tests/e2e/acp_client.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

// The first process: its model says what it has learned.
constexpr const char* kLearns =
    "- calls:\n"
    "    - name: session_end\n"
    "      input: {task: Make the export of invoices faster, approach: Rows are read in batches of 500, outcome: "
    "success, tags: [invoice export], notes: The index on customer_id must exist}\n"
    "- text: Done.\n";
constexpr const char* kLesson = "Rows are read in batches of 500";
constexpr const char* kSimilar = "the export of invoices must become faster";

// Where the plugin keeps its jobs.
constexpr std::string_view kSpace = "agentd.session_memory", kLease = "\"lease_until_ms\":";

constexpr const char* kDocument =
    "# Priming\n\nA session that begins asks for the lessons of earlier ones. At most three are given, and none where "
    "nothing fits the task.\n\n"
    "# Threshold\n\nAt seventy percent of the context window a checkpoint is saved before hooks are called.\n\n"
    "# Remediation\n\nA failure that was seen before is answered with its fix.\n";

class MemoryAcrossProcesses : public ::testing::Test {
 protected:
  MemoryAcrossProcesses() {
    program_.config("hooks: {dev: true}\n");
    AGENTD_ASSERT(make_directories(program_.home() + "/hooks"));
  }
  Finished scripted(std::vector<std::string> words, const std::string& turns) {
    words.insert(words.end(), {"--script", program_.script(turns)});
    return program_.run(words);
  }
  // A run whose request must, or must not, have the text.
  Finished run_with(const std::string& task, const std::string& expect, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"run", task});
    return scripted(std::move(more), "- text: well\n  expect: {" + expect + "}\n");
  }
  void learn() {
    const Finished ran = scripted({"run", "make the export of invoices faster", "--allow", "*"}, kLearns);
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  // Another directory, which is another project.
  void move_to(const std::string& name) {
    const std::string other = program_.directory().file(name);
    AGENTD_ASSERT(make_directories(other));
    program_.set_project(other);
  }
  std::vector<JsonDocument> lines(std::vector<std::string> words) {
    words.emplace_back("--json");
    const Finished ran = program_.run(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json_lines(ran.out);
  }
  std::vector<JsonDocument> memories() { return lines({"memory", "list"}); }
  std::size_t memories_with(const std::string& text) {
    std::size_t out = 0;
    for (const JsonDocument& each : memories()) out += has(each.root().text(), text) ? 1u : 0u;
    return out;
  }
  // What the memories say, without their ids and times.
  std::vector<std::string> texts() {
    std::vector<std::string> out;
    for (const JsonDocument& each : memories()) {
      std::string line;
      for (const char* const name : {"title", "content", "subject", "kind", "polarity"})
        line += std::string(each.root()[name].string_or("")) + "\n";
      out.push_back(line);
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  // Five minutes pass: whoever was killed no longer has a job. Returns how many were held.
  std::size_t leases_pass() const {
    std::size_t held = 0;
    const SystemClock clock;
    LmdbOptions options;
    options.directory = program_.home() + "/store";
    const auto store = open_lmdb_store(options, clock);
    AGENTD_ASSERT(store);
    const auto jobs = (*store)->scan_keys(kSpace, "job/", "", 10);
    AGENTD_ASSERT(jobs);
    for (const StoredKey& job : *jobs) {
      const std::size_t at = job.value.find(kLease);
      if (at == std::string::npos) continue;
      const std::size_t digits = at + kLease.size();
      KeyOp op{KeyOp::Kind::kPut, job.key, job.value, job.version};
      op.value.replace(digits, op.value.find_first_not_of("0123456789", digits) - digits, "1");
      AGENTD_ASSERT((*store)->commit_keys(kSpace, {&op, 1}));
      ++held;
    }
    return held;
  }
  // The number of transactions that the store of the home has seen.
  std::uint64_t commits() const {
    MDB_env* env = nullptr;
    MDB_envinfo info{};
    EXPECT_EQ(mdb_env_create(&env), 0);
    EXPECT_EQ(mdb_env_open(env, (program_.home() + "/store").c_str(), MDB_RDONLY, 0600), 0);
    EXPECT_EQ(mdb_env_info(env, &info), 0);
    mdb_env_close(env);
    return info.me_last_txnid;
  }
  // What hooks of session_start get is written there.
  void record_starts() {
    AGENTD_ASSERT(write_file_atomically(program_.home() + "/hooks/starts.yaml",
                                        "on: session_start\ncommand: cat > " + starts() + "\n", 0600));
  }
  std::string starts() const { return program_.directory().file("start.json"); }
  std::string started() const { return read_file(starts(), 1u << 20).value_or(""); }

  Program program_;
};

// ---- lessons

TEST_F(MemoryAcrossProcesses, ALessonReachesTheNextSessionWithSuchATaskAndNoOther) {
  learn();
  const std::string first = program_.newest();
  const Finished similar =
      run_with(kSimilar, std::string("contains: ['") + kLesson + "', '" + first + "', '[memory ']");
  EXPECT_EQ(similar.code, 0) << similar.err;
  const Finished other =
      run_with("translate the welcome mail into French", std::string("not_contains: '") + kLesson + "'");
  EXPECT_EQ(other.code, 0) << other.err;
  move_to("other");
  const Finished elsewhere = run_with(kSimilar, std::string("not_contains: '") + kLesson + "'");
  EXPECT_EQ(elsewhere.code, 0) << elsewhere.err;
}

TEST_F(MemoryAcrossProcesses, TheSessionsEndMakesWhatTheToolKeptNotASecondTime) {
  AGENTD_ASSERT(write_file_atomically(program_.home() + "/hooks/ends.yaml",
                                      "on: session_end\ncommand: cat > " + program_.directory().file("end.json") + "\n",
                                      0600));
  learn();
  EXPECT_EQ(memories_with(kLesson), 1u);
  const std::string end = read_file(program_.directory().file("end.json"), 1u << 20).value_or("");
  EXPECT_TRUE(has(end, kLesson)) << "other hooks hear of it: " << end;
  EXPECT_TRUE(has(end, "The index on customer_id must exist")) << end;
}

TEST_F(MemoryAcrossProcesses, ASessionThatEndsPlainlyLeavesWhatItsLogShows) {
  program_.file("check.sh", "test -f settings.txt || { echo 'error: the limit is not set' >&2; exit 1; }\n");
  const Finished ran = scripted({"run", "make check.sh pass", "--allow", "*"},
                                "- calls: [{name: bash, input: {command: sh check.sh}}]\n"
                                "- calls: [{name: write_file, input: {path: settings.txt, content: limit}}]\n"
                                "- calls: [{name: bash, input: {command: sh check.sh}}]\n"
                                "- text: It passes now.\n");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Finished next = run_with("check.sh does not pass any more", "contains: settings.txt");
  EXPECT_EQ(next.code, 0) << next.err;
}

TEST_F(MemoryAcrossProcesses, WithoutThePluginNothingIsLearned) {
  program_.config("hooks: {dev: true, session_memory: {enabled: false}}\n");
  const Finished ran = scripted({"run", "make the export of invoices faster"}, "- text: Done.\n");
  ASSERT_EQ(ran.code, 0) << ran.err;
  program_.config("hooks: {dev: true}\n");
  EXPECT_TRUE(memories().empty());
  const Finished next = run_with(kSimilar, "not_contains: '[memory '");
  EXPECT_EQ(next.code, 0) << next.err;
}

TEST_F(MemoryAcrossProcesses, AKilledSessionIsDistilledByALaterStart) {
  program_.file("check.sh", "test -f settings.txt || { echo 'error: the limit is not set' >&2; exit 1; }\n");
  Running running = program_.start({"run", "make check.sh pass", "--allow", "*", "--script",
                                    program_.script("- calls: [{name: bash, input: {command: sh check.sh}}]\n"
                                                    "- calls: [{name: write_file, input: {path: settings.txt, content: "
                                                    "limit}}]\n"
                                                    "- calls: [{name: bash, input: {command: sh check.sh}}]\n"
                                                    "- calls: [{name: bash, input: {command: sleep 600}}]\n")});
  ASSERT_TRUE(running.wait_for_err("sleep 600")) << running.err();
  running.signal(SIGKILL);
  EXPECT_EQ(running.wait().code, 128 + SIGKILL);
  EXPECT_EQ(memories_with("settings.txt"), 0u);
  // The next start ends it; a start distils it while it works, or leaves it to the one after it.
  bool learned = false;
  for (int i = 0; i < 20 && !learned; ++i) {
    const Finished ran = run_with("say hello", "not_contains: settings.txt");
    ASSERT_EQ(ran.code, 0) << ran.err;
    learned = memories_with("settings.txt") != 0;
  }
  EXPECT_TRUE(learned);
}

// ---- checkpoints

TEST_F(MemoryAcrossProcesses, ACheckpointIsOfferedToTheNextSession) {
  record_starts();
  const Finished ran = scripted({"run", "begin", "--allow", "*"},
                                "- calls: [{name: checkpoint_save, input: {name: half way}}]\n"
                                "- text: Saved.\n  expect: {contains: 'agentd checkpoint resume'}\n");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(has(started(), "half way"));
  const auto list = lines({"checkpoint", "list"});
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].root()["name"].string_or(""), "half way");
  EXPECT_EQ(list[0].root()["conversation_id"].string_or(""), program_.newest());
  ASSERT_EQ(program_.run({"store", "check"}).code, 0);
  ASSERT_EQ(run_with("another task", "not_contains: nothing-of-the-kind").code, 0);
  EXPECT_TRUE(has(started(), std::string(list[0].root()["id"].string_or("-")))) << started();
  move_to("other");
  ASSERT_EQ(run_with("another task", "not_contains: nothing-of-the-kind").code, 0);
  EXPECT_FALSE(has(started(), "half way")) << started();
}

TEST_F(MemoryAcrossProcesses, AHookOfAnotherAgentSavesACheckpointOfItsSession) {
  const std::string event = program_.directory().write(
      "event.json", "{\"session_id\": \"5f3c\", \"cwd\": \"" + program_.project() + "\", \"trigger\": \"auto\"}\n");
  const std::string binary = AGENTD_BINARY;
  const std::string command = "AGENTD_HOME='" + program_.home() + "' HOME='" + program_.directory().path() +
                              "' PATH='" + binary.substr(0, binary.rfind('/')) +
                              ":/usr/bin:/bin' sh '" AGENTD_PRECOMPACT "' 85 < '" + event + "' > '" +
                              program_.directory().file("said") + "' 2>&1";
  const auto said = [&] { return read_file(program_.directory().file("said"), 1u << 20).value_or(""); };
  ASSERT_EQ(std::system(command.c_str()), 0) << said();
  EXPECT_EQ(said(), "");
  ASSERT_EQ(std::system(command.c_str()), 0) << said();
  const auto list = lines({"checkpoint", "list"});
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].root()["why"].string_or(""), "foreign");
  EXPECT_EQ(list[0].root()["percent"].uint_or(0), 85u);
  EXPECT_EQ(list[0].root()["conversation_id"].string_or("a"), list[1].root()["conversation_id"].string_or("b"));
  const std::string id(list[0].root()["id"].string_or(""));
  const Finished full = program_.run({"checkpoint", "resume", id, "--level", "full"});
  EXPECT_EQ(full.code, 2);
  EXPECT_TRUE(has(full.err, "messages are not here")) << full.err;
  EXPECT_EQ(program_.run({"checkpoint", "resume", id, "--level", "summary"}).code, 0);
  // Where agentd cannot save, the script says what the model can do, and does not fail.
  const std::string none = "PATH=/usr/bin:/bin sh '" AGENTD_PRECOMPACT "' < '" + event + "' > '" +
                           program_.directory().file("said") + "' 2>/dev/null";
  ASSERT_EQ(std::system(none.c_str()), 0);
  EXPECT_TRUE(has(said(), "context_threshold")) << said();
}

TEST_F(MemoryAcrossProcesses, ACheckpointOfASessionElsewhereHasItsText) {
  const Finished saved = program_.run({"checkpoint", "save", "the parser", "--session", "s 1", "--text", "-", "--json"},
                                      "The parser is done; the printer is next.\n");
  ASSERT_EQ(saved.code, 0) << saved.err;
  const std::string id(json_lines(saved.out)[0].root()["id"].string_or(""));
  EXPECT_TRUE(has(program_.run({"checkpoint", "show", id}).out, "the printer is next"));
  EXPECT_EQ(program_.run({"checkpoint", "save", "--percent", "50"}).code, 2);
  EXPECT_EQ(program_.run({"checkpoint", "save", "--session", "s", "--percent", "500"}).code, 2);
  EXPECT_EQ(program_.run({"checkpoint", "save", "--session", "s", "-c", "01JZ8"}).code, 2);
}

// ---- documents and commands

TEST_F(MemoryAcrossProcesses, ADocumentIsAmongTheFirstThreeOfASessionsStart) {
  record_starts();
  ASSERT_EQ(program_.run({"memory", "add", program_.file("lifecycle.md", kDocument)}).code, 0);
  const Finished ran = run_with("at how many percent of the context window is a checkpoint saved",
                                "contains: [seventy percent, lifecycle.md]");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(started(), "seventy percent")) << started();
  const Finished other = run_with("bake a cake", "not_contains: seventy percent");
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_FALSE(has(started(), "seventy percent")) << started();
}

TEST_F(MemoryAcrossProcesses, TheCommandsShowAndChangeWhatWasLearned) {
  EXPECT_TRUE(memories().empty());
  EXPECT_EQ(program_.run({"memory", "search", "invoices"}).code, 4);
  learn();
  const auto list = memories();
  ASSERT_FALSE(list.empty());
  std::string id;
  for (const JsonDocument& each : list)
    if (has(each.root().text(), kLesson)) id = std::string(each.root()["id"].string_or(""));
  EXPECT_TRUE(has(program_.run({"memory", "search", "export", "invoices"}).out, kLesson));
  EXPECT_TRUE(has(program_.run({"memory", "show", id}).out, program_.newest())) << "its conversation is cited";
  EXPECT_EQ(lines({"memory", "jobs"}).size(), 1u);
  const std::string out = program_.directory().file("memories");
  ASSERT_EQ(program_.run({"memory", "export", out}).code, 0);
  ASSERT_EQ(program_.run({"memory", "delete", id, "--yes"}).code, 0);
  EXPECT_EQ(memories_with(kLesson), 0u);
  ASSERT_EQ(program_.run({"memory", "import", out}).code, 0);
  EXPECT_EQ(memories_with(kLesson), 1u);
}

// ---- step two

constexpr const char* kRefined =
    "- for: thread\n  text: '{\"memories\":[{\"title\":\"Read invoices in batches\",\"content\":\"Batches of 500 rows "
    "made the export fast.\",\"subject\":\"invoice export\",\"replaces\":[0]}]}'\n";

TEST_F(MemoryAcrossProcesses, AJobIsRefinedOnRequest) {
  learn();
  const Finished ran = scripted({"memory", "jobs", "--run"}, kRefined);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.out, "done 1")) << ran.out << ran.err;
  EXPECT_EQ(memories_with("Read invoices in batches"), 1u);
  EXPECT_TRUE(lines({"memory", "jobs"}).empty());
}

TEST_F(MemoryAcrossProcesses, AJobOfAScriptedSessionWaitsForAScript) {
  learn();
  const Finished ran = program_.run({"memory", "jobs", "--run"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.out, "1 session answered by a script not tried: give --script FILE")) << ran.out << ran.err;
  EXPECT_TRUE(has(program_.run({"memory", "jobs", "--json"}).out, "\"attempts\":0"));
}

// The second step, killed somewhere and begun again by another process, leaves the same memories as one that was not.
TEST_F(MemoryAcrossProcesses, AJobThatIsKilledAnywhereGivesTheSameMemories) {
  learn();
  const std::string learned = program_.home();
  const std::string script = program_.script(kRefined);
  const std::vector<std::string> refines{"memory", "jobs", "--run", "--script", script};
  const auto begin = [&](int round) {
    const std::string home = program_.directory().file("home." + std::to_string(round));
    std::filesystem::copy(learned, home, std::filesystem::copy_options::recursive);
    program_.set_home(home);
  };
  begin(0);
  const auto started_at = std::chrono::steady_clock::now();
  ASSERT_EQ(program_.run(refines).code, 0);
  const auto whole = std::chrono::steady_clock::now() - started_at;
  const std::vector<std::string> expected = texts();
  std::size_t held = 0;
  const auto runs_again = [&](const std::string& killed) {
    held += leases_pass();
    if (!lines({"memory", "jobs"}).empty()) {
      EXPECT_EQ(program_.run(refines).code, 0);
    }
    EXPECT_EQ(texts(), expected) << "killed " << killed;
    EXPECT_EQ(program_.run({"store", "check"}).code, 0);
  };
  // While the model is asked.
  begin(1);
  {
    const std::string waits = program_.directory().write("waits.yaml", std::string(kRefined) + "  delay_ms: 600000\n");
    const Running running = program_.start({"memory", "jobs", "--run", "--script", waits});
    const auto is_running = [&] { return has(program_.run({"memory", "jobs", "--json"}).out, "\"running\""); };
    for (int i = 0; i < 1'000 && !is_running(); ++i) ::usleep(10'000);
    ASSERT_TRUE(is_running());
  }
  EXPECT_NE(texts(), expected);
  runs_again("while it asks");
  EXPECT_EQ(held, 1u);
  // Anywhere else.
  constexpr int kRounds = 40;
  int unfinished = 0;
  for (int round = 1; round <= kRounds; ++round) {
    begin(round + 1);
    Running running = program_.start(refines);
    std::this_thread::sleep_for(whole * round / kRounds);
    running.signal(SIGKILL);
    if (running.wait().code == 128 + SIGKILL && !lines({"memory", "jobs"}).empty()) ++unfinished;
    runs_again("in round " + std::to_string(round));
  }
  EXPECT_GT(unfinished, 0) << "no kill came before the end";
}

// The plugin writes at a session's end: what a turn more costs the store does not depend on it.
TEST_F(MemoryAcrossProcesses, ATurnHasNoCommitMoreWithMemoryThanWithout) {
  const auto commits_of = [&](int turns, bool memory) {
    program_.set_home(program_.directory().file("home." + std::to_string(turns) + (memory ? "on" : "off")));
    AGENTD_ASSERT(make_directories(program_.home()));
    program_.config(std::string("hooks: {session_memory: {enabled: ") + (memory ? "true" : "false") + "}}\n");
    std::string script, said;
    for (int turn = 0; turn < turns; ++turn) {
      script += "- calls: [{name: read_file, input: {path: settings.txt}}]\n- text: well\n";
      said += "read the settings\n";
    }
    program_.file("settings.txt", "limit\n");
    const Finished ran = program_.run({"chat", "--allow", "*", "--script", program_.script(script)}, said);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return commits();
  };
  const std::uint64_t without = commits_of(12, false) - commits_of(2, false);
  const std::uint64_t with = commits_of(12, true) - commits_of(2, true);
  EXPECT_GE(without, 10u * 2) << "each turn and each step is committed";
  EXPECT_EQ(with, without);
  EXPECT_GT(commits_of(2, true), commits_of(2, false)) << "the plugin does write: at the session's end";
}

TEST_F(MemoryAcrossProcesses, ALaterRunRefinesInTheBackgroundIfAModelMayBeAsked) {
  program_.set("AGENTD_MEMORY_REFINE=true");  // off in tests
  learn();
  const std::string turn = "- text: Hello.\n";
  // The answers of a script are not for it.
  ASSERT_EQ(scripted({"run", "say hello"}, turn + kRefined).code, 0);
  EXPECT_EQ(memories_with("Read invoices in batches"), 0u);
  program_.config("hooks: {dev: true, session_memory: {config: {model: scripted/cheap}}}\n");
  ASSERT_EQ(scripted({"run", "say hello", "--set", "memory.refine=false"}, turn + kRefined).code, 0);
  ASSERT_EQ(scripted({"run", "say hello", "--no-save"}, turn + kRefined).code, 0);
  EXPECT_EQ(memories_with("Read invoices in batches"), 0u);
  // A run that ends first leaves the job to the next one.
  for (int i = 0; i < 20 && memories_with("Read invoices in batches") == 0; ++i)
    ASSERT_EQ(scripted({"run", "say hello"}, turn + kRefined).code, 0);
  EXPECT_EQ(memories_with("Read invoices in batches"), 1u);
}

// An editor starts no session before its first prompt.
TEST_F(MemoryAcrossProcesses, AnEditorsProcessRefinesInTheBackground) {
  program_.set("AGENTD_MEMORY_REFINE=true");  // off in tests
  program_.config("hooks: {dev: true, session_memory: {config: {model: scripted/cheap}}}\n");
  learn();
  AcpClient editor(program_, {"--script", program_.script(std::string("- text: Hello.\n") + kRefined)});
  editor.initialize();
  EXPECT_EQ(editor.prompt(editor.new_session(), "say hello"), "end_turn");
  for (int i = 0; i < 1'000 && memories_with("Read invoices in batches") == 0; ++i) ::usleep(10'000);
  EXPECT_EQ(memories_with("Read invoices in batches"), 1u);
}

}  // namespace
}  // namespace agentd::testing
