// SPDX-License-Identifier: Apache-2.0
#include "core/tools/form_values.h"

#include <algorithm>
#include <cmath>

#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr std::size_t kChoicesBytes = 400, kNumberBytes = 40;

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

bool is_choice(JsonView choices, JsonView value) {
  for (std::size_t i = 0; i < choices.size(); ++i)
    if (value.is_string() && choices.at(i).exists() && form_choice(choices.at(i)) == value.string_or("")) return true;
  return false;
}

std::string one_of(JsonView choices) {
  std::string out;
  for (std::size_t i = 0; i < choices.size(); ++i)
    out += (out.empty() ? "" : ", ") + std::string(form_choice(choices.at(i)));
  return "one of: " + one_line(out, kChoicesBytes);
}

// The limits of a property, by its type, and what they count.
struct Limits {
  JsonView low, high;
  std::string noun;  // empty = the value itself
};

Limits limits_of(JsonView property) {
  const std::string_view type = property["type"].string_or("");
  if (type == "string") return {property["minLength"], property["maxLength"], "character"};
  if (type == "array") return {property["minItems"], property["maxItems"], "choice"};
  if (type == "integer" || type == "number") return {property["minimum"], property["maximum"], ""};
  return {};
}

std::string with_noun(JsonView number, const std::string& noun) {
  std::string out = one_line(number.text(), kNumberBytes);
  if (!noun.empty()) out += " " + noun + (out == "1" ? "" : "s");
  return out;
}

std::string outside(JsonView property, double value) {
  const Limits limits = limits_of(property);
  if (limits.low.is_number() && value < limits.low.number_or(0))
    return "at least " + with_noun(limits.low, limits.noun);
  if (limits.high.is_number() && value > limits.high.number_or(0))
    return "at most " + with_noun(limits.high, limits.noun);
  return {};
}

std::string unmet_text(JsonView property, JsonView value) {
  if (!value.is_string()) return "a text";
  if (const JsonView choices = form_choices(property); choices.exists() && !is_choice(choices, value))
    return one_of(choices);
  return outside(property, static_cast<double>(characters(value.string_or(""))));
}

std::string unmet_list(JsonView property, JsonView value) {
  const JsonView choices = form_choices(property["items"]);
  if (!value.is_array()) return "a list";
  for (std::size_t i = 0; i < value.size(); ++i)
    if (!is_choice(choices, value.at(i))) return one_of(choices) + " for each";
  return outside(property, static_cast<double>(value.size()));
}

}  // namespace

JsonView form_choices(JsonView property) {
  for (const std::string_view key : {"enum", "oneOf", "anyOf"})
    if (property[key].is_array()) return property[key];
  return {};
}

std::string_view form_choice(JsonView choice) { return (choice.is_object() ? choice["const"] : choice).string_or(""); }

std::string form_limits(JsonView property) {
  const auto [low, high, noun] = limits_of(property);
  if (form_choices(property).exists()) return {};  // they say all
  if (low.is_number() && high.is_number())
    return "from " + one_line(low.text(), kNumberBytes) + " to " + with_noun(high, noun);
  if (low.is_number()) return "at least " + with_noun(low, noun);
  return high.is_number() ? "at most " + with_noun(high, noun) : std::string();
}

std::string form_value_unmet(JsonView property, JsonView value) {
  const std::string_view type = property["type"].string_or("");
  if (type == "string") return unmet_text(property, value);
  if (type == "array") return unmet_list(property, value);
  if (type == "boolean") return value.is_bool() ? "" : "true or false";
  if (!value.is_number()) return "a number";
  const double number = value.number_or(0);
  if (type == "integer" && number != std::floor(number)) return "a whole number";
  return outside(property, number);
}

}  // namespace agentd
