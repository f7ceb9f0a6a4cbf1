// SPDX-License-Identifier: Apache-2.0
// Members of a tool's input that requests over HTTP repeat as fields.
// Source: modelcontextprotocol.io, specification 2026-07-28, "Custom headers from tool parameters".
#include <algorithm>
#include <array>
#include <set>

#include "core/base/base64.h"
#include "core/base/bytes.h"
#include "providers/mcp/definitions.h"

namespace agentd::mcp {
namespace {

constexpr std::string_view kMark = "x-mcp-header";
constexpr std::array<std::string_view, 3> kTypes{"string", "integer", "boolean"};
constexpr std::string_view kBase64Begin = "=?base64?", kBase64End = "?=";
constexpr int kLevelsMax = 64;

bool is_token(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  };
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), fits);
}

class Marks {
 public:
  // Properties of properties may have a mark, and no other schema.
  Result<void> read(JsonView schema, bool reached, int level) {
    if (level > kLevelsMax) return Error{Code::kInvalid, "has a schema of more than 64 levels"};
    if (schema.is_array()) {
      for (std::size_t i = 0; i < schema.size(); ++i) AGENTD_TRY_VOID(read(schema.at(i), false, level + 1));
      return {};
    }
    if (!schema.is_object()) return {};
    if (schema[kMark].exists()) AGENTD_TRY_VOID(take(schema, reached));
    for (std::size_t i = 0; i < schema.size(); ++i) {
      const std::string_view key = schema.key_at(i);
      const JsonView value = schema.at(i);
      if (key == "properties" && value.is_object())
        AGENTD_TRY_VOID(read_properties(value, reached, level));
      else if (key != "default" && key != "const" && key != "enum" && key != "examples")
        AGENTD_TRY_VOID(read(value, false, level + 1));
    }
    return {};
  }
  std::vector<ParamField> found;

 private:
  Result<void> read_properties(JsonView properties, bool reached, int level) {
    for (std::size_t i = 0; i < properties.size(); ++i) {
      path_.emplace_back(properties.key_at(i));
      AGENTD_TRY_VOID(read(properties.at(i), reached, level + 1));
      path_.pop_back();
    }
    return {};
  }

  Result<void> take(JsonView schema, bool reached) {
    const std::string name(schema[kMark].string_or(""));
    if (!reached || path_.empty()) return Error{Code::kInvalid, "marks a field of HTTP where none can be"};
    if (!is_token(name)) return Error{Code::kInvalid, "marks a field of HTTP whose name cannot be one"};
    if (std::find(kTypes.begin(), kTypes.end(), schema["type"].string_or("")) == kTypes.end())
      return Error{Code::kInvalid, "marks a field of HTTP that is no text, whole number or boolean"};
    if (!names_.insert(ascii_lower(name)).second) return Error{Code::kInvalid, "marks a field of HTTP twice"};
    found.push_back({path_, "mcp-param-" + name});
    return {};
  }

  std::vector<std::string> path_;
  std::set<std::string> names_;
};

}  // namespace

Result<std::vector<ParamField>> param_fields(JsonView schema) {
  Marks marks;
  AGENTD_TRY_VOID(marks.read(schema, true, 0));
  return std::move(marks.found);
}

std::string field_value(std::string_view text) {
  const auto plain = [](char c) { return c == '\t' || (c >= ' ' && c <= '~'); };
  const bool fits = !text.empty() && without_blanks(text) == text && std::all_of(text.begin(), text.end(), plain) &&
                    !(text.starts_with(kBase64Begin) && text.ends_with(kBase64End));
  if (fits) return std::string(text);
  return std::string(kBase64Begin) + base64(text) + std::string(kBase64End);
}

Fields fields_of(const std::vector<ParamField>& params, JsonView arguments) {
  Fields out;
  for (const ParamField& param : params) {
    JsonView value = arguments;
    for (const std::string& name : param.path) value = value[name];
    if (value.is_string())
      out.emplace_back(param.field, field_value(value.string_or("")));
    else if (value.is_number() || value.is_bool())
      out.emplace_back(param.field, value.text());
  }
  return out;
}

}  // namespace agentd::mcp
