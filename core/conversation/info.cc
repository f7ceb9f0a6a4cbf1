// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/info.h"

#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

constexpr std::size_t kTitleBytes = 80;

Result<void> fold_message(ConversationInfo& info, const StoredRecord& record) {
  ++info.messages;
  if (info.view_first_seq == 0) info.view_first_seq = record.seq;
  if (record.record.type != RecordType::kUserMessage || !info.title.empty()) return {};
  AGENTD_TRY(const MessageRecord message, read_message(record.record));
  if (message.source == "recipe") return {};  // not a user's words
  info.title = one_line(message.message.text(), kTitleBytes);
  return {};
}

Result<void> fold_boundary(ConversationInfo& info, const StoredRecord& record) {
  AGENTD_TRY(const BoundaryRecord boundary, read_boundary(record.record));
  ++info.compactions;
  info.boundary_seq = record.seq;
  info.view_first_seq = record.seq;
  if (boundary.summary_seq != 0) info.view_first_seq = boundary.summary_seq;
  for (const SeqRange& range : boundary.kept) info.view_first_seq = std::min(info.view_first_seq, range.first);
  return {};
}

Result<void> fold_wait(ConversationInfo& info, const StoredRecord& record) {
  AGENTD_TRY(const WaitRecord wait, read_wait(record.record));
  if (wait.conversation_id == info.id) info.wait = {wait.id, wait.call_id, record.seq};
  return {};
}

Result<void> fold_checkpoint(ConversationInfo& info, const StoredRecord& record) {
  AGENTD_TRY(const CheckpointRecord checkpoint, read_checkpoint(record.record));
  // A record that only adds texts is no newer place.
  if (checkpoint.conversation_id == info.id && !checkpoint.why.empty()) info.checkpoint = {checkpoint.id, record.seq};
  return {};
}

void fold_result(ConversationInfo& info, const ToolResultRecord& result) {
  if (result.call_id == info.wait.call_id) info.wait = {};
}

void write_totals(JsonWriter& out, std::string_view key, const Usage& usage) {
  out.key(key).begin_object();
  out.member("input", usage.input).member("output", usage.output);
  out.member("cache_read", usage.cache_read).member("cache_write", usage.cache_write);
  out.member("reasoning", usage.reasoning).member("cost_nano_usd", usage.cost_nano_usd);
  if (usage.cache_write_long != 0) out.member("cache_write_long", usage.cache_write_long);
  if (usage.unpriced != 0) out.member("unpriced", usage.unpriced);
  out.end_object();
}

}  // namespace

Result<void> fold(ConversationInfo& info, const StoredRecord& record) {
  AGENTD_TRY_VOID(refuse_unknown(record));
  info.revision = record.seq;
  info.updated_ms = record.time_ms;
  const RecordType type = record.record.type;
  if (type == RecordType::kGenesis) {
    AGENTD_TRY(const GenesisRecord genesis, read_genesis(record.record));
    info.id = genesis.conversation_id;
    info.project_id = genesis.project_id;
    info.cwd = genesis.cwd;
    info.provider = genesis.provider;
    info.model = genesis.model;
    info.parent = genesis.parent;
    info.parent_seq = genesis.parent_seq;
    info.agent_type = genesis.agent_type;
    info.created_ms = record.time_ms;
  } else if (type == RecordType::kRunBegin) {
    AGENTD_TRY(const RunBeginRecord begin, read_run_begin(record.record));
    if (!begin.provider.empty()) info.provider = begin.provider;
    if (!begin.model.empty()) info.model = begin.model;
    info.runs = std::max(info.runs, record.record.run);
  } else if (type == RecordType::kUsage) {
    AGENTD_TRY(const UsageRecord usage, read_usage(record.record));
    const bool forked = !info.parent.empty() && info.agent_type.empty();
    (forked && record.seq <= info.parent_seq ? info.inherited : info.usage) += usage.usage;
  } else if (type == RecordType::kBoundary) {
    return fold_boundary(info, record);
  } else if (type == RecordType::kRevert) {
    AGENTD_TRY(const RevertRecord revert, read_revert(record.record));
    // When the record does not say, the hidden messages may start anywhere before the boundary.
    info.boundary_seq = revert.boundary_seq;
    info.view_first_seq = std::max<std::uint64_t>(revert.first_seq, 1);
    if (info.compactions > 0) --info.compactions;
  } else if (type == RecordType::kMeta) {
    AGENTD_TRY(const MetaRecord meta, read_meta(record.record));
    if (meta.title) info.title = *meta.title;
  } else if (type == RecordType::kCheckpoint) {
    return fold_checkpoint(info, record);
  } else if (type == RecordType::kErase) {
    const bool forked = !info.parent.empty() && info.agent_type.empty();
    if (forked && record.seq == info.parent_seq + info.brought + 1) ++info.brought;
  } else if (type == RecordType::kWait) {
    return fold_wait(info, record);
  } else if (type == RecordType::kDirectResult && !info.wait.id.empty()) {
    AGENTD_TRY(const ToolResultRecord result, read_direct_result(record.record));
    fold_result(info, result);
  } else if (carries_message(type)) {
    if (type == RecordType::kToolResult && !info.wait.id.empty()) {
      AGENTD_TRY(const ToolResultRecord result, read_tool_result(record.record));
      fold_result(info, result);
    }
    return fold_message(info, record);
  }
  return {};
}

