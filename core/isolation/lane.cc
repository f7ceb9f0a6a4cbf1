// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/lane.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>

#include "core/isolation/memory_file.h"

namespace agentd {

// The fixed part of a lane's message, as in memory.
struct LaneHead {
  LaneMessage message;
  std::uint64_t body_bytes = 0;   // of the complete body
  std::uint64_t piece_bytes = 0;  // of the present piece
};

// The turn counts moves: even is the host's, odd the worker's. A count distinguishes a turn that came back from one
// that never left. The highest bit means that the peer has ended.
struct LaneMemory {
  alignas(64) std::atomic<std::uint32_t> turn;
  std::array<std::atomic<std::uint32_t>, 2> asleep;  // by side: the side sleeps and needs a wake
  struct Spins {
    std::atomic<std::uint32_t> ns;  // how long spinning pays; a hint
    std::atomic<std::uint32_t> count;
  };
  std::array<Spins, 2> spins;  // by side
  alignas(64) LaneHead head;
  alignas(64) std::array<char, Lane::kPieceBytes> piece;
};

struct AnswerHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t call_lanes;
  alignas(64) std::atomic<std::uint32_t> rings;  // one bit per service lane
  std::atomic<std::uint32_t> listening;
};

namespace {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(sizeof(LaneHead) % 8 == 0 && sizeof(LaneMessage) == 56);
constexpr std::uint32_t kClosed = 1u << 31;
constexpr std::uint32_t kMoves = kClosed - 1;
constexpr std::uint64_t kSliceNs = 20'000'000;  // between two checks of the cancel word
// A worker, or a process that it left behind, could undo a wake: no sleep on a word that they can change is longer, and
// `gone` is checked too.
constexpr std::uint64_t kGoneSliceNs = 1'000'000'000;
// Between two looks where several words cannot be slept on together.
constexpr std::uint64_t kLookNs = 5'000'000;
// For a body that has begun: for the next piece, and for all pieces. The machine may be very busy.
constexpr std::uint64_t kPieceWaitNs = 10'000'000'000;
constexpr std::uint64_t kBodyWaitNs = 60'000'000'000;
constexpr std::array<std::uint32_t, 2> kSpinMaxNs{20'000, 50'000};
constexpr std::uint32_t kSpinMinNs = 500;
constexpr std::uint32_t kSpinTries = 128;
constexpr std::uint64_t kMagic = 0x72656e6e69617741;  // any number
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kRingBits = (1u << AnswerRegion::kServiceLanes) - 1;

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

// The words are shared between processes.
void wait_for_ring(const WaitWord& word, std::uint32_t seen, std::uint64_t until_ns) {
  (void)futex_wait(word, seen, until_ns, FutexScope::kMachine);
}
void ring_word(const WaitWord& word) { futex_wake(word, INT32_MAX, FutexScope::kMachine); }

void pause_cpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// With one processor the peer cannot move while this side spins.
bool may_spin() {
  static const bool several = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) > 1;
  }();
  return several;
}

std::size_t index_of(Lane::Side side) { return static_cast<std::size_t>(side); }
Lane::Side other(Lane::Side side) { return side == Lane::Side::kHost ? Lane::Side::kWorker : Lane::Side::kHost; }
bool is_turn_of(Lane::Side side, std::uint32_t turn) { return (turn & 1) == static_cast<std::uint32_t>(side); }
std::uint32_t moved(std::uint32_t turn) { return ((turn + 1) & kMoves) | (turn & kClosed); }

bool has_ended(const LaneWait& wait) { return wait.gone != nullptr && wait.gone->load(std::memory_order_acquire) != 0; }
bool is_cancelled(const LaneWait& wait) {
  return wait.cancel != nullptr && __atomic_load_n(wait.cancel, __ATOMIC_ACQUIRE) != 0;
}

// Each word is read once; later checks use the private copy.
LaneHead copy_head(const LaneHead& shared) {
  std::array<std::uint64_t, sizeof(LaneHead) / 8> words;
  const auto* const from = reinterpret_cast<const volatile std::uint64_t*>(&shared);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = from[i];
  LaneHead head;
  std::memcpy(static_cast<void*>(&head), words.data(), sizeof(head));
  return head;
}

// Waits until the turn changes or the time is over; returns the turn.
std::uint32_t spin(const LaneMemory& lane, std::uint32_t seen, std::uint64_t until_ns) {
  for (std::uint32_t round = 1;; ++round) {
    const std::uint32_t turn = lane.turn.load(std::memory_order_acquire);
    if (turn != seen || (round % 16 == 0 && now_ns() >= until_ns)) return turn;
    pause_cpu();
  }
}

