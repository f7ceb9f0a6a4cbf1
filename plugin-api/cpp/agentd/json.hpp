// SPDX-License-Identifier: Apache-2.0
#pragma once
// json.hpp - reads JSON in place: a tool's input, a plugin's config, the text of agentd.json/1.
//
//   const agentd::json_view in = tool.input();
//   const std::string path = in.text("path");
//   const auto limit = in.integer("limit", 2000);
//   for (const agentd::json_view edit : in["edits"]) apply(edit.text("old"), edit.text("new"));
//
// A view is a piece of the text and lives as long as it. The host has validated a tool's input against its schema, so a
// reader just asks for the values that it needs: a value that is missing, null or of another type reads as the default.
// The only guarantee here is that reading stays inside the text; in malformed JSON the unreadable part is absent. Each
// look-up scans its object once from the start. Works with -fno-exceptions -fno-rtti.
//
// Threading: immutable values.

#if defined(__cplusplus) && __cplusplus < 202002L && (!defined(_MSVC_LANG) || _MSVC_LANG < 202002L)
#error "agentd's C++ SDK needs C++20: compile with -std=c++20 (cl: /std:c++20), or write the hook in C"
#else

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

namespace agentd {

enum class json_type { absent, null, boolean, number, text, array, object };

class json_view {
 public:
  class iterator;

  constexpr json_view() noexcept = default;
  // The first value of `text`; absent if there is none.
  constexpr explicit json_view(std::string_view text) noexcept : raw_(value_at(text, after_space(text, 0))) {}

  [[nodiscard]] constexpr json_type type() const noexcept {
    if (raw_.empty()) return json_type::absent;
    switch (raw_.front()) {
      case '{':
        return json_type::object;
      case '[':
        return json_type::array;
      case '"':
        return json_type::text;
      case 't':
      case 'f':
        return json_type::boolean;
      case 'n':
        return json_type::null;
      default:
        return json_type::number;
    }
  }
  // True if the value is present and not null.
  constexpr explicit operator bool() const noexcept { return type() != json_type::absent && type() != json_type::null; }
  // The value as JSON; empty = absent.
  [[nodiscard]] constexpr std::string_view raw() const noexcept { return raw_; }

  // ---- the value itself; empty, 0 or false for another type

  [[nodiscard]] std::string text() const {
    return type() == json_type::text ? unescaped(raw_.substr(1, raw_.size() - 2)) : std::string();
  }
  // A number without a fraction that fits; 2.0 is an integer.
  [[nodiscard]] std::int64_t integer() const noexcept { return integer_or(0); }
  [[nodiscard]] double number() const noexcept { return number_or(0); }
  [[nodiscard]] constexpr bool boolean() const noexcept { return raw_ == "true"; }

  // ---- a member of an object

  [[nodiscard]] json_view operator[](std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return static_cast<bool>((*this)[name]); }
  [[nodiscard]] std::string text(std::string_view name, std::string_view otherwise = {}) const {
    const json_view found = (*this)[name];
    return found.type() == json_type::text ? found.text() : std::string(otherwise);
  }
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise = 0) const {
    return (*this)[name].integer_or(otherwise);
  }
  [[nodiscard]] double number(std::string_view name, double otherwise = 0) const {
    return (*this)[name].number_or(otherwise);
  }
  [[nodiscard]] bool boolean(std::string_view name, bool otherwise = false) const {
    const json_view found = (*this)[name];
    return found.type() == json_type::boolean ? found.boolean() : otherwise;
  }

  // ---- elements of an array, values of an object, in their order

  [[nodiscard]] constexpr iterator begin() const noexcept;
  [[nodiscard]] constexpr std::default_sentinel_t end() const noexcept { return {}; }
  [[nodiscard]] constexpr std::size_t size() const noexcept;
  // The element at `index`; absent beyond the last.
  [[nodiscard]] constexpr json_view operator[](std::size_t index) const noexcept;

  // The value below this one at a path of names and indices separated by dots, as in agentd.field/1: "edits.0.old".
  [[nodiscard]] json_view at_path(std::string_view path) const;

 private:
  static constexpr std::size_t kNone = std::string_view::npos;

  struct verbatim {};
  constexpr json_view(verbatim, std::string_view raw) noexcept : raw_(raw) {}

