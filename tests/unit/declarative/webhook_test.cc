// SPDX-License-Identifier: Apache-2.0
#include "core/external/webhook.h"
#include "core/net/curl_client.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>

#include "tests/support/loopback_server.h"

namespace agentd {
namespace {

using testing::LoopbackServer;
using testing::Reply;
using End = RawAnswer::End;

constexpr const char* kSecret = "s3cr3t-value-0123456789";

// A client that must not be asked.
class NoClient final : public HttpClient {
 public:
  Result<HttpResponse> send(const HttpRequest&, const OnBody&, const CancelToken&, Deadline) override {
    ++asked;
    return Error{Code::kUnavailable, "asked"};
  }
  void warm_up() override {}
  int asked = 0;
};

class WebhookTest : public ::testing::Test {
 protected:
  WebhookTest() {
    hook_.runs = HookRuns::kWebhook;
    hook_.name = "w";
  }

  RawAnswer post(const std::string& url, Deadline deadline = {}) {
    hook_.url = url;
    return post_webhook(hook_, R"({"event":"agent_stop"})", *client_, rules_, lookup(), cancel_, deadline, clock_);
  }
  // Asks nobody: only what comes before the request counts.
  RawAnswer refused(const std::string& url) {
    NoClient nobody;
    hook_.url = url;
    const RawAnswer answer = post_webhook(hook_, "{}", nobody, rules_, lookup(), cancel_, {}, clock_);
    EXPECT_EQ(nobody.asked, 0) << url;
    EXPECT_EQ(answer.end, End::kNotStarted) << url;
    return answer;
  }
  VariableLookup lookup() const {
    return [this](const std::string& name) -> std::optional<std::string> {
      const auto found = environment_.find(name);
      return found == environment_.end() ? std::nullopt : std::optional(found->second);
    };
  }

