// SPDX-License-Identifier: Apache-2.0
#include "plugins/workspace_tools/near.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/bytes.h"
#include "plugins/workspace_tools/text.h"

namespace workspace_tools {
namespace {

using Lines = std::vector<std::string_view>;

constexpr std::size_t kShownNearLines = 12;
constexpr std::size_t kComparedLines = 200'000;  // of a file, when the most similar line is looked for
constexpr std::size_t kComparedBytes = 400;      // of each line
constexpr std::size_t kTellingBytes = 20;        // of a new text, when it is in the file
constexpr double kSimilar = 0.6;                 // share of the pairs of characters that two lines have in common

// The differences that are taken away from lines before they are compared, each with all before it.
enum class Fold { kLineEnds, kEnds, kSpace, kMarks, kAccents };
constexpr Fold kFolds[] = {Fold::kLineEnds, Fold::kEnds, Fold::kSpace, Fold::kMarks, Fold::kAccents};

std::string_view name_of(Fold fold) {
  switch (fold) {
    case Fold::kLineEnds:
      return "line ends (LF and CRLF)";
    case Fold::kEnds:
      return "the white space at the ends of lines, such as the indentation";
    case Fold::kSpace:
      return "white space within lines";
    case Fold::kMarks:
      return "quotation marks, dashes or special spaces";
    case Fold::kAccents:
      return "accented characters, or their Unicode form (NFC or NFD)";
  }
  return "";
}

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
};

// An ill-formed byte is a character of its own, whose code no text has.
Character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(at);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (at + bytes > text.size() || !agentd::is_utf8(text.substr(at, bytes))) return {0x110000 + lead, 1};
  std::uint32_t code = lead & (0xFFu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) code = code << 6 | (byte(at + i) & 0x3Fu);
  return {code, bytes};
}

// The ASCII text that a typographic character stands for; empty for any other.
std::string_view plain_mark(std::uint32_t code) {
  if (code >= 0x2018 && code <= 0x201B) return "'";
  if (code >= 0x201C && code <= 0x201F) return "\"";
  if (code >= 0x2010 && code <= 0x2015) return "-";
  if (code == 0x2212) return "-";
  if (code == 0x2026) return "...";
  if (code == 0x00A0 || code == 0x202F || code == 0x3000 || (code >= 0x2000 && code <= 0x200A)) return " ";
  return {};
}

