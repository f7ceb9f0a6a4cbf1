// SPDX-License-Identifier: Apache-2.0
#pragma once
// anthropic_wire.h - event streams of Anthropic's Messages API, built event by event, and a set of
// complete ones with what a client must read from them.
//
// Threading: values.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentd::testing {

// Each function appends one documented event or block; the index of blocks counts by itself.
// Format: docs.anthropic.com/en/docs/build-with-claude/streaming.
class AnthropicWire {
 public:
  AnthropicWire& start(std::string_view usage_json = R"({"input_tokens":25,"output_tokens":1})");
  // A whole block whose deltas are these pieces.
  AnthropicWire& text(const std::vector<std::string>& pieces);
  AnthropicWire& thinking(const std::vector<std::string>& pieces, std::string_view signature);
  AnthropicWire& redacted_thinking(std::string_view data);
  AnthropicWire& tool_use(std::string_view id, std::string_view name, const std::vector<std::string>& input_pieces);
  AnthropicWire& ping();
  AnthropicWire& error(std::string_view type, std::string_view message);
  // message_delta and message_stop.
  AnthropicWire& finish(std::string_view stop_reason, std::string_view usage_json = R"({"output_tokens":15})");
  // One event as given.
  AnthropicWire& event(std::string_view type, std::string_view data);
  const std::string& bytes() const { return bytes_; }

 private:
  void begin_block(std::string_view content_block_json);
  void delta(std::string_view type, std::string_view key, std::string_view value);
  void end_block();

  std::string bytes_;
  int index_ = 0;
};

// A stream as the documentation shows it, and what it means.
struct AnthropicFixture {
  std::string name;
  std::string page;  // of the documentation that it follows
  std::string bytes;
  std::string text, thinking;
  std::vector<std::pair<std::string, std::string>> calls;  // name, input as JSON
  std::string stop_reason;                                 // empty: the stream ends with an error
};
std::vector<AnthropicFixture> anthropic_fixtures();

// The stream with another line end: "\r\n" or "\r".
std::string with_line_end(std::string_view stream, std::string_view line_end);

// The body of an error answer. docs.anthropic.com/en/api/errors
std::string anthropic_error_body(std::string_view type, std::string_view message);

}  // namespace agentd::testing
