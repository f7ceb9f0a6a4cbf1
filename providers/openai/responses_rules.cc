// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <iterator>
#include <set>
#include <string>

#include "providers/openai/rules.h"
#include "providers/openai/tool_rules.h"

namespace agentd {
namespace responses_rules {
namespace {

constexpr std::string_view kCreatePage = "API reference, Create a model response";
constexpr std::string_view kReasoningPage = "Reasoning models, Encrypted reasoning items";
constexpr std::string_view kFilesPage = "Images and vision; File inputs";
constexpr std::string_view kSeen = "a refusal of the API";

enum Rule : std::size_t {
  kBodyJson,
  kBodyPairs,
  kKeysKnown,
  kModelNamed,
  kOutputLimit,
  kNotStored,
  kEffortForm,
  kIncludeKnown,
  kCacheKey,
  kFormatSchema,
  kInstructionsText,
  kInputSome,
  kItemsKnown,
  kRolesKnown,
  kRoleLast,
  kContentSome,
  kPartsKnown,
  kTextNotEmpty,
  kPhase,
  kMediaForm,
  kCallIdForm,
  kCallIdsUnique,
  kCallName,
  kCallArguments,
  kCallsAnswered,
  kResultsCalled,
  kResultContent,
  kReasoningForm,
  kReasoningSealed,
  kReasoningLed,
  kReasoningUnique,
  kSealsOwn,
  kToolForm,
  kToolName,
  kToolsUnique,
  kToolSchema,
  kToolStrict,
  kToolChoice,
  kToolsCount,
  kRuleCount,
};

constexpr WireRule kRules[] = {
    {"body-json", "the body is one JSON object", kCreatePage},
    {"body-pairs", "no text has half of a surrogate pair", kSeen},
    {"keys-known", "no object has a member that the reference does not name", kCreatePage},
    {"model-named", "the model is named", kCreatePage},
    {"output-limit", "an answer may have 16 tokens", kSeen},
    {"not-stored", "the answer is not stored at the provider", "Your data"},
    {"effort-form", "an effort is a word", kCreatePage},
    {"include-known", "the only requested addition to the answer is the sealed reasoning", kReasoningPage},
    {"cache-key", "prompt_cache_key has at most 64 characters", kSeen},
    {"format-schema", "the schema of an answer is an object with a name, strict or not", "Structured outputs"},
    {"instructions-text", "instructions are a text that is not blank", kCreatePage},
    {"input-some", "there is an item", kCreatePage},
    {"items-known", "an item is a message, a call, a result or reasoning", kCreatePage},
    {"roles-known", "a message is the user's, the assistant's or the developer's", kCreatePage},
    {"role-last", "the last item is the user's or a result", "a requirement of every other wire format"},
    {"content-some", "a message has a content", kCreatePage},
    {"parts-known", "parts are texts, images and files", kCreatePage},
    {"text-not-empty", "no text is empty", kSeen},
    {"phase", "a phase is commentary or final_answer, of the assistant's messages", kCreatePage},
    {"media-form", "an image is a JPEG, PNG, GIF or WebP, a file a PDF with a name, in data URLs", kFilesPage},
    {"call-id-form", "the id of a call has 1 to 64 characters", kSeen},
    {"call-ids-unique", "no id names two calls", kSeen},
    {"call-name", "the name of a call has 1 to 64 letters, digits, '_' and '-'", kSeen},
    {"call-arguments", "the arguments of a call are the text of a JSON object", kCreatePage},
    {"calls-answered", "each call is followed by its result before the next message", kSeen},
    {"results-called", "each result follows its call, and no call has two", kSeen},
    {"result-content", "a result is a text, or parts with content", kCreatePage},
    {"reasoning-form", "reasoning has an id and a summary", kReasoningPage},
    {"reasoning-sealed", "reasoning comes with its seal", kReasoningPage},
    {"reasoning-led", "reasoning is followed by its item", kSeen},
    {"reasoning-unique", "no reasoning comes twice", kSeen},
    {"seals-own", "a seal goes to the model that made it", kReasoningPage},
    {"tool-form", "a tool is a function", kCreatePage},
    {"tool-name", "the name of a tool has 1 to 64 letters, digits, '_' and '-'", kCreatePage},
    {"tools-unique", "no two tools have one name", kSeen},
    {"tool-schema", "the schema of a tool is an object with properties, and nothing else at its top", kSeen},
    {"tool-strict", "strict is set: otherwise the provider shows another schema", kCreatePage},
    {"tool-choice", "tool_choice is none, auto or required, and comes with tools", kCreatePage},
    {"tools-count", "there are at most 128 tools", kCreatePage, true},
};
static_assert(std::size(kRules) == kRuleCount);

constexpr std::uint64_t kOutputLeast = 16;
constexpr std::size_t kIdMax = 64, kCacheKeyMax = 64;

class Reader {
 public:
  explicit Reader(const WireFacts& facts) : facts_(facts) {}

