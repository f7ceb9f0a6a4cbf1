// SPDX-License-Identifier: Apache-2.0
// attach.cc - attach: a conversation of `agentd serve` in a second terminal.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "core/agent/read_event.h"
#include "core/agent/waits.h"
#include "core/app/approver.h"
#include "core/app/commands/commands.h"
#include "core/app/conversations.h"
#include "core/app/daemon_door.h"
#include "core/app/exit_codes.h"
#include "core/app/keyboard.h"
#include "core/app/render.h"
#include "core/app/signals.h"
#include "core/app/transcript.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/runtime/credentials.h"
#include "core/runtime/lookup.h"
#include "core/runtime/version.h"
#include "core/workplace/project.h"

namespace agentd::app {
namespace {

constexpr Milliseconds kFrameLook{20};
constexpr std::size_t kReplayed = 6;  // messages

// Which conversation is meant, and its last messages.
struct WatchedConversation {
  Ulid id;
  std::uint64_t revision = 0;
  std::string replay;
};

bool is_shown(const StoredRecord& record) {
  return carries_message(record.record.type) || record.record.type == RecordType::kBoundary;
}

Result<WatchedConversation, Failure> find(const App& app, const Arguments& arguments) {
  auto store = existing_store(app);
  if (!store) return store.error();
  if (!*store) return Failure{kExitNotFound, "no conversation is stored yet"};
  const auto id = arguments.has("follow") ? newest_conversation(**store, find_project(app.surroundings().cwd).id)
                                          : find_conversation(**store, arguments.words().front());
  if (!id) return failure_of(id.error());
  auto history = read_history(**store, *id);
  if (!history) return Failure{store_exit(history.error()), history.error().message};
  WatchedConversation out{*id, history->revision(), {}};
  Transcript shown;
  for (const StoredRecord& record : history->records) {
    if (auto folded = fold(shown.info, record); !folded) return Failure{kExitStore, folded.error().message};
    if (is_shown(record)) shown.records.push_back(record);
  }
  if (shown.records.size() > kReplayed)
    shown.records.erase(shown.records.begin(), shown.records.end() - static_cast<std::ptrdiff_t>(kReplayed));
  auto text = write_transcript(shown, Format::kText);
  if (!text) return Failure{kExitStore, text.error().message};
  out.replay = std::move(*text);
  return out;
}

// The revision in an event's id: "12-1767225600000-7".
std::uint64_t revision_of(const std::string& id) { return std::strtoull(id.c_str(), nullptr, 10); }

class Attached {
 public:
  Attached(App& app, const Arguments& arguments, const DaemonDoor& door, WatchedConversation found,
           SignalScope& signals)
      : app_(app), door_(door), found_(std::move(found)), signals_(signals), json_(arguments.has("json")) {
    if (json_)
      shown_ = std::make_unique<JsonRenderer>(app_.out());
    else
      shown_ = std::make_unique<TerminalRenderer>(app_.out(), app_.err(), arguments.has("trace-hooks"));
    types_ = app_.surroundings().input_tty && !json_;
  }

  int show() {
    auto stream = door_.stream("GET", path("events"), {});
    if (!stream) return app_.fail(kExitFailure, "agentd serve: " + stream.error().message());
    runs_ = state() == "active";
    if (!json_) app_.out().print(found_.replay);
    app_.out().flush();
    if (types_) {
      app_.err().line("attached to " + found_.id.text() + "; a line is a message, Ctrl-C cancels, Ctrl-D leaves");
      app_.err().flush();
    }
    if (types_)
      for (const std::string& id : waits()) ask_about(id);
    while (!over_) {
      take_events(**stream);
      if ((*stream)->has_ended()) return app_.fail(kExitFailure, "agentd serve has ended, or the conversation is gone");
      if (app_.out().failure() != 0 || app_.out().reader_left()) return signal_exit(SIGPIPE);
      if (signals_.caught() != 0) interrupted();
      if (!over_ && types_) take_line();
    }
    return code_;
  }

 private:
  std::string path(const std::string& what) const {
    return "/api/v1/conversations/" + found_.id.text() + (what.empty() ? "" : "/" + what);
  }
  std::string state() const {
    const auto reply = door_.get(path(""));
    const auto document = JsonDocument::parse(reply ? reply->body : std::string("{}"));
    return document ? std::string(document->root()["state"].string_or("")) : std::string();
  }

  void take_events(DaemonStream& stream) {
    while (const auto frame = stream.next(kFrameLook)) {
      const std::uint64_t revision = revision_of(frame->id);
      if (revision < found_.revision && !json_) continue;  // the replay has it
      (void)read_event(frame->data, {}, *shown_);
      if (frame->type == "run_started") runs_ = true;
      if (frame->type == "run_ended") runs_ = false;
      if (frame->type == "waiting" && types_) ask_about(wait_in(frame->data));
      if (signals_.caught() != 0) return;
    }
  }

