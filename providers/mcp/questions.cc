// SPDX-License-Identifier: Apache-2.0
#include "providers/mcp/questions.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/codec/url.h"
#include "core/tools/form_values.h"

namespace agentd::mcp {
namespace {

constexpr std::size_t kMessageBytes = 8u << 10, kUrlBytes = 2'048, kSchemaBytes = 64u << 10;
constexpr std::size_t kPropertiesMax = 50, kChoicesMax = 500;

Error wrong(std::string message) { return {Code::kInvalid, std::move(message)}; }

std::string quoted_value_name(std::string_view name) { return "'" + one_line(name, 80) + "'"; }

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> texts) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
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
    const JsonView choices = form_choices(list ? property["items"] : property);
    if (!is_one_of(type, {"string", "number", "integer", "boolean", "array"}) || (list && !choices.exists()))
      return wrong("requestedSchema has the value " + quoted_value_name(properties.key_at(i)) +
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
      return wrong("the value " + quoted_value_name(name) + " is missing");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string_view name = values.key_at(i);
    if (!properties[name].exists()) return wrong("the value " + quoted_value_name(name) + " was not asked for");
    if (const std::string unmet = form_value_unmet(properties[name], values.at(i)); !unmet.empty())
      return wrong("the value " + quoted_value_name(name) + " has to be " + unmet);
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
