// SPDX-License-Identifier: Apache-2.0
#include "core/dialects/known_names.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <set>

#include "core/base/bytes.h"
#include "core/base/nearest.h"
#include "core/codec/json.h"
#include "core/codec/regex.h"
#include "core/dialects/dialect.h"
#include "core/dialects/tool_names.h"
#include "core/dialects/translator.h"
#include "core/dialects/webhook_rules.h"
#include "core/hooks/payload_fields.h"

namespace agentd {
namespace {

constexpr std::size_t kShownNameBytes = 80;

std::string shown(std::string_view name) { return "'" + one_line(name, kShownNameBytes) + "'"; }

// ---- paths of a payload

// Visits all keys of a table by their JSON names, including joined tables.
template <typename Take>
void each_field(const PayloadTable& table, std::uint32_t event, const Take& take) {
  for (const PayloadField& field : table.fields) {
    if ((field.except & event_bit(event)) != 0) continue;
    if (!field.key.empty())
      take(field);
    else if (field.table != nullptr)
      each_field(*field.table, event, take);
  }
}

const PayloadField* find_field(std::span<const PayloadTable* const> tables, std::uint32_t event, std::string_view key) {
  const PayloadField* found = nullptr;
  for (const PayloadTable* const table : tables)
    each_field(*table, event, [&](const PayloadField& field) {
      if (found == nullptr && field.key == key) found = &field;
    });
  return found;
}

std::string nearest_key(std::span<const PayloadTable* const> tables, std::uint32_t event, std::string_view key) {
  std::vector<std::string> keys;
  for (const PayloadTable* const table : tables)
    each_field(*table, event, [&](const PayloadField& field) { keys.emplace_back(field.key); });
  return nearest(key, keys);
}

bool is_list(const PayloadField& field) {
  return field.kind == FieldKind::kRecords || field.kind == FieldKind::kTexts || field.kind == FieldKind::kMoreBlocks;
}

bool is_object(const PayloadField& field) { return field.kind == FieldKind::kRecord || field.kind == FieldKind::kPart; }

// Why the event has no such path; nullopt = it has. `last` receives the field at its end, if the tables know it.
std::optional<std::string> why_no_path(const std::vector<PathStep>& path, std::uint32_t event,
                                       const PayloadField** last = nullptr) {
  const PayloadTable* const payload = payload_table(event);
  if (payload == nullptr) return std::nullopt;  // not a core event
  std::vector<const PayloadTable*> tables{payload, &envelope_table()};
  std::string text;
  const PayloadField* field = nullptr;
  for (const PathStep& step : path) {
    if (step.index >= 0) {
      if (field == nullptr || !is_list(*field)) return "has no list " + shown(text) + " to index";
      text += "[" + std::to_string(step.index) + "]";
      tables.clear();
      if (field->table != nullptr) tables.push_back(field->table);
      field = nullptr;
      continue;
    }
    if (field != nullptr && is_list(*field))
      return "has a list in " + shown(text) + ", whose elements are " + shown(text + "[0]") + " and so on";
    const std::string before = text.empty() ? std::string() : text + ".";
    text = before + step.key;
    field = find_field(tables, event, step.key);
    if (field == nullptr) {
      const std::string near = nearest_key(tables, event, step.key);
      return "has no " + shown(text) +
             (near.empty() ? ": 'agentd hooks contract " + std::string(find_event(event)->name) + "' lists what it has"
                           : ": did you mean '" + before + near + "'?");
    }
    if (field->kind == FieldKind::kJson) return std::nullopt;
    if (is_list(*field)) continue;
    tables.clear();
    if (is_object(*field) && field->table != nullptr) tables.push_back(field->table);
  }
  if (last != nullptr) *last = field;
  return std::nullopt;
}

// All values that the field can have; empty = not a fixed set.
std::vector<std::string> words_of(const PayloadField& field) {
  std::vector<std::string> out;
  if (field.kind != FieldKind::kName) return out;
  for (const std::string_view each : field.names->names)
    if (!each.empty()) out.emplace_back(each);
  return out;
}

template <typename Take>
void each_path(const ExprNode& node, const Take& take) {
  if (node.kind == ExprNode::Kind::kPath) take(node);
  for (const ExprNode& child : node.children) each_path(child, take);
}

// ---- tools

// Every tool name that a matcher of the dialect may meet.
std::vector<std::string> names_of_tools(Dialect dialect, std::span<const Tool> tools) {
  std::set<std::string> out;
  for (const Tool& tool : tools) out.insert(foreign_tool(dialect, tool.name));
  for (const Dialect each : all_dialects())
    for (const ToolRow& row : tools_of(each)) out.insert(foreign_tool(dialect, row.canonical));
  for (const ToolRow& row : tools_of(dialect)) out.emplace(row.foreign);
  for (const std::string_view own : translator_of(dialect).own_tools) out.emplace(own);
  return {out.begin(), out.end()};
}

// The names of a matcher that consists only of names. In some dialects a name with a dot is an expression.
std::vector<std::string> literal_names(std::string_view matcher) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= matcher.size();) {
    const std::size_t end = std::min(matcher.find_first_of("|,", begin), matcher.size());
    const std::string name(trimmed(matcher.substr(begin, end - begin)));
    const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
    });
    if (!plain) return {};
    if (!name.empty()) out.push_back(name);
    begin = end + 1;
  }
  return out;
}

