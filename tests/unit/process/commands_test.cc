// SPDX-License-Identifier: Apache-2.0
#include "core/process/commands.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/process/children.h"

namespace agentd {
namespace {

class Commands : public Children {
 protected:
  static CommandRequest line(const std::string& text) {
    CommandRequest out;
    out.process.argv = {"sh", "-c", text};
    out.process.grace = Milliseconds(300);
    return out;
  }
  // With F, the file that the command writes when it is ready.
  CommandRequest ready_line(const std::string& text) const {
    CommandRequest out = line(text);
    out.process.environment = environment();
    return out;
  }
  std::uint64_t start(CommandRequest request) {
    const auto handle = table_->start(std::move(request));
    EXPECT_TRUE(handle) << handle.error().message;
    return handle ? *handle : 0;
  }
  CommandState ended(std::uint64_t handle) {
    const auto state = table_->wait(handle, cancel_, Deadline{});
    EXPECT_TRUE(state) << state.error().message;
    return state ? *state : CommandState{};
  }
  // All output from `position` on, read in pieces until the command has ended.
  std::string rest(std::uint64_t handle, std::uint64_t position = 0, std::size_t piece_bytes = 64 * 1024) {
    std::string out;
    for (;;) {
      const auto piece = table_->read(handle, position, piece_bytes, cancel_, Deadline{});
      EXPECT_TRUE(piece) << piece.error().message;
      if (!piece) return out;
      out += piece->bytes;
      position = piece->next;
      if (piece->last()) return out;
    }
  }
  // Until it has written that text.
  std::string read_until(std::uint64_t handle, const std::string& text) {
    std::string out;
    while (out.find(text) == std::string::npos) {
      const auto piece = table_->read(handle, ProcessHost::kUnread, 64 * 1024, cancel_, Deadline{});
      EXPECT_TRUE(piece) << piece.error().message;
      if (!piece || (piece->last() && piece->bytes.empty())) break;
      out += piece->bytes;
    }
    return out;
  }
  static int threads() {
    int out = 0;
    for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/task")) ++out;
    return out;
  }
  static bool ends_soon(pid_t pid) {
    for (int i = 0; i < 5'000 && alive(pid); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return !alive(pid);
  }

  std::shared_ptr<CommandReader> reader_ = std::make_shared<CommandReader>(clock_);
  std::unique_ptr<CommandTable> table_ = std::make_unique<CommandTable>(reader_);
};

TEST_F(Commands, AreReadWhileTheyRunAndWhenTheyHaveEnded) {
  const std::uint64_t handle = start(line("echo one; read word; echo two $word >&2; exit 3"));
  CommandRequest talks = line("echo one; read word; echo two $word >&2; exit 3");
  talks.takes_input = true;
  const std::uint64_t other = start(talks);
  EXPECT_NE(handle, other);
  EXPECT_EQ(read_until(other, "one\n"), "one\n");
  EXPECT_EQ(table_->wait(other, cancel_, Deadline::after(clock_, Milliseconds(1)))->phase,
            CommandState::Phase::kRunning);
  ASSERT_TRUE(table_->write(other, "more\n", false, cancel_, Deadline{}));
  const CommandState end = ended(other);
  EXPECT_EQ(end.reason, EndReason::kExited);
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_EQ(end.signal, 0);
  EXPECT_EQ(read_until(other, "more\n"), "two more\n");
  EXPECT_EQ(rest(other), "one\ntwo more\n") << "all of it can be read again";
  EXPECT_EQ(rest(handle), "one\ntwo\n") << "without input of its own a command reads nothing";
}

TEST_F(Commands, GetTheirInputAndItsEnd) {
  CommandRequest request = line("cat; echo end");
  request.takes_input = true;
  request.process.input = "first ";
  const std::uint64_t handle = start(std::move(request));
  const std::string much(300'000, 'x');  // more than a pipe holds
  std::thread writer([&] {
    EXPECT_TRUE(table_->write(handle, much, false, cancel_, Deadline{}));
    EXPECT_TRUE(table_->write(handle, "\n", true, cancel_, Deadline{}));
  });
  const std::string got = rest(handle);
  writer.join();
  EXPECT_EQ(got, "first " + much + "\nend\n");
  const auto late = table_->write(handle, "x", false, cancel_, Deadline{});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kInvalid) << "its input was closed";
}

TEST_F(Commands, RefuseInputThatNobodyReads) {
  const std::uint64_t silent = start(line("sleep 600"));
  const auto refused = table_->write(silent, "x", false, cancel_, Deadline{});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  CommandRequest request = line("exit 0");
  request.takes_input = true;
  const std::uint64_t gone = start(std::move(request));
  (void)ended(gone);
  EXPECT_EQ(table_->write(gone, "x", false, cancel_, Deadline{}).error().code, Code::kUnavailable);
  CommandRequest lazy = line("sleep 600");
  lazy.takes_input = true;
  const std::uint64_t handle = start(std::move(lazy));
  const auto full =
      table_->write(handle, std::string(1 << 20, 'x'), false, cancel_, Deadline::after(clock_, Milliseconds(50)));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Code::kBusy);
}

TEST_F(Commands, EndBySignalOrByRequest) {
  const std::uint64_t handle = start(ready_line("echo 1 >$F; exec sleep 600"));
  (void)wait_for_file("ready");
  ASSERT_TRUE(table_->signal(handle, SIGINT));
  CommandState end = ended(handle);
  EXPECT_EQ(end.reason, EndReason::kSignalled);
  EXPECT_EQ(end.signal, SIGINT);
  EXPECT_EQ(table_->signal(handle, SIGINT).error().code, Code::kUnavailable);
  EXPECT_EQ(table_->signal(start(line("sleep 600")), 99).error().code, Code::kInvalid);

  const std::uint64_t killed = start(line("trap '' TERM; sleep 600"));
  ASSERT_TRUE(table_->signal(killed, SIGKILL));
  end = ended(killed);
  EXPECT_EQ(end.reason, EndReason::kEnded);
  EXPECT_EQ(end.signal, SIGKILL);

  const std::uint64_t asked = start(line("trap 'echo bye; exit 7' TERM; echo hello; while :; do sleep 0.01; done"));
  EXPECT_EQ(read_until(asked, "hello\n"), "hello\n");
  const auto said = table_->end(asked);
  ASSERT_TRUE(said);
  EXPECT_EQ(said->reason, EndReason::kEnded);
  EXPECT_EQ(said->exit_code, 7);
  EXPECT_TRUE(rest(asked).ends_with("bye\n"));
  EXPECT_TRUE(table_->end(asked)) << "it has ended already";
}

TEST_F(Commands, EndWhenTheirTimeIsOver) {
  const auto end = past_deadline("ready", [&](const Clock& clock, Deadline) {
    CommandTable table(std::make_shared<CommandReader>(clock));
    CommandRequest request = ready_line("echo $$ >$F; sleep 600 & wait");
    request.time = Milliseconds(30'000);
    const auto handle = table.start(std::move(request));
    EXPECT_TRUE(handle);
    return table.wait(*handle, cancel_, Deadline{});
  });
  ASSERT_TRUE(end);
  EXPECT_EQ(end->reason, EndReason::kTimedOut);
  EXPECT_FALSE(alive(pid_in("ready")));
}

TEST_F(Commands, EndWhenTheyWriteTooMuch) {
  CommandRequest request = line("yes");
  request.output_bytes_limit = 100'000;
  const CommandState end = ended(start(std::move(request)));
  EXPECT_EQ(end.reason, EndReason::kOutputLimit);
  EXPECT_GT(end.output_bytes, 100'000u);
}

TEST_F(Commands, GiveWholeLinesWhereTheyCan) {
  const std::uint64_t handle = start(line("printf 'one\\ntwo\\nthree'"));
  (void)ended(handle);
  const auto unread = [&](std::size_t most) {
    return table_->read(handle, ProcessHost::kUnread, most, cancel_, Deadline{})->bytes;
  };
  EXPECT_EQ(unread(6), "one\n");
  EXPECT_EQ(unread(2), "tw") << "no line fits";
  EXPECT_EQ(unread(100), "o\nthree");
  EXPECT_EQ(table_->read(handle, 0, 6, cancel_, Deadline{})->bytes, "one\ntw") << "a position is exact";
}

TEST_F(Commands, StopWaitingWhenTheyAreCancelled) {
  const std::uint64_t handle = start(line("sleep 600"));
  cancel_.cancel(1);
  const auto state = table_->wait(handle, cancel_, Deadline{});
  ASSERT_TRUE(state);
  EXPECT_EQ(state->phase, CommandState::Phase::kRunning) << "the command itself goes on";
  const auto piece = table_->read(handle, 0, 100, cancel_, Deadline{});
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->bytes, "");
  EXPECT_FALSE(piece->last());
}

TEST_F(Commands, AreListedInTheOrderOfTheirStart) {
  CommandRequest first = line("sleep 600");
  first.description = "waits";
  const std::uint64_t one = start(std::move(first)), two = start(line("exit 4"));
  (void)ended(two);
  const auto all = table_->list();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].handle, one);
  EXPECT_EQ(all[0].command, "sh -c sleep 600");
  EXPECT_EQ(all[0].description, "waits");
  EXPECT_EQ(all[0].phase, CommandState::Phase::kRunning);
  EXPECT_EQ(all[0].reason, EndReason::kNone);
  EXPECT_EQ(all[1].handle, two);
  EXPECT_EQ(all[1].phase, CommandState::Phase::kEnded);
  EXPECT_EQ(all[1].exit_code, 4);
  CommandTable other(reader_);
  EXPECT_TRUE(other.list().empty()) << "of another session";
  EXPECT_EQ(other.wait(one, cancel_, Deadline{}).error().code, Code::kNotFound);
}

TEST_F(Commands, ThatEndedLongAgoAreForgotten) {
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < CommandTable::kEndedMax + 5; ++i) (void)ended(last = start(line("exit 0")));
  EXPECT_LE(table_->list().size(), CommandTable::kEndedMax);
  const auto gone = table_->wait(1, cancel_, Deadline{});
  ASSERT_FALSE(gone);
  EXPECT_NE(gone.error().message.find("it ended long ago"), std::string::npos) << gone.error().message;
  EXPECT_TRUE(table_->wait(last, cancel_, Deadline{}));
}

