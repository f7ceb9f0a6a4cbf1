// SPDX-License-Identifier: Apache-2.0
#pragma once
// window.h - the payload region of one worker: records that the host writes and the worker reads, at the same address
// on both sides.
//
// 64 GiB of addresses are mapped at a base that the host chooses. The worker maps the same file read-only at that base
// before it loads the plugin, so a record's pointers are valid on both sides and a plugin sees the same layout as in
// the host's process.
//
// The memory file is as long as its used part, without holes: reading beyond its end gives SIGBUS and no new page, so a
// worker cannot make the machine allocate anything. Only the host extends it, by pages that are allocated before they
// are written: a full machine is an error, not a SIGBUS. The file is sealed against further writable mappings, and the
// worker's descriptor is read-only. When no call reads the window and it is longer than kKeptBytesMax, the host
// truncates it and returns the memory.
//
// A call's records are in a Frame, which is returned when the call has ended. A conversation's history is not copied
// for each call: a Mirror keeps a copy of its rows and adds only those that are new since the last call.
//
// Threading: PayloadWindow is thread-safe; a Frame belongs to one call.

#include <agentd/hook_abi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/file.h"
#include "core/base/result.h"
#include "core/isolation/shape.h"

namespace agentd {

class PayloadWindow {
 public:
  static constexpr std::size_t kBytes = 64ull << 30;            // of address space
  static constexpr std::uint64_t kBackedBytesMax = 4ull << 30;  // of memory, in total
  static constexpr std::uint64_t kKeptBytesMax = 256ull << 20;  // of memory, between calls
  static constexpr std::uintptr_t kFirstBase = 0x7e8000000000;
  static constexpr std::uint32_t kLiveWords = 4096;  // calls, pending calls and scopes at once
  // Mirrors, and the memory of all of them. Beyond either, the least recently used ones are dropped, but never the one
  // in use: a conversation without a mirror is copied again by its next call.
  static constexpr std::uint32_t kMirrorsMax = 1024;
  static constexpr std::uint64_t kMirrorBytesMax = 128ull << 20;

  // Maps a new window at the first free base at or below kFirstBase, `skip` places further down: a worker that cannot
  // map one base is started again with another. kUnavailable.
  static Result<std::unique_ptr<PayloadWindow>> create(std::uint32_t skip = 0);
  ~PayloadWindow();
  PayloadWindow(const PayloadWindow&) = delete;
  PayloadWindow& operator=(const PayloadWindow&) = delete;

  // The worker's read-only descriptor.
  int fd() const { return reader_.get(); }
  std::uintptr_t base() const { return base_; }

  class Mirror;
  // Memory in the window for one call; pins the mirror that the call reads. Returned when destroyed.
  class Frame {
   public:
    explicit Frame(PayloadWindow& window);
    Frame(Frame&& other) noexcept;
    Frame& operator=(Frame&&) = delete;
    ~Frame();
    // Null if the machine is full, or the window has kBackedBytesMax already.
    void* allocate(std::size_t bytes, std::size_t align = 8);

   private:
    friend class PayloadWindow;
    PayloadWindow* window_;                                         // null after a move
    std::vector<std::pair<std::uint64_t, std::uint64_t>> extents_;  // offset, bytes
    std::uint64_t at_ = 0, end_ = 0;
    std::vector<std::shared_ptr<Mirror>> pinned_;  // shared with the window, which may drop them
  };

  // A deep copy of `record` in the window; NULL for NULL. A list of messages with the lineage `lineage`
  // (Rows::lineage(); 0 = none) comes from the conversation's mirror if it begins with the mirror's rows; then only new
  // rows are copied. kUnavailable: no memory.
  Result<const void*> place(Frame& frame, const Shape& shape, const void* record, std::uint64_t lineage = 0);

  // A cancel word and a deadline that the worker can read; null if all are taken.
  agentd_live* acquire_live();
  void release_live(agentd_live* live);

 private:
  PayloadWindow(UniqueFd fd, UniqueFd reader, std::uintptr_t base);
  struct Space;
  class Placer;

  UniqueFd fd_, reader_;
  const std::uintptr_t base_;
  std::unique_ptr<Space> space_;
};

// The worker's side: maps the window of `fd` at `base`, read-only, for the life of the process. kUnavailable: the
// address is in use.
Result<void> open_payload_window(int fd, std::uintptr_t base);

}  // namespace agentd
