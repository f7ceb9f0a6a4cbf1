// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/net/tls_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "core/base/result.h"
#include "tests/support/loopback_server.h"

namespace agentd::testing {
namespace {

constexpr long kDay = 86'400;

struct Free {
  void operator()(EVP_PKEY* one) const { EVP_PKEY_free(one); }
  void operator()(X509* one) const { X509_free(one); }
  void operator()(X509_EXTENSION* one) const { X509_EXTENSION_free(one); }
  void operator()(SSL* one) const { SSL_free(one); }
  void operator()(SSL_CTX* one) const { SSL_CTX_free(one); }
  void operator()(std::FILE* one) const { std::fclose(one); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

void add_extension(X509* cert, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, cert, cert, nullptr, nullptr, 0);
  const Owned<X509_EXTENSION> made(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  AGENTD_ASSERT(made != nullptr && X509_add_ext(cert, made.get(), -1) == 1);
}

}  // namespace

TestCertificate TestCertificate::make(const std::string& directory, const std::string& stem, const std::string& name,
                                      int days) {
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  const Owned<X509> cert(X509_new());
  AGENTD_ASSERT(key != nullptr && cert != nullptr);
  X509_set_version(cert.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(cert.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(cert.get()), -2 * kDay);
  X509_gmtime_adj(X509_getm_notAfter(cert.get()), days * kDay);
  X509_set_pubkey(cert.get(), key.get());
  X509_NAME* const subject = X509_get_subject_name(cert.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(stem.c_str()), -1, -1,
                             0);
  X509_set_issuer_name(cert.get(), subject);
  add_extension(cert.get(), NID_basic_constraints, "critical,CA:TRUE");
  add_extension(cert.get(), NID_subject_alt_name, name);
  AGENTD_ASSERT(X509_sign(cert.get(), key.get(), EVP_sha256()) != 0);

  const TestCertificate out{directory + "/" + stem + ".pem", directory + "/" + stem + ".key"};
  const Owned<std::FILE> cert_file(std::fopen(out.cert_file.c_str(), "we"));
  const Owned<std::FILE> key_file(std::fopen(out.key_file.c_str(), "we"));
  AGENTD_ASSERT(PEM_write_X509(cert_file.get(), cert.get()) == 1);
  AGENTD_ASSERT(PEM_write_PrivateKey(key_file.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return out;
}

struct TlsServer::Context {
  Owned<SSL_CTX> ssl{SSL_CTX_new(TLS_server_method())};
};

TlsServer::TlsServer(const TestCertificate& own, const std::string& client_ca) : context_(std::make_unique<Context>()) {
  SSL_CTX* const ssl = context_->ssl.get();
  AGENTD_ASSERT(SSL_CTX_use_certificate_file(ssl, own.cert_file.c_str(), SSL_FILETYPE_PEM) == 1);
  AGENTD_ASSERT(SSL_CTX_use_PrivateKey_file(ssl, own.key_file.c_str(), SSL_FILETYPE_PEM) == 1);
  if (!client_ca.empty()) {
    AGENTD_ASSERT(SSL_CTX_load_verify_file(ssl, client_ca.c_str()) == 1);
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    // A refused client gets the refusal within the handshake.
    SSL_CTX_set_max_proto_version(ssl, TLS1_2_VERSION);
  }
  int ends[2];
  AGENTD_ASSERT(::pipe(ends) == 0);
  stop_read_ = UniqueFd(ends[0]);
  stop_write_ = UniqueFd(ends[1]);
  listener_ = listen_on_loopback(port_);
  thread_ = std::thread([this] { serve(); });
}

TlsServer::~TlsServer() {
  stop_write_.reset();
  thread_.join();
}

std::string TlsServer::received() const {
  const std::lock_guard lock(mutex_);
  return received_;
}

void TlsServer::serve() {
  // A client may go away at any time.
  sigset_t broken_pipe;
  ::sigemptyset(&broken_pipe);
  ::sigaddset(&broken_pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
  for (;;) {
    pollfd polled[2] = {{listener_.get(), POLLIN, 0}, {stop_read_.get(), POLLIN, 0}};
    while (::poll(polled, 2, -1) < 0) {
    }
    if (polled[1].revents != 0) return;
    const UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client.valid()) continue;
    // A silent client must not block the server for ever.
    const timeval longest{5, 0};
    ::setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
    const Owned<SSL> ssl(SSL_new(context_->ssl.get()));
    SSL_set_fd(ssl.get(), client.get());
    if (SSL_accept(ssl.get()) != 1) continue;
    std::string request;
    char bytes[4096];
    while (request.find("\r\n\r\n") == std::string::npos) {
      const int got = SSL_read(ssl.get(), bytes, sizeof bytes);
      if (got <= 0) break;
      request.append(bytes, static_cast<std::size_t>(got));
    }
    {
      const std::lock_guard lock(mutex_);
      received_ += request;
    }
    constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\nsecure";
    SSL_write(ssl.get(), kAnswer.data(), static_cast<int>(kAnswer.size()));
    SSL_shutdown(ssl.get());
  }
}

}  // namespace agentd::testing
