// SPDX-License-Identifier: Apache-2.0
#pragma once
// flat.h - a record and all that it points to as one run of bytes, and back.
//
// The bytes are the record, then for each member of its shape in order: a text's bytes, a list's elements
// and then what each of them points to, a pointer's record; each aligned to 8 bytes. In the place of an
// address stands its offset from the first byte. Since the order leaves no choice, the reader demands every
// offset to be the next free byte: bytes of a hostile writer cannot overlap, loop or multiply.
//
// Threading: pure functions.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/isolation/shape.h"

namespace agentd {

constexpr std::uint64_t kFlatBytesMax = 64ull << 20;  // of one record with everything

// Appends the flat form of `record` to `out`, which is aligned to 8 bytes already or empty. A sized record
// that is shorter than the shape keeps its size, a longer one is cut and gets the shape's; an impossible size
// (below 8, over 4096) stays too, so that who reads it refuses it as it would have been refused in the process.
// kInvalid: a list or text without memory, too deep; kUnavailable: over kFlatBytesMax. `out` is then as before.
Result<void> flatten(const Shape& shape, const void* record, std::string& out);

// Memory for a record that came as bytes, aligned to 8.
class FlatBytes {
 public:
  FlatBytes() = default;
  // Copies them: what is checked is private.
  explicit FlatBytes(std::string_view bytes);
  std::byte* data() { return reinterpret_cast<std::byte*>(words_.data()); }
  std::size_t size() const { return size_; }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t size_ = 0;
};

// Turns offsets into addresses, in place, and returns the record at data(). Every byte must be accounted
// for. kInvalid: these are no bytes of flatten() for the shape; the memory is then of no use.
// REQUIRES: nobody else can write to the bytes; data is aligned to 8.
Result<void*> relocate(const Shape& shape, std::span<std::byte> bytes);

}  // namespace agentd
