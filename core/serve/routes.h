// SPDX-License-Identifier: Apache-2.0
#pragma once
// routes.h - every route of the daemon: one table for the router, the scopes, the OpenAPI document, the reference page
// and the tests.
//
// Threading: immutable data.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/codec/json.h"
#include "core/serve/http_exchange.h"
#include "core/serve/tokens.h"

namespace agentd::serve {

class Daemon;

// A request that was matched and let in, whose query and body have what the route's parameters say.
struct RouteCall {
  std::shared_ptr<HttpExchange> exchange;                      // shared with whoever answers later
  std::vector<std::pair<std::string_view, std::string>> path;  // {name}s of the template, decoded
  std::vector<std::pair<std::string, std::string>> query;      // decoded; in their order
  std::shared_ptr<const JsonDocument> body;                    // null: the route takes none
  Tokens::Found who;

  std::string_view at(std::string_view name) const;                    // of the path; REQUIRES: the template has it
  std::optional<std::string_view> asked(std::string_view name) const;  // of the query
  std::uint64_t asked_number(std::string_view name, std::uint64_t otherwise) const;
  JsonView json(std::string_view member) const { return body ? body->root()[member] : JsonView(); }
};

struct RouteParameter {
  // type: "string", "integer", "number", "boolean", "object"; "string[]" and "object[]" are arrays of them, "any"
  // anything, and "full|tail" a string that is one of these.
  std::string_view name, type;
  bool required = false;
  std::string_view about;  // Markdown, a sentence
};

struct Route {
  std::string_view method, path;  // "GET", "/api/v1/conversations/{id}"
  Scope scope = Scope::kAdmin;
  std::string_view name;                            // operationId: "show_conversation"
  std::string_view summary;                         // a sentence
  std::span<const RouteParameter> query{}, body{};  // body: members of a JSON object
  std::string_view answers{};                       // Markdown: the answer's members
  bool streams = false;                             // server-sent events
  void (*handle)(Daemon& daemon, RouteCall call) = nullptr;
  unsigned success = 200;                       // 202: accepted, and the work goes on
  std::string_view media = "application/json";  // of the answer, where it does not stream
  std::string_view takes{};    // the media type of a body that is no JSON object: it is passed as it is
  std::size_t body_bytes = 0;  // the most of a body; 0: as HttpLimits::body_bytes, or of a setting
  bool takes_long = false;     // it is done behind others of its kind, and holds up no other route
};

std::span<const Route> all_routes();

// Why the query or the body is none of that route; a 400. Unknown names are wrong, too.
std::optional<HttpReply> check_call(const Route& route, const RouteCall& call);

struct Matched {
  const Route* route = nullptr;  // null: no route
  bool other_method = false;     // the path exists with another method
  std::string allow;             // then: the methods that it has, for the field Allow: "GET, POST"
  std::vector<std::pair<std::string_view, std::string>> path;
};
// `path`: as it was sent, without the query. A path that is not in its shortest form matches nothing: with an empty
// segment or one of dots, an escape of a character that needs none (RFC 3986, 2.3), or a character that needs one. A
// part for {name} is one segment, decoded: valid UTF-8 without control characters and without a slash. A fixed segment
// goes before a {name}, whatever the method.
Matched match(std::string_view method, std::string_view path);
// For Access.
std::optional<Scope> scope_needed(std::string_view method, std::string_view path);
// The media type of a body of that route, "application/json" unless it takes another one.
std::string_view media_taken(std::string_view method, std::string_view path);
// The pairs of a query, decoded, where a plus is a space. kInvalid: a bad escape, not UTF-8, a NUL, a name that is
// empty or there twice, or more than 64 pairs.
Result<std::vector<std::pair<std::string, std::string>>> read_query(std::string_view text);

// The OpenAPI 3.1 document, JSON.
std::string openapi_document(std::string_view version);
// docs/reference/http.md.
std::string http_reference();

// ---- the same of any table
Matched match(std::span<const Route> routes, std::string_view method, std::string_view path);
std::string openapi_document(std::span<const Route> routes, std::string_view version);
std::string http_reference(std::span<const Route> routes);

}  // namespace agentd::serve