// The dialect's name of the tool that was probably meant; empty = none is similar.
std::string meant(Dialect dialect, const std::string& name, const std::vector<std::string>& known) {
  for (const std::string& each : known)
    if (ascii_lower(each) == ascii_lower(name)) return each;
  // The name may be another dialect's.
  for (const Dialect other : all_dialects())
    for (const ToolRow& row : tools_of(other))
      if (ascii_lower(row.foreign) == ascii_lower(name) || row.canonical == name)
        return foreign_tool(dialect, row.canonical);
  return nearest(name, known);
}

class Check {
 public:
  Check(const HookDefinition& hook, std::span<const Tool> tools) : hook_(hook), tools_(tools) {}

  std::vector<NameMistake> run() {
    const auto when = parse_expression(hook_.when.text());
    const bool conditional = when && !hook_.when.empty();
    if (conditional) check_words(*when);
    check_tool_lists();
    if (!is_tool_event(hook_.event)) {
      check_subject();
      return std::move(out_);
    }
    const Names foreign{hook_.dialect, names_of_tools(hook_.dialect, tools_),
                        matcher_rules(hook_.dialect, hook_.event) == MatcherRules::kGeminiTool};
    const std::vector<std::string> named = literal_names(hook_.matcher.text());
    for (const std::string& name : named) check_tool("matcher", name, foreign);
    if (named.empty() && !hook_.matcher.matches_all()) check_expression(foreign.known);
    if (!hook_.if_rule.empty())
      for (const std::string& name : literal_names(std::string_view(hook_.if_rule).substr(0, hook_.if_rule.find('('))))
        check_tool("if", name, {foreign.dialect, foreign.known, false});
    if (conditional) {
      // The payload has agentd's names, whatever the dialect.
      check_compared(*when, {Dialect::kAgentd, names_of_tools(Dialect::kAgentd, tools_), false});
      check_input(*when, named_by_matcher());
    }
    return std::move(out_);
  }

 private:
  struct Names {
    Dialect dialect;
    std::vector<std::string> known;
    bool found_anywhere;  // a part of a name is enough
  };

  bool own() const { return hook_.dialect == Dialect::kAgentd; }

  void blame(bool slip, const std::string& sentence) {
    const bool counts = own() && !hook_.observes && !hook_.async && hook_.precedence != Precedence::kProject;
    const std::string place = hook_.path + (hook_.line == 0 ? "" : ":" + std::to_string(hook_.line)) + ": ";
    out_.push_back({slip && counts, slip, place + "hook " + hook_.name + ": " + sentence});
  }

  void check_tool(const std::string& key, const std::string& name, const Names& names) {
    if (ascii_lower(name).starts_with("mcp")) return;
    for (const std::string& each : names.known)
      if (each == name || (names.found_anywhere && each.find(name) != std::string::npos)) return;
    const std::string near = meant(names.dialect, name, names.known);
    if (!near.empty())
      blame(true, "'" + key + "': no tool is named " + shown(name) + ": did you mean '" + near + "'?");
    else if (own())
      blame(false, "'" + key + "': no available tool is named " + shown(name) +
                       (key == "when"      ? ", so the comparison has no effect"
                        : key == "matcher" ? ", so the hook is never called"
                                           : ", so it has no effect"));
  }