// Spins for as long as that has recently paid. If every processor is busy, the peer moves only once this side sleeps,
// so a useless spin halves the next one and a successful one doubles it. Now and then the longest is tried, since
// conditions change.
std::uint32_t spin_awhile(LaneMemory& lane, Lane::Side side, std::uint32_t seen) {
  if (!may_spin()) return seen;
  LaneMemory::Spins& spins = lane.spins[index_of(side)];
  const std::uint32_t most = kSpinMaxNs[index_of(side)];
  const bool tries = spins.count.fetch_add(1, std::memory_order_relaxed) % kSpinTries == 0;
  const std::uint32_t usual = std::clamp(spins.ns.load(std::memory_order_relaxed), kSpinMinNs, most);
  const std::uint32_t turn = spin(lane, seen, now_ns() + (tries ? most : usual));
  const std::uint32_t next = turn == seen ? usual / 2 : tries ? most : usual * 2;
  spins.ns.store(next, std::memory_order_relaxed);
  return turn;
}

// Sleeps until the turn is no longer `seen`, or until any other wake.
void sleep_on(LaneMemory& lane, Lane::Side side, std::uint32_t seen, std::uint64_t until_ns) {
  std::atomic<std::uint32_t>& asleep = lane.asleep[index_of(side)];
  asleep.store(1, std::memory_order_seq_cst);
  if (lane.turn.load(std::memory_order_seq_cst) == seen) wait_for_ring(lane.turn, seen, until_ns);
  asleep.store(0, std::memory_order_relaxed);
}

}  // namespace

LaneEnd Lane::wait_turn(const LaneWait& wait) {
  std::uint32_t turn = memory_->turn.load(std::memory_order_acquire);
  for (bool first = true;; first = false) {
    if (is_turn_of(side_, turn)) return LaneEnd::kMessage;
    if (has_ended(wait)) return LaneEnd::kGone;
    // Only wake_all() sets it, after `gone`.
    if ((turn & kClosed) != 0) return wait.gone == nullptr ? LaneEnd::kGone : LaneEnd::kBroken;
    if (is_cancelled(wait)) return LaneEnd::kCancelled;
    if (first) {
      const std::uint32_t next = spin_awhile(*memory_, side_, turn);
      if (std::exchange(turn, next) != next) continue;
    }
    const std::uint64_t now = now_ns();
    if (now >= wait.until_ns) return LaneEnd::kTimeout;
    const std::uint64_t slice = wait.cancel != nullptr ? kSliceNs : kGoneSliceNs;
    sleep_on(*memory_, side_, turn, std::min(now + slice, wait.until_ns));
    turn = memory_->turn.load(std::memory_order_acquire);
  }
}

bool Lane::hand_over() {
  std::uint32_t turn = memory_->turn.load(std::memory_order_relaxed);
  do {
    if (!is_turn_of(side_, turn)) return false;
  } while (!memory_->turn.compare_exchange_weak(turn, moved(turn), std::memory_order_seq_cst));
  if (memory_->asleep[index_of(other(side_))].load(std::memory_order_seq_cst) != 0) ring_word(memory_->turn);
  return true;
}

namespace {

std::uint64_t later(std::uint64_t at_ns, std::uint64_t by_ns) {
  return at_ns > Deadline::kNever - by_ns ? Deadline::kNever : at_ns + by_ns;
}

// The peer is in the middle of a body: a deadline or a cancel does not stop it immediately, since the lane would be
// unusable afterwards; but it must make progress.
class BodyWait {
 public:
  explicit BodyWait(const LaneWait& wait) : wait_(wait), until_ns_(later(wait.until_ns, wait.body_grace_ns)) {
    if (wait.body_grace_ns == Deadline::kNever) wait_.cancel = nullptr;
  }
  bool has_limit() const { return wait_.body_grace_ns != Deadline::kNever; }
  void begin() {
    if (!std::exchange(begun_, true)) until_ns_ = std::min(until_ns_, now_ns() + kBodyWaitNs);
  }
  // `turn` waits for the peer's piece, or for it to take this side's.
  template <typename Turn>
  LaneEnd next(Turn turn) {
    for (;;) {
      wait_.until_ns = begun_ ? std::min(until_ns_, now_ns() + kPieceWaitNs) : until_ns_;
      const LaneEnd end = turn(wait_);
      if (end == LaneEnd::kTimeout) return LaneEnd::kStuck;
      if (end != LaneEnd::kCancelled) return end;
      wait_.cancel = nullptr;
      until_ns_ = std::min(until_ns_, later(now_ns(), wait_.body_grace_ns));
    }
  }

 private:
  LaneWait wait_;
  std::uint64_t until_ns_;
  bool begun_ = false;
};

std::uint64_t piece_of(std::uint64_t body_bytes, std::uint64_t done) {
  return std::min<std::uint64_t>(body_bytes - done, Lane::kPieceBytes);
}

}  // namespace

