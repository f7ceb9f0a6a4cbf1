// SPDX-License-Identifier: Apache-2.0
#include "core/process/output.h"

#include <algorithm>

namespace agentd {
namespace {

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0u) == 0x80u; }

std::size_t character_bytes(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  if (byte >= 0xF0u) return 4;
  if (byte >= 0xE0u) return 3;
  return byte >= 0xC0u ? 2 : 1;
}

// Removes an incomplete character at the end. Bytes that are not UTF-8 stay unchanged.
void drop_torn_end(std::string& head) {
  std::size_t back = 0;
  while (back < 3 && back < head.size() && continues_character(head[head.size() - 1 - back])) ++back;
  if (back == head.size()) return;
  if (character_bytes(head[head.size() - 1 - back]) > back + 1) head.resize(head.size() - 1 - back);
}

void drop_torn_start(std::string& tail) {
  std::size_t torn = 0;
  while (torn < 3 && torn < tail.size() && continues_character(tail[torn])) ++torn;
  tail.erase(0, torn);
}

}  // namespace

BoundedOutput::BoundedOutput(std::uint64_t bytes_max)
    : bytes_max_(bytes_max), head_max_(bytes_max / 2), tail_max_(bytes_max - bytes_max / 2) {}

void BoundedOutput::append(std::string_view bytes) {
  total_ += bytes.size();
  if (head_.size() < head_max_) {
    const std::size_t take = std::min<std::size_t>(bytes.size(), head_max_ - head_.size());
    head_.append(bytes.substr(0, take));
    bytes.remove_prefix(take);
  }
  if (bytes.size() > tail_max_) bytes.remove_prefix(bytes.size() - tail_max_);
  if (tail_.size() < tail_max_) {
    const std::size_t take = std::min<std::size_t>(bytes.size(), tail_max_ - tail_.size());
    tail_.append(bytes.substr(0, take));
    bytes.remove_prefix(take);
  }
  while (!bytes.empty()) {
    const std::size_t take = std::min<std::size_t>(bytes.size(), tail_max_ - tail_at_);
    bytes.copy(tail_.data() + tail_at_, take);
    bytes.remove_prefix(take);
    tail_at_ = (tail_at_ + take) % tail_max_;
  }
}

std::string BoundedOutput::tail_in_order() const { return tail_.substr(tail_at_) + tail_.substr(0, tail_at_); }

std::string BoundedOutput::text() const {
  std::string tail = tail_in_order();
  if (!truncated()) return head_ + tail;
  std::string head = head_;
  drop_torn_end(head);
  drop_torn_start(tail);
  const std::uint64_t left_out = total_ - head.size() - tail.size();
  if (!head.empty() && head.back() != '\n') head += '\n';
  return head + "[... " + std::to_string(left_out) + " bytes left out ...]\n" + tail;
}

BoundedOutput::Part BoundedOutput::from(std::uint64_t position, std::size_t most) const {
  if (position >= total_) return {total_, {}};
  if (position < head_.size()) return {position, head_.substr(position, most)};
  const std::uint64_t tail_first = total_ - tail_.size();
  const std::uint64_t first = std::max(position, tail_first);
  return {first, tail_in_order().substr(first - tail_first, most)};
}

}  // namespace agentd
