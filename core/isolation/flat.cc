// SPDX-License-Identifier: Apache-2.0
#include "core/isolation/flat.h"

#include <algorithm>
#include <cstring>

#include "core/isolation/record_copy.h"

namespace agentd {

void copy_record(const Shape& shape, const void* from, std::size_t available, void* to) {
  if (!shape.sized) {
    std::memcpy(to, from, shape.bytes);
    return;
  }
  const auto size = read_at<std::uint32_t>(from, 0);
  const bool possible = size >= 8 && size <= kCrossingRecordMax;
  const std::size_t bytes = possible ? std::min({std::size_t{size}, std::size_t{shape.bytes}, available}) : 8;
  std::memcpy(to, from, bytes);
  std::memset(static_cast<std::byte*>(to) + bytes, 0, shape.bytes - bytes);
  if (possible) write_at(to, 0, std::min(size, std::uint32_t{shape.bytes}));
}

namespace {

Error broken(const Shape& shape, const char* what) { return {Code::kInvalid, std::string(shape.name) + " " + what}; }

}  // namespace

Result<void> check_list(const Shape& of, const agentd_list& list) {
  if (list.count == 0) return {};
  if (list.first == nullptr) return broken(of, "has a list without memory");
  const std::uint32_t least = of.sized ? 8 : of.bytes;
  if (list.stride < least || list.stride > kCrossingRecordMax)
    return broken(of, "has a list with an impossible stride");
  return {};
}

Result<void> check_text(const Shape& where, const agentd_str& text) {
  if (text.ptr == nullptr && text.len != 0) return broken(where, "has a text without memory");
  return {};
}

Error too_deep(const Shape& shape) { return broken(shape, "is nested too deeply in other records"); }

namespace {

constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 7) & ~std::uint64_t{7}; }

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out), start_(out.size()) {}

  Result<void> record(const Shape& shape, const void* from, std::size_t available, int depth) {
    AGENTD_TRY(const std::size_t at, take(shape, shape.bytes));
    copy_record(shape, from, available, out_.data() + at);
    return members(shape, at, depth);
  }

 private:
  using Member = Shape::Member;

  // Appends zeroed bytes to `out_`.
  Result<std::size_t> take(const Shape& shape, std::uint64_t bytes) {
    const std::size_t at = out_.size();
    if (bytes > kFlatBytesMax || at - start_ + aligned(bytes) > kFlatBytesMax)
      return Error{Code::kUnavailable, std::string(shape.name) + " is over the limit of " +
                                           std::to_string(kFlatBytesMax) + " bytes with all that it points to"};
    out_.resize(at + aligned(bytes), '\0');
    return at;
  }

  Result<void> members(const Shape& shape, std::size_t at, int depth) {
    for (const Member& member : shape.members) AGENTD_TRY_VOID(follow(shape, member, at + member.offset, depth));
    return {};
  }

  Result<void> follow(const Shape& shape, const Member& member, std::size_t at, int depth) {
    switch (member.kind) {
      case Shape::Kind::kText:
        return text(shape, at);
      case Shape::Kind::kList:
        return list(member.of, at, depth);
      case Shape::Kind::kPointer:
        return pointer(member.of, at, depth);
    }
    return {};
  }

  Result<void> text(const Shape& shape, std::size_t at) {
    const auto from = read_at<agentd_str>(out_.data(), at);
    AGENTD_TRY_VOID(check_text(shape, from));
    if (from.ptr == nullptr) return {};
    AGENTD_TRY(const std::size_t to, take(shape, from.len));
    if (from.len != 0) std::memcpy(out_.data() + to, from.ptr, from.len);
    write_at(out_.data(), at, std::uint64_t{to - start_});
    return {};
  }

  Result<void> list(const Shape* of, std::size_t at, int depth) {
    const auto from = read_at<agentd_list>(out_.data(), at);
    const std::uint32_t count = of == nullptr ? 0 : from.count;
    if (count == 0) {
      write_at(out_.data(), at, agentd_list{nullptr, 0, of == nullptr ? 0u : of->bytes});
      return {};
    }
    AGENTD_TRY_VOID(check_list(*of, from));
    if (depth >= kCrossingDepthMax) return too_deep(*of);
    AGENTD_TRY(const std::size_t to, take(*of, std::uint64_t{count} * of->bytes));
    for (std::uint32_t i = 0; i < count; ++i)
      copy_record(*of, static_cast<const std::byte*>(from.first) + std::size_t{i} * from.stride, from.stride,
                  out_.data() + to + std::size_t{i} * of->bytes);
    write_at(out_.data(), at, std::uint64_t{to - start_});
    write_at(out_.data(), at + offsetof(agentd_list, stride), std::uint32_t{of->bytes});
    for (std::uint32_t i = 0; i < count && !of->members.empty(); ++i)
      AGENTD_TRY_VOID(members(*of, to + std::size_t{i} * of->bytes, depth + 1));
    return {};
  }

  Result<void> pointer(const Shape* of, std::size_t at, int depth) {
    const auto* const from = read_at<const void*>(out_.data(), at);
    if (of == nullptr || from == nullptr) {
      write_at(out_.data(), at, std::uint64_t{0});
      return {};
    }
    if (depth >= kCrossingDepthMax) return too_deep(*of);
    write_at(out_.data(), at, std::uint64_t{out_.size() - start_});
    return record(*of, from, kCrossingRecordMax, depth + 1);
  }

  std::string& out_;
  const std::size_t start_;
};

}  // namespace

