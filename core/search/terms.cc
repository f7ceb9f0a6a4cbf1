// SPDX-License-Identifier: Apache-2.0
#include "core/search/terms.h"

#include <algorithm>
#include <array>

#include "core/base/bytes.h"

namespace agentd {
namespace {

struct Span {
  char32_t first, last;
};

// Letters and numbers alone (Unicode 15): the tokenizer would cut a pair at a sign.
constexpr std::array<Span, 20> kPaired{{
    {0x1100, 0x11ff},    // Hangul Jamo
    {0x3005, 0x3005},    // the repetition mark
    {0x3007, 0x3007},    // zero
    {0x3021, 0x3029},    // Hangzhou numerals
    {0x3031, 0x3035},    // kana repetition marks
    {0x3041, 0x3096},    // Hiragana
    {0x309d, 0x309f},    // its iteration marks
    {0x30a1, 0x30fa},    // Katakana
    {0x30fc, 0x30ff},    // its marks, with the long vowel
    {0x3105, 0x312f},    // Bopomofo
    {0x3131, 0x318e},    // Hangul compatibility Jamo
    {0x31a0, 0x31bf},    // Bopomofo extended
    {0x31f0, 0x31ff},    // Katakana phonetic extensions
    {0x3400, 0x4dbf},    // Han, extension A
    {0x4e00, 0x9fff},    // Han
    {0xac00, 0xd7a3},    // Hangul syllables
    {0xf900, 0xfad9},    // Han, compatibility
    {0xff66, 0xff9d},    // Katakana, half width
    {0x20000, 0x2fa1f},  // Han, extensions B to F
    {0x30000, 0x323af},  // Han, extensions G and H
}};

// Signs beyond ASCII that are likely at the end of a query's word.
constexpr std::array<Span, 9> kSigns{{
    {0x80, 0xa9},
    {0xab, 0xb4},
    {0x2000, 0x206f},
    {0x3000, 0x3004},
    {0x3008, 0x3020},
    {0xff01, 0xff0f},
    {0xff1a, 0xff20},
    {0xff3b, 0xff40},
    {0xff5b, 0xff65},
}};

template <std::size_t N>
bool is_in(const std::array<Span, N>& spans, char32_t character) {
  return std::any_of(spans.begin(), spans.end(),
                     [&](const Span& span) { return span.first <= character && character <= span.last; });
}

bool is_control(char32_t character) { return character < 0x20 || character == 0x7f; }

// The ASCII letter or digit of a full-width one; 0 = it is none.
char narrow(char32_t character) {
  const bool full = (character >= 0xff10 && character <= 0xff19) || (character >= 0xff21 && character <= 0xff3a) ||
                    (character >= 0xff41 && character <= 0xff5a);
  return full ? static_cast<char>(character - 0xfee0) : '\0';
}

// True for a character that the tokenizer probably takes for a part of a word.
bool is_of_words(char32_t character) {
  if (character >= 0x80) return !is_in(kSigns, character);
  return (character >= '0' && character <= '9') || (character >= 'a' && character <= 'z') ||
         (character >= 'A' && character <= 'Z');
}

bool has_words(std::string_view text) {
  while (!text.empty()) {
    const Character at = first_character(text);
    if (is_of_words(at.value)) return true;
    text.remove_prefix(at.bytes);
  }
  return false;
}

// Indexed bytes, and the source that they come from. When the lengths are equal, the bytes correspond one by one.
struct Piece {
  std::string_view bytes;
  TextRange source;
};

// A run of paired characters at `from`: the starts of its characters, and its end.
std::vector<std::size_t> run_at(std::string_view text, std::size_t from) {
  std::vector<std::size_t> out;
  std::size_t at = from;
  while (at < text.size()) {
    const Character character = first_character(text.substr(at));
    if (!is_paired(character.value)) break;
    out.push_back(at);
    at += character.bytes;
  }
  out.push_back(at);
  return out;
}

// Gives the pieces of a text in order. `last_alone` says whether a run that ends there is followed by its last
// character; a run of one character always is one.
template <typename Emit, typename LastAlone>
void walk(std::string_view text, const Emit& emit, const LastAlone& last_alone) {
  static constexpr std::string_view kBlank = " ";
  std::size_t at = 0, plain = 0;  // from `plain` to `at` the bytes are indexed as they are
  const auto flush = [&] {
    if (plain < at) emit(Piece{text.substr(plain, at - plain), {plain, at}});
  };
  while (at < text.size()) {
    const Character character = first_character(text.substr(at));
    const char ascii = narrow(character.value);
    if (is_paired(character.value)) {
      flush();
      const std::vector<std::size_t> starts = run_at(text, at);
      const std::size_t count = starts.size() - 1, end = starts.back();
      emit(Piece{kBlank, {at, at}});
      for (std::size_t i = 0; i + 1 < count; ++i) {
        emit(Piece{text.substr(starts[i], starts[i + 2] - starts[i]), {starts[i], starts[i + 2]}});
        emit(Piece{kBlank, {starts[i + 2], starts[i + 2]}});
      }
      if (count == 1 || last_alone(end)) {
        emit(Piece{text.substr(starts[count - 1], end - starts[count - 1]), {starts[count - 1], end}});
        emit(Piece{kBlank, {end, end}});
      }
      plain = at = end;
    } else if (is_control(character.value) || ascii != '\0') {
      flush();
      emit(Piece{ascii == '\0' ? kBlank : std::string_view(&ascii, 1), {at, at + character.bytes}});
      plain = at += character.bytes;
    } else {
      at += character.bytes;
    }
  }
  flush();
}

bool always(std::size_t) { return true; }

// The words of a query: each a word, or the words of a phrase.
std::vector<std::string_view> units_of(std::string_view query) {
  std::vector<std::string_view> out;
  std::size_t begin = 0, at = 0;
  bool quoted = false;
  const auto end_unit = [&] {
    if (const std::string_view unit = query.substr(begin, at - begin); has_words(unit)) out.push_back(unit);
  };
  while (at < query.size()) {
    const Character character = first_character(query.substr(at));
    const bool quote = character.value == '"';
    if (quote || (!quoted && (is_gap(character.value) || is_control(character.value)))) {
      end_unit();
      begin = at + character.bytes;
      if (quote) quoted = !quoted;
    }
    at += character.bytes;
  }
  end_unit();
  return out;
}

// Appends the phrase of a unit, which has no quote.
void add_phrase(std::string& out, std::string_view unit) {
  bool prefix = false;
  out += out.empty() ? "\"" : " \"";
  walk(
      unit,
      [&](const Piece& piece) {
        out += piece.bytes;
        if (!has_words(piece.bytes)) return;
        const Character first = first_character(piece.bytes);
        prefix = is_paired(first.value) && first.bytes == piece.bytes.size();
      },
      [&](std::size_t end) { return has_words(unit.substr(end)); });
  out += prefix ? "\"*" : "\"";
}

}  // namespace

Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (text.size() < bytes || !is_utf8(text.substr(0, bytes))) return {0, 1};
  char32_t value = lead & (0xff >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) value = value << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
  return {value, bytes};
}

