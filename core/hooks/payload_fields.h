// SPDX-License-Identifier: Apache-2.0
#pragma once
// payload_fields.h - the one description of every payload record: which JSON key is which member.
//
// The JSON writer (payload_json.h), the reader (payload_record.h), the contract and the reference
// page (contract.h) walk these tables; nobody else knows a key. A key is added by adding a row.
//
// Threading: immutable data.

#include <agentd/hook_abi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace agentd {

// What stands at a field's offset, and how it is written.
enum class FieldKind : std::uint8_t {
  kText,          // agentd_str: a text
  kJson,          // agentd_str with JSON text: as it is when it parses, else a text; empty = null
  kNumber,        // an unsigned number of `width` bytes
  kSigned,        // int64_t
  kBool,          // uint32_t: 1 or 0
  kFlag,          // `bit` of a number of `width` bytes: true or false
  kName,          // a number of `width` bytes, written as one of `names`
  kMilliseconds,  // uint64_t nanoseconds
  kDollars,       // uint64_t, 10^-9 US dollars
  kFraction,      // uint32_t per mille, written from 0 to 1
  kTexts,         // agentd_list of agentd_str
  kRecords,       // agentd_list of `table`
  kRecord,        // pointer to `table`, an object of its own
  kPart,          // members of the same record, an object of their own; `table` has them
  kJoined,        // pointer to `table`, its keys beside the others
  // Worked out, not stored:
  kVersion,      // 1
  kEventName,    // the event
  kPercent,      // agentd_gauge: used of limit
  kWindowUsed,   // `used` of the event's gauge
  kContent,      // agentd_message: the texts of `blocks` joined; the next field is kMoreBlocks
  kMoreBlocks,   // agentd_message: `blocks`, written by kContent when the texts are not everything
  kSummaryMark,  // agentd_message: true for a summary
};

// Whether the key is there when the field is empty: no text, zero, no element, a null pointer. What
// a kPart is empty by is the first eight bytes at its offset.
enum class Presence : std::uint8_t { kAlways, kOptional, kNullable };

struct FieldNames {
  std::span<const std::string_view> names = {};  // by number; "" = there is no such number
  std::string_view otherwise = "unknown";        // any other number, as a newer host may send it
};

struct PayloadTable;

// The writer reads what stands first of every field.
struct PayloadField {
  std::string_view key = {};  // "" = the keys of `table` stand beside the others (kPart, kJoined)
  FieldKind kind = FieldKind::kText;
  Presence presence = Presence::kAlways;
  std::uint8_t width = 0;
  std::uint16_t offset = 0;
  std::uint16_t tags = 0;    // bits 1 << tag of the variants that have it; 0 = all
  std::uint32_t bit = 0;     // kFlag; of any other kind: written only with this bit of the flags
  std::uint64_t except = 0;  // event_bit()s of the events that do not carry it
  const FieldNames* names = nullptr;
  const PayloadTable* table = nullptr;
  std::uint64_t initial = 0;         // what the reader assumes when the key is absent, but for
  std::uint64_t initial_except = 0;  // the events of these event_bit()s
  std::uint32_t text_target = 0;     // AGENTD_TEXT_: a rewrite replaces this
  std::string_view meaning = {};     // for people
  std::string_view unit = {};        // of a number, for people
  std::string_view sample = {};      // JSON of an example; empty = the example leaves it out
};

// A member of a payload that the envelope repeats: the payload knows better.
struct HeadMember {
  // A member that is empty changes nothing, unless it is one of "Always".
  enum class Kind : std::uint8_t {
    kText,
    kTextAlways,
    kNumber,
    kNumberAlways,
    kLongNumber,
    kPointer,
    kVia,  // the members of what the pointer at `from` leads to; `table` has them
  };
  Kind kind = Kind::kText;
  std::uint16_t from = 0;  // in the payload
  std::uint16_t to = 0;    // in agentd_envelope
  const PayloadTable* table = nullptr;
};

struct PayloadTable {
  std::string_view name = {};  // of an object that stands in several places; empty = of one
  std::uint16_t size = 0;      // of the record as this host knows it
  std::span<const PayloadField> fields = {};
  std::span<const HeadMember> head = {};
  std::uint16_t tag_offset = 0;    // uint16_t, which tells variants apart; see PayloadField::tags
  std::uint16_t flags_offset = 0;  // uint16_t, for fields that stand with a `bit`
};

const PayloadTable& envelope_table();

// `hook`, which the runtime of external hooks adds to what one hook gets; no member of a payload.
struct HookKeys {
  std::uint32_t size = sizeof(HookKeys);
  std::uint32_t attempt = 0;
  agentd_str name{nullptr, 0};
  std::uint64_t deadline_ms = 0;
};
constexpr std::string_view kHookKey = "hook";
// A table of HookKeys.
const PayloadTable& hook_table();

// Null for an id that is not the core's.
const PayloadTable* payload_table(std::uint32_t event);

constexpr std::size_t kRecordSizeMax = 256;               // no record is larger
constexpr std::uint16_t kTagMax = AGENTD_BLOCK_DOCUMENT;  // a larger tag counts as 0

}  // namespace agentd
