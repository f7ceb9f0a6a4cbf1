// SPDX-License-Identifier: Apache-2.0
#include "core/net/transfer.h"

#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/thrown.h"

namespace agentd {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string seconds(Milliseconds time) {
  const auto ms = time.count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

// True if a body is not encoded: agentd requests no encoding.
bool is_plain(std::string_view encodings) { return encodings.empty() || ascii_lower(encodings) == "identity"; }

}  // namespace

Transfer::~Transfer() { close(); }

void Transfer::close() {
  if (easy_ != nullptr) curl_->easy_cleanup(easy_);
  if (headers_ != nullptr) curl_->slist_free_all(headers_);
  easy_ = nullptr;
  headers_ = nullptr;
}

bool Transfer::fail(Code code, std::string message) {
  failed_ = true;
  failure_ = {code, std::move(message)};
  return false;
}

std::size_t Transfer::header_callback(char* bytes, std::size_t one, std::size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  bool ok = false;
  // Exceptions must not pass through libcurl.
  if (const std::string why = thrown_by([&] { ok = transfer.take_header({bytes, one * count}); }); !why.empty())
    transfer.fail(Code::kUnavailable, why);
  return ok ? one * count : 0;
}

std::size_t Transfer::body_callback(char* bytes, std::size_t one, std::size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  std::size_t taken = one * count + 1;  // ends the transfer
  if (const std::string why = thrown_by([&] { taken = transfer.take_body({bytes, one * count}); }); !why.empty())
    transfer.fail(Code::kUnavailable, why);
  return taken;
}

curl_socket_t Transfer::open_socket(void* self, curlsocktype, curl_sockaddr* address) {
  auto& transfer = *static_cast<Transfer*>(self);
  bool may = false;
  if (const std::string why = thrown_by([&] { may = transfer.request_.may_connect(address->addr); }); !why.empty())
    transfer.fail(Code::kUnavailable, why);
  transfer.refused_ = transfer.refused_ || !may;
  if (!may) return CURL_SOCKET_BAD;
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

bool Transfer::take_header(std::string_view line) {
  last_byte_ns_ = clock_.monotonic_ns();
  header_bytes_ += line.size();
  if (header_bytes_ > kHeaderBytesMax || response_.headers.size() >= kHeaderLinesMax)
    return fail(Code::kCorrupt, url_.place() + " sends more than " + std::to_string(kHeaderLinesMax) + " headers or " +
                                    std::to_string(kHeaderBytesMax) + " bytes of them");
  if (headers_done_) return true;  // a trailer
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  if (line.substr(0, 5) == "HTTP/") {
    // Interim answers (1xx) come before the final one; only the last is used.
    const std::size_t space = std::min(line.find(' '), line.size());
    response_ = {};
    std::from_chars(line.data() + std::min(space + 1, line.size()), line.data() + line.size(), response_.status);
    return true;
  }
  if (line.empty()) return take_head();
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return true;
  response_.headers.emplace_back(ascii_lower(trimmed(line.substr(0, colon))),
                                 std::string(trimmed(line.substr(colon + 1))));
  return true;
}

// The headers of an answer are complete.
bool Transfer::take_head() {
  headers_done_ = response_.status >= 200;
  if (!headers_done_) return true;
  for (const auto& [name, value] : response_.headers) {
    const bool way = name == "transfer-encoding", coded = !is_plain(value) && (!way || ascii_lower(value) != "chunked");
    if (!coded || (!way && name != "content-encoding")) continue;
    // The status of a failed request is enough without its body.
    if (!way && response_.status >= 300)
      drops_body_ = true;
    else
      return fail(Code::kInvalid, url_.place() + " sends its answer encoded as " + one_line(value, 40) +
                                      ", which was not requested; check the proxy or gateway in front of it");
  }
  return true;
}

std::size_t Transfer::take_body(std::string_view bytes) {
  // Any number other than the offered one ends the transfer, even for an empty piece.
  const std::size_t ends = bytes.size() + 1;
  last_byte_ns_ = clock_.monotonic_ns();
  MutexLock lock(mutex_);
  if (reader_left_) return ends;
  if (unread_.size() >= kUnreadMax) {
    held_ = waits_for_room_ = true;
    return CURL_WRITEFUNC_PAUSE;
  }
  body_bytes_ += bytes.size();
  if (body_bytes_ > request_.body_bytes_max) {
    fail(Code::kCorrupt, url_.place() + " sends more than " + std::to_string(request_.body_bytes_max) + " bytes");
    return ends;
  }
  if (drops_body_) return bytes.size();
  const bool first = unread_.empty();
  unread_.append(bytes);
  lock.unlock();  // so that the woken thread need not wait for it
  if (first) changed_.notify_one();
  return bytes.size();
}

void Transfer::set_headers() {
  const auto add = [this](const std::string& line) { headers_ = curl_->slist_append(headers_, line.c_str()); };
  // libcurl drops "Name:" and sends "Name;" as an empty value.
  for (const auto& [name, value] : request_.headers) add(value.empty() ? name + ";" : name + ": " + value);
  // Compressed bytes arrive in larger pieces than they were written, and grow when decompressed.
  add("Accept-Encoding: identity");
  // Without this libcurl waits up to a second for "100 Continue" before it sends a large body.
  add("Expect:");
}

void Transfer::set_options(CURLSH* share) {
  const auto set = [this](CURLoption option, auto value) { curl_->easy_setopt(easy_, option, value); };
  set(CURLOPT_URL, request_.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_TCP_NODELAY, 1L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request_.connect_timeout.count()));
  // With HTTP/1.1 a stream has its connection to itself: a slow reader holds back no other stream, and its bytes wait
  // at the server and not in a window of HTTP/2.
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  // An ended transfer must not wait for a slow name resolution.
  set(CURLOPT_QUICK_EXIT, 1L);
  set(CURLOPT_SHARE, share);
  if (request_.method == "GET" && request_.body.empty()) {
    set(CURLOPT_HTTPGET, 1L);
  } else {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    set(CURLOPT_POSTFIELDS, request_.body.empty() ? "" : request_.body.data());
    if (request_.method != "POST") set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  }
  set(CURLOPT_HTTPHEADER, headers_);
  set(CURLOPT_HEADERFUNCTION, &Transfer::header_callback);
  set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(CURLOPT_WRITEFUNCTION, &Transfer::body_callback);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(CURLOPT_ERRORBUFFER, &error_text_[0]);
}

// Sets the proxy and the certificates of the connection.
void Transfer::set_way() {
  const auto set = [this](CURLoption option, const std::string& value) {
    if (!value.empty()) curl_->easy_setopt(easy_, option, value.c_str());
  };
  set(CURLOPT_CAINFO, settings_.ca_file);
  if (!settings_.ca_file.empty()) curl_->easy_setopt(easy_, CURLOPT_CAPATH, nullptr);
  set(CURLOPT_SSLCERT, settings_.client_cert);
  set(CURLOPT_SSLKEY, settings_.client_key);
  set(CURLOPT_PROXY, settings_.proxy);
  // An empty proxy overrides the environment's: traffic within this machine must not leave it.
  if (!request_.only_by_proxy && (url_.loopback() || request_.may_connect || !request_.unix_socket.empty()))
    curl_->easy_setopt(easy_, CURLOPT_PROXY, "");
  set(CURLOPT_UNIX_SOCKET_PATH, request_.unix_socket);
  if (request_.only_by_proxy) curl_->easy_setopt(easy_, CURLOPT_NOPROXY, "");
  if (!request_.may_connect) return;
  curl_->easy_setopt(easy_, CURLOPT_OPENSOCKETFUNCTION, &Transfer::open_socket);
  curl_->easy_setopt(easy_, CURLOPT_OPENSOCKETDATA, static_cast<void*>(this));
  curl_->easy_setopt(easy_, CURLOPT_FRESH_CONNECT, 1L);
  curl_->easy_setopt(easy_, CURLOPT_FORBID_REUSE, 1L);
}

CURL* Transfer::open(const CurlLibrary& curl, CURLSH* share) {
  curl_ = &curl;
  easy_ = curl.easy_init();
  if (easy_ == nullptr) return nullptr;
  set_headers();
  set_options(share);
  set_way();
  last_byte_ns_ = clock_.monotonic_ns();
  return easy_;
}

Result<void> Transfer::attend() {
  {
    const MutexLock lock(mutex_);
    if (reader_left_) return reader_ended();
    if (!held_ || waits_for_room_) return {};
  }
  held_ = false;
  last_byte_ns_ = clock_.monotonic_ns();  // the reader paused, not the server
  return judge(curl_->easy_pause(easy_, CURLPAUSE_CONT));
}

bool Transfer::over() {
  const MutexLock lock(mutex_);
  return outcome_.has_value();
}

Result<void> Transfer::check_time() const {
  if (cancel_.cancelled()) return Error{Code::kCancelled, "the request was cancelled"};
  if (deadline_.passed(clock_))
    return Error{Code::kUnavailable, "no complete answer from " + url_.place() + " within the time allowed"};
  const auto idle_ns = static_cast<std::uint64_t>(request_.idle_timeout.count()) * 1'000'000u;
  if (!held_ && clock_.monotonic_ns() - last_byte_ns_ > idle_ns)
    return Error{headers_done_ ? Code::kCorrupt : Code::kUnavailable,
                 url_.place() + " has sent nothing for " + seconds(request_.idle_timeout)};
  return {};
}

Result<void> Transfer::judge(CURLcode code) const {
  if (failed_) return failure_;
  if (code != CURLE_OK) return failure(code);
  return {};
}

void Transfer::finish(Result<void> outcome) {
  close();
  {
    const MutexLock lock(mutex_);
    if (!outcome_) outcome_ = std::move(outcome);
  }
  changed_.notify_one();
}

Result<HttpResponse> Transfer::deliver(const HttpClient::OnBody& on_body, const std::function<void()>& knock) {
  std::string bytes;
  bool wanted = true;
  MutexLock lock(mutex_);
  for (;;) {
    while (!outcome_ && unread_.empty()) changed_.wait(mutex_);
    if (unread_.empty()) break;
    bytes.clear();
    bytes.swap(unread_);
    const bool held = std::exchange(waits_for_room_, false);
    lock.unlock();
    if (held) knock();
    // The headers are complete, so no thread changes the response any more.
    wanted = wanted && !cancel_.cancelled() && (!on_body || on_body(response_, bytes));
    lock.lock();
    if (wanted || reader_left_) continue;
    reader_left_ = true;
    lock.unlock();
    knock();
    lock.lock();
  }
  if (!wanted) return reader_ended();
  if (!*outcome_) return outcome_->error();
  return std::move(response_);
}

Error Transfer::reader_ended() const {
  if (cancel_.cancelled()) return {Code::kCancelled, "the request was cancelled"};
  return {Code::kCancelled, "the reader of " + url_.place() + " ended the transfer"};
}

// A server without TLS answers a handshake with plain text, which libcurl's library for TLS cannot read.
Error Transfer::tls_failure(const std::string& said) const {
  const std::string place = url_.place();
  for (const std::string_view plain : {"wrong version number", "packet length too long", "http request"})
    if (said.find(plain) != std::string::npos)
      return {Code::kDenied, place +
                                 " does not speak TLS at this port: use http:// for a server on this machine, or "
                                 "the port for https (" +
                                 said + ")"};
  return {Code::kUnavailable, "no answer from " + place + ": " + said};
}

Error Transfer::failure(CURLcode code) const {
  const std::string said = one_line(error_text_[0] != '\0' ? error_text_ : curl_->easy_strerror(code), 300);
  const std::string place = url_.place();
  switch (static_cast<int>(code)) {  // libcurl adds codes: others are handled below
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return {Code::kInvalid, "'" + one_line(place, 100) + "' is not a usable address: " + said};
    case CURLE_COULDNT_RESOLVE_HOST:
      return {Code::kUnavailable, "the name " + url_.host + " cannot be resolved; check the network and the base URL"};
    case CURLE_COULDNT_RESOLVE_PROXY:
      return {Code::kUnavailable, "the proxy cannot be resolved: " + said};
    case CURLE_SSL_CACERT_BADFILE:
      return {Code::kDenied, "the CA file cannot be used: " + said + "; check network.ca_file"};
    case CURLE_SSL_CERTPROBLEM:
      return {Code::kDenied, "the client certificate or its key cannot be used: " + said +
                                 "; check network.client_cert and network.client_key"};
    case CURLE_SSL_CONNECT_ERROR:
      return tls_failure(said);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
      return {Code::kDenied, "the certificate of " + place + " is not accepted: " + said};
    case CURLE_COULDNT_CONNECT:
      if (refused_) return {Code::kDenied, place + " has an address to which this request may not connect"};
      return {Code::kUnavailable, "no connection to " + place + ": " + said +
                                      (url_.loopback() ? "; start the server there, or correct the address"
                                                       : "; check the network, the proxy and the address")};
    case CURLE_OPERATION_TIMEDOUT:
      return {Code::kUnavailable, "no connection to " + place + " within " + seconds(request_.connect_timeout) +
                                      "; check the network, the proxy and the address"};
    case CURLE_BAD_CONTENT_ENCODING:
      return {Code::kCorrupt, place + " sends a body that cannot be decompressed: " + said};
  }
  if (headers_done_) return {Code::kCorrupt, "the connection to " + place + " broke during the answer: " + said};
  return {Code::kUnavailable, "no answer from " + place + ": " + said};
}

}  // namespace agentd
