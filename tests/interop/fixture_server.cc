// SPDX-License-Identifier: Apache-2.0
// fixture_server - shows another client what the tests play.
//
//   fixture_server serve      serves every fixture: POST /v1/messages, /v1/chat/completions,
//   /v1/responses and
//                             /v1beta/models/NAME:streamGenerateContent whose model is a fixture's
//                             name, and GET /fixtures, /vendors with what a client must read, GET
//                             /last with the last body; prints its URL, ends with stdin
//   fixture_server requests [chat|responses|generateContent]
//                             prints request bodies as the provider writes them, one JSON line each
#include <unistd.h>

#include <cstdio>
#include <string>

#include "core/codec/json.h"
#include "providers/anthropic/request.h"
#include "providers/google/request.h"
#include "providers/openai/chat_request.h"
#include "providers/openai/responses_request.h"
#include "tests/support/anthropic_wire.h"
#include "tests/support/loopback_server.h"
#include "tests/support/model_fakes.h"
#include "tests/support/vendor_fixtures.h"

namespace agentd::testing {
namespace {

std::string expectations() {
  JsonWriter out;
  out.begin_array();
  for (const AnthropicFixture& fixture : anthropic_fixtures()) {
    out.begin_object().member("name", fixture.name).member("page", fixture.page);
    out.member("text", fixture.text).member("thinking", fixture.thinking);
    out.member("stop_reason", fixture.stop_reason).key("calls").begin_array();
    for (const auto& [name, input] : fixture.calls)
      out.begin_object().member("name", name).key("input").raw(input).end_object();
    out.end_array().end_object();
  }
  out.end_array();
  return std::string(out.text());
}

std::string vendor_expectations() {
  JsonWriter out;
  out.begin_array();
  for (const VendorFixture& fixture : vendor_fixtures()) {
    out.begin_object().member("api", fixture.api).member("name", fixture.name);
    out.member("text", fixture.text).member("thinking", fixture.thinking);
    out.member("stop_reason", fixture.stop_reason).key("calls").begin_array();
    for (const auto& [name, input] : fixture.calls)
      out.begin_object().member("name", name).key("input").raw(input).end_object();
    out.end_array().end_object();
  }
  out.end_array();
  return std::string(out.text());
}

std::string api_of(const std::string& target) {
  if (target == "/v1/chat/completions") return "chat";
  if (target == "/v1/responses") return "responses";
  return target.starts_with("/v1beta/models/") ? "generateContent" : "";
}

Reply json(const std::string& body) { return Reply::http(200, {{"content-type", "application/json"}}, body); }

Reply answer(const RecordedRequest& request) {
  static std::string last;  // calls come one at a time
  if (request.target == "/fixtures") return json(expectations());
  if (request.target == "/vendors") return json(vendor_expectations());
  if (request.target == "/last") return json(last);
  last = request.body;
  if (const std::string api = api_of(request.target); !api.empty()) {
    const std::size_t name = request.target.rfind('/') + 1;
    const auto body = JsonDocument::parse(request.body);
    const std::string model = api == "generateContent" ? request.target.substr(name, request.target.find(':') - name)
                              : body                   ? std::string(body->root()["model"].string_or(""))
                                                       : "";
    for (const VendorFixture& fixture : vendor_fixtures())
      if (fixture.api == api && fixture.name == model) return Reply::chunked({fixture.bytes});
  }
  const auto body = JsonDocument::parse(request.body);
  const std::string_view wanted = body ? body->root()["model"].string_or("") : "";
  for (const AnthropicFixture& fixture : anthropic_fixtures())
    if (fixture.name == wanted) return Reply::chunked({fixture.bytes});
  return Reply::http(404, {{"content-type", "application/json"}},
                     anthropic_error_body("not_found_error", "no such fixture"));
}

int serve() {
  LoopbackServer server{LoopbackServer::Handler(answer)};
  std::printf("%s\n", server.url().c_str());
  std::fflush(stdout);
  char ignored[64];
  while (::read(STDIN_FILENO, ignored, sizeof ignored) > 0) {
  }
  return 0;
}

Message tool_turn() {
  Message message;
  message.role = Role::kAssistant;
  Block thinking;
  thinking.kind = BlockKind::kThinking;
  thinking.text = "I should look";
  thinking.opaque = "sig";
  Block redacted;
  redacted.kind = BlockKind::kThinking;
  redacted.name = "redacted";
  redacted.opaque = "enc";
  message.blocks = {thinking, redacted, Block::of_text("Looking."),
                    Block::tool_use("toolu_1", "bash", R"({"command":"ls"})"), Block::tool_use("toolu_2", "list", "")};
  return message;
}

Message tool_results() {
  Block image;
  image.kind = BlockKind::kImage;
  image.name = "image/png";
  image.opaque = "aGk=";
  Block with_image = Block::tool_result("toolu_1", "a picture", false);
  with_image.parts = {image};
  Message message;
  message.blocks = {with_image, Block::tool_result("toolu_2", "failed", true), image};
  return message;
}

Block document() {
  Block out;
  out.kind = BlockKind::kDocument;
  out.name = "application/pdf";
  out.opaque = "aGk=";
  out.text = "plan.pdf";
  return out;
}

Result<void> write(JsonWriter& out, const ModelRequest& request, const std::string& api) {
  if (api == "chat") return write_chat_request(out, request, openai_hosts().front().chat, "openai");
  if (api == "responses") return write_responses_request(out, request, "openai", {});
  if (api == "generateContent") return write_google_request(out, request, "google", {});
  return write_anthropic_request(out, request, AnthropicCache::kMinutes);
}

bool print(TestRequest& request, const std::string& api) {
  JsonWriter out;
  if (!write(out, request.value(), api)) return false;
  std::printf("%.*s\n", static_cast<int>(out.text().size()), out.text().data());
  return true;
}

int requests(const std::string& api) {
  TestRequest plain;
  plain.user("hello");
  TestRequest full;
  full.user("go").add(tool_turn()).add(tool_results()).user("and then?");
  full.tool("bash").tool("list", "");
  full.value().system = "Be brief.";
  const bool effort = api == "chat" || api == "responses";
  full.value().thinking.mode = effort ? Thinking::Mode::kAdaptive : Thinking::Mode::kBudget;
  full.value().thinking.effort = effort ? "high" : "";
  full.value().thinking.budget_tokens = 2000;
  full.value().closing_text = "Sum up.";
  TestRequest summary;
  summary.add(Message::of_text(Role::kSummary, "before")).add(Message::of_text(Role::kAssistant, "ok"));
  summary.value().closing_text = "Go on.";
  // An answer that is held to a schema, about a document.
  TestRequest held;
  Message question;
  question.blocks = {document(), Block::of_text("How many pages?")};
  held.add(question);
  held.value().output_schema =
      R"({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false})";
  return print(plain, api) && print(full, api) && print(summary, api) && print(held, api) ? 0 : 1;
}

}  // namespace
}  // namespace agentd::testing

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "serve") return agentd::testing::serve();
  if (command == "requests") return agentd::testing::requests(argc > 2 ? argv[2] : "");
  std::fprintf(stderr, "usage: fixture_server serve|requests [chat|responses|generateContent]\n");
  return 2;
}
