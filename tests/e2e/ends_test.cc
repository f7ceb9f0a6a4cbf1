// SPDX-License-Identifier: Apache-2.0
// How a run ends that is interrupted, and what its exit code says.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

class Ends : public ::testing::Test {
 protected:
  // Hooks that change run without consent.
  Ends() { program_.config("hooks: {dev: true}\n"); }

  // A hook that tells when it was asked, and then answers nobody for ten minutes.
  void hang_at(const std::string& event, const std::string& more = {}) {
    program_.file("mark", "");
    AGENTD_ASSERT(make_directories(program_.home() + "/hooks"));
    AGENTD_ASSERT(write_file_atomically(
        program_.home() + "/hooks/hang.yaml",
        "on: " + event + "\n" + more + "command: echo asked >> " + program_.project() + "/mark; sleep 600\n", 0600));
  }

  std::vector<std::string> scripted(std::vector<std::string> words, const std::string& turns) {
    words.insert(words.end(), {"--script", program_.script(turns)});
    return words;
  }

  // Sends the signal when the hook was asked; the run must not wait for the hook.
  Finished interrupt(const std::vector<std::string>& words, int signal, const std::string& input = {}) {
    Running running = program_.start(words, input);
    const auto asked = [&] { return has(read_file(program_.project() + "/mark", 1000).value_or(""), "asked"); };
    for (int i = 0; i < 4'000 && !asked(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(asked()) << running.err();
    const auto start = std::chrono::steady_clock::now();
    running.signal(signal);
    Finished done = running.wait();
    // The deadline of the hook is 30 s.
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15)) << done.err;
    return done;
  }

  Program program_;
};

constexpr char kTurns[] =
    "- text: I look.\n  calls: [{name: bash, input: {command: 'true'}}]\n"
    "- text: Done.\n";

TEST_F(Ends, ASignalDuringAnyHookEndsTheRunAndIsItsExitCode) {
  const char* const kEvents[] = {"session_start",    "user_message_send", "turn_start",      "before_model_call",
                                 "after_model_call", "before_tool_call",  "after_tool_call", "turn_end",
                                 "agent_stop",       "permission_request"};
  const int kSignals[] = {SIGTERM, SIGINT, SIGHUP};
  std::size_t turn = 0;
  for (const std::string event : kEvents) {
    SCOPED_TRACE(event);
    hang_at(event);
    const int signal = kSignals[turn++ % 3];
    std::vector<std::string> words{"run", "look"};
    if (event != "permission_request") words.insert(words.end(), {"--allow", "*"});
    const Finished done = interrupt(scripted(words, kTurns), signal);
    EXPECT_EQ(done.code, 128 + signal) << done.err;
    EXPECT_TRUE(has(done.err, "agentd: the run was interrupted\n")) << done.err;
    // What was said is kept.
    const Finished next = program_.run(
        scripted({"run", "--no-hooks", "--follow", "go on"}, "- text: well\n  expect: {contains: [look, go on]}\n"));
    EXPECT_EQ(next.code, 0) << next.err;
  }
}

TEST_F(Ends, ASignalBehindTheLastAnswerKeepsTheAnswer) {
  for (const char* event : {"after_model_call", "turn_end", "agent_stop"}) {
    SCOPED_TRACE(event);
    hang_at(event);
    const Finished done = interrupt(scripted({"run", "look"}, "- text: Done.\n"), SIGTERM);
    EXPECT_EQ(done.code, 128 + SIGTERM) << done.err;
    EXPECT_EQ(done.out, "Done.\n");
    // It is whole: the model is told of no interruption.
    const Finished next =
        program_.run(scripted({"run", "--no-hooks", "--follow", "go on"},
                              "- text: well\n  expect: {contains: Done., not_contains: '[interrupted'}\n"));
    EXPECT_EQ(next.code, 0) << next.err;
  }
}

