// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/window.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <deque>
#include <iterator>
#include <list>
#include <unordered_map>
#include <utility>

#include "core/base/mutex.h"
#include "core/isolation/memory_file.h"
#include "core/isolation/record_copy.h"

namespace agentd {
namespace {

constexpr std::uint64_t kExtentMin = 64 * 1024;
constexpr std::uint64_t kExtentUsual = 1024 * 1024;  // the most that is taken beyond the request
constexpr unsigned kExtentMinBits = 16;
constexpr std::uint64_t kLiveBytes = PayloadWindow::kLiveWords * sizeof(agentd_live);
static_assert(kLiveBytes <= kExtentMin);

// Places tried for a window, and the step between them: downwards, unless a sanitizer reserves everything below.
constexpr std::uint32_t kPlaces = 1024;
#if defined(__SANITIZE_THREAD__)
#define AGENTD_WINDOWS_GO_UP 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define AGENTD_WINDOWS_GO_UP 1
#endif
#endif
#if defined(AGENTD_WINDOWS_GO_UP)
constexpr bool kDown = false;
#else
constexpr bool kDown = true;
#endif

std::uintptr_t place_number(std::uint32_t number) {
  const std::uintptr_t away = std::uintptr_t{number} * PayloadWindow::kBytes;
  return kDown ? PayloadWindow::kFirstBase - away : PayloadWindow::kFirstBase + away;
}

// Null if the address is taken. A kernel that does not know the flag maps elsewhere.
void* map_at(std::uintptr_t base, int protection, int fd) {
  void* const wanted = reinterpret_cast<void*>(base);
  void* const got =
      mmap(wanted, PayloadWindow::kBytes, protection, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd, 0);
  if (got == MAP_FAILED) return nullptr;
  if (got == wanted) return got;
  munmap(got, PayloadWindow::kBytes);
  return nullptr;
}

Error full() { return {Code::kUnavailable, "no memory is left for a worker's payload window"}; }

struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

}  // namespace

// The allocation of the window's bytes.
struct PayloadWindow::Space {
  Space(int file, std::uintptr_t at) : fd(file), base(at) {}

  // bytes = 0: none left.
  Extent take(std::uint64_t bytes) {
    if (bytes > kBytes / 2) return {};
    const unsigned bits = std::max(kExtentMinBits, static_cast<unsigned>(std::bit_width(bytes - 1)));
    const Extent out{0, std::uint64_t{1} << bits};
    const MutexLock lock(mutex);
    std::vector<std::uint64_t>& list = returned[bits];
    if (list.empty()) return fresh(out.bytes);
    const std::uint64_t offset = list.back();
    list.pop_back();
    return {offset, out.bytes};
  }
  void give_back(const Extent& extent) {
    const MutexLock lock(mutex);
    returned[static_cast<std::size_t>(std::bit_width(extent.bytes) - 1)].push_back(extent.offset);
  }
  std::shared_ptr<Mirror> mirror_of(std::uint64_t lineage);
  void forget(const std::shared_ptr<Mirror>& mirror);
  // Called after the mirror may have grown: drops others if all together are too large.
  void count(const std::shared_ptr<Mirror>& mirror);
  void begin_frame() {
    const MutexLock lock(mutex);
    ++frames;
  }
  void end_frame();

  const int fd;
  const std::uintptr_t base;
  std::atomic<std::uint64_t> used{0};  // backed bytes: the length of the file
  Mutex mutex;                         // not held while copying
  // Offsets, by the binary logarithm of their size.
  std::array<std::vector<std::uint64_t>, 40> returned GUARDED_BY(mutex);
  std::deque<std::uint32_t> live GUARDED_BY(mutex);  // free words, least recently used first
  struct Kept {
    std::shared_ptr<Mirror> mirror;  // shared with the calls that read it
    std::uint64_t bytes = 0;         // its part of mirror_bytes
  };
  using MirrorList = std::list<Kept>;
  MirrorList mirrors GUARDED_BY(mutex);  // most recently used first
  std::unordered_map<std::uint64_t, MirrorList::iterator> by_lineage GUARDED_BY(mutex);
  std::uint64_t mirror_bytes GUARDED_BY(mutex) = 0;
  std::uint32_t frames GUARDED_BY(mutex) = 0;

