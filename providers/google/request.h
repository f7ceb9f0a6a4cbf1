// SPDX-License-Identifier: Apache-2.0
#pragma once
// request.h - a ModelRequest as the body of POST models/MODEL:streamGenerateContent, written in one
// pass.
//
// Wire format: ai.google.dev/api/generate-content.
//
// Threading: pure function.

#include <functional>
#include <string_view>

#include "core/base/result.h"
#include "core/codec/json.h"
#include "core/model/provider.h"

namespace agentd {

inline constexpr std::string_view kGenerateContentApi = "generateContent";

// Whether the signature of a part goes along; empty = all.
using SignatureFilter = std::function<bool(std::string_view signature)>;

// Writes into an empty `out`. kInvalid when there is no message to send or a tool's schema is no
// JSON object. The results of calls that were made together are one content; each names its tool. A
// signature goes back on the part that it came with, to the same model of the same provider alone;
// where the first call of a step has none, since another model made it, the word stands there that
// the vendor documents for this.
Result<void> write_google_request(JsonWriter& out, const ModelRequest& request, std::string_view provider,
                                  const SignatureFilter& keeps);

}  // namespace agentd
