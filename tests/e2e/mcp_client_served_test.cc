// SPDX-License-Identifier: Apache-2.0
// mcp_client_served_test.cc - the servers of a daemon's open session when the settings of one of them change.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/e2e/served_home.h"

namespace agentd::testing {
namespace {

constexpr const char* kTools =
    R"({"tools":[{"name":"echo","description":"","inputSchema":{"type":"object"},"does":"hello"}]})";

class McpClientServed : public ::testing::Test {
 protected:
  McpClientServed() : home_("sandbox: {layer: 'off'}\npermissions: {allow: [mcp__own, mcp__shared, mcp__other]}\n") {
    home_.program().directory().write("tools.json", kTools);
  }
  std::string starts_of(const std::string& name) { return home_.program().directory().file("starts-" + name); }
  int starts(const std::string& name) {
    std::ifstream file(starts_of(name));
    int out = 0;
    for (std::string line; std::getline(file, line);) ++out;
    return out;
  }
  void add(const std::string& name, const std::vector<std::string>& options = {}) {
    std::vector<std::string> words{"mcp", "add", name};
    words.insert(words.end(), options.begin(), options.end());
    for (const std::string& word : {std::string("--"), std::string("python3"), std::string(AGENTD_MCP_SERVER),
                                    home_.program().directory().file("tools.json"), starts_of(name)})
      words.push_back(word);
    const Finished added = home_.program().run(words);
    EXPECT_EQ(added.code, 0) << added.err;
  }
  // A run that calls the tools of both servers, to its end.
  void run() {
    ASSERT_EQ(home_.say(id_, "go").status, 202);
    ++runs_;
    const auto ended = [&] {
      const std::string all = home_.client().get(ServedHome::path(id_, "messages")).body;
      int count = 0;
      for (std::size_t at = all.find("the run is done"); at != std::string::npos;
           at = all.find("the run is done", at + 1))
        ++count;
      return count >= runs_;
    };
    ASSERT_TRUE(comes_true(ended)) << home_.client().get(ServedHome::path(id_, "messages")).body;
  }
  std::string all_starts() {
    return std::to_string(starts("own")) + " " + std::to_string(starts("shared")) + " " +
           std::to_string(starts("other"));
  }

  ServedHome home_;
  std::string id_;
  int runs_ = 0;
};

TEST_F(McpClientServed, GoOnWhereTheSettingsOfAnotherChange) {
  add("own", {"--scope", "session"});
  add("shared");
  std::string turns;
  for (int i = 0; i < 8; ++i)
    turns +=
        "- calls: [{name: mcp__own__echo, input: {}}, {name: mcp__shared__echo, input: {}}]\n"
        "- text: the run is done\n";
  home_.start(turns, {"--set", "serve.uncaged=true"});
  id_ = home_.create();
  run();
  EXPECT_EQ(all_starts(), "1 1 0");
  run();
  EXPECT_EQ(all_starts(), "1 1 0");
  add("other");
  run();
  EXPECT_EQ(all_starts(), "1 1 1") << "the new one alone was started, in the session that is open";
  (void)home_.program().file(".mcp.json", R"({"mcpServers":{"strange":{"command":"no-such-program"}}})");
  run();
  EXPECT_EQ(all_starts(), "1 1 1");
  add("other", {"--replace", "--env", "A=1"});
  run();
  EXPECT_EQ(all_starts(), "1 1 2");
  add("own", {"--replace", "--scope", "session", "--env", "A=1"});
  run();
  EXPECT_EQ(all_starts(), "2 1 2") << "its own settings have changed";
  std::ofstream(home_.program().home() + "/mcp.json") << "{";
  run();
  EXPECT_EQ(all_starts(), "2 1 2") << "a file that cannot be read ends none";
}

}  // namespace
}  // namespace agentd::testing
