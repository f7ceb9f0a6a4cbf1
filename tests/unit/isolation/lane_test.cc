// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/lane.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "tests/unit/isolation/forked.h"

namespace agentd {
namespace {

constexpr std::size_t kPiece = Lane::kPieceBytes;

LaneMessage message_of(LaneOp op, std::uint64_t token = 0) {
  LaneMessage message;
  message.op = static_cast<std::uint32_t>(op);
  message.token = token;
  return message;
}

std::unique_ptr<AnswerRegion> make_region(std::uint32_t lanes = 1) {
  auto region = AnswerRegion::create(lanes);
  EXPECT_TRUE(region) << region.error().message;
  return std::move(*region);
}

std::unique_ptr<AnswerRegion> open_region(const AnswerRegion& region) {
  auto opened = AnswerRegion::open(UniqueFd(dup(region.fd())));
  return opened ? std::move(*opened) : nullptr;
}

// Answers every message with kDone, the same token and the same body, until kNone.
int echo(Lane lane) {
  LaneMessage message;
  std::string body;
  for (;;) {
    if (lane.receive(message, body, {}) != LaneEnd::kMessage) return 1;
    if (message.op == 0) return 0;
    message.op = static_cast<std::uint32_t>(LaneOp::kDone);
    if (lane.send(message, body, {}) != LaneEnd::kMessage) return 2;
  }
}
int echo_of(const AnswerRegion& region, std::uint32_t lane) {
  const auto mine = open_region(region);
  return mine == nullptr ? 3 : echo(mine->call_lane(lane, Lane::Side::kWorker));
}

void expect_echo(Lane& lane, const std::string& body, std::uint64_t token) {
  ASSERT_EQ(lane.send(message_of(LaneOp::kCall, token), body, {}), LaneEnd::kMessage);
  LaneMessage back;
  std::string got;
  ASSERT_EQ(lane.receive(back, got, {}), LaneEnd::kMessage);
  EXPECT_EQ(back.op, static_cast<std::uint32_t>(LaneOp::kDone));
  EXPECT_EQ(back.token, token);
  EXPECT_TRUE(got == body) << "of " << body.size() << " bytes";
}

std::string bytes_of(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::string out(count, '\0');
  for (char& each : out) each = static_cast<char>(random());
  return out;
}

void talk(Lane host) {
  for (unsigned i = 0; i < 2000; ++i) expect_echo(host, bytes_of(i % 97, i), i);
  for (const std::size_t size : {kPiece - 1, kPiece, kPiece + 1, 2 * kPiece, 5 * kPiece + 3})
    expect_echo(host, bytes_of(size, 1), size);
  host.send(message_of(LaneOp::kNone), {}, {});
}

TEST(Lane, CarriesAConversationOfTwoThreads) {
  const auto region = make_region();
  std::thread worker([&] { EXPECT_EQ(echo(region->call_lane(0, Lane::Side::kWorker)), 0); });
  talk(region->call_lane(0, Lane::Side::kHost));
  worker.join();
}

TEST(Lane, CarriesAConversationOfTwoProcesses) {
  const auto region = make_region();
  Forked worker([&] { return echo_of(*region, 0); });
  talk(region->call_lane(0, Lane::Side::kHost));
  EXPECT_EQ(worker.join(), 0);
}

TEST(Lane, CarriesEveryFieldOfAMessage) {
  const auto region = make_region();
  Lane host = region->call_lane(0, Lane::Side::kHost), worker = region->call_lane(0, Lane::Side::kWorker);
  LaneMessage sent;
  sent.op = 2;
  sent.status = -7;
  sent.token = 3;
  sent.event = 4;
  sent.row = 5;
  sent.conversation = 6;
  sent.live = 7;
  sent.envelope = 8;
  sent.payload = 9;
  ASSERT_EQ(host.send(sent, "body", {}), LaneEnd::kMessage);
  LaneMessage got;
  std::string body = "what was there before";
  ASSERT_EQ(worker.receive(got, body, {}), LaneEnd::kMessage);
  EXPECT_EQ(std::memcmp(&got, &sent, sizeof(got)), 0);
  EXPECT_EQ(body, "body");
}

// The longest that a side spins is over long before the other moves.
TEST(Lane, WakesASideThatSleeps) {
  const auto region = make_region();
  std::thread worker([&] {
    Lane lane = region->call_lane(0, Lane::Side::kWorker);
    LaneMessage message;
    std::string body;
    for (int i = 0; i < 5; ++i) {
      ASSERT_EQ(lane.receive(message, body, {}), LaneEnd::kMessage);
      std::this_thread::sleep_for(Milliseconds(2));
      ASSERT_EQ(lane.send(message, body, {}), LaneEnd::kMessage);
    }
  });
  Lane host = region->call_lane(0, Lane::Side::kHost);
  LaneMessage message;
  std::string body;
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(Milliseconds(2));
    ASSERT_EQ(host.send(message_of(LaneOp::kCall), "x", {}), LaneEnd::kMessage);
    ASSERT_EQ(host.receive(message, body, {}), LaneEnd::kMessage);
  }
  worker.join();
}

TEST(Lane, OfAServiceBeginsWithTheWorker) {
  const auto region = make_region();
  Lane host = region->service_lane(3, Lane::Side::kHost), worker = region->service_lane(3, Lane::Side::kWorker);
  EXPECT_EQ(host.send(message_of(LaneOp::kReply), {}, {}), LaneEnd::kBroken);
  ASSERT_EQ(worker.send(message_of(LaneOp::kService, 9), "args", {}), LaneEnd::kMessage);
  LaneMessage message;
  std::string body;
  ASSERT_EQ(host.receive(message, body, {}), LaneEnd::kMessage);
  EXPECT_EQ(message.token, 9u);
  EXPECT_EQ(body, "args");
  ASSERT_EQ(host.send(message_of(LaneOp::kReply), "reply", {}), LaneEnd::kMessage);
  ASSERT_EQ(worker.receive(message, body, {}), LaneEnd::kMessage);
  EXPECT_EQ(body, "reply");
}

TEST(Lane, IsItsOwn) {
  const auto region = make_region(8);
  for (std::uint32_t i = 0; i < 8; ++i)
    ASSERT_EQ(region->call_lane(i, Lane::Side::kHost).send(message_of(LaneOp::kCall, i), std::to_string(i), {}),
              LaneEnd::kMessage);
  for (std::uint32_t i = 0; i < 8; ++i) {
    LaneMessage message;
    std::string body;
    ASSERT_EQ(region->call_lane(i, Lane::Side::kWorker).receive(message, body, {}), LaneEnd::kMessage);
    EXPECT_EQ(message.token, i);
    EXPECT_EQ(body, std::to_string(i));
  }
}

TEST(Lane, CarriesEightConversationsAtOnce) {
  const auto region = make_region(8);
  Forked worker([&] {
    std::vector<std::thread> threads;
    std::atomic<int> worst{0};
    for (std::uint32_t i = 0; i < 8; ++i)
      threads.emplace_back([&, i] {
        if (const int end = echo_of(*region, i)) worst = end;
      });
    for (std::thread& each : threads) each.join();
    return worst.load();
  });
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      Lane host = region->call_lane(i, Lane::Side::kHost);
      for (unsigned turn = 0; turn < 300; ++turn) expect_echo(host, bytes_of(turn, i), turn);
      host.send(message_of(LaneOp::kNone), {}, {});
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(worker.join(), 0);
}

// ---- ends

TEST(Lane, TellsWhenTheTimeIsOver) {
  const auto region = make_region();
  Lane host = region->call_lane(0, Lane::Side::kHost);
  ASSERT_EQ(host.send(message_of(LaneOp::kCall), {}, {}), LaneEnd::kMessage);
  const SystemClock clock;
  LaneWait wait;
  wait.until_ns = clock.monotonic_ns() + 3'000'000;
  LaneMessage message;
  std::string body;
  EXPECT_EQ(host.receive(message, body, wait), LaneEnd::kTimeout);
  EXPECT_GE(clock.monotonic_ns(), wait.until_ns);
  EXPECT_EQ(host.receive(message, body, wait), LaneEnd::kTimeout) << "a time that has passed already";
}

TEST(Lane, TakesAMessageThatIsThereAtADeadlineThatPassed) {
  const auto region = make_region();
  ASSERT_EQ(region->call_lane(0, Lane::Side::kHost).send(message_of(LaneOp::kCall), {}, {}), LaneEnd::kMessage);
  LaneWait wait;
  wait.until_ns = 1;
  LaneMessage message;
  std::string body;
  EXPECT_EQ(region->call_lane(0, Lane::Side::kWorker).receive(message, body, wait), LaneEnd::kMessage);
}

TEST(Lane, SeesACancelThatNobodyWakesItFor) {
  const auto region = make_region();
  Lane host = region->call_lane(0, Lane::Side::kHost);
  ASSERT_EQ(host.send(message_of(LaneOp::kCall), {}, {}), LaneEnd::kMessage);
  std::uint32_t cancel = 0;
  std::thread canceller([&] {
    std::this_thread::sleep_for(Milliseconds(5));
    __atomic_store_n(&cancel, 1u, __ATOMIC_RELEASE);
  });
  LaneWait wait;
  wait.cancel = &cancel;
  LaneMessage message;
  std::string body;
  EXPECT_EQ(host.receive(message, body, wait), LaneEnd::kCancelled);
  canceller.join();
  // The call goes on: the answer comes when it comes.
  ASSERT_EQ(region->call_lane(0, Lane::Side::kWorker).receive(message, body, {}), LaneEnd::kMessage);
  ASSERT_EQ(region->call_lane(0, Lane::Side::kWorker).send(message_of(LaneOp::kDone, 4), {}, {}), LaneEnd::kMessage);
  ASSERT_EQ(host.receive(message, body, wait), LaneEnd::kMessage);
  EXPECT_EQ(message.token, 4u);
}

TEST(Lane, SeesThatTheOtherSideHasEnded) {
  const auto region = make_region();
  Lane host = region->call_lane(0, Lane::Side::kHost);
  Forked worker([&] { return echo_of(*region, 0); });
  expect_echo(host, "still there", 1);
  std::atomic<std::uint32_t> gone{0};
  std::thread reaper([&] {
    kill(worker.pid(), SIGKILL);
    worker.join();
    gone.store(1, std::memory_order_release);
    region->wake_all();
  });
  // Either it answered before, or it never will.
  LaneWait wait;
  wait.gone = &gone;
  LaneMessage message;
  std::string body;
  LaneEnd end = LaneEnd::kMessage;
  while (end == LaneEnd::kMessage) {
    end = host.send(message_of(LaneOp::kCall), "x", wait);
    if (end == LaneEnd::kMessage) end = host.receive(message, body, wait);
  }
  EXPECT_EQ(end, LaneEnd::kGone);
  reaper.join();
  EXPECT_EQ(host.send(message_of(LaneOp::kCall), "x", wait), LaneEnd::kGone);
}

TEST(Lane, WithoutAWordForItIsGoneWhenAllAreWoken) {
  const auto region = make_region();
  std::thread waker([&] {
    std::this_thread::sleep_for(Milliseconds(2));
    region->wake_all();
  });
  LaneMessage message;
  std::string body;
  EXPECT_EQ(region->service_lane(0, Lane::Side::kHost).receive(message, body, {}), LaneEnd::kGone);
  waker.join();
}

TEST(Lane, RefusesABodyOverTheLimitAndGoesOn) {
  const auto region = make_region();
  Lane host = region->call_lane(0, Lane::Side::kHost);
  const std::string big(Lane::kBodyBytesMax + 1, 'x');
  EXPECT_EQ(host.send(message_of(LaneOp::kCall), big, {}), LaneEnd::kTooBig);
  EXPECT_EQ(host.send(message_of(LaneOp::kCall), "small", {}), LaneEnd::kMessage);
}

TEST(Lane, CarriesTheLargestBody) {
  const auto region = make_region();
  std::thread worker([&] { EXPECT_EQ(echo(region->call_lane(0, Lane::Side::kWorker)), 0); });
  Lane host = region->call_lane(0, Lane::Side::kHost);
  expect_echo(host, std::string(Lane::kBodyBytesMax, 'y'), 1);
  host.send(message_of(LaneOp::kNone), {}, {});
  worker.join();
}

// ---- what no side writes

TEST(Lane, IsBrokenWhenAPieceIsNotAskedForWithMore) {
  const auto region = make_region();
  LaneEnd end = LaneEnd::kMessage;
  std::thread sender([&] {
    end = region->call_lane(0, Lane::Side::kHost).send(message_of(LaneOp::kCall), std::string(2 * kPiece, 'x'), {});
  });
  Lane worker = region->call_lane(0, Lane::Side::kWorker);
  while (worker.send(message_of(LaneOp::kDone), {}, {}) != LaneEnd::kMessage) std::this_thread::yield();
  sender.join();
  EXPECT_EQ(end, LaneEnd::kBroken);
}

// The region as a worker could write to it.
class RawRegion {
 public:
  explicit RawRegion(const AnswerRegion& region) {
    struct stat info {};
    fstat(region.fd(), &info);
    bytes_ = static_cast<std::size_t>(info.st_size);
    memory_ = static_cast<char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, region.fd(), 0));
  }
  ~RawRegion() { munmap(memory_, bytes_); }
  RawRegion(const RawRegion&) = delete;
  RawRegion& operator=(const RawRegion&) = delete;
  std::string_view view() const { return {memory_, bytes_}; }
  char* at(std::size_t offset) { return memory_ + offset; }

  // Where the head of a lane lies that has just sent a message with the token.
  std::size_t head_with(std::uint64_t token) const {
    std::string pattern(8, '\0');
    std::memcpy(pattern.data(), &token, 8);
    return view().find(pattern) - offsetof(LaneMessage, token);
  }

 private:
  std::size_t bytes_ = 0;
  char* memory_ = nullptr;
};
constexpr std::size_t kBodyBytes = sizeof(LaneMessage), kPieceBytes = kBodyBytes + 8;

