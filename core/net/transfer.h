// SPDX-License-Identifier: Apache-2.0
#pragma once
// transfer.h - one request on one pair of libcurl handles, from its options to its outcome.
//
// Threading: one thread at a time.

#include <memory>
#include <string>

#include "core/net/curl_library.h"
#include "core/net/http.h"
#include "core/net/url.h"

namespace agentd {

// The handles of one request at a time. They keep their connections, so that the next request to the
// same host need not connect again.
class CurlSession {
 public:
  static Result<std::unique_ptr<CurlSession>> open(const CurlLibrary& curl);
  ~CurlSession();
  CurlSession(const CurlSession&) = delete;
  CurlSession& operator=(const CurlSession&) = delete;
  CURL* easy() const { return easy_; }
  CURLM* multi() const { return multi_; }

 private:
  CurlSession(const CurlLibrary& curl, CURL* easy, CURLM* multi)
      : curl_(curl), easy_(easy), multi_(multi) {}
  const CurlLibrary& curl_;
  CURL* easy_;
  CURLM* multi_;
};

class Transfer {
 public:
  static constexpr std::size_t kHeaderBytesMax = 256 * 1024;
  static constexpr std::size_t kHeaderLinesMax = 500;

  // All references must outlive the transfer.
  Transfer(const CurlLibrary& curl, CurlSession& session, const Clock& clock, const HttpRequest& request,
           const HttpUrl& url, const HttpClient::OnBody& on_body);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Blocks until it is over, as HttpClient::send().
  Result<HttpResponse> run(const CancelToken& cancel, Deadline deadline);

 private:
  static std::size_t header_callback(char* bytes, std::size_t one, std::size_t count, void* self);
  static std::size_t body_callback(char* bytes, std::size_t one, std::size_t count, void* self);
  bool take_header(std::string_view line);
  bool take_body(std::string_view bytes);

  Result<void> set_headers();
  void set_options();
  Result<void> drive(const CancelToken& cancel, Deadline deadline);
  Result<void> check_time(const CancelToken& cancel, Deadline deadline) const;
  Error failure(CURLcode code) const;
  bool fail(Code code, std::string message);

  const CurlLibrary& curl_;
  CurlSession& session_;
  const Clock& clock_;
  const HttpRequest& request_;
  const HttpUrl& url_;
  const HttpClient::OnBody& on_body_;

  curl_slist* headers_ = nullptr;
  char error_text_[CURL_ERROR_SIZE] = {};
  HttpResponse response_;
  std::size_t header_bytes_ = 0;
  std::uint64_t body_bytes_ = 0;
  std::uint64_t last_byte_ns_ = 0;
  bool added_ = false;
  bool headers_done_ = false;
  bool failed_ = false;  // by us, inside a callback; `failure_` says why
  Error failure_;
};

}  // namespace agentd
