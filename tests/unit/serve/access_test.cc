// SPDX-License-Identifier: Apache-2.0
// Who may enter: a table of heads of requests, each with the answer that it gets.
#include "core/serve/access.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/codec/json.h"
#include "tests/support/temp_dir.h"

namespace agentd::serve {
namespace {

constexpr std::uint16_t kPort = 9090;
constexpr std::uint32_t kUser = 1000;

std::optional<Scope> scope_of_route(std::string_view method, std::string_view path) {
  if (path == "/healthz" && method == "GET") return Scope::kNone;
  if (path == "/look" && method == "GET") return Scope::kRead;
  if (path == "/work" && method == "POST") return Scope::kRun;
  if (path == "/answer" && method == "POST") return Scope::kApprove;
  if (path == "/stop" && (method == "POST" || method == "DELETE")) return Scope::kAdmin;
  return std::nullopt;
}

class Entrance : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(access_.load());
    own_ = *Tokens::read_own(home_);
    for (const Scope scope : {Scope::kRead, Scope::kRun, Scope::kApprove, Scope::kAdmin})
      by_scope_[scope] = *Tokens::add(home_, std::string(name_of(scope)), scope, 0);
  }

  static HttpPeer tcp(const std::string& address = "127.0.0.1") { return {HttpPeer::Door::kTcp, address, 0, 0}; }
  static HttpPeer local(std::uint32_t uid = kUser) { return {HttpPeer::Door::kUnix, {}, uid, 77}; }

  // A request that is let in; tests change a part of it.
  RequestHead good(const std::string& method = "GET", const std::string& target = "/look") const {
    return {tcp(), method, target, {{"host", "127.0.0.1:9090"}, {"authorization", "Bearer " + own_}}, kPort};
  }
  RequestHead posted(const std::string& target = "/work") const {
    RequestHead head = good("POST", target);
    head.fields.emplace_back("content-length", "2");
    head.fields.emplace_back("content-type", "application/json");
    return head;
  }
  static RequestHead without(RequestHead head, const std::string& name) {
    std::erase_if(head.fields, [&](const auto& each) { return each.first == name; });
    return head;
  }
  static RequestHead with(RequestHead head, const std::string& name, const std::string& value) {
    head = without(std::move(head), name);
    head.fields.emplace_back(name, value);
    return head;
  }
  static RequestHead more(RequestHead head, const std::string& name, const std::string& value) {
    head.fields.emplace_back(name, value);
    return head;
  }

  // 200 when it may go on.
  unsigned status(const RequestHead& head) {
    const auto reply = access_.decide(head);
    if (!reply) return 200;
    // What holds for every refusal.
    for (const auto& [name, value] : reply->fields)
      EXPECT_FALSE(ascii_lower(name).starts_with("access-control")) << name;
    EXPECT_EQ(reply->content_type, "application/json");
    const auto body = JsonDocument::parse(reply->body);
    EXPECT_TRUE(body) << reply->body;
    const JsonView error = body ? body->root()["error"] : JsonView();
    EXPECT_FALSE(error["code"].string_or("").empty()) << reply->body;
    EXPECT_FALSE(error["message"].string_or("").empty()) << reply->body;
    EXPECT_EQ(reply->body.find(own_), std::string::npos);
    EXPECT_EQ(reply->body.find(home_), std::string::npos);
    return reply->status;
  }
  static std::string reply_field(const HttpReply& reply, const std::string& name) {
    for (const auto& [each, value] : reply.fields)
      if (each == name) return value;
    return {};
  }

  testing::TempDir directory_;
  const std::string home_ = directory_.file("home");
  ManualClock clock_;
  Access access_{home_, kUser, scope_of_route, clock_};
  std::string own_;
  std::map<Scope, std::string> by_scope_;
};

