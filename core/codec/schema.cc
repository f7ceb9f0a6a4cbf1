// SPDX-License-Identifier: Apache-2.0
#include "core/codec/schema.h"

#include <rapidjson/document.h>
#include <rapidjson/pointer.h>
#include <rapidjson/schema.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>
#include <string>

#include "core/base/bytes.h"
#include "core/codec/regex.h"

namespace agentd {
namespace {

constexpr int kDepthMax = 64;
constexpr std::size_t kRuleBytesMax = 200;

template <std::size_t N>
bool holds(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Their value is passed on as it is.
constexpr std::string_view kPlain[] = {
    "enum",     "maximum",  "minimum",     "multipleOf", "maxLength",     "minLength",
    "maxItems", "minItems", "uniqueItems", "required",   "maxProperties", "minProperties"};
constexpr std::string_view kTold[] = {
    "$schema",  "$id",      "id",       "title",     "description", "default",     "format",
    "examples", "$comment", "readOnly", "writeOnly", "deprecated",  "definitions", "$defs"};
constexpr std::string_view kSchemas[] = {"additionalItems", "additionalProperties", "not"};
constexpr std::string_view kLists[] = {"allOf", "anyOf", "oneOf"};
constexpr std::string_view kTypes[] = {"null",   "boolean", "object", "array",
                                       "number", "integer", "string"};

// RapidJSON's expressions know no \d and the like; the rest of what people write is the same.
std::string translated(std::string_view pattern) {
  std::string out;
  bool inside = false;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    if (!inside && pattern.substr(at, 3) == "(?:") {
      out += '(';
      at += 2;
    } else if (c == '\\' && at + 1 < pattern.size()) {
      const char next = pattern[++at];
      const char low = static_cast<char>(next | 0x20);
      const std::string_view what = low == 'd'   ? "0-9"
                                    : low == 'w' ? "A-Za-z0-9_"
                                    : low == 's' ? " \\t\\n\\r\\f\\v"
                                                 : "";
      if (!what.empty() && (next == low || !inside))
        out += inside ? std::string(what) : (next == low ? "[" : "[^") + std::string(what) + "]";
      else if (next == '/' || (next == '-' && !inside))
        out += next;
      else
        out += {c, next};
    } else {
      if (c == '[') inside = true;
      if (c == ']') inside = false;
      out += c;
    }
  }
  return out;
}

// Writes the schema again, as draft 4 would have it.
class Writer {
 public:
  Result<std::string> write(JsonView schema) {
    root_ = schema;
    AGENTD_TRY_VOID(object(schema, "", 0));
    return std::string(out_.text());
  }

 private:
  static Error wrong(const std::string& place, const std::string& what) {
    return {Code::kInvalid, (place.empty() ? std::string() : "at " + place + ": ") + what};
  }

  Result<void> schema(JsonView from, const std::string& place, int depth) {
    if (from.is_bool() && from.bool_or(true)) {
      out_.begin_object().end_object();
      return {};
    }
    if (from.is_bool()) {
      out_.begin_object().key("not").begin_object().end_object().end_object();
      return {};
    }
    return object(from, place, depth);
  }

  Result<void> object(JsonView from, const std::string& place, int depth) {
    if (!from.is_object()) return wrong(place, "a schema must be an object, not " + from.text());
    if (depth > kDepthMax) return wrong(place, "the schema has more than 64 levels");
    out_.begin_object();
    for (std::size_t i = 0; i < from.size(); ++i)
      AGENTD_TRY_VOID(keyword(from, from.key_at(i), from.at(i), place, depth + 1));
    // RapidJSON reads no "$" in a reference.
    if (from["definitions"].exists() && from["$defs"].exists())
      return wrong(place, "both definitions and $defs: write one of them");
    for (const char* name : {"definitions", "$defs"})
      if (from[name].exists()) AGENTD_TRY_VOID(named("definitions", from[name], place, depth + 1));
    out_.end_object();
    return {};
  }

