// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/record.h"

#include <array>
#include <utility>

#include "core/codec/json.h"
#include "core/conversation/tool_input.h"

namespace agentd {
namespace {

struct TypeRow {
  RecordType type;
  std::string_view name;
  bool critical;
  std::string_view keys;
};
constexpr TypeRow kTypes[] = {
#define AGENTD_RECORD_TYPE(number, Name, name, critical, keys) {RecordType::k##Name, #name, (critical) != 0, keys},
    AGENTD_RECORD_TYPES(AGENTD_RECORD_TYPE)
#undef AGENTD_RECORD_TYPE
};

const TypeRow* find_type(RecordType type) {
  for (const TypeRow& row : kTypes)
    if (row.type == type) return &row;
  return nullptr;
}

constexpr std::array<std::pair<BlockKind, std::string_view>, 6> kKinds{{
    {BlockKind::kText, "text"},
    {BlockKind::kThinking, "thinking"},
    {BlockKind::kToolUse, "tool_use"},
    {BlockKind::kToolResult, "tool_result"},
    {BlockKind::kImage, "image"},
    {BlockKind::kDocument, "document"},
}};

std::string_view name_of_kind(BlockKind kind) {
  for (const auto& [value, name] : kKinds)
    if (value == kind) return name;
  return "text";
}

Record finish(RecordType type, JsonWriter& out) {
  out.end_object();
  Record record;
  record.type = type;
  record.flags = find_type(type)->critical ? Record::kCritical : 0;
  record.payload = std::string(out.text());
  return record;
}

Result<JsonDocument> open(const Record& from, RecordType type) {
  if (from.type != type)
    return Error{Code::kCorrupt,
                 "a " + std::string(name_of(from.type)) + " record is read as " + std::string(name_of(type))};
  auto parsed = JsonDocument::parse(from.payload);
  if (!parsed || !parsed->root().is_object())
    return Error{Code::kCorrupt, "the payload of a " + std::string(name_of(type)) + " record is not a JSON object"};
  return parsed;
}

std::string text(JsonView view, std::string_view key) { return std::string(view[key].string_or({})); }

void write_blocks(JsonWriter& out, const std::vector<Block>& blocks);

// A block's text is stored unchanged; empty members are left out.
void write_block(JsonWriter& out, const Block& block) {
  out.begin_object().member("kind", name_of_kind(block.kind));
  out.optional("text", block.text).optional("name", block.name).optional("call_id", block.call_id);
  out.optional("json", block.json).optional("opaque", block.opaque);
  if (block.flags != 0) out.member("flags", static_cast<unsigned>(block.flags));
  if (!block.parts.empty()) {
    out.key("parts");
    write_blocks(out, block.parts);
  }
  out.end_object();
}

void write_blocks(JsonWriter& out, const std::vector<Block>& blocks) {
  out.begin_array();
  for (const Block& block : blocks) write_block(out, block);
  out.end_array();
}

std::vector<Block> read_blocks(JsonView from) {
  std::vector<Block> out;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const JsonView view = from.at(i);
    Block block;
    for (const auto& [kind, name] : kKinds)
      if (name == view["kind"].string_or({})) block.kind = kind;
    block.flags = static_cast<std::uint16_t>(view["flags"].uint_or(0));
    block.text = text(view, "text");
    block.name = text(view, "name");
    block.call_id = text(view, "call_id");
    block.json = text(view, "json");
    if (block.kind == BlockKind::kToolUse) block.json = readable_input(std::move(block.json));
    block.opaque = text(view, "opaque");
    block.parts = read_blocks(view["parts"]);
    out.push_back(std::move(block));
  }
  return out;
}

RecordType type_of(const Message& message) {
  switch (message.role) {
    case Role::kAssistant:
      return RecordType::kAssistantMessage;
    case Role::kSummary:
      return RecordType::kSummary;
    case Role::kUser:
      break;
  }
  return (message.flags & AGENTD_MESSAGE_CONTEXT) != 0 ? RecordType::kContext : RecordType::kUserMessage;
}

}  // namespace