TEST_F(Entrance, RequestsOfAClientAreLetIn) {
  EXPECT_EQ(status(good()), 200u);
  EXPECT_EQ(status(good("GET", "/look?a=b%20c&d")), 200u);
  EXPECT_EQ(status(posted()), 200u);
  EXPECT_EQ(status(good("POST", "/stop")), 200u);  // without a body, no type is needed
  EXPECT_EQ(status(good("DELETE", "/stop")), 200u);
  EXPECT_EQ(status(without(good("GET", "/healthz"), "authorization")), 200u);
  RequestHead on_socket = with(posted(), "host", "localhost");
  on_socket.peer = local();
  on_socket.port = 0;
  EXPECT_EQ(status(on_socket), 200u);
}

TEST_F(Entrance, HostNamesThisMachineAtThisPort) {
  for (const char* host : {"127.0.0.1:9090", "localhost:9090", "[::1]:9090"}) {
    EXPECT_EQ(status(with(good(), "host", host)), 200u) << host;
    EXPECT_EQ(status(with(posted(), "host", host)), 200u) << host;
    EXPECT_EQ(status(with(without(good("GET", "/healthz"), "authorization"), "host", host)), 200u) << host;
  }
  const std::vector<std::string> strange{"",
                                         " ",
                                         "evil",
                                         "evil:9090",
                                         "evil.example:9090",
                                         "localhost.evil.example:9090",
                                         "127.0.0.1.nip.io:9090",
                                         "127.0.0.1.evil.example:9090",
                                         "evil.example#127.0.0.1:9090",
                                         "evil@127.0.0.1:9090",
                                         "127.0.0.1:9090@evil",
                                         "127.0.0.1",
                                         "localhost",
                                         "[::1]",
                                         "::1",
                                         "::1:9090",
                                         "127.0.0.1:",
                                         "localhost:",
                                         "127.0.0.1:9091",
                                         "localhost:80",
                                         "127.0.0.1:09090",
                                         "127.0.0.1:+9090",
                                         "127.0.0.1: 9090",
                                         "127.0.0.1:9090 ",
                                         " 127.0.0.1:9090",
                                         "127.0.0.1:90900",
                                         "127.0.0.1:9090:9090",
                                         "127.0.0.1.:9090",
                                         "localhost.:9090",
                                         "LOCALHOST:9090",
                                         "Localhost:9090",
                                         "0.0.0.0:9090",
                                         "0:9090",
                                         "127.1:9090",
                                         "127.0.1:9090",
                                         "127.0.0.2:9090",
                                         "2130706433:9090",
                                         "0x7f000001:9090",
                                         "0177.0.0.1:9090",
                                         "[::]:9090",
                                         "[::ffff:127.0.0.1]:9090",
                                         "[0:0:0:0:0:0:0:1]:9090",
                                         "[::1%25lo]:9090",
                                         "[::1]9090",
                                         "http://127.0.0.1:9090",
                                         "127.0.0.1:9090/",
                                         "127.0.0.1:9090,127.0.0.1:9090",
                                         "127.0.0.1:9090\t",
                                         "ip6-localhost:9090",
                                         "localhost.localdomain:9090",
                                         "localhost\xff:9090",
                                         std::string("localhost:9090\0", 15),
                                         "127.0.0.1:9090.",
                                         "127\xe3\x80\x82"
                                         "0.0.1:9090",
                                         "\xe2\x91\xa0"
                                         "27.0.0.1:9090",
                                         "*",
                                         "*:9090"};
  for (const std::string& host : strange) {
    EXPECT_EQ(status(with(good(), "host", host)), 421u) << host;
    EXPECT_EQ(status(with(without(good("GET", "/healthz"), "authorization"), "host", host)), 421u) << host;
  }
  EXPECT_EQ(status(without(good(), "host")), 400u);
  EXPECT_EQ(status(more(good(), "host", "127.0.0.1:9090")), 400u);
  EXPECT_EQ(status(more(good(), "host", "evil")), 400u);
  EXPECT_EQ(status(more(without(good("GET", "/healthz"), "authorization"), "host", "evil")), 400u);
  // Other fields that name a host mean nothing.
  EXPECT_EQ(status(more(good(), "x-forwarded-host", "evil")), 200u);
  EXPECT_EQ(status(more(with(good(), "host", "evil"), "x-forwarded-host", "127.0.0.1:9090")), 421u);
  EXPECT_EQ(status(more(with(good(), "host", "evil"), "forwarded", "host=\"127.0.0.1:9090\"")), 421u);
}

