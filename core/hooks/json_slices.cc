// SPDX-License-Identifier: Apache-2.0
#include "core/hooks/json_slices.h"

namespace agentd {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

// `at` is a quote; returns the position after the string.
std::size_t after_string(std::string_view json, std::size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at)
    if (json[at] == '\\') ++at;
  return at + 1;
}

std::size_t after_spaces(std::string_view json, std::size_t at) {
  const std::size_t found = json.find_first_not_of(kSpaces, at);
  return found == std::string_view::npos ? json.size() : found;
}

// Returns the position of the comma or bracket that ends the value.
std::size_t after_value(std::string_view json, std::size_t at) {
  for (std::size_t depth = 0; at < json.size();) {
    const char c = json[at];
    if (c == '"') {
      at = after_string(json, at);
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (depth == 0 && (c == ',' || c == '}' || c == ']')) return at;
    if (c == '}' || c == ']') --depth;
    ++at;
  }
  return json.size();
}

}  // namespace

std::vector<std::string_view> json_slices(std::string_view json) {
  std::vector<std::string_view> slices;
  // A byte order mark may precede the value.
  std::size_t at = json.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  at = after_spaces(json, at);
  if (at >= json.size() || (json[at] != '{' && json[at] != '[')) return slices;
  const bool object = json[at] == '{';
  ++at;
  for (std::size_t next = after_spaces(json, at); next < json.size() && json[next] != '}' && json[next] != ']';) {
    if (object) at = after_spaces(json, after_string(json, next)) + 1;
    const std::size_t end = after_value(json, at);
    slices.push_back(json.substr(at, end - at));
    if (end >= json.size() || json[end] != ',') break;
    at = end + 1;
    next = after_spaces(json, at);
  }
  return slices;
}

std::string_view json_trimmed(std::string_view json) {
  const std::size_t first = json.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return json.substr(first, json.find_last_not_of(kSpaces) - first + 1);
}

}  // namespace agentd
