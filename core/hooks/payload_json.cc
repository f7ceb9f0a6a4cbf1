// SPDX-License-Identifier: Apache-2.0
#include "core/hooks/payload_json.h"

#include <algorithm>
#include <cmath>

#include "core/codec/json.h"
#include "core/conversation/rows.h"
#include "core/hooks/event.h"
#include "core/hooks/payload_bytes.h"

namespace agentd {
namespace {

// Foreign JSON text: unchanged if it parses, else as a string. Line breaks between its tokens become spaces, so that a
// payload stays one line.
void json_text(JsonWriter& out, std::string_view json) {
  if (json.empty()) {
    out.null();
    return;
  }
  if (!JsonDocument::parse(json)) {
    out.string(json);
    return;
  }
  if (json.find_first_of("\n\r") == std::string_view::npos) {
    out.raw(json);
    return;
  }
  std::string line(json);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  out.raw(line);
}

std::string_view name_of(const FieldNames& names, std::uint64_t number) {
  return number < names.names.size() && !names.names[number].empty() ? names.names[number] : names.otherwise;
}

bool is_empty(const PayloadField& field, const char* record) {
  switch (field.kind) {
    case FieldKind::kText:
    case FieldKind::kJson:
      return member_at<agentd_str>(record, field.offset).len == 0;
    case FieldKind::kNumber:
    case FieldKind::kName:
      return number_at(record, field) == 0;
    case FieldKind::kFlag:
      return (number_at(record, field) & field.bit) == 0;
    case FieldKind::kBool:
    case FieldKind::kFraction:
      return member_at<std::uint32_t>(record, field.offset) == 0;
    case FieldKind::kSigned:
    case FieldKind::kMilliseconds:
    case FieldKind::kDollars:
    case FieldKind::kPart:
      return member_at<std::uint64_t>(record, field.offset) == 0;
    case FieldKind::kTexts:
    case FieldKind::kRecords:
      return member_at<agentd_list>(record, field.offset).count == 0;
    case FieldKind::kRecord:
    case FieldKind::kJoined:
      return member_at<const void*>(record, field.offset) == nullptr;
    case FieldKind::kSummaryMark:
      return member_at<std::uint16_t>(record, field.offset) != AGENTD_ROLE_SUMMARY;
    case FieldKind::kVersion:
    case FieldKind::kEventName:
    case FieldKind::kPercent:
    case FieldKind::kWindowUsed:
    case FieldKind::kContent:
      return false;
    case FieldKind::kMoreBlocks:
      return true;  // kContent writes it
  }
  return false;
}

class PayloadWriter {
 public:
  PayloadWriter(JsonWriter& out, std::uint32_t event, const agentd_gauge* context)
      : out_(out), event_(event), event_bit_(event_bit(event)), context_(context) {}

  void members(const PayloadTable& table, const char* record) {
    for (const PayloadField& field : table.fields) {
      if ((field.except & event_bit_) != 0 || !has_field(table, field, record)) continue;
      if (field.presence != Presence::kAlways && is_empty(field, record)) {
        if (field.presence == Presence::kNullable) out_.key(field.key).null();
        continue;
      }
      if (!field.key.empty()) out_.key(field.key);
      value(field, record);
    }
  }

 private:
  void value(const PayloadField& field, const char* record) {
    switch (field.kind) {
      case FieldKind::kText:
        out_.string(text_at(record, field));
        return;
      case FieldKind::kJson:
        json_text(out_, text_at(record, field));
        return;
      case FieldKind::kNumber:
        out_.number(number_at(record, field));
        return;
      case FieldKind::kSigned:
        out_.number(member_at<std::int64_t>(record, field.offset));
        return;
      case FieldKind::kBool:
        out_.boolean(member_at<std::uint32_t>(record, field.offset) != 0);
        return;
      case FieldKind::kFlag:
        out_.boolean((number_at(record, field) & field.bit) != 0);
        return;
      case FieldKind::kName:
        out_.string(name_of(*field.names, number_at(record, field)));
        return;
      case FieldKind::kMilliseconds:
        out_.number(member_at<std::uint64_t>(record, field.offset) / kNsPerMs);
        return;
      case FieldKind::kDollars:
        out_.real(number_as_real(record, field.offset) * 1e-9);
        return;
      case FieldKind::kFraction:
        out_.real(static_cast<double>(member_at<std::uint32_t>(record, field.offset)) / 1000.0);
        return;
      case FieldKind::kTexts:
        texts(member_at<agentd_list>(record, field.offset));
        return;
      case FieldKind::kMoreBlocks:
      case FieldKind::kRecords:
        records(member_at<agentd_list>(record, field.offset), *field.table);
        return;
      case FieldKind::kRecord:
      case FieldKind::kJoined:
        led_to(field, member_at<const void*>(record, field.offset));
        return;
      case FieldKind::kPart:
        inside(field, record);
        return;
      case FieldKind::kVersion:
        out_.number(1);
        return;
      case FieldKind::kEventName:
        event_name();
        return;
      case FieldKind::kPercent:
        percent(record);
        return;
      case FieldKind::kWindowUsed:
        out_.number(WholeRecord(context_, sizeof(agentd_gauge)).member<std::uint64_t>(offsetof(agentd_gauge, used)));
        return;
      case FieldKind::kContent:
        content(record, *(&field + 1));
        return;
      case FieldKind::kSummaryMark:
        out_.boolean(true);
        return;
    }
  }

