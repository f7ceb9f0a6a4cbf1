// SPDX-License-Identifier: Apache-2.0
#include "core/store/batch.h"

#include <algorithm>
#include <limits>

#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr std::uint8_t kPlain = 0;
constexpr std::uint8_t kWithErased = 1;  // some payloads were erased
constexpr std::size_t kErasedBytes = 8;  // in place of such a payload

bool is_erased_from(const Batch& batch) {
  return std::any_of(batch.records.begin(), batch.records.end(),
                     [](const BatchRecord& each) { return each.is_erased(); });
}
constexpr std::size_t kCrcAt = 64;

void put_be16(std::string& out, std::uint16_t value) {
  out.push_back(static_cast<char>(value >> 8));
  out.push_back(static_cast<char>(value & 0xff));
}

std::uint8_t byte_at(const char* at) { return static_cast<std::uint8_t>(*at); }

std::uint16_t get_be16(const char* at) { return static_cast<std::uint16_t>((byte_at(at) << 8) | byte_at(at + 1)); }

void put_digest(std::string& out, const Digest& digest) {
  out.append(reinterpret_cast<const char*>(digest.data()), digest.size());
}

Digest get_digest(const char* at) {
  Digest out;
  std::copy_n(at, out.size(), reinterpret_cast<char*>(out.data()));
  return out;
}

void put_record(std::string& out, const BatchRecord& record, std::uint8_t flags) {
  put_be16(out, static_cast<std::uint16_t>(record.type));
  out.push_back(static_cast<char>(record.version));
  out.push_back(static_cast<char>(flags));
  put_be32(out, record.length);
  put_be32(out, record.run);
  put_be32(out, record.turn);
  put_digest(out, record.digest);
}

BatchRecord get_record(const char* at) {
  BatchRecord out;
  out.type = static_cast<RecordType>(get_be16(at));
  out.version = byte_at(at + 2);
  out.flags = byte_at(at + 3);
  out.length = get_be32(at + 4);
  out.run = get_be32(at + 8);
  out.turn = get_be32(at + 12);
  out.digest = get_digest(at + 16);
  return out;
}

std::size_t encoded_bytes(const Batch& batch) {
  std::size_t size =
      kBatchHeaderBytes + batch.records.size() * kRecordHeaderBytes + batch.attached.size() * sizeof(Digest);
  for (const BatchRecord& record : batch.records) size += record.is_erased() ? kErasedBytes : record.payload.size();
  return size;
}

// The checksum covers every byte except its own four.
std::uint32_t checksum(std::string_view bytes) {
  std::string head(bytes.substr(0, kCrcAt));
  put_be32(head, crc32c(bytes.substr(kBatchHeaderBytes)));
  return crc32c(head);
}

Error corrupt_batch(std::string why) { return {Code::kCorrupt, "the batch " + std::move(why)}; }

Result<void> check_header(std::string_view bytes) {
  if (bytes.size() < kBatchHeaderBytes)
    return corrupt_batch("has " + std::to_string(bytes.size()) + " bytes, fewer than its header");
  const std::uint16_t version = get_be16(bytes.data());
  if (version > kBatchVersion)
    return corrupt_batch("has format " + std::to_string(version) + ": it was written by a newer agentd");
  if (get_be32(bytes.data() + kCrcAt) != checksum(bytes)) return corrupt_batch("does not match its checksum");
  if (version == 0) return corrupt_batch("has format 0, which does not exist");
  if (byte_at(bytes.data() + 2) > kWithErased || byte_at(bytes.data() + 3) != 0)
    return corrupt_batch("uses a codec of a newer agentd");
  return {};
}