LaneEnd received_with(std::size_t offset, std::uint64_t value) {
  const auto region = make_region();
  RawRegion raw(*region);
  constexpr std::uint64_t kToken = 0x1122334455667788;
  Lane worker = region->service_lane(0, Lane::Side::kWorker);
  EXPECT_EQ(worker.send(message_of(LaneOp::kService, kToken), "12345678901", {}), LaneEnd::kMessage);
  std::memcpy(raw.at(raw.head_with(kToken) + offset), &value, 8);
  LaneMessage message;
  std::string body;
  LaneWait wait;
  wait.until_ns = 1;
  return region->service_lane(0, Lane::Side::kHost).receive(message, body, wait);
}

TEST(Lane, IsBrokenWhenLengthsAreNone) {
  EXPECT_EQ(received_with(kBodyBytes, 11), LaneEnd::kMessage);
  for (const std::uint64_t body : {std::uint64_t{12}, std::uint64_t{0}, Lane::kBodyBytesMax + 1, UINT64_MAX})
    EXPECT_EQ(received_with(kBodyBytes, body), LaneEnd::kBroken) << body;
  for (const std::uint64_t piece : {std::uint64_t{10}, std::uint64_t{12}, std::uint64_t{kPiece + 1}, UINT64_MAX})
    EXPECT_EQ(received_with(kPieceBytes, piece), LaneEnd::kBroken) << piece;
}