TEST_F(Commands, ThatCannotStartSayWhy) {
  CommandRequest missing;
  missing.process.argv = {"no-such-program-here"};
  EXPECT_EQ(table_->start(missing).error().code, Code::kNotFound);
  CommandRequest nowhere = line("true");
  nowhere.process.cwd = folder_.file("nowhere");
  EXPECT_EQ(table_->start(nowhere).error().code, Code::kInvalid);
  EXPECT_TRUE(table_->list().empty());
}

// ---- environment

TEST_F(Commands, GetTheirAdditionsAndNoOthers) {
  CommandRequest request = line("echo $LANG-$AN_ADDITION");
  request.process.environment = {"LANG=old", "PATH=/usr/bin:/bin"};
  request.process.additions = {"LANG=new", "AN_ADDITION=a=b"};
  EXPECT_EQ(rest(start(request)), "new-a=b\n");
  for (const char* const refused : {"LD_PRELOAD=x.so", "BASH_ENV=f", "ENV=f", "AGENTD_HOME=/x", "SOME_API_KEY=k"}) {
    request.process.additions = {refused};
    EXPECT_EQ(table_->start(request).error().code, Code::kDenied) << refused;
  }
  for (const char* const wrong : {"NAME", "=x", "1A=x", "A B=x"}) {
    request.process.additions = {wrong};
    EXPECT_EQ(table_->start(request).error().code, Code::kInvalid) << wrong;
  }
}

