// SPDX-License-Identifier: Apache-2.0
// One thread runs all handlers and takes their tasks under a lock, so that Asio's fences order nothing; ThreadSanitizer
// does not know fences.
#define BOOST_ASIO_DISABLE_FENCED_BLOCK

#include "core/serve/http_server.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <cstring>
#include <deque>
#include <iterator>
#include <list>
#include <map>
#include <unordered_set>
#include <utility>

#include "core/base/mutex.h"
#include "core/base/signals_blocked.h"
#include "core/base/thread.h"
#include "core/base/thrown.h"
#include "core/serve/http_head.h"
#include "core/serve/http_reply.h"
#include "core/serve/listener.h"
#include "core/serve/live_exchange.h"

namespace agentd::serve {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Failed = boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;

constexpr std::size_t kHeadPiece = 4u << 10, kBodyPiece = 64u << 10;  // bytes that are read at once
constexpr std::size_t kFramingMax = 1u << 10;  // bytes of a chunk's line, or of what follows the last chunk
constexpr std::size_t kIdleBufferMax = 64u << 10;
constexpr Milliseconds kLingerTime{1'000};  // in which a client may read the answer before its connection ends
constexpr Milliseconds kAcceptPause{100};   // when no descriptor is left
constexpr int kAcceptsAtOnce = 64;

class Connection;
class Door;

// The state that the server's thread, its connections and the exchanges of its handlers share. Members belong to the
// server's thread unless their comment or their guard says otherwise.
struct Engine : std::enable_shared_from_this<Engine> {
  Engine(HttpLimits its_limits, HttpGate its_gate, HttpHandler its_handler, const Clock& its_clock, Log& its_log)
      : limits(its_limits),
        gate(std::move(its_gate)),
        handler(std::move(its_handler)),
        clock(its_clock),
        log(its_log) {}

  // From any thread: does it on the server's, after what was posted before. False: the server has ended.
  bool post(std::function<void()> task) {
    const MutexLock lock(mutex);
    if (ended) return false;
    add(std::move(task));
    return true;
  }
  // The thread.
  void run();

  // Asio alone keeps no order between what its own thread and others post.
  void add(std::function<void()> task) REQUIRES(mutex) {
    tasks.push_back(std::move(task));
    asio::post(io, [this] { run_first(); });
  }
  void run_first();
  void admit(Accepted entering, std::uint16_t port);
  void remove(const std::shared_ptr<Connection>& connection);
  // Closes the connection of that peer, or of any, that owes no answer and has waited longest. False: there is none.
  bool close_waiting(const std::string* peer);
  void close_doors();
  void begin_drain();
  void break_off();
  void stop();

  const HttpLimits limits;  // immutable
  HttpGate gate;
  HttpHandler handler;
  std::function<std::size_t(const RequestHead&)> body_max;  // as HttpServerOptions has it
  const Clock& clock;                                       // thread-safe, as the log is
  Log& log;

  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> keeps_running{io.get_executor()};
  std::vector<std::shared_ptr<Door>> doors;
  std::unordered_set<std::shared_ptr<Connection>> connections;
  std::map<std::string, std::size_t, std::less<>> peers;  // the number of their connections
  std::list<Connection*> waiting;                         // in the order in which they began to wait
  bool draining = false;

  std::atomic<std::uint64_t> accepted{0}, refused{0}, requests{0}, timed_out{0}, streams{0}, streams_dropped{0};
  std::atomic<std::uint64_t> body_bytes{0};

  Mutex mutex;
  Condition drained;
  std::deque<std::function<void()>> tasks GUARDED_BY(mutex);
  bool ended GUARDED_BY(mutex) = false;
  bool doors_closed GUARDED_BY(mutex) = false;
  bool broken_off GUARDED_BY(mutex) = false;
  std::size_t open GUARDED_BY(mutex) = 0;
};

// Accepts the connections of a listener.
class Door : public std::enable_shared_from_this<Door> {
 public:
  Door(Engine& engine, Listener listener)
      : engine_(engine),
        port_(listener.port),
        file_(std::move(listener.file)),
        descriptor_(engine.io),
        pause_(engine.io) {
    descriptor_.assign(listener.fd.get(), failed_);
    if (!failed_) (void)listener.fd.release();
  }
  const Failed& failed() const { return failed_; }
  void wait();
  void close();

 private:
  void accept();
  void pause(int error_number);

  Engine& engine_;
  const std::uint16_t port_;
  SocketFile file_;
  asio::posix::stream_descriptor descriptor_;
  asio::steady_timer pause_;
  Failed failed_;
  bool closed_ = false, paused_ = false;
};

// The body of a request as the library reads it, which takes the checked head first.
class BodyReader {
 public:
  BodyReader() {
    parser_.eager(true);
    parser_.body_limit(boost::none);  // the connection counts
    parser_.on_chunk_header(refuse_extensions_);
  }
  BodyReader(const BodyReader&) = delete;

  // False: the library does not read the head as http_head.h does.
  bool begin(std::string_view bytes, const HttpHead& head) {
    parser_.header_limit(static_cast<std::uint32_t>(bytes.size() + kFramingMax));
    Failed failed;
    const std::size_t taken = parser_.put(asio::const_buffer(bytes.data(), bytes.size()), failed);
    fields_ = fields();
    return !failed && taken == bytes.size() && parser_.is_header_done() && parser_.chunked() == head.chunked &&
           fields_ == head.request.fields.size() && parser_.is_done() == (!head.chunked && head.length == 0);
  }
  // How many bytes it took; the others come again with the next ones. Nothing: they are not a body.
  std::optional<std::size_t> take(std::string_view bytes) {
    Failed failed;
    const std::size_t taken = parser_.put(asio::const_buffer(bytes.data(), bytes.size()), failed);
    if (failed && failed != http::error::need_more) return std::nullopt;
    const bool trailers = is_done() && fields() != fields_;
    if (trailers || (!is_done() && bytes.size() - taken > kFramingMax)) return std::nullopt;
    return taken;
  }
  bool is_done() const { return parser_.is_done(); }
  std::size_t size() const { return parser_.get().body().size(); }
  std::string release() { return std::move(parser_.get().body()); }

 private:
  struct RefuseExtensions {
    void operator()(std::uint64_t /*size*/, boost::beast::string_view extensions, Failed& failed) const {
      if (!extensions.empty()) failed = http::error::bad_chunk_extension;
    }
  };
  std::size_t fields() const {
    return static_cast<std::size_t>(std::distance(parser_.get().begin(), parser_.get().end()));
  }

  RefuseExtensions refuse_extensions_;
  http::request_parser<http::string_body> parser_;
  std::size_t fields_ = 0;
};

// ---- a connection

// Its functions are called on the server's thread, except for the first three.
class Connection : public Wire, public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<Engine> engine, Socket socket, HttpPeer peer, std::uint16_t port)
      : engine_(std::move(engine)),
        socket_(std::move(socket)),
        timer_(engine_->io),
        peer_(std::move(peer)),
        port_(port),
        head_end_(engine_->limits.head_bytes) {}

