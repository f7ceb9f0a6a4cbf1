// SPDX-License-Identifier: Apache-2.0
#include "tests/support/anthropic_rules.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "core/codec/json.h"

namespace agentd::testing {
namespace {

struct Model {
  std::string_view name;
  std::string_view thinking;  // the types that it takes
  std::string_view efforts;
  std::uint64_t max_output;
};
constexpr std::string_view kFive = "low medium high xhigh max";
constexpr Model kModels[] = {
    {"claude-fable-5-1", "adaptive", kFive, 128'000},
    {"claude-opus-5-5", "adaptive", kFive, 128'000},
    {"claude-sonnet-5-5", "adaptive between_tools", kFive, 128'000},
    {"claude-haiku-5-5", "adaptive disabled", kFive, 128'000},
    {"claude-opus-5", "adaptive disabled", kFive, 128'000},
    {"claude-sonnet-5", "adaptive disabled", kFive, 128'000},
    {"claude-opus-4-8", "adaptive disabled", kFive, 128'000},
    {"claude-opus-4-7", "adaptive disabled", kFive, 128'000},
    {"claude-opus-4-6", "adaptive enabled disabled", "low medium high max", 128'000},
    {"claude-opus-4-5", "enabled disabled", "low medium high", 64'000},
    {"claude-haiku-4-5", "enabled disabled", "", 64'000},
    {"claude-sonnet-4-5", "enabled disabled", "", 64'000},
};

bool lists(std::string_view words, std::string_view word) {
  const std::string all = " " + std::string(words) + " ", one = " " + std::string(word) + " ";
  return all.find(one) != std::string::npos;
}

const Model* model_of(std::string_view name) {
  for (const Model& model : kModels)
    if (model.name == name) return &model;
  return nullptr;
}

// Unicode's White_Space, and what Python's str.isspace() adds to it.
bool is_white(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

bool all_white(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    char32_t c = length == 1 ? byte : byte & (0xFFu >> (length + 1));
    for (std::size_t k = 1; k < length && i + k < text.size(); ++k)
      c = (c << 6) | (static_cast<unsigned char>(text[i + k]) & 0x3Fu);
    if (!is_white(c)) return false;
    i += length;
  }
  return true;
}

std::string thinking_refusal(JsonView body, const Model* model) {
  const JsonView thinking = body["thinking"];
  const std::string type(thinking["type"].string_or(""));
  const std::uint64_t max_tokens = body["max_tokens"].uint_or(0);
  if (thinking.exists() && model != nullptr && !lists(model->thinking, type))
    return "\"thinking.type." + type +
           "\" is not supported for this model. Use \"thinking.type.adaptive\" and "
           "\"output_config.effort\" to control thinking behavior.";
  if (type == "enabled") {
    const std::uint64_t budget = thinking["budget_tokens"].uint_or(0);
    if (budget < 1024) return "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024";
    if (budget >= max_tokens) return "`max_tokens` must be greater than `thinking.budget_tokens`.";
  } else if (thinking["budget_tokens"].exists()) {
    return "thinking." + type + ".budget_tokens: Extra inputs are not permitted";
  }
  if (type != "adaptive" && type != "enabled" && thinking["display"].exists())
    return "thinking." + type + ".display: Extra inputs are not permitted";
  const std::string effort(body["output_config"]["effort"].string_or(""));
  if (!body["output_config"]["effort"].exists() || model == nullptr) return {};
  if (model->efforts.empty()) return "This model does not support the effort parameter.";
  if (!lists(model->efforts, effort)) return "output_config.effort: '" + effort + "' is not supported";
  const bool strong = effort == "xhigh" || effort == "max";
  return type == "disabled" && strong ? "thinking cannot be disabled at this effort" : std::string();
}

// What one message holds, beside what belongs to the order of messages.
struct Seen {
  std::set<std::string>& all_calls;  // of the request
  std::set<std::string> calls{}, results{};
  bool tool_blocks = false;
};

std::string text_refusal(std::string_view text) {
  if (text.empty()) return "messages: text content blocks must be non-empty";
  return all_white(text) ? "messages: text content blocks must contain non-whitespace text" : "";
}

std::string block_refusal(JsonView block, const std::string& at, bool assistant, std::string_view model,
                          const AnthropicRules& rules, Seen& seen) {
  const std::string type(block["type"].string_or(""));
  if (type == "text") return text_refusal(block["text"].string_or(""));
  if (type == "thinking" || type == "redacted_thinking") {
    if (!assistant) return at + ": thinking blocks may only be in assistant messages";
    const std::string signature(block[type == "thinking" ? "signature" : "data"].string_or(""));
    if (signature.empty()) return at + ": Invalid `signature` in `thinking` block";
    const bool own = signature.rfind(std::string(model) + "/", 0) == 0;
    return rules.own_signatures_alone && !own ? at + ": Invalid `signature` in `thinking` block" : "";
  }
  if (type == "tool_use") {
    seen.tool_blocks = true;
    if (!assistant) return at + ": `tool_use` blocks can only be in `assistant` messages";
    if (!block["input"].is_object()) return at + ".tool_use.input: Input should be a valid dictionary";
    if (block["name"].string_or("").empty()) return at + ".tool_use.name: too short";
    seen.calls.insert(std::string(block["id"].string_or("")));
    return seen.all_calls.insert(std::string(block["id"].string_or(""))).second
               ? ""
               : at + ": `tool_use` ids must be unique";
  }
  if (type == "tool_result") {
    seen.tool_blocks = true;
    if (assistant) return at + ": `tool_result` blocks can only be in `user` messages";
    const std::string id(block["tool_use_id"].string_or(""));
    if (!seen.results.insert(id).second)
      return at + ": each tool_use must have a single result. Found multiple `tool_result` blocks with id: " + id;
    const JsonView content = block["content"];
    for (std::size_t i = 0; content.is_array() && i < content.size(); ++i)
      if (content.at(i)["type"].string_or("") == "text")
        if (std::string why = text_refusal(content.at(i)["text"].string_or("")); !why.empty()) return why;
    return "";
  }
  if (type != "image" && type != "document") return at + ": unknown type " + type;
  const JsonView source = block["source"];
  const std::string media(source["media_type"].string_or(""));
  const bool fits = type == "image" ? media.starts_with("image/") : media == "application/pdf";
  return fits && !source["data"].string_or("").empty() ? "" : at + "." + type + ".source: invalid media_type or data";
}

std::string messages_refusal(JsonView body, const AnthropicRules& rules) {
  const JsonView messages = body["messages"];
  if (messages.size() == 0) return "messages: at least one message is required";
  std::string before;
  std::set<std::string> open, all_calls;  // calls of the message before, and of all
  bool tool_blocks = false;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::string at = "messages." + std::to_string(i);
    const JsonView message = messages.at(i), content = message["content"];
    const std::string role(message["role"].string_or(""));
    if (role == before) return "messages: roles must alternate between \"user\" and \"assistant\"";
    if (i == 0 && role != "user") return "messages: first message must use the \"user\" role";
    if (content.size() == 0) return at + ": all messages must have non-empty content";
    Seen seen{all_calls};
    bool after_other = false;
    for (std::size_t b = 0; b < content.size(); ++b) {
      const JsonView block = content.at(b);
      const bool result = block["type"].string_or("") == "tool_result";
      if (result && after_other) return at + ": tool_result blocks must come first";
      after_other = after_other || !result;
      std::string why = block_refusal(block, at + ".content." + std::to_string(b), role == "assistant",
                                      body["model"].string_or(""), rules, seen);
      if (!why.empty()) return why;
    }
    for (const std::string& call : open)
      if (seen.results.count(call) == 0)
        return at + ": `tool_use` ids were found without `tool_result` blocks immediately after: " + call;
    for (const std::string& result : seen.results)
      if (open.count(result) == 0)
        return at + ": unexpected `tool_use_id` found in `tool_result` blocks: " + result;
    const std::string end(content.at(content.size() - 1)["type"].string_or(""));
    if (end == "thinking" || end == "redacted_thinking")
      return at + ": The final block in an assistant message cannot be `thinking`.";
    open = seen.calls;
    tool_blocks = tool_blocks || seen.tool_blocks;
    before = role;
  }
  if (before == "assistant")
    return "This model does not support assistant message prefill. The conversation must end with a "
           "user message.";
  if (rules.tools_beside_tool_blocks && tool_blocks && body["tools"].size() == 0)
    return "Requests which include `tool_use` or `tool_result` blocks must define tools";
  return {};
}

}  // namespace

std::string anthropic_refusal(std::string_view text, const AnthropicRules& rules) {
  const auto document = JsonDocument::parse(text);
  if (!document) return "The request body is not valid JSON";
  const JsonView body = document->root();
  const Model* const model = model_of(body["model"].string_or(""));
  const std::uint64_t max_tokens = body["max_tokens"].uint_or(0);
  if (max_tokens == 0) return "max_tokens: Input should be greater than or equal to 1";
  if (model != nullptr && max_tokens > model->max_output)
    return "max_tokens: " + std::to_string(max_tokens) + " > " + std::to_string(model->max_output) +
           ", which is the maximum allowed number of output tokens for " + std::string(model->name);
  if (std::string why = thinking_refusal(body, model); !why.empty()) return why;
  for (std::size_t i = 0; i < body["system"].size(); ++i)
    if (all_white(body["system"].at(i)["text"].string_or("")))
      return "system: text content blocks must contain non-whitespace text";
  if (body["tool_choice"].exists() && body["tools"].size() == 0)
    return "tool_choice may only be specified while providing tools.";
  const std::string choice(body["tool_choice"]["type"].string_or("auto"));
  if (choice != "auto" && choice != "none") return "tool_choice: forced tool use is not supported";
  return messages_refusal(body, rules);
}

}  // namespace agentd::testing
