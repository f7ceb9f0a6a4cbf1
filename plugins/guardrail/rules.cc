// SPDX-License-Identifier: Apache-2.0
#include "plugins/guardrail/rules.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "plugins/guardrail/command.h"
#include "plugins/guardrail/glob.h"

namespace guardrail {
namespace {

using agentd::JsonView;

constexpr int kLevelsMax = 32;
// Searching tools, whose answers contain the text of all files of a folder.
constexpr std::string_view kSearchingTools = "grep|search|search_files|search_file_content|ripgrep|rg";
constexpr std::string_view kWritingTools =
    "*write*|*edit*|*patch*|*create*|*delete*|*remove*|*move*|*rename*|*copy*|*append*|*replace*|"
    "*insert*|*upload*|*save*|*mkdir*|*touch*|*chmod*";

bool is_command_key(std::string_view key) {
  constexpr std::string_view kNames[] = {"command",       "cmd",  "commands",    "script",
                                         "shell_command", "argv", "commandline", "command_line"};
  return std::find(std::begin(kNames), std::end(kNames), agentd::ascii_lower(key)) != std::end(kNames);
}

bool is_path_key(std::string_view key) {
  constexpr std::string_view kParts[] = {"path", "file",   "dir",  "folder", "cwd",
                                         "root", "target", "dest", "source", "uri"};
  const std::string name = agentd::ascii_lower(key);
  return name == "src" || std::any_of(std::begin(kParts), std::end(kParts),
                                      [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

// The common name of an argument that tools name differently.
std::string_view meaning_of(std::string_view key) {
  if (key == "cmd") return "command";
  if (key == "file_path" || key == "filepath" || key == "filename") return "path";
  return key;
}

}  // namespace

// The texts of one input, collected once for all rules.
struct Rules::Call {
  struct Text {
    std::string key;  // "a.b" of an object in the input
    std::string text;
    bool command = false;
  };
  struct Path {
    std::vector<std::string> paths;  // absolute
    bool written = false;
    bool command = false;   // a word of a command, in which the shell expands stars
    bool searched = false;  // everything below it is read
  };
  std::string_view tool, cwd;
  std::vector<Word> removed;  // words of commands
  std::vector<Text> texts;
  std::vector<Path> paths;

  Call(std::string_view name, JsonView input, std::string_view directory, const Places& places)
      : tool(name), cwd(directory) {
    for (std::size_t i = 0; i < input.size(); ++i)
      collect(std::string(input.key_at(i)), std::string(input.key_at(i)), input.at(i), 0);
    const bool writes = name_matches(kWritingTools, tool);
    for (const Text& each : texts) {
      const std::string_view last = std::string_view(each.key).substr(each.key.rfind('.') + 1);
      if (each.command) {
        for (const Word& word : words_of(each.text)) {
          add(places, word.text, word.written, true);
          if (word.removal != Removal::kNone) removed.push_back(word);
        }
      } else if (is_path_key(last) ||
                 ((last == "pattern" || last == "glob") && each.text.find('/') != std::string::npos)) {
        add(places, each.text, writes, !is_path_key(last));
      }
    }
    if (name_matches(kSearchingTools, tool)) mark_searched(places);
  }

 private:
  void collect(const std::string& key, const std::string& last, JsonView value, int level) {
    if (level > kLevelsMax) return;
    if (value.is_object()) {
      for (std::size_t i = 0; i < value.size(); ++i)
        collect(key + "." + std::string(value.key_at(i)), std::string(value.key_at(i)), value.at(i), level + 1);
    } else if (value.is_array()) {
      std::string joined;
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (value.at(i).is_string()) joined += (joined.empty() ? "" : " ") + std::string(value.at(i).string_or(""));
        collect(key, last, value.at(i), level + 1);
      }
      // ["rm", "-rf", "/"] is one command.
      if (is_command_key(last) && !joined.empty()) texts.push_back({key, joined, true});
    } else if (value.exists() && !value.is_null()) {
      texts.push_back({key, value.is_string() ? std::string(value.string_or("")) : value.text(), is_command_key(last)});
    }
  }

  // Without a path the working directory is searched.
  void mark_searched(const Places& places) {
    const auto is_named = [](const Path& each) { return !each.command; };
    if (std::none_of(paths.begin(), paths.end(), is_named)) add(places, ".", false, false);
    for (Path& each : paths) each.searched = is_named(each);
  }

  void add(const Places& places, const std::string& text, bool written, bool command) {
    Path made{places.paths_of(text, cwd), written, command};
    if (!made.paths.empty()) paths.push_back(std::move(made));
  }
};

bool Rules::input_holds(const Rule& rule, const Call& call) const {
  const bool strict = rule.action == Verdict::kAllow;
  for (const auto& [key, expression] : rule.input) {
    bool found = false;
    for (const Call::Text& each : call.texts) {
      if (key != "*" && each.key != key && meaning_of(each.key) != meaning_of(key)) continue;
      if (strict) {
        // One text that is not allowed is enough to fail.
        if (!expression.matches_whole(each.text) || (each.command && !is_simple(each.text))) return false;
        found = true;
      } else if (each.command) {
        for (const std::string& spelling : spellings_of(each.text))
          found = found || expression.find(spelling).has_value();
      } else {
        found = found || expression.find(each.text).has_value();
      }
    }
    if (!found) return false;
  }
  return true;
}

bool Rules::path_holds(const Rule& rule, const Call& call) const {
  const bool strict = rule.action == Verdict::kAllow;
  std::vector<std::string> globs;
  for (const std::string& glob : rule.path)
    for (std::string& each : places_.globs_of(glob, call.cwd)) globs.push_back(std::move(each));
  const auto matches = [&](const std::string& path, const Call::Path& of) {
    return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
      return path_matches(glob, path) || (of.command && !strict && Places::may_reach(glob, path)) ||
             (of.searched && !strict && Places::lies_below(glob, path));
    });
  };
  bool found = false;
  for (const Call::Path& each : call.paths) {
    if (rule.writes_only && !each.written) continue;
    const auto holds = [&](const std::string& path) { return matches(path, each); };
    if (strict && !std::all_of(each.paths.begin(), each.paths.end(), holds)) return false;
    found = found || std::any_of(each.paths.begin(), each.paths.end(), holds);
  }
  return found;
}

bool Rules::removes_everything(const Call& call) const {
  return std::any_of(call.removed.begin(), call.removed.end(), [&](const Word& word) {
    const std::vector<std::string> paths = places_.removed_by(word.text, call.cwd);
    return std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
      return places_.is_everything(path, word.removal == Removal::kTree);
    });
  });
}

bool Rules::holds(const Rule& rule, const Call& call) const {
  if (!name_matches(rule.tool, call.tool)) return false;
  if (!rule.input.empty() && !input_holds(rule, call)) return false;
  if (!rule.path.empty() && !path_holds(rule, call)) return false;
  if (rule.everything && !removes_everything(call)) return false;
  // A tool that is allowed by name and path must not carry a command with more than plain words.
  return rule.action != Verdict::kAllow || rule.path.empty() ||
         std::all_of(call.texts.begin(), call.texts.end(),
                     [](const Call::Text& each) { return !each.command || is_simple(each.text); });
}

Decision Rules::decide(std::string_view tool, JsonView input, std::string_view cwd) const {
  const Call call(tool, input, cwd, places_);
  Decision out;
  for (const Rule& rule : rules_) {
    if (rule.action <= out.verdict || !holds(rule, call)) continue;
    out = {rule.action, rule.name, rule.reason};
    if (out.verdict == Verdict::kDeny) break;
  }
  return out;
}

}  // namespace guardrail
