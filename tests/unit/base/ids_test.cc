// SPDX-License-Identifier: Apache-2.0
#include "core/base/ids.h"

#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace agentd {
namespace {

TEST(Ulid, KnownTextAndBytes) {
  std::array<std::uint8_t, 16> ones{};
  ones.fill(0xFF);
  EXPECT_EQ(Ulid(ones).text(), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
  EXPECT_EQ(Ulid().text(), std::string(26, '0'));
  // The specification's example has the time 1469918176385.
  EXPECT_EQ(Ulid::parse("01ARYZ6S41TSV4RRFFQ69G5FAV")->time_ms(), 1469918176385u);
}

TEST(Ulid, TextReadsBackForRandomBytes) {
  std::mt19937 random(1);
  for (int i = 0; i < 2'000; ++i) {
    std::array<std::uint8_t, 16> bytes{};
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    const Ulid id(bytes);
    const auto back = Ulid::parse(id.text());
    ASSERT_TRUE(back) << id.text();
    EXPECT_EQ(*back, id);
  }
}

TEST(Ulid, TextSortsAsTheBytesDo) {
  std::mt19937 random(2);
  for (int i = 0; i < 500; ++i) {
    std::array<std::uint8_t, 16> a{}, b{};
    for (std::uint8_t& byte : a) byte = static_cast<std::uint8_t>(random());
    for (std::uint8_t& byte : b) byte = static_cast<std::uint8_t>(random());
    EXPECT_EQ(Ulid(a) < Ulid(b), Ulid(a).text() < Ulid(b).text());
  }
}

TEST(Ulid, LowerCaseIsTheSameId) {
  const std::string text = "01ARYZ6S41TSV4RRFFQ69G5FAV";
  std::string lower = text;
  for (char& c : lower) c = static_cast<char>(std::tolower(c));
  EXPECT_EQ(*Ulid::parse(lower), *Ulid::parse(text));
}

TEST(Ulid, AnythingElseIsInvalid) {
  for (const char* const bad :
       {"", "01ARYZ6S41TSV4RRFFQ69G5FA", "01ARYZ6S41TSV4RRFFQ69G5FAVX", "81ARYZ6S41TSV4RRFFQ69G5FAV",
        "01ARYZ6S41TSV4RRFFQ69G5FAI", "01ARYZ6S41TSV4RRFFQ69G5FAL", "01ARYZ6S41TSV4RRFFQ69G5FAU",
        "01ARYZ6S41TSV4RRFFQ69G5FA ",
        "\xFF"
        "1ARYZ6S41TSV4RRFFQ69G5FAV",
        "../../../../../../etc/pass"}) {
    const auto parsed = Ulid::parse(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.error().code, Code::kInvalid);
  }
}

TEST(Ulid, LongGarbageIsNotRepeatedWhole) {
  EXPECT_LT(Ulid::parse(std::string(10'000, 'x')).error().message.size(), 300u);
}

TEST(IdSource, GrowsWithinOneMillisecond) {
  const ManualClock clock;
  IdSource source(clock);
  Ulid last = source.next();
  for (int i = 0; i < 1'000; ++i) {
    const Ulid next = source.next();
    ASSERT_LT(last, next);
    ASSERT_EQ(next.time_ms(), static_cast<std::uint64_t>(clock.wall_ms()));
    last = next;
  }
}

TEST(IdSource, CountsUpThroughAByteThatOverflows) {
  const ManualClock clock;
  IdSource source(clock, [](std::uint8_t* out, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) out[i] = i == 0 ? 0 : 0xFF;
  });
  const Ulid first = source.next();
  const Ulid second = source.next();
  EXPECT_LT(first, second);
  EXPECT_EQ(second.bytes()[6], 1);
  EXPECT_EQ(second.bytes()[15], 0);
}

TEST(IdSource, GrowsWhenTheClockGoesBack) {
  class BackwardClock final : public Clock {
   public:
    std::uint64_t monotonic_ns() const override { return 0; }
    std::int64_t wall_ms() const override { return now--; }
    mutable std::int64_t now = 1'000;
  } clock;
  IdSource source(clock);
  Ulid last = source.next();
  for (int i = 0; i < 2'000; ++i) {
    const Ulid next = source.next();
    ASSERT_LT(last, next);
    last = next;
  }
}

TEST(IdSource, GivesNoIdTwiceToSeveralThreads) {
  const SystemClock clock;
  IdSource source(clock);
  std::array<std::vector<Ulid>, 4> made;
  std::vector<std::thread> threads;
  for (auto& mine : made)
    threads.emplace_back([&source, &mine] {
      for (int i = 0; i < 2'000; ++i) mine.push_back(source.next());
    });
  for (std::thread& thread : threads) thread.join();
  std::set<Ulid> all;
  for (const auto& mine : made) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 8'000u);
}

}  // namespace
}  // namespace agentd
