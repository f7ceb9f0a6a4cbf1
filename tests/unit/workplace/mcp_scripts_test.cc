// SPDX-License-Identifier: Apache-2.0
#include "core/workplace/mcp_scripts.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/base/hash.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

using testing::TempDir;

class McpScripts : public ::testing::Test {
 protected:
  std::vector<std::string> named(const std::string& command, const std::vector<std::string>& args,
                                 const std::string& cwd = "") const {
    std::vector<std::string> out;
    McpServerSettings server;
    server.command = command;
    server.args = args;
    server.cwd = cwd;
    for (const McpConsent::File& file : mcp_scripts_of(server, root_)) out.push_back(file.path);
    return out;
  }

  TempDir temp_;
  const std::string root_ = temp_.file("root");
};
using Names = std::vector<std::string>;

TEST_F(McpScripts, ProgramsAndScriptsOfTheProjectAreFound) {
  ASSERT_EQ(::mkdir(root_.c_str(), 0700), 0);
  ASSERT_EQ(::mkdir((root_ + "/in").c_str(), 0700), 0);
  for (const char* const file : {"srv.py", "in/hook.js", "data.db", "bare", "tool"})
    temp_.write("root/" + std::string(file), "text of " + std::string(file));
  temp_.write("root/run.txt", "#!/bin/sh\n");
  temp_.write("outside.py", "not of the project");
  ASSERT_EQ(::chmod((root_ + "/tool").c_str(), 0755), 0);
  EXPECT_EQ(named("python3", {"srv.py", "srv.py"}), Names{"srv.py"});
  EXPECT_EQ(named("./bare", {}), Names{"bare"});
  EXPECT_EQ(named("bare", {}), Names{}) << "it is looked for in PATH";
  EXPECT_EQ(named("sh", {"-x", "bare", "data.db"}), Names{"bare"});
  EXPECT_EQ(named("sh", {"srv.py", "bare", "data.db", "run.txt", "tool"}), (Names{"run.txt", "srv.py", "tool"}));
  EXPECT_EQ(named("node", {"--require=./in/hook.js"}), Names{"in/hook.js"});
  EXPECT_EQ(named("node", {"hook.js", "../srv.py"}, "in"), (Names{"in/hook.js", "srv.py"}));
  EXPECT_EQ(named("node", {root_ + "/srv.py"}), Names{"srv.py"});
  EXPECT_EQ(named("node", {"../outside.py", "${X}/srv.py", "in", "gone.py", ""}), Names{});
}

TEST_F(McpScripts, AnotherContentIsAnotherDigest) {
  ASSERT_EQ(::mkdir(root_.c_str(), 0700), 0);
  McpServerSettings server;
  server.command = "./run";
  temp_.write("root/run", "one");
  EXPECT_EQ(mcp_scripts_of(server, root_).at(0).digest, hex(sha256("one")));
  temp_.write("root/run", "two");
  EXPECT_EQ(mcp_scripts_of(server, root_).at(0).digest, hex(sha256("two")));
}

}  // namespace
}  // namespace agentd
