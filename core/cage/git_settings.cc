// SPDX-License-Identifier: Apache-2.0
#include "core/cage/git_settings.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "core/base/file.h"
#include "core/base/paths.h"

namespace agentd::cage {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSettingsFileMax = 4u << 20;
constexpr std::size_t kFilesMax = 200;

char lower_letter(char letter) { return static_cast<char>(std::tolower(static_cast<unsigned char>(letter))); }
bool is_name(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-'; }
bool is_blank(char letter) { return letter == ' ' || letter == '\t' || letter == '\r'; }

class SettingsParser {
 public:
  explicit SettingsParser(std::string_view text) : text_(text) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }

  std::vector<GitSetting> parse() {
    while (at_ < text_.size()) {
      const char letter = text_[at_];
      if (letter == '[')
        section();
      else if (letter == '#' || letter == ';')
        skip_line();
      else if (is_name(letter))
        setting();
      else
        ++at_;
    }
    return std::move(out_);
  }

 private:
  void skip_line() { at_ = std::min(text_.find('\n', at_), text_.size()); }
  std::string word() {
    std::string out;
    while (at_ < text_.size() && is_name(text_[at_])) out += lower_letter(text_[at_++]);
    return out;
  }

  // [name], [name "sub"] and the old [name.sub].
  void section() {
    ++at_;
    section_ = word();
    bool quoted = false;
    for (; at_ < text_.size() && text_[at_] != '\n' && (quoted || text_[at_] != ']'); ++at_) {
      if (quoted && text_[at_] == '\\' && at_ + 1 < text_.size())
        ++at_;
      else if (text_[at_] == '"')
        quoted = !quoted;
    }
    ++at_;
  }

  void setting() {
    const std::string key = word();
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    std::string value = "true";
    if (at_ < text_.size() && text_[at_] == '=') {
      ++at_;
      value = read_value();
    }
    out_.push_back({section_ + "." + key, std::move(value)});
  }

  std::string read_value() {
    std::string out;
    std::size_t end = 0;  // of it without the blanks behind it
    bool quoted = false;
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    for (; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      char letter = text_[at_];
      if (letter == '"') {
        quoted = !quoted;
        end = out.size();
        continue;
      }
      if (!quoted && (letter == '#' || letter == ';')) {
        skip_line();
        break;
      }
      if (letter == '\\' && at_ + 1 < text_.size()) {
        letter = text_[++at_];
        if (letter == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') letter = text_[++at_];
        if (letter == '\n') continue;
        letter = letter == 'n' ? '\n' : letter == 't' ? '\t' : letter == 'b' ? '\b' : letter;
        out += letter;
        end = out.size();
        continue;
      }
      out += letter;
      if (quoted || !is_blank(letter)) end = out.size();
    }
    out.resize(std::max(end, std::size_t{0}));
    return out;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::string section_;
  std::vector<GitSetting> out_;
};

// A switch; anything else is the path of a program.
bool is_switch(std::string value) {
  std::transform(value.begin(), value.end(), value.begin(), lower_letter);
  for (const char* const each : {"", "true", "false", "yes", "no", "on", "off", "1", "0"})
    if (value == each) return true;
  return false;
}

// The program of a command line, and the script that may follow it: each word with a slash in it.
void add_words(const std::string& line, std::vector<std::string>& out) {
  std::string word;
  for (const char letter : line + " ") {
    if (letter != ' ' && letter != '"' && letter != '\'') {
      word += letter;
      continue;
    }
    if (word.find('/') != std::string::npos) out.push_back(word);
    word.clear();
  }
}

}  // namespace

std::vector<GitSetting> parse_git_settings(std::string_view text) { return SettingsParser(text).parse(); }

std::vector<GitSetting> settings_in(const std::string& file) {
  const auto text = read_file(file, kSettingsFileMax);
  return text ? parse_git_settings(*text) : std::vector<GitSetting>();
}

GitTargets git_targets(const std::vector<std::string>& files, const std::string& home) {
  GitTargets out;
  std::vector<std::string> open = files;
  std::set<std::string> seen;
  while (!open.empty() && seen.size() < kFilesMax) {
    const std::string file = open.back();
    open.pop_back();
    if (!seen.insert(file).second) continue;
    for (const GitSetting& each : settings_in(file)) {
      const std::string value = with_home(each.value, home);
      if (value.empty()) continue;
      if (each.name == "core.hookspath") {
        out.hooks.push_back(value);
      } else if (each.name == "core.fsmonitor") {
        if (!is_switch(value)) add_words(value, out.programs);
      } else if (each.name == "init.templatedir") {
        if (value.starts_with('/')) out.files.push_back(value);
      } else if (each.name == "include.path" || each.name == "includeif.path") {
        out.files.push_back(lexical_path(value, fs::path(file).parent_path().string()));
        open.push_back(out.files.back());
      }
    }
  }
  return out;
}

std::vector<std::string> user_git_settings(const std::string& home, const std::string& xdg) {
  std::vector<std::string> out{"/etc/gitconfig"};
  if (!xdg.empty()) out.push_back(xdg + "/git/config");
  if (!home.empty()) out.insert(out.end(), {home + "/.config/git/config", home + "/.gitconfig"});
  return out;
}

}  // namespace agentd::cage
