// SPDX-License-Identifier: Apache-2.0
#pragma once
// flat.h - converts a record with everything it points to into one run of bytes, and back.
//
// The bytes are the record, then for each member of its shape in order: a text's bytes; a list's elements and then
// everything they point to; a pointer's record; each aligned to 8 bytes. Addresses are replaced by offsets from the
// first byte. The order leaves no choice, so the reader requires every offset to be the next free byte: a hostile
// writer's bytes cannot overlap, loop or multiply.
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

constexpr std::uint64_t kFlatBytesMax = 64ull << 20;  // of one record with everything it points to

// Appends the flat form of `record` to `out`, which is empty or aligned to 8 bytes. A sized record that is shorter than
// the shape keeps its size; a longer one is cut and gets the shape's; an impossible size (below 8, over 4096) is kept,
// so that the reader refuses it as it would in one process. kInvalid: a list or text without memory, nested too deeply;
// kUnavailable: over kFlatBytesMax. On error `out` is unchanged.
Result<void> flatten(const Shape& shape, const void* record, std::string& out);

// Memory for a record received as bytes, aligned to 8.
class FlatBytes {
 public:
  FlatBytes() = default;
  // Copies the bytes, so that the checked ones are private.
  explicit FlatBytes(std::string_view bytes);
  std::byte* data() { return reinterpret_cast<std::byte*>(words_.data()); }
  std::size_t size() const { return size_; }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t size_ = 0;
};

// Turns offsets into addresses in place, and returns the record at data(). Every byte must be accounted for. kInvalid:
// not the bytes of flatten() for the shape; the memory is then useless. REQUIRES: no one else can write to the bytes;
// data is aligned to 8.
Result<void*> relocate(const Shape& shape, std::span<std::byte> bytes);

}  // namespace agentd
