// SPDX-License-Identifier: Apache-2.0
#pragma once
// record_copy.h - reads one record, list or text of a plugin or a host; shared by flat.cc and window.cc.
//
// Threading: pure functions.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/base/result.h"
#include "core/isolation/shape.h"

namespace agentd {

constexpr std::uint32_t kCrossingRecordMax = 4096;  // no record of any release is larger
constexpr int kCrossingDepthMax = 8;                // records within records

// Copies a record of which `available` bytes are readable into `shape.bytes` bytes at `to`. A shorter record is filled
// with zeros and keeps its size, a longer one is cut. If the size is impossible, the first 8 bytes are copied, so that
// the reader sees that size and refuses it.
void copy_record(const Shape& shape, const void* from, std::size_t available, void* to);

// kInvalid: no memory, or an impossible stride.
Result<void> check_list(const Shape& of, const agentd_list& list);
Result<void> check_text(const Shape& where, const agentd_str& text);
Error too_deep(const Shape& shape);

// For a record received as bytes: no reader may go beyond shape.bytes.
inline bool size_is_safe(const Shape& shape, std::uint32_t size) {
  return size <= shape.bytes || size > kCrossingRecordMax;
}

template <typename T>
T read_at(const void* base, std::size_t offset) {
  T out;
  std::memcpy(&out, static_cast<const std::byte*>(base) + offset, sizeof(T));
  return out;
}
template <typename T>
void write_at(void* base, std::size_t offset, const T& value) {
  std::memcpy(static_cast<std::byte*>(base) + offset, &value, sizeof(T));
}

}  // namespace agentd