void write_usage_json(JsonWriter& out, const Usage& usage) {
  out.member("input", usage.input).member("output", usage.output);
  if (usage.cache_read != 0) out.member("cache_read", usage.cache_read);
  if (usage.cache_write != 0) out.member("cache_write", usage.cache_write);
  if (usage.reasoning != 0) out.member("reasoning", usage.reasoning);
  if (usage.cost_nano_usd != 0) out.member("cost_nano_usd", usage.cost_nano_usd);
  if (usage.cache_write_long != 0) out.member("cache_write_long", usage.cache_write_long);
  if (usage.unpriced != 0) out.member("unpriced", usage.unpriced);
}

Usage read_usage_json(JsonView from) {
  Usage usage;
  usage.input = from["input"].uint_or(0);
  usage.output = from["output"].uint_or(0);
  usage.cache_read = from["cache_read"].uint_or(0);
  usage.cache_write = from["cache_write"].uint_or(0);
  usage.reasoning = from["reasoning"].uint_or(0);
  usage.cost_nano_usd = from["cost_nano_usd"].uint_or(0);
  usage.cache_write_long = from["cache_write_long"].uint_or(0);
  usage.unpriced = from["unpriced"].uint_or(0);
  return usage;
}

std::string_view name_of(RecordType type) {
  const TypeRow* const row = find_type(type);
  return row == nullptr ? std::string_view() : row->name;
}

std::string record_types_table() {
  std::string out = "| No. | Kind | Critical | Keys |\n|---|---|---|---|\n";
  for (const TypeRow& row : kTypes)
    out.append("| ")
        .append(std::to_string(static_cast<unsigned>(row.type)))
        .append(" | ")
        .append(row.name)
        .append(row.critical ? " | yes | " : " | | ")
        .append(row.keys)
        .append(" |\n");
  return out;
}

Result<void> refuse_unknown(const StoredRecord& record) {
  if (!name_of(record.record.type).empty() || (record.record.flags & Record::kCritical) == 0) return {};
  return Error{Code::kCorrupt, "record " + std::to_string(record.seq) + " has a kind (" +
                                   std::to_string(static_cast<unsigned>(record.record.type)) +
                                   ") that was written by a newer agentd: update agentd to read it"};
}

Record write_genesis(const GenesisRecord& from) {
  JsonWriter out;
  out.begin_object().member("conversation_id", from.conversation_id);
  out.optional("project_id", from.project_id).optional("cwd", from.cwd);
  out.optional("provider", from.provider).optional("model", from.model);
  if (!from.parent.empty())
    out.member("parent", from.parent).member("parent_seq", from.parent_seq).member("parent_chain", from.parent_chain);
  out.optional("agent_type", from.agent_type);
  return finish(RecordType::kGenesis, out);
}

Result<GenesisRecord> read_genesis(const Record& from) {
  AGENTD_TRY(const JsonDocument document, open(from, RecordType::kGenesis));
  const JsonView root = document.root();
  return GenesisRecord{text(root, "conversation_id"), text(root, "project_id"),   text(root, "cwd"),
                       text(root, "provider"),        text(root, "model"),        text(root, "parent"),
                       root["parent_seq"].uint_or(0), text(root, "parent_chain"), text(root, "agent_type")};
}

Record write_settings(const SettingsRecord& from) {
  JsonWriter out;
  out.begin_object().member("provider", from.provider).member("model", from.model);
  out.member("system_digest", hex(sha256(from.system)));
  out.member("tools_digest", hex(sha256(from.tools_json)));
  return finish(RecordType::kSettings, out);
}

Result<SettingsRecord> read_settings(const Record& from) {
  AGENTD_TRY(const JsonDocument document, open(from, RecordType::kSettings));
  const JsonView root = document.root();
  return SettingsRecord{text(root, "system_digest"), text(root, "tools_digest"), text(root, "provider"),
                        text(root, "model")};
}

Record write_message(const MessageRecord& from) {
  const RecordType type = type_of(from.message);
  JsonWriter out;
  out.begin_object().key("blocks");
  write_blocks(out, from.message.blocks);
  if (from.message.flags != 0) out.member("flags", static_cast<unsigned>(from.message.flags));
  if (type == RecordType::kAssistantMessage) out.member("stop_reason", name_of(from.stop_reason));
  if (from.message.role == Role::kAssistant && type != RecordType::kAssistantMessage) out.member("role", "assistant");
  out.optional("source", from.source).optional("author", from.author);
  if (type == RecordType::kUserMessage) out.optional("key", from.key);
  if (from.origin.known()) {
    out.key("origin").begin_object().optional("provider", from.origin.provider);
    out.optional("api", from.origin.api).member("model", from.origin.model).end_object();
  }
  return finish(type, out);
}

