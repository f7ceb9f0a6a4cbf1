// SPDX-License-Identifier: Apache-2.0
// handlers_system.cc - the state of the daemon itself, and what all handlers share.
#include <cstdio>
#include <fstream>

#include "core/codec/json.h"
#include "core/serve/handlers.h"

namespace agentd::serve {
namespace {

struct CodeRow {
  Code code;
  unsigned status;
  std::string_view name;
};

CodeRow row_of(Code code) {
  switch (code) {
    case Code::kInvalid:
      return {code, 400, "bad_request"};
    case Code::kNotFound:
      return {code, 404, "not_found"};
    case Code::kDenied:
      return {code, 403, "forbidden"};
    case Code::kConflict:
      return {code, 409, "conflict"};
    case Code::kBusy:
      return {code, 503, "busy"};
    case Code::kCancelled:
      return {code, 409, "cancelled"};
    case Code::kUnavailable:
      return {code, 503, "unavailable"};
    case Code::kCorrupt:
    case Code::kInternal:
      break;
  }
  return {code, 500, "internal"};
}

double resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::uint64_t all = 0, resident = 0;
  in >> all >> resident;
  return static_cast<double>(resident) * 4096;
}

}  // namespace

Result<ConversationInfo> info_of(Daemon& daemon, const Ulid& conversation) {
  auto stored = daemon.store().info(conversation);
  if (stored || stored.error().code != Code::kNotFound) return stored;
  const auto live = daemon.sessions().find(conversation.text());
  auto unsaid = live ? live->unsaid() : std::nullopt;
  return unsaid ? Result<ConversationInfo>(std::move(*unsaid)) : std::move(stored);
}

Error not_there(Daemon& daemon, const Ulid& conversation, const Error& error) {
  if (error.code != Code::kNotFound || !info_of(daemon, conversation)) return error;
  return {Code::kNotFound,
          "nothing was said in conversation " + conversation.text() + " yet: it is stored with its first message"};
}

LiveSession::By by_of(const RouteCall& call) {
  return allows(call.who.scope, Scope::kAdmin) ? LiveSession::By::kOwner : LiveSession::By::kOther;
}

std::optional<Ulid> conversation_of(const RouteCall& call) {
  const auto id = Ulid::parse(call.at("id"));
  if (id) return *id;
  call.exchange->reply(error_reply(404, "not_found", "there is no such conversation: an id has 26 characters"));
  return std::nullopt;
}

void reply_json(const RouteCall& call, unsigned status, std::string_view json) {
  HttpReply out;
  out.status = status;
  out.body.assign(json).append("\n");
  call.exchange->reply(std::move(out));
}

void reply_error(const RouteCall& call, const Error& error) {
  const CodeRow row = row_of(error.code);
  HttpReply out = error_reply(row.status, row.name, error.message);
  if (row.status == 503) out.fields.emplace_back("retry-after", "1");
  call.exchange->reply(std::move(out));
}

void reply_error(const RouteCall& call, const RunError& error) { call.exchange->reply(error_reply(error)); }

void healthz(Daemon&, RouteCall call) { reply_json(call, 200, R"({"status":"ok"})"); }

void readyz(Daemon& daemon, RouteCall call) {
  const StoreHealth::Report health = daemon.health().look(daemon.metrics().store_failures());
  const bool ready = health.works && !daemon.drains();
  JsonWriter out;
  out.begin_object().member("status", ready ? "ready" : "not_ready").member("version", daemon.options().version);
  out.member("store", health.store).member("disk", health.disk);
  out.member("draining", daemon.drains());
  const std::string& uncaged = daemon.options().uncaged;
  out.member("sandbox", uncaged.empty() ? "ok" : uncaged).end_object();
  HttpReply reply;
  reply.status = ready ? 200 : 503;
  if (!ready) reply.fields.emplace_back("retry-after", "5");
  reply.body = std::string(out.text()) + "\n";
  call.exchange->reply(std::move(reply));
}

void metrics(Daemon& daemon, RouteCall call) {
  std::string text = daemon.metrics().text();
  const auto counts = daemon.sessions().counts();
  text += "# HELP agentd_sessions Conversations at hand, by their state.\n# TYPE agentd_sessions gauge\n";
  for (std::size_t i = 0; i < counts.size(); ++i)
    text += "agentd_sessions{" + label("state", name_of(static_cast<LiveSession::State>(i))) + "} " +
            std::to_string(counts[i]) + "\n";
  const HttpServerFigures http = daemon.figures();
  text += gauge_text("agentd_http_connections", "Open connections.", static_cast<double>(http.connections));
  text += gauge_text("agentd_http_stream_bytes", "Bytes for readers of streams that they have not taken.",
                     static_cast<double>(http.stream_bytes));
  text += gauge_text("agentd_session_threads", "Threads of conversations that work.",
                     static_cast<double>(daemon.sessions().threads()));
  text += gauge_text("agentd_projects", "Open projects.", static_cast<double>(daemon.workplaces().all().size()));
  text += gauge_text("agentd_http_streams", "Open streams of events and of files.", static_cast<double>(http.streams));
  if (const auto stats = daemon.store().stats()) {
    text += gauge_text("agentd_store_bytes", "The size of the store.", static_cast<double>(stats->bytes));
    text += gauge_text("agentd_store_conversations", "Conversations in the store.",
                       static_cast<double>(stats->conversations));
  }
  constexpr double kSecond = 1e9;
  text += gauge_text("agentd_uptime_seconds", "The time since the start.",
                     static_cast<double>(daemon.runtime().clock().monotonic_ns() - daemon.started_ns()) / kSecond);
  text += gauge_text("process_resident_memory_bytes", "Resident memory.", resident_bytes());
  text += "# HELP agentd_info The version.\n# TYPE agentd_info gauge\nagentd_info{" +
          label("version", daemon.options().version) + "} 1\n";
  HttpReply out;
  out.content_type = "text/plain; version=0.0.4; charset=utf-8";
  out.body = std::move(text);
  call.exchange->reply(std::move(out));
}

void openapi(Daemon& daemon, RouteCall call) { reply_json(call, 200, openapi_document(daemon.options().version)); }

}  // namespace agentd::serve
