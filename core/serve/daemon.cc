// SPDX-License-Identifier: Apache-2.0
#include "core/serve/daemon.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace agentd::serve {
namespace {

constexpr Milliseconds kTidy{5'000}, kLook{10}, kFarewell{1'000}, kMemories{10 * 60'000};

constexpr std::size_t kLongWaiting = 16;

// Counts the answer of a route, and lets its stream end with its token.
class CountedExchange final : public HttpExchange {
 public:
  CountedExchange(std::shared_ptr<HttpExchange> inner, Metrics& metrics, TokenStreams& streams, std::string_view route,
                  const Digest& token)
      : inner_(std::move(inner)), metrics_(metrics), streams_(streams), route_(route), token_(token) {}
  const RequestHead& head() const override { return inner_->head(); }
  const std::string& body() const override { return inner_->body(); }
  void reply(HttpReply reply) override {
    metrics_.count_request(route_, reply.status);
    inner_->reply(std::move(reply));
  }
  std::shared_ptr<HttpStream> stream(HttpReply head, std::function<void()> on_gone) override {
    metrics_.count_request(route_, head.status);
    auto out = inner_->stream(std::move(head), std::move(on_gone));
    streams_.add(token_, out);
    return out;
  }

 private:
  const std::shared_ptr<HttpExchange> inner_;  // shared with the server
  Metrics& metrics_;
  TokenStreams& streams_;
  const std::string_view route_;
  const Digest token_;
};

// "/a/b?c" without the query, and the query.
std::pair<std::string_view, std::string_view> parts_of(std::string_view target) {
  const std::size_t mark = target.find('?');
  if (mark == std::string_view::npos) return {target, {}};
  return {target.substr(0, mark), target.substr(mark + 1)};
}

bool takes_body(const Route& route) { return route.method != "GET" && route.method != "DELETE"; }

}  // namespace

Daemon::Daemon(Runtime& runtime, DaemonOptions options, Warn warn)
    : runtime_(runtime),
      options_(std::move(options)),
      started_ns_(runtime.clock().monotonic_ns()),
      health_(runtime.store(), runtime.home()),
      workplaces_(runtime, options_.hooks, std::move(warn), {.closed = options_.closed}),
      sessions_(runtime, workplaces_, metrics_, options_.sessions),
      clients_(runtime.clock()),
      mcp_(runtime, workplaces_, options_.version),
      idle_memory_(runtime.clock()),
      access_(runtime.home(), ::geteuid(), scope_needed, runtime.clock(), media_taken),
      pool_(options_.handler_queue),
      long_pool_(kLongWaiting) {}

Daemon::~Daemon() { server_.reset(); }

Result<void, RunError> Daemon::take_lock() {
  const std::string path = runtime_.home() + "/serve.lock";
  lock_ = UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock_.valid()) return RunError{RunError::Kind::kFailure, errno_error("opening " + path, errno).message};
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) return {};
  return RunError{RunError::Kind::kBusy, "another 'agentd serve' works in " + runtime_.home() +
                                             ": end it first, or set AGENTD_HOME to another directory"};
}

Result<std::unique_ptr<Daemon>, RunError> Daemon::start(Runtime& runtime, DaemonOptions options, Warn warn) {
  std::unique_ptr<Daemon> out(new Daemon(runtime, std::move(options), std::move(warn)));
  AGENTD_TRY_VOID(out->take_lock());
  if (auto read = out->access_.load(); !read) return RunError{RunError::Kind::kUsage, read.error().message};
  auto begun = out->pool_.start(out->options_.handler_threads);
  if (begun) begun = out->long_pool_.start(1);
  if (!begun) return RunError{RunError::Kind::kFailure, begun.error().message};
  // Faults of the user's plugins are reported now.
  AGENTD_TRY(out->home_, out->workplaces_.at(runtime.home()));
  Daemon* const self = out.get();
  out->options_.http.body_max = [self](const RequestHead& head) { return self->body_max(head); };
  auto server = HttpServer::start(
      std::move(out->options_.http), [self](const RequestHead& head) { return self->access_.decide(head); },
      [self](std::shared_ptr<HttpExchange> exchange) { self->handle(std::move(exchange)); }, runtime.clock(),
      runtime.log());
  if (!server) return RunError{RunError::Kind::kUsage, server.error().message};
  out->server_ = std::move(*server);
  return out;
}

