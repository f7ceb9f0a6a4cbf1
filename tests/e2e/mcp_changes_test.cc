// SPDX-License-Identifier: Apache-2.0
// mcp_changes_test.cc - clients of the Model Context Protocol hear of changes that other processes make: in both eras,
// over standard input and output and over HTTP, and of nothing that they have not asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/e2e/acp_client.h"
#include "tests/e2e/served_home.h"

namespace agentd::testing {
namespace {

constexpr const char* kSettings = "sandbox: {layer: 'off'}\nmemory: {refine: false}\n";
constexpr const char* kMeta = R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                              R"("io.modelcontextprotocol/clientCapabilities":{}})";
constexpr const char* kUpdated = "notifications/resources/updated";
constexpr const char* kResources = "notifications/resources/list_changed";
constexpr const char* kTools = "notifications/tools/list_changed";
constexpr const char* kPrompts = "notifications/prompts/list_changed";

// Runs of other processes in the home.
std::string say(Program& program, const std::string& conversation = {}) {
  std::vector<std::string> words{"run", "say", "--script",
                                 program.directory().write("others.yaml", "- text: the agent answers\n")};
  if (!conversation.empty()) words.insert(words.end(), {"--resume", conversation});
  EXPECT_EQ(program.run(words).code, 0);
  return conversation.empty() ? program.newest() : conversation;
}
void add_recipe(const Program& program) {
  std::filesystem::create_directories(program.home() + "/recipes");
  program.directory().write("home/recipes/brand_new.md", "---\ndescription: A prompt\n---\nDo it.\n");
}
std::string address(const std::string& conversation) { return "agentd://conversation/" + conversation; }

// ---- standard input and output

class McpChanges : public ::testing::Test {
 protected:
  McpChanges() { program_.config(kSettings); }
  std::unique_ptr<AcpClient> begin() {
    return std::make_unique<AcpClient>(
        program_, std::vector<std::string>{"--script", program_.script("- text: the agent answers\n")}, "mcp");
  }
  std::unique_ptr<AcpClient> open() {
    auto out = begin();
    const RpcMessage first =
        out->call("initialize", R"({"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester"}})");
    EXPECT_TRUE(first.result()["capabilities"]["resources"]["subscribe"].bool_or(false));
    for (const char* const each : {"tools", "prompts", "resources"})
      EXPECT_TRUE(first.result()["capabilities"][each]["listChanged"].bool_or(false)) << each;
    out->notify("notifications/initialized", "{}");
    return out;
  }
  static bool succeeds(AcpClient& client, const std::string& method, const std::string& uri) {
    return client.call(method, R"({"uri":")" + uri + "\"}").result().text() == "{}";
  }
  static std::size_t heard(const AcpClient& client, const std::string& method, const std::string& part = {}) {
    return static_cast<std::size_t>(
        std::count_if(client.updates().begin(), client.updates().end(), [&](const RpcMessage& each) {
          return each.method == method && (part.empty() || has(std::string(each.params().text()), part));
        }));
  }