// Reads the three parts after the header; checks every length against the rest.
Result<void> read_body(std::string_view body, std::size_t records, std::size_t attached, Batch& out) {
  if (records > body.size() / kRecordHeaderBytes)
    return corrupt_batch("is shorter than the headers of its " + std::to_string(records) + " records");
  out.records.reserve(records);
  for (std::size_t i = 0; i < records; ++i) out.records.push_back(get_record(body.data() + i * kRecordHeaderBytes));
  body.remove_prefix(records * kRecordHeaderBytes);
  if (attached > body.size() / sizeof(Digest))
    return corrupt_batch("is shorter than the digests of its " + std::to_string(attached) + " blobs");
  for (std::size_t i = 0; i < attached; ++i) out.attached.push_back(get_digest(body.data() + i * sizeof(Digest)));
  body.remove_prefix(attached * sizeof(Digest));
  for (BatchRecord& record : out.records) {
    if ((record.flags & Record::kErased) != 0) {
      if (body.size() < kErasedBytes) return corrupt_batch("is shorter than its payloads");
      record.erased_by = get_be64(body.data());
      body.remove_prefix(kErasedBytes);
      continue;
    }
    if (record.in_blob()) continue;
    if (record.length > body.size()) return corrupt_batch("is shorter than its payloads");
    record.payload = body.substr(0, record.length);
    body.remove_prefix(record.length);
  }
  if (!body.empty()) return corrupt_batch("has " + std::to_string(body.size()) + " bytes after its last payload");
  return {};
}

// The erase record stands behind the record: a search from one to the next ends.
Result<void> check_erased(const Batch& batch, std::uint8_t codec) {
  bool any = false;
  for (std::size_t i = 0; i < batch.records.size(); ++i) {
    const BatchRecord& record = batch.records[i];
    const bool erased = (record.flags & Record::kErased) != 0;
    any = any || erased;
    if (erased && (record.in_blob() || record.erased_by <= batch.first_seq + i))
      return corrupt_batch("has an erased record without a place for what replaces it");
  }
  if (any != (codec == kWithErased)) return corrupt_batch("has a codec that does not fit its records");
  return {};
}

}  // namespace

std::string encode_batch(const Batch& batch) {
  std::string out;
  out.reserve(encoded_bytes(batch));
  put_be16(out, kBatchVersion);
  out.push_back(static_cast<char>(is_erased_from(batch) ? kWithErased : kPlain));
  out.push_back(0);
  put_be32(out, static_cast<std::uint32_t>(batch.records.size()));
  put_be64(out, batch.first_seq);
  put_be64(out, static_cast<std::uint64_t>(batch.time_ms));
  put_be32(out, static_cast<std::uint32_t>(batch.attached.size()));
  put_be32(out, 0);
  put_digest(out, batch.previous);
  put_be32(out, 0);
  for (const BatchRecord& record : batch.records) {
    const auto place = static_cast<std::uint8_t>(record.flags & ~Record::kErased);
    put_record(out, record, static_cast<std::uint8_t>(record.is_erased() ? place | Record::kErased : place));
  }
  for (const Digest& digest : batch.attached) put_digest(out, digest);
  for (const BatchRecord& record : batch.records) {
    if (record.is_erased())
      put_be64(out, record.erased_by);
    else if (!record.in_blob())
      out.append(record.payload);
  }
  std::string sum;
  put_be32(sum, checksum(out));
  out.replace(kCrcAt, sum.size(), sum);
  return out;
}

Result<Batch> decode_batch(std::string_view bytes) {
  AGENTD_TRY_VOID(check_header(bytes));
  const char* at = bytes.data();
  Batch out;
  const std::size_t records = get_be32(at + 4);
  out.first_seq = get_be64(at + 8);
  out.time_ms = static_cast<std::int64_t>(get_be64(at + 16));
  out.previous = get_digest(at + 32);
  if (records == 0) return corrupt_batch("has no records");
  if (out.first_seq == 0 || out.first_seq > std::numeric_limits<std::uint64_t>::max() - records)
    return corrupt_batch("starts at sequence " + std::to_string(out.first_seq) + ", which is impossible");
  if (get_be32(at + 28) != 0) return corrupt_batch("has a non-zero reserved field");
  AGENTD_TRY_VOID(read_body(bytes.substr(kBatchHeaderBytes), records, get_be32(at + 24), out));
  AGENTD_TRY_VOID(check_erased(out, byte_at(at + 2)));
  return out;
}

Digest chain_of(const Batch& batch) {
  std::string text;
  text.reserve(sizeof(Digest) + 22 + batch.records.size() * kRecordHeaderBytes);
  put_digest(text, batch.previous);
  put_be16(text, kBatchVersion);
  put_be32(text, static_cast<std::uint32_t>(batch.records.size()));
  put_be64(text, batch.first_seq);
  put_be64(text, static_cast<std::uint64_t>(batch.time_ms));
  for (const BatchRecord& record : batch.records)
    put_record(text, record, static_cast<std::uint8_t>(record.flags & ~kOfTheStore));
  return sha256(text);
}

}  // namespace agentd
