// SPDX-License-Identifier: Apache-2.0
#pragma once
// tls_proxy.h - the internet on loopback: an HTTP proxy that plays each host of https under its own name, and passes
// what comes for it on to a server of the test.
//
// Threading: thread-safe.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/base/file.h"
#include "tests/unit/net/tls_server.h"

namespace agentd::testing {

class TlsProxy {
 public:
  // `hosts`: the port of the server that plays each host; to no other one there is a way. The certificates are made in
  // the directory.
  TlsProxy(const std::string& directory, std::map<std::string, std::uint16_t> hosts);
  ~TlsProxy();
  TlsProxy(const TlsProxy&) = delete;
  TlsProxy& operator=(const TlsProxy&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // The authority that has signed for the hosts.
  const std::string& ca_file() const { return certificate_.cert_file; }
  // The hosts that were asked for and that nobody plays, as "host:port", and requests that were not for a tunnel.
  std::set<std::string> strangers() const;

 private:
  struct Context;
  void accept_loop();
  void serve(const UniqueFd& client);
  // The server's port for the host of a request for a tunnel; 0 = nobody plays it.
  std::uint16_t port_of(const std::string& head);
  void relay(int client, int server) const;
  // False: the test is over.
  bool wait(int first, short events, int second = -1) const;

  const std::map<std::string, std::uint16_t> hosts_;
  const TestCertificate certificate_;
  std::unique_ptr<Context> context_;
  UniqueFd listener_, stop_read_, stop_write_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::set<std::string> strangers_;   // guarded by mutex_
  std::vector<std::thread> clients_;  // of the accept thread, until it ended
  std::thread accept_thread_;
};

}  // namespace agentd::testing
