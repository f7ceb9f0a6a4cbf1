// SPDX-License-Identifier: Apache-2.0
#include "core/codec/yaml.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

constexpr int kNodesMax = 100'000;
constexpr int kYamlDepthMax = 64;

std::string place(std::string_view name, int line, int column) {
  return std::string(name) + ":" + std::to_string(line) + ":" + std::to_string(column) + ": ";
}

// The offset in the text of a yaml-cpp mark, whose line and column count from 0 in bytes.
std::size_t offset_of(std::string_view text, const YAML::Mark& mark) {
  std::size_t at = 0;
  for (int line = 0; line < mark.line && at != std::string_view::npos; ++line) {
    at = text.find('\n', at);
    if (at != std::string_view::npos) ++at;
  }
  return at == std::string_view::npos ? text.size() : at + static_cast<std::size_t>(mark.column);
}

// True if the quoted scalar that begins there runs to the end of the text.
bool is_open(std::string_view text, std::size_t begin) {
  if (begin >= text.size() || (text[begin] != '"' && text[begin] != '\'')) return false;
  const char quote = text[begin];
  for (std::size_t at = begin + 1; at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\')
      ++at;
    else if (text[at] == quote && quote == '\'' && text.substr(at + 1, 1) == "'")
      ++at;
    else if (text[at] == quote)
      return false;
  }
  return true;
}

// yaml-cpp's sentence for people; its own where it has no better one.
std::string yaml_mistake(const std::string& said) {
  static const std::pair<std::string_view, std::string_view> kMeant[] = {
      {YAML::ErrorMsg::MAP_VALUE, "a ':' cannot be here: quote a text that contains one, and check the indentation"},
      {YAML::ErrorMsg::MAP_KEY, "a key cannot be here: check the indentation"},
      {YAML::ErrorMsg::BLOCK_ENTRY, "a list entry ('- ') cannot be here: check the indentation"},
      {YAML::ErrorMsg::END_OF_MAP, "this line does not belong to the lines above: check the indentation"},
      {YAML::ErrorMsg::END_OF_SEQ, "this line does not belong to the list above: check the indentation"},
      {YAML::ErrorMsg::END_OF_MAP_FLOW, "the '{' has no closing '}', or a comma is missing"},
      {YAML::ErrorMsg::END_OF_SEQ_FLOW, "the '[' has no closing ']', or a comma is missing"},
      {YAML::ErrorMsg::FLOW_END, "this bracket closes nothing"},
      {YAML::ErrorMsg::TAB_IN_INDENTATION, "a line must be indented with spaces, not tabs"},
      {YAML::ErrorMsg::EOF_IN_SCALAR, "the string has no closing quote"},
      {YAML::ErrorMsg::UNKNOWN_TOKEN, "a text cannot begin with this character: quote it"},
      {YAML::ErrorMsg::ALIAS_NOT_FOUND, "a text that begins with '*' must be quoted"},
      {YAML::ErrorMsg::ANCHOR_NOT_FOUND, "a text that begins with '&' must be quoted"},
      {YAML::ErrorMsg::UNKNOWN_ANCHOR, "no '&' defines this '*' reference: quote a text that begins with '*'"}};
  // An unknown anchor's own name follows.
  for (const auto& [theirs, ours] : kMeant)
    if (said.starts_with(theirs)) return std::string(ours);
  return said;
}

struct Walker {
  std::string_view name;
  int nodes = 0;
  YAML::Mark quoted = YAML::Mark::null_mark();  // the last quoted scalar

  Result<YamlNode> walk(const YAML::Node& from, int depth) {
    if (from.IsScalar() && from.Tag() == "!" && from.Mark().pos > quoted.pos) quoted = from.Mark();
    YamlNode node;
    node.line = from.Mark().line + 1;
    node.column = from.Mark().column + 1;
    node.value_line = node.line;
    node.value_column = node.column;
    if (++nodes > kNodesMax || depth > kYamlDepthMax)
      return Error{Code::kInvalid, place(name, node.line, node.column) + "more than " + std::to_string(kNodesMax) +
                                       " values or " + std::to_string(kYamlDepthMax) + " levels"};
    switch (from.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        break;
      case YAML::NodeType::Scalar:
        node.kind = YamlNode::Kind::kScalar;
        node.scalar = from.Scalar();
        node.quoted = from.Tag() == "!";
        break;
      case YAML::NodeType::Sequence: {
        node.kind = YamlNode::Kind::kList;
        for (const auto& item : from) {
          AGENTD_TRY(YamlNode child, walk(item, depth + 1));
          node.items.push_back(std::move(child));
        }
        break;
      }
      case YAML::NodeType::Map:
        return walk_map(from, std::move(node), depth);
    }
    return node;
  }

  Result<YamlNode> walk_map(const YAML::Node& from, YamlNode node, int depth) {
    node.kind = YamlNode::Kind::kMap;
    for (const auto& member : from) {
      const int line = member.first.Mark().line + 1;
      const int column = member.first.Mark().column + 1;
      if (!member.first.IsScalar())
        return Error{Code::kInvalid, place(name, line, column) + "a key must be plain text"};
      if (node.find(member.first.Scalar()) != nullptr)
        return Error{Code::kInvalid, place(name, line, column) + "'" + member.first.Scalar() + "' is repeated"};
      AGENTD_TRY(YamlNode child, walk(member.second, depth + 1));
      // An unknown key is reported at the key, not at its value.
      child.line = line;
      child.column = column;
      node.members.emplace_back(member.first.Scalar(), std::move(child));
    }
    return node;
  }
};

