// SPDX-License-Identifier: Apache-2.0
// if_rule.cc - claude's `if`: a permission rule that selects the calls for which a hook is called.
//
// If a rule and a call cannot be compared with certainty, the rule holds: calling a hook once too often costs a moment,
// skipping a guard costs what it guards.
#include <algorithm>
#include <cctype>

#include "core/base/paths.h"
#include "core/codec/regex.h"
#include "core/dialects/dialect.h"
#include "core/dialects/translator.h"

namespace agentd {
namespace {

struct Rule {
  std::string_view tool, detail;
  bool has_detail = false;
};

Error bad_rule(std::string_view rule, std::string_view why) {
  return {Code::kInvalid, "the rule " + in_quotes(rule) + " cannot be read: " + std::string(why)};
}

Result<Rule> parse_rule(std::string_view text) {
  const std::string_view rule = trimmed(text);
  Rule out;
  const std::size_t open = rule.find('(');
  out.tool = trimmed(rule.substr(0, open));
  const auto odd = [](char c) { return c == ')' || c == ' ' || c == ',' || c == '|'; };
  if (out.tool.empty() || std::any_of(out.tool.begin(), out.tool.end(), odd))
    return bad_rule(text, "it must begin with the name of one tool, as in Bash(git *)");
  if (open == std::string_view::npos) return out;
  if (rule.back() != ')') return bad_rule(text, "the bracket at its end is not closed");
  out.detail = trimmed(rule.substr(open + 1, rule.size() - open - 2));
  out.has_detail = !out.detail.empty();
  int depth = 0;
  for (const char c : out.detail) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (depth < 0) return bad_rule(text, "it must be one rule, as in Bash(git *), not a list");
  }
  return out;
}

// "*" matches anything. Iterative: on a mismatch the last star takes one byte more.
bool glob(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// ---- commands

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "git *" and "git:*" match "git" alone, or "git", a space and anything.
bool command_matches(std::string_view detail, std::string_view command) {
  const auto ends_with = [&](std::string_view tail) {
    return detail.size() > tail.size() && detail.substr(detail.size() - tail.size()) == tail;
  };
  if (!ends_with(":*") && !ends_with(" *")) return glob(detail, command);
  const std::string_view head = detail.substr(0, detail.size() - 2);
  return glob(head, command) || glob(std::string(head) + " *", command);
}

// Shell keywords, and programs that run the words after them.
bool leads_on(std::string_view word) {
  return is_one_of(word, {"if",      "then", "elif", "else",   "while",   "until", "do",   "time", "nohup", "exec",
                          "command", "env",  "sudo", "coproc", "builtin", "nice",  "bash", "sh",   "-c",    "eval"});
}

// Strips everything that may precede the command itself: brackets, "!", NAME=value, ">x", "then", "nohup".
std::string_view bare_command(std::string_view part) {
  for (;;) {
    part = trimmed(part);
    const std::size_t word = std::min(part.find_first_of(" \t\n"), part.size());
    const std::string_view first = part.substr(0, word);
    const std::size_t equals = first.find('=');
    const bool assigns = equals != std::string_view::npos && equals != 0 && word < part.size();
    const bool redirects = first.size() > 1 && (first[0] == '>' || first[0] == '<') && word < part.size();
    if (!part.empty() && (part[0] == '!' || part[0] == '{'))
      part.remove_prefix(1);
    else if (assigns || redirects || leads_on(first))
      part.remove_prefix(word);
    else
      return part;
  }
}

// Collapses runs of blanks and removes quotation marks around words.
std::string plain_command(std::string_view line) {
  std::string out;
  for (const char c : line) {
    if (c == '"' || c == '\'') continue;
    const bool blank = c == ' ' || c == '\t';
    if (blank && (out.empty() || out.back() == ' ')) continue;
    out += blank ? ' ' : c;
  }
  return out;
}

// Tests every part of the line that a shell might run on its own. Quotes are ignored, so there may be too many parts.
bool any_piece_matches(std::string_view detail, std::string_view line) {
  if (command_matches(detail, trimmed(line)) || command_matches(detail, bare_command(line))) return true;
  std::size_t from = 0;
  while (from <= line.size()) {
    const std::size_t end = std::min(line.find_first_of(";&|\n()`", from), line.size());
    if (command_matches(detail, bare_command(line.substr(from, end - from)))) return true;
    from = end + 1;
  }
  return false;
}

bool any_command_matches(std::string_view detail, std::string_view line) {
  return any_piece_matches(detail, line) || any_piece_matches(detail, plain_command(line));
}

// ---- paths, with gitignore's rules

// "*" and "?" stay within a folder, "**" does not; a folder matches everything below it. Linear in the length of the
// path, which a model chose.
std::string path_expression(std::string_view pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (pattern.substr(i, 3) == "**/") {
      out += "(?:.*/)?";
      i += 2;
    } else if (pattern.substr(i, 2) == "**") {
      out += ".*";
      i += 1;
    } else if (c == '*' || c == '?') {
      out += c == '*' ? "[^/]*" : "[^/]";
    } else {
      if (c != '/' && std::isalnum(static_cast<unsigned char>(c)) == 0 && (c & 0x80) == 0) out += '\\';
      out += c;
    }
  }
  return "(?s)" + out + "(?:/.*)?";
}

bool path_glob(std::string_view pattern, std::string_view path) {
  const auto regex = Regex::compile(path_expression(pattern));
  return !regex || regex->matches_whole(path);
}

bool path_matches(std::string_view detail, std::string_view path, std::string_view cwd) {
  const std::string file = lexical_path(path, cwd);
  if (detail.substr(0, 2) == "//") return path_glob(detail.substr(1), file);
  if (detail.substr(0, 2) == "~/")  // the home directory is not known here: match anywhere
    return path_glob("**/" + std::string(detail.substr(2)), file.substr(1));
  const std::string folder = cwd.empty() || cwd == "/" ? "" : lexical_path(cwd, "");
  if (file.compare(0, folder.size() + 1, folder + "/") != 0) {
    // Outside the folder only a pattern without a slash can match.
    return detail.find('/') == std::string_view::npos && path_glob("**/" + std::string(detail), file.substr(1));
  }
  const std::string_view below = std::string_view(file).substr(folder.size() + 1);
  if (detail.substr(0, 2) == "./") return path_glob(detail.substr(2), below);
  if (detail[0] == '/') return path_glob(detail.substr(1), below);
  const std::size_t slash = detail.find('/');
  if (slash != std::string_view::npos && slash + 1 != detail.size()) return path_glob(detail, below);
  return path_glob("**/" + std::string(detail.substr(0, slash)), below);
}

// ---- tools

bool edits_files(std::string_view tool) {
  return is_one_of(tool, {"edit_file", "write_file", "multi_edit", "notebook_edit"});
}

bool reads_files(std::string_view tool) { return is_one_of(tool, {"read_file", "grep", "glob", "ls"}); }

// A rule for Edit applies to every tool that edits files, one for Read to every tool that reads them.
bool tool_matches(std::string_view rule, std::string_view tool, bool list_of_edits) {
  const std::string ours = canonical_tool(Dialect::kClaude, rule);
  if (ours == "multi_edit" && list_of_edits) return true;
  if (ours == tool || rule == tool || rule == "*") return true;
  if (ours == "edit_file") return edits_files(tool);
  if (ours == "read_file") return reads_files(tool);
  if (rule.substr(0, 5) != "mcp__") return false;
  return glob(rule, tool) || glob(std::string(rule) + "__*", tool);
}

bool host_matches(std::string_view domain, std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return true;
  std::string_view host = url.substr(scheme + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  const std::size_t user = host.rfind('@');
  if (user != std::string_view::npos) host.remove_prefix(user + 1);
  host = host.substr(0, host.find(':'));
  return glob(domain, host) || glob("*." + std::string(domain), host);
}

bool any_text_matches(std::string_view detail, JsonView input) {
  for (std::size_t i = 0; i < input.size(); ++i)
    if (glob(detail, input.at(i).string_or(""))) return true;
  return false;
}

bool detail_matches(std::string_view detail, std::string_view tool, JsonView payload) {
  const JsonView input = tool_input_of(payload);
  if (!input.is_object()) return true;
  if (tool == "bash")
    return !input["command"].is_string() || any_command_matches(detail, input["command"].string_or(""));
  if (edits_files(tool) || reads_files(tool)) {
    const JsonView path = input["path"].is_string() ? input["path"] : input["file_path"];
    return !path.is_string() || path_matches(detail, path.string_or(""), payload["cwd"].string_or(""));
  }
  constexpr std::string_view kDomain = "domain:";
  if (detail.substr(0, kDomain.size()) == kDomain && input["url"].is_string())
    return host_matches(detail.substr(kDomain.size()), input["url"].string_or(""));
  return any_text_matches(detail, input);
}

}  // namespace

Result<bool> if_rule_holds(const HookDefinition& hook, JsonView payload) {
  if (trimmed(hook.if_rule).empty()) return true;
  AGENTD_TRY(const Rule rule, parse_rule(hook.if_rule));
  if (!is_tool_event(hook.event)) return true;
  const std::string_view tool = tool_of(payload);
  if (!tool_matches(rule.tool, tool, has_edit_list(payload))) return false;
  return !rule.has_detail || detail_matches(rule.detail, tool, payload);
}

}  // namespace agentd
