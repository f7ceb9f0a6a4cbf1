// SPDX-License-Identifier: Apache-2.0
// Messages of JSON-RPC.
#include "core/codec/json_rpc.h"

#include <gtest/gtest.h>

namespace agentd {
namespace {

// A message in one line for comparisons: its kind, id, method and what it carries.
std::string told(const std::string& text, const RpcLimits& limits = {}) {
  const auto read = read_rpc(text, limits);
  if (const auto* const refusal = std::get_if<RpcRefusal>(&read))
    return std::string(refusal->answered ? "refused " : "dropped ") + refusal->id.json() + " " +
           std::to_string(refusal->fault.code) + " " + refusal->fault.message;
  const auto& message = std::get<RpcMessage>(read);
  switch (message.kind) {
    case RpcMessage::Kind::kRequest:
      return "request " + message.id.json() + " " + message.method;
    case RpcMessage::Kind::kNotification:
      return "notification " + message.method;
    case RpcMessage::Kind::kResult:
      return "result " + message.id.json() + " " + message.result().text();
    case RpcMessage::Kind::kFault:
      return "fault " + message.id.json() + " " + std::to_string(message.fault.code) + " " + message.fault.message +
             message.fault.data;
  }
  return {};
}

std::string with(const std::string& members) { return R"({"jsonrpc":"2.0")" + members + "}"; }

TEST(JsonRpc, MessagesOfEachKindAreRead) {
  EXPECT_EQ(told(with(R"(,"id":1,"method":"m","params":{"a":[]})")), "request 1 m");
  EXPECT_EQ(told(with(R"(,"method":"m")")), "notification m");
  EXPECT_EQ(told(with(R"(,"id":"x","result":null)")), "result \"x\" null");
  EXPECT_EQ(told(with(R"(,"id":1)")), "result 1 null");
  EXPECT_EQ(told(with(R"(,"id":1,"result":7,"error":null)")), "result 1 7");
  EXPECT_EQ(told(with(R"(,"id":1,"result":null,"error":{"code":1,"message":"no"})")), "fault 1 1 no");
  EXPECT_EQ(told(with(R"(,"id":2,"error":{"code":-32601,"message":"no","data":{"k":1}})")),
            "fault 2 -32601 no{\"k\":1}");
  EXPECT_EQ(told(with(R"(,"id":null,"error":{"code":-32700,"message":"no"})")), "fault null -32700 no");
}

TEST(JsonRpc, IdsAreTextsWholeNumbersOrNull) {
  for (const char* const id : {"0", "-7", "9007199254740992", "\"1\"", "\"\"", "null"})
    EXPECT_EQ(told(with(R"(,"method":"m","id":)" + std::string(id))), "request " + std::string(id) + " m");
  EXPECT_EQ(told(with(R"(,"method":"m","id":1.0)")), "request 1 m");
  for (const char* const id : {"1.5", "true", "[]", "{}"})
    EXPECT_EQ(told(with(R"(,"method":"m","id":)" + std::string(id))),
              "refused null -32600 'id' is not a text, a whole number or null");
  EXPECT_NE(*RpcId::read(JsonDocument::parse("1")->root()), *RpcId::read(JsonDocument::parse("\"1\"")->root()));
  EXPECT_EQ(RpcId(7).number(), 7);
  EXPECT_FALSE(RpcId().number());
}

TEST(JsonRpc, WhatIsNoMessageIsRefusedWithItsCode) {
  EXPECT_TRUE(told("{").starts_with("refused null -32700 the message is not valid JSON")) << told("{");
  EXPECT_TRUE(told("").starts_with("refused null -32700"));
  EXPECT_EQ(told("[" + with(R"(,"method":"m")") + "]"),
            "refused null -32600 the message is a batch, which this protocol does not have: send one by one");
  EXPECT_EQ(told("7"), "refused null -32600 the message is not an object");
  EXPECT_EQ(told(R"({"id":1,"method":"m"})"), "refused 1 -32600 'jsonrpc' is not \"2.0\"");
  EXPECT_EQ(told(R"({"jsonrpc":2,"id":1,"method":"m"})"), "refused 1 -32600 'jsonrpc' is not \"2.0\"");
  EXPECT_EQ(told(with(R"(,"id":1,"method":7)")), "refused 1 -32600 'method' is not a name");
  EXPECT_EQ(told(with(R"(,"id":1,"method":"")")), "refused 1 -32600 'method' is not a name");
  EXPECT_EQ(told(with(R"(,"id":1,"method":")" + std::string(1'001, 'm') + "\"")),
            "refused 1 -32600 'method' is too long");
  EXPECT_EQ(told(with(R"(,"id":1,"method":"m","params":"p")")),
            "refused 1 -32600 'params' is not an object or an array");
  EXPECT_EQ(told(with(R"(,"id":1,"method":"m","result":1)")),
            "refused 1 -32600 the message has a method and an answer as well");
}

// An answer to an answer could be answered in turn.
TEST(JsonRpc, BrokenAnswersAreNotAnswered) {
  EXPECT_EQ(told(with("")), "dropped null -32600 the message has neither a method nor an id");
  EXPECT_EQ(told(with(R"(,"id":1,"result":1,"error":{"code":1,"message":"m"})")),
            "dropped 1 -32600 the answer has a result and an error as well");
  for (const char* const error : {"7", "{}", R"({"code":"1","message":"m"})", R"({"code":1})"})
    EXPECT_EQ(told(with(R"(,"id":1,"error":)" + std::string(error))),
              "dropped 1 -32600 'error' must have a number 'code' and a text 'message'");
}

TEST(JsonRpc, WhatTwoReadersCouldReadDifferentlyIsRefused) {
  for (const std::string& text :
       {with(R"(,"id":1,"method":"m","method":"n")"), with(R"(,"id":1,"method":"m","params":{"a":1,"a":2})"),
        with(",\"id\":1,\"method\":\"\xff\""), with(R"(,"id":1,"method":"\ud800")"),
        with(R"(,"id":1e400,"method":"m")"), with(R"(,"id":9007199254740993,"method":"m")"),
        with(R"(,"id":1,"method":"m")") + "{}"})
    EXPECT_TRUE(told(text).starts_with("refused ") && told(text).find(" -32") != std::string::npos)
        << text << " " << told(text);
}

// A request that cannot be read as a whole is answered to whoever waits for it.
TEST(JsonRpc, TheIdOfARefusedMessageIsKeptWhereItCanBeRead) {
  EXPECT_TRUE(told(with(R"(,"id":7,"method":"m","params":{"text":"\ud83d"})")).starts_with("refused 7 -32600"));
  EXPECT_TRUE(
      told(with(R"(,"id":"x","method":"m","params":{"n":9007199254740993})")).starts_with("refused \"x\" -32600"));
  EXPECT_TRUE(told(with(R"(,"id":7,"result":{"a":1,"a":2})")).starts_with("dropped 7 -32600"));
  EXPECT_TRUE(told(with(R"(,"id":7,"id":8,"method":"m")")).starts_with("refused null -32600"));
}

TEST(JsonRpc, LimitsAreThoseOfTheCaller) {
  const std::string text = with(R"(,"method":"m","params":[[[]]])");
  EXPECT_EQ(told(text, {text.size(), 4}), "notification m");
  EXPECT_TRUE(told(text, {text.size() - 1, 4}).starts_with("refused null -32600 the message has "));
  EXPECT_TRUE(told(text, {text.size(), 3}).starts_with("refused null -32600 the message "));
  // Deep nesting is refused before anything recurses over it.
  EXPECT_TRUE(told(std::string(1'000'000, '[')).starts_with("refused null -32"));
}

TEST(JsonRpc, MessagesThatAreWrittenAreReadAgain) {
  EXPECT_EQ(told(rpc_request(RpcId(7), "m", R"({"x":1})")), "request 7 m");
  EXPECT_EQ(rpc_request(RpcId(7), "m", ""), R"({"jsonrpc":"2.0","id":7,"method":"m"})");
  EXPECT_EQ(told(rpc_notification("a\nb", "{}")), "notification a\nb");
  EXPECT_EQ(told(rpc_fault(*RpcId::read(JsonDocument::parse("\"k\"")->root()), {kRpcNoMethod, "no", "[1]"})),
            "fault \"k\" -32601 no[1]");
}

TEST(JsonRpc, ARequestIsCancelledAsItsProtocolDoes) {
  EXPECT_EQ(rpc_cancel(kLspCancelling, RpcId(7)), R"({"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":7}})");
  EXPECT_EQ(rpc_cancel(kAcpCancelling, RpcId(7)),
            R"({"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}})");
}

}  // namespace
}  // namespace agentd
