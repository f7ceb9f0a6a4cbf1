// SPDX-License-Identifier: Apache-2.0
#include "core/codec/schema_checker.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>

#include "core/base/bytes.h"

namespace agentd {
namespace {

using rapidjson::Value;

constexpr std::size_t kPlaceBytesMax = 1000;

// The bits of all types that match the value.
unsigned types_of(const Value& value) {
  const auto bit = [](std::string_view name) {
    return 1u << (std::find(std::begin(kTypeNames), std::end(kTypeNames), name) - std::begin(kTypeNames));
  };
  switch (value.GetType()) {
    case rapidjson::kNullType:
      return bit("null");
    case rapidjson::kFalseType:
    case rapidjson::kTrueType:
      return bit("boolean");
    case rapidjson::kObjectType:
      return bit("object");
    case rapidjson::kArrayType:
      return bit("array");
    case rapidjson::kStringType:
      return bit("string");
    case rapidjson::kNumberType:
      return bit("number") | (is_whole(value) ? bit("integer") : 0);
  }
  return 0;
}

// Counts code points: the bytes that do not continue another.
std::uint64_t characters(std::string_view text) {
  return static_cast<std::uint64_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

Result<void> SchemaChecker::check(const SchemaNodes& schema, const Value& value) {
  const bool good = fits(schema.nodes.front(), value);
  if (too_deep_)
    return Error{Code::kInvalid,
                 "the value cannot be checked: it needs more than " + std::to_string(kDepthMax) + " nested schemas"};
  if (work_.spent()) return Error{Code::kInvalid, "the value cannot be checked: it takes too long against this schema"};
  if (good) return {};
  std::string place;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) place += *step;
  return Error{Code::kInvalid,
               before_ + (place.empty() ? "the value" : one_line(place, kPlaceBytesMax)) + " breaks " + rule_};
}

// Notes the broken rule; returns false for the caller to return.
bool SchemaChecker::breaks(const SchemaNode& node, std::string_view keyword) {
  if (quiet_ > 0 || work_.spent() || too_deep_) return false;
  const Value* rule = node.source;
  if (rule->IsObject()) {
    const auto length = static_cast<rapidjson::SizeType>(keyword.size());
    const auto found = rule->FindMember(Value(rapidjson::StringRef(keyword.data(), length)));
    rule = found == rule->MemberEnd() ? nullptr : &found->value;
  }
  rule_ = "\"" + std::string(keyword) + "\"";
  if (rule == nullptr) return false;
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  rule->Accept(writer);
  rule_ += ": " + shown_in_message({buffer.GetString(), buffer.GetSize()});
  return false;
}

// Notes that the mistake is in an element or a member; returns false for the caller to return.
bool SchemaChecker::below(std::string_view step) {
  if (quiet_ > 0) return false;
  std::string escaped = "/";
  for (const char c : shown_in_message(step)) c == '~' ? escaped += "~0" : c == '/' ? escaped += "~1" : escaped += c;
  steps_.push_back(std::move(escaped));
  return false;
}

bool SchemaChecker::has(const Value& object, std::string_view name) {
  if (!work_.spend(1 + object.MemberCount() / 8)) return false;
  const auto length = static_cast<rapidjson::SizeType>(name.size());
  return object.HasMember(Value(rapidjson::StringRef(name.data(), length)));
}

bool SchemaChecker::finds(const Regex& expression, std::string_view text) {
  return work_.spend(1 + text.size() / kStepBytes) && expression.find(text).has_value();
}

bool SchemaChecker::fits(const SchemaNode& node, const Value& value) {
  const SchemaNode* at = &node;
  while (at->is_reference) at = at->reference;
  too_deep_ = too_deep_ || depth_ == kDepthMax;
  if (too_deep_ || !work_.spend(1)) return false;
  ++depth_;
  const bool good = follows(*at, value);
  --depth_;
  return good;
}

bool SchemaChecker::fits_quietly(const SchemaNode& node, const Value& value) {
  ++quiet_;
  const bool good = fits(node, value);
  --quiet_;
  return good;
}

bool SchemaChecker::follows(const SchemaNode& node, const Value& value) {
  if (node.source->IsBool()) return node.source->GetBool() || breaks(node, node.name.empty() ? "schema" : node.name);
  if (node.reference != nullptr && !fits(*node.reference, value)) return false;
  if (node.types != 0 && (node.types & types_of(value)) == 0) return breaks(node, "type");
  if (!is_named_value(node, value)) return false;
  if (value.IsNumber() && !fits_number(node, value)) return false;
  if (value.IsString() && !fits_text(node, value)) return false;
  if (value.IsArray() && !fits_array(node, value)) return false;
  if (value.IsObject() && !fits_object(node, value)) return false;
  return fits_combined(node, value);
}

bool SchemaChecker::is_named_value(const SchemaNode& node, const Value& value) {
  if (node.value != nullptr && !same_value(*node.value, value, work_)) return breaks(node, "const");
  if (node.values == nullptr) return true;
  for (const Value& each : node.values->GetArray())
    if (same_value(each, value, work_)) return true;
  return breaks(node, "enum");
}

bool SchemaChecker::fits_number(const SchemaNode& node, const Value& value) {
  const long double number = number_of(value);
  for (const SchemaNode::Bound& each : node.bounds) {
    const bool beyond = each.upper ? number > each.limit : number < each.limit;
    if (beyond || (each.open && number == each.limit)) return breaks(node, each.keyword);
  }
  return !node.unit || is_multiple(decimal_of(value), *node.unit) || breaks(node, "multipleOf");
}

bool SchemaChecker::fits_text(const SchemaNode& node, const Value& value) {
  const std::string_view text = text_of(value);
  if (node.characters.least > 0 || node.characters.most != SchemaNode::kAny) {
    if (!work_.spend(text.size() / kStepBytes)) return false;
    const std::uint64_t length = characters(text);
    if (length < node.characters.least) return breaks(node, "minLength");
    if (length > node.characters.most) return breaks(node, "maxLength");
  }
  return !node.pattern || finds(*node.pattern, text) || breaks(node, "pattern");
}

bool SchemaChecker::fits_array(const SchemaNode& node, const Value& value) {
  if (value.Size() < node.elements.least) return breaks(node, "minItems");
  if (value.Size() > node.elements.most) return breaks(node, "maxItems");
  for (rapidjson::SizeType i = 0; i < value.Size(); ++i) {
    const SchemaNode* const each = i < node.first.size() ? node.first[i] : node.rest;
    if (each == nullptr) break;
    if (!fits(*each, value[i])) return below(std::to_string(i));
  }
  if (node.unique && !all_differ(value, work_)) return breaks(node, "uniqueItems");
  return node.contained == nullptr || fits_contents(node, value);
}

bool SchemaChecker::fits_contents(const SchemaNode& node, const Value& value) {
  std::uint64_t found = 0;
  for (const Value& each : value.GetArray()) {
    if (found > node.contains.most || (found >= node.contains.least && node.contains.most == SchemaNode::kAny)) break;
    if (fits_quietly(*node.contained, each)) ++found;
  }
  if (found > node.contains.most) return breaks(node, "maxContains");
  if (found >= node.contains.least) return true;
  return breaks(node, node.source->HasMember("minContains") ? "minContains" : "contains");
}

// Checks every member, including those of a repeated name.
bool SchemaChecker::fits_object(const SchemaNode& node, const Value& value) {
  for (const std::string_view name : node.required)
    if (!has(value, name)) return breaks(node, "required");
  if (value.MemberCount() < node.members.least) return breaks(node, "minProperties");
  if (value.MemberCount() > node.members.most) return breaks(node, "maxProperties");
  if (!node.properties.empty() || !node.patterns.empty() || node.additional != nullptr || node.names != nullptr)
    for (const auto& member : value.GetObject())
      if (!fits_member(node, member.name, member.value)) return below(text_of(member.name));
  return fits_dependents(node, value);
}

bool SchemaChecker::fits_member(const SchemaNode& node, const Value& name, const Value& value) {
  if (!work_.spend(1)) return false;
  const std::string_view text = text_of(name);
  if (node.names != nullptr && !fits(*node.names, name)) {
    if (quiet_ == 0) before_ = "the name of ";
    return false;
  }
  const auto known = node.properties.find(text);
  bool is_known = known != node.properties.end();
  if (is_known && !fits(*known->second, value)) return false;
  for (const SchemaNode::Pattern& each : node.patterns) {
    if (!finds(each.expression, text)) continue;
    is_known = true;
    if (!fits(*each.schema, value)) return false;
  }
  return is_known || node.additional == nullptr || fits(*node.additional, value);
}

bool SchemaChecker::fits_dependents(const SchemaNode& node, const Value& value) {
  for (const SchemaNode::Dependent& each : node.dependents) {
    if (!has(value, each.name)) continue;
    if (each.schema != nullptr && !fits(*each.schema, value)) return false;
    for (const std::string_view name : each.names)
      if (!has(value, name)) return breaks(node, each.keyword);
  }
  return true;
}

bool SchemaChecker::fits_combined(const SchemaNode& node, const Value& value) {
  for (const SchemaNode* const each : node.all)
    if (!fits(*each, value)) return false;
  const auto fit = [&](const SchemaNode* each) { return fits_quietly(*each, value); };
  if (!node.any.empty() && std::none_of(node.any.begin(), node.any.end(), fit)) return breaks(node, "anyOf");
  if (!node.one.empty() && std::count_if(node.one.begin(), node.one.end(), fit) != 1) return breaks(node, "oneOf");
  if (node.none != nullptr && fit(node.none)) return breaks(node, "not");
  if (node.condition == nullptr) return true;
  const SchemaNode* const next = fit(node.condition) ? node.then : node.otherwise;
  return next == nullptr || fits(*next, value);
}

}  // namespace agentd
