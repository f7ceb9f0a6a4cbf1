// SPDX-License-Identifier: Apache-2.0
#pragma once
// payload_bytes.h - reads members of a record by their offset, for walks over payload_fields.h.
//
// Records are memory of the C ABI: a member is copied, never referenced.
//
// Threading: pure functions.

#include <cstdint>
#include <cstring>

#include "core/hooks/payload_fields.h"

namespace agentd {

inline constexpr std::uint64_t kNsPerMs = 1'000'000;  // a record has nanoseconds, JSON milliseconds

template <typename Member>
Member member_at(const char* record, std::size_t offset) {
  Member member;
  std::memcpy(&member, record + offset, sizeof(member));
  return member;
}

inline std::uint64_t number_at(const char* record, const PayloadField& field) {
  if (field.width == 2) return member_at<std::uint16_t>(record, field.offset);
  if (field.width == 4) return member_at<std::uint32_t>(record, field.offset);
  return member_at<std::uint64_t>(record, field.offset);
}

// A growable record as this host knows it: members beyond its `size` read as zero.
class WholeRecord {
 public:
  // A null record is all zero.
  WholeRecord(const void* from, std::size_t size) : at_(static_cast<const char*>(from)) {
    std::uint32_t told = 0;
    if (from != nullptr) std::memcpy(&told, from, sizeof(told));
    if (told >= size) return;
    std::memset(copy_, 0, size);
    if (told >= sizeof(told)) std::memcpy(copy_, from, told);
    at_ = copy_;
  }
  WholeRecord(const void* from, const PayloadTable& table) : WholeRecord(from, table.size) {}
  WholeRecord(const WholeRecord&) = delete;
  WholeRecord& operator=(const WholeRecord&) = delete;

  const char* at() const { return at_; }
  template <typename Member>
  Member member(std::size_t offset) const {
    return member_at<Member>(at_, offset);
  }

 private:
  const char* at_;
  alignas(8) char copy_[kRecordSizeMax];
};

// Calls `each` with the address of every element of a list, stepping by its stride.
template <typename Each>
void for_each_element(const agentd_list& list, std::size_t stride_min, Each each) {
  if (list.first == nullptr || list.stride < stride_min) return;
  const auto* at = static_cast<const char*>(list.first);
  for (std::uint32_t i = 0; i < list.count; ++i, at += list.stride) each(at);
}

// The bit of the record's variant; see PayloadField::tags.
inline std::uint16_t tag_bit(const PayloadTable& table, const char* record) {
  if (table.tag_offset == 0) return 1;
  const auto tag = member_at<std::uint16_t>(record, table.tag_offset);
  return static_cast<std::uint16_t>(1u << (tag <= kTagMax ? tag : 0));
}

// True if this variant has the field.
inline bool has_field(const PayloadTable& table, const PayloadField& field, const char* record) {
  if (field.tags != 0 && (field.tags & tag_bit(table, record)) == 0) return false;
  if (field.bit == 0 || field.kind == FieldKind::kFlag) return true;
  return (member_at<std::uint16_t>(record, table.flags_offset) & field.bit) != 0;
}

}  // namespace agentd