  Result<void> keyword(JsonView around, std::string_view key, JsonView value,
                       const std::string& place, int depth) {
    const std::string here = place + "/" + std::string(key);
    if (holds(kTold, key)) return {};
    if (key == "type") return type(value, here);
    if (key == "$ref") return reference(value, here);
    if (key == "pattern") return pattern(value, here);
    if (key == "const") {
      out_.key("enum").begin_array().value(value).end_array();
      return {};
    }
    if (key == "exclusiveMinimum" || key == "exclusiveMaximum") {
      if (value.is_number())
        out_.key(key == "exclusiveMinimum" ? "minimum" : "maximum").value(value);
      out_.key(key).boolean(value.is_number() || value.bool_or(false));
      return {};
    }
    if (key == "properties") return named(key, value, place, depth);
    if (key == "patternProperties") return patterns(value, here, depth);
    if (key == "items" || holds(kLists, key)) return list(key, value, here, depth);
    if (key == "dependencies") return dependencies(value, here, depth);
    if (holds(kSchemas, key)) {
      out_.key(key);
      if (value.is_bool() && key != "not") {
        out_.value(value);
        return {};
      }
      return schema(value, here, depth);
    }
    if (!holds(kPlain, key))
      return wrong(place, "the keyword '" + std::string(key) + "' is not understood");
    // The one of two rules that RapidJSON would not see.
    if ((key == "minimum" && around["exclusiveMinimum"].is_number()) ||
        (key == "maximum" && around["exclusiveMaximum"].is_number()))
      return wrong(place,
                   "'" + std::string(key) + "' beside its exclusive form: write one of them");
    out_.key(key).value(value);
    return {};
  }

  Result<void> type(JsonView value, const std::string& here) {
    for (std::size_t i = 0; i < std::max<std::size_t>(value.is_array() ? value.size() : 1, 1);
         ++i) {
      const JsonView each = value.is_array() ? value.at(i) : value;
      if (!holds(kTypes, each.string_or("")))
        return wrong(here, each.text() +
                               " is none of null, boolean, object, array, number, integer "
                               "and string");
    }
    out_.key("type").value(value);
    return {};
  }

  Result<std::string> expression(std::string_view text, const std::string& here) {
    // The library trusts an expression to be well formed.
    if (!Regex::compile(text)) return wrong(here, "the expression '" + std::string(text) + "' is not understood");
    std::string made = translated(text);
    if (!rapidjson::internal::GenericRegex<rapidjson::UTF8<>>(made.c_str()).IsValid())
      return wrong(here, "the expression '" + std::string(text) + "' is not understood");
    return made;
  }

  Result<void> pattern(JsonView value, const std::string& here) {
    if (!value.is_string()) return wrong(here, "an expression must be a text, not " + value.text());
    AGENTD_TRY(const std::string made, expression(value.string_or(""), here));
    out_.member("pattern", made);
    return {};
  }

  Result<void> named(std::string_view key, JsonView value, const std::string& place, int depth) {
    const std::string here = place + "/" + std::string(key);
    if (!value.is_object()) return wrong(here, "must be an object of schemas, not " + value.text());
    out_.key(key).begin_object();
    for (std::size_t i = 0; i < value.size(); ++i) {
      out_.key(value.key_at(i));
      AGENTD_TRY_VOID(schema(value.at(i), here + "/" + std::string(value.key_at(i)), depth));
    }
    out_.end_object();
    return {};
  }

  Result<void> patterns(JsonView value, const std::string& here, int depth) {
    if (!value.is_object()) return wrong(here, "must be an object of schemas, not " + value.text());
    out_.key("patternProperties").begin_object();
    for (std::size_t i = 0; i < value.size(); ++i) {
      AGENTD_TRY(const std::string made, expression(value.key_at(i), here));
      out_.key(made);
      AGENTD_TRY_VOID(schema(value.at(i), here + "/" + std::string(value.key_at(i)), depth));
    }
    out_.end_object();
    return {};
  }

  Result<void> list(std::string_view key, JsonView value, const std::string& here, int depth) {
    out_.key(key);
    if (!value.is_array()) {
      if (key != "items") return wrong(here, "must be a list of schemas, not " + value.text());
      return schema(value, here, depth);
    }
    out_.begin_array();
    for (std::size_t i = 0; i < value.size(); ++i)
      AGENTD_TRY_VOID(schema(value.at(i), here + "/" + std::to_string(i), depth));
    out_.end_array();
    return {};
  }

