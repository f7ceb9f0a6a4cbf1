// SPDX-License-Identifier: Apache-2.0
// sandbox_log_test.cc - what the log says of the sandbox and of rules: what was refused, undone or not started, and
// runs without it.
#include <gtest/gtest.h>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

class SandboxLog : public ::testing::Test {
 protected:
  Finished run(const std::string& command, const std::vector<std::string>& more = {"--allow", "bash"}) {
    std::vector<std::string> words{
        "run", "x", "--script",
        program_.script("- calls: [{name: bash, input: {command: \"" + command + "\"}}]\n- text: done\n")};
    words.insert(words.end(), more.begin(), more.end());
    return program_.run(words);
  }
  // The payloads of the newest conversation's records of a kind, each on a line.
  std::string records(const std::string& kind) {
    std::string out;
    for (const JsonDocument& line : json_lines(program_.run({"conversation", "dump", program_.newest()}).out))
      for (std::size_t i = 0; i < line.root()["records"].size(); ++i) {
        const JsonView record = line.root()["records"].at(i);
        if (record["name"].string_or("") == kind) out += std::string(record["payload"].string_or("")) + "\n";
      }
    return out;
  }
  bool has_sandbox() { return program_.run({"sandbox", "run", "--", "true"}).code == 0; }

  Program program_;
};

TEST_F(SandboxLog, NamesWhatWasUndone) {
  if (!has_sandbox()) GTEST_SKIP() << "this machine cannot make one";
  EXPECT_EQ(run("echo x > .mcp.json").code, 0);
  const std::string permission = records("permission");
  EXPECT_TRUE(has(permission, "\"by\":\"sandbox\"")) << permission;
  EXPECT_TRUE(has(permission, "\"tool\":\"bash\",\"decision\":\"deny\"")) << permission;
  EXPECT_TRUE(has(permission, ".mcp.json")) << permission;
  EXPECT_FALSE(has(records("run_begin"), "\"sandbox\"")) << records("run_begin");
}

TEST_F(SandboxLog, NamesAHostThatWasRefused) {
  if (!has_sandbox()) GTEST_SKIP() << "this machine cannot make one";
  program_.config("sandbox: {network: [allowed.example]}\n");
  const std::string fetch =
      "exec 3<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:}; printf 'CONNECT other.example:443 HTTP/1.1\\\\r\\\\n\\\\r\\\\n' "
      ">&3; "
      "head -n 1 <&3";
  EXPECT_EQ(run(fetch).code, 0);
  EXPECT_TRUE(has(records("permission"), "other.example")) << records("permission") << records("tool_result");
}

TEST_F(SandboxLog, HasNothingToSayOfAPlainCommand) {
  if (!has_sandbox()) GTEST_SKIP() << "this machine cannot make one";
  EXPECT_EQ(run("echo x > plain").code, 0);
  EXPECT_TRUE(exists(program_.project() + "/plain"));
  EXPECT_EQ(records("permission"), "");
}

TEST_F(SandboxLog, HasNothingToSayOfANewRepository) {
  if (!has_sandbox()) GTEST_SKIP() << "this machine cannot make one";
  EXPECT_EQ(run("git init -q && git -c user.name=A -c user.email=a@example.org commit -q --allow-empty -m a").code, 0);
  EXPECT_TRUE(exists(program_.project() + "/.git/config")) << records("permission");
  EXPECT_EQ(records("permission"), "");
}

TEST_F(SandboxLog, SaysThatARunIsWithoutIt) {
  program_.config("sandbox: {layer: \"off\"}\n");
  const Finished ran = run("echo x > .mcp.json");
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(has(ran.err, "without a sandbox")) << ran.err;
  EXPECT_TRUE(exists(program_.project() + "/.mcp.json")) << "nothing guards it";
  EXPECT_TRUE(has(records("run_begin"), "\"sandbox\":\"off\"")) << records("run_begin");
  EXPECT_EQ(records("permission"), "");
}

TEST_F(SandboxLog, ARuleThatDeniedIsNamed) {
  program_.config("permissions: {deny: [\"bash(rm:*)\"]}\n");
  EXPECT_EQ(run("rm x").code, 0);
  const std::string permission = records("permission");
  EXPECT_TRUE(has(permission, "\"decision\":\"deny\",\"by\":\"rules\"")) << permission;
  EXPECT_TRUE(has(permission, "bash(rm:*)")) << permission;
}

}  // namespace
}  // namespace agentd::testing
