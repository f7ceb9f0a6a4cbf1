// SPDX-License-Identifier: Apache-2.0
// Calls of a program's tools: results, ends, questions, and what no server should send.
#include <agentd/hook_abi.h>

#include <thread>

#include "played_server.h"

namespace agentd::mcp {
namespace {

using CallsTest = PlayedServers;

TEST_F(CallsTest, FailWhereTheServerSaysSo) {
  up(R"(
def call(id, name, arguments, params):
    if arguments.get("how") == "error": text(id, "no such file", isError=True)
    elif arguments.get("how") == "fault": fault(id, -32602, "the input has no 'a'; " + os.environ["TOKEN"])
    else: text(id, "fine")
)");
  EXPECT_EQ(said("mcp__srv__echo"), "fine");
  EXPECT_EQ(said("mcp__srv__echo", R"({"how":"error"})"), "failed: no such file");
  EXPECT_EQ(said("mcp__srv__echo", R"({"how":"fault"})"),
            "failed: the MCP server 'srv' refused it: the input has no 'a'; *** (-32602)");
  EXPECT_EQ(said("mcp__srv__none"), "not_found: the MCP server 'srv' has no tool 'mcp__srv__none'");
}

TEST_F(CallsTest, AreNeverRepeatedAfterAnEnd) {
  up(R"(
def call(id, name, arguments, params):
    if arguments.get("how") == "die": raw('{"jsonrpc": "2.0", "id":'); os._exit(9)
    text(id, "fine")
)");
  EXPECT_EQ(said("mcp__srv__echo", R"({"how":"die"})"),
            "failed: the MCP server 'srv' ended; it is not known whether the call was done");
  EXPECT_EQ(said("mcp__srv__echo"), "fine");  // it waits for the next start
  EXPECT_EQ(times("\"die\""), 1u);
  EXPECT_EQ(times("\"initialize\""), 2u);
}

TEST_F(CallsTest, KeepTheirToolsWhileTheServerIsAway) {
  up("def call(id, name, arguments, params): os._exit(9)\n");
  EXPECT_FALSE(call("mcp__srv__echo")->success);
  EXPECT_EQ(offered().size(), 1u);
}

TEST_F(CallsTest, HearLogsBetweenMessages) {
  up("print('starting up...', flush=True)\n");
  EXPECT_EQ(said("mcp__srv__echo"), "echo {}");
  EXPECT_NE(warnings().find("writes to its standard output what is no message: 'starting up...'"), std::string::npos)
      << warnings();
}

TEST_F(CallsTest, FailWithASentenceForWhatIsNoAnswer) {
  up(R"(
def call(id, name, arguments, params):
    how = arguments["how"]
    if how == "id": result(str(id), content=[])
    if how == "other id": result(id + 1000, content=[])
    if how == "twice": raw('{"jsonrpc":"2.0","id":%d,"result":{"a":1,"a":2}}\n' % id)
    if how == "both": raw('{"jsonrpc":"2.0","id":%d,"result":{},"error":{"code":1,"message":"x"}}\n' % id)
    if how == "none": raw('{"jsonrpc":"2.0","id":%d,"result":[]}\n' % id)
    if how == "long": raw('{"jsonrpc":"2.0","id":%d,"result":{"a":"%s"}}\n' % (id, "x" * (17 << 20)))
    if how == "type": result(id, resultType="odd")
    if how == "fine": text(id, "fine")
    if how == "bytes": raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"a\xffb"}]}}\n' % id)
)");
  const auto of = [&](const std::string& how) { return said("mcp__srv__echo", R"({"how":")" + how + "\"}"); };
  const std::string begin = "failed: the MCP server 'srv' ";
  EXPECT_EQ(of("id").find(begin + "answered a request that was never made, with the id \""), 0u) << of("id");
  EXPECT_EQ(of("other id").find(begin + "answered a request that was never made, with the id 1"), 0u);
  EXPECT_EQ(of("twice").find(begin + "sent no valid answer: the message has the key \"a\" twice"), 0u) << of("twice");
  EXPECT_EQ(of("both").find(begin + "sent no valid answer: the answer has a result and an error"), 0u) << of("both");
  EXPECT_EQ(of("none").find(begin + "answered without a result that is an object"), 0u) << of("none");
  EXPECT_EQ(of("long").find(begin + "sent no valid answer: its output has a"), 0u) << of("long");
  EXPECT_EQ(of("type").find(begin + "answered with a result of the unknown type 'odd'"), 0u) << of("type");
  EXPECT_EQ(of("bytes"),
            "a\uFFFD"
            "b");
  EXPECT_EQ(of("fine"), "fine");
  EXPECT_EQ(times("\"initialize\""), 1u);
}