bool carries_message(RecordType type) {
  return type == RecordType::kUserMessage || type == RecordType::kContext || type == RecordType::kAssistantMessage ||
         type == RecordType::kToolResult || type == RecordType::kSummary;
}

namespace {
Result<MessageRecord> message_of_tool_result(const Record& from) {
  AGENTD_TRY(ToolResultRecord result, read_tool_result(from));
  MessageRecord out;
  out.message.role = Role::kUser;
  Block block = Block::tool_result(result.call_id, result.text, result.status != "ok");
  block.name = result.name;
  block.parts = std::move(result.parts);
  out.message.blocks.push_back(std::move(block));
  return out;
}
}  // namespace

Result<MessageRecord> read_message(const Record& from) {
  if (from.type == RecordType::kToolResult) return message_of_tool_result(from);
  if (!carries_message(from.type))
    return Error{Code::kCorrupt, "a " + std::string(name_of(from.type)) + " record is not a message"};
  AGENTD_TRY(const JsonDocument document, open(from, from.type));
  const JsonView root = document.root();
  MessageRecord out;
  out.message.role = from.type == RecordType::kAssistantMessage ? Role::kAssistant
                     : from.type == RecordType::kSummary        ? Role::kSummary
                                                                : Role::kUser;
  out.message.flags = static_cast<std::uint16_t>(root["flags"].uint_or(0));
  out.message.blocks = read_blocks(root["blocks"]);
  out.stop_reason = stop_reason_of(root["stop_reason"].string_or("end_turn"));
  out.source = text(root, "source");
  out.author = text(root, "author");
  const JsonView origin = root["origin"];
  out.origin = {text(origin, "provider"), text(origin, "api"), text(origin, "model")};
  out.key = text(root, "key");
  return out;
}

Record write_usage(const UsageRecord& from) {
  JsonWriter out;
  out.begin_object();
  write_usage_json(out, from.usage);
  out.member("for_seq", from.for_seq).member("purpose", from.purpose);
  if (from.estimated != 0) out.member("estimated", from.estimated);
  if (from.hidden != 0) out.member("hidden", from.hidden);
  return finish(RecordType::kUsage, out);
}

Result<UsageRecord> read_usage(const Record& from) {
  AGENTD_TRY(const JsonDocument document, open(from, RecordType::kUsage));
  const JsonView root = document.root();
  return UsageRecord{read_usage_json(root), root["for_seq"].uint_or(0), text(root, "purpose"),
                     root["estimated"].uint_or(0), root["hidden"].uint_or(0)};
}

Record write_tool_intent(const ToolIntentRecord& from) {
  JsonWriter out;
  out.begin_object().member("call_id", from.call_id).member("name", from.name);
  out.member("input_digest", from.input_digest).member("effects", from.effects);
  out.member("attempt", static_cast<unsigned>(from.attempt));
  if (from.direct) out.member("direct", true);
  return finish(RecordType::kToolIntent, out);
}

Result<ToolIntentRecord> read_tool_intent(const Record& from) {
  AGENTD_TRY(const JsonDocument document, open(from, RecordType::kToolIntent));
  const JsonView root = document.root();
  return ToolIntentRecord{text(root, "call_id"),
                          text(root, "name"),
                          text(root, "input_digest"),
                          text(root, "effects"),
                          static_cast<std::uint32_t>(root["attempt"].uint_or(1)),
                          root["direct"].bool_or(false)};
}

