// SPDX-License-Identifier: Apache-2.0
#pragma once
// body_budget.h - limits the bytes of bodies that the workers of one plugin have in transit to their host.
//
// Threading: BodyBudget is thread-safe; a BodyShare belongs to the thread that receives.

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace agentd {

class BodyBudget {
 public:
  // Twice the largest body of a lane.
  static constexpr std::uint64_t kBytesMax = 130ull << 20;

  // False if the limit is reached.
  bool take(std::uint64_t bytes) {
    std::uint64_t used = used_.load();
    do {
      if (bytes > kBytesMax - used) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes));
    return true;
  }
  void give_back(std::uint64_t bytes) { used_ -= bytes; }

 private:
  std::atomic<std::uint64_t> used_{0};
};

// One receiving thread's share of it, for one body.
class BodyShare {
 public:
  explicit BodyShare(std::shared_ptr<BodyBudget> budget) : budget_(std::move(budget)) {}
  ~BodyShare() { give_back(); }
  BodyShare(const BodyShare&) = delete;
  BodyShare& operator=(const BodyShare&) = delete;

  // Reserves for the next body, replacing the one before.
  bool take(std::uint64_t bytes) {
    give_back();
    if (!budget_->take(bytes)) return false;
    bytes_ = bytes;
    return true;
  }
  void give_back() { budget_->give_back(std::exchange(bytes_, 0)); }

 private:
  std::shared_ptr<BodyBudget> budget_;
  std::uint64_t bytes_ = 0;
};

}  // namespace agentd
