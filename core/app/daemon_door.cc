// SPDX-License-Identifier: Apache-2.0
#include "core/app/daemon_door.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/file.h"
#include "core/codec/json.h"
#include "core/codec/sse.h"
#include "core/net/curl_client.h"
#include "core/serve/tokens.h"

namespace agentd::app {
namespace {

constexpr Milliseconds kNoSilence{365ll * 24 * 3'600'000};  // of a stream: a question may wait for its person
constexpr std::size_t kErrorBytesMax = 1u << 20;

// True if a process of this user listens there.
bool is_ours(const std::string& path) {
  struct stat file {};
  if (::lstat(path.c_str(), &file) != 0 || !S_ISSOCK(file.st_mode) || file.st_uid != ::geteuid()) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  std::memcpy(&address.sun_path[0], path.data(), path.size());
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const void* const place = &address;
  if (!probe.valid() || ::connect(probe.get(), static_cast<const sockaddr*>(place), sizeof address) != 0) return false;
  ucred who{};
  socklen_t bytes = sizeof who;
  return ::getsockopt(probe.get(), SOL_SOCKET, SO_PEERCRED, &who, &bytes) == 0 && who.uid == ::geteuid();
}

std::string error_member(const std::string& body, std::string_view name) {
  const auto document = JsonDocument::parse(body);
  return document ? std::string(document->root()["error"][name].string_or("")) : std::string();
}

}  // namespace

std::string DaemonReply::code() const { return error_member(body, "code"); }
std::string DaemonReply::message() const { return error_member(body, "message"); }

// ---- requests

DaemonDoor::DaemonDoor(const Clock& clock, std::string socket, std::string token)
    : clock_(clock), socket_(std::move(socket)), token_(std::move(token)), http_(make_http_client(clock)) {}

std::unique_ptr<DaemonDoor> DaemonDoor::find(const App& app) {
  const auto home = app.home();
  if (!home) return nullptr;
  const std::string socket = *home + "/agentd.sock";
  if (!is_ours(socket)) return nullptr;
  auto token = serve::Tokens::read_own(*home);
  if (!token) return nullptr;
  return std::unique_ptr<DaemonDoor>(new DaemonDoor(app.clock(), socket, std::move(*token)));
}

HttpRequest DaemonDoor::request(const std::string& method, const std::string& path) const {
  HttpRequest out;
  out.method = method;
  out.url = "http://localhost" + path;
  out.unix_socket = socket_;
  out.headers = {{"Authorization", "Bearer " + token_}};
  if (method != "GET") out.headers.emplace_back("Content-Type", "application/json");
  out.connect_timeout = kAnswerTime;
  return out;
}

Result<DaemonReply> DaemonDoor::send(const std::string& method, const std::string& path, std::string_view json) const {
  HttpRequest asked = request(method, path);
  asked.body = json;
  std::string body;
  const auto take = [&body](const HttpResponse&, std::string_view bytes) {
    body.append(bytes);
    return true;
  };
  AGENTD_TRY(const HttpResponse head, http_->send(asked, take, CancelToken(), Deadline::after(clock_, kAnswerTime)));
  return DaemonReply{head.status, std::move(body)};
}

Result<DaemonReply> DaemonDoor::get(const std::string& path) const { return send("GET", path, {}); }
Result<DaemonReply> DaemonDoor::post(const std::string& path, std::string_view json) const {
  return send("POST", path, json);
}

Result<std::unique_ptr<DaemonStream>, DaemonReply> DaemonDoor::stream(const std::string& method,
                                                                      const std::string& path,
                                                                      const std::string& json) const {
  const Deadline deadline = Deadline::after(clock_, kAnswerTime);
  auto out = std::make_unique<DaemonStream>(clock_, http_, request(method, path), json);
  DaemonReply head = out->head(deadline);
  // A connection that was lost before any answer: the daemon has dropped the client with it.
  if (head.status == 0 && out->has_ended() && !deadline.passed(clock_)) {
    out = std::make_unique<DaemonStream>(clock_, http_, request(method, path), json);
    head = out->head(deadline);
  }
  if (head.status != 200) return head;
  return out;
}

// ---- streams

DaemonStream::DaemonStream(const Clock& clock, std::shared_ptr<HttpClient> http, HttpRequest request, std::string body)
    : clock_(clock), http_(std::move(http)), request_(std::move(request)), body_(std::move(body)) {
  request_.body = body_;
  request_.idle_timeout = kNoSilence;
  request_.body_bytes_max = UINT64_MAX;
  thread_ = Thread([this] { read(); });
}

DaemonStream::~DaemonStream() {
  leave_.cancel(1);
  thread_.join();
}

void DaemonStream::read() {
  SseParser parser(SseParser::Limits{64u << 20, 64u << 20});
  std::string error;
  const auto keep = [this](const SseEvent& event) {
    const MutexLock lock(mutex_);
    frames_.push_back({std::string(event.type), std::string(event.data), std::string(event.id)});
    changed_.notify_all();
    return Result<void>();
  };
  const auto take = [&](const HttpResponse& head, std::string_view bytes) {
    if (head.status != 200) {
      error.append(bytes.substr(0, kErrorBytesMax - std::min(error.size(), kErrorBytesMax)));
      return true;
    }
    {
      const MutexLock lock(mutex_);
      head_.status = head.status;
      changed_.notify_all();
    }
    return parser.feed(bytes, keep).has_value();
  };
  const auto done = http_->send(request_, take, leave_, Deadline());
  const MutexLock lock(mutex_);
  if (done && head_.status == 0) head_ = {done->status, std::move(error)};
  ended_ = true;
  changed_.notify_all();
}

DaemonReply DaemonStream::head(Deadline deadline) {
  const MutexLock lock(mutex_);
  while (!ended_ && head_.status == 0)
    if (!changed_.wait_until(mutex_, clock_, deadline)) break;
  return head_;
}

std::optional<DaemonStream::Frame> DaemonStream::next(Milliseconds time) {
  const Deadline deadline = Deadline::after(clock_, time);
  const MutexLock lock(mutex_);
  while (!ended_ && frames_.empty())
    if (!changed_.wait_until(mutex_, clock_, deadline)) break;
  if (frames_.empty()) return std::nullopt;
  Frame out = std::move(frames_.front());
  frames_.pop_front();
  return out;
}

bool DaemonStream::brings(std::string_view type) const {
  const MutexLock lock(mutex_);
  return ended_ || std::any_of(frames_.begin(), frames_.end(), [&](const Frame& each) { return each.type == type; });
}

bool DaemonStream::has_ended() const {
  const MutexLock lock(mutex_);
  return ended_ && frames_.empty();
}

}  // namespace agentd::app
