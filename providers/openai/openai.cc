// SPDX-License-Identifier: Apache-2.0
#include "providers/openai/openai.h"

#include "core/codec/json.h"
#include "providers/common/refused.h"
#include "providers/openai/chat_answer.h"
#include "providers/openai/chat_request.h"
#include "providers/openai/failure.h"
#include "providers/openai/hosts.h"
#include "providers/openai/responses_answer.h"
#include "providers/openai/responses_request.h"
#include "providers/openai/rules.h"

namespace agentd {
namespace {

class OpenAi final : public ModelProvider {
 public:
  OpenAi(OpenAiOptions options, HttpClient& http, const Clock& clock)
      : options_(std::move(options)),
        host_(openai_host_at(options_.base_url)),
        responses_(options_.api == OpenAiApi::kAuto ? host_.responses : options_.api == OpenAiApi::kResponses),
        http_(http),
        clock_(clock),
        url_(address_with_path(options_.base_url, "/v1") + (responses_ ? "/responses" : "/chat/completions")),
        words_{options_.name, openai_http_failure, openai_stream_failure, "x-request-id"} {
    options_.api_key = trimmed_key(std::move(options_.api_key));
  }

  std::string_view name() const override { return options_.name; }
  std::string_view api() const override { return responses_ ? kResponsesApi : "chat"; }

  ModelResult complete(const ModelRequest& request, ModelSink& sink, const CancelToken& cancel,
                       Deadline deadline) override {
    if (options_.api_key.empty() && !options_.key_source.empty())
      return failed(ModelErrorKind::kAuth, "no API key; set " + options_.key_source);
    const auto known = [this](std::string_view item) { return !refused_.holds(item); };
    ModelResult answer = ask(request, known, sink, cancel, deadline);
    if (answer || !responses_ || !is_about_reasoning(answer.error())) return answer;
    // Thinking is sealed for an account and an organisation: the answer works without it.
    ModelResult again = ask(
        request, [](std::string_view) { return false; }, sink, cancel, deadline);
    if (again) refused_.add_all(request.messages);
    return again;
  }

 private:
  ModelError failed(ModelErrorKind kind, const std::string& message) const {
    ModelError error;
    error.kind = kind;
    error.message = options_.name + ": " + message;
    return error;
  }

  ModelResult ask(const ModelRequest& request, const ReasoningFilter& keeps, ModelSink& sink, const CancelToken& cancel,
                  Deadline deadline) const {
    JsonWriter body;
    const Result<void> written = responses_ ? write_responses_request(body, request, options_.name, keeps)
                                            : write_chat_request(body, request, host_.chat, options_.name);
    if (!written) return failed(ModelErrorKind::kInvalid, written.error().message);
    if constexpr (kRequestsAreChecked) {
      const WireFacts facts{.foreign = foreign_seals(request, options_.name),
                            .call_id_bytes = host_.chat.call_id_bytes,
                            .user_behind_results = host_.chat.user_behind_results,
                            .thinking_back = wants_thinking_back(request, host_.chat)};
      require_rules(options_.name,
                    responses_ ? kResponsesWire.breaches(body.text(), facts) : kChatWire.breaches(body.text(), facts));
    }
    StreamedRequest http{url_, {}, body.text(), request.retries};
    if (!options_.api_key.empty()) http.headers.emplace_back("authorization", "Bearer " + options_.api_key);
    const auto make_answer = [&]() -> std::unique_ptr<StreamedAnswer> {
      if (responses_) return std::make_unique<ResponsesAnswer>(sink);
      return std::make_unique<ChatAnswer>(sink);
    };
    return stream_request({http_, clock_, options_.limits, words_, options_.api_key}, http, make_answer, sink, cancel,
                          deadline);
  }

  OpenAiOptions options_;
  const OpenAiHost& host_;
  const bool responses_;
  HttpClient& http_;
  const Clock& clock_;
  const std::string url_;
  const FailureWords words_;
  RefusedSeals refused_;
};

}  // namespace

std::unique_ptr<ModelProvider> make_openai_provider(OpenAiOptions options, HttpClient& http, const Clock& clock) {
  return std::make_unique<OpenAi>(std::move(options), http, clock);
}

}  // namespace agentd
