// SPDX-License-Identifier: Apache-2.0
#include "providers/anthropic/rules.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>

namespace agentd {
namespace {

constexpr std::string_view kMessagesPage = "API reference, Create a Message";
constexpr std::string_view kToolsPage = "Tool use, Handle tool calls";
constexpr std::string_view kDefinePage = "Tool use, Define tools";
constexpr std::string_view kThinkingPage = "Extended thinking";
constexpr std::string_view kCachingPage = "Prompt caching";
constexpr std::string_view kVisionPage = "Vision";
constexpr std::string_view kErrorsPage = "Errors";
constexpr std::string_view kSeen = "a refusal of the API";

enum Rule : std::size_t {
  kBodyJson,
  kBodyPairs,
  kKeysKnown,
  kModelNamed,
  kOutputLimit,
  kThinkingKnown,
  kThinkingBudgetLeast,
  kThinkingBudgetBelowOutput,
  kEffortForm,
  kFormatSchema,
  kSystemText,
  kMessagesSome,
  kRolesKnown,
  kRoleFirst,
  kRolesAlternate,
  kRoleLast,
  kContentSome,
  kBlocksKnown,
  kBlockPlace,
  kTextNotEmpty,
  kTextNotBlank,
  kThinkingSigned,
  kSealsOwn,
  kThinkingNotLast,
  kThinkingFirst,
  kResultsFirst,
  kCallIdForm,
  kCallIdsUnique,
  kCallName,
  kCallInput,
  kCallsAnswered,
  kResultsCalled,
  kResultsSingle,
  kResultContent,
  kErrorSaysWhy,
  kToolName,
  kToolsUnique,
  kToolSchema,
  kToolSchemaPlain,
  kToolChoice,
  kCacheMarks,
  kCacheMarkForm,
  kCacheMarkPlace,
  kCacheLongFirst,
  kMediaForm,
  kMediaSize,
  kImagesCount,
  kBodySize,
  kRuleCount,
};

constexpr WireRule kRules[] = {
    {"body-json", "the body is one JSON object", kMessagesPage},
    {"body-pairs", "no text has half of a surrogate pair", kSeen},
    {"keys-known", "no object has a member that the reference does not name", kMessagesPage},
    {"model-named", "the model is named in 1 to 256 characters", kMessagesPage},
    {"output-limit", "max_tokens is at least 1", kMessagesPage},
    // The word that disables it may be the user's.
    {"thinking-known", "thinking is enabled, adaptive or disabled", kThinkingPage, true},
    {"thinking-budget-least", "a thinking budget is at least 1,024", kThinkingPage},
    {"thinking-budget-below-output", "a thinking budget is less than max_tokens", kThinkingPage},
    {"effort-form", "an effort is a word", kMessagesPage},
    {"format-schema", "the schema of an answer is an object", "Structured outputs"},
    {"system-text", "the system prompt is texts that are not blank", kMessagesPage},
    {"messages-some", "there is a message", kMessagesPage},
    {"roles-known", "a message is the user's or the assistant's", kMessagesPage},
    {"role-first", "the first message is the user's", kMessagesPage},
    {"roles-alternate", "user and assistant take turns", kMessagesPage},
    {"role-last", "the last message is the user's", "Prefill Claude's response"},
    {"content-some", "a message has a block or a text", kMessagesPage},
    {"blocks-known", "a block is of a known type", kMessagesPage},
    {"block-place", "calls and thinking are the assistant's; results, images and documents are the user's",
     kMessagesPage},
    {"text-not-empty", "no text is empty", kSeen},
    {"text-not-blank", "no text is white space alone", kSeen},
    {"thinking-signed", "thinking has its signature", kThinkingPage},
    {"seals-own", "a signature goes to the model that made it", kThinkingPage},
    {"thinking-not-last", "a message does not end with thinking", kSeen},
    {"thinking-first", "with a thinking budget, the answer in an open tool loop begins with thinking", kThinkingPage},
    {"results-first", "results of tools come first in their message", kToolsPage},
    {"call-id-form", "the id of a call has letters, digits, '_' and '-'", kSeen},
    {"call-ids-unique", "no id names two calls", kSeen},
    {"call-name", "the name of a call has 1 to 128 letters, digits, '_' and '-'", kSeen},
    {"call-input", "the input of a call is an object", kMessagesPage},
    {"calls-answered", "each call has its result in the next message", kToolsPage},
    {"results-called", "each result has its call in the message before", kToolsPage},
    {"results-single", "no call has two results", kSeen},
    {"result-content", "a result is a text, or texts, images and documents", kToolsPage},
    {"error-says-why", "the result of a call that failed is not empty", kSeen},
    {"tool-name", "the name of a tool has 1 to 128 letters, digits, '_' and '-'", kDefinePage},
    {"tools-unique", "no two tools have one name", kSeen},
    {"tool-schema", "the schema of a tool is an object of type object", kDefinePage},
    {"tool-schema-plain", "the schema of a tool has no oneOf, allOf or anyOf at its top", kSeen},
    {"tool-choice", "tool_choice is auto, any, tool or none, and comes with tools", kMessagesPage},
    {"cache-marks", "at most 4 blocks are marked for the cache", kCachingPage},
    {"cache-mark-form", "a mark is ephemeral, for 5m or 1h", kCachingPage},
    {"cache-mark-place", "thinking is not marked", kCachingPage},
    {"cache-long-first", "marks for an hour come before those for minutes", kCachingPage},
    {"media-form", "an image is a JPEG, PNG, GIF or WebP, a document a PDF, in base64", kVisionPage},
    {"media-size", "an image has at most 5 MiB of base64", kVisionPage, true},
    {"images-count", "there are at most 600 images", kVisionPage, true},
    {"body-size", "the body has at most 32 MiB", kErrorsPage, true},
};
static_assert(std::size(kRules) == kRuleCount);

constexpr std::uint64_t kBudgetLeast = 1'024;
constexpr std::size_t kMarksMax = 4, kModelMax = 256, kCallNameMax = 128, kToolNameMax = 128, kImagesMax = 600;
constexpr std::size_t kImageBytesMax = 5u << 20, kBodyBytesMax = 32u << 20;

bool is_thought_type(std::string_view type) { return type == "thinking" || type == "redacted_thinking"; }

class Reader {
 public:
  explicit Reader(const WireFacts& facts) : facts_(facts) {}

