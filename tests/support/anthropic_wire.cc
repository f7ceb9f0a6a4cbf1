// SPDX-License-Identifier: Apache-2.0
#include "tests/support/anthropic_wire.h"

#include "core/codec/json.h"

namespace agentd::testing {
namespace {

constexpr const char* kStreaming = "docs.anthropic.com/en/docs/build-with-claude/streaming";
constexpr const char* kThinkingPage = "docs.anthropic.com/en/docs/build-with-claude/extended-thinking";
constexpr const char* kToolsPage = "docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use";
constexpr const char* kStopPage = "docs.anthropic.com/en/api/handling-stop-reasons";
constexpr const char* kCachePage = "docs.anthropic.com/en/docs/build-with-claude/prompt-caching";

std::string quoted(std::string_view text) {
  JsonWriter out;
  out.string(text);
  return std::string(out.text());
}

}  // namespace

AnthropicWire& AnthropicWire::event(std::string_view type, std::string_view data) {
  bytes_.append("event: ").append(type).append("\ndata: ").append(data).append("\n\n");
  return *this;
}

AnthropicWire& AnthropicWire::start(std::string_view usage_json) {
  return event("message_start",
               R"({"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant",)"
               R"("content":[],"model":"claude-test","stop_reason":null,"stop_sequence":null,"usage":)" +
                   std::string(usage_json) + "}}");
}

void AnthropicWire::begin_block(std::string_view content_block_json) {
  event("content_block_start", R"({"type":"content_block_start","index":)" + std::to_string(index_) +
                                   R"(,"content_block":)" + std::string(content_block_json) + "}");
}

void AnthropicWire::delta(std::string_view type, std::string_view key, std::string_view value) {
  event("content_block_delta", R"({"type":"content_block_delta","index":)" + std::to_string(index_) +
                                   R"(,"delta":{"type":)" + quoted(type) + "," + quoted(key) + ":" + quoted(value) +
                                   "}}");
}

void AnthropicWire::end_block() {
  event("content_block_stop", R"({"type":"content_block_stop","index":)" + std::to_string(index_++) + "}");
}

AnthropicWire& AnthropicWire::text(const std::vector<std::string>& pieces) {
  begin_block(R"({"type":"text","text":""})");
  for (const std::string& piece : pieces) delta("text_delta", "text", piece);
  end_block();
  return *this;
}

AnthropicWire& AnthropicWire::thinking(const std::vector<std::string>& pieces, std::string_view signature) {
  begin_block(R"({"type":"thinking","thinking":"","signature":""})");
  for (const std::string& piece : pieces) delta("thinking_delta", "thinking", piece);
  delta("signature_delta", "signature", signature);
  end_block();
  return *this;
}

AnthropicWire& AnthropicWire::redacted_thinking(std::string_view data) {
  begin_block(R"({"type":"redacted_thinking","data":)" + quoted(data) + "}");
  end_block();
  return *this;
}

AnthropicWire& AnthropicWire::tool_use(std::string_view id, std::string_view name,
                                       const std::vector<std::string>& input_pieces) {
  begin_block(R"({"type":"tool_use","id":)" + quoted(id) + R"(,"name":)" + quoted(name) + R"(,"input":{}})");
  for (const std::string& piece : input_pieces) delta("input_json_delta", "partial_json", piece);
  end_block();
  return *this;
}

AnthropicWire& AnthropicWire::ping() { return event("ping", R"({"type": "ping"})"); }

AnthropicWire& AnthropicWire::error(std::string_view type, std::string_view message) {
  return event("error", anthropic_error_body(type, message));
}

AnthropicWire& AnthropicWire::finish(std::string_view stop_reason, std::string_view usage_json) {
  event("message_delta", R"({"type":"message_delta","delta":{"stop_reason":)" + quoted(stop_reason) +
                             R"(,"stop_sequence":null},"usage":)" + std::string(usage_json) + "}");
  return event("message_stop", R"({"type":"message_stop"})");
}

std::string anthropic_error_body(std::string_view type, std::string_view message) {
  return R"({"type":"error","error":{"type":)" + quoted(type) + R"(,"message":)" + quoted(message) +
         R"(},"request_id":"req_test"})";
}

std::string with_line_end(std::string_view stream, std::string_view line_end) {
  std::string out;
  for (const char c : stream)
    if (c == '\n')
      out += line_end;
    else
      out += c;
  return out;
}

std::vector<AnthropicFixture> anthropic_fixtures() {
  using W = AnthropicWire;
  std::vector<AnthropicFixture> all;
  all.push_back({"basic",
                 kStreaming,
                 W().start().ping().text({"Hello", "!"}).finish("end_turn").bytes(),
                 "Hello!",
                 "",
                 {},
                 "end_turn"});
  all.push_back({"tool_use",
                 kStreaming,
                 W().start(R"({"input_tokens":472,"output_tokens":2})")
                     .text({"Okay", ", let's check the weather:"})
                     .tool_use("toolu_01", "get_weather",
                               {"", "{\"location\":", " \"San", " Francisc", "o,", " CA\"", ", ", "\"unit\": \"fah",
                                "renheit\"}"})
                     .finish("tool_use", R"({"output_tokens":89})")
                     .bytes(),
                 "Okay, let's check the weather:",
                 "",
                 {{"get_weather", R"({"location": "San Francisco, CA", "unit": "fahrenheit"})"}},
                 "tool_use"});
  all.push_back({"parallel_tools",
                 kToolsPage,
                 W().start()
                     .tool_use("toolu_a", "read_file", {R"({"path":"a)", R"(.txt"})"})
                     .tool_use("toolu_b", "read_file", {R"({"path":"b.txt"})"})
                     .tool_use("toolu_c", "list", {})
                     .finish("tool_use")
                     .bytes(),
                 "",
                 "",
                 {{"read_file", R"({"path":"a.txt"})"}, {"read_file", R"({"path":"b.txt"})"}, {"list", "{}"}},
                 "tool_use"});
  all.push_back({"thinking",
                 kThinkingPage,
                 W().start()
                     .thinking({"Let me solve this", " step by step."}, "EqQBCgIYAhIM1gbcDa9GJwZA2b3h")
                     .text({"27 * 453 = ", "12,231"})
                     .finish("end_turn")
                     .bytes(),
                 "27 * 453 = 12,231",
                 "Let me solve this step by step.",
                 {},
                 "end_turn"});
  all.push_back({"redacted_thinking",
                 kThinkingPage,
                 W().start().redacted_thinking("EmwKAhgBEgy3va3p").text({"Done."}).finish("end_turn").bytes(),
                 "Done.",
                 "",
                 {},
                 "end_turn"});
  all.push_back({"cached",
                 kCachePage,
                 W().start(R"({"input_tokens":21,"cache_creation_input_tokens":188,)"
                           R"("cache_read_input_tokens":1086,"output_tokens":1})")
                     .text({"From the cache."})
                     .finish("end_turn", R"({"output_tokens":393})")
                     .bytes(),
                 "From the cache.",
                 "",
                 {},
                 "end_turn"});
  all.push_back({"utf8",
                 kStreaming,
                 W().start().text({"Grüße, ", "世界 ", "😀"}).finish("end_turn").bytes(),
                 "Grüße, 世界 😀",
                 "",
                 {},
                 "end_turn"});
  all.push_back({"crlf",
                 kStreaming,
                 with_line_end(W().start().ping().text({"Line", " ends"}).finish("end_turn").bytes(), "\r\n"),
                 "Line ends",
                 "",
                 {},
                 "end_turn"});
  all.push_back({"unknown_events",
                 kStreaming,
                 W().start()
                     .event("new_event", R"({"type":"new_event","x":[1]})")
                     .text({"Still", " fine"})
                     .ping()
                     .finish("end_turn")
                     .bytes(),
                 "Still fine",
                 "",
                 {},
                 "end_turn"});
  for (const char* reason : {"max_tokens", "stop_sequence", "refusal", "pause_turn"})
    all.push_back({std::string("stop_") + reason,
                   kStopPage,
                   W().start().text({"Cut"}).finish(reason).bytes(),
                   "Cut",
                   "",
                   {},
                   reason});
  all.push_back({"error_event",
                 kStreaming,
                 W().start().text({"Hel"}).error("overloaded_error", "Overloaded").bytes(),
                 "Hel",
                 "",
                 {},
                 ""});
  return all;
}

}  // namespace agentd::testing
