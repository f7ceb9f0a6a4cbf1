// SPDX-License-Identifier: Apache-2.0
#include "core/net/curl_client.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/net/io_loop.h"

namespace agentd {
namespace {

bool is_token(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < '\x7f' && c != ':'; });
}

Result<void> check_headers(const HttpRequest& request) {
  for (const auto& [name, value] : request.headers)
    if (!is_token(name) || value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
      return Error{Code::kInvalid, "the value of header '" + one_line(name, 60) +
                                       "' contains a character that is not allowed in a header"};
  return {};
}

class CurlClient final : public HttpClient {
 public:
  CurlClient(const Clock& clock, HttpSettings settings) : clock_(clock), settings_(std::move(settings)) {}
  ~CurlClient() override { loop_->stop(); }

  void warm_up() override {
    // A failure is reported by the first request.
    [[maybe_unused]] const Result<void> started = loop_->start();
  }

  void end_soon() override { loop_->end_soon(); }

  Result<HttpResponse> send(const HttpRequest& request, const OnBody& on_body, const CancelToken& cancel,
                            Deadline deadline) override {
    AGENTD_TRY(HttpUrl url, parse_http_url(request.url));
    AGENTD_TRY_VOID(check_headers(request));
    if (request.only_by_proxy && (settings_.proxy.empty() || request.may_connect))
      return Error{Code::kInvalid, "a request that goes only through a proxy needs one in network.proxy"};
    if (cancel.cancelled()) return Error{Code::kCancelled, "the request was cancelled"};
    AGENTD_TRY_VOID(loop_->start());
    const auto transfer = std::make_shared<Transfer>(clock_, settings_, request, std::move(url), cancel, deadline);
    const std::shared_ptr<IoLoop> loop = loop_;  // the client may be destroyed before the call returns
    loop->attend(transfer);
    return transfer->deliver(on_body, [&] { loop->attend(transfer); });
  }

 private:
  const Clock& clock_;
  const HttpSettings settings_;
  const std::shared_ptr<IoLoop> loop_ = std::make_shared<IoLoop>();
};

}  // namespace

std::unique_ptr<HttpClient> make_http_client(const Clock& clock, HttpSettings settings) {
  return std::make_unique<CurlClient>(clock, std::move(settings));
}

Result<std::string> http_library_version() {
  AGENTD_TRY(const auto curl, CurlLibrary::load());
  return std::string(curl->version());
}

}  // namespace agentd