  static constexpr bool is_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  static constexpr std::size_t after_space(std::string_view text, std::size_t at) noexcept {
    while (at < text.size() && is_space(text[at])) ++at;
    return at;
  }
  // The position after the closing quotation mark of the text at `at`.
  static constexpr std::size_t text_end(std::string_view text, std::size_t at) noexcept {
    for (++at; at < text.size(); ++at) {
      if (text[at] == '\\') {
        ++at;
      } else if (text[at] == '"') {
        return at + 1;
      }
    }
    return kNone;
  }
  // The position after the bracket that closes the one at `at`; no recursion.
  static constexpr std::size_t container_end(std::string_view text, std::size_t at) noexcept {
    std::size_t depth = 0;
    while (at < text.size()) {
      const char c = text[at];
      if (c == '"') {
        at = text_end(text, at);
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      ++at;
      if ((c == '}' || c == ']') && --depth == 0) return at;
    }
    return kNone;
  }
  static constexpr std::string_view value_at(std::string_view text, std::size_t at) noexcept {
    if (at >= text.size()) return {};
    const char c = text[at];
    std::size_t end = at;
    if (c == '"') {
      end = text_end(text, at);
    } else if (c == '{' || c == '[') {
      end = container_end(text, at);
    } else {
      while (end < text.size() && !is_space(text[end]) && std::string_view(",:]}[{\"").find(text[end]) == kNone) {
        ++end;
      }
    }
    return end == kNone ? std::string_view() : text.substr(at, end - at);
  }

  [[nodiscard]] std::int64_t integer_or(std::int64_t otherwise) const noexcept {
    if (type() != json_type::number) return otherwise;
    std::int64_t whole = 0;
    const char* const end = raw_.data() + raw_.size();
    const auto read = std::from_chars(raw_.data(), end, whole);
    if (read.ec == std::errc() && read.ptr == end) return whole;
    constexpr double kExact = 9007199254740992.0;  // 2^53: larger doubles are not exact integers
    const double value = number_or(0.5);
    const bool fits = value >= -kExact && value <= kExact;
    return fits && value == static_cast<double>(static_cast<std::int64_t>(value)) ? static_cast<std::int64_t>(value)
                                                                                  : otherwise;
  }
  [[nodiscard]] double number_or(double otherwise) const noexcept {
    if (type() != json_type::number) return otherwise;
    double value = 0;
#if defined(__cpp_lib_to_chars)
    const char* const end = raw_.data() + raw_.size();
    const auto read = std::from_chars(raw_.data(), end, value);
    return read.ec == std::errc() && read.ptr == end ? value : otherwise;
#else
    const std::string copy(raw_);
    char* end = nullptr;
    value = std::strtod(copy.c_str(), &end);
    return end == copy.c_str() + copy.size() ? value : otherwise;
#endif
  }

  static constexpr std::uint32_t kNoUnit = 0xFFFFFFFF;
  // The four hexadecimal digits at `at`.
  static constexpr std::uint32_t unit_at(std::string_view text, std::size_t at) noexcept {
    if (at + 4 > text.size()) return kNoUnit;
    std::uint32_t unit = 0;
    for (const char c : text.substr(at, 4)) {
      const std::uint32_t digit = c >= '0' && c <= '9'   ? static_cast<std::uint32_t>(c - '0')
                                  : c >= 'a' && c <= 'f' ? static_cast<std::uint32_t>(c - 'a' + 10)
                                  : c >= 'A' && c <= 'F' ? static_cast<std::uint32_t>(c - 'A' + 10)
                                                         : kNoUnit;
      if (digit == kNoUnit) return kNoUnit;
      unit = unit * 16 + digit;
    }
    return unit;
  }
  static void append_utf8(std::string& to, std::uint32_t point) {
    const auto tail = [&](unsigned shift) { to += static_cast<char>(0x80u | ((point >> shift) & 0x3Fu)); };
    if (point < 0x80) {
      to += static_cast<char>(point);
    } else if (point < 0x800) {
      to += static_cast<char>(0xC0u | (point >> 6));
      tail(0);
    } else if (point < 0x10000) {
      to += static_cast<char>(0xE0u | (point >> 12));
      tail(6);
      tail(0);
    } else {
      to += static_cast<char>(0xF0u | (point >> 18));
      tail(12);
      tail(6);
      tail(0);
    }
  }
  // Appends the character of the \u at `at`; returns the position after it. Half a pair becomes U+FFFD.
  static std::size_t append_unit(std::string& to, std::string_view text, std::size_t at) {
    constexpr std::uint32_t kReplacement = 0xFFFD;
    const std::uint32_t first = unit_at(text, at + 2);
    if (first == kNoUnit) {
      append_utf8(to, kReplacement);
      return at + 2;
    }
    if (first < 0xD800 || first > 0xDFFF) {
      append_utf8(to, first);
      return at + 6;
    }
    const std::uint32_t second = first < 0xDC00 && text.substr(at + 6, 2) == "\\u" ? unit_at(text, at + 8) : kNoUnit;
    if (second == kNoUnit || second < 0xDC00 || second > 0xDFFF) {
      append_utf8(to, kReplacement);
      return at + 6;
    }
    append_utf8(to, 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00));
    return at + 12;
  }
  static std::string unescaped(std::string_view text) {
    constexpr std::string_view kShort = "bfnrt", kMeans = "\b\f\n\r\t";
    std::string made;
    made.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t next = text.find('\\', at);
      made.append(text.substr(at, next == kNone ? kNone : next - at));
      if (next == kNone || next + 1 >= text.size()) break;
      const char what = text[next + 1];
      if (what == 'u') {
        at = append_unit(made, text, next);
        continue;
      }
      const std::size_t known = kShort.find(what);
      made += known == kNone ? what : kMeans[known];
      at = next + 2;
    }
    return made;
  }

  std::string_view raw_{};
};

