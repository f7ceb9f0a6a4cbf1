// SPDX-License-Identifier: Apache-2.0
// The table of routes as pages: the OpenAPI document, and docs/reference/http.md.
//
// Source: the OpenAPI Specification 3.1.0.
#include <algorithm>
#include <array>

#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/serve/routes.h"

namespace agentd::serve {
namespace {

// An answer that is an error: when a route can give it, and what it means.
struct Refusal {
  enum class When : std::uint8_t { kAlways, kToken, kBody, kChange } when;
  unsigned status;
  std::string_view codes, about;
};
constexpr std::array<Refusal, 16> kRefusals{{
    {Refusal::When::kAlways, 400, "bad_request", "The request is malformed, or a parameter or the body is wrong."},
    {Refusal::When::kToken, 401, "unauthorized", "The token is missing or not valid."},
    {Refusal::When::kAlways, 403, "forbidden",
     "The token's scope does not allow it; or the request comes from a web page or another user."},
    {Refusal::When::kToken, 404, "not_found", "There is no such route, or what it names does not exist."},
    {Refusal::When::kToken, 405, "method_not_allowed", "The route has other methods: the field `Allow` lists them."},
    {Refusal::When::kChange, 409, "conflict, blocked, repeated, stopped, cancelled",
     "Its state does not allow it now, a hook does not, or another change came first."},
    {Refusal::When::kBody, 413, "body_too_large", "The body is too large."},
    {Refusal::When::kBody, 415, "unsupported_media_type, unsupported_coding",
     "The body is not `application/json`, or what the route takes."},
    {Refusal::When::kAlways, 421, "misdirected", "The field `Host` does not name this machine and port."},
    {Refusal::When::kToken, 429, "too_many_requests, limit",
     "Too many wrong tokens: try again after `Retry-After` seconds; or a budget is used up."},
    {Refusal::When::kAlways, 431, "head_too_large", "The head of the request has too many bytes or fields."},
    {Refusal::When::kAlways, 500, "internal, store", "The daemon failed; its log has the reason."},
    {Refusal::When::kToken, 501, "unsupported", "The plugin that offers the service does not do this."},
    {Refusal::When::kToken, 502, "provider", "The provider of the model has failed."},
    {Refusal::When::kToken, 503, "busy, unavailable",
     "Too much work is waiting, another process works there, or the daemon ends: try again after `Retry-After` "
     "seconds."},
    {Refusal::When::kAlways, 505, "version_not_supported", "The request is not HTTP/1.1."},
}};

bool can_give(const Route& route, const Refusal& refusal) {
  switch (refusal.when) {
    case Refusal::When::kAlways:
      return true;
    case Refusal::When::kToken:
      return route.scope != Scope::kNone && refusal.status != 405;
    case Refusal::When::kBody:
      return !route.body.empty() || !route.takes.empty();
    case Refusal::When::kChange:
      return route.method != "GET";
  }
  return false;
}

// The names of a path's template in their order.
std::vector<std::string_view> names_of(std::string_view path) {
  std::vector<std::string_view> out;
  for (std::size_t open = path.find('{'); open != std::string_view::npos; open = path.find('{', open + 1))
    out.push_back(path.substr(open + 1, path.find('}', open) - open - 1));
  return out;
}

// "a, b" as "`a`, `b`".
std::string in_code(std::string_view names) {
  std::string out = "`";
  for (const char c : names) out += c == ',' ? std::string("`,") : c == ' ' ? std::string(" `") : std::string(1, c);
  return out + "`";
}

std::string response_name(unsigned status) { return "error_" + std::to_string(status); }

// ---- the OpenAPI document

void write_schema(JsonWriter& json, std::string_view type, std::string_view about = {}) {
  json.begin_object().optional("description", about);
  if (type.ends_with("[]")) {
    json.member("type", "array").key("items");
    write_schema(json, type.substr(0, type.size() - 2));
  } else if (type.find('|') != std::string_view::npos) {
    json.member("type", "string").key("enum").begin_array();
    for (std::size_t at = 0; at <= type.size();) {
      const std::size_t end = std::min(type.find('|', at), type.size());
      json.string(type.substr(at, end - at));
      at = end + 1;
    }
    json.end_array();
  } else if (type != "any") {
    json.member("type", type);
  }
  json.end_object();
}

void write_parameter(JsonWriter& json, std::string_view in, const RouteParameter& parameter) {
  json.begin_object().member("name", parameter.name).member("in", in).member("required", parameter.required);
  json.optional("description", parameter.about).key("schema");
  write_schema(json, parameter.type);
  json.end_object();
}

void write_body(JsonWriter& json, const Route& route) {
  if (!route.takes.empty()) {
    json.key("requestBody").begin_object().member("required", true).key("content").begin_object();
    json.key(route.takes).raw(R"({"schema":{"type":"string"}})").end_object().end_object();
    return;
  }
  const auto is_required = [](const RouteParameter& each) { return each.required; };
  const bool any = std::any_of(route.body.begin(), route.body.end(), is_required);
  json.key("requestBody").begin_object().member("required", any).key("content").begin_object();
  json.key("application/json").begin_object().key("schema").begin_object().member("type", "object");
  json.key("properties").begin_object();
  for (const RouteParameter& each : route.body) {
    json.key(each.name);
    write_schema(json, each.type, each.about);
  }
  json.end_object();
  if (any) {
    json.key("required").begin_array();
    for (const RouteParameter& each : route.body)
      if (each.required) json.string(each.name);
    json.end_array();
  }
  json.end_object().end_object().end_object().end_object();
}

void write_success(JsonWriter& json, const Route& route) {
  json.key(std::to_string(route.success)).begin_object();
  json.member("description", route.answers.empty() ? std::string_view("Done.") : route.answers);
  json.key("content").begin_object().key(route.streams ? std::string_view("text/event-stream") : route.media);
  const bool is_object = !route.streams && route.media == "application/json";
  json.begin_object().key("schema").begin_object().member("type", is_object ? "object" : "string").end_object();
  json.end_object().end_object().end_object();
}

void write_operation(JsonWriter& json, const Route& route) {
  json.key(ascii_lower(route.method)).begin_object();
  json.member("operationId", route.name).member("summary", route.summary);
  json.member("x-agentd-scope", name_of(route.scope));
  if (route.scope == Scope::kNone) json.key("security").begin_array().end_array();
  const auto names = names_of(route.path);
  if (!names.empty() || !route.query.empty()) {
    json.key("parameters").begin_array();
    for (const std::string_view name : names) write_parameter(json, "path", {name, "string", true, {}});
    for (const RouteParameter& each : route.query) write_parameter(json, "query", each);
    json.end_array();
  }
  if (!route.body.empty() || !route.takes.empty()) write_body(json, route);
  json.key("responses").begin_object();
  write_success(json, route);
  for (const Refusal& each : kRefusals)
    if (can_give(route, each))
      json.key(std::to_string(each.status))
          .begin_object()
          .member("$ref", "#/components/responses/" + response_name(each.status))
          .end_object();
  json.end_object().end_object();
}

void write_components(JsonWriter& json) {
  json.key("components").begin_object();
  json.key("securitySchemes").begin_object().key("token").begin_object();
  json.member("type", "http").member("scheme", "bearer");
  json.member("description", "The token in serve.token of agentd's home, or one of 'agentd auth token add'.");
  json.end_object().end_object();
  json.key("schemas").begin_object().key("Error").raw(
      R"({"type":"object","required":["error"],"properties":{"error":{"type":"object","required":["code","message"],)"
      R"("properties":{"code":{"type":"string"},"message":{"type":"string"}}}}})");
  json.end_object().key("responses").begin_object();
  for (const Refusal& each : kRefusals) {
    json.key(response_name(each.status)).begin_object().member("description", each.about);
    json.key("content").raw(R"({"application/json":{"schema":{"$ref":"#/components/schemas/Error"}}})").end_object();
  }
  json.end_object().end_object();
}

// ---- docs/reference/http.md

constexpr std::string_view kIntroduction = R"(# HTTP

This page is generated from the daemon's table of routes (`core/serve/route_table.cc`); a test keeps them equal.
`GET /openapi.json` has the same as an OpenAPI 3.1 document.

`agentd serve` answers HTTP/1.1 on loopback addresses and on a unix socket. There is no TLS: put a proxy or SSH in front
to use it from another machine.

## Requests

Every route but `/healthz` needs a token: `Authorization: Bearer TOKEN`. The daemon's own token is in `serve.token` of
agentd's home (`~/.agent`) and may do everything. `agentd auth token add NAME --scope SCOPE` makes further ones. A token
in a URL or a cookie is ignored. With curl, keep the token out of the arguments, which every user of the machine can
read:

```
sed 's/^/Authorization: Bearer /' ~/.agent/serve.token | curl -H @- http://127.0.0.1:PORT/readyz
```

| scope | allows |
|---|---|
| none | the routes that need no token |
| read | to look |
| run | to look, and to let models and tools work |
| approve | to look, and to answer questions |
| admin | everything |

- `Host` must be `127.0.0.1:PORT`, `localhost:PORT` or `[::1]:PORT` with the port of the connection, exactly as written
  here; on the unix socket it must be `localhost`. The socket accepts processes of the daemon's user only.
- A request with `Origin`, or with another `Sec-Fetch-Site` than `none`, comes from a web page and is refused. No answer
  has an `Access-Control` field.
- A body is a JSON object with `Content-Type: application/json`, of at most 8 MiB unless the route says otherwise.
- A path must be in its shortest form: without empty segments, dot segments and needless escapes. A name in a query must
  not be repeated.

## Errors

An error has the body `{"error":{"code":"...","message":"..."}}`. The message is one sentence for people.

| status | code | meaning |
|---|---|---|
)";

// The area of a route: "conversations" of "/api/v1/conversations/{id}"; empty for those of the daemon itself.
std::string_view area_of(const Route& route) {
  constexpr std::string_view kApi = "/api/v1/";
  if (!route.path.starts_with(kApi)) return {};
  const std::string_view rest = route.path.substr(kApi.size());
  return rest.substr(0, rest.find('/'));
}

std::string title_of(std::string_view area) {
  if (area.empty()) return "The daemon";
  std::string out(area);
  std::replace(out.begin(), out.end(), '-', ' ');
  if (out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

// In a cell of a table a bar begins the next one.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string parameter_table(std::string_view title, std::span<const RouteParameter> parameters) {
  if (parameters.empty()) return {};
  std::string out = "\n| " + std::string(title) + " | type | meaning |\n|---|---|---|\n";
  for (const RouteParameter& each : parameters)
    out += "| `" + std::string(each.name) + "` | " + cell(each.type) + (each.required ? ", required" : "") + " | " +
           cell(each.about) + " |\n";
  return out;
}

std::string route_section(const Route& route) {
  std::string out = "\n### " + std::string(route.method) + " " + std::string(route.path) + "\n\n";
  out += std::string(route.summary) + " Scope: " + std::string(name_of(route.scope)) + ". Operation: `" +
         std::string(route.name) + "`.\n";
  out += parameter_table("query", route.query) + parameter_table("body", route.body);
  if (!route.takes.empty()) out += "\nThe body is `" + std::string(route.takes) + "`.\n";
  out += "\nAnswer (" + std::to_string(route.success) + (route.streams ? ", server-sent events" : "") + ")";
  return out + (route.answers.empty() ? std::string(".\n") : ": " + std::string(route.answers) + ".\n");
}

}  // namespace

std::string openapi_document(std::span<const Route> routes, std::string_view version) {
  JsonWriter json(JsonWriter::Layout::kPretty);
  json.begin_object().member("openapi", "3.1.0");
  json.key("info").begin_object().member("title", "agentd").member("version", version);
  json.member("summary", "The HTTP interface of the daemon 'agentd serve'.");
  json.key("license").raw(R"({"name":"Apache-2.0","identifier":"Apache-2.0"})").end_object();
  json.key("servers").raw(R"([{"url":"/","description":"the daemon that this document comes from"}])");
  json.key("security").raw(R"([{"token":[]}])");
  json.key("paths").begin_object();
  for (const Route& first : routes) {
    const auto same_path = [&](const Route& each) { return each.path == first.path; };
    if (&*std::find_if(routes.begin(), routes.end(), same_path) != &first) continue;
    json.key(first.path).begin_object();
    for (const Route& route : routes)
      if (same_path(route)) write_operation(json, route);
    json.end_object();
  }
  json.end_object();
  write_components(json);
  json.end_object();
  return std::string(json.text());
}

std::string openapi_document(std::string_view version) { return openapi_document(all_routes(), version); }

std::string http_reference(std::span<const Route> routes) {
  std::string out(kIntroduction);
  for (const Refusal& each : kRefusals)
    out += "| " + std::to_string(each.status) + " | " + in_code(each.codes) + " | " + std::string(each.about) + " |\n";
  std::vector<std::string_view> areas;
  for (const Route& route : routes)
    if (std::find(areas.begin(), areas.end(), area_of(route)) == areas.end()) areas.push_back(area_of(route));
  for (const std::string_view area : areas) {
    out += "\n## " + title_of(area) + "\n\n| route | scope | purpose |\n|---|---|---|\n";
    for (const Route& route : routes)
      if (area_of(route) == area)
        out += "| `" + std::string(route.method) + " " + std::string(route.path) + "` | " +
               std::string(name_of(route.scope)) + " | " + cell(route.summary) + " |\n";
    for (const Route& route : routes)
      if (area_of(route) == area) out += route_section(route);
  }
  return out;
}

std::string http_reference() { return http_reference(all_routes()); }

}  // namespace agentd::serve
