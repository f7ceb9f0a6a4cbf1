// SPDX-License-Identifier: Apache-2.0
#include "providers/google/rules.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace agentd {
namespace {

constexpr std::string_view kPage = "API reference, Generating content";
constexpr std::string_view kCallingPage = "Function calling with the Gemini API";
constexpr std::string_view kThinkingPage = "Gemini thinking";
constexpr std::string_view kSignaturesPage = "Thought signatures";
constexpr std::string_view kMediaPage = "Image understanding; Document understanding";
constexpr std::string_view kSeen = "a refusal of the API";

enum Rule : std::size_t {
  kBodyJson,
  kBodyPairs,
  kKeysKnown,
  kOutputLimit,
  kThinkingForm,
  kThinkingLevel,
  kFormatSchema,
  kSystemText,
  kContentsSome,
  kRolesKnown,
  kRoleFirst,
  kRolesAlternate,
  kRoleLast,
  kPartsSome,
  kPartOneKind,
  kTextNotEmpty,
  kPartPlace,
  kMediaForm,
  kCallName,
  kCallArgs,
  kCallIdsUnique,
  kCallsAnswered,
  kResultsMatch,
  kResultForm,
  kResultsFirst,
  kFirstCallSigned,
  kSealsOwn,
  kToolName,
  kToolsUnique,
  kToolSchema,
  kToolConfig,
  kToolsCount,
  kBodySize,
  kRuleCount,
};

constexpr WireRule kRules[] = {
    {"body-json", "the body is one JSON object", kPage},
    {"body-pairs", "no text has half of a surrogate pair", kSeen},
    {"keys-known", "no object has a member that the reference does not name", kPage},
    {"output-limit", "maxOutputTokens is at least 1", kPage},
    {"thinking-form", "a budget of thinking is a number, and has no level with it", kThinkingPage},
    {"thinking-level", "a level of thinking is a word in capitals", kThinkingPage},
    {"format-schema", "the schema of an answer is an object, with application/json", "Structured output"},
    {"system-text", "the system instruction is texts that are not blank", kPage},
    {"contents-some", "there is a content", kPage},
    {"roles-known", "a content is the user's or the model's", kPage},
    {"role-first", "the first content is the user's", kPage},
    {"roles-alternate", "user and model take turns", kSeen},
    {"role-last", "the last content is the user's", kSeen},
    {"parts-some", "a content has a part", kSeen},
    {"part-one-kind", "a part is one of text, call, response and inline data", kPage},
    {"text-not-empty", "no text is empty", kSeen},
    {"part-place", "calls are the model's; responses and inline data are the user's", kSeen},
    {"media-form", "inline data is a JPEG, PNG, GIF, WebP or PDF in base64", kMediaPage},
    {"call-name", "the name of a call has 1 to 64 letters, digits, '_', '.', ':' and '-', and begins with no digit",
     kCallingPage},
    {"call-args", "the arguments of a call are an object", kPage},
    {"call-ids-unique", "no id names two calls", "Function calling, parallel calls"},
    {"calls-answered", "the responses of calls are the next content", kSeen},
    {"results-match", "a content with responses has those of the calls before it, by id and name and no others", kSeen},
    {"result-form", "a response is an object", kPage},
    {"results-first", "responses come first in their content", kCallingPage},
    {"first-call-signed", "the first call of each step after the user's last words has a signature", kSignaturesPage},
    {"seals-own", "a signature goes to the model that made it", kSignaturesPage},
    {"tool-name", "the name of a tool has 1 to 64 letters, digits, '_', '.', ':' and '-', and begins with no digit",
     kCallingPage},
    {"tools-unique", "no two tools have one name", kSeen},
    {"tool-schema", "the schema of a tool is an object of type object", kCallingPage},
    {"tool-config", "a calling mode is AUTO, ANY or NONE, and comes with tools", kCallingPage},
    {"tools-count", "there are at most 512 tools", kSeen, true},
    {"body-size", "the body has at most 20 MB", kMediaPage, true},
};
static_assert(std::size(kRules) == kRuleCount);

constexpr std::string_view kSkip = "skip_thought_signature_validator";
constexpr std::size_t kNameMax = 64, kToolsMax = 512, kBodyBytesMax = 20'000'000;

bool is_function_name(std::string_view name) {
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !name.empty() && name.size() <= kNameMax && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return is_letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.' || c == ':' || c == '-';
         });
}

