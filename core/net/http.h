// SPDX-License-Identifier: Apache-2.0
#pragma once
// http.h - the interface of an HTTP client, its request and response; curl_client.h implements it.
//
// TLS is always verified, the environment's proxies are used unless one is set, redirects are never followed, and
// compression is never requested, so that an answer's size is what comes over the line.
//
// One thread of the client moves the bytes of all its requests, from the first request or warm_up() on. A request has a
// connection to itself while it runs; afterwards the next request to that host reuses it.
//
// Threading: HttpClient is thread-safe; send() blocks its caller and calls `on_body` on that thread. While the callback
// does not read, the server is held back, and at most 128 KiB of the body wait.

#include <sys/socket.h>

#include <cstdint>
#include <functional>
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
  Milliseconds idle_timeout{300'000};          // the longest silence, without the time of `on_body`
  std::uint64_t body_bytes_max = 64ull << 20;  // of the response
  // Is asked about each address before a connection to it is opened; where none may be, send() ends with kDenied. The
  // request then goes through no proxy and over no connection of another one, so what was asked about is what is used,
  // whatever a name resolves to a moment later. Called on the client's thread.
  std::function<bool(const sockaddr& address)> may_connect{};
  // Through the proxy of the settings, whatever NO_PROXY says, and to this machine too: nobody else opens a connection
  // to the host. Not with may_connect; kInvalid where the settings have no proxy.
  bool only_by_proxy = false;
  // The path of a unix socket that is connected to in place of the URL's host; empty = none. No proxy is used then.
  std::string unix_socket{};
};

struct HttpResponse {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  // The first value of a header, empty when absent.
  std::string_view header(std::string_view lower_case_name) const {
    for (const auto& [name, value] : headers)
      if (name == lower_case_name) return value;
    return {};
  }
};

// Settings of a client; empty = as the system and the environment have them. Files are PEM, read when a connection is
// made; kDenied for a file that cannot be used.
struct HttpSettings {
  std::string ca_file{};      // the only authorities that servers' certificates are checked against
  std::string client_cert{};  // sent to servers that request one
  std::string client_key{};   // empty: the certificate's file contains it
  std::string proxy{};        // for all hosts but this machine and those of NO_PROXY
};

class HttpClient {
 public:
  // Called with the body as it arrives, once the status is known. False ends the transfer: kCancelled.
  using OnBody = std::function<bool(const HttpResponse& so_far, std::string_view bytes)>;

  // Requests of other threads that still run end with kCancelled.
  virtual ~HttpClient() = default;
  // Network failures: kUnavailable with one sentence (host, what failed, what to do) before the answer's headers are
  // complete, kCorrupt after that and for an answer over its limits. kDenied when the server's certificate is not
  // accepted, or the server of an https URL does not speak TLS. kCancelled within a tenth of a second. kInvalid for a
  // bad URL or header, and for an answer that is compressed nevertheless. A status of any kind, 3xx included, is an
  // answer; its body is dropped when it is 3xx or above and compressed.
  virtual Result<HttpResponse> send(const HttpRequest& request, const OnBody& on_body, const CancelToken& cancel,
                                    Deadline deadline) = 0;
  // Starts the client's thread, which loads the library, so that the first request need not wait for it.
  virtual void warm_up() = 0;
  // The client is about to be destroyed: its thread ends in the background. Requests end with kCancelled.
  virtual void end_soon() {}
};

}  // namespace agentd
