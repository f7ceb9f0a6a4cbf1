// SPDX-License-Identifier: Apache-2.0
#include "plugins/guardrail/braces.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

namespace guardrail {
namespace {

constexpr int kNumbersMax = 256;  // per {1..n}
constexpr std::size_t kSequenceBytesMax = 64;

// One past the part that begins at `at`: a quotation, an escaped character, ${...}, or one character.
std::size_t part_end(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (c == '\\') return std::min(at + 2, text.size());
  if (c == '$' && at + 1 < text.size() && text[at + 1] == '{') return std::min(text.find('}', at), text.size() - 1) + 1;
  if (c != '\'' && c != '"') return at + 1;
  const bool escapes = c == '"' || (at > 0 && text[at - 1] == '$');
  for (++at; at < text.size() && text[at] != c; ++at)
    if (text[at] == '\\' && escapes) ++at;
  return std::min(at + 1, text.size());
}

std::optional<int> number_of(std::string_view text) {
  int out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

// The elements of a..c or 1..3, with any step; empty if it is not such a sequence.
std::vector<std::string> sequence_of(std::string_view inside) {
  if (inside.size() > kSequenceBytesMax) return {};
  const std::size_t dots = inside.find("..");
  if (dots == std::string_view::npos) return {};
  const std::string_view first = inside.substr(0, dots);
  std::string_view last = inside.substr(dots + 2);
  last = last.substr(0, last.find(".."));
  const auto low = number_of(first), high = number_of(last);
  if (low && high) {
    const long from = std::min(*low, *high), to = std::max(*low, *high);
    const auto padded = [](std::string_view text) { return text.size() > 1 && text.find_first_of("-0") == 0; };
    if (to - from >= kNumbersMax || padded(first) || padded(last)) return {"[-0-9]*"};
    std::vector<std::string> out;
    for (long i = from; i <= to; ++i) out.push_back(std::to_string(i));
    return out;
  }
  const auto is_letter = [](std::string_view text) {
    return text.size() == 1 && ((text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z'));
  };
  if (!is_letter(first) || !is_letter(last)) return {};
  std::vector<std::string> out;
  const char from = std::min(first[0], last[0]), to = std::max(first[0], last[0]);
  for (char c = from; c <= to; ++c) out.emplace_back(1, c);  // letters end long before char does
  return out;
}

struct List {
  std::size_t open, close;  // of the braces
  std::vector<std::string> items;
};

// The first list of a word at or after `from`.
std::optional<List> next_list(std::string_view word, std::size_t from) {
  struct Open {
    std::size_t at;
    std::vector<std::size_t> commas;
  };
  std::vector<Open> open;
  std::optional<Open> found;
  std::size_t close = 0;
  for (std::size_t at = from; at < word.size(); at = part_end(word, at)) {
    if (word[at] == '{') open.push_back({at, {}});
    if (open.empty()) continue;
    if (word[at] == ',') open.back().commas.push_back(at);
    if (word[at] != '}') continue;
    Open last = std::move(open.back());
    open.pop_back();
    const bool is_list = !last.commas.empty() || !sequence_of(word.substr(last.at + 1, at - last.at - 1)).empty();
    // The outermost list is taken; it ends last.
    if (is_list && (!found || last.at < found->at)) {
      found = std::move(last);
      close = at;
    }
    if (found && open.empty()) break;
  }
  if (!found) return std::nullopt;
  List out{found->at, close, {}};
  if (found->commas.empty()) {
    out.items = sequence_of(word.substr(found->at + 1, close - found->at - 1));
    return out;
  }
  std::size_t begin = found->at + 1;
  found->commas.push_back(close);
  for (const std::size_t comma : found->commas) {
    out.items.emplace_back(word.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return out;
}

// Replaces a list with "*", and adds the contents of lists.
std::string rough(std::string_view word) {
  std::string starred, inside;
  int level = 0;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t end = part_end(word, at);
    const char c = word[at];
    if (c == '{' && level++ == 0) starred += '*';
    if (level == 0) starred += word.substr(at, end - at);
    const bool divides = end == at + 1 && (c == '{' || c == '}' || c == ',');
    inside += divides ? " " : word.substr(at, end - at);
    if (c == '}' && level > 0) --level;
    at = end;
  }
  return starred + " " + inside;
}

}  // namespace

bool Braces::takes(std::size_t words, std::size_t bytes) {
  if (words > words_left_ || bytes > bytes_left_) return false;
  words_left_ -= words;
  bytes_left_ -= bytes;
  return true;
}

void Braces::expand(std::string_view word, std::string& out) {
  std::vector<std::pair<std::string, std::size_t>> left{{std::string(word), 0}};
  for (bool first = true; !left.empty();) {
    const auto [text, from] = std::move(left.back());
    left.pop_back();
    const auto list = next_list(text, from);
    if (list && takes(list->items.size(), list->items.size() * text.size())) {
      for (auto item = list->items.rbegin(); item != list->items.rend(); ++item)
        left.emplace_back(text.substr(0, list->open) + *item + text.substr(list->close + 1), list->open);
      continue;
    }
    if (!std::exchange(first, false)) out += ' ';
    out += list ? rough(text) : text;
  }
}

std::string Braces::expanded(std::string_view command) {
  if (command.find('{') == std::string_view::npos) return std::string(command);
  std::string out;
  std::size_t begin = 0, at = 0;
  bool braces = false;
  const auto end_word = [&] {
    const std::string_view word = command.substr(begin, at - begin);
    if (braces)
      expand(word, out);
    else
      out += word;
    braces = false;
  };
  while (at < command.size()) {
    const char c = command[at];
    if (std::string_view(" \t\r\v\f\n;&|<>()`").find(c) != std::string_view::npos) {
      end_word();
      out += c;
      begin = ++at;
      continue;
    }
    braces = braces || c == '{';
    at = part_end(command, at);
  }
  end_word();
  return out;
}

}  // namespace guardrail
