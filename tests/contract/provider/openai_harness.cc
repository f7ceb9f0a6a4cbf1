// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "core/net/curl_client.h"
#include "providers/openai/openai.h"
#include "tests/contract/provider/harness.h"
#include "tests/support/loopback_server.h"
#include "tests/support/openai_rules.h"
#include "tests/support/openai_wire.h"

namespace agentd::testing {
namespace {

Reply http_error(int status, std::string_view type, std::string_view code, std::string_view message) {
  return Reply::http(status, {{"content-type", "application/json"}}, openai_error_body(type, code, message));
}

// platform.openai.com/docs/guides/error-codes
Reply failing(const WantedAnswer& answer, bool responses) {
  switch (answer.kind) {
    case ModelErrorKind::kAuth:
      return http_error(401, "invalid_request_error", "invalid_api_key", "Incorrect API key");
    case ModelErrorKind::kBilling:
      return http_error(429, "insufficient_quota", "insufficient_quota", "no credit");
    case ModelErrorKind::kInvalid:
      return http_error(400, "invalid_request_error", "", "bad field");
    case ModelErrorKind::kContextLength:
      return http_error(400, "invalid_request_error", "context_length_exceeded",
                        "Your input exceeds the context window of this model.");
    case ModelErrorKind::kRateLimit:
      return http_error(429, "requests", "rate_limit_exceeded", "slow down");
    case ModelErrorKind::kOverloaded:
      return http_error(503, "server_error", "", "The engine is overloaded");
    case ModelErrorKind::kServer:
      return http_error(500, "server_error", "", "oops");
    case ModelErrorKind::kNetwork:
      return Reply().reset();
    case ModelErrorKind::kInterrupted:
      return responses ? Reply::stream(ResponsesWire()
                                           .start()
                                           .event("response.output_text.delta",
                                                  R"("output_index":0,"delta":")" + answer.text + "\"")
                                           .bytes())
                       : Reply::stream(ChatWire().text({answer.text}).bytes());
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

std::vector<std::string> halves(const std::string& text) {
  return {text.substr(0, text.size() / 2), text.substr(text.size() / 2)};
}

std::string responses_stream(const WantedAnswer& answer) {
  ResponsesWire wire;
  wire.start();
  if (!answer.thinking.empty()) wire.reasoning({answer.thinking}, answer.signature);
  if (!answer.text.empty()) wire.text({answer.text});
  int number = 0;
  for (const auto& [name, input] : answer.calls)
    wire.function_call("call_" + std::to_string(++number), name, halves(input));
  return wire.finish().bytes();
}

std::string chat_stream(const WantedAnswer& answer) {
  ChatWire wire;
  if (!answer.thinking.empty()) wire.thinking({answer.thinking});
  if (!answer.text.empty()) wire.text({answer.text});
  int number = 0;
  for (const auto& [name, input] : answer.calls) {
    wire.tool_call(number, "call_" + std::to_string(number), name, halves(input));
    ++number;
  }
  return wire.finish(answer.calls.empty() ? "stop" : "tool_calls").bytes();
}

class OpenAiHarness final : public ProviderHarness {
 public:
  explicit OpenAiHarness(OpenAiApi api) : api_(api) {}

  std::unique_ptr<ModelProvider> provider(const std::vector<WantedAnswer>& answers) override {
    std::deque<Reply> replies;
    for (const WantedAnswer& answer : answers) replies.push_back(reply_of(answer));
    server_ = std::make_unique<LoopbackServer>(
        [this, replies = std::move(replies)](const RecordedRequest& got) mutable { return answer(got, replies); });
    OpenAiOptions options;
    options.api_key = "sk-test";
    options.base_url = server_->url();
    options.api = api_;
    options.limits.retry.retries = 0;
    return make_openai_provider(options, *http_, clock_);
  }
  std::string received() override { return server_->requests().back().body; }

 private:
  bool responses() const { return api_ == OpenAiApi::kResponses; }

  Reply reply_of(const WantedAnswer& answer) const {
    if (answer.silent) return Reply().stall();
    if (answer.fails) return failing(answer, responses());
    return Reply::chunked({responses() ? responses_stream(answer) : chat_stream(answer)});
  }

  // The server keeps its own rules.
  Reply answer(const RecordedRequest& got, std::deque<Reply>& replies) const {
    const bool right_place = got.target == (responses() ? "/v1/responses" : "/v1/chat/completions");
    if (!right_place) return http_error(404, "invalid_request_error", "", "Invalid URL " + got.target);
    if (got.header("authorization") != "Bearer sk-test") return http_error(401, "", "invalid_api_key", "who?");
    const std::string why = responses() ? responses_refusal(got.body) : chat_refusal(got.body);
    if (!why.empty()) return http_error(400, "invalid_request_error", "", why);
    if (replies.empty()) return Reply::http(500, {}, "");
    Reply out = std::move(replies.front());
    replies.pop_front();
    return out;
  }

  const OpenAiApi api_;
  SystemClock clock_;
  std::unique_ptr<HttpClient> http_ = make_http_client(clock_);
  std::unique_ptr<LoopbackServer> server_;
};

}  // namespace

std::unique_ptr<ProviderHarness> make_responses_harness() {
  return std::make_unique<OpenAiHarness>(OpenAiApi::kResponses);
}
std::unique_ptr<ProviderHarness> make_chat_harness() { return std::make_unique<OpenAiHarness>(OpenAiApi::kChat); }

}  // namespace agentd::testing