namespace {

Record write_result(RecordType type, const ToolResultRecord& from) {
  JsonWriter out;
  out.begin_object().member("call_id", from.call_id).member("name", from.name);
  out.member("status", from.status).member("text", from.text);
  if (!from.parts.empty()) {
    out.key("parts");
    write_blocks(out, from.parts);
  }
  if (from.full_bytes > from.text.size()) out.member("full_bytes", from.full_bytes);
  if (!from.scrubbed.empty()) {
    out.key("scrubbed").begin_object();
    for (const auto& [rule, count] : from.scrubbed) out.member(rule, std::uint64_t{count});
    out.end_object();
  }
  out.member("duration_ms", from.duration_ms);
  return finish(type, out);
}

Result<ToolResultRecord> read_result(RecordType type, const Record& from) {
  AGENTD_TRY(const JsonDocument document, open(from, type));
  const JsonView root = document.root();
  ToolResultRecord out;
  out.call_id = text(root, "call_id");
  out.name = text(root, "name");
  out.text = text(root, "text");
  out.status = text(root, "status");
  out.parts = read_blocks(root["parts"]);
  out.full_bytes = root["full_bytes"].uint_or(out.text.size());
  for (std::size_t i = 0; i < root["scrubbed"].size(); ++i)
    out.scrubbed[std::string(root["scrubbed"].key_at(i))] = root["scrubbed"].at(i).uint_or(0);
  out.duration_ms = root["duration_ms"].int_or(0);
  return out;
}

}  // namespace

Record write_tool_result(const ToolResultRecord& from) { return write_result(RecordType::kToolResult, from); }
Result<ToolResultRecord> read_tool_result(const Record& from) { return read_result(RecordType::kToolResult, from); }
Record write_direct_result(const ToolResultRecord& from) { return write_result(RecordType::kDirectResult, from); }
Result<ToolResultRecord> read_direct_result(const Record& from) { return read_result(RecordType::kDirectResult, from); }

Record write_boundary(const BoundaryRecord& from) {
  JsonWriter out;
  out.begin_object().member("id", from.id).member("session_id", from.session_id);
  out.member("trigger", from.trigger).member("reason", from.reason).member("phase", from.phase);
  out.member("strategy", from.strategy).member("method", from.method).member("result", from.result);
  out.optional("instructions", from.instructions).optional("model", from.model);
  out.optional("author", from.author);
  out.member("base_seq", from.base_seq).member("summary_seq", from.summary_seq);
  out.key("kept").begin_array();
  for (const SeqRange& range : from.kept) out.begin_array().number(range.first).number(range.last).end_array();
  out.end_array();
  if (!from.prunes.empty()) {
    out.key("prunes").begin_array();
    for (const Prune& prune : from.prunes)
      out.begin_array().number(prune.seq).number(prune.block).number(prune.prefix_bytes).end_array();
    out.end_array();
  }
  out.member("pre_tokens", from.pre_tokens).member("post_tokens", from.post_tokens);
  out.member("duration_ms", from.duration_ms);
  if (from.useless != 0) out.member("useless", from.useless);
  if (from.useless_before != 0) out.member("useless_before", from.useless_before);
  if (from.aimed != 0) out.member("aimed", from.aimed);
  if (from.hidden != 0) out.member("hidden", from.hidden);
  return finish(RecordType::kBoundary, out);
}

Result<BoundaryRecord> read_boundary(const Record& from) {
  AGENTD_TRY(const JsonDocument document, open(from, RecordType::kBoundary));
  const JsonView root = document.root();
  BoundaryRecord out;
  out.id = text(root, "id");
  out.session_id = text(root, "session_id");
  out.trigger = text(root, "trigger");
  out.reason = text(root, "reason");
  out.phase = text(root, "phase");
  out.strategy = text(root, "strategy");
  out.method = text(root, "method");
  out.result = text(root, "result");
  out.instructions = text(root, "instructions");
  out.model = text(root, "model");
  out.author = text(root, "author");
  out.base_seq = root["base_seq"].uint_or(0);
  out.summary_seq = root["summary_seq"].uint_or(0);
  for (std::size_t i = 0; i < root["kept"].size(); ++i) {
    const JsonView range = root["kept"].at(i);
    out.kept.push_back({range.at(0).uint_or(0), range.at(1).uint_or(0)});
    if (out.kept.back().first == 0 || out.kept.back().last < out.kept.back().first)
      return Error{Code::kCorrupt, "a boundary record keeps an invalid range"};
  }
  for (std::size_t i = 0; i < root["prunes"].size(); ++i) {
    const JsonView prune = root["prunes"].at(i);
    out.prunes.push_back(
        {prune.at(0).uint_or(0), static_cast<std::uint32_t>(prune.at(1).uint_or(0)), prune.at(2).uint_or(0)});
  }
  out.pre_tokens = root["pre_tokens"].uint_or(0);
  out.post_tokens = root["post_tokens"].uint_or(0);
  out.duration_ms = root["duration_ms"].int_or(0);
  out.useless = static_cast<std::uint32_t>(root["useless"].uint_or(0));
  out.useless_before = static_cast<std::uint32_t>(root["useless_before"].uint_or(0));
  out.aimed = root["aimed"].uint_or(0);
  out.hidden = root["hidden"].uint_or(0);
  return out;
}