// Store::fork copies the parent's records, and adds the erase records that concern them and one that sets the title.
bool is_fresh_fork(const ConversationInfo& info) {
  return !info.parent.empty() && info.agent_type.empty() && info.revision == info.parent_seq + info.brought + 1;
}

std::string write_info(const ConversationInfo& info) {
  JsonWriter out;
  out.begin_object().member("id", info.id).member("title", info.title);
  out.member("project_id", info.project_id).member("cwd", info.cwd);
  out.member("provider", info.provider).member("model", info.model).optional("parent", info.parent);
  if (info.parent_seq != 0) out.member("parent_seq", info.parent_seq);
  out.optional("agent_type", info.agent_type);
  out.member("created_ms", info.created_ms).member("updated_ms", info.updated_ms);
  out.member("revision", info.revision).member("messages", info.messages);
  out.member("compactions", info.compactions).member("runs", static_cast<unsigned>(info.runs));
  if (info.brought != 0) out.member("brought", info.brought);
  out.member("boundary_seq", info.boundary_seq).member("view_first_seq", info.view_first_seq);
  write_totals(out, "usage", info.usage);
  if (info.inherited != Usage{}) write_totals(out, "inherited_usage", info.inherited);
  if (!info.wait.id.empty())
    out.key("wait")
        .begin_object()
        .member("id", info.wait.id)
        .member("call_id", info.wait.call_id)
        .member("seq", info.wait.seq)
        .end_object();
  if (!info.checkpoint.id.empty())
    out.key("checkpoint")
        .begin_object()
        .member("id", info.checkpoint.id)
        .member("seq", info.checkpoint.seq)
        .end_object();
  out.end_object();
  return std::string(out.text());
}

Result<ConversationInfo> read_info(std::string_view json) {
  auto document = JsonDocument::parse(json);
  if (!document || !document->root().is_object())
    return Error{Code::kCorrupt, "the index of a conversation is not a JSON object"};
  const JsonView root = document->root();
  const auto text = [&](std::string_view key) { return std::string(root[key].string_or({})); };
  ConversationInfo info;
  info.id = text("id");
  info.title = text("title");
  info.project_id = text("project_id");
  info.cwd = text("cwd");
  info.provider = text("provider");
  info.model = text("model");
  info.parent = text("parent");
  info.parent_seq = root["parent_seq"].uint_or(0);
  info.agent_type = text("agent_type");
  info.created_ms = root["created_ms"].int_or(0);
  info.updated_ms = root["updated_ms"].int_or(0);
  info.revision = root["revision"].uint_or(0);
  info.messages = root["messages"].uint_or(0);
  info.compactions = root["compactions"].uint_or(0);
  info.runs = static_cast<std::uint32_t>(root["runs"].uint_or(0));
  info.brought = root["brought"].uint_or(0);
  info.boundary_seq = root["boundary_seq"].uint_or(0);
  info.view_first_seq = root["view_first_seq"].uint_or(0);
  info.usage = read_usage_json(root["usage"]);
  info.inherited = read_usage_json(root["inherited_usage"]);
  const JsonView wait = root["wait"];
  info.wait = {std::string(wait["id"].string_or("")), std::string(wait["call_id"].string_or("")),
               wait["seq"].uint_or(0)};
  const JsonView checkpoint = root["checkpoint"];
  info.checkpoint = {std::string(checkpoint["id"].string_or("")), checkpoint["seq"].uint_or(0)};
  return info;
}

}  // namespace agentd
