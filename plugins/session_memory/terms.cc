// SPDX-License-Identifier: Apache-2.0
#include "plugins/session_memory/terms.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace session_memory {
namespace {

constexpr std::size_t kTermBytesMax = 64;

// In byte order.
constexpr std::string_view kStop[] = {
    "a",    "about", "after", "all",  "also",  "an",  "and",   "any",  "are",  "as",    "at",     "be",
    "been", "but",   "by",    "can",  "could", "did", "do",    "does", "for",  "from",  "get",    "had",
    "has",  "have",  "how",   "i",    "if",    "in",  "into",  "is",   "it",   "its",   "just",   "may",
    "me",   "my",    "no",    "not",  "of",    "on",  "or",    "our",  "out",  "s",     "should", "so",
    "some", "such",  "t",     "than", "that",  "the", "their", "them", "then", "there", "these",  "they",
    "this", "to",    "up",    "us",   "was",   "we",  "were",  "what", "when", "where", "which",  "while",
    "who",  "why",   "will",  "with", "would", "you", "your"};

// Stems, in byte order.
constexpr std::string_view kGeneric[] = {
    "actual", "add",     "app",     "application", "best",    "bug",     "call",    "caus",     "chang",   "check",
    "cod",    "correct", "creat",   "default",     "differ",  "don",     "error",   "exampl",   "exist",   "expect",
    "fail",   "failur",  "featur",  "fil",         "find",    "fix",     "follow",  "function", "giv",     "good",
    "happen", "help",    "instead", "issu",        "know",    "lin",     "mak",     "mean",     "messag",  "need",
    "new",    "occur",   "old",     "option",      "possibl", "problem", "program", "project",  "proper",  "question",
    "read",   "reason",  "result",  "return",      "right",   "run",     "set",     "show",     "softwar", "solv",
    "start",  "still",   "stop",    "support",     "system",  "task",    "test",    "thing",    "try",     "use",
    "used",   "user",    "using",   "valu",        "want",    "way",     "work",    "wrong"};

// Pairs that ask or connect.
// A row of Chinese has more bytes than columns.
// clang-format off
constexpr std::string_view kStopPairs[] = {
    "一下", "一个", "为什", "为何", "之前", "之后", "什么", "仍然",
    "使用", "出现", "可以", "可能", "如何", "如果", "应该", "怎么",
    "怎样", "我们", "是否", "没有", "的时", "能否", "这个", "这样",
    "进行", "那个", "问题", "需要"};
// clang-format on

static_assert(std::is_sorted(std::begin(kStop), std::end(kStop)) &&
              std::is_sorted(std::begin(kGeneric), std::end(kGeneric)) &&
              std::is_sorted(std::begin(kStopPairs), std::end(kStopPairs)));

struct Letter {
  char32_t point = 0;
  std::size_t bytes = 1;
};

// The character at `at`; ill-formed bytes read as a blank.
Letter letter_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (bytes == 0 || first > 0xF4 || at + bytes > text.size()) return {U' ', 1};
  char32_t point = first & (0xFFu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(at + i) & 0xC0u) != 0x80) return {U' ', 1};
    point = (point << 6) | (byte(at + i) & 0x3Fu);
  }
  return {point, bytes};
}