  bool post(std::function<void()> task) override { return engine_->post(std::move(task)); }
  void release_body(std::size_t bytes) override { engine_->body_bytes -= bytes; }
  std::size_t stream_bytes_max() const override { return engine_->limits.stream_bytes; }
  void answer(const HttpReply& reply) override;
  void begin_stream(const HttpReply& head, std::shared_ptr<StreamQueue> queue) override;
  void look_at_stream() override;
  void drop_stream() override;

  void start();
  // Ends unless a request is under way, and then with its answer.
  void drain();
  // At once: what the client has not taken is thrown away.
  void close(bool at_once = false);

  // Its part of HttpLimits::connections_per_peer.
  std::string peer_key() const {
    return peer_.door == HttpPeer::Door::kTcp ? "tcp" : "uid " + std::to_string(peer_.uid);
  }
  // The loss when it is closed to make room, the smallest first: a client that is idle may be about to ask.
  enum class Loss : std::uint8_t { kAnswered, kSilent, kIdle };
  Loss loss() const {
    if (phase_ == Phase::kLingering) return Loss::kAnswered;
    return phase_ == Phase::kHead ? Loss::kSilent : Loss::kIdle;
  }
  bool owes_answer() const { return phase_ != Phase::kIdle && phase_ != Phase::kHead && phase_ != Phase::kLingering; }

