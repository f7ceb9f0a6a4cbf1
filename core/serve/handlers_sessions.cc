// SPDX-License-Identifier: Apache-2.0
// handlers_sessions.cc - conversations that work: messages, events, compactions.
#include <algorithm>
#include <filesystem>

#include "core/agent/conversation_mode.h"
#include "core/codec/json.h"
#include "core/compaction/compaction.h"
#include "core/conversation/media.h"
#include "core/serve/handlers.h"

namespace agentd::serve {
namespace {

using Shared = Sessions::Shared;

// The session of the path; null after its answer.
Shared session_of(Daemon& daemon, const RouteCall& call) {
  const auto id = conversation_of(call);
  if (!id) return nullptr;
  auto found = daemon.sessions().at(*id);
  if (found) return std::move(*found);
  reply_error(call, found.error());
  return nullptr;
}

std::string_view queued_name(LiveSession::Queued queued) {
  switch (queued) {
    case LiveSession::Queued::kRun:
      return "run";
    case LiveSession::Queued::kSteer:
      return "steer";
    case LiveSession::Queued::kFollowUp:
      return "follow_up";
  }
  return "";
}

// An answer of a session's work.
template <class T>
LiveSession::Done<T> answers(const RouteCall& call, void (*write)(JsonWriter& out, const T& value)) {
  return [call, write](const Result<T, RunError>& done) {
    if (!done) return reply_error(call, done.error());
    JsonWriter out;
    out.begin_object();
    write(out, *done);
    out.end_object();
    reply_json(call, 200, out.text());
  };
}

void write_compaction(JsonWriter& out, const CompactionReport& report) {
  out.member("result", result_name(report.outcome)).member("changed", report.changed());
  out.member("messages_before", report.messages_before).member("messages_after", report.messages_after);
  out.member("pre_tokens", report.pre_tokens).member("post_tokens", report.post_tokens);
  out.optional("boundary_id", report.boundary_id).optional("method", report.method);
  out.optional("summary", report.summary).optional("text", report.text);
}

void write_undo(JsonWriter& out, const UndoReport& report) {
  out.member("boundary_id", report.boundary_id).member("boundary_seq", report.boundary_seq);
  out.member("messages_before", report.messages_before).member("messages_after", report.messages_after);
  out.member("pre_tokens", report.pre_tokens).member("post_tokens", report.post_tokens);
}

void write_call(JsonWriter& out, const DirectReport& report) {
  const std::string_view status = report.waits_for.empty() ? name_of(report.status) : "waiting";
  out.member("call_id", report.call_id).member("status", status).member("text", report.text);
  out.optional("waits_for", report.waits_for);
}

std::string absolute_directory(std::string_view path) { return path.starts_with('/') ? std::string(path) : ""; }

// True for a mode that asks less than the settings' does.
bool is_wider(Daemon& daemon, std::string_view mode) {
  const std::string set = daemon.runtime().config().text("permissions.mode");
  return (mode == "allow" || mode == "accept_edits") && mode != set && set != "allow";
}

// A client that may not answer questions may not choose that none are asked, either.
std::optional<HttpReply> refuse_mode(Daemon& daemon, const RouteCall& call, std::string_view mode) {
  if (is_wider(daemon, mode) && !allows(call.who.scope, Scope::kAdmin))
    return error_reply(403, "forbidden",
                       "a token with the scope admin chooses the mode '" + std::string(mode) +
                           "'; without 'mode' the settings' holds");
  if (mode == "allow" && !daemon.options().uncaged.empty())
    return error_reply(403, "forbidden",
                       "the mode 'allow' needs a sandbox of commands, and there is none: " + daemon.options().uncaged +
                           "; 'serve.uncaged: true' in the settings allows it anyway");
  return std::nullopt;
}

// Nor may it work in a conversation for which another client has chosen it, nor in a copy of one.
std::optional<HttpReply> refuse_work(Daemon& daemon, const RouteCall& call) {
  if (allows(call.who.scope, Scope::kAdmin)) return std::nullopt;
  const auto mode = mode_of_conversation(daemon.store(), std::string(call.at("id")));
  if (!mode) return error_reply(500, "store", mode.error().message);
  if (!*mode || !is_wider(daemon, name_of(**mode))) return std::nullopt;
  return error_reply(403, "forbidden",
                     "the mode '" + std::string(name_of(**mode)) +
                         "' of this conversation asks less than the settings do: a token with the scope admin works in "
                         "it");
}

// Images and documents of a message.
Result<std::vector<Block>> read_media(JsonView from) {
  constexpr std::size_t kMediaMax = 20;
  std::vector<Block> out;
  if (from.size() > kMediaMax)
    return Error{Code::kInvalid,
                 "'media' has " + std::to_string(from.size()) + " items, and may have " + std::to_string(kMediaMax)};
  for (std::size_t i = 0; i < from.size(); ++i) {
    const JsonView each = from.at(i);
    const std::string_view type = each["type"].string_or("");
    if (type != "image" && type != "document")
      return Error{Code::kInvalid, "'media' item " + std::to_string(i + 1) + ": its 'type' is image or document"};
    auto block = media_from(
        {type == "image", each["media_type"].string_or(""), each["data"].string_or(""), each["title"].string_or("")});
    if (!block) return block.error().with_context("'media' item " + std::to_string(i + 1));
    out.push_back(std::move(*block));
  }
  return out;
}

}  // namespace

void create_conversation(Daemon& daemon, RouteCall call) {
  SessionWishes wishes;
  wishes.cwd = absolute_directory(call.json("cwd").string_or(""));
  if (wishes.cwd.empty())
    return call.exchange->reply(
        error_reply(400, "bad_request", "'cwd' names the directory to work in, as an absolute path"));
  if (daemon.workplaces().is_closed(wishes.cwd))
    return call.exchange->reply(
        error_reply(403, "forbidden", "no client works in that directory: it has keys, or belongs to agentd"));
  wishes.model = call.json("model").string_or("");
  if (const std::string_view mode = call.json("mode").string_or(""); !mode.empty()) {
    wishes.mode = find_permission_mode(mode);
    if (auto refused = refuse_mode(daemon, call, mode)) return call.exchange->reply(std::move(*refused));
  }
  const std::string first(call.json("first_text").string_or(""));
  daemon.sessions().create(wishes, first, [call](Result<Shared, RunError> made) {
    if (!made) return reply_error(call, made.error());
    JsonWriter out;
    out.begin_object().member("id", (*made)->id()).end_object();
    reply_json(call, 201, out.text());
  });
}

void post_message(Daemon& daemon, RouteCall call) {
  const Shared session = session_of(daemon, call);
  if (!session) return;
  const std::string_view kind = call.json("kind").string_or("prompt");
  PostedMessage message;
  message.text = call.json("text").string_or("");
  message.key = call.json("key").string_or("");
  if (message.text.empty())
    return call.exchange->reply(error_reply(400, "bad_request", "'text' is empty: a message has words"));
  // The run is the command's, with its terminal, its output and its exit code.
  if (auto why = session->refusal_of(by_of(call))) return reply_error(call, *why);
  if (auto refused = refuse_work(daemon, call)) return call.exchange->reply(std::move(*refused));
  auto media = read_media(call.json("media"));
  if (!media) return call.exchange->reply(error_reply(400, "bad_request", media.error().message));
  message.media = std::move(*media);
  // A job never holds the session: it would end itself.
  session->post(std::move(message), kind == "steer", by_of(call),
                [call, id = std::string(call.at("id"))](const Result<LiveSession::Queued, RunError>& queued) {
                  if (!queued) return reply_error(call, queued.error());
                  JsonWriter out;
                  out.begin_object().member("queued", queued_name(*queued)).member("conversation_id", id).end_object();
                  reply_json(call, 202, out.text());
                });
}

void read_events(Daemon& daemon, RouteCall call) {
  const Shared session = session_of(daemon, call);
  if (!session) return;
  const std::string_view text = call.exchange->head().field("last-event-id");
  std::optional<EventId> last;
  if (!text.empty()) {
    last = EventId::parse(text);
    if (!last)
      return call.exchange->reply(
          error_reply(400, "bad_request", "Last-Event-ID is the id of an event, such as 12-1767225600000-7"));
  } else if (const auto after = call.asked("after"); after) {
    last = EventId{call.asked_number("after", 0), 0, 0};  // of no ring: the log from there
  }
  if (daemon.figures().streams >= kStreamsMax)
    return reply_error(call, Error{Code::kBusy, "too many streams of events are open: close one, or try again later"});
  if (session->ring().is_full())
    return reply_error(call, Error{Code::kBusy, "too many read the events of this conversation: try again later"});
  const auto stream = call.exchange->stream(stream_head(), {});
  if (session->subscribe(stream, last)) return;
  (void)stream->send(server_sent(
      "error", {}, R"({"type":"error","code":"busy","message":"too many read the events of this conversation"})"));
  stream->close();
}

void cancel_run(Daemon& daemon, RouteCall call) {
  const Shared session = session_of(daemon, call);
  if (!session) return;
  if (auto why = session->refusal_of(by_of(call))) return reply_error(call, *why);
  JsonWriter out;
  out.begin_object().member("cancelled", session->cancel()).end_object();
  reply_json(call, 200, out.text());
}

void compact_conversation(Daemon& daemon, RouteCall call) {
  const Shared session = session_of(daemon, call);
  if (!session) return;
  CompactOptions options;
  if (const std::string_view strategy = call.json("strategy").string_or(""); !strategy.empty()) {
    const auto parsed = parse_strategy(strategy);
    if (!parsed) return reply_error(call, parsed.error());
    options.strategy = *parsed;
  }
  options.instructions = call.json("instructions").string_or("");
  session->compact(std::move(options), call.json("dry_run").bool_or(false), by_of(call),
                   answers(call, write_compaction));
}

void undo_compaction(Daemon& daemon, RouteCall call) {
  const Shared session = session_of(daemon, call);
  if (!session) return;
  session->undo(call.json("force").bool_or(false), by_of(call), [call](const Result<UndoReport, RunError>& done) {
    // The conversation does not allow it as it is: nothing to undo, a view that no window takes.
    if (!done && done.error().kind == RunError::Kind::kFailure)
      return call.exchange->reply(error_reply(409, "conflict", done.error().message));
    answers(call, write_undo)(done);
  });
}

void call_tool(Daemon& daemon, RouteCall call) {
  const Shared session = session_of(daemon, call);
  if (!session) return;
  if (auto refused = refuse_work(daemon, call)) return call.exchange->reply(std::move(*refused));
  DirectCall direct;
  direct.tool = call.json("tool").string_or("");
  direct.input_json = call.json("input").exists() ? call.json("input").text() : std::string();
  session->call_tool(std::move(direct), by_of(call), answers(call, write_call));
}

void list_sessions(Daemon& daemon, RouteCall call) {
  JsonWriter out;
  out.begin_object().key("sessions").begin_array();
  for (const Shared& each : daemon.sessions().all()) {
    out.begin_object().member("conversation_id", each->id()).member("state", name_of(each->state()));
    out.member("readers", static_cast<std::uint64_t>(each->ring().subscribers())).end_object();
  }
  out.end_array().end_object();
  reply_json(call, 200, out.text());
}

}  // namespace agentd::serve
