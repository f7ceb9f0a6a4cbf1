// SPDX-License-Identifier: Apache-2.0
#include "core/codec/json_rpc.h"

#include <charconv>

#include "core/base/bytes.h"
#include "core/codec/canonical_json.h"

namespace agentd {
namespace {

constexpr std::size_t kMethodMax = 1'000;  // bytes

RpcRefusal refused(RpcId id, std::int64_t code, std::string message, bool answered = true) {
  return {std::move(id), {code, std::move(message)}, answered};
}

// The id of a message that cannot be read as a whole: whoever waits for its answer learns why there is none.
RpcId id_in(JsonView message) {
  std::size_t ids = 0;
  for (std::size_t i = 0; i < message.size(); ++i) ids += message.key_at(i) == "id" ? 1u : 0u;
  return ids == 1 ? RpcId::read(message["id"]).value_or(RpcId()) : RpcId();
}

// Tells a text that is no JSON at all from a value that is no message.
RpcRefusal refused_text(std::string_view text, const std::string& why) {
  const auto any = JsonDocument::parse(text);
  if (!any) return refused({}, kRpcNotJson, "the message is not valid JSON: " + any.error().message);
  const JsonView root = any->root();
  if (root.is_array())
    return refused({}, kRpcBadRequest, "the message is a batch, which this protocol does not have: send one by one");
  if (!root.is_object()) return refused({}, kRpcBadRequest, "the message is not an object");
  const bool answers = !root["method"].exists() && (root["result"].exists() || root["error"].exists());
  return refused(id_in(root), kRpcBadRequest, "the message " + why, !answers);
}

// Which members make it the one or the other.
struct Members {
  JsonView id, method, result, error;
};

std::variant<RpcMessage, RpcRefusal> read_call(RpcMessage out, const Members& members, const RpcId& id) {
  if (!members.method.is_string() || members.method.string_or("").empty())
    return refused(id, kRpcBadRequest, "'method' is not a name");
  if (members.method.string_or("").size() > kMethodMax) return refused(id, kRpcBadRequest, "'method' is too long");
  if (members.result.exists() || members.error.exists())
    return refused(id, kRpcBadRequest, "the message has a method and an answer as well");
  const JsonView params = out.document->root()["params"];
  if (params.exists() && !params.is_object() && !params.is_array() && !params.is_null())
    return refused(id, kRpcBadRequest, "'params' is not an object or an array");
  out.kind = members.id.exists() ? RpcMessage::Kind::kRequest : RpcMessage::Kind::kNotification;
  out.method = std::string(members.method.string_or(""));
  out.id = id;
  return out;
}

std::variant<RpcMessage, RpcRefusal> read_answer(RpcMessage out, const Members& members, const RpcId& id) {
  if (!members.id.exists()) return refused(id, kRpcBadRequest, "the message has neither a method nor an id", false);
  const bool fails = members.error.exists() && !members.error.is_null();
  if (fails && members.result.exists() && !members.result.is_null())
    return refused(id, kRpcBadRequest, "the answer has a result and an error as well", false);
  out.id = id;
  out.kind = fails ? RpcMessage::Kind::kFault : RpcMessage::Kind::kResult;
  if (!fails) return out;
  const JsonView code = members.error["code"];
  if (!members.error.is_object() || !code.is_number() || !members.error["message"].is_string())
    return refused(id, kRpcBadRequest, "'error' must have a number 'code' and a text 'message'", false);
  out.fault = {code.int_or(kRpcInternal), std::string(members.error["message"].string_or("")),
               members.error["data"].exists() ? members.error["data"].text() : std::string()};
  return out;
}

void begin(JsonWriter& out) { out.begin_object().member("jsonrpc", "2.0"); }

}  // namespace

RpcId::RpcId(std::int64_t number) : json_(std::to_string(number)) {}

std::optional<RpcId> RpcId::read(JsonView value) {
  RpcId out;
  if (!value.exists() || value.is_null()) return out;
  if (!value.is_string() && !value.is_number()) return std::nullopt;
  out.json_ = value.text();
  if (value.is_number() && !out.number()) return std::nullopt;
  return out;
}

std::optional<std::int64_t> RpcId::number() const {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(json_.data(), json_.data() + json_.size(), out);
  if (error != std::errc() || end != json_.data() + json_.size()) return std::nullopt;
  return out;
}

std::variant<RpcMessage, RpcRefusal> read_rpc(std::string_view text, const RpcLimits& limits) {
  if (text.size() > limits.bytes)
    return refused({}, kRpcBadRequest,
                   "the message has " + std::to_string(text.size()) + " bytes; at most " +
                       std::to_string(limits.bytes) + " are read");
  const auto canonical = canonical_object(text, {limits.bytes, limits.depth, limits.wide_numbers});
  if (!canonical) return refused_text(text, canonical.error().message);
  auto document = JsonDocument::parse(*canonical);
  if (!document) return refused({}, kRpcNotJson, "the message is not valid JSON: " + document.error().message);
  RpcMessage out;
  // Shared by the reader and whoever answers.
  out.document = std::make_shared<const JsonDocument>(std::move(*document));
  const JsonView root = out.document->root();
  const Members members{root["id"], root["method"], root["result"], root["error"]};
  const bool answers = !members.method.exists();
  const auto id = RpcId::read(members.id);
  if (!id) return refused({}, kRpcBadRequest, "'id' is not a text, a whole number or null", !answers);
  if (root["jsonrpc"].string_or("") != "2.0") return refused(*id, kRpcBadRequest, "'jsonrpc' is not \"2.0\"", !answers);
  return answers ? read_answer(std::move(out), members, *id) : read_call(std::move(out), members, *id);
}

std::string rpc_request(const RpcId& id, std::string_view method, std::string_view params) {
  JsonWriter out;
  begin(out);
  out.key("id").raw(id.json()).member("method", method);
  if (!params.empty()) out.key("params").raw(params);
  out.end_object();
  return std::string(out.text());
}

std::string rpc_notification(std::string_view method, std::string_view params) {
  JsonWriter out;
  begin(out);
  out.member("method", method);
  if (!params.empty()) out.key("params").raw(params);
  out.end_object();
  return std::string(out.text());
}

std::string rpc_result(const RpcId& id, std::string_view result) {
  JsonWriter out;
  begin(out);
  out.key("id").raw(id.json()).key("result").raw(result).end_object();
  return std::string(out.text());
}

std::string rpc_fault(const RpcId& id, const RpcFault& fault) {
  JsonWriter out;
  begin(out);
  out.key("id").raw(id.json()).key("error").begin_object();
  out.member("code", fault.code).member("message", fault.message);
  if (!fault.data.empty()) out.key("data").raw(fault.data);
  out.end_object().end_object();
  return std::string(out.text());
}

std::string rpc_cancel(const RpcCancelling& how, const RpcId& id) {
  JsonWriter params;
  params.begin_object().key(how.member).raw(id.json()).end_object();
  return rpc_notification(how.method, params.text());
}

std::optional<RpcId> cancelled_by(const RpcCancelling& how, const RpcMessage& message) {
  if (message.kind != RpcMessage::Kind::kNotification || message.method != how.method) return std::nullopt;
  const JsonView named = message.params()[how.member];
  return named.exists() ? RpcId::read(named) : std::nullopt;
}

}  // namespace agentd