  Program program_;
};

TEST_F(McpChanges, AConversationThatGrowsElsewhereIsToldOfUntilItIsUnsubscribedFrom) {
  const std::string ours = say(program_);
  const auto client = open(), deaf = open();
  ASSERT_TRUE(succeeds(*client, "resources/subscribe", address(ours)));
  say(program_, ours);
  ASSERT_TRUE(client->until([&] { return heard(*client, kUpdated, address(ours)) > 0; }));
  ASSERT_TRUE(succeeds(*client, "resources/unsubscribe", address(ours)));
  const std::size_t before = heard(*client, kUpdated);
  client->call("resources/list", "{}");
  say(program_, ours);
  say(program_);
  // What was told of the list has seen the longer conversation too.
  ASSERT_TRUE(client->until([&] { return heard(*client, kResources) > 0; }));
  EXPECT_EQ(heard(*client, kUpdated), before);
  // Who has subscribed to nothing and has no list is told nothing.
  deaf->call("ping", "{}");
  EXPECT_TRUE(deaf->updates().empty());
}

TEST_F(McpChanges, AListThatAClientHasIsToldOf) {
  const auto client = open();
  client->call("prompts/list", "{}");
  add_recipe(program_);
  ASSERT_TRUE(client->until([&] { return heard(*client, kPrompts) == 1; }));
  EXPECT_TRUE(has(std::string(client->call("prompts/list", "{}").result().text()), "brand_new"));
  client->call("tools/list", "{}");
  program_.drop_hook(AGENTD_MCP_FIXTURES);
  ASSERT_EQ(program_.run({"hooks", "trust", "mcp_fixtures", "--yes"}).code, 0);
  ASSERT_TRUE(client->until([&] { return heard(*client, kTools) == 1; }));
  EXPECT_TRUE(has(std::string(client->call("tools/list", "{}").result().text()), "test_simple_text"));
  // It has no list of resources.
  say(program_);
  client->call("resources/list", "{}");
  EXPECT_EQ(heard(*client, kResources), 0u);
  say(program_);
  EXPECT_TRUE(client->until([&] { return heard(*client, kResources) > 0; }));
}

TEST_F(McpChanges, WhatIsNoResourceIsRefused) {
  const auto client = open();
  for (const char* const uri : {"test://x", "agentd://conversation/01ARZ3NDEKTSV4RRFFQ69G5FAV"}) {
    const RpcMessage refused = client->call("resources/subscribe", R"({"uri":")" + std::string(uri) + "\"}");
    EXPECT_EQ(refused.fault.code, kRpcNotFound) << uri;
    EXPECT_TRUE(has(refused.fault.message, uri)) << refused.fault.message;
  }
  // These belong to the other era.
  EXPECT_EQ(client->call("subscriptions/listen", R"({"notifications":{}})").fault.code, kRpcNoMethod);
  EXPECT_EQ(client->call("resources/subscribe", std::string(R"({"uri":"test://x",)") + kMeta + "}").fault.code,
            kRpcNoMethod);
}

TEST_F(McpChanges, ARequestThatListensIsToldWithItsIdUntilItIsCancelled) {
  const std::string ours = say(program_);
  const auto client = begin();
  EXPECT_TRUE(client->call("server/discover", std::string("{") + kMeta + "}")
                  .result()["capabilities"]["resources"]["subscribe"]
                  .bool_or(false));
  const auto listen = [&](const std::string& id, const std::string& wish) {
    client->send(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"subscriptions/listen","params":{"notifications":)" +
                 wish + "," + kMeta + "}}\n");
    const std::string with_id = R"("io.modelcontextprotocol/subscriptionId":)" + id;
    EXPECT_TRUE(
        client->until([&] { return heard(*client, "notifications/subscriptions/acknowledged", with_id) == 1; }));
    return with_id;
  };
  const std::string one = listen("\"one\"", R"({"resourceSubscriptions":[")" + address(ours) + "\"]}");
  const std::string two = listen("2", R"({"promptsListChanged":true,"resourcesListChanged":true})");
  // A list that was requested is not watched: the request says what is told.
  client->call("tools/list", std::string("{") + kMeta + "}");
  say(program_, ours);
  ASSERT_TRUE(client->until([&] { return heard(*client, kUpdated, one) > 0; }));
  add_recipe(program_);
  ASSERT_TRUE(client->until([&] { return heard(*client, kPrompts, two) == 1; }));
  client->notify("notifications/cancelled", R"({"requestId":"one"})");
  client->call("server/discover", std::string("{") + kMeta + "}");
  const std::size_t before = heard(*client, kUpdated);
  say(program_, ours);
  say(program_);
  ASSERT_TRUE(client->until([&] { return heard(*client, kResources, two) > 0; }));
  EXPECT_EQ(heard(*client, kUpdated), before);
  EXPECT_EQ(heard(*client, kUpdated, two), 0u);
  EXPECT_EQ(heard(*client, kResources, one), 0u);
  EXPECT_EQ(client->close(), 0);
  // The one that was open has its answer at the end.
  EXPECT_EQ(std::count(client->answered().begin(), client->answered().end(), RpcId(2)), 1);
  EXPECT_EQ(std::count(client->answered().begin(), client->answered().end(),
                       *RpcId::read(JsonDocument::parse(R"("one")")->root())),
            0);
}

// ---- HTTP

class McpHttpChanges : public ::testing::Test {
 protected:
  McpHttpChanges() : home_(kSettings) {
    home_.start("- text: the agent answers\n", {"--set", "serve.uncaged=true"});
    path_ = "/mcp?cwd=" + home_.program().project();
  }
  HttpAnswer post(const std::string& method, const std::string& params, const std::string& fields) const {
    return home_.client().request(
        "POST", path_, R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":{)" + params + "}}", fields);
  }
  std::string begin_session() const {
    const HttpAnswer begun = post("initialize", R"("protocolVersion":"2025-11-25","capabilities":{})", {});
    const std::size_t at = begun.head.find("Mcp-Session-Id: ");
    EXPECT_NE(at, std::string::npos) << begun.head;
    const std::string rest = begun.head.substr(at);
    return rest.substr(0, rest.find('\r')) + "\r\n";
  }
  EventReader stream(const std::string& session) const {
    return EventReader(home_.client().begin("GET", path_, "Accept: text/event-stream\r\n" + session));
  }
  EventReader listen(const std::string& wish) const {
    const std::string body = R"({"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"notifications":)" +
                             wish + "," + kMeta + "}}";
    return EventReader(home_.client().begin(
        "POST", path_,
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nAccept: application/json, "
        "text/event-stream\r\nContent-Type: application/json\r\nContent-Length: " +
            std::to_string(body.size()) + "\r\n",
        body));
  }
  // Reads up to a message of that method.
  static std::string next(EventReader& from, const std::string& method) {
    while (const auto event = from.next())
      if (has(event->data, "\"method\":\"" + method + "\"")) return event->data;
    return {};
  }

