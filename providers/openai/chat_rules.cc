// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>

#include "providers/openai/rules.h"
#include "providers/openai/tool_rules.h"

namespace agentd {
namespace chat_rules {
namespace {

constexpr std::string_view kChatPage = "API reference, Create chat completion";
constexpr std::string_view kCallingPage = "Function calling";
constexpr std::string_view kFilesPage = "Images and vision; File inputs";
constexpr std::string_view kSeen = "a refusal of the API";

enum Rule : std::size_t {
  kBodyJson,
  kBodyPairs,
  kKeysKnown,
  kModelNamed,
  kOutputLimit,
  kOutputLimitOne,
  kUsageStreamed,
  kEffortForm,
  kFormatSchema,
  kMessagesSome,
  kRolesKnown,
  kSystemFirst,
  kRoleFirst,
  kUserBehindResults,
  kRoleLast,
  kContentSome,
  kPartsKnown,
  kTextNotEmpty,
  kTextNotBlank,
  kThinkingBack,
  kMediaForm,
  kCallsPlace,
  kCallsSome,
  kCallForm,
  kCallIdForm,
  kCallIdsUnique,
  kCallName,
  kCallArguments,
  kCallsAnswered,
  kResultsCalled,
  kToolForm,
  kToolName,
  kToolsUnique,
  kToolSchema,
  kToolChoice,
  kToolsCount,
  kRuleCount,
};

constexpr WireRule kRules[] = {
    {"body-json", "the body is one JSON object", kChatPage},
    {"body-pairs", "no text has half of a surrogate pair", kSeen},
    {"keys-known", "no object has a member that the reference does not name", kChatPage},
    {"model-named", "the model is named", kChatPage},
    {"output-limit", "an answer may have a token", kChatPage},
    {"output-limit-one", "max_tokens and max_completion_tokens do not occur together", kChatPage},
    {"usage-streamed", "stream_options come with stream", kChatPage},
    {"effort-form", "an effort is a word", kChatPage},
    {"format-schema", "the schema of an answer is an object with a name, strict or not", "Structured outputs"},
    {"messages-some", "there is a message besides the system prompt", kChatPage},
    {"roles-known", "a message is the system's, the user's, the assistant's or a tool's", kChatPage},
    {"system-first", "the system prompt is one message, the first", "templates of models behind the servers"},
    {"role-first", "the first message after the system prompt is the user's", "templates of models behind the servers"},
    {"user-behind-results", "where the server requires it, an answer comes between results and the user's next message",
     "Mistral's refusals"},
    {"role-last", "the last message is the user's or a tool's", "Mistral's and vLLM's refusals"},
    {"content-some", "a message without calls has a content", kChatPage},
    {"parts-known", "parts are texts, images and files, of the user's messages alone", kChatPage},
    {"text-not-empty", "no text is empty", kSeen},
    {"text-not-blank", "no text is white space alone", "refusals of gateways in front of other wires"},
    {"thinking-back", "where the model requires it, each answer comes with its thinking, which may be empty",
     "DeepSeek, Thinking Mode; refusals of Kimi's and MiMo's servers"},
    {"media-form", "an image is a JPEG, PNG, GIF or WebP, a file a PDF with a name, in data URLs", kFilesPage},
    {"calls-place", "calls are the assistant's", kChatPage},
    {"calls-some", "a list of calls is not empty", kSeen},
    {"call-form", "a call is of a function", kChatPage},
    {"call-id-form", "the id of a call has 1 to 40 characters, or as many letters and digits as the server requires",
     kSeen},
    {"call-ids-unique", "no id names two calls", kSeen},
    {"call-name", "the name of a call has 1 to 64 letters, digits, '_' and '-'", kSeen},
    {"call-arguments", "the arguments of a call are the text of a JSON object", kCallingPage},
    {"calls-answered", "each call has its result directly after its message", kSeen},
    {"results-called", "each result follows its call, and no call has two", kSeen},
    {"tool-form", "a tool is a function", kChatPage},
    {"tool-name", "the name of a tool has 1 to 64 letters, digits, '_' and '-'", kChatPage},
    {"tools-unique", "no two tools have one name", kSeen},
    {"tool-schema", "the schema of a tool is an object with properties, and nothing else at its top", kSeen},
    {"tool-choice", "tool_choice is none, auto or required, and comes with tools", kChatPage},
    {"tools-count", "there are at most 128 tools", kChatPage, true},
};
static_assert(std::size(kRules) == kRuleCount);

constexpr std::size_t kCallIdMax = 40;

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
         {"model", "stream", "stream_options", "max_tokens", "max_completion_tokens", "reasoning_effort", "tools",
          "tool_choice", "messages", "response_format", "temperature", "top_p", "stop", "seed", "user", "metadata",
          "parallel_tool_calls", "store"},
         "");
    if (body["model"].string_or("").empty()) out_.broken(kModelNamed, "model", "you must provide a model parameter");
    read_limits(body);
    read_tools(body);
    read_messages(body["messages"]);
    return out_.take();
  }

