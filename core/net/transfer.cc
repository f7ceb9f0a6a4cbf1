// SPDX-License-Identifier: Apache-2.0
#include "core/net/transfer.h"

#include <algorithm>
#include <charconv>

#include "core/base/bytes.h"

namespace agentd {
namespace {

// How late a cancellation may be seen; the token has no bell to ring.
constexpr int kPollMs = 50;

bool is_token(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return c > ' ' && c < '\x7f' && c != ':';
  });
}

bool is_field_value(std::string_view value) {
  return value.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string seconds(Milliseconds time) {
  const auto ms = time.count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

// An event stream is read as it comes: compression would hold events back.
bool wants_stream(const HttpRequest& request) {
  return std::any_of(request.headers.begin(), request.headers.end(), [](const auto& header) {
    return lower(header.first) == "accept" && header.second.find("event-stream") != std::string::npos;
  });
}

}  // namespace

Result<std::unique_ptr<CurlSession>> CurlSession::open(const CurlLibrary& curl) {
  CURL* const easy = curl.easy_init();
  CURLM* const multi = easy == nullptr ? nullptr : curl.multi_init();
  if (multi == nullptr) {
    if (easy != nullptr) curl.easy_cleanup(easy);
    return Error{Code::kUnavailable, "libcurl cannot start a transfer: out of memory or descriptors"};
  }
  return std::unique_ptr<CurlSession>(new CurlSession(curl, easy, multi));
}

CurlSession::~CurlSession() {
  curl_.easy_cleanup(easy_);
  curl_.multi_cleanup(multi_);
}

Transfer::Transfer(const CurlLibrary& curl, CurlSession& session, const Clock& clock,
                   const HttpRequest& request, const HttpUrl& url, const HttpClient::OnBody& on_body)
    : curl_(curl), session_(session), clock_(clock), request_(request), url_(url), on_body_(on_body) {}

Transfer::~Transfer() {
  if (added_) curl_.multi_remove_handle(session_.multi(), session_.easy());
  // Forgets the pointers into this object; connections stay with the multi handle.
  curl_.easy_reset(session_.easy());
  if (headers_ != nullptr) curl_.slist_free_all(headers_);
}

bool Transfer::fail(Code code, std::string message) {
  failed_ = true;
  failure_ = {code, std::move(message)};
  return false;
}

std::size_t Transfer::header_callback(char* bytes, std::size_t one, std::size_t count, void* self) {
  const bool ok = static_cast<Transfer*>(self)->take_header({bytes, one * count});
  return ok ? one * count : 0;
}

std::size_t Transfer::body_callback(char* bytes, std::size_t one, std::size_t count, void* self) {
  const bool ok = static_cast<Transfer*>(self)->take_body({bytes, one * count});
  // Any other number than the one offered ends the transfer, also when nothing was offered.
  return ok ? one * count : one * count + 1;
}

bool Transfer::take_header(std::string_view line) {
  last_byte_ns_ = clock_.monotonic_ns();
  header_bytes_ += line.size();
  if (header_bytes_ > kHeaderBytesMax || response_.headers.size() >= kHeaderLinesMax)
    return fail(Code::kCorrupt, url_.place() + " sends more than " + std::to_string(kHeaderLinesMax) +
                                    " headers or " + std::to_string(kHeaderBytesMax) +
                                    " bytes of them");
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  if (line.substr(0, 5) == "HTTP/") {
    // An answer may follow an interim one (1xx): only the last counts.
    const std::size_t space = std::min(line.find(' '), line.size());
    response_ = {};
    std::from_chars(line.data() + std::min(space + 1, line.size()), line.data() + line.size(),
                    response_.status);
    return true;
  }
  if (line.empty()) {
    headers_done_ = response_.status >= 200;
    return true;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || body_bytes_ != 0) return true;
  response_.headers.emplace_back(lower(trimmed(line.substr(0, colon))),
                                 std::string(trimmed(line.substr(colon + 1))));
  return true;
}

bool Transfer::take_body(std::string_view bytes) {
  last_byte_ns_ = clock_.monotonic_ns();
  body_bytes_ += bytes.size();
  if (body_bytes_ > request_.body_bytes_max)
    return fail(Code::kCorrupt, url_.place() + " sends more than " +
                                    std::to_string(request_.body_bytes_max) + " bytes");
  if (bytes.empty() || !on_body_ || on_body_(response_, bytes)) return true;
  return fail(Code::kCancelled, "the reader of " + url_.place() + " ended the transfer");
}

Result<void> Transfer::set_headers() {
  for (const auto& [name, value] : request_.headers) {
    if (!is_token(name) || !is_field_value(value))
      return Error{Code::kInvalid, "the value of header '" + one_line(name, 60) +
                                       "' holds a character that no header may carry"};
    // libcurl drops "Name:" and sends "Name;" as an empty value.
    const std::string line = value.empty() ? name + ";" : name + ": " + value;
    headers_ = curl_.slist_append(headers_, line.c_str());
  }
  // Without this libcurl waits up to a second for "100 Continue" before it sends a large body.
  headers_ = curl_.slist_append(headers_, "Expect:");
  return {};
}

void Transfer::set_options() {
  CURL* const easy = session_.easy();
  curl_.easy_setopt(easy, CURLOPT_URL, request_.url.c_str());
  curl_.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_.easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
  curl_.easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_.easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_.easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_.easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  curl_.easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request_.connect_timeout.count()));
  if (!url_.secure) curl_.easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  // An empty proxy beats the environment's: what runs on this machine is nobody else's business.
  if (url_.loopback()) curl_.easy_setopt(easy, CURLOPT_PROXY, "");
  if (!wants_stream(request_)) curl_.easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip, deflate");
  if (request_.method == "GET" && request_.body.empty()) {
    curl_.easy_setopt(easy, CURLOPT_HTTPGET, 1L);
  } else {
    curl_.easy_setopt(easy, CURLOPT_POST, 1L);
    curl_.easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    curl_.easy_setopt(easy, CURLOPT_POSTFIELDS, request_.body.empty() ? "" : request_.body.data());
    if (request_.method != "POST")
      curl_.easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  }
  curl_.easy_setopt(easy, CURLOPT_HTTPHEADER, headers_);
  curl_.easy_setopt(easy, CURLOPT_HEADERFUNCTION, &Transfer::header_callback);
  curl_.easy_setopt(easy, CURLOPT_HEADERDATA, static_cast<void*>(this));
  curl_.easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Transfer::body_callback);
  curl_.easy_setopt(easy, CURLOPT_WRITEDATA, static_cast<void*>(this));
  curl_.easy_setopt(easy, CURLOPT_ERRORBUFFER, &error_text_[0]);
}

