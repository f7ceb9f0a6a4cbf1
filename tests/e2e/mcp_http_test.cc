// SPDX-License-Identifier: Apache-2.0
// mcp_http_test.cc - clients of the Model Context Protocol at /mcp of the daemon: sessions, requests that stand alone,
// their fields, and who is not let in.
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/e2e/served_home.h"

namespace agentd::testing {
namespace {

constexpr const char* kHttpMeta = R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                                  R"("io.modelcontextprotocol/clientCapabilities":{}})";

class McpHttp : public ::testing::Test {
 protected:
  McpHttp() : home_("sandbox: {layer: 'off'}\nmemory: {refine: false}\n") {
    home_.start("- text: the agent answers\n", {"--set", "serve.uncaged=true"});
    path_ = "/mcp?cwd=" + home_.program().project();
  }
  HttpAnswer post(const std::string& json, const std::string& fields = {}) const {
    return home_.client().request("POST", path_, json, fields);
  }
  static std::string request(const std::string& method, const std::string& params) {
    return R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":{)" + params + "}}";
  }
  static std::string fields(const std::string& method, const std::string& name = {}) {
    return "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " + method + "\r\n" +
           (name.empty() ? "" : "Mcp-Name: " + name + "\r\n");
  }
  std::string begin_session() const {
    const HttpAnswer begun = post(request("initialize", R"("protocolVersion":"2025-11-25","capabilities":{})"));
    EXPECT_EQ(begun.status, 200) << begun.body;
    const std::size_t at = begun.head.find("Mcp-Session-Id: ");
    if (at == std::string::npos) return {};
    const std::string rest = begun.head.substr(at + 16);
    return rest.substr(0, rest.find('\r'));
  }
  static std::string session(const std::string& id) { return "Mcp-Session-Id: " + id + "\r\n"; }

