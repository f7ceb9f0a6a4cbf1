// SPDX-License-Identifier: Apache-2.0
#pragma once
// lane.h - the answer region: lanes in memory shared by a host and its worker, and the messages on them.
//
// A lane carries one conversation of two threads, one on each side, that take turns: a side writes a message and passes
// the turn, which is a futex word. Call lanes belong to the host, which begins with kCall and ends at kDone; in between
// the worker may request services, which the thread waiting in the lane serves. Service lanes belong to the worker, for
// threads outside of calls; a thread that posts there rings the doorbell.
//
// Both sides can write every byte at any time. A reader copies a message before it checks it, and malformed messages
// are kBroken; the waiting side never trusts a length, an address or an order of turns.
//
// The memory is a memory file, sealed against resizing: no ftruncate() of a worker can take a page from the host.
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
  // body: BootArgs; sent in call lane 0. Answered by kBooted, or by kDone with an error whose body is the message as
  // plain bytes ("cannot be loaded: ..."); AGENTD_E_CONFLICT: the window's base is taken in the worker.
  kBoot = 1,
  kCall = 2,   // a hook, a tool or a control call
  kReply = 3,  // to kService: status, body: ServiceReply
  // worker to host
  kBooted = 16,   // body: BootReply
  kDone = 17,     // status of the call
  kService = 18,  // body: ServiceArgs
  // both
  kMore = 32,  // "continue": the peer has taken a piece
};

// The fixed part of a message. Copied completely in both directions.
struct LaneMessage {
  std::uint32_t op = 0;     // LaneOp
  std::int32_t status = 0;  // kDone, kReply
  std::uint64_t token = 0;
  // kCall: addresses are in the payload window, which both sides map at the same place.
  std::uint32_t event = 0;
  std::uint32_t row = 0;  // of BootReply.rows; ignored for control calls and tools
  std::uint64_t conversation = 0;
  std::uint64_t live = 0, envelope = 0, payload = 0;
};

enum class LaneEnd : std::uint8_t {
  kMessage,    // a message arrived
  kTimeout,    // none until the given time
  kCancelled,  // the cancel word was set during the wait
  kGone,       // the peer has ended
  kStuck,      // a body that had begun did not end in time; the lane is unusable
  kBroken,     // the peer sent a malformed message
  kTooBig,     // the body is over the limit, or had no room: received and dropped
};

// How long a side waits, and what else ends the wait.
struct LaneWait {
  std::uint64_t until_ns = Deadline::kNever;         // on CLOCK_MONOTONIC
  const std::atomic<std::uint32_t>* gone = nullptr;  // not 0 = the peer has ended
  const std::uint32_t* cancel = nullptr;             // read with acquire; not 0 = give up (checked every 20 ms)
  // A body that has begun may continue this long after `until_ns`, or after the cancel word was set; by default as long
  // as it makes progress.
  std::uint64_t body_grace_ns = Deadline::kNever;
  // For receivers: a body over a piece is kept if it fits the share. Null = any body is kept.
  BodyShare* share = nullptr;
};

struct LaneMemory;  // in the shared region

class Lane {
 public:
  enum class Side : std::uint32_t { kHost = 0, kWorker = 1 };
  static constexpr std::size_t kPieceBytes = 8 * 1024;  // of a body, per message
  static constexpr std::uint64_t kBodyBytesMax = 65ull << 20;

  Lane() = default;
  Lane(LaneMemory* memory, Side side) : memory_(memory), side_(side) {}

  // Sends a message and passes the turn; a body over a piece is sent in several, each taken by the peer. kMessage = it
  // is under way. With a grace the first piece has it too, and a peer that does not take it in time makes the lane
  // unusable. REQUIRES: the turn is this side's.
  LaneEnd send(const LaneMessage& message, std::string_view body, const LaneWait& wait);
  // Waits for the turn and takes the message. `body` is replaced; small capacity is kept. A body that has begun is
  // taken to its end, within wait.body_grace_ns; one that stops is kStuck. kTooBig: `message` arrived and must be
  // answered, its body is lost.
  LaneEnd receive(LaneMessage& message, std::string& body, const LaneWait& wait);

 private:
  LaneEnd wait_turn(const LaneWait& wait);
  bool hand_over();  // false: it was not this side's

  LaneMemory* memory_ = nullptr;
  Side side_ = Side::kHost;
};

struct AnswerHeader;

class AnswerRegion {
 public:
  static constexpr std::uint32_t kCallLanesMax = 8;
  static constexpr std::uint32_t kServiceLanes = 4;

  // Made by the host; every byte is allocated, so that a full machine is an error here and not a SIGBUS later.
  // kUnavailable.
  static Result<std::unique_ptr<AnswerRegion>> create(std::uint32_t call_lanes);
  // Maps a region in the worker. kInvalid: not an answer region of this version.
  static Result<std::unique_ptr<AnswerRegion>> open(UniqueFd fd);
  ~AnswerRegion();
  AnswerRegion(const AnswerRegion&) = delete;
  AnswerRegion& operator=(const AnswerRegion&) = delete;

  int fd() const { return fd_.get(); }                      // -1 in the worker, which does not need it
  std::uint32_t call_lanes() const { return call_lanes_; }  // as made, whatever the memory contains now
  Lane call_lane(std::uint32_t index, Lane::Side side) const;
  Lane service_lane(std::uint32_t index, Lane::Side side) const;

  // The worker rings for service lane `index` after sending there; for a body over a piece before, since sending waits
  // for the host between two pieces.
  void ring(std::uint32_t index);
  // The host collects the rings since its last call. kMessage: `lanes` is their bit set, maybe empty; kBroken: the word
  // is malformed.
  LaneEnd take_rings(std::uint32_t& lanes);
  // The host sleeps until one of the regions is rung, `alarm` is no longer `seen`, or `until_ns` on CLOCK_MONOTONIC. It
  // may wake without reason. A worker can undo wakes on its own word only. Without futex_waitv(2) (before Linux 5.16),
  // and for regions beyond the 127th, it looks every 5 ms.
  static void wait_rings(std::span<const std::shared_ptr<AnswerRegion>> regions, std::atomic<std::uint32_t>& alarm,
                         std::uint32_t seen, std::uint64_t until_ns);
  // Changes the alarm's number and wakes its waiters.
  static void raise(std::atomic<std::uint32_t>& alarm);
  // Called by the host when the worker has ended and `gone` is set: wakes all waiters of the lanes, which are unusable
  // afterwards. Processes left by the worker may undo it at the same moment; no sleep there is longer than a second.
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