  ServedHome home_;
  std::string path_;
};

TEST_F(McpHttpChanges, TheStreamOfASessionTellsThem) {
  const std::string ours = say(home_.program()), session = begin_session();
  EventReader told = stream(session);
  EXPECT_EQ(post("resources/subscribe", R"("uri":")" + address(ours) + "\"", session).status, 200);
  EXPECT_EQ(post("prompts/list", "", session).status, 200);
  say(home_.program(), ours);
  EXPECT_TRUE(has(next(told, kUpdated), address(ours)));
  add_recipe(home_.program());
  EXPECT_FALSE(next(told, kPrompts).empty());
  // One at a time.
  EXPECT_EQ(home_.client().request("GET", path_, {}, "Accept: text/event-stream\r\n" + session).status, 409);
  // Another session has subscribed to nothing.
  const std::string other = begin_session();
  {
    EventReader deaf = stream(other);
    EXPECT_EQ(post("resources/list", "", other).status, 200);
    say(home_.program(), ours);
    say(home_.program());
    EXPECT_FALSE(next(deaf, kResources).empty());
    EXPECT_TRUE(std::none_of(deaf.seen.begin(), deaf.seen.end(),
                             [](const EventReader::Event& each) { return has(each.data, kUpdated); }));
  }
  // It ends with its session.
  EXPECT_EQ(home_.client().request("DELETE", path_, {}, session).status, 204);
  while (told.next(5'000)) continue;
  EXPECT_EQ(home_.client().request("GET", path_, {}, "Accept: text/event-stream\r\n" + session).status, 404);
}

TEST_F(McpHttpChanges, WhatHasChangedWithoutAStreamIsToldByTheNextOne) {
  const std::string ours = say(home_.program()), session = begin_session();
  EXPECT_EQ(post("resources/subscribe", R"("uri":")" + address(ours) + "\"", session).status, 200);
  { EventReader told = stream(session); }
  say(home_.program(), ours);
  ASSERT_TRUE(comes_true([&] {
    EventReader told = stream(session);
    return has(next(told, kUpdated), address(ours));
  }));
}

TEST_F(McpHttpChanges, OnlyASessionHasAStream) {
  const std::string session = begin_session();
  const std::string events = "Accept: text/event-stream\r\n";
  EXPECT_EQ(home_.client().request("GET", path_, {}, events).status, 405);
  EXPECT_EQ(home_.client().request("GET", path_, {}, session).status, 406);
  EXPECT_EQ(home_.client().request("GET", path_, {}, events + "Mcp-Session-Id: nobody\r\n").status, 404);
  const HttpClient other = home_.client().as(home_.token("other", "run"));
  EXPECT_EQ(other.request("GET", path_, {}, events + session).status, 404);
}

TEST_F(McpHttpChanges, ARequestThatListensIsAStream) {
  const std::string ours = say(home_.program());
  EventReader told = listen(R"({"resourceSubscriptions":[")" + address(ours) + R"("],"promptsListChanged":true})");
  const auto first = told.next();
  ASSERT_TRUE(first);
  EXPECT_TRUE(has(first->data, "notifications/subscriptions/acknowledged")) << first->data;
  EXPECT_TRUE(has(first->data, R"("io.modelcontextprotocol/subscriptionId":"s")")) << first->data;
  say(home_.program(), ours);
  EXPECT_TRUE(has(next(told, kUpdated), R"("io.modelcontextprotocol/subscriptionId":"s")"));
  add_recipe(home_.program());
  EXPECT_FALSE(next(told, kPrompts).empty());
  // Its answer is the end of the daemon.
  EXPECT_EQ(home_.end().code, 0);
  const auto last = told.next();
  ASSERT_TRUE(last);
  EXPECT_TRUE(has(last->data, R"("result")") && has(last->data, R"("id":"s")")) << last->data;
}

TEST_F(McpHttpChanges, ARequestThatCannotListenIsRefused) {
  const std::string fields = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n";
  const std::string wish = R"("notifications":{"resourceSubscriptions":["test://x"]},)" + std::string(kMeta);
  const HttpAnswer unknown = post("subscriptions/listen", wish, fields + "Accept: text/event-stream\r\n");
  EXPECT_EQ(unknown.json().root()["error"]["code"].int_or(0), -32602);
  EXPECT_EQ(
      post("subscriptions/listen", R"("notifications":{"toolsListChanged":true},)" + std::string(kMeta), fields).status,
      406);
}

}  // namespace
}  // namespace agentd::testing
