// SPDX-License-Identifier: Apache-2.0
#include "core/net/http.h"

#include <mutex>
#include <thread>

#include "core/net/transfer.h"

namespace agentd {
namespace {

// Sessions that wait for the next request; each may hold open connections.
constexpr std::size_t kIdleSessionsMax = 8;

class CurlClient final : public HttpClient {
 public:
  explicit CurlClient(const Clock& clock) : clock_(clock) {}

  ~CurlClient() override {
    if (warming_.joinable()) warming_.join();
  }

  void warm_up() override {
    const std::lock_guard lock(warming_mutex_);
    if (warming_.joinable()) return;
    // The first request waits for load_mutex_ when it comes before the library is there.
    warming_ = std::thread([this] {
      if (auto session = take_session()) give_back(std::move(*session));
    });
  }

  Result<HttpResponse> send(const HttpRequest& request, const OnBody& on_body, const CancelToken& cancel,
                            Deadline deadline) override {
    AGENTD_TRY(const HttpUrl url, parse_http_url(request.url));
    if (cancel.cancelled()) return Error{Code::kCancelled, "the request was cancelled"};
    AGENTD_TRY(std::unique_ptr<CurlSession> session, take_session());
    auto answer = Transfer(*curl_, *session, clock_, request, url, on_body).run(cancel, deadline);
    give_back(std::move(session));
    return answer;
  }

 private:
  Result<std::unique_ptr<CurlSession>> take_session() {
    {
      const std::lock_guard lock(load_mutex_);
      if (curl_ == nullptr) {
        AGENTD_TRY(curl_, CurlLibrary::load());
      }
    }
    const std::lock_guard lock(idle_mutex_);
    if (idle_.empty()) return CurlSession::open(*curl_);
    std::unique_ptr<CurlSession> session = std::move(idle_.back());  // the one used last is warmest
    idle_.pop_back();
    return session;
  }

  void give_back(std::unique_ptr<CurlSession> session) {
    const std::lock_guard lock(idle_mutex_);
    if (idle_.size() < kIdleSessionsMax) idle_.push_back(std::move(session));
  }

  const Clock& clock_;
  std::mutex load_mutex_;
  std::unique_ptr<const CurlLibrary> curl_;  // set once under load_mutex_, before any session exists
  std::mutex idle_mutex_;
  std::vector<std::unique_ptr<CurlSession>> idle_;  // guarded by idle_mutex_
  std::mutex warming_mutex_;
  std::thread warming_;  // guarded by warming_mutex_
};

}  // namespace

std::string_view HttpResponse::header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers)
    if (name == lower_case_name) return value;
  return {};
}

std::unique_ptr<HttpClient> make_http_client(const Clock& clock) {
  return std::make_unique<CurlClient>(clock);
}

Result<std::string> http_library_version() {
  AGENTD_TRY(const auto curl, CurlLibrary::load());
  return std::string(curl->version());
}

}  // namespace agentd
