// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/tls_proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string_view>

#include "core/base/result.h"
#include "tests/support/loopback_server.h"

namespace agentd::testing {
namespace {

struct FreeSsl {
  void operator()(SSL* one) const { SSL_free(one); }
  void operator()(SSL_CTX* one) const { SSL_CTX_free(one); }
};

std::string names_of(const std::map<std::string, std::uint16_t>& hosts) {
  std::string out;
  for (const auto& [host, port] : hosts) out += (out.empty() ? "DNS:" : ",DNS:") + host;
  return out;
}

UniqueFd connect_to(std::uint16_t port) {
  UniqueFd out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(out.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) out.reset();
  return out;
}

}  // namespace

struct TlsProxy::Context {
  std::unique_ptr<SSL_CTX, FreeSsl> ssl{SSL_CTX_new(TLS_server_method())};
};

TlsProxy::TlsProxy(const std::string& directory, std::map<std::string, std::uint16_t> hosts)
    : hosts_(std::move(hosts)),
      certificate_(TestCertificate::make(directory, "hosts", names_of(hosts_))),
      context_(std::make_unique<Context>()) {
  SSL_CTX* const ssl = context_->ssl.get();
  AGENTD_ASSERT(SSL_CTX_use_certificate_file(ssl, certificate_.cert_file.c_str(), SSL_FILETYPE_PEM) == 1);
  AGENTD_ASSERT(SSL_CTX_use_PrivateKey_file(ssl, certificate_.key_file.c_str(), SSL_FILETYPE_PEM) == 1);
  int ends[2];
  AGENTD_ASSERT(::pipe2(ends, O_CLOEXEC) == 0);
  stop_read_ = UniqueFd(ends[0]);
  stop_write_ = UniqueFd(ends[1]);
  listener_ = listen_on_loopback(port_);
  accept_thread_ = std::thread([this] { accept_loop(); });
}

TlsProxy::~TlsProxy() {
  stop_write_.reset();  // every poll sees the pipe's end
  accept_thread_.join();
  for (std::thread& client : clients_) client.join();
}

std::set<std::string> TlsProxy::strangers() const {
  const std::lock_guard lock(mutex_);
  return strangers_;
}

bool TlsProxy::wait(int first, short events, int second) const {
  pollfd polled[3] = {{stop_read_.get(), POLLIN, 0}, {first, events, 0}, {second, POLLIN, 0}};
  while (::poll(polled, 3, -1) < 0) {
  }
  return polled[0].revents == 0;
}

void TlsProxy::accept_loop() {
  // A client may go away at any time.
  sigset_t broken_pipe;
  ::sigemptyset(&broken_pipe);
  ::sigaddset(&broken_pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
  while (wait(listener_.get(), POLLIN)) {
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) clients_.emplace_back([this, fd] { serve(UniqueFd(fd)); });
  }
}

std::uint16_t TlsProxy::port_of(const std::string& head) {
  constexpr std::string_view kMethod = "CONNECT ", kPort = ":443";
  const std::string line = head.substr(0, head.find("\r\n"));
  const std::string place = line.substr(0, line.rfind(' '));
  if (place.starts_with(kMethod) && place.ends_with(kPort)) {
    const auto found = hosts_.find(place.substr(kMethod.size(), place.size() - kMethod.size() - kPort.size()));
    if (found != hosts_.end()) return found->second;
  }
  const std::lock_guard lock(mutex_);
  strangers_.insert(place);
  return 0;
}

void TlsProxy::serve(const UniqueFd& client) {
  std::string head;
  while (head.find("\r\n\r\n") == std::string::npos) {
    if (!wait(client.get(), POLLIN)) return;
    char byte = 0;  // the handshake that follows is not ours to read
    const ssize_t got = ::recv(client.get(), &byte, 1, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN)) return;
    if (got == 1) head += byte;
  }
  const std::uint16_t port = port_of(head);
  const UniqueFd server = port == 0 ? UniqueFd() : connect_to(port);
  const std::string_view answer = server.valid() ? "HTTP/1.1 200 Connection established\r\n\r\n"
                                                 : "HTTP/1.1 502 Nobody plays it\r\ncontent-length: 0\r\n\r\n";
  if (::send(client.get(), answer.data(), answer.size(), MSG_NOSIGNAL) > 0 && server.valid())
    relay(client.get(), server.get());
}

void TlsProxy::relay(int client, int server) const {
  const std::unique_ptr<SSL, FreeSsl> ssl(SSL_new(context_->ssl.get()));
  SSL_set_fd(ssl.get(), client);
  // What the library waits for; 0 = it failed.
  const auto wants = [&](int result) -> short {
    const int error = SSL_get_error(ssl.get(), result);
    return error == SSL_ERROR_WANT_READ ? POLLIN : error == SSL_ERROR_WANT_WRITE ? POLLOUT : 0;
  };
  for (int done = SSL_accept(ssl.get()); done != 1; done = SSL_accept(ssl.get()))
    if (const short events = wants(done); events == 0 || !wait(client, events)) return;
  char bytes[16384];
  for (;;) {
    const int read = SSL_read(ssl.get(), bytes, sizeof bytes);
    if (read > 0) {
      for (int at = 0; at < read;) {
        const ssize_t sent = ::send(server, bytes + at, static_cast<std::size_t>(read - at), MSG_NOSIGNAL);
        if (sent <= 0) return;
        at += static_cast<int>(sent);
      }
      continue;
    }
    if (wants(read) == 0) return;
    const ssize_t got = ::recv(server, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got == 0) {
      SSL_shutdown(ssl.get());
      return;
    }
    if (got < 0 && !wait(client, POLLIN, server)) return;
    for (int done = 0; got > 0 && done != got;) {
      done = SSL_write(ssl.get(), bytes, static_cast<int>(got));
      if (done == got) break;
      if (const short events = wants(done); events == 0 || !wait(client, events)) return;
    }
  }
}

}  // namespace agentd::testing
