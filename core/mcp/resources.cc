// SPDX-License-Identifier: Apache-2.0
#include "core/mcp/resources.h"

#include <utility>

#include "core/base/bytes.h"
#include "core/conversation/block_markdown.h"
#include "core/conversation/message_json.h"
#include "core/mcp/pages.h"
#include "core/runtime/own_services.h"

namespace agentd::mcp {
namespace {

constexpr std::uint32_t kResourcesPage = 50;
constexpr std::size_t kTextMax = 8u << 20, kShownResourceBytes = 120;
constexpr std::string_view kConversation = "agentd://conversation/", kCheckpoint = "agentd://checkpoint/";
constexpr std::string_view kAsJson = "/json";
constexpr std::string_view kMarkdownType = "text/markdown", kJsonType = "application/json";
constexpr std::string_view kAllSeen = "checkpoints";  // the part of the list behind the conversations

void write_resource(JsonWriter& out, const std::string& uri, std::string_view name, std::string_view title,
                    std::string_view type, std::int64_t changed_ms) {
  out.begin_object().member("uri", uri).member("name", name).optional("title", title).member("mimeType", type);
  if (changed_ms != 0) out.key("annotations").begin_object().member("lastModified", iso_time(changed_ms)).end_object();
  out.end_object();
}

Result<JsonDocument> ask_checkpoints(Runtime& runtime, std::string_view operation, std::string_view input,
                                     const std::string& project) {
  ServiceRequest request;
  request.interface_id = kCheckpointService;
  request.operation = operation;
  request.input_json = input;
  request.project_id = project;
  const ServiceAnswer answer = runtime.registry().call(request);
  if (!answer)
    return Error{answer.error().status == AGENTD_E_NOT_FOUND ? Code::kNotFound : Code::kInvalid,
                 answer.error().message};
  return JsonDocument::parse(*answer);
}

Result<void> write_markdown(std::string& out, const StoredRecord& record) {
  if (record.record.type == RecordType::kBoundary) {
    AGENTD_TRY(const BoundaryRecord boundary, read_boundary(record.record));
    out += "\n---\n\nCompacted (" + boundary.method + ").\n";
  }
  if (!carries_message(record.record.type)) return {};
  AGENTD_TRY(const MessageRecord message, read_message(record.record));
  out += "\n## " + std::to_string(record.seq) + " " + speaker(record) + "\n";
  for (const Block& block : message.message.blocks) out += "\n" + block_markdown(block) + "\n";
  return {};
}

// A text that is too long ends with a mark.
Result<std::string> conversation_text(Store& store, const ConversationInfo& info, const Ulid& id, bool json) {
  JsonWriter out;
  std::string markdown = "# " + (info.title.empty() ? info.id : info.title) + "\n\nConversation `" + info.id + "`.\n";
  out.begin_object().key("conversation").raw(write_info(info)).key("messages").begin_array();
  Result<void> good;
  bool whole = true;
  AGENTD_TRY_VOID(store.read(id, 1, 0, [&](const StoredRecord& record) {
    whole = out.text().size() + markdown.size() < kTextMax;
    if (!whole) return false;
    good = json ? write_record_json(out, record) : write_markdown(markdown, record);
    return good.has_value();
  }));
  if (!good) return good.error();
  out.end_array().member("whole", whole).end_object();
  if (json) return std::string(out.text());
  if (!whole) markdown += "\n*(it continues: `agentd conversation show " + info.id + "`)*\n";
  return markdown;
}

std::string contents(std::string_view uri, std::string_view type, std::string_view text) {
  JsonWriter out;
  out.begin_object().key("contents").begin_array().begin_object().member("uri", uri).member("mimeType", type);
  out.member("text", text).end_object().end_array().end_object();
  return std::string(out.text());
}

Result<JsonDocument> show_checkpoint(Runtime& runtime, std::string_view uri) {
  JsonWriter input;
  input.begin_object().member("id", uri.substr(kCheckpoint.size())).end_object();
  return ask_checkpoints(runtime, "show", input.text(), {});
}

// The conversation of the address, as Markdown or as JSON.
Result<Ulid> conversation_of(std::string_view uri) {
  if (!uri.starts_with(kConversation)) return Error{Code::kInvalid, "it names no conversation"};
  std::string_view name = uri.substr(kConversation.size());
  if (name.ends_with(kAsJson)) name.remove_suffix(kAsJson.size());
  return Ulid::parse(name);
}

Fault not_there(Era era, std::string_view uri) {
  JsonWriter data;
  data.begin_object().member("uri", uri).end_object();
  return {{era == Era::kModern ? kRpcBadParams : kRpcNotFound,
           "there is no resource '" + one_line(uri, kShownResourceBytes) + "'", std::string(data.text())}};
}

}  // namespace

// Conversations, the newest first; then checkpoints.
Result<std::string, Fault> list_resources(Runtime& runtime, const std::string& project, JsonView params) {
  std::string after;
  if (const JsonView cursor = params["cursor"]; cursor.exists()) {
    const auto read = read_cursor("resources", cursor.string_or(""));
    if (!read) return bad_params("'cursor' is not one that resources/list has given");
    after = *read;
  }
  JsonWriter out;
  out.begin_object().key("resources").begin_array();
  std::string next;
  if (after != kAllSeen) {
    ConversationQuery query;
    query.project_id = project;
    query.after = after;
    query.limit = kResourcesPage;
    const auto list = runtime.store().list(query);
    if (!list) return bad_params(list.error().message);
    // One without messages is a client's own, for its tool calls.
    for (const ConversationInfo& info : *list)
      if (info.messages > 0)
        write_resource(out, std::string(kConversation) + info.id, info.id, one_line(info.title, kShownResourceBytes),
                       kMarkdownType, info.updated_ms);
    next = list->size() == kResourcesPage ? list->back().id : std::string(kAllSeen);
  } else if (const auto list = ask_checkpoints(runtime, "list", R"({"limit":100})", project)) {
    const JsonView all = list->root()["checkpoints"];
    for (std::size_t i = 0; i < all.size(); ++i) {
      const JsonView each = all.at(i);
      const std::string id(each["id"].string_or(""));
      const std::string_view name = each["name"].string_or("");
      write_resource(out, std::string(kCheckpoint) + id, id,
                     one_line(name.empty() ? each["title"].string_or("") : name, kShownResourceBytes), kJsonType,
                     each["created_ms"].int_or(0));
    }
  }
  out.end_array();
  if (!next.empty()) out.member("nextCursor", write_cursor("resources", next));
  out.end_object();
  return std::string(out.text());
}

std::string list_templates() {
  JsonWriter out;
  out.begin_object().key("resourceTemplates").begin_array();
  const auto add = [&](const std::string& uri, std::string_view name, std::string_view about, std::string_view type) {
    out.begin_object().member("uriTemplate", uri).member("name", name).member("description", about);
    out.member("mimeType", type).end_object();
  };
  add(std::string(kConversation) + "{id}", "conversation", "A conversation as Markdown", kMarkdownType);
  add(std::string(kConversation) + "{id}/json", "conversation_json", "The messages of a conversation", kJsonType);
  add(std::string(kCheckpoint) + "{id}", "checkpoint", "A checkpoint with its texts", kJsonType);
  out.end_array().end_object();
  return std::string(out.text());
}

Result<ResourcePlace, Fault> find_resource(Runtime& runtime, Era era, std::string_view uri) {
  if (uri.starts_with(kCheckpoint)) {
    const auto found = show_checkpoint(runtime, uri);
    if (!found) return not_there(era, uri);
    const JsonView checkpoint = found->root()["checkpoint"];
    const auto conversation = Ulid::parse(checkpoint["conversation_id"].string_or(""));
    if (!conversation) return not_there(era, uri);
    return ResourcePlace{*conversation, std::string(checkpoint["id"].string_or(""))};
  }
  const auto id = conversation_of(uri);
  if (!id || !runtime.store().info(*id)) return not_there(era, uri);
  return ResourcePlace{*id};
}

Result<std::string, Fault> read_resource(Runtime& runtime, Era era, JsonView params) {
  const std::string_view uri = params["uri"].string_or("");
  if (uri.empty()) return bad_params("'uri' names a resource");
  if (uri.starts_with(kCheckpoint)) {
    const auto found = show_checkpoint(runtime, uri);
    if (!found) return not_there(era, uri);
    return contents(uri, kJsonType, found->root().text());
  }
  const auto id = conversation_of(uri);
  const auto info = id ? runtime.store().info(*id) : Result<ConversationInfo>(id.error());
  if (!info) return not_there(era, uri);
  const bool json = uri.ends_with(kAsJson);
  const auto text = conversation_text(runtime.store(), *info, *id, json);
  if (!text) return Fault{{kRpcInternal, text.error().message}};
  return contents(uri, json ? kJsonType : kMarkdownType, *text);
}

}  // namespace agentd::mcp
