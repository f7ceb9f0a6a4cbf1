// SPDX-License-Identifier: Apache-2.0
// orders_test.cc - orders arrive as they were given, and nothing that is none is taken for some.
#include "core/cage/orders.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace agentd::cage {
namespace {

Orders some() {
  Orders out;
  out.apart = true;
  out.confines = false;
  out.sockets = CagedCalls::Sockets::kTcp;
  out.local_sockets = true;
  out.readable = {"/usr", "/a b\n\"'", "/\xff\x01"};
  out.writable = {"/work", ""};
  out.devices = {"/dev/null"};
  out.noted = {{"/work 1", Noted::As::kReadOnly, {~std::uint64_t{0}, 7, 0040000}}, {"", Noted::As::kEmpty, {}}};
  out.proxy = "/tmp/x/proxy";
  out.processes_max = 7;
  out.file_bytes_max = ~std::uint64_t{0};
  return out;
}

TEST(Orders, ArriveAsTheyWereGiven) {
  const Orders given = some();
  const auto got = parse_orders(text_of(given));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_TRUE(got->apart);
  EXPECT_FALSE(got->confines);
  EXPECT_EQ(got->sockets, given.sockets);
  EXPECT_TRUE(got->local_sockets);
  EXPECT_EQ(got->readable, given.readable);
  EXPECT_EQ(got->writable, given.writable);
  EXPECT_EQ(got->devices, given.devices);
  ASSERT_EQ(got->noted.size(), 2u);
  EXPECT_EQ(got->noted[0].path, "/work 1");
  EXPECT_EQ(got->noted[0].as, Noted::As::kReadOnly);
  EXPECT_EQ(got->noted[0].identity, given.noted[0].identity);
  EXPECT_EQ(got->proxy, given.proxy);
  EXPECT_EQ(got->processes_max, 7u);
  EXPECT_EQ(got->file_bytes_max, given.file_bytes_max);
}

TEST(Orders, CloseEverythingByDefault) {
  const auto got = parse_orders("");
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->confines);
  EXPECT_EQ(got->sockets, CagedCalls::Sockets::kNone);
  EXPECT_FALSE(got->local_sockets);
  EXPECT_TRUE(got->writable.empty());
}

// The text behind the NUL would be an order of its own.
TEST(Orders, OpenNothingByAPathWithANul) {
  Orders orders;
  orders.readable = {std::string("/a\0w/etc", 8), std::string("/b\0c0", 5), "/c"};
  const auto got = parse_orders(text_of(orders));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->readable, std::vector<std::string>{"/c"});
  EXPECT_TRUE(got->writable.empty());
  EXPECT_TRUE(got->confines);
}

TEST(Orders, RefuseWhatIsNone) {
  using namespace std::string_literals;
  ASSERT_TRUE(parse_orders("a1\0"s)) << "the control";
  for (const std::string& text :
       {"a1"s, "\0"s, "x1\0"s, "a\0"s, "a-1\0"s, "a1 \0"s, "a 1\0"s, "s3\0"s, "s99999999999999999999\0"s, "n+1\0"s,
        "A1\0"s, "i\0"s, "i1 2 3 /x\0"s, "i4 2 3 4 /x\0"s, "r/usr"s, "r/usr\0r"s, "a0x1\0"s}) {
    const auto got = parse_orders(text);
    EXPECT_FALSE(got) << text;
    if (!got) {
      EXPECT_EQ(got.error().code, Code::kInvalid);
    }
  }
}

TEST(Orders, RefuseEachTextThatWasCut) {
  const std::string whole = text_of(some());
  std::size_t refused = 0;
  for (std::size_t bytes = 1; bytes < whole.size(); ++bytes)
    if (whole[bytes - 1] != '\0') refused += parse_orders(whole.substr(0, bytes)) ? 0u : 1u;
  EXPECT_EQ(refused, whole.size() - static_cast<std::size_t>(std::count(whole.begin(), whole.end(), '\0')));
}

}  // namespace
}  // namespace agentd::cage
