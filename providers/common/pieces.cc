// SPDX-License-Identifier: Apache-2.0
#include "providers/common/pieces.h"

#include <utility>

namespace agentd {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::size_t kHalfBytes = 3;

unsigned byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

// The unit of the half that begins at `at`; 0 = none.
unsigned half_at(std::string_view text, std::size_t at) {
  if (text.size() < kHalfBytes || at > text.size() - kHalfBytes) return 0;
  if (byte_at(text, at) != 0xED || byte_at(text, at + 1) < 0xA0) return 0;
  return 0xD000 | ((byte_at(text, at + 1) & 0x3F) << 6) | (byte_at(text, at + 2) & 0x3F);
}

bool is_first(unsigned unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_second(unsigned unit) { return unit >= 0xDC00; }

void append_pair(std::string& out, unsigned first, unsigned second) {
  const unsigned point = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
  for (const unsigned shift : {18u, 12u, 6u, 0u})
    out += static_cast<char>(shift == 18 ? 0xF0 | (point >> shift) : 0x80 | ((point >> shift) & 0x3F));
}

}  // namespace

std::string TextPieces::next(std::string_view piece) {
  std::string bytes = std::exchange(half_, {});
  bytes += piece;
  std::string out;
  std::size_t from = 0;  // the first byte that is not in `out` yet
  for (std::size_t at = 0; (at = bytes.find('\xED', at)) != std::string::npos;) {
    const unsigned unit = half_at(bytes, at);
    if (unit == 0) {
      ++at;
      continue;
    }
    out.append(bytes, from, at - from);
    from = at += kHalfBytes;
    if (is_first(unit) && at == bytes.size()) {
      half_ = bytes.substr(at - kHalfBytes);
    } else if (const unsigned second = half_at(bytes, at); is_first(unit) && is_second(second)) {
      append_pair(out, unit, second);
      from = at += kHalfBytes;
    } else {
      out += kReplacement;
    }
  }
  return out.append(bytes, from);
}

std::string TextPieces::end() {
  return std::string(std::exchange(half_, {}).empty() ? std::string_view() : kReplacement);
}

}  // namespace agentd