TEST_F(Entrance, HostIsOfThePortThatWasConnectedTo) {
  EXPECT_TRUE(is_own_host("127.0.0.1:1", 1));
  EXPECT_TRUE(is_own_host("[::1]:65535", 65535));
  EXPECT_FALSE(is_own_host("127.0.0.1:1", 2));
  EXPECT_TRUE(is_own_host("localhost:80", 80));
  EXPECT_TRUE(is_own_host("localhost", 80));
  EXPECT_TRUE(is_own_host("127.0.0.1", 80));
  EXPECT_FALSE(is_own_host("localhost.", 80));
  EXPECT_FALSE(is_own_host("localhost:443", 80));
  EXPECT_FALSE(is_own_host("localhost", 443));
}

TEST_F(Entrance, HostOnTheSocketIsLocalhost) {
  RequestHead head = good();
  head.peer = local();
  head.port = 0;
  EXPECT_EQ(status(with(head, "host", "localhost")), 200u);
  for (const char* host : {"", "localhost:0", "localhost:80", "127.0.0.1", "[::1]", "docker", "evil", "Localhost",
                           "localhost.", "/run/user/1000/agentd/socket"})
    EXPECT_EQ(status(with(head, "host", host)), 421u) << host;
  EXPECT_EQ(status(without(head, "host")), 400u);
}

TEST_F(Entrance, PagesOfABrowserAreRefused) {
  const std::vector<std::string> origins{"null",
                                         "",
                                         "https://evil.example",
                                         "http://evil.example:9090",
                                         "chrome-extension://abcdefghijklmnop",
                                         "moz-extension://x",
                                         "file://",
                                         "http://127.0.0.1:9090",
                                         "http://localhost:9090",
                                         "http://[::1]:9090",
                                         "https://localhost",
                                         "127.0.0.1:9090",
                                         "http://localhost.evil.example"};
  for (const std::string& origin : origins) {
    EXPECT_EQ(status(more(good(), "origin", origin)), 403u) << origin;
    EXPECT_EQ(status(more(posted(), "origin", origin)), 403u) << origin;
    EXPECT_EQ(status(more(without(good("GET", "/healthz"), "authorization"), "origin", origin)), 403u) << origin;
    RequestHead on_socket = more(with(good(), "host", "localhost"), "origin", origin);
    on_socket.peer = local();
    on_socket.port = 0;
    EXPECT_EQ(status(on_socket), 403u) << origin;
  }
  for (const char* site : {"cross-site", "same-site", "same-origin", "", "None", "none ", "none,none", "other"}) {
    EXPECT_EQ(status(more(good(), "sec-fetch-site", site)), 403u) << site;
    EXPECT_EQ(status(more(posted(), "sec-fetch-site", site)), 403u) << site;
    EXPECT_EQ(status(more(without(good("GET", "/healthz"), "authorization"), "sec-fetch-site", site)), 403u) << site;
  }
  EXPECT_EQ(status(more(good(), "sec-fetch-site", "none")), 200u);
  EXPECT_EQ(status(more(more(good(), "sec-fetch-site", "none"), "sec-fetch-site", "none")), 403u);
  EXPECT_EQ(status(more(more(good(), "sec-fetch-site", "none"), "origin", "null")), 403u);
  EXPECT_EQ(status(more(good(), "referer", "https://evil.example/")), 200u);  // it needed the token
}

