// SPDX-License-Identifier: Apache-2.0
#pragma once
// http.h - an HTTP client over libcurl, which is loaded when the first request needs it.
//
// TLS is always verified, proxies of the environment are honoured unless one is set, redirects are never
// followed, and no compression is asked for: what an answer can grow to is what comes over the line.
//
// One thread of the client moves the bytes of all its requests, from the first request or warm_up() on. A
// request has its connection for itself while it runs; afterwards the next one to that host has it.
//
// Threading: HttpClient is thread-safe; send() blocks its caller and calls `on_body` on that thread. While
// that reads nothing, the server is held back, and at most 128 KiB of the body wait.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"

namespace agentd {

struct HttpRequest {
  std::string method = "POST";
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string_view body;
  Milliseconds connect_timeout{10'000};
  Milliseconds idle_timeout{300'000};          // no byte for that long, the reader's own time not counted
  std::uint64_t body_bytes_max = 64ull << 20;  // of the response
};

struct HttpResponse {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  // The first value of a header, empty when absent.
  std::string_view header(std::string_view lower_case_name) const;
};

// Of a client; empty = as the system and the environment have it. Files are PEM, read when a connection is
// made; one that cannot be used: kDenied.
struct HttpSettings {
  std::string ca_file{};      // what servers' certificates are checked against, alone
  std::string client_cert{};  // shown to who asks for one
  std::string client_key{};   // empty: it is in the file of the certificate
  std::string proxy{};        // of all hosts but this machine and those of NO_PROXY
};

class HttpClient {
 public:
  // Called with the body as it arrives, once the status is known. False ends the transfer: kCancelled.
  using OnBody = std::function<bool(const HttpResponse& so_far, std::string_view bytes)>;

  // Requests of other threads that still run end with kCancelled.
  virtual ~HttpClient() = default;
  // Failures of the network: kUnavailable with one sentence (host, what failed, what to do) before the
  // answer's headers are whole, kCorrupt after that and for an answer over its limits; kDenied when the
  // server's certificate is not accepted; kCancelled, within a tenth of a second; kInvalid for a bad
  // URL or header, and for an answer that is compressed all the same. A status of any kind, 3xx included, is
  // an answer; one of them that is compressed has no body.
  virtual Result<HttpResponse> send(const HttpRequest& request, const OnBody& on_body, const CancelToken& cancel,
                                    Deadline deadline) = 0;
  // Starts the client's thread, which loads the library: the first request need not wait for it.
  virtual void warm_up() = 0;
};

// `clock` outlives it.
std::unique_ptr<HttpClient> make_http_client(const Clock& clock, HttpSettings settings = {});

// Whether libcurl can be loaded, and its version; for `agentd doctor`.
Result<std::string> http_library_version();

}  // namespace agentd
