// SPDX-License-Identifier: Apache-2.0
// mcp_test.cc - clients of the Model Context Protocol and agentd over standard input and output: both eras, the tools
// that are offered and those that are not, and what a bad client gets.
#include <gtest/gtest.h>

#include <set>

#include "tests/e2e/acp_client.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

constexpr const char* kVersion = R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                                 R"("io.modelcontextprotocol/clientCapabilities":{}})";
constexpr const char* kWithTasks = R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                                   R"("io.modelcontextprotocol/clientCapabilities":)"
                                   R"({"extensions":{"io.modelcontextprotocol/tasks":{}}}})";

std::string text_of(const RpcMessage& answer) {
  return std::string(answer.result()["content"].at(0)["text"].string_or(""));
}

class Mcp : public ::testing::Test {
 protected:
  Mcp() { settings({}); }
  void settings(const std::string& more) {
    program_.config("sandbox: {layer: 'off'}\nmemory: {refine: false}\n" + more);
  }
  std::unique_ptr<AcpClient> begin(const std::string& script = "- text: the agent answers\n") {
    return std::make_unique<AcpClient>(program_, std::vector<std::string>{"--script", program_.script(script)}, "mcp");
  }
  std::unique_ptr<AcpClient> open(const std::string& script = "- text: the agent answers\n") {
    auto out = begin(script);
    const RpcMessage first =
        out->call("initialize", R"({"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"tester"}})");
    EXPECT_EQ(first.result()["protocolVersion"].string_or(""), "2025-06-18");
    out->notify("notifications/initialized", "{}");
    return out;
  }
  static RpcMessage call(AcpClient& client, const std::string& tool, const std::string& arguments,
                         const std::string& more = {}) {
    return client.call("tools/call", R"({"name":")" + tool + R"(","arguments":)" + arguments + more + "}");
  }
  static std::set<std::string> offered(AcpClient& client) {
    std::set<std::string> out;
    const RpcMessage list = client.call("tools/list", "{}");
    const JsonView tools = list.result()["tools"];
    for (std::size_t i = 0; i < tools.size(); ++i) out.emplace(tools.at(i)["name"].string_or(""));
    return out;
  }

  Program program_;
};

// ---- the connection

TEST_F(Mcp, NothingComesBeforeInitializeButWhatStandsAlone) {
  const auto client = begin();
  EXPECT_EQ(client->call("tools/list", "{}").fault.code, kRpcBadRequest);
  EXPECT_EQ(client->call("ping", "{}").kind, RpcMessage::Kind::kResult);
  const RpcMessage found = client->call("server/discover", std::string("{") + kVersion + "}");
  EXPECT_EQ(found.result()["supportedVersions"].at(0).string_or(""), "2026-07-28");
  EXPECT_EQ(found.result()["resultType"].string_or(""), "complete");
  EXPECT_TRUE(found.result()["capabilities"]["extensions"]["io.modelcontextprotocol/tasks"].is_object());
  EXPECT_EQ(client->call("tools/list", std::string("{") + kVersion + "}").kind, RpcMessage::Kind::kResult);
  EXPECT_EQ(client->call("initialize", R"({"protocolVersion":"1.0"})").result()["protocolVersion"].string_or(""),
            "2025-11-25");
  EXPECT_EQ(client->call("initialize", R"({"protocolVersion":"2025-06-18"})").fault.code, kRpcBadRequest);
}

TEST_F(Mcp, EachEraHasItsOwnMethods) {
  const auto client = open();
  const std::string modern = std::string("{") + kVersion + "}";
  EXPECT_EQ(client->call("ping", modern).fault.code, kRpcNoMethod);
  EXPECT_EQ(client->call("initialize", modern).fault.code, kRpcNoMethod);
  EXPECT_EQ(client->call("logging/setLevel", R"({"level":"info"})").result().text(), "{}");
  EXPECT_EQ(client->call("server/discover", "{}").fault.code, kRpcNoMethod);
  EXPECT_EQ(client->call("tasks/get", R"({"taskId":"x"})").fault.code, kRpcNoMethod);
  EXPECT_EQ(
      client->call("tools/list", R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01"}})").fault.code,
      -32022);
}

