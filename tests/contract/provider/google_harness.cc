// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "core/net/curl_client.h"
#include "providers/google/google.h"
#include "tests/contract/provider/harness.h"
#include "tests/support/google_wire.h"
#include "tests/support/loopback_server.h"

namespace agentd::testing {
namespace {

Reply http_error(int code, std::string_view status, std::string_view message) {
  return Reply::http(code, {{"content-type", "application/json"}}, google_error_body(code, status, message));
}

// ai.google.dev/gemini-api/docs/troubleshooting
Reply failing(const WantedAnswer& answer) {
  switch (answer.kind) {
    case ModelErrorKind::kAuth:
      return http_error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.");
    case ModelErrorKind::kBilling:
      return http_error(429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted.");
    case ModelErrorKind::kInvalid:
      return http_error(400, "INVALID_ARGUMENT", "bad field");
    case ModelErrorKind::kContextLength:
      return http_error(400, "INVALID_ARGUMENT",
                        "The input token count (1048577) exceeds the maximum number of tokens "
                        "allowed (1048576).");
    case ModelErrorKind::kRateLimit:
      return http_error(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.");
    case ModelErrorKind::kOverloaded:
      return http_error(503, "UNAVAILABLE", "The model is overloaded.");
    case ModelErrorKind::kServer:
      return http_error(500, "INTERNAL", "oops");
    case ModelErrorKind::kNetwork:
      return Reply().reset();
    case ModelErrorKind::kInterrupted:
      return Reply::stream(GoogleWire().text({answer.text}).bytes());
    case ModelErrorKind::kProtocol:
      return Reply::stream("data: {broken\n\n");
    case ModelErrorKind::kLedger:
    case ModelErrorKind::kLimit:
    case ModelErrorKind::kCancelled:
    case ModelErrorKind::kScript:
      break;
  }
  std::abort();  // not something that this provider can be brought to
}

Reply reply_of(const WantedAnswer& answer) {
  if (answer.silent) return Reply().stall();
  if (answer.fails) return failing(answer);
  GoogleWire wire;
  if (!answer.thinking.empty()) wire.thinking({answer.thinking});
  if (!answer.text.empty()) wire.text({answer.text}, answer.signature);
  int number = 0;
  for (const auto& [name, input] : answer.calls)
    wire.call("call_" + std::to_string(++number), name, input.empty() ? "{}" : input, "sig");
  return Reply::chunked({wire.finish("STOP").bytes()});
}

class GoogleHarness final : public ProviderHarness {
 public:
  std::unique_ptr<ModelProvider> provider(const std::vector<WantedAnswer>& answers) override {
    std::deque<Reply> replies;
    for (const WantedAnswer& answer : answers) replies.push_back(reply_of(answer));
    server_ = std::make_unique<LoopbackServer>(
        [replies = std::move(replies)](const RecordedRequest& got) mutable { return answer(got, replies); });
    GoogleOptions options;
    options.api_key = "sk-test";
    options.base_url = server_->url();
    options.limits.retry.retries = 0;
    return make_google_provider(options, *http_, clock_);
  }
  std::string received() override { return server_->requests().back().body; }

 private:
  // The server keeps its own rules.
  static Reply answer(const RecordedRequest& got, std::deque<Reply>& replies) {
    constexpr std::string_view kHead = "/v1beta/models/", kTail = ":streamGenerateContent?alt=sse";
    if (!got.target.starts_with(kHead) || !got.target.ends_with(kTail)) return http_error(404, "NOT_FOUND", got.target);
    if (got.header("x-goog-api-key") != "sk-test") return http_error(403, "PERMISSION_DENIED", "who?");
    const std::string model = got.target.substr(kHead.size(), got.target.size() - kHead.size() - kTail.size());
    if (const std::string why = google_refusal(model, got.body); !why.empty())
      return http_error(400, "INVALID_ARGUMENT", why);
    if (replies.empty()) return Reply::http(500, {}, "");
    Reply out = std::move(replies.front());
    replies.pop_front();
    return out;
  }

  SystemClock clock_;
  std::unique_ptr<HttpClient> http_ = make_http_client(clock_);
  std::unique_ptr<LoopbackServer> server_;
};

}  // namespace

std::unique_ptr<ProviderHarness> make_google_harness() { return std::make_unique<GoogleHarness>(); }

}  // namespace agentd::testing
