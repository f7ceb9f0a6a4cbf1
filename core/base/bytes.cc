// SPDX-License-Identifier: Apache-2.0
#include "core/base/bytes.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace agentd {
namespace {

// Length of the well-formed sequence at `at`; 0 when it is ill-formed.
std::size_t sequence_bytes(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return follows(at + 1) ? 2 : 0;
  if (first < 0xF0) {
    const unsigned second = byte(at + 1);
    if (first == 0xE0 && second < 0xA0) return 0;
    if (first == 0xED && second > 0x9F) return 0;
    return follows(at + 1) && follows(at + 2) ? 3 : 0;
  }
  if (first > 0xF4) return 0;
  const unsigned second = byte(at + 1);
  if (first == 0xF0 && second < 0x90) return 0;
  if (first == 0xF4 && second > 0x8F) return 0;
  return follows(at + 1) && follows(at + 2) && follows(at + 3) ? 4 : 0;
}

// Length of the ill-formed part at `at`: an unfinished character, or one byte. Unicode 15, chapter 3.9, "U+FFFD
// Substitution of Maximal Subparts".
std::size_t ill_formed_bytes(std::string_view text, std::size_t at) {
  const auto within = [&](std::size_t i, unsigned char from, unsigned char to) {
    const auto byte = i < text.size() ? static_cast<unsigned char>(text[i]) : '\0';
    return byte >= from && byte <= to;
  };
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0xE0 || first > 0xF4) return 1;
  const bool starts = within(at + 1,
                             first == 0xE0   ? 0xA0
                             : first == 0xF0 ? 0x90
                                             : 0x80,
                             first == 0xED   ? 0x9F
                             : first == 0xF4 ? 0x8F
                                             : 0xBF);
  if (!starts) return 1;
  return first >= 0xF0 && within(at + 2, 0x80, 0xBF) ? 3 : 2;
}

// Skips plain ASCII eight bytes at a time.
std::size_t skip_ascii(std::string_view text, std::size_t at) {
  while (at + 8 <= text.size()) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    if ((word & 0x8080808080808080u) != 0) break;
    at += 8;
  }
  return at;
}

}  // namespace

std::size_t utf8_bytes(std::string_view text) {
  for (std::size_t at = 0;;) {
    at = skip_ascii(text, at);
    const std::size_t step = at < text.size() ? sequence_bytes(text, at) : 0;
    if (step == 0) return at;
    at += step;
  }
}

bool is_utf8(std::string_view text) { return utf8_bytes(text) == text.size(); }

std::string to_utf8(std::string_view bytes) {
  if (is_utf8(bytes)) return std::string(bytes);
  std::string out;
  out.reserve(bytes.size() + 16);
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t step = sequence_bytes(bytes, at);
    if (step == 0) {
      out += "\xEF\xBF\xBD";
      at += ill_formed_bytes(bytes, at);
    } else {
      out.append(bytes, at, step);
      at += step;
    }
  }
  return out;
}

std::string_view utf8_prefix(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;
  return text.substr(0, end);
}

std::string_view utf8_suffix(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t begin = text.size() - bytes_max;
  while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0u) == 0x80u) ++begin;
  return text.substr(begin);
}

std::string one_line(std::string_view text, std::size_t bytes_max) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  const std::string clean = to_utf8(utf8_prefix(text, bytes_max + 4));
  for (const char c : clean) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n' || c == '\t' || c == '\r') {
      if (!out.empty() && out.back() != ' ') out.push_back(' ');
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15u];
    } else {
      out.push_back(c);
    }
  }
  if (out.size() <= bytes_max && text.size() <= bytes_max) return out;
  return std::string(utf8_prefix(out, bytes_max > 3 ? bytes_max - 3 : 0)) + "...";
}

std::string ascii_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string hex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 15u]);
  }
  return out;
}

void put_be32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

void put_be64(std::string& out, std::uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

std::uint32_t get_be32(const char* at) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = (value << 8) | static_cast<unsigned char>(at[i]);
  return value;
}

std::uint64_t get_be64(const char* at) {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = (value << 8) | static_cast<unsigned char>(at[i]);
  return value;
}

bool is_blank(std::string_view text) {
  // Beyond ASCII, as UTF-8.
  static constexpr std::string_view kWide[] = {
      "\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x81", "\xE2\x80\x82", "\xE2\x80\x83",
      "\xE2\x80\x84", "\xE2\x80\x85", "\xE2\x80\x86", "\xE2\x80\x87", "\xE2\x80\x88", "\xE2\x80\x89", "\xE2\x80\x8A",
      "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80", "\xEF\xBB\xBF"};
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text.front());
    if ((first >= 0x09 && first <= 0x0D) || (first >= 0x1C && first <= 0x20)) {
      text.remove_prefix(1);
      continue;
    }
    const auto* const wide =
        std::find_if(std::begin(kWide), std::end(kWide), [&](std::string_view one) { return text.starts_with(one); });
    if (wide == std::end(kWide)) return false;
    text.remove_prefix(wide->size());
  }
  return true;
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (!out.empty() && !part.empty()) out += separator;
    out += part;
  }
  return out;
}

std::string with_commas(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return with_commas(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

bool has_control_character(std::string_view name) {
  return std::any_of(name.begin(), name.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; });
}

std::optional<char> percent_escaped(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (text.size() < 3 || text[0] != '%') return std::nullopt;
  const std::string digits = ascii_lower(text.substr(1, 2));
  const std::size_t high = kDigits.find(digits[0]), low = kDigits.find(digits[1]);
  if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
  return static_cast<char>(high << 4 | low);
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out += text[at];
      continue;
    }
    const auto byte = percent_escaped(text.substr(at));
    if (!byte) return std::nullopt;
    out += *byte;
    at += 2;
  }
  return out;
}

}  // namespace agentd