TEST_F(Mcp, WhatIsNoMessageIsRefusedAndTheNextOneIsRead) {
  const auto client = open();
  client->send("{\n");
  EXPECT_EQ(client->next_fault().fault.code, kRpcNotJson);
  client->send("[]\n");
  EXPECT_EQ(client->next_fault().fault.code, kRpcBadRequest);
  client->send(R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})"
               "\n");
  EXPECT_EQ(client->next_fault().fault.code, kRpcBadRequest);
  client->send(R"({"jsonrpc":"2.0","id":7,"meth)");
  client->send("od\":\"ping\"}\n");
  EXPECT_EQ(client->wait(7).kind, RpcMessage::Kind::kResult);
  EXPECT_EQ(client->call("tools/list", "[]").fault.code, kRpcBadParams);
  EXPECT_EQ(client->call("tools/guess", "{}").fault.code, kRpcNoMethod);
}

TEST_F(Mcp, AFloodIsAnsweredRequestByRequest) {
  const auto client = open();
  std::string flood;
  constexpr int kMany = 300;
  for (int i = 1; i <= kMany; ++i)
    flood += R"({"jsonrpc":"2.0","id":)" + std::to_string(i) + R"(,"method":"tools/list","params":{}})" + "\n";
  client->send(flood);
  for (int i = 1; i <= kMany; ++i) {
    const RpcMessage answer = client->wait(i);
    EXPECT_TRUE(answer.kind == RpcMessage::Kind::kResult || has(answer.fault.message, "too many requests"))
        << answer.fault.message;
  }
  EXPECT_FALSE(offered(*client).empty());
}

TEST_F(Mcp, ATerminalIsToldWhatItIsFor) {
  const Finished ran = program_.on_terminal({"mcp", "--script", program_.script("- text: hello\n")}, {});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(has(ran.out, "MCP server")) << ran.out;
}

// ---- tools

TEST_F(Mcp, OnlyToolsThatReadAreOfferedUntilTheSettingsNameOthers) {
  program_.drop_hook(AGENTD_MCP_FIXTURES);
  {
    const auto client = open();
    const auto tools = offered(*client);
    EXPECT_TRUE(tools.contains("test_simple_text"));
    EXPECT_TRUE(tools.contains("read_file"));
    EXPECT_FALSE(tools.contains("changes_things"));
    EXPECT_FALSE(tools.contains("bash"));
    EXPECT_EQ(call(*client, "changes_things", "{}").fault.code, kRpcBadParams);
    EXPECT_EQ(text_of(call(*client, "test_simple_text", "{}")), "This is a simple text response for testing.");
  }
  settings("mcp: {server: {tools: ['changes_*', bash]}}\npermissions: {allow: [changes_things]}\n");
  const auto client = open();
  EXPECT_TRUE(offered(*client).contains("changes_things"));
  EXPECT_FALSE(call(*client, "changes_things", "{}").result()["isError"].bool_or(false));
  // The rules ask about this one, and nobody is there.
  const RpcMessage denied = call(*client, "bash", R"({"command":"touch here"})");
  EXPECT_TRUE(denied.result()["isError"].bool_or(false));
  EXPECT_NE(text_of(denied).find("no person is there"), std::string::npos) << text_of(denied);
  EXPECT_FALSE(exists(program_.project() + "/here"));
}

TEST_F(Mcp, ADenyRuleHoldsForAgentdsOwnToolsToo) {
  {
    const auto client = open();
    EXPECT_FALSE(call(*client, "memory_record", R"({"title":"a","content":"b"})").result()["isError"].bool_or(false));
  }
  settings("permissions: {deny: [memory_record], ask: [checkpoint_save]}\n");
  const auto client = open();
  EXPECT_TRUE(call(*client, "memory_record", R"({"title":"a","content":"b"})").result()["isError"].bool_or(false));
  EXPECT_TRUE(call(*client, "checkpoint_save", R"({"summary":"b"})").result()["isError"].bool_or(false));
  EXPECT_FALSE(call(*client, "memory_search", R"({"query":"a"})").result()["isError"].bool_or(false));
}

