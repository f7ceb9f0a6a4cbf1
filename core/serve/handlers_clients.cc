// SPDX-License-Identifier: Apache-2.0
// handlers_clients.cc - commands on this machine that let the daemon work for them (client_wire.h).
#include "core/codec/json.h"
#include "core/serve/client_wire.h"
#include "core/serve/handlers.h"

namespace agentd::serve {
namespace {

using Link = std::shared_ptr<ClientLink>;

// A command reads all of its stream at once, and long results come in one piece.
constexpr std::size_t kStreamBytes = 256u << 20;

HttpReply refused(std::string_view code, std::string_view message) { return error_reply(409, code, message); }

std::optional<HttpReply> refusal_of(const Daemon& daemon, const RouteCall& call) {
  if (call.exchange->head().peer.door != HttpPeer::Door::kUnix)
    return error_reply(403, "forbidden", "commands are let in by the unix socket alone");
  ClientTerms terms{std::string(call.json("version").string_or("")), std::string(call.json("build").string_or("")),
                    std::string(call.json("mount_namespace").string_or("")),
                    static_cast<std::uint32_t>(call.json("umask").uint_or(0)),
                    std::string(call.json("settings").string_or(""))};
  for (const std::string& part : texts_of(call.json("parts"))) {
    const std::size_t end = part.find('=');
    if (end != std::string::npos) terms.parts[part.substr(0, end)] = part.substr(end + 1);
  }
  const ClientTerms& own = daemon.options().terms;
  switch (compare(terms, own)) {
    case TermsFit::kOtherVersion:
      return refused("other_version", own.version);
    case TermsFit::kOtherNamespace:
      return refused("other_namespace", "the daemon sees other files");
    case TermsFit::kOtherSettings:
      return refused("other_settings", "the daemon was started with " + differences(terms, own));
    case TermsFit::kSame:
      break;
  }
  if (daemon.drains()) return error_reply(503, "busy", "agentd is being closed");
  return std::nullopt;
}

}  // namespace

Clients::Client client_of(Daemon& daemon, const RouteCall& call) {
  Clients::Client out = daemon.clients().find(call.at("client"));
  if (!out.link) call.exchange->reply(error_reply(404, "not_found", "there is no such client: it has left"));
  return out;
}

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
  out.begin_object().member("taken", client.link->answer(call.body->root().text())).end_object();
  reply_json(call, 200, out.text());
}

}  // namespace agentd::serve
