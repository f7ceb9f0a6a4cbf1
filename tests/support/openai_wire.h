// SPDX-License-Identifier: Apache-2.0
#pragma once
// openai_wire.h - event streams of OpenAI's two APIs, built event by event.
//
// Threading: values.

#include <string>
#include <string_view>
#include <vector>

namespace agentd::testing {

// Chat Completions: platform.openai.com/docs/api-reference/chat-streaming.
class ChatWire {
 public:
  ChatWire& text(const std::vector<std::string>& pieces);
  // `key`: "reasoning_content" or "reasoning".
  ChatWire& thinking(const std::vector<std::string>& pieces, std::string_view key = "reasoning_content");
  ChatWire& tool_call(int index, std::string_view id, std::string_view name, const std::vector<std::string>& arguments);
  // The last chunk of the answer, one with the usage, and [DONE].
  ChatWire& finish(std::string_view reason,
                   std::string_view usage_json = R"({"prompt_tokens":25,"completion_tokens":15,"total_tokens":40})");
  // A chunk whose first choice is {"index":0, ...}: `choice` holds the members behind the index.
  ChatWire& choice(std::string_view members);
  ChatWire& data(std::string_view data);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Responses: platform.openai.com/docs/api-reference/responses-streaming.
class ResponsesWire {
 public:
  ResponsesWire& start();
  ResponsesWire& text(const std::vector<std::string>& pieces, std::string_view phase = {});
  ResponsesWire& reasoning(const std::vector<std::string>& summary, std::string_view sealed);
  ResponsesWire& function_call(std::string_view call_id, std::string_view name, const std::vector<std::string>& pieces);
  ResponsesWire& refusal(std::string_view text);
  ResponsesWire& finish(std::string_view usage_json =
                            R"({"input_tokens":25,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},)"
                            R"("output_tokens":15,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":40})");
  ResponsesWire& incomplete(std::string_view reason);
  ResponsesWire& failed(std::string_view code, std::string_view message);
  // One event: `members` stand behind its type and number.
  ResponsesWire& event(std::string_view type, std::string_view members);
  const std::string& bytes() const { return bytes_; }

 private:
  void item(std::string_view json);
  std::string response(std::string_view status, std::string_view more) const;

  std::string bytes_, output_;
  int index_ = 0, number_ = 0;
};

// The body of an error answer. platform.openai.com/docs/guides/error-codes
std::string openai_error_body(std::string_view type, std::string_view code, std::string_view message);

}  // namespace agentd::testing