 private:
  void keys(JsonView object, std::initializer_list<std::string_view> known, const std::string& at) {
    out_.known_keys(kKeysKnown, object, known, at, "Unknown parameter: '", "'.");
  }

  void read_limits(JsonView body) {
    const JsonView old_limit = body["max_tokens"], limit = body["max_completion_tokens"];
    if (old_limit.exists() && limit.exists())
      out_.broken(kOutputLimitOne, "max_tokens", "Setting 'max_tokens' and 'max_completion_tokens' is not supported.");
    for (const JsonView each : {old_limit, limit})
      if (each.exists() && each.uint_or(0) == 0)
        out_.broken(kOutputLimit, "max_tokens", "Invalid 'max_tokens': integer below minimum value.");
    if (body["stream_options"].exists() && !body["stream"].bool_or(false))
      out_.broken(kUsageStreamed, "stream_options",
                  "The 'stream_options' parameter is only allowed when 'stream' is enabled.");
    if (body["reasoning_effort"].exists() && !is_plain_name(body["reasoning_effort"].string_or(""), kFunctionNameMax))
      out_.broken(kEffortForm, "reasoning_effort", "Invalid value: 'reasoning_effort'");
    const JsonView format = body["response_format"];
    if (!format.exists()) return;
    if (format["type"].string_or("") != "json_schema" || !is_answer_format(format["json_schema"]))
      out_.broken(kFormatSchema, "response_format", "Invalid schema for response_format.");
  }

  void read_tools(JsonView body) {
    const JsonView tools = body["tools"];
    std::set<std::string> names;
    for (std::size_t i = 0; i < tools.size(); ++i) {
      const std::string at = indexed("tools", i);
      const JsonView tool = tools.at(i), function = tool["function"];
      keys(tool, {"type", "function"}, at);
      keys(function, {"name", "description", "parameters", "strict"}, at + ".function");
      if (tool["type"].string_or("") != "function")
        out_.broken(kToolForm, at + ".type", "Invalid value: '" + at + ".type'. Value must be 'function'.");
      const std::string name(function["name"].string_or(""));
      if (!is_plain_name(name, kFunctionNameMax))
        out_.broken(kToolName, at + ".function.name",
                    "Invalid '" + at + ".function.name': string does not match pattern '^[a-zA-Z0-9_-]+$'.");
      if (!names.insert(name).second)
        out_.broken(kToolsUnique, at + ".function.name", "Duplicate function definition found: '" + name + "'.");
      if (std::string why = function_schema_refusal(name, function["parameters"]); !why.empty())
        out_.broken(kToolSchema, at + ".function.parameters", std::move(why));
    }
    if (tools.size() > kFunctionsMax)
      out_.broken(kToolsCount, "tools", "Invalid 'tools': array too long. Expected an array with maximum length 128.");
    const JsonView choice = body["tool_choice"];
    if (!choice.exists()) return;
    if (tools.size() == 0)
      out_.broken(kToolChoice, "tool_choice", "'tool_choice' is only allowed when 'tools' are specified");
    else if (!is_one_of(choice.string_or(""), {"none", "auto", "required"}))
      out_.broken(kToolChoice, "tool_choice", "Invalid value: 'tool_choice'.");
  }