 private:
  enum class Phase : std::uint8_t {
    kHead,       // waits for a head
    kIdle,       // the same, and no byte of it has come since the last answer
    kBody,       // the gate has opened
    kHandler,    // the handler has the request
    kAnswering,  // the whole answer is known
    kStreaming,  // its body goes on
    kLingering,  // the client reads the last answer
    kClosed,
  };

  void wait_in(Phase phase, Milliseconds time);
  void stop_waiting();
  void next_request();
  void next_head();
  void take_head(std::size_t bytes);
  bool begin_body(std::string_view head);
  void feed_body();
  void hand_over();
  void refuse(const HttpReply& reply);
  void send_answer(const HttpReply& reply);
  void hold_body(std::size_t bytes);

  void read(std::size_t piece);
  void on_read(bool failed, std::size_t bytes);
  void write();
  void on_written(bool failed, std::size_t bytes);
  void written();
  void linger();
  void end_stream(bool complete);

  void arm(Milliseconds time);
  void disarm();
  void on_time();

  std::string_view arrived() const { return {static_cast<const char*>(in_.cdata().data()), in_.size()}; }

  const std::shared_ptr<Engine> engine_;
  Socket socket_;
  asio::steady_timer timer_;
  std::uint64_t armed_ = 0;  // which use of the timer is the last, as a call of an earlier one may be on its way
  const HttpPeer peer_;
  const std::uint16_t port_;
  Phase phase_ = Phase::kHead;
  std::list<Connection*>::iterator waiting_{};
  bool waits_ = false, reading_ = false, writing_ = false;  // waits_: waiting_ is its place
  bool closes_ = false, is_head_ = false, last_chunk_ = false;

  boost::beast::flat_buffer in_;
  HeadEnd head_end_;
  HttpHead head_;
  std::optional<BodyReader> body_;
  std::size_t body_max_ = 0;   // of the request
  std::size_t body_held_ = 0;  // its share of Engine::body_bytes
  std::string out_;
  std::size_t out_at_ = 0;
  std::shared_ptr<StreamQueue> stream_;
};

// ---- requests

void Connection::start() {
  wait_in(Phase::kHead, engine_->limits.head_time);
  next_head();
}

void Connection::wait_in(Phase phase, Milliseconds time) {
  stop_waiting();
  phase_ = phase;
  waiting_ = engine_->waiting.insert(engine_->waiting.end(), this);
  waits_ = true;
  arm(time);
}

void Connection::stop_waiting() {
  if (std::exchange(waits_, false)) engine_->waiting.erase(waiting_);
}

void Connection::next_request() {
  if (engine_->draining) return close();
  head_end_ = HeadEnd(engine_->limits.head_bytes);
  if (in_.size() != 0) return start();
  if (in_.capacity() > kIdleBufferMax) in_.shrink_to_fit();
  wait_in(Phase::kIdle, engine_->limits.idle_time);
  read(kHeadPiece);
}

void Connection::next_head() {
  const Result<std::size_t, HttpReply> end = head_end_.find(arrived());
  if (!end) return refuse(end.error());
  if (*end == 0) return read(kHeadPiece);
  take_head(*end);
}

void Connection::take_head(std::size_t bytes) {
  stop_waiting();
  disarm();
  Result<HttpHead, HttpReply> head = read_head(arrived().substr(0, bytes), engine_->limits.fields);
  if (!head) return refuse(head.error());
  ++engine_->requests;
  head_ = *std::move(head);
  head_.request.peer = peer_;
  head_.request.port = port_;
  closes_ = head_.closes;
  is_head_ = head_.request.method == "HEAD";
  if (const std::optional<HttpReply> answer = engine_->gate(head_.request)) return refuse(*answer);
  if (!begin_body(arrived().substr(0, bytes))) return;
  in_.consume(bytes);
  if (body_->is_done()) return hand_over();
  phase_ = Phase::kBody;
  arm(engine_->limits.body_time);
  if (!head_.waits || in_.size() != 0) return feed_body();
  out_ = "HTTP/1.1 100 Continue\r\n\r\n";
  write();
}