// A worker that announces two pieces, sends the first, and then what `second` says.
LaneEnd received_after(const LaneMessage& second, const std::string& body) {
  const auto region = make_region();
  RawRegion raw(*region);
  constexpr std::uint64_t kToken = 0x1122334455667788;
  Lane worker = region->service_lane(0, Lane::Side::kWorker);
  EXPECT_EQ(worker.send(message_of(LaneOp::kService, kToken), "x", {}), LaneEnd::kMessage);
  const std::size_t head = raw.head_with(kToken);
  const std::uint64_t whole = 2 * kPiece, piece = kPiece;
  std::memcpy(raw.at(head + kBodyBytes), &whole, 8);
  std::memcpy(raw.at(head + kPieceBytes), &piece, 8);
  LaneEnd end = LaneEnd::kMessage;
  std::thread receiver([&] {
    LaneMessage message;
    std::string got;
    end = region->service_lane(0, Lane::Side::kHost).receive(message, got, {});
  });
  LaneWait no_time;
  no_time.until_ns = 1;
  while (worker.send(second, body, no_time) == LaneEnd::kBroken) std::this_thread::yield();
  receiver.join();
  return end;
}

TEST(Lane, IsBrokenWhenTheNextPieceIsOfAnotherMessage) {
  EXPECT_EQ(received_after(message_of(LaneOp::kDone), "short"), LaneEnd::kBroken);
  EXPECT_EQ(received_after(message_of(LaneOp::kService), "short"), LaneEnd::kBroken);
  EXPECT_EQ(received_after(message_of(LaneOp::kDone), std::string(2 * kPiece, 'x')), LaneEnd::kBroken);
}

