// SPDX-License-Identifier: Apache-2.0
// Commands with handles are the same for a plugin in this process and for one in a worker.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/codec/json.h"
#include "tests/support/fake_process_host.h"
#include "tests/support/host_fixture.h"

namespace agentd {
namespace {

class WorkerCommands : public ::testing::TestWithParam<Isolation> {
 protected:
  WorkerCommands() : fixture_(AGENTD_BROKEN_HOOKS) {
    std::filesystem::create_directory(fixture_.temp.file("work"));
    fixture_.install("files");
    fixture_.options.isolation = GetParam();
    fixture_.options.worker.program = AGENTD_HOOK_WORKER;
    fixture_.options.roots = {fixture_.temp.file("work")};
    fixture_.options.plugins["files"].grants = {AGENTD_WORKSPACE_ID, AGENTD_PROCESS_ID};
  }
  std::string tool(const std::string& name, const std::string& input) {
    JsonWriter text;
    text.begin_object().member("text", input).end_object();
    const auto answer = fixture_.host->tools().call({}, {"c", name, *ToolInput::make(text.text())}, {}, {});
    return answer ? answer->content : "error: " + answer.error().message;
  }

  testing::HostFixture fixture_;
};

TEST_P(WorkerCommands, AreStartedReadWrittenAndWaitedFor) {
  fixture_.load();
  EXPECT_EQ(tool("talk", "echo up $TALK; read line; echo got $line; exit 6"),
            "wrote 0\nup yes\ngot line\n6 1 talks\n-13 -1 -6");
}

TEST_P(WorkerCommands, GoOnAfterTheCallThatStartedThem) {
  fixture_.load();
  EXPECT_EQ(tool("again", "exec sleep 600"), "started");
  EXPECT_EQ(tool("again", "unused"), "ended sh -c exec sleep 600 5\n");
}

TEST_P(WorkerCommands, AreThoseOfTheSessionsOwnHost) {
  const auto editor = std::make_shared<testing::FakeProcessHost>();
  fixture_.options.commands = [&](agentd_conv) { return SessionCommands{editor, {}}; };
  fixture_.load();
  EXPECT_EQ(tool("again", "build"), "started");
  ASSERT_EQ(editor->started.size(), 1u);
  EXPECT_EQ(editor->started[0].request.process.argv.back(), "build");
  EXPECT_EQ(tool("again", "unused"), "ended build 5\n");
  EXPECT_TRUE(editor->started[0].ended);
}

INSTANTIATE_TEST_SUITE_P(Where, WorkerCommands, ::testing::Values(Isolation::kInProcess, Isolation::kProcess));

}  // namespace
}  // namespace agentd
