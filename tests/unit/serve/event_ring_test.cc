// SPDX-License-Identifier: Apache-2.0
#include "core/serve/event_ring.h"

#include <gtest/gtest.h>

#include <string>

namespace agentd::serve {
namespace {

constexpr std::uint64_t kEpoch = 7;

class Reader final : public HttpStream {
 public:
  bool send(std::string bytes) override {
    if (gone) return false;
    got += bytes;
    return true;
  }
  void close() override { closed = true; }
  // The numbers of the events, "resync" for that.
  std::string numbers() const {
    std::string out;
    for (std::size_t at = 0; (at = got.find("id: ", at)) != std::string::npos; ++at) {
      const std::size_t end = got.find('\n', at);
      const auto id = EventId::parse(std::string_view(got).substr(at + 4, end - at - 4));
      const bool resync = got.compare(end + 1, 13, "event: resync") == 0;
      out += (out.empty() ? "" : " ") + (!id ? "?" : resync ? "resync" : std::to_string(id->number));
    }
    return out;
  }
  std::string got;
  bool gone = false, closed = false;
};

EventId id_of(std::uint64_t revision, std::uint64_t number, std::uint64_t epoch = kEpoch) {
  return {revision, epoch, number};
}

TEST(EventIds, AreReadAsTheyAreWritten) {
  const EventId id = id_of(12, 345, 1'795'719'395'870);
  const auto read = EventId::parse(id.text());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->text(), "12-1795719395870-345");
  for (const char* const wrong : {"", "1", "1-2", "1-2-", "-1-2", "1--2", "1-2-3-4", "1-2-x", "01-2-3", "1-2-3 ",
                                  "1-2-+3", "18446744073709551616-1-1"})
    EXPECT_FALSE(EventId::parse(wrong)) << wrong;
}

TEST(ServerSent, IsOneEventWhateverTheJsonHas) {
  EXPECT_EQ(server_sent("text_delta", id_of(1, 2), "{\"text\":\"a\\nb\",\n\"x\":1}"),
            "id: 1-7-2\nevent: text_delta\ndata: {\"text\":\"a\\nb\", \"x\":1}\n\n");
}

TEST(Ring, TellsAllWhoListen) {
  EventRing ring(kEpoch);
  const auto first = std::make_shared<Reader>(), second = std::make_shared<Reader>();
  ring.add(1, "notice", "{}");
  ASSERT_TRUE(ring.subscribe(first, std::nullopt, 1));
  ring.add(1, "notice", "{}");
  ASSERT_TRUE(ring.subscribe(second, std::nullopt, 1));
  ring.add(2, "notice", "{}");
  EXPECT_EQ(first->numbers(), "2 3");
  EXPECT_EQ(second->numbers(), "3");
}

TEST(Ring, GivesWhoComesBackTheRestOnceAndWhole) {
  EventRing ring(kEpoch);
  for (std::uint64_t i = 1; i <= 20; ++i) ring.add(i / 4, "notice", "{}");
  for (std::uint64_t left = 0; left <= 20; ++left) {
    const auto back = std::make_shared<Reader>();
    ASSERT_TRUE(ring.subscribe(back, id_of(left / 4, left), 5));
    std::string rest;
    for (std::uint64_t i = left + 1; i <= 20; ++i) rest += (rest.empty() ? "" : " ") + std::to_string(i);
    EXPECT_EQ(back->numbers(), rest) << "after " << left;
  }
}

TEST(Ring, SendsWhoWasAwayTooLongToTheLog) {
  EventRing ring(kEpoch, {4, 1u << 20, 8});
  for (std::uint64_t i = 1; i <= 10; ++i) ring.add(i, "notice", "{}");
  const auto late = std::make_shared<Reader>(), just = std::make_shared<Reader>(), other = std::make_shared<Reader>(),
             ahead = std::make_shared<Reader>();
  ASSERT_TRUE(ring.subscribe(late, id_of(5, 5), 10));
  ASSERT_TRUE(ring.subscribe(just, id_of(6, 6), 10));
  ASSERT_TRUE(ring.subscribe(other, id_of(9, 9, kEpoch - 1), 10));
  ASSERT_TRUE(ring.subscribe(ahead, id_of(9, 11), 10));
  EXPECT_EQ(late->numbers(), "resync");
  EXPECT_NE(late->got.find("\"after\":5,\"revision\":10"), std::string::npos) << late->got;
  EXPECT_EQ(just->numbers(), "7 8 9 10");
  EXPECT_EQ(other->numbers(), "resync");
  EXPECT_EQ(ahead->numbers(), "resync");
  ring.add(11, "notice", "{}");
  EXPECT_EQ(late->numbers(), "resync 11");
}

// The log grew without an event, by another process: what it has is read there and comes no second time.
TEST(Ring, AResyncCountsTheLogOfNow) {
  EventRing ring(kEpoch);
  const auto back = std::make_shared<Reader>();
  ASSERT_TRUE(ring.subscribe(back, id_of(3, 9, kEpoch - 1), 8));
  EXPECT_NE(back->got.find("id: 8-7-0\n"), std::string::npos) << back->got;
  const auto again = std::make_shared<Reader>();
  ASSERT_TRUE(ring.subscribe(again, id_of(8, 0), 8));
  ring.add(9, "notice", "{}");
  EXPECT_EQ(again->numbers(), "1");
}

// A commit's messages are told after it: who was sent to the log in between has read them there.
TEST(Ring, ARecordThatAResyncCountsIsToldByNoEvent) {
  EventRing ring(kEpoch);
  const auto reads = std::make_shared<Reader>(), listens = std::make_shared<Reader>();
  ASSERT_TRUE(ring.subscribe(listens, std::nullopt, 4));
  ASSERT_TRUE(ring.subscribe(reads, id_of(3, 9, kEpoch - 1), 6));
  ring.add(5, "user_message", "{}", 5);
  ring.add(6, "user_message", "{}", 6);
  ring.add(6, "notice", "{}");
  ring.add(7, "user_message", "{}", 7);
  EXPECT_EQ(reads->numbers(), "resync 3 4");
  EXPECT_EQ(listens->numbers(), "1 2 3 4");
  // The same for who comes back with the id of the resync, or of an event behind it.
  const auto again = std::make_shared<Reader>(), later = std::make_shared<Reader>();
  ASSERT_TRUE(ring.subscribe(again, id_of(6, 0), 7));
  EXPECT_EQ(again->numbers(), "3 4");
  ASSERT_TRUE(ring.subscribe(later, id_of(6, 1), 7));
  EXPECT_EQ(later->numbers(), "3 4");
}

// Its client may come back with any id: each says as much as the client has.
TEST(Ring, AnIdBehindAResyncSaysNoLessThanIt) {
  EventRing ring(kEpoch);
  const auto reads = std::make_shared<Reader>();
  ASSERT_TRUE(ring.subscribe(reads, id_of(3, 9, kEpoch - 1), 6));
  ring.add(4, "notice", "{}");
  EXPECT_NE(reads->got.find("id: 6-7-1\n"), std::string::npos) << reads->got;
}

// Of two messages in one commit the second one is not told yet, and its client goes.
TEST(Ring, AnIdSaysNoMoreThanWasTold) {
  EventRing ring(kEpoch);
  const auto first = std::make_shared<Reader>(), other = std::make_shared<Reader>();
  ASSERT_TRUE(ring.subscribe(first, std::nullopt, 4));
  ASSERT_TRUE(ring.subscribe(other, id_of(3, 9, kEpoch - 1), 6));
  ring.add(5, "user_message", "{}", 5);
  EXPECT_NE(first->got.find("id: 5-7-1\n"), std::string::npos) << first->got;
  ring.add(6, "user_message", "{}", 6);
  const auto back = std::make_shared<Reader>();
  ASSERT_TRUE(ring.subscribe(back, id_of(5, 1), 6));
  EXPECT_EQ(back->numbers(), "2");
}

// One whose conversation is parked.
TEST(Ring, WhatItForgetsIsReadInTheLog) {
  EventRing ring(kEpoch);
  const auto stays = std::make_shared<Reader>(), behind = std::make_shared<Reader>(), back = std::make_shared<Reader>();
  ASSERT_TRUE(ring.subscribe(stays, std::nullopt, 4));
  for (int i = 0; i < 3; ++i) ring.add(4, "notice", "{}");
  ring.forget();
  ASSERT_TRUE(ring.subscribe(behind, id_of(4, 1), 4));
  ASSERT_TRUE(ring.subscribe(back, id_of(4, 3), 4));
  ring.add(5, "notice", "{}");
  EXPECT_EQ(stays->numbers(), "1 2 3 4");
  EXPECT_EQ(behind->numbers(), "resync 4");
  EXPECT_EQ(back->numbers(), "4") << "it has missed nothing";
}

TEST(Ring, IsBoundedInBytes) {
  EventRing ring(kEpoch, {1'000, 1'000, 8});
  const std::string big = "{\"x\":\"" + std::string(400, 'x') + "\"}";
  for (std::uint64_t i = 1; i <= 10; ++i) ring.add(i, "notice", big);
  const auto back = std::make_shared<Reader>();
  ASSERT_TRUE(ring.subscribe(back, id_of(8, 8), 10));
  EXPECT_EQ(back->numbers(), "9 10");
  const auto late = std::make_shared<Reader>();
  ASSERT_TRUE(ring.subscribe(late, id_of(1, 1), 10));
  EXPECT_EQ(late->numbers(), "resync");
}

TEST(Ring, ForgetsWhoHasGone) {
  EventRing ring(kEpoch, {16, 1'000, 2});
  const auto first = std::make_shared<Reader>(), second = std::make_shared<Reader>();
  ASSERT_TRUE(ring.subscribe(first, std::nullopt, 0));
  ASSERT_TRUE(ring.subscribe(second, std::nullopt, 0));
  EXPECT_FALSE(ring.subscribe(std::make_shared<Reader>(), std::nullopt, 0)) << "too many";
  first->gone = true;
  ring.keep_alive();
  EXPECT_EQ(ring.subscribers(), 1u);
  ring.close();
  EXPECT_TRUE(second->closed);
  EXPECT_FALSE(first->closed);
  EXPECT_FALSE(ring.subscribe(std::make_shared<Reader>(), std::nullopt, 0)) << "closed";
}

}  // namespace
}  // namespace agentd::serve