TEST_F(CallsTest, EndWithACancel) {
  up("def call(id, name, arguments, params): note('arrived')\n");
  const CancelToken cancel;
  std::thread later([&] {
    EXPECT_TRUE(until([&] { return times("arrived") == 1; }));
    cancel.cancel(AGENTD_CANCEL_USER);
  });
  const auto outcome = call("mcp__srv__echo", "{}", nullptr, cancel);
  later.join();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Code::kCancelled);
  EXPECT_TRUE(until([&] { return times(R"("method":"notifications/cancelled")") == 1; })) << heard();
}

TEST_F(CallsTest, AreWaitedForWhileTheyTellTheirProgress) {
  ServerSetup server = setup(R"(
def call(id, name, arguments, params):
    for i in range(8):
        time.sleep(0.5)
        if arguments["tells"]: send(method="notifications/progress",
            params={"progressToken": params["_meta"]["progressToken"], "progress": i})
    text(id, "done")
)");
  server.call_timeout = Milliseconds(2'500);
  up(server);
  EXPECT_EQ(said("mcp__srv__echo", R"({"tells":true})"), "done");
  EXPECT_EQ(said("mcp__srv__echo", R"({"tells":false})"), "unavailable: the MCP server 'srv' has not answered in time");
  EXPECT_TRUE(until([&] { return times(R"("method":"notifications/cancelled")") == 1; }));
}

// Nobody else can answer it, so nobody waits for the time of the call.
TEST_F(CallsTest, FailAtOnceByAnAnswerThatIsNone) {
  up(R"(
def call(id, name, arguments, params):
    head = '{"jsonrpc":"2.0","id":%d,"result":' % id
    if arguments["how"] == "deep": raw(head + "[" * 5000 + "]" * 5000 + "}\n")
    elif arguments["how"] == "batch": raw("[" + head + "{}}]\n")
    elif arguments["how"] == "words": result(id, content="words")
    elif arguments["how"] == "list": result(id, content=[], structuredContent=[1])
    else:
        raw('{"level":"info","id":1,"message":"no result"}\n[1]\n')
        text(id, "done")
)");
  const std::string begin = "failed: the MCP server 'srv' ";
  for (const auto& [how, why] : std::vector<std::pair<std::string, std::string>>{
           {"deep", begin + "sent no valid answer: the message is not valid JSON"},
           {"batch", begin + "sent no valid answer: the message is a batch"},
           {"words", begin + "answered with content that is not a list"},
           {"list", begin + "answered with structured content that is not an object"},
           {"log", "done"}})
    EXPECT_EQ(said("mcp__srv__echo", R"({"how":")" + how + "\"}").find(why), 0u) << how;
  EXPECT_EQ(said("mcp__srv__echo", R"({"how":"words"})"), begin + "answered with content that is not a list")
      << "it is known that the call was done";
}

// ---- questions

constexpr std::string_view kAsks = R"(
def call(id, name, arguments, params):
    send(id="q", method=arguments.get("method", "elicitation/create"), params={"message": "Your name?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}})
    answer = read()
    text(id, json.dumps(answer.get("result", answer.get("error")), sort_keys=True))
)";

TEST_F(CallsTest, AskThePerson) {
  up(kAsks);
  Answering ada(R"({"name":"Ada"})");
  EXPECT_EQ(said("mcp__srv__echo", "{}", &ada), R"({"action": "accept", "content": {"name": "Ada"}})");
  ASSERT_EQ(ada.asked.size(), 1u);
  EXPECT_EQ(ada.asked[0].server + " " + ada.asked[0].tool + ": " + ada.asked[0].message, "srv echo: Your name?");
  EXPECT_EQ(said("mcp__srv__echo"), R"({"action": "decline"})");
  Answering no({ElicitationAnswer::Kind::kDeclined});
  EXPECT_EQ(said("mcp__srv__echo", "{}", &no), R"({"action": "decline"})");
  // Values that do not fit are not sent.
  Answering wrong(R"({"name":7,"password":"x"})");
  EXPECT_EQ(said("mcp__srv__echo", "{}", &wrong), R"({"action": "cancel"})");
}

TEST_F(CallsTest, OfferNothingElseToAServer) {
  up(kAsks);
  Answering ada(R"({"name":"Ada"})");
  EXPECT_EQ(said("mcp__srv__echo", R"({"method":"ping"})"), "{}");
  for (const char* const method : {"sampling/createMessage", "roots/list", "x"})
    EXPECT_EQ(said("mcp__srv__echo", R"({"method":")" + std::string(method) + "\"}", &ada),
              R"({"code": -32601, "message": "agentd does not offer )" + std::string(method) + "\"}");
  EXPECT_TRUE(ada.asked.empty());
}

