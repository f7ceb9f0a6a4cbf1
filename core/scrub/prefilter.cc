// SPDX-License-Identifier: Apache-2.0
#include "core/scrub/prefilter.h"

#include <algorithm>
#include <cstring>

namespace agentd {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The slot of three bytes in the bitmap, equal for both cases of a letter. Reads 4 bytes.
std::uint32_t slot_of(const char* at) {
  std::uint32_t four;
  std::memcpy(&four, at, sizeof four);
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the fourth byte is shifted out");
  return ((four | 0x20202020u) << 8) * 0x9E3779B1u >> 16;
}

// The rough frequency of a byte in prose and programs.
unsigned weight(char c) {
  if (std::string_view("etaoinsrhl").find(lower(c)) != std::string_view::npos) return 8;
  if (c == '_') return 6;
  if (lower(c) >= 'a' && lower(c) <= 'z') return 3;
  return c == '-' || c == '/' ? 3 : 1;
}

}  // namespace

std::uint32_t Prefilter::add(std::string_view literal, bool any_case) {
  const auto number = static_cast<std::uint32_t>(literals_.size());
  Literal made{std::string(literal), any_case, 0};
  if (any_case) std::transform(literal.begin(), literal.end(), made.text.begin(), lower);
  unsigned best = ~0u;
  for (std::size_t at = 0; at + 3 <= literal.size(); ++at) {
    const unsigned here = weight(literal[at]) * weight(literal[at + 1]) * weight(literal[at + 2]);
    if (here >= best) continue;
    best = here;
    made.from = at;
  }
  const std::uint32_t slot = slot_of((made.text.substr(made.from, 3) + '\0').c_str());
  bitmap_[slot >> 6] |= std::uint64_t{1} << (slot & 63);
  if (buckets_[slot] == 0) {
    buckets_[slot] = static_cast<std::uint16_t>(literals_of_.size());
    literals_of_.emplace_back();
  }
  literals_of_[buckets_[slot]].push_back(number);
  literals_.push_back(std::move(made));
  return number;
}

void Prefilter::compare(std::string_view text, std::size_t at, std::uint32_t slot, std::vector<Hit>& out) const {
  for (const std::uint32_t number : literals_of_[buckets_[slot]]) {
    const Literal& literal = literals_[number];
    if (at < literal.from || text.size() - (at - literal.from) < literal.text.size()) continue;
    const std::string_view here = text.substr(at - literal.from, literal.text.size());
    const bool same = literal.any_case ? std::equal(here.begin(), here.end(), literal.text.begin(),
                                                    [](char a, char b) { return lower(a) == b; })
                                       : here == literal.text;
    if (same) out.push_back({at - literal.from, number});
  }
}

std::vector<Prefilter::Hit> Prefilter::find(std::string_view text) const {
  std::vector<Hit> hits;
  const std::uint64_t* const bitmap = bitmap_.data();
  const auto known = [&](std::uint32_t slot) { return bitmap[slot >> 6] >> (slot & 63) & 1; };
  const auto look = [&](std::size_t at, const char* bytes) {
    const std::uint32_t slot = slot_of(bytes);
    if (known(slot) != 0) compare(text, at, slot, hits);
  };
  std::size_t at = 0;
  for (; at + 7 <= text.size(); at += 4) {
    const char* const p = text.data() + at;
    if ((known(slot_of(p)) | known(slot_of(p + 1)) | known(slot_of(p + 2)) | known(slot_of(p + 3))) == 0) continue;
    for (std::size_t i = 0; i < 4; ++i) look(at + i, p + i);
  }
  for (; at + 3 <= text.size(); ++at) {
    const char last[4] = {text[at], text[at + 1], text[at + 2], '\0'};
    look(at, last);
  }
  std::sort(hits.begin(), hits.end(),
            [](const Hit& a, const Hit& b) { return a.at != b.at ? a.at < b.at : a.literal < b.literal; });
  return hits;
}

}  // namespace agentd
