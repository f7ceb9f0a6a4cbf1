// SPDX-License-Identifier: Apache-2.0
#pragma once
// google.h - Google's Gemini API as a ModelProvider.
//
// Wire format: ai.google.dev/api/generate-content, streamed as server-sent events.
//
// Threading: the provider is thread-safe when its HttpClient is.

#include <memory>
#include <string>

#include "core/model/provider.h"
#include "core/net/http.h"
#include "providers/common/exchange.h"

namespace agentd {

struct GoogleOptions {
  std::string name = "google";                                         // of the provider, in origins and messages
  std::string api_key{};                                               // header x-goog-api-key
  std::string key_source = "GEMINI_API_KEY";                           // the place for a missing key, for messages
  std::string base_url = "https://generativelanguage.googleapis.com";  // "/v1beta" is added to one without a path
  TransferLimits limits{};
};

// `http` and `clock` must outlive the provider. complete() reports a missing key, as kAuth.
std::unique_ptr<ModelProvider> make_google_provider(GoogleOptions options, HttpClient& http, const Clock& clock);

}  // namespace agentd
