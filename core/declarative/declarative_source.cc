// SPDX-License-Identifier: Apache-2.0
#include "core/declarative/declarative_source.h"

#include <algorithm>
#include <charconv>

#include "core/base/bytes.h"
#include "core/base/nearest.h"
#include "core/declarative/scalar_place.h"

namespace agentd {
namespace {

constexpr std::size_t kShownBytes = 60;

Error placed(std::string_view path, int line, int column, const std::string& what) {
  return {Code::kInvalid, std::string(path) + ":" + std::to_string(std::max(line, 1)) + ":" +
                              std::to_string(std::max(column, 1)) + ": " + what};
}

std::string quoted_text(std::string_view text) { return "'" + one_line(text, kShownBytes) + "'"; }

std::string shown(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "empty";
    case YamlNode::Kind::kScalar:
      return quoted_text(node.scalar);
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a mapping";
  }
  return "";
}

std::string listed(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i)
    out += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return out;
}

std::string must_be(std::string_view key, const std::string& wanted, const YamlNode& node) {
  return quoted_text(key) + " must be " + wanted + ", not " + shown(node);
}

}  // namespace

Error DeclarativeSource::at_key(const YamlNode& node, const std::string& what) const {
  return placed(path, node.line, node.column, what);
}

Error DeclarativeSource::at_value(const YamlNode& node, const std::string& what) const {
  // A missing value has no place of its own.
  if (node.kind == YamlNode::Kind::kNull || node.value_line < 1) return at_key(node, what);
  return placed(path, node.value_line, node.value_column, what);
}

Error DeclarativeSource::at_byte(const YamlNode& node, std::size_t offset, const std::string& what) const {
  const TextPlace place = place_in_scalar(text, node, offset);
  return placed(path, place.line, place.column, what);
}

Error DeclarativeSource::unknown_key(const YamlNode& node, std::string_view key, std::string_view in,
                                     const std::vector<std::string>& known) const {
  return at_key(node, "unknown key " + quoted_text(key) + (in.empty() ? "" : " in " + quoted_text(in)) +
                          did_you_mean(key, known));
}

Result<std::string> DeclarativeSource::text_of(const YamlNode& node, std::string_view key) const {
  if (node.kind == YamlNode::Kind::kScalar) return node.scalar;
  return at_value(node, must_be(key, "a text", node));
}

Result<bool> DeclarativeSource::boolean_of(const YamlNode& node, std::string_view key) const {
  if (node.kind == YamlNode::Kind::kScalar && !node.quoted && (node.scalar == "true" || node.scalar == "false"))
    return node.scalar == "true";
  return at_value(node, must_be(key, "true or false", node));
}

Result<std::int64_t> DeclarativeSource::whole_of(const YamlNode& node, std::string_view key, std::int64_t low,
                                                 std::int64_t high) const {
  std::int64_t value = 0;
  const char* const end = node.scalar.data() + node.scalar.size();
  const auto [stop, error] = std::from_chars(node.scalar.data(), end, value);
  if (node.kind == YamlNode::Kind::kScalar && error == std::errc() && stop == end && value >= low && value <= high)
    return value;
  return at_value(node,
                  must_be(key, "a whole number from " + std::to_string(low) + " to " + std::to_string(high), node));
}

Result<std::string> DeclarativeSource::word_of(const YamlNode& node, std::string_view key,
                                               const std::vector<std::string>& words) const {
  if (node.kind == YamlNode::Kind::kScalar && std::find(words.begin(), words.end(), node.scalar) != words.end())
    return node.scalar;
  const bool is_text = node.kind == YamlNode::Kind::kScalar;
  return at_value(node, must_be(key, listed(words), node) + (is_text ? did_you_mean(node.scalar, words) : ""));
}

Result<std::vector<std::string>> DeclarativeSource::texts_of(const YamlNode& node, std::string_view key,
                                                             bool alone) const {
  if (alone && node.kind == YamlNode::Kind::kScalar) return std::vector<std::string>{node.scalar};
  if (node.kind != YamlNode::Kind::kList)
    return at_value(node, must_be(key, alone ? "a text or a list of texts" : "a list of texts", node));
  if (node.items.empty()) return at_value(node, quoted_text(key) + " is an empty list");
  std::vector<std::string> out;
  for (const YamlNode& item : node.items) {
    if (item.kind != YamlNode::Kind::kScalar) return at_value(item, "an element of " + must_be(key, "a text", item));
    out.push_back(item.scalar);
  }
  return out;
}

Result<void> DeclarativeSource::must_be_mapping(const YamlNode& node, std::string_view key) const {
  if (node.kind == YamlNode::Kind::kMap) return {};
  return at_value(node, must_be(key, "a mapping", node));
}

Result<std::vector<std::pair<std::string, std::string>>> DeclarativeSource::pairs_of(const YamlNode& node,
                                                                                     std::string_view key) const {
  AGENTD_TRY_VOID(must_be_mapping(node, key));
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [name, value] : node.members) {
    AGENTD_TRY(std::string meant, text_of(value, std::string(key) + "." + name));
    out.emplace_back(name, std::move(meant));
  }
  return out;
}

}  // namespace agentd