TEST_F(Entrance, PreflightsAndUpgradesOfPagesAreRefused) {
  const RequestHead plain = without(good("OPTIONS", "/work"), "authorization");
  const RequestHead preflight =
      more(more(more(plain, "origin", "https://evil.example"), "access-control-request-method", "POST"),
           "access-control-request-headers", "authorization,content-type");
  EXPECT_EQ(status(preflight), 403u);
  EXPECT_EQ(status(more(preflight, "access-control-request-private-network", "true")), 403u);
  EXPECT_EQ(status(more(preflight, "access-control-request-local-network", "true")), 403u);
  EXPECT_EQ(status(with(preflight, "origin", "null")), 403u);
  EXPECT_EQ(status(without(preflight, "origin")), 401u);
  EXPECT_EQ(status(with(preflight, "host", "evil.example:9090")), 421u);
  const RequestHead upgrade =
      more(more(more(without(good(), "authorization"), "connection", "Upgrade"), "upgrade", "websocket"),
           "sec-websocket-key", "x3JJHMbDL1EzLkh9GBhXDw==");
  EXPECT_EQ(status(upgrade), 401u);
  EXPECT_EQ(status(more(upgrade, "origin", "https://evil.example")), 403u);
  EXPECT_EQ(status(more(upgrade, "sec-websocket-protocol", "bearer, " + own_)), 401u);
  // A form, and a picture of a page: even from a browser that sends neither field.
  RequestHead form = without(posted(), "authorization");
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"}) {
    EXPECT_EQ(status(with(form, "content-type", type)), 401u) << type;
    EXPECT_EQ(status(more(with(form, "content-type", type), "origin", "null")), 403u) << type;
    EXPECT_EQ(status(more(with(form, "content-type", type), "sec-fetch-site", "cross-site")), 403u) << type;
  }
  EXPECT_EQ(status(more(without(good("GET", "/stop"), "authorization"), "cookie", "token=" + own_)), 401u);
}

TEST_F(Entrance, TargetsAreInOriginForm) {
  for (const char* target :
       {"", "*", "look", "http://127.0.0.1:9090/look", "https://evil.example/look", "HTTP://127.0.0.1:9090/healthz",
        "127.0.0.1:9090", "/look#part", "/lo ok", "/look\t", "/look\r\nx", "/l\xc3\xb6k", "/look\x7f"})
    EXPECT_EQ(status(good("GET", target)), 400u) << target;
  EXPECT_EQ(status(good("GET", std::string("/look\0", 6))), 400u);
  EXPECT_EQ(status(without(good("GET", "http://127.0.0.1:9090/healthz"), "authorization")), 400u);
}