bool is_paired(char32_t character) { return character >= kPaired[0].first && is_in(kPaired, character); }

bool is_gap(char32_t character) {
  return character == ' ' || (character >= '\t' && character <= '\r') || character == 0xa0 || character == 0x3000;
}

std::string index_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  walk(
      text, [&](const Piece& piece) { out += piece.bytes; }, always);
  return out;
}

std::vector<TextRange> source_ranges(std::string_view text, std::span<const TextRange> indexed) {
  std::vector<TextRange> out;
  std::size_t begin = 0;  // of the piece, in the indexed text
  std::size_t next = 0;   // the first range that has not ended
  walk(
      text,
      [&](const Piece& piece) {
        const std::size_t end = begin + piece.bytes.size();
        const bool same = piece.bytes.size() == piece.source.to - piece.source.from;
        for (; next < indexed.size(); ++next) {
          const TextRange& range = indexed[next];
          if (range.from >= end) break;
          if (range.from >= begin)
            out.push_back({same ? piece.source.from + (range.from - begin) : piece.source.from, piece.source.to});
          if (range.to > end) break;
          if (range.to > begin) out.back().to = same ? piece.source.from + (range.to - begin) : piece.source.to;
        }
        begin = end;
      },
      always);
  return out;
}

Result<std::string> match_expression(std::string_view query) {
  if (query.size() > kQueryBytesMax)
    return Error{Code::kInvalid, "the text to search for has " + with_commas(query.size()) + " bytes, and at most " +
                                     with_commas(kQueryBytesMax) + " are possible: shorten it"};
  const std::vector<std::string_view> units = units_of(query);
  if (units.empty())
    return Error{Code::kInvalid, "the text to search for has no word: a word has at least one letter or digit"};
  if (units.size() > kQueryWordsMax)
    return Error{Code::kInvalid, "the text to search for has " + with_commas(units.size()) + " words, and at most " +
                                     with_commas(kQueryWordsMax) + " are possible: omit some"};
  std::string out;
  for (const std::string_view unit : units) add_phrase(out, unit);
  return out;
}

}  // namespace agentd
