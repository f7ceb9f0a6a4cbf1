// SPDX-License-Identifier: Apache-2.0
#include "providers/google/failure.h"

#include <charconv>
#include <string>

#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "providers/common/errors.h"
#include "providers/common/retry.h"

namespace agentd {
namespace {

constexpr std::size_t kSaidMax = 400;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."
bool is_too_long(std::string_view message) {
  return has(message, "exceeds the maximum number of tokens") || has(message, "input token count") ||
         has(message, "Request payload size exceeds");
}

bool is_key(std::string_view message) {
  return has(message, "API key not valid") || has(message, "API Key not found") || has(message, "API key expired");
}

// "30s", "1.5s" of google.rpc.RetryInfo.
std::optional<Milliseconds> retry_delay(JsonView error) {
  const JsonView details = error["details"];
  for (std::size_t i = 0; i < details.size(); ++i) {
    const std::string_view text = details.at(i)["retryDelay"].string_or("");
    if (text.empty() || text.back() != 's') continue;
    double seconds = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size() - 1, seconds);
    if (failed == std::errc() && end == text.data() + text.size() - 1 && seconds >= 0 && seconds < 1e6)
      return Milliseconds(static_cast<std::int64_t>(seconds * 1000));
  }
  return std::nullopt;
}

}  // namespace

ModelErrorKind google_error_kind(int http_status, std::string_view status, std::string_view message) {
  if (http_status == 413 || is_too_long(message)) return ModelErrorKind::kContextLength;
  if (is_key(message) || status == "UNAUTHENTICATED" || status == "PERMISSION_DENIED") return ModelErrorKind::kAuth;
  if (has(message, "billing") || has(message, "prepayment credits")) return ModelErrorKind::kBilling;
  if (status == "RESOURCE_EXHAUSTED") return ModelErrorKind::kRateLimit;
  if (status == "UNAVAILABLE") return ModelErrorKind::kOverloaded;
  if (status == "INTERNAL" || status == "DEADLINE_EXCEEDED" || status == "UNKNOWN") return ModelErrorKind::kServer;
  if (status == "INVALID_ARGUMENT" || status == "FAILED_PRECONDITION" || status == "NOT_FOUND")
    return ModelErrorKind::kInvalid;
  return http_status == 0 ? ModelErrorKind::kServer : kind_of_status(http_status);
}

bool is_about_signatures(const ModelError& error) {
  return error.kind == ModelErrorKind::kInvalid && error.http_status == 400 &&
         (has(error.message, "thought_signature") || has(error.message, "thoughtSignature") ||
          has(error.message, "thought signature"));
}

ModelError google_http_failure(std::string_view provider, const HttpResponse& response, std::string_view body,
                               std::int64_t wall_ms) {
  if (auto other = no_event_stream(provider, response, body)) return std::move(*other);
  ModelError error;
  error.http_status = response.status;
  const auto document = JsonDocument::parse(body);
  // An error before the stream may be the only element of a list.
  const JsonView root = !document                     ? JsonView()
                        : document->root().is_array() ? document->root().at(0)
                                                      : document->root();
  const JsonView said = root["error"];
  const std::string_view message = said["message"].string_or("");
  error.kind = google_error_kind(response.status, said["status"].string_or(""), message);
  error.retry_after = retry_after_of(response, wall_ms);
  if (!error.retry_after) error.retry_after = retry_delay(said);
  error.retryable = may_pass(error.kind);
  const std::string text = message.empty() ? said_by(body) : one_line(message, kSaidMax);
  error.message = with_advice(std::string(provider) + " answers " + std::to_string(response.status) + ": " + text,
                              error.kind, provider, response.status);
  return error;
}

ModelError google_stream_failure(std::string_view provider, std::string_view status, std::string_view message) {
  ModelError error;
  error.kind = google_error_kind(0, status, message);
  error.retryable = may_pass(error.kind);
  error.message = with_advice(std::string(provider) + " ended the answer with " +
                                  (status.empty() ? std::string("an error") : one_line(status, 60)) + ": " +
                                  one_line(message, kSaidMax),
                              error.kind);
  return error;
}

}  // namespace agentd