HttpReply too_many_bodies() {
  HttpReply reply = error_reply(503, "busy", "too many requests with large bodies are under way: send it again later");
  reply.fields.emplace_back("Retry-After", "2");
  return reply;
}

HttpReply body_too_large(std::size_t most) {
  return error_reply(413, "body_too_large", "the body has over " + std::to_string(most) + " bytes");
}

// False: the request was refused.
bool Connection::begin_body(std::string_view head) {
  const HttpLimits& limits = engine_->limits;
  body_max_ = engine_->body_max ? engine_->body_max(head_.request) : limits.body_bytes;
  if (head_.length > body_max_) return refuse(body_too_large(body_max_)), false;
  if (engine_->body_bytes + head_.length > limits.bodies_bytes) return refuse(too_many_bodies()), false;
  body_.emplace();
  if (body_->begin(head, head_)) return true;
  return refuse(error_reply(400, "bad_request", "the head of the request cannot be read")), false;
}

void Connection::feed_body() {
  if (in_.size() == 0) return read(kBodyPiece);
  const std::optional<std::size_t> taken = body_->take(arrived());
  if (!taken)
    return refuse(error_reply(400, "bad_request", "the body must be whole chunks without extensions and trailers"));
  in_.consume(*taken);
  hold_body(body_->size());
  if (body_held_ > body_max_) return refuse(body_too_large(body_max_));
  if (engine_->body_bytes > engine_->limits.bodies_bytes) return refuse(too_many_bodies());
  if (!body_->is_done()) return read(kBodyPiece);
  hand_over();
}

void Connection::hold_body(std::size_t bytes) {
  engine_->body_bytes += bytes;
  engine_->body_bytes -= std::exchange(body_held_, bytes);
}

void Connection::hand_over() {
  disarm();
  phase_ = Phase::kHandler;
  body_held_ = 0;  // the exchange has it
  std::string body = body_->release();
  body_.reset();
  engine_->handler(live_exchange(shared_from_this(), std::move(head_.request), std::move(body)));
}

// ---- answers

void Connection::answer(const HttpReply& reply) {
  if (phase_ == Phase::kHandler) send_answer(reply);
}

void Connection::refuse(const HttpReply& reply) {
  stop_waiting();
  hold_body(0);
  body_.reset();
  closes_ = true;
  send_answer(reply);
}

void Connection::send_answer(const HttpReply& reply) {
  phase_ = Phase::kAnswering;
  closes_ = closes_ || engine_->draining;
  out_ = reply_bytes(reply, is_head_ ? ReplyBody::kAbsent : ReplyBody::kWhole, closes_, engine_->clock.wall_ms());
  write();
}

void Connection::begin_stream(const HttpReply& head, std::shared_ptr<StreamQueue> queue) {
  if (phase_ != Phase::kHandler) return queue->end(false);
  ++engine_->streams;
  stream_ = std::move(queue);
  phase_ = Phase::kStreaming;
  closes_ = true;
  out_ = reply_bytes(head, ReplyBody::kChunks, closes_, engine_->clock.wall_ms());
  if (is_head_) {
    last_chunk_ = true;
    stream_->end(false);
  }
  write();
  // The client has nothing more to say: its end is noticed.
  read(kHeadPiece);
  if (engine_->draining) drain();
}

// Takes what is queued, unless it still writes what it took before.
void Connection::look_at_stream() {
  if (phase_ != Phase::kStreaming || writing_ || last_chunk_) return;
  const StreamQueue::Taken taken = stream_->take();
  if (!taken.bytes.empty()) out_ = chunk(taken.bytes);
  if (taken.last) out_ += kLastChunk;
  last_chunk_ = taken.last;
  if (out_.empty()) return disarm();
  write();
}

void Connection::drop_stream() {
  if (phase_ != Phase::kStreaming) return;
  ++engine_->streams_dropped;
  close(true);
}

