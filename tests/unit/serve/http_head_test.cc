// SPDX-License-Identifier: Apache-2.0
// Heads that two readers could read in two ways are refused, and their neighbours that nobody misreads are not.
#include "core/serve/http_head.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace agentd::serve {
namespace {

using namespace std::string_literals;

struct Case {
  const char* name;
  std::string head;
  unsigned status;  // 200: it is read
};

// A request with these further fields.
std::string head_with(std::string_view fields) {
  return "GET / HTTP/1.1\r\nHost: x\r\n" + std::string(fields) + "\r\n";
}
std::string post(std::string_view fields) { return "POST / HTTP/1.1\r\nHost: x\r\n" + std::string(fields) + "\r\n"; }
std::string target(std::string_view text) { return "GET " + std::string(text) + " HTTP/1.1\r\nHost: x\r\n\r\n"; }
std::string line(std::string_view text) { return std::string(text) + "\r\nHost: x\r\n\r\n"; }

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      // The first line.
      {"plain", head_with(""), 200},
      {"another method", line("DELETE /a HTTP/1.1"), 200},
      {"a method that nobody has", line("PURGE /a HTTP/1.1"), 200},
      {"a method in lower case", line("get / HTTP/1.1"), 400},
      {"a method with a digit", line("GET2 / HTTP/1.1"), 400},
      {"a method with a hyphen", line("M-SEARCH / HTTP/1.1"), 400},
      {"a method that is too long", line("ABCDEFGHIJKLMNOPQ / HTTP/1.1"), 400},
      {"no method", line(" / HTTP/1.1"), 400},
      {"an empty line first", "\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"a space first", line(" GET / HTTP/1.1"), 400},
      {"two spaces before the target", line("GET  / HTTP/1.1"), 400},
      {"two spaces after the target", line("GET /  HTTP/1.1"), 400},
      {"a space at the end", line("GET / HTTP/1.1 "), 400},
      {"a tab in place of a space", line("GET\t/ HTTP/1.1"), 400},
      {"no version", line("GET /"), 400},
      {"HTTP/0.9", "GET /\r\n\r\n", 400},
      {"HTTP/1.0", line("GET / HTTP/1.0"), 505},
      {"HTTP/1.2", line("GET / HTTP/1.2"), 505},
      {"HTTP/2.0", line("GET / HTTP/2.0"), 505},
      {"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\n", 505},
      {"a version in lower case", line("GET / http/1.1"), 400},
      {"a version with two digits", line("GET / HTTP/1.10"), 400},
      {"a version with a comma", line("GET / HTTP/1,1"), 400},
      {"another protocol", line("GET / HTCPCP/1.1"), 400},
      {"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"s, 400},
      // The target.
      {"a path with a query", target("/a/b%20c?d=e&f=%2F;g"), 200},
      {"all that a path may have", target("/-._~!$&'()*+,;=:@/?x?/"), 200},
      {"an absolute target", target("http://x/"), 400},
      {"an absolute target, the host elsewhere", target("http://evil.example/"), 400},
      {"an authority", line("CONNECT x:80 HTTP/1.1"), 400},
      {"a star", line("OPTIONS * HTTP/1.1"), 400},
      {"a relative target", target("a"), 400},
      {"two slashes first", target("//evil.example/a"), 400},
      {"a fragment", target("/a#b"), 400},
      {"a backslash", target("/a\\b"), 400},
      {"a bracket", target("/a[0]"), 400},
      {"a quote", target("/a\"b"), 400},
      {"a bracket of HTML", target("/<a>"), 400},
      {"a NUL, encoded", target("/a%00b"), 400},
      {"a NUL", target("/a\0b"s), 400},
      {"a percent sign with one digit", target("/a%2"), 400},
      {"a percent sign without digits", target("/a%"), 400},
      {"a percent sign with other letters", target("/a%zz"), 400},
      {"eight bits", target("/\xc3\xa9"), 400},
      {"the longest target", target("/" + std::string(kTargetMax - 1, 'a')), 200},
      {"a target that is too long", target("/" + std::string(kTargetMax, 'a')), 414},
      // Lines and fields.
      {"fields", head_with("Accept: */*\r\nX-Y_z.1!#$%&'*+^`|~: v\r\n"), 200},
      {"an empty value", head_with("Accept:\r\n"), 200},
      {"blanks around a value", head_with("Accept: \t a b \t\r\n"), 200},
      {"a value of eight bits", head_with("Cookie: a=\xc3\xa9\r\n"), 200},
      {"a tab in a value", head_with("Accept: a\tb\r\n"), 200},
      {"a line that ends with LF", "GET / HTTP/1.1\nHost: x\r\n\r\n", 400},
      {"a field that ends with LF", head_with("A: b\nC: d\r\n"), 400},
      {"a head that ends with LF LF", "GET / HTTP/1.1\r\nHost: x\n\n", 400},
      {"a CR in a value", head_with("A: b\rC: d\r\n"), 400},
      {"CR CR LF", head_with("A: b\r\r\n"), 400},
      {"a NUL in a value", head_with("A: b\0c\r\n"s), 400},
      {"a bell in a value", head_with("A: b\ac\r\n"), 400},
      {"DEL in a value", head_with("A: b\x7f\r\n"), 400},
      {"a vertical tab in a value", head_with("A: b\vc\r\n"), 400},
      {"a field on two lines, space", head_with("A: b\r\n c\r\n"), 400},
      {"a field on two lines, tab", head_with("A: b\r\n\tc\r\n"), 400},
      {"a first field that continues nothing", "GET / HTTP/1.1\r\n Host: x\r\n\r\n", 400},
      {"a space before the colon", head_with("Content-Length : 5\r\n"), 400},
      {"a tab before the colon", head_with("Content-Length\t: 5\r\n"), 400},
      {"a space in a name", head_with("Content Length: 5\r\n"), 400},
      {"no colon", head_with("Accept\r\n"), 400},
      {"no name", head_with(": b\r\n"), 400},
      {"a name of eight bits", head_with("\xc3\xa9: b\r\n"), 400},
      {"a name with a bracket", head_with("A(b): c\r\n"), 400},
      {"a name with a NUL", head_with("A\0b: c\r\n"s), 400},
      // The host.
      {"an address and a port", "GET / HTTP/1.1\r\nHost: 127.0.0.1:9090\r\n\r\n", 200},
      {"an IPv6 address", "GET / HTTP/1.1\r\nhost:[::1]:9090\r\n\r\n", 200},
      {"no host", "GET / HTTP/1.1\r\nAccept: */*\r\n\r\n", 400},
      {"no fields", "GET / HTTP/1.1\r\n\r\n", 400},
      {"an empty host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", 400},
      {"two hosts", head_with("Host: y\r\n"), 400},
      {"the same host twice", head_with("Host: x\r\n"), 400},
      {"the same host twice, in another case", head_with("hOST: x\r\n"), 400},
      {"a list of hosts", "GET / HTTP/1.1\r\nHost: x, y\r\n\r\n", 400},
      {"a host with a user", "GET / HTTP/1.1\r\nHost: a@x\r\n\r\n", 400},
      {"a host with a path", "GET / HTTP/1.1\r\nHost: x/y\r\n\r\n", 400},
      // Where the body ends.
      {"a length", post("Content-Length: 5\r\n"), 200},
      {"no length", post(""), 200},
      {"chunks", post("Transfer-Encoding: chunked\r\n"), 200},
      {"length 0 of GET", head_with("Content-Length: 0\r\n"), 200},
      {"two lengths", post("Content-Length: 5\r\nContent-Length: 6\r\n"), 400},
      {"the same length twice", post("Content-Length: 5\r\nContent-Length: 5\r\n"), 400},
      {"a list of lengths", post("Content-Length: 5, 5\r\n"), 400},
      {"an empty length", post("Content-Length:\r\n"), 400},
      {"a length with a sign", post("Content-Length: +5\r\n"), 400},
      {"a negative length", post("Content-Length: -5\r\n"), 400},
      {"a length with a leading zero", post("Content-Length: 05\r\n"), 400},
      {"a hexadecimal length", post("Content-Length: 0x5\r\n"), 400},
      {"a length with a blank inside", post("Content-Length: 5 5\r\n"), 400},
      {"a length with a point", post("Content-Length: 5.0\r\n"), 400},
      {"a length beyond 64 bits", post("Content-Length: 18446744073709551621\r\n"), 413},
      {"a length and chunks", post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400},
      {"chunks and a length", post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), 400},
      {"chunks twice", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400},
      {"chunks of chunks", post("Transfer-Encoding: chunked, chunked\r\n"), 400},
      {"a coding before chunks", post("Transfer-Encoding: gzip, chunked\r\n"), 400},
      {"chunks before a coding", post("Transfer-Encoding: chunked, gzip\r\n"), 400},
      {"another coding", post("Transfer-Encoding: gzip\r\n"), 400},
      {"identity", post("Transfer-Encoding: identity\r\n"), 400},
      {"an empty coding", post("Transfer-Encoding:\r\n"), 400},
      {"chunks in another case", post("Transfer-Encoding: Chunked\r\n"), 400},
      {"chunks in quotes", post("Transfer-Encoding: \"chunked\"\r\n"), 400},
      {"chunks with a parameter", post("Transfer-Encoding: chunked;a=b\r\n"), 400},
      {"chunks behind a vertical tab", post("Transfer-Encoding: \vchunked\r\n"), 400},
      {"chunks before a tab", post("Transfer-Encoding: chunked\t\r\n"), 400},
      {"a length behind a tab", post("Content-Length:\t5\r\n"), 400},
      {"a length between spaces", post("Content-Length:  5 \r\n"), 200},
      {"a coding with a space before its colon", post("Transfer-Encoding : chunked\r\n"), 400},
      {"a body of GET", head_with("Content-Length: 5\r\n"), 400},
      {"chunks of GET", head_with("Transfer-Encoding: chunked\r\n"), 400},
      {"a body of HEAD", "HEAD / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n", 400},
      {"trailers", post("Transfer-Encoding: chunked\r\nTrailer: A\r\n"), 400},
      {"a compressed body", post("Content-Length: 5\r\nContent-Encoding: gzip\r\n"), 415},
      {"a body that is not compressed", post("Content-Length: 5\r\nContent-Encoding: identity\r\n"), 200},
      // What is wished.
      {"an expectation that can be met", post("Content-Length: 5\r\nExpect: 100-Continue\r\n"), 200},
      {"another expectation", post("Content-Length: 5\r\nExpect: 200-ok\r\n"), 417},
      {"two expectations", post("Content-Length: 5\r\nExpect: 100-continue\r\nExpect: 100-continue\r\n"), 400},
      {"a switch to HTTP/2",
       head_with("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA\r\n"), 400},
      {"a switch to WebSocket", head_with("Connection: Upgrade\r\nUpgrade: websocket\r\n"), 400},
      {"two tokens", head_with("Authorization: Bearer a\r\nAuthorization: Bearer b\r\n"), 400},
      {"two content types", post("Content-Type: text/plain\r\nContent-Type: application/json\r\n"), 400},
      {"two origins", head_with("Origin: http://x\r\nOrigin: http://y\r\n"), 400},
      {"two cookies", head_with("Cookie: a=b\r\nCookie: c=d\r\n"), 200},
  };
  return all;
}

