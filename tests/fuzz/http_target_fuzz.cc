// SPDX-License-Identifier: Apache-2.0
// The target of a request as any bytes: a path, a line end and a query. What matches has harmless parts, is found again
// by its parts in escapes, and has no second spelling with dots or more slashes; the pairs of a query are read again as
// the same.
#include <algorithm>
#include <set>
#include <string>

#include "core/base/bytes.h"
#include "core/serve/access.h"
#include "core/serve/routes.h"
#include "tests/fuzz/target.h"

namespace {

using namespace agentd::serve;
using agentd::fuzz::require;

constexpr Route kTable[] = {
    {.method = "GET", .path = "/healthz", .name = "a", .summary = "."},
    {.method = "GET", .path = "/v/things", .name = "b", .summary = "."},
    {.method = "GET", .path = "/v/things/{id}", .name = "c", .summary = "."},
    {.method = "POST", .path = "/v/things/search", .name = "d", .summary = "."},
    {.method = "GET", .path = "/v/things/{id}/{part}", .name = "e", .summary = "."},
    {.method = "GET", .path = "/v/things/{id}/events", .name = "f", .summary = "."},
};

// Everything in escapes but what must have none.
std::string escaped(std::string_view text, bool all) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (!all && kPlain.find(c) != std::string_view::npos)
      out += c;
    else
      out += std::string("%") + kDigits[byte >> 4] + kDigits[byte & 15];
  }
  return out;
}

// The path of a match, written again.
std::string path_of(const Matched& matched) {
  std::string out(matched.route->path);
  for (const auto& [name, value] : matched.path) {
    const std::string place = "{" + std::string(name) + "}";
    const std::size_t at = out.find(place);
    require(at != std::string::npos, "a part is of the template");
    out.replace(at, place.size(), escaped(value, false));
  }
  return out;
}

void check_path(std::string_view path) {
  const Matched matched = match(kTable, "GET", path);
  require(matched.route == nullptr || !matched.other_method, "a route is no other method");
  require(matched.other_method == !matched.allow.empty(), "another method is named");
  if (matched.route == nullptr) return;
  ++agentd::fuzz::got_through;
  require(path.starts_with('/') && is_origin_form(path), "a path that matches is a target");
  require(path.find("//") == std::string_view::npos && !path.ends_with('/'), "no segment is empty");
  for (const auto& [name, value] : matched.path) {
    require(agentd::is_utf8(value) && !agentd::has_control_character(value), "a part is harmless text");
    require(!value.empty() && value != "." && value != "..", "a part is a name");
    require(value.find('/') == std::string::npos, "a part is one segment");
  }
  const Matched again = match(kTable, "GET", path_of(matched));
  require(again.route == matched.route && again.path == matched.path, "it is found again by its parts");
  const std::string text(path);
  for (const std::string& other : {text + "/", "/" + text, text + "/.", text + "/..", "/." + text, text + "%2F"})
    require(match(kTable, "GET", other).route != matched.route, "no other spelling is the same");
}

void check_query(std::string_view text) {
  const auto pairs = read_query(text);
  if (!pairs) {
    require(!pairs.error().message.empty() && agentd::is_utf8(pairs.error().message), "a refusal has its sentence");
    return;
  }
  std::set<std::string> names;
  std::string again;
  for (const auto& [name, value] : *pairs) {
    require(!name.empty() && names.insert(name).second, "a name is there once");
    require(agentd::is_utf8(name + value), "a pair is UTF-8");
    require((name + value).find('\0') == std::string::npos, "a pair has no NUL");
    again += (again.empty() ? "" : "&") + escaped(name, true) + "=" + escaped(value, true);
  }
  const auto twice = read_query(again);
  require(twice && *twice == *pairs, "the pairs are read again as the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = agentd::fuzz::view(data, size);
  const std::size_t line = std::min(bytes.find('\n'), bytes.size());
  check_path(bytes.substr(0, line));
  check_query(bytes.substr(std::min(line + 1, bytes.size())));
  return 0;
}