TEST_F(Mcp, CallsAreInTheLogOfAConversationOfTheClient) {
  {
    const auto client = open();
    EXPECT_TRUE(call(*client, "read_file", R"({"path":"nothing.txt"})").result()["isError"].bool_or(false));
  }
  EXPECT_TRUE(has(program_.record_types(program_.newest()), "direct_result"))
      << program_.record_types(program_.newest());
}

TEST_F(Mcp, AnInputThatDoesNotFitTheSchemaIsAnError) {
  const auto client = open();
  EXPECT_TRUE(call(*client, "context_threshold", R"({"percent":400})").result()["isError"].bool_or(false));
  EXPECT_TRUE(call(*client, "memory_search", "{}").result()["isError"].bool_or(false));
  EXPECT_EQ(client->call("tools/call", R"({"name":"memory_search","arguments":[]})").fault.code, kRpcBadParams);
}

// ---- sessions that learn

TEST_F(Mcp, ASessionLeavesItsLessonsToTheNextOne) {
  {
    const auto client = open();
    const RpcMessage begun = call(*client, "session_start", R"({"task":"mend the frobnicator"})");
    EXPECT_EQ(begun.result()["structuredContent"]["memories"].size(), 0U);
    EXPECT_FALSE(begun.result()["structuredContent"]["checkpoint"].exists());
    const RpcMessage saved =
        call(*client, "context_threshold", R"({"percent":80,"summary":"half of it is mended","session_id":"s-1"})");
    EXPECT_FALSE(saved.result()["structuredContent"]["checkpoint_id"].string_or("").empty());
    const RpcMessage ended =
        call(*client, "session_end",
             R"({"task":"mend the frobnicator","approach":"with pliers","outcome":"success","tags":["frobnicator"]})");
    EXPECT_TRUE(ended.result()["structuredContent"]["ended"].bool_or(false)) << text_of(ended);
    // The same client goes on.
    EXPECT_EQ(call(*client, "memory_search", R"({"query":"frobnicator pliers"})")
                  .result()["structuredContent"]["memories"]
                  .size(),
              1U);
  }
  const auto client = open();
  const RpcMessage begun = call(*client, "session_start", R"({"task":"mend the frobnicator"})");
  const JsonView found = begun.result()["structuredContent"];
  ASSERT_EQ(found["memories"].size(), 1U);
  EXPECT_EQ(found["memories"].at(0)["title"].string_or(""), "mend the frobnicator");
  EXPECT_TRUE(found["checkpoint"].exists());
  EXPECT_FALSE(found["resumed"].bool_or(true));
  const RpcMessage bare = call(*client, "session_start", "{}");
  const JsonView newest = bare.result()["structuredContent"]["memories"];
  ASSERT_EQ(newest.size(), 1U);
  for (std::size_t i = 0; i < found["memories"].at(0).size(); ++i) {
    const std::string_view name = found["memories"].at(0).key_at(i);
    if (name == "score") continue;
    EXPECT_EQ(newest.at(0)[name].text(), found["memories"].at(0)[name].text()) << name;
  }
  EXPECT_EQ(newest.at(0).size() + 1, found["memories"].at(0).size()) << newest.text();
  EXPECT_EQ(call(*client, "checkpoint_list", "{}").result()["structuredContent"]["checkpoints"].size(), 1U);
}

TEST_F(Mcp, LessonsOfAnotherProjectAreRefused) {
  const auto client = open();
  const RpcMessage ended =
      call(*client, "session_end", R"({"task":"a","approach":"b","outcome":"success","project_id":"ann_other"})");
  EXPECT_TRUE(ended.result()["isError"].bool_or(false));
  EXPECT_NE(text_of(ended).find("omit project_id"), std::string::npos);
}

TEST_F(Mcp, WithoutTheServiceAToolSaysSo) {
  settings("hooks: {session_memory: {enabled: false}}\n");
  const auto client = open();
  const RpcMessage searched = call(*client, "memory_search", R"({"query":"a"})");
  EXPECT_TRUE(searched.result()["isError"].bool_or(false));
  EXPECT_NE(text_of(searched).find("unsupported"), std::string::npos) << text_of(searched);
  // Checkpoints are agentd's own.
  EXPECT_FALSE(call(*client, "checkpoint_list", "{}").result()["isError"].bool_or(false));
}

