// SPDX-License-Identifier: Apache-2.0
#include "core/serve/live_session.h"

#include <agentd/hook_types.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "core/agent/conversation_mode.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/serve/client_commands.h"
#include "core/serve/client_link.h"
#include "core/serve/metrics.h"
#include "core/serve/workplaces.h"
#include "core/workplace/project.h"

namespace agentd::serve {
namespace {

constexpr std::size_t kJobsMax = 64, kPostedMax = 64, kPostedBytesMax = 16u << 20;

RunError busy(std::string why) { return {RunError::Kind::kBusy, std::move(why)}; }

std::string error_json(const RunError& error) {
  JsonWriter out;
  out.begin_object().member("type", "error").member("code", code_of(error.kind)).member("message", error.message);
  out.end_object();
  return std::string(out.text());
}

// The message of a delta is recorded later, and a warning may come between a commit and its messages.
bool tells_no_record(RunEvent::Type type) {
  return type == RunEvent::Type::kTextDelta || type == RunEvent::Type::kThinkingDelta ||
         type == RunEvent::Type::kWarning;
}

}  // namespace

std::string_view name_of(LiveSession::State state) {
  switch (state) {
    case LiveSession::State::kParked:
      return "parked";
    case LiveSession::State::kIdle:
      return "idle";
    case LiveSession::State::kActive:
      return "active";
    case LiveSession::State::kWaiting:
      return "waiting";
    case LiveSession::State::kEnded:
      return "ended";
  }
  return "";
}

std::string_view code_of(RunError::Kind kind) {
  switch (kind) {
    case RunError::Kind::kFailure:
      return "internal";
    case RunError::Kind::kUsage:
      return "bad_request";
    case RunError::Kind::kBlocked:
      return "blocked";
    case RunError::Kind::kRepeated:
      return "repeated";
    case RunError::Kind::kStopped:
      return "stopped";
    case RunError::Kind::kNotFound:
      return "not_found";
    case RunError::Kind::kProvider:
      return "provider";
    case RunError::Kind::kLimit:
      return "limit";
    case RunError::Kind::kStore:
      return "store";
    case RunError::Kind::kBusy:
      return "busy";
    case RunError::Kind::kCancelled:
      return "cancelled";
  }
  return "";
}

HttpReply error_reply(const RunError& error) {
  const auto status = [&] {
    switch (error.kind) {
      case RunError::Kind::kUsage:
        return 400u;
      case RunError::Kind::kNotFound:
        return 404u;
      case RunError::Kind::kBlocked:
      case RunError::Kind::kRepeated:
      case RunError::Kind::kStopped:
      case RunError::Kind::kCancelled:
        return 409u;
      case RunError::Kind::kLimit:
        return 429u;
      case RunError::Kind::kProvider:
        return 502u;
      case RunError::Kind::kBusy:
        return 503u;
      case RunError::Kind::kFailure:
      case RunError::Kind::kStore:
        return 500u;
    }
    return 500u;
  }();
  HttpReply out = error_reply(status, code_of(error.kind), error.message);
  if (status == 503) out.fields.emplace_back("retry-after", "1");
  return out;
}

LiveSession::LiveSession(Runtime& runtime, Workplaces& workplaces, Metrics& metrics, JobThreads& threads,
                         SessionWishes wishes, std::optional<Ulid> conversation)
    : runtime_(runtime),
      workplaces_(workplaces),
      metrics_(metrics),
      wishes_(std::move(wishes)),
      ring_(static_cast<std::uint64_t>(runtime_.clock().wall_ms())),
      id_(conversation ? conversation->text() : std::string()),
      used_ns_(runtime_.clock().monotonic_ns()),
      jobs_(threads, kJobsMax) {}

LiveSession::~LiveSession() {
  stop();
  jobs_.end();
  // Its end is told to this object: not by the destructor of a member, when others are gone already.
  close("exit", State::kEnded);
  ring_.close();
}

// ---- opening

Result<void, RunError> LiveSession::ensure_open(const std::string& first_text, const CancelToken& cancel) {
  if (client_ && (is_lent() || !client_->is_stored() || workplaces_.is_current(*workplace_))) return {};
  if (state() == State::kEnded) return busy("the session has ended: try again");
  if (client_) close("exit", State::kParked);  // the hooks of its project are others now
  ClientLink* const owner = wishes_.client.get();
  if (owner == nullptr && workplaces_.is_closed(wishes_.cwd))
    return RunError{RunError::Kind::kBlocked,
                    "no client works in " + one_line(wishes_.cwd, 200) + ": it has keys, or belongs to agentd"};
  const ClientLink::Listening listening(owner);
  AGENTD_TRY(std::shared_ptr<Workplace> workplace, workplaces_.at(wishes_.cwd));
  auto feed = std::make_unique<Feed>(*this);
  OpenRequest request{wishes_.cwd, *feed};
  if (owner == nullptr) {
    request.model = wishes_.model;
    request.mode = wishes_.mode;
  }
  request.trace_hooks = true;
  request.waits = true;
  if (owner != nullptr) {
    request.options = owner->wishes().options;
    request.commands = commands_of_client(owner->wishes().environment, runtime_.command_reader());
    request.commands_are_caged = true;
    if (!owner->wishes().detached) {
      request.approver = owner;
      request.person = owner;
      request.waits.reset();
    }
  }
  AGENTD_TRY(auto client, ClientSession::prepare(*workplace, std::move(request)));
  const std::string known = id();
  std::optional<Ulid> conversation;
  if (const auto parsed = Ulid::parse(known)) conversation = *parsed;
  AGENTD_TRY_VOID(client->open(conversation, cancel, first_text));
  if (wishes_.mode && !conversation)
    if (auto kept = keep_mode(runtime_.store(), client->session()->conversation_id(), *wishes_.mode); !kept) {
      client->end("exit");
      return RunError{RunError::Kind::kStore, "the mode of the conversation cannot be kept: " + kept.error().message};
    }
  feed_ = std::move(feed);
  workplace_ = std::move(workplace);
  client_ = std::move(client);
  const MutexLock lock(mutex_);
  id_ = session().conversation_id();
  if (!conversation) new_cwd_ = wishes_.cwd;
  state_ = session().wait() != nullptr ? State::kWaiting : State::kIdle;
  lent_ = owner != nullptr && !owner->wishes().detached;
  return {};
}

bool LiveSession::is_lent() const {
  const MutexLock lock(mutex_);
  return lent_;
}

std::optional<RunError> LiveSession::refusal_of(By by) const {
  if (by == By::kOwner || !is_lent()) return std::nullopt;
  return RunError{RunError::Kind::kBlocked, "a command works in this conversation: try again when it has ended"};
}

void LiveSession::close(std::string_view reason, State after) {
  // A conversation in which nothing was said ends with its session.
  if (const auto own = Ulid::parse(id()); own && wishes_.mode && after == State::kEnded)
    if (const auto info = runtime_.store().info(*own); !info && info.error().code == Code::kNotFound)
      (void)forget_mode(runtime_.store(), own->text());
  if (client_) client_->end(reason);
  client_.reset();
  workplace_.reset();
  feed_.reset();
  const MutexLock lock(mutex_);
  state_ = after;
  lent_ = false;
}

std::string LiveSession::id() const {
  const MutexLock lock(mutex_);
  return id_;
}

std::optional<ConversationInfo> LiveSession::unsaid() const {
  const MutexLock lock(mutex_);
  const auto id = Ulid::parse(id_);
  if (!id || new_cwd_.empty() || revision_ != 0 || state_ == State::kEnded) return std::nullopt;
  ConversationInfo out;
  out.id = id_;
  out.cwd = new_cwd_;
  out.project_id = find_project(new_cwd_).id;
  out.created_ms = out.updated_ms = static_cast<std::int64_t>(id->time_ms());
  return out;
}

LiveSession::State LiveSession::state() const {
  const MutexLock lock(mutex_);
  return state_;
}

// ---- jobs

// A command may have come while the job waited, so that is asked twice.
void LiveSession::add(std::function<void(const CancelToken&)> job, const Refused& refused, By by,
                      const std::string& first_text) {
  if (auto why = refusal_of(by)) return refused(std::move(*why));
  const auto added = jobs_.add([this, job = std::move(job), refused, by, first_text] {
    const CancelToken cancel;
    {
      MutexLock lock(mutex_);
      if (stops_) {
        lock.unlock();
        return refused(busy("the session is being closed: try again"));
      }
      cancel_ = cancel;
    }
    if (auto opened = ensure_open(first_text, cancel); !opened)
      refused(opened.error());
    else if (auto why = refusal_of(by))
      refused(std::move(*why));
    else
      job(cancel);
    const MutexLock lock(mutex_);
    cancel_.reset();
    used_ns_ = runtime_.clock().monotonic_ns();
  });
  if (added == JobLine::Added::kTooMany) return refused(busy("too many requests wait in this conversation: try later"));
  if (added == JobLine::Added::kFull)
    return refused(busy("as many conversations work as may at the same time: try again in a few seconds"));
  if (added == JobLine::Added::kNoThread) return refused(busy("the system allows agentd no more threads: try later"));
  if (added == JobLine::Added::kEnds) return refused(busy("the session is being closed: try again"));
}

template <class T>
void LiveSession::add_for(By by, Done<T> done, std::function<Result<T, RunError>(Session&, const CancelToken&)> job) {
  const auto shared = std::make_shared<Done<T>>(std::move(done));  // called once: by the job, or where there is none
  add([this, shared, job = std::move(job)](const CancelToken& cancel) { (*shared)(job(session(), cancel)); },
      [shared](RunError error) { (*shared)(std::move(error)); }, by);
}

void LiveSession::open(const std::string& first_text, Done<void> done) {
  const auto shared = std::make_shared<Done<void>>(std::move(done));  // as in add_for()
  add([shared](const CancelToken&) { (*shared)({}); }, [shared](RunError error) { (*shared)(std::move(error)); },
      By::kOwner, first_text);
}

// ---- runs

void LiveSession::post(PostedMessage message, bool steers, By by, Done<Queued> queued) {
  if (auto why = refusal_of(by)) return queued(std::move(*why));
  message.kind = steers ? PostedMessage::Kind::kSteer : PostedMessage::Kind::kFollowUp;
  {
    MutexLock lock(mutex_);
    if (runs_) {
      std::size_t bytes = message.text.size();
      for (const Block& block : message.media) bytes += block.opaque.size();
      if (posted_ == kPostedMax || (posted_ != 0 && posted_bytes_ + bytes > kPostedBytesMax)) {
        lock.unlock();
        return queued(busy("too many messages wait in this conversation: try later"));
      }
      ++posted_;
      posted_bytes_ += bytes;
      // The run cannot end before the lock is free, and takes what is queued until then.
      const auto posted = session().post(std::move(message));
      lock.unlock();
      return queued(posted ? Result<Queued, RunError>(steers ? Queued::kSteer : Queued::kFollowUp) : posted.error());
    }
  }
  const auto shared = std::make_shared<Done<Queued>>(std::move(queued));  // as in add_for()
  RunRequest request;
  request.text = std::move(message.text);
  request.media = std::move(message.media);
  request.key = std::move(message.key);
  const std::string first_text = request.text;
  add(
      [this, shared, request = std::move(request)](const CancelToken& cancel) {
        (*shared)(Queued::kRun);
        begin_run();
        const auto report = session().run(request, cancel);
        // Nothing of it is stored.
        if (!report && !user_told_) give_back({{PostedMessage::Kind::kFollowUp, request.text, {}, request.key}});
        ran(report);
      },
      [shared](RunError error) { (*shared)(std::move(error)); }, by, first_text);
}

void LiveSession::carry_on(By by, Done<void> queued) {
  const auto shared = std::make_shared<Done<void>>(std::move(queued));  // as in add_for()
  add(
      [this, shared](const CancelToken& cancel) {
        (*shared)({});
        begin_run();
        ran(session().carry_on({}, cancel));
      },
      [shared](RunError error) { (*shared)(std::move(error)); }, by);
}

void LiveSession::begin_run() {
  ended_told_ = user_told_ = false;
  const MutexLock lock(mutex_);
  state_ = State::kActive;
  runs_ = true;
}

// Posted messages that no run has taken: the next run, or back to their client.
void LiveSession::ran(const Result<RunReport, RunError>& report) {
  if (!report && report.error().kind == RunError::Kind::kStore) metrics_.count_store_failure();
  if (!report && !ended_told_) tell("error", error_json(report.error()));
  std::vector<PostedMessage> left;
  {
    const MutexLock lock(mutex_);
    left = session().take_posted();
    runs_ = false;
    posted_ = posted_bytes_ = 0;
    state_ = session().wait() != nullptr ? State::kWaiting : State::kIdle;
  }
  const bool goes_on = report && report->outcome != RunOutcome::kWaiting;
  if (!goes_on) return give_back(std::move(left));
  // Where a command works, the owner alone was let in.
  const By by = is_lent() ? By::kOwner : By::kOther;
  for (PostedMessage& message : left) {
    PostedMessage again = message;
    post(std::move(message), false, by, [this, again](const Result<Queued, RunError>& queued) {
      if (!queued) give_back({again});
    });
  }
}

void LiveSession::give_back(std::vector<PostedMessage> messages) {
  for (const PostedMessage& message : messages) {
    JsonWriter out;
    out.begin_object().member("type", "returned").member("text", message.text).optional("key", message.key);
    out.end_object();
    tell("returned", out.text());
  }
}

bool LiveSession::cancel() {
  const MutexLock lock(mutex_);
  if (!cancel_) return false;
  cancel_->cancel(AGENTD_CANCEL_USER);
  // It may wait for the person at the terminal, whom nobody asks any more.
  if (working_) working_->cancel_call();
  return true;
}

// ---- the rest

void LiveSession::compact(CompactOptions options, bool dry_run, By by, Done<CompactionReport> done) {
  add_for<CompactionReport>(by, std::move(done),
                            [options = std::move(options), dry_run](Session& open, const CancelToken& cancel) {
                              return open.compact(options, dry_run, cancel);
                            });
}

void LiveSession::undo(bool force, By by, Done<UndoReport> done) {
  add_for<UndoReport>(by, std::move(done),
                      [force](Session& open, const CancelToken& cancel) { return open.undo(force, cancel); });
}

void LiveSession::checkpoint(const std::string& name, By by, Done<std::string> done) {
  add_for<std::string>(by, std::move(done),
                       [name](Session& open, const CancelToken&) { return open.checkpoint(name); });
}

void LiveSession::call_tool(DirectCall call, By by, Done<DirectReport> done) {
  add_for<DirectReport>(by, std::move(done), [call = std::move(call)](Session& open, const CancelToken& cancel) {
    return open.call_tool(call, cancel);
  });
}

bool LiveSession::subscribe(std::shared_ptr<HttpStream> stream, const std::optional<EventId>& last) {
  return ring_.subscribe(std::move(stream), last, revision());
}

std::optional<std::uint64_t> LiveSession::idle_since_ns() const {
  if (!jobs_.is_idle()) return std::nullopt;
  const MutexLock lock(mutex_);
  return used_ns_;
}

void LiveSession::park() {
  (void)jobs_.add([this] {
    if (client_ && wishes_.client && !wishes_.client->has_left()) {
      const MutexLock lock(mutex_);
      used_ns_ = runtime_.clock().monotonic_ns();
      return;
    }
    if (client_) close("exit", State::kParked);
    ring_.forget();
  });
}

bool LiveSession::retire() { return jobs_.end_if_idle(); }

bool LiveSession::end(std::string_view reason) {
  // A parked one has nothing to end.
  if (state() == State::kParked && jobs_.end_if_idle()) return true;
  const auto added = jobs_.add([this, reason = std::string(reason)] { close(reason, State::kEnded); });
  return added == JobLine::Added::kYes || added == JobLine::Added::kEnds;
}

void LiveSession::stop() {
  {
    const MutexLock lock(mutex_);
    stops_ = true;
  }
  (void)cancel();
}

// ---- events

std::uint64_t LiveSession::revision() const {
  const auto conversation = Ulid::parse(id());
  const auto info =
      conversation ? runtime_.store().info(*conversation) : Result<ConversationInfo>(conversation.error());
  const MutexLock lock(mutex_);
  if (info) revision_ = info->revision;
  return revision_;
}

void LiveSession::tell(std::string_view type, std::string_view json) {
  told_ = std::max(told_, revision());
  ring_.add(told_, type, json);
}

// The run's own first message is told here, too, so that one more than kPostedMax may wait.
void LiveSession::count(const RunEvent& event) {
  const auto* const message = std::get_if<told::UserMessage>(&event.body);
  if (event.agent_depth != 0 || (message == nullptr && event.type() != RunEvent::Type::kTurnEnded)) return;
  if (wishes_.client && !wishes_.client->is_listening() && (message == nullptr || !message->repeated)) ++unseen_;
  if (message == nullptr) return;
  const MutexLock lock(mutex_);
  if (posted_ != 0 && --posted_ == 0) posted_bytes_ = 0;
}

void LiveSession::on_event(const RunEvent& event) {
  metrics_.count(event);
  if (wishes_.client) wishes_.client->on_event(event);
  if (event.type() == RunEvent::Type::kRunEnded) ended_told_ = true;
  if (event.type() == RunEvent::Type::kUserMessage) user_told_ = true;
  count(event);
  const std::string json = event_json(event);
  if (tells_no_record(event.type())) return ring_.add(told_, name_of(event.type()), json);
  const auto* const message = std::get_if<told::UserMessage>(&event.body);
  const bool is_of_log = message != nullptr && !message->repeated && event.agent_depth == 0;
  if (!is_of_log) return tell(name_of(event.type()), json);
  // One commit may have stored several, of which the next ones are not told yet.
  told_ = std::max(told_, message->seq);
  ring_.add(told_, name_of(event.type()), json, message->seq);
}

}  // namespace agentd::serve
