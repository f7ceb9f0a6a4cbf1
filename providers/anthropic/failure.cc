// SPDX-License-Identifier: Apache-2.0
#include "providers/anthropic/failure.h"

#include <string>

#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "providers/common/errors.h"
#include "providers/common/retry.h"

namespace agentd {
namespace {

constexpr std::size_t kSaidMax = 400;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// "prompt is too long: 210000 tokens > 200000 maximum", and the sum of prompt and max_tokens.
bool is_too_long(std::string_view message) {
  return has(message, "prompt is too long") || has(message, "exceed context limit") ||
         has(message, "exceeds the context window") || has(message, "exceed the context window") ||
         has(message, "Input is too long for requested model") || has(message, "maximum context length is");
}

bool is_spending(std::string_view message, std::string_view error_code) {
  return has(error_code, "spend_limit") || has(error_code, "billing") || has(message, "credit balance is too low") ||
         has(message, "spend limit") || has(message, "specified API usage limits");
}

ModelErrorKind kind_of_type(int status, std::string_view type) {
  if (type == "authentication_error" || type == "permission_error") return ModelErrorKind::kAuth;
  if (type == "billing_error") return ModelErrorKind::kBilling;
  if (type == "invalid_request_error" || type == "not_found_error" || type == "request_too_large")
    return ModelErrorKind::kInvalid;
  if (type == "rate_limit_error") return ModelErrorKind::kRateLimit;
  if (type == "overloaded_error") return ModelErrorKind::kOverloaded;
  if (type == "api_error" || type == "timeout_error") return ModelErrorKind::kServer;
  return status == 0 ? ModelErrorKind::kServer : kind_of_status(status);
}

}  // namespace

ModelErrorKind anthropic_error_kind(int status, std::string_view type, std::string_view message,
                                    std::string_view error_code) {
  // A request of too many bytes is also too long, and a shorter history helps.
  if (status == 413 || is_too_long(message)) return ModelErrorKind::kContextLength;
  if (is_spending(message, error_code)) return ModelErrorKind::kBilling;
  return kind_of_type(status, type);
}

bool is_about_thinking(const ModelError& error) {
  return error.kind == ModelErrorKind::kInvalid && error.http_status == 400 && has(error.message, "thinking") &&
         (has(error.message, "signature") || has(error.message, "block"));
}

ModelError anthropic_http_failure(std::string_view provider, const HttpResponse& response, std::string_view body,
                                  std::int64_t wall_ms) {
  if (auto other = no_event_stream(provider, response, body)) return std::move(*other);
  ModelError error;
  error.http_status = response.status;
  const auto document = JsonDocument::parse(body);
  const JsonView said = document ? document->root()["error"] : JsonView();
  const std::string_view message = said["message"].string_or("");
  error.kind = anthropic_error_kind(response.status, said["type"].string_or(""), message,
                                    said["details"]["error_code"].string_or(""));
  error.retry_after = retry_after_of(response, wall_ms);
  error.retryable = may_pass(error.kind);
  const std::string text = message.empty() ? said_by(body) : one_line(message, kSaidMax);
  error.message = with_advice(std::string(provider) + " answers " + std::to_string(response.status) + ": " + text,
                              error.kind, provider, response.status);
  return error;
}

ModelError anthropic_stream_failure(std::string_view provider, std::string_view type, std::string_view message) {
  ModelError error;
  error.kind = anthropic_error_kind(0, type, message, {});
  error.retryable = may_pass(error.kind);
  error.message = with_advice(
      std::string(provider) + " ended the answer with " + one_line(type, 60) + ": " + one_line(message, kSaidMax),
      error.kind);
  return error;
}

}  // namespace agentd