TEST_F(Mcp, WithoutAKeyEverythingWorksButWhatNeedsAModel) {
  AcpClient client(program_, {"--provider", "anthropic"}, "mcp");
  client.call("initialize", R"({"protocolVersion":"2025-06-18","capabilities":{}})");
  EXPECT_FALSE(call(client, "memory_record", R"({"title":"a","content":"b"})").result()["isError"].bool_or(false));
  EXPECT_EQ(call(client, "memory_search", R"({"query":"a"})").kind, RpcMessage::Kind::kResult);
  const RpcMessage ran = call(client, "run_agent", R"({"prompt":"say"})");
  EXPECT_TRUE(ran.result()["isError"].bool_or(false));
  EXPECT_NE(text_of(ran).find("key"), std::string::npos) << text_of(ran);
}

// ---- runs

TEST_F(Mcp, ARunTellsItsProgressAndItsAnswer) {
  const auto client = open("- calls: [{name: glob, input: {pattern: '*'}}]\n- text: there are no files\n");
  const RpcMessage ran = call(*client, "run_agent", R"({"prompt":"which files"})", R"(,"_meta":{"progressToken":"p"})");
  const JsonView result = ran.result()["structuredContent"];
  EXPECT_EQ(result["outcome"].string_or(""), "stop");
  EXPECT_EQ(result["text"].string_or(""), "there are no files");
  std::uint64_t last = 0;
  for (const RpcMessage& each : client->updates()) {
    EXPECT_EQ(each.method, "notifications/progress");
    EXPECT_EQ(each.params()["progressToken"].string_or(""), "p");
    EXPECT_GT(each.params()["progress"].uint_or(0), last);
    last = each.params()["progress"].uint_or(0);
  }
  EXPECT_GE(client->updates().size(), 3U);
  // The conversation is a resource.
  const std::string uri = "agentd://conversation/" + std::string(result["conversation_id"].string_or(""));
  const RpcMessage read = client->call("resources/read", R"({"uri":")" + uri + "\"}");
  EXPECT_NE(read.result()["contents"].at(0)["text"].string_or("").find("there are no files"), std::string_view::npos);
  const RpcMessage json = client->call("resources/read", R"({"uri":")" + uri + "/json\"}");
  EXPECT_TRUE(JsonDocument::parse(json.result()["contents"].at(0)["text"].string_or("")));
}

// The words of a run are a message, which the hooks of messages see, and a hook of the call has no need of: what it
// writes beside them is added.
TEST_F(Mcp, AHookOfTheCallAddsToTheWordsOfARunAndDoesNotSeeThem) {
  const std::string hooks = program_.home() + "/hooks", seen = program_.directory().file("seen");
  ASSERT_TRUE(make_directories(hooks));
  ASSERT_TRUE(write_file_atomically(hooks + "/add",
                                    "#!/usr/bin/env python3\nimport json, sys\n"
                                    "if sys.argv[1] == 'hook':\n    print('before_tool_call')\n    sys.exit()\n"
                                    "text = sys.stdin.read()\nopen('" +
                                        seen +
                                        "', 'a').write(text)\n"
                                        "words = json.loads(text)['tool']['input']\n"
                                        "if 'also' not in words['prompt']:\n"
                                        "    words['prompt'] = words['prompt'] + ' and also this'\n"
                                        "    print(json.dumps({'input': words}))\n",
                                    0755));
  const auto client = open();
  const RpcMessage ran = call(*client, "run_agent", R"({"prompt":"say the word"})");
  const std::string id(ran.result()["structuredContent"]["conversation_id"].string_or(""));
  EXPECT_TRUE(has(program_.run({"conversation", "show", id}).out, "say the word and also this"));
  const std::string asked = read_file(seen, 1u << 20).value_or("");
  EXPECT_TRUE(has(asked, "[12 bytes, which the hooks of messages see first, in the run]")) << asked;
  EXPECT_FALSE(has(asked, "say the word")) << asked;
}

