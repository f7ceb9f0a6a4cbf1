// SPDX-License-Identifier: Apache-2.0
#include "core/serve/client_wire.h"

#include <span>

#include "core/conversation/record.h"

namespace agentd::serve {
namespace {

void write_texts(JsonWriter& out, std::string_view name, std::span<const std::string> texts) {
  out.key(name).begin_array();
  for (const std::string& text : texts) out.string(text);
  out.end_array();
}

std::string text_of(JsonView from, std::string_view name) { return std::string(from[name].string_or("")); }
std::uint64_t number_of(JsonView from, std::string_view name) { return from[name].uint_or(0); }

}  // namespace

std::vector<std::string> texts_of(JsonView array) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < array.size(); ++i) out.emplace_back(array.at(i).string_or(""));
  return out;
}

void write_gauge(JsonWriter& out, const Gauge& gauge) {
  out.begin_object().member("used", gauge.used).member("limit", gauge.limit).member("window", gauge.window);
  out.member("floor", gauge.floor).member("compact_at", gauge.compact_at).member("force_at", gauge.force_at);
  out.member("checkpoint_at", gauge.checkpoint_at).member("reported", gauge.reported);
  out.member("compactions", unsigned{gauge.compactions}).key("scale").real(gauge.scale);
  out.end_object();
}

Gauge read_gauge(JsonView from) {
  Gauge out;
  out.used = number_of(from, "used");
  out.limit = number_of(from, "limit");
  out.window = number_of(from, "window");
  out.floor = number_of(from, "floor");
  out.compact_at = number_of(from, "compact_at");
  out.force_at = number_of(from, "force_at");
  out.checkpoint_at = number_of(from, "checkpoint_at");
  out.reported = from["reported"].bool_or(false);
  out.compactions = static_cast<std::uint32_t>(number_of(from, "compactions"));
  out.scale = from["scale"].number_or(1);
  return out;
}

void write_run_request(JsonWriter& out, const RunRequest& request) {
  out.begin_object().member("text", request.text).optional("output_schema", request.output_schema);
  out.optional("key", request.key);
  if (!request.media.empty()) {
    out.key("media").begin_array();
    for (const Block& block : request.media) {
      out.begin_object().member("kind", unsigned{static_cast<std::uint16_t>(block.kind)}).member("type", block.name);
      out.optional("title", block.text).member("data", block.opaque).end_object();
    }
    out.end_array();
  }
  out.end_object();
}

RunRequest read_run_request(JsonView from) {
  RunRequest out{text_of(from, "text")};
  out.output_schema = text_of(from, "output_schema");
  out.key = text_of(from, "key");
  const JsonView media = from["media"];
  for (std::size_t i = 0; i < media.size(); ++i) {
    Block block;
    block.kind = static_cast<BlockKind>(media.at(i)["kind"].uint_or(0));
    block.name = text_of(media.at(i), "type");
    block.text = text_of(media.at(i), "title");
    block.opaque = text_of(media.at(i), "data");
    out.media.push_back(std::move(block));
  }
  return out;
}

void write_run_report(JsonWriter& out, const RunReport& report) {
  out.begin_object().member("final_text", report.final_text).member("outcome", name_of(report.outcome));
  out.member("turns", unsigned{report.turns}).key("usage").begin_object();
  write_usage_json(out, report.usage);
  out.end_object().key("gauge");
  write_gauge(out, report.gauge);
  if (report.compaction) {
    out.key("compaction");
    write_compaction_report(out, *report.compaction);
  }
  out.optional("waits_for", report.waits_for).end_object();
}

RunReport read_run_report(JsonView from) {
  RunReport out;
  out.final_text = text_of(from, "final_text");
  for (int i = 0; i <= static_cast<int>(RunOutcome::kError); ++i)
    if (name_of(static_cast<RunOutcome>(i)) == from["outcome"].string_or("")) out.outcome = static_cast<RunOutcome>(i);
  out.turns = static_cast<std::uint32_t>(number_of(from, "turns"));
  out.usage = read_usage_json(from["usage"]);
  out.gauge = read_gauge(from["gauge"]);
  if (from["compaction"].exists()) out.compaction = read_compaction_report(from["compaction"]);
  out.waits_for = text_of(from, "waits_for");
  return out;
}

