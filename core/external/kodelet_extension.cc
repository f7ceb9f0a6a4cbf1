// SPDX-License-Identifier: Apache-2.0
#include "core/external/kodelet_extension.h"

#include <algorithm>
#include <deque>
#include <set>

#include "core/base/mutex.h"
#include "core/base/recent_texts.h"
#include "core/dialects/translator.h"
#include "core/external/rpc_connection.h"

namespace agentd {
namespace {

using Reply = RpcConnection::Reply;

// Runs whose agent.init is remembered, and its bytes; one that is forgotten is asked for again.
constexpr std::size_t kInitsMax = 4'096, kInitBytesMax = 16u << 20;
constexpr std::size_t kSubscriptionsMax = 64;

constexpr std::uint64_t ns(Milliseconds time) { return static_cast<std::uint64_t>(time.count()) * 1'000'000; }

Deadline earlier(Deadline a, Deadline b) { return a.at_ns < b.at_ns ? a : b; }

std::string handshake_params(const KodeletExtensionRequest& request) {
  JsonWriter out;
  out.begin_object().member("protocolVersion", KodeletExtension::kProtocolVersion);
  out.key("kodelet").begin_object().member("version", "dev").end_object();
  out.key("extension").begin_object().member("id", request.name);
  out.key("config").begin_object().end_object();
  out.member("cwd", request.process.cwd).member("dataDir", request.data_directory).end_object();
  out.key("capabilities").begin_object();
  for (const std::string_view none : {"tools", "toolUpdates", "commands"}) out.member(none, false);
  out.key("conversations").begin_object().member("fork", false).end_object();
  out.key("ui").begin_object();
  for (const std::string_view none : {"input", "confirm", "select", "notify", "widgets", "surfaces", "transcript"})
    out.member(none, false);
  out.end_object().key("events").begin_array();
  for (const std::string_view event : {"session.start", "user.message", "agent.init", "turn.start", "tool.call",
                                       "tool.result", "turn.end", "agent.end", "session.end"})
    out.string(event);
  out.end_array().end_object().end_object();
  return std::string(out.text());
}

// An extension's answer to the handshake.
struct Greeting {
  std::vector<ExtensionSubscription> subscriptions;
  std::vector<std::string> problems;
};

void read_subscription(JsonView from, Greeting& out) {
  ExtensionSubscription each;
  each.event = std::string(from["event"].string_or(""));
  if (event_of_extension(each.event) == 0) {
    out.problems.push_back("it subscribes to " + in_quotes(each.event) +
                           ", which is not an event of agentd and never occurs");
    return;
  }
  each.priority = static_cast<int>(std::clamp<std::int64_t>(from["priority"].int_or(0), -30'000, 30'000));
  const double seconds = from["timeoutInSec"].number_or(0);
  if (seconds > 0 && seconds < 1e6) each.timeout = Milliseconds(static_cast<std::int64_t>(seconds * 1000.0));
  out.subscriptions.push_back(std::move(each));
}

std::string names_in(JsonView list) {
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(list.size(), 8); ++i)
    out += (i == 0 ? "" : ", ") + first_line(list.at(i)["name"].string_or("?"), 40);
  return out;
}

Result<Greeting> read_greeting(JsonView result) {
  if (!result.is_object())
    return Error{Code::kInvalid,
                 "its answer to the handshake is " + std::string(type_name(result)) + ", not an object"};
  Greeting out;
  const JsonView subscriptions = result["subscriptions"];
  for (std::size_t i = 0; i < std::min(subscriptions.size(), kSubscriptionsMax); ++i)
    read_subscription(subscriptions.at(i), out);
  for (const std::string_view what : {"tools", "commands"})
    if (const std::string names = names_in(result[what]); !names.empty())
      out.problems.push_back("its " + std::string(what) + " (" + names +
                             ") are ignored: agentd supports only events of an extension");
  return out;
}

}  // namespace

struct KodeletExtension::State {
  State(KodeletExtensionRequest from, const Clock& with) : request(std::move(from)), clock(with) {}

  const KodeletExtensionRequest request;
  const Clock& clock;

  // Held while the program is started and greeted; the holder owns the next two members.
  Mutex starting;
  std::shared_ptr<RpcConnection::Pending> handshake GUARDED_BY(starting);  // shared with the connection
  Deadline handshake_until GUARDED_BY(starting);

