// SPDX-License-Identifier: Apache-2.0
#pragma once
// payload_fields.h - the tables of all payload records: the JSON key of each member.
//
// The JSON writer (payload_json.h), the reader (payload_record.h), the contract and the reference page (contract.h)
// walk these tables; no other code knows a key. A key is added by adding a row.
//
// Threading: immutable data.

#include <agentd/hook_abi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace agentd {

// The member at a field's offset, and its form in JSON.
enum class FieldKind : std::uint8_t {
  kText,          // agentd_str: a text
  kJson,          // agentd_str with JSON text: unchanged if it parses, else a text; empty = null
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
  kJoined,        // pointer to `table`, its keys among the others
  // Computed, not stored:
  kVersion,      // 1
  kEventName,    // the event
  kPercent,      // agentd_gauge: used of limit
  kWindowUsed,   // `used` of the event's gauge
  kContent,      // agentd_message: the texts of `blocks` joined; the next field is kMoreBlocks
  kMoreBlocks,   // agentd_message: `blocks`, written by kContent if the texts are not everything
  kSummaryMark,  // agentd_message: true for a summary
};

// Whether the key is present if the field is empty: no text, zero, no element, a null pointer. A kPart is empty if the
// first eight bytes at its offset are.
enum class Presence : std::uint8_t { kAlways, kOptional, kNullable };

struct FieldNames {
  std::span<const std::string_view> names = {};  // by number; "" = no such number
  std::string_view otherwise = "unknown";        // any other number, which a newer host may send
};

struct PayloadTable;

// The writer uses the first members of every field.
struct PayloadField {
  std::string_view key = {};  // "" = the keys of `table` are among the others (kPart, kJoined)
  FieldKind kind = FieldKind::kText;
  Presence presence = Presence::kAlways;
  std::uint8_t width = 0;
  std::uint16_t offset = 0;
  std::uint16_t tags = 0;    // bits 1 << tag of the variants that have it; 0 = all
  std::uint32_t bit = 0;     // kFlag; of any other kind: written only with this bit of the flags
  std::uint64_t except = 0;  // event_bit()s of the events that do not carry it
  const FieldNames* names = nullptr;
  const PayloadTable* table = nullptr;
  std::uint64_t initial = 0;         // the reader's value for an absent key, except at
  std::uint64_t initial_except = 0;  // the events of these event_bit()s
  std::uint32_t text_target = 0;     // AGENTD_TEXT_: a rewrite replaces this field
  std::string_view meaning = {};     // shown to users
  std::string_view unit = {};        // unit of a number, shown to users
  std::string_view sample = {};      // JSON of an example; empty = the example leaves it out
};

// A payload member that the envelope repeats; the payload's value takes precedence.
struct HeadMember {
  // An empty member changes nothing, unless its kind is one of "Always".
  enum class Kind : std::uint8_t {
    kText,
    kTextAlways,
    kNumber,
    kNumberAlways,
    kLongNumber,
    kPointer,
    kVia,  // the members behind the pointer at `from`; `table` has them
  };
  Kind kind = Kind::kText;
  std::uint16_t from = 0;  // in the payload
  std::uint16_t to = 0;    // in agentd_envelope
  const PayloadTable* table = nullptr;
};

struct PayloadTable {
  std::string_view name = {};  // for an object that appears in several places; else empty
  std::uint16_t size = 0;      // size of the record as this host knows it
  std::span<const PayloadField> fields = {};
  std::span<const HeadMember> head = {};
  std::uint16_t tag_offset = 0;    // uint16_t that distinguishes variants; see PayloadField::tags
  std::uint16_t flags_offset = 0;  // uint16_t, for fields with a `bit`
};

const PayloadTable& envelope_table();

// The object `hook`, which the runtime of external hooks adds for one hook; not part of a payload.
struct HookKeys {
  std::uint32_t size = sizeof(HookKeys);
  std::uint32_t attempt = 0;
  agentd_str name{nullptr, 0};
  std::uint64_t deadline_ms = 0;
};
constexpr std::string_view kHookKey = "hook";
// The table of HookKeys.
const PayloadTable& hook_table();

// Null for an id that is not a core event.
const PayloadTable* payload_table(std::uint32_t event);

constexpr std::size_t kRecordSizeMax = 256;               // no record is larger
constexpr std::uint16_t kTagMax = AGENTD_BLOCK_DOCUMENT;  // a larger tag counts as 0

}  // namespace agentd