void write_compaction_report(JsonWriter& out, const CompactionReport& report) {
  out.begin_object().member("outcome", unsigned{report.outcome});
  out.member("messages_before", report.messages_before).member("messages_after", report.messages_after);
  out.member("pre_tokens", report.pre_tokens).member("post_tokens", report.post_tokens);
  out.member("summary", report.summary).member("boundary_id", report.boundary_id).member("text", report.text);
  out.member("method", report.method).end_object();
}

CompactionReport read_compaction_report(JsonView from) {
  CompactionReport out;
  out.outcome = static_cast<std::uint32_t>(from["outcome"].uint_or(AGENTD_RESULT_FAILED));
  out.messages_before = number_of(from, "messages_before");
  out.messages_after = number_of(from, "messages_after");
  out.pre_tokens = number_of(from, "pre_tokens");
  out.post_tokens = number_of(from, "post_tokens");
  out.summary = text_of(from, "summary");
  out.boundary_id = text_of(from, "boundary_id");
  out.text = text_of(from, "text");
  out.method = text_of(from, "method");
  return out;
}

void write_undo_report(JsonWriter& out, const UndoReport& report) {
  out.begin_object().member("boundary_id", report.boundary_id).member("boundary_seq", report.boundary_seq);
  out.member("messages_before", report.messages_before).member("messages_after", report.messages_after);
  out.member("pre_tokens", report.pre_tokens).member("post_tokens", report.post_tokens);
  out.member("compactions", unsigned{report.compactions}).end_object();
}

UndoReport read_undo_report(JsonView from) {
  UndoReport out;
  out.boundary_id = text_of(from, "boundary_id");
  out.boundary_seq = number_of(from, "boundary_seq");
  out.messages_before = number_of(from, "messages_before");
  out.messages_after = number_of(from, "messages_after");
  out.pre_tokens = number_of(from, "pre_tokens");
  out.post_tokens = number_of(from, "post_tokens");
  out.compactions = static_cast<std::uint32_t>(number_of(from, "compactions"));
  return out;
}

void write_error(JsonWriter& out, const RunError& error) {
  out.begin_object().member("kind", static_cast<unsigned>(error.kind)).member("message", error.message).end_object();
}

RunError read_error(JsonView from) {
  const std::uint64_t kind = number_of(from, "kind");
  const bool known = kind <= static_cast<std::uint64_t>(RunError::Kind::kCancelled);
  return {known ? static_cast<RunError::Kind>(kind) : RunError::Kind::kFailure, text_of(from, "message")};
}

// ---- chats

void write_chat_status(JsonWriter& out, const ChatStatus& status) {
  out.begin_object().member("provider", status.provider).member("model", status.model).key("commands").begin_array();
  for (const ChatStatus::Command& each : status.commands) {
    out.begin_object().member("handle", each.handle).member("command", each.command);
    out.optional("ended", each.ended).end_object();
  }
  out.end_array().end_object();
}

ChatStatus read_chat_status(JsonView from) {
  ChatStatus out{text_of(from, "provider"), text_of(from, "model")};
  const JsonView commands = from["commands"];
  for (std::size_t i = 0; i < commands.size(); ++i)
    out.commands.push_back(
        {number_of(commands.at(i), "handle"), text_of(commands.at(i), "command"), text_of(commands.at(i), "ended")});
  return out;
}

void write_recipes(JsonWriter& out, const std::vector<ListedRecipe>& recipes) {
  out.begin_array();
  for (const ListedRecipe& each : recipes)
    out.begin_object().member("name", each.name).member("about", each.about).end_object();
  out.end_array();
}

std::vector<ListedRecipe> read_recipes(JsonView array) {
  std::vector<ListedRecipe> out;
  for (std::size_t i = 0; i < array.size(); ++i)
    out.push_back({text_of(array.at(i), "name"), text_of(array.at(i), "about")});
  return out;
}