// The base letter of a composed Latin character (Unicode, canonical decompositions); 0 for any other.
char base_letter(std::uint32_t code) {
  constexpr std::string_view kLatin1 = "AAAAAA.CEEEEIIII.NOOOOO..UUUUY..aaaaaa.ceeeeiiii.nooooo..uuuuy.y";
  constexpr std::string_view kLatinA =
      "AaAaAaCcCcCcCcDd..EeEeEeEeEeGgGgGgGgHh..IiIiIiIiI...JjKk.LlLlLl....NnNnNn...OoOoOo..RrRrRrSsSsSsSsTtTt.."
      "UuUuUuUuUuUuWwYyYZzZzZz.";
  const char letter = code >= 0xC0 && code < 0x100    ? kLatin1[code - 0xC0]
                      : code >= 0x100 && code < 0x180 ? kLatinA[code - 0x100]
                                                      : '.';
  return letter == '.' ? '\0' : letter;
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string characters_folded(std::string_view line, bool accents) {
  std::string out;
  for (std::size_t at = 0; at < line.size();) {
    const Character each = character_at(line, at);
    const std::string_view mark = plain_mark(each.code);
    const char letter = accents ? base_letter(each.code) : '\0';
    const bool combines = each.code >= 0x300 && each.code < 0x370;
    if (!mark.empty())
      out += mark;
    else if (letter != '\0')
      out += letter;
    else if (!accents || !combines)
      out += line.substr(at, each.bytes);
    at += each.bytes;
  }
  return out;
}

std::string folded(std::string_view line, Fold fold) {
  if (fold == Fold::kLineEnds) return std::string(line);  // which has none any more
  std::string text(line);
  if (fold >= Fold::kMarks) text = characters_folded(line, fold == Fold::kAccents);
  const std::string_view bare = trimmed(text);
  if (fold == Fold::kEnds) return std::string(bare);
  std::string out;
  for (const char c : bare) {
    if (!is_space(c))
      out += c;
    else if (!out.ends_with(' '))
      out += ' ';
  }
  return out;
}

Lines without_blank_ends(Lines lines) {
  const auto blank = [](std::string_view line) { return trimmed(line).empty(); };
  while (!lines.empty() && blank(lines.back())) lines.pop_back();
  lines.erase(lines.begin(), std::find_if_not(lines.begin(), lines.end(), blank));
  return lines;
}

// The first line may begin, and the last one end, within a line of the file.
bool fits_at(const std::vector<std::string>& file, std::size_t at, const std::vector<std::string>& wanted) {
  if (wanted.size() == 1) return file[at].find(wanted.front()) != std::string::npos;
  if (!file[at].ends_with(wanted.front()) || !file[at + wanted.size() - 1].starts_with(wanted.back())) return false;
  for (std::size_t i = 1; i + 1 < wanted.size(); ++i)
    if (file[at + i] != wanted[i]) return false;
  return true;
}

struct Near {
  std::size_t line = 0;  // from 0
  Fold fold = Fold::kEnds;
};

// `line_ends`: they are all that differs.
std::optional<Near> same_but_for_folds(const Lines& file, const Lines& wanted, bool line_ends) {
  if (wanted.size() > file.size()) return std::nullopt;
  for (const Fold fold : kFolds) {
    if (fold == Fold::kLineEnds && !line_ends) continue;
    std::vector<std::string> lines, piece;
    for (const std::string_view each : file) lines.push_back(folded(each, fold));
    for (const std::string_view each : wanted) piece.push_back(folded(each, fold));
    for (std::size_t at = 0; at + piece.size() <= lines.size(); ++at)
      if (fits_at(lines, at, piece)) return Near{at, fold};
  }
  return std::nullopt;
}

// Compares lines with one line by their pairs of characters (Dice's coefficient).
class Similarity {
 public:
  explicit Similarity(std::string_view line) : bytes_(line.size()) {
    for (std::size_t i = 0; i + 1 < line.size(); ++i) ++counts_[slot(line, i)];
  }
  // From 0 to 1.
  double of(std::string_view line) {
    if (line.size() < 2 || bytes_ < 2) return 0;
    std::size_t common = 0;
    for (std::size_t i = 0; i + 1 < line.size(); ++i) common += counts_[slot(line, i)]-- > 0 ? 1u : 0u;
    for (std::size_t i = 0; i + 1 < line.size(); ++i) ++counts_[slot(line, i)];
    return 2.0 * static_cast<double>(common) / static_cast<double>(bytes_ + line.size() - 2);
  }

 private:
  static std::size_t slot(std::string_view line, std::size_t at) {
    return (static_cast<unsigned char>(line[at]) * 31u + static_cast<unsigned char>(line[at + 1])) % 4096;
  }
  const std::size_t bytes_;
  std::array<int, 4096> counts_{};
};

// The place of the text whose longest line has the most similar line in the file.
std::optional<std::size_t> most_similar(const Lines& file, const Lines& wanted) {
  const auto longest = std::max_element(wanted.begin(), wanted.end(), [](std::string_view a, std::string_view b) {
    return trimmed(a).size() < trimmed(b).size();
  });
  Similarity similarity(trimmed(*longest).substr(0, kComparedBytes));
  double best = kSimilar;
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < std::min(file.size(), kComparedLines); ++i) {
    const double here = similarity.of(trimmed(file[i]).substr(0, kComparedBytes));
    if (here <= best) continue;
    best = here;
    found = i;
  }
  if (!found) return std::nullopt;
  const auto before = static_cast<std::size_t>(longest - wanted.begin());
  return *found - std::min(*found, before);
}