  // An expression that matches no tool's name is often written for another tool's names, or as a list.
  void check_expression(const std::vector<std::string>& known) {
    const std::string& text = hook_.matcher.text();
    if (ascii_lower(text).find("mcp") != std::string::npos) return;
    if (std::any_of(known.begin(), known.end(), [&](const std::string& each) { return hook_.matcher.matches(each); }))
      return;
    const auto folded = Regex::compile(text, {.ignore_case = true});
    const auto near = std::find_if(known.begin(), known.end(), [&](const std::string& each) {
      return folded && folded->find(each, 0).has_value();
    });
    if (near != known.end())
      blame(true, "'matcher': " + shown(text) + " matches no tool: did you mean '" + *near + "'?");
    else
      blame(false, "'matcher': " + shown(text) + " matches no available tool, so the hook is never called");
  }

  // Checks the tool names in an answer that is written in the file.
  void check_tool_lists() {
    if (hook_.action_json.empty()) return;
    const auto answer = JsonDocument::parse(hook_.action_json);
    const JsonView lists = answer ? answer->root()["tools"] : JsonView();
    const Names names{Dialect::kAgentd, names_of_tools(Dialect::kAgentd, tools_), false};
    for (const char* const key : {"enable", "disable"})
      for (std::size_t i = 0; i < lists[key].size(); ++i) {
        const std::string name(lists[key].at(i).string_or(""));
        if (name.find_first_of("*?[") != std::string::npos)
          blame(true, "'tools." + std::string(key) + "' takes tool names, not globs such as " + shown(name));
        else
          check_tool("tools." + std::string(key), name, names);
      }
  }

  // Checks a matcher whose subject has only a few values. Other tools have some more of them.
  void check_subject() {
    static constexpr std::array<std::string_view, 6> kForeign{"startup", "resume", "clear",
                                                              "compact", "manual", "auto"};
    const std::uint32_t event = hook_.event;
    const bool looks = own() || (matcher_rules(hook_.dialect, event) != MatcherRules::kDocker &&
                                 (event == AGENTD_EVENT_SESSION_START || event == AGENTD_EVENT_BEFORE_COMPACTION ||
                                  event == AGENTD_EVENT_AFTER_COMPACTION));
    const PayloadTable* const table = payload_table(event);
    if (!looks || table == nullptr) return;
    std::vector<std::string> words;
    each_field(*table, event, [&](const PayloadField& field) {
      if (field.key != "source" && field.key != "trigger" && field.key != "level") return;
      for (std::string& each : words_of(field)) words.push_back(std::move(each));
    });
    if (words.empty()) return;
    for (const std::string& name : literal_names(hook_.matcher.text()))
      if (std::find(words.begin(), words.end(), name) == words.end() &&
          (own() || std::find(kForeign.begin(), kForeign.end(), name) == kForeign.end()))
        blame(true, "'matcher': " + shown(name) + " never occurs there; possible are " + join(words, ", "));
  }

  // `trigger == "manul"` is never true, and `trigger != "manul"` always is.
  void check_words(const ExprNode& node) {
    using Kind = ExprNode::Kind;
    for (const ExprNode& child : node.children) check_words(child);
    if ((node.kind != Kind::kEqual && node.kind != Kind::kNotEqual) || node.children.size() != 2) return;
    const bool turned = node.children[0].kind == Kind::kText;
    const ExprNode& path = node.children[turned ? 1 : 0];
    const ExprNode& text = node.children[turned ? 0 : 1];
    if (path.kind != Kind::kPath || text.kind != Kind::kText) return;
    const PayloadField* field = nullptr;
    if (why_no_path(path.path, hook_.event, &field) || field == nullptr) return;
    const std::vector<std::string> words = words_of(*field);
    if (!words.empty() && std::find(words.begin(), words.end(), text.text) == words.end())
      blame(true, "'when': " + shown(text.text) + " never occurs there; possible are " + join(words, ", "));
  }

  // agentd's names of the tools that the matcher selects; empty = all.
  std::vector<std::string> named_by_matcher() const {
    std::vector<std::string> out = literal_names(hook_.matcher.text());
    for (std::string& name : out) name = canonical_tool(hook_.dialect, name);
    return out;
  }

  static bool is_tool_name(const ExprNode& node) {
    if (node.kind != ExprNode::Kind::kPath) return false;
    const auto& path = node.path;
    return (path.size() == 2 && path[0].key == "tool" && path[1].key == "name") ||
           (path.size() == 1 && path[0].key == "tool_name");
  }