TEST_F(Mcp, ARunIsATaskThatAnotherProcessCanPoll) {
  std::string task;
  {
    const auto client = begin();
    const RpcMessage begun = call(*client, "run_agent", R"({"prompt":"say"})", std::string(",") + kWithTasks);
    EXPECT_EQ(begun.result()["resultType"].string_or(""), "task");
    EXPECT_EQ(begun.result()["status"].string_or(""), "working");
    task = begun.result()["taskId"].string_or("");
    ASSERT_FALSE(task.empty());
    ASSERT_TRUE(client->until([&] {
      const RpcMessage got = client->call("tasks/get", R"({"taskId":")" + task + "\"," + kWithTasks + "}");
      return got.result()["status"].string_or("") == "completed";
    }));
  }
  const auto other = begin();
  const RpcMessage got = other->call("tasks/get", R"({"taskId":")" + task + "\"," + kWithTasks + "}");
  EXPECT_EQ(got.result()["status"].string_or(""), "completed");
  EXPECT_EQ(got.result()["result"]["structuredContent"]["text"].string_or(""), "the agent answers");
  EXPECT_EQ(other->call("tasks/cancel", R"({"taskId":")" + task + "\"," + kWithTasks + "}")
                .result()["resultType"]
                .string_or(""),
            "complete");
  for (const char* const unknown : {"", "x", "01ARZ3NDEKTSV4RRFFQ69G5FAV.01ARZ3NDEKTSV4RRFFQ69G5FAV"})
    EXPECT_EQ(other->call("tasks/get", R"({"taskId":")" + std::string(unknown) + "\"," + kWithTasks + "}").fault.code,
              kRpcBadParams)
        << unknown;
}

TEST_F(Mcp, ATaskOfAProcessThatWasKilledHasFailed) {
  settings("permissions: {allow: [bash]}\n");
  std::string task;
  {
    auto client = begin("- calls: [{name: bash, input: {command: 'touch began; sleep 60'}}]\n- text: done\n");
    const RpcMessage begun = call(*client, "run_agent", R"({"prompt":"wait"})", std::string(",") + kWithTasks);
    task = begun.result()["taskId"].string_or("");
    ASSERT_TRUE(client->until([&] { return exists(program_.project() + "/began"); }));
    // Another process sees that it works.
    const auto other = begin();
    EXPECT_EQ(
        other->call("tasks/get", R"({"taskId":")" + task + "\"," + kWithTasks + "}").result()["status"].string_or(""),
        "working");
    client->kill();
  }
  const auto other = begin();
  const RpcMessage got = other->call("tasks/get", R"({"taskId":")" + task + "\"," + kWithTasks + "}");
  EXPECT_EQ(got.result()["status"].string_or(""), "failed");
  EXPECT_TRUE(got.result()["error"]["message"].is_string());
}

TEST_F(Mcp, ACancelledTaskAndACancelledCallEnd) {
  settings("permissions: {allow: [bash]}\n");
  const std::string script = "- calls: [{name: bash, input: {command: 'touch began; sleep 60'}}]\n- text: done\n";
  {
    const auto client = begin(script);
    const RpcMessage begun = call(*client, "run_agent", R"({"prompt":"wait"})", std::string(",") + kWithTasks);
    const std::string task(begun.result()["taskId"].string_or(""));
    ASSERT_TRUE(client->until([&] { return exists(program_.project() + "/began"); }));
    client->call("tasks/cancel", R"({"taskId":")" + task + "\"," + kWithTasks + "}");
    EXPECT_TRUE(client->until([&] {
      const RpcMessage got = client->call("tasks/get", R"({"taskId":")" + task + "\"," + kWithTasks + "}");
      return got.result()["status"].string_or("") == "cancelled";
    }));
  }
  ASSERT_EQ(::unlink((program_.project() + "/began").c_str()), 0);
  const auto client = open(script);
  const int id = client->begin("tools/call", R"({"name":"run_agent","arguments":{"prompt":"wait"}})");
  ASSERT_TRUE(client->until([&] { return exists(program_.project() + "/began"); }));
  client->notify("notifications/cancelled", R"({"requestId":)" + std::to_string(id) + "}");
  // It has no answer, and whoever asks next is served.
  EXPECT_EQ(client->call("ping", "{}").kind, RpcMessage::Kind::kResult);
  EXPECT_TRUE(client->until([&] { return has(program_.record_types(program_.newest()), "run_end"); }));
  EXPECT_TRUE(std::none_of(client->answered().begin(), client->answered().end(),
                           [&](const RpcId& each) { return each == RpcId(id); }));
}

