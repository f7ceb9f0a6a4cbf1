// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace tidy {
namespace {

namespace fs = std::filesystem;

constexpr std::array kShipped{"core/", "plugins/", "providers/", "plugin-api/"};
// Prompts and tool descriptions: models read them, and their bytes stay.
constexpr std::array kPrompts{"core/agent/answer_schema.cc", "core/agent/subagent_tool.cc", "core/agent/summariser.cc",
                              "plugins/workspace_tools/workspace_tools.cc"};

// The pages of the project: those at the top, in docs, and the README of each folder.
std::vector<fs::path> pages_of(const fs::path& root) {
  std::vector<fs::path> out = files_of(root, [](const fs::path& path) { return path.filename() == "README.md"; });
  for (const auto& entry : fs::directory_iterator(root))
    if (entry.path().extension() == ".md") out.push_back(entry.path());
  if (fs::is_directory(root / "docs"))
    for (const auto& entry : fs::recursive_directory_iterator(root / "docs"))
      if (entry.path().extension() == ".md") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }
bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t'; }

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(' ') - begin + 1));
}

// Lower case, with each run of white space and escaped line ends as one blank.
std::string normal(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text.substr(i, 2) == "\\n";
    if (!escaped && !is_space(text[i])) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
      continue;
    }
    if (escaped) ++i;
    if (out.empty() || out.back() != ' ') out += ' ';
  }
  return out;
}

// True for the first word of a text, a table cell or a sentence.
bool begins_sentence(std::string_view text, std::size_t at) {
  const std::size_t before = text.substr(0, at).find_last_not_of(" #*-");
  return before == std::string_view::npos || std::string_view(".!?|").find(text[before]) != std::string_view::npos;
}

bool contains(std::string_view text, const RefusedWord& word) {
  for (std::size_t at = text.find(word.phrase); at != std::string_view::npos; at = text.find(word.phrase, at + 1)) {
    const std::size_t end = at + word.phrase.size();
    const bool whole = (at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]));
    // A heading or cell of one word is a label, not a sentence.
    const bool alone = end >= text.size() - 1 || text.substr(end, 2) == " |";
    if (whole && (!word.first || (!alone && begins_sentence(text, at)))) return true;
  }
  return false;
}

// True if a message, in lower case, begins with the word. A message that begins with "of" in lower case is a fragment.
bool begins_with(const std::string& text, const std::string& written, const RefusedWord& word) {
  const std::size_t end = word.phrase.size();
  const bool fragment = word.phrase == "of" && written.starts_with("of");
  return !fragment && text.starts_with(word.phrase) && text.substr(end, 1) == " " && end + 1 < text.size();
}

void add(Findings& found, const std::string& path, const Literal& literal, const std::vector<RefusedWord>& words,
         bool page) {
  const std::string text = normal(literal.text);
  for (const RefusedWord& word : words)
    if (page || !word.first ? contains(text, word) : begins_with(text, literal.text, word))
      found.push_back(path + ":" + std::to_string(literal.line) + ": '" + word.phrase + "': write " + word.instead);
}

// Comments that fill their line and begin with a capital letter and a word that must not begin a sentence.
void add_comments(Findings& found, const std::string& path, const std::vector<std::string>& lines,
                  const std::vector<RefusedWord>& words) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string line = trimmed(lines[i]);
    if (!line.starts_with("// ") || line.size() < 4 || std::isupper(static_cast<unsigned char>(line[3])) == 0) continue;
    const std::string text = normal(std::string_view(line).substr(3));
    for (const RefusedWord& word : words)
      if (word.first && begins_with(text, line.substr(3), word))
        found.push_back(path + ":" + std::to_string(i + 1) + ": '" + word.phrase + "': write " + word.instead);
  }
}

std::size_t end_of_line(std::string_view source, std::size_t at) {
  return std::min(source.find('\n', at), source.size());
}

// The position after the literal, character or comment that begins here.
std::size_t end_of_quoted(std::string_view source, std::size_t at, char quote) {
  for (++at; at < source.size() && source[at] != quote && source[at] != '\n'; ++at)
    if (source[at] == '\\') ++at;
  return std::min(at + 1, source.size());
}

struct Part {
  std::size_t end = 0;
  std::string_view text;
};

