// SPDX-License-Identifier: Apache-2.0
#pragma once
// sample_records.h - records of any shape with contents by a seed, and what two of them have in
// common.
//
// Threading: thread-compatible.

#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "core/isolation/message_shapes.h"
#include "core/isolation/shape_tables.h"

namespace agentd {

inline std::vector<const Shape*> all_shapes() {
#define AGENTD_ADDRESS(name, ...) &shapes::name,
  return {AGENTD_SHAPE_LIST(AGENTD_ADDRESS) & shapes::text};
#undef AGENTD_ADDRESS
}

// The shape by which a plugin's action crosses.
inline const Shape& action_shape(std::uint32_t kind) {
  for (const Shape::Member& member : args_shape(static_cast<std::uint32_t>(ServiceOp::kEmit), kind)->members)
    if (member.kind == Shape::Kind::kPointer && member.of != nullptr) return *member.of;
  return shapes::text;
}

template <typename T>
T value_at(const void* base, std::size_t offset) {
  T out;
  std::memcpy(&out, static_cast<const char*>(base) + offset, sizeof(T));
  return out;
}

class SampleRecords {
 public:
  explicit SampleRecords(unsigned seed) : random_(seed) {}

  // `full`: every member is there.
  void* make(const Shape& shape, bool full, int depth = 0) {
    void* const record = memory(shape.bytes);
    fill(shape, static_cast<char*>(record), full, depth);
    return record;
  }

 private:
  void* memory(std::size_t bytes) { return memory_.emplace_back((bytes + 7) / 8, 0x5a5a5a5a5a5a5a5a).data(); }
  unsigned below(unsigned limit) { return std::uniform_int_distribution<unsigned>(0, limit - 1)(random_); }

  void fill(const Shape& shape, char* record, bool full, int depth) {
    for (std::size_t i = 0; i < shape.bytes; ++i) record[i] = static_cast<char>(below(256));
    if (shape.sized) {
      const std::uint32_t size = shape.bytes;
      std::memcpy(record, &size, sizeof(size));
    }
    for (const Shape::Member& member : shape.members) {
      char* const at = record + member.offset;
      switch (member.kind) {
        case Shape::Kind::kText:
          put(at, text(full));
          break;
        case Shape::Kind::kList:
          put(at, list(member.of, full, depth));
          break;
        case Shape::Kind::kPointer: {
          const bool there = member.of != nullptr && depth < 3 && (full || below(2) == 0);
          put(at, static_cast<const void*>(there ? make(*member.of, full, depth + 1) : nullptr));
          break;
        }
      }
    }
  }
  template <typename T>
  static void put(char* at, const T& value) {
    std::memcpy(at, &value, sizeof(T));
  }
  agentd_str text(bool full) {
    const unsigned kind = full ? 3 : below(4);
    if (kind == 0) return {nullptr, 0};
    const std::size_t bytes = kind == 1 ? 0 : 1 + below(40);
    auto* const to = static_cast<char*>(memory(bytes + 1));
    for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<char>('a' + below(26));
    return {to, bytes};
  }
  agentd_list list(const Shape* of, bool full, int depth) {
    const unsigned count = of == nullptr || depth >= 3 ? 0 : full ? 2 : below(3);
    if (count == 0) return {nullptr, 0, 0};
    // Not the stride that the copy will have.
    const std::uint32_t stride = of->bytes + 8;
    auto* const rows = static_cast<char*>(memory(std::size_t{count} * stride));
    for (unsigned i = 0; i < count; ++i) fill(*of, rows + std::size_t{i} * stride, full, depth + 1);
    return {rows, count, stride};
  }

  std::mt19937 random_;
  std::deque<std::vector<std::uint64_t>> memory_;
};

// Calls back with each run of bytes that the record takes: itself, texts, lists, what they point
// to.
using SeeBytes = std::function<void(const void* from, std::size_t bytes)>;
inline void walk(const Shape& shape, const void* record, const SeeBytes& see);

inline void walk_members(const Shape& shape, const void* record, const SeeBytes& see) {
  for (const Shape::Member& member : shape.members) {
    if (member.kind == Shape::Kind::kText) {
      const auto text = value_at<agentd_str>(record, member.offset);
      if (text.ptr != nullptr) see(text.ptr, text.len);
    } else if (member.kind == Shape::Kind::kPointer) {
      const auto* const to = value_at<const void*>(record, member.offset);
      if (to != nullptr) walk(*member.of, to, see);
    } else {
      const auto list = value_at<agentd_list>(record, member.offset);
      if (list.count == 0) continue;
      see(list.first, std::size_t{list.count} * list.stride);
      for (std::uint32_t i = 0; i < list.count; ++i)
        walk_members(*member.of, static_cast<const char*>(list.first) + std::size_t{i} * list.stride, see);
    }
  }
}
inline void walk(const Shape& shape, const void* record, const SeeBytes& see) {
  see(record, shape.bytes);
  walk_members(shape, record, see);
}

// "" when both say the same; else where they part.
inline std::string difference(const Shape& shape, const void* a, const void* b);

inline std::string list_difference(const Shape* of, const agentd_list& a, const agentd_list& b) {
  if (a.count != b.count) return "another count";
  for (std::uint32_t i = 0; i < a.count; ++i) {
    const std::string inside = difference(*of, static_cast<const char*>(a.first) + std::size_t{i} * a.stride,
                                          static_cast<const char*>(b.first) + std::size_t{i} * b.stride);
    if (!inside.empty()) return "[" + std::to_string(i) + "]." + inside;
  }
  return {};
}

inline std::string member_difference(const Shape::Member& member, const void* a, const void* b) {
  switch (member.kind) {
    case Shape::Kind::kText: {
      const auto x = value_at<agentd_str>(a, member.offset), y = value_at<agentd_str>(b, member.offset);
      if ((x.ptr == nullptr) != (y.ptr == nullptr) || x.len != y.len) return "another length";
      return x.len == 0 || std::memcmp(x.ptr, y.ptr, x.len) == 0 ? "" : "another text";
    }
    case Shape::Kind::kList:
      return list_difference(member.of, value_at<agentd_list>(a, member.offset),
                             value_at<agentd_list>(b, member.offset));
    case Shape::Kind::kPointer: {
      const auto* const x = value_at<const void*>(a, member.offset);
      const auto* const y = value_at<const void*>(b, member.offset);
      if ((x == nullptr) != (y == nullptr)) return "one is null";
      return x == nullptr ? "" : difference(*member.of, x, y);
    }
  }
  return {};
}

inline std::string difference(const Shape& shape, const void* a, const void* b) {
  std::vector<bool> address(shape.bytes);
  for (const Shape::Member& member : shape.members) {
    const std::size_t bytes = member.kind == Shape::Kind::kPointer ? 8 : 16;
    for (std::size_t i = 0; i < bytes; ++i) address[member.offset + i] = true;
    const std::string inside = member_difference(member, a, b);
    if (!inside.empty()) return std::string(shape.name) + "+" + std::to_string(member.offset) + ": " + inside;
  }
  for (std::size_t i = 0; i < shape.bytes; ++i)
    if (!address[i] && value_at<char>(a, i) != value_at<char>(b, i))
      return std::string(shape.name) + "+" + std::to_string(i) + ": another byte";
  return {};
}

}  // namespace agentd
