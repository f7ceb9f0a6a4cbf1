// SPDX-License-Identifier: Apache-2.0
#include "core/app/question.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/app/terminal.h"
#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/codec/json.h"
#include "core/process/kept_paths.h"

namespace agentd::app {
namespace {

constexpr std::size_t kQuestionColumnsMin = 30;
constexpr std::size_t kQuestionNameBytesMax = 100;
constexpr std::uint64_t kChangedFileBytesMax = 1u << 20;
constexpr std::size_t kContextLines = 3;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

// At least as many columns as the character takes in any terminal.
std::size_t columns_of(char first) {
  if (first == '\t') return 8;
  return (static_cast<unsigned char>(first) & 0x80) == 0 ? 1 : 2;
}

// One line behind `mark`; where it is longer than the screen it goes on behind another mark, so
// that it never wraps into what looks like a line of agentd.
void append_line(std::string& out, std::string_view mark, std::string_view line, std::size_t columns) {
  const std::string text = visible(line);
  const std::size_t room = std::max(columns, kQuestionColumnsMin) - 5;
  out += mark;
  std::size_t used = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    const std::size_t width = columns_of(text[at]);
    if (used + width > room) {
      out += "\n  ┆ ";
      used = 0;
    }
    out.append(text, at, end - at);
    used += width;
    at = end;
  }
  out += '\n';
}

void append_block(std::string& out, std::string_view text, std::size_t columns) {
  for (const std::string_view line : lines_of(text)) append_line(out, "  │ ", line, columns);
  if (text.ends_with('\n')) out += "  │\n";  // the empty last line is part of the value
}

void append_changes(std::string& out, std::string_view changes, std::size_t columns) {
  for (const std::string_view line : lines_of(changes))
    append_line(out, "  " + std::string(line.substr(0, 2)), line.substr(2), columns);
}

bool is_plain_key(std::string_view key) {
  return !key.empty() && key.size() <= 40 && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

void append_member(std::string& out, std::string_view key, JsonView value, std::size_t columns) {
  const std::string text = value.is_string() ? std::string(value.string_or({})) : value.text();
  if (!is_plain_key(key)) {
    append_block(out, "\"" + std::string(key) + "\": " + text, columns);
    return;
  }
  const std::string begin = "  " + std::string(key) + ":";
  const bool one_line = text.find('\n') == std::string::npos;
  if (one_line && begin.size() + 2 * visible(text).size() + 2 < std::max(columns, kQuestionColumnsMin)) {
    out += begin + " " + visible(text) + "\n";
  } else if (one_line) {
    out += begin + "\n";
    append_line(out, "  │ ", text, columns);
  } else {
    out += begin + "\n";
    append_block(out, text, columns);
  }
}

// The present content of a file; nullopt if there is no file, or no text of a fair size.
struct Existing {
  bool there = false;
  std::optional<std::string> text;
};
Existing read_existing(const QuestionView& view, std::string_view path) {
  Existing out;
  const std::string& root = view.root;
  if (root.empty() || path.empty() || path.find('\0') != std::string_view::npos) return out;
  const std::string full = path.front() == '/' ? std::string(path) : root + "/" + std::string(path);
  // A path may name a device or a pipe: neither is waited for.
  const UniqueFd file(::open(full.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  if (!file.valid()) {
    out.there = ::lstat(full.c_str(), &info) == 0;
    return out;
  }
  out.there = true;
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return out;
  if (!view.hidden.empty() && !HiddenFiles({view.hidden}).check(file.get(), full)) return out;
  Result<std::string> text = read_fd(file.get(), kChangedFileBytesMax, full);
  if (text && is_utf8(*text)) out.text = std::move(*text);
  return out;
}

// Keys that the changes show.
struct Changes {
  std::string title, lines;
  std::vector<std::string_view> shown;
};
// A list of edits; nothing for a list that is not one.
std::optional<Changes> changes_of_list(JsonView edits) {
  Changes out{"  changes:\n", {}, {"edits"}};
  for (std::size_t i = 0; i < edits.size(); ++i) {
    const JsonView each = edits.at(i);
    const JsonView from = each["old_string"], to = each["new_string"], all = each["replace_all"];
    if (!from.is_string() || !to.is_string() || each.size() > (all.exists() ? 3u : 2u)) return std::nullopt;
    out.lines += "@ edit " + std::to_string(i + 1) + (all.bool_or(false) ? ", in every place:\n" : ":\n") +
                 line_changes(from.string_or({}), to.string_or({}));
  }
  return out;
}

std::optional<Changes> changes_of(const Tool& tool, JsonView input, const QuestionView& view) {
  if (tool.name == "edit_file" && input["edits"].is_array()) return changes_of_list(input["edits"]);
  if (tool.name == "edit_file" && input["old_string"].is_string() && input["new_string"].is_string())
    return Changes{"  change:\n",
                   line_changes(input["old_string"].string_or({}), input["new_string"].string_or({})),
                   {"old_string", "new_string"}};
  if (tool.name != "write_file" || !input["content"].is_string() || !input["path"].is_string()) return std::nullopt;
  const Existing file = read_existing(view, input["path"].string_or({}));
  if (!file.there) return std::nullopt;
  if (!file.text) return Changes{"  (the file exists and is replaced)\n", {}, {}};
  return Changes{
      "  change to the existing file:\n", line_changes(*file.text, input["content"].string_or({})), {"content"}};
}

}  // namespace

std::string line_changes(std::string_view before, std::string_view after) {
  const std::vector<std::string_view> old_lines = lines_of(before), new_lines = lines_of(after);
  const std::size_t shorter = std::min(old_lines.size(), new_lines.size());
  std::size_t same = 0, tail = 0;
  while (same < shorter && old_lines[same] == new_lines[same]) ++same;
  while (tail < shorter - same && old_lines[old_lines.size() - 1 - tail] == new_lines[new_lines.size() - 1 - tail])
    ++tail;
  std::string out;
  const auto add = [&](std::string_view mark, std::string_view line) {
    out += mark;
    out += line;
    out += '\n';
  };
  for (std::size_t i = same - std::min(same, kContextLines); i < same; ++i) add("  ", old_lines[i]);
  for (std::size_t i = same; i < old_lines.size() - tail; ++i) add("- ", old_lines[i]);
  for (std::size_t i = same; i < new_lines.size() - tail; ++i) add("+ ", new_lines[i]);
  for (std::size_t i = 0; i < std::min(tail, kContextLines); ++i) add("  ", new_lines[new_lines.size() - tail + i]);
  if (before.ends_with('\n') != after.ends_with('\n') && !before.empty() && !after.empty())
    out += before.ends_with('\n') ? "- (a line break at the end)\n" : "+ (a line break at the end)\n";
  return out;
}

std::string question_text(const Tool& tool, const ToolCall& call, const AskedBy& by, const QuestionView& view) {
  std::string out = neutral_line(tool.name, kQuestionNameBytesMax) + " wants to run:\n";
  const Result<JsonDocument> document = JsonDocument::parse(call.input.text());
  const JsonView root = document ? document->root() : JsonView();
  if (!root.is_object()) {
    append_block(out, call.input.text(), view.columns);
  } else {
    const std::optional<Changes> changes = changes_of(tool, root, view);
    for (std::size_t i = 0; i < root.size(); ++i) {
      const std::string_view key = root.key_at(i);
      const bool shown =
          changes && std::find(changes->shown.begin(), changes->shown.end(), key) != changes->shown.end();
      if (!shown) append_member(out, key, root.at(i), view.columns);
    }
    if (changes) {
      out += changes->title;
      append_changes(out, changes->lines, view.columns);
    }
  }
  if (!by.hook.empty()) {
    out += "The hook " + neutral_line(by.hook, kQuestionNameBytesMax) + " asks for this" +
           (by.reason.empty() ? ".\n" : ":\n");
    append_block(out, by.reason, view.columns);
  }
  if (by.hook.empty() && !by.reason.empty()) {
    out += "Asked because:\n";
    append_block(out, by.reason, view.columns);
  }
  if (!by.keeps.empty()) {
    out += "The answer 'always' permits this in this project:\n";
    for (const std::string& rule : by.keeps) append_block(out, rule, view.columns);
  }
  const auto lines = static_cast<std::size_t>(std::count(out.begin(), out.end(), '\n'));
  if (lines + 2 > view.rows) out += "(" + with_commas(lines) + " lines: scroll up to read all of them)\n";
  return out;
}

}  // namespace agentd::app