TEST(HttpHead, IsRefusedWhereTwoReadersMayDiffer) {
  EXPECT_GE(cases().size(), 60u);
  for (const Case& each : cases()) {
    HeadEnd end(64u << 10);
    auto found = end.find(each.head);
    unsigned status = 200;
    if (!found) {
      status = found.error().status;
    } else {
      EXPECT_EQ(*found, each.head.size()) << each.name;
    }
    const auto head = read_head(each.head, 100);
    if (status == 200 && !head) status = head.error().status;
    EXPECT_EQ(status, each.status) << each.name << (head ? "" : ": " + head.error().body);
    EXPECT_EQ(static_cast<bool>(head), each.status == 200) << each.name;
  }
}

// In pieces of a byte the verdict is the same, so that it does not depend on how a client's bytes are cut.
TEST(HttpHead, IsReadTheSameInPieces) {
  for (const Case& each : cases()) {
    HeadEnd end(64u << 10);
    unsigned status = 0;
    for (std::size_t bytes = 1; bytes <= each.head.size() && status == 0; ++bytes) {
      const auto found = end.find(std::string_view(each.head).substr(0, bytes));
      if (!found) status = found.error().status;
      if (!found || *found == 0) continue;
      ASSERT_EQ(*found, each.head.size()) << each.name;
      const auto head = read_head(each.head, 100);
      status = head ? 200 : head.error().status;
    }
    EXPECT_EQ(status, each.status) << each.name;
  }
}