  Breaches read(std::string_view text) {
    const auto document = JsonDocument::parse(text);
    if (!document || !document->root().is_object()) {
      out_.broken(kBodyJson, "", "We could not parse the JSON body of your request.");
      return out_.take();
    }
    if (has_half_pair(text))
      out_.broken(kBodyPairs, "", "We could not parse the JSON body of your request: half of a pair.");
    const JsonView body = document->root();
    keys(body,
         {"model", "stream", "store", "instructions", "max_output_tokens", "reasoning", "include", "prompt_cache_key",
          "tools", "tool_choice", "input", "text", "metadata", "temperature", "top_p", "parallel_tool_calls",
          "service_tier", "safety_identifier"},
         "");
    read_head(body);
    read_tools(body);
    read_input(body["input"]);
    return out_.take();
  }

 private:
  void keys(JsonView object, std::initializer_list<std::string_view> known, const std::string& at) {
    out_.known_keys(kKeysKnown, object, known, at, "Unknown parameter: '", "'.");
  }

  void read_head(JsonView body) {
    if (body["model"].string_or("").empty()) out_.broken(kModelNamed, "model", "Missing required parameter: 'model'.");
    if (body["store"].bool_or(true)) out_.broken(kNotStored, "store", "stored");
    if (body["max_output_tokens"].uint_or(0) < kOutputLeast)
      out_.broken(kOutputLimit, "max_output_tokens",
                  "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.");
    if (body["prompt_cache_key"].string_or("").size() > kCacheKeyMax)
      out_.broken(kCacheKey, "prompt_cache_key", "Invalid 'prompt_cache_key': string too long.");
    if (body["instructions"].exists() && is_all_white(body["instructions"].string_or("")))
      out_.broken(kInstructionsText, "instructions", "Invalid 'instructions'.");
    const JsonView reasoning = body["reasoning"], include = body["include"];
    keys(reasoning, {"effort", "summary"}, "reasoning");
    if (reasoning["effort"].exists() && !is_plain_name(reasoning["effort"].string_or(""), kIdMax))
      out_.broken(kEffortForm, "reasoning.effort", "Invalid value: 'reasoning.effort'");
    for (std::size_t i = 0; i < include.size(); ++i)
      if (include.at(i).string_or("") != "reasoning.encrypted_content")
        out_.broken(kIncludeKnown, indexed("include", i), "Invalid value: 'include'.");
    if (!body["text"].exists()) return;
    const JsonView format = body["text"]["format"];
    if (format["type"].string_or("") != "json_schema" || !is_answer_format(format))
      out_.broken(kFormatSchema, "text.format", "Invalid schema for response_format.");
  }

