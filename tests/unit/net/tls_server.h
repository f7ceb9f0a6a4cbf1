// SPDX-License-Identifier: Apache-2.0
#pragma once
// tls_server.h - certificates made during the test, and an https server on 127.0.0.1 that uses one.
//
// Threading: TlsServer is thread-safe; it serves one connection at a time.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "core/base/file.h"

namespace agentd::testing {

// A certificate that signs itself, and its key, as PEM in one file each.
struct TestCertificate {
  std::string cert_file, key_file;
  // `name` as in a certificate: "IP:127.0.0.1", "DNS:example.org". Valid from a day before now until `days` from now.
  static TestCertificate make(const std::string& directory, const std::string& stem, const std::string& name,
                              int days = 1);
};

class TlsServer {
 public:
  // `client_ca`: clients must send a certificate of this file; empty = none is requested.
  explicit TlsServer(const TestCertificate& own, const std::string& client_ca = {});
  ~TlsServer();
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  std::string url() const { return "https://127.0.0.1:" + std::to_string(port_); }
  // Everything that came through a handshake.
  std::string received() const;

 private:
  void serve();

  struct Context;
  std::unique_ptr<Context> context_;
  UniqueFd listener_, stop_read_, stop_write_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::string received_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace agentd::testing
