// SPDX-License-Identifier: Apache-2.0
// A query and a text as any bytes, one line and the rest: the query is refused with a sentence or becomes quoted
// phrases alone, the places of a text's words are in the text, and a snippet is one harmless line.
#include <algorithm>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/search/snippet.h"
#include "core/search/terms.h"
#include "tests/fuzz/target.h"

namespace {

using agentd::TextRange;
using agentd::fuzz::require;

// Phrases in quotes, each with a star or without, and blanks between them.
void check_expression(std::string_view text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    require(quoted || text[i] == '"' || text[i] == ' ' || (text[i] == '*' && i > 0 && text[i - 1] == '"'),
            "everything is quoted");
    require(text[i] >= ' ' || text[i] < 0, "no control character is left");
  }
  require(!quoted, "every quote is closed");
}

std::vector<TextRange> words_of(std::string_view text) {
  std::vector<TextRange> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) out.push_back({at, end});
    at = end + 1;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = agentd::fuzz::view(data, size);
  const std::size_t line = std::min(bytes.find('\n'), bytes.size());
  const auto expression = agentd::match_expression(bytes.substr(0, line));
  require(expression || !expression.error().message.empty(), "a refusal has its sentence");
  if (expression) check_expression(*expression);
  const std::string_view text = bytes.substr(std::min(line + 1, bytes.size()));
  const std::string indexed = agentd::index_text(text);
  for (const char c : indexed) require(c >= ' ' || c < 0, "an indexed text has no control character");
  const std::vector<TextRange> words = words_of(indexed);
  const std::vector<TextRange> places = agentd::source_ranges(text, words);
  require(places.size() == words.size(), "every word has a place");
  std::size_t before = 0;
  for (const TextRange& place : places) {
    require(before <= place.from && place.from < place.to && place.to <= text.size(), "places are in order");
    before = place.from;
  }
  const agentd::Snippet snippet = agentd::snippet_of(text, places, 20 + size % 200);
  require(agentd::is_utf8(snippet.text), "a snippet is valid UTF-8");
  for (const char c : snippet.text) require(c >= ' ' || c < 0, "a snippet is one line");
  for (const TextRange& match : snippet.matches)
    require(match.from < match.to && match.to <= snippet.text.size(), "a match is in its snippet");
  if (expression && !words.empty()) ++agentd::fuzz::got_through;
  return 0;
}
