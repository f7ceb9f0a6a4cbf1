// SPDX-License-Identifier: Apache-2.0
#include "core/cage/proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "core/cage/connection_share.h"
#include "core/cage/proxy_protocol.h"
#include "core/cage/reach.h"

namespace agentd::cage {
namespace {

constexpr Milliseconds kOpeningTime{30'000}, kConnectTime{20'000}, kIdleTime{600'000};
constexpr Milliseconds kForever{1'000'000'000}, kPauseTime{100};
constexpr std::size_t kRefusalsMax = 20;

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> out{};
  return ::inet_pton(AF_INET, host.c_str(), out.data()) == 1 || ::inet_pton(AF_INET6, host.c_str(), out.data()) == 1;
}

}  // namespace

struct Proxy::Shared {
  explicit Shared(NetworkRules with, NetworkGate by) : rules(std::move(with)), gate(std::move(by)) {}

  const NetworkRules rules;
  const NetworkGate gate;
  const SystemClock clock;
  UniqueFd listener, stop, freed;  // `stop` becomes readable at the end, `freed` when a connection has ended
  Mutex mutex;
  std::size_t open GUARDED_BY(mutex) = 0;
  std::vector<std::string> refusals GUARDED_BY(mutex);

  // Counts one connection more, if there may be one.
  bool take() {
    const MutexLock lock(mutex);
    if (open == kConnectionsMax || !take_connection(open == 0)) return false;
    ++open;
    return true;
  }
  void give() {
    give_connection();
    const MutexLock lock(mutex);
    --open;
  }
  void tell_freed() const {
    const std::uint64_t one = 1;
    (void)!::write(freed.get(), &one, sizeof one);
  }
  // Until a connection of this proxy has ended, or for a moment: others may have freed something.
  void pause() const {
    std::uint64_t ended = 0;
    if (wait_for(freed.get(), POLLIN, kPauseTime)) (void)!::read(freed.get(), &ended, sizeof ended);
  }
  void refuse(const std::string& sentence) {
    const MutexLock lock(mutex);
    if (refusals.size() < kRefusalsMax && std::find(refusals.begin(), refusals.end(), sentence) == refusals.end())
      refusals.push_back(sentence);
  }
  // False when the time is over, or the proxy ends.
  bool wait(std::span<pollfd> list, Milliseconds time) const {
    const Deadline deadline = Deadline::after(clock, time);
    for (;;) {
      const int ready = clock.poll(list, deadline);
      if (ready < 0 && errno == EINTR) continue;
      return ready > 0 && list[0].revents == 0;
    }
  }
  bool wait_for(int fd, short events, Milliseconds time) const {
    pollfd list[2] = {{stop.get(), POLLIN, 0}, {fd, events, 0}};
    return wait(list, time);
  }
};

namespace {

// One connection of a command.
template <typename Shared>
class Connection {
 public:
  Connection(std::shared_ptr<Shared> shared, UniqueFd client)
      : shared_(std::move(shared)), client_(std::move(client)) {}

  void serve() {
    const auto opening = read_opening();
    if (!opening) return;
    const std::string name = opening->to.host + ":" + std::to_string(opening->to.port);
    const bool allowed = shared_->gate ? shared_->gate(opening->to) : shared_->rules.allows(opening->to);
    if (!allowed) {
      shared_->refuse("the connection to " + name + " was refused; 'sandbox.network: [" + rule_for(opening->to) +
                      "]' in your settings would allow it");
      return answer(opening->kind, Outcome::kRefused, "sandbox.network does not allow " + name);
    }
    const UniqueFd host = connect(opening->to);
    if (!host.valid())
      return answer(opening->kind, Outcome::kUnreachable, why_.empty() ? name + " did not answer" : why_);
    answer(opening->kind, Outcome::kConnected, {});
    if (send(host.get(), opening->forward)) copy(host.get());
  }

 private:
  std::optional<Opening> read_opening() {
    std::string text;
    bool socks = false;
    while (text.size() <= 2 * kHeadMax) {
      if (!text.empty() && text[0] == 5 && !socks) {
        const std::size_t greeting = socks_greeting_bytes(text);
        if (greeting != 0) {
          socks = true;
          text.erase(0, greeting);
          if (!send(client_.get(), kSocksWelcome)) return std::nullopt;
        }
      }
      if (!text.empty() && (socks || text[0] != 5)) {
        auto parsed = socks ? parse_socks(text) : parse_http(text);
        if (!parsed) return answer(Opening::Kind::kConnect, Outcome::kRefused, parsed.error().message), std::nullopt;
        if (*parsed) return std::move(**parsed);
      }
      std::array<char, 4096> part{};
      if (!shared_->wait_for(client_.get(), POLLIN, kOpeningTime)) return std::nullopt;
      const ssize_t got = ::recv(client_.get(), part.data(), part.size(), 0);
      if (got <= 0) return std::nullopt;
      text.append(part.data(), static_cast<std::size_t>(got));
    }
    return std::nullopt;
  }

  void answer(Opening::Kind kind, Outcome outcome, const std::string& reason) {
    (void)send(client_.get(), answer_to(kind, outcome, reason));
  }