// It fails closed, and stops what it guards; but nobody has refused anything.
TEST_F(Ends, AGuardThatASignalCutsShortHasNotRefused) {
  for (const char* event : {"user_message_send", "before_model_call", "after_model_call", "before_tool_call"}) {
    SCOPED_TRACE(event);
    hang_at(event, "on_failure: closed\n");
    const Finished done = interrupt(scripted({"run", "a secret", "--allow", "*"}, kTurns), SIGINT);
    EXPECT_EQ(done.code, 128 + SIGINT) << done.err;
    EXPECT_TRUE(has(done.err, "agentd: the run was interrupted\n")) << done.err;
    EXPECT_FALSE(has(done.out, "Done.")) << done.out;
    if (std::string_view(event) != "user_message_send") continue;
    // What it had not looked at yet is stored nowhere.
    EXPECT_FALSE(has(program_.run({"conversation", "show", program_.newest()}).out, "a secret"));
  }
}

TEST_F(Ends, ASignalDuringACompactionsHookIsItsExitCode) {
  ASSERT_EQ(program_.run(scripted({"run", "one"}, "- text: a\n")).code, 0);
  const std::pair<const char*, const char*> kHooks[] = {
      {"session_start", ""}, {"before_compaction", ""}, {"before_compaction", "on_failure: closed\n"}};
  for (const auto& [event, closed] : kHooks) {
    SCOPED_TRACE(std::string(event) + closed);
    hang_at(event, closed);
    const Finished done = interrupt(scripted({"compact", "--follow"}, "- for: summary\n  text: never\n"), SIGTERM);
    EXPECT_EQ(done.code, 128 + SIGTERM) << done.err;
    EXPECT_TRUE(has(done.err, "interrupted")) << done.err;
  }
}

// Nobody is there who could take a prompt back: the chat ends as a run does.
TEST_F(Ends, AChatThatReadsAPipeEndsAsARunDoes) {
  for (const char* event : {"session_start", "user_message_send", "agent_stop"})
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      SCOPED_TRACE(std::string(event) + " " + std::to_string(signal));
      hang_at(event);
      const Finished done = interrupt(scripted({"chat"}, "- text: first\n- text: second\n"), signal, "one\ntwo\n");
      EXPECT_EQ(done.code, 128 + signal) << done.err;
      EXPECT_FALSE(has(done.out, "second")) << done.out;
      EXPECT_TRUE(has(done.err, "interrupted")) << done.err;
    }
}

TEST_F(Ends, ASignalWhileAChatStartsEndsIt) {
  program_.file("mark", "");
  AGENTD_ASSERT(make_directories(program_.home() + "/hooks"));
  AGENTD_ASSERT(write_file_atomically(program_.home() + "/hooks/slow",
                                      "#!/bin/sh\n[ \"$1\" = hook ] || exit 0\necho asked >> " + program_.project() +
                                          "/mark\nsleep 2\necho agent_stop\n",
                                      0755));
  const Finished done = interrupt(scripted({"chat"}, "- text: first\n"), SIGTERM, "one\n");
  EXPECT_EQ(done.code, 143) << done.err;
  EXPECT_FALSE(has(done.out, "first")) << done.out;
}

// ---- every command that can wait

// The words of a command, and what is to be there before it begins.
struct Waits {
  const char* name;
  std::vector<std::string> words;
};

class Commands : public Ends, public ::testing::WithParamInterface<std::tuple<Waits, int>> {};

TEST_P(Commands, EndWith128AndTheSignal) {
  const auto& [waits, signal] = GetParam();
  const std::string script = program_.script(kTurns);
  ASSERT_EQ(program_.run({"run", "first", "--script", script, "--allow", "bash"}).code, 0);
  // Waits when it is asked at an event, or, with that file, for its events already.
  program_.file("mark", "");
  AGENTD_ASSERT(make_directories(program_.home() + "/hooks"));
  AGENTD_ASSERT(write_file_atomically(program_.home() + "/hooks/hang",
                                      "#!/bin/sh\n[ \"$1\" = hook ] && [ ! -e " + program_.project() +
                                          "/wait ] && { echo user_message_send; "
                                          "echo before_compaction; exit 0; }\necho asked >> " +
                                          program_.project() + "/mark\nsleep 600\n",
                                      0755));
  const bool looks = waits.words[0] == "doctor" || waits.words.back() == "FILE";
  if (looks) program_.file("wait", "");
  std::vector<std::string> words = waits.words;
  if (words.back() == "FILE") words.back() = program_.home() + "/hooks/hang";
  if (words[0] == "run" || words[0] == "chat" || words[0] == "compact") words.insert(words.end(), {"--script", script});
  const Finished done = interrupt(words, signal, words[0] == "chat" ? "one\n" : "");
  EXPECT_EQ(done.code, 128 + signal) << done.out << done.err;
}

