// SPDX-License-Identifier: Apache-2.0
#include "tests/support/openai_rules.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <set>

#include "core/codec/json.h"

namespace agentd::testing {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Keys that are not in the reference are refused, as the vendor does.
std::string unknown_key(JsonView object, std::initializer_list<std::string_view> known,
                        const std::string& at) {
  for (std::size_t i = 0; i < object.size(); ++i)
    if (!is_one_of(object.key_at(i), known))
      return "Unknown parameter: '" + at + std::string(object.key_at(i)) + "'.";
  return {};
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  });
}

bool is_json_object(std::string_view text) {
  const auto document = JsonDocument::parse(text);
  return document && document->root().is_object();
}

std::string id_refusal(std::string_view id, const OpenAiRules& rules) {
  if (id.empty()) return "a tool call needs an id";
  const bool plain = std::all_of(id.begin(), id.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0;
  });
  if (rules.call_id_bytes != 0 && (id.size() != rules.call_id_bytes || !plain))
    return "Tool call id has to be defined, with a length of 9 and characters a-z, A-Z, 0-9: " +
           std::string(id);
  return {};
}

// ---- Chat Completions

std::string chat_content_refusal(JsonView content, bool user, const std::string& at) {
  if (content.is_string())
    return content.string_or("").empty() ? at + ".content: must not be empty" : std::string();
  if (!user || !content.is_array() || content.size() == 0) return at + ".content: is missing";
  for (std::size_t i = 0; i < content.size(); ++i) {
    const std::string_view type = content.at(i)["type"].string_or("");
    if (type == "text" && content.at(i)["text"].string_or("").empty())
      return at + ".content: empty text";
    if (type == "image_url" &&
        !content.at(i)["image_url"]["url"].string_or("").starts_with("data:image/"))
      return at + ".content: no image";
    if (type == "file" &&
        !content.at(i)["file"]["file_data"].string_or("").starts_with("data:application/pdf;base64,"))
      return at + ".content: a file needs file_data";
    if (type != "text" && type != "image_url" && type != "file") return at + ".content: unknown type";
  }
  return {};
}

std::string chat_messages_refusal(JsonView messages, const OpenAiRules& rules) {
  if (!messages.is_array() || messages.size() == 0) return "'messages' is too short";
  std::set<std::string> open, all;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const JsonView message = messages.at(i);
    const std::string at = "messages." + std::to_string(i);
    const std::string_view role = message["role"].string_or("");
    if (!is_one_of(role, {"system", "user", "assistant", "tool"})) return at + ".role: unknown";
    if (role == "tool") {
      const std::string id(message["tool_call_id"].string_or(""));
      if (open.erase(id) == 0)
        return "messages with role 'tool' must be a response to a preceding message with "
               "'tool_calls': " +
               id;
      if (std::string why = chat_content_refusal(message["content"], false, at); !why.empty())
        return why;
      continue;
    }
    if (!open.empty())
      return "An assistant message with 'tool_calls' must be followed by tool messages responding "
             "to each "
             "'tool_call_id': " +
             *open.begin();
    const JsonView calls = message["tool_calls"];
    if (role != "assistant" && calls.exists()) return at + ".tool_calls: not here";
    if (!calls.exists() || !message["content"].is_null())
      if (std::string why = chat_content_refusal(message["content"], role == "user", at);
          !why.empty())
        return why;
    if (calls.exists() && calls.size() == 0) return at + ".tool_calls: is too short";
    for (std::size_t c = 0; c < calls.size(); ++c) {
      const JsonView call = calls.at(c);
      const std::string id(call["id"].string_or(""));
      if (std::string why = id_refusal(id, rules); !why.empty()) return why;
      if (call["type"].string_or("") != "function") return at + ".tool_calls.type: unknown";
      if (!is_name(call["function"]["name"].string_or("")))
        return at + ".tool_calls.function.name: wrong";
      if (!is_json_object(call["function"]["arguments"].string_or("")))
        return at + ".tool_calls: arguments are no JSON";
      if (!all.insert(id).second) return at + ".tool_calls: two of one id";
      open.insert(id);
    }
  }
  return open.empty() ? std::string() : "calls without results: " + *open.begin();
}

// ---- Responses

