// SPDX-License-Identifier: Apache-2.0
#include "tests/support/google_wire.h"

#include <algorithm>
#include <map>

#include "core/codec/json.h"

namespace agentd::testing {
namespace {

constexpr std::string_view kSkip = "skip_thought_signature_validator";

std::string quoted(std::string_view text) { return std::string(JsonWriter().string(text).text()); }

}  // namespace

GoogleWire& GoogleWire::data(std::string_view json) {
  bytes_ += "data: " + std::string(json) + "\r\n\r\n";
  return *this;
}

void GoogleWire::part(std::string_view members) {
  data(R"({"candidates":[{"content":{"parts":[{)" + std::string(members) +
       R"(}],"role":"model"},"index":0}],"modelVersion":"m","responseId":"r1"})");
}

GoogleWire& GoogleWire::text(const std::vector<std::string>& pieces, std::string_view signature) {
  for (const std::string& each : pieces) part("\"text\":" + quoted(each));
  if (!signature.empty()) part(R"("text":"","thoughtSignature":)" + quoted(signature));
  return *this;
}

GoogleWire& GoogleWire::thinking(const std::vector<std::string>& pieces) {
  for (const std::string& each : pieces) part("\"text\":" + quoted(each) + ",\"thought\":true");
  return *this;
}

GoogleWire& GoogleWire::call(std::string_view id, std::string_view name, std::string_view args,
                             std::string_view signature) {
  part("\"functionCall\":{" + (id.empty() ? std::string() : "\"id\":" + quoted(id) + ",") +
       "\"name\":" + quoted(name) + ",\"args\":" + std::string(args) + "}" +
       (signature.empty() ? std::string() : ",\"thoughtSignature\":" + quoted(signature)));
  return *this;
}

GoogleWire& GoogleWire::finish(std::string_view reason, std::string_view usage_json) {
  return data(
      R"({"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":)" +
      quoted(reason) + R"(,"index":0}],"usageMetadata":)" + std::string(usage_json) + "}");
}

GoogleWire& GoogleWire::blocked(std::string_view reason) {
  return data(R"({"promptFeedback":{"blockReason":)" + quoted(reason) +
              R"(},"usageMetadata":{"promptTokenCount":25}})");
}

std::string google_error_body(int code, std::string_view status, std::string_view message) {
  JsonWriter out;
  out.begin_object().key("error").begin_object().member("code", code).member("message", message);
  out.member("status", status).end_object().end_object();
  return std::string(out.text());
}

namespace {

std::string part_refusal(JsonView part, bool model, std::string_view asked,
                         const GoogleRules& rules) {
  const std::string_view signature = part["thoughtSignature"].string_or("");
  if (rules.own_signatures_alone && !signature.empty() && signature != kSkip &&
      !signature.starts_with(std::string(asked) + "/"))
    return "Corrupted thought signature.";
  const int kinds = static_cast<int>(part["text"].exists()) +
                    static_cast<int>(part["functionCall"].exists()) +
                    static_cast<int>(part["functionResponse"].exists()) +
                    static_cast<int>(part["inlineData"].exists());
  if (kinds != 1) return "required oneof field 'data' must have one initialized field";
  if (part["text"].exists() && part["text"].string_or("").empty())
    return "Unable to submit request because it has an empty text parameter.";
  if (part["functionCall"].exists() && (!model || !part["functionCall"]["args"].is_object()))
    return "Please ensure that function call turn is right.";
  if (part["functionResponse"].exists() &&
      (model || !part["functionResponse"]["response"].is_object() ||
       part["functionResponse"]["name"].string_or("").empty()))
    return "functionResponse: wrong";
  return {};
}

// "" for a user's words, "call" and "answer" for the rest.
struct Content {
  bool model = false;
  std::vector<std::string> calls, results;  // names of tools
  bool words = false, signed_first_call = false;
};

}  // namespace

std::string google_refusal(std::string_view model, std::string_view text,
                           const GoogleRules& rules) {
  const auto document = JsonDocument::parse(text);
  if (!document) return "Invalid JSON payload received.";
  const JsonView body = document->root();
  for (std::size_t i = 0; i < body.size(); ++i) {
    const std::string_view key = body.key_at(i);
    if (key != "systemInstruction" && key != "contents" && key != "tools" && key != "toolConfig" &&
        key != "generationConfig")
      return "Unknown name \"" + std::string(key) + "\": Cannot find field.";
  }
  if (body["toolConfig"].exists() && !body["tools"].exists())
    return "Function calling config is set without function_declarations.";
  const JsonView contents = body["contents"];
  if (contents.size() == 0) return "contents is not specified";
  std::vector<Content> all;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const JsonView content = contents.at(i);
    Content seen;
    seen.model = content["role"].string_or("") == "model";
    if (!seen.model && content["role"].string_or("") != "user")
      return "Please use a valid role: user, model.";
    if (content["parts"].size() == 0) return "contents.parts must not be empty.";
    for (std::size_t p = 0; p < content["parts"].size(); ++p) {
      const JsonView part = content["parts"].at(p);
      if (std::string why = part_refusal(part, seen.model, model, rules); !why.empty()) return why;
      if (part["functionCall"].exists()) {
        if (seen.calls.empty())
          seen.signed_first_call = !part["thoughtSignature"].string_or("").empty();
        seen.calls.emplace_back(part["functionCall"]["name"].string_or(""));
      } else if (part["functionResponse"].exists()) {
        seen.results.emplace_back(part["functionResponse"]["name"].string_or(""));
      } else {
        seen.words = true;
      }
    }
    all.push_back(std::move(seen));
  }
  std::size_t turn = all.size();  // behind the user's last words
  while (turn > 0 && (all[turn - 1].model || !all[turn - 1].results.empty())) --turn;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Content* const before = i == 0 ? nullptr : &all[i - 1];
    if (!all[i].results.empty() && (before == nullptr || before->calls != all[i].results))
      return "Please ensure that the number of function response parts is equal to the number of "
             "function call parts of the function call turn.";
    if (all[i].results.empty() && before != nullptr && !before->calls.empty())
      return "Please ensure that function response turn comes immediately after a function call "
             "turn.";
    if (!all[i].calls.empty() && (before == nullptr || before->model))
      return "Please ensure that function call turn comes immediately after a user turn or after a "
             "function response turn.";
    if (i >= turn && !all[i].calls.empty() && !all[i].signed_first_call)
      return "Function call is missing a thought_signature in functionCall parts.";
  }
  if (all.back().model) return "Please ensure that the last turn is a user turn.";
  return {};
}

}  // namespace agentd::testing