// A deadline does not cut a body in two.
TEST(Lane, TakesABodyThatHasBegunToItsEnd) {
  const auto region = make_region();
  std::thread sender([&] {
    Lane worker = region->service_lane(0, Lane::Side::kWorker);
    EXPECT_EQ(worker.send(message_of(LaneOp::kService), bytes_of(3 * kPiece, 1), {}), LaneEnd::kMessage);
  });
  std::uint32_t cancel = 1;
  LaneWait wait;
  wait.until_ns = 1;
  wait.cancel = &cancel;
  Lane host = region->service_lane(0, Lane::Side::kHost);
  LaneMessage message;
  std::string body;
  LaneEnd end = LaneEnd::kTimeout;
  while (end != LaneEnd::kMessage) {
    ASSERT_TRUE(end == LaneEnd::kTimeout || end == LaneEnd::kCancelled);
    end = host.receive(message, body, wait);
  }
  EXPECT_TRUE(body == bytes_of(3 * kPiece, 1));
  sender.join();
}

// What a host gets of a worker that announced two pieces and sent one.
LaneEnd received_half(const LaneWait& wait) {
  const auto region = make_region();
  RawRegion raw(*region);
  constexpr std::uint64_t kToken = 0x1122334455667788;
  Lane worker = region->service_lane(0, Lane::Side::kWorker);
  EXPECT_EQ(worker.send(message_of(LaneOp::kService, kToken), "x", {}), LaneEnd::kMessage);
  const std::size_t head = raw.head_with(kToken);
  const std::uint64_t whole = 2 * kPiece, piece = kPiece;
  std::memcpy(raw.at(head + kBodyBytes), &whole, 8);
  std::memcpy(raw.at(head + kPieceBytes), &piece, 8);
  LaneMessage message;
  std::string body;
  return region->service_lane(0, Lane::Side::kHost).receive(message, body, wait);
}

