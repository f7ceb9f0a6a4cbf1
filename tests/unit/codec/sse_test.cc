// SPDX-License-Identifier: Apache-2.0
#include "core/codec/sse.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/anthropic_wire.h"
#include "tests/support/loopback_server.h"

namespace agentd {
namespace {

using testing::cut_at;

// The events of a stream that arrives in these pieces, one per line of "type|data|id".
std::vector<std::string> events_of(const std::vector<std::string>& pieces) {
  SseParser parser;
  std::vector<std::string> events;
  for (const std::string& piece : pieces) {
    const auto fed = parser.feed(piece, [&](const SseEvent& event) {
      events.push_back(std::string(event.type) + "|" + std::string(event.data) + "|" + std::string(event.id));
      return Result<void>();
    });
    EXPECT_TRUE(fed) << fed.error().message;
  }
  return events;
}

std::vector<std::string> events_of(const std::string& stream) { return events_of(std::vector{stream}); }

// One stream with everything that the format knows.
std::string torture() {
  return "\xEF\xBB\xBF: a comment\n"
         "event: a\r\ndata: one\r\ndata:two\r\n\r\n"
         "data: {\"emoji\":\"\xF0\x9F\x98\x80\"}\rid: 7\r\r"
         "data\n\n"
         "event: nothing\n\n"
         "retry: 10\nfield: x\ndata:  spaced\n\n"
         "data: left unfinished\n";
}

TEST(SseParser, ReadsFieldsLineEndsAndComments) {
  const std::vector<std::string> expected = {"a|one\ntwo|", "|{\"emoji\":\"\xF0\x9F\x98\x80\"}|7", "||7", "| spaced|7"};
  EXPECT_EQ(events_of(torture()), expected);
}

TEST(SseParser, GivesTheSameEventsForEveryCut) {
  const std::string stream = torture();
  const auto whole = events_of(stream);
  for (std::size_t at = 0; at <= stream.size(); ++at)
    EXPECT_EQ(events_of(cut_at(stream, {at})), whole) << "cut at " << at;
}

TEST(SseParser, GivesTheSameEventsByteByByte) {
  const std::string stream = torture();
  std::vector<std::string> bytes;
  for (const char c : stream) bytes.emplace_back(1, c);
  EXPECT_EQ(events_of(bytes), events_of(stream));
}

TEST(SseParser, GivesTheSameEventsForPairsOfCutsOfEveryFixtureAndLineEnd) {
  std::mt19937 random(20240607);
  for (const auto& fixture : testing::anthropic_fixtures()) {
    for (const char* line_end : {"\n", "\r\n", "\r"}) {
      const std::string stream = testing::with_line_end(fixture.bytes, line_end);
      const auto whole = events_of(stream);
      ASSERT_FALSE(whole.empty());
      for (int i = 0; i < 100; ++i) {
        std::size_t one = random() % (stream.size() + 1);
        std::size_t two = random() % (stream.size() + 1);
        if (one > two) std::swap(one, two);
        ASSERT_EQ(events_of(cut_at(stream, {one, two})), whole) << fixture.name << " cut at " << one << " and " << two;
      }
    }
  }
}

TEST(SseParser, DeliversNothingOfAnEventThatIsNotWhole) {
  const std::string stream = "event: x\ndata: 1\n\n";
  for (std::size_t size = 0; size < stream.size(); ++size)
    EXPECT_TRUE(events_of(stream.substr(0, size)).empty()) << size;
  EXPECT_EQ(events_of(stream).size(), 1u);
}

TEST(SseParser, KeepsTheFirstBytesThatOnlyBeginLikeAByteOrderMark) {
  EXPECT_EQ(events_of("\xEF\xBB: 1\ndata: x\n\n"), std::vector<std::string>{"|x|"});
  EXPECT_EQ(events_of({"\xEF", "data: y\n\n", "data: z\n\n"}), std::vector<std::string>{"|z|"});
}

TEST(SseParser, IgnoresAnIdWithANulByte) {
  EXPECT_EQ(events_of(std::string("id: a\0b\ndata: x\n\n", 17)), std::vector<std::string>{"|x|"});
}

TEST(SseParser, RefusesALineOverTheLimitHoweverItArrives) {
  SseParser parser({.line_bytes_max = 100, .event_bytes_max = 1000});
  const auto ignore = [](const SseEvent&) { return Result<void>(); };
  Result<void> fed;
  int pieces = 0;
  for (; fed && pieces < 100; ++pieces) fed = parser.feed("data: 9876", ignore);
  ASSERT_FALSE(fed);
  EXPECT_EQ(pieces, 11);
  EXPECT_EQ(fed.error().code, Code::kCorrupt);
  EXPECT_NE(fed.error().message.find("a line of more than 100 bytes"), std::string::npos);
}

TEST(SseParser, RefusesAnEventOverTheLimit) {
  SseParser parser({.line_bytes_max = 100, .event_bytes_max = 300});
  const auto ignore = [](const SseEvent&) { return Result<void>(); };
  Result<void> fed;
  for (int i = 0; fed && i < 100; ++i) fed = parser.feed("data: " + std::string(50, 'x') + "\n", ignore);
  ASSERT_FALSE(fed);
  EXPECT_NE(fed.error().message.find("an event of more than 300 bytes"), std::string::npos);
}

TEST(SseParser, TellsHowLongToWaitBeforeTheNextConnection) {
  SseParser parser;
  const auto ignore = [](const SseEvent&) { return Result<void>(); };
  EXPECT_EQ(parser.retry(), std::nullopt);
  ASSERT_TRUE(parser.feed("retry: 2500\n\n", ignore));
  EXPECT_EQ(parser.retry(), Milliseconds(2500));
  ASSERT_TRUE(parser.feed("retry: 1s\nretry: -1\nretry:\nretry: 99999999999999999999\n\n", ignore));
  EXPECT_EQ(parser.retry(), Milliseconds(2500)) << "what is no number is not said";
}

TEST(SseParser, StopsAtTheErrorOfItsReader) {
  SseParser parser;
  int seen = 0;
  const auto fed = parser.feed("data: 1\n\ndata: 2\n\n", [&](const SseEvent&) -> Result<void> {
    ++seen;
    return Error{Code::kCorrupt, "enough"};
  });
  ASSERT_FALSE(fed);
  EXPECT_EQ(fed.error().message, "enough");
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace agentd
