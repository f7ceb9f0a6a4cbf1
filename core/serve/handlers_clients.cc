// SPDX-License-Identifier: Apache-2.0
// handlers_clients.cc - commands on this machine that let the daemon work for them (client_wire.h).
#include "core/codec/json.h"
#include "core/serve/client_wire.h"
#include "core/serve/handlers.h"

namespace agentd::serve {
namespace {

using Link = std::shared_ptr<ClientLink>;
using Shared = Sessions::Shared;

constexpr std::size_t kStreamsMax = 256;  // as for events
// A command reads all of its stream at once, and long results come in one piece.
constexpr std::size_t kStreamBytes = 256u << 20;

HttpReply refused(std::string_view code, std::string_view message) { return error_reply(409, code, message); }

std::optional<HttpReply> refusal_of(const Daemon& daemon, const RouteCall& call) {
  if (call.exchange->head().peer.door != HttpPeer::Door::kUnix)
    return error_reply(403, "forbidden", "commands are let in by the unix socket alone");
  const ClientTerms terms{
      std::string(call.json("version").string_or("")), std::string(call.json("build").string_or("")),
      std::string(call.json("mount_namespace").string_or("")),
      static_cast<std::uint32_t>(call.json("umask").uint_or(0)), std::string(call.json("settings").string_or(""))};
  const ClientTerms& own = daemon.options().terms;
  switch (compare(terms, own)) {
    case TermsFit::kOtherVersion:
      return refused("other_version", own.version);
    case TermsFit::kOtherNamespace:
      return refused("other_namespace", "the daemon sees other files");
    case TermsFit::kOtherSettings:
      return refused("other_settings", "the daemon has other settings");
    case TermsFit::kSame:
      break;
  }
  if (daemon.drains()) return error_reply(503, "busy", "agentd is being closed");
  return std::nullopt;
}

void send_error(const Link& link, const RunError& error) {
  JsonWriter out;
  out.begin_object().member("ok", false).key("error");
  write_error(out, error);
  out.end_object();
  link->send(kDoneFrame, out.text());
}

// The end of a call that has succeeded; `write` adds members.
void send_done(const Link& link, const std::function<void(JsonWriter&)>& write) {
  JsonWriter out;
  out.begin_object().member("ok", true);
  write(out);
  out.end_object();
  link->send(kDoneFrame, out.text());
}

void open_session(Daemon& daemon, const RouteCall& call, const Link& link) {
  SessionWishes wishes;
  wishes.cwd = link->wishes().cwd;
  wishes.client = link;
  const std::string first_text(call.json("first_text").string_or(""));
  const std::string_view conversation = call.json("conversation").string_or("");
  const auto tell = [link](const std::string& id) {
    send_done(link, [&](JsonWriter& out) { out.member("conversation_id", id); });
  };
  if (conversation.empty())
    return daemon.sessions().create(wishes, first_text, [&daemon, link, tell](Result<Shared, RunError> made) {
      if (!made) return send_error(link, made.error());
      daemon.clients().opened(link, *made);
      tell((*made)->id());
    });
  const auto id = Ulid::parse(conversation);
  if (!id) return send_error(link, {RunError::Kind::kNotFound, "there is no such conversation"});
  const auto session = daemon.sessions().at(*id);
  if (!session) return send_error(link, session.error());
  daemon.clients().opened(link, *session);
  // A job never holds the session: it would end itself.
  (*session)->lend(wishes, first_text, [link, tell, text = id->text()](const Result<void, RunError>& lent) {
    if (!lent) return send_error(link, lent.error());
    tell(text);
  });
}

void run(const RouteCall& call, const Link& link, const Shared& session, bool carries_on) {
  const auto request = carries_on ? std::nullopt : std::optional<RunRequest>(read_run_request(call.json("request")));
  LiveSession* const raw = session.get();  // the run is a job of it
  session->run_for(link, request, std::string(call.json("changed").string_or("")),
                   [link, raw](const Result<RunReport, RunError>& report) {
                     if (link->wishes().detached) raw->release(link, "exit", {});
                     if (!report) return send_error(link, report.error());
                     send_done(link, [&](JsonWriter& out) {
                       out.key("report");
                       write_run_report(out, *report);
                     });
                   });
}

void compact(const RouteCall& call, const Link& link, const Shared& session) {
  CompactOptions options;
  options.strategy = static_cast<std::uint32_t>(call.json("strategy").uint_or(options.strategy));
  options.instructions = call.json("instructions").string_or("");
  const bool dry_run = call.json("dry_run").bool_or(false);
  session->work_for(
      link,
      [link, options, dry_run](Session& open, const CancelToken& cancel) {
        const auto report = open.compact(options, dry_run, cancel);
        if (!report) return send_error(link, report.error());
        send_done(link, [&](JsonWriter& out) {
          out.key("report");
          write_compaction_report(out, *report);
          out.key("gauge");
          write_gauge(out, open.gauge());
        });
      },
      [link](const RunError& error) { send_error(link, error); });
}

void undo(const RouteCall& call, const Link& link, const Shared& session) {
  session->work_for(
      link,
      [link, force = call.json("force").bool_or(false)](Session& open, const CancelToken& cancel) {
        const auto report = open.undo(force, cancel);
        if (!report) return send_error(link, report.error());
        send_done(link, [&](JsonWriter& out) {
          out.key("report");
          write_undo_report(out, *report);
          out.key("gauge");
          write_gauge(out, open.gauge());
        });
      },
      [link](const RunError& error) { send_error(link, error); });
}

// The client of the path; an empty one after its answer.
Clients::Client client_of(Daemon& daemon, const RouteCall& call) {
  Clients::Client out = daemon.clients().find(call.at("client"));
  if (!out.link) call.exchange->reply(error_reply(404, "not_found", "there is no such client: it has left"));
  return out;
}

}  // namespace

void open_client(Daemon& daemon, RouteCall call) {
  if (auto reply = refusal_of(daemon, call)) return call.exchange->reply(std::move(*reply));
  ClientWishes wishes;
  wishes.cwd = call.json("cwd").string_or("");
  wishes.environment = texts_of(call.json("environment"));
  wishes.options = texts_of(call.json("options"));
  wishes.answers = call.json("answers").bool_or(false);
  wishes.detached = call.json("detached").bool_or(false);
  if (!wishes.cwd.starts_with('/'))
    return call.exchange->reply(error_reply(400, "bad_request", "'cwd' is no absolute path"));
  // The command tells these in its own words, and each time.
  const auto workplace = daemon.workplaces().at(wishes.cwd);
  if (!workplace || daemon.workplaces().has_warned(wishes.cwd))
    return call.exchange->reply(refused("other_settings", "something is to be told about this project"));
  if (daemon.figures().streams >= kStreamsMax)
    return reply_error(call, Error{Code::kBusy, "too many streams are open: try again later"});
  const Link link = daemon.clients().add(std::move(wishes));
  HttpReply head;
  head.content_type = "text/event-stream";
  head.stream_bytes = kStreamBytes;
  link->connect(call.exchange->stream(head, [&daemon, id = link->id()] { daemon.clients().gone(id); }));
  JsonWriter out;
  out.begin_object().member("client_id", link->id()).end_object();
  link->send(kClientFrame, out.text());
  for (const std::string& warning : daemon.options().warnings) link->warn(warning);
}

void call_client(Daemon& daemon, RouteCall call) {
  const Clients::Client client = client_of(daemon, call);
  if (!client.link) return;
  const std::string_view what = call.json("call").string_or("");
  if (what != "open" && !client.session)
    return call.exchange->reply(error_reply(409, "conflict", "the client has opened no session"));
  client.link->begin_call();
  reply_json(call, 202, "{}");
  if (what == "open") return open_session(daemon, call, client.link);
  if (what == "run" || what == "carry_on") return run(call, client.link, client.session, what == "carry_on");
  if (what == "compact") return compact(call, client.link, client.session);
  if (what == "undo") return undo(call, client.link, client.session);
  client.session->release(client.link, call.json("reason").string_or("exit"), [&daemon, link = client.link] {
    send_done(link, [](JsonWriter&) {});
    daemon.clients().remove(link->id());
    link->close();
  });
}

void cancel_client(Daemon& daemon, RouteCall call) {
  const Clients::Client client = client_of(daemon, call);
  if (!client.link) return;
  client.link->cancel_call();
  JsonWriter out;
  out.begin_object().member("cancelled", client.session && client.session->cancel_of(*client.link)).end_object();
  reply_json(call, 200, out.text());
}

void continue_client(Daemon& daemon, RouteCall call) {
  const Clients::Client client = client_of(daemon, call);
  if (!client.link) return;
  client.link->go_on();
  reply_json(call, 200, "{}");
}

void answer_client(Daemon& daemon, RouteCall call) {
  const Clients::Client client = client_of(daemon, call);
  if (!client.link) return;
  JsonWriter out;
  out.begin_object().member("taken", client.link->answer(read_answer(call.body->root()))).end_object();
  reply_json(call, 200, out.text());
}

}  // namespace agentd::serve