void Connection::end_stream(bool complete) {
  if (!stream_) return;
  --engine_->streams;
  const std::shared_ptr<StreamQueue> queue = std::exchange(stream_, nullptr);
  queue->end(complete);
}

// The client may still send: unread bytes would make the system reset the connection, and the answer would be lost.
void Connection::linger() {
  in_.consume(in_.size());
  Failed ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  wait_in(Phase::kLingering, kLingerTime);
  read(kHeadPiece);
}

void Connection::drain() {
  if (phase_ == Phase::kHead || phase_ == Phase::kIdle) return close();
  if (phase_ != Phase::kStreaming || last_chunk_) return;
  stream_->end_soon();
  look_at_stream();
}

void Connection::close(bool at_once) {
  if (phase_ == Phase::kClosed) return;
  const std::shared_ptr<Connection> self = shared_from_this();
  stop_waiting();
  disarm();
  phase_ = Phase::kClosed;
  hold_body(0);
  body_.reset();
  Failed ignored;
  if (at_once) socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  socket_.close(ignored);
  end_stream(false);
  engine_->remove(self);
}

// ---- bytes

void Connection::read(std::size_t piece) {
  if (std::exchange(reading_, true)) return;
  socket_.async_read_some(in_.prepare(piece), [self = shared_from_this()](const Failed& failed, std::size_t bytes) {
    self->on_read(static_cast<bool>(failed), bytes);
  });
}

void Connection::on_read(bool failed, std::size_t bytes) {
  reading_ = false;
  in_.commit(bytes);
  switch (phase_) {
    case Phase::kClosed:
    case Phase::kHandler:
    case Phase::kAnswering:
      return;
    default:
      if (failed) return close();
  }
  switch (phase_) {
    case Phase::kIdle:
      return start();
    case Phase::kHead:
      return next_head();
    case Phase::kBody:
      return feed_body();
    default:
      in_.consume(in_.size());
      return read(kHeadPiece);
  }
}

void Connection::write() {
  writing_ = true;
  arm(engine_->limits.write_time);
  socket_.async_write_some(asio::const_buffer(out_.data() + out_at_, out_.size() - out_at_),
                           [self = shared_from_this()](const Failed& failed, std::size_t bytes) {
                             self->on_written(static_cast<bool>(failed), bytes);
                           });
}

void Connection::on_written(bool failed, std::size_t bytes) {
  writing_ = false;
  if (phase_ == Phase::kClosed) return;
  if (failed) return close();
  out_at_ += bytes;
  if (stream_) stream_->count_taken(out_.size() - out_at_);
  if (out_at_ < out_.size()) return write();
  out_ = {};
  out_at_ = 0;
  written();
}

void Connection::written() {
  switch (phase_) {
    case Phase::kBody:
      arm(engine_->limits.body_time);
      return feed_body();
    case Phase::kStreaming:
      if (!last_chunk_) return look_at_stream();
      end_stream(true);
      return linger();
    default:
      return closes_ ? linger() : next_request();
  }
}

// ---- times

void Connection::arm(Milliseconds time) {
  timer_.expires_after(time);
  timer_.async_wait([self = shared_from_this(), armed = ++armed_](const Failed& failed) {
    if (!failed && armed == self->armed_) self->on_time();
  });
}

void Connection::disarm() {
  ++armed_;
  timer_.cancel();
}

HttpReply too_late() { return error_reply(408, "timeout", "the request did not come in time"); }

void Connection::on_time() {
  if (phase_ == Phase::kIdle || phase_ == Phase::kLingering) return close();
  ++engine_->timed_out;
  if (phase_ == Phase::kHead) return in_.size() == 0 ? close() : refuse(too_late());
  if (phase_ == Phase::kBody && !writing_) return refuse(too_late());
  if (phase_ == Phase::kStreaming) ++engine_->streams_dropped;
  close(true);
}

// ---- doors

void Door::wait() {
  descriptor_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](const Failed& failed) {
    if (!failed && !self->closed_) self->accept();
  });
}