  Breaches read(std::string_view text) {
    const auto document = JsonDocument::parse(text);
    if (!document || !document->root().is_object()) {
      out_.broken(kBodyJson, "", "The request body is not valid JSON");
      return out_.take();
    }
    if (has_half_pair(text)) out_.broken(kBodyPairs, "", "The request body is not valid JSON: no low surrogate");
    if (text.size() > kBodyBytesMax) out_.broken(kBodySize, "", "Request exceeds the maximum size");
    const JsonView body = document->root();
    keys(body,
         {"model", "max_tokens", "stream", "system", "tools", "tool_choice", "messages", "thinking", "output_config",
          "cache_control", "metadata", "stop_sequences", "temperature", "top_k", "top_p", "service_tier", "container",
          "inference_geo"},
         "");
    const std::string_view model = body["model"].string_or("");
    if (model.empty() || model.size() > kModelMax) out_.broken(kModelNamed, "model", "model: Field required");
    read_limits(body);
    read_tools(body);
    read_system(body["system"]);
    read_messages(body["messages"], body["thinking"]["type"].string_or("") == "enabled");
    if (marks_ > kMarksMax)
      out_.broken(kCacheMarks, "",
                  "A maximum of 4 blocks with cache_control may be provided. Found " + std::to_string(marks_) + ".");
    if (images_ > kImagesMax) out_.broken(kImagesCount, "messages", "too many images");
    return out_.take();
  }

 private:
  void keys(JsonView object, std::initializer_list<std::string_view> known, const std::string& at) {
    out_.known_keys(kKeysKnown, object, known, at, "", ": Extra inputs are not permitted");
  }

  void read_limits(JsonView body) {
    const std::uint64_t output = body["max_tokens"].uint_or(0);
    if (output == 0) out_.broken(kOutputLimit, "max_tokens", "max_tokens: Input should be greater than or equal to 1");
    const JsonView thinking = body["thinking"];
    if (thinking.exists()) read_thinking(thinking, output);
    const JsonView config = body["output_config"];
    if (!config.exists()) return;
    keys(config, {"effort", "format"}, "output_config");
    if (config["effort"].exists() && !is_plain_name(config["effort"].string_or(""), kCallNameMax))
      out_.broken(kEffortForm, "output_config.effort", "output_config.effort: Input should be a word");
    if (!config["format"].exists()) return;
    keys(config["format"], {"type", "schema"}, "output_config.format");
    if (config["format"]["type"].string_or("") != "json_schema" || !config["format"]["schema"].is_object())
      out_.broken(kFormatSchema, "output_config.format.schema",
                  "output_config.format.schema: Input should be a valid dictionary");
  }