  void take_line() {
    if (wait_for_input(app_.surroundings().input, 0) != InputWait::kReady) return;
    const auto line = read_line(app_.surroundings().input);
    if (!line) {
      over_ = true;
      return;
    }
    if (is_blank(*line)) return;
    JsonWriter out;
    out.begin_object().member("text", to_utf8(*line)).member("kind", runs_ ? "steer" : "prompt").end_object();
    const auto reply = door_.post(path("messages"), out.text());
    if (!reply || reply->status != 202)
      app_.fail(kExitFailure, "the message was not sent: " + (reply ? reply->message() : reply.error().message));
  }

  // Ctrl-C cancels what runs; with nothing to cancel it leaves.
  void interrupted() {
    const int signal = signals_.caught();
    signals_.next();
    const auto reply = signal == SIGINT ? door_.post(path("cancel"), "{}") : Result<DaemonReply>(DaemonReply{});
    const auto document = JsonDocument::parse(reply ? reply->body : std::string());
    if (document && document->root()["cancelled"].bool_or(false)) return;
    over_ = true;
    code_ = signal_exit(signal);
  }

  static std::string wait_in(const std::string& event) {
    const auto document = JsonDocument::parse(event);
    return document ? std::string(document->root()["wait_id"].string_or("")) : std::string();
  }

  // The calls of the conversation that wait already.
  std::vector<std::string> waits() const {
    std::vector<std::string> out;
    const auto store = existing_store(app_);
    if (!store || !*store) return out;
    if (const auto all = list_waits(**store, app_.clock().wall_ms()))
      for (const WaitingCall& each : *all)
        if (each.root == found_.id && !each.open.answer) out.push_back(each.open.wait.id);
    return out;
  }

  void ask_about(const std::string& id) {
    const auto asked = question(id);
    UniqueFd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
    if (!asked || !terminal.valid()) return;
    TerminalApprover::Place place;
    place.terminal = std::move(terminal);
    place.pastes = marks_pastes(app_.surroundings().environment("TERM").value_or(""));
    place.always = false;
    place.hidden = Credentials::file(app_.home().value_or(""));
    TerminalApprover approver(std::move(place));
    Tool tool;
    tool.name = asked->tool;
    const auto input = ToolInput::make(asked->input);
    const PermissionAnswer given =
        approver.ask({0, asked->conversation_id, asked->cwd, asked->roots}, tool,
                     {asked->call_id, asked->tool, input ? *input : ToolInput()}, {asked->by, asked->reason});
    if (!given.given) return;
    JsonWriter out;
    out.begin_object().member("decision", given.allowed ? "allow" : "deny");
    constexpr std::string_view kNo = "the user said no: ";
    out.optional("reason", given.reason.starts_with(kNo) ? std::string_view(given.reason).substr(kNo.size()) : "");
    out.end_object();
    const auto reply = door_.post("/api/v1/approvals/" + id, out.text());
    if (!reply || reply->status != 200)
      app_.fail(kExitFailure, "not answered: " + (reply ? reply->message() : reply.error().message));
  }

  // The wait as the store has it.
  std::optional<WaitRecord> question(const std::string& id) const {
    const auto store = existing_store(app_);
    if (!store || !*store) return std::nullopt;
    const auto waiting = find_wait(**store, id);
    return waiting ? std::optional<WaitRecord>(waiting->open.wait) : std::nullopt;
  }

  App& app_;
  const DaemonDoor& door_;
  const WatchedConversation found_;
  SignalScope& signals_;
  const bool json_;
  bool types_ = false;  // a person's lines are messages
  std::unique_ptr<EventSink> shown_;
  bool runs_ = false, over_ = false;
  int code_ = kExitOk;
};

}  // namespace

int attach_command(App& app, const Arguments& arguments) {
  if (arguments.has("follow") == !arguments.words().empty())
    return app.fail(kExitUsage, "which conversation? Give its ID, or --follow for the newest one of this project");
  const auto door = DaemonDoor::find(app);
  if (!door)
    return app.fail(kExitNotFound,
                    "no 'agentd serve' works in this home: start it, or continue the conversation with 'agentd chat'");
  const auto ready = door->get("/readyz");
  if (!ready) return app.fail(kExitFailure, "agentd serve does not answer: " + ready.error().message);
  if (const auto said = JsonDocument::parse(ready->body);
      said && said->root()["version"].string_or(AGENTD_VERSION) != AGENTD_VERSION) {
    app.err().line("warning: agentd serve runs in another version (" +
                   neutral_line(said->root()["version"].string_or(""), 60) + "): events may be missing here");
    app.err().flush();
  }
  auto found = find(app, arguments);
  if (!found) return app.fail(found.error().code, found.error().message);
  SignalScope signals;
  signals.next();
  return Attached(app, arguments, *door, std::move(*found), signals).show();
}

}  // namespace agentd::app
