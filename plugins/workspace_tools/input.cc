// SPDX-License-Identifier: Apache-2.0
#include "plugins/workspace_tools/input.h"

#include <algorithm>
#include <cmath>

namespace workspace_tools {
namespace {

using agentd::Code;
using agentd::Error;
using agentd::JsonView;
using agentd::Result;

std::string quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

std::string names_of(std::span<const Key> keys) {
  std::string out;
  for (const Key& key : keys) out += (out.empty() ? "" : ", ") + std::string(key.name);
  return out;
}

bool is_choice(std::string_view choices, std::string_view wanted) {
  while (!choices.empty()) {
    const std::size_t end = std::min(choices.find(", "), choices.size());
    if (choices.substr(0, end) == wanted) return true;
    choices.remove_prefix(std::min(end + 2, choices.size()));
  }
  return false;
}

bool is_integer(JsonView value, const Key& key) {
  const double number = value.number_or(0.5);
  return value.is_number() && std::floor(number) == number && number >= static_cast<double>(key.least) &&
         number <= static_cast<double>(key.most);
}

// The type that a key's value must have, if it has another one; otherwise empty.
std::string complaint(JsonView value, const Key& key) {
  switch (key.type) {
    case Key::Type::kText:
      return value.is_string() ? "" : "must be a text";
    case Key::Type::kFilledText:
      return value.is_string() && !value.string_or("").empty() ? "" : "must be a non-empty text";
    case Key::Type::kInteger:
      return is_integer(value, key)
                 ? ""
                 : "must be a whole number from " + std::to_string(key.least) + " to " + std::to_string(key.most);
    case Key::Type::kBoolean:
      return value.is_bool() ? "" : "must be true or false";
    case Key::Type::kChoice:
      return is_choice(key.choices, value.string_or("")) ? "" : "must be one of " + std::string(key.choices);
    case Key::Type::kList:
      return value.is_array() ? "" : "must be a list";
  }
  return "";
}

Result<void> check_known(JsonView root, std::span<const Key> keys) {
  for (std::size_t i = 0; i < root.size(); ++i) {
    const std::string_view name = root.key_at(i);
    if (std::none_of(keys.begin(), keys.end(), [&](const Key& key) { return key.name == name; }))
      return Error{Code::kInvalid, "unknown key " + quoted(name) + ": the keys are " + names_of(keys)};
  }
  return {};
}

}  // namespace

Result<void> Input::check(JsonView object, std::span<const Key> keys) {
  if (!object.is_object())
    return Error{Code::kInvalid, "the input must be a JSON object with the keys " + names_of(keys)};
  AGENTD_TRY_VOID(check_known(object, keys));
  for (const Key& key : keys) {
    const JsonView value = object[key.name];
    if (!value.exists() || value.is_null()) {
      if (key.required) return Error{Code::kInvalid, "the key " + quoted(key.name) + " is missing"};
      continue;
    }
    const std::string wrong = complaint(value, key);
    if (!wrong.empty()) return Error{Code::kInvalid, quoted(key.name) + " " + wrong};
  }
  return {};
}

Result<Input> Input::parse(std::string_view json, std::span<const Key> keys) {
  auto parsed = agentd::JsonDocument::parse(json.empty() ? "{}" : json);
  if (!parsed) return Error{Code::kInvalid, "the input is not valid JSON: " + parsed.error().message};
  AGENTD_TRY_VOID(check(parsed->root(), keys));
  return Input(std::move(*parsed));
}

bool Input::has(std::string_view key) const {
  const JsonView value = document_.root()[key];
  return value.exists() && !value.is_null();
}

std::string_view Input::text(std::string_view key, std::string_view otherwise) const {
  return document_.root()[key].string_or(otherwise);
}

std::int64_t Input::integer(std::string_view key, std::int64_t otherwise) const {
  return has(key) ? static_cast<std::int64_t>(document_.root()[key].number_or(0)) : otherwise;
}

bool Input::boolean(std::string_view key) const { return document_.root()[key].bool_or(false); }

JsonView Input::list(std::string_view key) const { return document_.root()[key]; }

}  // namespace workspace_tools