void Door::accept() {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    Result<Accepted, int> accepted = accept_from(descriptor_.native_handle());
    if (accepted) {
      paused_ = false;
      engine_.admit(*std::move(accepted), port_);
      continue;
    }
    const int error_number = accepted.error();
    if (error_number == EAGAIN || error_number == EWOULDBLOCK) break;
    if (error_number == EMFILE || error_number == ENFILE || error_number == ENOBUFS || error_number == ENOMEM) {
      // The system looks for a descriptor before it looks for a connection, so that there may be none.
      if (i > 0) break;
      return pause(error_number);
    }
    // Anything else belongs to the one connection, which has ended already.
  }
  wait();
}

// The system would report the same connection again at once.
void Door::pause(int error_number) {
  if (!std::exchange(paused_, true))
    engine_.log.write(LogLevel::kWarning, "serve",
                      std::string("no connection can be accepted for now: ") + std::strerror(error_number));
  (void)engine_.close_waiting(nullptr);
  pause_.expires_after(kAcceptPause);
  pause_.async_wait([self = shared_from_this()](const Failed& failed) {
    if (!failed && !self->closed_) self->wait();
  });
}

void Door::close() {
  closed_ = true;
  pause_.cancel();
  Failed ignored;
  descriptor_.close(ignored);
  file_.remove();
}

// ---- the server's thread

void Engine::run() {
  ::pthread_setname_np(::pthread_self(), "agentd-http");
  io.run();
  {
    const MutexLock lock(mutex);
    ended = true;
  }
  // Tasks that were posted before find their connections closed.
  io.restart();
  io.poll();
  gate = {};
  handler = {};
}

void Engine::run_first() {
  std::function<void()> task;
  {
    const MutexLock lock(mutex);
    task = std::move(tasks.front());
    tasks.pop_front();
  }
  task();
}

void Engine::admit(Accepted entering, std::uint16_t port) {
  const bool local = entering.peer.door == HttpPeer::Door::kUnix;
  if (local && entering.peer.uid != ::geteuid()) {
    ++refused;
    return log.write(LogLevel::kWarning, "serve",
                     "a connection of user " + std::to_string(entering.peer.uid) + " was refused");
  }
  Failed failed;
  Socket socket(io);
  const int family = local ? AF_UNIX : entering.peer.address.find(':') == std::string::npos ? AF_INET : AF_INET6;
  socket.assign(asio::generic::stream_protocol(family, 0), entering.fd.get(), failed);
  if (failed) return;
  (void)entering.fd.release();
  const auto connection =
      std::make_shared<Connection>(shared_from_this(), std::move(socket), std::move(entering.peer), port);
  const std::string peer = connection->peer_key();
  const bool full = connections.size() >= limits.connections && !close_waiting(nullptr);
  if (full || (peers[peer] >= limits.connections_per_peer && !close_waiting(&peer))) {
    ++refused;
    return;
  }
  ++accepted;
  ++peers[peer];
  connections.insert(connection);
  {
    const MutexLock lock(mutex);
    ++open;
  }
  connection->start();
}

void Engine::remove(const std::shared_ptr<Connection>& connection) {
  if (connections.erase(connection) == 0) return;
  if (const auto peer = peers.find(connection->peer_key()); --peer->second == 0) peers.erase(peer);
  const MutexLock lock(mutex);
  if (--open == 0) drained.notify_all();
}

bool Engine::close_waiting(const std::string* peer) {
  for (const auto loss : {Connection::Loss::kAnswered, Connection::Loss::kSilent, Connection::Loss::kIdle})
    for (Connection* const each : waiting) {
      if (each->loss() != loss || (peer != nullptr && each->peer_key() != *peer)) continue;
      ++refused;
      each->close();
      return true;
    }
  return false;
}

void Engine::close_doors() {
  for (const auto& door : std::exchange(doors, {})) door->close();
}

void Engine::begin_drain() {
  draining = true;
  close_doors();
  for (const auto& each : std::vector(connections.begin(), connections.end())) each->drain();
  const MutexLock lock(mutex);
  doors_closed = true;
  drained.notify_all();
}

void Engine::break_off() {
  for (const auto& each : std::vector(connections.begin(), connections.end())) {
    {
      const MutexLock lock(mutex);
      broken_off = broken_off || each->owes_answer();
    }
    each->close(each->owes_answer());
  }
}

