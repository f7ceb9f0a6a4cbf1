// SPDX-License-Identifier: Apache-2.0
// handlers_learning.cc - checkpoints, memories and secrets: operations of services, whoever provides them.
#include "core/codec/json.h"
#include "core/mcp/own_tools.h"
#include "core/serve/handlers.h"
#include "core/workplace/project.h"

namespace agentd::serve {
namespace {

constexpr std::string_view kCheckpoint = "agentd.checkpoint/1", kMemory = "agentd.memory/1";

unsigned status_of(agentd_status status) {
  switch (status) {
    case AGENTD_E_ARG:
    case AGENTD_E_TOO_BIG:
      return 400;
    case AGENTD_E_NOT_FOUND:
      return 404;
    case AGENTD_E_DENIED:
      return 403;
    case AGENTD_E_CONFLICT:
    case AGENTD_E_CANCELLED:
      return 409;
    case AGENTD_E_UNSUPPORTED:
      return 501;
    case AGENTD_E_BUSY:
    case AGENTD_E_DEADLINE:
      return 503;
    default:
      return 500;
  }
}

std::string_view status_word(unsigned status) {
  switch (status) {
    case 400:
      return "bad_request";
    case 403:
      return "forbidden";
    case 404:
      return "not_found";
    case 409:
      return "conflict";
    case 501:
      return "unsupported";
    case 503:
      return "busy";
    default:
      return "internal";
  }
}

// Calls an operation with that input and answers with its result.
void pass_on(Daemon& daemon, const RouteCall& call, std::string_view interface_id, std::string_view operation,
             std::string_view input, std::string_view project_id = {}, unsigned good = 200) {
  ServiceRequest request;
  request.interface_id = interface_id;
  request.operation = operation;
  request.input_json = input;
  request.project_id = project_id;
  const ServiceAnswer answer = daemon.runtime().registry().call(request);
  if (answer) return reply_json(call, good, *answer);
  const unsigned status = status_of(answer.error().status);
  HttpReply reply = error_reply(status, status_word(status), answer.error().message);
  if (status == 503) reply.fields.emplace_back("retry-after", "1");
  call.exchange->reply(std::move(reply));
}

// The project that a call names: its id, or a directory; empty = all.
std::string project_of(const RouteCall& call) {
  const auto named = [&](std::string_view name) {
    const auto asked = call.asked(name);
    return std::string(asked ? *asked : call.json(name).string_or(""));
  };
  if (std::string id = named("project_id"); !id.empty()) return id;
  const std::string directory = named("project");
  return directory.empty() ? std::string() : find_project(directory).id;
}

// The members of the body as they are, with the project.
std::string with_project(const RouteCall& call, std::string_view project_id) {
  JsonWriter out;
  out.begin_object().member("project_id", project_id);
  const JsonView body = call.body ? call.body->root() : JsonView();
  for (std::size_t i = 0; i < body.size(); ++i)
    if (const std::string_view name = body.key_at(i); name != "project_id" && name != "project")
      out.key(name).value(body.at(i));
  out.end_object();
  return std::string(out.text());
}

std::string id_input(const RouteCall& call) {
  JsonWriter out;
  out.begin_object().member("project_id", project_of(call)).member("id", call.at("id")).end_object();
  return std::string(out.text());
}

}  // namespace

// ---- checkpoints

void list_checkpoints(Daemon& daemon, RouteCall call) {
  JsonWriter input;
  input.begin_object().member("limit", call.asked_number("limit", 10)).end_object();
  pass_on(daemon, call, kCheckpoint, "list", input.text(), project_of(call));
}

void save_checkpoint(Daemon& daemon, RouteCall call) {
  const auto id = conversation_of(call);
  if (!id) return;
  const auto session = daemon.sessions().at(*id);
  if (!session) return reply_error(call, session.error());
  (*session)->checkpoint(std::string(call.json("name").string_or("")), by_of(call),
                         [call](const Result<std::string, RunError>& made) {
                           if (!made) return reply_error(call, made.error());
                           JsonWriter out;
                           out.begin_object().member("id", *made).end_object();
                           reply_json(call, 201, out.text());
                         });
}

void show_checkpoint(Daemon& daemon, RouteCall call) {
  JsonWriter input;
  input.begin_object().member("id", call.at("id")).end_object();
  pass_on(daemon, call, kCheckpoint, "show", input.text());
}

void resume_checkpoint(Daemon& daemon, RouteCall call) {
  JsonWriter input;
  input.begin_object().member("id", call.at("id")).optional("level", call.json("level").string_or("")).end_object();
  pass_on(daemon, call, kCheckpoint, "resume", input.text(), {}, 201);
}

// A session elsewhere says how full its context is: a checkpoint is saved. One of agentd's own is known by its id.
void threshold(Daemon& daemon, RouteCall call) {
  const std::string project = project_of(call);
  const std::string input = mcp::threshold_input(
      daemon.store(), {std::string(call.json("session_id").string_or("")), project, "http",
                       std::string(call.json("name").string_or("")), std::string(call.json("summary").string_or("")),
                       call.json("percent").uint_or(0)});
  pass_on(daemon, call, kCheckpoint, "save", input, project);
}

// ---- memories

void search_memories(Daemon& daemon, RouteCall call) {
  JsonWriter input;
  input.begin_object().member("project_id", project_of(call)).member("query", call.asked("q").value_or(""));
  input.member("limit", call.asked_number("limit", 10)).end_object();
  pass_on(daemon, call, kMemory, "search", input.text());
}

void list_memories(Daemon& daemon, RouteCall call) {
  JsonWriter input;
  input.begin_object().member("project_id", project_of(call)).optional("after", call.asked("after").value_or(""));
  input.end_object();
  pass_on(daemon, call, kMemory, "list", input.text());
}

void record_memory(Daemon& daemon, RouteCall call) {
  pass_on(daemon, call, kMemory, "add", with_project(call, project_of(call)), {}, 201);
}

void show_memory(Daemon& daemon, RouteCall call) { pass_on(daemon, call, kMemory, "show", id_input(call)); }

void delete_memory(Daemon& daemon, RouteCall call) { pass_on(daemon, call, kMemory, "delete", id_input(call)); }

// ---- secrets

void scrub(Daemon& daemon, RouteCall call) {
  const Secrets* const secrets = daemon.runtime().secrets();
  if (secrets == nullptr)
    return call.exchange->reply(error_reply(409, "conflict", "secrets.scrub is off: no secrets are looked for"));
  const auto clean = secrets->scrub(call.json("text").string_or(""));
  if (!clean) return reply_error(call, clean.error());
  JsonWriter out;
  out.begin_object().member("text", clean->text).key("counts").begin_object();
  for (const auto& [rule, count] : clean->counts()) out.member(rule, static_cast<std::uint64_t>(count));
  out.end_object().end_object();
  reply_json(call, 200, out.text());
}

}  // namespace agentd::serve