TEST(Lane, WaitsForTheRestOfABodyUntilItsTimeAndTheGraceAreOver) {
  LaneWait wait;
  wait.until_ns = SystemClock().monotonic_ns();
  wait.body_grace_ns = 5'000'000;
  EXPECT_EQ(received_half(wait), LaneEnd::kStuck);
}

TEST(Lane, WaitsForTheRestOfABodyForTheGraceWhenItIsCancelled) {
  std::uint32_t cancel = 0;
  LaneWait wait;
  wait.cancel = &cancel;
  wait.body_grace_ns = 5'000'000;
  std::thread user([&] {
    usleep(20'000);
    __atomic_store_n(&cancel, 1, __ATOMIC_RELEASE);
  });
  EXPECT_EQ(received_half(wait), LaneEnd::kStuck);
  user.join();
}

TEST(Lane, HearsInTheMiddleOfABodyThatTheOtherSideHasEnded) {
  std::atomic<std::uint32_t> gone{0};
  LaneWait wait;
  wait.gone = &gone;
  std::thread supervisor([&] {
    usleep(20'000);
    gone.store(1);  // and nobody wakes it
  });
  EXPECT_EQ(received_half(wait), LaneEnd::kGone);
  supervisor.join();
}

TEST(Lane, GivesUpASideThatDoesNotTakeABodyWhenTheGraceIsOver) {
  const auto region = make_region();
  Lane host = region->call_lane(0, Lane::Side::kHost);
  LaneWait wait;
  wait.until_ns = 1;
  wait.body_grace_ns = 1;
  EXPECT_EQ(host.send(message_of(LaneOp::kCall), std::string(2 * kPiece, 'x'), wait), LaneEnd::kStuck);
}

TEST(Lane, WaitsForTheFirstPieceToBeTakenAsLongAsItIsTold) {
  const auto region = make_region();
  Lane host = region->call_lane(0, Lane::Side::kHost);
  LaneWait wait;
  wait.until_ns = 1;
  EXPECT_EQ(host.send(message_of(LaneOp::kCall), std::string(2 * kPiece, 'x'), wait), LaneEnd::kTimeout);
}

TEST(Lane, CountsItsMovesBeyondTheLargestNumber) {
  const auto region = make_region();
  RawRegion raw(*region);
  Lane host = region->call_lane(0, Lane::Side::kHost), worker = region->call_lane(0, Lane::Side::kWorker);
  LaneMessage message;
  std::string body;
  ASSERT_EQ(host.send(message_of(LaneOp::kCall, 0x1122334455667788), {}, {}), LaneEnd::kMessage);
  ASSERT_EQ(worker.receive(message, body, {}), LaneEnd::kMessage);
  ASSERT_EQ(worker.send(message_of(LaneOp::kDone, 0x1122334455667788), {}, {}), LaneEnd::kMessage);
  const std::uint32_t last = 0x7ffffffe;
  std::memcpy(raw.at(raw.head_with(0x1122334455667788) - 64), &last, 4);
  for (std::uint64_t i = 0; i < 4; ++i) {
    ASSERT_EQ(host.receive(message, body, {}), LaneEnd::kMessage);
    ASSERT_EQ(host.send(message_of(LaneOp::kCall, i), {}, {}), LaneEnd::kMessage);
    ASSERT_EQ(worker.receive(message, body, {}), LaneEnd::kMessage);
    EXPECT_EQ(message.token, i);
    ASSERT_EQ(worker.send(message_of(LaneOp::kDone), {}, {}), LaneEnd::kMessage);
  }
  ASSERT_EQ(host.receive(message, body, {}), LaneEnd::kMessage);
  ASSERT_EQ(host.send(message_of(LaneOp::kCall), {}, {}), LaneEnd::kMessage);
  LaneWait no_time;
  no_time.until_ns = 1;
  EXPECT_EQ(host.receive(message, body, no_time), LaneEnd::kTimeout) << "and nobody has ended";
}

TEST(Lane, AsksForNoPieceOfABodyOverTheLimit) {
  const auto region = make_region();
  RawRegion raw(*region);
  constexpr std::uint64_t kToken = 0x1122334455667788;
  Lane worker = region->service_lane(0, Lane::Side::kWorker);
  ASSERT_EQ(worker.send(message_of(LaneOp::kService, kToken), "x", {}), LaneEnd::kMessage);
  const std::uint64_t whole = Lane::kBodyBytesMax + 1, piece = kPiece;
  std::memcpy(raw.at(raw.head_with(kToken) + kBodyBytes), &whole, 8);
  std::memcpy(raw.at(raw.head_with(kToken) + kPieceBytes), &piece, 8);
  LaneMessage message;
  std::string body;
  EXPECT_EQ(region->service_lane(0, Lane::Side::kHost).receive(message, body, {}), LaneEnd::kBroken);
  EXPECT_EQ(worker.send(message_of(LaneOp::kService), {}, {}), LaneEnd::kBroken) << "the turn is not its own";
}

TEST(Lane, SurvivesAnythingInItsMemory) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto region = make_region();
  RawRegion raw(*region);
  const SystemClock clock;
  LaneMessage message;
  std::string body;
  for (int round = 0; round < 400; ++round) {
    // The words of all lanes, and of the header; the pieces matter to nobody.
    for (std::size_t at = 0; at + 4 <= raw.view().size(); at += at % 4096 == 256 ? 4096u - 256u : 4u) {
      const std::uint32_t word =
          random() % 3 == 0 ? static_cast<std::uint32_t>(random() % 3) : static_cast<std::uint32_t>(random());
      std::memcpy(raw.at(at), &word, 4);
    }
    LaneWait wait;
    wait.until_ns = clock.monotonic_ns() + 10'000;
    for (Lane lane : {region->call_lane(0, Lane::Side::kHost), region->service_lane(0, Lane::Side::kHost)}) {
      lane.receive(message, body, wait);
      EXPECT_LE(body.size(), Lane::kBodyBytesMax);
      lane.send(message_of(LaneOp::kReply), "text", wait);
    }
    EXPECT_EQ(region->call_lanes(), 1u) << "as made, whatever the memory says now";
  }
}

// ---- the region

TEST(AnswerRegion, CannotBeGivenAnotherSize) {
  const auto region = make_region();
  struct stat info {};
  ASSERT_EQ(fstat(region->fd(), &info), 0);
  for (const off_t size : {off_t{0}, off_t{4096}, info.st_size + 4096}) {
    EXPECT_EQ(ftruncate(region->fd(), size), -1) << size;
    EXPECT_EQ(errno, EPERM);
  }
  EXPECT_EQ(fcntl(region->fd(), F_ADD_SEALS, F_SEAL_WRITE), -1);
  Forked worker([&] { return ftruncate(region->fd(), 0) == -1 && errno == EPERM ? 0 : 1; });
  EXPECT_EQ(worker.join(), 0);
}

TEST(AnswerRegion, IsBackedByMemoryFromTheStart) {
  const auto region = make_region(2);
  struct stat info {};
  ASSERT_EQ(fstat(region->fd(), &info), 0);
  EXPECT_GE(info.st_blocks * 512, info.st_size);
}

TEST(AnswerRegion, OpensAsItWasMade) {
  const auto region = make_region(5);
  const auto opened = open_region(*region);
  ASSERT_NE(opened, nullptr);
  EXPECT_EQ(opened->call_lanes(), 5u);
}

TEST(AnswerRegion, RefusesWhatIsNone) {
  EXPECT_EQ(AnswerRegion::open(UniqueFd(memfd_create("empty", MFD_CLOEXEC))).error().code, Code::kInvalid);
  UniqueFd zeros(memfd_create("zeros", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(zeros.get(), 8 << 20), 0);
  EXPECT_EQ(AnswerRegion::open(std::move(zeros)).error().code, Code::kInvalid);
  EXPECT_EQ(AnswerRegion::open(UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC))).error().code, Code::kInvalid);
  EXPECT_FALSE(AnswerRegion::open(UniqueFd()));
}

