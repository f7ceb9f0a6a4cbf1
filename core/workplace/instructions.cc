// SPDX-License-Identifier: Apache-2.0
#include "core/workplace/instructions.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>

#include "core/base/bytes.h"
#include "core/base/paths.h"
#include "core/process/kept_paths.h"
#include "core/process/workspace.h"
#include "core/runtime/secret_files.h"

namespace agentd {
namespace {

constexpr std::uint64_t kInstructionsBytesMax = 128u << 10;
constexpr std::size_t kFilesMax = 64;
constexpr int kDepthMax = 5;  // as in other agents

std::string parent_directory(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// True if `path` is the directory or below it.
bool lies_below(const std::string& path, const std::string& directory) {
  return path == directory || directory == "/" || path.starts_with(directory + "/");
}

// ---- Markdown

std::size_t indent_of(std::string_view line) {
  const std::size_t blanks = std::min(line.find_first_not_of(' '), line.size());
  return blanks < line.size() && line[blanks] == '\t' ? blanks + 4 : blanks;
}

// The length of the line's "```" or "~~~"; 0 = not a fence.
std::size_t fence_of(std::string_view line, char& mark) {
  const std::string_view rest = trimmed(line);
  if (indent_of(line) > 3 || rest.size() < 3 || (rest[0] != '`' && rest[0] != '~')) return 0;
  mark = rest[0];
  const std::size_t length = std::min(rest.find_first_not_of(mark), rest.size());
  return length < 3 ? 0 : length;
}

bool begins_item(std::string_view line) {
  const std::size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
  const std::string_view rest = line.substr(digits);
  return digits == 0 ? rest.starts_with("- ") || rest.starts_with("* ") || rest.starts_with("+ ")
                     : rest.starts_with(". ") || rest.starts_with(") ");
}

// The text with blanks for its blocks of code.
std::string without_blocks(std::string_view text) {
  std::string out;
  char fence = 0;
  std::size_t fenced = 0;
  bool after_blank = true, in_list = false, indented = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n', 0), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    const bool blank = trimmed(line).empty();
    char mark = 0;
    const std::size_t length = fence_of(line, mark);
    bool code = fenced != 0 || length != 0;
    if (fenced != 0) {
      if (mark == fence && length >= fenced && trimmed(line).size() == length) fenced = 0;
    } else if (length != 0) {
      fence = mark;
      fenced = length;
    } else if (!blank) {
      if (indent_of(line) == 0) in_list = begins_item(line);
      indented = indent_of(line) >= 4 && !in_list && (after_blank || indented);
      code = indented;
    }
    after_blank = blank;
    out += code ? "\n" : std::string(line);
  }
  return out;
}

// The same for text between equal runs of "`" in one paragraph.
void blank_spans(std::string& text) {
  for (std::size_t at = 0; (at = text.find('`', at)) != std::string::npos;) {
    const std::size_t begin = std::min(text.find_first_not_of('`', at), text.size()), run = begin - at;
    const std::size_t paragraph = std::min(text.find("\n\n", begin), text.size());
    std::size_t close = begin, end = begin;
    for (; (close = text.find('`', end)) < paragraph;) {
      end = std::min(text.find_first_not_of('`', close), text.size());
      if (end - close == run) break;
    }
    const bool closed = close < paragraph;
    if (closed) text.replace(at, end - at, end - at, '`');
    at = closed ? end : begin;
  }
}

// ---- files

class Reader {
 public:
  explicit Reader(const InstructionPlaces& places)
      : places_(places), keys_(secret_files(places.home)), hidden_(keys_) {}

  // The first existing file of the two names, with its imports; empty = none, or an empty file.
  std::string read_directory(const std::string& directory, const std::string& root, std::string& file) {
    for (const char* const name : {"AGENTS.md", "CLAUDE.md"}) {
      const std::string path = directory + "/" + name;
      struct stat info {};
      if (::lstat(path.c_str(), &info) != 0) continue;
      std::string text = read_below(path, root);
      if (trimmed(text).empty()) return {};
      file = path;
      return text;
    }
    return {};
  }

  // `text` is that of `path`; its imports come from below `root`, or from anywhere when that is empty.
  void add(std::string& out, const std::string& path, std::string_view text, const std::string& root, int depth = 0) {
    files.push_back(path);
    if (!out.empty()) out += "\n\n";
    out += "Instructions from " + path + ":\n\n" + to_utf8(trimmed(text));
    for (const std::string& name : imports_of(text)) import(out, path, name, root, depth);
  }

  std::vector<std::string> files, warnings;