  bool send(int to, std::string_view text) {
    while (!text.empty()) {
      const ssize_t put = ::send(to, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (put > 0) text.remove_prefix(static_cast<std::size_t>(put));
      if (put < 0 && errno != EAGAIN && errno != EINTR) return false;
      if (put < 0 && !shared_->wait_for(to, POLLOUT, kIdleTime)) return false;
    }
    return true;
  }

  bool may_reach(const NetworkRequest& to, const addrinfo& at) {
    const Reach reach = is_of_this_machine(at.ai_addr) ? Reach::kOwn : reach_of(at.ai_addr);
    if (reach == Reach::kPublic) return true;
    const bool named = shared_->rules.names(to);
    if (named && (reach == Reach::kPrivate || is_address(to.host) || to.host == "localhost")) return true;
    why_ = to.host +
           (reach == Reach::kOwn ? " leads to this machine, its link or its cloud" : " leads into a private network") +
           ", which only a rule that names " + (reach == Reach::kOwn ? "the address" : "the host") + " opens";
    shared_->refuse("the connection to " + to.host + ":" + std::to_string(to.port) + " was refused: " + why_);
    return false;
  }

  UniqueFd connect(const NetworkRequest& to) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_NUMERICSERV | (is_address(to.host) ? AI_NUMERICHOST : 0);
    addrinfo* found = nullptr;
    if (::getaddrinfo(to.host.c_str(), std::to_string(to.port).c_str(), &wanted, &found) != 0) {
      why_ = "the name " + to.host + " cannot be resolved";
      return UniqueFd();
    }
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
    for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
      if (!may_reach(to, *at)) continue;
      UniqueFd socket(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (!socket.valid() && is_shortage(errno)) why_ = "agentd has no descriptors left: raise 'ulimit -n'";
      if (!socket.valid()) continue;
      if (::connect(socket.get(), at->ai_addr, at->ai_addrlen) == 0) return socket;
      if (errno != EINPROGRESS || !shared_->wait_for(socket.get(), POLLOUT, kConnectTime)) continue;
      int failed = 0;
      socklen_t bytes = sizeof failed;
      if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &failed, &bytes) == 0 && failed == 0) return socket;
    }
    return UniqueFd();
  }

  // Until both sides have said all.
  void copy(int host) {
    const int ends[2] = {client_.get(), host};
    bool open[2] = {true, true};
    std::array<char, 32 * 1024> part;
    while (open[0] || open[1]) {
      pollfd list[3] = {
          {shared_->stop.get(), POLLIN, 0}, {open[0] ? ends[0] : -1, POLLIN, 0}, {open[1] ? ends[1] : -1, POLLIN, 0}};
      if (!shared_->wait(list, kIdleTime)) return;
      for (int side = 0; side < 2; ++side) {
        if (list[side + 1].revents == 0) continue;
        const ssize_t got = ::recv(ends[side], part.data(), part.size(), MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (got < 0) return;
        if (got == 0) {
          open[side] = false;
          ::shutdown(ends[1 - side], SHUT_WR);
        } else if (!send(ends[1 - side], std::string_view(part.data(), static_cast<std::size_t>(got)))) {
          return;
        }
      }
    }
  }

  const std::shared_ptr<Shared> shared_;
  const UniqueFd client_;
  std::string why_;
};

// False when there is no connection, or no thread for it.
template <typename Shared>
bool accept_one(const std::shared_ptr<Shared>& shared) {
  UniqueFd client(::accept4(shared->listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!client.valid()) return false;
  const auto held = std::make_shared<UniqueFd>(std::move(client));
  try {
    Thread([shared, held] {
      Connection<Shared>(shared, std::move(*held)).serve();
      shared->give();
      shared->tell_freed();
    }).detach();
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

// Connections beyond the bounds wait at the listener. What is short now is short in the next moment, too.
template <typename Shared>
void accept_all(const std::shared_ptr<Shared>& shared) {
  while (shared->wait_for(shared->listener.get(), POLLIN, kForever)) {
    const bool may = shared->take();
    if (may && accept_one(shared)) continue;
    if (may) shared->give();
    shared->pause();
  }
}

}  // namespace

Result<std::unique_ptr<Proxy>> Proxy::start(NetworkRules rules, NetworkGate gate) {
  auto shared = std::make_shared<Shared>(std::move(rules), std::move(gate));
  std::unique_ptr<Proxy> out(new Proxy(shared));
  // The path of a socket has 108 bytes, so TMPDIR is not asked.
  AGENTD_TRY(out->directory_, ScratchDirectory::make(kPlace, kPrefix));
  out->socket_ = out->directory_.space() + "/proxy";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, out->socket_.data(), out->socket_.size());
  shared->stop = UniqueFd(::eventfd(0, EFD_CLOEXEC));
  shared->freed = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  shared->listener = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int listener = shared->listener.get();
  if (listener < 0 || !shared->stop.valid() || !shared->freed.valid())
    return Error{Code::kUnavailable, "no descriptors are left for the proxy of the sandbox: raise 'ulimit -n'"};
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener, static_cast<int>(kConnectionsMax)) != 0)
    return errno_error("listening at " + out->socket_, errno);
  try {
    Thread([shared] { accept_all(shared); }).detach();
  } catch (const std::system_error&) {
    return Error{Code::kUnavailable, "the proxy of the sandbox got no thread"};
  }
  return out;
}

Proxy::~Proxy() {
  const std::uint64_t one = 1;
  if (shared_->stop.valid()) (void)!::write(shared_->stop.get(), &one, sizeof one);
}

std::vector<std::string> Proxy::refusals() const {
  const MutexLock lock(shared_->mutex);
  return shared_->refusals;
}

}  // namespace agentd::cage