  mutable Mutex mutex;
  // Shared by the calls in progress.
  std::shared_ptr<RpcConnection> connection GUARDED_BY(mutex);
  bool ready GUARDED_BY(mutex) = false;  // the handshake is done
  std::deque<std::uint64_t> ends_ns GUARDED_BY(mutex);
  int ends_in_a_row GUARDED_BY(mutex) = 0;
  std::string last_end GUARDED_BY(mutex), off GUARDED_BY(mutex);
  Greeting greeting GUARDED_BY(mutex);
  std::set<std::uint32_t> warned GUARDED_BY(mutex);
  std::set<std::string> told GUARDED_BY(mutex);  // problems of the greeting that were reported
  // Conversation and agent -> result of agent.init.
  RecentTexts inits GUARDED_BY(mutex){kInitsMax, kInitBytesMax};

  // The usable connection; null = none yet.
  std::shared_ptr<RpcConnection> usable() {
    const MutexLock lock(mutex);
    return ready && connection && !connection->ended() ? connection : nullptr;
  }
  std::string whose(const std::string& what) const { return "the extension " + request.name + ": " + what; }
  Error why_off() const {
    const MutexLock lock(mutex);
    return {Code::kUnavailable, off};
  }

  void note_end(std::uint64_t at_ns, const std::string& why) REQUIRES(starting);
  // False if the cancel or the deadline came first.
  bool lock_starting(const CancelToken& cancel, Deadline deadline) TRY_ACQUIRE(true, starting);
  Result<void> wait_back_off(const CancelToken& cancel, Deadline deadline);
  Result<void> launch(const CancelToken& cancel) REQUIRES(starting);
  Result<void> finish_handshake(const CancelToken& cancel, Deadline deadline) REQUIRES(starting);
  Result<std::shared_ptr<RpcConnection>> running(const CancelToken& cancel, Deadline deadline);
  void drop_ended() REQUIRES(starting);

  std::optional<Deadline> deadline_of(std::uint32_t event, Deadline deadline,
                                      const std::function<void(Deadline)>& allow);
  Verdict not_subscribed(std::uint32_t event);
  std::string known_init(std::uint32_t event, JsonView payload);
  void note_answer(std::uint32_t event, JsonView payload, JsonView result);
  Verdict answer(RpcConnection& on, std::uint32_t event, JsonView payload, const CancelToken& cancel, Deadline deadline,
                 const std::function<void(Deadline)>& allow);
  Verdict ask(RpcConnection& on, std::uint32_t event, JsonView payload, const CancelToken& cancel, Deadline deadline);
};

void KodeletExtension::State::note_end(std::uint64_t at_ns, const std::string& why) {
  std::shared_ptr<RpcConnection> dead;  // destroyed after the mutex is released
  const MutexLock lock(mutex);
  dead.swap(connection);
  handshake.reset();
  ready = false;
  inits.clear();
  last_end = why;
  ++ends_in_a_row;
  ends_ns.push_back(at_ns);
  while (at_ns - ends_ns.front() > ns(kEndsWindow)) ends_ns.pop_front();
  if (ends_ns.size() >= static_cast<std::size_t>(kEndsMax))
    off = whose("it is disabled, since it failed " + std::to_string(kEndsMax) + " times within " +
                std::to_string(kEndsWindow.count() / 1000) + " s: " + why);
}

// A connection that ended since its last use is counted once, by the call that finds it.
void KodeletExtension::State::drop_ended() {
  std::shared_ptr<RpcConnection> dead;
  {
    const MutexLock lock(mutex);
    if (connection && connection->ended()) dead = connection;
  }
  if (dead) note_end(dead->ended_at_ns(), dead->why_ended());
}

bool KodeletExtension::State::lock_starting(const CancelToken& cancel, Deadline deadline) {
  while (!starting.lock_for(clock, RpcConnection::kPoll))
    if (cancel.cancelled() || deadline.passed(clock)) return false;
  return true;
}