 private:
  void import(std::string& out, const std::string& by, const std::string& name, const std::string& root, int depth) {
    const std::string path = lexical_path(with_home(name, places_.user_home), parent_directory(by));
    struct stat info {};
    if (!root.empty() && !lies_below(path, root)) {
      // The file is not touched, not even to check whether it exists.
      if (looks_like_file(name)) refuse(by, name, "it is outside " + root);
      return;
    }
    if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
      if (looks_like_file(name)) refuse(by, name, "the file does not exist");
      return;
    }
    if (std::find(files.begin(), files.end(), path) != files.end()) return;
    if (depth == kDepthMax) return refuse(by, name, "imports are limited to five levels");
    if (files.size() >= kFilesMax) return refuse(by, name, "more than " + std::to_string(kFilesMax) + " files");
    // A file imported from elsewhere must not import from anywhere.
    const std::string below =
        !root.empty() || lies_below(path, places_.home) ? root : find_project(parent_directory(path)).root;
    const std::string text = root.empty() ? read_own(path) : read_below(path, root);
    if (!trimmed(text).empty()) add(out, path, text, below, depth + 1);
  }

  // Others are words: "@ann", "@types/node".
  static bool looks_like_file(const std::string& name) {
    return name.starts_with("./") || name.starts_with("../") || name.starts_with("~/") || name.starts_with("/") ||
           name.ends_with(".md");
  }

  void refuse(const std::string& by, const std::string& name, const std::string& why) {
    warnings.push_back(by + ": the import @" + one_line(name, 200) + " is ignored: " + why);
  }

  std::string read_below(const std::string& path, const std::string& root) {
    auto& workspace = workspaces_[root];
    if (workspace == nullptr) {
      auto opened = open_workspace({root}, {}, keys_);
      if (!opened) return left_out(path, opened.error().message);
      workspace = std::move(*opened);
    }
    std::uint64_t total = 0;
    auto text = workspace->read(path, 0, kInstructionsBytesMax, &total);
    if (!text) return left_out(path, text.error().message);
    if (total > kInstructionsBytesMax)
      warnings.push_back(path + " is too long: only the first " + with_commas(kInstructionsBytesMax) +
                         " bytes are sent");
    return std::string(utf8_prefix(*text, text->size()));
  }

  std::string read_own(const std::string& path) {
    auto text = hidden_.read(path, kInstructionsBytesMax, path);
    return text ? std::move(*text) : left_out(path, text.error().message);
  }

  std::string left_out(const std::string& path, const std::string& why) {
    warnings.push_back(path + " is ignored: " + why);
    return {};
  }

  const InstructionPlaces& places_;
  const std::vector<std::string> keys_;
  const HiddenFiles hidden_;
  std::map<std::string, std::unique_ptr<Workspace>> workspaces_;
};

// From the project's root down to `last`.
std::vector<std::string> directories_of(const Project& project, const std::string& last) {
  std::vector<std::string> out;
  for (std::string at = last;; at = parent_directory(at)) {
    out.push_back(at);
    if (at == project.root || at.size() <= 1) break;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

std::vector<std::string> imports_of(std::string_view markdown) {
  std::string text = without_blocks(markdown);
  blank_spans(text);
  std::vector<std::string> out;
  for (std::size_t at = 0; (at = text.find('@', at)) != std::string::npos; ++at) {
    if (at != 0 && std::isspace(static_cast<unsigned char>(text[at - 1])) == 0) continue;
    const std::size_t end = std::min(text.find_first_of(" \t\r\n`", at), text.size());
    std::string name = text.substr(at + 1, end - at - 1);
    // The end of a sentence is no part of a name.
    name.erase(name.find_last_not_of(".,;:!?)\"'") + 1);
    if (!name.empty()) out.push_back(std::move(name));
  }
  return out;
}

Instructions read_instructions(const InstructionPlaces& places) {
  Reader reader(places);
  Instructions out;
  const auto add = [&](const std::string& directory, const std::string& root, const std::string& bounds) {
    std::string file;
    if (const std::string text = reader.read_directory(directory, root, file); !text.empty())
      reader.add(out.text, file, text, bounds);
  };
  add(places.home, places.home, {});
  for (const std::string& directory : directories_of(places.project, places.project.cwd))
    add(directory, places.project.root, places.project.root);
  out.files = std::move(reader.files);
  out.warnings = std::move(reader.warnings);
  return out;
}

std::vector<PathRules> rules_near(const InstructionPlaces& places, const std::string& path,
                                  std::vector<std::string>& warnings) {
  const Project& project = places.project;
  std::vector<PathRules> out;
  if (!lies_below(path, project.root)) return out;
  std::error_code failed;
  const bool directory = std::filesystem::is_directory(path, failed);
  for (const std::string& each : directories_of(project, directory ? path : parent_directory(path))) {
    if (lies_below(project.cwd, each)) continue;  // sent from the start
    Reader reader(places);
    PathRules rules;
    const std::string text = reader.read_directory(each, project.root, rules.file);
    if (!text.empty()) reader.add(rules.text, rules.file, text, project.root);
    warnings.insert(warnings.end(), reader.warnings.begin(), reader.warnings.end());
    if (!text.empty()) out.push_back(std::move(rules));
  }
  return out;
}

}  // namespace agentd
