// SPDX-License-Identifier: Apache-2.0
// handlers_client_calls.cc - the steps of a command's session; the stream tells how each has ended (client_wire.h).
#include <functional>
#include <utility>

#include "core/codec/json.h"
#include "core/serve/client_wire.h"
#include "core/serve/handlers.h"

namespace agentd::serve {
namespace {

using Link = std::shared_ptr<ClientLink>;
using Shared = Sessions::Shared;
using Members = std::function<void(JsonWriter&)>;

// A call has failed; `open` is the session, if there is one.
void send_error(const Link& link, const RunError& error, const Session* open = nullptr, bool refused = false) {
  JsonWriter out;
  out.begin_object().member("ok", false).key("error");
  write_error(out, error);
  if (refused) out.member("refused", true);
  if (open != nullptr) {
    out.key("gauge");
    write_gauge(out, open->gauge());
  }
  out.end_object();
  link->send(kDoneFrame, out.text());
}

// A call has succeeded; `write` adds members.
void send_done(const Link& link, const Session* open, const Members& write) {
  JsonWriter out;
  out.begin_object().member("ok", true);
  if (write) write(out);
  if (open != nullptr) {
    out.key("gauge");
    write_gauge(out, open->gauge());
  }
  out.end_object();
  link->send(kDoneFrame, out.text());
}

std::function<void(RunError)> refused_by(const Link& link) {
  return [link](const RunError& error) { send_error(link, error); };
}

// The end of a call that has opened a session.
void send_opened(const Link& link, const ClientSession& open) {
  const Session& session = *open.session();
  send_done(link, &session, [&](JsonWriter& out) {
    out.member("conversation_id", session.conversation_id());
    out.member("waits", session.wait() != nullptr).member("has_messages", has_messages(open));
  });
}

void open_session(Daemon& daemon, const RouteCall& call, const Link& link) {
  SessionWishes wishes;
  wishes.cwd = link->wishes().cwd;
  wishes.client = link;
  const std::string first_text(call.json("first_text").string_or(""));
  const std::string_view conversation = call.json("conversation").string_or("");
  const auto tell = [link](ClientSession& open, const CancelToken&) { send_opened(link, open); };
  if (conversation.empty())
    return daemon.sessions().create(wishes, first_text, [&daemon, link, tell](Result<Shared, RunError> made) {
      if (!made) return send_error(link, made.error());
      daemon.clients().opened(link, *made);
      (*made)->work_for(link, tell, refused_by(link));
    });
  const auto id = Ulid::parse(conversation);
  if (!id) return send_error(link, {RunError::Kind::kNotFound, "there is no such conversation"});
  const auto session = daemon.sessions().at(*id);
  if (!session) return send_error(link, session.error());
  // Between its calls another command does not work there: this one may, by itself.
  if (daemon.clients().is_of_another(**session, *link) && (*session)->idle_since_ns())
    return send_error(link, {RunError::Kind::kBusy, "another command has conversation " + id->text()}, nullptr, true);
  daemon.clients().opened(link, *session);
  (*session)->lend(wishes, first_text, tell, refused_by(link));
}

// ---- runs; a job never holds its session, which would end itself

void tell_run(const Link& link, LiveSession& session, const Session& open, const Result<RunReport, RunError>& report,
              const Members& more = {}) {
  if (link->wishes().detached) session.release(link, "exit", {});
  if (!report) return send_error(link, report.error(), &open);
  send_done(link, &open, [&](JsonWriter& out) {
    out.key("report");
    write_run_report(out, *report);
    if (more) more(out);
  });
}

void run(const RouteCall& call, const Link& link, const Shared& session, bool carries_on) {
  const auto request = carries_on ? std::nullopt : std::optional<RunRequest>(read_run_request(call.json("request")));
  const auto work = [link, raw = session.get(), request, changed = std::string(call.json("changed").string_or(""))](
                        ClientSession& client, const CancelToken& cancel) {
    Session& open = *client.session();
    raw->run_now([&] { return request ? open.run(*request, cancel) : open.carry_on(changed, cancel); },
                 [&](const Result<RunReport, RunError>& report) { tell_run(link, *raw, open, report); });
  };
  session->work_for(link, work, refused_by(link));
}

void recipe(const RouteCall& call, const Link& link, const Shared& session) {
  const RecipeCall asked{std::string(call.json("name").string_or("")), read_values(call.json("arguments")),
                         std::string(call.json("words").string_or(""))};
  const auto work = [link, raw = session.get(), asked](ClientSession& client, const CancelToken& cancel) {
    Session& open = *client.session();
    const auto request = begin_recipe(client, asked);
    if (!request) return send_error(link, request.error(), &open, true);
    std::optional<std::string> failure;
    const auto made = [&] {
      RecipeRun ran = run_recipe(client, *request, cancel);
      failure = std::move(ran.failure);
      return std::move(ran.report);
    };
    raw->run_now(made, [&](const Result<RunReport, RunError>& report) {
      tell_run(link, *raw, open, report, [&](JsonWriter& out) {
        out.member("compacts", request->compaction_run);
        if (failure) out.member("failure", *failure);
      });
    });
  };
  session->work_for(link, work, refused_by(link));
}

// ---- the rest

// `T`: of the report that `make` returns and `write` writes.
template <class T>
void report_of(const Link& link, const Shared& session,
               std::function<Result<T, RunError>(ClientSession&, const CancelToken&)> make,
               std::function<void(JsonWriter&, const T&)> write) {
  const auto work = [link, make = std::move(make), write = std::move(write)](ClientSession& client,
                                                                             const CancelToken& cancel) {
    const Result<T, RunError> report = make(client, cancel);
    if (!report) return send_error(link, report.error(), client.session());
    send_done(link, client.session(), [&](JsonWriter& out) {
      out.key("report");
      write(out, *report);
    });
  };
  session->work_for(link, work, refused_by(link));
}

void compact(const RouteCall& call, const Link& link, const Shared& session) {
  CompactOptions options;
  options.strategy = static_cast<std::uint32_t>(call.json("strategy").uint_or(options.strategy));
  options.instructions = call.json("instructions").string_or("");
  const bool dry_run = call.json("dry_run").bool_or(false);
  report_of<CompactionReport>(
      link, session,
      [options, dry_run](ClientSession& client, const CancelToken& cancel) {
        return client.session()->compact(options, dry_run, cancel);
      },
      write_compaction_report);
}

void undo(const RouteCall& call, const Link& link, const Shared& session) {
  report_of<UndoReport>(
      link, session,
      [force = call.json("force").bool_or(false)](ClientSession& client, const CancelToken& cancel) {
        return client.session()->undo(force, cancel);
      },
      write_undo_report);
}

void checkpoint(const RouteCall& call, const Link& link, const Shared& session) {
  report_of<std::string>(
      link, session,
      [name = std::string(call.json("name").string_or(""))](ClientSession& client, const CancelToken&) {
        return client.session()->checkpoint(name);
      },
      [](JsonWriter& out, const std::string& id) { out.string(id); });
}

void recipes(const RouteCall&, const Link& link, const Shared& session) {
  report_of<std::vector<ListedRecipe>>(
      link, session, [](ClientSession& client, const CancelToken&) { return listed_recipes(client); }, write_recipes);
}

void status(const RouteCall&, const Link& link, const Shared& session) {
  report_of<ChatStatus>(
      link, session, [](ClientSession& client, const CancelToken&) { return chat_status(client); }, write_chat_status);
}

// The report is null where there is none.
void offer(const RouteCall&, const Link& link, const Shared& session) {
  using Offer = std::optional<OfferedCheckpoint>;
  report_of<Offer>(
      link, session, [](ClientSession& client, const CancelToken&) { return offered_checkpoint(client); },
      [](JsonWriter& out, const Offer& offer) {
        if (offer)
          write_offer(out, *offer);
        else
          out.null();
      });
}

void clear(Daemon& daemon, const Link& link, const Shared& session) {
  daemon.sessions().clear(*session, link, [&daemon, link](Result<Shared, RunError> next) {
    if (!next) return send_error(link, next.error());
    daemon.clients().opened(link, *next);
    (*next)->work_for(
        link, [link](ClientSession& open, const CancelToken&) { send_opened(link, open); }, refused_by(link));
  });
}

void end(Daemon& daemon, const RouteCall& call, const Link& link, const Shared& session) {
  const auto tell = [&daemon, link] {
    send_done(link, nullptr, {});
    daemon.clients().remove(link->id());
    link->close();
  };
  // A run that is not the command's is none to wait for.
  const bool busy = session->busy_for(*link).has_value();
  session->release(link, call.json("reason").string_or("exit"), busy ? std::function<void()>() : tell);
  if (busy) tell();
}

}  // namespace

void call_client(Daemon& daemon, RouteCall call) {
  using Step = void (*)(const RouteCall&, const Link&, const Shared&);
  static constexpr std::pair<std::string_view, Step> kSteps[] = {
      {"compact", compact}, {"undo", undo},     {"checkpoint", checkpoint}, {"recipe", recipe},
      {"recipes", recipes}, {"status", status}, {"offer", offer},
  };
  const auto [link, session] = client_of(daemon, call);
  if (!link) return;
  const std::string_view what = call.json("call").string_or("");
  if (what != "open" && !session)
    return call.exchange->reply(error_reply(409, "conflict", "the client has opened no session"));
  link->begin_call();
  reply_json(call, 202, "{}");
  if (what == "open") return open_session(daemon, call, link);
  if (what == "end") return end(daemon, call, link, session);
  if (auto busy = session->busy_for(*link)) {
    if (what == "clear") busy->kind = RunError::Kind::kBlocked;  // the session goes on
    return send_error(link, *busy);
  }
  if (what == "run" || what == "carry_on") return run(call, link, session, what == "carry_on");
  if (what == "clear") return clear(daemon, link, session);
  for (const auto& [name, step] : kSteps)
    if (name == what) return step(call, link, session);
}

}  // namespace agentd::serve
