// SPDX-License-Identifier: Apache-2.0
#include "tests/support/openai_wire.h"

#include <functional>

#include "core/codec/json.h"

namespace agentd::testing {
namespace {

std::string quoted(std::string_view text) { return std::string(JsonWriter().string(text).text()); }

std::string joined(const std::vector<std::string>& pieces) {
  std::string out;
  for (const std::string& each : pieces) out += each;
  return out;
}

}  // namespace

// ---- Chat Completions

ChatWire& ChatWire::data(std::string_view data) {
  bytes_ += "data: " + std::string(data) + "\n\n";
  return *this;
}

ChatWire& ChatWire::choice(std::string_view members) {
  return data(R"({"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,)" +
              std::string(members) + "}]}");
}

ChatWire& ChatWire::text(const std::vector<std::string>& pieces) {
  for (const std::string& each : pieces)
    choice(R"("delta":{"role":"assistant","content":)" + quoted(each) + R"(},"finish_reason":null)");
  return *this;
}

ChatWire& ChatWire::thinking(const std::vector<std::string>& pieces, std::string_view key) {
  for (const std::string& each : pieces)
    choice(R"("delta":{"content":null,")" + std::string(key) + "\":" + quoted(each) + R"(},"finish_reason":null)");
  return *this;
}

ChatWire& ChatWire::tool_call(int index, std::string_view id, std::string_view name,
                              const std::vector<std::string>& arguments) {
  const std::string head = R"("delta":{"tool_calls":[{"index":)" + std::to_string(index);
  const std::string tail = R"(}]},"finish_reason":null)";
  choice(head + ",\"id\":" + quoted(id) + R"(,"type":"function","function":{"name":)" + quoted(name) +
         R"(,"arguments":""})" + tail);
  for (const std::string& each : arguments) choice(head + R"(,"function":{"arguments":)" + quoted(each) + "}" + tail);
  return *this;
}

ChatWire& ChatWire::finish(std::string_view reason, std::string_view usage_json) {
  choice(R"("delta":{},"finish_reason":)" + quoted(reason));
  data(R"({"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":)" +
       std::string(usage_json) + "}");
  return data("[DONE]");
}

// ---- Responses

ResponsesWire& ResponsesWire::event(std::string_view type, std::string_view members) {
  bytes_ += "event: " + std::string(type) + "\ndata: {\"type\":\"" + std::string(type) +
            "\",\"sequence_number\":" + std::to_string(number_++) + (members.empty() ? "" : ",") +
            std::string(members) + "}\n\n";
  return *this;
}

std::string ResponsesWire::response(std::string_view status, std::string_view more) const {
  return R"("response":{"id":"resp_1","object":"response","created_at":1,"model":"m","status":")" +
         std::string(status) + R"(","output":[)" + output_ + "]" + std::string(more) + "}";
}

ResponsesWire& ResponsesWire::start() {
  event("response.created", response("in_progress", ""));
  return event("response.in_progress", response("in_progress", ""));
}

void ResponsesWire::item(std::string_view json) {
  event("response.output_item.done", R"("output_index":)" + std::to_string(index_) + ",\"item\":" + std::string(json));
  output_ += (output_.empty() ? "" : ",") + std::string(json);
  ++index_;
}

ResponsesWire& ResponsesWire::text(const std::vector<std::string>& pieces, std::string_view phase) {
  const std::string number = std::to_string(index_), id = "\"msg_" + number + "\"";
  const std::string at = R"("item_id":)" + id + R"(,"output_index":)" + number + R"(,"content_index":0)";
  const std::string said = phase.empty() ? "" : ",\"phase\":" + quoted(phase);
  event("response.output_item.added",
        R"("output_index":)" + number + R"(,"item":{"id":)" + id +
            R"(,"type":"message","status":"in_progress","role":"assistant","content":[])" + said + "}");
  event("response.content_part.added", at + R"(,"part":{"type":"output_text","text":"","annotations":[]})");
  for (const std::string& each : pieces) event("response.output_text.delta", at + ",\"delta\":" + quoted(each));
  event("response.output_text.done", at + ",\"text\":" + quoted(joined(pieces)));
  item(R"({"id":)" + id +
       R"(,"type":"message","status":"completed","role":"assistant","content":[{"type":"output_text",)" + R"("text":)" +
       quoted(joined(pieces)) + R"(,"annotations":[]}])" + said + "}");
  return *this;
}

