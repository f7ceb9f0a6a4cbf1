// SPDX-License-Identifier: Apache-2.0
#include "core/codec/ecma_regex.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "core/base/bytes.h"

namespace agentd {
namespace {

// WhiteSpace and LineTerminator of ECMA-262 as a character class, and its complement.
constexpr std::string_view kSpace =
    R"(\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff})";
constexpr std::string_view kNoSpace =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e})"
    R"(\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff})";
// Letters after a backslash that mean the same in both.
constexpr std::string_view kBoth = "dDwWbBtnrfvx";
constexpr unsigned kLast = 0x10FFFF;
constexpr std::size_t kShownPatternBytesMax = 200;
// Unicode categories by their long names, and RE2's names for them.
constexpr std::pair<std::string_view, std::string_view> kSets[] = {{"Letter", "L"},
                                                                   {"Lowercase_Letter", "Ll"},
                                                                   {"Uppercase_Letter", "Lu"},
                                                                   {"Mark", "M"},
                                                                   {"Number", "N"},
                                                                   {"Decimal_Number", "Nd"},
                                                                   {"digit", "Nd"},
                                                                   {"Punctuation", "P"},
                                                                   {"punct", "P"},
                                                                   {"Symbol", "S"},
                                                                   {"Separator", "Z"}};

std::optional<unsigned> hexadecimal(std::string_view digits) {
  unsigned out = 0;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, out, 16);
  if (digits.empty() || read.ec != std::errc() || read.ptr != end || out > kLast) return std::nullopt;
  return out;
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : left_(pattern) {}

  // Returns the mistake in the expression; without one, text() is the translation.
  std::optional<std::string> run() {
    while (!left_.empty()) {
      const char c = left_.front();
      if (c == '\\') {
        if (auto mistake = escape()) return mistake;
        continue;
      }
      if (!inside_ && left_.starts_with("(?<") && left_.size() > 3 && left_[3] != '=' && left_[3] != '!') {
        out_ += "(?P<";
        left_.remove_prefix(3);
        continue;
      }
      // In JavaScript a class may be empty, and "[" inside a class is literal.
      if (c == '[' && !inside_ && (left_.starts_with("[]") || left_.starts_with("[^]"))) {
        const bool nothing = left_[1] == ']';
        out_ += nothing ? R"([^\x{0}-\x{10ffff}])" : R"([\x{0}-\x{10ffff}])";
        left_.remove_prefix(nothing ? 2 : 3);
        continue;
      }
      if (c == '[' && inside_) out_ += '\\';
      inside_ = c == '[' || (inside_ && c != ']');
      out_ += c;
      left_.remove_prefix(1);
    }
    return std::nullopt;
  }
  const std::string& text() const { return out_; }

 private:
  std::optional<std::string> escape() {
    if (left_.size() < 2) return "it ends with a backslash";
    const char what = left_[1];
    left_.remove_prefix(2);
    if (what == 'u') return character();
    if (what == 'c') return control();
    if (what == 'p' || what == 'P') return set(what);
    if (what == 's' || what == 'S') {
      const std::string_view set = what == 's' ? kSpace : kNoSpace;
      out_ += inside_ ? std::string(set) : "[" + std::string(set) + "]";
      return std::nullopt;
    }
    const bool letter = (what >= 'a' && what <= 'z') || (what >= 'A' && what <= 'Z');
    if (letter && kBoth.find(what) == std::string_view::npos)
      return std::string("'\\") + what + "' is not an escape of JavaScript's expressions";
    if (what == 'b' && inside_)
      out_ += "\\x{8}";
    else
      (out_ += '\\') += what;
    return std::nullopt;
  }

  // \uXXXX, two of them for a surrogate pair, or \u{X}.
  std::optional<std::string> character() {
    std::optional<unsigned> code;
    if (left_.starts_with('{')) {
      const std::size_t end = std::min(left_.find('}'), left_.size());
      code = hexadecimal(left_.substr(1, end - 1));
      left_.remove_prefix(std::min(end + 1, left_.size()));
    } else {
      code = unit();
      if (code && *code >= 0xD800 && *code < 0xDC00 && left_.starts_with("\\u")) {
        left_.remove_prefix(2);
        const std::optional<unsigned> low = unit();
        code = low && *low >= 0xDC00 && *low < 0xE000
                   ? std::optional(0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00))
                   : std::nullopt;
      }
    }
    if (!code || (*code >= 0xD800 && *code < 0xE000)) return "'\\u' must name a character";
    put(*code);
    return std::nullopt;
  }

  std::optional<std::string> set(char what) {
    if (!left_.starts_with('{')) return "'\\p' must be followed by a name in braces";
    const std::string_view name = left_.substr(1, std::min(left_.find('}'), left_.size()) - 1);
    left_.remove_prefix(std::min(name.size() + 2, left_.size()));
    const auto* const known =
        std::find_if(std::begin(kSets), std::end(kSets), [&](const auto& each) { return each.first == name; });
    const std::string_view short_name = known == std::end(kSets) ? name : known->second;
    ((out_ += '\\') += what).append("{").append(short_name).append("}");
    return std::nullopt;
  }

  std::optional<unsigned> unit() {
    if (left_.size() < 4) return std::nullopt;
    const std::optional<unsigned> out = hexadecimal(left_.substr(0, 4));
    left_.remove_prefix(4);
    return out;
  }

  std::optional<std::string> control() {
    const char low = static_cast<char>(left_.empty() ? 0 : left_.front() | 0x20);
    if (low < 'a' || low > 'z') return "'\\c' must be followed by a letter";
    put(static_cast<unsigned>(low - 'a' + 1));
    left_.remove_prefix(1);
    return std::nullopt;
  }

  void put(unsigned code) {
    char digits[8];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), code, 16).ptr;
    out_.append("\\x{").append(std::begin(digits), end).append("}");
  }

  std::string_view left_;
  std::string out_;
  bool inside_ = false;  // inside "[]"
};

Error refused_expression(std::string_view pattern, const std::string& why) {
  return {Code::kInvalid, "the expression '" + one_line(pattern, kShownPatternBytesMax) +
                              "' cannot be used: " + one_line(why, kShownPatternBytesMax)};
}

}  // namespace

Result<Regex> compile_ecma(std::string_view pattern) {
  Translator translator(pattern);
  if (const auto mistake = translator.run()) return refused_expression(pattern, *mistake);
  auto made = Regex::compile(translator.text());
  if (!made && made.error().code == Code::kInvalid) return refused_expression(pattern, made.error().message);
  return made;
}

}  // namespace agentd