 private:
  bool is_too_long() const REQUIRES(mutex) {
    return frames == 0 && used.load(std::memory_order_relaxed) > kKeptBytesMax;
  }
  // The caller destroys it after the lock is released, to return its extents.
  std::shared_ptr<Mirror> drop(MirrorList::iterator kept) REQUIRES(mutex);
  Extent fresh(std::uint64_t bytes) REQUIRES(mutex) {
    const std::uint64_t offset = used.load(std::memory_order_relaxed);
    if (bytes > kBackedBytesMax - offset || !back_memory(fd, offset, bytes)) return {};
    used.store(offset + bytes, std::memory_order_relaxed);
    return {offset, bytes};
  }
};

namespace {

// Takes from the end of an extent; makes a new one if that is full.
template <typename Space>
std::uint64_t bump(Space& space, std::vector<std::pair<std::uint64_t, std::uint64_t>>& extents, std::uint64_t& at,
                   std::uint64_t& end, std::uint64_t bytes, std::uint64_t align) {
  std::uint64_t start = (at + align - 1) / align * align;
  if (end == 0 || start > end || bytes > end - start) {
    const std::uint64_t before = extents.empty() ? 0 : extents.back().second;
    const Extent extent = space.take(std::max({bytes, kExtentMin, std::min(before * 2, kExtentUsual)}));
    if (extent.bytes == 0) return 0;
    extents.emplace_back(extent.offset, extent.bytes);
    start = extent.offset;
    end = extent.offset + extent.bytes;
  }
  at = start + bytes;
  return start;
}

}  // namespace

// One conversation's rows in the window.
class PayloadWindow::Mirror {
 public:
  Mirror(Space& space, std::uint64_t lineage) : space_(space), lineage_(lineage) {}
  ~Mirror() {
    for (const auto& [offset, bytes] : extents_) space_.give_back({offset, bytes});
  }
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  std::uint64_t lineage() const { return lineage_; }
  // The part of the window that it holds, also where no row is yet.
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  void* allocate(std::size_t bytes, std::size_t align) {
    mutex_.assert_held();
    const std::size_t extents = extents_.size();
    const std::uint64_t offset = bump(space_, extents_, at_, end_, bytes, align);
    if (extents_.size() != extents) bytes_ += extents_.back().second;
    if (offset != 0) placed_ += bytes;
    return offset == 0 ? nullptr : reinterpret_cast<void*>(space_.base + offset);
  }
  void unpin() {
    const MutexLock lock(mutex_);
    --pins_;
  }

  enum class Fit : std::uint8_t { kShown, kForeign, kWasteful };
  // Provides the list in the window; the caller pins the mirror. kForeign: it begins with other rows; kWasteful: a new
  // mirror pays.
  Result<Fit> show(agentd_list list, agentd_list& out);

 private:
  std::uint32_t common_with(const agentd_list& list) const REQUIRES(mutex_);
  Result<void> forget_from(std::uint32_t index) REQUIRES(mutex_);
  Result<void> append(const agentd_list& list) REQUIRES(mutex_);
  bool widen(std::uint32_t count) REQUIRES(mutex_);

  Space& space_;
  const std::uint64_t lineage_;
  std::atomic<std::uint64_t> bytes_{0};  // of extents_
  Mutex mutex_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> extents_ GUARDED_BY(mutex_);
  std::uint64_t at_ GUARDED_BY(mutex_) = 0, end_ GUARDED_BY(mutex_) = 0;
  std::uint64_t placed_ GUARDED_BY(mutex_) = 0;           // bytes placed in total
  std::uint64_t wasted_ GUARDED_BY(mutex_) = 0;           // of them: rows that are in no list any more
  std::vector<agentd_message> seen_ GUARDED_BY(mutex_);   // the host's rows, identified by their addresses
  std::vector<std::uint64_t> begins_ GUARDED_BY(mutex_);  // placed_ before each row
  agentd_message* rows_ GUARDED_BY(mutex_) = nullptr;     // in the window
  std::uint32_t capacity_ GUARDED_BY(mutex_) = 0;
  std::uint32_t pins_ GUARDED_BY(mutex_) = 0;
  std::uint32_t misses_ GUARDED_BY(mutex_) = 0;  // lists in a row that began with other rows
};

namespace {

agentd_message row_of(const agentd_list& list, std::uint32_t index) {
  return read_at<agentd_message>(list.first, std::size_t{index} * list.stride);
}

// A row is never edited and never moves, so equal bytes mean the same row.
bool same_row(const agentd_message& a, const agentd_message& b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }

// Makes deep copies; Memory provides allocate().
template <typename Memory>
class Copier {
 public:
  explicit Copier(Memory& memory) : memory_(memory) {}
  virtual ~Copier() = default;
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;

