// SPDX-License-Identifier: Apache-2.0
#include "core/recipes/recipe_line.h"

#include <algorithm>

#include "core/base/bytes.h"

namespace agentd {
namespace {

// True if the text begins with NAME=VALUE.
bool begins_with_argument(std::string_view text) {
  std::size_t length = 0;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  while (length < text.size() &&
         (is_letter(text[length]) || (length > 0 && text[length] >= '0' && text[length] <= '9')))
    ++length;
  return length > 0 && length < text.size() && text[length] == '=';
}

// Removes a value from the front: a word, or a quoted text.
std::string take_value(std::string_view& text) {
  const char quote = text.empty() ? '\0' : text.front();
  const bool quoted = (quote == '"' || quote == '\'') && text.find(quote, 1) != std::string_view::npos;
  const std::size_t end = quoted ? text.find(quote, 1) : std::min(text.find_first_of(" \t\r\n"), text.size());
  std::string out(text.substr(quoted ? 1 : 0, quoted ? end - 1 : end));
  text.remove_prefix(quoted ? end + 1 : end);
  return out;
}

}  // namespace

RecipeLine parse_recipe_line(std::string_view text) {
  RecipeLine out;
  const auto skip = [&] { text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size())); };
  for (skip(); begins_with_argument(text); skip()) {
    const std::size_t equals = text.find('=');
    const std::string name(text.substr(0, equals));
    text.remove_prefix(equals + 1);
    out.arguments[name] = to_utf8(take_value(text));
  }
  out.words = to_utf8(text);
  return out;
}

}  // namespace agentd