INSTANTIATE_TEST_SUITE_P(
    , Commands,
    ::testing::Combine(::testing::Values(Waits{"run", {"run", "look"}}, Waits{"chat", {"chat"}},
                                         Waits{"compact", {"compact", "--follow"}},
                                         Waits{"test", {"hooks", "test", "hang", "--event", "user_message_send"}},
                                         Waits{"replay", {"hooks", "replay", "--hook", "hang"}},
                                         Waits{"validate", {"hooks", "validate", "FILE"}}, Waits{"doctor", {"doctor"}}),
                       ::testing::Values(SIGINT, SIGTERM, SIGHUP)),
    [](const auto& each) {
      const int signal = std::get<1>(each.param);
      return std::string(std::get<0>(each.param).name) + (signal == SIGINT    ? "Int"
                                                          : signal == SIGTERM ? "Term"
                                                                              : "Hup");
    });

// A question for a key is none of those: it stands on a terminal.
TEST_F(Ends, AQuestionForAKeyEndsByTheSignalThatCame) {
  for (const auto& [input, code] : {std::pair{"\x03", 130}, {Program::kTerminate, 143}, {Program::kHangUp, 129}}) {
    const Finished done = program_.on_terminal({"auth", "set", "anthropic"}, {{"(not shown): ", input}});
    EXPECT_EQ(done.code, code) << done.out;
  }
}

