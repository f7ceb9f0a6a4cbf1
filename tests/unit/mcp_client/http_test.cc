// SPDX-License-Identifier: Apache-2.0
// Servers at an address: both eras, sessions, streams, and answers that no server should give.
#include <agentd/hook_abi.h>

#include <algorithm>
#include <thread>
#include <tuple>

#include "core/codec/json.h"
#include "played_server.h"
#include "tests/support/loopback_server.h"

namespace agentd::mcp {
namespace {

using testing::LoopbackServer;
using testing::RecordedRequest;
using testing::Reply;

const testing::Headers kJson{{"content-type", "application/json"}};

std::string answer(const std::string& id, const std::string& result) {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":)" + result + "}";
}
std::string event(const std::string& data, const std::string& id = "") {
  return (id.empty() ? "" : "id: " + id + "\n") + "data: " + data + "\n\n";
}

constexpr std::string_view kTools =
    R"({"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"e:ä","inputSchema":)"
    R"({"type":"object","properties":{"r":{"type":"string","x-mcp-header":"R"}}}}]})";
constexpr std::string_view kDone = R"({"content":[{"type":"text","text":"done"}]})";

// A server whose answers a test can change by the method.
class HttpTest : public PlayedServers {
 protected:
  enum class Era { kOld, kNew };
  using Play = std::function<Reply(const RecordedRequest&, const std::string& id)>;

  ServerSetup at(const LoopbackServer& server) {
    ServerSetup out;
    out.name = "web";
    out.url = server.url() + "/mcp?key=in-the-address";
    out.headers = {{"authorization", "Bearer very-secret-token"}};
    return out;
  }
  std::unique_ptr<LoopbackServer> serving(Era era, std::map<std::string, Play> plays = {}) {
    return std::make_unique<LoopbackServer>([=](const RecordedRequest& request) {
      if (request.method != "POST") {
        const auto play = plays.find(request.method);
        return play == plays.end() ? Reply::http(405, {}, "") : play->second(request, "");
      }
      const auto document = JsonDocument::parse(request.body);
      const std::string method(document->root()["method"].string_or("")), id = document->root()["id"].text();
      if (const auto play = plays.find(method); play != plays.end()) return play->second(request, id);
      if (id == "null") return Reply::http(202, {}, "");
      if (method == "tools/list") return Reply::http(200, kJson, answer(id, std::string(kTools)));
      if (method == "tools/call") return Reply::http(200, kJson, answer(id, std::string(kDone)));
      if (method == "server/discover" && era == Era::kNew)
        return Reply::http(200, kJson,
                           answer(id, R"({"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}})"));
      if (method == "initialize" && era == Era::kOld)
        return Reply::http(200, {{"content-type", "application/json"}, {"mcp-session-id", "one"}},
                           answer(id, R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{}}})"));
      return Reply::http(400, {}, "Bad Request: no session");
    });
  }
  // The requests with this method of JSON-RPC, or of HTTP.
  static std::vector<RecordedRequest> with(const LoopbackServer& server, std::string_view method) {
    std::vector<RecordedRequest> out;
    for (const RecordedRequest& request : server.requests())
      if (request.method == method || request.body.find("\"method\":\"" + std::string(method)) != std::string::npos)
        out.push_back(request);
    return out;
  }
};

TEST_F(HttpTest, OfTheNewEraHaveFieldsThatSayWhatIsAsked) {
  const auto server = serving(Era::kNew);
  up(at(*server));
  EXPECT_EQ(status().protocol, "2026-07-28");
  EXPECT_EQ(said("mcp__web__e___", R"({"r":"süd"})"), "done");
  const auto calls = with(*server, "tools/call");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].header("mcp-protocol-version"), "2026-07-28");
  EXPECT_EQ(calls[0].header("mcp-method"), "tools/call");
  EXPECT_EQ(calls[0].header("mcp-name"), "=?base64?ZTrDpA==?=");
  EXPECT_EQ(calls[0].header("mcp-param-r"), "=?base64?c8O8ZA==?=");
  EXPECT_EQ(calls[0].header("authorization"), "Bearer very-secret-token");
  EXPECT_EQ(calls[0].header("accept"), "application/json, text/event-stream");
  EXPECT_EQ(calls[0].header("mcp-session-id"), "");
  EXPECT_TRUE(with(*server, "initialize").empty());
}

TEST_F(HttpTest, OfTheOldEraHaveASession) {
  const auto server = serving(Era::kOld);
  up(at(*server));
  EXPECT_EQ(status().protocol, "2025-06-18");
  EXPECT_EQ(said("mcp__web__e___"), "done");
  EXPECT_EQ(with(*server, "initialize").at(0).header("mcp-protocol-version"), "");
  const auto call = with(*server, "tools/call").at(0);
  EXPECT_EQ(call.header("mcp-protocol-version"), "2025-06-18");
  EXPECT_EQ(call.header("mcp-session-id"), "one");
  EXPECT_EQ(call.header("mcp-method"), "");
  EXPECT_EQ(with(*server, "notifications/initialized").size(), 1u);
  tools_.reset();
  ASSERT_EQ(with(*server, "DELETE").size(), 1u);
  EXPECT_EQ(with(*server, "DELETE").at(0).header("mcp-session-id"), "one");
}