Result<void> KodeletExtension::State::wait_back_off(const CancelToken& cancel, Deadline deadline) {
  Deadline ready_at;
  std::string why;
  {
    const MutexLock lock(mutex);
    if (ends_in_a_row == 0) return {};
    Milliseconds pause = kBackOffFirst;
    for (int i = 1; i < ends_in_a_row && pause < kBackOffMax; ++i) pause *= 2;
    ready_at.at_ns = ends_ns.back() + ns(std::min(pause, kBackOffMax));
    why = last_end;
  }
  while (!ready_at.passed(clock)) {
    if (cancel.cancelled()) return Error{Code::kCancelled, whose("cancelled")};
    if (deadline.passed(clock)) return Error{Code::kBusy, whose("it is restarted later, since " + why)};
    clock.pause(RpcConnection::kPoll);
  }
  return {};
}

Result<void> KodeletExtension::State::launch(const CancelToken& cancel) {
  auto process = DuplexProcess::start(request.process, clock);
  if (!process) {
    note_end(clock.monotonic_ns(), process.error().message);
    return Error{Code::kUnavailable, whose(process.error().message)};
  }
  // Shared by the calls in progress.
  auto fresh = std::make_shared<RpcConnection>(std::move(*process), clock, kFrameMax);
  handshake_until = Deadline::after(clock, request.handshake);
  Reply why;
  handshake = fresh->begin("extension.initialize", handshake_params(request), cancel, handshake_until, why);
  if (handshake) {
    const MutexLock lock(mutex);
    connection = std::move(fresh);
    return {};
  }
  if (why.kind == Reply::Kind::kCancelled) return Error{Code::kCancelled, whose("cancelled")};
  note_end(clock.monotonic_ns(), why.sentence);
  return Error{Code::kUnavailable, whose(why.sentence)};
}

// A slow start may take longer than one event can wait: the next event continues to wait for the same program.
Result<void> KodeletExtension::State::finish_handshake(const CancelToken& cancel, Deadline deadline) {
  std::shared_ptr<RpcConnection> on;  // shared with `connection`
  {
    const MutexLock lock(mutex);
    on = connection;
  }
  const Reply reply = on->wait(handshake, cancel, earlier(deadline, handshake_until));
  std::string problem = reply.sentence;
  switch (reply.kind) {
    case Reply::Kind::kCancelled:
      return Error{Code::kCancelled, whose("cancelled")};
    case Reply::Kind::kTimedOut:
      if (!handshake_until.passed(clock)) return Error{Code::kBusy, whose("it was still starting at the deadline")};
      problem = "it did not answer the handshake within " + std::to_string(request.handshake.count()) + " ms";
      break;
    case Reply::Kind::kResult: {
      auto read = read_greeting(reply.result());
      if (read) {
        const MutexLock lock(mutex);
        greeting = std::move(*read);
        ready = true;
        handshake.reset();
        return {};
      }
      problem = read.error().message;
      break;
    }
    case Reply::Kind::kError:
    case Reply::Kind::kEnded:
      break;
  }
  note_end(clock.monotonic_ns(), problem);
  return Error{Code::kUnavailable, whose(problem)};
}

Result<std::shared_ptr<RpcConnection>> KodeletExtension::State::running(const CancelToken& cancel, Deadline deadline) {
  if (auto found = usable()) return found;
  if (!lock_starting(cancel, deadline))
    return cancel.cancelled() ? Error{Code::kCancelled, whose("cancelled")}
                              : Error{Code::kBusy, whose("it was not ready in time")};
  const MutexLock guard(starting, kAdopt);
  if (auto found = usable()) return found;
  drop_ended();
  if (const Error error = why_off(); !error.message.empty()) return error;
  if (!handshake) {
    AGENTD_TRY_VOID(wait_back_off(cancel, deadline));
    AGENTD_TRY_VOID(launch(cancel));
  }
  AGENTD_TRY_VOID(finish_handshake(cancel, deadline));
  if (auto found = usable()) return found;
  return Error{Code::kUnavailable, whose("it ended right after the handshake")};
}

KodeletExtension::KodeletExtension(KodeletExtensionRequest request, const Clock& clock)
    : state_(std::make_unique<State>(std::move(request), clock)) {}

KodeletExtension::~KodeletExtension() = default;

Result<void> KodeletExtension::start(const CancelToken& cancel) {
  auto running = state_->running(cancel, Deadline{});
  if (!running) return running.error();
  return {};
}

std::vector<ExtensionSubscription> KodeletExtension::subscriptions() const {
  const MutexLock lock(state_->mutex);
  return state_->greeting.subscriptions;
}

bool KodeletExtension::off() const { return !state_->why_off().message.empty(); }