LaneEnd Lane::send(const LaneMessage& message, std::string_view body, const LaneWait& wait) {
  if (body.size() > kBodyBytesMax) return LaneEnd::kTooBig;
  if (has_ended(wait)) return LaneEnd::kGone;
  const auto turn = [this](const LaneWait& until) { return wait_turn(until); };
  BodyWait taken(wait);
  for (std::uint64_t done = 0;;) {
    if (!is_turn_of(side_, memory_->turn.load(std::memory_order_acquire))) return LaneEnd::kBroken;
    const std::uint64_t piece = piece_of(body.size(), done);
    memory_->head = {message, body.size(), piece};
    if (piece != 0) std::memcpy(memory_->piece.data(), body.data() + done, piece);
    if (!hand_over()) return LaneEnd::kBroken;
    done += piece;
    if (done == body.size()) return LaneEnd::kMessage;
    // The receiver of the first piece may be busy elsewhere.
    const bool plain = done == piece && !taken.has_limit();
    const LaneEnd end = plain ? wait_turn(wait) : taken.next(turn);
    if (end != LaneEnd::kMessage) return end;
    if (copy_head(memory_->head).message.op != static_cast<std::uint32_t>(LaneOp::kMore)) return LaneEnd::kBroken;
    taken.begin();
  }
}

// For the body of an earlier message.
constexpr std::size_t kCapacityKept = 1u << 20;

LaneEnd Lane::receive(LaneMessage& message, std::string& body, const LaneWait& wait) {
  body.clear();
  if (wait.share != nullptr) wait.share->give_back();
  if (body.capacity() > kCapacityKept) body = std::string();
  LaneEnd end = wait_turn(wait);
  if (end != LaneEnd::kMessage) return end;
  const LaneHead first = copy_head(memory_->head);
  if (first.body_bytes > kBodyBytesMax) return LaneEnd::kBroken;
  const bool keeps = wait.share == nullptr || first.body_bytes <= kPieceBytes || wait.share->take(first.body_bytes);
  if (keeps) body.reserve(first.body_bytes);
  std::uint64_t taken = 0;
  const auto turn = [this](const LaneWait& until) { return wait_turn(until); };
  BodyWait coming(wait);
  coming.begin();
  for (LaneHead head = first;;) {
    // The first piece determines the others.
    if (head.body_bytes != first.body_bytes || head.message.op != first.message.op ||
        head.piece_bytes != piece_of(first.body_bytes, taken))
      return LaneEnd::kBroken;
    if (keeps) body.append(memory_->piece.data(), head.piece_bytes);
    taken += head.piece_bytes;
    if (taken == first.body_bytes) break;
    LaneHead more;
    more.message.op = static_cast<std::uint32_t>(LaneOp::kMore);
    memory_->head = more;
    if (!hand_over()) return LaneEnd::kBroken;
    end = coming.next(turn);
    if (end != LaneEnd::kMessage) return end;
    head = copy_head(memory_->head);
  }
  message = first.message;
  return keeps ? LaneEnd::kMessage : LaneEnd::kTooBig;
}

// ---- the region

namespace {

constexpr std::size_t kHeaderBytes = 4096;
constexpr std::size_t kLaneStride = (sizeof(LaneMemory) + 4095) / 4096 * 4096;
static_assert(sizeof(AnswerHeader) <= kHeaderBytes);

std::size_t region_bytes(std::uint32_t call_lanes) {
  return kHeaderBytes + kLaneStride * (call_lanes + AnswerRegion::kServiceLanes);
}

AnswerHeader* header_of(void* memory) { return static_cast<AnswerHeader*>(memory); }

Error no_region(const char* why) {
  return {Code::kInvalid, std::string("the descriptor is not an answer region: ") + why};
}

}  // namespace

AnswerRegion::AnswerRegion(UniqueFd fd, void* memory, std::size_t bytes, std::uint32_t call_lanes)
    : fd_(std::move(fd)), memory_(memory), bytes_(bytes), call_lanes_(call_lanes) {}

AnswerRegion::~AnswerRegion() { munmap(memory_, bytes_); }