  void read_thinking(JsonView thinking, std::uint64_t output) {
    const std::string_view type = thinking["type"].string_or("");
    const bool enabled = type == "enabled";
    if (!is_one_of(type, {"enabled", "adaptive", "disabled", "between_tools"}))
      out_.broken(kThinkingKnown, "thinking.type", "thinking.type: Input tag does not match any of the expected tags");
    else if (enabled)
      keys(thinking, {"type", "budget_tokens", "display"}, "thinking");
    else if (type == "adaptive")
      keys(thinking, {"type", "display"}, "thinking");
    else
      keys(thinking, {"type"}, "thinking");
    if (!enabled) return;
    const std::uint64_t budget = thinking["budget_tokens"].uint_or(0);
    if (budget < kBudgetLeast)
      out_.broken(kThinkingBudgetLeast, "thinking.budget_tokens",
                  "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024");
    else if (budget >= output)
      out_.broken(kThinkingBudgetBelowOutput, "thinking.budget_tokens",
                  "`max_tokens` must be greater than `thinking.budget_tokens`.");
  }

  void read_tools(JsonView body) {
    const JsonView tools = body["tools"];
    std::set<std::string> names;
    for (std::size_t i = 0; i < tools.size(); ++i) {
      const JsonView tool = tools.at(i);
      const std::string at = indexed("tools", i);
      keys(tool, {"type", "name", "description", "input_schema", "cache_control", "strict"}, at);
      const std::string name(tool["name"].string_or(""));
      if (!is_plain_name(name, kToolNameMax))
        out_.broken(kToolName, at + ".name", at + ".name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'");
      if (!names.insert(name).second) out_.broken(kToolsUnique, at + ".name", "tools: Tool names must be unique.");
      const JsonView schema = tool["input_schema"];
      if (!schema.is_object() || schema["type"].string_or("") != "object")
        out_.broken(kToolSchema, at + ".input_schema", at + ".custom.input_schema.type: Field required");
      for (const char* const word : {"oneOf", "allOf", "anyOf"})
        if (schema[word].exists())
          out_.broken(kToolSchemaPlain, at + ".input_schema." + word,
                      at + ".custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top "
                           "level");
      read_mark(tool["cache_control"], at);
    }
    const JsonView choice = body["tool_choice"];
    if (!choice.exists()) return;
    if (tools.size() == 0)
      out_.broken(kToolChoice, "tool_choice", "tool_choice may only be specified while providing tools.");
    else if (!is_one_of(choice["type"].string_or(""), {"auto", "any", "tool", "none"}))
      out_.broken(kToolChoice, "tool_choice.type", "tool_choice: Input tag does not match any of the expected tags");
  }

  void read_mark(JsonView mark, const std::string& at) {
    if (!mark.exists()) return;
    ++marks_;
    const std::string_view lasts = mark["ttl"].string_or("5m");
    keys(mark, {"type", "ttl"}, at + ".cache_control");
    if (mark["type"].string_or("") != "ephemeral" || !is_one_of(lasts, {"5m", "1h"}))
      out_.broken(kCacheMarkForm, at + ".cache_control", at + ".cache_control: Input should be 'ephemeral'");
    if (lasts == "1h" && short_mark_)
      out_.broken(kCacheLongFirst, at + ".cache_control.ttl",
                  at + ".cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' one");
    short_mark_ = short_mark_ || lasts == "5m";
  }

  void read_system(JsonView system) {
    if (!system.exists()) return;
    constexpr const char* kBlank = "system: text content blocks must contain non-whitespace text";
    if (system.is_string() ? is_all_white(system.string_or("")) : !system.is_array())
      return out_.broken(kSystemText, "system", kBlank);
    for (std::size_t i = 0; !system.is_string() && i < system.size(); ++i) {
      const std::string at = indexed("system", i);
      keys(system.at(i), {"type", "text", "cache_control"}, at);
      if (system.at(i)["type"].string_or("") != "text" || is_all_white(system.at(i)["text"].string_or("")))
        out_.broken(kSystemText, at, kBlank);
      read_mark(system.at(i)["cache_control"], at);
    }
  }

  // The contents of a message, as far as the next one needs them.
  struct Message {
    std::set<std::string> calls{}, results{};
    bool assistant = false;
    bool begins_with_thought = false;
  };