  void read_tools(JsonView body) {
    const JsonView tools = body["tools"];
    std::set<std::string> names;
    for (std::size_t i = 0; i < tools.size(); ++i) {
      const std::string at = indexed("tools", i);
      const JsonView tool = tools.at(i);
      keys(tool, {"type", "name", "description", "parameters", "strict"}, at);
      if (tool["type"].string_or("") != "function")
        out_.broken(kToolForm, at + ".type", "Invalid value: '" + at + ".type'.");
      const std::string name(tool["name"].string_or(""));
      if (!is_plain_name(name, kFunctionNameMax))
        out_.broken(kToolName, at + ".name",
                    "Invalid '" + at + ".name': string does not match pattern '^[a-zA-Z0-9_-]+$'.");
      if (!names.insert(name).second)
        out_.broken(kToolsUnique, at + ".name", "Duplicate function definition found: '" + name + "'.");
      if (std::string why = function_schema_refusal(name, tool["parameters"]); !why.empty())
        out_.broken(kToolSchema, at + ".parameters", std::move(why));
      if (!tool["strict"].is_bool()) out_.broken(kToolStrict, at + ".strict", at + ".strict: is missing");
    }
    if (tools.size() > kFunctionsMax)
      out_.broken(kToolsCount, "tools", "Invalid 'tools': array too long. Expected an array with maximum length 128.");
    const JsonView choice = body["tool_choice"];
    if (!choice.exists()) return;
    if (tools.size() == 0)
      out_.broken(kToolChoice, "tool_choice", "Tool choice must not be specified without tools");
    else if (!is_one_of(choice.string_or(""), {"none", "auto", "required"}))
      out_.broken(kToolChoice, "tool_choice", "Invalid value: 'tool_choice'.");
  }

  void read_input(JsonView input) {
    if (!input.is_array() || input.size() == 0)
      return out_.broken(kInputSome, "input", "Invalid 'input': empty array.");
    bool assistant = false;
    for (std::size_t i = 0; i < input.size(); ++i) {
      const JsonView item = input.at(i);
      const std::string at = indexed("input", i);
      const std::string_view type = item["type"].string_or("");
      assistant = type == "reasoning" || item["role"].string_or("") == "assistant";
      if (!reasoning_.empty() && !assistant && type != "function_call") not_led(at);
      if (!open_.empty() && type == "message" && item["role"].string_or("") != "assistant") unanswered(at);
      if (type == "message") {
        reasoning_.clear();
        read_message(item, at);
      } else if (type == "function_call") {
        reasoning_.clear();
        read_call(item, at);
      } else if (type == "function_call_output") {
        read_result(item, at);
      } else if (type == "reasoning") {
        read_reasoning(item, at);
      } else {
        out_.broken(kItemsKnown, at + ".type", "Invalid value: '" + at + ".type'.");
      }
    }
    const std::string at = indexed("input", input.size() - 1);
    if (!open_.empty()) unanswered(at);
    if (!reasoning_.empty()) return not_led(at);
    if (assistant) out_.broken(kRoleLast, at, "the conversation must end with a user message");
  }

  void not_led(const std::string& at) {
    out_.broken(kReasoningLed, at,
                "Item '" + reasoning_ + "' of type 'reasoning' was provided without its required following item.");
    reasoning_.clear();
  }

  void unanswered(const std::string& at) {
    out_.broken(kCallsAnswered, at, "No tool output found for function call " + *open_.begin());
    open_.clear();
  }

  void read_message(JsonView item, const std::string& at) {
    const std::string_view role = item["role"].string_or("");
    keys(item, {"type", "role", "content", "phase"}, at);
    if (!is_one_of(role, {"user", "assistant", "system", "developer"}))
      out_.broken(kRolesKnown, at + ".role", "Invalid value: '" + at + ".role'.");
    if (item["phase"].exists() &&
        (role != "assistant" || !is_one_of(item["phase"].string_or(""), {"commentary", "final_answer"})))
      out_.broken(kPhase, at + ".phase", "Invalid value: '" + at + ".phase'.");
    const JsonView content = item["content"];
    if (content.is_string()) return read_text(content, at + ".content");
    if (!content.is_array() || content.size() == 0)
      return out_.broken(kContentSome, at + ".content", "Missing required parameter: '" + at + ".content'.");
    read_parts(content, at + ".content");
  }