std::string shown(const Lines& file, std::size_t first, std::size_t count) {
  const std::size_t most = std::min(count, kShownNearLines), last = std::min(file.size(), first + most);
  std::string out;
  for (std::size_t i = first; i < last; ++i) out += "\n" + numbered(i + 1, file[i]);
  return out + (most < count ? "\n[...]" : "");
}

std::string place_of(std::size_t first, std::size_t count) {
  return count == 1 ? "line " + std::to_string(first + 1) + " differs"
                    : "lines " + std::to_string(first + 1) + " to " + std::to_string(first + count) + " differ";
}

// The text without the numbers that read_file puts before its lines; empty if a line has none.
std::string without_numbers(const Lines& wanted) {
  std::string out;
  for (const std::string_view line : wanted) {
    const std::string_view bare = trimmed(line);
    const std::size_t digits = bare.find_first_not_of("0123456789");
    if (digits == 0 || digits == std::string_view::npos || bare[digits] != '\t') return {};
    out += std::string(out.empty() ? "" : "\n") + std::string(bare.substr(digits + 1));
  }
  return out;
}

std::string with_bare_line_ends(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || text.substr(i, 2) != "\r\n") out += text[i];
  return out;
}

// How to copy the lines that are shown.
std::string_view advice_on(Fold fold, bool is_utf8) {
  if (fold == Fold::kLineEnds) return ": change each of the lines by an edit of its own:";
  if (!is_utf8) return ":";
  return fold == Fold::kEnds ? ": copy the indentation exactly:" : ": copy the text exactly:";
}

// Where `to` stands, if it is long enough to tell that the edit was made before: a "}" is in most files.
std::optional<std::size_t> place_of_new(std::string_view content, std::string_view to) {
  const Lines lines = without_blank_ends(lines_of(to));
  if (lines.empty()) return std::nullopt;
  const std::string_view bare = trimmed(
      std::string_view(lines.front().data(),
                       static_cast<std::size_t>(lines.back().data() + lines.back().size() - lines.front().data())));
  const std::size_t at = bare.size() < kTellingBytes ? std::string_view::npos : content.find(bare);
  return at == std::string_view::npos ? std::nullopt : std::optional(at);
}

}  // namespace

std::string why_missing(std::string_view path, std::string_view content, std::string_view from, std::string_view to) {
  std::string text = "old_string is not in " + std::string(path);
  if (content.starts_with(kByteOrderMark)) content.remove_prefix(kByteOrderMark.size());
  const Lines file = lines_of(content), wanted = without_blank_ends(lines_of(from));
  if (wanted.empty() || file.empty()) return text;
  if (const std::string bare = without_numbers(wanted); !bare.empty() && content.find(bare) != std::string_view::npos)
    return text + ", but it is there without the line numbers of read_file: copy only what follows the tab";
  const bool line_ends = with_bare_line_ends(content).find(with_bare_line_ends(from)) != std::string::npos;
  const bool is_utf8 = agentd::is_utf8(content);
  const std::string bytes =
      is_utf8 ? "" : ". The file is not UTF-8, so that \xEF\xBF\xBD stands for other bytes: choose ASCII text of it";
  if (const auto near = same_but_for_folds(file, wanted, line_ends))
    return text + ": " + place_of(near->line, wanted.size()) + " from it in " + std::string(name_of(near->fold)) +
           (near->fold == Fold::kLineEnds ? "" : bytes) + std::string(advice_on(near->fold, is_utf8)) +
           shown(file, near->line, wanted.size());
  if (const auto at = place_of_new(content, to))
    text += ", but new_string is: the file may have been changed already, in line " +
            std::to_string(1 + count_of(content.substr(0, *at), "\n"));
  else
    text += is_utf8 ? ": copy it exactly as read_file shows it, without the line numbers" : bytes;
  if (const auto near = most_similar(file, wanted))
    return text + ". The most similar text:" + shown(file, *near, wanted.size());
  return text;
}

}  // namespace workspace_tools