Part raw_literal(std::string_view source, std::size_t at) {
  const std::size_t open = source.find('(', at);
  if (open == std::string_view::npos) return {source.size(), {}};
  const std::string close = ")" + std::string(source.substr(at + 2, open - at - 2)) + "\"";
  const std::size_t end = std::min(source.find(close, open), source.size());
  return {std::min(end + close.size(), source.size()), source.substr(open + 1, end - open - 1)};
}

bool is_digit_separator(std::string_view source, std::size_t at) {
  return at > 0 && std::isxdigit(static_cast<unsigned char>(source[at - 1])) != 0;
}

// The end of a comment, include or character that begins at `at`; 0 for other text.
std::size_t end_of_silent(std::string_view source, std::size_t at) {
  if (source.substr(at, 2) == "//") return end_of_line(source, at);
  if (source.substr(at, 2) == "/*") return std::min(source.find("*/", at), source.size() - 2) + 2;
  if (source[at] == '#' && source.substr(at, end_of_line(source, at) - at).find("include") != std::string_view::npos)
    return end_of_line(source, at);
  if (source[at] == '\'' && !is_digit_separator(source, at)) return end_of_quoted(source, at, '\'');
  return 0;
}

}  // namespace

std::vector<RefusedWord> read_words(const fs::path& words_txt) {
  std::vector<RefusedWord> out;
  for (const std::string& line : lines_of(words_txt)) {
    const std::size_t bar = line.find('|');
    if (line.starts_with('#') || bar == std::string::npos) continue;
    const bool first = line.starts_with('^');
    out.push_back(
        {normal(trimmed(line.substr(first ? 1 : 0, bar - (first ? 1 : 0)))), trimmed(line.substr(bar + 1)), first});
  }
  return out;
}

std::vector<Literal> literals_of(const std::string& source) {
  std::vector<Literal> out;
  std::size_t line = 1;
  bool joins = false;  // nothing but white space and comments since the last literal
  for (std::size_t at = 0; at < source.size();) {
    std::size_t end = end_of_silent(source, at);
    if (end == 0 && (source[at] == '"' || source.compare(at, 2, "R\"") == 0)) {
      Part part = source[at] == 'R' ? raw_literal(source, at) : Part{end_of_quoted(source, at, '"'), {}};
      if (source[at] == '"') part.text = std::string_view(source).substr(at + 1, part.end - at - 2);
      if (!joins) out.push_back({line, {}});
      out.back().text += part.text;
      joins = true;
      end = part.end;
    } else if (end == 0) {
      joins = joins && is_space(source[at]);
      end = at + 1;
    }
    line += static_cast<std::size_t>(std::count(source.begin() + static_cast<std::ptrdiff_t>(at),
                                                source.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    at = end;
  }
  return out;
}

std::vector<Literal> paragraphs_of(const std::string& page) {
  std::vector<Literal> out;
  bool fenced = false, fresh = true;
  std::size_t number = 0, at = 0;
  while (at < page.size()) {
    const std::size_t end = end_of_line(page, at);
    const std::string line = trimmed(std::string_view(page).substr(at, end - at));
    at = end + 1;
    ++number;
    if (line.starts_with("```")) fenced = !fenced;
    if (fenced || line.empty() || line.starts_with("```")) {
      fresh = true;
      continue;
    }
    if (fresh || line.starts_with('|') || line.starts_with("- ") || line.starts_with('#')) out.push_back({number, {}});
    out.back().text += (out.back().text.empty() ? "" : " ") + line;
    fresh = line.starts_with('#');
  }
  return out;
}

Findings private_words(const fs::path& root, const std::vector<RefusedWord>& words) {
  Findings found;
  for (const fs::path& path : files_of(root, is_code)) {
    const std::string name = shown(root, path);
    const auto below = [&](const char* top) { return name.starts_with(top); };
    if (std::none_of(kShipped.begin(), kShipped.end(), below)) continue;
    if (std::find(kPrompts.begin(), kPrompts.end(), name) != kPrompts.end()) continue;
    for (const Literal& literal : literals_of(text_of(path))) add(found, name, literal, words, false);
    add_comments(found, name, lines_of(path), words);
  }
  for (const fs::path& path : pages_of(root))
    for (const Literal& paragraph : paragraphs_of(text_of(path))) add(found, shown(root, path), paragraph, words, true);
  return found;
}

}  // namespace tidy
