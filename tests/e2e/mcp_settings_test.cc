// SPDX-License-Identifier: Apache-2.0
// mcp_settings_test.cc - the settings of MCP servers by command: secrets, names, addresses, and what is told of them.
#include <gtest/gtest.h>

#include "tests/e2e/mcp_stage.h"

namespace agentd::testing {
namespace {

class McpSettings : public McpClient {
 protected:
  Finished run(const std::vector<std::string>& words) { return program_.run(words); }
};

TEST_F(McpSettings, SecretsOfArgumentsAreNotShown) {
  const std::string warning = "write ${NAME} in its place";
  const Finished added =
      run({"mcp", "add", "far", "--", "x", "--api-key", "sekret1", "--token=sekret2", "--as=${MINE}"});
  EXPECT_EQ(added.code, 0) << added.err;
  EXPECT_TRUE(has(added.err, warning) && has(added.err, "the argument --api-key ***, the argument --token=***"))
      << added.err;
  const Finished env = run({"mcp", "add", "env", "--env", "API_KEY=sekret3", "--env", "LEVEL=debug", "--", "x"});
  EXPECT_TRUE(has(env.err, "in the variable API_KEY: " + warning)) << env.err;
  const Finished header =
      run({"mcp", "add", "header", "--url", "https://example.org/", "--header", "Authorization: Bearer sekret4"});
  EXPECT_TRUE(has(header.err, "in the header Authorization: " + warning)) << header.err;
  std::string all = added.err + env.err + header.err;
  for (const auto& words : std::vector<std::vector<std::string>>{{"mcp", "list"},
                                                                 {"mcp", "list", "--json"},
                                                                 {"mcp", "show", "far"},
                                                                 {"mcp", "show", "far", "--json"},
                                                                 {"mcp", "show", "header"}})
    all += run(words).out;
  EXPECT_FALSE(has(all, "sekret")) << all;
  EXPECT_TRUE(has(all, "--as=${MINE}")) << all;
  const Finished fine = run({"mcp", "add", "fine", "--env", "API_KEY=${K}", "--env", "LEVEL=debug", "--", "x", "-y"});
  EXPECT_FALSE(has(fine.err, "secret")) << fine.err;
}

TEST_F(McpSettings, NamesThatDifferByCaseAreOne) {
  ASSERT_EQ(run({"mcp", "add", "Up", "--", "x"}).code, 0);
  for (const bool replaces : {false, true}) {
    std::vector<std::string> words{"mcp", "add", "up", "--", "y"};
    if (replaces) words.insert(words.begin() + 2, "--replace");
    const Finished added = run(words);
    EXPECT_EQ(added.code, 2) << added.out;
    EXPECT_TRUE(has(added.err, "has a server 'Up' (names that differ only by upper and lower case are one)"))
        << added.err;
  }
  (void)program_.file("mcp.json", R"({"mcpServers":{"uP":{"command":"z"},"other":{"command":"z"}}})");
  const Finished imported = run({"mcp", "import", "mcp.json"});
  EXPECT_EQ(imported.code, 0) << imported.err;
  EXPECT_TRUE(has(imported.err, "uP is not imported: you have a server of that name (names that differ"))
      << imported.err;
  EXPECT_TRUE(has(imported.out, "imported: other")) << imported.out;
  program_.config("mcp: {servers: {Mine: {command: x}}}\n");
  EXPECT_TRUE(has(run({"mcp", "add", "mine", "--", "y"}).err, "the settings have a server 'Mine' already"));
}

TEST_F(McpSettings, AServerOfTheFileIsRemovedBesideOneOfTheSettings) {
  ASSERT_EQ(run({"mcp", "add", "up", "--", "x"}).code, 0);
  program_.config("mcp: {servers: {up: {command: y}}}\n");
  const Finished removed = run({"mcp", "remove", "up"});
  EXPECT_EQ(removed.code, 0) << removed.err;
  EXPECT_TRUE(has(removed.out, "mcp.json; ") && has(removed.out, "config.yaml") && has(removed.out, "still has one"))
      << removed.out;
  EXPECT_EQ(json_lines(run({"mcp", "list", "--json"}).out).size(), 1u);
  EXPECT_TRUE(has(run({"mcp", "remove", "up"}).err, "remove it there"));
}

TEST_F(McpSettings, ToolsThatCannotBeUsedAreTold) {
  tools({kEcho, R"({"name":"bad","inputSchema":{"type":"array"}})"});
  configure();
  const Finished shown = run({"mcp", "show", "--tools", "played"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(has(shown.err, "the tool 'bad' is left out: it has an input that is no object")) << shown.err;
}

TEST_F(McpSettings, AMistakeOfAnotherServerIsNotToldWithOne) {
  (void)program_.file(".mcp.json", R"({"mcpServers":{"bad":{"comand":"x"},"far":{"url":"https://h:70000/"},)"
                                   R"("good":{"command":"x"}}})");
  EXPECT_EQ(run({"mcp", "show", "good"}).err, "");
  EXPECT_TRUE(has(run({"mcp", "show", "bad"}).err, "comand is no member"));
  EXPECT_TRUE(has(run({"mcp", "show", "far"}).err, "its port is not a number from 1 to 65535"));
  const std::string all = run({"mcp", "list"}).err;
  EXPECT_TRUE(has(all, "comand is no member") && has(all, "its port is not")) << all;
}

TEST_F(McpSettings, AnAddressOfTheSettingsThatCannotBeUsedIsTold) {
  program_.config("mcp: {servers: {far: {url: \"https://example.org:99999/mcp?key=abc\"}, near: {command: x}}}\n");
  const Finished list = run({"mcp", "list"});
  EXPECT_EQ(list.code, 0);
  EXPECT_TRUE(has(list.err, "config.yaml") && has(list.err, "the server far: url: ") &&
              has(list.err, "its port is not a number from 1 to 65535; this server is not used"))
      << list.err;
  EXPECT_TRUE(has(list.out, "off")) << list.out;
  EXPECT_FALSE(has(list.err + list.out, "abc"));
}

TEST_F(McpSettings, AHeaderOfTheTransportIsRefused) {
  const Finished added = run({"mcp", "add", "far", "--url", "https://example.org/", "--header", "content-length: 3"});
  EXPECT_EQ(added.code, 2);
  EXPECT_TRUE(has(added.err, "headers must not have 'content-length', which agentd sets itself")) << added.err;
  program_.config("mcp: {servers: {far: {url: \"https://example.org/\", headers: {Host: x}}}}\n");
  EXPECT_TRUE(has(run({"mcp", "list"}).err, "headers must not have 'Host'"));
}

TEST_F(McpSettings, NoClientWorksInADirectoryOfKeys) {
  const std::string keys = program_.directory().file(".ssh");
  ASSERT_EQ(::mkdir(keys.c_str(), 0700), 0);
  program_.set("HOME=" + program_.directory().path());
  program_.config("");
  EXPECT_EQ(program_.run({"mcp"}, "{}\n").code, 0) << "the negative control";
  program_.set_project(keys);
  const Finished refused = program_.run({"mcp"}, "{}\n");
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(has(refused.err, "it has keys, or belongs to agentd")) << refused.err;
}

}  // namespace
}  // namespace agentd::testing