TEST_F(HttpTest, BeginANewSessionWhereTheOldOneHasEnded) {
  int calls = 0, sessions = 0;
  const auto server = serving(
      Era::kOld,
      {{"tools/call",
        [&](const RecordedRequest& request, const std::string& id) {
          if (++calls == 1) return Reply::http(404, {}, "");
          return Reply::http(
              200, kJson,
              answer(id, R"({"content":[{"type":"text","text":"in )" + request.header("mcp-session-id") + R"("}]})"));
        }},
       {"initialize", [&](const RecordedRequest&, const std::string& id) {
          return Reply::http(
              200, {{"content-type", "application/json"}, {"mcp-session-id", "s" + std::to_string(++sessions)}},
              answer(id, R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{}}})"));
        }}});
  up(at(*server));
  EXPECT_EQ(said("mcp__web__e___"), "in s2");
  EXPECT_EQ(with(*server, "initialize").at(1).header("mcp-session-id"), "");
  EXPECT_EQ(with(*server, "tools/list").size(), 2u);  // what is called is what was judged there
}

TEST_F(HttpTest, AnswerInStreams) {
  const auto server =
      serving(Era::kOld,
              {{"tools/call", [&](const RecordedRequest&, const std::string& id) {
                  return Reply::chunked(
                      {": hello\n\n", event(R"({"jsonrpc":"2.0","method":"notifications/message","params":{}})"),
                       event(R"({"jsonrpc":"2.0","id":"q","method":"ping"})"), event(answer(id, std::string(kDone)))});
                }}});
  up(at(*server));
  EXPECT_EQ(said("mcp__web__e___"), "done");
  EXPECT_TRUE(until([&] {
    const auto requests = server->requests();
    return std::any_of(requests.begin(), requests.end(),
                       [](const auto& each) { return each.body == R"({"jsonrpc":"2.0","id":"q","result":{}})"; });
  }));
}

TEST_F(HttpTest, AskThePersonInAStream) {
  std::string told;
  std::mutex mutex;
  const auto server = serving(
      Era::kOld, {{"tools/call", [&](const RecordedRequest&, const std::string& id) {
                     return Reply::stream(std::vector<std::string>{
                         event(R"({"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?",)"
                               R"("requestedSchema":{"type":"object","properties":{"a":{"type":"boolean"}}}}})"),
                         event(answer(id, std::string(kDone)))});
                   }}});
  up(at(*server));
  Answering yes(R"({"a":true})");
  EXPECT_EQ(said("mcp__web__e___", "{}", &yes), "done");
  EXPECT_EQ(yes.asked.size(), 1u);
}

TEST_F(HttpTest, GoOnWithAStreamThatWasCut) {
  const auto server = serving(
      Era::kOld,
      {{"tools/call", [&](const RecordedRequest&, const std::string&) { return Reply::stream(event("", "7")); }},
       {"GET", [&](const RecordedRequest& request, const std::string&) {
          if (request.header("last-event-id") != "7") return Reply::http(405, {}, "");
          return Reply::stream(event(answer("4", std::string(kDone)), "8"));
        }}});
  up(at(*server));
  EXPECT_EQ(said("mcp__web__e___"), "done");
  EXPECT_EQ(with(*server, "tools/call").size(), 1u);
}

