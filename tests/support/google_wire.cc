// SPDX-License-Identifier: Apache-2.0
#include "tests/support/google_wire.h"

#include "core/codec/json.h"
#include "providers/google/rules.h"

namespace agentd::testing {
namespace {

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
  part("\"functionCall\":{" + (id.empty() ? std::string() : "\"id\":" + quoted(id) + ",") + "\"name\":" + quoted(name) +
       ",\"args\":" + std::string(args) + "}" +
       (signature.empty() ? std::string() : ",\"thoughtSignature\":" + quoted(signature)));
  return *this;
}

GoogleWire& GoogleWire::finish(std::string_view reason, std::string_view usage_json) {
  return data(R"({"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":)" + quoted(reason) +
              R"(,"index":0}],"usageMetadata":)" + std::string(usage_json) + "}");
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

std::string google_refusal(std::string_view model, std::string_view body, const GoogleRules& rules) {
  WireFacts facts;
  if (rules.own_signatures_alone)
    facts.foreign = [own = std::string(model) + "/"](std::string_view seal) { return !seal.starts_with(own); };
  const Breaches broken = kGoogleWire.breaches(body, facts);
  return broken.empty() ? std::string() : broken.front().says;
}

}  // namespace agentd::testing
