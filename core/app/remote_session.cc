// SPDX-License-Identifier: Apache-2.0
#include "core/app/remote_session.h"

#include <utility>

#include "core/agent/read_event.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/process/process.h"
#include "core/serve/client_terms.h"
#include "core/serve/client_wire.h"

namespace agentd::app {
namespace {

constexpr Milliseconds kCancelLook{50};  // a cancel is noticed

std::string hello(const serve::ClientTerms& terms, const RemoteSession::Wishes& wishes, bool answers) {
  JsonWriter out;
  out.begin_object().member("version", terms.version).member("build", terms.build);
  out.member("mount_namespace", terms.mount_namespace).member("umask", unsigned{terms.umask});
  out.member("settings", terms.settings).member("cwd", wishes.cwd);
  out.key("parts").begin_array();
  for (const auto& [name, sum] : terms.parts) out.string(name + "=" + sum);
  out.end_array();
  out.key("environment").begin_array();
  for (const std::string& entry : clean_environment()) out.string(entry);
  out.end_array().key("options").begin_array();
  for (const std::string& option : wishes.options) out.string(option);
  out.end_array().member("answers", answers).member("detached", wishes.detached).end_object();
  return std::string(out.text());
}

// Why a daemon of this home does not work for the command; empty = it goes without saying.
std::string refusal_text(const DaemonReply& reply, const std::string& own_version) {
  const std::string code = reply.code();
  if (reply.status == 0) return "agentd serve does not answer: this command works on the store by itself";
  if (code == "other_version" && reply.message() == own_version)
    return "agentd serve runs another build of version " + own_version +
           " (its program is another file, or was replaced): this command works on the store by itself; restart the "
           "daemon to use this one";
  if (code == "other_version" || reply.status == 404 || reply.status == 405)
    return "agentd serve runs in another version" +
           (code == "other_version" ? " (" + one_line(reply.message(), 60) + ")" : std::string()) +
           ": this command works on the store by itself; restart the daemon to use this one";
  if (code == "other_namespace")
    return "agentd serve sees other files (another mount namespace): this command works on the store by itself";
  return {};
}

// Shows nothing but what the run says about itself before its message is stored.
class UntilStored final : public EventSink {
 public:
  explicit UntilStored(EventSink& shown) : shown_(shown) {}
  void on_event(const RunEvent& event) override {
    stored = stored || event.type() == RunEvent::Type::kUserMessage;
    if (event.type() == RunEvent::Type::kWarning) shown_.on_event(event);
  }
  bool stored = false;