// ---- terminals

TEST_F(Commands, GetATerminalOfTheWantedSize) {
  CommandRequest request = ready_line(
      "test -t 0 && test -t 1 && test -t 2 && echo terminal; stty size; trap 'stty size; exit 0' WINCH; "
      "echo 1 >$F; while :; do sleep 0.01; done");
  request.terminal = TerminalSize{30, 100};
  const std::uint64_t handle = start(std::move(request));
  (void)wait_for_file("ready");
  ASSERT_TRUE(table_->resize(handle, {40, 120}));
  const std::string text = rest(handle);
  EXPECT_EQ(text, "terminal\r\n30 100\r\n40 120\r\n");
  EXPECT_TRUE(ended(handle).has_terminal);
  EXPECT_EQ(table_->resize(start(line("sleep 600")), {40, 120}).error().code, Code::kInvalid) << "it has none";
}

TEST_F(Commands, ReadTheirTerminalUntilItsEnd) {
  CommandRequest request = line("stty -echo; echo ready; cat; echo end");
  request.terminal = TerminalSize{};
  const std::uint64_t handle = start(std::move(request));
  EXPECT_EQ(read_until(handle, "ready\r\n"), "ready\r\n");
  ASSERT_TRUE(table_->write(handle, "a line\n", true, cancel_, Deadline{}));
  EXPECT_EQ(ended(handle).exit_code, 0);
  EXPECT_EQ(read_until(handle, "end\r\n"), "a line\r\nend\r\n");
}