namespace {

Verdict failure(const Error& error) {
  Verdict verdict;
  verdict.failed = true;
  verdict.timed_out = error.code == Code::kBusy;
  verdict.failure = error.message;
  return verdict;
}

std::string init_key(JsonView payload) {
  return std::string(payload["conv_id"].string_or("")) + "\n" + std::string(payload["agent"]["id"].string_or(""));
}

}  // namespace

// The deadline by the subscription's own timeout; nullopt if it did not subscribe to the event.
std::optional<Deadline> KodeletExtension::State::deadline_of(std::uint32_t event, Deadline deadline,
                                                             const std::function<void(Deadline)>& allow) {
  const MutexLock lock(mutex);
  for (const ExtensionSubscription& each : greeting.subscriptions) {
    if (each.event != extension_event(event)) continue;
    if (!each.timeout) return deadline;
    const Deadline own = Deadline::after(clock, *each.timeout);
    if (!allow || own.at_ns <= deadline.at_ns) return earlier(deadline, own);
    allow(own);
    return own;
  }
  return std::nullopt;
}

Verdict KodeletExtension::State::not_subscribed(std::uint32_t event) {
  const MutexLock lock(mutex);
  Verdict none;
  if (warned.insert(event).second)
    none.warnings.push_back(whose("it was called for an event that it did not subscribe to"));
  return none;
}

// agent.init is sent once per run, before the first model call; its changes last.
std::string KodeletExtension::State::known_init(std::uint32_t event, JsonView payload) {
  if (event != AGENTD_EVENT_BEFORE_MODEL_CALL || payload["turn_number"].uint_or(0) <= 1) return {};
  const MutexLock lock(mutex);
  const std::string* const found = inits.find(init_key(payload));
  return found == nullptr ? std::string() : *found;
}

void KodeletExtension::State::note_answer(std::uint32_t event, JsonView payload, JsonView result) {
  const MutexLock lock(mutex);
  ends_in_a_row = 0;
  if (event != AGENTD_EVENT_BEFORE_MODEL_CALL) return;
  inits.put(init_key(payload), std::string(result.text()));
}

Verdict KodeletExtension::State::ask(RpcConnection& on, std::uint32_t event, JsonView payload,
                                     const CancelToken& cancel, Deadline deadline) {
  Reply reply;
  const auto pending = on.begin("extension.event.handle", extension_params(event, payload), cancel, deadline, reply);
  if (pending) reply = on.wait(pending, cancel, deadline);
  switch (reply.kind) {
    case Reply::Kind::kResult:
      break;
    case Reply::Kind::kError:
      return failure({Code::kInvalid, whose(reply.sentence)});
    case Reply::Kind::kEnded:
      return failure({Code::kUnavailable, whose(reply.sentence)});
    case Reply::Kind::kTimedOut:
      if (pending) on.abandon(pending, true);
      return failure({Code::kBusy, whose("it did not answer before its deadline")});
    case Reply::Kind::kCancelled:
      if (pending) on.abandon(pending, false);
      return failure({Code::kCancelled, whose("cancelled")});
  }
  note_answer(event, payload, reply.result());
  return interpret_extension(event, payload, reply.result());
}

Verdict KodeletExtension::State::answer(RpcConnection& on, std::uint32_t event, JsonView payload,
                                        const CancelToken& cancel, Deadline deadline,
                                        const std::function<void(Deadline)>& allow) {
  const std::optional<Deadline> until = deadline_of(event, deadline, allow);
  if (!until) return not_subscribed(event);
  const std::string known = known_init(event, payload);
  if (known.empty()) return ask(on, event, payload, cancel, *until);
  const auto again = JsonDocument::parse(known);
  return interpret_extension(event, payload, again ? again->root() : JsonView());
}

Verdict KodeletExtension::call(std::uint32_t event, JsonView payload, const CancelToken& cancel, Deadline deadline,
                               const std::function<void(Deadline)>& allow) {
  auto connection = state_->running(cancel, deadline);
  if (!connection) return failure(connection.error());
  Verdict verdict = state_->answer(**connection, event, payload, cancel, deadline, allow);
  const MutexLock lock(state_->mutex);
  for (const std::string& each : state_->greeting.problems)
    if (state_->told.insert(each).second) verdict.warnings.push_back(state_->whose(each));
  return verdict;
}

}  // namespace agentd
