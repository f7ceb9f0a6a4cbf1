// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "core/scrub/rules.h"

#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr double kMixedBits = 2.8;
constexpr double kValueBits = 2.8;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

bool has_letter_and_digit(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_digit) &&
         std::any_of(text.begin(), text.end(), [](char c) { return is_lower(c) || is_upper(c); });
}

// True if a placeholder's word is in the text as a word: at an end, or between marks.
bool has_word(std::string_view lower, std::string_view word) {
  const auto joins = [&](std::size_t at) { return !is_lower(lower[at]) && !is_digit(lower[at]); };
  for (std::size_t at = lower.find(word); at != std::string_view::npos; at = lower.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if (at == 0 || end == lower.size() || (joins(at - 1) && joins(end))) return true;
  }
  return false;
}

// Made of stars, dots or the letter x, with little else: sk-xxxx-xxxx.
bool is_filled_in(std::string_view lower) {
  const auto fills = [](char c) { return c == '*' || c == '.' || c == 'x'; };
  return std::count_if(lower.begin(), lower.end(), fills) * 2 > static_cast<std::ptrdiff_t>(lower.size());
}

// A text that holds the place of a secret. It must match completely: a longer text that contains it is a secret.
bool is_placeholder(std::string_view value) {
  constexpr std::pair<std::string_view, char> kBrackets[] = {{"${", '}'}, {"$(", ')'}, {"{{", '}'}, {"{", '}'},
                                                             {"%(", ')'}, {"%", '%'},  {"<", '>'}};
  for (const auto& [opening, closing] : kBrackets) {
    // An opening of one character is a common beginning of passwords, so the end must match too.
    const bool closed = opening.size() > 1 ? value.find(closing, 2) != std::string_view::npos
                                           : value.size() > 1 && value.back() == closing;
    if (value.starts_with(opening) && closed) return true;
  }
  constexpr std::string_view kExpressions[] = {"process.env", "os.environ", "environ[", "environ.",
                                               "getenv(",     "os.getenv",  "secrets.", "%s"};
  const std::string lower = ascii_lower(value);
  for (const std::string_view expression : kExpressions)
    if (lower.starts_with(expression)) return true;
  constexpr std::string_view kWords[] = {"your_",   "your-",      "changeme",    "change_me", "change-me",
                                         "example", "examplekey", "placeholder", "redacted"};
  for (const std::string_view word : kWords)
    if (has_word(lower, word)) return true;
  const bool variable = value.size() > 1 && value[0] == '$' && !is_digit(value[1]);
  return variable || is_filled_in(lower);
}

bool is_password(std::string_view value) {
  constexpr std::string_view kWords[] = {"password", "passwd", "pass",     "pwd", "pw",   "secret",
                                         "token",    "user",   "username", "key", "port", "p"};
  const std::string lower = ascii_lower(value);
  if (std::find(std::begin(kWords), std::end(kWords), lower) != std::end(kWords)) return false;
  if (lower.find_first_not_of('x') == std::string::npos) return false;
  return !is_placeholder(value);
}

// Names in programs: next_token2, sha256_hex, config.api_key1, Foo::bar2.
bool is_identifier(std::string_view value) {
  const auto inside = [](char c) { return is_lower(c) || is_digit(c) || c == '_' || c == '.' || c == '-'; };
  const auto joins = [](char c) { return c == '_' || c == '.' || c == '-'; };
  const auto digits = std::count_if(value.begin(), value.end(), is_digit);
  const bool few_digits = static_cast<std::size_t>(digits) * 3 < value.size();
  if (value.find("::") != std::string_view::npos || value.find("->") != std::string_view::npos) return true;
  if (few_digits && std::any_of(value.begin(), value.end(), joins) && std::all_of(value.begin(), value.end(), inside))
    return true;
  // KEY_NAME_2
  return few_digits && value.find('_') != std::string_view::npos &&
         std::all_of(value.begin(), value.end(), [](char c) { return is_upper(c) || is_digit(c) || c == '_'; });
}

bool is_path(std::string_view value) {
  return value.find("://") != std::string_view::npos || value.starts_with("./") || value.starts_with("~/") ||
         value.starts_with("../") || (value.starts_with('/') && value.find_first_of("+=") == std::string_view::npos);
}

// Calls, expressions of a program, regular expressions.
bool is_expression(std::string_view value) {
  const auto marks = std::count_if(value.begin(), value.end(), [](char c) {
    return std::string_view("[](){}<>|*").find(c) != std::string_view::npos;
  });
  return marks >= 2;
}

bool is_value(std::string_view value) {
  return has_letter_and_digit(value) && entropy_of(value) >= kValueBits && is_password(value) &&
         !is_identifier(value) && !is_path(value) && !is_expression(value);
}

}  // namespace

double entropy_of(std::string_view text) {
  std::array<std::uint32_t, 256> seen{};
  for (const char c : text) ++seen[static_cast<unsigned char>(c)];
  double bits = 0;
  for (const std::uint32_t count : seen) {
    if (count == 0) continue;
    const double share = count / static_cast<double>(text.size());
    bits -= share * std::log2(share);
  }
  return bits;
}

bool passes(ScrubCheck check, std::string_view value) {
  if (value.empty()) return false;
  switch (check) {
    case ScrubCheck::kNone:
      return true;
    case ScrubCheck::kMixed:
      return has_letter_and_digit(value) && entropy_of(value) >= kMixedBits;
    case ScrubCheck::kPassword:
      return is_password(value);
    case ScrubCheck::kValue:
      return is_value(value);
  }
  return true;
}

}  // namespace agentd
