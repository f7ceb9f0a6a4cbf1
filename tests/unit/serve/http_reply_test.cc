// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http_reply.h"

#include <gtest/gtest.h>

namespace agentd::serve {
namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(HttpReply, IsAHeadAndABody) {
  HttpReply reply;
  reply.status = 404;
  reply.body = "{}\n";
  EXPECT_EQ(reply_bytes(reply, ReplyBody::kWhole, false, 1'769'850'307'123),
            "HTTP/1.1 404 Not Found\r\n"
            "Date: Sat, 31 Jan 2026 09:05:07 GMT\r\n"
            "Cache-Control: no-store\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "Content-Type: application/json\r\n"
            "Content-Length: 3\r\n"
            "\r\n"
            "{}\n");
}

TEST(HttpReply, TellsOnlyTheLengthToHead) {
  HttpReply reply;
  reply.body = "text";
  const std::string bytes = reply_bytes(reply, ReplyBody::kAbsent, true, 0);
  EXPECT_TRUE(has(bytes, "Content-Length: 4\r\n"));
  EXPECT_TRUE(has(bytes, "Connection: close\r\n"));
  EXPECT_TRUE(bytes.ends_with("\r\n\r\n"));
  EXPECT_TRUE(reply_bytes(reply, ReplyBody::kWhole, true, 0).ends_with("\r\n\r\ntext"));
}

TEST(HttpReply, HasNoLengthBeforeChunks) {
  const std::string bytes = reply_bytes({}, ReplyBody::kChunks, true, 0);
  EXPECT_TRUE(has(bytes, "Transfer-Encoding: chunked\r\n"));
  EXPECT_FALSE(has(bytes, "Content-Length"));
}

TEST(HttpReply, HasNoBodyWhereTheStatusForbidsIt) {
  HttpReply reply;
  reply.status = 204;
  reply.body = "text";
  const std::string bytes = reply_bytes(reply, ReplyBody::kWhole, false, 0);
  EXPECT_FALSE(has(bytes,
                   "Content-"
                   "Length"));
  EXPECT_TRUE(bytes.ends_with("\r\n\r\n"));
}

// A handler's text cannot add a field or change how the answer is framed.
TEST(HttpReply, LeavesOutFieldsThatWouldSayMore) {
  HttpReply reply;
  reply.fields = {{"Location", "/a"},         {"X", "a\r\nSet-Cookie: b"}, {"Y: z\r\nZ", "a"},
                  {"Content-length", "9"},    {"transfer-encoding", "x"},  {"Server", "agentd"},
                  {"cache-control", "public"}};
  const std::string bytes = reply_bytes(reply, ReplyBody::kWhole, false, 0);
  EXPECT_TRUE(has(bytes, "Location: /a\r\n"));
  for (const char* const part : {"Set-Cookie", "Z: a", "length: 9", "transfer-encoding", "Server", "public"})
    EXPECT_FALSE(has(bytes, part)) << part;
  reply.content_type = "text/html\r\nX: y";
  EXPECT_FALSE(has(reply_bytes(reply, ReplyBody::kWhole, false, 0), "X: y"));
}

TEST(HttpReply, CountsChunksInHexadecimalDigits) {
  EXPECT_EQ(chunk("abc"), "3\r\nabc\r\n");
  EXPECT_TRUE(chunk(std::string(255, 'x')).starts_with("ff\r\nxx"));
}

TEST(HttpDate, IsThatOfTheProtocol) {
  EXPECT_EQ(http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(http_date(784'111'777'999), "Sun, 06 Nov 1994 08:49:37 GMT");  // the example of RFC 9110
  EXPECT_EQ(http_date(1'709'164'800'000), "Thu, 29 Feb 2024 00:00:00 GMT");
}

TEST(ErrorReply, IsJson) {
  const HttpReply reply = error_reply(404, "not_found", "there is no \"x\"");
  EXPECT_EQ(reply.status, 404u);
  EXPECT_EQ(reply.body, "{\"error\":{\"code\":\"not_found\",\"message\":\"there is no \\\"x\\\"\"}}\n");
}

}  // namespace
}  // namespace agentd::serve
