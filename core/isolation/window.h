// SPDX-License-Identifier: Apache-2.0
#pragma once
// window.h - the payload region of one worker: records that the host writes and the worker reads, at the same
// address on both sides.
//
// 64 GiB of addresses are mapped at a base that the host chooses; the worker maps the same file read-only at
// that base before it loads the plugin, so that a record's pointers mean the same on both sides and a plugin
// sees the very layout that it sees in the process.
//
// The memory file behind them is as long as what is used, and has no holes: whoever reads behind its end gets
// SIGBUS and no new page, so a worker cannot make the machine allocate anything. Only the host makes it longer,
// by pages that are allocated before they are written: a full machine is an error and no SIGBUS. The
// file is sealed against further writable mappings, and the worker's descriptor is open for reading alone. When no call
// reads the window and it is longer than kKeptBytesMax, the host cuts it off and the memory goes back.
//
// A call's records lie in a Frame, which goes back when the call has ended. The history of a conversation
// does not travel with each call: a Mirror keeps a copy of its rows, to which only those are added that are new
// since the last call.
//
// Threading: PayloadWindow is thread-safe; a Frame belongs to one call.

#include <agentd/hook_abi.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/result.h"
#include "core/isolation/shape.h"

namespace agentd {

class PayloadWindow {
 public:
  static constexpr std::size_t kBytes = 64ull << 30;            // of addresses
  static constexpr std::uint64_t kBackedBytesMax = 4ull << 30;  // of memory, whatever is shown
  static constexpr std::uint64_t kKeptBytesMax = 256ull << 20;  // of memory, between calls
  static constexpr std::uintptr_t kFirstBase = 0x7e8000000000;
  static constexpr std::uint32_t kLiveWords = 1024;  // calls, pending calls and scopes at once
  static constexpr std::uint32_t kMirrorsMax = 16;   // conversations; the one used longest ago goes

  // Maps a new window at the first free base at or below kFirstBase, `skip` places further down: a worker
  // that cannot map one base is started again with another. kUnavailable.
  static Result<std::unique_ptr<PayloadWindow>> create(std::uint32_t skip = 0);
  ~PayloadWindow();
  PayloadWindow(const PayloadWindow&) = delete;
  PayloadWindow& operator=(const PayloadWindow&) = delete;

  // The worker's descriptor, which is open for reading alone.
  int fd() const { return reader_.get(); }
  std::uintptr_t base() const { return base_; }
  // Bytes of the file that are backed by memory.
  std::uint64_t bytes_used() const;

  class Mirror;
  // Memory in the window for one call; pins the mirror that the call reads. Goes back when destroyed.
  class Frame {
   public:
    explicit Frame(PayloadWindow& window);
    Frame(Frame&& other) noexcept;
    Frame& operator=(Frame&&) = delete;
    ~Frame();
    // Null when the machine is full, or the window has kBackedBytesMax already.
    void* allocate(std::size_t bytes, std::size_t align = 8);

   private:
    friend class PayloadWindow;
    PayloadWindow* window_;                                         // null when it was moved from
    std::vector<std::pair<std::uint64_t, std::uint64_t>> extents_;  // offset, bytes
    std::uint64_t at_ = 0, end_ = 0;
    std::vector<std::shared_ptr<Mirror>> pinned_;  // shared with the window, which may drop it
  };

  // A deep copy of `record` in the window; NULL for NULL. A list of messages whose lineage is `lineage`
  // (Rows::lineage(); 0 = none) comes from the conversation's mirror when it begins with the rows that the
  // mirror has, and costs what is new. kUnavailable: no memory.
  Result<const void*> place(Frame& frame, const Shape& shape, const void* record, std::uint64_t lineage = 0);

  // A cancel word and a deadline where the worker can read them; null when all are taken.
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

// The worker's side: maps a window of `fd` at `base`, read-only, for the life of the process. kUnavailable:
// something lies there already.
Result<void> open_payload_window(int fd, std::uintptr_t base);

}  // namespace agentd