// What prints much waits for its reader.
TEST_F(Ends, ASignalEndsALookAtAConversationWhoseReaderDoesNotRead) {
  const std::string script = program_.script("- text: " + std::string(300'000, 'x') + "\n");
  ASSERT_EQ(program_.run({"run", "look", "--script", script}).code, 0);
  const std::string id = program_.newest();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const UniqueFd reads(ends[0]), writes(ends[1]);
    program_.set_output(writes.get());
    Running running = program_.start({"conversation", "show", id});
    int waiting = 0;
    for (int i = 0; i < 2'000 && waiting < 60'000; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ASSERT_EQ(::ioctl(reads.get(), FIONREAD, &waiting), 0);
    }
    running.signal(signal);
    EXPECT_EQ(running.wait().code, 128 + signal);
    program_.set_output(-1);
  }
}

TEST_F(Ends, ASignalEndsARunWhoseReaderDoesNotRead) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reads(ends[0]), writes(ends[1]);
  program_.set_output(writes.get());
  Running running = program_.start(scripted({"run", "look"}, "- text: " + std::string(300'000, 'x') + "\n"));
  int waiting = 0;
  for (int i = 0; i < 2'000 && waiting < 60'000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_EQ(::ioctl(reads.get(), FIONREAD, &waiting), 0);
  }
  EXPECT_GE(waiting, 60'000);
  running.signal(SIGTERM);
  EXPECT_EQ(running.wait().code, 143);
  program_.set_output(-1);
}

// The run is over and was told to be well: who read a failure would repeat it.
TEST_F(Ends, ASignalBehindTheRunDoesNotChangeItsExitCode) {
  hang_at("session_end");
  const Finished done = interrupt(scripted({"run", "look"}, "- text: Done.\n"), SIGTERM);
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "Done.\n");
}

// ---- the table of exit codes

// "| 5 | provider | ..." of docs/reference/cli.md.
std::set<int> documented_codes() {
  const std::string page = read_file(AGENTD_CLI_PAGE, 1 << 20).value_or("");
  const std::size_t begin = page.find("## Exit codes");
  std::istringstream lines(page.substr(begin, page.find("\n## ", begin) - begin));
  std::set<int> out;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("| ") && line[2] >= '0' && line[2] <= '9') out.insert(std::stoi(line.substr(2)));
  return out;
}

class ExitCodes : public Ends, public ::testing::WithParamInterface<const char*> {
 protected:
  void hook(const std::string& yaml) {
    AGENTD_ASSERT(make_directories(program_.home() + "/hooks"));
    AGENTD_ASSERT(write_file_atomically(program_.home() + "/hooks/hang.yaml", yaml, 0600));
  }
  // What is asked of the command: as words, or by a pipe.
  std::vector<std::string> command(std::vector<std::string> more = {}) const {
    std::vector<std::string> out{GetParam()};
    if (out[0] == "run") out.emplace_back("look");
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  std::string input() const { return std::string(GetParam()) == "chat" ? "look\n" : ""; }
  int code_of(const std::vector<std::string>& words, const std::string& turns = "- text: Done.\n") {
    const Finished done = program_.run(scripted(words, turns), input());
    err_ = done.err;
    return done.code;
  }
  int code_with_output(int fd, const std::string& turns) {
    const UniqueFd output(fd);
    program_.set_output(fd);
    Running running = program_.start(scripted(command({"--allow", "*"}), turns), input());
    program_.set_output(-1);
    return running.wait().code;
  }

  std::string err_;
};

// Each code of the page is made to happen, by run and by chat, and none happens that is not on the
// page.
TEST_P(ExitCodes, AreThoseOfThePage) {
  std::set<int> seen;
  const auto expect = [&](int code, int got) {
    EXPECT_EQ(got, code) << err_;
    seen.insert(got);
  };
  expect(0, code_of(command()));
  expect(1, code_with_output(::open("/dev/full", O_WRONLY | O_CLOEXEC), "- text: Done.\n"));
  expect(2, code_of(command({"--nonsense"})));
  hook("on: before_model_call\ndo: {action: block, reason: no}\n");
  expect(3, code_of(command()));
  hook("on: before_model_call\ndo: {action: stop_run, reason: enough}\n");
  expect(7, code_of(command()));
  hook("on: before_tool_call\ndo: {permission: defer}\n");
  expect(12, code_of(command(), "- calls: [{name: bash, input: {command: 'true'}}]\n"));
  AGENTD_ASSERT(::unlink((program_.home() + "/hooks/hang.yaml").c_str()) == 0);
  expect(4, code_of(command({"--resume", "01ARZ3NDEKTSV4RRFFQ69G5FAV"})));
  expect(5, code_of(command(), "- error: {kind: auth}\n"));
  expect(8, code_of(command({"--max-run-tokens", "1"})));
  expect(8, code_of(command({"--max-turns", "1", "--allow", "*"}), kTurns));
  expect(9, code_of(command(), "- {text: No., stop_reason: refusal}\n"));
  expect(10, code_of(command(), "- {text: Half, stop_reason: max_tokens}\n"));
  expect(11, code_of(command(), "- text: ' '\n"));
  {
    Running first = program_.start(scripted({"run", "--follow", "--allow", "bash", "wait"},
                                            "- calls: [{name: bash, input: {command: sleep 600}}]\n"));
    ASSERT_TRUE(first.wait_for_err("• bash")) << first.err();
    expect(75, code_of(command({"--follow"})));
  }
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    hang_at("agent_stop");
    expect(128 + signal, interrupt(scripted(command(), "- text: Done.\n"), signal, input()).code);
  }
  AGENTD_ASSERT(::unlink((program_.home() + "/hooks/hang.yaml").c_str()) == 0);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[0]);
  expect(128 + SIGPIPE, code_with_output(ends[1], kTurns));
  // Last, since there is no store behind it.
  program_.set_home(program_.directory().file("other"));
  AGENTD_ASSERT(make_directories(program_.home()));
  AGENTD_ASSERT(write_file_atomically(program_.home() + "/store", "not a directory", 0600));
  expect(6, code_of(command()));
  EXPECT_EQ(seen, documented_codes());
}
INSTANTIATE_TEST_SUITE_P(, ExitCodes, ::testing::Values("run", "chat"),
                         [](const auto& which) { return std::string(which.param); });

// ---- the limit on the size of files

// What is started while it lives may write no larger files.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    AGENTD_ASSERT(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit lower{bytes, before_.rlim_max};
    AGENTD_ASSERT(::setrlimit(RLIMIT_FSIZE, &lower) == 0);
  }
  ~FileLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
};