std::string item_refusal(JsonView item, std::string_view model, const OpenAiRules& rules,
                         const std::string& at) {
  const std::string_view type = item["type"].string_or("");
  if (type == "message") {
    const std::string_view role = item["role"].string_or("");
    if (!is_one_of(role, {"user", "assistant", "system", "developer"}))
      return at + ".role: unknown";
    if (std::string why = unknown_key(item, {"type", "role", "content", "phase"}, at + ".");
        !why.empty())
      return why;
    if (item["phase"].exists() &&
        (role != "assistant" ||
         !is_one_of(item["phase"].string_or(""), {"commentary", "final_answer"})))
      return at + ".phase: wrong";
    const JsonView content = item["content"];
    if (content.is_string())
      return content.string_or("").empty() ? at + ".content: empty" : std::string();
    if (!content.is_array() || content.size() == 0) return at + ".content: is missing";
    for (std::size_t i = 0; i < content.size(); ++i) {
      const std::string_view part = content.at(i)["type"].string_or("");
      if (part == "input_text" && content.at(i)["text"].string_or("").empty())
        return at + ".content: empty text";
      if (!is_one_of(part, {"input_text", "input_image", "input_file"})) return at + ".content: unknown type";
    }
    return {};
  }
  if (type == "function_call") {
    if (!is_name(item["name"].string_or(""))) return at + ".name: wrong";
    if (!is_json_object(item["arguments"].string_or(""))) return at + ".arguments: no JSON";
    return id_refusal(item["call_id"].string_or(""), rules);
  }
  if (type == "function_call_output") {
    const JsonView output = item["output"];
    const bool good = output.is_string() || (output.is_array() && output.size() != 0);
    return good ? std::string() : at + ".output: is missing";
  }
  if (type == "reasoning") {
    const std::string_view sealed = item["encrypted_content"].string_or("");
    if (sealed.empty())
      return "Item '" + std::string(item["id"].string_or("")) +
             "' not found. Items are not persisted when `store` is set to false.";
    if (rules.own_seals_alone && !sealed.starts_with(std::string(model) + "/"))
      return "The encrypted content " + std::string(sealed) + " could not be verified.";
    return {};
  }
  return at + ".type: unknown";
}

std::string input_refusal(JsonView body, const OpenAiRules& rules) {
  const JsonView input = body["input"];
  if (!input.is_array() || input.size() == 0) return "'input' is too short";
  std::set<std::string> open, all;
  std::string reasoning;  // that waits for what it led to
  for (std::size_t i = 0; i < input.size(); ++i) {
    const JsonView item = input.at(i);
    const std::string at = "input[" + std::to_string(i) + "]";
    if (std::string why = item_refusal(item, body["model"].string_or(""), rules, at); !why.empty())
      return why;
    const std::string_view type = item["type"].string_or("");
    const bool own =
        type == "function_call" || type == "reasoning" || item["role"].string_or("") == "assistant";
    if (!reasoning.empty() && !own)
      return "Item '" + reasoning +
             "' of type 'reasoning' was provided without its required following item.";
    reasoning = type == "reasoning" ? std::string(item["id"].string_or("")) : std::string();
    const std::string id(item["call_id"].string_or(""));
    if (type == "function_call" && !all.insert(id).second)
      return "Duplicate item found with id " + id;
    if (type == "function_call") open.insert(id);
    if (type == "function_call_output" && open.erase(id) == 0)
      return "No tool call found for function call output with call_id " + id;
  }
  if (!reasoning.empty())
    return "Item '" + reasoning +
           "' of type 'reasoning' was provided without its required following item.";
  return open.empty() ? std::string() : "No tool output found for function call " + *open.begin();
}

}  // namespace

std::string chat_refusal(std::string_view text, const OpenAiRules& rules) {
  const auto document = JsonDocument::parse(text);
  if (!document) return "We could not parse the JSON body of your request.";
  const JsonView body = document->root();
  if (std::string why =
          unknown_key(body,
                      {"model", "stream", "stream_options", "max_tokens", "max_completion_tokens",
                       "reasoning_effort", "tools", "tool_choice", "messages", "response_format"},
                      "");
      !why.empty())
    return why;
  if (body["max_tokens"].exists() && body["max_completion_tokens"].exists()) return "two limits";
  for (std::size_t i = 0; i < body["tools"].size(); ++i)
    if (!is_name(body["tools"].at(i)["function"]["name"].string_or("")) ||
        !body["tools"].at(i)["function"]["parameters"].is_object())
      return "tools." + std::to_string(i) + ": wrong";
  if (body["tool_choice"].exists() && body["tools"].size() == 0)
    return "'tool_choice' is only allowed when 'tools' are specified";
  return chat_messages_refusal(body["messages"], rules);
}

std::string responses_refusal(std::string_view text, const OpenAiRules& rules) {
  const auto document = JsonDocument::parse(text);
  if (!document) return "We could not parse the JSON body of your request.";
  const JsonView body = document->root();
  if (std::string why =
          unknown_key(body,
                      {"model", "stream", "store", "instructions", "max_output_tokens", "reasoning",
                       "include", "prompt_cache_key", "tools", "tool_choice", "input", "text"},
                      "");
      !why.empty())
    return why;
  if (body["store"].bool_or(true)) return "stored";
  if (body["max_output_tokens"].uint_or(0) < 16) return "max_output_tokens: Expected a value >= 16";
  if (body["prompt_cache_key"].string_or("").size() > 64)
    return "prompt_cache_key: string too long";
  for (std::size_t i = 0; i < body["tools"].size(); ++i) {
    const JsonView tool = body["tools"].at(i);
    if (!is_name(tool["name"].string_or("")) || !tool["parameters"].is_object() ||
        tool["strict"].bool_or(true))
      return "tools." + std::to_string(i) + ": wrong";
  }
  if (body["tool_choice"].exists() && body["tools"].size() == 0)
    return "Tool choice must not be specified without tools";
  return input_refusal(body, rules);
}

}  // namespace agentd::testing
