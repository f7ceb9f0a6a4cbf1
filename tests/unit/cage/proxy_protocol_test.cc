// SPDX-License-Identifier: Apache-2.0
// proxy_protocol_test.cc - a client's first bytes are understood in one way or not at all, however they arrive.
#include "core/cage/proxy_protocol.h"

#include <gtest/gtest.h>

namespace agentd::cage {
namespace {

using namespace std::string_literals;
using Kind = Opening::Kind;

// Empty = refused, or more is needed.
std::optional<Opening> http(const std::string& text) {
  auto got = parse_http(text);
  return got ? *got : std::nullopt;
}
std::optional<Opening> socks(const std::string& text) {
  auto got = parse_socks(text);
  return got ? *got : std::nullopt;
}
std::string connect_to(const std::string& target) { return "CONNECT " + target + " HTTP/1.1\r\n\r\n"; }
std::string get(const std::string& target, const std::string& headers = "") {
  return "GET " + target + " HTTP/1.1\r\n" + headers + "\r\n";
}
// "host:port", or why there is none.
std::string where(const std::string& text) {
  const auto got = parse_http(text);
  if (!got) return "refused";
  return *got ? (*got)->to.host + "|" + std::to_string((*got)->to.port) : "more";
}

TEST(ProxyProtocol, UnderstandsConnect) {
  EXPECT_EQ(where(connect_to("example.org:443")), "example.org|443");
  EXPECT_EQ(where(connect_to("EXAMPLE.Org.:443")), "example.org|443") << "the same host";
  EXPECT_EQ(where(connect_to("[2001:DB8::1]:8443")), "2001:db8::1|8443");
  EXPECT_EQ(where(connect_to("10.0.0.7:65535")), "10.0.0.7|65535");
  const auto got = http(connect_to("a.b:1") + "early");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->kind, Kind::kConnect);
  EXPECT_EQ(got->forward, "early");
}

TEST(ProxyProtocol, UnderstandsARequestWithAWholeAddress) {
  const auto got =
      http(get("http://Example.org/a?b", "Host: other.org\r\nProxy-Authorization: x\r\nAccept: */*\r\n") + "body");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->kind, Kind::kRequest);
  EXPECT_EQ(got->to.host, "example.org");
  EXPECT_EQ(got->to.port, 80);
  EXPECT_EQ(got->forward, "GET /a?b HTTP/1.1\r\nHost: Example.org\r\nAccept: */*\r\nConnection: close\r\n\r\nbody")
      << "the name is that of the address, so no other host behind it is meant";
  EXPECT_EQ(where(get("HTTP://example.org:8080")), "example.org|8080");
  EXPECT_EQ(http(get("http://example.org?q"))->forward.substr(0, 8), "GET /?q ");
  EXPECT_EQ(where(get("http://[::1]:81/")), "::1|81");
}

TEST(ProxyProtocol, RefusesHostsAndPortsThatAreNone) {
  ASSERT_EQ(where(connect_to("a:1")), "a|1") << "the control";
  for (const std::string& target : {"a:0"s,
                                    "a:65536"s,
                                    "a:-1"s,
                                    "a:+80"s,
                                    "a:"s,
                                    "a: 80"s,
                                    "a"s,
                                    ":80"s,
                                    "a:b"s,
                                    "a:80x"s,
                                    "a:1:2"s,
                                    "::1:443"s,
                                    "[::1"s,
                                    "[::1]443"s,
                                    "[a]:80"s,
                                    "[]:80"s,
                                    "[fe80::1%25eth0]:80"s,
                                    "[fe80::1%eth0]:80"s,
                                    "user@a:80"s,
                                    "a/b:80"s,
                                    "a b:80"s,
                                    "..:80"s,
                                    "a..b:80"s,
                                    ".a:80"s,
                                    "\xc3\xa9:80"s,
                                    "a\0b:80"s,
                                    "a%00b:80"s,
                                    "*:80"s,
                                    std::string(254, 'a') + ":80",
                                    "[::ffff:1.2.3.4.5]:80"s})
    EXPECT_EQ(where(connect_to(target)), "refused") << target;
  for (const std::string& target : {"http://"s, "http:///x"s, "https://a/"s, "/x"s, "*"s, "http://user@a/"s,
                                    "http://u:p@a/"s, "http://a#@b/"s, "http://a\\@b/"s, "http://a:0/"s, "ftp://a/"s})
    EXPECT_EQ(where(get(target)), "refused") << target;
}