  // The text that the node compares with the tool's name by == or !=; empty = the node does something else.
  static std::string compared_with(const ExprNode& node) {
    using Kind = ExprNode::Kind;
    if ((node.kind != Kind::kEqual && node.kind != Kind::kNotEqual) || node.children.size() != 2) return {};
    const bool turned = node.children[0].kind == Kind::kText;
    const ExprNode& path = node.children[turned ? 1 : 0];
    const ExprNode& text = node.children[turned ? 0 : 1];
    return is_tool_name(path) && text.kind == Kind::kText ? text.text : std::string();
  }

  // The tool that `tool.name == "bash"` names.
  static std::string tool_named_by(const ExprNode& node) {
    return node.kind == ExprNode::Kind::kEqual ? compared_with(node) : std::string();
  }

  // The names of `tool.name matches "^(bash|glob)$"`, which is a list.
  static std::vector<std::string> names_matched(const ExprNode& node) {
    if (node.kind != ExprNode::Kind::kMatches || !is_tool_name(node.children[0])) return {};
    std::string_view text = node.text;
    if (!text.starts_with('^') || !text.ends_with('$') || text.size() < 2) return {};
    text = text.substr(1, text.size() - 2);
    if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
    return text.find(',') == std::string_view::npos ? literal_names(text) : std::vector<std::string>();
  }

  void check_compared(const ExprNode& node, const Names& names) {
    if (const std::string name = compared_with(node); !name.empty()) check_tool("when", name, names);
    for (const std::string& name : names_matched(node)) check_tool("when", name, names);
    for (const ExprNode& child : node.children) check_compared(child, names);
  }

  void check_input(const ExprNode& node, const std::vector<std::string>& tools) {
    if (node.kind == ExprNode::Kind::kPath) return check_key(node, tools);
    std::vector<std::string> inner = tools;
    if (node.kind == ExprNode::Kind::kAnd)
      for (const ExprNode& child : node.children)
        if (std::string name = tool_named_by(child); !name.empty()) inner = {std::move(name)};
    for (const ExprNode& child : node.children) check_input(child, inner);
  }

  void check_key(const ExprNode& node, const std::vector<std::string>& tools) {
    const bool flat = !node.path.empty() && node.path[0].key == "tool_input";
    const bool nested = node.path.size() > 2 && node.path[0].key == "tool" && node.path[1].key == "input";
    const std::size_t at = flat ? 1 : 2;
    if ((!flat && !nested) || node.path.size() <= at || node.path[at].index >= 0) return;
    const std::string& key = node.path[at].key;
    std::vector<std::string> keys;
    std::size_t named = 0;
    for (const Tool& tool : tools_) {
      if (!tools.empty() && std::find(tools.begin(), tools.end(), tool.name) == tools.end()) continue;
      ++named;
      const auto schema = JsonDocument::parse(tool.input_schema_json);
      const JsonView properties = schema ? schema->root()["properties"] : JsonView();
      if (!properties.is_object()) return;  // any key may occur
      for (std::size_t i = 0; i < properties.size(); ++i) keys.emplace_back(properties.key_at(i));
    }
    if (named == 0 || named < tools.size()) return;  // the keys of an unavailable tool are unknown
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) return;
    const std::string near = nearest(key, keys);
    const std::string of = tools.empty()       ? "no available tool has"
                           : tools.size() == 1 ? tools[0] + " has no"
                                               : "none of " + join(tools, ", ") + " has";
    blame(!tools.empty(), "'when': " + of + " " + shown(key) + " in its input" +
                              (near.empty() ? "; it has " + join(keys, ", ") : ": did you mean '" + near + "'?"));
  }

  const HookDefinition& hook_;
  const std::span<const Tool> tools_;
  std::vector<NameMistake> out_;
};

class ConfigCheck {
 public:
  explicit ConfigCheck(std::span<const Tool> tools) : tools_(tools), known_(names_of_tools(Dialect::kAgentd, tools)) {}

