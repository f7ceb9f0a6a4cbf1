// SPDX-License-Identifier: Apache-2.0
// agentd.process/1: handles of a session's commands, and the files of what they have spilled.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/hooks/services.h"
#include "core/native/ext_tables.h"
#include "core/process/commands.h"
#include "tests/support/fake_process_host.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

class ExtProcess : public ::testing::Test {
 protected:
  ExtProcess() {
    std::filesystem::create_directory(temp_.file("work"));
    auto opened = open_workspace({temp_.file("work")});
    EXPECT_TRUE(opened);
    workspace_ = std::move(*opened);
  }
  void use(CommandsOfSession commands = {}) {
    tables_.emplace(tokens_, *workspace_, clock_, FilesOfSession(), nullptr, std::move(commands));
    token_ = slot_->open(nullptr);
  }
  const agentd_process* process() const { return tables_->process(); }
  // Options for sh -c LINE; they refer to `line`.
  struct Options {
    explicit Options(std::string_view line) : words{to_abi("sh"), to_abi("-c"), to_abi(line)} {
      record.size = sizeof record;
      record.argv = {words, 3, sizeof(agentd_str)};
    }
    Options(const Options&) = delete;
    Options& operator=(const Options&) = delete;

    agentd_str words[3];
    agentd_process_options record{};
  };
  std::uint64_t start(const agentd_process_options& options, agentd_status wanted = AGENTD_OK) const {
    std::uint64_t handle = 0;
    EXPECT_EQ(process()->start(process(), token_, &options, &handle), wanted);
    return handle;
  }
  std::string unread(std::uint64_t handle, std::uint32_t wait_ms = 60'000) const {
    const agentd_process_piece* piece = nullptr;
    EXPECT_EQ(process()->read(process(), token_, handle, AGENTD_PROCESS_UNREAD, 0, wait_ms, &piece), AGENTD_OK);
    return piece == nullptr ? std::string() : std::string(view_of(piece->bytes));
  }
  const agentd_process_state& ended(std::uint64_t handle) const {
    const agentd_process_state* state = nullptr;
    do {
      EXPECT_EQ(process()->wait(process(), token_, handle, 60'000, &state), AGENTD_OK);
    } while (state != nullptr && state->state != AGENTD_PROCESS_STATE_ENDED);
    return *state;
  }

  testing::TempDir temp_;
  const SystemClock clock_;
  TokenTable tokens_;
  const SlotLease slot_{tokens_};
  std::unique_ptr<Workspace> workspace_;
  std::optional<ExtTables> tables_;
  agentd_token token_ = 0;
};

TEST_F(ExtProcess, StartsReadsWritesAndEnds) {
  use();
  Options options("echo up $ADDED; read word; echo got $word; exit 5");
  const agentd_str variables[] = {to_abi("ADDED=yes")};
  options.record.environment = {variables, 1, sizeof variables[0]};
  options.record.flags = AGENTD_PROCESS_TAKES_INPUT;
  options.record.description = to_abi("asks");
  const std::uint64_t handle = start(options.record);
  EXPECT_EQ(handle, 1u);
  EXPECT_EQ(unread(handle), "up yes\n");
  EXPECT_EQ(process()->write(process(), token_, handle, to_abi("it\n"), 1), AGENTD_OK);
  const agentd_process_state& state = ended(handle);
  EXPECT_EQ(state.size, sizeof(agentd_process_state));
  EXPECT_EQ(state.reason, AGENTD_PROCESS_REASON_EXITED);
  EXPECT_EQ(state.exit_code, 5);
  EXPECT_EQ(state.flags, AGENTD_PROCESS_TAKES_INPUT);
  EXPECT_EQ(view_of(state.description), "asks");
  EXPECT_EQ(unread(handle), "got it\n");
  const agentd_process_piece* piece = nullptr;
  ASSERT_EQ(process()->read(process(), token_, handle, 3, 4, 0, &piece), AGENTD_OK);
  EXPECT_EQ(view_of(piece->bytes), "yes\n");
  EXPECT_EQ(piece->first, 3u);
  EXPECT_EQ(piece->next, 7u);
  EXPECT_EQ(piece->state->state, AGENTD_PROCESS_STATE_ENDED);

  // Without a shell around it, which may start it while the signal comes.
  const std::uint64_t other = start(Options("exec sleep 600").record);
  agentd_list all{};
  ASSERT_EQ(process()->list(process(), token_, &all), AGENTD_OK);
  ASSERT_EQ(all.count, 2u);
  const auto* const rows = static_cast<const agentd_process_state*>(all.first);
  EXPECT_EQ(rows[0].handle, handle);
  EXPECT_EQ(rows[1].state, AGENTD_PROCESS_STATE_RUNNING);
  EXPECT_EQ(view_of(rows[1].command), "sh -c exec sleep 600");
  EXPECT_EQ(process()->signal(process(), token_, other, SIGINT), AGENTD_OK);
  EXPECT_EQ(ended(other).signal, SIGINT);
  const agentd_process_state* state_of_end = nullptr;
  ASSERT_EQ(process()->end(process(), token_, start(Options("sleep 600").record), &state_of_end), AGENTD_OK);
  EXPECT_EQ(state_of_end->reason, AGENTD_PROCESS_REASON_ENDED);
}

TEST_F(ExtProcess, OpensATerminal) {
  use();
  Options options("stty size; while :; do sleep 0.01; done");
  options.record.flags = AGENTD_PROCESS_TERMINAL;
  options.record.rows = 30;
  options.record.columns = 100;
  const std::uint64_t handle = start(options.record);
  EXPECT_EQ(unread(handle), "30 100\r\n");
  EXPECT_EQ(process()->resize(process(), token_, handle, 40, 120), AGENTD_OK);
  EXPECT_EQ(process()->resize(process(), token_, handle, 0, 120), AGENTD_E_ARG);
  EXPECT_EQ(process()->resize(process(), token_, handle, 40, 70'000), AGENTD_E_ARG);
}

TEST_F(ExtProcess, RefusesWhatCannotBe) {
  use();
  Options options("true");
  options.record.flags = 64;
  start(options.record, AGENTD_E_ARG);
  options.record.flags = 0;
  const agentd_str forbidden = to_abi("LD_PRELOAD=x.so");
  options.record.environment = {&forbidden, 1, sizeof forbidden};
  start(options.record, AGENTD_E_DENIED);
  options.record.environment = {nullptr, 3, sizeof forbidden};
  start(options.record, AGENTD_E_ARG);
  EXPECT_EQ(process()->start(process(), token_, nullptr, nullptr), AGENTD_E_ARG);
  const agentd_process_piece* piece = nullptr;
  const agentd_process_state* state = nullptr;
  for (const std::uint64_t handle : {std::uint64_t{0}, std::uint64_t{7}, UINT64_MAX}) {
    EXPECT_EQ(process()->read(process(), token_, handle, 0, 0, 0, &piece), AGENTD_E_NOT_FOUND);
    EXPECT_EQ(process()->write(process(), token_, handle, to_abi("x"), 0), AGENTD_E_NOT_FOUND);
    EXPECT_EQ(process()->signal(process(), token_, handle, 15), AGENTD_E_NOT_FOUND);
    EXPECT_EQ(process()->wait(process(), token_, handle, 0, &state), AGENTD_E_NOT_FOUND);
    EXPECT_EQ(process()->end(process(), token_, handle, &state), AGENTD_E_NOT_FOUND);
    EXPECT_EQ(process()->resize(process(), token_, handle, 1, 1), AGENTD_E_NOT_FOUND);
  }
  EXPECT_EQ(process()->read(process(), token_, 1, 0, 0, 0, nullptr), AGENTD_E_ARG);
  EXPECT_EQ(process()->wait(process(), token_, 1, 0, nullptr), AGENTD_E_ARG);
  EXPECT_EQ(process()->list(process(), token_, nullptr), AGENTD_E_ARG);
  EXPECT_EQ(process()->end(process(), token_, 1, nullptr), AGENTD_E_ARG);
  EXPECT_EQ(process()->write(process(), token_, 1, {nullptr, 4}, 0), AGENTD_E_ARG);
  EXPECT_EQ(process()->start(process(), 12345, &options.record, nullptr), AGENTD_E_NOT_FOUND) << "a stale token";
}

// A plugin that was compiled before the handles has a shorter record.
TEST_F(ExtProcess, TakesTheOptionsOfItsFirstDraft) {
  use();
  Options options("echo it");
  options.record.size = 64;
  options.record.flags = 64;  // not read
  const agentd_process_result* result = nullptr;
  ASSERT_EQ(process()->run(process(), token_, &options.record, &result), AGENTD_OK);
  EXPECT_EQ(view_of(result->output), "it\n");
  EXPECT_EQ(result->reason, AGENTD_PROCESS_REASON_EXITED);
  EXPECT_EQ(view_of(result->spill_path), "");
}

TEST_F(ExtProcess, ShowsTheSessionsOwnSpilledOutputAsAFile) {
  auto host = std::make_shared<CommandTable>(std::make_shared<CommandReader>(clock_));
  const std::string home = temp_.file("home");
  use([&](agentd_conv) { return SessionCommands{host, spill_directory(home, "01A")}; });
  Options options("seq 1000");
  options.record.output_bytes_max = 100;
  const agentd_process_result* result = nullptr;
  ASSERT_EQ(process()->run(process(), token_, &options.record, &result), AGENTD_OK);
  EXPECT_NE(result->flags & AGENTD_PROCESS_TRUNCATED, 0u);
  const std::string path(view_of(result->spill_path));
  EXPECT_EQ(path, home + "/spill/01A/1.out");
  EXPECT_EQ(result->spill_bytes, result->output_bytes);
  const agentd_workspace* const files = tables_->workspace();
  agentd_str text{};
  std::uint64_t total = 0;
  ASSERT_EQ(files->read(files, token_, to_abi(path), 0, 4, &text, &total), AGENTD_OK);
  EXPECT_EQ(view_of(text), "1\n2\n");
  EXPECT_EQ(total, result->output_bytes);
  ASSERT_EQ(files->view(files, token_, to_abi(path), 0, &text, &total), AGENTD_OK);
  EXPECT_EQ(view_of(text).substr(0, 4), "1\n2\n");
  EXPECT_EQ(files->write(files, token_, to_abi(path), to_abi("x")), AGENTD_E_DENIED) << "it is not for writing";
  // Nothing else of agentd's home.
  std::filesystem::create_directories(home + "/spill/01B");
  std::filesystem::copy_file(path, home + "/spill/01B/1.out");
  temp_.write("home/secret", "x");
  for (const std::string& other : {home + "/spill/01B/1.out", home + "/secret", home + "/spill/01A/../../secret"})
    EXPECT_EQ(files->read(files, token_, to_abi(other), 0, 4, &text, &total), AGENTD_E_DENIED) << other;
  std::filesystem::remove(path);
  EXPECT_EQ(files->read(files, token_, to_abi(path), 0, 4, &text, &total), AGENTD_E_NOT_FOUND);
}

// ---- a client's own commands

TEST_F(ExtProcess, AsksTheHostOfTheSession) {
  auto editor = std::make_shared<testing::FakeProcessHost>();
  use([&](agentd_conv) { return SessionCommands{editor, {}}; });
  Options options("build");
  options.record.flags = AGENTD_PROCESS_TERMINAL;
  options.record.timeout_ms = 7;
  options.record.description = to_abi("builds it");
  const std::uint64_t handle = start(options.record);
  ASSERT_EQ(editor->started.size(), 1u);
  const testing::FakeProcessHost::Started& asked = editor->started[0];
  EXPECT_EQ(asked.request.process.argv, (std::vector<std::string>{"sh", "-c", "build"}));
  EXPECT_EQ(asked.request.process.cwd, temp_.file("work"));
  EXPECT_EQ(asked.request.time, Milliseconds(7));
  EXPECT_EQ(asked.request.description, "builds it");
  ASSERT_TRUE(asked.request.terminal);
  EXPECT_EQ(asked.request.terminal->rows, 24);
  EXPECT_EQ(asked.request.terminal->columns, 80);
  EXPECT_EQ(unread(handle), "from the editor\n");
  EXPECT_EQ(process()->write(process(), token_, handle, to_abi("y"), 1), AGENTD_OK);
  EXPECT_EQ(asked.written, "y<end>");
  EXPECT_EQ(process()->signal(process(), token_, handle, 2), AGENTD_OK);
  EXPECT_EQ(asked.signals, std::vector<int>{2});
  EXPECT_EQ(process()->resize(process(), token_, handle, 50, 90), AGENTD_OK);
  EXPECT_EQ(asked.size.rows, 50);
  const agentd_process_state* state = nullptr;
  ASSERT_EQ(process()->end(process(), token_, handle, &state), AGENTD_OK);
  EXPECT_EQ(state->state, AGENTD_PROCESS_STATE_ENDED);
  const agentd_process_result* result = nullptr;
  const Options simple("test");
  ASSERT_EQ(process()->run(process(), token_, &simple.record, &result), AGENTD_OK);
  EXPECT_EQ(view_of(result->output), "from the editor\n");
  EXPECT_EQ(editor->ran.size(), 1u);
}

}  // namespace
}  // namespace agentd