// On the server's thread.
void Daemon::handle(std::shared_ptr<HttpExchange> exchange) {
  const auto [path, query] = parts_of(exchange->head().target);
  Matched matched = match(exchange->head().method, path);
  if (matched.route == nullptr) {
    if (matched.other_method) {
      HttpReply reply = error_reply(405, "method_not_allowed", "this path has other methods: " + matched.allow);
      reply.fields.emplace_back("allow", matched.allow);
      return exchange->reply(std::move(reply));
    }
    return exchange->reply(error_reply(404, "not_found", "there is no such path; see /openapi.json"));
  }
  const Route& route = *matched.route;
  RouteCall made;
  made.who = access_.who(exchange->head());
  made.exchange =
      std::make_shared<CountedExchange>(std::move(exchange), metrics_, streams_, route.name, made.who.digest);
  made.path = std::move(matched.path);
  const auto pairs = read_query(query);
  if (!pairs) return made.exchange->reply(error_reply(400, "bad_request", pairs.error().message));
  made.query = *pairs;
  const auto shared = made.exchange;  // shared with the work, unless there is no place for it
  if (!(route.takes_long ? long_pool_ : pool_).add([this, &route, made = std::move(made)]() mutable {
        call(route, std::move(made));
      })) {
    HttpReply reply = error_reply(503, "busy", "too many requests wait: try again in a second");
    reply.fields.emplace_back("retry-after", "1");
    shared->reply(std::move(reply));
  }
}

std::size_t Daemon::body_max(const RequestHead& head) const {
  const Route* const route = match(head.method, parts_of(head.target).first).route;
  if (route != nullptr && route->body_bytes != 0) return route->body_bytes;
  return route != nullptr && !route->takes.empty() ? options_.import_bytes : HttpLimits().body_bytes;
}

void Daemon::call(const Route& route, RouteCall call) {
  if (takes_body(route) && route.takes.empty()) {
    const std::string& text = call.exchange->body();
    auto body = JsonDocument::parse(text.empty() ? std::string_view("{}") : std::string_view(text));
    if (!body)
      return call.exchange->reply(
          error_reply(400, "bad_request", "the body is not valid JSON: " + body.error().message));
    call.body = std::make_shared<JsonDocument>(std::move(*body));
  }
  if (auto wrong = check_call(route, call)) return call.exchange->reply(std::move(*wrong));
  route.handle(*this, std::move(call));
}

// One at a time: what is not done when the next one starts is taken up by that.
void Daemon::refine_memories() {
  if (!next_memories_.passed(runtime_.clock())) return;
  next_memories_ = Deadline::after(runtime_.clock(), kMemories);
  memories_.reset();
  memories_ = MemoryWorker::start(runtime_);
}

void Daemon::tidy() {
  sessions_.tidy();
  workplaces_.close_idle();
  clients_.tidy();
  mcp_.tidy([this](const Digest& token) { return access_.is_good(token); });
  refine_memories();
  (void)access_.load();
  idle_memory_.look(server_->figures().requests + sessions_.done(), sessions_.threads() != 0);
  streams_.end_unless([this](const Digest& token) { return access_.is_good(token); });
}

bool Daemon::answers(Milliseconds time) {
  const Clock& clock = runtime_.clock();
  const auto answered = std::make_shared<std::atomic<bool>>(false);  // shared with the server's thread
  server_->ping([answered] { *answered = true; });
  for (const Deadline until = Deadline::after(clock, time); !*answered && !until.passed(clock);) clock.pause(kLook);
  return *answered;
}

void Daemon::serve(const CancelToken& cancel, Milliseconds drain, const Pulse& pulse) {
  const Clock& clock = runtime_.clock();
  const bool watched = pulse.every.count() > 0;
  const Milliseconds step = watched ? std::min(kTidy, pulse.every) : kTidy;
  for (Deadline next = Deadline::after(clock, kTidy); clock.sleep(step, cancel);) {
    if (watched && answers(step)) pulse.tell();
    if (!next.passed(clock)) continue;
    tidy();
    next = Deadline::after(clock, kTidy);
  }
  drains_ = true;
  if (pulse.stopping) pulse.stopping();
  memories_.reset();
  const Deadline until = Deadline::after(clock, drain);
  mcp_.stop();
  sessions_.end_all("exit", until);
  clients_.end_all();
  // The last reports are read, also behind the deadline.
  (void)server_->drain(until.passed(clock) ? Deadline::after(clock, kFarewell) : until);
}

}  // namespace agentd::serve