Result<HttpResponse> Transfer::run(const CancelToken& cancel, Deadline deadline) {
  AGENTD_TRY_VOID(set_headers());
  set_options();
  AGENTD_TRY_VOID(drive(cancel, deadline));
  return std::move(response_);
}

Result<void> Transfer::check_time(const CancelToken& cancel, Deadline deadline) const {
  if (cancel.cancelled()) return Error{Code::kCancelled, "the request was cancelled"};
  if (deadline.passed(clock_))
    return Error{Code::kUnavailable, "no whole answer from " + url_.place() + " within the time allowed"};
  const auto idle_ns = static_cast<std::uint64_t>(request_.idle_timeout.count()) * 1'000'000u;
  if (clock_.monotonic_ns() - last_byte_ns_ > idle_ns)
    return Error{headers_done_ ? Code::kCorrupt : Code::kUnavailable,
                 url_.place() + " has sent nothing for " + seconds(request_.idle_timeout)};
  return {};
}

Result<void> Transfer::drive(const CancelToken& cancel, Deadline deadline) {
  last_byte_ns_ = clock_.monotonic_ns();
  CURLMcode code = curl_.multi_add_handle(session_.multi(), session_.easy());
  added_ = code == CURLM_OK;
  int running = 1;
  while (code == CURLM_OK) {
    AGENTD_TRY_VOID(check_time(cancel, deadline));
    code = curl_.multi_perform(session_.multi(), &running);
    if (running == 0 || code != CURLM_OK) break;
    const auto wait = std::min<std::int64_t>(kPollMs, deadline.left(clock_).count());
    code = curl_.multi_poll(session_.multi(), nullptr, 0, static_cast<int>(wait), nullptr);
  }
  if (code != CURLM_OK)
    return Error{Code::kUnavailable,
                 "the request to " + url_.place() + " failed: " + curl_.multi_strerror(code)};
  int left = 0;
  while (const CURLMsg* const message = curl_.multi_info_read(session_.multi(), &left))
    if (message->msg == CURLMSG_DONE && message->data.result != CURLE_OK)
      return failure(message->data.result);
  if (failed_) return failure_;
  return {};
}

Error Transfer::failure(CURLcode code) const {
  if (failed_) return failure_;
  const std::string said = one_line(error_text_[0] != '\0' ? error_text_ : curl_.easy_strerror(code), 300);
  const std::string place = url_.place();
  switch (static_cast<int>(code)) {  // libcurl adds codes: the rest is below
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return {Code::kInvalid, "'" + one_line(place, 100) + "' is no usable address: " + said};
    case CURLE_COULDNT_RESOLVE_HOST:
      return {Code::kUnavailable,
              "the name " + url_.host + " cannot be resolved; check the network and the base URL"};
    case CURLE_COULDNT_RESOLVE_PROXY:
      return {Code::kUnavailable, "the proxy of the environment cannot be resolved: " + said};
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return {Code::kDenied, "the certificate of " + place + " is not accepted: " + said};
    case CURLE_COULDNT_CONNECT:
      return {Code::kUnavailable, "no connection to " + place + ": " + said};
    case CURLE_OPERATION_TIMEDOUT:
      return {Code::kUnavailable, "no connection to " + place + " within " +
                                      seconds(request_.connect_timeout)};
    case CURLE_BAD_CONTENT_ENCODING:
      return {Code::kCorrupt, place + " sends a body that cannot be decompressed: " + said};
  }
  if (headers_done_)
    return {Code::kCorrupt, "the connection to " + place + " broke during the answer: " + said};
  return {Code::kUnavailable, "no answer from " + place + ": " + said};
}

}  // namespace agentd