  void read_messages(JsonView messages) {
    std::size_t said = 0;  // messages besides the system prompt
    std::string_view role, before;
    for (std::size_t i = 0; messages.is_array() && i < messages.size(); ++i) {
      const JsonView message = messages.at(i);
      const std::string at = indexed("messages", i);
      before = role;
      role = message["role"].string_or("");
      if (!is_one_of(role, {"system", "user", "assistant", "tool"}))
        out_.broken(kRolesKnown, at + ".role", "Invalid value: '" + at + ".role'.");
      if (role == "system" && i != 0) out_.broken(kSystemFirst, at, "System message must be at the beginning.");
      if (said == 0 && role == "assistant") out_.broken(kRoleFirst, at, "Conversation roles must begin with user");
      if (!facts_.user_behind_results && role == "user" && before == "tool")
        out_.broken(kUserBehindResults, at, "Unexpected role 'user' after role 'tool'");
      said += role == "system" ? 0u : 1u;
      if (role == "tool") {
        read_result(message, at);
        continue;
      }
      if (!open_.empty()) unanswered(at);
      read_message(message, role, at);
    }
    if (said == 0) return out_.broken(kMessagesSome, "messages", "Invalid 'messages': empty array.");
    const std::string at = indexed("messages", messages.size() - 1);
    if (!open_.empty()) unanswered(at);
    if (role == "assistant" && messages.at(messages.size() - 1)["tool_calls"].size() == 0)
      out_.broken(kRoleLast, at, "Expected last role User or Tool for serving but got assistant");
  }

  void unanswered(const std::string& at) {
    out_.broken(kCallsAnswered, at,
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                "'tool_call_id': calls without results: " +
                    *open_.begin());
    open_.clear();
  }

  void read_result(JsonView message, const std::string& at) {
    keys(message, {"role", "tool_call_id", "content"}, at);
    const std::string id(message["tool_call_id"].string_or(""));
    if (open_.erase(id) == 0)
      out_.broken(kResultsCalled, at + ".tool_call_id",
                  "messages with role 'tool' must be a response to a preceding message with 'tool_calls': " + id);
    read_content(message["content"], false, at + ".content");
  }

  void read_message(JsonView message, std::string_view role, const std::string& at) {
    keys(message, {"role", "content", "tool_calls", "reasoning_content", "reasoning", "name"}, at);
    const JsonView calls = message["tool_calls"];
    const bool thinks = message["reasoning_content"].exists() || message["reasoning"].exists();
    if (role != "assistant" && (calls.exists() || thinks))
      out_.broken(kCallsPlace, at + ".tool_calls", at + ": 'tool_calls' are the assistant's");
    if (!calls.exists() || !message["content"].is_null())
      read_content(message["content"], role == "user", at + ".content");
    for (const char* const thought : {"reasoning_content", "reasoning"})
      if (const JsonView text = message[thought];
          text.exists() && !(facts_.thinking_back && text.is_string() && text.string_or("").empty()))
        read_text(text, at + "." + thought);
    if (facts_.thinking_back && role == "assistant" && !message["reasoning_content"].is_string())
      out_.broken(kThinkingBack, at, "The `reasoning_content` in the thinking mode must be passed back to the API.");
    if (!calls.exists()) return;
    if (!calls.is_array() || calls.size() == 0)
      out_.broken(kCallsSome, at + ".tool_calls", "Invalid '" + at + ".tool_calls': empty array.");
    for (std::size_t i = 0; i < calls.size(); ++i) read_call(calls.at(i), indexed(at + ".tool_calls", i));
  }

