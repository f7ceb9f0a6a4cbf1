// SPDX-License-Identifier: Apache-2.0
#include "providers/anthropic/anthropic.h"

#include "core/codec/json.h"
#include "providers/anthropic/answer.h"
#include "providers/anthropic/failure.h"
#include "providers/anthropic/redacted.h"
#include "providers/anthropic/request.h"
#include "providers/anthropic/rules.h"
#include "providers/common/refused.h"

namespace agentd {
namespace {

std::string endpoint(std::string_view base) {
  while (!base.empty() && base.back() == '/') base.remove_suffix(1);
  const bool versioned = base.size() >= 3 && base.substr(base.size() - 3) == "/v1";
  return std::string(base) + (versioned ? "/messages" : "/v1/messages");
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ",") + part;
  return out;
}

class Anthropic final : public ModelProvider {
 public:
  Anthropic(AnthropicOptions options, HttpClient& http, const Clock& clock)
      : options_(std::move(options)),
        http_(http),
        clock_(clock),
        url_(endpoint(options_.base_url)),
        words_{options_.name, anthropic_http_failure, anthropic_stream_failure, "request-id"} {
    options_.api_key = trimmed_key(std::move(options_.api_key));
    options_.auth_token = trimmed_key(std::move(options_.auth_token));
  }

  std::string_view name() const override { return options_.name; }
  std::string_view api() const override { return "messages"; }

  ModelResult complete(const ModelRequest& request, ModelSink& sink, const CancelToken& cancel,
                       Deadline deadline) override {
    if (options_.api_key.empty() && options_.auth_token.empty() && !options_.key_source.empty())
      return failed(ModelErrorKind::kAuth, options_.name + ": no API key; set " + options_.key_source);
    const auto known = [this](std::string_view signature) { return !refused_.holds(signature); };
    ModelResult answer = ask(request, known, sink, cancel, deadline);
    if (answer || !is_about_thinking(answer.error())) return answer;
    // Thinking may be bound to a conversation that a compaction or a hook has changed since, or to another account: the
    // answer works without it.
    ModelRequest bare = request;
    if (bare.thinking.mode == Thinking::Mode::kBudget) bare.thinking = {};
    ModelResult again = ask(
        bare, [](std::string_view) { return false; }, sink, cancel, deadline);
    if (again) refused_.add_all(request.messages);
    return again;
  }

 private:
  ModelResult ask(const ModelRequest& request, const ThinkingFilter& keeps, ModelSink& sink, const CancelToken& cancel,
                  Deadline deadline) const {
    JsonWriter body;
    if (auto written = write_anthropic_request(body, request, options_.cache, keeps, options_.name); !written)
      return failed(ModelErrorKind::kInvalid, options_.name + ": " + written.error().message);
    if constexpr (kRequestsAreChecked)
      require_rules(options_.name,
                    kAnthropicWire.breaches(body.text(), {.foreign = foreign_seals(request, options_.name)}));
    const bool long_cache = options_.cache == AnthropicCache::kHour;
    return stream_request(
        {http_, clock_, options_.limits, words_, secret()}, {url_, headers(), body.text(), request.retries},
        [&] { return std::make_unique<AnthropicAnswer>(sink, long_cache); }, sink, cancel, deadline);
  }

  static ModelError failed(ModelErrorKind kind, std::string message) {
    ModelError error;
    error.kind = kind;
    error.message = std::move(message);
    return error;
  }

  std::vector<std::pair<std::string, std::string>> headers() const {
    std::vector<std::pair<std::string, std::string>> out{{"anthropic-version", options_.version}};
    if (!options_.api_key.empty())
      out.emplace_back("x-api-key", options_.api_key);
    else if (!options_.auth_token.empty())
      out.emplace_back("authorization", "Bearer " + options_.auth_token);
    if (!options_.betas.empty()) out.emplace_back("anthropic-beta", joined(options_.betas));
    return out;
  }

  const std::string& secret() const { return options_.api_key.empty() ? options_.auth_token : options_.api_key; }

  AnthropicOptions options_;
  HttpClient& http_;
  const Clock& clock_;
  const std::string url_;
  const FailureWords words_;
  RefusedSeals refused_;
};

}  // namespace

std::unique_ptr<ModelProvider> make_anthropic_provider(AnthropicOptions options, HttpClient& http, const Clock& clock) {
  return std::make_unique<Anthropic>(std::move(options), http, clock);
}

}  // namespace agentd