  SystemClock clock_;
  std::unique_ptr<HttpClient> client_ = make_http_client(clock_);
  CancelToken cancel_;
  WebhookRules rules_;
  HookDefinition hook_;
  std::map<std::string, std::string> environment_;
};

// ---- answers

TEST_F(WebhookTest, PostsThePayloadAndReadsTheAnswer) {
  LoopbackServer server({Reply::http(200, {}, R"({"action":"compact"})")});
  const RawAnswer answer = post(server.url() + "/hook?x=1");
  EXPECT_EQ(answer.end, End::kExited);
  EXPECT_EQ(answer.code, 0);
  EXPECT_EQ(answer.http_status, 200);
  EXPECT_EQ(answer.out, R"({"action":"compact"})");
  EXPECT_FALSE(answer.out_over_cap);
  ASSERT_EQ(server.requests().size(), 1u);
  const auto request = server.requests()[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/hook?x=1");
  EXPECT_EQ(request.header("content-type"), "application/json");
  EXPECT_EQ(request.body, R"({"event":"agent_stop"})");
}

TEST_F(WebhookTest, TakesNoContentForNoOpinion) {
  LoopbackServer server({Reply::http(204, {}, ""), Reply::http(202, {}, "")});
  for (const int status : {204, 202}) {
    const RawAnswer answer = post(server.url());
    EXPECT_EQ(answer.end, End::kExited);
    EXPECT_EQ(answer.code, 0);
    EXPECT_EQ(answer.http_status, status);
    EXPECT_EQ(answer.out, "");
  }
}

TEST_F(WebhookTest, TakesAnotherStatusForAFailureAndItsBodyForNothing) {
  LoopbackServer server({Reply::http(503, {}, R"({"action":"block"})"), Reply::http(404, {}, "no")});
  const RawAnswer answer = post(server.url());
  EXPECT_EQ(answer.end, End::kExited);
  EXPECT_EQ(answer.code, 1);
  EXPECT_EQ(answer.http_status, 503);
  EXPECT_EQ(answer.out, "");
  EXPECT_EQ(answer.err, "HTTP 503 from 127.0.0.1:" + std::to_string(server.port()));
  EXPECT_EQ(post(server.url()).http_status, 404);
}

TEST_F(WebhookTest, FollowsNoRedirect) {
  LoopbackServer target({Reply::http(200, {}, R"({"action":"compact"})")});
  LoopbackServer server(
      {Reply::http(302, {{"Location", target.url()}}, ""), Reply::http(307, {{"Location", target.url()}}, "moved")});
  for (const int status : {302, 307}) {
    const RawAnswer answer = post(server.url());
    EXPECT_EQ(answer.code, 1);
    EXPECT_EQ(answer.http_status, status);
    EXPECT_NE(answer.err.find("redirects are not followed"), std::string::npos);
  }
  EXPECT_EQ(target.connections(), 0u);
}

TEST_F(WebhookTest, CutsAnAnswerThatIsTooLong) {
  LoopbackServer server({Reply::http(200, {}, std::string(kWebhookBodyMax, 'x')),
                         Reply::http(200, {}, std::string(kWebhookBodyMax + 1, 'x'))});
  const RawAnswer whole = post(server.url());
  EXPECT_EQ(whole.out.size(), kWebhookBodyMax);
  EXPECT_FALSE(whole.out_over_cap);
  const RawAnswer cut = post(server.url());
  EXPECT_EQ(cut.end, End::kExited);
  EXPECT_EQ(cut.out.size(), kWebhookBodyMax);
  EXPECT_TRUE(cut.out_over_cap);
  EXPECT_EQ(cut.http_status, 200);
}

TEST_F(WebhookTest, DoesNotWaitForTheBodyOfAFailure) {
  LoopbackServer server({Reply().send("HTTP/1.1 500 No\r\nContent-Length: 100000\r\n\r\nsome").stall()});
  EXPECT_EQ(post(server.url()).http_status, 500);
}

TEST_F(WebhookTest, SaysThatNobodyIsThere) {
  std::uint16_t port = 0;
  { port = LoopbackServer(std::deque<Reply>{}).port(); }
  const RawAnswer answer = post("http://127.0.0.1:" + std::to_string(port));
  EXPECT_EQ(answer.end, End::kNotStarted);
  EXPECT_EQ(answer.problem.find("no connection to 127.0.0.1:"), 0u) << answer.problem;
  EXPECT_EQ(answer.http_status, 0);
}

TEST_F(WebhookTest, SaysThatTheAnswerBroke) {
  LoopbackServer server({Reply().send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{\"a").reset()});
  const RawAnswer answer = post(server.url());
  EXPECT_EQ(answer.end, End::kNotStarted);
  EXPECT_FALSE(answer.problem.empty());
  EXPECT_EQ(answer.out, "") << "half an answer is none";
}

TEST_F(WebhookTest, EndsAtTheEarlierOfDeadlineAndTimeout) {
  LoopbackServer server([](const auto&) { return Reply().stall(); });
  EXPECT_EQ(post(server.url(), Deadline::after(clock_, Milliseconds(60))).end, End::kTimedOut);
  hook_.timeout = Milliseconds(60);
  EXPECT_EQ(post(server.url()).end, End::kTimedOut);
  hook_.timeout = Milliseconds(600'000);
  EXPECT_EQ(post(server.url(), Deadline::after(clock_, Milliseconds(60))).end, End::kTimedOut);
}

TEST_F(WebhookTest, EndsWhenItIsCancelled) {
  LoopbackServer server([this](const auto&) {
    cancel_.cancel(1);
    return Reply().stall();
  });
  EXPECT_EQ(post(server.url()).end, End::kCancelled);
}

// ---- headers

TEST_F(WebhookTest, FillsInTheAllowedVariables) {
  LoopbackServer server({Reply::http(200, {}, "")});
  environment_ = {{"TOKEN", kSecret}, {"TEAM", "a"}};
  hook_.allowed_environment = {"TOKEN", "TEAM"};
  hook_.headers = {{"Authorization", "Bearer ${TOKEN}"}, {"X-Both", "${TEAM}-${TEAM}$TOKEN"}};
  EXPECT_EQ(post(server.url()).code, 0);
  const auto request = server.requests().at(0);
  EXPECT_EQ(request.header("authorization"), std::string("Bearer ") + kSecret);
  EXPECT_EQ(request.header("x-both"), "a-a$TOKEN") << "a name without braces is plain text";
}

TEST_F(WebhookTest, ReadsClaudesShortVariables) {
  LoopbackServer server({Reply::http(200, {}, "")});
  environment_ = {{"TOKEN", kSecret}};
  hook_.dialect = Dialect::kClaude;
  hook_.allowed_environment = {"TOKEN"};
  hook_.headers = {{"Authorization", "Bearer $TOKEN"}, {"X-Price", "$5"}};
  EXPECT_EQ(post(server.url()).code, 0);
  EXPECT_EQ(server.requests().at(0).header("authorization"), std::string("Bearer ") + kSecret);
  EXPECT_EQ(server.requests().at(0).header("x-price"), "$5");
}

TEST_F(WebhookTest, KeepsAContentTypeThatIsSet) {
  LoopbackServer server({Reply::http(200, {}, "")});
  hook_.headers = {{"Content-Type", "application/cloudevents+json"}};
  EXPECT_EQ(post(server.url()).code, 0);
  EXPECT_EQ(server.requests().at(0).header("content-type"), "application/cloudevents+json");
}

TEST_F(WebhookTest, SendsNoVariableThatIsNotAllowed) {
  environment_ = {{"TOKEN", kSecret}, {"HOME", "/home/somebody"}};
  hook_.allowed_environment = {"TOKEN"};
  hook_.headers = {{"X", "${HOME}"}};
  EXPECT_EQ(refused("http://127.0.0.1:1/").problem,
            "the header 'X' asks for HOME, which is not in allowed_environment");
}

TEST_F(WebhookTest, SaysWhichVariableIsNotSet) {
  hook_.allowed_environment = {"TOKEN"};
  hook_.headers = {{"X", "${TOKEN}"}};
  EXPECT_EQ(refused("http://127.0.0.1:1/").problem,
            "the header 'X' needs the environment variable TOKEN, which is not set");
}

TEST_F(WebhookTest, LetsNoVariableMakeAHeaderOfItsOwn) {
  environment_ = {{"TOKEN", "abcdefgh\r\nX-Admin: 1"}};
  hook_.allowed_environment = {"TOKEN"};
  hook_.headers = {{"X", "${TOKEN}"}};
  const std::string problem = refused("http://127.0.0.1:1/").problem;
  EXPECT_EQ(problem,
            "the header 'X' cannot carry the environment variable TOKEN: it has a line end or a "
            "zero byte");
}

TEST_F(WebhookTest, RefusesHeadersThatBelongToTheConnection) {
  for (const char* const name :
       {"Host", "content-length", "Transfer-Encoding", "Connection", "Expect", "", "a b", "a:", "a\r\nb", "\xc3\xa9"}) {
    hook_.headers = {{name, "x"}};
    EXPECT_FALSE(refused("http://127.0.0.1:1/").problem.empty()) << name;
  }
}

TEST_F(WebhookTest, TellsNobodyTheValueOfAVariable) {
  const std::string echo = std::string("{\"message\":\"") + kSecret + "\"}";
  LoopbackServer server({Reply::http(200, {}, echo), Reply::http(500, {{"X-Echo", kSecret}}, echo),
                         Reply::http(302, {{"Location", std::string("http://") + kSecret}}, echo),
                         Reply().send("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" + echo).reset()});
  environment_ = {{"TOKEN", kSecret}};
  hook_.allowed_environment = {"TOKEN"};
  hook_.headers = {{"X", "${TOKEN}"}};
  EXPECT_EQ(post(server.url()).out, R"({"message":"[TOKEN]"})");
  for (int i = 0; i < 3; ++i) {
    const RawAnswer answer = post(server.url());
    EXPECT_EQ((answer.out + answer.err + answer.problem).find(kSecret), std::string::npos);
  }
}

// ---- where to

TEST_F(WebhookTest, ReachesThisMachineAlways) {
  for (const char* const url : {"http://127.0.0.1/", "http://127.9.9.9:80", "http://localhost:8080/x",
                                "http://[::1]:9/", "https://LOCALHOST/", "https://127.0.0.1:8443"})
    EXPECT_TRUE(check_webhook_url(url, {})) << url;
}

TEST_F(WebhookTest, RefusesEverythingElseWithoutARule) {
  EXPECT_EQ(refused("https://hooks.example.com/x?key=1").problem,
            "a webhook may not reach hooks.example.com: it is not on this machine; to allow it, add "
            "'hooks.example.com' to hooks.allow_hosts");
  for (const char* const url :
       {"http://127.0.0.1.nip.io/", "http://localhost.example.com/", "http://0.0.0.0/", "http://[::]/",
        "http://10.0.0.1", "http://169.254.169.254/latest", "http://[::ffff:127.0.0.1]/",
        "http://127.0.0.1@example.com/", "http://example.com#@127.0.0.1/", "http://example.com?@127.0.0.1/",
        "http://128.0.0.1/", "http://127.1/", "http://2130706433/", "http://0x7f.0.0.1/", "http://localhost./",
        "http://127.0.0.1.5/"}) {
    const auto allowed = check_webhook_url(url, {});
    ASSERT_FALSE(allowed) << url;
    EXPECT_EQ(allowed.error().code, Code::kDenied) << url;
  }
  for (const char* const url : {"", "file:///etc/passwd", "ftp://127.0.0.1/", "127.0.0.1", "http://", "http:///x",
                                "http://a b/", "http://127.0.0.1\\@example.com/", "http://127.0.0.1:99999999/"})
    EXPECT_EQ(check_webhook_url(url, {}).error().code, Code::kInvalid) << url;
}

TEST_F(WebhookTest, ReachesTheHostsOfTheList) {
  const auto reaches = [](const char* rule, const char* url) { return check_webhook_url(url, {{rule}}).has_value(); };
  EXPECT_TRUE(reaches("example.com", "https://example.com/x"));
  EXPECT_TRUE(reaches("Example.COM", "https://EXAMPLE.com:8443/x"));
  EXPECT_TRUE(reaches("example.com", "http://example.com/"));
  EXPECT_FALSE(reaches("example.com", "https://sub.example.com/"));
  EXPECT_FALSE(reaches("example.com", "https://badexample.com/"));
  EXPECT_FALSE(reaches("example.com", "https://example.com.evil.org/"));
  EXPECT_FALSE(reaches("example.com", "https://example.com@evil.org/"));
  EXPECT_TRUE(reaches("*.example.com", "https://sub.example.com/"));
  EXPECT_TRUE(reaches("*.example.com", "https://a.b.example.com/"));
  EXPECT_FALSE(reaches("*.example.com", "https://example.com/"));
  EXPECT_FALSE(reaches("*.example.com", "https://badexample.com/"));
  EXPECT_FALSE(reaches("*.example.com", "https://.example.com/"));
  EXPECT_TRUE(reaches("example.com:8443", "https://example.com:8443/"));
  EXPECT_FALSE(reaches("example.com:8443", "https://example.com/"));
  EXPECT_TRUE(reaches("example.com:443", "https://example.com/"));
  EXPECT_FALSE(reaches("example.com:443", "http://example.com/"));
  EXPECT_TRUE(reaches("*.example.com:80", "http://a.example.com/"));
  EXPECT_TRUE(reaches("10.0.0.7", "http://10.0.0.7:5000/"));
  EXPECT_TRUE(reaches("fd00::1", "http://[fd00::1]:5000/"));
  EXPECT_TRUE(reaches("[fd00::1]:5000", "http://[FD00::1]:5000/"));
  EXPECT_FALSE(reaches("[fd00::1]:5000", "http://[fd00::1]/"));
  for (const char* const rule : {"", "*", "*.", ":80", "*:80", "[", "[]", "."})
    EXPECT_FALSE(reaches(rule, "https://example.com/")) << rule;
}

}  // namespace
}  // namespace agentd
