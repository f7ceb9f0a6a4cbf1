// SPDX-License-Identifier: Apache-2.0
// route_check.cc - a query and a body held against what their route says that it takes.
#include <algorithm>
#include <charconv>

#include "core/base/bytes.h"
#include "core/serve/routes.h"

namespace agentd::serve {
namespace {

constexpr std::size_t kShownNameBytes = 60;

HttpReply bad(std::string message) { return error_reply(400, "bad_request", message); }

std::string names_of(std::span<const RouteParameter> parameters) {
  std::string out;
  for (const RouteParameter& each : parameters) out += (out.empty() ? "" : ", ") + std::string(each.name);
  return out.empty() ? "none" : out;
}

const RouteParameter* find(std::span<const RouteParameter> parameters, std::string_view name) {
  const auto found =
      std::find_if(parameters.begin(), parameters.end(), [&](const RouteParameter& each) { return each.name == name; });
  return found == parameters.end() ? nullptr : &*found;
}

bool is_whole(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  return wrong == std::errc() && end == text.data() + text.size();
}

bool is_choice(std::string_view choices, std::string_view text) {
  for (std::size_t from = 0; from <= choices.size();) {
    const std::size_t end = std::min(choices.find('|', from), choices.size());
    if (choices.substr(from, end - from) == text) return true;
    from = end + 1;
  }
  return false;
}

bool is_choices(std::string_view type) { return type.find('|') != std::string_view::npos; }

// For a sentence: "a string", "one of full, tail".
std::string words_of(std::string_view type) {
  if (type == "string[]") return "a list of strings";
  if (type == "integer") return "a whole number, 0 or more";
  if (type == "object") return "an object";
  if (type == "object[]") return "a list of objects";
  if (type == "boolean") return "true or false";
  if (!is_choices(type)) return "a " + std::string(type);
  std::string out = "one of ";
  for (const char c : type) out += c == '|' ? ", " : std::string(1, c);
  return out;
}

bool fits(std::string_view type, JsonView value) {
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number() && is_whole(value.text());
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_bool();
  if (type == "object") return value.is_object();
  if (is_choices(type)) return value.is_string() && is_choice(type, value.string_or(""));
  if (!type.ends_with("[]")) return true;
  if (!value.is_array()) return false;
  for (std::size_t i = 0; i < value.size(); ++i)
    if (!fits(type.substr(0, type.size() - 2), value.at(i))) return false;
  return true;
}

bool fits(std::string_view type, std::string_view text) {
  if (type == "integer") return is_whole(text);
  if (type == "boolean") return text == "true" || text == "false";
  return !is_choices(type) || is_choice(type, text);
}

std::optional<HttpReply> check_query(const Route& route, const RouteCall& call) {
  for (const auto& [name, value] : call.query) {
    const RouteParameter* const known = find(route.query, name);
    if (known == nullptr)
      return bad("there is no parameter '" + one_line(name, kShownNameBytes) +
                 "' here; known: " + names_of(route.query));
    if (!fits(known->type, std::string_view(value)))
      return bad("the parameter '" + name + "' takes " + words_of(known->type));
    if (name == "limit" && value.find_first_not_of('0') == std::string::npos) return bad("'limit' is at least 1");
  }
  for (const RouteParameter& each : route.query)
    if (each.required && !call.asked(each.name))
      return bad("the parameter '" + std::string(each.name) + "' is missing: " + std::string(each.about));
  return std::nullopt;
}

std::optional<HttpReply> check_body(const Route& route, JsonView body) {
  if (!body.is_object()) return bad("the body is not a JSON object");
  for (std::size_t i = 0; i < body.size(); ++i) {
    const std::string_view name = body.key_at(i);
    const RouteParameter* const known = find(route.body, name);
    if (known == nullptr)
      return bad("the body takes no '" + one_line(name, kShownNameBytes) + "'; known: " + names_of(route.body));
    for (std::size_t before = 0; before < i; ++before)
      if (body.key_at(before) == name) return bad("the body has '" + std::string(name) + "' twice");
    if (!fits(known->type, body.at(i)))
      return bad("'" + std::string(name) + "' in the body takes " + words_of(known->type));
  }
  for (const RouteParameter& each : route.body)
    if (each.required && !body[each.name].exists())
      return bad("'" + std::string(each.name) + "' is missing in the body: " + std::string(each.about));
  return std::nullopt;
}

}  // namespace

std::optional<HttpReply> check_call(const Route& route, const RouteCall& call) {
  if (auto wrong = check_query(route, call)) return wrong;
  return call.body ? check_body(route, call.body->root()) : std::nullopt;
}

std::uint64_t RouteCall::asked_number(std::string_view name, std::uint64_t otherwise) const {
  std::uint64_t out = otherwise;
  if (const auto text = asked(name)) (void)std::from_chars(text->data(), text->data() + text->size(), out);
  return out;
}

}  // namespace agentd::serve