void put(std::string& out, char32_t point) {
  const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80u | ((point >> shift) & 0x3Fu)); };
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xC0u | (point >> 6));
    tail(0);
  } else if (point < 0x10000) {
    out += static_cast<char>(0xE0u | (point >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0u | (point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

bool within(char32_t point, char32_t first, char32_t last) { return point >= first && point <= last; }

// Scripts that are written without blanks between words.
bool is_unspaced(char32_t p) {
  return within(p, 0x3400, 0x9FFF) || within(p, 0xF900, 0xFAFF) || within(p, 0x20000, 0x3FFFF) ||
         within(p, 0x3041, 0x30FF) || within(p, 0x31F0, 0x31FF) || within(p, 0xAC00, 0xD7A3) ||
         within(p, 0x3105, 0x312F) || within(p, 0xFF66, 0xFF9D) || within(p, 0x0E01, 0x0E3A) || p == 0x3005;
}

bool is_digit(char32_t p) { return within(p, '0', '9'); }
bool is_upper(char32_t p) { return within(p, 'A', 'Z') || within(p, 0xC0, 0xDE) || within(p, 0x410, 0x42F); }

bool is_letter(char32_t p) {
  if (p < 0x80) return within(p, 'a', 'z') || within(p, 'A', 'Z') || is_digit(p);
  if (p < 0xC0) return p == 0xAA || p == 0xB5 || p == 0xBA;
  if (p == 0xD7 || p == 0xF7) return false;
  if (within(p, 0x2000, 0x2BFF) || within(p, 0x3000, 0x3040) || within(p, 0xE000, 0xF8FF)) return false;
  if (within(p, 0xFE00, 0xFE6F) || within(p, 0xFF00, 0xFF0F) || within(p, 0xFF1A, 0xFF20)) return false;
  if (within(p, 0xFF3B, 0xFF40) || within(p, 0xFF5B, 0xFF65) || p == 0xFEFF || p == 0xFFFD) return false;
  return p < 0x1F000 || p > 0x1FAFF;
}

// Latin-1 and Latin Extended-A letters without their accents, by the code point less 0xC0 and 0x100.
constexpr std::string_view kLatin1 = "aaaaaaaceeeeiiiidnooooo.ouuuuytsaaaaaaaceeeeiiiidnooooo.ouuuuyty";
constexpr std::string_view kLatinA =
    "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkkllllllllllnnnnnnnnnoooooooorrrrrrsssssssstt"
    "ttttuuuuuuuuuuuuwwyyyzzzzzzs";

char32_t folded(char32_t p) {
  if (within(p, 'A', 'Z')) return p + 32;
  if (p < 0xC0) return p;
  if (p <= 0xFF && kLatin1[p - 0xC0] != '.') return static_cast<unsigned char>(kLatin1[p - 0xC0]);
  if (within(p, 0x100, 0x17F)) return static_cast<unsigned char>(kLatinA[p - 0x100]);
  if (within(p, 0x391, 0x3A9) || within(p, 0x410, 0x42F)) return p + 32;
  if (within(p, 0x400, 0x40F)) return p + 80;
  if (within(p, 0xFF10, 0xFF19) || within(p, 0xFF41, 0xFF5A)) return p - 0xFEE0;
  if (within(p, 0xFF21, 0xFF3A)) return p - 0xFEE0 + 32;
  return p;
}
static_assert(kLatin1.size() == 64 && kLatinA.size() == 128);

bool has_vowel(std::string_view text) { return text.find_first_of("aeiouy") != std::string_view::npos; }

bool is_ascii_word(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

// stopped, stopping: the doubled letter before the ending.
void undouble(std::string& word) {
  const std::size_t n = word.size();
  if (n >= 4 && word[n - 1] == word[n - 2] && std::string_view("bdgmnprt").find(word[n - 1]) != std::string_view::npos)
    word.pop_back();
}

bool drop(std::string& word, std::string_view ending, std::size_t stem_min) {
  if (!word.ends_with(ending) || word.size() < ending.size() + stem_min) return false;
  if (!has_vowel(std::string_view(word).substr(0, word.size() - ending.size()))) return false;
  word.resize(word.size() - ending.size());
  return true;
}

std::string stem(std::string word) {
  if (word.size() < 4 || !is_ascii_word(word)) return word;
  if (word.ends_with("ies") || word.ends_with("ied")) {
    word.resize(word.size() - 3);
    return word + "y";
  }
  if (word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us") && !word.ends_with("is")) word.pop_back();
  if (drop(word, "ing", 3) || drop(word, "ed", 3))
    undouble(word);
  else
    drop(word, "ly", 4);
  if (word.size() >= 4 && word.ends_with('e')) word.pop_back();
  return word;
}

template <std::size_t kSize>
bool is_in(const std::string_view (&sorted)[kSize], std::string_view word) {
  return std::binary_search(std::begin(sorted), std::end(sorted), word);
}

class Terms {
 public:
  explicit Terms(TermsOf whose) : whose_(whose) {}

  std::vector<std::string> read(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      const Letter letter = letter_at(text, at);
      const std::size_t next = at + letter.bytes;
      if (is_unspaced(letter.point)) {
        end_word();
        run_.push_back(letter.point);
      } else if (is_letter(letter.point)) {
        end_run();
        add(letter.point);
      } else if (joins(text, next, letter.point)) {
        end_part();
      } else {
        end_run();
        end_word(text.substr(at));
      }
      at = next;
    }
    end_run();
    end_word();
    return std::move(out_);
  }

 private:
  // "_", "-" and "." between two letters of an identifier.
  bool joins(std::string_view text, std::size_t next, char32_t point) const {
    if (word_.empty() || next >= text.size() || (point != '_' && point != '-' && point != '.')) return false;
    const char32_t following = letter_at(text, next).point;
    return is_letter(following) && !is_unspaced(following);
  }

  void add(char32_t point) {
    const bool upper = is_upper(point);
    // maxTokens | HTTPServer: the last capital begins the next part.
    if (upper && lower_before_) end_part();
    if (!upper && !is_digit(point) && uppers_ > 1) {
      const std::size_t last = part_.size() - last_bytes_;
      std::string begun = part_.substr(last);
      part_.resize(last);
      end_part();
      part_ = std::move(begun);
    }
    const std::size_t before = part_.size();
    put(part_, folded(point));
    put(word_, folded(point));
    last_bytes_ = part_.size() - before;
    uppers_ = upper ? uppers_ + 1 : 0;
    lower_before_ = !upper && !is_digit(point);
  }

  void end_part() {
    if (!part_.empty()) parts_.push_back(std::move(part_));
    part_.clear();
    uppers_ = 0;
    lower_before_ = false;
  }

  // `rest`: the text behind the word.
  void end_word(std::string_view rest = {}) {
    end_part();
    if (word_.empty()) return;
    // C++ and C# are names.
    const std::string_view sign = rest.starts_with("++") ? "++" : rest.starts_with('#') ? "#" : "";
    if (word_.size() == 1 && !sign.empty()) {
      out_.push_back(word_ + std::string(sign));
    } else {
      if (parts_.size() > 1) keep(word_);
      for (std::string& part : parts_) keep_stem(std::move(part));
    }
    parts_.clear();
    word_.clear();
  }

  void keep_stem(std::string part) {
    if (is_in(kStop, part)) return;
    keep(stem(std::move(part)));
  }
  void keep(std::string term) {
    // A long one is data, not a word; its beginning tells it well enough from others.
    if (term.size() > kTermBytesMax) term.resize(kTermBytesMax);
    out_.push_back(std::move(term));
  }

  void end_run() {
    const bool singles = whose_ == TermsOf::kDocument || run_.size() == 1;
    for (std::size_t i = 0; i < run_.size(); ++i) {
      std::string one;
      put(one, run_[i]);
      if (i + 1 < run_.size()) {
        std::string pair = one;
        put(pair, run_[i + 1]);
        if (!is_in(kStopPairs, pair)) out_.push_back(std::move(pair));
      }
      if (singles) out_.push_back(std::move(one));
    }
    run_.clear();
  }

  const TermsOf whose_;
  std::vector<std::string> out_, parts_;
  std::string word_, part_;
  std::u32string run_;
  std::size_t uppers_ = 0, last_bytes_ = 0;
  bool lower_before_ = false;
};

}  // namespace

std::vector<std::string> terms_of(std::string_view text, TermsOf whose) { return Terms(whose).read(text); }

std::vector<std::string> term_set(std::string_view text) {
  std::vector<std::string> out = terms_of(text, TermsOf::kQuery);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

double overlap(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::string_view> common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
  const std::size_t all = a.size() + b.size() - common.size();
  return all == 0 ? 0 : static_cast<double>(common.size()) / static_cast<double>(all);
}

bool is_generic(std::string_view term) { return is_in(kGeneric, term); }

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  const auto end = [&] {
    if (!word.empty()) out.push_back(std::move(word));
    word.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    const Letter letter = letter_at(text, at);
    at += letter.bytes;
    if (!is_letter(letter.point) || is_unspaced(letter.point)) end();
    if (!is_letter(letter.point)) continue;
    put(word, folded(letter.point));
    if (is_unspaced(letter.point)) end();
  }
  end();
  return out;
}

}  // namespace session_memory
