// SPDX-License-Identifier: Apache-2.0
#pragma once
// output.h - keeps the head and the tail of a possibly endless output in bounded memory.
//
// The head shows how a command began and the tail how it ended; a reader misses the middle least.
//
// Threading: thread-compatible.

#include <cstdint>
#include <string>
#include <string_view>

namespace agentd {

class BoundedOutput {
 public:
  // Keeps at most `bytes_max` bytes: the first half as head, the last half as tail.
  explicit BoundedOutput(std::uint64_t bytes_max);

  void append(std::string_view bytes);
  std::uint64_t total() const { return total_; }
  bool truncated() const { return total_ > bytes_max_; }
  // The complete output; over the limit: head, "[... N bytes left out ...]" on a line of its own, tail. The cuts move
  // inwards to the next UTF-8 character, so that none is split.
  std::string text() const;

  struct Part {
    std::uint64_t first = 0;  // position of the first byte
    std::string bytes;
  };
  // At most `most` of the kept bytes from `position` on, without a marker; begins at a later position where the middle
  // was left out.
  Part from(std::uint64_t position, std::size_t most) const;

 private:
  std::string tail_in_order() const;

  const std::uint64_t bytes_max_;
  const std::uint64_t head_max_;
  const std::uint64_t tail_max_;
  std::uint64_t total_ = 0;
  std::uint64_t tail_at_ = 0;  // position of the ring's next byte once it is full
  std::string head_;
  std::string tail_;  // a ring of at most tail_max_ bytes
};

}  // namespace agentd
