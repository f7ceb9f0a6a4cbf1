// SPDX-License-Identifier: Apache-2.0
#pragma once
// batch.h - the encoding of one commit batch in the log, and the chain over batches.
//
// A batch is what one append wrote: a header, the headers of its records, the digests of the attached blobs, then the
// payloads that are not in blobs. All numbers are big-endian. docs/internals/log.md has the table; encode and decode
// are its only other copy. A batch with an erased payload has a codec of its own, which an older agentd refuses as
// newer: in place of the payload stands the sequence of the erase record.
//
// Threading: values and pure functions.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/hash.h"
#include "core/base/result.h"
#include "core/conversation/record.h"

namespace agentd {

inline constexpr std::uint16_t kBatchVersion = 1;
inline constexpr std::size_t kBatchHeaderBytes = 68;
inline constexpr std::size_t kRecordHeaderBytes = 48;
// A longer payload is stored in the blob table.
inline constexpr std::size_t kInlinePayloadMax = 64 * 1024;
inline constexpr std::size_t kPayloadBytesMax = 256u << 20;
inline constexpr std::size_t kBatchRecordsMax = 65'536;
inline constexpr std::size_t kBatchBytesMax = 512u << 20;
// Flags of the place of a payload, not of the record.
inline constexpr std::uint8_t kOfTheStore = Record::kBlob | Record::kErased;

struct BatchRecord {
  RecordType type = RecordType::kMeta;
  std::uint8_t version = 1;
  std::uint8_t flags = 0;
  std::uint32_t length = 0;  // of the payload, wherever it is stored
  std::uint32_t run = 0;
  std::uint32_t turn = 0;
  Digest digest{};           // of the payload
  std::string_view payload;  // borrowed; empty when it is in a blob or was erased
  // The sequence of the erase record that has what takes the payload's place; 0 = it was not erased.
  std::uint64_t erased_by = 0;

  bool in_blob() const { return (flags & Record::kBlob) != 0; }
  bool is_erased() const { return erased_by != 0; }
};

struct Batch {
  std::uint64_t first_seq = 0;
  std::int64_t time_ms = 0;
  Digest previous{};  // chain up to the batch before; zero for the first
  std::vector<BatchRecord> records;
  std::vector<Digest> attached;  // blobs passed with the append

  std::uint64_t last_seq() const { return first_seq + records.size() - 1; }
};

std::string encode_batch(const Batch& batch);

// The batch; its payloads borrow from `bytes`. Checks lengths, counts and the CRC, but does not hash payloads. kCorrupt
// with one sentence for anything that encode_batch does not write.
Result<Batch> decode_batch(std::string_view bytes);

// SHA-256 over the hash of the previous batch, the header and the records' headers and digests. The place of a payload,
// attached blobs and the codec are not part of it, so that a payload can move or be erased.
Digest chain_of(const Batch& batch);

}  // namespace agentd