  static std::string_view text_at(const char* record, const PayloadField& field) {
    return view_of(member_at<agentd_str>(record, field.offset));
  }
  static double number_as_real(const char* record, std::size_t offset) {
    return static_cast<double>(member_at<std::uint64_t>(record, offset));
  }

  // Writes an object, or its keys among the others.
  void inside(const PayloadField& field, const char* record) {
    if (field.key.empty()) {
      members(*field.table, record);
      return;
    }
    out_.begin_object();
    members(*field.table, record);
    out_.end_object();
  }
  void led_to(const PayloadField& field, const void* record) { inside(field, WholeRecord(record, *field.table).at()); }

  // agentd_str is frozen and has no size.
  void texts(const agentd_list& list) {
    out_.begin_array();
    for_each_element(list, sizeof(agentd_str),
                     [&](const char* at) { out_.string(view_of(member_at<agentd_str>(at, 0))); });
    out_.end_array();
  }

  void records(const agentd_list& list, const PayloadTable& table) {
    out_.begin_array();
    for_each_element(list, sizeof(std::uint32_t), [&](const char* at) {
      out_.begin_object();
      members(table, WholeRecord(at, table).at());
      out_.end_object();
    });
    out_.end_array();
  }

  void event_name() {
    const EventTraits* const traits = find_event(event_);
    out_.string(traits == nullptr ? std::string_view("unknown") : traits->name);
  }

  void percent(const char* gauge) {
    const double limit = number_as_real(gauge, offsetof(agentd_gauge, limit));
    if (limit == 0)
      out_.null();
    else
      out_.real(std::round(number_as_real(gauge, offsetof(agentd_gauge, used)) * 10000.0 / limit) / 100.0);
  }

  // The text for a reader; `more` follows if that is not everything.
  void content(const char* message, const PayloadField& more) {
    const auto blocks = member_at<agentd_list>(message, offsetof(agentd_message, blocks));
    std::string_view only;
    std::string joined;
    bool only_text = true;
    for_each_element(blocks, sizeof(std::uint32_t), [&](const char* at) {
      const WholeRecord block(at, sizeof(agentd_block));
      const auto kind = block.member<std::uint16_t>(offsetof(agentd_block, kind));
      const auto flags = block.member<std::uint16_t>(offsetof(agentd_block, flags));
      only_text = only_text && kind == AGENTD_BLOCK_TEXT && flags == 0;
      if (kind != AGENTD_BLOCK_TEXT && kind != AGENTD_BLOCK_TOOL_RESULT) return;
      const std::string_view text = view_of(block.member<agentd_str>(offsetof(agentd_block, text)));
      if (joined.empty() && only.empty()) {
        only = text;
        return;
      }
      if (joined.empty()) joined = only;
      joined.append("\n\n").append(text);
    });
    out_.string(joined.empty() ? only : joined);
    if (only_text) return;
    out_.key(more.key);
    records(blocks, *more.table);
  }

  JsonWriter& out_;
  const std::uint32_t event_;
  const std::uint64_t event_bit_;
  const agentd_gauge* const context_;
};

template <typename Member>
void copy_unless_empty(char* to, const char* from, bool empty) {
  if (!empty) std::memcpy(to, from, sizeof(Member));
}

// Copies the payload's better values into the envelope: the model about to be called, the current gauge, the starting
// agent. Such a key appears once, with the payload's value.
void take_head(const PayloadTable& table, const char* payload, char* head) {
  using Kind = HeadMember::Kind;
  for (const HeadMember& each : table.head) {
    const char* const from = payload + each.from;
    char* const to = head + each.to;
    switch (each.kind) {
      case Kind::kText:
        copy_unless_empty<agentd_str>(to, from, member_at<agentd_str>(from, 0).len == 0);
        break;
      case Kind::kTextAlways:
        std::memcpy(to, from, sizeof(agentd_str));
        break;
      case Kind::kNumber:
        copy_unless_empty<std::uint32_t>(to, from, member_at<std::uint32_t>(from, 0) == 0);
        break;
      case Kind::kNumberAlways:
        std::memcpy(to, from, sizeof(std::uint32_t));
        break;
      case Kind::kLongNumber:
        copy_unless_empty<std::uint64_t>(to, from, member_at<std::uint64_t>(from, 0) == 0);
        break;
      case Kind::kPointer:
        copy_unless_empty<const void*>(to, from, member_at<const void*>(from, 0) == nullptr);
        break;
      case Kind::kVia:
        take_head(*each.table, WholeRecord(member_at<const void*>(from, 0), *each.table).at(), head);
        break;
    }
  }
}

}  // namespace

std::string payload_json(std::uint32_t event, const agentd_envelope* envelope, const void* payload) {
  const PayloadTable* const table = payload == nullptr ? nullptr : payload_table(event);
  agentd_envelope head;
  std::memcpy(&head, WholeRecord(envelope, envelope_table()).at(), sizeof(head));
  JsonWriter out;
  out.begin_object();
  if (table == nullptr) {
    PayloadWriter(out, event, head.context).members(envelope_table(), reinterpret_cast<const char*>(&head));
  } else {
    const WholeRecord record(payload, *table);
    take_head(*table, record.at(), reinterpret_cast<char*>(&head));
    PayloadWriter writer(out, event, head.context);
    writer.members(envelope_table(), reinterpret_cast<const char*>(&head));
    writer.members(*table, record.at());
  }
  out.end_object();
  return std::string(out.text());
}

}  // namespace agentd
