// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "core/net/curl_client.h"
#include "providers/anthropic/anthropic.h"
#include "tests/contract/provider/harness.h"
#include "tests/support/anthropic_wire.h"
#include "tests/support/loopback_server.h"

namespace agentd::testing {
namespace {

Reply http_error(int status, std::string_view type, std::string_view message) {
  return Reply::http(status, {{"content-type", "application/json"}}, anthropic_error_body(type, message));
}

// docs.anthropic.com/en/api/errors
Reply failing(const WantedAnswer& answer) {
  switch (answer.kind) {
    case ModelErrorKind::kAuth:
      return http_error(401, "authentication_error", "invalid x-api-key");
    case ModelErrorKind::kBilling:
      return http_error(402, "billing_error", "no credit");
    case ModelErrorKind::kInvalid:
      return http_error(400, "invalid_request_error", "bad field");
    case ModelErrorKind::kContextLength:
      return http_error(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum");
    case ModelErrorKind::kRateLimit:
      return http_error(429, "rate_limit_error", "slow down");
    case ModelErrorKind::kOverloaded:
      return http_error(529, "overloaded_error", "Overloaded");
    case ModelErrorKind::kServer:
      return http_error(500, "api_error", "oops");
    case ModelErrorKind::kNetwork:
      return Reply().reset();
    case ModelErrorKind::kInterrupted:
      return Reply::stream(AnthropicWire().start().text({answer.text}).bytes());
    case ModelErrorKind::kProtocol:
      return Reply::stream(AnthropicWire().start().event("message_delta", "{broken").bytes());
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
  AnthropicWire wire;
  wire.start();
  if (!answer.thinking.empty()) wire.thinking({answer.thinking}, answer.signature);
  if (!answer.text.empty()) wire.text({answer.text});
  int number = 0;
  for (const auto& [name, input] : answer.calls) {
    const std::size_t half = input.size() / 2;
    wire.tool_use("toolu_" + std::to_string(++number), name, {input.substr(0, half), input.substr(half)});
  }
  wire.finish(answer.calls.empty() ? "end_turn" : "tool_use");
  return Reply::chunked({wire.bytes()});
}

class AnthropicHarness final : public ProviderHarness {
 public:
  std::unique_ptr<ModelProvider> provider(const std::vector<WantedAnswer>& answers) override {
    std::deque<Reply> replies;
    for (const WantedAnswer& answer : answers) replies.push_back(reply_of(answer));
    server_ = std::make_unique<LoopbackServer>(std::move(replies));
    AnthropicOptions options;
    options.api_key = "sk-test";
    options.base_url = server_->url();
    options.limits.retry.retries = 0;
    return make_anthropic_provider(options, *http_, clock_);
  }
  std::string received() override { return server_->requests().back().body; }

 private:
  SystemClock clock_;
  std::unique_ptr<HttpClient> http_ = make_http_client(clock_);
  std::unique_ptr<LoopbackServer> server_;
};

}  // namespace

std::unique_ptr<ProviderHarness> make_anthropic_harness() { return std::make_unique<AnthropicHarness>(); }

}  // namespace agentd::testing