  void walk(JsonView schema, JsonView value, const std::string& where) {
    if (value.is_string() && schema["format"].string_or("") == "tool-names") return check(value.string_or(""), where);
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (value.is_array())
        walk(schema["items"], value.at(i), where + "[" + std::to_string(i) + "]");
      else if (value.is_object() && schema["propertyNames"]["format"].string_or("") == "tool-input-keys")
        check_key(schema["propertyNames"]["examples"], value.key_at(i), where);
      else if (value.is_object())
        walk(schema["properties"][value.key_at(i)], value.at(i),
             (where.empty() ? where : where + ".") + std::string(value.key_at(i)));
    }
  }
  std::vector<NameMistake> take() { return std::move(out_); }

 private:
  // A key that no tool takes may belong to a tool that is added later. A key with a dot is deeper in the input.
  void check_key(JsonView more, std::string_view key, const std::string& where) {
    if (key == "*" || key.find('.') != std::string_view::npos) return;
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < more.size(); ++i) keys.emplace_back(more.at(i).string_or(""));
    for (const Tool& tool : tools_) {
      const auto schema = JsonDocument::parse(tool.input_schema_json);
      const JsonView properties = schema ? schema->root()["properties"] : JsonView();
      if (!properties.is_object()) return;  // any key may occur
      for (std::size_t i = 0; i < properties.size(); ++i) keys.emplace_back(properties.key_at(i));
    }
    if (tools_.empty() || std::find(keys.begin(), keys.end(), key) != keys.end()) return;
    const std::string near = nearest(key, keys);
    out_.push_back({false, false,
                    where + ": no available tool has " + shown(key) + " in its input" +
                        (near.empty() ? std::string() : ": did you mean '" + near + "'?")});
  }

  void check(std::string_view names, const std::string& where) {
    for (std::size_t begin = 0; begin <= names.size();) {
      const std::size_t end = std::min(names.find('|', begin), names.size());
      const std::string name(trimmed(names.substr(begin, end - begin)));
      begin = end + 1;
      const bool glob = name.find_first_of("*?[") != std::string::npos;
      if (name.empty() || glob || ascii_lower(name).starts_with("mcp")) continue;
      if (std::any_of(known_.begin(), known_.end(),
                      [&](const std::string& each) { return ascii_lower(each) == ascii_lower(name); }))
        continue;
      const std::string near = meant(Dialect::kAgentd, name, known_);
      out_.push_back({!near.empty(), !near.empty(),
                      near.empty() ? where + ": no available tool is named " + shown(name)
                                   : where + ": no tool is named " + shown(name) + ": did you mean '" + near + "'?"});
    }
  }

  const std::span<const Tool> tools_;
  const std::vector<std::string> known_;
  std::vector<NameMistake> out_;
};

}  // namespace

std::optional<ExpressionMistake> wrong_path(const ExprNode& expression, std::span<const std::uint32_t> events) {
  std::optional<ExpressionMistake> out;
  each_path(expression, [&](const ExprNode& node) {
    if (out) return;
    std::string first;
    for (const std::uint32_t event : events) {
      const auto why = why_no_path(node.path, event);
      if (!why) return;
      if (first.empty()) first = std::string(find_event(event)->name) + " " + *why;
    }
    out = ExpressionMistake{node.begin, {Code::kInvalid, std::move(first)}};
  });
  return out;
}

std::vector<NameMistake> unknown_names_in_config(std::string_view config_schema, std::string_view config,
                                                 std::span<const Tool> tools) {
  const auto schema = JsonDocument::parse(config_schema), value = JsonDocument::parse(config);
  if (!schema || !value) return {};
  ConfigCheck check(tools);
  check.walk(schema->root(), value->root(), {});
  return check.take();
}

std::string unrunnable(const HookDefinition& hook, const std::vector<std::string>& allowed_hosts) {
  if (hook.runs == HookRuns::kWebhook && hook.url.find("${") == std::string::npos)
    if (const auto allowed = check_webhook_url(hook.url, {allowed_hosts}); !allowed) return allowed.error().message;
  const bool starts = hook.runs == HookRuns::kArgv || hook.runs == HookRuns::kExtension;
  if (starts && !hook.argv.empty() && hook.argv[0].starts_with('/') && ::access(hook.argv[0].c_str(), X_OK) != 0)
    return "its program " + shown(hook.argv[0]) + (errno == ENOENT ? " does not exist" : " may not be executed");
  struct stat info {};
  if (hook.working_directory.starts_with('/') &&
      (::stat(hook.working_directory.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)))
    return "its working_directory " + shown(hook.working_directory) + " is not a directory";
  return {};
}

std::vector<NameMistake> unknown_names(const HookDefinition& hook, std::span<const Tool> tools) {
  return Check(hook, tools).run();
}

}  // namespace agentd