  void read_messages(JsonView messages, bool budget) {
    if (!messages.is_array() || messages.size() == 0)
      return out_.broken(kMessagesSome, "messages", "messages: at least one message is required");
    Message before, loop;  // loop: the answer that began the newest tool loop
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const std::string at = indexed("messages", i);
      const std::string_view role = messages.at(i)["role"].string_or("");
      keys(messages.at(i), {"role", "content"}, at);
      if (role != "user" && role != "assistant")
        out_.broken(kRolesKnown, at + ".role", at + ".role: Input should be 'user' or 'assistant'");
      Message now;
      now.assistant = role == "assistant";
      if (i == 0 && now.assistant) out_.broken(kRoleFirst, at, "messages: first message must use the \"user\" role");
      if (i != 0 && now.assistant == before.assistant)
        out_.broken(kRolesAlternate, at, "messages: roles must alternate between \"user\" and \"assistant\"");
      read_content(messages.at(i)["content"], at, now);
      read_pairs(before, now, at);
      if (now.assistant && before.results.empty()) loop = now;
      before = std::move(now);
    }
    if (before.assistant)
      out_.broken(kRoleLast, indexed("messages", messages.size() - 1),
                  "This model does not support assistant message prefill. The conversation must end with a user "
                  "message.");
    if (!before.calls.empty())
      out_.broken(kCallsAnswered, indexed("messages", messages.size() - 1),
                  "`tool_use` ids were found without `tool_result` blocks immediately after: " + *before.calls.begin());
    if (budget && !before.results.empty() && !loop.begins_with_thought)
      out_.broken(kThinkingFirst, "messages",
                  "Expected `thinking` or `redacted_thinking`, but found another. When `thinking` is enabled, a final "
                  "`assistant` message must start with a thinking block");
  }

  void read_pairs(const Message& before, const Message& now, const std::string& at) {
    for (const std::string& call : before.calls)
      if (!now.results.contains(call))
        out_.broken(kCallsAnswered, at,
                    at + ": `tool_use` ids were found without `tool_result` blocks immediately after: " + call);
    for (const std::string& result : now.results)
      if (!before.calls.contains(result))
        out_.broken(kResultsCalled, at, at + ": unexpected `tool_use_id` found in `tool_result` blocks: " + result);
  }

  void read_content(JsonView content, const std::string& at, Message& now) {
    if (content.is_string()) return read_text(content, at + ".content");
    if (!content.is_array() || content.size() == 0)
      return out_.broken(kContentSome, at + ".content", at + ": all messages must have non-empty content");
    bool other = false;  // a block other than results was found
    for (std::size_t i = 0; i < content.size(); ++i) {
      const std::string_view type = content.at(i)["type"].string_or("");
      const std::string place = indexed(at + ".content", i);
      if (type == "tool_result" && other)
        out_.broken(kResultsFirst, place, at + ": tool_result blocks must come first");
      other = other || type != "tool_result";
      if (i == 0) now.begins_with_thought = is_thought_type(type);
      read_block(content.at(i), place, now);
    }
    if (is_thought_type(content.at(content.size() - 1)["type"].string_or("")))
      out_.broken(kThinkingNotLast, at, at + ": The final block in an assistant message cannot be `thinking`.");
  }

  void read_block(JsonView block, const std::string& at, Message& now) {
    const std::string_view type = block["type"].string_or("");
    if (is_thought_type(type) && block["cache_control"].exists())
      out_.broken(kCacheMarkPlace, at + ".cache_control", at + ".cache_control: Extra inputs are not permitted");
    else
      read_mark(block["cache_control"], at);
    if (type == "text") {
      keys(block, {"type", "text", "cache_control", "citations"}, at);
      return read_text(block["text"], at + ".text");
    }
    const bool answers = is_thought_type(type) || type == "tool_use";
    if (!answers && !is_one_of(type, {"tool_result", "image", "document"}))
      return out_.broken(kBlocksKnown, at + ".type", at + ": unknown type " + std::string(type));
    if (answers != now.assistant)
      out_.broken(kBlockPlace, at,
                  at + ": `" + std::string(type) + "` blocks can only be in `" + (answers ? "assistant" : "user") +
                      "` messages");
    if (is_thought_type(type)) return read_thought(block, at, type == "thinking");
    if (type == "tool_use") return read_call(block, at, now);
    if (type == "tool_result") return read_result(block, at, now);
    read_media(block, at);
  }

  void read_text(JsonView text, const std::string& at) {
    if (text.string_or("").empty())
      out_.broken(kTextNotEmpty, at, "messages: text content blocks must be non-empty");
    else if (is_all_white(text.string_or("")))
      out_.broken(kTextNotBlank, at, "messages: text content blocks must contain non-whitespace text");
  }

