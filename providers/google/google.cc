// SPDX-License-Identifier: Apache-2.0
#include "providers/google/google.h"

#include <cctype>

#include "core/codec/json.h"
#include "providers/common/refused.h"
#include "providers/google/answer.h"
#include "providers/google/failure.h"
#include "providers/google/request.h"
#include "providers/google/rules.h"

namespace agentd {
namespace {

// A model's name is part of the address: special characters are escaped.
std::string path_of(std::string_view model) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  constexpr std::string_view kModels = "models/";
  if (model.starts_with(kModels)) model.remove_prefix(kModels.size());
  std::string out = "/models/";
  for (const char c : model) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_' || c == '~') {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out + ":streamGenerateContent?alt=sse";
}

class Google final : public ModelProvider {
 public:
  Google(GoogleOptions options, HttpClient& http, const Clock& clock)
      : options_(std::move(options)),
        http_(http),
        clock_(clock),
        base_(address_with_path(options_.base_url, "/v1beta")),
        words_{options_.name, google_http_failure, google_stream_failure, "x-request-id"} {
    options_.api_key = trimmed_key(std::move(options_.api_key));
  }

  std::string_view name() const override { return options_.name; }
  std::string_view api() const override { return kGenerateContentApi; }

  ModelResult complete(const ModelRequest& request, ModelSink& sink, const CancelToken& cancel,
                       Deadline deadline) override {
    if (options_.api_key.empty() && !options_.key_source.empty())
      return failed(ModelErrorKind::kAuth, "no API key; set " + options_.key_source);
    const auto known = [this](std::string_view signature) { return !refused_.holds(signature); };
    ModelResult answer = ask(request, known, sink, cancel, deadline);
    if (!answer && is_about_signatures(answer.error())) {
      // Thinking may be bound to an account: the answer works without it.
      answer = ask(
          request, [](std::string_view) { return false; }, sink, cancel, deadline);
      if (answer) refused_.add_all(request.messages);
    }
    return answer;
  }

 private:
  ModelError failed(ModelErrorKind kind, const std::string& message) const {
    ModelError error;
    error.kind = kind;
    error.message = options_.name + ": " + message;
    return error;
  }

  ModelResult ask(const ModelRequest& request, const SignatureFilter& keeps, ModelSink& sink, const CancelToken& cancel,
                  Deadline deadline) const {
    JsonWriter body;
    if (auto written = write_google_request(body, request, options_.name, keeps); !written)
      return failed(ModelErrorKind::kInvalid, written.error().message);
    if constexpr (kRequestsAreChecked)
      require_rules(options_.name,
                    kGoogleWire.breaches(body.text(), {.foreign = foreign_seals(request, options_.name)}));
    StreamedRequest http{base_ + path_of(request.model), {}, body.text(), request.retries};
    if (!options_.api_key.empty()) http.headers.emplace_back("x-goog-api-key", options_.api_key);
    return stream_request(
        {http_, clock_, options_.limits, words_, options_.api_key}, http,
        [&] { return std::make_unique<GoogleAnswer>(sink); }, sink, cancel, deadline);
  }

  GoogleOptions options_;
  HttpClient& http_;
  const Clock& clock_;
  const std::string base_;
  const FailureWords words_;
  RefusedSeals refused_;
};

}  // namespace

std::unique_ptr<ModelProvider> make_google_provider(GoogleOptions options, HttpClient& http, const Clock& clock) {
  return std::make_unique<Google>(std::move(options), http, clock);
}

}  // namespace agentd