TEST_F(HttpTest, SayHowLongToWaitBeforeAStreamGoesOn) {
  for (const auto& [said_ms, slept_ms] : {std::pair("321", 321), std::pair("86400000", 60'000), std::pair("0", 100)}) {
    const auto server =
        serving(Era::kOld, {{"tools/call",
                             [&](const RecordedRequest&, const std::string&) {
                               return Reply::stream("retry: " + std::string(said_ms) + "\n" + event("", "7"));
                             }},
                            {"GET", [&](const RecordedRequest& request, const std::string&) {
                               if (request.header("last-event-id") != "7") return Reply::http(405, {}, "");
                               return Reply::stream(event(answer("4", std::string(kDone)), "8"));
                             }}});
    up(at(*server));
    EXPECT_EQ(said("mcp__web__e___"), "done");
    EXPECT_TRUE(clock_.has_slept(Milliseconds(slept_ms))) << said_ms;
    tools_.reset();
  }
}

TEST_F(HttpTest, FailWithASentence) {
  std::string how;
  const auto server =
      serving(Era::kNew, {{"tools/call", [&](const RecordedRequest&, const std::string& id) {
                             if (how == "garbage") return Reply::http(200, kJson, "<html>");
                             if (how == "empty") return Reply::http(200, kJson, "");
                             if (how == "other") return Reply::http(200, kJson, answer("1", "{}"));
                             if (how == "cut") return Reply::chunked({"data: {"}, false);
                             if (how == "ended") return Reply::stream(": nothing\n\n");
                             if (how == "moved") return Reply::http(302, {{"location", "http://127.0.0.1:1/"}}, "");
                             if (how == "denied") return Reply::http(401, {}, "very-secret-token is wrong");
                             if (how == "broken") return Reply::http(500, {}, "trace");
                             if (how == "fault")
                               return Reply::http(400, kJson,
                                                  R"({"jsonrpc":"2.0","id":null,"error":{"code":-32020,)"
                                                  R"("message":"very-secret-token in a field"}})");
                             if (how == "reset") return Reply().reset();
                             return Reply::http(200, kJson, answer(id, std::string(kDone)));
                           }}});
  up(at(*server));
  const std::string begin = "failed: the MCP server 'web' ", end = "; it is not known whether the call was done";
  for (const auto& [what, why] : std::vector<std::pair<std::string, std::string>>{
           {"garbage", begin + "sent no valid answer: the message is not valid JSON"},
           {"empty", begin + "has ended its answer without a result" + end},
           {"other", begin + "has ended its answer without a result" + end},
           {"cut", begin + "has not ended its answer: "},
           {"ended", begin + "has ended its answer without a result" + end},
           {"moved", begin + "answered with the status 302 of HTTP, a redirect, which is not followed: check its url"},
           {"denied", begin + "answered with the status 401 of HTTP: check the headers of its settings"},
           {"broken", begin + "answered with the status 500 of HTTP" + end},
           {"fault", begin + "refused it: *** in a field (-32020)"},
           {"reset", begin + "is away: "},
           {"fine", "done"}}) {
    how = what;
    const std::string text = said("mcp__web__e___");
    EXPECT_EQ(text.find(why), 0u) << what << ": " << text;
    if (what == "moved" || what == "denied") {
      EXPECT_EQ(text, why) << "it was not done";
    }
    EXPECT_EQ(text.find("secret"), std::string::npos) << text;
    EXPECT_EQ(text.find("in-the-address"), std::string::npos) << text;
  }
}

TEST_F(HttpTest, ThatAreBusyForAMomentAreAskedOnceMore) {
  std::string pause;
  int busy = 0;
  const auto server = serving(Era::kNew, {{"tools/call", [&](const RecordedRequest&, const std::string& id) {
                                             if (busy-- > 0) return Reply::http(429, {{"retry-after", pause}}, "");
                                             return Reply::http(200, kJson, answer(id, std::string(kDone)));
                                           }}});
  up(at(*server));
  for (const auto& [times, wait, said_then, calls] :
       std::vector<std::tuple<int, std::string, std::string, std::size_t>>{
           {1, "1", "done", 2},
           {2, "0", "failed: the MCP server 'web' answered with the status 429 of HTTP", 4},
           {1, "6", "failed: the MCP server 'web' answered with the status 429 of HTTP", 5},
           {1, "Wed, 21 Oct 2015 07:28:00 GMT", "failed: the MCP server 'web' answered with the status 429 of HTTP", 6},
           {1, "-1", "failed: the MCP server 'web' answered with the status 429 of HTTP", 7}}) {
    busy = times;
    pause = wait;
    EXPECT_EQ(said("mcp__web__e___"), said_then) << wait;
    EXPECT_EQ(with(*server, "tools/call").size(), calls) << wait;
  }
  EXPECT_TRUE(clock_.has_slept(Milliseconds(1'000)));
}

TEST_F(HttpTest, ThatDoNotLetUsInFail) {
  const auto server = serving(
      Era::kOld,
      {{"server/discover", [](const RecordedRequest&, const std::string&) { return Reply::http(401, {}, ""); }}});
  up(at(*server));
  EXPECT_EQ(status().why,
            "the MCP server 'web' answered with the status 401 of HTTP: check the headers of its settings");
  EXPECT_TRUE(with(*server, "initialize").empty());
}

TEST_F(HttpTest, ThatAreAwayFail) {
  ServerSetup none = at(*serving(Era::kOld));
  up(none);
  EXPECT_EQ(status().why.find("the MCP server 'web' is away: "), 0u) << status().why;
}

TEST_F(HttpTest, EndWithACancel) {
  for (const Era era : {Era::kOld, Era::kNew}) {
    const auto server = serving(era, {{"tools/call", [&](const RecordedRequest&, const std::string&) {
                                         return Reply::stream(": wait\n\n").stall();
                                       }}});
    up(at(*server));
    const CancelToken cancel;
    std::thread later([&] {
      EXPECT_TRUE(until([&] { return with(*server, "tools/call").size() == 1; }));
      cancel.cancel(AGENTD_CANCEL_USER);
    });
    const auto outcome = call("mcp__web__e___", "{}", nullptr, cancel);
    later.join();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, Code::kCancelled);
    if (era == Era::kOld) {
      EXPECT_TRUE(until([&] { return with(*server, "notifications/cancelled").size() == 1; }));
    }
    tools_.reset();
    EXPECT_EQ(with(*server, "notifications/cancelled").size(), era == Era::kOld ? 1u : 0u);
  }
}

}  // namespace
}  // namespace agentd::mcp
