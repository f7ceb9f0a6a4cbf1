// SPDX-License-Identifier: Apache-2.0
#pragma once
// record.h - reads a plugin's growable record in this host's size.
//
// Garbage must not be taken for a newer record: an impossible size is refused. A shorter record is filled with zeros; a
// longer one is accepted if the unknown part is zero.
//
// Threading: pure functions.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace agentd {

constexpr std::uint32_t kRecordBytesMax = 4096;

// kInvalid: impossible size; kConflict: the record uses fields of a newer agentd. `first_bytes` is the size in the
// first release, `what` names the record: "its plugin record". REQUIRES: `from` is readable for the bytes that it
// claims, up to kRecordBytesMax.
template <typename Record>
Result<Record> normalise(const void* from, std::size_t first_bytes, std::string_view what) {
  std::uint32_t size = 0;
  std::memcpy(&size, from, sizeof(size));
  if (size < first_bytes || size > kRecordBytesMax || size % 8 != 0)
    return Error{Code::kInvalid, std::string(what) + " has the impossible size " + std::to_string(size)};
  Record record{};
  std::memcpy(&record, from, size < sizeof(Record) ? size : sizeof(Record));
  record.size = sizeof(Record);
  const auto* const bytes = static_cast<const unsigned char*>(from);
  for (std::size_t i = sizeof(Record); i < size; ++i)
    if (bytes[i] != 0)
      return Error{Code::kConflict, std::string(what) + " uses fields that this version does not know"};
  return record;
}

}  // namespace agentd
