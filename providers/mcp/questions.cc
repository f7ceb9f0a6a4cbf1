// SPDX-License-Identifier: Apache-2.0
#include "providers/mcp/questions.h"

#include <algorithm>
#include <cmath>

#include "core/base/bytes.h"
#include "core/codec/url.h"

namespace agentd::mcp {
namespace {

constexpr std::size_t kMessageBytes = 8u << 10, kUrlBytes = 2'048, kSchemaBytes = 64u << 10;
constexpr std::size_t kPropertiesMax = 50, kChoicesMax = 500;

Error wrong(std::string message) { return {Code::kInvalid, std::move(message)}; }

std::string quoted(std::string_view name) { return "'" + one_line(name, 80) + "'"; }

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> texts) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

// The values of a choice: "enum", or "oneOf"/"anyOf" with a "const" each; missing where it is none.
JsonView choices_of(JsonView property) {
  for (const std::string_view key : {"enum", "oneOf", "anyOf"})
    if (property[key].is_array()) return property[key];
  return {};
}

bool is_choice(JsonView choices, std::string_view value) {
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const JsonView choice = choices.at(i);
    const JsonView constant = choice.is_object() ? choice["const"] : choice;
    if (constant.is_string() && constant.string_or("") == value) return true;
  }
  return false;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

bool within(double value, JsonView low, JsonView high) {
  return !(low.is_number() && value < low.number_or(0)) && !(high.is_number() && value > high.number_or(0));
}

// The rest of a sentence that begins with the value; empty = it fits.
std::string wrong_text(JsonView property, JsonView value) {
  if (!value.is_string()) return "is not a text";
  const std::string_view text = value.string_or("");
  if (const JsonView choices = choices_of(property); choices.exists() && !is_choice(choices, text))
    return "must be one of its choices";
  if (!within(static_cast<double>(characters(text)), property["minLength"], property["maxLength"]))
    return "is too short or too long";
  return {};
}

std::string wrong_list(JsonView property, JsonView value) {
  if (!value.is_array()) return "is not a list";
  if (!within(static_cast<double>(value.size()), property["minItems"], property["maxItems"]))
    return "has too few or too many choices";
  for (std::size_t i = 0; i < value.size(); ++i)
    if (!value.at(i).is_string() || !is_choice(choices_of(property["items"]), value.at(i).string_or("")))
      return "must be made of its choices";
  return {};
}

std::string wrong_value(JsonView property, JsonView value) {
  const std::string_view type = property["type"].string_or("");
  if (type == "string") return wrong_text(property, value);
  if (type == "array") return wrong_list(property, value);
  if (type == "boolean") return value.is_bool() ? "" : "is neither true nor false";
  if (!value.is_number()) return "is not a number";
  const double number = value.number_or(0);
  if (type == "integer" && number != std::floor(number)) return "is not a whole number";
  return within(number, property["minimum"], property["maximum"]) ? "" : "is too small or too large";
}

Result<void> check_form(JsonView schema) {
  const JsonView properties = schema["properties"];
  if (!schema.is_object() || schema["type"].string_or("") != "object" || !properties.is_object())
    return wrong("requestedSchema is not a flat object");
  if (properties.size() > kPropertiesMax || schema.text().size() > kSchemaBytes)
    return wrong("requestedSchema has too many values");
  for (std::size_t i = 0; i < properties.size(); ++i) {
    const JsonView property = properties.at(i);
    const std::string_view type = property["type"].string_or("");
    const bool list = type == "array";
    const JsonView choices = choices_of(list ? property["items"] : property);
    if (!is_one_of(type, {"string", "number", "integer", "boolean", "array"}) || (list && !choices.exists()))
      return wrong("requestedSchema has the value " + quoted(properties.key_at(i)) +
                   ", which is no text, number, boolean or choice");
    if (choices.size() > kChoicesMax) return wrong("requestedSchema has too many choices");
  }
  return {};
}

std::string answer_of(std::string_view action, std::string_view content) {
  JsonWriter out;
  out.begin_object().member("action", action);
  if (!content.empty()) out.key("content").raw(content);
  out.end_object();
  return std::string(out.text());
}

}  // namespace

Result<Elicitation> read_question(const std::string& server, JsonView params) {
  Elicitation out{server, std::string(utf8_prefix(params["message"].string_or(""), kMessageBytes))};
  const std::string_view mode = params["mode"].string_or("form");
  if (mode == "url") {
    out.url = std::string(params["url"].string_or(""));
    if (out.url.size() > kUrlBytes || has_control_character(out.url) || !parse_http_url(out.url))
      return wrong("url is no address of http or https");
    return out;
  }
  if (mode != "form") return wrong("mode is neither form nor url");
  AGENTD_TRY_VOID(check_form(params["requestedSchema"]));
  out.schema_json = params["requestedSchema"].text();
  return out;
}

Result<void> check_values(JsonView schema, JsonView values) {
  if (!values.is_object()) return wrong("the values are no object");
  const JsonView properties = schema["properties"], required = schema["required"];
  for (std::size_t i = 0; i < required.size(); ++i)
    if (const std::string_view name = required.at(i).string_or(""); !values[name].exists())
      return wrong("the value " + quoted(name) + " is missing");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string_view name = values.key_at(i);
    if (!properties[name].exists()) return wrong("the value " + quoted(name) + " was not asked for");
    if (const std::string why = wrong_value(properties[name], values.at(i)); !why.empty())
      return wrong("the value " + quoted(name) + " " + why);
  }
  return {};
}

Result<std::string, RpcFault> ask_person(const Asker& asker, JsonView params, Elicitor* person,
                                         const CancelToken& cancel, Deadline deadline) {
  auto question = read_question(asker.server, params);
  if (!question) return RpcFault{kRpcBadParams, question.error().message};
  question->tool = asker.tool;
  if (person == nullptr) return answer_of("decline", {});
  const ElicitationAnswer answer = person->elicit(*question, cancel, deadline);
  if (answer.kind == ElicitationAnswer::Kind::kDeclined) return answer_of("decline", {});
  if (answer.kind == ElicitationAnswer::Kind::kCancelled) return answer_of("cancel", {});
  if (!question->url.empty()) return answer_of("accept", {});
  const auto values = JsonDocument::parse(answer.values_json);
  // Values that do not fit are not the server's business.
  if (!values || !check_values(params["requestedSchema"], values->root())) return answer_of("cancel", {});
  return answer_of("accept", values->root().text());
}

}  // namespace agentd::mcp
