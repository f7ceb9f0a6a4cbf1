// SPDX-License-Identifier: Apache-2.0
#include "core/base/neutral.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>

#include "core/base/bytes.h"
#include "core/base/code_point.h"

namespace agentd {
namespace {

// The length that the first byte of a character announces; 0 for an invalid first byte.
std::size_t announced_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  return first >= 0xF0 && first <= 0xF4 ? 4 : 0;
}

struct Range {
  std::uint32_t first, last;
};
template <std::size_t kCount>
bool is_of(const Range (&ranges)[kCount], std::uint32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](const Range& range) { return code >= range.first && code <= range.last; });
}

// Characters that show nothing and that prose of no language needs: tags, fillers, invisible operators, and those that
// make text read differently from what it says: embeddings, overrides and isolates (Unicode TR 36). Marks of direction,
// joiners, breaks of no width and variation selectors are not here: Arabic, Hebrew, Khmer, Mongolian and emoji need
// them.
constexpr Range kUnseen[] = {{0x115F, 0x1160},   {0x2028, 0x202E},   {0x2061, 0x206F},
                             {0x3164, 0x3164},   {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB},
                             {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};

bool is_harmful(std::uint32_t code) {
  if (code < 0x7F) return code < 0x20 && code != '\n' && code != '\t';
  return code <= 0x9F || is_of(kUnseen, code);
}

// Further ones that a terminal does not show as themselves: of no width, unusual blanks, private characters.
bool is_hidden(std::uint32_t code) {
  if (code < 0x7F) return false;
  static constexpr Range kHidden[] = {
      {0xA0, 0xA0},     {0xAD, 0xAD},     {0x34F, 0x34F},   {0x61C, 0x61C},   {0x1680, 0x1680},   {0x17B4, 0x17B5},
      {0x180B, 0x180F}, {0x2000, 0x200F}, {0x202F, 0x202F}, {0x205F, 0x2060}, {0x2800, 0x2800},   {0x3000, 0x3000},
      {0xE000, 0xF8FF}, {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}, {0xFFFC, 0xFFFC}, {0xF0000, 0x10FFFF}};
  return is_of(kHidden, code);
}

void append_escaped(std::string& out, std::uint32_t code) {
  char text[16];
  std::snprintf(text, sizeof text, code < 0x100 ? "\\x%02x" : "\\u{%04x}", code);
  out += text;
}

void append_neutral(std::string& out, std::string_view character) {
  const std::uint32_t code = code_point(character);
  if (is_harmful(code))
    append_escaped(out, code);
  else
    out += character;
}

// The number of bytes of an incomplete character at the end.
std::size_t unfinished(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;
    return announced_length(byte) > back ? back : 0;
  }
  return 0;
}

}  // namespace

std::string Neutralizer::feed(std::string_view bytes) {
  rest_ += bytes;
  const std::size_t keep = unfinished(rest_);
  const std::string whole = to_utf8(std::string_view(rest_).substr(0, rest_.size() - keep));
  rest_.erase(0, rest_.size() - keep);
  std::string out;
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t length = announced_length(static_cast<unsigned char>(whole[at]));
    append_neutral(out, std::string_view(whole).substr(at, length));
    at += length;
  }
  return out;
}

std::string Neutralizer::finish() {
  std::string out = to_utf8(rest_);
  rest_.clear();
  return out;
}

std::string neutral(std::string_view text) {
  Neutralizer neutralizer;
  std::string out = neutralizer.feed(text);
  return out + neutralizer.finish();
}

std::string visible(std::string_view text) {
  const std::string whole = to_utf8(text);
  std::string out;
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t length = announced_length(static_cast<unsigned char>(whole[at]));
    const std::string_view character = std::string_view(whole).substr(at, length);
    if (is_hidden(code_point(character)))
      append_escaped(out, code_point(character));
    else
      append_neutral(out, character);
    at += length;
  }
  return out;
}

std::string neutral_line(std::string_view text, std::size_t bytes_max) {
  // Cut first, so that megabytes that are not shown cost nothing.
  const std::string_view prefix = utf8_prefix(text, bytes_max);
  std::string out = neutral(prefix);
  for (char& c : out)
    if (c == '\n' || c == '\t') c = ' ';
  return prefix.size() < text.size() ? out + "…" : out;
}

}  // namespace agentd
