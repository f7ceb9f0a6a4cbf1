// SPDX-License-Identifier: Apache-2.0
#pragma once
// mcp_stage.h - a home with an MCP server whose tools are a file (mcp_server.py), for the tests of the client.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/e2e/program.h"

namespace agentd::testing {

inline constexpr const char* kEcho = R"({"name":"echo","description":"Says hello.","inputSchema":{"type":"object"},)"
                                     R"("does":"hello from the server"})";

class McpClient : public ::testing::Test {
 protected:
  // What the server lists; `tools` are JSON objects.
  void tools(const std::vector<std::string>& tools) const {
    std::string text;
    for (const std::string& each : tools) text += (text.empty() ? "" : ",") + each;
    program_.directory().write("tools.json", R"({"tools":[)" + text + "]}");
  }
  static std::string tool(const std::string& name, const std::string& does) {
    return R"({"name":")" + name + R"(","description":"","inputSchema":{"type":"object"},"does":)" + does + "}";
  }
  std::string server() const {
    return R"("command":"python3","args":[")" AGENTD_MCP_SERVER R"(",")" + program_.directory().file("tools.json") +
           "\",\"" + starts() + R"("],"readable":[")" AGENTD_MCP_SERVER R"(",")" +
           program_.directory().file("tools.json") + R"("],"writable":[")" + starts_directory() + "\"]";
  }
  // The settings' server with further members: ",\"scope\":\"session\"".
  void configure(const std::string& more = "", const std::string& settings = "") const {
    program_.config("mcp: {servers: {played: {" + server() + more + "}}}\n" + settings);
  }
  std::string starts_directory() const { return program_.directory().file("starts"); }
  std::string starts() const { return starts_directory() + "/count"; }
  int count_starts() const {
    std::ifstream file(starts());
    int out = 0;
    for (std::string line; std::getline(file, line);) ++out;
    return out;
  }
  // Calls of the model, one answer each: names of tools of the server `played`, or whole names.
  Finished call(const std::vector<std::string>& names, const std::vector<std::string>& words = {}) {
    std::string script = "turns:\n";
    for (const std::string& name : names)
      script += "- calls: [{name: " + (has(name, "__") ? name : "mcp__played__" + name) + ", input: {}}]\n";
    std::vector<std::string> all{"run", "go", "--script", program_.script(script + "- text: done\n")};
    all.insert(all.end(), words.begin(), words.end());
    return program_.run(all);
  }
  static std::vector<std::string> allowed() { return {"--allow", "mcp__played__*"}; }
  // The results of the newest conversation, in order.
  std::vector<std::string> results() {
    std::vector<std::string> out;
    for (const JsonDocument& line : json_lines(program_.run({"conversation", "dump", program_.newest()}).out))
      for (std::size_t i = 0; i < line.root()["records"].size(); ++i) {
        const JsonView record = line.root()["records"].at(i);
        if (record["name"].string_or("") != "tool_result") continue;
        const auto payload = JsonDocument::parse(std::string(record["payload"].string_or("{}")));
        out.emplace_back(payload ? payload->root()["text"].string_or("") : "");
      }
    if (out.empty()) out.emplace_back("(no result)");
    return out;
  }
  void SetUp() override {
    ASSERT_EQ(::mkdir(starts_directory().c_str(), 0700), 0);
    tools({kEcho});
  }

  Program program_;
};

}  // namespace agentd::testing