TEST_F(CallsTest, DeclineQuestionsWithoutEnd) {
  up(R"(
def call(id, name, arguments, params):
    accepted = 0
    for i in range(40):
        send(id=i, method="elicitation/create", params={"message": "?",
            "requestedSchema": {"type": "object", "properties": {}}})
        accepted += read()["result"]["action"] == "accept"
    text(id, str(accepted))
)");
  Answering yes(std::string("{}"));
  EXPECT_EQ(said("mcp__srv__echo", "{}", &yes), "16");
}

TEST_F(CallsTest, DeclineAQuestionOfNobodyKnowsWhom) {
  up(R"(
ids = []
def call(id, name, arguments, params):
    ids.append(id)
    if len(ids) < 2: return
    send(id="q", method="elicitation/create", params={"message": "?",
        "requestedSchema": {"type": "object", "properties": {}}})
    action = read()["result"]["action"]
    for each in ids: text(each, action)
)");
  Answering one(std::string("{}")), two(std::string("{}"));
  std::string first;
  std::thread other([&] { first = said("mcp__srv__echo", "{}", &one); });
  EXPECT_EQ(said("mcp__srv__echo", "{}", &two), "decline");
  other.join();
  EXPECT_EQ(first, "decline");
  EXPECT_EQ(one.asked.size() + two.asked.size(), 0u);
}

constexpr std::string_view kNeeds = R"(
ERA = "modern"
def call(id, name, arguments, params):
    ask = {"method": "elicitation/create", "params": {"message": "Your name?", "mode": "form",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}}
    if arguments.get("how") == "sample": ask = {"method": "sampling/createMessage", "params": {}}
    if arguments.get("how") == "nothing": return result(id, resultType="input_required")
    if "inputResponses" in params and arguments.get("how") != "ever":
        return text(id, json.dumps([params["inputResponses"], params["requestState"]], sort_keys=True),
                    resultType="complete")
    result(id, resultType="input_required", inputRequests={"who": ask}, requestState="st\u00e4te \"1\"")
)";

TEST_F(CallsTest, AreMadeAgainWithTheAnswersThatTheyNeed) {
  up(kNeeds);
  Answering ada(R"({"name":"Ada"})");
  EXPECT_EQ(said("mcp__srv__echo", "{}", &ada),
            R"([{"who": {"action": "accept", "content": {"name": "Ada"}}}, "st\u00e4te \"1\""])");
  EXPECT_EQ(said("mcp__srv__echo"), R"([{"who": {"action": "decline"}}, "st\u00e4te \"1\""])");
}

TEST_F(CallsTest, NeedNoMoreThanTenRounds) {
  up(kNeeds);
  Answering ada(R"({"name":"Ada"})");
  EXPECT_EQ(
      said("mcp__srv__echo", R"({"how":"ever"})", &ada),
      "failed: the MCP server 'srv' has asked in ten rounds, and asks still; it is not known whether the call was "
      "done");
  EXPECT_EQ(ada.asked.size(), 10u);
  EXPECT_NE(said("mcp__srv__echo", R"({"how":"sample"})", &ada)
                .find("cannot be answered: it asks for sampling/createMessage, which agentd does not offer"),
            std::string::npos);
  EXPECT_NE(said("mcp__srv__echo", R"({"how":"nothing"})", &ada).find("needs an answer and asks nothing"),
            std::string::npos);
}

}  // namespace
}  // namespace agentd::mcp
