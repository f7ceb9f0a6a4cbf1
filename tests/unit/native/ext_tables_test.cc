// SPDX-License-Identifier: Apache-2.0
#include "core/native/ext_tables.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "core/codec/json.h"
#include "tests/support/host_fixture.h"

namespace agentd {
namespace {

using testing::HostFixture;

class ExtTablesTest : public ::testing::Test {
 protected:
  ExtTablesTest() : fixture_(AGENTD_BROKEN_HOOKS) {
    std::filesystem::create_directory(root());
    fixture_.install("files");
    fixture_.options.roots = {root()};
    fixture_.options.plugins["files"].grants = {AGENTD_WORKSPACE_ID, AGENTD_PROCESS_ID};
    fixture_.load();
  }
  std::string root() const { return fixture_.temp.file("work"); }
  Result<ToolOutcome> tool(const std::string& name, const std::string& input, const CancelToken& cancel = {},
                           Deadline deadline = {}) {
    JsonWriter text;
    text.begin_object().member("text", input).end_object();
    return fixture_.host->tools().call({}, {"c", name, *ToolInput::make(text.text())}, cancel, deadline);
  }

  HostFixture fixture_;
};

TEST_F(ExtTablesTest, ReadGivesTheFileToTheHook) {
  fixture_.temp.write("work/a.txt", "some text");
  const auto answer = tool("read", "a.txt");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->content, "some text");
}

TEST_F(ExtTablesTest, EmptyFileIsAnAnswerToo) {
  fixture_.temp.write("work/a.txt", "");
  const auto answer = tool("read", "a.txt");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->content, "");
}

TEST_F(ExtTablesTest, WayOutOfTheRootIsDenied) {
  fixture_.temp.write("secret", "x");
  for (const std::string& path : {std::string("../secret"), fixture_.temp.file("secret")}) {
    const auto answer = tool("read", path);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Code::kDenied) << answer.error().message;
  }
}

TEST_F(ExtTablesTest, MissingFileSaysWhich) {
  const auto answer = tool("read", "nope.txt");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kNotFound);
  EXPECT_NE(answer.error().message.find("nope.txt"), std::string::npos) << answer.error().message;
}

TEST_F(ExtTablesTest, ListGivesEntriesInOrder) {
  std::filesystem::create_directory(root() + "/sub");
  fixture_.temp.write("work/sub/b", "x");
  fixture_.temp.write("work/a", "x");
  const auto answer = tool("list", ".");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->content, "a\nsub\nsub/b\n");
}

TEST_F(ExtTablesTest, RunGivesOutputAndExitCode) {
  const auto answer = tool("run", "pwd; exit 3");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->content, "3 0 " + std::filesystem::canonical(root()).string() + "\n");
}

TEST_F(ExtTablesTest, CallsDeadlineEndsTheCommand) {
  const auto answer = tool("run", "sleep 60", {}, Deadline::after(fixture_.clock, Milliseconds(100)));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(answer->content.starts_with("-1 1 ")) << answer->content;
}

TEST_F(ExtTablesTest, CancellingTheRunEndsTheCommandThatIsRunning) {
  const CancelToken cancel;
  const std::string flag = root() + "/started";
  std::jthread canceller([&] {
    while (!std::filesystem::exists(flag)) std::this_thread::sleep_for(Milliseconds(2));
    cancel.cancel(AGENTD_CANCEL_USER);
  });
  const auto answer = tool("run", "touch started; sleep 60", cancel);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(answer->content.starts_with("-1 2 ")) << answer->content;
}

TEST_F(ExtTablesTest, StaleTokenGetsNothing) {
  TokenTable tokens;
  auto workspace = open_workspace({root()});
  ASSERT_TRUE(workspace);
  const ExtTables tables(tokens, **workspace, fixture_.clock);
  agentd_str text{};
  EXPECT_EQ(tables.workspace()->read(tables.workspace(), 12345, {"a", 1}, 0, 0, &text, nullptr), AGENTD_E_NOT_FOUND);
  const agentd_process_result* result = nullptr;
  agentd_process_options options{};
  EXPECT_EQ(tables.process()->run(tables.process(), 12345, &options, &result), AGENTD_E_NOT_FOUND);
}

TEST_F(ExtTablesTest, OptionsThatCannotBeAreRefused) {
  TokenTable tokens;
  auto workspace = open_workspace({root()});
  ASSERT_TRUE(workspace);
  const ExtTables tables(tokens, **workspace, fixture_.clock);
  const SlotLease slot(tokens);
  const agentd_token token = slot->open(nullptr);
  const agentd_process_result* result = nullptr;
  const auto run = [&](const agentd_process_options& options) {
    return tables.process()->run(tables.process(), token, &options, &result);
  };
  agentd_process_options options{};
  EXPECT_EQ(run(options), AGENTD_E_ARG) << "size 0";
  options.size = sizeof(options);
  EXPECT_EQ(run(options), AGENTD_E_ARG) << "no arguments";
  const agentd_str broken{nullptr, 4};
  options.argv = {&broken, 1, sizeof(broken)};
  EXPECT_EQ(run(options), AGENTD_E_ARG) << "an argument without bytes";
  const agentd_str missing{"agentd-no-such-program", 22};
  options.argv = {&missing, 1, sizeof(missing)};
  EXPECT_EQ(run(options), AGENTD_E_NOT_FOUND);
}

}  // namespace
}  // namespace agentd
