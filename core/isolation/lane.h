// SPDX-License-Identifier: Apache-2.0
#pragma once
// lane.h - the answer region: lanes in memory that a host and its worker share, and the words they
// pass.
//
// A lane carries one conversation of two threads, one on each side, who take turns: a side writes a
// message and hands over the turn, which is a futex word. Call lanes belong to the host, which
// begins with kCall and ends when kDone comes; in between the worker may ask for services, and the
// thread that is parked in the lane serves them. Service lanes belong to the worker, for threads
// that run outside of calls; whoever posts there rings the doorbell.
//
// Both sides can write every byte at any time. A reader copies a message out before it looks at it,
// and what makes no sense is kBroken; the waiting side never trusts a length, an address or an
// order of turns.
//
// The memory is a memory file, sealed against changes of its size: no ftruncate() of a worker can
// take a page from under the host.
//
// Threading: a Lane belongs to one thread at a time on each side; AnswerRegion is thread-safe.

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/result.h"
#include "core/isolation/body_budget.h"

namespace agentd {

enum class LaneOp : std::uint32_t {
  kNone = 0,
  // host to worker
  // body: BootArgs; sent in call lane 0. Answered by kBooted, or by kDone with an error whose body
  // is the sentence as plain bytes ("cannot be loaded: ..."); AGENTD_E_CONFLICT: the window's base
  // is taken here.
  kBoot = 1,
  kCall = 2,   // a hook, a tool or a control call
  kReply = 3,  // to kService: status, body: ServiceReply
  // worker to host
  kBooted = 16,   // body: BootReply
  kDone = 17,     // status of the call
  kService = 18,  // body: ServiceArgs
  // both
  kMore = 32,  // "go on": the other side has taken a piece
};

// What a message says beside its body. Copied whole in both directions.
struct LaneMessage {
  std::uint32_t op = 0;     // LaneOp
  std::int32_t status = 0;  // kDone, kReply
  std::uint64_t token = 0;
  // kCall: addresses lie in the payload window, which both sides have at the same place.
  std::uint32_t event = 0;
  std::uint32_t row = 0;  // of BootReply.rows; ignored for control calls and tools
  std::uint64_t conversation = 0;
  std::uint64_t live = 0, envelope = 0, payload = 0;
};

enum class LaneEnd : std::uint8_t {
  kMessage,    // there is one
  kTimeout,    // not until the time given
  kCancelled,  // the cancel word was set while we waited
  kGone,       // the other side has ended
  kStuck,      // a body that had begun did not come to its end in time; the lane is of no use any more
  kBroken,     // it wrote what no side writes
  kTooBig,     // the body is over the limit, or there was no room for it: received, and dropped
};

// How long, and for what else, a side waits.
struct LaneWait {
  std::uint64_t until_ns = Deadline::kNever;         // on CLOCK_MONOTONIC
  const std::atomic<std::uint32_t>* gone = nullptr;  // not 0 = the other side has ended
  const std::uint32_t* cancel = nullptr;             // read with acquire; not 0 = give up (looked at every 20 ms)
  // A body that has begun may go on for so long after `until_ns`, or after the cancel word was set;
  // without a value until it stops coming.
  std::uint64_t body_grace_ns = Deadline::kNever;
  // Of who receives: a body over a piece is kept when there is room for it. Null = whatever comes.
  BodyShare* share = nullptr;
};

struct LaneMemory;  // in the shared region

class Lane {
 public:
  enum class Side : std::uint32_t { kHost = 0, kWorker = 1 };
  static constexpr std::size_t kPieceBytes = 8 * 1024;  // of a body, at a time
  static constexpr std::uint64_t kBodyBytesMax = 65ull << 20;

  Lane() = default;
  Lane(LaneMemory* memory, Side side) : memory_(memory), side_(side) {}

  // Hands over a message and the turn; a body over a piece goes in several, each taken by the other
  // side. kMessage = it is on its way. With a grace the first piece has it, too, and a side that
  // does not take it in time leaves the lane of no use. REQUIRES: the turn is ours.
  LaneEnd send(const LaneMessage& message, std::string_view body, const LaneWait& wait);
  // Waits for the turn and takes the message out. `body` is replaced; its capacity is kept when it
  // is small. A body that has begun is taken to its end, as long as wait.body_grace_ns allows; one
  // that stops is kStuck. kTooBig: `message` came and is to be answered, its body is lost.
  LaneEnd receive(LaneMessage& message, std::string& body, const LaneWait& wait);

 private:
  LaneEnd wait_turn(const LaneWait& wait);
  bool hand_over();  // false: it was not ours

  LaneMemory* memory_ = nullptr;
  Side side_ = Side::kHost;
};

struct AnswerHeader;

class AnswerRegion {
 public:
  static constexpr std::uint32_t kCallLanesMax = 8;
  static constexpr std::uint32_t kServiceLanes = 4;

  // The host makes it; every byte of it is allocated, so that a full machine is an error here and
  // no SIGBUS later. kUnavailable.
  static Result<std::unique_ptr<AnswerRegion>> create(std::uint32_t call_lanes);
  // The worker maps what it was handed. kInvalid: not an answer region of this version.
  static Result<std::unique_ptr<AnswerRegion>> open(UniqueFd fd);
  ~AnswerRegion();
  AnswerRegion(const AnswerRegion&) = delete;
  AnswerRegion& operator=(const AnswerRegion&) = delete;

  int fd() const { return fd_.get(); }                      // -1 in the worker, which needs none
  std::uint32_t call_lanes() const { return call_lanes_; }  // as made, whatever the memory says now
  Lane call_lane(std::uint32_t index, Lane::Side side) const;
  Lane service_lane(std::uint32_t index, Lane::Side side) const;

  // The worker rings for service lane `index` after it has sent there; for a body over a piece
  // before, since sending waits for the host between two pieces.
  void ring(std::uint32_t index);
  // The host: who rang since it looked last. kMessage: `lanes` is the bit set of those, maybe none; kBroken: the
  // word says what no worker says.
  LaneEnd take_rings(std::uint32_t& lanes);
  // The host sleeps until one of the regions is rung, `alarm` is not `seen` any more, or `until_ns` on
  // CLOCK_MONOTONIC. It may wake for nothing. A worker can undo what wakes it on its own word, and on no other
  // one. Where the kernel has no futex_waitv(2) (before Linux 5.16), and for regions beyond the 127th, it looks
  // every 5 ms.
  static void wait_rings(std::span<const std::shared_ptr<AnswerRegion>> regions, std::atomic<std::uint32_t>& alarm,
                         std::uint32_t seen, std::uint64_t until_ns);
  // Makes the alarm another number, and wakes who waits for it.
  static void raise(std::atomic<std::uint32_t>& alarm);
  // The host, when the worker has ended and `gone` is set: wakes everybody who waits in a lane. The lanes are of
  // no use afterwards. What the worker left behind may undo it at the same moment; no sleep there is longer than a
  // second.
  void wake_all();

 private:
  AnswerRegion(UniqueFd fd, void* memory, std::size_t bytes, std::uint32_t call_lanes);
  LaneMemory* lane(std::uint32_t index) const;

  UniqueFd fd_;
  void* memory_;
  std::size_t bytes_;
  std::uint32_t call_lanes_;
};

}  // namespace agentd