Record write_compaction_attempt(const CompactionAttemptRecord& from) {
  JsonWriter out;
  out.begin_object().member("trigger", from.trigger).member("reason", from.reason);
  out.member("phase", from.phase).member("outcome", from.outcome);
  out.optional("method", from.method).optional("error", from.error);
  if (from.tokens != 0) out.member("tokens", from.tokens);
  return finish(RecordType::kCompactionAttempt, out);
}

Result<CompactionAttemptRecord> read_compaction_attempt(const Record& from) {
  AGENTD_TRY(const JsonDocument document, open(from, RecordType::kCompactionAttempt));
  const JsonView root = document.root();
  return CompactionAttemptRecord{text(root, "trigger"),    text(root, "reason"), text(root, "phase"),
                                 text(root, "outcome"),    text(root, "method"), text(root, "error"),
                                 root["tokens"].uint_or(0)};
}

Record write_revert(const RevertRecord& from) {
  JsonWriter out;
  out.begin_object().member("to_seq", from.to_seq);
  if (from.first_seq != 0) out.member("boundary_seq", from.boundary_seq).member("first_seq", from.first_seq);
  return finish(RecordType::kRevert, out);
}

Result<RevertRecord> read_revert(const Record& from) {
  AGENTD_TRY(const JsonDocument document, open(from, RecordType::kRevert));
  const JsonView root = document.root();
  return RevertRecord{root["to_seq"].uint_or(0), root["boundary_seq"].uint_or(0), root["first_seq"].uint_or(0)};
}

Record write_hook_effect(const HookEffectRecord& from) {
  JsonWriter out;
  out.begin_object().member("event", from.event).member("plugin", from.plugin);
  out.optional("plugin_digest", from.plugin_digest).member("effect", from.effect);
  out.optional("before_digest", from.before_digest).optional("after_digest", from.after_digest);
  out.optional("reason", from.reason);
  return finish(RecordType::kHookEffect, out);
}

Record write_permission(const PermissionRecord& from) {
  JsonWriter out;
  out.begin_object().member("call_id", from.call_id).member("tool", from.tool);
  out.member("decision", from.decision).member("by", from.by).optional("reason", from.reason);
  return finish(RecordType::kPermission, out);
}

Result<PermissionRecord> read_permission(const Record& from) {
  AGENTD_TRY(const JsonDocument document, open(from, RecordType::kPermission));
  const JsonView root = document.root();
  return PermissionRecord{text(root, "call_id"), text(root, "tool"), text(root, "decision"), text(root, "by"),
                          text(root, "reason")};
}

namespace {

// Nothing where there are none.
void write_texts(JsonWriter& out, std::string_view key, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  out.key(key).begin_array();
  for (const std::string& text : texts) out.string(text);
  out.end_array();
}

std::vector<std::string> read_texts(JsonView list) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < list.size(); ++i) out.emplace_back(list.at(i).string_or(""));
  return out;
}

}  // namespace