  ServedHome home_;
  std::string path_;
};

TEST_F(McpHttp, ASessionLastsFromInitializeToDelete) {
  const std::string id = begin_session();
  ASSERT_FALSE(id.empty());
  EXPECT_EQ(post(R"({"jsonrpc":"2.0","method":"notifications/initialized"})", session(id)).status, 202);
  EXPECT_EQ(post(request("tools/list", ""), session(id)).status, 200);
  // Without its name, with another one, and with another token it is not there.
  EXPECT_EQ(post(request("tools/list", "")).status, 400);
  EXPECT_EQ(post(request("tools/list", ""), session("nobody")).status, 404);
  const HttpClient other = home_.client().as(home_.token("other", "run"));
  EXPECT_EQ(other.request("POST", path_, request("tools/list", ""), session(id)).status, 404);
  EXPECT_EQ(other.request("DELETE", path_, {}, session(id)).status, 404);
  EXPECT_EQ(post(request("tools/list", ""), session(id)).status, 200);
  EXPECT_EQ(home_.client().request("DELETE", path_, {}, session(id)).status, 204);
  EXPECT_EQ(post(request("tools/list", ""), session(id)).status, 404);
  EXPECT_EQ(home_.client().request("GET", path_).status, 405);
}

TEST_F(McpHttp, ARequestStandsAloneWhereItsFieldsAgree) {
  const std::string list = request("tools/list", kHttpMeta);
  EXPECT_EQ(post(list, fields("tools/list")).status, 200);
  for (const std::string& wrong :
       {std::string(), std::string("MCP-Protocol-Version: 2026-07-28\r\n"),
        std::string("MCP-Protocol-Version: 2025-11-25\r\nMcp-Method: tools/list\r\n"), fields("tools/call")}) {
    const HttpAnswer answer = post(list, wrong);
    EXPECT_EQ(answer.status, 400) << wrong;
    EXPECT_EQ(answer.json().root()["error"]["code"].int_or(0), -32020) << wrong;
    EXPECT_EQ(answer.json().root()["id"].int_or(0), 1) << wrong;
  }
  const std::string search =
      request("tools/call", std::string(R"("name":"memory_search","arguments":{"query":"a"},)") + kHttpMeta);
  EXPECT_EQ(post(search, fields("tools/call", "memory_search")).status, 200);
  EXPECT_EQ(post(search, fields("tools/call", "bash")).status, 400);
  EXPECT_EQ(post(search, fields("tools/call")).status, 400);
  const HttpAnswer none = post(request("ping", kHttpMeta), fields("ping"));
  EXPECT_EQ(none.status, 404);
  EXPECT_EQ(none.json().root()["error"]["code"].int_or(0), -32601);
}

// Clients name it without having agreed to it.
TEST_F(McpHttp, TheVersionWithBatchesIsTakenAsAField) {
  const std::string id = begin_session();
  EXPECT_EQ(
      post(request("tools/list", ""), "Mcp-Session-Id: " + id + "\r\nMCP-Protocol-Version: 2025-03-26\r\n").status,
      200);
  EXPECT_EQ(
      post(request("tools/list", ""), "Mcp-Session-Id: " + id + "\r\nMCP-Protocol-Version: 2020-01-01\r\n").status,
      400);
}

TEST_F(McpHttp, ARunIsAStreamOfItsProgress) {
  const std::string id = begin_session();
  const HttpAnswer ran =
      post(request("tools/call", R"("name":"run_agent","arguments":{"prompt":"say"},"_meta":{"progressToken":"p"})"),
           session(id) + "Accept: application/json, text/event-stream\r\n");
  EXPECT_EQ(ran.status, 200);
  EXPECT_TRUE(has(ran.head, "text/event-stream")) << ran.head;
  EXPECT_TRUE(has(ran.body, "notifications/progress")) << ran.body;
  EXPECT_TRUE(has(ran.body, "the agent answers")) << ran.body;
  // A client that takes no events gets the answer alone.
  const HttpAnswer plain =
      post(request("tools/call", R"("name":"memory_search","arguments":{"query":"a"},"_meta":{"progressToken":"p"})"),
           session(id));
  EXPECT_FALSE(has(plain.head, "text/event-stream"));
  EXPECT_EQ(plain.json().root()["id"].int_or(0), 1);
}

TEST_F(McpHttp, LeavingTheStreamCancelsTheCall) {
  ServedHome home("sandbox: {layer: 'off'}\nmemory: {refine: false}\npermissions: {allow: [bash]}\n");
  home.start(
      "- calls: [{name: bash, input: {command: 'touch began; while [ ! -e go ]; do sleep 0.05; done'}}]\n"
      "- text: done\n- text: done\n",
      {"--set", "serve.uncaged=true"});
  const std::string path = "/mcp?cwd=" + home.program().project(), at = home.program().project() + "/";
  const std::string events = "Accept: text/event-stream\r\nContent-Type: application/json\r\n";
  const std::string body =
      request("tools/call", std::string(R"("name":"run_agent","arguments":{"prompt":"wait"},)") + kHttpMeta);
  {
    const UniqueFd connection = home.client().begin(
        "POST", path,
        fields("tools/call", "run_agent") + events + "Content-Length: " + std::to_string(body.size()) + "\r\n", body);
    ASSERT_TRUE(comes_true([&] { return exists(at + "began"); }));
  }
  EXPECT_TRUE(comes_true([&] { return has(home.program().record_types(home.program().newest()), "run_end"); }));
  EXPECT_FALSE(exists(at + "go"));
}

TEST_F(McpHttp, WhoIsNotLetInElsewhereIsNotLetInHere) {
  const std::string list = request("tools/list", kHttpMeta);
  EXPECT_EQ(home_.client().as("").request("POST", path_, list, fields("tools/list")).status, 401);
  EXPECT_EQ(home_.client().as(home_.token("reader", "read")).request("POST", path_, list, fields("tools/list")).status,
            403);
  EXPECT_EQ(home_.client().as(home_.token("runner", "run")).request("POST", path_, list, fields("tools/list")).status,
            200);
  EXPECT_EQ(post(list, fields("tools/list") + "Origin: http://evil.example\r\n").status, 403);
  EXPECT_EQ(home_.client().request("POST", path_, list, fields("tools/list"), "text/plain").status, 415);
  // Nobody works where agentd has its keys.
  EXPECT_EQ(home_.client().request("POST", "/mcp?cwd=" + home_.program().home(), list, fields("tools/list")).status,
            403);
  EXPECT_EQ(home_.client().request("POST", "/mcp?cwd=relative", list, fields("tools/list")).status, 400);
}

TEST_F(McpHttp, AMessageThatIsTooLargeIsRefusedByItsLength) {
  const auto answered = [&](std::size_t length) {
    const UniqueFd fd = home_.client().begin(
        "POST", path_, "Content-Type: application/json\r\nContent-Length: " + std::to_string(length) + "\r\n", "[]");
    char answer[64] = {};
    EXPECT_GT(::read(fd.get(), answer, sizeof answer - 1), 0);
    return std::string(answer);
  };
  EXPECT_TRUE(has(answered((8u << 20) + 1), " 413 "));
  EXPECT_TRUE(has(answered(20'000'000), " 413 "));
  EXPECT_TRUE(has(answered(2), " 400 ")) << "the negative control";
}

TEST_F(McpHttp, WhatIsNoMessageIsRefused) {
  EXPECT_EQ(post("{").json().root()["error"]["code"].int_or(0), -32700);
  EXPECT_EQ(post("[]").status, 400);
  EXPECT_EQ(post(R"({"jsonrpc":"2.0","id":1,"result":{}})").status, 202);
  EXPECT_EQ(post(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7}})").status, 200);
  const HttpAnswer unknown =
      post(request("tools/list", R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01"})"),
           "MCP-Protocol-Version: 2031-01-01\r\nMcp-Method: tools/list\r\n");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_EQ(unknown.json().root()["error"]["code"].int_or(0), -32022);
}

}  // namespace
}  // namespace agentd::testing
