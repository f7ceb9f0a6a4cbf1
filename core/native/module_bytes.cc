// SPDX-License-Identifier: Apache-2.0
#include "core/native/module_bytes.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace agentd {
namespace {

constexpr std::uint64_t kHeadBytes = 4096;

}  // namespace

bool MemoryBytes::read(std::uint64_t offset, std::span<char> out) const {
  if (offset > bytes_.size() || out.size() > bytes_.size() - offset) return false;
  if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
  return true;
}

FileBytes::FileBytes(int fd, std::uint64_t size)
    : fd_(fd), size_(size), head_(static_cast<std::size_t>(std::min(size, kHeadBytes)), '\0') {
  const ssize_t got = ::pread(fd_, head_.data(), head_.size(), 0);
  head_.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
}

bool FileBytes::read(std::uint64_t offset, std::span<char> out) const {
  if (offset > size_ || out.size() > size_ - offset) return false;
  if (MemoryBytes(head_).read(offset, out)) return true;
  while (!out.empty()) {
    const ssize_t got = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got <= 0) return false;
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return true;
}

std::uint64_t little_endian(std::span<const char> piece, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(piece[at + i])) << (8 * i);
  return value;
}

}  // namespace agentd