  Result<void> dependencies(JsonView value, const std::string& here, int depth) {
    if (!value.is_object()) return wrong(here, "must be an object, not " + value.text());
    out_.key("dependencies").begin_object();
    for (std::size_t i = 0; i < value.size(); ++i) {
      out_.key(value.key_at(i));
      if (value.at(i).is_array())
        out_.value(value.at(i));
      else
        AGENTD_TRY_VOID(schema(value.at(i), here + "/" + std::string(value.key_at(i)), depth));
    }
    out_.end_object();
    return {};
  }

  Result<void> reference(JsonView value, const std::string& here) {
    std::string text(value.string_or(""));
    if (!resolves(text))
      return wrong(here, value.text() + " is no place in this schema such as \"#/definitions/x\"");
    constexpr std::string_view kNew = "#/$defs/";
    if (text.starts_with(kNew)) text = "#/definitions/" + text.substr(kNew.size());
    if (!rapidjson::Pointer(text.c_str()).IsValid())
      return wrong(here, value.text() + " has characters that a reference cannot have");
    out_.member("$ref", text);
    return {};
  }

  // Whether it leads, by other references if need be, to a schema. One to the whole schema, or one
  // that comes back to itself, could go round for ever.
  bool resolves(std::string_view text) const {
    std::string next(text);
    for (int steps = 0; steps < kDepthMax && next.starts_with("#/"); ++steps) {
      JsonView at = root_;
      std::string_view rest = std::string_view(next).substr(1);
      while (!rest.empty()) {
        const std::string_view name = rest.substr(1, rest.find('/', 1) - 1);
        at = at[name];
        rest.remove_prefix(std::min(rest.size(), name.size() + 1));
      }
      if (!at.is_object()) return false;
      if (!at["$ref"].exists()) return true;
      next = std::string(at["$ref"].string_or(""));
    }
    return false;
  }

  JsonView root_;
  JsonWriter out_;
};

std::string place_of(const rapidjson::Pointer& pointer) {
  rapidjson::StringBuffer buffer;
  pointer.Stringify(buffer);
  return std::string(buffer.GetString(), buffer.GetSize());
}

}  // namespace

struct JsonSchema::State {
  explicit State(std::string_view text) {
    source.Parse(text.data(), text.size());
    compiled = std::make_unique<rapidjson::SchemaDocument>(source);
  }
  rapidjson::Document source;
  std::unique_ptr<rapidjson::SchemaDocument> compiled;
};

JsonSchema::JsonSchema(std::unique_ptr<State> state) : state_(std::move(state)) {}
JsonSchema::JsonSchema(JsonSchema&&) noexcept = default;
JsonSchema& JsonSchema::operator=(JsonSchema&&) noexcept = default;
JsonSchema::~JsonSchema() = default;

Result<JsonSchema> JsonSchema::read(JsonView schema) {
  AGENTD_TRY(const std::string text, Writer().write(schema));
  return JsonSchema(std::make_unique<State>(text));
}

Result<void> JsonSchema::check(JsonView value) const {
  static const rapidjson::Value kNull;
  const auto* const from =
      value.value_ == nullptr ? &kNull : static_cast<const rapidjson::Value*>(value.value_);
  rapidjson::SchemaValidator validator(*state_->compiled);
  from->Accept(validator);
  if (validator.IsValid()) return {};
  const std::string keyword = validator.GetInvalidSchemaKeyword();
  const std::string place = place_of(validator.GetInvalidDocumentPointer());
  std::string rule = "\"" + keyword + "\"";
  const rapidjson::Value* const around = validator.GetInvalidSchemaPointer().Get(state_->source);
  if (around != nullptr && around->IsObject() && around->HasMember(keyword.c_str())) {
    const std::string text = JsonView(&(*around)[keyword.c_str()]).text();
    rule += ": " + std::string(utf8_prefix(text, kRuleBytesMax)) +
            (text.size() > kRuleBytesMax ? "..." : "");
  }
  return Error{Code::kInvalid,
               (place.empty() ? std::string("the value") : place) + " breaks " + rule};
}

}  // namespace agentd