Result<void> flatten(const Shape& shape, const void* record, std::string& out) {
  const std::size_t before = out.size();
  AGENTD_ASSERT(record != nullptr && before % 8 == 0);
  auto done = Writer(out).record(shape, record, kCrossingRecordMax, 0);
  if (!done) out.resize(before);
  return done;
}

FlatBytes::FlatBytes(std::string_view bytes) : words_((bytes.size() + 7) / 8), size_(bytes.size()) {
  if (!bytes.empty()) std::memcpy(words_.data(), bytes.data(), bytes.size());
}

namespace {

// Every take() advances through the bytes, so the work is linear, whatever they contain.
class Reader {
 public:
  explicit Reader(std::span<std::byte> bytes) : bytes_(bytes) {}

  bool record(const Shape& shape, std::uint64_t offset, int depth) {
    return depth <= kCrossingDepthMax && take(offset, shape.bytes) && sized(shape, offset) &&
           members(shape, offset, depth);
  }
  bool at_end() const { return next_ == bytes_.size(); }

 private:
  using Member = Shape::Member;

  // True if `bytes` bytes at `offset` come next; padding must be zero.
  bool take(std::uint64_t offset, std::uint64_t bytes) {
    if (offset != next_ || bytes > bytes_.size() - next_) return false;
    const std::uint64_t end = next_ + bytes;
    if (aligned(end) > bytes_.size()) return false;
    for (std::uint64_t i = end; i < aligned(end); ++i)
      if (bytes_[i] != std::byte{0}) return false;
    next_ = aligned(end);
    return true;
  }

  bool sized(const Shape& shape, std::uint64_t at) const {
    return !shape.sized || size_is_safe(shape, read_at<std::uint32_t>(bytes_.data(), at));
  }

  bool members(const Shape& shape, std::uint64_t at, int depth) {
    for (const Member& member : shape.members)
      if (!follow(member, at + member.offset, depth)) return false;
    return true;
  }

  bool follow(const Member& member, std::uint64_t at, int depth) {
    switch (member.kind) {
      case Shape::Kind::kText:
        return text(at);
      case Shape::Kind::kList:
        return list(member.of, at, depth);
      case Shape::Kind::kPointer:
        return pointer(member.of, at, depth);
    }
    return false;
  }

  bool text(std::uint64_t at) {
    const auto offset = read_at<std::uint64_t>(bytes_.data(), at);
    const auto length = read_at<std::uint64_t>(bytes_.data(), at + offsetof(agentd_str, len));
    if (offset == 0) return length == 0;
    if (!take(offset, length)) return false;
    point(at, offset);
    return true;
  }

  bool list(const Shape* of, std::uint64_t at, int depth) {
    const auto offset = read_at<std::uint64_t>(bytes_.data(), at);
    const auto count = read_at<std::uint32_t>(bytes_.data(), at + offsetof(agentd_list, count));
    const auto stride = read_at<std::uint32_t>(bytes_.data(), at + offsetof(agentd_list, stride));
    if (stride != (of == nullptr ? 0 : of->bytes)) return false;
    if (count == 0) return offset == 0;
    if (of == nullptr || depth >= kCrossingDepthMax) return false;
    if (!take(offset, std::uint64_t{count} * of->bytes)) return false;
    point(at, offset);
    for (std::uint64_t i = 0, row = offset; i < count; ++i, row += of->bytes)
      if (!sized(*of, row) || !members(*of, row, depth + 1)) return false;
    return true;
  }

  bool pointer(const Shape* of, std::uint64_t at, int depth) {
    const auto offset = read_at<std::uint64_t>(bytes_.data(), at);
    if (offset == 0) return true;
    if (of == nullptr || !record(*of, offset, depth + 1)) return false;
    point(at, offset);
    return true;
  }

  void point(std::uint64_t at, std::uint64_t offset) {
    write_at<const void*>(bytes_.data(), at, bytes_.data() + offset);
  }

  std::span<std::byte> bytes_;
  std::uint64_t next_ = 0;
};

}  // namespace

Result<void*> relocate(const Shape& shape, std::span<std::byte> bytes) {
  Reader reader(bytes);
  if (!reader.record(shape, 0, 0) || !reader.at_end())
    return Error{Code::kInvalid, "the bytes are not a flat " + std::string(shape.name)};
  return static_cast<void*>(bytes.data());
}

}  // namespace agentd