TEST(AnswerRegion, RefusesLanesThatDoNotFitItsSize) {
  const auto region = make_region(2);
  RawRegion raw(*region);
  for (const std::uint32_t lanes : {0u, 1u, 3u, 9u, 0xffffffffu}) {
    std::memcpy(raw.at(12), &lanes, 4);
    EXPECT_EQ(open_region(*region), nullptr) << lanes;
  }
  const std::uint32_t right = 2;
  std::memcpy(raw.at(12), &right, 4);
  EXPECT_NE(open_region(*region), nullptr);
}

// What has rung by `until_ns`.
std::uint32_t rung_by(const std::shared_ptr<AnswerRegion>& region, std::uint64_t until_ns) {
  std::atomic<std::uint32_t> alarm{0};
  std::uint32_t lanes = 0;
  while (lanes == 0 && SystemClock().monotonic_ns() < until_ns) {
    AnswerRegion::wait_rings({&region, 1}, alarm, 0, until_ns);
    EXPECT_EQ(region->take_rings(lanes), LaneEnd::kMessage);
  }
  return lanes;
}

std::uint64_t in_seconds(std::uint64_t seconds) { return SystemClock().monotonic_ns() + seconds * 1'000'000'000; }

TEST(Doorbell, TellsWhichLanesRang) {
  const std::shared_ptr<AnswerRegion> region = make_region();
  region->ring(1);
  region->ring(3);
  EXPECT_EQ(rung_by(region, in_seconds(60)), 0b1010u);
  region->ring(0);
  EXPECT_EQ(rung_by(region, in_seconds(60)), 0b1u);
  EXPECT_EQ(rung_by(region, SystemClock().monotonic_ns() + 1'000'000), 0u);
}

TEST(Doorbell, WakesAHostThatSleeps) {
  const std::shared_ptr<AnswerRegion> region = make_region();
  Forked worker([&] {
    const auto mine = open_region(*region);
    for (int i = 0; mine != nullptr && i < 50; ++i) {
      usleep(200);
      mine->ring(2);
    }
    return mine == nullptr;
  });
  EXPECT_EQ(rung_by(region, in_seconds(60)), 0b100u);
  EXPECT_EQ(worker.join(), 0);
}

TEST(Doorbell, OfAnyRegionWakesAHostThatSleepsForAll) {
  std::vector<std::shared_ptr<AnswerRegion>> regions;
  for (int i = 0; i < 140; ++i) regions.push_back(make_region());
  for (const std::size_t which : {0u, 77u, 126u, 127u, 139u}) {
    std::atomic<std::uint32_t> alarm{0};
    Forked worker([&] {
      const auto mine = open_region(*regions[which]);
      usleep(20'000);
      if (mine != nullptr) mine->ring(1);
      return mine == nullptr;
    });
    std::uint32_t lanes = 0;
    for (const std::uint64_t until = in_seconds(60); lanes == 0 && SystemClock().monotonic_ns() < until;) {
      AnswerRegion::wait_rings(regions, alarm, 0, until);
      EXPECT_EQ(regions[which]->take_rings(lanes), LaneEnd::kMessage);
    }
    EXPECT_EQ(lanes, 0b10u) << which;
    EXPECT_EQ(worker.join(), 0);
  }
}

TEST(Doorbell, GivesWayToTheAlarm) {
  const std::shared_ptr<AnswerRegion> region = make_region();
  std::atomic<std::uint32_t> alarm{0};
  std::thread other([&] {
    usleep(20'000);
    AnswerRegion::raise(alarm);
  });
  const std::uint64_t until = in_seconds(60);
  while (alarm.load() == 0 && SystemClock().monotonic_ns() < until)
    AnswerRegion::wait_rings({&region, 1}, alarm, 0, until);
  EXPECT_EQ(alarm.load(), 1u);
  EXPECT_LT(SystemClock().monotonic_ns(), until);
  AnswerRegion::wait_rings({&region, 1}, alarm, 0, Deadline::kNever);  // raised already
  other.join();
}

// A worker moves the host's sleep onto a word of its own, where nobody wakes it: its time comes nevertheless, and so
// does the alarm, which is the host's alone.
class RequeuedHost : public ::testing::Test {
 protected:
  template <typename Wait>
  void while_requeued(const Wait& wait) {
    Forked worker([&] {
      alignas(4) static std::uint32_t mine = 0;
      auto* const listening = reinterpret_cast<volatile std::uint32_t*>(raw_.at(68));
      for (int i = 0; i < 5000 && *listening == 0; ++i) usleep(1000);
      usleep(50'000);
      return syscall(SYS_futex, raw_.at(64), FUTEX_REQUEUE, 0, 100L, &mine, 0) == 1 ? 0 : 1;
    });
    wait();
    EXPECT_EQ(worker.join(), 0) << "the sleep was moved";
  }

  std::shared_ptr<AnswerRegion> region_ = make_region();
  RawRegion raw_{*region_};
};

TEST_F(RequeuedHost, SeesItsTimeCome) {
  while_requeued([&] { EXPECT_EQ(rung_by(region_, SystemClock().monotonic_ns() + 400'000'000), 0u); });
}

TEST_F(RequeuedHost, HearsTheAlarm) {
  std::atomic<std::uint32_t> alarm{0};
  std::thread other;
  while_requeued([&] {
    other = std::thread([&] {
      usleep(300'000);
      AnswerRegion::raise(alarm);
    });
    const std::uint64_t until = in_seconds(60);
    while (alarm.load() == 0 && SystemClock().monotonic_ns() < until)
      AnswerRegion::wait_rings({&region_, 1}, alarm, 0, until);
    EXPECT_LT(SystemClock().monotonic_ns(), until);
  });
  other.join();
}

TEST(Doorbell, IsBrokenByALaneThatThereIsNot) {
  const auto region = make_region();
  RawRegion raw(*region);
  for (const std::uint32_t junk : {0x7fffffffu, 0x80000001u, 0b10000u, 0b10001u}) {
    std::memcpy(raw.at(64), &junk, 4);
    std::uint32_t lanes = 0;
    EXPECT_EQ(region->take_rings(lanes), LaneEnd::kBroken) << junk;
    EXPECT_EQ(lanes & ~0b1111u, 0u);
  }
}

}  // namespace
}  // namespace agentd
