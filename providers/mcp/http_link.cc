// SPDX-License-Identifier: Apache-2.0
// A server at an address: each message is a request of HTTP, whose answer is a message or a stream of them.
// Source: modelcontextprotocol.io, "Streamable HTTP" of both eras.
#include <algorithm>
#include <charconv>
#include <list>
#include <optional>
#include <system_error>

#include <agentd/hook_abi.h>

#include "core/base/bytes.h"
#include "core/base/mutex.h"
#include "core/base/signals_blocked.h"
#include "core/base/thread.h"
#include "core/base/thrown.h"
#include "core/codec/mcp_protocol.h"
#include "core/codec/sse.h"
#include "providers/mcp/link.h"

namespace agentd::mcp {
namespace {

constexpr std::size_t kRequestsMax = 64;        // at one time
constexpr std::size_t kStreamMax = 256u << 20;  // bytes of one answer that is a stream
constexpr std::size_t kErrorMax = 16u << 10;    // bytes of an answer that is an error
constexpr std::size_t kSessionMax = 1'024;      // characters of its id
constexpr Milliseconds kDay{86'400'000};        // whoever asks has a shorter time
constexpr Milliseconds kLastTime{1'000};        // for the end of a session
constexpr Milliseconds kPartTime{5'000};        // for a message without an answer
constexpr int kBusySecondsMax = 5;              // of Retry-After: then it is asked once more
constexpr Milliseconds kResumePause{1'000};     // where a stream does not say it ("retry")
constexpr Milliseconds kResumePauseMin{100}, kResumePauseMax{60'000};
constexpr int kResumesMax = 5;  // of one answer without a message between

bool is_event_stream(const HttpResponse& response) {
  return ascii_lower(response.header("content-type")).starts_with("text/event-stream");
}

bool is_session(std::string_view id) {
  const auto visible = [](char c) { return c > ' ' && c < '\x7f'; };
  return id.size() <= kSessionMax && std::all_of(id.begin(), id.end(), visible);
}

// How long a server that has too many requests asks for patience, if that is short.
std::optional<Milliseconds> busy_for(const HttpResponse& response) {
  if (response.status != 429) return std::nullopt;
  const std::string_view text = without_blanks(response.header("retry-after"));
  int seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 0 || seconds > kBusySecondsMax)
    return std::nullopt;
  return Milliseconds(seconds * 1'000);
}

class HttpLink final : public Link {
 public:
  HttpLink(const ServerSetup& setup, HttpClient& http, const Clock& clock)
      : url_(setup.url), own_fields_(setup.headers), http_(http), clock_(clock) {}

  ~HttpLink() override {
    std::list<Job> jobs;
    std::string session;
    {
      const MutexLock lock(mutex_);
      ends_ = true;
      stop_.cancel(AGENTD_CANCEL_SHUTDOWN);
      jobs.swap(jobs_);
      session = session_;
    }
    jobs.clear();  // joins
    if (!session.empty()) {
      HttpRequest request = prepared("DELETE", {});
      (void)http_.send(
          request, [](const HttpResponse&, std::string_view) { return true; }, CancelToken(),
          Deadline::after(clock_, kLastTime));
    }
  }

  void start(Ears ears) override { ears_ = std::move(ears); }

  void send(Outgoing message) override {
    const RpcId id = message.id;
    if (!begin([this, message = std::move(message)](const CancelToken& cancel) { post(message, cancel); }, id) &&
        !id.is_null())
      ears_.lose(id, {Loss::Kind::kBroken, "has too many requests at once"});
  }

  void flush(const CancelToken& cancel, Deadline deadline) override {
    const MutexLock lock(mutex_);
    const auto runs = [](const Job& job) { return job.id.is_null() && !job.listens && !job.done; };
    while (std::any_of(jobs_.begin(), jobs_.end(), runs) && !cancel.cancelled() && !deadline.passed(clock_))
      changed_.wait_for(mutex_, clock_, kSlice);
  }

  void drop(const RpcId& id) override {
    const MutexLock lock(mutex_);
    for (const Job& job : jobs_)
      if (job.id == id) job.cancel.cancel(AGENTD_CANCEL_USER);
  }

  void agree(std::string_view version, bool modern) override {
    const MutexLock lock(mutex_);
    version_ = version;
    modern_ = modern;
    if (modern) session_.clear();
  }

  void listen() override {
    (void)begin([this](const CancelToken& cancel) { listen_by_get(cancel); }, {}, true);
  }

  bool is_http() const override { return true; }

 private:
  // A request of HTTP on a thread of its own.
  struct Job {
    RpcId id;
    CancelToken cancel;
    bool listens = false;
    bool done = false;  // of the mutex
    Thread thread;
  };
  // The state of an answer that is being read.
  struct Reading {
    SseParser events{{kMessageMax, kMessageMax}};
    std::string body, last_id, why;
    bool answered = false, stream = false;
    bool heard = false;
    Milliseconds pause = kResumePause;  // before the stream is asked for again
  };

  bool begin(std::function<void(const CancelToken&)> work, const RpcId& id, bool listens = false) {
    std::list<Job> ended;
    const MutexLock lock(mutex_);
    for (auto at = jobs_.begin(); at != jobs_.end();) {
      const auto next = std::next(at);
      if (at->done) ended.splice(ended.end(), jobs_, at);
      at = next;
    }
    if (ends_ || jobs_.size() >= kRequestsMax) return ends_;
    Job& job = jobs_.emplace_back();
    job.id = id;
    job.cancel = stop_.child();
    job.listens = listens;
    const SignalsBlocked blocked;
    try {
      job.thread = Thread([this, &job, work = std::move(work)] {
        const std::string why = thrown_by([&] { work(job.cancel); });
        if (!why.empty() && !job.id.is_null()) ears_.lose(job.id, {Loss::Kind::kBroken, "cannot be asked: " + why});
        const MutexLock done(mutex_);
        job.done = true;
        changed_.notify_all();
      });
    } catch (const std::system_error&) {
      jobs_.pop_back();
      return false;
    }
    return true;
  }

  HttpRequest prepared(std::string method, const Fields& fields) const {
    HttpRequest out;
    out.method = std::move(method);
    out.url = url_;
    out.headers = own_fields_;
    out.headers.emplace_back("accept", "application/json, text/event-stream");
    const MutexLock lock(mutex_);
    if (!version_.empty()) out.headers.emplace_back(kVersionField, version_);
    if (!session_.empty()) out.headers.emplace_back(kSessionField, session_);
    if (modern_) out.headers.insert(out.headers.end(), fields.begin(), fields.end());
    out.idle_timeout = kDay;
    out.body_bytes_max = kStreamMax;
    return out;
  }

  void take_text(const std::string& text, const RpcId& within, Reading& reading) {
    reading.heard = true;
    auto read = read_rpc(is_utf8(text) ? text : to_utf8(text), kAnswers);
    if (auto* const refusal = std::get_if<RpcRefusal>(&read)) {
      if (refusal->fault.code == kRpcNotJson) reading.answered = !within.is_null();
      if (refusal->id == within) reading.answered = true;
      return ears_.refuse(std::move(*refusal), within);
    }
    RpcMessage& message = std::get<RpcMessage>(read);
    const bool answers = message.kind == RpcMessage::Kind::kResult || message.kind == RpcMessage::Kind::kFault;
    if (answers && (message.id == within || message.id.is_null())) reading.answered = true;
    ears_.take(std::move(message), within);
  }

  // False: nothing more is read.
  bool read_part(const HttpResponse& so_far, std::string_view bytes, const RpcId& within, Reading& reading) {
    const bool good = so_far.status >= 200 && so_far.status < 300;
    if (!reading.stream) note_session(so_far);  // before its answer is known
    reading.stream = good && is_event_stream(so_far);
    if (!reading.stream) {
      if (!good && reading.body.size() > kErrorMax) return true;
      if (reading.body.size() + bytes.size() > kMessageMax) {
        reading.why = "sent an answer of more than " + std::to_string(kMessageMax >> 20) + " MiB";
        return false;
      }
      reading.body += bytes;
      return true;
    }
    const auto fed = reading.events.feed(bytes, [&](const SseEvent& event) -> Result<void> {
      if (!event.id.empty()) reading.last_id = event.id;
      if (!event.data.empty() && (event.type.empty() || event.type == "message"))
        take_text(std::string(event.data), within, reading);
      return {};
    });
    if (const auto retry = reading.events.retry()) reading.pause = std::clamp(*retry, kResumePauseMin, kResumePauseMax);
    if (!fed) reading.why = "sent a stream that cannot be read: " + fed.error().message;
    return fed && !(reading.answered && !within.is_null());
  }

  Result<HttpResponse> transfer(const HttpRequest& request, const RpcId& within, Reading& reading,
                                const CancelToken& cancel, Deadline deadline) {
    return http_.send(
        request,
        [&](const HttpResponse& so_far, std::string_view bytes) { return read_part(so_far, bytes, within, reading); },
        cancel, deadline);
  }

  void post(const Outgoing& message, const CancelToken& cancel) {
    HttpRequest request = prepared("POST", message.fields);
    request.headers.emplace_back("content-type", "application/json");
    request.body = message.text;
    Reading reading;
    const bool asks = !message.id.is_null();
    const auto ask = [&] {
      return transfer(request, message.id, reading, cancel, asks ? Deadline{} : Deadline::after(clock_, kPartTime));
    };
    auto response = ask();
    // A server that is busy has not done it.
    if (const auto pause = response && !reading.answered ? busy_for(*response) : std::nullopt;
        pause && clock_.sleep(*pause, cancel)) {
      reading = {};
      response = ask();
    }
    if (response) note_session(*response);
    if (!asks || reading.answered || cancel.cancelled()) return;
    if (!reading.why.empty()) return ears_.lose(message.id, {Loss::Kind::kBroken, reading.why});
    if (response && response->status >= 200 && response->status < 300 && !reading.stream && !reading.body.empty())
      take_text(reading.body, message.id, reading);
    else if (reading.stream && !reading.last_id.empty())
      resume(message.id, reading, cancel);
    else if (response && (response->status < 200 || response->status >= 300))
      return lose_by_status(message.id, *response, reading);
    if (reading.answered || cancel.cancelled()) return;
    if (!response)
      return ears_.lose(
          message.id,
          {Loss::Kind::kBroken, (response.error().code == Code::kCorrupt ? "has not ended its answer: " : "is away: ") +
                                    response.error().message});
    ears_.lose(message.id, {Loss::Kind::kBroken, "has ended its answer without a result"});
  }

  // The stream was cut, or the server has ended it, and goes on in another.
  void resume(const RpcId& id, Reading& reading, const CancelToken& cancel) {
    for (int i = 0; i < kResumesMax && !reading.answered && clock_.sleep(reading.pause, cancel); ++i) {
      HttpRequest request = prepared("GET", {});
      request.headers.emplace_back("last-event-id", reading.last_id);
      Reading more;
      more.last_id = reading.last_id;
      more.pause = reading.pause;
      const auto response = transfer(request, id, more, cancel, Deadline{});
      reading.answered = more.answered;
      reading.last_id = more.last_id;
      reading.pause = more.pause;
      if (more.heard) i = -1;
      if (response && response->status != 200) return;
    }
  }

  void lose_by_status(const RpcId& id, const HttpResponse& response, Reading& reading) {
    bool in_session = false;
    {
      const MutexLock lock(mutex_);
      in_session = !session_.empty();
      if (in_session && response.status == 404) session_.clear();
    }
    if (in_session && response.status == 404)
      return ears_.lose(id, {Loss::Kind::kSession, "has ended the session", response.status});
    auto read = read_rpc(is_utf8(reading.body) ? reading.body : to_utf8(reading.body), kAnswers);
    if (auto* const message = std::get_if<RpcMessage>(&read); message && message->kind == RpcMessage::Kind::kFault) {
      message->id = id;
      return ears_.take(std::move(*message), id);
    }
    std::string why = "answered with the status " + std::to_string(response.status) + " of HTTP";
    if (response.status == 401 || response.status == 403) why += ": check the headers of its settings";
    if (response.status >= 300 && response.status < 400) why += ", a redirect, which is not followed: check its url";
    ears_.lose(id, {Loss::Kind::kStatus, std::move(why), response.status});
  }

  void note_session(const HttpResponse& response) {
    const std::string_view session = response.header(kSessionField);
    if (session.empty() || !is_session(session) || response.status >= 300) return;
    const MutexLock lock(mutex_);
    if (!modern_) session_ = session;
  }

  // Hears the messages that a server sends by itself. A server that has none answers 405.
  void listen_by_get(const CancelToken& cancel) {
    std::string last_id;
    Milliseconds pause = kResumePause;
    for (int i = 0; i < kResumesMax; ++i) {
      HttpRequest request = prepared("GET", {});
      if (!last_id.empty()) request.headers.emplace_back("last-event-id", last_id);
      Reading reading;
      reading.pause = pause;
      const auto response = transfer(request, {}, reading, cancel, Deadline{});
      if (response && (response->status != 200 || !reading.stream)) return;
      last_id = reading.last_id;
      pause = reading.pause;
      if (reading.heard) i = -1;
      if (!clock_.sleep(pause, cancel)) return;
    }
  }

  const std::string url_;
  const Fields own_fields_;
  Ears ears_;
  HttpClient& http_;
  const Clock& clock_;
  const CancelToken stop_;
  mutable Mutex mutex_;
  Condition changed_;
  bool ends_ GUARDED_BY(mutex_) = false;
  bool modern_ GUARDED_BY(mutex_) = true;
  std::string version_ GUARDED_BY(mutex_){kModernVersion};
  std::string session_ GUARDED_BY(mutex_);
  std::list<Job> jobs_ GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Link> link_by_http(const ServerSetup& setup, HttpClient& http, const Clock& clock) {
  return std::make_unique<HttpLink>(setup, http, clock);
}

}  // namespace agentd::mcp