 private:
  EventSink& shown_;
};

}  // namespace

RemoteSession::RemoteSession(const App& app, std::unique_ptr<DaemonDoor> door, bool detached, EventSink& events,
                             Approver& approver)
    : clock_(app.clock()), door_(std::move(door)), detached_(detached), events_(events), approver_(approver) {}

RemoteSession::~RemoteSession() { end("exit"); }

RemoteSession::Offer RemoteSession::ask(const App& app, const Config& config, const Wishes& wishes, EventSink& events,
                                        Approver& approver) {
  auto door = DaemonDoor::find(app);
  if (!door) return {};
  const serve::ClientTerms terms = serve::own_terms(config, app.surroundings().environment, app.home().value_or(""),
                                                    wishes.hooks, door->token(), app.clock().wall_ms());
  const bool answers = approver.is_present() && !wishes.detached;
  auto stream = door->stream("POST", "/api/v1/clients", hello(terms, wishes, answers));
  if (!stream)
    return {Offer::Kind::kOwn, refusal_text(stream.error(), terms.version), nullptr, stream.error().message()};
  const auto first = (*stream)->next(DaemonDoor::kAnswerTime);
  const auto named = first && first->type == serve::kClientFrame ? JsonDocument::parse(first->data)
                                                                 : Result<JsonDocument>(Error{Code::kInvalid, {}});
  if (!named) return {Offer::Kind::kOwn, refusal_text({}, terms.version), nullptr};
  std::unique_ptr<RemoteSession> out(new RemoteSession(app, std::move(door), wishes.detached, events, approver));
  out->client_ = named->root()["client_id"].string_or("");
  out->stream_ = std::move(*stream);
  return {Offer::Kind::kServed, {}, std::move(out)};
}

std::string RemoteSession::path(std::string_view what) const {
  return "/api/v1/clients/" + client_ + "/" + std::string(what);
}

RunError RemoteSession::lost() {
  lost_ = true;
  return {RunError::Kind::kFailure,
          "agentd serve has ended in the middle of this: what it had acknowledged is in the conversation"};
}

// ---- calls

Result<JsonDocument, RunError> RemoteSession::perform(std::string_view json, const CancelToken& cancel) {
  refused_ = false;
  if (json.size() > serve::kClientCallMax)
    return RunError{RunError::Kind::kUsage, "the message has " + with_commas(json.size()) +
                                                " bytes, and agentd serve takes " + with_commas(serve::kClientCallMax) +
                                                ": nothing was sent"};
  const auto reply = door_->post(path("calls"), json);
  if (!reply || reply->status == 404) return lost();
  if (reply->status != 202) return RunError{RunError::Kind::kFailure, "agentd serve: " + reply->message()};
  return wait_for_end(cancel);
}

Result<JsonDocument, RunError> RemoteSession::wait_for_end(const CancelToken& cancel) {
  bool cancelled = false;
  UntilStored until(events_);
  for (;;) {
    const auto frame = stream_->next(kCancelLook);
    const auto look = [&] {
      if (cancel.cancelled() && !std::exchange(cancelled, true)) (void)door_->post(path("cancel"), "{}");
    };
    look();
    if (!frame && stream_->has_ended()) return lost();
    if (!frame) continue;
    if (frame->type == serve::kToldFrame || frame->type == serve::kHeldFrame) {
      EventSink& shown = detached_ ? static_cast<EventSink&>(until) : events_;
      (void)read_event(frame->data, compacted_, shown);
      look();
      if (frame->type == serve::kHeldFrame) (void)door_->post(path("continue"), "{}");
      if (until.stored) return JsonDocument::parse(R"({"report":{}})").value();
      continue;
    }
    auto document = JsonDocument::parse(frame->data);
    if (!document) return lost();
    if (frame->type == serve::kContextFrame) compacted_ = serve::read_gauge(document->root());
    if (frame->type == serve::kQuestionFrame) answer(document->root());
    if (frame->type == serve::kFormFrame) fill(document->root(), cancel);
    if (frame->type != serve::kDoneFrame) continue;
    if (document->root()["gauge"].exists()) gauge_ = serve::read_gauge(document->root()["gauge"]);
    refused_ = document->root()["refused"].bool_or(false);
    if (!document->root()["ok"].bool_or(false)) {
      RunError error = serve::read_error(document->root()["error"]);
      if (error.kind == RunError::Kind::kCancelled && !cancelled)
        error.message = "the run was cancelled in another terminal, or because agentd serve was stopped";
      return error;
    }
    return std::move(*document);
  }
}

void RemoteSession::answer(JsonView question) const {
  const serve::WireQuestion asked = serve::read_question(question);
  Tool tool;
  tool.name = asked.tool;
  const auto input = ToolInput::make(asked.input);
  const SessionContext context{0, asked.conversation_id, asked.cwd, asked.roots};
  const PermissionAnswer given =
      approver_.ask(context, tool, {asked.call_id, asked.tool, input ? *input : ToolInput()}, asked.by);
  JsonWriter out;
  serve::write_answer(out, given);
  (void)door_->post(path("answers"), out.text());
}

void RemoteSession::fill(JsonView form, const CancelToken& cancel) const {
  auto* const person = dynamic_cast<Elicitor*>(&approver_);
  const ElicitationAnswer given = person == nullptr ? ElicitationAnswer{ElicitationAnswer::Kind::kDeclined}
                                                    : person->elicit(serve::read_form(form), cancel, Deadline());
  JsonWriter out;
  serve::write_filled(out, given);
  (void)door_->post(path("answers"), out.text());
}

bool RemoteSession::is_withdrawn() const { return stream_->brings(serve::kWithdrawnFrame); }

Result<void, RunError> RemoteSession::open(std::optional<Ulid> conversation, const std::string& first_text,
                                           const CancelToken& cancel) {
  JsonWriter out;
  out.begin_object().member("call", "open").optional("first_text", first_text);
  if (conversation) out.member("conversation", conversation->text());
  out.end_object();
  AGENTD_TRY(const JsonDocument done, perform(out.text(), cancel));
  opened(done.root());
  return {};
}

void RemoteSession::opened(JsonView done) {
  conversation_id_ = done["conversation_id"].string_or("");
  has_messages_ = done["has_messages"].bool_or(false);
  waits_ = done["waits"].bool_or(false);
}

Result<RunReport, RunError> RemoteSession::run_call(std::string_view json, const CancelToken& cancel) {
  AGENTD_TRY(const JsonDocument done, perform(json, cancel));
  return serve::read_run_report(done.root()["report"]);
}

Result<RunReport, RunError> RemoteSession::run(const RunRequest& request, const CancelToken& cancel) {
  JsonWriter out;
  out.begin_object().member("call", "run").key("request");
  serve::write_run_request(out, request);
  out.end_object();
  return run_call(out.text(), cancel);
}

Result<RunReport, RunError> RemoteSession::carry_on(const std::string& changed, const CancelToken& cancel) {
  JsonWriter out;
  out.begin_object().member("call", "carry_on").member("changed", changed).end_object();
  return run_call(out.text(), cancel);
}

Result<CompactionReport, RunError> RemoteSession::compact(const CompactOptions& options, bool dry_run,
                                                          const CancelToken& cancel) {
  JsonWriter out;
  out.begin_object().member("call", "compact").member("strategy", unsigned{options.strategy});
  out.member("instructions", options.instructions).member("dry_run", dry_run).end_object();
  AGENTD_TRY(const JsonDocument done, perform(out.text(), cancel));
  return serve::read_compaction_report(done.root()["report"]);
}

Result<UndoReport, RunError> RemoteSession::undo(bool force, const CancelToken& cancel) {
  JsonWriter out;
  out.begin_object().member("call", "undo").member("force", force).end_object();
  AGENTD_TRY(const JsonDocument done, perform(out.text(), cancel));
  return serve::read_undo_report(done.root()["report"]);
}

Result<std::string, RunError> RemoteSession::checkpoint(const std::string& name) {
  JsonWriter out;
  out.begin_object().member("call", "checkpoint").member("name", name).end_object();
  AGENTD_TRY(const JsonDocument done, perform(out.text(), CancelToken()));
  return std::string(done.root()["report"].string_or(""));
}

// ---- chats

Result<JsonDocument, RunError> RemoteSession::ask(std::string_view call) {
  JsonWriter out;
  out.begin_object().member("call", call).end_object();
  return perform(out.text(), CancelToken());
}

Result<ChatStatus, RunError> RemoteSession::status() {
  AGENTD_TRY(const JsonDocument done, ask("status"));
  return serve::read_chat_status(done.root()["report"]);
}

Result<std::vector<ListedRecipe>, RunError> RemoteSession::recipes() {
  AGENTD_TRY(const JsonDocument done, ask("recipes"));
  return serve::read_recipes(done.root()["report"]);
}

Result<std::optional<OfferedCheckpoint>, RunError> RemoteSession::offer() {
  AGENTD_TRY(const JsonDocument done, ask("offer"));
  std::optional<OfferedCheckpoint> out;
  if (const JsonView report = done.root()["report"]; !report.is_null()) out = serve::read_offer(report);
  return out;
}

Result<RecipeRun, RunError> RemoteSession::run_recipe(const RecipeCall& call, const CancelToken& cancel) {
  JsonWriter out;
  out.begin_object().member("call", "recipe").member("name", call.name).key("arguments");
  serve::write_values(out, call.values);
  out.member("words", call.words).end_object();
  auto done = perform(out.text(), cancel);
  if (!done && refused_) return done.error();
  if (!done) return RecipeRun{done.error()};
  RecipeRun ran{serve::read_run_report(done->root()["report"])};
  ran.compacts = done->root()["compacts"].bool_or(false);
  if (const JsonView failure = done->root()["failure"]; failure.exists()) ran.failure = failure.string_or("");
  return ran;
}

Result<void, RunError> RemoteSession::clear(const CancelToken& cancel) {
  JsonWriter out;
  out.begin_object().member("call", "clear").end_object();
  AGENTD_TRY(const JsonDocument done, perform(out.text(), cancel));
  opened(done.root());
  return {};
}

void RemoteSession::end(std::string_view reason) {
  if (std::exchange(ended_, true) || detached_ || conversation_id_.empty() || stream_->has_ended()) return;
  JsonWriter out;
  out.begin_object().member("call", "end").member("reason", reason).end_object();
  (void)perform(out.text(), CancelToken());
}

Result<DirectReport, RunError> RemoteSession::call_tool(const DirectCall&, const CancelToken&) {
  return RunError{RunError::Kind::kUsage, "a command calls no tool by the daemon"};
}

Result<void, RunError> RemoteSession::post(PostedMessage) {
  return RunError{RunError::Kind::kUsage, "a command steers no run of the daemon; 'agentd attach' does"};
}

}  // namespace agentd::app