TEST_F(Mcp, TheSameIdTwiceIsRefused) {
  settings("permissions: {allow: [bash]}\n");
  const auto client = open("- calls: [{name: bash, input: {command: 'touch began; sleep 60'}}]\n- text: done\n");
  const std::string line =
      R"({"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"run_agent","arguments":{"prompt":"wait"}}})"
      "\n";
  client->send(line);
  ASSERT_TRUE(client->until([&] { return exists(program_.project() + "/began"); }));
  client->send(line);
  EXPECT_EQ(client->wait(5).fault.code, kRpcBadRequest);
  client->notify("notifications/cancelled", R"({"requestId":5})");
}

// ---- prompts, resources, pages

TEST_F(Mcp, RecipesArePrompts) {
  const auto client = open();
  const RpcMessage list = client->call("prompts/list", "{}");
  std::set<std::string> names;
  for (std::size_t i = 0; i < list.result()["prompts"].size(); ++i)
    names.emplace(list.result()["prompts"].at(i)["name"].string_or(""));
  EXPECT_TRUE(names.contains("commit"));
  EXPECT_FALSE(names.contains("compact"));
  const RpcMessage got = client->call("prompts/get", R"({"name":"init","arguments":{"focus":"the weather"}})");
  EXPECT_NE(got.result()["messages"].at(0)["content"]["text"].string_or("").find("the weather"),
            std::string_view::npos);
  EXPECT_EQ(client->call("prompts/get", R"({"name":"compact"})").fault.code, kRpcBadParams);
  EXPECT_EQ(client->call("prompts/get", R"({"name":"init","arguments":{"colour":"red"}})").fault.code, kRpcBadParams);
  EXPECT_TRUE(client
                  ->call("completion/complete",
                         R"({"ref":{"type":"ref/prompt","name":"init"},"argument":{"name":"file","value":""}})")
                  .result()["completion"]["values"]
                  .is_array());
}

TEST_F(Mcp, AResourceThatIsNotThereHasItsErasCode) {
  const auto client = open();
  const std::string uri = R"("uri":"agentd://conversation/01ARZ3NDEKTSV4RRFFQ69G5FAV")";
  EXPECT_EQ(client->call("resources/read", "{" + uri + "}").fault.code, kRpcNotFound);
  const RpcMessage modern = client->call("resources/read", "{" + uri + "," + kVersion + "}");
  EXPECT_EQ(modern.fault.code, kRpcBadParams);
  EXPECT_TRUE(has(modern.fault.data, "01ARZ3NDEKTSV4RRFFQ69G5FAV"));
  EXPECT_EQ(client->call("resources/read", R"({"uri":"file:///etc/passwd"})").fault.code, kRpcNotFound);
  EXPECT_EQ(client->call("resources/templates/list", "{}").result()["resourceTemplates"].size(), 3U);
}

TEST_F(Mcp, AConversationWithoutMessagesIsNoResource) {
  const auto client = open();
  (void)call(*client, "checkpoint_list", "{}");  // in a conversation of the client's own
  const std::string own = program_.newest();
  EXPECT_FALSE(own.empty());
  EXPECT_EQ(client->call("resources/list", "{}").result()["resources"].size(), 0U);
  ASSERT_EQ(program_.run({"run", "go", "--script", program_.script("turns:\n- text: done\n")}).code, 0);
  EXPECT_EQ(client->call("resources/list", "{}").result()["resources"].size(), 1U);
}

TEST_F(Mcp, AForeignCursorIsRefused) {
  const auto client = open();
  for (const char* const method : {"tools/list", "prompts/list", "resources/list"})
    EXPECT_EQ(client->call(method, R"({"cursor":"NTA="})").fault.code, kRpcBadParams) << method;
  const RpcMessage list = client->call("resources/list", "{}");
  const std::string next(list.result()["nextCursor"].string_or(""));
  ASSERT_FALSE(next.empty());
  EXPECT_EQ(client->call("resources/list", R"({"cursor":")" + next + "\"}").kind, RpcMessage::Kind::kResult);
}

}  // namespace
}  // namespace agentd::testing