// What one reader takes for the end of a request, and another does not.
TEST(ProxyProtocol, RefusesWhatCouldBeUnderstoodInTwoWays) {
  ASSERT_EQ(where(get("http://a/", "Content-Length: 5\r\n")), "a|80") << "the control";
  for (const std::string& headers :
       {"Content-Length: 5\r\nContent-Length: 6\r\n"s, "Content-Length: 5\r\ncontent-length: 5\r\n"s,
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"s, "A: b\r\n c\r\n"s, "A: b\r\n\tc\r\n"s,
        "Proxy-X: b\r\n Content-Length: 9\r\n"s, "A : b\r\n"s, "A\r\n"s, ": b\r\n"s, "A: b\nC: d\r\n"s,
        "A: b\rC: d\r\n"s, "A: b\0c\r\n"s, "A: \x01\r\n"s, " A: b\r\n"s})
    EXPECT_EQ(where(get("http://a/", headers)), "refused") << headers;
  for (const std::string& line : {"GET http://a/ b HTTP/1.1"s, "GET  http://a/ HTTP/1.1"s, " GET http://a/ HTTP/1.1"s,
                                  "GET\thttp://a/ HTTP/1.1"s, "GET http://a/ HTTP/1.9"s, "GET http://a/ HTTP/2.0"s,
                                  "GET http://a/"s, "GET"s, "G(T http://a/ HTTP/1.1"s, "GET http://a/ HTTP/1.1 "s, ""s})
    EXPECT_EQ(where(line + "\r\n\r\n"), "refused") << line;
  EXPECT_EQ(where("GET http://a/ HTTP/1.1\n\n"), "more") << "its lines have no end";
}

TEST(ProxyProtocol, WaitsForTheWholeHeadAndNotForMoreThanItsMost) {
  const std::string whole = get("http://example.org/", "A: b\r\n");
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) EXPECT_EQ(where(whole.substr(0, bytes)), "more") << bytes;
  EXPECT_EQ(where(whole), "example.org|80");
  const std::string line = "A: " + std::string(kHeadMax, 'x') + "\r\n";
  EXPECT_EQ(where(get("http://a/", line)), "refused");
  EXPECT_EQ(where("GET http://a/ HTTP/1.1\r\n" + line), "refused");
  EXPECT_EQ(where(get("http://a/") + std::string(2 * kHeadMax, 'x')), "a|80") << "a body is no head";
}

std::string named(const std::string& host, std::uint16_t port) {
  std::string out = "\x05\x01\x00\x03"s;
  out += static_cast<char>(host.size());
  out += host;
  out += static_cast<char>(port >> 8);
  return out += static_cast<char>(port & 0xff);
}

TEST(ProxyProtocol, UnderstandsSocks) {
  const auto name = socks(named("Example.ORG.", 443) + "early");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->kind, Kind::kSocks);
  EXPECT_EQ(name->to.host, "example.org");
  EXPECT_EQ(name->to.port, 443);
  EXPECT_EQ(name->forward, "early");
  const auto four = socks("\x05\x01\x00\x01\x0a\x00\x00\x07\x00\x50"s);
  ASSERT_TRUE(four);
  EXPECT_EQ(four->to.host, "10.0.0.7");
  EXPECT_EQ(four->to.port, 80);
  const auto six = socks("\x05\x01\x00\x04"s + std::string(15, '\0') + "\x01\x01\xbb"s);
  ASSERT_TRUE(six);
  EXPECT_EQ(six->to.host, "::1");
  EXPECT_EQ(socks_greeting_bytes("\x05\x02\x00\x02rest"s), 4u);
  EXPECT_EQ(socks_greeting_bytes("\x05\x02\x00"s), 0u);
  EXPECT_EQ(socks_greeting_bytes("\x05"s), 0u);
}

TEST(ProxyProtocol, WaitsForTheWholeOfSocks) {
  const std::string whole = named("example.org", 443);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const auto got = parse_socks(whole.substr(0, bytes));
    ASSERT_TRUE(got) << bytes;
    EXPECT_FALSE(*got) << bytes;
  }
}

TEST(ProxyProtocol, RefusesSocksThatIsNone) {
  ASSERT_TRUE(socks(named("a", 1))) << "the control";
  for (const std::string& text :
       {named("a", 0), named("", 80) + "xx", named("a\0b"s, 80), named("a b", 80), named("user@a", 80),
        named("fe80::1%eth0", 80), named("a:80", 80), named("..", 80), named(std::string(255, 'a'), 80),
        "\x04\x01\x00\x03\x01"s
        "a\0\x50"s,
        "\x05\x02\x00\x03\x01"s
        "a\0\x50"s,
        "\x05\x01\x00\x02\x01"s
        "a\0\x50"s})
    EXPECT_FALSE(parse_socks(text)) << text;
}

// A pattern such as *.example.com would allow it, and the system would read the address in front.
TEST(ProxyProtocol, RefusesAnAddressWithANameBehindANul) {
  ASSERT_TRUE(socks(named("::1", 80))) << "the control";
  EXPECT_FALSE(parse_socks(named("::1\0.example.com"s, 80)));
  EXPECT_FALSE(parse_socks(named("::1\0"s, 80)));
}

TEST(ProxyProtocol, AnswersInOneLineOfTheRightKind) {
  EXPECT_EQ(answer_to(Kind::kConnect, Outcome::kConnected, "").substr(0, 12), "HTTP/1.1 200");
  EXPECT_EQ(answer_to(Kind::kRequest, Outcome::kConnected, ""), "") << "the host answers";
  EXPECT_EQ(answer_to(Kind::kConnect, Outcome::kRefused, "why").substr(0, 12), "HTTP/1.1 403");
  EXPECT_NE(answer_to(Kind::kConnect, Outcome::kRefused, "why").find("Content-Length: 12\r\n\r\nagentd: why\n"),
            std::string::npos);
  EXPECT_EQ(answer_to(Kind::kSocks, Outcome::kRefused, "why"), "\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00"s);
}

}  // namespace
}  // namespace agentd::cage
