// SPDX-License-Identifier: Apache-2.0
#include "core/serve/routes.h"

#include <algorithm>

#include "core/base/bytes.h"

namespace agentd::serve {
namespace {

constexpr std::size_t kPairsMax = 64, kShownQueryBytes = 60;

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// RFC 3986, 2.3: an escape of these is not the shortest form.
bool is_unreserved(char c) { return is_alphanumeric(c) || std::string_view("-._~").find(c) != std::string_view::npos; }

// RFC 3986, 3.3: what a segment has as it is.
bool is_plain(char c) {
  return is_unreserved(c) || std::string_view("!$&'()*+,;=:@").find(c) != std::string_view::npos;
}

// The text of a segment; nullopt when it is not in its shortest form, or nothing that a name can be.
std::optional<std::string> decode_segment(std::string_view segment) {
  std::string out;
  for (std::size_t at = 0; at < segment.size(); ++at) {
    if (is_plain(segment[at])) {
      out += segment[at];
      continue;
    }
    const auto byte = percent_escaped(segment.substr(at));
    if (!byte || is_unreserved(*byte) || *byte == '/') return std::nullopt;
    out += *byte;
    at += 2;
  }
  if (out.empty() || out == "." || out == ".." || !is_utf8(out) || has_control_character(out)) return std::nullopt;
  return out;
}

// The next segment of a path that begins with a slash, which is taken away with it.
std::string_view next_segment(std::string_view& path) {
  path.remove_prefix(1);
  const std::string_view out = path.substr(0, path.find('/'));
  path.remove_prefix(out.size());
  return out;
}

bool is_name(std::string_view segment) { return segment.starts_with('{') && segment.ends_with('}'); }

using Parts = std::vector<std::pair<std::string_view, std::string>>;

// The parts of a path that has the form of the template; nullopt when it has not.
std::optional<Parts> parts_of(std::string_view form, std::string_view path) {
  Parts out;
  while (form.starts_with('/') && path.starts_with('/')) {
    const std::string_view wanted = next_segment(form), given = next_segment(path);
    if (!is_name(wanted)) {
      if (wanted != given) return std::nullopt;
      continue;
    }
    auto text = decode_segment(given);
    if (!text) return std::nullopt;
    out.emplace_back(wanted.substr(1, wanted.size() - 2), std::move(*text));
  }
  return form.empty() && path.empty() ? std::optional(std::move(out)) : std::nullopt;
}

// True if, at the first segment that is fixed in one of the templates alone, it is fixed in `a`.
bool is_more_exact(std::string_view a, std::string_view b) {
  while (a.starts_with('/') && b.starts_with('/')) {
    const bool first = is_name(next_segment(a)), second = is_name(next_segment(b));
    if (first != second) return second;
  }
  return false;
}

std::optional<std::string> decode_query(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  auto out = percent_decoded(spaced);
  if (!out || !is_utf8(*out) || out->find('\0') != std::string::npos) return std::nullopt;
  return out;
}

Error wrong_query(std::string_view what) { return {Code::kInvalid, "the query of the URL " + std::string(what)}; }

}  // namespace

std::string_view RouteCall::at(std::string_view name) const {
  const auto found = std::find_if(path.begin(), path.end(), [&](const auto& each) { return each.first == name; });
  AGENTD_ASSERT(found != path.end());
  return found->second;
}

std::optional<std::string_view> RouteCall::asked(std::string_view name) const {
  for (const auto& [each, value] : query)
    if (each == name) return value;
  return std::nullopt;
}

Matched match(std::span<const Route> routes, std::string_view method, std::string_view path) {
  Matched out;
  std::string_view form;
  for (const Route& route : routes) {
    if (route.path == form || (!form.empty() && !is_more_exact(route.path, form))) continue;
    auto parts = parts_of(route.path, path);
    if (!parts) continue;
    form = route.path;
    out.path = std::move(*parts);
  }
  if (form.empty()) return out;
  for (const Route& route : routes) {
    if (route.path != form) continue;
    if (route.method == method) out.route = &route;
    out.allow += (out.allow.empty() ? "" : ", ") + std::string(route.method);
  }
  out.other_method = out.route == nullptr;
  if (out.other_method) out.path.clear();
  if (!out.other_method) out.allow.clear();
  return out;
}

Matched match(std::string_view method, std::string_view path) { return match(all_routes(), method, path); }

std::optional<Scope> scope_needed(std::string_view method, std::string_view path) {
  const Matched matched = match(method, path);
  return matched.route == nullptr ? std::nullopt : std::optional(matched.route->scope);
}

std::string_view media_taken(std::string_view method, std::string_view path) {
  const Matched matched = match(method, path);
  return matched.route == nullptr || matched.route->takes.empty() ? "application/json" : matched.route->takes;
}

Result<std::vector<std::pair<std::string, std::string>>> read_query(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> out;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    const bool last = pair.size() == text.size();
    text.remove_prefix(std::min(pair.size() + 1, text.size()));
    if (!last && text.empty()) return wrong_query("must not end with '&'");
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = decode_query(pair.substr(0, equals));
    auto value = decode_query(pair.substr(std::min(equals + 1, pair.size())));
    if (!name || !value) return wrong_query("must be UTF-8 in escapes such as %C3%A4, without %00");
    if (name->empty()) return wrong_query("must have a name before each '='");
    if (std::any_of(out.begin(), out.end(), [&](const auto& each) { return each.first == *name; }))
      return wrong_query("must have each name once, and '" + one_line(*name, kShownQueryBytes) + "' is repeated");
    if (out.size() == kPairsMax) return wrong_query("must have at most " + std::to_string(kPairsMax) + " names");
    out.emplace_back(std::move(*name), std::move(*value));
  }
  return out;
}

}  // namespace agentd::serve
