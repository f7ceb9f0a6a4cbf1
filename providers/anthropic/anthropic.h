// SPDX-License-Identifier: Apache-2.0
#pragma once
// anthropic.h - Anthropic's Messages API as a ModelProvider.
//
// Wire format: docs.anthropic.com/en/api/messages and /en/docs/build-with-claude/streaming.
//
// Threading: the provider is thread-safe when its HttpClient is.

#include <memory>
#include <string>
#include <vector>

#include "core/model/provider.h"
#include "core/net/http.h"
#include "providers/anthropic/request.h"
#include "providers/common/exchange.h"

namespace agentd {

struct AnthropicOptions {
  std::string name = "anthropic";  // of the provider, in origins and messages
  std::string api_key{};           // header x-api-key
  std::string auth_token{};        // header Authorization: Bearer; used when there is no api_key
  // The place for a missing key, for messages; empty = the server needs none.
  std::string key_source = "ANTHROPIC_API_KEY";
  std::string base_url = "https://api.anthropic.com";  // with or without a last "/v1"
  std::string version = "2023-06-01";                  // header anthropic-version
  std::vector<std::string> betas{};                    // header anthropic-beta
  // Marks the stable beginning of each request for the provider's prompt cache.
  AnthropicCache cache = AnthropicCache::kMinutes;
  TransferLimits limits{};
};

// `http` and `clock` must outlive the provider. complete() reports a missing key, as kAuth, so that commands that call
// no model work without one.
std::unique_ptr<ModelProvider> make_anthropic_provider(AnthropicOptions options, HttpClient& http, const Clock& clock);

}  // namespace agentd