TEST_F(Entrance, PeersAreThisUserOrThisMachine) {
  RequestHead head = with(good(), "host", "localhost");
  head.port = 0;
  for (const std::uint32_t uid : {0u, 1u, 999u, 1001u, 65534u, 0xffffffffu}) {
    head.peer = local(uid);
    head.target = "/look";
    EXPECT_EQ(status(head), 403u) << uid;
    head.target = "/healthz";
    EXPECT_EQ(status(without(head, "authorization")), 403u) << uid;
  }
  head.target = "/look";
  head.peer = local();
  EXPECT_EQ(status(head), 200u);
  EXPECT_EQ(status(without(head, "authorization")), 401u);  // the right user needs the token as well
  RequestHead remote = good();
  for (const char* address : {"", "10.0.0.1", "192.168.1.7", "1.127.0.1", "::", "::2", "::ffff:10.0.0.1", "fe80::1",
                              "2001:db8::127.0.0.1", "12.7.0.0"}) {
    remote.peer = tcp(address);
    EXPECT_EQ(status(remote), 403u) << address;
  }
  for (const char* address : {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"}) {
    remote.peer = tcp(address);
    EXPECT_EQ(status(remote), 200u) << address;
  }
}

TEST_F(Entrance, TokensComeInOneFieldAlone) {
  std::string upper = own_;
  for (char& c : upper) c = c >= 'a' && c <= 'f' ? static_cast<char>(c - 32) : c;
  const std::vector<std::string> wrong{"",
                                       "Bearer",
                                       "Bearer ",
                                       own_,
                                       "Basic " + own_,
                                       "Bearer" + own_,
                                       "Token " + own_,
                                       "Bearer\t" + own_,
                                       "Bearer " + own_.substr(0, 70),
                                       "Bearer " + own_ + "0",
                                       "Bearer " + upper,
                                       "Bearer " + own_.substr(7),
                                       "Bearer " + own_ + " x",
                                       "Bearer " + own_ + "," + own_,
                                       "Bearer token=" + own_,
                                       "Bearer \"" + own_ + "\"",
                                       "Basic OmFnZW50ZA==",
                                       "Bearer " + own_ + std::string(1, '\0')};
  for (const std::string& value : wrong) {
    EXPECT_EQ(status(with(good(), "authorization", value)), 401u) << value;
    clock_.advance(Milliseconds(61'000));  // too many wrong ones are another matter
  }
  EXPECT_EQ(status(with(good(), "authorization", "bearer " + own_)), 200u);
  EXPECT_EQ(status(with(good(), "authorization", "BEARER  " + own_ + " ")), 200u);
  EXPECT_EQ(status(more(good(), "authorization", "Bearer " + own_)), 401u);
  EXPECT_EQ(status(more(good(), "authorization", "Basic x")), 401u);
  const RequestHead bare = without(good(), "authorization");
  EXPECT_EQ(status(bare), 401u);
  EXPECT_EQ(status(more(bare, "cookie", "token=" + own_)), 401u);
  EXPECT_EQ(status(more(bare, "x-api-key", own_)), 401u);
  EXPECT_EQ(status(more(bare, "proxy-authorization", "Bearer " + own_)), 401u);
  EXPECT_EQ(status(without(good("GET", "/look?token=" + own_ + "&access_token=" + own_), "authorization")), 401u);
  EXPECT_EQ(reply_field(*access_.decide(bare), "WWW-Authenticate"), "Bearer");
}

TEST_F(Entrance, RoutesThatAreNotThereAreToldOnlyToWhoHasAToken) {
  for (const char* target : {"/", "/nothing", "/look/", "//look", "/api/v1", "/healthz/", "/healthz/x", "/HEALTHZ",
                             "/%68ealthz", "/healthz%2f", "/.", "/look/../healthz"}) {
    EXPECT_EQ(status(without(good("GET", target), "authorization")), 401u) << target;
    EXPECT_EQ(status(good("GET", target)), 200u) << target;
    EXPECT_EQ(status(with(good("GET", target), "authorization", "Bearer " + by_scope_[Scope::kRead])), 200u) << target;
  }
  for (const char* method : {"HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get", "Get", "FOO", ""}) {
    EXPECT_EQ(status(without(good(method, "/healthz"), "authorization")), 401u) << method;
    EXPECT_EQ(status(good(method, "/healthz")), 200u) << method;
  }
  // The query is no part of the path.
  EXPECT_EQ(status(without(good("GET", "/healthz?x=/look"), "authorization")), 200u);
  EXPECT_EQ(status(without(good("GET", "/look?/healthz"), "authorization")), 401u);
}

TEST_F(Entrance, ScopesHold) {
  const std::vector<std::pair<std::string, Scope>> routes{
      {"/look", Scope::kRead}, {"/work", Scope::kRun}, {"/answer", Scope::kApprove}, {"/stop", Scope::kAdmin}};
  for (const auto& [target, needs] : routes)
    for (const auto& [has, token] : by_scope_) {
      const RequestHead head =
          with(good(target == "/look" ? "GET" : "POST", target), "authorization", "Bearer " + token);
      EXPECT_EQ(status(head), allows(has, needs) ? 200u : 403u) << target << name_of(has);
      EXPECT_EQ(access_.who(head).scope, has);
      EXPECT_EQ(access_.who(head).name, name_of(has));
    }
  const RequestHead judge = with(good("POST", "/work"), "authorization", "Bearer " + by_scope_[Scope::kApprove]);
  EXPECT_NE(access_.decide(judge)->body.find("the token 'approve' has the scope approve, and this needs run"),
            std::string::npos);
  EXPECT_EQ(access_.who(good()).name, "agentd");
  EXPECT_EQ(access_.who(without(good(), "authorization")).scope, Scope::kNone);
}

TEST_F(Entrance, MethodsOfAPageDoNotChangeAnything) {
  // What changes something is no GET: the router's table has it by its method alone.
  for (const char* target : {"/work", "/stop", "/answer"}) {
    EXPECT_EQ(scope_of_route("GET", target), std::nullopt);
    EXPECT_EQ(status(without(good("GET", target), "authorization")), 401u);
    EXPECT_EQ(status(more(without(good("GET", target), "authorization"), "x-http-method-override", "POST")), 401u);
  }
}

TEST_F(Entrance, BodiesAreJson) {
  const RequestHead bare = without(posted(), "content-type");
  for (const char* type : {"application/json", "application/json; charset=utf-8", "application/json;charset=UTF-8",
                           "APPLICATION/JSON", "application/json ; charset=\"utf-8\"", "application/json;"})
    EXPECT_EQ(status(with(bare, "content-type", type)), 200u) << type;
  EXPECT_EQ(status(bare), 415u);
  for (const char* type :
       {"", "text/plain", "text/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
        "text/plain; application/json", "text/plain, application/json", "application/json, text/plain",
        "application/jsonp", "application/json+x", "application/vnd.x+json", "application/json; charset=utf-16",
        "application/json; charset=utf-8; x=y", "application/json; boundary=x", "application /json", "json", "*/*"})
    EXPECT_EQ(status(with(bare, "content-type", type)), 415u) << type;
  EXPECT_EQ(status(more(posted(), "content-type", "application/json")), 415u);
  EXPECT_EQ(status(more(posted(), "content-type", "text/plain")), 415u);
  for (const char* coding : {"gzip", "identity", "br", ""})
    EXPECT_EQ(status(more(posted(), "content-encoding", coding)), 415u) << coding;
  EXPECT_EQ(status(more(without(bare, "content-length"), "transfer-encoding", "chunked")), 415u);
  EXPECT_EQ(status(more(without(posted(), "content-length"), "transfer-encoding", "chunked")), 200u);
  EXPECT_EQ(status(with(bare, "content-length", "0")), 200u);
  EXPECT_EQ(status(with(bare, "content-length", "00")), 415u);
  EXPECT_EQ(status(more(good(), "content-length", "5")), 415u);  // a GET's as well
  // Who has no token, or not the scope, does not get that far.
  EXPECT_EQ(status(without(bare, "authorization")), 401u);
  EXPECT_EQ(status(with(bare, "authorization", "Bearer " + by_scope_[Scope::kRead])), 403u);
}

TEST_F(Entrance, WrongTokensAreCountedByPeer) {
  const RequestHead wrong = with(good(), "authorization", "Bearer agentd_" + std::string(64, '0'));
  for (std::uint32_t i = 0; i < Access::kMissesMax; ++i) EXPECT_EQ(status(wrong), 401u) << i;
  const auto reply = access_.decide(wrong);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 429u);
  EXPECT_EQ(reply_field(*reply, "Retry-After"), "60");
  // No token is no guess, a right one is let in, and other peers have counts of their own.
  EXPECT_EQ(status(without(wrong, "authorization")), 401u);
  EXPECT_EQ(status(good()), 200u);
  EXPECT_EQ(status(wrong), 429u);
  RequestHead other = wrong;
  other.peer = tcp("::1");
  EXPECT_EQ(status(other), 401u);
  other = with(wrong, "host", "localhost");
  other.peer = local();
  other.port = 0;
  EXPECT_EQ(status(other), 401u);
  // What is refused before the token is no guess either.
  clock_.advance(Milliseconds(30'500));
  EXPECT_EQ(reply_field(*access_.decide(wrong), "Retry-After"), "30");
  clock_.advance(Milliseconds(29'400));
  EXPECT_EQ(status(wrong), 429u);
  EXPECT_EQ(reply_field(*access_.decide(wrong), "Retry-After"), "1");
  clock_.advance(Milliseconds(101));
  EXPECT_EQ(status(wrong), 401u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(status(more(wrong, "origin", "null")), 403u);
  for (std::uint32_t i = 1; i < Access::kMissesMax; ++i) EXPECT_EQ(status(wrong), 401u) << i;
  EXPECT_EQ(status(wrong), 429u);
}

// Any process may connect from each of 16 million addresses: those beyond the bound are counted together.
TEST_F(Entrance, PeersAreCountedInBoundedMemory) {
  RequestHead wrong = with(good(), "authorization", "Bearer x");
  const auto from = [&](std::size_t number) {
    wrong.peer = tcp("127.1." + std::to_string(number / 256) + "." + std::to_string(number % 256));
    return status(wrong);
  };
  for (std::size_t i = 0; i < Access::kPeersMax; ++i) ASSERT_EQ(from(i), 401u) << i;
  for (std::size_t i = 0; i < Access::kMissesMax; ++i) EXPECT_EQ(from(Access::kPeersMax + i), 401u) << i;
  EXPECT_EQ(from(Access::kPeersMax + 1'000), 429u);
  EXPECT_EQ(from(5), 401u);  // has its own count
  clock_.advance(Milliseconds(61'000));
  EXPECT_EQ(from(Access::kPeersMax + 1'000), 401u);
}

TEST_F(Entrance, TokensComeAndGoWhileItWorks) {
  const RequestHead head = with(good(), "authorization", "Bearer " + by_scope_[Scope::kRead]);
  ASSERT_EQ(status(head), 200u);
  ASSERT_TRUE(Tokens::remove(home_, "read"));
  EXPECT_EQ(status(head), 401u);
  EXPECT_EQ(access_.who(head).scope, Scope::kNone);
  const std::string added = *Tokens::add(home_, "later", Scope::kRead, 0);
  EXPECT_EQ(status(with(good(), "authorization", "Bearer " + added)), 200u);
  // A new token of the daemon's own.
  std::filesystem::remove(Tokens::own_file(home_));
  EXPECT_EQ(status(good()), 401u);
  const std::string own = *Tokens::read_own(home_);
  EXPECT_NE(own, own_);
  EXPECT_EQ(status(with(good(), "authorization", "Bearer " + own)), 200u);
}

TEST_F(Entrance, NoTokenIsGoodWhileTheFilesAreNot) {
  ASSERT_EQ(status(good()), 200u);
  ASSERT_EQ(::chmod(Tokens::named_file(home_).c_str(), 0644), 0);
  EXPECT_EQ(status(good()), 503u);
  EXPECT_EQ(access_.load().error().code, Code::kDenied);
  EXPECT_EQ(access_.who(good()).scope, Scope::kNone);
  EXPECT_EQ(status(without(good(), "authorization")), 401u);
  EXPECT_EQ(status(without(good("GET", "/healthz"), "authorization")), 200u);
  ASSERT_EQ(::chmod(Tokens::named_file(home_).c_str(), 0600), 0);
  EXPECT_EQ(status(good()), 200u);
  EXPECT_TRUE(access_.load());
}

// The field's first value counts for nothing when there are two, and names are compared whole.
TEST(HeadOfARequest, HasFields) {
  const RequestHead head{{}, "GET", "/", {{"a", "1"}, {"b", ""}, {"a", "2"}}, 1};
  EXPECT_EQ(head.field("a"), "1");
  EXPECT_EQ(head.field("b"), "");
  EXPECT_EQ(head.field("c"), "");
  EXPECT_EQ(head.count("a"), 2u);
  EXPECT_EQ(head.count("b"), 1u);
  EXPECT_EQ(head.count("c"), 0u);
  EXPECT_EQ(error_reply(404, "not_found", "no \"x\"").body, R"({"error":{"code":"not_found","message":"no \"x\""}})"
                                                            "\n");
}

}  // namespace
}  // namespace agentd::serve