Record write_wait(const WaitRecord& from) {
  JsonWriter out;
  out.begin_object().member("id", from.id).member("conversation_id", from.conversation_id);
  out.member("call_id", from.call_id).member("tool", from.tool).optional("tool_digest", from.tool_digest);
  out.member("input", from.input);
  if (from.direct) out.member("direct", true);
  out.optional("by", from.by).optional("reason", from.reason);
  if (!from.hooks.empty()) {
    out.key("hooks").begin_array();
    for (const WaitRecord::AskedHook& hook : from.hooks)
      out.begin_object().member("name", hook.name).optional("digest", hook.digest).end_object();
    out.end_array();
  }
  out.member("until_ms", from.until_ms);
  if (!from.child_wait.empty())
    out.key("child")
        .begin_object()
        .member("conversation_id", from.child_conversation)
        .member("wait", from.child_wait)
        .end_object();
  out.member("provider", from.provider).member("model", from.model).member("cwd", from.cwd);
  out.optional("cwd_identity", from.cwd_identity);
  write_texts(out, "roots", from.roots);
  write_texts(out, "unreadable", from.unreadable);
  write_texts(out, "options", from.options);
  if (from.no_task) out.member("no_task", true);
  out.optional("recipe", from.recipe).optional("recipe_state", from.recipe_state).member("turn", from.turn);
  if (from.max_turns != 0) out.member("max_turns", from.max_turns);
  if (from.continuation != 0) out.member("continuation", from.continuation);
  if (!(from.spent == Usage{})) {
    out.key("spent").begin_object();
    write_usage_json(out, from.spent);
    out.end_object();
  }
  out.optional("output_schema", from.output_schema);
  if (!from.contexts.empty()) {
    out.key("contexts").begin_array();
    for (const WaitRecord::Context& context : from.contexts)
      out.begin_object()
          .optional("source", context.source)
          .member("author", context.author)
          .member("text", context.text)
          .end_object();
    out.end_array();
  }
  return finish(RecordType::kWait, out);
}

Result<WaitRecord> read_wait(const Record& from) {
  AGENTD_TRY(const JsonDocument document, open(from, RecordType::kWait));
  const JsonView root = document.root();
  const auto small = [&](std::string_view key) { return static_cast<std::uint32_t>(root[key].uint_or(0)); };
  WaitRecord out;
  out.id = text(root, "id");
  out.conversation_id = text(root, "conversation_id");
  out.call_id = text(root, "call_id");
  out.tool = text(root, "tool");
  out.tool_digest = text(root, "tool_digest");
  out.input = text(root, "input");
  out.direct = root["direct"].bool_or(false);
  out.by = text(root, "by");
  out.reason = text(root, "reason");
  const JsonView hooks = root["hooks"], contexts = root["contexts"];
  for (std::size_t i = 0; i < hooks.size(); ++i)
    out.hooks.push_back({text(hooks.at(i), "name"), text(hooks.at(i), "digest")});
  out.until_ms = root["until_ms"].int_or(0);
  out.child_conversation = text(root["child"], "conversation_id");
  out.child_wait = text(root["child"], "wait");
  out.provider = text(root, "provider");
  out.model = text(root, "model");
  out.cwd = text(root, "cwd");
  out.cwd_identity = text(root, "cwd_identity");
  out.roots = read_texts(root["roots"]);
  out.unreadable = read_texts(root["unreadable"]);
  out.options = read_texts(root["options"]);
  out.no_task = root["no_task"].bool_or(false);
  out.recipe = text(root, "recipe");
  out.recipe_state = text(root, "recipe_state");
  out.turn = small("turn");
  out.max_turns = small("max_turns");
  out.continuation = small("continuation");
  out.spent = read_usage_json(root["spent"]);
  out.output_schema = text(root, "output_schema");
  for (std::size_t i = 0; i < contexts.size(); ++i)
    out.contexts.push_back(
        {text(contexts.at(i), "source"), text(contexts.at(i), "author"), text(contexts.at(i), "text")});
  return out;
}

Record write_answer(const AnswerRecord& from) {
  JsonWriter out;
  out.begin_object().member("wait", from.wait).member("decision", from.decision);
  out.member("by", from.by).member("door", from.door).optional("reason", from.reason);
  return finish(RecordType::kAnswer, out);
}

Result<AnswerRecord> read_answer(const Record& from) {
  AGENTD_TRY(const JsonDocument document, open(from, RecordType::kAnswer));
  const JsonView root = document.root();
  return AnswerRecord{text(root, "wait"), text(root, "decision"), text(root, "by"), text(root, "door"),
                      text(root, "reason")};
}

Record write_checkpoint(const CheckpointRecord& from) {
  JsonWriter out;
  out.begin_object().member("id", from.id).member("conversation_id", from.conversation_id);
  out.optional("name", from.name).optional("why", from.why);
  if (from.revision != 0) out.member("revision", from.revision);
  if (from.percent != 0) out.member("percent", static_cast<unsigned>(from.percent));
  if (from.tokens != 0) out.member("tokens", from.tokens);
  if (!from.texts.empty()) {
    out.key("texts").begin_array();
    for (const CheckpointRecord::Text& each : from.texts)
      out.begin_object()
          .member("level", each.level)
          .member("text", each.text)
          .optional("author", each.author)
          .end_object();
    out.end_array();
  }
  return finish(RecordType::kCheckpoint, out);
}