// Walks an array or an object; name() is the member's, empty in an array.
class json_view::iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = json_view;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = json_view;

  constexpr iterator() noexcept = default;
  constexpr explicit iterator(std::string_view container) noexcept
      : all_(container), at_(1), object_(container.front() == '{') {
    next();
  }
  constexpr json_view operator*() const noexcept { return value_; }
  constexpr iterator& operator++() noexcept {
    next();
    return *this;
  }
  constexpr void operator++(int) noexcept { next(); }
  constexpr bool operator==(std::default_sentinel_t) const noexcept { return value_.raw().empty(); }
  [[nodiscard]] std::string name() const { return json_view(verbatim(), name_).text(); }
  [[nodiscard]] bool is_named(std::string_view wanted) const {
    if (name_.find('\\') != kNone) return name() == wanted;
    return name_.size() >= 2 && name_.substr(1, name_.size() - 2) == wanted;
  }

 private:
  constexpr void next() noexcept {
    value_ = json_view();
    at_ = after_space(all_, at_);
    if (at_ < all_.size() && all_[at_] == ',') at_ = after_space(all_, at_ + 1);
    if (object_) {
      if (at_ >= all_.size() || all_[at_] != '"') return;
      name_ = value_at(all_, at_);
      at_ = after_space(all_, at_ + name_.size());
      if (name_.empty() || at_ >= all_.size() || all_[at_] != ':') return;
      at_ = after_space(all_, at_ + 1);
    }
    value_ = json_view(verbatim(), value_at(all_, at_));
    at_ += value_.raw().size();
  }

  std::string_view all_{}, name_{};
  std::size_t at_ = 0;
  bool object_ = false;
  json_view value_{};
};

constexpr json_view::iterator json_view::begin() const noexcept {
  const bool inside = type() == json_type::array || type() == json_type::object;
  return inside ? iterator(raw_) : iterator();
}
constexpr std::size_t json_view::size() const noexcept {
  std::size_t count = 0;
  for (iterator at = begin(); at != end(); ++at) ++count;
  return count;
}
constexpr json_view json_view::operator[](std::size_t index) const noexcept {
  if (type() != json_type::array) return {};
  for (iterator at = begin(); at != end(); ++at) {
    if (index-- == 0) return *at;
  }
  return {};
}
inline json_view json_view::operator[](std::string_view name) const {
  if (type() != json_type::object) return {};
  for (iterator at = begin(); at != end(); ++at) {
    if (at.is_named(name)) return *at;
  }
  return {};
}
inline json_view json_view::at_path(std::string_view path) const {
  json_view found = *this;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string_view step = path.substr(0, dot);
    if (found.type() == json_type::array) {
      std::size_t index = 0;
      const auto read = std::from_chars(step.data(), step.data() + step.size(), index);
      found = read.ec == std::errc() && read.ptr == step.data() + step.size() ? found[index] : json_view();
    } else {
      found = found[step];
    }
    path = dot == kNone ? std::string_view() : path.substr(dot + 1);
  }
  return found;
}

}  // namespace agentd

#endif  // C++20