  void read_thought(JsonView block, const std::string& at, bool open) {
    if (open)
      keys(block, {"type", "thinking", "signature", "cache_control"}, at);
    else
      keys(block, {"type", "data", "cache_control"}, at);
    const std::string_view seal = block[open ? "signature" : "data"].string_or("");
    const std::string says = at + ": Invalid `signature` in `thinking` block";
    if (seal.empty() || (open && !block["thinking"].is_string()))
      out_.broken(kThinkingSigned, at, says);
    else if (facts_.foreign && facts_.foreign(seal))
      out_.broken(kSealsOwn, at, says);
  }

  void read_call(JsonView block, const std::string& at, Message& now) {
    keys(block, {"type", "id", "name", "input", "cache_control", "caller"}, at);
    const std::string id(block["id"].string_or(""));
    read_id(id, at + ".id", "tool_use.id");
    if (!is_plain_name(block["name"].string_or(""), kCallNameMax))
      out_.broken(kCallName, at + ".name", at + ".tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'");
    if (!block["input"].is_object())
      out_.broken(kCallInput, at + ".input", at + ".tool_use.input: Input should be a valid dictionary");
    if (!ids_.insert(id).second) out_.broken(kCallIdsUnique, at + ".id", at + ": `tool_use` ids must be unique");
    now.calls.insert(id);
  }

  void read_id(std::string_view id, const std::string& at, std::string_view what) {
    if (!is_plain_name(id, std::string_view::npos))
      out_.broken(kCallIdForm, at, at + ": " + std::string(what) + ": String should match pattern '^[a-zA-Z0-9_-]+$'");
  }

  void read_result(JsonView block, const std::string& at, Message& now) {
    keys(block, {"type", "tool_use_id", "content", "is_error", "cache_control"}, at);
    const std::string id(block["tool_use_id"].string_or(""));
    read_id(id, at + ".tool_use_id", "tool_result.tool_use_id");
    if (!now.results.insert(id).second)
      out_.broken(kResultsSingle, at,
                  at + ": each tool_use must have a single result. Found multiple `tool_result` blocks with id: " + id);
    const JsonView content = block["content"];
    if (content.exists() && !content.is_string() && !content.is_array())
      out_.broken(kResultContent, at + ".content", at + ".tool_result.content: Input should be a valid list");
    bool says_something = !is_all_white(content.string_or(""));
    for (std::size_t i = 0; content.is_array() && i < content.size(); ++i) {
      const JsonView part = content.at(i);
      const std::string place = indexed(at + ".content", i);
      const std::string_view type = part["type"].string_or("");
      says_something = true;
      read_mark(part["cache_control"], place);
      if (type == "text") {
        keys(part, {"type", "text", "cache_control", "citations"}, place);
        read_text(part["text"], place + ".text");
      } else if (type == "image" || type == "document") {
        read_media(part, place);
      } else {
        out_.broken(kResultContent, place, at + ".tool_result.content: unknown type " + std::string(type));
      }
    }
    if (block["is_error"].bool_or(false) && !says_something)
      out_.broken(kErrorSaysWhy, at + ".content", at + ".tool_result: content cannot be empty if `is_error` is true");
  }

  void read_media(JsonView block, const std::string& at) {
    const bool image = block["type"].string_or("") == "image";
    keys(block, {"type", "source", "title", "context", "citations", "cache_control"}, at);
    const JsonView source = block["source"];
    keys(source, {"type", "media_type", "data"}, at + ".source");
    const std::string_view media = source["media_type"].string_or(""), data = source["data"].string_or("");
    const bool fits =
        image ? is_one_of(media, {"image/jpeg", "image/png", "image/gif", "image/webp"}) : media == "application/pdf";
    if (!fits || source["type"].string_or("") != "base64" || !is_media_data(data))
      out_.broken(kMediaForm, at + ".source",
                  at + "." + (image ? "image" : "document") + ".source: invalid media_type or data");
    if (!image) return;
    ++images_;
    if (data.size() > kImageBytesMax)
      out_.broken(kMediaSize, at + ".source.data", at + ".image.source.base64: image exceeds 5 MB maximum");
  }

  const WireFacts& facts_;
  RuleReader out_{kRules};
  std::set<std::string> ids_;  // of calls
  std::size_t marks_ = 0, images_ = 0;
  bool short_mark_ = false;
};

Breaches read_body(std::string_view body, const WireFacts& facts) { return Reader(facts).read(body); }

}  // namespace

constinit const WireFormat kAnthropicWire{kRules, read_body};

}  // namespace agentd