  Result<void*> record(const Shape& shape, const void* from, int depth) {
    void* const to = memory_.allocate(shape.bytes, 8);
    if (to == nullptr) return full();
    copy_record(shape, from, kCrossingRecordMax, to);
    AGENTD_TRY_VOID(members(shape, to, depth));
    return to;
  }

  // Copies everything that the members of a copied record point to.
  Result<void> members(const Shape& shape, void* record, int depth) {
    for (const Shape::Member& member : shape.members)
      AGENTD_TRY_VOID(follow(shape, member, static_cast<std::byte*>(record) + member.offset, depth));
    return {};
  }

 protected:
  // True if `to` has the list already.
  virtual Result<bool> elsewhere(const Shape&, const agentd_list&, void*) { return false; }

 private:
  Result<void> follow(const Shape& shape, const Shape::Member& member, void* at, int depth) {
    switch (member.kind) {
      case Shape::Kind::kText:
        return text(shape, at);
      case Shape::Kind::kList:
        return list(member.of, at, depth);
      case Shape::Kind::kPointer:
        return pointer(member.of, at, depth);
    }
    return {};
  }

  Result<void> text(const Shape& shape, void* at) {
    const auto from = read_at<agentd_str>(at, 0);
    AGENTD_TRY_VOID(check_text(shape, from));
    if (from.ptr == nullptr) return {};
    void* const to = memory_.allocate(from.len, 1);
    if (to == nullptr) return full();
    if (from.len != 0) std::memcpy(to, from.ptr, from.len);
    write_at<const void*>(at, 0, to);
    return {};
  }

  Result<void> list(const Shape* of, void* at, int depth) {
    const auto from = read_at<agentd_list>(at, 0);
    if (of == nullptr || from.count == 0) {
      write_at(at, 0, agentd_list{nullptr, 0, of == nullptr ? 0u : of->bytes});
      return {};
    }
    AGENTD_TRY_VOID(check_list(*of, from));
    if (depth >= kCrossingDepthMax) return too_deep(*of);
    AGENTD_TRY(const bool there, elsewhere(*of, from, at));
    if (there) return {};
    const std::uint64_t bytes = std::uint64_t{from.count} * of->bytes;
    auto* const to = static_cast<std::byte*>(memory_.allocate(bytes, 8));
    if (to == nullptr) return full();
    write_at(at, 0, agentd_list{to, from.count, of->bytes});
    for (std::uint32_t i = 0; i < from.count; ++i) {
      std::byte* const row = to + std::size_t{i} * of->bytes;
      copy_record(*of, static_cast<const std::byte*>(from.first) + std::size_t{i} * from.stride, from.stride, row);
      AGENTD_TRY_VOID(members(*of, row, depth + 1));
    }
    return {};
  }

  Result<void> pointer(const Shape* of, void* at, int depth) {
    const auto* const from = read_at<const void*>(at, 0);
    if (of == nullptr || from == nullptr) {
      write_at<const void*>(at, 0, nullptr);
      return {};
    }
    if (depth >= kCrossingDepthMax) return too_deep(*of);
    AGENTD_TRY(void* const to, record(*of, from, depth + 1));
    write_at<const void*>(at, 0, to);
    return {};
  }