  void read_call(JsonView call, const std::string& at) {
    keys(call, {"id", "type", "function"}, at);
    const JsonView function = call["function"];
    keys(function, {"name", "arguments"}, at + ".function");
    const std::string id(call["id"].string_or(""));
    read_id(id, at + ".id");
    if (call["type"].string_or("") != "function")
      out_.broken(kCallForm, at + ".type", "Invalid value: '" + at + ".type'.");
    if (!is_plain_name(function["name"].string_or(""), kFunctionNameMax))
      out_.broken(kCallName, at + ".function.name",
                  "Invalid '" + at + ".function.name': string does not match pattern '^[a-zA-Z0-9_-]+$'.");
    if (!is_json_object(function["arguments"].string_or("")))
      out_.broken(kCallArguments, at + ".function.arguments", at + ": arguments are no JSON object");
    if (!ids_.insert(id).second) out_.broken(kCallIdsUnique, at + ".id", at + ": two calls of one id");
    open_.insert(id);
  }

  void read_id(std::string_view id, const std::string& at) {
    const std::size_t wanted = facts_.call_id_bytes;
    const bool plain =
        std::all_of(id.begin(), id.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; });
    if (wanted != 0 && (id.size() != wanted || !plain))
      out_.broken(kCallIdForm, at,
                  "Tool call id has to be defined, with a length of " + std::to_string(wanted) +
                      " and characters a-z, A-Z, 0-9: " + std::string(id));
    else if (id.empty() || id.size() > kCallIdMax)
      out_.broken(kCallIdForm, at, "Invalid '" + at + "': a tool call needs an id of at most 40 characters.");
  }

  void read_content(JsonView content, bool user, const std::string& at) {
    if (content.is_string()) return read_text(content, at);
    if (!content.is_array() || content.size() == 0) return out_.broken(kContentSome, at, at + ": is missing");
    for (std::size_t i = 0; i < content.size(); ++i) {
      const JsonView part = content.at(i);
      const std::string place = indexed(at, i);
      const std::string_view type = part["type"].string_or("");
      if (!user || !is_one_of(type, {"text", "image_url", "file"})) {
        out_.broken(kPartsKnown, place, "Invalid content type: " + std::string(type));
      } else if (type == "text") {
        keys(part, {"type", "text"}, place);
        read_text(part["text"], place + ".text");
      } else if (type == "image_url") {
        keys(part, {"type", "image_url"}, place);
        if (!is_data_url(part["image_url"]["url"].string_or(""),
                         {"image/jpeg", "image/png", "image/gif", "image/webp"}))
          out_.broken(kMediaForm, place + ".image_url.url", "Invalid 'image_url'.");
      } else {
        keys(part, {"type", "file"}, place);
        if (part["file"]["filename"].string_or("").empty() ||
            !is_data_url(part["file"]["file_data"].string_or(""), {"application/pdf"}))
          out_.broken(kMediaForm, place + ".file", "Invalid 'file': a file needs file_data and a filename.");
      }
    }
  }

  void read_text(JsonView text, const std::string& at) {
    if (text.string_or("").empty())
      out_.broken(kTextNotEmpty, at, at + ": must not be empty");
    else if (is_all_white(text.string_or("")))
      out_.broken(kTextNotBlank, at, at + ": must contain non-whitespace text");
  }

  const WireFacts& facts_;
  RuleReader out_{kRules};
  std::set<std::string> open_, ids_;  // of calls: without a result so far; all
};

Breaches read_body(std::string_view body, const WireFacts& facts) { return Reader(facts).read(body); }

}  // namespace
}  // namespace chat_rules

constinit const WireFormat kChatWire{chat_rules::kRules, chat_rules::read_body};

}  // namespace agentd
