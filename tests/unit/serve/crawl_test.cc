// SPDX-License-Identifier: Apache-2.0
// Every route of the table, also one that was added today, behind the entrance: no token, no answer.
#include <gtest/gtest.h>

#include "core/serve/access.h"
#include "core/serve/routes.h"
#include "tests/support/temp_dir.h"

namespace agentd::serve {
namespace {

constexpr std::uint16_t kCrawlPort = 8080;

class Crawl : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(access_.load());
    own_ = *Tokens::read_own(home_);
  }

  // A request of the route, with a part for each {name}.
  RequestHead request(const Route& route, const HttpFields& more = {}) const {
    std::string path(route.path);
    for (std::size_t at = path.find('{'); at != std::string::npos; at = path.find('{'))
      path.replace(at, path.find('}') - at + 1, "7");
    RequestHead head{{HttpPeer::Door::kTcp, "127.0.0.1", 0, 0},
                     std::string(route.method),
                     path,
                     {{"host", "127.0.0.1:8080"}},
                     kCrawlPort};
    head.fields.insert(head.fields.end(), more.begin(), more.end());
    return head;
  }
  static std::pair<std::string, std::string> bearer(const std::string& token) {
    return {"authorization", "Bearer " + token};
  }
  unsigned status(const RequestHead& head) {
    const auto reply = access_.decide(head);
    return reply ? reply->status : 200;
  }

  ::agentd::testing::TempDir directory_;
  const std::string home_ = directory_.file("home");
  ManualClock clock_;
  Access access_{home_, 1000, scope_needed, clock_};
  std::string own_;
};

TEST_F(Crawl, NoRouteAnswersWithoutAToken) {
  std::string other_case = own_;
  for (char& c : other_case) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  const std::vector<HttpFields> without{{},
                                        {bearer("")},
                                        {bearer("x")},
                                        {bearer(own_.substr(0, 70))},
                                        {bearer(own_ + "0")},
                                        {bearer(other_case)},
                                        {bearer(std::string(30'000, 'a'))},
                                        {{"cookie", "token=" + own_}},
                                        {{"authorization", "Basic " + own_}},
                                        {bearer(own_), bearer(own_)}};
  for (const Route& route : all_routes()) {
    const bool open = route.path == "/healthz";
    for (const HttpFields& fields : without) {
      EXPECT_EQ(status(request(route, fields)), open ? 200u : 401u) << route.method << route.path;
      clock_.advance(Milliseconds(61'000));
    }
    RequestHead in_query = request(route);
    in_query.target += "?token=" + own_;
    EXPECT_EQ(status(in_query), open ? 200u : 401u) << route.path;
    EXPECT_EQ(status(request(route, {bearer(own_)})), 200u) << route.path;
    // The same path by every other method.
    for (const char* method : {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"}) {
      RequestHead head = request(route);
      head.method = method;
      EXPECT_EQ(status(head), open && route.method == method ? 200u : 401u) << method << route.path;
    }
  }
}

TEST_F(Crawl, NoRouteAnswersAPage) {
  for (const Route& route : all_routes()) {
    RequestHead head = request(route, {bearer(own_), {"origin", "http://127.0.0.1:8080"}});
    EXPECT_EQ(status(head), 403u) << route.path;
    head = request(route, {bearer(own_), {"sec-fetch-site", "cross-site"}});
    EXPECT_EQ(status(head), 403u) << route.path;
    head = request(route, {bearer(own_)});
    head.fields[0].second = "evil.example:8080";
    EXPECT_EQ(status(head), 421u) << route.path;
    head = request(route, {bearer(own_), {"content-length", "2"}, {"content-type", "text/plain"}});
    EXPECT_EQ(status(head), 415u) << route.path;
  }
}

TEST_F(Crawl, EveryRouteAnswersTheScopesThatItNeeds) {
  for (const Scope scope : {Scope::kRead, Scope::kRun, Scope::kApprove, Scope::kAdmin}) {
    const auto token = Tokens::add(home_, std::string(name_of(scope)), scope, 0);
    ASSERT_TRUE(token) << token.error().message;
    for (const Route& route : all_routes())
      EXPECT_EQ(status(request(route, {bearer(*token)})), allows(scope, route.scope) ? 200u : 403u)
          << route.path << name_of(scope);
  }
}

}  // namespace
}  // namespace agentd::serve
