// SPDX-License-Identifier: Apache-2.0
#include "core/search/snippet.h"

#include <algorithm>

#include "core/base/neutral.h"

namespace agentd {
namespace {

constexpr std::size_t kColumnsMin = 20;
constexpr std::size_t kBeforePart = 4;  // a quarter of the columns shows what precedes the match
constexpr std::string_view kMore = "…";

std::size_t columns_of(char32_t character) { return is_paired(character) && character < 0xff66 ? 2 : 1; }

// The match where the most of them fit into `bytes`; the first of several such.
std::size_t best_match(std::span<const TextRange> matches, std::size_t bytes) {
  std::size_t best = 0, most = 0;
  for (std::size_t first = 0, behind = 0; first < matches.size(); ++first) {
    behind = std::max(behind, first);
    while (behind < matches.size() && matches[behind].to <= matches[first].from + bytes) ++behind;
    if (behind - first > most) best = first, most = behind - first;
  }
  return best;
}

// A place at most `columns` before `match`, at the beginning of a word.
std::size_t start_before(std::string_view text, std::size_t match, std::size_t columns) {
  std::size_t at = match;
  for (std::size_t used = 0; at > 0 && used < columns;) {
    std::size_t before = at - 1;
    while (before > 0 && at - before < 4 && (static_cast<unsigned char>(text[before]) & 0xc0) == 0x80) --before;
    used += columns_of(first_character(text.substr(before)).value);
    at = before;
  }
  if (at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n') return at;
  for (std::size_t word = at; word < match;) {
    const Character character = first_character(text.substr(word));
    if (is_paired(character.value)) return word;
    word += character.bytes;
    if (is_gap(character.value)) return word;
  }
  return at;
}

// Writes characters from a place of the text until the columns are full.
class Writer {
 public:
  Writer(std::string_view text, std::span<const TextRange> matches, std::size_t columns)
      : text_(text), matches_(matches), columns_(columns) {}

  Snippet write(std::size_t from) {
    if (from > 0) out_.text = kMore;
    const std::size_t begin = out_.text.size();
    while (next_ < matches_.size() && matches_[next_].to <= from) ++next_;
    std::size_t at = from;
    for (; at < text_.size(); at += character_.bytes) {
      character_ = first_character(text_.substr(at));
      if (is_gap(character_.value)) {
        gap_ = out_.text.size() > begin;
        continue;
      }
      if (!add(at)) break;
    }
    if (at < text_.size()) out_.text += kMore;
    return std::move(out_);
  }

 private:
  // False: it does not fit.
  bool add(std::size_t at) {
    const std::string_view bytes = text_.substr(at, character_.bytes);
    const std::string shown = neutral(bytes);
    const std::size_t needed = (shown == bytes ? columns_of(character_.value) : shown.size()) + (gap_ ? 1 : 0);
    if (used_ + needed > columns_) return false;
    used_ += needed;
    if (gap_) out_.text += ' ';
    gap_ = false;
    const std::size_t begin = out_.text.size();
    out_.text += shown;
    mark(at, begin);
    return true;
  }
  // Adds the character at `at`, which was written at `begin`, to the match that it belongs to.
  void mark(std::size_t at, std::size_t begin) {
    while (next_ < matches_.size() && matches_[next_].to <= at) ++next_, open_ = false;
    if (next_ == matches_.size() || matches_[next_].from > at) return;
    if (!open_) out_.matches.push_back({begin, begin});
    open_ = true;
    out_.matches.back().to = out_.text.size();
  }

  const std::string_view text_;
  const std::span<const TextRange> matches_;
  const std::size_t columns_;
  Snippet out_;
  Character character_;
  std::size_t used_ = 0, next_ = 0;
  bool gap_ = false, open_ = false;
};

}  // namespace

Snippet snippet_of(std::string_view text, std::span<const TextRange> matches, std::size_t columns) {
  columns = std::max(columns, kColumnsMin) - 2;  // the marks of what is left out
  if (matches.empty()) return Writer(text, matches, columns).write(0);
  const std::size_t before = columns / kBeforePart;
  const std::size_t match = matches[best_match(matches, columns - before)].from;
  return Writer(text, matches, columns).write(start_before(text, match, before));
}

}  // namespace agentd