TEST(HttpHead, GivesWhatItSays) {
  const auto head = read_head(
      "POST /a?b=c HTTP/1.1\r\nhOsT: x:1\r\nX-A:  one \r\nx-a: two\r\nContent-Length: 12\r\nExpect: 100-continue\r\n"
      "Connection: keep-alive, Close\r\n\r\n",
      100);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->request.method, "POST");
  EXPECT_EQ(head->request.target, "/a?b=c");
  EXPECT_EQ(head->request.field("host"), "x:1");
  EXPECT_EQ(head->request.field("x-a"), "one");
  EXPECT_EQ(head->request.count("x-a"), 2u);
  EXPECT_EQ(head->request.field("absent"), "");
  EXPECT_EQ(head->length, 12u);
  EXPECT_FALSE(head->chunked);
  EXPECT_TRUE(head->waits);
  EXPECT_TRUE(head->closes);
}

TEST(HttpHead, StaysOpenUnlessItSaysOtherwise) {
  EXPECT_FALSE(read_head(head_with("Connection: keep-alive\r\n"), 100)->closes);
  EXPECT_FALSE(read_head(head_with("Connection: not-close\r\n"), 100)->closes);
  EXPECT_TRUE(read_head(head_with("Connection: a,close,b\r\n"), 100)->closes);
  EXPECT_TRUE(read_head(head_with("Connection: a\r\nConnection: close\r\n"), 100)->closes);
}