ResponsesWire& ResponsesWire::refusal(std::string_view text) {
  const std::string number = std::to_string(index_), id = "\"msg_" + number + "\"";
  event("response.refusal.delta",
        R"("item_id":)" + id + R"(,"output_index":)" + number + R"(,"content_index":0,"delta":)" + quoted(text));
  item(R"({"id":)" + id + R"(,"type":"message","status":"completed","role":"assistant","content":[{"type":"refusal",)" +
       R"("refusal":)" + quoted(text) + "}]}");
  return *this;
}

ResponsesWire& ResponsesWire::reasoning(const std::vector<std::string>& summary, std::string_view sealed) {
  // Ids are the vendor's own: no two items of a conversation have one.
  const std::string number = std::to_string(index_),
                    id = "\"rs_" + number + "_" + std::to_string(std::hash<std::string_view>()(sealed)) + "\"";
  const std::string at = R"("item_id":)" + id + R"(,"output_index":)" + number + R"(,"summary_index":0)";
  event("response.output_item.added",
        R"("output_index":)" + number + R"(,"item":{"id":)" + id + R"(,"type":"reasoning","summary":[]})");
  event("response.reasoning_summary_part.added", at + R"(,"part":{"type":"summary_text","text":""})");
  for (const std::string& each : summary)
    event("response.reasoning_summary_text.delta", at + ",\"delta\":" + quoted(each));
  item(R"({"id":)" + id + R"(,"type":"reasoning","summary":[{"type":"summary_text","text":)" + quoted(joined(summary)) +
       R"(}],"encrypted_content":)" + quoted(sealed) + "}");
  return *this;
}

ResponsesWire& ResponsesWire::function_call(std::string_view call_id, std::string_view name,
                                            const std::vector<std::string>& pieces) {
  const std::string number = std::to_string(index_), id = "\"fc_" + number + "\"";
  const std::string head =
      R"({"id":)" + id + R"(,"type":"function_call","call_id":)" + quoted(call_id) + ",\"name\":" + quoted(name);
  const std::string at = R"("item_id":)" + id + R"(,"output_index":)" + number;
  event("response.output_item.added",
        R"("output_index":)" + number + ",\"item\":" + head + R"(,"arguments":"","status":"in_progress"})");
  for (const std::string& each : pieces)
    event("response.function_call_arguments.delta", at + ",\"delta\":" + quoted(each));
  event("response.function_call_arguments.done", at + ",\"arguments\":" + quoted(joined(pieces)));
  item(head + ",\"arguments\":" + quoted(joined(pieces)) + R"(,"status":"completed"})");
  return *this;
}

ResponsesWire& ResponsesWire::finish(std::string_view usage_json) {
  return event("response.completed", response("completed", ",\"usage\":" + std::string(usage_json)));
}

ResponsesWire& ResponsesWire::incomplete(std::string_view reason) {
  return event("response.incomplete",
               response("incomplete", R"(,"incomplete_details":{"reason":)" + quoted(reason) + "}"));
}

ResponsesWire& ResponsesWire::failed(std::string_view code, std::string_view message) {
  return event("response.failed",
               response("failed", R"(,"error":{"code":)" + quoted(code) + ",\"message\":" + quoted(message) + "}"));
}

std::string openai_error_body(std::string_view type, std::string_view code, std::string_view message) {
  JsonWriter out;
  out.begin_object().key("error").begin_object().member("message", message).member("type", type);
  out.key("param").null().key("code");
  if (code.empty())
    out.null();
  else
    out.string(code);
  out.end_object().end_object();
  return std::string(out.text());
}

}  // namespace agentd::testing