TEST_F(Ends, AStoreThatMayNotGrowIsOneSentenceAndLosesNothing) {
  for (const bool fresh : {true, false})
    for (const rlim_t bytes : {4'096u, 10'000u, 30'000u, 65'536u, 90'000u}) {
      SCOPED_TRACE(std::to_string(bytes) + (fresh ? " fresh" : ""));
      program_.set_home(program_.directory().file("home." + std::to_string(bytes) + (fresh ? "f" : "")));
      if (!fresh) {
        ASSERT_EQ(program_.run(scripted({"run", "the first"}, "- text: kept\n")).code, 0);
      }
      const std::vector<std::string> words = scripted({"run", "--no-tools", "second"}, "- text: Done.\n");
      const Finished done = [&] {
        std::optional<FileLimit> limit(bytes);
        Running running = program_.start(words);
        limit.reset();
        return running.wait();
      }();
      if (done.code != 0) {
        EXPECT_EQ(done.code, 6) << done.err;
        const std::size_t at = done.err.find("agentd: ");
        ASSERT_NE(at, std::string::npos) << done.err;
        EXPECT_EQ(done.err.find("agentd: ", at + 8), std::string::npos) << done.err;
        EXPECT_TRUE(has(done.err, "raise it with 'ulimit -f'")) << done.err;
      }
      // Without the limit all is well, and what was acknowledged is there.
      EXPECT_EQ(program_.run(scripted({"run", "third"}, "- text: Done.\n")).code, 0);
      EXPECT_EQ(program_.run({"store", "check"}).code, 0);
      const std::string list = program_.run({"conversation", "list"}).out;
      if (!fresh) {
        EXPECT_TRUE(has(list, "the first")) << list;
      }
      if (done.code == 0) {
        EXPECT_TRUE(has(list, "second")) << list;
      }
    }
}

TEST_F(Ends, OutputThatMayNotGrowIsOneSentence) {
  const std::vector<std::string> words =
      scripted({"run", "--no-save", "--no-tools", "go"}, "- text: " + std::string(9'000, 'x') + "\n");
  const Finished done = [&] {
    std::optional<FileLimit> limit(4'096);
    Running running = program_.start(words);
    limit.reset();
    return running.wait();
  }();
  EXPECT_EQ(done.code, 1) << done.err;
  EXPECT_TRUE(has(done.err,
                  "agentd: writing the output: File too large: the file size limit of this process is reached; "
                  "raise it with 'ulimit -f'\n"))
      << done.err;
}

TEST_F(Ends, AChatWhoseTerminalGoesWhileItWaitsEndsBySighup) {
  const Finished done =
      program_.on_terminal({"chat", "--script", program_.script("- text: x\n")}, {{"> ", Program::kHangUp}});
  EXPECT_EQ(done.code, 128 + SIGHUP) << done.out;
}

// A file gets the bytes as they are, a terminal none that it would obey.
TEST_F(Ends, MarkdownOnATerminalIsPlain) {
  ASSERT_EQ(program_.run(scripted({"run", "x"}, "- text: \"a\\x1b]0;title\\x07b\"\n")).code, 0);
  const std::vector<std::string> show{"conversation", "show", program_.newest(), "--format", "markdown"};
  EXPECT_TRUE(has(program_.run(show).out, "a\x1b]0;title"));
  const Finished shown = program_.on_terminal(show, {});
  EXPECT_TRUE(has(shown.out, "title")) << shown.out;
  EXPECT_FALSE(has(shown.out, "\x1b]")) << shown.out;
}

}  // namespace
}  // namespace agentd::testing
