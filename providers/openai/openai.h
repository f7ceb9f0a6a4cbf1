// SPDX-License-Identifier: Apache-2.0
#pragma once
// openai.h - OpenAI, and every server with one of its formats, as a ModelProvider.
//
// Wire formats: platform.openai.com/docs/api-reference/responses and .../chat.
//
// Threading: the provider is thread-safe when its HttpClient is.

#include <memory>
#include <string>

#include "core/model/provider.h"
#include "core/net/http.h"
#include "providers/common/exchange.h"

namespace agentd {

enum class OpenAiApi : std::uint8_t {
  kAuto,  // Responses if the host's row says so (hosts.h), otherwise Chat Completions
  kResponses,
  kChat,
};

struct OpenAiOptions {
  std::string name = "openai";  // of the provider, in origins and messages
  std::string api_key;          // header Authorization: Bearer; empty = not sent
  std::string key_source =
      "OPENAI_API_KEY";  // the place for a missing key, for messages; empty = the server needs none
  std::string base_url = "https://api.openai.com/v1";  // "/v1" is added to an address without a path
  OpenAiApi api = OpenAiApi::kAuto;
  TransferLimits limits{};
};

// `http` and `clock` must outlive the provider. complete() reports a missing key, as kAuth, so that commands that call
// no model work without one.
std::unique_ptr<ModelProvider> make_openai_provider(OpenAiOptions options, HttpClient& http, const Clock& clock);

}  // namespace agentd