bool looks_null(const std::string& text) { return text.empty() || text == "~" || text == "null"; }

void write_scalar(JsonWriter& out, const YamlNode& node) {
  const std::string& text = node.scalar;
  if (node.quoted) {
    out.string(text);
    return;
  }
  std::int64_t whole = 0;
  double real = 0;
  const char* const end = text.data() + text.size();
  if (looks_null(text)) {
    out.null();
  } else if (text == "true" || text == "false") {
    out.boolean(text == "true");
  } else if (const auto [at, error] = std::from_chars(text.data(), end, whole); error == std::errc() && at == end) {
    out.number(whole);
  } else if (const auto [stop, failed] = std::from_chars(text.data(), end, real);
             failed == std::errc() && stop == end && std::isfinite(real)) {
    out.real(real);
  } else {
    out.string(text);
  }
}

void write_json(JsonWriter& out, const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      out.null();
      break;
    case YamlNode::Kind::kScalar:
      write_scalar(out, node);
      break;
    case YamlNode::Kind::kList:
      out.begin_array();
      for (const YamlNode& item : node.items) write_json(out, item);
      out.end_array();
      break;
    case YamlNode::Kind::kMap:
      out.begin_object();
      for (const auto& [key, value] : node.members) {
        out.key(key);
        write_json(out, value);
      }
      out.end_object();
      break;
  }
}

}  // namespace

YamlNode::YamlNode() = default;
YamlNode::~YamlNode() = default;
YamlNode::YamlNode(const YamlNode&) = default;
YamlNode::YamlNode(YamlNode&&) noexcept = default;
YamlNode& YamlNode::operator=(const YamlNode&) = default;
YamlNode& YamlNode::operator=(YamlNode&&) noexcept = default;

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const auto& [name, value] : members)
    if (name == key) return &value;
  return nullptr;
}

std::string YamlNode::json() const {
  JsonWriter out;
  write_json(out, *this);
  return std::string(out.text());
}

Result<YamlNode> parse_yaml(std::string_view text, std::string_view name) {
  if (const std::size_t good = utf8_bytes(text); good != text.size()) {
    const std::string_view before = text.substr(0, good);
    const auto line = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1;
    const auto column = static_cast<int>(good - (before.rfind('\n') + 1)) + 1;
    return Error{Code::kInvalid, place(name, line, column) + "not valid UTF-8: save the file as UTF-8"};
  }
  try {
    Walker walker{name};
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.size() <= 1) {
      AGENTD_TRY(YamlNode root, walker.walk(documents.empty() ? YAML::Node() : documents[0], 0));
      // yaml-cpp accepts an unclosed scalar that a line end follows.
      if (walker.quoted.is_null() || !is_open(text, offset_of(text, walker.quoted))) return root;
      return Error{Code::kInvalid, place(name, walker.quoted.line + 1, walker.quoted.column + 1) +
                                       "the string that begins here has no closing quote"};
    }
    const YAML::Mark second = documents[1].Mark();
    return Error{Code::kInvalid, place(name, second.line + 1, second.column + 1) +
                                     "a second document begins here and would be ignored: "
                                     "write one document, without '---' in it"};
  } catch (const YAML::Exception& error) {
    return Error{Code::kInvalid, place(name, error.mark.line + 1, error.mark.column + 1) + yaml_mistake(error.msg)};
  }
}

namespace {

// True for the rule with optional blanks after it.
bool is_rule_line(std::string_view text, std::size_t begin, std::string_view rule = "---") {
  std::string_view line = text.substr(begin, std::min(text.find('\n', begin), text.size()) - begin);
  line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
  return line == rule;
}

}  // namespace

Result<FrontMatter> parse_front_matter(std::string_view text, std::string_view name) {
  FrontMatter out;
  if (!is_rule_line(text, 0)) {
    // Front matter below the first line would become part of the recipe's text and restrict nothing.
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && (is_rule_line(text, first) || is_rule_line(text, first, "+++")))
      return Error{Code::kInvalid, std::string(name) +
                                       ":1:1: front matter is YAML between two lines of ---, and the "
                                       "first one must be the file's first line"};
    out.body = std::string(text);
    return out;
  }
  const std::size_t begin = text.find('\n') + 1;
  std::size_t end = begin;
  while (end < text.size()) {
    const std::size_t line_end = std::min(text.find('\n', end), text.size());
    if (is_rule_line(text, end)) {
      // The empty first line keeps the line numbers those of the file.
      AGENTD_TRY(out.head, parse_yaml("\n" + std::string(text.substr(begin, end - begin)), name));
      out.body = std::string(text.substr(std::min(line_end + 1, text.size())));
      return out;
    }
    end = line_end + 1;
  }
  return Error{Code::kInvalid, std::string(name) + ":1:1: the front matter has no closing line of ---"};
}

}  // namespace agentd