Result<CheckpointRecord> read_checkpoint(const Record& from) {
  AGENTD_TRY(const JsonDocument document, open(from, RecordType::kCheckpoint));
  const JsonView root = document.root();
  CheckpointRecord out;
  out.id = text(root, "id");
  out.conversation_id = text(root, "conversation_id");
  out.name = text(root, "name");
  out.why = text(root, "why");
  out.revision = root["revision"].uint_or(0);
  out.percent = static_cast<std::uint32_t>(root["percent"].uint_or(0));
  out.tokens = root["tokens"].uint_or(0);
  for (std::size_t i = 0; i < root["texts"].size(); ++i) {
    const JsonView each = root["texts"].at(i);
    out.texts.push_back({text(each, "level"), text(each, "text"), text(each, "author")});
  }
  return out;
}

Record write_child(const ChildRecord& from) {
  JsonWriter out;
  out.begin_object().member("conversation_id", from.conversation_id);
  out.member("relation", from.relation).optional("agent_type", from.agent_type);
  out.optional("call_id", from.call_id);
  return finish(RecordType::kChild, out);
}

Record write_erase(const EraseRecord& from) {
  JsonWriter out;
  out.begin_object().member("seq", from.seq).member("digest", from.digest).member("payload", from.payload);
  return finish(RecordType::kErase, out);
}

Result<EraseRecord> read_erase(const Record& from) {
  AGENTD_TRY(const JsonDocument document, open(from, RecordType::kErase));
  const JsonView root = document.root();
  return EraseRecord{root["seq"].uint_or(0), text(root, "digest"), text(root, "payload")};
}

Record write_run_begin(const RunBeginRecord& from) {
  JsonWriter out;
  out.begin_object().member("session_id", from.session_id).member("run_id", from.run_id);
  out.member("cwd", from.cwd).member("provider", from.provider).member("model", from.model);
  out.optional("recipe", from.recipe).optional("sandbox", from.sandbox);
  return finish(RecordType::kRunBegin, out);
}

Result<RunBeginRecord> read_run_begin(const Record& from) {
  AGENTD_TRY(const JsonDocument document, open(from, RecordType::kRunBegin));
  const JsonView root = document.root();
  return RunBeginRecord{text(root, "session_id"), text(root, "run_id"), text(root, "cwd"),    text(root, "provider"),
                        text(root, "model"),      text(root, "recipe"), text(root, "sandbox")};
}

Record write_run_end(const RunEndRecord& from) {
  JsonWriter out;
  out.begin_object().member("run_id", from.run_id).member("outcome", from.outcome);
  out.member("turns", static_cast<unsigned>(from.turns)).optional("error", from.error);
  if (!from.hooks.empty()) {
    out.key("hooks").begin_array();
    for (const HookUse& use : from.hooks) write_hook_use(out, use);
    out.end_array();
  }
  return finish(RecordType::kRunEnd, out);
}

Result<RunEndRecord> read_run_end(const Record& from) {
  AGENTD_TRY(const JsonDocument document, open(from, RecordType::kRunEnd));
  const JsonView root = document.root();
  RunEndRecord out{text(root, "run_id"), text(root, "outcome"), text(root, "error"),
                   static_cast<std::uint32_t>(root["turns"].uint_or(0))};
  for (std::size_t i = 0; i < root["hooks"].size(); ++i) out.hooks.push_back(read_hook_use(root["hooks"].at(i)));
  return out;
}

Record write_meta(const MetaRecord& from) {
  JsonWriter out;
  out.begin_object();
  if (from.title) out.member("title", *from.title);
  if (from.above_threshold) out.member("above_threshold", *from.above_threshold);
  return finish(RecordType::kMeta, out);
}

Result<MetaRecord> read_meta(const Record& from) {
  AGENTD_TRY(const JsonDocument document, open(from, RecordType::kMeta));
  const JsonView title = document.root()["title"];
  const JsonView above = document.root()["above_threshold"];
  MetaRecord out;
  if (above.is_bool()) out.above_threshold = above.bool_or(false);
  if (title.is_string()) out.title = std::string(title.string_or({}));
  return out;
}

}  // namespace agentd
