// SPDX-License-Identifier: Apache-2.0
// What requests of both eras say of themselves, and what becomes of those that contradict themselves.
#include "core/mcp/protocol.h"

#include <gtest/gtest.h>

#include "core/base/base64.h"

namespace agentd::mcp {
namespace {

constexpr std::string_view kModern = R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                                     R"("io.modelcontextprotocol/clientCapabilities":{}})";

RpcMessage request(std::string_view method, const std::string& params) {
  return std::get<RpcMessage>(read_rpc(rpc_request(RpcId(1), method, "{" + params + "}")));
}
RpcMessage modern(std::string_view method, const std::string& more = {}) {
  return request(method, std::string(kModern) + more);
}
std::int64_t fault(const std::optional<Fault>& found) { return found ? found->rpc.code : 0; }

Fields fields(std::string_view method, std::optional<std::string> name = {}) {
  return {std::string(kModernVersion), std::string(method), std::move(name)};
}

TEST(Protocol, ARequestThatSaysItsVersionStandsAlone) {
  EXPECT_FALSE(claimed_version(request("tools/list", "")));
  const auto asking = read_asking(modern("tools/list"));
  ASSERT_TRUE(asking);
  EXPECT_EQ(asking->era, Era::kModern);
  EXPECT_FALSE(asking->tasks);
  EXPECT_EQ(asking->client, "");
}

TEST(Protocol, WhoAsksIsReadFromTheRequest) {
  const auto asking = read_asking(
      request("tools/list",
              R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
              R"("io.modelcontextprotocol/clientInfo":{"name":"tester","version":"1"},)"
              R"("io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}})"));
  ASSERT_TRUE(asking);
  EXPECT_TRUE(asking->tasks);
  EXPECT_EQ(asking->client, "tester");
}

TEST(Protocol, AnUnknownVersionIsToldWhichThereAre) {
  const auto asking =
      read_asking(request("tools/list", R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01"})"));
  ASSERT_FALSE(asking);
  EXPECT_EQ(asking.error().rpc.code, kMcpUnsupportedVersion);
  EXPECT_EQ(asking.error().status, 400U);
  const auto data = JsonDocument::parse(asking.error().rpc.data);
  ASSERT_TRUE(data);
  EXPECT_EQ(data->root()["requested"].string_or(""), "2031-01-01");
  EXPECT_EQ(data->root()["supported"].at(0).string_or(""), kModernVersion);
}

TEST(Protocol, IncompleteMetaIsNoOlderEra) {
  for (const char* const meta : {R"("_meta":{"io.modelcontextprotocol/protocolVersion":7})",
                                 R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"})",
                                 R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                                 R"("io.modelcontextprotocol/clientCapabilities":[]})"}) {
    const RpcMessage message = request("tools/list", meta);
    ASSERT_TRUE(claimed_version(message)) << meta;
    const auto asking = read_asking(message);
    ASSERT_FALSE(asking) << meta;
    EXPECT_EQ(asking.error().rpc.code, kRpcBadParams) << meta;
  }
}

TEST(Fields, ThoseThatAgreeAreGood) {
  EXPECT_EQ(fault(check_fields(fields("tools/list"), modern("tools/list"))), 0);
  EXPECT_EQ(fault(check_fields(fields("tools/call", "grep"), modern("tools/call", R"(,"name":"grep")"))), 0);
  EXPECT_EQ(fault(check_fields(fields("resources/read", "a://b"), modern("resources/read", R"(,"uri":"a://b")"))), 0);
  EXPECT_EQ(fault(check_fields(fields("tools/call", "=?base64?" + base64("grüße") + "?="),
                               modern("tools/call", R"(,"name":"grüße")"))),
            0);
  // The legacy era has none of these fields.
  EXPECT_EQ(fault(check_fields({}, request("tools/list", ""))), 0);
}

TEST(Fields, OneThatContradictsTheBodyIsRefused) {
  Fields other = fields("tools/list");
  other.version = "2025-11-25";
  EXPECT_EQ(fault(check_fields(other, modern("tools/list"))), kMcpHeaderMismatch);
  EXPECT_EQ(fault(check_fields(fields("tools/call", "grep"), modern("tools/list"))), kMcpHeaderMismatch);
  EXPECT_EQ(fault(check_fields(fields("tools/call", "bash"), modern("tools/call", R"(,"name":"grep")"))),
            kMcpHeaderMismatch);
  EXPECT_EQ(fault(check_fields(fields("tools/call", "=?base64?%%?="), modern("tools/call", R"(,"name":"grep")"))),
            kMcpHeaderMismatch);
}

TEST(Fields, OneThatIsMissingIsRefused) {
  Fields without = fields("tools/list");
  without.version.reset();
  EXPECT_EQ(fault(check_fields(without, modern("tools/list"))), kMcpHeaderMismatch);
  without = fields("tools/list");
  without.method.reset();
  EXPECT_EQ(fault(check_fields(without, modern("tools/list"))), kMcpHeaderMismatch);
  EXPECT_EQ(fault(check_fields(fields("tools/call"), modern("tools/call", R"(,"name":"grep")"))), kMcpHeaderMismatch);
  // A field of the modern era without what its body needs.
  EXPECT_EQ(fault(check_fields(fields("tools/list"), request("tools/list", ""))), kRpcBadParams);
}

TEST(Fields, MembersOfAnInputAreRepeatedWhereTheSchemaSaysSo) {
  constexpr std::string_view kSchema =
      R"({"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"q":{"type":"string"},)"
      R"("deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"Count"}}}}})";
  const auto check = [&](const char* json, std::map<std::string, std::string> sent) {
    const auto read = JsonDocument::parse(json);
    return fault(check_param_fields(kSchema, read->root(), [&](const std::string& name) -> std::optional<std::string> {
      const auto found = sent.find(name);
      return found == sent.end() ? std::nullopt : std::optional(found->second);
    }));
  };
  EXPECT_EQ(check(R"({"region":"eu","q":"x"})", {{"mcp-param-region", "eu"}}), 0);
  EXPECT_EQ(check(R"({"region":"eu"})", {{"mcp-param-region", "=?base64?" + base64("eu") + "?="}}), 0);
  EXPECT_EQ(check(R"({"deep":{"n":7}})", {{"mcp-param-count", "7"}}), 0);
  // Half a wrapping is the value itself.
  EXPECT_EQ(check(R"({"region":"=?base64?ZXU="})", {{"mcp-param-region", "=?base64?ZXU="}}), 0);
  EXPECT_EQ(check(R"({"q":"x"})", {}), 0);
  EXPECT_EQ(check(R"({"region":null})", {}), 0);
  EXPECT_EQ(check(R"({"region":"eu"})", {}), kMcpHeaderMismatch);
  EXPECT_EQ(check(R"({"region":"eu"})", {{"mcp-param-region", "us"}}), kMcpHeaderMismatch);
  EXPECT_EQ(check(R"({"region":"eu"})", {{"mcp-param-region", "=?base64?e?="}}), kMcpHeaderMismatch);
  EXPECT_EQ(check(R"({"deep":{"n":7}})", {{"mcp-param-count", "8"}}), kMcpHeaderMismatch);
}