bool is_level(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

class Reader {
 public:
  explicit Reader(const WireFacts& facts) : facts_(facts) {}

  Breaches read(std::string_view text) {
    const auto document = JsonDocument::parse(text);
    if (!document || !document->root().is_object()) {
      out_.broken(kBodyJson, "", "Invalid JSON payload received.");
      return out_.take();
    }
    if (has_half_pair(text)) out_.broken(kBodyPairs, "", "Invalid JSON payload received. Half of a pair.");
    if (text.size() > kBodyBytesMax)
      out_.broken(kBodySize, "", "Request payload size exceeds the limit: 20971520 bytes.");
    const JsonView body = document->root();
    keys(
        body,
        {"systemInstruction", "contents", "tools", "toolConfig", "generationConfig", "safetySettings", "cachedContent"},
        "");
    read_config(body["generationConfig"]);
    read_tools(body);
    read_system(body["systemInstruction"]);
    read_contents(body["contents"]);
    return out_.take();
  }

 private:
  void keys(JsonView object, std::initializer_list<std::string_view> known, const std::string& at) {
    out_.known_keys(kKeysKnown, object, known, at, "Invalid JSON payload received. Unknown name \"",
                    "\": Cannot find field.");
  }

  void read_config(JsonView config) {
    const std::string at = "generationConfig";
    keys(config,
         {"maxOutputTokens", "thinkingConfig", "responseMimeType", "responseJsonSchema", "temperature", "topP", "topK",
          "stopSequences", "candidateCount"},
         at);
    if (config["maxOutputTokens"].exists() && config["maxOutputTokens"].uint_or(0) == 0)
      out_.broken(kOutputLimit, at + ".maxOutputTokens", "max_output_tokens must be positive");
    const JsonView thinking = config["thinkingConfig"];
    keys(thinking, {"includeThoughts", "thinkingBudget", "thinkingLevel"}, at + ".thinkingConfig");
    if (thinking["thinkingBudget"].exists() &&
        (!thinking["thinkingBudget"].is_number() || thinking["thinkingLevel"].exists()))
      out_.broken(kThinkingForm, at + ".thinkingConfig",
                  "You can only set only one of thinking budget and thinking level.");
    if (thinking["thinkingLevel"].exists() && !is_level(thinking["thinkingLevel"].string_or("")))
      out_.broken(kThinkingLevel, at + ".thinkingConfig.thinkingLevel",
                  "Invalid value at 'generation_config.thinking_config.thinking_level'");
    if (!config["responseJsonSchema"].exists()) return;
    if (!config["responseJsonSchema"].is_object() || config["responseMimeType"].string_or("") != "application/json")
      out_.broken(kFormatSchema, at + ".responseJsonSchema",
                  "Response schema is only supported with response_mime_type of application/json.");
  }

  void read_tools(JsonView body) {
    const JsonView tools = body["tools"];
    std::set<std::string> names;
    std::size_t count = 0;
    for (std::size_t t = 0; t < tools.size(); ++t) {
      const JsonView declared = tools.at(t)["functionDeclarations"];
      keys(tools.at(t), {"functionDeclarations"}, indexed("tools", t));
      for (std::size_t i = 0; i < declared.size(); ++i) {
        const std::string at = indexed(indexed("tools", t) + ".functionDeclarations", i);
        const JsonView tool = declared.at(i), schema = tool["parametersJsonSchema"];
        keys(tool, {"name", "description", "parametersJsonSchema"}, at);
        const std::string name(tool["name"].string_or(""));
        if (!is_function_name(name))
          out_.broken(kToolName, at + ".name",
                      "Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, "
                      "0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.");
        if (!names.insert(name).second)
          out_.broken(kToolsUnique, at + ".name", "Duplicate function declaration found: " + name);
        if (schema.exists() && (!schema.is_object() || schema["type"].string_or("") != "object"))
          out_.broken(kToolSchema, at + ".parametersJsonSchema",
                      "functionDeclaration parameters schema should be of type OBJECT.");
      }
      count += declared.size();
    }
    if (count > kToolsMax) out_.broken(kToolsCount, "tools", "At most 512 function declarations can be specified.");
    const JsonView config = body["toolConfig"];
    if (!config.exists()) return;
    keys(config["functionCallingConfig"], {"mode", "allowedFunctionNames"}, "toolConfig.functionCallingConfig");
    if (count == 0)
      out_.broken(kToolConfig, "toolConfig", "Function calling config is set without function_declarations.");
    else if (!is_one_of(config["functionCallingConfig"]["mode"].string_or(""), {"AUTO", "ANY", "NONE"}))
      out_.broken(kToolConfig, "toolConfig.functionCallingConfig.mode", "Invalid value at 'tool_config'");
  }

  void read_system(JsonView system) {
    if (!system.exists()) return;
    const JsonView parts = system["parts"];
    bool good = parts.is_array() && parts.size() != 0;
    for (std::size_t i = 0; good && i < parts.size(); ++i) good = !is_all_white(parts.at(i)["text"].string_or(""));
    if (!good)
      out_.broken(kSystemText, "systemInstruction",
                  "Unable to submit request because it has an empty text parameter in the system instruction.");
  }

  // The contents of a message, as far as its neighbours need them.
  struct Content {
    bool model = false;
    bool words = false;  // anything except calls and responses
    bool first_call_signed = false;
    std::vector<std::pair<std::string, std::string>> calls{}, results{};  // id, name
  };

  void read_contents(JsonView contents) {
    if (!contents.is_array() || contents.size() == 0)
      return out_.broken(kContentsSome, "contents", "GenerateContentRequest.contents: contents is not specified");
    std::vector<Content> all;
    for (std::size_t i = 0; i < contents.size(); ++i) {
      const std::string at = indexed("contents", i);
      const std::string_view role = contents.at(i)["role"].string_or("");
      keys(contents.at(i), {"role", "parts"}, at);
      Content now;
      now.model = role == "model";
      if (!now.model && role != "user") out_.broken(kRolesKnown, at + ".role", "Please use a valid role: user, model.");
      if (i == 0 && now.model)
        out_.broken(kRoleFirst, at, "Please ensure that multiturn requests begin with a user role.");
      if (i != 0 && now.model == all.back().model)
        out_.broken(kRolesAlternate, at,
                    "Please ensure that multiturn requests alternate between user and model; a function call turn "
                    "comes immediately after a user turn or after a function response turn.");
      read_parts(contents.at(i)["parts"], at + ".parts", now);
      read_pairs(i == 0 ? Content() : all.back(), now, at);
      all.push_back(std::move(now));
    }
    const std::string at = indexed("contents", all.size() - 1);
    if (!all.back().calls.empty()) unanswered(at);
    if (all.back().model) out_.broken(kRoleLast, at, "Please ensure that the last turn is a user turn.");
    std::size_t turn = all.size();  // after the user's last words
    while (turn > 0 && (all[turn - 1].model || !all[turn - 1].results.empty())) --turn;
    for (std::size_t i = turn; i < all.size(); ++i)
      if (!all[i].calls.empty() && !all[i].first_call_signed)
        out_.broken(kFirstCallSigned, indexed("contents", i),
                    "Function call is missing a thought_signature in functionCall parts.");
  }

  void unanswered(const std::string& at) {
    out_.broken(kCallsAnswered, at,
                "Please ensure that function response turn comes immediately after a function call turn.");
  }

  void read_pairs(const Content& before, const Content& now, const std::string& at) {
    if (now.results.empty() && !before.calls.empty()) return unanswered(at);
    if (!now.results.empty() && now.results != before.calls)
      out_.broken(kResultsMatch, at,
                  "Please ensure that the number of function response parts is equal to the number of function call "
                  "parts of the function call turn.");
  }

  void read_parts(JsonView parts, const std::string& place, Content& now) {
    if (!parts.is_array() || parts.size() == 0)
      return out_.broken(kPartsSome, place, "contents.parts must not be empty.");
    for (std::size_t i = 0; i < parts.size(); ++i) read_part(parts.at(i), indexed(place, i), now);
  }

  void read_part(JsonView part, const std::string& at, Content& now) {
    keys(part, {"text", "functionCall", "functionResponse", "inlineData", "thoughtSignature", "thought"}, at);
    const std::string_view seal = part["thoughtSignature"].string_or("");
    if (!seal.empty() && seal != kSkip && facts_.foreign && facts_.foreign(seal))
      out_.broken(kSealsOwn, at + ".thoughtSignature", "Corrupted thought signature.");
    const JsonView text = part["text"], call = part["functionCall"], response = part["functionResponse"],
                   data = part["inlineData"];
    if (int{text.exists()} + int{call.exists()} + int{response.exists()} + int{data.exists()} != 1)
      return out_.broken(kPartOneKind, at, "required oneof field 'data' must have one initialized field");
    if (call.exists() ? !now.model : (response.exists() || data.exists()) && now.model)
      out_.broken(kPartPlace, at, "Please ensure that function call turns are the model's.");
    if (call.exists()) {
      if (now.calls.empty()) now.first_call_signed = !seal.empty();
      return read_call(call, at + ".functionCall", now);
    }
    if (response.exists()) return read_response(response, at + ".functionResponse", now);
    // Media of a tool belong to its response and may follow it.
    now.words = now.words || text.exists();
    if (text.exists() && text.string_or("").empty())
      out_.broken(kTextNotEmpty, at + ".text", "Unable to submit request because it has an empty text parameter.");
    if (data.exists()) read_data(data, at + ".inlineData");
  }

  void read_data(JsonView data, const std::string& at) {
    keys(data, {"mimeType", "data"}, at);
    if (!is_one_of(data["mimeType"].string_or(""),
                   {"image/jpeg", "image/png", "image/gif", "image/webp", "application/pdf"}) ||
        !is_media_data(data["data"].string_or("")))
      out_.broken(kMediaForm, at, "Unsupported MIME type or broken data.");
  }

  void read_call(JsonView call, const std::string& at, Content& now) {
    keys(call, {"id", "name", "args"}, at);
    const std::string id(call["id"].string_or("")), name(call["name"].string_or(""));
    if (!is_function_name(name)) out_.broken(kCallName, at + ".name", "Invalid function name: " + name);
    if (!call["args"].is_object()) out_.broken(kCallArgs, at + ".args", "Invalid value at 'function_call.args'");
    if (!id.empty() && !ids_.insert(id).second) out_.broken(kCallIdsUnique, at + ".id", "Duplicate call id: " + id);
    now.calls.emplace_back(id, name);
  }

  void read_response(JsonView response, const std::string& at, Content& now) {
    keys(response, {"id", "name", "response", "parts"}, at);
    if (now.words) out_.broken(kResultsFirst, at, "function responses must come before other parts");
    if (!response["response"].is_object() || response["response"].size() == 0)
      out_.broken(kResultForm, at + ".response", "Invalid value at 'function_response.response'");
    now.results.emplace_back(response["id"].string_or(""), response["name"].string_or(""));
  }

  const WireFacts& facts_;
  RuleReader out_{kRules};
  std::set<std::string> ids_;  // of calls
};

Breaches read_body(std::string_view body, const WireFacts& facts) { return Reader(facts).read(body); }

}  // namespace

constinit const WireFormat kGoogleWire{kRules, read_body};

}  // namespace agentd