TEST(HttpHead, HasALimitOfFields) {
  std::string fields;
  for (int i = 0; i < 4; ++i) fields += "A: b\r\n";
  EXPECT_TRUE(read_head(head_with(fields), 5));
  const auto over = read_head(head_with(fields), 4);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().status, 431u);
}

TEST(HttpHead, HasALimitOfBytes) {
  const std::string head = head_with("");
  EXPECT_EQ(*HeadEnd(head.size()).find(head), head.size());
  const auto over = HeadEnd(head.size() - 1).find(head);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().status, 431u);
  // And without an end.
  EXPECT_EQ(*HeadEnd(100).find(std::string(100, 'A')), 0u);
  EXPECT_EQ(HeadEnd(100).find(std::string(101, 'A')).error().status, 431u);
}

TEST(HttpHead, EndsBeforeTheBytesThatFollow) {
  const std::string head = head_with("");
  EXPECT_EQ(*HeadEnd(1'000).find(head + "GET /second HTTP/1.1\r\n\x01\n"), head.size());
  EXPECT_EQ(*HeadEnd(1'000).find(head.substr(0, head.size() - 1)), 0u);
  EXPECT_FALSE(read_head(head + "x", 100));
  EXPECT_FALSE(read_head(head.substr(0, head.size() - 1), 100));
}

}  // namespace
}  // namespace agentd::serve