Result<std::unique_ptr<AnswerRegion>> AnswerRegion::create(std::uint32_t call_lanes) {
  AGENTD_ASSERT(call_lanes >= 1 && call_lanes <= kCallLanesMax);
  const std::size_t bytes = region_bytes(call_lanes);
  AGENTD_TRY(UniqueFd fd, make_memory_file("agentd-answers", bytes));
  AGENTD_TRY_VOID(back_memory(fd.get(), 0, bytes));
  AGENTD_TRY_VOID(seal_memory(fd.get(), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
  AGENTD_TRY(void* const memory, map_answers(fd.get(), bytes));
  std::unique_ptr<AnswerRegion> region(new AnswerRegion(std::move(fd), memory, bytes, call_lanes));
  for (std::uint32_t i = 0; i < call_lanes + kServiceLanes; ++i) {
    auto* const lane = region->lane(i);
    new (lane) LaneMemory;
    // The first turn is the host's in a call lane, the worker's in a service lane.
    lane->turn.store(i < call_lanes ? 0 : 1);
    // A worker that is called only once would spin in vain at each turn of its start.
    for (LaneMemory::Spins& spins : lane->spins) spins.count.store(1);
  }
  auto* const header = new (memory) AnswerHeader{};
  header->version = kVersion;
  header->call_lanes = call_lanes;
  header->magic = kMagic;
  return region;
}

Result<std::unique_ptr<AnswerRegion>> AnswerRegion::open(UniqueFd fd) {
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return errno_error("looking at the answer region", errno);
  if (!S_ISREG(info.st_mode) || info.st_size < static_cast<off_t>(region_bytes(1))) return no_region("it is too small");
  const auto bytes = static_cast<std::size_t>(info.st_size);
  AGENTD_TRY(void* const memory, map_answers(fd.get(), bytes));
  std::unique_ptr<AnswerRegion> region(new AnswerRegion(UniqueFd(), memory, bytes, 0));
  const AnswerHeader& header = *header_of(memory);
  if (header.magic != kMagic || header.version != kVersion) return no_region("it was made by another version");
  const std::uint32_t call_lanes = header.call_lanes;
  if (call_lanes < 1 || call_lanes > kCallLanesMax || bytes != region_bytes(call_lanes))
    return no_region("its size and its lanes disagree");
  region->call_lanes_ = call_lanes;
  return region;
}

LaneMemory* AnswerRegion::lane(std::uint32_t index) const {
  return reinterpret_cast<LaneMemory*>(static_cast<std::byte*>(memory_) + kHeaderBytes + kLaneStride * index);
}

Lane AnswerRegion::call_lane(std::uint32_t index, Lane::Side side) const {
  AGENTD_ASSERT(index < call_lanes_);
  return {lane(index), side};
}

Lane AnswerRegion::service_lane(std::uint32_t index, Lane::Side side) const {
  AGENTD_ASSERT(index < kServiceLanes);
  return {lane(call_lanes_ + index), side};
}

void AnswerRegion::ring(std::uint32_t index) {
  AGENTD_ASSERT(index < kServiceLanes);
  AnswerHeader& header = *header_of(memory_);
  header.rings.fetch_or(1u << index, std::memory_order_seq_cst);
  if (header.listening.load(std::memory_order_seq_cst) != 0) ring_word(header.rings);
}

LaneEnd AnswerRegion::take_rings(std::uint32_t& lanes) {
  const std::uint32_t rings = header_of(memory_)->rings.exchange(0, std::memory_order_acq_rel);
  lanes = rings & kRingBits;
  return rings == lanes ? LaneEnd::kMessage : LaneEnd::kBroken;
}

void AnswerRegion::wait_rings(std::span<const std::shared_ptr<AnswerRegion>> regions, std::atomic<std::uint32_t>& alarm,
                              std::uint32_t seen, std::uint64_t until_ns) {
  std::array<FutexWait, kFutexWaitsMax> words{{{&alarm, seen}}};
  std::size_t count = 1;
  bool rung = alarm.load(std::memory_order_seq_cst) != seen;
  for (const auto& region : regions) {
    AnswerHeader& header = *header_of(region->memory_);
    header.listening.store(1, std::memory_order_seq_cst);
    rung = rung || header.rings.load(std::memory_order_seq_cst) != 0;
    if (count < words.size()) words[count++] = {&header.rings, 0};
  }
  if (regions.size() >= words.size()) until_ns = std::min(until_ns, now_ns() + kLookNs);
  if (!rung && !futex_wait_any(std::span(words).first(count), until_ns))
    wait_for_ring(alarm, seen, std::min(until_ns, now_ns() + kLookNs));
  for (const auto& region : regions) header_of(region->memory_)->listening.store(0, std::memory_order_relaxed);
}

void AnswerRegion::raise(std::atomic<std::uint32_t>& alarm) {
  alarm.fetch_add(1, std::memory_order_seq_cst);
  ring_word(alarm);
}

void AnswerRegion::wake_all() {
  for (std::uint32_t i = 0; i < call_lanes_ + kServiceLanes; ++i) {
    // The bit makes a sleep that is about to begin fail, so no wake is lost.
    lane(i)->turn.fetch_or(kClosed, std::memory_order_seq_cst);
    ring_word(lane(i)->turn);
  }
}

}  // namespace agentd
