// SPDX-License-Identifier: Apache-2.0
#pragma once
// transfer.h - one request, from its options to its outcome, between the caller's thread and the I/O thread.
//
// Arriving bytes wait in a bounded queue for the caller. When it is full libcurl stops reading from the connection,
// which holds back the server: a slow reader costs kUnreadMax and not the complete answer.
//
// Threading: deliver() is the caller's, the rest is the I/O thread's.

#include <functional>
#include <optional>
#include <string>

#include "core/base/mutex.h"
#include "core/codec/url.h"
#include "core/net/curl_library.h"
#include "core/net/http.h"

namespace agentd {

class Transfer {
 public:
  static constexpr std::size_t kHeaderBytesMax = 256 * 1024;
  static constexpr std::size_t kHeaderLinesMax = 500;
  // Bytes of the body that wait for the reader; the part being read may be as large again.
  static constexpr std::size_t kUnreadMax = 64 * 1024;

  // `clock`, `settings` and `request` must outlive deliver().
  Transfer(const Clock& clock, const HttpSettings& settings, const HttpRequest& request, HttpUrl url,
           CancelToken cancel, Deadline deadline)
      : clock_(clock),
        settings_(settings),
        request_(request),
        url_(std::move(url)),
        cancel_(std::move(cancel)),
        deadline_(deadline) {}
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Blocks until the transfer is over, as HttpClient::send(). `knock` makes the I/O thread call attend().
  Result<HttpResponse> deliver(const HttpClient::OnBody& on_body, const std::function<void()>& knock);

  // The handle, ready for a multi handle; null when memory is short. `curl` outlives it.
  CURL* open(const CurlLibrary& curl, CURLSH* share);
  CURL* easy() const { return easy_; }
  bool over();
  // Resumes reading when the reader has made room. kCancelled when the reader has ended the transfer.
  Result<void> attend();
  // The error of a cancelled or timed-out transfer.
  Result<void> check_time() const;
  // Translates libcurl's result into the outcome.
  Result<void> judge(CURLcode code) const;
  // Releases request and handle, which must be in no multi handle, and wakes the caller.
  void finish(Result<void> outcome);

 private:
  static std::size_t header_callback(char* bytes, std::size_t one, std::size_t count, void* self);
  static std::size_t body_callback(char* bytes, std::size_t one, std::size_t count, void* self);
  static curl_socket_t open_socket(void* self, curlsocktype purpose, curl_sockaddr* address);
  bool take_header(std::string_view line);
  bool take_head();
  std::size_t take_body(std::string_view bytes);
  void set_headers();
  void set_options(CURLSH* share);
  void set_way();
  Error failure(CURLcode code) const;
  Error tls_failure(const std::string& said) const;
  Error reader_ended() const;
  bool fail(Code code, std::string message);
  void close();

  const Clock& clock_;
  const HttpSettings& settings_;
  const HttpRequest& request_;
  const HttpUrl url_;
  const CancelToken cancel_;
  const Deadline deadline_;

  // Used by the I/O thread only.
  const CurlLibrary* curl_ = nullptr;
  CURL* easy_ = nullptr;
  curl_slist* headers_ = nullptr;
  char error_text_[CURL_ERROR_SIZE] = {};
  std::size_t header_bytes_ = 0;
  std::uint64_t body_bytes_ = 0;
  std::uint64_t last_byte_ns_ = 0;
  bool headers_done_ = false;
  bool drops_body_ = false;
  bool held_ = false;     // libcurl's reading is paused for the reader
  bool refused_ = false;  // an address, by the request
  bool failed_ = false;   // by this class, inside a callback; `failure_` says why
  Error failure_;

  HttpResponse response_;  // the I/O thread's until headers_done_, then immutable

  Mutex mutex_;
  Condition changed_;
  std::string unread_ GUARDED_BY(mutex_);
  bool waits_for_room_ GUARDED_BY(mutex_) = false;
  bool reader_left_ GUARDED_BY(mutex_) = false;
  std::optional<Result<void>> outcome_ GUARDED_BY(mutex_);
};

}  // namespace agentd
