// SPDX-License-Identifier: Apache-2.0
#include "core/serve/routes.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "core/codec/json.h"

namespace agentd::serve {
namespace {

constexpr RouteParameter kQuery[] = {{"limit", "integer", false, "At most so many."},
                                     {"form", "full|tail", true, "The form: one | two."}};
constexpr RouteParameter kBody[] = {{"text", "string", true, "The message."},
                                    {"images", "string[]", false, "Pictures."},
                                    {"more", "any", false, "Anything."}};

constexpr Route kTable[] = {
    {.method = "GET", .path = "/healthz", .scope = Scope::kNone, .name = "health", .summary = "Tells."},
    {.method = "GET",
     .path = "/api/v1/things",
     .scope = Scope::kRead,
     .name = "list",
     .summary = "Lists.",
     .query = kQuery},
    {.method = "GET", .path = "/api/v1/things/{id}", .scope = Scope::kRead, .name = "show", .summary = "Shows."},
    {.method = "DELETE",
     .path = "/api/v1/things/{id}",
     .scope = Scope::kAdmin,
     .name = "delete",
     .summary = "Deletes."},
    {.method = "GET", .path = "/api/v1/things/search", .scope = Scope::kRead, .name = "search", .summary = "Finds."},
    {.method = "GET", .path = "/api/v1/things/{id}/{part}", .scope = Scope::kRead, .name = "part", .summary = "Parts."},
    {.method = "POST",
     .path = "/api/v1/things/{id}/messages",
     .scope = Scope::kRun,
     .name = "post",
     .summary = "Posts | sends.",
     .body = kBody,
     .answers = "`sequence`",
     .success = 202},
    {.method = "GET",
     .path = "/api/v1/things/{id}/events",
     .scope = Scope::kRead,
     .name = "events",
     .summary = "Follows.",
     .streams = true},
    {.method = "GET",
     .path = "/metrics",
     .scope = Scope::kRead,
     .name = "metrics",
     .summary = "Counts.",
     .media = "text/plain"},
};

std::string matched(std::string_view method, std::string_view path) {
  const Matched found = match(kTable, method, path);
  if (found.route == nullptr) return found.other_method ? "405 " + found.allow : "404";
  std::string out(found.route->name);
  for (const auto& [name, value] : found.path) out += " " + std::string(name) + "=" + value;
  return out;
}

TEST(Routes, AreFoundByMethodAndPath) {
  EXPECT_EQ(matched("GET", "/healthz"), "health");
  EXPECT_EQ(matched("GET", "/api/v1/things"), "list");
  EXPECT_EQ(matched("GET", "/api/v1/things/7"), "show id=7");
  EXPECT_EQ(matched("DELETE", "/api/v1/things/7"), "delete id=7");
  EXPECT_EQ(matched("GET", "/api/v1/things/7/head"), "part id=7 part=head");
  EXPECT_EQ(matched("POST", "/api/v1/things/7/messages"), "post id=7");
  EXPECT_EQ(matched("GET", "/api/v1/things/7/events"), "events id=7");
  EXPECT_EQ(matched("PUT", "/api/v1/things/7"), "405 GET, DELETE");
  EXPECT_EQ(matched("POST", "/healthz"), "405 GET");
  EXPECT_EQ(matched("HEAD", "/healthz"), "405 GET");
  EXPECT_EQ(matched("get", "/healthz"), "405 GET");
  EXPECT_EQ(matched("", "/healthz"), "405 GET");
  // What is fixed goes before a name, wherever it is in the table and whatever the method.
  EXPECT_EQ(matched("GET", "/api/v1/things/search"), "search");
  EXPECT_EQ(matched("DELETE", "/api/v1/things/search"), "405 GET");
  EXPECT_EQ(matched("GET", "/api/v1/things/7/messages"), "405 POST");
}

TEST(Routes, AreNotFoundByAnotherSpelling) {
  for (const char* path : {"",
                           "/",
                           "healthz",
                           "/Healthz",
                           "/HEALTHZ",
                           "/healthz/",
                           "//healthz",
                           "/healthz//",
                           "/./healthz",
                           "/healthz/.",
                           "/x/../healthz",
                           "/healthz/..",
                           "/%68ealthz",
                           "/healthz%00",
                           "/healthz%20",
                           "/healthz%2F",
                           "/healthz;x",
                           "/healthz?",
                           "/healthz#",
                           "/api/v1/things/",
                           "/api//v1/things",
                           "/api/v1//things",
                           "/api/v1/things//",
                           "/api/v1%2Fthings",
                           "/api%2fv1/things/7",
                           "/api/v1/things/7/",
                           "/api/v1/things/7/a/b",
                           "/api/v1/thing",
                           "/api/v1/thingsx",
                           "/api/v2/things",
                           "/api/v1/../v1/things",
                           "/api/v1/things/../things",
                           "/api/v1/%74hings",
                           "api/v1/things",
                           "http://127.0.0.1/api/v1/things",
                           "/{id}",
                           "/api/v1/{id}",
                           "*"})
    EXPECT_EQ(matched("GET", path), "404") << path;
  EXPECT_EQ(matched("GET", std::string_view("/healthz\0", 9)), "404");
}

TEST(Routes, PartsOfAPathAreDecoded) {
  const std::vector<std::pair<std::string, std::string>> good{{"7", "7"},
                                                              {"a-b_c.d~e", "a-b_c.d~e"},
                                                              {"a%20b", "a b"},
                                                              {"a+b", "a+b"},
                                                              {"%C3%A4", "\xc3\xa4"},
                                                              {"%c3%a4x", "\xc3\xa4x"},
                                                              {"%E2%82%AC", "\xe2\x82\xac"},
                                                              {"%F0%9F%98%80", "\xf0\x9f\x98\x80"},
                                                              {"100%25", "100%"},
                                                              {"%252F", "%2F"},
                                                              {"%3F", "?"},
                                                              {"%23", "#"},
                                                              {"a:b@c", "a:b@c"},
                                                              {"!$&'()*+,;=", "!$&'()*+,;="},
                                                              {"%21%2A", "!*"},
                                                              {"...", "..."},
                                                              {".a", ".a"},
                                                              {"a..b", "a..b"},
                                                              {"%5C", "\\"},
                                                              {"{id}", ""},
                                                              {"%7Bid%7D", "{id}"}};
  for (const auto& [sent, decoded] : good)
    EXPECT_EQ(matched("GET", "/api/v1/things/" + sent), decoded.empty() ? "404" : "show id=" + decoded) << sent;
  for (const std::string& sent :
       {std::string("%2F"),      std::string("a%2Fb"),     std::string("a%2fb"),        std::string("%00"),
        std::string("a%00"),     std::string("%"),         std::string("%2"),           std::string("a%"),
        std::string("%zz"),      std::string("%2g"),       std::string("%-1"),          std::string("% 2"),
        std::string("%%20"),     std::string("."),         std::string(".."),           std::string("%2E"),
        std::string("%2e%2e"),   std::string(".%2e"),      std::string("%41"),          std::string("%7E"),
        std::string("%2D"),      std::string("%30"),       std::string("%C3"),          std::string("%A4"),
        std::string("%C0%AF"),   std::string("%ED%A0%80"), std::string("%F5%80%80%80"), std::string("%FF"),
        std::string("%0A"),      std::string("%0d%0a"),    std::string("%1B"),          std::string("%7F"),
        std::string("a b"),      std::string("a\tb"),      std::string("a\"b"),         std::string("<a>"),
        std::string("a\\b"),     std::string("a|b"),       std::string("a^b"),          std::string("a`b"),
        std::string("\xc3\xa4"), std::string("\xff"),      std::string("a\0b", 3),      std::string("")})
    EXPECT_EQ(matched("GET", "/api/v1/things/" + sent), "404") << sent;
}

std::string pairs(std::string_view text) {
  const auto read = read_query(text);
  if (!read) return read.error().code == Code::kInvalid ? "invalid" : "another error";
  std::string out;
  for (const auto& [name, value] : *read) out += "[" + name + "=" + value + "]";
  return out;
}

TEST(Queries, AreDecodedOrRefused) {
  const std::vector<std::pair<std::string, std::string>> table{{"", ""},
                                                               {"a=b", "[a=b]"},
                                                               {"a", "[a=]"},
                                                               {"a=", "[a=]"},
                                                               {"a=b&c=d", "[a=b][c=d]"},
                                                               {"b=1&a=2", "[b=1][a=2]"},
                                                               {"a=b=c", "[a=b=c]"},
                                                               {"a=x+y%2Bz", "[a=x y+z]"},
                                                               {"a%20b=%C3%A4", "[a b=\xc3\xa4]"},
                                                               {"a=%26&b=%3D", "[a=&][b==]"},
                                                               {"a=%41", "[a=A]"},
                                                               {"a=/x?y:@", "[a=/x?y:@]"},
                                                               {"a=%0A", "[a=\n]"},
                                                               {"A=1&a=2", "[A=1][a=2]"},
                                                               {"a=%2525", "[a=%25]"},
                                                               {"=", "invalid"},
                                                               {"=b", "invalid"},
                                                               {"&", "invalid"},
                                                               {"a=b&", "invalid"},
                                                               {"&a=b", "invalid"},
                                                               {"a=b&&c=d", "invalid"},
                                                               {"a=%", "invalid"},
                                                               {"a=%2", "invalid"},
                                                               {"a=%zz", "invalid"},
                                                               {"%=a", "invalid"},
                                                               {"a=%00", "invalid"},
                                                               {"%00=a", "invalid"},
                                                               {"a=%FF", "invalid"},
                                                               {"a=%C3", "invalid"},
                                                               {"a=%ED%A0%80", "invalid"},
                                                               {"a=1&a=1", "invalid"},
                                                               {"a=1&b=2&a=3", "invalid"},
                                                               {"a=1&%61=2", "invalid"},
                                                               {"a&a=", "invalid"}};
  for (const auto& [text, expected] : table) EXPECT_EQ(pairs(text), expected) << text;
  std::string many = "n0";
  for (int i = 1; i < 64; ++i) many += "&n" + std::to_string(i);
  EXPECT_EQ(read_query(many)->size(), 64u);
  EXPECT_EQ(pairs(many + "&n64"), "invalid");
  EXPECT_NE(read_query("a=1&a=2").error().message.find("'a' is repeated"), std::string::npos);
}

TEST(ACall, HasItsParts) {
  const RouteCall call{nullptr, {{"id", "7"}, {"part", "x"}}, {{"limit", "5"}, {"empty", ""}}, nullptr, {}};
  EXPECT_EQ(call.at("part"), "x");
  EXPECT_EQ(call.at("id"), "7");
  EXPECT_EQ(call.asked("limit"), "5");
  EXPECT_EQ(call.asked("empty"), "");
  EXPECT_EQ(call.asked("other"), std::nullopt);
  EXPECT_DEATH(call.at("other"), "");
}

// What every table must have, so that its pages and its router agree.
void check_table(std::span<const Route> routes) {
  std::set<std::string_view> names;
  std::set<std::pair<std::string_view, std::string_view>> places;
  for (const Route& route : routes) {
    EXPECT_TRUE(names.insert(route.name).second) << route.name;
    EXPECT_TRUE(places.emplace(route.method, route.path).second) << route.path;
    EXPECT_EQ(route.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos) << route.name;
    EXPECT_TRUE(route.path.starts_with('/')) << route.path;
    EXPECT_TRUE(route.summary.ends_with('.')) << route.summary;
    // A page of a browser can send a GET: it looks, and has no body.
    EXPECT_TRUE(route.method != "GET" || (route.scope <= Scope::kRead && route.body.empty())) << route.path;
    // No token is needed for one route alone.
    EXPECT_EQ(route.scope == Scope::kNone, route.path == "/healthz") << route.path;
    std::string path(route.path);
    for (std::size_t at = path.find('{'); at != std::string::npos; at = path.find('{'))
      path.replace(at, path.find('}') - at + 1, "7");
    EXPECT_EQ(match(routes, route.method, path).route, &route) << path;
    std::set<std::string_view> parameters;
    for (const auto& all : {route.query, route.body})
      for (const RouteParameter& each : all) EXPECT_TRUE(parameters.insert(each.name).second) << each.name;
  }
}

void check_document(std::span<const Route> routes) {
  const auto parsed = JsonDocument::parse(openapi_document(routes, "1.2.3"));
  ASSERT_TRUE(parsed) << parsed.error().message;
  const JsonView root = parsed->root();
  EXPECT_EQ(root["openapi"].string_or(""), "3.1.0");
  EXPECT_EQ(root["info"]["version"].string_or(""), "1.2.3");
  EXPECT_EQ(root["components"]["securitySchemes"]["token"]["scheme"].string_or(""), "bearer");
  EXPECT_EQ(root["security"].at(0)["token"].size(), 0u);
  EXPECT_TRUE(root["security"].at(0)["token"].is_array());
  std::set<std::string> ids;
  std::size_t operations = 0;
  for (std::size_t i = 0; i < root["paths"].size(); ++i) {
    const std::string_view path = root["paths"].key_at(i);
    const JsonView methods = root["paths"].at(i);
    for (std::size_t k = 0; k < methods.size(); ++k, ++operations) {
      const JsonView operation = methods.at(k);
      const std::string id(operation["operationId"].string_or(""));
      EXPECT_TRUE(ids.insert(id).second) << id;
      EXPECT_FALSE(operation["summary"].string_or("").empty()) << id;
      EXPECT_TRUE(scope_of(operation["x-agentd-scope"].string_or(""))) << id;
      // Every {name} is a parameter, and every reference leads somewhere.
      std::size_t in_path = 0;
      for (std::size_t p = 0; p < operation["parameters"].size(); ++p) {
        const JsonView parameter = operation["parameters"].at(p);
        if (parameter["in"].string_or("") != "path") continue;
        ++in_path;
        EXPECT_TRUE(parameter["required"].bool_or(false));
        EXPECT_NE(path.find("{" + std::string(parameter["name"].string_or("")) + "}"), std::string_view::npos);
      }
      EXPECT_EQ(in_path, static_cast<std::size_t>(std::count(path.begin(), path.end(), '{'))) << path;
      std::size_t good = 0;
      for (std::size_t r = 0; r < operation["responses"].size(); ++r) {
        const std::string status(operation["responses"].key_at(r));
        const JsonView response = operation["responses"].at(r);
        if (status[0] == '2') {
          ++good;
          EXPECT_TRUE(response["content"].is_object());
          continue;
        }
        EXPECT_EQ(response["$ref"].string_or(""), "#/components/responses/error_" + status);
        EXPECT_TRUE(root["components"]["responses"]["error_" + status].is_object()) << status;
      }
      EXPECT_EQ(good, 1u) << id;
      const bool open = operation["x-agentd-scope"].string_or("") == "none";
      EXPECT_EQ(operation["security"].exists() && operation["security"].size() == 0, open) << id;
      for (const char* status : {"401", "404", "429", "503"})
        EXPECT_EQ(operation["responses"][status].exists(), !open) << id << status;
      for (const char* status : {"400", "403", "421"}) EXPECT_TRUE(operation["responses"][status].exists()) << id;
    }
  }
  EXPECT_EQ(operations, routes.size());
  for (const Route& route : routes) EXPECT_TRUE(ids.contains(std::string(route.name))) << route.name;
}

TEST(TheOpenApiDocument, HasEveryRouteOnce) {
  check_document(kTable);
  check_document(all_routes());
}

TEST(TheOpenApiDocument, HasParametersBodiesAndAnswers) {
  const auto parsed = JsonDocument::parse(openapi_document(kTable, "1"));
  ASSERT_TRUE(parsed);
  const JsonView paths = parsed->root()["paths"];
  EXPECT_EQ(paths["/api/v1/things/{id}"].size(), 2u);
  const JsonView list = paths["/api/v1/things"]["get"];
  EXPECT_EQ(list["parameters"].text(),
            R"([{"name":"limit","in":"query","required":false,"description":"At most so many.",)"
            R"("schema":{"type":"integer"}},{"name":"form","in":"query","required":true,)"
            R"("description":"The form: one | two.","schema":{"type":"string","enum":["full","tail"]}}])");
  EXPECT_FALSE(list["requestBody"].exists());
  EXPECT_FALSE(list["responses"]["413"].exists());
  EXPECT_FALSE(list["responses"]["409"].exists());
  const JsonView post = paths["/api/v1/things/{id}/messages"]["post"];
  EXPECT_EQ(post["requestBody"].text(),
            R"({"required":true,"content":{"application/json":{"schema":{"type":"object","properties":{)"
            R"("text":{"description":"The message.","type":"string"},)"
            R"("images":{"description":"Pictures.","type":"array","items":{"type":"string"}},)"
            R"("more":{"description":"Anything."}},"required":["text"]}}}})");
  EXPECT_EQ(post["x-agentd-scope"].string_or(""), "run");
  EXPECT_FALSE(post["responses"]["200"].exists());
  EXPECT_EQ(post["responses"]["202"]["description"].string_or(""), "`sequence`");
  for (const char* status : {"409", "413", "415"}) EXPECT_TRUE(post["responses"][status].exists()) << status;
  EXPECT_EQ(paths["/api/v1/things/{id}/events"]["get"]["responses"]["200"]["content"].text(),
            R"({"text/event-stream":{"schema":{"type":"string"}}})");
  EXPECT_EQ(paths["/metrics"]["get"]["responses"]["200"]["content"].text(),
            R"({"text/plain":{"schema":{"type":"string"}}})");
}

TEST(TheReference, HasEveryRouteInItsArea) {
  const std::string page = http_reference(kTable);
  for (const Route& route : kTable)
    EXPECT_NE(page.find("\n### " + std::string(route.method) + " " + std::string(route.path) + "\n"), std::string::npos)
        << route.path;
  const std::size_t daemon = page.find("\n## The daemon\n"), things = page.find("\n## Things\n");
  ASSERT_NE(daemon, std::string::npos);
  ASSERT_NE(things, std::string::npos);
  EXPECT_LT(page.find("### GET /metrics"), things);
  EXPECT_GT(page.find("### GET /api/v1/things\n"), things);
  EXPECT_NE(page.find("| `form` | full\\|tail, required | The form: one \\| two. |\n"), std::string::npos);
  EXPECT_NE(page.find("| `POST /api/v1/things/{id}/messages` | run | Posts \\| sends. |\n"), std::string::npos);
  EXPECT_NE(page.find("Answer (202): `sequence`.\n"), std::string::npos);
  EXPECT_NE(page.find("Answer (200, server-sent events).\n"), std::string::npos);
}

TEST(TheReference, IsThePage) {
  std::ifstream in(AGENTD_SOURCE_DIR "/docs/reference/http.md");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), http_reference())
      << "print it again: agentd_pages http > docs/reference/http.md";
}

TEST(TheTable, IsWhole) {
  ASSERT_FALSE(all_routes().empty());
  check_table(all_routes());
  for (const Route& route : all_routes()) EXPECT_NE(route.handle, nullptr) << route.path;
  EXPECT_EQ(scope_needed("GET", "/healthz"), Scope::kNone);
  EXPECT_EQ(scope_needed("GET", "/openapi.json"), Scope::kRead);
  EXPECT_EQ(scope_needed("POST", "/openapi.json"), std::nullopt);
  EXPECT_EQ(scope_needed("GET", "/"), std::nullopt);
}

}  // namespace
}  // namespace agentd::serve