// ---- output beyond memory

TEST_F(Commands, SpillWhatDoesNotFitIntoMemory) {
  CommandRequest request = line("seq 100000");
  request.process.output_bytes_max = 1'000;
  request.process.spill.directory = folder_.file("spill/one");
  const std::uint64_t handle = start(request);
  const CommandState end = ended(handle);
  EXPECT_EQ(end.spill_path, folder_.file("spill/one/1.out"));
  EXPECT_EQ(end.spill_bytes, end.output_bytes);
  EXPECT_FALSE(end.spill_full);
  std::string whole;
  for (int i = 1; i <= 100'000; ++i) whole += std::to_string(i) + "\n";
  EXPECT_EQ(rest(handle, 0, 7'001), whole) << "read back in pieces";
  struct stat info {};
  ASSERT_EQ(::stat(end.spill_path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
  std::uint64_t total = 0;
  ASSERT_TRUE(is_spill_path(folder_.file("spill/one"), end.spill_path));
  EXPECT_EQ(*read_spilled(end.spill_path, whole.size() - 7, 100, &total), "100000\n");
  EXPECT_EQ(total, whole.size());

  // The same from run(), in a file of its own; a short output needs none.
  const auto ran = table_->run(request, cancel_, Deadline{});
  ASSERT_TRUE(ran);
  EXPECT_EQ(ran->spill_path, folder_.file("spill/one/2.out"));
  EXPECT_EQ(ran->spill_bytes, whole.size());
  EXPECT_TRUE(ran->truncated);
  request.process.argv = {"echo", "short"};
  EXPECT_EQ(table_->run(request, cancel_, Deadline{})->spill_path, "");
}

TEST_F(Commands, SpillNoMoreThanTheLimit) {
  CommandRequest request = line("seq 100000");
  request.process.output_bytes_max = 1'000;
  request.process.spill = {folder_.file("spill/one"), 10'000};
  const std::uint64_t handle = start(request);
  const CommandState end = ended(handle);
  EXPECT_TRUE(end.spill_full);
  EXPECT_EQ(end.spill_bytes, 10'000u);
  EXPECT_EQ(end.output_bytes, 588'895u);
  const auto jumped = table_->read(handle, 10'000, 10'000, cancel_, Deadline{});
  ASSERT_TRUE(jumped);
  EXPECT_EQ(jumped->first, end.output_bytes - 500) << "the tail, which memory has";
  EXPECT_TRUE(jumped->bytes.ends_with("\n100000\n"));
}

TEST_F(Commands, KeepHeadAndTailWithoutAPlaceToSpill) {
  CommandRequest request = line("seq 100000");
  request.process.output_bytes_max = 1'000;
  const std::uint64_t handle = start(request);
  EXPECT_EQ(ended(handle).spill_path, "");
  const auto head = table_->read(handle, 0, 10'000, cancel_, Deadline{});
  ASSERT_TRUE(head);
  EXPECT_EQ(head->first, 0u);
  EXPECT_TRUE(head->bytes.starts_with("1\n2\n"));
}

TEST_F(Commands, LeaveSpillFilesUntilTheyAreRemoved) {
  const std::string home = folder_.file("home");
  for (const char* const id : {"01A", "01B"}) {
    ProcessRequest request{.argv = {"seq", "1000"}, .cwd = {}, .environment = {}, .input = {}, .output_bytes_max = 10};
    request.spill.directory = spill_directory(home, id);
    ASSERT_TRUE(run_process(request, clock_, cancel_, Deadline{}));
    ASSERT_TRUE(std::filesystem::exists(home + "/spill/" + id + "/1.out"));
  }
  remove_spilled(home, "01A");
  EXPECT_FALSE(std::filesystem::exists(home + "/spill/01A"));
  remove_spilled_before(home, clock_.wall_ms(), std::chrono::hours(24));
  EXPECT_TRUE(std::filesystem::exists(home + "/spill/01B/1.out")) << "it is young";
  remove_spilled_before(home, clock_.wall_ms() + 3'600'000, std::chrono::hours(0));
  EXPECT_FALSE(std::filesystem::exists(home + "/spill/01B"));
  remove_spilled(home, "..");
  remove_spilled(home, "");
  EXPECT_TRUE(std::filesystem::exists(home)) << "a name that is no conversation's removes nothing";
}

TEST(SpillPaths, AreThoseOfTheDirectoryAlone) {
  EXPECT_TRUE(is_spill_path("/h/spill/01A", "/h/spill/01A/12.out"));
  for (const char* const other : {"/h/spill/01B/12.out", "/h/spill/01A/../01B/1.out", "/h/spill/01A/x.out",
                                  "/h/spill/01A/.out", "/h/spill/01A/1.outer", "/h/spill/01A", "1.out"})
    EXPECT_FALSE(is_spill_path("/h/spill/01A", other)) << other;
  EXPECT_FALSE(is_spill_path("", "/1.out"));
}

// ---- the whole tree ends

class Tree : public Commands, public ::testing::WithParamInterface<const char*> {};

TEST_P(Tree, EndsByRequest) {
  const Adopting adopting;
  const std::uint64_t handle = start(ready_line(GetParam()));
  const pid_t hidden = pid_in("ready");
  ASSERT_GT(hidden, 1);
  const auto end = table_->end(handle);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->reason, EndReason::kEnded);
  EXPECT_TRUE(ends_soon(hidden));
}

TEST_P(Tree, EndsWithTheSession) {
  const Adopting adopting;
  (void)start(ready_line(GetParam()));
  const pid_t hidden = pid_in("ready");
  ASSERT_GT(hidden, 1);
  EXPECT_EQ(table_->end_all().size(), 1u);
  EXPECT_TRUE(ends_soon(hidden));
  EXPECT_TRUE(table_->end_all().empty()) << "nothing runs any more";
}

INSTANTIATE_TEST_SUITE_P(Ways, Tree, ::testing::ValuesIn(kHidingPlaces));

// What a command leaves behind when it ends by itself.
TEST_F(Commands, LeaveNothingBehind) {
  const Adopting adopting;
  const char* const daemon =
      "(setsid env -i F=$F sh -c 'echo $$ >$F; exec /bin/sleep 600' </dev/null >/dev/null 2>&1 &); "
      "while ! test -s $F; do sleep 0.01; done; echo done";
  const std::uint64_t handle = start(ready_line(daemon));
  const CommandState end = ended(handle);
  EXPECT_EQ(end.reason, EndReason::kExited);
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_TRUE(ends_soon(pid_in("ready")));
  EXPECT_EQ(rest(handle), "done\n");
  std::filesystem::remove(folder_.file("ready"));
  const auto ran = table_->run(ready_line(daemon), cancel_, Deadline{});
  ASSERT_TRUE(ran);
  EXPECT_EQ(ran->output, "done\n");
  EXPECT_TRUE(ends_soon(pid_in("ready")));
}

// The control of the test above: a command of the session that still runs is no leftover of another one.
TEST_F(Commands, SpareTheOthersOfTheSession) {
  const Adopting adopting;
  const std::uint64_t server =
      start(ready_line("(setsid env -i F=$F sh -c 'echo $$ >$F; exec /bin/sleep 600' </dev/null >/dev/null 2>&1 &); "
                       "sleep 600"));
  const pid_t hidden = pid_in("ready");
  ASSERT_TRUE(table_->run(line("sleep 600 & exit 0"), cancel_, Deadline{}));
  (void)ended(start(line("sleep 600 & exit 0")));
  EXPECT_TRUE(alive(hidden));
  EXPECT_EQ(table_->wait(server, cancel_, Deadline::after(clock_, Milliseconds(1)))->phase,
            CommandState::Phase::kRunning);
}

// ---- many

TEST_F(Commands, NeedOneThreadForAll) {
  const Adopting adopting;
  (void)ended(start(line("exit 0")));
  const int before = threads();
  std::vector<std::uint64_t> all;
  for (int i = 0; i < 200; ++i) all.push_back(start(line("echo " + std::to_string(i) + "; exec sleep 600")));
  EXPECT_EQ(threads(), before);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(read_until(all[static_cast<std::size_t>(i)], "\n"), std::to_string(i) + "\n");
  EXPECT_EQ(table_->end_all().size(), 200u);
  table_.reset();
  EXPECT_EQ(threads(), before) << "the reader is the process's";
  reader_.reset();
  // A joined thread can be listed for a moment.
  for (int i = 0; i < 1'000 && threads() != before - 1; ++i) SystemClock().pause(Milliseconds(5));
  EXPECT_EQ(threads(), before - 1);
}

TEST_F(Commands, AreLimited) {
  const Adopting adopting;
  for (std::size_t i = 0; i < CommandTable::kRunningMax; ++i) (void)start(line("exec sleep 600"));
  const auto refused = table_->start(line("exec sleep 600"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kBusy);
  ASSERT_TRUE(table_->signal(1, SIGKILL));
  (void)ended(1);
  EXPECT_TRUE(table_->start(line("exec sleep 600")));
  (void)table_->end_all();
}

TEST_F(Commands, OpenNoDescriptorsForEver) {
  (void)ended(start(line("exit 0")));
  const int before = descriptors();
  for (int i = 0; i < 10; ++i) {
    CommandRequest request = line("echo x");
    if (i % 2 == 0) request.terminal = TerminalSize{};
    (void)ended(start(std::move(request)));
  }
  table_ = std::make_unique<CommandTable>(reader_);
  EXPECT_LE(descriptors(), before);
}

// ---- the cage

// Puts a variable around each command, and says what it has seen.
class PaintedCage final : public CommandCage {
 public:
  Result<CagedCommand> wrap(const std::vector<std::string>& argv, const std::string&,
                            const std::vector<std::string>& environment) override {
    if (argv.back() == "forbidden") return Error{Code::kDenied, "the cage refuses it"};
    if (argv.back() == "touch made") return Error{Code::kUnavailable, "no layer holds: 100% 'sure'; touch made"};
    CagedCommand out;
    out.argv = {"env", "CAGED=yes"};
    out.argv.insert(out.argv.end(), argv.begin(), argv.end());
    out.environment = environment;
    out.finish = [this](std::string_view output, int code) {
      ++finished;
      seen = std::string(output) + ":" + std::to_string(code);
      return CagedCommand::After{{"it was seen"}, undoes};
    };
    return out;
  }
  std::atomic<int> finished = 0;
  bool undoes = false;
  std::string seen;
};

class NoCage final : public CommandCage {
 public:
  Result<CagedCommand> wrap(const std::vector<std::string>&, const std::string&,
                            const std::vector<std::string>&) override {
    return Error{Code::kUnavailable, "there is no sandbox"};
  }
};

// The reason is the output, and nothing in it or in the environment is run.
TEST_F(Commands, WithoutACageThatCanBeMadeTheReasonIsTheOutput) {
  CommandRequest request = line("touch made");
  std::string place = std::filesystem::temp_directory_path().string() + "/agentd-no-cage-XXXXXX";
  ASSERT_NE(::mkdtemp(place.data()), nullptr);
  request.process.cwd = place;
  request.process.environment = {"PATH=/usr/bin:/bin", "ENV=/dev/null", "LD_PRELOAD=nowhere.so"};
  request.cage = std::make_shared<PaintedCage>();
  const auto ran = table_->run(request, cancel_, Deadline{});
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->exit_code, 125);
  EXPECT_EQ(ran->output, "no layer holds: 100% 'sure'; touch made\n");
  const std::uint64_t handle = start(request);
  EXPECT_EQ(ended(handle).exit_code, 125);
  EXPECT_EQ(rest(handle), "no layer holds: 100% 'sure'; touch made\n");
  EXPECT_TRUE(std::filesystem::is_empty(place));
  std::filesystem::remove_all(place);
}

TEST_F(Commands, RunAndStartInTheirCage) {
  const auto cage = std::make_shared<PaintedCage>();
  CommandRequest request = line("printf %s $CAGED");
  request.cage = cage;
  const auto ran = table_->run(request, cancel_, Deadline{});
  ASSERT_TRUE(ran);
  EXPECT_EQ(ran->output, "yes\nagentd: it was seen\n");
  EXPECT_EQ(ran->exit_code, 0);
  EXPECT_EQ(cage->seen, "yes:0");
  cage->undoes = true;
  const auto handle = table_->start(request);
  ASSERT_TRUE(handle);
  const auto end = table_->wait(*handle, cancel_, Deadline{});
  EXPECT_EQ(end->exit_code, 1) << "what it did was undone";
  EXPECT_EQ(cage->seen, "yes:0");
  EXPECT_EQ(table_->read(*handle, 0, 100, cancel_, Deadline{})->bytes, "yes\nagentd: it was seen\n");
  EXPECT_EQ(table_->list().front().command, "sh -c printf %s $CAGED") << "listed as it was asked for";
  EXPECT_EQ(cage->finished, 2);
  CommandRequest forbidden = line("forbidden");
  forbidden.cage = cage;
  EXPECT_EQ(table_->start(forbidden).error().code, Code::kDenied);
  EXPECT_EQ(cage->finished, 2);
}

TEST_F(Commands, WhatTheCageRefusedIsTakenOnce) {
  CommandRequest request = line("true");
  EXPECT_TRUE(table_->run(request, cancel_, Deadline{}));
  EXPECT_TRUE(table_->take_refusals().empty()) << "without a cage";
  request.cage = std::make_shared<PaintedCage>();
  EXPECT_TRUE(table_->run(request, cancel_, Deadline{}));
  EXPECT_EQ(table_->take_refusals(), std::vector<std::string>{"it was seen"});
  EXPECT_TRUE(table_->take_refusals().empty());
  const auto handle = table_->start(request);
  ASSERT_TRUE(handle);
  EXPECT_TRUE(table_->wait(*handle, cancel_, Deadline{}));
  CommandRequest nowhere = line("true");
  nowhere.cage = std::make_shared<NoCage>();
  const auto refused = table_->run(nowhere, cancel_, Deadline{});
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_EQ(refused->exit_code, 125);
  const std::vector<std::string> both{"there is no sandbox", "it was seen"};
  EXPECT_EQ(table_->take_refusals(), both);
}

}  // namespace
}  // namespace agentd