  void read_parts(JsonView parts, const std::string& place) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const JsonView part = parts.at(i);
      const std::string at = indexed(place, i);
      const std::string_view type = part["type"].string_or("");
      if (type == "input_text") {
        keys(part, {"type", "text"}, at);
        read_text(part["text"], at + ".text");
      } else if (type == "input_image") {
        keys(part, {"type", "image_url", "detail"}, at);
        if (!is_data_url(part["image_url"].string_or(""), {"image/jpeg", "image/png", "image/gif", "image/webp"}))
          out_.broken(kMediaForm, at + ".image_url", "Invalid '" + at + ".image_url'.");
      } else if (type == "input_file") {
        keys(part, {"type", "filename", "file_data"}, at);
        if (part["filename"].string_or("").empty() ||
            !is_data_url(part["file_data"].string_or(""), {"application/pdf"}))
          out_.broken(kMediaForm, at, "Invalid '" + at + ".file_data'.");
      } else {
        out_.broken(kPartsKnown, at + ".type", "Invalid value: '" + at + ".type'.");
      }
    }
  }

  void read_text(JsonView text, const std::string& at) {
    if (text.string_or("").empty()) out_.broken(kTextNotEmpty, at, "Invalid '" + at + "': empty string.");
  }

  void read_id(std::string_view id, const std::string& at) {
    if (id.empty() || id.size() > kIdMax)
      out_.broken(kCallIdForm, at, "Invalid '" + at + "': a tool call needs an id of at most 64 characters.");
  }

  void read_call(JsonView item, const std::string& at) {
    keys(item, {"type", "id", "call_id", "name", "arguments", "status"}, at);
    const std::string id(item["call_id"].string_or(""));
    read_id(id, at + ".call_id");
    if (!is_plain_name(item["name"].string_or(""), kFunctionNameMax))
      out_.broken(kCallName, at + ".name",
                  "Invalid '" + at + ".name': string does not match pattern '^[a-zA-Z0-9_-]+$'.");
    if (!is_json_object(item["arguments"].string_or("")))
      out_.broken(kCallArguments, at + ".arguments", at + ".arguments: no JSON object");
    if (!ids_.insert(id).second) out_.broken(kCallIdsUnique, at + ".call_id", "Duplicate item found with id " + id);
    open_.insert(id);
  }

  void read_result(JsonView item, const std::string& at) {
    keys(item, {"type", "call_id", "output", "id", "status"}, at);
    const std::string id(item["call_id"].string_or(""));
    if (open_.erase(id) == 0)
      out_.broken(kResultsCalled, at + ".call_id", "No tool call found for function call output with call_id " + id);
    const JsonView output = item["output"];
    if (output.is_array() && output.size() != 0) return read_parts(output, at + ".output");
    if (!output.is_string() || output.string_or("").empty())
      out_.broken(kResultContent, at + ".output", "Missing required parameter: '" + at + ".output'.");
  }

  void read_reasoning(JsonView item, const std::string& at) {
    const std::string id(item["id"].string_or(""));
    if (id.empty() || !item["summary"].is_array())
      out_.broken(kReasoningForm, at, "Missing required parameter: '" + at + ".summary'.");
    const std::string_view sealed = item["encrypted_content"].string_or("");
    if (sealed.empty())
      out_.broken(kReasoningSealed, at + ".encrypted_content",
                  "Item '" + id + "' not found. Items are not persisted when `store` is set to false.");
    else if (facts_.foreign && facts_.foreign(sealed))
      out_.broken(kSealsOwn, at + ".encrypted_content",
                  "The encrypted content " + std::string(sealed) + " could not be verified.");
    if (!id.empty() && !reasoning_ids_.insert(id).second)
      out_.broken(kReasoningUnique, at + ".id", "Duplicate item found with id " + id);
    reasoning_ = id.empty() ? "?" : id;
  }

  const WireFacts& facts_;
  RuleReader out_{kRules};
  std::set<std::string> open_, ids_;  // of calls: without a result so far; all
  std::set<std::string> reasoning_ids_;
  std::string reasoning_;  // waits for its following item
};

Breaches read_body(std::string_view body, const WireFacts& facts) { return Reader(facts).read(body); }

}  // namespace
}  // namespace responses_rules

constinit const WireFormat kResponsesWire{responses_rules::kRules, responses_rules::read_body};

}  // namespace agentd