void Engine::stop() {
  close_doors();
  for (const auto& each : std::vector(connections.begin(), connections.end())) each->close();
  keeps_running.reset();
}

// ---- the server

class Server final : public HttpServer {
 public:
  explicit Server(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}
  ~Server() override {
    if (!thread_.joinable()) return;
    (void)engine_->post([engine = engine_] { engine->stop(); });
    thread_.join();
  }

  Result<void> listen(HttpServerOptions options);
  Result<void> run() {
    const SignalsBlocked blocked;
    const std::string thrown = thrown_by([&] { thread_ = Thread([engine = engine_] { engine->run(); }); });
    if (!thrown.empty()) return Error{Code::kUnavailable, "the server cannot start its thread: " + thrown};
    (void)engine_->post([engine = engine_] {
      for (const auto& door : engine->doors) door->wait();
    });
    return {};
  }

  std::vector<std::uint16_t> ports() const override { return ports_; }
  HttpServerFigures figures() const override;
  bool drain(Deadline deadline) override;
  void ping(std::function<void()> done) override { (void)engine_->post(std::move(done)); }

 private:
  const std::shared_ptr<Engine> engine_;
  std::vector<std::uint16_t> ports_;
  Thread thread_;
};

Result<void> Server::listen(HttpServerOptions options) {
  const auto open = [this](Listener listener) -> Result<void> {
    const auto& door = engine_->doors.emplace_back(std::make_shared<Door>(*engine_, std::move(listener)));
    if (door->failed()) return Error{Code::kUnavailable, "the server cannot listen: " + door->failed().message()};
    return {};
  };
  for (const HttpServerOptions::Place& place : options.places) {
    AGENTD_TRY(Listener listener, listen_on(place.address, place.port));
    ports_.push_back(listener.port);
    AGENTD_TRY_VOID(open(std::move(listener)));
  }
  for (UniqueFd& fd : options.inherited) {
    AGENTD_TRY(Listener listener, adopt(std::move(fd)));
    AGENTD_TRY_VOID(open(std::move(listener)));
  }
  if (options.socket.empty()) return {};
  AGENTD_TRY(Listener listener, listen_at(options.socket));
  return open(std::move(listener));
}

HttpServerFigures Server::figures() const {
  HttpServerFigures out;
  {
    const MutexLock lock(engine_->mutex);
    out.connections = engine_->open;
  }
  out.streams = engine_->streams;
  out.body_bytes = engine_->body_bytes;
  out.accepted = engine_->accepted;
  out.refused = engine_->refused;
  out.requests = engine_->requests;
  out.timed_out = engine_->timed_out;
  out.streams_dropped = engine_->streams_dropped;
  return out;
}

bool Server::drain(Deadline deadline) {
  (void)engine_->post([engine = engine_] { engine->begin_drain(); });
  const MutexLock lock(engine_->mutex);
  while (!engine_->doors_closed) engine_->drained.wait(engine_->mutex);
  while (engine_->open != 0 && engine_->drained.wait_until(engine_->mutex, engine_->clock, deadline)) continue;
  if (engine_->open == 0) return true;
  engine_->add([engine = engine_] { engine->break_off(); });
  while (engine_->open != 0) engine_->drained.wait(engine_->mutex);
  return !engine_->broken_off;
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options, HttpGate gate, HttpHandler handler,
                                                      const Clock& clock, Log& log) {
  std::unique_ptr<Server> server;
  const HttpLimits limits = options.limits;
  // Asio opens descriptors of its own.
  const std::string thrown = thrown_by([&] {
    const auto engine = std::make_shared<Engine>(limits, std::move(gate), std::move(handler), clock, log);
    engine->body_max = options.body_max;
    server = std::make_unique<Server>(engine);
  });
  if (!thrown.empty()) return Error{Code::kUnavailable, "the server cannot start: " + thrown};
  AGENTD_TRY_VOID(server->listen(std::move(options)));
  AGENTD_TRY_VOID(server->run());
  return Result<std::unique_ptr<HttpServer>>(std::move(server));
}

}  // namespace agentd::serve
