// SPDX-License-Identifier: Apache-2.0
// The client's peers: certificates, its own certificate, proxies.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "core/net/curl_client.h"
#include "tests/support/loopback_server.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/net/tls_server.h"

namespace agentd {
namespace {

using testing::LoopbackServer;
using testing::RecordedRequest;
using testing::Reply;
using testing::TestCertificate;
using testing::TlsServer;

class TlsTest : public ::testing::Test {
 protected:
  TestCertificate certificate(const std::string& stem, const std::string& name = "IP:127.0.0.1", int days = 1) {
    return TestCertificate::make(directory_.path(), stem, name, days);
  }
  Result<HttpResponse> send(const std::string& url) {
    HttpRequest request;
    request.url = url;
    request.headers = {{"x-api-key", "secret"}};
    request.body = "prompt";
    return make_http_client(clock_, settings_)->send(request, {}, {}, {});
  }
  // The request was not sent, and the sentence says why.
  void expect_denied(const TlsServer& server, const std::string& why) {
    const auto answer = send(server.url());
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Code::kDenied) << answer.error().message;
    EXPECT_NE(answer.error().message.find(why), std::string::npos) << answer.error().message;
    EXPECT_EQ(server.received(), "");
  }

  testing::TempDir directory_;
  SystemClock clock_;
  HttpSettings settings_;
};

TEST_F(TlsTest, ACertificateOfAnUnknownAuthorityIsDenied) {
  const TlsServer server(certificate("own"));
  expect_denied(server, "the certificate of 127.0.0.1:");
  settings_.ca_file = certificate("other").cert_file;
  expect_denied(server, "the certificate of 127.0.0.1:");
}

TEST_F(TlsTest, ACertificateOfTheFileIsAccepted) {
  const TestCertificate own = certificate("own");
  const TlsServer server(own);
  settings_.ca_file = own.cert_file;
  const auto answer = send(server.url());
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_NE(server.received().find("x-api-key: secret"), std::string::npos);
}

TEST_F(TlsTest, ACertificateThatHasExpiredIsDenied) {
  const TestCertificate own = certificate("own", "IP:127.0.0.1", -1);
  const TlsServer server(own);
  settings_.ca_file = own.cert_file;
  expect_denied(server, "expired");
}

TEST_F(TlsTest, ACertificateOfAnotherHostIsDenied) {
  const TestCertificate own = certificate("own", "DNS:example.org");
  const TlsServer server(own);
  settings_.ca_file = own.cert_file;
  expect_denied(server, "the certificate of 127.0.0.1:");
}

TEST_F(TlsTest, AFileThatCannotBeUsedIsSaid) {
  const TestCertificate own = certificate("own");
  const TlsServer server(own);
  settings_.ca_file = directory_.path() + "/missing.pem";
  expect_denied(server, "the CA file cannot be used");
  settings_ = {own.cert_file, directory_.path() + "/missing.pem", "", ""};
  expect_denied(server, "the client certificate or its key cannot be used");
}

// No failure of the network, so nothing that is tried again.
TEST_F(TlsTest, AServerWithoutTlsIsNamedAsOne) {
  std::uint16_t port = 0;
  const UniqueFd listener = testing::listen_on_loopback(port);
  std::thread server([&] {
    const UniqueFd client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    char hello[4096];
    (void)!::read(client.get(), hello, sizeof hello);
    EXPECT_TRUE(write_all(client.get(), "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"));
    while (::read(client.get(), hello, sizeof hello) > 0) {
    }
  });
  const auto answer = send("https://127.0.0.1:" + std::to_string(port));
  server.join();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kDenied) << answer.error().message;
  EXPECT_EQ(answer.error().message.find("127.0.0.1:" + std::to_string(port) + " does not speak TLS at this port"), 0u)
      << answer.error().message;
}

TEST_F(TlsTest, TheClientsCertificateIsShownToWhoAsks) {
  const TestCertificate own = certificate("own"), mine = certificate("mine", "DNS:client");
  const TlsServer server(own, mine.cert_file);
  settings_.ca_file = own.cert_file;
  EXPECT_FALSE(send(server.url()));
  EXPECT_EQ(server.received(), "");
  settings_.client_cert = mine.cert_file;
  settings_.client_key = mine.key_file;
  const auto answer = send(server.url());
  ASSERT_TRUE(answer) << answer.error().message;
}

TEST_F(TlsTest, TheProxyOfTheSettingsOverridesTheEnvironments) {
  LoopbackServer own([](const RecordedRequest&) { return Reply::http(200, {}, "own"); });
  LoopbackServer environments([](const RecordedRequest&) { return Reply::http(200, {}, "environment"); });
  LoopbackServer direct([](const RecordedRequest&) { return Reply::http(200, {}, "direct"); });
  ::setenv("http_proxy", environments.url().c_str(), 1);
  ::unsetenv("no_proxy");
  settings_.proxy = own.url();
  const auto proxied = send("http://example.invalid/"), home = send(direct.url());
  ::unsetenv("http_proxy");
  EXPECT_TRUE(proxied) << proxied.error().message;
  EXPECT_TRUE(home);
  EXPECT_EQ(own.requests().size(), 1u);
  EXPECT_EQ(environments.connections(), 0u);
  EXPECT_EQ(direct.requests().size(), 1u) << "this machine is reached without";
}

}  // namespace
}  // namespace agentd
