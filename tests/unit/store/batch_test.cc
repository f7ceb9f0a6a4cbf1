// SPDX-License-Identifier: Apache-2.0
#include "core/store/batch.h"

#include <gtest/gtest.h>

#include <random>

#include "core/base/bytes.h"
#include "tests/unit/store/store_support.h"

namespace agentd {
namespace {

// Owns the payloads that the batch borrows.
struct Sample {
  std::vector<std::string> payloads{"{\"a\":1}", "", std::string(300, 'x')};
  Batch batch;

  Sample() {
    batch.first_seq = 41;
    batch.time_ms = 1'700'000'000'123;
    batch.previous.fill(7);
    for (const std::string& payload : payloads) {
      BatchRecord record;
      record.type = RecordType::kUserMessage;
      record.flags = Record::kCritical;
      record.run = 2;
      record.turn = 3;
      record.length = static_cast<std::uint32_t>(payload.size());
      record.digest = sha256(payload);
      record.payload = payload;
      batch.records.push_back(record);
    }
    BatchRecord& moved = batch.records.emplace_back(batch.records[0]);
    moved.flags |= Record::kBlob;
    moved.length = 1'000'000;
    moved.payload = {};
    batch.attached.push_back(sha256("blob"));
  }
};

// Sets the right checksum on changed bytes, so that the checks after it are reached.
std::string with_checksum(std::string bytes) {
  std::string head = bytes.substr(0, 64);
  put_be32(head, crc32c(std::string_view(bytes).substr(kBatchHeaderBytes)));
  std::string sum;
  put_be32(sum, crc32c(head));
  bytes.replace(64, 4, sum);
  return bytes;
}

std::string message_of(std::string_view bytes) {
  const auto batch = decode_batch(bytes);
  EXPECT_CODE(Code::kCorrupt, batch);
  return batch ? "" : batch.error().message;
}

TEST(Batch, DecodesWhatItEncoded) {
  const Sample sample;
  const std::string bytes = encode_batch(sample.batch);
  const auto batch = decode_batch(bytes);
  ASSERT_OK(batch);
  EXPECT_EQ(batch->first_seq, 41u);
  EXPECT_EQ(batch->last_seq(), 44u);
  EXPECT_EQ(batch->time_ms, 1'700'000'000'123);
  EXPECT_EQ(batch->previous, sample.batch.previous);
  EXPECT_EQ(batch->attached, sample.batch.attached);
  ASSERT_EQ(batch->records.size(), 4u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(batch->records[i].payload, sample.payloads[i]);
  EXPECT_TRUE(batch->records[3].in_blob());
  EXPECT_EQ(batch->records[3].length, 1'000'000u);
  EXPECT_EQ(batch->records[0].type, RecordType::kUserMessage);
  EXPECT_EQ(batch->records[0].run, 2u);
  EXPECT_EQ(batch->records[0].turn, 3u);
  EXPECT_EQ(batch->records[0].digest, sha256(sample.payloads[0]));
  EXPECT_EQ(encode_batch(*batch), bytes);
}

// The layout never changes: these are the bytes of format 1.
TEST(Batch, LayoutOfFormatOneStaysAsItIs) {
  Batch batch;
  batch.first_seq = 1;
  batch.time_ms = 0x0102030405;
  BatchRecord record;
  record.type = RecordType::kMeta;
  record.length = 2;
  record.run = 5;
  record.turn = 6;
  record.digest = sha256("{}");
  record.payload = "{}";
  batch.records.push_back(record);
  const std::string bytes = encode_batch(batch);
  const std::string zeros(64, '0');
  const std::string expected_head =
      "00010000"
      "00000001"
      "0000000000000001"
      "0000000102030405"
      "00000000"
      "00000000" +
      zeros;
  const auto hex_of = [](std::string_view text) {
    return hex(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  };
  EXPECT_EQ(hex_of(bytes.substr(0, 64)), expected_head);
  EXPECT_EQ(hex_of(bytes.substr(68, 16)),
            "00120100"
            "00000002"
            "00000005"
            "00000006");
  EXPECT_EQ(bytes.size(), 68u + 48u + 2u);
  EXPECT_EQ(hex_of(bytes.substr(64, 4)), "fb8568d2");
  EXPECT_EQ(hex(chain_of(batch)), "b2c04a15cf713f3259193c152bd68c8f0449004ecc37924959f1c63caf3a212d");
}

TEST(Batch, EveryFlippedBitIsFound) {
  const std::string good = encode_batch(Sample().batch);
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_FALSE(decode_batch(bad)) << "bit " << bit;
  }
}

TEST(Batch, EveryTruncationIsFound) {
  const std::string good = encode_batch(Sample().batch);
  for (std::size_t size = 0; size < good.size(); ++size) {
    ASSERT_FALSE(decode_batch(std::string_view(good).substr(0, size))) << size;
    if (size >= kBatchHeaderBytes) {
      ASSERT_FALSE(decode_batch(with_checksum(good.substr(0, size)))) << size;
    }
  }
}

TEST(Batch, BytesAfterTheEndAreFound) {
  EXPECT_EQ(message_of(with_checksum(encode_batch(Sample().batch) + "x")),
            "the batch has 1 bytes after its last payload");
}

TEST(Batch, TooShortForAHeaderSaysSo) { EXPECT_EQ(message_of("abc"), "the batch has 3 bytes, fewer than its header"); }

TEST(Batch, NewerFormatSaysWhoWroteIt) {
  std::string bytes = encode_batch(Sample().batch);
  bytes[1] = 2;
  EXPECT_EQ(message_of(with_checksum(bytes)), "the batch has format 2: it was written by a newer agentd");
}

TEST(Batch, UnknownCodecIsRefused) {
  std::string bytes = encode_batch(Sample().batch);
  bytes[2] = 2;
  EXPECT_EQ(message_of(with_checksum(bytes)), "the batch uses a codec of a newer agentd");
}

// The first record names the record that has what takes its place; the second has its payload.
Sample erased_sample() {
  Sample out;
  out.batch.records[0].erased_by = 99;
  return out;
}

TEST(Batch, AnErasedPayloadIsNotAmongTheBytes) {
  const Sample sample = erased_sample();
  const std::string bytes = encode_batch(sample.batch);
  EXPECT_EQ(bytes[2], 1);
  EXPECT_EQ(bytes.find("{\"a\":1}"), std::string::npos);
  EXPECT_NE(encode_batch(Sample().batch).find("{\"a\":1}"), std::string::npos);
  const auto batch = decode_batch(bytes);
  ASSERT_OK(batch);
  EXPECT_EQ(batch->records[0].erased_by, 99u);
  EXPECT_EQ(batch->records[0].length, sample.batch.records[0].length);
  EXPECT_EQ(batch->records[0].digest, sample.batch.records[0].digest);
  EXPECT_EQ(batch->records[2].payload, sample.batch.records[2].payload);
  EXPECT_EQ(batch->records[2].erased_by, 0u);
  EXPECT_EQ(encode_batch(*batch), bytes);
}

TEST(Batch, ACodecThatDoesNotFitItsRecordsIsRefused) {
  std::string none = encode_batch(Sample().batch), any = encode_batch(erased_sample().batch);
  none[2] = 1;
  any[2] = 0;
  for (const std::string& bad : {none, any})
    EXPECT_EQ(message_of(with_checksum(bad)), "the batch has a codec that does not fit its records");
  // An eraser before what it erases would be a search without an end.
  Sample circle;
  circle.batch.records[1].erased_by = 42;
  EXPECT_EQ(message_of(encode_batch(circle.batch)),
            "the batch has an erased record without a place for what replaces it");
}

TEST(Batch, CountsThatCannotBeAreRefusedWithoutAllocating) {
  std::string bytes = encode_batch(Sample().batch);
  std::string records = bytes, attached = bytes, none = bytes, first = bytes, last = bytes;
  records.replace(4, 4, "\xff\xff\xff\xff");
  attached.replace(24, 4, "\xff\xff\xff\xff");
  none.replace(4, 4, std::string(4, '\0'));
  first.replace(8, 8, std::string(8, '\0'));
  last.replace(8, 8, std::string(8, '\xff'));
  for (const std::string& bad : {records, attached, none, first, last}) message_of(with_checksum(bad));
}

TEST(Batch, PayloadLengthBeyondTheEndIsRefused) {
  std::string bytes = encode_batch(Sample().batch);
  bytes.replace(kBatchHeaderBytes + 4, 4, "\x7f\xff\xff\xff");
  EXPECT_EQ(message_of(with_checksum(bytes)), "the batch is shorter than its payloads");
}

// Random damage with a matching checksum never crashes, and a decoded batch encodes to the same bytes.
TEST(Batch, RandomDamageNeverCrashes) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string plain = encode_batch(Sample().batch), erased = encode_batch(erased_sample().batch);
  int decoded = 0;
  for (int round = 0; round < 40'000; ++round) {
    std::string bad = round % 2 == 0 ? plain : erased;
    for (unsigned changes = random() % 4 + 1; changes > 0; --changes)
      bad[random() % bad.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bad.resize(random() % (bad.size() + 1));
    if (random() % 8 == 0) bad.insert(random() % (bad.size() + 1), random() % 99, 'z');
    if (bad.size() >= kBatchHeaderBytes && random() % 8 != 0) bad = with_checksum(bad);
    const auto batch = decode_batch(bad);
    if (batch) {
      ++decoded;
      ASSERT_EQ(encode_batch(*batch), bad);
    } else {
      ASSERT_EQ(batch.error().code, Code::kCorrupt);
      ASSERT_FALSE(batch.error().message.empty());
    }
  }
  EXPECT_GT(decoded, 0);
}

TEST(Chain, DependsOnEverythingThatWasSaid) {
  const Sample sample;
  const Digest chain = chain_of(sample.batch);
  const auto changed = [&](const std::function<void(Batch&)>& change) {
    Batch batch = sample.batch;
    change(batch);
    return chain_of(batch) != chain;
  };
  EXPECT_TRUE(changed([](Batch& b) { b.previous[31] ^= 1; }));
  EXPECT_TRUE(changed([](Batch& b) { ++b.first_seq; }));
  EXPECT_TRUE(changed([](Batch& b) { ++b.time_ms; }));
  EXPECT_TRUE(changed([](Batch& b) { b.records.pop_back(); }));
  EXPECT_TRUE(changed([](Batch& b) { std::swap(b.records[0], b.records[1]); }));
  EXPECT_TRUE(changed([](Batch& b) { b.records[1].digest[0] ^= 1; }));
  EXPECT_TRUE(changed([](Batch& b) { b.records[1].type = RecordType::kContext; }));
  EXPECT_TRUE(changed([](Batch& b) { b.records[1].flags = 0; }));
  EXPECT_TRUE(changed([](Batch& b) { ++b.records[1].turn; }));
}

TEST(Chain, StaysWhenAPayloadIsErased) { EXPECT_EQ(chain_of(erased_sample().batch), chain_of(Sample().batch)); }

TEST(Chain, StaysWhenAPayloadMovesToABlob) {
  Sample sample;
  const Digest chain = chain_of(sample.batch);
  sample.batch.records[2].flags |= Record::kBlob;
  sample.batch.records[2].payload = {};
  sample.batch.attached.clear();
  EXPECT_EQ(chain_of(sample.batch), chain);
}

}  // namespace
}  // namespace agentd
