// SPDX-License-Identifier: Apache-2.0
#include "providers/openai/failure.h"

#include <array>
#include <string>

#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "providers/common/errors.h"
#include "providers/common/retry.h"

namespace agentd {
namespace {

constexpr std::size_t kSaidMax = 400;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// OpenAI, vLLM, llama.cpp, LM Studio, Mistral, Groq, OpenRouter.
bool is_too_long(std::string_view code, std::string_view message) {
  constexpr std::array<std::string_view, 9> kSaid{
      "maximum context length", "context window",         "context length",
      "context_length",         "available context size", "exceeds the context",
      "prompt is too long",     "too large for model",    "reduce the length of the messages"};
  if (code == "context_length_exceeded" || code == "exceed_context_size_error") return true;
  for (const std::string_view each : kSaid)
    if (has(message, each)) return true;
  return false;
}

bool is_spending(std::string_view code, std::string_view message) {
  return code == "insufficient_quota" || has(code, "billing") || code == "insufficient_balance" ||
         has(message, "exceeded your current quota") || has(message, "Insufficient Balance") ||
         has(message, "Insufficient credits");
}

struct Said {
  std::string_view code, message;
};

// {"error": {"message", "type", "code"}}, {"error": "..."}, {"message": "..."}, {"detail": "..."}. A code may be a
// number, or null; the type is more specific then.
Said said_in(JsonView root) {
  const JsonView error = root["error"];
  if (error.is_string()) return {{}, error.string_or("")};
  const JsonView object = error.is_object() ? error : root;
  std::string_view code = object["code"].string_or("");
  if (code.empty()) code = object["type"].string_or("");
  const std::string_view message = object["message"].string_or("");
  return {code, message.empty() ? object["detail"].string_or("") : message};
}

}  // namespace

ModelErrorKind openai_error_kind(int status, std::string_view code, std::string_view message) {
  if (status == 413 || is_too_long(code, message)) return ModelErrorKind::kContextLength;
  if (is_spending(code, message)) return ModelErrorKind::kBilling;
  if (code == "invalid_api_key" || code == "authentication_error") return ModelErrorKind::kAuth;
  if (code == "rate_limit_exceeded" || code == "rate_limit_error") return ModelErrorKind::kRateLimit;
  if (code == "server_overloaded" || code == "overloaded_error") return ModelErrorKind::kOverloaded;
  if (status != 0) return kind_of_status(status);
  if (code == "invalid_request_error" || code == "model_not_found") return ModelErrorKind::kInvalid;
  return ModelErrorKind::kServer;
}

bool is_about_reasoning(const ModelError& error) {
  return error.kind == ModelErrorKind::kInvalid && error.http_status == 400 &&
         (has(error.message, "encrypted content") || has(error.message, "encrypted_content") ||
          has(error.message, "'reasoning'"));
}

ModelError openai_http_failure(std::string_view provider, const HttpResponse& response, std::string_view body,
                               std::int64_t wall_ms) {
  if (auto other = no_event_stream(provider, response, body)) return std::move(*other);
  ModelError error;
  error.http_status = response.status;
  const auto document = JsonDocument::parse(body);
  const Said said = document && document->root().is_object() ? said_in(document->root()) : Said{};
  error.kind = openai_error_kind(response.status, said.code, said.message);
  error.retry_after = retry_after_of(response, wall_ms);
  error.retryable = may_pass(error.kind);
  const std::string text = said.message.empty() ? said_by(body) : one_line(said.message, kSaidMax);
  error.message = with_advice(std::string(provider) + " answers " + std::to_string(response.status) + ": " + text,
                              error.kind, provider, response.status);
  return error;
}

ModelError openai_stream_failure(std::string_view provider, std::string_view code, std::string_view message) {
  ModelError error;
  error.kind = openai_error_kind(0, code, message);
  error.retryable = may_pass(error.kind);
  error.message = with_advice(std::string(provider) + " ended the answer with " +
                                  (code.empty() ? std::string("an error") : one_line(code, 60)) + ": " +
                                  one_line(message, kSaidMax),
                              error.kind);
  return error;
}

}  // namespace agentd
