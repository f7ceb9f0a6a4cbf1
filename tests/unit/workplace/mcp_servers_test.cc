// SPDX-License-Identifier: Apache-2.0
#include "core/workplace/mcp_servers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/runtime_test.h"

namespace agentd {
namespace {

class McpServersOfAProject : public testing::RuntimeTest<SystemClock> {
 protected:
  void SetUp() override {
    temp_.write("a/.mcp.json", R"({"mcpServers":{"s":{"command":"sh","args":["srv.sh"]}}})");
    temp_.write("a/srv.sh", "exit 1\n");
    begin_runtime("- text: x\n");
    project_ = find_project(temp_.file("a"));
  }
  void trust() {
    auto consents = McpConsents::open(McpConsents::file_of(runtime_->home()), ::geteuid(), clock_);
    ASSERT_TRUE(consents) << consents.error().message;
    std::vector<std::string> problems;
    const auto here = mcp_servers_here(*config_, runtime_->home(), project_, *consents, problems);
    ASSERT_TRUE(here && here->size() == 1);
    ASSERT_TRUE(consents->change("s", here->front().repository, [&](McpConsent& entry) {
      entry.definition = here->front().definition;
      entry.files = here->front().files;
      entry.tools.emplace();
    }));
  }
  std::unique_ptr<McpServers> found() {
    auto out = std::make_unique<McpServers>(*runtime_, project_, HookWishes());
    const auto loaded = out->load({project_.root});
    EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
    return out;
  }

  Project project_;
};

TEST_F(McpServersOfAProject, AreFoundAgainWhenAScriptHasChanged) {
  trust();
  const auto servers = found();
  EXPECT_NE(servers->shared(), nullptr);
  const std::uint64_t first = servers->refresh();
  EXPECT_EQ(servers->refresh(), first) << "nothing has changed";
  temp_.write("a/srv.sh", "exit 1 # another\n");
  const std::uint64_t second = servers->refresh();
  EXPECT_NE(second, first);
  EXPECT_EQ(servers->shared(), nullptr) << "it waits";
  EXPECT_EQ(servers->take_warnings(),
            std::vector<std::string>{"the MCP server s of this project is not started, since srv.sh, which its command "
                                     "names, has changed since you trusted it; 'agentd mcp trust s' shows and trusts "
                                     "it"});
  EXPECT_EQ(servers->refresh(), second);
  trust();
  EXPECT_NE(servers->refresh(), second);
  EXPECT_NE(servers->shared(), nullptr);
}

}  // namespace
}  // namespace agentd