void write_offer(JsonWriter& out, const OfferedCheckpoint& offer) {
  out.begin_object().member("id", offer.id).member("title", offer.title);
  out.member("created_ms", static_cast<std::uint64_t>(offer.created_ms)).end_object();
}

OfferedCheckpoint read_offer(JsonView from) {
  return {text_of(from, "id"), text_of(from, "title"), static_cast<std::int64_t>(number_of(from, "created_ms"))};
}

void write_values(JsonWriter& out, const RecipeValues& values) {
  out.begin_object();
  for (const auto& [name, value] : values) out.member(name, value);
  out.end_object();
}

RecipeValues read_values(JsonView from) {
  RecipeValues out;
  for (std::size_t i = 0; i < from.size(); ++i) out.emplace(from.key_at(i), from.at(i).string_or(""));
  return out;
}

// ---- questions

std::string question_json(const SessionContext& session, const Tool& tool, const ToolCall& call, const AskedBy& by) {
  JsonWriter out;
  out.begin_object().member("tool", tool.name).member("call_id", call.call_id).key("input").raw(call.input.text());
  out.member("conversation_id", session.conversation_id).member("cwd", session.cwd);
  write_texts(out, "roots", session.roots);
  out.member("hook", by.hook).member("reason", by.reason).member("each_time", by.each_time);
  write_texts(out, "keeps", by.keeps);
  write_texts(out, "missing", by.missing);
  out.end_object();
  return std::string(out.text());
}

WireQuestion read_question(JsonView from) {
  WireQuestion out;
  out.tool = text_of(from, "tool");
  out.call_id = text_of(from, "call_id");
  out.input = from["input"].text();
  out.conversation_id = text_of(from, "conversation_id");
  out.cwd = text_of(from, "cwd");
  out.roots = texts_of(from["roots"]);
  out.by = {text_of(from, "hook"), text_of(from, "reason"), from["each_time"].bool_or(false), texts_of(from["keeps"]),
            texts_of(from["missing"])};
  return out;
}

void write_answer(JsonWriter& out, const PermissionAnswer& answer) {
  out.begin_object().member("allowed", answer.allowed).member("remember", answer.remember);
  out.member("given", answer.given).member("reason", answer.reason).end_object();
}

PermissionAnswer read_answer(JsonView from) {
  return {from["allowed"].bool_or(false), from["remember"].bool_or(false), text_of(from, "reason"),
          from["given"].bool_or(false)};
}

std::string form_json(const Elicitation& form) {
  JsonWriter out;
  out.begin_object().member("server", form.server).member("tool", form.tool).member("message", form.message);
  out.optional("url", form.url);
  if (!form.schema_json.empty()) out.key("schema").raw(form.schema_json);
  out.end_object();
  return std::string(out.text());
}

Elicitation read_form(JsonView from) {
  const JsonView schema = from["schema"];
  return {text_of(from, "server"), text_of(from, "message"), schema.exists() ? schema.text() : std::string(),
          text_of(from, "url"), text_of(from, "tool")};
}

void write_filled(JsonWriter& out, const ElicitationAnswer& answer) {
  out.begin_object().member("filled", static_cast<unsigned>(answer.kind));
  if (!answer.values_json.empty()) out.key("values").raw(answer.values_json);
  out.end_object();
}

// An answer to something else cancels it.
ElicitationAnswer read_filled(JsonView from) {
  const auto kind = from["filled"].uint_or(static_cast<unsigned>(ElicitationAnswer::Kind::kCancelled));
  const JsonView values = from["values"];
  if (kind == static_cast<unsigned>(ElicitationAnswer::Kind::kAccepted))
    return {ElicitationAnswer::Kind::kAccepted, values.exists() ? values.text() : std::string("{}")};
  return {kind == static_cast<unsigned>(ElicitationAnswer::Kind::kDeclined) ? ElicitationAnswer::Kind::kDeclined
                                                                            : ElicitationAnswer::Kind::kCancelled};
}

}  // namespace agentd::serve