TEST(Versions, TheNewestIsSpokenWithAClientOfAnother) {
  EXPECT_EQ(negotiated_version("2024-11-05"), "2024-11-05");
  EXPECT_EQ(negotiated_version("2025-06-18"), "2025-06-18");
  EXPECT_EQ(negotiated_version("1999-01-01"), "2025-11-25");
  EXPECT_EQ(negotiated_version("2025-03-26"), "2024-11-05") << "batches of that version are not read";
}

TEST(Results, EachEraHasItsOwnDress) {
  EXPECT_EQ(dressed(R"({"a":1})", {Era::kLegacy, "1"}), R"({"a":1})");
  const auto read = [](const std::string& text) { return std::move(*JsonDocument::parse(text)); };
  const JsonDocument plain = read(dressed("{}", {Era::kModern, "1.2"}));
  EXPECT_EQ(plain.root()["resultType"].string_or(""), "complete");
  EXPECT_FALSE(plain.root()["ttlMs"].exists());
  EXPECT_EQ(plain.root()["_meta"][kMetaServer]["version"].string_or(""), "1.2");
  const JsonDocument kept = read(dressed(R"({"a":1})", {Era::kModern, "1.2", "task", 5}));
  EXPECT_EQ(kept.root()["resultType"].string_or(""), "task");
  EXPECT_EQ(kept.root()["ttlMs"].int_or(0), 5);
  EXPECT_EQ(kept.root()["cacheScope"].string_or(""), "private");
  EXPECT_EQ(kept.root()["a"].int_or(0), 1);
}

}  // namespace
}  // namespace agentd::mcp
