// SPDX-License-Identifier: Apache-2.0
#include "core/mcp/protocol.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/bytes.h"
#include "core/mcp/pages.h"

namespace agentd::mcp {
namespace {

constexpr std::size_t kShownFieldBytes = 80;
constexpr std::string_view kOfBatches = "2025-03-26";

// The member of the params that the field Mcp-Name repeats.
struct NameSource {
  std::string_view method, member;
};
constexpr std::array<NameSource, 6> kNames{{{"tools/call", "name"},
                                            {"prompts/get", "name"},
                                            {"resources/read", "uri"},
                                            {"tasks/get", "taskId"},
                                            {"tasks/update", "taskId"},
                                            {"tasks/cancel", "taskId"}}};

Fault mismatch(std::string_view field, const std::string& what) {
  JsonWriter data;
  data.begin_object().key("mismatch").begin_object().member("header", field).member("body", what);
  data.end_object().end_object();
  return {{kMcpHeaderMismatch, "the fields of HTTP and the body disagree: " + what, std::string(data.text())}, 400};
}

// Values that are no plain ASCII come as "=?base64?...?=". nullopt: it is broken.
std::optional<std::string> decoded(std::string_view value) {
  constexpr std::string_view kBegin = "=?base64?", kEnd = "?=";
  value = without_blanks(value);
  const bool wrapped =
      value.size() >= kBegin.size() + kEnd.size() && value.starts_with(kBegin) && value.ends_with(kEnd);
  if (!wrapped) return std::string(value);
  const std::string_view inside = value.substr(kBegin.size(), value.size() - kBegin.size() - kEnd.size());
  return read_base64(inside);
}

std::optional<Fault> check_name(const Fields& fields, const RpcMessage& message) {
  const auto* const source =
      std::find_if(kNames.begin(), kNames.end(), [&](const NameSource& each) { return each.method == message.method; });
  if (source == kNames.end()) return std::nullopt;
  const JsonView value = message.params()[source->member];
  if (!value.is_string()) return std::nullopt;
  const std::string member = "params." + std::string(source->member);
  if (!fields.name) return mismatch(kNameField, "the request has " + member + ", and no field Mcp-Name");
  const auto named = decoded(*fields.name);
  if (!named) return mismatch(kNameField, "the field Mcp-Name is not valid base64");
  if (*named == value.string_or("")) return std::nullopt;
  return mismatch(kNameField, member + " is '" + one_line(value.string_or(""), kShownFieldBytes) + "', and Mcp-Name '" +
                                  one_line(*named, kShownFieldBytes) + "'");
}

Fault unsupported(std::string_view asked) {
  JsonWriter data;
  data.begin_object().key("supported").begin_array().string(kModernVersion);
  for (const std::string_view each : kServedVersions) data.string(each);
  data.end_array().member("requested", asked).end_object();
  return {{kMcpUnsupportedVersion, "this server does not speak version '" + one_line(asked, kShownFieldBytes) + "'",
           std::string(data.text())},
          400};
}

Fault incomplete(std::string_view member) {
  return {{kRpcBadParams, "each request of version " + std::string(kModernVersion) + " has '_meta' with '" +
                              std::string(member) + "'"},
          400};
}

}  // namespace

Fault bad_params(std::string what) { return {{kRpcBadParams, std::move(what)}}; }

std::optional<std::string> claimed_version(const RpcMessage& message) {
  const JsonView claim = message.params()["_meta"][kMetaVersion];
  if (!claim.exists()) return std::nullopt;
  return std::string(claim.string_or(""));
}

Result<Asking, Fault> read_asking(const RpcMessage& message) {
  const JsonView meta = message.params()["_meta"];
  if (!meta[kMetaVersion].is_string()) return incomplete(kMetaVersion);
  const std::string_view version = meta[kMetaVersion].string_or("");
  if (version != kModernVersion) return unsupported(version);
  if (!meta[kMetaAbilities].is_object()) return incomplete(kMetaAbilities);
  Asking out;
  out.era = Era::kModern;
  out.client = meta[kMetaClient]["name"].string_or("");
  out.tasks = meta[kMetaAbilities]["extensions"][kTasksExtension].is_object();
  return out;
}

std::optional<Fault> check_fields(const Fields& fields, const RpcMessage& message) {
  const auto claim = claimed_version(message);
  const bool is_request = message.kind == RpcMessage::Kind::kRequest;
  if (!claim) {
    const bool modern = fields.version && without_blanks(*fields.version) == kModernVersion;
    if (!modern || !is_request) return std::nullopt;
    return incomplete(kMetaVersion);
  }
  if (fields.version && without_blanks(*fields.version) != *claim)
    return mismatch(kVersionField, "'_meta' names version '" + one_line(*claim, kShownFieldBytes) +
                                       "', and MCP-Protocol-Version '" + one_line(*fields.version, kShownFieldBytes) +
                                       "'");
  if (*claim != kModernVersion || !is_request) return std::nullopt;  // read_asking() tells why
  if (!fields.version) return mismatch(kVersionField, "the request has no field MCP-Protocol-Version");
  if (!fields.method) return mismatch(kMethodField, "the request has no field Mcp-Method");
  if (without_blanks(*fields.method) != message.method)
    return mismatch(kMethodField, "the method is '" + one_line(message.method, kShownFieldBytes) +
                                      "', and Mcp-Method '" + one_line(*fields.method, kShownFieldBytes) + "'");
  return check_name(fields, message);
}

namespace {

// A value as a field has it; nullopt: it is none that fields have.
std::optional<std::string> text_of(JsonView value) {
  if (value.is_string()) return std::string(value.string_or(""));
  if (value.is_bool() || value.is_number()) return value.text();
  return std::nullopt;
}

std::optional<Fault> check_members(JsonView schema, JsonView arguments, const FieldOf& field, int levels) {
  const JsonView members = schema["properties"];
  for (std::size_t i = 0; i < members.size() && levels > 0; ++i) {
    const std::string member(members.key_at(i));
    const JsonView rule = members.at(i), value = arguments[member];
    if (!value.exists() || value.is_null()) continue;
    if (value.is_object()) {
      if (auto fault = check_members(rule, value, field, levels - 1)) return fault;
      continue;
    }
    const std::string_view name = rule["x-mcp-header"].string_or("");
    const auto wanted = text_of(value);
    if (name.empty() || !wanted) continue;
    const std::string called = "Mcp-Param-" + std::string(name);
    const auto sent = field(ascii_lower(called));
    if (!sent) return mismatch(called, "the arguments have '" + member + "', and there is no field " + called);
    const auto got = decoded(*sent);
    if (!got) return mismatch(called, "the field " + called + " is not valid base64");
    if (*got != *wanted) return mismatch(called, "the argument '" + member + "' and the field " + called + " differ");
  }
  return std::nullopt;
}

}  // namespace

std::optional<Fault> check_param_fields(std::string_view schema, JsonView arguments, const FieldOf& field) {
  constexpr int kLevels = 8;
  if (schema.find("x-mcp-header") == std::string_view::npos) return std::nullopt;
  const auto read = JsonDocument::parse(schema);
  return read ? check_members(read->root(), arguments, field, kLevels) : std::nullopt;
}

std::string_view negotiated_version(std::string_view asked) {
  if (asked == kOfBatches) return kServedVersions.back();
  const auto* const found = std::find(kServedVersions.begin(), kServedVersions.end(), asked);
  return found == kServedVersions.end() ? kServedVersions.front() : *found;
}

void write_server(JsonWriter& out, std::string_view version) {
  out.begin_object().member("name", "agentd").member("title", "agentd").member("version", version).end_object();
}

void write_abilities(JsonWriter& out, Era era) {
  out.begin_object();
  for (const std::string_view each : {"tools", "prompts"})
    out.key(each).begin_object().member("listChanged", true).end_object();
  out.key("resources").begin_object().member("subscribe", true).member("listChanged", true).end_object();
  out.key("completions").begin_object().end_object();
  if (era == Era::kLegacy) out.key("logging").begin_object().end_object();
  if (era == Era::kModern) {
    out.key("extensions").begin_object().key(kTasksExtension).begin_object().end_object().end_object();
  }
  out.end_object();
}

std::string dressed(std::string_view json, const Dress& dress) {
  if (dress.era == Era::kLegacy) return std::string(json);
  JsonWriter out;
  out.begin_object().member("resultType", dress.type);
  if (dress.ttl_ms) out.member("ttlMs", *dress.ttl_ms).member("cacheScope", "private");
  out.key("_meta").begin_object().key(kMetaServer);
  write_server(out, dress.version);
  if (!dress.subscription.empty()) out.key(kMetaSubscription).raw(dress.subscription);
  out.end_object().end_object();
  std::string text(out.text());
  if (json == "{}") return text;
  text.back() = ',';
  return text.append(json.substr(1));
}

}  // namespace agentd::mcp