  Memory& memory_;
};

}  // namespace

// The number of rows that the list and the mirror share. Lists of one lineage diverge once, so the last common row is
// found from the end.
std::uint32_t PayloadWindow::Mirror::common_with(const agentd_list& list) const {
  auto count = std::min(list.count, static_cast<std::uint32_t>(seen_.size()));
  if (count == 0 || !same_row(row_of(list, 0), seen_[0])) return 0;
  while (!same_row(row_of(list, count - 1), seen_[count - 1])) --count;
  return count;
}

bool PayloadWindow::Mirror::widen(std::uint32_t count) {
  if (count <= capacity_) return true;
  const std::uint32_t wider = std::max({count, capacity_ * 2, 64u});
  auto* const rows =
      static_cast<agentd_message*>(allocate(std::size_t{wider} * sizeof(agentd_message), alignof(agentd_message)));
  if (rows == nullptr) return false;
  if (!seen_.empty()) std::memcpy(rows, rows_, seen_.size() * sizeof(agentd_message));
  wasted_ += std::uint64_t{capacity_} * sizeof(agentd_message);
  rows_ = rows;
  capacity_ = wider;
  return true;
}

// A call that reads the array keeps it: the remaining rows go to another one.
Result<void> PayloadWindow::Mirror::forget_from(std::uint32_t index) {
  if (index == seen_.size()) return {};
  wasted_ += placed_ - begins_[index];
  seen_.resize(index);
  begins_.resize(index);
  if (pins_ == 0) return {};
  const std::uint32_t before = capacity_;
  capacity_ = 0;
  if (widen(before)) {
    wasted_ += std::uint64_t{before} * sizeof(agentd_message);
    return {};
  }
  // The array now belongs to a call; the next list starts a new one.
  seen_.clear();
  begins_.clear();
  return full();
}

Result<void> PayloadWindow::Mirror::append(const agentd_list& list) {
  Copier<Mirror> copier(*this);
  for (auto i = static_cast<std::uint32_t>(seen_.size()); i < list.count; ++i) {
    const agentd_message from = row_of(list, i);
    const std::uint64_t begin = placed_;
    if (!widen(i + 1)) return full();
    copy_record(message_shape(), &from, sizeof(from), &rows_[i]);
    AGENTD_TRY_VOID(copier.members(message_shape(), &rows_[i], 1));
    seen_.push_back(from);
    begins_.push_back(begin);
  }
  return {};
}

Result<PayloadWindow::Mirror::Fit> PayloadWindow::Mirror::show(agentd_list list, agentd_list& out) {
  const MutexLock lock(mutex_);
  const std::uint32_t common = common_with(list);
  // A mirror of only a part of the history would be useless for the rest.
  if (common == 0 && !seen_.empty()) return ++misses_ > 1 ? Fit::kWasteful : Fit::kForeign;
  if (common < list.count) {
    if (wasted_ > kExtentUsual && wasted_ > placed_ / 2) return Fit::kWasteful;
    AGENTD_TRY_VOID(forget_from(common));
    AGENTD_TRY_VOID(append(list));
  }
  misses_ = 0;
  ++pins_;
  out = {rows_, list.count, sizeof(agentd_message)};
  return Fit::kShown;
}

std::shared_ptr<PayloadWindow::Mirror> PayloadWindow::Space::drop(MirrorList::iterator kept) {
  std::shared_ptr<Mirror> out = std::move(kept->mirror);
  mirror_bytes -= kept->bytes;
  by_lineage.erase(out->lineage());
  mirrors.erase(kept);
  return out;
}

std::shared_ptr<PayloadWindow::Mirror> PayloadWindow::Space::mirror_of(std::uint64_t lineage) {
  std::shared_ptr<Mirror> gone;
  const MutexLock lock(mutex);
  const auto found = by_lineage.find(lineage);
  if (found != by_lineage.end()) {
    mirrors.splice(mirrors.begin(), mirrors, found->second);
    return mirrors.front().mirror;
  }
  if (mirrors.size() == kMirrorsMax) gone = drop(std::prev(mirrors.end()));
  MirrorList made;
  made.push_front({std::make_shared<Mirror>(*this, lineage)});
  by_lineage.emplace(lineage, made.begin());
  mirrors.splice(mirrors.begin(), made);
  return mirrors.front().mirror;
}

void PayloadWindow::Space::forget(const std::shared_ptr<Mirror>& mirror) {
  std::shared_ptr<Mirror> gone;
  const MutexLock lock(mutex);
  const auto found = by_lineage.find(mirror->lineage());
  if (found != by_lineage.end() && found->second->mirror == mirror) gone = drop(found->second);
}

void PayloadWindow::Space::count(const std::shared_ptr<Mirror>& mirror) {
  std::vector<std::shared_ptr<Mirror>> gone;
  const MutexLock lock(mutex);
  const auto found = by_lineage.find(mirror->lineage());
  if (found == by_lineage.end() || found->second->mirror != mirror) return;  // dropped by another call
  Kept& kept = *found->second;
  const std::uint64_t bytes = mirror->bytes();
  mirror_bytes += bytes - kept.bytes;
  kept.bytes = bytes;
  mirrors.splice(mirrors.begin(), mirrors, found->second);
  while (mirror_bytes > kMirrorBytesMax && mirrors.size() > 1) gone.push_back(drop(std::prev(mirrors.end())));
}

// The next call makes mirrors again: their contents are not worth so much memory. Only mirrors and frames hold extents,
// so without both every extent is free.
void PayloadWindow::Space::end_frame() {
  MirrorList gone;
  {
    const MutexLock lock(mutex);
    --frames;
    if (!is_too_long()) return;
    gone.swap(mirrors);
    by_lineage.clear();
    mirror_bytes = 0;
  }
  gone.clear();  // takes the lock to return extents
  const MutexLock lock(mutex);
  if (!is_too_long() || !mirrors.empty() || !cut_memory(fd, kExtentMin)) return;
  for (std::vector<std::uint64_t>& list : returned) list.clear();
  used.store(kExtentMin, std::memory_order_relaxed);
}

// ---- a frame

PayloadWindow::Frame::Frame(PayloadWindow& window) : window_(&window) { window.space_->begin_frame(); }

PayloadWindow::Frame::Frame(Frame&& other) noexcept
    : window_(std::exchange(other.window_, nullptr)),
      extents_(std::move(other.extents_)),
      at_(std::exchange(other.at_, 0)),
      end_(std::exchange(other.end_, 0)),
      pinned_(std::move(other.pinned_)) {
  other.extents_.clear();
  other.pinned_.clear();
}

PayloadWindow::Frame::~Frame() {
  if (window_ == nullptr) return;
  for (const auto& mirror : pinned_) mirror->unpin();
  pinned_.clear();
  for (const auto& [offset, bytes] : extents_) window_->space_->give_back({offset, bytes});
  window_->space_->end_frame();
}

void* PayloadWindow::Frame::allocate(std::size_t bytes, std::size_t align) {
  Space& space = *window_->space_;
  const std::uint64_t offset = bump(space, extents_, at_, end_, bytes, align);
  return offset == 0 ? nullptr : reinterpret_cast<void*>(space.base + offset);
}

// ---- the window

// Copies to a frame, but provides a conversation's history from its mirror.
class PayloadWindow::Placer final : public Copier<PayloadWindow::Frame> {
 public:
  Placer(Space& space, Frame& frame, std::uint64_t lineage)
      : Copier(frame), space_(space), frame_(frame), lineage_(lineage) {}

