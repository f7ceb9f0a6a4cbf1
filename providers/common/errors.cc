// SPDX-License-Identifier: Apache-2.0
#include "providers/common/errors.h"

#include "core/base/bytes.h"
#include "core/codec/url.h"

namespace agentd {

ModelErrorKind kind_of_status(int status) {
  if (status == 401 || status == 403) return ModelErrorKind::kAuth;
  if (status == 402) return ModelErrorKind::kBilling;
  if (status == 429) return ModelErrorKind::kRateLimit;
  if (status == 503 || status == 529) return ModelErrorKind::kOverloaded;
  if (status == 408 || status >= 500) return ModelErrorKind::kServer;
  return ModelErrorKind::kInvalid;
}

bool may_pass(ModelErrorKind kind) {
  switch (kind) {
    case ModelErrorKind::kRateLimit:
    case ModelErrorKind::kOverloaded:
    case ModelErrorKind::kServer:
    case ModelErrorKind::kNetwork:
    case ModelErrorKind::kInterrupted:
      return true;
    case ModelErrorKind::kAuth:
    case ModelErrorKind::kBilling:
    case ModelErrorKind::kInvalid:
    case ModelErrorKind::kContextLength:
    case ModelErrorKind::kProtocol:
    case ModelErrorKind::kLedger:
    case ModelErrorKind::kLimit:
    case ModelErrorKind::kCancelled:
    case ModelErrorKind::kScript:
      return false;
  }
  return false;
}

namespace {

ModelErrorKind kind_of(Code code, bool answer_began) {
  if (code == Code::kCancelled) return ModelErrorKind::kCancelled;
  if (code == Code::kInvalid) return ModelErrorKind::kInvalid;
  // Broken or over its limits: the answer was on its way, however much of it was read.
  if (code == Code::kCorrupt) return ModelErrorKind::kInterrupted;
  return answer_began ? ModelErrorKind::kInterrupted : ModelErrorKind::kNetwork;
}

}  // namespace

std::string with_advice(std::string_view sentence, ModelErrorKind kind) {
  const std::string_view advice = advice_for(kind);
  return std::string(sentence) + (advice.empty() ? "" : "; " + std::string(advice));
}

std::string with_advice(std::string_view sentence, ModelErrorKind kind, std::string_view provider, int status) {
  if (kind == ModelErrorKind::kInvalid && (status == 404 || status == 405))
    return std::string(sentence) + "; check the model's name (--model) and the address (providers." +
           one_line(provider, 60) + ".base_url, or base_url)";
  return with_advice(sentence, kind);
}

std::string said_by(std::string_view body) {
  const std::string line = one_line(body, 120);
  return line.empty() ? "no explanation" : line;
}

std::optional<ModelError> no_event_stream(std::string_view provider, const HttpResponse& response,
                                          std::string_view body) {
  if (response.status >= 400) return std::nullopt;
  ModelError error;
  error.http_status = response.status;
  const std::string status = std::to_string(response.status);
  if (response.status < 300) {
    error.kind = ModelErrorKind::kProtocol;
    error.message = std::string(provider) + ": the server answers " + status + " with '" +
                    one_line(response.header("content-type"), 60) + "' and not an event stream (" + said_by(body) +
                    "); check the base URL";
    return error;
  }
  error.kind = ModelErrorKind::kInvalid;
  const auto target = parse_http_url(response.header("location"));
  error.message = std::string(provider) + ": the server redirects (" + status + ")" +
                  (target ? " to " + one_line(target->place(), 100) : std::string()) +
                  "; redirects are not followed, to protect the key; set the base URL to the right server";
  return error;
}

ModelError from_http_error(std::string_view provider, const Error& error, bool answer_began) {
  ModelError out;
  out.kind = kind_of(error.code, answer_began);
  out.message = std::string(provider) + ": " + error.message;
  out.retryable = may_pass(out.kind) && error.code != Code::kDenied;
  return out;
}

std::string without_secret(std::string text, std::string_view secret) {
  if (secret.empty()) return text;
  std::size_t at = 0;
  while ((at = text.find(secret, at)) != std::string::npos) {
    text.replace(at, secret.size(), "***");
    at += 3;
  }
  return text;
}

}  // namespace agentd
