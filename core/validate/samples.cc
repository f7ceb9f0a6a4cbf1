// SPDX-License-Identifier: Apache-2.0
#include "core/validate/samples.h"

#include <agentd/ext/draft/provide.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "core/hooks/contract.h"
#include "core/hooks/payload_fields.h"
#include "core/validate/sequence.h"

namespace agentd::validation {
namespace {

constexpr std::size_t kHugeBytes = 1u << 20, kTailBytes = 64;
constexpr unsigned char kTail = 0xAA;
constexpr std::string_view kIllFormed("\xff\xfe\x00 \xc3(\xed\xa0\x80 \x80\n\r\t\"\\{[\x1b[31m\0", 24);
constexpr std::uint64_t kNoSuchValue = 0x7F5A7F5A7F5A7F5A;

const char* at(const void* record, std::size_t offset) { return static_cast<const char*>(record) + offset; }
char* at(void* record, std::size_t offset) { return static_cast<char*>(record) + offset; }

template <typename T>
T read(const void* from) {
  T out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

// Sets every enumeration to an unknown value, in memory of the record's own arena.
void forget_names(const PayloadTable& table, void* record) {
  for (const PayloadField& field : table.fields) {
    char* const place = at(record, field.offset);
    switch (field.kind) {
      case FieldKind::kName:
        std::memcpy(place, &kNoSuchValue, field.width);
        break;
      case FieldKind::kPart:
        if (field.table != nullptr) forget_names(*field.table, record);
        break;
      case FieldKind::kRecord:
      case FieldKind::kJoined:
        if (void* const inner = read<void*>(place); inner != nullptr && field.table != nullptr)
          forget_names(*field.table, inner);
        break;
      case FieldKind::kRecords: {
        const auto list = read<agentd_list>(place);
        for (std::uint32_t i = 0; i < list.count && field.table != nullptr; ++i)
          forget_names(*field.table, at(read<void*>(&list.first), std::size_t{i} * list.stride));
        break;
      }
      case FieldKind::kText:
      case FieldKind::kJson:
      case FieldKind::kNumber:
      case FieldKind::kSigned:
      case FieldKind::kBool:
      case FieldKind::kFlag:
      case FieldKind::kMilliseconds:
      case FieldKind::kDollars:
      case FieldKind::kFraction:
      case FieldKind::kTexts:
      case FieldKind::kVersion:
      case FieldKind::kEventName:
      case FieldKind::kPercent:
      case FieldKind::kWindowUsed:
      case FieldKind::kContent:
      case FieldKind::kMoreBlocks:
      case FieldKind::kSummaryMark:
        break;
    }
  }
}

}  // namespace

// The upper bits of a linear congruential generator: the same on every machine.
std::uint64_t SampleEvent::chance() {
  seed_ = seed_ * 6364136223846793005u + 1442695040888963407u;
  return seed_ >> 33;
}

Variant SampleEvent::variant_now() {
  if (seed_ == 0) return variant_;
  constexpr Variant kMix[] = {Variant::kPlain, Variant::kPlain, Variant::kPlain,
                              Variant::kEmpty, Variant::kBytes, Variant::kLonger};
  const std::uint64_t roll = chance() % 200;
  return roll == 0 ? Variant::kHuge : kMix[roll % 6];
}

agentd_str SampleEvent::text(agentd_str from) {
  const Variant now = variant_now();
  if (now == Variant::kEmpty && in_payload_) return {nullptr, 0};
  if (now == Variant::kHuge && huge_.ptr == nullptr) {
    char* const bytes = static_cast<char*>(arena_.allocate(kHugeBytes, 1));
    if (bytes != nullptr) {
      std::memset(bytes, 'x', kHugeBytes);
      huge_ = {bytes, kHugeBytes};
    }
  }
  if (now == Variant::kHuge && huge_.ptr != nullptr) return huge_;
  if (now == Variant::kBytes) from = {kIllFormed.data(), kIllFormed.size()};
  if (from.ptr == nullptr) return {nullptr, 0};
  char* const bytes = static_cast<char*>(arena_.allocate(std::max<std::size_t>(from.len, 1), 1));
  if (bytes == nullptr) return full_ = true, agentd_str{nullptr, 0};
  // An empty text points directly at the inaccessible page.
  if (from.len == 0) return {bytes + 1, 0};
  std::memcpy(bytes, from.ptr, from.len);
  return {bytes, from.len};
}

agentd_list SampleEvent::list(const Shape& of, const agentd_list& from) {
  const Variant now = variant_now();
  if (from.count == 0 || (now == Variant::kEmpty && in_payload_)) return {nullptr, 0, from.stride};
  const std::size_t room = of.sized && now == Variant::kLonger ? kTailBytes : 0;
  const std::size_t stride = of.bytes + room;
  void* const first = arena_.allocate(stride * from.count, 8);
  if (first == nullptr) return full_ = true, agentd_list{nullptr, 0, from.stride};
  for (std::uint32_t i = 0; i < from.count; ++i)
    fill(of, at(from.first, std::size_t{i} * from.stride), at(first, i * stride), of.bytes, room);
  return {first, from.count, static_cast<std::uint32_t>(stride)};
}

void SampleEvent::fill(const Shape& shape, const void* from, void* to, std::size_t bytes, std::size_t room) {
  const std::size_t known = shape.sized ? std::min<std::size_t>(read<std::uint32_t>(from), bytes) : bytes;
  std::memcpy(to, from, known);
  if (shape.sized) {
    std::memset(at(to, bytes), kTail, room);
    const auto size = static_cast<std::uint32_t>(bytes + room);
    std::memcpy(to, &size, sizeof size);
  }
  for (const Shape::Member& member : shape.members) {
    char* const place = at(to, member.offset);
    switch (member.kind) {
      case Shape::Kind::kText: {
        const agentd_str value = text(read<agentd_str>(place));
        std::memcpy(place, &value, sizeof value);
        break;
      }
      case Shape::Kind::kList: {
        const agentd_list value = list(*member.of, read<agentd_list>(place));
        std::memcpy(place, &value, sizeof value);
        break;
      }
      case Shape::Kind::kPointer: {
        const void* value = read<const void*>(place);
        if (value != nullptr)
          value = variant_now() == Variant::kEmpty && in_payload_ ? nullptr : copy(*member.of, value);
        std::memcpy(place, &value, sizeof value);
        break;
      }
    }
  }
}

void* SampleEvent::copy(const Shape& shape, const void* from) {
  const std::size_t room = shape.sized && variant_now() == Variant::kLonger ? kTailBytes : 0;
  void* const to = arena_.allocate(shape.bytes + room, 8);
  if (to == nullptr) return full_ = true, nullptr;
  fill(shape, from, to, shape.bytes, room);
  return to;
}

Result<std::unique_ptr<SampleEvent>> SampleEvent::make(std::uint32_t event, Variant variant, std::uint64_t seed) {
  const Shape* const shape = payload_shape(event);
  const PayloadTable* const table = payload_table(event);
  if (shape == nullptr || table == nullptr)
    return Error{Code::kInvalid, "no sample exists for the event " + std::to_string(event)};
  AGENTD_TRY(PayloadRecord record, PayloadRecord::from_json(sample_payload(event), event));
  std::unique_ptr<SampleEvent> out(new SampleEvent(event, variant, seed));
  const bool strange = variant == Variant::kUnknown || (seed != 0 && out->chance() % 8 == 0);
  void* const envelope = out->copy(envelope_shape(), record.envelope());
  out->in_payload_ = true;
  void* const payload = out->copy(*shape, record.payload());
  if (out->full_ || payload == nullptr || envelope == nullptr)
    return Error{Code::kUnavailable, "out of memory for a sample event"};
  if (strange) {
    forget_names(envelope_table(), envelope);
    forget_names(*table, payload);
  }
  out->envelope_ = static_cast<const agentd_envelope*>(envelope);
  out->payload_ = payload;
  out->arena_.freeze();
  return out;
}

namespace {

constexpr std::size_t kInputDepth = 900;  // the host reads a thousand levels
constexpr std::size_t kRandomInputs = 3;

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

// A JSON value of a few levels.
std::string random_json(std::uint64_t& state, int depth) {
  const std::uint64_t roll = next_of(state) % (depth == 0 ? 5 : 7);
  std::string out;
  switch (roll) {
    case 0:
      return "null";
    case 1:
      return next_of(state) % 2 == 0 ? "true" : "false";
    case 2:
      return std::to_string(static_cast<std::int64_t>(next_of(state)));
    case 3:
      return "\"" + std::string(next_of(state) % 2000, 'x') + "\"";
    case 4:
      return "-1.5e300";
    case 5:
      for (std::uint64_t i = next_of(state) % 5; i > 0; --i) out += random_json(state, depth - 1) + (i > 1 ? "," : "");
      return "[" + out + "]";
    default:
      // Names that services are likely to read, and some twice.
      constexpr const char* kNames[] = {"id", "text", "query", "limit", "tags", ""};
      for (std::uint64_t i = next_of(state) % 6; i > 0; --i)
        out += std::string("\"") + kNames[next_of(state) % std::size(kNames)] + "\":" + random_json(state, depth - 1) +
               (i > 1 ? "," : "");
      return "{" + out + "}";
  }
}

}  // namespace

std::vector<std::string> service_inputs(std::uint64_t seed) {
  std::vector<std::string> out;
  if (seed != 0) {
    while (out.size() < kRandomInputs) out.push_back(random_json(seed, 4));
    return out;
  }
  const std::string huge(AGENTD_SERVICE_JSON_MAX - 2, 'x');
  std::string many = "{";
  for (int i = 0; i < 50'000; ++i) many += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":[]";
  return {"{}",
          "[]",
          "null",
          "true",
          "0",
          "-1e300",
          "\"\"",
          R"("\u0000\ud83d\ude00")",
          R"({"":null})",
          nested(kInputDepth),
          "\"" + huge + "\"",
          many + "}"};
}

}  // namespace agentd::validation