 private:
  Result<bool> elsewhere(const Shape& of, const agentd_list& list, void* to) override {
    if (lineage_ == 0 || &of != &message_shape() || list.stride < sizeof(agentd_message)) return false;
    agentd_list shown{};
    auto mirror = space_.mirror_of(lineage_);
    AGENTD_TRY(Mirror::Fit fit, show(mirror, list, shown));
    if (fit == Mirror::Fit::kWasteful) {
      space_.forget(mirror);
      mirror = space_.mirror_of(lineage_);
      AGENTD_TRY(fit, show(mirror, list, shown));
    }
    if (fit != Mirror::Fit::kShown) return false;
    frame_.pinned_.push_back(std::move(mirror));
    write_at(to, 0, shown);
    return true;
  }

  // Counts what the mirror has taken, also when its memory did not suffice.
  Result<Mirror::Fit> show(const std::shared_ptr<Mirror>& mirror, const agentd_list& list, agentd_list& out) {
    auto fit = mirror->show(list, out);
    space_.count(mirror);
    return fit;
  }

  Space& space_;
  Frame& frame_;
  const std::uint64_t lineage_;
};

PayloadWindow::PayloadWindow(UniqueFd fd, UniqueFd reader, std::uintptr_t base)
    : fd_(std::move(fd)), reader_(std::move(reader)), base_(base), space_(std::make_unique<Space>(fd_.get(), base)) {}

PayloadWindow::~PayloadWindow() { munmap(reinterpret_cast<void*>(base_), kBytes); }

Result<std::unique_ptr<PayloadWindow>> PayloadWindow::create(std::uint32_t skip) {
  AGENTD_TRY(UniqueFd fd, make_memory_file("agentd-payload", 0));
  AGENTD_TRY_VOID(back_memory(fd.get(), 0, kExtentMin));
  AGENTD_TRY(UniqueFd reader, reopen_for_reading(fd.get()));
  void* memory = nullptr;
  for (std::uint32_t i = skip; i < kPlaces && memory == nullptr; ++i)
    memory = map_at(place_number(i), PROT_READ | PROT_WRITE, fd.get());
  if (memory == nullptr) return Error{Code::kUnavailable, "no address is free for a worker's window of 64 GiB"};
  std::unique_ptr<PayloadWindow> window(
      new PayloadWindow(std::move(fd), std::move(reader), reinterpret_cast<std::uintptr_t>(memory)));
  // Neither child processes nor core files need it.
  if (madvise(memory, kBytes, MADV_DONTFORK) != 0 || madvise(memory, kBytes, MADV_DONTDUMP) != 0)
    return Error{Code::kUnavailable, errno_error("keeping a window from children", errno).message};
  // Only the host may change its length: no other process has a descriptor that could.
  AGENTD_TRY_VOID(seal_memory(window->fd_.get(), F_SEAL_FUTURE_WRITE | F_SEAL_SEAL));
  window->space_->used = kExtentMin;
  const MutexLock lock(window->space_->mutex);
  for (std::uint32_t i = 0; i < kLiveWords; ++i) window->space_->live.push_back(i);
  return window;
}

Result<const void*> PayloadWindow::place(Frame& frame, const Shape& shape, const void* record, std::uint64_t lineage) {
  if (record == nullptr) return nullptr;
  Placer placer(*space_, frame, lineage);
  AGENTD_TRY(const void* const placed, placer.record(shape, record, 0));
  return placed;
}

agentd_live* PayloadWindow::acquire_live() {
  const MutexLock lock(space_->mutex);
  if (space_->live.empty()) return nullptr;
  auto* const live = reinterpret_cast<agentd_live*>(base_) + space_->live.front();
  space_->live.pop_front();
  __atomic_store_n(&live->deadline_ns, UINT64_MAX, __ATOMIC_RELEASE);
  __atomic_store_n(&live->cancel, 0u, __ATOMIC_RELEASE);
  return live;
}

void PayloadWindow::release_live(agentd_live* live) {
  const std::ptrdiff_t index = live - reinterpret_cast<agentd_live*>(base_);
  AGENTD_ASSERT(index >= 0 && index < static_cast<std::ptrdiff_t>(kLiveWords));
  const MutexLock lock(space_->mutex);
  space_->live.push_back(static_cast<std::uint32_t>(index));
}

Result<void> open_payload_window(int fd, std::uintptr_t base) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return errno_error("looking at the payload window", errno);
  if (!S_ISREG(info.st_mode) || info.st_size < static_cast<off_t>(kExtentMin))
    return Error{Code::kInvalid, "the descriptor is not a payload window: its size is wrong"};
  if (base % 4096 != 0 || map_at(base, PROT_READ, fd) == nullptr)
    return Error{Code::kUnavailable, "the address of the payload window is already in use"};
  return {};
}

}  // namespace agentd
